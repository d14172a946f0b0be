/* SPDX-License-Identifier: MIT
 *
 * The staff of a company: completed while a user types, page by page, and found by any part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", tkl_errmsg());
    exit(1);
}

static void fill_book(tkl_book *book)
{
    tkl_book_entry entries[] = {
        {.id = tkl_str("1"), .text = tkl_str("张三丰")},
        {.id = tkl_str("2"), .text = tkl_str("Zhang Wei")},
        {.id = tkl_str("3"), .text = tkl_str("Zoë Müller")},
        {.id = tkl_str("4"), .text = tkl_str("Ann Miller")},
    };
    stop_on(tkl_book_add(book, entries, 4, NULL));
}

/* Prints all pages, two names each. */
static void complete(tkl_book *book, const char *prefix)
{
    tkl_book_answers *page = NULL, *before = NULL;
    tkl_bytes after = {NULL, 0};
    do {
        stop_on(tkl_book_complete(book, tkl_str(prefix), 2, after, &page));
        for (size_t i = 0; i < page->count; i++)
            printf("%-6s " TKL_FMT " " TKL_FMT "\n", prefix, TKL_ARG(page->items[i].id),
                   TKL_ARG(page->items[i].text));
        tkl_book_answers_free(before);
        before = page;
        after = page->next;
    } while (after.len > 0);
    tkl_book_answers_free(page);
}

static void find_text(tkl_book *book, const char *text)
{
    tkl_book_answers *found;
    stop_on(tkl_book_find(book, tkl_str(text), 10, &found));
    for (size_t i = 0; i < found->count; i++)
        printf("%-6s " TKL_FMT " (%s)\n", text, TKL_ARG(found->items[i].text),
               tkl_book_match_name(found->items[i].match));
    tkl_book_answers_free(found);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_book_options options = {
        .accents = TKL_SETTING_ON, .pinyin = TKL_SETTING_ON, .contains = TKL_SETTING_ON};
    tkl_client *client;
    tkl_book *book;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_book_open(client, tkl_str("staff"), &options, &book));
    fill_book(book);
    complete(book, "z");
    find_text(book, "sanf");
    find_text(book, "mul");
    tkl_book_close(book);
    tkl_close(client);
}
