/* SPDX-License-Identifier: MIT
 *
 * Keeping: a lock, permit or job that a request with "keep": true gets is renewed as long as the
 * connection of the request lives.
 *
 *     waiting -> held, its result is sent -> renewed ... -> client gone, or server ends: released
 *                                                        -> lost, released, acknowledged: "ended"
 *
 * The stream begins with the result of the verb, as without "keep". Renewing and releasing are
 * calls of the component's own verbs `renew` and `release` with the token of the result.
 */
#ifndef TKL_SERVE_KEEP_H
#define TKL_SERVE_KEEP_H

#include "call.h"

/* Whether requests of this route may have the field "keep". */
bool serve_can_keep(const serve_route *route);

/* Renews what `result` (JSON of the verb) gives until the operation is cancelled, and then releases
 * it. When it is lost, the stream says so. */
void serve_keep(tkl_client *client, const serve_route *route, const json_t *fields,
                const char *result, serve_stream *stream);

#endif
