/* SPDX-License-Identifier: MIT
 *
 * From an IP address to a place. A table of address ranges, IPv4 and IPv6 together, is imported
 * from CSV files and looked up in one round trip.
 *
 *     tkl_ip *ip;
 *     tkl_ip_answers *answers;
 *     tkl_bytes address = tkl_str("203.0.113.9");
 *     TKL_TRY(tkl_ip_open(client, tkl_str("geo"), NULL, &ip));
 *     if (tkl_ip_lookup(ip, &address, 1, &answers) == TKL_OK && answers->items[0].known)
 *         printf(TKL_FMT "\n", TKL_ARG(answers->items[0].place.city));
 *     tkl_ip_answers_free(answers);
 *
 * An import builds a new generation of the table beside the old one and switches to it in one step.
 * Every look-up is answered by one whole generation. An import that fails or is killed leaves the
 * old table as it was.
 *
 * Threads: a tkl_ip may be used by several threads; a tkl_ip_import belongs to one at a time.
 * fork(): a child may go on using a tkl_ip, not an import. Callbacks: `progress` runs in the
 * importing thread. Keys: the table stays until tkl_ip_drop(). Data of an import that was killed
 * expires after two minutes.
 */
#ifndef TACKLE_IP_H
#define TACKLE_IP_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_ip tkl_ip;
typedef struct tkl_ip_import tkl_ip_import;

typedef struct tkl_ip_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t cache_size; /* number of addresses in the handle's cache, at most 16777216; 0: no
                           cache */
    int64_t cache_ms;   /* how long the cache keeps an answer: for this long after an import,
                           answers may be of the previous generation; 0: 10000 */
    TKL_RESERVED(8);
} tkl_ip_options;

/* No I/O. `name`: the table's, 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_ip_open(tkl_client *client, tkl_bytes name, const tkl_ip_options *options,
                        tkl_ip **ip) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the table. NULL is fine. */
TKL_API void tkl_ip_close(tkl_ip *ip);

/* ---- Looking up ---------------------------------------------------------- */

/* A place, as the files describe it. Fields that the files do not have are empty. */
typedef struct tkl_ip_place {
    tkl_bytes id; /* id of the place in the files: "2988507" */
    tkl_bytes city;
    tkl_bytes region;
    tkl_bytes country;
    tkl_bytes country_code; /* "FR" */
    tkl_bytes continent;
    tkl_bytes time_zone; /* "Europe/Paris" */
    tkl_bytes postal_code;
    tkl_bytes latitude; /* a decimal number as text, as the files have it */
    tkl_bytes longitude;
    TKL_RESERVED(4);
} tkl_ip_place;

typedef struct tkl_ip_answer {
    tkl_bytes address;  /* as asked */
    bool known;         /* false: in no range; the fields below are empty */
    tkl_bytes network;  /* "203.0.113.0/24"; "first-last" when the range is not one network */
    tkl_ip_place place; /* place of the range */
    TKL_RESERVED(4);
} tkl_ip_answer;

/* One object: free it with tkl_ip_answers_free(). */
typedef struct tkl_ip_answers {
    const tkl_ip_answer *items; /* one for each address, in order */
    size_t count;
} tkl_ip_answers;

/* Looks up addresses ("203.0.113.9", "2001:db8::1"), in one round trip; the first call of a handle
 * and the first after an import take one more. IPv4 addresses written as IPv6 (::ffff:1.2.3.4) are
 * the IPv4 ones. TKL_EINVAL: one of them is not an address; nothing was looked up. TKL_NOTFOUND:
 * there is no such table. TKL_EDAMAGED: part of the table is gone (evicted) or overwritten. */
TKL_API int tkl_ip_lookup(tkl_ip *ip, const tkl_bytes *addresses, size_t count,
                          tkl_ip_answers **answers) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_ip_answers_free(tkl_ip_answers *answers); /* NULL is fine */

/* ---- Importing ----------------------------------------------------------- */

typedef struct tkl_ip_progress {
    uint64_t rows;       /* read so far, from all files */
    uint64_t file_bytes; /* size on disk of the file being read; 0: not known (a pipe) */
    uint64_t file_read;  /* bytes of this file read so far */
    uint64_t sent;       /* ranges sent to the server */
    TKL_RESERVED(4);
} tkl_ip_progress;

typedef struct tkl_ip_import_options {
    int64_t max_bad;     /* most bad rows: with more, tkl_ip_import_commit() refuses the import. Bad
                            rows are left out. 0: none. TKL_NONE: no limit */
    int64_t max_reports; /* most bad rows that are described; all are counted; 0: 100 */
    /* Called now and then during the import, in the importing thread. NULL: not called. */
    void (*progress)(const tkl_ip_progress *progress, void *arg);
    void *arg;
    int64_t timeout_ms; /* time-out of one request; 0: the handle's */
    /* The names of the columns of files without a row of names, separated by commas, in the order
     * of the columns: "start_ip,end_ip,,locId". Columns without a name are ignored. NULL: one of
     * the first rows of a file has the names. Copied. TKL_EINVAL: an unknown name, or a name that
     * is needed is missing; docs/ip.md lists them. */
    const char *columns;       /* columns of files of ranges */
    const char *place_columns; /* columns of files of places */
    TKL_RESERVED(8);
} tkl_ip_import_options;

typedef struct tkl_ip_range {
    tkl_bytes network; /* "203.0.113.0/24", "203.0.113.0-203.0.113.77", or one address */
    tkl_bytes place;   /* id of its place */
    TKL_RESERVED(2);
} tkl_ip_range;

/* Begins an import. Nothing is sent before tkl_ip_import_commit(). The table's handle must outlive
 * the import. `options` may be NULL. */
TKL_API int tkl_ip_import_open(tkl_ip *ip, const tkl_ip_import_options *options,
                               tkl_ip_import **import) TKL_NONNULL(1, 3) TKL_CHECK;
/* Ends the import. Data that was not committed is dropped. NULL is fine. */
TKL_API void tkl_ip_import_close(tkl_ip_import *import);

/* Reads places from a CSV file, which may be compressed by gzip. Columns are found by the names in
 * the first rows: geoname_id (or locId), city_name (city), subdivision_1_name (region),
 * country_name (country), country_iso_code, continent_name (continent_code), time_zone, postal_code
 * (postalCode), latitude, longitude. Only the first is required. TKL_EIO: the file cannot be read.
 * TKL_EINVAL: the file does not have this format. */
TKL_API int tkl_ip_import_places_file(tkl_ip_import *import, const char *path)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* Reads ranges from a CSV file; call it after the places. The file has ranges either by network:
 * network, geoname_id and perhaps registered_country_geoname_id (used when geoname_id is empty),
 * postal_code, latitude, longitude. Or by numbers: startIpNum, endIpNum, locId; addresses instead
 * of numbers are fine. A range without an id is left out: its addresses stay unknown. */
TKL_API int tkl_ip_import_blocks_file(tkl_ip_import *import, const char *path)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* The same from memory. A bad place or range is counted and described, as a bad row is. */
TKL_API int tkl_ip_import_add_places(tkl_ip_import *import, const tkl_ip_place *places,
                                     size_t count) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_ip_import_add_ranges(tkl_ip_import *import, const tkl_ip_range *ranges,
                                     size_t count) TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_ip_import_stats {
    uint64_t rows;          /* read: places and ranges */
    uint64_t ranges;        /* in the new generation */
    uint64_t places;        /* in the new generation: places that a range names, each once for every
                               position */
    uint64_t without_place; /* ranges left out because they name no place */
    uint64_t bad;           /* rows left out because they are bad */
    TKL_RESERVED(4);
} tkl_ip_import_stats;

/* Sends a new generation and switches to it in one step; the old one is removed without blocking
 * the server. Ranges must not overlap. When they do, the range that begins first counts, or the one
 * read first if they begin at the same address; the others are bad rows. TKL_EINVAL: too many bad
 * rows, or no range at all; the table stays as it was. TKL_ELOST: part of the new generation was
 * lost on the server meanwhile (evicted); the table stays as it was. `stats` may be NULL; it is
 * filled on every outcome. */
TKL_API int tkl_ip_import_commit(tkl_ip_import *import, tkl_ip_import_stats *stats)
    TKL_NONNULL(1) TKL_CHECK;

/* A bad row: unparsable, reversed, overlapping, repeated, or with an unknown place. */
typedef struct tkl_ip_problem {
    const char *file; /* "" for rows added from memory */
    uint64_t line;    /* line in the file, from 1; from memory: number of the place or range,
                         from 1 */
    const char *text; /* why the row is bad */
    TKL_RESERVED(2);
} tkl_ip_problem;

/* The bad rows so far, in the order in which they were found. No I/O. The array lives until the
 * import's next call. */
TKL_API void tkl_ip_import_problems(const tkl_ip_import *import, const tkl_ip_problem **problems,
                                    size_t *count) TKL_NONNULL(1, 2, 3);

/* ---- Tables -------------------------------------------------------------- */

typedef struct tkl_ip_stats {
    uint64_t ranges;
    uint64_t places;
    int64_t imported_ms; /* when its import was committed, in Unix milliseconds by the server's
                            clock */
    TKL_RESERVED(4);
} tkl_ip_stats;

/* TKL_NOTFOUND: there is no such table. */
TKL_API int tkl_ip_stats_get(tkl_ip *ip, tkl_ip_stats *stats) TKL_NONNULL(1, 2) TKL_CHECK;
/* Removes the table. TKL_NOTFOUND: there is none. */
TKL_API int tkl_ip_drop(tkl_ip *ip) TKL_NONNULL(1) TKL_CHECK;
/* The names of all tables. */
TKL_API int tkl_ip_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
