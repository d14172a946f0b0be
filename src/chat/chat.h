/* SPDX-License-Identifier: MIT
 *
 * What the files of this folder share. The essay is in chat.c.
 */
#ifndef TKL_CHAT_CHAT_H
#define TKL_CHAT_CHAT_H

#include <tackle/chat.h>

#include "post/post.h"

/* The line of messages of a chat. Nothing to free on failure. */
int tkl__chat_post(tkl_client *client, tkl_bytes id, int64_t timeout_ms, tkl__post *post);

/* The key of a member's list of chats. */
int tkl__chat_list(const tkl_client *client, tkl_bytes member, tkl__keys *list);

/* Removes a chat from the list, if the entry is old. Best effort. */
void tkl__chat_forget(tkl_client *client, const tkl__keys *list, tkl_bytes id, int64_t deadline);

#endif
