/* SPDX-License-Identifier: MIT
 *
 * Unique counts, bitmaps, places, filters and scans against a server that says anything: every call
 * ends with an error, and none crashes or goes on for ever.
 */
#include <tackle/tackle.h>

#include "support/call.h"
#include "support/fake.h"
#include "support/test.h"

static const char *const answers[] = {
    "$5\r\nhello\r\n",
    "$0\r\n\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    ":-9223372036854775808\r\n",
    ":9223372036854775807\r\n",
    ":7\r\n",
    "+OK\r\n",
    "*1\r\n*0\r\n",
    "*1\r\n$3\r\nnan\r\n",
    "*2\r\n$3\r\ninf\r\n$4\r\n1e99\r\n",
    "*1\r\n*2\r\n$3\r\nnan\r\n$3\r\ninf\r\n",
    "*1\r\n*4\r\n$1\r\na\r\n$1\r\nx\r\n:5\r\n*0\r\n",
    "*2\r\n$1\r\n0\r\n:5\r\n",
    "*2\r\n$1\r\n7\r\n*0\r\n", /* a cursor that does not move */
    "*2\r\n$2\r\n-1\r\n*1\r\n:5\r\n",
    "-ERR no\r\n",
    "-WRONGTYPE no\r\n",
    "-MOVED 1 127.0.0.1:1\r\n",
    "-\r\n",
};
enum { ANSWERS = sizeof answers / sizeof *answers };

static void say(fake_conn *c, void *arg)
{
    while (fake_expect(c) != NULL)
        if (!fake_sendz(c, arg))
            return;
}

static void use_bits(tkl_client *client)
{
    tkl_bits *bits;
    bool bit;
    int64_t number = 5;
    tkl_bits_value values[2];
    tkl_bits_field fields[2] = {{.width = 8}, {.width = 8, .verb = TKL_BITS_ADD}};
    assert_ok(tkl_bits_open(client, tkl_str("x"), &(tkl_bits_options){.ttl_ms = 5}, &bits));
    int rc = tkl_bits_get(bits, 1, &bit);
    rc = tkl_bits_set(bits, 1, true, &bit);
    rc = tkl_bits_count(bits, NULL, &number);
    assert_true(rc == TKL_OK || number == 0);
    assert_in_range(number, 0, INT64_C(1) << 32);
    rc = tkl_bits_find(bits, true, NULL, &number);
    assert_in_range(number, 0, INT64_C(1) << 32);
    rc = tkl_bits_find(bits, true, &(tkl_bits_range){0, 9}, &number);
    rc = tkl_bits_combine(bits, TKL_BITS_NOT, &bits, 1, &number);
    assert_true(tkl_bits_fields(bits, fields, 2, values) != TKL_OK);
    rc = tkl_bits_drop(bits);
    tkl_bits_close(bits);
}

static void use_geo(tkl_client *client)
{
    tkl_geo *geo;
    tkl_geo_place place = {.name = tkl_str("a"), .longitude = 1, .latitude = 2};
    tkl_geo_position positions[3];
    tkl_geo_text hashes[3];
    tkl_geo_places *places;
    tkl_geo_query query = {.radius = 5};
    tkl_bytes names[3] = {tkl_str("a"), tkl_str("b"), tkl_str("c")};
    int64_t number;
    double distance;
    assert_ok(tkl_geo_open(client, tkl_str("x"), NULL, &geo));
    int rc = tkl_geo_add(geo, &place, 1, &number);
    assert_in_range(number, 0, 1);
    rc = tkl_geo_distance(geo, names[0], names[1], TKL_GEO_M, &distance);
    assert_true(distance * 0 == 0);
    assert_true(tkl_geo_positions(geo, names, 3, positions) != TKL_OK);
    assert_true(tkl_geo_hashes(geo, names, 3, hashes) != TKL_OK);
    rc = tkl_geo_near(geo, &query, &places);
    assert_true(rc == TKL_OK ? places->count == 0 : places == NULL);
    tkl_geo_places_free(places);
    rc = tkl_geo_count(geo, &query, &number);
    rc = tkl_geo_remove(geo, names, 3, &number);
    assert_in_range(number, 0, 3);
    tkl_geo_close(geo);
}

static void use_unique(tkl_client *client)
{
    tkl_unique *unique;
    tkl_bytes item = tkl_str("a");
    bool changed;
    int64_t number;
    assert_ok(tkl_unique_open(client, tkl_str("x"), NULL, &unique));
    int rc = tkl_unique_add(unique, &item, 1, &changed);
    rc = tkl_unique_count(&unique, 1, &number);
    assert_true(number >= 0);
    rc = tkl_unique_merge(unique, &unique, 1);
    (void)rc;
    tkl_unique_close(unique);
}

static void use_bloom(tkl_client *client)
{
    tkl_bloom *bloom;
    tkl_bloom_info *info;
    tkl_bytes item = tkl_str("a");
    bool flag;
    assert_ok(tkl_bloom_open(client, tkl_str("x"), NULL, &bloom));
    assert_true(tkl_bloom_add(bloom, &item, 1, &flag) != TKL_OK);
    assert_true(tkl_bloom_exists(bloom, &item, 1, &flag) != TKL_OK);
    assert_true(tkl_bloom_show(bloom, &info) != TKL_OK);
    assert_true(tkl_bloom_merge(bloom, bloom) != TKL_OK);
    assert_true(tkl_bloom_drop(bloom) != TKL_OK);
    tkl_bloom_close(bloom);
}

static void use_scan(tkl_client *client)
{
    tkl_scan *scan;
    tkl_scan_element element;
    int rc, steps = 0;
    assert_ok(tkl_scan_open(client, NULL, &scan));
    while ((rc = tkl_scan_next(scan, &element)) == TKL_OK && steps++ < 100)
        continue;
    assert_true(rc != TKL_OK);
    tkl_scan_close(scan);
    assert_ok(tkl_scan_open(client, &(tkl_scan_options){.key = tkl_str("x")}, &scan));
    rc = tkl_scan_next(scan, &element);
    tkl_scan_close(scan);
}

static void every_answer_ends_every_call(void **state)
{
    (void)state;
    for (int i = 0; i < ANSWERS; i++) {
        fake *hostile = fake_start(say, (void *)(uintptr_t)answers[i]);
        tkl_client *client = test_open(fake_url(hostile), &(tkl_options){.timeout_ms = 3000});
        use_bits(client);
        use_geo(client);
        use_unique(client);
        use_bloom(client);
        use_scan(client);
        tkl_close(client);
        fake_end(hostile);
    }
}

/* Cursors that go round: found, whatever elements come with them. */
static void walk_in_circles(fake_conn *c, void *arg)
{
    int step = 0;
    (void)arg;
    while (fake_expect(c) != NULL) {
        char reply[64];
        snprintf(reply, sizeof reply, "*2\r\n$1\r\n%d\r\n*1\r\n$1\r\n%c\r\n", 1 + step % 7,
                 'a' + step % 3);
        step++;
        if (!fake_sendz(c, reply))
            return;
    }
}

static void scan_that_goes_in_circles_ends(void **state)
{
    (void)state;
    fake *hostile = fake_start(walk_in_circles, NULL);
    tkl_client *client = test_open(fake_url(hostile), NULL);
    tkl_scan *scan;
    tkl_scan_element element;
    int found = 0, rc;
    assert_ok(tkl_scan_open(client, NULL, &scan));
    while ((rc = tkl_scan_next(scan, &element)) == TKL_OK)
        found++;
    assert_code(rc, TKL_EPROTO);
    assert_int_equal(found, 3); /* each once */
    tkl_scan_close(scan);
    tkl_close(client);
    fake_end(hostile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_ends_every_call),
        cmocka_unit_test(scan_that_goes_in_circles_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
