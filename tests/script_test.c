/* SPDX-License-Identifier: MIT
 *
 * Scripts of the user's own, alone and in pipelines, and transactions.
 *
 * ctest: label threads
 */
#include <tackle/functions.h>
#include <tackle/script.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/proxy.h"

static const char take[] = "local left = tonumber(redis.call('GET', KEYS[1]) or 0)\n"
                           "if left < tonumber(ARGV[1]) then return -1 end\n"
                           "return redis.call('DECRBY', KEYS[1], ARGV[1])";

static tkl_script *open_script(tkl_client *client, const char *source)
{
    tkl_script *script;
    assert_ok(tkl_script_open(client, "mine.lua", tkl_str(source), NULL, &script));
    return script;
}

static int64_t run_number(tkl_script *script, const char *key, const char *arg)
{
    tkl_reply *reply;
    tkl_bytes keys[] = {tkl_str(key)}, args[] = {tkl_str(arg)};
    assert_ok(tkl_script_run(script, keys, 1, args, 1, NULL, &reply));
    int64_t number = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return number;
}

/* ---- Scripts ------------------------------------------------------------- */

static void a_script_is_loaded_once_and_then_called(void **state)
{
    fixture *f = *state;
    tkl_script *script = open_script(f->client, take);
    server_do(f->server, "SET stock 10");
    int64_t loads = server_calls(f->server, "function|load");
    assert_int_equal(run_number(script, "stock", "3"), 7);
    assert_int_equal(run_number(script, "stock", "8"), -1);
    assert_int_equal(server_calls(f->server, "function|load"), loads + 1);
    server_do(f->server, "FUNCTION FLUSH");
    assert_int_equal(run_number(script, "stock", "7"), 0);
    tkl_script_close(script);
}

static void errors_name_the_line(void **state)
{
    fixture *f = *state;
    static const char *const wrong[][2] = {
        {"local a = 1\nreturn a +", "mine.lua:"},
        {"local a = 1\nreturn a.b.c", "mine.lua:2"},
        {"return redis.call('NOSUCH')", "nknown"},
        {"return redis.error_reply('MINE no')", "MINE no"},
        {"end} register{function_name='x', callback=function(KEYS, ARGV)", ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tkl_script *script = open_script(f->client, wrong[i][0]);
        tkl_reply *reply;
        int rc = tkl_script_run(script, NULL, 0, NULL, 0, NULL, &reply);
        if (wrong[i][1][0]) {
            assert_true(rc < 0);
            assert_null(reply);
            assert_contains(tkl_errmsg(), wrong[i][1]);
        }
        tkl_reply_free(reply);
        tkl_script_close(script);
    }
}

static void a_script_that_only_reads_runs_on_a_full_server(void **state)
{
    fixture *f = *state;
    tkl_script *reader, *writer = open_script(f->client, "return redis.call('SET', KEYS[1], 'x')");
    tkl_script_options reads = {.reads_only = true};
    tkl_bytes key = tkl_str("k");
    tkl_reply *reply;
    server_do(f->server, "SET k v");
    assert_ok(tkl_script_open(f->client, "get.lua", tkl_str("return redis.call('GET', KEYS[1])"),
                              &reads, &reader));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_script_run(writer, &key, 1, NULL, 0, NULL, NULL), TKL_EOOM);
    assert_ok(tkl_script_run(reader, &key, 1, NULL, 0, NULL, &reply));
    assert_string_equal(tkl_reply_str(reply), "v");
    tkl_reply_free(reply);
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_script_close(reader);
    tkl_script_close(writer);
}

static void a_lost_reply_is_repeated_only_when_that_is_safe(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    tkl_script *script = open_script(client, "return redis.call('INCR', KEYS[1])");
    tkl_bytes key = tkl_str("n");
    assert_ok(tkl_script_run(script, &key, 1, NULL, 0, NULL, NULL));
    proxy_cut_after(between, TO_CLIENT, 0);
    assert_code(tkl_script_run(script, &key, 1, NULL, 0, NULL, NULL), TKL_EUNKNOWN);
    proxy_cut_after(between, TO_CLIENT, 0);
    tkl_reply *reply;
    assert_ok(
        tkl_script_run(script, &key, 1, NULL, 0, &(tkl_call_options){.retry_safe = true}, &reply));
    assert_in_range(tkl_reply_int(reply), 3, 4);
    tkl_reply_free(reply);
    tkl_script_close(script);
    tkl_close(client);
    proxy_end(between);
}

static void wrong_scripts_are_refused(void **state)
{
    fixture *f = *state;
    tkl_script *script;
    char name[102];
    memset(name, 'n', 101);
    name[101] = '\0';
    tkl_script_options both = {.reads_only = true, .frees = true};
    char *large = calloc(1, TKL_SCRIPT_SOURCE_MAX + 1);
    assert_non_null(large);
    memset(large, ' ', TKL_SCRIPT_SOURCE_MAX + 1);
    assert_code(tkl_script_open(f->client, "", tkl_str("return 1"), NULL, &script), TKL_EINVAL);
    assert_code(tkl_script_open(f->client, name, tkl_str("return 1"), NULL, &script), TKL_EINVAL);
    assert_code(tkl_script_open(f->client, "a", tkl_str(""), NULL, &script), TKL_EINVAL);
    assert_code(tkl_script_open(f->client, "a", tkl_str("return 1"), &both, &script), TKL_EINVAL);
    assert_code(tkl_script_open(f->client, "a", (tkl_bytes){large, TKL_SCRIPT_SOURCE_MAX + 1}, NULL,
                                &script),
                TKL_EINVAL);
    assert_null(script);
    tkl_script_close(NULL);
    free(large);
}

static void libraries_of_scripts_are_listed_and_removed(void **state)
{
    fixture *f = *state;
    tkl_script *script = open_script(f->client, "return 42 + #ARGV");
    tkl_function_libraries *list;
    bool found = false;
    assert_int_equal(run_number(script, "k", "a"), 43);
    assert_ok(tkl_functions_list(f->client, &list));
    for (size_t i = 0; i < list->count; i++)
        found |= strcmp(list->items[i].component, "script") == 0 && !list->items[i].is_current;
    tkl_function_libraries_free(list);
    assert_true(found);
    assert_ok(tkl_functions_remove_old(f->client, NULL));
    assert_int_equal(run_number(script, "k", "a"), 43);
    tkl_script_close(script);
}

/* ---- Pipelines ----------------------------------------------------------- */

static tkl_pipeline *open_pipeline(tkl_client *client, bool transaction)
{
    tkl_pipeline *pipeline;
    tkl_pipeline_options options = {.transaction = transaction};
    assert_ok(tkl_pipeline_open(client, &options, &pipeline));
    return pipeline;
}

static void scripts_and_commands_share_a_trip(void **state)
{
    fixture *f = *state;
    tkl_script *good = open_script(f->client, "return redis.call('INCR', KEYS[1])");
    tkl_script *bad = open_script(f->client, "\nerror('no')");
    tkl_pipeline *pipeline = open_pipeline(f->client, false);
    tkl_bytes key = tkl_str("n");
    for (int round = 0; round < 2; round++) { /* the first one loads the libraries */
        tkl_reply *replies;
        assert_ok(tkl_pipeline_addz(pipeline, "SET", "n", "5", NULL));
        assert_ok(tkl_pipeline_add_script(pipeline, good, &key, 1, NULL, 0));
        assert_ok(tkl_pipeline_add_script(pipeline, bad, NULL, 0, NULL, 0));
        assert_ok(tkl_pipeline_addz(pipeline, "GET", "n", NULL));
        assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
        assert_int_equal(tkl_reply_count(replies), 4);
        assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 1)), 6);
        assert_true(tkl_reply_code(tkl_reply_at(replies, 2)) < 0);
        assert_contains(tkl_reply_str(tkl_reply_at(replies, 2)), "mine.lua:2");
        if (round > 0)
            assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 3)), 6);
        tkl_reply_free(replies);
    }
    tkl_pipeline_close(pipeline);
    tkl_script_close(good);
    tkl_script_close(bad);
}

/* ---- Transactions -------------------------------------------------------- */

static void a_transaction_answers_each_command(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client, true);
    tkl_reply *replies;
    assert_ok(tkl_pipeline_addz(pipeline, "SET", "a", "1", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "LPUSH", "a", "x", NULL)); /* fails; the rest runs */
    assert_ok(tkl_pipeline_addz(pipeline, "INCR", "a", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "GET", "missing", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "MGET", "a", "missing", NULL));
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_int_equal(tkl_reply_count(replies), 5);
    assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 0)), "OK");
    assert_int_equal(tkl_reply_code(tkl_reply_at(replies, 1)), TKL_ETYPE);
    assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 2)), 2);
    assert_true(tkl_reply_is_nil(tkl_reply_at(replies, 3)));
    assert_int_equal(tkl_reply_count(tkl_reply_at(replies, 4)), 2);
    tkl_reply_free(replies);
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies)); /* empty now */
    assert_int_equal(tkl_reply_count(replies), 0);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

typedef struct transfers {
    tkl_client *client;
    _Atomic int wrong;
} transfers;

/* Moves one from a to b, or looks at both: the sum is always 100. */
static void transfer(void *arg, int index)
{
    transfers *t = arg;
    for (int i = 0; i < 200; i++) {
        tkl_reply *replies;
        tkl_pipeline *pipeline = open_pipeline(t->client, true);
        if (index % 2 == 0) {
            assert_ok(tkl_pipeline_addz(pipeline, "DECR", "a", NULL));
            assert_ok(tkl_pipeline_addz(pipeline, "INCR", "b", NULL));
        } else {
            assert_ok(tkl_pipeline_addz(pipeline, "GET", "a", NULL));
            assert_ok(tkl_pipeline_addz(pipeline, "GET", "b", NULL));
        }
        assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
        int64_t sum =
            tkl_reply_int(tkl_reply_at(replies, 0)) + tkl_reply_int(tkl_reply_at(replies, 1));
        t->wrong += sum != 100;
        tkl_reply_free(replies);
        tkl_pipeline_close(pipeline);
    }
}

static void nothing_comes_between(void **state)
{
    fixture *f = *state;
    transfers t = {.client = f->client};
    server_do(f->server, "MSET a 100 b 0");
    crew_run(4, transfer, &t);
    assert_int_equal(t.wrong, 0);
}

static void a_transaction_that_fails_says_so_for_each(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    tkl_pipeline *pipeline = open_pipeline(client, true);
    tkl_reply *replies;
    assert_ok(tkl_pipeline_addz(pipeline, "SET", "a", "1", NULL));
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    tkl_reply_free(replies);
    assert_ok(tkl_pipeline_addz(pipeline, "INCR", "a", NULL));
    assert_ok(tkl_pipeline_addz(pipeline, "INCR", "a", NULL));
    proxy_cut_after(between, TO_CLIENT, 0);
    assert_code(tkl_pipeline_run(pipeline, NULL, &replies), TKL_EUNKNOWN);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(tkl_reply_code(tkl_reply_at(replies, i)), TKL_EUNKNOWN);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    tkl_close(client);
    proxy_end(between);
}

static void what_cannot_be_in_a_transaction_is_refused(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline = open_pipeline(f->client, true);
    tkl_script *script = open_script(f->client, "return 1");
    const char *many[5001];
    for (int i = 0; i < 5001; i++)
        many[i] = i == 0 ? "DEL" : "k";
    assert_code(tkl_pipeline_addz(pipeline, "eval", "return 1", "0", NULL), TKL_EINVAL);
    assert_code(tkl_pipeline_addz(pipeline, "MULTI", NULL), TKL_EINVAL);
    assert_code(tkl_pipeline_add(pipeline, 5001, many, NULL), TKL_EINVAL);
    assert_code(tkl_pipeline_add_script(pipeline, script, NULL, 0, NULL, 0), TKL_EINVAL);
    assert_ok(tkl_pipeline_add(pipeline, 5000, many, NULL));
    tkl_reply *replies;
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_int_equal(tkl_reply_count(replies), 1);
    assert_int_equal(tkl_reply_code(tkl_reply_at(replies, 0)), TKL_OK);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    tkl_script_close(script);
}

static void in_a_cluster_keys_share_a_slot(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_pipeline *pipeline = open_pipeline(client, true);
    tkl_script *script = open_script(client, "return redis.call('INCR', KEYS[1])");
    tkl_reply *replies;
    assert_ok(tkl_pipeline_addz(pipeline, "SET", "{a}1", "1", NULL));
    assert_code(tkl_pipeline_addz(pipeline, "SET", "b", "1", NULL), TKL_ECROSSSLOT);
    assert_ok(tkl_pipeline_addz(pipeline, "SET", "{a}2", "1", NULL));
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    assert_int_equal(tkl_reply_count(replies), 2);
    assert_int_equal(tkl_reply_code(tkl_reply_at(replies, 1)), TKL_OK);
    tkl_reply_free(replies);
    assert_ok(tkl_pipeline_addz(pipeline, "GET", "b", NULL)); /* another slot, another run */
    assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
    tkl_reply_free(replies);
    for (int i = 0; i < 20; i++) {
        char key[8];
        snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(run_number(script, key, "x"), 1);
    }
    tkl_bytes keys[] = {tkl_str("a"), tkl_str("b")};
    assert_code(tkl_script_run(script, keys, 2, NULL, 0, NULL, NULL), TKL_ECROSSSLOT);
    tkl_script_close(script);
    tkl_pipeline_close(pipeline);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_script_is_loaded_once_and_then_called),
        TEST(errors_name_the_line),
        TEST(a_script_that_only_reads_runs_on_a_full_server),
        TEST(a_lost_reply_is_repeated_only_when_that_is_safe),
        TEST(wrong_scripts_are_refused),
        TEST(libraries_of_scripts_are_listed_and_removed),
        TEST(scripts_and_commands_share_a_trip),
        TEST(a_transaction_answers_each_command),
        TEST(nothing_comes_between),
        TEST(a_transaction_that_fails_says_so_for_each),
        TEST(what_cannot_be_in_a_transaction_is_refused),
        cmocka_unit_test(in_a_cluster_keys_share_a_slot),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
