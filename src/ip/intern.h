/* SPDX-License-Identifier: MIT
 *
 * Strings without duplicates, numbered from 0 in the order of their addition.
 */
#ifndef TKL_IP_INTERN_H
#define TKL_IP_INTERN_H

#include <tackle/common.h>

/* All zero: empty. */
typedef struct tkl__ip_intern {
    char *text; /* bytes of all strings */
    size_t text_len, text_cap;
    size_t *ends; /* end of each string in the text */
    uint32_t count, cap;
    uint32_t *slots; /* a number + 1; 0: free */
    size_t nslots;   /* a power of two, at least twice the count */
} tkl__ip_intern;

#define TKL__INTERN_NONE UINT32_MAX

/* Returns the number of a string; a new string is added and gets the last number. TKL__INTERN_NONE:
 * out of memory, or there are 2^31 strings already. */
uint32_t tkl__ip_intern_add(tkl__ip_intern *intern, tkl_bytes string);
/* TKL__INTERN_NONE: no such string. */
uint32_t tkl__ip_intern_find(const tkl__ip_intern *intern, tkl_bytes string);
/* The string with this number; valid until the next string is added. */
tkl_bytes tkl__ip_intern_at(const tkl__ip_intern *intern, uint32_t number);
void tkl__ip_intern_free(tkl__ip_intern *intern);

#endif
