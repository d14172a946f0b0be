/* SPDX-License-Identifier: MIT */
#include "scan/memory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/error.h"

#define FIRST_SIZE 1024

/* Returns the slot of a hash, or the free slot for it. At least half of a table is free. */
static tkl__scan_seen *find_slot(const tkl__scan_table *table, tkl__scan_seen seen)
{
    size_t i = seen.low & (table->size - 1);
    for (;; i = (i + 1) & (table->size - 1)) {
        tkl__scan_seen *slot = &table->slots[i];
        if ((slot->low == 0 && slot->high == 0) ||
            (slot->low == seen.low && slot->high == seen.high))
            return slot;
    }
}

static bool has_seen(const tkl__scan_table *table, tkl__scan_seen seen)
{
    return table->used > 0 && find_slot(table, seen)->high == seen.high;
}

static bool grow_table(tkl__scan_table *table)
{
    tkl__scan_table larger = {.size = table->size ? 2 * table->size : FIRST_SIZE,
                              .used = table->used};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->size; i++)
        if (table->slots[i].low || table->slots[i].high)
            *find_slot(&larger, table->slots[i]) = table->slots[i];
    free(table->slots);
    *table = larger;
    return true;
}

static void forget_oldest(tkl__scan_memory *memory)
{
    tkl__scan_table emptied = memory->old;
    memory->old = memory->young;
    if (emptied.size > 0)
        memset(emptied.slots, 0, emptied.size * sizeof *emptied.slots);
    emptied.used = 0;
    memory->young = emptied;
}

int tkl__scan_memory_add(tkl__scan_memory *memory, tkl_bytes element)
{
    XXH128_hash_t hash = XXH3_128bits(element.data, element.len);
    tkl__scan_seen seen = {hash.low64, hash.high64 ? hash.high64 : 1};
    if (has_seen(&memory->young, seen) || has_seen(&memory->old, seen))
        return TKL_EXISTS;
    if (memory->young.used == memory->most)
        forget_oldest(memory);
    if (2 * memory->young.used >= memory->young.size && !grow_table(&memory->young))
        return tkl__nomem();
    *find_slot(&memory->young, seen) = seen;
    memory->young.used++;
    return TKL_OK;
}

void tkl__scan_memory_free(tkl__scan_memory *memory)
{
    free(memory->young.slots);
    free(memory->old.slots);
}
