/* SPDX-License-Identifier: MIT
 *
 * Holding a name for a lease.
 *
 * Keys of a name, all in one slot (ns:lock:{name}:..., ns:sem:..., ns:leader:...):
 *
 *   :state    hash
 *               fence    the last fence handed out
 *               writer   "token till fence since standing who": the exclusive holder
 *               <token>  "fence since standing who": of each sharer (reader, or holder of a permit)
 *               limit    of a semaphore
 *               sharing  1: there are sharers
 *               waiting  1: there are waiters
 *               looker   "token at client who": the waiter that has promised to look, and when
 *               silent   when a silent heir was last passed over
 *               news     of a leader: the channel where changes of the holder are published
 *   :sharers  sorted set: tokens of the sharers by the end of their lease
 *   :line     list: the waiters by arrival, "token mode lease client who channel"
 *
 * Channels: ":w:CLIENT", where the waiters of one client hear of hand-overs, and ":all", where all
 * waiters of the name are recalled to the line, holders that watch hear of a break, and observers
 * of a leader hear of changes.
 *
 * Times are microseconds of the server's clock. "who" is one word, "host/pid/label". "standing" is
 * "unconfirmed" for an heir that has not renewed its first lease yet, else "confirmed". The state
 * alone shows whether a lock is free and nobody waits: taking it, and giving it back, then touches
 * nothing else.
 *
 * State and sharers expire a minute after the last lease; the minute keeps fences in order should
 * the server's clock be set back by less. The line expires a quarter of an hour after the last sign
 * of life of a waiter.
 *
 * Handing over. The script that frees something (release, leave, break, a look that finds a lease
 * ended) gives it to the first waiter whose client listens at this server: writes it down as the
 * holder, then publishes that on the channel of the waiter's client. A waiter that wakes up is the
 * holder already. A machine that fell silent without closing its connection hears nothing and
 * answers nothing, so a hand-over is for FIRST_LEASE at most; the keeper of a living client renews
 * it to the whole lease long before that. A holder that releases sooner needs no renewal.
 *
 * The script checks who listens before it publishes anything, so that a hand-over is never taken
 * back. That matters after a failover. The old master may live on as a replica, with subscribers,
 * and passes on what the new master publishes. The new master does not count them. Without the
 * check it would publish a hand-over that no client seems to hear, take it back and go on to the
 * next waiter, and all of these waiters would have heard that they hold the lock. With the check, a
 * message about a hand-over exists only if the heir's own client has a connection to the master,
 * wherever it hears the message.
 *
 * A waiter whose client does not listen here loses its place. Mostly its process is gone. But it
 * may be alive and listen at the old master. So the script recalls it on its own channel; the
 * message is only a hint. The waiter asks here at once, and finds that it must listen at another
 * server (hub.h: "The right node"). The other waiters hear nothing of it.
 *
 * Looking. The waiters notice a lease that ends without a release: each client knows when the
 * earliest lease ends and runs the acquire script again then (one of its waiters, for all).
 * FIRST_LEASE ends earlier than they expect, so the script that hands over tells one waiter, the
 * looker, unless one has promised to look in time. The looker is on another machine than the heir
 * (the new holder) if there is such a waiter, else of another process: what silences the heir must
 * not silence the looker. Readers behind a waiting writer look every two seconds whether it is
 * alive.
 *
 * Silence. An heir whose lease ended unconfirmed is silent, and is passed over. When the next heir
 * is silent, too, the script sends the first waiters back to the end of the line: it removes their
 * places and recalls them. Live waiters stand in line again at once. So a line of silent waiters
 * costs FIRST_LEASE twice in all, not once for each of them; live waiters may lose their order.
 *
 * Lost answers. The client repeats an acquire with the same token, by which the script recognises
 * it. A repeated release may find nothing to release: while the lease lasts, that counts as
 * released. An acquire that ends without a clear answer leaves the handle unsure: it may have a
 * place in the line, or the lock, and gives back both.
 *
 * Lost places. A server that was flushed, evicted or restarted without its data has lost the line.
 * A script that finds no state, or a state with waiters and no line, publishes "recall" on the
 * channel of all waiters of the name, and they stand in line again. A waiter of each client looks
 * every two heartbeats at the latest, in case no other script runs.
 *
 * A slot that moves. While a cluster moves a slot, it refuses a call that names several keys unless
 * all of them exist, on one node. Often some do not: a lock without waiters has no line, and one
 * without readers no sharers. So a refused call is repeated with STATE in the place of some keys
 * (script.h: "sparing"), and the scripts tell by STATE whether they can do without them. They
 * cannot add a key: a waiter that finds no line gets no place, and asks again every 100 ms at most.
 *
 * Time. Only the server's clock decides when a lease ends. The holder goes by its own monotonic
 * clock (which goes on while the machine sleeps), and counts from before the request was sent: so
 * it always stops relying on the lease first. A grant may have waited in a buffer for long: its age
 * comes from the server's clock, which an earlier reply related to the local clock.
 */
#include "hold/inside.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/rounds.h"
#include "core/token.h"

#define DEFAULT_LEASE_MS 30000
#define LABEL_MAX        256

/* ---- Arguments ----------------------------------------------------------- */

static int check_lease(int64_t lease_ms)
{
    return tkl__check_number("lease_ms", lease_ms, 1, TKL__MS_MAX);
}

/* Takes the turn: the owner's operations run one at a time. */
static int begin_call(tkl__hold *h)
{
    int rc = tkl__hold_check_ours(h);
    return rc == TKL_OK ? tkl__turn_take_unless_cancelled(&h->turn) : rc;
}

static int end_call(tkl__hold *h, int rc)
{
    tkl__turn_end(&h->turn);
    return rc > 0 ? tkl__no(rc) : rc;
}

static void add_word(tkl__buf *out, tkl_bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c == 0x7f || c == '%' || c == '/')
            tkl__buf_addf(out, "%%%02X", c);
        else
            tkl__buf_add(out, &c, 1);
    }
}

static char *who_am_i(const char *label)
{
    char host[256] = "";
    tkl__buf word;
    gethostname(host, sizeof host - 1);
    tkl__buf_init(&word);
    add_word(&word, tkl_str(host));
    tkl__buf_addf(&word, "/%ld/", (long)getpid());
    add_word(&word, tkl_str(label));
    tkl__buf_add(&word, "", 1);
    char *copy = word.failed ? NULL : strdup(word.data);
    tkl__buf_free(&word);
    return copy;
}

/* ---- Opening and closing ------------------------------------------------- */

static int make_keys(tkl__hold *h, tkl_bytes name)
{
    static const char *const parts[NKEYS] = {"state", "sharers", "line"};
    char part[40];
    unsigned char id[16];
    int rc = tkl__base_make(h->client, h->rules.component, name, &h->base);
    for (int i = 0; rc == TKL_OK && i < NKEYS; i++)
        rc = tkl__key_make(&h->base, parts[i], &h->keys[i]);
    if (rc != TKL_OK)
        return rc;
    tkl__client_lock(h->client); /* a forked child has an id of its own */
    memcpy(id, h->client->id, sizeof id);
    tkl__client_unlock(h->client);
    for (size_t i = 0; i < sizeof id; i++)
        sprintf(h->id + 2 * i, "%02x", id[i]);
    snprintf(part, sizeof part, "w:%s", h->id);
    rc = tkl__key_make(&h->base, part, &h->channel);
    return rc == TKL_OK ? tkl__key_make(&h->base, "all", &h->everyone) : rc;
}

static void set_lease(tkl__hold *h, int64_t lease_ms)
{
    h->rules.lease_ms = lease_ms;
    snprintf(h->lease, sizeof h->lease, "%" PRId64, tkl__hold_us(lease_ms));
}

static int check_rules(const tkl__hold_rules *rules)
{
    int rc = check_lease(rules->lease_ms);
    if (rc == TKL_OK && rules->watch && !rules->auto_renew)
        rc = tkl__fail(TKL_EINVAL, "watch needs auto_renew");
    if (rc == TKL_OK)
        rc = tkl__check_number("timeout_ms", rules->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("replicas", rules->replicas, 0, INT_MAX);
    if (rc == TKL_OK && rules->label && strlen(rules->label) > LABEL_MAX)
        rc = tkl__fail(TKL_EINVAL, "a label has at most %d bytes", LABEL_MAX);
    return rc;
}

int tkl__hold_open(tkl_client *client, tkl_bytes name, const tkl__hold_rules *rules,
                   tkl__hold **hold)
{
    *hold = NULL;
    tkl__hold *h = calloc(1, sizeof *h);
    if (!h)
        return tkl__nomem();
    h->client = client;
    h->pid = getpid();
    h->rules = *rules;
    if (rules->lease_ms == 0)
        h->rules.lease_ms = DEFAULT_LEASE_MS;
    h->kept = tkl__hold_kept;
    if (rules->limit > 0)
        snprintf(h->limit, sizeof h->limit, "%" PRId64, rules->limit);
    tkl__turn_init(&h->turn);
    pthread_mutex_init(&h->mutex, NULL);
    int rc = check_rules(&h->rules);
    if (rc == TKL_OK)
        rc = make_keys(h, name);
    if (rc == TKL_OK && !(h->who = who_am_i(rules->label)))
        rc = tkl__nomem();
    if (rc == TKL_OK)
        set_lease(h, h->rules.lease_ms);
    h->rules.label = NULL;
    if (rc != TKL_OK) {
        tkl__hold_close(h);
        return rc;
    }
    *hold = h;
    return TKL_OK;
}

static void free_hold(tkl__hold *h)
{
    for (int i = 0; i < NKEYS; i++)
        free((char *)h->keys[i].data);
    free((char *)h->channel.data);
    free((char *)h->everyone.data);
    free(h->who);
    tkl__base_free(&h->base);
    free(h);
}

/* Gives back what the handle still holds. A lost hold needs no release, so a server that is down
 * does not delay close. */
static void release_at_close(tkl__hold *h)
{
    tkl__turn_take(&h->turn); /* on_lost() may be releasing it right now */
    tkl_hold_state state = tkl__hold_state(h);
    bool holds = state == TKL_HOLD_HELD || state == TKL_HOLD_SUSPECT;
    bool wanted = (holds && !h->out_of_reach) || tkl__hold_phase_now(h) == TKL__HOLD_UNSURE;
    h->depth = 1; /* one release is enough, however often it was acquired */
    tkl__turn_end(&h->turn);
    if (wanted)
        tkl__hold_release(h, true);
}

void tkl__hold_close(tkl__hold *h)
{
    if (!h)
        return;
    if (tkl__hold_is_ours(h)) {
        release_at_close(h);
        tkl__hold_unwatch(h);
        tkl__unkeep_wait(h->client, &h->kept);
        tkl__turn_destroy(&h->turn);
        pthread_mutex_destroy(&h->mutex);
    } else {
        tkl__hold_unwatch(h);
        tkl__unkeep(h->client, &h->kept); /* forgets the keeper's list, which is the parent's */
    }
    free_hold(h);
}

/* ---- Renewing ------------------------------------------------------------ */

static int renew_held(tkl__hold *h, int64_t lease_ms, bool downgrade)
{
    tkl__hold_grant g = {0};
    lease_ms = lease_ms == 0 ? h->rules.lease_ms : lease_ms;
    int rc = check_lease(lease_ms);
    if (rc == TKL_OK)
        rc = tkl__hold_begin_renewal(h, downgrade);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__hold_ask_renew(h, lease_ms, downgrade, &g);
    return tkl__hold_end_renewal(h, rc, &g);
}

int tkl__hold_renew(tkl__hold *h, int64_t lease_ms)
{
    int rc = begin_call(h);
    return rc == TKL_OK ? end_call(h, renew_held(h, lease_ms, false)) : rc;
}

int tkl__hold_downgrade(tkl__hold *h)
{
    int rc = begin_call(h);
    return rc == TKL_OK ? end_call(h, renew_held(h, 0, true)) : rc;
}

/* ---- Acquiring ----------------------------------------------------------- */

/* The phase when an acquire begins: FREED, a release by the keeper, becomes NOTHING. */
static tkl__hold_phase phase_at_start(tkl__hold *h)
{
    tkl__hold_phase phase = tkl__hold_phase_now(h);
    if (phase != TKL__HOLD_FREED)
        return phase;
    tkl__hold_become_free(h);
    return TKL__HOLD_NOTHING;
}

/* A second acquisition by the same owner: a renewal proves that it is still held. */
static int acquire_again(tkl__hold *h)
{
    if (!h->rules.reentrant)
        return tkl__fail(TKL_EINVAL, "this handle holds it already");
    int rc = renew_held(h, 0, false);
    if (rc != TKL_OK)
        return rc == TKL_NOTOWNER ? tkl__fail(TKL_ELOST, "held by this handle, but lost") : rc;
    h->depth++;
    return TKL_OK;
}

/* One acquisition, with a token of its own. TKL_ELOST: it was granted, but lost before the caller
 * could rely on it. */
static int acquire_once(tkl__hold *h, bool unsure, int64_t deadline, tkl__hold_grant *g)
{
    pthread_mutex_lock(&h->mutex);
    if (!unsure) {
        tkl__token_new(h->token);
        h->in_line = false;
    }
    h->may_share = h->rules.shared;
    pthread_mutex_unlock(&h->mutex);
    int rc = tkl__hold_try_or_wait(h, deadline, g);
    if (rc == TKL_BUSY && unsure) /* an earlier call may have left a place in the line */
        rc = tkl__hold_ask_leave(h, g);
    if (rc == TKL_OK)
        rc = tkl__hold_await_replicas(h, g);
    if (rc == TKL_OK && tkl__lease_now() - g->started >= g->lease_us) {
        tkl__hold_ask_release(h, true, true);
        rc = tkl__fail(TKL_ELOST, "the lease ran out before the server's answer came");
    }
    return rc;
}

static int first_acquire(tkl__hold *h, bool unsure, int64_t wait_ms)
{
    tkl__hold_grant g;
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    tkl__rounds rounds = {.idle = 0};
    int rc = acquire_once(h, unsure, wait_ms == 0 ? TKL__HOLD_TRY : deadline, &g);
    while (rc == TKL_ELOST && wait_ms != 0 && tkl__left(deadline) > 0) {
        rc = tkl__pause_round(&rounds, h->client, deadline, false);
        if (rc == TKL_OK)
            rc = acquire_once(h, unsure, deadline, &g);
    }
    if (rc == TKL_OK)
        tkl__hold_become_held(h, &g);
    else if (tkl__may_pass(rc) || tkl_is_unknown(rc))
        tkl__hold_become_unsure(h);
    else
        tkl__hold_become_free(h);
    return rc;
}

int tkl__hold_acquire(tkl__hold *h, int64_t wait_ms)
{
    int rc = begin_call(h);
    if (rc != TKL_OK)
        return rc;
    tkl__hold_phase phase = phase_at_start(h);
    if (phase == TKL__HOLD_NOTHING || phase == TKL__HOLD_UNSURE)
        return end_call(h, first_acquire(h, phase == TKL__HOLD_UNSURE, wait_ms));
    return end_call(h, acquire_again(h));
}

static int adopt_token(tkl__hold *h, const char *token, int64_t lease_ms)
{
    tkl__hold_grant g;
    if (phase_at_start(h) != TKL__HOLD_NOTHING)
        return tkl__fail(TKL_EINVAL, "this handle holds something already");
    if (!tkl__is_token(token))
        return tkl__no(TKL_NOTOWNER);
    lease_ms = lease_ms == 0 ? h->rules.lease_ms : lease_ms;
    int rc = check_lease(lease_ms);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&h->mutex);
    memcpy(h->token, token, sizeof h->token);
    h->may_share = true; /* the token may be a reader's */
    set_lease(h, lease_ms);
    pthread_mutex_unlock(&h->mutex);
    rc = tkl__hold_ask_renew(h, lease_ms, false, &g);
    if (rc == TKL_OK)
        tkl__hold_become_held(h, &g);
    else
        tkl__hold_become_free(h);
    return rc;
}

int tkl__hold_adopt(tkl__hold *h, const char *token, int64_t lease_ms)
{
    int rc = begin_call(h);
    return rc == TKL_OK ? end_call(h, adopt_token(h, token, lease_ms)) : rc;
}

/* ---- Letting go ---------------------------------------------------------- */

/* Gives back what an unanswered acquire may have left: the place in the line, or the lock. */
static int give_up_unsure(tkl__hold *h)
{
    tkl__hold_grant g;
    int rc = tkl__hold_ask_leave(h, &g);
    if (rc == TKL_OK)
        rc = tkl__hold_ask_release(h, true, true);
    if (rc != TKL_OK && rc != TKL_BUSY && rc != TKL_NOTOWNER)
        return rc;
    tkl__hold_become_free(h);
    return TKL_OK;
}

/* A release may succeed while its answer is lost; the repeated request then finds nothing to
 * release. While the lease lasts, that still counts as released by the owner. */
static int release_held(tkl__hold *h, bool wait_for_reply)
{
    tkl__hold_phase phase = tkl__hold_begin_release(h);
    bool again = phase == TKL__HOLD_FREEING;
    int rc = TKL_OK;
    if (phase != TKL__HOLD_FREED)
        rc = tkl__hold_ask_release(h, wait_for_reply, false);
    if (rc == TKL_EUNKNOWN) {
        again |= phase == TKL__HOLD_HELD;
        rc = tkl__hold_ask_release(h, true, true);
    }
    if (rc == TKL_OK && phase == TKL__HOLD_LOST)
        rc = tkl__no(TKL_NOTOWNER);
    if (rc == TKL_NOTOWNER && again)
        rc = TKL_OK;
    h->out_of_reach = tkl__may_pass(rc);
    tkl__hold_end_release(h, rc, phase != TKL__HOLD_LOST);
    return rc;
}

static int release_hold(tkl__hold *h, bool wait_for_reply)
{
    tkl__hold_phase phase = tkl__hold_phase_now(h);
    if (phase == TKL__HOLD_NOTHING)
        return tkl__fail(TKL_EINVAL, "this handle holds nothing");
    if (phase == TKL__HOLD_UNSURE)
        return give_up_unsure(h);
    if (h->depth > 1) {
        h->depth--;
        return TKL_OK;
    }
    return release_held(h, wait_for_reply);
}

int tkl__hold_release(tkl__hold *h, bool wait_for_reply)
{
    int rc = begin_call(h);
    return rc == TKL_OK ? end_call(h, release_hold(h, wait_for_reply)) : rc;
}

/* Renews a hand-over that is not confirmed yet: otherwise the token would hold for less than its
 * lease. */
static int detach_hold(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    bool sure = h->confirmed && h->phase == TKL__HOLD_HELD && tkl__lease_now() < h->expires;
    pthread_mutex_unlock(&h->mutex);
    int rc = sure ? TKL_OK : renew_held(h, 0, false);
    if (rc == TKL_OK || rc == TKL_NOTOWNER)
        tkl__hold_become_free(h);
    return rc;
}

int tkl__hold_detach(tkl__hold *h)
{
    int rc = begin_call(h);
    return rc == TKL_OK ? end_call(h, detach_hold(h)) : rc;
}

/* ---- Asking the handle --------------------------------------------------- */

tkl_hold_state tkl__hold_state_locked(const tkl__hold *h)
{
    bool busy = h->phase == TKL__HOLD_RENEWING || h->phase == TKL__HOLD_RELEASING;
    switch (busy ? h->before : h->phase) {
    case TKL__HOLD_NOTHING:
    case TKL__HOLD_UNSURE:
    case TKL__HOLD_FREED:
        return TKL_HOLD_FREE;
    case TKL__HOLD_LOST:
    case TKL__HOLD_TOLD:
        return TKL_HOLD_LOST;
    case TKL__HOLD_DOUBTED:
        return tkl__lease_now() < h->expires ? TKL_HOLD_SUSPECT : TKL_HOLD_LOST;
    default:
        return tkl__lease_now() < h->expires ? TKL_HOLD_HELD : TKL_HOLD_LOST;
    }
}

tkl_hold_state tkl__hold_state(tkl__hold *h)
{
    if (!tkl__hold_is_ours(h))
        return TKL_HOLD_FREE;
    pthread_mutex_lock(&h->mutex);
    tkl_hold_state state = tkl__hold_state_locked(h);
    pthread_mutex_unlock(&h->mutex);
    return state;
}

const char *tkl_hold_state_name(tkl_hold_state state)
{
    static const char *const names[] = {"free", "held", "suspect", "lost"};
    return TKL__ENUM_NAME((int)state, names);
}

uint64_t tkl__hold_fence(tkl__hold *h)
{
    if (!tkl__hold_is_ours(h))
        return 0;
    pthread_mutex_lock(&h->mutex);
    uint64_t fence = h->fence;
    pthread_mutex_unlock(&h->mutex);
    return fence;
}

void tkl__hold_token(tkl__hold *h, char token[TKL_TOKEN_SIZE])
{
    token[0] = '\0';
    if (!tkl__hold_is_ours(h))
        return;
    pthread_mutex_lock(&h->mutex);
    if (h->phase != TKL__HOLD_NOTHING && h->phase != TKL__HOLD_FREED)
        memcpy(token, h->token, TKL_TOKEN_SIZE);
    pthread_mutex_unlock(&h->mutex);
}

int64_t tkl__hold_left_ms(tkl__hold *h)
{
    if (!tkl__hold_is_ours(h))
        return 0;
    pthread_mutex_lock(&h->mutex);
    tkl_hold_state state = tkl__hold_state_locked(h);
    bool live = state == TKL_HOLD_HELD || state == TKL_HOLD_SUSPECT;
    int64_t left = live ? (h->expires - tkl__lease_now()) / 1000 : 0;
    pthread_mutex_unlock(&h->mutex);
    return left;
}
