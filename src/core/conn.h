/* SPDX-License-Identifier: MIT
 *
 * One connection: a socket, TLS if asked for, and hiredis' reader behind it. Used by one
 * thread at a time. A connection on which anything failed is broken and can only be closed:
 * so a late reply can never reach another call.
 */
#ifndef TKL_CORE_CONN_H
#define TKL_CORE_CONN_H

#include "core/url.h"

typedef struct tkl__conn tkl__conn;

/* The one dial function: connects to `addr`, does TLS, AUTH, SELECT and CLIENT SETNAME as the
 * target says. Fails with TKL_ENOTSENT (not reached, in time), TKL_EAUTH, TKL_ETLS, TKL_EUNREADY
 * ... `tls` is the SSL_CTX of the client or NULL. */
struct ssl_ctx_st;
int tkl__conn_dial(const tkl__target *target, const tkl__addr *addr, struct ssl_ctx_st *tls,
                   int64_t deadline, tkl__conn **conn);
void tkl__conn_close(tkl__conn *conn);

/* Writes all of it. TKL_ENOTSENT: the last command cannot have been executed. */
int tkl__conn_send(tkl__conn *conn, const void *data, size_t len, int64_t deadline);

/* The next reply, an error reply included. TKL_ETIMEOUT, TKL_EUNKNOWN or TKL_EPROTO on failure. */
int tkl__conn_receive(tkl__conn *conn, int64_t deadline, tkl_reply **reply);

/* One command of NUL-terminated words on this connection, its reply of any type. */
int tkl__conn_command(tkl__conn *conn, int64_t deadline, tkl_reply **reply, ...) TKL_SENTINEL;

bool tkl__conn_broken(const tkl__conn *conn);
/* True when the peer closed an idle connection, or sent what nobody asked for. */
bool tkl__conn_stale(tkl__conn *conn);
int tkl__conn_fd(const tkl__conn *conn);
/* True when a reply can be had without waiting: bytes are buffered already. */
bool tkl__conn_buffered(const tkl__conn *conn);

/* The client's SSL_CTX for a target with TLS; NULL and a recorded error on failure. */
struct ssl_ctx_st *tkl__tls_context(const tkl__target *target);
void tkl__tls_free(struct ssl_ctx_st *tls);

#endif
