/* SPDX-License-Identifier: MIT
 *
 * An import: the rows read so far.
 */
#ifndef TKL_IP_IMPORT_H
#define TKL_IP_IMPORT_H

#include "ip/address.h"
#include "ip/intern.h"
#include "ip/ip.h"
#include "ip/place.h"

/* The origin of a row. */
typedef struct tkl__ip_origin {
    uint32_t file; /* index into the import's files */
    uint32_t line;
} tkl__ip_origin;

typedef struct tkl__ip_row {
    tkl__ip_span span;
    uint32_t spot; /* number of its spot */
    tkl__ip_origin origin;
} tkl__ip_row;

struct tkl_ip_import {
    tkl_ip *ip;
    tkl_ip_import_options options;

    /* Places by number: `places` has their packed forms, `ids` their ids, in the same order. */
    tkl__ip_intern ids, places;
    /* The spots of ranges: the id of a place and perhaps a position, packed as a place. */
    tkl__ip_intern spots;
    tkl__ip_row *rows;
    size_t count;
    bool unsorted; /* some row does not begin after the row before it */

    char **files; /* the first is "", for rows from memory */
    uint32_t nfiles;
    uint32_t added; /* number of rows from memory */
    tkl_ip_problem *problems;
    size_t nproblems;
    tkl_ip_import_stats stats;
    tkl_ip_progress progress;
    bool broken; /* a file could not be read completely */
    bool committed;
};

int tkl__ip_add_file(tkl_ip_import *import, const char *path, uint32_t *index);

/* Counts a bad row, and describes it unless enough rows were described. */
int tkl__ip_report(tkl_ip_import *import, tkl__ip_origin origin, const char *format, ...)
    TKL_PRINTF(3, 4);

/* Adds a place or a range; a bad one is reported. `spot` has an id and perhaps a position. */
int tkl__ip_add_place(tkl_ip_import *import, const tkl_ip_place *place, tkl__ip_origin origin);
int tkl__ip_add_range(tkl_ip_import *import, const tkl__ip_span *span, const tkl_ip_place *spot,
                      tkl__ip_origin origin);

/* Sends all rows, which are sorted and do not overlap, and switches the table to them. */
int tkl__ip_send(tkl_ip_import *import);

/* TKL_EINVAL: the columns that the options name do not make files. */
int tkl__ip_check_columns(const tkl_ip_import_options *options);

void tkl__ip_tell_progress(tkl_ip_import *import);

#endif
