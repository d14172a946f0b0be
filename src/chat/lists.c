/* SPDX-License-Identifier: MIT
 *
 * The members' lists of chats. The essay is in chat.c.
 */
#include <stdlib.h>

#include "chat/chat.h"
#include "chat/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/reply.h"
#include "post/scripts.h"

int tkl__chat_list_key(const tkl_client *client, tkl_bytes member, tkl__keys *list)
{
    static const char *const parts[] = {""};
    return tkl__keys_make(client, "chats", member, parts, 1, list);
}

int tkl__chat_lists_open(tkl_client *client, tkl_bytes id, const tkl_bytes *members, size_t count,
                         tkl__chat_lists *lists)
{
    *lists = (tkl__chat_lists){
        .client = client, .id = id, .items = calloc(count, sizeof(tkl__chat_list))};
    int rc = lists->items ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        lists->items[i].member = members[i];
        rc = tkl__chat_list_key(client, members[i], &lists->items[i].key);
        lists->count += rc == TKL_OK;
    }
    if (rc != TKL_OK)
        tkl__chat_lists_close(lists);
    return rc;
}

void tkl__chat_lists_close(tkl__chat_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++)
        tkl__keys_free(&lists->items[i].key);
    free(lists->items);
    *lists = (tkl__chat_lists){0};
}

/* Adds a call whose arguments are a name and a number. */
static void add_call(tkl__batch *batch, const tkl__script *script, const tkl__keys *keys,
                     tkl_bytes name, int64_t number)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, name);
    tkl__args_int(&args, number);
    tkl__batch_eval(batch, script, keys, &args, true);
    tkl__args_free(&args);
}

/* ---- Adding -------------------------------------------------------------- */

/* Reads a reply of chat/enlist. */
static int take_time(tkl__chat_list *list, const tkl_reply *reply)
{
    int said = (int)tkl_reply_int(tkl_reply_at(reply, 0));
    list->full = said == TKL_FULL;
    if (said != TKL_OK)
        return tkl__fail(said, "a member is in %d chats", TKL_CHAT_LISTED_MAX);
    list->listed_us = tkl_reply_int(tkl_reply_at(reply, 1));
    list->added |= tkl_reply_int(tkl_reply_at(reply, 2)) == 1;
    return TKL_OK;
}

/* Puts the chat into all lists. Returns the first failure; the other lists have the chat then. */
static int add_to_lists(tkl__chat_lists *lists, int64_t deadline)
{
    tkl_error first = {.code = TKL_OK};
    tkl__batch batch;
    tkl__batch_init(&batch, lists->client);
    for (size_t i = 0; i < lists->count; i++)
        add_call(&batch, &tkl__lua_chat_enlist, &lists->items[i].key, lists->id,
                 TKL_CHAT_LISTED_MAX);
    (void)tkl__batch_run(&batch, deadline);
    for (size_t i = 0; i < lists->count; i++) {
        int rc = tkl__batch_code(&batch, i);
        lists->items[i].full = false;
        if (rc == TKL_OK)
            rc = take_time(&lists->items[i], tkl__batch_reply(&batch, i));
        tkl__first_note(&first, rc);
    }
    tkl__batch_free(&batch);
    return tkl__first_tell(&first);
}

/* Looks at all chats of the member, which removes entries of chats that do not know the member. */
static void tidy_list(tkl_client *client, tkl_bytes member, int64_t deadline)
{
    tkl_inbox *inbox;
    tkl_inbox_chats *chats = NULL;
    tkl_inbox_options options = {.timeout_ms = tkl__left(deadline) / 1000 + 1};
    int rc = tkl_inbox_open(client, member, &options, &inbox);
    if (rc == TKL_OK)
        rc = tkl_inbox_show(inbox, &chats);
    if (rc == TKL_OK)
        tkl_inbox_chats_free(chats);
    tkl_inbox_close(inbox);
}

int tkl__chat_lists_add(tkl__chat_lists *lists, int64_t deadline)
{
    int rc = add_to_lists(lists, deadline);
    if (rc != TKL_FULL)
        return rc;
    for (size_t i = 0; i < lists->count && tkl__left(deadline) > 0; i++)
        if (lists->items[i].full)
            tidy_list(lists->client, lists->items[i].member, deadline);
    return add_to_lists(lists, deadline);
}

/* ---- Removing ------------------------------------------------------------ */

int tkl__chat_lists_look(tkl__chat_lists *lists, int64_t deadline)
{
    tkl__batch batch;
    tkl__batch_init(&batch, lists->client);
    for (size_t i = 0; i < lists->count; i++)
        TKL__BATCH_WORDS(&batch, tkl_str("ZSCORE"), lists->items[i].key.items[0], lists->id);
    int rc = tkl__batch_run(&batch, deadline);
    for (size_t i = 0; i < lists->count; i++)
        if (tkl__batch_code(&batch, i) == TKL_OK)
            lists->items[i].listed_us = tkl__reply_number(tkl__batch_reply(&batch, i));
    tkl__batch_free(&batch);
    return rc;
}

void tkl__chat_lists_remove(const tkl__chat_lists *lists, bool added, int64_t deadline)
{
    tkl__batch batch;
    tkl__batch_init(&batch, lists->client);
    for (size_t i = 0; i < lists->count; i++) {
        const tkl__chat_list *list = &lists->items[i];
        if (list->listed_us != 0 && (list->added || !added))
            add_call(&batch, &tkl__lua_chat_unlist, &list->key, lists->id, list->listed_us);
    }
    (void)tkl__batch_run(&batch, deadline);
    tkl__batch_free(&batch);
}

/* ---- Forgetting ---------------------------------------------------------- */

/* First the chats are asked to refuse joins by these entries from now on. Then the entries of chats
 * that do so are removed. */
void tkl__chat_forget(tkl_client *client, const tkl__keys *list, tkl_bytes member,
                      const tkl__chat_entry *entries, size_t count, int64_t deadline)
{
    tkl__batch refusals, removals;
    tkl__batch_init(&refusals, client);
    tkl__batch_init(&removals, client);
    for (size_t i = 0; i < count; i++)
        add_call(&refusals, &tkl__lua_post_refuse, &entries[i].post->keys, member,
                 entries[i].listed_us);
    (void)tkl__batch_run(&refusals, deadline);
    for (size_t i = 0; i < count; i++)
        if (tkl_reply_int(tkl__batch_reply(&refusals, i)) == 1)
            add_call(&removals, &tkl__lua_chat_unlist, list, entries[i].id, entries[i].listed_us);
    (void)tkl__batch_run(&removals, deadline);
    tkl__batch_free(&refusals);
    tkl__batch_free(&removals);
}
