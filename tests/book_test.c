/* SPDX-License-Identifier: MIT
 *
 * Address books: entries, pages, finding, settings, and many writers at once.
 *
 * ctest: label threads
 */
#include <sys/wait.h>
#include <unistd.h>

#include "support/books.h"
#include "support/cluster.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Entries ------------------------------------------------------------- */

static void names_are_completed_in_order(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, NULL);
    check_complete(b, "", "");
    assert_int_equal(book_add(b, "Bob Smith|bob|Anna|anna Karenina|Zoë|ANNABEL"), 6);
    assert_int_equal(book_add(b, "bob|Carl"), 1);
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
    tkl_book *b = open_book(f->client, &(tkl_book_options){.accents = TKL_SETTING_ON});
    assert_int_equal(book_add(b, "Muller|müller|MULLER|muller"), 4);
    check_complete(b, "mul", "muller|MULLER|Muller|müller");
    assert_int_equal(book_take(b, "", "MULLER"), 1);
    check_complete(b, "mül", "muller|Muller|müller");
    check_find(b, "Müller", 10, false, "e:muller|e:Muller|e:müller");
    tkl_book_close(b);
}

static void entries_with_ids_are_renamed(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    tkl_book_info *info;
    assert_int_equal(book_add_id(b, "7", "Ann Lee"), 1);
    assert_int_equal(book_add_id(b, "8", "Ann Lee"), 1);
    assert_int_equal(book_add(b, "Ann Lee"), 1);
    check_complete(b, "ann", "Ann Lee|7=Ann Lee|8=Ann Lee");
    assert_int_equal(book_add_id(b, "7", "张三"), 0);
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
    book_add(b, "Eve");
    assert_code(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("Eve")}, tkl_str("李四")),
                TKL_EXISTS);
    assert_ok(tkl_book_rename(b, &(tkl_book_entry){.text = tkl_str("Eve")}, tkl_str("Eve")));
    assert_ok(tkl_book_show(b, &info));
    assert_int_equal(info->entries, 4);
    tkl_book_info_free(info);
    assert_int_equal(book_take(b, "7", ""), 1);
    assert_int_equal(book_take(b, "7", ""), 0);
    assert_int_equal(book_take(b, "8", "another text"), 1);
    assert_int_equal(book_take(b, "", "李四") + book_take(b, "", "Eve"), 2);
    assert_ok(tkl_book_show(b, &info));
    assert_int_equal(info->entries, 0);
    tkl_book_info_free(info);
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
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_SETTING_ON});
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
    tkl_book *b = open_book(f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON});
    char seen[1000] = {0}, text[16];
    size_t pages = 0, total = 0;
    tkl_bytes after = NONE;
    tkl_book_answers *answers = NULL, *page;
    for (int i = 0; i < 1000; i++) {
        sprintf(text, "张%s%s%s", characters[i / 100], characters[i / 10 % 10], characters[i % 10]);
        char *id = test_format("%d", i);
        book_add_id(b, id, text);
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

/* ---- Finding ------------------------------------------------------------- */

static void exact_comes_before_prefix_suffix_and_contains(void **state)
{
    fixture *f = *state;
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_SETTING_ON});
    book_add(b, "ana|Banana|anagram|Hanah|Diana|susana b|an|ANA");
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
    book_add(b, "ana|Banana|anagram");
    check_find(b, "ana", 50, false, "e:ana|p:anagram");
    check_find(b, "", 50, false, "p:ana|p:anagram|p:Banana");
    tkl_book_answers *answers;
    assert_ok(tkl_book_find(b, tkl_str("ana"), 50, &answers));
    assert_false(answers->parts); /* which it says */
    tkl_book_answers_free(answers);
    tkl_book_close(b);
}

/* One text holds the query a hundred times: the others are still found, or the answer says that
 * there may be more. */
static void repetitions_do_not_hide_others(void **state)
{
    fixture *f = *state;
    char text[121];
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_SETTING_ON});
    memset(text, 'a', 120);
    text[120] = 0;
    text[0] = 'x';
    book_add(b, text);
    book_add(b, "yab");
    tkl_book_answers *answers;
    assert_ok(tkl_book_find(b, tkl_str("a"), 5, &answers));
    assert_int_equal(answers->count, 1);
    assert_true(answers->more);
    assert_true(answers->parts);
    tkl_book_answers_free(answers);
    assert_ok(tkl_book_find(b, tkl_str("a"), 500, &answers));
    assert_int_equal(answers->count, 2);
    assert_false(answers->more);
    tkl_book_answers_free(answers);
    tkl_book_close(b);
}

/* A thousand entries of 3 KB, half of which are parts. */
static void very_long_entries_are_found_in_part(void **state)
{
    fixture *f = *state;
    enum { LONG = 1000 };
    static char id[LONG + 1];
    tkl_book *b = open_book(f->client, &(tkl_book_options){.contains = TKL_SETTING_ON});
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

/* ---- Settings ------------------------------------------------------------ */

static void settings_stay_with_the_book(void **state)
{
    fixture *f = *state;
    tkl_book_options all = {.accents = TKL_SETTING_ON, .pinyin = TKL_SETTING_ON};
    tkl_book *maker = open_book(f->client, &all), *guest = open_book(f->client, NULL);
    tkl_book_info *info;
    assert_code(tkl_book_show(guest, &info), TKL_NOTFOUND);
    check_complete(guest, "mul", ""); /* no book yet */
    book_add(maker, "Müller|张三");
    check_complete(guest, "mul", "Müller");
    check_complete(guest, "zs", "张三");
    book_add(guest, "Łódź");
    check_complete(maker, "lodz", "Łódź");
    assert_ok(tkl_book_show(guest, &info));
    assert_true(info->accents && info->pinyin && !info->contains);
    assert_int_equal(info->entries, 3);
    tkl_book_info_free(info);
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
        {{.accents = TKL_SETTING_OFF}, "made with accents"},
        {{.contains = TKL_SETTING_ON}, "made without contains"},
        {{.pinyin = TKL_SETTING_ON}, "made without pinyin"},
    };
    tkl_book *maker = open_book(f->client, &(tkl_book_options){.accents = TKL_SETTING_ON});
    book_add(maker, "Müller");
    for (size_t i = 0; i < COUNT(cases); i++) {
        tkl_book *b = open_book(f->client, &cases[i].options);
        tkl_book_answers *answers;
        tkl_book_info *info;
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
    accents = open_book(f->client, &(tkl_book_options){.accents = TKL_SETTING_ON});
    book_add(old, "Müller");
    assert_ok(tkl_book_drop(old));
    assert_code(tkl_book_drop(old), TKL_NOTFOUND);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    book_add(accents, "Müller");
    check_complete(old, "mul", "Müller"); /* the handle learns */
    tkl_book_close(old);
    tkl_book_close(accents);
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
    tkl_book *b = open_book(
        f->client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    book_add(b, "first");
    crew_run(8, churn, f);
    tkl_book_answers *answers;
    tkl_book_info *info;
    assert_ok(tkl_book_show(b, &info));
    assert_ok(tkl_book_complete(b, tkl_str(""), 50, NONE, &answers));
    assert_int_equal(answers->count, info->entries);
    tkl_book_info_free(info);
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
    book_add(b, "Änne");
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
    tkl_book *b = open_book(
        client, &(tkl_book_options){.pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON});
    book_add(b, "张三|Anna");
    book_add_id(b, "1", "Bob");
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
        TEST(pages_have_each_entry_once),
        TEST(exact_comes_before_prefix_suffix_and_contains),
        TEST(without_the_index_only_beginnings_are_found),
        TEST(repetitions_do_not_hide_others),
        TEST(very_long_entries_are_found_in_part),
        TEST(settings_stay_with_the_book),
        TEST(other_settings_are_refused),
        TEST(a_dropped_book_is_made_anew_with_other_settings),
        TEST(those_who_write_at_once_leave_a_whole_book),
        TEST(a_child_goes_on_with_the_handle),
        cmocka_unit_test(books_live_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
