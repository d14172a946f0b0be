/* SPDX-License-Identifier: MIT
 *
 * Done jobs that a queue keeps: what operators see of them, their bounds, and that nothing else in
 * the queue notices them.
 */
#include "support/work.h"

#define HOUR_MS 3600000
#define WORK    "tackle:queue:{work}:"

/* Pushes a job, claims it and reports it as done. */
static job_id do_job(const tkl_push *job)
{
    job_id id = push_one(queue, job);
    claimed claim = claim_one(consumer);
    finish_job(queue, &claim, TKL_OUTCOME_DONE);
    return id;
}

static job_id do_text(const char *payload)
{
    return do_job(&(tkl_push){.payload = tkl_str(payload)});
}

/* Pushes this many jobs "x" and reports them together. */
static void do_together(size_t count)
{
    for (size_t i = 0; i < count; i++)
        push_text(queue, "x");
    tkl_jobs *jobs = claim_jobs(consumer, count, 0);
    assert_int_equal(jobs->count, count);
    finish_all(consumer, jobs);
    tkl_jobs_free(jobs);
}

static void keep(const tkl_queue_limits *limits)
{
    assert_ok(tkl_queue_limits_set(queue, limits));
}

static int64_t kept(void)
{
    return stats_of(queue).kept_jobs;
}

static void assert_no_keys(fixture *f)
{
    assert_int_equal(call_int(f->client, "EXISTS", WORK "done", WORK "done_jobs", NULL), 0);
}

/* ---- Kept jobs ----------------------------------------------------------- */

static void nothing_is_kept_unless_asked_for(void **state)
{
    fixture *f = *state;
    job_id id = do_text("a");
    do_together(3);
    assert_peek(TKL_JOB_STATE_DONE, 0, 10, "");
    assert_int_equal(state_of(queue, id.text), TKL_JOB_STATE_UNKNOWN);
    assert_int_equal(kept(), 0);
    assert_no_keys(f);
    assert_no_garbage(f->server);
}

static void a_kept_job_is_shown_with_all_that_is_known(void **state)
{
    (void)state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    push_one(queue, &(tkl_push){.payload = {"\xff\0p", 3},
                                .kind = tkl_str("mail"),
                                .meta = tkl_str("m"),
                                .group = tkl_str("g"),
                                .unique = tkl_str("u"),
                                .priority = 7,
                                .retries = 3,
                                .result_ms = HOUR_MS});
    claimed job = claim_one(consumer);
    assert_ok(
        tkl_queue_finish(queue, job.id, job.token, TKL_OUTCOME_FAILED, tkl_str("no luck"), 1));
    test_sleep_ms(3);
    job = claim_one(consumer);
    assert_ok(finish_code(queue, &job, TKL_OUTCOME_DONE, "the result"));
    tkl_listing *listing;
    assert_ok(tkl_queue_show(queue, job.id, 0, &listing));
    const tkl_job_info *info = &listing->items[0];
    assert_int_equal(info->state, TKL_JOB_STATE_DONE);
    assert_int_equal(info->payload.len, 3);
    assert_memory_equal(info->payload.data, "\xff\0p", 3);
    assert_int_equal(info->payload_size, 3);
    assert_memory_equal(info->kind.data, "mail", 4);
    assert_memory_equal(info->meta.data, "m", 1);
    assert_memory_equal(info->group.data, "g", 1);
    assert_memory_equal(info->unique.data, "u", 1);
    assert_memory_equal(info->error.data, "no luck", 7);
    assert_int_equal(info->result.len, 10);
    assert_memory_equal(info->result.data, "the result", 10);
    assert_int_equal(info->priority, 7);
    assert_int_equal(info->attempt, 1);
    assert_int_equal(info->retries, 3);
    assert_memory_equal(info->worker, job.token, sizeof info->worker - 1);
    assert_true(info->pid > 0);
    assert_true(info->host.len > 0);
    assert_true(info->pushed_ms < info->since_ms);
    assert_true(info->since_ms <= info->due_ms);
    assert_true(info->due_ms <= info->pushed_ms + HOUR_MS);
    tkl_listing_free(listing);
}

static void a_long_result_is_kept_in_part(void **state)
{
    (void)state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    char *result = test_format("%05000d", 0);
    push_one(queue, &(tkl_push){.payload = tkl_str("a"), .result_ms = HOUR_MS});
    claimed job = claim_one(consumer);
    assert_ok(finish_code(queue, &job, TKL_OUTCOME_DONE, result));
    tkl_listing *listing = peek(TKL_JOB_STATE_DONE, 0, 10);
    assert_int_equal(listing->items[0].result.len, 1000);
    tkl_listing_free(listing);
    assert_result(job.id, 0, TKL_OK, result);
    free(result);
}

static void jobs_that_are_reported_together_are_kept(void **state)
{
    (void)state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    push_words(queue, "a b c");
    push_one(queue, &(tkl_push){.payload = tkl_str("d"), .unique = tkl_str("u")});
    tkl_jobs *jobs = claim_jobs(consumer, 10, 0);
    assert_ok(tkl_queue_cancel(queue, jobs->items[1].id)); /* "b": its report is too late */
    tkl_report reports[4] = {{.job = NULL}};
    for (size_t i = 0; i < 4; i++)
        reports[i].job = &jobs->items[i];
    assert_code(tkl_consumer_finish(consumer, reports, 4), TKL_NOTOWNER);
    tkl_jobs_free(jobs);
    assert_int_equal(kept(), 3);
    assert_peek(TKL_JOB_STATE_DONE, 0, 10, "d c a");
    assert_peek(TKL_JOB_STATE_DONE, 1, 1, "c");
    assert_int_equal(stats_of(queue).done, 3);
}

/* The server keeps 4 KB of 10 MB. */
static void a_large_payload_is_kept_in_part(void **state)
{
    fixture *f = *state;
    enum { LARGE = 10 * 1024 * 1024 };
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    char *bytes = malloc(LARGE);
    assert_non_null(bytes);
    memset(bytes, 'x', LARGE);
    do_job(&(tkl_push){.payload = {bytes, LARGE}});
    do_job(&(tkl_push){.payload = {bytes, 60000}});
    free(bytes);
    tkl_listing *listing = peek(TKL_JOB_STATE_DONE, 0, 10);
    assert_int_equal(listing->count, 2);
    assert_int_equal(listing->items[0].payload.len, 60000);
    assert_int_equal(listing->items[0].payload_size, 60000);
    assert_int_equal(listing->items[1].payload.len, 4096);
    assert_int_equal(listing->items[1].payload_size, LARGE);
    tkl_listing_free(listing);
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_DONE, 0, 10, 5, &listing));
    assert_int_equal(listing->items[1].payload.len, 5);
    assert_int_equal(listing->items[1].payload_size, LARGE);
    tkl_listing_free(listing);
    assert_true(call_int(f->client, "HGET", WORK "done_jobs", "bytes", NULL) < 70000);
}

/* One script copies about 512 KB of records: jobs that are reported behind them are kept
 * without. */
static void very_many_bytes_are_kept_in_part(void **state)
{
    (void)state;
    enum { JOBS = 90, SIZE = 60000 };
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    char *text = test_format("%0*d", SIZE, 0);
    for (int i = 0; i < JOBS; i++)
        push_text(queue, text);
    free(text);
    tkl_jobs *claims[JOBS];
    tkl_report reports[JOBS] = {0};
    size_t nclaims = 0, count = 0;
    while (count < JOBS) { /* a claim takes some of them, a report has them all */
        tkl_jobs *some = claims[nclaims++] = claim_jobs(consumer, JOBS - count, 0);
        for (size_t i = 0; i < some->count; i++)
            reports[count++].job = &some->items[i];
    }
    assert_ok(tkl_consumer_finish(consumer, reports, count));
    for (size_t i = 0; i < nclaims; i++)
        tkl_jobs_free(claims[i]);
    tkl_listing *listing = peek(TKL_JOB_STATE_DONE, 0, JOBS);
    assert_int_equal(listing->count, JOBS);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(listing->items[i].payload_size, SIZE);
    assert_int_equal(listing->items[0].payload.len, 0);
    assert_int_equal(listing->items[JOBS - 1].payload.len, SIZE);
    tkl_listing_free(listing);
}

/* ---- Bounds -------------------------------------------------------------- */

static void the_newest_are_kept(void **state)
{
    (void)state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS, .keep_max = 2});
    for (int i = 0; i < 4; i++) {
        do_text((const char *[]){"a", "b", "c", "d"}[i]);
        test_sleep_ms(2);
    }
    assert_peek(TKL_JOB_STATE_DONE, 0, 10, "d c");
    do_together(300); /* more than may be kept, in one report */
    assert_int_equal(kept(), 2);
    assert_peek(TKL_JOB_STATE_DONE, 0, 10, "x x");
}

static void their_bytes_are_bounded(void **state)
{
    fixture *f = *state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS, .keep_bytes = 10000});
    char *text = test_format("%03000d", 0);
    for (int i = 0; i < 10; i++) {
        do_text(text);
        assert_true(call_int(f->client, "HGET", WORK "done_jobs", "bytes", NULL) <= 10000);
    }
    assert_int_equal(kept(), 3);
    do_together(1000);
    assert_true(call_int(f->client, "HGET", WORK "done_jobs", "bytes", NULL) <= 10000);
    int64_t some = kept();
    assert_true(some > 10 && some < 1000);
    free(text);
    text = test_format("%020000d", 0); /* alone too large */
    job_id id = do_text(text);
    assert_int_equal(state_of(queue, id.text), TKL_JOB_STATE_UNKNOWN);
    free(text);
}

static void they_are_forgotten_in_time(void **state)
{
    fixture *f = *state;
    keep(&(tkl_queue_limits){.keep_ms = 200});
    do_text("a");
    assert_true(call_int(f->client, "PTTL", WORK "done", NULL) > 0);
    assert_true(call_int(f->client, "PTTL", WORK "done_jobs", NULL) > 0);
    eventually(call_int(f->client, "EXISTS", WORK "done", WORK "done_jobs", NULL) == 0, 10000);
    assert_int_equal(kept(), 0);
}

/* A job that is too old is not shown, although it is removed later. */
static void a_job_that_is_too_old_is_not_shown(void **state)
{
    fixture *f = *state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    job_id id = do_text("a");
    do_text("b");
    server_do(f->server, "ZADD " WORK "done 1000 %s", id.text);
    assert_int_equal(kept(), 1);
    assert_peek(TKL_JOB_STATE_DONE, 0, 10, "b");
    assert_int_equal(state_of(queue, id.text), TKL_JOB_STATE_UNKNOWN);
    int64_t count;
    assert_ok(tkl_queue_count_done(queue, NULL, &count));
    assert_int_equal(count, 1);
    do_text("c"); /* removes it */
    assert_int_equal(call_int(f->client, "ZCARD", WORK "done", NULL), 2);
}

static void lower_limits_hold_at_once(void **state)
{
    fixture *f = *state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    do_together(500);
    do_together(500);
    assert_int_equal(kept(), 1000);
    keep(&(tkl_queue_limits){.keep_max = 3});
    assert_int_equal(call_int(f->client, "ZCARD", WORK "done", NULL), 3);
    assert_int_equal(call_int(f->client, "HLEN", WORK "done_jobs", NULL), 4); /* and the bytes */
    keep(&(tkl_queue_limits){.keep_ms = TKL_NONE});
    assert_no_keys(f);
    assert_no_garbage(f->server);
}

static void a_longer_time_holds_for_what_is_kept(void **state)
{
    fixture *f = *state;
    keep(&(tkl_queue_limits){.keep_ms = 60000});
    do_text("a");
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    assert_true(call_int(f->client, "PTTL", WORK "done", NULL) > 60000);
    assert_true(call_int(f->client, "PTTL", WORK "done_jobs", NULL) > 60000);
}

static void senseless_limits_are_refused(void **state)
{
    (void)state;
    static const tkl_queue_limits bad[] = {
        {.keep_ms = -2}, {.keep_max = INT64_MAX}, {.keep_bytes = -5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(tkl_queue_limits_set(queue, &bad[i]), TKL_EINVAL);
}

/* ---- For all that works, a kept job is gone ------------------------------- */

static void a_kept_job_holds_up_nothing(void **state)
{
    (void)state;
    static const size_t child[] = {0};
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS, .max_jobs = 2, .max_bytes = 40});
    for (int i = 0; i < 5; i++)
        do_job(&(tkl_push){.payload = tkl_str("a"), .unique = tkl_str("u")});
    tkl_push flow[] = {{.payload = tkl_str("child")},
                       {.payload = tkl_str("parent"), .after = child, .after_count = 1}};
    tkl_pushed pushed[2];
    assert_ok(tkl_queue_push(queue, flow, 2, NULL, pushed));
    assert_claims(consumer, queue, "child parent");
    tkl_queue_stats stats = stats_of(queue);
    assert_int_equal(stats.kept_jobs, 7);
    assert_int_equal(stats.ready + stats.delayed + stats.held + stats.active + stats.dead, 0);
    assert_int_equal(stats.bytes, 0);
}

static void no_action_on_other_jobs_touches_a_kept_one(void **state)
{
    (void)state;
    int64_t count;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    job_id id = do_text("a");
    assert_code(tkl_queue_cancel(queue, id.text), TKL_NOTFOUND);
    assert_code(tkl_queue_promote(queue, id.text), TKL_NOTFOUND);
    assert_code(tkl_queue_requeue(queue, id.text, true), TKL_NOTFOUND);
    assert_code(tkl_queue_edit(queue, id.text, tkl_str("b")), TKL_NOTFOUND);
    assert_code(tkl_queue_retry(queue, &(tkl_job_filter){.id = id.text}, &count), TKL_NOTFOUND);
    assert_code(tkl_queue_retry(queue, NULL, &count), TKL_NOTFOUND);
    assert_ok(tkl_queue_drop_dead(queue, NULL, &count));
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, 0);
    tkl_queue_reasons *reasons;
    assert_code(tkl_queue_why(queue, id.text, &reasons), TKL_NOTFOUND);
    assert_peek(TKL_JOB_STATE_DONE, 0, 10, "a");
}

static void only_done_jobs_are_kept(void **state)
{
    (void)state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    bury("a");
    job_id id = push_text(queue, "b");
    assert_ok(tkl_queue_cancel(queue, id.text));
    push_text(queue, "c");
    assert_ok(tkl_queue_drain(queue, NULL));
    push_text(queue, "d");
    claimed job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_RELEASED);
    assert_int_equal(kept(), 0);
}

static void a_dropped_queue_keeps_nothing(void **state)
{
    fixture *f = *state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    do_text("a");
    assert_ok(tkl_queue_drop(queue));
    assert_no_keys(f);
}

/* ---- Finding and deleting ------------------------------------------------ */

static void they_are_found_with_the_others(void **state)
{
    (void)state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    do_job(&(tkl_push){.payload = tkl_str("needle-1"), .kind = tkl_str("mail")});
    do_text("hay");
    push_text(queue, "needle-2");
    tkl_listing *listing;
    tkl_job_filter filter = {.text = tkl_str("needle")};
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_UNKNOWN, &filter, NULL, 10, 0, &listing));
    assert_int_equal(listing->count, 2);
    assert_int_equal(listing->items[0].state, TKL_JOB_STATE_READY);
    assert_int_equal(listing->items[1].state, TKL_JOB_STATE_DONE);
    assert_memory_equal(listing->items[1].payload.data, "needle-1", 8);
    tkl_listing_free(listing);
    filter = (tkl_job_filter){.kind = tkl_str("mail")};
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_DONE, &filter, NULL, 10, 0, &listing));
    assert_int_equal(listing->count, 1);
    tkl_listing_free(listing);
}

/* A search goes on where it ended, in steps. */
static void a_search_finds_all(void **state)
{
    (void)state;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    do_together(450);
    const char *after = NULL;
    char place[256];
    size_t found = 0;
    do {
        tkl_listing *listing;
        assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_DONE, NULL, after, 100, 0, &listing));
        found += listing->count;
        after = listing->next ? place : NULL;
        if (after)
            snprintf(place, sizeof place, "%s", listing->next);
        tkl_listing_free(listing);
    } while (after);
    assert_int_equal(found, 450);
}

static void they_are_deleted_by_choice(void **state)
{
    fixture *f = *state;
    int64_t count;
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    job_id id = do_text("a");
    do_text("alice");
    do_text("bob");
    do_together(450);
    tkl_job_filter alice = {.text = tkl_str("alice")}, old = {.older_ms = HOUR_MS},
                   one = {.id = id.text};
    assert_ok(tkl_queue_count_done(queue, &alice, &count));
    assert_int_equal(count, 1);
    assert_ok(tkl_queue_drop_done(queue, &alice, &count));
    assert_int_equal(count, 1);
    assert_code(tkl_queue_drop_done(queue, &alice, &count), TKL_NOTFOUND);
    assert_code(tkl_queue_drop_done(queue, &old, &count), TKL_NOTFOUND);
    assert_ok(tkl_queue_drop_done(queue, &one, &count));
    assert_int_equal(count, 1);
    assert_code(tkl_queue_drop_done(queue, &one, &count), TKL_NOTFOUND);
    assert_code(tkl_queue_drop_done(queue, &(tkl_job_filter){.id = "x"}, &count), TKL_NOTFOUND);
    assert_int_equal(kept(), 451);
    assert_ok(tkl_queue_drop_done(queue, NULL, &count));
    assert_int_equal(count, 451);
    assert_ok(tkl_queue_drop_done(queue, NULL, &count));
    assert_int_equal(count, 0);
    assert_no_keys(f);
    assert_no_garbage(f->server);
}

static void partitions_are_one_queue(void **state)
{
    fixture *f = *state;
    tkl_queue *parts = open_queue(f->client, "parts", 3);
    tkl_consumer *worker = open_consumer(parts, 0);
    int64_t count;
    assert_ok(tkl_queue_limits_set(parts, &(tkl_queue_limits){.keep_ms = HOUR_MS}));
    push_words(parts, "a b c d e f");
    for (size_t done = 0; done < 6;) {
        tkl_jobs *jobs = claim_jobs(worker, 1, 0);
        finish_all(worker, jobs);
        done += jobs->count;
        tkl_jobs_free(jobs);
    }
    assert_int_equal(stats_of(parts).kept_jobs, 6);
    tkl_listing *listing;
    assert_ok(tkl_queue_peek(parts, TKL_JOB_STATE_DONE, 1, 4, 0, &listing));
    assert_int_equal(listing->count, 4);
    for (size_t i = 1; i < listing->count; i++)
        assert_true(listing->items[i - 1].due_ms >= listing->items[i].due_ms);
    tkl_job_filter one = {.id = listing->items[0].id};
    assert_ok(tkl_queue_drop_done(parts, &one, &count));
    tkl_listing_free(listing);
    assert_ok(tkl_queue_drop_done(parts, NULL, &count));
    assert_int_equal(count, 5);
    tkl_consumer_close(worker);
    tkl_queue_close(parts);
}

/* ---- Loss and damage ----------------------------------------------------- */

static void a_foreign_key_stops_nobodys_work(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {WORK "done", WORK "done_jobs"};
    for (size_t i = 0; i < 2; i++) {
        server_do(f->server, "FLUSHALL");
        keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
        assert_ok(call_code(f->client, NULL, "SET", parts[i], "mine", NULL));
        do_text("a");
        do_together(3);
        keep(&(tkl_queue_limits){.keep_max = 1});
        assert_int_equal(call_int(f->client, "HGET", WORK "meta", "done", NULL), 4);
        call_expect(f->client, "mine", "GET", parts[i], NULL);
    }
}

/* The server has evicted one of the two keys. */
static void a_lost_key_is_made_good(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {WORK "done", WORK "done_jobs"};
    for (size_t i = 0; i < 2; i++) {
        keep(&(tkl_queue_limits){.keep_ms = HOUR_MS, .keep_max = 5});
        do_together(3);
        server_do(f->server, "DEL %s", parts[i]);
        assert_peek(TKL_JOB_STATE_DONE, 0, 10, "");
        do_text("b");
        assert_peek(TKL_JOB_STATE_DONE, 0, 10, "b");
        do_together(5);
        assert_int_equal(call_int(f->client, "ZCARD", WORK "done", NULL), 5);
        assert_int_equal(call_int(f->client, "HLEN", WORK "done_jobs", NULL), 6);
        assert_ok(tkl_queue_drop_done(queue, NULL, NULL));
        assert_no_keys(f);
    }
}

static void damaged_rows_are_passed_over_and_removed(void **state)
{
    fixture *f = *state;
    static const char *const rows[] = {"",
                                       "garbage",
                                       "1 2 3 4 5",
                                       "1 2 3 4 5\n",
                                       "99999999999999999999 99999999999999999999 1 1 1\nabc",
                                       "1 1 99999999999999999999999 1 1\nabc",
                                       "-1 0 0 0 0\nx"};
    static const char *const bytes[] = {"garbage", "1e999", "nan", "-5", "99999999999999999999"};
    keep(&(tkl_queue_limits){.keep_ms = HOUR_MS});
    tkl_listing *listing;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job_id id = do_text("a");
        assert_int_equal(call_int(f->client, "HSET", WORK "done_jobs", id.text, rows[i], NULL), 0);
        int rc = tkl_queue_show(queue, id.text, 0, &listing);
        assert_true(rc == TKL_OK || rc == TKL_NOTFOUND);
        tkl_listing_free(listing);
        assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_DONE, 0, 10, 1, &listing));
        tkl_listing_free(listing);
        assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_DONE, &(tkl_job_filter){.text = tkl_str("a")},
                                 NULL, 10, 0, &listing));
        tkl_listing_free(listing);
    }
    server_do(f->server, "ZADD " WORK "done inf nonsense");
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        server_do(f->server, "HSET " WORK "done_jobs bytes %s", bytes[i]);
        do_text("b");
        do_together(2);
    }
    assert_ok(tkl_queue_drop_done(queue, NULL, NULL));
    assert_no_keys(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(nothing_is_kept_unless_asked_for),
        WORK_TEST(a_kept_job_is_shown_with_all_that_is_known),
        WORK_TEST(a_long_result_is_kept_in_part),
        WORK_TEST(jobs_that_are_reported_together_are_kept),
        WORK_TEST(a_large_payload_is_kept_in_part),
        WORK_TEST(very_many_bytes_are_kept_in_part),
        WORK_TEST(the_newest_are_kept),
        WORK_TEST(their_bytes_are_bounded),
        WORK_TEST(they_are_forgotten_in_time),
        WORK_TEST(a_job_that_is_too_old_is_not_shown),
        WORK_TEST(lower_limits_hold_at_once),
        WORK_TEST(a_longer_time_holds_for_what_is_kept),
        WORK_TEST(senseless_limits_are_refused),
        WORK_TEST(a_kept_job_holds_up_nothing),
        WORK_TEST(no_action_on_other_jobs_touches_a_kept_one),
        WORK_TEST(only_done_jobs_are_kept),
        WORK_TEST(a_dropped_queue_keeps_nothing),
        WORK_TEST(they_are_found_with_the_others),
        WORK_TEST(a_search_finds_all),
        WORK_TEST(they_are_deleted_by_choice),
        WORK_TEST(partitions_are_one_queue),
        WORK_TEST(a_foreign_key_stops_nobodys_work),
        WORK_TEST(a_lost_key_is_made_good),
        WORK_TEST(damaged_rows_are_passed_over_and_removed),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
