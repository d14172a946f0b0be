/* SPDX-License-Identifier: MIT
 *
 * Results: what callers get, together with the replies that it points into.
 */
#ifndef TKL_SEARCH_RESULT_H
#define TKL_SEARCH_RESULT_H

#include "search/order.h"

/* `is` comes first: a pointer to it is also a pointer to the box. */
typedef struct tkl__search_result_box {
    tkl_search_result is;
    tkl__search_schema *schema; /* a reference; it owns the names of the fields */
    tkl_reply **replies;
    size_t reply_count;
    void **blocks; /* memory that is freed with the result */
    size_t block_count;
} tkl__search_result_box;

/* NULL: out of memory. */
tkl__search_result_box *tkl__search_box_new(tkl__search_schema *schema);
void tkl__search_box_free(tkl__search_result_box *box); /* NULL is fine */
/* Takes over the reply, and frees it on failure. */
int tkl__search_box_keep(tkl__search_result_box *box, tkl_reply *reply);
/* Zeroed memory that is freed with the result; NULL: out of memory. */
void *tkl__search_box_alloc(tkl__search_result_box *box, size_t size);

/* Copies bytes into the memory of the result. */
int tkl__search_box_copy(tkl__search_result_box *box, tkl_bytes from, tkl_bytes *to);

/* Makes hits of records that the box's replies own. `texts`: one for each record; NULL: none.
 * TKL_EDAMAGED: a record is damaged. */
int tkl__search_box_hits(tkl__search_result_box *box, const tkl__search_found *items, size_t count,
                         const tkl_bytes *texts);

/* The current version of a document. It does not exist if the record is empty. The box's replies
 * own the bytes. */
typedef struct tkl__search_fetched {
    tkl_bytes record, text;
    uint64_t number;
    bool came; /* a reply has covered it */
} tkl__search_fetched;

/* Fetches documents by id (get.c), one for each id. */
int tkl__search_fetch(tkl_search *search, tkl__search_result_box *box, const tkl_bytes *ids,
                      size_t count, tkl__search_fetched *docs, tkl__search_outcome *outcome);

#endif
