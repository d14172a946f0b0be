/* SPDX-License-Identifier: MIT
 *
 * Configuration from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "lines.h"
#include "out.h"
#include "value.h"

#define HISTORY_MAX 1000 /* versions that can be kept */

static int open_config(cli_session *cli, const tkl_config_options *options, tkl_config **config)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_config_open(client, tkl_str(cli->argv[0]),
                                                 tkl_str(cli->argv[1]), options, config));
}

/* ---- Values -------------------------------------------------------------- */

/* All fields except the value. NULL: the configuration was dropped. */
static json_t *version_json(const cli_session *cli, const tkl_config_value *value)
{
    json_t *kind = cli_json_bytes(tkl_str(cli->argv[0]));
    json_t *component = cli_json_bytes(tkl_str(cli->argv[1]));
    if (!value)
        return json_pack("{s:o, s:o, s:n, s:n, s:n}", "kind", kind, "component", component,
                         "version", "changed_at", "author");
    return json_pack("{s:o, s:o, s:I, s:o, s:o}", "kind", kind, "component", component, "version",
                     (json_int_t)value->version, "changed_at", cli_json_time(value->changed_ms),
                     "author", cli_json_present(value->author));
}

/* Writes JSON text as it was written, on one line and safe for terminals. Strings have no raw line
 * breaks. */
static bool write_text(FILE *to, tkl_bytes text)
{
    char *safe = cli_json_safe(text);
    for (const char *at = safe; at && *at; at++)
        putc(*at == '\n' || *at == '\r' ? ' ' : *at, to);
    free(safe);
    return safe != NULL;
}

/* The value is not parsed: its numbers may have more digits than a double. */
static bool write_object(FILE *to, const cli_session *cli, const tkl_config_value *value)
{
    json_t *version = version_json(cli, value);
    char *text = version ? cli_json_text(version) : NULL;
    json_decref(version);
    if (!text)
        return false;
    fprintf(to, "%.*s, \"value\": ", (int)strlen(text) - 1, text);
    bool good = write_text(to, value ? value->json : tkl_str("null"));
    putc('}', to);
    free(text);
    return good;
}

/* The caller frees the text. NULL: out of memory. */
static char *close_text(FILE *to, char **text, bool good)
{
    if ((!to || fclose(to) == 0) && good)
        return *text;
    free(*text);
    return NULL;
}

static int print_object(const cli_session *cli, const tkl_config_value *value)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    bool good = to && write_object(to, cli, value);
    return cli_print_json_text(cli, close_text(to, &text, good));
}

static int print_version(const cli_session *cli, const tkl_config_value *value)
{
    if (cli->json)
        return print_object(cli, value);
    cli_print_bytes(value->json);
    putchar('\n');
    return CLI_OK;
}

/* Prints the value on one line, without its line breaks. */
static int print_change(const cli_session *cli, const tkl_config_value *value)
{
    if (cli->json)
        return print_object(cli, value);
    if (value && !write_text(stdout, value->json))
        return cli_end(cli, TKL_ENOMEM);
    puts(value ? "" : "(dropped)");
    return CLI_OK;
}

static int print_array(const cli_session *cli, const tkl_config_values *values)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    bool good = to && putc('[', to) != EOF;
    for (size_t i = 0; good && i < values->count; i++) {
        fputs(i ? ", " : "", to);
        good = write_object(to, cli, &values->items[i]);
    }
    if (good)
        putc(']', to);
    return cli_print_json_text(cli, close_text(to, &text, good));
}

static int print_table(const cli_session *cli, const tkl_config_values *values)
{
    static const cli_column columns[] = {
        {"version", "VERSION"},
        {"changed_at", "CHANGED"},
        {"author", "AUTHOR"},
        {"value", "VALUE"},
        {0},
    };
    json_t *rows = json_array();
    for (size_t i = 0; i < values->count; i++) {
        json_t *row = version_json(cli, &values->items[i]);
        json_object_set_new(row, "value", cli_json_bytes(values->items[i].json));
        json_array_append_new(rows, row);
    }
    return cli_print_rows(cli, rows, columns);
}

/* ---- Verbs --------------------------------------------------------------- */

static int read_if_version(const cli_session *cli, int64_t *if_version)
{
    const char *text = cli_text(cli, "if-version", NULL);
    *if_version = 0;
    if (!text)
        return CLI_OK;
    if (strcmp(text, "none") == 0) {
        *if_version = TKL_NONE;
        return CLI_OK;
    }
    const char *wrong = cli_parse_integer(text, if_version);
    if (wrong || *if_version < 1)
        return cli_usage(cli, "invalid --if-version '%s': %s", text, wrong ? wrong : "from 1");
    return CLI_OK;
}

/* Opens with the author and history of the options. */
static int open_to_set(cli_session *cli, tkl_config **config)
{
    char host[128] = "", author[255];
    const char *user = getenv("USER");
    gethostname(host, sizeof host - 1);
    snprintf(author, sizeof author, "%.100s@%s", user ? user : "somebody", host);
    tkl_config_options options = {.author = cli_text(cli, "author", author),
                                  .history = cli_number(cli, "history", 10)};
    if (options.history < 1 || options.history > HISTORY_MAX)
        return cli_usage(cli, "invalid --history '%" PRId64 "': from 1 to %d", options.history,
                         HISTORY_MAX);
    return open_config(cli, &options, config);
}

static int config_set(cli_session *cli)
{
    static const cli_column columns[] = {{"version", "version"}, {0}};
    tkl_config *config = NULL;
    tkl_config_set_options options = {0};
    tkl_bytes json;
    int64_t version = 0;
    int failed = read_if_version(cli, &options.if_version);
    if (!failed)
        failed = cli_payload(cli, 2, &json);
    if (!failed)
        failed = open_to_set(cli, &config);
    if (!failed)
        failed = cli_end(cli, tkl_config_set(config, json, &options, &version));
    tkl_config_close(config);
    if (failed)
        return failed;
    return cli_print_record(
        cli,
        json_pack("{s:o, s:o, s:I}", "kind", cli_json_bytes(tkl_str(cli->argv[0])), "component",
                  cli_json_bytes(tkl_str(cli->argv[1])), "version", (json_int_t)version),
        columns);
}

/* The end of a call about one configuration. */
static int end_of_config(const cli_session *cli, int code)
{
    if (code != TKL_NOTFOUND)
        return cli_end(cli, code);
    return cli_no(cli, code, "there is no configuration '%s' of '%s'", cli->argv[0], cli->argv[1]);
}

static int config_get(cli_session *cli)
{
    tkl_config *config = NULL;
    tkl_config_value *value = NULL;
    int failed = open_config(cli, NULL, &config);
    if (!failed)
        failed = end_of_config(cli, tkl_config_get(config, &value));
    if (!failed)
        failed = print_version(cli, value);
    tkl_config_value_free(value);
    tkl_config_close(config);
    return failed;
}

/* Prints the current value and then every change. */
static int watch_changes(cli_session *cli, tkl_config *config)
{
    int64_t left = cli_number(cli, "max", INT64_MAX);
    int64_t wait_ms = cli_flag(cli, "wait") ? cli_number(cli, "wait", 0) : -1;
    tkl_config_value *seen = NULL;
    int failed = CLI_OK;
    while (!failed && left-- > 0) {
        tkl_config_value *value;
        int rc = tkl_config_watch(config, seen, wait_ms, &value);
        tkl_config_value_free(seen);
        seen = value;
        if (rc != TKL_OK && rc != TKL_NOTFOUND)
            return cli_end(cli, rc);
        failed = print_change(cli, value);
        if (!failed)
            failed = cli_flush(cli);
    }
    tkl_config_value_free(seen);
    return failed;
}

static int config_watch(cli_session *cli)
{
    tkl_config *config = NULL;
    if (cli_number(cli, "max", 1) < 1)
        return cli_usage(cli, "--max is 1 or more");
    int failed = open_config(cli, NULL, &config);
    if (!failed)
        failed = watch_changes(cli, config);
    tkl_config_close(config);
    return failed;
}

static int config_history(cli_session *cli)
{
    tkl_config *config = NULL;
    tkl_config_values *values = NULL;
    int64_t max = cli_number(cli, "max", HISTORY_MAX);
    if (max < 1)
        return cli_usage(cli, "--max is 1 or more");
    int failed = open_config(cli, NULL, &config);
    if (!failed)
        failed = cli_end(cli, tkl_config_history(config, (size_t)max, &values));
    if (!failed)
        failed = cli->json ? print_array(cli, values) : print_table(cli, values);
    tkl_config_values_free(values);
    tkl_config_close(config);
    return failed;
}

/* A kind has no ':'. */
static json_t *name_json(tkl_bytes name)
{
    const char *colon = memchr(name.data, ':', name.len);
    size_t kind = colon ? (size_t)(colon - name.data) : name.len;
    size_t skip = colon ? kind + 1 : kind;
    return json_pack("{s:o, s:o}", "kind", cli_json_bytes((tkl_bytes){name.data, kind}),
                     "component", cli_json_bytes((tkl_bytes){name.data + skip, name.len - skip}));
}

static int config_list(cli_session *cli)
{
    static const cli_column columns[] = {{"kind", "KIND"}, {"component", "COMPONENT"}, {0}};
    tkl_client *client = NULL;
    tkl_names *names = NULL;
    json_t *rows = json_array();
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_config_names(client, &names));
    for (size_t i = 0; !failed && i < names->count; i++)
        json_array_append_new(rows, name_json(names->items[i]));
    tkl_names_free(names);
    if (!failed)
        return cli_print_rows(cli, rows, columns);
    json_decref(rows);
    return failed;
}

static int config_drop(cli_session *cli)
{
    tkl_config *config = NULL;
    int failed = cli_confirm(cli, "This deletes the configuration '%s' of '%s' with its history.",
                             cli->argv[0], cli->argv[1]);
    if (!failed)
        failed = open_config(cli, NULL, &config);
    if (!failed)
        failed = end_of_config(cli, tkl_config_drop(config));
    tkl_config_close(config);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(cli, json_pack("{s:o, s:o, s:b}", "kind",
                                         cli_json_bytes(tkl_str(cli->argv[0])), "component",
                                         cli_json_bytes(tkl_str(cli->argv[1])), "dropped", 1));
}

/* ---- The component ------------------------------------------------------- */

static const cli_option set_options[] = {
    {"if-version", CLI_TEXT, "N",
     "set it only if N is the current version; none: if there is no value"},
    {"author", CLI_TEXT, "TEXT", "author, shown in the history (default USER@HOST)"},
    {"history", CLI_INTEGER, "N", "versions to keep, 1 to 1000 (default 10)"},
    {0},
};
static const cli_option watch_options[] = {
    {"max", CLI_INTEGER, "N", "end after N values (default: no limit)"},
    {"wait", CLI_DURATION, "DURATION", "end with exit code 1 after this long without a change"},
    {0},
};
static const cli_option history_options[] = {
    {"max", CLI_INTEGER, "N", "print at most N (default: all that are kept)"},
    {0},
};
static const cli_option drop_options[] = {CLI_YES, {0}};

static const cli_verb verbs[] = {
    {
        .name = "set",
        .args = "KIND COMPONENT [JSON]",
        .summary = "set a value; without JSON, or with -, from standard input",
        .options = set_options,
        .details = "KIND: letters, digits, _ - and . only. Every change has a version. All\n"
                   "programs that read or watch the value learn of it at once.",
        .example = "tackle config set limits search '{\"results\": 50}' --json\n"
                   "tackle config get limits search",
        .effect = CLI_WRITES,
        .run = config_set,
    },
    {
        .name = "get",
        .args = "KIND COMPONENT",
        .summary = "print a value; with --json its version and author, too",
        .example = "echo '{\"results\": 50}' | tackle config set limits search\n"
                   "tackle config get limits search --json",
        .effect = CLI_READS,
        .run = config_get,
    },
    {
        .name = "watch",
        .args = "KIND COMPONENT",
        .summary = "print the value, and again whenever it changes",
        .options = watch_options,
        .example = "tackle config set limits search 50\n"
                   "tackle config watch limits search --max 1",
        .effect = CLI_READS,
        .follows = true,
        .run = config_watch,
    },
    {
        .name = "history",
        .args = "KIND COMPONENT",
        .summary = "the last versions, newest first",
        .options = history_options,
        .example = "tackle config set limits search 50\n"
                   "tackle config set limits search 80\n"
                   "tackle config history limits search",
        .effect = CLI_READS,
        .run = config_history,
    },
    {
        .name = "list",
        .summary = "all that is configured",
        .options = cli_list_options,
        .example = "tackle config set limits search 50\n"
                   "tackle config list",
        .effect = CLI_READS,
        .run = config_list,
    },
    {
        .name = "drop",
        .args = "KIND COMPONENT",
        .summary = "delete a value and its history",
        .options = drop_options,
        .example = "tackle config set limits tackle-example 50\n"
                   "tackle config drop limits tackle-example --yes",
        .effect = CLI_WRITES,
        .run = config_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Configuration in JSON. Every change has a version.",
     "tackle config set limits search '{\"results\": 50}'", 0},
    {"Only if nobody was quicker: version 7 is not the one that is there.",
     "tackle config set limits search '{\"results\": 80}' --if-version 7", 1},
    {"A reader hears of a change at once.",
     "(sleep 0.2; tackle config set limits search '{\"results\": 90}' >/dev/null) & "
     "tackle config watch limits search --max 2; wait",
     0},
    {0},
};

const cli_component cli_config = {
    .name = "config",
    .summary = "configuration in JSON that programs follow",
    .verbs = verbs,
    .shared = "configurations",
    .demo = demo,
};
