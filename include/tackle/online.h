/* SPDX-License-Identifier: MIT
 *
 * Online users: who was here today, who is here now, how many came on all of the last seven days.
 *
 *     tkl_online *visitors;
 *     int64_t today, week;
 *     tkl_online_options bitmap = {.kind = TKL_ONLINE_BITMAP};         // users are numbers
 *     TKL_TRY(tkl_online_open(client, tkl_str("visitors"), &bitmap, &visitors));
 *     TKL_TRY(tkl_online_mark(visitors, &(tkl_bytes)TKL_LIT("17"), 1, NULL));
 *     TKL_TRY(tkl_online_count(visitors, 1, TKL_ONLINE_ANY_DAY, &today));
 *     TKL_TRY(tkl_online_count(visitors, 7, TKL_ONLINE_EVERY_DAY, &week));
 *     tkl_online_close(visitors);
 *
 * The kinds answer the same questions at different prices; docs/online.md has a table of their
 * sizes for a million users. Days follow the server's clock in the time zone of the name.
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
    TKL_ONLINE_STORED = 0,    /* the kind that the name has; a set for a new name */
    TKL_ONLINE_SET = 1,       /* exact; users are any bytes */
    TKL_ONLINE_BITMAP = 2,    /* exact; users are numbers from 0, written in digits */
    TKL_ONLINE_ASSIGNED = 3,  /* a bitmap; users are any bytes and get a number when first marked */
    TKL_ONLINE_HLL = 4,       /* estimates the count in 12 KB a day; cannot tell whether a user was
                                 there */
    TKL_ONLINE_HEARTBEAT = 5, /* users marked in the last window_ms; no history by day */
} tkl_online_kind;

/* The name of a kind, "bitmap"; "unknown" for anything else. */
TKL_API const char *tkl_online_kind_name(tkl_online_kind kind);

#define TKL_ONLINE_KEEP_MAX 1000               /* days */
#define TKL_ONLINE_ID_MAX   INT64_C(268435455) /* in a bitmap; a day then takes 33.5 MB */
#define TKL_ONLINE_USER_MAX 1024               /* bytes of a user's name */

/* The first mark fixes the kind, the zone, the days kept and the window of a name. A handle with 0
 * in all of them uses the settings of the name. If its options differ, its first call is
 * TKL_EINVAL. */
typedef struct tkl_online_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    tkl_online_kind kind;
    const char *zone;  /* time zone of the days: "Europe/Berlin"; NULL: UTC */
    int64_t keep_days; /* number of days that are kept, today included; 0: 31 */
    int64_t max_id;    /* largest user of a TKL_ONLINE_BITMAP; 0: 99,999,999, which is 12.5 MB a
                          day; at most TKL_ONLINE_ID_MAX. Applies to this handle only. */
    int64_t window_ms; /* window of a TKL_ONLINE_HEARTBEAT, which `kind` must say; 0: 60000 */
    TKL_RESERVED(8);
} tkl_online_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. TKL_EINVAL: the zone is not known. */
TKL_API int tkl_online_open(tkl_client *client, tkl_bytes name, const tkl_online_options *options,
                            tkl_online **online) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle; the marks stay. NULL is fine. */
TKL_API void tkl_online_close(tkl_online *online);

/* Marks users as present today (heartbeat: now). One round trip for each ten thousand users. A
 * thousand users, or 128 KB of long names, are one step; in a bitmap, a thousand users of the same
 * block of 16,777,216 numbers. *fresh (may be NULL): how many were not marked before; TKL_NONE for
 * TKL_ONLINE_HLL, which cannot tell. Marking again does no harm. TKL_EINVAL: a user of a bitmap is
 * not a number or too large; nobody was marked. */
TKL_API int tkl_online_mark(tkl_online *online, const tkl_bytes *users, size_t count,
                            int64_t *fresh) TKL_NONNULL(1) TKL_CHECK;
/* Marks one user in a pipeline, see tkl_result. *fresh (may be NULL) is filled in by the run. A
 * handle without a kind asks the server for it at the first call; the run marks the user again,
 * with a round trip of its own, when the server is in another day than this handle thinks. */
TKL_API int tkl_online_mark_in(tkl_pipeline *pipeline, tkl_online *online, tkl_bytes user,
                               int64_t *fresh, tkl_result *result) TKL_NONNULL(1, 2);

/* Marks users as present on an earlier day: "2026-11-16", in the zone of the name; also "today" and
 * "yesterday". NULL: today. For logs that are read later. TKL_EINVAL: it is not a day, is in the
 * future, or is not kept any more; a heartbeat knows no days. Else as tkl_online_mark(). */
TKL_API int tkl_online_mark_day(tkl_online *online, const char *day, const tkl_bytes *users,
                                size_t count, int64_t *fresh) TKL_NONNULL(1) TKL_CHECK;

/* Removes the marks of users on a day, as tkl_online_mark_day() names it; NULL: today (heartbeat:
 * now). *removed (may be NULL): how many were marked. Takes as many steps and round trips as
 * marking. TKL_EINVAL: a TKL_ONLINE_HLL cannot forget a user; the day is wrong. */
TKL_API int tkl_online_unmark(tkl_online *online, const char *day, const tkl_bytes *users,
                              size_t count, int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

typedef enum tkl_online_over {
    TKL_ONLINE_ANY_DAY = 0,   /* users who were there on at least one of the days */
    TKL_ONLINE_EVERY_DAY = 1, /* users who were there on all of the days */
} tkl_online_over;

TKL_API const char *tkl_online_over_name(tkl_online_over over); /* "any day" */

/* Counts the users of the last `days` days, today included (1: today). A week of ten million users
 * as bitmaps takes the server some milliseconds; sets of many users take far longer. More than 15
 * days (TKL_ONLINE_HLL: 30) take a round trip for each 15. TKL_EINVAL: more days than are kept;
 * TKL_ONLINE_EVERY_DAY over several days of a TKL_ONLINE_HLL, which cannot tell; more than one day
 * of a heartbeat. */
TKL_API int tkl_online_count(tkl_online *online, int64_t days, tkl_online_over over, int64_t *count)
    TKL_NONNULL(1, 4) TKL_CHECK;

/* Checks whether a user was there on the day `days_ago` days ago (0: today; heartbeat: now).
 * TKL_EINVAL: a TKL_ONLINE_HLL cannot tell. */
TKL_API int tkl_online_check(tkl_online *online, tkl_bytes user, int64_t days_ago, bool *present)
    TKL_NONNULL(1, 4) TKL_CHECK;

/* ---- Users present ------------------------------------------------------- */

/* A walk over the users of a day. It belongs to one thread at a time; a forked child must not use
 * it. */
typedef struct tkl_online_users tkl_online_users;

typedef struct tkl_online_users_options {
    int64_t timeout_ms; /* time-out of one step; 0: that of `online` */
    int64_t days_ago;   /* which day; 0: today (heartbeat: now) */
    TKL_RESERVED(8);
} tkl_online_users_options;

/* No I/O. `options` may be NULL. `online` must stay open until the walk is closed. */
TKL_API int tkl_online_users_open(tkl_online *online, const tkl_online_users_options *options,
                                  tkl_online_users **users) TKL_NONNULL(1, 3) TKL_CHECK;

/* Gives the next user, in no order (TKL_ONLINE_BITMAP: the smallest number first, in digits). *user
 * is valid until the next call with the walk. TKL_EMPTY: there are no more. Users who are marked
 * during the whole walk come once; users who are marked meanwhile may be left out. Each step takes
 * the server about half a millisecond. TKL_ONLINE_ASSIGNED goes through all users that have a
 * number, and keeps the bitmap of the day in memory, up to 33.5 MB. TKL_EINVAL: a TKL_ONLINE_HLL
 * cannot tell; the day is not kept. After an error the walk is over. */
TKL_API int tkl_online_users_next(tkl_online_users *users, tkl_bytes *user)
    TKL_NONNULL(1, 2) TKL_CHECK;

TKL_API void tkl_online_users_close(tkl_online_users *users); /* NULL is fine */

/* ---- Returning ----------------------------------------------------------- */

/* Counts today's users who were also there on one of the `days` days before (*returning), and
 * today's other users (*fresh). TKL_ONLINE_HLL gives estimates. Either pointer may be NULL. */
TKL_API int tkl_online_returning(tkl_online *online, int64_t days, int64_t *returning,
                                 int64_t *fresh) TKL_NONNULL(1) TKL_CHECK;

/* A day on which users of a cohort came back. */
typedef struct tkl_online_comeback {
    char day[16];  /* "2026-11-17" */
    int64_t users; /* number of users of the first day who came back on this day */
    TKL_RESERVED(2);
} tkl_online_comeback;

typedef struct tkl_online_cohort {
    char day[16];                     /* the first day */
    int64_t users;                    /* number of users on that day */
    const tkl_online_comeback *items; /* the days after it, up to today */
    size_t count;
    TKL_RESERVED(4);
} tkl_online_cohort;

/* Counts, for each later day, the users of the day `first` ("2026-11-16" or "yesterday", in the
 * zone of the name) who came back. TKL_ONLINE_HLL gives estimates, which are poor when few came
 * back: the error is 1 to 2 % of all users of the two days. One round trip for each 30 days.
 * TKL_EINVAL: `first` is not a day, is in the future, or is not kept any more. A day without marks:
 * TKL_OK and no users. */
TKL_API int tkl_online_cohort_get(tkl_online *online, const char *first, tkl_online_cohort **cohort)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;
TKL_API void tkl_online_cohort_free(tkl_online_cohort *cohort); /* NULL is fine */

/* A day of the report. */
typedef struct tkl_online_day {
    char day[16]; /* "2026-11-16"; "now" for a heartbeat */
    int64_t users;
    int64_t bytes;        /* as the server measures its key */
    int64_t theory_bytes; /* expected size for this kind: see docs/online.md */
    TKL_RESERVED(4);
} tkl_online_day;

typedef struct tkl_online_report {
    const tkl_online_day *items; /* the latest day first; days without marks are left out */
    size_t count;
    tkl_online_kind kind;
    const char *zone; /* "UTC" unless the name has a zone */
    int64_t keep_days;
    int64_t window_ms; /* window of a heartbeat */
    int64_t assigned;  /* TKL_ONLINE_ASSIGNED: number of users that have a number */
    int64_t assigned_bytes;
    TKL_RESERVED(4);
} tkl_online_report;

/* Reports all days that are kept. TKL_NOTFOUND: nobody was ever marked. */
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
