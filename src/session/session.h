/* SPDX-License-Identifier: MIT
 *
 * The handle of a store, and what the files of this folder share.
 */
#ifndef TKL_SESSION_SESSION_H
#define TKL_SESSION_SESSION_H

#include <tackle/session.h>

#include "core/batch.h"
#include "core/keys.h"

#define TKL__SESSION_COMPONENT "session"

/* The keys of a store. Every script gets the keys before BASE, in this order; keys of items begin
 * with BASE. */
enum {
    TKL__SESSION_SESSIONS,
    TKL__SESSION_ENDS,
    TKL__SESSION_USERS,
    TKL__SESSION_RANKING,
    TKL__SESSION_RANKING_INFO,
    TKL__SESSION_BASE,
    TKL__SESSION_PARTS,
};

struct tkl_session {
    tkl_client *client;
    tkl__keys keys;
    int64_t timeout_ms, ttl_ms, most, items, ranked;
    int64_t half_life_ms; /* 0: as the ranking has it */
};

/* The id of a token. False: the text is not a token, so it has no session. */
bool tkl__session_id_of(const char *token, char id[TKL_SESSION_ID_SIZE]);

/* TKL_EINVAL: the text does not have 1 to TKL_SESSION_TEXT_MAX bytes. */
int tkl__session_check_text(const char *what, tkl_bytes text);
/* TKL_EINVAL: not a page of at most TKL_SESSION_PAGE_MAX. */
int tkl__session_check_page(size_t skip, size_t max);

/* The keys of one session: the items that it viewed, and its data. */
enum { TKL__SESSION_ITEMS, TKL__SESSION_DATA, TKL__SESSION_OWN };

/* The keys for a script about one session: the keys of the store, and of the session. */
typedef struct tkl__session_keys {
    tkl_bytes items[TKL__SESSION_BASE + TKL__SESSION_OWN];
    tkl__buf own[TKL__SESSION_OWN];
    bool failed; /* out of memory */
} tkl__session_keys;

void tkl__session_keys_make(const tkl_session *s, tkl_bytes id, tkl__session_keys *keys);
void tkl__session_keys_free(tkl__session_keys *keys);

int64_t tkl__session_deadline(const tkl_session *s);

/* Runs a script. Frees the arguments. */
int tkl__session_run(tkl_session *s, const tkl__script *script, tkl__args *args, bool retry_safe,
                     tkl_reply **reply);

/* Runs a script about this session, which gets the session's keys, too. */
int tkl__session_run_on(tkl_session *s, const tkl__script *script, const char *id, tkl__args *args,
                        bool retry_safe, tkl_reply **reply);

/* Runs a command such as "UNLINK key..."; *answer is its integer reply. */
int tkl__session_ask(tkl_session *s, int argc, const char **words, const size_t *lens,
                     int64_t *answer);

/* Removes the items and the data of forgotten sessions, whose ids are in the reply from `first` on.
 * A failure is ignored, because the keys expire anyway. */
void tkl__session_unlink(tkl_session *s, const tkl_reply *ids, size_t first);

/* Makes a session for the caller from {user, created, last use, end, {field, value, ...}}. It takes
 * over the reply, even after a failure. */
int tkl__session_make(tkl_reply *reply, const char *id, tkl_session_info **session);

/* TKL_NOTFOUND, with an error text about a session or an item. */
int tkl__session_ended(void);
int tkl__session_not_ranked(void);
/* TKL_EINVAL: the ranking has this half-life, but the handle was opened with another. */
int tkl__session_other_half_life(const tkl_session *s, int64_t stored_ms);

#endif
