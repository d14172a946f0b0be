/* SPDX-License-Identifier: MIT
 *
 * A text as a number with seven digits: six of base 257, where 0 means that the text has ended and
 * b + 1 stands for the byte b, and one of base 2: whether it goes on. 2 * 257^6 is below 2^50.
 */
#include <tackle/text.h>

#define BYTES 6
#define BASE  257

/* Returns the six digits of the text as a number; `filler` stands for each byte behind its end. */
static int64_t digits(tkl_bytes text, int64_t filler)
{
    int64_t score = 0;
    for (size_t i = 0; i < BYTES; i++)
        score = score * BASE + (i < text.len ? (unsigned char)text.data[i] + 1 : filler);
    return score;
}

double tkl_text_score(tkl_bytes text)
{
    return (double)(digits(text, 0) * 2 + (text.len > BYTES));
}

void tkl_text_score_range(tkl_bytes prefix, double *low, double *high)
{
    *low = tkl_text_score(prefix);
    *high = (double)(digits(prefix, BASE - 1) * 2 + 1);
}
