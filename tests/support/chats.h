/* SPDX-License-Identifier: MIT
 *
 * Chats as tests use them: members and bodies are words.
 */
#ifndef TACKLE_TESTS_CHATS_H
#define TACKLE_TESTS_CHATS_H

#include <tackle/chat.h>

#include "support/test.h"

tkl_chat *open_chat(tkl_client *client, const char *id);
/* Opens a chat and creates it with these members, "ann bob". */
tkl_chat *create_chat(tkl_client *client, const char *id, const char *members);
tkl_inbox *open_inbox(tkl_client *client, const char *member);

/* The result of sending one message; *id may be NULL. */
int chat_try_send(tkl_chat *chat, const char *sender, const char *body, int64_t *id);
/* Sends a message, or fails the test. Returns its id. */
int64_t chat_say(tkl_chat *chat, const char *sender, const char *body);
int chat_try_ack(tkl_chat *chat, const char *member, int64_t id);
int chat_join(tkl_chat *chat, const char *member);
int chat_leave(tkl_chat *chat, const char *member);

/* The messages that a member fetches: "2:hello 3:you", and "(missed 1) " before it; "" for none.
 */
char *chat_unread(tkl_chat *chat, const char *member);
void expect_chat(tkl_chat *chat, const char *member, const char *expected);

/* The content of an inbox: "lunch[1:hello 2:you] work[7:x]", sorted by chat; "" for nothing. */
char *inbox_text(const tkl_inbox_chats *chats);
void expect_inbox(tkl_inbox *inbox, const char *expected);
/* Fails unless the inbox has this content, and acknowledges all of it. */
void take_inbox(tkl_inbox *inbox, const char *expected);

#endif
