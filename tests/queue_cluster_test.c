/* SPDX-License-Identifier: MIT
 *
 * A queue of several partitions, spread over a cluster: what belongs together stays together, and
 * operators see one queue.
 *
 * ctest: label threads
 */
#include <tackle/queue.h>

#include "support/clustered.h"
#include "support/jobs.h"

enum { PARTITIONS = 8 };

static cluster *servers;
static tkl_client *client;
static tkl_queue *queue;
static tkl_consumer *consumer;

static int fresh(void **state)
{
    clustered_fresh(state);
    clustered *f = *state;
    servers = f->cluster;
    client = f->client;
    queue = open_queue(client, "work", PARTITIONS);
    consumer = open_claimer(queue, 0);
    return 0;
}

static int done(void **state)
{
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    return clustered_done(state);
}

static int partition_of(const char *id)
{
    assert_non_null(strchr(id, '.'));
    return atoi(id);
}

static void assert_empty(void)
{
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready + s.delayed + s.held + s.active + s.dead + s.bytes, 0);
    for (int i = 0; i < CLUSTER_MASTERS; i++)
        assert_no_garbage(servers->servers[i]);
}

/* ---- Where jobs go ------------------------------------------------------- */

static void jobs_are_spread_evenly(void **state)
{
    (void)state;
    enum { N = 800 };
    static tkl_push jobs[N];
    static tkl_pushed pushed[N];
    int count[PARTITIONS] = {0};
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, pushed));
    for (int i = 0; i < N; i++)
        count[partition_of(pushed[i].id)]++;
    for (int i = 0; i < PARTITIONS; i++)
        assert_int_equal(count[i], N / PARTITIONS);
    for (int i = 0; i < 2 * PARTITIONS; i++) /* one by one, too */
        count[partition_of(push_text(queue, "x").text)]++;
    for (int i = 0; i < PARTITIONS; i++)
        assert_int_equal(count[i], N / PARTITIONS + 2);
    int masters = 0;
    for (int i = 0; i < CLUSTER_MASTERS; i++)
        masters += server_ask_int(servers->servers[i], "DBSIZE") > 0;
    assert_true(masters > 1);
}

static void a_group_keeps_its_order_overall(void **state)
{
    (void)state;
    enum { G = 10, N = 30 };
    static tkl_push jobs[G * N];
    static tkl_pushed pushed[G * N];
    static char names[G][16], payloads[G * N][16];
    int home[G], next[G] = {0}, ended = 0;
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.group_concurrency = 1}));
    for (int i = 0; i < G * N; i++) {
        snprintf(names[i % G], sizeof names[0], "{group}%d", i % G);
        snprintf(payloads[i], sizeof payloads[0], "%d %d", i % G, i / G);
        jobs[i] = (tkl_push){.payload = tkl_str(payloads[i]), .group = tkl_str(names[i % G])};
    }
    for (int i = 0; i < 3; i++)
        assert_ok(tkl_queue_push(queue, jobs + i * 100, 100, NULL, pushed + i * 100));
    for (int i = 0; i < G * N; i++) {
        int partition = partition_of(pushed[i].id);
        home[i % G] = i < G ? partition : home[i % G];
        assert_int_equal(partition, home[i % G]);
    }
    while (ended < G * N) {
        claimed got[20];
        size_t n = claim_some(consumer, 20, got);
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++, ended++) {
            int group, index;
            assert_int_equal(sscanf(got[i].payload, "%d %d", &group, &index), 2);
            assert_int_equal(index, next[group]++);
            finish_job(queue, &got[i], TKL_OUTCOME_DONE);
        }
    }
    assert_empty();
}

static void unique_jobs_are_unique_in_the_whole_queue(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        char *key = test_format("key %d", i);
        const tkl_push job = {.payload = tkl_str("x"), .unique = tkl_str(key)};
        job_id first = push_one(queue, &job), again;
        for (int k = 0; k < 3; k++) {
            assert_code(push_code(queue, &job, &again), TKL_EXISTS);
            assert_string_equal(again.text, first.text);
        }
        free(key);
    }
    assert_int_equal(stats_of(queue).ready, 20);
    assert_ok(tkl_queue_drain(queue, NULL));
    assert_empty();
}

static void a_flow_stays_together(void **state)
{
    (void)state;
    static const size_t both[] = {0, 1};
    for (int round = 0; round < 2 * PARTITIONS; round++) {
        tkl_push jobs[] = {{.payload = tkl_str("a")},
                           {.payload = tkl_str("b")},
                           {.payload = tkl_str("c"), .after = both, .after_count = 2}};
        tkl_pushed pushed[3];
        if (round % 2)
            jobs[1].group = tkl_str("some group");
        assert_ok(tkl_queue_push(queue, jobs, 3, NULL, pushed));
        assert_int_equal(partition_of(pushed[0].id), partition_of(pushed[2].id));
        assert_int_equal(partition_of(pushed[1].id), partition_of(pushed[2].id));
        assert_int_equal(stats_of(queue).held, 1);
        claimed got[3];
        size_t n = claim_some(consumer, 3, got);
        while (n < 2)
            n += claim_some(consumer, 3 - n, got + n);
        assert_int_equal(n, 2);
        finish_job(queue, &got[0], TKL_OUTCOME_DONE);
        finish_job(queue, &got[1], TKL_OUTCOME_DONE);
        assert_claims(consumer, queue, "c");
    }
    assert_empty();
}

static void a_flow_cannot_be_in_two_places(void **state)
{
    (void)state;
    static const size_t first[] = {0};
    int refused = 0;
    for (int i = 0; i < 20; i++) {
        char *group = test_format("group %d", i);
        tkl_push jobs[] = {
            {.payload = tkl_str("a"), .group = tkl_str("one")},
            {.payload = tkl_str("b"), .group = tkl_str(group), .after = first, .after_count = 1}};
        int rc = tkl_queue_push(queue, jobs, 2, NULL, NULL);
        assert_true(rc == TKL_OK || rc == TKL_EINVAL);
        refused += rc == TKL_EINVAL;
        free(group);
    }
    assert_true(refused > 0);
    assert_int_equal(stats_of(queue).pushed, 2 * (20 - refused));
}

/* ---- Views of operators -------------------------------------------------- */

static void statistics_are_of_the_whole_queue(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++)
        push_one(queue, &(tkl_push){.payload = tkl_str("x"),
                                    .priority = i % 3,
                                    .delay_ms = i % 10 == 0 ? 1000000 : 0});
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready, 27);
    assert_int_equal(s.delayed, 3);
    assert_int_equal(s.pushed, 30);
    tkl_queue_level_list *levels;
    assert_ok(tkl_queue_levels(queue, &levels));
    assert_int_equal(levels->count, 3);
    assert_int_equal(levels->items[0].ready + levels->items[1].ready + levels->items[2].ready, 27);
    tkl_queue_level_list_free(levels);
    int64_t drained;
    assert_ok(tkl_queue_drain(queue, &drained));
    assert_int_equal(drained, 30);
    assert_empty();
}

static void jobs_of_all_partitions_are_listed_in_one_order(void **state)
{
    (void)state;
    enum { N = 40 };
    for (int i = 0; i < N; i++)
        push_one(queue, &(tkl_push){.payload = tkl_str("x"), .priority = (i * 7) % N - N / 2});
    for (size_t skip = 0; skip < N; skip += 15) {
        tkl_listing *l;
        assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_READY, skip, 15, 0, &l));
        assert_int_equal(l->count, skip + 15 <= N ? 15 : N - skip);
        for (size_t i = 0; i < l->count; i++) {
            assert_int_equal(l->items[i].priority, (int)(skip + i) - N / 2);
            assert_int_equal(state_of(queue, l->items[i].id), TKL_JOB_STATE_READY);
        }
        tkl_listing_free(l);
    }
    tkl_listing *l;
    assert_code(tkl_queue_peek(queue, TKL_JOB_STATE_READY, 10001, 1, 0, &l), TKL_EINVAL);
}

static void each_job_is_found_by_its_id(void **state)
{
    (void)state;
    enum { N = 2 * PARTITIONS };
    claimed got[N];
    size_t n = 0;
    for (int i = 0; i < N; i++)
        push_text(queue, "x");
    while (n < N)
        n += claim_some(consumer, N - n, got + n);
    for (int i = 0; i < N; i++) {
        assert_int_equal(state_of(queue, got[i].id), TKL_JOB_STATE_ACTIVE);
        if (i % 2) {
            assert_ok(tkl_queue_cancel(queue, got[i].id));
            assert_code(finish_code(queue, &got[i], TKL_OUTCOME_DONE, ""), TKL_NOTOWNER);
        } else
            finish_job(queue, &got[i], TKL_OUTCOME_DEAD);
    }
    int64_t count;
    assert_ok(tkl_queue_retry(queue, NULL, &count));
    assert_int_equal(count, N / 2);
    for (n = 0; n < N / 2;)
        n += claim_some(consumer, N - n, got + n);
    for (int i = 0; i < N / 2; i++)
        finish_job(queue, &got[i], TKL_OUTCOME_DEAD);
    assert_ok(tkl_queue_drop_dead(queue, NULL, &count));
    assert_int_equal(count, N / 2);
    assert_empty();
}

static void done_jobs_of_all_partitions_are_kept(void **state)
{
    (void)state;
    enum { N = 100 };
    int64_t count;
    tkl_listing *listing;
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.keep_ms = 3600000}));
    for (int i = 0; i < N; i++)
        push_text(queue, "x");
    for (int i = 0; i < N; i++) {
        claimed job = claim_one(consumer);
        finish_job(queue, &job, TKL_OUTCOME_DONE);
    }
    assert_int_equal(stats_of(queue).kept_jobs, N);
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_DONE, 10, 30, 0, &listing));
    assert_int_equal(listing->count, 30);
    for (size_t i = 0; i < 30; i++) {
        assert_int_equal(state_of(queue, listing->items[i].id), TKL_JOB_STATE_DONE);
        assert_true(i == 0 || listing->items[i - 1].due_ms >= listing->items[i].due_ms);
    }
    tkl_listing_free(listing);
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_DONE, NULL, NULL, 1000, 0, &listing));
    assert_int_equal(listing->count, N);
    tkl_listing_free(listing);
    assert_ok(tkl_queue_drop_done(queue, NULL, &count));
    assert_int_equal(count, N);
    assert_empty();
}

static void settings_are_those_of_all_partitions(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * PARTITIONS; i++)
        push_text(queue, "x");
    assert_ok(tkl_queue_pause(queue));
    assert_true(stats_of(queue).paused);
    assert_nothing_ready(consumer);
    assert_ok(tkl_queue_resume(queue));
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.concurrency = 1}));
    claimed got[3 * PARTITIONS];
    size_t n = 0, some;
    while ((some = claim_some(consumer, 3 * PARTITIONS - n, got + n)) > 0)
        n += some;
    assert_int_equal(n, PARTITIONS); /* one of each */
    assert_ok(tkl_queue_drop(queue));
    assert_int_equal(call_int(client, "DBSIZE", NULL), 0);
}

static void it_is_listed_once(void **state)
{
    (void)state;
    for (int i = 0; i < PARTITIONS; i++)
        push_text(queue, "x");
    tkl_names *names;
    int partitions;
    assert_ok(tkl_queue_names(client, &names));
    assert_int_equal(names->count, 1);
    assert_memory_equal(names->items[0].data, "work", 4);
    assert_ok(tkl_queue_partitions(client, names->items[0], &partitions));
    assert_int_equal(partitions, PARTITIONS);
    tkl_names_free(names);
}

/* ---- Waiting ------------------------------------------------------------- */

typedef struct asker {
    char id[TKL_JOB_ID_SIZE];
    int code;
    char text[64];
} asker;

static void wait_for_result(void *arg, int index)
{
    asker *a = (asker *)arg + index;
    tkl_job_result *result;
    a->code = tkl_queue_result(queue, a->id, 30000, &result);
    snprintf(a->text, sizeof a->text, "%s", result ? result->text.data : "");
    tkl_job_result_free(result);
}

static void results_come_from_every_partition(void **state)
{
    (void)state;
    asker askers[PARTITIONS] = {0};
    for (int i = 0; i < PARTITIONS; i++) {
        job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("x"), .result_ms = 60000});
        memcpy(askers[i].id, id.text, sizeof askers[i].id);
    }
    crew *threads = crew_start(PARTITIONS, wait_for_result, askers);
    for (int i = 0; i < PARTITIONS; i++) {
        claimed job;
        eventually(claim_some(consumer, 1, &job) == 1, 20000);
        assert_ok(finish_code(queue, &job, TKL_OUTCOME_DONE, job.id));
    }
    crew_join(threads);
    for (int i = 0; i < PARTITIONS; i++) {
        assert_ok(askers[i].code);
        assert_string_equal(askers[i].text, askers[i].id);
    }
}

typedef struct waiter {
    tkl_consumer *consumer;
    int result;
} waiter;

static void wait_for_a_job(void *arg, int index)
{
    waiter *w = (waiter *)arg + index;
    tkl_jobs *jobs;
    w->result = tkl_consumer_claim(w->consumer, 1, 30000, &jobs);
    tkl_jobs_free(jobs);
}

static void one_who_waits_hears_of_every_partition(void **state)
{
    (void)state;
    for (int i = 0; i < PARTITIONS; i++) {
        waiter w = {.consumer = open_claimer(queue, 0)};
        crew *threads = crew_start(1, wait_for_a_job, &w);
        eventually(stats_of(queue).waiters == PARTITIONS, 20000);
        char *group = test_format("group %d", i);
        push_one(queue, &(tkl_push){.payload = tkl_str("x"), .group = tkl_str(group)});
        free(group);
        crew_join(threads);
        assert_ok(w.result);
        tkl_consumer_close(w.consumer);
    }
}

#define SPREAD_TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPREAD_TEST(jobs_are_spread_evenly),
        SPREAD_TEST(a_group_keeps_its_order_overall),
        SPREAD_TEST(unique_jobs_are_unique_in_the_whole_queue),
        SPREAD_TEST(a_flow_stays_together),
        SPREAD_TEST(a_flow_cannot_be_in_two_places),
        SPREAD_TEST(statistics_are_of_the_whole_queue),
        SPREAD_TEST(jobs_of_all_partitions_are_listed_in_one_order),
        SPREAD_TEST(each_job_is_found_by_its_id),
        SPREAD_TEST(done_jobs_of_all_partitions_are_kept),
        SPREAD_TEST(settings_are_those_of_all_partitions),
        SPREAD_TEST(it_is_listed_once),
        SPREAD_TEST(results_come_from_every_partition),
        SPREAD_TEST(one_who_waits_hears_of_every_partition),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
