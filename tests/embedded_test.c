/* SPDX-License-Identifier: MIT
 *
 * `embedded:`, the server in memory that ends with its program. Persistent servers:
 * server_dir_test.c and its siblings.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/process.h"
#include "support/server.h"

#define WAIT_MS 20000

/* The directory of the servers of one test. */
static char runtime[64];

/* ---- The server as a program sees it ------------------------------------- */

typedef struct seen {
    int64_t pid;
    char dir[128];
} seen;

static tkl_reply *ask(tkl_client *client, const char *a, const char *b, const char *c)
{
    tkl_reply *reply = NULL;
    return tkl_callz(client, &reply, a, b, c, NULL) == TKL_OK ? reply : NULL;
}

static seen look(tkl_client *client)
{
    seen s = {.pid = 0};
    tkl_reply *info = ask(client, "INFO", "server", NULL);
    const char *pid = strstr(tkl_reply_str(info), "process_id:");
    s.pid = pid ? atoll(pid + strlen("process_id:")) : 0;
    tkl_reply_free(info);
    tkl_reply *dir = ask(client, "CONFIG", "GET", "dir");
    snprintf(s.dir, sizeof s.dir, "%s", tkl_reply_str(tkl_reply_at(dir, 1)));
    tkl_reply_free(dir);
    return s;
}

static bool nothing_is_left(const seen *s)
{
    return access(s->dir, F_OK) != 0 && process_count(s->dir) == 0;
}

static int entries(const char *dir)
{
    char *command = test_format("exit $(ls -A '%s' | wc -l)", dir);
    int status = system(command);
    free(command);
    return WEXITSTATUS(status);
}

/* ---- Other programs ------------------------------------------------------ */

typedef struct program {
    void (*end)(tkl_client *client);
    int pipe[2];
} program;

static int run_program(void *arg)
{
    program *p = arg;
    tkl_client *client;
    if (tkl_open("embedded:", NULL, &client) != TKL_OK)
        return 1;
    seen s = look(client);
    if (access(s.dir, F_OK) != 0 || write(p->pipe[1], &s, sizeof s) != sizeof s)
        return 2;
    p->end(client);
    return 0;
}

/* A program that opens `embedded:` and then ends in its own way. */
static pid_t start_program(void (*end)(tkl_client *client), seen *s)
{
    program p = {.end = end};
    assert_int_equal(pipe2(p.pipe, O_CLOEXEC), 0);
    pid_t pid = process_fork(run_program, &p);
    close(p.pipe[1]);
    assert_int_equal(read(p.pipe[0], s, sizeof *s), sizeof *s);
    close(p.pipe[0]);
    assert_true(s->pid > 0);
    return pid;
}

static void stay(tkl_client *client)
{
    (void)client;
    pause();
}

static void leave(tkl_client *client)
{
    (void)client;
}

/* ---- A private server ---------------------------------------------------- */

static void answers_on_a_socket_only_its_user_can_reach(void **state)
{
    (void)state;
    tkl_client *client = test_open("embedded:", NULL);
    seen s = look(client);
    struct stat st;
    assert_contains(s.dir, runtime);
    assert_int_equal(stat(s.dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(st.st_uid, geteuid());
    char *socket = test_format("%s/socket", s.dir);
    assert_int_equal(stat(socket, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    free(socket);
    tkl_close(client);
}

static void config_is(tkl_client *client, const char *name, const char *value)
{
    tkl_reply *reply = ask(client, "CONFIG", "GET", name);
    assert_string_equal(tkl_reply_str(tkl_reply_at(reply, 1)), value);
    tkl_reply_free(reply);
}

static void has_no_port_and_writes_nothing(void **state)
{
    (void)state;
    tkl_client *client = test_open("embedded:", NULL);
    config_is(client, "port", "0");
    config_is(client, "save", "");
    config_is(client, "appendonly", "no");
    tkl_close(client);
}

static void every_open_has_a_server_of_its_own(void **state)
{
    (void)state;
    tkl_client *one = test_open("embedded:", NULL), *two = test_open("embedded:", NULL);
    call_expect(one, "OK", "SET", "key", "1", NULL);
    assert_null(call_text(two, "GET", "key", NULL));
    tkl_close(one);
    call_expect(two, "PONG", "PING", NULL);
    tkl_close(two);
}

static void needs_no_password(void **state)
{
    (void)state;
    setenv("TACKLE_PASSWORD", "for-another-server", 1);
    tkl_client *client = test_open("embedded:", NULL);
    call_expect(client, "PONG", "PING", NULL);
    tkl_close(client);
}

static void durability_needs_a_directory(void **state)
{
    (void)state;
    tkl_client *client;
    assert_code(tkl_open("embedded:?durability=always", NULL, &client), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "name a directory");
    tkl_close(test_open("embedded:?durability=none", NULL));
}

/* ---- The end ------------------------------------------------------------- */

static void nothing_is_left_after_close(void **state)
{
    (void)state;
    tkl_client *client = test_open("embedded:", NULL);
    seen s = look(client);
    tkl_close(client);
    assert_int_not_equal(access(s.dir, F_OK), 0);
    eventually(process_count(s.dir) == 0, WAIT_MS);
}

static void nothing_is_left_after_exit_without_close(void **state)
{
    (void)state;
    seen s;
    assert_int_equal(process_wait(start_program(leave, &s)), 0);
    eventually(nothing_is_left(&s), WAIT_MS);
}

static void nothing_is_left_after_kill_9(void **state)
{
    (void)state;
    seen s;
    pid_t pid = start_program(stay, &s);
    kill(pid, SIGKILL);
    assert_int_equal(process_wait(pid), 128 + SIGKILL);
    eventually(nothing_is_left(&s), WAIT_MS);
}

static int open_and_stay(void *arg)
{
    (void)arg;
    tkl_client *client;
    if (tkl_open("embedded:", NULL, &client) == TKL_OK)
        pause();
    return 1;
}

/* A supervisor that was forked and not executed yet does not name its directory. It holds the pipe,
 * and outlives the program that is killed meanwhile. */
static void nothing_is_left_after_kill_9_in_the_middle_of_the_start(void **state)
{
    (void)state;
    int forked[2];
    char byte;
    assert_int_equal(pipe2(forked, O_CLOEXEC), 0);
    for (int ms = 0; ms < 30; ms += 2) {
        pid_t pid = process_fork(open_and_stay, NULL);
        test_sleep_ms(ms);
        kill(pid, SIGKILL);
        process_wait(pid);
    }
    close(forked[1]);
    assert_int_equal(read(forked[0], &byte, 1), 0);
    close(forked[0]);
    eventually(process_count(runtime) == 0 && entries(runtime) == 0, WAIT_MS);
}

static void nothing_is_left_when_the_server_dies(void **state)
{
    (void)state;
    tkl_client *client = test_open("embedded:", NULL);
    seen s = look(client);
    kill((pid_t)s.pid, SIGKILL);
    eventually(nothing_is_left(&s), WAIT_MS);
    assert_code(call_code(client, &(tkl_call_options){.timeout_ms = 300}, "PING", NULL),
                TKL_ENOTSENT);
    tkl_close(client);
}

/* ---- The program around it ----------------------------------------------- */

static int close_it(void *client)
{
    tkl_close(client);
    return 0;
}

static int do_nothing(void *client)
{
    (void)client;
    return 0;
}

static void a_forked_child_can_close_and_exit(void **state)
{
    (void)state;
    tkl_client *client = test_open("embedded:", NULL);
    seen s = look(client);
    assert_int_equal(process_wait(process_fork(close_it, client)), 0);
    assert_int_equal(process_wait(process_fork(do_nothing, client)), 0);
    call_expect(client, "PONG", "PING", NULL);
    tkl_close(client);
    eventually(nothing_is_left(&s), WAIT_MS);
}

static int pause_for_ever(void *client)
{
    (void)client;
    pause();
    return 0;
}

static void close_does_not_wait_for_forked_children(void **state)
{
    (void)state;
    tkl_client *client = test_open("embedded:", NULL);
    seen s = look(client);
    pid_t child = process_fork(pause_for_ever, client);
    tkl_close(client);
    assert_int_not_equal(access(s.dir, F_OK), 0);
    kill(child, SIGKILL);
    process_wait(child);
}

static int wait_for_all_children(void *ignore_them)
{
    tkl_client *client;
    if (ignore_them)
        signal(SIGCHLD, SIG_IGN);
    if (tkl_open("embedded:", NULL, &client) != TKL_OK)
        return 1;
    if (wait(NULL) != -1 || errno != ECHILD)
        return 2;
    seen s = look(client);
    tkl_close(client);
    return access(s.dir, F_OK) == 0 ? 3 : 0;
}

static void the_server_is_no_child_that_the_program_would_wait_for(void **state)
{
    (void)state;
    assert_int_equal(process_wait(process_fork(wait_for_all_children, NULL)), 0);
}

static void a_program_may_ignore_its_children(void **state)
{
    (void)state;
    assert_int_equal(process_wait(process_fork(wait_for_all_children, "")), 0);
}

static void the_terminals_signals_do_not_reach_the_server(void **state)
{
    (void)state;
    tkl_client *client = test_open("embedded:", NULL);
    seen s = look(client);
    assert_int_not_equal(getsid((pid_t)s.pid), getsid(0));
    tkl_close(client);
}

static void the_server_inherits_no_files(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    tkl_client *client = test_open("embedded:", NULL);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    tkl_close(client);
}

static void the_server_does_not_keep_the_environment(void **state)
{
    (void)state;
    char text[16384];
    setenv("EMBEDDED_TEST_SECRET", "hunter2", 1);
    tkl_client *client = test_open("embedded:", NULL);
    char *path = test_format("/proc/%d/environ", (int)look(client).pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text, file);
    fclose(file);
    free(path);
    assert_null(memmem(text, len, "hunter2", strlen("hunter2")));
    tkl_close(client);
    unsetenv("EMBEDDED_TEST_SECRET");
}

static int without_standard_files(void *arg)
{
    (void)arg;
    for (int fd = 0; fd < 10; fd++)
        close(fd);
    tkl_client *client;
    if (tkl_open("embedded:", NULL, &client) != TKL_OK)
        return 1;
    int rc = tkl_callz(client, NULL, "PING", NULL);
    tkl_close(client);
    return rc == TKL_OK ? 0 : 2;
}

static void a_program_without_standard_files_can_start_one(void **state)
{
    (void)state;
    assert_int_equal(process_wait(process_fork(without_standard_files, NULL)), 0);
}

/* ---- Where it lives ------------------------------------------------------ */

static void a_place_with_too_long_a_path_is_passed_over(void **state)
{
    (void)state;
    char *deep = test_format("%s/%090d", runtime, 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    setenv("XDG_RUNTIME_DIR", deep, 1);
    setenv("TMPDIR", runtime, 1);
    tkl_client *client = test_open("embedded:", NULL);
    seen s = look(client);
    assert_contains(s.dir, runtime);
    assert_lacks(s.dir, deep);
    tkl_close(client);
    free(deep);
}

static void a_place_that_is_not_there_is_passed_over(void **state)
{
    (void)state;
    setenv("XDG_RUNTIME_DIR", "/nowhere/at/all", 1);
    setenv("TMPDIR", runtime, 1);
    tkl_client *client = test_open("embedded:", NULL);
    assert_contains(look(client).dir, runtime);
    tkl_close(client);
}

/* ---- The server program -------------------------------------------------- */

static void fails_to_open(const char *part)
{
    tkl_client *client;
    assert_code(tkl_open("embedded:", NULL, &client), TKL_ESPAWN);
    assert_null(client);
    assert_contains(tkl_errmsg(), part);
}

/* A server program of the test's own: a script. */
static void use_script(const char *text)
{
    char *path = test_format("%s/a server", runtime);
    process_script(path, text);
    setenv("TACKLE_SERVER", path, 1);
    free(path);
}

static void the_error_says_what_to_install(void **state)
{
    (void)state;
    unsetenv("TACKLE_SERVER");
    setenv("PATH", runtime, 1);
    fails_to_open("install the package redis-server or valkey-server");
}

static void an_empty_path_means_the_usual_places(void **state)
{
    (void)state;
    unsetenv("PATH");
    if (access("/usr/bin/redis-server", X_OK) != 0)
        skip();
    setenv("TACKLE_SERVER", "redis-server", 1);
    tkl_close(test_open("embedded:", NULL));
}

/* A shell takes an empty PATH, or an empty part of one, for the current directory; tackle does
 * not. */
static void nothing_of_the_current_directory_is_run(void **state)
{
    (void)state;
    static const char *const programs[] = {"mkdir", "tail", "rm", "redis-server", "valkey-server"};
    static const char *const paths[] = {"", ":", ".", ":/usr/bin:/bin"};
    char before[PATH_MAX], dir[64], *trap = NULL;
    assert_non_null(getcwd(before, sizeof before));
    test_make_dir(dir, sizeof dir);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char *path = test_format("%s/%s", dir, programs[i]);
        char *text = test_format("touch '%s/run'", dir);
        process_script(path, text);
        free(path);
        free(text);
    }
    trap = test_format("%s/run", dir);
    assert_int_equal(chdir(dir), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        tkl_client *client = NULL;
        setenv("PATH", paths[i], 1);
        (void)!tkl_open("embedded:", NULL, &client);
        tkl_close(client);
        assert_int_not_equal(access(trap, F_OK), 0);
    }
    assert_int_equal(chdir(before), 0);
    free(trap);
}

static void either_server_on_the_path_will_do(void **state)
{
    (void)state;
    char *script = test_format("exec '%s' \"$@\"", getenv("REAL_SERVER"));
    char *path = test_format("%s/valkey-server", runtime);
    process_script(path, script);
    unsetenv("TACKLE_SERVER");
    setenv("PATH", runtime, 1);
    tkl_close(test_open("embedded:", NULL));
    free(path);
    free(script);
}

static void a_named_program_must_exist(void **state)
{
    (void)state;
    setenv("TACKLE_SERVER", "no-such-server", 1);
    fails_to_open("TACKLE_SERVER=no-such-server: there is no such program");
    setenv("TACKLE_SERVER", "/nowhere/redis-server", 1);
    fails_to_open("/nowhere/redis-server: there is no such program");
}

static void an_old_server_is_refused(void **state)
{
    (void)state;
    use_script("echo 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64'");
    fails_to_open("too old: it is version 6.0.16");
}

static void what_is_no_server_is_refused(void **state)
{
    (void)state;
    use_script("echo 'ls (GNU coreutils) 9.1'");
    fails_to_open("no Redis or Valkey server: it says \"ls (GNU coreutils) 9.1\"");
}

static void a_program_that_hangs_is_given_up(void **state)
{
    (void)state;
    tkl_client *client;
    use_script("exec sleep 60");
    assert_code(tkl_open("embedded:?timeout=200ms", NULL, &client), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), "--version does not end");
    assert_int_equal(process_count("a server"), 0);
}

static void the_error_shows_the_last_words_of_a_server_that_dies(void **state)
{
    (void)state;
    use_script("[ \"$1\" = --version ] && echo 'Redis server v=7.0.0' && exit\n"
               "echo 'The disk is on fire'; exit 1");
    fails_to_open("The disk is on fire");
    eventually(entries(runtime) == 1, WAIT_MS); /* the script */
}

static void a_server_that_never_answers_is_ended(void **state)
{
    (void)state;
    tkl_client *client;
    use_script("[ \"$1\" = --version ] && echo 'Redis server v=7.0.0' && exit\n"
               "exec sleep 60");
    assert_code(tkl_open("embedded:?timeout=3s", NULL, &client), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), "did not answer in time");
    eventually(process_count(runtime) == 0 && entries(runtime) == 1, WAIT_MS);
}

/* ---- Running them -------------------------------------------------------- */

/* Where the server under test is, whatever a test does to PATH. */
static int find_server(void **state)
{
    (void)state;
    char path[PATH_MAX];
    char *command = test_format("command -v '%s'", server_program());
    FILE *out = popen(command, "re");
    free(command);
    if (!out || !fgets(path, sizeof path, out))
        return -1;
    path[strcspn(path, "\n")] = '\0';
    pclose(out);
    setenv("REAL_SERVER", path, 1);
    setenv("REAL_PATH", getenv("PATH"), 1);
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    setenv("PATH", getenv("REAL_PATH"), 1);
    setenv("TACKLE_SERVER", getenv("REAL_SERVER"), 1);
    unsetenv("TACKLE_PASSWORD");
    unsetenv("TMPDIR");
    test_make_dir(runtime, sizeof runtime);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    process_signal(runtime, SIGKILL);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_on_a_socket_only_its_user_can_reach),
        TEST(has_no_port_and_writes_nothing),
        TEST(every_open_has_a_server_of_its_own),
        TEST(needs_no_password),
        TEST(durability_needs_a_directory),
        TEST(nothing_is_left_after_close),
        TEST(nothing_is_left_after_exit_without_close),
        TEST(nothing_is_left_after_kill_9),
        TEST(nothing_is_left_after_kill_9_in_the_middle_of_the_start),
        TEST(nothing_is_left_when_the_server_dies),
        TEST(a_forked_child_can_close_and_exit),
        TEST(close_does_not_wait_for_forked_children),
        TEST(the_server_is_no_child_that_the_program_would_wait_for),
        TEST(a_program_may_ignore_its_children),
        TEST(the_terminals_signals_do_not_reach_the_server),
        TEST(the_server_inherits_no_files),
        TEST(the_server_does_not_keep_the_environment),
        TEST(a_program_without_standard_files_can_start_one),
        TEST(a_place_with_too_long_a_path_is_passed_over),
        TEST(a_place_that_is_not_there_is_passed_over),
        TEST(the_error_says_what_to_install),
        TEST(an_empty_path_means_the_usual_places),
        TEST(nothing_of_the_current_directory_is_run),
        TEST(either_server_on_the_path_will_do),
        TEST(a_named_program_must_exist),
        TEST(an_old_server_is_refused),
        TEST(what_is_no_server_is_refused),
        TEST(a_program_that_hangs_is_given_up),
        TEST(the_error_shows_the_last_words_of_a_server_that_dies),
        TEST(a_server_that_never_answers_is_ended),
    };
    return cmocka_run_group_tests(tests, find_server, NULL);
}
