/* SPDX-License-Identifier: MIT
 *
 * Remarks of a result about its query, in words for people.
 */
#ifndef TKL_SEARCH_WHY_H
#define TKL_SEARCH_WHY_H

#include "search/query_steps.h"

/* Fills `understood` and `dropped`, and when nothing was found `why` and `nearest`. Asks the server
 * for words like one that is not known. */
int tkl__search_say(tkl__search_run *run);

/* Fills `understood` and `dropped` alone. No I/O. */
int tkl__search_say_query(tkl__search_run *run);

/* Why a query matches no document, whatever the index has. */
const char *tkl__search_nothing_text(const tkl__search_query *query);

#endif
