/* SPDX-License-Identifier: MIT
 *
 * Metrics: the text (metrics.c; that of queues in metrics_queues.c), and serving it
 * (metrics_serve.c).
 */
#ifndef TKL_CLI_METRICS_H
#define TKL_CLI_METRICS_H

#include <stdio.h>

#include "cli.h"

/* Writes everything as text for Prometheus; at most about `max` series have names of queues, locks
 * and the like. Parts that could not be read are missing, and tackle_readable says so; `problems`
 * (may be NULL) gets a line for each of them. Returns how many parts could be read. */
int cli_metrics_write(tkl_client *client, int64_t max, FILE *to, FILE *problems);

/* Answers GET /metrics on "HOST:PORT" for ever. Returns only when it cannot listen. */
int cli_metrics_serve(cli_session *cli, tkl_client *client, const char *address, int64_t max);

/* ---- The text ------------------------------------------------------------ */

void metrics_write_head(FILE *to, const char *name, const char *type, const char *help);
/* Writes a name as the value of a label. Names are escaped as on a terminal, which keeps different
 * names different even if they are no UTF-8; then as the format wants it. */
void metrics_write_label(FILE *to, tkl_bytes name);
/* Writes the value of a sample and ends its line. */
void metrics_write_seconds(FILE *to, int64_t ms);
/* Writes a metric without labels. */
void metrics_write_number(FILE *to, const char *name, const char *type, const char *help,
                          int64_t value);

/* ---- How many names ------------------------------------------------------ */

/* The label under which names beyond the bound are added up. */
#define METRICS_OTHER "other"

/* The bound on series with names, and the number of series without a bound. */
typedef struct metrics_bound {
    int64_t max;    /* without the series of "other" */
    int64_t wanted; /* series of all names */
} metrics_bound;

/* How many of `count` names get series of their own. */
size_t metrics_count_shown(size_t count, const metrics_bound *b);
/* Whether the next of `count` names is added up in "other": `shown` names have series of their own
 * so far, and `most` names may have some. */
bool metrics_is_folded(tkl_bytes name, size_t shown, size_t most, size_t count);

/* ---- Queues -------------------------------------------------------------- */

/* Numbers that were read of all queues. */
typedef struct metrics_queues {
    tkl_queue_overview *all;        /* NULL: not read */
    tkl_queue **handles;            /* the queues that could be read */
    size_t count;                   /* number of handles */
    tkl_queue_worker_list *workers; /* NULL: not read */
    tkl_queue_kind_list *times;     /* NULL: not read */
} metrics_queues;

enum {
    METRICS_QUEUE_SERIES = 13,                         /* for each queue */
    METRICS_TIME_SERIES = 2 * (TKL_QUEUE_BUCKETS + 2), /* for each queue and kind */
};

int metrics_queues_read(tkl_client *client, metrics_queues *queues);
int metrics_workers_read(metrics_queues *queues); /* after the queues */
int metrics_times_read(metrics_queues *queues);   /* ditto */
void metrics_queues_write(FILE *to, const metrics_queues *queues, const metrics_bound *b);
void metrics_queues_free(metrics_queues *queues);

#endif
