/* SPDX-License-Identifier: MIT */
#include "support/books.h"

tkl_book *open_book(tkl_client *client, const tkl_book_options *options)
{
    tkl_book *book;
    assert_ok(tkl_book_open(client, tkl_str("staff"), options, &book));
    return book;
}

/* Adds texts that are separated by "|". */
int64_t book_add(tkl_book *book, const char *list)
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

int64_t book_add_id(tkl_book *book, const char *id, const char *text)
{
    int64_t added;
    tkl_book_entry entry = {.id = tkl_str(id), .text = tkl_str(text)};
    assert_ok(tkl_book_add(book, &entry, 1, &added));
    return added;
}

int64_t book_take(tkl_book *book, const char *id, const char *text)
{
    int64_t removed;
    tkl_book_entry entry = {.id = tkl_str(id), .text = tkl_str(text)};
    assert_ok(tkl_book_remove(book, &entry, 1, &removed));
    return removed;
}

/* Compares answers with "text|text"; an answer with an id is "id=text". */
void check_book_answers(const tkl_book_answers *answers, const char *expected)
{
    char line[8192] = "";
    for (size_t i = 0; i < answers->count; i++) {
        const tkl_book_answer *a = &answers->items[i];
        sprintf(line + strlen(line), "%s" TKL_FMT "%s" TKL_FMT, i ? "|" : "", TKL_ARG(a->id),
                a->id.len ? "=" : "", TKL_ARG(a->text));
    }
    assert_string_equal(line, expected);
}

void check_complete(tkl_book *book, const char *prefix, const char *expected)
{
    tkl_book_answers *answers;
    assert_ok(tkl_book_complete(book, tkl_str(prefix), 50, NONE, &answers));
    check_book_answers(answers, expected);
    assert_false(answers->more);
    tkl_book_answers_free(answers);
}

/* Compares answers that have the letter of their group before them: "e:anna|p:annabel". */
void check_find(tkl_book *book, const char *text, size_t count, bool more, const char *expected)
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
