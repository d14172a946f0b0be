/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zlib.h>

#include "out.h"

enum { CHUNK = 1 << 16, HEAD = 4096 };

/* A file that is being read. */
typedef struct source {
    cli_rows *rows;
    gzFile file;
    /* The first bytes, which were read to know the format, until they are read again. */
    char head[HEAD];
    size_t head_len;
    /* For a table: the names of its columns, each owned, and the index of the next column. */
    tkl_bytes *names;
    size_t columns, column;
} source;

static void stop_rows(cli_rows *rows, int failed)
{
    if (!rows->failed)
        rows->failed = failed;
}

static void no_memory(cli_rows *rows)
{
    stop_rows(rows, cli_end(rows->cli, TKL_ENOMEM));
}

/* Bytes of the file where its size is known, else rows. */
static void show_progress(source *s)
{
    cli_progress_update(&s->rows->bar,
                        s->rows->bar.total ? (uint64_t)gzoffset(s->file) : s->rows->row);
}

/* Reads at most CHUNK bytes; none: the file has ended, or cannot be read. */
static size_t read_chunk(source *s, char *chunk)
{
    size_t len = s->head_len;
    s->head_len = 0;
    memcpy(chunk, s->head, len);
    int read = len ? 0 : gzread(s->file, chunk, CHUNK);
    return read > 0 ? (size_t)read : len;
}

/* The byte order mark that some programs put before UTF-8. */
static size_t mark_length(tkl_bytes text)
{
    return text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* ---- JSON lines ---------------------------------------------------------- */

/* A number or a truth value as text, to be freed; NULL: it is neither. */
static char *scalar_text(const json_t *value)
{
    if (json_is_boolean(value))
        return strdup(json_is_true(value) ? "1" : "0");
    return json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17))
                                 : NULL;
}

static void give_member(const cli_rows *rows, tkl_bytes name, const json_t *value)
{
    char *text = NULL;
    if (json_is_string(value))
        rows->cell(rows->arg, name,
                   (tkl_bytes){json_string_value(value), json_string_length(value)});
    else if ((text = scalar_text(value)))
        rows->cell(rows->arg, name, tkl_str(text));
    else if (!json_is_null(value))
        rows->bad(rows->arg, "a member is neither a text nor a number");
    free(text);
}

static void give_members(const cli_rows *rows, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) if (rows->wants(rows->arg, tkl_str(name)))
        give_member(rows, tkl_str(name), value);
}

static void give_line(const cli_rows *rows, const char *text, size_t len)
{
    json_error_t error;
    json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    rows->begin(rows->arg);
    if (json_is_object(object))
        give_members(rows, object);
    else
        rows->bad(rows->arg, object ? "not an object: {...}" : error.text);
    json_decref(object);
    rows->end(rows->arg);
}

static bool is_blank(const char *text, size_t len)
{
    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    return len == 0;
}

/* Lines of any length and any bytes. */
typedef struct lines {
    source *source;
    char *data;
    size_t start, end, cap; /* bytes that were read and not returned yet */
    size_t scanned;         /* no line ends before this position */
} lines;

/* Makes room for more bytes after the rest. */
static bool make_room(lines *l)
{
    if (l->cap - l->end >= CHUNK)
        return true;
    if (l->start > 0)
        memmove(l->data, l->data + l->start, l->end - l->start);
    l->end -= l->start;
    l->scanned -= l->start;
    l->start = 0;
    if (l->cap - l->end >= CHUNK)
        return true;
    char *grown = realloc(l->data, 2 * l->cap + CHUNK);
    if (!grown)
        return false;
    l->data = grown;
    l->cap = 2 * l->cap + CHUNK;
    return true;
}

/* Returns the next line with its line end, if it has one; no bytes at the end of the file. False:
 * out of memory. */
static bool next_line(lines *l, tkl_bytes *text)
{
    size_t more = 1;
    const char *end = NULL;
    while (
        !(l->end > l->scanned && (end = memchr(l->data + l->scanned, '\n', l->end - l->scanned))) &&
        more > 0) {
        l->scanned = l->end;
        if (!make_room(l))
            return false;
        more = read_chunk(l->source, l->data + l->end);
        l->end += more;
    }
    size_t stop_at = end ? (size_t)(end + 1 - l->data) : l->end;
    *text = (tkl_bytes){l->data + l->start, stop_at - l->start};
    l->start = l->scanned = stop_at;
    return true;
}

static void read_lines(source *s)
{
    cli_rows *rows = s->rows;
    lines l = {.source = s};
    tkl_bytes text = {0};
    while (!rows->failed) {
        if (!next_line(&l, &text))
            no_memory(rows);
        if (rows->failed || !text.len)
            break;
        size_t mark = rows->row++ == 0 ? mark_length(text) : 0;
        if (!is_blank(text.data + mark, text.len - mark))
            give_line(rows, text.data + mark, text.len - mark);
        show_progress(s);
    }
    free(l.data);
}

/* ---- CSV ----------------------------------------------------------------- */

static void take_name(source *s, tkl_bytes name)
{
    tkl_bytes *names = realloc(s->names, (s->columns + 1) * sizeof *names);
    size_t mark = s->columns == 0 ? mark_length(name) : 0;
    char *copy = strndup(name.data + mark, name.len - mark);
    if (names)
        s->names = names;
    if (!names || !copy) {
        free(copy);
        no_memory(s->rows);
        return;
    }
    names[s->columns++] = tkl_str(copy);
}

static void give_cell(source *s, tkl_bytes text)
{
    const cli_rows *rows = s->rows;
    if (s->column == 0)
        rows->begin(rows->arg);
    if (s->column >= s->columns)
        rows->bad(rows->arg, "more cells than the first row has names");
    else if (rows->wants(rows->arg, s->names[s->column]) && text.len)
        rows->cell(rows->arg, s->names[s->column], text);
    s->column++;
}

/* libcsv has read a cell. */
static void on_cell(void *data, size_t len, void *arg)
{
    source *s = arg;
    tkl_bytes text = {data, len};
    if (s->rows->failed)
        return;
    if (s->rows->row == 1)
        take_name(s, text);
    else
        give_cell(s, text);
}

static void check_names(const source *s)
{
    cli_rows *rows = s->rows;
    for (size_t i = 0; i < s->columns; i++)
        if (strcmp(s->names[i].data, rows->needed) == 0)
            return;
    stop_rows(rows, cli_usage(rows->cli, "%s has no column '%s' in its first row", rows->file,
                              rows->needed));
}

/* libcsv has read a row. */
static void on_row(int end, void *arg)
{
    source *s = arg;
    (void)end;
    if (s->rows->failed)
        return;
    if (s->rows->row == 1)
        check_names(s);
    else if (s->column)
        s->rows->end(s->rows->arg);
    if (!s->rows->failed) /* messages name the row that was wrong */
        s->rows->row++;
    s->column = 0;
}

/* The last row of a file that ends inside of quotes. */
static void give_open_row(source *s)
{
    const cli_rows *rows = s->rows;
    if (s->column == 0)
        rows->begin(rows->arg);
    rows->bad(rows->arg, "a quote is not closed: the rest of the file is in it");
    rows->end(rows->arg);
}

static void end_table(source *s, struct csv_parser *parser)
{
    csv_set_opts(parser, CSV_APPEND_NULL | CSV_STRICT | CSV_STRICT_FINI);
    if (csv_fini(parser, on_cell, on_row, s) != 0)
        give_open_row(s);
}

static void parse_chunks(source *s, struct csv_parser *parser)
{
    char chunk[CHUNK];
    size_t len;
    s->rows->row = 1;
    while (!s->rows->failed && (len = read_chunk(s, chunk)) > 0) {
        if (csv_parse(parser, chunk, len, on_cell, on_row, s) != len)
            stop_rows(s->rows, cli_fail(s->rows->cli, CLI_FAILURE, "%s: %s", s->rows->file,
                                        csv_strerror(csv_error(parser))));
        show_progress(s);
    }
    if (!s->rows->failed)
        end_table(s, parser);
}

static void read_table(source *s, char separator)
{
    struct csv_parser parser;
    if (csv_init(&parser, CSV_APPEND_NULL) != 0) {
        no_memory(s->rows);
        return;
    }
    csv_set_delim(&parser, (unsigned char)separator);
    parse_chunks(s, &parser);
    csv_free(&parser);
    for (size_t i = 0; i < s->columns; i++)
        free((char *)s->names[i].data);
    free(s->names);
}

/* ---- Files --------------------------------------------------------------- */

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), end = strlen(ending);
    return len >= end && strcasecmp(name + len - end, ending) == 0;
}

/* The format by the file's name; NULL: not known. */
static const char *format_of(const char *path)
{
    static const char *const endings[][2] = {
        {".csv", "csv"},     {".csv.gz", "csv"},     {".tsv", "tsv"},      {".tsv.gz", "tsv"},
        {".jsonl", "jsonl"}, {".jsonl.gz", "jsonl"}, {".ndjson", "jsonl"}, {".ndjson.gz", "jsonl"}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(path, endings[i][0]))
            return endings[i][1];
    return NULL;
}

/* Size of the file, for the progress bar; 0: not known. */
static uint64_t size_of(const char *path)
{
    struct stat about;
    bool known = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    return known ? (uint64_t)about.st_size : 0;
}

/* The format by the first line: a line of JSON is an object, and names with a tab between them are
 * those of a table with tabs. NULL: there is none. */
static const char *format_by_content(source *s)
{
    int read = gzread(s->file, s->head, HEAD);
    if (read <= 0)
        return NULL;
    s->head_len = (size_t)read;
    size_t mark = mark_length((tkl_bytes){s->head, s->head_len});
    const char *text = s->head + mark;
    const char *end = memchr(text, '\n', s->head_len - mark);
    size_t len = end ? (size_t)(end - text) : s->head_len - mark;
    if (len && text[0] == '{')
        return "jsonl";
    return memchr(text, '\t', len) ? "tsv" : "csv";
}

static void read_source(source *s, const char *format)
{
    cli_progress_start(&s->rows->bar, s->rows->file, size_of(s->rows->file));
    if (strcmp(format, "jsonl") == 0)
        read_lines(s);
    else
        read_table(s, strcmp(format, "tsv") == 0 ? '\t' : ',');
    cli_progress_end(&s->rows->bar);
}

static void check_read(const source *s)
{
    int error = Z_OK;
    const char *why = gzerror(s->file, &error);
    if (error != Z_OK && error != Z_STREAM_END)
        stop_rows(s->rows, cli_fail(s->rows->cli, CLI_FAILURE, "cannot read %s: %s", s->rows->file,
                                    error == Z_ERRNO ? strerror(errno) : why));
}

int cli_rows_read(cli_rows *rows, const char *path, const char *format)
{
    bool is_input = strcmp(path, "-") == 0;
    source s = {.rows = rows};
    rows->file = is_input ? "standard input" : path;
    rows->row = 0;
    s.file = is_input ? gzdopen(0, "rb") : gzopen(path, "rb");
    if (!s.file)
        return rows->failed =
                   cli_fail(rows->cli, CLI_FAILURE, "cannot open %s: %s", path, strerror(errno));
    format = format ? format : format_of(path);
    if (!format)
        format = format_by_content(&s);
    if (format)
        read_source(&s, format);
    else if (gzeof(s.file))
        rows->failed = cli_usage(rows->cli, "%s: it is empty", rows->file);
    check_read(&s);
    gzclose(s.file);
    return rows->failed;
}
