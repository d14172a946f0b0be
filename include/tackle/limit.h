/* SPDX-License-Identifier: MIT
 *
 * Rate limits that programs on many machines share.
 *
 *     static const tkl_limit_rule rule = {.count = 30, .period_ms = 60000};    // 30 in 60 s
 *     tkl_limit *api;
 *     tkl_limit_answer answer;
 *     TKL_TRY(tkl_limit_open(client, tkl_str("api"), &rule, NULL, &api));
 *     switch (tkl_limit_check(api, tkl_str("alice"), 1, &answer)) {
 *     case TKL_OK:
 *         return serve("alice");
 *     case TKL_LIMITED:
 *         return refuse("alice", 429, answer.retry_after_ms);
 *     }
 *
 * A limit has a name and a rule. It applies to each key by itself: a user, an address, a tenant. A
 * check is one round trip. The server's clock decides, and a denial changes nothing unless the rule
 * says so. docs/limit.md has the whole contract.
 *
 * Threads: a limit is immutable, and a slice is guarded: any number of threads may use them. Fork:
 * a child may use a limit; a slice belongs to the process that opened it: in a child every check is
 * TKL_EINVAL, and closing only frees memory. Callbacks: none. Keys: one for each limit and key; it
 * expires as soon as it is not needed any more.
 */
#ifndef TACKLE_LIMIT_H
#define TACKLE_LIMIT_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_limit tkl_limit;

typedef enum tkl_limit_algorithm {
    /* A funnel: `burst` + 1 at once, then `count` in `period_ms`, evenly. */
    TKL_LIMIT_GCRA = 0,
    /* A bucket of `burst` tokens, refilled evenly: `count` in `period_ms`. */
    TKL_LIMIT_BUCKET = 1,
    /* Exact: never more than `count` in any stretch of `period_ms`. */
    TKL_LIMIT_WINDOW = 2,
    /* The same with two counters, in less memory. It assumes that use in the last period was spread
     * evenly: in the worst case nearly twice `count` passes in one `period_ms`. */
    TKL_LIMIT_WINDOW_APPROX = 3,
    /* At most `count` slots in use at the same time, each until it is given back, for at most
     * `period_ms`. */
    TKL_LIMIT_CONCURRENCY = 4,
} tkl_limit_algorithm;

TKL_API const char *tkl_limit_algorithm_name(tkl_limit_algorithm algorithm); /* "gcra" */

typedef struct tkl_limit_rule {
    tkl_limit_algorithm algorithm;
    int64_t count;     /* 1 to 10^9; for exact windows and concurrency 1 to 100000 */
    int64_t period_ms; /* 1 to 10 years */
    int64_t burst; /* burst of a funnel or size of a bucket, 1 to 10^9. 0: `count` fit at once (a
                      burst of count - 1, a bucket of count). TKL_NONE: no burst, for a funnel
                      only */
    bool in_order; /* tkl_limit_wait() reserves ahead: first come, first served; see there */
    bool count_denied; /* denied checks count, too: callers that go on asking faster than the limit
                          allows get nothing; see tkl_limit_check(). Not for concurrency */
    TKL_RESERVED(4);
} tkl_limit_rule;

typedef struct tkl_limit_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's. A short one lets you decide at
                           once what to do when the server does not answer */
    bool counted;       /* allowed checks are counted, too: see tkl_limit_overview_get() */
    TKL_RESERVED(8);
} tkl_limit_options;

typedef struct tkl_limit_answer {
    bool allowed;                /* the quantity was taken; for quantity 0: one would fit now */
    int64_t limit;               /* the most that can fit at once */
    int64_t remaining;           /* how many more would fit now */
    int64_t retry_after_ms;      /* when the quantity would fit (for quantity 0: one); -1: it was
                                    allowed, or never fits */
    int64_t reset_after_ms;      /* when the key is as if it had never been used */
    char ticket[TKL_TOKEN_SIZE]; /* for refunds of exact windows and concurrency; else "" */
    TKL_RESERVED(4);
} tkl_limit_answer;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. A rule that makes no
 * sense, or whose numbers cannot be kept exactly, is refused with TKL_EINVAL. */
TKL_API int tkl_limit_open(tkl_client *client, tkl_bytes name, const tkl_limit_rule *rule,
                           const tkl_limit_options *options, tkl_limit **limit)
    TKL_NONNULL(1, 3, 5) TKL_CHECK;

/* Reports refused checks that were not reported yet. NULL is fine. */
TKL_API void tkl_limit_close(tkl_limit *limit);

/* Takes `quantity` if it fits: TKL_OK, or TKL_LIMITED and nothing is changed.
 *
 * With `count_denied` a denied quantity counts as if it had been taken, but a key never owes more
 * than its whole limit: a caller that then stays away for the time of the answer is allowed. A
 * quantity above the limit never fits and is not counted, nor are denials of tkl_limit_wait(),
 * which asks again only at the reported time. A quantity that denied entries of an exact window
 * have pushed out cannot be given back.
 *
 * A quantity of 0 takes nothing and answers as a check of 1 would: TKL_OK when one would fit,
 * TKL_LIMITED when not. Exact windows and concurrency allow at most 1000 in one call. `answer` may
 * be NULL. TKL_ETYPE: another algorithm uses the key. After TKL_ETIMEOUT and TKL_EUNKNOWN the
 * quantity may have been taken. */
TKL_API int tkl_limit_check(tkl_limit *limit, tkl_bytes key, int64_t quantity,
                            tkl_limit_answer *answer) TKL_NONNULL(1) TKL_CHECK;
/* The same in a pipeline, see tkl_result. `answer` is filled in by the run. */
TKL_API int tkl_limit_check_in(tkl_pipeline *pipeline, tkl_limit *limit, tkl_bytes key,
                               int64_t quantity, tkl_limit_answer *answer, tkl_result *result)
    TKL_NONNULL(1, 2);

typedef struct tkl_limit_item {
    tkl_limit *limit;
    tkl_bytes key;
    int64_t quantity;
    TKL_RESERVED(2);
} tkl_limit_item;

/* Checks each item by itself, in one round trip to each server; answers[i].allowed is its result.
 * TKL_OK when all were answered; otherwise the first failure, and items that failed are not
 * allowed. All limits must be of one client. */
TKL_API int tkl_limit_check_each(const tkl_limit_item *items, size_t count,
                                 tkl_limit_answer *answers) TKL_CHECK;

/* Takes all items or none, in one step. TKL_LIMITED: one of them is denied, and nothing was taken;
 * answers[i].allowed says which would have been allowed. Limits with `count_denied` count the
 * attempt, each by itself. An item of quantity 0 takes nothing, and
 * is denied when not even one would fit. On a cluster all items must have the same key
 * (TKL_ECROSSSLOT). 1 to 64 items, none twice. */
TKL_API int tkl_limit_check_all(const tkl_limit_item *items, size_t count,
                                tkl_limit_answer *answers) TKL_CHECK;

/* Takes `quantity`, waiting up to `wait_ms` (negative: for ever) until it fits. It sleeps for the
 * time that the server reports and tries again; other programs may take the quantity first. When
 * that time is later than `wait_ms`, it returns TKL_LIMITED without waiting. TKL_EINTR:
 * tkl_interrupt() ended the wait, and nothing was taken.
 *
 * With `in_order` (funnel, bucket, exact window) it reserves the quantity ahead, in one round trip,
 * and sleeps until its turn: first come, first served. Checks of other programs are denied until
 * all reservations are used up. A reservation counts as used even if the program ends meanwhile or
 * the wait is interrupted. */
TKL_API int tkl_limit_wait(tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_ms,
                           tkl_limit_answer *answer) TKL_NONNULL(1) TKL_CHECK;

/* Gives back a quantity that was not needed, or a slot whose work has ended. Exact windows and
 * concurrency need the ticket of the answer; a ticket can be given back in parts. TKL_NOTFOUND: all
 * of it has expired or was given back. Other algorithms need no ticket (NULL); a larger quantity
 * than was taken gives back all of it. After TKL_ETIMEOUT or TKL_EUNKNOWN it may have been given
 * back; repeating it is safe unless you give back in parts. */
TKL_API int tkl_limit_refund(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
    TKL_NONNULL(1);

/* Extends slots of a concurrency limit: up to `quantity` slots of the ticket last for another
 * period from now. TKL_NOTFOUND: all of them have expired, and other programs may have them. */
TKL_API int tkl_limit_renew(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
    TKL_NONNULL(1) TKL_CHECK;

/* Resets the use of the key to zero, and wakes programs that wait for concurrency. TKL_NOTFOUND:
 * the key was not in use. */
TKL_API int tkl_limit_reset(tkl_limit *limit, tkl_bytes key) TKL_NONNULL(1);

/* ---- For operators ------------------------------------------------------- */

/* A check that took something, or was denied and counts. */
typedef struct tkl_limit_take {
    int64_t at_ms;    /* Unix time of the server's clock, by the rule of the usage; a slot of
                         TKL_LIMIT_CONCURRENCY: taken or last renewed; later than now: its turn */
    int64_t quantity; /* quantity left after refunds */
    bool denied;      /* it was denied, and counts: see count_denied */
    TKL_RESERVED(2);
} tkl_limit_take;

/* A key and how much of the limit it has used by now. */
typedef struct tkl_limit_usage {
    tkl_limit_rule rule;    /* used by the last check that took something, without in_order and
                               count_denied; burst 0 means: has none. count 0: not known, since a
                               version that did not store it wrote the key; all numbers are 0 then */
    int64_t limit;          /* the most that can fit at once */
    int64_t taken;          /* how many are taken; more than `limit` if turns are booked ahead */
    int64_t remaining;      /* how many more would fit now */
    int64_t next_after_ms;  /* when the next one fits; 0: now */
    int64_t reset_after_ms; /* when the key is as if it had never been used */
    int64_t last_ms;        /* Unix time at which something was last counted, or given back; 0: not
                               known (approximate windows) */
    /* The newest checks first, at most 100; only of exact windows and concurrency. */
    const tkl_limit_take *takes;
    size_t take_count;
    TKL_RESERVED(4);
} tkl_limit_usage;

/* Shows what a key has used, without knowing the rule, and takes nothing. TKL_NOTFOUND: the key is
 * not in use. TKL_ETYPE, TKL_EDAMAGED: another program wrote to it. Free with
 * tkl_limit_usage_free(). */
TKL_API int tkl_limit_show(tkl_client *client, tkl_bytes name, tkl_bytes key,
                           tkl_limit_usage **usage) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_limit_usage_free(tkl_limit_usage *usage); /* NULL is fine */

/* The names of all limits that were used in the last day, from the register. A client that keeps no
 * register, or may not read it, looks through all keys of the servers without blocking them, for
 * the names of which a key is in use. Free with tkl_names_free(). */
TKL_API int tkl_limit_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;
/* The keys of one limit that are in use: looks through all keys of the servers. */
TKL_API int tkl_limit_keys(tkl_client *client, tkl_bytes name, tkl_names **keys)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* A key of a limit, and how often it was refused in this hour and the last one. */
typedef struct tkl_limit_refused_key {
    tkl_bytes key;
    int64_t refused; /* at least: where very many keys are refused, some are not counted by
                        themselves */
    TKL_RESERVED(2);
} tkl_limit_refused_key;

/* How often a limit refused, in all programs. Hours are those of the server's clock. */
typedef struct tkl_limit_refusals {
    tkl_bytes name;
    int64_t this_hour, last_hour; /* refused */
    int64_t refused, allowed; /* since the first one; both begin anew after a day without a report.
                                 `allowed`: of checks with tkl_limit_options.counted */
    int64_t last_ms;          /* Unix time of the last report of refused checks; 0: none */
    const tkl_limit_refused_key *keys; /* refused most first, at most 10 */
    size_t key_count;
    int code; /* TKL_OK, or why its numbers could not be read: all are 0 then */
    TKL_RESERVED(4);
} tkl_limit_refusals;

/* All limits that refused lately, by name. One object: free it with tkl_limit_overview_free(). */
typedef struct tkl_limit_overview {
    const tkl_limit_refusals *items;
    size_t count;
} tkl_limit_overview;

/* Which limits refused lately. Clients report refused checks at most once a second: the first ones
 * at once, others behind the next refused check, or when the limit is closed. A report is not
 * repeated: those of a program that is killed, or of a connection that breaks, are lost. Looks
 * (quantity 0) and checks of a wait that goes on are not counted. */
TKL_API int tkl_limit_overview_get(tkl_client *client, tkl_limit_overview **overview)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_limit_overview_free(tkl_limit_overview *overview); /* NULL is fine */

/* ---- Very hot keys ------------------------------------------------------- */

/* A part of the budget of one key, of a funnel or bucket, that this process spends without asking
 * the server: millions of checks a second. The server reserves each part, so that all processes
 * together never exceed the limit. Unused budget goes back within a second. When a process dies,
 * its part counts as spent after a second.
 *
 * It pays when the burst is large: at least about the use in a tenth of a second. */
typedef struct tkl_limit_slice tkl_limit_slice;

typedef struct tkl_limit_slice_options {
    int64_t timeout_ms; /* time-out of one round trip; 0: the limit's */
    TKL_RESERVED(8);
} tkl_limit_slice_options;

/* No I/O. The limit must stay open until the slice is closed. `options` may be NULL. */
TKL_API int tkl_limit_slice_open(tkl_limit *limit, tkl_bytes key,
                                 const tkl_limit_slice_options *options, tkl_limit_slice **slice)
    TKL_NONNULL(1, 4) TKL_CHECK;

/* Gives back the unused part, in one round trip, and frees the slice. NULL is fine. */
TKL_API void tkl_limit_slice_close(tkl_limit_slice *slice);

/* As tkl_limit_check(), `quantity` from 1, mostly without a round trip. answer->remaining is what
 * is left of the slice; its times are those of the last round trip. */
TKL_API int tkl_limit_slice_check(tkl_limit_slice *slice, int64_t quantity,
                                  tkl_limit_answer *answer) TKL_NONNULL(1) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
