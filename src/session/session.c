/* SPDX-License-Identifier: MIT
 *
 * Sessions: a token, its user, and the items that were viewed.
 *
 * Keys of a store, all in one slot (ns:session:{store}:...):
 *
 *   :sessions    hash: id of a session -> "created ttl user"
 *   :ends        zset: ids by when they end, in ms. The last use was ttl before that.
 *   :users       zset of "5:alice:<id>", all with score 0: the sessions of a user stand together
 *   :ranking     zset: items by views, see rankings.inc.lua and shared/frequent.inc.lua
 *   :ranking_info  hash: half_life that the first view fixed, in ms (-1: none); bound: no item
 *                without a place in the ranking has a higher score
 *   :items:<id>  zset: what one session viewed, by microseconds
 *   :data:<id>   hash: the data of one session
 *
 * The first three expire with their last session, the ranking when nothing was viewed for 64
 * half-lives (never, where views do not lose weight), items and data with their session. The expiry
 * of a key is set a little later than needed (by an eighth of a ttl, a half-life), so that most
 * uses need not set it. Sessions that have ended are forgotten by later uses of the store: two by
 * each use, ten by each new session.
 *
 * A script can only use keys that it was given, and a script that ends other sessions early was not
 * given the keys of their items and data. So it returns their ids, and the client removes these
 * keys with its next command. If the client dies in between, the keys expire by themselves.
 *
 * A clock that is set back does not change the order: an item viewed then is noted right behind the
 * latest one, and a session whose last use is in the future counts as the session with the oldest
 * use.
 *
 * An id is the SHA-256 of the token: a reader of the store cannot use the sessions in it.
 */
#include "session/session.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "core/token.h"
#include "session/scripts.h"

#define DAY_MS INT64_C(86400000)

static const char *const parts[TKL__SESSION_PARTS] = {"sessions", "ends",         "users",
                                                      "ranking",  "ranking_info", ""};

/* ---- Opening ------------------------------------------------------------- */

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

static int check_options(const tkl_session_options *o)
{
    return TKL__CHECK_OPTIONS(
        o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX}, {"ttl_ms", o->ttl_ms, 0, TKL__MS_MAX},
        {"most", o->most, 0, INT64_C(1000000000)}, {"items", o->items, 0, TKL_SESSION_PAGE_MAX},
        {"ranked", o->ranked, 0, 1000000},
        {"half_life_ms", o->half_life_ms, TKL_NONE, TKL__MS_MAX});
}

int tkl_session_open(tkl_client *client, tkl_bytes name, const tkl_session_options *options,
                     tkl_session **out)
{
    static const tkl_session_options defaults;
    const tkl_session_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_session *s = malloc(sizeof *s);
    if (!s)
        return tkl__nomem();
    *s = (tkl_session){.client = client,
                       .timeout_ms = o->timeout_ms,
                       .ttl_ms = or_default(o->ttl_ms, DAY_MS),
                       .most = or_default(o->most, 10000000),
                       .items = or_default(o->items, 25),
                       .ranked = or_default(o->ranked, 100000),
                       .half_life_ms = o->half_life_ms};
    rc = tkl__keys_make(client, TKL__SESSION_COMPONENT, name, parts, TKL__SESSION_PARTS, &s->keys);
    if (rc == TKL_OK)
        *out = s;
    else
        free(s);
    return rc;
}

void tkl_session_close(tkl_session *sessions)
{
    if (!sessions)
        return;
    tkl__keys_free(&sessions->keys);
    free(sessions);
}

/* ---- Tokens, ids and names ----------------------------------------------- */

bool tkl__session_id_of(const char *token, char id[TKL_SESSION_ID_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (!tkl__is_token(token) ||
        !EVP_Digest(token, strlen(token), digest, NULL, EVP_sha256(), NULL))
        return false;
    for (size_t i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", digest[i]);
    return true;
}

int tkl__session_check_text(const char *what, tkl_bytes text)
{
    if (text.len >= 1 && text.len <= TKL_SESSION_TEXT_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the %s has %zu bytes, must have 1 to %d", what, text.len,
                     TKL_SESSION_TEXT_MAX);
}

int tkl__session_check_page(size_t skip, size_t max)
{
    int rc = tkl__check_number("max", max > INT32_MAX ? INT32_MAX : (int64_t)max, 1,
                               TKL_SESSION_PAGE_MAX);
    return rc == TKL_OK ? tkl__check_number("skip", skip > INT32_MAX ? INT64_MAX : (int64_t)skip, 0,
                                            INT32_MAX)
                        : rc;
}

void tkl__session_keys_make(const tkl_session *s, tkl_bytes id, tkl__session_keys *keys)
{
    static const char *const own[TKL__SESSION_OWN] = {":items:", ":data:"};
    const tkl_bytes *base = &s->keys.items[TKL__SESSION_BASE];
    memcpy(keys->items, s->keys.items, TKL__SESSION_BASE * sizeof *keys->items);
    keys->failed = false;
    for (int i = 0; i < TKL__SESSION_OWN; i++) {
        tkl__buf *key = &keys->own[i];
        tkl__buf_init(key);
        tkl__buf_add(key, base->data, base->len);
        tkl__buf_addz(key, own[i]);
        tkl__buf_add(key, id.data, id.len);
        keys->items[TKL__SESSION_BASE + i] = (tkl_bytes){key->data, key->len};
        keys->failed = keys->failed || key->failed;
    }
}

void tkl__session_keys_free(tkl__session_keys *keys)
{
    for (int i = 0; i < TKL__SESSION_OWN; i++)
        tkl__buf_free(&keys->own[i]);
}

/* ---- Running scripts ----------------------------------------------------- */

int64_t tkl__session_deadline(const tkl_session *s)
{
    return tkl__deadline(s->client, s->timeout_ms);
}

int tkl__session_run(tkl_session *s, const tkl__script *script, tkl__args *args, bool retry_safe,
                     tkl_reply **reply)
{
    tkl__keys keys = {s->keys.items, TKL__SESSION_BASE};
    int rc = tkl__eval(s->client, script, &keys, args, tkl__session_deadline(s), retry_safe, reply);
    tkl__args_free(args);
    return rc;
}

int tkl__session_run_on(tkl_session *s, const tkl__script *script, const char *id, tkl__args *args,
                        bool retry_safe, tkl_reply **reply)
{
    tkl__session_keys keys;
    tkl__keys list = {keys.items, TKL__SESSION_BASE + TKL__SESSION_OWN};
    tkl__session_keys_make(s, tkl_str(id), &keys);
    int rc = keys.failed ? tkl__nomem()
                         : tkl__eval(s->client, script, &list, args, tkl__session_deadline(s),
                                     retry_safe, reply);
    tkl__session_keys_free(&keys);
    tkl__args_free(args);
    return rc;
}

int tkl__session_ask(tkl_session *s, int argc, const char **words, const size_t *lens,
                     int64_t *answer)
{
    tkl_call_options how = {.timeout_ms = s->timeout_ms, .retry_safe = true};
    tkl_reply *reply = NULL;
    int rc = tkl_call(s->client, argc, words, lens, &how, &reply);
    *answer = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

void tkl__session_unlink(tkl_session *s, const tkl_reply *ids, size_t first)
{
    tkl__batch batch;
    tkl__batch_init(&batch, s->client);
    for (size_t i = first; i < tkl_reply_count(ids); i++) {
        tkl__session_keys keys;
        tkl__session_keys_make(s, tkl_reply_bytes(tkl_reply_at(ids, i)), &keys);
        if (!keys.failed)
            TKL__BATCH_WORDS(&batch, tkl_str("UNLINK"),
                             keys.items[TKL__SESSION_BASE + TKL__SESSION_ITEMS],
                             keys.items[TKL__SESSION_BASE + TKL__SESSION_DATA]);
        tkl__session_keys_free(&keys);
    }
    (void)tkl__batch_run(&batch, tkl__session_deadline(s));
    tkl__batch_free(&batch);
    tkl__begin(); /* forget that error: the caller must not see it */
}

int tkl__session_ended(void)
{
    return tkl__fail(TKL_NOTFOUND, "the session has ended, or never was");
}

int tkl__session_not_ranked(void)
{
    return tkl__fail(TKL_NOTFOUND, "the item is not in the ranking");
}

int tkl__session_other_half_life(const tkl_session *s, int64_t stored_ms)
{
    if (stored_ms == TKL_NONE)
        return tkl__fail(TKL_EINVAL,
                         "views of this ranking count the same for ever: a half-life of %lld ms is "
                         "not possible",
                         (long long)s->half_life_ms);
    if (s->half_life_ms == TKL_NONE)
        return tkl__fail(TKL_EINVAL, "the ranking has a half-life of %lld ms, not none",
                         (long long)stored_ms);
    return tkl__fail(TKL_EINVAL, "the ranking has a half-life of %lld ms, not %lld",
                     (long long)stored_ms, (long long)s->half_life_ms);
}

/* ---- A session ----------------------------------------------------------- */

int tkl_session_create(tkl_session *sessions, tkl_bytes user, int64_t ttl_ms,
                       char token[TKL_TOKEN_SIZE])
{
    char id[TKL_SESSION_ID_SIZE], fresh[TKL_TOKEN_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    *token = '\0';
    int rc = tkl__session_check_text("user's name", user);
    if (rc == TKL_OK)
        rc = tkl__check_number("ttl_ms", ttl_ms, 0, TKL__MS_MAX);
    if (rc != TKL_OK)
        return rc;
    tkl__token_new(fresh);
    if (!tkl__session_id_of(fresh, id))
        return tkl__nomem();
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    tkl__args_bytes(&args, user);
    tkl__args_int(&args, or_default(ttl_ms, sessions->ttl_ms));
    tkl__args_int(&args, sessions->most);
    rc = tkl__session_run(sessions, &tkl__lua_session_create, &args, true, &reply);
    if (rc == TKL_OK) {
        memcpy(token, fresh, sizeof fresh);
        tkl__session_unlink(sessions, reply, 0);
    }
    tkl_reply_free(reply);
    return rc;
}

/* The result for the caller, and the reply that owns its bytes. */
typedef struct found {
    tkl_session_info session; /* must be first: callers have a pointer to it */
    tkl_reply *reply;
    tkl_session_field fields[];
} found;

int tkl__session_make(tkl_reply *reply, const char *id, tkl_session_info **session)
{
    const tkl_reply *data = tkl_reply_at(reply, 4);
    size_t count = tkl_reply_count(data) / 2;
    found *one = calloc(1, sizeof *one + count * sizeof *one->fields);
    if (!one) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    for (size_t i = 0; i < count; i++)
        one->fields[i] =
            (tkl_session_field){.name = tkl_reply_bytes(tkl_reply_at(data, 2 * i)),
                                .value = tkl_reply_bytes(tkl_reply_at(data, 2 * i + 1))};
    one->reply = reply;
    one->session = (tkl_session_info){.user = tkl_reply_bytes(tkl_reply_at(reply, 0)),
                                      .created_ms = tkl_reply_int(tkl_reply_at(reply, 1)),
                                      .seen_ms = tkl_reply_int(tkl_reply_at(reply, 2)),
                                      .ends_ms = tkl_reply_int(tkl_reply_at(reply, 3)),
                                      .fields = one->fields,
                                      .field_count = count};
    memcpy(one->session.id, id, TKL_SESSION_ID_SIZE);
    *session = &one->session;
    return TKL_OK;
}

int tkl_session_check(tkl_session *sessions, const char *token, tkl_session_info **session)
{
    char id[TKL_SESSION_ID_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    *session = NULL;
    if (!tkl__session_id_of(token, id))
        return tkl__session_ended();
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    int rc = tkl__session_run_on(sessions, &tkl__lua_session_check, id, &args, true, &reply);
    if (rc == TKL_OK && tkl_reply_count(reply) < 5)
        rc = tkl__session_ended();
    if (rc == TKL_OK)
        return tkl__session_make(reply, id, session);
    tkl_reply_free(reply);
    return rc;
}

void tkl_session_info_free(tkl_session_info *session)
{
    if (!session)
        return;
    tkl_reply_free(((found *)session)->reply);
    free(session);
}

int tkl_session_end(tkl_session *sessions, const char *token)
{
    char id[TKL_SESSION_ID_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    if (!tkl__session_id_of(token, id))
        return tkl__session_ended();
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    int rc = tkl__session_run_on(sessions, &tkl__lua_session_end, id, &args, false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) != TKL_OK)
        rc = tkl__session_ended();
    tkl_reply_free(reply);
    return rc;
}

/* ---- Data ---------------------------------------------------------------- */

static int check_fields(const tkl_session_field *fields, size_t count)
{
    int rc = tkl__check_number("count", count > INT32_MAX ? INT32_MAX : (int64_t)count, 0,
                               TKL_SESSION_FIELDS_MAX);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = TKL__CHECK_RESERVED(&fields[i]);
        if (rc == TKL_OK && fields[i].name.len == 0)
            rc = tkl__fail(TKL_EINVAL, "a field has no name");
    }
    return rc;
}

int tkl_session_set(tkl_session *sessions, const char *token, const tkl_session_field *fields,
                    size_t count)
{
    char id[TKL_SESSION_ID_SIZE];
    tkl_reply *reply = NULL;
    tkl__args args;
    int rc = check_fields(fields, count);
    if (rc != TKL_OK)
        return rc;
    if (!tkl__session_id_of(token, id))
        return tkl__session_ended();
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    tkl__args_int(&args, TKL_SESSION_FIELDS_MAX);
    tkl__args_int(&args, TKL_SESSION_DATA_MAX);
    for (size_t i = 0; i < count; i++) {
        tkl__args_bytes(&args, fields[i].name);
        tkl__args_bytes(&args, fields[i].value);
    }
    rc = tkl__session_run_on(sessions, &tkl__lua_session_set, id, &args, true, &reply);
    int code = (int)tkl_reply_int(reply);
    tkl_reply_free(reply);
    if (rc != TKL_OK || code == TKL_OK)
        return rc;
    return code == TKL_FULL
               ? tkl__fail(TKL_FULL, "the data of a session has up to %d fields and %d bytes",
                           TKL_SESSION_FIELDS_MAX, TKL_SESSION_DATA_MAX)
               : tkl__session_ended();
}
