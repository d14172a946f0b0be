/* SPDX-License-Identifier: MIT
 *
 * Scripts: by their SHA1, with their source when the server does not know them, done once.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "core/clock.h"
#include "core/script.h"
#include "support/fixture.h"
#include "support/proxy.h"

/* Scripts of this test; their SHA1 is what the server says it is. */
enum { ADD, WORDS, FAIL, COUNT };

static tkl__script scripts[COUNT] = {
    [ADD] = {.name = "test/add",
             .source = "return redis.call('INCRBY', KEYS[1], ARGV[1])",
             .nkeys = 1,
             .nargs = 1},
    [WORDS] = {.name = "test/words", .source = "return ARGV", .nargs = 1, .open_args = true},
    [FAIL] = {.name = "test/fail", .source = "return redis.call('LPUSH', KEYS[1], 1)", .nkeys = 1},
};
static char sha1s[COUNT][64];

static int start(void **state)
{
    int code = fixture_start(state);
    fixture *f = *state;
    for (int i = 0; i < COUNT; i++) {
        scripts[i].len = strlen(scripts[i].source);
        char *sha1 = server_ask(f->server, "SCRIPT LOAD %s", scripts[i].source);
        snprintf(sha1s[i], sizeof(sha1s[i]), "%s", sha1);
        scripts[i].sha1 = sha1s[i];
        free(sha1);
    }
    return code;
}

static int64_t soon(void)
{
    return tkl__deadline_ms(20000);
}

static const tkl_bytes key_n = {"n", 1}, five = {"5", 1};
static const tkl__invocation add_five = {
    .script = &scripts[ADD], .keys = &key_n, .args = &five, .nkeys = 1, .nargs = 1};

static int64_t add(tkl_client *client)
{
    tkl_reply *reply;
    assert_ok(tkl__run(client, &add_five, soon(), &reply));
    int64_t sum = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return sum;
}

static void an_unknown_script_is_sent_with_its_source_once(void **state)
{
    fixture *f = *state;
    int64_t evals = server_calls(f->server, "eval");
    assert_int_equal(add(f->client), 5);
    assert_int_equal(add(f->client), 10);
    assert_int_equal(add(f->client), 15);
    assert_int_equal(server_calls(f->server, "eval"), evals + 1);
}

static void a_flush_between_is_survived(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(add(f->client), 5 * i);
        server_do(f->server, "SCRIPT FLUSH");
    }
}

static void a_known_script_costs_one_trip(void **state)
{
    fixture *f = *state;
    add(f->client);
    int64_t before = server_calls(f->server, "evalsha");
    add(f->client);
    assert_int_equal(server_calls(f->server, "evalsha"), before + 1);
}

static void arguments_are_any_bytes(void **state)
{
    fixture *f = *state;
    const tkl_bytes args[] = {{"a\0b", 3}, {"", 0}, {NULL, 0}, {"\r\n", 2}};
    const tkl__invocation call = {.script = &scripts[WORDS], .args = args, .nargs = 4};
    tkl_reply *reply;
    assert_ok(tkl__run(f->client, &call, soon(), &reply));
    assert_int_equal(tkl_reply_count(reply), 4);
    assert_int_equal(tkl_reply_bytes(tkl_reply_at(reply, 0)).len, 3);
    assert_memory_equal(tkl_reply_bytes(tkl_reply_at(reply, 0)).data, "a\0b", 3);
    assert_int_equal(tkl_reply_bytes(tkl_reply_at(reply, 2)).len, 0);
    assert_string_equal(tkl_reply_str(tkl_reply_at(reply, 3)), "\r\n");
    tkl_reply_free(reply);
}

static void the_wrong_number_of_keys_or_arguments_is_a_bug(void **state)
{
    fixture *f = *state;
    tkl__invocation call = add_five;
    tkl_reply *reply;
    call.nargs = 0;
    assert_code(tkl__run(f->client, &call, soon(), &reply), TKL_EBUG);
    assert_contains(tkl_errmsg(), "test/add");
    call = add_five;
    call.nkeys = 0;
    assert_code(tkl__run(f->client, &call, soon(), &reply), TKL_EBUG);
    assert_code(tkl__run_many(f->client, &call, 1, soon(), &reply), TKL_EBUG);
    assert_null(reply);
}

static void an_error_inside_has_its_code(void **state)
{
    fixture *f = *state;
    assert_ok(tkl_callz(f->client, NULL, "SET", "n", "text", NULL));
    const tkl__invocation call = {.script = &scripts[FAIL], .keys = &key_n, .nkeys = 1};
    tkl_reply *reply;
    assert_code(tkl__run(f->client, &call, soon(), &reply), TKL_ETYPE);
    assert_null(reply);
}

/* Neither the hash of a script nor a line of it, also when the server has seen it already. */
static void an_error_inside_does_not_tell_where(void **state)
{
    fixture *f = *state;
    const char *expected = "WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_ok(tkl_callz(f->client, NULL, "SET", "n", "text", NULL));
    const tkl__invocation call = {.script = &scripts[FAIL], .keys = &key_n, .nkeys = 1};
    tkl_reply *reply;
    for (int i = 0; i < 2; i++) {
        assert_code(tkl__run(f->client, &call, soon(), &reply), TKL_ETYPE);
        assert_string_equal(tkl_errmsg(), expected);
    }
    server_do(f->server, "SCRIPT FLUSH");
    for (int i = 0; i < 2; i++) {
        assert_ok(tkl__run_many(f->client, &call, 1, soon(), &reply));
        assert_string_equal(tkl_reply_str(tkl_reply_at(reply, 0)), expected);
        tkl_reply_free(reply);
    }
    assert_code(tkl_callz(f->client, NULL, "EVAL", scripts[FAIL].source, "1", "n", NULL),
                TKL_ETYPE);
    assert_contains(tkl_errmsg(), "@user_script"); /* one's own: it helps */
}

/* ---- Without waiting ----------------------------------------------------- */

static void what_is_not_waited_for_is_done(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 100; i++)
        assert_ok(tkl__run_nowait(f->client, &add_five, soon()));
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 500);
    assert_int_equal(server_connections(f->server, NULL), 1);
}

static void a_reply_nobody_waits_for_reaches_nobody(void **state)
{
    fixture *f = *state;
    tkl_pipeline *pipeline;
    assert_ok(tkl_pipeline_open(f->client, NULL, &pipeline));
    for (int i = 0; i < 50; i++) {
        assert_ok(tkl__run_nowait(f->client, &add_five, soon()));
        assert_ok(tkl__run_nowait(f->client, &add_five, soon()));
        if (i % 3 == 0)
            test_sleep_ms(2); /* the replies are there already */
        call_expect(f->client, "mine", "ECHO", "mine", NULL);
        assert_ok(tkl__run_nowait(f->client, &add_five, soon()));
        assert_ok(tkl_pipeline_addz(pipeline, "ECHO", "one", NULL));
        assert_ok(tkl_pipeline_addz(pipeline, "ECHO", "two", NULL));
        tkl_reply *replies;
        assert_ok(tkl_pipeline_run(pipeline, NULL, &replies));
        assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 0)), "one");
        assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 1)), "two");
        tkl_reply_free(replies);
    }
    tkl_pipeline_close(pipeline);
    assert_int_equal(server_connections(f->server, NULL), 1);
}

static void a_flush_costs_at_most_what_nobody_waited_for(void **state)
{
    fixture *f = *state;
    assert_ok(tkl__run_nowait(f->client, &add_five, soon()));
    server_do(f->server, "SCRIPT FLUSH");
    assert_ok(tkl__run_nowait(f->client, &add_five, soon())); /* refused, unheard */
    call_expect(f->client, "mine", "ECHO", "mine", NULL);
    int64_t before = call_int(f->client, "GET", "n", NULL);
    eventually(tkl__run_nowait(f->client, &add_five, soon()) == TKL_OK &&
                   call_int(f->client, "GET", "n", NULL) > before,
               10000);
}

static void a_closed_connection_with_replies_owed_is_not_used(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    add(client); /* the server knows the script from now on, and then the connection does */
    assert_ok(tkl__run_nowait(client, &add_five, soon()));
    for (int i = 0; i < 5; i++) {
        proxy_hold(p, TO_CLIENT, true);
        assert_ok(tkl__run_nowait(client, &add_five, soon()));
        proxy_cut(p);
        proxy_hold(p, TO_CLIENT, false);
        test_sleep_ms(5);
        call_expect(client, "mine", "ECHO", "mine", NULL);
        assert_ok(tkl__run_nowait(client, &add_five, soon()));
    }
    tkl_close(client);
    proxy_end(p);
}

/* ---- Many in one trip ---------------------------------------------------- */

static void a_script_that_is_sent_whole_makes_those_behind_it_known(void **state)
{
    fixture *f = *state;
    tkl__invocation whole = add_five;
    whole.whole = true;
    const tkl__invocation calls[] = {whole, add_five, add_five};
    tkl_reply *replies;
    server_do(f->server, "SCRIPT FLUSH");
    int64_t evals = server_calls(f->server, "eval"), before = add(f->client);
    server_do(f->server, "SCRIPT FLUSH");
    assert_ok(tkl__run_many(f->client, calls, 3, soon(), &replies));
    for (int k = 0; k < 3; k++)
        assert_int_equal(tkl_reply_int(tkl_reply_at(replies, (size_t)k)), before + 5 + 5 * k);
    tkl_reply_free(replies);
    assert_int_equal(server_calls(f->server, "eval"), evals + 2);
}

static void many_run_in_order_though_none_was_known(void **state)
{
    fixture *f = *state;
    const tkl_bytes words[] = {{"some", 4}, {"words", 5}};
    tkl__invocation calls[200];
    for (size_t i = 0; i < 200; i++)
        calls[i] = i % 2 == 0
                       ? add_five
                       : (tkl__invocation){.script = &scripts[WORDS], .args = words, .nargs = 2};
    tkl_reply *replies;
    server_do(f->server, "SCRIPT FLUSH");
    int64_t evals = server_calls(f->server, "eval");
    assert_ok(tkl__run_many(f->client, calls, 200, soon(), &replies));
    assert_int_equal(server_calls(f->server, "eval"), evals + 2); /* the source of each once */
    assert_int_equal(tkl_reply_count(replies), 200);
    for (size_t i = 0; i < 200; i += 2) {
        assert_int_equal(tkl_reply_int(tkl_reply_at(replies, i)), 5 * (i / 2 + 1));
        assert_int_equal(tkl_reply_count(tkl_reply_at(replies, i + 1)), 2);
    }
    tkl_reply_free(replies);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 500);
}

static void an_unknown_one_among_known_ones_keeps_its_place(void **state)
{
    fixture *f = *state;
    add(f->client); /* known from now on; the other is not */
    const tkl_bytes word = {"word", 4};
    const tkl__invocation calls[] = {
        add_five, {.script = &scripts[WORDS], .args = &word, .nargs = 1}, add_five};
    tkl_reply *replies;
    assert_ok(tkl__run_many(f->client, calls, 3, soon(), &replies));
    assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 0)), 10);
    assert_string_equal(tkl_reply_str(tkl_reply_at(tkl_reply_at(replies, 1), 0)), "word");
    assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 2)), 15);
    tkl_reply_free(replies);
}

static void none_is_an_empty_answer(void **state)
{
    fixture *f = *state;
    tkl_reply *replies;
    assert_ok(tkl__run_many(f->client, NULL, 0, soon(), &replies));
    assert_int_equal(tkl_reply_count(replies), 0);
    tkl_reply_free(replies);
}

static void a_cut_tells_the_fate_of_each(void **state)
{
    fixture *f = *state;
    add(f->client);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "n", NULL));
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    call_expect(client, "PONG", "PING", NULL);
    tkl__invocation calls[100];
    for (size_t i = 0; i < 100; i++)
        calls[i] = add_five;
    proxy_cut_after(p, TO_CLIENT, 200);
    tkl_reply *replies;
    assert_code(tkl__run_many(client, calls, 100, soon(), &replies), TKL_EUNKNOWN);
    assert_code(tkl_reply_code(tkl_reply_at(replies, 0)), TKL_OK);
    assert_code(tkl_reply_code(tkl_reply_at(replies, 99)), TKL_EUNKNOWN);
    tkl_reply_free(replies);
    tkl_close(client);
    proxy_end(p);
}

/* ---- Threads, while scripts are flushed ---------------------------------- */

typedef struct hammer {
    tkl_client *client;
    atomic_bool over;
    atomic_int done;
} hammer;

static void add_until_over(void *arg, int index)
{
    (void)index;
    hammer *h = arg;
    while (!atomic_load(&h->over)) {
        add(h->client);
        atomic_fetch_add(&h->done, 1);
    }
}

static void flushes_under_load_lose_and_repeat_nothing(void **state)
{
    fixture *f = *state;
    hammer h = {.client = f->client};
    crew *threads = crew_start(8, add_until_over, &h);
    for (int i = 0; i < 50; i++) {
        server_do(f->server, "SCRIPT FLUSH");
        test_sleep_ms(5);
    }
    atomic_store(&h.over, true);
    crew_join(threads);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 5 * atomic_load(&h.done));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_script_is_sent_with_its_source_once),
        TEST(a_flush_between_is_survived),
        TEST(a_known_script_costs_one_trip),
        TEST(arguments_are_any_bytes),
        TEST(the_wrong_number_of_keys_or_arguments_is_a_bug),
        TEST(an_error_inside_has_its_code),
        TEST(an_error_inside_does_not_tell_where),
        TEST(what_is_not_waited_for_is_done),
        TEST(a_reply_nobody_waits_for_reaches_nobody),
        TEST(a_flush_costs_at_most_what_nobody_waited_for),
        TEST(a_closed_connection_with_replies_owed_is_not_used),
        TEST(a_script_that_is_sent_whole_makes_those_behind_it_known),
        TEST(many_run_in_order_though_none_was_known),
        TEST(an_unknown_one_among_known_ones_keeps_its_place),
        TEST(none_is_an_empty_answer),
        TEST(a_cut_tells_the_fate_of_each),
        TEST(flushes_under_load_lose_and_repeat_nothing),
    };
    return cmocka_run_group_tests(tests, start, fixture_end);
}
