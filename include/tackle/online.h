/* SPDX-License-Identifier: MIT
 *
 * Online users: who was here today, how many on all of the last seven days, who is here now.
 *
 *     tkl_online *visitors;
 *     int64_t today, week;
 *     tkl_online_options bitmap = {.kind = TKL_ONLINE_BITMAP};
 *     tkl_online_open(client, tkl_str("visitors"), &bitmap, &visitors);
 *     tkl_online_mark(visitors, &(tkl_bytes)TKL_LIT("alice"), 1, NULL);
 *     tkl_online_count(visitors, 1, TKL_ONLINE_ANY_DAY, &today);
 *     tkl_online_count(visitors, 7, TKL_ONLINE_EVERY_DAY, &week);
 *
 * The kinds answer the same questions at different prices; docs/online.md has a table of what they
 * take for a million users. Days are those of the server's clock in the time zone of the name.
 *
 * Threads: a handle may be used by several threads. fork(): a child may use its parent's handle.
 * Callbacks: none.
 * Keys: one for each day, which expires when it is no longer kept, and two for the name, which
 * expire with the last day. docs/online.md lists them.
 */
#ifndef TACKLE_ONLINE_H
#define TACKLE_ONLINE_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_online tkl_online;

typedef enum tkl_online_kind {
    TKL_ONLINE_STORED = 0,    /* whatever the name has; a new one is a set */
    TKL_ONLINE_SET = 1,       /* exact; users are any bytes */
    TKL_ONLINE_BITMAP = 2,    /* exact; users are numbers from 0, written in digits */
    TKL_ONLINE_ASSIGNED = 3,  /* a bitmap; users are any bytes and get a number when first marked */
    TKL_ONLINE_HLL = 4,       /* an estimate of the count in 12 KB a day; nobody can be asked for */
    TKL_ONLINE_HEARTBEAT = 5, /* who was marked in the last window_ms: no days */
} tkl_online_kind;

/* The word of a kind, "bitmap"; "unknown" for what is none. */
TKL_API const char *tkl_online_kind_name(tkl_online_kind kind);

#define TKL_ONLINE_KEEP_MAX 1000               /* days */
#define TKL_ONLINE_ID_MAX   INT64_C(268435455) /* of a bitmap, whose day takes 33.5 MB then */
#define TKL_ONLINE_USER_MAX 1024               /* bytes of a user's name */

/* The first mark fixes the kind, the zone, the days kept and the window of a name. A handle may
 * leave all of them 0: then it uses what the name has. TKL_EINVAL, by the first call, when it asks
 * for something else. */
typedef struct tkl_online_options {
    int64_t timeout_ms; /* of one call; 0: the client's */
    tkl_online_kind kind;
    const char *zone;  /* of days: "Europe/Berlin"; NULL: UTC */
    int64_t keep_days; /* number of days that are kept, today included; 0: 31 */
    int64_t max_id;    /* of TKL_ONLINE_BITMAP; 0: 99,999,999, which is 12.5 MB a day; at most
                          TKL_ONLINE_ID_MAX. Counts for this handle alone. */
    int64_t window_ms; /* of TKL_ONLINE_HEARTBEAT; 0: 60000 */
    TKL_RESERVED(8);
} tkl_online_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. TKL_EINVAL: the zone is not known. */
TKL_API int tkl_online_open(tkl_client *client, tkl_bytes name, const tkl_online_options *options,
                            tkl_online **online) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle; the marks stay. NULL is fine. */
TKL_API void tkl_online_close(tkl_online *online);

/* Marks users as present today (of a heartbeat: now). A round trip for each ten thousand; each
 * thousand is one step, of long names each 128 KB, of a bitmap each thousand among the same
 * 16,777,216 numbers. *fresh (may be NULL): how many were not marked before; TKL_NONE of
 * TKL_ONLINE_HLL, which cannot tell. Marking again does no harm. TKL_EINVAL: a user is no
 * number or too large, where numbers are needed; nobody is marked then. */
TKL_API int tkl_online_mark(tkl_online *online, const tkl_bytes *users, size_t count,
                            int64_t *fresh) TKL_NONNULL(1) TKL_CHECK;

typedef enum tkl_online_over {
    TKL_ONLINE_ANY_DAY = 0,   /* who was there on at least one of the days */
    TKL_ONLINE_EVERY_DAY = 1, /* who was there on all of them */
} tkl_online_over;

TKL_API const char *tkl_online_over_name(tkl_online_over over); /* "any day" */

/* How many users there were in the last `days` days, today included (1: today). The server works
 * some milliseconds for a week of ten million users as bitmaps; sets of many users take far longer.
 * More than 15 days (30 of TKL_ONLINE_HLL) take a round trip for each 15. TKL_EINVAL: more days
 * than are kept; TKL_ONLINE_EVERY_DAY of several days as TKL_ONLINE_HLL, which cannot tell; more
 * than one day of a heartbeat. */
TKL_API int tkl_online_count(tkl_online *online, int64_t days, tkl_online_over over, int64_t *count)
    TKL_NONNULL(1, 4) TKL_CHECK;

/* Whether a user was there on the day this many days ago (0: today; of a heartbeat: now).
 * TKL_EINVAL: a TKL_ONLINE_HLL cannot tell. */
TKL_API int tkl_online_check(tkl_online *online, tkl_bytes user, int64_t days_ago, bool *present)
    TKL_NONNULL(1, 4) TKL_CHECK;

/* Of today's users: those who were there on one of the `days` days before, and those who were not.
 * Estimates of TKL_ONLINE_HLL. Either pointer may be NULL. */
TKL_API int tkl_online_returning(tkl_online *online, int64_t days, int64_t *returning,
                                 int64_t *fresh) TKL_NONNULL(1) TKL_CHECK;

/* A day of the report. */
typedef struct tkl_online_day {
    char day[16]; /* "2026-11-16"; of a heartbeat "now" */
    int64_t users;
    int64_t bytes;        /* as the server measures its key */
    int64_t theory_bytes; /* what the kind should take: see docs/online.md */
    TKL_RESERVED(4);
} tkl_online_day;

typedef struct tkl_online_report {
    const tkl_online_day *items; /* the latest day first; days without marks are left out */
    size_t count;
    tkl_online_kind kind;
    const char *zone; /* "UTC" unless said */
    int64_t keep_days;
    int64_t window_ms; /* of a heartbeat */
    int64_t assigned;  /* users that have a number, of TKL_ONLINE_ASSIGNED */
    int64_t assigned_bytes;
    TKL_RESERVED(4);
} tkl_online_report;

/* All days that are kept. TKL_NOTFOUND: nobody was ever marked. */
TKL_API int tkl_online_show(tkl_online *online, tkl_online_report **report)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_online_report_free(tkl_online_report *report); /* NULL is fine */

/* Forgets everything. TKL_NOTFOUND: there was nothing. */
TKL_API int tkl_online_drop(tkl_online *online) TKL_NONNULL(1) TKL_CHECK;
/* All names of the client's namespace. */
TKL_API int tkl_online_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
