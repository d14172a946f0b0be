/* SPDX-License-Identifier: MIT
 *
 * Scripts on several chats, or on the lists of several members, in one round trip for each node.
 */
#include <stdlib.h>

#include "chat/chat.h"
#include "core/error.h"

int tkl__chat_calls_open(size_t most, tkl__chat_calls *all)
{
    *all = (tkl__chat_calls){.calls = calloc(most + 1, sizeof *all->calls),
                             .args = calloc(most + 1, sizeof *all->args)};
    if (all->calls && all->args)
        return TKL_OK;
    tkl__chat_calls_close(all);
    return tkl__nomem();
}

void tkl__chat_calls_close(tkl__chat_calls *all)
{
    for (size_t i = 0; i < all->count; i++)
        tkl__args_free(&all->args[i]);
    free(all->calls);
    free(all->args);
    *all = (tkl__chat_calls){0};
}

tkl__args *tkl__chat_calls_add(tkl__chat_calls *all, const tkl__script *script,
                               const tkl__keys *keys)
{
    tkl__args *args = &all->args[all->count];
    tkl__args_init(args);
    all->calls[all->count++] = (tkl__invocation){
        .script = script, .keys = keys->items, .nkeys = keys->count, .retry_safe = true};
    return args;
}

int tkl__chat_calls_run(tkl__chat_calls *all, tkl_client *client, int64_t deadline,
                        tkl_reply **replies)
{
    *replies = NULL;
    for (size_t i = 0; i < all->count; i++) {
        if (all->args[i].failed)
            return tkl__nomem();
        all->calls[i].args = all->args[i].items;
        all->calls[i].nargs = all->args[i].count;
    }
    return all->count > 0 ? tkl__run_many(client, all->calls, all->count, deadline, replies)
                          : TKL_OK;
}
