/* SPDX-License-Identifier: MIT
 *
 * Reports of a client: events, numbers, keys; and arguments that it refuses.
 *
 * ctest: label threads
 */
#include <pthread.h>
#include <stdatomic.h>

#include "core/clock.h"
#include "core/keeper.h"
#include "support/fixture.h"
#include "support/library.h"
#include "support/proxy.h"

/* ---- Events -------------------------------------------------------------- */

typedef struct diary {
    atomic_int count[5]; /* by type */
    pthread_mutex_t mutex;
    char server[128], text[256]; /* server and text of the last loss */
    int code;
} diary;

static void note(const tkl_client_event *event, void *arg)
{
    diary *d = arg;
    atomic_fetch_add(&d->count[event->type], 1);
    if (event->type != TKL_EVENT_LOST)
        return;
    pthread_mutex_lock(&d->mutex);
    d->code = event->code;
    snprintf(d->server, sizeof d->server, "%s", event->server);
    snprintf(d->text, sizeof d->text, "%s", event->text);
    pthread_mutex_unlock(&d->mutex);
}

static tkl_client *open_noting(const char *url, diary *d)
{
    *d = (diary){.mutex = PTHREAD_MUTEX_INITIALIZER};
    return test_open(url, &(tkl_options){.on_event = note, .event_arg = d});
}

static void connecting_and_losing_are_events(void **state)
{
    fixture *f = *state;
    diary d;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = open_noting(proxy_url(p), &d);
    call_expect(client, "PONG", "PING", NULL);
    assert_int_equal(atomic_load(&d.count[TKL_EVENT_CONNECTED]), 1);
    proxy_cut_after(p, TO_CLIENT, 2);
    assert_code(call_code(client, NULL, "PING", NULL), TKL_EUNKNOWN);
    assert_int_equal(atomic_load(&d.count[TKL_EVENT_LOST]), 1);
    assert_int_equal(d.code, TKL_EUNKNOWN);
    assert_contains(proxy_url(p), d.server);
    assert_contains(d.text, "connection");
    tkl_close(client);
    proxy_end(p);
}

static void a_repeated_call_is_an_event(void **state)
{
    fixture *f = *state;
    diary d;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = open_noting(proxy_url(p), &d);
    call_expect(client, "PONG", "PING", NULL);
    proxy_cut_after(p, TO_CLIENT, 2);
    assert_ok(call_code(client, &(tkl_call_options){.retry_safe = true}, "PING", NULL));
    assert_true(atomic_load(&d.count[TKL_EVENT_RETRIED]) >= 1);
    tkl_client_stats info;
    tkl_client_stats_get(client, &info);
    assert_true(info.retries >= 1);
    tkl_close(client);
    proxy_end(p);
}

static bool renew_in_vain(tkl__kept *kept, tkl__invocation *call)
{
    static const char source[] = LIBRARY_HEAD("tackle_test")
        LIBRARY_FUNCTION("test_no", "", "return redis.error_reply('ERR no')");
    static const tkl__origin origins[] = {{1, "test/no.lua", 1}, {0}};
    static const tkl__library library = {"tackle_test", source, sizeof source - 1, origins};
    static const tkl__script script = {
        .name = "test/no", .function = "test_no", .library = &library};
    (void)kept;
    *call = (tkl__invocation){.script = &script};
    return true;
}

static void do_nothing(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    (void)kept;
    (void)rc;
    (void)reply;
}

static int64_t never_again(tkl__kept *kept)
{
    (void)kept;
    return TKL__FOREVER;
}

static void a_renewal_that_fails_is_an_event(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_client *client = open_noting(f->server->url, &d);
    tkl__kept kept = {.prepare = renew_in_vain, .done = do_nothing, .due = never_again};
    assert_ok(tkl__keep(client, &kept, tkl__now()));
    eventually(atomic_load(&d.count[TKL_EVENT_RENEWAL_FAILED]) == 1, 20000);
    tkl__unkeep_wait(client, &kept);
    tkl_close(client);
}

static void events_have_names(void **state)
{
    (void)state;
    assert_string_equal(tkl_event_type_name(TKL_EVENT_CONNECTED), "connected");
    assert_string_equal(tkl_event_type_name(TKL_EVENT_RENEWAL_FAILED), "renewal failed");
    assert_string_equal(tkl_event_type_name((tkl_event_type)99), "unknown event");
}

/* ---- Numbers ------------------------------------------------------------- */

static void numbers_tell_what_was_done(void **state)
{
    fixture *f = *state;
    tkl_client_stats info;
    tkl_client_stats_get(f->client, &info);
    assert_int_equal(info.calls, 0);
    assert_int_equal(info.connections, 0);
    for (int i = 0; i < 3; i++)
        call_expect(f->client, "PONG", "PING", NULL);
    tkl_client_stats_get(f->client, &info);
    assert_int_equal(info.calls, 3);
    assert_int_equal(info.dials, 1);
    assert_int_equal(info.failures, 0);
    assert_int_equal(info.connections, 1);
    assert_int_equal(info.idle, 1);
    assert_int_equal(info.nodes, 1);
    assert_int_equal(info.waiting, 0);
    assert_true(info.bytes_sent >= 3 * 14);
    assert_true(info.bytes_received >= 3 * 7);
}

/* ---- Keys ---------------------------------------------------------------- */

static void the_key_of_a_name_is_told(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *component, *name, *part, *key;
    } rows[] = {
        {"lock", "door", "", "tackle:lock:{door}"},
        {"queue", "mails", "jobs", "tackle:queue:{mails}:jobs"},
        {"blist", "a{b}%", "", "tackle:blist:{a%7Bb%7D%25}"},
    };
    tkl_bytes key;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(tkl_key(f->client, rows[i].component, tkl_str(rows[i].name), rows[i].part, &key));
        assert_int_equal(key.len, strlen(rows[i].key));
        assert_memory_equal(key.data, rows[i].key, key.len);
        tkl_key_free(key);
    }
    assert_code(tkl_key(f->client, "lock", tkl_str(""), "", &key), TKL_EINVAL);
    assert_code(tkl_key(f->client, "x:{y}", tkl_str("door"), "", &key), TKL_EINVAL);
    assert_code(tkl_key(f->client, "", tkl_str("door"), "", &key), TKL_EINVAL);
    assert_null(key.data);
}

/* ---- Options ------------------------------------------------------------- */

static void wrong_options_are_refused(void **state)
{
    fixture *f = *state;
    static const tkl_options wrong[] = {
        {.timeout_ms = -1},         {.idle_ms = -1},   {.pool_size = -1},
        {.pool_size = 10001},       {.reply_max = -2}, {.timeout_ms = INT64_MAX},
        {.reserved = {0, 1, 0, 0}},
    };
    tkl_client *client;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_code(tkl_open(f->server->url, &wrong[i], &client), TKL_EINVAL);
        assert_null(client);
    }
    static const tkl_call_options calls[] = {
        {.timeout_ms = -1}, {.timeout_ms = INT64_MAX}, {.reserved = {1}}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tkl_pipeline *p;
        tkl_reply *replies;
        assert_code(call_code(f->client, &calls[i], "PING", NULL), TKL_EINVAL);
        assert_ok(tkl_pipeline_open(f->client, NULL, &p));
        assert_code(tkl_pipeline_run(p, &calls[i], &replies), TKL_EINVAL);
        tkl_pipeline_close(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(connecting_and_losing_are_events), TEST(a_repeated_call_is_an_event),
        TEST(a_renewal_that_fails_is_an_event), TEST(events_have_names),
        TEST(numbers_tell_what_was_done),       TEST(the_key_of_a_name_is_told),
        TEST(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
