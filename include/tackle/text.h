/* SPDX-License-Identifier: MIT
 *
 * Text in every language: folding, words, pinyin, and scores for sorted sets. Components treat text
 * this way, and programs can do the same; docs/text.md explains it.
 *
 *     tkl_text_words *words;
 *     tkl_text_rules rules = {.accents = true, .stem = "en", .usual_stop_words = true};
 *     if (tkl_text_words_find(tkl_str("The cafés were closing"), &rules, &words) == TKL_OK)
 *         for (size_t i = 0; i < words->count; i++)
 *             printf(TKL_FMT "\n", TKL_ARG(words->items[i].text));     // cafe, close
 *     tkl_text_words_free(words);
 *
 * Scores are for texts in sorted sets, in the order of the texts:
 *
 *     double low, high;
 *     zadd("titles", tkl_text_score(tkl_str("Moby Dick")), "Moby Dick");
 *     tkl_text_score_range(tkl_str("Mo"), &low, &high);     // all titles that begin with "Mo"
 *
 * A sorted set orders its members by a double, which has room for six bytes and one bit; the bit
 * says that the text is longer. A text that comes first by its bytes has the smaller score, or the
 * same. Each text of up to six bytes has its own score; longer texts that begin with the same six
 * bytes share a score, and must be compared themselves.
 *
 * Texts are any bytes; UTF-8 is in the order of its code points. For an order that ignores case,
 * fold the texts first.
 *
 * Threads, fork: no restrictions. No call talks to a server. Texts that are not pure ASCII, and
 * words, need libtackle-text.so, which is loaded then; TKL_EIO: it cannot be loaded.
 */
#ifndef TACKLE_TEXT_H
#define TACKLE_TEXT_H

#include <tackle/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How texts are folded and cut. Case and compatibility forms are always folded. */
typedef struct tkl_text_rules {
    bool accents;          /* "müller" becomes "muller" */
    bool chinese;          /* traditional characters become simplified ones */
    bool hangul;           /* Korean syllables become the letters that are typed for them */
    bool usual_stop_words; /* words: leaves out the usual stop words of English and Chinese */
    bool pieces;           /* words: adds all characters of Chinese, Japanese and Korean, and all
                                pairs of neighbours, so that every part of a text is found */
    const char *stem;      /* words: language, "en"; NULL: no stemming */
    tkl_bytes stop_words;  /* words: others that are left out, separated by blanks */
    TKL_RESERVED(8);
} tkl_text_rules;

/* Folds texts: texts that readers take for the same become the same bytes. *folded: the folded
 * texts, in the same order. `rules` may be NULL. TKL_EINVAL: a text of more than 64 MB. */
TKL_API int tkl_text_fold(const tkl_bytes *texts, size_t count, const tkl_text_rules *rules,
                          tkl_names **folded) TKL_NONNULL(4) TKL_CHECK;

typedef enum tkl_text_word_kind {
    TKL_TEXT_WORD = 0,
    TKL_TEXT_PAIR = 1,      /* `pieces`: two neighbours in a Chinese, Japanese or Korean run */
    TKL_TEXT_CHARACTER = 2, /* `pieces`: a character of such a run that is not a word */
} tkl_text_word_kind;

TKL_API const char *tkl_text_word_kind_name(tkl_text_word_kind kind); /* "word" */

typedef struct tkl_text_word {
    tkl_bytes text;    /* folded, stemmed */
    size_t start;      /* where it is in the text, in bytes */
    size_t len;        /* how long it is in the text, in bytes */
    uint32_t position; /* counts words, stop words included; in Chinese runs, characters */
    tkl_text_word_kind kind;
    TKL_RESERVED(2);
} tkl_text_word;

typedef struct tkl_text_words {
    const tkl_text_word *items; /* sorted by position */
    size_t count;
    TKL_RESERVED(4);
} tkl_text_words;

/* Finds the words of a text, as search does. `rules` may be NULL. TKL_EINVAL: there is no stemmer
 * for the language, or the text has more than 64 MB. */
TKL_API int tkl_text_words_find(tkl_bytes text, const tkl_text_rules *rules, tkl_text_words **words)
    TKL_NONNULL(3) TKL_CHECK;
TKL_API void tkl_text_words_free(tkl_text_words *words); /* NULL is fine */

/* The ways to write a Chinese text in pinyin: "zhangsan", "zs", "张san", the usual readings first;
 * none for a text without Chinese characters. At most 48, of the first 16 code points. */
TKL_API int tkl_text_pinyin(tkl_bytes text, tkl_names **forms) TKL_NONNULL(2) TKL_CHECK;

/* The score of a text: a whole number from 0 (the empty text) to below 2^50, which a double holds
 * exactly. */
TKL_API double tkl_text_score(tkl_bytes text);

/* The lowest and the highest score of texts that begin with `prefix`. For a prefix of more than six
 * bytes, other texts that share its first six bytes have these scores, too. */
TKL_API void tkl_text_score_range(tkl_bytes prefix, double *low, double *high) TKL_NONNULL(2, 3);

#ifdef __cplusplus
}
#endif
#endif
