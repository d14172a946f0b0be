/* SPDX-License-Identifier: MIT
 *
 * Encoding of commands, and the meaning of error replies.
 */
#ifndef TKL_CORE_RESP_H
#define TKL_CORE_RESP_H

#include "core/buf.h"

/* "*argc\r\n" and "$len\r\n...\r\n": a command is a head and its arguments. */
void tkl__resp_head(tkl__buf *out, size_t argc);
void tkl__resp_arg(tkl__buf *out, const void *data, size_t len);
void tkl__resp_argz(tkl__buf *out, const char *text);
void tkl__resp_int(tkl__buf *out, int64_t value);
/* A whole command; `lens` may be NULL. */
void tkl__resp_command(tkl__buf *out, int argc, const char *const *argv, const size_t *lens);

/* How the client reacts to an error reply. */
typedef enum tkl__verdict {
    TKL__FINAL,   /* final: report it to the caller (code by tkl__error_code) */
    TKL__MOVED,   /* another node has the slot: remember that and send it there */
    TKL__ASK,     /* send it there with ASKING, this time only */
    TKL__AGAIN,   /* not now (TRYAGAIN, LOADING, BUSY, CLUSTERDOWN, MASTERDOWN): retry later */
    TKL__DEMOTED, /* READONLY: not a master any more; find the master, then retry */
} tkl__verdict;

tkl__verdict tkl__error_verdict(tkl_bytes text);
/* The code for the text of an error reply, by its first word. */
int tkl__error_code(tkl_bytes text);

/* Parses "MOVED 3999 127.0.0.1:6381" (or ASK); false when malformed. `host` must hold 256 bytes; it
 * is empty when the server left it out, which means the server that was asked. */
bool tkl__parse_redirect(tkl_bytes text, int *slot, char *host, int *port);

/* The cluster slot of a key, honouring {hash tags}. */
int tkl__slot_of(tkl_bytes key);
#define TKL__SLOTS   16384
#define TKL__NO_SLOT (-1)

#endif
