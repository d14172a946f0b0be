/* SPDX-License-Identifier: MIT
 *
 * Reading CSV files. The text is passed to libcsv line by line, so that the line number is known.
 */
#include "ip/csv.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "core/buf.h"
#include "core/error.h"

enum {
    BLOCK = 256 * 1024,
    GROWTH = 16 * 1024,
    BETWEEN_ROWS = 0, /* states of libcsv's parser */
    INSIDE_FIELD = 2,
};

typedef struct reader {
    const char *path;
    gzFile file;
    struct csv_parser parser;
    tkl__ip_csv_visit *visit;
    void *arg;
    int rc;
    uint64_t line; /* number of the current line */
    tkl__ip_csv_row row;
    tkl__buf text; /* fields of the row, one after the other */
    size_t lengths[TKL__CSV_FIELDS_MAX];
    tkl_bytes fields[TKL__CSV_FIELDS_MAX];
} reader;

/* ---- Rows ---------------------------------------------------------------- */

static void on_field(void *data, size_t len, void *arg)
{
    reader *r = arg;
    if (r->row.count == TKL__CSV_FIELDS_MAX)
        return;
    tkl__buf_add(&r->text, data, len);
    r->lengths[r->row.count++] = len;
}

/* Says that no character is a blank: libcsv would cut blanks off the ends of a field, but they
 * belong to it (RFC 4180). */
static int no_character(unsigned char c)
{
    (void)c;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static tkl_bytes trim(tkl_bytes text)
{
    while (text.len > 0 && is_blank(text.data[text.len - 1]))
        text.len--;
    while (text.len > 0 && is_blank(*text.data))
        text = (tkl_bytes){text.data + 1, text.len - 1};
    return text;
}

static bool is_empty(const tkl__ip_csv_row *row)
{
    return row->count == 1 && trim(row->fields[0]).len == 0;
}

static void on_row(int end, void *arg)
{
    reader *r = arg;
    const char *at = r->text.data;
    (void)end;
    for (size_t i = 0; i < r->row.count; i++) {
        r->fields[i] = (tkl_bytes){at, r->lengths[i]};
        at += r->lengths[i];
    }
    r->row.fields = r->fields;
    if (r->text.failed)
        r->rc = tkl__nomem();
    if (r->rc == TKL_OK && !is_empty(&r->row))
        r->rc = r->visit(&r->row, r->arg);
    r->row.count = 0;
    tkl__buf_clear(&r->text);
}

/* ---- Text ---------------------------------------------------------------- */

static void *bounded_realloc(void *old, size_t size)
{
    return size > TKL__CSV_FIELD_BYTES_MAX ? NULL : realloc(old, size);
}

static int not_closed(reader *r)
{
    return tkl__fail(TKL_EINVAL, "%s: line %llu: a quote is not closed", r->path,
                     (unsigned long long)r->row.line);
}

/* Reports a field that libcsv could not store. */
static int too_long(reader *r)
{
    if (r->parser.quoted)
        return not_closed(r);
    return tkl__fail(TKL_EINVAL, "%s: line %llu: a field has more than %d bytes", r->path,
                     (unsigned long long)r->row.line, TKL__CSV_FIELD_BYTES_MAX);
}

/* Parses a part of one line. */
static void parse_piece(reader *r, const char *text, size_t len)
{
    if (r->parser.pstate == BETWEEN_ROWS)
        r->row.line = r->line;
    if (csv_parse(&r->parser, text, len, on_field, on_row, r) != len && r->rc == TKL_OK)
        r->rc = too_long(r);
}

static void parse_block(reader *r, const char *text, size_t len)
{
    r->row.file_read = (uint64_t)gzoffset(r->file);
    while (len > 0 && r->rc == TKL_OK) {
        const char *newline = memchr(text, '\n', len);
        size_t piece = newline ? (size_t)(newline - text) + 1 : len;
        parse_piece(r, text, piece);
        r->line += newline != NULL;
        text += piece;
        len -= piece;
    }
}

static size_t mark_length(const char *text, size_t len)
{
    static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};
    size_t size = sizeof byte_order_mark;
    return len >= size && memcmp(text, byte_order_mark, size) == 0 ? size : 0;
}

/* ---- Files --------------------------------------------------------------- */

static int cannot_read(const reader *r)
{
    int number;
    const char *text = gzerror(r->file, &number);
    return number == Z_ERRNO ? tkl__fail_errno(TKL_EIO, "cannot read %s", r->path)
                             : tkl__fail(TKL_EIO, "cannot read %s: %s", r->path, text);
}

static void read_all(reader *r)
{
    char *block = malloc(BLOCK);
    int n = 0;
    bool first = true;
    if (!block)
        r->rc = tkl__nomem();
    while (r->rc == TKL_OK && (n = gzread(r->file, block, BLOCK)) > 0) {
        size_t skip = first ? mark_length(block, (size_t)n) : 0;
        parse_block(r, block + skip, (size_t)n - skip);
        first = false;
    }
    if (r->rc == TKL_OK && n < 0)
        r->rc = cannot_read(r);
    if (r->rc == TKL_OK && r->parser.quoted && r->parser.pstate == INSIDE_FIELD)
        r->rc = not_closed(r);
    if (r->rc == TKL_OK) /* the last row may have no newline */
        csv_fini(&r->parser, on_field, on_row, r);
    free(block);
}

static void open_file(reader *r)
{
    struct stat about;
    r->file = gzopen(r->path, "rbe");
    if (!r->file) {
        r->rc = tkl__fail_errno(TKL_EIO, "cannot open %s", r->path);
        return;
    }
    gzbuffer(r->file, BLOCK);
    if (stat(r->path, &about) == 0 && S_ISREG(about.st_mode))
        r->row.file_bytes = (uint64_t)about.st_size;
}

int tkl__ip_csv_read(const char *path, tkl__ip_csv_visit *visit, void *arg)
{
    reader r = {.path = path, .visit = visit, .arg = arg, .line = 1, .row = {.line = 1}};
    tkl__buf_init(&r.text);
    csv_init(&r.parser, 0);
    csv_set_realloc_func(&r.parser, bounded_realloc);
    csv_set_blk_size(&r.parser, GROWTH);
    csv_set_space_func(&r.parser, no_character);
    open_file(&r);
    if (r.rc == TKL_OK)
        read_all(&r);
    if (r.file && gzclose_r(r.file) == Z_BUF_ERROR && r.rc == TKL_OK)
        r.rc = tkl__fail(TKL_EIO, "%s is cut off: the compressed data has no end", path);
    csv_free(&r.parser);
    tkl__buf_free(&r.text);
    return r.rc;
}

/* ---- Columns ------------------------------------------------------------- */

tkl_bytes tkl__ip_csv_field(const tkl__ip_csv_row *row, int index)
{
    return index >= 0 && (size_t)index < row->count ? row->fields[index] : (tkl_bytes){NULL, 0};
}

tkl_bytes tkl__ip_csv_word(const tkl__ip_csv_row *row, int index)
{
    return trim(tkl__ip_csv_field(row, index));
}

/* Whether a heading is this name, in lower case. */
static bool is_called(tkl_bytes heading, const char *name)
{
    size_t i = 0;
    for (; i < heading.len && name[i]; i++) {
        char c = heading.data[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != name[i])
            return false;
    }
    return i == heading.len && !name[i];
}

bool tkl__ip_csv_knows(tkl_bytes heading, const tkl__ip_csv_column *columns)
{
    while (columns->name && !is_called(trim(heading), columns->name))
        columns++;
    return columns->name != NULL;
}

void tkl__ip_csv_header(const tkl__ip_csv_row *row, const tkl__ip_csv_column *columns, int *at,
                        size_t fields)
{
    for (size_t f = 0; f < fields; f++)
        at[f] = -1;
    for (; columns->name; columns++)
        for (size_t i = 0; i < row->count && at[columns->field] < 0; i++)
            if (is_called(trim(row->fields[i]), columns->name))
                at[columns->field] = (int)i;
}
