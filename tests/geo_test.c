/* SPDX-License-Identifier: MIT
 *
 * Places: distances against the haversine formula, the edges of the map, what is nearest among
 * many.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/geo.h>

#include "support/cluster.h"
#include "support/fixture.h"

static const double EARTH_M = 6372797.560856; /* as the server has it */

static double radians(double degrees)
{
    return degrees * M_PI / 180;
}

static double haversine(double lon1, double lat1, double lon2, double lat2)
{
    double u = sin(radians(lat2 - lat1) / 2), v = sin(radians(lon2 - lon1) / 2);
    return 2 * EARTH_M * asin(sqrt(u * u + cos(radians(lat1)) * cos(radians(lat2)) * v * v));
}

static tkl_geo *open_geo(tkl_client *client, const char *name)
{
    tkl_geo *geo;
    assert_ok(tkl_geo_open(client, tkl_str(name), NULL, &geo));
    return geo;
}

static void add(tkl_geo *geo, const char *name, double longitude, double latitude)
{
    tkl_geo_place place = {.name = tkl_str(name), .longitude = longitude, .latitude = latitude};
    assert_ok(tkl_geo_add(geo, &place, 1, NULL));
}

static tkl_geo_places *near(tkl_geo *geo, tkl_geo_query query)
{
    tkl_geo_places *places;
    int64_t count;
    assert_ok(tkl_geo_near(geo, &query, &places));
    assert_ok(tkl_geo_count(geo, &query, &count));
    assert_int_equal(count, places->count);
    return places;
}

static void assert_names(tkl_geo *geo, tkl_geo_query query, const char *expected)
{
    tkl_geo_places *places = near(geo, query);
    char names[256] = "";
    for (size_t i = 0; i < places->count; i++) {
        strncat(names, places->items[i].name.data, places->items[i].name.len);
        strcat(names, " ");
    }
    assert_string_equal(names, expected);
    tkl_geo_places_free(places);
}

static void add_cities(tkl_geo *geo)
{
    add(geo, "berlin", 13.405, 52.52);
    add(geo, "hamburg", 9.993, 53.551);
    add(geo, "munich", 11.582, 48.135);
    add(geo, "paris", 2.352, 48.857);
}

static bool is_near(double a, double b, double off)
{
    return fabs(a - b) <= off;
}

/* ---- Places -------------------------------------------------------------- */

static void places_are_added_and_moved(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "{cities}");
    tkl_geo_place places[] = {{.name = tkl_str("a"), .longitude = 1, .latitude = 2},
                              {.name = {"\0\xff", 2}, .longitude = 3, .latitude = 4}};
    tkl_bytes names[] = {tkl_str("a"), {"\0\xff", 2}, tkl_str("none")};
    tkl_geo_position at[3];
    int64_t count;
    assert_ok(tkl_geo_add(geo, places, 2, &count));
    assert_int_equal(count, 2);
    places[0].longitude = -1;
    assert_ok(tkl_geo_add(geo, places, 2, &count));
    assert_int_equal(count, 0);
    assert_ok(tkl_geo_positions(geo, names, 3, at));
    assert_true(at[0].found && at[1].found && !at[2].found);
    assert_true(is_near(at[0].longitude, -1, 1e-5) && is_near(at[0].latitude, 2, 1e-5));
    assert_true(is_near(at[1].longitude, 3, 1e-5) && is_near(at[1].latitude, 4, 1e-5));
    assert_ok(tkl_geo_remove(geo, names, 3, &count));
    assert_int_equal(count, 2);
    assert_ok(tkl_geo_add(geo, NULL, 0, &count));
    assert_ok(tkl_geo_remove(geo, NULL, 0, &count));
    assert_code(tkl_geo_drop(geo), TKL_NOTFOUND);
    tkl_geo_close(geo);
}

static void places_with_a_ttl_expire_after_the_last_change(void **state)
{
    fixture *f = *state;
    enum { TTL = 100000 };
    tkl_geo *geo;
    tkl_geo_options options = {.ttl_ms = TTL};
    tkl_names *names;
    assert_ok(tkl_geo_open(f->client, tkl_str("brief"), &options, &geo));
    for (int i = 0; i < 2; i++) {
        add(geo, i ? "a" : "b", 1, 2);
        assert_in_range(call_int(f->client, "PTTL", "tackle:geo:{brief}", NULL), TTL - 50000, TTL);
        call_int(f->client, "PEXPIRE", "tackle:geo:{brief}", "1000", NULL);
    }
    assert_ok(tkl_geo_names(f->client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    tkl_geo_close(geo);
    options.timeout_ms = -1;
    assert_code(tkl_geo_open(f->client, tkl_str("brief"), &options, &geo), TKL_EINVAL);
    assert_null(geo);
}

static void geohashes_are_the_usual_ones(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "cities");
    tkl_bytes names[] = {tkl_str("palermo"), tkl_str("none")};
    tkl_geo_text hashes[2];
    add(geo, "palermo", 13.361389, 38.115556);
    assert_ok(tkl_geo_hashes(geo, names, 2, hashes));
    assert_string_equal(hashes[0], "sqc8b49rny0");
    assert_string_equal(hashes[1], "");
    assert_ok(tkl_geo_drop(geo));
    tkl_geo_close(geo);
}

/* Positions are rounded to about half a metre: distances differ from the formula by no more than
 * twice that, and by the server's rounding to 4 digits. */
static void geohashes_are_cells(void **state)
{
    (void)state;
    tkl_geo_text hash, around[8];
    tkl_geo_cell cell;
    assert_ok(tkl_geo_encode(-5.6, 42.6, 5, hash));
    assert_string_equal(hash, "ezs42");
    assert_ok(tkl_geo_encode(10.40744, 57.64911, 11, hash));
    assert_string_equal(hash, "u4pruydqqvj");
    assert_ok(tkl_geo_encode(180, -90, 3, hash)); /* the same meridian as -180 */
    assert_string_equal(hash, "000");
    assert_ok(tkl_geo_encode(0, 90, 2, hash));
    assert_string_equal(hash, "up");
    assert_ok(tkl_geo_decode("EZS42", &cell));
    assert_true(is_near(cell.west, -5.625, 1e-3) && is_near(cell.south, 42.583, 1e-3));
    assert_true(is_near(cell.longitude, -5.603, 1e-3) && is_near(cell.latitude, 42.605, 1e-3));
    static const char *const expected[8] = {"dqcjw", "dqcjx", "dqcjr", "dqcjp",
                                            "dqcjn", "dqcjj", "dqcjm", "dqcjt"};
    assert_ok(tkl_geo_neighbours("dqcjq", around));
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(around[i], expected[i]);
    assert_ok(tkl_geo_neighbours("bpb", around)); /* at the date line, under the pole */
    assert_string_equal(around[0], "");
    assert_string_equal(around[2], "bpc");
    assert_string_equal(around[6], "zzz");
    srand(7);
    for (int i = 0; i < 2000; i++) {
        double longitude = rand() / (double)RAND_MAX * 360 - 180;
        double latitude = rand() / (double)RAND_MAX * 180 - 90;
        assert_ok(tkl_geo_encode(longitude, latitude, 1 + (size_t)i % TKL_GEO_HASH_MAX, hash));
        assert_ok(tkl_geo_decode(hash, &cell));
        assert_true(cell.west <= longitude && longitude <= cell.east);
        assert_true(cell.south <= latitude && latitude <= cell.north);
    }
    assert_code(tkl_geo_encode(0, 0, 0, hash), TKL_EINVAL);
    assert_code(tkl_geo_encode(0, 0, 12, hash), TKL_EINVAL);
    assert_code(tkl_geo_encode(181, 0, 5, hash), TKL_EINVAL);
    assert_code(tkl_geo_encode(0, NAN, 5, hash), TKL_EINVAL);
    assert_string_equal(hash, "");
    static const char *const wrong[] = {"", "a", "u33dc0abc", "u33 ", "u33dc0u33dc0", "ü"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_code(tkl_geo_decode(wrong[i], &cell), TKL_EINVAL);
        assert_code(tkl_geo_neighbours(wrong[i], around), TKL_EINVAL);
        assert_string_equal(around[0], "");
    }
}

/* All places of a crowd that tkl_geo_hashes() gives this beginning. */
static void places_are_found_by_the_beginning_of_their_geohashes(void **state)
{
    fixture *f = *state;
    enum { COUNT = 3000 };
    tkl_geo *geo = open_geo(f->client, "crowd");
    tkl_bytes *names = calloc(COUNT, sizeof *names);
    tkl_geo_text *hashes = calloc(COUNT, sizeof *hashes);
    char(*texts)[12] = calloc(COUNT, sizeof *texts);
    srand(11);
    for (int i = 0; i < COUNT; i++) { /* all over the map, and many close together */
        bool close = i % 2 == 0;
        double longitude =
            close ? 179.9 + rand() / (double)RAND_MAX / 10 : rand() / (double)RAND_MAX * 360 - 180;
        double latitude =
            close ? 84.9 + rand() / (double)RAND_MAX / 10 : rand() / (double)RAND_MAX * 170 - 85;
        snprintf(texts[i], sizeof texts[i], "p%d", i);
        names[i] = tkl_str(texts[i]);
        add(geo, texts[i], longitude, latitude);
    }
    assert_ok(tkl_geo_hashes(geo, names, COUNT, hashes));
    for (int i = 0; i < 300; i++) {
        char prefix[12];
        size_t length = 1 + (size_t)i % TKL_GEO_PREFIX_MAX, expected = 0;
        tkl_geo_places *found;
        snprintf(prefix, sizeof prefix, "%.*s", (int)length, hashes[rand() % COUNT]);
        for (int k = 0; k < COUNT; k++)
            expected += strncmp(hashes[k], prefix, length) == 0;
        assert_ok(tkl_geo_within(geo, prefix, 0, &found));
        assert_int_equal(found->count, expected);
        for (size_t k = 1; k < found->count; k++)
            assert_true(found->items[k - 1].distance <= found->items[k].distance);
        tkl_geo_places_free(found);
        assert_ok(tkl_geo_within(geo, prefix, 3, &found));
        assert_int_equal(found->count, expected < 3 ? expected : 3);
        tkl_geo_places_free(found);
    }
    tkl_geo_places *found = (tkl_geo_places *)1;
    assert_code(tkl_geo_within(geo, "u33dc0u33dc", 0, &found), TKL_EINVAL);
    assert_null(found);
    assert_code(tkl_geo_within(geo, "a", 0, &found), TKL_EINVAL);
    assert_code(tkl_geo_within(geo, "u3", -1, &found), TKL_EINVAL);
    tkl_geo_close(geo);
    geo = open_geo(f->client, "none");
    assert_ok(tkl_geo_within(geo, "u3", 0, &found));
    assert_int_equal(found->count, 0);
    tkl_geo_places_free(found);
    tkl_geo_close(geo);
    free(names);
    free(hashes);
    free(texts);
}

static void distances_are_those_of_the_formula(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "points");
    static const double per_metre[] = {1, 1e-3, 1 / 1609.34, 1 / 0.3048};
    uint64_t seed = 7;
    for (int i = 0; i < 200; i++) {
        double p[4];
        for (int j = 0; j < 4; j++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            p[j] = ((double)(seed >> 11) / 9007199254740992.0 * 2 - 1) * (j % 2 ? 85 : 180);
        }
        add(geo, "a", p[0], p[1]);
        add(geo, "b", p[2], p[3]);
        double expected = haversine(p[0], p[1], p[2], p[3]), distance;
        for (int unit = TKL_GEO_M; unit <= TKL_GEO_FT; unit++) {
            assert_ok(
                tkl_geo_distance(geo, tkl_str("a"), tkl_str("b"), (tkl_geo_unit)unit, &distance));
            if (!is_near(distance / per_metre[unit], expected, 2.5))
                fail_msg("%g %g to %g %g: %f m, expected %f", p[0], p[1], p[2], p[3],
                         distance / per_metre[unit], expected);
        }
    }
    double distance;
    assert_code(tkl_geo_distance(geo, tkl_str("a"), tkl_str("none"), TKL_GEO_M, &distance),
                TKL_NOTFOUND);
    tkl_geo_close(geo);
}

/* ---- Near ---------------------------------------------------------------- */

static void nearest_comes_first(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "cities");
    add_cities(geo);
    tkl_geo_query query = {.longitude = 10, .latitude = 52, .radius = 1000, .unit = TKL_GEO_KM};
    assert_names(geo, query, "hamburg berlin munich paris ");
    query.max = 2;
    assert_names(geo, query, "hamburg berlin ");
    query.farthest = true;
    assert_names(geo, query, "paris munich ");
    query = (tkl_geo_query){.member = tkl_str("berlin"), .radius = 300, .unit = TKL_GEO_KM};
    assert_names(geo, query, "berlin hamburg ");
    query = (tkl_geo_query){
        .longitude = 11, .latitude = 51, .width = 500, .height = 600, .unit = TKL_GEO_KM};
    assert_names(geo, query, "berlin hamburg ");
    query = (tkl_geo_query){.longitude = 100, .latitude = 0, .radius = 1};
    assert_names(geo, query, "");
    tkl_geo_close(geo);
}

static void results_tell_all_about_a_place(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "cities");
    add_cities(geo);
    tkl_geo_places *places = near(
        geo,
        (tkl_geo_query){.member = tkl_str("berlin"), .radius = 300, .unit = TKL_GEO_MI, .max = 2});
    const tkl_geo_place *hamburg = &places->items[1];
    assert_true(is_near(hamburg->longitude, 9.993, 1e-5));
    assert_true(is_near(hamburg->latitude, 53.551, 1e-5));
    assert_true(is_near(hamburg->distance * 1609.34, haversine(13.405, 52.52, 9.993, 53.551), 3));
    assert_int_equal(hamburg->hash,
                     call_int(f->client, "ZSCORE", "tackle:geo:{cities}", "hamburg", NULL));
    tkl_geo_places_free(places);
    tkl_geo_places_free(NULL);
    tkl_geo_close(geo);
}

static void map_goes_round_the_date_line(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "islands");
    add(geo, "east", 179.9, -17);
    add(geo, "west", -179.9, -17);
    add(geo, "edge", 180, -17);
    add(geo, "other-edge", -180, -17);
    double distance;
    assert_ok(tkl_geo_distance(geo, tkl_str("east"), tkl_str("west"), TKL_GEO_KM, &distance));
    assert_true(distance < 22);
    tkl_geo_places *places =
        near(geo, (tkl_geo_query){.member = tkl_str("east"), .radius = 30, .unit = TKL_GEO_KM});
    assert_int_equal(places->count, 4);
    tkl_geo_places_free(places);
    tkl_geo_close(geo);
}

static void map_ends_before_the_poles(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "ice");
    static const double wrong[][2] = {{0, 90},     {0, -90}, {0, 85.0512}, {181, 0},
                                      {-180.1, 0}, {NAN, 0}, {0, NAN},     {INFINITY, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tkl_geo_place place = {
            .name = tkl_str("x"), .longitude = wrong[i][0], .latitude = wrong[i][1]};
        tkl_geo_query query = {.longitude = wrong[i][0], .latitude = wrong[i][1], .radius = 5};
        tkl_geo_places *places;
        assert_code(tkl_geo_add(geo, &place, 1, NULL), TKL_EINVAL);
        assert_code(tkl_geo_near(geo, &query, &places), TKL_EINVAL);
    }
    add(geo, "north", 0, 85.05112878);
    add(geo, "across", 180, 85.05);
    add(geo, "south", 0, -85.05);
    assert_names(
        geo, (tkl_geo_query){.longitude = 10, .latitude = 85, .radius = 200, .unit = TKL_GEO_KM},
        "north ");
    assert_names(
        geo, (tkl_geo_query){.longitude = 0, .latitude = -80, .radius = 600, .unit = TKL_GEO_KM},
        "south ");
    tkl_geo_close(geo);
}

static void wrong_queries_are_refused(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "cities");
    tkl_geo_places *places;
    int64_t count;
    add_cities(geo);
    static const tkl_geo_query wrong[] = {{.radius = 0},
                                          {.radius = 1, .width = 1},
                                          {.radius = -1},
                                          {.radius = NAN},
                                          {.radius = INFINITY},
                                          {.width = 5},
                                          {.radius = 5, .width = 5, .height = 5},
                                          {.radius = 5, .max = -1},
                                          {.radius = 5, .unit = (tkl_geo_unit)4},
                                          {.radius = 5, .unit = (tkl_geo_unit)-1},
                                          {.radius = 5, .reserved = {[7] = 1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_code(tkl_geo_near(geo, &wrong[i], &places), TKL_EINVAL);
        assert_null(places);
        assert_code(tkl_geo_count(geo, &wrong[i], &count), TKL_EINVAL);
    }
    tkl_geo_query query = {.member = tkl_str("atlantis"), .radius = 5};
    assert_code(tkl_geo_near(geo, &query, &places), TKL_NOTFOUND);
    assert_code(tkl_geo_count(geo, &query, &count), TKL_NOTFOUND);
    tkl_geo *nothing = open_geo(f->client, "nothing");
    assert_code(tkl_geo_near(nothing, &query, &places), TKL_NOTFOUND);
    assert_null(places);
    assert_code(tkl_geo_count(nothing, &query, &count), TKL_NOTFOUND);
    tkl_geo_close(nothing);
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:geo:{text}", "x", NULL));
    tkl_geo *text = open_geo(f->client, "text");
    query = (tkl_geo_query){.radius = 5};
    assert_code(tkl_geo_near(text, &query, &places), TKL_ETYPE);
    tkl_geo_close(text);
    tkl_geo_close(geo);
}

/* ---- Many ---------------------------------------------------------------- */

enum { MANY = 1000000, AT_ONCE = 1000, NEAREST = 10 };

typedef struct crowd {
    double longitude[MANY], latitude[MANY];
} crowd;

static void add_many(tkl_geo *geo, crowd *c)
{
    static tkl_geo_place places[AT_ONCE];
    static char names[AT_ONCE][16];
    uint64_t seed = 99;
    for (int i = 0; i < MANY; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        c->longitude[i] = (double)(seed >> 40) / 16777216.0 * 40 - 20;
        c->latitude[i] = (double)(seed >> 16 & 0xffffff) / 16777216.0 * 40 + 30;
        snprintf(names[i % AT_ONCE], sizeof names[0], "%d", i);
        places[i % AT_ONCE] = (tkl_geo_place){.name = tkl_str(names[i % AT_ONCE]),
                                              .longitude = c->longitude[i],
                                              .latitude = c->latitude[i]};
        if (i % AT_ONCE == AT_ONCE - 1)
            assert_ok(tkl_geo_add(geo, places, AT_ONCE, NULL));
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void nearest_ten_of_many_are_the_nearest(void **state)
{
    fixture *f = *state;
    tkl_geo *geo = open_geo(f->client, "crowd");
    crowd *c = malloc(sizeof *c);
    double *all = malloc(MANY * sizeof *all);
    add_many(geo, c);
    for (int round = 0; round < 3; round++) {
        double lon = -15 + 14 * round, lat = 65 - 14 * round;
        for (int i = 0; i < MANY; i++)
            all[i] = haversine(lon, lat, c->longitude[i], c->latitude[i]);
        qsort(all, MANY, sizeof *all, by_value);
        tkl_geo_places *places = near(
            geo,
            (tkl_geo_query){.longitude = lon, .latitude = lat, .radius = 100000, .max = NEAREST});
        assert_int_equal(places->count, NEAREST);
        for (int i = 0; i < NEAREST; i++)
            if (!is_near(places->items[i].distance, all[i], 2))
                fail_msg("number %d is %f m away, expected %f", i, places->items[i].distance,
                         all[i]);
        tkl_geo_places_free(places);
    }
    free(all);
    free(c);
    tkl_geo_close(geo);
}

static void places_live_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    char name[] = "a";
    for (; name[0] < 'h'; name[0]++) {
        tkl_geo *geo = open_geo(client, name);
        add_cities(geo);
        assert_names(geo,
                     (tkl_geo_query){.member = tkl_str("paris"), .radius = 700, .unit = TKL_GEO_KM},
                     "paris munich ");
        tkl_geo_close(geo);
    }
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(places_are_added_and_moved),
        TEST(geohashes_are_the_usual_ones),
        TEST(geohashes_are_cells),
        TEST(places_are_found_by_the_beginning_of_their_geohashes),
        TEST(places_with_a_ttl_expire_after_the_last_change),
        TEST(distances_are_those_of_the_formula),
        TEST(nearest_comes_first),
        TEST(results_tell_all_about_a_place),
        TEST(map_goes_round_the_date_line),
        TEST(map_ends_before_the_poles),
        TEST(wrong_queries_are_refused),
        TEST(nearest_ten_of_many_are_the_nearest),
        cmocka_unit_test(places_live_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
