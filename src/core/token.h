/* SPDX-License-Identifier: MIT
 *
 * Tokens: the secret of an acquisition, 32 hex digits that nobody can guess.
 */
#ifndef TKL_CORE_TOKEN_H
#define TKL_CORE_TOKEN_H

#include <tackle/common.h>

void tkl__token_new(char token[TKL_TOKEN_SIZE]);
/* Writes `count` characters of A-Z a-z 0-9 - _ and a NUL: six random bits each, for tokens that must
 * hold something else, too. */
void tkl__token_letters(char *to, size_t count);
/* Whether the text has the form of a token. */
bool tkl__is_token(const char *text);

#endif
