/* SPDX-License-Identifier: MIT
 *
 * The shape of a filter: how many bits, which of them belong to an item.
 *
 * The textbook: m = -n ln p / (ln 2)^2 bits for n items at the error rate p, k = m/n ln 2 of them
 * set by each item. Here the bits of an item are not strewn over all m: up to GROUP_MAX of them lie
 * in one window of 88 bytes, so that one GETRANGE answers for all of them instead of a GETBIT each,
 * and one SETRANGE writes them. A window may begin at any byte, so windows overlap: the load of
 * neighbours evens out, and it takes a third less memory than blocks side by side would.
 *
 * This costs something, as some places get more items than others and as two bits of an item may
 * coincide. With a = kn/m, q = 1 - e^-a the share of bits that are set, r = (1 - q)/q and W bits in
 * a window, a group of j bits is found set by mistake more often than q^j by the factor
 *
 *     1 + (j (j-1) / 2) (2/3 a (j-1) r^2 + r - a r) / W
 *
 * (the first term: items whose windows overlap, Poisson, two bits of a window share two thirds of
 * them; the second: bits of an item that coincide; the third: these leave other bits unset; higher
 * orders left out). The number of bits is chosen so that the error rate is p with this in it. As
 * the optimum is flat, k may be lower than the textbook's: it is the lowest that takes at most 2 %
 * more memory, six instead of seven at p = 1 %, so that one window holds them. There is one for
 * every p below 34 % and above 42 %. Between them, where the textbook's k is neither 1 nor 2, the
 * better of the two takes up to 3.8 % more.
 *
 * The hash of group g is XXH3 with 128 bits and the seed g, `low` and `high` its halves:
 *
 *     window    begins at byte low * bytes / 2^64
 *     bit j     high * 704 / 2^64, after which high becomes high * 704 mod 2^64
 *
 * A string of the server has 512 MB at most: 2^28 windows make a part, a key of its own. It is
 * longer than that by the rest of its last window.
 *
 * A filter that grows gets another sub-filter for twice the capacity. The first has the error rate
 * that was asked for, those after it a twentieth, a fortieth and so on: together they stay within
 * 1.1 of it.
 */
#ifndef TKL_BLOOM_SHAPE_H
#define TKL_BLOOM_SHAPE_H

#include <tackle/bloom.h>

#define TKL__WINDOW_BYTES 88
#define TKL__WINDOW_BITS  (8 * TKL__WINDOW_BYTES)
#define TKL__PART_BYTES   (UINT64_C(1) << 28)
#define TKL__BYTES_MAX    (UINT64_C(1) << 37)
#define TKL__GROUP_MAX    6
#define TKL__SUBS_MAX     32

typedef struct tkl__subfilter {
    int64_t capacity;
    int64_t count;  /* when last looked at */
    uint64_t bytes; /* in which a window may begin */
    int hashes;
} tkl__subfilter;

typedef struct tkl__shape {
    char version[48]; /* changes with every change of shape; "" when not known */
    double error;
    bool fixed;
    int count;
    tkl__subfilter subs[TKL__SUBS_MAX];
} tkl__shape;

/* The bits of an item that lie in one window. */
typedef struct tkl__group {
    int part;
    int count;
    uint64_t start;                /* of the window: byte in the part */
    unsigned bits[TKL__GROUP_MAX]; /* within the window, in order */
} tkl__group;

/* TKL_EINVAL when there is no such filter. */
int tkl__subfilter_make(double error, int64_t capacity, tkl__subfilter *sub);
/* The sub-filter that would come next. TKL_FULL: it would be too large. */
int tkl__shape_next(const tkl__shape *shape, tkl__subfilter *sub);

int tkl__subfilter_groups(const tkl__subfilter *sub);
int tkl__subfilter_parts(const tkl__subfilter *sub);
/* What it takes when full: with the rest of each part's last window. */
int64_t tkl__subfilter_size(const tkl__subfilter *sub);
void tkl__subfilter_place(const tkl__subfilter *sub, tkl_bytes item, int group, tkl__group *out);

/* Sub-filters that have the same place for every item. */
bool tkl__subfilter_equal(const tkl__subfilter *a, const tkl__subfilter *b);

#endif
