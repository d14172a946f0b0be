/* SPDX-License-Identifier: MIT
 *
 * What pushing shares with the rest of the queue.
 */
#ifndef TKL_QUEUE_PUSH_H
#define TKL_QUEUE_PUSH_H

#include "queue/shard.h"

/* Who pushes, and how often it did: what a repeated push is recognised by. */
typedef struct tkl__queue_lane tkl__queue_lane;
void tkl__queue_lanes_free(tkl_queue *queue);

#endif
