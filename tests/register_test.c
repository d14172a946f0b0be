/* SPDX-License-Identifier: MIT
 *
 * The register of names: programs announce names in passing, and operators read them.
 */
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "support/cluster.h"
#include "support/fixture.h"

#define REGISTER "tackle:bits:names"

static void set_bit(tkl_client *client, const char *name)
{
    tkl_bits *bits;
    assert_ok(tkl_bits_open(client, tkl_str(name), NULL, &bits));
    assert_ok(tkl_bits_set(bits, 1, true, NULL));
    tkl_bits_close(bits);
}

static void drop_bits(tkl_client *client, const char *name)
{
    tkl_bits *bits;
    assert_ok(tkl_bits_open(client, tkl_str(name), NULL, &bits));
    assert_ok(tkl_bits_drop(bits));
    tkl_bits_close(bits);
}

static void push_job(tkl_client *client, const char *name, int partitions)
{
    tkl_queue *queue;
    tkl_push job = {.payload = tkl_str("x")};
    assert_ok(tkl_queue_open(client, tkl_str(name), &(tkl_queue_options){.partitions = partitions},
                             &queue));
    assert_ok(tkl_queue_push(queue, &job, 1, NULL, NULL));
    tkl_queue_close(queue);
}

/* "a,b,c": the names of a component. */
static void assert_names(tkl_client *client, int (*names_of)(tkl_client *, tkl_names **),
                         const char *expected)
{
    tkl_names *names;
    char text[2048] = "";
    assert_ok(names_of(client, &names));
    for (size_t i = 0; i < names->count && strlen(text) < sizeof text / 2; i++) {
        strcat(text, i > 0 ? "," : "");
        strncat(text, names->items[i].data, names->items[i].len);
    }
    tkl_names_free(names);
    assert_string_equal(text, expected);
}

/* ---- Reading ------------------------------------------------------------- */

static void names_are_found_without_a_walk(void **state)
{
    fixture *f = *state;
    tkl_lock *lock;
    tkl_counter *counter;
    tkl_log *log;
    set_bit(f->client, "{b}%");
    set_bit(f->client, "a");
    push_job(f->client, "jobs", 0);
    push_job(f->client, "wide", 4);
    assert_ok(tkl_lock_open(f->client, tkl_str("deploy"), NULL, &lock));
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_counter_open(f->client, tkl_str("hits"), NULL, &counter));
    assert_ok(tkl_counter_add(counter, 1));
    assert_ok(tkl_log_open(f->client, tkl_str("app"), NULL, &log));
    assert_ok(tkl_log_print(log, TKL_LOG_INFO, "hello"));
    int64_t walks = server_calls(f->server, "scan");
    assert_names(f->client, tkl_bits_names, "a,{b}%");
    assert_names(f->client, tkl_queue_names, "jobs,wide");
    assert_names(f->client, tkl_lock_names, "deploy");
    assert_names(f->client, tkl_counter_names, "hits");
    assert_names(f->client, tkl_log_names, "app");
    assert_int_equal(server_calls(f->server, "scan"), walks);
    tkl_log_close(log);
    tkl_counter_close(counter);
    tkl_lock_close(lock);
}

static tkl_limit *open_limit(tkl_client *client, const char *name)
{
    static const tkl_limit_rule rule = {.count = 5, .period_ms = 60000};
    tkl_limit *limit;
    assert_ok(tkl_limit_open(client, tkl_str(name), &rule, NULL, &limit));
    return limit;
}

static void check_limits(tkl_client *client)
{
    tkl_limit *api = open_limit(client, "api"), *day = open_limit(client, "{day}%");
    tkl_limit_item both[] = {{.limit = api, .key = tkl_str("bob"), .quantity = 1},
                             {.limit = day, .key = tkl_str("bob"), .quantity = 1}};
    tkl_limit_answer answers[2];
    for (int i = 0; i < 50; i++) {
        char user[32];
        snprintf(user, sizeof user, "user%d", i);
        assert_ok(tkl_limit_check(api, tkl_str(user), 1, NULL));
    }
    assert_ok(tkl_limit_check_all(both, 2, answers));
    tkl_limit_close(day);
    tkl_limit_close(api);
}

static void limits_are_found_by_name_and_not_by_key(void **state)
{
    fixture *f = *state;
    static const char reg[] = "tackle:limit:used:names";
    int64_t walks = server_calls(f->server, "scan");
    check_limits(f->client);
    assert_names(f->client, tkl_limit_names, "api,{day}%");
    assert_int_equal(call_int(f->client, "ZCARD", reg, NULL), 2);
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:limit:names", NULL), 0);
    assert_int_equal(call_int(f->client, "ZADD", reg, "1000", "old", NULL), 1);
    assert_names(f->client, tkl_limit_names, "api,{day}%");
    assert_null(call_text(f->client, "ZSCORE", reg, "old", NULL));
    assert_int_equal(server_calls(f->server, "scan"), walks);
}

static void namespaces_have_registers_of_their_own(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, &(tkl_options){.ns = "other"});
    set_bit(f->client, "mine");
    set_bit(other, "theirs");
    assert_names(f->client, tkl_bits_names, "mine");
    assert_names(other, tkl_bits_names, "theirs");
    tkl_close(other);
}

static void names_that_are_gone_are_forgotten(void **state)
{
    fixture *f = *state;
    set_bit(f->client, "new");
    set_bit(f->client, "dropped");
    drop_bits(f->client, "dropped");
    set_bit(f->client, "old");
    assert_int_equal(call_int(f->client, "ZADD", REGISTER, "1000", "old", "1000", "gone", NULL), 1);
    assert_names(f->client, tkl_bits_names, "new,old");
    assert_int_equal(call_int(f->client, "ZCARD", REGISTER, NULL), 3); /* dropped: not old yet */
    assert_null(call_text(f->client, "ZSCORE", REGISTER, "gone", NULL));
}

static void older_programs_names_are_found_by_a_walk(void **state)
{
    fixture *f = *state;
    tkl_client *walker = test_open(f->server->url, &(tkl_options){.no_register = true});
    set_bit(walker, "older");
    assert_int_equal(call_int(f->client, "EXISTS", REGISTER, NULL), 0);
    assert_names(f->client, tkl_bits_names, "");
    assert_names(walker, tkl_bits_names, "older");
    tkl_close(walker);
}

static void damaged_register_is_an_error(void **state)
{
    fixture *f = *state;
    tkl_names *names;
    assert_ok(tkl_callz(f->client, NULL, "SET", REGISTER, "x", NULL));
    set_bit(f->client, "a"); /* goes on without */
    assert_code(tkl_bits_names(f->client, &names), TKL_ETYPE);
    assert_null(names);
}

/* ---- Writing ------------------------------------------------------------- */

static void names_are_announced_once_and_in_passing(void **state)
{
    fixture *f = *state;
    tkl_client_stats before, after;
    int64_t announced = server_calls(f->server, "zadd");
    tkl_client_stats_get(f->client, &before);
    for (int i = 0; i < 100; i++)
        set_bit(f->client, "often");
    tkl_client_stats_get(f->client, &after);
    assert_int_equal(after.calls - before.calls, 100);
    announced = server_calls(f->server, "zadd") - announced;
    assert_in_range(announced, 1, 3); /* once more when a minute begins */
}

static void readers_announce_nothing(void **state)
{
    fixture *f = *state;
    tkl_queue *queue;
    tkl_queue_stats stats;
    assert_ok(tkl_queue_open(f->client, tkl_str("typo"), NULL, &queue));
    (void)!tkl_queue_stats_get(queue, &stats);
    tkl_queue_close(queue);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

static void user_without_permission_goes_on(void **state)
{
    fixture *f = *state;
    server_do(f->server, "ACL SETUSER poor on >pw ~tackle:bits:{* +setbit +scan +client");
    tkl_client *poor =
        test_open(f->server->url, &(tkl_options){.username = "poor", .password = "pw"});
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "b%d", i % 5);
        set_bit(poor, name);
    }
    assert_int_equal(call_int(f->client, "EXISTS", REGISTER, NULL), 0);
    assert_names(poor, tkl_bits_names, "b0,b1,b2,b3,b4"); /* by a walk */
    tkl_close(poor);
    server_do(f->server, "ACL DELUSER poor");
}

static void full_server_goes_on(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_lock *lock, *same;
    assert_ok(tkl_lock_open(f->client, tkl_str("l"), NULL, &lock));
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_ok(tkl_lock_open(other, tkl_str("l"), NULL, &same));
    server_do(f->server, "DEL tackle:lock:names");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_ok(tkl_lock_break(same));
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:lock:names", NULL), 0);
    tkl_lock_close(same);
    tkl_lock_close(lock);
    tkl_close(other);
}

static void register_is_bounded(void **state)
{
    fixture *f = *state;
    enum { MANY = 10500, STEP = 500 };
    for (int i = 0; i < MANY; i += STEP) {
        const char *words[2 + 2 * STEP] = {"ZADD", REGISTER};
        char texts[STEP][16];
        for (int k = 0; k < STEP; k++) {
            snprintf(texts[k], sizeof texts[k], "n%d", i + k);
            words[2 + 2 * k] = "1";
            words[3 + 2 * k] = texts[k];
        }
        assert_ok(tkl_call(f->client, 2 + 2 * STEP, words, NULL, NULL, NULL));
    }
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "new%d", i);
        set_bit(f->client, name);
    }
    assert_in_range(call_int(f->client, "ZCARD", REGISTER, NULL), 10000, 10999);
    char *seen = call_text(f->client, "ZSCORE", REGISTER, "new0", NULL);
    assert_non_null(seen); /* the oldest leave */
    free(seen);
}

static void names_of_a_cluster_are_found(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    char expected[512] = "";
    for (int i = 100; i < 100 + COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        set_bit(client, name);
        strcat(expected, i > 100 ? "," : "");
        strcat(expected, name);
    }
    push_job(client, "wide", 16);
    assert_names(client, tkl_bits_names, expected);
    assert_names(client, tkl_queue_names, "wide");
    check_limits(client);
    assert_names(client, tkl_limit_names, "api,{day}%");
    for (int i = 0; i < 3; i++)
        assert_int_equal(server_calls(c->servers[i], "scan"), 0);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_are_found_without_a_walk),
        TEST(limits_are_found_by_name_and_not_by_key),
        TEST(namespaces_have_registers_of_their_own),
        TEST(names_that_are_gone_are_forgotten),
        TEST(older_programs_names_are_found_by_a_walk),
        TEST(damaged_register_is_an_error),
        TEST(names_are_announced_once_and_in_passing),
        TEST(readers_announce_nothing),
        TEST(user_without_permission_goes_on),
        TEST(full_server_goes_on),
        TEST(register_is_bounded),
        cmocka_unit_test(names_of_a_cluster_are_found),
    };
    setenv("TACKLE_REGISTER", "yes", 1);
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
