/* SPDX-License-Identifier: MIT
 *
 * tkl_interrupt() ends every wait of a client at once, and none before or after.
 *
 * ctest: label threads
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/block.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/follow.h"
#include "core/interrupt.h"
#include "core/resp.h"
#include "core/waiter.h"
#include "support/fixture.h"
#include "support/process.h"

/* Longer than any test takes. */
#define LONG_MS 60000
/* "At once", also on a busy machine. */
#define SOON_MS 10000

static int64_t in(int64_t ms)
{
    return tkl__deadline_ms(ms);
}

/* ---- Ways to wait -------------------------------------------------------- */

static int sleep_for_long(tkl_client *client)
{
    return tkl__sleep(client, in(LONG_MS));
}

static int sleep_for_ever(tkl_client *client)
{
    return tkl__sleep(client, TKL__FOREVER);
}

static int await_message(tkl_client *client)
{
    tkl__waiter waiter;
    tkl_bytes message;
    int rc = tkl__listen(client, tkl_str("channel"), tkl_str(""), in(LONG_MS), &waiter);
    if (rc != TKL_OK)
        return rc;
    tkl__event event = tkl__await(&waiter, in(LONG_MS), &message);
    tkl__unlisten(&waiter);
    return event == TKL__INTERRUPTED ? tkl__interrupted() : TKL_EBUG;
}

static int await_at_two_places(tkl_client *client)
{
    tkl__waiter waiters[2], *places[] = {&waiters[0], &waiters[1]};
    tkl_bytes message;
    size_t which;
    int rc = tkl__listen(client, tkl_str("channel"), tkl_str(""), in(LONG_MS), &waiters[0]);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__listen(client, tkl_str("another"), tkl_str(""), in(LONG_MS), &waiters[1]);
    if (rc == TKL_OK) {
        int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        tkl__event event;
        do
            event = tkl__await_any(client, places, 2, bell, in(LONG_MS), &which, &message);
        while (event == TKL__TIME_UP); /* rung for because it could read now */
        rc = event == TKL__INTERRUPTED ? tkl__interrupted() : TKL_EBUG;
        close(bell);
    }
    tkl__unlisten(&waiters[0]);
    tkl__unlisten(&waiters[1]);
    return rc;
}

static void write_blpop(tkl__buf *wire, int64_t left_us, const void *arg)
{
    (void)left_us;
    (void)arg;
    tkl__buf_addz(wire, "*3\r\n$5\r\nBLPOP\r\n$4\r\nlist\r\n$1\r\n0\r\n");
}

static int block(tkl_client *client)
{
    tkl__blocking command = {.slot = TKL__NO_SLOT, .write = write_blpop};
    tkl_reply *reply;
    int rc = tkl__block(client, &command, TKL__FOREVER, &reply);
    tkl_reply_free(reply);
    return rc;
}

static const struct way {
    const char *name;
    int (*wait)(tkl_client *client);
} ways[] = {
    {"sleep", sleep_for_long},
    {"sleep for ever", sleep_for_ever},
    {"await a message", await_message},
    {"await at two places", await_at_two_places},
    {"block", block},
};

enum { WAYS = sizeof ways / sizeof *ways, EACH = 4 };

/* ---- All of them at once ------------------------------------------------- */

typedef struct hall {
    tkl_client *client;
    atomic_int begun, ended;
} hall;

static void wait_in_hall(void *arg, int index)
{
    hall *h = arg;
    const struct way *way = &ways[index % WAYS];
    atomic_fetch_add(&h->begun, 1);
    int rc = way->wait(h->client);
    if (rc != TKL_EINTR)
        fail_msg("%s: %s", way->name, tkl_codename(rc));
    assert_string_equal(tkl_errmsg(), tkl_strerror(TKL_EINTR));
    atomic_fetch_add(&h->ended, 1);
}

static void begin_to_wait(hall *h, crew **threads)
{
    *threads = crew_start(WAYS * EACH, wait_in_hall, h);
    eventually(atomic_load(&h->begun) == WAYS * EACH, 20000);
    test_sleep_ms(200);
    assert_int_equal(atomic_load(&h->ended), 0);
}

static void every_wait_ends_at_once(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        hall h = {.client = f->client};
        crew *threads;
        begin_to_wait(&h, &threads);
        int64_t start = test_now_ms();
        tkl_interrupt(f->client);
        crew_join(threads);
        assert_in_range(test_now_ms() - start, 0, SOON_MS);
        tkl_resume(f->client);
    }
}

static void no_wait_begins_while_interrupted(void **state)
{
    fixture *f = *state;
    tkl_interrupt(f->client);
    for (int i = 0; i < WAYS; i++)
        assert_code(ways[i].wait(f->client), TKL_EINTR);
    call_expect(f->client, "PONG", "PING", NULL); /* calls go on */
    tkl_resume(f->client);
    assert_ok(tkl__sleep(f->client, in(20)));
}

static void another_client_goes_on_waiting(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    hall h = {.client = other};
    crew *threads;
    begin_to_wait(&h, &threads);
    tkl_interrupt(f->client);
    test_sleep_ms(100);
    assert_int_equal(atomic_load(&h.ended), 0);
    tkl_interrupt(other);
    crew_join(threads);
    tkl_close(other);
}

static void interrupting_and_resuming_race(void *arg, int index)
{
    (void)index;
    for (int i = 0; i < 2000; i++) {
        tkl_interrupt(arg);
        tkl_resume(arg);
    }
}

/* The last call counts: no interruption is lost, and none lasts for ever. */
static void the_last_word_counts(void **state)
{
    fixture *f = *state;
    crew_run(4, interrupting_and_resuming_race, f->client);
    int64_t start = test_now_ms();
    assert_ok(tkl__sleep(f->client, in(50)));
    assert_true(test_now_ms() - start >= 49);
    hall h = {.client = f->client};
    crew *threads;
    begin_to_wait(&h, &threads);
    tkl_interrupt(f->client);
    crew_join(threads);
}

static void listen_in_vain(void *arg, int index)
{
    (void)index;
    assert_code(await_message(arg), TKL_EINTR);
}

static void a_frozen_server_does_not_hold_up_an_interruption(void **state)
{
    fixture *f = *state;
    server_freeze(f->server);
    crew *threads = crew_start(3, listen_in_vain, f->client);
    test_sleep_ms(100);
    int64_t start = test_now_ms();
    tkl_interrupt(f->client);
    crew_join(threads);
    server_thaw(f->server);
    assert_in_range(test_now_ms() - start, 0, SOON_MS);
}

/* ---- Signals and forks --------------------------------------------------- */

static tkl_client *in_handler;

static void on_alarm(int signal)
{
    (void)signal;
    tkl_interrupt(in_handler);
}

static void a_signal_handler_may_interrupt(void **state)
{
    fixture *f = *state;
    in_handler = f->client;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    for (int i = 0; i < WAYS; i++) {
        ualarm(50000, 0);
        assert_code(ways[i].wait(f->client), TKL_EINTR);
        tkl_resume(f->client);
    }
    sigaction(SIGALRM, &before, NULL);
}

static int end_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static void a_child_interrupts_itself_alone(void **state)
{
    fixture *f = *state;
    pid_t child = fork();
    if (child == 0) {
        tkl_interrupt(f->client);
        bool ended = tkl__sleep(f->client, in(LONG_MS)) == TKL_EINTR &&
                     await_message(f->client) == TKL_EINTR;
        tkl_resume(f->client);
        _exit(ended && tkl__sleep(f->client, in(20)) == TKL_OK ? 0 : 1);
    }
    assert_int_equal(end_of(child), 0);
    assert_ok(tkl__sleep(f->client, in(50)));
}

static void a_parent_interrupts_itself_alone(void **state)
{
    fixture *f = *state;
    pid_t child = fork();
    if (child == 0) {
        call_expect(f->client, "PONG", "PING", NULL);
        _exit(tkl__sleep(f->client, in(300)) == TKL_OK ? 0 : 1);
    }
    test_sleep_ms(100);
    tkl_interrupt(f->client);
    assert_int_equal(end_of(child), 0);
    assert_code(tkl__sleep(f->client, in(LONG_MS)), TKL_EINTR);
}

/* ---- Nothing is lost ----------------------------------------------------- */

typedef struct pump {
    tkl_client *client;
    atomic_bool over;
    int popped;
} pump;

static void pop_all(void *arg, int index)
{
    (void)index;
    pump *p = arg;
    tkl__blocking command = {.slot = TKL__NO_SLOT, .write = write_blpop};
    while (!atomic_load(&p->over)) {
        tkl_reply *reply;
        int rc = tkl__block(p->client, &command, TKL__FOREVER, &reply);
        p->popped += rc == TKL_OK;
        tkl_reply_free(reply);
        if (rc != TKL_OK && rc != TKL_EINTR)
            fail_msg("%s", tkl_errmsg());
    }
}

static void an_item_under_way_is_not_lost(void **state)
{
    fixture *f = *state;
    enum { ITEMS = 300 };
    pump p = {.client = f->client};
    crew *thread = crew_start(1, pop_all, &p);
    for (int i = 0; i < ITEMS; i++) {
        server_do(f->server, "RPUSH list %d", i);
        tkl_interrupt(f->client);
        if (i % 3 == 0)
            test_sleep_ms(1);
        tkl_resume(f->client);
    }
    eventually(server_ask_int(f->server, "LLEN list") == 0, 20000);
    atomic_store(&p.over, true);
    tkl_interrupt(f->client);
    crew_join(thread);
    assert_int_equal(p.popped, ITEMS);
}

static void a_user_who_may_not_unblock_is_interrupted_too(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"user ali on >pw ~* &* +@all -client", NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "ali", .password = "pw"});
    hall h = {.client = client};
    crew *threads;
    begin_to_wait(&h, &threads);
    tkl_interrupt(client);
    crew_join(threads);
    tkl_close(client);
    server_end(s);
}

/* ---- Followers ----------------------------------------------------------- */

static int count_load(void *arg, int64_t deadline, int64_t *again)
{
    (void)deadline;
    (void)again;
    atomic_fetch_add((atomic_int *)arg, 1);
    return TKL_OK;
}

static void follower_begin(tkl__follower *follower, tkl_client *client, atomic_int *loads)
{
    *follower = (tkl__follower){
        .client = client, .channel = tkl_str("news"), .load = count_load, .arg = loads};
    tkl__follow_init(follower);
    assert_ok(tkl__follow_lock(follower));
    tkl__follow_unlock(follower);
}

static void a_follower_without_news_sleeps(void **state)
{
    fixture *f = *state;
    atomic_int loads = 0;
    tkl__follower follower;
    long without = process_sleeps_in_a_second();
    follower_begin(&follower, f->client, &loads);
    assert_in_range(process_sleeps_in_a_second(), 1, without + 9);
    assert_int_equal(atomic_load(&loads), 1);
    tkl__follow_close(&follower);
}

static void a_follower_of_an_interrupted_client_loads_once_a_second(void **state)
{
    fixture *f = *state;
    atomic_int loads = 0;
    tkl__follower follower;
    int64_t began = test_now_ms();
    tkl_interrupt(f->client);
    follower_begin(&follower, f->client, &loads);
    test_sleep_ms(1500);
    int most = 1 + (int)((test_now_ms() - began) / 1000);
    assert_in_range(atomic_load(&loads), 1, most);
    tkl_resume(f->client);
    eventually(server_ask_int(f->server, "SPUBLISH news now") == 1, SOON_MS);
    int heard = atomic_load(&loads);
    eventually(server_ask_int(f->server, "SPUBLISH news now") == 1 && atomic_load(&loads) > heard,
               SOON_MS);
    tkl__follow_close(&follower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_wait_ends_at_once),
        TEST(no_wait_begins_while_interrupted),
        TEST(another_client_goes_on_waiting),
        TEST(the_last_word_counts),
        TEST(a_frozen_server_does_not_hold_up_an_interruption),
        TEST(a_signal_handler_may_interrupt),
        TEST(a_child_interrupts_itself_alone),
        TEST(a_parent_interrupts_itself_alone),
        TEST(an_item_under_way_is_not_lost),
        TEST(a_user_who_may_not_unblock_is_interrupted_too),
        TEST(a_follower_without_news_sleeps),
        TEST(a_follower_of_an_interrupted_client_loads_once_a_second),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
