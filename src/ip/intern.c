/* SPDX-License-Identifier: MIT */
#include "ip/intern.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/letters.h"

#define COUNT_MAX (UINT32_C(1) << 31)

tkl_bytes tkl__ip_intern_at(const tkl__ip_intern *intern, uint32_t number)
{
    size_t start = number == 0 ? 0 : intern->ends[number - 1];
    return (tkl_bytes){intern->text + start, intern->ends[number] - start};
}

/* The slot of a string, or the free slot for it. */
static uint32_t *slot_of(const tkl__ip_intern *intern, tkl_bytes string)
{
    size_t mask = intern->nslots - 1;
    size_t at = XXH3_64bits(string.len > 0 ? string.data : "", string.len) & mask;
    while (intern->slots[at] &&
           !tkl__same_bytes(tkl__ip_intern_at(intern, intern->slots[at] - 1), string))
        at = (at + 1) & mask;
    return &intern->slots[at];
}

uint32_t tkl__ip_intern_find(const tkl__ip_intern *intern, tkl_bytes string)
{
    uint32_t found = intern->nslots > 0 ? *slot_of(intern, string) : 0;
    return found ? found - 1 : TKL__INTERN_NONE;
}

static bool grow_slots(tkl__ip_intern *intern)
{
    size_t old = intern->nslots, wanted = old ? 2 * old : 256;
    if (2 * ((size_t)intern->count + 1) <= old)
        return true;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (!slots)
        return false;
    free(intern->slots);
    intern->slots = slots;
    intern->nslots = wanted;
    for (uint32_t i = 0; i < intern->count; i++)
        *slot_of(intern, tkl__ip_intern_at(intern, i)) = i + 1;
    return true;
}

static bool grow_ends(tkl__ip_intern *intern)
{
    if (intern->count < intern->cap)
        return true;
    uint32_t cap = intern->cap ? 2 * intern->cap : 128;
    size_t *ends = realloc(intern->ends, cap * sizeof *ends);
    if (!ends)
        return false;
    intern->ends = ends;
    intern->cap = cap;
    return true;
}

static bool grow_text(tkl__ip_intern *intern, size_t more)
{
    if (intern->text && intern->text_cap - intern->text_len >= more)
        return true;
    size_t cap = 2 * intern->text_cap + more + 1024;
    char *text = realloc(intern->text, cap);
    if (!text)
        return false;
    intern->text = text;
    intern->text_cap = cap;
    return true;
}

uint32_t tkl__ip_intern_add(tkl__ip_intern *intern, tkl_bytes string)
{
    uint32_t found = tkl__ip_intern_find(intern, string);
    if (found != TKL__INTERN_NONE)
        return found;
    if (intern->count >= COUNT_MAX || !grow_slots(intern) || !grow_ends(intern) ||
        !grow_text(intern, string.len))
        return TKL__INTERN_NONE;
    *slot_of(intern, string) = intern->count + 1;
    if (string.len > 0)
        memcpy(intern->text + intern->text_len, string.data, string.len);
    intern->text_len += string.len;
    intern->ends[intern->count] = intern->text_len;
    return intern->count++;
}

void tkl__ip_intern_free(tkl__ip_intern *intern)
{
    free(intern->text);
    free(intern->ends);
    free(intern->slots);
    *intern = (tkl__ip_intern){0};
}
