/* SPDX-License-Identifier: MIT */
#include "support/loops.h"

#include <poll.h>

tkl_loop *loop_open(tkl_client *client, int threads)
{
    tkl_loop *loop;
    tkl_loop_options options = {.timeout_ms = LOOP_MS, .threads = threads};
    assert_ok(tkl_loop_open(client, &options, &loop));
    return loop;
}

static int run_ticket(void *arg)
{
    ticket *t = arg;
    return t->run(t->arg);
}

static void note_end(void *arg, int code, const char *text)
{
    ticket *t = arg;
    assert_string_equal(text, tkl_errmsg());
    t->ended++;
    t->code = code;
    free(t->text);
    t->text = strdup(text);
}

void ticket_submit(tkl_loop *loop, ticket *t, int (*run)(void *arg), void *arg)
{
    *t = (ticket){.run = run, .arg = arg};
    assert_ok(tkl_loop_submit(loop, run_ticket, note_end, t, &t->id));
}

void loop_turn(tkl_loop *loop, int ms)
{
    struct pollfd file = {tkl_loop_fd(loop), POLLIN, 0};
    int own = tkl_loop_timeout_ms(loop);
    poll(&file, 1, own >= 0 && own < ms ? own : ms);
    assert_ok(tkl_loop_dispatch(loop));
}

int ticket_await(tkl_loop *loop, ticket *t)
{
    tickets_await(loop, t, 1);
    return t->code;
}

void tickets_await(tkl_loop *loop, ticket *tickets, size_t count)
{
    int64_t until = test_now_ms() + LOOP_MS;
    for (size_t i = 0; i < count; i++)
        while (tickets[i].ended == 0) {
            if (test_now_ms() > until)
                fail_msg("operation %zu of %zu has not ended", i, count);
            loop_turn(loop, 100);
        }
}

void ticket_free(ticket *t)
{
    free(t->text);
    t->text = NULL;
}

int loop_run(tkl_loop *loop, int (*run)(void *arg), void *arg)
{
    ticket t;
    ticket_submit(loop, &t, run, arg);
    int code = ticket_await(loop, &t);
    ticket_free(&t);
    return code;
}

tkl_loop_stats loop_stats(tkl_loop *loop)
{
    tkl_loop_stats stats;
    assert_ok(tkl_loop_stats_get(loop, &stats));
    return stats;
}
