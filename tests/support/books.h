/* SPDX-License-Identifier: MIT
 *
 * Address books as tests use them.
 */
#ifndef TACKLE_TESTS_BOOKS_H
#define TACKLE_TESTS_BOOKS_H

#include <tackle/book.h>

#include "support/fixture.h"

#define NONE ((tkl_bytes){NULL, 0})

tkl_book *open_book(tkl_client *client, const tkl_book_options *options);

/* Adds texts that are separated by "|". */
int64_t book_add(tkl_book *book, const char *list);

int64_t book_add_id(tkl_book *book, const char *id, const char *text);

int64_t book_take(tkl_book *book, const char *id, const char *text);

/* Compares answers with "text|text"; an answer with an id is "id=text". */
void check_book_answers(const tkl_book_answers *answers, const char *expected);

void check_complete(tkl_book *book, const char *prefix, const char *expected);

/* Compares answers that have the letter of their group before them: "e:anna|p:annabel". */
void check_find(tkl_book *book, const char *text, size_t count, bool more, const char *expected);

#endif
