/* SPDX-License-Identifier: MIT
 *
 * Everything at once: what an overview has, in how many round trips, and what it says of what it
 * may not read.
 */
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "support/cluster.h"
#include "support/fixture.h"

static void push_job(tkl_client *client, const char *name, int partitions)
{
    tkl_queue *queue;
    tkl_push jobs[] = {{.payload = tkl_str("x")}, {.payload = tkl_str("y")}};
    assert_ok(tkl_queue_open(client, tkl_str(name), &(tkl_queue_options){.partitions = partitions},
                             &queue));
    assert_ok(tkl_queue_push(queue, jobs, 2, NULL, NULL));
    tkl_queue_close(queue);
}

static tkl_lock *hold_lock(tkl_client *client, const char *name)
{
    tkl_lock *lock;
    assert_ok(tkl_lock_open(client, tkl_str(name), NULL, &lock));
    assert_ok(tkl_lock_acquire(lock, 0));
    return lock;
}

static void count_once(tkl_client *client, const char *name, int64_t every_ms)
{
    tkl_counter *counter;
    tkl_counter_options options = {.every_ms = every_ms ? &every_ms : NULL,
                                   .every_count = every_ms ? 1 : 0};
    assert_ok(tkl_counter_open(client, tkl_str(name), &options, &counter));
    assert_ok(tkl_counter_add(counter, 7));
    tkl_counter_close(counter);
}

static tkl_overview *read_overview(tkl_client *client, const tkl_overview *last)
{
    tkl_overview *overview;
    assert_ok(tkl_overview_read(client, NULL, last, &overview));
    return overview;
}

static const tkl_queue_summary *queue_of(const tkl_overview *o, const char *name)
{
    for (size_t i = 0; i < o->queues->count; i++)
        if (o->queues->items[i].name.len == strlen(name) &&
            memcmp(o->queues->items[i].name.data, name, strlen(name)) == 0)
            return &o->queues->items[i];
    return NULL;
}

static void check_all(tkl_client *client)
{
    push_job(client, "mails", 1);
    push_job(client, "wide", 4);
    tkl_lock *lock = hold_lock(client, "deploy");
    count_once(client, "hits", 0);
    count_once(client, "slow", 60000);
    tkl_overview *o = read_overview(client, NULL);
    assert_int_equal(o->queues->count, 2);
    assert_int_equal(queue_of(o, "mails")->stats.ready, 2);
    assert_int_equal(queue_of(o, "wide")->stats.ready, 2);
    assert_int_equal(o->locks->count, 1);
    assert_int_equal(o->locks->items[0].holders->held, 1);
    assert_int_equal(o->semaphores->count, 0);
    assert_int_equal(o->counter_count, 2);
    assert_non_null(o->counters[0].series);
    assert_null(o->counters[1].series);
    assert_code(o->counters[1].code, TKL_EINVAL);
    assert_contains(o->server, "uptime_in_seconds:");
    tkl_overview_free(o);
    tkl_lock_close(lock);
}

static void an_overview_has_everything(void **state)
{
    fixture *f = *state;
    check_all(f->client);
}

static void an_overview_of_a_cluster_has_everything(void **state)
{
    (void)state;
    tkl_client *client;
    cluster *c = cluster_start(false);
    client = test_open(c->url, NULL);
    check_all(client);
    tkl_close(client);
    cluster_end(c);
}

static int64_t calls_of(tkl_client *client)
{
    tkl_client_stats stats;
    tkl_client_stats_get(client, &stats);
    return stats.calls;
}

static void looking_again_is_one_trip(void **state)
{
    fixture *f = *state;
    char name[24];
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "q%d", i);
        push_job(f->client, name, 1);
    }
    tkl_overview *first = read_overview(f->client, NULL);
    push_job(f->client, "new", 1);
    push_job(f->client, "q7", 1);
    int64_t before = calls_of(f->client);
    tkl_overview *second = read_overview(f->client, first);
    assert_int_equal(calls_of(f->client) - before, 1);
    assert_int_equal(queue_of(second, "q7")->stats.ready, 4);
    assert_code(queue_of(second, "new")->code, TKL_ENOTSENT);
    tkl_overview *third = read_overview(f->client, second);
    assert_ok(queue_of(third, "new")->code);
    assert_int_equal(queue_of(third, "new")->stats.ready, 2);
    tkl_overview_free(first);
    tkl_overview_free(second);
    tkl_overview_free(third);
}

static void the_names_used_last_are_shown(void **state)
{
    fixture *f = *state;
    char name[24];
    tkl_overview *o;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "q%d", i);
        push_job(f->client, name, 1);
    }
    assert_ok(tkl_overview_read(f->client, &(tkl_overview_options){.max = 5}, NULL, &o));
    assert_int_equal(o->queues->count, 5);
    tkl_overview_free(o);
    assert_code(tkl_overview_read(f->client, &(tkl_overview_options){.max = -1}, NULL, &o),
                TKL_EINVAL);
    assert_null(o);
    assert_code(tkl_overview_read(f->client, &(tkl_overview_options){.max = 1001}, NULL, &o),
                TKL_EINVAL);
    assert_code(tkl_overview_read(f->client, &(tkl_overview_options){.reserved = {1}}, NULL, &o),
                TKL_EINVAL);
}

static void a_damaged_name_does_not_hide_the_others(void **state)
{
    fixture *f = *state;
    push_job(f->client, "mails", 1);
    push_job(f->client, "bad", 1);
    tkl_overview *first = read_overview(f->client, NULL);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:queue:{bad}:ready", NULL));
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:queue:{bad}:ready", "x", NULL));
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:lock:names", NULL));
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:lock:names", "x", NULL));
    tkl_overview *o = read_overview(f->client, first);
    assert_code(queue_of(o, "bad")->code, TKL_ETYPE);
    assert_int_equal(queue_of(o, "mails")->stats.ready, 2);
    assert_code(o->locks_result.code, TKL_ETYPE);
    assert_null(o->locks);
    tkl_overview *next = read_overview(f->client, o);
    assert_int_equal(queue_of(next, "mails")->stats.ready, 2);
    tkl_overview_free(first);
    tkl_overview_free(o);
    tkl_overview_free(next);
}

static void what_may_not_be_read_says_so(void **state)
{
    fixture *f = *state;
    tkl_client *guest;
    tkl_overview *o;
    push_job(f->client, "mails", 1);
    tkl_overview_free(read_overview(f->client, NULL)); /* the functions are there */
    assert_ok(tkl_callz(f->client, NULL, "ACL", "SETUSER", "guest", "on", ">pw", "~tackle:queue:*",
                        "+@read", "+fcall_ro", "+time", NULL));
    guest = test_open(f->server->url, &(tkl_options){.username = "guest", .password = "pw"});
    assert_ok(tkl_overview_read(guest, NULL, NULL, &o));
    assert_ok(o->queues_result.code);
    assert_int_equal(queue_of(o, "mails")->stats.ready, 2);
    assert_code(o->locks_result.code, TKL_EAUTH);
    assert_contains(o->locks_result.text, "NOPERM");
    assert_code(o->server_result.code, TKL_EAUTH);
    assert_string_equal(o->server, "");
    tkl_overview_free(o);
    tkl_close(guest);
    assert_ok(tkl_open("redis://127.0.0.1:1", NULL, &guest));
    assert_code(tkl_overview_read(guest, NULL, NULL, &o), TKL_ENOTSENT);
    assert_null(o);
    tkl_close(guest);
    tkl_overview_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_overview_has_everything),
        TEST(looking_again_is_one_trip),
        TEST(the_names_used_last_are_shown),
        TEST(a_damaged_name_does_not_hide_the_others),
        TEST(what_may_not_be_read_says_so),
        cmocka_unit_test(an_overview_of_a_cluster_has_everything),
    };
    setenv("TACKLE_REGISTER", "yes", 1);
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
