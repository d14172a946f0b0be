/* SPDX-License-Identifier: MIT
 *
 * The target of a client: the parsed URL merged with the options.
 */
#ifndef TKL_CORE_URL_H
#define TKL_CORE_URL_H

#include <tackle/client.h>

#include "core/buf.h"

typedef enum tkl__scheme {
    TKL__STANDALONE,
    TKL__CLUSTER,
    TKL__SENTINEL,
    TKL__EMBEDDED,
} tkl__scheme;

typedef struct tkl__addr {
    char *host; /* a name or address; a path when port is 0 (Unix socket) */
    int port;
} tkl__addr;

/* All strings are owned. */
typedef struct tkl__target {
    tkl__scheme scheme;
    tkl__addr *addrs; /* standalone: one; cluster, sentinel: the seeds; embedded: none */
    size_t naddrs;
    bool tls;
    int db;
    char *username;   /* NULL: none */
    char *password;   /* NULL: none */
    char *master;     /* sentinel: name of the master set */
    char *dir;        /* embedded: directory; NULL: in memory */
    char *durability; /* embedded: NULL or one of the five words */
    char *ca_file, *ca_dir, *cert_file, *key_file, *server_name;
    bool no_verify;
    int64_t timeout_ms;
    int64_t idle_ms;
    int64_t reply_max; /* 0 or less: no limit */
    int pool_size;
    bool always_sleep;
    bool no_register; /* keep names out of the register; see register.h */
    void (*on_event)(const tkl_client_event *event, void *arg);
    void *event_arg;
    void (*on_trace)(const tkl_trace *trace, void *arg);
    void *trace_arg;
    char *ns;
    char *name; /* name of connections; NULL: see identity.h */
} tkl__target;

/* Parses and checks the URL. On failure the target is empty and the error is recorded, without
 * passwords. `options` may be NULL. Reads the password file and $TACKLE_PASSWORD. */
int tkl__target_parse(const char *url, const tkl_options *options, tkl__target *target);
/* Appends a text with everything escaped that could mean something in a URL: the query's signs and
 * blanks, and the characters of `also`. */
void tkl__url_escape(tkl__buf *out, const char *text, const char *also);
void tkl__target_free(tkl__target *target); /* wipes the password */

#endif
