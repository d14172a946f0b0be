/* SPDX-License-Identifier: MIT
 *
 * Claimed jobs are leased, reported, tried again or buried; and none is lost on the way.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/locale.h"
#include "support/one_queue.h"
#include "support/proxy.h"

#define LONG_MS 30000

/* ---- Reports ------------------------------------------------------------- */

static void a_failed_job_comes_back_with_its_error_until_it_is_dead(void **state)
{
    one_queue d = one_queue_open(state);
    push_job(d.queue, &(tkl_push){.payload = tkl_str("x"), .retries = 2, .backoff_ms = 1}, NULL);
    for (int attempt = 1; attempt <= 3; attempt++) {
        char *why = test_format("reason %d", attempt),
             *last = test_format("reason %d", attempt - 1);
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
        assert_int_equal(jobs->items[0].attempt, attempt);
        if (attempt > 1)
            assert_memory_equal(jobs->items[0].error.data, last, strlen(last));
        assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_FAILED, why, 0));
        tkl_jobs_free(jobs);
        free(why);
        free(last);
    }
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "dead"), 1);
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "delayed"), 0);
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta failed"), 3);
    char *extra = server_ask(d.f->server, "HVALS " KEY "history");
    assert_contains(extra, " 1 reason 3");
    free(extra);
    one_queue_close(&d);
}

static void the_backoff_doubles_up_to_its_cap(void **state)
{
    static const int64_t from[] = {50000, 100000, 125000}, to[] = {100000, 200000, 250000};
    one_queue d = one_queue_open(state);
    const tkl_push job = {.payload = tkl_str("x"), .backoff_ms = 100000, .backoff_max_ms = 250000};
    push_job(d.queue, &job, NULL);
    for (int i = 0; i < 3; i++) {
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
        int64_t now = server_ask_int(d.f->server, "EVAL %s 0", "return redis.call('TIME')[1]");
        assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_FAILED, "no", 0));
        char *due = server_ask(d.f->server, "ZRANGE " KEY "delayed 0 0 WITHSCORES");
        int64_t wait = (int64_t)atof(strchr(due, '\n') + 1) - now * 1000;
        assert_in_range(wait, from[i], to[i] + LONG_MS);
        server_do(d.f->server, "ZADD " KEY "delayed 1 %s", jobs->items[0].id);
        free(due);
        tkl_jobs_free(jobs);
    }
    one_queue_close(&d);
}

/* Half of a backoff is random: a number with a fraction on its way to the server. */
static void a_job_fails_in_a_program_with_a_decimal_comma(void **state)
{
    one_queue d = one_queue_open(state);
    push_job(d.queue, &(tkl_push){.payload = tkl_str("x"), .backoff_ms = 1}, NULL);
    locale_with_a_comma();
    for (int attempt = 1; attempt <= 2; attempt++) {
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
        assert_int_equal(jobs->items[0].attempt, attempt);
        assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_FAILED, "no", 0));
        tkl_jobs_free(jobs);
    }
    locale_plain();
    one_queue_close(&d);
}

static void a_delay_of_ones_own_replaces_the_backoff(void **state)
{
    one_queue d = one_queue_open(state);
    push_job(d.queue, &(tkl_push){.payload = tkl_str("x"), .backoff_ms = 3600000}, NULL);
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_FAILED, "no", 1));
    tkl_jobs_free(jobs);
    jobs = claim_jobs(d.consumer, 1, LONG_MS);
    assert_int_equal(jobs->items[0].attempt, 2);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

static void a_released_job_goes_to_the_front_and_loses_no_attempt(void **state)
{
    one_queue d = one_queue_open(state);
    push_words(d.queue, "a b");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    push_job(d.queue, &(tkl_push){.payload = tkl_str("due"), .at_ms = 1}, NULL);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_RELEASED, NULL, 0));
    tkl_jobs_free(jobs);
    jobs = claim_jobs(d.consumer, 10, 0);
    assert_jobs(jobs, "a due b");
    assert_int_equal(jobs->items[0].attempt, 1);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_RELEASED, NULL, 1));
    tkl_jobs_free(jobs);
    jobs = claim_jobs(d.consumer, 10, LONG_MS);
    assert_jobs(jobs, "a");
    assert_int_equal(jobs->items[0].attempt, 1);
    tkl_jobs_free(jobs);
    assert_int_equal(server_ask_int(d.f->server, "HEXISTS " KEY "meta failed"), 0);
    one_queue_close(&d);
}

static void a_job_can_be_buried_at_once_with_a_reason_of_bounded_length(void **state)
{
    one_queue d = one_queue_open(state);
    char why[2000];
    memset(why, 'w', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    push_words(d.queue, "x");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DEAD, why, 0));
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "dead"), 1);
    assert_int_equal(server_ask_int(d.f->server, "HSTRLEN " KEY "history %s", jobs->items[0].id),
                     1018);
    assert_int_equal(server_ask_int(d.f->server, "HLEN " KEY "jobs"), 1);
    tkl_jobs_free(jobs);
    expect_all(d.consumer, "");
    one_queue_close(&d);
}

static void the_dead_are_trimmed_by_number_and_age(void **state)
{
    one_queue d = one_queue_open(state);
    server_do(d.f->server, "HSET " KEY "meta dead_max 2");
    for (int i = 0; i < 5; i++) {
        push_words(d.queue, "x");
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
        assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DEAD, "no", 0));
        tkl_jobs_free(jobs);
    }
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "dead"), 2);
    assert_int_equal(server_ask_int(d.f->server, "HLEN " KEY "jobs"), 2);
    assert_int_equal(server_ask_int(d.f->server, "HLEN " KEY "history"), 2);
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta bytes"), 2 * 2);
    server_do(d.f->server, "HSET " KEY "meta dead_ms 1");
    test_sleep_ms(5);
    push_words(d.queue, "y");
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DEAD, "no", 0));
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "dead"), 1);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

static void a_claim_is_reported_once(void **state)
{
    static const tkl_outcome outcomes[] = {TKL_OUTCOME_DONE, TKL_OUTCOME_FAILED, TKL_OUTCOME_DEAD,
                                           TKL_OUTCOME_RELEASED};
    one_queue d = one_queue_open(state);
    for (int i = 0; i < 4; i++) {
        push_words(d.queue, "x");
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, 0);
        assert_ok(report_job(d.consumer, &jobs->items[0], outcomes[i], "", 1));
        for (int k = 0; k < 4; k++)
            assert_code(report_job(d.consumer, &jobs->items[0], outcomes[k], "", 1), TKL_NOTOWNER);
        tkl_jobs_free(jobs);
    }
    assert_code(tkl_queue_finish(d.queue, "nonsense", "0123456789abcdef0123456789abcdef",
                                 TKL_OUTCOME_DONE, tkl_str(""), 0),
                TKL_NOTOWNER);
    one_queue_close(&d);
}

static void reports_of_one_call_have_fates_of_their_own(void **state)
{
    one_queue d = one_queue_open(state);
    push_words(d.queue, "a b c");
    tkl_jobs *jobs = claim_jobs(d.consumer, 3, 0);
    assert_ok(tkl_queue_finish(d.queue, jobs->items[1].id, jobs->items[1].token, TKL_OUTCOME_DONE,
                               tkl_str(""), 0));
    tkl_report reports[] = {{.job = &jobs->items[0]},
                            {.job = &jobs->items[1]},
                            {.job = &jobs->items[2], .outcome = TKL_OUTCOME_FAILED}};
    assert_code(tkl_consumer_finish(d.consumer, reports, 3), TKL_NOTOWNER);
    assert_ok(reports[0].code);
    assert_code(reports[1].code, TKL_NOTOWNER);
    assert_ok(reports[2].code);
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta done"), 2);
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta bytes"), 2);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

/* Each report of these jobs of a claim of six, in this order. The claim of "c" is lost, and that of
 * another consumer may stand in its place. */
static void runs_with_a_gap(one_queue *d, const char *order, bool filled)
{
    push_words(d->queue, "a b c d e f");
    int64_t bytes = server_ask_int(d->f->server, "HGET " KEY "meta bytes");
    tkl_jobs *jobs = claim_jobs(d->consumer, 6, 0);
    const tkl_job *lost = &jobs->items[2];
    char *member = test_format("%s:%s", lost->id, lost->token),
         *other = test_format("%s:%.15sz", lost->id, lost->token);
    char *till = server_ask(d->f->server, "ZSCORE " KEY "active %s", member);
    server_do(d->f->server, "ZREM " KEY "active %s", member);
    if (filled)
        server_do(d->f->server, "ZADD " KEY "active %s %s", till, other);
    tkl_report reports[6];
    size_t n = strlen(order);
    for (size_t i = 0; i < n; i++)
        reports[i] = (tkl_report){.job = &jobs->items[order[i] - 'a']};
    bool has_lost = strchr(order, 'c') != NULL;
    assert_code(tkl_consumer_finish(d->consumer, reports, n), has_lost ? TKL_NOTOWNER : TKL_OK);
    for (size_t i = 0; i < n; i++)
        assert_code(reports[i].code, order[i] == 'c' ? TKL_NOTOWNER : TKL_OK);
    size_t left = 6 - n + has_lost;
    assert_int_equal(server_ask_int(d->f->server, "HLEN " KEY "jobs"), left);
    assert_int_equal(server_ask_int(d->f->server, "ZCARD " KEY "active"), left - 1 + filled);
    assert_int_equal(server_ask_int(d->f->server, "HGET " KEY "meta bytes"),
                     bytes / 6 * (int64_t)left);
    tkl_jobs_free(jobs);
    free(member);
    free(other);
    free(till);
    server_do(d->f->server, "FLUSHALL");
}

static void reports_count_in_any_order_and_around_a_lost_claim(void **state)
{
    static const char *const orders[] = {"abcdef", "fedcba", "cab", "abdef", "ebfa", "c", "f"};
    one_queue d = one_queue_open(state);
    for (size_t i = 0; i < 7; i++) {
        runs_with_a_gap(&d, orders[i], false);
        runs_with_a_gap(&d, orders[i], true);
    }
    one_queue_close(&d);
}

static void a_foreign_key_in_the_way_of_a_report_keeps_the_claims(void **state)
{
    static const char *const parts[] = {"history", "unique", "groups", "ready",
                                        "delayed", "parked", "flow"};
    one_queue d = one_queue_open(state);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        push_words(d.queue, "a");
        push_job(d.queue, &(tkl_push){.payload = tkl_str("b"), .group = tkl_str("g")}, NULL);
        tkl_jobs *jobs = claim_jobs(d.consumer, 2, 0);
        tkl_report reports[] = {{.job = &jobs->items[0]}, {.job = &jobs->items[1]}};
        server_do(d.f->server, "DEL " KEY "%s", parts[i]);
        server_do(d.f->server, "SET " KEY "%s foreign", parts[i]);
        assert_true(tkl_consumer_finish(d.consumer, reports, 2) < 0);
        assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "active"), 2);
        server_do(d.f->server, "DEL " KEY "%s", parts[i]);
        assert_ok(tkl_consumer_finish(d.consumer, reports, 2));
        assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "active"), 0);
        assert_int_equal(server_ask_int(d.f->server, "HLEN " KEY "jobs"), 0);
        tkl_jobs_free(jobs);
    }
    one_queue_close(&d);
}

static void a_report_whose_answer_is_lost_counts(void **state)
{
    static const tkl_outcome outcomes[] = {TKL_OUTCOME_DONE, TKL_OUTCOME_FAILED};
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    for (int i = 0; i < 2; i++) {
        push_words(queue, "a");
        tkl_jobs *jobs = claim_jobs(consumer, 1, 0);
        report_job(consumer, &jobs->items[0], outcomes[i], "", 3600000); /* the script is known */
        tkl_jobs_free(jobs);
        push_words(queue, "b");
        jobs = claim_jobs(consumer, 1, 0);
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(report_job(consumer, &jobs->items[0], outcomes[i], "", 3600000));
        tkl_jobs_free(jobs);
    }
    assert_int_equal(server_ask_int(f->server, "HGET " KEY "meta done"), 2);
    assert_int_equal(server_ask_int(f->server, "HGET " KEY "meta failed"), 2);
    assert_int_equal(server_ask_int(f->server, "ZCARD " KEY "delayed"), 2);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    proxy_end(p);
}

static void a_claim_whose_answer_is_lost_is_found_again(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_queue *queue = open_queue(client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 600000);
    push_words(queue, "a b c d");
    tkl_jobs *jobs = claim_jobs(consumer, 1, 0);
    assert_jobs(jobs, "a");
    proxy_cut_after(p, TO_CLIENT, 10);
    tkl_jobs *more = claim_jobs(consumer, 2, 0);
    assert_jobs(more, "b c");
    tkl_report report = {.job = &jobs->items[0]};
    proxy_cut_after(p, TO_CLIENT, 10);
    tkl_jobs *last;
    assert_ok(tkl_consumer_next(consumer, &report, 1, 2, 0, &last));
    assert_ok(report.code);
    assert_jobs(last, "d");
    assert_int_equal(server_ask_int(f->server, "HGET " KEY "meta done"), 1);
    assert_int_equal(server_ask_int(f->server, "ZCARD " KEY "active"), 3);
    tkl_jobs_free(jobs);
    tkl_jobs_free(more);
    tkl_jobs_free(last);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    proxy_end(p);
}

static void claim_late(void *arg, int index)
{
    (void)index;
    one_queue *d = arg;
    tkl_jobs *jobs;
    int rc = tkl_consumer_claim(d->consumer, 2, 0, &jobs);
    assert_true(rc == TKL_OK);
    assert_jobs(jobs, "b"); /* a is another's by now */
    finish_all(d->consumer, jobs);
    tkl_jobs_free(jobs);
}

/* As after a stop of this program: the answer of a claim comes when its lease is over. */
static void a_claim_that_came_too_late_is_not_begun(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    one_queue late = {.f = f, .queue = open_queue(client, "q", 1)};
    late.consumer = open_consumer(late.queue, 300);
    one_queue d = one_queue_open(state);
    expect_all(late.consumer, ""); /* the server knows the script */
    push_words(d.queue, "a b");
    proxy_hold(p, TO_CLIENT, true);
    crew *thread = crew_start(1, claim_late, &late);
    eventually(server_ask_int(f->server, "ZCARD " KEY "active") == 2, LONG_MS);
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS); /* when the lease has ended */
    assert_jobs(jobs, "a");
    proxy_hold(p, TO_CLIENT, false);
    crew_join(thread);
    finish_all(d.consumer, jobs);
    assert_int_equal(server_ask_int(f->server, "HGET " KEY "meta done"), 2);
    assert_int_equal(server_ask_int(f->server, "ZCARD " KEY "active"), 0);
    tkl_jobs_free(jobs);
    tkl_consumer_close(late.consumer);
    tkl_queue_close(late.queue);
    tkl_close(client);
    one_queue_close(&d);
    proxy_end(p);
}

/* A claim that times out may have got jobs: the next claim returns them, and closing gives them
 * back. */
static void a_claim_that_timed_out_keeps_nothing_back(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 3000});
    tkl_queue *queue = open_queue(client, "q", 1);
    for (int next = 0; next < 2; next++) {
        tkl_consumer *consumer = open_consumer(queue, 600000);
        tkl_jobs *jobs;
        expect_all(consumer, ""); /* the server knows the script */
        push_words(queue, "a");
        proxy_hold(p, TO_CLIENT, true);
        assert_code(tkl_consumer_claim(consumer, 1, 0, &jobs), TKL_ETIMEOUT);
        proxy_hold(p, TO_CLIENT, false);
        eventually(server_ask_int(f->server, "ZCARD " KEY "active") == 1, LONG_MS);
        if (next)
            expect_all(consumer, "a");
        tkl_consumer_close(consumer);
        consumer = open_consumer(queue, 600000);
        expect_all(consumer, next ? "" : "a");
        tkl_consumer_close(consumer);
    }
    tkl_queue_close(queue);
    tkl_close(client);
    proxy_end(p);
}

/* ---- Leases -------------------------------------------------------------- */

static void a_lease_that_ends_brings_the_job_back_to_the_front(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_consumer *dying;
    const tkl_consumer_options options = {.lease_ms = 100, .no_renewal = true};
    assert_ok(tkl_consumer_open(&d.queue, 1, &options, &dying));
    push_words(d.queue, "a b");
    tkl_jobs *old = claim_jobs(dying, 1, 0);
    push_words(d.queue, "c");
    test_sleep_ms(150);
    tkl_jobs *jobs = claim_jobs(d.consumer, 10, 0);
    assert_jobs(jobs, "a b c");
    assert_int_equal(jobs->items[0].attempt, 2);
    assert_true(jobs->items[0].error.len > 0);
    assert_code(report_job(dying, &old->items[0], TKL_OUTCOME_DONE, NULL, 0), TKL_NOTOWNER);
    assert_code(tkl_queue_renew(d.queue, old->items[0].id, old->items[0].token, 1000, tkl_str("")),
                TKL_NOTOWNER);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    tkl_jobs_free(old);
    tkl_consumer_close(dying);
    assert_clean(d.f->server);
    one_queue_close(&d);
}

static void a_job_that_kills_its_workers_ends_among_the_dead(void **state)
{
    one_queue d = one_queue_open(state);
    const tkl_consumer_options options = {.lease_ms = 100, .no_renewal = true};
    push_job(d.queue, &(tkl_push){.payload = tkl_str("poison"), .retries = 2}, NULL);
    for (int i = 1; i <= 3; i++) {
        tkl_consumer *dying;
        assert_ok(tkl_consumer_open(&d.queue, 1, &options, &dying));
        tkl_jobs *jobs = claim_jobs(dying, 1, LONG_MS);
        assert_int_equal(jobs->items[0].attempt, i);
        tkl_jobs_free(jobs);
        tkl_consumer_close(dying);
    }
    test_sleep_ms(150);
    expect_all(d.consumer, "");
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "dead"), 1);
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "active"), 0);
    one_queue_close(&d);
}

static void leases_are_renewed_while_the_consumer_lives(void **state)
{
    one_queue d = one_queue_open_lease(state, 3000);
    tkl_consumer *other = open_consumer(d.queue, 0);
    push_words(d.queue, "a b");
    tkl_jobs *jobs = claim_jobs(d.consumer, 2, 0);
    int64_t before = server_calls(d.f->server, "zadd"); /* one each second */
    eventually(server_calls(d.f->server, "zadd") >= before + 2, LONG_MS);
    assert_ok(report_job(d.consumer, &jobs->items[0], TKL_OUTCOME_DONE, NULL, 0));
    eventually(server_calls(d.f->server, "zadd") >= before + 4, LONG_MS);
    expect_all(other, "");
    assert_ok(report_job(d.consumer, &jobs->items[1], TKL_OUTCOME_DONE, NULL, 0));
    tkl_jobs_free(jobs);
    tkl_consumer_close(other);
    assert_clean(d.f->server);
    one_queue_close(&d);
}

typedef struct losses {
    atomic_int count;
    char id[TKL_JOB_ID_SIZE], token[TKL_TOKEN_SIZE];
} losses;

static void note_loss(const char *id, const char *token, void *arg)
{
    losses *l = arg;
    snprintf(l->id, sizeof l->id, "%s", id);
    snprintf(l->token, sizeof l->token, "%s", token);
    atomic_fetch_add(&l->count, 1);
}

static void the_owner_is_told_of_a_lost_claim(void **state)
{
    fixture *f = *state;
    losses lost = {0};
    tkl_queue *queue = open_queue(f->client, "q", 1);
    const tkl_consumer_options options = {.lease_ms = 3000, .on_lost = note_loss, .arg = &lost};
    tkl_consumer *consumer;
    assert_ok(tkl_consumer_open(&queue, 1, &options, &consumer));
    push_words(queue, "a b");
    tkl_jobs *jobs = claim_jobs(consumer, 2, 0);
    assert_true(tkl_consumer_left_ms(consumer, &jobs->items[1]) > 0);
    assert_true(tkl_consumer_left_ms(consumer, &jobs->items[1]) <= 3000);
    server_do(f->server, "ZREM " KEY "active %s:%s", jobs->items[1].id, jobs->items[1].token);
    eventually(atomic_load(&lost.count) == 1, LONG_MS);
    assert_int_equal(tkl_consumer_left_ms(consumer, &jobs->items[1]), 0);
    assert_string_equal(lost.id, jobs->items[1].id);
    assert_string_equal(lost.token, jobs->items[1].token);
    assert_ok(report_job(consumer, &jobs->items[0], TKL_OUTCOME_DONE, NULL, 0));
    assert_int_equal(tkl_consumer_left_ms(consumer, &jobs->items[0]), 0);
    assert_code(report_job(consumer, &jobs->items[1], TKL_OUTCOME_DONE, NULL, 0), TKL_NOTOWNER);
    assert_int_equal(atomic_load(&lost.count), 1);
    tkl_jobs_free(jobs);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void a_server_that_is_gone_loses_the_claims_when_their_leases_end(void **state)
{
    fixture *f = *state;
    losses lost = {0};
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 1000});
    tkl_queue *queue = open_queue(client, "q", 1);
    const tkl_consumer_options options = {.lease_ms = 500, .on_lost = note_loss, .arg = &lost};
    tkl_consumer *consumer;
    (void)f;
    assert_ok(tkl_consumer_open(&queue, 1, &options, &consumer));
    push_words(queue, "a");
    tkl_jobs *jobs = claim_jobs(consumer, 1, 0);
    server_kill(s);
    eventually(atomic_load(&lost.count) == 1, LONG_MS);
    tkl_jobs_free(jobs);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    server_end(s);
}

static void a_claim_lives_by_id_and_token_alone(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_consumer *shell;
    const tkl_consumer_options options = {.lease_ms = 60000, .no_renewal = true};
    assert_ok(tkl_consumer_open(&d.queue, 1, &options, &shell));
    push_words(d.queue, "a");
    tkl_jobs *jobs = claim_jobs(shell, 1, 0);
    tkl_consumer_close(shell);
    const tkl_job *job = &jobs->items[0];
    assert_ok(tkl_queue_renew(d.queue, job->id, job->token, 600000, tkl_str("half")));
    char *progress = server_ask(d.f->server, "HGET " KEY "progress %s", job->id);
    assert_string_equal(progress, "half");
    free(progress);
    assert_code(
        tkl_queue_renew(d.queue, job->id, "0123456789abcdef0123456789abcdef", 600000, tkl_str("")),
        TKL_NOTOWNER);
    assert_code(tkl_queue_renew(d.queue, job->id, job->token, 1, tkl_str("")), TKL_EINVAL);
    assert_code(tkl_queue_finish(d.queue, job->id, "0123456789abcdef0123456789abcdef",
                                 TKL_OUTCOME_DONE, tkl_str(""), 0),
                TKL_NOTOWNER);
    assert_ok(tkl_queue_finish(d.queue, job->id, job->token, TKL_OUTCOME_DONE, tkl_str(""), 0));
    tkl_jobs_free(jobs);
    assert_clean(d.f->server);
    one_queue_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_failed_job_comes_back_with_its_error_until_it_is_dead),
        TEST(the_backoff_doubles_up_to_its_cap),
        TEST(a_job_fails_in_a_program_with_a_decimal_comma),
        TEST(a_delay_of_ones_own_replaces_the_backoff),
        TEST(a_released_job_goes_to_the_front_and_loses_no_attempt),
        TEST(a_job_can_be_buried_at_once_with_a_reason_of_bounded_length),
        TEST(the_dead_are_trimmed_by_number_and_age),
        TEST(a_claim_is_reported_once),
        TEST(reports_of_one_call_have_fates_of_their_own),
        TEST(reports_count_in_any_order_and_around_a_lost_claim),
        TEST(a_foreign_key_in_the_way_of_a_report_keeps_the_claims),
        TEST(a_report_whose_answer_is_lost_counts),
        TEST(a_claim_whose_answer_is_lost_is_found_again),
        TEST(a_claim_that_came_too_late_is_not_begun),
        TEST(a_claim_that_timed_out_keeps_nothing_back),
        TEST(a_lease_that_ends_brings_the_job_back_to_the_front),
        TEST(a_job_that_kills_its_workers_ends_among_the_dead),
        TEST(leases_are_renewed_while_the_consumer_lives),
        TEST(the_owner_is_told_of_a_lost_claim),
        TEST(a_server_that_is_gone_loses_the_claims_when_their_leases_end),
        TEST(a_claim_lives_by_id_and_token_alone),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
