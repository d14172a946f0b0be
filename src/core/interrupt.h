/* SPDX-License-Identifier: MIT
 *
 * tkl_interrupt(): how all waits of a client end at once.
 *
 * An eventfd stays readable while the client is interrupted. Every thread that waits polls it
 * beside its connection; a thread that sleeps on a condition variable is woken by the thread that
 * reads for it. So tkl_interrupt() needs no lock and may be called by a signal handler.
 */
#ifndef TKL_CORE_INTERRUPT_H
#define TKL_CORE_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tackle/client.h>

typedef struct tkl__interrupt {
    _Atomic int64_t at; /* when it was interrupted, by tkl__now(); 0: it is not */
    int fd;             /* readable while it is; -1: none */
} tkl__interrupt;

int tkl__interrupt_open(tkl__interrupt *interrupt);
void tkl__interrupt_close(tkl__interrupt *interrupt);
/* In a forked child: the descriptor is its parent's as well, so it gets another. */
void tkl__interrupt_forget(tkl__interrupt *interrupt);

bool tkl__is_interrupted(tkl_client *client);

/* The descriptor to poll. In a forked child that has called nothing else it becomes the child's. */
int tkl__interrupt_fd(tkl_client *client);

/* To be called when poll() finds the descriptor readable: silences what is over already. */
void tkl__interrupt_seen(tkl_client *client);

/* Sleeps until `at`. TKL_EINTR: tkl_interrupt() ended it. */
int tkl__sleep(tkl_client *client, int64_t at);

/* Until tkl__heed_interrupt(NULL), calls of this thread end early when the client is interrupted,
 * as at their deadline. For calls that are part of a wait and do no harm when their outcome is
 * unknown. */
void tkl__heed_interrupt(tkl_client *client);

#endif
