/* SPDX-License-Identifier: MIT
 *
 * Output for people and programs: escapes, widths, tables, JSON.
 */
#include "out.h"

#include <locale.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress.h"
#include "support/test.h"
#include "table.h"

static tkl_bytes bytes(const char *data, size_t len)
{
    return (tkl_bytes){data, len};
}

static void escapes_to(tkl_bytes given, bool quotes, const char *expected)
{
    char *text = cli_escape(given, quotes);
    assert_string_equal(text, expected);
    free(text);
}

static void text_is_shown_as_it_is_and_the_rest_escaped(void **state)
{
    (void)state;
    escapes_to(tkl_str("plain"), false, "plain");
    escapes_to(tkl_str("Grüße 日本 🎉"), false, "Grüße 日本 🎉");
    escapes_to(tkl_str("a\nb\tc\r\\"), false, "a\\nb\\tc\\r\\\\");
    escapes_to(tkl_str("\033[31mred"), false, "\\x1b[31mred");
    escapes_to(tkl_str("\xc2\x9b"
                       "31m"),
               false,
               "\\xc2\\x9b"
               "31m");
    escapes_to(bytes("a\0b", 3), false, "a\\x00b");
    escapes_to(bytes("a\xff\xc3", 3), false, "a\\xff\\xc3");
    escapes_to(tkl_str("\xed\xa0\x80"), false, "\\xed\\xa0\\x80");
    escapes_to(tkl_str("say \"hi\""), false, "say \"hi\"");
    escapes_to(tkl_str("say \"hi\""), true, "say \\\"hi\\\"");
    escapes_to(bytes(NULL, 0), true, "");
}

static void width_counts_columns_not_bytes(void **state)
{
    (void)state;
    assert_int_equal(cli_width(""), 0);
    assert_int_equal(cli_width("abc"), 3);
    assert_int_equal(cli_width("Grüße"), 5);
    assert_int_equal(cli_width("日本"), 4);
    assert_int_equal(cli_width("e\xcc\x81"), 1); /* e and a combining accent */
    assert_int_equal(cli_width("\xff\xff"), 2);
}

static char *printed(cli_table *table)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_true(cli_table_print(table, to));
    fclose(to);
    return text;
}

static void tables_align_left_and_right_without_trailing_spaces(void **state)
{
    (void)state;
    static const char *cells[][3] = {
        {"NAME", "COUNT", "NOTE"}, {"日本", "7", ""}, {"x", "12345678", "long note"}};
    cli_table *table = cli_table_new(3);
    cli_table_heading(table);
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < 3; i++)
            cli_table_add(table, strdup(cells[row][i]), i == 1);
    char *text = printed(table);
    assert_string_equal(text, "NAME     COUNT  NOTE\n"
                              "日本         7\n"
                              "x     12345678  long note\n");
    free(text);
}

static void bytes_become_a_string_or_base64(void **state)
{
    (void)state;
    static const struct {
        tkl_bytes given;
        const char *json;
    } cases[] = {
        {{"hello", 5}, "\"hello\""},
        {{NULL, 0}, "\"\""},
        {{"a\0b", 3}, "\"a\\u0000b\""},
        {{"Gr\xc3\xbc\xc3\x9f", 6}, "\"Gr\xc3\xbc\xc3\x9f\""},
        {{"\xff", 1}, "{\"base64\": \"/w==\"}"},
        {{"\xff\x00", 2}, "{\"base64\": \"/wA=\"}"},
        {{"\xff\x00\x10", 3}, "{\"base64\": \"/wAQ\"}"},
        {{"\xff\x00\x10\x80", 4}, "{\"base64\": \"/wAQgA==\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = cli_json_bytes(cases[i].given);
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        assert_string_equal(text, cases[i].json);
        free(text);
        json_decref(value);
    }
}

static void numbers_are_exact_for_their_kind(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        double number;
        const char *text;
    } cases[] = {
        {"spent", 123456.789012, "123456.789012"},
        {"price", 0.25, "0.25"},
        {"price", 3, "3.00"},
        {"price", 1e-6, "0.000001"},
        {"ecpm", 1234567.5, "1234567.50"},
        {"bonus", -0.125, "-0.125"},
        {"longitude", 113.2099, "113.2099000"},
        {"longitude", 113.2101, "113.2101000"},
        {"latitude", -0.1276, "-0.1276000"},
        {"distance", 256012.4567, "256012.4567"},
        {"click_rate", 1.0 / 3, "0.333333"},
        {"mean", 1234567890.4, "1234567890"},
        {"sum", 1234567.25, "1234567.25"},
        {"max", 123456789.125, "123456789.125"},
        {"weight", 0.1 + 0.2, "0.3"},
        {"error_rate", 0.001, "0.001"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = cli_real_text(cases[i].key, cases[i].number);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

/* ---- On terminals only --------------------------------------------------- */

/* Returns the text that fn() writes to a terminal. */
static char *on_a_terminal(void (*fn)(void))
{
    int terminal;
    size_t len = 0;
    char *text = calloc(1, 4096);
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    if (pid == 0) {
        fn();
        _exit(0);
    }
    for (ssize_t n = 1; n > 0 && len<4095; len += n> 0 ? (size_t)n : 0)
        n = read(terminal, text + len, 4095 - len);
    waitpid(pid, NULL, 0);
    close(terminal);
    return text;
}

static void print_in_bold(void)
{
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    printf("<%sbold%s>", cli_color(stdout, CLI_BOLD), cli_color(stdout, CLI_PLAIN));
    setenv("NO_COLOR", "1", 1);
    printf("<%sno_color%s>", cli_color(stdout, CLI_BOLD), cli_color(stdout, CLI_PLAIN));
    setenv("NO_COLOR", "", 1);
    setenv("TERM", "dumb", 1);
    printf("<%sdumb%s>", cli_color(stdout, CLI_BOLD), cli_color(stdout, CLI_PLAIN));
    fflush(stdout);
}

static void colour_needs_a_terminal_that_wants_it(void **state)
{
    (void)state;
    char *text = on_a_terminal(print_in_bold);
    assert_string_equal(text, "<\033[1mbold\033[0m><no_color><dumb>");
    free(text);
    FILE *file = tmpfile();
    assert_string_equal(cli_color(file, CLI_BOLD), "");
    fclose(file);
}

static const cli_column columns[] = {{"name", "NAME"}, {"count", "COUNT"}, {"on", "ON"}, {0}};

static json_t *some_rows(void)
{
    return json_pack("[{s:s, s:i, s:b}, {s:o, s:i, s:n}]", "name", "line\nfeed", "count", 12345,
                     "on", 1, "name", cli_json_bytes(tkl_str("\xff")), "count", 7, "on");
}

static void print_for_people(void)
{
    setenv("NO_COLOR", "1", 1);
    cli_print_rows(&(cli_session){0}, some_rows(), columns);
    cli_print_record(&(cli_session){0}, json_pack("{s:s, s:f}", "name", "x", "count", 0.5),
                     columns);
    fflush(stdout);
}

static void print_for_programs(void)
{
    cli_session session = {.json = true};
    cli_print_rows(&session, some_rows(), columns);
    cli_print_record(&session, json_pack("{s:s, s:f}", "name", "x", "count", 0.1), columns);
    fflush(stdout);
}

static void results_are_tables_for_people_and_json_for_programs(void **state)
{
    (void)state;
    char *text = on_a_terminal(print_for_people);
    assert_string_equal(text, "NAME         COUNT  ON\r\n"
                              "line\\nfeed   12345  yes\r\n"
                              "base64:/w==      7  -\r\n"
                              "NAME   x\r\n"
                              "COUNT  0.5\r\n");
    free(text);
    text = on_a_terminal(print_for_programs);
    assert_string_equal(text, "[{\"name\": \"line\\nfeed\", \"count\": 12345, \"on\": true}, "
                              "{\"name\": {\"base64\": \"/w==\"}, \"count\": 7, \"on\": null}]\r\n"
                              "{\"name\": \"x\", \"count\": 0.1}\r\n");
    free(text);
}

static void show_progress(void)
{
    cli_progress progress;
    cli_progress_start(&progress, "reading", 200);
    cli_progress_update(&progress, 50);
    cli_progress_update(&progress, 60); /* too soon to be drawn */
    cli_progress_end(&progress);
    cli_progress_start(&progress, "counting", 0);
    cli_progress_update(&progress, 12);
    cli_progress_end(&progress);
}

static void progress_draws_over_itself_and_disappears(void **state)
{
    (void)state;
    char *text = on_a_terminal(show_progress);
    assert_string_equal(text, "\r\033[Kreading [#######                       ]  25%\r\033[K"
                              "\r\033[Kcounting 12\r\033[K");
    free(text);
}

static int use_utf8(void **state)
{
    (void)state;
    return setlocale(LC_CTYPE, "C.UTF-8") != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_shown_as_it_is_and_the_rest_escaped),
        cmocka_unit_test(width_counts_columns_not_bytes),
        cmocka_unit_test(tables_align_left_and_right_without_trailing_spaces),
        cmocka_unit_test(bytes_become_a_string_or_base64),
        cmocka_unit_test(numbers_are_exact_for_their_kind),
        cmocka_unit_test(colour_needs_a_terminal_that_wants_it),
        cmocka_unit_test(results_are_tables_for_people_and_json_for_programs),
        cmocka_unit_test(progress_draws_over_itself_and_disappears),
    };
    return cmocka_run_group_tests(tests, use_utf8, NULL);
}
