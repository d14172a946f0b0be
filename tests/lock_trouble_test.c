/* SPDX-License-Identifier: MIT
 *
 * Locks on a server that is full, forbids something, or goes away.
 *
 * ctest: label threads
 */
#include "support/fixture.h"
#include "support/locks.h"

static void a_full_server_renews_and_releases(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_lock(f->client, "door", &(tkl_lock_options){.ttl_ms = 20000});
    tkl_lock *reader =
        open_lock(f->client, "book", &(tkl_lock_options){.ttl_ms = 20000, .shared = true});
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

/* Everything but publishing. */
static tkl_client *open_mute(fixture *f)
{
    server_do(f->server, "ACL SETUSER mute on >secret allkeys allcommands resetchannels");
    return test_open(f->server->url, &(tkl_options){.username = "mute", .password = "secret"});
}

static void who_may_not_publish_drops_nobody_from_the_line(void **state)
{
    fixture *f = *state;
    tkl_client *mute = open_mute(f);
    tkl_lock *held = open_lock(mute, "door", &(tkl_lock_options){.ttl_ms = 5000});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_server_renews_and_releases),
        TEST(who_may_not_publish_drops_nobody_from_the_line),
        cmocka_unit_test(waiting_ends_in_time_on_a_server_that_is_gone),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
