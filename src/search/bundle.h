/* SPDX-License-Identifier: MIT
 *
 * One run of a script that writes terms: which keys, which documents at each.
 */
#ifndef TKL_SEARCH_BUNDLE_H
#define TKL_SEARCH_BUNDLE_H

#include "search/record.h"

/* A run has so many documents at most: the place of one is a byte. */
#define TKL__SEARCH_RUN_DOCS 50
/* So many terms at most, which take the server 2 to 5 ms: more when old versions are cleared. */
#define TKL__SEARCH_RUN_TERMS 650
/* A field takes as long as so many terms. */
#define TKL__SEARCH_FIELD_TERMS 2
/* So many bytes, unless one document has more: a megabyte takes a script about 1.5 ms. */
#define TKL__SEARCH_RUN_BYTES (1 << 19)

typedef struct tkl__search_posting {
    tkl_bytes term;
    unsigned char place; /* of the document in the run, from 1 */
} tkl__search_posting;

typedef struct tkl__search_bundle {
    const tkl__search_shard *shard;
    tkl_bytes *keys; /* owned; the first are the shard's, borrowed */
    size_t nkeys;
    tkl__args args; /* what comes before the lists is added by the caller */
    tkl__search_posting *postings;
    size_t count, cap;
    char *bytes; /* owns keys and lists */
    bool failed;
} tkl__search_bundle;

void tkl__search_bundle_begin(tkl__search_bundle *bundle, const tkl__search_shard *shard);
/* Takes terms of a document off the front, at most `max` of them. */
void tkl__search_bundle_terms(tkl__search_bundle *bundle, tkl_bytes *terms, bool positions,
                              unsigned char place, size_t max);
/* Adds the keys (the shard's, those of `nfields` fields and their ladders, the terms') and the
 * lists. */
void tkl__search_bundle_end(tkl__search_bundle *bundle, size_t nfields);
void tkl__search_bundle_free(tkl__search_bundle *bundle);

tkl__invocation tkl__search_bundle_call(const tkl__search_bundle *bundle,
                                        const tkl__script *script);

/* Of that many terms of a document, which are written in runs: where the last run begins. */
size_t tkl__search_last_part(size_t terms);

/* How many terms a document has. */
size_t tkl__search_count_terms(tkl_bytes terms, bool positions);

#endif
