/* SPDX-License-Identifier: MIT
 *
 * Clients that follow a configuration, and the maintenance flag.
 *
 * ctest: label threads
 */
#include <tackle/config.h>

#include <stdatomic.h>

#include "support/fixture.h"

#define LONG_MS 30000

static int try_configure(tkl_client *client, const char *format, const char *url)
{
    tkl_config *config;
    char *json = test_format(format, url);
    assert_ok(tkl_config_open(client, tkl_str(TKL_CONFIG_SERVER), tkl_str("db"), NULL, &config));
    int rc = tkl_config_set(config, tkl_str(json), NULL, NULL);
    tkl_config_close(config);
    free(json);
    return rc;
}

static void configure(tkl_client *client, const char *format, const char *url)
{
    assert_ok(try_configure(client, format, url));
}

/* As an older version of the library may have stored it: unchecked, with all fields of a version. */
static void configure_unchecked(tkl_client *client, int64_t version, const char *format,
                                const char *url)
{
    char *json = test_format(format, url), number[24];
    snprintf(number, sizeof number, "%lld", (long long)version);
    assert_ok(
        tkl_callz(client, NULL, "LPUSH", "tackle:config:{server:db}", "", "1", json, number, NULL));
    assert_ok(tkl_callz(client, NULL, "SPUBLISH", "tackle:config:{server:db}", "", NULL));
    free(json);
}

static tkl_config_client *open_source(tkl_client *client)
{
    tkl_config_client *source;
    assert_ok(tkl_config_client_open(client, tkl_str("db"), NULL, &source));
    return source;
}

static tkl_client *borrow(tkl_config_client *source)
{
    tkl_client *client;
    assert_ok(tkl_config_client_borrow(source, &client));
    return client;
}

/* The name that the borrowed client's server has; malloc'ed. */
static char *server_name(tkl_config_client *source)
{
    tkl_client *client = borrow(source);
    char *name = call_text(client, "GET", "name", NULL);
    tkl_config_client_return(source, client);
    return name;
}

static bool is_at(tkl_config_client *source, const char *name)
{
    char *now = server_name(source);
    bool same = now && strcmp(now, name) == 0;
    free(now);
    return same;
}

static tkl_config_client_info show(tkl_config_client *source)
{
    tkl_config_client_info *info;
    assert_ok(tkl_config_client_show(source, &info));
    tkl_config_client_info copy = *info;
    tkl_config_client_info_free(info);
    return copy;
}

/* Two servers that know their names. */
typedef struct pair {
    server *a, *b;
} pair;

static pair start_pair(void)
{
    pair p = {server_start(NULL), server_start(NULL)};
    server_do(p.a, "SET name a");
    server_do(p.b, "SET name b");
    return p;
}

static void end_pair(pair *p)
{
    server_end(p->a);
    server_end(p->b);
}

static void borrowers_are_moved_and_calls_are_not_cut_off(void **state)
{
    fixture *f = *state;
    pair p = start_pair();
    configure(f->client, "\"%s\"", p.a->url);
    tkl_config_client *source = open_source(f->client);
    assert_true(is_at(source, "a"));
    tkl_client *old = borrow(source);
    configure(f->client, "{\"url\": \"%s\", \"timeout_ms\": 60000}", p.b->url);
    eventually(is_at(source, "b"), LONG_MS);
    call_expect(old, "a", "GET", "name", NULL); /* as long as it is borrowed */
    assert_true(server_connections(p.a, "tackle") > 0);
    tkl_config_client_return(source, old);
    eventually(server_connections(p.a, "tackle") == 0, LONG_MS);
    assert_int_equal(show(source).version, 2);
    assert_string_equal(show(source).problem, "");
    tkl_config_client_close(source);
    tkl_config_client_close(NULL);
    end_pair(&p);
}

static void a_configuration_that_begins_anew_is_followed(void **state)
{
    fixture *f = *state;
    pair p = start_pair();
    configure(f->client, "\"%s\"", p.a->url);
    tkl_config_client *source = open_source(f->client);
    assert_true(is_at(source, "a"));
    server_do(f->server, "FLUSHALL");
    configure(f->client, "\"%s\"", p.b->url); /* version 1 again */
    eventually(is_at(source, "b"), LONG_MS);
    tkl_config_client_close(source);
    end_pair(&p);
}

static void a_component_without_a_server_is_not_found_until_it_has_one(void **state)
{
    fixture *f = *state;
    tkl_config_client *source = open_source(f->client);
    tkl_client *client;
    assert_code(tkl_config_client_borrow(source, &client), TKL_NOTFOUND);
    assert_null(client);
    server_do(f->server, "SET name self");
    configure(f->client, "\"%s\"", f->server->url); /* the configuration's own server */
    eventually(tkl_config_client_borrow(source, &client) == TKL_OK, LONG_MS);
    tkl_config_client_return(source, client);
    assert_true(is_at(source, "self"));
    tkl_config_client_close(source);
}

static void a_bad_configuration_is_told_and_the_good_one_stays(void **state)
{
    fixture *f = *state;
    static const char *const bad[] = {"{}",
                                      "42",
                                      "\"nonsense\"",
                                      "{\"url\": 5}",
                                      "[\"%s\"]",
                                      "{\"url\": \"redis://h:99999999\"}",
                                      "{\"url\": \"%s\", \"timeout_ms\": \"2000\"}",
                                      "{\"url\": \"%s\", \"pool_size\": 4294967297}",
                                      "{\"url\": \"%s\", \"password\": 5}"};
    pair p = start_pair();
    tkl_config_client *source = open_source(f->client);
    tkl_client *client;
    configure_unchecked(f->client, 1, "{}", "");
    assert_code(tkl_config_client_borrow(source, &client), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "url");
    configure(f->client, "\"%s\"", p.a->url);
    eventually(show(source).version == 2, LONG_MS);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(try_configure(f->client, bad[i], p.b->url), TKL_EINVAL);
        configure_unchecked(f->client, (int64_t)i + 3, bad[i], p.b->url);
        eventually(show(source).newest == (int64_t)i + 3, LONG_MS);
        assert_true(strlen(show(source).problem) > 0);
        assert_true(is_at(source, "a"));
    }
    configure(f->client, "\"%s\"", p.b->url);
    eventually(is_at(source, "b"), LONG_MS);
    tkl_config_client_close(source);
    end_pair(&p);
}

/* The URL that a description becomes. */
static void a_description_is_a_url(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *json, *url;
    } good[] = {
        {"\"redis://h\"", "redis://h"},
        {"{\"host\": \"h\"}", "redis://h:6379/0"},
        {"{\"host\": \"h\", \"port\": 7000, \"db\": 2, \"user\": \"app\", \"tls\": true}",
         "rediss://app@h:7000/2"},
        {"{\"host\": \"::1\", \"password\": \"p@:/ %?\"}",
         "redis://:p%40%3A%2F%20%25%3F@[::1]:6379/0"},
        {"{\"url\": \"redis://h/1?timeout=1s\", \"username\": \"a\", \"password\": \"b\","
         " \"namespace\": \"shop\", \"password_file\": \"/no/such\", \"tls_ca_file\": \"/ca\"}",
         "redis://a:b@h/1?timeout=1s&password-file=/no/such&ca=/ca&namespace=shop"},
        {"{\"url\": \"unix:///s\", \"user\": \"a\", \"timeout_ms\": 500}",
         "unix://a@/s?timeout=500ms"},
        {"{\"url\": \"redis+cluster://a:1,b:2\", \"password\": \"p\", \"color\": 5}",
         "redis+cluster://:p@a:1,b:2"},
    };
    static const char *const bad[] = {
        "{\"host\": \"\"}",
        "{\"host\": \"a/b\"}",
        "{\"host\": 5}",
        "{\"host\": \"h\", \"port\": 65536}",
        "{\"host\": \"h\", \"port\": \"6379\"}",
        "{\"host\": \"h\", \"db\": -1}",
        "{\"host\": \"h\", \"tls\": \"yes\"}",
        "{\"host\": \"h\", \"url\": \"redis://h\"}",
        "{\"url\": \"redis://h\", \"db\": 1}",
        "{\"url\": \"redis://u@h\", \"user\": \"v\"}",
        "{\"url\": \"embedded:\", \"password\": \"p\"}",
        "{\"host\": \"h\", \"user\": \"a\", \"username\": \"a\"}",
        "{\"port\": 6379}",
        "null",
    };
    char *url;
    assert_code(tkl_config_url(f->client, tkl_str("db"), &url), TKL_NOTFOUND);
    assert_null(url);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(try_configure(f->client, "%s", bad[i]), TKL_EINVAL);
        assert_true(strlen(tkl_errmsg()) > 0);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        configure(f->client, "%s", good[i].json);
        assert_ok(tkl_config_url(f->client, tkl_str("db"), &url));
        assert_string_equal(url, good[i].url);
        tkl_config_url_free(url);
    }
    tkl_config_url_free(NULL);
}

static void a_server_that_does_not_answer_is_moved_to_when_it_does(void **state)
{
    fixture *f = *state;
    pair p = start_pair();
    configure(f->client, "\"%s\"", p.a->url);
    tkl_config_client *source = open_source(f->client);
    assert_true(is_at(source, "a"));
    server_kill(p.b);
    configure(f->client, "\"%s\"", p.b->url);
    eventually(show(source).newest == 2, LONG_MS);
    assert_int_equal(show(source).version, 1);
    assert_true(is_at(source, "a"));
    server_restart(p.b);
    server_do(p.b, "SET name b");
    eventually(is_at(source, "b"), LONG_MS);
    tkl_config_client_close(source);
    end_pair(&p);
}

static void the_configuration_may_go_away(void **state)
{
    fixture *f = *state;
    pair p = start_pair();
    server *registry = server_start(NULL);
    tkl_client *client = test_open(registry->url, &(tkl_options){.timeout_ms = 300});
    configure(client, "\"%s\"", p.a->url);
    tkl_config_client *source = open_source(client);
    assert_true(is_at(source, "a"));
    server_kill(registry);
    eventually(show(source).age_ms > 10, LONG_MS);
    assert_true(is_at(source, "a"));
    tkl_config_client_close(source);
    tkl_close(client);
    server_end(registry);
    end_pair(&p);
    (void)f;
}

typedef struct traffic {
    tkl_config_client *source;
    atomic_bool over;
    atomic_int calls;
} traffic;

static void call_always(void *arg, int index)
{
    traffic *t = arg;
    (void)index;
    while (!t->over) {
        free(server_name(t->source)); /* fails the test if the call fails */
        t->calls++;
    }
}

static void many_threads_are_moved_back_and_forth(void **state)
{
    fixture *f = *state;
    pair p = start_pair();
    configure(f->client, "\"%s\"", p.a->url);
    traffic t = {.source = open_source(f->client)};
    crew *threads = crew_start(8, call_always, &t);
    for (int i = 0; i < 10; i++) {
        configure(f->client, "\"%s\"", i % 2 ? p.a->url : p.b->url);
        eventually(show(t.source).version == i + 2, LONG_MS);
    }
    eventually(t.calls > 100, LONG_MS);
    t.over = true;
    crew_join(threads);
    tkl_config_client_close(t.source);
    end_pair(&p);
}

/* ---- Maintenance --------------------------------------------------------- */

static tkl_maintenance_state read_flag(tkl_maintenance *m)
{
    tkl_maintenance_state state;
    assert_ok(tkl_maintenance_read(m, &state));
    return state;
}

static void the_flag_is_seen_by_all(void **state)
{
    fixture *f = *state;
    tkl_maintenance *writer, *reader;
    assert_ok(tkl_maintenance_open(f->client, tkl_str("all"), NULL, &writer));
    assert_ok(tkl_maintenance_open(f->client, tkl_str("all"), NULL, &reader));
    assert_false(read_flag(reader).on);
    assert_int_equal(read_flag(reader).version, 0);
    assert_ok(tkl_maintenance_set(writer, true, tkl_str("moving \"it\" \xe4\xb8\xad")));
    eventually(read_flag(reader).on, LONG_MS);
    assert_string_equal(read_flag(reader).reason, "moving \"it\" \xe4\xb8\xad");
    assert_true(read_flag(reader).since_ms > INT64_C(1600000000000));
    assert_ok(tkl_maintenance_set(writer, false, (tkl_bytes){0}));
    eventually(!read_flag(reader).on, LONG_MS);
    assert_string_equal(read_flag(reader).reason, "");
    tkl_maintenance_close(writer);
    tkl_maintenance_close(reader);
    tkl_maintenance_close(NULL);
}

static void a_reason_is_checked_and_foreign_values_are_no_flag(void **state)
{
    fixture *f = *state;
    tkl_maintenance *m;
    tkl_config *config;
    char text[300];
    memset(text, 'x', sizeof text);
    assert_ok(tkl_maintenance_open(f->client, tkl_str("x"), NULL, &m));
    assert_code(tkl_maintenance_set(m, true, (tkl_bytes){text, 256}), TKL_EINVAL);
    assert_code(tkl_maintenance_set(m, true, (tkl_bytes){"\xff", 1}), TKL_EINVAL);
    assert_code(tkl_maintenance_set(m, true, (tkl_bytes){"a\0b", 3}), TKL_EINVAL);
    assert_ok(tkl_maintenance_set(m, true, (tkl_bytes){text, 255}));
    assert_int_equal(strlen(read_flag(m).reason), 255);
    assert_ok(tkl_config_open(f->client, tkl_str("maintenance"), tkl_str("x"), NULL, &config));
    static const char *const foreign[] = {"1", "[]", "{\"on\": \"yes\"}", "\"on\""};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        assert_ok(tkl_config_set(config, tkl_str(foreign[i]), NULL, NULL));
        tkl_maintenance_state flag;
        eventually(tkl_maintenance_read(m, &flag) == TKL_EDAMAGED && flag.version == (int64_t)i + 2,
                   LONG_MS);
        assert_false(flag.on);
    }
    tkl_config_close(config);
    tkl_maintenance_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(borrowers_are_moved_and_calls_are_not_cut_off),
        TEST(a_configuration_that_begins_anew_is_followed),
        TEST(a_component_without_a_server_is_not_found_until_it_has_one),
        TEST(a_bad_configuration_is_told_and_the_good_one_stays),
        TEST(a_description_is_a_url),
        TEST(a_server_that_does_not_answer_is_moved_to_when_it_does),
        TEST(the_configuration_may_go_away),
        TEST(many_threads_are_moved_back_and_forth),
        TEST(the_flag_is_seen_by_all),
        TEST(a_reason_is_checked_and_foreign_values_are_no_flag),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
