/* SPDX-License-Identifier: MIT
 *
 * Documents of callers, prepared for storing.
 */
#ifndef TKL_SEARCH_DOCUMENT_H
#define TKL_SEARCH_DOCUMENT_H

#include "search/record.h"

/* A prepared document: offsets in a buffer that many documents share. */
typedef struct tkl__search_ready {
    const tkl_search_doc *doc;
    size_t shard;
    size_t record, record_len; /* offset and length in the buffer */
    size_t terms, terms_len;
    size_t count;    /* number of terms */
    size_t postings; /* number of their postings */
    uint32_t length; /* number of words of the text */
    tkl_bytes head;  /* stored in place of terms that are in pieces; empty: the terms are stored */
    struct {
        double score; /* in the sorted set of the field */
        size_t member, member_len;
    } fields[TKL_SEARCH_FIELDS_MAX];
} tkl__search_ready;

/* Checks whether a document can be stored. The text of TKL_EINVAL names the document by its
 * index. */
int tkl__search_check_doc(const tkl__search_schema *schema, const tkl_search_doc *doc,
                          size_t index);
/* Finds the terms of a document, and appends its record and terms to the buffer. */
int tkl__search_prepare(const tkl__search_schema *schema, const tkl_search_doc *doc,
                        tkl__buf *store, tkl__search_ready *ready);

#endif
