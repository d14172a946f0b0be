/* SPDX-License-Identifier: MIT
 *
 * All chats of one member. The handle remembers the list of chats from its last fetch, so that the
 * next one asks for the list and for all these chats in one round trip. New chats need a second
 * round trip. A fetch takes the remembered list out of the handle and puts it back at the end, so
 * that threads do not wait for each other; a fetch that finds none there begins with the list.
 *
 * A chat that cannot be read, because it is damaged or because its server is down, does not hide
 * the others: the result names it. A fetch fails only when it has nothing else to return.
 */
#include "chat/inbox.h"

#include <stdlib.h>

#include "chat/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "post/scripts.h"

/* A chat in which the member is unknown is removed from the list when its entry is this old. A
 * younger entry may belong to a join that is under way, which would have to begin again. */
#define FORGET_AFTER_MS 2000

/* ---- Handles ------------------------------------------------------------- */

int tkl_inbox_open(tkl_client *client, tkl_bytes member, const tkl_inbox_options *options,
                   tkl_inbox **inbox)
{
    *inbox = NULL;
    int64_t timeout_ms = options ? options->timeout_ms : 0;
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", timeout_ms, 0, TKL__MS_MAX});
    if (rc != TKL_OK)
        return rc;
    tkl_inbox *i = calloc(1, sizeof *i);
    if (!i)
        return tkl__nomem();
    i->client = client;
    i->timeout_ms = timeout_ms;
    rc = tkl__chat_list_key(client, member, &i->list);
    i->member = rc == TKL_OK ? tkl__copy_bytes(member) : NULL;
    i->member_len = member.len;
    if (i->member)
        *inbox = i;
    else
        tkl_inbox_close(i);
    return rc == TKL_OK && !*inbox ? tkl__nomem() : rc;
}

void tkl_inbox_close(tkl_inbox *inbox)
{
    if (!inbox)
        return;
    tkl__chat_places_free(&inbox->known);
    tkl__keys_free(&inbox->list);
    free(inbox->member);
    free(inbox);
}

static tkl__chat_places take_known(tkl_inbox *inbox)
{
    tkl__client_lock(inbox->client);
    tkl__chat_places known = inbox->known;
    inbox->known = (tkl__chat_places){0};
    tkl__client_unlock(inbox->client);
    return known;
}

static void bring_back(tkl_inbox *inbox, tkl__chat_places *all)
{
    for (size_t i = 0; i < all->count; i++)
        tkl__ear_close(&all->items[i]->ear);
    tkl__client_lock(inbox->client);
    tkl__chat_places old = inbox->known;
    inbox->known = *all;
    tkl__client_unlock(inbox->client);
    tkl__chat_places_free(&old);
}

static tkl_bytes member_of(const tkl_inbox *inbox)
{
    return (tkl_bytes){inbox->member, inbox->member_len};
}

/* ---- The result of a look ------------------------------------------------ */

typedef struct found {
    tkl_inbox_chats public;
    tkl_inbox_chat *items;
    size_t count;
    tkl_reply *replies[2]; /* own the bytes of the messages */
    bool empty_too;        /* also chats without messages */
} found;

void tkl_inbox_chats_free(tkl_inbox_chats *chats)
{
    found *f = (found *)chats;
    if (!f)
        return;
    for (size_t i = 0; i < f->count; i++) {
        free((char *)(uintptr_t)f->items[i].id.data);
        tkl_messages_free((tkl_messages *)(uintptr_t)f->items[i].messages);
    }
    tkl_reply_free(f->replies[0]);
    tkl_reply_free(f->replies[1]);
    free(f->items);
    free(f);
}

static int add_found(found *f, const tkl__chat_place *p, tkl_messages *messages)
{
    bool room = tkl__grow(&f->items, f->count, sizeof *f->items);
    char *id = room ? tkl__copy_bytes(tkl__chat_place_id(p)) : NULL;
    if (!id) {
        tkl_messages_free(messages);
        return tkl__nomem();
    }
    f->items[f->count++] =
        (tkl_inbox_chat){.id = {id, p->id_len}, .code = p->code, .messages = messages};
    return TKL_OK;
}

/* Reads one reply of post/fetch. */
static int take_reply(found *f, tkl__chat_place *p, tkl_reply *reply)
{
    tkl_messages *messages;
    int code = tkl_reply_code(reply);
    if (code == TKL_OK)
        code = (int)tkl_reply_int(tkl_reply_at(reply, 0));
    p->stranger = code == TKL_NOTOWNER || code == TKL_NOTFOUND;
    p->code = p->stranger ? TKL_OK : code;
    p->caught_up = code == TKL_OK ? tkl__post_read_caught_up(reply) : (tkl__post_caught_up){0};
    if (code != TKL_OK || (tkl_reply_count(tkl_reply_at(reply, 4)) == 0 && !f->empty_too))
        return TKL_OK;
    int rc = tkl__post_messages_make(reply, false, &messages);
    return rc == TKL_OK ? add_found(f, p, messages) : rc;
}

/* ---- Looking ------------------------------------------------------------- */

static int64_t deadline_of(const tkl__chat_look *l)
{
    return l->wait ? tkl__wait_deadline(l->wait)
                   : tkl__deadline(l->inbox->client, l->inbox->timeout_ms);
}

/* Whether a server is left alone, because it did not answer during this wait. */
static bool rests(const tkl__chat_look *l, const tkl__ear *ear)
{
    return l->wait && tkl__ear_rests(ear);
}

/* Adds calls for the list, if `with_list`, and for `count` places from `first` on, but not for
 * those on servers that rest. */
static void add_calls(const tkl__chat_look *l, size_t first, size_t count, bool with_list,
                      tkl__batch *batch)
{
    if (with_list)
        tkl__batch_add(batch, &(tkl__invocation){.script = &tkl__lua_chat_list,
                                                 .keys = l->inbox->list.items,
                                                 .nkeys = 1,
                                                 .retry_safe = true});
    for (size_t i = first; i < first + count; i++) {
        tkl__chat_place *p = l->all->items[i];
        p->asked = !rests(l, &p->ear);
        if (p->asked)
            tkl__batch_eval(batch, &tkl__lua_post_fetch, &p->post.keys, l->args, true);
    }
}

/* Notes whether a server answered. */
static void note_answer(tkl__chat_look *l, tkl__ear *ear, int code, int64_t began)
{
    l->answered |= !tkl__may_pass(code);
    if (!l->wait)
        return;
    if (tkl__may_pass(code)) {
        tkl__ear_close(ear);
        tkl__ear_silent(l->wait, ear, code, began);
    } else {
        tkl__ear_answered(ear);
    }
}

/* Asks, and reads the replies. If `list` is not NULL, asks for the list too and stores it there. A
 * server that does not answer is noted at its places. */
static int ask_and_take(tkl__chat_look *l, size_t first, size_t count, found *f,
                        tkl_reply **replies, const tkl_reply **list)
{
    bool with_list = list && !rests(l, &l->all->list);
    int64_t began = tkl__now();
    size_t at = 0;
    tkl__batch batch;
    tkl__batch_init(&batch, l->inbox->client);
    add_calls(l, first, count, with_list, &batch);
    int rc = tkl__batch_run(&batch, deadline_of(l));
    *replies = tkl__batch_take(&batch);
    if (*replies)
        rc = TKL_OK;
    if (rc == TKL_OK && with_list) {
        const tkl_reply *reply = tkl_reply_at(*replies, at++);
        l->list_code = tkl_reply_code(reply);
        *list = l->list_code == TKL_OK ? reply : NULL;
        note_answer(l, &l->all->list, l->list_code, began);
    }
    for (size_t i = first; rc == TKL_OK && i < first + count; i++) {
        tkl__chat_place *p = l->all->items[i];
        if (!p->asked)
            continue;
        rc = take_reply(f, p, (tkl_reply *)(uintptr_t)tkl_reply_at(*replies, at++));
        note_answer(l, &p->ear, p->code, began);
    }
    tkl__batch_free(&batch);
    return rc;
}

/* Removes strangers from the handle and from the list. If an entry stays on the list, the next
 * fetch finds it there. */
static void forget_strangers(const tkl__chat_look *l)
{
    size_t count = 0;
    tkl__chat_entry *entries = calloc(l->all->count + 1, sizeof *entries);
    for (size_t i = 0; entries && i < l->all->count; i++) {
        tkl__chat_place *p = l->all->items[i];
        if (!p->listed || !p->stranger || l->all->now_ms - p->listed_us / 1000 < FORGET_AFTER_MS)
            continue;
        entries[count++] = (tkl__chat_entry){&p->post, tkl__chat_place_id(p), p->listed_us};
        p->listed = false;
    }
    tkl__chat_forget(l->inbox->client, &l->inbox->list, member_of(l->inbox), entries, count,
                     deadline_of(l));
    free(entries);
}

/* Looks at the known chats and at the list; then at chats that only the list has. */
static int look_at_all(tkl__chat_look *l, found *f)
{
    size_t known = l->all->count;
    const tkl_reply *list = NULL;
    int rc = ask_and_take(l, 0, known, f, &f->replies[0], &list);
    if (rc != TKL_OK || !list)
        return rc; /* without the list, the known chats must do */
    rc = tkl__chat_places_update(l->inbox, list, l->all);
    if (rc == TKL_OK && l->all->count > known)
        rc = ask_and_take(l, known, l->all->count - known, f, &f->replies[1], NULL);
    forget_strangers(l);
    tkl__chat_places_drop_unlisted(l->all);
    return rc;
}

/* Adds the chats that cannot be read behind the others. */
static int add_unreadable(const tkl__chat_look *l, found *f)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < l->all->count; i++)
        if (l->all->items[i]->code != TKL_OK)
            rc = add_found(f, l->all->items[i], NULL);
    return rc;
}

int tkl__chat_inbox_nothing(const tkl__chat_look *l)
{
    if (l->list_code != TKL_OK)
        return tkl__fail(l->list_code, "the list of chats: %s", tkl_strerror(l->list_code));
    for (size_t i = 0; i < l->all->count; i++) {
        const tkl__chat_place *p = l->all->items[i];
        if (p->code != TKL_OK)
            return tkl__fail(p->code, "chat " TKL_FMT ": %s", TKL_ARG(tkl__chat_place_id(p)),
                             tkl_strerror(p->code));
    }
    return tkl__no(TKL_EMPTY);
}

/* Listing chats needs the list; fetching messages of known chats does not. */
static int conclude_look(const tkl__chat_look *l, found *f)
{
    if (f->count == 0 && !(f->empty_too && l->list_code == TKL_OK))
        return tkl__chat_inbox_nothing(l);
    return add_unreadable(l, f);
}

/* Returns the result to the caller, or frees it. */
static int finish_look(const tkl__chat_look *l, found *f, int rc, tkl_inbox_chats **chats)
{
    if (rc == TKL_OK)
        rc = conclude_look(l, f);
    f->public.items = f->items;
    f->public.count = f->count;
    if (rc == TKL_OK)
        *chats = &f->public;
    else
        tkl_inbox_chats_free(&f->public);
    return rc;
}

int tkl__chat_inbox_look(tkl__chat_look *l, size_t which, bool empty_too, tkl_inbox_chats **chats)
{
    found *f = calloc(1, sizeof *f);
    if (!f)
        return tkl__nomem();
    f->empty_too = empty_too;
    l->answered = false;
    int rc = which == TKL__ALL_PLACES ? look_at_all(l, f)
                                      : ask_and_take(l, which, 1, f, &f->replies[0], NULL);
    return finish_look(l, f, rc, chats);
}

int tkl__chat_inbox_notified(tkl__chat_look *l, size_t which, tkl_bytes note,
                             tkl_inbox_chats **chats)
{
    const tkl__chat_place *p = l->all->items[which];
    tkl_messages *messages;
    tkl_bytes member = member_of(l->inbox);
    int rc = tkl__post_notified(&p->caught_up, &member, note, &messages);
    if (rc != TKL_OK)
        return rc;
    found *f = calloc(1, sizeof *f);
    if (!f) {
        tkl_messages_free(messages);
        return tkl__nomem();
    }
    return finish_look(l, f, add_found(f, p, messages), chats);
}

/* ---- Operations ---------------------------------------------------------- */

static int look_or_wait(tkl_inbox *inbox, size_t max, int64_t wait_ms, bool empty_too,
                        tkl_inbox_chats **chats)
{
    tkl__args args;
    tkl__post any = {.members = true};
    tkl__chat_places all = take_known(inbox);
    tkl__chat_look l = {.inbox = inbox, .all = &all, .args = &args};
    int64_t deadline = wait_ms > 0 ? tkl__deadline_ms(wait_ms) : TKL__FOREVER;
    tkl__args_init(&args);
    tkl__post_fetch_args(&any, member_of(inbox), max, &args);
    int rc = args.failed    ? tkl__nomem()
             : wait_ms == 0 ? tkl__chat_inbox_look(&l, TKL__ALL_PLACES, empty_too, chats)
                            : tkl__chat_inbox_await(&l, deadline, chats);
    bring_back(inbox, &all);
    tkl__args_free(&args);
    return rc;
}

int tkl_inbox_fetch(tkl_inbox *inbox, size_t max, int64_t wait_ms, tkl_inbox_chats **chats)
{
    *chats = NULL;
    int rc = tkl__post_fetch_check(max);
    return rc == TKL_OK ? look_or_wait(inbox, max, wait_ms, false, chats) : rc;
}

int tkl_inbox_show(tkl_inbox *inbox, tkl_inbox_chats **chats)
{
    *chats = NULL;
    return look_or_wait(inbox, 0, 0, true, chats);
}

/* ---- Acknowledging ------------------------------------------------------- */

int tkl_inbox_ack_all(tkl_inbox *inbox, const tkl_inbox_chats *chats)
{
    tkl__batch batch;
    int rc = TKL_OK;
    tkl__batch_init(&batch, inbox->client);
    for (size_t i = 0; rc == TKL_OK && i < chats->count; i++) {
        const tkl_messages *messages = chats->items[i].messages;
        tkl__post post;
        tkl__args args;
        if (!messages || messages->count == 0)
            continue;
        rc = tkl__chat_post(inbox->client, chats->items[i].id, inbox->timeout_ms, &post);
        if (rc != TKL_OK)
            break;
        tkl__args_init(&args);
        tkl__args_bytes(&args, member_of(inbox));
        tkl__args_str(&args, "0");
        tkl__args_int(&args, messages->items[messages->count - 1].id);
        tkl__batch_eval(&batch, &tkl__lua_post_ack, &post.keys, &args, true);
        tkl__args_free(&args);
        tkl__post_close(&post);
    }
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__deadline(inbox->client, inbox->timeout_ms));
    for (size_t i = 0; rc == TKL_OK && i < batch.count; i++) {
        int code = (int)tkl_reply_int(tkl_reply_at(tkl__batch_reply(&batch, i), 0));
        if (code != TKL_OK)
            rc = tkl__fail(code, "not a member any more of a chat that was fetched");
    }
    tkl__batch_free(&batch);
    return rc;
}
