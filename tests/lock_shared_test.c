/* SPDX-License-Identifier: MIT
 *
 * Readers and writers.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/fixture.h"
#include "support/locks.h"
#include "support/peer.h"
#include "support/tamper.h"

#define BOOK "lock:{book}"

static const tkl_lock_options READ = {.lease_ms = 3600000, .shared = true};
static const tkl_lock_options WRITE = {.lease_ms = 3600000};

static tkl_lock *reader(fixture *f)
{
    return open_lock(f->client, "book", &READ);
}

static tkl_lock *writer(fixture *f)
{
    return open_lock(f->client, "book", &WRITE);
}

static void start_waiting(pending *p, tkl_lock *probe)
{
    int64_t before = lock_waiters(probe);
    p->wait_ms = -1;
    pending_start(p);
    eventually(lock_waiters(probe) == before + 1, LONG_MS);
}

static void readers_share_and_keep_writers_out(void **state)
{
    fixture *f = *state;
    tkl_lock *r[3], *w = writer(f);
    uint64_t fence = 0;
    for (int i = 0; i < 3; i++) {
        r[i] = reader(f);
        assert_ok(tkl_lock_acquire(r[i], 0));
        assert_true(tkl_lock_fence(r[i]) > fence);
        fence = tkl_lock_fence(r[i]);
    }
    assert_int_equal(lock_holders(w), 3);
    tkl_holders *h;
    assert_ok(tkl_lock_show(w, &h));
    assert_true(h->shared);
    assert_int_equal(h->count, 3);
    tkl_holders_free(h);
    for (int i = 0; i < 3; i++) {
        assert_code(tkl_lock_acquire(w, 0), TKL_BUSY);
        assert_all_keys_expire(f->server);
        assert_ok(tkl_lock_release(r[i]));
    }
    assert_ok(tkl_lock_acquire(w, 0));
    assert_true(tkl_lock_fence(w) > fence);
    assert_code(tkl_lock_acquire(r[0], 0), TKL_BUSY);
    assert_ok(tkl_lock_release(w));
    assert_all_keys_expire(f->server);
    for (int i = 0; i < 3; i++)
        tkl_lock_close(r[i]);
    tkl_lock_close(w);
}

/* Without waiters, scripts neither read nor write the key of the line. */
static void a_foreign_key_in_the_way_of_waiters_is_told_and_left_alone(void **state)
{
    fixture *f = *state;
    tkl_lock *first = reader(f), *second = reader(f), *waits = writer(f);
    assert_ok(tkl_lock_acquire(first, 0));
    tamper_take_line(f->server, BOOK);
    assert_ok(tkl_lock_acquire(second, 0));
    assert_code(tkl_lock_acquire(waits, 100), TKL_ETYPE);
    assert_int_equal(tkl_lock_state(waits), TKL_HOLD_FREE);
    assert_ok(tkl_lock_release(second));
    tamper_remove_line(f->server, BOOK);
    assert_int_equal(lock_holders(first), 1);
    assert_ok(tkl_lock_release(first));
    tkl_lock_close(first);
    tkl_lock_close(second);
    tkl_lock_close(waits);
}

static void a_reader_whose_lease_ended_keeps_nobody_out(void **state)
{
    fixture *f = *state;
    tkl_lock *gone =
        open_lock(f->client, "book", &(tkl_lock_options){.lease_ms = 1000, .shared = true});
    tkl_lock *stays = reader(f), *w = writer(f);
    assert_ok(tkl_lock_acquire(stays, 0));
    assert_ok(tkl_lock_acquire(gone, 0));
    eventually(tkl_lock_state(gone) == TKL_HOLD_LOST, LONG_MS);
    assert_code(tkl_lock_acquire(w, 0), TKL_BUSY);
    assert_ok(tkl_lock_release(stays));
    assert_ok(tkl_lock_acquire(w, -1));
    assert_code(tkl_lock_release(gone), TKL_NOTOWNER);
    assert_ok(tkl_lock_release(w));
    tkl_lock_close(gone);
    tkl_lock_close(stays);
    tkl_lock_close(w);
}

static void readers_behind_a_waiting_writer_wait(void **state)
{
    fixture *f = *state;
    tkl_lock *first = reader(f);
    assert_ok(tkl_lock_acquire(first, 0));
    pending w = {.lock = writer(f)}, late = {.lock = reader(f)};
    start_waiting(&w, first);
    tkl_lock *pushy = reader(f);
    assert_code(tkl_lock_acquire(pushy, 0), TKL_BUSY);
    start_waiting(&late, first);
    assert_all_keys_expire(f->server);
    assert_ok(tkl_lock_release(first));
    assert_ok(pending_join(&w));
    assert_int_equal(lock_waiters(first), 1);
    assert_ok(tkl_lock_release(w.lock));
    assert_ok(pending_join(&late));
    assert_true(tkl_lock_fence(late.lock) > 0);
    tkl_lock_close(first);
    tkl_lock_close(pushy);
    tkl_lock_close(w.lock);
    tkl_lock_close(late.lock);
}

static void a_writer_that_gives_up_lets_the_readers_in(void **state)
{
    fixture *f = *state;
    tkl_lock *first = reader(f);
    assert_ok(tkl_lock_acquire(first, 0));
    pending w = {.lock = writer(f), .wait_ms = 4000}, late = {.lock = reader(f)};
    pending_start(&w);
    eventually(lock_waiters(first) == 1, LONG_MS);
    start_waiting(&late, first);
    assert_code(pending_join(&w), TKL_BUSY);
    assert_ok(pending_join(&late));
    assert_int_equal(lock_holders(first), 2);
    tkl_lock_close(first);
    tkl_lock_close(w.lock);
    tkl_lock_close(late.lock);
}

/* No holder releases, and leases last an hour: readers can enter only because the writer is
 * dead. */
static void a_writer_that_died_waiting_keeps_no_readers_out(void **state)
{
    fixture *f = *state;
    tkl_lock *first = reader(f);
    assert_ok(tkl_lock_acquire(first, 0));
    peer *w =
        peer_start(&(peer_options){.url = f->server->url, .name = "book", .lease_ms = 3600000});
    peer_tell(w, "acquire -1");
    eventually(lock_waiters(first) == 1, LONG_MS);
    pending late = {.lock = reader(f)};
    start_waiting(&late, first);
    test_sleep_ms(100);
    peer_signal(w, SIGKILL);
    assert_ok(pending_join(&late));
    tkl_lock *later = reader(f);
    assert_ok(tkl_lock_acquire(later, 0));
    assert_int_equal(lock_holders(first), 3);
    tkl_lock_close(later);
    tkl_lock_close(late.lock);
    tkl_lock_close(first);
    peer_end(w);
}

static void a_release_lets_all_waiting_readers_in(void **state)
{
    fixture *f = *state;
    enum { N = 5 };
    tkl_lock *w = writer(f);
    assert_ok(tkl_lock_acquire(w, 0));
    pending r[N], last = {.lock = writer(f)};
    for (int i = 0; i < N; i++) {
        r[i] = (pending){.lock = reader(f)};
        start_waiting(&r[i], w);
    }
    start_waiting(&last, w);
    assert_ok(tkl_lock_release(w));
    for (int i = 0; i < N; i++)
        assert_ok(pending_join(&r[i]));
    assert_int_equal(lock_holders(w), N);
    assert_int_equal(lock_waiters(w), 1);
    assert_all_keys_expire(f->server);
    for (int i = 0; i < N; i++)
        tkl_lock_close(r[i].lock);
    assert_ok(pending_join(&last));
    tkl_lock_close(last.lock);
    tkl_lock_close(w);
}

typedef struct library {
    tkl_client *client;
    atomic_int reading;
    atomic_bool may_go;
} library;

static void read_with_all(void *arg, int index)
{
    (void)index;
    library *l = arg;
    tkl_lock *lock = open_lock(l->client, "book", &READ);
    assert_ok(tkl_lock_acquire(lock, -1));
    atomic_fetch_add(&l->reading, 1);
    for (; !atomic_load(&l->may_go); test_sleep_ms(5))
        if (tkl_lock_state(lock) ==
            TKL_HOLD_LOST) { /* on a machine too busy to confirm it in time */
            assert_code(tkl_lock_release(lock), TKL_NOTOWNER);
            assert_ok(tkl_lock_acquire(lock, -1));
        }
    tkl_lock_close(lock);
}

/* More than one script would let in at a time. */
static void hundreds_of_readers_come_in_together(void **state)
{
    fixture *f = *state;
    enum { N = 250 };
    library l = {.client = test_open(f->server->url, &(tkl_options){.timeout_ms = 60000})};
    tkl_lock *w = writer(f);
    assert_ok(tkl_lock_acquire(w, 0));
    crew *threads = crew_start(N, read_with_all, &l);
    eventually(lock_waiters(w) == N, 2 * LONG_MS);
    assert_ok(tkl_lock_release(w));
    eventually(atomic_load(&l.reading) == N, 2 * LONG_MS);
    eventually(lock_holders(w) == N, 2 * LONG_MS);
    atomic_store(&l.may_go, true);
    crew_join(threads);
    tkl_lock_close(w);
    tkl_close(l.client);
}

static void a_downgrade_lets_waiting_readers_in_and_keeps_writers_out(void **state)
{
    fixture *f = *state;
    tkl_lock *w = writer(f), *other = writer(f);
    assert_ok(tkl_lock_acquire(w, 0));
    uint64_t fence = tkl_lock_fence(w);
    pending r = {.lock = reader(f)};
    start_waiting(&r, w);
    assert_ok(tkl_lock_downgrade(w));
    assert_ok(pending_join(&r));
    assert_int_equal(lock_holders(w), 2);
    assert_true(tkl_lock_fence(w) == fence);
    assert_ok(tkl_lock_renew(w, 0));
    assert_ok(tkl_lock_downgrade(w)); /* is a reader already */
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_all_keys_expire(f->server);
    assert_ok(tkl_lock_release(w));
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_lock_release(r.lock));
    assert_ok(tkl_lock_acquire(other, 0));
    assert_ok(tkl_lock_release(other));
    assert_ok(tkl_lock_acquire(w, 0)); /* a writer again */
    assert_code(tkl_lock_acquire(r.lock, 0), TKL_BUSY);
    tkl_lock_close(w);
    tkl_lock_close(r.lock);
    tkl_lock_close(other);
}

static void a_downgrade_of_what_was_lost_is_refused(void **state)
{
    fixture *f = *state;
    tkl_lock *w = writer(f);
    assert_ok(tkl_lock_acquire(w, 0));
    assert_ok(tkl_lock_break(w));
    assert_code(tkl_lock_downgrade(w), TKL_NOTOWNER);
    assert_int_equal(tkl_lock_state(w), TKL_HOLD_LOST);
    tkl_lock_close(w);
}

static void breaking_takes_it_from_all_readers(void **state)
{
    fixture *f = *state;
    tkl_lock *r[3], *w = writer(f);
    for (int i = 0; i < 3; i++) {
        r[i] = reader(f);
        assert_ok(tkl_lock_acquire(r[i], 0));
    }
    assert_ok(tkl_lock_break(w));
    assert_ok(tkl_lock_acquire(w, 0));
    for (int i = 0; i < 3; i++) {
        assert_code(tkl_lock_release(r[i]), TKL_NOTOWNER);
        tkl_lock_close(r[i]);
    }
    tkl_lock_close(w);
}

/* A long lease given back leaves no keys that live as long. */
static void keys_go_with_the_longest_lease_that_is_left(void **state)
{
    fixture *f = *state;
    tkl_lock *lasting =
        open_lock(f->client, "book", &(tkl_lock_options){.lease_ms = 86400000, .shared = true});
    tkl_lock *brief =
        open_lock(f->client, "book", &(tkl_lock_options){.lease_ms = 5000, .shared = true});
    assert_ok(tkl_lock_acquire(lasting, 0));
    assert_ok(tkl_lock_acquire(brief, 0));
    assert_true(keys_left_ms(f->server) > 80000000);
    assert_ok(tkl_lock_release(lasting));
    assert_in_range(keys_left_ms(f->server), 1, 120000);
    assert_ok(tkl_lock_release(brief));
    tkl_lock_close(lasting);
    tkl_lock_close(brief);
}

static void keys_go_with_a_lease_that_was_cut_short(void **state)
{
    fixture *f = *state;
    for (int shared = 0; shared < 2; shared++) {
        tkl_lock *lock = open_lock(
            f->client, "book", &(tkl_lock_options){.lease_ms = 86400000, .shared = shared != 0});
        assert_ok(tkl_lock_acquire(lock, 0));
        assert_ok(tkl_lock_renew(lock, 5000));
        assert_in_range(keys_left_ms(f->server), 1, 120000);
        tkl_lock_close(lock);
    }
}

typedef struct page {
    tkl_client *client;
    atomic_int readers, writers;
} page;

static void read_or_write(void *arg, int index)
{
    page *p = arg;
    bool writes = index % 3 == 0;
    tkl_lock *lock = open_lock(p->client, "book", writes ? &WRITE : &READ);
    for (int i = 0; i < 30; i++) {
        assert_ok(tkl_lock_acquire(lock, -1));
        atomic_fetch_add(writes ? &p->writers : &p->readers, 1);
        int readers = atomic_load(&p->readers), writers = atomic_load(&p->writers);
        assert_true(writes ? readers == 0 && writers == 1 : writers == 0);
        atomic_fetch_sub(writes ? &p->writers : &p->readers, 1);
        assert_ok(tkl_lock_release(lock));
    }
    tkl_lock_close(lock);
}

static void many_threads_keep_the_rules(void **state)
{
    fixture *f = *state;
    page p = {.client = f->client};
    crew_run(12, read_or_write, &p);
    assert_all_keys_expire(f->server);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(readers_share_and_keep_writers_out),
        TEST(a_foreign_key_in_the_way_of_waiters_is_told_and_left_alone),
        TEST(a_reader_whose_lease_ended_keeps_nobody_out),
        TEST(readers_behind_a_waiting_writer_wait),
        TEST(a_writer_that_gives_up_lets_the_readers_in),
        TEST(a_writer_that_died_waiting_keeps_no_readers_out),
        TEST(a_release_lets_all_waiting_readers_in),
        TEST(hundreds_of_readers_come_in_together),
        TEST(a_downgrade_lets_waiting_readers_in_and_keeps_writers_out),
        TEST(a_downgrade_of_what_was_lost_is_refused),
        TEST(breaking_takes_it_from_all_readers),
        TEST(keys_go_with_the_longest_lease_that_is_left),
        TEST(keys_go_with_a_lease_that_was_cut_short),
        TEST(many_threads_keep_the_rules),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
