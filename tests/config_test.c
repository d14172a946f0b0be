/* SPDX-License-Identifier: MIT
 *
 * Configuration on the server: versions, history, what is refused.
 *
 * ctest: label threads
 */

#include <stdatomic.h>

#include "core/client.h"
#include "support/cluster.h"
#include "support/configs.h"
#include "support/fixture.h"
#include "support/locale.h"
#include "support/permissions.h"
#include "support/proxy.h"

/* ---- Setting ------------------------------------------------------------- */

static void every_change_has_a_version(void **state)
{
    fixture *f = *state;
    tkl_config *config;
    tkl_config_value *value;
    tkl_config_options options = {.author = "ann@host"};
    assert_ok(tkl_config_open(f->client, tkl_str("limits"), tkl_str("search"), &options, &config));
    assert_code(tkl_config_get(config, &value), TKL_NOTFOUND);
    assert_null(value);
    assert_int_equal(set_config(config, "{\"a\": 1}"), 1);
    assert_int_equal(set_config(config, "{\"a\": 2}"), 2);
    assert_ok(tkl_config_get(config, &value));
    assert_true(value->changed_ms > INT64_C(1600000000000));
    assert_int_equal(value->author.len, 8);
    assert_memory_equal(value->author.data, "ann@host", 8);
    assert_true(is_config(value, "{\"a\": 2}", 2));
    tkl_config_close(config);
    tkl_config_close(NULL);
    tkl_config_value_free(NULL);
}

static void what_is_not_json_is_refused(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    static const tkl_bytes bad[] = {
        {NULL, 0},        TKL_LIT("{"),   TKL_LIT("{\"a\": 1,}"),
        TKL_LIT("nul"),   TKL_LIT("1 2"), TKL_LIT("\"\xff\""),
        TKL_LIT("1e999"), TKL_LIT("'a'"), TKL_LIT("{\"a\": 1, \"a\": 2}"),
        TKL_LIT("1\0"),   TKL_LIT("01"),
    };
    static const tkl_bytes good[] = {
        TKL_LIT("0"),
        TKL_LIT("null"),
        TKL_LIT("\"\\u0000\""),
        TKL_LIT(" [1.5] "),
        TKL_LIT("123456789012345678901234567890"),
        TKL_LIT("\"\xe4\xb8\xad\""),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(tkl_config_set(config, bad[i], NULL, NULL), TKL_EINVAL);
    assert_code(tkl_config_set(config, tkl_str("[1"), NULL, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "not JSON: line 1");
    static const struct {
        const char *json, *why;
    } limits[] = {
        {"[1,\n1e400]", "line 2, column 5: a number is out of the range of a double"},
        {"{\"a\\u0000b\": 1}", "a key of an object has a NUL character"},
        {"{\"a\": 1, \"a\": 2}", "an object has the same key twice"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        assert_code(tkl_config_set(config, tkl_str(limits[i].json), NULL, NULL), TKL_EINVAL);
        assert_contains(tkl_errmsg(), limits[i].why);
        assert_null(strstr(tkl_errmsg(), "not JSON"));
    }
    char deep[3001];
    memset(deep, '[', sizeof deep);
    assert_code(tkl_config_set(config, (tkl_bytes){deep, sizeof deep}, NULL, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "nested more than 2048 deep");
    assert_int_equal(call_int(f->client, "EXISTS", KEY, NULL), 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_ok(tkl_config_set(config, good[i], NULL, NULL));
    tkl_config_close(config);
}

static void values_up_to_a_megabyte_are_taken_and_ten_refused(void **state)
{
    fixture *f = *state;
    enum { TEN = 10 << 20 };
    tkl_config *config = open_config(f->client);
    tkl_config_value *value;
    char *text = malloc(TEN);
    memset(text, 'x', TEN);
    text[0] = text[TEN - 1] = text[TKL_CONFIG_VALUE_MAX - 1] = '"';
    assert_code(tkl_config_set(config, (tkl_bytes){text, TEN}, NULL, NULL), TKL_EINVAL);
    assert_ok(tkl_config_set(config, (tkl_bytes){text, TKL_CONFIG_VALUE_MAX}, NULL, NULL));
    assert_ok(tkl_config_read(config, &value, NULL));
    assert_int_equal(value->json.len, TKL_CONFIG_VALUE_MAX);
    tkl_config_value_free(value);
    free(text);
    tkl_config_close(config);
}

static void names_and_options_are_checked(void **state)
{
    fixture *f = *state;
    tkl_config *config;
    static const struct {
        tkl_bytes kind, component;
    } bad[] = {
        {TKL_LIT(""), TKL_LIT("x")},
        {TKL_LIT("a:b"), TKL_LIT("x")},
        {TKL_LIT("a b"), TKL_LIT("x")},
        {TKL_LIT("a\0"), TKL_LIT("x")},
        {TKL_LIT("a"), TKL_LIT("")},
        {TKL_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
         TKL_LIT("x")},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_config_open(f->client, bad[i].kind, bad[i].component, NULL, &config),
                    TKL_EINVAL);
        assert_null(config);
    }
    static const tkl_config_options wrong[] = {
        {.history = -1}, {.history = 1001}, {.timeout_ms = -1}, {.reserved = {[7] = 1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_code(tkl_config_open(f->client, tkl_str("k"), tkl_str("c"), &wrong[i], &config),
                    TKL_EINVAL);
    config = open_config(f->client);
    assert_code(set_config_if(config, "1", -2, NULL), TKL_EINVAL);
    tkl_config_close(config);
}

static void compare_and_set_finds_other_changes(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    int64_t version;
    assert_code(set_config_if(config, "1", 1, &version), TKL_CONFLICT);
    assert_int_equal(version, 0);
    assert_ok(set_config_if(config, "1", TKL_NONE, &version));
    assert_int_equal(version, 1);
    assert_code(set_config_if(config, "2", TKL_NONE, &version), TKL_CONFLICT);
    assert_int_equal(version, 1);
    assert_ok(set_config_if(config, "2", 1, &version));
    assert_int_equal(version, 2);
    assert_code(set_config_if(config, "3", 1, &version), TKL_CONFLICT);
    assert_contains(tkl_errmsg(), "the version is 2");
    assert_true(reads_config(config, "2", 2));
    tkl_config_close(config);
}

/* Adds one, and tries again when another thread was quicker. */
static void count_up(void *arg, int index)
{
    tkl_config *config = open_config(arg);
    (void)index;
    for (int i = 0; i < 25; i++) {
        int rc = TKL_CONFLICT;
        while (rc == TKL_CONFLICT) {
            tkl_config_value *value;
            char json[32];
            assert_ok(tkl_config_get(config, &value));
            snprintf(json, sizeof json, TKL_FMT, TKL_ARG(value->json)); /* no NUL behind it */
            snprintf(json, sizeof json, "%d", atoi(json) + 1);
            rc = set_config_if(config, json, value->version, NULL);
            tkl_config_value_free(value);
        }
        assert_ok(rc);
    }
    tkl_config_close(config);
}

static void concurrent_compare_and_set_loses_nothing(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    set_config(config, "0");
    crew_run(8, count_up, f->client);
    assert_true(reads_config(config, "200", 201));
    tkl_config_close(config);
}

static void a_request_whose_reply_was_lost_is_made_once(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_config *config = open_config(client);
    int64_t version;
    for (int i = 1; i <= 5; i++) {
        set_config(config, "1");
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(set_config_if(config, "2", 2 * i - 1, &version));
        assert_int_equal(version, 2 * i);
    }
    tkl_config_close(config);
    tkl_close(client);
    proxy_end(p);
}

typedef struct change {
    tkl_config *config;
    int rc;
    int64_t version;
} change;

static void *make_change(void *arg)
{
    change *c = arg;
    c->rc = set_config_if(c->config, "2", 1, &c->version);
    return NULL;
}

/* The reply is lost, and other programs make many changes before the server is reached again. */
static void a_request_is_made_once_however_many_others_there_are(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 60000});
    tkl_config *direct = open_config(f->client);
    change c = {.config = open_config(client)};
    pthread_t thread;
    set_config(c.config, "1"); /* also connects */
    proxy_hold(p, TO_CLIENT, true);
    assert_int_equal(pthread_create(&thread, NULL, make_change, &c), 0);
    eventually(reads_config(direct, "2", 2), LONG_MS);
    proxy_refuse(p, true);
    proxy_cut(p);
    for (int i = 3; i < 53; i++)
        assert_int_equal(set_config(direct, "3"), i);
    proxy_hold(p, TO_CLIENT, false);
    proxy_refuse(p, false);
    pthread_join(thread, NULL);
    assert_ok(c.rc);
    assert_int_equal(c.version, 2);
    assert_true(reads_config(direct, "3", 52));
    tkl_config_close(c.config);
    tkl_config_close(direct);
    tkl_close(client);
    proxy_end(p);
}

/* ---- History ------------------------------------------------------------- */

static void the_last_versions_are_kept(void **state)
{
    fixture *f = *state;
    tkl_config *config;
    tkl_config_values *values;
    tkl_config_options options = {.history = 3};
    assert_ok(tkl_config_open(f->client, tkl_str("limits"), tkl_str("search"), &options, &config));
    assert_ok(tkl_config_history(config, 0, &values));
    assert_int_equal(values->count, 0);
    tkl_config_values_free(values);
    for (int i = 1; i <= 8; i++)
        set_config(config, i % 2 ? "1" : "2");
    assert_ok(tkl_config_history(config, 0, &values));
    assert_int_equal(values->count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(values->items[i].version, 8 - i);
    assert_memory_equal(values->items[1].json.data, "1", 1);
    tkl_config_values_free(values);
    assert_ok(tkl_config_history(config, 1, &values));
    assert_int_equal(values->count, 1);
    tkl_config_values_free(values);
    tkl_config_values_free(NULL);
    tkl_config_close(config);
}

static void a_long_history_is_read_page_by_page(void **state)
{
    fixture *f = *state;
    tkl_config *config;
    tkl_config_values *values;
    tkl_config_options options = {.history = 1000};
    assert_ok(tkl_config_open(f->client, tkl_str("limits"), tkl_str("search"), &options, &config));
    for (int i = 1; i <= 40; i++) {
        char json[16];
        snprintf(json, sizeof json, "%d", i);
        set_config(config, json);
        assert_ok(tkl_config_history(config, 0, &values));
        assert_int_equal(values->count, i);
        for (int v = 0; v < i; v++) {
            assert_int_equal(values->items[v].version, i - v);
            assert_int_equal(strtol(values->items[v].json.data, NULL, 10), i - v);
        }
        tkl_config_values_free(values);
    }
    assert_ok(tkl_config_history(config, 17, &values));
    assert_int_equal(values->count, 17);
    tkl_config_values_free(values);
    tkl_config_close(config);
}

static atomic_bool written;

static void write_on(void *arg, int index)
{
    (void)index;
    for (int i = 0; i < 200; i++)
        set_config(arg, "1");
    written = true;
}

/* Pages that are read while versions are added: each version once, none left out. */
static void a_history_is_whole_while_it_changes(void **state)
{
    fixture *f = *state;
    tkl_config *config;
    tkl_config_options options = {.history = 60};
    assert_ok(tkl_config_open(f->client, tkl_str("limits"), tkl_str("search"), &options, &config));
    written = false;
    crew *writer = crew_start(1, write_on, config);
    while (!written) {
        tkl_config_values *values;
        assert_ok(tkl_config_history(config, 0, &values));
        for (size_t i = 0; i < values->count; i++)
            assert_int_equal(values->items[i].version, values->items[0].version - (int64_t)i);
        tkl_config_values_free(values);
    }
    crew_join(writer);
    tkl_config_close(config);
}

static void what_is_dropped_is_gone_and_its_version_is_not_used_again(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client), *reader = open_config(f->client);
    tkl_config_value *seen, *value;
    tkl_names *names;
    assert_code(tkl_config_drop(config), TKL_NOTFOUND);
    set_config(config, "1");
    set_config(config, "2");
    assert_ok(tkl_config_read(reader, &seen, NULL));
    assert_ok(tkl_config_drop(config));
    assert_code(tkl_config_drop(config), TKL_NOTFOUND);
    assert_code(tkl_config_watch(reader, seen, LONG_MS, &value), TKL_NOTFOUND);
    assert_true(is_config(seen, "2", 2));
    assert_ok(tkl_config_names(f->client, &names));
    assert_int_equal(names->count, 0);
    tkl_names_free(names);
    assert_int_equal(call_int(f->client, "EXISTS", KEY, NULL), 0);
    assert_true(call_int(f->client, "PTTL", KEY ":requests", NULL) > 0);
    assert_code(set_config_if(config, "3", 2, NULL), TKL_CONFLICT);
    assert_int_equal(set_config(config, "3"), 3);
    assert_int_equal(call_int(f->client, "PTTL", KEY, NULL), -1);
    assert_int_equal(call_int(f->client, "PTTL", KEY ":requests", NULL), -1);
    assert_ok(tkl_config_watch(reader, NULL, LONG_MS, &value));
    assert_true(is_config(value, "3", 3));
    tkl_config_close(config);
    tkl_config_close(reader);
}

static void all_names_are_listed(void **state)
{
    fixture *f = *state;
    static const char *const pairs[][2] = {{"b", "x:y"}, {"a", "{z}"}, {"b", "x"}};
    tkl_names *names;
    for (int i = 0; i < 3; i++) {
        tkl_config *config;
        assert_ok(
            tkl_config_open(f->client, tkl_str(pairs[i][0]), tkl_str(pairs[i][1]), NULL, &config));
        set_config(config, "1");
        tkl_config_close(config);
    }
    assert_ok(tkl_config_names(f->client, &names));
    assert_int_equal(names->count, 3);
    assert_memory_equal(names->items[0].data, "a:{z}", 5);
    assert_memory_equal(names->items[2].data, "b:x:y", 5);
    tkl_names_free(names);
}

/* ---- Trouble ------------------------------------------------------------- */

static void foreign_keys_are_told_and_left_alone(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    tkl_config_value *value;
    server_do(f->server, "SET " KEY " x");
    assert_code(tkl_config_get(config, &value), TKL_ETYPE);
    assert_code(tkl_config_read(config, &value, NULL), TKL_ETYPE);
    assert_code(tkl_config_set(config, tkl_str("1"), NULL, NULL), TKL_ETYPE);
    server_do(f->server, "DEL " KEY);
    server_do(f->server, "RPUSH " KEY " a 1 2 me");
    assert_code(tkl_config_get(config, &value), TKL_EDAMAGED);
    assert_code(tkl_config_set(config, tkl_str("1"), NULL, NULL), TKL_EDAMAGED);
    assert_code(tkl_config_drop(config), TKL_EDAMAGED);
    assert_int_equal(server_ask_int(f->server, "LLEN " KEY), 4);
    server_do(f->server, "DEL " KEY);
    server_do(f->server, "RPUSH " KEY " 7 1 2");
    assert_code(tkl_config_get(config, &value), TKL_EDAMAGED);
    server_do(f->server, "DEL " KEY);
    set_config(config, "1");
    eventually(reads_config(config, "1", 1), LONG_MS); /* it is followed all the same */
    tkl_config_close(config);
}

static void a_server_without_memory_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    set_config(config, "1");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_config_set(config, tkl_str("2"), NULL, NULL), TKL_EOOM);
    assert_true(reads_config(config, "1", 1));
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(set_config(config, "2"), 2);
    tkl_config_close(config);
}

/* Dropping makes room; the version is remembered all the same. */
static void a_value_can_be_dropped_on_a_full_server(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    set_config(config, "1");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_ok(tkl_config_drop(config));
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(set_config(config, "2"), 2);
    tkl_config_close(config);
}

static void a_decimal_comma_in_the_locale_does_no_harm(void **state)
{
    fixture *f = *state;
    locale_with_a_comma();
    tkl_config *config = open_config(f->client);
    set_config(config, "{\"rate\": 1.5}");
    assert_true(reads_config(config, "{\"rate\": 1.5}", 1));
    assert_code(tkl_config_set(config, tkl_str("1,5"), NULL, NULL), TKL_EINVAL);
    locale_plain();
    tkl_config_close(config);
}

static void the_documented_permissions_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "config.md");
    tkl_config *config = open_config(client);
    tkl_names *names;
    set_config(config, "1");
    assert_true(reads_config(config, "1", 1));
    set_config(config, "2");
    eventually(reads_config(config, "2", 2), LONG_MS);
    eventually(config_age(config) == 0, LONG_MS);
    assert_ok(tkl_config_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_config_drop(config));
    assert_int_equal(set_config(config, "3"), 3);
    tkl_config_close(config);
    tkl_close(client);
}

static void a_cluster_is_followed_through_a_failover(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_config *config = open_config(client), *writer = open_config(client);
    set_config(writer, "1");
    assert_true(reads_config(config, "1", 1));
    cluster_fail_over(c, (int)call_int(client, "CLUSTER", "KEYSLOT", KEY, NULL));
    set_config(writer, "2");
    eventually(reads_config(config, "2", 2), LONG_MS);
    tkl_config_close(config);
    tkl_config_close(writer);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_change_has_a_version),
        TEST(what_is_not_json_is_refused),
        TEST(values_up_to_a_megabyte_are_taken_and_ten_refused),
        TEST(names_and_options_are_checked),
        TEST(compare_and_set_finds_other_changes),
        TEST(concurrent_compare_and_set_loses_nothing),
        TEST(a_request_whose_reply_was_lost_is_made_once),
        TEST(a_request_is_made_once_however_many_others_there_are),
        TEST(the_last_versions_are_kept),
        TEST(a_long_history_is_read_page_by_page),
        TEST(a_history_is_whole_while_it_changes),
        TEST(what_is_dropped_is_gone_and_its_version_is_not_used_again),
        TEST(all_names_are_listed),
        TEST(foreign_keys_are_told_and_left_alone),
        TEST(a_server_without_memory_changes_nothing),
        TEST(a_value_can_be_dropped_on_a_full_server),
        TEST(a_decimal_comma_in_the_locale_does_no_harm),
        TEST(the_documented_permissions_are_enough),
        cmocka_unit_test(a_cluster_is_followed_through_a_failover),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
