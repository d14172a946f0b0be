/* SPDX-License-Identifier: MIT
 *
 * Values summed up: moments, and a sketch for quantiles.
 *
 * A sketch counts values in buckets whose borders are powers of 1.02: the middle of a bucket
 * differs from each of its values by less than 1 % (as in DDSketch). Two sketches are merged by
 * adding their counts. There are 3489 buckets for each sign, from 1e-12 to 1e18, and one for values
 * nearer to 0: values of four orders of magnitude take 466 of them.
 */
#ifndef TKL_STATS_SKETCH_H
#define TKL_STATS_SKETCH_H

#include <tackle/stats.h>

/* Buckets are numbered in the order of their values; bucket 0 holds 0. */
typedef struct tkl__stats_bucket {
    int number;
    int64_t count;
} tkl__stats_bucket;

/* Buckets are sorted by number, without duplicates. */
typedef struct tkl__stats_sketch {
    int64_t count;
    double mean, m2; /* m2: the sum of the squared distances from the mean */
    double min, max, sum, sumsq;
    tkl__stats_bucket *buckets; /* owned */
    size_t nbuckets, cap;
} tkl__stats_sketch;

int tkl__stats_bucket_of(double value);
/* The value that represents all values of a bucket. */
double tkl__stats_bucket_value(int number);

void tkl__stats_sketch_free(tkl__stats_sketch *sketch);
void tkl__stats_sketch_clear(tkl__stats_sketch *sketch);
/* Adds a value, which must be finite and within the bounds. TKL_ENOMEM. */
int tkl__stats_sketch_add(tkl__stats_sketch *sketch, double value);
/* Adds `count` to a bucket. */
int tkl__stats_sketch_count(tkl__stats_sketch *sketch, int number, int64_t count);
int tkl__stats_sketch_merge(tkl__stats_sketch *sketch, const tkl__stats_sketch *other);
double tkl__stats_sketch_stddev(const tkl__stats_sketch *sketch);
double tkl__stats_sketch_quantile(const tkl__stats_sketch *sketch, double quantile);

#endif
