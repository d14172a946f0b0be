/* SPDX-License-Identifier: MIT
 *
 * Calls on one server: their words and replies, and their outcome when connections are lost.
 *
 * ctest: label threads
 */
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/fake.h"
#include "support/fixture.h"
#include "support/proxy.h"

static const tkl_call_options patient = {.timeout_ms = 20000};
static const tkl_call_options patient_and_safe = {.timeout_ms = 20000, .retry_safe = true};

/* ---- Arguments and replies of a call ------------------------------------- */

static void sets_and_gets(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "OK", "SET", "greeting", "hello", NULL);
    call_expect(f->client, "hello", "GET", "greeting", NULL);
    assert_int_equal(call_int(f->client, "INCR", "n", NULL), 1);
}

static void a_nil_reply_is_no_error(void **state)
{
    fixture *f = *state;
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, "GET", "nothing", NULL));
    assert_true(tkl_reply_is_nil(reply));
    assert_int_equal(tkl_reply_type_of(reply), TKL_REPLY_NIL);
    assert_string_equal(tkl_reply_str(reply), "");
    tkl_reply_free(reply);
}

static void any_bytes_go_in_and_come_out(void **state)
{
    fixture *f = *state;
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    const char *set[] = {"SET", all, all};
    const size_t set_lens[] = {3, sizeof(all), sizeof(all)};
    assert_ok(tkl_call(f->client, 3, set, set_lens, NULL, NULL));
    tkl_reply *reply;
    const char *get[] = {"GET", all};
    const size_t get_lens[] = {3, sizeof(all)};
    assert_ok(tkl_call(f->client, 2, get, get_lens, NULL, &reply));
    assert_int_equal(tkl_reply_bytes(reply).len, sizeof(all));
    assert_memory_equal(tkl_reply_bytes(reply).data, all, sizeof(all));
    tkl_reply_free(reply);
}

static void an_empty_argument_is_an_argument(void **state)
{
    fixture *f = *state;
    assert_ok(tkl_callz(f->client, NULL, "SET", "", "", NULL));
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, "GET", "", NULL));
    assert_int_equal(tkl_reply_type_of(reply), TKL_REPLY_STRING);
    assert_int_equal(tkl_reply_bytes(reply).len, 0);
    tkl_reply_free(reply);
}

static void large_values_pass_both_ways(void **state)
{
    fixture *f = *state;
    const size_t size = 24 << 20;
    char *value = malloc(size);
    assert_non_null(value);
    for (size_t i = 0; i < size; i++)
        value[i] = (char)(i * 7 + i / 4096);
    const char *argv[] = {"ECHO", value};
    const size_t lens[] = {4, size};
    tkl_reply *reply;
    assert_ok(tkl_call(f->client, 2, argv, lens, &patient, &reply));
    assert_int_equal(tkl_reply_bytes(reply).len, size);
    assert_true(memcmp(tkl_reply_bytes(reply).data, value, size) == 0);
    tkl_reply_free(reply);
    free(value);
}

static void an_error_reply_is_a_code_and_a_text(void **state)
{
    fixture *f = *state;
    tkl_reply *reply = (tkl_reply *)f;
    assert_code(tkl_callz(f->client, &reply, "NOSUCHCOMMAND", NULL), TKL_EREFUSED);
    assert_null(reply);
    assert_contains(tkl_errmsg(), "NOSUCHCOMMAND");
}

static void commands_that_would_change_the_connection_are_refused(void **state)
{
    fixture *f = *state;
    static const char *const bad[][3] = {
        {"SUBSCRIBE", "c"},
        {"subscribe", "c"},
        {"PSUBSCRIBE", "c"},
        {"SSUBSCRIBE", "c"},
        {"UNSUBSCRIBE"},
        {"MONITOR"},
        {"MULTI"},
        {"EXEC"},
        {"DISCARD"},
        {"WATCH", "k"},
        {"UNWATCH"},
        {"SELECT", "1"},
        {"CLIENT", "REPLY", "OFF"},
        {"AUTH", "x"},
        {"HELLO", "3"},
        {"QUIT"},
        {"RESET"},
        {"READONLY"},
        {"ASKING"},
        {"SYNC"},
        {"client", "reply", "SKIP"},
        {"PSYNC"},
    };
    int64_t before = server_commands(f->server);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int argc = bad[i][1] == NULL ? 1 : bad[i][2] == NULL ? 2 : 3;
        assert_code(tkl_call(f->client, argc, bad[i], NULL, NULL, NULL), TKL_EINVAL);
        assert_non_null(strcasestr(tkl_errmsg(), bad[i][0]));
    }
    assert_int_equal(server_commands(f->server), before);
    call_expect(f->client, "PONG", "PING", NULL);
}

static void a_command_needs_words(void **state)
{
    fixture *f = *state;
    const char *none[] = {NULL};
    assert_code(tkl_call(f->client, 0, none, NULL, NULL, NULL), TKL_EINVAL);
    assert_code(tkl_call(f->client, -1, none, NULL, NULL, NULL), TKL_EINVAL);
}

static void an_idle_client_sends_nothing(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "PONG", "PING", NULL);
    int64_t before = server_commands(f->server);
    test_sleep_ms(300);
    assert_int_equal(server_commands(f->server), before);
}

static void a_call_is_one_command_on_a_warm_connection(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "PONG", "PING", NULL);
    int64_t before = server_commands(f->server);
    for (int i = 0; i < 10; i++)
        call_int(f->client, "INCR", "n", NULL);
    assert_int_equal(server_commands(f->server), before + 10);
}

static void calls_leave_no_memory_behind(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 1000; i++)
        call_int(f->client, "INCR", "n", NULL);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 100000; i++)
        call_int(f->client, "INCR", "n", NULL);
    size_t after = mallinfo2().uordblks;
    assert_true(after < before + 16384);
}

/* ---- Lost connections ---------------------------------------------------- */

typedef struct storm {
    tkl_client *client;
    atomic_bool over;
    atomic_int answered;
} storm;

static void echo_until_over(void *arg, int index)
{
    storm *s = arg;
    for (int round = 0; !atomic_load(&s->over); round++) {
        char token[64];
        snprintf(token, sizeof(token), "thread-%d-round-%d", index, round);
        int code;
        if (!call_echo(s->client, &patient_and_safe, token, &code))
            assert_ok(code);
        atomic_fetch_add(&s->answered, 1);
    }
}

static void every_reply_reaches_its_caller_while_connections_are_cut(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    storm s = {.client = test_open(proxy_url(p), NULL)};
    call_expect(s.client, "PONG", "PING", NULL);
    crew *threads = crew_start(64, echo_until_over, &s);
    for (int64_t until = test_now_ms() + 2000; test_now_ms() < until; test_sleep_ms(15)) {
        proxy_cut(p);
        test_sleep_ms(15);
        free(server_ask(f->server, "CLIENT KILL TYPE normal SKIPME yes"));
        test_sleep_ms(15);
        proxy_cut_after(p, TO_CLIENT, 1001);
    }
    atomic_store(&s.over, true);
    crew_join(threads);
    assert_true(atomic_load(&s.answered) > 64);
    assert_true(proxy_accepted(p) > 64); /* or nothing was cut */
    tkl_close(s.client);
    proxy_end(p);
}

typedef struct tally {
    tkl_client *client;
    atomic_bool over;
    atomic_int done, unknown;
} tally;

static void count_until_over(void *arg, int index)
{
    (void)index;
    tally *t = arg;
    while (!atomic_load(&t->over)) {
        int code = call_code(t->client, &patient, "INCR", "n", NULL);
        if (code == TKL_OK)
            atomic_fetch_add(&t->done, 1);
        else if (code == TKL_EUNKNOWN)
            atomic_fetch_add(&t->unknown, 1);
        else
            assert_ok(code);
    }
}

static void nothing_is_done_twice_while_connections_are_cut(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tally t = {.client = test_open(proxy_url(p), NULL)};
    call_expect(t.client, "PONG", "PING", NULL);
    crew *threads = crew_start(16, count_until_over, &t);
    for (int64_t until = test_now_ms() + 1000; test_now_ms() < until; test_sleep_ms(20))
        proxy_cut(p);
    atomic_store(&t.over, true);
    crew_join(threads);
    int64_t counted = call_int(f->client, "GET", "n", NULL);
    assert_in_range(counted, atomic_load(&t.done), atomic_load(&t.done) + atomic_load(&t.unknown));
    assert_true(atomic_load(&t.done) > 0);
    tkl_close(t.client);
    proxy_end(p);
}

static void lost_after_sending_is_unknown_and_may_have_happened(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    proxy_cut_after(p, TO_CLIENT, 0);
    assert_code(call_code(client, NULL, "INCR", "n", NULL), TKL_EUNKNOWN);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 1);
    assert_int_equal(call_int(client, "INCR", "n", NULL), 2);
    tkl_close(client);
    proxy_end(p);
}

static void lost_on_the_way_there_is_unknown_too(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    proxy_cut_after(p, TO_SERVER, 0);
    assert_code(call_code(client, NULL, "INCR", "n", NULL), TKL_EUNKNOWN);
    assert_int_equal(call_int(f->client, "EXISTS", "n", NULL), 0);
    tkl_close(client);
    proxy_end(p);
}

static void what_is_safe_to_repeat_is_repeated(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    proxy_cut_after(p, TO_CLIENT, 0);
    assert_ok(call_code(client, &patient_and_safe, "INCR", "n", NULL));
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 2);
    tkl_close(client);
    proxy_end(p);
}

static void a_reply_cut_in_the_middle_is_unknown(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "OK", "SET", "k", "a value of some length", NULL);
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    for (int at = 1; at < 28; at += 3) {
        proxy_cut_after(p, TO_CLIENT, at);
        assert_code(call_code(client, NULL, "GET", "k", NULL), TKL_EUNKNOWN);
        call_expect(client, "PONG", "PING", NULL);
    }
    tkl_close(client);
    proxy_end(p);
}

static void a_cut_between_calls_is_noticed_before_sending(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(call_int(client, "INCR", "n", NULL), i);
        proxy_cut(p);
        test_sleep_ms(5);
    }
    tkl_close(client);
    proxy_end(p);
}

static void a_half_closed_connection_is_replaced(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    assert_int_equal(call_int(client, "INCR", "n", NULL), 1);
    proxy_half_close(p, TO_CLIENT);
    test_sleep_ms(5); /* a connection that was just used is not checked */
    assert_int_equal(call_int(client, "INCR", "n", NULL), 2);
    tkl_close(client);
    proxy_end(p);
}

static void bytes_nobody_asked_for_do_not_become_an_answer(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "one", "ECHO", "one", NULL);
    int64_t before = proxy_passed(p, TO_CLIENT);
    proxy_inject(p, TO_CLIENT, "+two\r\n", 6);
    eventually(proxy_passed(p, TO_CLIENT) == before + 6, 10000);
    test_sleep_ms(5);
    call_expect(client, "three", "ECHO", "three", NULL);
    tkl_close(client);
    proxy_end(p);
}

static void a_slow_connection_is_still_a_connection(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    proxy_drip(p, TO_CLIENT, 1);
    proxy_drip(p, TO_SERVER, 1);
    call_expect(client, "drop by drop", "ECHO", "drop by drop", NULL);
    tkl_close(client);
    proxy_end(p);
}

/* ---- Servers that come and go -------------------------------------------- */

static void a_server_never_reached_fails_at_once(void **state)
{
    (void)state;
    char *urls[] = {test_format("unix://%s/nobody-here", test_dir()),
                    test_format("redis://127.0.0.1:%d", server_free_port())};
    for (int i = 0; i < 2; i++) {
        tkl_client *client = test_open(urls[i], &(tkl_options){.timeout_ms = 30000});
        int64_t start = test_now_ms();
        assert_code(tkl_callz(client, NULL, "PING", NULL), TKL_ENOTSENT);
        assert_true(test_now_ms() - start < 10000);
        assert_contains(tkl_errmsg(), i == 0 ? "nobody-here" : "127.0.0.1");
        tkl_close(client);
        free(urls[i]);
    }
}

static void a_restarted_server_is_found_again_by_a_plain_call(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    assert_int_equal(call_int(client, "INCR", "n", NULL), 1);
    for (int i = 0; i < 3; i++) {
        server_restart(s);
        assert_int_equal(call_int(client, "INCR", "n", NULL), 1);
    }
    tkl_close(client);
    server_end(s);
}

static void count_patiently(void *arg, int index)
{
    (void)index;
    assert_ok(call_code(arg, &patient, "INCR", "n", NULL));
}

static void a_restart_is_ridden_out_within_the_deadline(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    call_expect(client, "PONG", "PING", NULL);
    server_kill(s);
    crew *threads = crew_start(8, count_patiently, client);
    test_sleep_ms(200);
    server_restart(s);
    crew_join(threads);
    assert_int_equal(server_ask_int(s, "GET n"), 8);
    tkl_close(client);
    server_end(s);
}

static void a_server_that_stays_away_is_not_sent_anything(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    call_expect(client, "PONG", "PING", NULL);
    server_kill(s);
    assert_code(call_code(client, &(tkl_call_options){.timeout_ms = 200}, "INCR", "n", NULL),
                TKL_ENOTSENT);
    tkl_close(client);
    server_end(s);
}

static void settings_are_applied_again_on_every_connection(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .password = "open sesame",
        .config = (const char *const[]){"user ali on >baba ~* &* +@all", NULL},
    });
    char *url = test_format("%s?db=5", s->url);
    tkl_client *client = test_open(
        url, &(tkl_options){.username = "ali", .password = "baba", .name = "cave-explorer"});
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(call_int(client, "INCR", "n", NULL), i);
        call_expect(client, "ali", "ACL", "WHOAMI", NULL);
        call_expect(client, "cave-explorer", "CLIENT", "GETNAME", NULL);
        server_do(s, "CLIENT KILL TYPE normal SKIPME yes");
    }
    char *keyspace = server_ask(s, "INFO keyspace");
    assert_contains(keyspace, "db5:keys=1");
    free(keyspace);
    tkl_close(client);
    free(url);
    server_end(s);
}

/* ---- SIGPIPE -------------------------------------------------------------- */

static void hang_up_on_a_long_request(fake_conn *c, void *arg)
{
    (void)arg;
    fake_expect_any(c);
    fake_sendz(c, "+OK\r\n");
    fake_sleep(c, 20);
}

static void no_signal_is_raised_when_the_peer_hangs_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    fake *f = fake_start(hang_up_on_a_long_request, NULL);
    tkl_client *client = test_open(fake_url(f), &(tkl_options){.timeout_ms = 500});
    const size_t size = 32 << 20;
    char *value = calloc(1, size);
    assert_non_null(value);
    const char *argv[] = {"ECHO", value};
    const size_t lens[] = {4, size};
    int code = tkl_call(client, 2, argv, lens, NULL, NULL);
    assert_true(code == TKL_ENOTSENT || code == TKL_EUNKNOWN);
    free(value);
    tkl_close(client);
    fake_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sets_and_gets),
        TEST(a_nil_reply_is_no_error),
        TEST(any_bytes_go_in_and_come_out),
        TEST(an_empty_argument_is_an_argument),
        TEST(large_values_pass_both_ways),
        TEST(an_error_reply_is_a_code_and_a_text),
        TEST(commands_that_would_change_the_connection_are_refused),
        TEST(a_command_needs_words),
        TEST(an_idle_client_sends_nothing),
        TEST(a_call_is_one_command_on_a_warm_connection),
        TEST(calls_leave_no_memory_behind),
        TEST(every_reply_reaches_its_caller_while_connections_are_cut),
        TEST(nothing_is_done_twice_while_connections_are_cut),
        TEST(lost_after_sending_is_unknown_and_may_have_happened),
        TEST(lost_on_the_way_there_is_unknown_too),
        TEST(what_is_safe_to_repeat_is_repeated),
        TEST(a_reply_cut_in_the_middle_is_unknown),
        TEST(a_cut_between_calls_is_noticed_before_sending),
        TEST(a_half_closed_connection_is_replaced),
        TEST(bytes_nobody_asked_for_do_not_become_an_answer),
        TEST(a_slow_connection_is_still_a_connection),
        TEST(a_server_never_reached_fails_at_once),
        TEST(a_restarted_server_is_found_again_by_a_plain_call),
        TEST(a_restart_is_ridden_out_within_the_deadline),
        TEST(a_server_that_stays_away_is_not_sent_anything),
        TEST(settings_are_applied_again_on_every_connection),
        TEST(no_signal_is_raised_when_the_peer_hangs_up),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
