/* SPDX-License-Identifier: MIT
 *
 * Overviews: their contents, their round trips, and parts that the user may not read.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

static const tkl_client_info *client_of(const tkl_clients *clients, const char *name)
{
    for (size_t i = 0; i < clients->count; i++)
        if (strcmp(clients->items[i].name, name) == 0)
            return &clients->items[i];
    return NULL;
}

static int64_t connected_now(tkl_client *client)
{
    tkl_clients *clients;
    assert_ok(tkl_overview_clients(client, 1, &clients));
    int64_t connected = clients->connected;
    tkl_clients_free(clients);
    return connected;
}

static void clients_are_listed_without_holding_the_server(void **state)
{
    enum { MANY = 1100 };
    fixture *f = *state;
    tkl_clients *clients;
    tkl_client *named = test_open(f->server->url, &(tkl_options){.name = "named"});
    assert_ok(tkl_callz(f->client, NULL, "PING", NULL));
    assert_ok(tkl_callz(named, NULL, "PING", NULL));
    assert_ok(tkl_overview_clients(f->client, 0, &clients));
    assert_int_equal(clients->count, clients->connected);
    const tkl_client_info *info = client_of(clients, "named");
    assert_non_null(info);
    assert_string_equal(info->command, "ping");
    assert_string_equal(info->kind, "normal");
    assert_string_equal(info->user, "default");
    assert_true(info->id > 0 && info->memory > 0 && info->age_ms < 100000);
    tkl_clients_free(clients);
    assert_ok(tkl_overview_clients(f->client, 1, &clients)); /* the one that connected last */
    assert_int_equal(clients->count, 1);
    assert_string_equal(clients->items[0].name, "named");
    tkl_clients_free(clients);

    static int many[MANY]; /* too many for CLIENT LIST */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", f->server->socket);
    for (int i = 0; i < MANY; i++) {
        many[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(connect(many[i], (struct sockaddr *)&address, sizeof address), 0);
    }
    eventually(connected_now(f->client) >= MANY, 30000); /* Redis 8 accepts ten at a time */
    assert_ok(tkl_overview_clients(f->client, 50, &clients));
    assert_int_equal(clients->count, 50);
    assert_true(clients->most > MANY);
    for (size_t i = 0; i < clients->count; i++) {
        assert_string_equal(clients->items[i].name, "");
        assert_true(i == 0 || clients->items[i].id > clients->items[i - 1].id);
    }
    tkl_clients_free(clients);
    assert_ok(tkl_overview_clients(f->client, TKL_CLIENTS_MAX, &clients)); /* in two steps */
    assert_int_equal(clients->count, TKL_CLIENTS_MAX);
    tkl_clients_free(clients);
    for (int i = 0; i < MANY; i++)
        close(many[i]);
    tkl_close(named);
    assert_code(tkl_overview_clients(f->client, TKL_CLIENTS_MAX + 1, &clients), TKL_EINVAL);
    assert_null(clients);
}

/* The memory of a component; NULL: it has no keys. */
static const tkl_memory_item *memory_of(const tkl_memory *memory, const char *component)
{
    for (size_t i = 0; i < memory->count; i++)
        if (strcmp(memory->items[i].component, component) == 0)
            return &memory->items[i];
    return NULL;
}

static void check_memory(tkl_client *client)
{
    tkl_memory *memory;
    push_job(client, "mails", 1);
    count_once(client, "hits", 0);
    tkl_lock *lock = hold_lock(client, "door");
    assert_ok(tkl_callz(client, NULL, "SET", "of:others", "x", NULL));
    assert_ok(tkl_callz(client, NULL, "SET", "tackle:nothing:{x}", "x", NULL));
    assert_ok(tkl_overview_memory(client, 0, &memory)); /* few keys: all are counted */
    assert_true(memory->is_exact);
    assert_int_equal(memory->measured, memory->keys);
    assert_true(memory_of(memory, "queue")->keys >= 3 && memory_of(memory, "queue")->bytes > 200);
    assert_true(memory_of(memory, "counter")->keys >= 1);
    assert_true(memory_of(memory, "lock")->bytes > 0);
    assert_int_equal(memory_of(memory, "")->keys, 2);
    int64_t sum = 0;
    for (size_t i = 0; i < memory->count; i++) {
        sum += memory->items[i].keys;
        assert_true(i == 0 || memory->items[i].bytes <= memory->items[i - 1].bytes);
    }
    assert_int_equal(sum, memory->keys);
    tkl_memory_free(memory);
    assert_ok(tkl_lock_release(lock));
    tkl_lock_close(lock);
}

static void memory_is_told_by_component(void **state)
{
    fixture *f = *state;
    tkl_memory *memory;
    check_memory(f->client);
    assert_ok(tkl_callz(
        f->client, NULL, "EVAL", /* many others: they are estimated */
        "for i = 1, 30000 do redis.call('SET', 'o:' .. i, string.rep('x', 100)) end", "0", NULL));
    tkl_queue *queue; /* one large key, which no sample finds */
    assert_ok(tkl_queue_open(f->client, tkl_str("mails"), NULL, &queue));
    char *large = calloc(1, 5000000);
    assert_ok(tkl_queue_push_one(queue, (tkl_bytes){large, 5000000}, NULL));
    tkl_queue_close(queue);
    free(large);
    assert_ok(tkl_overview_memory(f->client, 1000, &memory));
    assert_false(memory->is_exact);
    assert_true(memory->measured < 3000 && memory->keys > 30000);
    int64_t bytes = memory_of(memory, "")->bytes, keys = memory_of(memory, "")->keys;
    assert_true(keys > 29000 && keys < 30100);
    assert_true(bytes > 3000000 && bytes < 9000000);
    /* MEMORY USAGE takes the mean of a few fields, of which the large one may be missing. */
    assert_non_null(memory_of(memory, "queue"));
    tkl_memory_free(memory);
    assert_code(tkl_overview_memory(f->client, -1, &memory), TKL_EINVAL);
    assert_null(memory);
}

static void memory_of_a_cluster_is_told_by_component(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    check_memory(client);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_overview_has_everything),
        TEST(looking_again_is_one_trip),
        TEST(the_names_used_last_are_shown),
        TEST(a_damaged_name_does_not_hide_the_others),
        TEST(what_may_not_be_read_says_so),
        TEST(clients_are_listed_without_holding_the_server),
        TEST(memory_is_told_by_component),
        cmocka_unit_test(an_overview_of_a_cluster_has_everything),
        cmocka_unit_test(memory_of_a_cluster_is_told_by_component),
    };
    setenv("TACKLE_REGISTER", "yes", 1);
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
