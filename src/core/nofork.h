/* SPDX-License-Identifier: MIT
 *
 * Connecting goes through the resolver and OpenSSL, which take locks of their own and know nothing
 * of fork(): a child forked while another thread held one would wait for it for ever. So no
 * fork() happens while a thread is inside; it waits, at worst for a slow name server.
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
