/* SPDX-License-Identifier: MIT
 *
 * Latencies in buckets that are never wider than 1/32 of their values.
 */
#ifndef TACKLE_BENCH_HISTOGRAM_H
#define TACKLE_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_FINE    32 /* buckets for each power of two */
#define HISTOGRAM_BUCKETS (40 * HISTOGRAM_FINE)

typedef struct histogram {
    uint64_t total;
    uint32_t counts[HISTOGRAM_BUCKETS];
} histogram;

void histogram_add(histogram *h, int64_t ns);
void histogram_merge(histogram *into, const histogram *from);
/* In nanoseconds; `part` from 0 to 1. */
double histogram_quantile(const histogram *h, double part);

#endif
