/* SPDX-License-Identifier: MIT
 *
 * The socket to listen on: --listen, or the one that systemd hands over.
 */
#ifndef TKL_SERVE_LISTEN_H
#define TKL_SERVE_LISTEN_H

#include "cli.h"

typedef struct serve_listener {
    int file;
    bool is_unix;
    bool is_private; /* only this machine can reach it */
    char *path;      /* file of the Unix socket that this server has made; NULL: none */
    char name[160];  /* for people: "http://127.0.0.1:8480" */
} serve_listener;

int serve_listen(const cli_session *cli, serve_listener *listener);

/* Closes the socket, and removes its file. */
void serve_listener_close(serve_listener *listener);

#endif
