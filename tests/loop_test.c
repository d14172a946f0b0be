/* SPDX-License-Identifier: MIT
 *
 * Event loops: operations give what blocking calls give, callbacks run in dispatch only, and every
 * wait can be cancelled at every moment.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/tackle.h>

#include "core/clock.h"
#include "support/fixture.h"
#include "support/loops.h"
#include "support/proxy.h"
#include "support/ways.h"

/* "At once", also on a busy machine. */
#define SOON_MS 20000
#define LONG_MS 120000

/* ---- Results -------------------------------------------------------------- */

static int set_text(void *arg)
{
    return tkl_callz(arg, NULL, "SET", "text", "words", NULL);
}

static int add_to_text(void *arg)
{
    return tkl_callz(arg, NULL, "INCR", "text", NULL);
}

static int call_nonsense(void *arg)
{
    return tkl_callz(arg, NULL, "NONSENSE", "1", "2", NULL);
}

static int push_to_text(void *arg)
{
    return tkl_callz(arg, NULL, "LPUSH", "text", "x", NULL);
}

static int select_refused(void *arg)
{
    return tkl_callz(arg, NULL, "SELECT", "1", NULL);
}

/* Its text is longer than a kilobyte. */
static int run_long_error(void *arg)
{
    char script[2048];
    snprintf(script, sizeof script, "return redis.error_reply('X %01500d')", 7);
    return tkl_callz(arg, NULL, "EVAL", script, "0", NULL);
}

static int fetch_no_mail(void *arg)
{
    tkl_mail *mail;
    tkl_messages *messages;
    int rc = tkl_mail_open(arg, tkl_str("ann"), NULL, &mail);
    if (rc == TKL_OK) {
        rc = tkl_mail_fetch(mail, 1, 20, &messages);
        tkl_messages_free(messages);
    }
    tkl_mail_close(mail);
    return rc;
}

static int open_wrong_lock(void *arg)
{
    tkl_lock *lock;
    return tkl_lock_open(arg, tkl_str("x"), &(tkl_lock_options){.lease_ms = -7}, &lock);
}

static int claim_nothing(void *arg)
{
    tkl_queue *queue;
    tkl_consumer *consumer = NULL;
    tkl_jobs *jobs = NULL;
    int rc = tkl_queue_open(arg, tkl_str("jobs"), NULL, &queue);
    if (rc == TKL_OK)
        rc = tkl_consumer_open(&queue, 1, NULL, &consumer);
    if (rc == TKL_OK)
        rc = tkl_consumer_claim(consumer, 1, 20, &jobs);
    tkl_jobs_free(jobs);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    return rc;
}

static void results_and_texts_are_those_of_blocking_calls(void **state)
{
    fixture *f = *state;
    static int (*const calls[])(void *) = {set_text,      add_to_text,     call_nonsense,
                                           push_to_text,  select_refused,  run_long_error,
                                           fetch_no_mail, open_wrong_lock, claim_nothing};
    tkl_loop *loop = loop_open(f->client, 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        ticket t;
        int code = calls[i](f->client);
        char *text = strdup(code == TKL_OK ? "" : tkl_errmsg());
        ticket_submit(loop, &t, calls[i], f->client);
        assert_code(ticket_await(loop, &t), code);
        assert_string_equal(t.text, text);
        assert_int_equal(t.ended, 1);
        ticket_free(&t);
        free(text);
    }
    tkl_loop_close(loop);
}

/* Texts of operations that run at the same time in one thread. */
typedef struct numbered {
    tkl_client *client;
    int number;
    tkl_error error;
} numbered;

static int fail_with_own_text(void *arg)
{
    numbered *n = arg;
    char word[32];
    snprintf(word, sizeof word, "NONSENSE%d", n->number);
    int rc = tkl_callz(n->client, NULL, word, NULL);
    tkl_error_last(rc, &n->error);
    return rc;
}

static void operations_do_not_see_each_others_texts(void **state)
{
    fixture *f = *state;
    enum { COUNT = 200 };
    numbered args[COUNT];
    ticket tickets[COUNT];
    tkl_loop *loop = loop_open(f->client, 1);
    for (int i = 0; i < COUNT; i++) {
        args[i] = (numbered){.client = f->client, .number = i};
        ticket_submit(loop, &tickets[i], fail_with_own_text, &args[i]);
    }
    tickets_await(loop, tickets, COUNT);
    for (int i = 0; i < COUNT; i++) {
        char word[32];
        snprintf(word, sizeof word, "NONSENSE%d'", i);
        assert_code(tickets[i].code, TKL_EREFUSED);
        assert_contains(tickets[i].text, word);
        assert_code(args[i].error.code, TKL_EREFUSED);
        assert_string_equal(args[i].error.text, tickets[i].text);
        ticket_free(&tickets[i]);
    }
    tkl_loop_close(loop);
}

/* ---- Dispatching ---------------------------------------------------------- */

static pthread_t callback_thread;

static void note_thread(void *arg, int code, const char *text)
{
    int *calls = arg;
    (void)text;
    assert_ok(code);
    callback_thread = pthread_self();
    ++*calls;
}

static int do_nothing(void *arg)
{
    (void)arg;
    return TKL_OK;
}

static void callbacks_run_only_in_dispatch(void **state)
{
    fixture *f = *state;
    int calls = 0;
    tkl_loop *loop = loop_open(f->client, 0);
    struct pollfd file = {tkl_loop_fd(loop), POLLIN, 0};
    assert_int_equal(tkl_loop_timeout_ms(loop), -1);
    assert_int_equal(poll(&file, 1, 0), 0);
    assert_ok(tkl_loop_submit(loop, do_nothing, note_thread, &calls, NULL));
    assert_int_equal(poll(&file, 1, SOON_MS), 1);
    assert_int_equal(calls, 0);
    assert_int_equal(tkl_loop_timeout_ms(loop), 0);
    assert_int_equal(loop_stats(loop).ended, 1);
    assert_ok(tkl_loop_dispatch(loop));
    assert_int_equal(calls, 1);
    assert_true(pthread_equal(callback_thread, pthread_self()));
    assert_int_equal(poll(&file, 1, 0), 0);
    assert_int_equal(tkl_loop_timeout_ms(loop), -1);
    assert_int_equal(loop_stats(loop).total, 1);
    tkl_loop_close(loop);
}

typedef struct chain {
    tkl_loop *loop;
    int left;
} chain;

static void submit_next(void *arg, int code, const char *text)
{
    chain *c = arg;
    (void)text;
    assert_ok(code);
    assert_code(tkl_loop_dispatch(c->loop), TKL_EINVAL);
    if (--c->left > 0)
        assert_ok(tkl_loop_submit(c->loop, do_nothing, submit_next, c, NULL));
}

static void callbacks_may_submit(void **state)
{
    fixture *f = *state;
    chain c = {.loop = loop_open(f->client, 0), .left = 100};
    assert_ok(tkl_loop_submit(c.loop, do_nothing, submit_next, &c, NULL));
    for (int64_t until = test_now_ms() + SOON_MS; c.left > 0 && test_now_ms() < until;)
        loop_turn(c.loop, 100);
    assert_int_equal(c.left, 0);
    tkl_loop_close(c.loop);
}

static void count_call(void *arg, int code, const char *text)
{
    chain *c = arg;
    (void)text;
    assert_ok(code);
    c->left--;
}

static int submit_another(void *arg)
{
    chain *c = arg;
    return tkl_loop_submit(c->loop, do_nothing, count_call, c, NULL);
}

static void operations_may_submit(void **state)
{
    fixture *f = *state;
    chain c = {.loop = loop_open(f->client, 0), .left = 2};
    assert_ok(tkl_loop_submit(c.loop, submit_another, count_call, &c, NULL));
    for (int64_t until = test_now_ms() + SOON_MS; c.left > 0 && test_now_ms() < until;)
        loop_turn(c.loop, 100);
    assert_int_equal(c.left, 0);
    tkl_loop_close(c.loop);
}

typedef struct crowd {
    tkl_client *client;
    tkl_loop *loop;
    int done;
} crowd;

static int add_one(void *arg)
{
    const crowd *c = arg;
    return tkl_callz(c->client, NULL, "INCR", "n", NULL);
}

static void count_done(void *arg, int code, const char *text)
{
    crowd *c = arg;
    (void)text;
    assert_ok(code);
    c->done++;
}

enum { CROWD = 8, EACH = 250 };

static void submit_many(void *arg, int index)
{
    crowd *c = arg;
    (void)index;
    for (int i = 0; i < EACH; i++)
        if (tkl_loop_submit(c->loop, add_one, count_done, c, NULL) != TKL_OK)
            abort();
}

static void many_threads_submit_to_one_loop(void **state)
{
    fixture *f = *state;
    crowd c = {.client = f->client, .loop = loop_open(f->client, 3)};
    crew *threads = crew_start(CROWD, submit_many, &c);
    for (int64_t until = test_now_ms() + LOOP_MS; c.done < CROWD * EACH && test_now_ms() < until;)
        loop_turn(c.loop, 100);
    crew_join(threads);
    assert_int_equal(c.done, CROWD * EACH);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), CROWD * EACH);
    tkl_loop_close(c.loop);
}

/* ---- Time ----------------------------------------------------------------- */

typedef struct nap {
    int64_t ms, took_ms;
    ticket ticket;
} nap;

static int take_nap(void *arg)
{
    nap *n = arg;
    int64_t start = tkl__now();
    tkl__sleep_until(start + n->ms * 1000);
    n->took_ms = (tkl__now() - start) / 1000;
    return TKL_OK;
}

/* Operations in one thread sleep, each for a time of its own. */
static void operations_sleep_beside_each_other(void **state)
{
    fixture *f = *state;
    enum { NAPS = 32, ROUNDS = 5 };
    nap naps[NAPS];
    tkl_loop *loop = loop_open(f->client, 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < NAPS; i++) {
            naps[i].ms = (i * 7919 + round * 31) % 97;
            ticket_submit(loop, &naps[i].ticket, take_nap, &naps[i]);
        }
        for (int i = 0; i < NAPS; i++) {
            assert_ok(ticket_await(loop, &naps[i].ticket));
            assert_true(naps[i].took_ms >= naps[i].ms);
            ticket_free(&naps[i].ticket);
        }
    }
    tkl_loop_close(loop);
}

/* ---- Sleeping by the public call ------------------------------------------ */

typedef struct sleeper {
    _Atomic bool may_go;
    _Atomic bool asleep;
    ticket ticket;
} sleeper;

static int sleep_until_told(void *arg)
{
    sleeper *s = arg;
    while (!s->may_go) {
        s->asleep = true;
        TKL_TRY(tkl_loop_sleep(60000));
    }
    return TKL_OK;
}

/* Operations in one thread sleep until they are woken. */
static void operations_sleep_until_they_are_woken(void **state)
{
    fixture *f = *state;
    enum { SLEEPERS = 100 };
    sleeper s[SLEEPERS] = {0};
    tkl_loop *loop = loop_open(f->client, 1);
    for (int i = 0; i < SLEEPERS; i++)
        ticket_submit(loop, &s[i].ticket, sleep_until_told, &s[i]);
    eventually(loop_stats(loop).waiting == SLEEPERS, SOON_MS);
    for (int i = 0; i < SLEEPERS; i++) {
        if (i % 2 == 0) {
            s[i].may_go = true;
            assert_ok(tkl_loop_wake(loop, s[i].ticket.id));
            assert_ok(ticket_await(loop, &s[i].ticket));
        } else {
            assert_ok(tkl_loop_cancel(loop, s[i].ticket.id));
            assert_code(ticket_await(loop, &s[i].ticket), TKL_EINTR);
        }
        assert_code(tkl_loop_wake(loop, s[i].ticket.id), TKL_NOTFOUND);
        ticket_free(&s[i].ticket);
    }
    tkl_loop_close(loop);
}

static int sleep_once(void *arg)
{
    return tkl_loop_sleep(*(int64_t *)arg);
}

static void a_sleep_ends_by_itself(void **state)
{
    fixture *f = *state;
    static const struct {
        int64_t ms;
        int code;
    } naps[] = {{0, TKL_OK}, {1, TKL_OK}, {-1, TKL_EINVAL}, {INT64_MAX, TKL_EINVAL}};
    tkl_loop *loop = loop_open(f->client, 1);
    for (size_t i = 0; i < sizeof naps / sizeof *naps; i++) {
        int64_t ms = naps[i].ms;
        ticket t;
        ticket_submit(loop, &t, sleep_once, &ms);
        assert_code(ticket_await(loop, &t), naps[i].code);
        ticket_free(&t);
    }
    assert_code(tkl_loop_sleep(1), TKL_EINVAL); /* no operation */
    tkl_loop_close(loop);
}

typedef struct deep_sleeper {
    char *deepest; /* the lowest page that it has touched */
    int64_t ms;
} deep_sleeper;

/* Touches 64 KB of its stack, and returns. */
__attribute__((noinline)) static void go_deep(deep_sleeper *s)
{
    volatile char room[64 << 10];
    for (size_t i = 0; i < sizeof room; i += 1024)
        room[i] = 1;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    s->deepest = (char *)(((uintptr_t)room + page) / page * page);
}

static int go_deep_and_sleep(void *arg)
{
    deep_sleeper *s = arg;
    go_deep(s);
    return tkl_loop_sleep(s->ms);
}

static bool is_in_memory(void *page)
{
    unsigned char in_memory = 0;
    assert_int_equal(mincore(page, 1, &in_memory), 0);
    return in_memory & 1;
}

static void a_sleeping_operation_keeps_only_the_stack_that_it_needs(void **state)
{
    fixture *f = *state;
    tkl_loop *loop = loop_open(f->client, 1);
    deep_sleeper s = {.ms = LOOP_MS};
    ticket t;
    ticket_submit(loop, &t, go_deep_and_sleep, &s);
    eventually(loop_stats(loop).waiting == 1, LOOP_MS);
    eventually(!is_in_memory(s.deepest), LOOP_MS);
    assert_ok(tkl_loop_cancel(loop, t.id));
    assert_code(ticket_await(loop, &t), TKL_EINTR);
    ticket_free(&t);
    tkl_loop_close(loop);
}

/* ---- Cancelling ----------------------------------------------------------- */

typedef struct walk {
    tkl_client *client;
    const wait_way *way;
    ticket ticket;
} walk;

static int wait_that_way(void *arg)
{
    walk *w = arg;
    return w->way->wait(w->client);
}

static walk *start_all_ways(tkl_loop *loop, tkl_client *client, const wait_way *some, size_t count)
{
    walk *walks = calloc(count, sizeof *walks);
    assert_non_null(walks);
    for (size_t i = 0; i < count; i++) {
        walks[i].client = client;
        walks[i].way = &some[i];
        ticket_submit(loop, &walks[i].ticket, wait_that_way, &walks[i]);
    }
    return walks;
}

static void end_all_ways(tkl_loop *loop, walk *walks, size_t count, bool may_fail)
{
    for (size_t i = 0; i < count; i++) {
        int code = ticket_await(loop, &walks[i].ticket);
        if (code != TKL_EINTR && !(may_fail && tkl_is_transient(code)))
            fail_msg("%s: %s", walks[i].way->name, tkl_codename(code));
        ticket_free(&walks[i].ticket);
    }
    free(walks);
}

static void every_wait_can_be_cancelled(void **state)
{
    fixture *f = *state;
    tkl_loop *loop = loop_open(f->client, 0);
    for (int round = 0; round < 2; round++) {
        walk *walks = start_all_ways(loop, f->client, ways, way_count);
        test_sleep_ms(700);
        eventually(loop_stats(loop).waiting == (int64_t)way_count, SOON_MS);
        loop_turn(loop, 0);
        int64_t start = test_now_ms();
        for (size_t i = 0; i < way_count; i++) {
            assert_int_equal(walks[i].ticket.ended, 0);
            assert_ok(tkl_loop_cancel(loop, walks[i].ticket.id));
        }
        end_all_ways(loop, walks, way_count, false);
        assert_true(test_now_ms() - start < SOON_MS);
    }
    tkl_loop_close(loop);
}

/* Sanitizers need larger stacks. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SMALLEST_STACK (64 << 10)
#else
#define SMALLEST_STACK (1 << 20)
#endif

static void the_smallest_stack_is_enough_for_every_wait(void **state)
{
    fixture *f = *state;
    tkl_loop *loop;
    tkl_loop_options options = {.stack_bytes = SMALLEST_STACK, .timeout_ms = LOOP_MS};
    assert_ok(tkl_loop_open(f->client, &options, &loop));
    walk *walks = start_all_ways(loop, f->client, ways, way_count);
    eventually(loop_stats(loop).waiting == (int64_t)way_count, SOON_MS);
    for (size_t i = 0; i < way_count; i++)
        assert_ok(tkl_loop_cancel(loop, walks[i].ticket.id));
    end_all_ways(loop, walks, way_count, false);
    tkl_loop_close(loop);
}

static void an_interrupt_of_the_client_ends_all_waits(void **state)
{
    fixture *f = *state;
    tkl_loop *loop = loop_open(f->client, 0);
    walk *walks = start_all_ways(loop, f->client, ways, way_count);
    eventually(loop_stats(loop).waiting == (int64_t)way_count, SOON_MS);
    tkl_interrupt(f->client);
    end_all_ways(loop, walks, way_count, false);
    tkl_resume(f->client);
    tkl_loop_close(loop);
}

static void a_server_that_hangs_keeps_no_wait_from_ending(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 1000});
    tkl_loop *loop = loop_open(client, 0);
    walk *walks = start_all_ways(loop, client, ways, way_count);
    eventually(loop_stats(loop).waiting == (int64_t)way_count, SOON_MS);
    server_freeze(s);
    int64_t start = test_now_ms();
    for (size_t i = 0; i < way_count; i++)
        (void)tkl_loop_cancel(loop, walks[i].ticket.id);
    end_all_ways(loop, walks, way_count, true);
    int64_t took = test_now_ms() - start;
    server_thaw(s);
    assert_true(took < SOON_MS);
    tkl_loop_close(loop);
    tkl_close(client);
    server_end(s);
}

/* The time-out is far longer than "at once". */
static void a_first_request_that_is_not_answered_can_be_cancelled(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = LONG_MS});
    call_expect(client, "PONG", "PING", NULL);
    server_freeze(s);
    tkl_loop *loop = loop_open(client, 0);
    walk *walks = start_all_ways(loop, client, first_ways, first_way_count);
    eventually(loop_stats(loop).queued == 0, SOON_MS);
    test_sleep_ms(300);
    int64_t start = test_now_ms();
    for (size_t i = 0; i < first_way_count; i++)
        assert_ok(tkl_loop_cancel(loop, walks[i].ticket.id));
    end_all_ways(loop, walks, first_way_count, true);
    int64_t took = test_now_ms() - start;
    server_thaw(s);
    assert_true(took < SOON_MS);
    tkl_loop_close(loop);
    tkl_close(client);
    server_end(s);
}

static int must_not_run(void *arg)
{
    bool *ran = arg;
    *ran = true;
    return TKL_OK;
}

/* One operation keeps the only connection busy, so that others do not begin. */
static void what_has_not_begun_does_not_begin(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 3000, .pool_size = 1});
    call_expect(client, "PONG", "PING", NULL);
    tkl_loop *loop;
    assert_ok(tkl_loop_open(client, &(tkl_loop_options){.threads = 1, .timeout_ms = 1000}, &loop));
    bool ran = false;
    ticket busy, cancelled, late;
    server_freeze(s);
    ticket_submit(loop, &busy, set_text, client);
    eventually(loop_stats(loop).running == 1, SOON_MS);
    ticket_submit(loop, &cancelled, must_not_run, &ran);
    ticket_submit(loop, &late, must_not_run, &ran);
    assert_int_equal(loop_stats(loop).queued, 2);
    assert_ok(tkl_loop_cancel(loop, cancelled.id));
    assert_code(tkl_loop_cancel(loop, cancelled.id), TKL_NOTFOUND);
    assert_code(ticket_await(loop, &cancelled), TKL_EINTR);
    assert_string_equal(cancelled.text, "interrupted");
    assert_int_equal(busy.ended, 0);
    assert_code(ticket_await(loop, &late), TKL_ENOTSENT);
    assert_contains(late.text, "did not begin in time");
    assert_code(ticket_await(loop, &busy), TKL_ETIMEOUT);
    assert_false(ran);
    server_thaw(s);
    ticket_free(&busy);
    ticket_free(&cancelled);
    ticket_free(&late);
    tkl_loop_close(loop);
    tkl_close(client);
    server_end(s);
}

static void an_operation_that_has_ended_is_not_found(void **state)
{
    fixture *f = *state;
    ticket t, other;
    tkl_loop *loop = loop_open(f->client, 0);
    ticket_submit(loop, &t, do_nothing, NULL);
    eventually(loop_stats(loop).ended == 1, SOON_MS);
    assert_code(tkl_loop_cancel(loop, t.id), TKL_NOTFOUND);
    assert_ok(ticket_await(loop, &t));
    ticket_submit(loop, &other, do_nothing, NULL); /* in the same place of the table */
    assert_true(other.id != t.id);
    assert_code(tkl_loop_cancel(loop, t.id), TKL_NOTFOUND);
    assert_code(tkl_loop_cancel(loop, 0), TKL_NOTFOUND);
    assert_code(tkl_loop_cancel(loop, UINT64_MAX), TKL_NOTFOUND);
    assert_ok(ticket_await(loop, &other));
    ticket_free(&t);
    ticket_free(&other);
    tkl_loop_close(loop);
}

/* ---- At the hand-over: what was given is kept or goes back, never lost ---- */

enum { HAND_OVERS = 60 };

/* A pause of up to 400 us: the release and its message take about as long. */
static void pause_a_little(int round)
{
    usleep((unsigned)(round * 37 % 40) * 10);
}

static int acquire_lock(void *arg)
{
    return tkl_lock_acquire(arg, LONG_MS);
}

static void a_lock_that_arrives_with_the_cancel_is_not_lost(void **state)
{
    fixture *f = *state;
    tkl_lock *holder, *waiter;
    tkl_loop *loop = loop_open(f->client, 0);
    tkl_client *other = test_open(f->server->url, NULL);
    assert_ok(tkl_lock_open(other, tkl_str("door"), NULL, &holder));
    assert_ok(tkl_lock_open(f->client, tkl_str("door"), NULL, &waiter));
    for (int i = 0; i < HAND_OVERS; i++) {
        ticket t;
        assert_ok(tkl_lock_acquire(holder, SOON_MS));
        ticket_submit(loop, &t, acquire_lock, waiter);
        eventually(loop_stats(loop).waiting == 1, SOON_MS);
        assert_ok(tkl_lock_release(holder));
        pause_a_little(i);
        (void)tkl_loop_cancel(loop, t.id);
        int code = ticket_await(loop, &t);
        ticket_free(&t);
        if (code != TKL_EINTR)
            assert_ok(code);
        assert_code(tkl_lock_acquire(holder, 0), code == TKL_OK ? TKL_BUSY : TKL_OK);
        if (code == TKL_OK)
            assert_ok(tkl_lock_release(waiter));
        else
            assert_ok(tkl_lock_release(holder));
    }
    tkl_loop_close(loop);
    tkl_lock_close(waiter);
    tkl_lock_close(holder);
    tkl_close(other);
}

typedef struct claim {
    tkl_consumer *consumer;
    tkl_jobs *jobs;
} claim;

static int claim_job(void *arg)
{
    claim *c = arg;
    return tkl_consumer_claim(c->consumer, 1, LONG_MS, &c->jobs);
}

static void a_job_that_arrives_with_the_cancel_is_not_lost(void **state)
{
    fixture *f = *state;
    tkl_queue *queue;
    claim c = {0};
    tkl_loop *loop = loop_open(f->client, 0);
    assert_ok(tkl_queue_open(f->client, tkl_str("jobs"), NULL, &queue));
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &c.consumer));
    for (int i = 0; i < HAND_OVERS; i++) {
        ticket t;
        tkl_push job = {.payload = tkl_str("x")};
        ticket_submit(loop, &t, claim_job, &c);
        eventually(loop_stats(loop).waiting == 1, SOON_MS);
        assert_ok(tkl_queue_push(queue, &job, 1, NULL, NULL));
        pause_a_little(i);
        (void)tkl_loop_cancel(loop, t.id);
        int code = ticket_await(loop, &t);
        ticket_free(&t);
        if (code != TKL_OK) {
            assert_code(code, TKL_EINTR);
            assert_null(c.jobs);
            assert_ok(tkl_consumer_claim(c.consumer, 1, SOON_MS, &c.jobs));
        }
        assert_int_equal(c.jobs->count, 1);
        assert_int_equal(c.jobs->items[0].attempt, 1);
        tkl_report report = {.job = &c.jobs->items[0]};
        assert_ok(tkl_consumer_finish(c.consumer, &report, 1));
        tkl_jobs_free(c.jobs);
        c.jobs = NULL;
    }
    tkl_loop_close(loop);
    tkl_consumer_close(c.consumer);
    tkl_queue_close(queue);
}

typedef struct popping {
    tkl_blist *list;
    tkl_blist_items *items;
} popping;

static int pop_item(void *arg)
{
    popping *p = arg;
    return tkl_blist_pop(&p->list, 1, 1, LONG_MS, &p->items);
}

static void an_item_that_arrives_with_the_cancel_is_not_lost(void **state)
{
    fixture *f = *state;
    popping p = {0};
    tkl_loop *loop = loop_open(f->client, 0);
    assert_ok(tkl_blist_open(f->client, tkl_str("items"), NULL, &p.list));
    for (int i = 0; i < HAND_OVERS; i++) {
        ticket t;
        tkl_bytes item = tkl_str("x");
        ticket_submit(loop, &t, pop_item, &p);
        eventually(loop_stats(loop).waiting == 1, SOON_MS);
        assert_ok(tkl_blist_push(p.list, &item, 1, NULL));
        pause_a_little(i);
        (void)tkl_loop_cancel(loop, t.id);
        int code = ticket_await(loop, &t);
        ticket_free(&t);
        if (code != TKL_OK) {
            assert_code(code, TKL_EINTR);
            assert_ok(tkl_blist_pop(&p.list, 1, 1, 0, &p.items));
        }
        assert_int_equal(p.items->count, 1);
        tkl_blist_items_free(p.items);
        p.items = NULL;
    }
    tkl_loop_close(loop);
    tkl_blist_close(p.list);
}

static int check_slice(void *arg)
{
    int rc = TKL_OK;
    for (int i = 0; i < 200 && rc == TKL_OK; i++)
        rc = tkl_limit_slice_check(arg, 5, NULL);
    return rc;
}

/* An operation that refills a slice waits for the server; others of its thread want the same one. */
static void operations_share_a_slice(void **state)
{
    enum { OPERATIONS = 20 };
    fixture *f = *state;
    tkl_limit *limit;
    tkl_limit_slice *slice;
    tkl_limit_rule rule = {
        .algorithm = TKL_LIMIT_BUCKET, .count = 1, .period_ms = 3600000, .burst = 1000000};
    ticket tickets[OPERATIONS];
    tkl_loop *loop = loop_open(f->client, 1);
    assert_ok(tkl_limit_open(f->client, tkl_str("api"), &rule, NULL, &limit));
    assert_ok(tkl_limit_slice_open(limit, tkl_str("hot"), NULL, &slice));
    for (int i = 0; i < OPERATIONS; i++)
        ticket_submit(loop, &tickets[i], check_slice, slice);
    tickets_await(loop, tickets, OPERATIONS);
    for (int i = 0; i < OPERATIONS; i++) {
        assert_ok(tickets[i].code);
        ticket_free(&tickets[i]);
    }
    tkl_limit_slice_close(slice);
    tkl_limit_close(limit);
    tkl_loop_close(loop);
}

/* Both operations use one consumer: the second waits for its turn. */
static void an_operation_that_waits_for_its_turn_can_be_cancelled(void **state)
{
    fixture *f = *state;
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_loop *loop = loop_open(f->client, 1);
    assert_ok(tkl_queue_open(f->client, tkl_str("jobs"), NULL, &queue));
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    claim first = {.consumer = consumer}, second = {.consumer = consumer};
    ticket a, b;
    ticket_submit(loop, &a, claim_job, &first);
    eventually(loop_stats(loop).waiting == 1, SOON_MS);
    ticket_submit(loop, &b, claim_job, &second);
    eventually(loop_stats(loop).waiting == 2, SOON_MS);
    assert_ok(tkl_loop_cancel(loop, b.id));
    assert_code(ticket_await(loop, &b), TKL_EINTR);
    assert_int_equal(a.ended, 0);
    assert_ok(tkl_loop_cancel(loop, a.id));
    assert_code(ticket_await(loop, &a), TKL_EINTR);
    ticket_free(&a);
    ticket_free(&b);
    tkl_loop_close(loop);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

/* ---- Many that end at once ------------------------------------------------ */

typedef struct stander {
    tkl_lock *lock;
    tkl_consumer *consumer; /* NULL: it waits for the lock */
    int64_t wait_ms;
    ticket ticket;
} stander;

static int stand_in_line(void *arg)
{
    stander *s = arg;
    tkl_jobs *jobs = NULL;
    int rc = s->consumer ? tkl_consumer_claim(s->consumer, 1, s->wait_ms, &jobs)
                         : tkl_lock_acquire(s->lock, s->wait_ms);
    tkl_jobs_free(jobs);
    return rc;
}

/* Ends many waits, which all leave their lines through one connection to a slow server: together
 * that takes longer than one of them waits for an answer. */
static void end_many_waits(const fixture *f, int64_t wait_ms)
{
    enum { COUNT = 24 };
    stander all[COUNT];
    tkl_lock *held;
    tkl_queue *queue;
    proxy *far = proxy_start(f->server->socket);
    tkl_client *client =
        test_open(proxy_url(far), &(tkl_options){.pool_size = 1, .timeout_ms = SOON_MS});
    tkl_loop *loop = loop_open(client, 0);
    assert_ok(tkl_lock_open(f->client, tkl_str("x"), NULL, &held));
    assert_ok(tkl_lock_acquire(held, 0));
    assert_ok(tkl_queue_open(client, tkl_str("jobs"), NULL, &queue));
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = (stander){.wait_ms = wait_ms};
        assert_ok(tkl_lock_open(client, tkl_str("x"), NULL, &all[i].lock));
        if (i % 2 == 0)
            assert_ok(tkl_consumer_open(&queue, 1, NULL, &all[i].consumer));
        ticket_submit(loop, &all[i].ticket, stand_in_line, &all[i]);
    }
    eventually(loop_stats(loop).waiting == COUNT || loop_stats(loop).ended > 0, SOON_MS);
    proxy_delay(far, TO_CLIENT, 100);
    for (size_t i = 0; wait_ms < 0 && i < COUNT; i++)
        assert_ok(tkl_loop_cancel(loop, all[i].ticket.id));
    for (size_t i = 0; i < COUNT; i++) {
        int at_the_end = all[i].consumer ? TKL_EMPTY : TKL_BUSY;
        assert_code(ticket_await(loop, &all[i].ticket), wait_ms < 0 ? TKL_EINTR : at_the_end);
    }
    proxy_delay(far, TO_CLIENT, 0);
    tkl_holders *holders;
    tkl_queue_stats stats;
    assert_ok(tkl_lock_show(held, &holders));
    assert_ok(tkl_queue_stats_get(queue, &stats));
    assert_int_equal(holders->waiters, 0);
    assert_int_equal(stats.waiters, 0);
    tkl_holders_free(holders);
    for (size_t i = 0; i < COUNT; i++) {
        ticket_free(&all[i].ticket);
        tkl_consumer_close(all[i].consumer);
        tkl_lock_close(all[i].lock);
    }
    tkl_loop_close(loop);
    tkl_queue_close(queue);
    tkl_lock_close(held);
    tkl_close(client);
    proxy_end(far);
}

static void many_that_are_cancelled_leave_their_lines(void **state)
{
    end_many_waits(*state, TKL_NONE);
}

static void many_whose_time_is_up_leave_their_lines(void **state)
{
    end_many_waits(*state, 2000);
}

/* ---- Servers that fail ---------------------------------------------------- */

typedef struct letter {
    tkl_mail *mail;
    int64_t wait_ms;
    ticket ticket;
} letter;

static int fetch_letter(void *arg)
{
    letter *l = arg;
    tkl_messages *messages;
    int rc = tkl_mail_fetch(l->mail, 1, l->wait_ms, &messages);
    tkl_messages_free(messages);
    return rc;
}

static letter *start_letters(tkl_loop *loop, tkl_client *client, size_t count, int64_t wait_ms)
{
    letter *letters = calloc(count, sizeof *letters);
    assert_non_null(letters);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "user%zu", i);
        letters[i].wait_ms = wait_ms;
        assert_ok(tkl_mail_open(client, tkl_str(name), NULL, &letters[i].mail));
        ticket_submit(loop, &letters[i].ticket, fetch_letter, &letters[i]);
    }
    return letters;
}

static void send_letters(const letter *letters, size_t count)
{
    tkl_letter hello = {.body = tkl_str("hello")};
    for (size_t i = 0; i < count; i++)
        assert_ok(tkl_mail_send(letters[i].mail, tkl_str("bob"), &hello, 1, NULL));
}

static void end_letters(letter *letters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ticket_free(&letters[i].ticket);
        tkl_mail_close(letters[i].mail);
    }
    free(letters);
}

static void waits_go_on_when_the_server_restarts(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_loop *loop = loop_open(client, 0);
    letter *letters = start_letters(loop, client, COUNT, LONG_MS);
    eventually(loop_stats(loop).waiting == COUNT, SOON_MS);
    server_kill(s);
    test_sleep_ms(200);
    server_restart(s);
    send_letters(letters, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_ok(ticket_await(loop, &letters[i].ticket));
    end_letters(letters, COUNT);
    tkl_loop_close(loop);
    tkl_close(client);
    server_end(s);
}

/* Each wait asks the server when its time is up, and gets no answer; all do so at the same time. */
static void waits_at_a_server_that_hangs_end_together(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 2000});
    tkl_loop *loop = loop_open(client, 0);
    letter *letters = start_letters(loop, client, COUNT, 3000);
    eventually(loop_stats(loop).waiting == COUNT, SOON_MS);
    server_freeze(s);
    int64_t start = test_now_ms();
    for (size_t i = 0; i < COUNT; i++) {
        int code = ticket_await(loop, &letters[i].ticket);
        assert_true(code == TKL_EMPTY || tkl_is_transient(code));
    }
    assert_true(test_now_ms() - start < SOON_MS);
    server_thaw(s);
    end_letters(letters, COUNT);
    tkl_loop_close(loop);
    tkl_close(client);
    server_end(s);
}

static void plain_calls_at_a_server_that_hangs_end_together(void **state)
{
    (void)state;
    enum { COUNT = 16 };
    ticket tickets[COUNT];
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 2000});
    call_expect(client, "PONG", "PING", NULL);
    tkl_loop *loop = loop_open(client, 1);
    server_freeze(s);
    int64_t start = test_now_ms();
    for (size_t i = 0; i < COUNT; i++)
        ticket_submit(loop, &tickets[i], set_text, client);
    for (size_t i = 0; i < COUNT; i++) {
        int code = ticket_await(loop, &tickets[i]);
        assert_true(code == TKL_ETIMEOUT || code == TKL_ENOTSENT);
        ticket_free(&tickets[i]);
    }
    assert_true(test_now_ms() - start < COUNT * 2000 / 2);
    server_thaw(s);
    tkl_loop_close(loop);
    tkl_close(client);
    server_end(s);
}

/* ---- The end -------------------------------------------------------------- */

static void closing_cancels_what_is_open(void **state)
{
    fixture *f = *state;
    enum { COUNT = 50 };
    tkl_loop *loop = loop_open(f->client, 0);
    letter *letters = start_letters(loop, f->client, COUNT, LONG_MS);
    eventually(loop_stats(loop).waiting == COUNT, SOON_MS);
    ticket before;
    ticket_submit(loop, &before, set_text, f->client);
    eventually(loop_stats(loop).ended == 1, SOON_MS);
    tkl_loop_close(loop);
    assert_int_equal(before.ended, 1);
    assert_ok(before.code);
    ticket_free(&before);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(letters[i].ticket.ended, 1);
        assert_code(letters[i].ticket.code, TKL_EINTR);
    }
    end_letters(letters, COUNT);
    tkl_loop_close(NULL);
}

static void submit_too_late(void *arg, int code, const char *text)
{
    (void)text;
    assert_code(code, TKL_EINTR);
    assert_code(tkl_loop_submit(arg, do_nothing, NULL, NULL, NULL), TKL_EINTR);
}

static tkl_client *client_of_loop;

static int wait_for_mail_of_loop(void *arg)
{
    (void)arg;
    letter l = {.wait_ms = LONG_MS};
    int rc = tkl_mail_open(client_of_loop, tkl_str("ann"), NULL, &l.mail);
    rc = rc == TKL_OK ? fetch_letter(&l) : rc;
    tkl_mail_close(l.mail);
    return rc;
}

static void nothing_is_submitted_to_a_loop_that_closes(void **state)
{
    fixture *f = *state;
    client_of_loop = f->client;
    tkl_loop *loop = loop_open(f->client, 0);
    assert_ok(tkl_loop_submit(loop, wait_for_mail_of_loop, submit_too_late, loop, NULL));
    eventually(loop_stats(loop).waiting == 1, SOON_MS);
    tkl_loop_close(loop);
}

/* ---- fork ----------------------------------------------------------------- */

static int use_in_child(tkl_loop *loop)
{
    tkl_loop_stats stats;
    if (tkl_loop_submit(loop, do_nothing, NULL, NULL, NULL) != TKL_EINVAL)
        return 1;
    if (tkl_loop_dispatch(loop) != TKL_EINVAL || tkl_loop_cancel(loop, 1) != TKL_EINVAL)
        return 2;
    if (tkl_loop_stats_get(loop, &stats) != TKL_EINVAL || tkl_loop_timeout_ms(loop) != -1)
        return 3;
    tkl_loop_close(loop);
    return 0;
}

static void a_child_may_only_close_the_loop(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    enum { COUNT = 20 };
    tkl_loop *loop = loop_open(f->client, 0);
    letter *letters = start_letters(loop, f->client, COUNT, LONG_MS);
    eventually(loop_stats(loop).waiting == COUNT, SOON_MS);
    pid_t child = fork();
    if (child == 0) {
        int code = use_in_child(loop);
        tkl_loop *own; /* it may have one of its own, with the same client */
        if (code == 0 && tkl_loop_open(f->client, NULL, &own) != TKL_OK)
            code = 4;
        if (code == 0) {
            code = loop_run(own, set_text, f->client) == TKL_OK ? 0 : 5;
            tkl_loop_close(own);
        }
        _exit(code);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    send_letters(letters, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_ok(ticket_await(loop, &letters[i].ticket));
    end_letters(letters, COUNT);
    tkl_loop_close(loop);
}

static int fork_and_call(void *arg)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(set_text(arg) == TKL_OK && fetch_no_mail(arg) == TKL_EMPTY ? 0 : 1);
    return waitpid(child, &status, 0) == child && status == 0 ? set_text(arg) : TKL_EBUG;
}

static void a_child_of_an_operation_makes_calls_of_its_own(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    tkl_loop *loop = loop_open(f->client, 1);
    assert_ok(loop_run(loop, fork_and_call, f->client));
    assert_ok(loop_run(loop, set_text, f->client));
    tkl_loop_close(loop);
}

/* ---- Options -------------------------------------------------------------- */

static void wrong_options_are_refused(void **state)
{
    fixture *f = *state;
    static const tkl_loop_options wrong[] = {
        {.threads = -1},     {.threads = 65},    {.stack_bytes = 1000},   {.stack_bytes = 1 << 30},
        {.stack_bytes = -1}, {.timeout_ms = -2}, {.reserved = {[3] = 1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tkl_loop *loop = (tkl_loop *)&f;
        assert_code(tkl_loop_open(f->client, &wrong[i], &loop), TKL_EINVAL);
        assert_null(loop);
    }
}

static int use_stack(void *arg)
{
    volatile char room[200 << 10];
    (void)arg;
    for (size_t i = 0; i < sizeof room; i += 1024)
        room[i] = (char)i;
    return room[1024] == 0 && room[0] == 0 ? TKL_OK : TKL_EBUG;
}

static void operations_have_the_stack_that_they_are_promised(void **state)
{
    fixture *f = *state;
    tkl_loop *loop;
    assert_ok(tkl_loop_open(f->client, &(tkl_loop_options){.stack_bytes = 300 << 10}, &loop));
    assert_ok(loop_run(loop, use_stack, NULL));
    tkl_loop_close(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_and_texts_are_those_of_blocking_calls),
        TEST(operations_do_not_see_each_others_texts),
        TEST(callbacks_run_only_in_dispatch),
        TEST(callbacks_may_submit),
        TEST(operations_may_submit),
        TEST(many_threads_submit_to_one_loop),
        TEST(operations_sleep_beside_each_other),
        TEST(operations_sleep_until_they_are_woken),
        TEST(a_sleep_ends_by_itself),
        TEST(a_sleeping_operation_keeps_only_the_stack_that_it_needs),
        TEST(every_wait_can_be_cancelled),
        TEST(the_smallest_stack_is_enough_for_every_wait),
        TEST(an_interrupt_of_the_client_ends_all_waits),
        cmocka_unit_test(a_server_that_hangs_keeps_no_wait_from_ending),
        cmocka_unit_test(a_first_request_that_is_not_answered_can_be_cancelled),
        cmocka_unit_test(what_has_not_begun_does_not_begin),
        TEST(an_operation_that_has_ended_is_not_found),
        TEST(a_lock_that_arrives_with_the_cancel_is_not_lost),
        TEST(a_job_that_arrives_with_the_cancel_is_not_lost),
        TEST(an_item_that_arrives_with_the_cancel_is_not_lost),
        TEST(operations_share_a_slice),
        TEST(an_operation_that_waits_for_its_turn_can_be_cancelled),
        TEST(many_that_are_cancelled_leave_their_lines),
        TEST(many_whose_time_is_up_leave_their_lines),
        cmocka_unit_test(waits_go_on_when_the_server_restarts),
        cmocka_unit_test(waits_at_a_server_that_hangs_end_together),
        cmocka_unit_test(plain_calls_at_a_server_that_hangs_end_together),
        TEST(closing_cancels_what_is_open),
        TEST(nothing_is_submitted_to_a_loop_that_closes),
        TEST(a_child_may_only_close_the_loop),
        TEST(a_child_of_an_operation_makes_calls_of_its_own),
        TEST(wrong_options_are_refused),
        TEST(operations_have_the_stack_that_they_are_promised),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
