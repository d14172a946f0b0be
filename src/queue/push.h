/* SPDX-License-Identifier: MIT
 *
 * What pushing shares with the rest of the queue.
 */
#ifndef TKL_QUEUE_PUSH_H
#define TKL_QUEUE_PUSH_H

#include "queue/shard.h"

/* The score of a ready job, by where it comes from: the regions of the essay in queue.c. */
#define TKL__SCORE_BACK(priority)   ((int64_t)(priority) * (INT64_C(1) << 42))
#define TKL__SCORE_PUSHED(priority) (TKL__SCORE_BACK(priority) + (INT64_C(2) << 40))

/* Who pushes, and how often it did: what a repeated push is recognised by. */
typedef struct tkl__lane tkl__lane;
void tkl__lanes_free(tkl_queue *queue);

#endif
