/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "child.h"
#include "guard.h"
#include "out.h"
#include "patience.h"
#include "release.h"

enum {
    GRACE_MS = 10000,
    LABEL_MAX = 256,
};

/* ---- Options ------------------------------------------------------------- */

int64_t cli_hold_lease(const cli_session *cli)
{
    return cli_number(cli, "lease", CLI_HOLD_LEASE_MS);
}

int cli_hold_replicas(const cli_session *cli, int *replicas)
{
    int64_t number = cli_number(cli, "replicas", 0);
    *replicas = (int)number;
    return number >= 0 && number <= INT_MAX ? CLI_OK : cli_usage(cli, "invalid --replicas");
}

const char *cli_hold_label(const cli_session *cli)
{
    const char *command = cli->argc > 1 ? cli->argv[1] : "";
    size_t len = strlen(command);
    return cli_text(cli, "label", len > LABEL_MAX ? command + len - LABEL_MAX : command);
}

/* ---- Acquiring ----------------------------------------------------------- */

/* "build7, pid 12 (nightly)"; the caller frees. */
static char *describe_holder(const tkl_holder *holder)
{
    char *host = cli_escape(holder->host, false), *label = cli_escape(holder->label, false);
    char *text = NULL;
    bool named = label != NULL && *label != '\0';
    if (asprintf(&text, "%s, pid %" PRId64 "%s%s%s", host != NULL ? host : "", holder->pid,
                 named ? " (" : "", named ? label : "", named ? ")" : "") < 0)
        text = NULL;
    free(host);
    free(label);
    return text;
}

/* Names the holder in a sentence, which the caller frees. NULL: not known. */
static char *describe_holders(const cli_hold *hold, const tkl_holders *holders)
{
    char *text = NULL, since[CLI_DURATION_SIZE];
    if (holders->count == 0)
        return NULL;
    if (hold->kind->limited)
        return asprintf(&text, "no permit is free: %" PRId64 " taken", holders->held) >= 0 ? text
                                                                                           : NULL;
    char *first = describe_holder(&holders->items[0]);
    const char *who = first != NULL ? first : "another holder";
    cli_duration_text(holders->items[0].since_ms, since);
    int n = holders->held > 1
                ? asprintf(&text, "held by %" PRId64 " readers, one is %s", holders->held, who)
                : asprintf(&text, "held by %s for %s", who, since);
    free(first);
    return n >= 0 ? text : NULL;
}

/* Number of waiters before this process in the line; -1: it is not in the line. */
static int64_t waiters_before_us(const tkl_holders *holders)
{
    for (size_t i = 0; i < holders->line_count; i++)
        if (holders->line[i].pid == getpid())
            return (int64_t)i;
    return -1;
}

/* Called once when the wait has lasted for a second. */
static void say_waiting(void *arg)
{
    const cli_hold *hold = arg;
    tkl_holders *holders = NULL;
    if (hold->kind->show == NULL || hold->kind->show(hold->handle, &holders) != TKL_OK)
        return;
    char *who = describe_holders(hold, holders);
    int64_t before = waiters_before_us(holders);
    if (who != NULL && before >= 0)
        fprintf(stderr, "tackle: waiting: %s; %" PRId64 " before us\n", who, before);
    free(who);
    tkl_holders_free(holders);
}

static void interrupt_waits(void *arg)
{
    const cli_hold *hold = arg;
    for (size_t i = 0; i < hold->count; i++)
        tkl_interrupt(hold->clients[i]);
}

/* A signal ended the wait, perhaps just after the lock was acquired. */
static int end_by_signal(cli_session *cli, const cli_hold *hold, int code)
{
    if (code == TKL_OK)
        hold->kind->release(hold->handle);
    return cli_end_of_signal(cli, cli_patience_signal());
}

/* Reports that it is busy, and who holds it. */
static int end_busy(const cli_session *cli, const cli_hold *hold)
{
    tkl_holders *holders = NULL;
    char *who = NULL;
    if (hold->kind->show != NULL && hold->kind->show(hold->handle, &holders) == TKL_OK)
        who = describe_holders(hold, holders);
    tkl_holders_free(holders);
    cli_fail(cli, CLI_NOT_ACQUIRED, "%s", who != NULL ? who : "held by another holder");
    free(who);
    return CLI_NO;
}

int cli_hold_acquire(cli_session *cli, cli_hold *hold, int64_t wait_ms)
{
    bool tell = isatty(STDERR_FILENO) && !cli->json;
    cli_patience_tell(tell ? say_waiting : NULL);
    int failed = cli_patience_begin(cli, interrupt_waits, hold);
    if (failed)
        return failed;
    int code = hold->kind->acquire(hold->handle, wait_ms);
    cli_patience_end(cli);
    if (cli_patience_signal() != 0)
        return end_by_signal(cli, hold, code);
    return code == TKL_BUSY ? end_busy(cli, hold) : cli_end(cli, code);
}

/* ---- The command --------------------------------------------------------- */

/* Removes the fence and token of an outer `run`, which are not ours. */
static void set_environment(const cli_session *cli, const cli_hold *hold)
{
    char token[TKL_TOKEN_SIZE], fence[24];
    hold->kind->token(hold->handle, token);
    setenv(hold->kind->variable, cli->argv[0], 1);
    setenv("TACKLE_TOKEN", token, 1);
    unsetenv("TACKLE_FENCE");
    if (hold->kind->fence == NULL)
        return;
    snprintf(fence, sizeof fence, "%" PRIu64, hold->kind->fence(hold->handle));
    setenv("TACKLE_FENCE", fence, 1);
}

static bool is_deadly(const cli_session *cli, const cli_hold *hold)
{
    return hold->kind->always_ends || strcmp(cli_text(cli, "on-lost", "kill"), "kill") == 0;
}

static void say_lost(const cli_session *cli, const char *consequence)
{
    char *name = cli_escape(tkl_str(cli->argv[0]), false);
    cli_fail(cli, CLI_LOST, "lost %s: %s", name != NULL ? name : "it", consequence);
    free(name);
}

/* The moment by which the command must have ended if we die. If the guard does not know the last
 * renewal yet, the lease ends even later. */
static int64_t end_of_lease(const cli_session *cli, const cli_hold *hold)
{
    return cli_guard_end_of(cli_hold_lease(cli), hold->kind->left_ms(hold->handle));
}

/* Waits for the command to end. When the hold is lost, ends the command, or lets it run on if the
 * options say so. Returns whether the hold was lost. */
static bool watch_command(const cli_session *cli, const cli_hold *hold, cli_child *child)
{
    int64_t step = cli_hold_lease(cli) / 10 + 1;
    cli_child_event event;
    while ((event = cli_child_wait(child, hold->lost, step)) == CLI_CHILD_TIMEOUT)
        cli_guard_until(child->pid, end_of_lease(cli, hold));
    if (event == CLI_CHILD_ENDED)
        return false;
    if (is_deadly(cli, hold)) {
        say_lost(cli, "ending the command");
        cli_child_end(child, cli_number(cli, "grace", GRACE_MS));
    } else {
        say_lost(cli, "the command goes on without it");
        cli_guard_until(child->pid, CLI_GUARD_NEVER);
        cli_child_wait(child, -1, -1);
    }
    cli_guard_settle();
    return true;
}

/* Releases the hold; returns whether it was not ours any more. If the server does not answer, ends
 * the program with the exit code: closing the handle would wait for the server again. */
static bool release_hold(const cli_session *cli, const cli_hold *hold, int exit)
{
    const char *message;
    int code = cli_release_soon(hold->kind->release, hold->handle, &message);
    if (code == TKL_OK || code == TKL_NOTOWNER)
        cli_guard_settle();
    if (code == TKL_NOTOWNER)
        say_lost(cli, "the command ended without it");
    else if (code != TKL_OK) {
        cli_fail(cli, CLI_OK, "not released yet, it ends with its lease at the latest: %s",
                 message);
        cli_leave(cli, exit);
    }
    return code == TKL_NOTOWNER;
}

/* Runs the command and releases the hold. Returns the exit code of the program. */
static int run_command(cli_session *cli, cli_hold *hold)
{
    const char *verb = hold->kind->gives_back != NULL ? hold->kind->gives_back : "release";
    const char *const words[] = {verb, "--", cli->argv[0], "-", NULL};
    int64_t grace_ms = cli_number(cli, "grace", GRACE_MS);
    char token[TKL_TOKEN_SIZE];
    cli_child child;
    cli_release plan;
    cli_command command = {
        .argv = &cli->argv[1],
        .foreground = true,
        .grace_ms = grace_ms > 0 ? grace_ms : 1,
        .until_ms = end_of_lease(cli, hold),
    };
    hold->kind->token(hold->handle, token);
    cli_release_plan(cli, words, hold->nodes, token, &plan);
    int exit = cli_child_start(cli, &command, &child);
    if (exit == CLI_OK) {
        if (cli_patience_signal() != 0) /* the signal came before the child could get it */
            kill(-child.pid, cli_patience_signal());
        hold->was_lost = watch_command(cli, hold, &child);
        exit = cli_child_close(cli, &child);
        if (!hold->was_lost)
            hold->was_lost = release_hold(cli, hold, exit);
        if (hold->was_lost && is_deadly(cli, hold))
            exit = CLI_LOST;
    } else {
        release_hold(cli, hold, exit);
    }
    cli_release_free(&plan);
    return exit;
}

/* ---- The verb ------------------------------------------------------------ */

int cli_hold_init(const cli_session *cli, cli_hold *hold)
{
    hold->lost = eventfd(0, EFD_CLOEXEC);
    return hold->lost >= 0 ? CLI_OK : cli_fail(cli, CLI_FAILURE, "eventfd: %s", strerror(errno));
}

void cli_hold_lost(const cli_hold *hold)
{
    eventfd_write(hold->lost, 1);
}

void cli_hold_done(const cli_hold *hold)
{
    if (hold->lost >= 0)
        close(hold->lost);
}

int cli_hold_run(cli_session *cli, cli_hold *hold)
{
    int failed = cli_hold_acquire(cli, hold, cli_number(cli, "wait", -1));
    if (failed)
        return failed == CLI_NO ? CLI_NOT_ACQUIRED : failed;
    hold->was_held = true;
    set_environment(cli, hold);
    return run_command(cli, hold);
}
