/* SPDX-License-Identifier: MIT
 *
 * Documents as they come from callers, made ready to be stored.
 */
#ifndef TKL_SEARCH_DOCUMENT_H
#define TKL_SEARCH_DOCUMENT_H

#include "search/record.h"

/* A document that is ready: places in a buffer that many share. */
typedef struct tkl__search_ready {
    const tkl_search_doc *doc;
    size_t shard;
    size_t record, record_len; /* in the buffer */
    size_t terms, terms_len;
    size_t count; /* of terms */
    struct {
        double score; /* in the sorted set of the field */
        size_t member, member_len;
        size_t shown, shown_len; /* the term whose value is shown as it is written; 0: none */
        tkl_bytes value;
    } fields[TKL_SEARCH_FIELDS_MAX];
} tkl__search_ready;

/* Whether it can be stored: TKL_EINVAL names it by its index. */
int tkl__search_check_doc(const tkl__search_schema *schema, const tkl_search_doc *doc,
                          size_t index);
/* Finds its terms, and appends record and terms to the buffer. */
int tkl__search_prepare(const tkl__search_schema *schema, const tkl_search_doc *doc,
                        tkl__buf *store, tkl__search_ready *ready);

#endif
