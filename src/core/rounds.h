/* SPDX-License-Identifier: MIT
 *
 * Loops that ask again because of a reply: there is more, the data changed meanwhile, the lease has
 * ended. With a healthy server they come to an end. A broken server, or a broken proxy, may give
 * the same answer for ever, thousands of times a second.
 */
#ifndef TKL_CORE_ROUNDS_H
#define TKL_CORE_ROUNDS_H

#include "core/client.h"

/* All zero at the start. */
typedef struct tkl__rounds {
    int idle;      /* rounds in a row without progress */
    int64_t since; /* when the first of them ended */
    int64_t count; /* number of all rounds */
} tkl__rounds;

/* Call this before another round; `gained` says whether the last one made progress. The first few
 * rounds without progress are repeated at once, the next ones after a pause. TKL_EPROTO when that
 * has gone on for `timeout_ms` (0: the client's), or after very many rounds. TKL_EINTR: the client
 * was interrupted meanwhile. */
int tkl__next_round(tkl__rounds *rounds, tkl_client *client, int64_t timeout_ms, bool gained);

/* The same for a wait with its own deadline: it pauses, and never returns TKL_EPROTO. */
int tkl__pause_round(tkl__rounds *rounds, tkl_client *client, int64_t deadline, bool gained);

/* Detects cursors that go in a circle. All zero at the start. */
typedef struct tkl__circle {
    char mark[32];          /* a cursor seen earlier ... */
    uint64_t steps, marked; /* ... after `marked` of the `steps` made so far */
} tkl__circle;

/* Notes the next cursor of a reply. TKL_EPROTO when it is invalid: empty, too long, or seen
 * before. */
int tkl__circle_next(tkl__circle *circle, tkl_bytes cursor);

#endif
