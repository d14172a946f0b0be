/* SPDX-License-Identifier: MIT
 *
 * Online users: handles, settings and days.
 *
 * Keys of a name, all in one slot (ns:online:{name}:...):
 *
 *   :settings         hash: shape = "kind zone keep window", fixed by the first mark
 *   :ids              hash: user -> number, of an assigned bitmap. The next number is the number of
 *                     users.
 *   :set:2026-11-16   the users of a day: a set, a bitmap (:bitmap:, :assigned:), a HyperLogLog
 *                     (:hll:); :heartbeat, a zset of users by when they were marked last
 *   :bitmap:2026-11-16:3  the third chunk of a bitmap beyond its first 16,777,216 numbers. Such a
 *                     chunk is 2 MB, so that setting its last bit, counting it, and combining it
 *                     with chunks of other days are short commands.
 *   :scratch          the combination of several days, inside one script
 *   :fold:<token>     the combination of many days, some more of them with each script; the client
 *                     removes it, or it expires after a minute
 *
 * A day expires when it is no longer kept, the settings and numbers with the last day.
 *
 * The server's clock decides which day it is, but a script can use only keys that it was given. So
 * the client estimates the server's clock, computes the day and its key, and sends from when till
 * when that day lasts. When it is another day by now, the script does nothing and returns the time,
 * and the client asks again: once a day, and when a handle is new and the clocks differ.
 */
#include "online/online.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "cron/calendar.h"

#define KEEP_DAYS 31
#define WINDOW_MS 60000
#define ID_MAX    99999999
#define DAY_S     86400
#define KNOWN_US  10000000 /* microseconds; a name may be dropped and get another shape */

static const char *const kind_names[] = {"stored", "set", "bitmap", "assigned", "hll", "heartbeat"};
#define KINDS (sizeof kind_names / sizeof *kind_names)

const char *tkl_online_kind_name(tkl_online_kind kind)
{
    return (size_t)kind < KINDS ? kind_names[kind] : "unknown";
}

/* ---- Shapes -------------------------------------------------------------- */

void tkl__online_shape_text(const tkl__online_shape *shape, char text[TKL__ONLINE_SHAPE_SIZE])
{
    snprintf(text, TKL__ONLINE_SHAPE_SIZE, "%s %s %" PRId64 " %" PRId64, kind_names[shape->kind],
             shape->zone, shape->keep_days, shape->window_ms);
}

static tkl_online_kind kind_of(const char *name)
{
    for (size_t i = 1; i < KINDS; i++)
        if (strcmp(kind_names[i], name) == 0)
            return (tkl_online_kind)i;
    return TKL_ONLINE_STORED;
}

bool tkl__online_shape_read(tkl_bytes text, tkl__online_shape *shape)
{
    char copy[TKL__ONLINE_SHAPE_SIZE], kind[16];
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (sscanf(copy, "%15s %63s %" SCNd64 " %" SCNd64, kind, shape->zone, &shape->keep_days,
               &shape->window_ms) != 4)
        return false;
    shape->kind = kind_of(kind);
    return shape->kind != TKL_ONLINE_STORED && shape->keep_days >= 1 &&
           shape->keep_days <= TKL_ONLINE_KEEP_MAX && shape->window_ms >= 1 &&
           shape->window_ms <= TKL__MS_MAX;
}

static bool same_shape(const tkl__online_shape *a, const tkl__online_shape *b)
{
    return a->kind == b->kind && strcmp(a->zone, b->zone) == 0 && a->keep_days == b->keep_days &&
           a->window_ms == b->window_ms;
}

/* ---- Opening ------------------------------------------------------------- */

static int check_options(const tkl_online_options *o)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"kind", (int64_t)o->kind, 0, (int64_t)KINDS - 1},
                                {"keep_days", o->keep_days, 0, TKL_ONLINE_KEEP_MAX},
                                {"max_id", o->max_id, 0, TKL_ONLINE_ID_MAX},
                                {"window_ms", o->window_ms, 0, TKL__MS_MAX});
    if (rc == TKL_OK && o->window_ms && o->kind != TKL_ONLINE_HEARTBEAT)
        rc = tkl__fail(TKL_EINVAL, "window_ms is for heartbeats");
    if (rc == TKL_OK && o->zone && strlen(o->zone) >= TKL__ZONE_NAME_SIZE)
        rc = tkl__fail(TKL_EINVAL, "the name of the zone is too long");
    return rc;
}

static void set_shape(tkl_online *online, const tkl_online_options *o)
{
    tkl__online_shape *shape = &online->shape;
    shape->kind = o->kind ? o->kind : TKL_ONLINE_SET;
    snprintf(shape->zone, sizeof shape->zone, "%s", o->zone ? o->zone : "UTC");
    shape->keep_days = o->keep_days ? o->keep_days : KEEP_DAYS;
    shape->window_ms = o->window_ms ? o->window_ms : WINDOW_MS;
    online->given = o->kind || o->zone || o->keep_days || o->window_ms;
}

int tkl_online_open(tkl_client *client, tkl_bytes name, const tkl_online_options *options,
                    tkl_online **out)
{
    static const tkl_online_options defaults;
    const tkl_online_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_online *online = calloc(1, sizeof *online);
    if (!online)
        return tkl__nomem();
    pthread_mutex_init(&online->mutex, NULL);
    online->client = client;
    online->timeout_ms = o->timeout_ms;
    online->max_id = o->max_id ? o->max_id : ID_MAX;
    online->ahead = tkl__unix_ms() - tkl__now() / 1000;
    set_shape(online, o);
    rc = tkl__name_keep(client, TKL__ONLINE_COMPONENT, name, &online->name);
    if (rc == TKL_OK)
        rc = tkl__cron_zone_open(online->shape.zone, &online->zone);
    if (rc != TKL_OK) {
        tkl_online_close(online);
        return rc;
    }
    *out = online;
    return TKL_OK;
}

void tkl_online_close(tkl_online *online)
{
    if (!online)
        return;
    tkl__cron_zone_close(online->zone);
    pthread_mutex_destroy(&online->mutex);
    free((char *)online->name.data);
    free(online);
}

/* ---- The settings -------------------------------------------------------- */

/* Asks the server for its shape. TKL_NOTFOUND: none yet. */
static int ask_shape(tkl_online *online, tkl__online_shape *shape)
{
    static const char *const parts[] = {"settings"};
    tkl__keys keys;
    tkl_reply *reply = NULL;
    int rc = tkl__keys_make(online->client, TKL__ONLINE_COMPONENT, online->name, parts, 1, &keys);
    if (rc != TKL_OK)
        return rc;
    const char *words[] = {"HGET", keys.items[0].data, "shape"};
    const size_t lens[] = {4, keys.items[0].len, 5};
    tkl_call_options how = {.timeout_ms = online->timeout_ms, .retry_safe = true};
    rc = tkl_call(online->client, 3, words, lens, &how, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = TKL_NOTFOUND;
    else if (rc == TKL_OK && !tkl__online_shape_read(tkl_reply_bytes(reply), shape))
        rc = tkl__fail(TKL_EDAMAGED, "the settings were not written by tackle");
    tkl_reply_free(reply);
    tkl__keys_free(&keys);
    return rc;
}

static int other_shape(const tkl__online_shape *theirs)
{
    char text[TKL__ONLINE_SHAPE_SIZE];
    tkl__online_shape_text(theirs, text);
    return tkl__fail(TKL_EINVAL,
                     "the name has other settings: \"%s\" (kind, zone, days kept, window in ms)",
                     text);
}

/* Takes over the shape of the server, or checks that it agrees with the one requested. */
static int adopt_shape(tkl_online *online, const tkl__online_shape *theirs)
{
    tkl__cron_zone *zone;
    if (same_shape(theirs, &online->shape))
        return TKL_OK;
    if (online->given)
        return other_shape(theirs);
    int rc = tkl__cron_zone_open(theirs->zone, &zone);
    if (rc != TKL_OK)
        return rc;
    tkl__cron_zone_close(online->zone);
    online->zone = zone;
    online->shape = *theirs;
    return TKL_OK;
}

/* Reads the shape from the server every ten seconds. A name without settings gets the shape of this
 * handle with its first mark. */
static int learn_shape(tkl_online *online)
{
    tkl__online_shape theirs;
    pthread_mutex_lock(&online->mutex);
    bool known = tkl__now() < online->known_until;
    pthread_mutex_unlock(&online->mutex);
    if (known)
        return TKL_OK;
    int rc = ask_shape(online, &theirs);
    if (rc == TKL_NOTFOUND)
        return TKL_OK;
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&online->mutex);
    rc = adopt_shape(online, &theirs);
    online->known_until = rc == TKL_OK ? tkl__now() + KNOWN_US : 0;
    pthread_mutex_unlock(&online->mutex);
    return rc;
}

int tkl__online_changed(tkl_online *online)
{
    tkl__online_shape theirs;
    pthread_mutex_lock(&online->mutex);
    online->known_until = 0;
    pthread_mutex_unlock(&online->mutex);
    if (!online->given)
        return TKL_OK;
    int rc = ask_shape(online, &theirs);
    return rc == TKL_OK ? other_shape(&theirs) : rc == TKL_NOTFOUND ? TKL_OK : rc;
}

/* ---- Days ---------------------------------------------------------------- */

/* Computes the day that contains a time. Where clocks change at midnight, a day may begin a little
 * early or late; the time itself is always within its day. */
static void work_out_day(const tkl__cron_zone *zone, int64_t now_ms, tkl__online_today *today)
{
    int64_t until, seconds = tkl__cron_floor_div(now_ms, 1000);
    int64_t local = seconds + tkl__cron_zone_offset(zone, seconds, &until);
    today->number = tkl__cron_floor_div(local, DAY_S);
    today->start_ms = tkl__cron_zone_midnight(zone, today->number) * 1000;
    today->till_ms = tkl__cron_zone_midnight(zone, today->number + 1) * 1000;
    if (today->start_ms > now_ms)
        today->start_ms = now_ms;
    if (today->till_ms <= now_ms)
        today->till_ms = now_ms + 1;
}

int tkl__online_find_today(tkl_online *online, tkl__online_today *today)
{
    int rc = learn_shape(online);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&online->mutex);
    today->shape = online->shape;
    today->now_ms = tkl__now() / 1000 + online->ahead;
    work_out_day(online->zone, today->now_ms, today);
    pthread_mutex_unlock(&online->mutex);
    return TKL_OK;
}

void tkl__online_learn(tkl_online *online, int64_t server_ms)
{
    pthread_mutex_lock(&online->mutex);
    online->ahead = server_ms - tkl__now() / 1000;
    pthread_mutex_unlock(&online->mutex);
}

int tkl__online_learn_time(tkl_online *online)
{
    const char *words[] = {"TIME"};
    tkl_call_options how = {.timeout_ms = online->timeout_ms, .retry_safe = true};
    tkl_reply *reply = NULL;
    int rc = tkl_call(online->client, 1, words, NULL, &how, &reply);
    int64_t seconds = tkl_reply_int(tkl_reply_at(reply, 0));
    int64_t us = tkl_reply_int(tkl_reply_at(reply, 1));
    if (rc == TKL_OK && (seconds < 0 || seconds > INT64_C(1) << 40 || us < 0 || us > 999999))
        rc = tkl__fail(TKL_EPROTO, "the server does not know the time");
    if (rc == TKL_OK)
        tkl__online_learn(online, seconds * 1000 + us / 1000);
    tkl_reply_free(reply);
    return rc;
}

void tkl__online_day_text(int64_t number, char text[TKL__DAY_SIZE])
{
    tkl__cron_date date = tkl__cron_date_of(number);
    snprintf(text, TKL__DAY_SIZE, "%04d-%02d-%02d", (int)(date.year % 10000), date.month % 100,
             date.day % 100);
}

/* Reads "2026-11-16" as days since 1970; false: not a valid day. */
static bool read_day(const char *text, int64_t *number)
{
    tkl__cron_date date = {0};
    int year, end = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &date.month, &date.day, &end) != 3 || end != 10 ||
        text[end] != '\0' || strspn(text, "0123456789-") != 10)
        return false;
    date.year = year;
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > tkl__cron_month_days(date.year, date.month))
        return false;
    *number = tkl__cron_days_of(date);
    return true;
}

int tkl__online_days_ago(const tkl__online_today *today, const char *day, int64_t *ago)
{
    int64_t number = today->number;
    *ago = 0;
    if (today->shape.kind == TKL_ONLINE_HEARTBEAT)
        return tkl__fail(TKL_EINVAL, "a heartbeat knows no days");
    if (strcmp(day, "yesterday") == 0)
        number--;
    else if (strcmp(day, "today") != 0 && !read_day(day, &number))
        return tkl__fail(TKL_EINVAL, "'%s' is not a day such as 2026-11-16", day);
    if (number > today->number)
        return tkl__fail(TKL_EINVAL, "the day %s is yet to come", day);
    if (today->number - number >= today->shape.keep_days)
        return tkl__fail(TKL_EINVAL, "the day %s is too long ago: %" PRId64 " days are kept", day,
                         today->shape.keep_days);
    *ago = today->number - number;
    return TKL_OK;
}

/* ---- Keys ---------------------------------------------------------------- */

#define PART_SIZE 32

int64_t tkl__online_chunks(tkl_online_kind kind)
{
    return kind == TKL_ONLINE_BITMAP || kind == TKL_ONLINE_ASSIGNED ? TKL__ONLINE_CHUNKS : 1;
}

/* Writes "set:2026-11-16", "bitmap:2026-11-16:3" or "heartbeat". */
static void day_part(const tkl__online_today *today, int64_t ago, int64_t chunk,
                     char part[PART_SIZE])
{
    char day[TKL__DAY_SIZE];
    const char *kind = tkl_online_kind_name(today->shape.kind);
    tkl__online_day_text(today->number - ago, day);
    if (today->shape.kind == TKL_ONLINE_HEARTBEAT)
        snprintf(part, PART_SIZE, "%s", kind);
    else if (chunk == 0)
        snprintf(part, PART_SIZE, "%s:%s", kind, day);
    else
        snprintf(part, PART_SIZE, "%s:%s:%d", kind, day, (int)(chunk % TKL__ONLINE_CHUNKS));
}

int tkl__online_keys(const tkl_online *online, const tkl__online_today *today,
                     const char *const *parts, size_t count, const tkl__online_days *which,
                     tkl__keys *keys)
{
    size_t chunks = (size_t)which->chunks, days = (size_t)which->days * chunks;
    const char **all = malloc((count + days) * sizeof *all);
    char(*texts)[PART_SIZE] = malloc((days + 1) * sizeof *texts);
    int rc = all && texts ? TKL_OK : tkl__nomem();
    *keys = (tkl__keys){0};
    if (rc == TKL_OK) {
        memcpy(all, parts, count * sizeof *all);
        for (size_t i = 0; i < days; i++) {
            day_part(today, which->first_ago + (int64_t)(i / chunks),
                     which->first_chunk + (int64_t)(i % chunks), texts[i]);
            all[count + i] = texts[i];
        }
        rc = tkl__keys_make(online->client, TKL__ONLINE_COMPONENT, online->name, all, count + days,
                            keys);
    }
    free(all);
    free(texts);
    return rc;
}

int tkl_online_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, TKL__ONLINE_COMPONENT, "settings", "hash", names);
}

const char *tkl_online_over_name(tkl_online_over over)
{
    static const char *const names[] = {"any day", "every day"};
    return TKL__ENUM_NAME((int)over, names);
}
