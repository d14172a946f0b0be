/* SPDX-License-Identifier: MIT
 *
 * The calling thread's last error text.
 */
#ifndef TKL_CORE_ERROR_H
#define TKL_CORE_ERROR_H

#include <tackle/common.h>

/* Records the text for tkl_errmsg() and returns `code`. */
int tkl__fail(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* The same, with ": " and the text of errno appended. */
int tkl__fail_errno(int code, const char *format, ...) TKL_PRINTF(2, 3);

/* Puts "prefix: " before the recorded text and returns `code`. */
int tkl__fail_in(int code, const char *format, ...) TKL_PRINTF(2, 3);

int tkl__nomem(void);

#endif
