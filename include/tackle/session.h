/* SPDX-License-Identifier: MIT
 *
 * Sessions: who a token belongs to, what was viewed last, and which items are viewed most.
 *
 *     tkl_session *shop;
 *     char token[TKL_TOKEN_SIZE];
 *     tkl_session_info *session;
 *     TKL_TRY(tkl_session_open(client, tkl_str("shop"), NULL, &shop));
 *     TKL_TRY(tkl_session_create(shop, tkl_str("alice"), 0, token));   // log in
 *     tkl_session_view view = {.token = token, .item = tkl_str("teapot")};
 *     if (tkl_session_use(shop, &view, &session) == TKL_OK)            // each page: one round trip
 *         greet(session->user);
 *     tkl_session_info_free(session);
 *     TKL_TRY(tkl_session_end(shop, token));                           // log out
 *
 * A session ends by itself when it is not used for ttl_ms. A store keeps a limited number of
 * sessions: when it is full, a new session ends the one that would expire first.
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

typedef struct tkl_session tkl_session;

#define TKL_SESSION_ID_SIZE    33    /* 32 hex digits and a NUL */
#define TKL_SESSION_TEXT_MAX   1024  /* bytes of a user's or an item's name */
#define TKL_SESSION_PAGE_MAX   1000  /* most results of recent, top and list */
#define TKL_SESSION_FIELDS_MAX 100   /* fields of the data of a session */
#define TKL_SESSION_DATA_MAX   16384 /* bytes of their names and values together */

/* All programs that use a store should use the same options. The first view fixes the half-life of
 * the ranking: calls about the ranking with a different half-life are TKL_EINVAL and change
 * nothing. */
typedef struct tkl_session_options {
    int64_t timeout_ms;   /* time-out of one call; 0: the client's */
    int64_t ttl_ms;       /* a session ends this long after its last use; 0: a day */
    int64_t most;         /* most sessions that are kept; 0: 10 million */
    int64_t items;        /* items that a session remembers; 0: 25; at most TKL_SESSION_PAGE_MAX */
    int64_t ranked;       /* items kept in the ranking; 0: 100000; at most a million */
    int64_t half_life_ms; /* time after which a view counts half as much; 0: the ranking's own, a
                             day for a new ranking; TKL_NONE: views do not age */
    TKL_RESERVED(8);
} tkl_session_options;

/* No I/O. `name` of the store: 1 to TKL_NAME_MAX bytes; copied. */
TKL_API int tkl_session_open(tkl_client *client, tkl_bytes name, const tkl_session_options *options,
                             tkl_session **sessions) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle; the sessions stay. NULL is fine. */
TKL_API void tkl_session_close(tkl_session *sessions);

/* ---- A session ----------------------------------------------------------- */

/* Begins a session of the user (1 to TKL_SESSION_TEXT_MAX bytes). `ttl_ms`: 0 is the store's. The
 * token is the secret that the user's browser keeps. If tkl_is_unknown() is true, a session that
 * nobody can use may exist until it expires. */
TKL_API int tkl_session_create(tkl_session *sessions, tkl_bytes user, int64_t ttl_ms,
                               char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 4) TKL_CHECK;

/* A field of a session's data: a cart, a language, a form that is half filled in. */
typedef struct tkl_session_field {
    tkl_bytes name;  /* 1 byte or more */
    tkl_bytes value; /* 1 byte or more; for tkl_session_set(): empty removes the field */
    TKL_RESERVED(2);
} tkl_session_field;

typedef struct tkl_session_info {
    tkl_bytes user;
    char id[TKL_SESSION_ID_SIZE];
    int64_t created_ms;              /* Unix time of the server's clock; so are the next two */
    int64_t seen_ms;                 /* Unix time of the last use */
    int64_t ends_ms;                 /* Unix time at which it expires unless it is used before */
    const tkl_session_field *fields; /* its data, in no order; not read by tkl_session_of_user() */
    size_t field_count;
    TKL_RESERVED(2);
} tkl_session_info;

/* Looks up the session of a token, with its data. This does not count as a use; tkl_session_use()
 * and tkl_session_touch() do. TKL_NOTFOUND: it has ended, or never existed. */
TKL_API int tkl_session_check(tkl_session *sessions, const char *token, tkl_session_info **session)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
TKL_API void tkl_session_info_free(tkl_session_info *session); /* NULL is fine */

/* A use of a session. */
typedef struct tkl_session_view {
    const char *token;
    tkl_bytes item; /* the item that was viewed; empty: none */
    TKL_RESERVED(2);
} tkl_session_view;

/* Records uses of sessions: the session's time to live starts over, and the item becomes its most
 * recent one and counts in the ranking. Each use is one step: a failure does not affect the others.
 * A thousand uses are one round trip. `codes` (may be NULL) has room for the result of each:
 * TKL_NOTFOUND when the session has ended. Returns the first error, or else the first "no". */
TKL_API int tkl_session_touch(tkl_session *sessions, const tkl_session_view *views, size_t count,
                              int *codes) TKL_NONNULL(1) TKL_CHECK;

/* Records one use, as tkl_session_touch() does, and reads the session with its data, in the same
 * round trip. TKL_NOTFOUND: the session has ended. */
TKL_API int tkl_session_use(tkl_session *sessions, const tkl_session_view *view,
                            tkl_session_info **session) TKL_NONNULL(1, 2, 3) TKL_CHECK;
/* The same in a pipeline, see tkl_result. *session is NULL until the run. */
TKL_API int tkl_session_touch_in(tkl_pipeline *pipeline, tkl_session *sessions,
                                 const tkl_session_view *view, tkl_result *result)
    TKL_NONNULL(1, 2, 3);
TKL_API int tkl_session_use_in(tkl_pipeline *pipeline, tkl_session *sessions,
                               const tkl_session_view *view, tkl_session_info **session,
                               tkl_result *result) TKL_NONNULL(1, 2, 3, 4);

/* Sets fields of the session's data, or removes those whose values are empty, in one step: all or
 * none. Other fields stay. The data ends with the session. This does not count as a use.
 * TKL_NOTFOUND: the session has ended. TKL_FULL: there would be more than TKL_SESSION_FIELDS_MAX
 * fields or TKL_SESSION_DATA_MAX bytes. */
TKL_API int tkl_session_set(tkl_session *sessions, const char *token,
                            const tkl_session_field *fields, size_t count)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* Ends the session and removes its data and its recent items. TKL_NOTFOUND: it had ended. */
TKL_API int tkl_session_end(tkl_session *sessions, const char *token) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- The sessions of a user ---------------------------------------------- */

typedef struct tkl_session_list {
    const tkl_session_info *items;
    size_t count;
} tkl_session_list;

/* Lists the sessions of a user in the order of their ids: up to `max` (at most
 * TKL_SESSION_PAGE_MAX) after the first `skip`. One round trip for each 250. */
TKL_API int tkl_session_of_user(tkl_session *sessions, tkl_bytes user, size_t skip, size_t max,
                                tkl_session_list **list) TKL_NONNULL(1, 5) TKL_CHECK;
TKL_API void tkl_session_list_free(tkl_session_list *list); /* NULL is fine */

/* Ends all sessions of the user. *ended (may be NULL): how many. One round trip for each 250. */
TKL_API int tkl_session_end_user(tkl_session *sessions, tkl_bytes user, int64_t *ended)
    TKL_NONNULL(1) TKL_CHECK;

/* ---- Items --------------------------------------------------------------- */

typedef struct tkl_session_item {
    tkl_bytes item;
    int64_t viewed_ms; /* in recent: Unix time of the server's clock; in top: 0 */
    double views;      /* in top: number of views, older views counting less; in recent: 0 */
    double excess;     /* in top: `views` is too high by this at most; 0: exact */
    TKL_RESERVED(1);
} tkl_session_item;

typedef struct tkl_session_items {
    const tkl_session_item *items;
    size_t count;
} tkl_session_items;

/* Lists the items that the session viewed, each once, the most recent first. TKL_NOTFOUND: the
 * session has ended. */
TKL_API int tkl_session_recent(tkl_session *sessions, const char *token, size_t skip, size_t max,
                               tkl_session_items **items) TKL_NONNULL(1, 2, 5) TKL_CHECK;
/* Lists the items that all sessions viewed, the most viewed first. When the ranking is full, a new
 * item replaces the least viewed one and takes over its views: `excess` says how much too high its
 * views may be for this reason. */
TKL_API int tkl_session_top(tkl_session *sessions, size_t skip, size_t max,
                            tkl_session_items **items) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_session_items_free(tkl_session_items *items); /* NULL is fine */

/* Counts one view for each of the items without a session, in the ranking only. A hundred are one
 * step: all or none. Ten thousand are one round trip. The library does not repeat it when the reply
 * is lost. */
TKL_API int tkl_session_view_items(tkl_session *sessions, const tkl_bytes *items, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Renames an item in the ranking; its views are added to the views of the new name. Recent items of
 * sessions keep the old name. TKL_NOTFOUND: the item is not in the ranking. */
TKL_API int tkl_session_rename_item(tkl_session *sessions, tkl_bytes item, tkl_bytes name)
    TKL_NONNULL(1) TKL_CHECK;
/* Takes an item out of the ranking. TKL_NOTFOUND: it is not there. */
TKL_API int tkl_session_drop_item(tkl_session *sessions, tkl_bytes item) TKL_NONNULL(1) TKL_CHECK;
/* Removes the ranking; the sessions stay. The next view may have another half-life. TKL_NOTFOUND:
 * there was none. */
TKL_API int tkl_session_drop_ranking(tkl_session *sessions) TKL_NONNULL(1) TKL_CHECK;

/* ---- The store ----------------------------------------------------------- */

typedef struct tkl_session_stats {
    int64_t sessions; /* sessions that have not ended */
    int64_t items;    /* in the ranking */
    TKL_RESERVED(4);
} tkl_session_stats;

TKL_API int tkl_session_stats_get(tkl_session *sessions, tkl_session_stats *stats)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* Removes the store with all that is in it, 250 sessions a step. TKL_NOTFOUND: it was empty. */
TKL_API int tkl_session_drop(tkl_session *sessions) TKL_NONNULL(1) TKL_CHECK;
/* All stores of the client's namespace. */
TKL_API int tkl_session_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
