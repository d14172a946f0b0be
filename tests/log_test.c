/* SPDX-License-Identifier: MIT
 *
 * Logs: recent and common messages, refusals, and keys that other programs put in the way.
 */
#include <tackle/log.h>

#include "support/fixture.h"
#include "support/locale.h"
#include "support/logs.h"
#include "support/permissions.h"

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

static void messages_since_a_moment_are_read(void **state)
{
    fixture *f = *state;
    tkl_log *log = open_log(f->client, "shop");
    tkl_log_entries *entries;
    say(log, TKL_LOG_INFO, "before");
    test_sleep_ms(5);
    say(log, TKL_LOG_ERROR, "first");
    say(log, TKL_LOG_INFO, "second");
    assert_ok(tkl_log_recent(log, TKL_LOG_ERROR, 1, &entries));
    int64_t since_ms = entries->items[0].time_ms;
    tkl_log_entries_free(entries);
    static const struct {
        tkl_log_severity severity;
        int64_t behind_ms;
        size_t max, count;
    } asked[] = {{TKL_LOG_ANY, 0, 10, 2},       {TKL_LOG_INFO, 0, 10, 1},
                 {TKL_LOG_ANY, 0, 1, 1},        {TKL_LOG_ERROR, 1, 10, 0},
                 {TKL_LOG_ANY, -100000, 10, 3}, {TKL_LOG_ANY, 100000, 10, 0}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        assert_ok(tkl_log_since(log, asked[i].severity, since_ms + asked[i].behind_ms, asked[i].max,
                                &entries));
        assert_int_equal(entries->count, asked[i].count);
        tkl_log_entries_free(entries);
    }
    assert_ok(tkl_log_since(log, TKL_LOG_ANY, -5, 10, &entries));
    assert_int_equal(entries->count, 3);
    tkl_log_entries_free(entries);
    assert_code(tkl_log_since(log, 8, 0, 10, &entries), TKL_EINVAL);
    tkl_log_close(log);
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
        assert_int_equal(c->start_ms % 3600000, 0);
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
    tkl_log_options options = {.keep = 5000};
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

/* A step reads a hundred messages, and then a megabyte: no command keeps the server busy for
 * long. */
static void long_messages_are_read_in_short_steps(void **state)
{
    fixture *f = *state;
    enum { COUNT = 250 };
    static char text[TKL_LOG_MESSAGE_MAX];
    static tkl_log_message messages[COUNT];
    tkl_log_options options = {.keep = 5000};
    tkl_log *log;
    tkl_log_entries *entries;
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &options, &log));
    for (int i = 0; i < COUNT; i++)
        messages[i] =
            (tkl_log_message){.severity = TKL_LOG_INFO, .text = {text, sizeof text - (size_t)i}};
    assert_ok(tkl_log_write(log, messages, COUNT));
    static const size_t wanted[] = {COUNT, SIZE_MAX, 110};
    for (size_t k = 0; k < 3; k++) {
        size_t count = wanted[k] < COUNT ? wanted[k] : COUNT;
        int64_t before = server_calls(f->server, "xrevrange");
        assert_ok(tkl_log_recent(log, TKL_LOG_INFO, wanted[k], &entries));
        assert_int_equal(server_calls(f->server, "xrevrange") - before, k == 2 ? 2 : 1 + 10);
        assert_int_equal(entries->count, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(entries->items[i].message.len, sizeof text - (COUNT - count) - i);
        tkl_log_entries_free(entries);
    }
    tkl_log_close(log);
}

/* A step writes 64 KB. */
static void long_messages_are_written_in_short_steps(void **state)
{
    fixture *f = *state;
    enum { COUNT = 100, A_STEP = 8 };
    static char text[TKL_LOG_MESSAGE_MAX / A_STEP];
    static tkl_log_message messages[COUNT];
    tkl_log *log = open_log(f->client, "x");
    tkl_log_entries *entries;
    for (int i = 0; i < COUNT; i++)
        messages[i] =
            (tkl_log_message){.severity = TKL_LOG_INFO, .text = {text, sizeof text - (size_t)i}};
    say(log, TKL_LOG_INFO, "the script is known");
    int64_t before = server_functions(f->server);
    assert_ok(tkl_log_write(log, messages, COUNT));
    int64_t steps = server_functions(f->server) - before;
    assert_in_range(steps, 13, 15);
    assert_ok(tkl_log_recent(log, TKL_LOG_INFO, COUNT, &entries));
    assert_int_equal(entries->count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(entries->items[i].message.len, sizeof text - i);
    tkl_log_entries_free(entries);
    tkl_log_close(log);
}

/* An answer has 512 KB. */
static void common_messages_that_are_long_are_read_in_short_steps(void **state)
{
    fixture *f = *state;
    enum { COUNT = 20, LEN = 60000 };
    static char texts[COUNT][LEN];
    static tkl_log_message messages[COUNT];
    tkl_log *log = open_log(f->client, "x");
    for (int i = 0; i < COUNT; i++) {
        texts[i][0] = (char)('a' + i);
        messages[i] = (tkl_log_message){.severity = i % 2 ? TKL_LOG_INFO : TKL_LOG_ERROR,
                                        .text = {texts[i], LEN}};
    }
    say(log, TKL_LOG_ERROR, "short");
    assert_ok(tkl_log_write(log, messages, COUNT));
    assert_ok(tkl_log_write(log, messages + 7, 1));
    int64_t before = server_functions(f->server);
    tkl_log_counts *c = common(log, TKL_LOG_ANY, TKL_HOUR_THIS);
    if (c->count == COUNT + 1) { /* else the hour has just changed */
        assert_int_equal(c->items[0].times, 2);
        assert_int_equal(c->items[0].message.data[0], 'a' + 7);
        assert_int_equal(c->items[COUNT].times, 1);
        assert_true(server_functions(f->server) - before > 8);
    }
    tkl_log_counts_free(c);
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
        assert_in_range(c->items[0].times, 25, 25 + c->items[0].excess);
        assert_in_range(c->bound, 1, 75 / 5);
    }
    tkl_log_counts_free(c);
    tkl_log_close(log);
}

/* Writes messages, in batches as large as one step may be. */
typedef struct batch {
    tkl_log *log;
    tkl_log_message messages[100];
    char texts[100][32];
    size_t count;
} batch;

static void batch_send(batch *b)
{
    assert_ok(tkl_log_write(b->log, b->messages, b->count));
    b->count = 0;
}

static void batch_add(batch *b, const char *format, int number)
{
    if (b->count == 100)
        batch_send(b);
    snprintf(b->texts[b->count], sizeof *b->texts, format, number);
    b->messages[b->count] =
        (tkl_log_message){.severity = TKL_LOG_ERROR, .text = tkl_str(b->texts[b->count])};
    b->count++;
}

/* A frequent message that comes late gets in, however many others come and go. */
static void the_most_frequent_message_is_never_missing(void **state)
{
    fixture *f = *state;
    enum { OLD = 100, NEW = 1000, WRITTEN = 2 * OLD + 2 * NEW };
    static batch b;
    b = (batch){0};
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.distinct = OLD}, &b.log));
    for (int i = 0; i < 2 * OLD; i++)
        batch_add(&b, "old %d", i % OLD);
    for (int i = 0; i < NEW; i++) {
        batch_add(&b, "DATABASE DOWN", 0);
        batch_send(&b);
        batch_add(&b, "new %d", i);
        batch_send(&b);
    }
    tkl_log_counts *c = common(b.log, TKL_LOG_ERROR, TKL_HOUR_BOTH);
    const tkl_log_count *first = &c->items[0];
    assert_memory_equal(first->message.data, "DATABASE DOWN", 13);
    assert_in_range(first->times, NEW, NEW + first->excess);
    assert_in_range(c->bound, 2, WRITTEN / OLD);
    tkl_log_counts_free(c);
    tkl_log_close(b.log);
}

/* Random messages, of which some are frequent at times: each count is within its bounds. */
static void counts_are_within_what_they_promise(void **state)
{
    fixture *f = *state;
    enum { KINDS = 300, WRITTEN = 20000, ROOM = 40 };
    static batch b;
    static int64_t written[KINDS];
    unsigned seed = 1;
    memset(written, 0, sizeof written);
    b = (batch){0};
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.distinct = ROOM}, &b.log));
    for (int i = 0; i < WRITTEN; i++) {
        int kind = rand_r(&seed) % 3 ? rand_r(&seed) % KINDS : i / 2000; /* one at a time often */
        written[kind]++;
        batch_add(&b, "%d", kind);
        if (rand_r(&seed) % 20 == 0)
            batch_send(&b);
    }
    batch_send(&b);
    bool listed[KINDS] = {false};
    tkl_log_counts *c = common(b.log, TKL_LOG_ERROR, TKL_HOUR_BOTH);
    for (size_t i = 0; i < c->count; i++) {
        char text[32];
        snprintf(text, sizeof text, TKL_FMT, TKL_ARG(c->items[i].message));
        int64_t truth = written[atoi(text)];
        listed[atoi(text)] = true;
        assert_in_range(truth, c->items[i].times - c->items[i].excess, c->items[i].times);
    }
    for (int i = 0; i < KINDS; i++)
        assert_true(listed[i] || written[i] <= c->bound);
    assert_true(c->bound > 0);
    tkl_log_counts_free(c);
    tkl_log_close(b.log);
}

/* A table that gets more room later does not forget what it has turned away. */
static void another_size_of_the_table_keeps_counts_right(void **state)
{
    fixture *f = *state;
    tkl_log *small, *large;
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.distinct = 2}, &small));
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.distinct = 50}, &large));
    for (int i = 0; i < 9; i++)
        assert_ok(tkl_log_print(small, TKL_LOG_INFO, "%d", i % 3));
    for (int i = 0; i < 30; i++)
        assert_ok(tkl_log_print(large, TKL_LOG_INFO, "%d", i));
    tkl_log_counts *c = common(large, TKL_LOG_INFO, TKL_HOUR_BOTH);
    assert_int_equal(c->count, 30);
    for (size_t i = 0; i < c->count; i++) {
        int64_t truth = c->items[i].message.len == 1 && c->items[i].message.data[0] < '3' ? 4 : 1;
        assert_in_range(truth, c->items[i].times - c->items[i].excess, c->items[i].times);
    }
    tkl_log_counts_free(c);
    for (int i = 100; i < 110; i++) /* and one that gets less room shrinks */
        assert_ok(tkl_log_print(small, TKL_LOG_INFO, "%d", i));
    c = common(small, TKL_LOG_INFO, TKL_HOUR_BOTH);
    assert_int_equal(c->count, 2);
    tkl_log_counts_free(c);
    tkl_log_close(small);
    tkl_log_close(large);
}

static void what_makes_no_sense_is_refused(void **state)
{
    fixture *f = *state;
    tkl_log *log;
    tkl_log_severity severity;
    tkl_log_counts *counts;
    tkl_log_entries *entries;
    tkl_log_writer *writer;
    tkl_log_tail *tail;
    const tkl_log_options bad[] = {{.keep = -1},       {.keep = 5001}, {.distinct = -1},
                                   {.distinct = 2001}, {.ttl_ms = -2}, {.timeout_ms = -1},
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
    assert_code(tkl_log_common(log, TKL_LOG_ANY, TKL_HOUR_SLIDING + 1, 1, &counts), TKL_EINVAL);
    assert_code(tkl_log_writer_open(log, &(tkl_log_writer_options){.batch = 101}, &writer),
                TKL_EINVAL);
    assert_code(
        tkl_log_tail_open(log, TKL_LOG_ANY, 0, &(tkl_log_tail_options){.timeout_ms = -1}, &tail),
        TKL_EINVAL);
    assert_null(tail);
    assert_code(
        tkl_log_tail_open(log, TKL_LOG_ANY, 0, &(tkl_log_tail_options){.reserved = {1}}, &tail),
        TKL_EINVAL);
    assert_code(tkl_log_severity_parse("loud", &severity), TKL_EINVAL);
    assert_ok(tkl_log_severity_parse("WARN", &severity));
    assert_int_equal(severity, TKL_LOG_WARNING);
    for (int i = TKL_LOG_ANY; i < 8; i++) {
        assert_ok(tkl_log_severity_parse(tkl_log_severity_name(i), &severity));
        assert_int_equal(severity, i);
    }
    assert_string_equal(tkl_log_severity_name(8), "unknown");
    assert_string_equal(tkl_log_severity_name(-2), "unknown");
    assert_code(tkl_log_drop(log), TKL_NOTFOUND);
    tkl_log_close(log);
    tkl_log_close(NULL);
    tkl_log_entries_free(NULL);
    tkl_log_counts_free(NULL);
    tkl_log_tail_close(NULL);
}

static void severities_have_their_names_in_every_locale(void **state)
{
    (void)state;
    tkl_log_severity severity;
    locale_with_another_i();
    int info = tkl_log_severity_parse("INFO", &severity);
    int critical = tkl_log_severity_parse("CRITICAL", &severity);
    int longer = tkl_log_severity_parse("infos", &severity);
    int shorter = tkl_log_severity_parse("inf", &severity);
    locale_plain();
    assert_ok(info);
    assert_ok(critical);
    assert_code(longer, TKL_EINVAL);
    assert_code(shorter, TKL_EINVAL);
}

static void foreign_keys_are_found_before_anything_is_written(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"recent", "this", "hour", "last", "last_hour"};
    tkl_log *log = open_log(f->client, "x");
    tkl_log_message both[] = {{.severity = TKL_LOG_INFO, .text = tkl_str("fine")},
                              {.severity = TKL_LOG_ERROR, .text = tkl_str("in the way")}};
    for (int i = 0; i < 5; i++) {
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
    assert_code(tkl_log_write(log, both, 2), TKL_EDAMAGED);
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
    tkl_client *client = documented_user(f->server, "log.md");
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
    tkl_log_counts_free(common(log, TKL_LOG_ANY, TKL_HOUR_SLIDING));
    assert_ok(tkl_log_tail_open(log, TKL_LOG_INFO, 1, NULL, &tail));
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_messages_of_each_severity_are_kept),
        TEST(messages_since_a_moment_are_read),
        TEST(common_messages_are_counted),
        TEST(any_bytes_are_messages),
        TEST(many_messages_are_written_in_one_trip),
        TEST(long_messages_are_written_in_short_steps),
        TEST(long_messages_are_read_in_short_steps),
        TEST(common_messages_that_are_long_are_read_in_short_steps),
        TEST(a_full_table_gives_way_and_the_sum_stays_right),
        TEST(the_most_frequent_message_is_never_missing),
        TEST(counts_are_within_what_they_promise),
        TEST(another_size_of_the_table_keeps_counts_right),
        TEST(what_makes_no_sense_is_refused),
        cmocka_unit_test(severities_have_their_names_in_every_locale),
        TEST(foreign_keys_are_found_before_anything_is_written),
        TEST(a_full_server_writes_nothing),
        TEST(logs_are_listed_expire_and_are_dropped),
        TEST(the_permissions_of_the_page_suffice),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
