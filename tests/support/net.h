/* SPDX-License-Identifier: MIT
 *
 * Sockets for the fake server and the proxy: a place is a Unix path, or a port of 127.0.0.1.
 */
#ifndef TACKLE_TESTS_NET_H
#define TACKLE_TESTS_NET_H

typedef struct place {
    char path[80]; /* "": TCP */
    int port;
} place;

place place_unix(const char *path);
place place_tcp(int port);
/* A new place to listen at: a socket in a directory of its own, or a free port. */
place place_new(int tcp);
/* "unix:///path" or "redis://127.0.0.1:port"; malloc'ed. */
char *place_url(const place *where);

int place_listen(const place *where);  /* fails the test rather than return -1 */
int place_connect(const place *where); /* -1: nothing listens there */

#endif
