/* SPDX-License-Identifier: MIT
 *
 * Comparing bytes, and words without regard to case.
 */
#ifndef TKL_CORE_LETTERS_H
#define TKL_CORE_LETTERS_H

#include <tackle/common.h>

/* Whether both are the same bytes. No data (NULL) is the same as empty bytes. */
bool tkl__same_bytes(tkl_bytes a, tkl_bytes b);

/* Orders bytes as memcmp() does; the shorter one of two texts that begin alike comes first. */
int tkl__compare_bytes(tkl_bytes a, tkl_bytes b);

/* Whether the text begins with the prefix. Every text begins with the empty prefix. */
bool tkl__begins_with(tkl_bytes text, tkl_bytes prefix);

/* Whether the first `count` bytes are equal, ignoring the case of the letters A to Z. strncasecmp()
 * will not do: in a Turkish locale "FRI" is not "fri". Bytes after the first difference are not
 * read. */
bool tkl__same_letters(const char *a, const char *b, size_t count);

#endif
