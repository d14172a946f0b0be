/* SPDX-License-Identifier: MIT
 *
 * TLS: which certificates are trusted, what errors say about others, and calls over it.
 *
 * ctest: label threads
 */
#include <signal.h>
#include <stdatomic.h>

#include "support/certs.h"
#include "support/fixture.h"
#include "support/proxy.h"

static const tkl_call_options patient = {.timeout_ms = 20000};
static const tkl_call_options patient_and_safe = {.timeout_ms = 20000, .retry_safe = true};

/* The server of this program has TLS; *state is the server. */
static int start(void **state)
{
    *state = server_start(&(server_options){.tls = true});
    return 0;
}

static int end(void **state)
{
    server_end(*state);
    return 0;
}

static tkl_options trusting(void)
{
    return (tkl_options){.tls_ca_file = certs_get()->ca};
}

/* One PING with these options; the rest of the result is in tkl_errmsg(). */
static int ping(const char *url, const tkl_options *options)
{
    tkl_client *client = test_open(url, options);
    int64_t begin = test_now_ms();
    int code = call_code(client, &patient, "PING", NULL);
    assert_true(test_now_ms() - begin < 15000); /* distrust does not pass by waiting */
    tkl_close(client);
    return code;
}

/* ---- Trust --------------------------------------------------------------- */

static void a_trusted_server_answers(void **state)
{
    server *s = *state;
    tkl_options options = trusting();
    assert_ok(ping(s->tls_url, &options));
    char *by_address = test_format("rediss://127.0.0.1:%d", s->tls_port);
    assert_ok(ping(by_address, &options));
    char *by_url = test_format("valkeys://localhost:%d?ca=%s", s->tls_port, certs_get()->ca);
    assert_ok(ping(by_url, NULL));
    free(by_url);
    free(by_address);
}

static void a_server_of_another_ca_is_not_trusted(void **state)
{
    server *s = *state;
    assert_code(ping(s->tls_url, &(tkl_options){.tls_ca_file = certs_get()->other_ca}), TKL_ETLS);
    assert_contains(tkl_errmsg(), "not trusted");
    assert_contains(tkl_errmsg(), "localhost");
}

static void the_system_does_not_trust_our_ca(void **state)
{
    server *s = *state;
    assert_code(ping(s->tls_url, NULL), TKL_ETLS);
    assert_contains(tkl_errmsg(), "not trusted");
}

static void a_server_of_another_name_is_not_trusted(void **state)
{
    server *s = *state;
    tkl_options options = trusting();
    options.tls_server_name = "redis.example.com";
    assert_code(ping(s->tls_url, &options), TKL_ETLS);
    assert_contains(tkl_errmsg(), "redis.example.com");
    assert_contains(tkl_errmsg(), "ostname mismatch");
    options.tls_server_name = "127.0.0.2";
    assert_code(ping(s->tls_url, &options), TKL_ETLS);
    assert_contains(tkl_errmsg(), "mismatch");
}

static void a_name_can_be_given_for_an_address(void **state)
{
    server *s = *state;
    char *url = test_format("rediss://127.0.0.1:%d?servername=localhost", s->tls_port);
    tkl_options options = trusting();
    assert_ok(ping(url, &options));
    free(url);
}

static void no_verify_believes_everybody(void **state)
{
    server *s = *state;
    assert_ok(ping(s->tls_url, &(tkl_options){.tls_no_verify = true}));
    char *url = test_format("rediss://127.0.0.1:%d?verify=no", s->tls_port);
    assert_ok(ping(url, NULL));
    free(url);
}

static void an_expired_certificate_is_told(void **state)
{
    (void)state;
    char *cert = test_format("tls-cert-file %s", certs_get()->expired_cert);
    char *key = test_format("tls-key-file %s", certs_get()->expired_key);
    server *s = server_start(
        &(server_options){.tls = true, .config = (const char *const[]){cert, key, NULL}});
    tkl_options options = trusting();
    assert_code(ping(s->tls_url, &options), TKL_ETLS);
    assert_contains(tkl_errmsg(), "expired");
    server_end(s);
    free(key);
    free(cert);
}

static void a_client_certificate_is_shown_when_one_is_wanted(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tls = true, .tls_clients = true});
    tkl_options options = trusting();
    assert_code(ping(s->tls_url, &options), TKL_ETLS);
    assert_contains(tkl_errmsg(), "certificate");
    options.tls_cert_file = certs_get()->client_cert;
    options.tls_key_file = certs_get()->client_key;
    assert_ok(ping(s->tls_url, &options));
    server_end(s);
}

/* ---- Set up wrongly ------------------------------------------------------ */

static int open_fails(const char *url, const tkl_options *options)
{
    tkl_client *client;
    int code = tkl_open(url, options, &client);
    assert_null(client);
    return code;
}

static void files_that_are_not_there_are_named(void **state)
{
    server *s = *state;
    assert_code(open_fails(s->tls_url, &(tkl_options){.tls_ca_file = "/no/such/ca"}), TKL_ETLS);
    assert_contains(tkl_errmsg(), "/no/such/ca");
    tkl_options options = trusting();
    options.tls_cert_file = "/no/such/cert";
    options.tls_key_file = certs_get()->client_key;
    assert_code(open_fails(s->tls_url, &options), TKL_ETLS);
    assert_contains(tkl_errmsg(), "/no/such/cert");
    options.tls_cert_file = certs_get()->client_cert;
    options.tls_key_file = certs_get()->server_key;
    assert_code(open_fails(s->tls_url, &options), TKL_ETLS);
    assert_contains(tkl_errmsg(), certs_get()->server_key);
    options.tls_key_file = NULL;
    assert_code(open_fails(s->tls_url, &options), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "key");
}

static void plain_and_tls_do_not_understand_each_other(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tls = true, .tcp = true});
    char *tls_to_plain = test_format("rediss://localhost:%d", s->port);
    char *plain_to_tls = test_format("redis://localhost:%d", s->tls_port);
    tkl_options options = trusting();
    options.timeout_ms = 2000;
    tkl_client *client = test_open(tls_to_plain, &options);
    int code = tkl_callz(client, NULL, "PING", NULL);
    assert_true(code == TKL_ETLS || code == TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "TLS");
    tkl_close(client);
    client = test_open(plain_to_tls, &options);
    assert_true(tkl_callz(client, NULL, "PING", NULL) < 0);
    tkl_close(client);
    server_end(s);
    free(plain_to_tls);
    free(tls_to_plain);
}

/* ---- Calls over it ------------------------------------------------------- */

static void large_values_pass_both_ways(void **state)
{
    server *s = *state;
    tkl_options options = trusting();
    tkl_client *client = test_open(s->tls_url, &options);
    const size_t size = 8 << 20;
    char *value = malloc(size);
    assert_non_null(value);
    for (size_t i = 0; i < size; i++)
        value[i] = (char)(i * 7 + i / 4096);
    const char *argv[] = {"ECHO", value};
    const size_t lens[] = {4, size};
    tkl_reply *reply;
    assert_ok(tkl_call(client, 2, argv, lens, &patient, &reply));
    assert_int_equal(tkl_reply_bytes(reply).len, size);
    assert_true(memcmp(tkl_reply_bytes(reply).data, value, size) == 0);
    tkl_reply_free(reply);
    free(value);
    tkl_close(client);
}

static void a_connection_is_kept_between_calls(void **state)
{
    server *s = *state;
    tkl_options options = trusting();
    tkl_client *client = test_open(s->tls_url, &options);
    int64_t id = call_int(client, "CLIENT", "ID", NULL);
    test_sleep_ms(20); /* session tickets arrive meanwhile: they do not make it stale */
    assert_int_equal(call_int(client, "CLIENT", "ID", NULL), id);
    tkl_close(client);
}

static void a_restarted_server_is_found_again_by_a_plain_call(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tls = true});
    tkl_options options = trusting();
    tkl_client *client = test_open(s->tls_url, &options);
    assert_int_equal(call_int(client, "INCR", "n", NULL), 1);
    server_restart(s);
    assert_int_equal(call_int(client, "INCR", "n", NULL), 1);
    tkl_close(client);
    server_end(s);
}

static void deadlines_hold_while_the_server_is_frozen(void **state)
{
    server *s = *state;
    tkl_options options = trusting();
    tkl_client *client = test_open(s->tls_url, &options);
    call_expect(client, "PONG", "PING", NULL);
    const tkl_call_options brief = {.timeout_ms = 1000};
    server_freeze(s);
    assert_code(call_code(client, &brief, "INCR", "n", NULL), TKL_ETIMEOUT);
    tkl_client *cold = test_open(s->tls_url, &options);
    assert_code(call_code(cold, &brief, "INCR", "n", NULL), TKL_ENOTSENT);
    server_thaw(s);
    call_expect(client, "mine", "ECHO", "mine", NULL);
    tkl_close(cold);
    tkl_close(client);
}

typedef struct storm {
    tkl_client *client;
    atomic_bool over;
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
    }
}

static tkl_client *open_through(proxy *p)
{
    char *url = test_format("rediss://localhost:%d", proxy_port(p));
    tkl_options options = trusting();
    tkl_client *client = test_open(url, &options);
    free(url);
    return client;
}

static void every_reply_reaches_its_caller_while_connections_are_cut(void **state)
{
    server *behind = *state;
    proxy *p = proxy_start_tcp(behind->tls_port);
    storm s = {.client = open_through(p)};
    call_expect(s.client, "PONG", "PING", NULL);
    crew *threads = crew_start(16, echo_until_over, &s);
    for (int64_t until = test_now_ms() + 1000; test_now_ms() < until; test_sleep_ms(40)) {
        proxy_cut_after(p, TO_CLIENT, 5000);
        test_sleep_ms(40);
        proxy_cut(p);
    }
    atomic_store(&s.over, true);
    crew_join(threads);
    tkl_close(s.client);
    proxy_end(p);
}

static void garbage_on_the_wire_is_no_answer(void **state)
{
    server *behind = *state;
    proxy *p = proxy_start_tcp(behind->tls_port);
    tkl_client *client = open_through(p);
    call_expect(client, "one", "ECHO", "one", NULL);
    int64_t before = proxy_passed(p, TO_CLIENT);
    proxy_inject(p, TO_CLIENT, "+two\r\n", 6);
    eventually(proxy_passed(p, TO_CLIENT) == before + 6, 10000);
    test_sleep_ms(5);
    call_expect(client, "three", "ECHO", "three", NULL);
    tkl_close(client);
    proxy_end(p);
}

static void no_signal_is_raised_when_the_peer_hangs_up(void **state)
{
    server *behind = *state;
    signal(SIGPIPE, SIG_DFL);
    proxy *p = proxy_start_tcp(behind->tls_port);
    tkl_client *client = open_through(p);
    const size_t size = 16 << 20;
    char *value = calloc(1, size);
    assert_non_null(value);
    const char *argv[] = {"ECHO", value};
    const size_t lens[] = {4, size};
    for (int i = 0; i < 5; i++) {
        call_expect(client, "PONG", "PING", NULL);
        proxy_cut_after(p, TO_SERVER, 1 << 20);
        int code = tkl_call(client, 2, argv, lens, &patient, NULL);
        /* Half a request was not executed: it is repeated, or said not to have been sent. */
        assert_true(code == TKL_OK || code == TKL_ENOTSENT || code == TKL_EUNKNOWN);
    }
    free(value);
    tkl_close(client);
    proxy_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_server_answers),
        cmocka_unit_test(a_server_of_another_ca_is_not_trusted),
        cmocka_unit_test(the_system_does_not_trust_our_ca),
        cmocka_unit_test(a_server_of_another_name_is_not_trusted),
        cmocka_unit_test(a_name_can_be_given_for_an_address),
        cmocka_unit_test(no_verify_believes_everybody),
        cmocka_unit_test(an_expired_certificate_is_told),
        cmocka_unit_test(a_client_certificate_is_shown_when_one_is_wanted),
        cmocka_unit_test(files_that_are_not_there_are_named),
        cmocka_unit_test(plain_and_tls_do_not_understand_each_other),
        cmocka_unit_test(large_values_pass_both_ways),
        cmocka_unit_test(a_connection_is_kept_between_calls),
        cmocka_unit_test(a_restarted_server_is_found_again_by_a_plain_call),
        cmocka_unit_test(deadlines_hold_while_the_server_is_frozen),
        cmocka_unit_test(every_reply_reaches_its_caller_while_connections_are_cut),
        cmocka_unit_test(garbage_on_the_wire_is_no_answer),
        cmocka_unit_test(no_signal_is_raised_when_the_peer_hangs_up),
    };
    return cmocka_run_group_tests(tests, start, end);
}
