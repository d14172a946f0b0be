/* SPDX-License-Identifier: MIT
 *
 * The private server: found on PATH, started on a Unix socket in a private directory.
 */
#ifndef TKL_SERVER_EMBEDDED_H
#define TKL_SERVER_EMBEDDED_H

#include "core/url.h"

typedef struct tkl__embedded tkl__embedded;

/* Starts an in-memory server (target->dir is NULL), or starts or joins the persistent server of the
 * directory. `socket` gets its path (at least 128 bytes). *server is NULL for a persistent one. */
int tkl__embedded_start(const tkl__target *target, int64_t deadline, char *socket,
                        tkl__embedded **server);

/* Ends an in-memory server and waits until nothing of it is left. NULL is fine. */
void tkl__embedded_stop(tkl__embedded *server);

#endif
