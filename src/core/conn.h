/* SPDX-License-Identifier: MIT
 *
 * One connection: a stream and hiredis' reader. One thread at a time uses it. A connection on which
 * anything failed is broken and can only be closed, so a late reply never reaches another call.
 */
#ifndef TKL_CORE_CONN_H
#define TKL_CORE_CONN_H

#include "core/stream.h"

struct redisReader;

/* A request that was sent without waiting for its reply, in one block of memory. When the reply
 * turns out to be an error (the server lost the script, the slot moved), the thread that reads it
 * calls `redo`, which makes the request again and frees the errand. */
typedef struct tkl__errand {
    void (*redo)(tkl_client *client, struct tkl__errand *errand);
} tkl__errand;

typedef struct tkl__conn {
    tkl__stream stream;
    struct redisReader *reader;
    struct tkl__trace *trace; /* records what is sent and received; NULL: nobody asked */
    size_t reply_max;         /* largest memory of a reply, in bytes */
    uint64_t received, sent;  /* bytes */
    uint64_t received_counted, sent_counted; /* bytes already added to the client's counters */
    uint64_t errors;                         /* error replies since it was last lent */
    int64_t lent_at;                         /* monotonic; 0: it waits on the server, and is not
                                                timed */
    bool broken;
    int code;            /* why it is broken */
    bool midway;         /* part of a reply has arrived, and the rest has not */
    bool answers;        /* bytes have arrived since the last request was sent */
    unsigned owed;       /* replies that no caller waits for: skipped when they arrive */
    bool primed;         /* see tkl__run_nowait() */
    tkl__errand *errand; /* belongs to the first of the owed replies; NULL: none */
    tkl__errand *failed; /* to be redone once the connection is back in its pool */
    int64_t id;          /* CLIENT ID, for block.c; 0: not asked yet, -1: not available */

    /* For the pool that owns the connection. */
    struct tkl__conn *newer, *older; /* neighbours in the pool's list of idle connections */
    struct tkl__conn *next, *prev;   /* in the pool's list of all connections */
    int64_t idle_since;              /* monotonic */
} tkl__conn;

/* The only dial function: connects to `addr`, then does TLS, AUTH, SELECT and CLIENT SETNAME as the
 * target says. `tls` is the client's SSL_CTX or NULL. TKL_ENOTSENT and TKL_EUNREADY may pass with
 * time; TKL_EAUTH, TKL_ETLS, TKL_EREFUSED and TKL_EINVAL do not. */
int tkl__conn_dial(const tkl__target *target, const tkl__addr *addr, struct ssl_ctx_st *tls,
                   int64_t deadline, tkl__conn **conn);
/* NULL is fine. */
void tkl__conn_close(tkl__conn *conn);
/* Drops an idle connection that belongs to the parent of this process, and sends nothing. */
void tkl__conn_abandon(tkl__conn *conn);
/* The same for a connection that a thread of the parent uses. The thread may have been changing the
 * connection's memory at the moment of the fork, so the memory is kept, and not looked at. */
void tkl__conn_abandon_lent(tkl__conn *conn);

/* Writes all bytes. TKL_ENOTSENT: the last command cannot have been executed. `written`, if not
 * NULL, gets the number of bytes that were written. */
int tkl__conn_send(tkl__conn *conn, tkl_bytes wire, int64_t deadline, size_t *written);

/* Reads the next reply, which may be an error reply. TKL_ETIMEOUT, TKL_EUNKNOWN or TKL_EPROTO. */
int tkl__conn_receive(tkl__conn *conn, int64_t deadline, tkl_reply **reply);

/* Reads the next reply if it arrives by `time`; else *reply is NULL. */
int tkl__conn_receive_by(tkl__conn *conn, int64_t time, tkl_reply **reply);
/* Reads the next reply if it has arrived already; else *reply is NULL. */
int tkl__conn_try_receive(tkl__conn *conn, tkl_reply **reply);
/* Marks the connection as broken: nothing more is read from it. Returns `code`, with `why` as its
 * text. */
int tkl__conn_give_up(tkl__conn *conn, int code, const char *why);
/* Whether data may be waiting that poll() does not report. False: poll() reports all of it. */
bool tkl__conn_more(const tkl__conn *conn);

/* Sends one command of NUL-terminated words and reads its reply, of any type. */
int tkl__conn_command(tkl__conn *conn, int64_t deadline, tkl_reply **reply, ...) TKL_SENTINEL;

/* True when the peer closed an idle connection, or sent data without a request. */
bool tkl__conn_stale(tkl__conn *conn);
/* True when data without a request was read after the last reply. Call this only when all requests
 * are answered. */
bool tkl__conn_buffered(const tkl__conn *conn);

#endif
