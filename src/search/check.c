/* SPDX-License-Identifier: MIT
 *
 * Checking: all that an index has is compared with the records and terms of its documents.
 *
 * A shard is checked in five parts, each in steps of some milliseconds:
 *
 *   census    looks at all numbers. A number with a record and terms is a document, which has an id
 *             and can be found, or an old version that was never cleared. A number with only a part
 *             of these is a lost document, which is removed. The script counts the words of the
 *             documents and returns them. The client makes sure that each of their terms and values
 *             is there (search/mend).
 *   survey    looks at all terms, removes numbers whose documents do not have the term, and
 *             corrects the counts of terms.
 *   strays    removes ids, and members of fields, that belong to no document.
 *   free      frees the numbers that belong to no document. Before the survey, terms may have them.
 *   settle    sets the totals, and notes the time.
 *
 * Other clients write meanwhile. So each script decides by what it finds itself, not by what the
 * client has seen before, and leaves numbers alone that are being added or removed (:dead). Writers
 * keep the count of words up to date for the documents that the census has passed
 * (documents.add_words()).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "core/plain.h"
#include "core/rounds.h"
#include "core/token.h"
#include "search/call.h"
#include "search/pieces.h"
#include "search/scripts.h"
#include "search/write.h"

/* Terms of one call of search/survey. */
#define SURVEY_TERMS 200

/* Suspects of one run of search/mend: the terms of each may be 64 KB and more. */
#define SUSPECTS 6

/* Terms of one run: each is compared, counted and looked up. */
#define MEND_TERMS (TKL__SEARCH_RUN_TERMS / 2)
#define PART_TERMS (TKL__SEARCH_PART_TERMS / 2)

/* The check of a shard. */
typedef struct checking {
    tkl__search_writer w;
    const tkl__search_shard *shard;
    char id[TKL_TOKEN_SIZE];               /* names this check */
    char kinds[TKL_SEARCH_FIELDS_MAX + 1]; /* kinds of the fields, as scripts want them */
    tkl__rounds rounds;
    bool gained;   /* whether the last call got further */
    tkl__buf olds; /* numbers of old versions that were never cleared, each followed by a NUL */
    tkl_search_checked sum;
} checking;

/* ---- Calls --------------------------------------------------------------- */

static void begin_call(const checking *c, tkl__search_call *call)
{
    tkl__search_call_begin(call, c->shard);
    tkl__args_str(&call->args, c->w.schema->token);
}

/* Runs a call and frees it. *reply: an array, unless the index is another one by now. */
static int end_call(checking *c, tkl__search_call *call, const tkl__script *script,
                    tkl_reply **reply)
{
    *reply = NULL;
    int rc = tkl__next_round(&c->rounds, c->w.search->client, c->w.search->options.timeout_ms,
                             c->gained);
    if (rc == TKL_OK)
        rc = tkl__search_call_run(call, c->w.search, script, reply);
    tkl__search_call_free(call);
    if (rc != TKL_OK || tkl_reply_type_of(*reply) != TKL_REPLY_STRING)
        return rc;
    if (strcmp(tkl_reply_str(*reply), "other") == 0)
        return tkl__fail(TKL_CONFLICT, "another check of this index has begun");
    c->w.stale = true;
    return TKL_OK;
}

/* ---- Mending ------------------------------------------------------------- */

/* Begins a run of search/mend. The caller adds the documents and their terms. */
static tkl__search_bundle *begin_mend(checking *c, tkl__search_runs *runs, bool wanted,
                                      size_t documents, size_t nfields)
{
    tkl__search_bundle *run = tkl__search_run_begin(&c->w, runs, c->shard, wanted);
    if (run) {
        tkl__args_int(&run->args, (int64_t)documents);
        tkl__args_int(&run->args, (int64_t)nfields);
    }
    return run;
}

/* Sends the runs, one of them at a time, and adds up what they have mended. */
static int send_mends(checking *c, tkl__search_runs *runs)
{
    tkl_reply *replies = NULL;
    int rc =
        runs->count ? tkl__search_runs_send(&c->w, runs, &tkl__lua_search_mend, &replies) : TKL_OK;
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        tkl__add(&c->sum.postings, tkl_reply_int(tkl_reply_at(reply, 0)));
        tkl__add(&c->sum.values, tkl_reply_int(tkl_reply_at(reply, 1)));
        tkl__add(&c->sum.counts, tkl_reply_int(tkl_reply_at(reply, 2)));
    }
    tkl_reply_free(replies);
    tkl__search_runs_free(runs);
    return rc;
}

/* ---- Census -------------------------------------------------------------- */

/* A document of the census: {number, record, terms}. */
typedef struct seen {
    tkl_bytes number, stored, terms;
    tkl__search_record record;
    size_t postings, pieces; /* pieces: 0 when the terms are not in pieces */
} seen;

static bool read_seen(const checking *c, const tkl_reply *reply, seen *doc)
{
    doc->number = tkl_reply_bytes(tkl_reply_at(reply, 0));
    doc->stored = tkl_reply_bytes(tkl_reply_at(reply, 1));
    doc->terms = tkl_reply_bytes(tkl_reply_at(reply, 2));
    doc->pieces = tkl__search_pieces_of(doc->terms);
    doc->postings = 1;
    if (!doc->pieces)
        (void)tkl__search_count_terms(doc->terms, c->w.schema->is.positions, &doc->postings);
    return tkl__search_record_read(doc->stored, c->w.schema, &doc->record);
}

static void add_document(tkl__search_bundle *run, const seen *doc, tkl_bytes forward)
{
    tkl__args_bytes(&run->args, doc->number);
    tkl__args_bytes(&run->args, forward);
    tkl__args_bytes(&run->args, doc->stored);
}

static void add_values(const checking *c, tkl__search_bundle *run, const seen *doc)
{
    const tkl__search_schema *schema = c->w.schema;
    tkl__buf member;
    tkl__buf_init(&member);
    for (size_t i = 0; i < schema->is.field_count; i++) {
        const tkl__search_cell *cell = &doc->record.cells[i];
        tkl__buf_clear(&member);
        tkl__search_member(&member, schema, i, cell);
        tkl__args_double(&run->args, tkl__search_score(schema, i, cell));
        tkl__args_bytes(&run->args, tkl__search_bundle_keep(run, &member));
    }
    tkl__buf_free(&member);
}

/* Adds a run with the terms of a part of a long document; takes them off the front. */
static int add_part(checking *c, const seen *doc, tkl_bytes forward, tkl_bytes *terms,
                    tkl__search_runs *runs)
{
    tkl__search_bundle *run = begin_mend(c, runs, true, 1, 0);
    if (!run)
        return tkl__nomem();
    add_document(run, doc, forward);
    tkl__search_bundle_terms(run, terms, c->w.schema->is.positions, 1, PART_TERMS);
    tkl__search_bundle_end(run, 0);
    return TKL_OK;
}

/* Mends the terms of one field of :forward. */
static int mend_part(checking *c, const seen *doc, tkl_bytes forward, tkl_bytes terms)
{
    tkl__search_runs runs = {0};
    int rc = TKL_OK;
    for (size_t before = 0; rc == TKL_OK && terms.len && terms.len != before;) {
        before = terms.len;
        rc = add_part(c, doc, forward, &terms, &runs);
        if (rc == TKL_OK)
            rc = send_mends(c, &runs);
    }
    tkl__search_runs_free(&runs);
    return rc;
}

/* Mends the terms of a document that are in pieces, piece by piece. */
static int mend_pieces(checking *c, const seen *doc)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < doc->pieces; i++) {
        char field[64];
        tkl_bytes piece = {field, (size_t)snprintf(field, sizeof field, TKL_FMT ":%zu",
                                                   TKL_ARG(doc->number), i + 1)};
        tkl_reply *reply = NULL;
        tkl__args args;
        tkl__args_init(&args);
        tkl__args_str(&args, "HGET");
        tkl__args_bytes(&args, c->shard->keys[TKL__SEARCH_FORWARD]);
        tkl__args_bytes(&args, piece);
        rc =
            tkl__plain(c->w.search->client, &args, tkl__search_deadline(c->w.search), true, &reply);
        tkl__args_free(&args);
        if (rc == TKL_OK)
            rc = mend_part(c, doc, piece, tkl_reply_bytes(reply));
        tkl_reply_free(reply);
    }
    return rc;
}

/* Adds one run for documents whose terms fit into it, `count` of them, and for the values and the
 * band of a longer one. */
static int add_documents(checking *c, const seen *docs, size_t count, tkl__search_runs *runs)
{
    size_t nfields = c->w.schema->is.field_count;
    tkl__search_bundle *run = begin_mend(c, runs, true, count, nfields);
    if (!run)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        tkl_bytes terms = docs[i].terms;
        add_document(run, &docs[i], docs[i].number);
        add_values(c, run, &docs[i]);
        tkl__search_bundle_band(run, docs[i].record.length, (unsigned char)(i + 1));
        if (docs[i].postings <= MEND_TERMS && !docs[i].pieces)
            tkl__search_bundle_terms(run, &terms, c->w.schema->is.positions, (unsigned char)(i + 1),
                                     SIZE_MAX);
    }
    tkl__search_bundle_end(run, nfields);
    return TKL_OK;
}

/* Mends the terms of a document that are too many for a run. */
static int mend_long(checking *c, const seen *doc)
{
    if (doc->pieces)
        return mend_pieces(c, doc);
    return doc->postings > MEND_TERMS ? mend_part(c, doc, doc->number, doc->terms) : TKL_OK;
}

/* Mends the terms and values of the documents in a reply of search/census. */
static int mend_documents(checking *c, const tkl_reply *found)
{
    seen docs[TKL__SEARCH_RUN_DOCS];
    size_t fields = TKL__SEARCH_FIELD_TERMS * c->w.schema->is.field_count;
    size_t count = 0, postings = 0;
    tkl__search_runs runs = {0};
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(found); i++) {
        seen *doc = &docs[count];
        if (!read_seen(c, tkl_reply_at(found, i), doc))
            continue;
        c->sum.documents++;
        rc = mend_long(c, doc);
        postings += (doc->postings > MEND_TERMS ? 1 : doc->postings) + fields;
        count++;
        if (rc == TKL_OK && (count == TKL__SEARCH_RUN_DOCS || postings > MEND_TERMS)) {
            rc = add_documents(c, docs, count, &runs);
            count = postings = 0;
        }
    }
    if (rc == TKL_OK && count)
        rc = add_documents(c, docs, count, &runs);
    if (rc == TKL_OK)
        rc = send_mends(c, &runs);
    tkl__search_runs_free(&runs);
    return rc;
}

/* Clears the old versions that a census has found: after the survey, since writers rely on the
 * counts of terms. */
static int clear_olds(checking *c)
{
    tkl__search_dead_list list = {0};
    size_t count = 0;
    for (size_t i = 0; i < c->olds.len; i++)
        count += c->olds.data[i] == '\0';
    if (c->olds.failed || !(list.items = calloc(count + 1, sizeof *list.items)))
        return tkl__nomem();
    for (const char *at = c->olds.data; list.count < count; at += strlen(at) + 1)
        list.items[list.count++] =
            (tkl__search_dead){.shard = c->shard, .owed = true, .number = tkl_str(at)};
    int rc = tkl__search_clear_owed(&c->w, &list);
    free(list.items);
    tkl__buf_clear(&c->olds);
    return rc;
}

/* Looks at all numbers. `last`: only frees the numbers that belong to no document. */
static int take_census(checking *c, bool last)
{
    int64_t from = 0;
    int rc = TKL_OK;
    while (rc == TKL_OK && !c->w.stale && from >= 0) {
        tkl__search_call call;
        tkl_reply *reply;
        begin_call(c, &call);
        tkl__args_str(&call.args, c->id);
        tkl__args_str(&call.args, c->kinds);
        tkl__args_str(&call.args, last ? "1" : "0");
        tkl__args_int(&call.args, from);
        rc = end_call(c, &call, &tkl__lua_search_census, &reply);
        if (rc == TKL_OK && !c->w.stale) {
            int64_t next = tkl_reply_int(tkl_reply_at(reply, 0));
            c->gained = next < 0 || next > from;
            from = next;
            tkl__add(&c->sum.ids, tkl_reply_int(tkl_reply_at(reply, 3)));
            tkl__add(&c->sum.lost, tkl_reply_int(tkl_reply_at(reply, 4)));
            const tkl_reply *olds = tkl_reply_at(reply, 1);
            for (size_t i = 0; i < tkl_reply_count(olds); i++)
                tkl__buf_add(&c->olds, tkl_reply_str(tkl_reply_at(olds, i)),
                             tkl_reply_bytes(tkl_reply_at(olds, i)).len + 1);
        }
        if (rc == TKL_OK && !c->w.stale && !last)
            rc = mend_documents(c, tkl_reply_at(reply, 2));
        tkl_reply_free(reply);
    }
    return rc;
}

/* ---- Survey -------------------------------------------------------------- */

/* Terms to look at. */
typedef struct terms {
    tkl__buf bytes;
    size_t ends[(1 + TKL__SEARCH_SEVERAL) * SURVEY_TERMS];
    size_t count;
} terms;

static tkl_bytes term_at(const terms *t, size_t i)
{
    size_t start = i ? t->ends[i - 1] : 0;
    return (tkl_bytes){t->bytes.data + start, t->ends[i] - start};
}

/* Appends the field of :forward that has a term of a document. The word alone decides the piece,
 * also for a term of 'm', 2, 4 or 8, and the word. */
static void add_forward(tkl__buf *out, tkl_bytes number, size_t pieces, tkl_bytes term)
{
    tkl__buf own;
    bool several = term.len > 2 && term.data[0] == 'm';
    tkl__buf_init(&own);
    tkl__buf_add(&own, "w", several ? 1 : 0);
    tkl__buf_add(&own, term.data + (several ? 2 : 0), term.len - (several ? 2 : 0));
    tkl__buf_add(out, number.data, number.len);
    if (pieces)
        tkl__buf_addf(out, ":%zu",
                      tkl__search_piece_with((tkl_bytes){own.data, own.len}, pieces) + 1);
    out->failed = out->failed || own.failed;
    tkl__buf_free(&own);
}

/* A suspect of search/survey: a term, and a document that should not have it. */
typedef struct suspect {
    tkl_bytes term, number; /* number: empty when only the count of the term is wrong */
    int64_t pieces;         /* pieces of the document's terms; 0: they are whole */
} suspect;

/* Reads the suspects from `at` on, at most `max`; returns how many, or -1: the reply is not one of
 * search/survey. */
static int read_suspects(const terms *t, size_t first, const tkl_reply *reply, size_t at, int max,
                         suspect *suspects)
{
    int count = 0;
    for (size_t i = at; count < max && i + 2 < tkl_reply_count(reply); i += 3) {
        int64_t index = tkl_reply_int(tkl_reply_at(reply, i));
        int64_t pieces = tkl_reply_int(tkl_reply_at(reply, i + 2));
        if (index < 1 || (size_t)index > t->count - first || pieces < 0)
            return -1;
        suspects[count++] = (suspect){.term = term_at(t, first + (size_t)index - 1),
                                      .number = tkl_reply_bytes(tkl_reply_at(reply, i + 1)),
                                      .pieces = pieces};
    }
    return count;
}

/* Adds a run for some suspects, each of which is a document of the run. */
static int add_suspects(checking *c, const suspect *suspects, int count, tkl__search_runs *runs)
{
    tkl__search_bundle *run = begin_mend(c, runs, false, (size_t)count, 0);
    tkl__buf forward;
    if (!run)
        return tkl__nomem();
    tkl__buf_init(&forward);
    for (int i = 0; i < count; i++) {
        const suspect *s = &suspects[i];
        tkl__buf_clear(&forward);
        add_forward(&forward, s->number, (size_t)s->pieces, s->term);
        tkl__args_bytes(&run->args, s->number);
        tkl__args_bytes(&run->args, tkl__search_bundle_keep(run, &forward));
        tkl__args_str(&run->args, "");
        tkl__search_bundle_post(run, s->term, s->number.len ? (unsigned char)(i + 1) : 0);
    }
    tkl__search_bundle_end(run, 0);
    tkl__buf_free(&forward);
    return TKL_OK;
}

static int mend_suspects(checking *c, const terms *t, size_t first, const tkl_reply *reply)
{
    tkl__search_runs runs = {0};
    int rc = TKL_OK;
    for (size_t at = 0; rc == TKL_OK && at < tkl_reply_count(reply);) {
        suspect suspects[SUSPECTS];
        int count = read_suspects(t, first, reply, at, SUSPECTS, suspects);
        if (count <= 0)
            rc = tkl__fail(TKL_EPROTO, "an answer names a term that was not asked for");
        else
            rc = add_suspects(c, suspects, count, &runs);
        at += 3 * (size_t)(count > 0 ? count : 1);
    }
    if (rc == TKL_OK)
        rc = send_mends(c, &runs);
    tkl__search_runs_free(&runs);
    return rc;
}

/* Looks at the terms, in as many steps as that takes. */
static int survey_terms(checking *c, const terms *t)
{
    size_t done = 0;
    int64_t from = 0;
    int rc = t->bytes.failed ? tkl__nomem() : TKL_OK;
    tkl__add(&c->sum.terms, (int64_t)t->count);
    while (rc == TKL_OK && !c->w.stale && done < t->count) {
        tkl__search_call call;
        tkl_reply *reply;
        begin_call(c, &call);
        for (size_t i = done; i < t->count && i < done + SURVEY_TERMS; i++)
            tkl__search_call_term(&call, c->shard, term_at(t, i));
        tkl__args_int(&call.args, (int64_t)tkl__search_term_at(c->shard));
        tkl__args_int(&call.args, from);
        rc = end_call(c, &call, &tkl__lua_search_survey, &reply);
        if (rc == TKL_OK && !c->w.stale)
            rc = mend_suspects(c, t, done, tkl_reply_at(reply, 2));
        int64_t more = tkl_reply_int(tkl_reply_at(reply, 0));
        int64_t next = tkl_reply_int(tkl_reply_at(reply, 1));
        c->gained = more > 0 || next > from;
        done += more > 0 ? (size_t)more : 0;
        from = next;
        tkl_reply_free(reply);
    }
    return rc;
}

static void add_term(terms *t, tkl_bytes term)
{
    tkl__buf_add(&t->bytes, term.data, term.len);
    t->ends[t->count++] = t->bytes.len;
}

/* Looks at the terms of a reply of search/names, and at words that documents have several times. */
static int survey_names(checking *c, const tkl_reply *names)
{
    terms t = {.count = 0};
    int rc = TKL_OK;
    tkl__buf_init(&t.bytes);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(names); i++) {
        tkl_bytes name = tkl_reply_bytes(tkl_reply_at(names, i));
        add_term(&t, name);
        for (size_t k = 0; name.len && name.data[0] == 'w' && k < TKL__SEARCH_SEVERAL; k++) {
            tkl__search_term_several(&t.bytes, name, k);
            t.ends[t.count++] = t.bytes.len;
        }
        if (t.count + 1 + TKL__SEARCH_SEVERAL > sizeof t.ends / sizeof *t.ends ||
            i + 1 == tkl_reply_count(names)) {
            rc = survey_terms(c, &t);
            tkl__buf_clear(&t.bytes);
            t.count = 0;
        }
    }
    tkl__buf_free(&t.bytes);
    return rc;
}

static int survey_bands(checking *c)
{
    terms t = {.count = 0};
    tkl__buf_init(&t.bytes);
    for (size_t i = 0; i < TKL__SEARCH_BANDS; i++) {
        tkl__search_term_band(&t.bytes, i);
        t.ends[t.count++] = t.bytes.len;
    }
    int rc = survey_terms(c, &t);
    tkl__buf_free(&t.bytes);
    return rc;
}

/* Looks at all terms that :terms lists, or with `common` at the terms with a bitmap that it does
 * not list. */
static int take_survey(checking *c, bool common)
{
    tkl_reply *reply = NULL;
    int rc = TKL_OK;
    do {
        tkl__search_call call;
        tkl_reply *next;
        begin_call(c, &call);
        tkl__args_str(&call.args, common ? "1" : "0");
        tkl__args_bytes(&call.args, tkl_reply_bytes(tkl_reply_at(reply, 0)));
        rc = end_call(c, &call, &tkl__lua_search_names, &next);
        c->gained = tkl_reply_count(tkl_reply_at(next, 1)) > 0 || common;
        tkl_reply_free(reply);
        reply = next;
        if (rc == TKL_OK && !c->w.stale)
            rc = survey_names(c, tkl_reply_at(reply, 1));
    } while (rc == TKL_OK && !c->w.stale && tkl_reply_bytes(tkl_reply_at(reply, 0)).len);
    tkl_reply_free(reply);
    return rc;
}

/* ---- Strays -------------------------------------------------------------- */

/* Removes ids, or the members of a field, that belong to no document. */
static int remove_strays(checking *c, const size_t *field)
{
    const tkl__search_shard *shard = c->shard;
    tkl_reply *reply = NULL;
    tkl_bytes cursor = tkl_str("0");
    tkl__circle circle = {.steps = 0};
    int rc = TKL_OK;
    do {
        tkl__search_call call;
        tkl_reply *next;
        begin_call(c, &call);
        if (field) {
            tkl__search_call_key(&call, shard->fields[*field]);
            for (size_t i = 0; i < TKL__SEARCH_FIELD_STEPS; i++)
                tkl__search_call_key(&call, shard->steps[*field * TKL__SEARCH_FIELD_STEPS + i]);
        }
        tkl__args_str(&call.args, c->kinds);
        if (field)
            tkl__args_int(&call.args, (int64_t)*field);
        tkl__args_bytes(&call.args, cursor);
        rc = end_call(c, &call, field ? &tkl__lua_search_members : &tkl__lua_search_strays, &next);
        tkl_reply_free(reply);
        reply = next;
        if (rc != TKL_OK || c->w.stale)
            break;
        cursor = tkl_reply_bytes(tkl_reply_at(reply, 0));
        rc = tkl__circle_next(&circle, cursor);
        tkl__add(field ? &c->sum.values : &c->sum.ids, tkl_reply_int(tkl_reply_at(reply, 1)));
        tkl__add(&c->sum.counts, (int64_t)tkl_reply_count(tkl_reply_at(reply, 2)));
        tkl__search_make_ladders(&c->w, shard, tkl_reply_at(reply, 2));
    } while (rc == TKL_OK && strcmp(cursor.data, "0") != 0);
    tkl_reply_free(reply);
    return rc;
}

static int remove_all_strays(checking *c)
{
    int rc = remove_strays(c, NULL);
    for (size_t i = 0; rc == TKL_OK && !c->w.stale && i < c->w.schema->is.field_count; i++)
        rc = remove_strays(c, &i);
    return rc;
}

/* ---- The check ----------------------------------------------------------- */

static int settle_totals(checking *c)
{
    tkl__search_call call;
    tkl_reply *reply;
    begin_call(c, &call);
    tkl__args_str(&call.args, c->id);
    int rc = end_call(c, &call, &tkl__lua_search_settle, &reply);
    if (rc == TKL_OK && !c->w.stale)
        tkl__add(&c->sum.counts, tkl_reply_int(reply));
    tkl_reply_free(reply);
    return rc;
}

static int check_shard(checking *c)
{
    int rc = take_census(c, false);
    if (rc == TKL_OK && !c->w.stale)
        rc = survey_bands(c);
    if (rc == TKL_OK && !c->w.stale)
        rc = take_survey(c, false);
    if (rc == TKL_OK && !c->w.stale)
        rc = take_survey(c, true);
    if (rc == TKL_OK && !c->w.stale)
        rc = clear_olds(c);
    if (rc == TKL_OK && !c->w.stale)
        rc = remove_all_strays(c);
    if (rc == TKL_OK && !c->w.stale)
        rc = take_census(c, true);
    if (rc == TKL_OK && !c->w.stale)
        rc = settle_totals(c);
    return rc;
}

static int check_once(tkl_search *search, tkl__search_schema *schema, void *arg,
                      tkl__search_outcome *outcome)
{
    tkl_search_checked *sum = arg;
    checking c = {.w = {.search = search, .schema = schema}, .gained = true};
    int rc = TKL_OK;
    tkl__token_new(c.id);
    tkl__buf_init(&c.olds);
    for (size_t i = 0; i < schema->is.field_count; i++)
        c.kinds[i] = schema->fields[i].numeric ? 'n' : 't';
    for (size_t i = 0; rc == TKL_OK && !c.w.stale && i < schema->shard_count; i++) {
        c.shard = &schema->shards[i];
        rc = check_shard(&c);
    }
    tkl__buf_free(&c.olds);
    *sum = c.sum;
    *outcome = c.w.stale ? TKL__SEARCH_STALE : TKL__SEARCH_DONE;
    return rc;
}

int tkl_search_check(tkl_search *search, tkl_search_checked *checked)
{
    tkl_search_checked sum = {.documents = 0};
    int rc = tkl__search_try(search, check_once, &sum);
    if (checked)
        *checked = sum;
    return rc;
}
