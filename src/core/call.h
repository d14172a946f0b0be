/* SPDX-License-Identifier: MIT
 *
 * A request on its way: pick a node, borrow a connection, send, receive, follow redirections,
 * repeat what is safe to repeat.
 */
#ifndef TKL_CORE_CALL_H
#define TKL_CORE_CALL_H

#include <stdarg.h>

#include "core/buf.h"
#include "core/client.h"

/* One command in RESP form. */
typedef struct tkl__request {
    tkl_bytes wire;
    int slot;         /* TKL__NO_SLOT: any node */
    bool retry_safe;  /* may be sent again when the outcome is unknown */
    bool no_tryagain; /* TRYAGAIN is the answer: the caller has another way */
    bool crowded;     /* others want the processors just now: do not stay awake for the reply */
} tkl__request;

/* *reply may be an error reply of the server (TKL_OK is returned then): only redirections and
 * "not now" are dealt with here. */
int tkl__exec(tkl_client *client, const tkl__request *request, int64_t deadline, tkl_reply **reply);

/* A slot of each master, for what concerns them all; free() the array. TKL__NO_SLOT for the one
 * master where there are no slots. */
int tkl__shards(tkl_client *client, int64_t deadline, int **slots, size_t *count);

/* The same on one given node, without redirections. */
int tkl__exec_on(tkl__node *node, const tkl__request *request, int64_t deadline, tkl_reply **reply);

/* The reply to what was sent on this connection of the node. When it does not come within a second,
 * it is asked whether another server has the slot by now: TKL_EUNKNOWN then. Without a client only
 * this server counts. */
int tkl__await_reply(tkl_client *client, tkl__node *node, tkl__conn *conn, int slot,
                     int64_t deadline, tkl_reply **reply);

/* Many requests, as few trips as nodes: *replies is an array with an element for each. The
 * order is kept within a slot. Returns the first failure that is no error reply. */
int tkl__exec_many(tkl_client *client, const tkl__request *requests, size_t count, int64_t deadline,
                   tkl_reply **replies);

/* The same where making the requests takes time: the first `ready` are sent before `make` is
 * called, once, which makes the others. All their bytes lie side by side and stay where they are.
 */
typedef struct tkl__ahead {
    size_t ready;
    void (*make)(void *arg);
    void *arg;
} tkl__ahead;
int tkl__exec_many_ahead(tkl_client *client, const tkl__request *requests, size_t count,
                         const tkl__ahead *ahead, int64_t deadline, tkl_reply **replies);

/* Turns an error reply into its code: frees it, clears the pointer and records the text. */
int tkl__check(tkl_reply **reply);

/* TKL_EINVAL for options that make no sense. NULL is fine. */
int tkl__call_check(const tkl_call_options *options);
/* The deadline for these options (NULL: the client's time-out). */
int64_t tkl__call_deadline(const tkl_client *client, const tkl_call_options *options);

/* The words of a NULL-terminated list, or TKL_EINVAL when there are too many. */
#define TKL__WORDS_MAX 64
int tkl__words(va_list args, const char **argv, int max);

/* ---- Shared by single and many ------------------------------------------- */

/* What a try came to, and what to do next. */
typedef struct tkl__outcome {
    bool again;       /* worth another try */
    bool at_once;     /* ... without a pause */
    tkl__node *other; /* ... with ASKING at this node (a reference), or NULL */
} tkl__outcome;

/* Judges a reply, or, when it is NULL, the failure `rc`. Tells the route what it learns. */
tkl__outcome tkl__judge(tkl_client *client, tkl__node *node, int rc, const tkl_reply *reply,
                        bool retry_safe);

/* How long one node may take to lend a connection: a dead one must not use up the time in which
 * another could take over its slots. */
int64_t tkl__borrow_deadline(const tkl_client *client, int64_t deadline);

/* Pauses before try number `attempt`; false when no time is left for another. */
bool tkl__pause(int attempt, bool at_once, int64_t deadline);

#endif
