/* SPDX-License-Identifier: MIT
 *
 * The life of a request: pick a node, borrow a connection, send, receive, follow redirections, and
 * retry where that is safe.
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
    bool doubted;     /* an earlier attempt of the caller may have been executed */
    bool no_tryagain; /* return TRYAGAIN to the caller, who has another way */
    bool crowded;     /* other calls need the processors: do not spin for the reply */
    bool *imported;   /* NULL, or set when the node that answered is about to get the slot, whose
                         owner still has the subscribers; not for tkl__exec_many() */
    int names_word;   /* the word that is a key whose name the register gets; 0: none */
    const struct tkl__script *script; /* the function it calls, loaded where it is missing; NULL:
                                         none */
} tkl__request;

/* *reply may be an error reply of the server; TKL_OK is returned then. Only redirections and "not
 * now" errors are handled here. Once an attempt may have been executed, errors of later attempts
 * come back as TKL_EUNKNOWN, because they only say that the later attempts were not executed. With
 * `no_tryagain` a TRYAGAIN comes back as it is, marked by tkl__reply_is_doubted(). */
int tkl__exec(tkl_client *client, const tkl__request *request, int64_t deadline, tkl_reply **reply);

/* Returns one slot of each master, for commands that go to all of them; free() the array. Without a
 * cluster: TKL__NO_SLOT, for the only master. */
int tkl__shards(tkl_client *client, int64_t deadline, int **slots, size_t *count);

/* Runs the request on the given node, and follows no redirections. */
int tkl__exec_on(tkl__node *node, const tkl__request *request, int64_t deadline, tkl_reply **reply);

/* Reads the reply to a request that was sent on this connection of the node. When it does not
 * arrive within a second, asks the route whether another server has the slot by now; returns
 * TKL_EUNKNOWN if so. Without a client it only waits for this server. */
int tkl__await_reply(tkl_client *client, tkl__node *node, tkl__conn *conn, int slot,
                     int64_t deadline, tkl_reply **reply);

/* Runs many requests in as few round trips as there are nodes. *replies is an array with one
 * element per request. The order is kept within a slot. Returns the first failure that is not an
 * error reply. */
int tkl__exec_many(tkl_client *client, const tkl__request *requests, size_t count, int64_t deadline,
                   tkl_reply **replies);

/* The same for requests that take time to build. The first `ready` requests are sent; then
 * `make` is called once and builds the others. The bytes of all requests are contiguous and do
 * not move. */
typedef struct tkl__ahead {
    size_t ready;
    void (*make)(void *arg);
    void *arg;
} tkl__ahead;
int tkl__exec_many_ahead(tkl_client *client, const tkl__request *requests, size_t count,
                         const tkl__ahead *ahead, int64_t deadline, tkl_reply **replies);

/* Turns an error reply into its code: frees it, clears the pointer and records the text. */
int tkl__check(tkl_reply **reply);

/* TKL_EINVAL for invalid options. NULL is fine. */
int tkl__call_check(const tkl_call_options *options);
/* The deadline for these options (NULL: the client's time-out). */
int64_t tkl__call_deadline(const tkl_client *client, const tkl_call_options *options);

/* Reads the words of a NULL-terminated list; TKL_EINVAL when there are too many. */
#define TKL__WORDS_MAX 64
int tkl__words(va_list args, const char **argv, int max);

/* ---- Shared by single and many ------------------------------------------- */

/* The outcome of an attempt, and what to do next. */
typedef struct tkl__outcome {
    bool again;       /* retry */
    bool at_once;     /* ... without a pause */
    tkl__node *other; /* ... with ASKING at this node (a reference), or NULL */
} tkl__outcome;

/* Judges a reply or, when it is NULL, the failure `rc`. Reports to the route what it learns. */
tkl__outcome tkl__judge(tkl_client *client, tkl__node *node, int rc, const tkl_reply *reply,
                        bool retry_safe);

/* Adjusts an error reply when an earlier attempt may have been executed. */
void tkl__doubt(const tkl__request *request, tkl_reply *reply);

/* The deadline for borrowing a connection from one node: a dead node must not use up the time in
 * which another could take over its slots. A lenient view, which tries once, waits longer. */
int64_t tkl__borrow_deadline(const tkl_client *client, int64_t deadline);

/* Pauses before attempt number `attempt`; false when no time is left for it. */
bool tkl__pause(int attempt, bool at_once, int64_t deadline);

#endif
