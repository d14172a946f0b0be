/* SPDX-License-Identifier: MIT
 *
 * A mailbox that is a list: LRANGE to read, DEL to acknowledge. A message that arrives in between
 * is deleted unread.
 */
#include "naive.h"

enum { SENT = 2 };

static int read_naively(void)
{
    COMMAND("RPUSH", "naive-box", "lunch?");
    int read = (int)tkl_reply_count(COMMAND("LRANGE", "naive-box", "0", "-1"));
    COMMAND("RPUSH", "naive-box", "at noon!"); /* arrives while the reader reads */
    COMMAND("DEL", "naive-box");
    return read + (int)tkl_reply_count(COMMAND("LRANGE", "naive-box", "0", "-1"));
}

static void send_letter(tkl_mail *box, const char *body)
{
    tkl_letter letter = {.body = tkl_str(body)};
    check(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL));
}

/* Fetches and acknowledges. `late` arrives in between, unless it is NULL. */
static int read_box(tkl_mail *box, const char *late)
{
    tkl_messages *messages;
    check(tkl_mail_fetch(box, 10, 0, &messages));
    int count = (int)messages->count;
    if (late != NULL)
        send_letter(box, late);
    check(tkl_mail_ack(box, messages->items[count - 1].id, NULL)); /* up to this id, no more */
    tkl_messages_free(messages);
    return count;
}

static int read_by_mail(void)
{
    tkl_mail *box;
    check(tkl_mail_open(client, tkl_str("naive-box"), NULL, &box));
    send_letter(box, "lunch?");
    int read = read_box(box, "at noon!");
    read += read_box(box, NULL);
    check(tkl_mail_drop(box));
    tkl_mail_close(box);
    return read;
}

int main(void)
{
    open_client();
    int naive = read_naively(), ours = read_by_mail();
    return compare("messages lost unread", SENT - naive, SENT - ours);
}
