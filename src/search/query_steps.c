/* SPDX-License-Identifier: MIT
 *
 * The round trips of one query. Every shard runs search/query; most of them reply in full. A shard
 * whose work is too much for one script is asked again until it is done. When a shard changes
 * between two replies, the query starts over, up to BEGIN_MAX times; after that its result is
 * marked as not exact.
 */
#include "search/query_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/reply.h"
#include "core/rounds.h"
#include "core/token.h"
#include "search/call.h"
#include "search/pieces.h"
#include "search/scripts.h"
#include "text/library.h"

/* Candidates of one step of a scan. A step takes longer for a plan with many terms. */
#define SCAN_BLOCK 500
#define SCAN_TERMS 200
/* How many times a query starts because the index keeps changing. */
#define BEGIN_MAX 3

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
    PLACE,
    ELEMENTS,
};

/* ---- Requests ------------------------------------------------------------ */

/* Most scorers for which the server finds the best hits; with more of them all hits are compared. */
#define BEST_SCORERS 4

/* Whether the server chooses the candidates for the best hits by relevance. */
static bool by_best(const tkl__search_run *run)
{
    size_t scorers = run->plan->scorer_count;
    return run->order->kind == TKL__SEARCH_BY_RELEVANCE && !run->plan->verify && run->count > 0 &&
           scorers > 0 && scorers <= BEST_SCORERS;
}

/* Whether the server chooses the candidates for the hits with the greatest sums. */
static bool by_heaviest(const tkl__search_run *run)
{
    return run->order->kind == TKL__SEARCH_BY_WEIGHTS && !run->plan->verify && run->count > 0;
}

/* All hits have the same relevance: the first ones by number are as good as any. */
static bool first_will_do(const tkl__search_run *run)
{
    return run->order->kind == TKL__SEARCH_BY_RELEVANCE && !run->plan->verify &&
           run->plan->scorer_count == 0;
}

static bool by_scan(const tkl__search_run *run)
{
    return run->plan->verify || run->order->kind != TKL__SEARCH_BY_FIELD;
}

/* Whether each document is compared with the query. */
static bool verifies(const tkl__search_run *run)
{
    return run->plan->verify || run->loose;
}

static bool ranks_by_terms(const tkl__search_run *run)
{
    return run->order->kind == TKL__SEARCH_BY_RELEVANCE && run->plan->scorer_count > 0;
}

static bool needs_terms(const tkl__search_run *run)
{
    return run->state != TKL__SEARCH_WEIGH && (verifies(run) || ranks_by_terms(run));
}

static const char *order_word(const tkl__search_run *run, const tkl__search_progress *p)
{
    if (run->state == TKL__SEARCH_WEIGH || (run->count == 0 && !run->plan->verify))
        return "count";
    if (by_best(run) && !p->compare_all)
        return "best";
    if (by_heaviest(run) && !p->compare_all)
        return "heavy";
    if (by_scan(run) || p->compare_all)
        return "scan";
    return run->order->down ? "down" : "up";
}

/* Whether the server chooses candidates for the first hits of this order. */
static bool is_choosing(const char *word)
{
    return strcmp(word, "best") == 0 || strcmp(word, "heavy") == 0;
}

/* Number of documents needed from the beginning of the order. */
static int64_t last_wanted(const tkl__search_run *run)
{
    return run->offset + run->count;
}

static bool alone(const tkl__search_run *run)
{
    return run->schema->shard_count == 1;
}

static int64_t first_of(const tkl__search_run *run, const tkl__search_progress *p)
{
    if (by_scan(run) || p->compare_all)
        return p->cursor;
    return alone(run) ? run->offset - p->skipped : 0;
}

/* Number of hits that each shard sends in the order of a field, or of all that are equally good. */
static int64_t wanted_of_each(const tkl__search_run *run)
{
    return alone(run) && !by_scan(run) ? run->count : last_wanted(run);
}

static int64_t most_of(const tkl__search_run *run, const tkl__search_progress *p)
{
    if (by_scan(run) || p->compare_all) {
        int64_t left = !by_scan(run)        ? SCAN_BLOCK
                       : first_will_do(run) ? wanted_of_each(run) - p->taken
                                            : run->compare_max - run->examined;
        int64_t block = SCAN_BLOCK * SCAN_TERMS / (SCAN_TERMS + (int64_t)run->plan->term_count);
        return left < 1 ? 1 : left < block ? left : block;
    }
    return wanted_of_each(run) - p->taken;
}

/* A ladder of the order gives the first documents of a result and no others, so all of them must
 * match. */
static bool has_ladder(const tkl__search_run *run)
{
    return !by_scan(run) && run->count > 0 && !run->loose;
}

/* Adds the keys of a ladder: of the field, and of the steps of its top or of its low end. */
static void add_ladder_keys(const tkl__search_shard *shard, size_t field, bool top,
                            tkl__search_call *call)
{
    size_t first = field * TKL__SEARCH_FIELD_STEPS + (top ? 0 : TKL__SEARCH_STEPS);
    tkl__search_call_key(call, shard->fields[field]);
    for (size_t i = 0; i < TKL__SEARCH_STEPS; i++)
        tkl__search_call_key(call, shard->steps[first + i]);
}

/* Adds the keys of the ladders that the order needs. */
static void add_ladders(const tkl__search_run *run, const tkl__search_shard *shard,
                        const char *word, tkl__search_call *call)
{
    const tkl__search_order *order = run->order;
    if (has_ladder(run))
        add_ladder_keys(shard, order->field, order->down, call);
    for (size_t i = 0; strcmp(word, "heavy") == 0 && i < order->weight_count; i++)
        if (order->weights[i] != 0)
            add_ladder_keys(shard, order->weight_fields[i], order->weights[i] > 0, call);
}

/* Adds the arguments for these keys: of each field its name in the ladder and its weight. */
static void add_ladder_args(const tkl__search_run *run, const char *word, tkl__search_call *call)
{
    const tkl__search_order *order = run->order;
    if (has_ladder(run)) {
        tkl__args_int(&call->args, (int64_t)order->field);
        tkl__args_int(&call->args, order->down ? 1 : -1);
    }
    for (size_t i = 0; strcmp(word, "heavy") == 0 && i < order->weight_count; i++) {
        if (order->weights[i] != 0) {
            tkl__args_int(&call->args, (int64_t)order->weight_fields[i]);
            tkl__args_double(&call->args, order->weights[i]);
        }
    }
}

/* Number of ladders whose keys the call has. */
static int64_t ladder_count(const tkl__search_run *run, const char *word)
{
    int64_t count = has_ladder(run);
    for (size_t i = 0; strcmp(word, "heavy") == 0 && i < run->order->weight_count; i++)
        count += run->order->weights[i] != 0;
    return count;
}

/* Adds the keys of the words that documents have several times, and of the bands of lengths. */
static void add_best_keys(const tkl__search_run *run, const tkl__search_shard *shard,
                          tkl__search_call *call)
{
    const tkl__search_plan *plan = run->plan;
    tkl__buf term, key;
    tkl__buf_init(&term);
    tkl__buf_init(&key);
    for (size_t i = 0; i < plan->scorer_count; i++) {
        const tkl__search_scorer *scorer = &plan->scorers[i];
        for (size_t k = 0; !scorer->prefix.data && k < TKL__SEARCH_SEVERAL; k++) {
            tkl__buf_clear(&term);
            tkl__buf_clear(&key);
            tkl__search_term_several(&term, plan->terms[scorer->terms[0]], k);
            tkl__search_term_key(&key, shard, (tkl_bytes){term.data, term.len});
            tkl__search_call_key(call, (tkl_bytes){key.data, key.len});
        }
    }
    for (size_t i = 0; i < TKL__SEARCH_BANDS; i++)
        tkl__search_call_key(call, shard->bands[i]);
    call->failed = call->failed || term.failed || key.failed;
    tkl__buf_free(&term);
    tkl__buf_free(&key);
}

/* Adds the scorers, behind the number of hits. A single shard knows their weights by itself. */
static void add_best_args(const tkl__search_run *run, tkl__search_call *call)
{
    const tkl__search_plan *plan = run->plan;
    if (run->rarity.weight)
        tkl__args_double(&call->args, run->rarity.length);
    else
        tkl__args_str(&call->args, "");
    tkl__args_int(&call->args, (int64_t)plan->scorer_count);
    for (size_t i = 0; i < plan->scorer_count; i++) {
        const tkl__search_scorer *scorer = &plan->scorers[i];
        if (run->rarity.weight)
            tkl__args_double(&call->args, run->rarity.weight[i]);
        else
            tkl__args_str(&call->args, "");
        tkl__args_str(&call->args, scorer->required ? "1" : "0");
        tkl__args_str(&call->args, scorer->prefix.data ? "1" : "0");
        tkl__args_int(&call->args, (int64_t)scorer->count);
        for (size_t k = 0; k < scorer->count; k++)
            tkl__args_int(&call->args, (int64_t)scorer->terms[k] + 1);
    }
}

/* Number of prefixes whose bitmaps the call has, for the search for the best. */
static int64_t times_count(const tkl__search_run *run, const char *word)
{
    int64_t count = 0;
    for (size_t i = 0; strcmp(word, "best") == 0 && i < run->plan->scorer_count; i++)
        count += run->plan->scorers[i].prefix.data != NULL;
    return count;
}

/* Adds the key under which the shard may keep the result between two steps of this query. */
static void add_result_key(const tkl__search_run *run, const tkl__search_shard *shard,
                           tkl__search_call *call)
{
    tkl__buf key;
    tkl__buf_init(&key);
    tkl__buf_add(&key, shard->base.data, shard->base.len);
    tkl__buf_addf(&key, ":result:%s", run->token);
    tkl__search_call_key(call, (tkl_bytes){key.data, key.len});
    call->failed = call->failed || key.failed;
    tkl__buf_free(&key);
}

static void add_keys(const tkl__search_run *run, size_t shard, const char *word,
                     tkl__search_call *call)
{
    const tkl__search_shard *s = &run->schema->shards[shard];
    tkl__search_call_key(call, run->order->kind == TKL__SEARCH_BY_FIELD
                                   ? s->fields[run->order->field]
                                   : s->keys[TKL__SEARCH_META]);
    add_result_key(run, s, call);
    add_ladders(run, s, word, call);
    for (size_t i = 0; times_count(run, word) > 0 && i < run->plan->scorer_count; i++)
        if (run->plan->scorers[i].prefix.data)
            tkl__search_call_times_keys(call, s, &run->plan->scorers[i], run->shards[shard].made);
    tkl__search_call_plan_keys(call, run->plan, s, run->shards[shard].made);
    if (strcmp(word, "best") == 0)
        add_best_keys(run, s, call);
}

static void make_call(const tkl__search_run *run, size_t shard, tkl__search_call *call)
{
    const tkl__search_progress *p = &run->shards[shard];
    const char *word = order_word(run, p);
    bool text =
        run->order->kind == TKL__SEARCH_BY_FIELD && !run->schema->fields[run->order->field].numeric;
    tkl__search_call_begin(call, &run->schema->shards[shard]);
    add_keys(run, shard, word, call);
    tkl__args_str(&call->args, run->schema->token);
    tkl__args_int(&call->args, (int64_t)tkl__search_term_at(&run->schema->shards[shard]));
    tkl__args_bytes(&call->args, (tkl_bytes){run->plan->steps.data, run->plan->steps.len});
    tkl__args_str(&call->args, word);
    tkl__args_str(&call->args, text ? "1" : "0");
    tkl__args_int(&call->args, first_of(run, p));
    tkl__args_int(&call->args, most_of(run, p));
    tkl__args_bytes(&call->args, p->place);
    tkl__args_str(&call->args, needs_terms(run) ? "1" : "0");
    tkl__args_str(&call->args, p->version);
    tkl__args_int(&call->args, ladder_count(run, word));
    tkl__args_int(&call->args, times_count(run, word));
    tkl__search_call_plan_args(call, run->plan, shard, p->made_before ? "*" : p->made, true);
    add_ladder_args(run, word, call);
    if (is_choosing(word))
        tkl__args_int(&call->args, last_wanted(run) + p->more);
    if (strcmp(word, "best") == 0)
        add_best_args(run, call);
}

/* Asks all shards that are not done, in one round trip. Their replies have the order of the
 * shards. */
static int ask_shards(tkl__search_run *run, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, run->search->client);
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        tkl__search_call call = {0};
        if (run->shards[i].done)
            continue;
        make_call(run, i, &call);
        tkl__search_call_add(&batch, &call, &tkl__lua_search_query);
        tkl__search_call_free(&call);
    }
    int rc = tkl__batch_end(&batch, tkl__search_deadline(run->search), replies);
    return rc == TKL_OK ? tkl__search_box_keep(run->box, *replies) : rc;
}

/* ---- Replies ------------------------------------------------------------- */

static tkl__search_found *new_item(tkl__search_run *run)
{
    if (!tkl__grow(&run->items, run->item_count, sizeof *run->items))
        return NULL;
    return &run->items[run->item_count++];
}

/* State while one reply is read. */
typedef struct reading {
    tkl__search_run *run;
    size_t shard;
    tkl__search_entries entries;
} reading;

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

/* Computes the score of a document; *match: whether the document matches the query at all. */
static int judge_document(reading *r, const tkl__search_record *record, tkl_bytes terms,
                          double *score, bool *match)
{
    tkl__search_run *run = r->run;
    *score = 0;
    *match = true;
    if (needs_terms(run)) {
        int rc = tkl__search_entries_read(&r->entries, terms, run->schema->is.positions);
        if (rc != TKL_OK)
            return rc;
        *match = !verifies(run) || tkl__search_matches(run->plan, record, &r->entries);
    }
    if (run->order->kind == TKL__SEARCH_BY_WEIGHTS)
        *score = tkl__search_weigh(run->order, record);
    return TKL_OK;
}

static int read_document(reading *r, const tkl_reply *number, const tkl_reply *bytes,
                         const tkl_reply *terms)
{
    tkl__search_run *run = r->run;
    tkl__search_record record;
    double score;
    bool match;
    if (!tkl__search_record_read(tkl_reply_bytes(bytes), run->schema, &record))
        return tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
    tkl_bytes own = tkl_reply_bytes(terms);
    size_t pieces = tkl__search_pieces_of(own);
    int rc = pieces ? tkl__search_fetch_terms(run, r->shard, tkl_reply_bytes(number),
                                              tkl_reply_bytes(bytes), pieces, &own)
                    : TKL_OK;
    if (rc == TKL_OK && pieces && !own.data) {
        run->changed = true;
        return TKL_OK;
    }
    if (rc == TKL_OK)
        rc = judge_document(r, &record, own, &score, &match);
    if (rc != TKL_OK || !match)
        return rc;
    tkl__search_found *item = new_item(run);
    if (!item)
        return tkl__nomem();
    *item = (tkl__search_found){.shard = r->shard,
                                .number = (uint64_t)tkl_reply_int(number),
                                .score = score,
                                .bytes = tkl_reply_bytes(bytes),
                                .terms = own};
    if (run->order->kind == TKL__SEARCH_BY_FIELD)
        item->key = record.cells[run->order->field];
    return TKL_OK;
}

static int read_documents(tkl__search_run *run, size_t shard, const tkl_reply *reply)
{
    const tkl_reply *numbers = tkl_reply_at(reply, NUMBERS);
    const tkl_reply *records = tkl_reply_at(reply, RECORDS);
    const tkl_reply *terms = tkl_reply_at(reply, FORWARDS);
    reading r = {.run = run, .shard = shard};
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(numbers); i++)
        rc = read_document(&r, tkl_reply_at(numbers, i), tkl_reply_at(records, i),
                           tkl_reply_at(terms, i));
    run->examined += (int64_t)tkl_reply_count(numbers);
    tkl__search_entries_free(&r.entries);
    return rc;
}

/* An item with the id of its document, for finding those that came twice. */
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

/* Drops documents that came twice, because they were replaced between two steps: the version that
 * came last stays. The others keep their order. */
static int drop_repeated(tkl__search_run *run)
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

/* Reads the fields that only the first reply of a shard is needed for. */
static void read_head(tkl__search_run *run, tkl__search_progress *p, const tkl_reply *reply)
{
    snprintf(p->version, sizeof p->version, "%s", tkl_reply_str(tkl_reply_at(reply, VERSION)));
    p->docs = tkl__reply_number(tkl_reply_at(reply, DOCS));
    p->words = tkl__reply_number(tkl_reply_at(reply, WORDS));
    p->total = tkl__reply_number(tkl_reply_at(reply, TOTAL));
    for (size_t i = 0; i < run->plan->term_count; i++)
        tkl__add(&run->sizes[i], tkl_reply_int(tkl_reply_at(tkl_reply_at(reply, SIZES), i)));
}

static bool has_enough(const tkl__search_run *run)
{
    return by_scan(run) && !first_will_do(run) && run->examined >= run->compare_max;
}

static void read_progress(tkl__search_progress *p, const tkl_reply *reply)
{
    const char *kind = tkl_reply_str(tkl_reply_at(reply, KIND));
    p->place = tkl_reply_bytes(tkl_reply_at(reply, PLACE));
    if (strcmp(kind, "more") == 0)
        return;
    p->walked = strcmp(kind, "walk") == 0;
    p->cursor = p->walked ? 0 : tkl_reply_int(tkl_reply_at(reply, NEXT));
    p->skipped += p->walked ? tkl_reply_int(tkl_reply_at(reply, SKIPPED)) : 0;
    p->done = strcmp(kind, "list") == 0 || (p->walked ? p->place.len == 0 : p->cursor < 0);
    p->compare_all = p->compare_all || (!p->walked && !p->done);
}

static void read_places(const tkl_reply *places, bool *flags, size_t count)
{
    for (size_t i = 0; i < tkl_reply_count(places); i++) {
        int64_t place = tkl_reply_int(tkl_reply_at(places, i));
        if (place >= 1 && (size_t)place <= count)
            flags[place - 1] = true;
    }
}

/* Reads a reply that is not a result: it says why, and what to do next. */
static int read_word(tkl__search_run *run, size_t shard, const tkl_reply *reply)
{
    if (tkl_reply_code(reply) != TKL_OK)
        return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    const tkl_reply *first = tkl_reply_at(reply, 0);
    if (strcmp(tkl_reply_str(first), "make") == 0) {
        snprintf(run->shards[shard].version, sizeof run->shards[shard].version, "%s",
                 tkl_reply_str(tkl_reply_at(reply, 1)));
        run->state = TKL__SEARCH_MAKE;
        read_places(tkl_reply_at(reply, 2), run->make_ranges, run->plan->range_count);
        read_places(tkl_reply_at(reply, 3), run->make_unions, run->plan->union_count);
        read_places(tkl_reply_at(reply, 4), run->make_times, run->plan->scorer_count);
        return TKL_OK;
    }
    if (strcmp(tkl_reply_str(reply), "wide") == 0)
        return tkl__fail(TKL_EINVAL, "the query asks for too much at once: it has too many ranges, "
                                     "or synonyms and excluded texts of several words");
    if (strcmp(tkl_reply_str(reply), "stale") == 0)
        run->outcome = TKL__SEARCH_STALE;
    else if (strcmp(tkl_reply_str(reply), "words") == 0)
        run->outcome = TKL__SEARCH_CHANGED;
    else
        return tkl__fail(TKL_EPROTO, "not an answer of search/query");
    return TKL_OK;
}

/* Counts the hits of a shard that sends as many as are wanted. Those that came with two versions
 * count once, so that others are sent in their place. */
static int count_taken(tkl__search_run *run, size_t shard, size_t before)
{
    tkl__search_progress *p = &run->shards[shard];
    int rc = TKL_OK;
    p->taken += (int64_t)(run->item_count - before);
    if (p->taken >= wanted_of_each(run) && run->changed) {
        rc = drop_repeated(run);
        p->taken = 0;
        for (size_t i = 0; i < run->item_count; i++)
            p->taken += run->items[i].shard == shard;
    }
    p->done = p->done || p->taken >= wanted_of_each(run);
    return rc;
}

/* The server has chosen the best documents, but some of them do not match: more are asked for. */
static void ask_for_more(tkl__search_run *run, size_t shard)
{
    tkl__search_progress *p = &run->shards[shard];
    if (p->taken == p->sent || p->taken >= last_wanted(run) || p->sent >= p->total)
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

static int read_answer(tkl__search_run *run, size_t shard, const tkl_reply *reply)
{
    tkl__search_progress *p = &run->shards[shard];
    size_t before = run->item_count;
    if (tkl_reply_count(reply) < ELEMENTS)
        return read_word(run, shard, reply);
    if (!*p->version)
        read_head(run, p, reply);
    else if (strcmp(p->version, tkl_reply_str(tkl_reply_at(reply, VERSION))) != 0)
        run->changed = true;
    bool chosen = is_choosing(order_word(run, p));
    read_progress(p, reply);
    int rc = read_documents(run, shard, reply);
    if (rc == TKL_OK && (p->walked || first_will_do(run)))
        return count_taken(run, shard, before);
    p->taken += (int64_t)(run->item_count - before);
    p->sent += (int64_t)tkl_reply_count(tkl_reply_at(reply, NUMBERS));
    if (rc == TKL_OK && chosen && p->done)
        ask_for_more(run, shard);
    return rc;
}

/* One round trip to all shards that are not done. */
static int step_shards(tkl__search_run *run)
{
    tkl_reply *replies;
    size_t at = 0;
    int rc = ask_shards(run, &replies);
    for (size_t i = 0; rc == TKL_OK && i < run->schema->shard_count; i++)
        if (!run->shards[i].done)
            rc = read_answer(run, i, tkl_reply_at(replies, at++));
    return rc;
}

static bool all_done(const tkl__search_run *run)
{
    for (size_t i = 0; i < run->schema->shard_count; i++)
        if (!run->shards[i].done)
            return false;
    return true;
}

/* ---- The whole ----------------------------------------------------------- */

/* Forgets all replies; keeps what is known about bitmaps that were made. */
static void start_over(tkl__search_run *run)
{
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        tkl__search_progress *p = &run->shards[i];
        tkl__search_progress fresh = {.made_before = p->made_before};
        memcpy(fresh.made, p->made, sizeof fresh.made);
        *p = fresh;
    }
    tkl__token_new(run->token); /* results that shards kept before are of other versions */
    memset(run->sizes, 0, run->plan->term_count * sizeof *run->sizes);
    tkl__search_rarity_free(&run->rarity);
    run->item_count = 0;
    run->examined = 0;
    run->changed = false;
}

static int make_bitmaps(tkl__search_run *run, bool last)
{
    int rc = TKL_OK;
    for (size_t i = 0;
         rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && i < run->schema->shard_count; i++)
        if (*run->shards[i].version)
            rc = tkl__search_make(run, i, last);
    return rc;
}

/* A number that changes whenever a shard makes progress. */
static int64_t how_far(const tkl__search_run *run)
{
    int64_t far = (int64_t)run->item_count;
    for (size_t i = 0; i < run->schema->shard_count; i++)
        far ^= (int64_t)XXH3_64bits(run->shards[i].place.data, run->shards[i].place.len) ^
               run->shards[i].cursor ^ (int64_t)run->shards[i].done ^ run->shards[i].more << 40 ^
               ((int64_t)run->shards[i].compare_all << 32);
    return far;
}

/* Computes the weights of the words from their sizes on all shards: relevance is that of the whole
 * index. */
static int weigh_words(tkl__search_run *run)
{
    int64_t docs = 0, words = 0;
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        tkl__add(&docs, run->shards[i].docs);
        tkl__add(&words, run->shards[i].words);
        run->shards[i].done = false;
        run->shards[i].cursor = 0;
    }
    return tkl__search_rarity_make(&run->rarity, run->plan, run->sizes, docs, words);
}

/* Does what the state says, and chooses the next state. After BEGIN_MAX starts the query goes on
 * even when the index changes. */
static int advance_query(tkl__search_run *run, tkl__rounds *rounds)
{
    bool last = run->begins > BEGIN_MAX;
    int64_t far = how_far(run);
    int rc = TKL_OK;
    switch (run->state) {
    case TKL__SEARCH_BEGIN:
        if (run->begins++ > 2 * BEGIN_MAX)
            return tkl__fail(TKL_CONFLICT, "the index changes all the time");
        start_over(run);
        *rounds = (tkl__rounds){.idle = 0};
        run->state = by_best(run) && !alone(run) ? TKL__SEARCH_WEIGH : TKL__SEARCH_STEP;
        break;
    case TKL__SEARCH_WEIGH:
        rc = step_shards(run);
        if (rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && run->state == TKL__SEARCH_WEIGH) {
            run->state = TKL__SEARCH_STEP;
            rc = weigh_words(run);
        }
        break;
    case TKL__SEARCH_STEP:
        rc = step_shards(run);
        if (rc == TKL_OK)
            rc = tkl__next_round(rounds, run->search->client, 0, how_far(run) != far);
        if (run->state != TKL__SEARCH_STEP)
            break;
        if (run->changed && !last)
            run->state = TKL__SEARCH_BEGIN;
        else if (all_done(run) || has_enough(run))
            run->state = TKL__SEARCH_END;
        break;
    case TKL__SEARCH_MAKE:
        run->state = TKL__SEARCH_BEGIN;
        rc = make_bitmaps(run, last);
        break;
    case TKL__SEARCH_END:
        break;
    }
    return rc;
}

static int rank_items(tkl__search_run *run, int64_t docs, int64_t words)
{
    tkl__search_rarity rarity;
    tkl__search_entries entries = {0};
    int rc = tkl__search_rarity_make(&rarity, run->plan, run->sizes, docs, words);
    for (size_t i = 0; rc == TKL_OK && i < run->item_count; i++) {
        tkl__search_found *item = &run->items[i];
        tkl__search_record record;
        rc = tkl__search_entries_read(&entries, item->terms, run->schema->is.positions);
        if (rc == TKL_OK && tkl__search_record_read(item->bytes, run->schema, &record))
            item->score = tkl__search_relevance(&rarity, &record, &entries);
    }
    tkl__search_entries_free(&entries);
    tkl__search_rarity_free(&rarity);
    return rc;
}

/* Sorts the items, unless a single shard sent them in order, and cuts out the page. */
static void arrange_items(tkl__search_run *run)
{
    bool sorted = alone(run) && run->shards[0].walked;
    size_t skip = sorted ? 0 : (size_t)run->offset;
    if (!sorted)
        tkl__search_sort(run->order, run->schema, run->items, run->item_count);
    run->page = skip < run->item_count ? skip : run->item_count;
    run->page_count = run->item_count - run->page;
    if (run->page_count > (size_t)run->count)
        run->page_count = (size_t)run->count;
}

static void count_hits(tkl__search_run *run, int64_t candidates)
{
    bool whole = all_done(run);
    run->total = candidates;
    run->compared = candidates;
    run->exact = !run->changed && !run->loose && !run->plan->cut;
    if (run->plan->verify) {
        double share = run->examined ? (double)run->item_count / (double)run->examined : 0;
        run->total = whole ? (int64_t)run->item_count : (int64_t)(share * (double)candidates);
        run->exact = run->exact && whole;
        run->compared = whole ? run->total : (int64_t)run->item_count;
    } else if (by_scan(run) && !whole && !first_will_do(run) && run->count > 0) {
        run->compared = run->examined;
    }
}

/* Checks that no hits are missing: the sorted set of a field has every document, with or without a
 * value. */
static int check_page(const tkl__search_run *run)
{
    int64_t rest = run->total - run->offset, want = rest < run->count ? rest : run->count;
    if (run->order->kind == TKL__SEARCH_BY_FIELD && run->exact && !run->plan->verify &&
        (int64_t)run->page_count < want)
        return tkl__fail(TKL_EDAMAGED, "the order by a field lacks documents of the index");
    return TKL_OK;
}

static int finish_result(tkl__search_run *run)
{
    int64_t candidates = 0, docs = 0, words = 0;
    int rc = run->changed && run->item_count ? drop_repeated(run) : TKL_OK;
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        tkl__add(&candidates, run->shards[i].total);
        tkl__add(&docs, run->shards[i].docs);
        tkl__add(&words, run->shards[i].words);
    }
    if (rc == TKL_OK && ranks_by_terms(run))
        rc = rank_items(run, docs, words);
    count_hits(run, candidates);
    if (rc == TKL_OK)
        arrange_items(run);
    return rc == TKL_OK ? check_page(run) : rc;
}

int tkl__search_query_steps(tkl__search_run *run)
{
    tkl__rounds rounds = {.idle = 0};
    run->shards = calloc(run->schema->shard_count, sizeof *run->shards);
    run->sizes = calloc(run->plan->term_count + 1, sizeof *run->sizes);
    run->make_ranges = calloc(run->plan->range_count + 1, sizeof *run->make_ranges);
    run->make_unions = calloc(run->plan->union_count + 1, sizeof *run->make_unions);
    run->make_times = calloc(run->plan->scorer_count + 1, sizeof *run->make_times);
    run->loose = run->plan->fixed;
    bool room =
        run->shards && run->sizes && run->make_ranges && run->make_unions && run->make_times;
    int rc = room ? TKL_OK : tkl__nomem();
    for (size_t i = 0; by_best(run) && i < run->plan->union_count; i++) {
        tkl__search_union *u = &run->plan->unions[i];
        u->is_of_prefix = tkl__search_scorer_of_union(run->plan, u) != NULL;
    }
    while (rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && run->state != TKL__SEARCH_END)
        rc = advance_query(run, &rounds);
    return rc == TKL_OK && run->outcome == TKL__SEARCH_DONE ? finish_result(run) : rc;
}

void tkl__search_run_free(tkl__search_run *run)
{
    free(run->shards);
    free(run->sizes);
    free(run->make_ranges);
    free(run->make_unions);
    free(run->make_times);
    tkl__search_rarity_free(&run->rarity);
    free(run->items);
}
