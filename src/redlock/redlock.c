/* SPDX-License-Identifier: MIT
 *
 * Redlock: a lock on N independent servers.
 *
 * Key of a name on each server: ns:redlock:{name}, a string that holds the owner's token and
 * expires with the lease. An owner that has it on more than half of the servers has the lock, for
 * lease - elapsed - drift. No key expires before the lease has passed since the owner began to ask.
 * The drift allows for clocks that run at different speeds (lease/100) and their resolution (2 ms).
 *
 * One rule keeps this safe when servers hang and requests arrive late and in any order: a surplus
 * token on a server only delays other owners until it expires; a missing token can give the lock to
 * two owners. So:
 *
 *   - Each attempt has a token of its own. A late release of an earlier attempt, which had no
 *     answer in time, cannot remove what a later attempt has written.
 *   - A renewal never shortens the lease on a server, so a late renewal does no harm.
 *   - A server that does not answer counts as a "no", and still gets a release.
 *   - The owner gives back a failed attempt at once. While an attempt waits for silent servers, its
 *     keys on the others block other owners, and several owners could keep each other from the
 *     majority for ever. So an attempt does not wait for a server that was silent the last time.
 *   - A server that lost the key, because it was restarted empty, gets it back with the next
 *     renewal while the lock is valid. Its answer does not count then: another owner may have had
 *     the lock there in between. So a lock survives even the restart of one server after the other.
 */
#include <tackle/redlock.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/options.h"
#include "core/script.h"
#include "core/token.h"
#include "redlock/crew.h"
#include "redlock/scripts.h"

#define DEFAULT_LEASE_MS       30000
#define DEFAULT_RETRY_DELAY_MS 100
#define MIN_LEASE_MS           10 /* drift and round trips would use up less */
#define MAX_PAUSE_MS           INT64_C(3600000)

typedef struct server {
    tkl_client *client;
    tkl__base key; /* clients may have different namespaces */
} server;

struct tkl_redlock {
    tkl_redlock_options rules; /* nothing is 0 */
    tkl__redlock_crew *crew;
    char token[TKL_TOKEN_SIZE]; /* "": free */
    int64_t valid_until;        /* by tkl__lease_now(); 0: not known to be valid */
    bool lost;                  /* a renewal found that it is no longer held */
    pid_t pid;                  /* the process that opened it */
    size_t count;
    server servers[]; /* `count` of them */
};

/* ---- Requests to one server ---------------------------------------------- */

static const server *server_at(const void *owner, size_t index)
{
    return &((const tkl_redlock *)owner)->servers[index];
}

/* An acquisition whose reply was lost is not repeated: the repeat would find its own key and take
 * it for the key of another owner. */
static int ask_acquire(const void *owner, const tkl__redlock_question *q, size_t index)
{
    const server *s = server_at(owner, index);
    const char *argv[] = {"SET", s->key.data, q->token, "NX", "PX", q->lease};
    size_t lens[] = {3, s->key.len, strlen(q->token), 2, 2, strlen(q->lease)};
    tkl_call_options options = {.timeout_ms = tkl__left(q->deadline) / 1000 + 1};
    tkl_reply *reply;
    int rc = tkl_call(s->client, 6, argv, lens, &options, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = TKL_BUSY;
    tkl_reply_free(reply);
    return rc;
}

static int run_on_server(const server *s, const tkl__script *script, const tkl_bytes *args,
                         size_t nargs, bool retry_safe, int64_t deadline)
{
    tkl_bytes key = {s->key.data, s->key.len};
    tkl__invocation call = {.script = script,
                            .keys = &key,
                            .nkeys = 1,
                            .args = args,
                            .nargs = nargs,
                            .retry_safe = retry_safe};
    tkl_reply *reply;
    int rc = tkl__run(s->client, &call, deadline, &reply);
    if (rc == TKL_OK)
        rc = tkl__no_or_ok((int)tkl_reply_int(reply));
    tkl_reply_free(reply);
    return rc;
}

static int ask_renew(const void *owner, const tkl__redlock_question *q, size_t index)
{
    tkl_bytes args[] = {tkl_str(q->token), tkl_str(q->lease), tkl_str(q->valid ? "1" : "0")};
    return run_on_server(server_at(owner, index), &tkl__lua_redlock_renew, args, 3, true,
                         q->deadline);
}

/* A release is not repeated either: the repeat would find no key. */
static int ask_release(const void *owner, const tkl__redlock_question *q, size_t index)
{
    tkl_bytes args[] = {tkl_str(q->token)};
    return run_on_server(server_at(owner, index), &tkl__lua_redlock_release, args, 1, false,
                         q->deadline);
}

/* ---- The outcome of all answers ------------------------------------------ */

static tkl__redlock_question
make_question(const tkl_redlock *l, int (*ask)(const void *, const tkl__redlock_question *, size_t),
              int64_t lease_ms)
{
    tkl__redlock_question q = {.ask = ask, .deadline = tkl__deadline_ms(l->rules.timeout_ms)};
    snprintf(q.lease, sizeof q.lease, "%" PRId64, lease_ms);
    memcpy(q.token, l->token, sizeof q.token);
    return q;
}

static int fail_unanswered(const tkl_redlock *l, const tkl__redlock_answers *a)
{
    int code = tkl__redlock_crew_is_majority(l->crew, a->fatal) ? a->why : TKL_ENOTSENT;
    return tkl__fail(code, "no majority of %zu servers answered: %s", l->count,
                     a->failed ? a->text : "no reply in time");
}

/* The outcome of an acquisition: it counts when a majority said yes. */
static int verdict_of_acquire(const tkl_redlock *l, const tkl__redlock_answers *a)
{
    if (tkl__redlock_crew_is_majority(l->crew, a->yes))
        return TKL_OK;
    return tkl__redlock_crew_is_majority(l->crew, a->yes | a->no) ? tkl__no(TKL_BUSY)
                                                                  : fail_unanswered(l, a);
}

/* The outcome of a renewal or release. The lock is lost when the servers that did not say no are no
 * majority; silent servers may still have it. */
static int verdict_of_owner(const tkl_redlock *l, const tkl__redlock_answers *a)
{
    if (tkl__redlock_crew_is_majority(l->crew, a->yes))
        return TKL_OK;
    if (!tkl__redlock_crew_is_majority(l->crew, tkl__redlock_crew_everybody(l->crew) & ~a->no))
        return tkl__no(TKL_NOTOWNER);
    if (!tkl__redlock_crew_is_majority(l->crew, a->yes | a->no))
        return fail_unanswered(l, a);
    return tkl__fail(TKL_EUNKNOWN, "too few of %zu servers answered to tell whether it is held: %s",
                     l->count, a->failed ? a->text : "no reply in time");
}

/* ---- Opening and closing ------------------------------------------------- */

/* False in a forked child: the lock belongs to the parent. */
static bool is_ours(const tkl_redlock *l)
{
    return l->pid == getpid();
}

static int check_ours(const tkl_redlock *l)
{
    tkl__begin(); /* clears the text of an earlier error here: other threads ask the servers */
    return is_ours(l) ? TKL_OK
                      : tkl__fail(TKL_EINVAL, "this handle belongs to the parent of this process");
}

static int check_lease(int64_t lease_ms)
{
    return tkl__check_number("lease_ms", lease_ms, MIN_LEASE_MS, TKL__MS_MAX);
}

static int64_t default_node_timeout(int64_t lease_ms)
{
    int64_t part = lease_ms / 20;
    return part < 10 ? 10 : part > 1000 ? 1000 : part;
}

static int set_rules(tkl_redlock_options *rules, const tkl_redlock_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    if (rc != TKL_OK)
        return rc;
    if (options)
        *rules = *options;
    if (rules->lease_ms == 0)
        rules->lease_ms = DEFAULT_LEASE_MS;
    if (rules->timeout_ms == 0)
        rules->timeout_ms = default_node_timeout(rules->lease_ms);
    if (rules->retry_delay_ms == 0)
        rules->retry_delay_ms = DEFAULT_RETRY_DELAY_MS;
    rc = tkl__check_number("timeout_ms", rules->timeout_ms, 1, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("retry_delay_ms", rules->retry_delay_ms, 1, MAX_PAUSE_MS);
    return rc == TKL_OK ? check_lease(rules->lease_ms) : rc;
}

static bool has_node_twice(tkl_client *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (nodes[i] == nodes[j])
                return true;
    return false;
}

static int check_nodes(tkl_client *const *nodes, size_t count)
{
    if (!nodes || count < 1 || count > TKL__REDLOCK_MAX)
        return tkl__fail(TKL_EINVAL, "a Redlock needs 1 to %d servers", TKL__REDLOCK_MAX);
    for (size_t i = 0; i < count; i++)
        if (!nodes[i])
            return tkl__fail(TKL_EINVAL, "client %zu of %zu is NULL", i + 1, count);
    if (has_node_twice(nodes, count))
        return tkl__fail(TKL_EINVAL, "a client is given twice: a majority needs many servers");
    return TKL_OK;
}

int tkl_redlock_open(tkl_client *const *nodes, size_t count, tkl_bytes name,
                     const tkl_redlock_options *options, tkl_redlock **lock)
{
    *lock = NULL;
    int rc = check_nodes(nodes, count);
    if (rc != TKL_OK)
        return rc;
    tkl_redlock *l = calloc(1, sizeof *l + count * sizeof *l->servers);
    if (!l)
        return tkl__nomem();
    l->count = count;
    l->pid = getpid();
    rc = set_rules(&l->rules, options);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        l->servers[i].client = nodes[i];
        rc = tkl__base_make(nodes[i], "redlock", name, &l->servers[i].key);
    }
    if (rc == TKL_OK)
        rc = tkl__redlock_crew_open(count, l, &l->crew);
    if (rc != TKL_OK) {
        tkl_redlock_close(l);
        return rc;
    }
    *lock = l;
    return TKL_OK;
}

void tkl_redlock_close(tkl_redlock *l)
{
    if (!l)
        return;
    if (*l->token && is_ours(l))
        tkl_redlock_release(l);
    tkl__redlock_crew_close(l->crew);
    for (size_t i = 0; i < l->count; i++)
        tkl__base_free(&l->servers[i].key);
    free(l);
}

/* ---- Acquiring ----------------------------------------------------------- */

static void become_free(tkl_redlock *l)
{
    l->token[0] = '\0';
    l->valid_until = 0;
    l->lost = false;
}

/* Sets the validity of a lease requested at `started`; false when nothing is left of it. */
static bool become_valid(tkl_redlock *l, int64_t started, int64_t lease_ms)
{
    int64_t lease = lease_ms * 1000;
    int64_t drift = lease / 100 + 2000;
    l->valid_until = started + lease - drift;
    return tkl_redlock_left_ms(l) > 0;
}

/* Releases what a failed attempt may have left, on every server that did not say no. Waits for the
 * servers that said yes, so that no key stays there and blocks others. */
static void give_back(tkl_redlock *l, const tkl__redlock_answers *a)
{
    tkl__redlock_question q = make_question(l, ask_release, 0);
    tkl__redlock_crew_ask(l->crew, &q, ~a->no, a->yes);
}

static int attempt_once(tkl_redlock *l)
{
    tkl__redlock_answers a;
    tkl__token_new(l->token);
    tkl__redlock_question q = make_question(l, ask_acquire, l->rules.lease_ms);
    q.impatient = true;
    int64_t started = tkl__lease_now();
    int rc = tkl__redlock_crew_ask_majority(l->crew, &q, &a);
    if (rc == TKL_OK)
        rc = verdict_of_acquire(l, &a);
    if (rc == TKL_OK && !become_valid(l, started, l->rules.lease_ms))
        rc = tkl__fail(TKL_BUSY, "the lease ended before the servers had answered");
    if (rc != TKL_OK) {
        give_back(l, &a);
        become_free(l);
    }
    return rc;
}

/* Whether another attempt makes sense. It does not when a majority of the servers was never
 * reached: the addresses may be wrong. */
static bool is_worth_another_attempt(const tkl_redlock *l, int rc)
{
    size_t reached = 0;
    if (rc != TKL_ENOTSENT)
        return rc == TKL_BUSY;
    for (size_t i = 0; i < l->count; i++)
        reached += l->servers[i].client->reached;
    return reached > l->count / 2;
}

/* A random pause, half to one and a half times the mean, so that owners that have split the servers
 * between them do not split them again. */
static int64_t random_pause(int64_t mean_ms)
{
    uint32_t dice;
    tkl__random(&dice, sizeof dice);
    int64_t mean = mean_ms * 1000;
    return mean / 2 + mean * (int64_t)(dice >> 16) / 65536;
}

/* Sleeps until `at`. TKL_EINTR: one of the clients was interrupted. */
static int sleep_until(tkl_redlock *l, int64_t at)
{
    struct pollfd files[TKL__REDLOCK_MAX];
    do {
        for (size_t i = 0; i < l->count; i++) {
            tkl_client *client = l->servers[i].client;
            if (tkl__is_interrupted(client))
                return tkl__interrupted();
            files[i] = (struct pollfd){tkl__interrupt_fd(client), POLLIN, 0};
            tkl__interrupt_seen(client);
        }
        tkl__rest_begin();
        tkl__poll(files, l->count, at);
        tkl__rest_end();
    } while (tkl__left(at) > 0);
    return TKL_OK;
}

int tkl_redlock_acquire(tkl_redlock *l, int64_t wait_ms)
{
    int rc = check_ours(l);
    if (rc != TKL_OK)
        return rc;
    if (*l->token)
        return tkl__fail(TKL_EINVAL, "this handle holds it already");
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    for (;;) {
        rc = attempt_once(l);
        if (!is_worth_another_attempt(l, rc) || tkl__left(deadline) == 0)
            return rc;
        int64_t until = tkl__now() + random_pause(l->rules.retry_delay_ms);
        int paused = sleep_until(l, until < deadline ? until : deadline);
        if (paused != TKL_OK)
            return paused;
    }
}

/* ---- Renewing and releasing ---------------------------------------------- */

static int check_held(const tkl_redlock *l)
{
    int rc = check_ours(l);
    return rc == TKL_OK && !*l->token ? tkl__fail(TKL_EINVAL, "this handle holds nothing") : rc;
}

int tkl_redlock_renew(tkl_redlock *l, int64_t lease_ms)
{
    tkl__redlock_answers a;
    int rc = check_held(l);
    lease_ms = lease_ms == 0 ? l->rules.lease_ms : lease_ms;
    if (rc == TKL_OK)
        rc = check_lease(lease_ms);
    if (rc != TKL_OK || l->lost)
        return rc != TKL_OK ? rc : tkl__no(TKL_NOTOWNER);
    tkl__redlock_question q = make_question(l, ask_renew, lease_ms);
    q.valid = tkl_redlock_left_ms(l) > 0;
    int64_t started = tkl__lease_now();
    rc = tkl__redlock_crew_ask_majority(l->crew, &q, &a);
    if (rc == TKL_OK)
        rc = verdict_of_owner(l, &a);
    if (rc == TKL_OK && !become_valid(l, started, lease_ms))
        rc = tkl__no(TKL_NOTOWNER);
    if (rc == TKL_NOTOWNER) {
        l->valid_until = 0;
        l->lost = true;
    }
    return rc;
}

int tkl_redlock_release(tkl_redlock *l)
{
    tkl__redlock_answers a;
    int rc = check_held(l);
    if (rc != TKL_OK)
        return rc;
    tkl__redlock_question q = make_question(l, ask_release, 0);
    bool lost = l->lost;
    become_free(l);
    rc = tkl__redlock_crew_ask_majority(l->crew, &q, &a);
    if (rc == TKL_OK)
        rc = verdict_of_owner(l, &a);
    return rc == TKL_OK && lost ? tkl__no(TKL_NOTOWNER) : rc;
}

/* ---- The handle ---------------------------------------------------------- */

int64_t tkl_redlock_left_ms(tkl_redlock *l)
{
    int64_t left = is_ours(l) ? l->valid_until - tkl__lease_now() : 0;
    return left > 0 ? left / 1000 : 0;
}

void tkl_redlock_token(tkl_redlock *l, char token[TKL_TOKEN_SIZE])
{
    memcpy(token, is_ours(l) ? l->token : "", is_ours(l) ? sizeof l->token : 1);
}

int tkl_redlock_detach(tkl_redlock *l)
{
    int rc = check_held(l);
    if (rc == TKL_OK)
        become_free(l);
    return rc;
}

int tkl_redlock_adopt(tkl_redlock *l, const char *token)
{
    int rc = check_ours(l);
    if (rc != TKL_OK)
        return rc;
    if (*l->token)
        return tkl__fail(TKL_EINVAL, "this handle holds something already");
    if (!tkl__is_token(token))
        return tkl__no(TKL_NOTOWNER);
    memcpy(l->token, token, sizeof l->token);
    return TKL_OK;
}
