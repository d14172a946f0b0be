/* SPDX-License-Identifier: MIT
 *
 * Bitmaps and packed numbers; the latter at every width against a simulation.
 */
#include <tackle/bits.h>

#include "bits/scripts.h"
#include "core/script.h"
#include "support/cluster.h"
#include "support/fixture.h"

static tkl_bits *open_bits(tkl_client *client, const char *name)
{
    tkl_bits *bits;
    assert_ok(tkl_bits_open(client, tkl_str(name), NULL, &bits));
    return bits;
}

static int64_t count_of(tkl_bits *bits, const tkl_bits_range *range)
{
    int64_t count;
    assert_ok(tkl_bits_count(bits, range, &count));
    return count;
}

/* ---- Bits ---------------------------------------------------------------- */

static void bits_are_set_and_read(void **state)
{
    fixture *f = *state;
    tkl_bits *bits = open_bits(f->client, "{days}\n");
    bool bit;
    static const int64_t places[] = {0, 7, 8, 319};
    for (size_t i = 0; i < 4; i++) {
        assert_ok(tkl_bits_get(bits, places[i], &bit));
        assert_false(bit);
        assert_ok(tkl_bits_set(bits, places[i], true, &bit));
        assert_false(bit);
        assert_ok(tkl_bits_set(bits, places[i], true, &bit));
        assert_true(bit);
        assert_ok(tkl_bits_get(bits, places[i], &bit));
        assert_true(bit);
    }
    assert_int_equal(count_of(bits, NULL), 4);
    assert_ok(tkl_bits_set(bits, 8, false, NULL));
    assert_int_equal(count_of(bits, NULL), 3);
    assert_ok(tkl_bits_drop(bits));
    assert_code(tkl_bits_drop(bits), TKL_NOTFOUND);
    tkl_bits_close(bits);
}

static void last_possible_bit_is_there(void **state)
{
    fixture *f = *state;
    tkl_bits *bits = open_bits(f->client, "large");
    bool bit;
    int64_t last = (INT64_C(1) << 32) - 1;
    assert_ok(tkl_bits_get(bits, last, &bit));
    assert_false(bit);
    assert_code(tkl_bits_get(bits, last + 1, &bit), TKL_EINVAL);
    assert_code(tkl_bits_set(bits, last + 1, true, NULL), TKL_EINVAL);
    assert_code(tkl_bits_set(bits, -1, true, NULL), TKL_EINVAL);
    assert_code(tkl_bits_get(bits, INT64_MAX, &bit), TKL_EINVAL);
    tkl_bits_close(bits);
}

static void ranges_are_of_bits(void **state)
{
    fixture *f = *state;
    tkl_bits *bits = open_bits(f->client, "days");
    int64_t at;
    for (int64_t i = 10; i < 20; i++)
        assert_ok(tkl_bits_set(bits, i, true, NULL));
    assert_int_equal(count_of(bits, &(tkl_bits_range){0, 9}), 0);
    assert_int_equal(count_of(bits, &(tkl_bits_range){9, 12}), 3);
    assert_int_equal(count_of(bits, &(tkl_bits_range){-5, -1}), 1);
    assert_int_equal(count_of(bits, &(tkl_bits_range){0, -1}), 10);
    assert_ok(tkl_bits_find(bits, true, NULL, &at));
    assert_int_equal(at, 10);
    assert_ok(tkl_bits_find(bits, false, &(tkl_bits_range){12, -1}, &at));
    assert_int_equal(at, 20);
    assert_ok(tkl_bits_find(bits, true, &(tkl_bits_range){15, 15}, &at));
    assert_int_equal(at, 15);
    assert_code(tkl_bits_find(bits, true, &(tkl_bits_range){20, -1}, &at), TKL_NOTFOUND);
    tkl_bits_close(bits);
}

/* Bits that were never set are 0, also in a bitmap that does not exist. */
static void zeros_are_found_within_the_range(void **state)
{
    fixture *f = *state;
    static const struct {
        bool exists, value;
        int64_t first, last, at; /* -1: not found */
    } cases[] = {
        {false, false, 5, 9, 5},    {false, false, 0, 0, 0},   {false, true, 5, 9, -1},
        {false, false, 9, 5, -1},   {false, false, 5, -1, -1}, {false, false, -5, -1, -1},
        {true, false, 0, 3, -1},    {true, false, 0, 15, 8},   {true, false, 100, 200, 100},
        {true, true, 100, 200, -1}, {true, false, 0, -1, 8},   {true, false, -16, -9, -1},
        {true, true, -16, -1, 0},   {true, false, 4, 20, 8},   {true, true, 12, 300, 15},
        {true, false, -100, 3, -1}, {true, true, -100, 3, 0},
    };
    tkl_bits *none = open_bits(f->client, "none"), *some = open_bits(f->client, "some");
    for (int64_t i = 0; i < 16; i++) /* 11111111 00000001 */
        assert_ok(tkl_bits_set(some, i, i < 8 || i == 15, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_bits_range range = {cases[i].first, cases[i].last};
        int64_t at;
        int rc = tkl_bits_find(cases[i].exists ? some : none, cases[i].value, &range, &at);
        if (rc != (cases[i].at < 0 ? TKL_NOTFOUND : TKL_OK) || (rc == TKL_OK && at != cases[i].at))
            fail_msg("%d in %d to %d: %s %d, expected %d", cases[i].value, (int)range.first,
                     (int)range.last, tkl_codename(rc), (int)at, (int)cases[i].at);
    }
    int64_t at;
    assert_ok(tkl_bits_find(none, false, NULL, &at));
    assert_int_equal(at, 0);
    assert_code(tkl_bits_find(none, false, &(tkl_bits_range){0, INT64_C(1) << 32}, &at),
                TKL_EINVAL);
    tkl_bits_close(none);
    tkl_bits_close(some);
}

static void bitmap_with_a_ttl_expires_after_the_last_write(void **state)
{
    fixture *f = *state;
    enum { TTL = 100000 };
    const char *key = "tackle:bits:{brief}";
    tkl_bits *brief, *other = open_bits(f->client, "other");
    tkl_bits_options options = {.ttl_ms = TTL};
    tkl_bits_value value;
    assert_ok(tkl_bits_open(f->client, tkl_str("brief"), &options, &brief));
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            assert_ok(tkl_bits_set(brief, 5, true, NULL));
        else if (i == 1)
            assert_ok(tkl_bits_fields(
                brief, &(tkl_bits_field){.verb = TKL_BITS_ADD, .width = 8, .value = 1}, 1, &value));
        else
            assert_ok(tkl_bits_combine(brief, TKL_BITS_OR, &brief, 1, NULL));
        assert_in_range(call_int(f->client, "PTTL", key, NULL), TTL - 50000, TTL);
        call_int(f->client, "PEXPIRE", key, "1000", NULL);
    }
    assert_ok(tkl_bits_set(other, 5, true, NULL));
    assert_int_equal(call_int(f->client, "PTTL", "tackle:bits:{other}", NULL), -1);
    static const tkl_bits_options wrong[] = {
        {.ttl_ms = -1}, {.timeout_ms = -1}, {.reserved = {[7] = 1}}};
    for (int i = 0; i < 3; i++) {
        tkl_bits *bits;
        assert_code(tkl_bits_open(f->client, tkl_str("x"), &wrong[i], &bits), TKL_EINVAL);
        assert_null(bits);
    }
    tkl_names *names;
    assert_ok(tkl_bits_names(f->client, &names));
    assert_int_equal(names->count, 2);
    assert_memory_equal(names->items[0].data, "brief", 5);
    tkl_names_free(names);
    tkl_bits_close(brief);
    tkl_bits_close(other);
}

static void check_combinations(tkl_client *client)
{
    tkl_bits *a = open_bits(client, "a"), *b = open_bits(client, "b");
    tkl_bits *result = open_bits(client, "result"), *none = open_bits(client, "none");
    tkl_bits *both[] = {a, b}, *more[] = {none, a, b};
    int64_t bytes;
    for (int64_t i = 0; i < 16; i++) {
        assert_ok(tkl_bits_set(a, i, i < 10, NULL));
        assert_ok(tkl_bits_set(b, i, i >= 6 && i < 12, NULL));
    }
    assert_ok(tkl_bits_set(b, 23, false, NULL)); /* it is longer */
    static const int64_t expected[] = {4, 12, 8};
    for (int op = TKL_BITS_AND; op <= TKL_BITS_XOR; op++) {
        assert_ok(tkl_bits_combine(result, (tkl_bits_op)op, both, 2, &bytes));
        assert_int_equal(bytes, 3);
        assert_int_equal(count_of(result, NULL), expected[op]);
        assert_ok(tkl_bits_combine(result, (tkl_bits_op)op, more, 3, &bytes));
        assert_int_equal(bytes, 3);
        assert_int_equal(count_of(result, NULL), op == TKL_BITS_AND ? 0 : expected[op]);
    }
    assert_ok(tkl_bits_combine(result, TKL_BITS_NOT, both, 1, NULL));
    assert_int_equal(count_of(result, NULL), 6);
    assert_ok(tkl_bits_combine(a, TKL_BITS_OR, both, 2, NULL)); /* is one of them itself */
    assert_int_equal(count_of(a, NULL), 12);
    assert_int_equal(call_int(client, "TTL", "tackle:bits:{a}", NULL), -1);
    assert_code(tkl_bits_combine(result, TKL_BITS_NOT, both, 2, NULL), TKL_EINVAL);
    assert_code(tkl_bits_combine(result, TKL_BITS_OR, both, 0, NULL), TKL_EINVAL);
    assert_ok(tkl_bits_combine(result, TKL_BITS_OR, &none, 1, &bytes));
    assert_int_equal(bytes, 0);
    assert_code(tkl_bits_drop(result), TKL_NOTFOUND); /* as of BITOP */
    assert_ok(tkl_bits_combine(result, TKL_BITS_OR, &none, 1, NULL));
    assert_int_equal(call_int(client, "DBSIZE", NULL), 2); /* nothing else is left */
    tkl_bits_close(a);
    tkl_bits_close(b);
    tkl_bits_close(none);
    tkl_bits_close(result);
}

static void bitmaps_are_combined(void **state)
{
    fixture *f = *state;
    check_combinations(f->client);
}

static int64_t build(fixture *f, const char *at, const char *piece, const char *last,
                     const char *ttl)
{
    tkl_bytes keys[] = {tkl_str("own"), tkl_str("draft")};
    tkl_bytes args[] = {tkl_str(at), tkl_str(piece), tkl_str(last), tkl_str(ttl)};
    tkl__invocation call = {
        .script = &tkl__lua_bits_build, .keys = keys, .nkeys = 2, .args = args, .nargs = 4};
    tkl_reply *reply;
    assert_ok(tkl__run(f->client, &call, tkl__call_deadline(f->client, NULL), &reply));
    int64_t size = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return size;
}

static void draft_ends_unless_it_becomes_the_bitmap(void **state)
{
    fixture *f = *state;
    assert_ok(tkl_callz(f->client, NULL, "SET", "own", "old", NULL));
    assert_int_equal(build(f, "0", "ab", "0", "0"), 2);
    assert_int_equal(build(f, "0", "ab", "0", "0"), 2); /* a repeated request */
    assert_in_range(call_int(f->client, "PTTL", "draft", NULL), 1, 60000);
    assert_int_equal(build(f, "3", "d", "1", "0"), -1); /* something is missing */
    assert_int_equal(call_int(f->client, "STRLEN", "own", NULL), 3);
    assert_int_equal(build(f, "2", "cdef", "1", "0"), 6);
    assert_int_equal(call_int(f->client, "STRLEN", "own", NULL), 6);
    assert_int_equal(call_int(f->client, "PTTL", "own", NULL), -1);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    assert_int_equal(build(f, "0", "xyz", "1", "90000"), 3);
    assert_in_range(call_int(f->client, "PTTL", "own", NULL), 1, 90000);
}

/* ---- Packed numbers, against a simulation -------------------------------- */

static __int128 least(const tkl_bits_field *field)
{
    return field->is_signed ? -((__int128)1 << (field->width - 1)) : 0;
}

static __int128 most(const tkl_bits_field *field)
{
    return ((__int128)1 << (field->is_signed ? field->width - 1 : field->width)) - 1;
}

/* Writes `wanted` as the overflow mode says; false: not written. */
static bool simulate(const tkl_bits_field *field, __int128 wanted, int64_t *number)
{
    if (wanted < least(field) || wanted > most(field)) {
        if (field->overflow == TKL_BITS_FAIL)
            return false;
        if (field->overflow == TKL_BITS_SATURATE)
            wanted = wanted < least(field) ? least(field) : most(field);
        __int128 size = (__int128)1 << field->width;
        while (wanted < least(field))
            wanted += size * ((least(field) - wanted + size - 1) / size);
        while (wanted > most(field))
            wanted -= size * ((wanted - most(field) + size - 1) / size);
    }
    *number = (int64_t)wanted;
    return true;
}

static int64_t random_value(uint64_t *seed, int width)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t bits = *seed ^ (*seed >> 29);
    bits = (bits * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - width);
    return (*seed >> 60) % 2 ? (int64_t)bits : -(int64_t)bits;
}

/* One number, changed a few times; its neighbours, both sides, must stay as they are. */
static void check_width(tkl_bits *bits, int width, bool is_signed, tkl_bits_overflow overflow,
                        uint64_t *seed)
{
    enum { STEPS = 12, FIELDS = STEPS + 2 };
    tkl_bits_field fields[FIELDS] = {{.verb = TKL_BITS_GET}};
    tkl_bits_value values[FIELDS], expected[FIELDS];
    int64_t number = 0;
    for (int i = 0; i < STEPS; i++) {
        fields[i] = (tkl_bits_field){.verb = i % 3 == 0   ? TKL_BITS_SET
                                             : i % 3 == 1 ? TKL_BITS_ADD
                                                          : TKL_BITS_GET,
                                     .overflow = overflow,
                                     .width = width,
                                     .is_signed = is_signed,
                                     .at = 13};
        fields[i].value = random_value(seed, width < 62 ? width + 1 : 63);
        int64_t before = number;
        expected[i] = (tkl_bits_value){.value = number, .done = true};
        if (fields[i].verb == TKL_BITS_SET)
            expected[i].done = simulate(&fields[i], fields[i].value, &number);
        else if (fields[i].verb == TKL_BITS_ADD) {
            expected[i].done = simulate(&fields[i], (__int128)number + fields[i].value, &number);
            expected[i].value = number;
        }
        expected[i].value = expected[i].done ? expected[i].value : 0;
        number = expected[i].done ? number : before;
    }
    fields[STEPS] = (tkl_bits_field){.width = 13};
    fields[STEPS + 1] = (tkl_bits_field){.width = 13, .at = 13 + width};
    expected[STEPS] = expected[STEPS + 1] = (tkl_bits_value){.value = 8191, .done = true};
    assert_ok(tkl_bits_fields(bits, fields, FIELDS, values));
    for (int i = 0; i < FIELDS; i++)
        if (values[i].done != expected[i].done || values[i].value != expected[i].value)
            fail_msg("%c%d, mode %d, step %d (%d %lld): %lld %d, expected %lld %d",
                     is_signed ? 'i' : 'u', width, overflow, i, fields[i].verb,
                     (long long)fields[i].value, (long long)values[i].value, values[i].done,
                     (long long)expected[i].value, expected[i].done);
}

static void numbers_of_every_width_behave(void **state)
{
    fixture *f = *state;
    tkl_bits *bits = open_bits(f->client, "packed");
    uint64_t seed = 42;
    for (int width = 1; width <= 64; width++)
        for (int is_signed = width == 64; is_signed <= 1; is_signed++)
            for (int mode = TKL_BITS_WRAP; mode <= TKL_BITS_FAIL; mode++)
                for (int round = 0; round < 4; round++) {
                    tkl_bits_field ones[] = {
                        {.verb = TKL_BITS_SET, .width = 13, .value = 8191},
                        {.verb = TKL_BITS_SET, .width = 13, .at = 13 + width, .value = 8191}};
                    tkl_bits_value values[2];
                    assert_ok(tkl_bits_fields(bits, ones, 2, values));
                    check_width(bits, width, is_signed, (tkl_bits_overflow)mode, &seed);
                    assert_ok(tkl_bits_drop(bits));
                }
    tkl_bits_close(bits);
}

static void numbers_are_found_by_index(void **state)
{
    fixture *f = *state;
    tkl_bits *bits = open_bits(f->client, "packed");
    tkl_bits_field fields[] = {
        {.verb = TKL_BITS_SET, .width = 12, .by_index = true, .at = 5, .value = 4000},
        {.verb = TKL_BITS_GET, .width = 12, .at = 60},
        {.verb = TKL_BITS_ADD,
         .width = 12,
         .by_index = true,
         .at = 5,
         .value = 100,
         .overflow = TKL_BITS_FAIL},
        {.verb = TKL_BITS_ADD,
         .width = 12,
         .by_index = true,
         .at = 5,
         .value = 100,
         .overflow = TKL_BITS_SATURATE}};
    tkl_bits_value values[4];
    assert_ok(tkl_bits_fields(bits, fields, 4, values));
    assert_int_equal(values[1].value, 4000);
    assert_false(values[2].done);
    assert_int_equal(values[3].value, 4095);
    assert_ok(tkl_bits_fields(bits, fields, 0, values));
    tkl_bits_close(bits);
}

static void wrong_fields_are_refused(void **state)
{
    fixture *f = *state;
    tkl_bits *bits = open_bits(f->client, "packed");
    static const tkl_bits_field wrong[] = {{.width = 0},
                                           {.width = 64},
                                           {.width = 65, .is_signed = true},
                                           {.width = -3},
                                           {.width = 8, .at = -1},
                                           {.width = 8, .at = (INT64_C(1) << 32) - 7},
                                           {.width = 8, .by_index = true, .at = INT64_C(1) << 29},
                                           {.width = 8, .by_index = true, .at = INT64_MAX / 4},
                                           {.width = 8, .verb = (tkl_bits_verb)3},
                                           {.width = 8, .overflow = (tkl_bits_overflow)3},
                                           {.width = 8, .reserved = {1}}};
    tkl_bits_value value;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_code(tkl_bits_fields(bits, &wrong[i], 1, &value), TKL_EINVAL);
    assert_code(tkl_bits_combine(bits, (tkl_bits_op)4, &bits, 1, NULL), TKL_EINVAL);
    assert_code(tkl_bits_combine(bits, (tkl_bits_op)-1, &bits, 1, NULL), TKL_EINVAL);
    assert_ok(tkl_callz(f->client, NULL, "SADD", "tackle:bits:{packed}", "x", NULL));
    assert_code(tkl_bits_fields(bits, &(tkl_bits_field){.width = 8}, 1, &value), TKL_ETYPE);
    tkl_bits_close(bits);
    tkl_bits_close(NULL);
}

/* ---- A cluster ----------------------------------------------------------- */

static void bitmaps_live_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    char name[] = "a";
    for (; name[0] < 'k'; name[0]++) {
        tkl_bits *bits = open_bits(client, name);
        assert_ok(tkl_bits_set(bits, 5, true, NULL));
        assert_int_equal(count_of(bits, NULL), 1);
        assert_ok(tkl_bits_combine(bits, TKL_BITS_NOT, &bits, 1, NULL));
        assert_int_equal(count_of(bits, NULL), 7);
        tkl_bits_close(bits);
    }
    tkl_close(client);
    cluster_end(c);
}

/* DBSIZE is of all masters. */
static void bitmaps_of_different_slots_are_combined(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    check_combinations(client);
    assert_ok(tkl_callz(client, NULL, "SADD", "tackle:bits:{set}", "x", NULL));
    tkl_bits *a = open_bits(client, "a"), *set = open_bits(client, "set");
    tkl_bits *many[1001];
    for (int i = 0; i < 1001; i++)
        many[i] = set;
    assert_code(tkl_bits_combine(a, TKL_BITS_OR, many, 2, NULL), TKL_ETYPE);
    assert_code(tkl_bits_combine(a, TKL_BITS_OR, many, 1001, NULL), TKL_EINVAL);
    assert_int_equal(count_of(a, NULL), 12);
    assert_int_equal(call_int(client, "DBSIZE", NULL), 3);
    tkl_bits_close(a);
    tkl_bits_close(set);
    tkl_close(client);
    cluster_end(c);
}

/* Five megabytes and a bit: several pieces. */
static void large_bitmaps_of_different_slots_are_combined(void **state)
{
    (void)state;
    enum { STEP = 99991, BITS = 420 * STEP };
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_bits *a = open_bits(client, "a"), *b = open_bits(client, "b");
    tkl_bits *both[] = {a, b}, *result = open_bits(client, "result");
    int64_t bytes, at;
    for (int64_t i = 0; i < BITS; i += STEP) {
        assert_ok(tkl_bits_set(a, i, true, NULL));
        assert_ok(tkl_bits_set(b, i / STEP % 2 ? i : i + 1, true, NULL));
    }
    assert_ok(tkl_bits_combine(result, TKL_BITS_AND, both, 2, &bytes));
    assert_int_equal(bytes, (BITS - STEP) / 8 + 1);
    assert_int_equal(count_of(result, NULL), 210);
    for (int64_t i = STEP, from = 0; i < BITS; i += 2 * STEP, from = at + 1) {
        assert_ok(tkl_bits_find(result, true, &(tkl_bits_range){from, -1}, &at));
        assert_int_equal(at, i);
    }
    assert_ok(tkl_bits_combine(result, TKL_BITS_OR, both, 2, NULL));
    assert_int_equal(count_of(result, NULL), 630);
    assert_ok(tkl_bits_combine(result, TKL_BITS_NOT, &a, 1, &bytes));
    assert_int_equal(count_of(result, NULL), 8 * bytes - 420);
    assert_int_equal(call_int(client, "DBSIZE", NULL), 3);
    tkl_bits_close(a);
    tkl_bits_close(b);
    tkl_bits_close(result);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bits_are_set_and_read),
        TEST(last_possible_bit_is_there),
        TEST(ranges_are_of_bits),
        TEST(zeros_are_found_within_the_range),
        TEST(bitmap_with_a_ttl_expires_after_the_last_write),
        TEST(bitmaps_are_combined),
        TEST(draft_ends_unless_it_becomes_the_bitmap),
        TEST(numbers_of_every_width_behave),
        TEST(numbers_are_found_by_index),
        TEST(wrong_fields_are_refused),
        cmocka_unit_test(bitmaps_live_in_a_cluster),
        cmocka_unit_test(bitmaps_of_different_slots_are_combined),
        cmocka_unit_test(large_bitmaps_of_different_slots_are_combined),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
