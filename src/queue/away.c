/* SPDX-License-Identifier: MIT
 *
 * A consumer with several sources leaves sources alone for a moment when their server cannot be
 * reached, so that the others need not wait (waiting.h: "Silent servers").
 */
#include "core/clock.h"
#include "core/options.h"
#include "queue/consumer.h"

bool tkl__queue_is_away(const tkl__queue_source *source)
{
    return source->consumer->nsources > 1 && tkl__ear_rests(&source->ear);
}

/* A server that is full or refuses writes counts as unreached, too: workers run unattended, and go
 * on when it has recovered. */
void tkl__queue_note_reached(tkl__queue_source *source, int code, int64_t began)
{
    if (tkl_is_transient(code))
        tkl__ear_silent(&source->consumer->wait, &source->ear, code, began);
    else
        tkl__ear_answered(&source->ear);
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
