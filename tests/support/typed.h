/* SPDX-License-Identifier: MIT
 *
 * Decides the naive way whether a query types Chinese characters, in any mixture of forms: for
 * models of books and suggestions.
 */
#ifndef TKL_TEST_TYPED_H
#define TKL_TEST_TYPED_H

#include <stdbool.h>

/* Whether a query is the beginning of these characters, each typed as itself, as a syllable or as
 * an initial. `letters`: see tkl__text_form_list. */
bool typed_so(const char *letters, const char *query);

#endif
