/* SPDX-License-Identifier: MIT
 *
 * The handle, and what its files share.
 */
#ifndef TKL_BITS_BITS_H
#define TKL_BITS_BITS_H

#include <tackle/bits.h>

#include "core/onekey.h"

struct tkl_bits {
    tkl__onekey key;
};

/* tkl_bits_combine() for bitmaps in different slots, which no single command can combine. */
int tkl__bits_combine_apart(tkl_bits *bits, tkl_bits_op op, tkl_bits *const *sources, size_t count,
                            int64_t *bytes);

#endif
