/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "group.h"

enum {
    GROUPS_MAX = 1024, /* most children at a time; more than any user runs */
    STEP_MS = 10,      /* first pause between two checks; later pauses are longer */
    STEP_MAX_MS = 200,
    EARLY_MAX_MS = 500,
    DEATH_MS = 10000, /* time to die of SIGKILL: a process that waits for a disk takes longer */
};

typedef enum kind {
    GROUP_RUNS,
    GROUP_UNTIL, /* the group may live until a later moment */
    GROUP_ENDED,
    SETTLED,
} kind;

/* All fields have the same size, so that there is no padding. */
typedef struct message {
    int64_t kind;
    int64_t group;
    int64_t grace_ms;
    int64_t until_ms;
} message;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t guard;
static int channel = -1;
static bool is_command;

/* The command that the guard executes at the end; argv NULL: none. The guard has its own copy. */
static struct {
    const char *const *argv;
    char *const *environment;
    const char *input;
} debt;

int64_t cli_guard_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t cli_guard_end_of(int64_t lease_ms, int64_t left_ms)
{
    int64_t early = lease_ms / 10 < EARLY_MAX_MS ? lease_ms / 10 : EARLY_MAX_MS;
    return cli_guard_now_ms() + left_ms - early;
}

/* ---- In the guard: only what is allowed after fork() in a program with threads ---- */

typedef struct group_list {
    pid_t groups[GROUPS_MAX];
    int64_t grace_ms[GROUPS_MAX];
    int64_t until_ms[GROUPS_MAX];
    bool there[GROUPS_MAX];
    size_t count;
} group_list;

static void drop_group(group_list *list, size_t i)
{
    size_t last = --list->count;
    list->groups[i] = list->groups[last];
    list->grace_ms[i] = list->grace_ms[last];
    list->until_ms[i] = list->until_ms[last];
    list->there[i] = list->there[last];
}

static void note_group(group_list *list, const message *news)
{
    if (news->kind == SETTLED)
        debt.argv = NULL;
    if (news->kind == GROUP_RUNS && list->count < GROUPS_MAX) {
        list->groups[list->count] = (pid_t)news->group;
        list->grace_ms[list->count] = news->grace_ms;
        list->until_ms[list->count++] = news->until_ms;
        return;
    }
    for (size_t i = list->count; i-- > 0;) {
        if (list->groups[i] != (pid_t)news->group)
            continue;
        if (news->kind == GROUP_UNTIL)
            list->until_ms[i] = news->until_ms;
        else if (news->kind == GROUP_ENDED)
            drop_group(list, i);
    }
}

static void signal_all(const group_list *list, int number)
{
    for (size_t i = 0; i < list->count; i++)
        kill(-list->groups[i], number);
}

/* Removes groups that have ended from the list, and kills groups whose time is up. Returns how long
 * to sleep until the next check, at most `step_ms`. */
static int64_t look_after(group_list *list, int64_t step_ms)
{
    cli_groups_look(list->groups, list->count, list->there);
    int64_t now = cli_guard_now_ms();
    for (size_t i = list->count; i-- > 0;)
        if (!list->there[i])
            drop_group(list, i);
    for (size_t i = 0; i < list->count; i++) {
        int64_t left = list->until_ms[i] - now;
        if (left <= 0)
            kill(-list->groups[i], SIGKILL);
        else if (left < step_ms)
            step_ms = left;
    }
    return step_ms;
}

/* Ends all groups. Returns whether no process of them is left. */
static bool end_all(group_list *list)
{
    int64_t now = cli_guard_now_ms(), last = now;
    signal_all(list, SIGTERM);
    signal_all(list, SIGCONT); /* a stopped process could not react to SIGTERM */
    for (size_t i = 0; i < list->count; i++) {
        if (list->until_ms[i] > now + list->grace_ms[i])
            list->until_ms[i] = now + list->grace_ms[i];
        if (list->until_ms[i] > last)
            last = list->until_ms[i];
    }
    for (int64_t step = STEP_MS; cli_guard_now_ms() < last + DEATH_MS;) {
        int64_t pause = look_after(list, step);
        if (list->count == 0)
            return true;
        nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000}, NULL);
        step = step < STEP_MAX_MS / 2 ? 2 * step : STEP_MAX_MS;
    }
    return list->count == 0;
}

/* Executes the command that gives back. Its input, a secret, waits in a pipe. */
static void give_back(void)
{
    sigset_t none;
    int ends[2];
    if (debt.argv == NULL || !is_command || pipe(ends) != 0 ||
        write(ends[1], debt.input, strlen(debt.input)) != (ssize_t)strlen(debt.input))
        return;
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve("/proc/self/exe", (char *const *)debt.argv, debt.environment);
}

/* The guard has its own session: signals of the terminal and to our group do not reach it. */
static void be_guard(const int *ends)
{
    static group_list list;
    message news;
    ssize_t n;
    setsid();
    prctl(PR_SET_NAME, "tackle-guard");
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close_range(1, ~0U, 0); /* closes pipes, whose readers would wait for us */
    while ((n = read(STDIN_FILENO, &news, sizeof news)) != 0)
        if (n == (ssize_t)sizeof news)
            note_group(&list, &news);
        else if (n > 0 || errno != EINTR)
            break;
    if (end_all(&list))
        give_back();
    _exit(0);
}

/* ---- In the command ------------------------------------------------------ */

static void start_guard(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    guard = fork();
    if (guard == 0)
        be_guard(ends);
    close(ends[0]);
    channel = ends[1];
}

/* Writes a whole message or nothing: a pipe never splits so few bytes. */
static void tell_guard(const message *news)
{
    while (write(channel, news, sizeof *news) < 0 && errno == EINTR)
        ;
}

void cli_guard_add(pid_t group, int64_t grace_ms, int64_t until_ms)
{
    pthread_once(&once, start_guard);
    tell_guard(
        &(message){GROUP_RUNS, group, grace_ms > 0 ? grace_ms : CLI_GUARD_GRACE_MS, until_ms});
}

void cli_guard_until(pid_t group, int64_t until_ms)
{
    tell_guard(&(message){GROUP_UNTIL, group, 0, until_ms});
}

void cli_guard_remove(pid_t group)
{
    tell_guard(&(message){GROUP_ENDED, group, 0, 0});
}

void cli_guard_is_command(void)
{
    is_command = true;
}

void cli_guard_owe(const char *const *argv, char *const *environment, const char *input)
{
    debt.argv = argv;
    debt.environment = environment;
    debt.input = input;
}

void cli_guard_settle(void)
{
    debt.argv = NULL;
    tell_guard(&(message){SETTLED, 0, 0, 0});
}

void cli_guard_stop(void)
{
    if (channel < 0)
        return;
    close(channel);
    channel = -1;
    once = (pthread_once_t)PTHREAD_ONCE_INIT;
    while (debt.argv == NULL && guard > 0 && waitpid(guard, NULL, 0) < 0 && errno == EINTR)
        ;
}
