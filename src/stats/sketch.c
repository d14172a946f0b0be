/* SPDX-License-Identifier: MIT */
#include "stats/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define GROWTH   1.02
#define SMALLEST 1e-12

/* ---- Buckets ------------------------------------------------------------- */

/* Bucket k > 0 holds the values from SMALLEST x GROWTH^(k-1) to SMALLEST x GROWTH^k. */
int tkl__stats_bucket_of(double value)
{
    double size = fabs(value);
    if (size < SMALLEST)
        return 0;
    int number = (int)floor(log(size / SMALLEST) / log(GROWTH)) + 1;
    return value < 0 ? -number : number;
}

/* Returns the harmonic mean of the borders: its relative distance from both is the same. */
double tkl__stats_bucket_value(int number)
{
    if (number == 0)
        return 0;
    double upper = SMALLEST * pow(GROWTH, abs(number));
    double middle = 2 * upper / (GROWTH + 1);
    return number < 0 ? -middle : middle;
}

/* Returns the index of a bucket, or the index at which it would be inserted. */
static size_t place_of(const tkl__stats_sketch *s, int number)
{
    size_t low = 0, high = s->nbuckets;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->buckets[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int grow_sketch(tkl__stats_sketch *s)
{
    size_t cap = s->cap ? 2 * s->cap : 16;
    tkl__stats_bucket *buckets = realloc(s->buckets, cap * sizeof *buckets);
    if (!buckets)
        return tkl__nomem();
    s->buckets = buckets;
    s->cap = cap;
    return TKL_OK;
}

int tkl__stats_sketch_count(tkl__stats_sketch *s, int number, int64_t count)
{
    size_t at = place_of(s, number);
    if (at < s->nbuckets && s->buckets[at].number == number) {
        s->buckets[at].count += count;
        return TKL_OK;
    }
    if (s->nbuckets == s->cap && grow_sketch(s) != TKL_OK)
        return TKL_ENOMEM;
    memmove(&s->buckets[at + 1], &s->buckets[at], (s->nbuckets - at) * sizeof *s->buckets);
    s->buckets[at] = (tkl__stats_bucket){number, count};
    s->nbuckets++;
    return TKL_OK;
}

/* ---- Sums ---------------------------------------------------------------- */

/* Chan's formula. Unlike the sum of squares minus the square of the sum, it stays exact when the
 * mean is large and the spread is small. */
static void merge_moments(tkl__stats_sketch *s, const tkl__stats_sketch *other)
{
    double a = (double)s->count, b = (double)other->count, delta = other->mean - s->mean;
    s->min = s->count > 0 ? fmin(s->min, other->min) : other->min;
    s->max = s->count > 0 ? fmax(s->max, other->max) : other->max;
    s->mean += delta * b / (a + b);
    s->m2 += other->m2 + delta * delta * a * b / (a + b);
    s->sum += other->sum;
    s->sumsq += other->sumsq;
    s->count += other->count;
}

int tkl__stats_sketch_add(tkl__stats_sketch *s, double value)
{
    tkl__stats_sketch one = {.count = 1,
                             .mean = value,
                             .min = value,
                             .max = value,
                             .sum = value,
                             .sumsq = value * value};
    int rc = tkl__stats_sketch_count(s, tkl__stats_bucket_of(value), 1);
    if (rc == TKL_OK)
        merge_moments(s, &one);
    return rc;
}

int tkl__stats_sketch_merge(tkl__stats_sketch *s, const tkl__stats_sketch *other)
{
    int rc = TKL_OK;
    if (other->count == 0)
        return rc;
    while (rc == TKL_OK && s->cap < s->nbuckets + other->nbuckets) /* all or nothing */
        rc = grow_sketch(s);
    if (rc != TKL_OK)
        return rc;
    for (size_t i = 0; i < other->nbuckets; i++)
        rc = tkl__stats_sketch_count(s, other->buckets[i].number, other->buckets[i].count);
    merge_moments(s, other);
    return rc;
}

void tkl__stats_sketch_clear(tkl__stats_sketch *s)
{
    *s = (tkl__stats_sketch){.buckets = s->buckets, .cap = s->cap};
}

void tkl__stats_sketch_free(tkl__stats_sketch *s)
{
    free(s->buckets);
    *s = (tkl__stats_sketch){0};
}

/* ---- Results ------------------------------------------------------------- */

double tkl__stats_sketch_stddev(const tkl__stats_sketch *s)
{
    return s->count > 1 ? sqrt(fmax(s->m2, 0) / (double)(s->count - 1)) : 0;
}

double tkl__stats_sketch_quantile(const tkl__stats_sketch *s, double quantile)
{
    if (!(quantile >= 0 && quantile <= 1) || s->count == 0)
        return 0;
    double rank = fmax(1, ceil(quantile * (double)s->count - 1e-9)); /* 0.9 x 10 is 9, not 10 */
    if (rank <= 1)
        return s->min;
    if (rank >= (double)s->count)
        return s->max;
    double below = 0;
    for (size_t i = 0; i < s->nbuckets; i++) {
        below += (double)s->buckets[i].count;
        if (below >= rank)
            return fmin(fmax(tkl__stats_bucket_value(s->buckets[i].number), s->min), s->max);
    }
    return s->max;
}
