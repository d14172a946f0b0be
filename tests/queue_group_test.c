/* SPDX-License-Identifier: MIT
 *
 * Many workers run the jobs of a few groups, while operators change settings: no job is stuck, no
 * group has too many active jobs, and a group with a single place keeps its order.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include <tackle/queue.h>

#include "support/fixture.h"
#include "support/jobs.h"

enum { WORKERS = 6, MOST_GROUPS = 8, MOST_JOBS = 200 };

static struct yard {
    fixture *f;
    tkl_queue *queue;
    int groups, jobs; /* places of each group */
    int places;       /* places of each group */
    atomic_int inside[MOST_GROUPS];
    atomic_int next[MOST_GROUPS]; /* of an ordered group */
    atomic_int done;
    atomic_int violations;
    tkl_consumer *consumers[WORKERS];
} y;

static unsigned roll(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static void push_all_jobs(void)
{
    static tkl_push jobs[MOST_GROUPS * MOST_JOBS];
    static char payloads[MOST_GROUPS * MOST_JOBS][32];
    static char names[MOST_GROUPS][32];
    size_t n = 0;
    for (int i = 0; i < y.jobs; i++)
        for (int g = 0; g < y.groups; g++, n++) {
            snprintf(names[g], sizeof names[g], "group %d", g);
            snprintf(payloads[n], sizeof payloads[n], "%d %d", g, i);
            jobs[n] = (tkl_push){
                .payload = tkl_str(payloads[n]), .group = tkl_str(names[g]), .retries = 1000000};
        }
    assert_ok(tkl_queue_push(y.queue, jobs, n, NULL, NULL));
}

/* Ends the lease of a job, as if its worker had died. */
static void abandon(const tkl_job *job)
{
    const char *dot = strchr(job->id, '.');
    char *tag = dot ? test_format("%%23%.*s", (int)(dot - job->id), job->id) : strdup("");
    char *key = test_format("tackle:queue:{work%s}:active", tag);
    char *member = test_format("%s:%s", dot ? dot + 1 : job->id, job->token);
    assert_int_equal(call_int(y.f->client, "ZADD", key, "XX", "CH", "1000", member, NULL), 1);
    free(tag);
    free(key);
    free(member);
}

static void work_on(const tkl_job *job, unsigned *seed)
{
    int group, index;
    char text[32] = "";
    memcpy(text, job->payload.data, job->payload.len);
    assert_int_equal(sscanf(text, "%d %d", &group, &index), 2);
    if (atomic_fetch_add(&y.inside[group], 1) >= y.places)
        atomic_fetch_add(&y.violations, 1);
    if (y.places == 1 && atomic_load(&y.next[group]) != index)
        atomic_fetch_add(&y.violations, 1);
    unsigned fate = roll(seed, 100);
    if (fate >= 25 && y.places == 1)
        atomic_fetch_add(&y.next[group], 1);
    if (fate < 10)
        test_sleep_ms(1);
    atomic_fetch_sub(&y.inside[group], 1);
    if (fate < 2) {
        abandon(job);
        return;
    }
    tkl_outcome outcome = fate < 12   ? TKL_OUTCOME_FAILED
                          : fate < 25 ? TKL_OUTCOME_RELEASED
                                      : TKL_OUTCOME_DONE;
    int64_t delay = outcome == TKL_OUTCOME_FAILED || fate < 16 ? 1 + (int64_t)roll(seed, 20) : 0;
    assert_ok(tkl_queue_finish(y.queue, job->id, job->token, outcome, tkl_str("again"), delay));
    if (outcome == TKL_OUTCOME_DONE)
        atomic_fetch_add(&y.done, 1);
}

static void worker(void *arg, int index)
{
    (void)arg;
    unsigned seed = 12345u + (unsigned)index * 77u;
    while (atomic_load(&y.done) < y.groups * y.jobs) {
        tkl_jobs *jobs;
        int rc = tkl_consumer_claim(y.consumers[index], 1 + roll(&seed, 4), 60000, &jobs);
        if (rc == TKL_EMPTY)
            break;
        assert_ok(rc);
        for (size_t i = 0; i < jobs->count; i++)
            work_on(&jobs->items[i], &seed);
        tkl_jobs_free(jobs);
    }
    for (int i = 0; i < WORKERS; i++) /* that was all: nobody needs to wait */
        tkl_consumer_cancel(y.consumers[i]);
}

/* Changes all settings but the groups' places back and forth, until the work is done. */
static void operator_at_work(const tkl_queue_limits *changes, int count)
{
    int64_t deadline = test_now_ms() + 120000;
    for (unsigned i = 0; atomic_load(&y.done) < y.groups * y.jobs; i++) {
        if (test_now_ms() > deadline)
            fail_msg("stuck: %d of %d done", atomic_load(&y.done), y.groups * y.jobs);
        if (count > 0)
            assert_ok(set_exactly(y.queue, &changes[i % (unsigned)count]));
        if (count > 0 && i % 7 == 3) {
            assert_ok(tkl_queue_pause(y.queue));
            assert_ok(tkl_queue_resume(y.queue));
        }
        test_sleep_ms(10);
    }
}

static void run(void **state, int groups, int jobs, int partitions, const tkl_queue_limits *changes,
                int count)
{
    memset(&y, 0, sizeof y);
    y.f = *state;
    y.groups = groups;
    y.jobs = jobs;
    y.places = (int)changes[0].group_concurrency;
    if (y.places == 0)
        y.places = 1000000;
    y.queue = open_queue(y.f->client, "work", partitions);
    assert_ok(set_exactly(y.queue, &changes[0]));
    for (int i = 0; i < WORKERS; i++)
        y.consumers[i] = open_claimer(y.queue, 0);
    crew *threads = crew_start(WORKERS, worker, NULL);
    push_all_jobs();
    operator_at_work(changes, count);
    crew_join(threads);
    for (int i = 0; i < WORKERS; i++)
        tkl_consumer_close(y.consumers[i]);
    assert_int_equal(y.done, groups * jobs);
    assert_int_equal(y.violations, 0);
    tkl_queue_stats s = stats_of(y.queue);
    assert_int_equal(s.ready + s.delayed + s.held + s.active + s.dead + s.bytes, 0);
    assert_int_equal(s.done, groups * jobs);
    tkl_queue_close(y.queue);
}

static void groups_keep_their_order(void **state)
{
    static const tkl_queue_limits one = {.group_concurrency = 1};
    run(state, 4, 80, 1, &one, 0);
    assert_no_garbage(y.f->server);
}

static void groups_keep_their_order_in_several_partitions(void **state)
{
    static const tkl_queue_limits one = {.group_concurrency = 1};
    run(state, 6, 50, 3, &one, 0);
    assert_no_garbage(y.f->server);
}

static void groups_keep_to_their_places_while_limits_change(void **state)
{
    static const tkl_queue_limits changes[] = {
        {.group_concurrency = 2},
        {.group_concurrency = 2, .concurrency = 3},
        {.group_concurrency = 1},
        {.group_concurrency = 2, .concurrency = 1},
        {.group_concurrency = 2, .rate = 20, .rate_period_ms = 40},
        {.group_concurrency = 1, .group_rate = 10, .group_rate_period_ms = 30},
    };
    run(state, 4, 60, 1, changes, sizeof changes / sizeof *changes);
}

static void rates_of_groups_leave_nobody_behind(void **state)
{
    static const tkl_queue_limits slow = {.group_rate = 4, .group_rate_period_ms = 20};
    run(state, 3, 40, 1, &slow, 0);
}

static void a_rate_of_the_queue_leaves_nobody_behind(void **state)
{
    static const tkl_queue_limits slow = {.rate = 10, .rate_period_ms = 20, .concurrency = 2};
    run(state, 3, 40, 1, &slow, 0);
    assert_no_garbage(y.f->server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_keep_their_order),
        TEST(groups_keep_their_order_in_several_partitions),
        TEST(groups_keep_to_their_places_while_limits_change),
        TEST(rates_of_groups_leave_nobody_behind),
        TEST(a_rate_of_the_queue_leaves_nobody_behind),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
