/* SPDX-License-Identifier: MIT
 *
 * Bloom filters: how often they err, what they take, growing, refusing, merging, and many clients
 * at once.
 *
 * ctest: label threads
 * ctest: timeout 900
 */
#include <math.h>

#include <tackle/bloom.h>

#include "bloom/shape.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/proxy.h"

static tkl_bloom *open_with(tkl_client *client, const char *name, tkl_bloom_options options)
{
    tkl_bloom *bloom;
    assert_ok(tkl_bloom_open(client, tkl_str(name), &options, &bloom));
    return bloom;
}

static tkl_bloom *open_filter(fixture *f, const char *name)
{
    return open_with(f->client, name, (tkl_bloom_options){.error = 0});
}

static tkl_bloom *make_filter(fixture *f, const char *name, double error, int64_t capacity,
                              bool fixed)
{
    tkl_bloom_options options = {.error = error, .capacity = capacity, .fixed = fixed};
    tkl_bloom *bloom = open_with(f->client, name, options);
    assert_ok(tkl_bloom_reserve(bloom));
    return bloom;
}

/* Numbers from `from` on, as items. */
typedef struct numbers {
    uint64_t *values;
    tkl_bytes *items;
    bool *flags;
    size_t count;
} numbers;

static numbers numbers_from(uint64_t from, size_t count)
{
    numbers n = {calloc(count, sizeof *n.values), calloc(count, sizeof *n.items),
                 calloc(count, sizeof *n.flags), count};
    for (size_t i = 0; i < count; i++) {
        n.values[i] = from + i;
        n.items[i] = (tkl_bytes){(const char *)&n.values[i], sizeof n.values[i]};
    }
    return n;
}

static void numbers_free(numbers n)
{
    free(n.values);
    free(n.items);
    free(n.flags);
}

static size_t flagged(numbers n)
{
    size_t count = 0;
    for (size_t i = 0; i < n.count; i++)
        count += n.flags[i];
    return count;
}

static size_t add(tkl_bloom *bloom, uint64_t from, size_t count)
{
    numbers n = numbers_from(from, count);
    assert_ok(tkl_bloom_add(bloom, n.items, n.count, n.flags));
    size_t added = flagged(n);
    numbers_free(n);
    return added;
}

static size_t present(tkl_bloom *bloom, uint64_t from, size_t count)
{
    numbers n = numbers_from(from, count);
    assert_ok(tkl_bloom_exists(bloom, n.items, n.count, n.flags));
    size_t found = flagged(n);
    numbers_free(n);
    return found;
}

/* The codes of one item. */
static int add_one(tkl_bloom *bloom, tkl_bytes item, bool *added)
{
    return tkl_bloom_add(bloom, &item, 1, added);
}

static int ask_one(tkl_bloom *bloom, tkl_bytes item, bool *present)
{
    return tkl_bloom_exists(bloom, &item, 1, present);
}

static tkl_bloom_info show(tkl_bloom *bloom)
{
    tkl_bloom_info info;
    assert_ok(tkl_bloom_show(bloom, &info));
    return info;
}

/* ---- One item ------------------------------------------------------------ */

static void item_is_new_once(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, false);
    bool flag;
    assert_ok(ask_one(bloom, tkl_str("a"), &flag));
    assert_false(flag);
    assert_ok(add_one(bloom, tkl_str("a"), &flag));
    assert_true(flag);
    assert_ok(add_one(bloom, tkl_str("a"), &flag));
    assert_false(flag);
    assert_ok(ask_one(bloom, tkl_str("a"), &flag));
    assert_true(flag);
    assert_int_equal(show(bloom).count, 1);
    tkl_bloom_close(bloom);
}

static void items_are_any_bytes(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "{a}%\n\xff", 0.001, 1000, false);
    tkl_bytes items[] = {{"", 0}, {NULL, 0}, {"\0", 1}, {"\0\0", 2}, {"\xff\n", 2}};
    bool flags[5];
    assert_ok(tkl_bloom_add(bloom, items, 5, flags));
    assert_true(flags[0] && flags[2] && flags[3] && flags[4]);
    assert_false(flags[1]);
    assert_ok(tkl_bloom_exists(bloom, items, 5, flags));
    for (int i = 0; i < 5; i++)
        assert_true(flags[i]);
    tkl_bloom_close(bloom);
}

static void asking_makes_no_filter(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = open_filter(f, "seen");
    tkl_bloom_info info;
    bool flag;
    assert_code(ask_one(bloom, tkl_str("a"), &flag), TKL_NOTFOUND);
    assert_code(tkl_bloom_show(bloom, &info), TKL_NOTFOUND);
    assert_code(tkl_bloom_drop(bloom), TKL_NOTFOUND);
    assert_ok(tkl_bloom_add(bloom, NULL, 0, NULL));
    assert_ok(tkl_bloom_exists(bloom, NULL, 0, NULL));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_bloom_close(bloom);
}

static void filter_that_exists_keeps_its_numbers(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.02, 100, false);
    tkl_bloom *other =
        open_with(f->client, "seen", (tkl_bloom_options){.error = 0.5, .capacity = 7});
    assert_code(tkl_bloom_reserve(other), TKL_EXISTS);
    assert_ok(add_one(other, tkl_str("a"), NULL));
    tkl_bloom_info info = show(other);
    assert_int_equal(info.capacity, 100);
    assert_true(info.error == 0.02);
    assert_int_equal(info.count, 1);
    tkl_bloom_close(other);
    tkl_bloom_close(bloom);
}

static void first_add_makes_the_filter(void **state)
{
    fixture *f = *state;
    tkl_bloom *plain = open_filter(f, "plain");
    assert_ok(add_one(plain, tkl_str("a"), NULL));
    assert_true(show(plain).error == 0.01);
    assert_int_equal(show(plain).capacity, 10000);
    tkl_bloom_close(plain);

    tkl_bloom *bloom =
        open_with(f->client, "seen", (tkl_bloom_options){.error = 0.001, .capacity = 100});
    assert_true(add(bloom, 0, 300) > 290);
    assert_int_equal(show(bloom).capacity, 300);
    assert_ok(tkl_bloom_drop(bloom)); /* and again, also behind its back */
    assert_int_equal(add(bloom, 0, 10), 10);
    tkl_bloom *other =
        open_with(f->client, "seen", (tkl_bloom_options){.error = 0.5, .capacity = 20});
    assert_ok(tkl_bloom_drop(other));
    assert_int_equal(add(bloom, 0, 10), 10);
    assert_int_equal(show(bloom).capacity, 100);
    assert_ok(tkl_bloom_drop(other));
    assert_ok(tkl_bloom_reserve(other));
    add(bloom, 0, 10);
    assert_int_equal(show(bloom).capacity, 20);
    tkl_bloom_close(other);
    tkl_bloom_close(bloom);
}

static void dropped_filter_leaves_nothing(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false);
    tkl_bloom *other = open_filter(f, "seen");
    add(bloom, 0, 1000);
    assert_int_equal(present(other, 0, 1000), 1000);
    assert_ok(tkl_bloom_drop(bloom));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    bool flag;
    assert_code(ask_one(other, tkl_str("a"), &flag), TKL_NOTFOUND);
    assert_ok(tkl_bloom_reserve(bloom));
    assert_int_equal(present(other, 0, 1000), 0);
    tkl_bloom_close(other);
    tkl_bloom_close(bloom);
}

/* ---- Keys that other programs wrote --------------------------------------- */

static void assert_refused(tkl_bloom *bloom, int code)
{
    tkl_bloom_info info;
    bool flag;
    assert_code(ask_one(bloom, tkl_str("a"), &flag), code);
    assert_code(add_one(bloom, tkl_str("a"), &flag), code);
    assert_code(tkl_bloom_reserve(bloom), code);
    assert_code(tkl_bloom_show(bloom, &info), code);
    assert_code(tkl_bloom_merge(bloom, bloom), code);
}

static void another_type_of_key_is_told(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = open_filter(f, "seen");
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:bloom:{seen}:meta", "x", NULL));
    assert_refused(bloom, TKL_ETYPE);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:bloom:{seen}:meta", NULL));
    assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:bloom:{seen}:meta", "a", "b", NULL));
    assert_refused(bloom, TKL_ETYPE);
    assert_code(tkl_bloom_drop(bloom), TKL_ETYPE);
    assert_int_equal(call_int(f->client, "HLEN", "tackle:bloom:{seen}:meta", NULL), 1);
    tkl_bloom_close(bloom);
}

static const char *const meta_key = "tackle:bloom:{seen}:meta";

/* One field of meta at a time is missing, or garbage. All ends, and nothing is made worse. */
static void damaged_meta_is_told(void **state)
{
    fixture *f = *state;
    static const char *const fields[] = {"version", "filters", "0:capacity",
                                         "0:bytes", "0:count", "0:hashes"};
    static const char *const values[] = {NULL, "", "x", "-1", "1e300", "99999999999999999999",
                                         "nan"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
            tkl_bloom *before = make_filter(f, "seen", 0.01, 100, false);
            assert_ok(add_one(before, tkl_str("a"), NULL));
            if (values[j])
                call_int(f->client, "HSET", meta_key, fields[i], values[j], NULL);
            else
                call_int(f->client, "HDEL", meta_key, fields[i], NULL);
            tkl_bloom *bloom = open_filter(f, "seen"),
                      *other = make_filter(f, "b", 0.01, 100, false);
            tkl_bloom_info info;
            bool flag;
            assert_true(add_one(bloom, tkl_str("b"), &flag) < 0);
            assert_true(ask_one(bloom, tkl_str("a"), &flag) < 0);
            assert_true(tkl_bloom_show(bloom, &info) < 0);
            assert_true(tkl_bloom_merge(bloom, other) < 0);
            assert_true(tkl_bloom_merge(other, bloom) < 0);
            server_do(f->server, "FLUSHALL");
            tkl_bloom_close(before);
            tkl_bloom_close(bloom);
            tkl_bloom_close(other);
        }
}

static void count_that_is_no_number_refuses_before_bits_are_set(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false);
    bool flag;
    assert_ok(ask_one(bloom, tkl_str("a"), &flag)); /* knows the shape from now on */
    call_int(f->client, "HSET", meta_key, "0:count", "12.5", NULL);
    assert_code(add_one(bloom, tkl_str("a"), &flag), TKL_EDAMAGED);
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:bloom:{seen}:0.0", NULL), 0);
    tkl_bloom_close(bloom);
}

static void part_of_another_type_is_told(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false);
    bool flag;
    assert_ok(tkl_callz(f->client, NULL, "SADD", "tackle:bloom:{seen}:0.0", "x", NULL));
    assert_code(add_one(bloom, tkl_str("a"), &flag), TKL_ETYPE);
    assert_code(ask_one(bloom, tkl_str("a"), &flag), TKL_ETYPE);
    assert_int_equal(show(bloom).count, 0);
    assert_ok(tkl_bloom_drop(bloom));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_bloom_close(bloom);
}

static void server_without_memory_refuses(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false), *none = open_filter(f, "none");
    bool flag;
    assert_ok(add_one(bloom, tkl_str("a"), NULL));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(add_one(bloom, tkl_str("b"), &flag), TKL_EOOM);
    assert_code(add_one(none, tkl_str("b"), &flag), TKL_EOOM);
    assert_ok(ask_one(bloom, tkl_str("a"), &flag));
    assert_true(flag);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_ok(ask_one(bloom, tkl_str("b"), &flag));
    assert_false(flag);
    assert_int_equal(show(bloom).count, 1);
    tkl_bloom_close(none);
    tkl_bloom_close(bloom);
}

/* Before there was a field for it, groups of bits differed by the seed of the hash only. */
static void filter_of_an_older_version_is_refused_and_can_be_dropped(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false);
    tkl_bloom *other = open_filter(f, "seen");
    bool flag;
    add(bloom, 0, 10);
    call_int(f->client, "HDEL", meta_key, "format", NULL);
    assert_code(ask_one(other, tkl_str("a"), &flag), TKL_ETYPE);
    assert_contains(tkl_errmsg(), "older version of tackle");
    assert_code(add_one(other, tkl_str("a"), &flag), TKL_ETYPE);
    assert_ok(tkl_bloom_drop(other));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_bloom_close(other);
    tkl_bloom_close(bloom);
}

/* Another program has removed meta alone: what is left of the parts is no part of a new filter. */
static void parts_left_behind_are_cleared(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, false);
    add(bloom, 0, 1000);
    call_int(f->client, "DEL", meta_key, NULL);
    assert_int_equal(add(bloom, 5000, 1), 1);
    assert_int_equal(present(bloom, 0, 1000), 0);
    tkl_bloom_close(bloom);
}

/* Somebody began to drop it and died: for everybody it is gone, and who makes a new one finishes.
 */
static void drop_that_was_begun_is_finished(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, false);
        tkl_bloom_info info;
        bool flag;
        add(bloom, 0, 500);
        call_int(f->client, "HSET", meta_key, "dropping", "1", NULL);
        tkl_bloom *other = open_filter(f, "seen");
        assert_code(ask_one(other, tkl_str("a"), &flag), TKL_NOTFOUND);
        assert_code(tkl_bloom_show(other, &info), TKL_NOTFOUND);
        if (i == 0)
            assert_code(tkl_bloom_drop(other), TKL_NOTFOUND);
        else
            assert_int_equal(add(other, 1000, 1), 1);
        assert_int_equal(call_int(f->client, "EXISTS", "tackle:bloom:{seen}:0.0", NULL), i);
        if (i == 1)
            assert_int_equal(present(other, 0, 500), 0);
        tkl_bloom_close(bloom);
        tkl_bloom_close(other);
        server_do(f->server, "FLUSHALL");
    }
}

/* ---- Lifetimes ------------------------------------------------------------ */

/* How long the key of the filter that ends first lives. */
static int64_t shortest_life(fixture *f)
{
    return server_ask_int(f->server, "EVAL %s 0",
                          "local least = 1e15 for _, key in ipairs(redis.call('KEYS', '*')) do "
                          "least = math.min(least, redis.call('PTTL', key)) end return least");
}

static void filter_with_a_ttl_expires_as_a_whole(void **state)
{
    fixture *f = *state;
    enum { TTL = 100000 };
    tkl_bloom_options options = {.error = 0.001, .capacity = 100, .ttl_ms = TTL};
    tkl_bloom *bloom = open_with(f->client, "seen", options);
    add(bloom, 0, 1000); /* it grows on the way */
    assert_in_range(shortest_life(f), TTL + 1, TTL + TTL / 8 + 1);
    tkl_bloom *source = open_with(f->client, "source", options);
    add(source, 5000, 1000);
    assert_ok(tkl_bloom_merge(bloom, source));
    assert_in_range(shortest_life(f), TTL + 1, TTL + TTL / 8 + 1);
    /* One key is prolonged with the others, whichever was written to. */
    tkl_bloom *other = open_with(f->client, "seen", options);
    server_do(f->server, "PEXPIRE tackle:bloom:{seen}:0.0 50000");
    server_do(f->server, "PEXPIRE %s 50000", meta_key);
    add(other, 100000, 1);
    assert_in_range(shortest_life(f), TTL + 1, TTL + TTL / 8 + 1);
    assert_ok(tkl_bloom_drop(bloom));
    assert_ok(tkl_bloom_drop(source));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_bloom_close(other);
    tkl_bloom_close(source);
    tkl_bloom_close(bloom);
}

/* ---- The textbook -------------------------------------------------------- */

static void parameters_out_of_range_are_refused(void **state)
{
    fixture *f = *state;
    static const struct {
        double error;
        int64_t capacity;
    } wrong[] = {{1, 10},
                 {-0.1, 10},
                 {0.6, 10},
                 {1e-13, 10},
                 {NAN, 10},
                 {0.01, -5},
                 {INFINITY, 10},
                 {-INFINITY, 10},
                 {1e-12, INT64_C(1000000000000)},
                 {0.01, INT64_C(1000000000000)},
                 {0.01, INT64_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tkl_bloom_options options = {.error = wrong[i].error, .capacity = wrong[i].capacity};
        tkl_bloom *bloom;
        assert_code(tkl_bloom_open(f->client, tkl_str("seen"), &options, &bloom), TKL_EINVAL);
        assert_null(bloom);
    }
    static const tkl_bloom_options others[] = {
        {.timeout_ms = -1}, {.ttl_ms = -1}, {.ttl_ms = INT64_MAX}, {.reserved = {[7] = 1}}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tkl_bloom *bloom;
        assert_code(tkl_bloom_open(f->client, tkl_str("seen"), &others[i], &bloom), TKL_EINVAL);
        assert_null(bloom);
    }
}

static double bits_to_textbook(double error)
{
    tkl__subfilter sub;
    assert_ok(tkl__bloom_subfilter_make(error, 1000000000, &sub));
    return 8.0 * (double)tkl__bloom_subfilter_size(&sub) / 1e9 / (-log(error) / (M_LN2 * M_LN2));
}

static void size_is_that_of_the_textbook(void **state)
{
    (void)state;
    for (double error = 0.5; error >= 1e-12; error *= 0.98) {
        bool between = error > 0.34 && error < 0.42; /* one bit and two */
        double ratio = bits_to_textbook(error);
        if (ratio < 1 || ratio > (between ? 1.038 : 1.0201))
            fail_msg("%g: %f times the bits of the textbook", error, ratio);
    }
    assert_true(bits_to_textbook(0.01) * 9.585 <= 9.7767);
    assert_true(bits_to_textbook(1e-12) <= 1.02001);
}

/* Fewer would take more than 2 % more. */
static void hashes_are_as_few_as_can_be(void **state)
{
    (void)state;
    static const struct {
        double error;
        int hashes;
    } expected[] = {{0.5, 1},    {0.39, 1},  {0.38, 2},  {0.1, 3},   {0.03, 5},  {0.01, 6},
                    {0.0055, 7}, {0.001, 9}, {1e-4, 12}, {1e-6, 18}, {1e-9, 26}, {1e-12, 36}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        tkl__subfilter sub;
        assert_ok(tkl__bloom_subfilter_make(expected[i].error, 1000, &sub));
        assert_int_equal(sub.hashes, expected[i].hashes);
    }
}

/* The places are a contract with readers in other languages; docs/bloom.md gives the same example.
 */
static void places_never_change(void **state)
{
    (void)state;
    tkl__subfilter sub;
    tkl__group group;
    assert_ok(tkl__bloom_subfilter_make(0.01, 1000000, &sub));
    assert_int_equal(sub.bytes, 1221085);
    assert_int_equal(sub.hashes, 6);
    tkl__bloom_subfilter_place(&sub, tkl__bloom_hash_item(tkl_str("hello")), 0, &group);
    static const unsigned bits[] = {24, 95, 277, 317, 341, 481};
    assert_int_equal(group.part, 0);
    assert_int_equal(group.start, 173196);
    assert_int_equal(group.count, 6);
    for (int j = 0; j < 6; j++)
        assert_int_equal(group.bits[j], bits[j]);
}

/* On a server. That the places are good for items of every kind shows bloom_error_test.c. */
static void errors_stay_within_what_was_asked(double error, int64_t capacity, size_t added,
                                              fixture *f)
{
    enum { ASKED = 20000 };
    char *name = test_format("%g-%d", error, (int)added);
    tkl_bloom *bloom = make_filter(f, name, error, capacity, false);
    add(bloom, 0, added);
    assert_int_equal(present(bloom, 0, added), added);
    double wrong = (double)present(bloom, UINT64_C(1) << 40, ASKED);
    double most = 1.1 * error * ASKED;
    if (wrong > most + 4 * sqrt(most))
        fail_msg("%g: %g of %d absent items were found", error, wrong, ASKED);
    tkl_bloom_close(bloom);
    free(name);
}

static void full_filter_errs_as_asked(void **state)
{
    fixture *f = *state;
    errors_stay_within_what_was_asked(0.38, 5000, 5000, f);
    errors_stay_within_what_was_asked(0.01, 10000, 10000, f);
    errors_stay_within_what_was_asked(0.001, 5000, 5000, f);
    errors_stay_within_what_was_asked(1e-12, 2000, 2000, f);
}

static void grown_filter_errs_as_asked(void **state)
{
    errors_stay_within_what_was_asked(0.01, 1000, 15000, *state);
    errors_stay_within_what_was_asked(0.05, 1, 2000, *state);
}

/* ---- Beyond the capacity ------------------------------------------------- */

static void growing_filter_adds_sub_filters(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, false);
    size_t added = add(bloom, 0, 6500);
    assert_true(added > 6300);
    tkl_bloom_info info = show(bloom);
    assert_int_equal(info.filters, 3);
    assert_int_equal(info.capacity, 7000);
    assert_int_equal(info.count, added);
    assert_int_equal(add(bloom, 0, 6500), 0);
    assert_int_equal(show(bloom).filters, 3);
    tkl_bloom_close(bloom);
}

static void fixed_filter_refuses(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, true);
    numbers n = numbers_from(0, 2000);
    assert_code(tkl_bloom_add(bloom, n.items, n.count, n.flags), TKL_FULL);
    assert_int_equal(flagged(n), 1000);
    tkl_bloom_info info = show(bloom);
    assert_int_equal(info.count, 1000);
    assert_int_equal(info.filters, 1);
    bool flag;
    for (size_t i = 0; i < 900; i++) { /* what is there may be added again */
        assert_ok(add_one(bloom, n.items[i], &flag));
        assert_false(flag);
    }
    assert_true(present(bloom, 1000, 1000) < 100);
    numbers_free(n);
    tkl_bloom_close(bloom);
}

enum { SPLIT_CAPACITY = 2400000, SPLIT_PARTS = 3 };

/* Adds an item to each part of a filter, or asks for these. */
static void visit_parts(tkl_bloom *bloom, uint64_t from, bool expected, bool adds)
{
    tkl__subfilter sub;
    assert_ok(tkl__bloom_subfilter_make(0.01, SPLIT_CAPACITY, &sub));
    assert_int_equal(tkl__bloom_subfilter_parts(&sub), SPLIT_PARTS);
    bool part_seen[SPLIT_PARTS] = {false}, flag;
    for (uint64_t i = from; !part_seen[0] || !part_seen[1] || !part_seen[2]; i++) {
        tkl_bytes item = {(const char *)&i, sizeof i};
        tkl__group group;
        tkl__bloom_subfilter_place(&sub, tkl__bloom_hash_item(item), 0, &group);
        if (part_seen[group.part])
            continue;
        part_seen[group.part] = true;
        assert_ok(ask_one(bloom, item, &flag));
        assert_int_equal(flag, expected);
        if (!adds)
            continue;
        assert_ok(add_one(bloom, item, &flag));
        assert_true(flag);
        assert_ok(ask_one(bloom, item, &flag));
        assert_true(flag);
    }
}

/* Beyond a mebibyte a filter has several keys. */
static void large_filter_is_split(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "large", 0.01, SPLIT_CAPACITY, false);
    visit_parts(bloom, 0, false, true);
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:bloom:{large}:0.0",
                              "tackle:bloom:{large}:0.1", "tackle:bloom:{large}:0.2", NULL),
                     3);
    tkl_bloom_close(bloom);
}

/* What the server allocates is the part, and what it needs for any key. */
static void parts_are_allocated_exactly(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "large", 0.01, SPLIT_CAPACITY, false);
    visit_parts(bloom, 0, false, true);
    for (int part = 0; part < 2; part++) {
        int64_t taken = server_ask_int(f->server, "MEMORY USAGE tackle:bloom:{large}:0.%d", part);
        assert_in_range(taken, 1 << 20, (1 << 20) + 256);
    }
    tkl_bloom_close(bloom);
}

static int64_t runs(fixture *f)
{
    return server_calls(f->server, "evalsha") + server_calls(f->server, "eval");
}

/* The most sub-filters and hashes: each item is looked for in hundreds of places. And the most new
 * parts: a large empty filter. */
static void no_script_does_much(void **state)
{
    fixture *f = *state;
    tkl_bloom *grown = make_filter(f, "grown", 1e-12, 1, false);
    add(grown, 0, 5000);
    int64_t before = runs(f), read = server_calls(f->server, "getbit");
    add(grown, 5000, 500);
    read = server_calls(f->server, "getbit") - read;
    assert_in_range(read, 500 * 10, (runs(f) - before) * 6000);
    tkl_bloom *large = make_filter(f, "large", 1e-12, 20000000, true);
    before = runs(f);
    add(large, 0, 100);
    int64_t made = call_int(f->client, "DBSIZE", NULL) - 50;
    assert_in_range(made, 10, (runs(f) - before) * 9);
    tkl_bloom_close(large);
    tkl_bloom_close(grown);
}

static void large_filter_is_dropped_in_steps(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "large", 0.01, 400000000, false);
    int64_t before = server_calls(f->server, "eval") + server_calls(f->server, "evalsha");
    assert_int_equal(add(bloom, 0, 3), 3);
    assert_ok(tkl_bloom_drop(bloom));
    int64_t steps = server_calls(f->server, "eval") + server_calls(f->server, "evalsha") - before;
    assert_in_range(steps, 3, 20); /* 468 parts: two to drop them */
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_int_equal(add(bloom, 0, 3), 3);
    tkl_bloom_close(bloom);
}

/* ---- Trips --------------------------------------------------------------- */

static void batch_is_one_trip(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100000, false);
    add(bloom, 0, 10);
    int64_t before = server_calls(f->server, "evalsha");
    add(bloom, 0, 100);
    assert_int_equal(server_calls(f->server, "evalsha") - before, 1);
    int64_t loads = server_calls(f->server, "hgetall");
    before = server_calls(f->server, "getrange");
    present(bloom, 0, 100);
    assert_int_equal(server_calls(f->server, "hgetall"), loads);
    assert_int_equal(server_calls(f->server, "getrange") - before, 100);
    tkl_bloom_close(bloom);
}

/* The first of a batch are sent before the others are made: wherever it breaks, all are answered.
 */
static void asking_survives_cuts(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 2000});
    tkl_bloom *bloom =
        open_with(client, "seen", (tkl_bloom_options){.error = 0.001, .capacity = 1000});
    add(bloom, 0, 300);
    for (int64_t cut = 0; cut < 30000; cut += 997) {
        proxy_cut_after(p, cut % 2 ? TO_SERVER : TO_CLIENT, cut);
        assert_int_equal(present(bloom, 0, 300), 300);
    }
    proxy_refuse(p, true);
    proxy_cut(p);
    numbers n = numbers_from(0, 300);
    assert_true(tkl_bloom_exists(bloom, n.items, n.count, n.flags) < 0);
    numbers_free(n);
    tkl_bloom_close(bloom);
    tkl_close(client);
    proxy_end(p);
}

/* ---- Many clients -------------------------------------------------------- */

typedef struct crowd {
    fixture *f;
    _Atomic uint64_t added;
} crowd;

enum { CROWD = 4, EACH = 3000 };

/* Each with a handle of its own, which does not know when the others have made it grow. */
static void add_own_share(void *arg, int index)
{
    crowd *c = arg;
    tkl_bloom *bloom = open_filter(c->f, "seen");
    for (int i = 0; i < EACH; i += 100) {
        uint64_t from = (uint64_t)index * EACH + (uint64_t)i;
        c->added += add(bloom, from, 100);
        assert_int_equal(present(bloom, from, 100), 100);
    }
    tkl_bloom_close(bloom);
}

static void filter_grows_under_many_hands(void **state)
{
    crowd c = {.f = *state};
    tkl_bloom *bloom = make_filter(c.f, "seen", 0.001, 100, false);
    crew_run(CROWD, add_own_share, &c);
    assert_int_equal(present(bloom, 0, CROWD * EACH), CROWD * EACH);
    tkl_bloom_info info = show(bloom);
    assert_int_equal(info.count, c.added);
    assert_true(info.capacity >= info.count);
    assert_int_equal(info.filters, 7); /* 100 (2^7 - 1) is the first that suffices */
    tkl_bloom_close(bloom);
}

static void make_and_add(void *arg, int index)
{
    crowd *c = arg;
    tkl_bloom *bloom =
        open_with(c->f->client, "new", (tkl_bloom_options){.error = 1e-6, .capacity = 1000});
    (void)index; /* all add the same */
    c->added += add(bloom, 0, 500);
    tkl_bloom_close(bloom);
}

static void only_one_of_many_makes_the_filter(void **state)
{
    crowd c = {.f = *state};
    crew_run(CROWD, make_and_add, &c);
    assert_int_equal(c.added, 500);
}

/* Half of them drop what the others make and fill. */
static void add_or_drop(void *arg, int index)
{
    crowd *c = arg;
    tkl_bloom *bloom =
        open_with(c->f->client, "brief", (tkl_bloom_options){.error = 0.01, .capacity = 20});
    for (int i = 0; i < 100; i++) {
        numbers n = numbers_from((uint64_t)i, 50);
        int rc = index % 2 ? tkl_bloom_drop(bloom)
                           : tkl_bloom_add(bloom, n.items, n.count, i % 3 ? n.flags : NULL);
        if (rc != TKL_OK && !(index % 2 && rc == TKL_NOTFOUND))
            fail_msg("%s: %s", tkl_codename(rc), tkl_errmsg());
        numbers_free(n);
    }
    tkl_bloom_close(bloom);
}

static void filter_dropped_by_many_hands_leaves_nothing(void **state)
{
    crowd c = {.f = *state};
    tkl_bloom *bloom = open_filter(c.f, "brief");
    crew_run(CROWD, add_or_drop, &c);
    int rc = tkl_bloom_drop(bloom);
    assert_true(rc == TKL_OK || rc == TKL_NOTFOUND);
    assert_int_equal(call_int(c.f->client, "DBSIZE", NULL), 0);
    tkl_bloom_close(bloom);
}

/* ---- Merging ------------------------------------------------------------- */

static void check_merge(fixture *f)
{
    tkl_bloom *a = make_filter(f, "a", 0.001, 1000, false);
    tkl_bloom *b = make_filter(f, "b", 0.001, 1000, false);
    add(a, 0, 500);
    add(b, 250, 4000); /* b has grown, a must follow */
    assert_ok(tkl_bloom_merge(a, b));
    assert_int_equal(present(a, 0, 4250), 4250);
    assert_true(present(a, 100000, 10000) < 80); /* 1250 items in the first sub-filter: 42 */
    tkl_bloom_info info = show(a);
    assert_in_range(info.count, 4200, 4550);
    assert_int_equal(info.filters, show(b).filters);
    assert_int_equal(present(b, 0, 250), 0);
    assert_ok(tkl_bloom_drop(a));
    assert_ok(tkl_bloom_drop(b));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0); /* nothing else is left */
    tkl_bloom_close(a);
    tkl_bloom_close(b);
}

static void merged_filter_has_the_items_of_both(void **state)
{
    check_merge(*state);
}

static void unequal_filters_are_not_merged(void **state)
{
    fixture *f = *state;
    tkl_bloom *a = make_filter(f, "a", 0.01, 1000, false);
    tkl_bloom *others[] = {make_filter(f, "b", 0.02, 1000, false),
                           make_filter(f, "c", 0.01, 1001, false),
                           make_filter(f, "d", 0.01, 1000, true)};
    for (int i = 0; i < 3; i++) {
        add(others[i], 0, 10);
        assert_code(tkl_bloom_merge(a, others[i]), TKL_EINVAL);
        tkl_bloom_close(others[i]);
    }
    tkl_bloom *none = open_filter(f, "none");
    assert_code(tkl_bloom_merge(a, none), TKL_NOTFOUND);
    assert_code(tkl_bloom_merge(none, a), TKL_NOTFOUND);
    assert_int_equal(present(a, 0, 10), 0);
    tkl_bloom_close(none);
    tkl_bloom_close(a);
}

/* As it may be of another version of tackle. */
static void filters_that_grew_differently_are_not_merged(void **state)
{
    fixture *f = *state;
    tkl_bloom *a = make_filter(f, "a", 0.01, 100, false);
    tkl_bloom *b = make_filter(f, "b", 0.01, 100, false);
    add(b, 0, 250);
    assert_int_equal(call_int(f->client, "HSET", "tackle:bloom:{b}:meta", "1:hashes", "11", NULL),
                     0);
    for (int grown = 0; grown < 2; grown++) {
        assert_code(tkl_bloom_merge(a, b), TKL_EINVAL);
        add(a, 0, 250);
    }
    tkl_bloom_close(a);
    tkl_bloom_close(b);
}

/* ---- A cluster ----------------------------------------------------------- */

typedef struct clustered {
    cluster *servers;
    fixture f; /* its client only */
} clustered;

static clustered clustered_start(void)
{
    clustered c = {.servers = cluster_start(false)};
    c.f.client = test_open(c.servers->url, NULL);
    return c;
}

static void clustered_end(clustered *c)
{
    tkl_close(c->f.client);
    cluster_end(c->servers);
}

static void filter_lives_in_a_cluster(void **state)
{
    (void)state;
    clustered c = clustered_start();
    tkl_bloom *a = make_filter(&c.f, "a", 0.01, 100, false);
    assert_true(add(a, 0, 1000) > 950);
    assert_int_equal(present(a, 0, 1000), 1000);
    tkl_bloom_close(a);
    clustered_end(&c);
}

static void filters_of_different_slots_are_merged(void **state)
{
    (void)state;
    clustered c = clustered_start();
    check_merge(&c.f);
    tkl_bloom *a = make_filter(&c.f, "a", 0.01, 100, false);
    tkl_bloom *b = make_filter(&c.f, "b", 0.01, 101, false);
    tkl_bloom *none = open_filter(&c.f, "none");
    assert_code(tkl_bloom_merge(a, b), TKL_EINVAL);
    assert_code(tkl_bloom_merge(a, none), TKL_NOTFOUND);
    assert_code(tkl_bloom_merge(none, a), TKL_NOTFOUND);
    assert_int_equal(call_int(c.f.client, "DBSIZE", NULL), 2);
    tkl_bloom_close(none);
    tkl_bloom_close(b);
    tkl_bloom_close(a);
    clustered_end(&c);
}

static void add_until_grown(void *arg, int index)
{
    tkl_bloom *bloom = open_filter(arg, "b");
    (void)index;
    for (uint64_t from = 0; from < 3000; from += 50)
        add(bloom, from, 50);
    tkl_bloom_close(bloom);
}

/* Whenever the source has grown it is begun anew. */
static void growing_filter_of_another_slot_is_merged(void **state)
{
    (void)state;
    clustered c = clustered_start();
    tkl_bloom *a = make_filter(&c.f, "a", 0.01, 50, false);
    tkl_bloom *b = make_filter(&c.f, "b", 0.01, 50, false);
    crew *adder = crew_start(1, add_until_grown, &c.f);
    do
        assert_ok(tkl_bloom_merge(a, b));
    while (show(b).count < 2800);
    crew_join(adder);
    assert_ok(tkl_bloom_merge(a, b));
    assert_int_equal(present(a, 0, 3000), 3000);
    assert_int_equal(show(a).filters, show(b).filters);
    tkl_bloom_close(a);
    tkl_bloom_close(b);
    clustered_end(&c);
}

/* In several pieces, and with bits of both in the same bytes. */
static void large_filters_of_different_slots_are_merged(void **state)
{
    (void)state;
    enum { EACH_HAS = 30000, CAPACITY = 2000000 };
    clustered c = clustered_start();
    tkl_bloom *a = make_filter(&c.f, "a", 0.01, CAPACITY, true);
    tkl_bloom *b = make_filter(&c.f, "b", 0.01, CAPACITY, true);
    add(a, 0, EACH_HAS);
    add(b, EACH_HAS, EACH_HAS);
    assert_true(show(a).bytes > 2 << 20);
    assert_ok(tkl_bloom_merge(a, b));
    assert_ok(tkl_bloom_merge(a, b)); /* again: no harm done */
    assert_int_equal(present(a, 0, 2 * EACH_HAS), 2 * EACH_HAS);
    assert_int_equal(present(a, 10 * EACH_HAS, 2 * EACH_HAS), 0);
    assert_in_range(show(a).count, 2 * EACH_HAS - 600, 2 * EACH_HAS + 600);
    tkl_bloom_close(a);
    tkl_bloom_close(b);
    clustered_end(&c);
}

static void split_filters_of_different_slots_are_merged(void **state)
{
    (void)state;
    clustered c = clustered_start();
    tkl_bloom *a = make_filter(&c.f, "a", 0.01, SPLIT_CAPACITY, false);
    tkl_bloom *b = make_filter(&c.f, "b", 0.01, SPLIT_CAPACITY, false);
    visit_parts(b, 0, false, true);
    visit_parts(a, 1000000, false, true);
    assert_ok(tkl_bloom_merge(a, b));
    visit_parts(a, 0, true, false);
    visit_parts(a, 1000000, true, false);
    assert_int_equal(show(a).count, 6);
    tkl_bloom_close(a);
    tkl_bloom_close(b);
    clustered_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(item_is_new_once),
        TEST(items_are_any_bytes),
        TEST(asking_makes_no_filter),
        TEST(filter_that_exists_keeps_its_numbers),
        TEST(first_add_makes_the_filter),
        TEST(dropped_filter_leaves_nothing),
        TEST(another_type_of_key_is_told),
        TEST(damaged_meta_is_told),
        TEST(count_that_is_no_number_refuses_before_bits_are_set),
        TEST(part_of_another_type_is_told),
        TEST(server_without_memory_refuses),
        TEST(filter_of_an_older_version_is_refused_and_can_be_dropped),
        TEST(parts_left_behind_are_cleared),
        TEST(drop_that_was_begun_is_finished),
        TEST(filter_with_a_ttl_expires_as_a_whole),
        TEST(parameters_out_of_range_are_refused),
        TEST(size_is_that_of_the_textbook),
        TEST(hashes_are_as_few_as_can_be),
        TEST(places_never_change),
        TEST(full_filter_errs_as_asked),
        TEST(grown_filter_errs_as_asked),
        TEST(growing_filter_adds_sub_filters),
        TEST(fixed_filter_refuses),
        TEST(large_filter_is_split),
        TEST(parts_are_allocated_exactly),
        TEST(no_script_does_much),
        TEST(large_filter_is_dropped_in_steps),
        TEST(batch_is_one_trip),
        TEST(asking_survives_cuts),
        TEST(filter_grows_under_many_hands),
        TEST(only_one_of_many_makes_the_filter),
        TEST(filter_dropped_by_many_hands_leaves_nothing),
        TEST(merged_filter_has_the_items_of_both),
        TEST(unequal_filters_are_not_merged),
        TEST(filters_that_grew_differently_are_not_merged),
        cmocka_unit_test(filter_lives_in_a_cluster),
        cmocka_unit_test(filters_of_different_slots_are_merged),
        cmocka_unit_test(growing_filter_of_another_slot_is_merged),
        cmocka_unit_test(large_filters_of_different_slots_are_merged),
        cmocka_unit_test(split_filters_of_different_slots_are_merged),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
