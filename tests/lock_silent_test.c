/* SPDX-License-Identifier: MIT
 *
 * Waiting for the lock past waiters that died or fell silent, and through cuts and restarts of the
 * server.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include "core/client.h"
#include "support/one_lock.h"
#include "support/process.h"
#include "support/tamper.h"

/* ---- The dead and the silent --------------------------------------------- */

/* Leases last an hour: a waiter that gets the lock within seconds did not wait for the end of
 * one. */
#define SOON_MS 20000

/* 0 when nobody holds it. */
static int64_t holder_pid(tkl_lock *lock)
{
    tkl_holders *h;
    assert_ok(tkl_lock_show(lock, &h));
    int64_t pid = h->count > 0 ? h->items[0].pid : 0;
    tkl_holders_free(h);
    return pid;
}

static void a_killed_waiter_is_skipped_at_once(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    peer *dead[3], *alive = outsider(f);
    for (int i = 0; i < 3; i++) {
        dead[i] = outsider(f);
        make_wait(dead[i], holder);
    }
    make_wait(alive, holder);
    for (int i = 0; i < 3; i++)
        peer_signal(dead[i], SIGKILL);
    eventually(channels_of_waiters(f) == 1, LONG_MS);
    assert_ok(tkl_lock_release(holder));
    assert_true(peer_answers(alive, SOON_MS));
    assert_ok(peer_hear(alive));
    for (int i = 0; i < 3; i++)
        peer_end(dead[i]);
    peer_end(alive);
    tkl_lock_close(holder);
}

/* A holder, and two waiters, of which the first will be silent. */
typedef struct scene {
    tkl_lock *holder;
    peer *silent, *alive;
} scene;

static scene open_scene(fixture *f)
{
    scene s = {held_door(f), outsider(f), outsider(f)};
    make_wait(s.silent, s.holder);
    make_wait(s.alive, s.holder);
    return s;
}

static void close_scene(scene *s)
{
    peer_end(s->silent);
    peer_end(s->alive);
    tkl_lock_close(s->holder);
}

static void a_silent_waiter_is_passed_over(void **state)
{
    scene s = open_scene(*state);
    peer_signal(s.silent, SIGSTOP);
    assert_ok(tkl_lock_release(s.holder));
    assert_true(peer_answers(s.alive, SOON_MS));
    assert_ok(peer_hear(s.alive));
    assert_ok(peer_do(s.alive, "release"));
    peer_signal(s.silent, SIGCONT); /* comes too late, and lines up again */
    assert_ok(peer_hear(s.silent));
    assert_true(s.silent->fence > s.alive->fence);
    assert_ok(peer_do(s.silent, "release"));
    close_scene(&s);
}

/* The first and the last waiter in line are of the same process, so the last one must not be the
 * looker for the first. */
static void a_silent_process_with_many_waiters_is_passed_over(void **state)
{
    fixture *f = *state;
    scene s = open_scene(f);
    tamper_add_thread(f->server, DOOR, 'f'); /* another of its threads, behind the living */
    peer_signal(s.silent, SIGSTOP);
    assert_ok(tkl_lock_release(s.holder));
    assert_true(peer_answers(s.alive, SOON_MS));
    assert_ok(peer_hear(s.alive));
    close_scene(&s);
}

/* A machine is silent, with all that waits there: the one waiter that is elsewhere looks, although
 * others came later. */
static void the_looker_is_on_another_machine_than_the_heir(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    client->heartbeat_us = 60000000; /* it does not look by itself */
    tkl_lock *holder = held_door(f);
    peer *silent = outsider(f);
    pending alive = {.lock = open_lock(client, "door", &HOUR), .wait_ms = LONG_MS};
    make_wait(silent, holder);
    stand_in_line(&alive, holder);
    tamper_move_last(f->server, DOOR, "elsewhere");
    tamper_add_process(f->server, DOOR, 'a');
    tamper_add_process(f->server, DOOR, 'b');
    peer_signal(silent, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&alive));
    assert_in_range(alive.took_ms, 4000, SOON_MS); /* not when it gives up */
    peer_end(silent);
    tkl_lock_close(alive.lock);
    tkl_lock_close(holder);
    tkl_close(client);
}

/* The waiter that is asked to look is silent, too. */
static void many_silent_waiters_are_passed_over_together(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    client->heartbeat_us = 500000;
    tkl_lock *holder = held_door(f);
    peer *silent = outsider(f);
    pending alive = {.lock = open_lock(client, "door", &HOUR), .wait_ms = LONG_MS};
    make_wait(silent, holder);
    for (char token = 'a'; token <= 'f'; token++)
        tamper_add_process(f->server, DOOR, token);
    stand_in_line(&alive, holder);
    tamper_add_process(f->server, DOOR, '0');
    peer_signal(silent, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&alive));
    assert_in_range(alive.took_ms, 4000, 15000); /* neither seven times 4 s nor the looker's 30 s */
    peer_end(silent);
    tkl_lock_close(alive.lock);
    tkl_lock_close(holder);
    tkl_close(client);
}

/* Two holders in turn renew the lock that was handed to them, and let it end: the waiters keep
 * their places. So the next waiter in line gets it, although it is stopped. */
static void those_who_confirmed_are_not_taken_for_silent(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    pending brief[2], last = {.lock = open_door(f, &HOUR), .wait_ms = LONG_MS};
    for (int i = 0; i < 2; i++) {
        brief[i] = (pending){.lock = open_door(f, &HOUR), .wait_ms = LONG_MS};
        stand_in_line(&brief[i], holder);
    }
    peer *stopped = outsider(f);
    make_wait(stopped, holder);
    stand_in_line(&last, holder);
    peer_signal(stopped, SIGSTOP);
    assert_ok(tkl_lock_release(holder));
    for (int i = 0; i < 2; i++) {
        assert_ok(pending_join(&brief[i]));
        assert_ok(tkl_lock_renew(brief[i].lock, 50));
    }
    eventually(holder_pid(holder) == stopped->pid, LONG_MS);
    peer_signal(stopped, SIGCONT);
    assert_ok(peer_hear(stopped));
    assert_ok(peer_do(stopped, "release"));
    assert_ok(pending_join(&last));
    for (int i = 0; i < 2; i++)
        tkl_lock_close(brief[i].lock);
    tkl_lock_close(last.lock);
    peer_end(stopped);
    tkl_lock_close(holder);
}

static void the_silent_one_killed_after_the_grant_is_passed_over(void **state)
{
    scene s = open_scene(*state);
    peer_signal(s.silent, SIGSTOP);
    assert_ok(tkl_lock_release(s.holder));
    peer_signal(s.silent, SIGKILL);
    assert_true(peer_answers(s.alive, SOON_MS));
    assert_ok(peer_hear(s.alive));
    close_scene(&s);
}

static void a_crowd_of_dead_waiters_holds_nobody_up(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    tamper_add_dead(f->server, DOOR, 350);
    peer *alive = outsider(f);
    make_wait(alive, holder);
    assert_ok(tkl_lock_release(holder));
    assert_true(peer_answers(alive, SOON_MS));
    assert_ok(peer_hear(alive));
    assert_int_equal(lock_waiters(holder), 0);
    peer_end(alive);
    tkl_lock_close(holder);
}

/* On a channel of its parent, the child would seem alive as long as its parent is. */
static void a_forked_child_waits_on_a_channel_of_its_own(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f), *lock = open_door(f, &HOUR);
    eventually(tkl_lock_acquire(lock, 10) == TKL_BUSY && channels_of_waiters(f) == 1,
               LONG_MS); /* listens */
    pid_t child = fork();
    if (child == 0) {
        tkl_lock *own;
        bool good = tkl_lock_open(f->client, tkl_str("door"), &HOUR, &own) == TKL_OK &&
                    tkl_lock_acquire(own, -1) == TKL_OK;
        _exit(good ? 0 : 1);
    }
    eventually(lock_waiters(holder) == 1, LONG_MS);
    assert_int_equal(channels_of_waiters(f), 2);
    kill(child, SIGKILL);
    assert_int_equal(process_wait(child), 128 + SIGKILL);
    eventually(channels_of_waiters(f) == 1, LONG_MS);
    assert_ok(tkl_lock_release(holder));
    assert_ok(tkl_lock_acquire(lock, 0)); /* nobody has it */
    tkl_lock_close(lock);
    tkl_lock_close(holder);
}

/* ---- Cuts and restarts --------------------------------------------------- */

static void a_cut_subscription_does_not_cost_the_lock(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    pending w[2];
    for (int i = 0; i < 2; i++) {
        w[i] = (pending){.lock = open_door(f, &HOUR), .wait_ms = -1};
        stand_in_line(&w[i], holder);
    }
    server_do(f->server, "CLIENT KILL TYPE pubsub");
    assert_ok(tkl_lock_release(holder)); /* nobody hears it */
    for (int i = 0; i < 2; i++)          /* either waiter may be first */
        eventually(tkl_lock_state(w[i].lock) == TKL_HOLD_HELD ||
                       tkl_lock_state(w[!i].lock) == TKL_HOLD_HELD,
                   LONG_MS);
    int first = tkl_lock_state(w[0].lock) == TKL_HOLD_HELD ? 0 : 1;
    assert_ok(pending_join(&w[first]));
    assert_ok(tkl_lock_release(w[first].lock));
    assert_ok(pending_join(&w[!first]));
    for (int i = 0; i < 2; i++)
        tkl_lock_close(w[i].lock);
    tkl_lock_close(holder);
}

static void cuts_again_and_again_do_not_cost_the_lock(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    pending w = {.lock = open_door(f, &HOUR), .wait_ms = -1};
    stand_in_line(&w, holder);
    for (int i = 0; i < 5; i++) {
        server_do(f->server, "CLIENT KILL TYPE pubsub");
        server_do(f->server, "CLIENT KILL TYPE normal SKIPME yes");
        test_sleep_ms(37);
    }
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

static void a_restart_while_waited_for(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"appendonly yes", "appendfsync always", NULL}});
    tkl_client *client = test_open(s->url, NULL);
    tkl_lock *holder = open_lock(client, "door", &HOUR);
    assert_ok(tkl_lock_acquire(holder, 0));
    pending w = {.lock = open_lock(client, "door", &HOUR), .wait_ms = -1};
    stand_in_line(&w, holder);
    uint64_t fence = tkl_lock_fence(holder);
    server_kill(s);
    server_restart(s);
    assert_ok(tkl_lock_release(holder));
    assert_ok(pending_join(&w));
    assert_true(tkl_lock_fence(w.lock) > fence);
    assert_all_keys_expire(s);
    assert_ok(tkl_lock_release(w.lock));
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
    tkl_close(client);
    server_end(s);
}

static void a_server_that_forgot_everything_gives_it_to_a_waiter(void **state)
{
    fixture *f = *state;
    tkl_lock *holder = held_door(f);
    pending w = {.lock = open_door(f, &HOUR), .wait_ms = -1};
    stand_in_line(&w, holder);
    server_do(f->server, "FLUSHALL");
    server_do(f->server, "CLIENT KILL TYPE pubsub"); /* as its restart does */
    assert_ok(pending_join(&w));
    assert_code(tkl_lock_release(holder), TKL_NOTOWNER);
    tkl_lock_close(w.lock);
    tkl_lock_close(holder);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(a_killed_waiter_is_skipped_at_once),
        TEST(a_silent_waiter_is_passed_over),
        TEST(a_silent_process_with_many_waiters_is_passed_over),
        TEST(the_looker_is_on_another_machine_than_the_heir),
        TEST(many_silent_waiters_are_passed_over_together),
        TEST(those_who_confirmed_are_not_taken_for_silent),
        TEST(the_silent_one_killed_after_the_grant_is_passed_over),
        TEST(a_crowd_of_dead_waiters_holds_nobody_up),
        TEST(a_forked_child_waits_on_a_channel_of_its_own),
        TEST(a_cut_subscription_does_not_cost_the_lock),
        TEST(cuts_again_and_again_do_not_cost_the_lock),
        TEST(a_restart_while_waited_for),
        TEST(a_server_that_forgot_everything_gives_it_to_a_waiter),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
