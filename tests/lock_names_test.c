/* SPDX-License-Identifier: MIT
 *
 * Names of locks, the holders that are shown, and the keys on the server.
 *
 * ctest: label threads
 */
#include <unistd.h>

#include "support/fixture.h"
#include "support/locks.h"
#include "support/tamper.h"

static void names_do_not_collide(void **state)
{
    fixture *f = *state;
    static char huge[TKL_NAME_MAX], huge_too[TKL_NAME_MAX];
    memset(huge, 'n', sizeof(huge));
    memset(huge_too, 'n', sizeof(huge_too));
    huge_too[sizeof(huge_too) - 1] = 'm';
    const tkl_bytes names[] = {{"a", 1},        {"a\0", 2},      {"a\0b", 3},     {"{a}", 3},
                               {"{", 1},        {"}", 1},        {"{}", 2},       {"a}:state", 8},
                               {"a}:line", 7},  {"%7Ba%7D", 7},  {"%", 1},        {" ", 1},
                               {"  ", 2},       {"a b", 3},      {"a\nb", 3},     {"\r\n", 2},
                               {"\xff\xfe", 2}, {"\xc3\xa4", 2}, {"*", 1},        {"a:line", 6},
                               {"\0", 1},       {"A", 1},        {huge, 65536},   {huge_too, 65536},
                               {huge, 65535},   {"%25", 3},      {"x 1 2 3 y", 9}};
    enum { N = sizeof(names) / sizeof(names[0]) };
    tkl_lock *locks[N], *others[N];
    for (int i = 0; i < N; i++) {
        assert_ok(tkl_lock_open(f->client, names[i], NULL, &locks[i]));
        assert_ok(tkl_lock_open(f->client, names[i], NULL, &others[i]));
        assert_ok(tkl_lock_acquire(locks[i], 0));
    }
    assert_all_keys_expire(f->server);
    for (int i = 0; i < N; i++) {
        assert_code(tkl_lock_acquire(others[i], 0), TKL_BUSY);
        pending p = {.lock = others[i], .wait_ms = -1};
        pending_start(&p);
        eventually(lock_waiters(locks[i]) == 1, LONG_MS);
        assert_ok(tkl_lock_release(locks[i]));
        assert_ok(pending_join(&p));
        tkl_lock_close(locks[i]);
        tkl_lock_close(others[i]);
    }
}

static void names_of_no_bytes_or_too_many_are_refused(void **state)
{
    fixture *f = *state;
    static char long_name[TKL_NAME_MAX + 1];
    tkl_lock *lock;
    assert_code(tkl_lock_open(f->client, tkl_str(""), NULL, &lock), TKL_EINVAL);
    assert_null(lock);
    assert_code(tkl_lock_open(f->client, (tkl_bytes){long_name, sizeof(long_name)}, NULL, &lock),
                TKL_EINVAL);
    assert_null(lock);
}

static void who_holds_it_is_shown(void **state)
{
    fixture *f = *state;
    static const char *const labels[] = {
        "", "plain", "two words", "a/b//c", "line\nbreak\ttab", "100%", "%41", "\xc3\xa4\x7f"};
    char host[256];
    gethostname(host, sizeof(host));
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        tkl_lock *lock = open_lock(f->client, "door",
                                   &(tkl_lock_options){.label = labels[i], .lease_ms = 600000});
        assert_ok(tkl_lock_acquire(lock, 0));
        tkl_holders *h;
        assert_ok(tkl_lock_show(lock, &h));
        assert_int_equal(h->count, 1);
        assert_int_equal(h->held, 1);
        assert_int_equal(h->waiters, 0);
        assert_int_equal(h->limit, 0);
        assert_false(h->shared);
        assert_int_equal(h->items[0].label.len, strlen(labels[i]));
        assert_memory_equal(h->items[0].label.data, labels[i], strlen(labels[i]));
        assert_int_equal(h->items[0].host.len, strlen(host));
        assert_memory_equal(h->items[0].host.data, host, strlen(host));
        assert_int_equal(h->items[0].pid, getpid());
        assert_true(h->items[0].fence == tkl_lock_fence(lock));
        assert_in_range(h->items[0].left_ms, 500000, 600000);
        assert_in_range(h->items[0].since_ms, 0, LONG_MS);
        tkl_holders_free(h);
        tkl_lock_close(lock);
    }
}

static void what_is_free_shows_nobody(void **state)
{
    fixture *f = *state;
    tkl_holders *h;
    tkl_lock *lock = open_lock(f->client, "door", NULL);
    assert_ok(tkl_lock_show(lock, &h));
    assert_int_equal(h->count + (size_t)h->held + (size_t)h->waiters, 0);
    tkl_holders_free(h);
    assert_code(tkl_lock_break(lock), TKL_NOTFOUND);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    tkl_lock_close(lock);
}

static void held_names_are_listed(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"a", "b c", "{d}"};
    tkl_lock *locks[3], *gone = open_lock(f->client, "gone", NULL);
    assert_ok(tkl_lock_acquire(gone, 0));
    assert_ok(tkl_lock_release(gone));
    for (int i = 0; i < 3; i++) {
        locks[i] = open_lock(f->client, names[i], NULL);
        assert_ok(tkl_lock_acquire(locks[i], 0));
    }
    tkl_names *list;
    assert_ok(tkl_lock_names(f->client, &list));
    assert_int_equal(list->count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(list->items[i].len, strlen(names[i]));
        assert_memory_equal(list->items[i].data, names[i], strlen(names[i]));
    }
    tkl_names_free(list);
    for (int i = 0; i < 3; i++)
        tkl_lock_close(locks[i]);
    tkl_lock_close(gone);
}

/* Any key of the lock may belong to another program: the answer is clear, and nothing is
 * changed. */
static void a_key_of_another_type_is_told_and_left_alone(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < TAMPER_KEYS; i++) {
        server_do(f->server, "FLUSHALL");
        tamper_take_key(f->server, DOOR, i);
        tkl_lock *lock = open_lock(f->client, "door", NULL);
        assert_code(tkl_lock_acquire(lock, 0), TKL_ETYPE);
        assert_code(tkl_lock_acquire(lock, 1000), TKL_ETYPE);
        assert_code(tkl_lock_acquire(lock, -1), TKL_ETYPE);
        assert_code(tkl_lock_break(lock), TKL_ETYPE);
        tamper_assert_taken(f->server, DOOR, i);
        assert_int_equal(server_ask_int(f->server, "DBSIZE"), 1);
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_FREE);
        tkl_lock_close(lock);
    }
}

static void a_queue_overwritten_while_held_is_told_and_left_alone(void **state)
{
    fixture *f = *state;
    for (int shared = 0; shared < 2; shared++) {
        server_do(f->server, "FLUSHALL");
        tkl_lock *lock = open_lock(f->client, "door",
                                   &(tkl_lock_options){.lease_ms = 600000, .shared = shared != 0});
        tkl_client *client = test_open(f->server->url, NULL);
        pending late = {.lock = open_lock(client, "door", NULL), .wait_ms = -1};
        assert_ok(tkl_lock_acquire(lock, 0));
        pending_start(&late);
        eventually(lock_waiters(lock) == 1, LONG_MS);
        tamper_take_line(f->server, DOOR);
        assert_code(tkl_lock_release(lock), TKL_ETYPE);
        assert_code(tkl_lock_break(lock), TKL_ETYPE);
        assert_int_equal(tkl_lock_state(lock), TKL_HOLD_HELD);
        tkl_interrupt(client);
        assert_code(pending_join(&late), TKL_ETYPE);
        tkl_lock_close(late.lock);
        tkl_close(client);
        tamper_remove_line(f->server, DOOR);
        assert_int_equal(lock_holders(lock), 1);
        assert_ok(tkl_lock_release(lock));
        assert_int_equal(lock_holders(lock), 0);
        tkl_lock_close(lock);
    }
}

/* Commands that the server executes when nobody else wants the lock. */
static int64_t cost_of_a_cycle(fixture *f, tkl_lock *lock)
{
    int64_t before = server_commands(f->server);
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_lock_release(lock));
    return server_commands(f->server) - before;
}

/* Two functions; each asks for the time, reads, writes, and says when keys expire. */
#define CYCLE_COST 10

/* A free lock costs few commands, also when it had a line before. */
static void a_free_lock_costs_few_commands(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_lock(f->client, "door", &(tkl_lock_options){.lease_ms = 600000});
    assert_ok(tkl_lock_acquire(lock, 0)); /* the server knows the scripts from here on */
    assert_ok(tkl_lock_release(lock));
    assert_in_range(cost_of_a_cycle(f, lock), 2, CYCLE_COST);
    assert_ok(tkl_lock_acquire(lock, 0));
    pending other = {.lock = open_lock(f->client, "door", NULL), .wait_ms = -1};
    pending_start(&other);
    eventually(lock_waiters(lock) == 1, LONG_MS);
    assert_ok(tkl_lock_release(lock));
    assert_ok(pending_join(&other));
    assert_ok(tkl_lock_release(other.lock));
    tkl_lock_close(other.lock); /* no renewal is under way from now on */
    assert_in_range(cost_of_a_cycle(f, lock), 2, CYCLE_COST);
    tkl_lock_close(lock);
}

/* A line that is never empty lives on as long as waiters come. */
static void a_line_that_moves_on_is_kept(void **state)
{
    fixture *f = *state;
    const tkl_lock_options hour = {.lease_ms = 3600000};
    tkl_lock *holder = open_lock(f->client, "door", &hour);
    assert_ok(tkl_lock_acquire(holder, 0));
    pending w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = (pending){.lock = open_lock(f->client, "door", &hour), .wait_ms = -1};
        pending_start(&w[i]);
        eventually(lock_waiters(holder) == i + 1, LONG_MS);
        assert_true(tamper_line_left_ms(f->server, DOOR) > 600000);
        tamper_set_line_left(f->server, DOOR, 20000);
    }
    assert_ok(tkl_lock_release(holder));
    for (int i = 0; i < 3; i++) {
        assert_ok(pending_join(&w[i]));
        assert_ok(tkl_lock_release(w[i].lock));
        tkl_lock_close(w[i].lock);
    }
    tkl_lock_close(holder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_do_not_collide),
        TEST(names_of_no_bytes_or_too_many_are_refused),
        TEST(who_holds_it_is_shown),
        TEST(what_is_free_shows_nobody),
        TEST(held_names_are_listed),
        TEST(a_key_of_another_type_is_told_and_left_alone),
        TEST(a_queue_overwritten_while_held_is_told_and_left_alone),
        TEST(a_free_lock_costs_few_commands),
        TEST(a_line_that_moves_on_is_kept),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
