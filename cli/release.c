/* SPDX-License-Identifier: MIT */
#include "release.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "guard.h"

enum { SOON_MS = 1000 };

/* ---- When we are killed -------------------------------------------------- */

static const char *const variables[] = {"TACKLE_URL", "TACKLE_NODES"};
enum { VARIABLES = sizeof variables / sizeof *variables };

/* Whether the URL names a server that ends with the program. */
static bool is_in_memory(const char *url)
{
    return strcmp(url, "embedded:") == 0 || strncmp(url, "embedded:?", 10) == 0;
}

static bool one_is_in_memory(const char *urls)
{
    for (const char *at = urls; (at = strstr(at, "embedded:")) != NULL; at += 9)
        if (at[9] == '\0' || at[9] == ',' || at[9] == '?')
            return true;
    return false;
}

/* "--timeout=5s" for a global option that another call needs, too; NULL for other options. */
static char *global_word(const cli_given *given)
{
    static const char *const wanted[] = {"namespace", "timeout", "cacert",
                                         "cert",      "key",     "insecure"};
    char *word = NULL;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(given->option->name, wanted[i]) == 0 && cli_is_global(given->option) &&
            asprintf(&word, "--%s%s%s", wanted[i], given->text != NULL ? "=" : "",
                     given->text != NULL ? given->text : "") < 0)
            return NULL;
    return word;
}

void cli_release_free(cli_release *plan)
{
    for (size_t i = 1; plan->argv != NULL && plan->argv[i] != NULL; i++)
        free((char *)plan->argv[i]);
    free(plan->argv);
    cli_environment_free(plan->environment, variables, VARIABLES);
    *plan = (cli_release){0};
}

static bool plan_words(const cli_session *cli, const char *const *words, cli_release *plan)
{
    size_t count = 0, n = 0;
    while (words[count] != NULL)
        count++;
    plan->argv = calloc(cli->ngiven + count + 3, sizeof *plan->argv);
    if (plan->argv == NULL)
        return false;
    plan->argv[n++] = "tackle";
    for (size_t i = 0; i < cli->ngiven; i++)
        if ((plan->argv[n] = global_word(&cli->given[i])) != NULL)
            n++;
    plan->argv[n++] = strdup(cli->component->name);
    for (size_t i = 0; plan->argv[n - 1] != NULL && i < count; i++)
        plan->argv[n++] = strdup(words[i]);
    return plan->argv[n - 1] != NULL;
}

void cli_release_plan(cli_session *cli, const char *const *words, const char *nodes,
                      const char *token, cli_release *plan)
{
    const char *url = "";
    *plan = (cli_release){0};
    if (nodes != NULL ? one_is_in_memory(nodes) : cli_url(cli, &url) != CLI_OK || is_in_memory(url))
        return;
    const tkl_bytes values[VARIABLES] = {tkl_str(url), tkl_str(nodes != NULL ? nodes : "")};
    plan->environment = cli_environment_new(variables, values, VARIABLES);
    if (plan->environment != NULL && plan_words(cli, words, plan))
        cli_guard_owe(plan->argv, plan->environment, token);
    else
        cli_release_free(plan);
}

/* ---- When the command has ended ------------------------------------------ */

/* The call that gives back; its thread may outlive the caller. */
static struct {
    int (*give_back)(void *arg);
    void *arg;
    int code;
    char message[1024];
    int over; /* end of a pipe, closed when the call ends */
} call;

static void *give_back_now(void *unused)
{
    call.code = call.give_back(call.arg);
    snprintf(call.message, sizeof call.message, "%s", tkl_errmsg());
    close(call.over);
    return unused;
}

/* Whether the other end of the pipe was closed in time. */
static bool wait_for_end(int fd)
{
    struct pollfd file = {.fd = fd, .events = POLLIN};
    int ready;
    while ((ready = poll(&file, 1, SOON_MS)) < 0 && errno == EINTR)
        ;
    return ready > 0;
}

int cli_release_soon(int (*give_back)(void *arg), void *arg, const char **message)
{
    sigset_t all, old;
    pthread_t thread;
    int ends[2] = {-1, -1};
    call.give_back = give_back;
    call.arg = arg;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pipe2(ends, O_CLOEXEC) == 0;
    call.over = ends[1];
    started = started && pthread_create(&thread, NULL, give_back_now, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    *message = call.message;
    if (!started) {
        give_back_now(NULL);
        close(ends[0]);
        return call.code;
    }
    bool ended = wait_for_end(ends[0]);
    if (ended)
        pthread_join(thread, NULL);
    else
        *message = "the server does not answer";
    close(ends[0]);
    return ended ? call.code : TKL_ETIMEOUT;
}
