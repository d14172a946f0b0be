/* SPDX-License-Identifier: MIT
 *
 * Folding and user-perceived characters.
 *
 * ICU normalises UTF-16: runs of valid UTF-8 are converted, normalised and converted back; broken
 * sequences between them are copied.
 */
#include <stdlib.h>
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include "text/icu/icu.h"

/* UTF-16 text that starts on the stack. */
typedef struct units {
    UChar *data;
    int32_t len, cap;
    UChar small[256];
} units;

static void units_init(units *u)
{
    u->data = u->small;
    u->len = 0;
    u->cap = 256;
}

static void units_free(units *u)
{
    if (u->data != u->small)
        free(u->data);
}

/* Empties it and reserves room. */
static bool units_room(units *u, int32_t cap)
{
    u->len = 0;
    if (cap <= u->cap)
        return true;
    UChar *data = malloc((size_t)cap * sizeof *data);
    if (!data)
        return false;
    units_free(u);
    u->data = data;
    u->cap = cap;
    return true;
}

/* ---- Steps --------------------------------------------------------------- */

static int from_utf8(tkl_bytes text, units *out)
{
    UErrorCode status = U_ZERO_ERROR;
    if (!units_room(out, (int32_t)text.len))
        return TKL_ENOMEM;
    u_strFromUTF8(out->data, out->cap, &out->len, text.data, (int32_t)text.len, &status);
    return U_SUCCESS(status) ? TKL_OK : TKL_EBUG;
}

static int to_utf8(const units *in, tkl__buf *out)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t most = in->len * 3, len = 0;
    char *to = tkl__buf_reserve(out, (size_t)most + 1);
    if (!to)
        return TKL_ENOMEM;
    u_strToUTF8(to, most + 1, &len, in->data, in->len, &status);
    out->len += (size_t)len;
    return U_SUCCESS(status) ? TKL_OK : TKL_EBUG;
}

static int normalize(const UNormalizer2 *form, const units *in, units *out)
{
    UErrorCode status = U_ZERO_ERROR;
    if (!units_room(out, in->len + 16))
        return TKL_ENOMEM;
    out->len = unorm2_normalize(form, in->data, in->len, out->data, out->cap, &status);
    if (status != U_BUFFER_OVERFLOW_ERROR)
        return U_SUCCESS(status) ? TKL_OK : TKL_EBUG;
    int32_t need = out->len;
    status = U_ZERO_ERROR;
    if (!units_room(out, need))
        return TKL_ENOMEM;
    out->len = unorm2_normalize(form, in->data, in->len, out->data, out->cap, &status);
    return U_SUCCESS(status) ? TKL_OK : TKL_EBUG;
}

/* Marks without a script of their own are accents, and so are the points of Hebrew. The vowel signs
 * of Indic scripts and Japanese voicing marks are letters. */
static bool is_accent(UChar32 c)
{
    UErrorCode status = U_ZERO_ERROR;
    if (u_charType(c) != U_NON_SPACING_MARK || c == 0x3099 || c == 0x309A)
        return false;
    UScriptCode script = uscript_getScript(c, &status);
    return script == USCRIPT_INHERITED || script == USCRIPT_HEBREW;
}

/* Letters with a built-in accent, which Unicode does not decompose. The text is folded, so only
 * small letters occur. */
static const char *plain_letter(UChar32 c)
{
    static const struct {
        UChar32 letter;
        const char *plain;
    } letters[] = {
        {0x00E6, "ae"}, {0x00F0, "d"}, {0x00F8, "o"},  {0x00FE, "th"}, {0x0111, "d"}, {0x0127, "h"},
        {0x0131, "i"},  {0x0142, "l"}, {0x0153, "oe"}, {0x0167, "t"},  {0x0180, "b"}, {0x0268, "i"},
    };
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == c)
            return letters[i].plain;
    return NULL;
}

/* Drops accents from decomposed text. The result may be longer by a unit for each letter. */
static int drop_accents(const units *in, units *out)
{
    UChar32 c;
    if (!units_room(out, in->len * 2))
        return TKL_ENOMEM;
    for (int32_t i = 0; i < in->len;) {
        U16_NEXT(in->data, i, in->len, c);
        if (is_accent(c))
            continue;
        const char *plain = plain_letter(c);
        for (; plain && *plain; plain++)
            out->data[out->len++] = (UChar)*plain;
        if (!plain)
            U16_APPEND_UNSAFE(out->data, out->len, c);
    }
    return TKL_OK;
}

static int simplify(const units *in, units *out)
{
    UChar32 c;
    if (!units_room(out, in->len * 2))
        return TKL_ENOMEM;
    for (int32_t i = 0; i < in->len;) {
        U16_NEXT(in->data, i, in->len, c);
        c = tkl__text_simplified(c);
        U16_APPEND_UNSAFE(out->data, out->len, c);
    }
    return TKL_OK;
}

/* ---- Korean -------------------------------------------------------------- */

enum {
    FIRST_SYLLABLE = 0xAC00,
    LAST_SYLLABLE = 0xD7A3,
    CONSONANT = 0x1100, /* first initial consonant */
    VOWEL = 0x1161,
    VOWELS = 21,
    FINAL = 0x11A8, /* first final consonant */
    FINALS = 27,
};

/* Adds a final consonant as the one or two letters that are typed for it: offsets from CONSONANT;
 * -1: none. */
static void add_final(units *out, int final)
{
    static const signed char typed[FINALS][2] = {
        {0, -1}, {1, -1},  {0, 9},   {2, -1},  {2, 12},  {2, 18},  {3, -1},  {5, -1},  {5, 0},
        {5, 6},  {5, 7},   {5, 9},   {5, 16},  {5, 17},  {5, 18},  {6, -1},  {7, -1},  {7, 9},
        {9, -1}, {10, -1}, {11, -1}, {12, -1}, {14, -1}, {15, -1}, {16, -1}, {17, -1}, {18, -1},
    };
    out->data[out->len++] = (UChar)(CONSONANT + typed[final][0]);
    if (typed[final][1] >= 0)
        out->data[out->len++] = (UChar)(CONSONANT + typed[final][1]);
}

/* Adds a vowel as the one or two letters that are typed for it: ㅘ is typed as ㅗ and ㅏ. */
static void add_vowel(units *out, int vowel)
{
    static const signed char typed[VOWELS][2] = {
        {0, -1}, {1, -1}, {2, -1},  {3, -1},  {4, -1},  {5, -1},  {6, -1},
        {7, -1}, {8, -1}, {8, 0},   {8, 1},   {8, 20},  {12, -1}, {13, -1},
        {13, 4}, {13, 5}, {13, 20}, {17, -1}, {18, -1}, {18, 20}, {20, -1},
    };
    out->data[out->len++] = (UChar)(VOWEL + typed[vowel][0]);
    if (typed[vowel][1] >= 0)
        out->data[out->len++] = (UChar)(VOWEL + typed[vowel][1]);
}

static void add_syllable(units *out, int syllable)
{
    int final = syllable % (FINALS + 1), first = syllable / (FINALS + 1);
    out->data[out->len++] = (UChar)(CONSONANT + first / VOWELS);
    add_vowel(out, first % VOWELS);
    if (final > 0)
        add_final(out, final - 1);
}

/* Writes a final consonant as the same letter as an initial one: while a user types 가나, the text is
 * 간 for a moment. */
static int spell_hangul(const units *in, units *out)
{
    if (!units_room(out, in->len * 5))
        return TKL_ENOMEM;
    for (int32_t i = 0; i < in->len; i++) {
        UChar c = in->data[i];
        if (c >= FIRST_SYLLABLE && c <= LAST_SYLLABLE)
            add_syllable(out, c - FIRST_SYLLABLE);
        else if (c >= VOWEL && c < VOWEL + VOWELS)
            add_vowel(out, c - VOWEL);
        else if (c >= FINAL && c < FINAL + FINALS)
            add_final(out, c - FINAL);
        else
            out->data[out->len++] = c;
    }
    return TKL_OK;
}

/* ---- Folding ------------------------------------------------------------- */

static void swap(units **a, units **b)
{
    units *held = *a;
    *a = *b;
    *b = held;
}

static int fold_units(units **text, units **spare, unsigned how)
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *casefold = unorm2_getNFKCCasefoldInstance(&status);
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&status), *nfc = unorm2_getNFCInstance(&status);
    if (U_FAILURE(status))
        return TKL_EBUG;
    int rc = normalize(casefold, *text, *spare);
    swap(text, spare);
    if (rc == TKL_OK && how & TKL__TEXT_FOLD_ACCENTS) {
        rc = normalize(nfd, *text, *spare);
        if (rc == TKL_OK)
            rc = drop_accents(*spare, *text);
        if (rc == TKL_OK)
            rc = normalize(nfc, *text, *spare);
        swap(text, spare);
    }
    if (rc == TKL_OK && how & TKL__TEXT_FOLD_CHINESE) {
        rc = simplify(*text, *spare);
        swap(text, spare);
    }
    if (rc == TKL_OK && how & TKL__TEXT_FOLD_HANGUL) {
        rc = spell_hangul(*text, *spare);
        swap(text, spare);
    }
    return rc;
}

static int fold_run(tkl_bytes run, unsigned how, tkl__buf *out)
{
    units a, b, *text = &a, *spare = &b;
    units_init(&a);
    units_init(&b);
    int rc = from_utf8(run, text);
    if (rc == TKL_OK)
        rc = fold_units(&text, &spare, how);
    if (rc == TKL_OK)
        rc = to_utf8(text, out);
    units_free(&a);
    units_free(&b);
    return rc;
}

/* The length of the valid UTF-8 at the beginning; *broken: the length of the broken sequence after
 * it. */
static int32_t valid_length(const char *data, int32_t len, int32_t *broken)
{
    UChar32 c;
    for (int32_t i = 0; i < len;) {
        int32_t start = i;
        U8_NEXT(data, i, len, c);
        if (c < 0) {
            *broken = i - start;
            return start;
        }
    }
    *broken = 0;
    return len;
}

int tkl__text_icu_fold(tkl_bytes text, unsigned how, tkl__buf *out)
{
    int rc = TKL_OK;
    for (size_t at = 0; rc == TKL_OK && at < text.len;) {
        int32_t broken;
        const char *data = text.data + at;
        int32_t valid = valid_length(data, (int32_t)(text.len - at), &broken);
        if (valid)
            rc = fold_run((tkl_bytes){data, (size_t)valid}, how, out);
        tkl__buf_add(out, data + valid, (size_t)broken);
        at += (size_t)(valid + broken);
    }
    return rc == TKL_OK && out->failed ? TKL_ENOMEM : rc;
}

/* ---- Characters ---------------------------------------------------------- */

int tkl__text_icu_cut(tkl_bytes text, size_t max, size_t *len, size_t *count)
{
    tkl__text_workshop *shop = tkl__text_workshop_get();
    if (!shop)
        return TKL_ENOMEM;
    UBreakIterator *it = tkl__text_iterate(&shop->characters, UBRK_CHARACTER, &shop->text, text);
    if (!it)
        return TKL_EBUG;
    *len = *count = 0;
    while (*count < max) {
        int32_t end = ubrk_next(it);
        if (end == UBRK_DONE)
            break;
        *len = (size_t)end;
        (*count)++;
    }
    return TKL_OK;
}
