/* SPDX-License-Identifier: MIT
 *
 * Commands run by the command: exit codes, signals, process groups, the terminal. Called with
 * "--run COMMAND ARG..." this program does what a run verb does.
 *
 * ctest: label threads
 */
#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"
#include "support/test.h"

enum { LONG_MS = 20000 }; /* bound of waits, which end early unless something is wrong */

static cli_session session;

static void start(cli_child *child, bool foreground, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    cli_command command = {.argv = argv, .foreground = foreground};
    assert_int_equal(cli_child_start(&session, &command, child), 0);
}

static int run(const char *script)
{
    cli_child child;
    start(&child, true, script);
    assert_int_equal(cli_child_wait(&child, -1, LONG_MS), CLI_CHILD_ENDED);
    return cli_child_close(&session, &child);
}

/* Opens a pipe into which children can write: they inherit it as descriptor 9. */
static int children_say(void)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(dup2(ends[1], 9), 9);
    close(ends[1]);
    return ends[0];
}

/* Closes this program's end of the pipe, so that it ends when the last child is gone. */
static void children_only(void)
{
    close(9);
}

static char heard(int from)
{
    char byte = 0;
    return read(from, &byte, 1) == 1 ? byte : '\0';
}

static void is_over_soon(int from)
{
    struct pollfd file = {from, POLLIN, 0};
    assert_int_equal(poll(&file, 1, LONG_MS), 1);
    assert_int_equal(heard(from), '\0');
    close(from);
}

/* ---- Exit codes ---------------------------------------------------------- */

static void exit_code_is_the_childs_own(void **state)
{
    (void)state;
    assert_int_equal(run("exit 0"), 0);
    assert_int_equal(run("exit 7"), 7);
    assert_int_equal(run("exit 255"), 255);
}

static void exit_code_tells_the_signal_that_ended_it(void **state)
{
    (void)state;
    assert_int_equal(run("kill -TERM $$"), 128 + SIGTERM);
    assert_int_equal(run("kill -KILL $$"), 128 + SIGKILL);
}

static int cannot_run(const char *name)
{
    cli_child child;
    const char *argv[] = {name, NULL};
    return cli_child_start(&session, &(cli_command){.argv = argv, .foreground = true}, &child);
}

static void what_cannot_be_run_is_127_or_126(void **state)
{
    (void)state;
    assert_int_equal(cannot_run("no-such-command"), 127);
    assert_int_equal(cannot_run("/no/such/command"), 127);
    assert_int_equal(cannot_run("/etc/passwd"), 126);
    assert_int_equal(cannot_run("/"), 126);
    assert_int_equal(run("exit 3"), 3); /* earlier commands leave nothing behind */
}

/* ---- Environment of the child -------------------------------------------- */

static void child_leads_its_own_process_group(void **state)
{
    (void)state;
    cli_child child;
    start(&child, true, "sleep 100");
    assert_int_equal(getpgid(child.pid), child.pid);
    cli_child_end(&child, LONG_MS);
    assert_int_equal(cli_child_close(&session, &child), 128 + SIGTERM);
}

static void child_reads_the_input_it_is_given(void **state)
{
    (void)state;
    int ends[2];
    cli_child child;
    const char *argv[] = {"sh", "-c", "read line && test \"$line\" = payload", NULL};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "payload\n", 8), 8);
    close(ends[1]);
    cli_command command = {.argv = argv, .input = ends[0]};
    assert_int_equal(cli_child_start(&session, &command, &child), 0);
    close(ends[0]);
    assert_int_equal(cli_child_wait(&child, -1, LONG_MS), CLI_CHILD_ENDED);
    assert_int_equal(cli_child_close(&session, &child), 0);
}

static void child_writes_to_the_files_it_is_given(void **state)
{
    (void)state;
    int out[2], err[2];
    char text[8] = "";
    cli_child child;
    const char *argv[] = {"sh", "-c", "printf out; printf err >&2", NULL};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    cli_command command = {.argv = argv, .output = out[1], .errors = err[1]};
    assert_int_equal(cli_child_start(&session, &command, &child), 0);
    assert_int_equal(cli_child_wait(&child, -1, LONG_MS), CLI_CHILD_ENDED);
    assert_int_equal(cli_child_close(&session, &child), 0);
    assert_int_equal(read(out[0], text, sizeof text), 3);
    assert_string_equal(text, "out");
    assert_int_equal(read(err[0], text, sizeof text), 3);
    assert_string_equal(text, "err");
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(err[i]);
    }
}

static void child_has_the_environment_it_is_given(void **state)
{
    (void)state;
    cli_child child;
    const char *argv[] = {"/bin/sh", "-c", "test \"$WORD\" = given && test -z \"$HOME\"", NULL};
    char *environment[] = {"WORD=given", NULL};
    cli_command command = {.argv = argv, .environment = environment};
    setenv("WORD", "ours", 1);
    assert_int_equal(cli_child_start(&session, &command, &child), 0);
    assert_int_equal(cli_child_wait(&child, -1, LONG_MS), CLI_CHILD_ENDED);
    assert_int_equal(cli_child_close(&session, &child), 0);
    assert_int_equal(run("test \"$WORD\" = ours"), 0);
}

static void child_can_die_of_a_broken_pipe(void **state)
{
    (void)state;
    assert_int_equal(run("kill -PIPE $$"), 128 + SIGPIPE);
}

static void ignored_signals_stay_ignored(void **state)
{
    (void)state;
    signal(SIGHUP, SIG_IGN); /* as nohup does */
    assert_int_equal(run("kill -HUP $$; exit 5"), 5);
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(run("kill -HUP $$; exit 5"), 128 + SIGHUP);
}

/* ---- Waiting ------------------------------------------------------------- */

static void wait_ends_with_the_child_the_descriptor_or_the_time(void **state)
{
    (void)state;
    int ends[2];
    cli_child child;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    start(&child, true, "read line; exit 4");
    cli_child_end(&child, LONG_MS);
    assert_int_equal(cli_child_wait(&child, -1, 0), CLI_CHILD_ENDED);
    cli_child_close(&session, &child);

    start(&child, true, "sleep 100");
    assert_int_equal(cli_child_wait(&child, ends[0], 1), CLI_CHILD_TIMEOUT);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(cli_child_wait(&child, ends[0], -1), CLI_CHILD_WOKEN);
    cli_child_end(&child, LONG_MS);
    assert_int_equal(cli_child_wait(&child, ends[0], -1), CLI_CHILD_ENDED);
    cli_child_close(&session, &child);
    close(ends[0]);
    close(ends[1]);
}

/* ---- Signals ------------------------------------------------------------- */

static void signals_reach_the_child(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        cli_child child;
        int ready = children_say();
        char *script =
            test_format("trap 'exit 42' %d; echo >&9; while :; do sleep 0.05; done", numbers[i]);
        start(&child, true, script);
        assert_int_equal(cli_child_wait(&child, ready, LONG_MS), CLI_CHILD_WOKEN);
        kill(getpid(), numbers[i]);
        assert_int_equal(cli_child_wait(&child, -1, LONG_MS), CLI_CHILD_ENDED);
        assert_int_equal(cli_child_close(&session, &child), 42);
        children_only();
        close(ready);
        free(script);
    }
}

static volatile sig_atomic_t own_signals;

static void count_signal(int number)
{
    (void)number;
    own_signals++;
}

static void signals_are_ours_again_afterwards(void **state)
{
    (void)state;
    signal(SIGUSR1, count_signal);
    run("exit 0");
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(own_signals, 1);
}

static void a_child_in_the_background_does_not_get_our_signals(void **state)
{
    (void)state;
    cli_child child;
    signal(SIGUSR1, count_signal);
    start(&child, false, "sleep 100");
    raise(SIGUSR1);
    assert_int_equal(cli_child_wait(&child, -1, 20), CLI_CHILD_TIMEOUT);
    signal(SIGUSR1, SIG_DFL);
    cli_child_end(&child, LONG_MS);
    cli_child_close(&session, &child);
}

/* ---- Ending -------------------------------------------------------------- */

static void end_reaches_what_the_child_has_started(void **state)
{
    (void)state;
    cli_child child;
    int ready = children_say();
    start(&child, true, "sleep 100 & echo >&9; wait");
    children_only();
    assert_int_equal(heard(ready), '\n');
    cli_child_end(&child, LONG_MS);
    is_over_soon(ready);
    assert_int_equal(cli_child_close(&session, &child), 128 + SIGTERM);
}

static void end_kills_what_does_not_obey(void **state)
{
    (void)state;
    cli_child child;
    int ready = children_say();
    start(&child, true, "trap '' TERM; echo >&9; while :; do sleep 0.05; done");
    children_only();
    assert_int_equal(heard(ready), '\n');
    cli_child_end(&child, 10);
    is_over_soon(ready);
    assert_int_equal(cli_child_close(&session, &child), 128 + SIGKILL);
}

static void end_kills_what_a_dead_child_leaves_behind(void **state)
{
    (void)state;
    cli_child child;
    int ready = children_say();
    start(&child, true, "(trap '' TERM; echo >&9; sleep 100) & read x <&9; exit 6");
    children_only();
    assert_int_equal(heard(ready), '\n');
    assert_int_equal(cli_child_wait(&child, -1, LONG_MS), CLI_CHILD_ENDED);
    cli_child_end(&child, 10);
    is_over_soon(ready);
    assert_int_equal(cli_child_close(&session, &child), 6);
}

static void end_wakes_up_what_is_stopped(void **state)
{
    (void)state;
    cli_child child;
    start(&child, false, "kill -STOP $$; sleep 100");
    assert_int_equal(cli_child_wait(&child, -1, 20), CLI_CHILD_TIMEOUT);
    cli_child_end(&child, LONG_MS);
    assert_int_equal(cli_child_close(&session, &child), 128 + SIGTERM);
}

/* ---- Together ------------------------------------------------------------ */

static void run_many(void *argument, int index)
{
    (void)argument;
    for (int i = 0; i < 10; i++) {
        cli_child child;
        char *script = test_format("exit %d", index * 10 + i);
        start(&child, false, script);
        assert_int_equal(cli_child_wait(&child, -1, LONG_MS), CLI_CHILD_ENDED);
        assert_int_equal(cli_child_close(&session, &child), index * 10 + i);
        free(script);
    }
}

static void threads_run_children_side_by_side(void **state)
{
    (void)state;
    crew_run(8, run_many, NULL);
}

/* ---- When we are gone ---------------------------------------------------- */

static pid_t start_self(const char *script)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "run", "--run", "sh", "-c", script, NULL);
        _exit(99);
    }
    return pid;
}

static void children_do_not_outlive_us(void **state)
{
    (void)state;
    int ready = children_say();
    pid_t pid = start_self("sleep 100 & echo >&9; wait");
    children_only();
    assert_int_equal(heard(ready), '\n');
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    is_over_soon(ready);
}

/* ---- The terminal -------------------------------------------------------- */

typedef struct terminal {
    int fd;
    pid_t shell;
    char text[16384]; /* output since the last expect() */
} terminal;

static void type(const terminal *t, const char *text)
{
    assert_int_equal(write(t->fd, text, strlen(text)), strlen(text));
}

/* Reads until the text has come, and forgets the output before it. */
static void expect(terminal *t, const char *text)
{
    int64_t deadline = test_now_ms() + LONG_MS;
    char *found;
    while ((found = strstr(t->text, text)) == NULL) {
        size_t len = strlen(t->text);
        struct pollfd file = {t->fd, POLLIN, 0};
        ssize_t n = -1;
        if (poll(&file, 1, (int)(deadline - test_now_ms())) == 1)
            n = read(t->fd, t->text + len, sizeof t->text - 1 - len);
        if (n <= 0)
            fail_msg("no '%s' in: %s", text, t->text);
        t->text[len + (size_t)n] = '\0';
    }
    memmove(t->text, found + strlen(text), strlen(found + strlen(text)) + 1);
}

/* An interactive shell on a terminal, in which "run" is this program. */
static void open_shell(terminal *t)
{
    t->shell = forkpty(&t->fd, NULL, NULL, NULL);
    if (t->shell == 0) {
        setenv("PS1", "> ", 1);
        execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", NULL);
        _exit(99);
    }
    t->text[0] = '\0';
    expect(t, "> ");
}

static void close_shell(terminal *t)
{
    type(t, "\nexit 0\n");
    expect(t, "exit");
    int status;
    waitpid(t->shell, &status, 0);
    close(t->fd);
}

/* A command that prints the words "said WORD". The terminal echoes typed text, so the command
 * itself must not contain them. */
#define SAY(word) "echo s''aid " word "\n"

static void a_child_reads_from_the_terminal(void **state)
{
    (void)state;
    terminal t;
    open_shell(&t);
    type(&t, "\"$RUN\" --run sh -c 'read line; echo \"g\"ot $line'; " SAY("$?"));
    expect(&t, "\n");
    type(&t, "words\n");
    expect(&t, "got words");
    expect(&t, "said 0");
    type(&t, SAY("again")); /* the shell has its terminal back */
    expect(&t, "said again");
    close_shell(&t);
}

/* Waits until a cat that was started reads and prints. */
static void wait_for_cat(terminal *t)
{
    expect(t, "\n");
    type(t, "meow\n");
    expect(t, "meow\r\nmeow\r\n");
}

static void ctrl_c_ends_the_child(void **state)
{
    (void)state;
    terminal t;
    open_shell(&t);
    type(&t, "\"$RUN\" --run cat\n");
    wait_for_cat(&t);
    type(&t, "\003");
    expect(&t, "> ");
    type(&t, SAY("$?"));
    expect(&t, "said 130");
    close_shell(&t);
}

static void ctrl_c_ends_the_script_around_us(void **state)
{
    (void)state;
    terminal t;
    open_shell(&t);
    type(&t, "bash -c '\"$RUN\" --run cat; echo not\"\"ended'\n");
    wait_for_cat(&t);
    type(&t, "\003");
    expect(&t, "^C\r\n> "); /* nothing in between */
    type(&t, SAY("$?"));
    expect(&t, "said 130");
    close_shell(&t);
}

static void ctrl_z_stops_us_and_fg_goes_on(void **state)
{
    (void)state;
    terminal t;
    open_shell(&t);
    type(&t, "\"$RUN\" --run sh -c 'echo re\"\"ady; read line; echo \"g\"ot $line'\n");
    expect(&t, "ready");
    type(&t, "\032");
    expect(&t, "Stopped");
    type(&t, SAY("shell"));
    expect(&t, "said shell");
    type(&t, "bg; until jobs -s | grep 'Stopp[e]d'; do sleep 0.05; done\n"); /* it wants to read */
    expect(&t, "Stopped");
    type(&t, "fg\n");
    type(&t, "words\n");
    expect(&t, "got words");
    close_shell(&t);
}

/* ---- This program as a run verb ------------------------------------------ */

static int be_run_verb(const char *const *argv)
{
    cli_child child;
    cli_command command = {.argv = argv, .foreground = true};
    int failed = cli_child_start(&session, &command, &child);
    if (failed)
        return failed;
    cli_child_wait(&child, -1, -1);
    int exit = cli_child_close(&session, &child);
    cli_guard_stop();
    if (session.signal != 0) {
        signal(session.signal, SIG_DFL);
        kill(0, session.signal);
    }
    return exit;
}

static int stop_guard(void **state)
{
    (void)state;
    cli_guard_stop();
    return 0;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc > 2 && strcmp(argv[1], "--run") == 0)
        return be_run_verb((const char *const *)argv + 2);
    close_range(3, ~0U, 0); /* 9 must be free, see children_say() */
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0)
        return 1;
    self[len] = '\0';
    setenv("RUN", self, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_code_is_the_childs_own),
        cmocka_unit_test(exit_code_tells_the_signal_that_ended_it),
        cmocka_unit_test(what_cannot_be_run_is_127_or_126),
        cmocka_unit_test(child_leads_its_own_process_group),
        cmocka_unit_test(child_reads_the_input_it_is_given),
        cmocka_unit_test(child_writes_to_the_files_it_is_given),
        cmocka_unit_test(child_has_the_environment_it_is_given),
        cmocka_unit_test(child_can_die_of_a_broken_pipe),
        cmocka_unit_test(ignored_signals_stay_ignored),
        cmocka_unit_test(wait_ends_with_the_child_the_descriptor_or_the_time),
        cmocka_unit_test(signals_reach_the_child),
        cmocka_unit_test(signals_are_ours_again_afterwards),
        cmocka_unit_test(a_child_in_the_background_does_not_get_our_signals),
        cmocka_unit_test(end_reaches_what_the_child_has_started),
        cmocka_unit_test(end_kills_what_does_not_obey),
        cmocka_unit_test(end_kills_what_a_dead_child_leaves_behind),
        cmocka_unit_test(end_wakes_up_what_is_stopped),
        cmocka_unit_test(threads_run_children_side_by_side),
        cmocka_unit_test(children_do_not_outlive_us),
        cmocka_unit_test(a_child_reads_from_the_terminal),
        cmocka_unit_test(ctrl_c_ends_the_child),
        cmocka_unit_test(ctrl_c_ends_the_script_around_us),
        cmocka_unit_test(ctrl_z_stops_us_and_fg_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, stop_guard);
}
