/* SPDX-License-Identifier: MIT
 *
 * Looking up words in a set. Part of libtackle and of libtackle-text.so.
 */
#include <stdlib.h>
#include <string.h>

#include "text/library.h"

int tkl__text_word_compare(const void *a, const void *b)
{
    const tkl_bytes *x = a, *y = b;
    size_t shorter = x->len < y->len ? x->len : y->len;
    int order = shorter ? memcmp(x->data, y->data, shorter) : 0;
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

bool tkl__text_word_set_has(const tkl__text_word_set *set, tkl_bytes word)
{
    return set->count && word.len <= set->longest &&
           bsearch(&word, set->items, set->count, sizeof *set->items, tkl__text_word_compare);
}
