/* SPDX-License-Identifier: MIT
 *
 * Queries that mix characters, pinyin and initials.
 *
 * A query is cut into parts that stand for one character each. "zhangsf" may be zhang-s-f, but also
 * zhan-g-s-f or z-hang-s-f. All cuts are tried, cuts with few parts first: a user most likely means
 * one of these.
 */
#include <stdlib.h>
#include <string.h>

#include <unicode/utf8.h>

#include "text/icu/icu.h"

enum {
    QUERY_MAX =
        6 * TKL__TEXT_FORMS_REACH, /* most bytes of a query that can fit; a syllable has up to six
                                      */
    CHOICES_MAX = 8,               /* most choices for one part: lengths of letters, initials of a
                                      character */
    STEPS_MAX = 2000,              /* most steps of the search for cuts */
    NEVER = TKL__TEXT_FORMS_REACH + 1, /* number of parts: more than possible */
};

/* One possible next part of the query. */
typedef struct choice {
    tkl_bytes bytes;
    tkl_bytes initial;
    bool whole;
    bool chinese;          /* a character */
    bool syllable, single; /* certainly part of a form in pinyin, or in initials */
} choice;

typedef struct cutter {
    tkl_bytes query;
    choice choices[QUERY_MAX][CHOICES_MAX]; /* for each position */
    size_t counts[QUERY_MAX];               /* number of choices */
    size_t least[QUERY_MAX + 1];            /* fewest parts from here to the end */
    choice path[TKL__TEXT_FORMS_REACH];
    size_t steps;
    tkl__text_mix_list *mixes;
} cutter;

/* ---- Choices ------------------------------------------------------------- */

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static size_t letters_at(tkl_bytes query, size_t at)
{
    size_t n = 0;
    while (at + n < query.len && n < 6 && is_letter(query.data[at + n]))
        n++;
    return n;
}

/* Letters may be a syllable, an initial (including zh, ch and sh), or themselves; at the end of the
 * query also the beginning of a syllable. */
static bool choose_letters(tkl_bytes query, size_t at, size_t len, choice *c)
{
    const char *text = query.data + at;
    bool last = at + len == query.len;
    tkl__text_syllable kind = tkl__text_syllable_of(text, len);
    bool initial = len == 1 || (len == 2 && text[1] == 'h' && kind == TKL__TEXT_SYLLABLE_BEGUN);
    if (!initial && kind == TKL__TEXT_SYLLABLE_NONE)
        return false;
    if (!initial && !last && kind != TKL__TEXT_SYLLABLE_WHOLE)
        return false;
    *c = (choice){.bytes = {text, len},
                  .initial = {text, 1},
                  .whole = !last && !initial,
                  .syllable = last ? kind != TKL__TEXT_SYLLABLE_NONE : !initial,
                  .single = len == 1};
    return true;
}

/* A character stands for itself; forms that fit begin with one of its initials. */
static size_t choose_character(const tkl__text_letter *letter, choice choices[CHOICES_MAX])
{
    size_t count = 0;
    for (size_t r = 0; r < letter->count && count < CHOICES_MAX; r++) {
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known = known || choices[i].initial.data[0] == letter->syllables[r][0];
        if (!known)
            choices[count++] = (choice){.bytes = letter->bytes,
                                        .initial = {letter->syllables[r], 1},
                                        .whole = true,
                                        .chinese = true};
    }
    return count;
}

/* The possible next parts at a position, the longest first. */
static size_t choices_at(tkl_bytes query, size_t at, choice choices[CHOICES_MAX])
{
    size_t count = 0;
    for (size_t len = letters_at(query, at); len > 0; len--)
        count += choose_letters(query, at, len, &choices[count]);
    if (count)
        return count;
    tkl__text_letter letter = {.count = 0};
    int32_t end = (int32_t)at;
    UChar32 c;
    U8_NEXT(query.data, end, (int32_t)query.len, c);
    letter.bytes = (tkl_bytes){query.data + at, (size_t)end - at};
    letter.count = tkl__text_readings(c, letter.syllables);
    if (letter.count)
        return choose_character(&letter, choices);
    choices[0] = (choice){.bytes = letter.bytes,
                          .initial = letter.bytes,
                          .whole = true,
                          .syllable = true,
                          .single = true};
    return 1;
}

/* ---- Cuts ---------------------------------------------------------------- */

static void find_least(cutter *c)
{
    c->least[c->query.len] = 0;
    for (size_t at = c->query.len; at-- > 0;) {
        c->least[at] = NEVER;
        c->counts[at] = choices_at(c->query, at, c->choices[at]);
        for (size_t i = 0; i < c->counts[at]; i++) {
            size_t behind = c->least[at + c->choices[at][i].bytes.len];
            if (behind + 1 < c->least[at])
                c->least[at] = behind + 1;
        }
    }
}

/* Whether texts that fit have a form that begins with the query: characters, followed by syllables
 * only or by initials only. */
static bool is_form(const choice *path, size_t count)
{
    bool syllables = true, singles = true;
    size_t i = 0;
    while (i < count && path[i].chinese)
        i++;
    for (; i < count; i++) {
        syllables = syllables && path[i].syllable;
        singles = singles && path[i].single;
    }
    return syllables || singles;
}

/* "zhao" is 赵 and not z-hao, 张浩: letters that begin a syllable are not read as initials. Otherwise
 * all texts that begin with the syllable would be candidates. "li安" can only be 李安, although its
 * initials are "la"; and hm and hng are syllables that nobody means. */
static bool is_misread(const tkl__text_mix *mix, const choice *path)
{
    for (size_t i = 0; i < mix->count; i++)
        if (path[i].chinese)
            return false;
    bool sounds = mix->len > 1 && mix->initials[1] == 'h'; /* zh, ch, sh */
    for (size_t i = 0; i < mix->len; i++)
        sounds = sounds || memchr("aeiouv", mix->initials[i], 6);
    return sounds && tkl__text_syllable_of(mix->initials, mix->len) != TKL__TEXT_SYLLABLE_NONE;
}

static void keep_mix(cutter *c, size_t count)
{
    if (is_form(c->path, count))
        return;
    tkl__text_mix *mix = &c->mixes->items[c->mixes->count];
    *mix = (tkl__text_mix){.count = count};
    for (size_t i = 0; i < count; i++) {
        mix->parts[i] = (tkl__text_mix_part){.bytes = c->path[i].bytes, .whole = c->path[i].whole};
        memcpy(mix->initials + mix->len, c->path[i].initial.data, c->path[i].initial.len);
        mix->len += c->path[i].initial.len;
    }
    c->mixes->count += !is_misread(mix, c->path);
}

/* Tries all cuts of the rest into exactly `parts` parts; `done` parts are fixed. */
static void cut_rest(cutter *c, size_t at, size_t done, size_t parts)
{
    if (c->mixes->count == TKL__TEXT_MIXES_MAX || ++c->steps > STEPS_MAX)
        return;
    if (at == c->query.len) {
        if (parts == 0)
            keep_mix(c, done);
        return;
    }
    for (size_t i = 0; i < c->counts[at]; i++) {
        const choice *next = &c->choices[at][i];
        if (parts > c->least[at + next->bytes.len]) {
            c->path[done] = *next;
            cut_rest(c, at + next->bytes.len, done + 1, parts - 1);
        }
    }
}

int tkl__text_icu_mixes(tkl_bytes query, tkl__text_mix_list *mixes)
{
    mixes->count = 0;
    if (query.len > QUERY_MAX)
        return TKL_OK;
    cutter *c = malloc(sizeof *c);
    if (!c)
        return TKL_ENOMEM;
    c->query = query;
    c->mixes = mixes;
    c->steps = 0;
    find_least(c);
    for (size_t parts = c->least[0]; parts <= TKL__TEXT_FORMS_REACH; parts++)
        cut_rest(c, 0, 0, parts);
    free(c);
    return TKL_OK;
}

/* ---- Comparing ----------------------------------------------------------- */

static bool is_equal(tkl_bytes a, tkl_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static bool part_fits(const tkl__text_mix_part *part, const tkl__text_letter *letter)
{
    bool fits = is_equal(part->bytes, letter->bytes);
    for (size_t r = 0; r < letter->count && !fits; r++)
        fits = strncmp(letter->syllables[r], part->bytes.data, part->bytes.len) == 0 &&
               (!part->whole || letter->syllables[r][part->bytes.len] == 0);
    return fits;
}

int tkl__text_icu_fits(tkl_bytes folded, const tkl__text_mix_list *mixes, bool *fits)
{
    tkl__text_letter letters[TKL__TEXT_FORMS_REACH];
    size_t count = tkl__text_letters(folded, letters, fits);
    bool chinese = *fits;
    *fits = false;
    for (size_t m = 0; chinese && m < mixes->count && !*fits; m++) {
        const tkl__text_mix *mix = &mixes->items[m];
        bool all = mix->count <= count;
        for (size_t i = 0; all && i < mix->count; i++)
            all = part_fits(&mix->parts[i], &letters[i]);
        *fits = all;
    }
    return TKL_OK;
}
