/* SPDX-License-Identifier: MIT
 *
 * A batch: many calls in one round trip per node.
 *
 *     tkl__batch batch;
 *     tkl__batch_init(&batch, client);
 *     for (size_t i = 0; i < count; i++)
 *         tkl__batch_add(&batch, &(tkl__invocation){.script = &tkl__lua_ads_show, ...});
 *     int rc = tkl__batch_run(&batch, deadline);
 *     for (size_t i = 0; rc == TKL_OK && i < count; i++)
 *         read(tkl__batch_reply(&batch, i));
 *     tkl__batch_free(&batch);
 *
 * When several calls fail, the failure of the call that was added first counts, whichever failed
 * earlier. The run returns its code, and its text becomes the calling thread's. A component that
 * judges its replies itself keeps to this rule with tkl__batch_code() and tkl__first_note().
 */
#ifndef TKL_CORE_BATCH_H
#define TKL_CORE_BATCH_H

#include "core/error.h"
#include "core/script.h"

#define TKL__BATCH_SMALL 4

typedef struct tkl__batch {
    tkl_client *client;
    tkl__buf wire;          /* all calls, in RESP form */
    tkl__request *requests; /* one for each call; their `wire` is set by a run */
    size_t count, cap;
    tkl_error failure;  /* why nothing is or was sent */
    tkl_reply *replies; /* replies of the last run; NULL: none */
    tkl__request small[TKL__BATCH_SMALL];
} tkl__batch;

void tkl__batch_init(tkl__batch *batch, tkl_client *client);
/* Frees the calls and the replies. */
void tkl__batch_free(tkl__batch *batch);
/* Removes all calls and replies, for the next round trip. */
void tkl__batch_clear(tkl__batch *batch);

/* Each of these adds a call, and copies its keys and arguments. A failure, such as a builder of
 * arguments without memory, is reported by the run, which then sends nothing. */
void tkl__batch_add(tkl__batch *batch, const tkl__invocation *call);
void tkl__batch_eval(tkl__batch *batch, const tkl__script *script, const tkl__keys *keys,
                     const tkl__args *args, bool retry_safe);
/* A plain command; the second word is its key, or the first of its keys. */
void tkl__batch_words(tkl__batch *batch, const tkl_bytes *words, size_t count, bool retry_safe);
/* Adds a plain command that is safe to repeat: TKL__BATCH_WORDS(&batch, tkl_str("HLEN"), key). */
#define TKL__BATCH_WORDS(batch, ...)                            \
    tkl__batch_words((batch), (const tkl_bytes[]){__VA_ARGS__}, \
                     sizeof((const tkl_bytes[]){__VA_ARGS__}) / sizeof(tkl_bytes), true)
/* A plain command whose words are in RESP form already. */
void tkl__batch_body(tkl__batch *batch, size_t words, const tkl__buf *body, tkl_bytes key,
                     bool retry_safe);
/* Says that the call that was added last changes something: the register gets the name of its key,
 * which is this word. Calls of scripts need not say so. */
void tkl__batch_names(tkl__batch *batch, int word);
void tkl__batch_plain(tkl__batch *batch, const tkl__args *words, bool retry_safe);

/* Notes that a call could not be made, for the reason in the calling thread's text. */
void tkl__batch_fail(tkl__batch *batch, int code);

/* Runs all calls; the order is kept within a slot, unless a server must load functions first.
 * Returns the first failure, an error reply included. */
int tkl__batch_run(tkl__batch *batch, int64_t deadline);

/* The same for a view of operators. A call whose server does not answer keeps its own code, but
 * does not fail the batch if the view may do without that server (lenient.h). */
int tkl__batch_run_lenient(tkl__batch *batch, int64_t deadline);

/* The same as tkl__batch_run(), but no call overtakes another call with the same first key. A
 * server may lose its functions in the middle of the batch and get them back from another client;
 * then calls behind the gap would run before the calls in it. So the argument number `condition`,
 * from 0, names the call that must have run before; empty: none. The script answers nil and does
 * nothing when that call has not run. The client runs such a call again, without the condition,
 * once the calls before it are answered. After an error it does not run the call, which gets the
 * same error. `calls`: the calls that were added. */
int tkl__batch_run_in_order(tkl__batch *batch, const tkl__invocation *calls, size_t condition,
                            int64_t deadline);

/* Runs and frees the batch. *replies is an array with the reply of each call; NULL after a
 * failure. */
int tkl__batch_end(tkl__batch *batch, int64_t deadline, tkl_reply **replies);

/* The reply of a call, in the order of adding; NULL when there is none. */
const tkl_reply *tkl__batch_reply(const tkl__batch *batch, size_t index);
/* The code of a call: TKL_OK, or its failure, whose text becomes the calling thread's. */
int tkl__batch_code(const tkl__batch *batch, size_t index);
/* All replies as an array, which the caller frees; NULL when there are none. */
tkl_reply *tkl__batch_take(tkl__batch *batch);

/* Adds up the integer replies. A script may answer with a text instead, to say that the caller's
 * data is outdated: *other is the first such reply, which ends the sum; NULL: none. */
void tkl__batch_sum(const tkl__batch *batch, int64_t *sum, const tkl_reply **other);

#endif
