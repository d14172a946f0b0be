/* SPDX-License-Identifier: MIT
 *
 * Queries line by line: each line is a query, an empty line shows the next page, and a line that
 * begins with a colon changes a setting. Works on a terminal and from a pipe. On a terminal lines
 * are edited, repeated and completed where there is an editor for that (edit.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edit.h"
#include "language.h"
#include "out.h"
#include "search.h"

typedef struct shell {
    cli_session *cli;
    tkl_search *search;
    tkl_search_info *info; /* the index as it was at the start */
    char *prompt;
    bool edits; /* an editor reads the lines */
    cli_search_request request;
    char *query;  /* the last query; NULL: none yet */
    char *order;  /* memory of request.order */
    char *facets; /* memory of request.facets */
    char *show;   /* memory of request.fields */
    int64_t total;
} shell;

const char cli_search_shell_help[] =
    "  QUERY            search; an empty line is the next page\n"
    "  :sort [-]FIELD   sort by a field; without one by relevance\n"
    "  :rank A=1,B=2    rank by weights\n"
    "  :show FIELDS     fields to show, 'text' and 'all' among them; without: ids only\n"
    "  :facets FIELDS   count the values of these\n"
    "  :size N          hits of a page\n"
    "  :page N          go to a page\n"
    "  :quit            end";

/* ---- Settings ------------------------------------------------------------ */

/* Keeps a copy of a setting until it is set again, or the shell ends. */
static int keep_setting(const shell *s, char **setting, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return cli_end(s->cli, TKL_ENOMEM);
    free(*setting);
    *setting = copy;
    return CLI_OK;
}

/* Sets the order. A query without hits checks it at once. */
static int set_order(shell *s, const char *value)
{
    tkl_search_query_options options = {.order = tkl_str(value), .count = TKL_NONE};
    tkl_search_result *nothing = NULL;
    int failed = cli_end(s->cli, tkl_search_query(s->search, tkl_str(""), &options, &nothing));
    tkl_search_result_free(nothing);
    if (!failed)
        failed = keep_setting(s, &s->order, value);
    if (!failed)
        s->request.order = tkl_str(s->order);
    return failed;
}

static int set_facets(shell *s, const char *value)
{
    int failed = keep_setting(s, &s->facets, value);
    return failed ? failed
                  : cli_search_split(s->cli, s->facets, s->request.facets, &s->request.facet_count);
}

static int set_show(shell *s, const char *value)
{
    int failed = keep_setting(s, &s->show, value);
    return failed ? failed : cli_search_set_show(s->cli, s->search, s->show, &s->request);
}

static int set_number(shell *s, const char *value, int64_t max, int64_t *number)
{
    char *end;
    long long parsed = strtoll(value, &end, 10);
    if (!*value || *end || parsed < 1 || parsed > max)
        return cli_usage(s->cli, "'%s' is not a number from 1 to %lld", value, (long long)max);
    *number = parsed;
    return CLI_OK;
}

static int run_query(shell *s)
{
    if (!s->query)
        return CLI_OK;
    int failed = cli_search_ask(s->cli, s->search, tkl_str(s->query), &s->request, &s->total);
    return failed ? failed : cli_flush(s->cli);
}

static int go_to(shell *s, const char *value)
{
    int failed = set_number(s, value, TKL_SEARCH_REACH_MAX, &s->request.page);
    return failed ? failed : run_query(s);
}

/* ---- Completion ---------------------------------------------------------- */

static const char *const commands[] = {":sort ", ":rank ", ":show ", ":facets ",
                                       ":size ", ":page ", ":help",  ":quit"};

/* Whether the setting of this name takes fields of this kind. */
static bool takes_field(const char *setting, size_t len, tkl_search_kind kind)
{
    static const struct {
        const char *name;
        bool numbers, texts;
    } settings[] = {{":sort", true, true},
                    {":show", true, true},
                    {":rank", true, false},
                    {":facets", false, true}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strlen(settings[i].name) == len && memcmp(settings[i].name, setting, len) == 0)
            return kind == TKL_SEARCH_FIELD_TEXT ? settings[i].texts : settings[i].numbers;
    return false;
}

/* A field behind the sign of the word; empty where the field does not fit. */
static char *guess_field(const tkl_search_field *field, const char *before, const char *word)
{
    bool is_query = before[0] != ':';
    size_t len = strcspn(before, " ");
    char *text = NULL;
    int sign = (*word == '-' || *word == '+') ? 1 : 0;
    if (is_query ? before[0] && before[strlen(before) - 1] == ','
                 : !takes_field(before, len, field->kind))
        return strdup("");
    if (asprintf(&text, "%.*s" TKL_FMT "%s", sign, word, TKL_ARG(field->name),
                 is_query ? ":" : "") < 0)
        return NULL;
    return text;
}

/* Completes commands at the beginning of a line, and fields behind a command and in a query. */
static char *guess(void *arg, const char *before, const char *word, size_t index)
{
    static const char *const shown[] = {"text", "all"};
    const tkl_search_schema *schema = &((const shell *)arg)->info->schema;
    if (!*before && *word == ':')
        return index < sizeof commands / sizeof *commands ? strdup(commands[index]) : NULL;
    if (index < schema->field_count)
        return guess_field(&schema->fields[index], before, word);
    index -= schema->field_count;
    bool shows = strncmp(before, ":show ", strlen(":show ")) == 0;
    return shows && index < sizeof shown / sizeof *shown ? strdup(shown[index]) : NULL;
}

/* ---- Lines --------------------------------------------------------------- */

static int next_page(shell *s)
{
    if (!s->query || s->request.page * s->request.size >= s->total)
        return CLI_OK;
    s->request.page++;
    return run_query(s);
}

static int new_query(shell *s, const char *text)
{
    int failed = keep_setting(s, &s->query, text);
    s->request.page = 1;
    return failed ? failed : run_query(s);
}

/* A setting: its name and its value. */
static int take_command(shell *s, char *text)
{
    size_t len = strcspn(text, " ");
    const char *value = text + len + strspn(text + len, " ");
    text[len] = '\0'; /* the value follows it, or is empty */
    if (strcmp(text, "sort") == 0 || strcmp(text, "rank") == 0)
        return set_order(s, value);
    if (strcmp(text, "show") == 0)
        return set_show(s, value);
    if (strcmp(text, "facets") == 0)
        return set_facets(s, value);
    if (strcmp(text, "size") == 0)
        return set_number(s, value, TKL_SEARCH_PAGE_MAX, &s->request.size);
    if (strcmp(text, "page") == 0)
        return go_to(s, value);
    cli_print_translated(stderr, cli_search_shell_help, 0);
    return strcmp(text, "help") == 0 || strcmp(text, "") == 0
               ? CLI_OK
               : cli_usage(s->cli, "there is no ':%s'", text);
}

static int take_line(shell *s, char *text)
{
    if (text[0] == ':')
        return take_command(s, text + 1);
    return text[strspn(text, " \t")] ? new_query(s, text) : next_page(s);
}

/* The next line as the terminal or a pipe gives it. */
static char *read_plain(const shell *s)
{
    char *text = NULL;
    size_t size = 0;
    if (isatty(STDIN_FILENO)) {
        fputs(s->prompt, stderr);
        fflush(stderr);
    }
    ssize_t len = getline(&text, &size, stdin);
    if (len < 0) {
        free(text);
        return NULL;
    }
    if (text[len - 1] == '\n')
        text[len - 1] = '\0';
    return text;
}

/* The next line without its end, to be freed; NULL: there is none. */
static char *read_line(const shell *s)
{
    char *text = s->edits ? cli_edit_line(s->prompt) : read_plain(s);
    if (s->edits && text && *text)
        cli_edit_remember(text);
    return text;
}

/* An invalid query does not end the session, but the exit code reports it. A server that is down
 * ends the session. */
static int read_lines(shell *s)
{
    int result = CLI_OK;
    char *text;
    while ((text = read_line(s)) && strcmp(text, ":quit") != 0 && strcmp(text, ":q") != 0) {
        int failed = take_line(s, text);
        free(text);
        text = NULL;
        if (failed && !result)
            result = failed;
        if (failed && failed != CLI_USAGE)
            break;
    }
    free(text);
    if (isatty(STDIN_FILENO))
        fputc('\n', stderr);
    return isatty(STDIN_FILENO) && result == CLI_USAGE ? CLI_OK : result;
}

/* Checks before the first query that the index exists. */
static int greet(shell *s)
{
    int failed = cli_end(s->cli, tkl_search_show(s->search, &s->info));
    if (!failed && asprintf(&s->prompt, "%s> ", s->cli->argv[0]) < 0) {
        s->prompt = NULL;
        failed = cli_end(s->cli, TKL_ENOMEM);
    }
    if (!failed && isatty(STDIN_FILENO))
        fprintf(stderr, "%lld documents; :help\n", (long long)s->info->documents);
    return failed;
}

int cli_search_shell(cli_session *cli)
{
    shell s = {.cli = cli};
    int failed = cli_search_open(cli, &s.search);
    if (!failed)
        failed = greet(&s);
    if (!failed)
        failed = cli_search_read_request(cli, s.search, &s.request);
    s.edits = !failed && cli_edit_open(guess, &s);
    if (!failed)
        failed = read_lines(&s);
    cli_search_request_free(&s.request);
    tkl_search_info_free(s.info);
    tkl_search_close(s.search);
    free(s.prompt);
    free(s.query);
    free(s.order);
    free(s.facets);
    free(s.show);
    return failed;
}
