/* SPDX-License-Identifier: MIT
 *
 * Helpers of all components: arguments, keys, numbers, checks of options, texts of calls.
 */
#include <math.h>

#include <tackle/tackle.h>

#include "core/args.h"
#include "core/error.h"
#include "core/keys.h"
#include "core/number.h"
#include "core/options.h"
#include "core/script.h"
#include "support/fixture.h"
#include "support/library.h"
#include "support/locale.h"

static void arguments_stay_where_they_are(void **state)
{
    (void)state;
    tkl__args args;
    tkl__args_init(&args);
    for (int i = 0; i < 1000; i++) {
        tkl__args_int(&args, i * INT64_C(1000000007));
        tkl__args_str(&args, "text");
        tkl__args_double(&args, i / 8.0);
    }
    assert_false(args.failed);
    assert_int_equal(args.count, 3000);
    assert_string_equal(args.items[3 * 999].data, "999000006993");
    assert_string_equal(args.items[3 * 999 + 2].data, "124.875");
    assert_string_equal(args.items[3].data, "1000000007");
    tkl__args_free(&args);
}

static void keys_are_those_of_the_name(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"", "line"};
    tkl__keys keys;
    assert_ok(tkl__keys_make(f->client, "mail", tkl_str("a{b}%"), parts, 2, &keys));
    assert_string_equal(keys.items[0].data, "tackle:mail:{a%7Bb%7D%25}");
    assert_string_equal(keys.items[1].data, "tackle:mail:{a%7Bb%7D%25}:line");
    tkl__keys_free(&keys);
    assert_code(tkl__keys_make(f->client, "mail", tkl_str(""), parts, 2, &keys), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "needs a name");
}

static void numbers_are_the_same_in_every_locale(void **state)
{
    (void)state;
    static const double values[] = {0, -0.5, 0.1, 1e300, 5e-324, 123456789.25, -1e-7, INFINITY};
    for (int comma = 0; comma < 2; comma++) {
        if (comma)
            locale_with_a_comma();
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            char text[TKL__DOUBLE_SIZE];
            double back;
            assert_null(strchr(tkl__double_text(values[i], text), ','));
            assert_true(tkl__double_parse(tkl_str(text), &back));
            assert_true(back == values[i]);
        }
        double none;
        assert_false(tkl__double_parse(tkl_str(""), &none));
        assert_false(tkl__double_parse(tkl_str("1,5"), &none));
        assert_false(tkl__double_parse(tkl_str("1.5 "), &none));
        assert_false(tkl__double_parse(tkl_str(" 1.5"), &none));
    }
    locale_plain();
}

static void options_are_checked(void **state)
{
    (void)state;
    struct {
        int64_t timeout_ms;
        TKL_RESERVED(8);
    } options = {0}, *given = &options, *none = NULL;
    assert_ok(TKL__CHECK_RESERVED(given));
    assert_ok(TKL__CHECK_RESERVED(none));
    options.reserved[7] = 1;
    assert_code(TKL__CHECK_RESERVED(given), TKL_EINVAL);
    assert_ok(tkl__check_number("timeout_ms", 0, 0, 10));
    assert_code(tkl__check_number("timeout_ms", -1, 0, 10), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "timeout_ms is -1");
}

static void a_text_is_about_the_last_call(void **state)
{
    fixture *f = *state;
    assert_code(tkl_callz(f->client, NULL, "NOSUCHCOMMAND", NULL), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "unknown command");
    assert_ok(tkl_callz(f->client, NULL, "PING", NULL));
    assert_string_equal(tkl_errmsg(), "");
    assert_code(tkl__no(TKL_BUSY), TKL_BUSY);
    assert_string_equal(tkl_errmsg(), tkl_strerror(TKL_BUSY));
}

static void the_line_of_an_error_is_that_of_the_file(void **state)
{
    fixture *f = *state;
    static const char source[] =
        LIBRARY_HEAD("tackle_a") "local function f()\n"
                                 "return nil .. 'x'\n"
                                 "end\n" LIBRARY_FUNCTION("a_b", "", "return f()");
    static const tkl__origin origins[] = {{1, "a/lib.inc.lua", 5}, {6, "a/b.lua", 20}, {0}};
    static const tkl__library library = {"tackle_a", source, sizeof source - 1, origins};
    tkl__script script = {.name = "a/b", .function = "a_b", .library = &library};
    tkl__keys keys = {0};
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    assert_code(
        tkl__eval(f->client, &script, &keys, &args, tkl__deadline(f->client, 0), false, &reply),
        TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "a/lib.inc.lua:8: ");
    tkl__args_free(&args);
}

static void every_enum_has_names(void **state)
{
    (void)state;
    assert_string_equal(tkl_bits_op_name(TKL_BITS_NOT), "not");
    assert_string_equal(tkl_bits_verb_name(TKL_BITS_ADD), "add");
    assert_string_equal(tkl_bits_overflow_name(TKL_BITS_FAIL), "fail");
    assert_string_equal(tkl_setting_name(TKL_SETTING_OFF), "off");
    assert_string_equal(tkl_setting_name(TKL_SETTING_ON), "on");
    assert_string_equal(tkl_chat_start_name(TKL_CHAT_START_OLDEST), "oldest");
    assert_string_equal(tkl_reply_type_name(TKL_REPLY_ERROR), "error");
    assert_string_equal(tkl_geo_unit_name(TKL_GEO_FT), "ft");
    assert_string_equal(tkl_limit_algorithm_name(TKL_LIMIT_CONCURRENCY), "concurrency");
    assert_string_equal(tkl_hour_name(TKL_HOUR_BOTH), "both");
    assert_string_equal(tkl_hour_name(TKL_HOUR_SLIDING), "sliding");
    assert_string_equal(tkl_when_full_name(TKL_WHEN_FULL_DROP_OLDEST), "drop oldest");
    assert_string_equal(tkl_online_over_name(TKL_ONLINE_EVERY_DAY), "every day");
    assert_string_equal(tkl_unique_mode_name(TKL_UNIQUE_FOR_A_TIME), "for a time");
    assert_string_equal(tkl_missed_name(TKL_MISSED_SKIP), "skip");
    assert_string_equal(tkl_pick_name(TKL_PICK_WEIGHT), "weight");
    assert_string_equal(tkl_pick_name((tkl_pick)3), "unknown");
    assert_string_equal(tkl_setting_name((tkl_setting)-2), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_stay_where_they_are),
        TEST(keys_are_those_of_the_name),
        cmocka_unit_test(numbers_are_the_same_in_every_locale),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(every_enum_has_names),
        TEST(a_text_is_about_the_last_call),
        TEST(the_line_of_an_error_is_that_of_the_file),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
