/* SPDX-License-Identifier: MIT
 *
 * A chat in a sorted set: INCR gives the number, ZADD stores the message. A sender that dies in
 * between leaves a number without a message, and readers wait for it.
 */
#include <signal.h>
#include <sys/wait.h>

#include "naive.h"

static void take_number(void)
{
    COMMAND("INCR", "naive-last");
}

static void send_by(tkl_chat *chat, const char *sender)
{
    tkl_letter letter = {.body = tkl_str("hello")};
    check(tkl_chat_send(chat, tkl_str(sender), &letter, 1, NULL));
}

static tkl_chat *open_chat(void)
{
    tkl_chat *chat;
    check(tkl_chat_open(client, tkl_str("naive-team"), NULL, &chat));
    return chat;
}

static void send_message(void)
{
    send_by(open_chat(), "ann");
}

/* Runs a sender that is killed after its first step. */
static void step_and_die(void (*step)(void))
{
    pid_t child = fork();
    if (child == 0) {
        step();
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
}

/* Returns the numbers that have no message. */
static int number_naively(void)
{
    char number[24];
    step_and_die(take_number);
    int64_t last = tkl_reply_int(COMMAND("INCR", "naive-last"));
    snprintf(number, sizeof number, "%" PRId64, last);
    COMMAND("ZADD", "naive-chat", number, "hello");
    int gaps = (int)(last - tkl_reply_int(COMMAND("ZCARD", "naive-chat")));
    COMMAND("DEL", "naive-chat", "naive-last");
    return gaps;
}

/* The step that stores the message takes its number. */
static int number_by_chat(void)
{
    tkl_bytes members[] = {tkl_str("ann"), tkl_str("bob"), tkl_str("eve")};
    tkl_messages *messages;
    tkl_chat *chat = open_chat();
    check(tkl_chat_create(chat, members, 3, NULL));
    step_and_die(send_message);
    send_by(chat, "bob");
    check(tkl_chat_fetch(chat, tkl_str("eve"), 10, 0, &messages));
    int gaps = (int)(messages->items[messages->count - 1].id - (int64_t)messages->count);
    tkl_messages_free(messages);
    check(tkl_chat_drop(chat));
    tkl_chat_close(chat);
    return gaps;
}

int main(void)
{
    open_client();
    int naive = number_naively(), ours = number_by_chat();
    return compare("numbers without a message", naive, ours);
}
