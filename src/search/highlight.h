/* SPDX-License-Identifier: MIT
 *
 * Where a text matches a query. Private to search.
 */
#ifndef TKL_SEARCH_HIGHLIGHT_H
#define TKL_SEARCH_HIGHLIGHT_H

#include "search/query.h"

typedef struct tkl__search_highlight_options {
    tkl_bytes before, after; /* put around each match */
    size_t length; /* characters of the part with the most matches, whole words, with "…"
                                where something is left out; 0: the whole text */
    bool html;     /* what HTML takes for tags becomes &lt; and the like */
} tkl__search_highlight_options;

/* Appends the text with its matches marked: words that are wanted, as the index sees them (folded,
 * stemmed), prefixes and phrases. A Chinese text is marked where it stands as a whole; where it
 * does so nowhere, its pairs of characters are. `rules`: those of the index. *count: the matches
 * that are marked.
 *
 * The query should be made by tkl__search_highlight_query(). */
int tkl__search_highlight(tkl_bytes text, const tkl__search_query *query,
                          const tkl__search_query_rules *rules,
                          const tkl__search_highlight_options *options, tkl__buf *out,
                          size_t *count);

/* As tkl__search_query_parse(), with the distances of words that are written together, which the
 * index may not know. */
int tkl__search_highlight_query(tkl_bytes text, const tkl__search_query_rules *rules,
                                tkl__search_query *query);

#endif
