/* SPDX-License-Identifier: MIT
 *
 * Output on stdout: JSON, aligned tables, colour, and the check that it was written.
 *
 * A verb builds its result once, as JSON, and the helpers print it either way. Bytes are a
 * JSON string when they are UTF-8, else {"base64": "..."}.
 */
#ifndef TKL_CLI_OUT_H
#define TKL_CLI_OUT_H

#include <jansson.h>
#include <stdio.h>
#include <wchar.h>

#include "cli.h"

/* Bytes as a JSON value. */
json_t *cli_json_bytes(tkl_bytes bytes);

/* The same for optional bytes: null when empty. */
json_t *cli_json_present(tkl_bytes bytes);

/* An array of bytes. */
json_t *cli_json_list(const tkl_bytes *items, size_t count);

/* A number that is known when it is more than 0; else null. */
json_t *cli_json_known(int64_t number);

/* A time (Unix milliseconds) as all verbs print it, for people and as JSON: RFC 3339 in UTC,
 * "2030-01-31T12:00:00.000Z". Returns `text`, which is "" for 0 or less; the JSON value is null. */
enum { CLI_TIME_SIZE = 64 };
const char *cli_time_text(int64_t ms, char text[CLI_TIME_SIZE]);
json_t *cli_json_time(int64_t ms);

/* A value as one line of JSON, to be freed; NULL: out of memory. Unsafe characters
 * (cli_is_unsafe()) are escaped as \u009b, so nothing is lost. */
char *cli_json_text(const json_t *value);

/* The same for JSON text that others have written. */
char *cli_json_safe(tkl_bytes json);

/* Prints one line of JSON and frees the value or the text. NULL means that memory ran out. */
int cli_print_json_text(const cli_session *cli, char *text);
int cli_print_json(const cli_session *cli, json_t *value);

/* Prints a number: with --json in an object under this key. */
int cli_print_number(const cli_session *cli, const char *key, int64_t number);

/* cli_end(). With --json the object also has this field, whose value is freed. */
int cli_end_with(const cli_session *cli, int code, const char *field, json_t *value);

/* A column of a table, or a field of a record: the key in the JSON object and its heading. An
 * array of these ends with a zero entry. Numbers whose keys end in "_ms" are durations: people see
 * "1.5 s". cli_real_text() says how numbers with a fraction look. */
typedef struct cli_column {
    const char *key;
    const char *title;
} cli_column;

/* Prints an array of objects: with --json as it is, else as a table, numbers to the right.
 * Frees the rows. */
int cli_print_rows(const cli_session *cli, json_t *rows, const cli_column *columns);

/* Prints one more table of a page, after an empty line; without rows nothing. Frees the rows. */
int cli_print_more_rows(const cli_session *cli, json_t *rows, const cli_column *columns);

/* CSV (RFC 4180), for verbs with the option --csv: a row of keys, and a row for each object. Numbers
 * have all their digits, durations are milliseconds, null is nothing. Frees the rows. */
#define CLI_CSV                                                                           \
    {                                                                                     \
        "csv", CLI_LOCAL_FLAG, NULL, "print CSV: a row of names, then a row for each one" \
    }
int cli_print_csv(const cli_session *cli, json_t *rows, const cli_column *columns);
/* The parts of it: the first row, and one for an object, which is not freed. */
void cli_csv_names(const cli_column *columns);
void cli_csv_row(const json_t *object, const cli_column *columns);
/* A text as a field of CSV; on a terminal escaped. */
void cli_csv_field(tkl_bytes text);
/* CLI_USAGE when --csv is given together with --json. */
int cli_check_csv(const cli_session *cli);

/* Prints one object: with --json as it is, else one "title  value" line for each field that it
 * has. Frees the object. */
int cli_print_record(const cli_session *cli, json_t *object, const cli_column *columns);

/* A number with a fraction as people see it in a field of this key, to be freed; NULL: out of
 * memory. Money has its decimals (2 to 6), positions have 7, lengths 4, rates and means 6 digits.
 * All others have the 15 digits that JSON has. */
char *cli_real_text(const char *key, double number);

/* Whether a character would upset a terminal or mislead its reader: control characters (C0, DEL,
 * C1), line separators, and what changes the direction of the text that follows. */
bool cli_is_unsafe(wchar_t character);

/* Escapes unsafe characters and bytes that are not UTF-8, as
 * \t \r \\ \xNN. The caller frees. NULL when out of memory. */
char *cli_escape(tkl_bytes bytes, bool quotes);

/* Bytes as they are for programs; on a terminal escaped. */
void cli_print_bytes(tkl_bytes bytes);

enum { CLI_INDENT = 2 }; /* indentation of lines that belong to the line above */

/* The same, with every line except the first indented by this many blanks, so that no line looks
 * like the head of the next item. A carriage return also ends a line. */
void cli_print_indented(tkl_bytes bytes, int blanks);

/* A text whose line breaks stay on a terminal, each line behind this many blanks. */
void cli_print_lines(tkl_bytes text, int blanks);

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

/* Flushes stdout: CLI_OK, or CLI_FAILURE and a message (no message when the reader of the pipe is
 * gone). Long-running verbs call it after each result, main() at the end. */
int cli_flush(const cli_session *cli);

/* Whether stdout is a pipe whose reader is gone, as in `tackle queue peek mails | head -n 1`. */
bool cli_reader_is_gone(void);

#endif
