/* SPDX-License-Identifier: MIT
 *
 * Disturbs a lock or a semaphore, as damage, loss and other programs do. No other file of the tests
 * knows its keys; src/hold/hold.c explains them.
 *
 * `of` names the lock or semaphore: "lock:{door}", "sem:{pool}".
 */
#ifndef TACKLE_TESTS_TAMPER_H
#define TACKLE_TESTS_TAMPER_H

#include <stdbool.h>
#include <stdint.h>

#include "support/server.h"

#define DOOR "lock:{door}"

/* ---- Keys of other programs ---------------------------------------------- */

#define TAMPER_KEYS 3

/* Stores a string at one of the keys, 0 to TAMPER_KEYS - 1, as another program may. */
void tamper_take_key(server *s, const char *of, int key);
/* Fails unless this string is still there, unchanged. */
void tamper_assert_taken(server *s, const char *of, int key);

/* Stores a string at the key of the line of waiters. */
void tamper_take_line(server *s, const char *of);

/* ---- Loss and damage ----------------------------------------------------- */

/* Removes the line: all waiters lose their places. Also removes the string of another program. */
void tamper_remove_line(server *s, const char *of);
/* Reads, or sets, how long the line stays when nothing happens. */
int64_t tamper_line_left_ms(server *s, const char *of);
void tamper_set_line_left(server *s, const char *of, int64_t ms);
/* Puts off the end of the exclusive holder's lease, as a server's clock that was set back does. */
void tamper_put_off_end(server *s, const char *of, int64_t ms);
/* Sets the last fence that the server remembers. */
void tamper_set_fence(server *s, const char *of, uint64_t fence);

/* Stores garbage that no script writes, where nothing is stored: one of several kinds, from 0
 * on. */
int tamper_kinds_of_garbage(void);
void tamper_store_garbage(server *s, const char *of, int kind);

/* ---- Waiters that are not there ------------------------------------------ */

/* Adds a waiter at the end of the line, which listens where the first one does; `token`, a hex
 * digit, makes its token. It is another thread of the first waiter's process, or of another
 * process. */
void tamper_add_thread(server *s, const char *of, char token);
void tamper_add_process(server *s, const char *of, char token);
/* Lets the last waiter seem to be on that machine. */
void tamper_move_last(server *s, const char *of, const char *host);
/* Adds `count` waiters of a process that is gone. */
void tamper_add_dead(server *s, const char *of, int count);

/* Sends all a message: waiters look, and holders that listen renew. */
void tamper_call_all(server *s, const char *of);
/* Adds a waiter that listens to that channel, on any server. */
void tamper_add_listener(server *s, const char *of, const char *channel);

/* Tells the first waiter that its turn came, long ago. */
void tamper_send_old_grant(server *s, const char *of);

#endif
