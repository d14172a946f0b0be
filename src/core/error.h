/* SPDX-License-Identifier: MIT
 *
 * The calling thread's last text: what its last call had to say.
 */
#ifndef TKL_CORE_ERROR_H
#define TKL_CORE_ERROR_H

#include <tackle/common.h>

/* A call begins: it has nothing to say yet. Done by whatever sends a request or makes a key. */
void tkl__begin(void);

/* Records the text for tkl_errmsg() and returns `code`: of an error, or of a "no" that has more to
 * say than its code. */
int tkl__fail(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* The same, with ": " and the text of errno appended. */
int tkl__fail_errno(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* Puts "prefix: " before the recorded text and returns `code`. */
int tkl__fail_in(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* Replaces what a terminal would take for commands: control characters other than line ends and
 * tabs. Error replies and recorded texts go through this, whatever their origin. */
void tkl__clean_text(char *text, size_t len);

/* A "no", with the text of its code. */
int tkl__no(int code);

int tkl__nomem(void);

/* Whether waiting may help: the server was not reached, not ready, or did not answer. A server
 * that is full, or refuses writes, is none of these: see tkl_is_transient(). */
bool tkl__may_pass(int code);

/* For a wait that tkl_interrupt() has ended. */
int tkl__interrupted(void);

#endif
