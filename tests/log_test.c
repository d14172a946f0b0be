/* SPDX-License-Identifier: MIT
 *
 * Logs: recent and common messages, the change of the hour, following, the collecting writer.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <unistd.h>

#include <tackle/log.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/process.h"
#include "support/timed.h"

static tkl_log *open_log(tkl_client *client, const char *name)
{
    tkl_log *log;
    assert_ok(tkl_log_open(client, tkl_str(name), NULL, &log));
    return log;
}

static void say(tkl_log *log, tkl_log_severity severity, const char *text)
{
    tkl_log_message message = {.severity = severity, .text = tkl_str(text)};
    assert_ok(tkl_log_write(log, &message, 1));
}

/* The recent messages as one text, with a space behind each. */
static char *recent(tkl_log *log, tkl_log_severity severity, size_t max)
{
    tkl_log_entries *entries;
    assert_ok(tkl_log_recent(log, severity, max, &entries));
    char *all = test_format("%s", "");
    for (size_t i = 0; i < entries->count; i++) {
        char *longer = test_format("%s" TKL_FMT " ", all, TKL_ARG(entries->items[i].message));
        free(all);
        all = longer;
    }
    tkl_log_entries_free(entries);
    return all;
}

#define assert_recent(log, severity, max, expected)   \
    do {                                              \
        char *text_ = recent((log), (severity), max); \
        assert_string_equal(text_, (expected));       \
        free(text_);                                  \
    } while (0)

static tkl_log_counts *common(tkl_log *log, tkl_log_severity severity, tkl_hour hour)
{
    tkl_log_counts *counts;
    assert_ok(tkl_log_common(log, severity, hour, 10000, &counts));
    return counts;
}

/* How often messages were counted in the hour, those without a place included. */
static int64_t total(tkl_log *log, tkl_hour hour)
{
    tkl_log_counts *counts = common(log, TKL_LOG_ANY, hour);
    int64_t sum = counts->other;
    for (size_t i = 0; i < counts->count; i++)
        sum += counts->items[i].times;
    tkl_log_counts_free(counts);
    return sum;
}

/* ---- One server ---------------------------------------------------------- */

static void the_last_messages_of_each_severity_are_kept(void **state)
{
    fixture *f = *state;
    tkl_log *log;
    tkl_log_options options = {.keep = 3};
    assert_ok(tkl_log_open(f->client, tkl_str("shop"), &options, &log));
    assert_recent(log, TKL_LOG_ANY, 10, "");
    for (int i = 0; i < 5; i++) {
        assert_ok(tkl_log_print(log, TKL_LOG_INFO, "i%d", i));
        assert_ok(tkl_log_print(log, TKL_LOG_ERROR, "e%d", i));
    }
    assert_recent(log, TKL_LOG_INFO, 10, "i2 i3 i4 ");
    assert_recent(log, TKL_LOG_ERROR, 2, "e3 e4 ");
    assert_recent(log, TKL_LOG_DEBUG, 2, "");
    assert_recent(log, TKL_LOG_ERROR, 0, "");
    assert_int_equal(total(log, TKL_HOUR_THIS) + total(log, TKL_HOUR_LAST), 10);
    tkl_log_close(log);
}

static void messages_are_time_stamped_by_the_server(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_log *log = open_log(client, "shop");
    tkl_log_entries *entries;
    timed_set(t, INT64_C(1800000000000));
    say(log, TKL_LOG_INFO, "a");
    timed_shift(t, 5000);
    say(log, TKL_LOG_ERROR, "b");
    timed_shift(t, -60000); /* the order stays */
    say(log, TKL_LOG_ERROR, "c");
    assert_ok(tkl_log_recent(log, TKL_LOG_ANY, 10, &entries));
    assert_int_equal(entries->count, 3);
    assert_in_range(entries->items[0].time_ms, INT64_C(1800000000000), INT64_C(1800000004999));
    assert_int_equal(entries->items[0].severity, TKL_LOG_INFO);
    assert_in_range(entries->items[1].time_ms, INT64_C(1800000005000), INT64_C(1800000050000));
    assert_int_equal(entries->items[1].severity, TKL_LOG_ERROR);
    assert_memory_equal(entries->items[2].message.data, "c", 1);
    tkl_log_entries_free(entries);
    tkl_log_close(log);
    tkl_close(client);
    timed_end(t);
}

static void common_messages_are_counted(void **state)
{
    fixture *f = *state;
    tkl_log *log = open_log(f->client, "a:b {c} \xff");
    static const char *const texts[] = {"rare", "often", "often", "some", "often", "some"};
    tkl_log_message messages[6] = {{0}};
    for (int i = 0; i < 6; i++)
        messages[i] = (tkl_log_message){.severity = i < 5 ? TKL_LOG_WARNING : TKL_LOG_DEBUG,
                                        .text = tkl_str(texts[i])};
    assert_ok(tkl_log_write(log, messages, 6)); /* severities mixed: one step */
    tkl_log_counts *c = common(log, TKL_LOG_WARNING, TKL_HOUR_THIS);
    if (c->count == 3) { /* else the hour has just changed */
        assert_memory_equal(c->items[0].message.data, "often", 5);
        assert_int_equal(c->items[0].times, 3);
        assert_int_equal(c->items[0].severity, TKL_LOG_WARNING);
        assert_int_equal(c->start_ms % HOUR_MS, 0);
    }
    tkl_log_counts_free(c);
    c = common(log, TKL_LOG_ANY, TKL_HOUR_THIS);
    assert_true(c->count == 4 || c->count == 0);
    tkl_log_counts_free(c);
    tkl_log_close(log);
}

static void any_bytes_are_messages(void **state)
{
    fixture *f = *state;
    tkl_log *log = open_log(f->client, "x");
    char *large = calloc(1, TKL_LOG_MESSAGE_MAX + 1);
    tkl_log_message messages[] = {
        {.text = TKL_LIT("a\0b\xff")}, {.text = {NULL, 0}}, {.text = {large, TKL_LOG_MESSAGE_MAX}}};
    tkl_log_entries *entries;
    assert_ok(tkl_log_write(log, messages, 3));
    assert_ok(tkl_log_recent(log, TKL_LOG_EMERGENCY, 10, &entries));
    assert_int_equal(entries->count, 3);
    assert_int_equal(entries->items[0].message.len, 4);
    assert_memory_equal(entries->items[0].message.data, "a\0b\xff", 4);
    assert_int_equal(entries->items[1].message.len, 0);
    assert_int_equal(entries->items[2].message.len, TKL_LOG_MESSAGE_MAX);
    tkl_log_entries_free(entries);
    messages[2].text.len++;
    assert_code(tkl_log_write(log, messages, 3), TKL_EINVAL);
    assert_ok(tkl_log_write(log, NULL, 0));
    free(large);
    tkl_log_close(log);
}

static void many_messages_are_written_in_one_trip(void **state)
{
    fixture *f = *state;
    enum { COUNT = 1234 };
    tkl_log *log;
    static tkl_log_message messages[COUNT];
    tkl_log_options options = {.keep = 10000};
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &options, &log));
    for (int i = 0; i < COUNT; i++)
        messages[i] = (tkl_log_message){.severity = i % 8, .text = tkl_str(i % 3 ? "a" : "b")};
    assert_ok(tkl_log_write(log, messages, COUNT));
    tkl_log_entries *entries;
    assert_ok(tkl_log_recent(log, TKL_LOG_ANY, SIZE_MAX, &entries));
    assert_int_equal(entries->count, COUNT);
    tkl_log_entries_free(entries);
    assert_int_equal(total(log, TKL_HOUR_THIS) + total(log, TKL_HOUR_LAST), COUNT);
    tkl_log_close(log);
}

static void a_full_table_gives_way_and_the_sum_stays_right(void **state)
{
    fixture *f = *state;
    tkl_log *log;
    tkl_log_options options = {.distinct = 5};
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &options, &log));
    for (int i = 0; i < 50; i++) {
        assert_ok(tkl_log_print(log, TKL_LOG_INFO, "request %d failed", i));
        if (i >= 25)
            say(log, TKL_LOG_INFO, "late but frequent");
    }
    tkl_log_counts *c = common(log, TKL_LOG_INFO, TKL_HOUR_THIS);
    if (total(log, TKL_HOUR_THIS) == 75) { /* else the hour has just changed */
        assert_int_equal(c->count, 5);
        assert_memory_equal(c->items[0].message.data, "late", 4);
        assert_in_range(c->items[0].times, 15, 25); /* at least: it may have been evicted early */
        assert_in_range(c->other, 46, 56);
    }
    tkl_log_counts_free(c);
    tkl_log_close(log);
}

static void what_makes_no_sense_is_refused(void **state)
{
    fixture *f = *state;
    tkl_log *log;
    tkl_log_severity severity;
    tkl_log_counts *counts;
    tkl_log_entries *entries;
    tkl_log_writer *writer;
    const tkl_log_options bad[] = {{.keep = -1},        {.keep = 10001}, {.distinct = -1},
                                   {.distinct = 10001}, {.ttl_ms = -2},  {.timeout_ms = -1},
                                   {.reserved = {1}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_log_open(f->client, tkl_str("x"), &bad[i], &log), TKL_EINVAL);
        assert_null(log);
    }
    assert_code(tkl_log_open(f->client, tkl_str(""), NULL, &log), TKL_EINVAL);
    log = open_log(f->client, "x");
    tkl_log_message message = {.severity = 8, .text = tkl_str("x")};
    assert_code(tkl_log_write(log, &message, 1), TKL_EINVAL);
    message.severity = TKL_LOG_ANY;
    assert_code(tkl_log_write(log, &message, 1), TKL_EINVAL);
    assert_code(tkl_log_recent(log, 8, 1, &entries), TKL_EINVAL);
    assert_code(tkl_log_common(log, TKL_LOG_ANY, TKL_HOUR_BOTH, 1, &counts), TKL_EINVAL);
    assert_code(tkl_log_writer_open(log, &(tkl_log_writer_options){.batch = 501}, &writer),
                TKL_EINVAL);
    assert_code(tkl_log_severity_parse("loud", &severity), TKL_EINVAL);
    assert_ok(tkl_log_severity_parse("WARN", &severity));
    assert_int_equal(severity, TKL_LOG_WARNING);
    for (int i = TKL_LOG_ANY; i < 8; i++) {
        assert_ok(tkl_log_severity_parse(tkl_log_severity_name(i), &severity));
        assert_int_equal(severity, i);
    }
    assert_null(tkl_log_severity_name(8));
    assert_code(tkl_log_drop(log), TKL_NOTFOUND);
    tkl_log_close(log);
    tkl_log_close(NULL);
    tkl_log_entries_free(NULL);
    tkl_log_counts_free(NULL);
    tkl_log_tail_close(NULL);
}

static void foreign_keys_are_found_before_anything_is_written(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"recent", "hour", "this", "last"};
    tkl_log *log = open_log(f->client, "x");
    tkl_log_message both[] = {{.severity = TKL_LOG_INFO, .text = tkl_str("fine")},
                              {.severity = TKL_LOG_ERROR, .text = tkl_str("in the way")}};
    for (int i = 0; i < 4; i++) {
        char *key = test_format("tackle:log:{x}:%s:error", parts[i]);
        assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
        assert_ok(tkl_callz(f->client, NULL, "SET", key, "foreign", NULL));
        assert_code(tkl_log_write(log, both, 2), TKL_ETYPE);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
        free(key);
    }
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    assert_ok(
        tkl_callz(f->client, NULL, "HSET", "tackle:log:{x}:hour:error", "hour", "noon", NULL));
    assert_code(tkl_log_write(log, both, 2), TKL_ETYPE);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    assert_ok(tkl_callz(f->client, NULL, "XADD", "tackle:log:{x}:recent:error",
                        "18446744073709551615-18446744073709551615", "m", "x", NULL));
    assert_code(tkl_log_write(log, both + 1, 1), TKL_EREFUSED); /* no id is left */
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_log_close(log);
}

static void a_full_server_writes_nothing(void **state)
{
    fixture *f = *state;
    tkl_log *log = open_log(f->client, "x");
    say(log, TKL_LOG_INFO, "a");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_log_print(log, TKL_LOG_INFO, "b"), TKL_EOOM);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_recent(log, TKL_LOG_INFO, 10, "a ");
    assert_int_equal(total(log, TKL_HOUR_THIS) + total(log, TKL_HOUR_LAST), 1);
    tkl_log_close(log);
}

static void logs_are_listed_expire_and_are_dropped(void **state)
{
    fixture *f = *state;
    tkl_log *log, *stays;
    tkl_names *names;
    assert_ok(
        tkl_log_open(f->client, tkl_str("stays"), &(tkl_log_options){.ttl_ms = TKL_NONE}, &stays));
    log = open_log(f->client, "goes");
    say(log, TKL_LOG_INFO, "a");
    say(log, TKL_LOG_ERROR, "a");
    say(stays, TKL_LOG_INFO, "a");
    assert_ok(tkl_log_names(f->client, &names));
    assert_int_equal(names->count, 2);
    assert_memory_equal(names->items[0].data, "goes", 4);
    tkl_names_free(names);
    assert_in_range(call_int(f->client, "PTTL", "tackle:log:{goes}:recent:info", NULL),
                    INT64_C(2500000000), INT64_C(2592000000));
    assert_int_equal(call_int(f->client, "PTTL", "tackle:log:{stays}:recent:info", NULL), -1);
    static const char *const others[] = {"this", "hour"};
    for (int i = 0; i < 2; i++) {
        char *key = test_format("tackle:log:{stays}:%s:info", others[i]);
        assert_in_range(call_int(f->client, "TTL", key, NULL), 3590, 7200);
        free(key);
    }
    assert_ok(tkl_log_drop(log));
    assert_ok(tkl_log_drop(stays));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_log_close(log);
    tkl_log_close(stays);
}

static void the_permissions_of_the_page_suffice(void **state)
{
    fixture *f = *state;
    server_do(
        f->server,
        "ACL SETUSER logging on >secret ~tackle:log:* +evalsha +eval +time +xadd +xlen "
        "+xread +xrevrange +hmget +hset +zadd +zcard +zcount +zrange +zrem +zrevrange +rename +del "
        "+expireat +pexpire +persist +unlink +scan +client|setname");
    tkl_client *client =
        test_open(f->server->url, &(tkl_options){.username = "logging", .password = "secret"});
    tkl_log *log;
    tkl_names *names;
    tkl_log_tail *tail;
    tkl_log_entries *entries;
    assert_ok(tkl_log_open(client, tkl_str("x"), &(tkl_log_options){.distinct = 1}, &log));
    say(log, TKL_LOG_INFO, "a");
    say(log, TKL_LOG_INFO, "b");
    server_do(f->server, "HINCRBY tackle:log:{x}:hour:info hour -1"); /* the next one turns */
    say(log, TKL_LOG_INFO, "c");
    assert_recent(log, TKL_LOG_ANY, 10, "a b c ");
    assert_int_equal(total(log, TKL_HOUR_THIS) + total(log, TKL_HOUR_LAST), 3);
    assert_ok(tkl_log_tail_open(log, TKL_LOG_INFO, 1, &tail));
    assert_ok(tkl_log_tail_next(tail, 0, &entries));
    tkl_log_entries_free(entries);
    assert_code(tkl_log_tail_next(tail, 0, &entries), TKL_EMPTY);
    tkl_log_tail_close(tail);
    assert_ok(tkl_log_names(client, &names));
    tkl_names_free(names);
    tkl_log_close(log);
    assert_ok(tkl_log_open(client, tkl_str("x"), &(tkl_log_options){.ttl_ms = TKL_NONE}, &log));
    say(log, TKL_LOG_INFO, "c");
    assert_ok(tkl_log_drop(log));
    tkl_log_close(log);
    tkl_close(client);
    server_do(f->server, "ACL DELUSER logging");
}

/* ---- The hour ------------------------------------------------------------ */

/* A full hour. */
#define NOON_MS INT64_C(1800000000000)

typedef struct stage {
    timed_server *time;
    tkl_client *client;
    tkl_log *log;
} stage;

static stage stage_open(void)
{
    stage s = {.time = timed_start(NULL)};
    timed_set(s.time, NOON_MS + 60000);
    s.client = test_open(s.time->server->url, NULL);
    s.log = open_log(s.client, "shop");
    return s;
}

static void stage_close(stage *s)
{
    tkl_log_close(s->log);
    tkl_close(s->client);
    timed_end(s->time);
}

static void assert_totals(tkl_log *log, int64_t this, int64_t last)
{
    assert_int_equal(total(log, TKL_HOUR_THIS), this);
    assert_int_equal(total(log, TKL_HOUR_LAST), last);
}

static void this_hour_becomes_last_hour(void **state)
{
    (void)state;
    stage s = stage_open();
    say(s.log, TKL_LOG_INFO, "a");
    say(s.log, TKL_LOG_INFO, "a");
    assert_totals(s.log, 2, 0);
    timed_shift(s.time, HOUR_MS);
    assert_totals(s.log, 0, 2); /* nobody wrote: reading says so all the same */
    say(s.log, TKL_LOG_INFO, "b");
    assert_totals(s.log, 1, 2);
    tkl_log_counts *c = common(s.log, TKL_LOG_INFO, TKL_HOUR_LAST);
    assert_int_equal(c->start_ms, NOON_MS);
    assert_int_equal(c->items[0].times, 2);
    tkl_log_counts_free(c);
    timed_shift(s.time, HOUR_MS);
    say(s.log, TKL_LOG_INFO, "c");
    assert_totals(s.log, 1, 1);
    stage_close(&s);
}

static void hours_of_silence_leave_last_hour_empty(void **state)
{
    (void)state;
    for (int hours = 2; hours < 6; hours++) {
        stage s = stage_open();
        say(s.log, TKL_LOG_INFO, "a");
        timed_shift(s.time, hours * HOUR_MS);
        assert_totals(s.log, 0, 0);
        say(s.log, TKL_LOG_INFO, "b");
        assert_totals(s.log, 1, 0);
        stage_close(&s);
    }
}

static void tables_expire_by_themselves(void **state)
{
    (void)state;
    stage s = stage_open();
    say(s.log, TKL_LOG_INFO, "a");
    timed_shift(s.time, HOUR_MS);
    say(s.log, TKL_LOG_INFO, "a");
    assert_int_equal(call_int(s.client, "DBSIZE", NULL), 4);
    timed_shift(s.time, 2 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 1, 20000); /* recent */
    timed_shift(s.time, 30 * 24 * HOUR_MS);
    eventually(call_int(s.client, "DBSIZE", NULL) == 0, 20000);
    stage_close(&s);
}

static void a_clock_set_back_neither_loses_nor_repeats(void **state)
{
    (void)state;
    static const struct {
        int64_t back_ms;
        int64_t this, last; /* after one more message */
    } steps[] = {
        {1000, 3, 1},               /* within the hour */
        {120000, 3, 1},             /* across the full hour: this table goes on */
        {HOUR_MS, 3, 1},            /* an hour */
        {2 * HOUR_MS, 1, 2},        /* more: it becomes last hour's */
        {365 * 24 * HOUR_MS, 1, 2}, /* a year */
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        stage s = stage_open();
        say(s.log, TKL_LOG_INFO, "a");
        timed_shift(s.time, HOUR_MS);
        say(s.log, TKL_LOG_INFO, "b");
        say(s.log, TKL_LOG_INFO, "b");
        assert_totals(s.log, 2, 1);
        timed_shift(s.time, -steps[i].back_ms);
        say(s.log, TKL_LOG_INFO, "c");
        assert_totals(s.log, steps[i].this, steps[i].last);
        stage_close(&s);
    }
}

static void a_clock_that_comes_back_goes_on(void **state)
{
    (void)state;
    stage s = stage_open();
    say(s.log, TKL_LOG_INFO, "a");
    timed_shift(s.time, -120000); /* 11:59 */
    say(s.log, TKL_LOG_INFO, "b");
    timed_shift(s.time, 120000);
    say(s.log, TKL_LOG_INFO, "c");
    assert_totals(s.log, 3, 0);
    timed_shift(s.time, HOUR_MS);
    say(s.log, TKL_LOG_INFO, "d");
    assert_totals(s.log, 1, 3);
    stage_close(&s);
}

enum { WRITERS = 8, EACH = 300 };

/* Writes its messages; the result is the number of failures. */
static int write_many(void *url)
{
    tkl_client *client;
    tkl_log *log;
    int failures = 0;
    if (tkl_open(url, &(tkl_options){.timeout_ms = 60000}, &client) != TKL_OK ||
        tkl_log_open(client, tkl_str("shop"), NULL, &log) != TKL_OK)
        return 100;
    for (int i = 0; i < EACH; i++) {
        tkl_log_message batch[3] = {{.severity = TKL_LOG_INFO, .text = tkl_str("a")},
                                    {.severity = TKL_LOG_ERROR, .text = tkl_str("b")},
                                    {.severity = TKL_LOG_INFO, .text = tkl_str("c")}};
        failures += tkl_log_write(log, batch, 3) != TKL_OK;
        usleep(500);
    }
    tkl_log_close(log);
    tkl_close(client);
    return failures;
}

/* What is counted in both hours is what was written, at any moment. */
static void the_hour_changes_under_load_of_eight_processes(void **state)
{
    (void)state;
    pid_t writers[WRITERS];
    stage s = stage_open();
    timed_set(s.time, NOON_MS + HOUR_MS - 100);
    for (int i = 0; i < WRITERS; i++)
        writers[i] = process_fork(write_many, s.time->server->url);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(process_wait(writers[i]), 0);
    int64_t this = total(s.log, TKL_HOUR_THIS), last = total(s.log, TKL_HOUR_LAST);
    assert_int_equal(this + last, WRITERS * EACH * 3);
    assert_true(this > 0);
    /* All three messages of a step are in the same hour, although of two severities. */
    for (tkl_hour hour = TKL_HOUR_THIS; hour <= TKL_HOUR_LAST; hour++) {
        tkl_log_counts *c = common(s.log, TKL_LOG_ANY, hour);
        for (size_t i = 1; i < c->count; i++)
            assert_int_equal(c->items[i].times, c->items[0].times);
        tkl_log_counts_free(c);
    }
    stage_close(&s);
}

/* ---- Following ----------------------------------------------------------- */

static tkl_log_tail *open_tail(tkl_log *log, tkl_log_severity severity, size_t count)
{
    tkl_log_tail *tail;
    assert_ok(tkl_log_tail_open(log, severity, count, &tail));
    return tail;
}

static void next_is(tkl_log_tail *tail, const char *text)
{
    tkl_log_entries *entries;
    assert_ok(tkl_log_tail_next(tail, 20000, &entries));
    assert_int_equal(entries->count, 1);
    assert_int_equal(entries->items[0].message.len, strlen(text));
    assert_memory_equal(entries->items[0].message.data, text, strlen(text));
    tkl_log_entries_free(entries);
}

static void a_tail_begins_with_recent_messages_and_goes_on(void **state)
{
    fixture *f = *state;
    tkl_log *log = open_log(f->client, "x");
    tkl_log_entries *entries;
    say(log, TKL_LOG_INFO, "a");
    say(log, TKL_LOG_ERROR, "b");
    tkl_log_tail *all = open_tail(log, TKL_LOG_ANY, 1), *later = open_tail(log, TKL_LOG_ANY, 0);
    tkl_log_tail *errors = open_tail(log, TKL_LOG_ERROR, 10);
    next_is(all, "b");
    assert_code(tkl_log_tail_next(later, 0, &entries), TKL_EMPTY);
    next_is(errors, "b");
    say(log, TKL_LOG_DEBUG, "c");
    next_is(all, "c");
    next_is(later, "c");
    assert_code(tkl_log_tail_next(errors, 0, &entries), TKL_EMPTY);
    assert_null(entries);
    say(log, TKL_LOG_ERROR, "d");
    next_is(errors, "d");
    tkl_log_tail_close(all);
    tkl_log_tail_close(later);
    tkl_log_tail_close(errors);
    tkl_log_close(log);
}

typedef struct follower {
    tkl_log *log;
    tkl_log_tail *tail;
    atomic_int seen;
    atomic_int code;
} follower;

static void follow(void *arg, int index)
{
    follower *f = arg;
    tkl_log_entries *entries;
    (void)index;
    int rc;
    while ((rc = tkl_log_tail_next(f->tail, -1, &entries)) == TKL_OK) {
        atomic_fetch_add(&f->seen, (int)entries->count);
        tkl_log_entries_free(entries);
    }
    atomic_store(&f->code, rc);
}

static void a_tail_sleeps_until_something_comes(void **state)
{
    fixture *f = *state;
    follower one = {.log = open_log(f->client, "x")};
    one.tail = open_tail(one.log, TKL_LOG_ANY, 0);
    say(one.log, TKL_LOG_INFO, "before");
    crew *c = crew_start(1, follow, &one);
    eventually(server_info(f->server, "blocked_clients") == 1, 20000);
    int64_t commands = server_commands(f->server);
    test_sleep_ms(100);
    assert_int_equal(server_commands(f->server), commands);
    say(one.log, TKL_LOG_INFO, "now");
    eventually(atomic_load(&one.seen) == 1, 20000);
    tkl_interrupt(f->client);
    crew_join(c);
    tkl_resume(f->client);
    assert_code(atomic_load(&one.code), TKL_EINTR);
    tkl_log_tail_close(one.tail);
    tkl_log_close(one.log);
}

static void a_tail_survives_a_restart_and_a_flush(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    follower one = {.log = open_log(client, "x")};
    say(one.log, TKL_LOG_INFO, "before");
    one.tail = open_tail(one.log, TKL_LOG_INFO, 5);
    crew *c = crew_start(1, follow, &one);
    eventually(atomic_load(&one.seen) == 1, 20000);
    server_restart(s);
    say(one.log, TKL_LOG_INFO, "after the restart");
    eventually(atomic_load(&one.seen) == 2, 30000);
    server_do(s, "FLUSHALL");
    say(one.log, TKL_LOG_INFO, "after the flush");
    eventually(atomic_load(&one.seen) == 3, 30000);
    tkl_interrupt(client);
    crew_join(c);
    tkl_log_tail_close(one.tail);
    tkl_log_close(one.log);
    tkl_close(client);
    server_end(s);
}

/* ---- The collecting writer ----------------------------------------------- */

static tkl_log_writer *open_writer(tkl_log *log, const tkl_log_writer_options *options)
{
    tkl_log_writer *writer;
    assert_ok(tkl_log_writer_open(log, options, &writer));
    return writer;
}

static tkl_log_writer_stats stats_of(tkl_log_writer *writer)
{
    tkl_log_writer_stats stats;
    tkl_log_writer_stats_get(writer, &stats);
    return stats;
}

static void a_writer_collects_and_keeps_the_order(void **state)
{
    fixture *f = *state;
    tkl_log *log;
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.keep = 10000}, &log));
    tkl_log_writer *w = open_writer(log, &(tkl_log_writer_options){.interval_ms = 10});
    tkl_log_writer_stats stats;
    for (int i = 0; i < 2000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        assert_ok(tkl_log_writer_write(w, TKL_LOG_INFO, tkl_str(text)));
    }
    assert_ok(tkl_log_writer_close(w, &stats));
    assert_int_equal(stats.written, 2000);
    assert_int_equal(stats.pending + stats.unsure + stats.lost + stats.refused, 0);
    tkl_log_entries *entries;
    assert_ok(tkl_log_recent(log, TKL_LOG_INFO, 2000, &entries));
    assert_int_equal(entries->count, 2000);
    for (size_t i = 0; i < 2000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%zu", i);
        assert_memory_equal(entries->items[i].message.data, text, strlen(text));
    }
    tkl_log_entries_free(entries);
    assert_int_equal(total(log, TKL_HOUR_THIS) + total(log, TKL_HOUR_LAST), 2000);
    tkl_log_close(log);
}

static void a_lone_message_is_sent_soon(void **state)
{
    fixture *f = *state;
    tkl_log *log = open_log(f->client, "x");
    tkl_log_writer *w = open_writer(log, &(tkl_log_writer_options){.interval_ms = 20});
    assert_ok(tkl_log_writer_write(w, TKL_LOG_INFO, tkl_str("alone")));
    eventually(stats_of(w).written == 1, 20000);
    int64_t commands = server_commands(f->server);
    test_sleep_ms(80);
    assert_int_equal(server_commands(f->server), commands);
    assert_ok(tkl_log_writer_close(w, NULL));
    assert_ok(tkl_log_writer_close(NULL, NULL));
    tkl_log_close(log);
}

static void write_often(void *writer, int index)
{
    (void)index;
    for (int i = 0; i < 1000; i++)
        assert_ok(tkl_log_writer_write(writer, i % 8, tkl_str("hot")));
}

static void a_writer_may_be_used_by_many_threads(void **state)
{
    fixture *f = *state;
    tkl_log *log = open_log(f->client, "x");
    tkl_log_writer *w = open_writer(log, &(tkl_log_writer_options){.interval_ms = 1});
    tkl_log_writer_stats stats;
    crew_run(4, write_often, w);
    assert_ok(tkl_log_writer_flush(w));
    assert_int_equal(stats_of(w).pending, 0);
    assert_ok(tkl_log_writer_close(w, &stats));
    assert_int_equal(stats.written, 4000);
    assert_int_equal(total(log, TKL_HOUR_THIS) + total(log, TKL_HOUR_LAST), 4000);
    tkl_log_close(log);
}

static void a_writer_loses_no_more_than_allowed_and_says_how_much(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 300});
    tkl_log *log = open_log(client, "x");
    tkl_log_writer *w =
        open_writer(log, &(tkl_log_writer_options){.interval_ms = 20, .batch = 50, .most = 100});
    tkl_log_writer_stats stats;
    say(log, TKL_LOG_INFO, "here");
    server_kill(s);
    int accepted = 0, refused = 0;
    for (int i = 0; i < 300; i++) {
        int rc = tkl_log_writer_write(w, TKL_LOG_INFO, tkl_str("away"));
        assert_true(rc == TKL_OK || rc == TKL_FULL);
        accepted += rc == TKL_OK;
        refused += rc == TKL_FULL;
    }
    assert_true(refused > 0);
    server_restart(s);
    eventually(stats_of(w).pending == 0, 30000);
    stats = stats_of(w);
    assert_int_equal(stats.written + stats.unsure, accepted);
    assert_int_equal(stats.refused, refused);
    server_kill(s);
    for (int i = 0; i < 7; i++)
        assert_ok(tkl_log_writer_write(w, TKL_LOG_INFO, tkl_str("lost")));
    assert_int_not_equal(tkl_log_writer_close(w, &stats), TKL_OK);
    assert_int_equal(stats.pending + stats.unsure + stats.written, accepted + 7);
    assert_true(stats.pending + stats.unsure >= 7);
    tkl_log_close(log);
    tkl_close(client);
    server_end(s);
}

static int use_parents(void *writer)
{
    tkl_log_writer_stats stats;
    if (tkl_log_writer_write(writer, TKL_LOG_INFO, tkl_str("child")) != TKL_EINVAL ||
        tkl_log_writer_flush(writer) != TKL_EINVAL)
        return 1;
    return tkl_log_writer_close(writer, &stats) == TKL_OK && stats.pending == 0 ? 0 : 2;
}

static void a_child_sends_nothing_of_its_parents_writer(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_log *log = open_log(f->client, "x");
    tkl_log_writer *w = open_writer(log, &(tkl_log_writer_options){.interval_ms = 60000});
    assert_ok(tkl_log_writer_write(w, TKL_LOG_INFO, tkl_str("parent")));
    assert_int_equal(process_wait(process_fork(use_parents, w)), 0);
    assert_ok(tkl_log_writer_close(w, NULL));
    assert_recent(log, TKL_LOG_ANY, 10, "parent ");
    tkl_log_close(log);
}

/* ---- A cluster ----------------------------------------------------------- */

static void logs_work_on_a_cluster(void **state)
{
    (void)state;
    cluster *cl = cluster_start(false);
    tkl_client *client = test_open(cl->url, NULL);
    for (int i = 0; i < 6; i++) {
        char name[8];
        snprintf(name, sizeof name, "log%d", i);
        tkl_log *log = open_log(client, name);
        tkl_log_tail *tail = open_tail(log, TKL_LOG_ANY, 5);
        say(log, TKL_LOG_INFO, name);
        next_is(tail, name);
        assert_int_equal(total(log, TKL_HOUR_THIS) + total(log, TKL_HOUR_LAST), 1);
        tkl_log_tail_close(tail);
        tkl_log_close(log);
    }
    tkl_names *names;
    assert_ok(tkl_log_names(client, &names));
    assert_int_equal(names->count, 6);
    tkl_names_free(names);
    tkl_close(client);
    cluster_end(cl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_messages_of_each_severity_are_kept),
        TEST(common_messages_are_counted),
        TEST(any_bytes_are_messages),
        TEST(many_messages_are_written_in_one_trip),
        TEST(a_full_table_gives_way_and_the_sum_stays_right),
        TEST(what_makes_no_sense_is_refused),
        TEST(foreign_keys_are_found_before_anything_is_written),
        TEST(a_full_server_writes_nothing),
        TEST(logs_are_listed_expire_and_are_dropped),
        TEST(the_permissions_of_the_page_suffice),
        TEST(a_tail_begins_with_recent_messages_and_goes_on),
        TEST(a_tail_sleeps_until_something_comes),
        TEST(a_writer_collects_and_keeps_the_order),
        TEST(a_lone_message_is_sent_soon),
        TEST(a_writer_may_be_used_by_many_threads),
        TEST(a_child_sends_nothing_of_its_parents_writer),
        cmocka_unit_test(messages_are_time_stamped_by_the_server),
        cmocka_unit_test(this_hour_becomes_last_hour),
        cmocka_unit_test(hours_of_silence_leave_last_hour_empty),
        cmocka_unit_test(tables_expire_by_themselves),
        cmocka_unit_test(a_clock_set_back_neither_loses_nor_repeats),
        cmocka_unit_test(a_clock_that_comes_back_goes_on),
        cmocka_unit_test(the_hour_changes_under_load_of_eight_processes),
        cmocka_unit_test(a_tail_survives_a_restart_and_a_flush),
        cmocka_unit_test(a_writer_loses_no_more_than_allowed_and_says_how_much),
        cmocka_unit_test(logs_work_on_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
