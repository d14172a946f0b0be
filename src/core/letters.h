/* SPDX-License-Identifier: MIT
 *
 * Comparing words without regard to case.
 */
#ifndef TKL_CORE_LETTERS_H
#define TKL_CORE_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the first `count` bytes are equal, ignoring the case of the letters A to Z. strncasecmp()
 * will not do: in a Turkish locale "FRI" is not "fri". Bytes after the first difference are not
 * read. */
bool tkl__same_letters(const char *a, const char *b, size_t count);

#endif
