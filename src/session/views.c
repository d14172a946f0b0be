/* SPDX-License-Identifier: MIT
 *
 * Uses of sessions, what they viewed, and the ranking of all items.
 */
#include <stdlib.h>

#include "core/error.h"
#include "core/options.h"
#include "core/reply.h"
#include "pipeline/pipeline.h"
#include "session/scripts.h"
#include "session/session.h"

/* Most uses in one round trip. */
#define TRIP_MAX 1000

/* ---- Uses ---------------------------------------------------------------- */

static int check_view(const tkl_session_view *view)
{
    int rc = TKL__CHECK_RESERVED(view);
    if (rc == TKL_OK && !view->token)
        rc = tkl__fail(TKL_EINVAL, "a view has no token");
    if (rc == TKL_OK && view->item.len > 0)
        rc = tkl__session_check_text("item's name", view->item);
    return rc;
}

/* Writes the arguments of session/touch. `read`: the session and its data are wanted. */
static void write_use(tkl__args *args, const tkl_session *s, const char *id, tkl_bytes item,
                      bool read)
{
    tkl__args_init(args);
    tkl__args_str(args, id);
    tkl__args_bytes(args, item);
    tkl__args_int(args, s->items);
    tkl__args_int(args, s->ranked);
    tkl__args_int(args, s->half_life_ms);
    tkl__args_int(args, read);
}

/* Adds the call of a use. */
static void add_use(tkl__batch *batch, tkl_session *s, const tkl_session_view *view, const char *id)
{
    tkl__session_keys keys;
    tkl__args args;
    tkl__session_keys_make(s, tkl_str(id), &keys);
    write_use(&args, s, id, view->item, false);
    tkl__batch_fail(batch, keys.failed ? tkl__nomem() : TKL_OK);
    tkl__batch_eval(batch, &tkl__lua_session_touch,
                    &(tkl__keys){keys.items, TKL__SESSION_BASE + TKL__SESSION_OWN}, &args, false);
    tkl__session_keys_free(&keys);
    tkl__args_free(&args);
}

/* The result of a script that returns a code, or {half-life} when the ranking has another one. */
static int judge_ranking(const tkl_session *s, const tkl_reply *reply)
{
    if (tkl_reply_count(reply) > 0)
        return tkl__session_other_half_life(s, tkl_reply_int(tkl_reply_at(reply, 0)));
    return (int)tkl_reply_int(reply);
}

/* The result of a call of the batch. */
static int judge_reply(const tkl_session *s, const tkl__batch *batch, size_t index)
{
    int rc = tkl__batch_code(batch, index);
    if (rc == TKL_OK)
        rc = judge_ranking(s, tkl__batch_reply(batch, index));
    return rc == TKL_NOTFOUND ? tkl__session_ended() : rc;
}

/* One round trip. */
static void touch_some(tkl__batch *batch, tkl_session *s, const tkl_session_view *views,
                       size_t count, int *codes, tkl_error *first)
{
    char id[TKL_SESSION_ID_SIZE];
    size_t sent = 0;
    tkl__batch_clear(batch);
    for (size_t i = 0; i < count; i++)
        if (check_view(&views[i]) == TKL_OK && tkl__session_id_of(views[i].token, id))
            add_use(batch, s, &views[i], id);
    (void)tkl__batch_run(batch,
                         tkl__session_deadline(s)); /* judge_reply() tells how each one went */
    for (size_t i = 0; i < count; i++) {
        int code = check_view(&views[i]);
        if (code == TKL_OK)
            code = tkl__session_id_of(views[i].token, id) ? judge_reply(s, batch, sent++)
                                                          : tkl__session_ended();
        tkl__first_note(first, code);
        if (codes)
            codes[i] = code;
    }
}

int tkl_session_touch(tkl_session *sessions, const tkl_session_view *views, size_t count,
                      int *codes)
{
    tkl_error first = {.code = TKL_OK};
    tkl__batch batch;
    tkl__batch_init(&batch, sessions->client);
    for (size_t from = 0, some; from < count; from += some) {
        some = count - from < TRIP_MAX ? count - from : TRIP_MAX;
        touch_some(&batch, sessions, views + from, some, codes ? codes + from : NULL, &first);
    }
    tkl__batch_free(&batch);
    return tkl__first_tell(&first);
}

int tkl_session_use(tkl_session *sessions, const tkl_session_view *view, tkl_session_info **session)
{
    char id[TKL_SESSION_ID_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    *session = NULL;
    int rc = check_view(view);
    if (rc != TKL_OK)
        return rc;
    if (!tkl__session_id_of(view->token, id))
        return tkl__session_ended();
    write_use(&args, sessions, id, view->item, true);
    rc = tkl__session_run_on(sessions, &tkl__lua_session_touch, id, &args, false, &reply);
    if (rc == TKL_OK && tkl_reply_count(reply) == 5)
        return tkl__session_make(reply, id, session);
    if (rc == TKL_OK)
        rc = judge_ranking(sessions, reply);
    tkl_reply_free(reply);
    return rc == TKL_OK || rc == TKL_NOTFOUND ? tkl__session_ended() : rc;
}

/* ---- Uses in a pipeline -------------------------------------------------- */

/* Makes a session from a copy of the reply: a session owns its reply, and this one belongs to the
 * pipeline. */
static int copy_session(const tkl_reply *reply, const char *id, tkl_session_info **session)
{
    tkl_reply *copy = tkl__reply_copy(reply);
    return copy ? tkl__session_make(copy, id, session) : tkl__nomem();
}

/* The operation's `own`: the id of the session. */
static int finish_use(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    const tkl_session *sessions = operation->handle;
    tkl_session_info **session = operation->output;
    if (code == TKL_OK && session && tkl_reply_count(reply) == 5)
        return copy_session(reply, operation->own, session);
    if (code == TKL_OK)
        code = judge_ranking(sessions, reply);
    return code == TKL_NOTFOUND ? tkl__session_ended() : code;
}

static int add_use_in(tkl_pipeline *pipeline, tkl_session *s, const tkl_session_view *view,
                      tkl_session_info **session, tkl_result *result)
{
    char *id = NULL;
    tkl__session_keys keys;
    tkl__args args;
    int rc = check_view(view);
    if (rc == TKL_OK && !(id = malloc(TKL_SESSION_ID_SIZE)))
        rc = tkl__nomem();
    if (rc == TKL_OK && !tkl__session_id_of(view->token, id))
        rc = tkl__session_ended();
    if (rc != TKL_OK) {
        free(id);
        return tkl__result_set(result, rc);
    }
    tkl__session_keys_make(s, tkl_str(id), &keys);
    write_use(&args, s, id, view->item, session != NULL);
    args.failed |= keys.failed;
    rc = tkl__pipeline_eval(pipeline, s->client, &tkl__lua_session_touch,
                            &(tkl__keys){keys.items, TKL__SESSION_BASE + TKL__SESSION_OWN}, &args,
                            false, &(tkl__operation){finish_use, s, id, session, result});
    tkl__session_keys_free(&keys);
    tkl__args_free(&args);
    return rc;
}

int tkl_session_touch_in(tkl_pipeline *pipeline, tkl_session *sessions,
                         const tkl_session_view *view, tkl_result *result)
{
    return add_use_in(pipeline, sessions, view, NULL, result);
}

int tkl_session_use_in(tkl_pipeline *pipeline, tkl_session *sessions, const tkl_session_view *view,
                       tkl_session_info **session, tkl_result *result)
{
    *session = NULL;
    return add_use_in(pipeline, sessions, view, session, result);
}

/* ---- Views without a session --------------------------------------------- */

/* Most views of one script, and most scripts of one round trip. */
#define VIEWS_AT_ONCE 100
#define STEPS_MAX     100

/* Sends at most STEPS_MAX scripts with these `count` items. */
static int view_some(tkl_session *s, const tkl_bytes *items, size_t count)
{
    tkl__batch batch;
    tkl__batch_init(&batch, s->client);
    for (size_t at = 0; at < count; at += VIEWS_AT_ONCE) {
        size_t end = count - at < VIEWS_AT_ONCE ? count : at + VIEWS_AT_ONCE;
        tkl__args args;
        tkl__args_init(&args);
        tkl__args_int(&args, s->ranked);
        tkl__args_int(&args, s->half_life_ms);
        for (size_t i = at; i < end; i++)
            tkl__args_bytes(&args, items[i]);
        tkl__batch_eval(&batch, &tkl__lua_session_view,
                        &(tkl__keys){s->keys.items, TKL__SESSION_BASE}, &args, false);
        tkl__args_free(&args);
    }
    int rc = tkl__batch_run(&batch, tkl__session_deadline(s));
    for (size_t i = 0; rc == TKL_OK && i < batch.count; i++)
        rc = judge_ranking(s, tkl__batch_reply(&batch, i));
    tkl__batch_free(&batch);
    return rc;
}

int tkl_session_view_items(tkl_session *sessions, const tkl_bytes *items, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__session_check_text("item's name", items[i]);
    for (size_t at = 0, some; rc == TKL_OK && at < count; at += some) {
        some = count - at < VIEWS_AT_ONCE * STEPS_MAX ? count - at : VIEWS_AT_ONCE * STEPS_MAX;
        rc = view_some(sessions, items + at, some);
    }
    return rc;
}

/* ---- Items --------------------------------------------------------------- */

typedef struct found_items {
    tkl_session_items list;
    tkl_session_item *items;
    tkl_reply **steps; /* the replies, which own the names */
    size_t nsteps;
} found_items;

/* Reads one step of a page: at most `max` items from rank `skip` on. `id`: of a session; NULL: the
 * ranking is read. */
typedef int ask_step(tkl_session *s, const char *id, size_t skip, size_t max, tkl_reply **reply);

/* Returns the number of items in a reply, which ends with {1 when items of the page are left, item,
 * number, ...}; `more`: index of the 1. */
static size_t items_in(const tkl_reply *reply, size_t more)
{
    size_t parts = tkl_reply_count(reply);
    return parts > more ? (parts - more - 1) / 2 : 0;
}

static const tkl_reply *number_at(const tkl_reply *reply, size_t more, size_t i)
{
    return tkl_reply_at(reply, more + 2 + 2 * i);
}

/* Takes over the reply. False: out of memory. */
static bool add_step(found_items *all, tkl_reply *reply, size_t more, size_t max)
{
    if (!tkl__grow(&all->steps, all->nsteps, sizeof *all->steps)) {
        tkl_reply_free(reply);
        return false;
    }
    all->steps[all->nsteps++] = reply;
    size_t count = items_in(reply, more);
    for (size_t i = 0; i < count && all->list.count < max; i++)
        all->items[all->list.count++].item = tkl_reply_bytes(tkl_reply_at(reply, more + 1 + 2 * i));
    return true;
}

/* Reads a page in steps. The server answers each step quickly, however long the names are. */
static int read_page(tkl_session *s, ask_step *ask, const char *id, size_t more, size_t skip,
                     size_t max, found_items **page)
{
    found_items *all = calloc(1, sizeof *all);
    *page = NULL;
    if (all)
        all->items = calloc(max + 1, sizeof *all->items);
    int rc = all && all->items ? TKL_OK : tkl__nomem();
    bool goes_on = true;
    while (rc == TKL_OK && goes_on) {
        tkl_reply *reply = NULL;
        size_t count = all->list.count;
        rc = ask(s, id, skip + count, max - count, &reply);
        goes_on = rc == TKL_OK && tkl_reply_int(tkl_reply_at(reply, more)) != 0;
        if (rc == TKL_OK && !add_step(all, reply, more, max))
            rc = tkl__nomem();
        goes_on = goes_on && all->list.count > count && all->list.count < max;
    }
    if (rc == TKL_OK) {
        all->list.items = all->items;
        *page = all;
    } else if (all) {
        tkl_session_items_free(&all->list);
    }
    return rc;
}

static void add_ranks(tkl__args *args, size_t skip, size_t max)
{
    tkl__args_int(args, (int64_t)skip);
    tkl__args_int(args, (int64_t)(skip + max) - 1);
}

/* The reply of session/recent: {1 when items are left, item, time, ...}. */
enum { RECENT_MORE = 0 };

static int ask_recent(tkl_session *s, const char *id, size_t skip, size_t max, tkl_reply **reply)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    add_ranks(&args, skip, max);
    int rc = tkl__session_run_on(s, &tkl__lua_session_recent, id, &args, true, reply);
    if (rc != TKL_OK || !tkl_reply_is_nil(*reply))
        return rc;
    tkl_reply_free(*reply);
    *reply = NULL;
    return tkl__session_ended();
}

int tkl_session_recent(tkl_session *sessions, const char *token, size_t skip, size_t max,
                       tkl_session_items **items)
{
    char id[TKL_SESSION_ID_SIZE];
    found_items *all;
    *items = NULL;
    int rc = tkl__session_check_page(skip, max);
    if (rc == TKL_OK && !tkl__session_id_of(token, id))
        rc = tkl__session_ended();
    if (rc == TKL_OK)
        rc = read_page(sessions, ask_recent, id, RECENT_MORE, skip, max, &all);
    if (rc != TKL_OK)
        return rc;
    size_t at = 0;
    for (size_t step = 0; step < all->nsteps; step++)
        for (size_t i = 0; i < items_in(all->steps[step], RECENT_MORE) && at < max; i++, at++) {
            double us = tkl_reply_double(number_at(all->steps[step], RECENT_MORE, i));
            if (us > 0 && us < 9e15)
                all->items[at].viewed_ms = (int64_t)(us / 1000);
        }
    *items = &all->list;
    return TKL_OK;
}

/* The reply of session/top: {half-life, bound, 1 when items are left, item, views, ...}. */
enum { TOP_HALF_LIFE, TOP_BOUND, TOP_MORE };

static int ask_top(tkl_session *s, const char *id, size_t skip, size_t max, tkl_reply **reply)
{
    tkl__args args;
    (void)id;
    tkl__args_init(&args);
    add_ranks(&args, skip, max);
    tkl__args_int(&args, s->half_life_ms);
    int rc = tkl__session_run(s, &tkl__lua_session_top, &args, false, reply);
    if (rc != TKL_OK || tkl_reply_count(*reply) > TOP_BOUND)
        return rc;
    rc = tkl__session_other_half_life(s, tkl_reply_int(tkl_reply_at(*reply, TOP_HALF_LIFE)));
    tkl_reply_free(*reply);
    *reply = NULL;
    return rc;
}

int tkl_session_top(tkl_session *sessions, size_t skip, size_t max, tkl_session_items **items)
{
    found_items *all;
    *items = NULL;
    int rc = tkl__session_check_page(skip, max);
    if (rc == TKL_OK)
        rc = read_page(sessions, ask_top, NULL, TOP_MORE, skip, max, &all);
    if (rc != TKL_OK)
        return rc;
    size_t at = 0;
    for (size_t step = 0; step < all->nsteps; step++) {
        double bound = tkl_reply_double(tkl_reply_at(all->steps[step], TOP_BOUND));
        for (size_t i = 0; i < items_in(all->steps[step], TOP_MORE) && at < max; i++, at++) {
            double views = tkl_reply_double(number_at(all->steps[step], TOP_MORE, i));
            all->items[at].views = views;
            all->items[at].excess = bound < views ? bound : views;
        }
    }
    *items = &all->list;
    return TKL_OK;
}

void tkl_session_items_free(tkl_session_items *items)
{
    found_items *all = (found_items *)items;
    if (!all)
        return;
    for (size_t i = 0; i < all->nsteps; i++)
        tkl_reply_free(all->steps[i]);
    free(all->steps);
    free(all->items);
    free(all);
}

int tkl_session_rename_item(tkl_session *sessions, tkl_bytes item, tkl_bytes name)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    int rc = tkl__session_check_text("item's name", item);
    if (rc == TKL_OK)
        rc = tkl__session_check_text("item's new name", name);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_bytes(&args, item);
    tkl__args_bytes(&args, name);
    tkl__args_int(&args, sessions->half_life_ms);
    rc = tkl__session_run(sessions, &tkl__lua_session_rename_item, &args, false, &reply);
    if (rc == TKL_OK)
        rc = judge_ranking(sessions, reply);
    if (rc == TKL_NOTFOUND)
        rc = tkl__session_not_ranked();
    tkl_reply_free(reply);
    return rc;
}

int tkl_session_drop_item(tkl_session *sessions, tkl_bytes item)
{
    int64_t removed = 0;
    tkl_bytes key = sessions->keys.items[TKL__SESSION_RANKING];
    const char *words[] = {"ZREM", key.data, item.data};
    const size_t lens[] = {4, key.len, item.len};
    int rc = tkl__session_check_text("item's name", item);
    if (rc == TKL_OK)
        rc = tkl__session_ask(sessions, 3, words, lens, &removed);
    return rc == TKL_OK && removed == 0 ? tkl__session_not_ranked() : rc;
}

int tkl_session_drop_ranking(tkl_session *sessions)
{
    int64_t removed = 0;
    const tkl_bytes *keys = sessions->keys.items;
    const char *words[] = {"UNLINK", keys[TKL__SESSION_RANKING].data,
                           keys[TKL__SESSION_RANKING_INFO].data};
    const size_t lens[] = {6, keys[TKL__SESSION_RANKING].len, keys[TKL__SESSION_RANKING_INFO].len};
    int rc = tkl__session_ask(sessions, 3, words, lens, &removed);
    return rc == TKL_OK && removed == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}
