/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    GROUPS_MAX = 1024, /* children at a time; more than anybody's concurrency */
    GRACE_MS = 5000,   /* between SIGTERM and SIGKILL */
    STEP_MS = 20,
};

typedef struct message {
    pid_t group;
    int running; /* 0 or 1: as wide as the other, so that nothing lies between */
} message;

_Static_assert(sizeof(message) == sizeof(pid_t) + sizeof(int), "bytes that nobody has set");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t guard;
static int channel = -1;

/* ---- In the guard -------------------------------------------------------- */

typedef struct group_list {
    pid_t groups[GROUPS_MAX];
    size_t count;
} group_list;

static void note(group_list *list, const message *news)
{
    if (news->running && list->count < GROUPS_MAX) {
        list->groups[list->count++] = news->group;
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        if (!news->running && list->groups[i] == news->group)
            list->groups[i--] = list->groups[--list->count];
}

/* Whether anybody was there to get it. */
static bool signal_all(const group_list *list, int number)
{
    bool reached = false;
    for (size_t i = 0; i < list->count; i++)
        reached |= kill(-list->groups[i], number) == 0;
    return reached;
}

static void end_all(const group_list *list)
{
    signal_all(list, SIGTERM);
    signal_all(list, SIGCONT); /* what is stopped could not obey */
    for (int waited = 0; waited < GRACE_MS && signal_all(list, 0); waited += STEP_MS)
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    signal_all(list, SIGKILL);
}

/* Only what is allowed after fork() in a program with threads. The session of its own keeps it
 * out of reach of the terminal and of whoever kills our process group. */
static void be_guard(const int *ends)
{
    static group_list list;
    message news;
    ssize_t n;
    setsid();
    prctl(PR_SET_NAME, "tackle-guard");
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close_range(1, ~0U, 0); /* a pipe's reader waits for our end, too */
    while ((n = read(STDIN_FILENO, &news, sizeof news)) != 0)
        if (n == (ssize_t)sizeof news)
            note(&list, &news);
        else if (n > 0 || errno != EINTR)
            break;
    end_all(&list);
    _exit(0);
}

/* ---- In the command ------------------------------------------------------ */

static void start(void)
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

/* Whole messages only: a pipe takes so few bytes at once or not at all. */
static void tell(pid_t group, bool running)
{
    message news = {.group = group, .running = running};
    pthread_once(&once, start);
    while (write(channel, &news, sizeof news) < 0 && errno == EINTR)
        ;
}

void cli_guard_add(pid_t group)
{
    tell(group, true);
}

void cli_guard_remove(pid_t group)
{
    tell(group, false);
}

void cli_guard_stop(void)
{
    if (channel < 0)
        return;
    close(channel);
    channel = -1;
    while (guard > 0 && waitpid(guard, NULL, 0) < 0 && errno == EINTR)
        ;
}
