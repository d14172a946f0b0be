/* SPDX-License-Identifier: MIT */
#include "support/chats.h"

tkl_chat *open_chat(tkl_client *client, const char *id)
{
    tkl_chat *chat;
    assert_ok(tkl_chat_open(client, tkl_str(id), NULL, &chat));
    return chat;
}

tkl_chat *create_chat(tkl_client *client, const char *id, const char *members)
{
    tkl_chat *chat = open_chat(client, id);
    tkl_bytes all[64];
    size_t count = 0;
    for (const char *at = members; *at; at += strspn(at, " ")) {
        all[count++] = (tkl_bytes){at, strcspn(at, " ")};
        at += strcspn(at, " ");
    }
    assert_ok(tkl_chat_create(chat, all, count, NULL));
    return chat;
}

tkl_inbox *open_inbox(tkl_client *client, const char *member)
{
    tkl_inbox *inbox;
    assert_ok(tkl_inbox_open(client, tkl_str(member), NULL, &inbox));
    return inbox;
}

int chat_try_send(tkl_chat *chat, const char *sender, const char *body, int64_t *id)
{
    tkl_letter letter = {.body = tkl_str(body)};
    return tkl_chat_send(chat, tkl_str(sender), &letter, 1, id);
}

int64_t chat_say(tkl_chat *chat, const char *sender, const char *body)
{
    int64_t id;
    assert_ok(chat_try_send(chat, sender, body, &id));
    return id;
}

int chat_try_ack(tkl_chat *chat, const char *member, int64_t id)
{
    return tkl_chat_ack(chat, tkl_str(member), id, NULL);
}

int chat_join(tkl_chat *chat, const char *member)
{
    return tkl_chat_join(chat, tkl_str(member), TKL_CHAT_START_DEFAULT);
}

int chat_leave(tkl_chat *chat, const char *member)
{
    return tkl_chat_leave(chat, tkl_str(member));
}

static void print_messages(FILE *to, const tkl_messages *messages)
{
    if (messages->missed > 0)
        fprintf(to, "(missed %d) ", (int)messages->missed);
    for (size_t i = 0; i < messages->count; i++)
        fprintf(to, "%s%d:" TKL_FMT, i ? " " : "", (int)messages->items[i].id,
                TKL_ARG(messages->items[i].body));
}

char *chat_unread(tkl_chat *chat, const char *member)
{
    tkl_messages *messages;
    char *text;
    size_t size;
    int rc = tkl_chat_fetch(chat, tkl_str(member), 1000, 0, &messages);
    if (rc != TKL_EMPTY)
        assert_ok(rc);
    FILE *to = open_memstream(&text, &size);
    if (messages)
        print_messages(to, messages);
    fclose(to);
    tkl_messages_free(messages);
    return text;
}

void expect_chat(tkl_chat *chat, const char *member, const char *expected)
{
    char *got = chat_unread(chat, member);
    assert_string_equal(got, expected);
    free(got);
}

static int by_id(const void *a, const void *b)
{
    const tkl_inbox_chat *x = a, *y = b;
    return strcmp(x->id.data, y->id.data);
}

char *inbox_text(const tkl_inbox_chats *chats)
{
    char *text;
    size_t size, count = chats ? chats->count : 0;
    tkl_inbox_chat *sorted = calloc(count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = chats->items[i];
    qsort(sorted, count, sizeof *sorted, by_id);
    FILE *to = open_memstream(&text, &size);
    for (size_t i = 0; i < count; i++) {
        fprintf(to, "%s" TKL_FMT "[", i ? " " : "", TKL_ARG(sorted[i].id));
        if (sorted[i].messages)
            print_messages(to, sorted[i].messages);
        else
            fputs(tkl_codename(sorted[i].code), to);
        fputs("]", to);
    }
    fclose(to);
    free(sorted);
    return text;
}

static void fetch_and_compare(tkl_inbox *inbox, const char *expected, bool ack)
{
    tkl_inbox_chats *chats;
    int rc = tkl_inbox_fetch(inbox, 1000, 0, &chats);
    if (rc != TKL_EMPTY)
        assert_ok(rc);
    char *got = inbox_text(chats);
    assert_string_equal(got, expected);
    free(got);
    if (ack && chats)
        assert_ok(tkl_inbox_ack_all(inbox, chats));
    tkl_inbox_chats_free(chats);
}

void expect_inbox(tkl_inbox *inbox, const char *expected)
{
    fetch_and_compare(inbox, expected, false);
}

void take_inbox(tkl_inbox *inbox, const char *expected)
{
    fetch_and_compare(inbox, expected, true);
}
