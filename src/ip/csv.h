/* SPDX-License-Identifier: MIT
 *
 * Rows of a CSV file, plain or compressed by gzip. libcsv knows quotes, zlib decompresses.
 */
#ifndef TKL_IP_CSV_H
#define TKL_IP_CSV_H

#include <tackle/common.h>

enum {
    TKL__CSV_FIELDS_MAX = 64, /* fields of a row; more are ignored */
    TKL__CSV_FIELD_BYTES_MAX =
        16 << 20, /* a longer quoted field means a quote that is never closed */
};

typedef struct tkl__ip_csv_row {
    uint64_t line; /* line where the row begins, from 1 */
    const tkl_bytes *fields;
    size_t count;
    uint64_t file_bytes; /* size of the file; 0: not known */
    uint64_t file_read;  /* bytes of it read so far */
} tkl__ip_csv_row;

/* Any result but TKL_OK stops the reading. */
typedef int tkl__ip_csv_visit(const tkl__ip_csv_row *row, void *arg);

/* Reads all rows. Empty and blank lines are not rows. TKL_EIO: the file cannot be read, or is cut
 * off. TKL_EINVAL: a quote is not closed, or a field is too long. */
int tkl__ip_csv_read(const char *path, tkl__ip_csv_visit *visit, void *arg);

/* Returns the field; empty if the row is shorter or `index` is negative. */
tkl_bytes tkl__ip_csv_field(const tkl__ip_csv_row *row, int index);
/* Returns the field without blanks at both ends, for addresses, ids and numbers. */
tkl_bytes tkl__ip_csv_word(const tkl__ip_csv_row *row, int index);

/* A possible name of a column, in any case, and its field. */
typedef struct tkl__ip_csv_column {
    const char *name; /* NULL ends a table */
    int field;
} tkl__ip_csv_column;

/* Whether a heading is the name of one of the columns. */
bool tkl__ip_csv_knows(tkl_bytes heading, const tkl__ip_csv_column *columns);

/* Finds the columns in a row of names: at[field] is the index of its column; -1: no such column. If
 * several names match a field, the first one in the table counts. */
void tkl__ip_csv_header(const tkl__ip_csv_row *row, const tkl__ip_csv_column *columns, int *at,
                        size_t fields);

#endif
