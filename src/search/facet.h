/* SPDX-License-Identifier: MIT
 *
 * Facets: how many documents of a result have each value of a field.
 */
#ifndef TKL_SEARCH_FACET_H
#define TKL_SEARCH_FACET_H

#include "search/find.h"

/* TKL_EINVAL: a facet is not a text field of the index. */
int tkl__search_facets_check(const tkl__search_schema *schema,
                             const tkl_search_query_options *options);
/* Into the box of the finding, which is done. */
int tkl__search_facets(tkl__search_finding *finding, const tkl_search_query_options *options);
/* Those of a result without documents. */
int tkl__search_facets_none(tkl__search_finding *finding, const tkl_search_query_options *options);

#endif
