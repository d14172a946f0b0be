/* SPDX-License-Identifier: MIT
 *
 * Shared by the verbs of locks, semaphores and redlocks: acquiring with a wait that signals can
 * end, and running a command while something is held.
 */
#ifndef TKL_CLI_HOLD_H
#define TKL_CLI_HOLD_H

#include "cli.h"

/* How to open a handle. All zero means the defaults. */
typedef struct cli_hold_options {
    int64_t lease_ms;
    int64_t limit; /* semaphores only */
    bool shared;   /* locks only */
    const char *label;
    int replicas;
    struct cli_hold *watch; /* gets cli_hold_lost() on a loss; NULL: none, and leases are not
                               renewed */
} cli_hold_options;

/* How to deal with a kind of handle. */
typedef struct cli_hold_kind {
    const char *variable;   /* environment variable of the command for the name of the lock or
                             semaphore */
    const char *gives_back; /* verb that gives back by the token; NULL: "release" */
    bool always_ends;       /* a loss ends the command: there is no --on-lost */
    bool limited;           /* it has a limit */
    int (*acquire)(void *handle, int64_t wait_ms);
    int (*release)(void *handle);
    void (*token)(void *handle, char token[TKL_TOKEN_SIZE]);
    int64_t (*left_ms)(void *handle);                 /* time until the lease ends; any thread */
    uint64_t (*fence)(void *handle);                  /* NULL: it has none */
    int (*show)(void *handle, tkl_holders **holders); /* NULL: it cannot be shown */

    /* For locks and semaphores only. */
    int (*open)(tkl_client *client, tkl_bytes name, const cli_hold_options *options, void **handle);
    void (*close)(void *handle);
    int (*detach)(void *handle);
    int (*adopt)(void *handle, const char *token, int64_t lease_ms);
    int (*break_all)(void *handle);
    int (*names)(tkl_client *client, tkl_names **names);
} cli_hold_kind;

enum {
    CLI_HOLD_NODES_MAX = 64,
    CLI_HOLD_LEASE_MS = 30000, /* the library's default */
};

typedef struct cli_hold {
    const cli_hold_kind *kind;
    void *handle;
    tkl_client *clients[CLI_HOLD_NODES_MAX]; /* clients whose waits a signal interrupts */
    size_t count;
    const char *nodes; /* value of TACKLE_NODES for a redlock; else NULL */
    int lost;          /* an eventfd, readable once it is lost; -1: none */

    /* After cli_hold_run(), whose exit code may be the command's. */
    bool was_held; /* acquired, even if it was lost later */
    bool was_lost; /* lost before the command ended */
} cli_hold;

extern const cli_component cli_lock;

/* Lines of the tables of options. */
#define CLI_HOLD_LEASE                                                                  \
    {                                                                                   \
        "lease", CLI_PERIOD, "DURATION", "how long a crash blocks others (default 30s)" \
    }
#define CLI_HOLD_LABEL                                             \
    {                                                              \
        "label", CLI_TEXT, "TEXT", "text that list and show print" \
    }
#define CLI_HOLD_REPLICAS                                                                    \
    {                                                                                        \
        "replicas", CLI_INTEGER, "N", "acquired only once N replicas know of it (default 0)" \
    }
#define CLI_HOLD_TRY                                                                   \
    {                                                                                  \
        "wait", CLI_DURATION, "DURATION", "wait up to this long (default 0: try once)" \
    }
#define CLI_HOLD_WAIT                                                                              \
    {                                                                                              \
        "wait", CLI_DURATION, "DURATION", "wait up to this long; 0 tries once (default: no limit)" \
    }
#define CLI_HOLD_ON_LOST                                                  \
    {                                                                     \
        "on-lost", CLI_CHOICE, "kill|warn",                               \
            "if it is lost: end the command, or only warn (default kill)" \
    }
#define CLI_HOLD_GRACE                                                                      \
    {                                                                                       \
        "grace", CLI_DURATION, "DURATION", "time between SIGTERM and SIGKILL (default 10s)" \
    }

/* --lease, in milliseconds. */
int64_t cli_hold_lease(const cli_session *cli);

/* Reads --replicas; CLI_USAGE (64) when it is invalid. */
int cli_hold_replicas(const cli_session *cli, int *replicas);

/* --label; for run the command, or the end of it when that is long. */
const char *cli_hold_label(const cli_session *cli);

/* Acquires. On a terminal it says after a second who the holder is. When a signal ends the wait, it
 * leaves the line, releases what it acquired, and the program dies of that signal at the end. Exit
 * code 1 when it is busy. */
int cli_hold_acquire(cli_session *cli, cli_hold *hold, int64_t wait_ms);

/* The verb "run NAME -- COMMAND [ARG...]": open the handle with a callback that calls lost, then
 * init, run, close the handle, done. */
int cli_hold_init(const cli_session *cli, cli_hold *hold);
void cli_hold_lost(const cli_hold *hold); /* from any thread */
int cli_hold_run(cli_session *cli, cli_hold *hold);
void cli_hold_done(const cli_hold *hold);

/* The help that all `run` verbs share. */
#define CLI_HOLD_RUN_DETAILS                                                           \
    "COMMAND and all that it starts are one process group, which gets the signals\n"   \
    "that tackle gets. The exit code is COMMAND's, 128+N when signal N ended it;\n"    \
    "75: not acquired in time; 76: lost, COMMAND was ended; 69: server unreachable;\n" \
    "126, 127: COMMAND cannot be run, or was not found."

#endif
