/* SPDX-License-Identifier: MIT
 *
 * Locks from the shell: hold one while a command runs, or by hand with a token.
 */
#include "hold.h"
#include "holders.h"
#include "out.h"

/* ---- As something to hold ------------------------------------------------ */

static int acquire_handle(void *lock, int64_t wait_ms)
{
    return tkl_lock_acquire(lock, wait_ms);
}

static void cancel_handle(void *lock)
{
    tkl_lock_cancel(lock);
}

static int release_handle(void *lock)
{
    return tkl_lock_release(lock);
}

static void token_of(void *lock, char token[TKL_TOKEN_SIZE])
{
    tkl_lock_token(lock, token);
}

static uint64_t fence_of(void *lock)
{
    return tkl_lock_fence(lock);
}

static const cli_hold_kind kind = {
    .variable = "TACKLE_LOCK",
    .busy = "held by somebody else",
    .acquire = acquire_handle,
    .cancel = cancel_handle,
    .release = release_handle,
    .token = token_of,
    .fence = fence_of,
};

/* ---- Opening ------------------------------------------------------------- */

/* The lock named by the first argument. `options` may be NULL. */
static int open_lock(cli_session *cli, const tkl_lock_options *options, tkl_lock **lock)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_lock_open(client, tkl_str(cli->argv[0]), options, lock));
}

static int read_options(const cli_session *cli, tkl_lock_options *options)
{
    *options = (tkl_lock_options){
        .shared = cli_flag(cli, "shared"),
        .label = cli_hold_label(cli),
    };
    int failed = cli_hold_ttl(cli, &options->ttl_ms);
    return failed ? failed : cli_hold_replicas(cli, &options->replicas);
}

/* ---- run ----------------------------------------------------------------- */

static void on_lost(tkl_lock *lock, void *hold)
{
    (void)lock;
    cli_hold_lost(hold);
}

static int run_held(cli_session *cli, const tkl_lock_options *options, cli_hold *hold)
{
    tkl_lock *lock = NULL;
    int failed = open_lock(cli, options, &lock);
    if (failed)
        return failed;
    hold->handle = lock;
    int exit = cli_hold_run(cli, hold);
    tkl_lock_close(lock);
    return exit;
}

static int run(cli_session *cli)
{
    tkl_lock_options options;
    cli_hold hold;
    int failed = read_options(cli, &options);
    if (!failed)
        failed = cli_hold_init(cli, &kind, &hold);
    if (failed)
        return failed;
    options.auto_renew = true;
    options.on_lost = on_lost;
    options.arg = &hold;
    int exit = run_held(cli, &options, &hold);
    cli_hold_done(&hold);
    return exit;
}

/* ---- By hand: acquire, renew, release ------------------------------------- */

/* The claim becomes the token's: whoever reads it has it. */
static int print_claim(const cli_session *cli, tkl_lock *lock, int64_t ttl_ms,
                       char token[TKL_TOKEN_SIZE])
{
    uint64_t fence = tkl_lock_fence(lock);
    tkl_lock_token(lock, token);
    int failed = cli_end(cli, tkl_lock_detach(lock));
    if (failed)
        return failed;
    failed = cli_print_record(cli, cli_claim(tkl_str(cli->argv[0]), token, fence, ttl_ms),
                              cli_claim_fields);
    return failed ? failed : cli_flush(cli);
}

/* What nobody could read nobody could release: then the lock is given back. */
static int print_new_claim(const cli_session *cli, tkl_lock *lock, int64_t ttl_ms)
{
    char token[TKL_TOKEN_SIZE];
    int failed = print_claim(cli, lock, ttl_ms, token);
    if (failed && tkl_lock_adopt(lock, token, 0) == TKL_OK)
        tkl_lock_release(lock);
    return failed;
}

static int acquire(cli_session *cli)
{
    tkl_lock_options options;
    tkl_lock *lock = NULL;
    int failed = read_options(cli, &options);
    if (!failed)
        failed = open_lock(cli, &options, &lock);
    if (failed)
        return failed;
    cli_hold hold = {.kind = &kind, .handle = lock};
    failed = cli_hold_acquire(cli, &hold, cli_number(cli, "wait", 0));
    if (!failed)
        failed = print_new_claim(cli, lock, options.ttl_ms);
    tkl_lock_close(lock);
    return failed;
}

static int renew(cli_session *cli)
{
    char token[TKL_TOKEN_SIZE];
    int64_t ttl_ms;
    tkl_lock *lock = NULL;
    int failed = cli_hold_ttl(cli, &ttl_ms);
    if (!failed)
        failed = open_lock(cli, NULL, &lock);
    if (!failed)
        failed = cli_end(cli, tkl_lock_adopt(lock, cli->argv[1], ttl_ms));
    if (!failed)
        failed = print_claim(cli, lock, ttl_ms, token);
    tkl_lock_close(lock);
    return failed;
}

static int release(cli_session *cli)
{
    tkl_lock *lock = NULL;
    int failed = open_lock(cli, NULL, &lock);
    if (!failed)
        failed = cli_end(cli, tkl_lock_adopt(lock, cli->argv[1], 0));
    if (!failed)
        failed = cli_end(cli, tkl_lock_release(lock));
    tkl_lock_close(lock);
    return failed ? failed : cli_print_done(cli, "released");
}

/* ---- For operators: show, list, break ------------------------------------ */

static const cli_column fields[] = {
    {"name", "name"}, {"held", "held"}, {"shared", "shared"}, {"waiters", "waiting"}, {0},
};

static json_t *describe(tkl_bytes name, const tkl_holders *holders)
{
    return json_pack("{s:o, s:b, s:b, s:o, s:I}", "name", cli_json_bytes(name), "held",
                     holders->held > 0, "shared", holders->held > 0 && holders->shared, "holders",
                     cli_json_holders(holders), "waiters", (json_int_t)holders->waiters);
}

static int show(cli_session *cli)
{
    tkl_lock *lock = NULL;
    tkl_holders *holders = NULL;
    int failed = open_lock(cli, NULL, &lock);
    if (!failed)
        failed = cli_end(cli, tkl_lock_show(lock, &holders));
    if (!failed)
        failed = cli_print_holders(cli, describe(tkl_str(cli->argv[0]), holders), fields);
    tkl_holders_free(holders);
    tkl_lock_close(lock);
    return failed;
}

/* Adds what is known about one; what was released meanwhile is left out. */
static int add_lock(tkl_client *client, tkl_bytes name, json_t *rows)
{
    tkl_lock *lock = NULL;
    tkl_holders *holders = NULL;
    int code = tkl_lock_open(client, name, NULL, &lock);
    if (code == TKL_OK)
        code = tkl_lock_show(lock, &holders);
    if (code == TKL_OK && holders->held > 0 &&
        json_array_append_new(rows, describe(name, holders)) != 0)
        code = TKL_ENOMEM;
    tkl_holders_free(holders);
    tkl_lock_close(lock);
    return code;
}

static int list(cli_session *cli)
{
    tkl_client *client = NULL;
    tkl_reply *names = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    json_t *rows = json_array();
    int code = tkl_lock_list(client, &names);
    for (size_t i = 0; code == TKL_OK && i < tkl_reply_count(names); i++)
        code = add_lock(client, tkl_reply_bytes(tkl_reply_at(names, i)), rows);
    tkl_reply_free(names);
    if (code == TKL_OK)
        return cli_print_held(cli, rows);
    json_decref(rows);
    return cli_end(cli, code);
}

static int break_lock(cli_session *cli)
{
    tkl_lock *lock = NULL;
    int failed = open_lock(cli, NULL, &lock);
    if (failed)
        return failed;
    int code = tkl_lock_break(lock);
    tkl_lock_close(lock);
    if (code == TKL_NOTFOUND)
        return cli_fail(cli, CLI_NO, "nobody holds it");
    return code == TKL_OK ? cli_print_done(cli, "broken") : cli_end(cli, code);
}

/* ---- The component ------------------------------------------------------- */

static const cli_option run_options[] = {
    CLI_HOLD_TTL,
    CLI_HOLD_WAIT,
    {"shared", CLI_FLAG, NULL, "as a reader: with other readers, never beside a writer"},
    CLI_HOLD_ON_LOST,
    CLI_HOLD_GRACE,
    {"label", CLI_TEXT, "TEXT", "shown to those who ask who holds it (COMMAND)"},
    CLI_HOLD_REPLICAS,
    {0},
};

static const cli_option acquire_options[] = {
    CLI_HOLD_TTL,
    CLI_HOLD_TRY,
    {"shared", CLI_FLAG, NULL, "as a reader: with other readers, never beside a writer"},
    CLI_HOLD_LABEL,
    CLI_HOLD_REPLICAS,
    {0},
};

static const cli_option renew_options[] = {
    CLI_HOLD_TTL,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "run",
        .args = "NAME -- COMMAND [ARG...]",
        .summary = "run a command while holding the lock",
        .options = run_options,
        .details =
            "Waits in line as long as it takes, unless --wait says otherwise. While COMMAND\n"
            "runs the lease is renewed; should the lock be lost, COMMAND is ended. It finds\n"
            "TACKLE_LOCK, TACKLE_TOKEN and TACKLE_FENCE in its "
            "environment.\n\n" CLI_HOLD_RUN_DETAILS,
        .example = "tackle lock run backup -- echo 'nobody else does this now'",
        .run = run,
    },
    {
        .name = "acquire",
        .args = "NAME",
        .summary = "take the lock by hand; prints its token and fence",
        .options = acquire_options,
        .details = "The lock stays held when tackle ends, until it is released with the token or\n"
                   "the lease is over. Tries once, unless --wait says otherwise. Exit code 1 when\n"
                   "somebody else holds it.",
        .example = "tackle lock acquire deploy --ttl 1m\ntackle lock break deploy",
        .run = acquire,
    },
    {
        .name = "renew",
        .args = "NAME TOKEN",
        .summary = "make the lease last from now",
        .options = renew_options,
        .details = "Exit code 1 when that token does not hold the lock (any more).",
        .example = "token=$(tackle lock acquire deploy --json | sed 's/.*\"token\": "
                   "\"\\([^\"]*\\).*/\\1/')\n"
                   "tackle lock renew deploy $token --ttl 1m\n"
                   "tackle lock release deploy $token",
        .run = renew,
    },
    {
        .name = "release",
        .args = "NAME TOKEN",
        .summary = "give it back; the next in line has it at once",
        .details = "Exit code 1 when that token does not hold the lock (any more): what was done\n"
                   "since the lease was over was done without protection.",
        .example = "token=$(tackle lock acquire deploy --json | sed 's/.*\"token\": "
                   "\"\\([^\"]*\\).*/\\1/')\n"
                   "tackle lock release deploy $token --json",
        .run = release,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "who holds the lock, since when, and how many wait",
        .example = "tackle lock run backup --label nightly -- tackle lock show backup",
        .run = show,
    },
    {
        .name = "list",
        .summary = "all locks that are held now",
        .details = "Looks through all keys, without blocking the server.",
        .example = "tackle lock run backup -- tackle lock list",
        .run = list,
    },
    {
        .name = "break",
        .args = "NAME",
        .summary = "take the lock away from whoever holds it",
        .details = "The next in line has it at once. The former holder learns of it at its next\n"
                   "renewal at the latest; a fence protects what it does until then. Exit code 1\n"
                   "when nobody holds it.",
        .example = "tackle lock acquire deploy --ttl 1h\ntackle lock break deploy",
        .run = break_lock,
    },
    {0},
};

static const cli_step demo[] = {
    {"Run a command while holding a lock that all machines share.",
     "tackle lock run backup -- echo nobody else does this now", 0},
    {"Who holds it? Here the command itself asks.",
     "tackle lock run backup --label nightly -- tackle lock show backup", 0},
    {"Two who want it: the second waits in line and gets it when the first is done.",
     "tackle lock run backup -- sh -c 'sleep 0.3; echo first' &\n"
     "  sleep 0.1; tackle lock run backup -- echo second; wait",
     0},
    {"Not willing to wait: exit code 75.",
     "tackle lock run backup -- tackle lock run backup --wait 0 -- echo never", 75},
    {"Each holder has a fence, a number that only grows: who writes with a lower one is late.",
     "for i in 1 2 3; do tackle lock run backup -- sh -c 'echo $TACKLE_FENCE'; done", 0},
    {"By hand, for an hour ...", "tackle lock acquire deploy --ttl 1h --label 'release 2.0'", 0},
    {"... all can see it ...", "tackle lock list", 0},
    {"... and an operator can take it away.", "tackle lock break deploy", 0},
    {0},
};

const cli_component cli_lock = {
    .name = "lock",
    .summary = "a lock that programs on many machines share: leases, fences, a fair line",
    .verbs = verbs,
    .shared = "locks",
    .demo = demo,
};
