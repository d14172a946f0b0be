/* SPDX-License-Identifier: MIT
 *
 * Waits until a limit allows a quantity: after the time that the server reports, or when slots are
 * given back.
 */
#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "limit/limit.h"

/* The shortest sleep, for a server that reports "at once" and then "no". */
#define LEAST_SLEEP_US 1000
/* The longest sleep: the reported time may come from a damaged key, which may be gone by now. */
#define MOST_SLEEP_US 10000000

/* The check that a wait repeats. */
typedef struct request {
    const tkl_limit *limit;
    tkl_bytes key;
    int64_t quantity;
    tkl_limit_answer *answer;
} request;

static int64_t to_us(int64_t ms)
{
    int64_t most = TKL__LIMIT_EXACT / 4;
    return ms < 0 || ms > most / 1000 ? most : ms * 1000;
}

/* Books a place in one round trip, and sleeps until its turn. */
static int wait_in_order(const request *r, int64_t wait_ms)
{
    tkl_client *client = r->limit->client;
    tkl__limit_times times;
    tkl__begin_request(client);
    int rc = tkl__limit_try(r->limit, r->key, r->quantity, to_us(wait_ms), r->answer, &times);
    rc = tkl__end_request(client, rc);
    return rc == TKL_OK && times.turn > 0 ? tkl__sleep(client, tkl__now() + times.turn) : rc;
}

/* Checks, and plans the next check. A quantity that never fits ends the wait. So does one that fits
 * too late, unless slots may be given back before the reported time. */
static int check_again(void *arg, tkl__wait *wait, const tkl__news *news)
{
    const request *r = arg;
    tkl__limit_times times;
    (void)news;
    int rc = tkl__limit_try(r->limit, r->key, r->quantity, 0, r->answer, &times);
    int64_t left = tkl__left(wait->deadline);
    /* An interruption shortens the time that is left, but is an outcome of its own. */
    bool too_late = !tkl__is_interrupted(wait->client) &&
                    (left == 0 || (wait->count == 0 && times.retry > left));
    if (rc != TKL_LIMITED || times.retry < 0 || too_late)
        return rc;
    int64_t sleep = times.retry > LEAST_SLEEP_US ? times.retry : LEAST_SLEEP_US;
    wait->again = tkl__now() + (sleep < MOST_SLEEP_US ? sleep : MOST_SLEEP_US);
    return TKL__NOT_YET;
}

/* Waits until the limit allows. Slots that are given back are announced on a channel with the name
 * of their key. */
static int wait_until_allowed(request *r, int64_t wait_ms)
{
    const tkl_limit *limit = r->limit;
    tkl__buf key;
    tkl__buf_init(&key);
    int rc = tkl__limit_key(limit, r->key, &key);
    tkl__ear ear = {.channel = {key.data, key.len}, .id = tkl_str("free")};
    tkl__wait wait = {.client = limit->client,
                      .timeout_ms = limit->timeout_ms,
                      .deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      .ears = TKL__EARS(&ear),
                      .count = limit->rule.algorithm == TKL_LIMIT_CONCURRENCY ? 1 : 0,
                      .looks_first = true,
                      .fails_at_once = true};
    if (rc == TKL_OK)
        rc = tkl__wait_until(&wait, check_again, r);
    tkl__wait_end(&wait);
    tkl__buf_free(&key);
    return rc == TKL__NOT_YET ? TKL_LIMITED : rc;
}

int tkl_limit_wait(tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_ms,
                   tkl_limit_answer *answer)
{
    tkl_limit_answer unread;
    if (!answer)
        answer = &unread;
    *answer = (tkl_limit_answer){.allowed = false};
    request r = {limit, key, quantity, answer};
    int rc = limit->rule.in_order ? wait_in_order(&r, wait_ms) : wait_until_allowed(&r, wait_ms);
    tkl__buf own;
    tkl__buf_init(&own);
    if ((rc == TKL_OK || rc == TKL_LIMITED) && tkl__limit_key(limit, key, &own) == TKL_OK)
        tkl__limit_count(limit, (tkl_bytes){own.data, own.len}, quantity, true, rc);
    tkl__buf_free(&own);
    return rc;
}
