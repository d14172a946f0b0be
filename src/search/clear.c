/* SPDX-License-Identifier: MIT
 *
 * Clears old versions. The first round trip removes all terms of large versions except their last
 * part. The second one removes the rest and frees the numbers: a number is never freed before
 * everything of it is gone.
 */
#include <stdlib.h>

#include "core/error.h"
#include "search/pieces.h"
#include "search/scripts.h"
#include "search/write.h"

/* Number of runs that are sent together. */
#define TOGETHER 64

int tkl__search_dead_add(tkl__search_dead_list *list, const tkl__search_shard *shard,
                         const tkl_reply *reply)
{
    if (!tkl__grow(&list->items, list->count, sizeof *list->items))
        return tkl__nomem();
    list->items[list->count++] = (tkl__search_dead){
        .shard = shard,
        .owed = tkl_reply_count(reply) < 4,
        .number = tkl_reply_bytes(tkl_reply_at(reply, 0)),
        .stamp = tkl_reply_bytes(tkl_reply_at(reply, 1)),
        .record = tkl_reply_bytes(tkl_reply_at(reply, 2)),
        .terms = tkl_reply_bytes(tkl_reply_at(reply, 3)),
    };
    return TKL_OK;
}

/* The versions to clear, and the members of these documents in the sorted sets of the fields. */
typedef struct clearing {
    tkl__search_writer *writer;
    const tkl__search_dead_list *list;
    size_t *terms;        /* number of terms of each document */
    size_t *postings;     /* number of their postings */
    tkl_bytes *rest;      /* terms of each document that are not cleared yet */
    tkl__buf *long_terms; /* for each document: its terms if they are in pieces, else empty */
    tkl__buf members;
    size_t *ends; /* end of each member in `members`: document by document, field by field */
} clearing;

static void write_members(clearing *c, size_t doc)
{
    const tkl__search_schema *schema = c->writer->schema;
    size_t nfields = schema->is.field_count;
    tkl__search_record record;
    bool known = tkl__search_record_read(c->list->items[doc].record, schema, &record);
    for (size_t i = 0; i < nfields; i++) {
        if (known)
            tkl__search_member(&c->members, schema, i, &record.cells[i]);
        c->ends[doc * nfields + i] = c->members.len;
    }
}

/* Makes a run of search/clear with these documents and their next terms. */
static bool make_run(clearing *c, const size_t *docs, size_t count, bool finish,
                     tkl__search_runs *runs)
{
    const tkl__search_schema *schema = c->writer->schema;
    size_t nfields = schema->is.field_count;
    tkl__search_bundle *run =
        tkl__search_run_begin(c->writer, runs, c->list->items[docs[0]].shard, finish);
    if (!run)
        return false;
    tkl__args_int(&run->args, (int64_t)count);
    tkl__args_int(&run->args, (int64_t)nfields);
    for (size_t i = 0; i < count; i++) {
        const tkl__search_dead *dead = &c->list->items[docs[i]];
        tkl__args_bytes(&run->args, dead->number);
        tkl__args_bytes(&run->args, dead->stamp);
        for (size_t k = docs[i] * nfields; k < (docs[i] + 1) * nfields; k++) {
            size_t start = k ? c->ends[k - 1] : 0;
            tkl__args_bytes(&run->args, (tkl_bytes){c->members.data + start, c->ends[k] - start});
        }
        tkl__search_record record;
        if (finish && tkl__search_record_read(dead->record, schema, &record))
            tkl__search_bundle_band(run, record.length, (unsigned char)(i + 1));
        tkl__search_bundle_terms(run, &c->rest[docs[i]], schema->is.positions,
                                 (unsigned char)(i + 1), TKL__SEARCH_PART_TERMS);
    }
    tkl__search_bundle_end(run, nfields);
    return true;
}

/* Adds a run. Sends the collected runs once there are enough of them. */
static int add_run(clearing *c, const size_t *docs, size_t count, bool finish,
                   tkl__search_runs *runs)
{
    if (count == 0)
        return TKL_OK;
    if (!make_run(c, docs, count, finish, runs))
        return tkl__nomem();
    return runs->count < TOGETHER ? TKL_OK
                                  : tkl__search_runs_flush(c->writer, runs, &tkl__lua_search_clear);
}

/* Adds runs for all parts of large documents except their last part. */
static int add_first_runs(clearing *c, tkl__search_runs *runs)
{
    int rc = TKL_OK;
    for (size_t i = 0; i < c->list->count; i++) {
        size_t last = tkl__search_last_part(c->terms[i]);
        for (size_t at = 0; rc == TKL_OK && at < last; at += TKL__SEARCH_PART_TERMS)
            rc = add_run(c, &i, 1, false, runs);
    }
    return rc;
}

/* Adds runs for the rest: small documents of a shard share runs, a large one has its own. */
static int add_last_runs(clearing *c, const tkl__search_shard *shard, tkl__search_runs *runs)
{
    size_t docs[TKL__SEARCH_RUN_DOCS], count = 0, postings = 0;
    size_t fields = TKL__SEARCH_FIELD_TERMS * c->writer->schema->is.field_count;
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < c->list->count; i++) {
        if (c->list->items[i].shard != shard || c->list->items[i].owed)
            continue;
        if (tkl__search_last_part(c->terms[i])) {
            rc = add_run(c, &i, 1, true, runs);
            continue;
        }
        size_t more = c->postings[i] + fields;
        if (count == TKL__SEARCH_RUN_DOCS || postings + more > TKL__SEARCH_RUN_TERMS) {
            rc = add_run(c, docs, count, true, runs);
            count = postings = 0;
        }
        docs[count++] = i;
        postings += more;
    }
    return rc == TKL_OK ? add_run(c, docs, count, true, runs) : rc;
}

static int clear_all(clearing *c)
{
    const tkl__search_schema *schema = c->writer->schema;
    tkl__search_runs runs = {0};
    int rc = add_first_runs(c, &runs);
    if (rc == TKL_OK)
        rc = tkl__search_runs_flush(c->writer, &runs, &tkl__lua_search_clear);
    for (size_t i = 0; rc == TKL_OK && i < schema->shard_count; i++)
        rc = add_last_runs(c, &schema->shards[i], &runs);
    if (rc == TKL_OK)
        rc = tkl__search_runs_flush(c->writer, &runs, &tkl__lua_search_clear);
    tkl__search_runs_free(&runs);
    return rc;
}

/* Reads the terms of a document that are in pieces. A writer that was killed has posted no terms
 * before all pieces were written. */
static int read_terms(clearing *c, size_t doc)
{
    const tkl__search_dead *dead = &c->list->items[doc];
    size_t pieces = tkl__search_pieces_of(dead->terms);
    c->rest[doc] = dead->terms;
    if (pieces == 0)
        return TKL_OK;
    tkl__buf *terms = &c->long_terms[doc];
    int rc = tkl__search_pieces_read(c->writer->search, dead->shard, TKL__SEARCH_FORWARD,
                                     dead->number, pieces, NULL, terms, NULL);
    c->rest[doc] = (tkl_bytes){terms->data, terms->len};
    return rc;
}

int tkl__search_clear(tkl__search_writer *writer, const tkl__search_dead_list *list)
{
    const tkl__search_schema *schema = writer->schema;
    clearing c = {.writer = writer, .list = list};
    if (list->count == 0)
        return TKL_OK;
    tkl__buf_init(&c.members);
    c.terms = malloc(list->count * sizeof *c.terms);
    c.postings = malloc(list->count * sizeof *c.postings);
    c.rest = malloc(list->count * sizeof *c.rest);
    c.ends = malloc((list->count * schema->is.field_count + 1) * sizeof *c.ends);
    c.long_terms = malloc(list->count * sizeof *c.long_terms);
    int rc = c.terms && c.postings && c.rest && c.ends && c.long_terms ? TKL_OK : tkl__nomem();
    for (size_t i = 0; c.long_terms && i < list->count; i++)
        tkl__buf_init(&c.long_terms[i]);
    for (size_t i = 0; rc == TKL_OK && i < list->count; i++) {
        rc = read_terms(&c, i);
        c.terms[i] = tkl__search_count_terms(c.rest[i], schema->is.positions, &c.postings[i]);
        write_members(&c, i);
    }
    if (rc == TKL_OK && c.members.failed)
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = clear_all(&c);
    tkl__buf_free(&c.members);
    for (size_t i = 0; c.long_terms && i < list->count; i++)
        tkl__buf_free(&c.long_terms[i]);
    free(c.long_terms);
    free(c.terms);
    free(c.postings);
    free(c.rest);
    free(c.ends);
    return rc;
}
