/* SPDX-License-Identifier: MIT
 *
 * Limits as operators see them: names, keys, usage; and denied checks that count.
 */
#include "support/limits.h"

enum { MINUTE_MS = 60000, HOUR_MS = 3600000 };

static tkl_limit_usage show(fixture *f, const char *name, const char *key)
{
    tkl_limit_usage *found, usage;
    assert_ok(tkl_limit_show(f->client, tkl_str(name), tkl_str(key), &found));
    usage = *found;
    tkl_limit_usage_free(found);
    return usage;
}

static int try_show(fixture *f, const char *name, const char *key)
{
    tkl_limit_usage *usage;
    int rc = tkl_limit_show(f->client, tkl_str(name), tkl_str(key), &usage);
    assert_true(rc == TKL_OK || usage == NULL);
    tkl_limit_usage_free(usage);
    return rc;
}

static void every_algorithm_is_shown_with_its_rule(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        bool has_burst = limit_algorithms[i] <= TKL_LIMIT_BUCKET;
        tkl_limit_rule rule = {RULE(limit_algorithms[i], 30, HOUR_MS), .burst = has_burst ? 5 : 0};
        tkl_limit *limit = open_limit(f->client, "api", rule);
        int64_t most = limit_look(limit, "alice").limit;
        tkl_limit_usage usage;
        assert_code(try_show(f, "api", "alice"), TKL_NOTFOUND);
        assert_ok(limit_take(limit, "alice", 3));
        usage = show(f, "api", "alice");
        assert_int_equal(usage.rule.algorithm, limit_algorithms[i]);
        assert_int_equal(usage.rule.count, 30);
        assert_int_equal(usage.rule.period_ms, HOUR_MS);
        assert_int_equal(usage.rule.burst, rule.burst);
        assert_int_equal(usage.limit, most);
        assert_int_equal(usage.taken, 3);
        assert_int_equal(usage.remaining, most - 3);
        assert_int_equal(usage.next_after_ms, 0);
        assert_in_range(usage.reset_after_ms, 1, 2 * HOUR_MS);
        assert_ok(limit_take(limit, "alice", most - 3));
        usage = show(f, "api", "alice");
        assert_int_equal(usage.taken, most);
        assert_int_equal(usage.remaining, 0);
        assert_in_range(usage.next_after_ms, 1, 2 * HOUR_MS);
        assert_ok(tkl_limit_reset(limit, tkl_str("alice")));
        tkl_limit_close(limit);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

static void usage_without_burst_and_with_a_new_rule(void **state)
{
    fixture *f = *state;
    tkl_limit *one = open_limit(
        f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 7, HOUR_MS), .burst = TKL_NONE});
    assert_ok(limit_take(one, "alice", 1));
    assert_int_equal(show(f, "api", "alice").rule.burst, TKL_NONE);
    tkl_limit_close(one);
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        const char *name = tkl_limit_algorithm_name(limit_algorithms[i]);
        tkl_limit *old = open_plain_limit(f, name, limit_algorithms[i], 5);
        tkl_limit *new = open_plain_limit(f, name, limit_algorithms[i], 9);
        assert_ok(limit_take(old, "bob", 2));
        assert_ok(limit_take(new, "bob", 1));
        assert_int_equal(show(f, name, "bob").limit, 9);
        tkl_limit_close(old);
        tkl_limit_close(new);
    }
}

/* Giving back all of it leaves no key, and giving back a part keeps the rule. */
static void refunds_keep_the_rule(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", limit_algorithms[i], 5);
        tkl_limit_answer answer;
        assert_ok(tkl_limit_check(limit, tkl_str("carol"), 3, &answer));
        assert_ok(tkl_limit_refund(limit, tkl_str("carol"), 1, answer.ticket));
        assert_int_equal(show(f, "api", "carol").limit, 5);
        assert_int_equal(show(f, "api", "carol").taken, 2);
        assert_ok(tkl_limit_refund(limit, tkl_str("carol"), 2, answer.ticket));
        assert_code(try_show(f, "api", "carol"), TKL_NOTFOUND);
        tkl_limit_close(limit);
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
}

static void slices_are_shown_as_taken(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_limit(
        f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_BUCKET, 1, HOUR_MS), .burst = 1000});
    tkl_limit_slice *slice = open_slice(limit);
    assert_ok(tkl_limit_slice_check(slice, 1, NULL));
    tkl_limit_usage usage = show(f, "api", "hot");
    assert_int_equal(usage.rule.burst, 1000);
    assert_in_range(usage.taken, 1, 1000);
    assert_int_equal(usage.taken + usage.remaining, 1000);
    tkl_limit_slice_close(slice);
    assert_int_equal(show(f, "api", "hot").taken, 1);
    tkl_limit_close(limit);
}

/* Versions before the rule was stored wrote these; the next check adds the rule. */
static void states_without_a_rule_are_understood(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 5);
    server_do(f->server, "ZADD tackle:limit:{dan}:api 9000000000000000 window:abc:1");
    tkl_limit_usage usage = show(f, "api", "dan");
    assert_int_equal(usage.rule.algorithm, TKL_LIMIT_WINDOW);
    assert_int_equal(usage.rule.count, 0);
    assert_int_equal(usage.taken, 0);
    assert_ok(limit_take(limit, "dan", 1));
    usage = show(f, "api", "dan");
    assert_int_equal(usage.rule.count, 5);
    assert_int_equal(usage.taken, 2);
    tkl_limit_close(limit);
}

static void what_others_wrote_is_told(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *command, *value, *more;
        int code;
    } rows[] = {
        {"SET", "hello", NULL, TKL_EDAMAGED},
        {"SET", "", NULL, TKL_EDAMAGED},
        {"SET", "gcra 1 1 1 / 0 0 0", NULL, TKL_EDAMAGED},
        {"SET", "gcra x / 1 1 1", NULL, TKL_EDAMAGED},
        {"SET", "approx 1 1 1 1 / 1 99999999999999999999 1", NULL, TKL_EDAMAGED},
        {"ZADD", "1", "hello", TKL_EDAMAGED},
        {"HSET", "a", "b", TKL_ETYPE},
        {"RPUSH", "a", NULL, TKL_ETYPE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(tkl_callz(f->client, NULL, rows[i].command, "tackle:limit:{x}:api", rows[i].value,
                            rows[i].more, NULL));
        assert_code(try_show(f, "api", "x"), rows[i].code);
        server_do(f->server, "DEL tackle:limit:{x}:api");
    }
    assert_code(try_show(f, "", "x"), TKL_EINVAL);
    assert_code(try_show(f, "api", ""), TKL_EINVAL);
    tkl_names *names = NULL;
    assert_code(tkl_limit_keys(f->client, tkl_str(""), &names), TKL_EINVAL);
    assert_null(names);
}

static void names_and_keys_in_use_are_listed(void **state)
{
    fixture *f = *state;
    static const tkl_bytes odd = {"a}:{b%\0\xff", 8};
    tkl_limit *api = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 5), *strange;
    tkl_limit_rule rule = plain_limit(TKL_LIMIT_WINDOW, 5);
    assert_ok(tkl_limit_open(f->client, odd, &rule, NULL, &strange));
    tkl_names *names;
    assert_ok(tkl_limit_names(f->client, &names));
    assert_int_equal(names->count, 0);
    tkl_names_free(names);
    assert_ok(limit_take(api, "bob", 1));
    assert_ok(limit_take(api, "alice", 1));
    assert_ok(tkl_limit_check(strange, odd, 1, NULL));
    assert_ok(tkl_limit_names(f->client, &names));
    assert_int_equal(names->count, 2);
    assert_memory_equal(names->items[0].data, "api", 3);
    assert_int_equal(names->items[1].len, odd.len);
    assert_memory_equal(names->items[1].data, odd.data, odd.len);
    tkl_names_free(names);
    assert_ok(tkl_limit_keys(f->client, tkl_str("api"), &names));
    assert_int_equal(names->count, 2);
    assert_memory_equal(names->items[0].data, "alice", 5);
    tkl_names_free(names);
    assert_ok(tkl_limit_keys(f->client, odd, &names));
    assert_int_equal(names->count, 1);
    assert_int_equal(names->items[0].len, odd.len);
    tkl_names_free(names);
    assert_ok(tkl_limit_keys(f->client, tkl_str("nosuch"), &names));
    assert_int_equal(names->count, 0);
    tkl_names_free(names);
    tkl_limit_close(api);
    tkl_limit_close(strange);
}

static void full_server_still_shows(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 5);
    assert_ok(limit_take(limit, "alice", 2));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_int_equal(show(f, "api", "alice").taken, 2);
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_limit_close(limit);
}

/* ---- Denied checks that count --------------------------------------------- */

/* Denied checks count: a caller that goes on asking does not come nearer to its turn. */
static void denied_checks_count(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS - 1; i++) {
        tkl_limit_rule rule = plain_limit(limit_algorithms[i], 3);
        rule.count_denied = true;
        tkl_limit *limit = open_limit(f->client, "login", rule);
        tkl_limit_answer answer;
        assert_ok(limit_take(limit, "eve", 2));
        assert_code(tkl_limit_check(limit, tkl_str("eve"), 2, &answer), TKL_LIMITED);
        assert_int_equal(answer.remaining, 0); /* one had remained */
        assert_true(answer.retry_after_ms > 0);
        assert_string_equal(answer.ticket, "");
        for (int n = 0; n < 20; n++)
            assert_code(limit_take(limit, "eve", 3), TKL_LIMITED);
        tkl_limit_usage usage = show(f, "login", "eve");
        assert_int_equal(usage.taken, 3); /* never more than the limit */
        assert_code(limit_take(limit, "ann", 4), TKL_LIMITED);
        assert_int_equal(limit_look(limit, "ann").remaining, 3); /* never fits: not counted */
        assert_code(tkl_limit_wait(limit, tkl_str("eve"), 1, 0, &answer), TKL_LIMITED);
        tkl_limit_close(limit);
        server_do(f->server, "FLUSHALL");
    }
}

/* A wait asks again when it is told to, and its denials do not count. */
static void denials_of_a_wait_do_not_count(void **state)
{
    fixture *f = *state;
    tkl_limit_rule rule = {RULE(TKL_LIMIT_WINDOW, 2, HOUR_MS), .count_denied = true};
    tkl_limit *limit = open_limit(f->client, "login", rule);
    assert_ok(limit_take(limit, "eve", 1));
    assert_code(tkl_limit_wait(limit, tkl_str("eve"), 2, 0, NULL), TKL_LIMITED);
    assert_int_equal(limit_look(limit, "eve").remaining, 1);
    tkl_limit_close(limit);
}

/* Each of several limits that are checked as one counts by itself. */
static void denied_bundle_counts_where_the_rule_says_so(void **state)
{
    fixture *f = *state;
    tkl_limit_rule counting = plain_limit(TKL_LIMIT_WINDOW, 3);
    counting.count_denied = true;
    tkl_limit_answer answers[2];
    tkl_limit *plain = open_plain_limit(f, "plain", TKL_LIMIT_GCRA, 1);
    tkl_limit *strict = open_limit(f->client, "strict", counting);
    const tkl_limit_item items[] = {ITEM(plain, tkl_str("eve"), 1),
                                    ITEM(strict, tkl_str("eve"), 1)};
    assert_ok(tkl_limit_check_all(items, 2, answers));
    assert_code(tkl_limit_check_all(items, 2, answers), TKL_LIMITED);
    assert_int_equal(limit_look(strict, "eve").remaining, 1);
    assert_int_equal(answers[1].remaining, 1);
    assert_code(tkl_limit_check_all(items, 2, answers), TKL_LIMITED);
    assert_int_equal(limit_look(strict, "eve").remaining, 0);
    tkl_limit_close(plain);
    tkl_limit_close(strict);
}

static void denied_is_refused_where_it_makes_no_sense(void **state)
{
    fixture *f = *state;
    tkl_limit *limit;
    tkl_limit_slice *slice;
    tkl_limit_rule rule = {RULE(TKL_LIMIT_CONCURRENCY, 2, MINUTE_MS), .count_denied = true};
    assert_code(tkl_limit_open(f->client, tkl_str("x"), &rule, NULL, &limit), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "held");
    rule.algorithm = TKL_LIMIT_GCRA;
    assert_ok(tkl_limit_open(f->client, tkl_str("x"), &rule, NULL, &limit));
    assert_code(tkl_limit_slice_open(limit, tkl_str("k"), NULL, &slice), TKL_EINVAL);
    tkl_limit_close(limit);
}

/* ---- Takes and their times ----------------------------------------------- */

static int64_t server_ms(fixture *f)
{
    return call_int(f->client, "EVAL", "local t = redis.call('TIME') return t[1] * 1000", "0",
                    NULL);
}

static void a_window_tells_what_was_taken_when(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        tkl_limit_algorithm kind = i == 0 ? TKL_LIMIT_WINDOW : TKL_LIMIT_CONCURRENCY;
        tkl_limit *limit = open_limit(f->client, "api", (tkl_limit_rule){RULE(kind, 30, HOUR_MS)});
        tkl_limit_usage *usage;
        tkl_limit_answer first, answer;
        int64_t before = server_ms(f);
        assert_ok(tkl_limit_check(limit, tkl_str("ann"), 3, &first));
        test_sleep_ms(5); /* another millisecond, so that their order is clear */
        assert_ok(tkl_limit_check(limit, tkl_str("ann"), 12, &answer));
        assert_ok(tkl_limit_refund(limit, tkl_str("ann"), 1, first.ticket));
        int64_t after = server_ms(f) + 1000;
        assert_ok(tkl_limit_show(f->client, tkl_str("api"), tkl_str("ann"), &usage));
        assert_int_equal(usage->take_count, 2);
        assert_int_equal(usage->takes[0].quantity, 12);
        assert_int_equal(usage->takes[1].quantity, 2);
        assert_false(usage->takes[0].denied);
        assert_in_range(usage->takes[1].at_ms, before, after);
        assert_in_range(usage->takes[0].at_ms, usage->takes[1].at_ms + 1, after);
        assert_int_equal(usage->last_ms, usage->takes[0].at_ms);
        tkl_limit_usage_free(usage);
        assert_ok(tkl_limit_reset(limit, tkl_str("ann")));
        tkl_limit_close(limit);
    }
}

static void denied_takes_are_marked(void **state)
{
    fixture *f = *state;
    tkl_limit_rule rule = {RULE(TKL_LIMIT_WINDOW, 2, HOUR_MS), .count_denied = true};
    tkl_limit *limit = open_limit(f->client, "login", rule);
    tkl_limit_usage *usage;
    assert_ok(limit_take(limit, "eve", 2));
    test_sleep_ms(5);
    assert_code(limit_take(limit, "eve", 1), TKL_LIMITED);
    assert_ok(tkl_limit_show(f->client, tkl_str("login"), tkl_str("eve"), &usage));
    assert_int_equal(usage->take_count, 2);
    assert_true(usage->takes[0].denied);
    assert_false(usage->takes[1].denied);
    assert_int_equal(usage->takes[1].quantity, 1); /* the denied one has pushed one out */
    tkl_limit_usage_free(usage);
    tkl_limit_close(limit);
}

static void the_newest_of_many_takes_are_told(void **state)
{
    fixture *f = *state;
    tkl_limit *limit =
        open_limit(f->client, "api", (tkl_limit_rule){RULE(TKL_LIMIT_WINDOW, 10000, HOUR_MS)});
    tkl_limit_usage *usage;
    for (int i = 0; i < 150; i++)
        assert_ok(limit_take(limit, "many", 1));
    assert_ok(tkl_limit_show(f->client, tkl_str("api"), tkl_str("many"), &usage));
    assert_int_equal(usage->taken, 150);
    assert_int_equal(usage->take_count, 100);
    tkl_limit_usage_free(usage);
    /* Not all entries of the third one are looked at: it is left out. */
    for (int i = 0; i < 3; i++)
        assert_ok(limit_take(limit, "large", 900));
    assert_ok(tkl_limit_show(f->client, tkl_str("api"), tkl_str("large"), &usage));
    assert_int_equal(usage->taken, 2700);
    assert_int_equal(usage->take_count, 2);
    assert_int_equal(usage->takes[0].quantity, 900);
    assert_int_equal(usage->takes[1].quantity, 900);
    tkl_limit_usage_free(usage);
    tkl_limit_close(limit);
}

static void others_tell_when_something_was_last_counted(void **state)
{
    fixture *f = *state;
    static const tkl_limit_algorithm kinds[] = {TKL_LIMIT_GCRA, TKL_LIMIT_BUCKET,
                                                TKL_LIMIT_WINDOW_APPROX};
    for (size_t i = 0; i < 3; i++) {
        tkl_limit *limit = open_plain_limit(f, "api", kinds[i], 5);
        int64_t before = server_ms(f);
        assert_ok(limit_take(limit, "dan", 1));
        tkl_limit_usage usage = show(f, "api", "dan");
        if (kinds[i] == TKL_LIMIT_WINDOW_APPROX)
            assert_int_equal(usage.last_ms, 0);
        else
            assert_in_range(usage.last_ms, before, server_ms(f) + 1000);
        assert_int_equal(usage.take_count, 0);
        assert_ok(tkl_limit_reset(limit, tkl_str("dan")));
        tkl_limit_close(limit);
    }
}

/* A user who only reads sees it, although entries have ended. */
static void showing_writes_nothing(void **state)
{
    fixture *f = *state;
    tkl_limit *limit = open_plain_limit(f, "api", TKL_LIMIT_WINDOW, 5);
    assert_ok(limit_take(limit, "ann", 2));
    server_do(f->server, "ZADD tackle:limit:{ann}:api 1 window:old:1 2 window:old:2");
    assert_int_equal(show(f, "api", "ann").taken, 2); /* the function is on the server now */
    server_do(f->server,
              "ACL SETUSER reader on >secret ~tackle:* +@read +fcall +fcall_ro +time +ping "
              "+client|setname");
    char *url = test_format("unix://reader:secret@%s", f->server->socket);
    tkl_client *client = test_open(url, NULL);
    tkl_limit_usage *usage;
    assert_ok(tkl_limit_show(client, tkl_str("api"), tkl_str("ann"), &usage));
    assert_int_equal(usage->taken, 2);
    assert_int_equal(usage->remaining, 3);
    assert_int_equal(usage->take_count, 1);
    tkl_limit_usage_free(usage);
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:limit:{ann}:api", NULL), 5);
    tkl_close(client);
    free(url);
    server_do(f->server, "ACL DELUSER reader");
    tkl_limit_close(limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_algorithm_is_shown_with_its_rule),
        TEST(usage_without_burst_and_with_a_new_rule),
        TEST(refunds_keep_the_rule),
        TEST(slices_are_shown_as_taken),
        TEST(states_without_a_rule_are_understood),
        TEST(what_others_wrote_is_told),
        TEST(names_and_keys_in_use_are_listed),
        TEST(full_server_still_shows),
        TEST(a_window_tells_what_was_taken_when),
        TEST(denied_takes_are_marked),
        TEST(the_newest_of_many_takes_are_told),
        TEST(others_tell_when_something_was_last_counted),
        TEST(showing_writes_nothing),
        TEST(denied_checks_count),
        TEST(denials_of_a_wait_do_not_count),
        TEST(denied_bundle_counts_where_the_rule_says_so),
        TEST(denied_is_refused_where_it_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
