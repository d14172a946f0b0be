/* SPDX-License-Identifier: MIT
 *
 * Inside libtackle-text.so: what its files share.
 */
#ifndef TKL_TEXT_ICU_H
#define TKL_TEXT_ICU_H

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include "text/library.h"

struct sb_stemmer;

/* Each thread has its own break iterators and stemmer: making them costs more than most texts. */
typedef struct tkl__workshop {
    UBreakIterator *characters, *words;
    UText text; /* what they work on */
    struct sb_stemmer *stemmer;
    char language[32]; /* of the stemmer */
} tkl__workshop;

/* The calling thread's; NULL: no memory. */
tkl__workshop *tkl__workshop_get(void);

/* The iterator, set to the beginning of a text that stays in place meanwhile. NULL: ICU failed. */
UBreakIterator *tkl__iterate(UBreakIterator **iterator, UBreakIteratorType type, UText *view,
                             tkl_bytes text);

/* The simplified form of a traditional character, or the character. */
UChar32 tkl__simplified(UChar32 c);

/* The syllables of a Chinese character, the usual one first; 0: it is none. */
#define TKL__READINGS_MAX 16
size_t tkl__readings(UChar32 c, const char *syllables[TKL__READINGS_MAX]);

int tkl__icu_fold(tkl_bytes text, unsigned how, tkl__buf *out);
int tkl__icu_cut(tkl_bytes text, size_t max, size_t *len, size_t *count);
int tkl__icu_forms(tkl_bytes folded, tkl__forms *forms);
int tkl__icu_words(tkl_bytes text, const tkl__word_options *options, tkl__word_list *words);
int tkl__icu_check_stem(const char *language);

#endif
