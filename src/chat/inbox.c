/* SPDX-License-Identifier: MIT
 *
 * All chats of one member. The handle remembers the list of chats from its last fetch, so that the
 * next one asks for the list and for all these chats in one round trip. New chats need a second
 * round trip. A fetch takes the remembered list out of the handle and puts it back at the end, so
 * that threads do not wait for each other; a fetch that finds none there begins with the list.
 *
 * A chat that cannot be read, because it is damaged or because its server is down, does not hide
 * the others: the result names it. A fetch fails only when it has nothing else to return.
 *
 * A fetch that waits listens to the channel of the list (a new entry) and to the channels of all
 * chats (new messages). In a cluster these are on several servers, and one of them may hang: the
 * wait goes on with the others.
 */
#include "chat/inbox.h"

#include <stddef.h>
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

/* Takes the remembered list out of the handle. */
static tkl__chat_places take_known(tkl_inbox *inbox)
{
    tkl__client_lock(inbox->client);
    tkl__chat_places known = inbox->known;
    inbox->known = (tkl__chat_places){0};
    tkl__client_unlock(inbox->client);
    return known;
}

/* Puts the list back into the handle. Another thread may have done so meanwhile: its list is freed.
 */
static void put_back_known(tkl_inbox *inbox, tkl__chat_places *all)
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
        code = (int)tkl_reply_int(tkl_reply_at(reply, TKL__FETCHED_CODE));
    p->stranger = code == TKL_NOTOWNER || code == TKL_NOTFOUND;
    p->code = p->stranger ? TKL_OK : code;
    p->caught_up = code == TKL_OK ? tkl__post_read_caught_up(reply) : (tkl__post_caught_up){0};
    bool empty = tkl_reply_count(tkl_reply_at(reply, TKL__FETCHED_ENTRIES)) == 0;
    if (code != TKL_OK || (empty && !f->empty_too))
        return TKL_OK;
    int rc = tkl__post_messages_make(reply, false, &messages);
    return rc == TKL_OK ? add_found(f, p, messages) : rc;
}

/* ---- Looking ------------------------------------------------------------- */

/* A look: its parameters, and its outcome. */
typedef struct inbox_look {
    tkl_inbox *inbox;
    tkl__chat_places *all;
    const tkl__args *args; /* arguments of post/fetch */
    tkl__wait *wait;       /* the look is part of it, and does not ask servers that rest; or NULL */
    int list_code;         /* TKL_OK, or why the list could not be read */
    bool answered;         /* out: at least one server answered, even with an error */
} inbox_look;

#define ALL_PLACES SIZE_MAX

static int64_t deadline_of(const inbox_look *l)
{
    return l->wait ? tkl__wait_deadline(l->wait)
                   : tkl__deadline(l->inbox->client, l->inbox->timeout_ms);
}

/* Whether a server is left alone, because it did not answer during this wait. */
static bool rests(const inbox_look *l, const tkl__ear *ear)
{
    return l->wait && tkl__ear_rests(ear);
}

/* Adds calls for the list, if `with_list`, and for `count` places from `first` on, except for
 * places on servers that rest. */
static void add_calls(const inbox_look *l, size_t first, size_t count, bool with_list,
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

/* Notes whether the server of this ear answered. */
static void note_answer(inbox_look *l, tkl__ear *ear, int code, int64_t began)
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

/* Fetches from `count` places from `first` on, in one round trip, and reads the replies into `f`.
 * With `list` also reads the list, into *list. A place whose server does not answer notes that. */
static int fetch_places(inbox_look *l, size_t first, size_t count, found *f, tkl_reply **replies,
                        const tkl_reply **list)
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

/* Removes chats in which the member is a stranger from the handle and from the list. If an entry
 * stays on the list, the next fetch finds it there. */
static void forget_strangers(const inbox_look *l)
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
static int look_at_all(inbox_look *l, found *f)
{
    size_t known = l->all->count;
    const tkl_reply *list = NULL;
    int rc = fetch_places(l, 0, known, f, &f->replies[0], &list);
    if (rc != TKL_OK || !list)
        return rc; /* without the list, the known chats must do */
    rc = tkl__chat_places_update(l->inbox, list, l->all);
    if (rc == TKL_OK && l->all->count > known)
        rc = fetch_places(l, known, l->all->count - known, f, &f->replies[1], NULL);
    forget_strangers(l);
    tkl__chat_places_drop_unlisted(l->all);
    return rc;
}

/* Returns TKL_EMPTY, or why nothing could be read. */
static int explain_nothing(const inbox_look *l)
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

/* Returns the result to the caller, or frees it. The chats that cannot be read stand behind the
 * others. Without messages there is a result only if the caller wants empty chats, too, and the
 * list of chats could be read. */
static int finish_look(const inbox_look *l, found *f, int rc, tkl_inbox_chats **chats)
{
    if (rc == TKL_OK && f->count == 0 && !(f->empty_too && l->list_code == TKL_OK))
        rc = explain_nothing(l);
    for (size_t i = 0; rc == TKL_OK && i < l->all->count; i++)
        if (l->all->items[i]->code != TKL_OK)
            rc = add_found(f, l->all->items[i], NULL);
    f->public.items = f->items;
    f->public.count = f->count;
    if (rc == TKL_OK)
        *chats = &f->public;
    else
        tkl_inbox_chats_free(&f->public);
    return rc;
}

/* Looks at one place, or at all. TKL_OK when there are messages (or with `empty_too`), TKL_EMPTY
 * when there are none; else why nothing could be read, with the name of the chat. */
static int look_for_messages(inbox_look *l, size_t which, bool empty_too, tkl_inbox_chats **chats)
{
    found *f = calloc(1, sizeof *f);
    if (!f)
        return tkl__nomem();
    f->empty_too = empty_too;
    l->answered = false;
    int rc = which == ALL_PLACES ? look_at_all(l, f)
                                 : fetch_places(l, which, 1, f, &f->replies[0], NULL);
    return finish_look(l, f, rc, chats);
}

/* Takes the message out of a notification of this place; TKL_EMPTY: look instead. */
static int take_notified(inbox_look *l, size_t which, tkl_bytes note, tkl_inbox_chats **chats)
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

/* ---- Waiting ------------------------------------------------------------- */

/* A chat that cannot be read does not end the wait. The result of the wait names it, or its error
 * is returned when the time is over. */
typedef struct inbox_wait {
    inbox_look *look;
    tkl__wait wait;
    tkl_inbox_chats **chats;
    bool looked; /* at least once */
} inbox_wait;

/* Lists the ears: first the ear of the list, then the ears of the chats. */
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

/* Notes that listening at a server failed. */
static void note_silence(void *arg, tkl__ear *ear)
{
    const inbox_wait *w = arg;
    if (ear == &w->look->all->list)
        w->look->list_code = ear->code;
    else
        ((tkl__chat_place *)(void *)((char *)ear - offsetof(tkl__chat_place, ear)))->code =
            ear->code;
}

/* Whether no server answers at the start of the wait, which then ends. */
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
    const inbox_look *l = w->look;
    if (rc == TKL_EMPTY)
        return true;
    if (rc == TKL_OK || rc == TKL_ENOMEM ||
        (l->list_code != TKL_OK && !tkl__may_pass(l->list_code)))
        return false;
    return l->answered || !first;
}

/* Returns the place at which a message has arrived; ALL_PLACES: it is the list. */
static size_t place_of(const tkl__chat_places *all, const tkl__ear *ear)
{
    size_t i = 0;
    while (i < all->count && &all->items[i]->ear != ear)
        i++;
    return i < all->count ? i : ALL_PLACES;
}

static int look_at_inbox(void *arg, tkl__wait *wait, const tkl__news *news)
{
    (void)wait; /* w->wait */
    inbox_wait *w = arg;
    inbox_look *l = w->look;
    bool first = !w->looked;
    size_t where = ALL_PLACES;
    int rc = TKL_EMPTY;
    w->looked = true;
    if (news->kind == TKL__NEWS_MESSAGE)
        where = place_of(l->all, news->ear);
    if (where != ALL_PLACES)
        rc = take_notified(l, where, news->message, w->chats);
    if (rc == TKL_EMPTY)
        rc = look_for_messages(l, where, false, w->chats);
    int collected = collect_ears(w);
    if (collected != TKL_OK)
        return collected;
    return goes_on(w, rc, first) ? TKL__NOT_YET : rc;
}

/* Looks until there are messages, or until the deadline. */
static int await_messages(inbox_look *l, int64_t deadline, tkl_inbox_chats **chats)
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
    return rc == TKL__NOT_YET || tkl__may_pass(rc) ? explain_nothing(l) : rc;
}

/* ---- Operations ---------------------------------------------------------- */

static int look_or_wait(tkl_inbox *inbox, size_t max, int64_t wait_ms, bool empty_too,
                        tkl_inbox_chats **chats)
{
    tkl__args args;
    tkl__post any = {.members = true};
    tkl__chat_places all = take_known(inbox);
    inbox_look l = {.inbox = inbox, .all = &all, .args = &args};
    int64_t deadline = wait_ms > 0 ? tkl__deadline_ms(wait_ms) : TKL__FOREVER;
    tkl__args_init(&args);
    tkl__post_fetch_args(&any, member_of(inbox), max, &args);
    int rc = args.failed    ? tkl__nomem()
             : wait_ms == 0 ? look_for_messages(&l, ALL_PLACES, empty_too, chats)
                            : await_messages(&l, deadline, chats);
    put_back_known(inbox, &all);
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
