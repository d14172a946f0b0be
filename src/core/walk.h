/* SPDX-License-Identifier: MIT
 *
 * Walking over the keys of all servers, or the members of one key, without blocking any server.
 */
#ifndef TKL_CORE_WALK_H
#define TKL_CORE_WALK_H

#include "core/call.h"

/* A description of the walk. */
typedef struct tkl__way {
    const char *command; /* SCAN; or SSCAN, HSCAN, ZSCAN with a key */
    tkl_bytes key;       /* key for SSCAN, HSCAN, ZSCAN */
    tkl_bytes pattern;   /* glob */
    const char *type;    /* type of keys: "zset"; NULL: any */
    int step;            /* number of elements a server looks at in one step; 0: 500 */
    int64_t timeout_ms;  /* time-out of one step; 0: the client's */
} tkl__way;

typedef struct tkl__walker tkl__walker;

/* `way` and what it points to must outlive the walker. */
int tkl__walker_open(tkl_client *client, const tkl__way *way, tkl__walker **walker);
/* Returns the next elements as an array, which may be empty; elements may repeat. TKL_EMPTY: no
 * more. Each step has its own time-out. */
int tkl__walker_next(tkl__walker *walker, tkl_reply **reply, const tkl_reply **elements);
void tkl__walker_close(tkl__walker *walker); /* NULL is fine */

/* A position of a walk as text, "slot.cursor.server": the slot by which the server is found, its
 * cursor, and its run id; "-" instead of the id where it begins with the server. */
#define TKL__WALK_POSITION_SIZE 80
typedef struct tkl__walk_position {
    int slot;
    char cursor[24], server[48];
} tkl__walk_position;

/* False: the text is not a position. */
bool tkl__walk_position_read(const char *text, tkl__walk_position *position);
/* The position behind the last step, or before it. TKL_EMPTY: the end. */
int tkl__walker_tell(tkl__walker *walker, bool before, char text[TKL__WALK_POSITION_SIZE]);
/* Goes on at this position of another walk. TKL_EINVAL: its server is gone. */
int tkl__walker_seek(tkl__walker *walker, const tkl__walk_position *position);

/* Called for each key; a key may come more than once. Anything but TKL_OK ends the walk. */
typedef int tkl__visit(tkl_bytes key, void *arg);

/* Visits all keys that match the glob pattern and have the type ("zset"; NULL: any), on every
 * master. */
int tkl__walk(tkl_client *client, tkl_bytes pattern, const char *type, tkl__visit *visit,
              void *arg);

/* Appends the text, escaped so that a pattern matches it literally. */
void tkl__glob_escape(tkl__buf *out, const char *text);

#endif
