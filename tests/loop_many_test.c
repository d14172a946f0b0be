/* SPDX-License-Identifier: MIT
 *
 * Ten thousand operations that wait, in a process with four threads at most and the connections
 * that blocking calls would have.
 *
 * ctest: label threads
 * ctest: cost 60
 */
#include <dirent.h>

#include <tackle/tackle.h>

#include "support/fixture.h"
#include "support/loops.h"

#define LONG_MS 600000

/* ThreadSanitizer knows at most 8128 threads and fibers. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define EACH 250
#else
#define EACH 2500
#endif

static int threads_of_process(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *e; (e = readdir(tasks));)
        count += e->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* Sanitizers have threads of their own. */
static int threads_at_start;

/* One of many: a lock, a permit, a mailbox, and the result of a job. */
typedef struct wish {
    tkl_lock *lock;
    tkl_semaphore *permit;
    tkl_mail *mail;
    tkl_queue *queue;
    char job[TKL_JOB_ID_SIZE];
    ticket tickets[4];
} wish;

static int acquire_lock(void *arg)
{
    wish *w = arg;
    int rc = tkl_lock_acquire(w->lock, LONG_MS);
    return rc == TKL_OK ? tkl_lock_release(w->lock) : rc;
}

static int acquire_permit(void *arg)
{
    wish *w = arg;
    int rc = tkl_semaphore_acquire(w->permit, LONG_MS);
    return rc == TKL_OK ? tkl_semaphore_release(w->permit) : rc;
}

static int fetch_mail(void *arg)
{
    wish *w = arg;
    tkl_messages *messages;
    int rc = tkl_mail_fetch(w->mail, 1, LONG_MS, &messages);
    tkl_messages_free(messages);
    return rc;
}

static int await_result(void *arg)
{
    wish *w = arg;
    tkl_job_result *result;
    int rc = tkl_queue_result(w->queue, w->job, LONG_MS, &result);
    tkl_job_result_free(result);
    return rc;
}

/* `holder` holds the locks and permits, and gives all of them back by closing them. */
typedef struct keeper_of_all {
    tkl_client *client;
    tkl_lock *locks[EACH];
    tkl_semaphore *permits[EACH];
    tkl_queue *queue;
} keeper_of_all;

static void hold_all(keeper_of_all *k)
{
    for (int i = 0; i < EACH; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d", i);
        assert_ok(tkl_lock_open(k->client, tkl_str(name), NULL, &k->locks[i]));
        assert_ok(tkl_lock_acquire(k->locks[i], 0));
        assert_ok(tkl_semaphore_open(k->client, tkl_str(name), 1, NULL, &k->permits[i]));
        assert_ok(tkl_semaphore_acquire(k->permits[i], 0));
    }
}

static void open_wish(tkl_client *client, keeper_of_all *k, wish *w, int number)
{
    char name[32];
    tkl_pushed pushed;
    tkl_push job = {.payload = tkl_str("x"), .result_ms = LONG_MS};
    snprintf(name, sizeof name, "n%d", number);
    assert_ok(tkl_lock_open(client, tkl_str(name), NULL, &w->lock));
    assert_ok(tkl_semaphore_open(client, tkl_str(name), 1, NULL, &w->permit));
    assert_ok(tkl_mail_open(client, tkl_str(name), NULL, &w->mail));
    assert_ok(tkl_queue_push(k->queue, &job, 1, NULL, &pushed));
    w->queue = k->queue;
    memcpy(w->job, pushed.id, sizeof w->job);
}

static void give_all(keeper_of_all *k, wish *wishes)
{
    tkl_consumer *consumer;
    tkl_letter hello = {.body = tkl_str("hello")};
    assert_ok(tkl_consumer_open(&k->queue, 1, NULL, &consumer));
    for (int i = 0; i < EACH; i++) {
        tkl_jobs *jobs;
        assert_ok(tkl_lock_release(k->locks[i]));
        assert_ok(tkl_semaphore_release(k->permits[i]));
        assert_ok(tkl_mail_send(wishes[i].mail, tkl_str("bob"), &hello, 1, NULL));
        assert_ok(tkl_consumer_claim(consumer, 1, LONG_MS, &jobs));
        tkl_report report = {.job = &jobs->items[0], .text = tkl_str("done")};
        assert_ok(tkl_consumer_finish(consumer, &report, 1));
        tkl_jobs_free(jobs);
    }
    tkl_consumer_close(consumer);
}

static void close_all(keeper_of_all *k, wish *wishes)
{
    for (int i = 0; i < EACH; i++) {
        for (int t = 0; t < 4; t++)
            ticket_free(&wishes[i].tickets[t]);
        tkl_lock_close(k->locks[i]);
        tkl_semaphore_close(k->permits[i]);
        tkl_lock_close(wishes[i].lock);
        tkl_semaphore_close(wishes[i].permit);
        tkl_mail_close(wishes[i].mail);
    }
    tkl_queue_close(k->queue);
}

static void ten_thousand_operations_wait_with_four_threads(void **state)
{
    fixture *f = *state;
    static keeper_of_all keeper;
    wish *wishes = calloc(EACH, sizeof *wishes);
    assert_non_null(wishes);
    keeper.client = f->client;
    assert_ok(tkl_queue_open(f->client, tkl_str("jobs"), NULL, &keeper.queue));
    hold_all(&keeper);
    tkl_loop *loop = loop_open(f->client, 0);
    static int (*const waits[4])(void *) = {acquire_lock, acquire_permit, fetch_mail, await_result};
    for (int i = 0; i < EACH; i++) {
        open_wish(f->client, &keeper, &wishes[i], i);
        for (int t = 0; t < 4; t++)
            ticket_submit(loop, &wishes[i].tickets[t], waits[t], &wishes[i]);
    }
    eventually(loop_stats(loop).waiting == 4 * EACH, 300000);
    assert_true(threads_of_process() - threads_at_start <= 3); /* beside the main one */
    assert_true(server_connections(f->server, NULL) <= 32 + 1);
    give_all(&keeper, wishes);
    for (int i = 0; i < EACH; i++)
        for (int t = 0; t < 4; t++)
            assert_ok(ticket_await(loop, &wishes[i].tickets[t]));
    tkl_loop_close(loop);
    close_all(&keeper, wishes);
    free(wishes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ten_thousand_operations_wait_with_four_threads),
    };
    threads_at_start = threads_of_process();
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
