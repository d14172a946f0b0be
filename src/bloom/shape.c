/* SPDX-License-Identifier: MIT */
#include "bloom/shape.h"

#include <math.h>
#include <xxhash.h>

#include "core/error.h"

#define ERROR_MIN    1e-12
#define ERROR_MAX    0.5
#define MEMORY_RATIO 1.02 /* compared with the size of the textbook */
#define GOLDEN       UINT64_C(0x9e3779b97f4a7c15)

int tkl__bloom_subfilter_groups(const tkl__bloom_subfilter *sub)
{
    return (sub->hashes + TKL__GROUP_MAX - 1) / TKL__GROUP_MAX;
}

int tkl__bloom_subfilter_parts(const tkl__bloom_subfilter *sub)
{
    return (int)((sub->bytes + TKL__PART_BYTES - 1) / TKL__PART_BYTES);
}

int64_t tkl__bloom_part_size(const tkl__bloom_subfilter *sub, int part)
{
    uint64_t before = (uint64_t)part * TKL__PART_BYTES, rest = sub->bytes - before;
    return (int64_t)(rest < TKL__PART_BYTES ? rest : TKL__PART_BYTES) + TKL__WINDOW_BYTES - 1;
}

int64_t tkl__bloom_subfilter_size(const tkl__bloom_subfilter *sub)
{
    return (int64_t)sub->bytes + tkl__bloom_subfilter_parts(sub) * (TKL__WINDOW_BYTES - 1);
}

/* The number of bits of a group; groups are as equal as possible. */
static int group_size(const tkl__bloom_subfilter *sub, int group)
{
    int groups = tkl__bloom_subfilter_groups(sub);
    return (sub->hashes + groups - 1 - group) / groups;
}

/* The error rate when items have set `load` bits per existing bit; see the essay. */
static double error_rate(const tkl__bloom_subfilter *sub, double load)
{
    double set = -expm1(-load), ratio = (1 - set) / set;
    double error = pow(set, sub->hashes);
    for (int g = 0; g < tkl__bloom_subfilter_groups(sub); g++) {
        double j = group_size(sub, g);
        double overlap = load * (j - 1) * ratio * ratio * 2 / 3;
        error *= 1 + j * (j - 1) / 2 * (overlap + ratio - load * ratio) / TKL__WINDOW_BITS;
    }
    return error;
}

/* The load that has this error rate: the error rate grows with the load. */
static double find_load(const tkl__bloom_subfilter *sub, double error)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (error_rate(sub, middle) < error)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Chooses the number of hashes: the lowest, because each hash costs time, with which a filter does
 * not need many more bits than in the textbook. If there is none, the number that needs the fewest
 * bits. Returns the bits per item. */
static double choose_hashes(tkl__bloom_subfilter *sub, double error)
{
    double textbook = -log(error) / (M_LN2 * M_LN2);
    int most = (int)ceil(-log2(error)), best = 1;
    double least = INFINITY;
    for (sub->hashes = 1; sub->hashes <= most; sub->hashes++) {
        double bits = sub->hashes / find_load(sub, error);
        if (bits <= MEMORY_RATIO * textbook)
            return bits;
        best = bits < least ? sub->hashes : best;
        least = fmin(bits, least);
    }
    sub->hashes = best;
    return least;
}

int tkl__bloom_subfilter_make(double error, int64_t capacity, tkl__bloom_subfilter *sub)
{
    *sub = (tkl__bloom_subfilter){.capacity = capacity};
    if (!(error >= ERROR_MIN && error <= ERROR_MAX))
        return tkl__fail(TKL_EINVAL, "the error rate of a filter is from 1e-12 to 0.5");
    if (capacity < 1)
        return tkl__fail(TKL_EINVAL, "the capacity of a filter is 1 or more");
    double bytes = ceil((double)capacity * choose_hashes(sub, error) / 8);
    if (bytes > (double)TKL__BYTES_MAX)
        return tkl__fail(TKL_EINVAL, "the filter would take more than 128 GiB");
    sub->bytes = (uint64_t)bytes;
    return TKL_OK;
}

int tkl__bloom_shape_next(const tkl__bloom_shape *shape, tkl__bloom_subfilter *sub)
{
    double error = fmax(ERROR_MIN, ldexp(shape->error / 10, -shape->count));
    int64_t last = shape->subs[shape->count - 1].capacity;
    bool room = shape->count < TKL__SUBS_MAX && last <= INT64_MAX / 2;
    return room && tkl__bloom_subfilter_make(error, 2 * last, sub) == TKL_OK ? TKL_OK : TKL_FULL;
}

/* A number below `count` from the upper bits of the hash; the rest stays in the hash. */
static uint64_t draw_number(uint64_t *hash, uint64_t count)
{
    unsigned __int128 product = (unsigned __int128)*hash * count;
    *hash = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

static void insert_place(unsigned *bits, int count, unsigned bit)
{
    for (; count > 0 && bits[count - 1] > bit; count--)
        bits[count] = bits[count - 1];
    bits[count] = bit;
}

/* The finaliser of SplitMix64: every bit of the result depends on every bit of the number. */
static uint64_t mix(uint64_t number)
{
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

tkl__bloom_hash tkl__bloom_hash_item(tkl_bytes item)
{
    XXH128_hash_t hash = XXH3_128bits(item.data, item.len);
    return (tkl__bloom_hash){hash.low64, hash.high64};
}

void tkl__bloom_subfilter_place(const tkl__bloom_subfilter *sub, tkl__bloom_hash hash, int group,
                                tkl__bloom_group *out)
{
    uint64_t step = 2 * (uint64_t)group;
    uint64_t place = mix(hash.low + step * GOLDEN);
    uint64_t pattern = mix(hash.high + (step + 1) * GOLDEN);
    uint64_t start = draw_number(&place, sub->bytes);
    out->part = (int)(start / TKL__PART_BYTES);
    out->start = start % TKL__PART_BYTES;
    out->count = group_size(sub, group);
    for (int j = 0; j < out->count; j++)
        insert_place(out->bits, j, (unsigned)draw_number(&pattern, TKL__WINDOW_BITS));
}

bool tkl__bloom_subfilter_equal(const tkl__bloom_subfilter *a, const tkl__bloom_subfilter *b)
{
    return a->capacity == b->capacity && a->bytes == b->bytes && a->hashes == b->hashes;
}
