/* SPDX-License-Identifier: MIT
 *
 * Numbers with a fraction as text, always with a decimal point, whatever the program's locale is.
 * Sums of numbers that come from a server.
 */
#ifndef TKL_CORE_NUMBER_H
#define TKL_CORE_NUMBER_H

#include <tackle/common.h>

#define TKL__DOUBLE_SIZE 32

/* Writes the shortest text that reads back as the same number; "inf", "-inf", "nan". Returns
 * `text`. */
const char *tkl__double_text(double value, char text[TKL__DOUBLE_SIZE]);

/* False, and *value is 0, unless all of the bytes are one number. */
bool tkl__double_parse(tkl_bytes bytes, double *value);

/* *sum += more, limited to INT64_MIN and INT64_MAX. */
void tkl__add(int64_t *sum, int64_t more);

#endif
