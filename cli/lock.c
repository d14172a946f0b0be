/* SPDX-License-Identifier: MIT
 *
 * Locks and semaphores from the shell: hold one while a command runs, or by hand with a token. Both
 * have the same verbs; a cli_hold_kind says which functions of the library they call.
 */
#include <string.h>

#include "hold.h"
#include "holders.h"
#include "lines.h"
#include "out.h"

/* ---- Locks as something to hold ------------------------------------------- */

static void lock_lost(tkl_lock *lock, void *hold)
{
    (void)lock;
    cli_hold_lost(hold);
}

static int lock_open(tkl_client *client, tkl_bytes name, const cli_hold_options *o, void **handle)
{
    tkl_lock_options options = {
        .lease_ms = o->lease_ms,
        .label = o->label,
        .replicas = o->replicas,
        .shared = o->shared,
        .auto_renew = o->watch != NULL,
        .watch = o->watch != NULL,
        .on_lost = o->watch != NULL ? lock_lost : NULL,
        .arg = o->watch,
    };
    tkl_lock *lock = NULL;
    int code = tkl_lock_open(client, name, &options, &lock);
    *handle = lock;
    return code;
}

static void lock_close(void *lock)
{
    tkl_lock_close(lock);
}

static int lock_acquire(void *lock, int64_t wait_ms)
{
    return tkl_lock_acquire(lock, wait_ms);
}

static int lock_release(void *lock)
{
    return tkl_lock_release(lock);
}

static void lock_token(void *lock, char token[TKL_TOKEN_SIZE])
{
    tkl_lock_token(lock, token);
}

static int64_t lock_left(void *lock)
{
    return tkl_lock_left_ms(lock);
}

static uint64_t lock_fence(void *lock)
{
    return tkl_lock_fence(lock);
}

static int lock_detach(void *lock)
{
    return tkl_lock_detach(lock);
}

static int lock_adopt(void *lock, const char *token, int64_t lease_ms)
{
    return tkl_lock_adopt(lock, token, lease_ms);
}

static int lock_show(void *lock, tkl_holders **holders)
{
    return tkl_lock_show(lock, holders);
}

static int lock_break(void *lock)
{
    return tkl_lock_break(lock);
}

static const cli_hold_kind lock_kind = {
    .variable = "TACKLE_LOCK",
    .open = lock_open,
    .close = lock_close,
    .acquire = lock_acquire,
    .release = lock_release,
    .token = lock_token,
    .left_ms = lock_left,
    .fence = lock_fence,
    .detach = lock_detach,
    .adopt = lock_adopt,
    .show = lock_show,
    .break_all = lock_break,
    .names = tkl_lock_names,
};

/* ---- Permits as something to hold ----------------------------------------- */

/* Only acquiring tells the server a limit: for all else any will do. */
enum { ANY_LIMIT = 1 };

static void sem_lost(tkl_semaphore *sem, void *hold)
{
    (void)sem;
    cli_hold_lost(hold);
}

static int sem_open(tkl_client *client, tkl_bytes name, const cli_hold_options *o, void **handle)
{
    tkl_semaphore_options options = {
        .lease_ms = o->lease_ms,
        .label = o->label,
        .replicas = o->replicas,
        .auto_renew = o->watch != NULL,
        .watch = o->watch != NULL,
        .on_lost = o->watch != NULL ? sem_lost : NULL,
        .arg = o->watch,
    };
    tkl_semaphore *sem = NULL;
    int code = tkl_semaphore_open(client, name, o->limit ? o->limit : ANY_LIMIT, &options, &sem);
    *handle = sem;
    return code;
}

static void sem_close(void *sem)
{
    tkl_semaphore_close(sem);
}

static int sem_acquire(void *sem, int64_t wait_ms)
{
    return tkl_semaphore_acquire(sem, wait_ms);
}

static int sem_release(void *sem)
{
    return tkl_semaphore_release(sem);
}

static void sem_token(void *sem, char token[TKL_TOKEN_SIZE])
{
    tkl_semaphore_token(sem, token);
}

static int64_t sem_left(void *sem)
{
    return tkl_semaphore_left_ms(sem);
}

static uint64_t sem_fence(void *sem)
{
    return tkl_semaphore_fence(sem);
}

static int sem_detach(void *sem)
{
    return tkl_semaphore_detach(sem);
}

static int sem_adopt(void *sem, const char *token, int64_t lease_ms)
{
    return tkl_semaphore_adopt(sem, token, lease_ms);
}

static int sem_show(void *sem, tkl_holders **holders)
{
    return tkl_semaphore_show(sem, holders);
}

static int sem_break(void *sem)
{
    return tkl_semaphore_break(sem);
}

static const cli_hold_kind sem_kind = {
    .variable = "TACKLE_SEM",
    .limited = true,
    .open = sem_open,
    .close = sem_close,
    .acquire = sem_acquire,
    .release = sem_release,
    .token = sem_token,
    .left_ms = sem_left,
    .fence = sem_fence,
    .detach = sem_detach,
    .adopt = sem_adopt,
    .show = sem_show,
    .break_all = sem_break,
    .names = tkl_semaphore_names,
};

/* ---- Opening ------------------------------------------------------------- */

static const cli_hold_kind *kind_of(const cli_session *cli)
{
    return cli->component == &cli_lock ? &lock_kind : &sem_kind;
}

/* Opens the lock or semaphore that the first argument names. `options` may be NULL. */
static int open_named(cli_session *cli, const cli_hold_options *options, cli_hold *hold)
{
    static const cli_hold_options none;
    tkl_client *client = NULL;
    *hold = (cli_hold){.kind = kind_of(cli), .lost = -1};
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    hold->clients[hold->count++] = client;
    return cli_end(cli, hold->kind->open(client, tkl_str(cli->argv[0]), options ? options : &none,
                                         &hold->handle));
}

static void close_named(cli_hold *hold)
{
    hold->kind->close(hold->handle);
}

static int read_options(const cli_session *cli, cli_hold_options *options)
{
    bool limited = kind_of(cli)->limited;
    *options = (cli_hold_options){.label = cli_hold_label(cli)};
    if (limited && !cli_flag(cli, "limit"))
        return cli_usage(cli, "missing --limit N: how many may hold it at once");
    if (limited) {
        options->limit = cli_number(cli, "limit", 0);
        if (options->limit < 1)
            return cli_usage(cli, "invalid --limit: must be 1 to 1000000");
    } else {
        options->shared = cli_flag(cli, "shared");
    }
    options->lease_ms = cli_hold_lease(cli);
    return cli_hold_replicas(cli, &options->replicas);
}

/* ---- run ----------------------------------------------------------------- */

static int hold_run(cli_session *cli)
{
    cli_hold_options options;
    cli_hold hold;
    int failed = read_options(cli, &options);
    if (failed)
        return failed;
    options.watch = &hold;
    failed = open_named(cli, &options, &hold);
    if (!failed)
        failed = cli_hold_init(cli, &hold);
    int exit = failed ? failed : cli_hold_run(cli, &hold);
    close_named(&hold);
    cli_hold_done(&hold);
    return exit;
}

/* ---- By hand: acquire, renew, release ------------------------------------- */

/* Detaches the handle and prints the token: the reader of the output now holds the lock. */
static int print_claim(const cli_session *cli, const cli_hold *hold, int64_t lease_ms,
                       char token[TKL_TOKEN_SIZE])
{
    uint64_t fence = hold->kind->fence(hold->handle);
    hold->kind->token(hold->handle, token);
    int failed = cli_end(cli, hold->kind->detach(hold->handle));
    if (!failed)
        failed = cli_print_claim(cli, token, fence, lease_ms);
    return failed ? failed : cli_flush(cli);
}

/* Prints a new claim. If printing fails, nobody could release it, so it is given back. */
CLI_APART static int print_new_claim(const cli_session *cli, const cli_hold *hold, int64_t lease_ms)
{
    char token[TKL_TOKEN_SIZE];
    int failed = print_claim(cli, hold, lease_ms, token);
    if (failed && hold->kind->adopt(hold->handle, token, 0) == TKL_OK)
        hold->kind->release(hold->handle);
    return failed;
}

static int hold_acquire(cli_session *cli)
{
    cli_hold_options options;
    cli_hold hold;
    int failed = read_options(cli, &options);
    if (failed)
        return failed;
    failed = open_named(cli, &options, &hold);
    if (!failed)
        failed = cli_hold_acquire(cli, &hold, cli_number(cli, "wait", 0));
    if (!failed)
        failed = print_new_claim(cli, &hold, options.lease_ms);
    close_named(&hold);
    return failed;
}

static int hold_renew(cli_session *cli)
{
    char token[TKL_TOKEN_SIZE];
    int64_t lease_ms = cli_hold_lease(cli);
    cli_hold hold;
    int failed = open_named(cli, NULL, &hold);
    if (!failed)
        failed = cli_end(cli, hold.kind->adopt(hold.handle, cli->argv[1], lease_ms));
    if (!failed)
        failed = print_claim(cli, &hold, lease_ms, token);
    close_named(&hold);
    return failed;
}

static int hold_release(cli_session *cli)
{
    cli_hold hold;
    int failed = open_named(cli, NULL, &hold);
    if (!failed)
        failed = cli_end(cli, hold.kind->adopt(hold.handle, cli->argv[1], 0));
    if (!failed)
        failed = cli_end(cli, hold.kind->release(hold.handle));
    close_named(&hold);
    return failed ? failed : cli_print_done(cli, "released");
}

/* ---- For operators: show, list, break ------------------------------------ */

static int hold_show(cli_session *cli)
{
    tkl_holders *holders = NULL;
    cli_hold hold;
    int failed = open_named(cli, NULL, &hold);
    if (!failed)
        failed = cli_end(cli, hold.kind->show(hold.handle, &holders));
    if (!failed && holders->held == 0 && holders->waiters == 0 && holders->limit == 0)
        failed = cli_no(cli, TKL_NOTFOUND, "there is no %s '%s': nobody holds it or waits for it",
                        kind_of(cli)->limited ? "semaphore" : "lock", cli->argv[0]);
    if (!failed)
        failed = cli_print_holders(cli, cli_json_hold(cli, tkl_str(cli->argv[0]), holders));
    tkl_holders_free(holders);
    close_named(&hold);
    return failed;
}

/* Adds the state of one lock or semaphore; one that was released meanwhile is left out. */
static int add_held(const cli_session *cli, tkl_client *client, tkl_bytes name, json_t *rows)
{
    const cli_hold_kind *kind = kind_of(cli);
    void *handle = NULL;
    tkl_holders *holders = NULL;
    int code = kind->open(client, name, &(cli_hold_options){0}, &handle);
    if (code == TKL_OK)
        code = kind->show(handle, &holders);
    if (code == TKL_OK && holders->held > 0 &&
        json_array_append_new(rows, cli_json_hold(cli, name, holders)) != 0)
        code = TKL_ENOMEM;
    tkl_holders_free(holders);
    kind->close(handle);
    return code;
}

static int hold_list(cli_session *cli)
{
    const cli_hold_kind *kind = kind_of(cli);
    tkl_client *client = NULL;
    tkl_names *names = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    json_t *rows = json_array();
    int code = kind->names(client, &names);
    for (size_t i = 0; code == TKL_OK && i < names->count; i++)
        code = add_held(cli, client, names->items[i], rows);
    tkl_names_free(names);
    if (code == TKL_OK)
        return cli_print_held(cli, rows);
    json_decref(rows);
    return cli_end(cli, code);
}

static int break_held(cli_session *cli)
{
    cli_hold hold;
    int failed = open_named(cli, NULL, &hold);
    int code = failed ? TKL_OK : hold.kind->break_all(hold.handle);
    close_named(&hold);
    if (failed)
        return failed;
    if (code == TKL_NOTFOUND)
        return cli_no(cli, code, "nobody holds '%s'", cli->argv[0]);
    return code == TKL_OK ? cli_print_done(cli, "broken") : cli_end(cli, code);
}

/* ---- Options ------------------------------------------------------------- */

#define SHARED                                                                             \
    {                                                                                      \
        "shared", CLI_FLAG, NULL, "share the lock with other readers, never with a writer" \
    }
#define LIMIT                                                                                \
    {                                                                                        \
        "limit", CLI_INTEGER, "N", "how many may hold it at once: 1 to a million (required)" \
    }
#define RUN_LABEL                                                                     \
    {                                                                                 \
        "label", CLI_TEXT, "TEXT", "text that list and show print (default: COMMAND)" \
    }

static const cli_option lock_run_options[] = {
    CLI_HOLD_LEASE, CLI_HOLD_WAIT,     SHARED, CLI_HOLD_ON_LOST, CLI_HOLD_GRACE,
    RUN_LABEL,      CLI_HOLD_REPLICAS, {0},
};

static const cli_option lock_acquire_options[] = {
    CLI_HOLD_LEASE, CLI_HOLD_TRY, SHARED, CLI_HOLD_LABEL, CLI_HOLD_REPLICAS, {0},
};

static const cli_option sem_run_options[] = {
    LIMIT,          CLI_HOLD_LEASE, CLI_HOLD_WAIT,     CLI_HOLD_ON_LOST,
    CLI_HOLD_GRACE, RUN_LABEL,      CLI_HOLD_REPLICAS, {0},
};

static const cli_option sem_acquire_options[] = {
    LIMIT, CLI_HOLD_LEASE, CLI_HOLD_TRY, CLI_HOLD_LABEL, CLI_HOLD_REPLICAS, {0},
};

static const cli_option renew_options[] = {
    {"lease", CLI_PERIOD, "DURATION", "the lease lasts this long from now (default 30s)"},
    {0},
};

/* ---- tackle lock --------------------------------------------------------- */

static const cli_verb lock_verbs[] = {
    {
        .name = "run",
        .args = "NAME -- COMMAND [ARG...]",
        .summary = "run a command while holding the lock",
        .options = lock_run_options,
        .details =
            "Waits in line as long as it takes, unless --wait says otherwise. While COMMAND\n"
            "runs, the lease is renewed. If the lock is lost, COMMAND is ended. COMMAND finds\n"
            "TACKLE_LOCK, TACKLE_TOKEN and TACKLE_FENCE in its "
            "environment.\n\n" CLI_HOLD_RUN_DETAILS,
        .example = "tackle lock run backup -- echo 'nobody else does this now'",
        .local = "it runs a command",
        .run = hold_run,
    },
    {
        .name = "acquire",
        .args = "NAME",
        .summary = "take the lock by hand; prints its token and fence",
        .options = lock_acquire_options,
        .details = "The lock stays held when tackle ends, until it is released with the token or\n"
                   "the lease ends. Tries once, unless --wait says otherwise. Exit code 1 when\n"
                   "another holder has it.",
        .example = "tackle lock acquire deploy --lease 1m\ntackle lock break deploy",
        .effect = CLI_WRITES,
        .run = hold_acquire,
    },
    {
        .name = "renew",
        .args = "NAME TOKEN",
        .summary = "renew the lease: it begins again now",
        .options = renew_options,
        .details = "Exit code 1 when that token does not hold the lock (any more).",
        .example = "token=$(tackle lock acquire deploy --json | sed 's/.*\"token\": "
                   "\"\\([^\"]*\\).*/\\1/')\n"
                   "tackle lock renew deploy $token --lease 1m\n"
                   "tackle lock release deploy $token",
        .effect = CLI_WRITES,
        .run = hold_renew,
    },
    {
        .name = "release",
        .args = "NAME TOKEN",
        .summary = "give the lock back; the next waiter has it at once",
        .details = "Exit code 1 when that token does not hold the lock (any more): what was done\n"
                   "since the lease ended was done without protection.",
        .example = "token=$(tackle lock acquire deploy --json | sed 's/.*\"token\": "
                   "\"\\([^\"]*\\).*/\\1/')\n"
                   "tackle lock release deploy $token --json",
        .effect = CLI_WRITES,
        .run = hold_release,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "who holds the lock, since when, and who waits",
        .details = "Exit code 1 when nobody holds it or waits for it.",
        .example = "tackle lock run backup --label nightly -- tackle lock show backup",
        .effect = CLI_READS,
        .run = hold_show,
    },
    {
        .name = "list",
        .summary = "all locks that are held now",
        .options = cli_list_options,
        .example = "tackle lock run backup -- tackle lock list",
        .effect = CLI_READS,
        .run = hold_list,
    },
    {
        .name = "break",
        .args = "NAME",
        .summary = "take the lock away from its holders",
        .details = "The next waiter has it at once. A former holder learns of it at its next\n"
                   "renewal at the latest; a fence protects what it does until then. Exit code 1\n"
                   "when nobody holds it.",
        .example = "tackle lock acquire deploy --lease 1h\ntackle lock break deploy",
        .effect = CLI_WRITES,
        .run = break_held,
    },
    {0},
};

static const cli_step lock_demo[] = {
    {"Run a command while holding a lock that all machines share.",
     "tackle lock run backup -- echo nobody else does this now", 0},
    {"Who holds it? Here the command itself asks.",
     "tackle lock run backup --label nightly -- tackle lock show backup", 0},
    {"Two programs want it: the second waits in line and gets it when the first is done.",
     "tackle lock run backup -- sh -c 'sleep 0.3; echo first' &\n"
     "  sleep 0.1; tackle lock run backup -- echo second; wait",
     0},
    {"Not willing to wait: exit code 75.",
     "tackle lock run backup -- tackle lock run backup --wait 0 -- echo never", 75},
    {"Each holder has a fence, a number that only grows: a writer with a lower one is late.",
     "for i in 1 2 3; do tackle lock run backup -- sh -c 'echo $TACKLE_FENCE'; done", 0},
    {"By hand, for an hour ...", "tackle lock acquire deploy --lease 1h --label 'release 2.0'", 0},
    {"... all can see it ...", "tackle lock list", 0},
    {"... and an operator can take it away.", "tackle lock break deploy", 0},
    {0},
};

const cli_component cli_lock = {
    .name = "lock",
    .summary = "a lock that programs on many machines share: leases, fences, a fair line",
    .verbs = lock_verbs,
    .shared = "locks",
    .demo = lock_demo,
};

/* ---- tackle sem ---------------------------------------------------------- */

static const cli_verb sem_verbs[] = {
    {
        .name = "run",
        .args = "NAME -- COMMAND [ARG...]",
        .summary = "run a command while holding a permit",
        .options = sem_run_options,
        .details =
            "Waits in line as long as it takes, unless --wait says otherwise. While COMMAND\n"
            "runs, the lease is renewed. If the permit is lost, COMMAND is ended. COMMAND finds\n"
            "TACKLE_SEM, TACKLE_TOKEN and TACKLE_FENCE in its "
            "environment.\n\n" CLI_HOLD_RUN_DETAILS,
        .example = "tackle sem run crawlers --limit 5 -- echo 'at most five do this'",
        .local = "it runs a command",
        .run = hold_run,
    },
    {
        .name = "acquire",
        .args = "NAME",
        .summary = "take a permit by hand; prints its token and fence",
        .options = sem_acquire_options,
        .details =
            "The permit stays taken when tackle ends, until it is released with the token or\n"
            "the lease ends. Tries once, unless --wait says otherwise. Exit code 1 when all\n"
            "are taken. The limit is that of the latest caller; lowering it takes no permit\n"
            "away.",
        .example = "tackle sem acquire crawlers --limit 5 --lease 2s",
        .effect = CLI_WRITES,
        .run = hold_acquire,
    },
    {
        .name = "renew",
        .args = "NAME TOKEN",
        .summary = "renew the lease of a permit: it begins again now",
        .options = renew_options,
        .details = "Exit code 1 when that token holds no permit (any more).",
        .example = "token=$(tackle sem acquire crawlers --limit 5 --json |\n"
                   "    sed 's/.*\"token\": \"\\([^\"]*\\).*/\\1/')\n"
                   "tackle sem renew crawlers $token --lease 1m\n"
                   "tackle sem release crawlers $token",
        .effect = CLI_WRITES,
        .run = hold_renew,
    },
    {
        .name = "release",
        .args = "NAME TOKEN",
        .summary = "give a permit back; the next waiter has it at once",
        .details =
            "Exit code 1 when that token holds no permit (any more): what was done since the\n"
            "lease ended was done without one.",
        .example = "token=$(tackle sem acquire crawlers --limit 5 --json |\n"
                   "    sed 's/.*\"token\": \"\\([^\"]*\\).*/\\1/')\n"
                   "tackle sem release crawlers $token --json",
        .effect = CLI_WRITES,
        .run = hold_release,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "who holds permits, since when, and who waits",
        .details = "Exit code 1 when nobody holds it or waits for it.",
        .example = "tackle sem run crawlers --limit 5 -- tackle sem show crawlers",
        .effect = CLI_READS,
        .run = hold_show,
    },
    {
        .name = "list",
        .summary = "all semaphores with permits taken now",
        .options = cli_list_options,
        .example = "tackle sem run crawlers --limit 5 -- tackle sem list",
        .effect = CLI_READS,
        .run = hold_list,
    },
    {
        .name = "break",
        .args = "NAME",
        .summary = "take all permits away from their holders",
        .details = "The next waiters have them at once. A former holder learns of it at its next\n"
                   "renewal at the latest. Exit code 1 when nobody holds one.",
        .example = "tackle sem acquire crawlers --limit 5 --lease 1h\ntackle sem break crawlers",
        .effect = CLI_WRITES,
        .run = break_held,
    },
    {0},
};

static const cli_step sem_demo[] = {
    {"At most two at a time, however many machines try.",
     "for i in 1 2 3 4; do\n"
     "    tackle sem run crawlers --limit 2 -- sh -c \"sleep 0.2; echo $i done\" &\n"
     "  done; sleep 0.1; tackle sem show crawlers; wait",
     0},
    {"By hand, with a lease, in case nobody gives it back.",
     "tackle sem acquire crawlers --limit 1 --lease 1m --json", 0},
    {"No more are left: exit code 1.", "tackle sem acquire crawlers --limit 1", 1},
    {0},
};

const cli_component cli_sem = {
    .name = "sem",
    .summary = "a counting semaphore: at most N at once, with leases and a fair line",
    .verbs = sem_verbs,
    .shared = "semaphores",
    .demo = sem_demo,
};
