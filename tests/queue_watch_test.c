/* SPDX-License-Identifier: MIT
 *
 * Watching a queue: which events there are, who gets them, and what they cost without a watcher.
 */
#include <stdlib.h>
#include <string.h>

#include <tackle/queue.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/proxy.h"

/* The events that came, "pushed claimed ...", or "pushed*2" for two at once. */
typedef struct diary {
    tkl_queue_watcher *watcher;
    char words[1024];
    char note[256]; /* note of the last event */
    char id[TKL_JOB_ID_SIZE];
    bool lost;
} diary;

static tkl_queue *open_queue(tkl_client *client, int partitions)
{
    tkl_queue *queue;
    assert_ok(tkl_queue_open(client, tkl_str("mails"),
                             &(tkl_queue_options){.partitions = partitions}, &queue));
    return queue;
}

static void push_jobs(tkl_queue *queue, size_t count, tkl_push job, tkl_pushed *pushed)
{
    tkl_push jobs[16];
    for (size_t i = 0; i < count; i++)
        jobs[i] = job;
    assert_ok(tkl_queue_push(queue, jobs, count, NULL, pushed));
}

static void note_events(diary *d, const tkl_queue_events *events)
{
    char word[64];
    const tkl_queue_event *last = &events->items[events->count - 1];
    snprintf(word, sizeof word, events->count > 1 ? "%s%s*%zu" : "%s%s", *d->words ? " " : "",
             tkl_job_event_name(last->event), events->count);
    strncat(d->words, word, sizeof d->words - strlen(d->words) - 1);
    snprintf(d->note, sizeof d->note, "%.*s", (int)last->note.len, last->note.data);
    snprintf(d->id, sizeof d->id, "%s", last->id);
    d->lost |= events->lost;
    assert_true(last->at_ms > 0);
}

/* Waits until the words are these. */
static void expect_words(diary *d, const char *words)
{
    tkl_queue_events *events;
    while (strlen(d->words) < strlen(words) &&
           tkl_queue_watch_next(d->watcher, 20000, &events) == TKL_OK) {
        note_events(d, events);
        tkl_queue_events_free(events);
    }
    assert_string_equal(d->words, words);
    *d->words = '\0';
}

/* Begins to watch: the queue must be there. */
static void begin_watching(diary *d, tkl_queue *queue)
{
    tkl_queue_events *events;
    *d = (diary){0};
    assert_ok(tkl_queue_watch(queue, &d->watcher));
    assert_code(tkl_queue_watch_next(d->watcher, 10, &events), TKL_EMPTY);
    assert_null(events);
}

static tkl_jobs *claim_jobs(tkl_consumer *consumer, size_t max, int64_t wait_ms)
{
    tkl_jobs *jobs;
    assert_ok(tkl_consumer_claim(consumer, max, wait_ms, &jobs));
    return jobs;
}

static void report(tkl_consumer *consumer, const tkl_job *job, tkl_outcome outcome,
                   const char *text)
{
    tkl_report r = {.job = job, .outcome = outcome, .text = tkl_str(text)};
    assert_ok(tkl_consumer_finish(consumer, &r, 1));
}

static void the_life_of_a_job_is_seen(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_consumer *consumer;
    tkl_pushed pushed[2];
    tkl_queue *queue = open_queue(f->client, 1);
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("before")}, NULL);
    begin_watching(&d, queue);
    push_jobs(queue, 2, (tkl_push){.payload = tkl_str("x"), .retries = TKL_NONE}, pushed);
    expect_words(&d, "pushed*2");
    assert_string_equal(d.id, pushed[1].id);
    tkl_jobs *jobs = claim_jobs(consumer, 3, 0);
    expect_words(&d, "claimed*3");
    report(consumer, &jobs->items[0], TKL_OUTCOME_DONE, "");
    expect_words(&d, "done");
    report(consumer, &jobs->items[1], TKL_OUTCOME_RELEASED, "");
    expect_words(&d, "released");
    report(consumer, &jobs->items[2], TKL_OUTCOME_FAILED, "no such\nmailbox");
    expect_words(&d, "dead");
    assert_string_equal(d.note, "no such\nmailbox");
    assert_string_equal(d.id, pushed[1].id);
    tkl_jobs_free(jobs);
    assert_ok(tkl_queue_retry(queue, NULL, NULL));
    expect_words(&d, "retried");
    assert_ok(tkl_queue_cancel(queue, pushed[1].id));
    expect_words(&d, "cancelled");
    assert_ok(tkl_queue_pause(queue));
    expect_words(&d, "paused");
    assert_string_equal(d.id, "");
    assert_ok(tkl_queue_resume(queue));
    expect_words(&d, "resumed");
    assert_ok(tkl_queue_drain(queue, NULL));
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("later"), .delay_ms = 600000}, pushed);
    assert_ok(tkl_queue_edit(queue, pushed[0].id, tkl_str("soon")));
    assert_ok(tkl_queue_promote(queue, pushed[0].id));
    expect_words(&d, "pushed edited promoted");
    jobs = claim_jobs(consumer, 1, 0);
    assert_ok(tkl_queue_requeue(queue, jobs->items[0].id, true));
    expect_words(&d, "claimed released");
    assert_string_equal(d.note, "requeued");
    tkl_jobs_free(jobs);
    jobs = claim_jobs(consumer, 1, 0);
    report(consumer, &jobs->items[0], TKL_OUTCOME_FAILED, "busy");
    expect_words(&d, "claimed failed");
    assert_string_equal(d.note, "busy");
    tkl_jobs_free(jobs);
    tkl_queue_watcher_close(d.watcher);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void a_lost_worker_is_seen(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    tkl_queue *queue = open_queue(f->client, 1);
    tkl_consumer_options options = {.lease_ms = 100, .no_renewal = true};
    assert_ok(tkl_consumer_open(&queue, 1, &options, &consumer));
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("x")}, NULL);
    begin_watching(&d, queue);
    tkl_jobs_free(claim_jobs(consumer, 1, 0));
    assert_ok(tkl_consumer_claim(consumer, 1, 20000, &jobs)); /* when the lease has ended */
    expect_words(&d, "claimed failed claimed");
    tkl_jobs_free(jobs);
    tkl_queue_watcher_close(d.watcher);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void partitions_and_clusters_are_watched(void **state)
{
    (void)state;
    enum { JOBS = 12 };
    diary d;
    tkl_queue_events *events;
    size_t seen = 0;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_queue *queue = open_queue(client, 4);
    for (int i = 0; i < JOBS; i++)
        push_jobs(queue, 1, (tkl_push){.payload = tkl_str("x")}, NULL);
    begin_watching(&d, queue);
    for (int i = 0; i < JOBS; i++)
        push_jobs(queue, 1, (tkl_push){.payload = tkl_str("x")}, NULL);
    while (seen < JOBS && tkl_queue_watch_next(d.watcher, 20000, &events) == TKL_OK) {
        for (size_t i = 0; i < events->count; i++, seen++)
            assert_non_null(strchr(events->items[i].id, '.'));
        tkl_queue_events_free(events);
    }
    assert_int_equal(seen, JOBS);
    tkl_queue_watcher_close(d.watcher);
    tkl_queue_close(queue);
    tkl_close(client);
    cluster_end(c);
}

static void a_lost_connection_is_told(void **state)
{
    fixture *f = *state;
    diary d;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_queue *watched = open_queue(client, 1), *queue = open_queue(f->client, 1);
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("x")}, NULL);
    begin_watching(&d, watched);
    proxy_cut_after(p, TO_CLIENT, 0);
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("lost")}, NULL);
    tkl_queue_events *events;
    assert_code(tkl_queue_watch_next(d.watcher, 1000, &events), TKL_EMPTY);
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("y")}, NULL);
    expect_words(&d, "pushed");
    assert_true(d.lost);
    tkl_queue_watcher_close(d.watcher);
    tkl_queue_close(watched);
    tkl_queue_close(queue);
    tkl_close(client);
    proxy_end(p);
}

static void nothing_is_published_when_nobody_watches(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_queue *queue = open_queue(f->client, 1);
    tkl_queue_events *events;
    assert_ok(tkl_queue_watch(queue, &d.watcher));
    assert_code(tkl_queue_watch_next(d.watcher, 10, &events), TKL_NOTFOUND);
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:queue:{mails}:meta", NULL), 0);
    tkl_queue_watcher_close(d.watcher);
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("x")}, NULL);
    assert_int_equal(call_int(f->client, "HEXISTS", "tackle:queue:{mails}:meta", "watched", NULL),
                     0);
    /* A watcher that is gone is forgotten when its time is up. */
    begin_watching(&d, queue);
    assert_ok(
        tkl_callz(f->client, NULL, "HSET", "tackle:queue:{mails}:meta", "watched", "1000", NULL));
    push_jobs(queue, 5, (tkl_push){.payload = tkl_str("x")}, NULL);
    assert_code(tkl_queue_watch_next(d.watcher, 200, &events), TKL_EMPTY);
    tkl_queue_watcher_close(d.watcher);
    tkl_queue_watcher_close(NULL);
    tkl_queue_events_free(NULL);
    tkl_queue_close(queue);
}

static void events_have_names(void **state)
{
    (void)state;
    assert_string_equal(tkl_job_event_name(TKL_JOB_EVENT_PUSHED), "pushed");
    assert_string_equal(tkl_job_event_name(TKL_JOB_EVENT_RESUMED), "resumed");
    assert_string_equal(tkl_job_event_name((tkl_job_event)99), "unknown");
    assert_string_equal(tkl_job_event_name((tkl_job_event)-1), "unknown");
}

static void a_strange_message_is_no_event(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_queue *queue = open_queue(f->client, 1);
    static const char *const strange[] = {"",      "\n",           "x", "12", "12 pushed",
                                          "12 \n", "\n12 pushed x"};
    push_jobs(queue, 1, (tkl_push){.payload = tkl_str("x")}, NULL);
    begin_watching(&d, queue);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        assert_ok(
            tkl_callz(f->client, NULL, "SPUBLISH", "tackle:queue:{mails}:meta", strange[i], NULL));
    assert_ok(tkl_callz(f->client, NULL, "SPUBLISH", "tackle:queue:{mails}:meta",
                        "12 vanished 0123456789abc short\nwhy", NULL));
    expect_words(&d, "unknown unknown*2");
    assert_string_equal(d.note, "why");
    tkl_queue_watcher_close(d.watcher);
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_life_of_a_job_is_seen),
        TEST(a_lost_worker_is_seen),
        TEST(a_lost_connection_is_told),
        TEST(nothing_is_published_when_nobody_watches),
        TEST(events_have_names),
        TEST(a_strange_message_is_no_event),
        cmocka_unit_test(partitions_and_clusters_are_watched),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
