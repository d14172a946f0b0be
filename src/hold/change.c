/* SPDX-License-Identifier: MIT
 *
 * Waiting for another holder. Scripts publish on the channel of the name that a holder came or went
 * (rules.announced). A lease that ends with nobody in line runs no script: the observer knows when
 * the lease ends and looks then.
 */
#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "hold/inside.h"

/* Leases end on the server's clock: an observer looks a moment later, and not in a busy loop. */
#define AFTER_END_US 20000

typedef struct observer {
    tkl__hold *hold;
    uint64_t fence; /* fence of the holder that is known; 0: nobody */
    tkl_holders *holders;
} observer;

static int read_holder_by(observer *o, int64_t deadline)
{
    tkl_holders_free(o->holders);
    int rc = tkl__hold_show_by(o->hold, deadline, &o->holders);
    if (rc != TKL_OK)
        return rc;
    uint64_t fence = o->holders->count > 0 ? o->holders->items[0].fence : 0;
    return fence == o->fence ? TKL__NOT_YET : TKL_OK;
}

static int look_for_change(void *arg, tkl__wait *wait, const tkl__news *news)
{
    observer *o = arg;
    (void)news;
    int rc = read_holder_by(o, tkl__wait_deadline(wait));
    if (rc == TKL__NOT_YET && o->fence != 0) {
        int64_t left_us = tkl__hold_us(o->holders->items[0].left_ms);
        int64_t end = tkl__now() + left_us + AFTER_END_US;
        if (end < wait->again)
            wait->again = end;
    }
    return rc;
}

int tkl__hold_await_change(tkl__hold *h, uint64_t fence, int64_t wait_ms, tkl_holders **holders)
{
    *holders = NULL;
    int rc = tkl__hold_check_ours(h);
    if (rc != TKL_OK)
        return rc;
    observer o = {.hold = h, .fence = fence};
    tkl__ear ear = {.channel = h->everyone};
    tkl__wait wait = {.client = h->client,
                      .timeout_ms = h->rules.timeout_ms,
                      .deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      .ears = TKL__EARS(&ear),
                      .count = 1,
                      .looks_first = true};
    if (wait_ms == 0) {
        rc = read_holder_by(&o, tkl__hold_deadline(h));
    } else {
        rc = tkl__wait_until(&wait, look_for_change, &o);
        tkl__wait_end(&wait);
    }
    if (rc == TKL_OK)
        *holders = o.holders;
    else
        tkl_holders_free(o.holders);
    return rc == TKL__NOT_YET ? tkl__no(TKL_EMPTY) : rc;
}
