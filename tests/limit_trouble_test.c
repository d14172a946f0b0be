/* SPDX-License-Identifier: MIT
 *
 * Limits when keys are damaged, memory is full, answers are lost and servers are gone.
 *
 * ctest: label threads
 */
#include "support/limits.h"
#include "support/proxy.h"

/* ---- Keys that other programs wrote --------------------------------------- */

/* A command and what stands behind the key: one or two words. */
static const char *const garbage[][3] = {
    {"SET", "hello"},
    {"SET", "gcra"},
    {"SET", "gcra 0 1 1 0 0 0"},
    {"SET", "gcra 1 1"},
    {"SET", "gcra 3600000000 99999999999999999999 1"},
    {"SET", "gcra 3600000000 1 99999999999999999999"},
    {"SET", "gcra 3600000000 99999999999999999999 1 0 0 0"},
    {"SET", "gcra 3600000000 1 9007199254740993000 0 0 0"},
    {"SET", "gcra 3600000000 1 1 0 9007199254740992000 0"},
    {"SET",
     "gcra 3600000000 1 9007199254740992 9007199254740992 9007199254740992 9007199254740992"},
    {"SET", "gcra -1 1 1 0 0 0"},
    {"SET", "bucket 1e300 inf nan 0 0 0"},
    {"SET", "approx 0 1 1 1"},
    {"SET", "approx 3600000000 1 1"},
    {"SET", "approx 3600000000 9007199254740992 9007199254740992 9007199254740992"},
    {"SET", "approx 3600000000 1 9223372036854775807 9223372036854775807"},
    {"SET", "a3600000000 1 1 1"},
    {"ZADD", "1", "hello"},
    {"ZADD", "inf", "window:x:1"},
    {"ZADD", "1e300", "concurrency:x:1"},
    {"ZADD", "-inf", "window:x:1"},
    {"SADD", "x"},
    {"HSET", "x", "y"},
    {"RPUSH", "x"},
};

/* Every verb ends with an error or a sensible answer, and never with more than the limit. */
static void try_everything(fixture *f, tkl_limit_algorithm algorithm)
{
    static const char ticket[] = "0123456789abcdef0123456789abcdef";
    tkl_limit *limit = open_plain_limit(f, "api", algorithm, 5);
    tkl_limit_answer answer;
    int rc = tkl_limit_check(limit, tkl_str("alice"), 1, &answer);
    assert_true(rc == TKL_LIMITED || rc == TKL_ETYPE || rc == TKL_EDAMAGED || rc == TKL_OK);
    assert_in_range(answer.remaining, 0, 5);
    if (rc < 0) {
        char *before = server_ask(f->server, "TYPE tackle:limit:{alice}:api");
        assert_code(
            tkl_limit_check_all(&(tkl_limit_item)ITEM(limit, tkl_str("alice"), 1), 1, &answer), rc);
        assert_code(tkl_limit_wait(limit, tkl_str("alice"), 1, 0, &answer), rc);
        assert_true(tkl_limit_refund(limit, tkl_str("alice"), 1, ticket) < 0);
        char *after = server_ask(f->server, "TYPE tackle:limit:{alice}:api");
        assert_string_equal(before, after);
        free(before);
        free(after);
    }
    if (algorithm == TKL_LIMIT_GCRA) {
        tkl_limit_slice *slice;
        assert_ok(tkl_limit_slice_open(limit, tkl_str("alice"), NULL, &slice));
        rc = tkl_limit_slice_check(slice, 1, &answer);
        assert_in_range(answer.remaining, 0, 5);
        tkl_limit_slice_close(slice);
    }
    assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
    assert_ok(limit_take(limit, "alice", 1));
    tkl_limit_close(limit);
}

static void garbage_in_a_key_is_told(void **state)
{
    fixture *f = *state;
    for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++)
        for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
            assert_ok(tkl_callz(f->client, NULL, garbage[g][0], "tackle:limit:{alice}:api",
                                garbage[g][1], garbage[g][2], NULL));
            try_everything(f, limit_algorithms[i]);
            server_do(f->server, "FLUSHALL");
        }
}

static void server_without_memory_refuses(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", limit_algorithms[i], 5);
        assert_ok(limit_take(limit, "alice", 2));
        server_do(f->server, "CONFIG SET maxmemory 1");
        assert_code(limit_take(limit, "alice", 1), TKL_EOOM);
        assert_code(limit_take(limit, "bob", 1), TKL_EOOM);
        server_do(f->server, "CONFIG SET maxmemory 0");
        assert_int_equal(limit_look(limit, "alice").remaining, 3);
        assert_int_equal(limit_look(limit, "bob").remaining, 5);
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        tkl_limit_close(limit);
    }
}

/* A hundred thousand entries that ended together are not removed in one step. */
static void many_ended_entries_are_removed_in_steps(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 100000);
    server_do(f->server, "EVAL %s 1 tackle:limit:{alice}:api",
              "for i = 1, 20 do local words = {} for j = 1, 1000 do "
              "words[#words + 1] = i words[#words + 1] = 'window:' .. i .. ':' .. j end "
              "redis.call('ZADD', KEYS[1], unpack(words)) end");
    for (int i = 1; i <= 3; i++) {
        tkl_limit_answer answer;
        assert_ok(tkl_limit_check(limit, tkl_str("alice"), 1, &answer));
        assert_int_equal(answer.remaining, 100000 - i);
        assert_int_equal(call_int(f->client, "ZCARD", "tackle:limit:{alice}:api", NULL),
                         20000 - 2000 * i + i + 1); /* and the rule */
    }
    tkl_limit *small = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 3);
    tkl_limit_answer answer;
    assert_code(tkl_limit_check(small, tkl_str("alice"), 1, &answer), TKL_LIMITED);
    assert_in_range(answer.retry_after_ms, 3600000 - LONG, 3600000);
    tkl_limit_close(small);
    tkl_limit_close(limit);
}

/* ---- Trouble ------------------------------------------------------------- */

/* The server has executed the request, but its reply is lost. */
static void shorter_period_ends_no_earlier_entry(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_WINDOW, TKL_LIMIT_CONCURRENCY};
    for (int i = 0; i < 2; i++) {
        tkl_limit *hourly = open_plain_limit(f, "api", which[i], 10);
        tkl_limit *quick = open_limit(f->client, "api", (tkl_limit_rule){RULE(which[i], 10, 50)});
        assert_ok(limit_take(hourly, "alice", 5));
        assert_ok(limit_take(quick, "alice", 1));
        assert_true(call_int(f->client, "PTTL", "tackle:limit:{alice}:api", NULL) > 60000);
        eventually(limit_look(hourly, "alice").remaining == 5, LONG);
        assert_ok(tkl_limit_reset(hourly, tkl_str("alice")));
        tkl_limit_close(hourly);
        tkl_limit_close(quick);
    }
}

static void count_of_a_stretch_lives_through_the_next_one(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW_APPROX, 10);
    assert_ok(limit_take(limit, "alice", 1));
    assert_int_equal(
        server_ask_int(
            f->server, "EVAL %s 1 tackle:limit:{alice}:api",
            "local index = string.match(redis.call('GET', KEYS[1]), '^approx %d+ (%d+) ') "
            "return redis.call('PEXPIRETIME', KEYS[1]) - (index + 2) * 3600000 >= 0 and 1 or 0"),
        1);
    tkl_limit_close(limit);
}

/* Quantities counted before this stretch began are given back as well. */
static void refund_reaches_back_into_the_last_stretch(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW_APPROX, 10);
    server_do(f->server, "EVAL %s 1 tackle:limit:{alice}:api",
              "redis.call('SET', KEYS[1], string.format('approx 3600000000 %d 1 4', "
              "math.floor(redis.call('TIME')[1] / 3600)))");
    assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 3, NULL));
    char *kept = call_text(f->client, "GET", "tackle:limit:{alice}:api", NULL);
    assert_string_equal(strrchr(kept, ' ') - 2, " 0 2");
    free(kept);
    tkl_limit_close(limit);
}

static void lost_answers_are_recognised_by_their_ticket(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_WINDOW, TKL_LIMIT_CONCURRENCY, TKL_LIMIT_GCRA};
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    for (int i = 0; i < 3; i++) {
        tkl_limit *limit = open_limit(client, "api", plain_limit(which[i], 1));
        tkl_limit_answer answer;
        assert_ok(limit_take(limit, "bob", 1)); /* the server knows the script from now on */
        proxy_cut_after(p, TO_CLIENT, 0);
        bool ticket = which[i] != TKL_LIMIT_GCRA;
        assert_code(tkl_limit_check(limit, tkl_str("alice"), 1, &answer),
                    ticket ? TKL_OK : TKL_EUNKNOWN);
        assert_int_equal(answer.allowed, ticket);
        assert_int_equal(limit_look(limit, "alice").remaining, 0);
        if (ticket)
            assert_ok(tkl_limit_refund(limit, tkl_str("alice"), 1, answer.ticket));
        tkl_limit_close(limit);
        server_do(f->server, "FLUSHALL");
    }
    tkl_close(client);
    proxy_end(p);
}

static void server_that_is_gone_is_told(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 1000});
    tkl_limit *limit =
        open_limit(client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_BUCKET, 100, 3600000)});
    tkl_limit_slice *slice = open_slice(limit);
    tkl_limit_answer answer;
    assert_ok(limit_take(limit, "alice", 1));
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    server_kill(s);
    assert_true(tkl_limit_check(limit, tkl_str("alice"), 1, &answer) < 0);
    assert_false(answer.allowed);
    assert_true(tkl_limit_wait(limit, tkl_str("alice"), 1, 1000, NULL) < 0);
    assert_true(tkl_limit_check_each(&(tkl_limit_item)ITEM(limit, tkl_str("a"), 1), 1, &answer) <
                0);
    assert_true(tkl_limit_check_all(&(tkl_limit_item)ITEM(limit, tkl_str("a"), 1), 1, &answer) < 0);
    assert_true(tkl_limit_refund(limit, tkl_str("alice"), 1, NULL) < 0);
    assert_true(tkl_limit_reset(limit, tkl_str("alice")) < 0);
    test_sleep_ms(1000);
    assert_true(tkl_limit_slice_check(slice, 1, &answer) < 0);
    assert_false(answer.allowed);
    server_restart(s);
    eventually(limit_take(limit, "alice", 1) == TKL_OK, LONG);
    eventually(tkl_limit_slice_check(slice, 1, NULL) == TKL_OK, LONG);
    tkl_limit_slice_close(slice);
    tkl_limit_slice_close(NULL);
    tkl_limit_close(limit);
    tkl_limit_close(NULL);
    tkl_close(client);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shorter_period_ends_no_earlier_entry),
        TEST(count_of_a_stretch_lives_through_the_next_one),
        TEST(refund_reaches_back_into_the_last_stretch),
        TEST(garbage_in_a_key_is_told),
        TEST(server_without_memory_refuses),
        TEST(many_ended_entries_are_removed_in_steps),
        TEST(lost_answers_are_recognised_by_their_ticket),
        TEST(server_that_is_gone_is_told),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
