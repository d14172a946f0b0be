/* SPDX-License-Identifier: MIT
 *
 * `tackle top`: reading in a thread (top_reader.c), tables (top_tables.c), the screen
 * (top_screen.c), keys and the verb (top.c).
 */
#ifndef TKL_CLI_TOP_H
#define TKL_CLI_TOP_H

#include <pthread.h>

#include "out.h"

/* ---- Tables -------------------------------------------------------------- */

typedef enum top_tab {
    TOP_QUEUES,
    TOP_LOCKS,
    TOP_SEMAPHORES,
    TOP_LEADERS,
    TOP_COUNTERS,
    TOP_WORKERS,
    TOP_LIMITS
} top_tab;

enum { TOP_TABS = TOP_LIMITS + 1, TOP_COLUMNS = 12, TOP_CELL_SIZE = 192 };

typedef enum top_kind {
    TOP_COUNT,    /* a number */
    TOP_RATE,     /* a number a second; not a number: not known yet */
    TOP_DURATION, /* milliseconds */
    TOP_TEXT,
    TOP_SPARK, /* a sparkline */
} top_kind;

/* The first column of each table is the name. An array of these ends with a zero entry. */
typedef struct top_column {
    const char *key; /* in JSON */
    const char *title;
    top_kind kind;
} top_column;

typedef struct top_row {
    char *name; /* escaped for a terminal */
    tkl_bytes raw;
    bool warns;               /* it needs an operator: dead letters, an error */
    bool paused;              /* the row is a paused queue */
    double keys[TOP_COLUMNS]; /* to sort by, and for JSON; NAN: none */
    char *texts[TOP_COLUMNS]; /* the cells as shown */
    const void *item;         /* its summary in the overview */
} top_row;

typedef struct top_table {
    const char *title;
    const top_column *columns;
    size_t ncolumns;
    top_row *rows;
    size_t count;
    int code;          /* TKL_OK, or why it could not be read */
    char problem[256]; /* ditto, in words */
} top_table;

/* A moment: an overview and when it was read, monotonic us. */
typedef struct top_moment {
    tkl_overview *overview;
    int64_t at_us;
} top_moment;

/* The workers of the queues, and the limits that refused lately. They are no part of an overview,
 * and take round trips of their own: only where they are shown. */
typedef struct top_extras {
    tkl_queue_worker_list *workers; /* NULL: not read */
    tkl_result workers_result;
    tkl_limit_overview *limits; /* NULL: not read */
    tkl_result limits_result;
} top_extras;

/* Reads the workers of all queues of the overview, or the limits; frees the earlier ones. */
void top_workers_read(tkl_client *client, const tkl_overview *overview, top_extras *extras);
void top_limits_read(tkl_client *client, top_extras *extras);
void top_extras_free(top_extras *extras);

/* Makes the tables of all tabs; rates are those since `last` (without an overview: not known). The
 * rows point into `now` and `extras`. `utf8`: the terminal shows it. */
void top_tables_make(const top_moment *now, const top_moment *last, const top_extras *extras,
                     bool utf8, top_table tables[TOP_TABS]);
void top_tables_free(top_table tables[TOP_TABS]);

/* Sorts by a column, the largest first; names by the alphabet. `reverse`: the other way round. */
void top_table_sort(top_table *table, size_t column, bool reverse);
/* Keeps the rows whose names contain the text, in any case of letters. */
void top_table_filter(top_table *table, const char *text);

json_t *top_tables_json(const top_moment *now, top_table tables[TOP_TABS]);

/* ---- Reading ------------------------------------------------------------- */

typedef enum top_act { TOP_NO_ACT, TOP_PAUSE, TOP_RESUME, TOP_RETRY_DEAD, TOP_BREAK } top_act;

/* Shared by the main thread, which asks, and the reading thread, which answers. The mutex guards
 * all of it. */
typedef struct top_reader {
    tkl_client *client;
    int64_t interval_ms;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* wakes the reading thread */
    int bell;            /* eventfd: rung when there is something new */

    bool frozen;      /* read nothing */
    tkl_bytes looked; /* queue that is looked into; without data: none */
    int partitions;   /* its partitions */
    top_tab shown;
    top_act act;     /* the next action */
    top_tab act_tab; /* the table of its row */
    tkl_bytes act_name;
    int act_partitions;

    top_moment now, last;
    top_extras extras;
    char problem[256];           /* why the last read failed; "": it has not */
    tkl_listing *ready, *active; /* first jobs of the queue that is looked into; NULL: not read */
    char outcome[256];           /* how the last act ended */
} top_reader;

int top_reader_start(top_reader *reader, const cli_session *cli, tkl_client *client,
                     int64_t interval_ms);
/* Wakes the reading thread when its task has changed. The caller has the mutex. */
void top_reader_wake(top_reader *reader);
/* Lets the reading thread look into a queue; without data in the name: into none. The caller has
 * the mutex. */
void top_reader_look(top_reader *reader, tkl_bytes name, int partitions);
/* Asks the reading thread for an action; `outcome` then says how it ended. The caller has the
 * mutex. */
void top_reader_act(top_reader *reader, top_act act, top_tab tab, tkl_bytes name, int partitions);

/* ---- The screen ---------------------------------------------------------- */

typedef struct top_view {
    top_tab tab;
    size_t sort[TOP_TABS];
    bool reverse[TOP_TABS];
    size_t selected, first; /* row; first row on the screen */
    char filter[128];
    bool typing; /* the filter is being typed */
    bool frozen;
    bool looking; /* into the selected row */
    bool help;
    const char *question; /* NULL: none */
    bool utf8;
    size_t columns, lines; /* size of the terminal */
} top_view;

/* Whether the user's locale is UTF-8. */
bool top_is_utf8(void);
/* Enters and leaves the whole screen. */
bool top_screen_enter(void);
void top_screen_leave(void);
/* Draws everything. The caller has the reader's mutex. */
void top_screen_draw(top_view *view, const top_reader *reader, top_table tables[TOP_TABS]);
/* Rows that fit. */
size_t top_screen_room(const top_view *view);
/* Help about the keys: lines, ended by NULL. */
extern const char *const top_keys[];
/* The same tables as plain text, one below the other. */
void top_print_plain(const top_moment *now, top_table tables[TOP_TABS], bool utf8);

#endif
