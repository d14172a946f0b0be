/* SPDX-License-Identifier: MIT
 *
 * Which limits and which keys were refused lately: the counts, their cost, their life.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/tackle.h>

#include "support/limits.h"
#include "support/timed.h"

static tkl_limit_overview *read_all(tkl_client *client)
{
    tkl_limit_overview *all;
    assert_ok(tkl_limit_overview_get(client, &all));
    return all;
}

static const tkl_limit_refusals *find_limit(const tkl_limit_overview *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].name.len == strlen(name) &&
            memcmp(all->items[i].name.data, name, strlen(name)) == 0)
            return &all->items[i];
    return NULL;
}

static int64_t refused_of(const tkl_limit_refusals *limit, const char *key)
{
    for (size_t i = 0; limit && i < limit->key_count; i++)
        if (limit->keys[i].key.len == strlen(key) &&
            memcmp(limit->keys[i].key.data, key, strlen(key)) == 0)
            return limit->keys[i].refused;
    return 0;
}

/* Takes all of a key, and is then refused `times` times. */
static void be_refused(tkl_limit *limit, const char *key, int64_t most, int times)
{
    assert_ok(tkl_limit_check(limit, tkl_str(key), most, NULL));
    for (int i = 0; i < times; i++)
        assert_code(tkl_limit_check(limit, tkl_str(key), 1, NULL), TKL_LIMITED);
}

static void assert_refused(tkl_client *client, const char *name, int64_t expected)
{
    tkl_limit_overview *all = read_all(client);
    const tkl_limit_refusals *limit = find_limit(all, name);
    assert_int_equal(limit ? limit->refused : 0, expected);
    tkl_limit_overview_free(all);
}

/* ---- Counts -------------------------------------------------------------- */

static void refusals_are_counted_by_limit_and_key(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < LIMIT_ALGORITHMS; i++) {
        tkl_limit *api = open_plain_limit(f, "{api}%", limit_algorithms[i], 3);
        tkl_limit *other = open_plain_limit(f, "other", limit_algorithms[i], 3);
        be_refused(api, "alice", 3, 5);
        be_refused(api, "{b}%", 3, 2);
        assert_ok(tkl_limit_check(other, tkl_str("alice"), 1, NULL));
        tkl_limit_close(other);
        tkl_limit_close(api);
        tkl_limit_overview *all = read_all(f->client);
        assert_int_equal(all->count, 1); /* allowed checks are not counted */
        const tkl_limit_refusals *limit = find_limit(all, "{api}%");
        assert_non_null(limit);
        assert_int_equal(limit->this_hour + limit->last_hour, 7);
        assert_int_equal(limit->refused, 7);
        assert_int_equal(limit->allowed, 0);
        assert_true(limit->last_ms > 0);
        assert_int_equal(limit->key_count, 2);
        assert_int_equal(refused_of(limit, "alice"), 5);
        assert_int_equal(refused_of(limit, "{b}%"), 2);
        tkl_limit_overview_free(all);
        server_do(f->server, "FLUSHALL");
    }
}

static void allowed_checks_are_counted_if_asked_for(void **state)
{
    fixture *f = *state;
    tkl_limit *limit;
    tkl_limit_rule rule = plain_limit(TKL_LIMIT_GCRA, 3);
    tkl_limit_options options = {.counted = true};
    assert_ok(tkl_limit_open(f->client, tkl_str("api"), &rule, &options, &limit));
    be_refused(limit, "alice", 3, 1);
    assert_ok(tkl_limit_check(limit, tkl_str("bob"), 1, NULL));
    tkl_limit_close(limit);
    tkl_limit_overview *all = read_all(f->client);
    assert_int_equal(find_limit(all, "api")->allowed, 2);
    assert_int_equal(find_limit(all, "api")->refused, 1);
    tkl_limit_overview_free(all);
}

/* Every kind of check counts as a refusal; a look does not, nor a wait that succeeds. */
static void every_way_of_checking_counts(void **state)
{
    fixture *f = *state;
    tkl_limit *api = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 1);
    tkl_limit *day = open_plain_limit(f, "day", TKL_LIMIT_GCRA, 100);
    tkl_limit *soon = open_limit(f->client, "soon", (tkl_limit_rule){RULE(TKL_LIMIT_GCRA, 1, 20)});
    tkl_limit_item both[] = {ITEM(api, tkl_str("a"), 1), ITEM(day, tkl_str("a"), 1)};
    tkl_limit_answer answers[2];
    tkl_pipeline *trip;
    tkl_result result;
    assert_ok(tkl_limit_check(api, tkl_str("a"), 1, NULL));
    assert_code(tkl_limit_check(api, tkl_str("a"), 0, NULL), TKL_LIMITED);
    assert_code(tkl_limit_check_all(both, 2, answers), TKL_LIMITED);         /* 1 of api */
    assert_ok(tkl_limit_check_each(both, 2, answers));                       /* 2 */
    assert_code(tkl_limit_wait(api, tkl_str("a"), 1, 0, NULL), TKL_LIMITED); /* 3 */
    assert_ok(tkl_pipeline_open(f->client, NULL, &trip));
    assert_ok(tkl_limit_check_in(trip, api, tkl_str("a"), 1, NULL, &result));
    (void)!tkl_pipeline_run(trip, NULL, NULL); /* 4 */
    tkl_pipeline_close(trip);
    assert_int_equal(result.code, TKL_LIMITED);
    tkl_limit_slice *slice;
    assert_ok(tkl_limit_slice_open(api, tkl_str("a"), NULL, &slice));
    assert_code(tkl_limit_slice_check(slice, 1, NULL), TKL_LIMITED); /* 5 */
    tkl_limit_slice_close(slice);
    assert_ok(tkl_limit_wait(soon, tkl_str("a"), 1, LONG, NULL));
    assert_ok(tkl_limit_wait(soon, tkl_str("a"), 1, LONG, NULL));
    tkl_limit_close(soon);
    tkl_limit_close(day);
    tkl_limit_close(api);
    assert_refused(f->client, "api", 5);
    assert_refused(f->client, "day", 0);
    assert_refused(f->client, "soon", 0);
}

/* ---- Costs --------------------------------------------------------------- */

static void reports_are_rare(void **state)
{
    fixture *f = *state;
    tkl_limit *api = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 1);
    assert_ok(tkl_limit_check(api, tkl_str("bob"), 1, NULL)); /* the functions are there now */
    int64_t before = scripts_run(f), began = test_now_ms();
    be_refused(api, "alice", 1, 1000);
    int64_t reports = scripts_run(f) - before - 1001;
    int64_t seconds = (test_now_ms() - began) / 1000;
    assert_in_range(reports, 1, seconds + 1);
    assert_code(tkl_limit_check(api, tkl_str("alice"), 1, NULL), TKL_LIMITED);
    assert_string_equal(tkl_errmsg(), tkl_strerror(TKL_LIMITED));
    tkl_limit_close(api);
    assert_refused(f->client, "api", 1001);
}

static void forked_child_reports_its_own(void **state)
{
    fixture *f = *state;
    tkl_limit *api = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 1);
    be_refused(api, "alice", 1, 5);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int code = tkl_limit_check(api, tkl_str("alice"), 1, NULL);
        tkl_limit_close(api);
        _exit(code == TKL_LIMITED ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tkl_limit_close(api);
    assert_refused(f->client, "api", 6);
}

/* A user who may check, and may not count. */
static void user_without_permission_goes_on(void **state)
{
    fixture *f = *state;
    assert_ok(tkl_callz(f->client, NULL, "ACL", "SETUSER", "old", "on", "nopass", "~tackle:limit:*",
                        "+@all", "-hincrby", "-hset", NULL));
    tkl_client *client =
        test_open(f->server->url, &(tkl_options){.username = "old", .password = "x"});
    tkl_limit *api = open_limit(client, "api", plain_limit(TKL_LIMIT_GCRA, 1));
    assert_ok(tkl_limit_check(api, tkl_str("bob"), 1, NULL));
    int64_t before = scripts_run(f);
    be_refused(api, "alice", 1, 50);
    tkl_limit_close(api);
    assert_in_range(scripts_run(f) - before, 52, 53); /* one report, tried twice at most */
    assert_refused(f->client, "api", 0);
    tkl_close(client);
}

/* ---- Bounds -------------------------------------------------------------- */

static void tables_are_bounded_and_late_keys_get_in(void **state)
{
    fixture *f = *state;
    for (int handle = 0; handle < 60; handle++) {
        tkl_limit *api = open_plain_limit(f, "api", TKL_LIMIT_GCRA, 1);
        for (int i = 0; i < 20; i++) {
            char key[32];
            snprintf(key, sizeof key, "user%d", handle * 20 + i);
            be_refused(api, key, 1, 2);
        }
        if (handle >= 50) /* late and often */
            for (int i = 0; i < 9; i++)
                (void)!tkl_limit_check(api, tkl_str("late"), 1, NULL);
        tkl_limit_close(api);
    }
    assert_in_range(call_int(f->client, "ZCARD", "tackle:limit:refused:{api}:keys", NULL), 100,
                    200);
    tkl_limit_overview *all = read_all(f->client);
    const tkl_limit_refusals *api = find_limit(all, "api");
    assert_int_equal(api->refused, 60 * 20 * 2 + 10 * 9 - 1);
    assert_int_equal(api->key_count, 10);
    assert_int_equal(refused_of(api, "late"), 10 * 9 - 1);
    assert_memory_equal(api->keys[0].key.data, "late", 4);
    tkl_limit_overview_free(all);
    assert_in_range(call_int(f->client, "PTTL", "tackle:limit:refused:{api}:keys", NULL), 1,
                    2 * HOUR_MS);
    assert_in_range(call_int(f->client, "PTTL", "tackle:limit:refused:{api}", NULL), 1,
                    24 * HOUR_MS);
}

static void hours_turn_by_the_servers_clock(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    timed_set(t, timed_hour(timed_now(t)) + HOUR_MS + 1000);
    static const int64_t expected[][4] = {/* this hour, last, in all, of alice */
                                          {3, 0, 3, 3},
                                          {3, 3, 6, 6},
                                          {3, 0, 9, 3}};
    static const int64_t shifts[] = {0, HOUR_MS, 3 * HOUR_MS};
    for (int i = 0; i < 3; i++) {
        timed_shift(t, shifts[i]);
        tkl_limit *api = open_limit(client, "api", plain_limit(TKL_LIMIT_GCRA, 1));
        (void)!tkl_limit_reset(api, tkl_str("alice"));
        be_refused(api, "alice", 1, 3);
        tkl_limit_close(api);
        tkl_limit_overview *all = read_all(client);
        const tkl_limit_refusals *limit = find_limit(all, "api");
        assert_non_null(limit);
        assert_int_equal(limit->this_hour, expected[i][0]);
        assert_int_equal(limit->last_hour, expected[i][1]);
        assert_int_equal(limit->refused, expected[i][2]);
        assert_int_equal(refused_of(limit, "alice"), expected[i][3]);
        tkl_limit_overview_free(all);
    }
    timed_shift(t, HOUR_MS); /* read without a report in between */
    tkl_limit_overview *all = read_all(client);
    assert_int_equal(find_limit(all, "api")->this_hour, 0);
    assert_int_equal(find_limit(all, "api")->last_hour, 3);
    tkl_limit_overview_free(all);
    tkl_close(client);
    timed_end(t);
}

static void damaged_counts_hide_no_others(void **state)
{
    fixture *f = *state;
    tkl_limit *a = open_plain_limit(f, "a", TKL_LIMIT_GCRA, 1);
    tkl_limit *b = open_plain_limit(f, "b", TKL_LIMIT_GCRA, 1);
    setenv("TACKLE_REGISTER", "yes", 1);
    tkl_client *reader = test_open(f->server->url, NULL);
    setenv("TACKLE_REGISTER", "no", 1);
    server_do(f->server, "ZADD tackle:limit:used:names 9e15 a 9e15 b");
    server_do(f->server, "HSET tackle:limit:refused:{a} hour x refused -5 total 1e300 last z");
    server_do(f->server, "SET tackle:limit:refused:{b} x");
    be_refused(a, "alice", 1, 2);
    be_refused(b, "alice", 1, 2);
    tkl_limit_close(a);
    tkl_limit_close(b);
    tkl_limit_overview *all = read_all(reader);
    const tkl_limit_refusals *found = find_limit(all, "b");
    assert_non_null(found);
    assert_true(found->code < 0);
    tkl_limit_overview_free(all);
    tkl_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refusals_are_counted_by_limit_and_key),
        TEST(allowed_checks_are_counted_if_asked_for),
        TEST(every_way_of_checking_counts),
        TEST(reports_are_rare),
        TEST(forked_child_reports_its_own),
        TEST(user_without_permission_goes_on),
        TEST(tables_are_bounded_and_late_keys_get_in),
        cmocka_unit_test(hours_turn_by_the_servers_clock),
        TEST(damaged_counts_hide_no_others),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
