/* SPDX-License-Identifier: MIT
 *
 * Waiting for the loss of what is held. Every change of the handle wakes the onlookers, who look
 * again. The end of the lease changes nothing in the handle: an onlooker knows it and looks then.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/interrupt.h"
#include "hold/inside.h"

/* Longest sleep: poll() does not count the time that the machine sleeps, and leases do. */
#define SLEEP_MAX_US 1000000

struct tkl__hold_onlooker {
    tkl__hold_onlooker *next;
    int fd; /* eventfd: the handle has changed */
};

void tkl__hold_wake_onlookers(const tkl__hold *h)
{
    for (const tkl__hold_onlooker *o = h->onlookers; o; o = o->next)
        eventfd_write(o->fd, 1);
}

/* Sleeps until the handle changes, at most until `at`. TKL_EINTR: tkl_interrupt() ended the
 * sleep. */
static int sleep_until(tkl_client *client, const tkl__hold_onlooker *o, int64_t at)
{
    struct pollfd files[] = {{tkl__interrupt_fd(client), POLLIN, 0}, {o->fd, POLLIN, 0}};
    eventfd_t changes;
    if (tkl__is_interrupted(client))
        return tkl__interrupted();
    int64_t most = tkl__now() + SLEEP_MAX_US;
    tkl__rest_begin();
    int ready = tkl__poll(files, 2, at < most ? at : most);
    tkl__rest_end();
    if (ready <= 0)
        return TKL_OK;
    if (files[0].revents)
        tkl__interrupt_seen(client);
    if (files[1].revents)
        eventfd_read(o->fd, &changes);
    return tkl__is_interrupted(client) ? tkl__interrupted() : TKL_OK;
}

/* With the mutex, which it gives up while it sleeps. A handle that was released and acquired again
 * has another fence: what the onlooker waits for is not held any more. */
static int look_on(tkl__hold *h, const tkl__hold_onlooker *o, int64_t deadline)
{
    uint64_t fence = h->fence;
    int rc = TKL_OK;
    while (rc == TKL_OK) {
        tkl_hold_state state = tkl__hold_state_locked(h);
        if (state == TKL_HOLD_FREE || h->fence != fence)
            return tkl__no(TKL_NOTOWNER);
        if (state == TKL_HOLD_LOST)
            return TKL_OK;
        if (tkl__left(deadline) == 0)
            return tkl__fail(TKL_BUSY, "still held when the time was up");
        int64_t lease_end = tkl__lease_end(h->expires);
        pthread_mutex_unlock(&h->mutex);
        rc = sleep_until(h->client, o, lease_end < deadline ? lease_end : deadline);
        pthread_mutex_lock(&h->mutex);
    }
    return rc;
}

int tkl__hold_wait_lost(tkl__hold *h, int64_t wait_ms)
{
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    int rc = tkl__hold_check_ours(h);
    if (rc != TKL_OK)
        return rc;
    tkl__hold_onlooker me = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (me.fd < 0)
        return tkl__fail(TKL_EIO, "cannot wait: %s", strerror(errno));
    pthread_mutex_lock(&h->mutex);
    me.next = h->onlookers;
    h->onlookers = &me;
    rc = look_on(h, &me, deadline);
    tkl__hold_onlooker **at = &h->onlookers;
    while (*at != &me)
        at = &(*at)->next;
    *at = me.next;
    pthread_mutex_unlock(&h->mutex);
    close(me.fd);
    return rc;
}
