/* SPDX-License-Identifier: MIT
 *
 * Limits on a cluster: all limits of a key share a slot, and batches go to every server.
 */
#include "support/clustered.h"
#include "support/limits.h"

static tkl_limit *open_here(clustered *f, const char *name, tkl_limit_algorithm algorithm)
{
    tkl_limit *limit;
    tkl_limit_rule rule = {.algorithm = algorithm, .count = 2, .period_ms = 3600000};
    assert_ok(tkl_limit_open(f->client, tkl_str(name), &rule, NULL, &limit));
    return limit;
}

static void limits_of_a_key_are_checked_as_one(void **state)
{
    clustered *f = *state;
    tkl_limit *bucket = open_here(f, "bucket", TKL_LIMIT_BUCKET),
              *window = open_here(f, "window", TKL_LIMIT_WINDOW);
    tkl_limit_answer answers[2];
    for (int i = 0; i < 10; i++) {
        char *key = test_format("user %d", i);
        const tkl_limit_item items[] = {ITEM(bucket, tkl_str(key), 1),
                                        ITEM(window, tkl_str(key), 2)};
        assert_ok(tkl_limit_check_all(items, 2, answers));
        assert_code(tkl_limit_check_all(items, 2, answers), TKL_LIMITED);
        assert_int_equal(answers[0].remaining, 1);
        free(key);
    }
    tkl_limit_close(bucket);
    tkl_limit_close(window);
}

static void limits_of_different_keys_are_not(void **state)
{
    clustered *f = *state;
    tkl_limit *limit = open_here(f, "api", TKL_LIMIT_BUCKET);
    const tkl_limit_item items[] = {ITEM(limit, tkl_str("alice"), 1),
                                    ITEM(limit, tkl_str("bob"), 1)};
    tkl_limit_answer answers[2];
    assert_code(tkl_limit_check_all(items, 2, answers), TKL_ECROSSSLOT);
    assert_contains(tkl_errmsg(), "same key");
    assert_ok(tkl_limit_check(limit, tkl_str("alice"), 2, NULL));
    tkl_limit_close(limit);
}

static void batches_go_everywhere(void **state)
{
    clustered *f = *state;
    enum { N = 200 };
    static tkl_limit_item items[N];
    static tkl_limit_answer answers[N];
    static char keys[N][16];
    tkl_limit *limit = open_here(f, "many", TKL_LIMIT_BUCKET);
    for (int i = 0; i < N; i++) {
        snprintf(keys[i], sizeof keys[i], "key %d", i / 4); /* two of four are allowed */
        items[i] = (tkl_limit_item)ITEM(limit, tkl_str(keys[i]), 1);
    }
    assert_ok(tkl_limit_check_each(items, N, answers));
    for (int i = 0; i < N; i++)
        assert_int_equal(answers[i].allowed, i % 4 < 2);
    tkl_limit_close(limit);
}

static void slots_and_slices_work_here_too(void **state)
{
    clustered *f = *state;
    tkl_limit *slots = open_here(f, "slots", TKL_LIMIT_CONCURRENCY),
              *hot = open_here(f, "hot", TKL_LIMIT_BUCKET);
    tkl_limit_answer answer;
    tkl_limit_slice *slice;
    for (int i = 0; i < 2; i++)
        assert_ok(tkl_limit_wait(slots, tkl_str("k"), 1, 0, &answer));
    assert_code(tkl_limit_wait(slots, tkl_str("k"), 1, 50, NULL), TKL_LIMITED);
    assert_ok(tkl_limit_refund(slots, tkl_str("k"), 1, answer.ticket));
    assert_ok(tkl_limit_wait(slots, tkl_str("k"), 1, 50, NULL));
    assert_ok(tkl_limit_slice_open(hot, tkl_str("k"), NULL, &slice));
    assert_ok(tkl_limit_slice_check(slice, 2, NULL));
    assert_code(tkl_limit_slice_check(slice, 1, NULL), TKL_LIMITED);
    tkl_limit_slice_close(slice);
    assert_ok(tkl_limit_reset(hot, tkl_str("k")));
    tkl_limit_close(slots);
    tkl_limit_close(hot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(limits_of_a_key_are_checked_as_one),
        CLUSTER_TEST(limits_of_different_keys_are_not),
        CLUSTER_TEST(batches_go_everywhere),
        CLUSTER_TEST(slots_and_slices_work_here_too),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
