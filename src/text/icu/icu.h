/* SPDX-License-Identifier: MIT
 *
 * The private header of libtackle-text.so: what its files share.
 */
#ifndef TKL_TEXT_ICU_H
#define TKL_TEXT_ICU_H

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include "text/library.h"

struct sb_stemmer;

/* Each thread has its own break iterators and stemmer: making them takes longer than most texts. */
typedef struct tkl__text_workshop {
    UBreakIterator *characters, *words;
    UText text; /* the text that they work on */
    struct sb_stemmer *stemmer;
    char language[32]; /* language of the stemmer */
} tkl__text_workshop;

/* The workshop of the calling thread; NULL: out of memory. */
tkl__text_workshop *tkl__text_workshop_get(void);

/* Returns the iterator, at the beginning of the text, which must stay in place while the iterator
 * is used. NULL: ICU failed. */
UBreakIterator *tkl__text_iterate(UBreakIterator **iterator, UBreakIteratorType type, UText *view,
                                  tkl_bytes text);

/* The simplified form of a traditional character; any other character is returned unchanged. */
UChar32 tkl__text_simplified(UChar32 c);

/* The syllables of a Chinese character, the usual one first; 0: not a Chinese character. */
#define TKL__TEXT_READINGS_MAX 16
size_t tkl__text_readings(UChar32 c, const char *syllables[TKL__TEXT_READINGS_MAX]);

/* Tells whether the first `len` bytes of a text are nothing, the beginning of a syllable or a
 * syllable. */
typedef enum tkl__text_syllable {
    TKL__TEXT_SYLLABLE_NONE = 0,
    TKL__TEXT_SYLLABLE_BEGUN = 1, /* the beginning of a syllable */
    TKL__TEXT_SYLLABLE_WHOLE = 2, /* a syllable */
} tkl__text_syllable;

tkl__text_syllable tkl__text_syllable_of(const char *text, size_t len);

/* A code point of a text: its bytes, and the ways to write it. */
typedef struct tkl__text_letter {
    tkl_bytes bytes;
    const char *syllables[TKL__TEXT_READINGS_MAX];
    size_t count; /* 0: not Chinese */
} tkl__text_letter;

/* Reads the first letters of a text. *chinese: one of them is Chinese. Returns their number. */
size_t tkl__text_letters(tkl_bytes text, tkl__text_letter letters[TKL__TEXT_FORMS_REACH],
                         bool *chinese);

int tkl__text_icu_fold(tkl_bytes text, unsigned how, tkl__buf *out);
int tkl__text_icu_cut(tkl_bytes text, size_t max, size_t *len, size_t *count);
int tkl__text_icu_forms(tkl_bytes folded, tkl__text_form_list *forms);
int tkl__text_icu_mixes(tkl_bytes query, tkl__text_mix_list *mixes);
int tkl__text_icu_fits(tkl_bytes folded, const tkl__text_mix_list *mixes, bool *fits);
int tkl__text_icu_words(tkl_bytes text, const tkl__text_word_options *options,
                        tkl__text_word_list *words);
int tkl__text_icu_check_stem(const char *language);

#endif
