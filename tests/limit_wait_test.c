/* SPDX-License-Identifier: MIT
 *
 * Waiting for a limit: asleep until it fits, in order, woken when something is given back.
 *
 * ctest: label threads
 */
#include "support/fake.h"
#include "support/limits.h"
#include "support/proxy.h"

static const tkl_limit_algorithm algorithms[] = {TKL_LIMIT_GCRA, TKL_LIMIT_BUCKET, TKL_LIMIT_WINDOW,
                                                 TKL_LIMIT_WINDOW_APPROX};

/* A quantity that was taken may be of no use, and gone, by the time we come to it. */
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
        if (rule.in_order && algorithms[i / 2] == TKL_LIMIT_WINDOW_APPROX)
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

static void stand_for_ever(void *arg, int index)
{
    line *l = arg;
    (void)index;
    assert_ok(tkl_limit_wait(l->limit, tkl_str("alice"), 1, -1, NULL));
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Each waiter makes one round trip and gets a turn of its own. */
static void waiting_in_order_books_ahead(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_GCRA, TKL_LIMIT_BUCKET, TKL_LIMIT_WINDOW};
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
    tkl_limit *limit = open_limit(
        client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_WINDOW, 1, 500), .in_order = true});
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
    tkl_limit *limit = open_limit(
        f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1, 5000), .in_order = true});
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
    line l = {.limit = open_plain_limit(f, "api", TKL_LIMIT_CONCURRENCY, 1)};
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
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_CONCURRENCY, 1, 3000)});
    assert_ok(limit_take(limit, "alice", 1));
    assert_code(tkl_limit_wait(limit, tkl_str("alice"), 1, 10, NULL), TKL_LIMITED);
    assert_ok(tkl_limit_wait(limit, tkl_str("alice"), 1, LONG, NULL));
    tkl_limit_close(limit);
}

static void reset_wakes_who_waits_for_a_slot(void **state)
{
    fixture *f = *state;
    line l = {.limit = open_plain_limit(f, "api", TKL_LIMIT_CONCURRENCY, 1)};
    assert_ok(limit_take(l.limit, "alice", 1));
    int64_t before = server_calls(f->server, "ssubscribe");
    crew *waiter = crew_start(1, stand_in_line, &l);
    eventually(server_calls(f->server, "ssubscribe") > before, LONG);
    assert_ok(tkl_limit_reset(l.limit, tkl_str("alice")));
    crew_join(waiter);
    tkl_limit_close(l.limit);
}

/* ---- Interruption ---------------------------------------------------------- */

typedef struct patience {
    tkl_client *client;
    tkl_limit *limit;
    _Atomic int code;
} patience;

static void wait_for_ever(void *arg, int index)
{
    patience *p = arg;
    (void)index;
    p->code = tkl_limit_wait(p->limit, tkl_str("alice"), 1, -1, NULL);
}

static void interruption_ends_every_wait(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 7; i++) {
        static const tkl_limit_algorithm which[] = {
            TKL_LIMIT_GCRA,        TKL_LIMIT_BUCKET, TKL_LIMIT_WINDOW, TKL_LIMIT_WINDOW_APPROX,
            TKL_LIMIT_CONCURRENCY, TKL_LIMIT_GCRA,   TKL_LIMIT_WINDOW};
        patience p = {.client = f->client, .code = 1};
        p.limit = open_limit(f->client, "api",
                             (tkl_limit_rule){RULE(which[i], 1, 3600000), .in_order = i >= 5});
        assert_ok(limit_take(p.limit, "alice", 1));
        int64_t before = scripts_run(f);
        crew *waiter = crew_start(1, wait_for_ever, &p);
        eventually(scripts_run(f) > before, LONG);
        tkl_interrupt(f->client);
        crew_join(waiter);
        assert_code(p.code, TKL_EINTR);
        tkl_resume(f->client);
        forget(p.limit);
        tkl_limit_close(p.limit);
    }
}

/* ---- Servers that say anything --------------------------------------------- */

typedef struct speaker {
    const char *answer;
    _Atomic int asked;
} speaker;

static void say(fake_conn *c, void *arg)
{
    speaker *s = arg;
    while (fake_expect(c) != NULL) {
        s->asked++;
        if (!fake_sendz(c, s->answer))
            return;
    }
}

/* No answer makes a wait send requests without a pause, or last longer than its limit. */
static void senseless_answers_end_the_wait(void **state)
{
    static const char *const answers[] = {
        "*5\r\n:1\r\n:0\r\n:9007199254740992\r\n:0\r\n:0\r\n", /* its turn in 285 years */
        "*5\r\n:1\r\n:0\r\n:9223372036854775807\r\n:0\r\n:0\r\n",
        "*5\r\n:1\r\n:0\r\n:-1\r\n:0\r\n:0\r\n",
        "*5\r\n:0\r\n:0\r\n:0\r\n:-9223372036854775808\r\n:0\r\n",
        "*5\r\n:7\r\n:0\r\n:0\r\n:0\r\n:0\r\n",
        "*5\r\n:0\r\n:99\r\n:0\r\n:0\r\n:0\r\n",
        "*5\r\n$1\r\n1\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n",
        "*0\r\n",
        ":1\r\n",
        "$2\r\nOK\r\n",
        "*-1\r\n",
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof answers / sizeof *answers; i++) {
        speaker s = {.answer = answers[i / 2]};
        fake *hostile = fake_start(say, &s);
        tkl_client *client = test_open(fake_url(hostile), &(tkl_options){.timeout_ms = 5000});
        tkl_limit *limit = open_limit(
            client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 5, 1000), .in_order = i % 2});
        assert_code(tkl_limit_wait(limit, tkl_str("alice"), 1, 1000, NULL), TKL_EPROTO);
        tkl_limit_close(limit);
        tkl_close(client);
        fake_end(hostile);
    }
}

/* The first of two answers makes no sense, the second is a "no": the text is that of the
 * failure. */
static void a_failure_of_several_keeps_its_text(void **state)
{
    (void)state;
    speaker s = {.answer = "*10\r\n:7\r\n:0\r\n:0\r\n:0\r\n:0\r\n"
                           ":0\r\n:0\r\n:0\r\n:0\r\n:0\r\n"};
    fake *hostile = fake_start(say, &s);
    tkl_client *client = test_open(fake_url(hostile), NULL);
    tkl_limit *limit = open_limit(client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 5, 1000)});
    const tkl_limit_item items[] = {{.limit = limit, .key = tkl_str("alice"), .quantity = 1},
                                    {.limit = limit, .key = tkl_str("bob"), .quantity = 1}};
    tkl_limit_answer answers[2];
    assert_code(tkl_limit_check_all(items, 2, answers), TKL_EPROTO);
    assert_contains(tkl_errmsg(), "senseless numbers");
    tkl_limit_close(limit);
    tkl_close(client);
    fake_end(hostile);
}

/* "Not now, but at once", again and again. */
static void server_that_never_allows_is_asked_at_a_pace(void **state)
{
    (void)state;
    speaker s = {.answer = "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n"};
    fake *hostile = fake_start(say, &s);
    tkl_client *client = test_open(fake_url(hostile), NULL);
    tkl_limit *limit = open_limit(client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 5, 1000)});
    int64_t start = test_now_ms();
    assert_code(tkl_limit_wait(limit, tkl_str("alice"), 1, 100, NULL), TKL_LIMITED);
    int64_t lasted = test_now_ms() - start;
    assert_in_range(s.asked, 1, lasted + 10);
    tkl_limit_close(limit);
    tkl_close(client);
    fake_end(hostile);
}

/* The time of the next attempt came from a key that is gone by now. */
static void server_is_asked_again_however_long_it_said(void **state)
{
    fixture *f = *state;
    line l = {.limit =
                  open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1, 3600000)})};
    assert_ok(limit_take(l.limit, "alice", 1));
    int64_t before = scripts_run(f);
    crew *waiter = crew_start(1, stand_for_ever, &l);
    eventually(scripts_run(f) > before, LONG);
    server_do(f->server, "FLUSHALL");
    crew_join(waiter);
    tkl_limit_close(l.limit);
}

/* A program that would rather decide by itself than wait for a silent server. */
static void time_out_of_a_limit_is_its_own(void **state)
{
    fixture *f = *state;
    tkl_limit *limit;
    tkl_limit_rule rule = {RULE(TKL_LIMIT_GCRA, 5, 1000)};
    tkl_limit_options options = {.timeout_ms = 50};
    assert_ok(tkl_limit_open(f->client, tkl_str("api"), &rule, &options, &limit));
    eventually(limit_take(limit, "alice", 1) == TKL_OK, LONG); /* connected, loaded */
    server_freeze(f->server);
    int64_t start = test_now_ms();
    assert_code(limit_take(limit, "alice", 1), TKL_ETIMEOUT);
    assert_in_range(test_now_ms() - start, 40, 2500); /* the client's is 5 seconds */
    server_thaw(f->server);
    tkl_limit_close(limit);
    options.timeout_ms = -1;
    assert_code(tkl_limit_open(f->client, tkl_str("api"), &rule, &options, &limit), TKL_EINVAL);
    assert_null(limit);
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
        TEST(reset_wakes_who_waits_for_a_slot),
        TEST(interruption_ends_every_wait),
        TEST(senseless_answers_end_the_wait),
        TEST(a_failure_of_several_keeps_its_text),
        TEST(server_that_never_allows_is_asked_at_a_pace),
        TEST(server_is_asked_again_however_long_it_said),
        TEST(time_out_of_a_limit_is_its_own),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
