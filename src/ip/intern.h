/* SPDX-License-Identifier: MIT
 *
 * Strings, each once, numbered from 0 in the order in which they came.
 */
#ifndef TKL_IP_INTERN_H
#define TKL_IP_INTERN_H

#include <tackle/common.h>

/* All zero is an empty one. */
typedef struct tkl__ip_intern {
    char *text; /* of all strings */
    size_t text_len, text_cap;
    size_t *ends; /* of each string, in the text */
    uint32_t count, cap;
    uint32_t *slots; /* a number + 1; 0: free */
    size_t nslots;   /* a power of two, at least twice the count */
} tkl__ip_intern;

#define TKL__INTERN_NONE UINT32_MAX

/* The number of a string, which is added if it is new: then it is the last. TKL__INTERN_NONE when
 * out of memory, or when there are 2^31 already. */
uint32_t tkl__ip_intern_add(tkl__ip_intern *intern, tkl_bytes string);
/* TKL__INTERN_NONE: it is not there. */
uint32_t tkl__ip_intern_find(const tkl__ip_intern *intern, tkl_bytes string);
/* Valid until the next string is added. */
tkl_bytes tkl__ip_intern_at(const tkl__ip_intern *intern, uint32_t number);
void tkl__ip_intern_free(tkl__ip_intern *intern);

#endif
