/* SPDX-License-Identifier: MIT */
#include "support/listeners.h"

int64_t ms_from_now(int64_t ms)
{
    return tkl__deadline_ms(ms);
}

void listen_to(tkl_client *client, const char *channel, const char *id, tkl__waiter *waiter)
{
    assert_ok(tkl__listen(client, tkl_str(channel), tkl_str(id), ms_from_now(20000), waiter));
}

void assert_event(tkl__event got, tkl__event expected)
{
    static const char *const names[] = {"MESSAGE", "LOOK", "CUT", "TIME_UP", "INTERRUPTED"};
    if (got != expected)
        fail_msg("expected %s, got %s", names[expected], names[got]);
}

void assert_hears(tkl__waiter *waiter, const char *expected)
{
    tkl_bytes message;
    assert_event(tkl__await(waiter, ms_from_now(20000), &message), TKL__MESSAGE);
    assert_int_equal(message.len, strlen(expected));
    assert_memory_equal(message.data, expected, message.len);
}

void assert_hears_nothing(tkl__waiter *waiter, int64_t ms)
{
    tkl_bytes message;
    assert_event(tkl__await(waiter, ms_from_now(ms), &message), TKL__TIME_UP);
}

void count_events(void *arg, int index)
{
    (void)index;
    hall *h = arg;
    tkl__waiter waiter;
    listen_to(h->client, "channel", "nobody:", &waiter);
    if (atomic_fetch_add(&h->listening, 1) == 0)
        tkl__look_at(&waiter, ms_from_now(300));
    tkl_bytes message;
    tkl__event event = tkl__await(&waiter, ms_from_now(h->patience_ms), &message);
    if (event == TKL__LOOK)
        tkl__look_at(&waiter, TKL__FOREVER);
    atomic_fetch_add(&h->looked, event == TKL__LOOK);
    atomic_fetch_add(&h->cut, event == TKL__CUT);
    tkl__unlisten(&waiter);
}
