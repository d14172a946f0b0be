/* SPDX-License-Identifier: MIT
 *
 * Runs plain commands of the server, where no script is needed.
 */
#ifndef TKL_CORE_PLAIN_H
#define TKL_CORE_PLAIN_H

#include "core/args.h"
#include "core/call.h"

/* Runs the command whose words are the arguments; the second word is its key, or the first of its
 * keys. An error reply comes back as its code; *reply is then NULL. TKL_ENOMEM when building the
 * arguments failed. `retry_safe`: running it twice does no harm. */
int tkl__plain(tkl_client *client, const tkl__args *words, int64_t deadline, bool retry_safe,
               tkl_reply **reply);

#endif
