/* SPDX-License-Identifier: MIT
 *
 * The handle, and what its files share.
 */
#ifndef TKL_ONLINE_ONLINE_H
#define TKL_ONLINE_ONLINE_H

#include <pthread.h>

#include <tackle/online.h>

#include "core/keys.h"
#include "core/script.h"
#include "cron/zone.h"

#define TKL__ONLINE_COMPONENT "online"
#define TKL__ZONE_NAME_SIZE   64

/* What the first mark fixes. */
typedef struct tkl__online_shape {
    tkl_online_kind kind;
    char zone[TKL__ZONE_NAME_SIZE]; /* "UTC" */
    int64_t keep_days;
    int64_t window_ms;
} tkl__online_shape;

#define TKL__ONLINE_SHAPE_SIZE 160

/* "set UTC 31 60000", as the server keeps it. */
void tkl__online_shape_text(const tkl__online_shape *shape, char text[TKL__ONLINE_SHAPE_SIZE]);
/* False when it is no such text. */
bool tkl__online_shape_read(tkl_bytes text, tkl__online_shape *shape);

struct tkl_online {
    tkl_client *client;
    tkl_bytes name; /* owned */
    int64_t timeout_ms;
    int64_t max_id;
    bool given; /* the shape was asked for: the name must have it */
    pthread_mutex_t mutex;
    /* Guarded by the mutex. */
    tkl__online_shape shape;
    tkl__cron_zone *zone; /* of the shape */
    int64_t known_until;  /* the shape was compared with that of the server */
    int64_t ahead;        /* the server's clock less our monotonic one, in ms, as last seen */
};

/* Today, by the server's clock as far as we know it. */
typedef struct tkl__online_today {
    tkl__online_shape shape;
    int64_t number; /* days since 1970, local time */
    int64_t start_ms, till_ms;
} tkl__online_today;

/* Learns the shape if it is not known yet, and works out today. */
int tkl__online_find_today(tkl_online *online, tkl__online_today *today);
/* The server says what time it is. */
void tkl__online_learn(tkl_online *online, int64_t server_ms);
/* The server has another shape than we thought: asks again next time. TKL_EINVAL when ours was
 * asked for. */
int tkl__online_changed(tkl_online *online);

/* A bitmap has so many keys a day, each for as many numbers. */
#define TKL__ONLINE_CHUNKS 16
#define TKL__ONLINE_CHUNK  ((TKL_ONLINE_ID_MAX + 1) / TKL__ONLINE_CHUNKS)

/* How many keys a day has. */
int64_t tkl__online_chunks(tkl_online_kind kind);

/* Keys of days: `days` of them from `first_ago` days ago on, going back; of each these chunks. */
typedef struct tkl__online_days {
    int64_t first_ago, days;
    int64_t first_chunk, chunks;
} tkl__online_days;

/* The keys of these parts ("settings", "ids", "scratch"), and behind them those of the days. */
int tkl__online_keys(const tkl_online *online, const tkl__online_today *today,
                     const char *const *parts, size_t count, const tkl__online_days *which,
                     tkl__keys *keys);

/* The code of a script: today is another day. How often that may be. */
#define TKL__ONLINE_ANOTHER_DAY TKL_BUSY
#define TKL__ONLINE_TRIES       5

/* Tells a script from when till when today lasts. */
void tkl__online_add_today(tkl__args *args, const tkl__online_today *today);

/* TKL_EINVAL unless it can be a user; of a bitmap a number up to `max_id`. */
int tkl__online_check_user(const tkl__online_shape *shape, tkl_bytes user, int64_t max_id);

#define TKL__DAY_SIZE 16
/* "2026-11-16" */
void tkl__online_day_text(int64_t number, char text[TKL__DAY_SIZE]);

#endif
