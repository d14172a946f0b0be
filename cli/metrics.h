/* SPDX-License-Identifier: MIT
 *
 * Metrics: the text, and serving it.
 */
#ifndef TKL_CLI_METRICS_H
#define TKL_CLI_METRICS_H

#include <stdio.h>

#include "cli.h"

/* Writes everything as text for Prometheus; at most about `max` series have names of queues, locks
 * and the like. What could not be read is missing, and tackle_readable says so; `problems` (NULL:
 * nobody wants them) gets a line for each such part. Returns how many parts could be read. */
int cli_metrics_write(tkl_client *client, int64_t max, FILE *to, FILE *problems);

/* Answers GET /metrics on "HOST:PORT" for ever. Returns only when it cannot listen. */
int cli_metrics_serve(cli_session *cli, tkl_client *client, const char *address, int64_t max);

#endif
