/* SPDX-License-Identifier: MIT
 *
 * Text in many languages: folding, characters, pinyin, words.
 *
 * ctest: label threads
 */
#include <dlfcn.h>

#include "support/test.h"
#include "text/text.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char *fold(tkl_bytes text, unsigned how)
{
    tkl__buf out;
    tkl__buf_init(&out);
    assert_ok(tkl__text_fold(text, how, &out));
    char *folded = strndup(out.data, out.len);
    tkl__buf_free(&out);
    return folded;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- Folding ------------------------------------------------------------- */

static void text_is_folded(void **state)
{
    (void)state;
    const struct {
        const char *text;
        unsigned how;
        const char *folded;
    } cases[] = {
        {"", 0, ""},
        {"Hello WORLD 42!", 0, "hello world 42!"},
        {"Müller", 0, "müller"},
        {"Müller", TKL__TEXT_FOLD_ACCENTS, "muller"},
        {"Mu\xcc\x88ller", 0, "müller"}, /* decomposed */
        {"Straße", 0, "strasse"},
        {"ΌΣΟΣ", 0, "όσοσ"}, /* both small sigmas are one */
        {"Ωραίος", TKL__TEXT_FOLD_ACCENTS, "ωραιοσ"},
        {"ＡＢＣ１２３", 0, "abc123"},
        {"ﬁnal", 0, "final"},
        {"İstanbul", TKL__TEXT_FOLD_ACCENTS, "istanbul"},
        {"Łódź Ørsted Æsir Þór đ", TKL__TEXT_FOLD_ACCENTS, "lodz orsted aesir thor d"},
        {"Йога ё", TKL__TEXT_FOLD_ACCENTS, "иога е"},
        {"co\xc2\xadoperate", 0, "cooperate"}, /* a soft hyphen */
        {"ガギ が", TKL__TEXT_FOLD_ACCENTS, "ガギ が"},
        {"हिन्दी कुत्ता", TKL__TEXT_FOLD_ACCENTS, "हिन्दी कुत्ता"},
        {"각 한글", TKL__TEXT_FOLD_ACCENTS, "각 한글"},
        {"שָׁלוֹם", TKL__TEXT_FOLD_ACCENTS, "שלום"},
        {"مُحَمَّد", TKL__TEXT_FOLD_ACCENTS, "محمد"},
        {"張三豐 繁體字", 0, "張三豐 繁體字"},
        {"張三豐 繁體字", TKL__TEXT_FOLD_CHINESE, "张三丰 繁体字"},
        {"薴", TKL__TEXT_FOLD_CHINESE, "苎"},
        {"👍🏽 ok", 0, "👍🏽 ok"},
        {"김", TKL__TEXT_FOLD_HANGUL, "\u1100\u1175\u1106"},
        {"값과", TKL__TEXT_FOLD_HANGUL, "\u1100\u1161\u1107\u1109\u1100\u1169\u1161"},
        {"까 ㄱㅏㄳ", TKL__TEXT_FOLD_HANGUL, "\u1101\u1161 \u1100\u1161\u1100\u1109"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *folded = fold(tkl_str(cases[i].text), cases[i].how);
        char *again = fold(tkl_str(folded), cases[i].how);
        assert_string_equal(folded, cases[i].folded);
        assert_string_equal(again, folded);
        free(folded);
        free(again);
    }
}

/* Whatever is on the screen while a Korean text is typed begins the text. */
static void korean_texts_begin_with_what_is_typed(void **state)
{
    (void)state;
    static const char *const typed[] = {"ㄱ", "가", "간", "가나", "가난", "가나다"};
    char *whole = fold(tkl_str("가나다"), TKL__TEXT_FOLD_HANGUL);
    for (size_t i = 0; i < COUNT(typed); i++) {
        char *part = fold(tkl_str(typed[i]), TKL__TEXT_FOLD_HANGUL);
        bool begins = strncmp(whole, part, strlen(part)) == 0;
        if (begins != (i != 4))
            fail_msg("%s", typed[i]);
        free(part);
    }
    free(whole);
}

/* Syllables of all initials, vowels and finals: no two have the same letters. */
static void korean_syllables_stay_different(void **state)
{
    (void)state;
    enum { SYLLABLES = 11172 };
    static char *all[SYLLABLES];
    for (int i = 0; i < SYLLABLES; i++) {
        int c = 0xAC00 + i;
        char text[] = {(char)(0xE0 | c >> 12), (char)(0x80 | (c >> 6 & 63)),
                       (char)(0x80 | (c & 63)), 0};
        all[i] = fold(tkl_str(text), TKL__TEXT_FOLD_HANGUL);
    }
    qsort(all, SYLLABLES, sizeof *all, compare_texts);
    for (int i = 1; i < SYLLABLES; i++)
        assert_string_not_equal(all[i - 1], all[i]);
    for (int i = 0; i < SYLLABLES; i++)
        free(all[i]);
}

static void marks_in_another_order_are_the_same_text(void **state)
{
    (void)state;
    char *one = fold(tkl_str("q\xcc\x87\xcc\xa3"), 0),
         *other = fold(tkl_str("q\xcc\xa3\xcc\x87"), 0);
    assert_string_equal(one, other);
    free(one);
    free(other);
}

static void bytes_that_are_not_utf8_stay(void **state)
{
    (void)state;
    const struct {
        const char *text, *folded;
    } cases[] = {
        {"\xff", "\xff"},
        {"\xc3", "\xc3"},             /* half an é */
        {"Ab\xe5\xbc", "ab\xe5\xbc"}, /* two thirds of 张 */
        {"\x80Ä\xfe\xffÖ\xc0", "\x80ä\xfe\xffö\xc0"},
        {"\xed\xa0\x80X", "\xed\xa0\x80x"}, /* a surrogate */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *folded = fold(tkl_str(cases[i].text), TKL__TEXT_FOLD_CHINESE);
        assert_string_equal(folded, cases[i].folded);
        free(folded);
    }
    tkl__buf out;
    tkl__buf_init(&out);
    assert_ok(tkl__text_fold((tkl_bytes){"A\0\xc3\x84\0", 5}, 0, &out));
    assert_int_equal(out.len, 5);
    assert_memory_equal(out.data, "a\0\xc3\xa4\0", 5);
    tkl__buf_free(&out);
}

/* The longest expansion that there is: U+FDFA becomes 18 characters. */
static void text_that_grows_is_folded_whole(void **state)
{
    (void)state;
    char text[3 * 1000 + 1] = "";
    for (int i = 0; i < 1000; i++)
        memcpy(text + 3 * i, "\xef\xb7\xba", 4);
    char *folded = fold(tkl_str(text), TKL__TEXT_FOLD_ACCENTS);
    char *one = fold(tkl_str("\xef\xb7\xba"), TKL__TEXT_FOLD_ACCENTS);
    assert_int_equal(strlen(one), 33);
    assert_int_equal(strlen(folded), 33 * 1000);
    free(folded);
    free(one);
}

/* ---- Characters ---------------------------------------------------------- */

static void characters_are_those_that_people_see(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t max, len, count;
    } cases[] = {
        {"", 5, 0, 0},
        {"abc", 0, 0, 0},
        {"abc", 2, 2, 2},
        {"abc", 9, 3, 3},
        {"a\r\nb", 2, 3, 2},
        {"e\xcc\x81tat", 1, 3, 1},
        {"etat\xcc\x81", 4, 6, 4}, /* the mark joins the last letter */
        {"张三丰", 2, 6, 2},
        {"👍🏽👍🏽", 1, 8, 1},
        {"👨‍👩‍👧x", 1, 18, 1},
        {"🇩🇪🇫🇷", 1, 8, 1},
        {"한국", 1, 3, 1},
        {"நிநி", 1, 6, 1},
        {"\xff\xfe", 1, 1, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t len, count;
        assert_ok(tkl__text_cut(tkl_str(cases[i].text), cases[i].max, &len, &count));
        assert_int_equal(count, cases[i].count);
        assert_int_equal(len, cases[i].len);
    }
}

/* ---- Pinyin -------------------------------------------------------------- */

/* Whether the text has this form; | stands for the mark of a syllable. */
static bool has_form(const char *text, const char *form)
{
    tkl__text_form_list forms;
    bool found = false;
    char marked[128];
    snprintf(marked, sizeof marked, "%s", form);
    for (char *c = marked; *c; c++)
        if (*c == '|')
            *c = TKL__TEXT_SYLLABLE;
    assert_ok(tkl__text_forms(tkl_str(text), &forms));
    for (size_t i = 0; i < forms.count; i++)
        found = found || (forms.items[i].len == strlen(marked) &&
                          memcmp(forms.items[i].data, marked, strlen(marked)) == 0);
    tkl__text_form_list_free(&forms);
    return found;
}

static void chinese_is_written_in_pinyin(void **state)
{
    (void)state;
    const struct {
        const char *text, *form;
        bool has;
    } cases[] = {
        {"张三丰", "zhang|san|feng", true},
        {"张三丰", "z|s|f", true},
        {"张三丰", "z|s", false},
        {"重庆", "chong|qing", true}, /* several readings */
        {"重庆", "zhong|qing", true},
        {"重庆", "c|q", true},
        {"重庆", "z|q", true},
        {"曾乐", "zeng|yue", true},
        {"曾乐", "ceng|le", true},
        {"吕布", "lv|bu", true},
        {"吕布", "lu|bu", true},
        {"abc张三 x", "abc|zhang|san x", true},
        {"abc张三 x", "abc|z|s x", true},
        {"張三豐", "zhang|san|feng", true},
        {"𠀀野家", "he|ye|jia", true}, /* beyond the BMP */
        {"\xff张", "\xff|zhang", true},
        {"张三丰", "张|san|feng", true}, /* begun in characters */
        {"张三丰", "张|s|f", true},
        {"张三丰", "张|三|feng", true},
        {"张三丰", "zhang|三|feng", false},
        {"a重b庆长", "a|重b|qing|chang", true},
        {"a重b庆长", "a|重b|q|z", true},
        {"安张a", "安|za", true},
        {"hello", "hello", false},
        {"müller", "müller", false},
        {"カタカナ", "カタカナ", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (has_form(cases[i].text, cases[i].form) != cases[i].has)
            fail_msg("%s: %s", cases[i].text, cases[i].form);
}

/* 了 has two readings; eight of them have 256 combinations. */
static void of_many_combinations_each_reading_is_there(void **state)
{
    (void)state;
    tkl__text_form_list forms;
    assert_true(has_form("了了了了了了了了", "le|le|le|le|le|le|le|le"));
    assert_true(has_form("了了了了了了了了", "le|le|le|le|le|le|le|liao"));
    assert_true(has_form("了了了了了了了了", "liao|le|le|le|le|le|le|le"));
    char text[3 * 1000 + 1] = "";
    for (int i = 0; i < 1000; i++)
        memcpy(text + 3 * i, "了", 4);
    assert_ok(tkl__text_forms(tkl_str(text), &forms));
    assert_true(forms.count > 2 && forms.count <= TKL__TEXT_FORMS_MAX);
    tkl__text_form_list_free(&forms);
    assert_ok(tkl__text_forms(tkl_str(""), &forms));
    assert_int_equal(forms.count, 0);
    tkl__text_form_list_free(&forms);
}

/* Whether the query, which may mix, begins the text. */
static bool fits(const char *query, const char *text)
{
    tkl__text_mix_list mixes;
    bool found;
    assert_ok(tkl__text_mixes(tkl_str(query), &mixes));
    assert_ok(tkl__text_fits(tkl_str(text), &mixes, &found));
    return found;
}

static void queries_mix_characters_syllables_and_initials(void **state)
{
    (void)state;
    const struct {
        const char *query, *text;
        bool fits;
    } cases[] = {
        {"zhangsf", "张三丰", true},  {"zhangsfe", "张三丰", true},
        {"zsan", "张三丰", true},     {"zsanf", "张三", false},
        {"zsanf", "张三丰", true},    {"zhsf", "张三丰", true}, /* zh is an initial, too */
        {"zhang三", "张三丰", true},  {"z三f", "张三丰", true},
        {"zhang四", "张三丰", false}, {"张s丰", "张三丰", true},
        {"zhangsg", "张三丰", false}, {"zhansf", "张三丰", false}, /* zhan is no reading of 张 */
        {"zhansf", "詹三丰", true},   {"cqing", "重庆", true},     /* each of several readings */
        {"zqing", "重庆", true},      {"zhong庆", "重庆", true},
        {"chong庆", "重庆", true},    {"xiangx", "西安国学", true}, /* xi-an-g-x */
        {"xaguox", "西安国学", true}, {"abczsan", "abc张三", true},
        {"lvb", "吕布", false},                                /* a form begins so: no mix */
        {"lvb操", "吕布操", true},    {"anna", "anna", false}, /* not Chinese */
        {"z\xff", "张\xff", false},   {"", "张三丰", false},
        {"li安", "李安", true},       {"su海", "苏海", true}, /* initials that are a syllable */
        {"song杭", "宋杭", true},     {"hao梅", "郝梅", true},
        {"hming", "黄明", true},      {"zhao", "张浩", false}, /* zh begins a syllable */
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (fits(cases[i].query, cases[i].text) != cases[i].fits)
            fail_msg("%s: %s", cases[i].query, cases[i].text);
}

/* However a query is made: there are few mixes, and they are found soon. */
static void mixes_are_bounded(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "xianxianxianxianxianxianxianxian",
        "zhangsanfengzhangsanfengzhangsanfeng",
        "ananananananananananananananananananananananananananananananananan",
        "a重b重c重d重e重f重g重h重",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaa",
        "\xe5\xbc",
    };
    for (size_t i = 0; i < COUNT(queries); i++) {
        tkl__text_mix_list mixes;
        assert_ok(tkl__text_mixes(tkl_str(queries[i]), &mixes));
        assert_true(mixes.count <= TKL__TEXT_MIXES_MAX);
        for (size_t m = 0; m < mixes.count; m++)
            assert_true(mixes.items[m].count <= TKL__TEXT_FORMS_REACH);
    }
}

/* ---- Words --------------------------------------------------------------- */

static tkl__text_word_set set_of(const char *list, unsigned fold)
{
    tkl_bytes words[400];
    size_t count = 0;
    tkl__text_word_set set;
    while (*list) {
        size_t len = strcspn(list, " ");
        words[count++] = (tkl_bytes){list, len};
        list += len + (list[len] == ' ');
    }
    assert_ok(tkl__text_word_set_make(words, count, fold, &set));
    return set;
}

/* The words as "text@position", bigrams as "text~position", characters that
 * are no words as "text.position", with spaces between. */
static char *words_of(tkl_bytes text, const tkl__text_word_options *options)
{
    tkl__text_word_list words;
    char *line = calloc(1, 4096);
    assert_ok(tkl__text_words(text, options, &words));
    for (size_t i = 0; i < words.count; i++) {
        const tkl__text_word *w = &words.items[i];
        assert_true(w->start + w->len <= text.len);
        sprintf(line + strlen(line), "%s" TKL_FMT "%c%u", i ? " " : "", TKL_ARG(w->text),
                "@~."[w->kind], w -> position);
    }
    tkl__text_word_list_free(&words);
    return line;
}

static void words_are_found(void **state)
{
    (void)state;
    tkl__text_word_set stop = set_of(tkl__text_stop_words("en"), 0);
    tkl__text_word_set halt = set_of(tkl__text_stop_words("zh"), 0);
    tkl__text_word_set user = set_of("三丰 张三 李四光", 0);
    const struct {
        const char *text;
        tkl__text_word_options options;
        const char *words;
    } cases[] = {
        {"", {0}, ""},
        {"... --- !", {0}, ""},
        {"Hello, World!", {0}, "hello@0 world@1"},
        {"Don’t can't", {0}, "don't@0 can't@1"},
        {"👍🏽 👍 👍🏿!", {0}, "👍@0 👍@1 👍@2"},
        {"❤️ ❤ ✈️, ☀️!", {0}, "❤@0 ❤@1 ✈@2 ☀@3"},
        {"© a ™ b ↔ c", {0}, "a@0 b@1 c@2"},
        {"👍🏽", {.stem = "en"}, "👍@0"},
        {"👩🏽‍💻 👩‍💻", {0}, "👩💻@0 👩💻@1"},
        {"🏽", {0}, "🏽@0"},
        {"The Cats AREN’T running", {.stop = &stop}, "cats@1 running@3"},
        {"The Cats were running", {.stop = &stop, .stem = "en"}, "cat@1 run@3"},
        {"Ann's books", {.stem = "english"}, "ann@0 book@1"},
        {"étudiantes", {.stem = "fr", .fold = TKL__TEXT_FOLD_ACCENTS}, "etudi@0"},
        {"Müller-Lüdenscheidt", {.fold = TKL__TEXT_FOLD_ACCENTS}, "muller@0 ludenscheidt@1"},
        {"pi is 3.14 in v2.0", {0}, "pi@0 is@1 3.14@2 in@3 v2.0@4"},
        {"I ❤️ 🍕 x", {0}, "i@0 ❤@1 🍕@2 x@3"},
        {"a\xff\xfe"
         "b",
         {0},
         "a@0 b@1"},
        {"我爱北京天安门", {0}, "我@0 爱@1 北京@2 天安门@4"},
        {"我爱北京", {.bigrams = true}, "我@0 我爱~0 爱@1 爱北~1 北京@2 北.2 京.3"},
        {"书的人", {.stop = &halt}, "书@0 人@2"},
        {"书的人", {.stop = &halt, .bigrams = true}, "书@0 书的~0 的人~1 人@2"},
        {"iPhone手机 ok", {.bigrams = true}, "iphone@0 手机@1 手.1 机.2 ok@3"},
        {"張三",
         {.fold = TKL__TEXT_FOLD_CHINESE, .bigrams = true, .user = &user},
         "张@0 张三@0 三@1"},
        {"李四光年", {.user = &user}, "李@0 李四光@0 四@1 光@2 年@3"},
        {"张三", {.bigrams = true, .query = true}, "张三~0"},
        {"我爱北京", {.bigrams = true, .query = true}, "我爱~0 爱北~1 北京~2"},
        {"T恤 5月", {.bigrams = true, .query = true}, "t@0 恤.1 5@2 月.3"},
        {"T恤衫", {.bigrams = true}, "t@0 恤@1 恤衫~1 衫@2"},
        {"李四光", {.bigrams = true, .query = true, .user = &user}, "李四光@0"},
        {"李四", {.bigrams = true, .query = true, .user = &user}, "李四~0"},
        {"的 对于 书", {.bigrams = true, .query = true, .stop = &halt}, "书.3"},
        {"对于书", {.bigrams = true, .query = true, .stop = &halt}, "对于~0 于书~1"},
        {"我爱北京", {.query = true}, "我@0 爱@1 北京@2"},
        {"东京タワー", {0}, "东京@0 タワー@2"},
        {"서울에서 API를", {0}, "서울에서@0 api@4 를@5"},
        {"서울에", {.bigrams = true}, "서울에@0 서울~0 서.0 울에~1 울.1 에.2"},
        {"서울", {.bigrams = true, .query = true}, "서울~0"},
        {"\xe1\x84\x89\xe1\x85\xa5\xe1\x84\x8b\xe1\x85\xae\xe1\x86\xaf", /* the same by letters */
         {.bigrams = true, .query = true},
         "서울~0"},
        {"か\xe3\x82\x99き", {.bigrams = true, .query = true}, "がき~0"},
        {"สวัสดีครับ", {0}, "สวัสดี@0 ครับ@1"},
        {"שלום עולם", {0}, "שלום@0 עולם@1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *words = words_of(tkl_str(cases[i].text), &cases[i].options);
        assert_string_equal(words, cases[i].words);
        free(words);
    }
    tkl__text_word_set_free(&stop);
    tkl__text_word_set_free(&halt);
    tkl__text_word_set_free(&user);
}

/* Whatever the dictionary makes of it: each pair of neighbours is a word or a bigram. */
static void no_pair_of_characters_is_missed(void **state)
{
    (void)state;
    const char *text = "南京市长江大桥研究生命起源中华人民共和国万岁";
    tkl__text_word_list words;
    assert_ok(tkl__text_words(tkl_str(text), &(tkl__text_word_options){.bigrams = true}, &words));
    assert_int_equal(words.positions, strlen(text) / 3);
    for (size_t at = 0; at + 6 <= strlen(text); at += 3) {
        int found = 0;
        for (size_t i = 0; i < words.count; i++)
            found += words.items[i].start == at && words.items[i].len == 6 &&
                     words.items[i].position == at / 3;
        assert_int_equal(found, 1);
    }
    tkl__text_word_list_free(&words);
}

static void where_a_word_stands_is_told(void **state)
{
    (void)state;
    const char *text = "  Die STRASSEN, ﬁne";
    tkl__text_word_list words;
    assert_ok(tkl__text_words(tkl_str(text), &(tkl__text_word_options){.stem = "de"}, &words));
    assert_int_equal(words.count, 3);
    assert_int_equal(words.items[1].start, 6);
    assert_int_equal(words.items[1].len, 8);
    assert_memory_equal(words.items[1].text.data, "strass", 6);
    assert_memory_equal(text + words.items[2].start, "ﬁne", words.items[2].len);
    tkl__text_word_list_free(&words);
}

static void what_there_is_not_is_said(void **state)
{
    (void)state;
    tkl__text_word_list words;
    assert_code(tkl__text_words(tkl_str("x"), &(tkl__text_word_options){.stem = "klingon"}, &words),
                TKL_EINVAL);
    assert_contains(tkl_errmsg(), "klingon");
    assert_code(tkl__text_check_stem("a language with a name that is far too long"), TKL_EINVAL);
    assert_ok(tkl__text_check_stem("en"));
    assert_null(tkl__text_stop_words("xx"));
    tkl__text_word_set none = {0};
    assert_false(tkl__text_word_set_has(&none, tkl_str("x")));
    assert_ok(tkl__text_word_set_make(NULL, 0, 0, &none));
    assert_false(tkl__text_word_set_has(&none, tkl_str("")));
    tkl__text_word_set_free(&none);
    char *huge = malloc(TKL__TEXT_MAX + 1);
    memset(huge, '\xc3', TKL__TEXT_MAX + 1);
    assert_code(tkl__text_words((tkl_bytes){huge, TKL__TEXT_MAX + 1}, NULL, &words), TKL_EINVAL);
    free(huge);
}

static void a_long_text_is_taken_apart(void **state)
{
    (void)state;
    enum { WORDS = 100000 };
    char *text = malloc(WORDS * 7 + 1);
    tkl__text_word_list words;
    for (int i = 0; i < WORDS; i++)
        memcpy(text + 7 * i, "北京 ", 8);
    assert_ok(tkl__text_words(tkl_str(text), &(tkl__text_word_options){.bigrams = true}, &words));
    assert_int_equal(words.count, 3 * WORDS); /* and the characters */
    tkl__text_word_list_free(&words);
    free(text);
}

/* ---- The library --------------------------------------------------------- */

static void work(void *arg, int index)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        char *words = words_of(tkl_str("我爱北京 running"),
                               &(tkl__text_word_options){.stem = index % 2 ? "en" : "de"});
        assert_string_equal(words,
                            index % 2 ? "我@0 爱@1 北京@2 run@4" : "我@0 爱@1 北京@2 running@4");
        free(words);
    }
}

static void threads_have_their_own_tools(void **state)
{
    (void)state;
    crew_run(8, work, NULL);
}

/* This program is not linked with ICU, and plain text does not load it. Runs first. */
static void ascii_needs_no_icu(void **state)
{
    (void)state;
    size_t len, count;
    free(fold(tkl_str("Hello"), TKL__TEXT_FOLD_ACCENTS));
    assert_ok(tkl__text_cut(tkl_str("Hello"), 3, &len, &count));
    assert_null(dlopen("libtackle-text.so.0.1.0", RTLD_NOW | RTLD_NOLOAD));
    free(fold(tkl_str("é"), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ascii_needs_no_icu),
        cmocka_unit_test(text_is_folded),
        cmocka_unit_test(korean_texts_begin_with_what_is_typed),
        cmocka_unit_test(korean_syllables_stay_different),
        cmocka_unit_test(marks_in_another_order_are_the_same_text),
        cmocka_unit_test(bytes_that_are_not_utf8_stay),
        cmocka_unit_test(text_that_grows_is_folded_whole),
        cmocka_unit_test(characters_are_those_that_people_see),
        cmocka_unit_test(chinese_is_written_in_pinyin),
        cmocka_unit_test(of_many_combinations_each_reading_is_there),
        cmocka_unit_test(queries_mix_characters_syllables_and_initials),
        cmocka_unit_test(mixes_are_bounded),
        cmocka_unit_test(words_are_found),
        cmocka_unit_test(no_pair_of_characters_is_missed),
        cmocka_unit_test(where_a_word_stands_is_told),
        cmocka_unit_test(what_there_is_not_is_said),
        cmocka_unit_test(a_long_text_is_taken_apart),
        cmocka_unit_test(threads_have_their_own_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
