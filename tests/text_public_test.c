/* SPDX-License-Identifier: MIT
 *
 * Folding, words and pinyin as programs see them.
 */
#include <string.h>

#include <tackle/text.h>

#include "support/test.h"

static void texts_are_folded_in_order(void **state)
{
    (void)state;
    const tkl_bytes texts[] = {TKL_LIT("Straße"), TKL_LIT(""), TKL_LIT("MÜLLER"), TKL_LIT("A\0B")};
    tkl_names *folded;
    tkl_text_rules rules = {.accents = true};
    assert_ok(tkl_text_fold(texts, 4, &rules, &folded));
    assert_int_equal(folded->count, 4);
    assert_memory_equal(folded->items[0].data, "strasse", 8);
    assert_int_equal(folded->items[1].len, 0);
    assert_memory_equal(folded->items[2].data, "muller", 7);
    assert_int_equal(folded->items[3].len, 3);
    assert_memory_equal(folded->items[3].data, "a\0b", 3);
    tkl_names_free(folded);
    assert_ok(tkl_text_fold(NULL, 0, NULL, &folded));
    assert_int_equal(folded->count, 0);
    tkl_names_free(folded);
    memset(&rules, 0xff, sizeof rules);
    assert_code(tkl_text_fold(texts, 4, &rules, &folded), TKL_EINVAL);
    assert_null(folded);
}

static void words_have_places(void **state)
{
    (void)state;
    tkl_text_words *words;
    tkl_text_rules rules = {
        .accents = true, .stem = "en", .usual_stop_words = true, .stop_words = TKL_LIT("  shop ")};
    assert_ok(tkl_text_words_find(tkl_str("The Cafés, dear shop, were closing"), &rules, &words));
    assert_int_equal(words->count, 2);
    assert_memory_equal(words->items[0].text.data, "cafe", 4);
    assert_int_equal(words->items[0].start, 4);
    assert_int_equal(words->items[0].len, 6);
    assert_int_equal(words->items[1].position, 5);
    assert_int_equal(words->items[1].kind, TKL_TEXT_WORD);
    tkl_text_words_free(words);
    assert_ok(tkl_text_words_find((tkl_bytes){NULL, 0}, NULL, &words));
    assert_int_equal(words->count, 0);
    tkl_text_words_free(words);
    tkl_text_words_free(NULL);
    assert_code(tkl_text_words_find(tkl_str("a"), &(tkl_text_rules){.stem = "klingon"}, &words),
                TKL_EINVAL);
    assert_null(words);
    assert_string_equal(tkl_text_word_kind_name(TKL_TEXT_PAIR), "pair");
    assert_string_equal(tkl_text_word_kind_name((tkl_text_word_kind)9), "unknown");
}

static void pinyin_is_written_in_all_ways(void **state)
{
    (void)state;
    tkl_names *forms;
    bool whole = false, initials = false;
    assert_ok(tkl_text_pinyin(tkl_str("張三"), &forms)); /* traditional: the same name */
    for (size_t i = 0; i < forms->count; i++) {
        whole = whole || (forms->items[i].len == 8 && !memcmp(forms->items[i].data, "zhangsan", 8));
        initials = initials || (forms->items[i].len == 2 && !memcmp(forms->items[i].data, "zs", 2));
        assert_null(memchr(forms->items[i].data, '\x1f', forms->items[i].len));
        for (size_t k = 0; k < i; k++)
            assert_false(forms->items[i].len == forms->items[k].len &&
                         !memcmp(forms->items[i].data, forms->items[k].data, forms->items[i].len));
    }
    assert_true(whole && initials);
    tkl_names_free(forms);
    assert_ok(tkl_text_pinyin(tkl_str("abc"), &forms));
    assert_int_equal(forms->count, 0);
    tkl_names_free(forms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_folded_in_order),
        cmocka_unit_test(words_have_places),
        cmocka_unit_test(pinyin_is_written_in_all_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
