/* SPDX-License-Identifier: MIT
 *
 * The part of pushing that the rest of the queue uses.
 */
#ifndef TKL_QUEUE_PUSH_H
#define TKL_QUEUE_PUSH_H

#include "queue/partition.h"

/* A lane: a pusher's name and the number of its last push. The server recognises a repeated push by
 * them. */
typedef struct tkl__queue_lane tkl__queue_lane;
void tkl__queue_lanes_free(tkl_queue *queue);

#endif
