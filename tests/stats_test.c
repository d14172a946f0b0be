/* SPDX-License-Identifier: MIT
 *
 * Statistics and timers: moments, quantiles, the slowest contexts.
 */
#include <math.h>

#include <tackle/log.h>
#include <tackle/stats.h>

#include "stats/sketch.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/locale.h"
#include "support/permissions.h"
#include "support/statistics.h"

/* ---- Moments ------------------------------------------------------------- */

static void values_are_summed_up(void **state)
{
    fixture *f = *state;
    tkl_stats *s = open_stats(f->client, "size");
    tkl_stats_summary *m;
    assert_code(show_code(s, "x", TKL_HOUR_THIS, &m), TKL_NOTFOUND);
    assert_null(m);
    static const double values[] = {4, -2, 0.5, 10, 0};
    for (int i = 0; i < 5; i++)
        record(s, "x", values[i]);
    m = show(s, "x", TKL_HOUR_BOTH);
    assert_int_equal(m->count, 5);
    assert_close(m->min, -2, 0);
    assert_close(m->max, 10, 0);
    assert_close(m->sum, 12.5, 0);
    assert_close(m->sumsq, 120.25, 0);
    assert_close(m->mean, 2.5, 1e-12);
    assert_close(m->stddev, sqrt((120.25 - 5 * 6.25) / 4), 1e-12);
    assert_close(m->p50, 0.5, 0.005);
    assert_close(m->p90, 10, 0);
    assert_int_equal(m->start_ms % 3600000, 0);
    tkl_stats_summary_free(m);
    record(s, "one", 7);
    m = show(s, "one", TKL_HOUR_BOTH);
    assert_close(m->stddev, 0, 0);
    assert_close(m->p50, 7, 0);
    assert_close(m->p999, 7, 0);
    tkl_stats_summary_free(m);
    tkl_stats_close(s);
}

static void a_large_mean_does_not_hide_a_small_spread(void **state)
{
    fixture *f = *state;
    tkl_stats *s = open_stats(f->client, "time");
    for (int i = 1; i <= 3; i++)
        record(s, "one by one", 1e9 + i);
    tkl_stats_value batch[3];
    for (int i = 0; i < 3; i++)
        batch[i] = (tkl_stats_value){.context = tkl_str("at once"), .value = 1e9 + 1 + i};
    assert_ok(tkl_stats_record(s, batch, 3));
    static const char *const contexts[] = {"one by one", "at once"};
    for (int i = 0; i < 2; i++) {
        tkl_stats_summary *m = show(s, contexts[i], TKL_HOUR_BOTH);
        assert_close(m->stddev, 1, 1e-6);
        assert_close(m->sum, 3e9 + 6, 0);
        tkl_stats_summary_free(m);
    }
    for (int i = 0; i < 1000; i++)
        record(s, "1e15", 1e15 + i % 2);
    tkl_stats_summary *m = show(s, "1e15", TKL_HOUR_BOTH);
    assert_close(m->stddev, sqrt(0.25 * 1000 / 999), 5e-3);
    tkl_stats_summary_free(m);
    tkl_stats_close(s);
}

static double next_random(void)
{
    static uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef double shape_fn(double u);
static double uniform(double u)
{
    return u * 100;
}
static double exponential(double u)
{
    return -log(1 - u) / 3;
}
static double pareto(double u)
{
    return 1e-3 * pow(1 - u, -1.2);
}
static double around_zero(double u)
{
    return u < 0.4 ? -pow(10, u * 10) : u < 0.5 ? 0 : pow(10, u * 8 - 6);
}
static double constant(double u)
{
    (void)u;
    return 42;
}

static void quantiles_are_within_one_percent(void **state)
{
    fixture *f = *state;
    static shape_fn *const shapes[] = {uniform, exponential, pareto, around_zero, constant};
    static const double asked[] = {0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1};
    enum { COUNT = 5000 };
    tkl_stats *s = open_stats(f->client, "time");
    for (int k = 0; k < 5; k++) {
        static tkl_stats_value values[COUNT];
        static double sorted[COUNT];
        char name[8];
        snprintf(name, sizeof name, "%d", k);
        for (int i = 0; i < COUNT; i++) {
            sorted[i] = shapes[k](next_random());
            values[i] = (tkl_stats_value){.context = tkl_str(name), .value = sorted[i]};
        }
        assert_ok(tkl_stats_record(s, values, COUNT));
        qsort(sorted, COUNT, sizeof *sorted, by_value);
        tkl_stats_summary *m = show(s, name, TKL_HOUR_BOTH);
        assert_int_equal(m->count, COUNT);
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            int rank = (int)ceil(asked[i] * COUNT - 1e-9);
            double exact = sorted[rank > 0 ? rank - 1 : 0];
            assert_close(tkl_stats_quantile(m, asked[i]), exact, fabs(exact) * 0.01 + 1e-12);
        }
        assert_close(tkl_stats_quantile(m, 1.5), 0, 0);
        assert_close(tkl_stats_quantile(m, (double)NAN), 0, 0);
        double mean = 0, m2 = 0;
        for (int i = 0; i < COUNT; i++)
            mean += sorted[i] / COUNT;
        for (int i = 0; i < COUNT; i++)
            m2 += (sorted[i] - mean) * (sorted[i] - mean);
        assert_close(m->mean, mean, fabs(mean) * 1e-9);
        assert_close(m->stddev, sqrt(m2 / (COUNT - 1)), sqrt(m2 / COUNT) * 1e-9 + 1e-9);
        tkl_stats_summary_free(m);
    }
    tkl_stats_close(s);
}

static void every_value_is_within_one_percent_of_its_bucket(void **state)
{
    (void)state;
    int last = 0;
    for (double v = 1e-12; v <= 1e18; v *= 1.0007) {
        int bucket = tkl__stats_bucket_of(v);
        assert_true(bucket >= last);
        assert_true(bucket >= 1 && bucket <= 3490);
        assert_close(tkl__stats_bucket_value(bucket), v, v * 0.01);
        assert_int_equal(tkl__stats_bucket_of(-v), -bucket);
        assert_close(tkl__stats_bucket_value(-bucket), -v, v * 0.01);
        last = bucket;
    }
    assert_int_equal(tkl__stats_bucket_of(0), 0);
    assert_int_equal(tkl__stats_bucket_of(-0.0), 0);
    assert_int_equal(tkl__stats_bucket_of(5e-324), 0);
}

static void summaries_are_merged(void **state)
{
    fixture *f = *state;
    tkl_stats *s = open_stats(f->client, "time");
    tkl_stats_value values[600];
    const tkl_bytes names[] = {TKL_LIT("a"), TKL_LIT("b"), TKL_LIT("none"), TKL_LIT("c")};
    for (int i = 0; i < 600; i++)
        values[i] = (tkl_stats_value){.context = names[i % 3 == 2 ? 3 : i % 3], .value = i};
    assert_ok(tkl_stats_record(s, values, 600));
    tkl_stats_summary *all, *a, *bc;
    assert_ok(tkl_stats_show(s, names, 4, TKL_HOUR_BOTH, &all));
    assert_ok(tkl_stats_show(s, names, 1, TKL_HOUR_BOTH, &a));
    assert_ok(tkl_stats_show(s, names + 1, 3, TKL_HOUR_BOTH, &bc));
    assert_int_equal(all->count, 600);
    assert_close(all->mean, 299.5, 1e-9);
    assert_close(all->stddev, sqrt(600.0 * 601 / 12), 1e-9);
    assert_close(all->p50, 299, 3);
    assert_int_equal(a->count, 200);
    assert_ok(tkl_stats_merge(a, bc));
    assert_int_equal(a->count, 600);
    assert_close(a->stddev, all->stddev, 1e-9);
    assert_close(a->p99, all->p99, 0);
    assert_ok(tkl_stats_merge(a, a));
    assert_int_equal(a->count, 1200);
    assert_close(a->mean, 299.5, 1e-9);
    tkl_stats_summary_free(all);
    assert_code(tkl_stats_show(s, NULL, 0, TKL_HOUR_BOTH, &all), TKL_NOTFOUND);
    tkl_stats_summary_free(a);
    tkl_stats_summary_free(bc);
    tkl_stats_close(s);
}

/* ---- Bounds and trouble -------------------------------------------------- */

static void what_is_no_number_is_refused(void **state)
{
    fixture *f = *state;
    tkl_stats *s = open_stats(f->client, "time");
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1.1e18, -1e300};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tkl_stats_value values[] = {{.context = TKL_LIT("x"), .value = 1},
                                    {.context = TKL_LIT("x"), .value = bad[i]}};
        assert_code(tkl_stats_record(s, values, 2), TKL_EINVAL);
        assert_code(tkl_stats_record(s, values + 1, 1), TKL_EINVAL);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    record(s, "x", 1e18);
    record(s, "x", -1e18);
    record(s, "x", 5e-324);
    tkl_stats_summary *m = show(s, "x", TKL_HOUR_BOTH);
    assert_close(m->stddev, 1e18, 1e4);
    tkl_stats_summary_free(m);
    tkl_stats_close(s);
}

static void what_makes_no_sense_is_refused(void **state)
{
    fixture *f = *state;
    tkl_stats *s;
    tkl_stats_summary *m;
    tkl_stats_ranking *r;
    const tkl_stats_options bad[] = {
        {.ranked = -1}, {.ranked = 100001}, {.timeout_ms = -1}, {.reserved = {1}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_stats_open(f->client, tkl_str("x"), &bad[i], &s), TKL_EINVAL);
        assert_null(s);
    }
    assert_code(tkl_stats_open(f->client, tkl_str(""), NULL, &s), TKL_EINVAL);
    s = open_stats(f->client, "x");
    tkl_stats_value empty = {.value = 1};
    assert_code(tkl_stats_record(s, &empty, 1), TKL_EINVAL);
    assert_ok(tkl_stats_record(s, NULL, 0));
    assert_code(show_code(s, "x", 3, &m), TKL_EINVAL);
    assert_code(show_code(s, "", TKL_HOUR_THIS, &m), TKL_EINVAL);
    assert_code(tkl_stats_slowest(s, TKL_HOUR_BOTH, 1, &r), TKL_EINVAL);
    assert_code(tkl_stats_drop(s, tkl_str("x")), TKL_NOTFOUND);
    tkl_stats_close(s);
    tkl_stats_close(NULL);
    tkl_stats_summary_free(NULL);
    tkl_stats_ranking_free(NULL);
}

static void names_are_any_bytes(void **state)
{
    fixture *f = *state;
    tkl_stats *s;
    tkl_names *types;
    const tkl_bytes type = TKL_LIT("{t}:\xff"), contexts[] = {TKL_LIT("a:b c"), TKL_LIT("nul\0nul"),
                                                              TKL_LIT("}{"), TKL_LIT("nul\0")};
    assert_ok(tkl_stats_open(f->client, type, NULL, &s));
    for (int i = 0; i < 4; i++) {
        tkl_stats_value one = {.context = contexts[i], .value = i};
        tkl_stats_summary *m;
        assert_ok(tkl_stats_record(s, &one, 1));
        assert_ok(tkl_stats_show(s, &contexts[i], 1, TKL_HOUR_BOTH, &m));
        assert_int_equal(m->count, 1);
        assert_close(m->mean, i, 0);
        tkl_stats_summary_free(m);
    }
    assert_ok(tkl_stats_names(f->client, &types));
    assert_int_equal(types->count, 1);
    assert_int_equal(types->items[0].len, type.len);
    tkl_names_free(types);
    assert_ok(tkl_stats_contexts(s, &types));
    assert_int_equal(types->count, 4);
    assert_int_equal(types->items[1].len, 4);
    assert_memory_equal(types->items[1].data, "nul\0", 4);
    tkl_names_free(types);
    assert_ok(tkl_stats_drop(s, contexts[1]));
    assert_code(tkl_stats_drop(s, contexts[1]), TKL_NOTFOUND);
    tkl_stats_close(s);
}

/* Each type has its own contexts, also when its name is a pattern or a prefix of another. */
static void contexts_of_a_type_are_listed(void **state)
{
    fixture *f = *state;
    const tkl_bytes types[] = {TKL_LIT("t*"), TKL_LIT("time"), TKL_LIT("t\0"), TKL_LIT("tx")};
    for (int i = 0; i < 4; i++) {
        tkl_stats *s;
        tkl_names *names;
        char context[] = {(char)('a' + i), '\0'};
        assert_ok(tkl_stats_open(f->client, types[i], NULL, &s));
        assert_ok(tkl_stats_contexts(s, &names));
        assert_int_equal(names->count, 0);
        tkl_names_free(names);
        record(s, context, 1);
        if (i == 1)
            server_do(f->server, "RENAME tackle:stats:{time}:this:b tackle:stats:{time}:last:b");
        assert_ok(tkl_stats_contexts(s, &names));
        assert_int_equal(names->count, 1);
        assert_memory_equal(names->items[0].data, context, 1);
        tkl_names_free(names);
        tkl_stats_close(s);
    }
}

/* A sketch with thousands of buckets does not pass through Lua. */
static void values_of_all_sizes_are_read_past_the_script(void **state)
{
    fixture *f = *state;
    enum { COUNT = 6000 };
    tkl_stats *s = open_stats(f->client, "t");
    static tkl_stats_value values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = (tkl_stats_value){.context = TKL_LIT("x"),
                                      .value = (i % 2 ? -1 : 1) * 1e-12 * pow(1.02, i / 2 + 0.5)};
    assert_ok(tkl_stats_record(s, values, COUNT));
    record(s, "small", 1);
    int64_t before = server_calls(f->server, "hgetall");
    const tkl_bytes both[] = {TKL_LIT("x"), TKL_LIT("small")};
    tkl_stats_summary *m;
    assert_ok(tkl_stats_show(s, both, 2, TKL_HOUR_BOTH, &m));
    assert_int_equal(m->count, COUNT + 1);
    assert_close(tkl_stats_quantile(m, 0.75), values[COUNT / 2].value,
                 values[COUNT / 2].value / 50);
    tkl_stats_summary_free(m);
    assert_true(server_calls(f->server, "hgetall") - before >= 2);
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, NULL, "CONFIG", "SET", "slowlog-log-slower-than", "0", NULL));
    assert_ok(tkl_callz(f->client, NULL, "SLOWLOG", "RESET", NULL));
    assert_ok(tkl_stats_show(s, both, 1, TKL_HOUR_BOTH, &m));
    tkl_stats_summary_free(m);
    assert_ok(tkl_callz(f->client, &reply, "SLOWLOG", "GET", "1", NULL));
    const tkl_reply *words = tkl_reply_at(tkl_reply_at(reply, 0), 3);
    assert_string_equal(tkl_reply_str(tkl_reply_at(words, 0)), "HGETALL"); /* behind the script */
    tkl_reply_free(reply);
    tkl_stats_close(s);
}

static void foreign_keys_are_found_before_anything_is_written(void **state)
{
    fixture *f = *state;
    static const char *const keys[] = {"this:x", "last:x", "total", "rank", "rank_last"};
    tkl_stats *s = open_stats(f->client, "t");
    tkl_stats_value one = {.context = TKL_LIT("x"), .value = 1};
    for (int i = 0; i < 5; i++) {
        char *key = test_format("tackle:stats:{t}:%s", keys[i]);
        assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
        assert_ok(tkl_callz(f->client, NULL, "SET", key, "foreign", NULL));
        assert_code(tkl_stats_record(s, &one, 1), TKL_ETYPE);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
        free(key);
    }
    static const char *const fields[] = {"count", "mean", "hour", "1396"};
    for (int i = 0; i < 4; i++) {
        tkl_stats_summary *m;
        assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
        record(s, "x", 1);
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:stats:{t}:this:x", fields[i],
                            "rubbish", NULL));
        assert_code(tkl_stats_record(s, &one, 1), TKL_EDAMAGED);
        assert_int_not_equal(show_code(s, "x", TKL_HOUR_BOTH, &m), TKL_OK);
    }
    tkl_stats_close(s);
}

static void a_full_server_records_nothing(void **state)
{
    fixture *f = *state;
    tkl_stats *s = open_stats(f->client, "t");
    tkl_stats_value one = {.context = TKL_LIT("x"), .value = 1};
    record(s, "x", 1);
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_stats_record(s, &one, 1), TKL_EOOM);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(count_of(s, "x", TKL_HOUR_BOTH), 1);
    tkl_stats_close(s);
}

static void a_decimal_comma_changes_nothing(void **state)
{
    fixture *f = *state;
    locale_with_a_comma();
    tkl_stats *s = open_stats(f->client, "t");
    record(s, "x", 1.5);
    record(s, "x", 2.25);
    tkl_stats_summary *m = show(s, "x", TKL_HOUR_BOTH);
    locale_plain();
    assert_close(m->sum, 3.75, 0);
    assert_close(m->p50, 1.5, 0.015);
    tkl_stats_summary_free(m);
    tkl_stats_close(s);
}

static void the_permissions_of_the_page_suffice(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "stats.md");
    tkl_stats *s;
    tkl_names *types;
    tkl_stats_ranking *r;
    tkl_timer_result result;
    assert_ok(tkl_stats_open(client, tkl_str("t"), &(tkl_stats_options){.ranked = 1}, &s));
    record(s, "x", 1);
    server_do(f->server, "HINCRBY tackle:stats:{t}:this:x hour -1"); /* the next one turns */
    server_do(f->server, "HINCRBY tackle:stats:{t}:total hour -1");
    record(s, "x", 0);
    record(s, "y", -1);
    tkl_timer timer = tkl_timer_start(s, tkl_str("x"));
    assert_ok(tkl_timer_stop(&timer, &result));
    assert_true(result.slow);
    assert_ok(result.log_code);
    assert_int_equal(count_of(s, "x", TKL_HOUR_BOTH), 3);
    assert_ok(tkl_stats_slowest(s, TKL_HOUR_LAST, 10, &r));
    assert_int_equal(r->count, 1);
    tkl_stats_ranking_free(r);
    assert_ok(tkl_stats_names(client, &types));
    tkl_names_free(types);
    assert_ok(tkl_stats_drop(s, tkl_str("x")));
    tkl_stats_close(s);
    tkl_close(client);
}

/* ---- Timers -------------------------------------------------------------- */

static void a_timer_records_seconds(void **state)
{
    fixture *f = *state;
    tkl_stats *s = open_stats(f->client, "time");
    tkl_timer_result result;
    tkl_timer timer = tkl_timer_start(s, tkl_str("/cart"));
    test_sleep_ms(20);
    assert_ok(tkl_timer_stop(&timer, &result));
    assert_true(result.seconds >= 0.02 && result.seconds < 20);
    assert_close(result.mean, result.seconds, 1e-9);
    assert_close(result.overall_mean, result.seconds, 1e-9);
    assert_false(result.slow); /* it is alone */
    assert_code(tkl_timer_stop(&timer, &result), TKL_EINVAL);
    assert_int_equal(count_of(s, "/cart", TKL_HOUR_BOTH), 1);
    tkl_stats_close(s);
}

static int64_t times_logged(tkl_client *client, const char *name, const char *context)
{
    tkl_log *log;
    int64_t times = 0;
    assert_ok(tkl_log_open(client, tkl_str(name), NULL, &log));
    for (tkl_hour hour = TKL_HOUR_THIS; hour <= TKL_HOUR_LAST; hour++) {
        tkl_log_counts *counts;
        assert_ok(tkl_log_common(log, TKL_LOG_WARNING, hour, 100, &counts));
        for (size_t i = 0; i < counts->count; i++)
            if (counts->items[i].message.len == strlen(context) &&
                memcmp(counts->items[i].message.data, context, strlen(context)) == 0)
                times += counts->items[i].times;
        tkl_log_counts_free(counts);
    }
    tkl_log_close(log);
    return times;
}

static void contexts_slower_than_the_mean_are_logged(void **state)
{
    fixture *f = *state;
    tkl_stats *s = open_stats(f->client, "time"), *other;
    tkl_timer_result result;
    record(s, "slow", 1000);
    record(s, "fast", 0.001);
    for (int i = 0; i < 3; i++) {
        tkl_timer slow = tkl_timer_start(s, tkl_str("slow"));
        tkl_timer fast = tkl_timer_start(s, tkl_str("fast"));
        assert_ok(tkl_timer_stop(&fast, NULL));
        assert_ok(tkl_timer_stop(&slow, &result));
        assert_true(result.slow);
        assert_ok(result.log_code);
    }
    assert_int_equal(times_logged(f->client, "slow:time", "slow"), 3);
    assert_int_equal(times_logged(f->client, "slow:time", "fast"), 0);
    assert_ok(tkl_stats_open(f->client, tkl_str("time"), &(tkl_stats_options){.no_slow_log = true},
                             &other));
    tkl_timer timer = tkl_timer_start(other, tkl_str("slow"));
    assert_ok(tkl_timer_stop(&timer, &result));
    assert_true(result.slow);
    assert_int_equal(times_logged(f->client, "slow:time", "slow"), 3);
    tkl_stats_close(other);
    assert_ok(tkl_stats_open(f->client, tkl_str("time"),
                             &(tkl_stats_options){.slow_log = TKL_LIT("elsewhere")}, &other));
    timer = tkl_timer_start(other, tkl_str("slow"));
    assert_ok(tkl_timer_stop(&timer, NULL));
    assert_int_equal(times_logged(f->client, "elsewhere", "slow"), 1);
    tkl_stats_close(other);

    /* A log that cannot be written is reported, and the time is recorded all the same. */
    server_do(f->server, "DEL tackle:log:{slow:time}:recent:warning");
    server_do(f->server, "SET tackle:log:{slow:time}:recent:warning foreign");
    int64_t before = count_of(s, "slow", TKL_HOUR_BOTH);
    timer = tkl_timer_start(s, tkl_str("slow"));
    assert_ok(tkl_timer_stop(&timer, &result));
    assert_code(result.log_code, TKL_ETYPE);
    assert_int_equal(count_of(s, "slow", TKL_HOUR_BOTH), before + 1);
    tkl_stats_close(s);
}

static void the_slowest_hundred_are_ranked_by_mean(void **state)
{
    fixture *f = *state;
    enum { CONTEXTS = 300 };
    tkl_stats *s = open_stats(f->client, "time");
    tkl_stats_value values[CONTEXTS];
    char names[CONTEXTS][8];
    tkl_stats_ranking *r;
    assert_ok(tkl_stats_slowest(s, TKL_HOUR_THIS, 100, &r));
    assert_int_equal(r->count, 0);
    tkl_stats_ranking_free(r);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < CONTEXTS; i++) {
            snprintf(names[i], sizeof names[i], "c%d", i);
            values[i] = (tkl_stats_value){.context = tkl_str(names[i]),
                                          .value = turn == 0 ? 1000 - i : 3 * i};
        }
        assert_ok(tkl_stats_record(s, values, CONTEXTS)); /* means: 500 + i */
    }
    assert_ok(tkl_stats_slowest(s, TKL_HOUR_THIS, 100, &r));
    if (r->value_count == 2 * CONTEXTS) { /* else the hour has just changed */
        assert_int_equal(r->count, 100);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(r->items[i].context.len, strlen(names[CONTEXTS - 1 - i]));
            assert_memory_equal(r->items[i].context.data, names[CONTEXTS - 1 - i],
                                r->items[i].context.len);
            assert_close(r->items[i].mean, 500 + (CONTEXTS - 1 - i), 1e-9);
            assert_int_equal(r->items[i].count, 2);
            assert_close(r->items[i].p99, fmax(1000 - (CONTEXTS - 1 - i), 3 * (CONTEXTS - 1 - i)),
                         0);
        }
        assert_close(r->mean, 500 + (CONTEXTS - 1) / 2.0, 1e-9);
    }
    tkl_stats_ranking_free(r);
    assert_ok(tkl_stats_drop(s, tkl_str(names[CONTEXTS - 1])));
    server_do(f->server, "ZADD tackle:stats:{time}:rank 9999 gone");
    assert_ok(tkl_stats_slowest(s, TKL_HOUR_THIS, 1, &r));
    if (r->value_count == 2 * CONTEXTS)
        assert_int_equal(r->items[0].count, 0);
    tkl_stats_ranking_free(r);
    tkl_stats_close(s);
}

static void the_ranking_is_bounded(void **state)
{
    fixture *f = *state;
    tkl_stats *s;
    tkl_stats_ranking *r;
    assert_ok(tkl_stats_open(f->client, tkl_str("t"), &(tkl_stats_options){.ranked = 10}, &s));
    for (int i = 0; i < 50; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%d", i);
        record(s, name, i * 7 % 50);
    }
    assert_ok(tkl_stats_slowest(s, TKL_HOUR_THIS, 100, &r));
    if (r->value_count == 50) { /* else the hour has just changed */
        assert_int_equal(r->count, 10);
        for (int i = 0; i < 10; i++)
            assert_close(r->items[i].mean, 49 - i, 0);
    }
    tkl_stats_ranking_free(r);
    tkl_stats_close(s);
}

/* ---- The rest ------------------------------------------------------------ */

static void statistics_work_on_a_cluster(void **state)
{
    (void)state;
    cluster *cl = cluster_start(false);
    tkl_client *client = test_open(cl->url, NULL);
    for (int i = 0; i < 5; i++) {
        char type[8];
        snprintf(type, sizeof type, "t%d", i);
        tkl_stats *s = open_stats(client, type);
        tkl_timer_result result;
        record(s, "x", 100);
        record(s, "}y{", 1);
        tkl_timer timer = tkl_timer_start(s, tkl_str("x"));
        assert_ok(tkl_timer_stop(&timer, &result));
        assert_true(result.slow);
        assert_ok(result.log_code);
        assert_int_equal(count_of(s, "x", TKL_HOUR_BOTH), 2);
        tkl_stats_close(s);
    }
    tkl_names *types;
    assert_ok(tkl_stats_names(client, &types));
    assert_int_equal(types->count, 5);
    tkl_names_free(types);
    tkl_close(client);
    cluster_end(cl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_are_summed_up),
        TEST(a_large_mean_does_not_hide_a_small_spread),
        TEST(quantiles_are_within_one_percent),
        cmocka_unit_test(every_value_is_within_one_percent_of_its_bucket),
        TEST(summaries_are_merged),
        TEST(what_is_no_number_is_refused),
        TEST(what_makes_no_sense_is_refused),
        TEST(names_are_any_bytes),
        TEST(contexts_of_a_type_are_listed),
        TEST(values_of_all_sizes_are_read_past_the_script),
        TEST(foreign_keys_are_found_before_anything_is_written),
        TEST(a_full_server_records_nothing),
        TEST(a_decimal_comma_changes_nothing),
        TEST(the_permissions_of_the_page_suffice),
        TEST(a_timer_records_seconds),
        TEST(contexts_slower_than_the_mean_are_logged),
        TEST(the_slowest_hundred_are_ranked_by_mean),
        TEST(the_ranking_is_bounded),
        cmocka_unit_test(statistics_work_on_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
