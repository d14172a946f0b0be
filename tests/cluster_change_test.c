/* SPDX-License-Identifier: MIT
 *
 * A client of a real cluster while its servers move slots, fail over and die.
 *
 * ctest: label threads
 * ctest: cost 30
 */
#include "support/clustered.h"

#include <limits.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Slots that move ----------------------------------------------------- */

/* How often a server has redirected a client. */
static int64_t times_moved(server *s)
{
    char *text = server_ask(s, "INFO errorstats");
    const char *found = strstr(text, "errorstat_MOVED:count=");
    int64_t count = found != NULL ? strtoll(found + strlen("errorstat_MOVED:count="), NULL, 10) : 0;
    free(text);
    return count;
}

static void a_moved_slot_is_followed_and_remembered(void **state)
{
    clustered *f = *state;
    int slot = slot_of("wanderer");
    server *from = cluster_owner(f->cluster, slot);
    server *to = cluster_other(f->cluster, slot);
    call_expect(f->client, "OK", "SET", "wanderer", "1", NULL);

    cluster_move_begin(from, to, slot);
    cluster_move_keys(from, to, slot, INT_MAX);
    cluster_move_end(f->cluster, to, slot);
    call_expect(f->client, "1", "GET", "wanderer", NULL);

    int64_t before = times_moved(from);
    for (int i = 0; i < 20; i++)
        call_expect(f->client, "1", "GET", "wanderer", NULL);
    assert_int_equal(times_moved(from), before);
}

typedef struct move {
    cluster *cluster;
    server *from, *to;
    int slot;
} move;

/* Declares the slot of "{half}..." to be moving; half of its keys are moved. */
static move half_moved(clustered *f)
{
    int slot = slot_of("half");
    move m = {f->cluster, cluster_owner(f->cluster, slot), cluster_other(f->cluster, slot), slot};
    call_expect(f->client, "OK", "MSET", "{half}a", "A", "{half}b", "B", "{half}c", "C", "{half}d",
                "D", NULL);
    cluster_move_begin(m.from, m.to, slot);
    cluster_move_keys(m.from, m.to, slot, 2);
    return m;
}

static void finish_move(const move *m)
{
    cluster_move_keys(m->from, m->to, m->slot, INT_MAX);
    cluster_move_end(m->cluster, m->to, m->slot);
}

static void finish_move_later(void *arg, int index)
{
    (void)index;
    test_sleep_ms(300);
    finish_move(arg);
}

static void keys_of_a_half_moved_slot_are_found(void **state)
{
    clustered *f = *state;
    move m = half_moved(f);
    call_expect(f->client, "A", "GET", "{half}a", NULL);
    call_expect(f->client, "B", "GET", "{half}b", NULL);
    call_expect(f->client, "C", "GET", "{half}c", NULL);
    call_expect(f->client, "D", "GET", "{half}d", NULL);
    call_expect(f->client, "OK", "SET", "{half}new", "N", NULL);
    assert_int_equal(server_ask_int(m.to, "CLUSTER COUNTKEYSINSLOT %d", m.slot), 3);
    finish_move(&m);
    call_expect(f->client, "N", "GET", "{half}new", NULL);
}

static void several_keys_of_a_half_moved_slot_wait_until_it_has_moved(void **state)
{
    clustered *f = *state;
    move m = half_moved(f);
    static const char *mget[] = {"MGET", "{half}a", "{half}b", "{half}c", "{half}d"};

    int code = tkl_call(f->client, 5, mget, NULL, &(tkl_call_options){.timeout_ms = 1000}, NULL);
    assert_true(code == TKL_EUNREADY || code == TKL_ETIMEOUT);

    crew *mover = crew_start(1, finish_move_later, &m);
    tkl_reply *values;
    assert_ok(tkl_call(f->client, 5, mget, NULL, NULL, &values));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(tkl_reply_str(tkl_reply_at(values, i))[0], "ABCD"[i]);
    tkl_reply_free(values);
    crew_join(mover);
}

static void a_pipeline_reaches_all_masters_and_a_half_moved_slot(void **state)
{
    clustered *f = *state;
    move m = half_moved(f);
    tkl_pipeline *pipeline;
    assert_ok(tkl_pipeline_open(f->client, NULL, &pipeline));
    for (int i = 0; i < 300; i++) {
        char key[32], half[32];
        key_name(key, i);
        snprintf(half, sizeof(half), "{half}%c", 'a' + i % 4);
        assert_ok(tkl_pipeline_addz(pipeline, "SET", key, key, NULL));
        assert_ok(tkl_pipeline_addz(pipeline, "GET", key, NULL));
        assert_ok(tkl_pipeline_addz(pipeline, "GET", half, NULL));
    }
    tkl_reply *replies;
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_int_equal(tkl_reply_count(replies), 900);
    for (int i = 0; i < 300; i++) {
        char key[32];
        key_name(key, i);
        assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 3 * (size_t)i)), "OK");
        assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 3 * (size_t)i + 1)), key);
        assert_int_equal(tkl_reply_str(tkl_reply_at(replies, 3 * (size_t)i + 2))[0], 'A' + i % 4);
    }
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    finish_move(&m);
}

static void serve_slot_later(void *arg, int index)
{
    const move *m = arg;
    (void)index;
    test_sleep_ms(500);
    server_do(m->from, "CLUSTER ADDSLOTS %d", m->slot);
}

static void an_unserved_slot_is_waited_for(void **state)
{
    clustered *f = *state;
    move m = {.slot = slot_of("orphan")};
    m.from = cluster_owner(f->cluster, m.slot);
    call_expect(f->client, "OK", "SET", "orphan", "1", NULL);
    server_do(m.from, "CLUSTER DELSLOTS %d", m.slot);

    int code = call_code(f->client, &(tkl_call_options){.timeout_ms = 200}, "GET", "orphan", NULL);
    assert_true(code == TKL_EUNREADY || code == TKL_ENOTSENT || code == TKL_ETIMEOUT);

    crew *helper = crew_start(1, serve_slot_later, &m);
    assert_ok(call_code(f->client, NULL, "SET", "orphan", "2", NULL));
    crew_join(helper);
    call_expect(f->client, "2", "GET", "orphan", NULL);
}

/* ---- Under load ---------------------------------------------------------- */

#define THREADS  16
#define COUNTERS 48

/* Threads that increment counters and remember the outcomes. */
typedef struct hammer {
    tkl_client *client;
    bool lossy; /* a server is killed: some outcomes are unknown, and its last writes may be lost */
    atomic_bool stop;
    atomic_int calls;
    atomic_int acked[COUNTERS];
    atomic_int unknown[COUNTERS];
    crew *crew;
} hammer;

static void increment(hammer *h, int counter, int64_t *seen)
{
    char key[32];
    key_name(key, counter);
    tkl_reply *reply;
    int code = tkl_callz(h->client, &reply, "INCR", key, NULL);
    h->calls++;
    if (code == TKL_OK) {
        h->acked[counter]++;
        if (!h->lossy && tkl_reply_int(reply) <= *seen)
            fail_msg("%s went back from %d to %d", key, (int)*seen, (int)tkl_reply_int(reply));
        *seen = tkl_reply_int(reply);
    } else if (code == TKL_EUNKNOWN && h->lossy) {
        h->unknown[counter]++;
    } else {
        fail_msg("INCR %s: %s: %s", key, tkl_codename(code), tkl_errmsg());
    }
    tkl_reply_free(reply);
}

static void hammer_work(void *arg, int index)
{
    hammer *h = arg;
    int64_t seen[COUNTERS] = {0};
    for (int i = index; !h->stop; i += 7)
        increment(h, i % COUNTERS, &seen[i % COUNTERS]);
}

static void hammer_wait(hammer *h, int more)
{
    int until = h->calls + more;
    eventually(h->calls >= until, 2 * PATIENCE_MS);
}

static void hammer_start(hammer *h, tkl_client *client, bool lossy)
{
    memset(h, 0, sizeof(*h));
    h->client = client;
    h->lossy = lossy;
    h->crew = crew_start(THREADS, hammer_work, h);
    hammer_wait(h, 1000);
}

/* Stops the threads and compares the counters. Replication is asynchronous: on each connection, the
 * killed server may have answered one command that its replica never got. */
static void hammer_stop(hammer *h)
{
    hammer_wait(h, 1000);
    h->stop = true;
    crew_join(h->crew);

    int64_t lost = 0;
    for (int i = 0; i < COUNTERS; i++) {
        char key[32];
        key_name(key, i);
        char *text = call_text(h->client, "GET", key, NULL);
        int64_t final = text != NULL ? atoll(text) : 0;
        free(text);
        lost += final < h->acked[i] ? h->acked[i] - final : 0;
        if (final > h->acked[i] + h->unknown[i])
            fail_msg("%s: %d, but only %d + %d calls", key, (int) final, h->acked[i],
                     h->unknown[i]);
    }
    assert_in_range(lost, 0, h->lossy ? THREADS : 0);
}

static void resharding_is_not_noticed(void **state)
{
    clustered *f = *state;
    static hammer h;
    hammer_start(&h, f->client, false);
    for (int i = 0; i < COUNTERS; i += 2) {
        char key[32];
        key_name(key, i);
        move m = {.cluster = f->cluster, .slot = slot_of(key)};
        m.from = cluster_owner(f->cluster, m.slot);
        m.to = cluster_other(f->cluster, m.slot);
        cluster_move_begin(m.from, m.to, m.slot);
        hammer_wait(&h, 50);
        finish_move(&m);
        hammer_wait(&h, 50);
    }
    hammer_stop(&h);
}

static void a_planned_failover_is_not_noticed(void **state)
{
    clustered *f = *state;
    static hammer h;
    hammer_start(&h, f->client, false);
    for (int i = 0; i < 4; i++) {
        cluster_fail_over(f->cluster, slot_of("key:0"));
        hammer_wait(&h, 500);
        cluster_heal(f->cluster);
    }
    hammer_stop(&h);
}

static void a_killed_master_is_replaced(void **state)
{
    clustered *f = *state;
    static hammer h;
    hammer_start(&h, f->client, true);
    int slot = slot_of("key:0");
    server *victim = cluster_owner(f->cluster, slot);
    server *replica = cluster_replica(f->cluster, victim);
    server_kill(victim);
    eventually(cluster_owner(f->cluster, slot) == replica, PATIENCE_MS);
    hammer_wait(&h, 1000);
    cluster_heal(f->cluster); /* the victim comes back as a replica */
    hammer_stop(&h);
}

static void a_command_for_all_masters_outlasts_a_failover(void **state)
{
    clustered *f = *state;
    for (int i = 0; i < 100; i++) {
        char key[32];
        key_name(key, i);
        call_expect(f->client, "OK", "SET", key, "1", NULL);
    }
    server *victim = cluster_owner(f->cluster, slot_of("key:0"));
    server *replica = cluster_replica(f->cluster, victim);
    int64_t size_there = server_ask_int(victim, "DBSIZE");
    eventually(server_ask_int(replica, "DBSIZE") == size_there, PATIENCE_MS);
    server_kill(victim);
    tkl_reply *size;
    static const char *dbsize[] = {"DBSIZE"};
    assert_ok(tkl_call(f->client, 1, dbsize, NULL, &(tkl_call_options){.retry_safe = true}, &size));
    assert_int_equal(tkl_reply_int(size), 100);
    tkl_reply_free(size);
}

static bool is_master(server *s)
{
    char *role = server_ask(s, "ROLE");
    bool master = strncmp(role, "master", 6) == 0;
    free(role);
    return master;
}

static void run_pipeline(tkl_client *client, const tkl_call_options *options)
{
    tkl_pipeline *pipeline;
    tkl_reply *replies;
    assert_ok(tkl_pipeline_open(client, NULL, &pipeline));
    assert_ok(tkl_pipeline_addz(pipeline, "SET", "key:0", "3", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "GET", "key:0", NULL));
    assert_ok(tkl_pipeline_run(pipeline, options, &replies));
    assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 1)), "3");
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

/* The clients have connections to the old master, which reads requests and answers none. */
static void a_call_that_may_be_repeated_finds_the_master_that_took_over(void **state)
{
    clustered *f = *state;
    server *frozen = cluster_owner(f->cluster, slot_of("key:0"));
    server *next = cluster_replica(f->cluster, frozen);
    tkl_call_options patient = {.timeout_ms = PATIENCE_MS, .retry_safe = true};
    tkl_client *other = test_open(f->cluster->url, NULL);
    call_expect(f->client, "OK", "SET", "key:0", "1", NULL);
    call_expect(other, "1", "GET", "key:0", NULL);
    server_freeze(frozen);
    eventually(is_master(next), PATIENCE_MS);
    int64_t start = test_now_ms();
    assert_ok(call_code(f->client, &patient, "SET", "key:0", "2", NULL));
    run_pipeline(other, &patient);
    assert_true(test_now_ms() - start < PATIENCE_MS / 2);
    tkl_close(other);
    server_thaw(frozen);
    cluster_heal(f->cluster);
    call_expect(f->client, "3", "GET", "key:0", NULL);
}

static void a_frozen_master_stops_nobody_else_and_is_replaced(void **state)
{
    clustered *f = *state;
    server *frozen = cluster_owner(f->cluster, slot_of("key:0"));
    char theirs[32] = "", ours[32] = "key:0";
    for (int i = 1; *theirs == '\0'; i++) {
        key_name(theirs, i);
        if (cluster_owner(f->cluster, slot_of(theirs)) == frozen)
            *theirs = '\0';
    }
    call_expect(f->client, "OK", "SET", ours, "1", NULL);
    call_expect(f->client, "OK", "SET", theirs, "1", NULL);

    server_freeze(frozen);
    tkl_call_options brief = {.timeout_ms = 300, .retry_safe = true};
    int code = call_code(f->client, &brief, "GET", ours, NULL);
    assert_true(code == TKL_ETIMEOUT || code == TKL_ENOTSENT); /* when no time was left to send */
    for (int i = 0; i < 100; i++)
        call_expect(f->client, "1", "GET", theirs, NULL);
    eventually(call_code(f->client, &brief, "SET", ours, "2", NULL) == TKL_OK, PATIENCE_MS);
    server_thaw(frozen);
    cluster_heal(f->cluster);
    call_expect(f->client, "2", "GET", ours, NULL);
}

static void a_forked_child_goes_on_with_its_parents_client(void **state)
{
    skip_under_sanitizers();
    clustered *f = *state;
    static hammer h;
    hammer_start(&h, f->client, false);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bool good = true;
            for (int k = 0; k < 100; k++) {
                char key[32];
                snprintf(key, sizeof(key), "child:%d", k);
                good &= tkl_callz(f->client, NULL, "INCR", key, NULL) == TKL_OK;
            }
            _exit(good ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    hammer_stop(&h);
    for (int k = 0; k < 100; k++) {
        char key[32];
        snprintf(key, sizeof(key), "child:%d", k);
        call_expect(f->client, "5", "GET", key, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_moved_slot_is_followed_and_remembered),
        CLUSTER_TEST(keys_of_a_half_moved_slot_are_found),
        CLUSTER_TEST(several_keys_of_a_half_moved_slot_wait_until_it_has_moved),
        CLUSTER_TEST(a_pipeline_reaches_all_masters_and_a_half_moved_slot),
        CLUSTER_TEST(an_unserved_slot_is_waited_for),
        CLUSTER_TEST(resharding_is_not_noticed),
        CLUSTER_TEST(a_planned_failover_is_not_noticed),
        CLUSTER_TEST(a_killed_master_is_replaced),
        CLUSTER_TEST(a_command_for_all_masters_outlasts_a_failover),
        CLUSTER_TEST(a_call_that_may_be_repeated_finds_the_master_that_took_over),
        CLUSTER_TEST(a_frozen_master_stops_nobody_else_and_is_replaced),
        CLUSTER_TEST(a_forked_child_goes_on_with_its_parents_client),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
