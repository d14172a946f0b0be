/* SPDX-License-Identifier: MIT
 *
 * Rules of limits: which are refused, what happens when they change, when keys end.
 *
 * ctest: label threads
 */
#include "support/limits.h"

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
    for (int a = 0; a < LIMIT_ALGORITHMS; a++) {
        char *key = test_format("%d", a);
        tkl_limit *first = open_plain_limit(f, "api", limit_algorithms[a], 5);
        assert_ok(limit_take(first, key, 1));
        for (int b = 0; b < LIMIT_ALGORITHMS; b++) {
            tkl_limit *other = open_plain_limit(f, "api", limit_algorithms[b], 5);
            int expected = a == b ? TKL_OK : TKL_ETYPE;
            assert_code(limit_take(other, key, 0), expected);
            assert_code(
                tkl_limit_refund(other, tkl_str(key), 1, "0123456789abcdef0123456789abcdef"),
                a != b ? TKL_ETYPE
                : limit_algorithms[a] == TKL_LIMIT_WINDOW ||
                        limit_algorithms[a] == TKL_LIMIT_CONCURRENCY
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
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *limit =
            open_limit(f->client, "api", (tkl_limit_rule){RULE(limit_algorithms[i], 10, 400)});
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
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", limit_algorithms[i], 5);
        assert_ok(limit_take(limit, "alice", 5));
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        assert_code(tkl_limit_reset(limit, tkl_str("alice")), TKL_NOTFOUND);
        assert_int_equal(limit_look(limit, "alice").remaining, 5);
        tkl_limit_close(limit);
    }
}

/* ---- Rules that change --------------------------------------------------- */

static void changed_rule_keeps_what_was_used(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        bool exact = limit_algorithms[i] != TKL_LIMIT_WINDOW_APPROX;
        tkl_limit *ten = open_plain_limit(f, "api", limit_algorithms[i], 10);
        tkl_limit_rule other = {RULE(limit_algorithms[i], 20, 7200001)};
        tkl_limit *twenty = open_limit(f->client, "api", other);
        tkl_limit *five = open_plain_limit(f, "api", limit_algorithms[i], 5);
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

/* The quantity used is a fraction of the new unit: it is rounded so that nothing is given away.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(senseless_rules_are_refused),
        TEST(a_million_a_second_and_one_a_month_are_fine),
        TEST(names_and_keys_cannot_be_confused),
        TEST(another_algorithm_is_refused),
        TEST(keys_expire_as_soon_as_they_are_of_no_use),
        TEST(reset_forgets),
        TEST(changed_rule_keeps_what_was_used),
        TEST(changed_rule_rounds_up_what_was_used),
        TEST(changed_window_rounds_up_what_was_used),
        TEST(wildly_changed_rules_deny),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
