/* SPDX-License-Identifier: MIT
 *
 * Connecting uses the resolver and OpenSSL. They take locks of their own and do not handle fork():
 * a child that was forked while another thread held such a lock would wait for it for ever. So
 * fork() waits while a thread is inside, at worst for a slow name server.
 */
#ifndef TKL_CORE_NOFORK_H
#define TKL_CORE_NOFORK_H

void tkl__nofork_enter(void);
void tkl__nofork_leave(void);

/* For the handlers of fork(): before it, after it in the parent, after it in the child. */
void tkl__nofork_lock(void);
void tkl__nofork_unlock(void);
void tkl__nofork_reset(void);

#endif
