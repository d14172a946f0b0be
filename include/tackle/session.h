/* SPDX-License-Identifier: MIT
 *
 * Sessions: who a token belongs to, what was viewed last, and which items are viewed most.
 *
 *     tkl_sessions *shop;
 *     char token[TKL_SESSION_TOKEN_SIZE];
 *     tkl_session *session;
 *     tkl_session_open(client, tkl_str("shop"), NULL, &shop);
 *     tkl_session_create(shop, tkl_str("alice"), 0, token);            // log in
 *     tkl_session_view view = {.token = token, .item = tkl_str("teapot")};
 *     tkl_session_touch(shop, &view, 1, NULL);                         // each page: one round trip
 *     if (tkl_session_check(shop, token, &session) == TKL_OK)
 *         greet(session->user);
 *     tkl_session_free(session);
 *     tkl_session_end(shop, token);                                    // log out
 *
 * A session ends by itself when it is not used for ttl_ms. A store keeps a limited number of
 * sessions: a new one beyond that ends the one that would end first.
 *
 * The server never sees a token. It knows a session by its id, which is made from the token by
 * SHA-256: a reader of the server's memory or its files cannot use the sessions in it.
 *
 * Threads: a handle may be used by several threads. fork(): a child may use its parent's handle.
 * Callbacks: none.
 * Keys: docs/session.md. All keys of a store are in one slot of a cluster.
 */
#ifndef TACKLE_SESSION_H
#define TACKLE_SESSION_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_sessions tkl_sessions;

#define TKL_SESSION_TOKEN_SIZE 33   /* 32 hex digits, 128 random bits, and a NUL */
#define TKL_SESSION_ID_SIZE    33   /* 32 hex digits and a NUL */
#define TKL_SESSION_TEXT_MAX   1024 /* bytes of a user's or an item's name */
#define TKL_SESSION_PAGE_MAX   1000 /* of recent, top and list */

/* All programs that use a store should say the same. */
typedef struct tkl_session_options {
    int64_t timeout_ms;   /* of one call; 0: the client's */
    int64_t ttl_ms;       /* a session ends this long after its last use; 0: a day */
    int64_t most;         /* sessions kept; 0: 10 million */
    int64_t items;        /* items that a session remembers; 0: 25; at most TKL_SESSION_PAGE_MAX */
    int64_t ranked;       /* items kept in the ranking; 0: 100000; at most a million */
    int64_t half_life_ms; /* a view counts half as much after this; 0: a day; TKL_NONE: views count
                             the same for ever */
    TKL_RESERVED(8);
} tkl_session_options;

/* No I/O. `name` of the store: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_session_open(tkl_client *client, tkl_bytes name, const tkl_session_options *options,
                             tkl_sessions **sessions) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle; the sessions stay. NULL is fine. */
TKL_API void tkl_session_close(tkl_sessions *sessions);

/* ---- A session ----------------------------------------------------------- */

/* Begins a session of the user (1 to TKL_SESSION_TEXT_MAX bytes). `ttl_ms`: 0 is the store's. The
 * token is the secret that the user's browser keeps. After tkl_is_unknown() a session that nobody
 * can use may exist until it ends. */
TKL_API int tkl_session_create(tkl_sessions *sessions, tkl_bytes user, int64_t ttl_ms,
                               char token[TKL_SESSION_TOKEN_SIZE]) TKL_NONNULL(1, 4) TKL_CHECK;

typedef struct tkl_session {
    tkl_bytes user;
    char id[TKL_SESSION_ID_SIZE];
    int64_t created_ms; /* Unix times of the server's clock */
    int64_t seen_ms;    /* the last use */
    int64_t ends_ms;    /* unless it is used before */
    TKL_RESERVED(4);
} tkl_session;

/* Whose session it is. Does not count as a use: touch does. TKL_NOTFOUND: it has ended, or never
 * was. */
TKL_API int tkl_session_check(tkl_sessions *sessions, const char *token, tkl_session **session)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
TKL_API void tkl_session_free(tkl_session *session); /* NULL is fine */

/* A use of a session. */
typedef struct tkl_session_view {
    const char *token;
    tkl_bytes item; /* what was viewed; empty: nothing */
    TKL_RESERVED(2);
} tkl_session_view;

/* Notes uses: the time begins anew, and the item becomes the session's most recent one and counts
 * in the ranking. Each is one step: one that is wrong does not keep the others back. A thousand go
 * in one round trip. `codes` (may be NULL) has room for the result of each: TKL_NOTFOUND when the
 * session has ended. Returns the first that is not TKL_OK. */
TKL_API int tkl_session_touch(tkl_sessions *sessions, const tkl_session_view *views, size_t count,
                              int *codes) TKL_NONNULL(1) TKL_CHECK;

/* Ends it, with what it remembers. TKL_NOTFOUND: it had ended. */
TKL_API int tkl_session_end(tkl_sessions *sessions, const char *token) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- The sessions of a user ---------------------------------------------- */

typedef struct tkl_session_list {
    const tkl_session *items;
    size_t count;
} tkl_session_list;

/* In the order of their ids: up to `max` (at most TKL_SESSION_PAGE_MAX) behind the first `skip`. A
 * round trip for each 250. */
TKL_API int tkl_session_of_user(tkl_sessions *sessions, tkl_bytes user, size_t skip, size_t max,
                                tkl_session_list **list) TKL_NONNULL(1, 5) TKL_CHECK;
TKL_API void tkl_session_list_free(tkl_session_list *list); /* NULL is fine */

/* Ends all of them. *ended (may be NULL): how many there were. A round trip for each 250. */
TKL_API int tkl_session_end_user(tkl_sessions *sessions, tkl_bytes user, int64_t *ended)
    TKL_NONNULL(1) TKL_CHECK;

/* ---- Items --------------------------------------------------------------- */

typedef struct tkl_session_item {
    tkl_bytes item;
    int64_t viewed_ms; /* of recent: Unix time of the server's clock; of top: 0 */
    double views; /* of top: how often it was viewed, older views counting less; of recent: 0 */
    TKL_RESERVED(2);
} tkl_session_item;

typedef struct tkl_session_items {
    const tkl_session_item *items;
    size_t count;
} tkl_session_items;

/* What the session viewed, each item once, the most recent first. TKL_NOTFOUND: it has ended. */
TKL_API int tkl_session_recent(tkl_sessions *sessions, const char *token, size_t skip, size_t max,
                               tkl_session_items **items) TKL_NONNULL(1, 2, 5) TKL_CHECK;
/* What all sessions viewed, the most viewed first. */
TKL_API int tkl_session_top(tkl_sessions *sessions, size_t skip, size_t max,
                            tkl_session_items **items) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_session_items_free(tkl_session_items *items); /* NULL is fine */

/* An item has another name from now on, in the ranking: its views are added to those of that name.
 * Sessions remember the name that they have seen. TKL_NOTFOUND: it is not in the ranking. */
TKL_API int tkl_session_rename_item(tkl_sessions *sessions, tkl_bytes item, tkl_bytes name)
    TKL_NONNULL(1) TKL_CHECK;
/* Takes an item out of the ranking. TKL_NOTFOUND: it is not there. */
TKL_API int tkl_session_drop_item(tkl_sessions *sessions, tkl_bytes item) TKL_NONNULL(1) TKL_CHECK;

/* ---- The store ----------------------------------------------------------- */

typedef struct tkl_session_stats {
    int64_t sessions; /* that have not ended */
    int64_t items;    /* in the ranking */
    TKL_RESERVED(4);
} tkl_session_stats;

TKL_API int tkl_session_stats_get(tkl_sessions *sessions, tkl_session_stats *stats)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* Removes the store with all that is in it, 250 sessions a step. TKL_NOTFOUND: it was empty. */
TKL_API int tkl_session_drop(tkl_sessions *sessions) TKL_NONNULL(1) TKL_CHECK;
/* All stores of the client's namespace. */
TKL_API int tkl_session_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
