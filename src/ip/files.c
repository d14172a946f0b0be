/* SPDX-License-Identifier: MIT
 *
 * Files of places and of ranges: their columns, and the meaning of the rows.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "ip/csv.h"
#include "ip/import.h"

enum {
    COLUMNS_MAX = 64,
    HEADER_ROWS = 5,       /* one of these rows has the names of the columns; the others are notes
                              */
    PROGRESS_ROWS = 16384, /* rows between two calls of the progress function */
    SHOWN = 48,            /* bytes of a field in a message */
};

/* ---- Columns ------------------------------------------------------------- */

enum {
    ID,
    CITY,
    REGION,
    COUNTRY,
    CODE,
    CONTINENT,
    ZONE,
    POSTAL,
    LATITUDE,
    LONGITUDE
}; /* place.c */

static const tkl__ip_csv_column place_columns[] = {
    {"geoname_id", ID},
    {"locid", ID},
    {"city_name", CITY},
    {"city", CITY},
    {"subdivision_1_name", REGION},
    {"region", REGION},
    {"country_name", COUNTRY},
    {"country", COUNTRY},
    {"country_iso_code", CODE},
    {"continent_name", CONTINENT},
    {"continent_code", CONTINENT},
    {"time_zone", ZONE},
    {"postal_code", POSTAL},
    {"postalcode", POSTAL},
    {"latitude", LATITUDE},
    {"longitude", LONGITUDE},
    {NULL, 0},
};

/* Fields of ranges: all fields of a place, and these. */
enum { NETWORK = TKL__IP_FIELDS, FIRST, LAST, COUNTRY_ID, BLOCK_FIELDS };

static const tkl__ip_csv_column block_columns[] = {
    {"network", NETWORK},
    {"startipnum", FIRST},
    {"start_ip", FIRST},
    {"endipnum", LAST},
    {"end_ip", LAST},
    {"geoname_id", ID},
    {"locid", ID},
    {"registered_country_geoname_id", COUNTRY_ID},
    {"postal_code", POSTAL},
    {"latitude", LATITUDE},
    {"longitude", LONGITUDE},
    {NULL, 0},
};

/* ---- Reading ------------------------------------------------------------- */

typedef struct reading {
    tkl_ip_import *import;
    uint32_t file;
    bool begun;           /* the columns are known */
    int seen;             /* number of rows before the columns were known */
    int at[BLOCK_FIELDS]; /* index of the column of each field */
} reading;

static bool knows_places(reading *r, const tkl__ip_csv_row *row)
{
    tkl__ip_csv_header(row, place_columns, r->at, TKL__IP_FIELDS);
    return r->at[ID] >= 0;
}

static bool knows_blocks(reading *r, const tkl__ip_csv_row *row)
{
    tkl__ip_csv_header(row, block_columns, r->at, BLOCK_FIELDS);
    return r->at[ID] >= 0 && (r->at[NETWORK] >= 0 || (r->at[FIRST] >= 0 && r->at[LAST] >= 0));
}

static void count_row(reading *r, const tkl__ip_csv_row *row)
{
    tkl_ip_import *import = r->import;
    import->progress.rows = ++import->stats.rows;
    import->progress.file_bytes = row->file_bytes;
    import->progress.file_read = row->file_read;
    if (import->stats.rows % PROGRESS_ROWS == 0)
        tkl__ip_tell_progress(import);
}

static tkl__ip_origin origin_of(const reading *r, const tkl__ip_csv_row *row)
{
    return (tkl__ip_origin){.file = r->file, .line = (uint32_t)row->line};
}

static void fill_place(const reading *r, const tkl__ip_csv_row *row, tkl_ip_place *place)
{
    *place = (tkl_ip_place){0};
    for (int f = 0; f < TKL__IP_FIELDS; f++)
        *tkl__ip_field(place, f) = f == ID || f == LATITUDE || f == LONGITUDE
                                       ? tkl__ip_csv_word(row, r->at[f])
                                       : tkl__ip_csv_field(row, r->at[f]);
}

static int read_place(reading *r, const tkl__ip_csv_row *row)
{
    tkl_ip_place place;
    fill_place(r, row, &place);
    return tkl__ip_add_place(r->import, &place, origin_of(r, row));
}

static int report_field(const reading *r, const tkl__ip_csv_row *row, tkl_bytes field,
                        const char *wrong)
{
    int shown = field.len < SHOWN ? (int)field.len : SHOWN;
    return tkl__ip_report(r->import, origin_of(r, row), "'%.*s%s': %s", shown,
                          field.data ? field.data : "", field.len > SHOWN ? "..." : "", wrong);
}

/* Whether the row has all columns that a range needs. */
static bool is_whole(const reading *r, const tkl__ip_csv_row *row)
{
    static const int needed[] = {ID, NETWORK, FIRST, LAST, COUNTRY_ID};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (r->at[needed[i]] >= (int)row->count)
            return false;
    return true;
}

static const char *parse_span(const reading *r, const tkl__ip_csv_row *row, tkl__ip_span *span)
{
    if (r->at[NETWORK] >= 0)
        return tkl__ip_parse_range(tkl__ip_csv_word(row, r->at[NETWORK]), span);
    return tkl__ip_parse_ends(tkl__ip_csv_word(row, r->at[FIRST]),
                              tkl__ip_csv_word(row, r->at[LAST]), span);
}

static int read_block(reading *r, const tkl__ip_csv_row *row)
{
    tkl__ip_span span;
    tkl_ip_place spot;
    if (!is_whole(r, row))
        return tkl__ip_report(r->import, origin_of(r, row), "a column is missing");
    const char *wrong = parse_span(r, row, &span);
    if (wrong)
        return report_field(
            r, row, tkl__ip_csv_field(row, r->at[r->at[NETWORK] >= 0 ? NETWORK : FIRST]), wrong);
    fill_place(r, row, &spot);
    if (spot.id.len == 0)
        spot.id = tkl__ip_csv_word(row, r->at[COUNTRY_ID]);
    if (spot.id.len == 0) {
        r->import->stats.without_place++;
        return TKL_OK;
    }
    return tkl__ip_add_range(r->import, &span, &spot, origin_of(r, row));
}

static int visit_place(const tkl__ip_csv_row *row, void *arg)
{
    reading *r = arg;
    if (!r->begun) {
        r->begun = knows_places(r, row);
        return r->begun || ++r->seen < HEADER_ROWS ? TKL_OK : TKL_EMPTY;
    }
    count_row(r, row);
    return read_place(r, row);
}

static int visit_block(const tkl__ip_csv_row *row, void *arg)
{
    reading *r = arg;
    if (!r->begun) {
        r->begun = knows_blocks(r, row);
        return r->begun || ++r->seen < HEADER_ROWS ? TKL_OK : TKL_EMPTY;
    }
    count_row(r, row);
    return read_block(r, row);
}

/* ---- Files --------------------------------------------------------------- */

/* A kind of files. */
typedef struct kind {
    const char *option; /* the field that names the columns */
    const tkl__ip_csv_column *columns;
    bool (*knows)(reading *r, const tkl__ip_csv_row *row);
    tkl__ip_csv_visit *visit;
    const char *needed; /* names of columns */
} kind;

static const kind places = {.option = "place_columns",
                            .columns = place_columns,
                            .knows = knows_places,
                            .visit = visit_place,
                            .needed = "geoname_id or locId"};
static const kind blocks = {.option = "columns",
                            .columns = block_columns,
                            .knows = knows_blocks,
                            .visit = visit_block,
                            .needed = "network and geoname_id, or startIpNum, endIpNum and locId"};

/* Reads the columns of the file from a list of names. NULL: a row of the file names them. */
static int begin_with(reading *r, const kind *k, const char *names)
{
    tkl_bytes fields[COLUMNS_MAX];
    tkl__ip_csv_row row = {.fields = fields};
    for (const char *at = names, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ",");
        tkl_bytes name = {at, (size_t)(end - at)};
        if (row.count == COLUMNS_MAX)
            return tkl__fail(TKL_EINVAL, "%s: more than %d", k->option, COLUMNS_MAX);
        if (strspn(at, " ") < name.len && !tkl__ip_csv_knows(name, k->columns))
            return tkl__fail(TKL_EINVAL, "%s: there is no column '" TKL_FMT "'", k->option,
                             TKL_ARG(name));
        fields[row.count++] = name;
    }
    r->begun = names && k->knows(r, &row);
    return !names || r->begun ? TKL_OK
                              : tkl__fail(TKL_EINVAL, "%s: %s are needed", k->option, k->needed);
}

int tkl__ip_check_columns(const tkl_ip_import_options *options)
{
    reading r = {0};
    int rc = begin_with(&r, &blocks, options->columns);
    return rc == TKL_OK ? begin_with(&r, &places, options->place_columns) : rc;
}

static int read_file(tkl_ip_import *import, const char *path, const kind *k, const char *names)
{
    reading r = {.import = import};
    for (int f = 0; f < BLOCK_FIELDS; f++)
        r.at[f] = -1;
    int rc = tkl__ip_add_file(import, path, &r.file);
    if (rc == TKL_OK)
        rc = begin_with(&r, k, names);
    if (rc == TKL_OK)
        rc = tkl__ip_csv_read(path, k->visit, &r);
    if (rc == TKL_EMPTY || (rc == TKL_OK && !r.begun))
        rc = tkl__fail(TKL_EINVAL, "%s: none of the first rows names the columns %s", path,
                       k->needed);
    import->broken |= rc != TKL_OK;
    tkl__ip_tell_progress(import);
    return rc;
}

int tkl_ip_import_places_file(tkl_ip_import *import, const char *path)
{
    return read_file(import, path, &places, import->options.place_columns);
}

int tkl_ip_import_blocks_file(tkl_ip_import *import, const char *path)
{
    return read_file(import, path, &blocks, import->options.columns);
}
