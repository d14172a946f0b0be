/* SPDX-License-Identifier: MIT
 *
 * Kept results.
 */
#ifndef TKL_SEARCH_KEPT_H
#define TKL_SEARCH_KEPT_H

#include "search/query_steps.h"

/* How many hits a query finds when its result will be kept: the page and some more. */
int64_t tkl__search_keep_reach(int64_t offset, int64_t count);

/* Reads a page of a kept result: hits, total and the rest of the box's result. *found is false when
 * no result is kept for the current version of the index. */
int tkl__search_kept_read(tkl__search_run *run, bool *found);

/* Keeps the result, from its first hit on. A failure here does not fail the query. */
void tkl__search_kept_write(tkl__search_run *run, int64_t keep_ms);

#endif
