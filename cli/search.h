/* SPDX-License-Identifier: MIT
 *
 * Search from the shell: search.c has the verbs, search_query.c asks and prints, search_shell.c
 * does so line by line, search_explain.c explains a query, search_import.c reads files.
 */
#ifndef TKL_CLI_SEARCH_H
#define TKL_CLI_SEARCH_H

#include "cli.h"

/* The index that the first argument names. */
int cli_search_open(cli_session *cli, tkl_search **search);

/* The settings of an index that the options describe, without shards. `fields`: room for
 * TKL_SEARCH_FIELDS_MAX. */
int cli_search_read_schema(const cli_session *cli, tkl_search_field *fields,
                           tkl_search_schema *schema);

/* The value of a field, as people write it. False: it is no finite number. */
bool cli_search_number(tkl_bytes text, double *number);

/* The field of this name; NULL: the schema has none. */
const tkl_search_field *cli_search_field(const tkl_search_schema *schema, tkl_bytes name);

/* ---- Asking -------------------------------------------------------------- */

enum { CLI_SEARCH_LISTS_MAX = TKL_SEARCH_FIELDS_MAX };

/* A query, and what to print of its result. Texts belong to the command line, or to the caller. */
typedef struct cli_search_request {
    tkl_search_info *info; /* the index; NULL: not needed */
    tkl_bytes order;
    int64_t page; /* from 1 */
    int64_t size;
    int64_t keep_ms;
    int64_t compare_max;
    tkl_bytes facets[CLI_SEARCH_LISTS_MAX];
    size_t facet_count;
    int64_t facet_values;
    tkl_bytes fields[CLI_SEARCH_LISTS_MAX]; /* fields to show */
    size_t field_count;
    bool all_fields; /* show all fields */
    bool text;       /* show the text */
    bool hits;       /* show fields or text; false: only ids */
    int64_t length;  /* characters of a text that are shown; 0: all */
    tkl_bytes before, after;
    bool html;
} cli_search_request;

/* Reads --sort, --rank, --page, --size, --keep, --show and so on. */
int cli_search_read_request(cli_session *cli, tkl_search *search, cli_search_request *request);

void cli_search_request_free(cli_search_request *request);

/* Reads a value of --show: "all", or names of fields and "text", separated by commas. */
int cli_search_set_show(cli_session *cli, tkl_search *search, const char *list,
                        cli_search_request *request);
/* Splits a list at its commas, into at most CLI_SEARCH_LISTS_MAX names. */
int cli_search_split(const cli_session *cli, const char *list, tkl_bytes *names, size_t *count);

/* Asks, prints, and says how many documents match. */
int cli_search_ask(cli_session *cli, tkl_search *search, tkl_bytes query,
                   const cli_search_request *request, int64_t *total);

/* Prints documents: --json as an array. */
int cli_search_print_documents(cli_session *cli, const tkl_search_schema *schema,
                               const tkl_search_result *found);

/* An array of words that are separated by spaces. */
json_t *cli_search_words_json(tkl_bytes words);
/* Prints a remark on stderr, `before` and the text, unless the text is empty. */
void cli_search_note(const char *before, tkl_bytes text);

/* ---- Other verbs --------------------------------------------------------- */

int cli_search_explain(cli_session *cli);
int cli_search_parse(cli_session *cli);
int cli_search_shell(cli_session *cli);
extern const char cli_search_shell_help[];
int cli_search_import(cli_session *cli);

#endif
