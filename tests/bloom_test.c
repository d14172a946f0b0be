/* SPDX-License-Identifier: MIT
 *
 * Bloom filters: how often they err, their memory, growing, refusing, merging, and many clients at
 * once.
 *
 * ctest: label threads
 */
#include <math.h>

#include <tackle/bloom.h>

#include "bloom/shape.h"
#include "support/filters.h"
#include "support/proxy.h"

/* ---- One item ------------------------------------------------------------ */

static void item_is_new_once(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, false);
    bool flag;
    assert_ok(filter_ask_one(bloom, tkl_str("a"), &flag));
    assert_false(flag);
    assert_ok(filter_add_one(bloom, tkl_str("a"), &flag));
    assert_true(flag);
    assert_ok(filter_add_one(bloom, tkl_str("a"), &flag));
    assert_false(flag);
    assert_ok(filter_ask_one(bloom, tkl_str("a"), &flag));
    assert_true(flag);
    assert_int_equal(filter_show(bloom).count, 1);
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
    tkl_bloom_info *info;
    bool flag;
    assert_code(filter_ask_one(bloom, tkl_str("a"), &flag), TKL_NOTFOUND);
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
        open_filter_with(f->client, "seen", (tkl_bloom_options){.error = 0.5, .capacity = 7});
    assert_code(tkl_bloom_reserve(other), TKL_EXISTS);
    assert_ok(filter_add_one(other, tkl_str("a"), NULL));
    tkl_bloom_info info = filter_show(other);
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
    assert_ok(filter_add_one(plain, tkl_str("a"), NULL));
    assert_true(filter_show(plain).error == 0.01);
    assert_int_equal(filter_show(plain).capacity, 10000);
    tkl_bloom_close(plain);

    tkl_bloom *bloom =
        open_filter_with(f->client, "seen", (tkl_bloom_options){.error = 0.001, .capacity = 100});
    assert_true(filter_add(bloom, 0, 300) > 290);
    assert_int_equal(filter_show(bloom).capacity, 300);
    assert_ok(tkl_bloom_drop(bloom)); /* and again, also behind its back */
    assert_int_equal(filter_add(bloom, 0, 10), 10);
    tkl_bloom *other =
        open_filter_with(f->client, "seen", (tkl_bloom_options){.error = 0.5, .capacity = 20});
    assert_ok(tkl_bloom_drop(other));
    assert_int_equal(filter_add(bloom, 0, 10), 10);
    assert_int_equal(filter_show(bloom).capacity, 100);
    assert_ok(tkl_bloom_drop(other));
    assert_ok(tkl_bloom_reserve(other));
    filter_add(bloom, 0, 10);
    assert_int_equal(filter_show(bloom).capacity, 20);
    tkl_bloom_close(other);
    tkl_bloom_close(bloom);
}

static void dropped_filter_leaves_nothing(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false);
    tkl_bloom *other = open_filter(f, "seen");
    filter_add(bloom, 0, 1000);
    assert_int_equal(filter_present(other, 0, 1000), 1000);
    assert_ok(tkl_bloom_drop(bloom));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    bool flag;
    assert_code(filter_ask_one(other, tkl_str("a"), &flag), TKL_NOTFOUND);
    assert_ok(tkl_bloom_reserve(bloom));
    assert_int_equal(filter_present(other, 0, 1000), 0);
    tkl_bloom_close(other);
    tkl_bloom_close(bloom);
}

/* ---- Keys that other programs wrote --------------------------------------- */

static void assert_refused(tkl_bloom *bloom, int code)
{
    tkl_bloom_info *info;
    bool flag;
    assert_code(filter_ask_one(bloom, tkl_str("a"), &flag), code);
    assert_code(filter_add_one(bloom, tkl_str("a"), &flag), code);
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

/* One field of meta at a time is missing, or garbage. Every call ends, and none makes it worse. */
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
            assert_ok(filter_add_one(before, tkl_str("a"), NULL));
            if (values[j])
                call_int(f->client, "HSET", meta_key, fields[i], values[j], NULL);
            else
                call_int(f->client, "HDEL", meta_key, fields[i], NULL);
            tkl_bloom *bloom = open_filter(f, "seen"),
                      *other = make_filter(f, "b", 0.01, 100, false);
            tkl_bloom_info *info;
            bool flag;
            assert_true(filter_add_one(bloom, tkl_str("b"), &flag) < 0);
            assert_true(filter_ask_one(bloom, tkl_str("a"), &flag) < 0);
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
    assert_ok(filter_ask_one(bloom, tkl_str("a"), &flag)); /* knows the shape from now on */
    call_int(f->client, "HSET", meta_key, "0:count", "12.5", NULL);
    assert_code(filter_add_one(bloom, tkl_str("a"), &flag), TKL_EDAMAGED);
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:bloom:{seen}:0.0", NULL), 0);
    tkl_bloom_close(bloom);
}

static void part_of_another_type_is_told(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false);
    bool flag;
    assert_ok(tkl_callz(f->client, NULL, "SADD", "tackle:bloom:{seen}:0.0", "x", NULL));
    assert_code(filter_add_one(bloom, tkl_str("a"), &flag), TKL_ETYPE);
    assert_code(filter_ask_one(bloom, tkl_str("a"), &flag), TKL_ETYPE);
    assert_int_equal(filter_show(bloom).count, 0);
    assert_ok(tkl_bloom_drop(bloom));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_bloom_close(bloom);
}

static void server_without_memory_refuses(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100, false), *none = open_filter(f, "none");
    bool flag;
    assert_ok(filter_add_one(bloom, tkl_str("a"), NULL));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(filter_add_one(bloom, tkl_str("b"), &flag), TKL_EOOM);
    assert_code(filter_add_one(none, tkl_str("b"), &flag), TKL_EOOM);
    assert_ok(filter_ask_one(bloom, tkl_str("a"), &flag));
    assert_true(flag);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_ok(filter_ask_one(bloom, tkl_str("b"), &flag));
    assert_false(flag);
    assert_int_equal(filter_show(bloom).count, 1);
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
    filter_add(bloom, 0, 10);
    call_int(f->client, "HDEL", meta_key, "format", NULL);
    assert_code(filter_ask_one(other, tkl_str("a"), &flag), TKL_ETYPE);
    assert_contains(tkl_errmsg(), "older version of tackle");
    assert_code(filter_add_one(other, tkl_str("a"), &flag), TKL_ETYPE);
    assert_ok(tkl_bloom_drop(other));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_bloom_close(other);
    tkl_bloom_close(bloom);
}

/* Another program has removed meta alone: old parts are not used by a new filter. */
static void parts_left_behind_are_cleared(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, false);
    filter_add(bloom, 0, 1000);
    call_int(f->client, "DEL", meta_key, NULL);
    assert_int_equal(filter_add(bloom, 5000, 1), 1);
    assert_int_equal(filter_present(bloom, 0, 1000), 0);
    tkl_bloom_close(bloom);
}

/* A client has died while it dropped a filter: the filter is gone for all, and the next client that
 * makes one finishes the drop. */
static void drop_that_was_begun_is_finished(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, false);
        tkl_bloom_info *info;
        bool flag;
        filter_add(bloom, 0, 500);
        call_int(f->client, "HSET", meta_key, "dropping", "1", NULL);
        tkl_bloom *other = open_filter(f, "seen");
        assert_code(filter_ask_one(other, tkl_str("a"), &flag), TKL_NOTFOUND);
        assert_code(tkl_bloom_show(other, &info), TKL_NOTFOUND);
        if (i == 0)
            assert_code(tkl_bloom_drop(other), TKL_NOTFOUND);
        else
            assert_int_equal(filter_add(other, 1000, 1), 1);
        assert_int_equal(call_int(f->client, "EXISTS", "tackle:bloom:{seen}:0.0", NULL), i);
        if (i == 1)
            assert_int_equal(filter_present(other, 0, 500), 0);
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
    tkl_bloom *bloom = open_filter_with(f->client, "seen", options);
    filter_add(bloom, 0, 1000); /* it grows on the way */
    assert_in_range(shortest_life(f), TTL + 1, TTL + TTL / 8 + 1);
    tkl_bloom *source = open_filter_with(f->client, "source", options);
    filter_add(source, 5000, 1000);
    assert_ok(tkl_bloom_merge(bloom, source));
    assert_in_range(shortest_life(f), TTL + 1, TTL + TTL / 8 + 1);
    /* One key is prolonged with the others, whichever was written to. */
    tkl_bloom *other = open_filter_with(f->client, "seen", options);
    server_do(f->server, "PEXPIRE tackle:bloom:{seen}:0.0 50000");
    server_do(f->server, "PEXPIRE %s 50000", meta_key);
    filter_add(other, 100000, 1);
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
    tkl__bloom_subfilter sub;
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

/* A filter with fewer hashes would take more than 2 % more memory. */
static void hashes_are_as_few_as_can_be(void **state)
{
    (void)state;
    static const struct {
        double error;
        int hashes;
    } expected[] = {{0.5, 1},    {0.39, 1},  {0.38, 2},  {0.1, 3},   {0.03, 5},  {0.01, 6},
                    {0.0055, 7}, {0.001, 9}, {1e-4, 12}, {1e-6, 18}, {1e-9, 26}, {1e-12, 36}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        tkl__bloom_subfilter sub;
        assert_ok(tkl__bloom_subfilter_make(expected[i].error, 1000, &sub));
        assert_int_equal(sub.hashes, expected[i].hashes);
    }
}

/* The places are a contract with readers in other languages; docs/bloom.md gives the same example.
 */
static void places_never_change(void **state)
{
    (void)state;
    tkl__bloom_subfilter sub;
    tkl__bloom_group group;
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
    filter_add(bloom, 0, added);
    assert_int_equal(filter_present(bloom, 0, added), added);
    double wrong = (double)filter_present(bloom, UINT64_C(1) << 40, ASKED);
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
    size_t added = filter_add(bloom, 0, 6500);
    assert_true(added > 6300);
    tkl_bloom_info info = filter_show(bloom);
    assert_int_equal(info.filters, 3);
    assert_int_equal(info.capacity, 7000);
    assert_int_equal(info.count, added);
    assert_int_equal(filter_add(bloom, 0, 6500), 0);
    assert_int_equal(filter_show(bloom).filters, 3);
    tkl_bloom_close(bloom);
}

static void fixed_filter_refuses(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 1000, true);
    numbers n = numbers_from(0, 2000);
    assert_code(tkl_bloom_add(bloom, n.items, n.count, n.flags), TKL_FULL);
    assert_int_equal(numbers_flagged(n), 1000);
    tkl_bloom_info info = filter_show(bloom);
    assert_int_equal(info.count, 1000);
    assert_int_equal(info.filters, 1);
    bool flag;
    for (size_t i = 0; i < 900; i++) { /* items may be added again */
        assert_ok(filter_add_one(bloom, n.items[i], &flag));
        assert_false(flag);
    }
    assert_true(filter_present(bloom, 1000, 1000) < 100);
    numbers_free(n);
    tkl_bloom_close(bloom);
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

/* The server allocates the part, and as much as any key needs. */
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
    return server_functions(f->server);
}

/* The most sub-filters and hashes: each item is looked for in hundreds of places. And the most new
 * parts: a large empty filter. */
static void no_script_does_much(void **state)
{
    fixture *f = *state;
    tkl_bloom *grown = make_filter(f, "grown", 1e-12, 1, false);
    filter_add(grown, 0, 5000);
    int64_t before = runs(f), read = server_calls(f->server, "getbit");
    filter_add(grown, 5000, 500);
    read = server_calls(f->server, "getbit") - read;
    assert_in_range(read, 500 * 10, (runs(f) - before) * 6000);
    tkl_bloom *large = make_filter(f, "large", 1e-12, 20000000, true);
    before = runs(f);
    filter_add(large, 0, 100);
    int64_t made = call_int(f->client, "DBSIZE", NULL) - 50;
    assert_in_range(made, 10, (runs(f) - before) * 9);
    tkl_bloom_close(large);
    tkl_bloom_close(grown);
}

static void large_filter_is_dropped_in_steps(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "large", 0.01, 400000000, false);
    int64_t before = server_functions(f->server);
    assert_int_equal(filter_add(bloom, 0, 3), 3);
    assert_ok(tkl_bloom_drop(bloom));
    int64_t steps = server_functions(f->server) - before;
    assert_in_range(steps, 3, 20); /* 468 parts: two to drop them */
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_int_equal(filter_add(bloom, 0, 3), 3);
    tkl_bloom_close(bloom);
}

/* ---- Trips --------------------------------------------------------------- */

static void batch_is_one_trip(void **state)
{
    fixture *f = *state;
    tkl_bloom *bloom = make_filter(f, "seen", 0.01, 100000, false);
    filter_add(bloom, 0, 10);
    int64_t before = server_functions(f->server);
    filter_add(bloom, 0, 100);
    assert_int_equal(server_functions(f->server) - before, 1);
    int64_t loads = server_calls(f->server, "hgetall");
    before = server_calls(f->server, "getrange");
    filter_present(bloom, 0, 100);
    assert_int_equal(server_calls(f->server, "hgetall"), loads);
    assert_int_equal(server_calls(f->server, "getrange") - before, 100);
    tkl_bloom_close(bloom);
}

/* The library sends the first items of a batch before it has made the others. All are answered,
 * wherever the connection breaks. */
static void asking_survives_cuts(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 2000});
    tkl_bloom *bloom =
        open_filter_with(client, "seen", (tkl_bloom_options){.error = 0.001, .capacity = 1000});
    filter_add(bloom, 0, 300);
    for (int64_t cut = 0; cut < 30000; cut += 997) {
        proxy_cut_after(p, cut % 2 ? TO_SERVER : TO_CLIENT, cut);
        assert_int_equal(filter_present(bloom, 0, 300), 300);
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
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
