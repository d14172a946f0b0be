/* SPDX-License-Identifier: MIT
 *
 * Bloom filters that many clients change at the same time, that are merged, and in a cluster.
 *
 * ctest: label threads
 */
#include "support/cluster.h"
#include "support/filters.h"

/* ---- Many clients -------------------------------------------------------- */

typedef struct crowd {
    fixture *f;
    _Atomic uint64_t added;
} crowd;

enum { CROWD = 4, EACH = 3000 };

/* Adds with a handle of its own, which does not know when other threads have made the filter
 * grow. */
static void add_own_share(void *arg, int index)
{
    crowd *c = arg;
    tkl_bloom *bloom = open_filter(c->f, "seen");
    for (int i = 0; i < EACH; i += 100) {
        uint64_t from = (uint64_t)index * EACH + (uint64_t)i;
        c->added += filter_add(bloom, from, 100);
        assert_int_equal(filter_present(bloom, from, 100), 100);
    }
    tkl_bloom_close(bloom);
}

static void filter_grows_under_many_hands(void **state)
{
    crowd c = {.f = *state};
    tkl_bloom *bloom = make_filter(c.f, "seen", 0.001, 100, false);
    crew_run(CROWD, add_own_share, &c);
    assert_int_equal(filter_present(bloom, 0, CROWD * EACH), CROWD * EACH);
    tkl_bloom_info info = filter_show(bloom);
    assert_int_equal(info.count, c.added);
    assert_true(info.capacity >= info.count);
    assert_int_equal(info.filters, 7); /* 100 (2^7 - 1) is the first that suffices */
    tkl_bloom_close(bloom);
}

static void make_and_add(void *arg, int index)
{
    crowd *c = arg;
    tkl_bloom *bloom =
        open_filter_with(c->f->client, "new", (tkl_bloom_options){.error = 1e-6, .capacity = 1000});
    (void)index; /* all add the same */
    c->added += filter_add(bloom, 0, 500);
    tkl_bloom_close(bloom);
}

static void only_one_of_many_makes_the_filter(void **state)
{
    crowd c = {.f = *state};
    crew_run(CROWD, make_and_add, &c);
    assert_int_equal(c.added, 500);
}

/* Half of the threads drop the filter that the others make and fill. */
static void add_or_drop(void *arg, int index)
{
    crowd *c = arg;
    tkl_bloom *bloom =
        open_filter_with(c->f->client, "brief", (tkl_bloom_options){.error = 0.01, .capacity = 20});
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
    filter_add(a, 0, 500);
    filter_add(b, 250, 4000); /* b has grown, a must follow */
    assert_ok(tkl_bloom_merge(a, b));
    assert_int_equal(filter_present(a, 0, 4250), 4250);
    assert_true(filter_present(a, 100000, 10000) < 80); /* 1250 items in the first sub-filter: 42 */
    tkl_bloom_info info = filter_show(a);
    assert_in_range(info.count, 4200, 4550);
    assert_int_equal(info.filters, filter_show(b).filters);
    assert_int_equal(filter_present(b, 0, 250), 0);
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
        filter_add(others[i], 0, 10);
        assert_code(tkl_bloom_merge(a, others[i]), TKL_EINVAL);
        tkl_bloom_close(others[i]);
    }
    tkl_bloom *none = open_filter(f, "none");
    assert_code(tkl_bloom_merge(a, none), TKL_NOTFOUND);
    assert_code(tkl_bloom_merge(none, a), TKL_NOTFOUND);
    assert_int_equal(filter_present(a, 0, 10), 0);
    tkl_bloom_close(none);
    tkl_bloom_close(a);
}

/* A source may have grown differently, as with another version of tackle. */
static void filters_that_grew_differently_are_not_merged(void **state)
{
    fixture *f = *state;
    tkl_bloom *a = make_filter(f, "a", 0.01, 100, false);
    tkl_bloom *b = make_filter(f, "b", 0.01, 100, false);
    filter_add(b, 0, 250);
    assert_int_equal(call_int(f->client, "HSET", "tackle:bloom:{b}:meta", "1:hashes", "11", NULL),
                     0);
    for (int grown = 0; grown < 2; grown++) {
        assert_code(tkl_bloom_merge(a, b), TKL_EINVAL);
        filter_add(a, 0, 250);
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
    assert_true(filter_add(a, 0, 1000) > 950);
    assert_int_equal(filter_present(a, 0, 1000), 1000);
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
        filter_add(bloom, from, 50);
    tkl_bloom_close(bloom);
}

/* Whenever the source has grown, the merge starts over. */
static void growing_filter_of_another_slot_is_merged(void **state)
{
    (void)state;
    clustered c = clustered_start();
    tkl_bloom *a = make_filter(&c.f, "a", 0.01, 50, false);
    tkl_bloom *b = make_filter(&c.f, "b", 0.01, 50, false);
    crew *adder = crew_start(1, add_until_grown, &c.f);
    do
        assert_ok(tkl_bloom_merge(a, b));
    while (filter_show(b).count < 2800);
    crew_join(adder);
    assert_ok(tkl_bloom_merge(a, b));
    assert_int_equal(filter_present(a, 0, 3000), 3000);
    assert_int_equal(filter_show(a).filters, filter_show(b).filters);
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
    filter_add(a, 0, EACH_HAS);
    filter_add(b, EACH_HAS, EACH_HAS);
    assert_true(filter_show(a).bytes > 2 << 20);
    assert_ok(tkl_bloom_merge(a, b));
    assert_ok(tkl_bloom_merge(a, b)); /* again: no harm done */
    assert_int_equal(filter_present(a, 0, 2 * EACH_HAS), 2 * EACH_HAS);
    assert_int_equal(filter_present(a, 10 * EACH_HAS, 2 * EACH_HAS), 0);
    assert_in_range(filter_show(a).count, 2 * EACH_HAS - 600, 2 * EACH_HAS + 600);
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
    assert_int_equal(filter_show(a).count, 6);
    tkl_bloom_close(a);
    tkl_bloom_close(b);
    clustered_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
