/* SPDX-License-Identifier: MIT
 *
 * Values below 32 have a bucket each; each further power of two is cut into 32 equal buckets,
 * so that the five bits behind the leading one choose the bucket. The last bucket takes all
 * beyond (above 18 minutes).
 */
#include "histogram.h"

#define FINE_BITS 5

static int bucket_of(uint64_t value)
{
    if (value < HISTOGRAM_FINE)
        return (int)value;
    int shift = 63 - __builtin_clzll(value) - FINE_BITS;
    int bucket = (shift + 1) * HISTOGRAM_FINE + (int)((value >> shift) & (HISTOGRAM_FINE - 1));
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static double middle_of(int bucket)
{
    if (bucket < HISTOGRAM_FINE)
        return bucket;
    int shift = bucket / HISTOGRAM_FINE - 1;
    double low = (double)((uint64_t)(HISTOGRAM_FINE + bucket % HISTOGRAM_FINE) << shift);
    return low + (double)(UINT64_C(1) << shift) / 2;
}

void histogram_add(histogram *h, int64_t ns)
{
    h->counts[bucket_of(ns > 0 ? (uint64_t)ns : 0)]++;
    h->total++;
}

void histogram_merge(histogram *into, const histogram *from)
{
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->counts[i] += from->counts[i];
    into->total += from->total;
}

double histogram_quantile(const histogram *h, double part)
{
    uint64_t rank = (uint64_t)(part * (double)h->total), seen = 0;
    if (rank > 0 && rank == h->total)
        rank--;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen > rank)
            return middle_of(i);
    }
    return 0;
}
