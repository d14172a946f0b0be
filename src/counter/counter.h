/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of this folder.
 */
#ifndef TKL_COUNTER_COUNTER_H
#define TKL_COUNTER_COUNTER_H

#include <tackle/counter.h>

#include "core/batch.h"
#include "core/keys.h"

#define TKL__SHAPE_SIZE  320 /* samples and 16 precisions in digits */
#define TKL__AMOUNT_SIZE 24

struct tkl_counter {
    tkl_client *client;
    tkl__keys keys; /* one key: the hash */
    int64_t timeout_ms;
    char shape[TKL__SHAPE_SIZE]; /* "120 1000 5000": as the options request */
    bool strict;                 /* the options set the shape: the counter must have it */
    tkl_bytes precisions[TKL_COUNTER_PRECISIONS_MAX]; /* views into `shape` */
    size_t count;                                     /* number of precisions */
};

/* The arguments of one counter/add or counter/add_at. */
typedef struct tkl__counter_count {
    char amount[TKL__AMOUNT_SIZE], at[TKL__AMOUNT_SIZE];
    tkl_bytes args[3 + TKL_COUNTER_PRECISIONS_MAX];
} tkl__counter_count;

/* Makes a call that adds. It must not outlive `count` and the counter. */
tkl__invocation tkl__counter_call(const tkl_counter *counter, int64_t amount,
                                  tkl__counter_count *count);
/* Reading as part of a larger batch: adds the call that reads the slices of one precision, and
 * makes a series of its reply. */
void tkl__counter_ask(tkl__batch *batch, tkl_bytes name, int64_t every_ms);
int tkl__counter_heard(const tkl_reply *reply, int64_t every_ms, tkl_counter_series **series);
/* Returns the result of a reply of counter/add or counter/add_at. */
int tkl__counter_result(const tkl_reply *reply);

#endif
