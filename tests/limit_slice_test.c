/* SPDX-License-Identifier: MIT
 *
 * Slices of hot keys: a slice is spent without trips, and what is left of it goes back.
 *
 * ctest: label threads
 */
#include <signal.h>

#include "support/limits.h"
#include "support/process.h"

static void slice_is_spent_without_trips(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_BUCKET, 1000000);
    tkl_limit_slice *slice = open_slice(limit);
    tkl_limit_answer answer;
    int64_t before = scripts_run(f);
    for (int i = 0; i < 10000; i++) {
        assert_ok(tkl_limit_slice_check(slice, 1, &answer));
        assert_true(answer.allowed);
        assert_int_equal(answer.limit, 1000000);
    }
    assert_in_range(scripts_run(f) - before, 1, 1000);
    tkl_limit_slice_close(slice);
    assert_int_equal(limit_look(limit, "hot").remaining, 990000);
    tkl_limit_close(limit);
}

static void slices_end_where_the_limit_does(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 5000);
    tkl_limit_slice *slice = open_slice(limit);
    tkl_limit_answer answer;
    for (int i = 0; i < 5000; i++)
        assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    assert_code(tkl_limit_slice_check(slice, 1, &answer), TKL_LIMITED);
    assert_false(answer.allowed);
    assert_true(answer.retry_after_ms > 0);
    assert_code(tkl_limit_slice_check(slice, 5001, &answer), TKL_LIMITED);
    assert_int_equal(answer.retry_after_ms, -1);
    assert_code(tkl_limit_slice_check(slice, 0, &answer), TKL_EINVAL);
    tkl_limit_slice_close(slice);
    assert_code(limit_take(limit, "hot", 1), TKL_LIMITED);
    tkl_limit_close(limit);
}

static void denied_slice_asks_rarely(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 1);
    tkl_limit_slice *slice = open_slice(limit);
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    int64_t before = scripts_run(f);
    int64_t start = test_now_ms();
    for (int i = 0; i < 10000; i++)
        assert_code(tkl_limit_slice_check(slice, 1, NULL), TKL_LIMITED);
    assert_in_range(scripts_run(f) - before, 1, 2 + (test_now_ms() - start) / 50);
    tkl_limit_slice_close(slice);
    tkl_limit_close(limit);
}

/* At a high rate all is worked off in a moment, but what is lent out can still be spent. */
static void key_outlives_its_slices(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_limit(
        f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_BUCKET, 1000000, 1000), .burst = 100});
    int64_t outlives = -1;
    for (int i = 0; i < 100 && outlives < 0; i++) { /* a slow machine may look too late */
        tkl_limit_slice *slice = open_slice(limit);
        assert_ok(tkl_limit_slice_check(slice, 1, NULL));
        outlives = server_ask_int(
            f->server, "EVAL %s 1 tackle:limit:{hot}:api",
            "local state = redis.call('GET', KEYS[1]) or '' "
            "local epoch = string.match(state, '^bucket %d+ %d+ %d+ (%d+)') if not epoch then "
            "return -1 "
            "end "
            "return redis.call('PEXPIRETIME', KEYS[1]) >= (epoch + 2) * 500 and 1 or 0");
        tkl_limit_slice_close(slice);
    }
    assert_int_equal(outlives, 1);
    tkl_limit_close(limit);
}

/* Whether all of a slice comes back but the unit that was spent. Not when the keeper of a slow
 * machine settles too late: then the rest counts as spent. */
static bool comes_back(fixture *f, const char *name)
{
    tkl_limit *limit = open_plain_limit(f, name, TKL_LIMIT_BUCKET, 1000);
    tkl_limit_slice *slice = open_slice(limit);
    int64_t until_ms = test_now_ms() + 3000;
    bool back = false;
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    while (!back && test_now_ms() < until_ms)
        back = limit_look(limit, "hot").remaining == 999;
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    tkl_limit_slice_close(slice);
    back = back && limit_look(limit, "hot").remaining == 998;
    tkl_limit_close(limit);
    return back;
}

/* Nobody checks any more: the keeper gives the rest back, and so does closing. */
static void unused_slice_goes_back(void **state)
{
    bool back = false;
    for (int i = 0; i < 10 && !back; i++) {
        char name[16];
        snprintf(name, sizeof name, "api%d", i);
        back = comes_back(*state, name);
    }
    assert_true(back);
}

typedef struct heavy {
    fixture *f;
    _Atomic int64_t allowed;
    int64_t until_ms;
} heavy;

/* Half of them by slices of clients of their own, half by plain checks. */
static void use_heavily(void *arg, int index)
{
    heavy *h = arg;
    tkl_client *client = test_open(h->f->server->url, NULL);
    tkl_limit *limit =
        open_limit(client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 2000, 1000), .burst = 499});
    tkl_limit_slice *slice = index % 2 ? open_slice(limit) : NULL;
    while (test_now_ms() < h->until_ms || h->allowed < 500) {
        int64_t quantity = 1 + index / 2;
        int rc = slice ? tkl_limit_slice_check(slice, quantity, NULL)
                       : limit_take(limit, "hot", quantity);
        if (rc == TKL_OK)
            h->allowed += quantity;
        else
            assert_code(rc, TKL_LIMITED);
    }
    tkl_limit_slice_close(slice);
    tkl_limit_close(limit);
    tkl_close(client);
}

static void all_together_never_exceed_the_limit(void **state)
{
    fixture *f = *state;
    int64_t start = test_now_ms();
    heavy h = {.f = f, .until_ms = start + 1500};
    crew_run(4, use_heavily, &h);
    int64_t most = 500 + 2 * (test_now_ms() - start + 1);
    assert_in_range(h.allowed, 500, most);
}

static int hold_a_slice_until_killed(void *arg)
{
    server *s = arg;
    tkl_client *client;
    tkl_limit *limit;
    tkl_limit_slice *slice;
    tkl_limit_rule rule = plain_limit(TKL_LIMIT_BUCKET, 100);
    if (tkl_open(s->url, NULL, &client) != TKL_OK ||
        tkl_limit_open(client, tkl_str("api"), &rule, NULL, &limit) != TKL_OK ||
        tkl_limit_slice_open(limit, tkl_str("hot"), NULL, &slice) != TKL_OK ||
        tkl_limit_slice_check(slice, 1, NULL) != TKL_OK)
        return 1;
    raise(SIGKILL);
    return 0;
}

/* The quantity that it may have spent counts as spent, and no more is lent out than that. */
static void slice_of_a_killed_process_ends(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    assert_int_equal(process_wait(process_fork(hold_a_slice_until_killed, f->server)),
                     128 + SIGKILL);
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_BUCKET, 100);
    assert_int_equal(limit_look(limit, "hot").remaining, 50);
    test_sleep_ms(1100);
    assert_int_equal(limit_look(limit, "hot").remaining, 50);
    assert_ok(limit_take(limit, "hot", 50));
    assert_code(limit_take(limit, "hot", 1), TKL_LIMITED);
    assert_true(call_int(f->client, "PTTL", "tackle:limit:{hot}:api", NULL) > 0);
    tkl_limit_close(limit);
}

static int use_the_parents_slice(void *arg)
{
    tkl_limit_slice *slice = arg;
    int rc = tkl_limit_slice_check(slice, 1, NULL);
    tkl_limit_slice_close(slice);
    return rc == TKL_EINVAL ? 0 : 1;
}

static void child_cannot_spend_its_parents_slice(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_BUCKET, 100);
    tkl_limit_slice *slice = open_slice(limit);
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    assert_int_equal(process_wait(process_fork(use_the_parents_slice, slice)), 0);
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    tkl_limit_slice_close(slice);
    assert_int_equal(limit_look(limit, "hot").remaining, 98);
    tkl_limit_close(limit);
}

static void only_funnels_and_buckets_have_slices(void **state)
{
    fixture *f = *state;
    tkl_limit_slice *slice;
    tkl_limit *window = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 1);
    tkl_limit *bucket = open_plain_limit(f, "api", TKL_LIMIT_BUCKET, 1);
    assert_code(tkl_limit_slice_open(window, tkl_str("hot"), NULL, &slice), TKL_EINVAL);
    assert_null(slice);
    assert_code(tkl_limit_slice_open(bucket, tkl_str(""), NULL, &slice), TKL_EINVAL);
    assert_ok(limit_take(window, "hot", 1));
    slice = open_slice(bucket);
    assert_code(tkl_limit_slice_check(slice, 1, NULL), TKL_ETYPE);
    tkl_limit_slice_close(slice);
    tkl_limit_close(window);
    tkl_limit_close(bucket);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slice_is_spent_without_trips),
        TEST(slices_end_where_the_limit_does),
        TEST(denied_slice_asks_rarely),
        TEST(key_outlives_its_slices),
        TEST(unused_slice_goes_back),
        TEST(all_together_never_exceed_the_limit),
        TEST(slice_of_a_killed_process_ends),
        TEST(child_cannot_spend_its_parents_slice),
        TEST(only_funnels_and_buckets_have_slices),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
