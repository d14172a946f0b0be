/* SPDX-License-Identifier: MIT
 *
 * Places: a sorted set with geohashes under ns:geo:{name}, the user's own data. It never expires.
 * All work is the server's: GEOADD, GEODIST, GEOPOS, GEOHASH, GEOSEARCH.
 */
#include <tackle/geo.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/onekey.h"
#include "core/script.h"
#include "geo/scripts.h"

#define LONGITUDE_MAX 180.0
#define LATITUDE_MAX  85.05112878

struct tkl_geo {
    tkl__onekey key;
};

int tkl_geo_open(tkl_client *client, tkl_bytes name, tkl_geo **geo)
{
    void *handle;
    int rc = tkl__onekey_open(client, "geo", name, sizeof **geo, &handle);
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

static void begin(tkl__query *query, tkl_geo *geo, const char *command)
{
    tkl__query_begin(query, &geo->key, command);
    tkl__query_key(query, &geo->key);
}

static const char *unit_name(tkl_geo_unit unit)
{
    static const char *const names[] = {"m", "km", "mi", "ft"};
    return names[unit];
}

static int check_point(double longitude, double latitude)
{
    if (fabs(longitude) <= LONGITUDE_MAX && fabs(latitude) <= LATITUDE_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL,
                     "%g, %g: longitudes are from -180 to 180, latitudes from -%.8f to %.8f",
                     longitude, latitude, LATITUDE_MAX, LATITUDE_MAX);
}

/* The server's geohash of the very edge has a bit too many, so that no search finds it. East of 180
 * degrees is west of -180; the last latitude is rounded down to the last cell. */
static double longitude_of(double longitude)
{
    return longitude >= LONGITUDE_MAX ? -LONGITUDE_MAX : longitude;
}

static double latitude_of(double latitude)
{
    return fmin(latitude, LATITUDE_MAX - 1e-7);
}

/* ---- Adding and removing ------------------------------------------------- */

static int end_with_count(tkl__query *query, int64_t *count)
{
    tkl_reply *reply;
    int rc = tkl__query_end(query, !count, &reply);
    if (count)
        *count = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_geo_add(tkl_geo *geo, const tkl_geo_place *places, size_t count, int64_t *added)
{
    tkl__query query;
    if (added)
        *added = 0;
    for (size_t i = 0; i < count; i++) {
        int rc = check_point(places[i].longitude, places[i].latitude);
        if (rc != TKL_OK)
            return rc;
    }
    if (count == 0)
        return TKL_OK;
    begin(&query, geo, "GEOADD");
    for (size_t i = 0; i < count; i++) {
        tkl__query_double(&query, longitude_of(places[i].longitude));
        tkl__query_double(&query, latitude_of(places[i].latitude));
        tkl__query_bytes(&query, places[i].name);
    }
    return end_with_count(&query, added);
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
    begin(&query, geo, "ZREM");
    put_names(&query, names, count);
    return end_with_count(&query, removed);
}

/* ---- Asking about places ------------------------------------------------- */

int tkl_geo_distance(tkl_geo *geo, tkl_bytes a, tkl_bytes b, tkl_geo_unit unit, double *distance)
{
    tkl__query query;
    tkl_reply *reply;
    begin(&query, geo, "GEODIST");
    tkl__query_bytes(&query, a);
    tkl__query_bytes(&query, b);
    tkl__query_word(&query, unit_name(unit));
    int rc = tkl__query_end(&query, true, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = TKL_NOTFOUND;
    *distance = tkl_reply_double(reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_geo_positions(tkl_geo *geo, const tkl_bytes *names, size_t count,
                      tkl_geo_position *positions)
{
    tkl__query query;
    tkl_reply *reply;
    begin(&query, geo, "GEOPOS");
    put_names(&query, names, count);
    int rc = tkl__query_end(&query, true, &reply);
    for (size_t i = 0; i < count; i++) {
        const tkl_reply *point = tkl_reply_at(reply, i);
        positions[i] = (tkl_geo_position){.found = tkl_reply_count(point) == 2,
                                          .longitude = tkl_reply_double(tkl_reply_at(point, 0)),
                                          .latitude = tkl_reply_double(tkl_reply_at(point, 1))};
    }
    tkl_reply_free(reply);
    return rc;
}

int tkl_geo_hashes(tkl_geo *geo, const tkl_bytes *names, size_t count, tkl_geo_text *hashes)
{
    tkl__query query;
    tkl_reply *reply;
    begin(&query, geo, "GEOHASH");
    put_names(&query, names, count);
    int rc = tkl__query_end(&query, true, &reply);
    for (size_t i = 0; i < count; i++)
        snprintf(hashes[i], sizeof hashes[i], "%s", tkl_reply_str(tkl_reply_at(reply, i)));
    tkl_reply_free(reply);
    return rc;
}

/* ---- What is near -------------------------------------------------------- */

/* The words of GEOSEARCH behind the key: for a command, or for the script. */
typedef struct words {
    char text[8][32]; /* room for numbers */
    tkl_bytes items[16];
    size_t count, numbers;
} words;

static void put(words *w, const char *word)
{
    w->items[w->count++] = tkl_str(word);
}

static void put_number(words *w, double number)
{
    char *text = w->text[w->numbers++];
    snprintf(text, sizeof w->text[0], "%.17g", number);
    put(w, text);
}

static int check_query(const tkl_geo_query *query)
{
    bool circle = query->radius > 0, box = query->width > 0 && query->height > 0;
    if (circle == box || !isfinite(query->radius) || !isfinite(query->width) ||
        !isfinite(query->height))
        return tkl__fail(TKL_EINVAL, "either a radius, or a width and a height, above 0");
    if (query->limit < 0)
        return tkl__fail(TKL_EINVAL, "the limit is 0 (none) or more");
    return query->member.len > 0 ? TKL_OK : check_point(query->longitude, query->latitude);
}

static void put_query(words *w, const tkl_geo_query *query)
{
    if (query->member.len > 0) {
        put(w, "FROMMEMBER");
        w->items[w->count++] = query->member;
    } else {
        put(w, "FROMLONLAT");
        put_number(w, longitude_of(query->longitude));
        put_number(w, latitude_of(query->latitude));
    }
    put(w, query->radius > 0 ? "BYRADIUS" : "BYBOX");
    put_number(w, query->radius > 0 ? query->radius : query->width);
    if (!(query->radius > 0))
        put_number(w, query->height);
    put(w, unit_name(query->unit));
    put(w, query->farthest ? "DESC" : "ASC");
    if (query->limit > 0) {
        char *text = w->text[w->numbers++];
        snprintf(text, sizeof w->text[0], "%lld", (long long)query->limit);
        put(w, "COUNT");
        put(w, text);
    }
}

/* A member that is missing is the server's only error about a sound query, unless there is no
 * place at all: then it finds nothing, while one that is there always finds itself. */
static int not_found_or(int rc, const tkl_geo_query *query, int64_t found)
{
    bool unknown =
        rc == TKL_EREFUSED && strstr(tkl_errmsg(), "could not decode requested zset member");
    bool no_places = rc == TKL_OK && query->member.len > 0 && found == 0;
    return unknown || no_places ? TKL_NOTFOUND : rc;
}

/* The reply owns the names. */
typedef struct listing {
    tkl_geo_places places; /* first: what the user has is a pointer to it */
    tkl_reply *reply;
    tkl_geo_place items[];
} listing;

/* {name, distance, hash, {longitude, latitude}} */
static tkl_geo_place read_place(const tkl_reply *one)
{
    const tkl_reply *point = tkl_reply_at(one, 3);
    return (tkl_geo_place){
        .name = tkl_reply_bytes(tkl_reply_at(one, 0)),
        .distance = tkl_reply_double(tkl_reply_at(one, 1)),
        .hash = (uint64_t)tkl_reply_int(tkl_reply_at(one, 2)),
        .longitude = tkl_reply_double(tkl_reply_at(point, 0)),
        .latitude = tkl_reply_double(tkl_reply_at(point, 1)),
    };
}

static int make_listing(tkl_reply *reply, tkl_geo_places **places)
{
    size_t count = tkl_reply_count(reply);
    listing *l = malloc(sizeof *l + count * sizeof l->items[0]);
    if (!l)
        return tkl__nomem();
    l->places = (tkl_geo_places){l->items, count};
    l->reply = reply;
    for (size_t i = 0; i < count; i++)
        l->items[i] = read_place(tkl_reply_at(reply, i));
    *places = &l->places;
    return TKL_OK;
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
    begin(&command, geo, "GEOSEARCH");
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
    rc = tkl__run(geo->key.client, &call, tkl__call_deadline(geo->key.client, NULL), &reply);
    *count = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return not_found_or(rc, query, *count);
}
