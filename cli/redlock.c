/* SPDX-License-Identifier: MIT
 *
 * Redlocks from the shell. The library does not renew redlocks; here a thread does it while the
 * command runs.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "guard.h"
#include "hold.h"
#include "holders.h"
#include "out.h"

enum {
    NODES_MAX = CLI_HOLD_NODES_MAX,
    AGAIN_MS = 100, /* pause after a failed renewal */
};

/* A redlock and what belongs to it. */
typedef struct redlock {
    const cli_session *cli;
    tkl_client *clients[NODES_MAX];
    size_t count;
    tkl_redlock *lock;
    int64_t lease_ms;
    int64_t timeout_ms;
    cli_hold hold;         /* run: gets cli_hold_lost() on a loss */
    int stop;              /* run: an eventfd that ends the keeper thread; else -1 */
    pthread_t keeper;      /* run: the thread that renews; no other thread uses the lock
                              meanwhile */
    bool kept;             /* the keeper thread exists */
    atomic_llong until_ms; /* when the lease ends, by cli_guard_now_ms() */
} redlock;

/* ---- The servers --------------------------------------------------------- */

/* Whether a URL begins here: a URL that lists servers has commas of its own. */
static bool is_url(const char *text)
{
    size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz+");
    return strncmp(text, "embedded:", 9) == 0 ||
           (scheme > 0 && strncmp(text + scheme, "://", 3) == 0);
}

/* Cuts off the first URL; returns where the next begins, or NULL. */
static char *cut_url(char *urls)
{
    for (char *comma = strchr(urls, ','); comma != NULL; comma = strchr(comma + 1, ','))
        if (is_url(comma + 1)) {
            *comma = '\0';
            return comma + 1;
        }
    return NULL;
}

/* Whether a server was named before: two votes of one server are not a majority. Each in-memory
 * private server is a different one. */
static bool is_named_before(char *const *urls, size_t count, const char *url)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(urls[i], url) == 0 && strcmp(url, "embedded:") != 0)
            return true;
    return false;
}

static int open_each(redlock *r, char *urls)
{
    char *seen[NODES_MAX];
    int failed = CLI_OK;
    for (char *url = urls, *next; !failed && url != NULL; url = next) {
        next = cut_url(url);
        if (r->count == NODES_MAX)
            return cli_usage(r->cli, "more than %d --nodes", NODES_MAX);
        if (is_named_before(seen, r->count, url))
            return cli_usage(r->cli, "the same server twice in --nodes");
        seen[r->count] = url;
        failed = cli_open(r->cli, url, &r->clients[r->count++]);
    }
    return failed;
}

static const char *nodes_of(const redlock *r)
{
    return cli_text(r->cli, "nodes", getenv("TACKLE_NODES"));
}

static int open_nodes(redlock *r)
{
    const char *named = nodes_of(r);
    if (named == NULL || *named == '\0')
        return cli_usage(r->cli, "missing --nodes URL,URL,...");
    char *urls = strdup(named);
    int failed = urls != NULL ? open_each(r, urls) : cli_fail(r->cli, CLI_FAILURE, "out of memory");
    free(urls);
    return failed;
}

/* The same as in the library: a twentieth of the lease, 10 ms to 1 s. */
static int64_t node_timeout(const redlock *r)
{
    int64_t part = (r->lease_ms > 0 ? r->lease_ms : CLI_HOLD_LEASE_MS) / 20;
    return cli_number(r->cli, "node-timeout", part < 10 ? 10 : part > 1000 ? 1000 : part);
}

static int open_redlock(redlock *r)
{
    r->timeout_ms = node_timeout(r);
    int failed = open_nodes(r);
    if (failed)
        return failed;
    tkl_bytes name = tkl_str(r->cli->argv[0]);
    tkl_redlock_options options = {.lease_ms = r->lease_ms, .timeout_ms = r->timeout_ms};
    return cli_end(r->cli, tkl_redlock_open(r->clients, r->count, name, &options, &r->lock));
}

static int open_with_lease(redlock *r)
{
    r->lease_ms = cli_hold_lease(r->cli);
    return open_redlock(r);
}

static void close_redlock(redlock *r)
{
    tkl_redlock_close(r->lock);
    for (size_t i = 0; i < r->count; i++)
        tkl_close(r->clients[i]);
}

/* ---- Renewing while a command runs --------------------------------------- */

static bool told_to_stop(const redlock *r, int64_t wait_ms)
{
    struct pollfd file = {.fd = r->stop, .events = POLLIN};
    int ready;
    while ((ready = poll(&file, 1, wait_ms < INT32_MAX ? (int)wait_ms : INT32_MAX)) < 0 &&
           errno == EINTR)
        ;
    return ready != 0;
}

/* Only the keeper thread may use the lock itself. */
static void note_left(redlock *r)
{
    atomic_store(&r->until_ms, cli_guard_now_ms() + tkl_redlock_left_ms(r->lock));
}

/* A lock that cannot be renewed in time any more counts as lost: another attempt might end too
 * late. */
static void *keep_renewed(void *arg)
{
    redlock *r = arg;
    for (int64_t pause = r->lease_ms / 3; !told_to_stop(r, pause);) {
        if (tkl_redlock_renew(r->lock, 0) == TKL_OK) {
            note_left(r);
            pause = r->lease_ms / 3;
            continue;
        }
        pause = AGAIN_MS;
        if (tkl_redlock_left_ms(r->lock) <= r->timeout_ms + AGAIN_MS) {
            cli_hold_lost(&r->hold);
            break;
        }
    }
    return NULL;
}

/* Blocks signals: the main thread gets them and passes them on to the command. */
static bool start_keeper(redlock *r)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int reason = pthread_create(&r->keeper, NULL, keep_renewed, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    r->kept = reason == 0;
    return r->kept;
}

static void stop_keeper(redlock *r)
{
    if (!r->kept)
        return;
    eventfd_write(r->stop, 1);
    pthread_join(r->keeper, NULL);
    r->kept = false;
}

/* ---- As something to hold ------------------------------------------------ */

static int acquire_handle(void *handle, int64_t wait_ms)
{
    redlock *r = handle;
    int code = tkl_redlock_acquire(r->lock, wait_ms);
    note_left(r);
    if (code == TKL_OK && r->stop >= 0 && !start_keeper(r))
        return TKL_ENOMEM;
    return code;
}

static int release_handle(void *handle)
{
    redlock *r = handle;
    stop_keeper(r);
    return tkl_redlock_release(r->lock);
}

static void token_of(void *handle, char token[TKL_TOKEN_SIZE])
{
    tkl_redlock_token(((redlock *)handle)->lock, token);
}

static int64_t left_of(void *handle)
{
    return atomic_load(&((redlock *)handle)->until_ms) - cli_guard_now_ms();
}

static const cli_hold_kind kind = {
    .variable = "TACKLE_LOCK",
    .acquire = acquire_handle,
    .release = release_handle,
    .token = token_of,
    .left_ms = left_of,
};

static void hold_of(redlock *r, cli_hold *hold)
{
    *hold =
        (cli_hold){.kind = &kind, .handle = r, .count = r->count, .nodes = nodes_of(r), .lost = -1};
    memcpy(hold->clients, r->clients, r->count * sizeof *r->clients);
}

/* ---- The verbs ----------------------------------------------------------- */

static int run_held(cli_session *cli, redlock *r)
{
    hold_of(r, &r->hold);
    int failed = cli_hold_init(cli, &r->hold);
    if (failed)
        return failed;
    r->stop = eventfd(0, EFD_CLOEXEC);
    int exit = r->stop >= 0 ? cli_hold_run(cli, &r->hold)
                            : cli_fail(cli, CLI_FAILURE, "eventfd: %s", strerror(errno));
    stop_keeper(r);
    if (r->stop >= 0)
        close(r->stop);
    cli_hold_done(&r->hold);
    return exit;
}

static int redlock_run(cli_session *cli)
{
    redlock r = {.cli = cli, .stop = -1};
    int failed = open_with_lease(&r);
    int exit = failed ? failed : run_held(cli, &r);
    close_redlock(&r);
    return exit;
}

static const cli_column claim_fields[] = {
    {"name", "name"}, {"token", "token"}, {"left_ms", "valid for"}, {"lease_ms", "lease"}, {0},
};

static int print_claim(const redlock *r)
{
    char token[TKL_TOKEN_SIZE];
    int64_t left = tkl_redlock_left_ms(r->lock);
    tkl_redlock_token(r->lock, token);
    int failed = cli_print_record(
        r->cli,
        json_pack("{s:o, s:s, s:I, s:I}", "name", cli_json_bytes(tkl_str(r->cli->argv[0])), "token",
                  token, "left_ms", (json_int_t)left, "lease_ms", (json_int_t)r->lease_ms),
        claim_fields);
    return failed ? failed : cli_flush(r->cli);
}

/* Acquires, prints the token and detaches the handle: the reader of the output now holds the lock.
 * If printing fails, closing releases the lock. */
static int redlock_acquire(cli_session *cli)
{
    redlock r = {.cli = cli, .stop = -1};
    cli_hold hold;
    int failed = open_with_lease(&r);
    hold_of(&r, &hold);
    if (!failed)
        failed = cli_hold_acquire(cli, &hold, cli_number(cli, "wait", 0));
    if (!failed)
        failed = print_claim(&r);
    if (!failed)
        failed = cli_end(cli, tkl_redlock_detach(r.lock));
    close_redlock(&r);
    return failed;
}

static int adopt_token(redlock *r)
{
    return cli_end(r->cli, tkl_redlock_adopt(r->lock, r->cli->argv[1]));
}

/* Detaches even if renewing or printing failed, so that closing does not release the lock. */
static int renew_adopted(redlock *r)
{
    int failed = cli_end(r->cli, tkl_redlock_renew(r->lock, 0));
    if (!failed)
        failed = print_claim(r);
    int code = tkl_redlock_detach(r->lock);
    return failed ? failed : cli_end(r->cli, code);
}

static int redlock_renew(cli_session *cli)
{
    redlock r = {.cli = cli, .stop = -1};
    int failed = open_with_lease(&r);
    if (!failed)
        failed = adopt_token(&r);
    if (!failed)
        failed = renew_adopted(&r);
    close_redlock(&r);
    return failed;
}

static int redlock_release(cli_session *cli)
{
    redlock r = {.cli = cli, .stop = -1};
    int failed = open_redlock(&r);
    if (!failed)
        failed = adopt_token(&r);
    if (!failed)
        failed = cli_end(cli, tkl_redlock_release(r.lock));
    close_redlock(&r);
    return failed ? failed : cli_print_done(cli, "released");
}

/* ---- The component ------------------------------------------------------- */

#define NODES                              \
    {                                      \
        "nodes", CLI_URLS, "URL,URL,...",  \
            "1 to 64 independent servers " \
            "(default $TACKLE_NODES)"      \
    }
#define NODE_TIMEOUT                            \
    {                                           \
        "node-timeout", CLI_PERIOD, "DURATION", \
            "wait this long for one server "    \
            "(default lease/20, 10ms to 1s)"    \
    }

static const cli_option run_options[] = {
    NODES, CLI_HOLD_LEASE, CLI_HOLD_WAIT, CLI_HOLD_ON_LOST, CLI_HOLD_GRACE, NODE_TIMEOUT, {0},
};

static const cli_option acquire_options[] = {
    NODES, CLI_HOLD_LEASE, CLI_HOLD_TRY, NODE_TIMEOUT, {0},
};

static const cli_option renew_options[] = {
    NODES,
    {"lease", CLI_PERIOD, "DURATION", "the lease lasts this long from now (default 30s)"},
    NODE_TIMEOUT,
    {0},
};

static const cli_option release_options[] = {
    NODES,
    NODE_TIMEOUT,
    {0},
};

#define TOKEN_EXAMPLE                                                           \
    "dir=$(mktemp -d)\n"                                                        \
    "export TACKLE_NODES=\"embedded:$dir/1,embedded:$dir/2,embedded:$dir/3\"\n" \
    "token=$(tackle redlock acquire deploy --json | sed 's/.*\"token\": "       \
    "\"\\([^\"]*\\).*/\\1/')\n"
#define TOKEN_EXAMPLE_END \
    "\nfor i in 1 2 3; do tackle server stop --url \"embedded:$dir/$i\" >&2; done; rm -r \"$dir\""

static const cli_verb verbs[] = {
    {
        .name = "run",
        .args = "NAME -- COMMAND [ARG...]",
        .summary = "run a command while a majority of servers holds the lock for us",
        .options = run_options,
        .details =
            "Waits as long as it takes, unless --wait says otherwise. While COMMAND runs, the\n"
            "lease is renewed every third of it. If the lock is lost, COMMAND is ended.\n"
            "It finds TACKLE_LOCK and TACKLE_TOKEN in its environment.\n\n" CLI_HOLD_RUN_DETAILS,
        .example = "tackle redlock run backup --nodes embedded:,embedded:,embedded: -- echo mine",
        .local = "its caller names the servers",
        .run = redlock_run,
    },
    {
        .name = "acquire",
        .args = "NAME",
        .summary = "take the lock by hand; prints its token and how long it is valid",
        .options = acquire_options,
        .details = "The lock stays held when tackle ends, until it is released with the token or\n"
                   "the lease ends. Tries once, unless --wait says otherwise. Exit code 1 when\n"
                   "another holder has it, 69 when no majority of the servers answers.",
        .example = "tackle redlock acquire deploy --nodes embedded:,embedded:,embedded:",
        .local = "its caller names the servers",
        .run = redlock_acquire,
    },
    {
        .name = "renew",
        .args = "NAME TOKEN",
        .summary = "renew the lease: it begins again now",
        .options = renew_options,
        .details = "Exit code 1 when that token does not hold the lock (any more).",
        .example = TOKEN_EXAMPLE "tackle redlock renew deploy $token --lease 1m" TOKEN_EXAMPLE_END,
        .local = "its caller names the servers",
        .run = redlock_renew,
    },
    {
        .name = "release",
        .args = "NAME TOKEN",
        .summary = "give it back, on every server",
        .options = release_options,
        .details = "Exit code 1 when that token does not hold the lock (any more): what was done\n"
                   "since the lease ended was done without protection.",
        .example = TOKEN_EXAMPLE "tackle redlock release deploy $token --json" TOKEN_EXAMPLE_END,
        .local = "its caller names the servers",
        .run = redlock_release,
    },
    {0},
};

static const cli_step demo[] = {
    {"A lock on three servers that know nothing of each other (here: private ones, for a moment).",
     "tackle redlock run backup --nodes embedded:,embedded:,embedded: -- echo mine", 0},
    {"One of them is down: two of three are enough.",
     "tackle redlock run backup --nodes embedded:,embedded:,unix:///nowhere -- echo still mine", 0},
    {"Two are down: nobody can have it.",
     "tackle redlock run backup --nodes embedded:,unix:///nowhere,unix:///gone -- echo never", 69},
    {0},
};

const cli_component cli_redlock = {
    .name = "redlock",
    .summary = "a lock on several independent servers, held by a majority of them",
    .verbs = verbs,
    .demo = demo,
};
