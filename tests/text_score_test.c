/* SPDX-License-Identifier: MIT
 *
 * Texts as numbers: in the order of their bytes, and exact.
 */
#include <math.h>
#include <stdlib.h>

#include <tackle/text.h>

#include "support/test.h"

static int order(tkl_bytes a, tkl_bytes b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int by_bytes = shorter ? memcmp(a.data, b.data, shorter) : 0;
    return by_bytes ? by_bytes : (a.len > b.len) - (a.len < b.len);
}

/* Short texts of few different bytes, so that many are alike. */
static tkl_bytes random_text(char store[10])
{
    static const char bytes[] = {'\0', 'a', 'b', '\x7f', '\x80', '\xff'};
    size_t len = (size_t)rand() % 10;
    for (size_t i = 0; i < len; i++)
        store[i] = bytes[(size_t)rand() % sizeof bytes];
    return (tkl_bytes){store, len};
}

static bool same_start(tkl_bytes a, tkl_bytes b)
{
    return a.len > 6 && b.len > 6 && memcmp(a.data, b.data, 6) == 0;
}

static void scores_are_in_the_order_of_texts(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char store_a[10], store_b[10];
        tkl_bytes a = random_text(store_a), b = random_text(store_b);
        double x = tkl_text_score(a), y = tkl_text_score(b);
        if (order(a, b) == 0 || same_start(a, b))
            assert_true(x == y);
        else
            assert_true((x < y) == (order(a, b) < 0) && x != y);
    }
}

static void scores_are_exact(void **state)
{
    (void)state;
    static const tkl_bytes last = TKL_LIT("\xff\xff\xff\xff\xff\xff\xff");
    assert_true(tkl_text_score((tkl_bytes){NULL, 0}) == 0);
    assert_true(tkl_text_score((tkl_bytes){"\0\0", 1}) > 0);
    assert_true(tkl_text_score((tkl_bytes){"\0\0", 1}) < tkl_text_score((tkl_bytes){"\0\0", 2}));
    assert_true(tkl_text_score(tkl_str("abcdefg")) == tkl_text_score(tkl_str("abcdef")) + 1);
    assert_true(tkl_text_score(last) < 0x1p50);
    assert_true(tkl_text_score(last) == floor(tkl_text_score(last)));
    assert_true(tkl_text_score(tkl_str("a")) == 2.0 * 98 * pow(257, 5));
    assert_true(tkl_text_score(tkl_str("中")) < tkl_text_score(tkl_str("文")));
}

static void a_range_holds_what_begins_so(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        char store_a[10], store_b[10];
        tkl_bytes prefix = random_text(store_a), text = random_text(store_b);
        double low, high, score = tkl_text_score(text);
        tkl_text_score_range(prefix, &low, &high);
        bool begins = text.len >= prefix.len && memcmp(text.data, prefix.data, prefix.len) == 0;
        bool within = score >= low && score <= high;
        assert_true(!begins || within);
        if (prefix.len <= 6)
            assert_true(begins == within);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_in_the_order_of_texts),
        cmocka_unit_test(scores_are_exact),
        cmocka_unit_test(a_range_holds_what_begins_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
