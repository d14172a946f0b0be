/* SPDX-License-Identifier: MIT
 *
 * `embedded:/dir`, the persistent server of a directory, and tkl_server_*().
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/process.h"
#include "support/server.h"

#define WAIT_MS 20000
#define RACERS  100

/* The directory of the test's server and its URL. */
static char dir[64];
static char url[128];

/* ---- What is seen of a server -------------------------------------------- */

static tkl_server_info start(const char *at)
{
    tkl_server_info info;
    assert_ok(tkl_server_start(at, &info));
    assert_true(info.pid > 0);
    return info;
}

static void is_not_running(const char *at)
{
    tkl_server_info info;
    assert_code(tkl_server_status(at, &info), TKL_NOTFOUND);
    assert_int_equal(info.pid, 0);
}

static const char *durability(void)
{
    static tkl_server_info info;
    int rc = tkl_server_status(url, &info);
    assert_true(rc == TKL_OK || rc == TKL_NOTFOUND);
    return info.durability;
}

/* The URL with a durability. */
static const char *with(const char *word)
{
    static char text[160];
    snprintf(text, sizeof text, "%s&durability=%s", url, word);
    return text;
}

static void put(const char *at, const char *value)
{
    tkl_client *client = test_open(at, NULL);
    call_expect(client, "OK", "SET", "key", value, NULL);
    tkl_close(client);
}

static char *get(const char *at)
{
    tkl_client *client = test_open(at, NULL);
    char *value = call_text(client, "GET", "key", NULL);
    tkl_close(client);
    return value;
}

#define assert_holds(at, value)              \
    do {                                     \
        char *text_ = get(at);               \
        assert_non_null(text_);              \
        assert_string_equal(text_, (value)); \
        free(text_);                         \
    } while (0)

static char *in_dir(const char *name)
{
    return test_format("%s/%s", dir, name);
}

static bool exists(const char *name)
{
    char *path = in_dir(name);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

static void crash(const tkl_server_info *info)
{
    kill((pid_t)info->pid, SIGKILL);
    eventually(process_count(dir) == 0, WAIT_MS);
}

/* ---- Start, status, stop ------------------------------------------------- */

static void start_status_and_stop_tell_the_same_story(void **state)
{
    (void)state;
    tkl_server_info info = start(url), again;
    char *socket = in_dir("socket");
    assert_string_equal(info.socket, socket);
    assert_string_equal(info.durability, "everysec");
    assert_contains(server_program(), info.program);
    assert_true(atoi(info.version) >= 7);
    assert_ok(tkl_server_status(url, &again));
    assert_memory_equal(&info, &again, sizeof info);
    assert_ok(tkl_server_stop(url));
    assert_int_not_equal(access(socket, F_OK), 0);
    eventually(process_count(dir) == 0, WAIT_MS);
    assert_code(tkl_server_status(url, &again), TKL_NOTFOUND);
    assert_int_equal(again.pid, 0);
    assert_string_equal(again.socket, socket);
    assert_string_equal(again.durability, "everysec");
    free(socket);
}

static void starting_twice_and_stopping_twice_are_fine(void **state)
{
    (void)state;
    tkl_server_info info = start(url);
    assert_int_equal(start(url).pid, info.pid);
    assert_ok(tkl_server_stop(url));
    assert_code(tkl_server_stop(url), TKL_NOTFOUND);
}

static void nothing_is_made_by_asking(void **state)
{
    (void)state;
    is_not_running(url);
    assert_code(tkl_server_stop(url), TKL_NOTFOUND);
    assert_int_not_equal(access(dir, F_OK), 0);
}

static void only_its_user_can_reach_it(void **state)
{
    (void)state;
    static const char *const names[] = {"", "socket", "config", "log", "lock", "appendonlydir"};
    start(url);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stat st;
        char *path = in_dir(names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0077, 0);
        free(path);
    }
}

static int open_and_leave(void *at)
{
    tkl_server_info info;
    return tkl_server_start(at, &info) == TKL_OK ? 0 : 1;
}

static void it_stays_when_its_program_has_ended(void **state)
{
    (void)state;
    assert_int_equal(process_wait(process_fork(open_and_leave, url)), 0);
    tkl_server_info info;
    assert_ok(tkl_server_status(url, &info));
    assert_int_not_equal(getsid((pid_t)info.pid), getsid(0));
    assert_int_equal(start(url).pid, info.pid);
}

static void close_leaves_it_running(void **state)
{
    (void)state;
    put(url, "1");
    assert_holds(url, "1");
}

/* ---- Many programs ------------------------------------------------------- */

typedef struct race {
    int go[2];   /* all start when it is closed */
    int seen[2]; /* the pid of the server each racer got */
} race;

static int run_racer(void *arg)
{
    race *r = arg;
    tkl_server_info info;
    char byte;
    close(r->go[1]);
    if (read(r->go[0], &byte, 1) != 0 || tkl_server_start(url, &info) != TKL_OK) {
        fprintf(stderr, "racer: %s\n", tkl_errmsg());
        return 1;
    }
    return write(r->seen[1], &info.pid, sizeof info.pid) == sizeof info.pid ? 0 : 2;
}

static void run_race(race *r)
{
    pid_t racers[RACERS];
    assert_int_equal(pipe2(r->go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(r->seen, O_CLOEXEC), 0);
    for (int i = 0; i < RACERS; i++)
        racers[i] = process_fork(run_racer, r);
    close(r->go[0]);
    close(r->go[1]);
    close(r->seen[1]);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(process_wait(racers[i]), 0);
}

static void racing_programs_get_one_server(void **state)
{
    (void)state;
    race r;
    run_race(&r);
    int64_t first = 0, pid = 0;
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(read(r.seen[0], &pid, sizeof pid), sizeof pid);
        first = i == 0 ? pid : first;
        assert_int_equal(pid, first);
    }
    close(r.seen[0]);
    assert_int_equal(process_count(dir), 1);
}

static void racing_programs_get_one_server_after_a_crash(void **state)
{
    (void)state;
    tkl_server_info info = start(with("always"));
    put(url, "kept");
    crash(&info);
    assert_true(exists("socket"));
    racing_programs_get_one_server(state);
    assert_holds(url, "kept");
}

static void directories_have_servers_of_their_own(void **state)
{
    (void)state;
    char *other = test_format("embedded:%s.b?timeout=20s", dir);
    put(url, "a");
    put(other, "b");
    assert_holds(url, "a");
    assert_holds(other, "b");
    free(other);
}

static void names_of_one_directory_lead_to_one_server(void **state)
{
    (void)state;
    char *link = test_format("%s.b", dir), *by_link = test_format("embedded:%s/", link);
    assert_int_equal(symlink(dir, link), 0);
    assert_int_equal(chdir(test_dir()), 0);
    char *relative = test_format("embedded:./%s", strrchr(dir, '/') + 1);
    tkl_server_info info = start(url);
    assert_int_equal(start(by_link).pid, info.pid);
    assert_int_equal(start(relative).pid, info.pid);
    free(relative);
    free(by_link);
    free(link);
}

static void parents_are_made_and_any_name_will_do(void **state)
{
    (void)state;
    char *deep = test_format("embedded:%s/one/it's \"two\" $HOME/three?timeout=20s", dir);
    put(deep, "1");
    assert_ok(tkl_server_stop(deep));
    assert_holds(deep, "1");
    free(deep);
}

static void a_moved_directory_is_the_same(void **state)
{
    (void)state;
    char *moved = test_format("%s.b", dir), *at = test_format("embedded:%s?timeout=20s", moved);
    start(with("snapshot")); /* so that the server has rewritten its configuration */
    put(url, "1");
    assert_ok(tkl_server_stop(url));
    assert_int_equal(rename(dir, moved), 0);
    assert_holds(at, "1");
    assert_int_not_equal(access(dir, F_OK), 0);
    free(at);
    free(moved);
}

/* ---- Trouble ------------------------------------------------------------- */

static void a_crash_loses_nothing_with_always(void **state)
{
    (void)state;
    tkl_server_info info = start(with("always"));
    put(url, "kept");
    crash(&info);
    assert_true(exists("socket"));
    is_not_running(url);
    assert_holds(url, "kept");
    assert_string_equal(durability(), "always");
}

static void no_second_server_starts_when_the_socket_was_removed(void **state)
{
    (void)state;
    tkl_server_info info = start(url), other;
    char *at = test_format("embedded:%s?timeout=200ms", dir), *socket = in_dir("socket");
    assert_int_equal(unlink(socket), 0);
    assert_code(tkl_server_start(at, &other), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "its socket was removed");
    assert_code(tkl_server_status(at, &other), TKL_ENOTSENT);
    assert_code(tkl_server_stop(at), TKL_ENOTSENT);
    assert_int_equal(process_count(dir), 1);
    crash(&info);
    start(url);
    free(socket);
    free(at);
}

static void a_server_that_hangs_is_told_from_none(void **state)
{
    (void)state;
    tkl_server_info info = start(url), other;
    char *at = test_format("embedded:%s?timeout=200ms", dir);
    kill((pid_t)info.pid, SIGSTOP);
    assert_code(tkl_server_start(at, &other), TKL_ENOTSENT);
    assert_contains(tkl_errmsg(), "does not answer");
    assert_code(tkl_server_stop(at), TKL_ENOTSENT);
    kill((pid_t)info.pid, SIGCONT);
    assert_ok(tkl_server_stop(url));
    free(at);
}

static void append_config(const char *lines)
{
    char *path = in_dir("config");
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    fputs(lines, file);
    assert_int_equal(fclose(file), 0);
    free(path);
}

/* 2000 keys that take so many microseconds each to load. */
static void fill_for_a_slow_start(const char *delay_us)
{
    start(with("snapshot"));
    tkl_client *client = test_open(url, NULL);
    call_expect(client, "OK", "CONFIG", "SET", "rdbcompression", "no", NULL);
    assert_int_equal(call_code(client, NULL, "EVAL",
                               "for i = 1, 2000 do redis.call('SET', 'k' .. i, ('x'):rep(100)) end",
                               "0", NULL),
                     TKL_OK);
    tkl_close(client);
    assert_ok(tkl_server_stop(url));
    char *lines =
        test_format("key-load-delay %s\nloading-process-events-interval-bytes 1024\n", delay_us);
    append_config(lines);
    free(lines);
}

static void joining_waits_until_the_data_is_loaded(void **state)
{
    (void)state;
    fill_for_a_slow_start("300");
    tkl_client *client = test_open(url, NULL);
    assert_int_equal(call_int(client, "DBSIZE", NULL), 2000);
    tkl_close(client);
}

static void too_short_a_wait_says_that_it_is_loading(void **state)
{
    (void)state;
    tkl_server_info info;
    char *at = test_format("embedded:%s?timeout=1500ms", dir);
    fill_for_a_slow_start("10000");
    eventually(tkl_server_start(at, &info) == TKL_EUNREADY, WAIT_MS);
    assert_contains(tkl_errmsg(), "still loading");
    assert_ok(tkl_server_status(url, &info));
    assert_ok(tkl_server_stop(url));
    free(at);
}

static void the_error_shows_the_log_of_a_server_that_dies(void **state)
{
    (void)state;
    tkl_server_info info;
    start(url);
    assert_ok(tkl_server_stop(url));
    append_config("no-such-setting yes\n");
    assert_code(tkl_server_start(url, &info), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), "no-such-setting");
    assert_lacks(tkl_errmsg(), "bye bye"); /* of the server before */
}

static void a_password_set_by_hand_is_told(void **state)
{
    (void)state;
    tkl_server_info info;
    start(url);
    assert_ok(tkl_server_stop(url));
    append_config("requirepass hunter2\n");
    assert_code(tkl_server_start(url, &info), TKL_EAUTH);
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
            programs[i] = process_fork(i % 3 == 2 ? stop_it : open_and_leave, url);
        for (int i = 0; i < 6; i++)
            if (i % 3 == 2)
                assert_int_equal(process_wait(programs[i]), 0);
            else
                process_wait(programs[i]); /* its server may have been stopped under it */
        assert_true(process_count(dir) <= 1);
    }
    put(url, "1");
}

/* A server program whose first start nobody can reach: it listens elsewhere, at dir.b. */
static void use_a_server_that_hides_once(void)
{
    char *path = test_format("%s.sh", dir);
    char *text =
        test_format("[ \"$1\" = --version ] || mkdir '%s.b' 2>/dev/null || exec %s \"$@\"\n"
                    "exec %s \"$@\" --unixsocket '%s.b/socket'",
                    dir, server_program(), server_program(), dir);
    process_script(path, text);
    setenv("TACKLE_SERVER", path, 1);
    free(text);
    free(path);
}

static int stop_the_hidden(void *arg)
{
    (void)arg;
    char *at = test_format("unix://%s.b/socket?timeout=60s", dir);
    tkl_client *client = test_open(at, NULL);
    while (tkl_callz(client, NULL, "SHUTDOWN", NULL) == TKL_ENOTSENT)
        test_sleep_ms(1);
    return 0;
}

static int kill_the_hidden(void *arg)
{
    (void)arg;
    char *socket = test_format("%s.b/socket", dir);
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
    put(url, "1");
    assert_int_equal(process_wait(stopper), 0);
    assert_holds(url, "1");
}

static void a_server_killed_before_it_was_reached_is_an_error(void **state)
{
    (void)state;
    tkl_server_info info;
    use_a_server_that_hides_once();
    pid_t killer = process_fork(kill_the_hidden, NULL);
    assert_code(tkl_server_start(url, &info), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), "ended at its start");
    assert_int_equal(process_wait(killer), 0);
    start(url);
}

static void a_long_log_is_put_aside(void **state)
{
    (void)state;
    start(url);
    assert_ok(tkl_server_stop(url));
    char *log = in_dir("log");
    assert_int_equal(truncate(log, 2 << 20), 0);
    start(url);
    struct stat st;
    assert_int_equal(stat(log, &st), 0);
    assert_true(st.st_size < 1 << 20);
    assert_true(exists("log.old"));
    free(log);
}

/* ---- Durability ---------------------------------------------------------- */

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
    tkl_client *client = test_open(url, NULL);
    config_is(client, "save", words[i].save);
    config_is(client, "appendonly", words[i].appendonly);
    config_is(client, "appendfsync", words[i].appendfsync);
    tkl_close(client);
    assert_string_equal(durability(), words[i].word);
}

static void words_become_settings_and_stay(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++) {
        start(with(words[i].word));
        behaves_like(i);
        start(url);
        behaves_like(i);
        assert_ok(tkl_server_stop(url));
        assert_string_equal(durability(), words[i].word);
        start(url);
        behaves_like(i);
    }
}

/* The data of the moment of the change survives a crash right after it. */
static void changes_safely(const char *from, const char *to)
{
    tkl_server_info info = start(with(from));
    put(url, to);
    assert_int_equal(start(with(to)).pid, info.pid);
    crash(&info);
    assert_holds(url, to);
    assert_string_equal(durability(), to);
    assert_ok(tkl_server_stop(url));
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
        start(with(words[i].word));
        put(url, words[i].word);
        assert_ok(tkl_server_stop(url));
        assert_holds(url, words[i].word);
    }
}

static void none_forgets_at_stop_and_brings_nothing_back(void **state)
{
    (void)state;
    start(with("snapshot"));
    put(url, "old");
    assert_ok(tkl_server_stop(url));
    start(with("none"));
    assert_holds(url, "old");
    put(url, "new");
    assert_ok(tkl_server_stop(url));
    assert_null(get(url));
    assert_true(exists("dump.rdb.old"));
}

static void tuned_snapshots_are_still_snapshots(void **state)
{
    (void)state;
    start(with("snapshot"));
    tkl_client *client = test_open(url, NULL);
    call_expect(client, "OK", "CONFIG", "SET", "save", "10 1", NULL);
    call_expect(client, "OK", "CONFIG", "REWRITE", NULL);
    tkl_close(client);
    start(with("snapshot"));
    assert_ok(tkl_server_stop(url));
    client = test_open(url, NULL);
    config_is(client, "save", "10 1");
    tkl_close(client);
}

/* Often, at uneven moments, but not for ever: then opening succeeds on a slow machine, too. */
static int keep_stopping(void *arg)
{
    (void)arg;
    for (int stopped = 0; stopped < 40; test_sleep_ms(stopped % 7)) {
        int rc = tkl_server_stop(url);
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
        assert_ok(tkl_open(i % 2 ? with("always") : url, NULL, &client));
        tkl_close(client);
    }
}

static void settings_of_the_user_survive(void **state)
{
    (void)state;
    start(url);
    assert_ok(tkl_server_stop(url));
    append_config("maxmemory 64mb\n");
    start(with("always"));
    assert_ok(tkl_server_stop(url));
    tkl_client *client = test_open(url, NULL);
    config_is(client, "maxmemory", "67108864");
    tkl_close(client);
}

static void settings_made_by_hand_have_their_word(void **state)
{
    (void)state;
    start(url);
    tkl_client *client = test_open(url, NULL);
    call_expect(client, "OK", "CONFIG", "SET", "appendfsync", "no", NULL);
    tkl_close(client);
    assert_string_equal(durability(), "lazy");
}

static void a_snapshot_from_elsewhere_is_taken_over(void **state)
{
    (void)state;
    char *other = test_format("embedded:%s.b?durability=snapshot&timeout=20s", dir);
    char *copy = test_format("mkdir -m 700 '%s' && cp '%s.b/dump.rdb' '%s/'", dir, dir, dir);
    put(other, "from elsewhere");
    assert_ok(tkl_server_stop(other));
    assert_int_equal(system(copy), 0);
    tkl_server_info info = start(url);
    assert_holds(url, "from elsewhere");
    assert_string_equal(durability(), "everysec");
    crash(&info);
    assert_holds(url, "from elsewhere");
    free(copy);
    free(other);
}

/* ---- Refusals ------------------------------------------------------------ */

static void fails(const char *at, int code, const char *part)
{
    tkl_server_info info;
    tkl_client *client;
    assert_code(tkl_server_start(at, &info), code);
    assert_contains(tkl_errmsg(), part);
    assert_int_equal(info.pid, 0);
    assert_code(tkl_open(at, NULL, &client), code);
    assert_contains(tkl_errmsg(), part);
}

static void a_directory_with_too_long_a_path_is_refused(void **state)
{
    (void)state;
    tkl_server_info info;
    char *at = test_format("embedded:%s/%0100d", dir, 0);
    fails(at, TKL_EINVAL, "at most 100 bytes");
    assert_code(tkl_server_status(at, &info), TKL_EINVAL);
    assert_code(tkl_server_stop(at), TKL_EINVAL);
    free(at);
}

static void the_longest_path_works(void **state)
{
    (void)state;
    char *at = test_format("embedded:%s/%0*d", dir, 100 - (int)strlen(dir) - 1, 0);
    assert_int_equal(strlen(start(at).socket), 107);
    free(at);
}

static void a_file_is_no_directory(void **state)
{
    (void)state;
    FILE *file = fopen(dir, "we");
    assert_non_null(file);
    fclose(file);
    fails(url, TKL_EIO, "is not a directory");
    char *below = test_format("embedded:%s/x", dir);
    fails(below, TKL_EIO, "cannot be made: Not a directory");
    free(below);
}

static void what_cannot_be_made_is_told(void **state)
{
    (void)state;
    fails("embedded:/proc/tackle/x", TKL_EIO, "the directory /proc/tackle cannot be made");
}

static void a_directory_of_somebody_else_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        fails("embedded:/usr", TKL_EIO, "belongs to another user");
        return;
    }
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chown(dir, 65534, 65534), 0);
    fails(url, TKL_EIO, "belongs to another user");
}

static void a_directory_open_to_everybody_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    fails(url, TKL_EIO, "can be written by everybody");
}

/* Root may write anywhere, so somebody else has to try. */
static int start_as_nobody(void *arg)
{
    (void)arg;
    tkl_server_info info;
    if (geteuid() == 0 && (chown(dir, 65534, 65534) != 0 || setuid(65534) != 0))
        return 1;
    if (tkl_server_start(url, &info) != TKL_EIO)
        return 2;
    return strstr(tkl_errmsg(), "cannot be written: Permission denied") ? 0 : 3;
}

static void a_directory_that_cannot_be_written_is_refused(void **state)
{
    (void)state;
    assert_int_equal(chmod(test_dir(), 0711), 0);
    assert_int_equal(mkdir(dir, 0500), 0);
    assert_int_equal(process_wait(process_fork(start_as_nobody, NULL)), 0);
}

static void urls_without_a_directory_are_refused(void **state)
{
    (void)state;
    tkl_server_info info;
    static const char *const wrong[] = {"embedded:", "redis://localhost", "nonsense"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_code(tkl_server_start(wrong[i], &info), TKL_EINVAL);
        assert_code(tkl_server_status(wrong[i], &info), TKL_EINVAL);
        assert_code(tkl_server_stop(wrong[i]), TKL_EINVAL);
    }
}

static void an_unknown_durability_is_refused(void **state)
{
    (void)state;
    fails(with("sometimes"), TKL_EINVAL, "none, snapshot, lazy, everysec or always");
}

static void without_a_program_the_directory_stays_usable(void **state)
{
    (void)state;
    setenv("TACKLE_SERVER", "no-such-server", 1);
    fails(url, TKL_ESPAWN, "no such program");
    setenv("TACKLE_SERVER", server_program(), 1);
    start(url);
}

/* ---- Running them -------------------------------------------------------- */

static int guard_servers(void **state)
{
    (void)state;
    char *base = test_format("%s/", test_dir());
    process_guard(base);
    free(base);
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    setenv("TACKLE_SERVER", server_program(), 1);
    test_make_dir(dir, sizeof dir);
    test_remove_dir(dir);
    snprintf(url, sizeof url, "embedded:%s?timeout=60s", dir);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    process_signal(dir, SIGKILL);
    eventually(process_count(dir) == 0, WAIT_MS);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(start_status_and_stop_tell_the_same_story),
        TEST(starting_twice_and_stopping_twice_are_fine),
        TEST(nothing_is_made_by_asking),
        TEST(only_its_user_can_reach_it),
        TEST(it_stays_when_its_program_has_ended),
        TEST(close_leaves_it_running),
        TEST(racing_programs_get_one_server),
        TEST(racing_programs_get_one_server_after_a_crash),
        TEST(directories_have_servers_of_their_own),
        TEST(names_of_one_directory_lead_to_one_server),
        TEST(parents_are_made_and_any_name_will_do),
        TEST(a_moved_directory_is_the_same),
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
        TEST(a_long_log_is_put_aside),
        TEST(words_become_settings_and_stay),
        TEST(a_change_keeps_the_data),
        TEST(stopping_keeps_the_data),
        TEST(none_forgets_at_stop_and_brings_nothing_back),
        TEST(tuned_snapshots_are_still_snapshots),
        TEST(opening_survives_somebody_who_stops_it),
        TEST(settings_of_the_user_survive),
        TEST(settings_made_by_hand_have_their_word),
        TEST(a_snapshot_from_elsewhere_is_taken_over),
        TEST(a_directory_with_too_long_a_path_is_refused),
        TEST(the_longest_path_works),
        TEST(a_file_is_no_directory),
        TEST(what_cannot_be_made_is_told),
        TEST(a_directory_of_somebody_else_is_refused),
        TEST(a_directory_open_to_everybody_is_refused),
        TEST(a_directory_that_cannot_be_written_is_refused),
        TEST(urls_without_a_directory_are_refused),
        TEST(an_unknown_durability_is_refused),
        TEST(without_a_program_the_directory_stays_usable),
    };
    return cmocka_run_group_tests(tests, guard_servers, NULL);
}
