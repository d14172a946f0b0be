/* SPDX-License-Identifier: MIT
 *
 * A growing byte buffer that starts on the stack: small requests cost no allocation. Growing arrays
 * and copies of bytes.
 */
#ifndef TKL_CORE_BUF_H
#define TKL_CORE_BUF_H

#include <tackle/common.h>

typedef struct tkl__buf {
    char *data;
    size_t len;
    size_t cap;
    bool failed; /* an allocation failed: everything appended since is missing */
    char small[512];
} tkl__buf;

void tkl__buf_init(tkl__buf *buf);
void tkl__buf_free(tkl__buf *buf);
void tkl__buf_clear(tkl__buf *buf);
/* Returns room for `more` bytes at the end; NULL, and sets `failed`, when there is no memory. */
char *tkl__buf_reserve(tkl__buf *buf, size_t more);
void tkl__buf_add(tkl__buf *buf, const void *data, size_t len);
void tkl__buf_addz(tkl__buf *buf, const char *text);
void tkl__buf_addf(tkl__buf *buf, const char *format, ...) TKL_PRINTF(2, 3);

/* Makes room for one more item behind `count` items of `size` bytes. `items`: the address of the
 * pointer to them, NULL at first, which changes. The room doubles at 8, 16, 32 ... items, so no
 * capacity is kept; all growth of an array goes through this. False: no memory. */
bool tkl__grow(void *items, size_t count, size_t size);

/* A copy with a NUL behind it, malloc'ed. NULL: no memory. */
char *tkl__copy_bytes(tkl_bytes bytes);

#endif
