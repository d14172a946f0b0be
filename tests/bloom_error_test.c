/* SPDX-License-Identifier: MIT
 *
 * How often Bloom filters err, for items of every kind and length: the places that tackle chooses,
 * in filters in this program's own memory, so that many can be tried.
 */
#include <math.h>

#include "bloom/shape.h"
#include "support/test.h"

/* ---- Filters in memory ----------------------------------------------------- */

typedef struct filter {
    tkl__bloom_shape shape;
    unsigned char *bits[TKL__SUBS_MAX];
    int64_t count; /* in the newest sub-filter */
} filter;

static void make_bits(filter *f)
{
    const tkl__bloom_subfilter *sub = &f->shape.subs[f->shape.count - 1];
    f->bits[f->shape.count - 1] = calloc(1, sub->bytes + TKL__WINDOW_BYTES);
    f->count = 0;
}

static filter *filter_make(double error, int64_t capacity)
{
    filter *f = calloc(1, sizeof *f);
    f->shape = (tkl__bloom_shape){.error = error, .count = 1};
    assert_int_equal(tkl__bloom_subfilter_make(error, capacity, &f->shape.subs[0]), TKL_OK);
    make_bits(f);
    return f;
}

static void filter_free(filter *f)
{
    for (int i = 0; i < f->shape.count; i++)
        free(f->bits[i]);
    free(f);
}

/* Whether all bits were set in a sub-filter; sets them if asked to. */
static bool visit(filter *f, int i, tkl__bloom_hash hash, bool set)
{
    const tkl__bloom_subfilter *sub = &f->shape.subs[i];
    bool all = true;
    for (int g = 0; g < tkl__bloom_subfilter_groups(sub); g++) {
        tkl__bloom_group group;
        tkl__bloom_subfilter_place(sub, hash, g, &group);
        for (int j = 0; j < group.count; j++) {
            uint64_t bit =
                8 * ((uint64_t)group.part * TKL__PART_BYTES + group.start) + group.bits[j];
            unsigned char mask = (unsigned char)(0x80 >> bit % 8);
            all = all && (f->bits[i][bit / 8] & mask);
            if (set)
                f->bits[i][bit / 8] |= mask;
        }
    }
    return all;
}

static bool has(filter *f, tkl__bloom_hash hash)
{
    bool found = false;
    for (int i = 0; i < f->shape.count; i++)
        found = found || visit(f, i, hash, false);
    return found;
}

static void add(filter *f, tkl__bloom_hash hash)
{
    int newest = f->shape.count - 1;
    if (has(f, hash))
        return;
    if (f->count == f->shape.subs[newest].capacity) {
        assert_int_equal(tkl__bloom_shape_next(&f->shape, &f->shape.subs[newest + 1]), TKL_OK);
        f->shape.count++;
        make_bits(f);
    }
    visit(f, f->shape.count - 1, hash, true);
    f->count++;
}

/* ---- Items ----------------------------------------------------------------- */

enum { ITEM_SIZE = 96, LENGTHS = 40 };

/* Item number n of a kind; returns its length. */
typedef size_t item_fn(uint64_t n, int length, char item[ITEM_SIZE]);

static size_t decimal(uint64_t n, int length, char *item)
{
    (void)length;
    return (size_t)snprintf(item, ITEM_SIZE, "%llu", (unsigned long long)n);
}

static size_t padded(uint64_t n, int length, char *item)
{
    return (size_t)snprintf(item, ITEM_SIZE, "%0*llu", length, (unsigned long long)n);
}

static size_t word(uint64_t n, int length, char *item)
{
    static const char *const parts[] = {"ba", "de", "fi", "go", "hu", "ka", "le", "mi",
                                        "no", "pu", "ra", "se", "ti", "vo", "wu", "za"};
    (void)length;
    item[0] = '\0';
    do
        strcat(item, parts[n % 16]);
    while (n /= 16);
    return strlen(item);
}

static size_t url(uint64_t n, int length, char *item)
{
    (void)length;
    return (size_t)snprintf(item, ITEM_SIZE, "https://example.org/articles/%llu/page/%llu.html",
                            (unsigned long long)n / 10, (unsigned long long)n % 10);
}

static size_t little_endian(uint64_t n, int length, char *item)
{
    memset(item, 0, (size_t)length);
    for (int i = 0; i < length && i < 8; i++)
        item[i] = (char)(n >> 8 * i);
    return (size_t)length;
}

static size_t big_endian(uint64_t n, int length, char *item)
{
    memset(item, 0, (size_t)length);
    for (int i = 0; i < length && i < 8; i++)
        item[length - 1 - i] = (char)(n >> 8 * i);
    return (size_t)length;
}

/* Numbers that differ by more than their low bits. */
static size_t steps_of_4096(uint64_t n, int length, char *item)
{
    return little_endian(n << 12, length, item);
}

/* ---- Error rates ----------------------------------------------------------- */

static tkl__bloom_hash hash_of(item_fn *make, uint64_t n, int length)
{
    char item[ITEM_SIZE];
    size_t len = make(n, length, item);
    return tkl__bloom_hash_item((tkl_bytes){item, len});
}

static void check_rate(const char *what, item_fn *make, int length, uint64_t kinds, double error,
                       bool grown)
{
    enum { ADDED = 2000, ASKED = 20000 };
    uint64_t added = kinds / 2 < ADDED ? kinds / 2 : ADDED;
    uint64_t asked = kinds - added < ASKED ? kinds - added : ASKED;
    filter *f = filter_make(error, (int64_t)(grown ? 1 + added / 12 : added));
    for (uint64_t n = 0; n < added; n++)
        add(f, hash_of(make, n, length));
    assert_true(!grown || f->shape.count > 2);
    double wrong = 0, most = 1.1 * error * (double)asked;
    for (uint64_t n = 0; n < added; n++)
        assert_true(has(f, hash_of(make, n, length)));
    for (uint64_t n = added; n < added + asked; n++)
        wrong += has(f, hash_of(make, n, length));
    if (wrong > most + 5 * sqrt(most) + 2)
        fail_msg("%s of length %d at %g%s: %g of %d absent items were called present", what, length,
                 error, grown ? ", grown" : "", wrong, (int)asked);
    filter_free(f);
}

static void check_kind(const char *what, item_fn *make, int length, uint64_t kinds)
{
    static const double rates[] = {0.01, 0.001, 0.0001};
    for (int i = 0; i < 6; i++)
        check_rate(what, make, length, kinds, rates[i / 2], i % 2);
}

static void texts_err_as_asked(void **state)
{
    (void)state;
    check_kind("decimal numbers", decimal, 0, 1 << 20);
    check_kind("words", word, 0, 1 << 20);
    check_kind("URLs", url, 0, 1 << 20);
}

/* A length of 1 has 256 different items. */
static uint64_t kinds_of(int length, int bits_below)
{
    int bits = 8 * length - bits_below;
    return bits >= 20 ? 1 << 20 : bits > 0 ? UINT64_C(1) << bits : 0;
}

static void binary_numbers_of_every_length_err_as_asked(void **state)
{
    (void)state;
    for (int length = 1; length <= LENGTHS; length++) {
        check_kind("little-endian numbers", little_endian, length, kinds_of(length, 0));
        check_kind("big-endian numbers", big_endian, length, kinds_of(length, 0));
    }
}

static void numbers_with_other_bits_err_as_asked(void **state)
{
    (void)state;
    for (int length = 3; length <= LENGTHS; length++)
        check_kind("numbers in steps", steps_of_4096, length, kinds_of(length, 12));
    for (int length = 6; length <= LENGTHS; length++)
        check_kind("padded numbers", padded, length, 1000000);
}

/* Every group has its own place: no two of an item, and no group of one item like another's. */
static void groups_have_places_of_their_own(void **state)
{
    enum { MANY = 1000 };
    tkl__bloom_subfilter sub;
    (void)state;
    assert_int_equal(tkl__bloom_subfilter_make(1e-12, 1000000000, &sub), TKL_OK);
    int groups = tkl__bloom_subfilter_groups(&sub), same = 0;
    static tkl__bloom_group places[MANY][TKL__GROUPS_MAX];
    for (uint64_t n = 0; n < MANY; n++)
        for (int g = 0; g < groups; g++)
            tkl__bloom_subfilter_place(&sub, hash_of(little_endian, n, 8), g, &places[n][g]);
    for (int a = 0; a < MANY; a++)
        for (int b = 0; b < a; b++)
            for (int g = 0; g < groups * groups; g++) {
                const tkl__bloom_group *x = &places[a][g % groups], *y = &places[b][g / groups];
                same += x->part == y->part && x->start == y->start;
            }
    assert_in_range(same, 0, 100); /* 18 million pairs in some billion places */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_err_as_asked),
        cmocka_unit_test(binary_numbers_of_every_length_err_as_asked),
        cmocka_unit_test(numbers_with_other_bits_err_as_asked),
        cmocka_unit_test(groups_have_places_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
