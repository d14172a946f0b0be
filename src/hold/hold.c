/* SPDX-License-Identifier: MIT
 *
 * Holding a name for a lease.
 *
 * Keys of a name, all in one slot (ns:lock:{name}:..., ns:sem:{name}:...):
 *
 *   :state    hash
 *               fence    the last fence handed out
 *               writer   "token till fence since who": the exclusive holder
 *               <token>  "fence since who": of each sharer (reader, or holder of a permit)
 *               limit    of a semaphore
 *               sharing  1: there are sharers
 *               waiting  1: there are waiters
 *               looker   "token at client who": the waiter that has promised to look, and when
 *   :sharers  sorted set: tokens of the sharers by the end of their lease
 *   :line     list: the waiters by arrival, "token mode lease client who channel"
 *
 * Channels: ":w:CLIENT", where the waiters of one client hear of hand-overs, and ":all", where all
 * waiters of the name are called back into the line.
 *
 * Times are microseconds of the server's clock. "who" is one word, "host/pid/label". The state
 * alone shows whether a lock is free and nobody waits: taking it, and giving it back, then touches
 * nothing else.
 *
 * State and sharers expire a minute after the last lease; the minute keeps fences in order should
 * the server's clock be set back by less. The line expires a quarter of an hour after the last sign
 * of life of a waiter.
 *
 * Handing over. The script that frees something (release, leave, break, a look that finds a lease
 * ended) gives it to the first waiter: writes it down as the holder, then publishes that on the
 * channel of the waiter's client. When nobody heard it, that process is gone, and the next waiter
 * gets it. Otherwise waking up is owning. A machine that fell silent without closing its connection
 * hears nothing and answers nothing, so a hand-over is for FIRST_LEASE at most; the keeper of a
 * living client renews it to the whole lease long before that. Work that is done sooner needs no
 * renewal.
 *
 * Looking. A lease that ends without a release is noticed by the waiters: each client knows when
 * the earliest lease ends and runs the acquire script again then (one of its waiters, for all).
 * FIRST_LEASE ends earlier than they expect, so the script that hands over tells one waiter, the
 * looker, unless one has promised to look in time. The looker is on another machine than the heir
 * (the new holder) if there is such a waiter, else of another process: what silences the heir must
 * not silence the looker. Readers behind a waiting writer look every two seconds whether it is
 * alive.
 *
 * Lost answers. An acquire is repeated with the same token, and so recognised. A release that is
 * repeated may find nothing to release: while the lease lasts that is no loss. What else had no
 * answer leaves the handle unsure: it may have a place in the line, or the lock, and gives back
 * both.
 *
 * Time. Leases are judged by the server's clock alone. What the holder itself may believe is judged
 * by its monotonic clock (which goes on while the machine sleeps), from before the request was
 * sent: so it always stops believing first. A grant may have lain in a buffer for long: its age is
 * taken from the server's clock, which a reply before it tied to ours.
 */
#include "hold/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/token.h"

#define DEFAULT_TTL_MS 10000
#define MAX_TTL_MS     INT64_C(315360000000) /* ten years */
#define LABEL_MAX      256

/* ---- Arguments ----------------------------------------------------------- */

static int check_ttl(int64_t ttl_ms)
{
    if (ttl_ms < 1 || ttl_ms > MAX_TTL_MS)
        return tkl__fail(TKL_EINVAL, "a lease lasts from 1 millisecond to 10 years");
    return TKL_OK;
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

static void set_ttl(tkl__hold *h, int64_t ttl_ms)
{
    h->rules.ttl_ms = ttl_ms;
    snprintf(h->lease, sizeof h->lease, "%" PRId64, tkl__to_us(ttl_ms));
}

static int check_rules(const tkl__hold_rules *rules)
{
    int rc = check_ttl(rules->ttl_ms);
    if (rc == TKL_OK && rules->label && strlen(rules->label) > LABEL_MAX)
        rc = tkl__fail(TKL_EINVAL, "a label has at most %d bytes", LABEL_MAX);
    if (rc == TKL_OK && rules->replicas < 0)
        rc = tkl__fail(TKL_EINVAL, "the number of replicas cannot be negative");
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
    h->rules = *rules;
    if (rules->ttl_ms == 0)
        h->rules.ttl_ms = DEFAULT_TTL_MS;
    h->kept = tkl__hold_kept;
    if (rules->limit > 0)
        snprintf(h->limit, sizeof h->limit, "%" PRId64, rules->limit);
    pthread_mutex_init(&h->turn, NULL);
    pthread_mutex_init(&h->mutex, NULL);
    int rc = check_rules(&h->rules);
    if (rc == TKL_OK)
        rc = make_keys(h, name);
    if (rc == TKL_OK && !(h->who = who_am_i(rules->label)))
        rc = tkl__nomem();
    if (rc == TKL_OK)
        set_ttl(h, h->rules.ttl_ms);
    h->rules.label = NULL;
    if (rc != TKL_OK) {
        tkl__hold_close(h);
        return rc;
    }
    *hold = h;
    return TKL_OK;
}

void tkl__hold_close(tkl__hold *h)
{
    if (!h)
        return;
    if ((h->held && !h->out_of_reach) || h->unsure) {
        h->depth = 1;
        tkl__hold_release(h, true);
    }
    tkl__unkeep_wait(h->client, &h->kept);
    for (int i = 0; i < NKEYS; i++)
        free((char *)h->keys[i].data);
    free((char *)h->channel.data);
    free((char *)h->everyone.data);
    free(h->who);
    tkl__base_free(&h->base);
    pthread_mutex_destroy(&h->turn);
    pthread_mutex_destroy(&h->mutex);
    free(h);
}

/* ---- Renewing ------------------------------------------------------------ */

static int renew_held(tkl__hold *h, int64_t ttl_ms, bool downgrade)
{
    tkl__grant g;
    if (!h->held)
        return tkl__fail(TKL_EINVAL, "this handle holds nothing");
    ttl_ms = ttl_ms == 0 ? h->rules.ttl_ms : ttl_ms;
    int rc = check_ttl(ttl_ms);
    if (rc == TKL_OK)
        rc = tkl__hold_ask_renewal(h, ttl_ms, downgrade, &g);
    if (rc != TKL_OK && rc != TKL_NOTOWNER)
        return rc;
    pthread_mutex_lock(&h->mutex);
    if (rc == TKL_OK) {
        h->short_lease = false;
        tkl__hold_note_lease(h, g.started, g.lease_us);
    } else
        h->lost = true;
    int64_t due = tkl__hold_next_due(h);
    pthread_mutex_unlock(&h->mutex);
    if (due != TKL__FOREVER)
        tkl__keep(h->client, &h->kept, tkl__lease_end(due));
    return rc;
}

int tkl__hold_renew(tkl__hold *h, int64_t ttl_ms)
{
    pthread_mutex_lock(&h->turn);
    int rc = renew_held(h, ttl_ms, false);
    pthread_mutex_unlock(&h->turn);
    return rc;
}

int tkl__hold_downgrade(tkl__hold *h)
{
    pthread_mutex_lock(&h->turn);
    int rc = renew_held(h, 0, true);
    if (rc == TKL_OK)
        h->shared = true;
    pthread_mutex_unlock(&h->turn);
    return rc;
}

/* ---- Acquiring ----------------------------------------------------------- */

/* A second acquisition by the same owner: renewing it shows that it is held still. */
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

static int first_acquire(tkl__hold *h, int64_t wait_ms)
{
    tkl__grant g;
    pthread_mutex_lock(&h->mutex);
    if (!h->unsure) {
        tkl__token_new(h->token);
        h->in_line = false;
    }
    h->shared = h->rules.shared;
    pthread_mutex_unlock(&h->mutex);
    int rc = tkl__hold_try_or_wait(h, wait_ms, &g);
    if (rc == TKL_BUSY && h->unsure) /* a place in the line may be left from before */
        rc = tkl__hold_ask_leave(h, &g);
    if (rc == TKL_OK)
        rc = tkl__hold_await_replicas(h, &g);
    if (rc == TKL_OK && tkl__lease_now() - g.started >= g.lease_us) {
        tkl__hold_ask_release(h, true, true);
        rc = tkl__fail(TKL_ELOST, "the lease ran out before the server's answer came");
    }
    if (rc == TKL_OK)
        tkl__hold_become_held(h, &g);
    else if (tkl__hold_may_pass(rc))
        tkl__hold_become_unsure(h);
    else
        tkl__hold_become_free(h);
    return rc;
}

int tkl__hold_acquire(tkl__hold *h, int64_t wait_ms)
{
    pthread_mutex_lock(&h->turn);
    int rc = h->held ? acquire_again(h) : first_acquire(h, wait_ms);
    pthread_mutex_unlock(&h->turn);
    return rc;
}

static int adopt(tkl__hold *h, const char *token, int64_t ttl_ms)
{
    tkl__grant g;
    if (h->held || h->unsure)
        return tkl__fail(TKL_EINVAL, "this handle holds something already");
    if (!tkl__is_token(token))
        return TKL_NOTOWNER;
    ttl_ms = ttl_ms == 0 ? h->rules.ttl_ms : ttl_ms;
    int rc = check_ttl(ttl_ms);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&h->mutex);
    memcpy(h->token, token, sizeof h->token);
    pthread_mutex_unlock(&h->mutex);
    set_ttl(h, ttl_ms);
    rc = tkl__hold_ask_renewal(h, ttl_ms, false, &g);
    if (rc == TKL_OK)
        tkl__hold_become_held(h, &g);
    else
        tkl__hold_become_free(h);
    return rc;
}

int tkl__hold_adopt(tkl__hold *h, const char *token, int64_t ttl_ms)
{
    pthread_mutex_lock(&h->turn);
    int rc = adopt(h, token, ttl_ms);
    pthread_mutex_unlock(&h->turn);
    return rc;
}

/* ---- Letting go ---------------------------------------------------------- */

/* What was asked for without an answer: the place in the line, or the lock. */
static int give_up(tkl__hold *h)
{
    tkl__grant g;
    int rc = tkl__hold_ask_leave(h, &g);
    if (rc == TKL_OK)
        rc = tkl__hold_ask_release(h, true, true);
    if (rc != TKL_OK && rc != TKL_BUSY && rc != TKL_NOTOWNER)
        return rc;
    tkl__hold_become_free(h);
    return TKL_OK;
}

/* The answer may be lost when the release is done, and the next request finds nothing to release:
 * which says nothing against the owner as long as the lease lasts. */
static int release_held(tkl__hold *h, bool wait_for_reply)
{
    bool live = tkl__hold_state(h) != TKL_LOST;
    bool again = h->freeing;
    int rc = tkl__hold_ask_release(h, wait_for_reply, false);
    if (rc == TKL_EUNKNOWN) {
        again = again || live;
        rc = tkl__hold_ask_release(h, true, true);
    }
    if (rc == TKL_NOTOWNER && again)
        rc = TKL_OK;
    h->out_of_reach = tkl__hold_may_pass(rc);
    if (rc == TKL_OK || rc == TKL_NOTOWNER) {
        tkl__hold_become_free(h);
    } else if (rc == TKL_EUNKNOWN || rc == TKL_ETIMEOUT) {
        pthread_mutex_lock(&h->mutex);
        h->freeing = again || live;
        pthread_mutex_unlock(&h->mutex);
    }
    return rc;
}

static int release(tkl__hold *h, bool wait_for_reply)
{
    if (h->unsure)
        return give_up(h);
    if (!h->held)
        return tkl__fail(TKL_EINVAL, "this handle holds nothing");
    if (h->depth > 1) {
        h->depth--;
        return TKL_OK;
    }
    return release_held(h, wait_for_reply);
}

int tkl__hold_release(tkl__hold *h, bool wait_for_reply)
{
    pthread_mutex_lock(&h->turn);
    int rc = release(h, wait_for_reply);
    pthread_mutex_unlock(&h->turn);
    return rc;
}

/* A grant that was not confirmed yet is, lest the token hold for less than its lease. */
static int detach(tkl__hold *h)
{
    if (!h->held)
        return tkl__fail(TKL_EINVAL, "this handle holds nothing");
    pthread_mutex_lock(&h->mutex);
    bool confirmed = !h->short_lease;
    pthread_mutex_unlock(&h->mutex);
    int rc = confirmed ? TKL_OK : renew_held(h, 0, false);
    if (rc == TKL_OK || rc == TKL_NOTOWNER)
        tkl__hold_become_free(h);
    return rc;
}

int tkl__hold_detach(tkl__hold *h)
{
    pthread_mutex_lock(&h->turn);
    int rc = detach(h);
    pthread_mutex_unlock(&h->turn);
    return rc;
}

/* ---- Asking the handle --------------------------------------------------- */

static tkl_hold_state state_locked(const tkl__hold *h)
{
    if (!h->held)
        return TKL_FREE;
    if (h->lost || tkl__lease_now() >= h->expires)
        return TKL_LOST;
    return h->suspect ? TKL_SUSPECT : TKL_HELD;
}

tkl_hold_state tkl__hold_state(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    tkl_hold_state state = state_locked(h);
    pthread_mutex_unlock(&h->mutex);
    return state;
}

uint64_t tkl__hold_fence(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    uint64_t fence = h->fence;
    pthread_mutex_unlock(&h->mutex);
    return fence;
}

void tkl__hold_token(tkl__hold *h, char token[TKL_TOKEN_SIZE])
{
    pthread_mutex_lock(&h->mutex);
    memcpy(token, h->held || h->unsure ? h->token : "", h->held || h->unsure ? TKL_TOKEN_SIZE : 1);
    pthread_mutex_unlock(&h->mutex);
}

int64_t tkl__hold_left_ms(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    bool live = state_locked(h) == TKL_HELD || state_locked(h) == TKL_SUSPECT;
    int64_t left = live ? (h->expires - tkl__lease_now()) / 1000 : 0;
    pthread_mutex_unlock(&h->mutex);
    return left;
}
