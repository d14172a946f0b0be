/* SPDX-License-Identifier: MIT
 *
 * The semaphore: never more than its limit, each permit a lease of its own, served in order.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include <stdatomic.h>

#include "support/fixture.h"
#include "support/locks.h"
#include "support/peer.h"
#include "support/proxy.h"
#include "support/tamper.h"

static const tkl_semaphore_options HOUR = {.lease_ms = 3600000};

static tkl_semaphore *permit(fixture *f, int64_t limit)
{
    return open_sem(f->client, "pool", limit, &HOUR);
}

static tkl_semaphore *held_permit(fixture *f, int64_t limit)
{
    tkl_semaphore *sem = permit(f, limit);
    assert_ok(tkl_semaphore_acquire(sem, 0));
    return sem;
}

static void start_waiting(pending *p, tkl_semaphore *probe)
{
    int64_t before = sem_waiters(probe);
    p->wait_ms = -1;
    pending_start(p);
    eventually(sem_waiters(probe) == before + 1, LONG_MS);
}

/* ---- The limit ----------------------------------------------------------- */

static void as_many_as_the_limit_and_no_more(void **state)
{
    fixture *f = *state;
    tkl_semaphore *in[3], *out = permit(f, 3);
    uint64_t fence = 0;
    for (int i = 0; i < 3; i++) {
        in[i] = held_permit(f, 3);
        assert_true(tkl_semaphore_fence(in[i]) > fence);
        fence = tkl_semaphore_fence(in[i]);
    }
    assert_code(tkl_semaphore_acquire(out, 0), TKL_BUSY);
    assert_code(tkl_semaphore_acquire(out, 50), TKL_BUSY);
    assert_all_keys_expire(f->server);
    assert_int_equal(sem_waiters(out), 0);
    assert_ok(tkl_semaphore_release(in[1]));
    assert_ok(tkl_semaphore_acquire(out, 0));
    assert_true(tkl_semaphore_fence(out) > fence);
    assert_code(tkl_semaphore_acquire(in[1], 0), TKL_BUSY);
    tkl_holders *h;
    assert_ok(tkl_semaphore_show(out, &h));
    assert_int_equal(h->held, 3);
    assert_int_equal(h->limit, 3);
    assert_true(h->shared);
    tkl_holders_free(h);
    for (int i = 0; i < 3; i++)
        tkl_semaphore_close(in[i]);
    tkl_semaphore_close(out);
    assert_all_keys_expire(f->server);
}

typedef struct workshop {
    tkl_client *client;
    int64_t limit;
    atomic_int inside, most;
} workshop;

static void work(void *arg, int index)
{
    (void)index;
    workshop *w = arg;
    tkl_semaphore *sem = open_sem(w->client, "pool", w->limit, &HOUR);
    for (int i = 0; i < 25; i++) {
        assert_ok(tkl_semaphore_acquire(sem, -1));
        int now = atomic_fetch_add(&w->inside, 1) + 1;
        for (int most = atomic_load(&w->most); now > most;)
            if (atomic_compare_exchange_weak(&w->most, &most, now))
                break;
        if (i % 5 == 0)
            test_sleep_ms(1);
        atomic_fetch_sub(&w->inside, 1);
        assert_ok(tkl_semaphore_release(sem));
    }
    tkl_semaphore_close(sem);
}

static void threads_never_exceed_the_limit(void **state)
{
    fixture *f = *state;
    workshop w = {.client = f->client, .limit = 4};
    crew_run(24, work, &w);
    assert_in_range(atomic_load(&w.most), 1, 4);
    assert_all_keys_expire(f->server);
}

static void limits_out_of_range_are_refused(void **state)
{
    fixture *f = *state;
    static const int64_t wrong[] = {0, -1, 1000001};
    tkl_semaphore *sem;
    for (int i = 0; i < 3; i++)
        assert_code(tkl_semaphore_open(f->client, tkl_str("pool"), wrong[i], NULL, &sem),
                    TKL_EINVAL);
    assert_null(sem);
    assert_code(tkl_semaphore_open(f->client, tkl_str(""), 1, NULL, &sem), TKL_EINVAL);
    tkl_semaphore_close(NULL);
}

/* A lower limit takes no permit away, and gives none until enough have come back. */
static void a_limit_lowered_below_the_holders(void **state)
{
    fixture *f = *state;
    tkl_semaphore *in[4], *out = permit(f, 2);
    for (int i = 0; i < 4; i++)
        in[i] = held_permit(f, 4);
    assert_code(tkl_semaphore_acquire(out, 0), TKL_BUSY);
    for (int i = 0; i < 4; i++)
        assert_ok(tkl_semaphore_renew(in[i], 0));
    for (int i = 0; i < 2; i++) {
        assert_ok(tkl_semaphore_release(in[i]));
        assert_code(tkl_semaphore_acquire(out, 0), TKL_BUSY);
    }
    assert_ok(tkl_semaphore_release(in[2]));
    assert_ok(tkl_semaphore_acquire(out, 0));
    assert_int_equal(sem_holders(out), 2);
    for (int i = 0; i < 4; i++)
        tkl_semaphore_close(in[i]);
    tkl_semaphore_close(out);
}

static void a_limit_raised_lets_those_who_wait_in(void **state)
{
    fixture *f = *state;
    tkl_semaphore *in = held_permit(f, 1), *raiser = permit(f, 3);
    pending w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = (pending){.sem = permit(f, 1)};
        start_waiting(&w[i], in);
    }
    assert_code(tkl_semaphore_acquire(raiser, 0), TKL_BUSY); /* they were here before */
    assert_ok(pending_join(&w[0]));
    assert_ok(pending_join(&w[1]));
    assert_int_equal(sem_holders(in), 3);
    assert_int_equal(sem_waiters(in), 1);
    assert_ok(tkl_semaphore_release(in));
    assert_ok(pending_join(&w[2]));
    for (int i = 0; i < 3; i++)
        tkl_semaphore_close(w[i].sem);
    tkl_semaphore_close(raiser);
    tkl_semaphore_close(in);
}

/* ---- Order --------------------------------------------------------------- */

static void those_who_wait_are_served_in_order(void **state)
{
    fixture *f = *state;
    enum { N = 8 };
    tkl_semaphore *in[2] = {held_permit(f, 2), held_permit(f, 2)};
    pending w[N];
    for (int i = 0; i < N; i++) {
        w[i] = (pending){.sem = permit(f, 2)};
        start_waiting(&w[i], in[0]);
    }
    uint64_t fence = 0;
    for (int i = 0; i < N; i++) {
        tkl_semaphore *last = i < 2 ? in[i] : w[i - 2].sem;
        assert_ok(tkl_semaphore_release(last));
        assert_ok(pending_join(&w[i]));
        assert_int_equal(sem_waiters(in[0]), N - 1 - i);
        assert_true(tkl_semaphore_fence(w[i].sem) > fence);
        fence = tkl_semaphore_fence(w[i].sem);
    }
    for (int i = 0; i < N; i++)
        tkl_semaphore_close(w[i].sem);
    tkl_semaphore_close(in[0]);
    tkl_semaphore_close(in[1]);
    assert_all_keys_expire(f->server);
}

static int64_t channels_of_waiters(server *s)
{
    return server_ask_int(s, "EVAL %s 0", "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*:w:*')");
}

static void processes_are_served_in_order_past_the_dead_and_the_silent(void **state)
{
    fixture *f = *state;
    tkl_semaphore *in = held_permit(f, 1);
    peer *p[4]; /* dead, silent, and two who live */
    for (int i = 0; i < 4; i++) {
        p[i] = peer_start(&(peer_options){
            .url = f->server->url, .name = "pool", .limit = 1, .lease_ms = 3600000});
        peer_tell(p[i], "acquire -1");
        eventually(sem_waiters(in) == i + 1, LONG_MS);
    }
    peer_signal(p[0], SIGKILL);
    eventually(channels_of_waiters(f->server) == 3, LONG_MS); /* else two would be silent */
    peer_signal(p[1], SIGSTOP);
    assert_ok(tkl_semaphore_release(in));
    assert_ok(peer_hear(p[2]));
    assert_false(peer_answers(p[3], 0));
    assert_ok(peer_do(p[2], "release"));
    assert_ok(peer_hear(p[3]));
    assert_true(p[3]->fence > p[2]->fence);
    for (int i = 0; i < 4; i++)
        peer_end(p[i]);
    tkl_semaphore_close(in);
}

static void many_silent_waiters_are_passed_over_together(void **state)
{
    fixture *f = *state;
    enum { N = 7 };
    tkl_semaphore *in[2] = {held_permit(f, 2), held_permit(f, 2)};
    pending alive = {.sem = permit(f, 2)};
    peer *p[N];
    for (int i = 0; i < N; i++) {
        p[i] = peer_start(&(peer_options){
            .url = f->server->url, .name = "pool", .limit = 2, .lease_ms = 3600000});
        peer_tell(p[i], "acquire -1");
        eventually(sem_waiters(in[0]) == i + 1, LONG_MS);
    }
    start_waiting(&alive, in[0]);
    for (int i = 0; i < N; i++)
        peer_signal(p[i], SIGSTOP);
    int64_t start = test_now_ms();
    assert_ok(tkl_semaphore_release(in[0]));
    assert_ok(tkl_semaphore_release(in[1]));
    assert_ok(pending_join(&alive));
    assert_true(test_now_ms() - start < 11000); /* not 4 s for every two */
    for (int i = 0; i < N; i++)
        peer_end(p[i]);
    tkl_semaphore_close(alive.sem);
    tkl_semaphore_close(in[0]);
    tkl_semaphore_close(in[1]);
}

/* ---- Leases -------------------------------------------------------------- */

static void each_permit_ends_by_itself(void **state)
{
    fixture *f = *state;
    tkl_semaphore *brief =
        open_sem(f->client, "pool", 2, &(tkl_semaphore_options){.lease_ms = 1000});
    tkl_semaphore *lasting = held_permit(f, 2), *next = permit(f, 2);
    assert_ok(tkl_semaphore_acquire(brief, 0));
    assert_ok(tkl_semaphore_acquire(next, LONG_MS));
    assert_int_equal(tkl_semaphore_state(brief), TKL_HOLD_LOST);
    assert_code(tkl_semaphore_renew(brief, 0), TKL_NOTOWNER);
    assert_code(tkl_semaphore_release(brief), TKL_NOTOWNER);
    assert_int_equal(sem_holders(next), 2);
    assert_ok(tkl_semaphore_renew(lasting, 0));
    tkl_semaphore_close(brief);
    tkl_semaphore_close(lasting);
    tkl_semaphore_close(next);
}

static void a_permit_is_renewed_alone(void **state)
{
    fixture *f = *state;
    tkl_semaphore *kept = open_sem(f->client, "pool", 2,
                                   &(tkl_semaphore_options){.lease_ms = 2000, .auto_renew = true});
    tkl_semaphore *left =
        open_sem(f->client, "pool", 2, &(tkl_semaphore_options){.lease_ms = 2000});
    assert_ok(tkl_semaphore_acquire(kept, 0));
    assert_ok(tkl_semaphore_acquire(left, 0));
    eventually(sem_holders(kept) == 1, LONG_MS);
    test_sleep_ms(2000);
    assert_int_equal(tkl_semaphore_state(kept), TKL_HOLD_HELD);
    assert_all_keys_expire(f->server);
    assert_ok(tkl_semaphore_release(kept));
    assert_code(tkl_semaphore_release(left), TKL_NOTOWNER);
    tkl_semaphore_close(kept);
    tkl_semaphore_close(left);
}

static void count_losses(tkl_semaphore *sem, void *arg)
{
    (void)sem;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void a_lost_permit_is_told_once(void **state)
{
    fixture *f = *state;
    atomic_int losses = 0;
    tkl_semaphore *sem = open_sem(
        f->client, "pool", 2,
        &(tkl_semaphore_options){
            .lease_ms = 1500, .auto_renew = true, .on_lost = count_losses, .arg = &losses});
    assert_ok(tkl_semaphore_acquire(sem, 0));
    server_do(f->server, "FLUSHALL");
    eventually(atomic_load(&losses) == 1, LONG_MS);
    test_sleep_ms(200);
    assert_int_equal(atomic_load(&losses), 1);
    tkl_semaphore_close(sem);
}

static void a_holder_stopped_past_its_lease_is_refused(void **state)
{
    fixture *f = *state;
    peer *p = peer_start(
        &(peer_options){.url = f->server->url, .name = "pool", .limit = 1, .lease_ms = 1500});
    tkl_semaphore *sem = permit(f, 1);
    assert_ok(peer_do(p, "acquire 0"));
    peer_signal(p, SIGSTOP);
    assert_ok(tkl_semaphore_acquire(sem, -1));
    peer_signal(p, SIGCONT);
    assert_code(peer_do(p, "renew 0"), TKL_NOTOWNER);
    assert_true(p->fence < tkl_semaphore_fence(sem));
    assert_code(peer_do(p, "release"), TKL_NOTOWNER);
    assert_int_equal(sem_holders(sem), 1);
    tkl_semaphore_close(sem);
    peer_end(p);
}

/* ---- Networks, types ----------------------------------------------------- */

/* A client whose clock is ahead neither sees leases end too early nor overtakes. */
static void wrong_clocks_change_nothing(void **state)
{
    fixture *f = *state;
    if (!peer_can_fake_clock())
        skip();
    static const int64_t hour = 3600000;
    for (int sign = -1; sign <= 1; sign += 2) {
        peer *slow = peer_start(&(peer_options){.url = f->server->url,
                                                .name = "pool",
                                                .limit = 1,
                                                .lease_ms = 3000,
                                                .clock_ms = -sign * hour});
        peer *fast = peer_start(&(peer_options){.url = f->server->url,
                                                .name = "pool",
                                                .limit = 1,
                                                .lease_ms = 60000,
                                                .clock_ms = sign * hour});
        tkl_semaphore *sem = permit(f, 1);
        assert_ok(peer_do(slow, "acquire 0"));
        assert_code(peer_do(fast, "acquire 0"), TKL_BUSY);
        assert_ok(peer_do(slow, "renew 3000"));
        peer_tell(fast, "acquire -1");
        eventually(sem_waiters(sem) == 1, LONG_MS);
        assert_code(tkl_semaphore_acquire(sem, 0), TKL_BUSY);
        assert_ok(peer_hear(fast)); /* the lease ended by itself */
        assert_code(peer_do(slow, "release"), TKL_NOTOWNER);
        assert_true(fast->fence > slow->fence);
        assert_ok(peer_do(fast, "release"));
        tkl_semaphore_close(sem);
        peer_end(slow);
        peer_end(fast);
    }
}

static void an_acquire_whose_reply_was_lost_takes_one_permit(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_semaphore *sem = open_sem(client, "pool", 5, &HOUR);
    for (int i = 0; i < 2; i++) { /* the second time the script is known */
        assert_ok(tkl_semaphore_acquire(sem, 0));
        assert_ok(tkl_semaphore_release(sem));
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(tkl_semaphore_acquire(sem, 0));
        assert_int_equal(sem_holders(sem), 1);
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(tkl_semaphore_release(sem));
        assert_int_equal(sem_holders(sem), 0);
    }
    tkl_semaphore_close(sem);
    tkl_close(client);
    proxy_end(p);
}

static void a_key_of_another_type_is_told_and_left_alone(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < TAMPER_KEYS; i++) {
        server_do(f->server, "FLUSHALL");
        tamper_take_key(f->server, "sem:{pool}", i);
        tkl_semaphore *sem = permit(f, 2);
        assert_code(tkl_semaphore_acquire(sem, 0), TKL_ETYPE);
        assert_code(tkl_semaphore_acquire(sem, -1), TKL_ETYPE);
        tamper_assert_taken(f->server, "sem:{pool}", i);
        assert_int_equal(server_ask_int(f->server, "DBSIZE"), 1);
        tkl_semaphore_close(sem);
    }
}

static void a_token_can_be_adopted(void **state)
{
    fixture *f = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_semaphore *one = held_permit(f, 2), *two = permit(f, 2);
    tkl_semaphore_token(one, token);
    assert_ok(tkl_semaphore_adopt(two, token, 0));
    assert_true(tkl_semaphore_fence(two) == tkl_semaphore_fence(one));
    assert_int_equal(sem_holders(two), 1);
    assert_ok(tkl_semaphore_release(two));
    assert_code(tkl_semaphore_release(one), TKL_NOTOWNER);
    tkl_semaphore_close(one);
    tkl_semaphore_close(two);
}

static void an_adopted_permit_is_renewed(void **state)
{
    fixture *f = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_semaphore *one = held_permit(f, 2);
    tkl_semaphore *two = open_sem(f->client, "pool", 2,
                                  &(tkl_semaphore_options){.lease_ms = 3000, .auto_renew = true});
    tkl_semaphore_token(one, token);
    assert_ok(tkl_semaphore_adopt(two, token, 0));
    test_sleep_ms(3500);
    assert_int_equal(tkl_semaphore_state(two), TKL_HOLD_HELD);
    assert_ok(tkl_semaphore_release(two));
    tkl_semaphore_close(one);
    tkl_semaphore_close(two);
}

static void locks_and_semaphores_of_one_name_are_apart(void **state)
{
    fixture *f = *state;
    tkl_lock *lock = open_lock(f->client, "pool", NULL);
    tkl_semaphore *sem = held_permit(f, 1);
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_semaphore_release(sem));
    assert_int_equal(lock_holders(lock), 1);
    tkl_lock_close(lock);
    tkl_semaphore_close(sem);
}

int main(int argc, char **argv)
{
    if (peer_called(argc, argv))
        return peer_main(argv);
    const struct CMUnitTest tests[] = {
        TEST(as_many_as_the_limit_and_no_more),
        TEST(threads_never_exceed_the_limit),
        TEST(limits_out_of_range_are_refused),
        TEST(a_limit_lowered_below_the_holders),
        TEST(a_limit_raised_lets_those_who_wait_in),
        TEST(those_who_wait_are_served_in_order),
        TEST(processes_are_served_in_order_past_the_dead_and_the_silent),
        TEST(many_silent_waiters_are_passed_over_together),
        TEST(each_permit_ends_by_itself),
        TEST(a_permit_is_renewed_alone),
        TEST(a_lost_permit_is_told_once),
        TEST(a_holder_stopped_past_its_lease_is_refused),
        TEST(wrong_clocks_change_nothing),
        TEST(an_acquire_whose_reply_was_lost_takes_one_permit),
        TEST(a_key_of_another_type_is_told_and_left_alone),
        TEST(a_token_can_be_adopted),
        TEST(an_adopted_permit_is_renewed),
        TEST(locks_and_semaphores_of_one_name_are_apart),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
