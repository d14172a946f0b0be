/* SPDX-License-Identifier: MIT */
#include "support/one_queue.h"

one_queue one_queue_open_lease(void **state, int64_t lease_ms)
{
    one_queue d = {.f = *state};
    d.queue = open_queue(d.f->client, "q", 1);
    d.consumer = open_consumer(d.queue, lease_ms);
    return d;
}

one_queue one_queue_open(void **state)
{
    return one_queue_open_lease(state, 0);
}

void one_queue_close(one_queue *d)
{
    tkl_consumer_close(d->consumer);
    tkl_queue_close(d->queue);
}

void assert_clean(server *s)
{
    static const char *const parts[] = {"jobs",    "ready", "delayed", "active",
                                        "history", "dead",  "progress"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (server_ask_int(s, "EXISTS " KEY "%s", parts[i]) != 0)
            fail_msg("left behind: %s", parts[i]);
    }
    assert_int_equal(server_ask_int(s, "HGET " KEY "meta bytes"), 0);
}
