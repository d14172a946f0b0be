/* SPDX-License-Identifier: MIT
 *
 * `at` and the eventfd change without a lock. They agree in the end, because a thread that empties
 * the eventfd reads `at` afterwards and fills the eventfd again if necessary.
 */
#include "core/interrupt.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/client.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"

int tkl__interrupt_open(tkl__interrupt *interrupt)
{
    interrupt->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return interrupt->fd >= 0 ? TKL_OK : tkl__fail_errno(TKL_EIO, "eventfd");
}

void tkl__interrupt_close(tkl__interrupt *interrupt)
{
    if (interrupt->fd >= 0)
        close(interrupt->fd);
    interrupt->fd = -1;
}

static void ring_bell(const tkl__interrupt *interrupt)
{
    if (interrupt->fd >= 0)
        eventfd_write(interrupt->fd, 1);
}

static void empty_bell(const tkl__interrupt *interrupt)
{
    eventfd_t rung;
    if (interrupt->fd >= 0)
        eventfd_read(interrupt->fd, &rung);
    if (atomic_load(&interrupt->at) != 0)
        ring_bell(interrupt);
}

void tkl__interrupt_forget(tkl__interrupt *interrupt)
{
    tkl__interrupt_close(interrupt);
    interrupt->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (atomic_load(&interrupt->at) != 0)
        ring_bell(interrupt);
}

/* A forked child that has not locked its client yet still has its parent's descriptor. */
static bool is_own(const tkl_client *client)
{
    return client->generation == tkl__fork_generation();
}

void tkl_interrupt(tkl_client *client)
{
    int saved = errno;
    atomic_store(&client->interrupt.at, tkl__now());
    if (is_own(client))
        ring_bell(&client->interrupt);
    errno = saved;
}

void tkl_resume(tkl_client *client)
{
    int saved = errno;
    atomic_store(&client->interrupt.at, 0);
    if (is_own(client))
        empty_bell(&client->interrupt);
    errno = saved;
}

bool tkl__is_interrupted(tkl_client *client)
{
    return atomic_load(&client->interrupt.at) != 0 || tkl__fiber_cancelled_at() != 0;
}

int tkl__interrupt_fd(tkl_client *client)
{
    tkl__client_lock(client);
    int fd = client->interrupt.fd;
    tkl__client_unlock(client);
    return fd;
}

void tkl__interrupt_seen(tkl_client *client)
{
    if (atomic_load(&client->interrupt.at) == 0)
        empty_bell(&client->interrupt);
}

int tkl__sleep(tkl_client *client, int64_t at)
{
    struct pollfd file = {tkl__interrupt_fd(client), POLLIN, 0};
    while (!tkl__is_interrupted(client)) {
        if (tkl__left(at) == 0)
            return TKL_OK;
        tkl__rest_begin();
        if (tkl__poll(&file, 1, at) == 1)
            tkl__interrupt_seen(client);
        tkl__rest_end();
    }
    return tkl__interrupted();
}

void tkl__heed_interrupt(tkl_client *client)
{
    tkl__heed_too(&client->interrupt.at);
}

bool tkl__unheed_interrupt(tkl_client *client)
{
    bool interrupted = tkl__was_cut_short() || tkl__is_interrupted(client);
    tkl__heed_too(NULL);
    return interrupted;
}

void tkl__begin_request(tkl_client *client)
{
    if (!tkl__is_interrupted(client))
        tkl__heed_interrupt(client);
}

int tkl__end_request(tkl_client *client, int rc)
{
    bool interrupted = tkl__heeds_too() && tkl__unheed_interrupt(client);
    return interrupted && tkl__may_pass(rc) ? tkl__interrupted() : rc;
}
