/* SPDX-License-Identifier: MIT
 *
 * The arguments and options that a verb gets from its command line.
 */
#include "args.h"

#include "support/test.h"

static const cli_option options[] = {
    {"ttl", CLI_DURATION, "DURATION", "how long"}, {"limit", CLI_SIZE, "SIZE", "how much"},
    {"count", CLI_INTEGER, "N", "how many"},       {"mode", CLI_CHOICE, "fast|slow", "how"},
    {"force", CLI_FLAG, NULL, "at all costs"},     {0},
};

static int never(cli_session *cli)
{
    (void)cli;
    return 0;
}

static const cli_component component = {.name = "thing"};
static const cli_verb run_verb = {
    .name = "run", .args = "NAME -- COMMAND [ARG...]", .options = options, .run = never};
static const cli_verb work_verb = {
    .name = "work", .args = "NAME... -- COMMAND [ARG...]", .options = options, .run = never};
static const cli_verb push_verb = {
    .name = "push", .args = "NAME [PAYLOAD]", .options = options, .run = never};

/* Reads and checks a command line, whose words behind "tackle thing run" are separated by
 * spaces. */
static int reads(cli_session *cli, const cli_verb *verb, const char *line)
{
    static char text[256];
    static char *argv[32];
    int argc = 1;
    *cli = (cli_session){.component = &component, .verb = verb};
    snprintf(text, sizeof text, "%s", line);
    argv[0] = "tackle";
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    int failed = cli_args_read(cli, argc, argv);
    return failed ? failed : cli_args_check(cli);
}

static void are(const cli_session *cli, const char *expected)
{
    char text[256] = "";
    for (int i = 0; i < cli->argc; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "",
                 cli->argv[i]);
    assert_string_equal(text, expected);
}

static void options_are_typed_and_the_last_one_counts(void **state)
{
    (void)state;
    cli_session cli;
    assert_int_equal(reads(&cli, &push_verb,
                           "--ttl 5s name --limit=64kb --count -3 --ttl=2m --mode slow --force"),
                     0);
    are(&cli, "name");
    assert_int_equal(cli_number(&cli, "ttl", 1), 120000);
    assert_int_equal(cli_number(&cli, "limit", 1), 65536);
    assert_int_equal(cli_number(&cli, "count", 1), -3);
    assert_string_equal(cli_text(&cli, "mode", "fast"), "slow");
    assert_true(cli_flag(&cli, "force"));
    cli_args_free(&cli);
}

static void options_that_are_not_given_have_their_default(void **state)
{
    (void)state;
    cli_session cli;
    assert_int_equal(reads(&cli, &push_verb, "name"), 0);
    assert_int_equal(cli_number(&cli, "ttl", 30000), 30000);
    assert_string_equal(cli_text(&cli, "mode", "fast"), "fast");
    assert_false(cli_flag(&cli, "force"));
    assert_false(cli.json);
    cli_args_free(&cli);
}

static void dashes_end_the_options(void **state)
{
    (void)state;
    cli_session cli;
    assert_int_equal(reads(&cli, &run_verb, "name --ttl 5s --json -- make -j2 --force -- x"), 0);
    are(&cli, "name make -j2 --force -- x");
    assert_null(cli.argv[cli.argc]);
    assert_true(cli.json);
    assert_false(cli_flag(&cli, "force"));
    cli_args_free(&cli);
}

static void arguments_are_counted(void **state)
{
    (void)state;
    static const struct {
        const cli_verb *verb;
        const char *line;
        int exit;
    } cases[] = {
        {&push_verb, "", CLI_USAGE},          {&push_verb, "name", CLI_OK},
        {&push_verb, "name payload", CLI_OK}, {&push_verb, "name payload more", CLI_USAGE},
        {&push_verb, "name -", CLI_OK},       {&push_verb, "name -5", CLI_OK},
        {&push_verb, "name -x", CLI_USAGE},   {&push_verb, "name -- -x", CLI_OK},
        {&run_verb, "", CLI_USAGE},           {&run_verb, "name", CLI_USAGE},
        {&run_verb, "name --", CLI_USAGE},    {&run_verb, "name -- true", CLI_OK},
        {&run_verb, "name true", CLI_USAGE},  {&run_verb, "a -- b c d e f", CLI_OK},
        {&run_verb, "a b -- c", CLI_USAGE},   {&work_verb, "a -- b", CLI_OK},
        {&work_verb, "a b c -- d", CLI_OK},   {&work_verb, "a b c", CLI_USAGE},
        {&work_verb, "-- a b", CLI_USAGE},    {&work_verb, "a b --", CLI_USAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_session cli;
        int exit = reads(&cli, cases[i].verb, cases[i].line);
        if (exit != cases[i].exit)
            fail_msg("'%s' ends with %d, expected %d", cases[i].line, exit, cases[i].exit);
        cli_args_free(&cli);
    }
}

static void a_password_in_the_url_is_wiped_where_others_see_it(void **state)
{
    (void)state;
    static const char *const urls[][2] = {
        {"redis://user:secret@host", "redis://xxxxxxxxxxx@host"},
        {"redis://:se/c@ret@host/1", "redis://xxxxxxxxx@host/1"},
        {"user:secret@host", "userxxxxxxx@host"},
        {"redis://host", "redis://host"},
        {"embedded:/home/me", "embedded:/home/me"},
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        char url[64];
        char *argv[] = {"tackle", "--url", url, "name", NULL};
        cli_session cli = {.component = &component, .verb = &push_verb};
        snprintf(url, sizeof url, "%s", urls[i][0]);
        assert_int_equal(cli_args_read(&cli, 4, argv), 0);
        assert_string_equal(url, urls[i][1]);
        assert_string_equal(cli.url, urls[i][0]);
        cli_args_free(&cli);
    }
}

/* --timeout is the job's time limit in "queue push", and the reply's everywhere else. */
static void a_verbs_own_option_does_not_hide_the_global_one(void **state)
{
    (void)state;
    static const cli_option own[] = {{"timeout", CLI_DURATION, "DURATION", "its own"}, {0}};
    static const cli_verb verb = {.name = "push", .args = "NAME", .options = own, .run = never};
    cli_session cli;
    assert_int_equal(reads(&cli, &verb, "name --timeout 3s"), 0);
    assert_int_equal(cli_number(&cli, "timeout", 0), 3000);
    assert_null(cli_global_number(&cli, "timeout"));
    cli_args_free(&cli);
    assert_int_equal(reads(&cli, &push_verb, "name --timeout 3s"), 0);
    assert_int_equal(*cli_global_number(&cli, "timeout"), 3000);
    cli_args_free(&cli);
}

static void a_payload_is_the_argument_that_is_there(void **state)
{
    (void)state;
    cli_session cli;
    tkl_bytes payload;
    assert_int_equal(reads(&cli, &push_verb, "name words"), 0);
    assert_int_equal(cli_payload(&cli, 1, &payload), 0);
    assert_int_equal(payload.len, 5);
    assert_memory_equal(payload.data, "words", 5);
    cli_args_free(&cli);
}

static void results_map_to_exit_codes(void **state)
{
    (void)state;
    static const struct {
        int code, exit;
    } cases[] = {
        {TKL_OK, 0},      {TKL_BUSY, 1},      {TKL_EMPTY, 1},     {TKL_EXISTS, 1},
        {TKL_EINVAL, 64}, {TKL_ENOTSENT, 69}, {TKL_ETIMEOUT, 69}, {TKL_EUNKNOWN, 69},
        {TKL_ESPAWN, 69}, {TKL_EAUTH, 77},    {TKL_EREFUSED, 70}, {TKL_ETLS, 70},
        {TKL_EBUG, 70},   {TKL_EIO, 70},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cli_exit_of(cases[i].code), cases[i].exit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_typed_and_the_last_one_counts),
        cmocka_unit_test(options_that_are_not_given_have_their_default),
        cmocka_unit_test(dashes_end_the_options),
        cmocka_unit_test(arguments_are_counted),
        cmocka_unit_test(a_password_in_the_url_is_wiped_where_others_see_it),
        cmocka_unit_test(a_verbs_own_option_does_not_hide_the_global_one),
        cmocka_unit_test(a_payload_is_the_argument_that_is_there),
        cmocka_unit_test(results_map_to_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
