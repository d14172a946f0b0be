/* SPDX-License-Identifier: MIT
 *
 * Three things can happen while a child runs, and one poll() waits for all of them: the child
 * ends or stops, we get a signal, the caller's descriptor becomes readable.
 *
 * A separate thread in waitid() reports the first: a SIGCHLD handler would have to be shared with
 * the rest of the program, and pidfds do not report stops. The thread leaves the zombie in place,
 * so that no other process can get its pid before we have read the report. The signal handler
 * writes into a pipe, so it does not matter which thread gets a signal.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "environment.h"
#include "group.h"
#include "guard.h"

enum {
    LEFTOVER_STEP_MS = 5,
    DEATH_MS = 1000, /* time to die of SIGKILL: a process that waits for a disk takes longer */
};

/* Milliseconds until the deadline, for poll(); -1: no deadline. */
static int time_left(int64_t deadline)
{
    int64_t left = deadline - cli_now_ms();
    if (deadline < 0)
        return -1;
    return left <= 0 ? 0 : left > 1000000000 ? 1000000000 : (int)left;
}

/* ---- Signals ------------------------------------------------------------- */

static const int passed_on[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

static struct sigaction before[PASSED_ON];
static int signals[2] = {-1, -1};

static void on_signal(int number)
{
    int reason = errno;
    char byte = (char)number;
    ssize_t n = write(signals[1], &byte, 1);
    (void)n; /* a full pipe holds thousands of signals: losing one does no harm */
    errno = reason;
}

static bool catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    if (pipe2(signals, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    for (int i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* ignored by nohup or a shell's &: the child ignores
                                                it, too */
            sigaction(passed_on[i], &action, NULL);
    }
    return true;
}

static void release_signals(void)
{
    for (int i = 0; i < PASSED_ON; i++)
        sigaction(passed_on[i], &before[i], NULL);
    close(signals[0]);
    close(signals[1]);
    signals[0] = signals[1] = -1;
}

/* ---- The terminal -------------------------------------------------------- */

/* SIGTTOU stops a background process that changes the terminal, unless the process blocks it. */
static void set_terminal(const cli_child *child, pid_t group, const struct termios *modes)
{
    sigset_t ttou, old;
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &ttou, &old);
    tcsetpgrp(child->terminal, group);
    if (modes != NULL)
        tcsetattr(child->terminal, TCSADRAIN, modes);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool has_terminal(const cli_child *child, pid_t group)
{
    return child->terminal >= 0 && tcgetpgrp(child->terminal) == group;
}

static void give_terminal(const cli_child *child)
{
    if (has_terminal(child, getpgrp()))
        set_terminal(child, child->pid, NULL);
}

static void take_terminal(const cli_child *child, const struct termios *modes)
{
    if (has_terminal(child, child->pid))
        set_terminal(child, getpgrp(), modes);
}

static void open_terminal(cli_child *child)
{
    child->terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (child->terminal >= 0 && tcgetattr(child->terminal, &child->modes) != 0) {
        close(child->terminal);
        child->terminal = -1;
    }
    give_terminal(child);
}

/* ---- Starting ------------------------------------------------------------ */

/* ENOENT, EACCES, or 0 for a file that can be executed. A folder that we may not search has
 * nothing for us. */
static int check_file(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return ENOENT;
    return S_ISREG(info.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : EACCES;
}

/* The same for a command in the folders of PATH; an empty one is the current folder. */
static int check_path(const char *name)
{
    const char *folders = getenv("PATH");
    int reason = ENOENT;
    for (const char *at = folders != NULL ? folders : "/bin:/usr/bin"; at != NULL && reason != 0;) {
        const char *end = strchrnul(at, ':');
        char *path = NULL;
        int len = (int)(end - at);
        if (asprintf(&path, "%.*s/%s", len > 0 ? len : 1, len > 0 ? at : ".", name) < 0)
            return ENOMEM;
        int found = check_file(path);
        free(path);
        if (found != ENOENT)
            reason = found;
        at = *end == ':' ? end + 1 : NULL;
    }
    return reason;
}

/* Why a command cannot be run, as a shell says it; 0: it can be, as far as is known. */
static int check_command(const char *name)
{
    return strchr(name, '/') != NULL ? check_file(name) : *name != '\0' ? check_path(name) : ENOENT;
}

int cli_child_check(const cli_session *cli, const char *name)
{
    int reason = check_command(name);
    if (reason == 0)
        return CLI_OK;
    return cli_fail(cli, reason == ENOENT ? 127 : 126, "cannot run %s: %s", name, strerror(reason));
}

/* Resets all signal handlers to SIG_DFL, ours and those of a program that runs us, before a signal
 * can reach them. Ignored signals stay ignored. */
static void reset_signals(const sigset_t *mask)
{
    struct sigaction action;
    for (int i = 0; i < PASSED_ON; i++)
        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            signal(passed_on[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static void set_files(const cli_command *command)
{
    if (command->input > 0)
        dup2(command->input, STDIN_FILENO);
    if (command->output > 0)
        dup2(command->output, STDOUT_FILENO);
    if (command->errors > 0)
        dup2(command->errors, STDERR_FILENO);
}

/* Waits until the parent has set up the group, its guard and the terminal; then goes on. */
static void be_command(const cli_command *command, int sync, const sigset_t *mask)
{
    char *const *argv = (char *const *)command->argv;
    char go;
    setpgid(0, 0);
    if (read(sync, &go, 1) != 1)
        _exit(1);
    reset_signals(mask);
    set_files(command);
    execvpe(argv[0], argv, command->environment);
    int reason = errno;
    ssize_t n = write(sync, &reason, sizeof reason);
    _exit(n < 0);
}

/* The command does not get the server's password, unless the user asks for it. */
static char **environment_for(const cli_session *cli, const cli_command *command)
{
    return cli_environment_without(command->environment,
                                   cli_flag(cli, "keep-password") ? "" : "TACKLE_PASSWORD");
}

static bool fork_with(const cli_command *command, int *sync, cli_child *child)
{
    sigset_t all, old;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    child->pid = fork();
    if (child->pid == 0)
        be_command(command, ends[1], command->mask != NULL ? command->mask : &old);
    int reason = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(ends[1]);
    *sync = ends[0];
    errno = reason;
    return child->pid > 0;
}

static bool fork_command(const cli_session *cli, const cli_command *command, int *sync,
                         cli_child *child)
{
    cli_command inheriting = *command;
    char **environment = environment_for(cli, command);
    inheriting.environment = environment;
    bool forked = environment != NULL && fork_with(&inheriting, sync, child);
    int reason = errno;
    free(environment);
    errno = reason;
    return forked;
}

/* The errno of a failed exec, or 0: a successful exec closes the other end of the pipe. */
static int let_go(int sync)
{
    int reason = 0;
    ssize_t n = send(sync, "", 1, MSG_NOSIGNAL);
    while (n >= 0 && (n = read(sync, &reason, sizeof reason)) < 0 && errno == EINTR)
        n = 0;
    return n < 0 ? errno : reason;
}

typedef struct report {
    int code; /* si_code: CLD_EXITED, CLD_STOPPED ... */
    int status;
} report;

/* Reports stops and the end of the child; the end is the last report. */
static bool report_next(const cli_child *child)
{
    siginfo_t info;
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WSTOPPED | WNOWAIT) != 0)
        return errno == EINTR;
    if (info.si_code == CLD_STOPPED)
        waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG);
    report news = {info.si_code, info.si_status};
    ssize_t n = write(child->events[1], &news, sizeof news);
    return n > 0 && info.si_code == CLD_STOPPED;
}

static void *watch_child(void *child)
{
    while (report_next(child))
        ;
    return NULL;
}

static bool start_watcher(cli_child *child)
{
    sigset_t all, old;
    if (pipe2(child->events, O_CLOEXEC) != 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int reason = pthread_create(&child->watcher, NULL, watch_child, child);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (reason != 0) {
        close(child->events[0]);
        close(child->events[1]);
        errno = reason;
    }
    return reason == 0;
}

static void release_child(cli_child *child)
{
    if (child->pid > 0)
        cli_guard_remove(child->pid);
    if (child->terminal >= 0)
        close(child->terminal);
    if (child->foreground)
        release_signals();
}

/* Too many processes or files, or too little memory: the command may work later. */
static bool is_our_trouble(int reason)
{
    return reason == EAGAIN || reason == ENOMEM || reason == EMFILE || reason == ENFILE;
}

static int give_up(const cli_session *cli, cli_child *child, const char *name, int reason)
{
    if (child->pid > 0) {
        kill(-child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
        take_terminal(child, NULL);
    }
    release_child(child);
    if (reason == EACCES && check_command(name) == ENOENT)
        reason = ENOENT; /* exec reports a folder of PATH that we may not search */
    int exit = reason == ENOENT ? 127 : is_our_trouble(reason) ? CLI_FAILURE : 126;
    return cli_fail(cli, exit, "cannot run %s: %s", name, strerror(reason));
}

int cli_child_start(const cli_session *cli, const cli_command *command, cli_child *child)
{
    const char *name = command->argv[0];
    int sync = -1;
    *child = (cli_child){.terminal = -1, .foreground = command->foreground};
    if (child->foreground && !catch_signals())
        return cli_fail(cli, CLI_FAILURE, "cannot run %s: %s", name, strerror(errno));
    if (!fork_command(cli, command, &sync, child))
        return give_up(cli, child, name, errno);
    setpgid(child->pid, child->pid);
    cli_guard_add(child->pid, command->grace_ms,
                  command->until_ms != 0 ? command->until_ms : CLI_GUARD_NEVER);
    if (child->foreground)
        open_terminal(child);
    int reason = let_go(sync);
    close(sync);
    if (reason == 0 && !start_watcher(child))
        reason = errno;
    return reason == 0 ? CLI_OK : give_up(cli, child, name, reason);
}

/* ---- Waiting ------------------------------------------------------------- */

static void pass_on(const cli_child *child)
{
    char number;
    while (read(signals[0], &number, 1) == 1) {
        if (number == SIGCONT)
            give_terminal(child);
        kill(-child->pid, number);
    }
}

static void go_on(const cli_child *child)
{
    give_terminal(child);
    kill(-child->pid, SIGCONT);
}

/* Stops our process group, as the terminal would have done if we had been in the foreground. The
 * kernel does not stop us if no process could continue us: then the child goes on at once. */
static void stop_with(const cli_child *child, int number)
{
    struct sigaction stop = {.sa_handler = SIG_DFL}, old;
    take_terminal(child, NULL);
    sigaction(number, &stop, &old);
    kill(0, number);
    sigaction(number, &old, NULL);
    go_on(child);
}

/* A child that stopped because it needed the terminal gets it now if we have it: `fg` came between
 * its stop and the report. */
static void follow_stop(const cli_child *child, int number)
{
    bool ours = has_terminal(child, getpgrp()) || has_terminal(child, child->pid);
    if (ours && (number == SIGTTIN || number == SIGTTOU))
        go_on(child);
    else if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
        stop_with(child, number);
}

static void read_report(cli_child *child)
{
    report news;
    if (read(child->events[0], &news, sizeof news) != (ssize_t)sizeof news)
        return;
    if (news.code == CLD_STOPPED) {
        if (child->foreground)
            follow_stop(child, news.status);
        return;
    }
    waitpid(child->pid, NULL, 0);
    child->ended = true;
    child->signal = news.code == CLD_EXITED ? 0 : news.status;
    child->exit = news.code == CLD_EXITED ? news.status : 128 + news.status;
}

cli_child_event cli_child_wait(cli_child *child, int wake, int64_t timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? -1 : cli_now_ms() + timeout_ms;
    while (!child->ended) {
        struct pollfd files[] = {
            {child->events[0], POLLIN, 0},
            {child->foreground ? signals[0] : -1, POLLIN, 0},
            {wake, POLLIN, 0},
        };
        int ready = poll(files, 3, time_left(deadline));
        if (ready == 0)
            return CLI_CHILD_TIMEOUT;
        if (ready > 0 && files[1].revents != 0)
            pass_on(child);
        if (ready > 0 && files[0].revents != 0)
            read_report(child);
        else if (ready > 0 && files[2].revents != 0)
            return CLI_CHILD_WOKEN;
    }
    return CLI_CHILD_ENDED;
}

/* ---- Ending -------------------------------------------------------------- */

bool cli_child_leaves(const cli_child *child)
{
    while (waitpid(-child->pid, NULL, WNOHANG) > 0)
        ; /* we inherit orphans when we are the first process of a container */
    return cli_group_is_there(child->pid);
}

/* Waits for the child, which its thread reports, and then for the rest of its group, whose end
 * nobody reports. */
static bool wait_for_group(cli_child *child, int64_t deadline)
{
    while (!child->ended && time_left(deadline) > 0)
        cli_child_wait(child, -1, time_left(deadline));
    bool left = !child->ended;
    while (child->ended && (left = cli_child_leaves(child)) && time_left(deadline) > 0)
        nanosleep(&(struct timespec){.tv_nsec = LEFTOVER_STEP_MS * 1000000L}, NULL);
    return !left;
}

void cli_child_end(cli_child *child, int64_t grace_ms)
{
    kill(-child->pid, SIGTERM);
    kill(-child->pid, SIGCONT); /* a stopped process could not react to SIGTERM */
    if (wait_for_group(child, cli_now_ms() + grace_ms))
        return;
    kill(-child->pid, SIGKILL);
    cli_child_wait(child, -1, -1);
    wait_for_group(child, cli_now_ms() + DEATH_MS);
}

int cli_child_close(cli_session *cli, cli_child *child)
{
    pthread_join(child->watcher, NULL);
    close(child->events[0]);
    close(child->events[1]);
    if (child->signal == SIGINT && has_terminal(child, child->pid))
        cli->signal = SIGINT;
    take_terminal(child, child->signal != 0 ? &child->modes : NULL);
    release_child(child);
    return child->exit;
}
