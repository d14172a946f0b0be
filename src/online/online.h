/* SPDX-License-Identifier: MIT
 *
 * The handle, and what its files share.
 */
#ifndef TKL_ONLINE_ONLINE_H
#define TKL_ONLINE_ONLINE_H

#include <pthread.h>

#include <tackle/online.h>

#include "core/batch.h"
#include "core/keys.h"
#include "cron/zone.h"

#define TKL__ONLINE_COMPONENT "online"
#define TKL__ZONE_NAME_SIZE   64

/* The settings that the first mark fixes. */
typedef struct tkl__online_shape {
    tkl_online_kind kind;
    char zone[TKL__ZONE_NAME_SIZE]; /* "UTC" */
    int64_t keep_days;
    int64_t window_ms;
} tkl__online_shape;

#define TKL__ONLINE_SHAPE_SIZE 160

/* Writes the shape as the server stores it: "set UTC 31 60000". */
void tkl__online_shape_text(const tkl__online_shape *shape, char text[TKL__ONLINE_SHAPE_SIZE]);
/* False: the text is not a shape. */
bool tkl__online_shape_read(tkl_bytes text, tkl__online_shape *shape);

struct tkl_online {
    tkl_client *client;
    tkl_bytes name; /* owned */
    int64_t timeout_ms;
    int64_t max_id;
    bool given; /* the caller requested the shape: the name must have it */
    pthread_mutex_t mutex;
    /* The mutex guards the following fields. */
    tkl__online_shape shape;
    tkl__cron_zone *zone; /* zone of the shape */
    int64_t known_until;  /* until when the shape need not be compared with the server's again */
    int64_t ahead;        /* the server's clock minus our monotonic clock, in ms, as last seen */
};

/* Today by the server's clock, as far as the handle knows it. */
typedef struct tkl__online_today {
    tkl__online_shape shape;
    int64_t number; /* days since 1970, local time */
    int64_t start_ms, till_ms;
    int64_t now_ms;
} tkl__online_today;

/* Reads the shape if it is not known yet, and computes today. */
int tkl__online_find_today(tkl_online *online, tkl__online_today *today);
/* Notes the time of the server. */
void tkl__online_learn(tkl_online *online, int64_t server_ms);
/* Reads the server's time: days follow its clock, which a new handle does not know yet. */
int tkl__online_learn_time(tkl_online *online);
/* Notes that the name has another shape than the handle knows: the next call reads it again.
 * TKL_EINVAL: the caller requested the shape of the handle. */
int tkl__online_changed(tkl_online *online);

/* Number of keys of a bitmap per day, and numbers per key. */
#define TKL__ONLINE_CHUNKS 16
#define TKL__ONLINE_CHUNK  ((TKL_ONLINE_ID_MAX + 1) / TKL__ONLINE_CHUNKS)

/* Number of keys per day. */
int64_t tkl__online_chunks(tkl_online_kind kind);

/* Keys of days: `days` of them, going back from `first_ago` days ago; these chunks of each day. */
typedef struct tkl__online_days {
    int64_t first_ago, days;
    int64_t first_chunk, chunks;
} tkl__online_days;

/* Makes the keys of these parts ("settings", "ids", "scratch"), followed by the keys of the days.
 */
int tkl__online_keys(const tkl_online *online, const tkl__online_today *today,
                     const char *const *parts, size_t count, const tkl__online_days *which,
                     tkl__keys *keys);

/* The code of a script for "today is another day", and how many times a call may get it. */
#define TKL__ONLINE_ANOTHER_DAY TKL_BUSY
#define TKL__ONLINE_TRIES       5

/* Adds the start and the end of today to the arguments of a script. */
void tkl__online_add_today(tkl__args *args, const tkl__online_today *today);

/* TKL_EINVAL: not a valid user. Users of a bitmap are numbers up to `max_id`. */
int tkl__online_check_user(const tkl__online_shape *shape, tkl_bytes user, int64_t max_id);

/* TKL_EINVAL: not that many days are kept. A heartbeat has one day. */
int tkl__online_check_days(const tkl__online_today *today, int64_t days);
/* TKL_EINVAL: a HyperLogLog does not know which users were there. */
int tkl__online_check_who(const tkl__online_today *today);

/* Finds how many days before today the day "2026-11-16" was; also "today" and "yesterday".
 * TKL_EINVAL: it is no day, is in the future, or is not kept any more. */
int tkl__online_days_ago(const tkl__online_today *today, const char *day, int64_t *ago);

#define TKL__DAY_SIZE 16
/* Writes "2026-11-16". */
void tkl__online_day_text(int64_t number, char text[TKL__DAY_SIZE]);

#endif
