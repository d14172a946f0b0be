/* SPDX-License-Identifier: MIT
 *
 * tkl_interrupt(): how all waits of a client end at once.
 *
 * An eventfd is readable while the client is interrupted. Every waiting thread polls it beside its
 * connection; a thread that sleeps on a condition variable is woken by the thread that reads for
 * it. So tkl_interrupt() needs no lock, and a signal handler may call it.
 */
#ifndef TKL_CORE_INTERRUPT_H
#define TKL_CORE_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tackle/client.h>

typedef struct tkl__interrupt {
    _Atomic int64_t at; /* when the client was interrupted, by tkl__now(); 0: it is not */
    int fd;             /* readable while the client is interrupted; -1: none */
} tkl__interrupt;

int tkl__interrupt_open(tkl__interrupt *interrupt);
void tkl__interrupt_close(tkl__interrupt *interrupt);
/* In a forked child: makes a new descriptor, because the old one is the parent's as well. */
void tkl__interrupt_forget(tkl__interrupt *interrupt);

/* Whether the waits of the calling thread end: the client is interrupted, or the fiber that the
 * thread runs is cancelled (fiber.h). */
bool tkl__is_interrupted(tkl_client *client);

/* The descriptor to poll. In a forked child that has not used the client yet, it is replaced by the
 * child's own. */
int tkl__interrupt_fd(tkl_client *client);

/* Call this when poll() finds the descriptor readable: empties it if the interruption is over. */
void tkl__interrupt_seen(tkl_client *client);

/* Sleeps until `at`. TKL_EINTR: tkl_interrupt() ended the sleep. */
int tkl__sleep(tkl_client *client, int64_t at);

/* Until tkl__unheed_interrupt(), calls of this thread end early when the client is interrupted, as
 * at their deadline. For calls that are part of a wait and may safely have an unknown outcome.
 * tkl__unheed_interrupt() returns whether there was an interruption, even one that is over by
 * now. */
void tkl__heed_interrupt(tkl_client *client);
bool tkl__unheed_interrupt(tkl_client *client);

/* The same for one request of a wait, unless the client is already interrupted: calls that need not
 * wait still succeed. tkl__end_request() returns `rc`, or TKL_EINTR when an interruption ended the
 * request. */
void tkl__begin_request(tkl_client *client);
int tkl__end_request(tkl_client *client, int rc);

#endif
