/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions as tests use them.
 */
#ifndef TACKLE_TESTS_SUGGESTIONS_H
#define TACKLE_TESTS_SUGGESTIONS_H

#include <tackle/suggest.h>

#include "support/fixture.h"

tkl_suggest *open_suggest(tkl_client *client, const tkl_suggest_options *options);

void feed_text(tkl_suggest *s, const char *text, double weight);

int64_t take_text(tkl_suggest *s, const char *text);

/* The answers as "text=weight|text=weight", weights without fraction. */
char *hints(tkl_suggest *s, const char *prefix, size_t count);

void check_hints(tkl_suggest *s, const char *prefix, size_t count, const char *expected);

#endif
