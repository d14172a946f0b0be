/* SPDX-License-Identifier: MIT
 *
 * The local copy of a cache: hits without a round trip, and values that the servers invalidate.
 *
 * ctest: label threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/cache.h>

#include "core/client.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/permissions.h"
#include "support/process.h"
#include "support/proxy.h"

#define SOON 20000 /* ms */

static tkl_cache *open_local(tkl_client *client, int64_t bytes)
{
    tkl_cache *cache;
    tkl_cache_options options = {.ttl_ms = 600000, .local_bytes = bytes};
    assert_ok(tkl_cache_open(client, &options, &cache));
    return cache;
}

static tkl_cache_local_stats stats_of(tkl_cache *cache)
{
    tkl_cache_local_stats stats;
    assert_ok(tkl_cache_local_stats_get(cache, &stats));
    return stats;
}

static void set_value(tkl_cache *cache, const char *key, const char *value)
{
    tkl_bytes data = tkl_str(value);
    assert_ok(tkl_cache_set(cache, tkl_str(key), &data));
}

/* Whether the cache has this value; NULL: none. */
static bool has_value(tkl_cache *cache, const char *key, const char *expected)
{
    tkl_cache_value *value;
    int rc = tkl_cache_get(cache, tkl_str(key), &value);
    bool same = expected ? rc == TKL_OK && value->data.len == strlen(expected) &&
                               memcmp(value->data.data, expected, value->data.len) == 0
                         : rc == TKL_NOTFOUND;
    tkl_cache_value_free(value);
    return same;
}

/* Reads until a value comes from the copy. */
static bool is_hit(tkl_cache *cache, const char *key, const char *expected)
{
    int64_t before = stats_of(cache).hits;
    return has_value(cache, key, expected) && stats_of(cache).hits == before + 1;
}

/* ---- Hits ---------------------------------------------------------------- */

static int compute_never(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    (void)key;
    (void)result;
    (void)arg;
    return TKL_EIO;
}

static void a_hit_asks_no_server(void **state)
{
    fixture *f = *state;
    tkl_cache *cache = open_local(f->client, 1000000);
    tkl_cache_value *value;
    set_value(cache, "a{b}%c", "1");
    assert_ok(tkl_cache_set(cache, tkl_str("none"), NULL));
    eventually(is_hit(cache, "a{b}%c", "1"), SOON);
    has_value(cache, "none", "");
    int64_t calls = server_calls(f->server, "fcall_ro");
    for (int i = 0; i < 1000; i++) {
        assert_ok(tkl_cache_fetch(cache, tkl_str("a{b}%c"), compute_never, NULL, 0, &value));
        assert_in_range(value->fresh_ms, 500000, 600000);
        assert_false(value->none || value->stale || value->computed);
        tkl_cache_value_free(value);
    }
    assert_ok(tkl_cache_get(cache, tkl_str("none"), &value));
    assert_true(value->none);
    tkl_cache_value_free(value);
    assert_int_equal(server_calls(f->server, "fcall_ro"), calls);
    tkl_cache_close(cache);
}

static void a_copy_without_news_sleeps(void **state)
{
    fixture *f = *state;
    long without = process_sleeps_in_a_second();
    tkl_cache *cache = open_local(f->client, 1000000);
    set_value(cache, "k", "1");
    eventually(is_hit(cache, "k", "1"), SOON);
    assert_in_range(process_sleeps_in_a_second(), 1, without + 9);
    tkl_cache_close(cache);
}

static void a_value_outlives_its_copy(void **state)
{
    fixture *f = *state;
    tkl_cache *cache = open_local(f->client, 1000000);
    tkl_cache_value *value;
    set_value(cache, "k", "1");
    eventually(is_hit(cache, "k", "1"), SOON);
    assert_ok(tkl_cache_get(cache, tkl_str("k"), &value));
    assert_ok(tkl_cache_drop(cache, tkl_str("k")));
    tkl_cache_close(cache);
    assert_memory_equal(value->data.data, "1", 2);
    tkl_cache_value_free(value);
}

static void an_expired_value_is_no_hit(void **state)
{
    fixture *f = *state;
    tkl_cache *cache;
    tkl_cache_options options = {.ttl_ms = 300, .stale_ms = TKL_NONE, .local_bytes = 1000000};
    assert_ok(tkl_cache_open(f->client, &options, &cache));
    set_value(cache, "warm", "1");
    eventually(stats_of(cache).live || !has_value(cache, "warm", "?"), SOON);
    set_value(cache, "k", "1");
    has_value(cache, "k", "1");
    test_sleep_ms(320);
    assert_true(has_value(cache, "k", NULL));
    tkl_cache_close(cache);
}

static void the_copy_is_bounded(void **state)
{
    fixture *f = *state;
    tkl_cache *cache = open_local(f->client, 100000);
    char key[16], large[60000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    set_value(cache, "hot", "1");
    eventually(is_hit(cache, "hot", "1"), SOON);
    for (int i = 0; i < 4000; i++) { /* messages about changes may still come in the first half */
        snprintf(key, sizeof key, "key%d", i % 2000);
        if (i < 2000)
            set_value(cache, key, key);
        assert_true(has_value(cache, key, key));
        assert_true(has_value(cache, "hot", "1")); /* in use: it stays */
        assert_true(stats_of(cache).bytes <= 100000);
    }
    eventually(is_hit(cache, key, key), SOON);
    assert_in_range(stats_of(cache).entries, 100, 1000);
    int64_t before = stats_of(cache).hits;
    assert_true(has_value(cache, "hot", "1"));
    assert_int_equal(stats_of(cache).hits, before + 1);
    set_value(cache, "large", large); /* more than half of it is not kept */
    assert_true(has_value(cache, "large", large) && has_value(cache, "large", large));
    assert_int_equal(stats_of(cache).hits, before + 1);
    assert_true(stats_of(cache).bytes <= 100000);
    tkl_cache_close(cache);
}

/* ---- Changes ------------------------------------------------------------- */

static void own_changes_are_seen_at_once(void **state)
{
    fixture *f = *state;
    tkl_bytes tag = tkl_str("t");
    tkl_cache *cache;
    tkl_cache_options options = {.local_bytes = 1000000, .tags = &tag, .tag_count = 1};
    char text[16];
    assert_ok(tkl_cache_open(f->client, &options, &cache));
    set_value(cache, "k", "0");
    eventually(is_hit(cache, "k", "0"), SOON);
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "%d", i);
        set_value(cache, "k", text);
        assert_true(has_value(cache, "k", text));
        assert_true(has_value(cache, "k", text));
        if (i % 3 == 0)
            assert_ok(tkl_cache_drop(cache, tkl_str("k")));
        else if (i % 3 == 1)
            assert_ok(tkl_cache_drop_tag(cache, tag, NULL));
        assert_true(has_value(cache, "k", i % 3 == 2 ? text : NULL));
    }
    tkl_cache_close(cache);
}

static void changes_of_others_are_heard(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_cache *cache = open_local(f->client, 1000000), *theirs;
    char text[16];
    assert_ok(tkl_cache_open(other, NULL, &theirs));
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "%d", i);
        set_value(theirs, "k", text);
        eventually(is_hit(cache, "k", text), SOON);
    }
    assert_ok(tkl_cache_drop(theirs, tkl_str("k")));
    eventually(has_value(cache, "k", NULL), SOON);
    set_value(theirs, "k", "again");
    eventually(is_hit(cache, "k", "again"), SOON);
    server_do(f->server, "FLUSHALL");
    eventually(has_value(cache, "k", NULL), SOON);
    set_value(theirs, "k", "more");
    eventually(is_hit(cache, "k", "more"), SOON);
    server_do(f->server, "PEXPIRE tackle:cache:{k} 1");
    eventually(has_value(cache, "k", NULL), SOON);
    tkl_cache_close(theirs);
    tkl_cache_close(cache);
    tkl_close(other);
}

typedef struct race {
    tkl_cache *cache, *theirs;
    atomic_bool over;
    _Atomic int backwards, reads;
} race;

/* One thread writes rising numbers; the others never read a smaller one. */
static void read_or_write(void *arg, int index)
{
    race *r = arg;
    char text[16];
    long last = 0;
    for (int i = 1; index == 0 && i <= 3000; i++) {
        snprintf(text, sizeof text, "%d", i);
        set_value(r->theirs, "k", text);
    }
    while (index > 0 && !r->over) {
        tkl_cache_value *value;
        if (tkl_cache_get(r->cache, tkl_str("k"), &value) == TKL_OK) {
            long number = strtol(value->data.data, NULL, 10);
            r->backwards += number < last;
            r->reads++;
            last = number;
        }
        tkl_cache_value_free(value);
    }
    if (index == 0)
        r->over = true;
}

static void no_thread_sees_an_older_value_after_a_newer_one(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    race r = {.cache = open_local(f->client, 1000000)};
    assert_ok(tkl_cache_open(other, NULL, &r.theirs));
    set_value(r.theirs, "k", "0");
    eventually(is_hit(r.cache, "k", "0"), SOON);
    crew_run(5, read_or_write, &r);
    assert_int_equal(r.backwards, 0);
    assert_true(r.reads > 0);
    eventually(is_hit(r.cache, "k", "3000"), SOON);
    tkl_cache_close(r.theirs);
    tkl_cache_close(r.cache);
    tkl_close(other);
}

/* ---- Trouble ------------------------------------------------------------- */

static void a_lost_connection_drops_the_copy(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_cache *cache = open_local(client, 1000000), *theirs;
    char text[16];
    assert_ok(tkl_cache_open(other, NULL, &theirs));
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "%d", i);
        set_value(theirs, "k", text);
        eventually(is_hit(cache, "k", text), SOON);
        proxy_refuse(between, true);
        proxy_cut(between);
        eventually(!stats_of(cache).live && stats_of(cache).entries == 0, SOON);
        set_value(theirs, "k", "unheard");
        proxy_refuse(between, false);
        eventually(is_hit(cache, "k", "unheard"), SOON);
    }
    tkl_cache_close(theirs);
    tkl_cache_close(cache);
    tkl_close(other);
    tkl_close(client);
    proxy_end(between);
}

static void a_server_that_hangs_is_noticed(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    client->heartbeat_us = 200000;
    tkl_cache *cache = open_local(client, 1000000);
    set_value(cache, "k", "1");
    eventually(is_hit(cache, "k", "1"), SOON);
    proxy_hold(between, TO_CLIENT, true);
    eventually(!stats_of(cache).live && stats_of(cache).entries == 0, SOON);
    proxy_hold(between, TO_CLIENT, false);
    eventually(is_hit(cache, "k", "1"), SOON);
    tkl_cache_close(cache);
    tkl_close(client);
    proxy_end(between);
}

static void a_restarted_server_is_heard_again(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_cache *cache = open_local(client, 1000000);
    set_value(cache, "k", "1");
    eventually(is_hit(cache, "k", "1"), SOON);
    server_kill(s);
    eventually(!stats_of(cache).live && stats_of(cache).entries == 0, SOON);
    server_restart(s);
    set_value(cache, "k", "2");
    eventually(is_hit(cache, "k", "2"), SOON);
    tkl_cache_close(cache);
    tkl_close(client);
    server_end(s);
}

static void a_forked_child_has_a_copy_of_its_own(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_cache *cache = open_local(f->client, 1000000);
    int status;
    set_value(cache, "k", "1");
    eventually(is_hit(cache, "k", "1"), SOON);
    pid_t child = fork();
    if (child == 0) {
        bool empty = stats_of(cache).entries == 0;
        set_value(cache, "k", "2");
        int64_t until = test_now_ms() + SOON;
        while (!is_hit(cache, "k", "2") && test_now_ms() < until)
            test_sleep_ms(2);
        bool hit = is_hit(cache, "k", "2");
        tkl_cache_close(cache);
        _exit(empty && hit ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    eventually(is_hit(cache, "k", "2"), SOON); /* the parent's still hears */
    child = fork();
    if (child == 0) {
        tkl_cache_close(cache); /* unused */
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(is_hit(cache, "k", "2"));
    tkl_cache_close(cache);
}

static void without_permission_values_come_from_the_server(void **state)
{
    fixture *f = *state;
    server_do(f->server, "ACL SETUSER deaf on >pw ~* +@all -client|tracking");
    tkl_options options = {.username = "deaf", .password = "pw"};
    tkl_client *client = test_open(f->server->url, &options);
    tkl_cache *cache = open_local(client, 1000000);
    set_value(cache, "k", "1");
    for (int i = 0; i < 50; i++)
        assert_true(has_value(cache, "k", "1"));
    assert_false(stats_of(cache).live);
    assert_int_equal(stats_of(cache).hits, 0);
    test_sleep_ms(300); /* it asks for the permission again later, not now */
    char *calls = server_ask(f->server, "INFO commandstats");
    const char *tracking = strstr(calls, "cmdstat_client|tracking:");
    assert_non_null(tracking);
    const char *rejected = strstr(tracking, "rejected_calls=");
    assert_non_null(rejected);
    assert_in_range(atoi(rejected + strlen("rejected_calls=")), 1, 2);
    free(calls);
    tkl_cache_close(cache);
    tkl_close(client);
    server_do(f->server, "ACL DELUSER deaf");
}

static void the_documented_permissions_suffice(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "cache.md");
    tkl_cache *cache = open_local(client, 1000000);
    set_value(cache, "k", "1");
    eventually(is_hit(cache, "k", "1"), SOON);
    tkl_cache_close(cache);
    tkl_close(client);
}

static void wrong_options_are_refused(void **state)
{
    fixture *f = *state;
    tkl_cache *cache;
    tkl_cache_local_stats stats;
    tkl_cache_options negative = {.local_bytes = -1};
    assert_code(tkl_cache_open(f->client, &negative, &cache), TKL_EINVAL);
    assert_ok(tkl_cache_open(f->client, NULL, &cache));
    assert_code(tkl_cache_local_stats_get(cache, &stats), TKL_EINVAL);
    tkl_cache_close(cache);
    cache = open_local(f->client, 1); /* holds nothing, and works */
    set_value(cache, "k", "1");
    assert_true(has_value(cache, "k", "1"));
    assert_int_equal(stats_of(cache).entries, 0);
    tkl_cache_close(cache);
}

/* ---- Several servers ----------------------------------------------------- */

/* Checks that changes of 50 keys, on all servers, are heard. */
static void hear_many(tkl_cache *cache, tkl_cache *theirs, const char *value)
{
    char key[16];
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "key%d", i);
        tkl_bytes data = tkl_str(value);
        eventually(tkl_cache_set(theirs, tkl_str(key), &data) == TKL_OK, SOON);
    }
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "key%d", i);
        eventually(is_hit(cache, key, value), SOON);
    }
}

static void every_master_of_a_cluster_is_heard(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL), *other = test_open(c->url, NULL);
    tkl_cache *cache = open_local(client, 1000000), *theirs;
    assert_ok(tkl_cache_open(other, NULL, &theirs));
    hear_many(cache, theirs, "1");
    hear_many(cache, theirs, "2");
    cluster_fail_over(c, 0);
    hear_many(cache, theirs, "3");
    server *owner = cluster_owner(c, 0);
    server_kill(owner);
    eventually(cluster_owner(c, 0) && cluster_owner(c, 0) != owner, SOON);
    hear_many(cache, theirs, "4");
    cluster_heal(c);
    hear_many(cache, theirs, "5");
    tkl_cache_close(theirs);
    tkl_cache_close(cache);
    tkl_close(other);
    tkl_close(client);
    cluster_end(c);
}

static void sentinels_choose_another_master(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    tkl_client *client = test_open(trio->url, NULL), *other = test_open(trio->url, NULL);
    tkl_cache *cache = open_local(client, 1000000), *theirs;
    assert_ok(tkl_cache_open(other, NULL, &theirs));
    hear_many(cache, theirs, "1");
    sentinels_fail_over(trio); /* the old master lives on as a replica */
    hear_many(cache, theirs, "2");
    sentinels_heal(trio); /* until then there may be no replica to promote */
    server *master = sentinels_master(trio);
    server_kill(master);
    sentinels_await_other(trio, master);
    hear_many(cache, theirs, "3");
    tkl_cache_close(theirs);
    tkl_cache_close(cache);
    tkl_close(other);
    tkl_close(client);
    sentinels_end(trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_hit_asks_no_server),
        TEST(a_copy_without_news_sleeps),
        TEST(a_value_outlives_its_copy),
        TEST(an_expired_value_is_no_hit),
        TEST(the_copy_is_bounded),
        TEST(own_changes_are_seen_at_once),
        TEST(changes_of_others_are_heard),
        TEST(no_thread_sees_an_older_value_after_a_newer_one),
        TEST(a_lost_connection_drops_the_copy),
        TEST(a_server_that_hangs_is_noticed),
        cmocka_unit_test(a_restarted_server_is_heard_again),
        TEST(a_forked_child_has_a_copy_of_its_own),
        TEST(without_permission_values_come_from_the_server),
        TEST(the_documented_permissions_suffice),
        TEST(wrong_options_are_refused),
        cmocka_unit_test(every_master_of_a_cluster_is_heard),
        cmocka_unit_test(sentinels_choose_another_master),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
