/* SPDX-License-Identifier: MIT
 *
 * Sessions: a token, its user, and what was viewed.
 *
 * Keys of a store, all in one slot (ns:session:{store}:...):
 *
 *   :sessions    hash: id of a session -> "created ttl user"
 *   :ends        zset: ids by when they end, in ms. The last use was ttl before that.
 *   :users       zset of "5:alice:<id>", all with score 0: the sessions of a user stand together
 *   :ranking     zset: items by views, see ranking.inc.lua
 *   :items:<id>  zset: what one session viewed, by microseconds
 *
 * The first three expire with their last session, the ranking when nothing was viewed for 64
 * half-lives (never, where views do not lose weight), the items with their session. Sessions that
 * have ended are forgotten by later uses of the store: two by each use, ten by each new session.
 *
 * A script can name only keys that it was given, and the one that forgets others' sessions was not
 * given the keys of their items. So it answers their ids, and the client removes these keys with
 * its next command. When the client dies in between they expire by themselves.
 *
 * An id is made from the token by SHA-256: reading the store does not give anybody a session.
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/session.h>

#include "core/error.h"
#include "core/names.h"
#include "core/number.h"
#include "core/options.h"
#include "core/script.h"
#include "core/token.h"
#include "session/scripts.h"

#define COMPONENT "session"
#define DAY_MS    INT64_C(86400000)
/* Sessions that one script forgets. */
#define STEP 1000

static const char *const parts[] = {"sessions", "ends", "users", "ranking", ""};
enum { SESSIONS, ENDS, USERS, RANKING, BASE, PARTS };

struct tkl_sessions {
    tkl_client *client;
    tkl__keys keys;
    int64_t timeout_ms, ttl_ms, most, items, ranked, half_life_ms;
};

/* ---- Opening ------------------------------------------------------------- */

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

static int check_options(const tkl_session_options *o)
{
    int rc = TKL__CHECK_RESERVED(o);
    if (rc == TKL_OK)
        rc = tkl__check_number("timeout_ms", o->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("ttl_ms", o->ttl_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("most", o->most, 0, INT64_C(1000000000));
    if (rc == TKL_OK)
        rc = tkl__check_number("items", o->items, 0, TKL_SESSION_PAGE_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("ranked", o->ranked, 0, 1000000);
    if (rc == TKL_OK)
        rc = tkl__check_number("half_life_ms", o->half_life_ms, TKL_NONE, TKL__MS_MAX);
    return rc;
}

int tkl_session_open(tkl_client *client, tkl_bytes name, const tkl_session_options *options,
                     tkl_sessions **out)
{
    static const tkl_session_options defaults;
    const tkl_session_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_sessions *s = malloc(sizeof *s);
    if (!s)
        return tkl__nomem();
    *s = (tkl_sessions){.client = client,
                        .timeout_ms = o->timeout_ms,
                        .ttl_ms = or_default(o->ttl_ms, DAY_MS),
                        .most = or_default(o->most, 10000000),
                        .items = or_default(o->items, 25),
                        .ranked = or_default(o->ranked, 100000),
                        .half_life_ms = or_default(o->half_life_ms, DAY_MS)};
    rc = tkl__keys_make(client, COMPONENT, name, parts, PARTS, &s->keys);
    if (rc == TKL_OK)
        *out = s;
    else
        free(s);
    return rc;
}

void tkl_session_close(tkl_sessions *sessions)
{
    if (!sessions)
        return;
    tkl__keys_free(&sessions->keys);
    free(sessions);
}

/* ---- Tokens, ids and names ----------------------------------------------- */

/* False when it is no token at all, and so nobody's. */
static bool id_of(const char *token, char id[TKL_SESSION_ID_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (!tkl__is_token(token) ||
        !EVP_Digest(token, strlen(token), digest, NULL, EVP_sha256(), NULL))
        return false;
    for (size_t i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", digest[i]);
    return true;
}

static int check_text(const char *what, tkl_bytes text)
{
    if (text.len >= 1 && text.len <= TKL_SESSION_TEXT_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the %s has %zu bytes, must have 1 to %d", what, text.len,
                     TKL_SESSION_TEXT_MAX);
}

static int check_page(size_t skip, size_t max)
{
    int rc = tkl__check_number("max", max > INT32_MAX ? INT32_MAX : (int64_t)max, 1,
                               TKL_SESSION_PAGE_MAX);
    return rc == TKL_OK ? tkl__check_number("skip", skip > INT32_MAX ? INT64_MAX : (int64_t)skip, 0,
                                            INT32_MAX)
                        : rc;
}

/* The key of what a session viewed. */
#define ITEMS_PART ":items:"
static void add_items_key(tkl__buf *out, const tkl_sessions *s, tkl_bytes id)
{
    tkl__buf_add(out, s->keys.items[BASE].data, s->keys.items[BASE].len);
    tkl__buf_addz(out, ITEMS_PART);
    tkl__buf_add(out, id.data, id.len);
}

/* ---- Running scripts ----------------------------------------------------- */

static int64_t deadline(const tkl_sessions *s)
{
    return tkl__deadline(s->client, s->timeout_ms);
}

/* The script gets the first `nkeys` keys of the store. */
static int run(tkl_sessions *s, const tkl__script *script, size_t nkeys, tkl__args *args,
               tkl_reply **reply)
{
    tkl__keys keys = {s->keys.items, nkeys};
    int rc = tkl__eval(s->client, script, &keys, args, deadline(s), true, reply);
    tkl__args_free(args);
    return rc;
}

/* The script gets sessions, ends, users and the items of this session. */
static int run_with_items(tkl_sessions *s, const tkl__script *script, const char *id,
                          tkl__args *args, bool retry_safe, tkl_reply **reply)
{
    tkl_bytes keys[] = {s->keys.items[SESSIONS], s->keys.items[ENDS], s->keys.items[USERS], {0}};
    tkl__keys list = {keys, 4};
    tkl__buf key;
    tkl__buf_init(&key);
    add_items_key(&key, s, tkl_str(id));
    keys[3] = (tkl_bytes){key.data, key.len};
    int rc = key.failed ? tkl__nomem()
                        : tkl__eval(s->client, script, &list, args, deadline(s), retry_safe, reply);
    tkl__buf_free(&key);
    tkl__args_free(args);
    return rc;
}

/* Runs a script that works on the ranking alone. */
static int run_on_ranking(tkl_sessions *s, const tkl__script *script, tkl__args *args,
                          tkl_reply **reply)
{
    tkl__keys keys = {&s->keys.items[RANKING], 1};
    int rc = tkl__eval(s->client, script, &keys, args, deadline(s), false, reply);
    tkl__args_free(args);
    return rc;
}

/* Removes what forgotten sessions viewed. Their keys would expire, so a failure is none. */
static void unlink_items(tkl_sessions *s, const tkl_reply *ids, size_t first)
{
    tkl_pipeline *pipeline = NULL;
    tkl_reply *replies = NULL;
    tkl_call_options how = {.timeout_ms = s->timeout_ms, .retry_safe = true};
    if (tkl_reply_count(ids) <= first || tkl_pipeline_open(s->client, &pipeline) != TKL_OK)
        return;
    int rc = TKL_OK;
    for (size_t i = first; rc == TKL_OK && i < tkl_reply_count(ids); i++) {
        tkl__buf key;
        tkl__buf_init(&key);
        add_items_key(&key, s, tkl_reply_bytes(tkl_reply_at(ids, i)));
        const char *words[] = {"UNLINK", key.data};
        const size_t lens[] = {6, key.len};
        rc = key.failed ? TKL_ENOMEM : tkl_pipeline_add(pipeline, 2, words, lens);
        tkl__buf_free(&key);
    }
    if (rc == TKL_OK)
        rc = tkl_pipeline_run(pipeline, &how, &replies);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    tkl__begin(); /* nobody is to read of that */
}

/* The answer of a script that returns TKL_OK or TKL_NOTFOUND. */
static int verdict(int rc, tkl_reply *reply)
{
    if (rc == TKL_OK && tkl_reply_int(reply) != TKL_OK)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    return rc;
}

/* ---- A session ----------------------------------------------------------- */

int tkl_session_create(tkl_sessions *sessions, tkl_bytes user, int64_t ttl_ms,
                       char token[TKL_SESSION_TOKEN_SIZE])
{
    char id[TKL_SESSION_ID_SIZE], fresh[TKL_SESSION_TOKEN_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    *token = '\0';
    int rc = check_text("user's name", user);
    if (rc == TKL_OK)
        rc = tkl__check_number("ttl_ms", ttl_ms, 0, TKL__MS_MAX);
    if (rc != TKL_OK)
        return rc;
    tkl__token_new(fresh);
    if (!id_of(fresh, id))
        return tkl__nomem();
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    tkl__args_bytes(&args, user);
    tkl__args_int(&args, or_default(ttl_ms, sessions->ttl_ms));
    tkl__args_int(&args, sessions->most);
    rc = run(sessions, &tkl__lua_session_create, RANKING, &args, &reply);
    if (rc == TKL_OK) {
        memcpy(token, fresh, sizeof fresh);
        unlink_items(sessions, reply, 0);
    }
    tkl_reply_free(reply);
    return rc;
}

/* Fills it from {user, created, last use, end} at `from` of the reply; the bytes are the reply's.
 */
static void read_session(const tkl_reply *reply, size_t from, tkl_session *session)
{
    session->user = tkl_reply_bytes(tkl_reply_at(reply, from));
    session->created_ms = tkl_reply_int(tkl_reply_at(reply, from + 1));
    session->seen_ms = tkl_reply_int(tkl_reply_at(reply, from + 2));
    session->ends_ms = tkl_reply_int(tkl_reply_at(reply, from + 3));
}

/* What the caller gets, and the reply that its bytes are in. */
typedef struct found {
    tkl_session session;
    tkl_reply *reply;
} found;

int tkl_session_check(tkl_sessions *sessions, const char *token, tkl_session **session)
{
    char id[TKL_SESSION_ID_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    *session = NULL;
    if (!id_of(token, id))
        return tkl__no(TKL_NOTFOUND);
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    int rc = run(sessions, &tkl__lua_session_check, RANKING, &args, &reply);
    if (rc == TKL_OK && tkl_reply_count(reply) < 4)
        rc = tkl__no(TKL_NOTFOUND);
    found *one = rc == TKL_OK ? calloc(1, sizeof *one) : NULL;
    if (!one) {
        tkl_reply_free(reply);
        return rc == TKL_OK ? tkl__nomem() : rc;
    }
    read_session(reply, 0, &one->session);
    memcpy(one->session.id, id, sizeof id);
    one->reply = reply;
    *session = &one->session;
    return TKL_OK;
}

void tkl_session_free(tkl_session *session)
{
    if (!session)
        return;
    tkl_reply_free(((found *)session)->reply);
    free(session);
}

int tkl_session_end(tkl_sessions *sessions, const char *token)
{
    char id[TKL_SESSION_ID_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    if (!id_of(token, id))
        return tkl__no(TKL_NOTFOUND);
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    int rc = run_with_items(sessions, &tkl__lua_session_end, id, &args, false, &reply);
    return verdict(rc, reply);
}

/* ---- Uses ---------------------------------------------------------------- */

/* A use on its way: the script, and what it works on. */
typedef struct use {
    char id[TKL_SESSION_ID_SIZE];
    bool known; /* the token is one */
    tkl__buf items;
    tkl_bytes keys[5];
    tkl__args args;
} use;

static void prepare_use(tkl_sessions *s, const tkl_session_view *view, use *u,
                        tkl__invocation *call)
{
    memcpy(u->keys, s->keys.items, 4 * sizeof *u->keys);
    add_items_key(&u->items, s, tkl_str(u->id));
    u->keys[4] = (tkl_bytes){u->items.data, u->items.len};
    tkl__args_str(&u->args, u->id);
    tkl__args_bytes(&u->args, view->item);
    tkl__args_int(&u->args, s->items);
    tkl__args_int(&u->args, s->ranked);
    tkl__args_int(&u->args, s->half_life_ms);
    *call = (tkl__invocation){.script = &tkl__lua_session_touch,
                              .keys = u->keys,
                              .nkeys = 5,
                              .args = u->args.items,
                              .nargs = u->args.count};
}

static int check_views(const tkl_session_view *views, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = TKL__CHECK_RESERVED(&views[i]);
        if (rc == TKL_OK && !views[i].token)
            rc = tkl__fail(TKL_EINVAL, "view %zu has no token", i);
        if (rc == TKL_OK && views[i].item.len > 0)
            rc = check_text("item's name", views[i].item);
    }
    return rc;
}

/* The result of one use. */
static int judge_use(tkl_sessions *s, const tkl_reply *reply, int rc)
{
    if (!reply)
        return rc;
    if (tkl_reply_code(reply) != TKL_OK)
        return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    unlink_items(s, reply, 1);
    return tkl_reply_int(tkl_reply_at(reply, 0)) == TKL_OK ? TKL_OK : tkl__no(TKL_NOTFOUND);
}

/* Goes through all uses once more; returns the first result that is not TKL_OK. */
static int judge_uses(tkl_sessions *s, const use *uses, size_t count, const tkl_reply *replies,
                      int rc, int *codes)
{
    int first = TKL_OK;
    size_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        int code = uses[i].known ? judge_use(s, tkl_reply_at(replies, sent++), rc) : TKL_NOTFOUND;
        first = first == TKL_OK ? code : first;
        if (codes)
            codes[i] = code;
    }
    return first > 0 ? tkl__no(first) : first;
}

int tkl_session_touch(tkl_sessions *sessions, const tkl_session_view *views, size_t count,
                      int *codes)
{
    int rc = check_views(views, count);
    for (size_t i = 0; codes && i < count; i++)
        codes[i] = rc;
    if (rc != TKL_OK || count == 0)
        return rc;
    use *uses = calloc(count, sizeof *uses);
    tkl__invocation *calls = calloc(count, sizeof *calls);
    tkl_reply *replies = NULL;
    size_t sent = 0;
    for (size_t i = 0; uses && calls && i < count; i++) {
        tkl__buf_init(&uses[i].items);
        tkl__args_init(&uses[i].args);
        uses[i].known = id_of(views[i].token, uses[i].id);
        if (uses[i].known)
            prepare_use(sessions, &views[i], &uses[i], &calls[sent++]);
        if (uses[i].items.failed || uses[i].args.failed)
            rc = TKL_ENOMEM;
    }
    if (!uses || !calls || rc != TKL_OK)
        rc = tkl__nomem();
    else if (sent > 0)
        rc = tkl__run_many(sessions->client, calls, sent, deadline(sessions), &replies);
    if (uses && calls && rc != TKL_ENOMEM)
        rc = judge_uses(sessions, uses, count, replies, rc, codes);
    tkl_reply_free(replies);
    for (size_t i = 0; uses && calls && i < count; i++) {
        tkl__buf_free(&uses[i].items);
        tkl__args_free(&uses[i].args);
    }
    free(uses);
    free(calls);
    return rc;
}

/* ---- The sessions of a user ---------------------------------------------- */

typedef struct found_list {
    tkl_session_list list;
    tkl_reply *reply;
    tkl_session items[];
} found_list;

int tkl_session_of_user(tkl_sessions *sessions, tkl_bytes user, size_t skip, size_t max,
                        tkl_session_list **list)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    *list = NULL;
    int rc = check_text("user's name", user);
    if (rc == TKL_OK)
        rc = check_page(skip, max);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_bytes(&args, user);
    tkl__args_int(&args, (int64_t)skip);
    tkl__args_int(&args, (int64_t)max);
    rc = run(sessions, &tkl__lua_session_of_user, RANKING, &args, &reply);
    size_t count = tkl_reply_count(reply);
    found_list *all = rc == TKL_OK ? calloc(1, sizeof *all + count * sizeof *all->items) : NULL;
    if (!all) {
        tkl_reply_free(reply);
        return rc == TKL_OK ? tkl__nomem() : rc;
    }
    for (size_t i = 0; i < count; i++) {
        const tkl_reply *row = tkl_reply_at(reply, i);
        snprintf(all->items[i].id, sizeof all->items[i].id, "%s",
                 tkl_reply_str(tkl_reply_at(row, 0)));
        read_session(row, 1, &all->items[i]);
    }
    all->list = (tkl_session_list){all->items, count};
    all->reply = reply;
    *list = &all->list;
    return TKL_OK;
}

void tkl_session_list_free(tkl_session_list *list)
{
    if (!list)
        return;
    tkl_reply_free(((found_list *)list)->reply);
    free(list);
}

int tkl_session_end_user(tkl_sessions *sessions, tkl_bytes user, int64_t *ended)
{
    int64_t total = 0;
    size_t forgotten = STEP;
    int rc = check_text("user's name", user);
    while (rc == TKL_OK && forgotten == STEP) {
        tkl_reply *reply = NULL;
        tkl__args args;
        tkl__args_init(&args);
        tkl__args_bytes(&args, user);
        tkl__args_int(&args, STEP);
        rc = run(sessions, &tkl__lua_session_end_user, RANKING, &args, &reply);
        forgotten = rc == TKL_OK ? tkl_reply_count(reply) - 1 : 0;
        total += tkl_reply_int(tkl_reply_at(reply, 0));
        unlink_items(sessions, reply, 1);
        tkl_reply_free(reply);
    }
    if (ended)
        *ended = total;
    return rc;
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
    int rc = check_page(skip, max);
    if (rc != TKL_OK)
        return rc;
    if (!id_of(token, id))
        return tkl__no(TKL_NOTFOUND);
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    add_ranks(&args, skip, max);
    rc = run_with_items(sessions, &tkl__lua_session_recent, id, &args, true, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = tkl__no(TKL_NOTFOUND);
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
    int rc = check_page(skip, max);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    add_ranks(&args, skip, max);
    tkl__args_int(&args, sessions->half_life_ms);
    rc = run_on_ranking(sessions, &tkl__lua_session_top, &args, &reply);
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
    int rc = check_text("item's name", item);
    if (rc == TKL_OK)
        rc = check_text("item's new name", name);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_bytes(&args, item);
    tkl__args_bytes(&args, name);
    tkl__args_int(&args, sessions->half_life_ms);
    rc = run_on_ranking(sessions, &tkl__lua_session_rename_item, &args, &reply);
    return verdict(rc, reply);
}

/* ---- Commands on keys of the store --------------------------------------- */

/* "ZCARD key" and the like: an integer. */
static int ask(tkl_sessions *s, int argc, const char **words, const size_t *lens, int64_t *answer)
{
    tkl_call_options how = {.timeout_ms = s->timeout_ms, .retry_safe = true};
    tkl_reply *reply = NULL;
    int rc = tkl_call(s->client, argc, words, lens, &how, &reply);
    *answer = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_session_drop_item(tkl_sessions *sessions, tkl_bytes item)
{
    int64_t removed = 0;
    tkl_bytes key = sessions->keys.items[RANKING];
    const char *words[] = {"ZREM", key.data, item.data};
    const size_t lens[] = {4, key.len, item.len};
    int rc = check_text("item's name", item);
    if (rc == TKL_OK)
        rc = ask(sessions, 3, words, lens, &removed);
    return rc == TKL_OK && removed == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

/* Sessions that have ended and were not forgotten yet do not count. */
int tkl_session_stats_get(tkl_sessions *sessions, tkl_session_stats *stats)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    *stats = (tkl_session_stats){0};
    tkl__args_init(&args);
    int rc = run(sessions, &tkl__lua_session_stats, BASE, &args, &reply);
    stats->sessions = tkl_reply_int(tkl_reply_at(reply, 0));
    stats->items = tkl_reply_int(tkl_reply_at(reply, 1));
    tkl_reply_free(reply);
    return rc;
}

/* A step of dropping: some sessions with what they viewed. *left: there may be more. */
static int forget_some(tkl_sessions *s, bool *left, bool *any)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_int(&args, STEP);
    int rc = run(s, &tkl__lua_session_forget, RANKING, &args, &reply);
    *left = tkl_reply_count(reply) == STEP;
    *any = *any || tkl_reply_count(reply) > 0;
    unlink_items(s, reply, 0);
    tkl_reply_free(reply);
    return rc;
}

int tkl_session_drop(tkl_sessions *sessions)
{
    bool left = true, any = false;
    int64_t removed = 0;
    int rc = TKL_OK;
    while (rc == TKL_OK && left)
        rc = forget_some(sessions, &left, &any);
    if (rc != TKL_OK)
        return rc;
    const tkl_bytes *keys = sessions->keys.items;
    const char *words[] = {"UNLINK", keys[SESSIONS].data, keys[ENDS].data, keys[USERS].data,
                           keys[RANKING].data};
    const size_t lens[] = {6, keys[SESSIONS].len, keys[ENDS].len, keys[USERS].len,
                           keys[RANKING].len};
    rc = ask(sessions, 5, words, lens, &removed);
    return rc == TKL_OK && !any && removed == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

int tkl_session_names(tkl_client *client, tkl_names **names)
{
    return tkl__names_of_component(client, COMPONENT, "ends", names);
}
