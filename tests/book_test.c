/* SPDX-License-Identifier: MIT
 *
 * Address books: completing, finding, settings, and what can go wrong.
 *
 * ctest: label threads
 */
#include <locale.h>
#include <sys/wait.h>
#include <tackle/book.h>
#include <unistd.h>

#include "support/cluster.h"
#include "support/fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NONE         ((tkl_bytes){NULL, 0})

static tkl_book *open_book(tkl_client *client, const tkl_book_options *options)
{
    tkl_book *book;
    assert_ok(tkl_book_open(client, tkl_str("staff"), options, &book));
    return book;
}

/* Adds texts that are separated by "|". */
static int64_t add(tkl_book *book, const char *list)
{
    tkl_book_entry entries[64] = {{.id = NONE}};
    size_t count = 0;
    int64_t added;
    while (*list) {
        size_t len = strcspn(list, "|");
        entries[count++].text = (tkl_bytes){list, len};
        list += len + (list[len] == '|');
    }
    assert_ok(tkl_book_add(book, entries, count, &added));
    return added;
}

static int64_t add_id(tkl_book *book, const char *id, const char *text)
{
    int64_t added;
    tkl_book_entry entry = {.id = tkl_str(id), .text = tkl_str(text)};
    assert_ok(tkl_book_add(book, &entry, 1, &added));
    return added;
}

static int64_t take(tkl_book *book, const char *id, const char *text)
{
    int64_t removed;
    tkl_book_entry entry = {.id = tkl_str(id), .text = tkl_str(text)};
    assert_ok(tkl_book_remove(book, &entry, 1, &removed));
    return removed;
}

/* "text|text": with the id as "id=text". */
static void check_answers(const tkl_book_answers *answers, const char *expected)
{
    char line[8192] = "";
    for (size_t i = 0; i < answers->count; i++) {
        const tkl_book_answer *a = &answers->items[i];
        sprintf(line + strlen(line), "%s" TKL_FMT "%s" TKL_FMT, i ? "|" : "", TKL_ARG(a->id),
                a->id.len ? "=" : "", TKL_ARG(a->text));
    }
    assert_string_equal(line, expected);
}

static void check_complete(tkl_book *book, const char *prefix, const char *expected)
{
    tkl_book_answers *answers;
    assert_ok(tkl_book_complete(book, tkl_str(prefix), 50, NONE, &answers));
    check_answers(answers, expected);
    assert_false(answers->more);
    tkl_book_answers_free(answers);
}

/* Answers with the letter of their group before them: "e:anna|p:annabel". */
static void check_find(tkl_book *book, const char *text, size_t count, bool more,
                       const char *expected)
{
    tkl_book_answers *answers;
    char line[8192] = "";
    assert_ok(tkl_book_find(book, tkl_str(text), count, &answers));
    for (size_t i = 0; i < answers->count; i++)
        sprintf(line + strlen(line), "%s%c:" TKL_FMT, i ? "|" : "",
                tkl_book_match_name(answers->items[i].match)[0], TKL_ARG(answers->items[i].text));
    assert_string_equal(line, expected);
    assert_int_equal(answers->more, more);
    tkl_book_answers_free(answers);
}

/* ---- Entries ------------------------------------------------------------- */

static void names_are_completed_in_order(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, NULL);
    check_complete(b, "", "");
    assert_int_equal(add(b, "Bob Smith|bob|Anna|anna Karenina|Zoë|ANNABEL"), 6);
    assert_int_equal(add(b, "bob|Carl"), 1);
    check_complete(b, "an", "Anna|anna Karenina|ANNABEL");
    check_complete(b, "BOB", "bob|Bob Smith");
    check_complete(b, "zoe", "");
    check_complete(b, "zoë", "Zoë");
    check_complete(b, "x", "");
    check_complete(b, "anna karenina and then some", "");
    check_complete(b, "", "Anna|anna Karenina|ANNABEL|bob|Bob Smith|Carl|Zoë");
    tkl_book_close(b);
}

static void texts_equal_when_folded_are_different_entries(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.accents = TKL_BOOK_ON});
    assert_int_equal(add(b, "Muller|müller|MULLER|muller"), 4);
    check_complete(b, "mul", "muller|MULLER|Muller|müller");
    assert_int_equal(take(b, "", "MULLER"), 1);
    check_complete(b, "mül", "muller|Muller|müller");
    check_find(b, "Müller", 10, false, "e:muller|e:Muller|e:müller");
    tkl_book_close(b);
}

static void entries_with_ids_are_renamed(void **state)
{
    fixture *f = *state;
    tkl_book *b =
        open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    tkl_book_info info;
    assert_int_equal(add_id(b, "7", "Ann Lee"), 1);
    assert_int_equal(add_id(b, "8", "Ann Lee"), 1);
    assert_int_equal(add(b, "Ann Lee"), 1);
    check_complete(b, "ann", "Ann Lee|7=Ann Lee|8=Ann Lee");
    assert_int_equal(add_id(b, "7", "张三"), 0);
    check_complete(b, "ann", "Ann Lee|8=Ann Lee");
    check_complete(b, "zs", "7=张三");
    assert_ok(tkl_book_rename(b, &(tkl_book_entry){.id = tkl_str("7")}, tkl_str("Bo Li")));
    check_complete(b, "zs", "");
    check_find(b, "li", 10, false, "s:Bo Li");
    assert_ok(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("Ann Lee")}, tkl_str("李四")));
    check_complete(b, "ann", "8=Ann Lee");
    check_complete(b, "lis", "李四");
    assert_code(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("Ann Lee")}, tkl_str("x")),
                TKL_NOTFOUND);
    assert_code(tkl_book_rename(b, &(tkl_book_entry){.id = tkl_str("9")}, tkl_str("x")),
                TKL_NOTFOUND);
    add(b, "Eve");
    assert_code(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("Eve")}, tkl_str("李四")),
                TKL_EXISTS);
    assert_ok(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("Eve")}, tkl_str("Eve")));
    assert_ok(tkl_book_show(b, &info));
    assert_int_equal(info.entries, 4);
    assert_int_equal(take(b, "7", ""), 1);
    assert_int_equal(take(b, "7", ""), 0);
    assert_int_equal(take(b, "8", "another text"), 1);
    assert_int_equal(take(b, "", "李四") + take(b, "", "Eve"), 2);
    assert_ok(tkl_book_show(b, &info));
    assert_int_equal(info.entries, 0);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL),
                     1); /* the settings; nothing else is left */
    tkl_book_close(b);
}

/* One batch: the same id twice, the same text twice. */
static void a_batch_is_as_one_after_the_other(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, NULL);
    tkl_book_entry entries[] = {{.id = tkl_str("1"), .text = tkl_str("a")},
                                {.id = tkl_str("1"), .text = tkl_str("b")},
                                {.text = tkl_str("c")},
                                {.text = tkl_str("c")}};
    int64_t number;
    assert_ok(tkl_book_add(b, entries, 4, &number));
    assert_int_equal(number, 2);
    check_complete(b, "", "1=b|c");
    assert_ok(tkl_book_remove(b, entries, 4, &number));
    assert_int_equal(number, 2);
    assert_ok(tkl_book_add(b, NULL, 0, &number));
    assert_ok(tkl_book_remove(b, NULL, 0, NULL));
    tkl_book_close(b);
}

static void thousands_are_added_in_one_trip(void **state)
{
    fixture *f = *state;
    enum { MANY = 5000 };
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_BOOK_ON});
    tkl_book_entry *entries = calloc(MANY, sizeof *entries);
    char(*texts)[24] = calloc(MANY, sizeof *texts);
    int64_t number;
    for (int i = 0; i < MANY; i++) {
        sprintf(texts[i], "name %05d", i);
        entries[i].text = tkl_str(texts[i]);
    }
    assert_ok(tkl_book_add(b, entries, MANY, &number));
    assert_int_equal(number, MANY);
    check_find(b, "4321", 5, false, "s:name 04321");
    check_find(b, "name 00", 2, true, "p:name 00000|p:name 00001");
    assert_ok(tkl_book_remove(b, entries, MANY, &number));
    assert_int_equal(number, MANY);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    free(entries);
    free(texts);
    tkl_book_close(b);
}

/* ---- Languages ----------------------------------------------------------- */

static void chinese_is_found_by_character_pinyin_and_initials(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON});
    add(b, "张三丰|张三|重庆大厦|吕布|iPhone手机|Zhang Li");
    check_complete(b, "zhang", "Zhang Li|张三|张三丰");
    check_complete(b, "zs", "张三|张三丰");
    check_complete(b, "zsf", "张三丰");
    check_complete(b, "张三", "张三|张三丰");
    check_complete(b, "chongq", "重庆大厦");
    check_complete(b, "zhongqing", "重庆大厦");
    check_complete(b, "cqd", "重庆大厦");
    check_complete(b, "lv", "吕布");
    check_complete(b, "lu", "吕布");
    check_complete(b, "iphones", "iPhone手机");
    check_complete(b, "iphone手", "iPhone手机");
    check_complete(b, "i", "iPhone手机"); /* once, although three forms begin so */
    check_find(b, "ZS", 10, false, "e:张三|p:张三丰");
    check_complete(b, "张s", "张三|张三丰"); /* begun in characters */
    check_complete(b, "张san", "张三|张三丰");
    check_complete(b, "张sf", "张三丰");
    check_complete(b, "张三f", "张三丰");
    check_complete(b, "重q", "重庆大厦");
    check_complete(b, "重庆ds", "重庆大厦");
    tkl_book_close(b);
}

static void pinyin_is_found_in_the_order_of_its_forms(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON});
    add(b, "张三|章|Zhang Li");
    check_find(b, "zhang", 10, false, "e:章|p:Zhang Li|p:张三");
    tkl_book_close(b);
}

/* One of the keys was evicted. */
static void a_book_in_part_is_damaged(void **state)
{
    fixture *f = *state;
    static const char *const keys[] = {"tackle:book:{staff}:meta", "tackle:book:{staff}:names"};
    tkl_book_entry ann = {.text = tkl_str("Ann")};
    tkl_book_answers *answers;
    tkl_book_info info;
    int64_t number;
    for (int i = 0; i < 2; i++) {
        tkl_book *b = open_book(f->client, NULL);
        add(b, "Ann|Bob");
        assert_int_equal(call_int(f->client, "DEL", keys[i], NULL), 1);
        assert_code(tkl_book_remove(b, &ann, 1, &number), TKL_EDAMAGED);
        assert_code(tkl_book_add(b, &ann, 1, &number), TKL_EDAMAGED);
        assert_code(tkl_book_rename(b, &ann, tkl_str("Bea")), TKL_EDAMAGED);
        assert_code(tkl_book_show(b, &info), TKL_EDAMAGED);
        assert_contains(tkl_errmsg(), "part of this book is gone");
        if (i == 0) {
            assert_code(tkl_book_complete(b, tkl_str("a"), 5, NONE, &answers), TKL_EDAMAGED);
            assert_null(answers);
            assert_code(tkl_book_find(b, tkl_str("a"), 5, &answers), TKL_EDAMAGED);
        }
        assert_ok(tkl_book_drop(b));
        add(b, "Ann");
        check_complete(b, "a", "Ann");
        assert_ok(tkl_book_drop(b));
        tkl_book_close(b);
    }
}

/* A thousand entries of 3 KB, half of which are parts. */
static void very_long_entries_are_found_in_part(void **state)
{
    fixture *f = *state;
    enum { LONG = 1000 };
    static char id[LONG + 1];
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_BOOK_ON});
    tkl_book_answers *answers;
    memset(id, 'x', LONG);
    for (int i = 0; i < 600; i++) {
        char text[32];
        sprintf(id, "%d", i);
        id[strlen(id)] = 'x';
        sprintf(text, "name %d", i);
        tkl_book_entry entry = {.id = {id, LONG}, .text = tkl_str(text)};
        assert_ok(tkl_book_add(b, &entry, 1, NULL));
    }
    assert_ok(tkl_book_find(b, tkl_str("name"), 1000, &answers));
    assert_true(answers->more);
    assert_in_range(answers->count, 300, 599);
    tkl_book_answers_free(answers);
    assert_ok(tkl_book_find(b, tkl_str("name"), 100, &answers));
    assert_int_equal(answers->count, 100);
    tkl_book_answers_free(answers);
    tkl_book_close(b);
}

static void parts_may_be_in_characters_and_pinyin(void **state)
{
    fixture *f = *state;
    tkl_book *b =
        open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    add(b, "张三丰|李三丰子");
    check_find(b, "三feng", 10, false, "s:张三丰|c:李三丰子");
    check_find(b, "sanf", 10, false, "c:张三丰|c:李三丰子");
    tkl_book_close(b);
}

static void korean_is_found_while_it_is_typed(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_BOOK_ON});
    add(b, "김민수|가나다|간호사");
    static const char *const typed[] = {"ㄱ", "기", "김", "김ㅁ", "김미", "김민", "김민수"};
    check_complete(b, typed[0], "간호사|가나다|김민수");
    for (int i = 1; i < 7; i++)
        check_complete(b, typed[i], "김민수");
    check_complete(b, "간", "간호사|가나다");
    check_complete(b, "간호", "간호사");
    check_find(b, "민ㅅ", 10, false, "c:김민수");
    check_find(b, "민수", 10, false, "s:김민수");
    check_find(b, "김민수", 10, false, "e:김민수");
    tkl_book_close(b);
}

static int number_of(tkl_bytes digits)
{
    int number = 0;
    for (size_t i = 0; i < digits.len; i++)
        number = number * 10 + digits.data[i] - '0';
    return number;
}

/* The same entry under several forms: once over all pages. */
static void pages_have_each_entry_once(void **state)
{
    fixture *f = *state;
    static const char *const characters[] = {"张", "三", "周", "海", "重",
                                             "庆", "曾", "长", "z",  "h"};
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON});
    char seen[1000] = {0}, text[16];
    size_t pages = 0, total = 0;
    tkl_bytes after = NONE;
    tkl_book_answers *answers = NULL, *page;
    for (int i = 0; i < 1000; i++) {
        sprintf(text, "张%s%s%s", characters[i / 100], characters[i / 10 % 10], characters[i % 10]);
        char *id = test_format("%d", i);
        add_id(b, id, text);
        free(id);
    }
    do {
        assert_ok(tkl_book_complete(b, tkl_str("z"), 7, after, &page));
        for (size_t i = 0; i < page->count; i++) {
            int id = number_of(page->items[i].id);
            assert_false(seen[id]);
            seen[id] = 1;
            total++;
        }
        tkl_book_answers_free(answers);
        answers = page;
        after = page->next;
        pages++;
    } while (after.len);
    assert_int_equal(total, 1000);
    assert_true(pages < 2000);
    tkl_book_answers_free(answers);
    tkl_book_close(b);
}

static void any_language_is_completed(void **state)
{
    fixture *f = *state;
    const struct {
        const char *text, *prefix;
    } cases[] = {
        {"שלום עולם", "שלו"},
        {"مرحبا", "مر"},
        {"👍🏽 thumbs", "👍🏽"},
        {"🇩🇪 Berlin", "🇩🇪"},
        {"q\xcc\x87\xcc\xa3x", "Q\xcc\xa3\xcc\x87"}, /* marks in another order */
        {"Straße", "STRASS"},
        {"ΌΣΟΣ", "όσος"},
        {"ｆｕｌｌ", "full"},
        {"हिन्दी", "हि"},
        {"Ŝipo", "\xc5"}, /* half of ŝ */
        {"\xff\xfe\xff", "\xff"},
        {"\xff\xff", "\xff\xff"},
        {"\x80 lone", "\x80"},
        {"\x01 start", "\x01"},
        {"tab\tand\nnewline", "TAB\tand\n"},
    };
    tkl_book *b = open_book(f->client, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(add(b, cases[i].text), 1);
        tkl_book_answers *answers;
        assert_ok(tkl_book_complete(b, tkl_str(cases[i].prefix), 50, NONE, &answers));
        assert_int_equal(answers->count, 1);
        assert_int_equal(answers->items[0].text.len, strlen(cases[i].text));
        assert_memory_equal(answers->items[0].text.data, cases[i].text, strlen(cases[i].text));
        tkl_book_answers_free(answers);
        assert_int_equal(take(b, "", cases[i].text), 1);
    }
    tkl_book_close(b);
}

/* Texts and ids that contain what separates the parts of a member. */
static void any_bytes_are_kept(void **state)
{
    fixture *f = *state;
    const tkl_book_entry entries[] = {
        {.text = {"\0", 1}},
        {.text = {"a\0b", 3}},
        {.text = {"A\0B", 3}, .id = {"\0\1\1", 3}},
        {.text = {"a\1b", 3}, .id = {"x\0y", 3}},
        {.text = {"a\1\1", 3}},
        {.text = {"a", 1}, .id = {"\0", 1}},
        {.text = {"\0\1\1"
                  "0 x\0",
                  7}},
        {.text = {"\xc2\xad", 2}}, /* a soft hyphen: its key is empty */
    };
    tkl_book *b =
        open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    int64_t number;
    assert_ok(tkl_book_add(b, entries, COUNT(entries), &number));
    assert_int_equal(number, COUNT(entries));
    for (size_t i = 0; i < COUNT(entries); i++) {
        tkl_book_answers *answers;
        int found = 0;
        assert_ok(tkl_book_find(b, entries[i].text, 50, &answers));
        for (size_t j = 0; j < answers->count; j++) {
            const tkl_book_answer *a = &answers->items[j];
            found +=
                a->text.len == entries[i].text.len && a->id.len == entries[i].id.len &&
                memcmp(a->text.data, entries[i].text.data, a->text.len) == 0 &&
                memcmp(a->id.data, entries[i].id.len ? entries[i].id.data : "", a->id.len) == 0;
        }
        assert_int_equal(found, 1);
        tkl_book_answers_free(answers);
    }
    check_find(b, "b", 50, false, "s:a|s:A|s:a\001b");
    assert_ok(tkl_book_remove(b, entries, COUNT(entries), &number));
    assert_int_equal(number, COUNT(entries));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_book_close(b);
}

/* ---- Finding ------------------------------------------------------------- */

static void exact_comes_before_prefix_suffix_and_contains(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_BOOK_ON});
    add(b, "ana|Banana|anagram|Hanah|Diana|susana b|an|ANA");
    check_find(b, "ana", 50, false, "e:ana|e:ANA|p:anagram|s:Banana|s:Diana|c:susana b|c:Hanah");
    check_find(b, "ana", 3, true, "e:ana|e:ANA|p:anagram");
    check_find(b, "ana", 5, true, "e:ana|e:ANA|p:anagram|s:Banana|s:Diana");
    check_find(b, "ana", 7, false, "e:ana|e:ANA|p:anagram|s:Banana|s:Diana|c:susana b|c:Hanah");
    check_find(b, "b", 50, false, "p:Banana|s:susana b");
    check_find(b, "zzz", 50, false, "");
    check_find(b, "ana", 0, true, "");
    tkl_book_close(b);
}

static void without_the_index_only_beginnings_are_found(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, NULL);
    add(b, "ana|Banana|anagram");
    check_find(b, "ana", 50, false, "e:ana|p:anagram");
    check_find(b, "", 50, false, "p:ana|p:anagram|p:Banana");
    tkl_book_close(b);
}

static void parts_of_chinese_names_are_found(void **state)
{
    fixture *f = *state;
    tkl_book *b =
        open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    add(b, "张三丰|李三丰年");
    check_find(b, "三丰", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "sanfeng", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "sf", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "feng", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "ang", 50, false, ""); /* inside a syllable */
    tkl_book_close(b);
}

/* One text holds the query a hundred times: the others are still found, or it is said that there
 * may be more. */
static void repetitions_do_not_hide_others(void **state)
{
    fixture *f = *state;
    char text[121];
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_BOOK_ON});
    memset(text, 'a', 120);
    text[120] = 0;
    text[0] = 'x';
    add(b, text);
    add(b, "yab");
    tkl_book_answers *answers;
    assert_ok(tkl_book_find(b, tkl_str("a"), 5, &answers));
    assert_int_equal(answers->count, 1);
    assert_true(answers->more);
    tkl_book_answers_free(answers);
    assert_ok(tkl_book_find(b, tkl_str("a"), 500, &answers));
    assert_int_equal(answers->count, 2);
    assert_false(answers->more);
    tkl_book_answers_free(answers);
    tkl_book_close(b);
}

/* ---- Settings ------------------------------------------------------------ */

static void settings_stay_with_the_book(void **state)
{
    fixture *f = *state;
    tkl_book_options all = {.accents = TKL_BOOK_ON, .pinyin = TKL_BOOK_ON};
    tkl_book *maker = open_book(f->client, &all), *guest = open_book(f->client, NULL);
    tkl_book_info info;
    assert_code(tkl_book_show(guest, &info), TKL_NOTFOUND);
    check_complete(guest, "mul", ""); /* no book yet */
    add(maker, "Müller|张三");
    check_complete(guest, "mul", "Müller");
    check_complete(guest, "zs", "张三");
    add(guest, "Łódź");
    check_complete(maker, "lodz", "Łódź");
    assert_ok(tkl_book_show(guest, &info));
    assert_true(info.accents && info.pinyin && !info.contains);
    assert_int_equal(info.entries, 3);
    tkl_book_close(maker);
    tkl_book_close(guest);
}

static void other_settings_are_refused(void **state)
{
    fixture *f = *state;
    const struct {
        tkl_book_options options;
        const char *text;
    } cases[] = {
        {{.accents = TKL_BOOK_OFF}, "made with accents"},
        {{.contains = TKL_BOOK_ON}, "made without contains"},
        {{.pinyin = TKL_BOOK_ON}, "made without pinyin"},
    };
    tkl_book *maker = open_book(f->client, &(tkl_book_options){.accents = TKL_BOOK_ON});
    add(maker, "Müller");
    for (size_t i = 0; i < COUNT(cases); i++) {
        tkl_book *b = open_book(f->client, &cases[i].options);
        tkl_book_answers *answers;
        tkl_book_info info;
        tkl_book_entry entry = {.text = tkl_str("x")};
        assert_code(tkl_book_add(b, &entry, 1, NULL), TKL_EINVAL);
        assert_contains(tkl_errmsg(), cases[i].text);
        assert_code(tkl_book_remove(b, &entry, 1, NULL), TKL_EINVAL);
        assert_code(tkl_book_rename(b, &entry, tkl_str("y")), TKL_EINVAL);
        assert_code(tkl_book_complete(b, tkl_str("x"), 5, NONE, &answers), TKL_EINVAL);
        assert_null(answers);
        assert_code(tkl_book_find(b, tkl_str("x"), 5, &answers), TKL_EINVAL);
        assert_code(tkl_book_show(b, &info), TKL_EINVAL);
        tkl_book_close(b);
    }
    check_complete(maker, "", "Müller");
    tkl_book_close(maker);
}

static void a_dropped_book_is_made_anew_with_other_settings(void **state)
{
    fixture *f = *state;
    tkl_book *old = open_book(f->client, NULL), *accents;
    accents = open_book(f->client, &(tkl_book_options){.accents = TKL_BOOK_ON});
    add(old, "Müller");
    assert_ok(tkl_book_drop(old));
    assert_code(tkl_book_drop(old), TKL_NOTFOUND);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    add(accents, "Müller");
    check_complete(old, "mul", "Müller"); /* the handle learns */
    tkl_book_close(old);
    tkl_book_close(accents);
}

/* The handle has learnt the settings of a book that is gone. */
static void a_book_that_got_lost_is_begun_anew(void **state)
{
    fixture *f = *state;
    tkl_book *maker = open_book(f->client, &(tkl_book_options){.accents = TKL_BOOK_ON});
    tkl_book *guest = open_book(f->client, NULL), *plain;
    plain = open_book(f->client, &(tkl_book_options){.accents = TKL_BOOK_OFF});
    add(maker, "Müller");
    check_complete(guest, "mul", "Müller");
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    check_complete(guest, "mul", "");
    add(plain, "Müller");
    check_complete(guest, "mül", "Müller");
    check_complete(guest, "mul", "");
    tkl_book_entry entry = {.text = tkl_str("x")};
    assert_code(tkl_book_add(maker, &entry, 1, NULL), TKL_EINVAL);
    tkl_book_close(maker);
    tkl_book_close(guest);
    tkl_book_close(plain);
}

/* ---- Limits and bad data ------------------------------------------------- */

static void what_is_too_large_is_refused_before_it_is_sent(void **state)
{
    fixture *f = *state;
    static char large[65536];
    memset(large, 'x', sizeof large);
    tkl_book *plain = open_book(f->client, NULL);
    tkl_book_entry bad[] = {
        {.text = {large, 65536}}, {.text = {large, 1025}},
        {.text = NONE},           {.id = {large, 1025}, .text = tkl_str("x")},
        {.id = tkl_str("x")},     {.text = tkl_str("x"), .reserved = {0, 1}},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        tkl_book_entry entries[] = {{.text = tkl_str("good")}, bad[i]};
        assert_code(tkl_book_add(plain, entries, 2, NULL), TKL_EINVAL);
        assert_contains(tkl_errmsg(), "entry 1");
    }
    tkl_book_entry longest = {.id = {large, 1024}, .text = {large, 1024}};
    assert_ok(tkl_book_add(plain, &longest, 1, NULL));
    assert_ok(tkl_book_drop(plain));

    tkl_book *parts = open_book(f->client, &(tkl_book_options){.contains = TKL_BOOK_ON});
    assert_code(tkl_book_add(parts, &(tkl_book_entry){.text = {large, 129}}, 1, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "129 characters");
    assert_ok(tkl_book_add(parts, &(tkl_book_entry){.text = {large, 128}}, 1, NULL));
    tkl_book_close(plain);
    tkl_book_close(parts);
}

static void bad_options_are_refused(void **state)
{
    fixture *f = *state;
    const tkl_book_options bad[] = {{.timeout_ms = -1}, {.ttl_ms = -1},  {.accents = 2},
                                    {.pinyin = -2},     {.contains = 7}, {.reserved = {1}}};
    tkl_book *b;
    tkl_book_answers *answers;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_code(tkl_book_open(f->client, tkl_str("x"), &bad[i], &b), TKL_EINVAL);
        assert_null(b);
    }
    assert_code(tkl_book_open(f->client, NONE, NULL, &b), TKL_EINVAL);
    b = open_book(f->client, NULL);
    assert_code(tkl_book_complete(b, tkl_str("b"), 5, tkl_str("a"), &answers), TKL_EINVAL);
    assert_string_equal(tkl_book_match_name((tkl_book_match)9), "unknown");
    tkl_book_close(b);
    tkl_book_close(NULL);
    tkl_book_answers_free(NULL);
}

static void a_longest_text_of_many_readings_is_added_whole(void **state)
{
    fixture *f = *state;
    char text[3 * 128 + 1];
    tkl_book *b =
        open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    for (int i = 0; i < 128; i++)
        memcpy(text + 3 * i, "了", 4);
    tkl_book_entry entry = {.text = tkl_str(text)};
    assert_ok(tkl_book_add(b, &entry, 1, NULL));
    char *expected = test_format("p:%s", text);
    check_find(b, "lelele", 1, true, expected);
    free(expected);
    assert_int_equal(take(b, "", text), 1);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_book_close(b);
}

static void foreign_data_is_reported_and_left_alone(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "names", "parts", "ids", "forms"};
    tkl_book_entry entry = {.id = tkl_str("1"), .text = tkl_str("张三")};
    tkl_book_answers *answers;
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:book:{staff}:%s", parts[i]);
        tkl_book *b = open_book(
            f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
        assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
        assert_ok(tkl_callz(f->client, NULL, "SET", key, "x", NULL));
        assert_code(tkl_book_add(b, &entry, 1, NULL), TKL_ETYPE);
        assert_code(tkl_book_remove(b, &entry, 1, NULL), TKL_ETYPE);
        assert_code(tkl_book_rename(b, &entry, tkl_str("x")), TKL_ETYPE);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
        tkl_book_close(b);
        free(key);
    }
    assert_ok(tkl_callz(f->client, NULL, "FLUSHALL", NULL));
    tkl_book *b = open_book(f->client, NULL);
    assert_ok(tkl_callz(f->client, NULL, "ZADD", "tackle:book:{staff}:names", "0", "x", NULL));
    assert_code(tkl_book_complete(b, tkl_str("x"), 5, NONE, &answers), TKL_EDAMAGED);
    assert_code(tkl_book_find(b, tkl_str(""), 5, &answers), TKL_EDAMAGED);
    assert_ok(
        tkl_callz(f->client, NULL, "HSET", "tackle:book:{staff}:meta", "settings", "loud", NULL));
    assert_code(tkl_book_complete(b, tkl_str("x"), 5, NONE, &answers), TKL_EDAMAGED);
    tkl_book_close(b);
}

static void a_full_server_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, NULL);
    tkl_book_entry entry = {.text = tkl_str("new")};
    add(b, "old");
    add_id(b, "1", "before");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_book_add(b, &entry, 1, NULL), TKL_EOOM);
    assert_code(
        tkl_book_add(b, &(tkl_book_entry){.id = tkl_str("1"), .text = tkl_str("z")}, 1, NULL),
        TKL_EOOM);
    assert_code(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("old")}, tkl_str("z")),
                TKL_EOOM);
    check_complete(b, "", "1=before|old");
    assert_int_equal(take(b, "", "old"), 1); /* removing makes room */
    server_do(f->server, "CONFIG SET maxmemory 0");
    check_complete(b, "", "1=before");
    tkl_book_close(b);
}

static void all_keys_of_a_book_expire(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"meta", "names", "parts", "ids", "forms"};
    tkl_book *b = open_book(
        f->client,
        &(tkl_book_options){.ttl_ms = 60000, .pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    add_id(b, "1", "张三");
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:book:{staff}:%s", parts[i]);
        assert_in_range(call_int(f->client, "PTTL", key, NULL), 1, 60000);
        free(key);
    }
    tkl_book *stays = open_book(f->client, NULL);
    add_id(stays, "2", "李四"); /* a handle without: all of them stay */
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *key = test_format("tackle:book:{staff}:%s", parts[i]);
        assert_int_equal(call_int(f->client, "PTTL", key, NULL), -1);
        free(key);
    }
    tkl_book_close(stays);
    tkl_book_close(b);
}

/* ---- Together ------------------------------------------------------------ */

static void churn(void *arg, int index)
{
    fixture *f = arg;
    tkl_book *b = open_book(f->client, NULL);
    char text[32];
    for (int i = 0; i < 60; i++) {
        sprintf(text, "张三%d", i % 7);
        tkl_book_entry entry = {.id = index % 2 ? tkl_str("shared") : NONE, .text = tkl_str(text)};
        if ((i + index) % 3)
            assert_ok(tkl_book_add(b, &entry, 1, NULL));
        else
            assert_ok(tkl_book_remove(b, &entry, 1, NULL));
    }
    tkl_book_close(b);
}

static void those_who_write_at_once_leave_a_whole_book(void **state)
{
    fixture *f = *state;
    tkl_book *b =
        open_book(f->client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    add(b, "first");
    crew_run(8, churn, f);
    tkl_book_answers *answers;
    tkl_book_info info;
    assert_ok(tkl_book_show(b, &info));
    assert_ok(tkl_book_complete(b, tkl_str(""), 50, NONE, &answers));
    assert_int_equal(answers->count, info.entries);
    for (size_t i = 0; i < answers->count; i++) {
        const tkl_book_answer *a = &answers->items[i];
        tkl_book_entry entry = {.id = a->id, .text = a->text};
        assert_ok(tkl_book_remove(b, &entry, 1, NULL));
    }
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_book_answers_free(answers);
    tkl_book_close(b);
}

static void a_child_goes_on_with_the_handle(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_book *b = open_book(f->client, NULL);
    add(b, "Änne");
    pid_t child = fork();
    if (child == 0) {
        tkl_book_answers *answers;
        int rc = tkl_book_complete(b, tkl_str("ä"), 5, NONE, &answers);
        _exit(rc == TKL_OK && answers->count == 1 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    check_complete(b, "ä", "Änne");
    tkl_book_close(b);
}

static void books_live_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_names *names;
    tkl_book *b =
        open_book(client, &(tkl_book_options){.pinyin = TKL_BOOK_ON, .contains = TKL_BOOK_ON});
    add(b, "张三|Anna");
    add_id(b, "1", "Bob");
    check_complete(b, "zs", "张三");
    check_find(b, "nn", 5, false, "c:Anna");
    assert_ok(tkl_book_names(client, &names));
    assert_int_equal(names->count, 1);
    assert_ok(tkl_book_drop(b));
    assert_int_equal(call_int(client, "DBSIZE", NULL), 0);
    tkl_names_free(names);
    tkl_book_close(b);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_are_completed_in_order),
        TEST(texts_equal_when_folded_are_different_entries),
        TEST(entries_with_ids_are_renamed),
        TEST(a_batch_is_as_one_after_the_other),
        TEST(thousands_are_added_in_one_trip),
        TEST(chinese_is_found_by_character_pinyin_and_initials),
        TEST(parts_may_be_in_characters_and_pinyin),
        TEST(pinyin_is_found_in_the_order_of_its_forms),
        TEST(a_book_in_part_is_damaged),
        TEST(very_long_entries_are_found_in_part),
        TEST(korean_is_found_while_it_is_typed),
        TEST(pages_have_each_entry_once),
        TEST(any_language_is_completed),
        TEST(any_bytes_are_kept),
        TEST(exact_comes_before_prefix_suffix_and_contains),
        TEST(without_the_index_only_beginnings_are_found),
        TEST(parts_of_chinese_names_are_found),
        TEST(repetitions_do_not_hide_others),
        TEST(settings_stay_with_the_book),
        TEST(other_settings_are_refused),
        TEST(a_dropped_book_is_made_anew_with_other_settings),
        TEST(a_book_that_got_lost_is_begun_anew),
        TEST(what_is_too_large_is_refused_before_it_is_sent),
        TEST(bad_options_are_refused),
        TEST(a_longest_text_of_many_readings_is_added_whole),
        TEST(foreign_data_is_reported_and_left_alone),
        TEST(a_full_server_changes_nothing),
        TEST(all_keys_of_a_book_expire),
        TEST(those_who_write_at_once_leave_a_whole_book),
        TEST(a_child_goes_on_with_the_handle),
        cmocka_unit_test(books_live_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
