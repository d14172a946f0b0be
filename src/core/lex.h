/* SPDX-License-Identifier: MIT
 *
 * Members of sorted sets that are read by ranges of bytes (ZRANGE BYLEX): "key NUL rest". Keys are
 * escaped so that they hold no NUL and keep their order, and all that begin with a prefix lie side
 * by side.
 */
#ifndef TKL_CORE_LEX_H
#define TKL_CORE_LEX_H

#include "core/buf.h"

/* Appends text with NUL written as 01 80 and 01 as 01 81. The order of texts stays. The second byte
 * looks like the middle of a character of UTF-8, so nothing begins there. */
void tkl__lex_escape(tkl__buf *out, tkl_bytes text);
/* Undoes it; `out` has room for text.len bytes. Returns the length. */
size_t tkl__lex_unescape(tkl_bytes text, char *out);

/* The least bound above all members that begin with the prefix: "(pref" and the next byte, or "+".
 */
void tkl__lex_above(tkl__buf *out, tkl_bytes prefix);

#endif
