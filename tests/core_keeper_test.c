/* SPDX-License-Identifier: MIT
 *
 * The keeper: it does what is due, together where possible, until that is taken off its list.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/keeper.h"
#include "support/fixture.h"
#include "support/library.h"

static const char source[] = LIBRARY_HEAD("tackle_test")
    LIBRARY_FUNCTION("test_count", "", "return redis.call('INCR', KEYS[1])");
static const tkl__origin origins[] = {{1, "test/count.lua", 1}, {0}};
static const tkl__library library = {"tackle_test", source, sizeof source - 1, origins};
static const tkl__script count_script = {
    .name = "test/count", .function = "test_count", .library = &library, .nkeys = 1};

/* Counts up a key every so often. */
typedef struct clockwork {
    tkl__kept kept;
    tkl_bytes key;
    int64_t every_ms;  /* 0: once */
    bool silent;       /* runs no script */
    tkl_client *eager; /* asks to be called again at once, during its first turn */
    atomic_int prepared, done, failed;
} clockwork;

static bool prepare(tkl__kept *kept, tkl__invocation *call)
{
    clockwork *c = (clockwork *)kept;
    atomic_fetch_add(&c->prepared, 1);
    *call = (tkl__invocation){.script = &count_script, .keys = &c->key, .nkeys = 1};
    return !c->silent;
}

static void done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    clockwork *c = (clockwork *)kept;
    if (rc == TKL_OK)
        assert_true(tkl_reply_int(reply) > 0);
    if (c->eager && atomic_load(&c->done) == 0)
        assert_ok(tkl__keep(c->eager, kept, tkl__now()));
    atomic_fetch_add(rc == TKL_OK ? &c->done : &c->failed, 1);
}

static int64_t due(tkl__kept *kept)
{
    clockwork *c = (clockwork *)kept;
    return c->every_ms > 0 ? tkl__deadline_ms(c->every_ms) : TKL__FOREVER;
}

static clockwork every(const char *key, int64_t ms)
{
    return (clockwork){.kept = {.prepare = prepare, .done = done, .due = due},
                       .key = tkl_str(key),
                       .every_ms = ms};
}

/* ---- One ----------------------------------------------------------------- */

static void what_is_due_is_done_again_and_again(void **state)
{
    fixture *f = *state;
    clockwork c = every("n", 30);
    assert_ok(tkl__keep(f->client, &c.kept, tkl__now()));
    eventually(atomic_load(&c.done) >= 5, 20000);
    tkl__unkeep_wait(f->client, &c.kept);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), atomic_load(&c.done));
}

static void nothing_is_done_before_its_time(void **state)
{
    fixture *f = *state;
    clockwork c = every("n", 0);
    int64_t start_ms = test_now_ms();
    assert_ok(tkl__keep(f->client, &c.kept, tkl__deadline_ms(200)));
    eventually(atomic_load(&c.done) == 1, 20000);
    assert_true(test_now_ms() - start_ms >= 170); /* a renewal due within 20 ms may go along */
    tkl__unkeep_wait(f->client, &c.kept);
}

static void for_ever_is_never_again(void **state)
{
    fixture *f = *state;
    clockwork c = every("n", 0);
    assert_ok(tkl__keep(f->client, &c.kept, tkl__now()));
    eventually(atomic_load(&c.done) == 1, 20000);
    test_sleep_ms(100);
    assert_int_equal(atomic_load(&c.prepared), 1);
    tkl__unkeep_wait(f->client, &c.kept);
}

static void an_appointment_can_be_moved_forward(void **state)
{
    fixture *f = *state;
    clockwork c = every("n", 0);
    assert_ok(tkl__keep(f->client, &c.kept, tkl__deadline_ms(3600000)));
    test_sleep_ms(20);
    assert_ok(tkl__keep(f->client, &c.kept, tkl__now()));
    eventually(atomic_load(&c.done) == 1, 20000);
    tkl__unkeep_wait(f->client, &c.kept);
}

static void an_appointment_can_be_moved_during_a_turn(void **state)
{
    fixture *f = *state;
    clockwork c = every("n", 3600000);
    c.eager = f->client;
    assert_ok(tkl__keep(f->client, &c.kept, tkl__now()));
    eventually(atomic_load(&c.done) == 2, 20000);
    test_sleep_ms(100);
    assert_int_equal(atomic_load(&c.prepared), 2);
    tkl__unkeep_wait(f->client, &c.kept);
}

static void who_runs_no_script_is_asked_again(void **state)
{
    fixture *f = *state;
    clockwork c = every("n", 30);
    c.silent = true;
    assert_ok(tkl__keep(f->client, &c.kept, tkl__now()));
    eventually(atomic_load(&c.prepared) >= 3, 20000);
    tkl__unkeep_wait(f->client, &c.kept);
    assert_int_equal(atomic_load(&c.done) + atomic_load(&c.failed), 0);
    assert_int_equal(server_ask_int(f->server, "EXISTS n"), 0);
}

static void what_was_taken_off_is_left_alone(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 20; i++) {
        clockwork *c = malloc(sizeof(*c)); /* freed at once: a late call would be noticed */
        assert_non_null(c);
        *c = every("n", 1);
        assert_ok(tkl__keep(f->client, &c->kept, tkl__now()));
        test_sleep_ms(i % 4);
        tkl__unkeep_wait(f->client, &c->kept);
        free(c);
    }
}

static void a_sleeping_keeper_sends_nothing(void **state)
{
    fixture *f = *state;
    clockwork c = every("n", 0);
    assert_ok(tkl__keep(f->client, &c.kept, tkl__deadline_ms(3600000)));
    test_sleep_ms(20);
    int64_t before = server_commands(f->server);
    test_sleep_ms(200);
    assert_int_equal(server_commands(f->server), before);
    tkl__unkeep_wait(f->client, &c.kept);
}

/* ---- Many ---------------------------------------------------------------- */

#define MANY 600

static void many_are_kept_over_one_connection(void **state)
{
    fixture *f = *state;
    clockwork *all = calloc(MANY, sizeof(*all));
    assert_non_null(all);
    for (int i = 0; i < MANY; i++) {
        all[i] = every("n", 50);
        assert_ok(tkl__keep(f->client, &all[i].kept, tkl__deadline_ms(50)));
    }
    for (int i = 0; i < MANY; i++)
        eventually(atomic_load(&all[i].done) >= 3, 30000);
    assert_int_equal(server_connections(f->server, NULL), 1);
    for (int i = 0; i < MANY; i++)
        tkl__unkeep_wait(f->client, &all[i].kept);
    int64_t total = 0;
    for (int i = 0; i < MANY; i++)
        total += atomic_load(&all[i].done);
    assert_int_equal(server_ask_int(f->server, "GET n"), total);
    free(all);
}

static void come_and_go(void *arg, int index)
{
    (void)index;
    for (int i = 0; i < 50; i++) {
        clockwork c = every("n", 5);
        assert_ok(tkl__keep(arg, &c.kept, tkl__now()));
        test_sleep_ms(i % 3);
        tkl__unkeep_wait(arg, &c.kept);
    }
}

static void threads_come_and_go(void **state)
{
    fixture *f = *state;
    crew_run(16, come_and_go, f->client);
}

/* ---- Trouble ------------------------------------------------------------- */

static void a_lost_server_is_told_and_kept_on_trying(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 200});
    clockwork c = every("n", 30);
    assert_ok(tkl__keep(client, &c.kept, tkl__now()));
    eventually(atomic_load(&c.done) >= 1, 20000);
    server_kill(s);
    eventually(atomic_load(&c.failed) >= 1, 20000);
    server_restart(s);
    int before = atomic_load(&c.done);
    eventually(atomic_load(&c.done) > before, 20000);
    tkl__unkeep_wait(client, &c.kept);
    tkl_close(client);
    server_end(s);
}

static void closing_the_client_ends_the_keeper(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        tkl_client *client = test_open(f->server->url, NULL);
        clockwork c = every("n", 1);
        assert_ok(tkl__keep(client, &c.kept, tkl__now()));
        test_sleep_ms(i % 4);
        tkl__unkeep_wait(client, &c.kept);
        tkl_close(client);
    }
}

static void wait_until(atomic_int *counter, int least)
{
    for (int i = 0; i < 10000 && atomic_load(counter) < least; i++)
        test_sleep_ms(2);
}

static void a_forked_child_keeps_its_own_things_only(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    clockwork first = every("parent", 20), second = every("parent", 20);
    assert_ok(tkl__keep(f->client, &first.kept, tkl__now()));
    assert_ok(tkl__keep(f->client, &second.kept, tkl__now()));
    eventually(atomic_load(&first.done) > 0, 20000);
    pid_t child = fork();
    if (child == 0) {
        clockwork own = every("child", 5);
        if (tkl__keep(f->client, &own.kept, tkl__now()) != TKL_OK)
            _exit(1);
        tkl__unkeep_wait(f->client, &second.kept); /* not on this process' list */
        tkl__unkeep_wait(f->client, &first.kept);
        int inherited = atomic_load(&first.prepared) + atomic_load(&second.prepared);
        wait_until(&own.done, 5);
        bool mine = atomic_load(&own.done) >= 5;
        bool others = atomic_load(&first.prepared) + atomic_load(&second.prepared) > inherited;
        tkl__unkeep_wait(f->client, &own.kept);
        tkl_close(f->client);
        _exit(mine && !others ? 0 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    int before = atomic_load(&first.done);
    eventually(atomic_load(&first.done) > before, 20000);
    tkl__unkeep_wait(f->client, &first.kept);
    tkl__unkeep_wait(f->client, &second.kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_due_is_done_again_and_again),
        TEST(nothing_is_done_before_its_time),
        TEST(for_ever_is_never_again),
        TEST(an_appointment_can_be_moved_forward),
        TEST(an_appointment_can_be_moved_during_a_turn),
        TEST(who_runs_no_script_is_asked_again),
        TEST(what_was_taken_off_is_left_alone),
        TEST(a_sleeping_keeper_sends_nothing),
        TEST(many_are_kept_over_one_connection),
        TEST(threads_come_and_go),
        TEST(a_lost_server_is_told_and_kept_on_trying),
        TEST(closing_the_client_ends_the_keeper),
        TEST(a_forked_child_keeps_its_own_things_only),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
