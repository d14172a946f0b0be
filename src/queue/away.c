/* SPDX-License-Identifier: MIT
 *
 * A consumer with several sources leaves sources alone for a moment when their server cannot be
 * reached, so that the others need not wait. The longer it took to notice, the longer the pause.
 */
#include "core/clock.h"
#include "core/options.h"
#include "queue/consumer.h"

/* Pauses: about 50 ms at first (see tkl__backoff), then longer. */
#define FIRST_PAUSE  5
#define PAUSE_MAX_US 1000000
/* A consumer spends at most one part in this many of its time on servers that do not answer. */
#define PARTS 5

bool tkl__queue_is_away(const tkl__queue_source *source)
{
    return source->consumer->nsources > 1 && tkl__now() < source->away_until;
}

static bool any_is_reached(const tkl_consumer *c)
{
    for (size_t i = 0; i < c->nsources; i++)
        if (c->sources[i].failures == 0)
            return true;
    return false;
}

/* Shortens all pauses, since no source that answers would have to wait. */
static void shorten_all(tkl_consumer *c, int64_t until)
{
    for (size_t i = 0; i < c->nsources; i++)
        if (c->sources[i].away_until > until)
            c->sources[i].away_until = until;
}

void tkl__queue_note_reached(tkl__queue_source *source, int code, int64_t began)
{
    if (!tkl_is_transient(code)) {
        source->failures = 0;
        source->away_until = 0;
        return;
    }
    int64_t now = tkl__now(), took = now - began;
    int64_t pause = tkl__backoff(FIRST_PAUSE + source->failures++, PAUSE_MAX_US);
    bool others = any_is_reached(source->consumer);
    source->away_until = now + (others && pause < (PARTS - 1) * took ? (PARTS - 1) * took : pause);
    if (!others)
        shorten_all(source->consumer, now + PAUSE_MAX_US);
}

int64_t tkl__queue_ask_deadline(const tkl_consumer *c)
{
    int64_t end = tkl__queue_consumer_deadline(c);
    return c->nsources > 1 ? end - tkl__left(end) / 4 * 3 : end;
}

int64_t tkl__queue_consumer_deadline(const tkl_consumer *c)
{
    return tkl__deadline(c->client, c->timeout_ms);
}
