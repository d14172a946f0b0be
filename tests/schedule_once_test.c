/* SPDX-License-Identifier: MIT
 *
 * Each due time of a schedule is fired once: with many consumers, when consumers are killed, and
 * with wrong clocks.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/reply.h"
#include "queue/consumer.h"
#include "queue/schedule.h"
#include "support/peer.h"
#include "support/process.h"
#include "support/schedules.h"

/* Claims and reports until the time is up; leaves the ids of jobs that ran in a hash. */
static int consume(const char *url, int64_t ms)
{
    tkl_client *client;
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    if (tkl_open(url, NULL, &client) != TKL_OK ||
        tkl_queue_open(client, tkl_str("q"), NULL, &queue) != TKL_OK ||
        tkl_consumer_open(&queue, 1, &(tkl_consumer_options){.lease_ms = 500}, &consumer) != TKL_OK)
        return 1;
    for (int64_t end = test_now_ms() + ms; test_now_ms() < end;) {
        if (tkl_consumer_claim(consumer, 3, 300, &jobs) != TKL_OK)
            continue;
        for (size_t i = 0; i < jobs->count; i++) {
            const tkl_job *job = &jobs->items[i];
            tkl_report report = {.job = job};
            if (tkl_callz(client, NULL, "HINCRBY", "ran", job->id, "1", NULL) != TKL_OK ||
                tkl_consumer_finish(consumer, &report, 1) < 0)
                return 2;
        }
        tkl_jobs_free(jobs);
    }
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    return 0;
}

static int consume_for_4_s(void *url)
{
    return consume(url, 4000);
}

static int consume_for_ever(void *url)
{
    return consume(url, 10 * LONG_MS);
}

static void consume_in_thread(void *url, int index)
{
    (void)index;
    assert_int_equal(consume(url, 4000), 0);
}

#define NAMES 5

/* Returns the server's time from before. */
static int64_t set_ticks(server *s, tkl_queue *queue)
{
    int64_t start = server_time(s);
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "tick%d", i);
        set_schedule(queue, name,
                     &(tkl_schedule){.every_ms = 1000, .job = {.payload = tkl_str(name)}});
    }
    return start;
}

static int64_t unfinished(tkl_queue *queue)
{
    tkl_queue_stats stats;
    assert_ok(tkl_queue_stats_get(queue, &stats));
    return stats.ready + stats.active + stats.delayed + stats.held;
}

/* No more jobs were pushed than there were seconds, and each of them has run. */
static void assert_ticks(server *s, tkl_queue *queue, int64_t start)
{
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "tick%d", i);
        assert_ok(tkl_schedule_remove(queue, tkl_str(name)));
    }
    int64_t seconds = server_time(s) / 1000 - start / 1000;
    int64_t pushed = server_ask_int(s, "HGET " KEY "meta pushed");
    assert_in_range(pushed, NAMES, NAMES * seconds);
    eventually((consume(s->url, 100), unfinished(queue) == 0), LONG_MS);
    assert_int_equal(server_ask_int(s, "HGET " KEY "meta pushed"), pushed);
    assert_int_equal(server_ask_int(s, "HLEN ran"), pushed);
}

/* Consumers that were told of the same time. */
typedef struct duel {
    const tkl__queue_source *source;
    tkl_reply *due;
    atomic_int ready;
} duel;

#define DUELLISTS 8

static void fire_together(void *arg, int index)
{
    duel *d = arg;
    (void)index;
    atomic_fetch_add(&d->ready, 1);
    while (atomic_load(&d->ready) < DUELLISTS)
        ;
    bool unfit;
    tkl__queue_fire_schedules(d->source, d->due, tkl__deadline_ms(LONG_MS), &unfit);
}

/* A consumer was told of a time, and is so slow that another one has fired it: the next time must
 * not come early. */
static void who_comes_too_late_fires_nothing(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    tkl_schedule_info before = look_at(d.queue, "s");
    tkl_reply *due = tkl__reply_new_array(1);
    tkl__reply_put(due, 0, tkl__reply_new_bytes(tkl_str("s")));
    bool unfit;
    assert_false(
        tkl__queue_fire_schedules(d.consumer->sources, due, tkl__deadline_ms(LONG_MS), &unfit) ||
        unfit);
    assert_int_equal(server_ask_int(d.f->server, "EXISTS " KEY "jobs"), 0);
    assert_int_equal(look_at(d.queue, "s").next_ms, before.next_ms);
    tkl_reply_free(due);
    one_queue_close(&d);
}

static void one_of_those_who_were_told_of_a_time_fires_it(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    for (int round = 1; round <= 50; round++) {
        duel all = {.source = d.consumer->sources, .due = tkl__reply_new_array(1)};
        tkl__reply_put(all.due, 0, tkl__reply_new_bytes(tkl_str("s")));
        make_due(d.f->server, "s", 0);
        crew_run(DUELLISTS, fire_together, &all);
        assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta pushed"), round);
        tkl_reply_free(all.due);
    }
    one_queue_close(&d);
}

static void each_time_fires_once_however_many_claim(void **state)
{
    one_queue d = one_queue_open(state);
    pid_t children[4];
    int64_t start = set_ticks(d.f->server, d.queue);
    for (int i = 0; i < 4; i++)
        children[i] = process_fork(consume_for_4_s, d.f->server->url);
    crew_run(4, consume_in_thread, d.f->server->url);
    for (int i = 0; i < 4; i++)
        assert_int_equal(process_wait(children[i]), 0);
    assert_ticks(d.f->server, d.queue, start);
    one_queue_close(&d);
}

#define LIVES 3

/* Kills consumers at any moment, for `ms`; also the server, if it keeps its data. */
static void let_them_die(server *s, int64_t ms, bool server_too)
{
    pid_t children[LIVES] = {0};
    uint64_t seed = 3;
    for (int64_t end = test_now_ms() + ms; test_now_ms() < end;) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        pid_t *child = &children[(seed >> 40) % LIVES];
        if (*child) {
            kill(*child, SIGKILL);
            process_wait(*child);
        }
        if (server_too && (seed >> 33) % 5 == 0)
            server_restart(s);
        *child = process_fork(consume_for_ever, s->url);
        test_sleep_ms((int64_t)(seed >> 50) % 200);
    }
    for (int i = 0; i < LIVES; i++)
        if (children[i]) {
            kill(children[i], SIGKILL);
            process_wait(children[i]);
        }
}

static void each_time_fires_once_whoever_is_killed(void **state)
{
    one_queue d = one_queue_open(state);
    int64_t start = set_ticks(d.f->server, d.queue);
    let_them_die(d.f->server, 5000, false);
    assert_ticks(d.f->server, d.queue, start);
    one_queue_close(&d);
}

static void each_time_fires_once_when_the_server_is_killed_too(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"appendonly yes", "appendfsync always", NULL}});
    tkl_client *client = test_open(s->url, NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    int64_t start = set_ticks(s, queue);
    let_them_die(s, 6000, true);
    assert_ticks(s, queue, start);
    tkl_queue_close(queue);
    tkl_close(client);
    server_end(s);
}

#define WRONG_CLOCK "--wrong-clock"

/* Sets a schedule and consumes, as a program whose wall clock is an hour off. */
static int live_in_another_time(void *url)
{
    char self[512];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0)
        return 3;
    self[len] = '\0';
    peer_fake_clock(HOUR_MS);
    execl(self, self, WRONG_CLOCK, (char *)url, NULL);
    return 4;
}

static int wrong_clock_main(const char *url)
{
    tkl_client *client;
    tkl_queue *queue;
    tkl_schedule s = {.every_ms = 1000, .job = {.payload = tkl_str("x")}};
    if (tkl_open(url, NULL, &client) != TKL_OK ||
        tkl_queue_open(client, tkl_str("q"), NULL, &queue) != TKL_OK ||
        tkl_schedule_set(queue, tkl_str("s"), &s) != TKL_OK)
        return 1;
    int failed = consume(url, 2500);
    tkl_queue_close(queue);
    tkl_close(client);
    return failed;
}

static void a_wrong_clock_of_a_consumer_does_not_matter(void **state)
{
    if (!peer_can_fake_clock())
        skip();
    one_queue d = one_queue_open(state);
    int64_t start = server_time(d.f->server);
    pid_t child = process_fork(live_in_another_time, d.f->server->url);
    assert_int_equal(process_wait(child), 0);
    peer_remove_faked(child);
    int64_t end = server_time(d.f->server);
    tkl_schedule_info info = look_at(d.queue, "s");
    assert_in_range(info.last_ms, start, end);
    assert_in_range(info.next_ms, info.last_ms, end + 1000);
    one_queue_close(&d);
}

static void a_restarted_server_fires_what_it_kept(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"appendonly yes", "appendfsync always", NULL}});
    tkl_client *client = test_open(s->url, NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    set_schedule(queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    make_due(s, "s", 1000);
    int64_t due = look_at(queue, "s").next_ms;
    server_kill(s);
    server_restart(s);
    assert_int_equal(look_at(queue, "s").next_ms, due);
    expect_word(consumer, "x");
    server_kill(s);
    server_restart(s);
    assert_int_equal(take_all(consumer, 0), 0);
    assert_true(look_at(queue, "s").next_ms > due);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    server_end(s);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], WRONG_CLOCK) == 0)
        return wrong_clock_main(argv[2]);
    const struct CMUnitTest tests[] = {
        TEST(who_comes_too_late_fires_nothing),
        TEST(one_of_those_who_were_told_of_a_time_fires_it),
        TEST(each_time_fires_once_however_many_claim),
        TEST(each_time_fires_once_whoever_is_killed),
        cmocka_unit_test(each_time_fires_once_when_the_server_is_killed_too),
        TEST(a_wrong_clock_of_a_consumer_does_not_matter),
        cmocka_unit_test(a_restarted_server_fires_what_it_kept),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
