/* SPDX-License-Identifier: MIT
 *
 * Limits as programs use them: answers, refunds, windows, several at once. That their arithmetic is
 * exact shows limit_sim_test.c.
 *
 * ctest: label threads
 */
#include "support/limits.h"

/* ---- Answers ------------------------------------------------------------- */

static void fresh_key_answers_as_redis_cell(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_limit(f->client, "api",
                                  (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 30, 60000), .burst = 15});
    tkl_limit_answer answer;
    assert_ok(tkl_limit_check(limit, tkl_str("alice"), 1, &answer));
    assert_true(answer.allowed);
    assert_int_equal(answer.limit, 16);
    assert_int_equal(answer.remaining, 15);
    assert_int_equal(answer.retry_after_ms, -1);
    assert_int_equal(answer.reset_after_ms, 2000);
    assert_string_equal(answer.ticket, "");
    tkl_limit_close(limit);
}

static void denial_tells_when_and_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_limit *limit =
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1, 600000), .burst = 2});
    tkl_limit_answer answer;
    assert_ok(limit_take(limit, "alice", 3));
    char *before = call_text(f->client, "GET", "tackle:limit:{alice}:api", NULL);
    assert_code(tkl_limit_check(limit, tkl_str("alice"), 2, &answer), TKL_LIMITED);
    assert_false(answer.allowed);
    assert_int_equal(answer.limit, 3);
    assert_int_equal(answer.remaining, 0);
    assert_in_range(answer.retry_after_ms, 1200000 - LONG, 1200000);
    assert_in_range(answer.reset_after_ms, 1800000 - LONG, 1800000);
    call_expect(f->client, before, "GET", "tackle:limit:{alice}:api", NULL);
    free(before);
    tkl_limit_close(limit);
}

static void a_look_takes_nothing_and_tells_whether_one_fits(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        char *name = test_format("%d", i);
        tkl_limit *limit = open_plain_limit(f, name, limit_algorithms[i], 2);
        tkl_limit_answer answer;
        assert_ok(tkl_limit_check(limit, tkl_str("alice"), 0, &answer));
        assert_true(answer.allowed);
        assert_int_equal(answer.remaining, 2);
        assert_int_equal(answer.retry_after_ms, -1);
        assert_string_equal(answer.ticket, "");
        assert_ok(limit_take(limit, "alice", 2));
        for (int again = 0; again < 2; again++) {
            assert_code(tkl_limit_check(limit, tkl_str("alice"), 0, &answer), TKL_LIMITED);
            assert_false(answer.allowed);
            assert_int_equal(answer.remaining, 0);
            assert_true(answer.retry_after_ms > 0);
            assert_string_equal(answer.ticket, "");
        }
        const tkl_limit_item items[] = {ITEM(limit, tkl_str("bob"), 1),
                                        ITEM(limit, tkl_str("alice"), 0)};
        tkl_limit_answer answers[2];
        assert_code(tkl_limit_check_all(items, 2, answers), TKL_LIMITED);
        assert_true(answers[0].allowed);
        assert_int_equal(limit_look(limit, "bob").remaining, 2);
        assert_ok(tkl_limit_check_each(items, 2, answers));
        assert_true(answers[0].allowed && !answers[1].allowed);
        tkl_limit_close(limit);
        free(name);
    }
}

static void every_algorithm_counts_to_its_limit(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        char *name = test_format("%d", i);
        tkl_limit *limit = open_plain_limit(f, name, limit_algorithms[i], 5);
        tkl_limit_answer answer;
        for (int n = 1; n <= 5; n++) {
            assert_ok(tkl_limit_check(limit, tkl_str("alice"), 1, &answer));
            assert_true(answer.allowed);
            assert_int_equal(answer.limit, 5);
            assert_int_equal(answer.remaining, 5 - n);
            assert_int_equal(answer.retry_after_ms, -1);
            assert_in_range(answer.reset_after_ms, 1, 5 * 3600000);
        }
        assert_code(tkl_limit_check(limit, tkl_str("alice"), 1, &answer), TKL_LIMITED);
        assert_in_range(answer.retry_after_ms, 1, 7200000);
        assert_ok(limit_take(limit, "bob", 5));
        tkl_limit_close(limit);
        free(name);
    }
}

static void quantity_0_only_looks(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", limit_algorithms[i], 5);
        assert_int_equal(limit_look(limit, "alice").remaining, 5);
        assert_int_equal(limit_look(limit, "alice").reset_after_ms, 0);
        tkl_limit_close(limit);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

/* 30 in 60 s: 30 at once, and then one every two seconds. */
static void rate_without_a_burst_allows_its_count_at_once(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *limit =
            open_limit(f->client, "api", (tkl_limit_rule){RULE(limit_algorithms[i], 30, 60000)});
        tkl_limit_answer answer;
        assert_int_equal(limit_look(limit, "alice").limit, 30);
        assert_ok(limit_take(limit, "alice", 30));
        assert_code(tkl_limit_check(limit, tkl_str("alice"), 1, &answer), TKL_LIMITED);
        assert_in_range(answer.retry_after_ms, 1, 120000);
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        tkl_limit_close(limit);
    }
    tkl_limit *none = open_limit(
        f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 30, 60000), .burst = TKL_NONE});
    tkl_limit_answer answer;
    assert_ok(limit_take(none, "alice", 1));
    assert_code(tkl_limit_check(none, tkl_str("alice"), 1, &answer), TKL_LIMITED);
    assert_in_range(answer.retry_after_ms, 1, 2000);
    tkl_limit_close(none);
}

static void more_than_the_limit_never_fits(void **state)
{
    fixture *f = *state;
    const int64_t quantities[] = {6, 1001, 1000000000000, INT64_MAX};
    for (int i = 0; i < LIMIT_ALGORITHMS * 4; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", limit_algorithms[i / 4], 5);
        tkl_limit_answer answer;
        assert_code(tkl_limit_check(limit, tkl_str("alice"), quantities[i % 4], &answer),
                    TKL_LIMITED);
        assert_int_equal(answer.retry_after_ms, -1);
        assert_int_equal(answer.remaining, 5);
        assert_code(tkl_limit_wait(limit, tkl_str("alice"), quantities[i % 4], -1, NULL),
                    TKL_LIMITED);
        tkl_limit_close(limit);
    }
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:limit:{alice}:api", NULL), 0);
}

/* ---- Giving back --------------------------------------------------------- */

static void refund_gives_back(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", limit_algorithms[i], 5);
        tkl_limit_answer first;
        assert_ok(tkl_limit_check(limit, tkl_str("alice"), 4, &first));
        assert_ok(limit_take(limit, "alice", 1));
        assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 2, first.ticket));
        assert_int_equal(limit_look(limit, "alice").remaining, 2);
        assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 0, first.ticket));
        assert_int_equal(limit_look(limit, "alice").remaining, 2);
        assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 1000, first.ticket));
        bool ticket = first.ticket[0];
        assert_int_equal(limit_look(limit, "alice").remaining, ticket ? 4 : 5);
        assert_code(tkl_limit_refund(limit, tkl_str("alice"), 1, first.ticket),
                    ticket ? TKL_NOTFOUND : TKL_OK);
        assert_int_equal(call_int(f->client, "EXISTS", "tackle:limit:{alice}:api", NULL), ticket);
        if (ticket)
            assert_code(tkl_limit_refund(limit, tkl_str("alice"), 1, NULL), TKL_EINVAL);
        assert_code(tkl_limit_refund(limit, tkl_str("alice"), -1, first.ticket), TKL_EINVAL);
        call_int(f->client, "DEL", "tackle:limit:{alice}:api", NULL);
        tkl_limit_close(limit);
    }
}

static void ticket_is_given_back_in_parts(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_WINDOW, TKL_LIMIT_CONCURRENCY};
    for (int i = 0; i < 2; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", which[i], 1000);
        for (int taken = 1; taken <= 1000; taken = taken < 9 ? taken + 1 : taken * 3) {
            tkl_limit_answer answer;
            assert_ok(tkl_limit_check(limit, tkl_str("alice"), taken, &answer));
            for (int back = 0, part = 1; back < taken; back += part, part = part % 7 + 1) {
                assert_ok(tkl_limit_refund(limit, tkl_str("alice"), part, answer.ticket));
                int left = back + part < taken ? taken - back - part : 0;
                assert_int_equal(limit_look(limit, "alice").remaining, 1000 - left);
            }
            assert_code(tkl_limit_refund(limit, tkl_str("alice"), 1, answer.ticket), TKL_NOTFOUND);
        }
        tkl_limit_close(limit);
    }
}

static void renewal_reaches_all_slots_that_are_left(void **state)
{
    fixture *f = *state;
    tkl_limit *hour = open_plain_limit(f, "api", TKL_LIMIT_CONCURRENCY, 10);
    tkl_limit *minute =
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_CONCURRENCY, 10, 60000)});
    tkl_limit_answer held;
    assert_ok(tkl_limit_check(minute, tkl_str("alice"), 4, &held));
    assert_ok(tkl_limit_refund(minute, tkl_str("alice"), 1, held.ticket));
    assert_ok(tkl_limit_renew(hour, tkl_str("alice"), 4, held.ticket));
    assert_int_equal(limit_look(hour, "alice").remaining, 7);
    int64_t late = server_ask_int(
        f->server, "EVAL %s 1 tackle:limit:{alice}:api",
        "return redis.call('ZCOUNT', KEYS[1], (redis.call('TIME')[1] + 120) * 1000000, '+inf')");
    assert_int_equal(late, 3);
    tkl_limit_close(minute);
    tkl_limit_close(hour);
}

static void renewed_slot_lives_on(void **state)
{
    fixture *f = *state;
    enum { HOUR = 3600000 };
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_CONCURRENCY, 5);
    tkl_limit *brief =
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_CONCURRENCY, 5, 60000)});
    tkl_limit_answer held;
    assert_ok(tkl_limit_check(brief, tkl_str("alice"), 3, &held));
    assert_in_range(limit_look(brief, "alice").reset_after_ms, 1, 60000);
    assert_ok(tkl_limit_renew(limit, tkl_str("alice"), 3, held.ticket));
    assert_in_range(limit_look(limit, "alice").reset_after_ms, 60001, HOUR);
    assert_in_range(call_int(f->client, "PTTL", "tackle:limit:{alice}:api", NULL), 60001, HOUR);
    assert_int_equal(limit_look(limit, "alice").remaining, 2);
    assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 2, held.ticket));
    assert_ok(tkl_limit_renew(limit, tkl_str("alice"), 3, held.ticket)); /* the rest of it */
    assert_int_equal(limit_look(limit, "alice").remaining, 4);
    assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 3, held.ticket));
    assert_code(tkl_limit_renew(limit, tkl_str("alice"), 3, held.ticket), TKL_NOTFOUND);
    assert_int_equal(limit_look(limit, "alice").remaining, 5);
    tkl_limit_close(brief);
    tkl_limit_close(limit);
}

static void slot_that_has_ended_is_not_renewed(void **state)
{
    fixture *f = *state;
    tkl_limit *limit =
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_CONCURRENCY, 1, 20)});
    tkl_limit_answer held;
    assert_ok(tkl_limit_check(limit, tkl_str("alice"), 1, &held));
    eventually(limit_look(limit, "alice").remaining == 1, LONG);
    assert_code(tkl_limit_renew(limit, tkl_str("alice"), 1, held.ticket), TKL_NOTFOUND);
    assert_code(tkl_limit_renew(limit, tkl_str("alice"), 1, "x"), TKL_EINVAL);
    tkl_limit *window = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 1);
    assert_code(tkl_limit_renew(window, tkl_str("alice"), 1, held.ticket), TKL_EINVAL);
    tkl_limit_close(window);
    tkl_limit_close(limit);
}

/* ---- Windows ------------------------------------------------------------- */

static void members_of_the_same_moment_do_not_collide(void **state)
{
    fixture *f = *state;
    enum { N = 300 };
    static tkl_limit_item items[N];
    static tkl_limit_answer answers[N];
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 200);
    for (int i = 0; i < N; i++)
        items[i] = (tkl_limit_item)ITEM(limit, tkl_str("alice"), 1);
    assert_ok(tkl_limit_check_each(items, N, answers));
    int allowed = 0;
    for (int i = 0; i < N; i++)
        allowed += answers[i].allowed;
    assert_int_equal(allowed, 200);
    assert_int_equal(limit_look(limit, "alice").remaining, 0);
    tkl_limit_close(limit);
}

static void window_takes_a_thousand_at_once_at_most(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 5000);
    assert_ok(limit_take(limit, "alice", 1000));
    assert_code(limit_take(limit, "alice", 1001), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "1000");
    assert_int_equal(limit_look(limit, "alice").remaining, 4000);
    tkl_limit_close(limit);
}

/* ---- Many and all -------------------------------------------------------- */

static void batch_is_one_trip_and_each_stands_alone(void **state)
{
    fixture *f = *state;
    tkl_limit *gcra = open_plain_limit(f, "g", TKL_LIMIT_GCRA, 2);
    tkl_limit *window = open_plain_limit(f, "w", TKL_LIMIT_WINDOW, 1);
    tkl_limit *mixed = open_plain_limit(f, "g", TKL_LIMIT_WINDOW, 1);
    const tkl_limit_item items[] = {
        ITEM(gcra, tkl_str("a"), 1),   ITEM(gcra, tkl_str("a"), 2), ITEM(window, tkl_str("a"), 1),
        ITEM(window, tkl_str("a"), 1), ITEM(gcra, tkl_str("b"), 2), ITEM(gcra, tkl_str("c"), 3),
    };
    tkl_limit_answer answers[6];
    assert_ok(tkl_limit_check_each(items, 6, answers));
    const bool expected[] = {true, false, true, false, true, false};
    for (int i = 0; i < 6; i++)
        assert_int_equal(answers[i].allowed, expected[i]);
    assert_int_equal(strlen(answers[2].ticket), 32);
    assert_int_equal(strlen(answers[3].ticket), 0);

    const tkl_limit_item wrong[] = {ITEM(mixed, tkl_str("a"), 1), ITEM(gcra, tkl_str("d"), 1)};
    assert_code(tkl_limit_check_each(wrong, 2, answers), TKL_ETYPE);
    assert_contains(tkl_errmsg(), "another algorithm");
    assert_false(answers[0].allowed);
    assert_true(answers[1].allowed);
    assert_ok(tkl_limit_check_each(items, 0, answers));
    tkl_limit_close(gcra);
    tkl_limit_close(window);
    tkl_limit_close(mixed);
}

static void several_limits_as_one_are_all_or_none(void **state)
{
    fixture *f = *state;
    tkl_limit *limits[LIMIT_ALGORITHMS];
    tkl_limit_item items[LIMIT_ALGORITHMS];
    tkl_limit_answer answers[LIMIT_ALGORITHMS];
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        char *name = test_format("%d", i);
        limits[i] = open_plain_limit(f, name, limit_algorithms[i], 3 + i);
        items[i] = (tkl_limit_item)ITEM(limits[i], tkl_str("alice"), 1);
        free(name);
    }
    for (int n = 1; n <= 3; n++) {
        assert_ok(tkl_limit_check_all(items, LIMIT_ALGORITHMS, answers));
        for (int i = 0; i < LIMIT_ALGORITHMS; i++)
            assert_int_equal(answers[i].remaining, 3 + i - n);
    }
    assert_code(tkl_limit_check_all(items, LIMIT_ALGORITHMS, answers), TKL_LIMITED);
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        assert_int_equal(answers[i].allowed, i > 0);
        assert_int_equal(answers[i].remaining, i);
        assert_string_equal(answers[i].ticket, "");
        assert_int_equal(limit_look(limits[i], "alice").remaining, i);
    }
    items[0] = (tkl_limit_item)ITEM(limits[0], tkl_str("bob"), 100); /* never */
    assert_code(tkl_limit_check_all(items, LIMIT_ALGORITHMS, answers), TKL_LIMITED);
    assert_int_equal(answers[0].retry_after_ms, -1);
    assert_int_equal(limit_look(limits[1], "alice").remaining, 1);
    for (int i = 0; i < LIMIT_ALGORITHMS; i++)
        tkl_limit_close(limits[i]);
}

static void senseless_bundles_are_refused(void **state)
{
    fixture *f = *state;
    static tkl_limit_item items[65];
    static tkl_limit_answer answers[65];
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 3);
    for (int i = 0; i < 65; i++)
        items[i] = (tkl_limit_item)ITEM(limit, tkl_str("alice"), 1);
    assert_code(tkl_limit_check_all(items, 0, answers), TKL_EINVAL);
    assert_code(tkl_limit_check_all(items, 65, answers), TKL_EINVAL);
    assert_code(tkl_limit_check_all(items, 2, answers), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "twice");
    tkl_client *other = test_open(f->server->url, NULL);
    items[1].limit = open_limit(other, "other", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1, 1)});
    assert_code(tkl_limit_check_all(items, 2, answers), TKL_EINVAL);
    assert_code(tkl_limit_check_each(items, 2, answers), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "clients");
    tkl_limit_close(items[1].limit);
    tkl_close(other);
    tkl_limit_close(limit);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fresh_key_answers_as_redis_cell),
        TEST(denial_tells_when_and_changes_nothing),
        TEST(a_look_takes_nothing_and_tells_whether_one_fits),
        TEST(every_algorithm_counts_to_its_limit),
        TEST(quantity_0_only_looks),
        TEST(rate_without_a_burst_allows_its_count_at_once),
        TEST(more_than_the_limit_never_fits),
        TEST(refund_gives_back),
        TEST(ticket_is_given_back_in_parts),
        TEST(renewal_reaches_all_slots_that_are_left),
        TEST(renewed_slot_lives_on),
        TEST(slot_that_has_ended_is_not_renewed),
        TEST(members_of_the_same_moment_do_not_collide),
        TEST(window_takes_a_thousand_at_once_at_most),
        TEST(batch_is_one_trip_and_each_stands_alone),
        TEST(several_limits_as_one_are_all_or_none),
        TEST(senseless_bundles_are_refused),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
