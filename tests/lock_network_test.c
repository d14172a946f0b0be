/* SPDX-License-Identifier: MIT
 *
 * The lock when requests and replies are lost, releases that nobody waits for, replicas.
 *
 * ctest: label threads
 */

#include "support/locks.h"
#include "support/one_lock.h"
#include "support/peer.h"
#include "support/proxy.h"

/* ---- Networks ------------------------------------------------------------ */

static void an_acquire_whose_reply_was_lost_is_recognised(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    int64_t before = server_functions(f->server);
    proxy_cut_after(p, TO_CLIENT, 0);
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_true(server_functions(f->server) >= before + 2);
    assert_int_equal(lock_holders(lock), 1);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    tkl_close(client);
    proxy_end(p);
}

static void a_connection_cut_before_the_request_does_no_harm(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    tkl_lock *lock = open_lock(client, "door", NULL);
    proxy_cut_after(p, TO_SERVER, 20);
    assert_ok(tkl_lock_acquire(lock, 0));
    proxy_cut(p);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    tkl_close(client);
    proxy_end(p);
}

/* The first of two requests has released the lock: that the second finds nothing is no loss. */
static void a_release_whose_reply_was_lost_is_no_false_alarm(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    for (int i = 0; i < 2; i++) { /* the second time the script is known */
        assert_ok(tkl_lock_acquire(lock, 0));
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(tkl_lock_release(lock));
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_FREE);
        assert_int_equal(lock_holders(lock), 0);
    }
    tkl_lock_close(lock);
    tkl_close(client);
    proxy_end(p);
}

static void unknown_outcomes_are_told_and_can_be_repeated(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 1000});
    tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(tkl_lock_acquire(lock, 0)); /* the server knows the scripts now */
    assert_ok(tkl_lock_release(lock));
    proxy_hold(p, TO_CLIENT, true);
    assert_code(tkl_lock_acquire(lock, 0), TKL_ETIMEOUT);
    proxy_hold(p, TO_CLIENT, false);
    assert_int_equal(lock_holders(lock), 1);
    assert_ok(tkl_lock_acquire(lock, 0));
    proxy_hold(p, TO_CLIENT, true);
    assert_code(tkl_lock_release(lock), TKL_ETIMEOUT);
    proxy_hold(p, TO_CLIENT, false);
    assert_ok(tkl_lock_release(lock)); /* was released, and not by anybody else */

    proxy_hold(p, TO_CLIENT, true);
    assert_code(tkl_lock_acquire(lock, 0), TKL_ETIMEOUT);
    proxy_hold(p, TO_CLIENT, false);
    assert_ok(tkl_lock_release(lock)); /* gives back what it may have */
    assert_int_equal(lock_holders(lock), 0);
    tkl_lock_close(lock);
    tkl_close(client);
    proxy_end(p);
}

/* Repeated, it would hit the next holder. */
static void breaking_is_not_repeated_unseen(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_lock *boss = open_lock(client, "door", NULL);
    assert_code(tkl_lock_break(boss), TKL_NOTFOUND); /* the server knows the script now */
    tkl_lock *holder = held_door(f);
    pending next = {.lock = open_door(f, &(tkl_lock_options){.lease_ms = 600000}), .wait_ms = -1};
    pending_start(&next);
    eventually(lock_waiters(holder) == 1, LONG_MS);
    proxy_cut_after(p, TO_CLIENT, 0);
    assert_code(tkl_lock_break(boss), TKL_EUNKNOWN);
    assert_ok(pending_join(&next));
    assert_ok(tkl_lock_renew(next.lock, 0));
    assert_code(tkl_lock_release(holder), TKL_NOTOWNER);
    tkl_lock_close(next.lock);
    tkl_lock_close(boss);
    tkl_lock_close(holder);
    tkl_close(client);
    proxy_end(p);
}

/* ---- Release without waiting --------------------------------------------- */

static void released_without_waiting_is_free_for_the_next(void **state)
{
    fixture *f = *state;
    tkl_lock *one = open_door(f, &(tkl_lock_options){.lease_ms = 600000});
    tkl_lock *two = open_door(f, &(tkl_lock_options){.lease_ms = 600000});
    for (int i = 0; i < 50; i++) {
        assert_ok(tkl_lock_acquire(one, 0));
        assert_ok(tkl_lock_release_nowait(one));
        assert_int_equal(tkl_lock_state(one), TKL_HOLD_FREE);
        assert_ok(tkl_lock_acquire(two, 0));
        char *token = test_format("t%d", i);
        call_expect(f->client, token, "ECHO", token, NULL);
        free(token);
        assert_ok(tkl_lock_release_nowait(two));
    }
    tkl_lock_close(one);
    tkl_lock_close(two);
}

/* The server refused the release and no caller waited for the answer: the lock ends with its
 * lease. */
static void released_without_waiting_after_a_script_flush(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_door(f, &(tkl_lock_options){.lease_ms = 3000});
    for (int i = 0; i < 3; i++) {
        assert_ok(tkl_lock_acquire(lock, 0));
        assert_ok(tkl_lock_release_nowait(lock));
    }
    assert_ok(tkl_lock_acquire(lock, 0));
    server_do(f->server, "FUNCTION FLUSH SYNC");
    assert_ok(tkl_lock_release_nowait(lock));
    assert_ok(tkl_lock_acquire(lock, LONG_MS));
    call_expect(f->client, "PONG", "PING", NULL);
    assert_ok(tkl_lock_release_nowait(lock));
    assert_ok(tkl_lock_acquire(lock, 0));
    tkl_lock_close(lock);
}

/* A repeated request reaches no server, but the first one may have been executed. */
static void a_lost_reply_is_not_called_unsent(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 500});
    tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_lock_release(lock));
    proxy_refuse(p, true);
    proxy_cut_after(p, TO_CLIENT, 0);
    assert_code(tkl_lock_acquire(lock, 0), TKL_EUNKNOWN);
    proxy_refuse(p, false);
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_int_equal(lock_holders(lock), 1);
    tkl_lock_close(lock);
    tkl_close(client);
    proxy_end(p);
}

/* The next call on that connection reads the refusal, and the release is made again. */
static void a_release_that_was_refused_unseen_is_made_again(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.pool_size = 1});
    tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    for (int i = 0; i < 3; i++) {
        assert_ok(tkl_lock_acquire(lock, 0));
        assert_ok(tkl_lock_release_nowait(lock));
    }
    assert_ok(tkl_lock_acquire(lock, 0));
    server_do(f->server, "FUNCTION FLUSH SYNC");
    assert_ok(tkl_lock_release_nowait(lock));
    call_expect(client, "PONG", "PING", NULL);
    tkl_lock *probe = open_lock(f->client, "door", NULL);
    assert_int_equal(lock_holders(probe), 0);
    tkl_lock_close(probe);
    tkl_lock_close(lock);
    tkl_close(client);
}

/* The server lost its functions before the release, so that release and acquire were both refused
 * at first. The release goes first. */
static void a_handle_is_not_blocked_by_its_own_refused_release(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 600000});
    for (int i = 0; i < 10; i++) {
        assert_ok(tkl_lock_acquire(lock, 0));
        assert_ok(tkl_lock_release_nowait(lock));
        assert_ok(tkl_lock_acquire(lock, 0));
        server_do(f->server, "FUNCTION FLUSH SYNC");
        assert_ok(tkl_lock_release_nowait(lock));
        if (i % 2 == 1)
            test_sleep_ms(5); /* the refusal has arrived already */
        assert_ok(tkl_lock_acquire(lock, 0));
        assert_ok(tkl_lock_release(lock));
    }
    tkl_lock_close(lock);
    tkl_close(client);
}

static void released_without_waiting_wakes_the_next(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    assert_ok(tkl_lock_release_nowait(holder));
    assert_ok(tkl_lock_acquire(holder, 0));
    pending p = {.lock = open_door(f, NULL), .wait_ms = -1};
    pending_start(&p);
    eventually(lock_waiters(holder) == 1, LONG_MS);
    assert_ok(tkl_lock_release_nowait(holder));
    assert_ok(pending_join(&p));
    tkl_lock_close(p.lock);
    tkl_lock_close(holder);
}

/* ---- Replicas ------------------------------------------------------------ */

static void an_acquisition_counts_once_replicas_have_it(void **state)
{
    (void)state;
    server *master = server_start(&(server_options){.tcp = true});
    tkl_client *client = test_open(master->url, &(tkl_options){.timeout_ms = 1000});
    tkl_lock *lock =
        open_lock(client, "door", &(tkl_lock_options){.replicas = 1, .lease_ms = 60000});
    assert_code(tkl_lock_acquire(lock, 0), TKL_EUNREADY);
    assert_int_equal(lock_holders(lock), 0);

    char *line = test_format("replicaof 127.0.0.1 %d", master->port);
    server *replica = server_start(&(server_options){
        .config = (const char *const[]){line, "repl-diskless-sync-delay 0", NULL}});
    free(line);
    eventually(tkl_lock_acquire(lock, 0) == TKL_OK, LONG_MS);
    tkl_client *reader = test_open(replica->url, NULL);
    tkl_lock *copy = open_lock(reader, "door", NULL);
    assert_int_equal(lock_holders(copy), 1);
    tkl_lock_close(copy);
    tkl_close(reader);
    assert_true(tkl_lock_left_ms(lock) > 30000);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
    tkl_close(client);
    server_end(replica);
    server_end(master);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(an_acquire_whose_reply_was_lost_is_recognised),
        TEST(a_connection_cut_before_the_request_does_no_harm),
        TEST(a_release_whose_reply_was_lost_is_no_false_alarm),
        TEST(unknown_outcomes_are_told_and_can_be_repeated),
        TEST(breaking_is_not_repeated_unseen),
        TEST(released_without_waiting_is_free_for_the_next),
        TEST(released_without_waiting_after_a_script_flush),
        TEST(a_lost_reply_is_not_called_unsent),
        TEST(a_release_that_was_refused_unseen_is_made_again),
        TEST(a_handle_is_not_blocked_by_its_own_refused_release),
        TEST(released_without_waiting_wakes_the_next),
        TEST(an_acquisition_counts_once_replicas_have_it),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
