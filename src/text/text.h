/* SPDX-License-Identifier: MIT
 *
 * Text in any language: folding, characters, words, pinyin. Private; used by recent, book, suggest,
 * search and ads.
 *
 * ICU and libstemmer are behind it, in a library of their own (libtackle-text.so) that is loaded
 * when one of these functions first needs it. Text that is pure ASCII is folded and cut without it.
 * When it cannot be loaded, the functions return TKL_EIO and say what is missing.
 *
 * Bytes that are not UTF-8 are no error: folding keeps them as they are, each broken sequence
 * counts as one character, and they separate words.
 *
 * All functions may be called by any thread.
 */
#ifndef TKL_TEXT_TEXT_H
#define TKL_TEXT_TEXT_H

#include <tackle/common.h>

#include "core/buf.h"

/* The longest text, in bytes. */
#define TKL__TEXT_MAX (64 << 20)

/* ---- Folding ------------------------------------------------------------- */

/* Case and compatibility forms are always folded (Unicode's NFKC_Casefold: "Ｓtraße" becomes
 * "strasse"). These flags add more. */
typedef enum tkl__text_folding {
    TKL__TEXT_FOLD_CASE = 0,
    TKL__TEXT_FOLD_ACCENTS =
        1, /* "müller" becomes "muller"; the vowel signs of Hindi and the like, and
                              the voicing marks of Japanese, are no accents */
    TKL__TEXT_FOLD_CHINESE = 2, /* traditional characters become simplified ones */
    TKL__TEXT_FOLD_HANGUL =
        4, /* Korean syllables become the letters that are typed for them, so that
                              "기" and "긴" are beginnings of "기니" */
} tkl__text_folding;

/* Appends the folded text. Folding twice changes nothing. The fold of a prefix that ends between
 * two characters is a prefix of the text's fold. `how`: tkl__text_folding, combined with |. */
int tkl__text_fold(tkl_bytes text, unsigned how, tkl__buf *out);

/* ---- Characters ---------------------------------------------------------- */

/* *len: number of bytes of the first `max` user-perceived characters; *count: number of these
 * characters. */
int tkl__text_cut(tkl_bytes text, size_t max, size_t *len, size_t *count);

/* ---- Pinyin -------------------------------------------------------------- */

/* The mark before each Chinese character in a form, except at its beginning. */
#define TKL__TEXT_SYLLABLE '\x1f'

/* Most forms of a text, and the number of its first code points that they cover. */
#define TKL__TEXT_FORMS_MAX   48
#define TKL__TEXT_FORMS_REACH 16

typedef struct tkl__text_form_list {
    tkl_bytes items[TKL__TEXT_FORMS_MAX];
    size_t count;
    tkl_bytes
        letters; /* how each code point may be written: "\x1f,张,zhang,\x1f,三,san,"; 1e instead
                          of 1f before what is not Chinese */
    char *store; /* owns the bytes of all forms */
} tkl__text_form_list;

/* Makes the ways to write a folded text with fewer Chinese characters: by pinyin (without tones,
 * "lv" and "lu" for lü) and by initials; with all readings where a character has several. If a text
 * has more than 16 combinations of readings, each of the first 15 unusual readings is in one form,
 * beside the usual readings of the other characters. There are also forms with up to six first
 * characters as they are and the others in pinyin ("张san", "张三feng"), with unusual readings as far
 * as there is room. The usual readings come first. No Chinese character: no forms. */
int tkl__text_forms(tkl_bytes folded, tkl__text_form_list *forms);
void tkl__text_form_list_free(tkl__text_form_list *forms); /* all zero is fine */

/* The mark before each other code point in `letters`. */
#define TKL__TEXT_OTHER '\x1e'

/* A query may mix characters, syllables and initials in any way: "zhangsf", "zsan", "zhang三". A mix
 * is one way to cut it into parts that stand for one character each. */
typedef struct tkl__text_mix_part {
    tkl_bytes bytes; /* bytes in the query */
    bool whole;      /* a whole syllable or character; false: the beginning of a syllable */
} tkl__text_mix_part;

typedef struct tkl__text_mix {
    tkl__text_mix_part parts[TKL__TEXT_FORMS_REACH];
    size_t count;
    char initials[4 * TKL__TEXT_FORMS_REACH]; /* fitting texts have a form that begins with these */
    size_t len;                               /* length of the initials */
} tkl__text_mix;

/* Most mixes: of a query with more ways to cut it, the ways with the fewest parts are used. */
#define TKL__TEXT_MIXES_MAX 16

typedef struct tkl__text_mix_list {
    tkl__text_mix items[TKL__TEXT_MIXES_MAX];
    size_t count;
} tkl__text_mix_list;

/* Finds the mixes of a folded query, except mixes that are the beginning of a form anyway. They
 * point into the query. */
int tkl__text_mixes(tkl_bytes query, tkl__text_mix_list *mixes);
/* Whether a folded text matches one of the mixes at its beginning. */
int tkl__text_fits(tkl_bytes folded, const tkl__text_mix_list *mixes, bool *fits);

/* ---- Words --------------------------------------------------------------- */

/* Words to look up. All zero is an empty set. */
typedef struct tkl__text_word_set {
    tkl_bytes *items; /* sorted, no duplicates */
    size_t count;
    size_t longest; /* bytes */
    char *store;    /* owns the bytes of the words */
} tkl__text_word_set;

/* Makes a set of these words, folded like the words of a text. Free with
 * tkl__text_word_set_free(). */
int tkl__text_word_set_make(const tkl_bytes *words, size_t count, unsigned fold,
                            tkl__text_word_set *set);
bool tkl__text_word_set_has(const tkl__text_word_set *set, tkl_bytes word);
void tkl__text_word_set_free(tkl__text_word_set *set);

/* The usual stop words of a language ("en" or "zh"), separated by spaces; NULL: no list for it. */
const char *tkl__text_stop_words(const char *language);

typedef enum tkl__text_word_kind {
    TKL__TEXT_WORD = 0,
    TKL__TEXT_BIGRAM = 1, /* two neighbours in a Chinese, Japanese or Korean run, not a word */
    TKL__TEXT_SINGLE = 2, /* a character of such a run that is not a word */
} tkl__text_word_kind;

typedef struct tkl__text_word {
    tkl_bytes text; /* folded, stemmed */
    size_t start;   /* offset in the text, in bytes */
    size_t len;
    uint32_t position; /* counts words including stop words; in such runs it counts characters */
    tkl__text_word_kind kind;
} tkl__text_word;

typedef struct tkl__text_word_list {
    tkl__text_word *items; /* sorted by position */
    size_t count;
    uint32_t positions; /* positions in the whole text: the one behind the last word */
    char *store;        /* owns the bytes of the texts */
} tkl__text_word_list;

/* All zero: folded words, nothing else. */
typedef struct tkl__text_word_options {
    unsigned fold;                  /* tkl__text_folding */
    const char *stem;               /* language, "en" or "english"; NULL: no stemming */
    const tkl__text_word_set *stop; /* words that are left out; NULL: none */
    const tkl__text_word_set
        *user;    /* Chinese words of 2 to 16 characters that the dictionary may not
                                  know; NULL: none */
    bool bigrams; /* adds all pairs of neighbours and all characters of such runs, except stop
                     words: every substring can be found */
    bool parts;   /* adds the parts of words with a dot or an underscore inside: "main.c" is also
                     "main" and "c", at the same position; not with `query` */
    bool query;   /* with `bigrams`: only the pieces that every text with this run has, whatever
                     surrounds the run there */
} tkl__text_word_options;

/* Finds the words of a text: letters and digits as Unicode separates them (UAX 29, with apostrophes
 * inside words), Chinese, Japanese and Thai by dictionary, emoji without their skin tones. ’
 * becomes '. Words whose folded form is a stop word are left out. Stemmers see accents; these are
 * removed afterwards if the options ask for it. TKL_EINVAL: no such stemmer, or the text is too
 * long. */
int tkl__text_words(tkl_bytes text, const tkl__text_word_options *options,
                    tkl__text_word_list *words);
void tkl__text_word_list_free(tkl__text_word_list *words); /* all zero is fine */

/* TKL_EINVAL: there is no stemmer for the language. */
int tkl__text_check_stem(const char *language);

#endif
