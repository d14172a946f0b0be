/* SPDX-License-Identifier: MIT
 *
 * Text as a number: scores for sorted sets, in the order of the texts.
 *
 *     double low, high, score = tkl_text_score(tkl_str("Moby Dick"));     // for ZADD
 *     tkl_text_score_range(tkl_str("Mo"), &low, &high);     // all titles that begin with "Mo"
 *
 * A sorted set orders its members by a double, which has room for six bytes and one bit more: the
 * bit says that the text goes on. Of two texts the one that comes first by its bytes has the
 * smaller score. Texts of up to six bytes have scores of their own; longer ones share theirs with
 * those that begin with the same six bytes, and must be compared themselves.
 *
 * Any bytes will do; UTF-8 is in the order of its code points. For an order whatever the case, fold
 * the text first.
 *
 * Threads, fork: no restrictions; no I/O, no memory.
 */
#ifndef TACKLE_TEXT_H
#define TACKLE_TEXT_H

#include <tackle/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From 0 (the empty text) to below 2^50, a whole number, which every double holds exactly. */
TKL_API double tkl_text_score(tkl_bytes text);

/* The scores of the first and of the last text that begins with `prefix`: all others that begin so
 * are between them. Of a prefix of more than six bytes, also texts that begin otherwise are. */
TKL_API void tkl_text_score_range(tkl_bytes prefix, double *low, double *high) TKL_NONNULL(2, 3);

#ifdef __cplusplus
}
#endif
#endif
