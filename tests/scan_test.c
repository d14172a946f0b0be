/* SPDX-License-Identifier: MIT
 *
 * Scanning: an element that is there all the time comes once, whatever happens to others meanwhile.
 */
#include <tackle/scan.h>

#include "scan/memory.h"
#include "support/cluster.h"
#include "support/fixture.h"

enum { STAYING = 2000 };

static tkl_scan *open_scan(tkl_client *client, tkl_scan_options options)
{
    tkl_scan *scan;
    assert_ok(tkl_scan_open(client, &options, &scan));
    return scan;
}

/* How often each "stay:N" came; others are counted together. */
typedef struct tally {
    int stay[STAYING];
    int others;
} tally;

static void count_element(tally *t, tkl_scan_element element)
{
    char name[64];
    int number;
    assert_true(element.name.len < sizeof name);
    memcpy(name, element.name.data, element.name.len);
    name[element.name.len] = '\0';
    if (sscanf(name, "stay:%d", &number) == 1)
        t->stay[number]++;
    else
        t->others++;
}

/* Scans to the end; does `meanwhile` once, after `after` elements. */
static tally *scan_with(tkl_client *client, tkl_scan_options options, int after,
                        void (*meanwhile)(tkl_client *client))
{
    tally *t = calloc(1, sizeof *t);
    tkl_scan *scan = open_scan(client, options);
    tkl_scan_element element;
    int rc, seen = 0;
    while ((rc = tkl_scan_next(scan, &element)) == TKL_OK) {
        count_element(t, element);
        if (++seen == after && meanwhile)
            meanwhile(client);
    }
    assert_code(rc, TKL_EMPTY);
    assert_code(tkl_scan_next(scan, &element), TKL_EMPTY);
    tkl_scan_close(scan);
    return t;
}

static void each_came_once(tally *t)
{
    for (int i = 0; i < STAYING; i++)
        if (t->stay[i] != 1)
            fail_msg("stay:%d came %d times", i, t->stay[i]);
    free(t);
}

static void fill(tkl_client *client, const char *prefix, int count)
{
    tkl_pipeline *pipeline;
    tkl_reply *replies;
    char key[64];
    assert_ok(tkl_pipeline_open(client, NULL, &pipeline));
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "%s:%d", prefix, i);
        assert_ok(tkl_pipeline_addz(pipeline, "SET", key, "x", NULL));
    }
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

static void empty(tkl_client *client, const char *prefix, int count)
{
    tkl_pipeline *pipeline;
    tkl_reply *replies;
    char key[64];
    assert_ok(tkl_pipeline_open(client, NULL, &pipeline));
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "%s:%d", prefix, i);
        assert_ok(tkl_pipeline_addz(pipeline, "DEL", key, NULL));
    }
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

/* ---- Keys ---------------------------------------------------------------- */

static void keys_come_once(void **state)
{
    fixture *f = *state;
    fill(f->client, "stay", STAYING);
    each_came_once(scan_with(f->client, (tkl_scan_options){.count = 0}, 0, NULL));
    each_came_once(scan_with(f->client, (tkl_scan_options){.count = 7}, 0, NULL));
}

static void nothing_is_over_at_once(void **state)
{
    fixture *f = *state;
    tally *t = scan_with(f->client, (tkl_scan_options){.count = 0}, 0, NULL);
    assert_int_equal(t->others, 0);
    free(t);
}

static void pattern_and_type_choose(void **state)
{
    fixture *f = *state;
    fill(f->client, "stay", STAYING);
    fill(f->client, "other", 500);
    assert_ok(tkl_callz(f->client, NULL, "SADD", "stay-set", "a", NULL));
    tally *t = scan_with(f->client, (tkl_scan_options){.match = tkl_str("stay:*")}, 0, NULL);
    assert_int_equal(t->others, 0);
    each_came_once(t);
    t = scan_with(f->client, (tkl_scan_options){.type = "set"}, 0, NULL);
    assert_int_equal(t->others, 1);
    free(t);
}

static void grow_much(tkl_client *client)
{
    fill(client, "new", 50000);
}

static void keys_come_once_while_the_table_grows(void **state)
{
    fixture *f = *state;
    fill(f->client, "stay", STAYING);
    each_came_once(scan_with(f->client, (tkl_scan_options){.count = 20}, 700, grow_much));
}

/* The server shrinks the table in its own time, at once when we wait for its timer. */
static void shrink_much(tkl_client *client)
{
    empty(client, "go", 60000);
    test_sleep_ms(400);
    fill(client, "more", 10);
}

static void keys_come_once_while_the_table_shrinks(void **state)
{
    fixture *f = *state;
    for (int after = 100; after < 30000; after += 9000) {
        fill(f->client, "stay", STAYING);
        fill(f->client, "go", 60000);
        each_came_once(scan_with(f->client, (tkl_scan_options){.count = 50}, after, shrink_much));
    }
}

/* ---- Members ------------------------------------------------------------- */

static void fill_members(tkl_client *client, const char *command, const char *key, const char *form)
{
    char *script = test_format("for i = 0, %d do redis.call('%s', KEYS[1], %s) end", STAYING - 1,
                               command, form);
    assert_ok(tkl_callz(client, NULL, "EVAL", script, "1", key, NULL));
    free(script);
}

static void members_come_once(void **state)
{
    fixture *f = *state;
    fill_members(f->client, "SADD", "set", "'stay:' .. i");
    fill_members(f->client, "HSET", "hash", "'stay:' .. i, 'v' .. i");
    fill_members(f->client, "ZADD", "zset", "i, 'stay:' .. i");
    const char *keys[] = {"set", "hash", "zset"};
    for (int i = 0; i < 3; i++)
        each_came_once(
            scan_with(f->client, (tkl_scan_options){.key = tkl_str(keys[i]), .count = 9}, 0, NULL));
}

static void shrink_set(tkl_client *client)
{
    assert_ok(tkl_callz(client, NULL, "EVAL",
                        "for i = 1, 60000 do redis.call('SREM', KEYS[1], 'go:' .. i) end", "1",
                        "set", NULL));
}

static void members_come_once_while_the_table_shrinks(void **state)
{
    fixture *f = *state;
    for (int after = 100; after < 16000; after += 2000) {
        fill_members(f->client, "SADD", "set", "'stay:' .. i");
        assert_ok(tkl_callz(f->client, NULL, "EVAL",
                            "for i = 1, 60000 do redis.call('SADD', KEYS[1], 'go:' .. i) end", "1",
                            "set", NULL));
        tkl_scan_options options = {.key = tkl_str("set"), .count = 50};
        each_came_once(scan_with(f->client, options, after, shrink_set));
    }
}

static void values_come_along(void **state)
{
    fixture *f = *state;
    tkl_scan_element e;
    assert_ok(tkl_callz(f->client, NULL, "HSET", "hash", "field", "value", NULL));
    assert_ok(tkl_callz(f->client, NULL, "ZADD", "zset", "2.5", "member", NULL));
    assert_ok(tkl_callz(f->client, NULL, "SADD", "set", "member", NULL));
    static const struct {
        const char *key, *value;
    } all[] = {{"hash", "value"}, {"zset", "2.5"}, {"set", ""}};
    for (int i = 0; i < 3; i++) {
        tkl_scan *scan = open_scan(f->client, (tkl_scan_options){.key = tkl_str(all[i].key)});
        assert_ok(tkl_scan_next(scan, &e));
        assert_int_equal(e.value.len, strlen(all[i].value));
        assert_memory_equal(e.value.data ? e.value.data : "", all[i].value, e.value.len);
        assert_code(tkl_scan_next(scan, &e), TKL_EMPTY);
        tkl_scan_close(scan);
    }
}

static void what_has_no_members_is_told(void **state)
{
    fixture *f = *state;
    tkl_scan_element e;
    tkl_scan *scan;
    assert_ok(tkl_callz(f->client, NULL, "SET", "string", "x", NULL));
    scan = open_scan(f->client, (tkl_scan_options){.key = tkl_str("string")});
    assert_code(tkl_scan_next(scan, &e), TKL_ETYPE);
    assert_code(tkl_scan_next(scan, &e), TKL_ETYPE);
    tkl_scan_close(scan);
    scan = open_scan(f->client, (tkl_scan_options){.key = tkl_str("nothing")});
    assert_code(tkl_scan_next(scan, &e), TKL_EMPTY);
    assert_string_equal(tkl_errmsg(), tkl_strerror(TKL_EMPTY)); /* not what was wrong before */
    tkl_scan_close(scan);
}

static void wrong_options_are_refused(void **state)
{
    fixture *f = *state;
    const tkl_scan_options wrong[] = {
        {.count = -1}, {.count = 1000001}, {.remember = -1}, {.key = tkl_str("a"), .type = "set"}};
    tkl_scan *scan;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_code(tkl_scan_open(f->client, &wrong[i], &scan), TKL_EINVAL);
        assert_null(scan);
    }
    tkl_scan_close(NULL);
}

/* ---- Going on ------------------------------------------------------------ */

/* Scans a step each time, by a new scan that goes on where the one before stopped. */
static tally *scan_in_pieces(tkl_client *client, tkl_scan_options options)
{
    tally *t = calloc(1, sizeof *t);
    char cursor[TKL_SCAN_CURSOR_SIZE];
    int rc, scans = 0;
    do {
        tkl_scan *scan = open_scan(client, options);
        tkl_scan_element element;
        do {
            rc = tkl_scan_next(scan, &element);
            if (rc == TKL_OK)
                count_element(t, element);
        } while (rc == TKL_OK && tkl_scan_rest(scan) > 0);
        if (rc == TKL_OK)
            rc = tkl_scan_cursor(scan, cursor);
        tkl_scan_close(scan);
        options.cursor = cursor;
        scans++;
    } while (rc == TKL_OK);
    assert_code(rc, TKL_EMPTY);
    assert_true(scans > 3);
    return t;
}

static void another_scan_goes_on_with_a_cursor(void **state)
{
    fixture *f = *state;
    fill(f->client, "stay", STAYING);
    each_came_once(scan_in_pieces(f->client, (tkl_scan_options){.count = 100}));
    fill_members(f->client, "SADD", "set", "'stay:' .. i");
    each_came_once(
        scan_in_pieces(f->client, (tkl_scan_options){.key = tkl_str("set"), .count = 100}));
}

/* In the middle of a step, the step comes again. */
static void a_cursor_within_a_step_repeats_it(void **state)
{
    fixture *f = *state;
    char cursor[TKL_SCAN_CURSOR_SIZE];
    tkl_scan_element element;
    fill(f->client, "stay", STAYING);
    tkl_scan *scan = open_scan(f->client, (tkl_scan_options){.count = 100});
    for (int i = 0; i < 250 || tkl_scan_rest(scan) == 0; i++)
        assert_ok(tkl_scan_next(scan, &element));
    assert_ok(tkl_scan_cursor(scan, cursor));
    tkl_scan_close(scan);
    scan = open_scan(f->client, (tkl_scan_options){.count = 100, .cursor = cursor});
    bool again = false;
    char last[64];
    snprintf(last, sizeof last, TKL_FMT, TKL_ARG(element.name));
    while (tkl_scan_next(scan, &element) == TKL_OK)
        again |= element.name.len == strlen(last) &&
                 memcmp(element.name.data, last, element.name.len) == 0;
    assert_true(again);
    assert_code(tkl_scan_cursor(scan, cursor), TKL_EMPTY);
    tkl_scan_close(scan);
}

static void cursors_of_other_servers_are_refused(void **state)
{
    fixture *f = *state;
    static const char *const wrong[] = {"", "5", "x.1.-", "-1.1.zz", "-1.1.-x", "-1.1."};
    tkl_scan *scan;
    tkl_scan_element element;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_code(tkl_scan_open(f->client, &(tkl_scan_options){.cursor = wrong[i]}, &scan),
                    TKL_EINVAL);
    static const char *const elsewhere[] = {"-1.5.0123456789012345678901234567890123456789",
                                            "-1.5.-", "7.0.-"};
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        scan = open_scan(f->client, (tkl_scan_options){.cursor = elsewhere[i]});
        assert_code(tkl_scan_next(scan, &element), TKL_EINVAL);
        assert_non_null(strstr(tkl_errmsg(), "begin again"));
        tkl_scan_close(scan);
    }
}

/* ---- Memory -------------------------------------------------------------- */

static int remember(tkl__scan_memory *memory, int number)
{
    return tkl__scan_memory_add(memory, (tkl_bytes){(const char *)&number, sizeof number});
}

static void memory_forgets_the_oldest(void **state)
{
    (void)state;
    enum { MOST = 5000 };
    tkl__scan_memory memory = {.most = MOST};
    for (int i = 0; i < 10 * MOST; i++) {
        assert_ok(remember(&memory, i));
        assert_code(remember(&memory, i), TKL_EXISTS);
        if (i >= MOST)
            assert_code(remember(&memory, i - MOST), TKL_EXISTS);
    }
    assert_ok(remember(&memory, 0));
    assert_true((memory.young.size + memory.old.size) <= 8 * MOST);
    tkl__scan_memory_free(&memory);
}

/* ---- A cluster ----------------------------------------------------------- */

static void every_node_is_scanned(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    fill(client, "stay", STAYING);
    each_came_once(scan_with(client, (tkl_scan_options){.count = 100}, 0, NULL));
    each_came_once(scan_with(client, (tkl_scan_options){.count = 20}, 1000, grow_much));
    fill_members(client, "SADD", "set", "'stay:' .. i");
    each_came_once(scan_with(client, (tkl_scan_options){.key = tkl_str("set")}, 0, NULL));
    assert_int_equal(call_int(client, "DEL", "set", NULL), 1);
    each_came_once(scan_in_pieces(client, (tkl_scan_options){.count = 100}));
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_come_once),
        TEST(nothing_is_over_at_once),
        TEST(pattern_and_type_choose),
        TEST(keys_come_once_while_the_table_grows),
        TEST(keys_come_once_while_the_table_shrinks),
        TEST(members_come_once),
        TEST(members_come_once_while_the_table_shrinks),
        TEST(values_come_along),
        TEST(what_has_no_members_is_told),
        TEST(wrong_options_are_refused),
        TEST(another_scan_goes_on_with_a_cursor),
        TEST(a_cursor_within_a_step_repeats_it),
        TEST(cursors_of_other_servers_are_refused),
        cmocka_unit_test(memory_forgets_the_oldest),
        cmocka_unit_test(every_node_is_scanned),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
