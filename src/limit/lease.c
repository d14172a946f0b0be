/* SPDX-License-Identifier: MIT
 *
 * Slices of a budget, spent without asking.
 *
 * The server lends out a slice: what is lent counts as owed, so that nobody else can get it. When
 * the slice is spent or its time nears its end, the client settles: says how much of it was
 * spent, which becomes debt as if it were spent only now, and takes the next slice in the same
 * trip. So what is owed and what is lent out are together never less than what was
 * truly taken, and the limit holds over all clients.
 *
 * The server keeps no list of slices, but only how much was lent in this half second of its
 * clock, the epoch, and in the one before. When the next epoch begins, whatever of the epoch before
 * was not settled counts as spent: its client has died, or its word was lost. Hence a slice
 * lasts from half a second to a second, and the state stays small however many clients there
 * are. A settlement carries no id, so it is never repeated: the worst is that the rest
 * counts as spent.
 *
 * The client stops spending a little before that, by its own monotonic clock, from before it asked.
 * The keeper settles what nobody uses up, so that it is of use to others.
 *
 * Checking is then one look at a clock and one atomic subtraction. The coarse clock will do: it
 * lags by a tick, which the margin covers, and costs a few nanoseconds on every machine.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/keeper.h"
#include "limit/limit.h"
#include "limit/scripts.h"

#define FIRST_WISH 64
#define QUICK_US   100000 /* a slice spent sooner than this was too small */
#define MARGIN_US  20000  /* more than a tick of the coarse clock */
#define SETTLE_US  50000  /* the keeper settles so long before the end */
#define DENIED_US  50000  /* a denial holds so long at most, for others may give something back */
#define NARGS      8
#define NUMBERS    5

/* The arguments of limit/lease. */
typedef struct order {
    char texts[NUMBERS][24];
    tkl_bytes args[NARGS];
} order;

/* A slice lent to us. */
typedef struct slice {
    int64_t size; /* 0: none */
    int64_t epoch;
    int64_t taken; /* local time */
} slice;

struct tkl_limit_lease {
    const tkl_limit *limit;
    tkl_bytes key;       /* the server's; owned */
    unsigned generation; /* of forks: a child must not spend its parent's slice */

    atomic_int_fast64_t left;   /* of the slice */
    atomic_int_fast64_t ends;   /* local time from which it must not be spent */
    atomic_int_fast64_t resets; /* local time, by the last trip */
    atomic_int_fast64_t due;    /* for the keeper */

    pthread_mutex_t mutex; /* guards what follows; held during a trip */
    slice slice;
    int64_t wish;         /* for the next one */
    int64_t denied_until; /* local time; until then, as much as denied_quantity is not asked for */
    int64_t denied_quantity;
    int64_t retry_at; /* local time at which it would fit */

    tkl__kept kept;
    order settlement; /* under way in the keeper */
};

static int64_t coarse_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* ---- Spending ------------------------------------------------------------ */

static bool spend(tkl_limit_lease *l, int64_t quantity, int64_t *left)
{
    if (coarse_now() >= atomic_load_explicit(&l->ends, memory_order_acquire))
        return false;
    int_fast64_t had = atomic_load_explicit(&l->left, memory_order_relaxed);
    do {
        if (had < quantity)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&l->left, &had, had - quantity,
                                                    memory_order_acq_rel, memory_order_relaxed));
    *left = had - quantity;
    return true;
}

static void tell(tkl_limit_lease *l, int64_t left, int64_t retry_us, tkl_limit_answer *answer)
{
    if (!answer)
        return;
    int64_t resets = atomic_load_explicit(&l->resets, memory_order_relaxed);
    answer->limit = l->limit->rule.capacity;
    answer->remaining = left;
    answer->retry_after_ms = retry_us < 0 ? -1 : (retry_us + 999) / 1000;
    answer->reset_after_ms = (tkl__left(resets) + 999) / 1000;
    answer->ticket[0] = '\0';
}

static int allow(tkl_limit_lease *l, int64_t left, tkl_limit_answer *answer)
{
    tell(l, left, -1, answer);
    if (answer)
        answer->allowed = true;
    return TKL_OK;
}

static int deny(tkl_limit_lease *l, int64_t retry_us, tkl_limit_answer *answer)
{
    int64_t left = atomic_load_explicit(&l->left, memory_order_relaxed);
    tell(l, left, retry_us, answer);
    if (answer)
        answer->allowed = false;
    return TKL_LIMITED;
}

/* ---- Settling ------------------------------------------------------------ */

/* A slice spent in no time was too small, one that was hardly touched too large. */
static void adapt(tkl_limit_lease *l, int64_t spent)
{
    int64_t most = l->limit->rule.capacity;
    if (spent < l->slice.size / 2)
        l->wish = spent > 0 ? spent * 2 : 1;
    else if (tkl__now() - l->slice.taken < QUICK_US)
        l->wish = l->wish < most / 2 ? l->wish * 2 : most;
}

static void put(order *o, size_t index, int64_t number)
{
    char *text = o->texts[index];
    int len = snprintf(text, sizeof o->texts[index], "%" PRId64, number);
    o->args[NARGS - NUMBERS + index] = (tkl_bytes){text, (size_t)len};
}

/* Ends our slice, and asks for the next; `quantity` 0: for none. */
static void make_order(tkl_limit_lease *l, int64_t quantity, order *o)
{
    const tkl__rule *rule = &l->limit->rule;
    int64_t size = l->slice.size;
    int64_t spent = size - atomic_exchange(&l->left, 0);
    if (size > 0)
        adapt(l, spent);
    l->slice.size = 0;
    atomic_store(&l->due, TKL__FOREVER);
    o->args[0] = tkl_str(rule->head);
    o->args[1] = tkl_str(rule->most_text);
    o->args[2] = tkl_str(rule->rate_text);
    put(o, 0, size > 0 ? l->slice.epoch : -1);
    put(o, 1, size);
    put(o, 2, spent);
    put(o, 3, l->wish > quantity ? l->wish : quantity);
    put(o, 4, quantity);
}

static tkl__invocation invoke(const tkl_limit_lease *l, const order *o)
{
    return (tkl__invocation){.script = &tkl__lua_limit_lease,
                             .keys = &l->key,
                             .nkeys = 1,
                             .args = o->args,
                             .nargs = NARGS};
}

/* ---- Refilling ----------------------------------------------------------- */

/* Ours from now on, but for what is needed at once. */
static int accept(tkl_limit_lease *l, const tkl_reply *reply, int64_t started, int64_t quantity,
                  tkl_limit_answer *answer)
{
    int64_t lasts = tkl_reply_int(tkl_reply_at(reply, 2));
    int64_t ends = started + lasts - lasts / 100 - MARGIN_US;
    l->slice = (slice){.size = tkl_reply_int(tkl_reply_at(reply, 0)),
                       .epoch = tkl_reply_int(tkl_reply_at(reply, 1)),
                       .taken = started};
    if (coarse_now() >= ends)
        return tkl__fail(TKL_EUNREADY, "the answer came too late to be of use");
    atomic_store(&l->due, ends - SETTLE_US);
    atomic_store_explicit(&l->ends, ends, memory_order_release);
    atomic_store_explicit(&l->left, l->slice.size - quantity, memory_order_release);
    tkl__keep(l->limit->client, &l->kept, ends - SETTLE_US);
    return allow(l, l->slice.size - quantity, answer);
}

static int refuse(tkl_limit_lease *l, int64_t quantity, int64_t retry_us, tkl_limit_answer *answer)
{
    int64_t now = tkl__now();
    l->denied_quantity = quantity;
    l->denied_until = now + (retry_us < DENIED_US ? retry_us : DENIED_US);
    l->retry_at = now + retry_us;
    return deny(l, retry_us, answer);
}

static int refill(tkl_limit_lease *l, int64_t quantity, tkl_limit_answer *answer)
{
    order o;
    tkl_reply *reply;
    tkl_limit_answer unread;
    tkl__times times;
    make_order(l, quantity, &o);
    tkl__invocation call = invoke(l, &o);
    tkl_client *client = l->limit->client;
    int64_t started = coarse_now();
    int rc = tkl__run(client, &call, tkl__call_deadline(client, NULL), &reply);
    if (rc != TKL_OK)
        return tkl__limit_explain(rc);
    tkl__finding finding = {.quantity = quantity,
                            .numbers = {tkl_reply_int(tkl_reply_at(reply, 3))}};
    tkl__limit_answer(&l->limit->rule, &finding, &unread, &times);
    atomic_store_explicit(&l->resets, tkl__now() + times.reset, memory_order_relaxed);
    if (tkl_reply_int(tkl_reply_at(reply, 0)) > 0)
        rc = accept(l, reply, started, quantity, answer);
    else
        rc = refuse(l, quantity, times.retry, answer);
    tkl_reply_free(reply);
    return rc;
}

static int check_slowly(tkl_limit_lease *l, int64_t quantity, tkl_limit_answer *answer)
{
    int64_t left, now;
    if (quantity < 1)
        return tkl__fail(TKL_EINVAL, "of a lease one takes 1 or more, not %" PRId64, quantity);
    if (quantity > l->limit->rule.capacity)
        return deny(l, -1, answer);
    pthread_mutex_lock(&l->mutex);
    int rc;
    if (spend(l, quantity, &left)) /* somebody else has refilled it */
        rc = allow(l, left, answer);
    else if (quantity >= l->denied_quantity && (now = tkl__now()) < l->denied_until)
        rc = deny(l, l->retry_at - now, answer);
    else
        rc = refill(l, quantity, answer);
    pthread_mutex_unlock(&l->mutex);
    return rc;
}

int tkl_limit_lease_check(tkl_limit_lease *l, int64_t quantity, tkl_limit_answer *answer)
{
    int64_t left;
    if (l->generation != tkl__fork_generation())
        return tkl__fail(TKL_EINVAL, "this lease is the parent's: a child opens its own");
    if (quantity > 0 && spend(l, quantity, &left))
        return allow(l, left, answer);
    if (answer)
        memset(answer, 0, sizeof *answer);
    return check_slowly(l, quantity, answer);
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl_limit_lease *lease_of(tkl__kept *kept)
{
    return (tkl_limit_lease *)(void *)((char *)kept - offsetof(tkl_limit_lease, kept));
}

/* Who holds the mutex is on a trip and settles by it. */
static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl_limit_lease *l = lease_of(kept);
    if (pthread_mutex_trylock(&l->mutex) != 0)
        return false;
    bool settle = l->slice.size > 0 && tkl__now() >= atomic_load(&l->due);
    if (settle) {
        make_order(l, 0, &l->settlement);
        *call = invoke(l, &l->settlement);
    }
    pthread_mutex_unlock(&l->mutex);
    return settle;
}

/* What could not be told counts as spent. */
static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    (void)kept, (void)rc, (void)reply;
}

static int64_t keeper_due(tkl__kept *kept)
{
    int64_t due = atomic_load(&lease_of(kept)->due), soon = tkl__now() + MARGIN_US;
    return due > soon ? due : soon;
}

/* ---- Handles ------------------------------------------------------------- */

static int copy_key(tkl_limit_lease *l, tkl_bytes subject)
{
    tkl__buf buf;
    tkl__buf_init(&buf);
    int rc = tkl__limit_key(l->limit, subject, &buf);
    char *copy = rc == TKL_OK ? malloc(buf.len) : NULL;
    if (copy)
        memcpy(copy, buf.data, buf.len);
    l->key = (tkl_bytes){copy, buf.len};
    tkl__buf_free(&buf);
    return rc != TKL_OK || copy ? rc : tkl__nomem();
}

int tkl_limit_lease_open(tkl_limit *limit, tkl_bytes key, tkl_limit_lease **out)
{
    *out = NULL;
    if (!tkl__rule_has_debt(&limit->rule))
        return tkl__fail(TKL_EINVAL, "only funnels and buckets can be leased");
    tkl_limit_lease *l = calloc(1, sizeof *l);
    if (!l)
        return tkl__nomem();
    l->limit = limit;
    l->generation = tkl__fork_generation();
    l->wish = FIRST_WISH;
    l->kept = (tkl__kept){.prepare = keeper_prepare, .done = keeper_done, .due = keeper_due};
    int rc = copy_key(l, key);
    if (rc != TKL_OK) {
        free(l);
        return rc;
    }
    pthread_mutex_init(&l->mutex, NULL);
    *out = l;
    return TKL_OK;
}

static void settle_at_last(tkl_limit_lease *l)
{
    order o;
    tkl_reply *reply;
    tkl_client *client = l->limit->client;
    if (l->slice.size == 0)
        return;
    make_order(l, 0, &o);
    tkl__invocation call = invoke(l, &o);
    tkl__run(client, &call, tkl__call_deadline(client, NULL), &reply);
    tkl_reply_free(reply);
}

void tkl_limit_lease_close(tkl_limit_lease *l)
{
    if (!l)
        return;
    if (l->generation == tkl__fork_generation()) {
        tkl__unkeep_wait(l->limit->client, &l->kept);
        settle_at_last(l);
        pthread_mutex_destroy(&l->mutex);
    }
    free((char *)(uintptr_t)l->key.data);
    free(l);
}
