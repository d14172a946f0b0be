/* SPDX-License-Identifier: MIT
 *
 * Rows of a CSV file, plain or compressed by gzip. libcsv knows quotes, zlib decompresses.
 */
#ifndef TKL_IP_CSV_H
#define TKL_IP_CSV_H

#include <tackle/common.h>

enum {
    TKL__CSV_FIELDS_MAX = 64, /* of a row; more are ignored */
    TKL__CSV_FIELD_BYTES_MAX =
        16 << 20, /* a quoted one that is longer is a quote that never ends */
};

typedef struct tkl__ip_csv_row {
    uint64_t line; /* where it begins, from 1 */
    const tkl_bytes *fields;
    size_t count;
    uint64_t file_bytes; /* size of the file; 0: not known */
    uint64_t file_read;  /* how much of it was read */
} tkl__ip_csv_row;

/* Anything but TKL_OK ends the reading. */
typedef int tkl__ip_csv_visit(const tkl__ip_csv_row *row, void *arg);

/* Empty lines are no rows. TKL_EIO: the file cannot be read, or is cut off. TKL_EINVAL: a quote is
 * not closed, or a field is too long. */
int tkl__ip_csv_read(const char *path, tkl__ip_csv_visit *visit, void *arg);

/* The field, or empty bytes when the row is shorter or `index` is negative. */
tkl_bytes tkl__ip_csv_field(const tkl__ip_csv_row *row, int index);

/* A name that a column may have, in any case, and the field that it stands for. */
typedef struct tkl__ip_csv_column {
    const char *name; /* NULL ends a table */
    int field;
} tkl__ip_csv_column;

/* Finds the columns in a row of names: at[field] is the index of its column, -1 when there is none.
 * Of several names for a field the first of the table counts. */
void tkl__ip_csv_header(const tkl__ip_csv_row *row, const tkl__ip_csv_column *columns, int *at,
                        size_t fields);

#endif
