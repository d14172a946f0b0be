/* SPDX-License-Identifier: MIT
 *
 * Services: they are listed while they live and gone when they crash, and programs find them.
 *
 * ctest: label threads
 */
#include <tackle/service.h>

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/peer.h"
#include "support/permissions.h"
#include "support/process.h"
#include "support/proxy.h"

#define KEY     "tackle:service:{shop}"
#define LONG_MS 30000

static tkl_service *open_service(tkl_client *client)
{
    tkl_service *service;
    assert_ok(tkl_service_open(client, tkl_str("shop"), NULL, &service));
    return service;
}

static tkl_registration *add(tkl_service *service, const char *address, int64_t lease_ms)
{
    tkl_registration *registration;
    tkl_service_instance instance = {.address = tkl_str(address)};
    tkl_registration_options options = {.lease_ms = lease_ms};
    assert_ok(tkl_service_register(service, &instance, &options, &registration));
    return registration;
}

/* The addresses of instances, separated by spaces. Frees them. */
static const char *addresses(tkl_service_instances *instances)
{
    static _Thread_local char text[4096];
    char *at = text;
    *at = '\0';
    for (size_t i = 0; i < instances->count && at < text + sizeof text - 100; i++)
        at += sprintf(at, "%s" TKL_FMT, i ? " " : "", TKL_ARG(instances->items[i].address));
    tkl_service_instances_free(instances);
    return text;
}

static const char *list(tkl_service *service)
{
    tkl_service_instances *instances;
    assert_ok(tkl_service_list(service, &instances));
    return addresses(instances);
}

/* The list that a follower has in memory. */
static const char *watched(tkl_service *service)
{
    tkl_service_instances *instances;
    assert_ok(tkl_service_watch(service, 0, LONG_MS, &instances));
    return addresses(instances);
}

/* ---- Registering --------------------------------------------------------- */

static void instances_are_listed_until_they_are_closed(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    assert_string_equal(list(service), "");
    tkl_registration *b = add(service, "b:2", 0), *a = add(service, "a:1", 0);
    assert_string_equal(list(service), "a:1 b:2");
    assert_int_equal(tkl_registration_look(a), TKL_REGISTRATION_LISTED);
    assert_ok(tkl_registration_close(a));
    assert_string_equal(list(service), "b:2");
    assert_ok(tkl_registration_close(b));
    assert_string_equal(list(service), "");
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_ok(tkl_registration_close(NULL));
    tkl_service_close(service);
    tkl_service_close(NULL);
}

static void all_that_was_registered_is_listed(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *registration;
    tkl_service_instances *instances;
    tkl_service_meta meta[] = {
        {tkl_str("zone"), tkl_str("b")}, {{"\0\xff", 2}, {NULL, 0}}, {{NULL, 0}, tkl_str("x")}};
    tkl_service_instance me = {
        .address = {"a\0b", 3}, .id = tkl_str("one"), .weight = 7, .meta = meta, .meta_count = 3};
    assert_ok(tkl_service_register(service, &me, NULL, &registration));
    assert_ok(tkl_service_list(service, &instances));
    const tkl_service_instance *got = &instances->items[0];
    assert_int_equal(instances->count, 1);
    assert_int_equal(got->address.len, 3);
    assert_memory_equal(got->address.data, "a\0b", 3);
    assert_memory_equal(got->id.data, "one", 3);
    assert_int_equal(got->weight, 7);
    assert_int_equal(got->meta_count, 3);
    assert_memory_equal(got->meta[0].value.data, "b", 1);
    assert_memory_equal(got->meta[1].name.data, "\0\xff", 2);
    assert_int_equal(got->meta[1].value.len, 0);
    assert_int_equal(got->meta[2].name.len, 0);
    assert_in_range(got->left_ms, 1, 10000);
    tkl_service_instances_free(instances);
    assert_ok(tkl_registration_close(registration));
    tkl_service_close(service);
}

static void what_cannot_be_registered_is_told(void **state)
{
    fixture *f = *state;
    tkl_service *service;
    tkl_registration *registration;
    tkl_service_instances *picked;
    static char large[TKL_SERVICE_TEXT_MAX + 1];
    tkl_bytes too_large = {large, sizeof large};
    tkl_service_meta meta = {tkl_str("x"), {large, TKL_SERVICE_TEXT_MAX}};
    const tkl_service_instance bad[] = {
        {.weight = 1},
        {.address = too_large},
        {.address = tkl_str("a"), .id = too_large},
        {.address = tkl_str("a"), .weight = -2},
        {.address = tkl_str("a"), .weight = 1000001},
        {.address = tkl_str("a"), .meta = &meta, .meta_count = 1},
        {.address = tkl_str("a"), .reserved = {1}},
    };
    assert_code(tkl_service_open(f->client, tkl_str(""), NULL, &service), TKL_EINVAL);
    service = open_service(f->client);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_service_register(service, &bad[i], NULL, &registration), TKL_EINVAL);
        assert_null(registration);
    }
    static const int64_t leases[] = {-1, 99, 300001};
    tkl_service_instance good = {.address = tkl_str("a")};
    for (int i = 0; i < 3; i++) {
        tkl_registration_options options = {.lease_ms = leases[i]};
        assert_code(tkl_service_register(service, &good, &options, &registration), TKL_EINVAL);
    }
    assert_code(tkl_service_pick(service, (tkl_pick)3, &picked), TKL_EINVAL);
    assert_code(tkl_service_pick(service, TKL_PICK_RANDOM, &picked), TKL_EMPTY);
    assert_string_equal(tkl_registration_state_name(TKL_REGISTRATION_AWAY), "away");
    tkl_service_close(service);
}

static void leases_are_renewed(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *a = add(service, "a", 600);
    int64_t renewals = server_functions(f->server);
    eventually(server_functions(f->server) >= renewals + 6, LONG_MS);
    assert_string_equal(list(service), "a");
    assert_int_equal(tkl_registration_look(a), TKL_REGISTRATION_LISTED);
    assert_ok(tkl_registration_close(a));
    tkl_service_close(service);
}

static void a_restarted_program_takes_its_old_place(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *old = add(service, "a", 300), *new = add(service, "a", 5000);
    assert_string_equal(list(service), "a");
    eventually(tkl_registration_look(old) == TKL_REGISTRATION_REPLACED, LONG_MS);
    assert_code(tkl_registration_close(old), TKL_NOTOWNER);
    assert_string_equal(list(service), "a");
    assert_int_equal(tkl_registration_look(new), TKL_REGISTRATION_LISTED);
    assert_ok(tkl_registration_close(new));
    tkl_service_close(service);
}

/* ---- Crashes ------------------------------------------------------------- */

/* A process that registers "crashing" and waits to be killed. */
static int register_and_wait(void *arg)
{
    tkl_client *client;
    tkl_service *service;
    tkl_registration *registration;
    tkl_service_instance me = {.address = tkl_str("crashing")};
    tkl_registration_options options = {.lease_ms = 500};
    if (tkl_open(arg, NULL, &client) != TKL_OK ||
        tkl_service_open(client, tkl_str("shop"), NULL, &service) != TKL_OK ||
        tkl_service_register(service, &me, &options, &registration) != TKL_OK)
        return 1;
    pause();
    return 2;
}

static void a_service_that_is_killed_is_gone_with_its_lease(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *other = add(service, "other", 0);
    pid_t pid = process_fork(register_and_wait, f->server->url);
    eventually(strcmp(watched(service), "crashing other") == 0, LONG_MS);
    int64_t killed = test_now_ms();
    kill(pid, SIGKILL);
    process_wait(pid);
    eventually(strcmp(watched(service), "other") == 0, LONG_MS);
    assert_string_equal(list(service), "other");
    assert_true(test_now_ms() - killed < 10000);
    assert_ok(tkl_registration_close(other));
    tkl_service_close(service);
}

static void a_program_that_was_stopped_is_listed_again(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    pid_t pid = process_fork(register_and_wait, f->server->url);
    eventually(strcmp(watched(service), "crashing") == 0, LONG_MS);
    kill(pid, SIGSTOP);
    eventually(strcmp(watched(service), "") == 0, LONG_MS);
    kill(pid, SIGCONT);
    eventually(strcmp(watched(service), "crashing") == 0, LONG_MS);
    kill(pid, SIGKILL);
    process_wait(pid);
    tkl_service_close(service);
}

static void a_flushed_or_restarted_server_gets_all_back(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *a = add(service, "a", 500);
    assert_string_equal(watched(service), "a");
    server_do(f->server, "FLUSHALL");
    eventually(strcmp(list(service), "a") == 0, LONG_MS);
    server_kill(f->server);
    eventually(tkl_registration_look(a) == TKL_REGISTRATION_AWAY, LONG_MS);
    assert_string_equal(watched(service), "a"); /* the last known */
    server_restart(f->server);
    eventually(tkl_registration_look(a) == TKL_REGISTRATION_LISTED, LONG_MS);
    eventually(strcmp(list(service), "a") == 0, LONG_MS);
    assert_ok(tkl_registration_close(a));
    tkl_service_close(service);
}

static void what_has_ended_is_removed_by_the_next(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    for (int i = 0; i < 150; i++) {
        server_do(f->server, "ZADD " KEY " 1000 dead%d", i);
        server_do(f->server, "HSET " KEY ":owners dead%d x", i);
        server_do(f->server, "HSET " KEY ":infos dead%d x", i);
    }
    assert_string_equal(list(service), "");
    tkl_registration *a = add(service, "a", 0), *b = add(service, "b", 0);
    assert_int_equal(server_ask_int(f->server, "ZCARD " KEY), 2);
    assert_int_equal(server_ask_int(f->server, "HLEN " KEY ":owners"), 2);
    assert_int_equal(server_ask_int(f->server, "HLEN " KEY ":infos"), 2);
    static const char *const keys[] = {KEY, KEY ":owners", KEY ":infos"};
    for (int i = 0; i < 3; i++)
        assert_in_range(server_ask_int(f->server, "PTTL %s", keys[i]), 40000, 70000);
    assert_ok(tkl_registration_close(a));
    assert_ok(tkl_registration_close(b));
    tkl_service_close(service);
}

static void a_clock_that_was_set_back_keeps_no_dead_for_ever(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    char *time = server_ask(f->server, "TIME");
    int64_t now = strtoll(time, NULL, 10) * 1000;
    free(time);
    server_do(f->server, "ZADD " KEY " %lld dead", (long long)(now + 3600000));
    tkl_registration *a = add(service, "a", 0);
    assert_true(server_ask_int(f->server, "ZSCORE " KEY " dead") <= now + 330000);
    assert_ok(tkl_registration_close(a));
    server_do(f->server, "ZADD " KEY " %lld dead", (long long)(now + 3600000));
    list(service); /* no instance registers any more, but a caller looks */
    assert_true(server_ask_int(f->server, "ZSCORE " KEY " dead") <= now + 330000);
    tkl_service_close(service);
}

static void a_client_whose_clock_is_off_by_an_hour_is_listed_all_the_same(void **state)
{
    fixture *f = *state;
    if (!peer_can_fake_clock())
        skip();
    tkl_service *service = open_service(f->client);
    char *command = test_format("exec '%s/tackle' --url '%s' service register shop --address off "
                                "--lease 1s >/dev/null 2>&1",
                                TACKLE_BINARY_DIR, f->server->url);
    peer_fake_clock(3600000);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    unsetenv("LD_PRELOAD");
    eventually(strcmp(list(service), "off") == 0, LONG_MS);
    int64_t renewals = server_functions(f->server);
    eventually(server_functions(f->server) > renewals + 5, LONG_MS);
    assert_string_equal(list(service), "off");
    kill(pid, SIGKILL);
    process_wait(pid);
    peer_remove_faked(pid);
    eventually(strcmp(list(service), "") == 0, LONG_MS);
    free(command);
    tkl_service_close(service);
}

/* ---- Many ---------------------------------------------------------------- */

enum { MANY = 1000, THREADS = 8 };

typedef struct crowd {
    tkl_service *service;
    tkl_registration *registrations[MANY];
} crowd;

static void register_some(void *arg, int index)
{
    crowd *c = arg;
    for (int i = index; i < MANY; i += THREADS) {
        char address[32];
        snprintf(address, sizeof address, "host%04d", i);
        c->registrations[i] = add(c->service, address, 20000);
    }
}

static void a_thousand_register_at_once(void **state)
{
    fixture *f = *state;
    static crowd c;
    tkl_service_instances *instances;
    c.service = open_service(f->client);
    crew_run(THREADS, register_some, &c);
    int64_t before = server_calls(f->server, "zscan");
    assert_ok(tkl_service_list(c.service, &instances));
    assert_in_range(server_calls(f->server, "zscan") - before, 4, 16); /* short steps */
    assert_int_equal(instances->count, MANY);
    for (int i = 0; i < MANY; i++) {
        char address[32];
        snprintf(address, sizeof address, "host%04d", i);
        assert_memory_equal(instances->items[i].address.data, address, strlen(address));
    }
    tkl_service_instances_free(instances);
    for (int i = 0; i < MANY; i++)
        assert_ok(tkl_registration_close(c.registrations[i]));
    assert_string_equal(list(c.service), "");
    tkl_service_close(c.service);
}

static void a_full_service_takes_no_more(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *registration, *again;
    tkl_service_instance me = {.address = tkl_str("me")};
    tkl_registration *mine = add(service, "mine", 0);
    char *script = test_format("for i = 1, %d do redis.call('ZADD', '" KEY
                               "', '99999999999999', 'x' .. i) end",
                               TKL_SERVICE_INSTANCES_MAX - 1);
    server_do(f->server, "EVAL %s 0", script);
    free(script);
    assert_code(tkl_service_register(service, &me, NULL, &registration), TKL_FULL);
    again = add(service, "mine", 0); /* its place is there already */
    assert_code(tkl_registration_close(mine), TKL_NOTOWNER);
    assert_ok(tkl_registration_close(again));
    tkl_service_close(service);
}

/* ---- Finding ------------------------------------------------------------- */

static void a_watcher_hears_of_changes_and_not_of_renewals(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_service *service = open_service(f->client), *theirs = open_service(other);
    tkl_service_instances *instances;
    assert_ok(tkl_service_watch(service, 0, LONG_MS, &instances));
    uint64_t change = instances->change;
    assert_string_equal(addresses(instances), "");
    tkl_registration *a = add(theirs, "a", 300);
    assert_ok(tkl_service_watch(service, change, LONG_MS, &instances));
    change = instances->change;
    assert_string_equal(addresses(instances), "a");
    assert_code(tkl_service_watch(service, change, 400, &instances), TKL_EMPTY);
    assert_code(tkl_service_watch(service, change, 0, &instances), TKL_EMPTY);
    assert_ok(tkl_registration_close(a));
    assert_ok(tkl_service_watch(service, change, LONG_MS, &instances));
    assert_string_equal(addresses(instances), "");
    tkl_service_close(service);
    tkl_service_close(theirs);
    tkl_close(other);
}

static int64_t left_of(tkl_service_instances *instances)
{
    assert_int_equal(instances->count, 1);
    int64_t left = instances->items[0].left_ms;
    tkl_service_instances_free(instances);
    return left;
}

/* Clients do not hear of renewals, so leases in memory count down. */
static void what_is_left_of_a_lease_counts_down(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_service_instances *first, *later, *picked;
    tkl_registration *a = add(service, "a", 300000);
    assert_ok(tkl_service_watch(service, 0, LONG_MS, &first));
    test_sleep_ms(50);
    assert_ok(tkl_service_watch(service, 0, LONG_MS, &later));
    assert_ok(tkl_service_pick(service, TKL_PICK_RANDOM, &picked));
    int64_t before = left_of(first), after = left_of(later);
    assert_in_range(before, 1, 300000);
    assert_in_range(after, 0, before - 40);
    assert_in_range(left_of(picked), 0, after);
    assert_ok(tkl_registration_close(a));
    tkl_service_close(service);
}

static void a_watcher_misses_nothing_through_broken_connections(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_service *watcher = open_service(client), *service = open_service(f->client);
    tkl_registration *a = add(service, "a", 0);
    assert_string_equal(watched(watcher), "a");
    for (int i = 0; i < 5; i++) {
        proxy_refuse(p, true);
        proxy_cut(p);
        tkl_registration *b = add(service, "b", 0);
        proxy_refuse(p, false);
        eventually(strcmp(watched(watcher), "a b") == 0, LONG_MS);
        proxy_cut(p);
        assert_ok(tkl_registration_close(b));
        eventually(strcmp(watched(watcher), "a") == 0, LONG_MS);
    }
    assert_ok(tkl_registration_close(a));
    tkl_service_close(watcher);
    tkl_service_close(service);
    tkl_close(client);
    proxy_end(p);
}

static char pick(tkl_service *service, tkl_pick how)
{
    tkl_service_instances *picked;
    assert_ok(tkl_service_pick(service, how, &picked));
    assert_int_equal(picked->count, 1);
    char first = picked->items[0].address.data[0];
    tkl_service_instances_free(picked);
    return first;
}

static void picks_are_spread_as_asked(void **state)
{
    fixture *f = *state;
    enum { PICKS = 4000 };
    tkl_service *service = open_service(f->client);
    static const int64_t weights[] = {1, 3, TKL_NONE};
    tkl_registration *registrations[3];
    int by_random[3] = {0}, by_turn[3] = {0}, by_weight[3] = {0};
    for (int i = 0; i < 3; i++) {
        char address[] = {(char)('a' + i), '\0'};
        tkl_service_instance me = {.address = tkl_str(address), .weight = weights[i]};
        assert_ok(tkl_service_register(service, &me, NULL, &registrations[i]));
    }
    assert_string_equal(watched(service), "a b c");
    int64_t before = server_commands(f->server);
    for (int i = 0; i < PICKS; i++) {
        by_random[pick(service, TKL_PICK_RANDOM) - 'a']++;
        by_turn[pick(service, TKL_PICK_ROUND_ROBIN) - 'a']++;
        by_weight[pick(service, TKL_PICK_WEIGHT) - 'a']++;
    }
    assert_true(server_commands(f->server) - before < 100); /* from memory */
    for (int i = 0; i < 3; i++) {
        assert_in_range(by_random[i], PICKS / 4, PICKS / 2);
        assert_in_range(by_turn[i], PICKS / 3, PICKS / 3 + 1);
    }
    assert_int_equal(by_weight[2], 0);
    assert_in_range(by_weight[1], PICKS * 2 / 3, PICKS * 5 / 6);
    for (int i = 0; i < 3; i++)
        assert_ok(tkl_registration_close(registrations[i]));
    tkl_service_close(service);
}

static void services_with_instances_have_names(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client), *odd;
    tkl_names *names;
    assert_ok(tkl_service_open(f->client, tkl_str("{odd}"), NULL, &odd));
    tkl_registration *a = add(service, "a", 0), *b = add(odd, "b", 0);
    server_do(f->server, "ZADD tackle:service:{dead} 1000 x");
    assert_ok(tkl_service_names(f->client, &names));
    assert_int_equal(names->count, 2);
    assert_memory_equal(names->items[0].data, "shop", 4);
    assert_memory_equal(names->items[1].data, "{odd}", 5);
    tkl_names_free(names);
    assert_ok(tkl_registration_close(a));
    assert_ok(tkl_registration_close(b));
    tkl_service_close(service);
    tkl_service_close(odd);
}

/* ---- Trouble ------------------------------------------------------------- */

static void foreign_keys_are_told_and_left_alone(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *registration;
    tkl_service_instances *instances;
    tkl_service_instance me = {.address = tkl_str("me")};
    static const char *const keys[] = {KEY, KEY ":owners", KEY ":infos"};
    for (int i = 0; i < 3; i++) {
        server_do(f->server, "FLUSHALL");
        server_do(f->server, "SET %s x", keys[i]);
        assert_code(tkl_service_register(service, &me, NULL, &registration), TKL_ETYPE);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    }
    server_do(f->server, "FLUSHALL");
    tkl_registration *a = add(service, "a", 0);
    static const char *const infos[] = {"", "x", "\xff\xff\xff\xff", "abcdefgh"};
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        server_do(f->server, "HSET " KEY ":infos a %s", infos[i]);
        assert_code(tkl_service_list(service, &instances), TKL_EDAMAGED);
        assert_null(instances);
    }
    assert_ok(tkl_registration_close(a));
    tkl_service_close(service);
}

static void a_server_without_memory_registers_nobody(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *registration;
    tkl_service_instance me = {.address = tkl_str("me")};
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_service_register(service, &me, NULL, &registration), TKL_EOOM);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_service_close(service);
}

static void a_full_server_goes_on_listing_what_is_registered(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *a = add(service, "a", 600), *b = add(service, "b", 600);
    assert_string_equal(watched(service), "a b");
    server_do(f->server, "CONFIG SET maxmemory 1");
    int64_t renewals = server_functions(f->server);
    eventually(server_functions(f->server) >= renewals + 12, LONG_MS);
    assert_string_equal(list(service), "a b");
    assert_int_equal(tkl_registration_look(a), TKL_REGISTRATION_LISTED);
    assert_ok(tkl_registration_close(b));
    assert_string_equal(list(service), "a");
    server_do(f->server, "DEL " KEY);
    eventually(tkl_registration_look(a) == TKL_REGISTRATION_AWAY, LONG_MS);
    assert_string_equal(list(service), ""); /* a full server takes nothing new */
    server_do(f->server, "CONFIG SET maxmemory 0");
    eventually(strcmp(list(service), "a") == 0, LONG_MS);
    assert_ok(tkl_registration_close(a));
    tkl_service_close(service);
}

static void a_short_lease_does_not_end_a_long_one(void **state)
{
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    tkl_registration *longer = add(service, "longer", 300000), *shorter = add(service, "s", 300);
    int64_t renewals = server_functions(f->server);
    eventually(server_functions(f->server) >= renewals + 3, LONG_MS);
    static const char *const keys[] = {KEY, KEY ":owners", KEY ":infos"};
    for (int i = 0; i < 3; i++)
        assert_in_range(server_ask_int(f->server, "PTTL %s", keys[i]), 300000, 360000);
    assert_ok(tkl_registration_close(longer));
    assert_ok(tkl_registration_close(shorter));
    tkl_service_close(service);
}

static tkl_registration *inherited;

static int close_inherited(void *arg)
{
    tkl_service *service = arg;
    tkl_service_instances *instances;
    if (tkl_registration_close(inherited) != TKL_OK)
        return 1;
    if (tkl_service_list(service, &instances) != TKL_OK || instances->count != 1)
        return 2;
    tkl_service_instances_free(instances);
    if (tkl_service_pick(service, TKL_PICK_RANDOM, &instances) != TKL_OK)
        return 3;
    tkl_service_instances_free(instances);
    tkl_service_close(service);
    return 0;
}

static void a_forked_child_does_not_take_its_parent_off_the_list(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    tkl_service *service = open_service(f->client);
    inherited = add(service, "a", 0);
    assert_string_equal(watched(service), "a");
    assert_int_equal(process_wait(process_fork(close_inherited, service)), 0);
    assert_string_equal(list(service), "a");
    assert_ok(tkl_registration_close(inherited));
    tkl_service_close(service);
}

static void the_documented_permissions_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "service.md");
    tkl_service *service = open_service(client);
    tkl_names *names;
    server_do(f->server, "ZADD " KEY " 1000 dead");
    server_do(f->server, "ZADD " KEY " 99999999999999 undead");
    tkl_registration *a = add(service, "a", 300);
    assert_string_equal(watched(service), "a");
    eventually(server_functions(f->server) > 6, LONG_MS);
    assert_string_equal(list(service), "a");
    assert_ok(tkl_service_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_registration_close(a));
    tkl_service_close(service);
    tkl_close(client);
}

static void a_cluster_works(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_service *service = open_service(client);
    tkl_registration *a = add(service, "a", 600);
    assert_string_equal(watched(service), "a");
    cluster_fail_over(c, (int)call_int(client, "CLUSTER", "KEYSLOT", KEY, NULL));
    tkl_registration *b = add(service, "b", 600);
    eventually(strcmp(watched(service), "a b") == 0, LONG_MS);
    assert_ok(tkl_registration_close(a));
    assert_ok(tkl_registration_close(b));
    tkl_service_close(service);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(instances_are_listed_until_they_are_closed),
        TEST(all_that_was_registered_is_listed),
        TEST(what_cannot_be_registered_is_told),
        TEST(leases_are_renewed),
        TEST(a_restarted_program_takes_its_old_place),
        TEST(a_service_that_is_killed_is_gone_with_its_lease),
        TEST(a_program_that_was_stopped_is_listed_again),
        TEST(a_flushed_or_restarted_server_gets_all_back),
        TEST(what_has_ended_is_removed_by_the_next),
        TEST(a_clock_that_was_set_back_keeps_no_dead_for_ever),
        TEST(a_client_whose_clock_is_off_by_an_hour_is_listed_all_the_same),
        TEST(a_thousand_register_at_once),
        TEST(a_full_service_takes_no_more),
        TEST(a_watcher_hears_of_changes_and_not_of_renewals),
        TEST(what_is_left_of_a_lease_counts_down),
        TEST(a_watcher_misses_nothing_through_broken_connections),
        TEST(picks_are_spread_as_asked),
        TEST(services_with_instances_have_names),
        TEST(foreign_keys_are_told_and_left_alone),
        TEST(a_server_without_memory_registers_nobody),
        TEST(a_full_server_goes_on_listing_what_is_registered),
        TEST(a_short_lease_does_not_end_a_long_one),
        TEST(a_forked_child_does_not_take_its_parent_off_the_list),
        TEST(the_documented_permissions_are_enough),
        cmocka_unit_test(a_cluster_works),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
