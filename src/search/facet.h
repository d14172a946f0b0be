/* SPDX-License-Identifier: MIT
 *
 * Facets: how many documents of a result have each value of a field.
 */
#ifndef TKL_SEARCH_FACET_H
#define TKL_SEARCH_FACET_H

#include "search/query_steps.h"

/* TKL_EINVAL: a facet is not a text field of the index. */
int tkl__search_facets_check(const tkl__search_schema *schema,
                             const tkl_search_query_options *options);
/* Adds the facets to the box of a run that is done. */
int tkl__search_facets(tkl__search_run *run, const tkl_search_query_options *options);
/* Adds the facets of an empty result. */
int tkl__search_facets_none(tkl__search_run *run, const tkl_search_query_options *options);

#endif
