/* SPDX-License-Identifier: MIT
 *
 * Locks on a server that is full, forbids something, or goes away.
 *
 * ctest: label threads
 */
#include "core/client.h"
#include "support/fake.h"
#include "support/fixture.h"
#include "support/locks.h"
#include "support/proxy.h"
#include "support/tamper.h"

static void a_full_server_renews_and_releases(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_lock(f->client, "door", &(tkl_lock_options){.lease_ms = 20000});
    tkl_lock *reader =
        open_lock(f->client, "book", &(tkl_lock_options){.lease_ms = 20000, .shared = true});
    tkl_lock *other = open_lock(f->client, "window", NULL),
             *brief = open_lock(f->client, "gate", NULL);
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_lock_acquire(reader, 0));
    assert_ok(tkl_lock_acquire(brief, 0));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_ok(tkl_lock_release(brief));
    assert_code(tkl_lock_acquire(brief, 0), TKL_EOOM);
    assert_code(tkl_lock_acquire(other, 0), TKL_EOOM);
    assert_ok(tkl_lock_renew(lock, 0));
    assert_ok(tkl_lock_renew(reader, 0));
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_lock_release(reader));
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_lock_close(lock);
    tkl_lock_close(reader);
    tkl_lock_close(other);
    tkl_lock_close(brief);
}

/* Opens a client that may do everything but publish. */
static tkl_client *open_mute(fixture *f)
{
    server_do(f->server, "ACL SETUSER mute on >secret allkeys allcommands resetchannels");
    return test_open(f->server->url, &(tkl_options){.username = "mute", .password = "secret"});
}

static void who_may_not_publish_drops_nobody_from_the_line(void **state)
{
    fixture *f = *state;
    tkl_client *mute = open_mute(f);
    tkl_lock *held = open_lock(mute, "door", &(tkl_lock_options){.lease_ms = 5000});
    pending waiter = {.lock = open_lock(f->client, "door", NULL), .wait_ms = LONG_MS};
    assert_ok(tkl_lock_acquire(held, 0));
    pending_start(&waiter);
    eventually(lock_waiters(held) == 1, LONG_MS);
    assert_code(tkl_lock_release(held), TKL_EAUTH);
    assert_int_equal(lock_holders(held), 0);
    assert_int_equal(lock_waiters(held), 1);
    assert_ok(pending_join(&waiter)); /* when it looks */
    assert_int_equal(lock_holders(held), 1);
    assert_all_keys_expire(f->server);
    tkl_lock_close(held);
    tkl_lock_close(waiter.lock);
    tkl_close(mute);
}

static void waiting_ends_in_time_on_a_server_that_is_gone(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = LONG_MS});
    tkl_lock *held = open_lock(client, "door", NULL);
    pending waiter = {.lock = open_lock(client, "door", NULL), .wait_ms = 4000};
    assert_ok(tkl_lock_acquire(held, 0));
    pending_start(&waiter);
    eventually(lock_waiters(held) == 1, LONG_MS);
    assert_int_equal(lock_waiters(held), 1); /* by now the waiter has been answered, too */
    server_kill(s);
    assert_code(pending_join(&waiter), TKL_ENOTSENT);
    assert_true(waiter.took_ms < LONG_MS / 2);
    int64_t start = test_now_ms();
    tkl_lock_close(waiter.lock);
    assert_true(test_now_ms() - start < LONG_MS / 2);
    server_restart(s);
    tkl_lock_close(held);
    tkl_close(client);
    server_end(s);
}

/* ---- Lost places --------------------------------------------------------- */

enum { WAITERS = 6 };

/* Threads of two clients that wait behind a holder with an hour to go. */
typedef struct line {
    tkl_client *other;
    tkl_lock *holder;
    pending waiters[WAITERS];
} line;

static void line_start(fixture *f, line *l)
{
    static const tkl_lock_options hour = {.lease_ms = 3600000};
    l->other = test_open(f->server->url, NULL);
    l->holder = open_lock(f->client, "door", &hour);
    assert_ok(tkl_lock_acquire(l->holder, 0));
    for (int i = 0; i < WAITERS; i++) {
        tkl_client *client = i % 2 ? l->other : f->client;
        l->waiters[i] = (pending){.lock = open_lock(client, "door", &hour), .wait_ms = -1};
        pending_start(&l->waiters[i]);
        eventually(lock_waiters(l->holder) == i + 1, LONG_MS);
    }
}

/* Checks that all waiters get the lock, one after the other, although leases last an hour. */
static void line_served(line *l, int first)
{
    bool served[WAITERS] = {false};
    for (int n = first; n < WAITERS; n++) {
        int who = -1;
        for (int64_t start = test_now_ms(); who < 0 && test_now_ms() - start < LONG_MS;) {
            for (int i = 0; i < WAITERS && who < 0; i++)
                if (!served[i] && tkl_lock_state(l->waiters[i].lock) == TKL_HOLD_HELD)
                    who = i;
            test_sleep_ms(1);
        }
        assert_true(who >= 0);
        served[who] = true;
        assert_ok(pending_join(&l->waiters[who]));
        assert_ok(tkl_lock_release(l->waiters[who].lock));
    }
}

static void line_end(line *l)
{
    for (int i = 0; i < WAITERS; i++)
        tkl_lock_close(l->waiters[i].lock);
    tkl_lock_close(l->holder);
    tkl_close(l->other);
}

static void all_waiters_come_back_when_the_server_was_flushed(void **state)
{
    fixture *f = *state;
    line l;
    line_start(f, &l);
    server_do(f->server, "FLUSHALL");
    /* The next script on the lock notices the loss: here that of a newcomer. */
    tkl_lock *newcomer = open_lock(f->client, "door", &(tkl_lock_options){.lease_ms = 3600000});
    assert_ok(tkl_lock_acquire(newcomer, 0));
    eventually(lock_waiters(newcomer) == WAITERS, LONG_MS);
    assert_ok(tkl_lock_release(newcomer));
    line_served(&l, 0);
    tkl_lock_close(newcomer);
    line_end(&l);
}

/* No other client runs a script: the waiters notice the loss themselves. */
static void all_waiters_come_back_within_heartbeats(void **state)
{
    fixture *f = *state;
    line l;
    int64_t beat = f->client->heartbeat_us;
    f->client->heartbeat_us = 500000;
    line_start(f, &l);
    server_do(f->server, "FLUSHALL");
    int64_t start = test_now_ms();
    line_served(&l, 0);
    assert_true(test_now_ms() - start < LONG_MS / 3);
    line_end(&l);
    f->client->heartbeat_us = beat;
}

static void all_waiters_come_back_when_a_renewal_finds_everything_gone(void **state)
{
    fixture *f = *state;
    line l;
    line_start(f, &l);
    server_do(f->server, "FLUSHALL");
    assert_code(tkl_lock_renew(l.holder, 0), TKL_NOTOWNER);
    line_served(&l, 0);
    line_end(&l);
}

static void all_waiters_come_back_when_the_line_was_lost(void **state)
{
    fixture *f = *state;
    line l;
    line_start(f, &l);
    tamper_remove_line(f->server, DOOR);
    assert_ok(tkl_lock_release(l.holder));
    line_served(&l, 0);
    line_end(&l);
}

/* ---- Stalls -------------------------------------------------------------- */

/* A grant lasts for seconds, so that a server that stands still for one costs nothing. */
static void a_stall_after_a_hand_over_does_not_cost_the_lock(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_lock *holder = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 60000});
    pending w = {.lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 60000}),
                 .wait_ms = -1};
    assert_ok(tkl_lock_acquire(holder, 0));
    pending_start(&w);
    eventually(lock_waiters(holder) == 1, LONG_MS);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w));
    server_freeze(s);
    test_sleep_ms(1500);
    server_thaw(s);
    eventually(tkl_lock_left_ms(w.lock) > 30000, LONG_MS);
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
    tkl_close(client);
    server_end(s);
}

/* The library repeats a release without an answer in the background: the caller may never call
 * again. */
static void a_release_that_had_no_answer_is_made_again(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_lock *lock =
        open_lock(client, "door", &(tkl_lock_options){.lease_ms = 3600000, .timeout_ms = 300});
    tkl_lock *probe = open_lock(client, "door", NULL);
    assert_ok(tkl_lock_acquire(lock, 0));
    server_freeze(s);
    assert_code(tkl_lock_release(lock), TKL_ETIMEOUT);
    server_thaw(s);
    eventually(lock_holders(probe) == 0, LONG_MS);
    assert_ok(tkl_lock_acquire(probe, 0));
    eventually(tkl_lock_release(lock) == TKL_OK, LONG_MS); /* its owner hears the same */
    assert_int_equal(lock_holders(probe), 1);
    tkl_lock_close(lock);
    tkl_lock_close(probe);
    tkl_close(client);
    server_end(s);
}

/* The wait goes on when the grant has ended before its answer comes. */
static void a_wait_for_ever_outlasts_stalls_longer_than_the_lease(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    proxy *p = proxy_start(s->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = LONG_MS});
    pending w = {.lock = open_lock(client, "door", &(tkl_lock_options){.lease_ms = 300}),
                 .wait_ms = -1};
    proxy_hold(p, TO_CLIENT, true);
    pending_start(&w);
    test_sleep_ms(700);
    proxy_hold(p, TO_CLIENT, false);
    assert_ok(pending_join(&w));
    tkl_lock_close(w.lock);
    tkl_close(client);
    proxy_end(p);
    server_end(s);
}

/* A program that was stopped finds its turn in a buffer, after an answer that says otherwise. */
static void a_grant_from_before_the_last_answer_is_not_believed(void **state)
{
    fixture *f = *state;
    tkl_lock *held = open_lock(f->client, "door", NULL);
    pending w = {.lock = open_lock(f->client, "door", NULL), .wait_ms = LONG_MS};
    assert_ok(tkl_lock_acquire(held, 0));
    uint64_t fence = tkl_lock_fence(held);
    pending_start(&w);
    eventually(lock_waiters(held) == 1, LONG_MS);
    int64_t before = server_functions(f->server);
    tamper_send_old_grant(f->server, DOOR);
    eventually(server_functions(f->server) > before, LONG_MS); /* it asks the server */
    assert_int_equal(tkl_lock_state(w.lock), TKL_HOLD_FREE);
    assert_ok(tkl_lock_release(held));
    assert_ok(pending_join(&w));
    assert_true(tkl_lock_fence(w.lock) > fence);
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(held);
}

/* ---- Replicas, and servers that lie ------------------------------------- */

/* How the fake answers the renewal and the WAIT behind it, the first time and later. */
typedef struct script_answers {
    const char *renewal[2], *wait[2];
} script_answers;

static void grant_everything(fake_conn *c, void *arg)
{
    const script_answers *a = arg;
    int renewals = 0, waits = 0;
    for (const char *said; (said = fake_expect(c)) != NULL;) {
        if (strncmp(said, "WAIT", 4) == 0)
            fake_sendz(c, a->wait[waits++ > 0]);
        else if (strncmp(said, "FCALL tackle_hold_renew", 23) == 0)
            fake_sendz(c, a->renewal[renewals++ > 0]);
        else if (strncmp(said, "FCALL", 5) == 0)
            fake_sendz(c, "*5\r\n:0\r\n:1\r\n:60000000\r\n:1\r\n:0\r\n");
        else
            fake_sendz(c, "+OK\r\n");
    }
}

#define GRANTED "*4\r\n:0\r\n:1\r\n:60000000\r\n:1\r\n"
#define NOBODYS "*1\r\n:6\r\n"

/* WAIT speaks of the writes of its own connection: without the renewal before it, it says nothing.
 */
static void a_wait_that_was_ended_by_a_demotion_does_not_count(void **state)
{
    (void)state;
    const script_answers lies[] = {
        {{GRANTED, NOBODYS}, {"-UNBLOCKED force unblock from blocking operation\r\n", ":1\r\n"}},
        {{"-ERR something else\r\n", NOBODYS}, {":1\r\n", ":1\r\n"}},
        {{NOBODYS, NOBODYS}, {":1\r\n", ":1\r\n"}},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        fake *liar = fake_start(grant_everything, (void *)&lies[i]);
        tkl_client *client = test_open(fake_url(liar), &(tkl_options){.timeout_ms = 500});
        tkl_lock *lock = open_lock(client, "door", &(tkl_lock_options){.replicas = 1});
        int rc = tkl_lock_acquire(lock, 0);
        assert_true(rc < 0);
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_FREE);
        tkl_lock_close(lock);
        tkl_close(client);
        fake_end(liar);
    }
}

static void break_nothing_for_ever(fake_conn *c, void *arg)
{
    (void)arg;
    while (fake_expect(c) != NULL)
        fake_sendz(c, ":1000\r\n");
}

static void lie_about_everything(fake_conn *c, void *arg)
{
    while (fake_expect(c) != NULL)
        fake_sendz(c, arg);
}

static void answers_that_no_script_gives_are_told(void **state)
{
    (void)state;
    static const char *const lies[] = {
        "*5\r\n:1000\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
        "*1\r\n:-3\r\n",
        "*0\r\n",
        ":0\r\n",
        "$5\r\nhello\r\n",
        "*-1\r\n",
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        fake *liar = fake_start(lie_about_everything, (void *)lies[i]);
        tkl_client *client = test_open(fake_url(liar), &(tkl_options){.timeout_ms = 500});
        tkl_lock *lock = open_lock(client, "door", NULL);
        tkl_holders *holders;
        assert_code(tkl_lock_acquire(lock, 0), TKL_EPROTO);
        assert_code(tkl_lock_acquire(lock, 50), TKL_EPROTO);
        assert_code(tkl_lock_show(lock, &holders), TKL_EPROTO);
        tkl_lock_close(lock);
        tkl_close(client);
        fake_end(liar);
    }
}

static void breaking_ends_on_a_server_that_always_says_more(void **state)
{
    (void)state;
    fake *liar = fake_start(break_nothing_for_ever, NULL);
    tkl_client *client = test_open(fake_url(liar), NULL);
    tkl_lock *lock = open_lock(client, "door", NULL);
    assert_code(tkl_lock_break(lock), TKL_EPROTO);
    tkl_holders *holders;
    assert_code(tkl_lock_show(lock, &holders), TKL_EPROTO);
    tkl_lock_close(lock);
    tkl_close(client);
    fake_end(liar);
}

/* ---- Garbage ------------------------------------------------------------- */

/* Any garbage in the keys leads to an answer, and to no script that does not end. */
static void garbage_in_the_keys_is_refused_or_passed_over(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < tamper_kinds_of_garbage(); i++) {
        server_do(f->server, "FLUSHALL");
        tamper_store_garbage(f->server, DOOR, i);
        tkl_lock *lock = open_lock(f->client, "door", NULL), *reader;
        reader = open_lock(f->client, "door", &(tkl_lock_options){.shared = true});
        tkl_holders *holders = NULL;
        int shown = tkl_lock_show(lock, &holders);
        tkl_holders_free(holders);
        int rc = tkl_lock_acquire(lock, 100);
        assert_true(rc == TKL_OK || rc == TKL_BUSY || rc == TKL_EDAMAGED);
        assert_true(rc != TKL_EDAMAGED || shown == TKL_EDAMAGED);
        rc = tkl_lock_acquire(reader, 100);
        assert_true(rc == TKL_OK || rc == TKL_BUSY || rc == TKL_EDAMAGED);
        rc = tkl_lock_break(lock);
        assert_true(rc == TKL_OK || rc == TKL_NOTFOUND || rc == TKL_EDAMAGED);
        tkl_lock_close(reader);
        tkl_lock_close(lock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_server_renews_and_releases),
        TEST(who_may_not_publish_drops_nobody_from_the_line),
        TEST(all_waiters_come_back_when_the_server_was_flushed),
        TEST(all_waiters_come_back_within_heartbeats),
        TEST(all_waiters_come_back_when_a_renewal_finds_everything_gone),
        TEST(all_waiters_come_back_when_the_line_was_lost),
        cmocka_unit_test(a_stall_after_a_hand_over_does_not_cost_the_lock),
        cmocka_unit_test(a_release_that_had_no_answer_is_made_again),
        cmocka_unit_test(a_wait_for_ever_outlasts_stalls_longer_than_the_lease),
        TEST(a_grant_from_before_the_last_answer_is_not_believed),
        cmocka_unit_test(a_wait_that_was_ended_by_a_demotion_does_not_count),
        cmocka_unit_test(answers_that_no_script_gives_are_told),
        cmocka_unit_test(breaking_ends_on_a_server_that_always_says_more),
        TEST(garbage_in_the_keys_is_refused_or_passed_over),
        cmocka_unit_test(waiting_ends_in_time_on_a_server_that_is_gone),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
