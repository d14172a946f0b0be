/* SPDX-License-Identifier: MIT
 *
 * Results: what callers get, with the replies that it points into.
 */
#ifndef TKL_SEARCH_RESULT_H
#define TKL_SEARCH_RESULT_H

#include "search/order.h"

/* `is` comes first: its address is that of the box. */
typedef struct tkl__search_result_box {
    tkl_search_result is;
    tkl__search_schema *schema; /* a reference: fields have their names there */
    tkl_reply **replies;
    size_t reply_count, reply_cap;
    void **blocks; /* memory that goes with the result */
    size_t block_count, block_cap;
} tkl__search_result_box;

/* NULL: no memory. */
tkl__search_result_box *tkl__search_box_new(tkl__search_schema *schema);
void tkl__search_box_free(tkl__search_result_box *box); /* NULL is fine */
/* Takes over the reply; when it fails, the reply is freed. */
int tkl__search_box_keep(tkl__search_result_box *box, tkl_reply *reply);
/* Zeroed memory that goes with the result; NULL: there is none left. */
void *tkl__search_box_alloc(tkl__search_result_box *box, size_t size);

/* Makes hits of records, which the box's replies own. `texts`: one for each; NULL: none.
 * TKL_EDAMAGED: a record is not as it should be. */
int tkl__search_box_hits(tkl__search_result_box *box, const tkl__search_found *items, size_t count,
                         const tkl_bytes *texts);

/* A document as it is now; without a record it is not there. The box's replies own the bytes. */
typedef struct tkl__search_fetched {
    tkl_bytes record, text;
    uint64_t number;
    bool came; /* it was asked for */
} tkl__search_fetched;

/* Documents by their ids (get.c), one for each. *stale: the index is another one by now. */
int tkl__search_fetch(tkl_search *search, tkl__search_result_box *box, const tkl_bytes *ids,
                      size_t count, tkl__search_fetched *docs, bool *stale);

#endif
