/* SPDX-License-Identifier: MIT
 *
 * Slices of a budget, spent without asking.
 *
 * The server lends out a slice: a lent quantity counts as owed, so that no other client can get it.
 * When the slice is spent or its time nears its end, the client settles: it reports how much of the
 * slice it spent, which becomes debt as if it were spent only now, and takes the next slice in the
 * same round trip. So debt and slices together are never less than the quantity really taken, and
 * the limit holds over all clients.
 *
 * The server keeps no list of slices. It keeps how much it lent in the current epoch (half a second
 * of its clock) and in the epoch before. When an epoch ends, slices of the epoch before it that
 * were not settled count as spent: their client has died, or its message was lost. So a slice lasts
 * from half a second to a second, and the state stays small however many clients there are. A
 * settlement carries no id, so it is never repeated: at worst the rest of the slice counts as
 * spent. When the server's clock is set back, all slices count as spent at once.
 *
 * The client stops spending a little before the end, by its own monotonic clock, counted from
 * before it asked. The keeper settles a slice that is not used up, so that other clients can use
 * the rest.
 *
 * So a check reads a clock and makes one atomic subtraction. The clock is the coarse one, which
 * costs a few nanoseconds on every machine; it lags by a tick, which the margin covers.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cond.h"
#include "core/error.h"
#include "core/keeper.h"
#include "core/options.h"
#include "limit/limit.h"
#include "limit/scripts.h"

#define FIRST_WISH 64
#define QUICK_US   100000  /* a slice spent sooner than this was too small */
#define MARGIN_US  20000   /* more than a tick of the coarse clock */
#define SETTLE_US  50000   /* the keeper settles this long before the end */
#define DENIED_US  50000   /* a denial holds at most this long: others may give something back */
#define LASTS_MAX  1000000 /* the server lends for at most two epochs of half a second */

/* The slice that the server has lent to us. */
typedef struct loan {
    int64_t size; /* 0: nothing */
    int64_t epoch;
    int64_t taken; /* local time before the request was sent */
} loan;

struct tkl_limit_slice {
    const tkl_limit *limit;
    int64_t timeout_ms;  /* 0: the client's time-out */
    tkl_bytes key;       /* the server's; owned */
    unsigned generation; /* fork generation: a child must not spend its parent's slice */

    atomic_int_fast64_t left;   /* units left in the slice */
    atomic_int_fast64_t ends;   /* local time from which it must not be spent */
    atomic_int_fast64_t resets; /* local time when all is unused, by the last round trip */
    atomic_int_fast64_t due;    /* local time when the keeper is due */

    tkl__turn turn; /* guards the fields below; held during a round trip */
    loan loan;
    int64_t wish;         /* size of the next slice */
    int64_t denied_until; /* local time; until then, denied_quantity or more is not asked for */
    int64_t denied_quantity;
    int64_t retry_at; /* local time at which it would fit */

    tkl__kept kept;
    tkl__args settlement; /* arguments of the keeper's request under way */
};

static int64_t coarse_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* ---- Spending ------------------------------------------------------------ */

static bool spend_slice(tkl_limit_slice *l, int64_t quantity, int64_t *left)
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

static void tell_answer(tkl_limit_slice *l, int64_t left, int64_t retry_us,
                        tkl_limit_answer *answer)
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

static int allow_request(tkl_limit_slice *l, int64_t left, tkl_limit_answer *answer)
{
    tell_answer(l, left, -1, answer);
    if (answer)
        answer->allowed = true;
    return TKL_OK;
}

static int deny_request(tkl_limit_slice *l, int64_t retry_us, tkl_limit_answer *answer)
{
    int64_t left = atomic_load_explicit(&l->left, memory_order_relaxed);
    tell_answer(l, left, retry_us, answer);
    if (answer)
        answer->allowed = false;
    return tkl__limit_count(l->limit, l->key, 1, true, tkl__no(TKL_LIMITED));
}

/* ---- Settling ------------------------------------------------------------ */

/* Adapts the size of the next slice: one that was spent quickly was too small, one that was hardly
 * used too large. */
static void adapt_size(tkl_limit_slice *l, int64_t spent)
{
    int64_t most = l->limit->rule.capacity;
    if (spent < l->loan.size / 2)
        l->wish = spent > 0 ? spent * 2 : 1;
    else if (tkl__now() - l->loan.taken < QUICK_US)
        l->wish = l->wish < most / 2 ? l->wish * 2 : most;
}

/* Makes the arguments of limit/slice: settles our loan, and asks for the next; `quantity` 0: for
 * none. */
static void make_order(tkl_limit_slice *l, int64_t quantity, tkl__args *args)
{
    const tkl__limit_rule *rule = &l->limit->rule;
    int64_t size = l->loan.size;
    int64_t spent = size - atomic_exchange(&l->left, 0);
    if (size > 0)
        adapt_size(l, spent);
    l->loan.size = 0;
    atomic_store(&l->due, TKL__FOREVER);
    tkl__args_init(args);
    tkl__args_str(args, rule->kind);
    tkl__args_str(args, rule->capacity_text);
    tkl__args_str(args, rule->unit_text);
    tkl__args_str(args, rule->rate_text);
    tkl__args_int(args, size > 0 ? l->loan.epoch : -1);
    tkl__args_int(args, size);
    tkl__args_int(args, spent);
    tkl__args_int(args, l->wish > quantity ? l->wish : quantity);
    tkl__args_int(args, quantity);
    tkl__args_str(args, rule->stored_text);
}

static int send_order(const tkl_limit_slice *l, const tkl__args *args, tkl_reply **reply)
{
    tkl_client *client = l->limit->client;
    tkl__keys keys = {(tkl_bytes *)(uintptr_t)&l->key, 1};
    return tkl__eval(client, &tkl__lua_limit_slice, &keys, args,
                     tkl__deadline(client, l->timeout_ms), false, reply);
}

/* ---- Refilling ----------------------------------------------------------- */

/* An answer of limit/slice. */
typedef struct offer {
    int64_t size, epoch, lasts, retry, reset;
} offer;

static int read_offer(const tkl_reply *reply, int64_t least, offer *o)
{
    bool sound = tkl__limit_number(reply, 0, &o->size) && tkl__limit_number(reply, 1, &o->epoch) &&
                 tkl__limit_number(reply, 2, &o->lasts) && tkl__limit_number(reply, 3, &o->retry) &&
                 tkl__limit_number(reply, 4, &o->reset);
    if (sound && o->lasts <= LASTS_MAX && (o->size == 0 || o->size >= least))
        return TKL_OK;
    return tkl__fail(TKL_EPROTO, "the server answered a slice with senseless numbers");
}

/* Takes over the slice, minus the quantity that is needed at once. */
static int accept_slice(tkl_limit_slice *l, const offer *o, int64_t started, int64_t quantity,
                        tkl_limit_answer *answer)
{
    int64_t ends = started + o->lasts - o->lasts / 100 - MARGIN_US;
    l->loan = (loan){.size = o->size, .epoch = o->epoch, .taken = started};
    if (coarse_now() >= ends)
        return tkl__fail(TKL_EUNREADY, "the answer came too late to be of use");
    atomic_store(&l->due, ends - SETTLE_US);
    atomic_store_explicit(&l->ends, ends, memory_order_release);
    atomic_store_explicit(&l->left, o->size - quantity, memory_order_release);
    tkl__keep(l->limit->client, &l->kept, ends - SETTLE_US);
    return allow_request(l, o->size - quantity, answer);
}

static int refuse_request(tkl_limit_slice *l, int64_t quantity, int64_t retry_us,
                          tkl_limit_answer *answer)
{
    int64_t now = tkl__now();
    l->denied_quantity = quantity;
    l->denied_until = now + (retry_us < DENIED_US ? retry_us : DENIED_US);
    l->retry_at = now + retry_us;
    return deny_request(l, retry_us, answer);
}

static int refill_slice(tkl_limit_slice *l, int64_t quantity, tkl_limit_answer *answer)
{
    tkl__args args;
    tkl_reply *reply;
    offer o;
    make_order(l, quantity, &args);
    int64_t started = coarse_now();
    int rc = send_order(l, &args, &reply);
    if (rc == TKL_OK)
        rc = read_offer(reply, quantity, &o);
    if (rc == TKL_OK) {
        atomic_store_explicit(&l->resets, tkl__now() + o.reset, memory_order_relaxed);
        rc = o.size > 0 ? accept_slice(l, &o, started, quantity, answer)
                        : refuse_request(l, quantity, o.retry, answer);
    }
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return tkl__limit_explain(rc);
}

static int check_slowly(tkl_limit_slice *l, int64_t quantity, tkl_limit_answer *answer)
{
    int64_t left, now;
    if (quantity < 1)
        return tkl__fail(TKL_EINVAL, "a slice takes 1 or more, not %" PRId64, quantity);
    if (quantity > l->limit->rule.capacity)
        return deny_request(l, -1, answer);
    int rc = tkl__turn_take_unless_cancelled(&l->turn);
    if (rc != TKL_OK)
        return rc;
    if (spend_slice(l, quantity, &left)) /* another thread has refilled it */
        rc = allow_request(l, left, answer);
    else if (quantity >= l->denied_quantity && (now = tkl__now()) < l->denied_until)
        rc = deny_request(l, l->retry_at - now, answer);
    else
        rc = refill_slice(l, quantity, answer);
    tkl__turn_end(&l->turn);
    return rc;
}

int tkl_limit_slice_check(tkl_limit_slice *l, int64_t quantity, tkl_limit_answer *answer)
{
    int64_t left;
    if (l->generation != tkl__fork_generation())
        return tkl__fail(TKL_EINVAL, "this slice is the parent's: a child opens its own");
    if (quantity > 0 && spend_slice(l, quantity, &left))
        return allow_request(l, left, answer);
    if (answer)
        memset(answer, 0, sizeof *answer);
    return check_slowly(l, quantity, answer);
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl_limit_slice *slice_of(tkl__kept *kept)
{
    return (tkl_limit_slice *)(void *)((char *)kept - offsetof(tkl_limit_slice, kept));
}

/* Settles the slice when it is due. While a caller has the turn, it is on a round trip, which
 * settles. */
static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl_limit_slice *l = slice_of(kept);
    if (!tkl__turn_try(&l->turn))
        return false;
    bool settle = l->loan.size > 0 && tkl__now() >= atomic_load(&l->due);
    if (settle) {
        tkl__args_free(&l->settlement);
        make_order(l, 0, &l->settlement);
        settle = !l->settlement.failed; /* else the slice counts as spent */
        *call = (tkl__invocation){.script = &tkl__lua_limit_slice,
                                  .keys = &l->key,
                                  .nkeys = 1,
                                  .args = l->settlement.items,
                                  .nargs = l->settlement.count};
    }
    tkl__turn_end(&l->turn);
    return settle;
}

/* Does nothing: a slice that could not be settled counts as spent. */
static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    (void)kept, (void)rc, (void)reply;
}

static int64_t keeper_due(tkl__kept *kept)
{
    int64_t due = atomic_load(&slice_of(kept)->due), soon = tkl__now() + MARGIN_US;
    return due > soon ? due : soon;
}

/* ---- Handles ------------------------------------------------------------- */

static int copy_key(tkl_limit_slice *l, tkl_bytes subject)
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

static int read_options(tkl_limit_slice *l, const tkl_limit_slice_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    bool own = options && options->timeout_ms > 0;
    l->timeout_ms = own ? options->timeout_ms : l->limit->timeout_ms;
    return rc;
}

int tkl_limit_slice_open(tkl_limit *limit, tkl_bytes key, const tkl_limit_slice_options *options,
                         tkl_limit_slice **out)
{
    *out = NULL;
    if (!tkl__limit_has_debt(&limit->rule))
        return tkl__fail(TKL_EINVAL, "only funnels and buckets have slices");
    if (limit->rule.count_denied)
        return tkl__fail(TKL_EINVAL, "a slice cannot count what is denied");
    tkl_limit_slice *l = calloc(1, sizeof *l);
    if (!l)
        return tkl__nomem();
    l->limit = limit;
    l->generation = tkl__fork_generation();
    l->wish = FIRST_WISH;
    l->kept = (tkl__kept){.prepare = keeper_prepare, .done = keeper_done, .due = keeper_due};
    int rc = read_options(l, options);
    if (rc == TKL_OK)
        rc = copy_key(l, key);
    if (rc != TKL_OK) {
        free(l);
        return rc;
    }
    tkl__args_init(&l->settlement);
    tkl__turn_init(&l->turn);
    *out = l;
    return TKL_OK;
}

static void settle_at_last(tkl_limit_slice *l)
{
    tkl__args args;
    tkl_reply *reply;
    if (l->loan.size == 0)
        return;
    make_order(l, 0, &args);
    send_order(l, &args, &reply);
    tkl_reply_free(reply);
    tkl__args_free(&args);
}

void tkl_limit_slice_close(tkl_limit_slice *l)
{
    if (!l)
        return;
    if (l->generation == tkl__fork_generation()) {
        tkl__unkeep_wait(l->limit->client, &l->kept);
        settle_at_last(l);
        tkl__turn_destroy(&l->turn);
    }
    tkl__args_free(&l->settlement);
    free((char *)(uintptr_t)l->key.data);
    free(l);
}
