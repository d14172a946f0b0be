/* SPDX-License-Identifier: MIT
 *
 * Adding and removing documents.
 *
 * A batch is cut into runs of the script that take the server a few milliseconds; all runs of about
 * a thousand documents are sent in one round trip. The replies contain the old versions, and a
 * second round trip clears them. Until then they are dead: no query finds them. If a writer dies
 * between the two round trips, later writers clear its old versions.
 */
#include "search/write.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "search/pieces.h"
#include "search/scripts.h"
#include "text/library.h"

/* Number of documents that are prepared and sent together. */
#define SLICE 1000
/* Number of runs of search/post that are sent together. */
#define POSTS 64
/* Number of ids in one run of search/remove. */
#define REMOVE_RUN 250

/* ---- Runs ---------------------------------------------------------------- */

tkl__search_bundle *tkl__search_run_new(tkl__search_runs *runs, const tkl__search_shard *shard)
{
    if (!tkl__grow(&runs->items, runs->count, sizeof *runs->items))
        return NULL;
    tkl__search_bundle *run = malloc(sizeof *run);
    if (run) {
        tkl__search_bundle_begin(run, shard);
        runs->items[runs->count++] = run;
    }
    return run;
}

tkl__search_bundle *tkl__search_run_begin(const tkl__search_writer *w, tkl__search_runs *runs,
                                          const tkl__search_shard *shard, bool flag)
{
    tkl__search_bundle *run = tkl__search_run_new(runs, shard);
    if (run) {
        tkl__args_str(&run->args, w->schema->token);
        tkl__args_int(&run->args, (int64_t)tkl__search_term_at(shard));
        tkl__args_str(&run->args, flag ? "1" : "0");
    }
    return run;
}

void tkl__search_runs_free(tkl__search_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        tkl__search_bundle_free(runs->items[i]);
        free(runs->items[i]);
    }
    free(runs->items);
    *runs = (tkl__search_runs){0};
}

int tkl__search_runs_send(tkl__search_writer *w, const tkl__search_runs *runs,
                          const tkl__script *script, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, w->search->client);
    for (size_t i = 0; i < runs->count; i++)
        tkl__search_bundle_add(&batch, runs->items[i], script);
    int rc = tkl__batch_end(&batch, tkl__search_deadline(w->search), replies);
    for (size_t i = 0; i < tkl_reply_count(*replies); i++) {
        const tkl_reply *reply = tkl_reply_at(*replies, i);
        if (tkl_reply_type_of(reply) == TKL_REPLY_STRING) {
            w->stale = w->stale || strcmp(tkl_reply_str(reply), "stale") == 0;
            w->gone = w->gone || strcmp(tkl_reply_str(reply), "gone") == 0;
        }
    }
    return rc;
}

int tkl__search_runs_flush(tkl__search_writer *w, tkl__search_runs *runs, const tkl__script *script)
{
    tkl_reply *replies = NULL;
    int rc = tkl__search_runs_send(w, runs, script, &replies);
    tkl_reply_free(replies);
    tkl__search_runs_free(runs);
    return rc;
}

/* ---- Old versions -------------------------------------------------------- */

/* Reads the old versions in the replies of search/add, search/post and search/remove. */
static int read_dead(tkl__search_writer *w, const tkl__search_runs *runs, const tkl_reply *replies,
                     tkl__search_dead_list *list)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(replies); i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        const tkl_reply *dead = tkl_reply_at(reply, 1);
        if (tkl_reply_type_of(reply) != TKL_REPLY_ARRAY)
            continue;
        tkl__add(&w->number, tkl_reply_int(tkl_reply_at(reply, 0)));
        for (size_t k = 0; rc == TKL_OK && k < tkl_reply_count(dead); k++)
            rc = tkl__search_dead_add(list, runs->items[i]->shard, tkl_reply_at(dead, k));
    }
    return rc;
}

/* Clears what killed writers left behind, on each shard whose last reply reports something. */
static int clear_left(tkl__search_writer *w, const tkl__search_runs *runs, const tkl_reply *replies)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < runs->count; i++) {
        bool last = i + 1 == runs->count || runs->items[i + 1]->shard != runs->items[i]->shard;
        if (last && tkl_reply_int(tkl_reply_at(tkl_reply_at(replies, i), 3)) > 0)
            rc = tkl__search_clear_left(w, runs->items[i]->shard);
    }
    return rc;
}

/* Clears the old versions in the replies, and makes the steps of ladders that they name. Versions
 * that cannot be cleared now are left to later writers. */
static int clear_answers(tkl__search_writer *w, const tkl__search_runs *runs,
                         const tkl_reply *replies)
{
    tkl__search_dead_list list = {0};
    int rc = read_dead(w, runs, replies, &list);
    for (size_t i = 0; rc == TKL_OK && i < runs->count; i++)
        tkl__search_make_ladders(w, runs->items[i]->shard,
                                 tkl_reply_at(tkl_reply_at(replies, i), 2));
    if (rc == TKL_OK && tkl__search_clear(w, &list) == TKL_OK &&
        tkl__search_clear_owed(w, &list) == TKL_OK)
        (void)clear_left(w, runs, replies);
    free(list.items);
    return rc;
}

/* ---- Adding -------------------------------------------------------------- */

typedef struct slice {
    tkl__search_ready *ready;
    size_t count;
    tkl__buf store; /* records and terms */
} slice;

static tkl_bytes stored(const slice *s, size_t at, size_t len)
{
    return (tkl_bytes){s->store.data + at, len};
}

static void add_doc(tkl__search_writer *w, const slice *s, const tkl__search_ready *ready,
                    tkl__search_bundle *run)
{
    tkl__args_bytes(&run->args, ready->doc->id);
    tkl__args_bytes(&run->args, stored(s, ready->record, ready->record_len));
    tkl__args_bytes(&run->args,
                    ready->head.len ? ready->head : stored(s, ready->terms, ready->terms_len));
    tkl_bytes text = w->schema->is.no_text ? tkl_str("") : ready->doc->text;
    text.len = text.len < TKL__SEARCH_PIECE ? text.len : TKL__SEARCH_PIECE;
    tkl__args_bytes(&run->args, text);
    for (size_t i = 0; i < w->schema->is.field_count; i++) {
        tkl__args_double(&run->args, ready->fields[i].score);
        tkl__args_bytes(&run->args,
                        stored(s, ready->fields[i].member, ready->fields[i].member_len));
    }
}

/* Makes a run of search/add with these documents, and at most `max` terms of each. */
static bool make_run(tkl__search_writer *w, const slice *s, const size_t *docs, size_t count,
                     size_t max, bool finish, tkl__search_runs *runs)
{
    size_t nfields = w->schema->is.field_count;
    const tkl__search_shard *shard = &w->schema->shards[s->ready[docs[0]].shard];
    tkl__search_bundle *run = tkl__search_run_begin(w, runs, shard, finish);
    if (!run)
        return false;
    tkl__args_int(&run->args, (int64_t)count);
    tkl__args_int(&run->args, (int64_t)nfields);
    for (size_t i = 0; i < count; i++) {
        const tkl__search_ready *ready = &s->ready[docs[i]];
        tkl_bytes terms = stored(s, ready->terms, ready->terms_len);
        add_doc(w, s, ready, run);
        tkl__search_bundle_band(run, ready->length, (unsigned char)(i + 1));
        tkl__search_bundle_terms(run, &terms, w->schema->is.positions, (unsigned char)(i + 1), max);
    }
    tkl__search_bundle_end(run, nfields);
    return true;
}

static size_t cost_of(const tkl__search_ready *ready)
{
    return ready->record_len + ready->terms_len + ready->doc->text.len;
}

static bool is_large(const tkl__search_ready *ready)
{
    return ready->postings > TKL__SEARCH_RUN_TERMS || ready->terms_len > TKL__SEARCH_PIECE ||
           ready->doc->text.len > TKL__SEARCH_PIECE || cost_of(ready) > TKL__SEARCH_RUN_BYTES;
}

/* Makes runs for the documents of one shard that are not large. */
static bool make_runs(tkl__search_writer *w, const slice *s, size_t shard, tkl__search_runs *runs)
{
    size_t docs[TKL__SEARCH_RUN_DOCS], count = 0, terms = 0, bytes = 0;
    size_t fields = TKL__SEARCH_FIELD_TERMS * w->schema->is.field_count;
    for (size_t i = 0; i < s->count; i++) {
        const tkl__search_ready *ready = &s->ready[i];
        if (!ready->doc || ready->shard != shard || is_large(ready))
            continue;
        bool full = count == TKL__SEARCH_RUN_DOCS ||
                    terms + ready->postings + fields > TKL__SEARCH_RUN_TERMS ||
                    bytes + cost_of(ready) > TKL__SEARCH_RUN_BYTES;
        if (count && full) {
            if (!make_run(w, s, docs, count, SIZE_MAX, true, runs))
                return false;
            count = terms = bytes = 0;
        }
        docs[count++] = i;
        terms += ready->postings + fields;
        bytes += cost_of(ready);
    }
    return count == 0 || make_run(w, s, docs, count, SIZE_MAX, true, runs);
}

static int add_small(tkl__search_writer *w, const slice *s)
{
    tkl__search_runs runs = {0};
    tkl_reply *replies = NULL;
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < w->schema->shard_count; i++)
        rc = make_runs(w, s, i, &runs) ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__search_runs_send(w, &runs, &tkl__lua_search_add, &replies);
    if (rc == TKL_OK && !w->stale)
        rc = clear_answers(w, &runs, replies);
    tkl_reply_free(replies);
    tkl__search_runs_free(&runs);
    return rc;
}

/* ---- A large document ---------------------------------------------------- */

/* A large document while it is written. */
typedef struct large {
    const tkl__search_ready *ready;
    const tkl_reply *begun; /* {number, stamp} */
    tkl_bytes terms;        /* terms that are not written yet */
    size_t left;            /* number of these terms */
} large;

/* Number of pieces that are sent together. */
#define PIECES 8

/* Adds a run of search/piece. Sends the runs once there are enough of them. */
static int add_piece(tkl__search_writer *w, const large *doc, const char *hash, size_t piece,
                     tkl_bytes bytes, tkl__search_runs *runs)
{
    tkl__search_bundle *run = tkl__search_run_new(runs, &w->schema->shards[doc->ready->shard]);
    if (!run)
        return tkl__nomem();
    tkl__args_str(&run->args, w->schema->token);
    tkl__args_bytes(&run->args, tkl_reply_bytes(tkl_reply_at(doc->begun, 0)));
    tkl__args_bytes(&run->args, tkl_reply_bytes(tkl_reply_at(doc->begun, 1)));
    tkl__args_str(&run->args, hash);
    tkl__args_int(&run->args, (int64_t)piece);
    tkl__args_bytes(&run->args, bytes);
    tkl__search_bundle_end(run, 0);
    return runs->count < PIECES ? TKL_OK : tkl__search_runs_flush(w, runs, &tkl__lua_search_piece);
}

/* Writes the text behind its first piece, and the terms if they are long. */
static int write_pieces(tkl__search_writer *w, const large *doc, const tkl__search_pieces *pieces)
{
    tkl_bytes text = w->schema->is.no_text ? tkl_str("") : doc->ready->doc->text;
    tkl__search_runs runs = {0};
    int rc = TKL_OK;
    for (size_t i = 1; rc == TKL_OK && !w->gone && i * TKL__SEARCH_PIECE < text.len; i++) {
        size_t left = text.len - i * TKL__SEARCH_PIECE;
        tkl_bytes piece = {text.data + i * TKL__SEARCH_PIECE,
                           left < TKL__SEARCH_PIECE ? left : TKL__SEARCH_PIECE};
        rc = add_piece(w, doc, "texts", i, piece, &runs);
    }
    for (size_t i = 0; rc == TKL_OK && !w->gone && i < pieces->count; i++)
        rc = add_piece(w, doc, "forward", i + 1,
                       (tkl_bytes){pieces->items[i].data, pieces->items[i].len}, &runs);
    if (rc == TKL_OK)
        rc = tkl__search_runs_flush(w, &runs, &tkl__lua_search_piece);
    tkl__search_runs_free(&runs);
    return rc;
}

/* Makes a run of search/post with the next terms. The run with the last terms finishes the
 * document. */
static bool make_post(tkl__search_writer *w, large *doc, tkl__search_runs *runs)
{
    size_t count = doc->left < TKL__SEARCH_PART_TERMS ? doc->left : TKL__SEARCH_PART_TERMS;
    tkl__search_bundle *run =
        tkl__search_run_begin(w, runs, &w->schema->shards[doc->ready->shard], count == doc->left);
    if (!run)
        return false;
    doc->left -= count;
    tkl__args_bytes(&run->args, tkl_reply_bytes(tkl_reply_at(doc->begun, 0)));
    tkl__args_bytes(&run->args, tkl_reply_bytes(tkl_reply_at(doc->begun, 1)));
    tkl__args_bytes(&run->args, doc->ready->doc->id);
    tkl__search_bundle_terms(run, &doc->terms, w->schema->is.positions, 1, count);
    tkl__search_bundle_end(run, 0);
    return true;
}

/* One round trip: several runs, or the last one, which is sent after all others have succeeded. */
static int send_posts(tkl__search_writer *w, large *doc)
{
    tkl__search_runs runs = {0};
    tkl_reply *replies = NULL;
    int rc = TKL_OK;
    do {
        rc = make_post(w, doc, &runs) ? TKL_OK : tkl__nomem();
    } while (rc == TKL_OK && doc->left > TKL__SEARCH_PART_TERMS && runs.count < POSTS);
    if (rc == TKL_OK)
        rc = tkl__search_runs_send(w, &runs, &tkl__lua_search_post, &replies);
    if (rc == TKL_OK && doc->left == 0 && !w->stale && !w->gone)
        rc = clear_answers(w, &runs, replies);
    tkl_reply_free(replies);
    tkl__search_runs_free(&runs);
    return rc;
}

/* Adds a large document. The first run has no terms. The next ones write the pieces of the text and
 * of the terms, and post the terms. When all other runs have succeeded, the last run adds the last
 * terms and makes the document visible. */
static int add_large(tkl__search_writer *w, slice *s, size_t index)
{
    tkl__search_ready *ready = &s->ready[index];
    large doc = {.ready = ready, .left = ready->count};
    tkl__search_runs runs = {0};
    tkl__search_pieces pieces;
    tkl_reply *replies = NULL;
    char head[TKL__SEARCH_HEAD_SIZE];
    int rc = tkl__search_pieces_cut(stored(s, ready->terms, ready->terms_len),
                                    w->schema->is.positions, &pieces);
    if (rc == TKL_OK && pieces.count)
        ready->head = tkl__search_pieces_head(pieces.count, head);
    if (rc == TKL_OK)
        rc = make_run(w, s, &index, 1, 0, false, &runs) ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__search_runs_send(w, &runs, &tkl__lua_search_add, &replies);
    doc.begun = tkl_reply_at(replies, 0);
    doc.terms = stored(s, doc.ready->terms, doc.ready->terms_len);
    if (rc == TKL_OK && !w->stale)
        rc = write_pieces(w, &doc, &pieces);
    bool finished = false;
    while (rc == TKL_OK && !w->stale && !w->gone && !finished) {
        rc = send_posts(w, &doc);
        finished = doc.left == 0;
    }
    if (rc == TKL_OK && w->gone)
        rc = tkl__fail(TKL_CONFLICT, "adding a large document took too long: begin again");
    tkl__search_pieces_free(&pieces);
    tkl_reply_free(replies);
    tkl__search_runs_free(&runs);
    return rc;
}

/* ---- A slice ------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const tkl__search_ready *const *x = a, *const *y = b;
    int order = tkl__text_word_compare(&(*x)->doc->id, &(*y)->doc->id);
    return order ? order : (*x > *y) - (*x < *y);
}

/* Drops all but the last of several documents with the same id. */
static int drop_repeated(slice *s)
{
    tkl__search_ready **sorted = malloc((s->count + 1) * sizeof(tkl__search_ready *));
    if (!sorted)
        return tkl__nomem();
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = &s->ready[i];
    qsort(sorted, s->count, sizeof(tkl__search_ready *), by_id);
    for (size_t i = 0; i + 1 < s->count; i++)
        if (tkl__text_word_compare(&sorted[i]->doc->id, &sorted[i + 1]->doc->id) == 0)
            sorted[i]->doc = NULL;
    free(sorted);
    return TKL_OK;
}

static int send_slice(tkl__search_writer *w, slice *s)
{
    int rc = drop_repeated(s);
    if (rc == TKL_OK)
        rc = add_small(w, s);
    for (size_t i = 0; rc == TKL_OK && !w->stale && i < s->count; i++)
        if (s->ready[i].doc && is_large(&s->ready[i]))
            rc = add_large(w, s, i);
    return rc;
}

/* ---- The calls ----------------------------------------------------------- */

/* The arguments of one call, and how far it has come. */
typedef struct writing {
    const tkl_search_doc *docs; /* adding */
    const tkl_bytes *ids;       /* removing */
    size_t count, done;
    int64_t number; /* number of new ids, or of removed ones */
} writing;

/* Calls write_slice() for all that is left to do. */
static int write_slices(tkl_search *search, tkl__search_schema *schema, writing *g,
                        int (*write_slice)(tkl__search_writer *, const writing *, size_t),
                        tkl__search_outcome *outcome)
{
    tkl__search_writer w = {.search = search, .schema = schema};
    int rc = TKL_OK;
    while (rc == TKL_OK && !w.stale && g->done < g->count) {
        size_t some = g->count - g->done < SLICE ? g->count - g->done : SLICE;
        rc = write_slice(&w, g, some);
        if (rc == TKL_OK && !w.stale)
            g->done += some;
    }
    tkl__add(&g->number, w.number);
    *outcome = w.stale ? TKL__SEARCH_STALE : TKL__SEARCH_DONE;
    return rc;
}

static int add_slice(tkl__search_writer *w, const writing *g, size_t count)
{
    slice s = {.count = count, .ready = calloc(count, sizeof *s.ready)};
    tkl__buf_init(&s.store);
    int rc = s.ready ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__search_prepare(w->schema, &g->docs[g->done + i], &s.store, &s.ready[i]);
    if (rc == TKL_OK)
        rc = send_slice(w, &s);
    tkl__buf_free(&s.store);
    free(s.ready);
    return rc;
}

static int add_once(tkl_search *search, tkl__search_schema *schema, void *arg,
                    tkl__search_outcome *outcome)
{
    writing *g = arg;
    int rc = TKL_OK;
    for (size_t i = g->done; rc == TKL_OK && i < g->count; i++)
        rc = tkl__search_check_doc(schema, &g->docs[i], i);
    return rc == TKL_OK ? write_slices(search, schema, g, add_slice, outcome) : rc;
}

int tkl_search_add(tkl_search *search, const tkl_search_doc *docs, size_t count, int64_t *added)
{
    writing g = {.docs = docs, .count = count};
    int rc = count ? tkl__search_try(search, add_once, &g) : TKL_OK;
    if (added)
        *added = g.number;
    return rc;
}

static bool make_remove(tkl__search_writer *w, const tkl_bytes *ids, size_t count, size_t shard,
                        tkl__search_runs *runs)
{
    tkl__search_bundle *run = NULL;
    for (size_t i = 0, used = 0; i < count; i++) {
        if (tkl__search_shard_of(w->schema, ids[i]) != shard)
            continue;
        if (used++ % REMOVE_RUN == 0) {
            if (run)
                tkl__search_bundle_end(run, 0);
            run = tkl__search_run_new(runs, &w->schema->shards[shard]);
            if (!run)
                return false;
            tkl__args_str(&run->args, w->schema->token);
        }
        tkl__args_bytes(&run->args, ids[i]);
    }
    if (run)
        tkl__search_bundle_end(run, 0);
    return true;
}

static int remove_slice(tkl__search_writer *w, const writing *g, size_t count)
{
    tkl__search_runs runs = {0};
    tkl_reply *replies = NULL;
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < w->schema->shard_count; i++)
        rc = make_remove(w, g->ids + g->done, count, i, &runs) ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__search_runs_send(w, &runs, &tkl__lua_search_remove, &replies);
    if (rc == TKL_OK && !w->stale)
        rc = clear_answers(w, &runs, replies);
    tkl_reply_free(replies);
    tkl__search_runs_free(&runs);
    return rc;
}

static int remove_once(tkl_search *search, tkl__search_schema *schema, void *arg,
                       tkl__search_outcome *outcome)
{
    return write_slices(search, schema, arg, remove_slice, outcome);
}

int tkl_search_remove(tkl_search *search, const tkl_bytes *ids, size_t count, int64_t *removed)
{
    writing g = {.ids = ids, .count = count};
    int rc = count ? tkl__search_try(search, remove_once, &g) : TKL_OK;
    if (removed)
        *removed = g.number;
    return rc;
}
