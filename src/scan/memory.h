/* SPDX-License-Identifier: MIT
 *
 * Elements that a scan has returned lately: a set of 128-bit hashes that forgets the oldest.
 *
 * It has two tables. New hashes go into the young table. When that is full, the old one is emptied
 * and they change roles. So between one and two tables of hashes are remembered. Tables grow, so a
 * short walk takes little memory.
 */
#ifndef TKL_SCAN_MEMORY_H
#define TKL_SCAN_MEMORY_H

#include <tackle/common.h>

typedef struct tkl__scan_seen {
    uint64_t low, high; /* both 0: free */
} tkl__scan_seen;

typedef struct tkl__scan_table {
    tkl__scan_seen *slots;
    size_t size; /* number of slots: a power of two, or 0 */
    size_t used;
} tkl__scan_table;

typedef struct tkl__scan_memory {
    tkl__scan_table young, old;
    size_t most; /* most hashes of a table */
} tkl__scan_memory;

/* TKL_OK: the element is new; TKL_EXISTS: it is remembered; or TKL_ENOMEM. */
int tkl__scan_memory_add(tkl__scan_memory *memory, tkl_bytes element);
void tkl__scan_memory_free(tkl__scan_memory *memory);

#endif
