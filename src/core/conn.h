/* SPDX-License-Identifier: MIT
 *
 * One connection: a stream, and hiredis' reader behind it. Used by one thread at a time. A
 * connection on which anything failed is broken and can only be closed: so a late reply can
 * never reach another call.
 */
#ifndef TKL_CORE_CONN_H
#define TKL_CORE_CONN_H

#include "core/stream.h"

struct redisReader;

/* What was sent without waiting for its reply, in one block of memory. When the reply turns out to
 * be an error (a script that the server forgot, a slot that moved), the thread that reads it calls
 * `redo`, which makes the request again and frees the errand. */
typedef struct tkl__errand {
    void (*redo)(tkl_client *client, struct tkl__errand *errand);
} tkl__errand;

typedef struct tkl__conn {
    tkl__stream stream;
    struct redisReader *reader;
    size_t reply_max;                        /* bytes of memory for a reply */
    uint64_t received, sent;                 /* bytes */
    uint64_t received_counted, sent_counted; /* those in the client's numbers */
    bool broken;
    int code;            /* why it is broken */
    bool midway;         /* part of a reply has come, and its rest has not */
    unsigned owed;       /* replies that nobody will ask for: skipped when they come */
    bool primed;         /* see tkl__run_nowait() */
    tkl__errand *errand; /* the first of those replies is for it; NULL: none */
    tkl__errand *failed; /* to be made again once the connection is back in its pool */
    int64_t id;          /* CLIENT ID, for block.c; 0: not asked for, -1: not to be had */

    /* For the pool that owns it. */
    struct tkl__conn *newer, *older; /* neighbours in the pool's list of idle connections */
    struct tkl__conn *next, *prev;   /* in its list of all */
    int64_t idle_since;              /* monotonic */
} tkl__conn;

/* The one dial function: connects to `addr`, does TLS, AUTH, SELECT and CLIENT SETNAME as
 * the target says. `tls` is the client's SSL_CTX or NULL. TKL_ENOTSENT and TKL_EUNREADY may
 * pass; TKL_EAUTH, TKL_ETLS, TKL_EREFUSED, TKL_EINVAL will not. */
int tkl__conn_dial(const tkl__target *target, const tkl__addr *addr, struct ssl_ctx_st *tls,
                   int64_t deadline, tkl__conn **conn);
/* NULL is fine. */
void tkl__conn_close(tkl__conn *conn);
/* Lets go of a connection that belongs to the parent of this process, without a word. */
void tkl__conn_abandon(tkl__conn *conn);

/* Writes all of it. TKL_ENOTSENT: the last command cannot have been executed. `written`, if
 * not NULL, tells how many bytes went out. */
int tkl__conn_send(tkl__conn *conn, tkl_bytes wire, int64_t deadline, size_t *written);

/* The next reply, an error reply included. TKL_ETIMEOUT, TKL_EUNKNOWN or TKL_EPROTO. */
int tkl__conn_receive(tkl__conn *conn, int64_t deadline, tkl_reply **reply);

/* The next reply if it comes by then, else *reply is NULL. */
int tkl__conn_receive_by(tkl__conn *conn, int64_t time, tkl_reply **reply);
/* The same for now: the next reply if it is there already. */
int tkl__conn_try_receive(tkl__conn *conn, tkl_reply **reply);
/* Nothing more is read from it. Returns the code, with the reason as its text. */
int tkl__conn_give_up(tkl__conn *conn, int code, const char *why);
/* False when poll() will tell of all that is still to come. */
bool tkl__conn_more(const tkl__conn *conn);

/* One command of NUL-terminated words; its reply of any type. */
int tkl__conn_command(tkl__conn *conn, int64_t deadline, tkl_reply **reply, ...) TKL_SENTINEL;

/* True when the peer closed an idle connection, or sent what nobody asked for. */
bool tkl__conn_stale(tkl__conn *conn);
/* True when bytes that nobody asked for were read behind the last reply. To be asked only when
 * all that was sent is answered. */
bool tkl__conn_buffered(const tkl__conn *conn);

#endif
