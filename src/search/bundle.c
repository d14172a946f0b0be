/* SPDX-License-Identifier: MIT */
#include "search/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "text/library.h"

void tkl__search_bundle_begin(tkl__search_bundle *bundle, const tkl__search_shard *shard)
{
    *bundle = (tkl__search_bundle){.shard = shard};
    tkl__args_init(&bundle->args);
}

void tkl__search_bundle_free(tkl__search_bundle *bundle)
{
    tkl__args_free(&bundle->args);
    free(bundle->keys);
    free(bundle->postings);
    for (size_t i = 0; i < bundle->made_count; i++)
        free(bundle->made[i]);
    free(bundle->made);
    free(bundle->bytes);
}

size_t tkl__search_last_part(size_t terms)
{
    return terms ? (terms - 1) / TKL__SEARCH_PART_TERMS * TKL__SEARCH_PART_TERMS : 0;
}

size_t tkl__search_count_terms(tkl_bytes terms, bool positions, size_t *postings)
{
    tkl__search_entry entry;
    bool damaged = false;
    size_t count = 0;
    *postings = 0;
    while (tkl__search_entry_next(&terms, positions, &entry, &damaged)) {
        count++;
        *postings += 1 + tkl__search_several_of(entry.times);
    }
    return count;
}

void tkl__search_bundle_post(tkl__search_bundle *bundle, tkl_bytes term, unsigned char doc)
{
    if (!tkl__grow(&bundle->postings, bundle->count, sizeof *bundle->postings)) {
        bundle->failed = true;
        return;
    }
    bundle->postings[bundle->count++] = (tkl__search_posting){term, doc};
}

tkl_bytes tkl__search_bundle_keep(tkl__search_bundle *bundle, const tkl__buf *bytes)
{
    bool room =
        !bytes->failed && tkl__grow(&bundle->made, bundle->made_count, sizeof *bundle->made);
    char *copy = room ? tkl__copy_bytes((tkl_bytes){bytes->data, bytes->len}) : NULL;
    if (!copy) {
        bundle->failed = true;
        return tkl_str("");
    }
    bundle->made[bundle->made_count++] = copy;
    return (tkl_bytes){copy, bytes->len};
}

/* Posts a document under a term that it does not store. */
static void post_made(tkl__search_bundle *bundle, const tkl__buf *term, unsigned char doc)
{
    tkl_bytes kept = tkl__search_bundle_keep(bundle, term);
    if (!bundle->failed)
        tkl__search_bundle_post(bundle, kept, doc);
}

void tkl__search_bundle_band(tkl__search_bundle *bundle, uint32_t length, unsigned char doc)
{
    tkl__buf term;
    tkl__buf_init(&term);
    tkl__search_term_band(&term, tkl__search_band_of(length));
    post_made(bundle, &term, doc);
    tkl__buf_free(&term);
}

void tkl__search_bundle_terms(tkl__search_bundle *bundle, tkl_bytes *terms, bool positions,
                              unsigned char doc, size_t max)
{
    tkl__search_entry entry;
    bool damaged = false;
    tkl__buf term;
    tkl__buf_init(&term);
    for (size_t i = 0; i < max && tkl__search_entry_next(terms, positions, &entry, &damaged); i++) {
        tkl__search_bundle_post(bundle, entry.term, doc);
        for (size_t k = 0; k < tkl__search_several_of(entry.times); k++) {
            tkl__buf_clear(&term);
            tkl__search_term_several(&term, entry.term, k);
            post_made(bundle, &term, doc);
        }
    }
    tkl__buf_free(&term);
}

static int by_term(const void *a, const void *b)
{
    const tkl__search_posting *x = a, *y = b;
    int order = tkl__text_word_compare(&x->term, &y->term);
    return order ? order : (int)x->doc - (int)y->doc;
}

/* Returns the index of the first posting of the next term. */
static size_t end_of_term(const tkl__search_bundle *bundle, size_t i)
{
    size_t end = i + 1;
    while (end < bundle->count &&
           tkl__text_word_compare(&bundle->postings[i].term, &bundle->postings[end].term) == 0)
        end++;
    return end;
}

/* Allocates memory for all keys and lists. */
static bool reserve_terms(tkl__search_bundle *bundle, size_t fixed)
{
    size_t bytes = 1, terms = 0;
    for (size_t i = 0, end; i < bundle->count; i = end, terms++) {
        end = end_of_term(bundle, i);
        bytes += tkl__search_term_at(bundle->shard) + bundle->postings[i].term.len + (end - i);
    }
    bundle->keys = malloc((fixed + terms) * sizeof *bundle->keys);
    bundle->bytes = malloc(bytes);
    return bundle->keys && bundle->bytes;
}

static char *add_bytes(char *to, const void *data, size_t len)
{
    if (len)
        memcpy(to, data, len);
    return to + len;
}

/* Writes the key of a term and the list of its documents; returns the end. */
static char *write_term(tkl__search_bundle *bundle, size_t first, size_t end, char *to)
{
    const tkl__search_shard *shard = bundle->shard;
    tkl_bytes term = bundle->postings[first].term;
    char *key = to;
    to = add_bytes(to, shard->base.data, shard->base.len);
    to = add_bytes(to, ":t:", 3);
    to = add_bytes(to, term.data, term.len);
    bundle->keys[bundle->nkeys++] = (tkl_bytes){key, (size_t)(to - key)};
    char *list = to;
    for (size_t i = first; i < end; i++)
        *to++ = (char)bundle->postings[i].doc;
    tkl__args_bytes(&bundle->args, (tkl_bytes){list, (size_t)(to - list)});
    return to;
}

static void add_key(tkl__search_bundle *bundle, tkl_bytes key)
{
    bundle->keys[bundle->nkeys++] = key;
}

void tkl__search_bundle_end(tkl__search_bundle *bundle, size_t nfields)
{
    const tkl__search_shard *shard = bundle->shard;
    if (bundle->count)
        qsort(bundle->postings, bundle->count, sizeof *bundle->postings, by_term);
    if (!reserve_terms(bundle, TKL__SEARCH_SCRIPT_KEYS + nfields + shard->step_count)) {
        bundle->failed = true;
        return;
    }
    for (size_t i = 0; i < TKL__SEARCH_SCRIPT_KEYS; i++)
        add_key(bundle, shard->keys[i]);
    for (size_t i = 0; i < nfields; i++)
        add_key(bundle, shard->fields[i]);
    for (size_t i = 0; i < nfields * TKL__SEARCH_FIELD_STEPS; i++)
        add_key(bundle, shard->steps[i]);
    char *to = bundle->bytes;
    for (size_t i = 0, end; i < bundle->count; i = end) {
        end = end_of_term(bundle, i);
        to = write_term(bundle, i, end, to);
    }
}

void tkl__search_bundle_add(tkl__batch *batch, const tkl__search_bundle *bundle,
                            const tkl__script *script)
{
    tkl__batch_fail(batch, bundle->failed ? tkl__nomem() : TKL_OK);
    tkl__batch_eval(batch, script, &(tkl__keys){bundle->keys, bundle->nkeys}, &bundle->args, true);
}
