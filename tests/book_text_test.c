/* SPDX-License-Identifier: MIT
 *
 * Address books in all languages: Chinese by pinyin, Korean while it is typed, any bytes.
 */
#include "support/books.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Chinese ------------------------------------------------------------- */

static void chinese_is_found_by_character_pinyin_and_initials(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON});
    book_add(b, "张三丰|张三|重庆大厦|吕布|iPhone手机|Zhang Li");
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
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON});
    book_add(b, "张三|章|Zhang Li");
    check_find(b, "zhang", 10, false, "e:章|p:Zhang Li|p:张三");
    tkl_book_close(b);
}

static void parts_may_be_in_characters_and_pinyin(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    book_add(b, "张三丰|李三丰子");
    check_find(b, "三feng", 10, false, "s:张三丰|c:李三丰子");
    check_find(b, "sanf", 10, false, "c:张三丰|c:李三丰子");
    tkl_book_close(b);
}

static void parts_of_chinese_names_are_found(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    book_add(b, "张三丰|李三丰年");
    check_find(b, "三丰", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "sanfeng", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "sf", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "feng", 50, false, "s:张三丰|c:李三丰年");
    check_find(b, "ang", 50, false, ""); /* inside a syllable */
    tkl_book_close(b);
}

/* Each character as itself, as a syllable or as an initial. */
static void characters_pinyin_and_initials_may_be_mixed(void **state)
{
    fixture *f = *state;
    const struct {
        const char *query, *complete;
    } cases[] = {
        {"zhangsf", "张三丰"},   {"zhang三", "张三|张三丰"},
        {"zsan", "张三|张三丰"}, {"zsanfe", "张三丰"},
        {"z三f", "张三丰"},      {"张s丰", "张三丰"},
        {"zhsf", "张三丰"},      {"zhsg", ""},
        {"cqingr", "重庆人"},    {"zqingr", "重庆人"},
        {"zhong庆", "重庆人"},   {"chong庆", "重庆人"},
        {"ali", "安李"},         {"x(zsan", "x(张三"},
        {"zsan5%", "张三5%"},    {"zhangs ", ""},
    };
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON});
    book_add(b, "张三丰|张三|章丝|重庆人|安李|x(张三");
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (strchr(cases[i].query, '5'))
            book_add(b, "张三5%");
        check_complete(b, cases[i].query, cases[i].complete);
    }
    assert_int_equal(book_take(b, "", "张三丰"), 1);
    check_complete(b, "zhangsf", "");
    tkl_book_close(b);
}

/* Mixtures are found behind names that begin with the query, and also inside of a name. */
static void mixtures_are_found_behind_the_others(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    book_add(b, "zsanne|张三丰|李张三|xzsan");
    check_complete(b, "zsan", "zsanne|张三丰");
    check_find(b, "zsan", 10, false, "p:zsanne|p:张三丰|s:xzsan|c:李张三");
    check_find(b, "zsan", 2, true, "p:zsanne|p:张三丰");
    check_find(b, "sfeng", 10, false, "c:张三丰");
    check_find(b, "anfeng", 10, false, "");
    tkl_book_close(b);
}

/* zhang-f, zhan-g-f, zh-ang-f, z-hang-f; but z-hang is read as zhang. */
static void a_mixture_comes_once_over_all_pages(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON});
    tkl_book_answers *before = NULL, *page;
    tkl_bytes after = NONE;
    char all[256] = "";
    book_add(b, "周航峰|张昂峰|詹刚峰|章放|周航");
    do {
        assert_ok(tkl_book_complete(b, tkl_str("zhangf"), 1, after, &page));
        assert_true(page->count <= 1);
        if (page->count)
            sprintf(all + strlen(all), TKL_FMT "|", TKL_ARG(page->items[0].text));
        tkl_book_answers_free(before);
        before = page;
        after = page->next;
    } while (after.len);
    tkl_book_answers_free(before);
    assert_string_equal(all, "章放|詹刚峰|张昂峰|周航峰|");
    check_complete(b, "zhang", "张昂峰|詹刚峰|章放");
    tkl_book_close(b);
}

/* A request reads a limited number of candidates; the next page goes on behind them. */
static void the_search_for_mixtures_is_bounded(void **state)
{
    fixture *f = *state;
    enum { MANY = 2400 };
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON});
    tkl_book_entry *entries = calloc(MANY, sizeof *entries);
    char(*texts)[24] = calloc(MANY, sizeof *texts);
    for (int i = 0; i < MANY; i++) {
        sprintf(texts[i], "张四%04d", i);
        entries[i].text = tkl_str(texts[i]);
    }
    assert_ok(tkl_book_add(b, entries, MANY, NULL));
    book_add(b, "张森z");
    tkl_book_answers *before = NULL, *page;
    tkl_bytes after = NONE;
    int pages = 0;
    size_t found = 0;
    do {
        assert_ok(tkl_book_complete(b, tkl_str("zsen"), 10, after, &page));
        found += page->count;
        pages++;
        tkl_book_answers_free(before);
        before = page;
        after = page->next;
    } while (after.len);
    tkl_book_answers_free(before);
    assert_int_equal(found, 1);
    assert_true(pages >= 3);
    assert_ok(tkl_book_find(b, tkl_str("zsen"), 10, &page));
    assert_true(page->more);
    tkl_book_answers_free(page);
    free(entries);
    free(texts);
    tkl_book_close(b);
}

static void pages_of_mixtures_go_on_where_they_were(void **state)
{
    fixture *f = *state;
    const tkl_bytes bad[] = {{"\0", 1}, {"\0001", 2}, {"\0000 ", 3}, {"\00099 ", 4}, {"\0x ", 3}};
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON});
    tkl_book_answers *page;
    book_add(b, "张三");
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_code(tkl_book_complete(b, tkl_str("zsan"), 5, bad[i], &page), TKL_EINVAL);
        assert_null(page);
    }
    assert_ok(tkl_book_complete(b, tkl_str("zsan"), 5, (tkl_bytes){"\0001 ", 3}, &page));
    assert_int_equal(page->count, 1);
    tkl_book_answers_free(page);
    tkl_book_close(b);
}

/* A program that serves each page with a handle of its own knows no settings at first. */
static void another_handle_goes_on_with_a_page(void **state)
{
    fixture *f = *state;
    const struct {
        const char *prefix, *second;
    } cases[] = {{"mül", "Müllermann"}, {"zsan", "张三丰"}};
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.accents = TKL_SETTING_ON, .pinyin = TKL_SETTING_ON});
    book_add(b, "Müller|Müllermann|张三|张三丰");
    for (size_t i = 0; i < COUNT(cases); i++) {
        tkl_book *other = open_book(f->client, NULL);
        tkl_book_answers *first, *second;
        tkl_bytes prefix = tkl_str(cases[i].prefix);
        assert_ok(tkl_book_complete(b, prefix, 1, NONE, &first));
        assert_ok(tkl_book_complete(other, prefix, 1, first->next, &second));
        check_book_answers(second, cases[i].second);
        tkl_book_answers_free(first);
        tkl_book_answers_free(second);
        tkl_book_close(other);
    }
    tkl_book_close(b);
}

/* ---- Other languages ----------------------------------------------------- */

static void korean_is_found_while_it_is_typed(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_SETTING_ON});
    book_add(b, "김민수|가나다|간호사");
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

static void parts_begin_at_broken_characters_too(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_SETTING_ON});
    book_add(b, "\x82\xa0\x82\xa2"); /* あい in Shift-JIS */
    check_find(b, "\x82\xa2", 10, false, "s:\x82\xa0\x82\xa2");
    check_find(b, "\xa0\x82", 10, false, "c:\x82\xa0\x82\xa2");
    assert_int_equal(book_take(b, "", "\x82\xa0\x82\xa2"), 1);
    check_find(b, "\x82", 10, false, "");
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
        assert_int_equal(book_add(b, cases[i].text), 1);
        tkl_book_answers *answers;
        assert_ok(tkl_book_complete(b, tkl_str(cases[i].prefix), 50, NONE, &answers));
        assert_int_equal(answers->count, 1);
        assert_int_equal(answers->items[0].text.len, strlen(cases[i].text));
        assert_memory_equal(answers->items[0].text.data, cases[i].text, strlen(cases[i].text));
        tkl_book_answers_free(answers);
        assert_int_equal(book_take(b, "", cases[i].text), 1);
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
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chinese_is_found_by_character_pinyin_and_initials),
        TEST(pinyin_is_found_in_the_order_of_its_forms),
        TEST(parts_may_be_in_characters_and_pinyin),
        TEST(parts_of_chinese_names_are_found),
        TEST(characters_pinyin_and_initials_may_be_mixed),
        TEST(mixtures_are_found_behind_the_others),
        TEST(a_mixture_comes_once_over_all_pages),
        TEST(the_search_for_mixtures_is_bounded),
        TEST(pages_of_mixtures_go_on_where_they_were),
        TEST(another_handle_goes_on_with_a_page),
        TEST(korean_is_found_while_it_is_typed),
        TEST(parts_begin_at_broken_characters_too),
        TEST(any_language_is_completed),
        TEST(any_bytes_are_kept),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
