/* SPDX-License-Identifier: MIT
 *
 * Queries line by line: each line is a query, an empty line shows the next page, and a line that
 * begins with a colon changes a setting. Works on a terminal and from a pipe.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "language.h"
#include "out.h"
#include "search.h"

typedef struct shell {
    cli_session *cli;
    tkl_search *search;
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

/* The setting lives as long as the shell, or until it is set again. */
static int keep_setting(const shell *s, char **setting, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return cli_end(s->cli, TKL_ENOMEM);
    free(*setting);
    *setting = copy;
    return CLI_OK;
}

/* A wrong order is refused at once, by a query that asks for nothing. */
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

/* ---- Lines --------------------------------------------------------------- */

static int next_page(shell *s)
{
    if (!s->query || s->request.page * s->request.size >= s->total)
        return CLI_OK;
    s->request.page++;
    return run_query(s);
}

static int new_query(shell *s, const char *line)
{
    int failed = keep_setting(s, &s->query, line);
    s->request.page = 1;
    return failed ? failed : run_query(s);
}

/* A setting: its name and its value. */
static int command(shell *s, char *line)
{
    size_t len = strcspn(line, " ");
    const char *value = line + len + strspn(line + len, " ");
    line[len] = '\0'; /* the value follows it, or is empty */
    if (strcmp(line, "sort") == 0 || strcmp(line, "rank") == 0)
        return set_order(s, value);
    if (strcmp(line, "show") == 0)
        return set_show(s, value);
    if (strcmp(line, "facets") == 0)
        return set_facets(s, value);
    if (strcmp(line, "size") == 0)
        return set_number(s, value, TKL_SEARCH_PAGE_MAX, &s->request.size);
    if (strcmp(line, "page") == 0)
        return go_to(s, value);
    cli_print_translated(stderr, cli_search_shell_help, 0);
    return strcmp(line, "help") == 0 || strcmp(line, "") == 0
               ? CLI_OK
               : cli_usage(s->cli, "there is no ':%s'", line);
}

static int take_line(shell *s, char *line)
{
    if (line[0] == ':')
        return command(s, line + 1);
    return line[strspn(line, " \t")] ? new_query(s, line) : next_page(s);
}

/* The next line without its end, to be freed; NULL: there is none. */
static char *read_line(const shell *s)
{
    char *line = NULL;
    size_t size = 0;
    if (isatty(STDIN_FILENO)) {
        fprintf(stderr, "%s> ", s->cli->argv[0]);
        fflush(stderr);
    }
    ssize_t len = getline(&line, &size, stdin);
    if (len < 0) {
        free(line);
        return NULL;
    }
    if (line[len - 1] == '\n')
        line[len - 1] = '\0';
    return line;
}

/* An invalid query does not end the session, but the exit code reports it. A server that is down
 * ends the session. */
static int read_lines(shell *s)
{
    int result = CLI_OK;
    char *line;
    while ((line = read_line(s)) && strcmp(line, ":quit") != 0 && strcmp(line, ":q") != 0) {
        int failed = take_line(s, line);
        free(line);
        line = NULL;
        if (failed && !result)
            result = failed;
        if (failed && failed != CLI_USAGE)
            break;
    }
    free(line);
    if (isatty(STDIN_FILENO))
        fputc('\n', stderr);
    return isatty(STDIN_FILENO) && result == CLI_USAGE ? CLI_OK : result;
}

/* Before the first query: is there such an index? */
static int greet(shell *s)
{
    tkl_search_info *info = NULL;
    int failed = cli_end(s->cli, tkl_search_show(s->search, &info));
    if (!failed && isatty(STDIN_FILENO))
        fprintf(stderr, "%lld documents; :help\n", (long long)info->documents);
    tkl_search_info_free(info);
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
    if (!failed)
        failed = read_lines(&s);
    cli_search_request_free(&s.request);
    tkl_search_close(s.search);
    free(s.query);
    free(s.order);
    free(s.facets);
    free(s.show);
    return failed;
}
