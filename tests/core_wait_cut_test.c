/* SPDX-License-Identifier: MIT
 *
 * Waiting when the connection ends, and the heartbeat that finds servers that hang.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/listeners.h"
#include "support/proxy.h"

/* ---- Ends of the connection ---------------------------------------------- */

static void a_cut_is_told_to_all(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    hall h = {.client = test_open(proxy_url(p), NULL), .patience_ms = 20000};
    crew *threads = crew_start(10, count_events, &h);
    eventually(atomic_load(&h.listening) == 10, 20000);
    proxy_cut(p);
    crew_join(threads);
    assert_int_equal(atomic_load(&h.cut) + atomic_load(&h.looked), 10);
    assert_true(atomic_load(&h.cut) >= 9); /* one may have looked before */
    tkl_close(h.client);
    proxy_end(p);
}

static void after_a_cut_listening_works_again(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    for (int i = 0; i < 3; i++) {
        server_do(f->server, "CLIENT KILL TYPE pubsub");
        tkl_bytes message;
        assert_event(tkl__await(&waiter, ms_from_now(20000), &message), TKL__CUT);
        tkl__unlisten(&waiter);
        listen_to(f->client, "channel", "", &waiter);
        server_do(f->server, "SPUBLISH channel hello-again");
        assert_hears(&waiter, "hello-again");
    }
    tkl__unlisten(&waiter);
}

static void a_restart_is_a_cut(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl__waiter waiter;
    listen_to(client, "channel", "", &waiter);
    server_restart(s);
    tkl_bytes message;
    assert_event(tkl__await(&waiter, ms_from_now(20000), &message), TKL__CUT);
    tkl__unlisten(&waiter);
    listen_to(client, "channel", "", &waiter);
    server_do(s, "SPUBLISH channel hello-again");
    assert_hears(&waiter, "hello-again");
    tkl__unlisten(&waiter);
    tkl_close(client);
    server_end(s);
}

static void a_frozen_server_does_not_hold_up_listening(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    server_freeze(f->server);
    int64_t start = test_now_ms();
    int code = tkl__listen(f->client, tkl_str("channel"), tkl_str(""), ms_from_now(200), &waiter);
    int64_t took = test_now_ms() - start;
    server_thaw(f->server);
    assert_true(code == TKL_ENOTSENT || code == TKL_ETIMEOUT);
    assert_in_range(took, 190, 10000);
    tkl__unlisten(&waiter);
    listen_to(f->client, "channel", "", &waiter);
    server_do(f->server, "SPUBLISH channel hello");
    assert_hears(&waiter, "hello");
    tkl__unlisten(&waiter);
}

/* ---- The heartbeat ------------------------------------------------------- */

static void a_server_that_hangs_is_a_cut(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 50000;
    hall h = {.client = f->client, .patience_ms = 20000};
    crew *threads = crew_start(5, count_events, &h);
    eventually(atomic_load(&h.listening) == 5, 20000);
    server_freeze(f->server);
    crew_join(threads);
    server_thaw(f->server);
    assert_true(atomic_load(&h.cut) >= 4); /* one may have looked before */
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    server_do(f->server, "SPUBLISH channel hello");
    assert_hears(&waiter, "hello");
    tkl__unlisten(&waiter);
}

static void a_server_that_hangs_is_a_cut_at_several_places_too(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 50000;
    tkl__waiter waiters[2], *places[] = {&waiters[0], &waiters[1]};
    tkl_bytes message;
    size_t which;
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listen_to(f->client, "here", "", &waiters[0]);
    listen_to(f->client, "there", "", &waiters[1]);
    server_freeze(f->server);
    tkl__event event =
        tkl__await_any(f->client, places, 2, bell, ms_from_now(20000), &which, &message);
    server_thaw(f->server);
    assert_event(event, TKL__CUT);
    tkl__unlisten(&waiters[0]);
    tkl__unlisten(&waiters[1]);
    close(bell);
}

/* A server gets one PING for all of its waiters. */
static void the_heart_beats_once_for_all_waiters(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 500000;
    hall h = {.client = f->client, .patience_ms = 1700};
    int64_t before = server_calls(f->server, "ping");
    crew_run(10, count_events, &h);
    int64_t pings = server_calls(f->server, "ping") - before;
    assert_in_range(pings, 1, 8);
    assert_int_equal(atomic_load(&h.cut), 0);
    test_sleep_ms(600); /* nobody waits: nobody asks */
    assert_int_equal(server_calls(f->server, "ping") - before, pings);
}

static void messages_save_the_heartbeat(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 200000;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    int64_t before = server_calls(f->server, "ping"), start = test_now_ms();
    bool on_time = true;
    for (int i = 0; i < 10; i++) {
        test_sleep_ms(40);
        server_do(f->server, "SPUBLISH channel hello");
        assert_hears(&waiter, "hello");
        on_time &= test_now_ms() - start < 150;
        start = test_now_ms();
    }
    if (on_time) /* a busy machine may be late */
        assert_int_equal(server_calls(f->server, "ping"), before);
    tkl__unlisten(&waiter);
}

static void a_user_who_may_not_ping_is_not_cut(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"user ali on >pw ~* &* +@all -ping", NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "ali", .password = "pw"});
    client->heartbeat_us = 500000;
    tkl__waiter waiter, other;
    listen_to(client, "channel", "", &waiter);
    assert_hears_nothing(&waiter, 1200);
    listen_to(client, "another", "", &other); /* its answer is not taken for another's */
    server_do(s, "SPUBLISH channel hello");
    assert_hears(&waiter, "hello");
    tkl__unlisten(&waiter);
    tkl__unlisten(&other);
    tkl_close(client);
    server_end(s);
}

static void a_forked_child_listens_for_itself(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    pid_t child = fork();
    if (child == 0) {
        tkl__waiter own;
        tkl_bytes message;
        bool heard = tkl__listen(f->client, tkl_str("for-child"), tkl_str(""), ms_from_now(20000),
                                 &own) == TKL_OK &&
                     tkl__await(&own, ms_from_now(20000), &message) == TKL__MESSAGE &&
                     message.len == 5;
        _exit(heard ? 0 : 1);
    }
    int status = -1; /* a message published before tkl__listen() has returned may be missed */
    eventually((server_do(f->server, "SPUBLISH for-child hello"),
                waitpid(child, &status, WNOHANG) == child),
               30000);
    assert_int_equal(status, 0);
    server_do(f->server, "SPUBLISH channel parent");
    assert_hears(&waiter, "parent");
    tkl__unlisten(&waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cut_is_told_to_all),
        TEST(after_a_cut_listening_works_again),
        TEST(a_restart_is_a_cut),
        TEST(a_frozen_server_does_not_hold_up_listening),
        TEST(a_server_that_hangs_is_a_cut),
        TEST(a_server_that_hangs_is_a_cut_at_several_places_too),
        TEST(the_heart_beats_once_for_all_waiters),
        TEST(messages_save_the_heartbeat),
        TEST(a_user_who_may_not_ping_is_not_cut),
        TEST(a_forked_child_listens_for_itself),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
