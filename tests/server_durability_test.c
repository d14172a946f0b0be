/* SPDX-License-Identifier: MIT
 *
 * The durability of the server of a directory: its words, changes from one to another, settings of
 * the user.
 */
#include "support/call.h"
#include "support/home.h"

static const struct {
    const char *word, *save, *appendonly, *appendfsync;
} words[] = {
    {"none", "", "no", "everysec"},  {"snapshot", "3600 1 300 100 60 10000", "no", "everysec"},
    {"lazy", "", "yes", "no"},       {"everysec", "", "yes", "everysec"},
    {"always", "", "yes", "always"},
};
#define WORDS (sizeof words / sizeof *words)

static void config_is(tkl_client *client, const char *name, const char *value)
{
    tkl_reply *reply;
    assert_ok(tkl_callz(client, &reply, "CONFIG", "GET", name, NULL));
    assert_string_equal(tkl_reply_str(tkl_reply_at(reply, 1)), value);
    tkl_reply_free(reply);
}

static void behaves_like(size_t i)
{
    tkl_client *client = test_open(home_url, NULL);
    config_is(client, "save", words[i].save);
    config_is(client, "appendonly", words[i].appendonly);
    config_is(client, "appendfsync", words[i].appendfsync);
    tkl_close(client);
    assert_string_equal(home_durability(), words[i].word);
}

static void words_become_settings_and_stay(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++) {
        home_start(home_with(words[i].word));
        behaves_like(i);
        home_start(home_url);
        behaves_like(i);
        assert_ok(tkl_server_stop(home_url));
        assert_string_equal(home_durability(), words[i].word);
        home_start(home_url);
        behaves_like(i);
    }
}

/* The data of the moment of the change survives a crash right after it. */
static void changes_safely(const char *from, const char *to)
{
    tkl_server_info info = home_start(home_with(from));
    home_put(home_url, to);
    assert_int_equal(home_start(home_with(to)).pid, info.pid);
    home_crash(&info);
    assert_home_holds(home_url, to);
    assert_string_equal(home_durability(), to);
    assert_ok(tkl_server_stop(home_url));
}

static void a_change_keeps_the_data(void **state)
{
    (void)state;
    for (size_t from = 0; from < WORDS; from++)
        for (size_t to = 1; to < WORDS; to++)
            if (from != to)
                changes_safely(words[from].word, words[to].word);
}

static void stopping_keeps_the_data(void **state)
{
    (void)state;
    for (size_t i = 1; i < WORDS; i++) {
        home_start(home_with(words[i].word));
        home_put(home_url, words[i].word);
        assert_ok(tkl_server_stop(home_url));
        assert_home_holds(home_url, words[i].word);
    }
}

static void none_forgets_at_stop_and_brings_nothing_back(void **state)
{
    (void)state;
    home_start(home_with("snapshot"));
    home_put(home_url, "old");
    assert_ok(tkl_server_stop(home_url));
    home_start(home_with("none"));
    assert_home_holds(home_url, "old");
    home_put(home_url, "new");
    assert_ok(tkl_server_stop(home_url));
    assert_null(home_get(home_url));
    assert_true(home_has("dump.rdb.old"));
}

static void tuned_snapshots_are_still_snapshots(void **state)
{
    (void)state;
    home_start(home_with("snapshot"));
    tkl_client *client = test_open(home_url, NULL);
    call_expect(client, "OK", "CONFIG", "SET", "save", "10 1", NULL);
    call_expect(client, "OK", "CONFIG", "REWRITE", NULL);
    tkl_close(client);
    home_start(home_with("snapshot"));
    assert_ok(tkl_server_stop(home_url));
    client = test_open(home_url, NULL);
    config_is(client, "save", "10 1");
    tkl_close(client);
}

static void settings_of_the_user_survive(void **state)
{
    (void)state;
    home_start(home_url);
    assert_ok(tkl_server_stop(home_url));
    home_configure("maxmemory 64mb\n");
    home_start(home_with("always"));
    assert_ok(tkl_server_stop(home_url));
    tkl_client *client = test_open(home_url, NULL);
    config_is(client, "maxmemory", "67108864");
    tkl_close(client);
}

static void settings_made_by_hand_have_their_word(void **state)
{
    (void)state;
    home_start(home_url);
    tkl_client *client = test_open(home_url, NULL);
    call_expect(client, "OK", "CONFIG", "SET", "appendfsync", "no", NULL);
    tkl_close(client);
    assert_string_equal(home_durability(), "lazy");
}

static void a_snapshot_from_elsewhere_is_taken_over(void **state)
{
    (void)state;
    char *other = test_format("embedded:%s.b?durability=snapshot&timeout=20s", home_dir);
    char *copy =
        test_format("mkdir -m 700 '%s' && cp '%s.b/dump.rdb' '%s/'", home_dir, home_dir, home_dir);
    home_put(other, "from elsewhere");
    assert_ok(tkl_server_stop(other));
    assert_int_equal(system(copy), 0);
    tkl_server_info info = home_start(home_url);
    assert_home_holds(home_url, "from elsewhere");
    assert_string_equal(home_durability(), "everysec");
    home_crash(&info);
    assert_home_holds(home_url, "from elsewhere");
    free(copy);
    free(other);
}

/* ---- A crash in the middle of a write ------------------------------------------ */

static const char begun[] = "*1\r\n$5\r\nMULTI\r\n"
                            "*3\r\n$3\r\nSET\r\n$5\r\nghost\r\n$1\r\n1\r\n"
                            "*3\r\n$3\r\nSET\r\n$5\r\nother\r\n$1\r\n1\r\n"
                            "*1\r\n$4\r\nEXEC\r\n";

static void append(const char *text, size_t len)
{
    char *path = home_path("appendonlydir/appendonly.aof.1.incr.aof");
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static void put_both(const char *value)
{
    tkl_client *client = test_open(home_url, NULL);
    call_expect(client, "OK", "EVAL",
                "redis.call('SET', 'key', ARGV[1]) return redis.call('SET', 'twin', ARGV[1])", "0",
                value, NULL);
    tkl_close(client);
}

static void assert_no_ghost(void)
{
    tkl_client *client = test_open(home_url, NULL);
    assert_int_equal(call_int(client, "EXISTS", "ghost", "other", NULL), 0);
    tkl_close(client);
}

/* Leaves a part of a script that was not answered. What is answered afterwards stays,
 * through a second crash, and nothing of the script comes back. */
static void half_a_script_is_removed(void **state)
{
    (void)state;
    static const char *const values[] = {"a", "b"};
    tkl_server_info info = home_start(home_with("always"));
    home_put(home_url, values[1]);
    for (size_t i = 0, len = 1; len < sizeof begun - 1; i++, len += 13) {
        home_crash(&info);
        append(begun, len);
        info = home_start(home_url);
        assert_home_holds(home_url, values[(i + 1) % 2]);
        if (i / 2 % 2 == 0)
            put_both(values[i % 2]);
        else
            home_put(home_url, values[i % 2]);
        home_crash(&info);
        info = home_start(home_url);
        assert_home_holds(home_url, values[i % 2]);
        assert_no_ghost();
    }
}

static void what_is_damaged_is_left_to_the_server(void **state)
{
    (void)state;
    tkl_server_info info = home_start(home_with("always"));
    home_put(home_url, "good");
    home_crash(&info);
    append("garbage\n", 8);
    assert_code(tkl_server_start(home_url, &info), TKL_ESPAWN);
    assert_non_null(strstr(tkl_errmsg(), "Bad file format"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_become_settings_and_stay),
        TEST(a_change_keeps_the_data),
        TEST(stopping_keeps_the_data),
        TEST(none_forgets_at_stop_and_brings_nothing_back),
        TEST(tuned_snapshots_are_still_snapshots),
        TEST(settings_of_the_user_survive),
        TEST(settings_made_by_hand_have_their_word),
        TEST(a_snapshot_from_elsewhere_is_taken_over),
        TEST(half_a_script_is_removed),
        TEST(what_is_damaged_is_left_to_the_server),
    };
    return cmocka_run_group_tests(tests, home_guard, NULL);
}
