/* SPDX-License-Identifier: MIT
 *
 * Counters over time: every precision, series without gaps, a clock that the test sets.
 *
 * ctest: label threads
 */
#include <unistd.h>

#include <tackle/counter.h>

#include "support/cluster.h"
#include "support/fake.h"
#include "support/fixture.h"
#include "support/permissions.h"
#include "support/process.h"
#include "support/timed.h"

static const int64_t usual[] = {1000, 5000, 60000, 300000, 3600000, 18000000, 86400000};

static tkl_counter *open_counter(tkl_client *client, const char *name)
{
    tkl_counter *counter;
    assert_ok(tkl_counter_open(client, tkl_str(name), NULL, &counter));
    return counter;
}

static tkl_counter_series *read_all(tkl_counter *counter, int64_t every_ms)
{
    tkl_counter_series *series;
    assert_ok(tkl_counter_read(counter, every_ms, 0, 0, &series));
    return series;
}

static int64_t sum_of(tkl_counter *counter, int64_t every_ms)
{
    int64_t sum = 0;
    tkl_counter_series *series = read_all(counter, every_ms);
    for (size_t i = 0; i < series->count; i++)
        sum += series->items[i].count;
    tkl_counter_series_free(series);
    return sum;
}

static int64_t last_of(tkl_counter *counter, int64_t every_ms)
{
    tkl_counter_series *series = read_all(counter, every_ms);
    assert_true(series->count > 0);
    int64_t count = series->items[series->count - 1].count;
    tkl_counter_series_free(series);
    return count;
}

/* ---- One server ---------------------------------------------------------- */

static void one_add_is_counted_in_every_precision(void **state)
{
    fixture *f = *state;
    tkl_counter *c = open_counter(f->client, "hits");
    int64_t before = server_functions(f->server);
    assert_ok(tkl_counter_add(c, 2));
    assert_ok(tkl_counter_add(c, 40));
    assert_int_equal(server_functions(f->server) - before, 3); /* once without the library */
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        assert_int_equal(sum_of(c, usual[i]), 42);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_counter_close(c);
}

static void a_series_is_in_order_and_has_no_gaps(void **state)
{
    fixture *f = *state;
    tkl_counter *c = open_counter(f->client, "hits");
    assert_ok(tkl_counter_add(c, -3));
    tkl_counter_series *s = read_all(c, 60000);
    assert_int_equal(s->count, 120);
    assert_int_equal(s->samples, 120);
    assert_int_equal(s->every_ms, 60000);
    for (size_t i = 0; i < s->count; i++) {
        assert_int_equal(s->items[i].start_ms % 60000, 0);
        if (i > 0)
            assert_int_equal(s->items[i].start_ms, s->items[i - 1].start_ms + 60000);
        if (i + 2 < s->count)
            assert_int_equal(s->items[i].count, 0);
    }
    assert_int_equal(s->items[119].count + s->items[118].count, -3);
    tkl_counter_series_free(s);
    tkl_counter_close(c);
}

static void names_are_any_bytes_and_are_listed(void **state)
{
    fixture *f = *state;
    const tkl_bytes names[] = {TKL_LIT("a:b c"), TKL_LIT("nul\0nul"), TKL_LIT("{x}%\xff"),
                               TKL_LIT("a")};
    for (size_t i = 0; i < 4; i++) {
        tkl_counter *c;
        assert_ok(tkl_counter_open(f->client, names[i], NULL, &c));
        assert_ok(tkl_counter_add(c, (int64_t)i));
        assert_int_equal(sum_of(c, 1000), i);
        tkl_counter_close(c);
    }
    assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:counter:{x", "a", "b", NULL));
    tkl_names *found;
    assert_ok(tkl_counter_names(f->client, &found));
    assert_int_equal(found->count, 4);
    assert_memory_equal(found->items[2].data, "nul\0nul", 7);
    tkl_names_free(found);
}

static void many_counters_are_added_to_in_one_trip(void **state)
{
    fixture *f = *state;
    enum { COUNT = 300 };
    tkl_counter *c[COUNT];
    tkl_counter_item items[COUNT] = {{0}};
    int codes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        c[i] = open_counter(f->client, name);
        items[i] = (tkl_counter_item){.counter = c[i], .amount = i};
    }
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:counter:{c7}", "x", NULL));
    assert_code(tkl_counter_add_each(items, COUNT, codes), TKL_ETYPE);
    for (int i = 0; i < COUNT; i++)
        assert_code(codes[i], i == 7 ? TKL_ETYPE : TKL_OK);
    assert_int_equal(sum_of(c[299], 60000), 299);
    items[298].amount = items[299].amount = TKL_COUNTER_MAX;
    assert_code(tkl_counter_add_each(items + 298, 2, codes), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "2^53");
    assert_code(codes[1], TKL_EREFUSED);
    items[3].amount = INT64_MAX; /* one that is wrong does not keep the others from counting */
    items[4].counter = NULL;
    assert_code(tkl_counter_add_each(items, 6, codes), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "amount");
    for (int i = 0; i < 6; i++)
        assert_code(codes[i], i == 3 || i == 4 ? TKL_EINVAL : TKL_OK);
    assert_int_equal(sum_of(c[5], 60000), 10);
    assert_int_equal(sum_of(c[3], 60000), 3);
    assert_code(tkl_counter_add_each(items + 4, 1, codes), TKL_EINVAL);
    assert_ok(tkl_counter_add_each(NULL, 0, NULL));
    for (int i = 0; i < COUNT; i++)
        tkl_counter_close(c[i]);
}

static void many_counters_are_read_in_one_trip(void **state)
{
    fixture *f = *state;
    tkl_counter *hits, *none;
    tkl_counter_series *series[3];
    tkl_result results[3];
    tkl_pipeline *trip;
    assert_ok(tkl_counter_open(f->client, tkl_str("hits"), NULL, &hits));
    assert_ok(tkl_counter_open(f->client, tkl_str("none"), NULL, &none));
    assert_ok(tkl_counter_add(hits, 7));
    assert_ok(tkl_pipeline_open(f->client, NULL, &trip));
    assert_ok(tkl_counter_read_in(trip, hits, 3600000, 0, 0, &series[0], &results[0]));
    assert_ok(tkl_counter_read_in(trip, none, 3600000, 0, 0, &series[1], &results[1]));
    assert_code(tkl_counter_read_in(trip, hits, 0, 0, 0, &series[2], &results[2]), TKL_EINVAL);
    assert_code(results[2].code, TKL_EINVAL);
    assert_ok(tkl_pipeline_run(trip, NULL, NULL));
    assert_ok(results[0].code);
    assert_int_equal(series[0]->items[series[0]->count - 1].count, 7);
    assert_code(results[1].code, TKL_NOTFOUND);
    assert_null(series[1]);
    assert_null(series[2]);
    tkl_counter_series_free(series[0]);
    tkl_pipeline_close(trip);
    tkl_counter_close(hits);
    tkl_counter_close(none);
}

static void precisions_and_samples_are_settable_and_then_fixed(void **state)
{
    fixture *f = *state;
    static const int64_t own[] = {250, 10000};
    tkl_counter *c, *other, *any = open_counter(f->client, "own");
    tkl_counter_series *s;
    tkl_counter_options options = {.every_ms = own, .every_count = 2, .samples = 10};
    assert_ok(tkl_counter_open(f->client, tkl_str("own"), &options, &c));
    options.samples = 11;
    assert_ok(tkl_counter_open(f->client, tkl_str("own"), &options, &other));
    assert_code(tkl_counter_read(c, 250, 0, 0, &s), TKL_NOTFOUND);
    assert_ok(tkl_counter_add(c, 1));
    assert_code(tkl_counter_add(other, 1), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "precisions");
    assert_code(tkl_counter_read(other, 250, 0, 0, &s), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "10 250 10000, not 11 250 10000");
    assert_ok(tkl_counter_add(any, 1));
    assert_int_equal(sum_of(any, 10000), 2);
    s = read_all(any, 250);
    assert_int_equal(s->count, 10);
    tkl_counter_series_free(s);
    assert_code(tkl_counter_read(any, 1000, 0, 0, &s), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "10 250 10000");
    assert_null(s);
    tkl_counter_close(c);
    tkl_counter_close(other);
    tkl_counter_close(any);
}

static void what_makes_no_sense_is_refused(void **state)
{
    fixture *f = *state;
    tkl_counter *c;
    tkl_counter_series *s;
    static const int64_t zero[] = {0}, negative[] = {-5}, twice[] = {5, 5}, good[17] = {1};
    const tkl_counter_options bad[] = {
        {.every_ms = zero, .every_count = 1},
        {.every_ms = negative, .every_count = 1},
        {.every_ms = twice, .every_count = 2},
        {.every_ms = good, .every_count = 17},
        {.every_ms = good, .every_count = 0},
        {.every_count = 3},
        {.samples = -1},
        {.samples = 2001},
        {.timeout_ms = -1},
        {.reserved = {0, 1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_counter_open(f->client, tkl_str("x"), &bad[i], &c), TKL_EINVAL);
        assert_null(c);
    }
    assert_code(tkl_counter_open(f->client, tkl_str(""), NULL, &c), TKL_EINVAL);
    c = open_counter(f->client, "x");
    assert_code(tkl_counter_add(c, TKL_COUNTER_MAX + 1), TKL_EINVAL);
    assert_ok(tkl_counter_add(c, TKL_COUNTER_MAX));
    assert_code(tkl_counter_add(c, 1), TKL_EREFUSED);
    assert_int_equal(sum_of(c, 1000), TKL_COUNTER_MAX);
    assert_code(tkl_counter_read(c, 0, 0, 0, &s), TKL_EINVAL);
    assert_code(tkl_counter_read(c, -60000, 0, 0, &s), TKL_EINVAL);
    assert_code(tkl_counter_read(c, 1000, -1, 0, &s), TKL_EINVAL);
    assert_code(tkl_counter_read(c, 1000, 2000, 1000, &s), TKL_EINVAL);
    tkl_counter_close(c);
    tkl_counter_close(NULL);
    tkl_counter_series_free(NULL);
}

static void what_is_not_a_counter_is_left_alone(void **state)
{
    fixture *f = *state;
    tkl_counter *c = open_counter(f->client, "x");
    tkl_counter_series *s;
    static const char *const foreign[][2] = {{"shape", "nonsense"},
                                             {"shape", "120"},
                                             {"shape", "99999 1000"},
                                             {"shape", "0 1000"},
                                             {"shape", "9 0"}};
    for (size_t i = 0; i < 5; i++) {
        assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:counter:{x}", NULL));
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:counter:{x}", foreign[i][0],
                            foreign[i][1], NULL));
        assert_code(tkl_counter_add(c, 1), TKL_EDAMAGED);
        assert_code(tkl_counter_read(c, 1000, 0, 0, &s), TKL_EDAMAGED);
        assert_ok(tkl_counter_clean(f->client, NULL));
        assert_int_equal(call_int(f->client, "HLEN", "tackle:counter:{x}", NULL), 1);
    }
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:counter:{x}", NULL));
    assert_ok(tkl_counter_add(c, 1));
    tkl_reply *keys;
    assert_ok(tkl_callz(f->client, &keys, "HKEYS", "tackle:counter:{x}", NULL));
    for (size_t i = 0; i < tkl_reply_count(keys); i++)
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:counter:{x}",
                            tkl_reply_str(tkl_reply_at(keys, i)), "rubbish", NULL));
    tkl_reply_free(keys);
    assert_code(tkl_counter_add(c, 1), TKL_EDAMAGED);

    /* Found half way: nothing was added. */
    assert_ok(tkl_counter_drop(c));
    assert_ok(tkl_counter_add(c, 1));
    assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:counter:{x}", "until", "9007199254740991",
                        "86400000", "rubbish", NULL));
    assert_code(tkl_counter_add(c, 1), TKL_EDAMAGED);
    assert_int_equal(sum_of(c, 3600000), 1);
    tkl_counter_close(c);
}

static void a_dropped_counter_begins_anew(void **state)
{
    fixture *f = *state;
    tkl_counter *c = open_counter(f->client, "x");
    assert_code(tkl_counter_drop(c), TKL_NOTFOUND);
    assert_ok(tkl_counter_add(c, 1));
    assert_ok(tkl_counter_drop(c));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_ok(tkl_counter_add(c, 5));
    assert_int_equal(sum_of(c, 1000), 5);
    tkl_counter_close(c);
}

static void a_full_server_counts_nothing(void **state)
{
    fixture *f = *state;
    tkl_counter *c = open_counter(f->client, "x");
    assert_ok(tkl_counter_add(c, 1));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_counter_add(c, 1), TKL_EOOM);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(sum_of(c, 86400000), 1);
    tkl_counter_close(c);
}

static void the_permissions_of_the_page_suffice(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "counter.md");
    tkl_counter *c = open_counter(client, "x");
    tkl_names *names;
    assert_ok(tkl_counter_add(c, 1));
    assert_int_equal(sum_of(c, 1000), 1);
    assert_ok(tkl_counter_names(client, &names));
    tkl_names_free(names);
    assert_ok(tkl_counter_clean(client, NULL));
    assert_ok(tkl_counter_drop(c));
    tkl_counter_close(c);
    tkl_close(client);
}

/* ---- Buffers ------------------------------------------------------------- */

static tkl_counter_buffer *open_buffer(tkl_counter *c, int64_t interval_ms)
{
    tkl_counter_buffer *b;
    assert_ok(
        tkl_counter_buffer_open(c, &(tkl_counter_buffer_options){.interval_ms = interval_ms}, &b));
    return b;
}

static void add_often(void *buffer, int index)
{
    (void)index;
    for (int i = 0; i < 20000; i++)
        assert_ok(tkl_counter_buffer_add(buffer, 1));
}

static void a_buffer_sums_up_and_loses_nothing(void **state)
{
    fixture *f = *state;
    tkl_counter *c = open_counter(f->client, "hot");
    tkl_counter_buffer *b = open_buffer(c, 5);
    tkl_counter_buffer_stats stats;
    crew_run(4, add_often, b);
    assert_ok(tkl_counter_buffer_flush(b));
    eventually((tkl_counter_buffer_stats_get(b, &stats), stats.counted == 80000), 20000);
    assert_int_equal(sum_of(c, 86400000), 80000);
    assert_ok(tkl_counter_buffer_add(b, 7)); /* by the keeper alone */
    eventually(sum_of(c, 86400000) == 80007, 20000);
    int64_t commands = server_commands(f->server);
    test_sleep_ms(50);
    assert_int_equal(server_commands(f->server), commands); /* nothing pending, nothing sent */
    assert_ok(tkl_counter_buffer_add(b, 3));
    assert_ok(tkl_counter_buffer_close(b, &stats));
    assert_int_equal(stats.counted, 80010);
    assert_int_equal(stats.pending + stats.unsure + stats.lost, 0);
    assert_int_equal(sum_of(c, 86400000), 80010);
    assert_ok(tkl_counter_buffer_close(NULL, NULL));
    tkl_counter_close(c);
}

static void a_buffer_reports_what_a_server_that_is_away_did_not_get(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 300});
    tkl_counter *c = open_counter(client, "hot");
    tkl_counter_buffer *b = open_buffer(c, 10);
    tkl_counter_buffer_stats stats;
    assert_ok(tkl_counter_add(c, 1));
    server_kill(s);
    assert_ok(tkl_counter_buffer_add(b, 5));
    eventually((tkl_counter_buffer_stats_get(b, &stats), stats.code != TKL_OK), 20000);
    server_restart(s);
    eventually((tkl_counter_buffer_stats_get(b, &stats), stats.pending == 0), 20000);
    assert_int_equal(stats.counted + stats.unsure, 5);
    int64_t unsure = stats.unsure;
    server_kill(s);
    assert_ok(tkl_counter_buffer_add(b, 6));
    assert_int_not_equal(tkl_counter_buffer_close(b, &stats), TKL_OK);
    assert_int_equal(stats.pending + stats.unsure - unsure, 6);
    tkl_counter_close(c);
    tkl_close(client);
    server_end(s);
}

static int use_parents(void *buffer)
{
    if (tkl_counter_buffer_add(buffer, 1) != TKL_EINVAL ||
        tkl_counter_buffer_flush(buffer) != TKL_EINVAL)
        return 1;
    return tkl_counter_buffer_close(buffer, NULL) == TKL_OK ? 0 : 2;
}

static void a_child_sends_nothing_of_its_parents_buffer(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_counter *c = open_counter(f->client, "hot");
    tkl_counter_buffer *b = open_buffer(c, 60000);
    assert_ok(tkl_counter_buffer_add(b, 5));
    assert_int_equal(process_wait(process_fork(use_parents, b)), 0);
    assert_ok(tkl_counter_buffer_close(b, NULL));
    assert_int_equal(sum_of(c, 1000), 5);
    tkl_counter_close(c);
}

static void what_a_buffer_can_never_deliver_is_reported_as_lost(void **state)
{
    fixture *f = *state;
    tkl_counter *c = open_counter(f->client, "x");
    tkl_counter_buffer *b = open_buffer(c, 60000);
    tkl_counter_buffer_stats stats;
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:counter:{x}", "x", NULL));
    assert_ok(tkl_counter_buffer_add(b, 5));
    assert_code(tkl_counter_buffer_close(b, &stats), TKL_ETYPE);
    assert_int_equal(stats.lost, 5);
    assert_code(tkl_counter_buffer_open(c, &(tkl_counter_buffer_options){.interval_ms = -1}, &b),
                TKL_EINVAL);
    tkl_counter_close(c);
}

/* ---- A clock that the test sets ------------------------------------------ */

/* A Tuesday, 12:00:00. */
#define NOON_MS INT64_C(1800000000000)

static void old_slices_give_way_to_new_ones(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_counter *c = open_counter(client, "x");
    timed_set(t, NOON_MS);
    for (int minute = 0; minute < 400; minute++) {
        timed_set(t, NOON_MS + minute * 60000);
        assert_ok(tkl_counter_add(c, 1));
    }
    tkl_counter_series *s = read_all(c, 60000);
    assert_int_equal(s->count, 120);
    for (size_t i = 0; i < s->count; i++)
        assert_int_equal(s->items[i].count, 1);
    tkl_counter_series_free(s);
    assert_int_equal(sum_of(c, 86400000), 400);
    assert_int_equal(sum_of(c, 3600000), 400);
    int64_t fields = call_int(client, "HLEN", "tackle:counter:{x}", NULL);
    assert_in_range(fields, 1, 7 * 121 + 3);

    timed_shift(t, 2 * 3600000); /* nothing for two hours */
    assert_int_equal(sum_of(c, 60000), 0);
    int64_t removed;
    assert_ok(tkl_counter_clean(client, &removed));
    assert_true(removed >= 120);
    assert_int_equal(call_int(client, "HLEN", "tackle:counter:{x}", NULL), fields - removed);
    assert_int_equal(sum_of(c, 86400000), 400);
    timed_shift(t, INT64_C(119) * 86400000);
    assert_ok(tkl_counter_clean(client, &removed));
    timed_shift(t, INT64_C(3) * 86400000);
    eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
    tkl_counter_close(c);
    tkl_close(client);
    timed_end(t);
}

/* 500 places in a step. */
static void the_largest_counter_is_cleaned_in_short_steps(void **state)
{
    fixture *f = *state;
    int64_t removed;
    const int64_t seconds[] = {1000};
    tkl_counter *c;
    assert_ok(tkl_counter_open(f->client, tkl_str("x"),
                               &(tkl_counter_options){.every_ms = seconds,
                                                      .every_count = 1,
                                                      .samples = TKL_COUNTER_SAMPLES_MAX},
                               &c));
    assert_ok(tkl_counter_add(c, 1));
    server_do(f->server, "EVAL %s 0",
              "for i = 0, 1999 do"
              "  redis.call('HSET', 'tackle:counter:{x}', '1000:' .. i, i .. ' 5')"
              "end");
    assert_ok(tkl_counter_clean(f->client, &removed)); /* also loads the library */
    assert_int_equal(removed, TKL_COUNTER_SAMPLES_MAX);
    int64_t before = server_functions(f->server);
    assert_ok(tkl_counter_clean(f->client, &removed));
    assert_int_equal(removed, 0);
    assert_int_equal(server_functions(f->server) - before, 4 + 1); /* and no second precision */
    tkl_counter_close(c);
}

static void the_range_asked_for_is_what_comes(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_counter *c = open_counter(client, "x");
    tkl_counter_series *s;
    for (int minute = 0; minute < 10; minute++) {
        timed_set(t, NOON_MS + minute * 60000);
        assert_ok(tkl_counter_add(c, minute));
    }
    static const struct {
        int64_t from, to; /* minutes */
        size_t count;
        int64_t first, last; /* their counts */
    } ranges[] = {{2, 4, 3, 2, 4},
                  {9, 9, 1, 9, 9},
                  {5, 200, 5, 5, 9},
                  {20, 200, 0, 0, 0},
                  {-500, -400, 0, 0, 0}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        assert_ok(tkl_counter_read(c, 60000, NOON_MS + ranges[i].from * 60000,
                                   NOON_MS + ranges[i].to * 60000 + 59999, &s));
        assert_int_equal(s->count, ranges[i].count);
        if (s->count > 0) {
            assert_int_equal(s->items[0].count, ranges[i].first);
            assert_int_equal(s->items[s->count - 1].count, ranges[i].last);
        }
        tkl_counter_series_free(s);
    }
    assert_ok(tkl_counter_read(c, 60000, NOON_MS + 8 * 60000, 0, &s));
    assert_int_equal(s->count, 2);
    tkl_counter_series_free(s);
    tkl_counter_close(c);
    tkl_close(client);
    timed_end(t);
}

/* Adds to a counter at a time. */
static int add_at(tkl_counter *c, int64_t amount, int64_t at_ms)
{
    tkl_counter_item item = {.counter = c, .amount = amount, .at_ms = at_ms};
    return tkl_counter_add_each(&item, 1, NULL);
}

static void events_of_earlier_times_count_in_their_slices(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_counter *c = open_counter(client, "x");
    tkl_counter_series *s;
    timed_set(t, NOON_MS + 30000);
    assert_ok(add_at(c, 5, NOON_MS - 86400000)); /* the counter is new */
    assert_ok(tkl_counter_add(c, 1));
    assert_ok(add_at(c, 10, NOON_MS - 60000));
    assert_ok(add_at(c, 20, NOON_MS - 60000 + 59999));
    assert_ok(add_at(c, 2, NOON_MS + 30000));
    assert_ok(add_at(c, 4, NOON_MS + 30000 + 60000)); /* a clock that is ahead: now */
    assert_int_equal(sum_of(c, 1000), 37);            /* the last 120 seconds */
    assert_int_equal(sum_of(c, 60000), 37);
    assert_int_equal(last_of(c, 60000), 7);
    assert_int_equal(sum_of(c, 86400000), 42);
    assert_int_equal(last_of(c, 86400000), 37);
    timed_shift(t, 60000); /* the slices end; what was added late stays */
    assert_ok(tkl_counter_add(c, 100));
    s = read_all(c, 60000);
    assert_int_equal(s->items[117].count, 30);
    assert_int_equal(s->items[118].count, 7);
    assert_int_equal(s->items[119].count, 100);
    tkl_counter_series_free(s);
    assert_ok(add_at(c, 1, NOON_MS + 30000)); /* a slice that has ended since */
    s = read_all(c, 60000);
    assert_int_equal(s->items[118].count, 8);
    tkl_counter_series_free(s);

    /* The oldest slice of the longest precision, and the one before it. */
    int64_t day = NOON_MS - NOON_MS % 86400000;
    assert_ok(add_at(c, 1000, day - INT64_C(119) * 86400000));
    assert_int_equal(sum_of(c, 86400000), 1143);
    assert_code(add_at(c, 1, day - INT64_C(119) * 86400000 - 1), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "so long ago");
    assert_code(add_at(c, 1, NOON_MS + 30000 + 60000 + 61000), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "in the future");
    assert_code(add_at(c, 1, -1), TKL_EINVAL);
    assert_code(add_at(c, TKL_COUNTER_MAX, NOON_MS), TKL_EREFUSED);
    assert_int_equal(sum_of(c, 86400000), 1143);
    timed_shift(t, INT64_C(121) * 86400000);
    eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
    tkl_counter_close(c);
    tkl_close(client);
    timed_end(t);
}

static void a_clock_set_back_neither_loses_nor_repeats(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_counter *c = open_counter(client, "x");
    timed_set(t, NOON_MS + 30000);
    assert_ok(tkl_counter_add(c, 1));
    timed_shift(t, -3600000);
    assert_ok(tkl_counter_add(c, 10));
    assert_int_equal(last_of(c, 60000), 10);
    timed_shift(t, 3600000);
    assert_ok(tkl_counter_add(c, 100));
    assert_int_equal(last_of(c, 60000), 101);
    for (size_t i = 2; i < sizeof usual / sizeof *usual; i++)
        assert_int_equal(sum_of(c, usual[i]), 111);
    tkl_counter_close(c);
    tkl_close(client);
    timed_end(t);
}

/* Slices counted before the clock was set back live as long as they would have without that. */
static void a_clock_set_back_does_not_shorten_the_life_of_slices(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_counter *c = open_counter(client, "x");
    timed_set(t, NOON_MS);
    assert_ok(tkl_counter_add(c, 1));
    timed_shift(t, -INT64_C(100) * 86400000);
    assert_ok(tkl_counter_add(c, 10));
    timed_set(t, NOON_MS + INT64_C(110) * 86400000); /* 120 days are kept */
    assert_int_equal(sum_of(c, 86400000), 1);
    timed_shift(t, INT64_C(12) * 86400000);
    eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
    tkl_counter_close(c);
    tkl_close(client);
    timed_end(t);
}

enum { ADDERS = 8, EACH = 400 };

static int add_many(void *url)
{
    tkl_client *client;
    tkl_counter *c;
    int failures = 0;
    if (tkl_open(url, &(tkl_options){.timeout_ms = 60000}, &client) != TKL_OK ||
        tkl_counter_open(client, tkl_str("x"), NULL, &c) != TKL_OK)
        return 100;
    for (int i = 0; i < EACH; i++) {
        failures += tkl_counter_add(c, i) != TKL_OK;
        usleep(500);
    }
    tkl_counter_close(c);
    tkl_close(client);
    return failures;
}

/* Precisions whose window is longer than the jumps of the clock have all counts. */
static void a_clock_that_jumps_under_load_of_eight_processes_loses_nothing(void **state)
{
    (void)state;
    pid_t adders[ADDERS];
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_counter *c = open_counter(client, "x");
    timed_set(t, NOON_MS);
    for (int i = 0; i < ADDERS; i++)
        adders[i] = process_fork(add_many, t->server->url);
    for (int i = 0; i < 200; i++) {
        timed_set(t, NOON_MS + i * 7919 % 3600 * 1000);
        test_sleep_ms(1);
    }
    timed_set(t, NOON_MS + 3600 * 1000);
    for (int i = 0; i < ADDERS; i++)
        assert_int_equal(process_wait(adders[i]), 0);
    for (size_t i = 2; i < sizeof usual / sizeof *usual; i++)
        assert_int_equal(sum_of(c, usual[i]), ADDERS * EACH * (EACH - 1) / 2);
    tkl_counter_close(c);
    tkl_close(client);
    timed_end(t);
}

/* ---- A cluster ----------------------------------------------------------- */

static void many_counters_of_a_cluster_are_added_to(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    cluster *cl = cluster_start(false);
    tkl_client *client = test_open(cl->url, NULL);
    tkl_counter *c[COUNT];
    tkl_counter_item items[COUNT] = {{0}};
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        c[i] = open_counter(client, name);
        items[i] = (tkl_counter_item){.counter = c[i], .amount = i};
    }
    assert_ok(tkl_counter_add_each(items, COUNT, NULL));
    tkl_names *names;
    assert_ok(tkl_counter_names(client, &names));
    assert_int_equal(names->count, COUNT);
    tkl_names_free(names);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(sum_of(c[i], 3600000), i);
        tkl_counter_close(c[i]);
    }
    tkl_close(client);
    cluster_end(cl);
}

/* 2^60 + 1 slices, whose bytes a size_t cannot count. */
static void say_far_too_many_slices(fake_conn *c, void *arg)
{
    (void)arg;
    while (fake_expect(c) != NULL)
        fake_sendz(c, "*3\r\n:120\r\n:0\r\n:1152921504606846976\r\n");
}

static void a_hostile_server_is_not_believed(void **state)
{
    (void)state;
    fake *f = fake_start(say_far_too_many_slices, NULL);
    tkl_client *client = test_open(fake_url(f), NULL);
    tkl_counter *counter = open_counter(client, "hits");
    tkl_counter_series *series;
    assert_code(tkl_counter_read(counter, 1000, 0, 0, &series), TKL_EPROTO);
    assert_null(series);
    tkl_counter_close(counter);
    tkl_close(client);
    fake_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_add_is_counted_in_every_precision),
        cmocka_unit_test(a_hostile_server_is_not_believed),
        TEST(a_series_is_in_order_and_has_no_gaps),
        TEST(names_are_any_bytes_and_are_listed),
        TEST(many_counters_are_added_to_in_one_trip),
        TEST(many_counters_are_read_in_one_trip),
        TEST(precisions_and_samples_are_settable_and_then_fixed),
        TEST(what_makes_no_sense_is_refused),
        TEST(what_is_not_a_counter_is_left_alone),
        TEST(a_dropped_counter_begins_anew),
        TEST(the_largest_counter_is_cleaned_in_short_steps),
        TEST(a_full_server_counts_nothing),
        TEST(the_permissions_of_the_page_suffice),
        TEST(a_buffer_sums_up_and_loses_nothing),
        TEST(a_child_sends_nothing_of_its_parents_buffer),
        TEST(what_a_buffer_can_never_deliver_is_reported_as_lost),
        cmocka_unit_test(a_buffer_reports_what_a_server_that_is_away_did_not_get),
        cmocka_unit_test(old_slices_give_way_to_new_ones),
        cmocka_unit_test(the_range_asked_for_is_what_comes),
        cmocka_unit_test(events_of_earlier_times_count_in_their_slices),
        cmocka_unit_test(a_clock_set_back_neither_loses_nor_repeats),
        cmocka_unit_test(a_clock_set_back_does_not_shorten_the_life_of_slices),
        cmocka_unit_test(a_clock_that_jumps_under_load_of_eight_processes_loses_nothing),
        cmocka_unit_test(many_counters_of_a_cluster_are_added_to),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
