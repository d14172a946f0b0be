/* SPDX-License-Identifier: MIT
 *
 * Configuration read from memory: readers learn of changes whatever happens to the connection.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "core/client.h"
#include "support/configs.h"
#include "support/fixture.h"
#include "support/process.h"
#include "support/proxy.h"

/* ---- Reading from memory -------------------------------------------------- */

static void a_change_is_read_at_once_and_reading_asks_nobody(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_config *writer = open_config(other), *reader = open_config(f->client);
    tkl_config_value *kept;
    set_config(writer, "1");
    assert_true(reads_config(reader, "1", 1));
    eventually(config_age(reader) == 0, LONG_MS);
    int64_t before = server_commands(f->server);
    for (int i = 0; i < 1000; i++)
        assert_true(reads_config(reader, "1", 1));
    assert_true(server_commands(f->server) - before < 100);
    assert_ok(tkl_config_read(reader, &kept, NULL));
    set_config(writer, "2");
    eventually(reads_config(reader, "2", 2), LONG_MS);
    assert_true(is_config(kept, "1", 1)); /* who has it may keep it */
    tkl_config_close(writer);
    tkl_config_close(reader);
    tkl_close(other);
}

static void what_was_never_set_is_read_as_such_and_heard_of(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    tkl_config_value *value;
    int64_t age;
    assert_code(tkl_config_read(config, &value, &age), TKL_NOTFOUND);
    assert_null(value);
    assert_code(tkl_config_watch(config, NULL, 0, &value), TKL_EMPTY);
    assert_code(tkl_config_watch(config, NULL, 20, &value), TKL_EMPTY);
    set_config(config, "1");
    assert_ok(tkl_config_watch(config, NULL, LONG_MS, &value));
    assert_true(is_config(value, "1", 1));
    tkl_config_close(config);
}

static void a_server_that_is_away_leaves_the_last_value_and_its_age(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.timeout_ms = 300});
    tkl_config *config = open_config(client), *late = open_config(client);
    tkl_config_value *value;
    set_config(config, "1");
    assert_true(reads_config(config, "1", 1));
    server_kill(f->server);
    eventually(config_age(config) > 20, LONG_MS);
    int64_t age = config_age(config);
    assert_true(reads_config(config, "1", 1));
    eventually(config_age(config) > age, LONG_MS);
    int rc = tkl_config_read(late, &value, NULL);
    assert_true(rc < 0 && tkl_is_transient(rc));
    assert_true(strlen(tkl_errmsg()) > 0);
    server_restart(f->server); /* and it has forgotten everything */
    tkl_config *writer = open_config(f->client);
    set_config(writer, "2");
    set_config(writer, "3");
    eventually(reads_config(config, "3", 2), LONG_MS);
    eventually(reads_config(late, "3", 2), LONG_MS);
    eventually(config_age(config) == 0, LONG_MS);
    tkl_config_close(writer);
    tkl_config_close(config);
    tkl_config_close(late);
    tkl_close(client);
}

static void no_change_is_missed_through_broken_connections(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_config *reader = open_config(client), *writer = open_config(f->client);
    char json[16];
    set_config(writer, "0");
    assert_true(reads_config(reader, "0", 1));
    for (int i = 1; i <= 10; i++) {
        snprintf(json, sizeof json, "%d", i);
        proxy_refuse(p, true);
        proxy_cut(p);
        set_config(writer, json);
        proxy_refuse(p, false);
        eventually(reads_config(reader, json, i + 1), LONG_MS);
    }
    tkl_config_close(reader);
    tkl_config_close(writer);
    tkl_close(client);
    proxy_end(p);
}

static void closing_does_not_wait_for_a_server_that_hangs(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    set_config(config, "1");
    assert_true(reads_config(config, "1", 1));
    server_freeze(f->server);
    int64_t before = test_now_ms();
    tkl_config_close(config);
    assert_true(test_now_ms() - before < 5000); /* the time-out of calls is a minute */
    server_thaw(f->server);
}

static void a_user_who_may_not_listen_reads_once_a_second(void **state)
{
    fixture *f = *state;
    server_do(f->server, "ACL SETUSER deaf on >secret ~* resetchannels +@all");
    tkl_client *client =
        test_open(f->server->url, &(tkl_options){.username = "deaf", .password = "secret"});
    tkl_config *reader = open_config(client), *writer = open_config(f->client);
    set_config(writer, "1");
    assert_true(reads_config(reader, "1", 1));
    set_config(writer, "2");
    eventually(reads_config(reader, "2", 2), LONG_MS);
    assert_code(tkl_config_set(reader, tkl_str("3"), NULL, NULL), TKL_EAUTH);
    assert_true(reads_config(writer, "2", 2)); /* refused: nothing happened */
    tkl_config_close(reader);
    tkl_config_close(writer);
    tkl_close(client);
}

typedef struct watching {
    tkl_config *config;
    tkl_config_value *seen;
    atomic_int rc;
} watching;

/* A watcher that has read this value and waits for the next. */
static watching watch_from(tkl_config *config, const char *json)
{
    watching w = {.config = config, .rc = TKL_EMPTY};
    set_config(config, json);
    assert_ok(tkl_config_read(config, &w.seen, NULL));
    return w;
}

static void watch_for_ever(void *arg, int index)
{
    watching *w = arg;
    tkl_config_value *value;
    (void)index;
    w->rc = tkl_config_watch(w->config, w->seen, -1, &value);
    tkl_config_value_free(value);
}

static void an_interruption_ends_the_watch(void **state)
{
    fixture *f = *state;
    watching w = watch_from(open_config(f->client), "1");
    crew *thread = crew_start(2, watch_for_ever, &w);
    test_sleep_ms(50);
    tkl_interrupt(f->client);
    crew_join(thread);
    assert_int_equal(w.rc, TKL_EINTR);
    tkl_resume(f->client);
    set_config(w.config, "2");
    eventually(reads_config(w.config, "2", 2), LONG_MS);
    tkl_config_value_free(w.seen);
    tkl_config_close(w.config);
}

static int read_in_child(void *arg)
{
    tkl_config *config = arg;
    if (!reads_config(config, "1", 1) || tkl_config_set(config, tkl_str("2"), NULL, NULL) != TKL_OK)
        return 1;
    for (int i = 0; i < 500 && !reads_config(config, "2", 2); i++)
        test_sleep_ms(10);
    int code = reads_config(config, "2", 2) ? 0 : 2;
    tkl_config_close(config);
    return code;
}

static int close_in_child(void *arg)
{
    tkl_config_close(arg);
    return 0;
}

static void a_forked_child_follows_by_itself(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    set_config(config, "1");
    assert_true(reads_config(config, "1", 1));
    assert_int_equal(process_wait(process_fork(close_in_child, config)), 0);
    assert_int_equal(process_wait(process_fork(read_in_child, config)), 0);
    eventually(reads_config(config, "2", 2), LONG_MS);
    tkl_config_close(config);
}

static void watch_for_long(void *arg, int index)
{
    watching *w = arg;
    tkl_config_value *value;
    (void)index;
    w->rc = tkl_config_watch(w->config, w->seen, LONG_MS, &value);
    assert_true(is_config(value, "\"new\"", 1));
}

static void a_value_that_begins_anew_after_a_loss_is_a_change(void **state)
{
    fixture *f = *state;
    watching w = watch_from(open_config(f->client), "\"old\"");
    tkl_config *writer = open_config(f->client);
    crew *thread = crew_start(1, watch_for_long, &w);
    test_sleep_ms(50);
    server_do(f->server, "FLUSHALL");
    set_config(writer, "\"new\""); /* version 1 again */
    crew_join(thread);
    assert_ok(w.rc);
    tkl_config_value_free(w.seen);
    tkl_config_close(w.config);
    tkl_config_close(writer);
}

/* The follower has loaded the new value before the next watch begins. */
static void a_loss_between_two_watches_is_not_missed(void **state)
{
    fixture *f = *state;
    watching w = watch_from(open_config(f->client), "\"old\"");
    server_do(f->server, "FLUSHALL");
    set_config(w.config, "\"new\""); /* version 1 again */
    eventually(reads_config(w.config, "\"new\"", 1), LONG_MS);
    watch_for_long(&w, 0);
    assert_ok(w.rc);
    tkl_config_value_free(w.seen);
    tkl_config_close(w.config);
}

static void data_that_the_server_has_lost_is_noticed(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    f->client->heartbeat_us = 200000;
    set_config(config, "1");
    assert_true(reads_config(config, "1", 1));
    server_do(f->server, "FLUSHALL");
    eventually(!reads_config(config, "1", 1), LONG_MS);
    set_config(config, "2");
    eventually(reads_config(config, "2", 1), LONG_MS);
    int64_t loads = server_calls(f->server, "lrange"), checks = server_calls(f->server, "llen");
    eventually(server_calls(f->server, "llen") >= checks + 5, LONG_MS);
    assert_int_equal(server_calls(f->server, "lrange"), loads); /* a check is small */
    tkl_config_close(config);
}

static void a_server_that_hangs_makes_the_age_grow(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    f->client->heartbeat_us = 200000;
    set_config(config, "1");
    assert_true(reads_config(config, "1", 1));
    eventually(config_age(config) == 0, LONG_MS);
    server_freeze(f->server);
    eventually(config_age(config) > 0, LONG_MS);
    assert_true(config_age(config) >= 150); /* since it last answered, not since that was noticed */
    assert_true(reads_config(config, "1", 1));
    server_thaw(f->server);
    eventually(config_age(config) == 0, LONG_MS);
    tkl_config_close(config);
}

static void requests_that_were_lost_do_no_harm(void **state)
{
    fixture *f = *state;
    tkl_config *config = open_config(f->client);
    set_config(config, "1");
    set_config(config, "2");
    server_do(f->server, "DEL " KEY ":requests");
    assert_int_equal(set_config(config, "3"), 3);
    server_do(f->server, "DEL " KEY);
    assert_int_equal(set_config(config, "4"), 4);
    tkl_config_close(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_change_is_read_at_once_and_reading_asks_nobody),
        TEST(what_was_never_set_is_read_as_such_and_heard_of),
        TEST(a_server_that_is_away_leaves_the_last_value_and_its_age),
        TEST(no_change_is_missed_through_broken_connections),
        TEST(closing_does_not_wait_for_a_server_that_hangs),
        TEST(a_user_who_may_not_listen_reads_once_a_second),
        TEST(an_interruption_ends_the_watch),
        TEST(a_forked_child_follows_by_itself),
        TEST(a_value_that_begins_anew_after_a_loss_is_a_change),
        TEST(a_loss_between_two_watches_is_not_missed),
        TEST(data_that_the_server_has_lost_is_noticed),
        TEST(a_server_that_hangs_makes_the_age_grow),
        TEST(requests_that_were_lost_do_no_harm),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
