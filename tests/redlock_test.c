/* SPDX-License-Identifier: MIT
 *
 * Redlock on three and five real servers that are killed, frozen, cut off and restarted empty.
 *
 * ctest: label threads
 */
#include <tackle/redlock.h>

#include <stdatomic.h>
#include <sys/mman.h>

#include "support/call.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/server.h"

#define SERVERS 5
#define KEY     "tackle:redlock:{name}"
#define LONG_MS 60000

typedef struct world {
    server *servers[SERVERS];
    tkl_client *clients[SERVERS];
} world;

/* ---- The fixture --------------------------------------------------------- */

static int start_world(void **state)
{
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    for (int i = 0; i < SERVERS; i++)
        w->servers[i] = server_start(NULL);
    *state = w;
    return 0;
}

static int end_world(void **state)
{
    world *w = *state;
    for (int i = 0; i < SERVERS; i++)
        server_end(w->servers[i]);
    free(w);
    return 0;
}

static int fresh(void **state)
{
    world *w = *state;
    for (int i = 0; i < SERVERS; i++) {
        if (w->servers[i]->pid == 0)
            server_restart(w->servers[i]);
        server_thaw(w->servers[i]);
        server_do(w->servers[i], "FLUSHALL");
        server_do(w->servers[i], "SCRIPT FLUSH");
        w->clients[i] = test_open(w->servers[i]->url, NULL);
    }
    return 0;
}

static int done(void **state)
{
    world *w = *state;
    for (int i = 0; i < SERVERS; i++)
        tkl_close(w->clients[i]);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)

/* A lock on the first `count` servers, with time for slow machines. */
static tkl_redlock *open_with(world *w, size_t count, int64_t ttl_ms, int64_t node_timeout_ms)
{
    tkl_redlock_options options = {
        .ttl_ms = ttl_ms, .node_timeout_ms = node_timeout_ms, .retry_delay_ms = 10};
    tkl_redlock *lock;
    assert_ok(tkl_redlock_open(w->clients, count, tkl_str("name"), &options, &lock));
    return lock;
}

static tkl_redlock *open_on(world *w, size_t count)
{
    return open_with(w, count, LONG_MS, 20000);
}

/* How many of the first `count` servers have this value under the key. */
static int holds(world *w, int count, const char *value)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (w->servers[i]->pid == 0)
            continue;
        char *text = server_ask(w->servers[i], "GET " KEY);
        n += strcmp(text, value) == 0;
        free(text);
    }
    return n;
}

static int holds_token(world *w, int count, tkl_redlock *lock)
{
    char token[TKL_TOKEN_SIZE];
    tkl_redlock_token(lock, token);
    return holds(w, count, token);
}

static int holds_nothing(world *w, int count)
{
    return holds(w, count, "");
}

static void freeze(world *w, int from, int to)
{
    for (int i = from; i < to; i++)
        server_freeze(w->servers[i]);
}

static void thaw(world *w, int from, int to)
{
    for (int i = from; i < to; i++)
        server_thaw(w->servers[i]);
}

static void kill_servers(world *w, int from, int to)
{
    for (int i = from; i < to; i++)
        server_kill(w->servers[i]);
}

/* ---- All servers well ---------------------------------------------------- */

static void a_free_lock_is_had_on_every_server(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    char token[TKL_TOKEN_SIZE];
    assert_ok(tkl_redlock_acquire(lock, 0));
    tkl_redlock_token(lock, token);
    assert_int_equal(strspn(token, "0123456789abcdef"), 32);
    eventually(holds(w, 3, token) == 3, 20000);
    int64_t pttl = server_ask_int(w->servers[0], "PTTL " KEY);
    assert_true(pttl > LONG_MS / 2 && pttl <= LONG_MS);
    assert_ok(tkl_redlock_release(lock));
    eventually(holds_nothing(w, 3) == 3, 20000);
    tkl_redlock_token(lock, token);
    assert_string_equal(token, "");
    tkl_redlock_close(lock);
}

static void acquire_extend_release(world *w)
{
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_extend(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock); /* now the last server has answered, too */
}

static void an_operation_is_one_trip_to_each_server(void **state)
{
    world *w = *state;
    acquire_extend_release(w); /* the servers learn the scripts */
    for (int i = 0; i < 3; i++)
        server_do(w->servers[i], "CONFIG RESETSTAT");
    acquire_extend_release(w);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(server_calls(w->servers[i], "set"), 1);
        assert_int_equal(server_calls(w->servers[i], "evalsha"), 2);
        assert_int_equal(server_calls(w->servers[i], "eval"), 0);
    }
}

static void the_validity_is_the_lease_less_the_time_it_took_and_the_drift(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    int64_t full = LONG_MS - LONG_MS / 100 - 2;
    int64_t before = test_now_ms();
    assert_ok(tkl_redlock_acquire(lock, 0));
    int64_t left = tkl_redlock_left_ms(lock);
    int64_t took = test_now_ms() - before;
    assert_in_range(left, full - took - 2, full);

    before = test_now_ms();
    assert_ok(tkl_redlock_extend(lock, 2 * LONG_MS));
    left = tkl_redlock_left_ms(lock);
    took = test_now_ms() - before;
    full = 2 * LONG_MS - 2 * LONG_MS / 100 - 2;
    assert_in_range(left, full - took - 2, full);

    assert_ok(tkl_redlock_release(lock));
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    tkl_redlock_close(lock);
}

static void a_second_owner_is_refused_and_leaves_nothing(void **state)
{
    world *w = *state;
    tkl_redlock *first = open_on(w, 3), *second = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(first, 0));
    eventually(holds_token(w, 3, first) == 3, 20000);
    assert_code(tkl_redlock_acquire(second, 0), TKL_BUSY);
    assert_code(tkl_redlock_acquire(second, 50), TKL_BUSY);
    assert_int_equal(holds_token(w, 3, first), 3);
    assert_ok(tkl_redlock_release(first));
    assert_ok(tkl_redlock_acquire(second, 20000));
    tkl_redlock_close(second);
    tkl_redlock_close(first);
}

static void a_failed_try_gives_back_the_minority_it_got(void **state)
{
    world *w = *state;
    server_do(w->servers[0], "SET " KEY " other");
    server_do(w->servers[1], "SET " KEY " other");
    tkl_redlock *lock = open_on(w, 3);
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY);
    tkl_redlock_close(lock); /* waits for the release under way */
    assert_int_equal(holds_nothing(w, 3), 1);
    assert_int_equal(holds(w, 3, "other"), 2);
}

static void a_waiter_gets_what_expires(void **state)
{
    world *w = *state;
    tkl_redlock *first = open_with(w, 3, 2000, 5000), *second = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(first, 0));
    assert_ok(tkl_redlock_acquire(second, 20000));
    assert_int_equal(tkl_redlock_left_ms(first), 0);
    tkl_redlock_close(second);
    tkl_redlock_close(first);
}

static void wait_in_vain(void *arg, int index)
{
    (void)index;
    assert_code(tkl_redlock_acquire(arg, -1), TKL_BUSY);
}

static void a_wait_can_be_called_off(void **state)
{
    world *w = *state;
    tkl_redlock *holder = open_on(w, 3), *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(holder, 0));
    crew *waiter = crew_start(1, wait_in_vain, lock);
    test_sleep_ms(50);
    tkl_redlock_cancel(lock);
    crew_join(waiter);
    assert_code(tkl_redlock_acquire(lock, -1), TKL_BUSY); /* it only tries from now on */
    assert_ok(tkl_redlock_release(holder));
    assert_ok(tkl_redlock_acquire(lock, -1));
    tkl_redlock_close(lock);
    tkl_redlock_close(holder);
}

static void one_server_is_a_majority_of_one(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 1), *other = open_on(w, 1);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_code(tkl_redlock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_redlock_release(lock));
    assert_ok(tkl_redlock_acquire(other, 0));
    tkl_redlock_close(other);
    tkl_redlock_close(lock);
}

static void closing_releases(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    tkl_redlock_close(lock);
    assert_int_equal(holds_nothing(w, 3), 3);
    tkl_redlock_close(NULL);
}

static void names_and_namespaces_do_not_mix(void **state)
{
    world *w = *state;
    char *huge = malloc(TKL_NAME_MAX);
    assert_non_null(huge);
    memset(huge, 'x', TKL_NAME_MAX);
    tkl_client *apart[3];
    for (int i = 0; i < 3; i++)
        apart[i] = test_open(w->servers[i]->url, &(tkl_options){.ns = "apart"});
    const tkl_bytes names[] = {
        tkl_str("a"), tkl_str("{a}"), {"a\0b", 3}, {"a\0c", 3}, {huge, TKL_NAME_MAX}};
    enum { NAMES = sizeof(names) / sizeof(*names) };
    tkl_redlock *locks[NAMES + 1];
    for (int i = 0; i < NAMES + 1; i++) {
        tkl_client *const *nodes = i < NAMES ? w->clients : apart;
        assert_ok(tkl_redlock_open(nodes, 3, names[i % NAMES], NULL, &locks[i]));
        assert_ok(tkl_redlock_acquire(locks[i], 20000));
    }
    for (int i = 0; i < NAMES + 1; i++)
        tkl_redlock_close(locks[i]);
    for (int i = 0; i < 3; i++)
        tkl_close(apart[i]);
    free(huge);
}

/* ---- Mutual exclusion ---------------------------------------------------- */

/* In memory that processes share. */
typedef struct register_ {
    atomic_int inside, together, turns;
} register_;

static void enter_and_leave(register_ *r)
{
    if (atomic_fetch_add(&r->inside, 1) != 0)
        atomic_fetch_add(&r->together, 1);
    test_sleep_ms(1);
    atomic_fetch_sub(&r->inside, 1);
    atomic_fetch_add(&r->turns, 1);
}

typedef struct contest {
    world *world;
    register_ *shared;
    int turns;
} contest;

static void take_turns(void *arg, int index)
{
    contest *c = arg;
    tkl_redlock *lock = open_on(c->world, index % 2 ? 5 : 4); /* two of the sets that overlap */
    for (int i = 0; i < c->turns; i++) {
        assert_ok(tkl_redlock_acquire(lock, LONG_MS));
        enter_and_leave(c->shared);
        assert_ok(tkl_redlock_release(lock));
    }
    tkl_redlock_close(lock);
}

static void threads_exclude_each_other(void **state)
{
    register_ shared = {0};
    contest c = {.world = *state, .shared = &shared, .turns = 10};
    crew_run(6, take_turns, &c);
    assert_int_equal(atomic_load(&shared.together), 0);
    assert_int_equal(atomic_load(&shared.turns), 60);
}

static int take_turns_in_a_process(void *arg)
{
    contest *c = arg;
    tkl_redlock_options options = {.ttl_ms = LONG_MS, .node_timeout_ms = 5000, .retry_delay_ms = 5};
    tkl_redlock *lock;
    int rc = tkl_redlock_open(c->world->clients, 3, tkl_str("name"), &options, &lock);
    for (int i = 0; rc == TKL_OK && i < c->turns; i++) {
        rc = tkl_redlock_acquire(lock, LONG_MS);
        if (rc == TKL_OK) {
            enter_and_leave(c->shared);
            rc = tkl_redlock_release(lock);
        }
    }
    tkl_redlock_close(lock);
    return rc == TKL_OK ? 0 : 1;
}

static void processes_exclude_each_other(void **state)
{
    register_ *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    contest c = {.world = *state, .shared = shared, .turns = 10};
    pid_t pids[4];
    for (int i = 0; i < 4; i++)
        pids[i] = process_fork(take_turns_in_a_process, &c);
    for (int i = 0; i < 4; i++)
        assert_int_equal(process_wait(pids[i]), 0);
    assert_int_equal(atomic_load(&shared->together), 0);
    assert_int_equal(atomic_load(&shared->turns), 40);
    munmap(shared, sizeof(*shared));
}

/* A handle with threads at work is forked: the child has none of them. */
static int use_the_parents_handle(void *arg)
{
    tkl_redlock *lock = arg;
    int rc = tkl_redlock_acquire(lock, 20000);
    if (rc == TKL_OK)
        rc = tkl_redlock_extend(lock, 0);
    if (rc == TKL_OK)
        rc = tkl_redlock_release(lock);
    tkl_redlock_close(lock);
    return rc == TKL_OK ? 0 : 1;
}

/* ThreadSanitizer does not let the child of a program with threads start any. */
static void skip_where_children_have_no_threads(void)
{
#if defined(__SANITIZE_THREAD__)
    skip();
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    skip();
#endif
#endif
}

static void a_forked_child_may_go_on_with_the_handle(void **state)
{
    world *w = *state;
    skip_where_children_have_no_threads();
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    eventually(holds_nothing(w, 3) == 3, 20000);
    assert_int_equal(process_wait(process_fork(use_the_parents_handle, lock)), 0);
    assert_ok(tkl_redlock_acquire(lock, 0));
    tkl_redlock_close(lock);
}

/* ---- Mutual exclusion while servers hang ---------------------------------- */

typedef struct chaos {
    world *world;
    register_ shared;
    atomic_bool over;
    atomic_int overstayed; /* this machine kept a holder from its work for longer than a lease */
} chaos;

static void take_turns_in_chaos(void *arg, int index)
{
    (void)index;
    chaos *c = arg;
    tkl_redlock *lock = open_with(c->world, 5, 3000, 100);
    while (!atomic_load(&c->over)) {
        int rc = tkl_redlock_acquire(lock, 200);
        if (rc != TKL_OK)
            continue;
        enter_and_leave(&c->shared);
        if (tkl_redlock_left_ms(lock) == 0)
            atomic_fetch_add(&c->overstayed, 1);
        tkl_redlock_release(lock);
    }
    tkl_redlock_close(lock);
}

static void late_requests_of_frozen_servers_break_nothing(void **state)
{
    chaos c = {.world = *state};
    crew *threads = crew_start(4, take_turns_in_chaos, &c);
    for (int round = 0; round < 15; round++) {
        server *first = c.world->servers[round % SERVERS];
        server *second = c.world->servers[(round + 1 + round % 3) % SERVERS];
        server_freeze(first);
        server_freeze(second);
        test_sleep_ms(150);
        server_thaw(first);
        server_thaw(second);
        test_sleep_ms(30);
    }
    eventually(atomic_load(&c.shared.turns) > 0, 20000);
    atomic_store(&c.over, true);
    crew_join(threads);
    assert_true(atomic_load(&c.shared.together) == 0 || atomic_load(&c.overstayed) > 0);
}

/* ---- Servers that are down ----------------------------------------------- */

static void a_dead_minority_does_not_matter(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 5), *other = open_on(w, 5);
    kill_servers(w, 3, 5);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_code(tkl_redlock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_redlock_extend(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    assert_ok(tkl_redlock_acquire(other, 0));
    tkl_redlock_close(other);
    tkl_redlock_close(lock);
}

static void a_minority_that_dies_while_it_is_held_does_not_matter(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 5);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(holds_token(w, 5, lock) == 5, 20000);
    kill_servers(w, 0, 2);
    assert_ok(tkl_redlock_extend(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
}

static void without_a_majority_nothing_is_had_and_nothing_is_left(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 5);
    kill_servers(w, 0, 3);
    assert_code(tkl_redlock_acquire(lock, 0), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "no majority of 5 servers answered");
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    tkl_redlock_close(lock); /* waits for the releases under way */
    assert_int_equal(holds_nothing(w, 5), 2);
}

static void what_was_never_reached_is_not_waited_for(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    kill_servers(w, 0, 2);
    assert_code(tkl_redlock_acquire(lock, -1), TKL_ENOTSENT);
    tkl_redlock_close(lock);
}

static void acquire_patiently(void *arg, int index)
{
    (void)index;
    assert_ok(tkl_redlock_acquire(arg, -1));
}

static void a_waiter_sits_out_the_restart_of_a_majority(void **state)
{
    world *w = *state;
    for (int i = 0; i < 3; i++)
        call_expect(w->clients[i], "PONG", "PING", NULL);
    tkl_redlock *lock = open_with(w, 3, LONG_MS, 200);
    kill_servers(w, 0, 2);
    crew *waiter = crew_start(1, acquire_patiently, lock);
    test_sleep_ms(300);
    server_restart(w->servers[0]);
    server_restart(w->servers[1]);
    crew_join(waiter);
    assert_true(tkl_redlock_left_ms(lock) > 0);
    tkl_redlock_close(lock);
}

static void a_majority_that_refuses_is_told_at_once(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.password = "secret"});
    tkl_client *client = test_open(s->url, NULL);
    tkl_redlock_options options = {.node_timeout_ms = 5000};
    tkl_redlock *lock;
    assert_ok(tkl_redlock_open(&client, 1, tkl_str("name"), &options, &lock));
    assert_code(tkl_redlock_acquire(lock, -1), TKL_EAUTH);
    tkl_redlock_close(lock);
    tkl_close(client);
    server_end(s);
}

/* ---- Servers that hang --------------------------------------------------- */

static void frozen_servers_delay_nobody_while_a_majority_answers(void **state)
{
    world *w = *state;
    enum { TIMEOUT = 20000 };
    tkl_redlock *lock = open_with(w, 5, LONG_MS, TIMEOUT);
    freeze(w, 0, 2);
    int64_t start = test_now_ms();
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_extend(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    assert_true(test_now_ms() - start < TIMEOUT);
    thaw(w, 0, 2);
    tkl_redlock_close(lock);
}

static void a_frozen_majority_delays_no_longer_than_the_time_out(void **state)
{
    world *w = *state;
    for (int i = 0; i < 3; i++)
        call_expect(w->clients[i], "PONG", "PING", NULL);
    tkl_redlock *lock = open_with(w, 3, 1000, 200);
    freeze(w, 0, 2);
    int64_t start = test_now_ms();
    assert_code(tkl_redlock_acquire(lock, 0), TKL_ENOTSENT);
    int64_t took = test_now_ms() - start;
    assert_true(took >= 195 && took < 15000); /* the client's own would be 20 s */
    eventually(server_ask_int(w->servers[2], "EXISTS " KEY) == 0, 20000);
    thaw(w, 0, 2);
    /* What they were told while frozen they do now, in any order; it ends with the lease. */
    eventually(holds_nothing(w, 3) == 3, 10000);
    tkl_redlock_close(lock);
}

static void many_tries_against_a_frozen_minority_pile_up_nothing(void **state)
{
    world *w = *state;
    tkl_redlock *holder = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(holder, 0));
    eventually(holds_token(w, 3, holder) == 3, 20000);
    tkl_redlock_options options = {.node_timeout_ms = 2000, .retry_delay_ms = 1};
    tkl_redlock *lock;
    assert_ok(tkl_redlock_open(w->clients, 3, tkl_str("name"), &options, &lock));
    freeze(w, 2, 3);
    assert_code(tkl_redlock_acquire(lock, 1000), TKL_BUSY);
    assert_ok(tkl_redlock_release(holder));
    assert_ok(tkl_redlock_acquire(lock, 20000));
    assert_ok(tkl_redlock_release(lock));
    thaw(w, 2, 3);
    tkl_redlock_close(lock);
    tkl_redlock_close(holder);
}

static void an_extension_that_reached_no_majority_may_be_repeated(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_with(w, 3, LONG_MS, 300);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    eventually(holds_token(w, 3, lock) == 3, 20000);
    freeze(w, 0, 2);
    assert_code(tkl_redlock_extend(lock, 0), TKL_ENOTSENT);
    assert_true(tkl_redlock_left_ms(lock) > 0);
    thaw(w, 0, 2);
    int rc = TKL_ENOTSENT;
    eventually((rc = tkl_redlock_extend(lock, 0)) != TKL_ENOTSENT, 10000);
    assert_ok(rc);
    tkl_redlock_close(lock);
}

static void a_release_that_reached_no_majority_frees_the_handle(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_with(w, 3, LONG_MS, 300);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    freeze(w, 0, 2);
    assert_code(tkl_redlock_release(lock), TKL_ENOTSENT);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    assert_code(tkl_redlock_release(lock), TKL_EINVAL);
    thaw(w, 0, 2);
    tkl_redlock_close(lock);
}

static void an_answer_that_was_lost_counts_as_a_no_and_is_taken_back(void **state)
{
    world *w = *state;
    proxy *proxies[2];
    tkl_client *nodes[3] = {NULL, NULL, w->clients[2]};
    for (int i = 0; i < 2; i++) {
        proxies[i] = proxy_start(w->servers[i]->socket);
        nodes[i] = test_open(proxy_url(proxies[i]), NULL);
        call_expect(nodes[i], "PONG", "PING", NULL);
        proxy_cut_after(proxies[i], TO_CLIENT, 0);
    }
    tkl_redlock *lock;
    tkl_redlock_options options = {.ttl_ms = LONG_MS, .node_timeout_ms = 5000};
    assert_ok(tkl_redlock_open(nodes, 3, tkl_str("name"), &options, &lock));
    assert_code(tkl_redlock_acquire(lock, 0), TKL_ENOTSENT);
    eventually(server_calls(w->servers[0], "set") + server_calls(w->servers[1], "set") >= 2, 20000);
    eventually(holds_nothing(w, 3) == 3, 20000);
    assert_ok(tkl_redlock_acquire(lock, 0));
    tkl_redlock_close(lock);
    for (int i = 0; i < 2; i++) {
        tkl_close(nodes[i]);
        proxy_end(proxies[i]);
    }
}

/* ---- Servers that forget ------------------------------------------------- */

static void a_server_restarted_empty_gets_the_lock_back_when_it_is_extended(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(holds_token(w, 3, lock) == 3, 20000);
    for (int i = 0; i < 3; i++) {
        server_restart(w->servers[i]);
        tkl_redlock *other = open_on(w, 3);
        assert_code(tkl_redlock_acquire(other, 0), TKL_BUSY);
        tkl_redlock_close(other); /* it has given back what it got */
        assert_int_equal(holds_token(w, 3, lock), 2);
        assert_int_equal(holds_nothing(w, 3), 1);
        assert_ok(tkl_redlock_extend(lock, 0));
        eventually(holds_token(w, 3, lock) == 3, 20000);
    }
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
}

static void a_majority_restarted_empty_has_lost_the_lock(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(holds_token(w, 3, lock) == 3, 20000);
    server_restart(w->servers[0]);
    server_restart(w->servers[1]);
    assert_code(tkl_redlock_extend(lock, 0), TKL_NOTOWNER);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    tkl_redlock_close(lock);
}

static void a_minority_that_is_another_owners_stays_so(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(holds_token(w, 3, lock) == 3, 20000);
    server_do(w->servers[1], "SET " KEY " other");
    assert_ok(tkl_redlock_extend(lock, 0));
    assert_ok(tkl_redlock_release(lock));
    tkl_redlock_close(lock);
    assert_int_equal(holds(w, 3, "other"), 1);
}

/* ---- Leases -------------------------------------------------------------- */

static void extending_lengthens_and_never_shortens(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 1);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_ok(tkl_redlock_extend(lock, 10 * LONG_MS));
    assert_true(server_ask_int(w->servers[0], "PTTL " KEY) > 9 * LONG_MS);
    assert_ok(tkl_redlock_extend(lock, LONG_MS));
    assert_true(server_ask_int(w->servers[0], "PTTL " KEY) > 9 * LONG_MS);
    assert_true(tkl_redlock_left_ms(lock) < LONG_MS);
    tkl_redlock_close(lock);
}

static void what_expired_cannot_be_extended_and_is_not_written_again(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_with(w, 3, 100, 20000);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    eventually(holds_nothing(w, 3) == 3, 20000);
    assert_code(tkl_redlock_extend(lock, LONG_MS), TKL_NOTOWNER);
    tkl_redlock_close(lock);
    assert_int_equal(holds_nothing(w, 3), 3);
}

static void releasing_what_expired_is_told(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_with(w, 3, 100, 20000);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    eventually(holds_nothing(w, 3) == 3, 20000);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    assert_code(tkl_redlock_release(lock), TKL_NOTOWNER);
    assert_ok(tkl_redlock_acquire(lock, 20000));
    tkl_redlock_close(lock);
}

static void releasing_touches_nobody_elses(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(holds_token(w, 3, lock) == 3, 20000);
    for (int i = 0; i < 3; i++)
        server_do(w->servers[i], "SET " KEY " other");
    assert_code(tkl_redlock_release(lock), TKL_NOTOWNER);
    tkl_redlock_close(lock);
    assert_int_equal(holds(w, 3, "other"), 3);
}

static void a_lease_shorter_than_its_acquisition_is_never_had(void **state)
{
    world *w = *state;
    proxy *p = proxy_start(w->servers[0]->socket);
    tkl_client *slow = test_open(proxy_url(p), NULL);
    call_expect(slow, "PONG", "PING", NULL);
    proxy_delay(p, TO_CLIENT, 150);
    tkl_redlock *lock;
    tkl_redlock_options options = {.ttl_ms = 100, .node_timeout_ms = 5000};
    assert_ok(tkl_redlock_open(&slow, 1, tkl_str("name"), &options, &lock));
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY);
    assert_int_equal(holds_nothing(w, 1), 1);
    tkl_redlock_close(lock);
    tkl_close(slow);
    proxy_end(p);
}

/* ---- Tokens -------------------------------------------------------------- */

static void a_token_is_enough_to_extend_and_release_from_elsewhere(void **state)
{
    world *w = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_redlock *here = open_on(w, 3), *there = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(here, 0));
    tkl_redlock_token(here, token);
    assert_ok(tkl_redlock_adopt(there, token));
    assert_int_equal(tkl_redlock_left_ms(there), 0);
    assert_ok(tkl_redlock_extend(there, 0));
    assert_true(tkl_redlock_left_ms(there) > 0);
    assert_ok(tkl_redlock_release(there));
    assert_code(tkl_redlock_release(here), TKL_NOTOWNER);
    tkl_redlock_close(there);
    tkl_redlock_close(here);
}

static void a_detached_lock_stays_held(void **state)
{
    world *w = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_redlock *lock = open_on(w, 3);
    assert_ok(tkl_redlock_acquire(lock, 0));
    eventually(holds_token(w, 3, lock) == 3, 20000);
    tkl_redlock_token(lock, token);
    tkl_redlock_detach(lock);
    assert_int_equal(tkl_redlock_left_ms(lock), 0);
    tkl_redlock_close(lock);
    assert_int_equal(holds(w, 3, token), 3);
}

static void only_a_token_can_be_adopted_and_only_by_a_free_handle(void **state)
{
    world *w = *state;
    static const char other[] = "0123456789abcdef0123456789abcdef";
    tkl_redlock *lock = open_on(w, 3);
    assert_code(tkl_redlock_adopt(lock, ""), TKL_NOTOWNER);
    assert_code(tkl_redlock_adopt(lock, "0123456789abcdef"), TKL_NOTOWNER);
    assert_code(tkl_redlock_adopt(lock, "0123456789ABCDEF0123456789ABCDEF"), TKL_NOTOWNER);
    assert_ok(tkl_redlock_adopt(lock, other));
    assert_code(tkl_redlock_adopt(lock, other), TKL_EINVAL);
    assert_code(tkl_redlock_extend(lock, 0), TKL_NOTOWNER);
    assert_code(tkl_redlock_release(lock), TKL_NOTOWNER);
    assert_int_equal(holds_nothing(w, 3), 3);
    tkl_redlock_close(lock);
}

/* ---- Mistakes ------------------------------------------------------------ */

static void refuse(tkl_client *const *nodes, size_t count, tkl_bytes name,
                   tkl_redlock_options options)
{
    tkl_redlock *lock = (tkl_redlock *)(void *)&options;
    assert_code(tkl_redlock_open(nodes, count, name, &options, &lock), TKL_EINVAL);
    assert_null(lock);
}

static void wrong_arguments_are_refused(void **state)
{
    world *w = *state;
    tkl_client *many[65], *none[2] = {w->clients[0], NULL};
    char *huge = calloc(1, TKL_NAME_MAX + 1);
    assert_non_null(huge);
    for (int i = 0; i < 65; i++)
        many[i] = w->clients[0];
    tkl_bytes name = tkl_str("name");
    tkl_redlock_options good = {0};
    refuse(w->clients, 0, name, good);
    refuse(many, 65, name, good);
    refuse(many, 3, name, good); /* the same one */
    refuse(none, 2, name, good);
    refuse(w->clients, 3, tkl_str(""), good);
    refuse(w->clients, 3, (tkl_bytes){huge, TKL_NAME_MAX + 1}, good);
    refuse(w->clients, 3, name, (tkl_redlock_options){.ttl_ms = -1});
    refuse(w->clients, 3, name, (tkl_redlock_options){.ttl_ms = 9});
    refuse(w->clients, 3, name, (tkl_redlock_options){.ttl_ms = INT64_MAX});
    refuse(w->clients, 3, name, (tkl_redlock_options){.node_timeout_ms = -1});
    refuse(w->clients, 3, name, (tkl_redlock_options){.retry_delay_ms = -1});
    free(huge);
}

static void what_is_held_is_not_acquired_again_and_what_is_free_not_released(void **state)
{
    world *w = *state;
    tkl_redlock *lock = open_on(w, 3);
    assert_code(tkl_redlock_release(lock), TKL_EINVAL);
    assert_code(tkl_redlock_extend(lock, 0), TKL_EINVAL);
    assert_ok(tkl_redlock_acquire(lock, 0));
    assert_code(tkl_redlock_acquire(lock, 0), TKL_EINVAL);
    assert_code(tkl_redlock_extend(lock, -1), TKL_EINVAL);
    assert_true(tkl_redlock_left_ms(lock) > 0);
    tkl_redlock_close(lock);
}

static void a_key_of_another_type_is_in_the_way_but_not_harmed(void **state)
{
    world *w = *state;
    for (int i = 0; i < 2; i++)
        server_do(w->servers[i], "RPUSH " KEY " element");
    tkl_redlock *lock = open_on(w, 3);
    assert_code(tkl_redlock_acquire(lock, 0), TKL_BUSY);
    tkl_redlock_close(lock);
    assert_int_equal(server_ask_int(w->servers[0], "LLEN " KEY), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_free_lock_is_had_on_every_server),
        TEST(an_operation_is_one_trip_to_each_server),
        TEST(the_validity_is_the_lease_less_the_time_it_took_and_the_drift),
        TEST(a_second_owner_is_refused_and_leaves_nothing),
        TEST(a_failed_try_gives_back_the_minority_it_got),
        TEST(a_waiter_gets_what_expires),
        TEST(a_wait_can_be_called_off),
        TEST(one_server_is_a_majority_of_one),
        TEST(closing_releases),
        TEST(names_and_namespaces_do_not_mix),
        TEST(threads_exclude_each_other),
        TEST(processes_exclude_each_other),
        TEST(a_forked_child_may_go_on_with_the_handle),
        TEST(late_requests_of_frozen_servers_break_nothing),
        TEST(a_dead_minority_does_not_matter),
        TEST(a_minority_that_dies_while_it_is_held_does_not_matter),
        TEST(without_a_majority_nothing_is_had_and_nothing_is_left),
        TEST(what_was_never_reached_is_not_waited_for),
        TEST(a_waiter_sits_out_the_restart_of_a_majority),
        TEST(a_majority_that_refuses_is_told_at_once),
        TEST(frozen_servers_delay_nobody_while_a_majority_answers),
        TEST(a_frozen_majority_delays_no_longer_than_the_time_out),
        TEST(many_tries_against_a_frozen_minority_pile_up_nothing),
        TEST(an_extension_that_reached_no_majority_may_be_repeated),
        TEST(a_release_that_reached_no_majority_frees_the_handle),
        TEST(an_answer_that_was_lost_counts_as_a_no_and_is_taken_back),
        TEST(a_server_restarted_empty_gets_the_lock_back_when_it_is_extended),
        TEST(a_majority_restarted_empty_has_lost_the_lock),
        TEST(a_minority_that_is_another_owners_stays_so),
        TEST(extending_lengthens_and_never_shortens),
        TEST(what_expired_cannot_be_extended_and_is_not_written_again),
        TEST(releasing_what_expired_is_told),
        TEST(releasing_touches_nobody_elses),
        TEST(a_lease_shorter_than_its_acquisition_is_never_had),
        TEST(a_token_is_enough_to_extend_and_release_from_elsewhere),
        TEST(a_detached_lock_stays_held),
        TEST(only_a_token_can_be_adopted_and_only_by_a_free_handle),
        TEST(wrong_arguments_are_refused),
        TEST(what_is_held_is_not_acquired_again_and_what_is_free_not_released),
        TEST(a_key_of_another_type_is_in_the_way_but_not_harmed),
    };
    return cmocka_run_group_tests(tests, start_world, end_world);
}
