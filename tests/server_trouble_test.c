/* SPDX-License-Identifier: MIT
 *
 * The persistent server of a directory when it crashes, hangs, loads, dies, or is stopped while
 * programs open it.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/home.h"
#include "support/process.h"
#include "support/server.h"

static void a_crash_loses_nothing_with_always(void **state)
{
    (void)state;
    tkl_server_info info = home_start(home_with("always"));
    home_put(home_url, "kept");
    home_crash(&info);
    assert_true(home_has("socket"));
    home_not_running(home_url);
    assert_home_holds(home_url, "kept");
    assert_string_equal(home_durability(), "always");
}

static void no_second_server_starts_when_the_socket_was_removed(void **state)
{
    (void)state;
    tkl_server_info info = home_start(home_url), other;
    char *at = test_format("embedded:%s?timeout=200ms", home_dir), *socket = home_path("socket");
    assert_int_equal(unlink(socket), 0);
    assert_code(tkl_server_start(at, &other), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "its socket was removed");
    assert_code(tkl_server_status(at, &other), TKL_ENOTSENT);
    assert_code(tkl_server_stop(at), TKL_ENOTSENT);
    assert_int_equal(process_count(home_dir), 1);
    home_crash(&info);
    home_start(home_url);
    free(socket);
    free(at);
}

static void a_server_that_hangs_is_told_from_none(void **state)
{
    (void)state;
    tkl_server_info info = home_start(home_url), other;
    char *at = test_format("embedded:%s?timeout=200ms", home_dir);
    kill((pid_t)info.pid, SIGSTOP);
    assert_code(tkl_server_start(at, &other), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "does not answer");
    assert_code(tkl_server_stop(at), TKL_ENOTSENT);
    kill((pid_t)info.pid, SIGCONT);
    assert_ok(tkl_server_stop(home_url));
    free(at);
}

/* Stores 2000 keys, each of which takes `delay_us` microseconds to load. */
static void fill_for_a_slow_start(const char *delay_us)
{
    home_start(home_with("snapshot"));
    tkl_client *client = test_open(home_url, NULL);
    call_expect(client, "OK", "CONFIG", "SET", "rdbcompression", "no", NULL);
    assert_int_equal(call_code(client, NULL, "EVAL",
                               "for i = 1, 2000 do redis.call('SET', 'k' .. i, ('x'):rep(100)) end",
                               "0", NULL),
                     TKL_OK);
    tkl_close(client);
    assert_ok(tkl_server_stop(home_url));
    char *lines =
        test_format("key-load-delay %s\nloading-process-events-interval-bytes 1024\n", delay_us);
    home_configure(lines);
    free(lines);
}

static void joining_waits_until_the_data_is_loaded(void **state)
{
    (void)state;
    fill_for_a_slow_start("300");
    tkl_client *client = test_open(home_url, NULL);
    assert_int_equal(call_int(client, "DBSIZE", NULL), 2000);
    tkl_close(client);
}

static void too_short_a_wait_says_that_it_is_loading(void **state)
{
    (void)state;
    tkl_server_info info;
    char *at = test_format("embedded:%s?timeout=1500ms", home_dir);
    fill_for_a_slow_start("10000");
    eventually(tkl_server_start(at, &info) == TKL_EUNREADY, WAIT_MS);
    assert_contains(tkl_errmsg(), "still loading");
    assert_ok(tkl_server_status(home_url, &info));
    assert_ok(tkl_server_stop(home_url));
    free(at);
}

static void the_error_shows_the_log_of_a_server_that_dies(void **state)
{
    (void)state;
    tkl_server_info info;
    home_start(home_url);
    assert_ok(tkl_server_stop(home_url));
    home_configure("no-such-setting yes\n");
    assert_code(tkl_server_start(home_url, &info), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), "no-such-setting");
    assert_lacks(tkl_errmsg(), "bye bye"); /* words of the server before */
}

static void a_password_set_by_hand_is_told(void **state)
{
    (void)state;
    tkl_server_info info;
    home_start(home_url);
    assert_ok(tkl_server_stop(home_url));
    home_configure("requirepass hunter2\n");
    assert_code(tkl_server_start(home_url, &info), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "NOAUTH");
}

static int stop_it(void *at)
{
    int rc = tkl_server_stop(at);
    if (rc < 0)
        fprintf(stderr, "stop: %s\n", tkl_errmsg());
    return rc < 0;
}

static void starting_and_stopping_at_once_leaves_one_or_none(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        pid_t programs[6];
        for (int i = 0; i < 6; i++)
            programs[i] = process_fork(i % 3 == 2 ? stop_it : home_visit, home_url);
        for (int i = 0; i < 6; i++)
            if (i % 3 == 2)
                assert_int_equal(process_wait(programs[i]), 0);
            else
                process_wait(programs[i]); /* its server may have been stopped under it */
        assert_true(process_count(home_dir) <= 1);
    }
    home_put(home_url, "1");
}

/* A server program whose first start nobody can reach: it listens elsewhere, at dir.b. */
static void use_a_server_that_hides_once(void)
{
    char *path = test_format("%s.sh", home_dir);
    char *text =
        test_format("[ \"$1\" = --version ] || mkdir '%s.b' 2>/dev/null || exec %s \"$@\"\n"
                    "exec %s \"$@\" --unixsocket '%s.b/socket'",
                    home_dir, server_program(), server_program(), home_dir);
    process_script(path, text);
    setenv("TACKLE_SERVER", path, 1);
    free(text);
    free(path);
}

static int stop_the_hidden(void *arg)
{
    (void)arg;
    char *at = test_format("unix://%s.b/socket?timeout=60s", home_dir);
    tkl_client *client = test_open(at, NULL);
    while (tkl_callz(client, NULL, "SHUTDOWN", NULL) == TKL_ENOTSENT)
        test_sleep_ms(1);
    return 0;
}

static int kill_the_hidden(void *arg)
{
    (void)arg;
    char *socket = test_format("%s.b/socket", home_dir);
    while (access(socket, F_OK) != 0)
        test_sleep_ms(1);
    process_signal(socket, SIGKILL);
    return 0;
}

static void a_server_stopped_before_it_was_reached_is_started_again(void **state)
{
    (void)state;
    use_a_server_that_hides_once();
    pid_t stopper = process_fork(stop_the_hidden, NULL);
    home_put(home_url, "1");
    assert_int_equal(process_wait(stopper), 0);
    assert_home_holds(home_url, "1");
}

static void a_server_killed_before_it_was_reached_is_an_error(void **state)
{
    (void)state;
    tkl_server_info info;
    use_a_server_that_hides_once();
    pid_t killer = process_fork(kill_the_hidden, NULL);
    assert_code(tkl_server_start(home_url, &info), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), "ended at its start");
    assert_int_equal(process_wait(killer), 0);
    home_start(home_url);
}

/* Often, at uneven moments, but not for ever: then opening succeeds on a slow machine, too. */
static int keep_stopping(void *arg)
{
    (void)arg;
    for (int stopped = 0; stopped < 40; test_sleep_ms(stopped % 7)) {
        int rc = tkl_server_stop(home_url);
        stopped += rc == TKL_OK;
        if (rc < 0)
            fprintf(stderr, "stop: %s\n", tkl_errmsg());
    }
    return 0;
}

static void opening_survives_somebody_who_stops_it(void **state)
{
    (void)state;
    pid_t stopper = process_fork(keep_stopping, NULL);
    for (int i = 0; waitpid(stopper, NULL, WNOHANG) == 0; i++) {
        tkl_client *client;
        assert_ok(tkl_open(i % 2 ? home_with("always") : home_url, NULL, &client));
        tkl_close(client);
    }
}

static void a_long_log_is_put_aside(void **state)
{
    (void)state;
    home_start(home_url);
    assert_ok(tkl_server_stop(home_url));
    char *log = home_path("log");
    assert_int_equal(truncate(log, 2 << 20), 0);
    home_start(home_url);
    struct stat st;
    assert_int_equal(stat(log, &st), 0);
    assert_true(st.st_size < 1 << 20);
    assert_true(home_has("log.old"));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_crash_loses_nothing_with_always),
        TEST(no_second_server_starts_when_the_socket_was_removed),
        TEST(a_server_that_hangs_is_told_from_none),
        TEST(joining_waits_until_the_data_is_loaded),
        TEST(too_short_a_wait_says_that_it_is_loading),
        TEST(the_error_shows_the_log_of_a_server_that_dies),
        TEST(a_password_set_by_hand_is_told),
        TEST(starting_and_stopping_at_once_leaves_one_or_none),
        TEST(a_server_stopped_before_it_was_reached_is_started_again),
        TEST(a_server_killed_before_it_was_reached_is_an_error),
        TEST(opening_survives_somebody_who_stops_it),
        TEST(a_long_log_is_put_aside),
    };
    return cmocka_run_group_tests(tests, home_guard, NULL);
}
