/* SPDX-License-Identifier: MIT
 *
 * Commands as the server reads them, and what its error replies mean.
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

/* What to do about an error reply. */
typedef enum tkl__verdict {
    TKL__FINAL,   /* an answer: tell the caller (code by tkl__error_code) */
    TKL__MOVED,   /* the slot lives elsewhere: learn it and ask there */
    TKL__ASK,     /* this once, ask there with ASKING */
    TKL__AGAIN,   /* not now (TRYAGAIN, LOADING, BUSY, CLUSTERDOWN, MASTERDOWN): repeat later */
    TKL__DEMOTED, /* READONLY: no master any more; find the master, then repeat */
} tkl__verdict;

tkl__verdict tkl__error_verdict(tkl_bytes text);
/* The code for the text of an error reply: by its first word. */
int tkl__error_code(tkl_bytes text);

/* Parses "MOVED 3999 127.0.0.1:6381" (or ASK): false when malformed. host must hold 256 bytes;
 * it is empty when the server left it out ("the one you asked"). */
bool tkl__parse_redirect(tkl_bytes text, int *slot, char *host, int *port);

/* The cluster slot of a key, honouring {hash tags}. */
int tkl__slot_of(tkl_bytes key);
#define TKL__SLOTS   16384
#define TKL__NO_SLOT (-1)

#endif
