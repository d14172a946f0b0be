/* SPDX-License-Identifier: MIT
 *
 * Books against a naive one in memory: random operations on short texts of few characters, Chinese
 * and Latin mixed, with all settings; every answer is compared.
 */
#include <tackle/book.h>

#include "support/fixture.h"
#include "support/typed.h"
#include "text/text.h"

enum { ENTRIES = 60, STEPS = 2500 };

typedef struct model {
    char texts[ENTRIES][64]; /* "" : the entry is not there */
    unsigned fold;
    bool pinyin, contains;
} model;

static unsigned seed = 1;

static unsigned draw(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % below;
}

static void draw_text(char *text)
{
    static const char *const letters[] = {"a",  "A", "b", "ä", "张",   "重", "三",
                                          "了", " ", "z", "h", "\xff", "安", "n"};
    int length = 1 + (int)draw(4);
    *text = 0;
    while (length--)
        strcat(text, letters[draw(14)]);
}

/* ---- The naive book ------------------------------------------------------ */

static void fold(const model *m, const char *text, char *out)
{
    tkl__buf buf;
    tkl__buf_init(&buf);
    assert_ok(tkl__text_fold(tkl_str(text), m->fold, &buf));
    sprintf(out, TKL_FMT, TKL_ARG(((tkl_bytes){buf.data, buf.len})));
    tkl__buf_free(&buf);
}

/* The better of two groups; 0 is none. */
static int better(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The group of one way to write a text; `begins(i)`: a part begins at this byte. */
static int group_of(const model *m, const char *key, const char *query, char mark)
{
    char plain[512];
    int group = 0;
    for (const char *at = key; *at; at++) {
        bool first = at == key;
        bool start = mark ? *at == mark : ((unsigned char)*at & 0xc0) != 0x80;
        if (!first && !(m->contains && start))
            continue;
        size_t len = 0;
        for (const char *c = at; *c; c++)
            if (*c != mark || !mark)
                plain[len++] = *c;
        plain[len] = 0;
        if (strncmp(plain, query, strlen(query)) == 0)
            group = better(group, (first ? 1 : 3) + (plain[strlen(query)] != 0));
    }
    return group;
}

/* The group of a query that is typed as one likes. */
static int group_of_letters(const model *m, tkl_bytes letters, const char *query)
{
    char text[256];
    sprintf(text, TKL_FMT, TKL_ARG(letters));
    if (typed_so(text, query))
        return TKL_BOOK_PREFIX;
    for (const char *at = text + 1; m->contains && (at = strchr(at, TKL__TEXT_SYLLABLE)); at++)
        if (typed_so(at, query))
            return TKL_BOOK_CONTAINS;
    return 0;
}

static int group_of_text(const model *m, const char *text, const char *query)
{
    char key[256], form[256];
    tkl__text_form_list forms = {.count = 0};
    fold(m, text, key);
    int group = group_of(m, key, query, 0);
    if (m->pinyin)
        assert_ok(tkl__text_forms(tkl_str(key), &forms));
    if (forms.count)
        group = better(group, group_of_letters(m, forms.letters, query));
    for (size_t i = 0; i < forms.count; i++) {
        sprintf(form, TKL_FMT, TKL_ARG(forms.items[i]));
        group = better(group, group_of(m, form, query, TKL__TEXT_SYLLABLE));
    }
    tkl__text_form_list_free(&forms);
    return group;
}

/* ---- Comparing ----------------------------------------------------------- */

static int number_of(tkl_bytes digits)
{
    int number = 0;
    for (size_t i = 0; i < digits.len; i++)
        number = number * 10 + digits.data[i] - '0';
    return number;
}

static void check_answer(const model *m, const tkl_book_answer *a, int seen[ENTRIES])
{
    int id = number_of(a->id);
    if (seen[id]++)
        fail_msg("'%s' came twice", m->texts[id]);
    assert_int_equal(a->text.len, strlen(m->texts[id]));
    assert_memory_equal(a->text.data, m->texts[id], a->text.len);
}

/* All entries of the groups up to the worst were seen, and no others. */
static void check_seen(const model *m, const char *query, int worst, const int seen[ENTRIES])
{
    for (int i = 0; i < ENTRIES; i++) {
        int group = *m->texts[i] ? group_of_text(m, m->texts[i], query) : 0;
        bool expected = group >= 1 && group <= worst;
        if (expected != (seen[i] > 0))
            fail_msg("'%s' in '%s' was %s", query, m->texts[i], expected ? "missed" : "found");
    }
}

static void find(const model *m, tkl_book *book, const char *text)
{
    char query[256];
    int last = 1, seen[ENTRIES] = {0};
    tkl_book_answers *answers;
    fold(m, text, query);
    assert_ok(tkl_book_find(book, tkl_str(text), 1000, &answers));
    assert_false(answers->more);
    for (size_t i = 0; i < answers->count; i++) {
        const tkl_book_answer *a = &answers->items[i];
        check_answer(m, a, seen);
        const char *whole = m->texts[number_of(a->id)];
        if ((int)a->match != group_of_text(m, whole, query))
            fail_msg("'%s' in '%s' was found as %s", query, whole, tkl_book_match_name(a->match));
        assert_true((int)a->match >= last);
        last = (int)a->match;
    }
    check_seen(m, query, TKL_BOOK_CONTAINS, seen);
    tkl_book_answers_free(answers);
}

/* By pages of some size. */
static void complete(const model *m, tkl_book *book, const char *text, size_t size)
{
    char query[256];
    int seen[ENTRIES] = {0};
    tkl_book_answers *before = NULL, *page;
    tkl_bytes after = {NULL, 0};
    fold(m, text, query);
    do {
        assert_ok(tkl_book_complete(book, tkl_str(text), size, after, &page));
        assert_true(page->count <= size);
        for (size_t i = 0; i < page->count; i++)
            check_answer(m, &page->items[i], seen);
        tkl_book_answers_free(before);
        before = page;
        after = page->next;
    } while (after.len);
    tkl_book_answers_free(before);
    check_seen(m, query, TKL_BOOK_PREFIX, seen);
}

static void ask(const model *m, tkl_book *book)
{
    char query[64];
    draw_text(query);
    complete(m, book, query, draw(4) ? 1000 : 1 + draw(3));
    find(m, book, query);
}

static void change(model *m, tkl_book *book)
{
    char id[8];
    int i = (int)draw(ENTRIES);
    int64_t number;
    sprintf(id, "%d", i);
    bool was = *m->texts[i];
    if (draw(3) == 0) {
        assert_ok(tkl_book_remove(book, &(tkl_book_entry){.id = tkl_str(id)}, 1, &number));
        assert_int_equal(number, was);
        *m->texts[i] = 0;
        return;
    }
    tkl_book_entry entry = {.id = tkl_str(id)};
    if (draw(3) == 0) {
        char text[64];
        draw_text(text);
        assert_code(tkl_book_rename(book, &entry, tkl_str(text)), was ? TKL_OK : TKL_NOTFOUND);
        if (was)
            strcpy(m->texts[i], text);
        return;
    }
    draw_text(m->texts[i]);
    entry.text = tkl_str(m->texts[i]);
    assert_ok(tkl_book_add(book, &entry, 1, &number));
    assert_int_equal(number, !was);
}

static void run(fixture *f, unsigned settings)
{
    static model m;
    tkl_book *book;
    tkl_book_options options = {.accents = settings & 1 ? TKL_SETTING_ON : TKL_SETTING_OFF,
                                .pinyin = settings & 2 ? TKL_SETTING_ON : TKL_SETTING_OFF,
                                .contains = settings & 4 ? TKL_SETTING_ON : TKL_SETTING_OFF};
    memset(&m, 0, sizeof m);
    m.fold = settings & 1 ? TKL__TEXT_FOLD_ACCENTS : 0;
    m.pinyin = settings & 2;
    m.contains = settings & 4;
    assert_ok(tkl_book_open(f->client, tkl_str("model"), &options, &book));
    for (int step = 0; step < STEPS; step++) {
        change(&m, book);
        ask(&m, book);
    }
    assert_ok(tkl_book_drop(book));
    tkl_book_close(book);
}

static void answers_are_those_of_a_naive_book(void **state)
{
    for (unsigned settings = 0; settings < 8; settings++)
        run(*state, settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_are_those_of_a_naive_book),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
