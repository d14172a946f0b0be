/* SPDX-License-Identifier: MIT
 *
 * Holding a name for a lease.
 *
 * Keys of a name, all in one slot (ns:lock:{name}:..., ns:sem:{name}:...):
 *
 *   :r  record   hash. fence: the last number handed out. x: the one who holds alone, "till
 *                token fence since who" (till, fence and since are sixteen digits, so that
 *                each part has its place). limit: of a semaphore. arrivals: counts
 *                waiters. looker, look: which waiter has promised to look, and when.
 *                <token>: "fence since who" of each who shares.
 *   :h  holders  sorted set of the tokens that share, by the end of their lease.
 *   :q  queue    sorted set of "token mode lease who channel" by arrival.
 *
 * All times are microseconds of the server's clock.
 *
 * Holders and record expire a minute after the last lease; the minute keeps fences in order should
 * the server's clock be set back. The queue expires a quarter of an hour after the last sign of
 * life.
 *
 * Handing over. Whoever frees something (release, leave, break, a look that finds a lease ended)
 * gives it, in the same script, to the first waiter: writes it down as a holder and publishes the
 * news on the channel of that waiter's client. Nobody heard it: that process is gone, the next
 * one's turn. Otherwise waking up is owning. A machine that fell silent without closing its
 * connection hears nothing and answers nothing; so a grant is for FIRST_LEASE only, and the
 * keeper of a living client extends it long before that. Work that is done sooner never
 * needs the extension.
 *
 * Looking. A lease that ends without a release is noticed by those who wait: each client knows
 * when the earliest lease ends and runs the acquire script again then (one of its waiters, for
 * all). Since FIRST_LEASE ends earlier than they expect, the script that hands over tells one of
 * them, the looker, unless one has promised to look in time. The looker is of another machine than
 * the heir if there is one, else of another process: what silences the one must not silence the
 * other. Readers kept out by a writer who waits look every second whether it is alive still.
 *
 * Lost answers. An acquire is repeated with the same token, and so recognised. A release that is
 * repeated may find nothing to release: while the lease lasts that is no loss. What else had no
 * answer leaves the handle unsure: it may have a place in the line, or the lock, and gives back
 * both.
 *
 * Time. Leases are judged by the server's clock alone. What the holder itself may believe is judged
 * by its monotonic clock, from before the request was sent: so it always stops believing first. A
 * grant may have lain in a buffer for long: its age is taken from the server's clock, which a reply
 * before it tied to ours.
 */
#include "hold/hold.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/keeper.h"
#include "core/name.h"
#include "core/resp.h"
#include "core/token.h"
#include "core/wait.h"
#include "hold/scripts.h"

#define DEFAULT_TTL_MS 10000
#define MAX_TTL_MS     INT64_C(315360000000) /* ten years */
#define LABEL_MAX      256

/* As in clock.inc.lua. */
#define LINGER_MS 60000
/* A grant is confirmed this long after it came; see FIRST_LEASE in line.inc.lua. */
#define CONFIRM_US 200000
/* Those who look are spread over this time, after the one who promised. */
#define LOOK_SPREAD_US 400000
#define LOOK_SLACK_US  5000
/* Waiting for however long, somebody looks at least this often. */
#define LOOK_MAX_US INT64_C(300000000)
/* A failed look or renewal is repeated after this. */
#define REPEAT_US 100000
/* A renewal is given this long at least. */
#define PATIENCE_MIN_US 100000
/* WAIT looks at the clock ten times a second. */
#define WAIT_SLACK_US 500000

#define NKEYS 3

struct tkl__hold {
    tkl_client *client;
    tkl__base base;
    tkl_bytes keys[NKEYS]; /* record, holders, queue */
    tkl_bytes channel;     /* where grants for this client's waiters are published */
    char *who;             /* "host/pid/label", one word */
    tkl__hold_rules rules;
    char limit[24], lease[24], keep[24]; /* as the scripts take them */

    pthread_mutex_t turn;  /* one operation at a time */
    pthread_mutex_t mutex; /* guards what follows */
    char token[TKL_TOKEN_SIZE];
    bool held;            /* acquired and not released; the lease may have run out since */
    bool unsure;          /* an acquire had no answer: the token may hold */
    bool lost;            /* the server said so, or the time is up */
    bool told;            /* ... and so does the owner know */
    bool freeing;         /* a release had no answer: it may not hold any more */
    bool suspect;         /* the last renewal failed */
    bool short_lease;     /* a grant not yet confirmed */
    bool shared;          /* as acquired, or downgraded */
    bool cancelled;       /* waits no more */
    tkl__waiter *waiting; /* while in tkl__await() */
    int depth;            /* reentrant acquisitions */
    uint64_t fence;
    int64_t lease_us; /* of the last acquire or renewal */
    int64_t started;  /* local time of it, from before it was asked for */
    int64_t expires;  /* started + lease */
    uint64_t serial;  /* counts acquisitions: a late renewal of another is not mistaken */

    /* The renewal under way in the keeper. */
    tkl__kept kept;
    struct {
        char token[TKL_TOKEN_SIZE];
        char lease[24];
        tkl_bytes args[3];
        uint64_t serial;
        int64_t started;
    } renewal;
};

/* What a script granted. */
typedef struct grant {
    uint64_t fence;
    int64_t lease_us;
    int64_t server_now; /* microseconds */
    int64_t started;    /* local time that is surely not after server_now */
} grant;

/* ---- Arguments ----------------------------------------------------------- */

static int64_t to_us(int64_t ms)
{
    return ms * 1000;
}

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

/* ---- Scripts ------------------------------------------------------------- */

/* Every script takes the same keys; all that know their token are safe to repeat. */
static tkl__invocation invoke(const tkl__hold *h, const tkl__script *script, const tkl_bytes *args,
                              size_t nargs)
{
    return (tkl__invocation){.script = script,
                             .keys = h->keys,
                             .nkeys = NKEYS,
                             .args = args,
                             .nargs = nargs,
                             .retry_safe = true};
}

int tkl__hold_run(tkl__hold *h, const tkl__script *script, const tkl_bytes *args, size_t nargs,
                  tkl_reply **reply)
{
    tkl__invocation call = invoke(h, script, args, nargs);
    call.retry_safe = script != &tkl__lua_hold_break;
    return tkl__run(h->client, &call, tkl__call_deadline(h->client, NULL), reply);
}

/* {code, fence, lease, now}, asked for at local time `started`. */
static int read_grant(const tkl_reply *reply, int64_t started, grant *g)
{
    *g = (grant){.fence = (uint64_t)tkl_reply_int(tkl_reply_at(reply, 1)),
                 .lease_us = tkl_reply_int(tkl_reply_at(reply, 2)),
                 .server_now = tkl_reply_int(tkl_reply_at(reply, 3)),
                 .started = started};
    return (int)tkl_reply_int(tkl_reply_at(reply, 0));
}

/* ---- The state of the handle --------------------------------------------- */

static int64_t saturating_add(int64_t a, int64_t b)
{
    return a > TKL__FOREVER - b ? TKL__FOREVER : a + b;
}

static void note_lease(tkl__hold *h, int64_t started, int64_t lease_us)
{
    h->started = started;
    h->lease_us = lease_us;
    h->expires = saturating_add(started, lease_us);
    h->suspect = h->freeing = false;
}

/* When the keeper should look after it: to renew, to confirm, or to tell that it is lost. */
static int64_t next_due(const tkl__hold *h)
{
    if (!h->held || h->freeing || h->told)
        return TKL__FOREVER;
    if (h->lost)
        return h->rules.on_lost ? tkl__now() : TKL__FOREVER;
    if (h->suspect) {
        int64_t again = tkl__now() + REPEAT_US;
        return again < h->expires ? again : h->expires;
    }
    if (h->short_lease)
        return h->started + CONFIRM_US;
    if (h->rules.auto_renew)
        return h->started + h->lease_us / 3;
    return h->rules.on_lost ? h->expires : TKL__FOREVER;
}

static void become_held(tkl__hold *h, const grant *g)
{
    pthread_mutex_lock(&h->mutex);
    h->held = true;
    h->unsure = h->lost = h->told = false;
    h->depth = 1;
    h->fence = g->fence;
    h->serial++;
    h->short_lease = g->lease_us < to_us(h->rules.ttl_ms);
    note_lease(h, g->started, g->lease_us);
    int64_t due = next_due(h);
    pthread_mutex_unlock(&h->mutex);
    if (due != TKL__FOREVER)
        tkl__keep(h->client, &h->kept, due);
}

static void become_free(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->held = h->unsure = h->suspect = h->short_lease = h->freeing = false;
    h->depth = 0;
    h->fence = 0;
    h->token[0] = '\0';
    h->serial++;
    pthread_mutex_unlock(&h->mutex);
    tkl__unkeep(h->client, &h->kept);
}

static void become_unsure(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->unsure = true;
    pthread_mutex_unlock(&h->mutex);
}

/* Marks it lost; says whether somebody must be told. */
static bool become_lost(tkl__hold *h, uint64_t serial)
{
    pthread_mutex_lock(&h->mutex);
    bool first = h->held && !h->told && !h->freeing && h->serial == serial;
    if (first)
        h->lost = h->told = true;
    pthread_mutex_unlock(&h->mutex);
    return first && h->rules.on_lost;
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl__hold *hold_of(tkl__kept *kept)
{
    return (tkl__hold *)(void *)((char *)kept - offsetof(tkl__hold, kept));
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    bool over = h->lost || tkl__now() >= h->expires;
    bool renew = h->held && !over && !h->freeing && (h->rules.auto_renew || h->short_lease);
    uint64_t serial = h->serial;
    if (renew) {
        memcpy(h->renewal.token, h->token, sizeof h->token);
        h->renewal.serial = serial;
        h->renewal.started = tkl__now();
        snprintf(h->renewal.lease, sizeof h->renewal.lease, "%" PRId64, to_us(h->rules.ttl_ms));
        h->renewal.args[0] = tkl_str(h->renewal.token);
        h->renewal.args[1] = tkl_str(h->renewal.lease);
        h->renewal.args[2] = tkl_str("");
        *call = invoke(h, &tkl__lua_hold_renew, h->renewal.args, 3);
    }
    pthread_mutex_unlock(&h->mutex);
    if (over && become_lost(h, serial))
        h->rules.on_lost(h->rules.owner);
    return renew;
}

static void renewal_answered(tkl__hold *h, const grant *g)
{
    pthread_mutex_lock(&h->mutex);
    if (h->held && h->serial == h->renewal.serial) {
        h->short_lease = false;
        note_lease(h, g->started, g->lease_us);
    }
    pthread_mutex_unlock(&h->mutex);
}

static void renewal_failed(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->suspect = h->held && h->serial == h->renewal.serial;
    pthread_mutex_unlock(&h->mutex);
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    tkl__hold *h = hold_of(kept);
    grant g;
    if (rc == TKL_OK)
        rc = read_grant(reply, h->renewal.started, &g);
    if (rc == TKL_OK)
        renewal_answered(h, &g);
    else if (rc != TKL_NOTOWNER)
        renewal_failed(h);
    else if (become_lost(h, h->renewal.serial))
        h->rules.on_lost(h->rules.owner);
}

static int64_t keeper_due(tkl__kept *kept)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    int64_t due = next_due(h);
    pthread_mutex_unlock(&h->mutex);
    return due;
}

/* Several tries in the time of a lease; and the end of it is not told late. */
static int64_t keeper_patience(tkl__kept *kept)
{
    tkl__hold *h = hold_of(kept);
    pthread_mutex_lock(&h->mutex);
    int64_t patience = h->lease_us / 4, left = tkl__left(h->expires);
    pthread_mutex_unlock(&h->mutex);
    if (left < patience)
        patience = left;
    return patience > PATIENCE_MIN_US ? patience : PATIENCE_MIN_US;
}

/* ---- Opening and closing ------------------------------------------------- */

static int make_keys(tkl__hold *h, tkl_bytes name)
{
    static const char *const parts[NKEYS] = {"r", "h", "q"};
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
    char *at = part + sprintf(part, "w:");
    for (size_t i = 0; i < sizeof id; i++)
        at += sprintf(at, "%02x", id[i]);
    return tkl__key_make(&h->base, part, &h->channel);
}

static void set_ttl(tkl__hold *h, int64_t ttl_ms)
{
    h->rules.ttl_ms = ttl_ms;
    snprintf(h->lease, sizeof h->lease, "%" PRId64, to_us(ttl_ms));
    snprintf(h->keep, sizeof h->keep, "%" PRId64, ttl_ms + LINGER_MS);
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
    h->kept = (tkl__kept){.prepare = keeper_prepare,
                          .done = keeper_done,
                          .due = keeper_due,
                          .patience = keeper_patience};
    if (rules->limit > 0)
        snprintf(h->limit, sizeof h->limit, "%" PRId64, rules->limit);
    pthread_mutex_init(&h->turn, NULL);
    pthread_mutex_init(&h->mutex, NULL);
    int rc = check_rules(&h->rules);
    if (rc == TKL_OK) {
        set_ttl(h, h->rules.ttl_ms);
        rc = make_keys(h, name);
    }
    if (rc == TKL_OK && !(h->who = who_am_i(rules->label)))
        rc = tkl__nomem();
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
    if (h->held || h->unsure) {
        h->depth = 1;
        tkl__hold_release(h, true);
    }
    tkl__unkeep_wait(h->client, &h->kept);
    for (int i = 0; i < NKEYS; i++)
        free((char *)h->keys[i].data);
    free((char *)h->channel.data);
    free(h->who);
    tkl__base_free(&h->base);
    pthread_mutex_destroy(&h->turn);
    pthread_mutex_destroy(&h->mutex);
    free(h);
}

/* ---- Acquiring ----------------------------------------------------------- */

/* What those who could not have it are told. */
typedef struct busy {
    int64_t left_us;    /* until the earliest lease ends */
    int64_t server_now; /* and the local time, surely not after it */
    int64_t started;
    bool looker; /* this one has promised to look then */
} busy;

/* Asks once. TKL_OK, TKL_BUSY, or an error. */
static int attempt(tkl__hold *h, bool wait, grant *g, busy *b)
{
    tkl_bytes args[] = {tkl_str(h->token),
                        tkl_str(h->shared ? "s" : "x"),
                        tkl_str(h->lease),
                        tkl_str(h->keep),
                        tkl_str(h->limit),
                        tkl_str(h->who),
                        wait ? h->channel : tkl_str("")};
    tkl_reply *reply;
    int64_t started = tkl__now();
    int rc = tkl__hold_run(h, &tkl__lua_hold_acquire, args, 7, &reply);
    if (rc == TKL_OK)
        rc = read_grant(reply, started, g);
    *b = (busy){.left_us = tkl_reply_int(tkl_reply_at(reply, 1)),
                .server_now = tkl_reply_int(tkl_reply_at(reply, 2)),
                .started = started,
                .looker = tkl_reply_int(tkl_reply_at(reply, 3)) != 0};
    tkl_reply_free(reply);
    return rc;
}

/* Renews; the server's answer in *g. */
static int renew(tkl__hold *h, int64_t ttl_ms, const char *mode, grant *g)
{
    char lease[24];
    snprintf(lease, sizeof lease, "%" PRId64, to_us(ttl_ms));
    tkl_bytes args[] = {tkl_str(h->token), tkl_str(lease), tkl_str(mode)};
    tkl_reply *reply;
    int64_t started = tkl__now();
    int rc = tkl__hold_run(h, &tkl__lua_hold_renew, args, 3, &reply);
    if (rc == TKL_OK)
        rc = read_grant(reply, started, g);
    tkl_reply_free(reply);
    return rc;
}

/* " grant FENCE STAMP LEASE": when did the lease start by our clock? Not later than it came, and
 * not earlier than the server's clock says. */
static bool parse_grant(tkl_bytes message, const busy *last, grant *g)
{
    char text[96];
    uint64_t fence;
    int64_t stamp, lease;
    if (message.len >= sizeof text)
        return false;
    memcpy(text, message.data, message.len);
    text[message.len] = '\0';
    if (sscanf(text, " grant %" SCNu64 " %" SCNd64 " %" SCNd64, &fence, &stamp, &lease) != 3)
        return false;
    int64_t by_server = last->started + (stamp - last->server_now);
    int64_t now = tkl__now();
    *g = (grant){fence, lease, stamp, by_server < now ? by_server : now};
    return true;
}

static bool parse_look(tkl_bytes message, int64_t *us)
{
    char text[48];
    if (message.len >= sizeof text)
        return false;
    memcpy(text, message.data, message.len);
    text[message.len] = '\0';
    return sscanf(text, " look %" SCNd64, us) == 1;
}

/* A grant that lay about for a good part of its time is renewed before anybody relies on it. */
static int accept_grant(tkl__hold *h, grant *g)
{
    if (tkl__now() - g->started < g->lease_us / 2)
        return TKL_OK;
    int rc = renew(h, h->rules.ttl_ms, "", g);
    return rc == TKL_NOTOWNER ? TKL_EUNKNOWN : rc; /* missed: back to the line */
}

static void plan_look(tkl__waiter *w, const busy *b)
{
    int64_t delay = b->left_us < LOOK_MAX_US ? b->left_us : LOOK_MAX_US;
    if (!b->looker)
        delay += tkl__backoff(20, LOOK_SPREAD_US);
    tkl__look_at(w, tkl__now() + (delay > 0 ? delay : 0) + LOOK_SLACK_US);
}

/* The waiter as it stands in the queue: must be what acquire.lua makes of its arguments. */
static void add_place(const tkl__hold *h, tkl__buf *out)
{
    tkl__buf_addf(out, "%s %s %" PRId64 " ", h->token, h->shared ? "s" : "x",
                  to_us(h->rules.ttl_ms));
    tkl__buf_addz(out, h->who);
    tkl__buf_addz(out, " ");
    tkl__buf_add(out, h->channel.data, h->channel.len);
}

/* Gives up the place in the line. TKL_OK when the turn had come just then. */
static int leave(tkl__hold *h, grant *g)
{
    tkl__buf place;
    tkl_reply *reply;
    tkl__buf_init(&place);
    add_place(h, &place);
    tkl_bytes args[] = {tkl_str(h->token), {place.data, place.len}};
    int64_t started = tkl__now();
    int rc = place.failed ? tkl__nomem() : tkl__hold_run(h, &tkl__lua_hold_leave, args, 2, &reply);
    tkl__buf_free(&place);
    if (rc == TKL_OK) {
        rc = read_grant(reply, started, g);
        tkl_reply_free(reply);
    }
    return rc;
}

/* A record that would stay long after a long lease is told to go earlier. */
static int send_release(tkl__hold *h, bool wait_for_reply, bool retry_safe)
{
    pthread_mutex_lock(&h->mutex);
    bool over = h->held && tkl__now() >= h->expires;
    bool stays = h->lease_us > to_us(LINGER_MS);
    pthread_mutex_unlock(&h->mutex);
    tkl_bytes args[] = {tkl_str(h->token), tkl_str(stays ? "60000" : "")};
    tkl__invocation call = invoke(h, &tkl__lua_hold_release, args, 2);
    call.retry_safe = retry_safe;
    int64_t deadline = tkl__call_deadline(h->client, NULL);
    tkl_reply *reply = NULL;
    int rc = wait_for_reply ? tkl__run(h->client, &call, deadline, &reply)
                            : tkl__run_nowait(h->client, &call, deadline);
    if (rc == TKL_OK)
        rc = (int)tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc == TKL_OK && over ? TKL_NOTOWNER : rc;
}

static bool may_pass(int rc)
{
    return rc == TKL_ENOTSENT || rc == TKL_EUNKNOWN || rc == TKL_ETIMEOUT || rc == TKL_EUNREADY;
}

/* Listens, and asks with a place in the line. */
static int enter(tkl__hold *h, tkl__waiter *w, int64_t deadline, grant *g, busy *b)
{
    int64_t call_deadline = tkl__call_deadline(h->client, NULL);
    if (deadline < call_deadline)
        call_deadline = deadline;
    tkl__unlisten(w);
    int rc = tkl__listen(h->client, h->channel, tkl_str(h->token), call_deadline, w);
    if (rc == TKL_OK)
        rc = attempt(h, true, g, b);
    if (rc == TKL_BUSY)
        plan_look(w, b);
    return rc;
}

static bool is_cancelled(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    bool cancelled = h->cancelled;
    pthread_mutex_unlock(&h->mutex);
    return cancelled;
}

void tkl__hold_cancel(tkl__hold *h)
{
    pthread_mutex_lock(&h->mutex);
    h->cancelled = true;
    if (h->waiting)
        tkl__call_off(h->waiting);
    pthread_mutex_unlock(&h->mutex);
}

/* tkl__await() that can be cancelled. */
static tkl__event await(tkl__hold *h, tkl__waiter *w, int64_t deadline, tkl_bytes *message)
{
    pthread_mutex_lock(&h->mutex);
    bool cancelled = h->cancelled;
    h->waiting = cancelled ? NULL : w;
    pthread_mutex_unlock(&h->mutex);
    if (cancelled)
        return TKL__TIME_UP;
    tkl__event event = tkl__await(w, deadline, message);
    pthread_mutex_lock(&h->mutex);
    h->waiting = NULL;
    pthread_mutex_unlock(&h->mutex);
    return event;
}

/* One step of waiting. TKL_BUSY: go on. */
static int wait_step(tkl__hold *h, tkl__waiter *w, int64_t deadline, grant *g, busy *b)
{
    tkl_bytes message;
    int64_t us;
    int rc = TKL_BUSY;
    switch (await(h, w, deadline, &message)) {
    case TKL__MESSAGE:
        if (parse_grant(message, b, g))
            return accept_grant(h, g);
        if (parse_look(message, &us))
            tkl__look_at(w, tkl__now() + us + LOOK_SLACK_US);
        return TKL_BUSY;
    case TKL__LOOK:
        rc = attempt(h, true, g, b);
        if (rc == TKL_BUSY && tkl__strayed(w))
            return TKL_EUNKNOWN; /* as good as cut */
        if (rc == TKL_BUSY)
            plan_look(w, b);
        else if (may_pass(rc))
            tkl__look_at(w, tkl__now() + REPEAT_US);
        return may_pass(rc) ? TKL_BUSY : rc;
    case TKL__CUT:
        return TKL_EUNKNOWN;
    case TKL__TIME_UP:
        break;
    }
    return rc;
}

/* Waits in line until the deadline. What passes, such as a server's restart, is sat out. */
static int wait_in_line(tkl__hold *h, int64_t deadline, grant *g)
{
    tkl__waiter w = {.hub = NULL};
    busy b = {0};
    int rc = enter(h, &w, deadline, g, &b);
    while (tkl__left(deadline) > 0 && !is_cancelled(h)) {
        if (rc == TKL_BUSY)
            rc = wait_step(h, &w, deadline, g, &b);
        else if (may_pass(rc)) {
            int64_t again = tkl__now() + tkl__backoff(6, REPEAT_US);
            tkl__sleep_until(again < deadline ? again : deadline);
            rc = enter(h, &w, deadline, g, &b);
        } else
            break;
    }
    if (rc == TKL_BUSY || may_pass(rc)) {
        int left = leave(h, g);
        rc = rc == TKL_BUSY || left == TKL_OK || left == TKL_BUSY ? left : rc;
    }
    if (rc == TKL_OK && w.hub) /* the others of this client look when this lease ends */
        tkl__look_at(&w, g->started + g->lease_us + LOOK_SLACK_US);
    tkl__unlisten(&w);
    return rc;
}

static int acquire(tkl__hold *h, int64_t wait_ms, grant *g)
{
    busy b;
    if (is_cancelled(h))
        wait_ms = 0;
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    if (wait_ms == 0 || !tkl__hears(h->client, h->channel)) {
        int rc = attempt(h, false, g, &b);
        if (rc != TKL_BUSY || wait_ms == 0)
            return rc;
    }
    return wait_in_line(h, deadline, g);
}

/* Repeats the acquisition as a renewal with WAIT behind it, on one connection: WAIT speaks of the
 * writes of its own connection. */
static int renew_and_wait(tkl__hold *h, int64_t deadline, int64_t *replicas)
{
    char lease[24];
    snprintf(lease, sizeof lease, "%" PRId64, to_us(h->rules.ttl_ms));
    tkl_bytes args[] = {tkl_str(h->token), tkl_str(lease), tkl_str("")};
    tkl__invocation call = invoke(h, &tkl__lua_hold_renew, args, 3);
    tkl__buf wire;
    tkl_reply *replies = NULL;
    tkl__buf_init(&wire);
    tkl__script_wire(&wire, &call, false);
    size_t split = wire.len;
    tkl__resp_head(&wire, 3);
    tkl__resp_argz(&wire, "WAIT");
    tkl__resp_int(&wire, h->rules.replicas);
    tkl__resp_int(&wire, tkl__left(deadline) / 1000);
    int slot = h->client->route->cluster ? tkl__slot_of(h->keys[0]) : TKL__NO_SLOT;
    tkl__request requests[] = {
        {.wire = {wire.data, split}, .slot = slot},
        {.wire = {wire.data + split, wire.len - split}, .slot = slot},
    };
    int rc = wire.failed
                 ? tkl__nomem()
                 : tkl__exec_many(h->client, requests, 2, deadline + WAIT_SLACK_US, &replies);
    tkl__buf_free(&wire);
    if (rc == TKL_OK)
        rc = (int)tkl_reply_int(tkl_reply_at(tkl_reply_at(replies, 0), 0));
    *replicas = tkl_reply_int(tkl_reply_at(replies, 1));
    tkl_reply_free(replies);
    return rc;
}

/* An acquisition that too few replicas have does not count: it is given back. */
static int await_replicas(tkl__hold *h, grant *g)
{
    int64_t replicas = 0;
    if (h->rules.replicas == 0)
        return TKL_OK;
    int64_t half = to_us(h->rules.ttl_ms) / 2;
    int64_t deadline = tkl__call_deadline(h->client, NULL);
    int64_t started = tkl__now();
    if (deadline - started > half)
        deadline = started + half;
    int rc = renew_and_wait(h, deadline, &replicas);
    if (rc == TKL_OK && replicas >= h->rules.replicas) {
        g->started = started;
        g->lease_us = to_us(h->rules.ttl_ms);
        return TKL_OK;
    }
    send_release(h, true, true);
    return rc == TKL_OK ? tkl__fail(TKL_EUNREADY, "only %" PRId64 " of %d replicas have it",
                                    replicas, h->rules.replicas)
                        : rc;
}

/* ---- Renewing and releasing ---------------------------------------------- */

static int renew_held(tkl__hold *h, int64_t ttl_ms, const char *mode)
{
    grant g;
    if (!h->held)
        return tkl__fail(TKL_EINVAL, "this handle holds nothing");
    ttl_ms = ttl_ms == 0 ? h->rules.ttl_ms : ttl_ms;
    int rc = check_ttl(ttl_ms);
    if (rc == TKL_OK)
        rc = renew(h, ttl_ms, mode, &g);
    if (rc != TKL_OK && rc != TKL_NOTOWNER)
        return rc;
    pthread_mutex_lock(&h->mutex);
    if (rc == TKL_OK) {
        h->short_lease = false;
        note_lease(h, g.started, g.lease_us);
    } else
        h->lost = true;
    int64_t due = next_due(h);
    pthread_mutex_unlock(&h->mutex);
    if (due != TKL__FOREVER)
        tkl__keep(h->client, &h->kept, due);
    return rc;
}

int tkl__hold_renew(tkl__hold *h, int64_t ttl_ms)
{
    pthread_mutex_lock(&h->turn);
    int rc = renew_held(h, ttl_ms, "");
    pthread_mutex_unlock(&h->turn);
    return rc;
}

int tkl__hold_downgrade(tkl__hold *h)
{
    pthread_mutex_lock(&h->turn);
    int rc = renew_held(h, 0, "s");
    if (rc == TKL_OK)
        h->shared = true;
    pthread_mutex_unlock(&h->turn);
    return rc;
}

/* What was asked for without an answer: the place in the line, or the lock. */
static int give_up(tkl__hold *h)
{
    grant g;
    int rc = leave(h, &g);
    if (rc == TKL_OK)
        rc = send_release(h, true, true);
    if (rc != TKL_OK && rc != TKL_BUSY && rc != TKL_NOTOWNER)
        return rc;
    become_free(h);
    return TKL_OK;
}

/* The answer may be lost when the release is done, and the next request finds nothing to release:
 * which says nothing against the owner as long as the lease lasts. */
static int release_held(tkl__hold *h, bool wait_for_reply)
{
    bool live = tkl__hold_state(h) != TKL_LOST;
    bool again = h->freeing;
    int rc = send_release(h, wait_for_reply, false);
    if (rc == TKL_EUNKNOWN) {
        again = again || live;
        rc = send_release(h, true, true);
    }
    if (rc == TKL_NOTOWNER && again)
        rc = TKL_OK;
    if (rc == TKL_OK || rc == TKL_NOTOWNER) {
        become_free(h);
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
    int rc = confirmed ? TKL_OK : renew_held(h, 0, "");
    if (rc == TKL_OK || rc == TKL_NOTOWNER)
        become_free(h);
    return rc;
}

int tkl__hold_detach(tkl__hold *h)
{
    pthread_mutex_lock(&h->turn);
    int rc = detach(h);
    pthread_mutex_unlock(&h->turn);
    return rc;
}

/* A second acquisition by the same owner: renewing it shows that it is held still. */
static int acquire_again(tkl__hold *h)
{
    if (!h->rules.reentrant)
        return tkl__fail(TKL_EINVAL, "this handle holds it already");
    int rc = renew_held(h, 0, "");
    if (rc != TKL_OK)
        return rc == TKL_NOTOWNER ? tkl__fail(TKL_ELOST, "held by this handle, but lost") : rc;
    h->depth++;
    return TKL_OK;
}

static int first_acquire(tkl__hold *h, int64_t wait_ms)
{
    grant g;
    pthread_mutex_lock(&h->mutex);
    if (!h->unsure)
        tkl__token_new(h->token);
    h->shared = h->rules.shared;
    pthread_mutex_unlock(&h->mutex);
    int rc = acquire(h, wait_ms, &g);
    if (rc == TKL_BUSY && h->unsure) /* a place in the line may be left from before */
        rc = leave(h, &g);
    if (rc == TKL_OK)
        rc = await_replicas(h, &g);
    if (rc == TKL_OK && tkl__now() - g.started >= g.lease_us) {
        send_release(h, true, true);
        rc = tkl__fail(TKL_ELOST, "the lease ran out before the server's answer came");
    }
    if (rc == TKL_OK)
        become_held(h, &g);
    else if (may_pass(rc))
        become_unsure(h);
    else
        become_free(h);
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
    grant g;
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
    rc = renew(h, ttl_ms, "", &g);
    if (rc == TKL_OK)
        become_held(h, &g);
    else
        become_free(h);
    return rc;
}

int tkl__hold_adopt(tkl__hold *h, const char *token, int64_t ttl_ms)
{
    pthread_mutex_lock(&h->turn);
    int rc = adopt(h, token, ttl_ms);
    pthread_mutex_unlock(&h->turn);
    return rc;
}

/* ---- Asking the handle --------------------------------------------------- */

static tkl_hold_state state_locked(const tkl__hold *h)
{
    if (!h->held)
        return TKL_FREE;
    if (h->lost || tkl__now() >= h->expires)
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
    int64_t left = live ? tkl__left(h->expires) / 1000 : 0;
    pthread_mutex_unlock(&h->mutex);
    return left;
}
