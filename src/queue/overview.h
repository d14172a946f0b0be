/* SPDX-License-Identifier: MIT
 *
 * The numbers of all queues as part of a larger batch; see tkl_overview_read().
 */
#ifndef TKL_QUEUE_OVERVIEW_H
#define TKL_QUEUE_OVERVIEW_H

#include <tackle/queue.h>

#include "core/batch.h"

/* Adds the calls that read the numbers of these queues; none if `known` is NULL. */
void tkl__queue_overview_ask(tkl__batch *batch, const tkl_queue_overview *known);

/* Reads the names from the replies of the register at *names_at, and the numbers of the known
 * queues from the replies at *at. Moves both on. Queues that were not known have the code
 * TKL_ENOTSENT. */
int tkl__queue_overview_heard(const tkl__batch *batch, size_t *names_at, size_t *at,
                              const tkl_queue_overview *known, tkl_queue_overview **overview);

#endif
