/* SPDX-License-Identifier: MIT
 *
 * What the verbs of locks, semaphores and redlocks have in common: acquiring with patience, and
 * running a command while something is held.
 */
#ifndef TKL_CLI_HOLD_H
#define TKL_CLI_HOLD_H

#include "cli.h"

/* How to deal with a kind of handle. */
typedef struct cli_hold_kind {
    const char *variable; /* of the command's environment, for the name of what is held */
    const char *busy;     /* why it was not to be had */
    int (*acquire)(void *handle, int64_t wait_ms);
    void (*cancel)(void *handle); /* makes acquire, in another thread, end with TKL_BUSY */
    int (*release)(void *handle);
    void (*token)(void *handle, char token[TKL_TOKEN_SIZE]);
    uint64_t (*fence)(void *handle); /* NULL: it has none */
} cli_hold_kind;

typedef struct cli_hold {
    const cli_hold_kind *kind;
    void *handle;
    int lost; /* an eventfd, readable once it is lost */
} cli_hold;

/* Lines of the tables of options. */
#define CLI_HOLD_TTL                                                                   \
    {                                                                                  \
        "ttl", CLI_DURATION, "DURATION", "lease: how long a crash blocks others (30s)" \
    }
#define CLI_HOLD_LABEL                                                   \
    {                                                                    \
        "label", CLI_TEXT, "TEXT", "shown to those who ask who holds it" \
    }
#define CLI_HOLD_REPLICAS                                                             \
    {                                                                                 \
        "replicas", CLI_INTEGER, "N", "counts only once so many replicas have it (0)" \
    }
#define CLI_HOLD_TRY                                                           \
    {                                                                          \
        "wait", CLI_DURATION, "DURATION", "wait up to this long (0: try once)" \
    }
#define CLI_HOLD_WAIT                                                                     \
    {                                                                                     \
        "wait", CLI_DURATION, "DURATION", "wait up to this long; 0 tries once (no limit)" \
    }
#define CLI_HOLD_ON_LOST                                               \
    {                                                                  \
        "on-lost", CLI_CHOICE, "kill|warn",                            \
            "when it is lost: end the command, or let it go on (kill)" \
    }
#define CLI_HOLD_GRACE                                               \
    {                                                                \
        "grace", CLI_DURATION, "DURATION",                           \
            "when ending the command: from SIGTERM to SIGKILL (10s)" \
    }

/* --ttl; 64 when it is 0. */
int cli_hold_ttl(const cli_session *cli, int64_t *ttl_ms);

/* --replicas; 64 when it makes no sense. */
int cli_hold_replicas(const cli_session *cli, int *replicas);

/* --label; for run the command, or the end of it when that is long. */
const char *cli_hold_label(const cli_session *cli);

/* Acquires. When a signal ends the wait, the line is left, what was had is given back, and the
 * program dies of that signal in the end. Exit code 1 when it is busy. */
int cli_hold_acquire(cli_session *cli, const cli_hold *hold, int64_t wait_ms);

/* The verb "run NAME -- COMMAND [ARG...]": first init, then open the handle with a callback that
 * calls lost, then run, then close the handle, then done. */
int cli_hold_init(const cli_session *cli, const cli_hold_kind *kind, cli_hold *hold);
void cli_hold_lost(const cli_hold *hold); /* from any thread */
int cli_hold_run(cli_session *cli, const cli_hold *hold);
void cli_hold_done(const cli_hold *hold);

/* For its help. */
#define CLI_HOLD_RUN_DETAILS                                                         \
    "COMMAND and all that it starts are one process group, which gets the signals\n" \
    "that tackle gets. The exit code is COMMAND's, 128+N when signal N ended it;\n"  \
    "75: not had in time; 76: lost, COMMAND was ended; 69: server unreachable;\n"    \
    "126, 127: COMMAND cannot be run, was not found."

#endif
