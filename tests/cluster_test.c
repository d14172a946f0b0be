/* SPDX-License-Identifier: MIT
 *
 * A client of a real cluster, while its servers move slots, fail over and die.
 *
 * ctest: label threads
 */
#include "core/clock.h"
#include "core/resp.h"
#include "core/script.h"
#include "support/call.h"
#include "support/certs.h"
#include "support/cluster.h"
#include "support/fake.h"

#include <limits.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000 /* for calls that must outlast a failover on a slow machine */

typedef struct fixture {
    cluster *cluster;
    tkl_client *client;
} fixture;

static int start_cluster(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->cluster = cluster_start(false);
    *state = f;
    return 0;
}

static int end_cluster(void **state)
{
    fixture *f = *state;
    cluster_end(f->cluster);
    free(f);
    return 0;
}

static int fresh_client(void **state)
{
    fixture *f = *state;
    cluster_heal(f->cluster);
    f->client = test_open(f->cluster->url, &(tkl_options){.timeout_ms = PATIENCE_MS});
    call_expect(f->client, "OK", "FLUSHALL", NULL);
    return 0;
}

static int close_client(void **state)
{
    fixture *f = *state;
    tkl_close(f->client);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_client, close_client)

static int slot_of(const char *key)
{
    return tkl__slot_of(tkl_str(key));
}

/* Numbered keys: they spread over all masters. */
static void key_name(char key[32], int number)
{
    snprintf(key, 32, "key:%d", number);
}

/* ---- Where commands go --------------------------------------------------- */

static void each_key_reaches_the_master_of_its_slot(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 300; i++) {
        char key[32];
        key_name(key, i);
        call_expect(f->client, "OK", "SET", key, key, NULL);
        call_expect(f->client, key, "GET", key, NULL);
    }
    int64_t total = 0;
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (server_calls(f->cluster->servers[i], "get") > 0)
            total += server_ask_int(f->cluster->servers[i], "DBSIZE");
    assert_int_equal(total, 300);
}

static void a_single_live_seed_is_enough(void **state)
{
    fixture *f = *state;
    char *url = test_format("redis+cluster://127.0.0.1:1,127.0.0.1:%d,127.0.0.1:2",
                            f->cluster->servers[0]->port);
    tkl_client *client = test_open(url, NULL);
    for (int i = 0; i < 50; i++) {
        char key[32];
        key_name(key, i);
        call_expect(client, "OK", "SET", key, "1", NULL);
    }
    tkl_close(client);
    free(url);
}

static void no_live_seed_is_told_at_once(void **state)
{
    (void)state;
    tkl_client *client = test_open("redis+cluster://127.0.0.1:1,127.0.0.1:2",
                                   &(tkl_options){.timeout_ms = PATIENCE_MS});
    int64_t start = test_now_ms();
    assert_code(call_code(client, NULL, "GET", "k", NULL), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "127.0.0.1:");
    assert_true(test_now_ms() - start < PATIENCE_MS);
    tkl_close(client);
}

static void a_server_without_cluster_mode_is_told(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tcp = true});
    char *url = test_format("redis+cluster://127.0.0.1:%d", s->port);
    tkl_client *client = test_open(url, NULL);
    assert_code(call_code(client, NULL, "GET", "k", NULL), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "cluster support disabled");
    tkl_close(client);
    free(url);
    server_end(s);
}

static void commands_without_a_key_are_answered_by_any_master(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        call_expect(f->client, "PONG", "PING", NULL);
        assert_int_equal(call_int(f->client, "PUBLISH", "channel", "hello", NULL), 0);
        assert_int_equal(call_int(f->client, "EVAL", "return 7", "0", NULL), 7);
    }
}

static void commands_for_all_masters_are_put_together(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 100; i++) {
        char key[32];
        key_name(key, i);
        call_expect(f->client, "OK", "SET", key, "1", NULL);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 100);

    tkl_reply *keys;
    assert_ok(tkl_callz(f->client, &keys, "KEYS", "key:*", NULL));
    assert_int_equal(tkl_reply_count(keys), 100);
    bool seen[100] = {false};
    for (size_t i = 0; i < 100; i++)
        seen[atoi(tkl_reply_str(tkl_reply_at(keys, i)) + 4)] = true;
    for (size_t i = 0; i < 100; i++)
        assert_true(seen[i]);
    tkl_reply_free(keys);

    call_expect(f->client, "OK", "FLUSHALL", NULL);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

static void settings_and_scripts_go_to_all_masters(void **state)
{
    fixture *f = *state;
    char *sha = call_text(f->client, "SCRIPT", "LOAD", "return 5", NULL);
    call_expect(f->client, "OK", "CONFIG", "SET", "maxmemory-samples", "7", NULL);
    for (int i = 0; i < 50; i++) {
        char key[32];
        key_name(key, i);
        assert_int_equal(call_int(f->client, "EVALSHA", sha, "1", key, NULL), 5);
        server *owner = cluster_owner(f->cluster, slot_of(key));
        char *samples = server_ask(owner, "CONFIG GET maxmemory-samples");
        assert_string_equal(samples, "maxmemory-samples\n7\n");
        free(samples);
    }
    free(sha);
}

static void keys_in_several_slots_are_refused_by_name(void **state)
{
    fixture *f = *state;
    assert_code(call_code(f->client, NULL, "MGET", "a", "b", NULL), TKL_ECROSSSLOT);
    assert_contains(tkl_errmsg(), "MGET: the keys \"a\" (slot 15495) and \"b\" (slot 3300)");
    assert_contains(tkl_errmsg(), "{tag}");
    assert_code(call_code(f->client, NULL, "EVAL", "return 1", "2", "a", "b", NULL),
                TKL_ECROSSSLOT);
    assert_ok(call_code(f->client, NULL, "MSET", "{x}a", "1", "{x}b", "2", NULL));
}

static void commands_about_one_server_are_refused(void **state)
{
    fixture *f = *state;
    assert_code(call_code(f->client, NULL, "SCAN", "0", NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "SCAN concerns one server");
    assert_code(call_code(f->client, NULL, "SHUTDOWN", NULL), TKL_EINVAL);
    assert_code(call_code(f->client, NULL, "CLUSTER", "RESET", NULL), TKL_EINVAL);
    assert_code(call_code(f->client, NULL, "WAIT", "1", "0", NULL), TKL_EINVAL);
    assert_ok(call_code(f->client, NULL, "CLUSTER", "INFO", NULL));
}

/* The fixture's servers have commands under names that nobody else knows. */
static void keys_of_unknown_commands_are_asked_of_a_server(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 20; i++) {
        char key[32];
        key_name(key, i);
        call_expect(f->client, "OK", "SET", key, "0123456789", NULL);
        call_expect(f->client, "234", "PIECE-OF", key, "2", "4", NULL);
    }
    assert_code(call_code(f->client, NULL, "LESS-THE-OTHERS", "a", "b", NULL), TKL_ECROSSSLOT);
    assert_contains(tkl_errmsg(), "LESS-THE-OTHERS: the keys \"a\"");
    assert_ok(call_code(f->client, NULL, "LESS-THE-OTHERS", "{t}a", "{t}b", NULL));
    assert_code(call_code(f->client, NULL, "NO-SUCH-COMMAND", "a", NULL), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "unknown command");
}

static void tls_is_spoken_with_every_server(void **state)
{
    (void)state;
    cluster *c = cluster_start(true);
    tkl_client *client = test_open(c->url, &(tkl_options){.tls_ca_file = certs_get()->ca});
    for (int i = 0; i < 50; i++) {
        char key[32];
        key_name(key, i);
        call_expect(client, "OK", "SET", key, "1", NULL);
    }
    assert_int_equal(call_int(client, "DBSIZE", NULL), 50);
    tkl_close(client);
    cluster_end(c);
}

/* 127.1 is the same machine, but not what the certificate is for. */
static void a_certificate_for_another_name_behind_a_redirection_is_told(void **state)
{
    (void)state;
    cluster *c = cluster_start(true);
    tkl_client *client = test_open(
        c->url, &(tkl_options){.tls_ca_file = certs_get()->ca, .timeout_ms = PATIENCE_MS});
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", "key", NULL);
    static const char *const kinds[] = {"ASK", "MOVED"};
    for (int i = 0; i < 2; i++) {
        char *script = test_format("return redis.error_reply('%s %d 127.1:%d')", kinds[i], slot,
                                   c->servers[0]->tls_port);
        int64_t start = test_now_ms();
        assert_code(call_code(client, NULL, "EVAL", script, "1", "key", NULL), TKL_ETLS);
        assert_true(test_now_ms() - start < PATIENCE_MS / 2);
        assert_contains(tkl_errmsg(), "the certificate is not for 127.1: hostname mismatch");
        free(script);
    }
    tkl_close(client);
    cluster_end(c);
}

/* ---- What CLUSTER SLOTS may say ------------------------------------------ */

/* A cluster of one: answers CLUSTER SLOTS with `host` as RESP, anything else with 42. */
typedef struct pretender {
    const char *host; /* "$0\r\n\r\n"; NULL: no slots at all */
    const char *last_slot;
    fake *fake;
} pretender;

static void pretend(fake_conn *conn, void *arg)
{
    pretender *p = arg;
    for (const char *command; (command = fake_expect(conn)) != NULL;) {
        if (strncmp(command, "CLUSTER", 7) != 0) {
            fake_sendz(conn, ":42\r\n");
        } else if (p->host == NULL) {
            fake_sendz(conn, "*0\r\n");
        } else {
            char *slots = test_format("*1\r\n*3\r\n:0\r\n:%s\r\n*4\r\n%s:%d\r\n$2\r\nid\r\n"
                                      "*2\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n",
                                      p->last_slot, p->host, fake_port(p->fake));
            fake_sendz(conn, slots);
            free(slots);
        }
    }
}

static int call_pretender(const char *host, const char *last_slot, int64_t timeout_ms)
{
    pretender p = {host, last_slot, NULL};
    p.fake = fake_start_tcp(pretend, &p);
    char *url = test_format("redis+cluster://127.0.0.1:%d", fake_port(p.fake));
    tkl_client *client = test_open(url, &(tkl_options){.timeout_ms = timeout_ms});
    int code = call_code(client, NULL, "GET", "key", NULL);
    tkl_close(client);
    free(url);
    fake_end(p.fake);
    return code;
}

static void a_host_left_out_is_the_one_asked(void **state)
{
    (void)state;
    assert_ok(call_pretender("$0\r\n\r\n", "16383", PATIENCE_MS));
    assert_ok(call_pretender("$-1\r\n", "16383", PATIENCE_MS));
}

static void an_unknown_host_name_is_replaced_by_the_address(void **state)
{
    (void)state;
    assert_ok(call_pretender("$1\r\n?\r\n", "16383", PATIENCE_MS));
}

static void slots_that_make_no_sense_are_told(void **state)
{
    (void)state;
    assert_code(call_pretender("$0\r\n\r\n", "16384", PATIENCE_MS), TKL_EPROTO);
    assert_contains(tkl_errmsg(), "CLUSTER SLOTS");
    assert_code(call_pretender("$0\r\n\r\n", "-1", PATIENCE_MS), TKL_EPROTO);
}

static void a_cluster_without_slots_is_told(void **state)
{
    (void)state;
    assert_code(call_pretender(NULL, "", 1000), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "knows no server of the cluster that serves slots");
}

static void a_slot_of_nobody_is_told(void **state)
{
    (void)state;
    assert_code(call_pretender("$0\r\n\r\n", "5", 1000), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "no server serves slot 12539");
}

/* ---- Slots that move ----------------------------------------------------- */

/* How often a server has sent somebody elsewhere. */
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
    fixture *f = *state;
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
static move half_moved(fixture *f)
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
    fixture *f = *state;
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
    fixture *f = *state;
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
    fixture *f = *state;
    move m = half_moved(f);
    tkl_pipeline *pipeline;
    assert_ok(tkl_pipeline_open(f->client, &pipeline));
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
    fixture *f = *state;
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

/* ---- Scripts ------------------------------------------------------------- */

static void a_script_is_made_known_to_each_master(void **state)
{
    fixture *f = *state;
    static const char source[] = "return ARGV[1] .. KEYS[1]";
    char *sha = server_ask(f->cluster->servers[0], "SCRIPT LOAD %s", source);
    tkl__script script = {.name = "test/echo",
                          .sha1 = sha,
                          .source = source,
                          .len = strlen(source),
                          .nkeys = 1,
                          .nargs = 1};
    call_expect(f->client, "OK", "SCRIPT", "FLUSH", NULL);

    for (int i = 0; i < 100; i++) {
        char name[32];
        key_name(name, i);
        tkl_bytes key = tkl_str(name), arg = tkl_str("of ");
        tkl__invocation call = {
            .script = &script, .keys = &key, .args = &arg, .nkeys = 1, .nargs = 1};
        tkl_reply *reply;
        assert_ok(tkl__run(f->client, &call, tkl__deadline_ms(PATIENCE_MS), &reply));
        char *expected = test_format("of %s", name);
        assert_string_equal(tkl_reply_str(reply), expected);
        free(expected);
        tkl_reply_free(reply);
    }
    free(sha);
}

/* ---- Under load ---------------------------------------------------------- */

#define THREADS  16
#define COUNTERS 48

/* Threads that increment counters, and know what they did. */
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

/* Replication is asynchronous: of each connection, the killed server may have answered one command
 * that its replica never saw. */
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
    fixture *f = *state;
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
    fixture *f = *state;
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
    fixture *f = *state;
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
    fixture *f = *state;
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

static void a_frozen_master_stops_nobody_else_and_is_replaced(void **state)
{
    fixture *f = *state;
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
    fixture *f = *state;
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
        TEST(each_key_reaches_the_master_of_its_slot),
        TEST(a_single_live_seed_is_enough),
        TEST(no_live_seed_is_told_at_once),
        TEST(a_server_without_cluster_mode_is_told),
        TEST(commands_without_a_key_are_answered_by_any_master),
        TEST(commands_for_all_masters_are_put_together),
        TEST(settings_and_scripts_go_to_all_masters),
        TEST(keys_in_several_slots_are_refused_by_name),
        TEST(commands_about_one_server_are_refused),
        TEST(keys_of_unknown_commands_are_asked_of_a_server),
        TEST(tls_is_spoken_with_every_server),
        cmocka_unit_test(a_certificate_for_another_name_behind_a_redirection_is_told),
        TEST(a_host_left_out_is_the_one_asked),
        TEST(an_unknown_host_name_is_replaced_by_the_address),
        TEST(slots_that_make_no_sense_are_told),
        TEST(a_cluster_without_slots_is_told),
        TEST(a_slot_of_nobody_is_told),
        TEST(a_moved_slot_is_followed_and_remembered),
        TEST(keys_of_a_half_moved_slot_are_found),
        TEST(several_keys_of_a_half_moved_slot_wait_until_it_has_moved),
        TEST(a_pipeline_reaches_all_masters_and_a_half_moved_slot),
        TEST(an_unserved_slot_is_waited_for),
        TEST(a_script_is_made_known_to_each_master),
        TEST(resharding_is_not_noticed),
        TEST(a_planned_failover_is_not_noticed),
        TEST(a_killed_master_is_replaced),
        TEST(a_command_for_all_masters_outlasts_a_failover),
        TEST(a_frozen_master_stops_nobody_else_and_is_replaced),
        TEST(a_forked_child_goes_on_with_its_parents_client),
    };
    return cmocka_run_group_tests(tests, start_cluster, end_cluster);
}
