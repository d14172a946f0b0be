/* SPDX-License-Identifier: MIT
 *
 * The shape of a filter: how many bits it has, and which of them belong to an item.
 *
 * The textbook: m = -n ln p / (ln 2)^2 bits for n items at the error rate p, k = m/n ln 2 of them
 * set by each item. Here the bits of an item are not spread over all m: up to GROUP_MAX of them lie
 * in one window of 88 bytes, so one GETRANGE reads all of them instead of a GETBIT for each, and
 * one SETRANGE writes them. A window may begin at any byte, so windows overlap: the load of
 * neighbours evens out, and the filter takes a third less memory than with blocks side by side.
 *
 * This costs something, as some places get more items than others and as two bits of an item may
 * coincide. With a = kn/m, q = 1 - e^-a the share of bits that are set, r = (1 - q)/q and W bits in
 * a window, a group of j bits is found set by mistake more often than q^j by the factor
 *
 *     1 + (j (j-1) / 2) (2/3 a (j-1) r^2 + r - a r) / W
 *
 * (the first term: items whose windows overlap, Poisson, two bits of a window share two thirds of
 * them; the second: bits of an item that coincide; the third: these leave other bits unset; higher
 * orders left out). The number of bits is chosen so that the error rate is p with this factor in
 * it. As the optimum is flat, k may be lower than the textbook's: it is the lowest that takes at
 * most 2 % more memory, six instead of seven at p = 1 %, so that one window holds all bits. There
 * is such a k for every p below 34 % and above 42 %. Between them, where the textbook's k is
 * neither 1 nor 2, the better of the two takes up to 3.8 % more.
 *
 * An item is hashed once, by XXH3 with 128 bits: `low` and `high` are its halves. Every group gets
 * two numbers of its own by remixing these. (Hashing again with another seed will not do: for some
 * lengths XXH3 of x with one seed is XXH3 of another item with the next, and such items would share
 * their groups.) With golden = 0x9e3779b97f4a7c15, the step of SplitMix64, and mix() its finaliser:
 *
 *     place     mix(low + 2g golden)
 *     pattern   mix(high + (2g + 1) golden)
 *     window    begins at byte place * bytes / 2^64
 *     bit j     pattern * 704 / 2^64, after which pattern becomes pattern * 704 mod 2^64
 *
 * The windows that begin in PART_BYTES are a part, a key of its own. A part is longer than that by
 * the rest of its last window; it then fits into a mebibyte with the server's own bytes. It is made
 * in its full length at once: the server then allocates no more than it needs, and writing the
 * zeros of a mebibyte takes it less than a millisecond.
 *
 * A filter that grows gets another sub-filter for twice the capacity. The first sub-filter has the
 * error rate of the options, the later ones a twentieth, a fortieth and so on of it: together they
 * stay within 1.1 of it.
 */
#ifndef TKL_BLOOM_SHAPE_H
#define TKL_BLOOM_SHAPE_H

#include <tackle/bloom.h>
#include <tackle/common.h>

#define TKL__WINDOW_BYTES 88
#define TKL__WINDOW_BITS  (8 * TKL__WINDOW_BYTES)
#define TKL__PART_BYTES   UINT64_C(1044480) /* 255 pages of 4096 bytes */
#define TKL__BYTES_MAX    (UINT64_C(1) << 37)
#define TKL__GROUP_MAX    6
#define TKL__SUBS_MAX     32
#define TKL__HASHES_MAX   64
/* Most groups of a sub-filter. */
#define TKL__GROUPS_MAX ((TKL__HASHES_MAX + TKL__GROUP_MAX - 1) / TKL__GROUP_MAX)

typedef struct tkl__bloom_subfilter {
    int64_t capacity;
    int64_t count;  /* when last read */
    uint64_t bytes; /* number of bytes at which a window may begin */
    int hashes;
} tkl__bloom_subfilter;

typedef struct tkl__bloom_shape {
    char version[TKL_TOKEN_SIZE]; /* changes with every change of shape */
    double error;
    bool fixed;
    int count;
    tkl__bloom_subfilter subs[TKL__SUBS_MAX];
} tkl__bloom_shape;

/* The bits of an item that lie in one window. */
typedef struct tkl__bloom_group {
    int part;
    int count;
    uint64_t start;                /* first byte of the window in the part */
    unsigned bits[TKL__GROUP_MAX]; /* bit numbers within the window, in order */
} tkl__bloom_group;

/* TKL_EINVAL: such a filter is not possible. */
int tkl__bloom_subfilter_make(double error, int64_t capacity, tkl__bloom_subfilter *sub);
/* The sub-filter that follows when the filter grows. TKL_FULL: it would be too large. */
int tkl__bloom_shape_next(const tkl__bloom_shape *shape, tkl__bloom_subfilter *sub);

int tkl__bloom_subfilter_groups(const tkl__bloom_subfilter *sub);
int tkl__bloom_subfilter_parts(const tkl__bloom_subfilter *sub);
/* Bytes of a part: the windows that begin in it, and the rest of the last window. */
int64_t tkl__bloom_part_size(const tkl__bloom_subfilter *sub, int part);
/* Bytes of all parts. */
int64_t tkl__bloom_subfilter_size(const tkl__bloom_subfilter *sub);

/* The hash of an item: the same for all groups and sub-filters. */
typedef struct tkl__bloom_hash {
    uint64_t low, high;
} tkl__bloom_hash;

tkl__bloom_hash tkl__bloom_hash_item(tkl_bytes item);
void tkl__bloom_subfilter_place(const tkl__bloom_subfilter *sub, tkl__bloom_hash hash, int group,
                                tkl__bloom_group *out);

/* Whether both sub-filters have the same positions for every item. */
bool tkl__bloom_subfilter_equal(const tkl__bloom_subfilter *a, const tkl__bloom_subfilter *b);

#endif
