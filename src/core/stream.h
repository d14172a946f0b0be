/* SPDX-License-Identifier: MIT
 *
 * Bytes to and from a server, plain or through TLS, each step with a deadline.
 */
#ifndef TKL_CORE_STREAM_H
#define TKL_CORE_STREAM_H

#include "core/url.h"

struct ssl_st;
struct ssl_ctx_st;

/* Trials that find the quicker of two manners of waiting, spinning and sleeping: see stream.c. */
typedef struct tkl__manner {
    bool awake; /* the current trial spins */
    int waits;  /* waits of the current trial, and their total time */
    int64_t took_us;
    int64_t last_us[2]; /* duration of the last trial: sleeping, spinning */
    bool best;          /* spinning is better */
    int rest, left;     /* trials between two of the other manner; trials left until the next one */
} tkl__manner;

typedef struct tkl__stream {
    int fd;             /* -1: closed */
    struct ssl_st *ssl; /* NULL: plain */
    int64_t block_us;   /* plain: how long a blocking recv() waits (SO_RCVTIMEO) */
    bool local;         /* a Unix socket */
    bool crowded;       /* other calls are in progress: set with each loan */
    bool always_sleep;  /* an option of the client */
    tkl__manner manner; /* plain: how a lone caller waits */
} tkl__stream;

/* Connects to the first of these addresses that accepts. */
struct addrinfo;
int tkl__stream_connect_any(const struct addrinfo *found, int64_t deadline, int *fd);

/* Connects; does the handshake when `tls` is given. */
int tkl__stream_open(tkl__stream *stream, const tkl__target *target, const tkl__addr *addr,
                     struct ssl_ctx_st *tls, int64_t deadline);
void tkl__stream_close(tkl__stream *stream);

/* Reads at least one byte; TKL_EUNKNOWN when the peer closed or the connection failed. */
int tkl__stream_read(tkl__stream *stream, char *data, size_t cap, int64_t deadline, size_t *n);

/* Writes all bytes. *written counts the bytes that the kernel took, also on failure. */
int tkl__stream_write(tkl__stream *stream, const char *data, size_t len, int64_t deadline,
                      size_t *written);

/* True when the peer closed, or sent data without a request. */
bool tkl__stream_stale(tkl__stream *stream);

/* Waits for poll() events. TKL_ETIMEOUT: the deadline passed first. */
int tkl__stream_poll(int fd, short events, int64_t deadline);

/* The client's SSL_CTX; NULL and a recorded error on failure. */
struct ssl_ctx_st *tkl__tls_context(const tkl__target *target);
void tkl__tls_free(struct ssl_ctx_st *tls);

/* The TLS parts of the functions above, with the same results. */
int tkl__tls_connect(tkl__stream *stream, const tkl__target *target, const tkl__addr *addr,
                     struct ssl_ctx_st *tls, int64_t deadline);
int tkl__tls_read(tkl__stream *stream, char *data, size_t cap, int64_t deadline, size_t *n);
int tkl__tls_write(tkl__stream *stream, const char *data, size_t len, int64_t deadline,
                   size_t *written);
bool tkl__tls_stale(tkl__stream *stream);
void tkl__tls_close(tkl__stream *stream);

#endif
