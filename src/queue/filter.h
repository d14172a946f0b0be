/* SPDX-License-Identifier: MIT
 *
 * Filters as arguments of scripts: see filter.inc.lua.
 */
#ifndef TKL_QUEUE_FILTER_H
#define TKL_QUEUE_FILTER_H

#include <tackle/queue.h>

/* The conditions of a filter except its id: views into the filter; `older` points into `digits`. */
typedef struct tkl__queue_filter {
    tkl_bytes kind, reason, text, older;
    char digits[24];
} tkl__queue_filter;

/* `filter` NULL: any job. TKL_EINVAL when a condition is out of range. */
int tkl__queue_filter_read(const tkl_job_filter *filter, tkl__queue_filter *read);

#endif
