/* SPDX-License-Identifier: MIT
 *
 * Chinese characters: their readings, their simplified forms, and the forms of a text that are
 * written without them.
 *
 * The tables are made at build time from Unicode's Unihan files (tools/readings), since ICU knows
 * one reading for each character only.
 */
#include <stdlib.h>
#include <string.h>

#include <unicode/utf8.h>

#include "hanzi.inc"
#include "text/icu/icu.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    OTHERS_MAX = 15, /* most forms with unusual readings, in pinyin and in initials */
    BREAKS_MAX = 6,  /* most characters after which pinyin may follow */
};

/* ---- The tables ---------------------------------------------------------- */

/* The first index in a sorted array with a value of at least `value`. */
static size_t lower_bound(const uint32_t *values, size_t count, size_t stride, uint32_t value)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (values[middle * stride] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

UChar32 tkl__text_simplified(UChar32 c)
{
    if (c < 0x3400)
        return c;
    size_t at = lower_bound(&simplified[0][0], COUNT(simplified), 2, (uint32_t)c);
    bool found = at < COUNT(simplified) && simplified[at][0] == (uint32_t)c;
    return found ? (UChar32)simplified[at][1] : c;
}

/* The readings of a character are in the order of use; only the characters are sorted. */
size_t tkl__text_readings(UChar32 c, const char *found[TKL__TEXT_READINGS_MAX])
{
    size_t low = 0, high = COUNT(readings), count = 0;
    if (c < 0x3400)
        return 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (readings[middle] >> 11 < (uint32_t)c)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < COUNT(readings) && readings[low] >> 11 == (uint32_t)c; low++)
        if (count < TKL__TEXT_READINGS_MAX)
            found[count++] = syllables[readings[low] & 2047];
    return count;
}

/* Among the syllables with the same beginning, the shortest comes first. */
tkl__text_syllable tkl__text_syllable_of(const char *text, size_t len)
{
    size_t low = 0, high = COUNT(syllables);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strncmp(syllables[middle], text, len) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == COUNT(syllables) || strncmp(syllables[low], text, len) != 0)
        return TKL__TEXT_SYLLABLE_NONE;
    return syllables[low][len] == 0 ? TKL__TEXT_SYLLABLE_WHOLE : TKL__TEXT_SYLLABLE_BEGUN;
}

size_t tkl__text_letters(tkl_bytes text, tkl__text_letter letters[TKL__TEXT_FORMS_REACH],
                         bool *chinese)
{
    size_t count = 0;
    int32_t len = (int32_t)text.len;
    *chinese = false;
    for (int32_t at = 0; at < len && count < TKL__TEXT_FORMS_REACH;) {
        UChar32 c;
        int32_t start = at;
        U8_NEXT(text.data, at, len, c);
        tkl__text_letter *l = &letters[count++];
        l->bytes = (tkl_bytes){text.data + start, (size_t)(at - start)};
        l->count = tkl__text_readings(c, l->syllables);
        *chinese = *chinese || l->count;
    }
    return count;
}

/* ---- Forms --------------------------------------------------------------- */

typedef struct spelling {
    tkl__text_letter letters[TKL__TEXT_FORMS_REACH];
    size_t count;
    size_t kept; /* number of letters that stay as they are */
    tkl__buf store;
    size_t ends[TKL__TEXT_FORMS_MAX]; /* ends of the forms in the store */
    size_t forms;
} spelling;

/* Whether the form written from `start` on is a duplicate. */
static bool is_known(const spelling *s, size_t start)
{
    size_t from = 0;
    for (size_t i = 0; i < s->forms; from = s->ends[i++])
        if (s->ends[i] - from == s->store.len - start &&
            memcmp(s->store.data + from, s->store.data + start, s->store.len - start) == 0)
            return true;
    return false;
}

/* Returns the number of ways to write a letter; 0: it is only written as it is. */
static size_t ways(const spelling *s, size_t i)
{
    return i < s->kept ? 0 : s->letters[i].count;
}

/* Adds the form with these readings, unless it is a duplicate or there are enough forms. */
static void write_form(spelling *s, const size_t *chosen, bool initials)
{
    static const char mark = TKL__TEXT_SYLLABLE;
    size_t start = s->store.len;
    if (s->forms == TKL__TEXT_FORMS_MAX)
        return;
    for (size_t i = 0; i < s->count; i++) {
        const tkl__text_letter *l = &s->letters[i];
        if (l->count && s->store.len > start)
            tkl__buf_add(&s->store, &mark, 1);
        if (ways(s, i) == 0) {
            tkl__buf_add(&s->store, l->bytes.data, l->bytes.len);
            continue;
        }
        const char *syllable = l->syllables[chosen[i]];
        tkl__buf_add(&s->store, syllable, initials ? 1 : strlen(syllable));
    }
    if (is_known(s, start))
        s->store.len = start;
    else
        s->ends[s->forms++] = s->store.len;
}

/* Moves to the next combination of readings, like counting; false: that was the last one. */
static bool next_combination(const spelling *s, size_t *chosen)
{
    for (size_t i = s->count; i-- > 0;) {
        if (ways(s, i) && ++chosen[i] < ways(s, i))
            return true;
        chosen[i] = 0;
    }
    return false;
}

/* Whether there are at most `most` combinations of readings. */
static bool few(const spelling *s, size_t most)
{
    size_t product = 1;
    for (size_t i = 0; i < s->count && product <= most; i++)
        if (ways(s, i))
            product *= ways(s, i);
    return product <= most;
}

static void write_usual(spelling *s, bool initials)
{
    static const size_t usual[TKL__TEXT_FORMS_REACH];
    write_form(s, usual, initials);
}

/* Writes all combinations of readings; if they are too many, each other reading by itself. */
static void write_others(spelling *s, bool initials)
{
    size_t chosen[TKL__TEXT_FORMS_REACH] = {0}, most = s->forms + OTHERS_MAX;
    if (few(s, OTHERS_MAX + 1)) {
        do
            write_form(s, chosen, initials);
        while (next_combination(s, chosen));
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        for (size_t r = 1; r < ways(s, i) && s->forms < most; r++) {
            chosen[i] = r;
            write_form(s, chosen, initials);
        }
        chosen[i] = 0;
    }
}

/* The number of Chinese characters behind the first `from` letters. */
static size_t chinese_behind(const spelling *s, size_t from)
{
    size_t count = 0;
    for (size_t i = from; i < s->count; i++)
        count += s->letters[i].count > 0;
    return count;
}

/* Writes the forms for users who type the first characters and continue in pinyin. */
static void write_mixed(spelling *s, void (*write)(spelling *s, bool initials))
{
    size_t breaks = 0;
    for (size_t kept = 1; kept < s->count && breaks < BREAKS_MAX; kept++) {
        if (s->letters[kept - 1].count == 0 || chinese_behind(s, kept) == 0)
            continue;
        breaks++;
        s->kept = kept;
        write(s, false);
        if (chinese_behind(s, kept) > 1 || s->letters[s->count - 1].count == 0)
            write(s, true); /* otherwise it is a prefix of the form in pinyin */
    }
    s->kept = 0;
}

/* Writes all forms, the usual readings first: they are kept when there is no room for all forms. */
static void write_all(spelling *s)
{
    write_usual(s, false);
    write_usual(s, true);
    write_mixed(s, write_usual);
    write_others(s, false);
    write_others(s, true);
    write_mixed(s, write_others);
}

/* Writes the possible spellings of each letter. */
static void write_letters(spelling *s)
{
    static const char chinese = TKL__TEXT_SYLLABLE, other = TKL__TEXT_OTHER;
    for (size_t i = 0; i < s->count; i++) {
        const tkl__text_letter *l = &s->letters[i];
        tkl__buf_add(&s->store, l->count ? &chinese : &other, 1);
        tkl__buf_addz(&s->store, ",");
        tkl__buf_add(&s->store, l->bytes.data, l->bytes.len);
        tkl__buf_addz(&s->store, ",");
        for (size_t r = 0; r < l->count; r++)
            tkl__buf_addf(&s->store, "%s,", l->syllables[r]);
    }
}

static int give_forms(spelling *s, tkl__text_form_list *forms)
{
    size_t start = 0, letters = s->store.len;
    write_letters(s);
    if (s->store.failed)
        return TKL_ENOMEM;
    forms->store = malloc(s->store.len + 1);
    if (!forms->store)
        return TKL_ENOMEM;
    memcpy(forms->store, s->store.data, s->store.len);
    for (size_t i = 0; i < s->forms; i++) {
        forms->items[i] = (tkl_bytes){forms->store + start, s->ends[i] - start};
        start = s->ends[i];
    }
    forms->count = s->forms;
    forms->letters = (tkl_bytes){forms->store + letters, s->store.len - letters};
    return TKL_OK;
}

int tkl__text_icu_forms(tkl_bytes folded, tkl__text_form_list *forms)
{
    spelling *s = malloc(sizeof *s);
    int rc = TKL_OK;
    if (!s)
        return TKL_ENOMEM;
    bool chinese;
    s->count = tkl__text_letters(folded, s->letters, &chinese);
    s->kept = s->forms = 0;
    tkl__buf_init(&s->store);
    if (chinese) {
        write_all(s);
        rc = give_forms(s, forms);
    }
    tkl__buf_free(&s->store);
    free(s);
    return rc;
}
