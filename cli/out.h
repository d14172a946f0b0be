/* SPDX-License-Identifier: MIT
 *
 * What goes to stdout: JSON, aligned tables, colour, and the check that it arrived.
 *
 * A verb builds its result once, as JSON, and the helpers print it either way. Bytes are a
 * JSON string when they are UTF-8, else {"base64": "..."}.
 */
#ifndef TKL_CLI_OUT_H
#define TKL_CLI_OUT_H

#include <jansson.h>
#include <stdio.h>

#include "cli.h"

/* Bytes as a JSON value. */
json_t *cli_json_bytes(tkl_bytes bytes);

/* The same for what may be absent: null for no bytes. */
json_t *cli_json_present(tkl_bytes bytes);

/* A time (Unix milliseconds) as RFC 3339 in UTC, "2030-01-31T12:00:00.000Z"; null for 0 or less. */
json_t *cli_json_time(int64_t ms);

/* Prints one line of JSON and frees the value. NULL means that memory ran out. */
int cli_print_json(const cli_session *cli, json_t *value);

/* cli_end(). With --json the object also has this field, whose value is freed. */
int cli_end_with(const cli_session *cli, int code, const char *field, json_t *value);

/* A column of a table, or a field of a record: the key in the JSON object and its heading. An
 * array of these ends with a zero entry. Numbers whose keys end in "_ms" are durations: people see
 * "1.5 s". */
typedef struct cli_column {
    const char *key;
    const char *title;
} cli_column;

/* Prints an array of objects: with --json as it is, else as a table, numbers to the right.
 * Frees the rows. */
int cli_print_rows(const cli_session *cli, json_t *rows, const cli_column *columns);

/* Prints one object: with --json as it is, else one "title  value" line for each field that it
 * has. Frees the object. */
int cli_print_record(const cli_session *cli, json_t *object, const cli_column *columns);

/* Escapes what would upset a terminal: control characters and bytes that are not UTF-8, as
 * \n \t \r \\ \xNN. The caller frees. NULL when out of memory. */
char *cli_escape(tkl_bytes bytes, bool quotes);

/* Bytes as they are for programs; on a terminal escaped. */
void cli_print_bytes(tkl_bytes bytes);

/* "250 ms", "1.5 s", "3.2 h"; returns `text`. */
enum { CLI_DURATION_SIZE = 32 };
const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_SIZE]);

/* Columns that a UTF-8 text takes on a terminal. */
size_t cli_width(const char *text);

/* The sequence, on a stream that is a terminal and when NO_COLOR is not set; else "". */
#define CLI_BOLD  "\033[1m"
#define CLI_DIM   "\033[2m"
#define CLI_CYAN  "\033[36m"
#define CLI_PLAIN "\033[0m"
const char *cli_color(FILE *stream, const char *sequence);

/* Whether everything reached stdout: CLI_OK, or CLI_FAILURE and a message (none when the reader has
 * gone). Long-running verbs call it after each result, main() at the end. */
int cli_flush(const cli_session *cli);

/* Whether stdout is a pipe that nobody reads any more, as in `tackle queue peek mails | head -n 1`. */
bool cli_reader_is_gone(void);

#endif
