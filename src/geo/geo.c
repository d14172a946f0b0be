/* SPDX-License-Identifier: MIT
 *
 * Places: a sorted set with geohashes under ns:geo:{name}, the user's own data. It is removed with
 * its last place or by tkl_geo_drop(), or expires with `ttl_ms`. The server does all work, by
 * GEOADD, GEODIST, GEOPOS, GEOHASH and GEOSEARCH.
 */
#include "geo/geo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/number.h"
#include "core/onekey.h"
#include "core/options.h"
#include "core/script.h"
#include "geo/scripts.h"

#define COMPONENT     "geo"
#define LONGITUDE_MAX 180.0
#define LATITUDE_MAX  85.05112878
#define LATITUDE_TEXT "85.05112878"

struct tkl_geo {
    tkl__onekey key;
};

int tkl_geo_open(tkl_client *client, tkl_bytes name, const tkl_geo_options *options, tkl_geo **geo)
{
    static const tkl_geo_options defaults;
    const tkl_geo_options *o = options ? options : &defaults;
    void *handle = NULL;
    int rc = TKL__CHECK_RESERVED(o);
    if (rc == TKL_OK)
        rc = tkl__onekey_open_with(client, COMPONENT, name, o->timeout_ms, o->ttl_ms, sizeof **geo,
                                   &handle);
    *geo = handle;
    return rc;
}

void tkl_geo_close(tkl_geo *geo)
{
    tkl__onekey_close(geo);
}

int tkl_geo_drop(tkl_geo *geo)
{
    return tkl__onekey_drop(&geo->key);
}

int tkl_geo_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, COMPONENT, "", "zset", names);
}

/* Returns the name that the server uses. */
const char *tkl_geo_unit_name(tkl_geo_unit unit)
{
    static const char *const names[] = {"m", "km", "mi", "ft"};
    return TKL__ENUM_NAME((int)unit, names);
}

static int check_unit(tkl_geo_unit unit)
{
    return tkl__check_number("unit", unit, TKL_GEO_M, TKL_GEO_FT);
}

/* Reads a number that must be finite. */
static int read_number(const tkl_reply *reply, double *number)
{
    bool is_number = tkl__double_parse(tkl_reply_bytes(reply), number);
    if (tkl_reply_type_of(reply) == TKL_REPLY_STRING && is_number && isfinite(*number))
        return TKL_OK;
    *number = 0;
    return tkl__fail(TKL_EPROTO, "the server answered with something other than a number");
}

static int check_point(double longitude, double latitude)
{
    if (fabs(longitude) <= LONGITUDE_MAX && fabs(latitude) <= LATITUDE_MAX)
        return TKL_OK;
    char first[TKL__DOUBLE_SIZE], second[TKL__DOUBLE_SIZE];
    return tkl__fail(TKL_EINVAL,
                     "%s, %s: longitudes are from -180 to 180, latitudes from -" LATITUDE_TEXT
                     " to " LATITUDE_TEXT,
                     tkl__double_text(longitude, first), tkl__double_text(latitude, second));
}

/* Moves a position off the very edge: the server's geohash of the edge has one bit too many, so
 * that no search finds it. 180 degrees becomes -180; the last latitude is rounded down to the last
 * cell. */
static double longitude_of(double longitude)
{
    return longitude >= LONGITUDE_MAX ? -LONGITUDE_MAX : longitude;
}

static double latitude_of(double latitude)
{
    return fmin(latitude, LATITUDE_MAX - 1e-7);
}

/* ---- Adding and removing ------------------------------------------------- */

static int end_with_count(tkl__query *query, size_t most, int64_t *count)
{
    tkl_reply *owner;
    const tkl_reply *reply;
    int64_t number;
    int rc = tkl__query_write(query, !count, &owner, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_int(reply, 0, (int64_t)most, &number);
    if (rc == TKL_OK && count)
        *count = number;
    tkl_reply_free(owner);
    return rc;
}

int tkl_geo_add(tkl_geo *geo, const tkl_geo_place *places, size_t count, int64_t *added)
{
    tkl__query query;
    if (added)
        *added = 0;
    for (size_t i = 0; i < count; i++) {
        int rc = TKL__CHECK_RESERVED(&places[i]);
        if (rc == TKL_OK)
            rc = check_point(places[i].longitude, places[i].latitude);
        if (rc != TKL_OK)
            return rc;
    }
    if (count == 0)
        return TKL_OK;
    tkl__query_begin(&query, &geo->key, "GEOADD");
    for (size_t i = 0; i < count; i++) {
        tkl__query_double(&query, longitude_of(places[i].longitude));
        tkl__query_double(&query, latitude_of(places[i].latitude));
        tkl__query_bytes(&query, places[i].name);
    }
    return end_with_count(&query, count, added);
}

static void put_names(tkl__query *query, const tkl_bytes *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tkl__query_bytes(query, names[i]);
}

int tkl_geo_remove(tkl_geo *geo, const tkl_bytes *names, size_t count, int64_t *removed)
{
    tkl__query query;
    if (removed)
        *removed = 0;
    if (count == 0)
        return TKL_OK;
    tkl__query_begin(&query, &geo->key, "ZREM");
    put_names(&query, names, count);
    return end_with_count(&query, count, removed);
}

/* ---- Asking about places ------------------------------------------------- */

int tkl_geo_distance(tkl_geo *geo, tkl_bytes a, tkl_bytes b, tkl_geo_unit unit, double *distance)
{
    tkl__query query;
    tkl_reply *reply;
    *distance = 0;
    int rc = check_unit(unit);
    if (rc != TKL_OK)
        return rc;
    tkl__query_begin(&query, &geo->key, "GEODIST");
    tkl__query_bytes(&query, a);
    tkl__query_bytes(&query, b);
    tkl__query_word(&query, tkl_geo_unit_name(unit));
    rc = tkl__query_end(&query, true, &reply);
    if (rc == TKL_OK)
        rc = tkl_reply_is_nil(reply) ? tkl__no(TKL_NOTFOUND) : read_number(reply, distance);
    tkl_reply_free(reply);
    return rc;
}

static int read_point(const tkl_reply *point, double *longitude, double *latitude)
{
    int rc = tkl__expect_array(point, 2);
    if (rc == TKL_OK)
        rc = read_number(tkl_reply_at(point, 0), longitude);
    return rc == TKL_OK ? read_number(tkl_reply_at(point, 1), latitude) : rc;
}

static int read_position(const tkl_reply *point, tkl_geo_position *position)
{
    position->found = !tkl_reply_is_nil(point);
    return position->found ? read_point(point, &position->longitude, &position->latitude) : TKL_OK;
}

int tkl_geo_positions(tkl_geo *geo, const tkl_bytes *names, size_t count,
                      tkl_geo_position *positions)
{
    tkl__query query;
    tkl_reply *reply;
    for (size_t i = 0; i < count; i++)
        positions[i] = (tkl_geo_position){.found = false};
    if (count == 0)
        return TKL_OK;
    tkl__query_begin(&query, &geo->key, "GEOPOS");
    put_names(&query, names, count);
    int rc = tkl__query_end(&query, true, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_array(reply, count);
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = read_position(tkl_reply_at(reply, i), &positions[i]);
    tkl_reply_free(reply);
    return rc;
}

static int read_hash(const tkl_reply *reply, tkl_geo_text hash)
{
    tkl_bytes text = tkl_reply_bytes(reply);
    if (text.len >= sizeof(tkl_geo_text) ||
        (!tkl_reply_is_nil(reply) && tkl_reply_type_of(reply) != TKL_REPLY_STRING))
        return tkl__fail(TKL_EPROTO, "the server answered with something other than a geohash");
    snprintf(hash, sizeof(tkl_geo_text), "%s", tkl_reply_str(reply));
    return TKL_OK;
}

int tkl_geo_hashes(tkl_geo *geo, const tkl_bytes *names, size_t count, tkl_geo_text *hashes)
{
    tkl__query query;
    tkl_reply *reply;
    for (size_t i = 0; i < count; i++)
        hashes[i][0] = '\0';
    if (count == 0)
        return TKL_OK;
    tkl__query_begin(&query, &geo->key, "GEOHASH");
    put_names(&query, names, count);
    int rc = tkl__query_end(&query, true, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_array(reply, count);
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = read_hash(tkl_reply_at(reply, i), hashes[i]);
    tkl_reply_free(reply);
    return rc;
}

/* ---- Searching ----------------------------------------------------------- */

/* The arguments of GEOSEARCH behind the key, for a command or for the script. */
typedef struct words {
    char text[8][TKL__DOUBLE_SIZE]; /* texts of numbers */
    tkl_bytes items[16];
    size_t count, numbers;
} words;

static void put_word(words *w, const char *word)
{
    w->items[w->count++] = tkl_str(word);
}

static void put_number(words *w, double number)
{
    put_word(w, tkl__double_text(number, w->text[w->numbers++]));
}

static int check_query(const tkl_geo_query *query)
{
    bool circle = query->radius > 0 && query->width == 0 && query->height == 0;
    bool box = query->radius == 0 && query->width > 0 && query->height > 0;
    if (circle == box || !isfinite(query->radius) || !isfinite(query->width) ||
        !isfinite(query->height))
        return tkl__fail(TKL_EINVAL, "either a radius, or a width and a height, above 0");
    int rc = TKL__CHECK_OPTIONS(query, {"max", query->max, 0, INT64_MAX});
    if (rc == TKL_OK)
        rc = check_unit(query->unit);
    return rc != TKL_OK || query->member.len > 0 ? rc
                                                 : check_point(query->longitude, query->latitude);
}

static void put_query(words *w, const tkl_geo_query *query)
{
    if (query->member.len > 0) {
        put_word(w, "FROMMEMBER");
        w->items[w->count++] = query->member;
    } else {
        put_word(w, "FROMLONLAT");
        put_number(w, longitude_of(query->longitude));
        put_number(w, latitude_of(query->latitude));
    }
    put_word(w, query->radius > 0 ? "BYRADIUS" : "BYBOX");
    put_number(w, query->radius > 0 ? query->radius : query->width);
    if (!(query->radius > 0))
        put_number(w, query->height);
    put_word(w, tkl_geo_unit_name(query->unit));
    put_word(w, query->farthest ? "DESC" : "ASC");
    if (query->max > 0) {
        char *text = w->text[w->numbers++];
        snprintf(text, sizeof w->text[0], "%lld", (long long)query->max);
        put_word(w, "COUNT");
        put_word(w, text);
    }
}

/* Returns TKL_NOTFOUND for a place at the centre that does not exist, else `rc`. A missing place is
 * the server's only error for a valid query. If there is no place at all, the server finds nothing
 * instead, while an existing place always finds itself. */
static int not_found_or(int rc, const tkl_geo_query *query, int64_t found)
{
    bool unknown =
        rc == TKL_EREFUSED && strstr(tkl_errmsg(), "could not decode requested zset member");
    bool no_places = rc == TKL_OK && query->member.len > 0 && found == 0;
    return unknown || no_places ? tkl__no(TKL_NOTFOUND) : rc;
}

/* The result; its reply owns the names. */
typedef struct listing {
    tkl_geo_places places; /* must be first: callers have a pointer to it */
    tkl_reply *reply;
    tkl_geo_place items[];
} listing;

/* Reads {name, distance, hash, {longitude, latitude}}. */
static int read_place(const tkl_reply *one, tkl_geo_place *place)
{
    int64_t hash = 0;
    *place = (tkl_geo_place){.name = tkl_reply_bytes(tkl_reply_at(one, 0))};
    int rc = tkl__expect_array(one, 4);
    if (rc == TKL_OK)
        rc = read_number(tkl_reply_at(one, 1), &place->distance);
    if (rc == TKL_OK)
        rc = tkl__expect_int(tkl_reply_at(one, 2), 0, INT64_MAX, &hash);
    place->hash = (uint64_t)hash;
    return rc == TKL_OK ? read_point(tkl_reply_at(one, 3), &place->longitude, &place->latitude)
                        : rc;
}

/* Takes over the reply, except after a failure. */
static int make_listing(tkl_reply *reply, tkl_geo_places **places)
{
    size_t count = tkl_reply_count(reply);
    int rc = tkl__expect_array(reply, count);
    if (rc != TKL_OK)
        return rc;
    listing *l = malloc(sizeof *l + count * sizeof l->items[0]);
    if (!l)
        return tkl__nomem();
    l->places = (tkl_geo_places){l->items, count};
    l->reply = reply;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = read_place(tkl_reply_at(reply, i), &l->items[i]);
    if (rc == TKL_OK)
        *places = &l->places;
    else
        free(l);
    return rc;
}

int tkl_geo_near(tkl_geo *geo, const tkl_geo_query *query, tkl_geo_places **places)
{
    words w = {.count = 0};
    tkl__query command;
    tkl_reply *reply;
    *places = NULL;
    int rc = check_query(query);
    if (rc != TKL_OK)
        return rc;
    put_query(&w, query);
    tkl__query_begin(&command, &geo->key, "GEOSEARCH");
    put_names(&command, w.items, w.count);
    tkl__query_word(&command, "WITHDIST");
    tkl__query_word(&command, "WITHHASH");
    tkl__query_word(&command, "WITHCOORD");
    rc = tkl__query_end(&command, true, &reply);
    rc = not_found_or(rc, query, (int64_t)tkl_reply_count(reply));
    if (rc == TKL_OK)
        rc = make_listing(reply, places);
    if (rc != TKL_OK)
        tkl_reply_free(reply);
    return rc;
}

void tkl__geo_keep(tkl_geo_places *places,
                   bool (*is_inside)(const tkl_geo_place *place, const tkl_geo_cell *cell),
                   const tkl_geo_cell *cell, int64_t max)
{
    listing *l = (listing *)(void *)places;
    size_t kept = 0;
    for (size_t i = 0; i < places->count; i++)
        if (is_inside(&l->items[i], cell) && (max == 0 || kept < (size_t)max))
            l->items[kept++] = l->items[i];
    places->count = kept;
}

void tkl_geo_places_free(tkl_geo_places *places)
{
    listing *l = (listing *)(void *)places;
    if (l)
        tkl_reply_free(l->reply);
    free(l);
}

int tkl_geo_count(tkl_geo *geo, const tkl_geo_query *query, int64_t *count)
{
    words w = {.count = 0};
    tkl_bytes key = {geo->key.base.data, geo->key.base.len};
    tkl_reply *reply;
    *count = 0;
    int rc = check_query(query);
    if (rc != TKL_OK)
        return rc;
    put_query(&w, query);
    tkl__invocation call = {.script = &tkl__lua_geo_count,
                            .keys = &key,
                            .nkeys = 1,
                            .args = w.items,
                            .nargs = w.count,
                            .retry_safe = true};
    rc = tkl__run(geo->key.client, &call, tkl__deadline(geo->key.client, geo->key.timeout_ms),
                  &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_int(reply, 0, INT64_MAX, count);
    tkl_reply_free(reply);
    return not_found_or(rc, query, *count);
}
