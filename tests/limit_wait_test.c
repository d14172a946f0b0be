/* SPDX-License-Identifier: MIT
 *
 * Waiting for a limit: asleep until it fits, in order, woken when something is given back.
 *
 * ctest: label threads
 */
#include "support/limits.h"
#include "support/proxy.h"

static const tkl_limit_algorithm algorithms[] = {TKL_GCRA, TKL_BUCKET, TKL_WINDOW,
                                                 TKL_WINDOW_APPROX};

/* What was taken may be of no use, and gone, by the time we come to it. */
static void forget(tkl_limit *limit)
{
    int rc = tkl_limit_reset(limit, tkl_str("alice"));
    assert_true(rc == TKL_OK || rc == TKL_NOTFOUND);
}

static void wait_sleeps_once(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        tkl_limit *limit =
            open_limit(f->client, "api", (tkl_limit_rule){RULE(algorithms[i], 1, 200)});
        tkl_limit_answer answer;
        assert_ok(limit_take(limit, "alice", 1));
        int64_t before = scripts_run(f);
        assert_ok(tkl_limit_wait(limit, tkl_str("alice"), 1, LONG, &answer));
        assert_true(answer.allowed);
        assert_in_range(scripts_run(f) - before, 1, 2);
        forget(limit);
        tkl_limit_close(limit);
    }
}

static void wait_that_cannot_end_in_time_ends_at_once(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 8; i++) {
        tkl_limit_rule rule = {RULE(algorithms[i / 2], 1, 3600000), .in_order = i % 2};
        if (rule.in_order && algorithms[i / 2] == TKL_WINDOW_APPROX)
            continue;
        tkl_limit *limit = open_limit(f->client, "api", rule);
        tkl_limit_answer answer;
        assert_ok(limit_take(limit, "alice", 1));
        assert_code(tkl_limit_wait(limit, tkl_str("alice"), 1, 600000, &answer), TKL_LIMITED);
        assert_true(answer.retry_after_ms > 600000);
        assert_in_range(limit_look(limit, "alice").reset_after_ms, 1, 7200000);
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        tkl_limit_close(limit);
    }
}

typedef struct line {
    tkl_limit *limit;
    int64_t done_ms[8];
} line;

static void stand_in_line(void *arg, int index)
{
    line *l = arg;
    assert_ok(tkl_limit_wait(l->limit, tkl_str("alice"), 1, LONG, NULL));
    l->done_ms[index] = test_now_ms();
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Each has one trip and its own turn. */
static void waiting_in_order_books_ahead(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_GCRA, TKL_BUCKET, TKL_WINDOW};
    for (int i = 0; i < 3; i++) {
        line l = {.limit = open_limit(f->client, "api",
                                      (tkl_limit_rule){RULE(which[i], 1, 100), .in_order = true})};
        int64_t before = scripts_run(f), start = test_now_ms();
        crew_run(8, stand_in_line, &l);
        assert_in_range(scripts_run(f) - before, 8, 16); /* unknown to the server at first */
        qsort(l.done_ms, 8, sizeof *l.done_ms, by_number);
        for (int n = 0; n < 8; n++)
            assert_true(l.done_ms[n] - start >= 100 * n - 2);
        forget(l.limit);
        tkl_limit_close(l.limit);
    }
}

/* The answer was lost on its way: the same place, and so the same time. */
static void booking_that_is_repeated_keeps_its_place(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_limit *limit =
        open_limit(client, "api", (tkl_limit_rule){RULE(TKL_WINDOW, 1, 500), .in_order = true});
    tkl_limit_answer answer;
    assert_ok(tkl_limit_wait(limit, tkl_str("bob"), 1, 0, &answer)); /* the script is known now */
    int64_t start = test_now_ms();
    assert_ok(tkl_limit_wait(limit, tkl_str("alice"), 1, 0, &answer));
    proxy_cut_after(p, TO_CLIENT, 0);
    assert_ok(tkl_limit_wait(limit, tkl_str("alice"), 1, LONG, &answer));
    assert_true(test_now_ms() - start >= 500 - 2);
    tkl_limit_close(limit);
    tkl_close(client);
    proxy_end(p);
}

static void booked_places_come_before_later_checks(void **state)
{
    fixture *f = *state;
    tkl_limit *limit =
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_GCRA, 1, 5000), .in_order = true});
    assert_ok(limit_take(limit, "alice", 1));
    line l = {.limit = limit};
    crew *waiter = crew_start(1, stand_in_line, &l);
    eventually(limit_look(limit, "alice").reset_after_ms > 5000, LONG);
    assert_false(limit_look(limit, "alice").allowed);
    assert_code(limit_take(limit, "alice", 1), TKL_LIMITED);
    crew_join(waiter);
    tkl_limit_close(limit);
}

static void slot_given_back_wakes_who_waits(void **state)
{
    fixture *f = *state;
    line l = {.limit = open_plain_limit(f, "api", TKL_CONCURRENCY, 1)};
    tkl_limit_answer held;
    assert_ok(tkl_limit_check(l.limit, tkl_str("alice"), 1, &held));
    int64_t before = server_calls(f->server, "ssubscribe");
    crew *waiter = crew_start(1, stand_in_line, &l);
    eventually(server_calls(f->server, "ssubscribe") > before, LONG);
    assert_ok(tkl_limit_refund(l.limit, tkl_str("alice"), 1, held.ticket));
    crew_join(waiter);
    assert_code(limit_take(l.limit, "alice", 1), TKL_LIMITED);
    tkl_limit_close(l.limit);
}

static void slot_that_ends_is_had_by_who_waits(void **state)
{
    fixture *f = *state;
    tkl_limit *limit =
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_CONCURRENCY, 1, 3000)});
    assert_ok(limit_take(limit, "alice", 1));
    assert_code(tkl_limit_wait(limit, tkl_str("alice"), 1, 10, NULL), TKL_LIMITED);
    assert_ok(tkl_limit_wait(limit, tkl_str("alice"), 1, LONG, NULL));
    tkl_limit_close(limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(wait_sleeps_once),
        TEST(wait_that_cannot_end_in_time_ends_at_once),
        TEST(waiting_in_order_books_ahead),
        TEST(booking_that_is_repeated_keeps_its_place),
        TEST(booked_places_come_before_later_checks),
        TEST(slot_given_back_wakes_who_waits),
        TEST(slot_that_ends_is_had_by_who_waits),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
