/* SPDX-License-Identifier: MIT
 *
 * Listening while the name is held. A break by an operator, and a script that finds that the server
 * lost the state, publish a message on the channel of all waiters of the name. The keeper then
 * renews at once, and the server's answer shows whether the hold is lost.
 */
#include "core/clock.h"
#include "hold/inside.h"

/* Runs in the follower's thread, at every message and whenever it starts to listen. */
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
    h->watched = tkl__follow_start(&h->watch) == TKL_OK; /* else the next renewal shows it */
}

void tkl__hold_unwatch(tkl__hold *h)
{
    if (h->watched)
        tkl__follow_close(&h->watch);
    h->watched = false;
}
