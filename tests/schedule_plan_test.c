/* SPDX-License-Identifier: MIT
 *
 * Schedules that operators pause, resume and fire.
 */
#include "support/proxy.h"
#include "support/schedules.h"

static const tkl_bytes s = {"s", 1};

static void assert_paused(one_queue *d, bool paused)
{
    tkl_schedule_info info = look_at(d->queue, "s");
    assert_int_equal(info.paused, paused);
    assert_int_equal(info.next_ms == 0, paused);
    char *due = server_ask(d->f->server, "ZSCORE " KEY "delayed schedule:s");
    assert_int_equal(*due == '\0', paused);
    free(due);
}

static void a_paused_schedule_does_not_fire(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s", &(tkl_schedule){.every_ms = 1000, .job = {.payload = tkl_str("x")}});
    assert_paused(&d, false);
    assert_ok(tkl_schedule_pause(d.queue, s));
    assert_ok(tkl_schedule_pause(d.queue, s));
    assert_paused(&d, true);
    assert_int_equal(take_all(d.consumer, 1500), 0);
    assert_ok(tkl_schedule_resume(d.queue, s));
    assert_ok(tkl_schedule_resume(d.queue, s));
    assert_paused(&d, false);
    expect_word(d.consumer, "x");
    one_queue_close(&d);
}

static void a_paused_schedule_stays_paused_when_it_is_set(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_schedule first = {.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}};
    tkl_schedule other = {.cron = "0 0 * * *", .job = {.payload = tkl_str("y")}};
    set_schedule(d.queue, "s", &first);
    assert_ok(tkl_schedule_pause(d.queue, s));
    set_schedule(d.queue, "s", &first);
    assert_paused(&d, true);
    set_schedule(d.queue, "s", &other);
    assert_paused(&d, true);
    assert_ok(tkl_schedule_resume(d.queue, s));
    int64_t now = server_time(d.f->server);
    tkl_schedule_info info = look_at(d.queue, "s");
    assert_int_equal(info.next_ms % (24 * HOUR_MS), 0); /* midnight of the new expression */
    assert_true(info.next_ms >= now - LONG_MS && info.next_ms <= now + 24 * HOUR_MS);
    one_queue_close(&d);
}

/* A schedule moves to another partition with the group of its job. */
static void a_paused_schedule_stays_paused_when_it_moves(void **state)
{
    fixture *f = *state;
    tkl_queue *queue;
    assert_ok(
        tkl_queue_open(f->client, tkl_str("wide"), &(tkl_queue_options){.partitions = 4}, &queue));
    for (int i = 0; i < 8; i++) {
        char group[] = {(char)('a' + i), 0};
        set_schedule(queue, "s",
                     &(tkl_schedule){.every_ms = HOUR_MS, .job = {.group = tkl_str(group)}});
        if (i == 0)
            assert_ok(tkl_schedule_pause(queue, s));
        assert_true(look_at(queue, "s").paused);
    }
    char job[TKL_JOB_ID_SIZE];
    assert_ok(tkl_schedule_fire(queue, s, job));
    tkl_listing *l;
    assert_ok(tkl_queue_show(queue, job, 0, &l));
    assert_string_equal(l->items[0].id, job);
    tkl_listing_free(l);
    assert_ok(tkl_schedule_resume(queue, s));
    assert_false(look_at(queue, "s").paused);
    assert_ok(tkl_queue_drop(queue));
    tkl_queue_close(queue);
}

/* A consumer that was told of it before finds no time that has come. */
static void a_schedule_paused_at_the_last_moment_does_not_fire(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s", &(tkl_schedule){.every_ms = HOUR_MS});
    assert_ok(tkl_schedule_pause(d.queue, s));
    server_do(d.f->server, "ZADD " KEY "delayed 1 schedule:s"); /* as if the timer had stayed */
    assert_int_equal(take_all(d.consumer, 0), 0);
    assert_int_equal(look_at(d.queue, "s").last_ms, 0);
    one_queue_close(&d);
}

static void firing_pushes_now_and_leaves_the_next_time(void **state)
{
    one_queue d = one_queue_open(state);
    char job[TKL_JOB_ID_SIZE];
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS,
                                 .job = {.payload = tkl_str("\n1 2"), .kind = tkl_str("k")}});
    tkl_schedule_info before = look_at(d.queue, "s");
    assert_ok(tkl_schedule_fire(d.queue, s, job));
    assert_ok(tkl_schedule_fire(d.queue, s, NULL));
    tkl_schedule_info after = look_at(d.queue, "s");
    assert_int_equal(after.next_ms, before.next_ms);
    assert_true(after.last_ms > 0);
    tkl_jobs *jobs = claim_jobs(d.consumer, 2, 0);
    assert_int_equal(jobs->count, 2);
    assert_string_equal(jobs->items[0].id, job);
    assert_int_equal(jobs->items[0].payload.len, 4);
    assert_memory_equal(jobs->items[0].payload.data, "\n1 2", 4);
    assert_memory_equal(jobs->items[0].kind.data, "k", 1);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    /* A paused one fires, too, and stays paused. */
    assert_ok(tkl_schedule_pause(d.queue, s));
    assert_ok(tkl_schedule_fire(d.queue, s, job));
    assert_paused(&d, true);
    one_queue_close(&d);
}

/* When the time of a schedule has come and an operator fires it, both push a job. */
static void firing_takes_no_due_time_away(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    make_due(d.f->server, "s", 0);
    assert_ok(tkl_schedule_fire(d.queue, s, NULL));
    expect_word(d.consumer, "x");
    expect_word(d.consumer, "x");
    assert_int_equal(take_all(d.consumer, 0), 0);
    one_queue_close(&d);
}

static void firing_respects_unique_keys_and_limits(void **state)
{
    one_queue d = one_queue_open(state);
    char first[TKL_JOB_ID_SIZE], second[TKL_JOB_ID_SIZE];
    set_schedule(d.queue, "s", &(tkl_schedule){.every_ms = HOUR_MS, .job = {.unique = s}});
    assert_ok(tkl_schedule_fire(d.queue, s, first));
    assert_code(tkl_schedule_fire(d.queue, s, second), TKL_EXISTS);
    assert_string_equal(first, second);
    assert_ok(tkl_queue_cancel(d.queue, first));
    tkl_queue_limits limits = {.max_bytes = 1};
    assert_ok(tkl_queue_limits_set(d.queue, &limits));
    assert_code(tkl_schedule_fire(d.queue, s, second), TKL_FULL);
    assert_string_equal(second, "");
    one_queue_close(&d);
}

/* The answer is lost on its way, so the library asks again. */
static void a_lost_answer_fires_once(void **state)
{
    one_queue d = one_queue_open(state);
    char job[TKL_JOB_ID_SIZE];
    set_schedule(d.queue, "s", &(tkl_schedule){.every_ms = HOUR_MS});
    proxy *between = proxy_start(d.f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    assert_int_equal(count_schedules(queue), 1); /* it is connected */
    proxy_cut_after(between, TO_CLIENT, 0);
    assert_ok(tkl_schedule_fire(queue, s, job));
    assert_true(proxy_accepted(between) > 1);
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "ready"), 1);
    assert_ok(tkl_queue_cancel(d.queue, job)); /* its id is right */
    tkl_queue_close(queue);
    tkl_close(client);
    proxy_end(between);
    one_queue_close(&d);
}

static void what_is_not_there_is_reported(void **state)
{
    one_queue d = one_queue_open(state);
    char job[TKL_JOB_ID_SIZE];
    assert_code(tkl_schedule_pause(d.queue, s), TKL_NOTFOUND);
    assert_code(tkl_schedule_resume(d.queue, s), TKL_NOTFOUND);
    assert_code(tkl_schedule_fire(d.queue, s, job), TKL_NOTFOUND);
    assert_code(tkl_schedule_pause(d.queue, tkl_str("")), TKL_EINVAL);
    assert_code(tkl_schedule_resume(d.queue, tkl_str("")), TKL_EINVAL);
    assert_code(tkl_schedule_fire(d.queue, tkl_str(""), job), TKL_EINVAL);
    server_do(d.f->server, "HSET " KEY "schedules s nonsense");
    assert_code(tkl_schedule_pause(d.queue, s), TKL_NOTFOUND);
    assert_code(tkl_schedule_resume(d.queue, s), TKL_NOTFOUND);
    assert_code(tkl_schedule_fire(d.queue, s, job), TKL_NOTFOUND);
    one_queue_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_paused_schedule_does_not_fire),
        TEST(a_paused_schedule_stays_paused_when_it_is_set),
        TEST(a_paused_schedule_stays_paused_when_it_moves),
        TEST(a_schedule_paused_at_the_last_moment_does_not_fire),
        TEST(firing_pushes_now_and_leaves_the_next_time),
        TEST(firing_takes_no_due_time_away),
        TEST(firing_respects_unique_keys_and_limits),
        TEST(a_lost_answer_fires_once),
        TEST(what_is_not_there_is_reported),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
