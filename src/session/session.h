/* SPDX-License-Identifier: MIT
 *
 * The handle of a store, and what its files share.
 */
#ifndef TKL_SESSION_SESSION_H
#define TKL_SESSION_SESSION_H

#include <tackle/session.h>

#include "core/keys.h"
#include "core/script.h"

#define TKL__SESSION_COMPONENT "session"

/* The keys of a store, in the order in which every script gets those before BASE; keys of items begin
 * with that. */
enum {
    TKL__SESSION_SESSIONS,
    TKL__SESSION_ENDS,
    TKL__SESSION_USERS,
    TKL__SESSION_RANKING,
    TKL__SESSION_BASE,
    TKL__SESSION_PARTS,
};

struct tkl_sessions {
    tkl_client *client;
    tkl__keys keys;
    int64_t timeout_ms, ttl_ms, most, items, ranked, half_life_ms;
};

/* The id of a token. False when it is no token at all, and so nobody's. */
bool tkl__session_id_of(const char *token, char id[TKL_SESSION_ID_SIZE]);

/* TKL_EINVAL unless it has 1 to TKL_SESSION_TEXT_MAX bytes. */
int tkl__session_check_text(const char *what, tkl_bytes text);
/* TKL_EINVAL unless it is a page of at most TKL_SESSION_PAGE_MAX. */
int tkl__session_check_page(size_t skip, size_t max);

/* Appends the key of what a session viewed. */
void tkl__session_add_items_key(tkl__buf *out, const tkl_sessions *s, tkl_bytes id);

int64_t tkl__session_deadline(const tkl_sessions *s);

/* Runs a script. Frees the arguments. */
int tkl__session_run(tkl_sessions *s, const tkl__script *script, tkl__args *args, bool retry_safe,
                     tkl_reply **reply);

/* The same with the items of this session. */
int tkl__session_run_with_items(tkl_sessions *s, const tkl__script *script, const char *id,
                                tkl__args *args, bool retry_safe, tkl_reply **reply);

/* Runs "UNLINK key..." and the like; *answer is an integer. */
int tkl__session_ask(tkl_sessions *s, int argc, const char **words, const size_t *lens,
                     int64_t *answer);

/* Removes what forgotten sessions viewed: of the ids in the reply from `first` on. Their keys would
 * expire, so a failure is none. */
void tkl__session_unlink_items(tkl_sessions *s, const tkl_reply *ids, size_t first);

/* TKL_NOTFOUND, and a text that says so of a session, of an item. */
int tkl__session_ended(void);
int tkl__session_not_ranked(void);

#endif
