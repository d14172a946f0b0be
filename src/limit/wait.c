/* SPDX-License-Identifier: MIT
 *
 * Waits until a limit allows, by sleeping for the time that the server reports.
 */
#include "core/wait.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "limit/limit.h"

/* The shortest sleep, for a server that reports "at once" and then "no". */
#define LEAST_SLEEP_US 1000
/* The longest sleep: the reported time may come from a damaged key, which may be gone by now. */
#define MOST_SLEEP_US 10000000

static int64_t to_us(int64_t ms)
{
    int64_t most = TKL__LIMIT_EXACT / 4;
    return ms < 0 || ms > most / 1000 ? most : ms * 1000;
}

/* One request of a wait; an interrupt ends it. */
static int check(const tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_us,
                 tkl_limit_answer *answer, tkl__limit_times *times)
{
    tkl__begin_request(limit->client);
    return tkl__end_request(limit->client,
                            tkl__limit_check(limit, key, quantity, wait_us, answer, times));
}

/* Books a place in one round trip, and sleeps until its turn. */
static int wait_in_order(const tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_ms,
                         tkl_limit_answer *answer)
{
    tkl__limit_times times;
    int rc = check(limit, key, quantity, to_us(wait_ms), answer, &times);
    return rc == TKL_OK && times.turn > 0 ? tkl__sleep(limit->client, tkl__now() + times.turn) : rc;
}

/* When to ask again. */
static int64_t next_try(const tkl__limit_times *times)
{
    int64_t sleep = times->retry > LEAST_SLEEP_US ? times->retry : LEAST_SLEEP_US;
    return tkl__now() + (sleep < MOST_SLEEP_US ? sleep : MOST_SLEEP_US);
}

static int wait_by_sleeping(const tkl_limit *limit, tkl_bytes key, int64_t quantity,
                            int64_t deadline, tkl_limit_answer *answer)
{
    for (;;) {
        tkl__limit_times times;
        int rc = check(limit, key, quantity, 0, answer, &times);
        int64_t left = tkl__left(deadline);
        if (rc != TKL_LIMITED || times.retry < 0 || times.retry > left || left == 0)
            return rc;
        rc = tkl__sleep(limit->client, next_try(&times));
        if (rc != TKL_OK)
            return rc;
    }
}

static int listen_anew(const tkl_limit *limit, tkl_bytes channel, tkl__waiter *waiter)
{
    tkl__unlisten(waiter);
    return tkl__listen(limit->client, channel, tkl_str("free"), tkl__limit_deadline(limit), waiter);
}

/* Slots that are given back are announced; for slots that expire, the answer has the time. */
static int wait_by_listening(const tkl_limit *limit, tkl_bytes key, tkl_bytes channel,
                             int64_t quantity, int64_t deadline, tkl_limit_answer *answer)
{
    tkl__waiter waiter = {.hub = NULL};
    tkl__event event = TKL__CUT;
    tkl__limit_times times;
    tkl_bytes message;
    int rc = check(limit, key, quantity, 0, answer, &times);
    while (rc == TKL_LIMITED && times.retry >= 0 && tkl__left(deadline) > 0) {
        rc = event == TKL__CUT ? listen_anew(limit, channel, &waiter) : TKL_OK;
        if (rc == TKL_OK)
            rc = check(limit, key, quantity, 0, answer, &times);
        if (rc == TKL_LIMITED) {
            int64_t again = next_try(&times);
            event = tkl__await(&waiter, again < deadline ? again : deadline, &message);
            rc = event == TKL__INTERRUPTED ? tkl__interrupted() : rc;
        }
    }
    tkl__unlisten(&waiter);
    return rc;
}

static int wait_for_slot(const tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t deadline,
                         tkl_limit_answer *answer)
{
    tkl__buf buf;
    tkl__buf_init(&buf);
    int rc = tkl__limit_key(limit, key, &buf);
    if (rc == TKL_OK)
        rc = wait_by_listening(limit, key, (tkl_bytes){buf.data, buf.len}, quantity, deadline,
                               answer);
    tkl__buf_free(&buf);
    return rc;
}

int tkl_limit_wait(tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_ms,
                   tkl_limit_answer *answer)
{
    tkl_limit_answer unread;
    if (!answer)
        answer = &unread;
    *answer = (tkl_limit_answer){.allowed = false};
    if (limit->rule.in_order)
        return wait_in_order(limit, key, quantity, wait_ms, answer);
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    if (limit->rule.algorithm == TKL_LIMIT_CONCURRENCY)
        return wait_for_slot(limit, key, quantity, deadline, answer);
    return wait_by_sleeping(limit, key, quantity, deadline, answer);
}
