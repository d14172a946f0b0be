/* SPDX-License-Identifier: MIT
 *
 * Leaderboards: members by score, for ever or per day, week, month or year.
 *
 *     tkl_board *board;
 *     tkl_board_entries *around;
 *     TKL_TRY(tkl_board_open(client, tkl_str("chess"), NULL, &board));
 *     TKL_TRY(tkl_board_add(board, &(tkl_board_score){tkl_str("alice"), 15}, 1, NULL));
 *     if (tkl_board_around(board, tkl_str("alice"), 2, 2, &around) == TKL_OK)   // one round trip
 *         print_rank(around->items[0].rank);
 *     tkl_board_entries_free(around);
 *     tkl_board_close(board);
 *
 * Among members with the same score, the one that reached it first is ahead, by the server's clock
 * in microseconds. Ranks are from 1 and no two members share one. Every call is one round trip; the
 * first one of a handle may need another, to learn the settings and the time of the server.
 *
 * A board with seasons starts over at midnight in its zone, by the server's clock. The seasons
 * before are kept and can be read.
 *
 * Threads: a handle may be used by several threads. fork(): a child may go on using it. Callbacks:
 * none. Keys: a season expires after it was kept for long enough; a board without seasons stays
 * until tkl_board_drop().
 */
#ifndef TACKLE_BOARD_H
#define TACKLE_BOARD_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_board tkl_board;

#define TKL_BOARD_MEMBER_MAX 1024 /* bytes of a member */
#define TKL_BOARD_PAGE_MAX   500  /* most entries of one answer */
#define TKL_BOARD_RANK_MAX   100  /* most members of one tkl_board_rank() */
#define TKL_BOARD_KEEP_MAX   400  /* most seasons that are kept */

typedef enum tkl_board_order {
    TKL_BOARD_STORED = 0, /* as the board has it; a new one: higher */
    TKL_BOARD_HIGHER = 1, /* higher is better */
    TKL_BOARD_LOWER = 2,  /* lower is better */
} tkl_board_order;

typedef enum tkl_board_per {
    TKL_BOARD_AS_STORED = 0, /* as the board has it; a new one: no seasons */
    TKL_BOARD_FOREVER = 1,   /* no seasons */
    TKL_BOARD_DAY = 2,
    TKL_BOARD_WEEK = 3, /* from Monday */
    TKL_BOARD_MONTH = 4,
    TKL_BOARD_YEAR = 5,
} tkl_board_per;

TKL_API const char *tkl_board_order_name(tkl_board_order order); /* "higher" */
TKL_API const char *tkl_board_per_name(tkl_board_per per);       /* "week" */

/* All zero means the settings of the board. The first write fixes order, per, zone and keep; a
 * handle that names any of them must name all that differ from the defaults, or else gets
 * TKL_EINVAL. */
typedef struct tkl_board_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    tkl_board_order order;
    tkl_board_per per;
    const char *zone;   /* time zone of seasons: "Europe/Berlin"; NULL: UTC */
    int64_t keep;       /* number of seasons that are kept, the current one included; 0: 8 */
    const char *season; /* which one to read: NULL: the current one; "previous"; or a day in it,
                           "2026-11-16". Not for writing, but for tkl_board_remove() */
    TKL_RESERVED(8);
} tkl_board_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. TKL_EINVAL: the zone or
 * the season is not known. */
TKL_API int tkl_board_open(tkl_client *client, tkl_bytes name, const tkl_board_options *options,
                           tkl_board **board) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_board_close(tkl_board *board); /* NULL is fine */

/* ---- Writing --------------------------------------------------------------- */

typedef struct tkl_board_score {
    tkl_bytes member; /* 1 to TKL_BOARD_MEMBER_MAX bytes, any bytes */
    double score;     /* finite */
} tkl_board_score;    /* frozen */

/* Each is one round trip for 10000 members. 100 members at a time are changed as one; scores of one
 * call are reached in their order. *changed (may be NULL): how many scores changed. A score that
 * does not change keeps its place among equals.
 *
 * add: adds to the score, which is 0 for a new member. Sums are limited to the range of a double.
 * Not repeated when its outcome is unknown. set: the score, whatever it was. best: the score if it
 * is better. TKL_EINVAL: a member or a score is not valid, and none was changed. */
TKL_API int tkl_board_add(tkl_board *board, const tkl_board_score *scores, size_t count,
                          int64_t *changed) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_board_set(tkl_board *board, const tkl_board_score *scores, size_t count,
                          int64_t *changed) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_board_best(tkl_board *board, const tkl_board_score *scores, size_t count,
                           int64_t *changed) TKL_NONNULL(1) TKL_CHECK;
/* Adds to one score in a pipeline, see tkl_result. *changed (may be NULL) is filled in by the run,
 * which adds with a round trip of its own when the server is in another season than this handle
 * thinks. */
TKL_API int tkl_board_add_in(tkl_pipeline *pipeline, tkl_board *board, const tkl_board_score *score,
                             int64_t *changed, tkl_result *result) TKL_NONNULL(1, 2, 3);

/* Takes members off the season. *removed (may be NULL): how many were on it. */
TKL_API int tkl_board_remove(tkl_board *board, const tkl_bytes *members, size_t count,
                             int64_t *removed) TKL_NONNULL(1) TKL_CHECK;
/* Removes the board with all its seasons and settings. TKL_NOTFOUND: there is none. */
TKL_API int tkl_board_drop(tkl_board *board) TKL_NONNULL(1) TKL_CHECK;

/* ---- Reading --------------------------------------------------------------- */

/* Views into the tkl_board_entries. */
typedef struct tkl_board_entry {
    tkl_bytes member;
    double score;
    int64_t rank;       /* on the whole board, from 1 */
    int64_t reached_ms; /* when it reached the score, in Unix milliseconds by the server's clock */
    TKL_RESERVED(2);
} tkl_board_entry;

typedef struct tkl_board_entries {
    const tkl_board_entry *items; /* the best first */
    size_t count;
    int64_t total; /* number of members of the season */
    TKL_RESERVED(4);
} tkl_board_entries;

TKL_API void tkl_board_entries_free(tkl_board_entries *entries); /* NULL is fine */

/* Ranks `first`, from 1, to first + count - 1; as many as there are. `count`: 0 to
 * TKL_BOARD_PAGE_MAX. */
TKL_API int tkl_board_top(tkl_board *board, int64_t first, size_t count,
                          tkl_board_entries **entries) TKL_NONNULL(1, 4) TKL_CHECK;
/* A member, up to `before` better ones and up to `after` worse ones; together at most
 * TKL_BOARD_PAGE_MAX. TKL_NOTFOUND: it is not on the board. */
TKL_API int tkl_board_around(tkl_board *board, tkl_bytes member, size_t before, size_t after,
                             tkl_board_entries **entries) TKL_NONNULL(1, 5) TKL_CHECK;
/* Some members, such as friends: those on the board, the best first. A friend's place among them
 * is its place in the list. At most TKL_BOARD_RANK_MAX; one that is named twice is listed once. */
TKL_API int tkl_board_rank(tkl_board *board, const tkl_bytes *members, size_t count,
                           tkl_board_entries **entries) TKL_NONNULL(1, 4) TKL_CHECK;
/* The number of members of the season. */
TKL_API int tkl_board_count(tkl_board *board, int64_t *count) TKL_NONNULL(1, 2) TKL_CHECK;

/* The seasons that are kept, by the day on which they begin ("2026-11-16"), in order; none for a
 * board without seasons. Free with tkl_names_free(). */
TKL_API int tkl_board_seasons(tkl_board *board, tkl_names **seasons) TKL_NONNULL(1, 2) TKL_CHECK;
/* The names of all boards. See tkl_options.no_register. Free with tkl_names_free(). */
TKL_API int tkl_board_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
