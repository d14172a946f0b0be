/* SPDX-License-Identifier: MIT
 *
 * Suggestions against naive ones in memory: random feeds and removals of few short texts, every
 * hint compared; and many texts with small lists, of which the heaviest must be right.
 */
#include <tackle/suggest.h>

#include "support/fixture.h"
#include "support/typed.h"
#include "text/text.h"

enum { TEXTS = 45, STEPS = 3000, MANY = 2000 };

static unsigned seed = 7;

static unsigned draw(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % below;
}

typedef struct entry {
    char key[64];
    double weight; /* 0: it is not there */
    int fits;      /* the query at hand: 1, or 2 as a mixture only */
} entry;

static entry entries[MANY];
static int known;

static void draw_text(char *text)
{
    static const char *const letters[] = {"a", "b", "ab", "张", "三", "重", " ", "z", "安"};
    int length = 1 + (int)draw(4);
    *text = 0;
    while (length--)
        strcat(text, letters[draw(9)]);
}

/* ---- The naive way ------------------------------------------------------- */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool form_begins(tkl_bytes form, const char *prefix)
{
    char plain[256];
    size_t len = 0;
    for (size_t i = 0; i < form.len; i++)
        if (form.data[i] != TKL__TEXT_SYLLABLE)
            plain[len++] = form.data[i];
    plain[len] = 0;
    return begins(plain, prefix);
}

/* Whether it begins so: 1, as it is or in pinyin, 2, as a mixture, 0, not at all. */
static int start_fits(const char *start, const char *prefix, bool pinyin)
{
    bool found = begins(start, prefix);
    tkl__text_form_list forms = {.count = 0};
    if (pinyin)
        assert_ok(tkl__text_forms(tkl_str(start), &forms));
    for (size_t i = 0; i < forms.count; i++)
        found = found || form_begins(forms.items[i], prefix);
    char letters[256];
    sprintf(letters, TKL_FMT, TKL_ARG(forms.letters));
    bool mixed = forms.count && typed_so(letters, prefix);
    tkl__text_form_list_free(&forms);
    return found ? 1 : 2 * mixed;
}

static int fits(const char *key, const char *prefix, bool words, bool pinyin)
{
    int found = start_fits(key, prefix, pinyin);
    for (const char *at = key + 1; words && *key && *at; at++) {
        int word = at[-1] == ' ' && *at != ' ' ? start_fits(at, prefix, pinyin) : 0;
        found = found == 0 || (word && word < found) ? word : found;
    }
    return found;
}

static int by_weight(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->fits != y->fits)
        return x->fits - y->fits;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return strcmp(y->key, x->key);
}

static void compare(tkl_suggest *s, const char *prefix, size_t count, bool words, bool pinyin)
{
    static entry expected[MANY];
    size_t n = 0;
    tkl_suggestions *found;
    for (int i = 0; i < known; i++) {
        entries[i].fits = fits(entries[i].key, prefix, words, pinyin);
        if (entries[i].weight > 0 && entries[i].fits)
            expected[n++] = entries[i];
    }
    qsort(expected, n, sizeof *expected, by_weight);
    n = n < count ? n : count;
    assert_ok(tkl_suggest_hint(s, tkl_str(prefix), count, &found));
    if (found->count != n)
        fail_msg("'%s': %zu instead of %zu", prefix, found->count, n);
    for (size_t i = 0; i < n; i++) {
        char text[64];
        sprintf(text, TKL_FMT, TKL_ARG(found->items[i].text));
        assert_string_equal(text, expected[i].key);
        assert_true(found->items[i].weight == expected[i].weight);
    }
    tkl_suggestions_free(found);
}

static entry *find(const char *key)
{
    for (int i = 0; i < known; i++)
        if (strcmp(entries[i].key, key) == 0)
            return &entries[i];
    strcpy(entries[known].key, key);
    entries[known].weight = 0;
    return &entries[known++];
}

/* ---- Runs ---------------------------------------------------------------- */

static void step(tkl_suggest *s)
{
    char text[64];
    if (known < TEXTS)
        draw_text(text);
    else
        strcpy(text, entries[draw(TEXTS)].key);
    entry *e = find(text);
    if (draw(4) == 0) {
        int64_t removed;
        assert_ok(tkl_suggest_remove(s, (tkl_bytes[]){tkl_str(text)}, 1, &removed));
        assert_int_equal(removed, e->weight > 0);
        e->weight = 0;
        return;
    }
    double weight = 1 + draw(5);
    assert_ok(tkl_suggest_feed(s, &(tkl_suggest_text){.text = tkl_str(text), .weight = weight}, 1));
    e->weight += weight;
}

static void run(fixture *f, bool words, bool pinyin)
{
    char prefix[64] = "";
    tkl_suggest *s;
    tkl_suggest_options options = {.words = words ? TKL_SETTING_ON : TKL_SETTING_OFF,
                                   .pinyin = pinyin ? TKL_SETTING_ON : TKL_SETTING_OFF};
    known = 0;
    assert_ok(tkl_suggest_open(f->client, tkl_str("model"), &options, &s));
    for (int i = 0; i < STEPS; i++) {
        step(s);
        draw_text(prefix);
        prefix[1 + draw(8)] = 0;
        compare(s, prefix, 1 + draw(20), words, pinyin);
        if (i % 10 == 0)
            compare(s, "", 100, words, pinyin);
    }
    assert_ok(tkl_suggest_drop(s));
    tkl_suggest_close(s);
}

static void hints_are_those_of_the_naive_way(void **state)
{
    for (int i = 0; i < 4; i++)
        run(*state, i & 1, i & 2);
}

static void change(tkl_suggest *s, const char *text, bool removal)
{
    double weight = 1 + draw(100);
    entry *e = find(text);
    e->weight = removal ? 0 : e->weight + weight;
    if (removal)
        assert_ok(tkl_suggest_remove(s, (tkl_bytes[]){tkl_str(text)}, 1, NULL));
    else
        assert_ok(
            tkl_suggest_feed(s, &(tkl_suggest_text){.text = tkl_str(text), .weight = weight}, 1));
}

/* The heaviest text of the model: its removal leaves a gap everywhere. */
static const char *heaviest(void)
{
    int best = 0;
    for (int i = 1; i < known; i++)
        best = entries[i].weight > entries[best].weight ? i : best;
    return entries[best].key;
}

/* Lists of ten, prefixes that hundreds share: the ten heaviest are exact, also after removals. */
static void the_heaviest_of_many_are_exact(void **state)
{
    fixture *f = *state;
    char text[64], prefix[8];
    tkl_suggest *s;
    known = 0;
    assert_ok(
        tkl_suggest_open(f->client, tkl_str("model"), &(tkl_suggest_options){.best = 10}, &s));
    for (int i = 0; i < 6000; i++) {
        sprintf(text, "%c%c%c%c", 'a' + draw(2), 'a' + draw(3), 'a' + draw(10), 'a' + draw(20));
        if (i % 9 == 8)
            strcpy(text, heaviest());
        change(s, text, i % 9 == 8 || i % 16 == 7);
        if (i % 4 == 0) {
            sprintf(prefix, "%.*s", 1 + (int)draw(3), text);
            compare(s, prefix, 10, false, false);
        }
    }
    tkl_suggest_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hints_are_those_of_the_naive_way),
        TEST(the_heaviest_of_many_are_exact),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
