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

/* ---- Adding -------------------------------------------------------------- */

/* Reads the replies of chat/enlist. Returns the first failure; the other lists count
 * nevertheless. */
static int take_times(tkl__chat_lists *lists, const tkl_reply *replies)
{
    int rc = TKL_OK;
    for (size_t i = 0; i < lists->count; i++) {
        tkl__chat_list *list = &lists->items[i];
        const tkl_reply *reply = tkl_reply_at(replies, i);
        int code = tkl_reply_code(reply), said = (int)tkl_reply_int(tkl_reply_at(reply, 0));
        list->full = code == TKL_OK && said == TKL_FULL;
        if (code == TKL_OK && said == TKL_OK) {
            list->listed_ms = tkl_reply_int(tkl_reply_at(reply, 1));
            list->added |= tkl_reply_int(tkl_reply_at(reply, 2)) == 1;
        } else if (rc == TKL_OK) {
            rc = code != TKL_OK ? tkl__fail(code, "%s", tkl_reply_str(reply))
                                : tkl__fail(said, "a member is in %d chats", TKL_CHAT_LISTED_MAX);
        }
    }
    return rc;
}

static int enlist(tkl__chat_lists *lists, int64_t deadline)
{
    tkl__chat_calls all;
    tkl_reply *replies;
    int rc = tkl__chat_calls_open(lists->count, &all);
    if (rc != TKL_OK)
        return rc;
    for (size_t i = 0; i < lists->count; i++) {
        tkl__args *args = tkl__chat_calls_add(&all, &tkl__lua_chat_enlist, &lists->items[i].key);
        tkl__args_bytes(args, lists->id);
        tkl__args_int(args, TKL_CHAT_LISTED_MAX);
    }
    rc = tkl__chat_calls_run(&all, lists->client, deadline, &replies);
    int taken = replies ? take_times(lists, replies) : rc;
    tkl_reply_free(replies);
    tkl__chat_calls_close(&all);
    return rc == TKL_OK ? taken : rc;
}

/* Looks at all chats of the member, which removes entries of chats in which it is unknown. */
static void tidy(tkl_client *client, tkl_bytes member, int64_t deadline)
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
    int rc = enlist(lists, deadline);
    if (rc != TKL_FULL)
        return rc;
    for (size_t i = 0; i < lists->count && tkl__left(deadline) > 0; i++)
        if (lists->items[i].full)
            tidy(lists->client, lists->items[i].member, deadline);
    return enlist(lists, deadline);
}

/* ---- Removing ------------------------------------------------------------ */

static int ask_for_times(const tkl__chat_lists *lists, tkl_pipeline *pipeline, int64_t deadline,
                         tkl_reply **replies)
{
    tkl_call_options options = {.timeout_ms = tkl__left(deadline) / 1000 + 1, .retry_safe = true};
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < lists->count; i++) {
        tkl_bytes key = lists->items[i].key.items[0];
        const char *words[] = {"ZSCORE", key.data, lists->id.data};
        const size_t lens[] = {6, key.len, lists->id.len};
        rc = tkl_pipeline_add(pipeline, 3, words, lens);
    }
    return rc == TKL_OK ? tkl_pipeline_run(pipeline, &options, replies) : rc;
}

int tkl__chat_lists_look(tkl__chat_lists *lists, int64_t deadline)
{
    tkl_pipeline *pipeline;
    tkl_reply *replies = NULL;
    int rc = tkl_pipeline_open(lists->client, NULL, &pipeline);
    if (rc != TKL_OK)
        return rc;
    rc = ask_for_times(lists, pipeline, deadline, &replies);
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        if (tkl_reply_code(tkl_reply_at(replies, i)) == TKL_OK)
            lists->items[i].listed_ms = tkl__reply_number(tkl_reply_at(replies, i));
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    return rc;
}

static void add_unlist(tkl__chat_calls *all, const tkl__keys *list, tkl_bytes id, int64_t listed_ms)
{
    tkl__args *args = tkl__chat_calls_add(all, &tkl__lua_chat_unlist, list);
    tkl__args_bytes(args, id);
    tkl__args_int(args, listed_ms);
}

void tkl__chat_lists_remove(const tkl__chat_lists *lists, bool added, int64_t deadline)
{
    tkl__chat_calls all;
    tkl_reply *replies = NULL;
    if (tkl__chat_calls_open(lists->count, &all) != TKL_OK)
        return;
    for (size_t i = 0; i < lists->count; i++) {
        const tkl__chat_list *list = &lists->items[i];
        if (list->listed_ms != 0 && (list->added || !added))
            add_unlist(&all, &list->key, lists->id, list->listed_ms);
    }
    (void)tkl__chat_calls_run(&all, lists->client, deadline, &replies);
    tkl_reply_free(replies);
    tkl__chat_calls_close(&all);
}

/* ---- Forgetting ---------------------------------------------------------- */

/* Makes the chats refuse joins by these entries from now on. *answers: 1 for each chat that
 * does. */
static int refuse(tkl_client *client, tkl_bytes member, const tkl__chat_entry *entries,
                  size_t count, int64_t deadline, tkl_reply **answers)
{
    tkl__chat_calls all;
    *answers = NULL;
    int rc = tkl__chat_calls_open(count, &all);
    if (rc != TKL_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        tkl__args *args = tkl__chat_calls_add(&all, &tkl__lua_post_refuse, &entries[i].post->keys);
        tkl__args_bytes(args, member);
        tkl__args_int(args, entries[i].listed_ms);
    }
    rc = tkl__chat_calls_run(&all, client, deadline, answers);
    tkl__chat_calls_close(&all);
    return rc;
}

void tkl__chat_forget(tkl_client *client, const tkl__keys *list, tkl_bytes member,
                      const tkl__chat_entry *entries, size_t count, int64_t deadline)
{
    tkl__chat_calls all;
    tkl_reply *answers, *replies = NULL;
    if (count == 0 || tkl__chat_calls_open(count, &all) != TKL_OK)
        return;
    (void)refuse(client, member, entries, count, deadline, &answers);
    for (size_t i = 0; i < tkl_reply_count(answers); i++)
        if (tkl_reply_int(tkl_reply_at(answers, i)) == 1)
            add_unlist(&all, list, entries[i].id, entries[i].listed_ms);
    (void)tkl__chat_calls_run(&all, client, deadline, &replies);
    tkl_reply_free(answers);
    tkl_reply_free(replies);
    tkl__chat_calls_close(&all);
}
