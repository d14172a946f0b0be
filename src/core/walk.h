/* SPDX-License-Identifier: MIT
 *
 * Walking over the keys of all servers without blocking any.
 */
#ifndef TKL_CORE_WALK_H
#define TKL_CORE_WALK_H

#include "core/call.h"

/* Called for each key; a key may come more than once. Anything but TKL_OK ends the walk. */
typedef int tkl__visit(tkl_bytes key, void *arg);

/* All keys that match the glob pattern and are of the type ("zset"; NULL for any), on every master.
 * Each step has the client's time-out. */
int tkl__walk(tkl_client *client, tkl_bytes pattern, const char *type, tkl__visit *visit,
              void *arg);

/* Appends text so that a pattern matches it literally. */
void tkl__glob_escape(tkl__buf *out, const char *text);

#endif
