/* SPDX-License-Identifier: MIT
 *
 * A proxy of bytes in front of a real server: cuts, delays, drips and spoils them as the test
 * says. Any thread may call these functions at any time; changes are for open and for later
 * connections alike.
 */
#ifndef TACKLE_TESTS_PROXY_H
#define TACKLE_TESTS_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct proxy proxy;

typedef enum way {
    TO_SERVER,
    TO_CLIENT,
} way;

proxy *proxy_start(const char *socket); /* between Unix sockets */
proxy *proxy_start_tcp(int port);       /* between ports of 127.0.0.1 */
const char *proxy_url(const proxy *p);
int proxy_port(const proxy *p);
void proxy_end(proxy *p); /* NULL is fine */

/* Closes all connections now. */
void proxy_cut(proxy *p);
/* Lets `bytes` more bytes pass that way, over all connections together, then closes the connection
 * that has the next byte. Once. */
void proxy_cut_after(proxy *p, way to, int64_t bytes);
/* Passes on each byte `ms` milliseconds after it came. */
void proxy_delay(proxy *p, way to, int64_t ms);
/* Passes on one byte at a time, with a pause after each; 0: all at once. */
void proxy_drip(proxy *p, way to, int64_t pause_ms);
/* Keeps all bytes that go that way, until it is switched off. */
void proxy_hold(proxy *p, way to, bool on);
/* Ends that way of all connections, as shutdown() does; the other way stays open. */
void proxy_half_close(proxy *p, way to);
/* Puts bytes of its own into all connections. */
void proxy_inject(proxy *p, way to, const void *data, size_t len);
/* From now on about one in `one_in` pieces that come that way is spoiled, reproducibly by `seed`:
 * bits, numbers, lengths, whole replies of another shape. 0: none any more. */
void proxy_mutate(proxy *p, way to, unsigned one_in, uint64_t seed);
/* Closes or opens the listener; open connections stay. */
void proxy_refuse(proxy *p, bool on);

int64_t proxy_passed(proxy *p, way to); /* bytes in all */
int proxy_connections(proxy *p);        /* open now */
int proxy_accepted(proxy *p);           /* ever */

#endif
