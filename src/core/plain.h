/* SPDX-License-Identifier: MIT
 *
 * A plain command of the server, where no script is needed.
 */
#ifndef TKL_CORE_PLAIN_H
#define TKL_CORE_PLAIN_H

#include "core/args.h"
#include "core/call.h"

/* Runs the command whose words are the arguments; the second of them is its key, or the first of
 * its keys. An error reply comes back as its code; *reply is then NULL. TKL_ENOMEM when the
 * arguments failed. `retry_safe`: running it twice does no harm. */
int tkl__plain(tkl_client *client, const tkl__args *words, int64_t deadline, bool retry_safe,
               tkl_reply **reply);

/* Several commands, all on keys of one slot, in one trip; *replies is an array with the reply of
 * each. The first error reply among them comes back as its code; *replies is NULL whenever not
 * TKL_OK comes back. Others may come in between. */
int tkl__plain_many(tkl_client *client, const tkl__args *commands, size_t count, int64_t deadline,
                    bool retry_safe, tkl_reply **replies);

#endif
