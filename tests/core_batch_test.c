/* SPDX-License-Identifier: MIT
 *
 * Batches: which failure counts, and what each call tells.
 */
#include "core/batch.h"
#include "core/clock.h"
#include "support/fixture.h"
#include "support/library.h"

static const char source[] = LIBRARY_HEAD("tackle_test_batch")
    LIBRARY_FUNCTION("test_say", "", "return redis.error_reply('ERR ' .. ARGV[1])")
        LIBRARY_FUNCTION("test_echo", "", "return {KEYS[1], ARGV[1]}")
            LIBRARY_FUNCTION("test_code", "", "return tonumber(ARGV[1]) or ARGV[1]");
static const tkl__origin origins[] = {{1, "test/test.lua", 1}, {0}};
static const tkl__library library = {"tackle_test_batch", source, sizeof source - 1, origins};
static const tkl__script
    say = {.name = "test/say", .function = "test_say", .library = &library, .nkeys = 1, .nargs = 1},
    echo = {.name = "test/echo",
            .function = "test_echo",
            .library = &library,
            .nkeys = 1,
            .nargs = 1},
    code = {
        .name = "test/code", .function = "test_code", .library = &library, .nkeys = 1, .nargs = 1};

static int64_t soon(void)
{
    return tkl__deadline_ms(20000);
}

static void add(tkl__batch *batch, const tkl__script *script, const char *word)
{
    tkl_bytes key = tkl_str("key"), arg = tkl_str(word);
    tkl__batch_add(
        batch,
        &(tkl__invocation){.script = script, .keys = &key, .nkeys = 1, .args = &arg, .nargs = 1});
}

static void the_first_failure_counts_with_its_own_text(void **state)
{
    fixture *f = *state;
    tkl__batch batch;
    tkl__batch_init(&batch, f->client);
    add(&batch, &echo, "fine");
    add(&batch, &say, "first");
    TKL__BATCH_WORDS(&batch, tkl_str("INCR"), tkl_str("text"));
    add(&batch, &say, "last");
    call_expect(f->client, "OK", "SET", "text", "abc", NULL);
    assert_code(tkl__batch_run(&batch, soon()), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "first");
    assert_code(tkl__batch_code(&batch, 3), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "last");
    assert_code(tkl__batch_code(&batch, 2), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "not an integer");
    assert_ok(tkl__batch_code(&batch, 0));
    assert_string_equal(tkl_reply_str(tkl_reply_at(tkl__batch_reply(&batch, 0), 1)), "fine");
    tkl__batch_free(&batch);
}

static void note(tkl_error *first, int failure, const char *text)
{
    tkl__first_note(first, failure == TKL_OK ? TKL_OK : tkl__fail(failure, "%s", text));
}

static void an_error_takes_precedence_over_a_no(void **state)
{
    (void)state;
    tkl_error first = {.code = TKL_OK};
    assert_ok(tkl__first_tell(&first));
    note(&first, TKL_OK, "");
    note(&first, TKL_NOTFOUND, "no 1");
    note(&first, TKL_FULL, "no 2");
    assert_code(tkl__first_tell(&first), TKL_NOTFOUND);
    assert_string_equal(tkl_errmsg(), "no 1");
    note(&first, TKL_EREFUSED, "error 1");
    note(&first, TKL_ETIMEOUT, "error 2");
    note(&first, TKL_NOTFOUND, "no 3");
    tkl__fail(TKL_EBUG, "of something else");
    assert_code(tkl__first_tell(&first), TKL_EREFUSED);
    assert_string_equal(tkl_errmsg(), "error 1");
}

static void a_call_that_cannot_be_made_stops_the_batch(void **state)
{
    fixture *f = *state;
    tkl__batch batch;
    tkl__batch_init(&batch, f->client);
    TKL__BATCH_WORDS(&batch, tkl_str("INCR"), tkl_str("n"));
    tkl__batch_fail(&batch, tkl__fail(TKL_EINVAL, "the second one makes no sense"));
    tkl__batch_fail(&batch, tkl__nomem());
    assert_code(tkl__batch_run(&batch, soon()), TKL_EINVAL);
    assert_null(tkl__batch_reply(&batch, 0));
    tkl__begin();
    assert_code(tkl__batch_code(&batch, 0), TKL_EINVAL);
    assert_string_equal(tkl_errmsg(), "the second one makes no sense");
    assert_int_equal(call_int(f->client, "EXISTS", "n", NULL), 0);
    tkl__batch_clear(&batch);
    TKL__BATCH_WORDS(&batch, tkl_str("INCR"), tkl_str("n"));
    assert_ok(tkl__batch_run(&batch, soon()));
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 1);
    tkl__batch_free(&batch);
}

static void keys_and_arguments_are_copied(void **state)
{
    enum { CALLS = 50 };
    fixture *f = *state;
    char word[24];
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, f->client);
    for (int i = 0; i < CALLS; i++) {
        snprintf(word, sizeof word, "word %d", i);
        add(&batch, &echo, word);
    }
    assert_ok(tkl__batch_end(&batch, soon(), &replies));
    assert_int_equal(tkl_reply_count(replies), CALLS);
    for (int i = 0; i < CALLS; i++) {
        snprintf(word, sizeof word, "word %d", i);
        assert_string_equal(tkl_reply_str(tkl_reply_at(tkl_reply_at(replies, (size_t)i), 1)), word);
    }
    tkl_reply_free(replies);
}

static void a_batch_can_be_run_again(void **state)
{
    fixture *f = *state;
    tkl__batch batch;
    tkl__batch_init(&batch, f->client);
    TKL__BATCH_WORDS(&batch, tkl_str("INCR"), tkl_str("n"));
    for (int i = 1; i <= 3; i++) {
        assert_ok(tkl__batch_run(&batch, soon()));
        assert_int_equal(tkl_reply_int(tkl__batch_reply(&batch, 0)), i);
    }
    tkl__batch_free(&batch);
}

static void an_empty_batch_is_done(void **state)
{
    fixture *f = *state;
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, f->client);
    assert_ok(tkl__batch_run_in_order(&batch, NULL, 0, soon()));
    assert_ok(tkl__batch_end(&batch, soon(), &replies));
    assert_null(replies);
}

static void a_failed_batch_hands_out_no_replies(void **state)
{
    fixture *f = *state;
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, f->client);
    add(&batch, &echo, "fine");
    add(&batch, &say, "wrong");
    assert_code(tkl__batch_end(&batch, soon(), &replies), TKL_EREFUSED);
    assert_null(replies);
}

static void a_sum_ends_at_a_text(void **state)
{
    fixture *f = *state;
    const tkl_reply *other;
    int64_t sum = 0;
    tkl__batch batch;
    tkl__batch_init(&batch, f->client);
    add(&batch, &code, "3");
    add(&batch, &code, "4");
    assert_ok(tkl__batch_run(&batch, soon()));
    tkl__batch_sum(&batch, &sum, &other);
    assert_int_equal(sum, 7);
    assert_null(other);
    add(&batch, &code, "stale");
    assert_ok(tkl__batch_run(&batch, soon()));
    tkl__batch_sum(&batch, &sum, &other);
    assert_string_equal(tkl_reply_str(other), "stale");
    tkl__batch_free(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_failure_counts_with_its_own_text),
        cmocka_unit_test(an_error_takes_precedence_over_a_no),
        TEST(a_call_that_cannot_be_made_stops_the_batch),
        TEST(keys_and_arguments_are_copied),
        TEST(a_batch_can_be_run_again),
        TEST(an_empty_batch_is_done),
        TEST(a_failed_batch_hands_out_no_replies),
        TEST(a_sum_ends_at_a_text),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
