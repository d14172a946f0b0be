/* SPDX-License-Identifier: MIT
 *
 * Texts of words with single spaces in between, as scripts write them.
 */
#ifndef TKL_QUEUE_WORDS_H
#define TKL_QUEUE_WORDS_H

#include <tackle/common.h>

/* Cuts the first word off a text, and the space behind it. */
tkl_bytes tkl__queue_next_word(tkl_bytes *text);
/* Reads a number of up to 15 digits; -1: the word is not a number. */
int64_t tkl__queue_word_number(tkl_bytes word);

#endif
