/* SPDX-License-Identifier: MIT
 *
 * Repeats: requests with an Idempotency-Key are executed once, however often they come.
 *
 * The answer to the first one is kept as a cached value (tkl_cache) for some time, and repeats get
 * it. While the first one is under way, repeats wait for its answer: tkl_cache_fetch() lets one
 * caller of all servers compute at a time, and notices when that caller dies.
 *
 *     key      idempotency: and a digest of the token's name and the header
 *     value    {"of": digest of the path and the fields, "status": 200, "body": "..."}
 *
 * Answers that say that nothing was done are not kept, so that a repeat can succeed. A verb that
 * takes a request id (queue push) gets one that is made from the key. So a repeat does no harm when
 * the server died between executing the request and storing the answer, and it finds out what
 * happened when the outcome was unknown.
 */
#ifndef TKL_SERVE_REPEAT_H
#define TKL_SERVE_REPEAT_H

#include "call.h"

enum { SERVE_KEY_MAX = 255 }; /* bytes of an Idempotency-Key */

/* Opens the cache of answers, which are kept for `life_ms`. */
int serve_answers_open(tkl_client *client, int64_t life_ms, tkl_cache **answers);

/* Does what serve_call() does, but once for each key of a caller (`who`, the name of the token).
 * 422: the key was used for another request. 409: the first request is still under way. */
void serve_call_once(tkl_cache *answers, const char *who, const char *key, tkl_client *client,
                     const serve_route *route, const json_t *fields, serve_answer *answer);

#endif
