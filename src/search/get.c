/* SPDX-License-Identifier: MIT
 *
 * Documents by their ids.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "search/pieces.h"
#include "search/result.h"
#include "search/scripts.h"

/* Most ids of one run. A run with large texts returns fewer. */
#define RUN 200

/* One run of search/get: some ids of one shard. */
typedef struct part {
    const tkl__search_shard *shard;
    tkl__args args;
    size_t indexes[RUN]; /* indexes of the ids in the call */
    size_t count;
} part;

typedef struct parts {
    part **items;
    size_t count;
} parts;

static part *new_part(parts *p, const tkl__search_schema *schema, size_t shard)
{
    bool room = tkl__grow(&p->items, p->count, sizeof *p->items);
    part *one = room ? calloc(1, sizeof *one) : NULL;
    if (!one)
        return NULL;
    p->items[p->count++] = one;
    one->shard = &schema->shards[shard];
    tkl__args_init(&one->args);
    tkl__args_str(&one->args, schema->token);
    return one;
}

/* Makes runs for the documents that have not been received yet. */
static bool make_parts(parts *p, const tkl__search_schema *schema, const tkl_bytes *ids,
                       size_t count, const tkl__search_fetched *docs)
{
    for (size_t shard = 0; shard < schema->shard_count; shard++) {
        part *one = NULL;
        for (size_t i = 0; i < count; i++) {
            if (docs[i].came || tkl__search_shard_of(schema, ids[i]) != shard)
                continue;
            if (!one || one->count == RUN)
                one = new_part(p, schema, shard);
            if (!one)
                return false;
            one->indexes[one->count++] = i;
            tkl__args_bytes(&one->args, ids[i]);
        }
    }
    return true;
}

static void free_parts(parts *p)
{
    for (size_t i = 0; i < p->count; i++) {
        tkl__args_free(&p->items[i]->args);
        free(p->items[i]);
    }
    free(p->items);
}

static int read_part(const part *one, const tkl_reply *reply, tkl__search_fetched *docs,
                     tkl__search_outcome *outcome)
{
    if (tkl_reply_type_of(reply) == TKL_REPLY_STRING) {
        *outcome = TKL__SEARCH_STALE;
        return TKL_OK;
    }
    size_t came = tkl_reply_count(tkl_reply_at(reply, 0));
    if (came == 0 || came > one->count)
        return tkl__fail(TKL_EPROTO, "not an answer of search/get");
    for (size_t i = 0; i < came; i++)
        docs[one->indexes[i]] = (tkl__search_fetched){
            .record = tkl_reply_bytes(tkl_reply_at(tkl_reply_at(reply, 0), i)),
            .text = tkl_reply_bytes(tkl_reply_at(tkl_reply_at(reply, 1), i)),
            .number = (uint64_t)tkl_reply_int(tkl_reply_at(tkl_reply_at(reply, 2), i)),
            .came = true,
        };
    return TKL_OK;
}

/* Fetches documents in one round trip. */
static int fetch_some(tkl_search *search, tkl__search_result_box *box, const parts *p,
                      tkl__search_fetched *docs, tkl__search_outcome *outcome)
{
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, search->client);
    for (size_t i = 0; i < p->count; i++)
        tkl__batch_eval(
            &batch, &tkl__lua_search_get,
            &(tkl__keys){(tkl_bytes *)p->items[i]->shard->keys, TKL__SEARCH_SCRIPT_KEYS},
            &p->items[i]->args, true);
    int rc = tkl__batch_end(&batch, tkl__search_deadline(search), &replies);
    if (rc == TKL_OK)
        rc = tkl__search_box_keep(box, replies);
    for (size_t i = 0; rc == TKL_OK && i < p->count; i++)
        rc = read_part(p->items[i], tkl_reply_at(replies, i), docs, outcome);
    return rc;
}

/* Most times that a document is fetched again because it was replaced while its text was read. */
#define AGAIN 4

/* Fetches the rest of a text that is in pieces. If the document was replaced meanwhile, it is
 * fetched again; in the end without its text. */
static int fetch_rest(tkl_search *search, tkl__search_result_box *box, tkl_bytes id,
                      tkl__search_fetched *doc, bool last)
{
    tkl__buf text, record;
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, doc->number);
    tkl__buf_init(&text);
    tkl__buf_init(&record);
    tkl__buf_add(&text, doc->text.data, doc->text.len);
    int rc = tkl__search_pieces_read(
        search, &box->schema->shards[tkl__search_shard_of(box->schema, id)], TKL__SEARCH_TEXTS,
        tkl_str(number), TKL_SEARCH_TEXT_MAX / TKL__SEARCH_PIECE, NULL, &text, &record);
    bool same = tkl__same_bytes((tkl_bytes){record.data, record.len}, doc->record);
    if (rc == TKL_OK && same) {
        char *copy = tkl__search_box_alloc(box, text.len);
        if (copy)
            doc->text = (tkl_bytes){memcpy(copy, text.data, text.len), text.len};
        rc = copy ? TKL_OK : tkl__nomem();
    } else if (rc == TKL_OK) {
        doc->came = last;
        doc->text.len = 0;
    }
    tkl__buf_free(&text);
    tkl__buf_free(&record);
    return rc;
}

static int fetch_rests(tkl_search *search, tkl__search_result_box *box, const tkl_bytes *ids,
                       size_t count, tkl__search_fetched *docs, bool last)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        if (docs[i].came && docs[i].text.len == TKL__SEARCH_PIECE)
            rc = fetch_rest(search, box, ids[i], &docs[i], last);
    return rc;
}

int tkl__search_fetch(tkl_search *search, tkl__search_result_box *box, const tkl_bytes *ids,
                      size_t count, tkl__search_fetched *docs, tkl__search_outcome *outcome)
{
    bool more = true;
    int rc = TKL_OK, again = 0;
    while (rc == TKL_OK && more && *outcome == TKL__SEARCH_DONE) {
        parts p = {0};
        rc = make_parts(&p, box->schema, ids, count, docs) ? TKL_OK : tkl__nomem();
        more = p.count > 0;
        if (rc == TKL_OK && more)
            rc = fetch_some(search, box, &p, docs, outcome);
        else if (rc == TKL_OK)
            rc = fetch_rests(search, box, ids, count, docs, ++again == AGAIN);
        for (size_t i = 0; i < count; i++)
            more = more || !docs[i].came;
        free_parts(&p);
    }
    return rc;
}

/* ---- The call ------------------------------------------------------------ */

/* Makes hits of the documents that exist. */
static int make_hits(tkl__search_result_box *box, const tkl__search_fetched *docs, size_t count)
{
    tkl__search_found *items = tkl__search_box_alloc(box, count * sizeof *items);
    tkl_bytes *texts = tkl__search_box_alloc(box, count * sizeof *texts);
    size_t found = 0;
    if (!items || !texts)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        if (docs[i].record.len == 0)
            continue;
        texts[found] = docs[i].text;
        items[found++].bytes = docs[i].record;
    }
    box->is.total = box->is.compared = (int64_t)found;
    box->is.exact = true;
    return tkl__search_box_hits(box, items, found, texts);
}

/* The arguments and the result of one call. */
typedef struct getting {
    const tkl_bytes *ids;
    size_t count;
    tkl_search_result *result;
} getting;

static int get_once(tkl_search *search, tkl__search_schema *schema, void *arg,
                    tkl__search_outcome *outcome)
{
    getting *g = arg;
    tkl__search_result_box *box = tkl__search_box_new(schema);
    tkl__search_fetched *docs = box ? tkl__search_box_alloc(box, g->count * sizeof *docs) : NULL;
    int rc = docs ? tkl__search_fetch(search, box, g->ids, g->count, docs, outcome) : tkl__nomem();
    if (rc == TKL_OK && *outcome == TKL__SEARCH_DONE)
        rc = make_hits(box, docs, g->count);
    if (rc == TKL_OK && *outcome == TKL__SEARCH_DONE)
        g->result = &box->is;
    else
        tkl__search_box_free(box);
    return rc;
}

int tkl_search_get(tkl_search *search, const tkl_bytes *ids, size_t count,
                   tkl_search_result **result)
{
    getting g = {.ids = ids, .count = count};
    int64_t began = tkl__now();
    int rc = tkl__search_try(search, get_once, &g);
    if (g.result)
        g.result->took_us = tkl__now() - began;
    *result = g.result;
    return rc;
}
