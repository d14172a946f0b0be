/* SPDX-License-Identifier: MIT
 *
 * Uses of sessions, what they viewed, and the ranking of all items.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "session/scripts.h"
#include "session/session.h"

/* Uses in one round trip. */
#define TRIP_MAX 1000

/* ---- Uses ---------------------------------------------------------------- */

/* A use on its way: the script, and what it works on. */
typedef struct use {
    char id[TKL_SESSION_ID_SIZE];
    bool sent;
    tkl__buf items;
    tkl_bytes keys[TKL__SESSION_BASE + 1];
    tkl__args args;
} use;

/* Uses that go together. */
typedef struct trip {
    use *uses;
    tkl__invocation *calls; /* of those that are sent */
    size_t sent;
} trip;

static int check_view(const tkl_session_view *view)
{
    int rc = TKL__CHECK_RESERVED(view);
    if (rc == TKL_OK && !view->token)
        rc = tkl__fail(TKL_EINVAL, "a view has no token");
    if (rc == TKL_OK && view->item.len > 0)
        rc = tkl__session_check_text("item's name", view->item);
    return rc;
}

static void prepare_use(tkl_sessions *s, const tkl_session_view *view, use *u,
                        tkl__invocation *call)
{
    tkl__buf_init(&u->items);
    tkl__args_init(&u->args);
    memcpy(u->keys, s->keys.items, TKL__SESSION_BASE * sizeof *u->keys);
    tkl__session_add_items_key(&u->items, s, tkl_str(u->id));
    u->keys[TKL__SESSION_BASE] = (tkl_bytes){u->items.data, u->items.len};
    tkl__args_str(&u->args, u->id);
    tkl__args_bytes(&u->args, view->item);
    tkl__args_int(&u->args, s->items);
    tkl__args_int(&u->args, s->ranked);
    tkl__args_int(&u->args, s->half_life_ms);
    *call = (tkl__invocation){.script = &tkl__lua_session_touch,
                              .keys = u->keys,
                              .nkeys = TKL__SESSION_BASE + 1,
                              .args = u->args.items,
                              .nargs = u->args.count};
}

/* Prepares what can be sent; false: no memory. */
static bool load(trip *t, tkl_sessions *s, const tkl_session_view *views, size_t count)
{
    bool failed = false;
    t->sent = 0;
    for (size_t i = 0; i < count; i++) {
        use *u = &t->uses[i];
        u->sent = check_view(&views[i]) == TKL_OK && tkl__session_id_of(views[i].token, u->id);
        if (!u->sent)
            continue;
        prepare_use(s, &views[i], u, &t->calls[t->sent++]);
        failed |= u->items.failed || u->args.failed;
    }
    return !failed;
}

static void unload(trip *t, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (t->uses[i].sent) {
            tkl__buf_free(&t->uses[i].items);
            tkl__args_free(&t->uses[i].args);
        }
}

/* The result of one use. `rc`: that of its trip. */
static int judge(const tkl_session_view *view, const use *u, const tkl_reply *reply, int rc)
{
    if (!u->sent) {
        rc = check_view(view);
        return rc == TKL_OK ? tkl__session_ended() : rc; /* not even a token */
    }
    if (!reply)
        return rc;
    if (tkl_reply_code(reply) != TKL_OK)
        return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    return tkl_reply_int(reply) == TKL_OK ? TKL_OK : tkl__session_ended();
}

/* One round trip. Returns the first result that is not TKL_OK. */
static int touch_some(trip *t, tkl_sessions *s, const tkl_session_view *views, size_t count,
                      int *codes)
{
    tkl_reply *replies = NULL;
    size_t sent = 0;
    int first = TKL_OK, rc = load(t, s, views, count) ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK && t->sent > 0)
        rc = tkl__run_many(s->client, t->calls, t->sent, tkl__session_deadline(s), &replies);
    for (size_t i = 0; i < count; i++) {
        const tkl_reply *reply = t->uses[i].sent ? tkl_reply_at(replies, sent++) : NULL;
        int code = judge(&views[i], &t->uses[i], reply, rc);
        first = first == TKL_OK ? code : first;
        if (codes)
            codes[i] = code;
    }
    unload(t, count);
    tkl_reply_free(replies);
    return first;
}

int tkl_session_touch(tkl_sessions *sessions, const tkl_session_view *views, size_t count,
                      int *codes)
{
    size_t most = count < TRIP_MAX ? count : TRIP_MAX;
    int first = TKL_OK;
    if (count == 0)
        return TKL_OK;
    trip t = {.uses = calloc(most, sizeof *t.uses), .calls = calloc(most, sizeof *t.calls)};
    if (!t.uses || !t.calls)
        first = tkl__nomem();
    for (size_t i = 0; first != TKL_OK && codes && i < count; i++)
        codes[i] = first;
    for (size_t from = 0; t.uses && t.calls && from < count; from += most) {
        int rc = touch_some(&t, sessions, views + from, count - from < most ? count - from : most,
                            codes ? codes + from : NULL);
        first = first == TKL_OK ? rc : first;
    }
    free(t.uses);
    free(t.calls);
    return first == TKL_NOTFOUND ? tkl__session_ended() : first;
}

/* ---- Items --------------------------------------------------------------- */

typedef struct found_items {
    tkl_session_items list;
    tkl_reply *reply;
    tkl_session_item items[];
} found_items;

/* From {item, number, ...}; takes the reply. */
static int make_items(tkl_reply *reply, bool ranking, tkl_session_items **items)
{
    size_t count = tkl_reply_count(reply) / 2;
    found_items *all = calloc(1, sizeof *all + count * sizeof *all->items);
    if (!all) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    for (size_t i = 0; i < count; i++) {
        double number = tkl_reply_double(tkl_reply_at(reply, 2 * i + 1));
        all->items[i].item = tkl_reply_bytes(tkl_reply_at(reply, 2 * i));
        if (ranking)
            all->items[i].views = number;
        else if (number > 0 && number < 9e15)
            all->items[i].viewed_ms = (int64_t)(number / 1000);
    }
    all->list = (tkl_session_items){all->items, count};
    all->reply = reply;
    *items = &all->list;
    return TKL_OK;
}

static void add_ranks(tkl__args *args, size_t skip, size_t max)
{
    tkl__args_int(args, (int64_t)skip);
    tkl__args_int(args, (int64_t)(skip + max) - 1);
}

int tkl_session_recent(tkl_sessions *sessions, const char *token, size_t skip, size_t max,
                       tkl_session_items **items)
{
    char id[TKL_SESSION_ID_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    *items = NULL;
    int rc = tkl__session_check_page(skip, max);
    if (rc != TKL_OK)
        return rc;
    if (!tkl__session_id_of(token, id))
        return tkl__session_ended();
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    add_ranks(&args, skip, max);
    rc = tkl__session_run_with_items(sessions, &tkl__lua_session_recent, id, &args, true, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = tkl__session_ended();
    if (rc == TKL_OK)
        return make_items(reply, false, items);
    tkl_reply_free(reply);
    return rc;
}

int tkl_session_top(tkl_sessions *sessions, size_t skip, size_t max, tkl_session_items **items)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    *items = NULL;
    int rc = tkl__session_check_page(skip, max);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    add_ranks(&args, skip, max);
    tkl__args_int(&args, sessions->half_life_ms);
    rc = tkl__session_run(sessions, &tkl__lua_session_top, &args, false, &reply);
    return rc == TKL_OK ? make_items(reply, true, items) : rc;
}

void tkl_session_items_free(tkl_session_items *items)
{
    if (!items)
        return;
    tkl_reply_free(((found_items *)items)->reply);
    free(items);
}

int tkl_session_rename_item(tkl_sessions *sessions, tkl_bytes item, tkl_bytes name)
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
    if (rc == TKL_OK && tkl_reply_int(reply) != TKL_OK)
        rc = tkl__session_not_ranked();
    tkl_reply_free(reply);
    return rc;
}

int tkl_session_drop_item(tkl_sessions *sessions, tkl_bytes item)
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
