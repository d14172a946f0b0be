/* SPDX-License-Identifier: MIT */
#include "core/rounds.h"

#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/options.h"

/* Rounds without progress that may follow each other without a pause. */
#define AT_ONCE 16
/* The longest pauses before another round: short, because a healthy server may make progress
 * without showing it; longer in a wait, which may have no end. */
#define PAUSE_MAX_US      5000
#define WAIT_PAUSE_MAX_US 50000
/* Most rounds of one call. Each handles hundreds of items, so no real call needs more. */
#define ROUNDS_MAX 200000

static int pause_for(const tkl__rounds *rounds, tkl_client *client, int64_t most, int64_t deadline)
{
    if (rounds->idle <= AT_ONCE)
        return TKL_OK;
    int64_t until = tkl__now() + tkl__backoff(rounds->idle - AT_ONCE - 1, most);
    return tkl__sleep(client, until < deadline ? until : deadline);
}

/* Counts a round. Returns whether it made no progress. */
static bool is_idle(tkl__rounds *rounds, bool gained)
{
    rounds->count++;
    if (gained)
        rounds->idle = 0;
    else if (rounds->idle++ == 0)
        rounds->since = tkl__now();
    return !gained;
}

int tkl__next_round(tkl__rounds *rounds, tkl_client *client, int64_t timeout_ms, bool gained)
{
    bool idle = is_idle(rounds, gained);
    if (rounds->count >= ROUNDS_MAX)
        return tkl__fail(TKL_EPROTO, "not finished after %d steps: call again", ROUNDS_MAX);
    if (!idle || rounds->idle <= AT_ONCE)
        return TKL_OK;
    int64_t allowed = timeout_ms > 0 ? timeout_ms : client->target.timeout_ms;
    if (tkl__now() - rounds->since >= allowed * 1000)
        return tkl__fail(TKL_EPROTO, "the server answers again and again that there is more, and "
                                     "gives nothing");
    return pause_for(rounds, client, PAUSE_MAX_US, TKL__FOREVER);
}

int tkl__pause_round(tkl__rounds *rounds, tkl_client *client, int64_t deadline, bool gained)
{
    return is_idle(rounds, gained) ? pause_for(rounds, client, WAIT_PAUSE_MAX_US, deadline)
                                   : TKL_OK;
}

/* Moves the mark whenever the number of steps has doubled, so that a circle of any length is found
 * (Brent's algorithm). */
int tkl__circle_next(tkl__circle *circle, tkl_bytes cursor)
{
    if (cursor.len == 0 || cursor.len >= sizeof circle->mark || memchr(cursor.data, 0, cursor.len))
        return tkl__fail(TKL_EPROTO, "a cursor of %zu bytes", cursor.len);
    if (circle->marked > 0 && strlen(circle->mark) == cursor.len &&
        memcmp(circle->mark, cursor.data, cursor.len) == 0)
        return tkl__fail(TKL_EPROTO, "the server goes in a circle: cursor %s twice", circle->mark);
    if (++circle->steps >= 2 * circle->marked) {
        circle->marked = circle->steps;
        memcpy(circle->mark, cursor.data, cursor.len);
        circle->mark[cursor.len] = '\0';
    }
    return TKL_OK;
}
