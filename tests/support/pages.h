/* SPDX-License-Identifier: MIT
 *
 * An index of pages for tests of the search: numeric field "votes", text field "title".
 */
#ifndef TACKLE_TESTS_PAGES_H
#define TACKLE_TESTS_PAGES_H

#include <tackle/search.h>

#include "support/fixture.h"

extern const tkl_search_field pages_fields[2];

/* Opens the index "pages"; `schema` NULL: these fields, English stems. */
tkl_search *pages_open(fixture *f, const tkl_search_schema *schema);

/* Adds a page, without votes if they are NaN, without a title if it is NULL. */
void pages_add(tkl_search *s, const char *id, const char *text, double votes, const char *title);
/* Adds five pages, a to e. */
void pages_add_some(tkl_search *s);
/* Adds a version of the page "docN". All words of a version belong together: "w3 v7 w3v7". */
void pages_add_version(tkl_search *s, int doc, int writer, int round);

/* Fails unless the result is exact, has this total and these ids, separated by spaces. */
void pages_check_page(tkl_search *s, const char *query, const tkl_search_query_options *options,
                      int64_t total, const char *ids);
/* Does the same for a result that is sorted by votes, most first. */
void pages_check(tkl_search *s, const char *query, int64_t total, const char *ids);
/* Fails unless the bytes are this text. */
void pages_check_bytes(tkl_bytes bytes, const char *expected);
/* How many documents match; the result is exact. */
int64_t pages_count(tkl_search *s, const char *query);
int64_t pages_leftover(tkl_search *s);
/* The number of keys of the server. */
int64_t pages_keys(fixture *f);

#endif
