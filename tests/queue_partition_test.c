/* SPDX-License-Identifier: MIT
 *
 * A queue of several partitions on a cluster: spread over its servers, one queue for its users,
 * through failovers and moving slots.
 *
 * ctest: label threads
 */
#include <limits.h>
#include <stdatomic.h>

#include <tackle/queue.h>

#include "core/resp.h"
#include "queue/partition.h"
#include "support/call.h"
#include "support/cluster.h"
#include "support/jobs.h"
#include "support/queues.h"

#define LONG_MS    60000
#define PARTITIONS 6

typedef struct field {
    cluster *cluster;
    tkl_client *client;
} field;

static int field_start(void **state)
{
    static field f;
    f.cluster = cluster_start(false);
    *state = &f;
    return 0;
}

static int field_end(void **state)
{
    field *f = *state;
    cluster_end(f->cluster);
    return 0;
}

static int field_fresh(void **state)
{
    field *f = *state;
    cluster_heal(f->cluster);
    f->client = test_open(f->cluster->url, NULL);
    return 0;
}

static int field_done(void **state)
{
    field *f = *state;
    tkl_close(f->client);
    return 0;
}

static int slot_of(const tkl_queue *queue, int partition)
{
    return tkl__slot_of(queue->partitions[partition].keys[TKL__QUEUE_META]);
}

static void partitions_spread_over_the_servers(void **state)
{
    enum { N = 600 };
    field *f = *state;
    tkl_queue *queue = open_queue(f->client, "spread", PARTITIONS);
    tkl_consumer *consumer = open_consumer(queue, 0);
    static tkl_push jobs[N];
    static tkl_pushed pushed[N];
    int keys[CLUSTER_SIZE] = {0}, busy = 0;
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, pushed));
    for (int i = 0; i < PARTITIONS; i++) {
        server *owner = cluster_owner(f->cluster, slot_of(queue, i));
        for (int k = 0; k < CLUSTER_SIZE; k++)
            keys[k] += owner == f->cluster->servers[k];
    }
    for (int k = 0; k < CLUSTER_SIZE; k++)
        busy += keys[k] > 0;
    assert_in_range(busy, 2, CLUSTER_MASTERS);
    size_t done = 0;
    for (tkl_jobs *some; tkl_consumer_claim(consumer, 100, 0, &some) == TKL_OK;) {
        done += some->count;
        finish_all(consumer, some);
        tkl_jobs_free(some);
    }
    assert_int_equal(done, N);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

/* Operators get one answer from all servers. */
static void operators_see_all_partitions(void **state)
{
    enum { N = 60 };
    field *f = *state;
    tkl_queue *queue = open_queue(f->client, "seen", PARTITIONS);
    tkl_consumer *consumer = open_consumer(queue, 0);
    static const tkl_push jobs[N];
    tkl_queue_worker_list *workers;
    tkl_queue_kind_list *kinds;
    tkl_queue_reasons *reasons;
    tkl_jobs *some;
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    assert_ok(tkl_queue_why(queue, NULL, &reasons));
    assert_int_equal(reasons->items[0].cause, TKL_QUEUE_CAUSE_NO_WORKER);
    tkl_queue_reasons_free(reasons);
    assert_ok(tkl_consumer_claim(consumer, N, 0, &some));
    assert_ok(tkl_queue_workers(&queue, 1, &workers));
    assert_int_equal(workers->count, 1);
    assert_int_equal(workers->items[0].run_count, some->count);
    tkl_queue_worker_list_free(workers);
    assert_ok(tkl_queue_why(queue, some->items[0].id, &reasons));
    assert_int_equal(reasons->items[0].cause, TKL_QUEUE_CAUSE_RUNS);
    tkl_queue_reasons_free(reasons);
    assert_ok(tkl_queue_requeue(queue, some->items[0].id, true));
    tkl_jobs_free(some);
    tkl_consumer_close(consumer);
    assert_ok(tkl_queue_times(&queue, 1, &kinds));
    assert_int_equal(kinds->count, 1);
    assert_in_range(kinds->items[0].wait.count, 1, N);
    tkl_queue_kind_list_free(kinds);
    assert_ok(tkl_queue_drop(queue));
    tkl_queue_close(queue);
}

/* Claims and finishes `count` jobs, one after the other. */
static void finish_some(tkl_consumer *consumer, size_t count)
{
    while (count > 0) {
        tkl_jobs *some;
        int rc = tkl_consumer_claim(consumer, count, 1000, &some);
        assert_true(rc == TKL_OK || rc == TKL_EMPTY || rc == TKL_ENOTSENT || rc == TKL_ETIMEOUT ||
                    rc == TKL_EUNKNOWN || rc == TKL_EUNREADY);
        if (rc != TKL_OK)
            continue;
        count -= some->count;
        finish_all(consumer, some);
        tkl_jobs_free(some);
    }
}

/* A silent server delays the jobs of its partitions, and no others. */
static void a_silent_server_does_not_hold_up_the_others(void **state)
{
    enum { TIMEOUT_MS = 60000 };
    field *f = *state;
    tkl_client *client =
        test_open(f->cluster->url, &(tkl_options){.timeout_ms = TIMEOUT_MS, .pool_size = 1});
    tkl_queue *queue = open_queue(client, "silent", PARTITIONS);
    tkl_consumer *consumer = open_claimer(queue, 0);
    server *silent = cluster_owner(f->cluster, slot_of(queue, 0));
    int others = 0;
    for (int i = 0; i < PARTITIONS; i++)
        others += cluster_owner(f->cluster, slot_of(queue, i)) != silent;
    tkl_push jobs[2 * PARTITIONS] = {0};
    assert_ok(tkl_queue_push(queue, jobs, 2 * PARTITIONS, NULL, NULL));
    finish_some(consumer, 2 * PARTITIONS); /* connections to all, and scripts everywhere */
    assert_ok(tkl_queue_push(queue, jobs, 2 * PARTITIONS, NULL, NULL));
    int64_t start = test_now_ms();
    server_freeze(silent);
    finish_some(consumer, (size_t)others * 2);
    assert_true(test_now_ms() - start < TIMEOUT_MS / 2);
    server_thaw(silent);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    cluster_heal(f->cluster);
}

/* ---- Traffic through trouble --------------------------------------------- */

enum { WORKERS = 3, JOBS = 300 };

typedef struct traffic {
    tkl_queue *queue;
    atomic_int seen[JOBS];
    atomic_int done;
    atomic_int pushed;
} traffic;

/* Pushes all jobs with request ids, and repeats until each push is answered. */
static void push_all(traffic *t)
{
    for (int i = 0; i < JOBS; i++) {
        char *text = test_format("%d", i);
        const tkl_push job = {.payload = tkl_str(text)};
        const tkl_push_options options = {.request = tkl_str(text)};
        while (tkl_queue_push(t->queue, &job, 1, &options, NULL) != TKL_OK)
            test_sleep_ms(10);
        atomic_fetch_add(&t->pushed, 1);
        free(text);
        test_sleep_ms(3);
    }
}

static void note_done(traffic *t, const tkl_job *job)
{
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)job->payload.len, job->payload.data);
    if (atomic_fetch_add(&t->seen[atoi(text)], 1) == 0)
        atomic_fetch_add(&t->done, 1);
}

static void push_or_work(void *arg, int index)
{
    traffic *t = arg;
    if (index == 0) {
        push_all(t);
        return;
    }
    tkl_consumer *consumer = open_consumer(t->queue, 2000);
    while (atomic_load(&t->done) < JOBS) {
        tkl_jobs *jobs;
        if (tkl_consumer_claim(consumer, 5, 300, &jobs) != TKL_OK)
            continue;
        for (size_t i = 0; i < jobs->count; i++) {
            note_done(t, &jobs->items[i]);
            (void)report_job(consumer, &jobs->items[i], TKL_OUTCOME_DONE, NULL, 0);
        }
        tkl_jobs_free(jobs);
    }
    tkl_consumer_close(consumer);
}

static void assert_all_done(traffic *t)
{
    for (int i = 0; i < JOBS; i++)
        if (atomic_load(&t->seen[i]) == 0)
            fail_msg("job %d was lost", i);
}

static void a_planned_failover_loses_nothing(void **state)
{
    field *f = *state;
    static traffic t;
    t = (traffic){.queue = open_queue(f->client, "failover", PARTITIONS)};
    crew *threads = crew_start(1 + WORKERS, push_or_work, &t);
    eventually(atomic_load(&t.pushed) > JOBS / 3, LONG_MS);
    cluster_fail_over(f->cluster, slot_of(t.queue, 0));
    crew_join(threads);
    assert_all_done(&t);
    tkl_queue_close(t.queue);
}

static void a_slot_that_moves_loses_nothing(void **state)
{
    field *f = *state;
    static traffic t;
    t = (traffic){.queue = open_queue(f->client, "moving", PARTITIONS)};
    crew *threads = crew_start(1 + WORKERS, push_or_work, &t);
    eventually(atomic_load(&t.pushed) > JOBS / 3, LONG_MS);
    int slot = slot_of(t.queue, 1);
    server *from = cluster_owner(f->cluster, slot), *to = cluster_other(f->cluster, slot);
    cluster_move_begin(from, to, slot);
    cluster_move_keys(from, to, slot, INT_MAX);
    cluster_move_end(f->cluster, to, slot);
    crew_join(threads);
    assert_all_done(&t);
    tkl_queue_close(t.queue);
}

int main(void)
{
#define FIELD_TEST(name) cmocka_unit_test_setup_teardown(name, field_fresh, field_done)
    const struct CMUnitTest tests[] = {
        FIELD_TEST(partitions_spread_over_the_servers),
        FIELD_TEST(operators_see_all_partitions),
        FIELD_TEST(a_silent_server_does_not_hold_up_the_others),
        FIELD_TEST(a_planned_failover_loses_nothing),
        FIELD_TEST(a_slot_that_moves_loses_nothing),
    };
    return cmocka_run_group_tests(tests, field_start, field_end);
}
