/* SPDX-License-Identifier: MIT
 *
 * Kept results.
 */
#ifndef TKL_SEARCH_KEPT_H
#define TKL_SEARCH_KEPT_H

#include "search/find.h"

/* How many hits of a result are found so that it can be kept: the page and some more. */
int64_t tkl__search_keep_reach(int64_t offset, int64_t count);

/* A page of a kept result: hits, total and the rest of the box's result. *found is false when none
 * is kept for the index as it is now. */
int tkl__search_kept_read(tkl__search_finding *finding, bool *found);

/* Keeps what was found, from the first hit on. Failing to do so is no failure of the query. */
void tkl__search_kept_write(tkl__search_finding *finding, int64_t keep_ms);

#endif
