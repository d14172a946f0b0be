/* SPDX-License-Identifier: MIT
 *
 * Limits as programs use them. That their arithmetic is exact shows limit_sim_test.c.
 *
 * ctest: label threads
 */
#include "support/limits.h"
#include "support/proxy.h"

static const tkl_limit_algorithm algorithms[] = {TKL_LIMIT_GCRA, TKL_LIMIT_BUCKET, TKL_LIMIT_WINDOW,
                                                 TKL_LIMIT_WINDOW_APPROX, TKL_LIMIT_CONCURRENCY};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

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

static void every_algorithm_counts_to_its_limit(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < ALGORITHMS; i++) {
        char *name = test_format("%d", i);
        tkl_limit *limit = open_plain_limit(f, name, algorithms[i], 5);
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
    for (int i = 0; i < ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", algorithms[i], 5);
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
    for (int i = 0; i < ALGORITHMS; i++) {
        tkl_limit *limit =
            open_limit(f->client, "api", (tkl_limit_rule){RULE(algorithms[i], 30, 60000)});
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
    for (int i = 0; i < ALGORITHMS * 4; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", algorithms[i / 4], 5);
        tkl_limit_answer answer;
        assert_code(tkl_limit_check(limit, tkl_str("alice"), quantities[i % 4], &answer),
                    TKL_LIMITED);
        assert_int_equal(answer.retry_after_ms, -1);
        assert_int_equal(answer.remaining, 5);
        assert_code(tkl_limit_wait(limit, tkl_str("alice"), quantities[i % 4], -1, NULL),
                    TKL_LIMITED);
        tkl_limit_close(limit);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

/* ---- Rules and names ----------------------------------------------------- */

static void senseless_rules_are_refused(void **state)
{
    fixture *f = *state;
    static const struct {
        tkl_limit_rule rule;
        const char *because;
    } cases[] = {
        {{RULE(TKL_LIMIT_GCRA, 0, 1000)}, "count"},
        {{RULE(TKL_LIMIT_GCRA, -1, 1000)}, "count"},
        {{RULE(TKL_LIMIT_GCRA, INT64_MAX, 1000)}, "count"},
        {{RULE(TKL_LIMIT_WINDOW, 100001, 1000)}, "count"},
        {{RULE(TKL_LIMIT_CONCURRENCY, 100001, 1000)}, "count"},
        {{RULE(TKL_LIMIT_GCRA, 1, 0)}, "period"},
        {{RULE(TKL_LIMIT_GCRA, 1, -5)}, "period"},
        {{RULE(TKL_LIMIT_GCRA, 1, INT64_MAX)}, "period"},
        {{RULE(TKL_LIMIT_GCRA, 1, 1000), .burst = -2}, "burst"},
        {{RULE(TKL_LIMIT_BUCKET, 1, 1000), .burst = TKL_NONE}, "burst"},
        {{RULE(TKL_LIMIT_WINDOW, 1, 1000), .burst = TKL_NONE}, "burst"},
        {{RULE(TKL_LIMIT_GCRA, 1, 1000), .reserved = {[3] = 1}}, "reserved"},
        {{RULE(TKL_LIMIT_GCRA, 1, 1000), .burst = INT64_MAX}, "burst"},
        {{RULE(TKL_LIMIT_WINDOW, 1, 1000), .burst = 1}, "burst"},
        {{RULE(TKL_LIMIT_GCRA, 1, 2592000000), .burst = 1000000}, "exactly"},
        {{RULE(TKL_LIMIT_WINDOW_APPROX, 1000000000, 2592000000)}, "exactly"},
        {{RULE(TKL_LIMIT_WINDOW_APPROX, 1, 1000), .in_order = true}, "ahead"},
        {{RULE(TKL_LIMIT_CONCURRENCY, 1, 1000), .in_order = true}, "semaphore"},
        {{RULE((tkl_limit_algorithm)9, 1, 1000)}, "algorithm"},
        {{RULE((tkl_limit_algorithm)-1, 1, 1000)}, "algorithm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_limit *limit;
        assert_code(tkl_limit_open(f->client, tkl_str("api"), &cases[i].rule, NULL, &limit),
                    TKL_EINVAL);
        assert_null(limit);
        assert_contains(tkl_errmsg(), cases[i].because);
    }
}

static void a_million_a_second_and_one_a_month_are_fine(void **state)
{
    fixture *f = *state;
    tkl_limit *fast =
        open_limit(f->client, "fast", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1000000, 1000)});
    tkl_limit *slow =
        open_limit(f->client, "slow", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1, 2592000000)});
    tkl_limit_answer answer;
    assert_ok(tkl_limit_check(fast, tkl_str("a"), 1000000, &answer));
    assert_int_equal(answer.reset_after_ms, 1000);
    assert_ok(limit_take(slow, "a", 1));
    assert_code(tkl_limit_check(slow, tkl_str("a"), 1, &answer), TKL_LIMITED);
    assert_in_range(answer.retry_after_ms, 2592000000 - LONG, 2592000000);
    tkl_limit_close(fast);
    tkl_limit_close(slow);
}

static void names_and_keys_cannot_be_confused(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *name, *key;
    } pairs[] = {{"b", "a}:b{x"}, {"b{x}:b", "a"}, {"b", "a"}, {"b%", "a"}, {"b%25", "a"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        tkl_limit *limit = open_plain_limit(f, pairs[i].name, TKL_LIMIT_GCRA, 1);
        assert_ok(limit_take(limit, pairs[i].key, 1));
        assert_code(limit_take(limit, pairs[i].key, 1), TKL_LIMITED);
        tkl_limit_close(limit);
    }
    tkl_limit *limit = open_plain_limit(f, "b", TKL_LIMIT_GCRA, 1);
    assert_code(tkl_limit_check(limit, (tkl_bytes){"", 0}, 1, NULL), TKL_EINVAL);
    assert_code(tkl_limit_check(limit, (tkl_bytes){"", TKL_NAME_MAX + 1}, 0, NULL), TKL_EINVAL);
    assert_code(limit_take(limit, "a", -1), TKL_EINVAL);
    assert_ok(tkl_limit_check(limit, (tkl_bytes){"\0\xff", 2}, 1, NULL));
    tkl_limit_close(limit);
    assert_code(tkl_limit_open(f->client, tkl_str(""),
                               &(tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1, 1)}, NULL, &limit),
                TKL_EINVAL);
}

static void another_algorithm_is_refused(void **state)
{
    fixture *f = *state;
    for (int a = 0; a < ALGORITHMS; a++) {
        char *key = test_format("%d", a);
        tkl_limit *first = open_plain_limit(f, "api", algorithms[a], 5);
        assert_ok(limit_take(first, key, 1));
        for (int b = 0; b < ALGORITHMS; b++) {
            tkl_limit *other = open_plain_limit(f, "api", algorithms[b], 5);
            int expected = a == b ? TKL_OK : TKL_ETYPE;
            assert_code(limit_take(other, key, 0), expected);
            assert_code(
                tkl_limit_refund(other, tkl_str(key), 1, "0123456789abcdef0123456789abcdef"),
                a != b ? TKL_ETYPE
                : algorithms[a] == TKL_LIMIT_WINDOW || algorithms[a] == TKL_LIMIT_CONCURRENCY
                    ? TKL_NOTFOUND
                    : TKL_OK);
            if (a != b)
                assert_contains(tkl_errmsg(), "another algorithm");
            tkl_limit_close(other);
            assert_code(limit_take(first, key, a == b ? 1 : 0), TKL_OK);
        }
        tkl_limit_close(first);
        free(key);
    }
}

/* ---- Keys end ------------------------------------------------------------ */

static void keys_expire_as_soon_as_they_are_of_no_use(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < ALGORITHMS; i++) {
        tkl_limit *limit =
            open_limit(f->client, "api", (tkl_limit_rule){RULE(algorithms[i], 10, 400)});
        tkl_limit_answer answer;
        assert_ok(tkl_limit_check(limit, tkl_str("alice"), 1, &answer));
        int64_t ttl = call_int(f->client, "PTTL", "tackle:limit:{alice}:api", NULL);
        assert_true(ttl != -1 && ttl <= answer.reset_after_ms); /* -2: gone already */
        eventually(call_int(f->client, "EXISTS", "tackle:limit:{alice}:api", NULL) == 0, LONG);
        assert_int_equal(limit_look(limit, "alice").remaining, limit_look(limit, "bob").remaining);
        tkl_limit_close(limit);
    }
}

static void reset_forgets(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", algorithms[i], 5);
        assert_ok(limit_take(limit, "alice", 5));
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        assert_code(tkl_limit_reset(limit, tkl_str("alice")), TKL_NOTFOUND);
        assert_int_equal(limit_look(limit, "alice").remaining, 5);
        tkl_limit_close(limit);
    }
}

/* ---- Giving back --------------------------------------------------------- */

static void refund_gives_back(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", algorithms[i], 5);
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
    assert_ok(tkl_limit_renew(limit, tkl_str("alice"), 3, held.ticket)); /* what is left of it */
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
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:limit:{alice}:api", NULL), 200);
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

/* ---- Rules that change --------------------------------------------------- */

static void changed_rule_keeps_what_was_used(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < ALGORITHMS; i++) {
        bool exact = algorithms[i] != TKL_LIMIT_WINDOW_APPROX;
        tkl_limit *ten = open_plain_limit(f, "api", algorithms[i], 10);
        tkl_limit_rule other = {RULE(algorithms[i], 20, 7200001)};
        tkl_limit *twenty = open_limit(f->client, "api", other);
        tkl_limit *five = open_plain_limit(f, "api", algorithms[i], 5);
        assert_ok(limit_take(ten, "alice", 8));
        assert_in_range(limit_look(twenty, "alice").remaining, 12, exact ? 12 : 20);
        assert_int_equal(limit_look(five, "alice").remaining, 0);
        assert_code(limit_take(five, "alice", 1), TKL_LIMITED);
        assert_ok(limit_take(twenty, "alice", 1));
        assert_in_range(limit_look(ten, "alice").remaining, 1, exact ? 1 : 2);
        assert_true(call_int(f->client, "PTTL", "tackle:limit:{alice}:api", NULL) > 0);
        call_int(f->client, "DEL", "tackle:limit:{alice}:api", NULL);
        tkl_limit_close(ten);
        tkl_limit_close(twenty);
        tkl_limit_close(five);
    }
}

/* What was used comes to a fraction of the new unit: it is rounded so that nothing is given away.
 * The stamps are of a time to come, so that nothing of it has passed. */
static void changed_rule_rounds_up_what_was_used(void **state)
{
    fixture *f = *state;
    static const char *const before[] = {/* 333000.33 microseconds */
                                         [TKL_LIMIT_GCRA] = "gcra 3000000 4000000000000000 999001",
                                         [TKL_LIMIT_BUCKET] =
                                             "bucket 3000000 4000000000000000 999001"};
    for (int i = TKL_LIMIT_GCRA; i <= TKL_LIMIT_BUCKET; i++) {
        tkl_limit_rule rule = {RULE((tkl_limit_algorithm)i, 1, 1000)};
        tkl_limit *limit = open_limit(f->client, "api", rule);
        assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:limit:{alice}:api", before[i], NULL));
        assert_int_equal(limit_look(limit, "alice").reset_after_ms, 334);
        tkl_limit_close(limit);
    }
}

/* One in the stretch before, of which a part is over: of one, any part of it counts as one. The
 * stretch lasts until the year 2096. */
static void changed_window_rounds_up_what_was_used(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW_APPROX, 1);
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:limit:{alice}:api",
                        "approx 4000000000000000 0 0 1", NULL));
    assert_int_equal(limit_look(limit, "alice").remaining, 0);
    assert_code(limit_take(limit, "alice", 1), TKL_LIMITED);
    tkl_limit_close(limit);
}

/* From a billion to one in ten years: more than a double holds exactly, and no harm done. */
static void wildly_changed_rules_deny(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_GCRA, TKL_LIMIT_BUCKET, TKL_LIMIT_WINDOW_APPROX};
    for (int i = 0; i < 3; i++) {
        tkl_limit_rule wide = {RULE(which[i], 1000000, 1000)};
        tkl_limit *before = open_limit(f->client, "api", wide);
        tkl_limit *after =
            open_limit(f->client, "api", (tkl_limit_rule){RULE(which[i], 1, 315360000000)});
        tkl_limit_answer answer;
        assert_ok(limit_take(before, "alice", 1000000));
        assert_code(tkl_limit_check(after, tkl_str("alice"), 1, &answer), TKL_LIMITED);
        assert_true(answer.retry_after_ms > 0);
        assert_int_equal(answer.remaining, 0);
        call_int(f->client, "DEL", "tackle:limit:{alice}:api", NULL);
        tkl_limit_close(before);
        tkl_limit_close(after);
    }
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
    tkl_limit *limits[ALGORITHMS];
    tkl_limit_item items[ALGORITHMS];
    tkl_limit_answer answers[ALGORITHMS];
    for (int i = 0; i < ALGORITHMS; i++) {
        char *name = test_format("%d", i);
        limits[i] = open_plain_limit(f, name, algorithms[i], 3 + i);
        items[i] = (tkl_limit_item)ITEM(limits[i], tkl_str("alice"), 1);
        free(name);
    }
    for (int n = 1; n <= 3; n++) {
        assert_ok(tkl_limit_check_all(items, ALGORITHMS, answers));
        for (int i = 0; i < ALGORITHMS; i++)
            assert_int_equal(answers[i].remaining, 3 + i - n);
    }
    assert_code(tkl_limit_check_all(items, ALGORITHMS, answers), TKL_LIMITED);
    for (int i = 0; i < ALGORITHMS; i++) {
        assert_int_equal(answers[i].allowed, i > 0);
        assert_int_equal(answers[i].remaining, i);
        assert_string_equal(answers[i].ticket, "");
        assert_int_equal(limit_look(limits[i], "alice").remaining, i);
    }
    items[0] = (tkl_limit_item)ITEM(limits[0], tkl_str("bob"), 100); /* never */
    assert_code(tkl_limit_check_all(items, ALGORITHMS, answers), TKL_LIMITED);
    assert_int_equal(answers[0].retry_after_ms, -1);
    assert_int_equal(limit_look(limits[1], "alice").remaining, 1);
    for (int i = 0; i < ALGORITHMS; i++)
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

/* ---- Keys that other programs wrote --------------------------------------- */

/* A command and what stands behind the key: one or two words. */
static const char *const garbage[][3] = {
    {"SET", "hello"},
    {"SET", "gcra"},
    {"SET", "gcra 0 1 1 0 0 0"},
    {"SET", "gcra 1 1"},
    {"SET", "gcra 3600000000 99999999999999999999 1"},
    {"SET", "gcra 3600000000 1 99999999999999999999"},
    {"SET", "gcra 3600000000 99999999999999999999 1 0 0 0"},
    {"SET", "gcra 3600000000 1 9007199254740993000 0 0 0"},
    {"SET", "gcra 3600000000 1 1 0 9007199254740992000 0"},
    {"SET",
     "gcra 3600000000 1 9007199254740992 9007199254740992 9007199254740992 9007199254740992"},
    {"SET", "gcra -1 1 1 0 0 0"},
    {"SET", "bucket 1e300 inf nan 0 0 0"},
    {"SET", "approx 0 1 1 1"},
    {"SET", "approx 3600000000 1 1"},
    {"SET", "approx 3600000000 9007199254740992 9007199254740992 9007199254740992"},
    {"SET", "approx 3600000000 1 9223372036854775807 9223372036854775807"},
    {"SET", "a3600000000 1 1 1"},
    {"ZADD", "1", "hello"},
    {"ZADD", "inf", "window:x:1"},
    {"ZADD", "1e300", "concurrency:x:1"},
    {"ZADD", "-inf", "window:x:1"},
    {"SADD", "x"},
    {"HSET", "x", "y"},
    {"RPUSH", "x"},
};

/* Every verb ends with an error or a sensible answer, and never with more than the limit. */
static void try_everything(fixture *f, tkl_limit_algorithm algorithm)
{
    static const char ticket[] = "0123456789abcdef0123456789abcdef";
    tkl_limit *limit = open_plain_limit(f, "api", algorithm, 5);
    tkl_limit_answer answer;
    int rc = tkl_limit_check(limit, tkl_str("alice"), 1, &answer);
    assert_true(rc == TKL_LIMITED || rc == TKL_ETYPE || rc == TKL_EDAMAGED || rc == TKL_OK);
    assert_in_range(answer.remaining, 0, 5);
    if (rc < 0) {
        char *before = server_ask(f->server, "TYPE tackle:limit:{alice}:api");
        assert_code(
            tkl_limit_check_all(&(tkl_limit_item)ITEM(limit, tkl_str("alice"), 1), 1, &answer), rc);
        assert_code(tkl_limit_wait(limit, tkl_str("alice"), 1, 0, &answer), rc);
        assert_true(tkl_limit_refund(limit, tkl_str("alice"), 1, ticket) < 0);
        char *after = server_ask(f->server, "TYPE tackle:limit:{alice}:api");
        assert_string_equal(before, after);
        free(before);
        free(after);
    }
    if (algorithm == TKL_LIMIT_GCRA) {
        tkl_limit_slice *slice;
        assert_ok(tkl_limit_slice_open(limit, tkl_str("alice"), NULL, &slice));
        rc = tkl_limit_slice_check(slice, 1, &answer);
        assert_in_range(answer.remaining, 0, 5);
        tkl_limit_slice_close(slice);
    }
    assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
    assert_ok(limit_take(limit, "alice", 1));
    tkl_limit_close(limit);
}

static void garbage_in_a_key_is_told(void **state)
{
    fixture *f = *state;
    for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++)
        for (int i = 0; i < ALGORITHMS; i++) {
            assert_ok(tkl_callz(f->client, NULL, garbage[g][0], "tackle:limit:{alice}:api",
                                garbage[g][1], garbage[g][2], NULL));
            try_everything(f, algorithms[i]);
            server_do(f->server, "FLUSHALL");
        }
}

static void server_without_memory_refuses(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", algorithms[i], 5);
        assert_ok(limit_take(limit, "alice", 2));
        server_do(f->server, "CONFIG SET maxmemory 1");
        assert_code(limit_take(limit, "alice", 1), TKL_EOOM);
        assert_code(limit_take(limit, "bob", 1), TKL_EOOM);
        server_do(f->server, "CONFIG SET maxmemory 0");
        assert_int_equal(limit_look(limit, "alice").remaining, 3);
        assert_int_equal(limit_look(limit, "bob").remaining, 5);
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        tkl_limit_close(limit);
    }
}

/* A hundred thousand entries that ended together are not removed in one step. */
static void many_ended_entries_are_removed_in_steps(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 100000);
    server_do(f->server, "EVAL %s 1 tackle:limit:{alice}:api",
              "for i = 1, 20 do local words = {} for j = 1, 1000 do "
              "words[#words + 1] = i words[#words + 1] = 'window:' .. i .. ':' .. j end "
              "redis.call('ZADD', KEYS[1], unpack(words)) end");
    for (int i = 1; i <= 3; i++) {
        tkl_limit_answer answer;
        assert_ok(tkl_limit_check(limit, tkl_str("alice"), 1, &answer));
        assert_int_equal(answer.remaining, 100000 - i);
        assert_int_equal(call_int(f->client, "ZCARD", "tackle:limit:{alice}:api", NULL),
                         20000 - 2000 * i + i);
    }
    tkl_limit *small = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 3);
    tkl_limit_answer answer;
    assert_code(tkl_limit_check(small, tkl_str("alice"), 1, &answer), TKL_LIMITED);
    assert_in_range(answer.retry_after_ms, 3600000 - LONG, 3600000);
    tkl_limit_close(small);
    tkl_limit_close(limit);
}

/* ---- Trouble ------------------------------------------------------------- */

/* The server has done it, but its word does not arrive. */
static void shorter_period_ends_no_earlier_entry(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_WINDOW, TKL_LIMIT_CONCURRENCY};
    for (int i = 0; i < 2; i++) {
        tkl_limit *hourly = open_plain_limit(f, "api", which[i], 10);
        tkl_limit *quick = open_limit(f->client, "api", (tkl_limit_rule){RULE(which[i], 10, 50)});
        assert_ok(limit_take(hourly, "alice", 5));
        assert_ok(limit_take(quick, "alice", 1));
        assert_true(call_int(f->client, "PTTL", "tackle:limit:{alice}:api", NULL) > 60000);
        eventually(limit_look(hourly, "alice").remaining == 5, LONG);
        assert_ok(tkl_limit_reset(hourly, tkl_str("alice")));
        tkl_limit_close(hourly);
        tkl_limit_close(quick);
    }
}

static void count_of_a_stretch_lives_through_the_next_one(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW_APPROX, 10);
    assert_ok(limit_take(limit, "alice", 1));
    assert_int_equal(
        server_ask_int(
            f->server, "EVAL %s 1 tackle:limit:{alice}:api",
            "local index = string.match(redis.call('GET', KEYS[1]), '^approx %d+ (%d+) ') "
            "return redis.call('PEXPIRETIME', KEYS[1]) - (index + 2) * 3600000 >= 0 and 1 or 0"),
        1);
    tkl_limit_close(limit);
}

/* What was counted before this stretch began is given back as well. */
static void refund_reaches_back_into_the_last_stretch(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW_APPROX, 10);
    server_do(f->server, "EVAL %s 1 tackle:limit:{alice}:api",
              "redis.call('SET', KEYS[1], string.format('approx 3600000000 %d 1 4', "
              "math.floor(redis.call('TIME')[1] / 3600)))");
    assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 3, NULL));
    char *kept = call_text(f->client, "GET", "tackle:limit:{alice}:api", NULL);
    assert_string_equal(strrchr(kept, ' ') - 2, " 0 2");
    free(kept);
    tkl_limit_close(limit);
}

static void lost_answers_are_recognised_by_their_ticket(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_WINDOW, TKL_LIMIT_CONCURRENCY, TKL_LIMIT_GCRA};
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    for (int i = 0; i < 3; i++) {
        tkl_limit *limit = open_limit(client, "api", plain_limit(which[i], 1));
        tkl_limit_answer answer;
        assert_ok(limit_take(limit, "bob", 1)); /* the server knows the script from now on */
        proxy_cut_after(p, TO_CLIENT, 0);
        bool ticket = which[i] != TKL_LIMIT_GCRA;
        assert_code(tkl_limit_check(limit, tkl_str("alice"), 1, &answer),
                    ticket ? TKL_OK : TKL_EUNKNOWN);
        assert_int_equal(answer.allowed, ticket);
        assert_int_equal(limit_look(limit, "alice").remaining, 0);
        if (ticket)
            assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 1, answer.ticket));
        tkl_limit_close(limit);
        server_do(f->server, "FLUSHALL");
    }
    tkl_close(client);
    proxy_end(p);
}

static void server_that_is_gone_is_told(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 1000});
    tkl_limit *limit =
        open_limit(client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_BUCKET, 100, 3600000)});
    tkl_limit_slice *slice = open_slice(limit);
    tkl_limit_answer answer;
    assert_ok(limit_take(limit, "alice", 1));
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    server_kill(s);
    assert_true(tkl_limit_check(limit, tkl_str("alice"), 1, &answer) < 0);
    assert_false(answer.allowed);
    assert_true(tkl_limit_wait(limit, tkl_str("alice"), 1, 1000, NULL) < 0);
    assert_true(tkl_limit_check_each(&(tkl_limit_item)ITEM(limit, tkl_str("a"), 1), 1, &answer) <
                0);
    assert_true(tkl_limit_check_all(&(tkl_limit_item)ITEM(limit, tkl_str("a"), 1), 1, &answer) < 0);
    assert_true(tkl_limit_refund(limit, tkl_str("alice"), 1, NULL) < 0);
    assert_true(tkl_limit_reset(limit, tkl_str("alice")) < 0);
    test_sleep_ms(1000);
    assert_true(tkl_limit_slice_check(slice, 1, &answer) < 0);
    assert_false(answer.allowed);
    server_restart(s);
    eventually(limit_take(limit, "alice", 1) == TKL_OK, LONG);
    eventually(tkl_limit_slice_check(slice, 1, NULL) == TKL_OK, LONG);
    tkl_limit_slice_close(slice);
    tkl_limit_slice_close(NULL);
    tkl_limit_close(limit);
    tkl_limit_close(NULL);
    tkl_close(client);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fresh_key_answers_as_redis_cell),
        TEST(denial_tells_when_and_changes_nothing),
        TEST(every_algorithm_counts_to_its_limit),
        TEST(quantity_0_only_looks),
        TEST(rate_without_a_burst_allows_its_count_at_once),
        TEST(more_than_the_limit_never_fits),
        TEST(senseless_rules_are_refused),
        TEST(a_million_a_second_and_one_a_month_are_fine),
        TEST(names_and_keys_cannot_be_confused),
        TEST(another_algorithm_is_refused),
        TEST(keys_expire_as_soon_as_they_are_of_no_use),
        TEST(reset_forgets),
        TEST(refund_gives_back),
        TEST(ticket_is_given_back_in_parts),
        TEST(renewal_reaches_all_slots_that_are_left),
        TEST(renewed_slot_lives_on),
        TEST(slot_that_has_ended_is_not_renewed),
        TEST(members_of_the_same_moment_do_not_collide),
        TEST(window_takes_a_thousand_at_once_at_most),
        TEST(changed_rule_keeps_what_was_used),
        TEST(changed_rule_rounds_up_what_was_used),
        TEST(changed_window_rounds_up_what_was_used),
        TEST(wildly_changed_rules_deny),
        TEST(batch_is_one_trip_and_each_stands_alone),
        TEST(several_limits_as_one_are_all_or_none),
        TEST(senseless_bundles_are_refused),
        TEST(shorter_period_ends_no_earlier_entry),
        TEST(count_of_a_stretch_lives_through_the_next_one),
        TEST(refund_reaches_back_into_the_last_stretch),
        TEST(garbage_in_a_key_is_told),
        TEST(server_without_memory_refuses),
        TEST(many_ended_entries_are_removed_in_steps),
        TEST(lost_answers_are_recognised_by_their_ticket),
        TEST(server_that_is_gone_is_told),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
