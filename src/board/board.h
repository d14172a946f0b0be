/* SPDX-License-Identifier: MIT
 *
 * The handle, and what its files share. The essay is in board.c.
 */
#ifndef TKL_BOARD_BOARD_H
#define TKL_BOARD_BOARD_H

#include <pthread.h>

#include <tackle/board.h>

#include "core/keys.h"
#include "core/script.h"
#include "cron/zone.h"

#define TKL__BOARD_COMPONENT      "board"
#define TKL__BOARD_ZONE_SIZE      64
#define TKL__BOARD_SHAPE_SIZE     128
#define TKL__BOARD_SEASON_SIZE    24
#define TKL__BOARD_STAMP_SIZE     7    /* bytes before a member */
#define TKL__BOARD_ANOTHER_SEASON 1001 /* answer of scripts: ask again, for the server's season */

/* The settings that the first write fixes. */
typedef struct tkl__board_shape {
    tkl_board_order order;
    tkl_board_per per;
    char zone[TKL__BOARD_ZONE_SIZE]; /* "UTC" */
    int64_t keep;
} tkl__board_shape;

struct tkl_board {
    tkl_client *client;
    tkl_bytes name; /* owned */
    int64_t timeout_ms;
    bool given;   /* the caller named the shape: the board must have it */
    char *season; /* the one to read: NULL: the current one; owned */
    pthread_mutex_t mutex;
    /* The mutex guards the following fields. */
    tkl__board_shape shape;
    tkl__cron_zone *zone; /* zone of the shape */
    int64_t ahead;        /* the server's clock minus our monotonic clock, in ms, as last seen */
};

/* ---- season.c ---- */

/* The season that a call is about, as far as we know the server's clock and settings. */
typedef struct tkl__board_season {
    tkl__board_shape shape;
    char name[TKL__BOARD_SEASON_SIZE]; /* its first day, "2026-11-16"; "" without seasons */
    int64_t start_ms, till_ms; /* the current season, which the script compares; 0, 0: it does
                                  not compare */
    int64_t kept_ms;           /* when it expires; 0: never */
} tkl__board_season;

/* With the mutex. */
int tkl__board_find_season(const tkl_board *board, tkl__board_season *season);
/* TKL_EINVAL unless it is "previous" or a day. */
int tkl__board_check_season(const char *season);

#endif
