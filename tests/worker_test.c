/* SPDX-License-Identifier: MIT
 *
 * Workers, while the server is well.
 *
 * ctest: label threads
 */
#include "support/fixture.h"
#include "support/scene.h"

#define SHORT_LEASE_MS 300

/* ---- Running --------------------------------------------------------------- */

static void runs_every_job_and_reports_it(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_numbers(queue, 500);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 4}, &s);
    eventually(worker_stats(worker).done == 500, LONG_MS);
    assert_int_equal(atomic_load(&s.ended), 500);
    tkl_queue_stats stats = stats_of(queue);
    assert_int_equal(stats.done, 500);
    assert_int_equal(stats.ready + stats.active + stats.delayed + stats.dead, 0);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void one_thread_keeps_the_order(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_one(queue, &(tkl_push){.payload = tkl_str("later"), .priority = 5});
    push_numbers(queue, 5);
    push_one(queue, &(tkl_push){.payload = tkl_str("now"), .priority = -5});
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.drain = true}, &s);
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_string_equal(s.seen, "now 0 1 2 3 4 later ");
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void no_more_run_than_there_are_threads(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_numbers(queue, 40);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 3}, &s);
    eventually(atomic_load(&s.inside) == 3, LONG_MS);
    test_sleep_ms(20);
    assert_int_equal(worker_stats(worker).running, 3);
    atomic_store(&s.gate, true);
    eventually(worker_stats(worker).done == 40, LONG_MS);
    assert_int_equal(atomic_load(&s.most), 3);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void fetches_ahead_as_much_as_was_said(void **state)
{
    static const struct {
        int prefetch, fetched;
    } table[] = {{0, 0}, {1, 2}, {3, 6}, {100, 38}};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        scene s;
        scene_init(&s);
        atomic_store(&s.gate, false);
        tkl_queue *queue = open_queue(f->client, "mails", 1);
        push_numbers(queue, 40);
        tkl_worker *worker = start_worker(
            queue, &(tkl_worker_options){.threads = 2, .prefetch = table[i].prefetch}, &s);
        eventually(worker_stats(worker).running == 2, LONG_MS);
        test_sleep_ms(20);
        assert_int_equal(worker_stats(worker).fetched, table[i].fetched);
        assert_int_equal(stats_of(queue).active, 2 + table[i].fetched);
        atomic_store(&s.gate, true);
        eventually(worker_stats(worker).done == 40, LONG_MS);
        tkl_worker_close(worker);
        tkl_queue_close(queue);
    }
}

static void a_busy_worker_leaves_jobs_to_an_idle_one(void **state)
{
    fixture *f = *state;
    scene busy, idle;
    scene_init(&busy);
    scene_init(&idle);
    atomic_store(&busy.gate, false);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *first = start_worker(queue, &(tkl_worker_options){.prefetch = 10}, &busy);
    push_text(queue, "long");
    eventually(atomic_load(&busy.inside) == 1, LONG_MS);
    push_numbers(queue, 5);
    tkl_worker *second = start_worker(queue, NULL, &idle);
    eventually(worker_stats(second).done == 5, LONG_MS);
    atomic_store(&busy.gate, true);
    eventually(worker_stats(first).done == 1, LONG_MS);
    tkl_worker_close(first);
    tkl_worker_close(second);
    tkl_queue_close(queue);
}

static void the_first_queue_is_served_first(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queues[] = {open_queue(f->client, "urgent", 1), open_queue(f->client, "other", 1)};
    push_text(queues[1], "c");
    push_text(queues[1], "d");
    push_text(queues[0], "a");
    push_text(queues[0], "b");
    tkl_worker *worker;
    assert_ok(tkl_worker_start(queues, 2, act, &s, &(tkl_worker_options){.drain = true}, &worker));
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_string_equal(s.seen, "a b c d ");
    tkl_worker_close(worker);
    tkl_queue_close(queues[0]);
    tkl_queue_close(queues[1]);
}

static void an_idle_worker_is_served_from_any_of_its_queues(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queues[] = {open_queue(f->client, "urgent", 1), open_queue(f->client, "other", 1)};
    tkl_worker *worker;
    assert_ok(tkl_worker_start(queues, 2, act, &s, NULL, &worker));
    for (int i = 0; i < 10; i++) {
        push_text(queues[i % 2], "x");
        eventually(worker_stats(worker).done == (uint64_t)i + 1, LONG_MS);
    }
    tkl_worker_close(worker);
    tkl_queue_close(queues[0]);
    tkl_queue_close(queues[1]);
}

static void all_partitions_are_worked_off(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 5);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 3}, &s);
    for (int i = 0; i < 10; i++) {
        push_numbers(queue, 1 + i * 10); /* while it waits, or not */
        eventually(stats_of(queue).done == (i + 1) + i * (i + 1) / 2 * 10, LONG_MS);
    }
    eventually(worker_stats(worker).done == 460, LONG_MS);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

/* ---- Trips ----------------------------------------------------------------- */

/* How many attempts workers have counted for operators. */
static int64_t counted_runs(tkl_queue *queue)
{
    tkl_queue_kind_list *kinds;
    assert_ok(tkl_queue_times(&queue, 1, &kinds));
    int64_t count = kinds->count > 0 ? kinds->items[0].run.count : 0;
    tkl_queue_kind_list_free(kinds);
    return count;
}

/* A second after the last job it has sent what it counted; then it is silent. */
static void an_idle_worker_sends_nothing(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 4}, &s);
    push_numbers(queue, 10);
    eventually(worker_stats(worker).done == 10 && stats_of(queue).waiters == 1, LONG_MS);
    eventually(counted_runs(queue) == 10 && stats_of(queue).waiters == 1, LONG_MS);
    int64_t before = server_commands(f->server);
    test_sleep_ms(1500);
    assert_int_equal(server_commands(f->server), before);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void batches_share_trips(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_numbers(queue, 2000);
    int64_t before = server_functions(f->server);
    tkl_worker *worker = start_worker(
        queue, &(tkl_worker_options){.threads = 2, .prefetch = 100, .drain = true}, &s);
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(worker_stats(worker).done, 2000);
    /* 10 to 20 would be perfect; a slow machine sends reports as they get old. */
    assert_in_range(server_functions(f->server) - before, 10, 500);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

/* A job that ends while another one runs on. */
static int quick_or_slow(tkl_task *task, void *arg)
{
    scene *s = arg;
    if (tkl_task_job(task)->payload.data[0] == 'q')
        return TKL_OK;
    return act(task, s);
}

static void reports_do_not_wait_for_slow_neighbours(void **state)
{
    static const int prefetches[] = {0, 1, 10};
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        scene s;
        scene_init(&s);
        atomic_store(&s.gate, false);
        tkl_queue *queue = open_queue(f->client, "mails", 1);
        push_text(queue, "slow");
        push_text(queue, "quick");
        push_text(queue, "slow");
        tkl_worker *worker;
        tkl_worker_options options = {.threads = 2, .prefetch = prefetches[i]};
        int64_t done = stats_of(queue).done;
        assert_ok(tkl_worker_start(&queue, 1, quick_or_slow, &s, &options, &worker));
        eventually(stats_of(queue).done == done + 1, LONG_MS);
        eventually(worker_stats(worker).done == 1, LONG_MS);
        assert_int_equal(worker_stats(worker).unsent, 0);
        assert_int_equal(worker_stats(worker).running, 2);
        atomic_store(&s.gate, true);
        tkl_worker_close(worker);
        tkl_queue_close(queue);
    }
}

/* ---- Outcomes -------------------------------------------------------------- */

static void a_failed_job_is_tried_again_with_its_error(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.code, TKL_EIO);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, NULL, &s);
    push_one(queue, &(tkl_push){.payload = tkl_str("x"), .backoff_ms = 1});
    eventually(worker_stats(worker).failed >= 1, LONG_MS);
    atomic_store(&s.code, TKL_OK);
    eventually(worker_stats(worker).done == 1, LONG_MS);
    assert_string_equal(s.error, tkl_strerror(TKL_EIO));
    assert_true(s.attempt >= 2);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

/* Handles a job as its payload says. */
static int obey(tkl_task *task, void *arg)
{
    const tkl_job *job = tkl_task_job(task);
    char verb = job->payload.data[0];
    scene *s = arg;
    atomic_fetch_add(&s->begun, 1);
    if (verb == 'f')
        tkl_task_fail(task, "no such address");
    else if (verb == 'b')
        tkl_task_dead(task, "never again");
    else if (verb == 'l' && atomic_load(&s->begun) == 1)
        tkl_task_release(task, job->payload.len > 5 ? -50 : 50);
    else if (verb == 'u')
        return 12345;
    s->attempt = job->attempt;
    if (tkl_task_result(task, (tkl_bytes){"", SIZE_MAX}) != TKL_EINVAL)
        return TKL_EBUG;
    return tkl_task_result(task, tkl_str("sent"));
}

static char *dead_reason(tkl_queue *queue)
{
    tkl_listing *dead;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_DEAD, 0, 10, 0, &dead));
    assert_int_equal(dead->count, 1);
    tkl_bytes why = dead->items[0].error;
    char *text = test_format("%.*s", (int)why.len, why.data);
    tkl_listing_free(dead);
    return text;
}

static void a_handler_says_how_its_job_ends(void **state)
{
    static const struct {
        const char *payload, *why;
    } table[] = {{"fail", "no such address"},
                 {"bury", "never again"},
                 {"unknown", "the handler returned 12345"}};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        scene s;
        scene_init(&s);
        tkl_queue *queue = open_queue(f->client, table[i].payload, 1);
        tkl_worker *worker;
        assert_ok(tkl_worker_start(&queue, 1, obey, &s, NULL, &worker));
        push_one(queue, &(tkl_push){.payload = tkl_str(table[i].payload), .retries = -1});
        eventually(stats_of(queue).dead == 1, LONG_MS);
        char *why = dead_reason(queue);
        assert_string_equal(why, table[i].why);
        free(why);
        eventually(worker_stats(worker).failed == 1, LONG_MS);
        assert_int_equal(worker_stats(worker).dead, 1); /* it was the last attempt */
        tkl_worker_close(worker);
        tkl_queue_close(queue);
    }
}

static int put_off(tkl_task *task, void *arg)
{
    atomic_fetch_add(&((scene *)arg)->begun, 1);
    tkl_task_release(task, INT64_MAX);
    return TKL_OK;
}

static void a_job_is_put_off_by_ten_years_at_most(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker;
    assert_ok(tkl_worker_start(&queue, 1, put_off, &s, NULL, &worker));
    push_text(queue, "x");
    eventually(worker_stats(worker).released == 1, LONG_MS);
    assert_int_equal(stats_of(queue).delayed, 1);
    assert_int_equal(atomic_load(&s.begun), 1);
    tkl_worker_close(worker);
    assert_ok(tkl_queue_drain(queue, NULL));
    tkl_queue_close(queue);
}

static void a_released_job_uses_no_attempt(void **state)
{
    static const char *const payloads[] = {"later", "later by less than nothing"};
    fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        scene s;
        scene_init(&s);
        tkl_queue *queue = open_queue(f->client, "mails", 1);
        tkl_worker *worker;
        assert_ok(tkl_worker_start(&queue, 1, obey, &s, NULL, &worker));
        push_text(queue, payloads[i]);
        eventually(worker_stats(worker).done == 1, LONG_MS);
        assert_int_equal(worker_stats(worker).released, 1);
        assert_int_equal(s.attempt, 1);
        assert_int_equal(stats_of(queue).failed, 0);
        tkl_worker_close(worker);
        tkl_queue_close(queue);
    }
}

static void a_result_reaches_the_one_who_waits(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker;
    tkl_job_result *result;
    assert_ok(tkl_worker_start(&queue, 1, obey, &s, NULL, &worker));
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("send"), .result_ms = 60000});
    assert_ok(tkl_queue_result(queue, id.text, LONG_MS, &result));
    assert_string_equal(result->text.data, "sent");
    tkl_job_result_free(result);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static int tell_progress(tkl_task *task, void *arg)
{
    int rc = tkl_task_progress(task, tkl_str("40 %"));
    return rc == TKL_OK ? act(task, arg) : rc;
}

static void progress_is_seen_while_it_runs(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker;
    tkl_listing *shown;
    assert_ok(tkl_worker_start(&queue, 1, tell_progress, &s, NULL, &worker));
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("x")});
    eventually(atomic_load(&s.inside) == 1, LONG_MS);
    assert_ok(tkl_queue_show(queue, id.text, 0, &shown));
    assert_int_equal(shown->items[0].state, TKL_JOB_STATE_ACTIVE);
    assert_int_equal(shown->items[0].progress.len, 4);
    assert_memory_equal(shown->items[0].progress.data, "40 %", 4);
    tkl_listing_free(shown);
    atomic_store(&s.gate, true);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

/* ---- Limits and losses ----------------------------------------------------- */

static void a_job_beyond_its_time_limit_has_failed_though_it_runs_on(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    atomic_store(&s.stubborn, true);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 2}, &s);
    push_one(queue, &(tkl_push){.payload = tkl_str("x"), .time_limit_ms = 50, .retries = -1});
    eventually(stats_of(queue).dead == 1, LONG_MS);
    char *why = dead_reason(queue);
    assert_string_equal(why, "time limit");
    free(why);
    eventually(worker_stats(worker).failed == 1, LONG_MS);
    assert_int_equal(worker_stats(worker).timeouts, 1);
    assert_int_equal(worker_stats(worker).running, 1);
    eventually(atomic_load(&s.cancelled) == 1, LONG_MS);
    atomic_store(&s.gate, true);
    eventually(worker_stats(worker).running == 0, LONG_MS);
    assert_ok(tkl_worker_stop(worker, LONG_MS));
    assert_int_equal(worker_stats(worker).done, 0); /* the late result is dropped */
    assert_int_equal(worker_stats(worker).lost, 0);
    assert_int_equal(stats_of(queue).done, 0);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void a_job_within_its_time_limit_is_done(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 2}, &s);
    for (int i = 0; i < 50; i++)
        push_one(queue, &(tkl_push){.payload = tkl_str("x"), .time_limit_ms = LONG_MS});
    eventually(worker_stats(worker).done == 50, LONG_MS);
    assert_int_equal(worker_stats(worker).timeouts, 0);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void leases_are_renewed_while_a_job_runs(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.sleep_ms, 5 * 1000);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_numbers(queue, 2);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.lease_ms = 1000}, &s);
    eventually(atomic_load(&s.ended) == 1, LONG_MS);
    atomic_store(&s.sleep_ms, 0); /* the second was fetched ahead, all the while */
    eventually(worker_stats(worker).done == 2, LONG_MS);
    assert_int_equal(worker_stats(worker).lost, 0);
    assert_string_equal(s.seen, "0 1 ");
    assert_int_equal(stats_of(queue).failed, 0);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void a_cancelled_job_is_told_to_stop(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.lease_ms = SHORT_LEASE_MS}, &s);
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("x")});
    eventually(atomic_load(&s.inside) == 1, LONG_MS);
    assert_ok(tkl_queue_cancel(queue, id.text));
    eventually(atomic_load(&s.cancelled) == 1, LONG_MS);
    eventually(worker_stats(worker).lost == 1, LONG_MS);
    assert_int_equal(worker_stats(worker).done, 0);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void a_cancelled_job_that_was_fetched_ahead_does_not_run(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_text(queue, "first");
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("second")});
    tkl_worker_options ahead = {.prefetch = 1, .lease_ms = SHORT_LEASE_MS};
    tkl_worker *worker = start_worker(queue, &ahead, &s);
    eventually(worker_stats(worker).fetched == 1, LONG_MS);
    assert_ok(tkl_queue_cancel(queue, id.text));
    eventually(worker_stats(worker).fetched == 0, LONG_MS);
    atomic_store(&s.gate, true);
    eventually(worker_stats(worker).done == 1, LONG_MS);
    assert_int_equal(worker_stats(worker).lost, 1);
    assert_string_equal(s.seen, "first ");
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_every_job_and_reports_it),
        TEST(one_thread_keeps_the_order),
        TEST(no_more_run_than_there_are_threads),
        TEST(fetches_ahead_as_much_as_was_said),
        TEST(a_busy_worker_leaves_jobs_to_an_idle_one),
        TEST(the_first_queue_is_served_first),
        TEST(an_idle_worker_is_served_from_any_of_its_queues),
        TEST(all_partitions_are_worked_off),
        TEST(an_idle_worker_sends_nothing),
        TEST(batches_share_trips),
        TEST(reports_do_not_wait_for_slow_neighbours),
        TEST(a_failed_job_is_tried_again_with_its_error),
        TEST(a_handler_says_how_its_job_ends),
        TEST(a_job_is_put_off_by_ten_years_at_most),
        TEST(a_released_job_uses_no_attempt),
        TEST(a_result_reaches_the_one_who_waits),
        TEST(progress_is_seen_while_it_runs),
        TEST(a_job_beyond_its_time_limit_has_failed_though_it_runs_on),
        TEST(a_job_within_its_time_limit_is_done),
        TEST(leases_are_renewed_while_a_job_runs),
        TEST(a_cancelled_job_is_told_to_stop),
        TEST(a_cancelled_job_that_was_fetched_ahead_does_not_run),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
