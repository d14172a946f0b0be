/* SPDX-License-Identifier: MIT
 *
 * Functions of the server: loaded where they are missing, done once.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "core/clock.h"
#include "core/script.h"
#include "support/batch.h"
#include "support/fixture.h"
#include "support/library.h"
#include "support/proxy.h"

enum { ADD, WORDS, FAIL, MORE, READ, GIVE_WAY };

static const char source[] = LIBRARY_HEAD("tackle_test_1")
    LIBRARY_FUNCTION("test_add", "", "return redis.call('INCRBY', KEYS[1], ARGV[1])")
        LIBRARY_FUNCTION("test_words", "", "return ARGV")
            LIBRARY_FUNCTION("test_fail", "", "return redis.call('LPUSH', KEYS[1], 1)")
                LIBRARY_FUNCTION("test_read", "'no-writes'", "return redis.call('GET', KEYS[1])")
                    LIBRARY_FUNCTION("test_give_way", "'allow-oom'",
                                     "return redis.call('INCRBY', KEYS[1], ARGV[1])");
static const char other_source[] = LIBRARY_HEAD("tackle_test_2")
    LIBRARY_FUNCTION("test_more", "", "return redis.call('INCRBY', KEYS[1], ARGV[1])");
static const tkl__origin origins[] = {{1, "test/test.lua", 1}, {0}};
static const tkl__library library = {"tackle_test_1", source, sizeof source - 1, origins},
                          other = {"tackle_test_2", other_source, sizeof other_source - 1, origins};

static const tkl__script scripts[] = {
    [ADD] =
        {.name = "test/add", .function = "test_add", .library = &library, .nkeys = 1, .nargs = 1},
    [WORDS] = {.name = "test/words",
               .function = "test_words",
               .library = &library,
               .nargs = 1,
               .open_args = true},
    [FAIL] = {.name = "test/fail", .function = "test_fail", .library = &library, .nkeys = 1},
    [MORE] =
        {.name = "test/more", .function = "test_more", .library = &other, .nkeys = 1, .nargs = 1},
    [READ] = {.name = "test/read",
              .function = "test_read",
              .library = &library,
              .nkeys = 1,
              .no_writes = true},
    [GIVE_WAY] = {.name = "test/give_way",
                  .function = "test_give_way",
                  .library = &library,
                  .nkeys = 1,
                  .nargs = 1,
                  .allow_oom = true},
};

static const char list_source[] = LIBRARY_HEAD("tackle_test_3")
    LIBRARY_FUNCTION("test_append", "",
                     "if ARGV[2] ~= '' and redis.call('LINDEX', KEYS[1], -1) ~= ARGV[2] then "
                     "return nil end if ARGV[1] == 'bad' then error('refused') end "
                     "return redis.call('RPUSH', KEYS[1], ARGV[1])");
static const tkl__library list_library = {"tackle_test_3", list_source, sizeof list_source - 1,
                                          origins};
static const tkl__script append = {.name = "test/append",
                                   .function = "test_append",
                                   .library = &list_library,
                                   .nkeys = 1,
                                   .nargs = 2};

/* Each test has a server that has no function and has counted nothing. */
static int fresh(void **state)
{
    int code = fixture_fresh(state);
    fixture *f = *state;
    server_do(f->server, "CONFIG RESETSTAT");
    return code;
}

static int64_t soon(void)
{
    return tkl__deadline_ms(20000);
}

static const tkl_bytes key_n = {"n", 1}, key_m = {"m", 1}, five = {"5", 1};
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

static void a_missing_library_is_loaded_once(void **state)
{
    fixture *f = *state;
    assert_int_equal(add(f->client), 5);
    assert_int_equal(add(f->client), 10);
    assert_int_equal(add(f->client), 15);
    assert_int_equal(server_calls(f->server, "function|load"), 1);
    assert_int_equal(server_calls(f->server, "fcall"), 4);
}

static void a_flush_between_is_survived(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(add(f->client), 5 * i);
        server_do(f->server, "FUNCTION FLUSH SYNC");
    }
}

static void libraries_of_other_versions_stay(void **state)
{
    fixture *f = *state;
    server_do(f->server, "FUNCTION LOAD %s",
              LIBRARY_HEAD("tackle_test_0") LIBRARY_FUNCTION("test_add_0", "", "return 'old'"));
    add(f->client);
    char *old = server_ask(f->server, "FCALL test_add_0 0");
    assert_string_equal(old, "old");
    free(old);
}

static void reading_is_asked_for_as_such(void **state)
{
    fixture *f = *state;
    const tkl__invocation call = {.script = &scripts[READ], .keys = &key_n, .nkeys = 1};
    tkl_reply *reply;
    add(f->client);
    assert_ok(tkl__run(f->client, &call, soon(), &reply));
    assert_string_equal(tkl_reply_str(reply), "5");
    tkl_reply_free(reply);
    assert_int_equal(server_calls(f->server, "fcall_ro"), 1);
}

/* ---- Servers that load nothing ------------------------------------------- */

static void a_full_server_still_runs_what_makes_room_and_what_reads(void **state)
{
    fixture *f = *state;
    tkl__invocation give_way = add_five,
                    read = {.script = &scripts[READ], .keys = &key_n, .nkeys = 1};
    tkl_reply *reply;
    give_way.script = &scripts[GIVE_WAY];
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl__run(f->client, &add_five, soon(), &reply), TKL_EOOM);
    for (int i = 1; i <= 3; i++) {
        assert_ok(tkl__run(f->client, &give_way, soon(), &reply));
        assert_int_equal(tkl_reply_int(reply), 5 * i);
        tkl_reply_free(reply);
    }
    const tkl__invocation calls[] = {give_way, read, give_way, add_five};
    assert_code(batch_calls(f->client, calls, 4, soon(), &reply), TKL_EOOM);
    assert_int_equal(tkl_reply_int(tkl_reply_at(reply, 0)), 20);
    assert_string_equal(tkl_reply_str(tkl_reply_at(reply, 1)), "20");
    assert_int_equal(tkl_reply_int(tkl_reply_at(reply, 2)), 25);
    assert_code(tkl_reply_code(tkl_reply_at(reply, 3)), TKL_EOOM);
    tkl_reply_free(reply);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(server_calls(f->server, "eval"), 6);
    assert_int_equal(add(f->client), 30);
    assert_int_equal(server_calls(f->server, "eval"), 6);
}

/* The requests of a batch are not sent again and again. */
static void a_refused_load_costs_a_batch_no_flood(void **state)
{
    enum { MANY = 200 };
    fixture *f = *state;
    tkl__invocation calls[MANY];
    tkl_reply *replies;
    for (size_t i = 0; i < MANY; i++)
        calls[i] = add_five;
    server_do(f->server, "ACL SETUSER clerk on >secret ~* &* +@all -function");
    tkl_client *clerk =
        test_open(f->server->url, &(tkl_options){.username = "clerk", .password = "secret"});
    assert_code(batch_calls(clerk, calls, MANY, soon(), &replies), TKL_EAUTH);
    for (size_t i = 0; i < MANY; i++)
        assert_code(tkl_reply_code(tkl_reply_at(replies, i)), TKL_EAUTH);
    tkl_reply_free(replies);
    assert_in_range(server_calls(f->server, "fcall"), MANY, 4 * MANY);
    tkl_close(clerk);
}

static void a_user_who_may_not_load_is_told_what_to_do(void **state)
{
    fixture *f = *state;
    tkl_reply *reply;
    server_do(f->server, "ACL SETUSER clerk on >secret ~* &* +@all -function");
    tkl_client *clerk =
        test_open(f->server->url, &(tkl_options){.username = "clerk", .password = "secret"});
    assert_code(tkl__run(clerk, &add_five, soon(), &reply), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "+function|load");
    assert_contains(tkl_errmsg(), "tackle_test_1");
    add(f->client); /* another user may load; from then on it works */
    assert_int_equal(add(clerk), 10);
    tkl_close(clerk);
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
    assert_code(batch_calls(f->client, &call, 1, soon(), &reply), TKL_EBUG);
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

/* An error has neither the hash of a script nor a line of it, also when the server knows the
 * script. */
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
    server_do(f->server, "FUNCTION FLUSH SYNC");
    for (int i = 0; i < 2; i++) {
        assert_code(batch_calls(f->client, &call, 1, soon(), &reply), TKL_ETYPE);
        assert_string_equal(tkl_errmsg(), expected);
        assert_string_equal(tkl_reply_str(tkl_reply_at(reply, 0)), expected);
        tkl_reply_free(reply);
    }
    assert_code(tkl_callz(f->client, NULL, "FCALL", "test_fail", "1", "n", NULL), TKL_ETYPE);
    assert_contains(tkl_errmsg(), "@user_function"); /* one's own: it helps */
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
    server_do(f->server, "FUNCTION FLUSH SYNC");
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
    assert_ok(batch_calls(f->client, calls, 200, soon(), &replies));
    assert_int_equal(server_calls(f->server, "function|load"), 1);
    assert_int_equal(tkl_reply_count(replies), 200);
    for (size_t i = 0; i < 200; i += 2) {
        assert_int_equal(tkl_reply_int(tkl_reply_at(replies, i)), 5 * (i / 2 + 1));
        assert_int_equal(tkl_reply_count(tkl_reply_at(replies, i + 1)), 2);
    }
    tkl_reply_free(replies);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 500);
}

static void several_libraries_are_loaded_in_one_trip(void **state)
{
    fixture *f = *state;
    tkl__invocation more = add_five;
    more.script = &scripts[MORE];
    const tkl__invocation calls[] = {add_five, more, add_five, more, add_five, more};
    tkl_reply *replies;
    assert_ok(batch_calls(f->client, calls, 6, soon(), &replies));
    tkl_reply_free(replies);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 30);
    assert_int_equal(server_calls(f->server, "function|load"), 2);
}

static void an_unknown_one_among_known_ones_keeps_its_place(void **state)
{
    fixture *f = *state;
    add(f->client); /* known from now on; the other is not */
    tkl__invocation more = add_five;
    more.script = &scripts[MORE];
    more.keys = &key_m;
    const tkl__invocation calls[] = {add_five, more, add_five};
    tkl_reply *replies;
    assert_ok(batch_calls(f->client, calls, 3, soon(), &replies));
    assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 0)), 10);
    assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 1)), 5);
    assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 2)), 15);
    tkl_reply_free(replies);
}

/* Makes calls that append the words to a list, each behind the one before. */
enum { AFTER = 1, APPENDED = 4 };
typedef struct appends {
    tkl_bytes key, args[APPENDED][2];
    tkl__invocation calls[APPENDED];
} appends;

static void make_appends(appends *a, const char *key, const char *const words[APPENDED])
{
    a->key = tkl_str(key);
    for (size_t i = 0; i < APPENDED; i++) {
        a->args[i][0] = tkl_str(words[i]);
        a->args[i][AFTER] = i > 0 ? a->args[i - 1][0] : tkl_str("");
        a->calls[i] = (tkl__invocation){
            .script = &append, .keys = &a->key, .args = a->args[i], .nkeys = 1, .nargs = 2};
    }
}

/* Another client loads the library between any two calls. */
static void append_in_order(void *arg, int index)
{
    fixture *f = arg;
    static const char *const words[] = {"a", "b", "c", "d"};
    char name[16];
    tkl_client *client = test_open(f->server->url, NULL);
    snprintf(name, sizeof name, "list%d", index);
    appends a;
    make_appends(&a, name, words);
    tkl_reply *replies;
    assert_ok(batch_calls_in_order(client, a.calls, APPENDED, AFTER, soon(), &replies));
    assert_int_equal(tkl_reply_count(replies), APPENDED);
    for (size_t i = 0; i < APPENDED; i++)
        assert_int_equal(tkl_reply_int(tkl_reply_at(replies, i)), i + 1);
    tkl_reply_free(replies);
    tkl_close(client);
}

static void calls_behind_a_gap_run_after_it(void **state)
{
    fixture *f = *state;
    static const char *const words[] = {"a", "b", "c", "d"};
    appends a;
    tkl_reply *replies;
    make_appends(&a, "list", words);
    a.args[1][AFTER] = tkl_str("lost");
    assert_ok(batch_calls_in_order(f->client, a.calls, APPENDED, AFTER, soon(), &replies));
    for (size_t i = 0; i < APPENDED; i++)
        assert_int_equal(tkl_reply_int(tkl_reply_at(replies, i)), i + 1);
    tkl_reply_free(replies);
    char *list = server_ask(f->server, "LRANGE list 0 -1");
    assert_contains(list, "a\nb\nc\nd");
    free(list);
}

static void calls_behind_an_error_are_not_run_and_get_it(void **state)
{
    fixture *f = *state;
    static const char *const words[] = {"a", "bad", "c", "d"};
    appends a;
    tkl_reply *replies;
    make_appends(&a, "list", words);
    int rc = batch_calls_in_order(f->client, a.calls, APPENDED, AFTER, soon(), &replies);
    assert_code(rc, TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "refused");
    assert_int_equal(tkl_reply_int(tkl_reply_at(replies, 0)), 1);
    for (size_t i = 1; i < APPENDED; i++)
        assert_contains(tkl_reply_str(tkl_reply_at(replies, i)), "refused");
    tkl_reply_free(replies);
    assert_int_equal(call_int(f->client, "LLEN", "list", NULL), 1);
}

static void no_call_overtakes_another_while_many_load(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        server_do(f->server, "FUNCTION FLUSH SYNC");
        server_do(f->server, "FLUSHALL");
        crew_join(crew_start(6, append_in_order, f));
    }
}

static void none_is_an_empty_answer(void **state)
{
    fixture *f = *state;
    tkl_reply *replies;
    assert_ok(batch_calls(f->client, NULL, 0, soon(), &replies));
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
    assert_code(batch_calls(client, calls, 100, soon(), &replies), TKL_EUNKNOWN);
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

/* With pauses between the flushes, and without: then the library is often gone again before the
 * call that loaded it. */
static void flushes_under_load_lose_and_repeat_nothing(void **state)
{
    fixture *f = *state;
    hammer h = {.client = f->client};
    crew *threads = crew_start(8, add_until_over, &h);
    for (int i = 0; i < 300; i++) {
        server_do(f->server, "FUNCTION FLUSH SYNC");
        if (i < 50)
            test_sleep_ms(5);
    }
    atomic_store(&h.over, true);
    crew_join(threads);
    assert_int_equal(call_int(f->client, "GET", "n", NULL), 5 * atomic_load(&h.done));
}

#define COUNTED(name) cmocka_unit_test_setup_teardown(name, fresh, fixture_done)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COUNTED(a_missing_library_is_loaded_once),
        COUNTED(a_flush_between_is_survived),
        COUNTED(libraries_of_other_versions_stay),
        COUNTED(reading_is_asked_for_as_such),
        COUNTED(a_full_server_still_runs_what_makes_room_and_what_reads),
        COUNTED(a_refused_load_costs_a_batch_no_flood),
        COUNTED(a_user_who_may_not_load_is_told_what_to_do),
        COUNTED(arguments_are_any_bytes),
        COUNTED(the_wrong_number_of_keys_or_arguments_is_a_bug),
        COUNTED(an_error_inside_has_its_code),
        COUNTED(an_error_inside_does_not_tell_where),
        COUNTED(what_is_not_waited_for_is_done),
        COUNTED(a_reply_nobody_waits_for_reaches_nobody),
        COUNTED(a_flush_costs_at_most_what_nobody_waited_for),
        COUNTED(a_closed_connection_with_replies_owed_is_not_used),
        COUNTED(several_libraries_are_loaded_in_one_trip),
        COUNTED(no_call_overtakes_another_while_many_load),
        COUNTED(calls_behind_a_gap_run_after_it),
        COUNTED(calls_behind_an_error_are_not_run_and_get_it),
        COUNTED(many_run_in_order_though_none_was_known),
        COUNTED(an_unknown_one_among_known_ones_keeps_its_place),
        COUNTED(none_is_an_empty_answer),
        COUNTED(a_cut_tells_the_fate_of_each),
        COUNTED(flushes_under_load_lose_and_repeat_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
