/* SPDX-License-Identifier: MIT
 *
 * The chats on a member's list, as a handle remembers them.
 */
#include <stdlib.h>

#include "chat/inbox.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/reply.h"

tkl_bytes tkl__chat_place_id(const tkl__chat_place *p)
{
    return (tkl_bytes){p->id, p->id_len};
}

static void free_place(tkl__chat_place *p)
{
    tkl__ear_close(&p->ear);
    tkl__post_close(&p->post);
    free(p->id);
    free(p);
}

void tkl__chat_places_free(tkl__chat_places *all)
{
    for (size_t i = 0; i < all->count; i++)
        free_place(all->items[i]);
    free(all->items);
}

static int add_place(const tkl_inbox *inbox, tkl__chat_places *all, tkl_bytes id)
{
    bool room = tkl__grow(&all->items, all->count, sizeof *all->items);
    tkl__chat_place *p = room ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return tkl__nomem();
    int rc = tkl__chat_post(inbox->client, id, inbox->timeout_ms, &p->post);
    p->id = rc == TKL_OK ? tkl__copy_bytes(id) : NULL;
    p->id_len = id.len;
    if (p->id) {
        p->ear.channel = p->post.keys.items[0];
        all->items[all->count++] = p;
        return TKL_OK;
    }
    tkl__post_close(&p->post);
    free(p);
    return rc == TKL_OK ? tkl__nomem() : rc;
}

static int by_id(const void *a, const void *b)
{
    const tkl__chat_place *x = *(tkl__chat_place *const *)a, *y = *(tkl__chat_place *const *)b;
    return tkl__compare_bytes(tkl__chat_place_id(x), tkl__chat_place_id(y));
}

/* Finds a place among the first `count`, which are sorted. */
static tkl__chat_place *find_place(const tkl__chat_places *all, size_t count, tkl_bytes id)
{
    tkl__chat_place key = {.id = (char *)(uintptr_t)id.data, .id_len = id.len}, *wanted = &key;
    tkl__chat_place **found =
        count > 0 ? bsearch(&wanted, all->items, count, sizeof *all->items, by_id) : NULL;
    return found ? *found : NULL;
}

void tkl__chat_places_drop_unlisted(tkl__chat_places *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i]->listed)
            all->items[kept++] = all->items[i];
        else
            free_place(all->items[i]);
    all->count = kept;
}

/* Reads {now, {chat, time, chat, time ...}}. */
int tkl__chat_places_update(const tkl_inbox *inbox, const tkl_reply *list, tkl__chat_places *all)
{
    const tkl_reply *entries = tkl_reply_at(list, 1);
    size_t sorted = all->count;
    int rc = TKL_OK;
    all->now_ms = tkl__reply_number(tkl_reply_at(list, 0));
    if (sorted > 0)
        qsort(all->items, sorted, sizeof *all->items, by_id);
    for (size_t i = 0; i < sorted; i++)
        all->items[i]->listed = false;
    for (size_t i = 0; rc == TKL_OK && i + 1 < tkl_reply_count(entries); i += 2) {
        tkl_bytes id = tkl_reply_bytes(tkl_reply_at(entries, i));
        tkl__chat_place *p = find_place(all, sorted, id);
        if (!p)
            rc = add_place(inbox, all, id);
        if (rc == TKL_OK) {
            p = p ? p : all->items[all->count - 1];
            p->listed = true;
            p->listed_us = tkl__reply_number(tkl_reply_at(entries, i + 1));
        }
    }
    return rc;
}
