/* SPDX-License-Identifier: MIT
 *
 * The interface of libtackle-text.so for libtackle: one table of functions. Both always have the
 * same version; the table says which, so that a stray older file is noticed.
 */
#ifndef TKL_TEXT_LIBRARY_H
#define TKL_TEXT_LIBRARY_H

#include "text/text.h"

typedef struct tkl__text_library {
    const char *version; /* TKL_VERSION of the library */
    size_t size;         /* size of this struct */
    /* Functions as in text.h. Their only errors are TKL_ENOMEM, TKL_EINVAL (no such stemmer) and
     * TKL_EBUG. */
    int (*fold)(tkl_bytes text, unsigned how, tkl__buf *out);
    int (*cut)(tkl_bytes text, size_t max, size_t *len, size_t *count);
    int (*forms)(tkl_bytes folded, tkl__text_form_list *forms);
    int (*mixes)(tkl_bytes query, tkl__text_mix_list *mixes);
    int (*fits)(tkl_bytes folded, const tkl__text_mix_list *mixes, bool *fits);
    int (*words)(tkl_bytes text, const tkl__text_word_options *options, tkl__text_word_list *words);
    int (*check_stem)(const char *language);
} tkl__text_library;

/* Compares bytes, for qsort() and bsearch(). Both libraries contain it, as well as
 * tkl__text_word_set_has() and core/buf. */
int tkl__text_word_compare(const void *a, const void *b);

/* The only symbol that libtackle-text.so exports. */
TKL_API const tkl__text_library *tkl__text_library_table(void);

#endif
