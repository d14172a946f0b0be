/* SPDX-License-Identifier: MIT
 *
 * Rate limits that programs on many machines share.
 *
 *     static const tkl_limit_rule rule = {.count = 30, .period_ms = 60000, .burst = 15};
 *     tkl_limit *api;
 *     tkl_limit_answer answer;
 *     tkl_limit_open(client, tkl_str("api"), &rule, &api);
 *     switch (tkl_limit_check(api, tkl_str("alice"), 1, &answer)) {
 *     case TKL_OK:
 *         return serve(request);
 *     case TKL_LIMITED:
 *         return refuse(request, 429, answer.retry_after_ms);
 *     }
 *
 * A limit has a name and a rule; what it limits has a key: a user, an address, a tenant. A check is
 * one trip. The server's clock decides, a denial changes nothing, and a key expires as soon as it
 * is of no use. docs/limit.md has the whole contract.
 *
 * A handle is immutable: any number of threads may use it.
 */
#ifndef TACKLE_LIMIT_H
#define TACKLE_LIMIT_H

#include <tackle/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_limit tkl_limit;

typedef enum tkl_limit_algorithm {
    TKL_GCRA,          /* a funnel: `count` in `period_ms` evenly, and `burst` more at once */
    TKL_BUCKET,        /* tokens: at most `burst` (0: count) at once, refilled evenly */
    TKL_WINDOW,        /* exact: never more than `count` in any stretch of `period_ms` */
    TKL_WINDOW_APPROX, /* the same by two counters: less memory, off by a few percent */
    TKL_CONCURRENCY,   /* `count` at once, each until given back, `period_ms` at most */
} tkl_limit_algorithm;

typedef struct tkl_limit_rule {
    tkl_limit_algorithm algorithm;
    int64_t count;     /* 1 to 10^9; of TKL_WINDOW and TKL_CONCURRENCY to 100000 */
    int64_t period_ms; /* 1 to 10 years */
    int64_t burst;     /* of TKL_GCRA and TKL_BUCKET; 0 or more */
    bool in_order;     /* tkl_limit_wait() books ahead: first come, first served; see there */
} tkl_limit_rule;

typedef struct tkl_limit_answer {
    bool allowed;
    int64_t limit;               /* the most that can fit at once */
    int64_t remaining;           /* what would fit now */
    int64_t retry_after_ms;      /* when it would fit; -1: it was allowed, or never fits */
    int64_t reset_after_ms;      /* when all is as if never used */
    char ticket[TKL_TOKEN_SIZE]; /* TKL_WINDOW, TKL_CONCURRENCY: to give it back; else "" */
} tkl_limit_answer;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. A rule that makes no sense, or whose numbers
 * cannot be kept exactly, is refused with TKL_EINVAL. */
TKL_API int tkl_limit_open(tkl_client *client, tkl_bytes name, const tkl_limit_rule *rule,
                           tkl_limit **limit) TKL_NONNULL(1, 3, 4) TKL_CHECK;

/* NULL is fine. */
TKL_API void tkl_limit_close(tkl_limit *limit);

/* Takes `quantity` if it fits: TKL_OK, or TKL_LIMITED and nothing is changed. 0 only looks. Of
 * TKL_WINDOW and TKL_CONCURRENCY at most 1000 at once. `answer` may be NULL. TKL_ETYPE: the key is
 * in use by another algorithm. After TKL_ETIMEOUT and TKL_EUNKNOWN it may have been taken. */
TKL_API int tkl_limit_check(tkl_limit *limit, tkl_bytes key, int64_t quantity,
                            tkl_limit_answer *answer) TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_limit_item {
    tkl_limit *limit;
    tkl_bytes key;
    int64_t quantity;
} tkl_limit_item;

/* Many checks in one trip (to each server), each by itself: answers[i].allowed tells. TKL_OK when
 * all were answered; otherwise the first failure, and those that failed are not allowed. All
 * limits must be of one client. */
TKL_API int tkl_limit_check_many(const tkl_limit_item *items, size_t count,
                                 tkl_limit_answer *answers) TKL_NONNULL(1, 3) TKL_CHECK;

/* Several limits as one, all or none, in one step: TKL_LIMITED when one of them denies, and then
 * nothing was taken anywhere; answers[i].allowed tells which would have allowed it. On a
 * cluster all keys must be the same one (TKL_ECROSSSLOT). At most 64, none twice. */
TKL_API int tkl_limit_check_all(const tkl_limit_item *items, size_t count,
                                tkl_limit_answer *answers) TKL_NONNULL(1, 3) TKL_CHECK;

/* Takes `quantity`, waiting up to `wait_ms` (negative: for ever) until it fits. It sleeps for the
 * time that the server tells and asks again; when that is not in time, it does not wait at all:
 * TKL_LIMITED. Others may be quicker meanwhile.
 *
 * With `in_order` (TKL_GCRA, TKL_BUCKET, TKL_WINDOW) it books its place ahead, in one trip, and
 * sleeps until its turn: first come, first served. Checks of others find nothing until all that
 * was booked has passed. What is booked is used, even if the program ends meanwhile. */
TKL_API int tkl_limit_wait(tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_ms,
                           tkl_limit_answer *answer) TKL_NONNULL(1) TKL_CHECK;

/* Gives back what was not needed after all, or is over. TKL_WINDOW and TKL_CONCURRENCY need the
 * ticket of the answer, and give back up to `quantity` of it; TKL_NOTFOUND: all of it has ended
 * by itself. Others need none (NULL); more than was taken counts as all of it. */
TKL_API int tkl_limit_refund(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
    TKL_NONNULL(1);

/* A slot of TKL_CONCURRENCY is needed for longer: up to `quantity` of the ticket live for another
 * period from now. TKL_NOTFOUND: all of it has ended, and others may have it. */
TKL_API int tkl_limit_renew(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
    TKL_NONNULL(1) TKL_CHECK;

/* Forgets the key. TKL_NOTFOUND: there was nothing to forget. */
TKL_API int tkl_limit_reset(tkl_limit *limit, tkl_bytes key) TKL_NONNULL(1);

/* The five numbers of redis-cell's CL.THROTTLE: limited (0 or 1), limit, remaining, retry after and
 * reset after in whole seconds, rounded up. */
TKL_API void tkl_limit_cell(const tkl_limit_answer *answer, int64_t cell[5]) TKL_NONNULL(1, 2);

/* ---- Very hot keys ------------------------------------------------------- */

/* A slice of the budget of one key, of a TKL_GCRA or TKL_BUCKET, spent by this process without
 * asking: millions of checks a second. The server sets aside what is handed out, so that all
 * together never exceed the limit; what is not used goes back within a second, and a second after
 * a process died, what it might have spent counts as spent.
 *
 * It pays where the burst is large: about what is used in a tenth of a second, or more. May be used
 * by any number of threads. */
typedef struct tkl_limit_lease tkl_limit_lease;

/* No I/O. The limit must stay open until the lease is closed. */
TKL_API int tkl_limit_lease_open(tkl_limit *limit, tkl_bytes key, tkl_limit_lease **lease)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* Gives back what is left, in one trip. NULL is fine. */
TKL_API void tkl_limit_lease_close(tkl_limit_lease *lease);

/* As tkl_limit_check(), `quantity` from 1, mostly without a trip. The answer's remaining is what is
 * left of the slice; its times are those of the last trip. */
TKL_API int tkl_limit_lease_check(tkl_limit_lease *lease, int64_t quantity,
                                  tkl_limit_answer *answer) TKL_NONNULL(1) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
