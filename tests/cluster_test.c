/* SPDX-License-Identifier: MIT
 *
 * A client of a real cluster: where commands go, what the map may say, scripts.
 *
 * ctest: label threads
 */
#include <tackle/functions.h>

#include "core/clock.h"
#include "core/script.h"
#include "support/certs.h"
#include "support/clustered.h"
#include "support/fake.h"
#include "support/library.h"

/* ---- Where commands go --------------------------------------------------- */

static void each_key_reaches_the_master_of_its_slot(void **state)
{
    clustered *f = *state;
    for (int i = 0; i < 300; i++) {
        char key[32];
        key_name(key, i);
        call_expect(f->client, "OK", "SET", key, key, NULL);
        call_expect(f->client, key, "GET", key, NULL);
    }
    int64_t total = 0;
    for (int i = 0; i < CLUSTER_SIZE; i++)
        if (server_calls(f->cluster->servers[i], "get") > 0)
            total += server_ask_int(f->cluster->servers[i], "DBSIZE");
    assert_int_equal(total, 300);
}

static void a_single_live_seed_is_enough(void **state)
{
    clustered *f = *state;
    char *url = test_format("redis+cluster://127.0.0.1:1,127.0.0.1:%d,127.0.0.1:2",
                            f->cluster->servers[0]->port);
    tkl_client *client = test_open(url, NULL);
    for (int i = 0; i < 50; i++) {
        char key[32];
        key_name(key, i);
        call_expect(client, "OK", "SET", key, "1", NULL);
    }
    tkl_close(client);
    free(url);
}

static void no_live_seed_is_told_at_once(void **state)
{
    (void)state;
    tkl_client *client = test_open("redis+cluster://127.0.0.1:1,127.0.0.1:2",
                                   &(tkl_options){.timeout_ms = PATIENCE_MS});
    int64_t start = test_now_ms();
    assert_code(call_code(client, NULL, "GET", "k", NULL), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "127.0.0.1:");
    assert_true(test_now_ms() - start < PATIENCE_MS);
    tkl_close(client);
}

static void a_server_without_cluster_mode_is_told(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tcp = true});
    char *url = test_format("redis+cluster://127.0.0.1:%d", s->port);
    tkl_client *client = test_open(url, NULL);
    assert_code(call_code(client, NULL, "GET", "k", NULL), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "cluster support disabled");
    tkl_close(client);
    free(url);
    server_end(s);
}

static void commands_without_a_key_are_answered_by_any_master(void **state)
{
    clustered *f = *state;
    for (int i = 0; i < 10; i++) {
        call_expect(f->client, "PONG", "PING", NULL);
        assert_int_equal(call_int(f->client, "PUBLISH", "channel", "hello", NULL), 0);
        assert_int_equal(call_int(f->client, "EVAL", "return 7", "0", NULL), 7);
    }
}

static void commands_for_all_masters_are_put_together(void **state)
{
    clustered *f = *state;
    for (int i = 0; i < 100; i++) {
        char key[32];
        key_name(key, i);
        call_expect(f->client, "OK", "SET", key, "1", NULL);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 100);

    tkl_reply *keys;
    assert_ok(tkl_callz(f->client, &keys, "KEYS", "key:*", NULL));
    assert_int_equal(tkl_reply_count(keys), 100);
    bool seen[100] = {false};
    for (size_t i = 0; i < 100; i++)
        seen[atoi(tkl_reply_str(tkl_reply_at(keys, i)) + 4)] = true;
    for (size_t i = 0; i < 100; i++)
        assert_true(seen[i]);
    tkl_reply_free(keys);

    call_expect(f->client, "OK", "FLUSHALL", NULL);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

static void settings_and_scripts_go_to_all_masters(void **state)
{
    clustered *f = *state;
    char *sha = call_text(f->client, "SCRIPT", "LOAD", "return 5", NULL);
    call_expect(f->client, "OK", "CONFIG", "SET", "maxmemory-samples", "7", NULL);
    for (int i = 0; i < 50; i++) {
        char key[32];
        key_name(key, i);
        assert_int_equal(call_int(f->client, "EVALSHA", sha, "1", key, NULL), 5);
        server *owner = cluster_owner(f->cluster, slot_of(key));
        char *samples = server_ask(owner, "CONFIG GET maxmemory-samples");
        assert_string_equal(samples, "maxmemory-samples\n7\n");
        free(samples);
    }
    free(sha);
}

static void keys_in_several_slots_are_refused_by_name(void **state)
{
    clustered *f = *state;
    assert_code(call_code(f->client, NULL, "MGET", "a", "b", NULL), TKL_ECROSSSLOT);
    assert_contains(tkl_errmsg(), "MGET: the keys 'a' (slot 15495) and 'b' (slot 3300)");
    assert_contains(tkl_errmsg(), "{tag}");
    assert_code(call_code(f->client, NULL, "EVAL", "return 1", "2", "a", "b", NULL),
                TKL_ECROSSSLOT);
    assert_ok(call_code(f->client, NULL, "MSET", "{x}a", "1", "{x}b", "2", NULL));
}

static void commands_about_one_server_are_refused(void **state)
{
    clustered *f = *state;
    assert_code(call_code(f->client, NULL, "SCAN", "0", NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "SCAN concerns one server");
    assert_code(call_code(f->client, NULL, "SHUTDOWN", NULL), TKL_EINVAL);
    assert_code(call_code(f->client, NULL, "CLUSTER", "RESET", NULL), TKL_EINVAL);
    assert_code(call_code(f->client, NULL, "WAIT", "1", "0", NULL), TKL_EINVAL);
    assert_ok(call_code(f->client, NULL, "CLUSTER", "INFO", NULL));
}

/* The fixture's servers have commands under names that nobody else knows. */
static void keys_of_unknown_commands_are_asked_of_a_server(void **state)
{
    clustered *f = *state;
    for (int i = 0; i < 20; i++) {
        char key[32];
        key_name(key, i);
        call_expect(f->client, "OK", "SET", key, "0123456789", NULL);
        call_expect(f->client, "234", "PIECE-OF", key, "2", "4", NULL);
    }
    assert_code(call_code(f->client, NULL, "LESS-THE-OTHERS", "a", "b", NULL), TKL_ECROSSSLOT);
    assert_contains(tkl_errmsg(), "LESS-THE-OTHERS: the keys 'a'");
    assert_ok(call_code(f->client, NULL, "LESS-THE-OTHERS", "{t}a", "{t}b", NULL));
    assert_code(call_code(f->client, NULL, "NO-SUCH-COMMAND", "a", NULL), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "unknown command");
}

static void tls_is_spoken_with_every_server(void **state)
{
    (void)state;
    cluster *c = cluster_start(true);
    tkl_client *client = test_open(c->url, &(tkl_options){.tls_ca_file = certs_get()->ca});
    for (int i = 0; i < 50; i++) {
        char key[32];
        key_name(key, i);
        call_expect(client, "OK", "SET", key, "1", NULL);
    }
    assert_int_equal(call_int(client, "DBSIZE", NULL), 50);
    tkl_close(client);
    cluster_end(c);
}

/* The certificate is not for 127.1, although that is the same machine. */
static void a_certificate_for_another_name_behind_a_redirection_is_told(void **state)
{
    (void)state;
    cluster *c = cluster_start(true);
    tkl_client *client = test_open(
        c->url, &(tkl_options){.tls_ca_file = certs_get()->ca, .timeout_ms = PATIENCE_MS});
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", "key", NULL);
    static const char *const kinds[] = {"ASK", "MOVED"};
    for (int i = 0; i < 2; i++) {
        char *script = test_format("return redis.error_reply('%s %d 127.1:%d')", kinds[i], slot,
                                   c->servers[0]->tls_port);
        int64_t start = test_now_ms();
        assert_code(call_code(client, NULL, "EVAL", script, "1", "key", NULL), TKL_ETLS);
        assert_true(test_now_ms() - start < PATIENCE_MS / 2);
        assert_contains(tkl_errmsg(), "the certificate is not for 127.1: hostname mismatch");
        free(script);
    }
    tkl_close(client);
    cluster_end(c);
}

/* A server without TLS hangs up, which may be temporary: callers are redirected there again and
 * again. So the error depends on where they are when their time is up. */
static void a_server_without_tls_behind_a_redirection_is_told(void **state)
{
    (void)state;
    cluster *c = cluster_start(true);
    server *plain = server_start(&(server_options){.tcp = true});
    tkl_client *client =
        test_open(c->url, &(tkl_options){.tls_ca_file = certs_get()->ca, .timeout_ms = 60000});
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", "key", NULL);
    static const char *const kinds[] = {"ASK", "MOVED"};
    int told = 0;
    for (int i = 0; i < 12; i++) {
        const tkl_call_options brief = {.timeout_ms = 300 + 37 * i};
        char *script = test_format("return redis.error_reply('%s %d 127.0.0.1:%d')", kinds[i % 2],
                                   slot, plain->port);
        int code = call_code(client, &brief, "EVAL", script, "1", "key", NULL);
        free(script);
        if (code == TKL_ETIMEOUT) /* the server that redirects was too busy to do so */
            continue;
        assert_true(code == TKL_ENOTSENT || code == TKL_ETLS);
        assert_contains(tkl_errmsg(), "TLS");
        told++;
    }
    assert_true(told > 0);
    tkl_close(client);
    server_end(plain);
    cluster_end(c);
}

/* ---- Functions ----------------------------------------------------------- */

static void remove_all_functions(cluster *c)
{
    for (int i = 0; i < CLUSTER_SIZE; i++)
        free(server_ask(c->servers[i], "FUNCTION FLUSH SYNC")); /* replicas refuse */
}

static void functions_are_loaded_and_removed_on_every_master(void **state)
{
    clustered *f = *state;
    tkl_function_libraries *list;
    int64_t loaded, removed;
    remove_all_functions(f->cluster);
    assert_ok(tkl_functions_load(f->client, &loaded));
    assert_ok(tkl_functions_list(f->client, &list));
    assert_int_equal(loaded, CLUSTER_MASTERS * list->count);
    for (size_t i = 0; i < list->count; i++)
        assert_int_equal(list->items[i].servers, CLUSTER_MASTERS);
    tkl_function_libraries_free(list);
    assert_ok(tkl_functions_load(f->client, &loaded));
    assert_int_equal(loaded, 0);
    for (int slot = 0, i = 0; i < CLUSTER_MASTERS - 1; i++, slot = 16383)
        server_do(cluster_owner(f->cluster, slot), "FUNCTION LOAD %s",
                  LIBRARY_HEAD("tackle_old_0000000000")
                      LIBRARY_FUNCTION("tackle_old_0000000000", "", "return 1"));
    assert_ok(tkl_functions_remove_old(f->client, &removed));
    assert_int_equal(removed, CLUSTER_MASTERS - 1);
    remove_all_functions(f->cluster);
    assert_ok(tkl_functions_list(f->client, &list));
    assert_int_equal(list->count, 0);
    tkl_function_libraries_free(list);
}

/* A program that may not load works on a master that gets its first slot. */
static void functions_are_loaded_on_masters_without_slots(void **state)
{
    clustered *f = *state;
    server *joined = cluster_join(f->cluster);
    tkl_function_libraries *list;
    remove_all_functions(f->cluster);
    assert_ok(tkl_functions_load(f->client, NULL));
    assert_ok(tkl_functions_list(f->client, &list));
    for (size_t i = 0; i < list->count; i++) {
        assert_int_equal(list->items[i].servers, CLUSTER_MASTERS + 1);
        char *own = server_ask(joined, "FUNCTION LIST LIBRARYNAME %s", list->items[i].name);
        assert_contains(own, list->items[i].name);
        free(own);
    }
    assert_true(list->count > 0);
    tkl_function_libraries_free(list);
    cluster_part(f->cluster, joined);
    remove_all_functions(f->cluster);
}

/* ---- Replies of CLUSTER SLOTS -------------------------------------------- */

/* A cluster of one: answers CLUSTER SLOTS with `host` as RESP, anything else with 42. */
typedef struct pretender {
    const char *host; /* "$0\r\n\r\n"; NULL: no slots at all */
    const char *last_slot;
    fake *fake;
} pretender;

static void pretend(fake_conn *conn, void *arg)
{
    pretender *p = arg;
    for (const char *command; (command = fake_expect(conn)) != NULL;) {
        if (strncmp(command, "CLUSTER", 7) != 0) {
            fake_sendz(conn, ":42\r\n");
        } else if (p->host == NULL) {
            fake_sendz(conn, "*0\r\n");
        } else {
            char *slots = test_format("*1\r\n*3\r\n:0\r\n:%s\r\n*4\r\n%s:%d\r\n$2\r\nid\r\n"
                                      "*2\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n",
                                      p->last_slot, p->host, fake_port(p->fake));
            fake_sendz(conn, slots);
            free(slots);
        }
    }
}

static int call_pretender(const char *host, const char *last_slot, int64_t timeout_ms)
{
    pretender p = {host, last_slot, NULL};
    p.fake = fake_start_tcp(pretend, &p);
    char *url = test_format("redis+cluster://127.0.0.1:%d", fake_port(p.fake));
    tkl_client *client = test_open(url, &(tkl_options){.timeout_ms = timeout_ms});
    int code = call_code(client, NULL, "GET", "key", NULL);
    tkl_close(client);
    free(url);
    fake_end(p.fake);
    return code;
}

static void a_host_left_out_is_the_one_asked(void **state)
{
    (void)state;
    assert_ok(call_pretender("$0\r\n\r\n", "16383", PATIENCE_MS));
    assert_ok(call_pretender("$-1\r\n", "16383", PATIENCE_MS));
}

static void an_unknown_host_name_is_replaced_by_the_address(void **state)
{
    (void)state;
    assert_ok(call_pretender("$1\r\n?\r\n", "16383", PATIENCE_MS));
}

static void slots_that_make_no_sense_are_told(void **state)
{
    (void)state;
    assert_code(call_pretender("$0\r\n\r\n", "16384", PATIENCE_MS), TKL_EPROTO);
    assert_contains(tkl_errmsg(), "CLUSTER SLOTS");
    assert_code(call_pretender("$0\r\n\r\n", "-1", PATIENCE_MS), TKL_EPROTO);
}

static void a_cluster_without_slots_is_told(void **state)
{
    (void)state;
    assert_code(call_pretender(NULL, "", 1000), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "knows no server of the cluster that serves slots");
}

static void a_slot_of_nobody_is_told(void **state)
{
    (void)state;
    assert_code(call_pretender("$0\r\n\r\n", "5", 1000), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "no server serves slot 12539");
}

/* ---- Scripts ------------------------------------------------------------- */

static void a_library_is_loaded_on_each_master(void **state)
{
    clustered *f = *state;
    static const char source[] =
        LIBRARY_HEAD("tackle_test") LIBRARY_FUNCTION("test_echo", "", "return ARGV[1] .. KEYS[1]");
    static const tkl__origin origins[] = {{1, "test/echo.lua", 1}, {0}};
    static const tkl__library library = {"tackle_test", source, sizeof source - 1, origins};
    static const tkl__script script = {
        .name = "test/echo", .function = "test_echo", .library = &library, .nkeys = 1, .nargs = 1};

    for (int i = 0; i < 100; i++) {
        char name[32];
        key_name(name, i);
        tkl_bytes key = tkl_str(name), arg = tkl_str("of ");
        tkl__invocation call = {
            .script = &script, .keys = &key, .args = &arg, .nkeys = 1, .nargs = 1};
        tkl_reply *reply;
        assert_ok(tkl__run(f->client, &call, tkl__deadline_ms(PATIENCE_MS), &reply));
        char *expected = test_format("of %s", name);
        assert_string_equal(tkl_reply_str(reply), expected);
        free(expected);
        tkl_reply_free(reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(each_key_reaches_the_master_of_its_slot),
        CLUSTER_TEST(a_single_live_seed_is_enough),
        CLUSTER_TEST(no_live_seed_is_told_at_once),
        CLUSTER_TEST(a_server_without_cluster_mode_is_told),
        CLUSTER_TEST(commands_without_a_key_are_answered_by_any_master),
        CLUSTER_TEST(functions_are_loaded_and_removed_on_every_master),
        CLUSTER_TEST(functions_are_loaded_on_masters_without_slots),
        CLUSTER_TEST(commands_for_all_masters_are_put_together),
        CLUSTER_TEST(settings_and_scripts_go_to_all_masters),
        CLUSTER_TEST(keys_in_several_slots_are_refused_by_name),
        CLUSTER_TEST(commands_about_one_server_are_refused),
        CLUSTER_TEST(keys_of_unknown_commands_are_asked_of_a_server),
        CLUSTER_TEST(tls_is_spoken_with_every_server),
        cmocka_unit_test(a_certificate_for_another_name_behind_a_redirection_is_told),
        cmocka_unit_test(a_server_without_tls_behind_a_redirection_is_told),
        CLUSTER_TEST(a_host_left_out_is_the_one_asked),
        CLUSTER_TEST(an_unknown_host_name_is_replaced_by_the_address),
        CLUSTER_TEST(slots_that_make_no_sense_are_told),
        CLUSTER_TEST(a_cluster_without_slots_is_told),
        CLUSTER_TEST(a_slot_of_nobody_is_told),
        CLUSTER_TEST(a_library_is_loaded_on_each_master),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
