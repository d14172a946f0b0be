/* SPDX-License-Identifier: MIT
 *
 * Workers whose server goes away, whose connections break, whose handlers crash, whose clock is
 * wrong.
 *
 * ctest: label threads
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/fixture.h"
#include "support/peer.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/scene.h"

#define HOUR_MS    3600000
#define TIMEOUT_MS 1000 /* time-out of a call; failures are retried silently for so long */

/* ---- A server that keeps what it has --------------------------------------- */

typedef struct stage {
    server *server;
    tkl_client *client;
    tkl_queue *queue;
    tkl_worker *worker;
    scene scene;
    atomic_int errors;  /* told to the hook */
    int64_t timeout_ms; /* time-out of calls; 0: TIMEOUT_MS */
} stage;

static void note_error(int code, const char *message, void *arg)
{
    stage *s = arg;
    assert_true(code < 0 && message[0] != '\0');
    atomic_fetch_add(&s->errors, 1);
}

static void stage_open(stage *s, const char *url, const tkl_worker_options *options)
{
    tkl_worker_options o = *options;
    o.on_error = note_error;
    o.arg = s;
    scene_init(&s->scene);
    atomic_init(&s->errors, 0);
    int64_t timeout_ms = s->timeout_ms ? s->timeout_ms : TIMEOUT_MS;
    s->client = test_open(url, &(tkl_options){.timeout_ms = timeout_ms});
    s->queue = open_queue(s->client, "mails", 1);
    s->worker = start_worker(s->queue, &o, &s->scene);
}

static void stage_close(stage *s)
{
    tkl_worker_close(s->worker);
    tkl_queue_close(s->queue);
    tkl_close(s->client);
    server_end(s->server);
}

static server *start_durable(void)
{
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    return server_start(&(server_options){.config = config});
}

static void goes_on_after_restarts(void **state)
{
    (void)state;
    stage s = {.server = start_durable()};
    stage_open(&s, s.server->url, &(tkl_worker_options){.threads = 3, .lease_ms = 2000});
    for (int i = 0; i < 3; i++) {
        push_numbers(s.queue, 20);
        eventually(stats_of(s.queue).done == 20 * (i + 1), LONG_MS);
        server_restart(s.server); /* while it waits */
    }
    push_text(s.queue, "last");
    eventually(worker_stats(s.worker).done == 61, LONG_MS);
    assert_int_equal(worker_stats(s.worker).lost, 0);
    stage_close(&s);
}

static void what_ended_meanwhile_is_reported_when_the_server_is_back(void **state)
{
    (void)state;
    stage s = {.server = start_durable()};
    stage_open(&s, s.server->url, &(tkl_worker_options){.threads = 2, .lease_ms = 60000});
    atomic_store(&s.scene.gate, false);
    push_numbers(s.queue, 2);
    eventually(atomic_load(&s.scene.inside) == 2, LONG_MS);
    server_kill(s.server);
    atomic_store(&s.scene.gate, true);
    eventually(atomic_load(&s.errors) >= 2, LONG_MS);
    assert_int_equal(worker_stats(s.worker).done, 0);
    server_restart(s.server);
    eventually(worker_stats(s.worker).done == 2, LONG_MS);
    assert_int_equal(atomic_load(&s.scene.begun), 2); /* none of them ran again */
    assert_int_equal(stats_of(s.queue).done, 2);
    assert_true(worker_stats(s.worker).errors >= 2);
    stage_close(&s);
}

static void a_claim_that_ended_meanwhile_is_lost(void **state)
{
    (void)state;
    stage s = {.server = server_start(NULL)};
    stage_open(&s, s.server->url, &(tkl_worker_options){.lease_ms = 500});
    scene other;
    scene_init(&other);
    atomic_store(&s.scene.gate, false);
    atomic_store(&s.scene.stubborn, true);
    push_text(s.queue, "x");
    eventually(atomic_load(&s.scene.inside) == 1, LONG_MS);
    server_freeze(s.server);
    eventually(atomic_load(&s.scene.cancelled) == 1, LONG_MS); /* it knows by itself */
    server_thaw(s.server);
    tkl_worker *heir = start_worker(s.queue, NULL, &other);
    eventually(worker_stats(heir).done == 1, LONG_MS);
    /* The lost attempt counts, unless the server froze before the hand-over was confirmed. */
    assert_in_range(other.attempt, 1, 2);
    atomic_store(&s.scene.gate, true);
    eventually(worker_stats(s.worker).lost == 1, LONG_MS);
    assert_int_equal(worker_stats(s.worker).done, 0);
    assert_int_equal(stats_of(s.queue).done, 1);
    tkl_worker_close(heir);
    stage_close(&s);
}

static void a_server_that_is_not_there_is_waited_for(void **state)
{
    (void)state;
    stage s = {.server = start_durable()};
    server_shutdown(s.server);
    stage_open(&s, s.server->url, &(tkl_worker_options){.threads = 2});
    eventually(atomic_load(&s.errors) >= 3, LONG_MS);
    server_restart(s.server);
    push_numbers(s.queue, 10);
    eventually(worker_stats(s.worker).done == 10, LONG_MS);
    stage_close(&s);
}

static void a_worker_ends_though_its_server_is_gone(void **state)
{
    (void)state;
    stage s = {.server = server_start(NULL)};
    stage_open(&s, s.server->url, &(tkl_worker_options){.threads = 2, .lease_ms = 500});
    atomic_store(&s.scene.gate, false);
    push_numbers(s.queue, 4);
    eventually(atomic_load(&s.scene.inside) == 2, LONG_MS);
    server_kill(s.server);
    atomic_store(&s.scene.gate, true);
    assert_ok(tkl_worker_stop(s.worker, LONG_MS));
    assert_int_equal(worker_stats(s.worker).done, 0);
    assert_true(worker_stats(s.worker).lost >= 2);
    stage_close(&s);
}

/* A worker with nothing to report waits neither for an answer nor for the server to come back. */
static void an_idle_worker_ends_at_once_though_its_server_is_gone(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        stage s = {.server = server_start(NULL), .timeout_ms = HOUR_MS};
        stage_open(&s, s.server->url, &(tkl_worker_options){.threads = 2});
        eventually(stats_of(s.queue).waiters == 1, LONG_MS);
        stats_of(s.queue); /* by now the worker has been answered, too */
        if (i >= 2)        /* it will notice: it has to look */
            push_one(s.queue, &(tkl_push){.payload = tkl_str("x"), .delay_ms = 1000});
        if (i % 2 == 0)
            server_freeze(s.server);
        else
            server_kill(s.server);
        if (i >= 2)
            test_sleep_ms(1500);
        assert_ok(tkl_worker_stop(s.worker, LONG_MS));
        stage_close(&s);
    }
}

static void no_broken_connection_deafens_it(void **state)
{
    fixture *f = *state;
    stage s = {0};
    stage_open(&s, f->server->url, &(tkl_worker_options){.threads = 3, .prefetch = 4});
    int pushed = 0;
    for (int64_t end = test_now_ms() + 3000; test_now_ms() < end; test_sleep_ms(100)) {
        server_do(f->server, "CLIENT KILL TYPE pubsub");
        server_do(f->server, "CLIENT KILL TYPE normal SKIPME yes");
        push_numbers(s.queue, 5);
        pushed += 5;
    }
    eventually(stats_of(s.queue).done == pushed, LONG_MS);
    /* A waiter hears of it, too. */
    eventually(stats_of(s.queue).waiters == 1, LONG_MS);
    push_text(s.queue, "last");
    eventually(worker_stats(s.worker).done + worker_stats(s.worker).lost == (uint64_t)pushed + 1,
               LONG_MS);
    assert_int_equal(worker_stats(s.worker).lost, 0);
    assert_int_equal(atomic_load(&s.scene.begun), pushed + 1); /* none ran twice */
    stage_close(&s);
}

static void every_job_gets_through_a_bad_line(void **state)
{
    fixture *f = *state;
    stage s = {0};
    proxy *line = proxy_start(f->server->socket);
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    stage_open(&s, proxy_url(line), &(tkl_worker_options){.threads = 4, .prefetch = 4});
    int pushed = 0;
    for (int i = 0; i < 40; i++) {
        proxy_delay(line, i % 2 ? TO_CLIENT : TO_SERVER, i % 4 == 3 ? 10 : 0);
        if (i % 3 == 0)
            proxy_cut(line);
        proxy_cut_after(line, i % 2 ? TO_CLIENT : TO_SERVER, 100 + i * 37);
        push_numbers(queue, 10);
        pushed += 10;
        test_sleep_ms(30);
    }
    proxy_delay(line, TO_CLIENT, 0);
    proxy_delay(line, TO_SERVER, 0);
    eventually(stats_of(queue).done == pushed, LONG_MS);
    eventually(worker_stats(s.worker).done == (uint64_t)pushed, LONG_MS);
    assert_int_equal(atomic_load(&s.scene.begun), pushed); /* no lease ended: none ran twice */
    tkl_queue_close(queue);
    stage_close(&s);
    proxy_end(line);
}

static void a_full_server_is_worked_off(void **state)
{
    fixture *f = *state;
    stage s = {0};
    stage_open(&s, f->server->url, &(tkl_worker_options){.threads = 2});
    atomic_store(&s.scene.gate, false);
    push_numbers(s.queue, 20);
    server_do(f->server, "CONFIG SET maxmemory 1");
    atomic_store(&s.scene.gate, true);
    eventually(worker_stats(s.worker).done == 20, LONG_MS);
    assert_code(push_code(s.queue, &(tkl_push){.payload = tkl_str("x")}, NULL), TKL_EOOM);
    server_do(f->server, "CONFIG SET maxmemory 0");
    push_text(s.queue, "x");
    eventually(worker_stats(s.worker).done == 21, LONG_MS);
    stage_close(&s);
}

static void a_foreign_key_in_the_way_is_told_and_survived(void **state)
{
    fixture *f = *state;
    stage s = {0};
    server_do(f->server, "SET tackle:queue:{mails}:ready foreign");
    stage_open(&s, f->server->url, &(tkl_worker_options){.threads = 2});
    eventually(atomic_load(&s.errors) >= 2, LONG_MS);
    server_do(f->server, "DEL tackle:queue:{mails}:ready");
    push_numbers(s.queue, 10);
    eventually(worker_stats(s.worker).done == 10, LONG_MS);
    stage_close(&s);
}

/* ---- Other processes ------------------------------------------------------- */

/* Notes the payload; "crash" ends the process. */
static int log_or_crash(tkl_task *task, void *client)
{
    const tkl_job *job = tkl_task_job(task);
    const char *argv[] = {"RPUSH", "log", job->payload.data};
    size_t lens[] = {5, 3, job->payload.len};
    if (job->payload.len == 5 && memcmp(job->payload.data, "crash", 5) == 0)
        raise(SIGKILL);
    if (job->payload.len == 4 && memcmp(job->payload.data, "slow", 4) == 0)
        test_sleep_ms(2000);
    return tkl_call(client, 3, argv, lens, NULL, NULL);
}

/* --worker url lease */
static int worker_main(char **argv)
{
    tkl_client *client;
    tkl_queue *queue;
    tkl_worker *worker;
    tkl_worker_options options = {.lease_ms = atoll(argv[3])};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (tkl_open(argv[2], NULL, &client) != TKL_OK ||
        tkl_queue_open(client, tkl_str("mails"), NULL, &queue) != TKL_OK ||
        tkl_worker_start(&queue, 1, log_or_crash, client, &options, &worker) != TKL_OK)
        return 1;
    assert_ok(tkl_worker_wait(worker, -1));
    return 0;
}

static pid_t start_process(fixture *f, int64_t clock_ms, const char *lease)
{
    const char *args[] = {"--worker", f->server->url, lease, NULL};
    return start_self(clock_ms, args);
}

static void a_job_that_crashes_every_worker_ends_in_the_dead_letters(void **state)
{
    fixture *f = *state;
    int crashes = 0;
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    push_one(queue, &(tkl_push){.payload = tkl_str("crash"), .retries = 2});
    push_numbers(queue, 20);
    pid_t pid = start_process(f, 0, "300");
    for (int64_t until = test_now_ms() + LONG_MS; stats_of(queue).dead == 0;) {
        assert_true(test_now_ms() < until);
        test_sleep_ms(5);
        if (waitpid(pid, NULL, WNOHANG) != pid)
            continue;
        crashes++;
        pid = start_process(f, 0, "300");
    }
    assert_int_equal(crashes, 3);
    eventually(stats_of(queue).done == 20, LONG_MS);
    assert_int_equal(call_int(f->client, "LLEN", "log", NULL), 20);
    tkl_listing *dead;
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_DEAD, 0, 10, 0, &dead));
    assert_int_equal(dead->count, 1);
    assert_int_equal(dead->items[0].payload.len, 5);
    assert_true(dead->items[0].error.len > 0);
    tkl_listing_free(dead);
    kill_self(pid);
    tkl_queue_close(queue);
}

static void a_wrong_clock_changes_nothing(void **state)
{
    static const int64_t clocks[] = {HOUR_MS, -HOUR_MS};
    fixture *f = *state;
    if (!peer_can_fake_clock())
        skip();
    tkl_queue *queue = open_queue(f->client, "mails", 1);
    for (int i = 0; i < 2; i++) {
        server_do(f->server, "FLUSHALL");
        pid_t pid = start_process(f, clocks[i], "1000");
        pid_t right = start_process(f, 0, "1000");
        eventually(stats_of(queue).waiters == 2, LONG_MS);
        push_text(queue, "slow");
        push_text(queue, "slow");
        eventually(stats_of(queue).active == 2, LONG_MS);
        int64_t start = test_now_ms();
        push_one(queue, &(tkl_push){.payload = tkl_str("late"), .delay_ms = 3000});
        eventually(stats_of(queue).done == 3, LONG_MS);
        assert_true(test_now_ms() - start >= 2990);
        assert_int_equal(stats_of(queue).failed, 0); /* no lease ended early */
        assert_int_equal(call_int(f->client, "LLEN", "log", NULL), 3);
        kill_self(pid);
        kill_self(right);
    }
    tkl_queue_close(queue);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_after_restarts),
        cmocka_unit_test(what_ended_meanwhile_is_reported_when_the_server_is_back),
        cmocka_unit_test(a_claim_that_ended_meanwhile_is_lost),
        cmocka_unit_test(a_server_that_is_not_there_is_waited_for),
        cmocka_unit_test(a_worker_ends_though_its_server_is_gone),
        TEST(an_idle_worker_ends_at_once_though_its_server_is_gone),
        TEST(no_broken_connection_deafens_it),
        TEST(every_job_gets_through_a_bad_line),
        TEST(a_full_server_is_worked_off),
        TEST(a_foreign_key_in_the_way_is_told_and_survived),
        TEST(a_job_that_crashes_every_worker_ends_in_the_dead_letters),
        TEST(a_wrong_clock_changes_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
