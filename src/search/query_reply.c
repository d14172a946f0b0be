/* SPDX-License-Identifier: MIT
 *
 * The replies to a query: what a shard says about its progress, and the documents that it sends.
 */
#include "search/query_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/reply.h"
#include "search/pieces.h"
#include "text/library.h"

/* The elements of a reply of search/query. */
enum {
    VERSION,
    DOCS,
    WORDS,
    TOTAL,
    SIZES,
    KIND,
    NEXT,
    SKIPPED,
    NUMBERS,
    RECORDS,
    FORWARDS,
    RESUME,
    ELEMENTS,
};

/* The elements of a reply that asks for bitmaps. */
enum {
    MAKE,
    MAKE_VERSION,
    MAKE_RANGES,
    MAKE_UNIONS,
    MAKE_TIMES,
};

/* ---- Documents ----------------------------------------------------------- */

/* Sets wanted[i] for each of the pieces that may have a term of the query. */
static void want_terms(const tkl__search_plan *plan, size_t pieces, bool *wanted)
{
    tkl__buf term;
    tkl__buf_init(&term);
    for (size_t i = 0; i < plan->term_count; i++)
        wanted[tkl__search_piece_with(plan->terms[i], pieces)] = true;
    for (size_t i = 0; i < plan->query.excluded_count; i++) { /* excluded phrases have no terms in
                                                                the plan */
        const tkl__search_query_item *item = &plan->query.excluded[i];
        for (size_t k = 0; item->kind == TKL__QUERY_PHRASE && k < item->count; k++) {
            tkl__buf_clear(&term);
            tkl__search_term_word(&term, item->terms[k].text);
            wanted[tkl__search_piece_with((tkl_bytes){term.data, term.len}, pieces)] = true;
        }
    }
    tkl__buf_free(&term);
}

int tkl__search_fetch_terms(tkl__search_run *run, size_t shard, tkl_bytes number, tkl_bytes record,
                            size_t pieces, tkl_bytes *terms)
{
    bool *wanted = calloc(pieces, sizeof *wanted);
    tkl__buf bytes, now;
    if (!wanted)
        return tkl__nomem();
    tkl__buf_init(&bytes);
    tkl__buf_init(&now);
    want_terms(run->plan, pieces, wanted);
    int rc = tkl__search_pieces_read(run->search, &run->schema->shards[shard], TKL__SEARCH_FORWARD,
                                     number, pieces, wanted, &bytes, &now);
    *terms = (tkl_bytes){NULL, 0};
    if (rc == TKL_OK && tkl__same_bytes((tkl_bytes){now.data, now.len}, record))
        rc = tkl__search_box_copy(run->box, (tkl_bytes){bytes.data, bytes.len}, terms);
    tkl__buf_free(&bytes);
    tkl__buf_free(&now);
    free(wanted);
    return rc;
}

/* Reads one document, and adds it to the items if it matches the query. `entries`: room for its
 * terms. */
static int read_document(tkl__search_run *run, size_t shard, const tkl_reply *number,
                         const tkl_reply *bytes, tkl_bytes terms, tkl__search_entries *entries)
{
    const tkl__search_order *order = run->order;
    size_t pieces = tkl__search_pieces_of(terms);
    tkl__search_record record;
    int rc = TKL_OK;
    if (!tkl__search_record_read(tkl_reply_bytes(bytes), run->schema, &record))
        return tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
    if (pieces)
        rc = tkl__search_fetch_terms(run, shard, tkl_reply_bytes(number), tkl_reply_bytes(bytes),
                                     pieces, &terms);
    if (rc == TKL_OK && pieces && !terms.data) { /* replaced by now */
        run->changed = true;
        return TKL_OK;
    }
    if (rc == TKL_OK && tkl__search_needs_terms(run))
        rc = tkl__search_entries_read(entries, terms, run->schema->is.positions);
    if (rc != TKL_OK)
        return rc;
    if (tkl__search_needs_terms(run) && tkl__search_verifies(run) &&
        !tkl__search_matches(run->plan, &record, entries))
        return TKL_OK;
    if (!tkl__grow(&run->items, run->item_count, sizeof *run->items))
        return tkl__nomem();
    tkl__search_found *item = &run->items[run->item_count++];
    *item = (tkl__search_found){.shard = shard,
                                .number = (uint64_t)tkl_reply_int(number),
                                .bytes = tkl_reply_bytes(bytes),
                                .terms = terms};
    if (order->kind == TKL__SEARCH_BY_WEIGHTS)
        item->score = tkl__search_weigh(order, &record);
    if (order->kind == TKL__SEARCH_BY_FIELD)
        item->key = record.cells[order->field];
    return TKL_OK;
}

static int read_documents(tkl__search_run *run, size_t shard, const tkl_reply *reply)
{
    const tkl_reply *numbers = tkl_reply_at(reply, NUMBERS);
    const tkl_reply *records = tkl_reply_at(reply, RECORDS);
    const tkl_reply *terms = tkl_reply_at(reply, FORWARDS);
    tkl__search_entries entries = {0};
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(numbers); i++)
        rc = read_document(run, shard, tkl_reply_at(numbers, i), tkl_reply_at(records, i),
                           tkl_reply_bytes(tkl_reply_at(terms, i)), &entries);
    run->examined += (int64_t)tkl_reply_count(numbers);
    tkl__search_entries_free(&entries);
    return rc;
}

/* ---- Documents that came twice ------------------------------------------- */

/* An item with the id of its document. */
typedef struct arrival {
    const tkl__search_run *run;
    size_t index;
    tkl_bytes id;
} arrival;

static int by_id(const void *a, const void *b)
{
    const arrival *x = a, *y = b;
    size_t left = x->run->items[x->index].shard, right = y->run->items[y->index].shard;
    if (left != right)
        return left < right ? -1 : 1;
    int order = tkl__text_word_compare(&x->id, &y->id);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

int tkl__search_drop_repeated(tkl__search_run *run)
{
    arrival *items = calloc(run->item_count + 1, sizeof *items);
    bool *gone = calloc(run->item_count + 1, sizeof *gone);
    int rc = items && gone ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < run->item_count; i++) {
        tkl__search_record record;
        if (!tkl__search_record_read(run->items[i].bytes, run->schema, &record))
            rc = tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
        items[i] = (arrival){run, i, record.id};
    }
    if (rc == TKL_OK) {
        size_t kept = 0;
        qsort(items, run->item_count, sizeof *items, by_id);
        for (size_t i = 1; i < run->item_count; i++)
            gone[items[i - 1].index] =
                run->items[items[i - 1].index].shard == run->items[items[i].index].shard &&
                tkl__text_word_compare(&items[i - 1].id, &items[i].id) == 0;
        for (size_t i = 0; i < run->item_count; i++)
            if (!gone[i])
                run->items[kept++] = run->items[i];
        run->item_count = kept;
    }
    free(items);
    free(gone);
    return rc;
}

/* ---- Progress ------------------------------------------------------------ */

/* Reads the elements that only the first reply of a shard is needed for. */
static void read_totals(tkl__search_run *run, tkl__search_progress *p, const tkl_reply *reply)
{
    snprintf(p->version, sizeof p->version, "%s", tkl_reply_str(tkl_reply_at(reply, VERSION)));
    p->docs = tkl__reply_number(tkl_reply_at(reply, DOCS));
    p->words = tkl__reply_number(tkl_reply_at(reply, WORDS));
    p->total = tkl__reply_number(tkl_reply_at(reply, TOTAL));
    for (size_t i = 0; i < run->plan->term_count; i++)
        tkl__add(&run->sizes[i], tkl_reply_int(tkl_reply_at(tkl_reply_at(reply, SIZES), i)));
}

/* Reads where the next request goes on, and whether there will be one. */
static void read_progress(tkl__search_progress *p, const tkl_reply *reply)
{
    const char *kind = tkl_reply_str(tkl_reply_at(reply, KIND));
    p->resume = tkl_reply_bytes(tkl_reply_at(reply, RESUME));
    if (strcmp(kind, "more") == 0)
        return;
    p->walked = strcmp(kind, "walk") == 0;
    p->cursor = p->walked ? 0 : tkl_reply_int(tkl_reply_at(reply, NEXT));
    p->skipped += p->walked ? tkl_reply_int(tkl_reply_at(reply, SKIPPED)) : 0;
    p->done = strcmp(kind, "list") == 0 || (p->walked ? p->resume.len == 0 : p->cursor < 0);
    p->compare_all = p->compare_all || (!p->walked && !p->done);
}

/* Counts the hits of a shard that sends as many as are wanted. A document that came in two versions
 * counts once, so that another one is sent in its place. */
static int count_taken(tkl__search_run *run, size_t shard, size_t before)
{
    tkl__search_progress *p = &run->shards[shard];
    int64_t wanted = tkl__search_wanted_of_each(run);
    int rc = TKL_OK;
    p->taken += (int64_t)(run->item_count - before);
    if (p->taken >= wanted && run->changed) {
        rc = tkl__search_drop_repeated(run);
        p->taken = 0;
        for (size_t i = 0; i < run->item_count; i++)
            p->taken += run->items[i].shard == shard;
    }
    p->done = p->done || p->taken >= wanted;
    return rc;
}

/* Asks for more candidates when some of those that the shard has chosen do not match; the second
 * time for all documents. */
static void want_more(tkl__search_run *run, size_t shard)
{
    tkl__search_progress *p = &run->shards[shard];
    if (p->taken == p->sent || p->taken >= run->offset + run->count || p->sent >= p->total)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < run->item_count; i++)
        if (run->items[i].shard != shard)
            run->items[kept++] = run->items[i];
    run->item_count = kept;
    run->examined -= p->sent;
    p->compare_all = p->more > 0;
    p->more += p->sent - p->taken;
    p->sent = p->taken = p->cursor = 0;
    p->done = false;
}

/* ---- The reply ----------------------------------------------------------- */

/* Sets the flags that a list of indexes, from 1, names. */
static void read_flags(const tkl_reply *indexes, bool *flags, size_t count)
{
    for (size_t i = 0; i < tkl_reply_count(indexes); i++) {
        int64_t index = tkl_reply_int(tkl_reply_at(indexes, i));
        if (index >= 1 && (size_t)index <= count)
            flags[index - 1] = true;
    }
}

/* Reads a reply that is not a result: it says why, and what to do next. */
static int read_refusal(tkl__search_run *run, size_t shard, const tkl_reply *reply)
{
    const char *word = tkl_reply_str(reply);
    if (tkl_reply_code(reply) != TKL_OK)
        return tkl__fail(tkl_reply_code(reply), "%s", word);
    if (strcmp(tkl_reply_str(tkl_reply_at(reply, MAKE)), "make") == 0) {
        snprintf(run->shards[shard].version, sizeof run->shards[shard].version, "%s",
                 tkl_reply_str(tkl_reply_at(reply, MAKE_VERSION)));
        run->state = TKL__SEARCH_MAKE;
        read_flags(tkl_reply_at(reply, MAKE_RANGES), run->make_ranges, run->plan->range_count);
        read_flags(tkl_reply_at(reply, MAKE_UNIONS), run->make_unions, run->plan->union_count);
        read_flags(tkl_reply_at(reply, MAKE_TIMES), run->make_times, run->plan->scorer_count);
        return TKL_OK;
    }
    if (strcmp(word, "wide") == 0)
        return tkl__fail(TKL_EINVAL, "the query asks for too much at once: it has too many ranges, "
                                     "or synonyms and excluded texts of several words");
    if (strcmp(word, "stale") == 0)
        run->outcome = TKL__SEARCH_STALE;
    else if (strcmp(word, "words") == 0)
        run->outcome = TKL__SEARCH_CHANGED;
    else
        return tkl__fail(TKL_EPROTO, "not an answer of search/query");
    return TKL_OK;
}

int tkl__search_query_reply(tkl__search_run *run, size_t shard, const tkl_reply *reply)
{
    tkl__search_progress *p = &run->shards[shard];
    size_t before = run->item_count;
    if (tkl_reply_count(reply) < ELEMENTS)
        return read_refusal(run, shard, reply);
    if (!*p->version)
        read_totals(run, p, reply);
    else if (strcmp(p->version, tkl_reply_str(tkl_reply_at(reply, VERSION))) != 0)
        run->changed = true;
    read_progress(p, reply);
    int rc = read_documents(run, shard, reply);
    if (rc == TKL_OK && (p->walked || run->way == TKL__SEARCH_WAY_FIRST))
        return count_taken(run, shard, before);
    p->taken += (int64_t)(run->item_count - before);
    p->sent += (int64_t)tkl_reply_count(tkl_reply_at(reply, NUMBERS));
    bool chosen = p->asked == TKL__SEARCH_ASK_BEST || p->asked == TKL__SEARCH_ASK_HEAVIEST;
    if (rc == TKL_OK && chosen && p->done)
        want_more(run, shard);
    return rc;
}
