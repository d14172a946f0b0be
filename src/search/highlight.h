/* SPDX-License-Identifier: MIT
 *
 * Where a text matches a query. Private to search.
 */
#ifndef TKL_SEARCH_HIGHLIGHT_H
#define TKL_SEARCH_HIGHLIGHT_H

#include "search/parse.h"

typedef struct tkl__search_highlight_options {
    tkl_bytes before, after; /* put around each match */
    size_t length; /* characters of the part with the most matches, whole words, with "…"
                                where something is left out; 0: the whole text */
    bool html;     /* characters that are special in HTML become &lt; and so on */
} tkl__search_highlight_options;

/* Appends the text with its matches marked: words of the query as the index sees them (folded,
 * stemmed), prefixes and phrases. A Chinese word of the query is marked where it occurs as a whole;
 * if it occurs nowhere, its pairs of characters are marked. `rules`: the rules of the index.
 * *count: the number of marked matches.
 *
 * Make the query with tkl__search_highlight_query(). */
int tkl__search_highlight(tkl_bytes text, const tkl__search_query *query,
                          const tkl__search_query_rules *rules,
                          const tkl__search_highlight_options *options, tkl__buf *out,
                          size_t *count);

/* Like tkl__search_query_parse(), but also keeps the distances between words that are written
 * together, which an index without positions does not know. */
int tkl__search_highlight_query(tkl_bytes text, const tkl__search_query_rules *rules,
                                tkl__search_query *query);

#endif
