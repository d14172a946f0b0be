/* SPDX-License-Identifier: MIT
 *
 * The words of a text.
 *
 * ICU finds the words: by rules, and in Chinese, Japanese, Thai and the like by dictionary. The
 * dictionary's words are a guess, so a run of Chinese, Japanese or Korean text also gives, if the
 * caller asks for it, each character, each pair of neighbours, and the user's words. In such a run
 * every character has its own position, elsewhere every word: a phrase is a row of positions either
 * way.
 *
 * The dictionary cuts a run differently depending on the text around it. So the run of a query only
 * gives pieces that do not depend on that text: its character if it is a single one, the user's
 * word if it is one, else its pairs.
 */
#include <stdlib.h>
#include <string.h>

#include <libstemmer.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include "text/icu/icu.h"

/* Most characters of a user's word; longer ones are not looked up. */
#define USER_WORD_MAX 16

/* Words under construction; their texts are offsets into the store until that is complete. */
typedef struct harvest {
    const tkl__text_word_options *options;
    tkl_bytes text;
    struct sb_stemmer *stemmer; /* NULL: none */
    tkl__text_word *items;
    size_t *offsets;
    size_t count, cap;
    tkl__buf store;
    uint32_t position;
    bool failed;
    size_t run;    /* index in `marks` of the first character of the run */
    size_t *marks; /* beginnings of the characters of the run, and the end of the last one */
    size_t nmarks, cap_marks;
    size_t run_word;    /* index of the first item of the run */
    uint32_t run_start; /* position of the run's first character */
} harvest;

/* ---- Growing ------------------------------------------------------------- */

static bool grow_items(harvest *h)
{
    if (h->count < h->cap)
        return true;
    size_t cap = h->cap ? h->cap * 2 : 64;
    tkl__text_word *items = realloc(h->items, cap * sizeof *items);
    if (items)
        h->items = items;
    size_t *offsets = items ? realloc(h->offsets, cap * sizeof *offsets) : NULL;
    if (offsets)
        h->offsets = offsets;
    h->failed = h->failed || !offsets;
    if (offsets)
        h->cap = cap;
    return offsets != NULL;
}

static void add_mark(harvest *h, size_t at)
{
    if (h->nmarks == h->cap_marks) {
        size_t cap = h->cap_marks ? h->cap_marks * 2 : 64;
        size_t *marks = realloc(h->marks, cap * sizeof *marks);
        if (!marks) {
            h->failed = true;
            return;
        }
        h->marks = marks;
        h->cap_marks = cap;
    }
    h->marks[h->nmarks++] = at;
}

/* ---- One word ------------------------------------------------------------ */

/* The bytes of a skin tone (U+1F3FB to U+1F3FF) without the last one. */
#define SKIN_TONE "\xf0\x9f\x8f"

static bool is_skin_tone(const char *at, const char *end)
{
    return end - at >= 4 && memcmp(at, SKIN_TONE, 3) == 0 && (unsigned char)at[3] >= 0xbb;
}

/* Whether the bytes are the variation selector of an emoji, U+FE0F: ❤️ has one, ❤ has none. */
static bool is_selector(const char *at, const char *end)
{
    return end - at >= 3 && memcmp(at, "\xef\xb8\x8f", 3) == 0;
}

/* Replaces ’ by ', and removes the skin tone and the variation selectors of an emoji; in place,
 * because the text only shrinks. */
static void simplify(tkl__buf *store, size_t start)
{
    char *first = store->data + start, *to = first;
    const char *from = to, *end = store->data + store->len;
    while (from < end) {
        if (end - from >= 3 && memcmp(from, "\xe2\x80\x99", 3) == 0) {
            *to++ = '\'';
            from += 3;
        } else if (to > first && is_skin_tone(from, end)) {
            from += 4;
        } else if (to > first && is_selector(from, end)) {
            from += 3;
        } else {
            *to++ = *from++;
        }
    }
    store->len = (size_t)(to - store->data);
}

/* Appends the folded source. */
static int fold_plain(harvest *h, tkl_bytes source, unsigned how)
{
    size_t start = h->store.len;
    int rc = tkl__text_icu_fold(source, how, &h->store);
    simplify(&h->store, start);
    return rc;
}

/* Replaces the folded text behind `start` by its stem. The text still has its accents. */
static int stem(harvest *h, size_t start, tkl_bytes source)
{
    unsigned how = h->options->fold;
    h->store.len = start;
    int rc = fold_plain(h, source, how & ~(unsigned)TKL__TEXT_FOLD_ACCENTS);
    if (rc != TKL_OK)
        return rc;
    const sb_symbol *word = (const sb_symbol *)h->store.data + start;
    const sb_symbol *stemmed = sb_stemmer_stem(h->stemmer, word, (int)(h->store.len - start));
    if (!stemmed)
        return TKL_ENOMEM;
    h->store.len = start;
    tkl_bytes result = {(const char *)stemmed, (size_t)sb_stemmer_length(h->stemmer)};
    return tkl__text_icu_fold(result, how, &h->store);
}

/* Adds the word at [start, end) of the text, unless it is a stop word. */
static int add_word(harvest *h, size_t start, size_t end, uint32_t position,
                    tkl__text_word_kind kind)
{
    const tkl__text_word_options *o = h->options;
    tkl_bytes source = {h->text.data + start, end - start};
    size_t offset = h->store.len;
    if (!grow_items(h))
        return TKL_ENOMEM;
    int rc = fold_plain(h, source, o->fold);
    tkl_bytes folded = {h->store.data + offset, h->store.len - offset};
    bool stop = kind != TKL__TEXT_BIGRAM && o->stop && tkl__text_word_set_has(o->stop, folded);
    if (rc == TKL_OK && !stop && h->stemmer && kind == TKL__TEXT_WORD)
        rc = stem(h, offset, source);
    if (rc != TKL_OK || stop || h->store.len == offset) { /* folding may remove everything */
        h->store.len = offset;
        return rc;
    }
    h->offsets[h->count] = offset;
    h->items[h->count++] = (tkl__text_word){.text = {NULL, h->store.len - offset},
                                            .start = start,
                                            .len = end - start,
                                            .position = position,
                                            .kind = kind};
    return TKL_OK;
}

/* ---- Runs of Chinese, Japanese, Korean ----------------------------------- */

/* Whether the run has produced this piece already. */
static bool has_piece(const harvest *h, size_t start, size_t end)
{
    for (size_t i = h->count; i-- > h->run_word && h->items[i].start + 64 * 4 > start;)
        if (h->items[i].start == start && h->items[i].len == end - start)
            return true;
    return false;
}

static int add_piece(harvest *h, size_t first, size_t characters, tkl__text_word_kind kind)
{
    size_t start = h->marks[first], end = h->marks[first + characters];
    uint32_t position = h->run_start + (uint32_t)first;
    if (has_piece(h, start, end))
        return TKL_OK;
    return add_word(h, start, end, position, kind);
}

/* Whether these characters of the run are a word of the set. */
static int look_up(harvest *h, const tkl__text_word_set *set, size_t first, size_t characters,
                   bool *found)
{
    size_t offset = h->store.len, start = h->marks[first];
    tkl_bytes source = {h->text.data + start, h->marks[first + characters] - start};
    *found = false;
    if (!set || !set->count)
        return TKL_OK;
    int rc = fold_plain(h, source, h->options->fold);
    if (rc == TKL_OK)
        *found =
            tkl__text_word_set_has(set, (tkl_bytes){h->store.data + offset, h->store.len - offset});
    h->store.len = offset;
    return rc;
}

/* Adds the user's words that begin at this character. */
static int add_user_words(harvest *h, size_t first)
{
    size_t left = h->nmarks - 1 - first, most = left < USER_WORD_MAX ? left : USER_WORD_MAX;
    int rc = TKL_OK;
    for (size_t n = 2; rc == TKL_OK && n <= most; n++) {
        bool known;
        rc = look_up(h, h->options->user, first, n, &known);
        if (rc == TKL_OK && known)
            rc = add_piece(h, first, n, TKL__TEXT_WORD);
    }
    return rc;
}

/* Adds the pieces of a text that are not words of the dictionary. */
static int add_pieces(harvest *h, size_t characters)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < characters; i++) {
        if (h->options->user && h->options->user->count)
            rc = add_user_words(h, i);
        if (rc == TKL_OK && h->options->bigrams)
            rc = add_piece(h, i, 1, TKL__TEXT_SINGLE);
        if (rc == TKL_OK && h->options->bigrams && i + 1 < characters)
            rc = add_piece(h, i, 2, TKL__TEXT_BIGRAM);
    }
    return rc;
}

/* Adds the pieces of a query that every text with this run has. */
static int add_sure_pieces(harvest *h, size_t characters)
{
    bool stop, known = false;
    int rc = look_up(h, h->options->stop, 0, characters, &stop);
    if (rc == TKL_OK && characters <= USER_WORD_MAX)
        rc = look_up(h, h->options->user, 0, characters, &known);
    if (rc != TKL_OK || stop)
        return rc;
    if (characters == 1 || known)
        return add_piece(h, 0, characters, characters == 1 ? TKL__TEXT_SINGLE : TKL__TEXT_WORD);
    for (size_t i = 0; rc == TKL_OK && i + 1 < characters; i++)
        rc = add_piece(h, i, 2, TKL__TEXT_BIGRAM);
    return rc;
}

static bool only_sure_pieces(const harvest *h)
{
    return h->options->query && h->options->bigrams;
}

static int end_run(harvest *h)
{
    int rc = TKL_OK;
    size_t characters = h->nmarks ? h->nmarks - 1 : 0;
    if (characters)
        rc = only_sure_pieces(h) ? add_sure_pieces(h, characters) : add_pieces(h, characters);
    h->nmarks = 0;
    return h->failed ? TKL_ENOMEM : rc;
}

/* Whether a code point belongs to the previous character: marks, and the later letters of a Korean
 * syllable that is spelled letter by letter. */
static bool continues_character(UChar32 c)
{
    switch (u_getIntPropertyValue(c, UCHAR_GRAPHEME_CLUSTER_BREAK)) {
    case U_GCB_EXTEND:
    case U_GCB_SPACING_MARK:
    case U_GCB_V:
    case U_GCB_T:
    case U_GCB_ZWJ:
        return true;
    default:
        return false;
    }
}

/* Marks the end of each character. */
static void add_characters(harvest *h, size_t start, size_t end)
{
    UChar32 c;
    for (int32_t at = (int32_t)start, next = at; at < (int32_t)end; at = next) {
        U8_NEXT((const uint8_t *)h->text.data, next, (int32_t)end, c);
        if (at > (int32_t)start && continues_character(c)) {
            h->marks[h->nmarks - 1] = (size_t)next;
            continue;
        }
        add_mark(h, (size_t)next);
        h->position++;
    }
}

/* Adds a word of a run, with its characters. */
static int add_run_word(harvest *h, size_t start, size_t end)
{
    if (h->nmarks && h->marks[h->nmarks - 1] != start) {
        int rc = end_run(h);
        if (rc != TKL_OK)
            return rc;
    }
    if (h->nmarks == 0) {
        add_mark(h, start);
        h->run_word = h->count;
        h->run_start = h->position;
    }
    uint32_t position = h->position;
    add_characters(h, start, end);
    if (h->failed)
        return TKL_ENOMEM;
    return only_sure_pieces(h) ? TKL_OK : add_word(h, start, end, position, TKL__TEXT_WORD);
}

/* ---- All words ----------------------------------------------------------- */

static bool is_korean(UChar32 c)
{
    UErrorCode status = U_ZERO_ERROR;
    return c >= 0x1100 && uscript_getScript(c, &status) == USCRIPT_HANGUL;
}

static bool is_in_run(UChar32 c)
{
    UErrorCode status = U_ZERO_ERROR;
    UScriptCode script = uscript_getScript(c, &status);
    return script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ||
           script == USCRIPT_HANGUL || c == 0x30FC; /* the long vowel */
}

/* Whether a byte joins two parts of a word, as in main.c and snake_case. */
static bool is_joint(char c)
{
    return c == '.' || c == '_';
}

/* Adds the parts of a word that has joints inside; numbers such as 3.14 have none. */
static int add_joined_parts(harvest *h, size_t start, size_t end, uint32_t position)
{
    const char *text = h->text.data;
    bool joined = false, number = true;
    int rc = TKL_OK;
    for (size_t i = start; i < end; i++) {
        joined = joined || is_joint(text[i]);
        number = number && (is_joint(text[i]) || (text[i] >= '0' && text[i] <= '9'));
    }
    for (size_t from = start; joined && !number && rc == TKL_OK && from < end;) {
        size_t to = from;
        while (to < end && !is_joint(text[to]))
            to++;
        if (to > from && to - from < end - start)
            rc = add_word(h, from, to, position, TKL__TEXT_WORD);
        from = to + 1;
    }
    return rc;
}

static int add_part(harvest *h, size_t start, size_t end)
{
    UChar32 c;
    U8_GET((const uint8_t *)h->text.data, 0, (int32_t)start, (int32_t)h->text.len, c);
    if (is_in_run(c))
        return add_run_word(h, start, end);
    uint32_t position = h->position;
    int rc = end_run(h);
    if (rc == TKL_OK)
        rc = add_word(h, start, end, h->position++, TKL__TEXT_WORD);
    if (rc == TKL_OK && h->options->parts && !h->options->query)
        rc = add_joined_parts(h, start, end, position);
    return rc;
}

/* The position where Korean letters begin or end. */
static size_t end_of_script(const harvest *h, size_t start, size_t end)
{
    UChar32 c;
    int32_t at = (int32_t)start;
    U8_NEXT((const uint8_t *)h->text.data, at, (int32_t)end, c);
    bool korean = is_korean(c);
    for (int32_t next = at; at < (int32_t)end; at = next) {
        U8_NEXT((const uint8_t *)h->text.data, next, (int32_t)end, c);
        if (is_korean(c) != korean && !continues_character(c))
            break;
    }
    return (size_t)at;
}

/* Whether a segment begins with an emoji: one that is shown in colour by itself, one with a
 * variation selector, or a symbol such as ❤ that is the same emoji without it. © and ↔ need the
 * selector. */
static bool is_emoji(const harvest *h, size_t start, size_t end)
{
    UChar32 c, next = 0;
    int32_t at = (int32_t)start;
    U8_NEXT((const uint8_t *)h->text.data, at, (int32_t)end, c);
    if (c < 0 || u_hasBinaryProperty(c, UCHAR_EMOJI_PRESENTATION))
        return c >= 0;
    if (at < (int32_t)end)
        U8_NEXT((const uint8_t *)h->text.data, at, (int32_t)end, next);
    return u_hasBinaryProperty(c, UCHAR_EMOJI) &&
           u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) && (next == 0xfe0f || c >= 0x2600);
}

/* Adds a segment: a word, or the space between words. ICU's rules make "API를" one word, but Korean
 * is handled as a run like Chinese: the ending of a word depends on its place in the sentence. */
static int add_segment(harvest *h, size_t start, size_t end, int32_t status)
{
    UChar32 c;
    U8_GET((const uint8_t *)h->text.data, 0, (int32_t)start, (int32_t)h->text.len, c);
    if (c < 0 || (status < UBRK_WORD_NONE_LIMIT && !is_emoji(h, start, end)))
        return TKL_OK;
    int rc = TKL_OK;
    while (rc == TKL_OK && start < end) {
        size_t stop = end_of_script(h, start, end);
        rc = add_part(h, start, stop);
        start = stop;
    }
    return rc;
}

static int by_position(const void *a, const void *b)
{
    const tkl__text_word *x = a, *y = b;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->kind != y->kind)
        return (int)x->kind - (int)y->kind;
    return x->len != y->len ? (x->len > y->len) - (x->len < y->len)
                            : (x->start > y->start) - (x->start < y->start);
}

static int give_words(harvest *h, tkl__text_word_list *words)
{
    words->store = malloc(h->store.len + 1);
    if (h->store.failed || !words->store)
        return TKL_ENOMEM;
    memcpy(words->store, h->store.data, h->store.len);
    for (size_t i = 0; i < h->count; i++)
        h->items[i].text.data = words->store + h->offsets[i];
    if (h->count)
        qsort(h->items, h->count, sizeof *h->items, by_position);
    words->items = h->items;
    words->count = h->count;
    words->positions = h->position;
    h->items = NULL;
    return TKL_OK;
}

static int walk_segments(harvest *h, UBreakIterator *it)
{
    int rc = TKL_OK;
    int32_t start = 0, end;
    while (rc == TKL_OK && (end = ubrk_next(it)) != UBRK_DONE) {
        rc = add_segment(h, (size_t)start, (size_t)end, ubrk_getRuleStatus(it));
        start = end;
    }
    return rc == TKL_OK ? end_run(h) : rc;
}

/* ---- Stemming ------------------------------------------------------------ */

static struct sb_stemmer *stemmer_of(tkl__text_workshop *shop, const char *language)
{
    size_t len = strlen(language);
    if (len >= sizeof shop->language)
        return NULL;
    if (shop->stemmer && strcmp(shop->language, language) == 0)
        return shop->stemmer;
    struct sb_stemmer *stemmer = sb_stemmer_new(language, "UTF_8");
    if (!stemmer)
        return NULL;
    sb_stemmer_delete(shop->stemmer);
    shop->stemmer = stemmer;
    memcpy(shop->language, language, len + 1);
    return stemmer;
}

int tkl__text_icu_check_stem(const char *language)
{
    tkl__text_workshop *shop = tkl__text_workshop_get();
    return shop && stemmer_of(shop, language) ? TKL_OK : TKL_EINVAL;
}

int tkl__text_icu_words(tkl_bytes text, const tkl__text_word_options *options,
                        tkl__text_word_list *words)
{
    tkl__text_workshop *shop = tkl__text_workshop_get();
    harvest h = {.options = options, .text = text};
    if (!shop)
        return TKL_ENOMEM;
    if (options->stem && !(h.stemmer = stemmer_of(shop, options->stem)))
        return TKL_EINVAL;
    UBreakIterator *it = tkl__text_iterate(&shop->words, UBRK_WORD, &shop->text, text);
    if (!it)
        return TKL_EBUG;
    tkl__buf_init(&h.store);
    int rc = walk_segments(&h, it);
    if (rc == TKL_OK)
        rc = give_words(&h, words);
    tkl__buf_free(&h.store);
    free(h.items);
    free(h.offsets);
    free(h.marks);
    return rc;
}
