/* SPDX-License-Identifier: MIT
 *
 * Chinese typed as one likes, decided the naive way: for models of books and suggestions.
 */
#ifndef TKL_TEST_TYPED_H
#define TKL_TEST_TYPED_H

#include <stdbool.h>

/* Whether a query is the beginning of these characters, each typed as itself, as a syllable or as an
 * initial. `letters`: see tkl__text_form_list. */
bool typed_so(const char *letters, const char *query);

#endif
