/* SPDX-License-Identifier: MIT */
#include "patience.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { CANCEL_MS = 2000, TELL_MS = 1000 };

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static volatile sig_atomic_t first;
static int news[2] = {-1, -1}; /* pipe with the numbers of signals; 0: the wait is over */
static pthread_t watcher;
static void (*cancel_wait)(void *arg);
static void (*tell_wait)(void *arg);
static void *cancel_arg;

/* ---- Catching ------------------------------------------------------------ */

static void on_signal(int number)
{
    int reason = errno;
    char byte = (char)number;
    if (first == 0)
        first = number;
    ssize_t n = write(news[1], &byte, 1);
    (void)n; /* a full pipe has enough signals */
    errno = reason;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

int cli_patience_signal(void)
{
    return first;
}

/* ---- Cancelling ---------------------------------------------------------- */

/* The next signal; 0 when the wait is over. -1: neither came in time. */
static int next_news(int timeout_ms)
{
    struct pollfd file = {.fd = news[0], .events = POLLIN};
    char number;
    int ready;
    while ((ready = poll(&file, 1, timeout_ms)) < 0 && errno == EINTR)
        ;
    return ready > 0 && read(news[0], &number, 1) == 1 ? number : -1;
}

static void *watch_signals(void *unused)
{
    int number = next_news(tell_wait != NULL ? TELL_MS : -1);
    if (number < 0) {
        tell_wait(cancel_arg);
        number = next_news(-1);
    }
    if (number == 0)
        return unused;
    cancel_wait(cancel_arg);
    if (next_news(CANCEL_MS) == 0)
        return unused;
    signal(number, SIG_DFL);
    kill(getpid(), number);
    return unused;
}

/* ---- From outside -------------------------------------------------------- */

void cli_patience_tell(void (*tell)(void *arg))
{
    tell_wait = tell;
}

int cli_patience_begin(const cli_session *cli, void (*cancel)(void *arg), void *arg)
{
    if (cli->sink != NULL)
        return CLI_OK;
    cancel_wait = cancel;
    cancel_arg = arg;
    /* A second wait has the same pipe: a signal that came between the two cancels it. */
    int reason = news[0] < 0 && pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0 ? errno : 0;
    if (reason == 0)
        reason = pthread_create(&watcher, NULL, watch_signals, NULL);
    if (reason != 0)
        return cli_fail(cli, CLI_FAILURE, "cannot wait: %s", strerror(reason));
    catch_signals();
    return CLI_OK;
}

void cli_patience_end(const cli_session *cli)
{
    if (cli->sink != NULL)
        return;
    ssize_t n = write(news[1], "", 1);
    (void)n; /* if the pipe is full of signals, the watcher is about to end us */
    pthread_join(watcher, NULL);
}
