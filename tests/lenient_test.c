/* SPDX-License-Identifier: MIT
 *
 * Views of a cluster with a master that hangs: they show the data of the others, and soon.
 */
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "support/clustered.h"

#define NAMES 24

typedef struct scene {
    server *hung, *replica; /* the replica hangs, too: it must not take over */
} scene;

static void bits_name(char name[32], int number)
{
    snprintf(name, 32, "b%d", number);
}

static int slot_of_bits(const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "tackle:bits:{%s}", name);
    return slot_of(key);
}

static void set_bits(tkl_client *client)
{
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        tkl_bits *bits;
        bits_name(name, i);
        assert_ok(tkl_bits_open(client, tkl_str(name), NULL, &bits));
        assert_ok(tkl_bits_set(bits, 1, true, NULL));
        tkl_bits_close(bits);
    }
}

/* The master of the slot hangs from now on. The others go on serving their slots. */
static scene hang_master(clustered *f, int slot)
{
    scene s = {.hung = cluster_owner(f->cluster, slot)};
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_do(f->cluster->servers[i], "CONFIG SET cluster-require-full-coverage no");
    s.replica = cluster_replica(f->cluster, s.hung);
    server_freeze(s.replica);
    server_freeze(s.hung);
    return s;
}

static void thaw_master(const scene *s)
{
    server_thaw(s->hung);
    server_thaw(s->replica);
}

static bool has_name(const tkl_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->items[i].len == strlen(name) &&
            memcmp(names->items[i].data, name, names->items[i].len) == 0)
            return true;
    return false;
}

static void assert_missing(const scene *s, const tkl_names *missing)
{
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%d", s->hung->port);
    assert_int_equal(missing->count, 1);
    assert_true(has_name(missing, address));
}

/* ---- Lists --------------------------------------------------------------- */

/* The names whose slots the master does not serve are in the list. */
static void assert_others_are_there(const bool *hung, const tkl_names *names)
{
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        bits_name(name, i);
        if (!hung[i])
            assert_true(has_name(names, name));
    }
}

static void list_has_what_the_others_have(void **state)
{
    clustered *f = *state;
    tkl_names *names, *missing;
    bool hung[NAMES];
    set_bits(f->client);
    server *master = cluster_owner(f->cluster, slot_of_bits("b0"));
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        bits_name(name, i);
        hung[i] = cluster_owner(f->cluster, slot_of_bits(name)) == master;
    }
    tkl_client *fresh = test_open(f->cluster->url, NULL),
               *short_of_time = test_open(f->cluster->url, &(tkl_options){.timeout_ms = 1500});
    scene s = hang_master(f, slot_of_bits("b0"));
    tkl_client *clients[] = {f->client, fresh}; /* with connections, and without */
    for (int i = 0; i < 2; i++) {
        int64_t began = test_now_ms();
        tkl_lenient_begin();
        assert_ok(tkl_bits_names(clients[i], &names));
        assert_ok(tkl_lenient_end(clients[i], &missing));
        assert_true(test_now_ms() - began < PATIENCE_MS / 2);
        assert_others_are_there(hung, names);
        assert_missing(&s, missing);
        tkl_names_free(names);
        tkl_names_free(missing);
    }
    assert_true(tkl_bits_names(short_of_time, &names) < 0); /* no view: all names or none */
    assert_null(names);
    thaw_master(&s);
    cluster_heal(f->cluster);
    tkl_lenient_begin();
    assert_ok(tkl_bits_names(f->client, &names));
    assert_ok(tkl_lenient_end(f->client, &missing));
    assert_int_equal(names->count, NAMES);
    assert_int_equal(missing->count, 0);
    tkl_names_free(names);
    tkl_names_free(missing);
    tkl_close(short_of_time);
    tkl_close(fresh);
}

/* A name in a register whose own keys are at the master that hangs: whether they exist is not
 * known, so it stays, however old. */
static void names_that_cannot_be_checked_stay(void **state)
{
    clustered *f = *state;
    static const char reg[] = "tackle:bits:names"; /* as programs kept it before the cluster */
    server *home = cluster_owner(f->cluster, slot_of(reg));
    char name[32] = "b0";
    for (int i = 1; cluster_owner(f->cluster, slot_of_bits(name)) == home; i++)
        bits_name(name, i);
    assert_int_equal(call_int(f->client, "ZADD", reg, "1000", name, NULL), 1);
    scene s = hang_master(f, slot_of_bits(name));
    tkl_names *names, *missing;
    tkl_lenient_begin();
    assert_ok(tkl_bits_names(f->client, &names));
    assert_ok(tkl_lenient_end(f->client, &missing));
    assert_missing(&s, missing);
    assert_true(has_name(names, name)); /* by the register's word */
    char *score = call_text(f->client, "ZSCORE", reg, name, NULL);
    assert_string_equal(score, "1000");
    free(score);
    tkl_names_free(names);
    tkl_names_free(missing);
    thaw_master(&s);
}

static void walk_has_what_the_others_have(void **state)
{
    clustered *f = *state;
    tkl_names *names, *missing;
    set_bits(f->client);
    tkl_client *walker = test_open(f->cluster->url, &(tkl_options){.no_register = true});
    scene s = hang_master(f, slot_of_bits("b1"));
    tkl_lenient_begin();
    assert_ok(tkl_bits_names(walker, &names));
    assert_ok(tkl_lenient_end(walker, &missing));
    assert_missing(&s, missing);
    assert_in_range(names->count, 1, NAMES - 1);
    tkl_names_free(names);
    tkl_names_free(missing);
    thaw_master(&s);
    tkl_close(walker);
}

/* ---- Overviews ----------------------------------------------------------- */

static void push_jobs(tkl_client *client)
{
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        tkl_queue *queue;
        tkl_push job = {.payload = tkl_str("x")};
        bits_name(name, i);
        assert_ok(tkl_queue_open(client, tkl_str(name), NULL, &queue));
        assert_ok(tkl_queue_push(queue, &job, 1, NULL, NULL));
        tkl_queue_close(queue);
    }
}

static void overview_has_what_the_others_have(void **state)
{
    clustered *f = *state;
    tkl_overview *all, *some;
    push_jobs(f->client);
    assert_ok(tkl_overview_read(f->client, NULL, NULL, &all));
    assert_int_equal(all->missing_count, 0);
    assert_int_equal(all->queues->count, NAMES);
    scene s = hang_master(f, slot_of("tackle:queue:{b0}:meta"));
    assert_ok(tkl_overview_read(f->client, NULL, all, &some));
    assert_missing(&s, &(tkl_names){some->missing, some->missing_count});
    assert_in_range(some->queues->count, 1, NAMES);
    size_t read = 0;
    for (size_t i = 0; i < some->queues->count; i++)
        read += some->queues->items[i].code == TKL_OK;
    assert_in_range(read, 1, NAMES - 1);
    assert_int_equal(some->locks_result.code, TKL_OK);
    tkl_overview_free(some);
    tkl_overview_free(all);
    thaw_master(&s);
}

static void nobody_answers(void **state)
{
    clustered *f = *state;
    tkl_names *names, *missing;
    set_bits(f->client);
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_freeze(f->cluster->servers[i]);
    tkl_lenient_begin();
    assert_true(tkl_bits_names(f->client, &names) < 0);
    assert_null(names);
    assert_ok(tkl_lenient_end(f->client, &missing));
    assert_in_range(missing->count, CLUSTER_MASTERS, CLUSTER_SIZE);
    tkl_names_free(missing);
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_thaw(f->cluster->servers[i]);
}

static void end_needs_a_begin(void **state)
{
    clustered *f = *state;
    tkl_names *missing;
    assert_code(tkl_lenient_end(f->client, &missing), TKL_EINVAL);
    assert_null(missing);
    tkl_lenient_begin();
    tkl_lenient_begin();
    assert_ok(tkl_lenient_end(f->client, &missing));
    tkl_names_free(missing);
    assert_ok(tkl_lenient_end(f->client, &missing));
    tkl_names_free(missing);
    assert_code(tkl_lenient_end(f->client, &missing), TKL_EINVAL);
}

int main(void)
{
    setenv("TACKLE_REGISTER", "yes", 1);
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(list_has_what_the_others_have),
        CLUSTER_TEST(names_that_cannot_be_checked_stay),
        CLUSTER_TEST(walk_has_what_the_others_have),
        CLUSTER_TEST(overview_has_what_the_others_have),
        CLUSTER_TEST(nobody_answers),
        CLUSTER_TEST(end_needs_a_begin),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
