/* SPDX-License-Identifier: MIT
 *
 * Words whose capital and small letters mean the same.
 */
#ifndef TKL_CORE_LETTERS_H
#define TKL_CORE_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the first `count` bytes are the same, but for the case of the letters A to Z. Not so
 * strncasecmp(): in a Turkish locale "FRI" is not "fri". Bytes behind the first difference are not
 * read. */
bool tkl__same_letters(const char *a, const char *b, size_t count);

#endif
