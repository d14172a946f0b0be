/* SPDX-License-Identifier: MIT
 *
 * The lists of chats that members have. The essay is in chat.c.
 */
#include <stdlib.h>

#include "chat/chat.h"
#include "chat/scripts.h"
#include "core/error.h"
#include "core/plain.h"

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
}

/* ---- Adding -------------------------------------------------------------- */

/* The replies of chat/enlist. Returns the first failure; the others count all the same. */
static int take_times(tkl__chat_lists *lists, const tkl_reply *replies)
{
    int rc = TKL_OK;
    for (size_t i = 0; i < lists->count; i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        int code = tkl_reply_code(reply), said = (int)tkl_reply_int(tkl_reply_at(reply, 0));
        if (code == TKL_OK && said == TKL_OK) {
            lists->items[i].listed_ms = tkl_reply_int(tkl_reply_at(reply, 1));
            lists->items[i].added |= tkl_reply_int(tkl_reply_at(reply, 2)) == 1;
        } else if (rc == TKL_OK) {
            rc = code != TKL_OK ? tkl__fail(code, "%s", tkl_reply_str(reply))
                                : tkl__fail(said, "a member is in %d chats", TKL_CHAT_LISTED_MAX);
        }
    }
    return rc;
}

int tkl__chat_lists_add(tkl__chat_lists *lists, int64_t deadline)
{
    tkl_reply *replies = NULL;
    tkl__args args;
    tkl__invocation *calls = calloc(lists->count, sizeof *calls);
    tkl__args_init(&args);
    tkl__args_bytes(&args, lists->id);
    tkl__args_int(&args, TKL_CHAT_LISTED_MAX);
    if (!calls || args.failed) {
        free(calls);
        tkl__args_free(&args);
        return tkl__nomem();
    }
    for (size_t i = 0; i < lists->count; i++)
        calls[i] = (tkl__invocation){.script = &tkl__lua_chat_enlist,
                                     .keys = lists->items[i].key.items,
                                     .nkeys = 1,
                                     .args = args.items,
                                     .nargs = args.count,
                                     .retry_safe = true};
    int rc = tkl__run_many(lists->client, calls, lists->count, deadline, &replies);
    int taken = replies ? take_times(lists, replies) : rc;
    tkl_reply_free(replies);
    tkl__args_free(&args);
    free(calls);
    return rc == TKL_OK ? taken : rc;
}

int64_t tkl__chat_lists_earliest(const tkl__chat_lists *lists)
{
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; i < lists->count; i++)
        if (lists->items[i].listed_ms < earliest)
            earliest = lists->items[i].listed_ms;
    return earliest;
}

/* ---- Removing ------------------------------------------------------------ */

static void run_on_list(tkl_client *client, const tkl__script *script, const tkl__keys *list,
                        tkl__args *args, int64_t deadline)
{
    tkl_reply *reply;
    (void)tkl__eval(client, script, list, args, deadline, true, &reply);
    tkl__args_free(args);
    tkl_reply_free(reply);
}

void tkl__chat_lists_undo(tkl__chat_lists *lists, int64_t deadline)
{
    for (size_t i = 0; i < lists->count; i++) {
        const tkl__chat_list *list = &lists->items[i];
        tkl__args args;
        if (!list->added)
            continue;
        tkl__args_init(&args);
        tkl__args_bytes(&args, lists->id);
        tkl__args_int(&args, list->listed_ms);
        run_on_list(lists->client, &tkl__lua_chat_unlist, &list->key, &args, deadline);
    }
}

int tkl__chat_list_time(tkl_client *client, const tkl__keys *list, tkl_bytes id, int64_t deadline,
                        tkl_reply **time)
{
    tkl__args words;
    tkl__args_init(&words);
    tkl__args_str(&words, "ZSCORE");
    tkl__args_bytes(&words, list->items[0]);
    tkl__args_bytes(&words, id);
    int rc = tkl__plain(client, &words, deadline, true, time);
    tkl__args_free(&words);
    return rc;
}

void tkl__chat_list_remove(tkl_client *client, const tkl__keys *list, tkl_bytes id,
                           const tkl_reply *time, int64_t deadline)
{
    tkl__args args;
    if (tkl_reply_bytes(time).len == 0)
        return; /* it was not there */
    tkl__args_init(&args);
    tkl__args_bytes(&args, id);
    tkl__args_bytes(&args, tkl_reply_bytes(time));
    run_on_list(client, &tkl__lua_chat_unlist, list, &args, deadline);
}

void tkl__chat_forget(tkl_client *client, const tkl__keys *list, tkl_bytes id, int64_t deadline)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, id);
    run_on_list(client, &tkl__lua_chat_forget, list, &args, deadline);
}
