/* SPDX-License-Identifier: MIT
 *
 * How workers end: stopping, draining, forks; and their hooks and options.
 *
 * ctest: label threads
 */
#include "support/fixture.h"
#include "support/process.h"
#include "support/scene.h"

#define SHORT_LEASE_MS 300

/* ---- Stopping -------------------------------------------------------------- */

static void a_stop_finishes_what_runs_and_hands_back_the_rest(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_numbers(queue, 10);
    tkl_worker *worker =
        start_worker(queue, &(tkl_worker_options){.threads = 2, .prefetch = 2}, &s);
    eventually(worker_stats(worker).running == 2, LONG_MS);
    tkl_worker_quit(worker);
    eventually(stats_of(queue).ready == 8, LONG_MS); /* at once, though two still run */
    assert_code(tkl_worker_wait(worker, 0), TKL_BUSY);
    assert_int_equal(atomic_load(&s.cancelled), 0);
    atomic_store(&s.gate, true);
    assert_ok(tkl_worker_stop(worker, LONG_MS));
    tkl_worker_stats ended = worker_stats(worker);
    assert_int_equal(ended.done, 2);
    assert_int_equal(ended.released, 4);
    assert_int_equal(stats_of(queue).ready, 8);
    assert_int_equal(stats_of(queue).active + stats_of(queue).failed, 0);
    tkl_worker_close(worker);

    tkl_worker *next = start_worker(queue, &(tkl_worker_options){.drain = true}, &s);
    assert_ok(tkl_worker_wait(next, LONG_MS));
    assert_int_equal(s.attempt, 1);
    assert_contains(s.seen, "2 3 4 5 6 7 8 9 "); /* handed back to their places */
    tkl_worker_close(next);
    tkl_queue_close(queue);
}

static void the_second_stage_tells_handlers_to_stop(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    atomic_store(&s.code, TKL_EIO);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, NULL, &s);
    push_text(queue, "x");
    eventually(atomic_load(&s.inside) == 1, LONG_MS);
    assert_code(tkl_worker_stop(worker, 1), TKL_BUSY);
    assert_ok(tkl_worker_stop(worker, LONG_MS));
    assert_int_equal(atomic_load(&s.cancelled), 1);
    assert_int_equal(worker_stats(worker).released, 1); /* no attempt is used */
    assert_int_equal(stats_of(queue).ready, 1);
    assert_int_equal(stats_of(queue).failed, 0);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void closing_an_idle_worker_is_quick_and_leaves_nobody_in_line(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    for (int i = 0; i < 20; i++) {
        tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 3}, &s);
        if (i % 2 == 0)
            eventually(stats_of(queue).waiters == 1, LONG_MS);
        int64_t start = test_now_ms();
        tkl_worker_close(worker);
        assert_true(test_now_ms() - start < LONG_MS / 10);
        assert_int_equal(stats_of(queue).waiters, 0);
    }
    tkl_queue_close(queue);
}

static int push_more(tkl_task *task, void *arg)
{
    tkl_queue *queue = tkl_task_job(task)->queue;
    scene *s = arg;
    if (atomic_fetch_add(&s->begun, 1) >= 20)
        return TKL_OK;
    return tkl_queue_push(queue, &(tkl_push){.payload = tkl_str("more")}, 1, NULL, NULL);
}

static void draining_also_takes_what_its_jobs_push(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker;
    push_text(queue, "first");
    push_one(queue, &(tkl_push){.payload = tkl_str("delayed"), .delay_ms = 3600000});
    assert_ok(tkl_worker_start(&queue, 1, push_more, &s,
                               &(tkl_worker_options){.threads = 3, .drain = true}, &worker));
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(worker_stats(worker).done, 21);
    assert_int_equal(stats_of(queue).delayed, 1);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

/* The job of a slow thread keeps the worker from its end; the others go on meanwhile. */
static void draining_keeps_all_threads_busy_until_nothing_is_left(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    atomic_store(&s.gate, false);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_text(queue, "long");
    tkl_worker *worker =
        start_worker(queue, &(tkl_worker_options){.threads = 2, .drain = true}, &s);
    eventually(atomic_load(&s.inside) == 1, LONG_MS);
    test_sleep_ms(50); /* the other thread has found nothing */
    push_text(queue, "pushed meanwhile");
    eventually(atomic_load(&s.inside) == 2, LONG_MS);
    atomic_store(&s.gate, true);
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(worker_stats(worker).done, 2);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static int take_a_moment(tkl_task *task, void *arg)
{
    (void)task, (void)arg;
    test_sleep_ms(2);
    return TKL_OK;
}

/* The end of each job makes the next one ready: a claim that came before its report would find
 * nothing, and end the work. */
static void draining_takes_what_its_reports_make_ready(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.group_concurrency = 1}));
    for (int round = 0; round < 50; round++) {
        tkl_worker *worker;
        for (int i = 0; i < 4; i++)
            push_one(queue, &(tkl_push){.payload = tkl_str("x"), .group = tkl_str("g")});
        assert_ok(tkl_worker_start(&queue, 1, take_a_moment, NULL,
                                   &(tkl_worker_options){.threads = 2, .drain = true}, &worker));
        assert_ok(tkl_worker_wait(worker, LONG_MS));
        assert_int_equal(worker_stats(worker).done, 4);
        tkl_worker_close(worker);
    }
    tkl_queue_close(queue);
}

static void draining_an_empty_queue_ends_at_once(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.drain = true}, &s);
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void ends_after_as_many_jobs_as_were_said(void **state)
{
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_numbers(queue, 20);
    tkl_worker *worker =
        start_worker(queue, &(tkl_worker_options){.threads = 4, .prefetch = 10, .max_jobs = 7}, &s);
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(atomic_load(&s.ended), 7);
    assert_int_equal(stats_of(queue).ready, 13);
    assert_int_equal(stats_of(queue).done, 7);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static int quit_from_within(tkl_task *task, void *arg)
{
    (void)task;
    tkl_worker_quit(*(tkl_worker **)arg);
    return TKL_OK;
}

static void a_handler_may_end_its_worker(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker;
    assert_ok(tkl_worker_start(&queue, 1, quit_from_within, &worker, NULL, &worker));
    push_text(queue, "x");
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(worker_stats(worker).done, 1);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

/* ---- Hooks, arguments, forks ----------------------------------------------- */

typedef struct ends {
    atomic_int outcomes[4];
    atomic_int slow; /* jobs said to have taken a while */
} ends;

static void note_end(const tkl_job *job, tkl_outcome outcome, int64_t run_us, void *arg)
{
    ends *e = arg;
    assert_true(job->payload.len > 0);
    atomic_fetch_add(&e->outcomes[outcome], 1);
    atomic_fetch_add(&e->slow, run_us >= 15000);
}

static void the_hook_hears_of_every_end(void **state)
{
    fixture *f = *state;
    scene s;
    ends e = {0};
    scene_init(&s);
    atomic_store(&s.sleep_ms, 20);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker_options options = {.threads = 2, .drain = true, .on_end = note_end, .arg = &e};
    push_numbers(queue, 5);
    tkl_worker *worker = start_worker(queue, &options, &s);
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(atomic_load(&e.outcomes[TKL_OUTCOME_DONE]), 5);
    assert_int_equal(atomic_load(&e.slow), 5); /* sleeping rounds down */
    assert_true(worker_stats(worker).busy_us > 5 * 15000);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void wrong_options_are_refused(void **state)
{
    static const tkl_worker_options wrong[] = {{.threads = -1},  {.threads = 5000},
                                               {.prefetch = -1}, {.prefetch = 1001},
                                               {.max_jobs = -1}, {.lease_ms = 1}};
    fixture *f = *state;
    scene s;
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        tkl_worker *worker;
        assert_code(tkl_worker_start(&queue, 1, act, &s, &wrong[i], &worker), TKL_EINVAL);
        assert_null(worker);
    }
    tkl_worker_close(NULL);
    tkl_queue_close(queue);
}

static int close_in_child(void *worker)
{
    if (tkl_worker_wait(worker, -1) != TKL_EINVAL)
        return 1;
    tkl_worker_close(worker);
    return 0;
}

static void a_forked_child_leaves_the_worker_alone(void **state)
{
    fixture *f = *state;
    scene s;
    skip_under_sanitizers();
    scene_init(&s);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    tkl_worker *worker = start_worker(queue, &(tkl_worker_options){.threads = 2}, &s);
    eventually(stats_of(queue).waiters == 1, LONG_MS);
    assert_int_equal(process_wait(process_fork(close_in_child, worker)), 0);
    push_numbers(queue, 10);
    eventually(worker_stats(worker).done == 10, LONG_MS);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stop_finishes_what_runs_and_hands_back_the_rest),
        TEST(the_second_stage_tells_handlers_to_stop),
        TEST(closing_an_idle_worker_is_quick_and_leaves_nobody_in_line),
        TEST(draining_also_takes_what_its_jobs_push),
        TEST(draining_keeps_all_threads_busy_until_nothing_is_left),
        TEST(draining_takes_what_its_reports_make_ready),
        TEST(draining_an_empty_queue_ends_at_once),
        TEST(ends_after_as_many_jobs_as_were_said),
        TEST(a_handler_may_end_its_worker),
        TEST(the_hook_hears_of_every_end),
        TEST(wrong_options_are_refused),
        TEST(a_forked_child_leaves_the_worker_alone),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
