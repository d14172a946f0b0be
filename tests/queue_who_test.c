/* SPDX-License-Identifier: MIT
 *
 * The workers of queues, since when they work, and how long jobs wait and run.
 *
 * ctest: label threads
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tackle/worker.h>

#include "support/one_queue.h"
#include "support/process.h"

#define LONG_MS 30000

/* ---- Lists --------------------------------------------------------------- */

static tkl_queue_worker_list *workers_of(tkl_queue *queue)
{
    tkl_queue_worker_list *list;
    assert_ok(tkl_queue_workers(&queue, 1, &list));
    return list;
}

static size_t worker_count(tkl_queue *queue)
{
    tkl_queue_worker_list *list = workers_of(queue);
    size_t count = list->count;
    tkl_queue_worker_list_free(list);
    return count;
}

/* Whether there is one worker, which waits and has done `done` jobs. */
static bool waits_alone(tkl_queue *queue, int64_t done)
{
    tkl_queue_worker_list *list = workers_of(queue);
    bool waits = list->count == 1 && list->items[0].waiting && list->items[0].done == done;
    tkl_queue_worker_list_free(list);
    return waits;
}

/* Closes the consumer, which sends its counts, and opens another. */
static void send_counts(one_queue *d)
{
    tkl_consumer_close(d->consumer);
    d->consumer = open_consumer(d->queue, 0);
}

/* The numbers of a kind; all zero when it has none. */
static tkl_queue_kind kind_of(tkl_queue *queue, const char *kind)
{
    tkl_queue_kind_list *list;
    tkl_queue_kind found = {.done = 0};
    assert_ok(tkl_queue_times(&queue, 1, &list));
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind.len == strlen(kind) &&
            memcmp(list->items[i].kind.data, kind, strlen(kind)) == 0)
            found = list->items[i];
    tkl_queue_kind_list_free(list);
    return found;
}

static void assert_text(tkl_bytes bytes, const char *text)
{
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.len);
}

/* ---- Workers ------------------------------------------------------------- */

static void a_worker_is_seen_with_its_jobs(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_consumer *other;
    const tkl_consumer_options options = {
        .lease_ms = 60000, .label = {"blue \n1", 7}, .threads = 3, .no_renewal = true};
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    assert_ok(tkl_consumer_open(&d.queue, 1, &options, &other));
    assert_int_equal(worker_count(d.queue), 0); /* it has not claimed yet */
    push_job(d.queue, &(tkl_push){.payload = tkl_str("a"), .kind = tkl_str("mail")}, NULL);
    push_words(d.queue, "b");
    tkl_jobs *jobs = claim_jobs(other, 2, 0);
    tkl_queue_worker_list *list = workers_of(d.queue);
    assert_int_equal(list->count, 1);
    const tkl_queue_worker *worker = &list->items[0];
    assert_text(worker->host, host);
    assert_int_equal(worker->pid, getpid());
    assert_text(worker->program, "queue_who_test");
    assert_text(worker->label, "blue \n1");
    assert_int_equal(worker->threads, 3);
    assert_false(worker->waiting);
    assert_int_equal(worker->lease_ms, 60000);
    assert_in_range(list->now_ms - worker->seen_ms, 0, LONG_MS);
    assert_memory_equal(worker->id, jobs->items[0].token, TKL_WORKER_ID_SIZE - 1);
    assert_int_equal(worker->run_count, 2);
    assert_text(worker->runs[0].queue, "q");
    assert_string_equal(worker->runs[0].id, jobs->items[0].id);
    assert_text(worker->runs[0].kind, "mail");
    assert_text(worker->runs[1].kind, "");
    assert_int_equal(worker->runs[0].since_ms, worker->seen_ms);
    assert_int_equal(worker->runs[0].until_ms, worker->seen_ms + 60000);
    tkl_queue_worker_list_free(list);
    tkl_jobs_free(jobs);
    tkl_consumer_close(other);
    one_queue_close(&d);
}

/* All users may see the id of a worker. With it and earlier tokens they cannot guess another token:
 * each of the other characters is one of 64. With hex digits no place would have more than 16. */
static void a_token_has_128_bits_besides_its_worker(void **state)
{
    enum { CLAIMS = 200, PLACES = TKL_TOKEN_SIZE - TKL_WORKER_ID_SIZE };
    one_queue d = one_queue_open(state);
    bool seen[PLACES][UCHAR_MAX + 1] = {{false}};
    char worker[TKL_WORKER_ID_SIZE] = "";
    for (int i = 0; i < CLAIMS; i++) {
        push_words(d.queue, "a");
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
        const char *token = jobs->items[0].token, *rest = token + TKL_WORKER_ID_SIZE - 1;
        if (i == 0)
            memcpy(worker, token, TKL_WORKER_ID_SIZE - 1);
        assert_memory_equal(token, worker, TKL_WORKER_ID_SIZE - 1);
        assert_int_equal(strlen(rest), PLACES);
        for (size_t k = 0; k < PLACES; k++)
            seen[k][(unsigned char)rest[k]] = true;
        assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DONE, NULL, 0));
        tkl_jobs_free(jobs);
    }
    for (size_t k = 0; k < PLACES; k++) {
        int letters = 0;
        for (int c = 0; c <= UCHAR_MAX; c++)
            letters += seen[k][c];
        assert_in_range(letters, 32, 64);
    }
    assert_true(PLACES * 6 >= 128);
    one_queue_close(&d);
}

static void *wait_for_jobs(void *consumer)
{
    tkl_jobs *jobs;
    int rc = tkl_consumer_claim(consumer, 1, -1, &jobs);
    tkl_jobs_free(jobs);
    return (void *)(intptr_t)rc;
}

static void an_idle_worker_has_said_what_it_did(void **state)
{
    one_queue d = one_queue_open(state);
    pthread_t thread;
    push_words(d.queue, "a b c");
    tkl_jobs *jobs = claim_jobs(d.consumer, 3, 0);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DONE, NULL, 0));
    assert_ok(report_job(d.consumer, &jobs->items[1], TKL_OUTCOME_DONE, NULL, 0));
    assert_ok(report_job(d.consumer, &jobs->items[2], TKL_OUTCOME_FAILED, "no", 3600000));
    tkl_jobs_free(jobs);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_jobs, d.consumer), 0);
    eventually(waits_alone(d.queue, 2), LONG_MS);
    tkl_queue_worker_list *list = workers_of(d.queue);
    assert_int_equal(list->items[0].failed, 1);
    assert_int_equal(list->items[0].run_count, 0);
    tkl_queue_worker_list_free(list);
    tkl_consumer_cancel(d.consumer);
    pthread_join(thread, NULL);
    one_queue_close(&d);
}

static void a_renewed_claim_keeps_its_beginning(void **state)
{
    one_queue d = one_queue_open_lease(state, 3000);
    push_words(d.queue, "a");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    tkl_queue_worker_list *list = workers_of(d.queue);
    int64_t since = list->items[0].runs[0].since_ms, until = list->items[0].runs[0].until_ms;
    tkl_queue_worker_list_free(list);
    for (int renewals = 0; renewals < 2; renewals++) {
        int64_t before = until;
        do {
            list = workers_of(d.queue);
            assert_int_equal(list->items[0].run_count, 1);
            assert_int_equal(list->items[0].runs[0].since_ms, since);
            until = list->items[0].runs[0].until_ms;
            tkl_queue_worker_list_free(list);
            test_sleep_ms(10);
        } while (until == before);
    }
    tkl_listing *peeked, *shown;
    assert_ok(tkl_queue_peek(d.queue, TKL_JOB_STATE_ACTIVE, 0, 1, 0, &peeked));
    assert_ok(tkl_queue_show(d.queue, jobs->items[0].id, 0, &shown));
    for (int i = 0; i < 2; i++) {
        const tkl_job_info *job = i ? shown->items : peeked->items;
        assert_int_equal(job->since_ms, since);
        assert_int_equal(job->pid, getpid());
        assert_memory_equal(job->worker, jobs->items[0].token, TKL_WORKER_ID_SIZE - 1);
    }
    tkl_listing_free(peeked);
    tkl_listing_free(shown);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    assert_int_equal(server_ask_int(d.f->server, "EXISTS " KEY "since"), 0);
    one_queue_close(&d);
}

/* Claims a job, reports so, and hangs. */
static int claim_and_hang(void *arg)
{
    const one_queue *d = arg;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    if (tkl_consumer_open(&d->queue, 1, &(tkl_consumer_options){.lease_ms = 1000}, &consumer) !=
            0 ||
        tkl_consumer_claim(consumer, 1, 0, &jobs) != TKL_OK)
        return 1;
    pause();
    return 0;
}

static void a_killed_worker_is_gone_when_its_lease_ends(void **state)
{
    one_queue d = one_queue_open(state);
    push_words(d.queue, "a");
    pid_t child = process_fork(claim_and_hang, &d);
    eventually(worker_count(d.queue) == 1, LONG_MS);
    test_sleep_ms(1500); /* longer than a lease: it is renewed */
    tkl_queue_worker_list *list = workers_of(d.queue);
    assert_int_equal(list->count, 1);
    assert_int_equal(list->items[0].pid, child);
    assert_int_equal(list->items[0].run_count, 1);
    tkl_queue_worker_list_free(list);
    kill(child, SIGKILL);
    process_wait(child);
    list = workers_of(d.queue);
    int64_t killed = list->now_ms, seen = killed;
    while (list->count > 0) {
        seen = list->now_ms;
        tkl_queue_worker_list_free(list);
        list = workers_of(d.queue);
    }
    tkl_queue_worker_list_free(list);
    assert_in_range(seen, killed, killed + 1000);
    one_queue_close(&d);
}

static void a_worker_of_several_queues_is_one(void **state)
{
    fixture *f = *state;
    tkl_queue *queues[] = {open_queue(f->client, "one", 4), open_queue(f->client, "two", 1)};
    tkl_queue_worker_list *list;
    tkl_consumer *consumer;
    assert_ok(tkl_consumer_open(queues, 2, NULL, &consumer));
    for (int i = 0; i < 8; i++)
        push_words(queues[0], "a");
    push_words(queues[1], "b");
    tkl_jobs *some = claim_jobs(consumer, 8, 0), *more = claim_jobs(consumer, 1, 0);
    assert_ok(tkl_queue_workers(queues, 2, &list));
    assert_int_equal(list->count, 1);
    assert_int_equal(list->items[0].run_count, 9);
    for (size_t i = 0; i < 9; i++) {
        bool first = list->items[0].runs[i].queue.len == 3 &&
                     memcmp(list->items[0].runs[i].queue.data, "one", 3) == 0;
        assert_int_equal(strchr(list->items[0].runs[i].id, '.') != NULL, first);
    }
    tkl_queue_worker_list_free(list);
    finish_all(consumer, some);
    finish_all(consumer, more);
    tkl_jobs_free(some);
    tkl_jobs_free(more);
    tkl_consumer_close(consumer);
    for (int i = 0; i < 2; i++) {
        assert_ok(tkl_queue_drop(queues[i]));
        tkl_queue_close(queues[i]);
    }
    assert_ok(tkl_queue_workers(NULL, 0, &list));
    assert_int_equal(list->count, 0);
    tkl_queue_worker_list_free(list);
}

static void workers_that_are_gone_are_forgotten(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_consumer *alive[50];
    for (int i = 0; i < 100; i++) {
        char id[TKL_WORKER_ID_SIZE];
        snprintf(id, sizeof id, "%010x", (unsigned)i);
        assert_int_equal(
            server_ask_int(d.f->server, "HSET " KEY "workers %s %s", id, "1000 1000 2000 x"), 1);
    }
    assert_int_equal(worker_count(d.queue), 0);
    for (int i = 0; i < 50; i++) {
        alive[i] = open_consumer(d.queue, 0);
        expect_all(alive[i], "");
    }
    assert_int_equal(worker_count(d.queue), 50);
    assert_in_range(server_ask_int(d.f->server, "HLEN " KEY "workers"), 50, 110);
    assert_true(server_ask_int(d.f->server, "PTTL " KEY "workers") > 0);
    for (int i = 0; i < 50; i++)
        tkl_consumer_close(alive[i]);
    assert_int_equal(worker_count(d.queue), 0); /* a worker that ends says so */
    one_queue_close(&d);
}

static void a_key_in_the_way_stops_no_work(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_queue_worker_list *workers;
    tkl_queue_kind_list *kinds;
    server_ask_int(d.f->server, "SADD " KEY "workers x");
    server_ask_int(d.f->server, "SADD " KEY "times x");
    push_job(d.queue, &(tkl_push){.payload = tkl_str("a"), .kind = tkl_str("mail")}, NULL);
    push_words(d.queue, "b");
    tkl_jobs *jobs = claim_jobs(d.consumer, 2, 0);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DONE, NULL, 0));
    assert_ok(report_job(d.consumer, &jobs->items[1], TKL_OUTCOME_DEAD, "no", 0));
    tkl_jobs_free(jobs);
    assert_code(tkl_queue_workers(&d.queue, 1, &workers), TKL_ETYPE);
    assert_null(workers);
    assert_code(tkl_queue_times(&d.queue, 1, &kinds), TKL_ETYPE);
    assert_null(kinds);
    one_queue_close(&d);
}

static void senseless_options_are_refused(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_consumer *none;
    char label[TKL_LABEL_MAX + 1] = "";
    const tkl_consumer_options bad[] = {
        {.label = {label, sizeof label}}, {.threads = -1}, {.threads = 1000001}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(tkl_consumer_open(&d.queue, 1, &bad[i], &none), TKL_EINVAL);
    push_words(d.queue, "a");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    tkl_report report = {.job = &jobs->items[0], .outcome = TKL_OUTCOME_FAILED, .run_us = -1};
    assert_code(tkl_consumer_finish(d.consumer, &report, 1), TKL_EINVAL);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

static void connections_say_whose_they_are(void **state)
{
    fixture *f = *state;
    char host[65] = "", name[256];
    tkl_reply *reply;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "tackle:queue_who_test:%s:%d", host, getpid());
    assert_ok(tkl_callz(f->client, &reply, "CLIENT", "GETNAME", NULL));
    assert_string_equal(tkl_reply_str(reply), name);
    tkl_reply_free(reply);
}

/* ---- Times --------------------------------------------------------------- */

static void bounds_are_1_3_10(void **state)
{
    (void)state;
    const int64_t bounds[] = {1, 3, 10, 30, 100, 300, 1000};
    for (int i = 0; i < 7; i++)
        assert_int_equal(tkl_queue_bound_ms(i), bounds[i]);
    assert_int_equal(tkl_queue_bound_ms(TKL_QUEUE_BUCKETS - 2), 3000000);
    assert_int_equal(tkl_queue_bound_ms(TKL_QUEUE_BUCKETS - 1), TKL_NONE);
    assert_int_equal(tkl_queue_bound_ms(-1), TKL_NONE);
}

static void jobs_are_counted_by_kind_and_time(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_push pushes[] = {{.kind = tkl_str("mail")},
                               {.kind = tkl_str("mail"), .group = tkl_str("g")},
                               {.kind = tkl_str("mail"), .result_ms = 1000},
                               {.payload = tkl_str("plain")}};
    const int64_t runs_us[] = {2500, 10000, 10001, 4000000000};
    assert_ok(tkl_queue_push(d.queue, pushes, 4, NULL, NULL));
    tkl_jobs *jobs = claim_jobs(d.consumer, 4, 0);
    tkl_report reports[4];
    for (int i = 0; i < 4; i++)
        reports[i] = (tkl_report){.job = &jobs->items[i], .run_us = runs_us[i]};
    reports[1].outcome = TKL_OUTCOME_FAILED;
    assert_ok(tkl_consumer_finish(d.consumer, reports, 4));
    tkl_jobs_free(jobs);
    send_counts(&d);
    tkl_queue_kind mail = kind_of(d.queue, "mail"), plain = kind_of(d.queue, "");
    assert_int_equal(mail.done, 2);
    assert_int_equal(mail.failed, 1);
    assert_int_equal(mail.wait.count, 3);
    assert_in_range(mail.wait.sum_us, 0, 3 * INT64_C(1000) * LONG_MS);
    assert_int_equal(mail.run.count, 3);
    assert_int_equal(mail.run.sum_us, 22501);
    assert_int_equal(mail.run.counts[1], 1); /* up to 3 ms */
    assert_int_equal(mail.run.counts[2], 1); /* up to 10 ms */
    assert_int_equal(mail.run.counts[3], 1);
    assert_int_equal(plain.done, 1);
    assert_int_equal(plain.failed, 0);
    assert_int_equal(plain.run.counts[TKL_QUEUE_BUCKETS - 1], 1);
    assert_int_equal(plain.run.sum_us, 4000000000);
    one_queue_close(&d);
}

static void waiting_begins_when_a_job_is_ready(void **state)
{
    one_queue d = one_queue_open(state);
    push_job(d.queue, &(tkl_push){.kind = tkl_str("soon")}, NULL);
    push_job(d.queue, &(tkl_push){.kind = tkl_str("late"), .delay_ms = 1000}, NULL);
    test_sleep_ms(400);
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    jobs = claim_jobs(d.consumer, 1, LONG_MS);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_FAILED, "no", 1000));
    tkl_jobs_free(jobs);
    jobs = claim_jobs(d.consumer, 1, LONG_MS);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    send_counts(&d);
    tkl_queue_kind soon = kind_of(d.queue, "soon"), late = kind_of(d.queue, "late");
    assert_true(soon.wait.sum_us >= 400000);
    assert_int_equal(late.wait.count, 2);
    assert_true(late.wait.sum_us < 1000000); /* neither the delay nor the wait for the retry */
    assert_int_equal(late.done, 1);
    assert_int_equal(late.failed, 1);
    assert_int_equal(late.run.count, 2);
    assert_true(late.run.sum_us > 0); /* since the claim */
    one_queue_close(&d);
}

/* A worker that is idle soon has sent all its counts. */
static void an_idle_worker_sends_its_counts(void **state)
{
    one_queue d = one_queue_open(state);
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        push_words(d.queue, "a");
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
        finish_all(d.consumer, jobs);
        tkl_jobs_free(jobs);
    }
    assert_int_equal(pthread_create(&thread, NULL, wait_for_jobs, d.consumer), 0);
    eventually(kind_of(d.queue, "").done == 3, 10000);
    tkl_consumer_cancel(d.consumer);
    pthread_join(thread, NULL);
    one_queue_close(&d);
}

static int sleep_a_little(tkl_task *task, void *arg)
{
    (void)task;
    (void)arg;
    test_sleep_ms(40);
    return TKL_OK;
}

/* Jobs that are fetched ahead have not begun: their time in the worker is not their run. */
static void a_worker_counts_the_handler_alone(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_worker *worker;
    const tkl_worker_options options = {.prefetch = 10, .drain = true, .label = tkl_str("green")};
    push_words(d.queue, "a b c d e");
    assert_ok(tkl_worker_start(&d.queue, 1, sleep_a_little, NULL, &options, &worker));
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    tkl_queue_worker_list *list = workers_of(d.queue);
    assert_int_equal(list->count, 1);
    assert_text(list->items[0].label, "green");
    tkl_queue_worker_list_free(list);
    tkl_worker_close(worker);
    assert_int_equal(worker_count(d.queue), 0);
    tkl_queue_kind all = kind_of(d.queue, "");
    assert_int_equal(all.run.count, 5);
    assert_true(all.run.sum_us >= 5 * 40000);
    assert_int_equal(all.run.counts[0] + all.run.counts[1] + all.run.counts[2], 0);
    one_queue_close(&d);
}

static void hand_overs_and_reports_by_hand_are_counted(void **state)
{
    one_queue d = one_queue_open(state);
    pthread_t thread;
    tkl_listing *listing;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_jobs, d.consumer), 0);
    eventually(waits_alone(d.queue, 0), LONG_MS);
    push_job(d.queue, &(tkl_push){.kind = tkl_str("mail")}, NULL);
    pthread_join(thread, NULL);
    assert_ok(tkl_queue_peek(d.queue, TKL_JOB_STATE_ACTIVE, 0, 1, 0, &listing));
    assert_int_equal(listing->count, 1);
    assert_in_range(listing->items[0].since_ms, listing->items[0].pushed_ms,
                    listing->items[0].pushed_ms + LONG_MS);
    tkl_listing_free(listing);
    push_words(d.queue, "b");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    test_sleep_ms(35);
    assert_ok(tkl_queue_finish(d.queue, jobs->items[0].id, jobs->items[0].token, TKL_OUTCOME_DONE,
                               tkl_str(""), 0));
    assert_true(kind_of(d.queue, "").run.sum_us >= 30000);
    assert_int_equal(kind_of(d.queue, "").done, 1);
    tkl_jobs_free(jobs);
    send_counts(&d);
    assert_int_equal(kind_of(d.queue, "mail").wait.count, 1);
    assert_int_equal(worker_count(d.queue), 1); /* it is shown while it has a claim */
    one_queue_close(&d);
}

static void an_attempt_of_a_lost_worker_failed(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_consumer_options options = {.lease_ms = 100, .no_renewal = true};
    tkl_consumer *dying;
    push_job(d.queue, &(tkl_push){.kind = tkl_str("mail")}, NULL);
    assert_ok(tkl_consumer_open(&d.queue, 1, &options, &dying));
    tkl_jobs_free(claim_jobs(dying, 1, 0));
    tkl_consumer_close(dying);
    test_sleep_ms(150);
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    send_counts(&d);
    assert_int_equal(kind_of(d.queue, "mail").done, 1);
    assert_int_equal(kind_of(d.queue, "mail").failed, 1);
    assert_int_equal(kind_of(d.queue, "mail").wait.count, 2);
    one_queue_close(&d);
}

static void kinds_are_bounded(void **state)
{
    enum { KINDS = 80 };
    one_queue d = one_queue_open(state);
    tkl_queue_kind_list *list;
    for (int i = 0; i < KINDS; i++) {
        char kind[16];
        snprintf(kind, sizeof kind, "k%03d", i);
        push_job(d.queue, &(tkl_push){.kind = tkl_str(kind)}, NULL);
    }
    tkl_jobs *jobs = claim_jobs(d.consumer, KINDS, 0);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    send_counts(&d);
    assert_ok(tkl_queue_times(&d.queue, 1, &list));
    assert_int_equal(list->count, 65);
    assert_text(list->items[0].kind, "*");
    int64_t done = 0;
    for (size_t i = 0; i < list->count; i++)
        done += list->items[i].done;
    assert_int_equal(done, KINDS);
    assert_int_equal(list->items[0].done, KINDS - 64);
    tkl_queue_kind_list_free(list);
    one_queue_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_worker_is_seen_with_its_jobs),
        TEST(a_token_has_128_bits_besides_its_worker),
        TEST(an_idle_worker_has_said_what_it_did),
        TEST(a_renewed_claim_keeps_its_beginning),
        TEST(a_killed_worker_is_gone_when_its_lease_ends),
        TEST(a_worker_of_several_queues_is_one),
        TEST(workers_that_are_gone_are_forgotten),
        TEST(a_key_in_the_way_stops_no_work),
        TEST(senseless_options_are_refused),
        TEST(connections_say_whose_they_are),
        TEST(bounds_are_1_3_10),
        TEST(jobs_are_counted_by_kind_and_time),
        TEST(waiting_begins_when_a_job_is_ready),
        TEST(an_idle_worker_sends_its_counts),
        TEST(a_worker_counts_the_handler_alone),
        TEST(hand_overs_and_reports_by_hand_are_counted),
        TEST(an_attempt_of_a_lost_worker_failed),
        TEST(kinds_are_bounded),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
