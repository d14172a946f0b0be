/* SPDX-License-Identifier: MIT
 *
 * Pipelines: replies in order, each with a fate of its own.
 *
 * ctest: label threads
 */
#include "support/fake.h"
#include "support/fixture.h"
#include "support/proxy.h"

static const tkl_call_options patient = {.timeout_ms = 20000};
static const tkl_call_options patient_and_safe = {.timeout_ms = 20000, .retry_safe = true};

static tkl_pipeline *open_pipeline(tkl_client *client)
{
    tkl_pipeline *pipeline;
    assert_ok(tkl_pipeline_open(client, NULL, &pipeline));
    return pipeline;
}

static void add_echoes(tkl_pipeline *pipeline, int count)
{
    for (int i = 0; i < count; i++) {
        char *token = test_format("token-%d", i);
        assert_ok(tkl_pipeline_addz(pipeline, "ECHO", token, NULL));
        free(token);
    }
}

static void assert_echoes(const tkl_reply *replies, int count)
{
    assert_int_equal(tkl_reply_count(replies), count);
    for (int i = 0; i < count; i++) {
        char *token = test_format("token-%d", i);
        const tkl_reply *reply = tkl_reply_at(replies, (size_t)i);
        assert_code(tkl_reply_code(reply), TKL_OK);
        assert_string_equal(tkl_reply_str(reply), token);
        free(token);
    }
}

/* ---- In order ------------------------------------------------------------ */

static void replies_come_in_order(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client);
    add_echoes(pipeline, 10000);
    tkl_reply *replies;
    assert_ok(tkl_pipeline_run(pipeline, &patient, &replies));
    assert_echoes(replies, 10000);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

static void a_pipeline_can_be_used_again(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client);
    for (int round = 0; round < 3; round++) {
        add_echoes(pipeline, 10 + round);
        tkl_reply *replies;
        assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
        assert_echoes(replies, 10 + round);
        tkl_reply_free(replies);
    }
    tkl_pipeline_close(pipeline);
}

static void an_empty_pipeline_answers_nothing_and_sends_nothing(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client);
    tkl_reply *replies = NULL;
    int64_t before = server_commands(f->server);
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_int_equal(tkl_reply_type_of(replies), TKL_REPLY_ARRAY);
    assert_int_equal(tkl_reply_count(replies), 0);
    assert_int_equal(server_commands(f->server), before);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

static void what_was_not_run_is_dropped(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client);
    assert_ok(tkl_pipeline_addz(pipeline, "SET", "k", "v", NULL));
    tkl_pipeline_close(pipeline);
    tkl_pipeline_close(NULL);
    assert_int_equal(call_int(f->client, "EXISTS", "k", NULL), 0);
}

static void any_bytes_and_large_values_pass(void **state)
{
    fixture *f = *state;
    const size_t size = 100000;
    char *value = malloc(size);
    assert_non_null(value);
    tkl_pipeline *pipeline = open_pipeline(f->client);
    for (int i = 0; i < 200; i++) {
        memset(value, i, size);
        const char *argv[] = {"ECHO", value};
        const size_t lens[] = {4, size - (size_t)i};
        assert_ok(tkl_pipeline_add(pipeline, 2, argv, lens));
    }
    tkl_reply *replies;
    assert_ok(tkl_pipeline_run(pipeline, &patient, &replies));
    for (int i = 0; i < 200; i++) {
        tkl_bytes got = tkl_reply_bytes(tkl_reply_at(replies, (size_t)i));
        memset(value, i, size);
        assert_int_equal(got.len, size - (size_t)i);
        assert_memory_equal(got.data, value, got.len);
    }
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    free(value);
}

/* ---- Errors inside ------------------------------------------------------- */

static void an_error_is_the_fate_of_one_command_only(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client);
    assert_ok(tkl_pipeline_addz(pipeline, "SET", "k", "v", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "LPUSH", "k", "v", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "NOSUCHCOMMAND", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "GET", "nothing", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "GET", "k", NULL));
    tkl_reply *replies;
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_code(tkl_reply_code(tkl_reply_at(replies, 0)), TKL_OK);
    assert_code(tkl_reply_code(tkl_reply_at(replies, 1)), TKL_ETYPE);
    assert_contains(tkl_reply_str(tkl_reply_at(replies, 1)), "WRONGTYPE");
    assert_code(tkl_reply_code(tkl_reply_at(replies, 2)), TKL_EREFUSED);
    assert_true(tkl_reply_is_nil(tkl_reply_at(replies, 3)));
    assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 4)), "v");
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

static void a_refused_command_is_not_added(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client);
    assert_ok(tkl_pipeline_addz(pipeline, "ECHO", "token-0", NULL));
    assert_code(tkl_pipeline_addz(pipeline, "SUBSCRIBE", "c", NULL), TKL_EINVAL);
    assert_code(tkl_pipeline_addz(pipeline, "MULTI", NULL), TKL_EINVAL);
    assert_ok(tkl_pipeline_addz(pipeline, "ECHO", "token-1", NULL));
    tkl_reply *replies;
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_echoes(replies, 2);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

static void all_share_the_fate(tkl_client *client, int expected, const char *said)
{
    tkl_pipeline *pipeline = open_pipeline(client);
    add_echoes(pipeline, 3);
    tkl_reply *replies = NULL;
    assert_code(tkl_pipeline_run(pipeline, NULL, &replies), expected);
    assert_int_equal(tkl_reply_count(replies), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_code(tkl_reply_code(tkl_reply_at(replies, i)), expected);
        assert_contains(tkl_reply_str(tkl_reply_at(replies, i)), said);
    }
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

static void a_wrong_password_is_the_fate_of_all(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.password = "wrong"});
    all_share_the_fate(client, TKL_EAUTH, "AUTH");
    tkl_close(client);
}

static void a_server_never_reached_is_the_fate_of_all(void **state)
{
    (void)state;
    char *url = test_format("unix://%s/nobody-here", test_dir());
    tkl_client *client = test_open(url, NULL);
    all_share_the_fate(client, TKL_ENOTSENT, "nobody-here");
    tkl_close(client);
    free(url);
}

static void no_room_is_the_fate_of_all(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    server_do(s, "CONFIG SET maxclients 1");
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 2000});
    all_share_the_fate(client, TKL_EUNREADY, "max number of clients");
    tkl_close(client);
    server_end(s);
}

/* The first connection answers once and dies over the next command; there is no second. */
static void die_over_the_second(fake_conn *c, void *arg)
{
    (void)arg;
    if (fake_index(c) > 0)
        return;
    if (fake_expect(c) != NULL)
        fake_sendz(c, "+PONG\r\n");
    fake_expect(c);
}

static void what_may_have_been_executed_is_not_called_unsent(void **state)
{
    (void)state;
    fake *f = fake_start(die_over_the_second, NULL);
    tkl_client *client = test_open(fake_url(f), &(tkl_options){.timeout_ms = 500});
    tkl_call_options again = {.retry_safe = true};
    tkl_pipeline *pipeline;
    tkl_reply *replies;
    assert_ok(tkl_callz(client, NULL, "PING", NULL));
    assert_ok(tkl_pipeline_open(client, NULL, &pipeline));
    assert_ok(tkl_pipeline_addz(pipeline, "INCR", "x", NULL));
    assert_code(tkl_pipeline_run(pipeline, &again, &replies), TKL_EUNKNOWN);
    assert_int_equal(tkl_reply_code(tkl_reply_at(replies, 0)), TKL_EUNKNOWN);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    tkl_close(client);
    fake_end(f);
}

static void be_loading_at_first(fake_conn *c, void *arg)
{
    (void)arg;
    for (int i = 0;; i++) {
        const char *command = fake_expect(c);
        if (command == NULL)
            return;
        char *echo = test_format("+%s\r\n", command + strlen("ECHO "));
        fake_sendz(c, i < 3 ? "-LOADING Redis is loading the dataset in memory\r\n" : echo);
        free(echo);
    }
}

static void not_now_is_repeated_and_stays_in_its_place(void **state)
{
    (void)state;
    fake *f = fake_start(be_loading_at_first, NULL);
    tkl_client *client = test_open(fake_url(f), NULL);
    tkl_pipeline *pipeline = open_pipeline(client);
    add_echoes(pipeline, 10);
    tkl_reply *replies;
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_echoes(replies, 10);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    tkl_close(client);
    fake_end(f);
}

/* ---- Lost on the way ----------------------------------------------------- */

static void answers_before_a_cut_count_and_the_rest_is_unknown(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    tkl_pipeline *pipeline = open_pipeline(client);
    for (int i = 0; i < 1000; i++)
        assert_ok(tkl_pipeline_addz(pipeline, "INCR", "n", NULL));
    proxy_cut_after(p, TO_CLIENT, 2000);
    tkl_reply *replies;
    assert_code(tkl_pipeline_run(pipeline, &patient, &replies), TKL_EUNKNOWN);
    assert_int_equal(tkl_reply_count(replies), 1000);
    size_t done = 0;
    while (tkl_reply_code(tkl_reply_at(replies, done)) == TKL_OK)
        done++;
    assert_in_range(done, 1, 999);
    for (size_t i = 0; i < done; i++)
        assert_int_equal(tkl_reply_int(tkl_reply_at(replies, i)), i + 1);
    for (size_t i = done; i < 1000; i++)
        assert_code(tkl_reply_code(tkl_reply_at(replies, i)), TKL_EUNKNOWN);
    assert_in_range(call_int(f->client, "GET", "n", NULL), (int64_t)done, 1000);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    tkl_close(client);
    proxy_end(p);
}

static void what_is_safe_to_repeat_is_repeated(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    tkl_pipeline *pipeline = open_pipeline(client);
    for (int64_t cut = 0; cut < 3000; cut += 700) {
        add_echoes(pipeline, 500);
        proxy_cut_after(p, TO_CLIENT, cut);
        tkl_reply *replies;
        assert_ok(tkl_pipeline_run(pipeline, &patient_and_safe, &replies));
        assert_echoes(replies, 500);
        tkl_reply_free(replies);
    }
    tkl_pipeline_close(pipeline);
    tkl_close(client);
    proxy_end(p);
}

static void what_was_only_half_sent_was_not_done(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    proxy_cut_after(p, TO_SERVER, 1 << 20);
    char *value = calloc(1, 100000);
    memset(value, 'x', 99999);
    tkl_pipeline *pipeline = open_pipeline(client);
    for (int i = 0; i < 100; i++)
        assert_ok(tkl_pipeline_addz(pipeline, "RPUSH", "l", value, NULL));
    tkl_reply *replies;
    int code = tkl_pipeline_run(pipeline, &patient, &replies);
    int64_t done = 0, unknown = 0;
    for (size_t i = 0; i < 100; i++) {
        int fate = tkl_reply_code(tkl_reply_at(replies, i));
        done += fate == TKL_OK;
        unknown += fate == TKL_EUNKNOWN;
    }
    assert_int_equal(done + unknown, 100); /* the half sent ones were sent again */
    assert_code(code, unknown > 0 ? TKL_EUNKNOWN : TKL_OK);
    assert_in_range(call_int(f->client, "LLEN", "l", NULL), done, done + unknown);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    free(value);
    tkl_close(client);
    proxy_end(p);
}

static void a_frozen_server_lets_all_time_out(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "PONG", "PING", NULL);
    tkl_pipeline *pipeline = open_pipeline(f->client);
    add_echoes(pipeline, 5);
    server_freeze(f->server);
    tkl_reply *replies;
    int code = tkl_pipeline_run(pipeline, &(tkl_call_options){.timeout_ms = 1000}, &replies);
    server_thaw(f->server);
    assert_code(code, TKL_ETIMEOUT);
    for (size_t i = 0; i < 5; i++)
        assert_code(tkl_reply_code(tkl_reply_at(replies, i)), TKL_ETIMEOUT);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

/* ---- Many at once -------------------------------------------------------- */

static void run_some(void *arg, int index)
{
    (void)index;
    tkl_pipeline *pipeline = open_pipeline(arg);
    for (int round = 0; round < 20; round++) {
        add_echoes(pipeline, 100);
        tkl_reply *replies;
        assert_ok(tkl_pipeline_run(pipeline, &patient, &replies));
        assert_echoes(replies, 100);
        tkl_reply_free(replies);
    }
    tkl_pipeline_close(pipeline);
}

static void threads_run_pipelines_of_their_own(void **state)
{
    fixture *f = *state;
    crew_run(16, run_some, f->client);
}

int main(void)
{
    unsetenv("TACKLE_PASSWORD");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_have_been_executed_is_not_called_unsent),
        TEST(replies_come_in_order),
        TEST(a_pipeline_can_be_used_again),
        TEST(an_empty_pipeline_answers_nothing_and_sends_nothing),
        TEST(what_was_not_run_is_dropped),
        TEST(any_bytes_and_large_values_pass),
        TEST(an_error_is_the_fate_of_one_command_only),
        TEST(a_refused_command_is_not_added),
        TEST(a_wrong_password_is_the_fate_of_all),
        TEST(a_server_never_reached_is_the_fate_of_all),
        TEST(no_room_is_the_fate_of_all),
        TEST(not_now_is_repeated_and_stays_in_its_place),
        TEST(answers_before_a_cut_count_and_the_rest_is_unknown),
        TEST(what_is_safe_to_repeat_is_repeated),
        TEST(what_was_only_half_sent_was_not_done),
        TEST(a_frozen_server_lets_all_time_out),
        TEST(threads_run_pipelines_of_their_own),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
