/* SPDX-License-Identifier: MIT
 *
 * Numbers with a fraction as text: with a decimal point, whatever the program's locale says. Sums
 * of numbers that come from a server.
 */
#ifndef TKL_CORE_NUMBER_H
#define TKL_CORE_NUMBER_H

#include <tackle/common.h>

#define TKL__DOUBLE_SIZE 32

/* As few digits as read back to the same number; "inf", "-inf", "nan". Returns `text`. */
const char *tkl__double_text(double value, char text[TKL__DOUBLE_SIZE]);

/* False, and *value is 0, when the bytes are not a number from their first to their last. */
bool tkl__double_parse(tkl_bytes bytes, double *value);

/* *sum += more, which ends at INT64_MAX and INT64_MIN. */
void tkl__add(int64_t *sum, int64_t more);

#endif
