/* SPDX-License-Identifier: MIT
 *
 * Geohashes: cells of the globe, named by up to 11 characters of base 32. Each character halves the
 * cell five times, longitude and latitude in turns, so that a longer hash names a cell inside that
 * of its beginning.
 *
 * The hashes that the server stores have the same form and another grid: its latitudes end at
 * 85.05 degrees. So a cell is no range of its sorted set. GEOSEARCH finds the places in a box that
 * contains the cell; places beside the cell are left out here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "geo/geo.h"

#define BITS 5 /* bits that one character stands for */

static const char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";

/* Halves the cell: the bit says which half. */
static void halve(tkl_geo_cell *cell, bool longitude, bool upper)
{
    double *low = longitude ? &cell->west : &cell->south;
    double *high = longitude ? &cell->east : &cell->north;
    *(upper ? low : high) = (*low + *high) / 2;
}

static const tkl_geo_cell globe = {.west = -180, .east = 180, .south = -90, .north = 90};

int tkl_geo_encode(double longitude, double latitude, size_t length, tkl_geo_text hash)
{
    tkl_geo_cell cell = globe;
    hash[0] = '\0';
    if (length < 1 || length > TKL_GEO_HASH_MAX)
        return tkl__fail(TKL_EINVAL, "a geohash has 1 to %d characters, not %zu", TKL_GEO_HASH_MAX,
                         length);
    if (!(fabs(longitude) <= 180 && fabs(latitude) <= 90))
        return tkl__fail(TKL_EINVAL,
                         "longitudes are from -180 to 180, latitudes from -90 to 90 degrees");
    if (longitude >= 180) /* the same meridian */
        longitude = -180;
    for (size_t i = 0; i < length; i++) {
        unsigned value = 0;
        for (unsigned bit = 0; bit < BITS; bit++) {
            bool of_longitude = (i * BITS + bit) % 2 == 0;
            bool upper = of_longitude ? longitude >= (cell.west + cell.east) / 2
                                      : latitude >= (cell.south + cell.north) / 2;
            halve(&cell, of_longitude, upper);
            value = value << 1 | upper;
        }
        hash[i] = alphabet[value];
    }
    hash[length] = '\0';
    return TKL_OK;
}

int tkl_geo_decode(const char *hash, tkl_geo_cell *cell)
{
    size_t length = strlen(hash);
    tkl_geo_cell found = globe;
    *cell = (tkl_geo_cell){0};
    if (length < 1 || length > TKL_GEO_HASH_MAX)
        return tkl__fail(TKL_EINVAL, "a geohash has 1 to %d characters, not %zu", TKL_GEO_HASH_MAX,
                         length);
    for (size_t i = 0; i < length; i++) {
        char letter = hash[i] >= 'A' && hash[i] <= 'Z' ? (char)(hash[i] - 'A' + 'a') : hash[i];
        const char *at = strchr(alphabet, letter);
        if (!at)
            return tkl__fail(TKL_EINVAL,
                             "not a geohash: character %zu is not one of the digits and "
                             "the letters without a, i, l, o",
                             i + 1);
        for (unsigned bit = 0; bit < BITS; bit++)
            halve(&found, (i * BITS + bit) % 2 == 0, (at - alphabet) >> (BITS - 1 - bit) & 1);
    }
    found.longitude = (found.west + found.east) / 2;
    found.latitude = (found.south + found.north) / 2;
    *cell = found;
    return TKL_OK;
}

int tkl_geo_neighbours(const char *hash, tkl_geo_text neighbours[8])
{
    static const struct {
        int east, north;
    } steps[8] = {{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}};
    tkl_geo_cell cell;
    for (size_t i = 0; i < 8; i++)
        neighbours[i][0] = '\0';
    int rc = tkl_geo_decode(hash, &cell);
    for (size_t i = 0; rc == TKL_OK && i < 8; i++) {
        double longitude = cell.longitude + steps[i].east * (cell.east - cell.west);
        double latitude = cell.latitude + steps[i].north * (cell.north - cell.south);
        longitude -= longitude >= 180 ? 360 : longitude < -180 ? -360 : 0;
        if (fabs(latitude) < 90)
            rc = tkl_geo_encode(longitude, latitude, strlen(hash), neighbours[i]);
    }
    return rc;
}

/* ---- Places in a cell ---------------------------------------------------- */

/* The box around the centre of a cell that contains the cell. Its width is that of the parallel
 * which is nearest to the equator. A little is added: the server computes on a sphere, with
 * rounding. */
static void box_of(const tkl_geo_cell *cell, tkl_geo_query *box)
{
    static const double radius_m = 6372797.560856, degree = 3.14159265358979323846 / 180;
    double nearest = cell->south > 0 ? cell->south : cell->north < 0 ? -cell->north : 0;
    double half = (cell->east - cell->west) / 2 * degree;
    double along = 2 * asin(fmin(1, cos(nearest * degree) * sin(half / 2))); /* the great circle */
    box->width = 2 * along * radius_m * 1.001 + 2;
    box->height = (cell->north - cell->south) * degree * radius_m * 1.001 + 2;
    box->longitude = cell->longitude;
    box->latitude = fmax(-85, fmin(85, cell->latitude));
    if (fabs(cell->latitude) > 85)
        box->height += 4 * (fabs(cell->latitude) - 85) * degree * radius_m;
}

static bool is_inside(const tkl_geo_place *place, const tkl_geo_cell *cell)
{
    return place->longitude >= cell->west && place->longitude < cell->east &&
           place->latitude >= cell->south && place->latitude < cell->north;
}

int tkl_geo_within(tkl_geo *geo, const char *hash, int64_t max, tkl_geo_places **places)
{
    tkl_geo_query box = {.unit = TKL_GEO_M};
    tkl_geo_cell cell;
    *places = NULL;
    int rc = tkl__check_number("max", max, 0, INT64_MAX / 8);
    if (rc == TKL_OK)
        rc = tkl_geo_decode(hash, &cell);
    if (rc == TKL_OK && strlen(hash) > TKL_GEO_PREFIX_MAX)
        rc = tkl__fail(TKL_EINVAL,
                       "places are stored with 52 bits: the beginning of their geohashes "
                       "has at most %d characters",
                       TKL_GEO_PREFIX_MAX);
    if (rc != TKL_OK)
        return rc;
    box_of(&cell, &box);
    box.max = max > 0 ? 2 * max + 16 : 0;
    for (bool more = true; rc == TKL_OK && more;) {
        tkl_geo_places_free(*places);
        rc = tkl_geo_near(geo, &box, places);
        if (rc != TKL_OK)
            break;
        size_t asked = (size_t)box.max, found = (*places)->count;
        tkl__geo_keep(*places, is_inside, &cell, max);
        /* Places of the cell may follow behind places that are beside it. */
        more = max > 0 && found >= asked && (*places)->count < (size_t)max;
        box.max = box.max < INT64_MAX / 8 ? box.max * 4 : INT64_MAX;
    }
    return rc;
}
