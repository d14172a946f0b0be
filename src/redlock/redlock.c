/* SPDX-License-Identifier: MIT
 *
 * Redlock: a lock on N independent servers.
 *
 * Key of a name on each server: ns:redlock:{name}, a string that holds the owner's token and
 * expires with the lease. Whoever has it on more than half of the servers has the lock, for
 * ttl - elapsed - drift: the keys cannot end before ttl has passed since we began to ask, but for
 * clocks that do not run alike (ttl/100) and for their coarseness (2 ms).
 *
 * One rule keeps this safe when servers hang and requests arrive late and in any order: a token too
 * many on a server only delays somebody, until it expires; a token too few can give the lock to
 * two. Hence
 *
 *   - each try has a token of its own: a late release of an earlier try, which had no answer in
 *     time, cannot remove what a later one has written;
 *   - extending never shortens what a server has: a late one does no harm;
 *   - an answer that did not come counts as a no, and is followed by a release all the same;
 *   - a server that lost the key, because it was restarted empty, gets it back with the next
 *     extension of a lock that is valid still; it does not count then, since somebody may have
 *     had it there in between. So a lock survives even the restart of one server after the other.
 */
#include <tackle/redlock.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/name.h"
#include "core/script.h"
#include "core/token.h"
#include "redlock/crew.h"
#include "redlock/scripts.h"

#define DEFAULT_TTL_MS         10000
#define DEFAULT_RETRY_DELAY_MS 100
#define MIN_TTL_MS             10                    /* less would be used up by drift and asking */
#define MAX_TTL_MS             INT64_C(315360000000) /* ten years */
#define MAX_PAUSE_MS           INT64_C(3600000)

typedef struct server {
    tkl_client *client;
    tkl__base key; /* clients may have different namespaces */
} server;

struct tkl_redlock {
    tkl_redlock_options rules; /* nothing is 0 */
    tkl__crew *crew;
    char token[TKL_TOKEN_SIZE]; /* "": free */
    int64_t valid_until;        /* of tkl__lease_now(); 0: not known to be valid */
    pthread_mutex_t mutex;      /* guards `cancelled`, for which other threads may come */
    pthread_cond_t wake;
    bool cancelled; /* waits no more */
    size_t count;
    server servers[]; /* `count` of them */
};

/* ---- What one server is asked -------------------------------------------- */

static const server *server_at(const void *owner, size_t index)
{
    return &((const tkl_redlock *)owner)->servers[index];
}

/* An acquisition whose reply was lost is not repeated: it would find its own key and call it
 * another's. */
static int ask_acquire(const void *owner, const tkl__question *q, size_t index)
{
    const server *s = server_at(owner, index);
    const char *argv[] = {"SET", s->key.data, q->token, "NX", "PX", q->ttl};
    size_t lens[] = {3, s->key.len, strlen(q->token), 2, 2, strlen(q->ttl)};
    tkl_call_options options = {.timeout_ms = tkl__left(q->deadline) / 1000 + 1};
    tkl_reply *reply;
    int rc = tkl_call(s->client, 6, argv, lens, &options, &reply);
    if (rc == TKL_OK && tkl_reply_is_nil(reply))
        rc = TKL_BUSY;
    tkl_reply_free(reply);
    return rc;
}

static int run(const server *s, const tkl__script *script, const tkl_bytes *args, size_t nargs,
               bool retry_safe, int64_t deadline)
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
        rc = (int)tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

static int ask_extend(const void *owner, const tkl__question *q, size_t index)
{
    tkl_bytes args[] = {tkl_str(q->token), tkl_str(q->ttl), tkl_str(q->valid ? "1" : "0")};
    return run(server_at(owner, index), &tkl__lua_redlock_extend, args, 3, true, q->deadline);
}

/* Not repeated either: the second time nothing would be there any more. */
static int ask_release(const void *owner, const tkl__question *q, size_t index)
{
    tkl_bytes args[] = {tkl_str(q->token)};
    return run(server_at(owner, index), &tkl__lua_redlock_release, args, 1, false, q->deadline);
}

/* ---- What they say together ---------------------------------------------- */

static tkl__question question(const tkl_redlock *l,
                              int (*ask)(const void *, const tkl__question *, size_t),
                              int64_t ttl_ms)
{
    tkl__question q = {.ask = ask, .deadline = tkl__deadline_ms(l->rules.node_timeout_ms)};
    snprintf(q.ttl, sizeof q.ttl, "%" PRId64, ttl_ms);
    memcpy(q.token, l->token, sizeof q.token);
    return q;
}

/* `no` is what it means when a majority answered, but no majority said yes. */
static int verdict(const tkl_redlock *l, const tkl__answers *a, int no)
{
    if (tkl__crew_is_majority(l->crew, a->yes))
        return TKL_OK;
    if (tkl__crew_is_majority(l->crew, a->yes | a->no))
        return no;
    int code = tkl__crew_is_majority(l->crew, a->fatal) ? a->why : TKL_ENOTSENT;
    return tkl__fail(code, "no majority of %zu servers answered: %s", l->count,
                     a->failed ? a->text : "no reply in time");
}

static int ask_majority(tkl_redlock *l, const tkl__question *q, int no, tkl__answers *a)
{
    int rc = tkl__crew_ask_majority(l->crew, q, a);
    return rc == TKL_OK ? verdict(l, a, no) : rc;
}

/* ---- Opening and closing ------------------------------------------------- */

static int check_ttl(int64_t ttl_ms)
{
    if (ttl_ms < MIN_TTL_MS || ttl_ms > MAX_TTL_MS)
        return tkl__fail(TKL_EINVAL, "a lease lasts from %d milliseconds to 10 years", MIN_TTL_MS);
    return TKL_OK;
}

static int64_t default_node_timeout(int64_t ttl_ms)
{
    int64_t part = ttl_ms / 20;
    return part < 10 ? 10 : part > 200 ? 200 : part;
}

static int set_rules(tkl_redlock_options *rules, const tkl_redlock_options *options)
{
    if (options)
        *rules = *options;
    if (rules->ttl_ms == 0)
        rules->ttl_ms = DEFAULT_TTL_MS;
    if (rules->node_timeout_ms == 0)
        rules->node_timeout_ms = default_node_timeout(rules->ttl_ms);
    if (rules->retry_delay_ms == 0)
        rules->retry_delay_ms = DEFAULT_RETRY_DELAY_MS;
    if (rules->node_timeout_ms < 0)
        return tkl__fail(TKL_EINVAL, "the time-out of a server cannot be negative");
    if (rules->retry_delay_ms < 0 || rules->retry_delay_ms > MAX_PAUSE_MS)
        return tkl__fail(TKL_EINVAL, "the pause between tries lasts from 1 millisecond to an hour");
    return check_ttl(rules->ttl_ms);
}

static bool repeats(tkl_client *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (nodes[i] == nodes[j])
                return true;
    return false;
}

static int check_nodes(tkl_client *const *nodes, size_t count)
{
    if (count < 1 || count > TKL__CREW_MAX)
        return tkl__fail(TKL_EINVAL, "a Redlock needs 1 to %d servers", TKL__CREW_MAX);
    for (size_t i = 0; i < count; i++)
        if (!nodes[i])
            return tkl__fail(TKL_EINVAL, "client %zu of %zu is NULL", i + 1, count);
    if (repeats(nodes, count))
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
    pthread_mutex_init(&l->mutex, NULL);
    tkl__cond_init(&l->wake);
    rc = set_rules(&l->rules, options);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        l->servers[i].client = nodes[i];
        rc = tkl__base_make(nodes[i], "redlock", name, &l->servers[i].key);
    }
    if (rc == TKL_OK)
        rc = tkl__crew_open(count, l, &l->crew);
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
    if (*l->token)
        tkl_redlock_release(l);
    tkl__crew_close(l->crew);
    for (size_t i = 0; i < l->count; i++)
        tkl__base_free(&l->servers[i].key);
    pthread_cond_destroy(&l->wake);
    pthread_mutex_destroy(&l->mutex);
    free(l);
}

/* ---- Acquiring ----------------------------------------------------------- */

static void become_free(tkl_redlock *l)
{
    l->token[0] = '\0';
    l->valid_until = 0;
}

/* Sets the validity of a lease asked for at `started`; false when nothing is left of it. */
static bool become_valid(tkl_redlock *l, int64_t started, int64_t ttl_ms)
{
    int64_t ttl = ttl_ms * 1000;
    int64_t drift = ttl / 100 + 2000;
    l->valid_until = started + ttl - drift;
    return tkl_redlock_left_ms(l) > 0;
}

/* Takes back what a failed try may have left: everywhere but where the answer was no. Those who
 * said yes are waited for, so that nothing of it is in the way afterwards. */
static void give_back(tkl_redlock *l, const tkl__answers *a)
{
    tkl__question q = question(l, ask_release, 0);
    tkl__crew_ask(l->crew, &q, ~a->no, a->yes);
}

static int try_once(tkl_redlock *l)
{
    tkl__answers a;
    tkl__token_new(l->token);
    tkl__question q = question(l, ask_acquire, l->rules.ttl_ms);
    int64_t started = tkl__lease_now();
    int rc = ask_majority(l, &q, TKL_BUSY, &a);
    if (rc == TKL_OK && !become_valid(l, started, l->rules.ttl_ms))
        rc = TKL_BUSY;
    if (rc != TKL_OK) {
        give_back(l, &a);
        become_free(l);
    }
    return rc;
}

/* A majority that never was reached is not waited for: the addresses may be wrong. */
static bool worth_another_try(const tkl_redlock *l, int rc)
{
    size_t reached = 0;
    if (rc != TKL_ENOTSENT)
        return rc == TKL_BUSY;
    for (size_t i = 0; i < l->count; i++)
        reached += l->servers[i].client->reached;
    return reached > l->count / 2;
}

/* Random, so that those who split the servers between them do not do so again: from half to one
 * and a half of the mean. */
static int64_t random_pause(int64_t mean_ms)
{
    uint32_t dice;
    tkl__random(&dice, sizeof dice);
    int64_t mean = mean_ms * 1000;
    return mean / 2 + mean * (int64_t)(dice >> 16) / 65536;
}

/* Pauses before another try; false when there is no time for one, or it was called off. */
static bool pause_before_next(tkl_redlock *l, int64_t deadline)
{
    if (tkl__left(deadline) == 0)
        return false;
    int64_t until = tkl__now() + random_pause(l->rules.retry_delay_ms);
    if (until > deadline)
        until = deadline;
    pthread_mutex_lock(&l->mutex);
    while (!l->cancelled && tkl__cond_wait(&l->wake, &l->mutex, until))
        ;
    bool cancelled = l->cancelled;
    pthread_mutex_unlock(&l->mutex);
    return !cancelled;
}

int tkl_redlock_acquire(tkl_redlock *l, int64_t wait_ms)
{
    if (*l->token)
        return tkl__fail(TKL_EINVAL, "this handle holds it already");
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    int rc;
    do
        rc = try_once(l);
    while (worth_another_try(l, rc) && pause_before_next(l, deadline));
    return rc;
}

void tkl_redlock_cancel(tkl_redlock *l)
{
    pthread_mutex_lock(&l->mutex);
    l->cancelled = true;
    pthread_mutex_unlock(&l->mutex);
    pthread_cond_signal(&l->wake);
}

/* ---- Extending and releasing --------------------------------------------- */

static int check_held(const tkl_redlock *l)
{
    return *l->token ? TKL_OK : tkl__fail(TKL_EINVAL, "this handle holds nothing");
}

int tkl_redlock_extend(tkl_redlock *l, int64_t ttl_ms)
{
    tkl__answers a;
    int rc = check_held(l);
    ttl_ms = ttl_ms == 0 ? l->rules.ttl_ms : ttl_ms;
    if (rc == TKL_OK)
        rc = check_ttl(ttl_ms);
    if (rc != TKL_OK)
        return rc;
    tkl__question q = question(l, ask_extend, ttl_ms);
    q.valid = tkl_redlock_left_ms(l) > 0;
    int64_t started = tkl__lease_now();
    rc = ask_majority(l, &q, TKL_NOTOWNER, &a);
    if (rc == TKL_OK && !become_valid(l, started, ttl_ms))
        rc = TKL_NOTOWNER;
    if (rc == TKL_NOTOWNER)
        l->valid_until = 0;
    return rc;
}

int tkl_redlock_release(tkl_redlock *l)
{
    tkl__answers a;
    int rc = check_held(l);
    if (rc != TKL_OK)
        return rc;
    tkl__question q = question(l, ask_release, 0);
    become_free(l);
    return ask_majority(l, &q, TKL_NOTOWNER, &a);
}

/* ---- The handle ---------------------------------------------------------- */

int64_t tkl_redlock_left_ms(tkl_redlock *l)
{
    int64_t left = l->valid_until - tkl__lease_now();
    return left > 0 ? left / 1000 : 0;
}

void tkl_redlock_token(tkl_redlock *l, char token[TKL_TOKEN_SIZE])
{
    memcpy(token, l->token, sizeof l->token);
}

void tkl_redlock_detach(tkl_redlock *l)
{
    become_free(l);
}

int tkl_redlock_adopt(tkl_redlock *l, const char *token)
{
    if (*l->token)
        return tkl__fail(TKL_EINVAL, "this handle holds something already");
    if (!tkl__is_token(token))
        return TKL_NOTOWNER;
    memcpy(l->token, token, sizeof l->token);
    return TKL_OK;
}
