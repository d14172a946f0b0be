/* SPDX-License-Identifier: MIT
 *
 * Limits, filters, bitmaps, unique counts, places and scans in a program with a decimal comma: they
 * do the same, and programs without one understand what they wrote.
 */
#include <math.h>

#include <tackle/tackle.h>

#include "support/fixture.h"
#include "support/locale.h"

static void filters_are_the_same(void **state)
{
    fixture *f = *state;
    tkl_bloom_options options = {.error = 0.015, .capacity = 100};
    tkl_bloom *comma, *plain;
    tkl_bloom_info *info;
    tkl_bytes item = tkl_str("a");
    bool flag;
    locale_with_a_comma();
    assert_ok(tkl_bloom_open(f->client, tkl_str("comma"), &options, &comma));
    assert_ok(tkl_bloom_reserve(comma));
    call_expect(f->client, "0.015", "HGET", "tackle:bloom:{comma}:meta", "error", NULL);
    assert_ok(tkl_bloom_show(comma, &info));
    assert_true(info->error == 0.015);
    tkl_bloom_info_free(info);
    locale_plain();
    assert_ok(tkl_bloom_open(f->client, tkl_str("plain"), &options, &plain));
    assert_ok(tkl_bloom_add(plain, &item, 1, &flag));
    locale_with_a_comma();
    assert_ok(tkl_bloom_merge(comma, plain));
    assert_ok(tkl_bloom_exists(comma, &item, 1, &flag));
    assert_true(flag);
    locale_plain();
    assert_ok(tkl_bloom_show(comma, &info));
    assert_true(info->error == 0.015);
    assert_int_equal(info->count, 1);
    tkl_bloom_info_free(info);
    tkl_bloom_close(comma);
    tkl_bloom_close(plain);
}

static void places_are_the_same(void **state)
{
    fixture *f = *state;
    tkl_geo *geo;
    tkl_geo_place berlin = {.name = tkl_str("berlin"), .longitude = 13.405, .latitude = 52.52};
    tkl_geo_place hamburg = {.name = tkl_str("hamburg"), .longitude = 9.993, .latitude = 53.551};
    tkl_geo_position at;
    tkl_geo_places *near;
    int64_t count;
    double distance[2];
    assert_ok(tkl_geo_open(f->client, tkl_str("cities"), NULL, &geo));
    assert_ok(tkl_geo_add(geo, &berlin, 1, NULL));
    for (int comma = 0; comma < 2; comma++) {
        if (comma)
            locale_with_a_comma();
        assert_ok(tkl_geo_add(geo, &hamburg, 1, &count));
        assert_int_equal(count, !comma);
        assert_ok(tkl_geo_distance(geo, berlin.name, hamburg.name, TKL_GEO_KM, &distance[comma]));
        assert_ok(tkl_geo_positions(geo, &hamburg.name, 1, &at));
        assert_true(at.found && fabs(at.longitude - 9.993) < 1e-5);
        tkl_geo_query query = {
            .longitude = 13.5, .latitude = 52.5, .radius = 12.5, .unit = TKL_GEO_KM};
        assert_ok(tkl_geo_near(geo, &query, &near));
        assert_int_equal(near->count, 1);
        assert_true(near->items[0].distance > 6 && near->items[0].distance < 8);
        assert_true(fabs(near->items[0].latitude - 52.52) < 1e-5);
        tkl_geo_places_free(near);
        assert_ok(tkl_geo_count(geo, &query, &count));
        assert_int_equal(count, 1);
    }
    assert_true(distance[0] > 250 && distance[0] == distance[1]);
    hamburg.longitude = 180.5;
    assert_code(tkl_geo_add(geo, &hamburg, 1, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "180.5");
    locale_plain();
    tkl_geo_close(geo);
}

static void limits_are_the_same(void **state)
{
    fixture *f = *state;
    for (int algorithm = TKL_LIMIT_GCRA; algorithm <= TKL_LIMIT_CONCURRENCY; algorithm++) {
        tkl_limit_rule rule = {
            .algorithm = (tkl_limit_algorithm)algorithm, .count = 7, .period_ms = 3600000};
        tkl_limit *limit;
        tkl_limit_answer answer;
        assert_ok(tkl_limit_open(f->client, tkl_str("api"), &rule, NULL, &limit));
        for (int comma = 0; comma < 2; comma++) {
            if (comma)
                locale_with_a_comma();
            assert_ok(tkl_limit_check(limit, tkl_str("alice"), 2 + comma, &answer));
            assert_int_equal(answer.remaining, comma ? 2 : 5);
        }
        assert_code(tkl_limit_check(limit, tkl_str("alice"), 3, &answer), TKL_LIMITED);
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        locale_plain();
        tkl_limit_close(limit);
    }
}

static void bits_counts_and_scans_are_the_same(void **state)
{
    fixture *f = *state;
    tkl_bits *bits;
    tkl_unique *unique;
    tkl_scan *scan;
    tkl_scan_element element;
    tkl_bytes item = tkl_str("a");
    int64_t number;
    locale_with_a_comma();
    assert_ok(tkl_bits_open(f->client, tkl_str("days"), NULL, &bits));
    assert_ok(tkl_bits_set(bits, 1234567, true, NULL));
    assert_ok(tkl_bits_find(bits, true, &(tkl_bits_range){1000, -1}, &number));
    assert_int_equal(number, 1234567);
    assert_ok(tkl_unique_open(f->client, tkl_str("who"), NULL, &unique));
    assert_ok(tkl_unique_add(unique, &item, 1, NULL));
    assert_ok(tkl_unique_count(&unique, 1, &number));
    assert_int_equal(number, 1);
    assert_ok(tkl_callz(f->client, NULL, "ZADD", "scores", "1.5", "one", NULL));
    assert_ok(tkl_scan_open(f->client, &(tkl_scan_options){.key = tkl_str("scores")}, &scan));
    assert_ok(tkl_scan_next(scan, &element));
    assert_memory_equal(element.value.data, "1.5", 3);
    locale_plain();
    tkl_scan_close(scan);
    tkl_unique_close(unique);
    tkl_bits_close(bits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(filters_are_the_same),
        TEST(places_are_the_same),
        TEST(limits_are_the_same),
        TEST(bits_counts_and_scans_are_the_same),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
