/* SPDX-License-Identifier: MIT
 *
 * Members of sorted sets that are read by ranges of bytes (ZRANGE BYLEX): "key NUL rest". Keys are
 * escaped so that they contain no NUL and keep their order. All keys that begin with a prefix are
 * neighbours.
 */
#ifndef TKL_CORE_LEX_H
#define TKL_CORE_LEX_H

#include "core/buf.h"

/* Appends the text with NUL written as 01 80 and 01 as 01 81. The order of texts stays the same.
 * The second byte looks like the middle of a UTF-8 character, so no character begins there. */
void tkl__lex_escape(tkl__buf *out, tkl_bytes text);
/* Reverses tkl__lex_escape(); `out` has room for text.len bytes. Returns the length. */
size_t tkl__lex_unescape(tkl_bytes text, char *out);

/* The smallest bound above all members that begin with the prefix: "(pref" and the next byte, or
 * "+". */
void tkl__lex_above(tkl__buf *out, tkl_bytes prefix);

#endif
