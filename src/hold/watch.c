/* SPDX-License-Identifier: MIT
 *
 * Listening while something is held: an operator who breaks it, and a script that finds that the
 * server forgot it, say so on the channel of all waiters of the name. The keeper then renews at
 * once, and learns that there is nothing left to renew.
 */
#include "core/clock.h"
#include "hold/inside.h"

/* In the follower's thread, at every message and whenever it has begun to listen. */
static int renew_now(void *arg, int64_t deadline, int64_t *again)
{
    tkl__hold *h = arg;
    (void)deadline;
    (void)again;
    return tkl__keep(h->client, &h->kept, tkl__now());
}

void tkl__hold_watch(tkl__hold *h)
{
    if (!h->rules.watch || h->watched)
        return;
    h->watch =
        (tkl__follower){.client = h->client, .channel = h->everyone, .load = renew_now, .arg = h};
    tkl__follow_init(&h->watch);
    h->watched = tkl__follow_start(&h->watch) == TKL_OK; /* without it, the next renewal tells */
}

void tkl__hold_unwatch(tkl__hold *h)
{
    if (h->watched)
        tkl__follow_close(&h->watch);
    h->watched = false;
}
