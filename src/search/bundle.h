/* SPDX-License-Identifier: MIT
 *
 * One run of a script that writes terms: its keys, and the documents of each key.
 */
#ifndef TKL_SEARCH_BUNDLE_H
#define TKL_SEARCH_BUNDLE_H

#include "search/record.h"

/* Most documents of a run: the index of a document in its run is one byte. */
#define TKL__SEARCH_RUN_DOCS 50
/* Most postings of a run: of terms, and of words that a document has several times. They take the
 * server 2 to 5 ms. */
#define TKL__SEARCH_RUN_TERMS 560
/* Most terms of a document in one run, if it has more: each may have four postings. */
#define TKL__SEARCH_PART_TERMS (TKL__SEARCH_RUN_TERMS / (1 + TKL__SEARCH_SEVERAL))
/* One field takes as long as this many terms. */
#define TKL__SEARCH_FIELD_TERMS 2
/* Most bytes of a run, unless one document has more. A script takes about 1.5 ms for a megabyte. */
#define TKL__SEARCH_RUN_BYTES (1 << 19)

typedef struct tkl__search_posting {
    tkl_bytes term;
    unsigned char doc; /* index of the document in the run, from 1 */
} tkl__search_posting;

typedef struct tkl__search_bundle {
    const tkl__search_shard *shard;
    tkl_bytes *keys; /* owned; the bytes of the first ones belong to the shard */
    size_t nkeys;
    tkl__args args; /* the caller adds the arguments before the lists */
    tkl__search_posting *postings;
    size_t count;
    char **made; /* owns the bytes of terms and arguments that nothing else owns */
    size_t made_count;
    char *bytes; /* owns the bytes of keys and lists */
    bool failed;
} tkl__search_bundle;

void tkl__search_bundle_begin(tkl__search_bundle *bundle, const tkl__search_shard *shard);
/* Takes terms of a document off the front, at most `max` of them, and posts them. Terms that the
 * document has several times also get the postings that say so. */
void tkl__search_bundle_terms(tkl__search_bundle *bundle, tkl_bytes *terms, bool positions,
                              unsigned char doc, size_t max);
/* Copies bytes, which stay as long as the bundle. */
tkl_bytes tkl__search_bundle_keep(tkl__search_bundle *bundle, const tkl__buf *bytes);
/* Posts a document under a term, whose bytes stay until the end. A `doc` of 0: only the term's
 * key. */
void tkl__search_bundle_post(tkl__search_bundle *bundle, tkl_bytes term, unsigned char doc);
/* Posts a document under the band of its length. */
void tkl__search_bundle_band(tkl__search_bundle *bundle, uint32_t length, unsigned char doc);
/* Adds the keys (of the shard, of `nfields` fields and their ladders, of the terms) and the
 * lists. */
void tkl__search_bundle_end(tkl__search_bundle *bundle, size_t nfields);
void tkl__search_bundle_free(tkl__search_bundle *bundle);

/* Adds the run to a batch. */
void tkl__search_bundle_add(tkl__batch *batch, const tkl__search_bundle *bundle,
                            const tkl__script *script);

/* A document with this many terms is written in several runs. Returns the first term of the last
 * run. */
size_t tkl__search_last_part(size_t terms);

/* Returns the number of terms of a document; *postings: how many postings a run writes for them. */
size_t tkl__search_count_terms(tkl_bytes terms, bool positions, size_t *postings);

#endif
