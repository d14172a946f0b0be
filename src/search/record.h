/* SPDX-License-Identifier: MIT
 *
 * The stored form of a document: its record (length, values, id) and its terms.
 */
#ifndef TKL_SEARCH_RECORD_H
#define TKL_SEARCH_RECORD_H

#include "search/search.h"

/* The value of a field. */
typedef struct tkl__search_cell {
    bool present;
    double number;  /* value of a numeric field */
    tkl_bytes text; /* value of a text field, as it was written */
    tkl_bytes sort; /* folded and escaped: sorts in the order of its bytes */
} tkl__search_cell;

/* Views into the stored bytes. */
typedef struct tkl__search_record {
    uint32_t length; /* number of words of the text */
    tkl_bytes id;
    tkl__search_cell cells[TKL_SEARCH_FIELDS_MAX];
} tkl__search_record;

/* Appends the record. */
void tkl__search_record_write(tkl__buf *out, const tkl__search_schema *schema,
                              const tkl__search_record *record);
/* False: the record was not written by tackle. */
bool tkl__search_record_read(tkl_bytes bytes, const tkl__search_schema *schema,
                             tkl__search_record *record);

/* Appends the member of a document in the sorted set of a field, without its number: "", or the
 * value and a NUL. */
void tkl__search_member(tkl__buf *out, const tkl__search_schema *schema, size_t field,
                        const tkl__search_cell *cell);
/* The score of the member: infinite for a missing value. */
double tkl__search_score(const tkl__search_schema *schema, size_t field,
                         const tkl__search_cell *cell);

/* One term of a document. */
typedef struct tkl__search_entry {
    tkl_bytes term;
    uint32_t times;      /* 0 for the value of a field */
    tkl_bytes positions; /* packed: see tkl__search_position_next() */
} tkl__search_entry;

/* Appends an entry; `positions` (may be NULL): as many as `times`, ascending. */
void tkl__search_entry_write(tkl__buf *out, tkl_bytes term, uint32_t times,
                             const uint32_t *positions);
/* Takes the next entry off the front; false: there are no more, or *damaged is set. */
bool tkl__search_entry_next(tkl_bytes *rest, bool positions, tkl__search_entry *entry,
                            bool *damaged);
/* Takes the next position off the front; false: there are no more. *at: the position before, 0 at
 * first. */
bool tkl__search_position_next(tkl_bytes *rest, uint32_t *at);

#endif
