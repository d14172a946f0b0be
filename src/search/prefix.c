/* SPDX-License-Identifier: MIT
 *
 * Prefixes that stand for very many words: people who search while they type begin with one letter.
 * A plan takes the most frequent words. The count of a term with a bitmap is cheap to read. A term
 * with a set is in few documents: its size is read only when the prefix has not too many words.
 */
#include <stdlib.h>

#include "core/error.h"
#include "core/number.h"
#include "search/call.h"
#include "search/scripts.h"
#include "text/library.h"

/* Terms whose names one step reads, and terms whose sizes one step reads. */
#define STEP       1000
#define SIZES_STEP 250
/* Most terms of which all sizes are read. */
#define SIZES_MOST 5000

/* The terms that were read so far. */
typedef struct harvest {
    tkl__search_sized *items; /* the bytes of each term are owned */
    size_t count;
    size_t rare; /* how many of them are not common */
} harvest;

static int add_term(harvest *h, tkl_bytes term, int64_t size)
{
    if (!tkl__grow(&h->items, h->count, sizeof *h->items))
        return tkl__nomem();
    char *copy = tkl__copy_bytes(term);
    if (!copy)
        return tkl__nomem();
    h->items[h->count++] = (tkl__search_sized){.term = {copy, term.len}, .size = size};
    return TKL_OK;
}

static int add_terms(harvest *h, const tkl_reply *common, const tkl_reply *rare)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i + 1 < tkl_reply_count(common); i += 2)
        rc = add_term(h, tkl_reply_bytes(tkl_reply_at(common, i)),
                      tkl_reply_int(tkl_reply_at(common, i + 1)));
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(rare); i++, h->rare++)
        rc = add_term(h, tkl_reply_bytes(tkl_reply_at(rare, i)), 0);
    return rc;
}

/* Reads the terms of one shard between the bounds, step by step. */
static int read_shard_terms(tkl_search *search, const tkl__search_shard *shard, tkl_bytes low,
                            tkl_bytes high, size_t most, harvest *h)
{
    tkl__buf from;
    bool more = true;
    int rc = TKL_OK;
    h->rare = 0;
    tkl__buf_init(&from);
    tkl__buf_add(&from, low.data, low.len);
    while (rc == TKL_OK && more) {
        tkl__search_call call;
        tkl_reply *reply = NULL;
        tkl__search_call_begin(&call, shard);
        tkl__args_bytes(&call.args, (tkl_bytes){from.data, from.len});
        tkl__args_bytes(&call.args, high);
        tkl__args_int(&call.args, STEP);
        tkl__args_int(&call.args, (int64_t)(h->rare < most ? most - h->rare : 0));
        rc = from.failed ? tkl__nomem()
                         : tkl__search_call_run(&call, search, &tkl__lua_search_prefix, &reply);
        tkl_bytes last = tkl_reply_bytes(tkl_reply_at(reply, 0));
        if (rc == TKL_OK)
            rc = add_terms(h, tkl_reply_at(reply, 1), tkl_reply_at(reply, 2));
        more = last.len > 0;
        tkl__buf_clear(&from);
        tkl__buf_add(&from, "(", 1);
        tkl__buf_add(&from, last.data, last.len);
        tkl__search_call_free(&call);
        tkl_reply_free(reply);
    }
    tkl__buf_free(&from);
    return rc;
}

static int by_term(const void *a, const void *b)
{
    const tkl__search_sized *x = a, *y = b;
    return tkl__text_word_compare(&x->term, &y->term);
}

int tkl__search_by_size(const void *a, const void *b)
{
    const tkl__search_sized *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return tkl__text_word_compare(&x->term, &y->term);
}

/* Joins the terms that several shards have. */
static void join_terms(harvest *h)
{
    size_t kept = 0;
    if (h->count)
        qsort(h->items, h->count, sizeof *h->items, by_term);
    for (size_t i = 0; i < h->count; i++) {
        if (kept && by_term(&h->items[kept - 1], &h->items[i]) == 0) {
            h->items[kept - 1].size += h->items[i].size;
            free((char *)h->items[i].term.data);
        } else {
            h->items[kept++] = h->items[i];
        }
    }
    h->count = kept;
}

/* Adds the sizes of the terms [from, to) on all shards. */
static int add_sizes(tkl_search *search, const tkl__search_schema *schema, tkl__search_sized *terms,
                     size_t from, size_t to, tkl__search_outcome *outcome)
{
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, search->client);
    for (size_t i = 0; i < schema->shard_count; i++) {
        const tkl__search_shard *shard = &schema->shards[i];
        tkl__search_call call;
        tkl__search_call_begin(&call, shard);
        for (size_t k = from; k < to; k++)
            tkl__search_call_term(&call, shard, terms[k].term);
        tkl__args_str(&call.args, schema->token);
        tkl__args_int(&call.args, (int64_t)tkl__search_term_at(shard));
        tkl__search_call_add(&batch, &call, &tkl__lua_search_sizes);
        tkl__search_call_free(&call);
    }
    int rc = tkl__batch_end(&batch, tkl__search_deadline(search), &replies);
    for (size_t i = 0; rc == TKL_OK && i < schema->shard_count; i++) {
        const tkl_reply *sizes = tkl_reply_at(replies, i);
        if (tkl_reply_type_of(sizes) != TKL_REPLY_ARRAY)
            *outcome = TKL__SEARCH_STALE;
        for (size_t k = 0; k < to - from; k++)
            tkl__add(&terms[from + k].size, tkl_reply_int(tkl_reply_at(sizes, k)));
    }
    tkl_reply_free(replies);
    return rc;
}

int tkl__search_read_sizes(tkl_search *search, const tkl__search_schema *schema,
                           tkl__search_sized *terms, size_t count, tkl__search_outcome *outcome)
{
    int rc = TKL_OK;
    for (size_t i = 0; i < count; i++)
        terms[i].size = 0;
    for (size_t i = 0; rc == TKL_OK && *outcome == TKL__SEARCH_DONE && i < count; i += SIZES_STEP)
        rc = add_sizes(search, schema, terms, i, i + SIZES_STEP < count ? i + SIZES_STEP : count,
                       outcome);
    return rc;
}

int tkl__search_frequent_terms(tkl_search *search, const tkl__search_schema *schema, tkl_bytes low,
                               tkl_bytes high, size_t most, tkl_names **names)
{
    harvest h = {.count = 0};
    tkl__names all = {0};
    tkl__search_outcome outcome = TKL__SEARCH_DONE; /* the query itself notices another index */
    int rc = TKL_OK;
    *names = NULL;
    for (size_t i = 0; rc == TKL_OK && i < schema->shard_count; i++)
        rc = read_shard_terms(search, &schema->shards[i], low, high, SIZES_MOST, &h);
    join_terms(&h);
    if (rc == TKL_OK && h.count <= SIZES_MOST)
        rc = tkl__search_read_sizes(search, schema, h.items, h.count, &outcome);
    if (h.count)
        qsort(h.items, h.count, sizeof *h.items, tkl__search_by_size);
    for (size_t i = 0; i < h.count; i++) {
        if (rc == TKL_OK && i < most)
            rc = tkl__names_add(&all, h.items[i].term); /* takes over the bytes */
        else
            free((char *)h.items[i].term.data);
    }
    if (rc == TKL_OK) {
        tkl__names_tidy(&all, NULL, NULL);
        rc = tkl__names_result(&all, names);
    }
    tkl__names_free(&all);
    free(h.items);
    return rc;
}
