/* SPDX-License-Identifier: MIT
 *
 * Operators of queues: show, cancel, promote, retry, requeue, drop.
 *
 * ctest: label threads
 */
#include "support/work.h"

/* ---- Statistics ---------------------------------------------------------- */

static void an_empty_queue_has_no_statistics(void **state)
{
    (void)state;
    tkl_queue_stats s = stats_of(queue);
    tkl_queue_stats zero = {0};
    tkl_queue_level_list *levels;
    assert_memory_equal(&s, &zero, sizeof s);
    assert_ok(tkl_queue_levels(queue, &levels));
    assert_int_equal(levels->count, 0);
    tkl_queue_level_list_free(levels);
}

static void each_job_is_counted_where_it_is(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        push_text(queue, "ready");
    push_one(queue, &(tkl_push){.payload = tkl_str("later"), .delay_ms = 3600000});
    claimed taken[3];
    assert_int_equal(claim_some(consumer, 3, taken), 3);
    finish_job(queue, &taken[0], TKL_OUTCOME_DONE);
    finish_job(queue, &taken[1], TKL_OUTCOME_DEAD);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready, 2);
    assert_int_equal(s.delayed, 1);
    assert_int_equal(s.active, 1);
    assert_int_equal(s.dead, 1);
    assert_int_equal(s.held, 0);
    assert_int_equal(s.pushed, 6);
    assert_int_equal(s.done, 1);
    assert_int_equal(s.failed, 1);
    assert_int_equal(s.bytes, 5 * (int64_t)strlen("\nready"));
    assert_false(s.paused);
}

static void the_oldest_is_found_whatever_its_priority(void **state)
{
    (void)state;
    push_one(queue, &(tkl_push){.payload = tkl_str("old"), .priority = 5});
    eventually(stats_of(queue).oldest_ms >= 20, 10000);
    push_one(queue, &(tkl_push){.payload = tkl_str("new"), .priority = -5});
    assert_true(stats_of(queue).oldest_ms >= 20);
    assert_claims(consumer, queue, "new");
    assert_true(stats_of(queue).oldest_ms >= 20);
    assert_claims(consumer, queue, "old");
    assert_int_equal(stats_of(queue).oldest_ms, 0);
}

static void levels_are_told_lowest_first(void **state)
{
    (void)state;
    static const int priorities[] = {0, 7, TKL_PRIORITY_MAX, TKL_PRIORITY_MIN, -3, 7, -3, -3};
    for (size_t i = 0; i < 8; i++)
        push_one(queue, &(tkl_push){.priority = priorities[i]});
    static const int expected[][2] = {
        {TKL_PRIORITY_MIN, 1}, {-3, 3}, {0, 1}, {7, 2}, {TKL_PRIORITY_MAX, 1}};
    tkl_queue_level_list *levels;
    assert_ok(tkl_queue_levels(queue, &levels));
    assert_int_equal(levels->count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(levels->items[i].priority, expected[i][0]);
        assert_int_equal(levels->items[i].ready, expected[i][1]);
    }
    tkl_queue_level_list_free(levels);
}

/* ---- Looking ------------------------------------------------------------- */

static void ready_jobs_are_listed_in_their_turn(void **state)
{
    (void)state;
    push_text(queue, "b");
    push_text(queue, "c");
    push_one(queue, &(tkl_push){.payload = tkl_str("a"), .priority = -1});
    assert_peek(TKL_JOB_STATE_READY, 0, 10, "a b c");
    assert_peek(TKL_JOB_STATE_READY, 1, 1, "b");
    assert_peek(TKL_JOB_STATE_READY, 3, 10, "");
    assert_peek(TKL_JOB_STATE_DELAYED, 0, 10, "");
    assert_claims(consumer, queue, "a b c");
}

/* Without claims a due job stays in the set of delayed jobs, but views show it as ready. */
static void a_delayed_job_is_ready_from_its_time_on(void **state)
{
    fixture *f = *state;
    push_text(queue, "b");
    push_text(queue, "c");
    push_one(queue, &(tkl_push){.payload = tkl_str("a"), .priority = -1});
    push_one(queue, &(tkl_push){.payload = tkl_str("later"), .delay_ms = 3600000});
    job_id due = push_one(queue, &(tkl_push){.payload = tkl_str("due"), .delay_ms = 3600000});
    job_id last =
        push_one(queue, &(tkl_push){.payload = tkl_str("z"), .priority = 1, .delay_ms = 3600000});
    server_do(f->server,
              "ZADD tackle:queue:{work}:delayed 1 group:timer 2 schedule:schedule 3 %s 4 %s",
              due.text, last.text);
    assert_peek(TKL_JOB_STATE_READY, 0, 10, "a due b c z");
    assert_peek(TKL_JOB_STATE_READY, 1, 1, "due");
    assert_peek(TKL_JOB_STATE_READY, 2, 2, "b c");
    assert_peek(TKL_JOB_STATE_READY, 4, 10, "z");
    assert_peek(TKL_JOB_STATE_READY, 5, 10, "");
    assert_peek(TKL_JOB_STATE_DELAYED, 0, 10, "later");
    assert_int_equal(state_of(queue, due.text), TKL_JOB_STATE_READY);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready, 5);
    assert_int_equal(s.delayed, 1);
    assert_in_range(s.oldest_ms, 0, 600000); /* it was not ready before it was pushed */
    tkl_queue_level_list *levels;
    assert_ok(tkl_queue_levels(queue, &levels));
    assert_int_equal(levels->count, 3);
    assert_int_equal(levels->items[1].ready, 3);
    assert_int_equal(levels->items[2].ready, 1);
    tkl_queue_level_list_free(levels);
    server_do(f->server, "ZREM tackle:queue:{work}:delayed group:timer schedule:schedule");
    assert_claims(consumer, queue, "a due b c z");
}

static void more_than_a_thousand_are_listed_in_parts(void **state)
{
    (void)state;
    enum { N = 2500 };
    static tkl_push jobs[N];
    for (int i = 0; i < N; i++)
        jobs[i].payload = tkl_str("x");
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    size_t seen = 0;
    for (size_t skip = 0; skip < N; skip += 1000) {
        tkl_listing *listing = peek(TKL_JOB_STATE_READY, skip, 1000);
        seen += listing->count;
        tkl_listing_free(listing);
    }
    assert_int_equal(seen, N);
    tkl_listing *listing;
    assert_code(tkl_queue_peek(queue, TKL_JOB_STATE_READY, 0, 1001, 0, &listing), TKL_EINVAL);
    assert_null(listing);
    assert_code(tkl_queue_peek(queue, TKL_JOB_STATE_UNKNOWN, 0, 1, 0, &listing), TKL_EINVAL);
}

static void a_job_is_shown_with_all_that_is_known(void **state)
{
    (void)state;
    const tkl_push job = {.payload = {"pay\0load", 8},
                          .meta = {"m\xff", 2},
                          .group = {"g\0{}", 4},
                          .unique = {"\xffu\0", 3},
                          .priority = -7,
                          .retries = 3};
    job_id id = push_one(queue, &job);
    tkl_listing *l;
    assert_ok(tkl_queue_show(queue, id.text, 0, &l));
    const tkl_job_info *info = &l->items[0];
    assert_int_equal(info->state, TKL_JOB_STATE_READY);
    assert_int_equal(info->payload.len, 8);
    assert_memory_equal(info->payload.data, "pay\0load", 8);
    assert_memory_equal(info->meta.data, "m\xff", 2);
    assert_memory_equal(info->group.data, "g\0{}", 4);
    assert_memory_equal(info->unique.data, "\xffu\0", 3);
    assert_int_equal(info->priority, -7);
    assert_int_equal(info->retries, 3);
    assert_int_equal(info->attempt, 0);
    assert_int_equal(info->error.len, 0);
    assert_true(info->pushed_ms > INT64_C(1577836800000));
    tkl_listing_free(l);
}

static void assert_payload(const tkl_job_info *job, const char *payload, size_t size)
{
    assert_int_equal(job->payload.len, strlen(payload));
    assert_memory_equal(job->payload.data, payload, strlen(payload));
    assert_int_equal(job->payload_size, size);
}

/* Reads the first job of a state with a cut: its payload must be this, and its size `size`. */
static void assert_cut(tkl_job_state state, size_t cut, const char *payload, size_t size)
{
    tkl_listing *l, *one;
    assert_ok(tkl_queue_peek(queue, state, 0, 1, cut, &l));
    assert_int_equal(l->count, 1);
    assert_payload(&l->items[0], payload, size);
    assert_ok(tkl_queue_show(queue, l->items[0].id, cut, &one));
    assert_payload(&one->items[0], payload, size);
    tkl_listing_free(one);
    tkl_listing_free(l);
}

static void payloads_are_cut_on_the_server(void **state)
{
    (void)state;
    tkl_listing *l;
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("gr\xc3\xbc\xc3\x9f"
                                                               "e"),
                                            .kind = tkl_str("mail"),
                                            .meta = tkl_str("beside")});
    assert_cut(TKL_JOB_STATE_READY, 0,
               "gr\xc3\xbc\xc3\x9f"
               "e",
               7);
    assert_cut(TKL_JOB_STATE_READY, 4, "gr\xc3\xbc", 7);
    assert_cut(TKL_JOB_STATE_READY, 3, "gr", 7); /* not within a character */
    assert_cut(TKL_JOB_STATE_READY, 100,
               "gr\xc3\xbc\xc3\x9f"
               "e",
               7);
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_UNKNOWN, &(tkl_job_filter){.text = tkl_str("e")},
                             NULL, 10, 2, &l));
    assert_int_equal(l->count, 1);
    assert_int_equal(l->items[0].payload.len, 2);
    assert_int_equal(l->items[0].payload_size, 7);
    assert_string_equal(l->items[0].id, id.text);
    tkl_listing_free(l);
    claimed job = claim_one(consumer);
    assert_cut(TKL_JOB_STATE_ACTIVE, 2, "gr", 7);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    assert_cut(TKL_JOB_STATE_DEAD, 2, "gr", 7);
    assert_cut(TKL_JOB_STATE_DEAD, 7,
               "gr\xc3\xbc\xc3\x9f"
               "e",
               7);
}

/* The server keeps the beginning of a large job apart, and reads no more than that. */
static void a_page_of_large_jobs_is_small_when_it_is_cut(void **state)
{
    fixture *f = *state;
    enum { N = 40, LARGE = 300000 };
    static char large[LARGE + 1];
    memset(large, 'x', LARGE);
    memcpy(large, "begin", 5);
    for (int i = 0; i < N; i++)
        push_job(queue, &(tkl_push){.payload = {large, LARGE}, .kind = tkl_str("big")}, NULL);
    tkl_listing *l;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_READY, 0, 100, 4096, &l));
    assert_int_equal(l->count, N);
    for (size_t i = 0; i < l->count; i++) {
        assert_int_equal(l->items[i].payload.len, 4096);
        assert_memory_equal(l->items[i].payload.data, large, 4096);
        assert_int_equal(l->items[i].payload_size, LARGE);
        assert_memory_equal(l->items[i].kind.data, "big", 3);
    }
    char id[TKL_JOB_ID_SIZE];
    memcpy(id, l->items[0].id, sizeof id);
    tkl_listing_free(l);
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_READY, &(tkl_job_filter){.kind = tkl_str("big")},
                             NULL, 100, 5, &l));
    assert_int_equal(l->count, N);
    tkl_listing_free(l);

    large[0] = 'B'; /* an edited job shows what it has now */
    assert_ok(tkl_queue_edit(queue, id, (tkl_bytes){large, LARGE}));
    assert_cut(TKL_JOB_STATE_READY, 5, "Begin", LARGE);
    assert_ok(tkl_queue_edit(queue, id, tkl_str("small")));
    assert_cut(TKL_JOB_STATE_READY, 5, "small", 5);
    claimed job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_DONE);
    job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    tkl_jobs *jobs = claim_jobs(consumer, 2, 0);
    finish_all(consumer, jobs);
    tkl_jobs_free(jobs);
    assert_ok(tkl_queue_drain(queue, NULL));
    assert_no_garbage(f->server);
}

static void failures_and_progress_are_shown(void **state)
{
    (void)state;
    push_text(queue, "x");
    claimed job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_RELEASED);
    job = claim_one(consumer);
    assert_ok(tkl_queue_finish(queue, job.id, job.token, TKL_OUTCOME_FAILED, tkl_str("no paper"),
                               3600000));
    tkl_listing *l = peek(TKL_JOB_STATE_DELAYED, 0, 1);
    assert_int_equal(l->count, 1);
    assert_int_equal(l->items[0].attempt, 1);
    assert_int_equal(l->items[0].error.len, 8);
    assert_memory_equal(l->items[0].error.data, "no paper", 8);
    assert_true(l->items[0].due_ms > l->items[0].pushed_ms + 3500000);
    tkl_listing_free(l);

    push_text(queue, "y");
    job = claim_one(consumer);
    assert_ok(tkl_queue_renew(queue, job.id, job.token, 60000, tkl_str("half")));
    l = peek(TKL_JOB_STATE_ACTIVE, 0, 5);
    assert_int_equal(l->count, 1);
    assert_string_equal(l->items[0].id, job.id);
    assert_int_equal(l->items[0].progress.len, 4);
    assert_memory_equal(l->items[0].progress.data, "half", 4);
    assert_true(l->items[0].due_ms > l->items[0].pushed_ms);
    tkl_listing_free(l);
}

static void an_unknown_id_is_not_found(void **state)
{
    (void)state;
    static const char *const ids[] = {
        "", "x", "0123456789abc", "1.0123456789abc", "0123456789ABC", "0123456789abcd"};
    tkl_listing *l;
    tkl_job_result *result;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        assert_code(tkl_queue_show(queue, ids[i], 0, &l), TKL_NOTFOUND);
        assert_null(l);
        assert_code(tkl_queue_cancel(queue, ids[i]), TKL_NOTFOUND);
        assert_code(tkl_queue_promote(queue, ids[i]), TKL_NOTFOUND);
        assert_code(tkl_queue_retry(queue, &(tkl_job_filter){.id = ids[i]}, NULL), TKL_NOTFOUND);
        assert_code(tkl_queue_result(queue, ids[i], 0, &result), TKL_NOTFOUND);
    }
}

/* ---- Promoting ----------------------------------------------------------- */

static void a_delayed_job_is_promoted(void **state)
{
    (void)state;
    job_id now = push_text(queue, "now");
    job_id later = push_one(queue, &(tkl_push){.payload = tkl_str("later"), .delay_ms = 100000});
    assert_code(tkl_queue_promote(queue, now.text), TKL_NOTFOUND);
    assert_string_equal(tkl_errmsg(), tkl_strerror(TKL_NOTFOUND));
    assert_ok(tkl_queue_promote(queue, later.text));
    assert_code(tkl_queue_promote(queue, later.text), TKL_NOTFOUND);
    assert_int_equal(stats_of(queue).ready, 2);
    assert_int_equal(stats_of(queue).delayed, 0);
    claimed first = claim_one(consumer);
    assert_string_equal(first.id, later.text);
    assert_code(tkl_queue_promote(queue, later.text), TKL_NOTFOUND); /* it is active */
}

static void a_job_that_waits_for_its_retry_is_promoted(void **state)
{
    (void)state;
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("x"), .backoff_ms = 100000});
    claimed job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_FAILED);
    assert_nothing_ready(consumer);
    assert_ok(tkl_queue_promote(queue, id.text));
    job = claim_one(consumer);
    assert_string_equal(job.id, id.text);
}

/* ---- Cancelling ---------------------------------------------------------- */

static void a_job_can_be_cancelled_in_every_state(void **state)
{
    fixture *f = *state;
    job_id ready = push_text(queue, "ready");
    job_id later = push_one(queue, &(tkl_push){.payload = tkl_str("later"), .delay_ms = 100000});
    assert_ok(tkl_queue_cancel(queue, ready.text));
    assert_ok(tkl_queue_cancel(queue, later.text));
    assert_code(tkl_queue_cancel(queue, ready.text), TKL_NOTFOUND);
    assert_nothing_ready(consumer);

    push_text(queue, "dead");
    claimed dead = claim_one(consumer);
    finish_job(queue, &dead, TKL_OUTCOME_DEAD);
    assert_int_equal(state_of(queue, dead.id), TKL_JOB_STATE_DEAD);
    assert_ok(tkl_queue_cancel(queue, dead.id));
    assert_int_equal(state_of(queue, dead.id), TKL_JOB_STATE_UNKNOWN);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.dead + s.ready + s.delayed + s.active + s.bytes, 0);
    assert_no_garbage(f->server);
}

static void only_a_dead_letter_is_cancelled_as_one(void **state)
{
    (void)state;
    job_id id = push_text(queue, "a");
    assert_code(tkl_queue_drop_dead(queue, &(tkl_job_filter){.id = id.text}, NULL), TKL_NOTFOUND);
    claimed job = claim_one(consumer);
    assert_code(tkl_queue_drop_dead(queue, &(tkl_job_filter){.id = id.text}, NULL), TKL_NOTFOUND);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = id.text},
                              NULL)); /* a user has just seen it among the dead letters */
    job = claim_one(consumer);
    assert_code(tkl_queue_drop_dead(queue, &(tkl_job_filter){.id = id.text}, NULL), TKL_NOTFOUND);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    assert_ok(tkl_queue_drop_dead(queue, &(tkl_job_filter){.id = id.text}, NULL));
    assert_code(tkl_queue_drop_dead(queue, &(tkl_job_filter){.id = id.text}, NULL), TKL_NOTFOUND);
    assert_int_equal(state_of(queue, id.text), TKL_JOB_STATE_UNKNOWN);
}

static void the_worker_of_a_cancelled_job_is_refused(void **state)
{
    fixture *f = *state;
    push_text(queue, "x");
    claimed job = claim_one(consumer);
    assert_int_equal(state_of(queue, job.id), TKL_JOB_STATE_ACTIVE);
    assert_ok(tkl_queue_cancel(queue, job.id));
    assert_code(tkl_queue_renew(queue, job.id, job.token, 1000, tkl_str("")), TKL_NOTOWNER);
    assert_code(finish_code(queue, &job, TKL_OUTCOME_DONE, ""), TKL_NOTOWNER);
    assert_code(finish_code(queue, &job, TKL_OUTCOME_FAILED, ""), TKL_NOTOWNER);
    assert_int_equal(stats_of(queue).done, 0);
    assert_no_garbage(f->server);
}

static void note_lost(const char *id, const char *token, void *arg)
{
    (void)id;
    (void)token;
    __atomic_add_fetch((int *)arg, 1, __ATOMIC_RELEASE);
}

static void the_worker_of_a_cancelled_job_is_told(void **state)
{
    (void)state;
    int lost = 0;
    tkl_consumer *other;
    tkl_jobs *jobs;
    const tkl_consumer_options options = {.lease_ms = 300, .on_lost = note_lost, .arg = &lost};
    assert_ok(tkl_consumer_open(&queue, 1, &options, &other));
    push_text(queue, "x");
    assert_ok(tkl_consumer_claim(other, 1, 0, &jobs));
    assert_ok(tkl_queue_cancel(queue, jobs->items[0].id));
    eventually(__atomic_load_n(&lost, __ATOMIC_ACQUIRE) == 1, 20000);
    tkl_report report = {.job = &jobs->items[0]};
    assert_code(tkl_consumer_finish(other, &report, 1), TKL_NOTOWNER);
    tkl_jobs_free(jobs);
    tkl_consumer_close(other);
}

static void an_active_job_is_found_among_many(void **state)
{
    (void)state;
    enum { N = 12000 };
    static tkl_push jobs[N];
    static tkl_pushed pushed[N];
    static claimed taken[1000];
    for (int i = 0; i < N; i++)
        jobs[i].payload = tkl_str("x");
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, pushed));
    for (int i = 0; i < N; i += 1000)
        assert_int_equal(claim_some(consumer, 1000, taken), 1000);
    for (int i = 0; i < N; i += 1999) {
        assert_int_equal(state_of(queue, pushed[i].id), TKL_JOB_STATE_ACTIVE);
        assert_ok(tkl_queue_cancel(queue, pushed[i].id));
        assert_int_equal(state_of(queue, pushed[i].id), TKL_JOB_STATE_UNKNOWN);
    }
    assert_int_equal(stats_of(queue).active, N - 7);
}

/* ---- Dead letters -------------------------------------------------------- */

static void a_claimed_job_is_taken_from_its_worker(void **state)
{
    fixture *f = *state;
    job_id first = push_text(queue, "a");
    push_text(queue, "b");
    assert_code(tkl_queue_requeue(queue, first.text, true), TKL_NOTFOUND); /* not claimed */
    claimed old = claim_one(consumer);
    assert_code(tkl_queue_requeue(queue, old.id, false), TKL_BUSY);
    assert_ok(tkl_queue_requeue(queue, old.id, true));
    assert_code(finish_code(queue, &old, TKL_OUTCOME_DONE, ""), TKL_NOTOWNER);
    claimed again = claim_one(consumer); /* before the other */
    assert_string_equal(again.id, first.text);
    assert_int_equal(again.attempt, 1);
    end_lease(f, &again);
    assert_ok(tkl_queue_requeue(queue, again.id, false));
    assert_claims(consumer, queue, "a b");
    assert_code(tkl_queue_requeue(queue, "nonsense", true), TKL_NOTFOUND);
    assert_no_garbage(f->server);
}

/* It comes before the others of its group, whose place it keeps. */
static void a_requeued_job_keeps_its_place_in_its_group(void **state)
{
    (void)state;
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    push_group("g", "a");
    push_group("g", "b");
    claimed old = claim_one(consumer);
    assert_ok(tkl_queue_requeue(queue, old.id, true));
    assert_claims(consumer, queue, "a b");
}

static void dead_letters_are_listed_newest_first(void **state)
{
    (void)state;
    bury("a");
    test_sleep_ms(2); /* the time of death decides, in milliseconds */
    bury("b");
    assert_peek(TKL_JOB_STATE_DEAD, 0, 10, "b a");
    tkl_listing *l = peek(TKL_JOB_STATE_DEAD, 0, 1);
    assert_memory_equal(l->items[0].error.data, "because", 7);
    assert_true(l->items[0].due_ms >= l->items[0].pushed_ms);
    tkl_listing_free(l);
}

static void a_retried_job_has_all_its_attempts_again(void **state)
{
    fixture *f = *state;
    push_one(queue, &(tkl_push){.payload = tkl_str("x"), .retries = -1});
    claimed job = claim_one(consumer);
    assert_int_equal(job.attempt, 1);
    finish_job(queue, &job, TKL_OUTCOME_FAILED);
    assert_int_equal(state_of(queue, job.id), TKL_JOB_STATE_DEAD);
    assert_nothing_ready(consumer);
    int64_t count = 0;
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.id = job.id}, &count));
    assert_int_equal(count, 1);
    assert_code(tkl_queue_retry(queue, &(tkl_job_filter){.id = job.id}, &count), TKL_NOTFOUND);
    assert_int_equal(count, 0);
    job = claim_one(consumer);
    assert_int_equal(job.attempt, 1);
    assert_string_equal(job.error, "");
    finish_job(queue, &job, TKL_OUTCOME_DONE);
    assert_no_garbage(f->server);
}

static void all_dead_letters_are_retried_or_removed(void **state)
{
    fixture *f = *state;
    enum { N = 450 };
    int64_t count = 7;
    assert_code(tkl_queue_retry(queue, NULL, &count), TKL_NOTFOUND);
    assert_int_equal(count, 0);
    for (int i = 0; i < N; i++)
        bury("x");
    assert_int_equal(stats_of(queue).dead, N);
    assert_ok(tkl_queue_retry(queue, NULL, &count));
    assert_int_equal(count, N);
    assert_int_equal(stats_of(queue).ready, N);
    static claimed taken[N];
    assert_int_equal(claim_some(consumer, N, taken), N);
    for (int i = 0; i < N; i++)
        finish_job(queue, &taken[i], TKL_OUTCOME_DEAD);
    push_text(queue, "stays");
    assert_ok(tkl_queue_drop_dead(queue, NULL, &count));
    assert_int_equal(count, N);
    assert_claims(consumer, queue, "stays");
    assert_no_garbage(f->server);
}

static void retries_keep_the_priority(void **state)
{
    (void)state;
    push_one(queue, &(tkl_push){.payload = tkl_str("urgent"), .priority = -9});
    claimed job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    push_text(queue, "normal");
    assert_ok(tkl_queue_retry(queue, NULL, NULL));
    assert_claims(consumer, queue, "urgent normal");
}

/* ---- Pausing ------------------------------------------------------------- */

static void a_paused_queue_takes_jobs_and_gives_none(void **state)
{
    (void)state;
    push_text(queue, "a");
    push_text(queue, "b");
    claimed job = claim_one(consumer);
    assert_ok(tkl_queue_pause(queue));
    assert_true(stats_of(queue).paused);
    push_text(queue, "c");
    assert_nothing_ready(consumer);
    finish_job(queue, &job, TKL_OUTCOME_DONE);
    assert_ok(tkl_queue_resume(queue));
    assert_false(stats_of(queue).paused);
    assert_claims(consumer, queue, "b c");
    assert_ok(tkl_queue_resume(queue));
}

typedef struct waiter {
    tkl_consumer *consumer;
    int result;
    char payload[64];
    int ended;
} waiter;

static void wait_for_a_job(void *arg, int index)
{
    waiter *w = (waiter *)arg + index;
    tkl_jobs *jobs;
    w->result = tkl_consumer_claim(w->consumer, 1, 20000, &jobs);
    if (w->result == TKL_OK)
        snprintf(w->payload, sizeof w->payload, "%.*s", (int)jobs->items[0].payload.len,
                 jobs->items[0].payload.data);
    tkl_jobs_free(jobs);
    __atomic_store_n(&w->ended, 1, __ATOMIC_RELEASE);
}

static void those_who_wait_get_on_when_it_is_resumed(void **state)
{
    (void)state;
    enum { N = 3 };
    waiter waiters[N] = {0};
    assert_ok(tkl_queue_pause(queue));
    for (int i = 0; i < N; i++)
        waiters[i].consumer = open_claimer(queue, 0);
    crew *threads = crew_start(N, wait_for_a_job, waiters);
    eventually(stats_of(queue).waiters == N, 20000);
    for (int i = 0; i < N; i++)
        push_text(queue, "x");
    assert_int_equal(stats_of(queue).active, 0);
    int64_t start = test_now_ms();
    assert_ok(tkl_queue_resume(queue));
    crew_join(threads);
    assert_true(test_now_ms() - start < 15000);
    for (int i = 0; i < N; i++) {
        assert_ok(waiters[i].result);
        tkl_consumer_close(waiters[i].consumer);
    }
    assert_int_equal(stats_of(queue).active, N);
}

/* ---- Draining and destroying --------------------------------------------- */

static void draining_removes_all_that_waits(void **state)
{
    fixture *f = *state;
    enum { N = 1234 };
    static tkl_push jobs[N];
    for (int i = 0; i < N; i++)
        jobs[i] = (tkl_push){.payload = tkl_str("x"), .delay_ms = i % 3 == 0 ? 100000 : 0};
    bury("dead");
    push_text(queue, "active");
    claimed job = claim_one(consumer);
    assert_ok(tkl_queue_push(queue, jobs, N, NULL, NULL));
    int64_t count;
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, N);
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready + s.delayed + s.held, 0);
    assert_int_equal(s.active, 1);
    assert_int_equal(s.dead, 1);
    finish_job(queue, &job, TKL_OUTCOME_DONE);
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, 0);
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    assert_int_equal(stats_of(queue).bytes, 0);
    assert_no_garbage(f->server);
}

static void large_jobs_are_drained_in_small_steps(void **state)
{
    fixture *f = *state;
    enum { N = 8, SIZE = 5000000 };
    char *big = calloc(1, SIZE);
    assert_non_null(big);
    for (int i = 0; i < N; i++)
        push_one(queue, &(tkl_push){.payload = {big, SIZE}});
    free(big);
    tkl_listing *l = peek(TKL_JOB_STATE_READY, 0, N);
    assert_in_range(l->count, 1, N - 1); /* about 16 MB at once */
    assert_int_equal(l->items[0].payload.len, SIZE);
    tkl_listing_free(l);
    int64_t count;
    assert_ok(tkl_queue_drain(queue, &count));
    assert_int_equal(count, N);
    assert_no_garbage(f->server);
}

static void a_destroyed_queue_leaves_nothing(void **state)
{
    fixture *f = *state;
    push_text(queue, "x");
    push_text(queue, "y");
    push_one(queue, &(tkl_push){.payload = tkl_str("z"), .delay_ms = 1000000});
    claimed job = claim_one(consumer);
    assert_ok(tkl_queue_drop(queue));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_code(finish_code(queue, &job, TKL_OUTCOME_DONE, ""), TKL_NOTOWNER);
    assert_nothing_ready(consumer);
    assert_code(tkl_queue_drop(queue), TKL_NOTFOUND);
    push_text(queue, "again");
    assert_claims(consumer, queue, "again");
}

static void those_who_wait_survive_the_end_of_the_queue(void **state)
{
    (void)state;
    waiter w = {.consumer = open_claimer(queue, 0)};
    push_one(queue, &(tkl_push){.payload = tkl_str("lost"), .delay_ms = 1000000});
    crew *threads = crew_start(1, wait_for_a_job, &w);
    eventually(stats_of(queue).waiters == 1, 20000);
    assert_ok(tkl_queue_drop(queue));
    push_one(queue, &(tkl_push){.payload = tkl_str("new"), .delay_ms = 30});
    crew_join(threads);
    assert_ok(w.result);
    assert_string_equal(w.payload, "new");
    tkl_consumer_close(w.consumer);
}

/* ---- Listing ------------------------------------------------------------- */

static void all_queues_are_listed(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"a{b}c",    "mails",  "mails#0",
                                        "per%cent", "spread", "spread"};
    static const int partitions[] = {1, 1, 1, 1, 1, 200};
    for (size_t i = 0; i < 6; i++) {
        tkl_queue *q = open_queue(f->client, names[i], partitions[i]);
        push_one(q, &(tkl_push){.payload = tkl_str("x"), .group = tkl_str("g")});
        push_text(q, "x");
        push_text(q, "x");
        tkl_queue_close(q);
    }
    tkl_names *list;
    assert_ok(tkl_queue_names(f->client, &list));
    assert_int_equal(list->count, 5); /* "spread" once */
    for (size_t i = 0; i < 5; i++) {
        int count;
        assert_int_equal(list->items[i].len, strlen(names[i]));
        assert_memory_equal(list->items[i].data, names[i], list->items[i].len);
        assert_ok(tkl_queue_partitions(f->client, list->items[i], &count));
        assert_int_equal(count, 1);
    }
    tkl_names_free(list);
}

static void the_partitions_of_a_queue_are_found(void **state)
{
    fixture *f = *state;
    int count;
    tkl_queue *q = open_queue(f->client, "wide", 200);
    assert_code(tkl_queue_partitions(f->client, tkl_str("wide"), &count), TKL_NOTFOUND);
    for (int i = 0; i < 4; i++)
        push_text(q, "x");
    assert_ok(tkl_queue_partitions(f->client, tkl_str("wide"), &count));
    assert_in_range(count, 2, 200);
    assert_ok(tkl_queue_drop(q));
    assert_code(tkl_queue_drop(q), TKL_NOTFOUND);
    tkl_queue_close(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(an_empty_queue_has_no_statistics),
        WORK_TEST(each_job_is_counted_where_it_is),
        WORK_TEST(the_oldest_is_found_whatever_its_priority),
        WORK_TEST(levels_are_told_lowest_first),
        WORK_TEST(ready_jobs_are_listed_in_their_turn),
        WORK_TEST(a_delayed_job_is_ready_from_its_time_on),
        WORK_TEST(more_than_a_thousand_are_listed_in_parts),
        WORK_TEST(a_job_is_shown_with_all_that_is_known),
        WORK_TEST(payloads_are_cut_on_the_server),
        WORK_TEST(a_page_of_large_jobs_is_small_when_it_is_cut),
        WORK_TEST(failures_and_progress_are_shown),
        WORK_TEST(an_unknown_id_is_not_found),
        WORK_TEST(a_delayed_job_is_promoted),
        WORK_TEST(a_job_that_waits_for_its_retry_is_promoted),
        WORK_TEST(a_job_can_be_cancelled_in_every_state),
        WORK_TEST(only_a_dead_letter_is_cancelled_as_one),
        WORK_TEST(the_worker_of_a_cancelled_job_is_refused),
        WORK_TEST(the_worker_of_a_cancelled_job_is_told),
        WORK_TEST(an_active_job_is_found_among_many),
        WORK_TEST(a_claimed_job_is_taken_from_its_worker),
        WORK_TEST(a_requeued_job_keeps_its_place_in_its_group),
        WORK_TEST(dead_letters_are_listed_newest_first),
        WORK_TEST(a_retried_job_has_all_its_attempts_again),
        WORK_TEST(all_dead_letters_are_retried_or_removed),
        WORK_TEST(retries_keep_the_priority),
        WORK_TEST(a_paused_queue_takes_jobs_and_gives_none),
        WORK_TEST(those_who_wait_get_on_when_it_is_resumed),
        WORK_TEST(draining_removes_all_that_waits),
        WORK_TEST(large_jobs_are_drained_in_small_steps),
        WORK_TEST(a_destroyed_queue_leaves_nothing),
        WORK_TEST(those_who_wait_survive_the_end_of_the_queue),
        WORK_TEST(all_queues_are_listed),
        WORK_TEST(the_partitions_of_a_queue_are_found),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
