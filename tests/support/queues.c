/* SPDX-License-Identifier: MIT */
#include "support/queues.h"

tkl_queue *open_queue(tkl_client *client, const char *name, int partitions)
{
    tkl_queue *queue;
    assert_ok(tkl_queue_open(client, tkl_str(name), &(tkl_queue_options){.partitions = partitions},
                             &queue));
    return queue;
}

tkl_consumer *open_consumer(tkl_queue *queue, int64_t lease_ms)
{
    tkl_consumer *consumer;
    const tkl_consumer_options options = {.lease_ms = lease_ms};
    assert_ok(tkl_consumer_open(&queue, 1, &options, &consumer));
    return consumer;
}

void push_job(tkl_queue *queue, const tkl_push *job, char id[TKL_JOB_ID_SIZE])
{
    tkl_pushed pushed;
    assert_ok(tkl_queue_push(queue, job, 1, NULL, &pushed));
    assert_ok(pushed.code);
    if (id)
        memcpy(id, pushed.id, sizeof pushed.id);
}

void push_words(tkl_queue *queue, const char *words)
{
    tkl_push jobs[64] = {0};
    size_t count = 0;
    for (size_t len; *words; words += len) {
        words += strspn(words, " ");
        len = strcspn(words, " ");
        assert_true(count < 64);
        jobs[count++].payload = (tkl_bytes){words, len};
    }
    assert_ok(tkl_queue_push(queue, jobs, count, NULL, NULL));
}

tkl_jobs *claim_jobs(tkl_consumer *consumer, size_t max, int64_t wait_ms)
{
    tkl_jobs *jobs;
    assert_ok(tkl_consumer_claim(consumer, max, wait_ms, &jobs));
    return jobs;
}

void assert_jobs(const tkl_jobs *jobs, const char *words)
{
    char got[4096] = "";
    size_t len = 0;
    for (size_t i = 0; jobs && i < jobs->count; i++) {
        tkl_bytes payload = jobs->items[i].payload;
        len += (size_t)snprintf(got + len, sizeof got - len, "%s%.*s", i ? " " : "",
                                (int)payload.len, payload.data);
    }
    assert_string_equal(got, words);
}

void expect_all(tkl_consumer *consumer, const char *words)
{
    tkl_jobs *jobs;
    int rc = tkl_consumer_claim(consumer, 1000, 0, &jobs);
    assert_code(rc, *words ? TKL_OK : TKL_EMPTY);
    assert_jobs(jobs, words);
    if (jobs)
        finish_all(consumer, jobs);
    tkl_jobs_free(jobs);
}

int report_job(tkl_consumer *consumer, const tkl_job *job, tkl_outcome outcome, const char *text,
               int64_t delay_ms)
{
    tkl_report report = {
        .job = job, .outcome = outcome, .text = tkl_str(text), .delay_ms = delay_ms};
    int rc = tkl_consumer_finish(consumer, &report, 1);
    assert_int_equal(rc, report.code);
    return rc;
}

void finish_all(tkl_consumer *consumer, const tkl_jobs *jobs)
{
    tkl_report *reports = calloc(jobs->count + 1, sizeof *reports);
    assert_non_null(reports);
    for (size_t i = 0; i < jobs->count; i++)
        reports[i].job = &jobs->items[i];
    assert_ok(tkl_consumer_finish(consumer, reports, jobs->count));
    free(reports);
}

static int64_t or_none(int64_t limit)
{
    return limit == 0 ? TKL_NONE : limit;
}

int set_exactly(tkl_queue *queue, const tkl_queue_limits *l)
{
    return tkl_queue_limits_set(
        queue, &(tkl_queue_limits){.max_jobs = or_none(l->max_jobs),
                                   .max_bytes = or_none(l->max_bytes),
                                   .concurrency = or_none(l->concurrency),
                                   .rate = or_none(l->rate),
                                   .rate_period_ms = or_none(l->rate_period_ms),
                                   .group_concurrency = or_none(l->group_concurrency),
                                   .group_rate = or_none(l->group_rate),
                                   .group_rate_period_ms = or_none(l->group_rate_period_ms),
                                   .dead_max = or_none(l->dead_max),
                                   .dead_ms = or_none(l->dead_ms),
                                   .keep_ms = or_none(l->keep_ms),
                                   .keep_max = or_none(l->keep_max),
                                   .keep_bytes = or_none(l->keep_bytes)});
}
