/* SPDX-License-Identifier: MIT */
#include "bloom/shape.h"

#include <math.h>
#include <xxhash.h>

#include "core/error.h"

#define ERROR_MIN 1e-12
#define ERROR_MAX 0.5

int tkl__subfilter_groups(const tkl__subfilter *sub)
{
    return (sub->hashes + TKL__GROUP_MAX - 1) / TKL__GROUP_MAX;
}

int tkl__subfilter_parts(const tkl__subfilter *sub)
{
    return (int)((sub->blocks + TKL__PART_BLOCKS - 1) / TKL__PART_BLOCKS);
}

/* The bits of a group: as even as can be. */
static int group_size(const tkl__subfilter *sub, int group)
{
    int groups = tkl__subfilter_groups(sub);
    return (sub->hashes + groups - 1 - group) / groups;
}

/* By how much blocks raise the error rate; see the essay. */
static double penalty(const tkl__subfilter *sub)
{
    double sum = 0;
    for (int g = 0; g < tkl__subfilter_groups(sub); g++) {
        double j = group_size(sub, g);
        sum += (M_LN2 * j * j * (j - 2) + (1 - M_LN2) * j * (j - 1)) / 2 / TKL__BLOCK_BITS;
    }
    return fmax(0, sum); /* a single bit errs less often, by a hair */
}

int tkl__subfilter_make(double error, int64_t capacity, tkl__subfilter *sub)
{
    *sub = (tkl__subfilter){.capacity = capacity};
    if (!(error >= ERROR_MIN && error <= ERROR_MAX))
        return tkl__fail(TKL_EINVAL, "the error rate of a filter is from %g to %g", ERROR_MIN,
                         ERROR_MAX);
    if (capacity < 1)
        return tkl__fail(TKL_EINVAL, "the capacity of a filter is 1 or more");
    double bits_each = -log(error) / (M_LN2 * M_LN2);
    sub->hashes = (int)fmax(1, round(bits_each * M_LN2));
    bits_each *= 1 + penalty(sub) / (sub->hashes * M_LN2);
    double blocks = ceil((double)capacity * bits_each / TKL__BLOCK_BITS);
    if (blocks > (double)TKL__BLOCKS_MAX)
        return tkl__fail(TKL_EINVAL, "the filter would take %.0f GiB, more than 128",
                         blocks * TKL__BLOCK_BYTES / (1 << 30));
    sub->blocks = (uint64_t)blocks;
    return TKL_OK;
}

int tkl__shape_next(const tkl__shape *shape, tkl__subfilter *sub)
{
    double error = fmax(ERROR_MIN, ldexp(shape->error / 10, -shape->count));
    int64_t last = shape->subs[shape->count - 1].capacity;
    bool room = shape->count < TKL__SUBS_MAX && last <= INT64_MAX / 2;
    return room && tkl__subfilter_make(error, 2 * last, sub) == TKL_OK ? TKL_OK : TKL_FULL;
}

static uint64_t scale(uint64_t hash, uint64_t blocks)
{
    return (uint64_t)(((unsigned __int128)hash * blocks) >> 64);
}

void tkl__subfilter_place(const tkl__subfilter *sub, tkl_bytes item, int group, tkl__group *out)
{
    enum { HIGH = 6, WIDTH = 10 };
    XXH128_hash_t hash = XXH3_128bits_withSeed(item.data, item.len, (XXH64_hash_t)group);
    out->block = scale(hash.low64, sub->blocks);
    out->count = group_size(sub, group);
    for (int j = 0; j < out->count; j++) {
        uint64_t bits = j < HIGH ? hash.high64 >> (WIDTH * j) : hash.low64;
        out->bits[j] = (unsigned)(bits % TKL__BLOCK_BITS);
    }
}

bool tkl__subfilter_equal(const tkl__subfilter *a, const tkl__subfilter *b)
{
    return a->capacity == b->capacity && a->blocks == b->blocks && a->hashes == b->hashes;
}
