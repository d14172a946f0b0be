/* SPDX-License-Identifier: MIT
 *
 * Semaphores from the shell: hold a permit while a command runs, or by hand with a token.
 */
#include "hold.h"
#include "holders.h"
#include "out.h"

/* ---- As something to hold ------------------------------------------------ */

static int acquire_handle(void *sem, int64_t wait_ms)
{
    return tkl_semaphore_acquire(sem, wait_ms);
}

static void cancel_handle(void *sem)
{
    tkl_semaphore_cancel(sem);
}

static int release_handle(void *sem)
{
    return tkl_semaphore_release(sem);
}

static void token_of(void *sem, char token[TKL_TOKEN_SIZE])
{
    tkl_semaphore_token(sem, token);
}

static uint64_t fence_of(void *sem)
{
    return tkl_semaphore_fence(sem);
}

static const cli_hold_kind kind = {
    .variable = "TACKLE_SEM",
    .busy = "all permits are taken",
    .acquire = acquire_handle,
    .cancel = cancel_handle,
    .release = release_handle,
    .token = token_of,
    .fence = fence_of,
};

/* ---- Opening ------------------------------------------------------------- */

/* Only acquiring tells the server a limit: for all else any will do. */
enum { ANY_LIMIT = 1 };

/* The semaphore named by the first argument. `options` may be NULL. */
static int open_sem(cli_session *cli, int64_t limit, const tkl_semaphore_options *options,
                    tkl_semaphore **sem)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli,
                            tkl_semaphore_open(client, tkl_str(cli->argv[0]), limit, options, sem));
}

static int read_options(const cli_session *cli, int64_t *limit, tkl_semaphore_options *options)
{
    *options = (tkl_semaphore_options){.label = cli_hold_label(cli)};
    *limit = cli_number(cli, "limit", 0);
    if (!cli_flag(cli, "limit"))
        return cli_usage(cli, "missing --limit N: how many may hold it at once");
    int failed = cli_hold_ttl(cli, &options->ttl_ms);
    return failed ? failed : cli_hold_replicas(cli, &options->replicas);
}

/* ---- run ----------------------------------------------------------------- */

static void on_lost(tkl_semaphore *sem, void *hold)
{
    (void)sem;
    cli_hold_lost(hold);
}

static int run_held(cli_session *cli, int64_t limit, const tkl_semaphore_options *options,
                    cli_hold *hold)
{
    tkl_semaphore *sem = NULL;
    int failed = open_sem(cli, limit, options, &sem);
    if (failed)
        return failed;
    hold->handle = sem;
    int exit = cli_hold_run(cli, hold);
    tkl_semaphore_close(sem);
    return exit;
}

static int run(cli_session *cli)
{
    tkl_semaphore_options options;
    int64_t limit;
    cli_hold hold;
    int failed = read_options(cli, &limit, &options);
    if (!failed)
        failed = cli_hold_init(cli, &kind, &hold);
    if (failed)
        return failed;
    options.auto_renew = true;
    options.on_lost = on_lost;
    options.arg = &hold;
    int exit = run_held(cli, limit, &options, &hold);
    cli_hold_done(&hold);
    return exit;
}

/* ---- By hand: acquire, renew, release ------------------------------------- */

/* How many permits are out, and of how many. */
static int add_use(const cli_session *cli, tkl_semaphore *sem, json_t *claim)
{
    tkl_holders *holders = NULL;
    int failed = cli_end(cli, tkl_semaphore_show(sem, &holders));
    if (!failed) {
        json_object_set_new(claim, "held", json_integer((json_int_t)holders->held));
        json_object_set_new(claim, "limit", json_integer((json_int_t)holders->limit));
    }
    tkl_holders_free(holders);
    return failed;
}

/* The permit becomes the token's: whoever reads it has it. */
static int print_claim(const cli_session *cli, tkl_semaphore *sem, int64_t ttl_ms,
                       char token[TKL_TOKEN_SIZE])
{
    tkl_semaphore_token(sem, token);
    json_t *claim = cli_claim(tkl_str(cli->argv[0]), token, tkl_semaphore_fence(sem), ttl_ms);
    int failed = add_use(cli, sem, claim);
    if (!failed)
        failed = cli_end(cli, tkl_semaphore_detach(sem));
    if (failed) {
        json_decref(claim);
        return failed;
    }
    failed = cli_print_record(cli, claim, cli_claim_fields);
    return failed ? failed : cli_flush(cli);
}

/* What nobody could read nobody could release: then the permit is given back. */
static int print_new_claim(const cli_session *cli, tkl_semaphore *sem, int64_t ttl_ms)
{
    char token[TKL_TOKEN_SIZE];
    int failed = print_claim(cli, sem, ttl_ms, token);
    if (failed && tkl_semaphore_adopt(sem, token, 0) == TKL_OK)
        tkl_semaphore_release(sem);
    return failed;
}

static int acquire(cli_session *cli)
{
    tkl_semaphore_options options;
    tkl_semaphore *sem = NULL;
    int64_t limit;
    int failed = read_options(cli, &limit, &options);
    if (!failed)
        failed = open_sem(cli, limit, &options, &sem);
    if (failed)
        return failed;
    cli_hold hold = {.kind = &kind, .handle = sem};
    failed = cli_hold_acquire(cli, &hold, cli_number(cli, "wait", 0));
    if (!failed)
        failed = print_new_claim(cli, sem, options.ttl_ms);
    tkl_semaphore_close(sem);
    return failed;
}

static int renew(cli_session *cli)
{
    char token[TKL_TOKEN_SIZE];
    int64_t ttl_ms;
    tkl_semaphore *sem = NULL;
    int failed = cli_hold_ttl(cli, &ttl_ms);
    if (!failed)
        failed = open_sem(cli, ANY_LIMIT, NULL, &sem);
    if (!failed)
        failed = cli_end(cli, tkl_semaphore_adopt(sem, cli->argv[1], ttl_ms));
    if (!failed)
        failed = print_claim(cli, sem, ttl_ms, token);
    tkl_semaphore_close(sem);
    return failed;
}

static int release(cli_session *cli)
{
    tkl_semaphore *sem = NULL;
    int failed = open_sem(cli, ANY_LIMIT, NULL, &sem);
    if (!failed)
        failed = cli_end(cli, tkl_semaphore_adopt(sem, cli->argv[1], 0));
    if (!failed)
        failed = cli_end(cli, tkl_semaphore_release(sem));
    tkl_semaphore_close(sem);
    return failed ? failed : cli_print_done(cli, "released");
}

/* ---- show ---------------------------------------------------------------- */

static const cli_column fields[] = {
    {"name", "name"}, {"held", "held"}, {"limit", "limit"}, {"waiters", "waiting"}, {0},
};

/* The limit of the latest caller is forgotten with the last permit. */
static json_t *describe(tkl_bytes name, const tkl_holders *holders)
{
    json_t *limit = holders->limit > 0 ? json_integer((json_int_t)holders->limit) : json_null();
    return json_pack("{s:o, s:I, s:o, s:o, s:I}", "name", cli_json_bytes(name), "held",
                     (json_int_t)holders->held, "limit", limit, "holders",
                     cli_json_holders(holders), "waiters", (json_int_t)holders->waiters);
}

static int show(cli_session *cli)
{
    tkl_semaphore *sem = NULL;
    tkl_holders *holders = NULL;
    int failed = open_sem(cli, ANY_LIMIT, NULL, &sem);
    if (!failed)
        failed = cli_end(cli, tkl_semaphore_show(sem, &holders));
    if (!failed)
        failed = cli_print_holders(cli, describe(tkl_str(cli->argv[0]), holders), fields);
    tkl_holders_free(holders);
    tkl_semaphore_close(sem);
    return failed;
}

/* ---- The component ------------------------------------------------------- */

#define LIMIT                                                                     \
    {                                                                             \
        "limit", CLI_INTEGER, "N", "how many may hold it at once: 1 to a million" \
    }

static const cli_option run_options[] = {
    LIMIT,
    CLI_HOLD_TTL,
    CLI_HOLD_WAIT,
    CLI_HOLD_ON_LOST,
    CLI_HOLD_GRACE,
    {"label", CLI_TEXT, "TEXT", "shown to those who ask who holds it (COMMAND)"},
    CLI_HOLD_REPLICAS,
    {0},
};

static const cli_option acquire_options[] = {
    LIMIT, CLI_HOLD_TTL, CLI_HOLD_TRY, CLI_HOLD_LABEL, CLI_HOLD_REPLICAS, {0},
};

static const cli_option renew_options[] = {
    CLI_HOLD_TTL,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "run",
        .args = "NAME -- COMMAND [ARG...]",
        .summary = "run a command while holding a permit",
        .options = run_options,
        .details =
            "Waits in line as long as it takes, unless --wait says otherwise. While COMMAND\n"
            "runs the lease is renewed; should the permit be lost, COMMAND is ended. It finds\n"
            "TACKLE_SEM, TACKLE_TOKEN and TACKLE_FENCE in its "
            "environment.\n\n" CLI_HOLD_RUN_DETAILS,
        .example = "tackle sem run crawlers --limit 5 -- echo 'at most five do this'",
        .run = run,
    },
    {
        .name = "acquire",
        .args = "NAME",
        .summary = "take a permit by hand; prints its token and fence",
        .options = acquire_options,
        .details =
            "The permit stays taken when tackle ends, until it is released with the token or\n"
            "the lease is over. Tries once, unless --wait says otherwise. Exit code 1 when\n"
            "all are taken. The limit is that of the latest caller; lowering it takes no\n"
            "permit away.",
        .example = "tackle sem acquire crawlers --limit 5 --ttl 2s",
        .run = acquire,
    },
    {
        .name = "renew",
        .args = "NAME TOKEN",
        .summary = "make the lease of a permit last from now",
        .options = renew_options,
        .details = "Exit code 1 when that token holds no permit (any more).",
        .example = "token=$(tackle sem acquire crawlers --limit 5 --json |\n"
                   "    sed 's/.*\"token\": \"\\([^\"]*\\).*/\\1/')\n"
                   "tackle sem renew crawlers $token --ttl 1m\n"
                   "tackle sem release crawlers $token",
        .run = renew,
    },
    {
        .name = "release",
        .args = "NAME TOKEN",
        .summary = "give a permit back; the next in line has it at once",
        .details =
            "Exit code 1 when that token holds no permit (any more): what was done since the\n"
            "lease was over was done without one.",
        .example = "token=$(tackle sem acquire crawlers --limit 5 --json |\n"
                   "    sed 's/.*\"token\": \"\\([^\"]*\\).*/\\1/')\n"
                   "tackle sem release crawlers $token --json",
        .run = release,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "who holds permits, since when, and how many wait",
        .example = "tackle sem run crawlers --limit 5 -- tackle sem show crawlers",
        .run = show,
    },
    {0},
};

static const cli_step demo[] = {
    {"At most two at a time, however many machines try.",
     "for i in 1 2 3 4; do\n"
     "    tackle sem run crawlers --limit 2 -- sh -c \"sleep 0.2; echo $i done\" &\n"
     "  done; sleep 0.1; tackle sem show crawlers; wait",
     0},
    {"By hand, with a lease, in case nobody gives it back.",
     "tackle sem acquire crawlers --limit 1 --ttl 1m --json", 0},
    {"No more are left: exit code 1.", "tackle sem acquire crawlers --limit 1", 1},
    {0},
};

const cli_component cli_sem = {
    .name = "sem",
    .summary = "a counting semaphore: at most N at once, with leases and a fair line",
    .verbs = verbs,
    .shared = "semaphores",
    .demo = demo,
};
