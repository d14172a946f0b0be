/* SPDX-License-Identifier: MIT
 *
 * Waiting for a message in any chat of a member. The inbox listens to the channel of its list (a
 * new entry) and to those of all its chats (new messages).
 *
 * In a cluster these are on several servers, and one of them may hang: the wait goes on with the
 * others. A chat that cannot be read does not end the wait. The result of the wait names it, or its
 * error is returned when the time is over.
 */
#include <stddef.h>
#include <stdlib.h>

#include "chat/inbox.h"
#include "core/clock.h"
#include "core/error.h"

typedef struct inbox_wait {
    tkl__chat_look *look;
    tkl__wait wait;
    tkl_inbox_chats **chats;
    bool looked; /* at least once */
} inbox_wait;

/* Lists the ears: that of the list, then those of the chats. */
static int collect_ears(inbox_wait *w)
{
    tkl__chat_places *all = w->look->all;
    tkl__ear **ears = realloc(w->wait.ears, (all->count + 1) * sizeof *ears);
    if (!ears)
        return tkl__nomem();
    ears[0] = &all->list;
    for (size_t i = 0; i < all->count; i++)
        ears[i + 1] = &all->items[i]->ear;
    w->wait.ears = ears;
    w->wait.count = all->count + 1;
    return TKL_OK;
}

/* Notes that a server could not be listened at. */
static void note_silence(void *arg, tkl__ear *ear)
{
    const inbox_wait *w = arg;
    if (ear == &w->look->all->list)
        w->look->list_code = ear->code;
    else
        ((tkl__chat_place *)(void *)((char *)ear - offsetof(tkl__chat_place, ear)))->code =
            ear->code;
}

/* At the start at least one server must answer. */
static bool reaches_nobody(void *arg)
{
    const inbox_wait *w = arg;
    for (size_t i = 0; i < w->wait.count; i++)
        if (w->looked || w->wait.ears[i]->code == TKL_OK)
            return false;
    return true;
}

/* Whether the wait goes on. Chats that cannot be read do not end it; the list does, unless its
 * error is transient. */
static bool goes_on(const inbox_wait *w, int rc, bool first)
{
    const tkl__chat_look *l = w->look;
    if (rc == TKL_EMPTY)
        return true;
    if (rc == TKL_OK || rc == TKL_ENOMEM ||
        (l->list_code != TKL_OK && !tkl__may_pass(l->list_code)))
        return false;
    return l->answered || !first;
}

/* The place at which a message has arrived. */
static size_t place_of(const tkl__chat_places *all, const tkl__ear *ear)
{
    size_t i = 0;
    while (i < all->count && &all->items[i]->ear != ear)
        i++;
    return i < all->count ? i : TKL__ALL_PLACES;
}

static int look_at_inbox(void *arg, tkl__wait *wait, const tkl__news *news)
{
    (void)wait; /* w->wait */
    inbox_wait *w = arg;
    tkl__chat_look *l = w->look;
    bool first = !w->looked;
    size_t where = TKL__ALL_PLACES;
    int rc = TKL_EMPTY;
    w->looked = true;
    if (news->kind == TKL__NEWS_MESSAGE)
        where = place_of(l->all, news->ear);
    if (where != TKL__ALL_PLACES)
        rc = tkl__chat_inbox_notified(l, where, news->message, w->chats);
    if (rc == TKL_EMPTY)
        rc = tkl__chat_inbox_look(l, where, false, w->chats);
    int collected = collect_ears(w);
    if (collected != TKL_OK)
        return collected;
    return goes_on(w, rc, first) ? TKL__NOT_YET : rc;
}

int tkl__chat_inbox_await(tkl__chat_look *l, int64_t deadline, tkl_inbox_chats **chats)
{
    inbox_wait w = {.look = l, .chats = chats};
    w.wait = (tkl__wait){.client = l->inbox->client,
                         .timeout_ms = l->inbox->timeout_ms,
                         .deadline = deadline,
                         .is_spread = true,
                         .is_over = reaches_nobody,
                         .on_silence = note_silence,
                         .arg = &w};
    l->wait = &w.wait;
    l->all->list.channel = l->inbox->list.items[0];
    int rc = collect_ears(&w);
    if (rc == TKL_OK)
        rc = tkl__wait_until(&w.wait, look_at_inbox, &w);
    tkl__wait_end(&w.wait);
    free(w.wait.ears);
    return rc == TKL__NOT_YET || tkl__may_pass(rc) ? tkl__chat_inbox_nothing(l) : rc;
}
