/* SPDX-License-Identifier: MIT
 *
 * Cached values from the shell.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "lines.h"
#include "out.h"

enum { FAILED = TKL_DEAD }; /* the code of a command that has failed */

/* ---- Handles ------------------------------------------------------------- */

/* Cuts "a,b,c" into tags, which point into the text. */
static int read_tags(const cli_session *cli, tkl_bytes tags[TKL_CACHE_TAGS_MAX], size_t *count)
{
    const char *text = cli_text(cli, "tags", "");
    *count = 0;
    while (*text) {
        size_t len = strcspn(text, ",");
        if (len == 0 || *count == TKL_CACHE_TAGS_MAX)
            return cli_usage(cli, "invalid --tags '%s': up to %d words, separated by commas",
                             cli_text(cli, "tags", ""), TKL_CACHE_TAGS_MAX);
        tags[(*count)++] = (tkl_bytes){text, len};
        text += len;
        text += *text == ',';
    }
    return CLI_OK;
}

/* An option of the command, where 0 means zero, as one of the library. */
static int64_t duration(const cli_session *cli, const char *name)
{
    int64_t given = cli_number(cli, name, -1);
    return given < 0 ? 0 : given == 0 ? TKL_NONE : given;
}

/* With the options of verbs that store. */
static int open_to_store(cli_session *cli, tkl_cache **cache)
{
    tkl_client *client = NULL;
    tkl_bytes tags[TKL_CACHE_TAGS_MAX];
    tkl_cache_options options = {.ttl_ms = cli_number(cli, "ttl", 0),
                                 .stale_ms = duration(cli, "stale"),
                                 .none_ttl_ms = duration(cli, "none-ttl"),
                                 .tags = tags};
    int failed = read_tags(cli, tags, &options.tag_count);
    if (!failed)
        failed = cli_connect(cli, &client);
    return failed ? failed : cli_end(cli, tkl_cache_open(client, &options, cache));
}

static int open_cache(cli_session *cli, const tkl_cache_options *options, tkl_cache **cache)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed : cli_end(cli, tkl_cache_open(client, options, cache));
}

static int print_value(const cli_session *cli, const tkl_cache_value *value)
{
    if (!cli->json) {
        cli_print_lines(value->data, 0);
        return CLI_OK;
    }
    return cli_print_json(cli, json_pack("{s:o, s:o, s:b, s:b, s:b, s:I}", "key",
                                         cli_json_bytes(tkl_str(cli->argv[0])), "value",
                                         value->none ? json_null() : cli_json_bytes(value->data),
                                         "none", value->none, "stale", value->stale, "computed",
                                         value->computed, "fresh_ms",
                                         (json_int_t)(value->fresh_ms > 0 ? value->fresh_ms : 0)));
}

/* ---- run ----------------------------------------------------------------- */

typedef struct running {
    cli_session *cli;
    int exit;      /* exit code of the command; -1: it was not run */
    int none_exit; /* exit code that says that there is none; -1: no code does */
} running;

/* Gives the output of the command as the value. */
static int give_output(FILE *output, tkl_cache_result *result)
{
    off_t len = lseek(fileno(output), 0, SEEK_END);
    if (len < 0 || len > TKL_CACHE_VALUE_MAX) /* the library words the error */
        return tkl_cache_give(result, (tkl_bytes){"", (size_t)(len < 0 ? 0 : len)});
    char *text = malloc((size_t)len + 1);
    int code = TKL_ENOMEM;
    if (text && pread(fileno(output), text, (size_t)len, 0) == (ssize_t)len)
        code = tkl_cache_give(result, (tkl_bytes){text, (size_t)len});
    free(text);
    return code;
}

/* Computes a value: runs the command, and gives its output. */
static int compute(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    running *r = arg;
    cli_child child;
    FILE *output = tmpfile();
    (void)key;
    if (!output) {
        r->exit =
            cli_fail(r->cli, CLI_FAILURE, "cannot make a temporary file: %s", strerror(errno));
        return FAILED;
    }
    cli_command command = {.argv = &r->cli->argv[1], .output = fileno(output), .foreground = true};
    r->exit = cli_child_start(r->cli, &command, &child);
    if (r->exit == CLI_OK) {
        cli_child_wait(&child, -1, -1);
        r->exit = cli_child_close(r->cli, &child);
    }
    int code = r->exit == 0              ? give_output(output, result)
               : r->exit == r->none_exit ? TKL_NOTFOUND
                                         : FAILED;
    fclose(output);
    return code;
}

static int end_run(running *r, int code, const tkl_cache_value *value)
{
    if (code == TKL_BUSY) {
        cli_end(r->cli, code);
        return CLI_NOT_ACQUIRED;
    }
    if (code == FAILED && r->exit > 0) { /* the command has said why */
        if (r->cli->json)
            cli_fail_with(r->cli, code, "the command failed with %d", r->exit);
        return r->exit;
    }
    if (code != TKL_OK)
        return cli_end(r->cli, code);
    if (r->exit > 0 && !value->none && !r->cli->json)
        cli_fail(r->cli, CLI_OK, "the command failed with %d: this is the old value", r->exit);
    int failed = print_value(r->cli, value);
    if (failed || !value->none)
        return failed;
    failed = cli_answered_no(r->cli, TKL_NOTFOUND, "there is none");
    return r->none_exit > 0 ? r->none_exit : failed;
}

static int cache_run(cli_session *cli)
{
    running r = {.cli = cli, .exit = -1, .none_exit = (int)cli_number(cli, "none-exit", -1)};
    tkl_cache *cache = NULL;
    tkl_cache_value *value = NULL;
    if (cli_flag(cli, "none-exit") && (r.none_exit < 1 || r.none_exit > 255))
        return cli_usage(cli, "--none-exit is 1 to 255");
    int failed = cli_child_check(cli, cli->argv[1]);
    if (!failed)
        failed = open_to_store(cli, &cache);
    if (!failed) {
        int code = tkl_cache_fetch(cache, tkl_str(cli->argv[0]), compute, &r,
                                   cli_number(cli, "wait", -1), &value);
        failed = end_run(&r, code, value);
    }
    tkl_cache_value_free(value);
    tkl_cache_close(cache);
    return failed;
}

/* ---- get, set, drop ------------------------------------------------------ */

static int cache_get(cli_session *cli)
{
    tkl_cache *cache = NULL;
    tkl_cache_value *value = NULL;
    int failed = open_cache(cli, NULL, &cache);
    if (!failed)
        failed =
            cli_end_of(cli, tkl_cache_get(cache, tkl_str(cli->argv[0]), &value), "cached value");
    if (!failed)
        failed = print_value(cli, value);
    if (!failed && value->none)
        failed = cli_answered_no(cli, TKL_NOTFOUND, "there is none");
    tkl_cache_value_free(value);
    tkl_cache_close(cache);
    return failed;
}

static int cache_set(cli_session *cli)
{
    tkl_cache *cache = NULL;
    tkl_bytes data = {0};
    bool none = cli_flag(cli, "none");
    if (none && cli->argc > 1)
        return cli_usage(cli, "either VALUE or --none");
    if (none && cli_number(cli, "none-ttl", 1) == 0)
        return cli_usage(cli, "--none with --none-ttl 0 stores nothing");
    int failed = none ? CLI_OK : cli_payload(cli, 1, &data);
    if (!failed)
        failed = open_to_store(cli, &cache);
    if (!failed)
        failed = cli_end(cli, tkl_cache_set(cache, tkl_str(cli->argv[0]), none ? NULL : &data));
    tkl_cache_close(cache);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(
        cli, json_pack("{s:o, s:b}", "key", cli_json_bytes(tkl_str(cli->argv[0])), "stored", 1));
}

static int drop_key(cli_session *cli)
{
    tkl_cache *cache = NULL;
    int failed = open_cache(cli, NULL, &cache);
    if (!failed)
        failed = cli_end_of(cli, tkl_cache_drop(cache, tkl_str(cli->argv[0])), "cached value");
    tkl_cache_close(cache);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli,
                          json_pack("{s:o, s:n, s:i}", "key", cli_json_bytes(tkl_str(cli->argv[0])),
                                    "tag", "dropped_values", 1));
}

static int drop_tag(cli_session *cli, const char *tag)
{
    static const cli_column columns[] = {{"dropped_values", "dropped"}, {0}};
    tkl_cache *cache = NULL;
    int64_t dropped = 0;
    int failed = open_cache(cli, NULL, &cache);
    if (!failed)
        failed = cli_end(cli, tkl_cache_drop_tag(cache, tkl_str(tag), &dropped));
    tkl_cache_close(cache);
    if (failed)
        return failed;
    return cli_print_record(cli,
                            json_pack("{s:n, s:o, s:I}", "key", "tag", cli_json_bytes(tkl_str(tag)),
                                      "dropped_values", (json_int_t)dropped),
                            columns);
}

static int cache_drop(cli_session *cli)
{
    const char *tag = cli_text(cli, "tag", NULL);
    if ((tag != NULL) == (cli->argc > 0))
        return cli_usage(cli, "either KEY or --tag");
    int failed = tag ? cli_confirm(cli, "This deletes all values with the tag '%s'.", tag)
                     : cli_confirm(cli, "This deletes the value of '%s'.", cli->argv[0]);
    if (failed)
        return failed;
    return tag ? drop_tag(cli, tag) : drop_key(cli);
}

/* ---- show, list ---------------------------------------------------------- */

static int cache_show(cli_session *cli)
{
    static const cli_column columns[] = {
        {"bytes", "bytes"},
        {"none", "there is none"},
        {"fresh_ms", "fresh for"},
        {"expires_ms", "gone in"},
        {"computing", "computed now"},
        {"has_failed", "failed before"},
        {0},
    };
    tkl_cache *cache = NULL;
    tkl_cache_info *info = NULL;
    int failed = open_cache(cli, NULL, &cache);
    if (!failed)
        failed =
            cli_end_of(cli, tkl_cache_show(cache, tkl_str(cli->argv[0]), &info), "cached value");
    tkl_cache_close(cache);
    if (failed)
        return failed;
    json_t *record = json_pack(
        "{s:o, s:I, s:b, s:I, s:I, s:b, s:b}", "key", cli_json_bytes(tkl_str(cli->argv[0])),
        "bytes", (json_int_t)info->bytes, "none", info->none, "fresh_ms",
        (json_int_t)(info->fresh_ms > 0 ? info->fresh_ms : 0), "expires_ms",
        (json_int_t)info->expires_ms, "computing", info->computing, "has_failed", info->failed);
    tkl_cache_info_free(info);
    return cli_print_record(cli, record, columns);
}

static int cache_list(cli_session *cli)
{
    static const cli_column columns[] = {{"key", "KEY"}, {0}};
    tkl_client *client = NULL;
    tkl_names *names = NULL;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_cache_names(client, &names));
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < names->count; i++)
        json_array_append_new(rows, json_pack("{s:o}", "key", cli_json_bytes(names->items[i])));
    tkl_names_free(names);
    return cli_print_rows(cli, rows, columns);
}

/* ---- The component ------------------------------------------------------- */

#define STORE_OPTIONS                                                                       \
    {"ttl", CLI_PERIOD, "DURATION", "how long the value is fresh (default 10m)"},           \
        {"stale", CLI_DURATION, "DURATION",                                                 \
         "how long the old value is used then (default: as --ttl)"},                        \
        {"none-ttl", CLI_DURATION, "DURATION",                                              \
         "how long \"there is none\" is kept (default: a tenth of --ttl)"},                 \
    {                                                                                       \
        "tags", CLI_TEXT, "TAG,TAG...", "tags, to drop many values at once: see drop --tag" \
    }

static const cli_option run_options[] = {
    STORE_OPTIONS,
    {"none-exit", CLI_INTEGER, "N", "the exit code of COMMAND that says that there is none"},
    {"wait", CLI_WAIT, "DURATION",
     "wait this long while another caller computes it (default forever)"},
    {0},
};
static const cli_option set_options[] = {
    STORE_OPTIONS,
    {"none", CLI_FLAG, NULL, "store that there is none"},
    {0},
};
static const cli_option drop_options[] = {
    {"tag", CLI_TEXT, "TAG", "drop all values with this tag"},
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "run",
        .args = "KEY -- COMMAND [ARG...]",
        .summary = "print the value, or run COMMAND and keep what it prints",
        .options = run_options,
        .details =
            "Only one caller runs COMMAND at a time, however many ask, on all machines. Shortly\n"
            "before the value ends, one caller runs it again. When COMMAND fails, the old value\n"
            "is printed, if there is one; otherwise tackle ends with the exit code of COMMAND.\n"
            "75: another caller did not finish within --wait.",
        .example = "tackle cache run users --ttl 10m -- sh -c 'sleep 0.1; echo 42'\n"
                   "tackle cache run users --ttl 10m -- sh -c 'sleep 0.1; echo 42'",
        .local = "it runs a command",
        .run = cache_run,
    },
    {
        .name = "get",
        .args = "KEY",
        .summary = "print a value that is there",
        .example = "tackle cache set users 42\n"
                   "tackle cache get users --json",
        .effect = CLI_READS,
        .run = cache_get,
    },
    {
        .name = "set",
        .args = "KEY [VALUE]",
        .summary = "store a value; without VALUE, or with -, from standard input",
        .options = set_options,
        .example = "tackle cache set users 42 --ttl 1h --tags site,people\n"
                   "tackle cache get users",
        .effect = CLI_WRITES,
        .binary = "VALUE",
        .run = cache_set,
    },
    {
        .name = "drop",
        .args = "[KEY]",
        .summary = "delete a value, or all values with a tag",
        .options = drop_options,
        .details = "What is being computed at the time is not kept either.",
        .example = "tackle cache set tackle-example 42 --tags tackle-examples\n"
                   "tackle cache drop --tag tackle-examples --yes",
        .effect = CLI_WRITES,
        .run = cache_drop,
    },
    {
        .name = "show",
        .args = "KEY",
        .summary = "how long a value stays, and whether it is being computed",
        .example = "tackle cache set users 42\n"
                   "tackle cache show users",
        .effect = CLI_READS,
        .run = cache_show,
    },
    {
        .name = "list",
        .summary = "the keys of all values",
        .options = cli_list_options,
        .example = "tackle cache set users 42\n"
                   "tackle cache list",
        .effect = CLI_READS,
        .run = cache_list,
    },
    {0},
};

static const cli_step demo[] = {
    {"The first caller runs the command; what it prints is kept.",
     "tackle cache run report --ttl 10m -- sh -c 'sleep 0.3; echo 42 users'", 0},
    {"The next one gets it at once.",
     "tackle cache run report --ttl 10m -- sh -c 'sleep 0.3; echo 42 users'", 0},
    {0},
};

const cli_component cli_cache = {
    .name = "cache",
    .summary = "values computed by one caller at a time, kept for all",
    .verbs = verbs,
    .shared = "cached values",
    .demo = demo,
};
