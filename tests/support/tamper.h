/* SPDX-License-Identifier: MIT
 *
 * Disturbs a lock or a semaphore, as damage, loss and other programs do. What tests must know of its
 * keys is known here alone; src/hold/hold.c explains them.
 *
 * `of` says whose: "lock:{door}", "sem:{pool}".
 */
#ifndef TACKLE_TESTS_TAMPER_H
#define TACKLE_TESTS_TAMPER_H

#include <stdbool.h>
#include <stdint.h>

#include "support/server.h"

#define DOOR "lock:{door}"

/* ---- Keys of other programs ---------------------------------------------- */

#define TAMPER_KEYS 3

/* Another program has a string at one of the keys, 0 to TAMPER_KEYS - 1. */
void tamper_take_key(server *s, const char *of, int key);
/* Fails unless that is still there, unchanged. */
void tamper_assert_taken(server *s, const char *of, int key);

/* The same, for the line of the waiters. */
void tamper_take_line(server *s, const char *of);

/* ---- Loss and damage ----------------------------------------------------- */

/* All waiters lose their places; or what another program had there is gone. */
void tamper_remove_line(server *s, const char *of);
/* How long the line stays if nothing happens; and lets it stay for that long. */
int64_t tamper_line_left_ms(server *s, const char *of);
void tamper_set_line_left(server *s, const char *of, int64_t ms);
/* The lease of the exclusive holder ends so much later: the server's clock was set back. */
void tamper_put_off_end(server *s, const char *of, int64_t ms);
/* This was the last fence, as far as the server knows. */
void tamper_set_fence(server *s, const char *of, uint64_t fence);

/* Where nothing is stored, stores what no script has written: one of so many kinds, from 0 on. */
int tamper_kinds_of_garbage(void);
void tamper_store_garbage(server *s, const char *of, int kind);

/* ---- Waiters that are not there ------------------------------------------ */

/* One more waiter at the end of the line, heard where the first one is; `token`, a hex digit, tells
 * it from others. It is another thread of the first one's process, or one of another process. */
void tamper_add_thread(server *s, const char *of, char token);
void tamper_add_process(server *s, const char *of, char token);
/* The last waiter seems to be on that machine. */
void tamper_move_last(server *s, const char *of, const char *host);
/* So many more, of a process that is gone. */
void tamper_add_dead(server *s, const char *of, int count);

/* Sends a message to all: waiters look, and holders that listen renew. */
void tamper_call_all(server *s, const char *of);
/* Adds a waiter that listens to that channel, on any server. */
void tamper_add_listener(server *s, const char *of, const char *channel);

/* Tells the first waiter that its turn came, long ago. */
void tamper_send_old_grant(server *s, const char *of);

#endif
