/* SPDX-License-Identifier: MIT
 *
 * Following logs, and the collecting writer.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include <tackle/log.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/logs.h"
#include "support/process.h"

/* ---- Following ----------------------------------------------------------- */

static tkl_log_tail *open_tail(tkl_log *log, tkl_log_severity severity, size_t count)
{
    tkl_log_tail *tail;
    assert_ok(tkl_log_tail_open(log, severity, count, NULL, &tail));
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

/* Reads all that is there; how many messages, and how many were missed. */
static void drain(tkl_log_tail *tail, int64_t *count, int64_t *missed)
{
    tkl_log_entries *entries;
    int rc;
    *count = *missed = 0;
    while ((rc = tkl_log_tail_next(tail, 0, &entries)) == TKL_OK) {
        *count += (int64_t)entries->count;
        *missed += entries->missed;
        tkl_log_entries_free(entries);
    }
    assert_code(rc, TKL_EMPTY);
}

static void assert_drained(tkl_log_tail *tail, int64_t count, int64_t missed)
{
    int64_t got, gone;
    drain(tail, &got, &gone);
    assert_int_equal(got, count);
    assert_int_equal(gone, missed);
}

static void say_often(tkl_log *log, tkl_log_severity severity, int times)
{
    for (int i = 0; i < times; i++)
        say(log, severity, "x");
}

static void a_tail_that_falls_behind_says_how_many_it_missed(void **state)
{
    fixture *f = *state;
    tkl_log *log;
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.keep = 10}, &log));
    say_often(log, TKL_LOG_INFO, 25); /* before it began: not missed */
    tkl_log_tail *tail = open_tail(log, TKL_LOG_ANY, 3), *late = open_tail(log, TKL_LOG_ANY, 0);
    assert_drained(tail, 3, 0);
    assert_drained(late, 0, 0);
    say_often(log, TKL_LOG_INFO, 10);
    assert_drained(tail, 10, 0); /* just in time */
    say_often(log, TKL_LOG_INFO, 11);
    assert_drained(tail, 10, 1);
    say_often(log, TKL_LOG_INFO, 4);
    say_often(log, TKL_LOG_ERROR, 17); /* a severity that did not exist before */
    assert_drained(tail, 14, 7);
    assert_drained(late, 20, 15 + 7);
    assert_ok(tkl_log_drop(log)); /* dropped messages do not count as missed */
    say_often(log, TKL_LOG_INFO, 2);
    assert_drained(tail, 2, 0);
    tkl_log_tail_close(tail);
    tkl_log_tail_close(late);
    tkl_log_close(log);
}

/* One severity has more messages than one look brings. */
static void a_tail_with_much_to_read_keeps_the_order(void **state)
{
    fixture *f = *state;
    tkl_log *log;
    tkl_log_entries *entries;
    int64_t count = 0, last_ms = 0;
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.keep = 5000}, &log));
    tkl_log_tail *tail = open_tail(log, TKL_LOG_ANY, 0);
    assert_drained(tail, 0, 0);
    for (int i = 0; i < 5; i++) {
        say_often(log, TKL_LOG_INFO, 90);
        say_often(log, TKL_LOG_ERROR, 10);
        test_sleep_ms(2);
    }
    while (tkl_log_tail_next(tail, 0, &entries) == TKL_OK) {
        for (size_t i = 0; i < entries->count; i++) {
            assert_true(entries->items[i].time_ms >= last_ms);
            last_ms = entries->items[i].time_ms;
        }
        count += (int64_t)entries->count;
        tkl_log_entries_free(entries);
    }
    assert_int_equal(count, 500);
    tkl_log_tail_close(tail);
    tkl_log_close(log);
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
    assert_ok(tkl_log_open(f->client, tkl_str("x"), &(tkl_log_options){.keep = 5000}, &log));
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

static void a_writer_sends_long_messages_in_short_steps(void **state)
{
    fixture *f = *state;
    static char text[TKL_LOG_MESSAGE_MAX];
    tkl_log *log = open_log(f->client, "x");
    tkl_log_writer *w = open_writer(log, &(tkl_log_writer_options){.interval_ms = 60000});
    tkl_log_writer_stats stats;
    int64_t before = server_functions(f->server);
    for (int i = 0; i < 80; i++)
        assert_ok(tkl_log_writer_write(w, TKL_LOG_INFO, (tkl_bytes){text, sizeof text}));
    assert_in_range(stats_of(w).pending, 0, 7);
    assert_ok(tkl_log_writer_close(w, &stats));
    assert_int_equal(stats.written, 80);
    assert_true(server_functions(f->server) - before >= 10);
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
        TEST(a_tail_begins_with_recent_messages_and_goes_on),
        TEST(a_tail_sleeps_until_something_comes),
        TEST(a_tail_that_falls_behind_says_how_many_it_missed),
        TEST(a_tail_with_much_to_read_keeps_the_order),
        TEST(a_writer_collects_and_keeps_the_order),
        TEST(a_writer_sends_long_messages_in_short_steps),
        TEST(a_lone_message_is_sent_soon),
        TEST(a_writer_may_be_used_by_many_threads),
        TEST(a_child_sends_nothing_of_its_parents_writer),
        cmocka_unit_test(a_tail_survives_a_restart_and_a_flush),
        cmocka_unit_test(a_writer_loses_no_more_than_allowed_and_says_how_much),
        cmocka_unit_test(logs_work_on_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
