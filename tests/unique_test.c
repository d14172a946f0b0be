/* SPDX-License-Identifier: MIT
 *
 * Unique counts: close to the truth, one or several, on one server or a cluster.
 */
#include <tackle/unique.h>

#include "support/cluster.h"
#include "support/fixture.h"

static tkl_unique *open_unique(tkl_client *client, const char *name)
{
    tkl_unique *unique;
    assert_ok(tkl_unique_open(client, tkl_str(name), NULL, &unique));
    return unique;
}

static void add_numbers(tkl_unique *unique, uint64_t from, size_t count)
{
    uint64_t *values = calloc(count, sizeof *values);
    tkl_bytes *items = calloc(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        values[i] = from + i;
        items[i] = (tkl_bytes){(const char *)&values[i], sizeof values[i]};
    }
    assert_ok(tkl_unique_add(unique, items, count, NULL));
    free(values);
    free(items);
}

static int64_t count_of(tkl_unique *unique)
{
    int64_t count;
    assert_ok(tkl_unique_count(&unique, 1, &count));
    return count;
}

static int64_t count_of_all(tkl_unique *const *uniques, size_t n)
{
    int64_t count;
    assert_ok(tkl_unique_count(uniques, n, &count));
    return count;
}

/* Within 4 %: five times the standard error. */
static void assert_near(int64_t got, int64_t expected)
{
    assert_in_range(got, expected - expected / 25, expected + expected / 25);
}

static void repeated_items_count_once(void **state)
{
    fixture *f = *state;
    tkl_unique *u = open_unique(f->client, "{visitors}\xff");
    tkl_bytes items[] = {tkl_str("a"), tkl_str("b"), tkl_str("a"), {NULL, 0}, {"\0", 1}};
    bool changed;
    assert_int_equal(count_of(u), 0);
    assert_ok(tkl_unique_add(u, items, 5, &changed));
    assert_true(changed);
    assert_int_equal(count_of(u), 4);
    assert_ok(tkl_unique_add(u, items, 5, &changed));
    assert_false(changed);
    assert_ok(tkl_unique_add(u, NULL, 0, &changed));
    assert_false(changed);
    assert_int_equal(count_of(u), 4);
    assert_ok(tkl_unique_drop(u));
    assert_code(tkl_unique_drop(u), TKL_NOTFOUND);
    assert_int_equal(count_of(u), 0);
    tkl_unique_close(u);
}

static void many_are_counted_nearly(void **state)
{
    fixture *f = *state;
    tkl_unique *u = open_unique(f->client, "visitors");
    for (uint64_t from = 0; from < 100000; from += 10000)
        add_numbers(u, from, 10000);
    assert_near(count_of(u), 100000);
    tkl_unique_close(u);
}

static void check_unions(tkl_client *client)
{
    tkl_unique *u[] = {open_unique(client, "mon"), open_unique(client, "tue"),
                       open_unique(client, "wed"), open_unique(client, "none")};
    add_numbers(u[0], 0, 5000);
    add_numbers(u[1], 4000, 5000);
    add_numbers(u[2], 8000, 5000);
    assert_near(count_of_all(u, 2), 9000);
    assert_near(count_of_all(u, 4), 13000);
    assert_near(count_of_all(u + 2, 2), 5000);
    assert_int_equal(count_of_all(u + 3, 1), 0);
    assert_int_equal(count_of_all(u, 0), 0);
    assert_near(count_of(u[0]), 5000);
    int64_t together = count_of_all(u, 3);
    assert_ok(tkl_unique_merge(u[3], u, 3));
    assert_int_equal(count_of(u[3]), together);
    assert_ok(tkl_unique_merge(u[0], &u[1], 1));
    assert_near(count_of(u[0]), 9000);
    assert_ok(tkl_unique_merge(u[0], NULL, 0));
    assert_int_equal(call_int(client, "DBSIZE", NULL), 4); /* nothing else is left */
    for (int i = 0; i < 4; i++)
        tkl_unique_close(u[i]);
}

static void several_are_counted_and_merged(void **state)
{
    fixture *f = *state;
    check_unions(f->client);
}

static void several_are_counted_and_merged_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    check_unions(client);
    assert_ok(tkl_callz(client, NULL, "SET", "tackle:unique:{bad}", "x", NULL));
    tkl_unique *u[] = {open_unique(client, "mon"), open_unique(client, "bad")};
    int64_t count;
    assert_int_not_equal(tkl_unique_count(u, 2, &count), TKL_OK);
    assert_int_equal(call_int(client, "DBSIZE", NULL), 5);
    tkl_unique_close(u[0]);
    tkl_unique_close(u[1]);
    tkl_close(client);
    cluster_end(c);
}

static void count_with_a_ttl_expires_after_the_last_write(void **state)
{
    fixture *f = *state;
    enum { TTL = 100000 };
    const char *key = "tackle:unique:{brief}";
    tkl_unique *brief, *other = open_unique(f->client, "other");
    tkl_unique_options options = {.ttl_ms = TTL};
    tkl_bytes item = tkl_str("a");
    tkl_names *names;
    assert_ok(tkl_unique_open(f->client, tkl_str("brief"), &options, &brief));
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            assert_ok(tkl_unique_add(brief, &item, 1, NULL));
        else
            assert_ok(tkl_unique_merge(brief, &other, 1));
        assert_in_range(call_int(f->client, "PTTL", key, NULL), TTL - 50000, TTL);
        call_int(f->client, "PEXPIRE", key, "1000", NULL);
    }
    assert_ok(tkl_unique_names(f->client, &names));
    assert_int_equal(names->count, 1);
    assert_memory_equal(names->items[0].data, "brief", 5);
    tkl_names_free(names);
    options.ttl_ms = -1;
    tkl_unique *wrong;
    assert_code(tkl_unique_open(f->client, tkl_str("x"), &options, &wrong), TKL_EINVAL);
    assert_null(wrong);
    tkl_unique_close(brief);
    tkl_unique_close(other);
}

static void what_cannot_be_counted_is_told(void **state)
{
    fixture *f = *state;
    tkl_unique *u;
    int64_t count;
    assert_code(tkl_unique_open(f->client, tkl_str(""), NULL, &u), TKL_EINVAL);
    assert_null(u);
    assert_ok(tkl_callz(f->client, NULL, "SADD", "tackle:unique:{set}", "x", NULL));
    u = open_unique(f->client, "set");
    assert_code(tkl_unique_count(&u, 1, &count), TKL_ETYPE);
    tkl_unique *many[1002];
    for (int i = 0; i < 1002; i++)
        many[i] = u;
    assert_code(tkl_unique_count(many, 1002, &count), TKL_EINVAL);
    tkl_unique_close(u);
    tkl_unique_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(repeated_items_count_once),
        TEST(many_are_counted_nearly),
        TEST(several_are_counted_and_merged),
        TEST(count_with_a_ttl_expires_after_the_last_write),
        TEST(what_cannot_be_counted_is_told),
        cmocka_unit_test(several_are_counted_and_merged_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
