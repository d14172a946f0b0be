/* SPDX-License-Identifier: MIT
 *
 * Places on the globe: finds places near a point, nearest first.
 *
 *     tkl_geo *shops;
 *     tkl_geo_places *near;
 *     TKL_TRY(tkl_geo_open(client, tkl_str("shops"), NULL, &shops));
 *     TKL_TRY(tkl_geo_add(shops, &(tkl_geo_place){.name = tkl_str("harbour"), .longitude = 9.99,
 *                                                 .latitude = 53.54}, 1, NULL));
 *     TKL_TRY(tkl_geo_near(shops, &(tkl_geo_query){.longitude = 10, .latitude = 53.5, .radius = 20,
 *                                                  .unit = TKL_GEO_KM, .max = 10}, &near));
 *     for (size_t i = 0; i < near->count; i++)
 *         printf(TKL_FMT "\n", TKL_ARG(near->items[i].name));
 *     tkl_geo_places_free(near);
 *
 * The server stores places in sorted sets with geohashes of 52 bits: positions are exact to 0.6 m,
 * and distances, which are computed on a sphere, to 0.5 %. Longitudes are from -180 to 180;
 * latitudes from -85.05112878 to 85.05112878: the poles are not on this map.
 *
 * Threads: a handle may be used by several threads. Fork: a child may use the handle. Callbacks:
 * none. Keys: one for each name; it is removed with its last place or by tkl_geo_drop(), or expires
 * after `ttl_ms`.
 */
#ifndef TACKLE_GEO_H
#define TACKLE_GEO_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_geo tkl_geo;

typedef enum tkl_geo_unit {
    TKL_GEO_M = 0,
    TKL_GEO_KM = 1,
    TKL_GEO_MI = 2,
    TKL_GEO_FT = 3,
} tkl_geo_unit;

TKL_API const char *tkl_geo_unit_name(tkl_geo_unit unit); /* "m" */

/* All zero means the defaults. */
typedef struct tkl_geo_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t ttl_ms;     /* all places expire this long after the last change; 0: they stay */
    TKL_RESERVED(8);
} tkl_geo_options;

typedef struct tkl_geo_place {
    tkl_bytes name;
    double longitude, latitude; /* degrees */
    double distance;            /* results only: distance from the centre, in the unit of the
                                   query */
    uint64_t hash;              /* results only: the geohash as a number of 52 bits */
    TKL_RESERVED(4);
} tkl_geo_place;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_geo_open(tkl_client *client, tkl_bytes name, const tkl_geo_options *options,
                         tkl_geo **geo) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the places. NULL is fine. */
TKL_API void tkl_geo_close(tkl_geo *geo);
/* Removes all places. TKL_NOTFOUND: there were none. */
TKL_API int tkl_geo_drop(tkl_geo *geo) TKL_NONNULL(1) TKL_CHECK;

/* Adds places, or moves existing ones, in one round trip. *added (may be NULL): how many are
 * new. */
TKL_API int tkl_geo_add(tkl_geo *geo, const tkl_geo_place *places, size_t count, int64_t *added)
    TKL_NONNULL(1) TKL_CHECK;
/* Removes places. *removed (may be NULL): how many existed. */
TKL_API int tkl_geo_remove(tkl_geo *geo, const tkl_bytes *names, size_t count, int64_t *removed)
    TKL_NONNULL(1) TKL_CHECK;

/* The distance between two places. TKL_NOTFOUND: one of them does not exist. */
TKL_API int tkl_geo_distance(tkl_geo *geo, tkl_bytes a, tkl_bytes b, tkl_geo_unit unit,
                             double *distance) TKL_NONNULL(1, 5) TKL_CHECK;

typedef struct tkl_geo_position {
    bool found;
    double longitude, latitude;
    TKL_RESERVED(2);
} tkl_geo_position;

/* The positions of places. `positions` has room for `count`. */
TKL_API int tkl_geo_positions(tkl_geo *geo, const tkl_bytes *names, size_t count,
                              tkl_geo_position *positions) TKL_NONNULL(1) TKL_CHECK;

/* The geohashes of places in the usual form of 11 characters; "" for a place that does not exist.
 * This type is frozen. */
typedef char tkl_geo_text[12];
TKL_API int tkl_geo_hashes(tkl_geo *geo, const tkl_bytes *names, size_t count, tkl_geo_text *hashes)
    TKL_NONNULL(1) TKL_CHECK;

/* ---- Geohashes ----------------------------------------------------------- */

#define TKL_GEO_HASH_MAX   11 /* characters */
#define TKL_GEO_PREFIX_MAX 10 /* characters, for tkl_geo_within() */

/* A cell of the globe, which a geohash names: 5000 km wide for one character, 5 km for five, 5 m
 * for nine. */
typedef struct tkl_geo_cell {
    double west, south, east, north; /* edges, in degrees */
    double longitude, latitude;      /* the centre */
    TKL_RESERVED(2);
} tkl_geo_cell;

/* No I/O. The geohash of a point, 1 to TKL_GEO_HASH_MAX characters long. Latitudes are from -90 to
 * 90 here. TKL_EINVAL. */
TKL_API int tkl_geo_encode(double longitude, double latitude, size_t length, tkl_geo_text hash)
    TKL_NONNULL(4) TKL_CHECK;
/* No I/O. The cell of a geohash, in letters of any case. TKL_EINVAL: not a geohash. */
TKL_API int tkl_geo_decode(const char *hash, tkl_geo_cell *cell) TKL_NONNULL(1, 2) TKL_CHECK;
/* No I/O. The geohashes of the cells around it: north, north-east, east, south-east, south,
 * south-west, west, north-west. "" where there is none, beyond a pole. TKL_EINVAL: not a geohash. */
TKL_API int tkl_geo_neighbours(const char *hash, tkl_geo_text neighbours[8])
    TKL_NONNULL(1, 2) TKL_CHECK;

/* An area: a circle or a box around a point or a place. */
typedef struct tkl_geo_query {
    tkl_bytes member;           /* the place at the centre; empty: use the point below */
    double longitude, latitude; /* degrees */
    double radius;              /* radius of the circle; 0: use the box below */
    double width, height;       /* full width and height of the box */
    tkl_geo_unit unit;          /* unit of these lengths, and of the distances in results */
    int64_t max;                /* most places to return; 0: all */
    bool farthest;              /* farthest first, instead of nearest first */
    TKL_RESERVED(8);
} tkl_geo_query;

typedef struct tkl_geo_places {
    const tkl_geo_place *items;
    size_t count;
} tkl_geo_places; /* frozen */

/* Finds the places in the area, nearest first, in one round trip. TKL_NOTFOUND: the place at the
 * centre does not exist. */
TKL_API int tkl_geo_near(tkl_geo *geo, const tkl_geo_query *query, tkl_geo_places **places)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
/* Finds the places whose geohashes begin with `hash`, at most TKL_GEO_PREFIX_MAX characters; those
 * that are nearest to the centre of the cell come first, at most `max` (0: all). Distances are from
 * that centre, in metres. One round trip; seldom more, when many other places lie beside a cell
 * near a pole. TKL_EINVAL: not a geohash, or too long. */
TKL_API int tkl_geo_within(tkl_geo *geo, const char *hash, int64_t max, tkl_geo_places **places)
    TKL_NONNULL(1, 2, 4) TKL_CHECK;
TKL_API void tkl_geo_places_free(tkl_geo_places *places); /* NULL is fine */

/* Counts the places in the area without fetching them, up to `max` (0: all). */
TKL_API int tkl_geo_count(tkl_geo *geo, const tkl_geo_query *query, int64_t *count)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;

/* All names that have places. See tkl_options.no_register. */
TKL_API int tkl_geo_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
