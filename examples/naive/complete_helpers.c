/* SPDX-License-Identifier: MIT
 *
 * Completion by helper members: a program adds a predecessor and a successor of the prefix to the
 * sorted set, reads the members between them, and removes them. Another user sees them meanwhile.
 */
#include "naive.h"

static void put_helpers(void)
{
    COMMAND("ZADD", "naive-names", "0", "anm{", "0", "ann{"); /* around all that begins with ann */
}

static void remove_helpers(void)
{
    COMMAND("ZREM", "naive-names", "anm{", "ann{");
}

/* Answers of one user that are no names. */
static int read_naively(void)
{
    int strange = 0;
    COMMAND("ZADD", "naive-names", "0", "anna", "0", "anton");
    put_helpers(); /* another user completes at the same time */
    const tkl_reply *names = COMMAND("ZRANGE", "naive-names", "0", "-1");
    for (size_t i = 0; i < tkl_reply_count(names); i++)
        strange += strchr(tkl_reply_str(tkl_reply_at(names, i)), '{') != NULL;
    remove_helpers();
    COMMAND("DEL", "naive-names");
    return strange;
}

/* A range by bytes has its bounds in the command: reading writes nothing. */
static int read_by_book(void)
{
    int strange = 0;
    tkl_book *book;
    tkl_book_answers *answers;
    tkl_book_entry entries[] = {{.text = TKL_LIT("anna")}, {.text = TKL_LIT("anton")}};
    check(tkl_book_open(client, tkl_str("naive-names"), NULL, &book));
    check(tkl_book_add(book, entries, 2, NULL));
    check(tkl_book_complete(book, tkl_str("an"), 10, (tkl_bytes){0}, &answers));
    for (size_t i = 0; i < answers->count; i++)
        strange += memchr(answers->items[i].text.data, '{', answers->items[i].text.len) != NULL;
    tkl_book_answers_free(answers);
    check(tkl_book_drop(book));
    tkl_book_close(book);
    return strange;
}

int main(void)
{
    open_client();
    int naive = read_naively(), ours = read_by_book();
    return compare("answers that are no names", naive, ours);
}
