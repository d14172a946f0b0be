/* SPDX-License-Identifier: MIT
 *
 * The counts of the server, in the text form that Prometheus reads.
 */
#ifndef TKL_SERVE_METRICS_H
#define TKL_SERVE_METRICS_H

#include "cli.h"

typedef struct serve_metrics {
    int64_t began_ms;    /* monotonic clock */
    int64_t answers[6];  /* counts, by the first digit of the status */
    int64_t took_ms;     /* all answers together */
    int64_t gone;        /* clients that left before their answer */
    int64_t connections; /* open now */
    int64_t streams;     /* open now */
} serve_metrics;

void serve_metrics_init(serve_metrics *metrics);
void serve_metrics_count(serve_metrics *metrics, int status, int64_t took_ms);

/* To be freed; NULL: out of memory. */
char *serve_metrics_text(const serve_metrics *metrics, tkl_loop *loop);

#endif
