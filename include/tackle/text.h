/* SPDX-License-Identifier: MIT
 *
 * Converts texts to scores for sorted sets, in the order of the texts.
 *
 *     double low, high, score = tkl_text_score(tkl_str("Moby Dick"));     // for ZADD
 *     tkl_text_score_range(tkl_str("Mo"), &low, &high);     // all titles that begin with "Mo"
 *
 * A sorted set orders its members by a double, which has room for six bytes and one bit; the bit
 * says that the text is longer. A text that comes first by its bytes has the smaller score, or the
 * same. Each text of up to six bytes has its own score; longer texts that begin with the same six
 * bytes share a score, and must be compared themselves.
 *
 * Texts are any bytes; UTF-8 is in the order of its code points. For an order that ignores case,
 * fold the texts first.
 *
 * Threads, fork: no restrictions; no I/O, no memory.
 */
#ifndef TACKLE_TEXT_H
#define TACKLE_TEXT_H

#include <tackle/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The score of a text: a whole number from 0 (the empty text) to below 2^50, which a double holds
 * exactly. */
TKL_API double tkl_text_score(tkl_bytes text);

/* The lowest and the highest score of texts that begin with `prefix`. For a prefix of more than six
 * bytes, other texts that share its first six bytes have these scores, too. */
TKL_API void tkl_text_score_range(tkl_bytes prefix, double *low, double *high) TKL_NONNULL(2, 3);

#ifdef __cplusplus
}
#endif
#endif
