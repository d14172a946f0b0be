/* SPDX-License-Identifier: MIT
 *
 * The text of the calling thread's last call, for tkl_errmsg().
 */
#ifndef TKL_CORE_ERROR_H
#define TKL_CORE_ERROR_H

#include <tackle/common.h>

/* Clears the text at the beginning of a call. Everything that sends a request or makes a key does
 * this. */
void tkl__begin(void);

/* Records the text for tkl_errmsg() and returns `code`: an error, or a "no" that has more to say
 * than its code. */
int tkl__fail(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* The same, and appends ": " and the text of errno. */
int tkl__fail_errno(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* Puts "prefix: " before the recorded text and returns `code`. */
int tkl__fail_in(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* The result of a call whose last attempt ended with `code`, after an earlier attempt that may have
 * been executed. An error only says that the last attempt was not executed, and nothing about the
 * earlier one: then this returns TKL_EUNKNOWN and adds the reason to the text. Any other code is
 * returned as it is. */
int tkl__in_doubt(int code);
/* Prefix of the text of a TKL_EUNKNOWN that tkl__in_doubt() returns. */
#define TKL__IN_DOUBT "an earlier attempt may have been executed, then"

/* Replaces characters that a terminal could take for commands: control characters other than line
 * ends and tabs. All error replies and recorded texts go through this. */
void tkl__clean_text(char *text, size_t len);

/* Returns a "no" and records the text of its code. */
int tkl__no(int code);

/* Returns the code that a script answered: TKL_OK, or a "no" with the text of its code. */
int tkl__no_or_ok(int code);

/* The first failure of a batch: later failures overwrite the thread's text. An error takes
 * precedence over a "no". All zero at the start: none yet.
 *
 * Notes that one item of the batch ended with `code`; the calling thread's text is its reason. */
void tkl__first_note(tkl_error *first, int code);
/* Makes the first failure the calling thread's error; returns its code. */
int tkl__first_tell(const tkl_error *first);

int tkl__nomem(void);

/* Whether waiting may help: the server could not be reached, was not ready, or did not answer. A
 * server that is full or refuses writes does not count: see tkl_is_transient(). */
bool tkl__may_pass(int code);

/* Returns TKL_EINTR with its text, for a wait that tkl_interrupt() ended. */
int tkl__interrupted(void);

#endif
