/* SPDX-License-Identifier: MIT
 *
 * All chats of one member. The handle remembers the list of chats from its last fetch, so that the
 * next one asks for the list and for all these chats at once. Chats that are new to it are asked in
 * a second trip. A fetch takes this knowledge with it and brings it back, so that threads do not
 * wait for each other; one that finds nothing to take begins with the list.
 *
 * A chat that cannot be read, because it is damaged or because its server is away, does not hide
 * the others: it is named in the result. Only a fetch that has nothing else to return fails.
 */
#include "chat/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "chat/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "post/scripts.h"

/* As FORGET_AFTER in forget.lua: before this, it is not worth asking. */
#define FORGET_AFTER_MS 3600000

/* ---- Handles ------------------------------------------------------------- */

int tkl_inbox_open(tkl_client *client, tkl_bytes member, const tkl_inbox_options *options,
                   tkl_inbox **inbox)
{
    *inbox = NULL;
    int64_t timeout_ms = options ? options->timeout_ms : 0;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK)
        rc = tkl__check_number("timeout_ms", timeout_ms, 0, TKL__MS_MAX);
    if (rc != TKL_OK)
        return rc;
    tkl_inbox *i = calloc(1, sizeof *i);
    if (!i)
        return tkl__nomem();
    i->client = client;
    i->timeout_ms = timeout_ms;
    rc = tkl__chat_list_key(client, member, &i->list);
    i->member = rc == TKL_OK ? tkl__chat_copy_of(member) : NULL;
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
        tkl__unlisten(&all->items[i]->ear.waiter);
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

/* ---- What a look found --------------------------------------------------- */

typedef struct found {
    tkl_inbox_chats public;
    tkl_inbox_chat *items;
    size_t count;
    tkl_reply *replies[2]; /* the messages are views into these */
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
    tkl_inbox_chat *items = realloc(f->items, (f->count + 1) * sizeof *items);
    char *id = tkl__chat_copy_of(tkl__chat_place_id(p));
    if (items)
        f->items = items;
    if (!items || !id) {
        free(id);
        tkl_messages_free(messages);
        return tkl__nomem();
    }
    items[f->count++] =
        (tkl_inbox_chat){.id = {id, p->id_len}, .code = p->code, .messages = messages};
    return TKL_OK;
}

/* One reply of post/fetch. */
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

static tkl__invocation fetch_call(const tkl__post *post, const tkl__args *args)
{
    return (tkl__invocation){.script = &tkl__lua_post_fetch,
                             .keys = post->keys.items,
                             .nkeys = post->keys.count,
                             .args = args->items,
                             .nargs = args->count,
                             .retry_safe = true};
}

static tkl__invocation list_call(const tkl_inbox *inbox)
{
    return (tkl__invocation){
        .script = &tkl__lua_chat_list, .keys = inbox->list.items, .nkeys = 1, .retry_safe = true};
}

int64_t tkl__chat_inbox_deadline(const tkl__chat_look *l)
{
    tkl__post time = {.client = l->inbox->client, .timeout_ms = l->inbox->timeout_ms};
    int64_t end = tkl__post_attempt(&time, l->until);
    return l->waiting && l->patience_us < tkl__left(end) ? tkl__now() + l->patience_us : end;
}

/* The calls of a look, in one trip. */
typedef struct inquiry {
    tkl__invocation *calls;
    tkl__chat_place **places; /* one for each call; NULL: the list */
    size_t count;
    int64_t began;
    tkl_reply *replies; /* belong to what was found */
} inquiry;

static void add_call(inquiry *q, tkl__invocation call, tkl__chat_place *place)
{
    q->places[q->count] = place;
    q->calls[q->count++] = call;
}

/* The places from `first` on; before them, for the list, if `with_list`. */
static int ask(const tkl__chat_look *l, size_t first, size_t count, bool with_list, inquiry *q)
{
    *q = (inquiry){.calls = calloc(count + 1, sizeof *q->calls),
                   .places = calloc(count + 1, sizeof(tkl__chat_place *)),
                   .began = tkl__now()};
    if (!q->calls || !q->places)
        return tkl__nomem();
    if (with_list)
        add_call(q, list_call(l->inbox), NULL);
    for (size_t i = first; i < first + count; i++) {
        tkl__chat_place *p = l->all->items[i];
        if (!tkl__chat_rests(l, &p->ear))
            add_call(q, fetch_call(&p->post, l->args), p);
    }
    if (q->count == 0)
        return TKL_OK;
    int rc = tkl__run_many(l->inbox->client, q->calls, q->count, tkl__chat_inbox_deadline(l),
                           &q->replies);
    return q->replies ? TKL_OK : rc;
}

/* A server that does not answer rests. */
static void note_answer(tkl__chat_look *l, tkl__chat_ear *ear, int code, int64_t began)
{
    if (!tkl__may_pass(code)) {
        l->answered = true;
        return;
    }
    l->silence = true;
    if (l->waiting)
        tkl__chat_rest(ear, began);
}

static int take_replies(tkl__chat_look *l, inquiry *q, found *f)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < q->count; i++) {
        tkl_reply *reply = (tkl_reply *)(uintptr_t)tkl_reply_at(q->replies, i);
        tkl__chat_place *p = q->places[i];
        if (p)
            rc = take_reply(f, p, reply);
        else
            l->list_code = tkl_reply_code(reply);
        note_answer(l, p ? &p->ear : &l->all->list, p ? p->code : l->list_code, q->began);
    }
    return rc;
}

/* Asks, and takes what comes. *list, if not NULL: the list is asked for, too, and this is it. */
static int ask_and_take(tkl__chat_look *l, size_t first, size_t count, found *f,
                        tkl_reply **replies, const tkl_reply **list)
{
    inquiry q;
    bool with_list = list && !tkl__chat_rests(l, &l->all->list);
    int rc = ask(l, first, count, with_list, &q);
    *replies = q.replies;
    if (rc == TKL_OK)
        rc = take_replies(l, &q, f);
    if (rc == TKL_OK && with_list && l->list_code == TKL_OK)
        *list = tkl_reply_at(q.replies, 0);
    free(q.calls);
    free(q.places);
    return rc;
}

static void forget_strangers(const tkl__chat_look *l)
{
    for (size_t i = 0; i < l->all->count; i++) {
        const tkl__chat_place *p = l->all->items[i];
        if (p->stranger && l->all->now_ms - p->listed_ms >= FORGET_AFTER_MS)
            tkl__chat_forget(l->inbox->client, &l->inbox->list, tkl__chat_place_id(p),
                             tkl__chat_inbox_deadline(l));
    }
}

/* Those that are known and the list; then those that only the list has. */
static int look_at_all(tkl__chat_look *l, found *f)
{
    size_t known = l->all->count;
    const tkl_reply *list = NULL;
    int rc = ask_and_take(l, 0, known, f, &f->replies[0], &list);
    if (rc != TKL_OK || !list)
        return rc; /* without the list: what is known has to do */
    rc = tkl__chat_places_update(l->inbox, list, l->all);
    if (rc == TKL_OK && l->all->count > known)
        rc = ask_and_take(l, known, l->all->count - known, f, &f->replies[1], NULL);
    forget_strangers(l);
    tkl__chat_places_drop_unlisted(l->all);
    return rc;
}

/* Chats that cannot be read are named behind the others. */
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

/* A list of chats needs the list; messages of known chats do without. */
static int conclude(const tkl__chat_look *l, found *f)
{
    if (f->count == 0 && !(f->empty_too && l->list_code == TKL_OK))
        return tkl__chat_inbox_nothing(l);
    return add_unreadable(l, f);
}

/* Hands it over, or frees it. */
static int finish(const tkl__chat_look *l, found *f, int rc, tkl_inbox_chats **chats)
{
    if (rc == TKL_OK)
        rc = conclude(l, f);
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
    return finish(l, f, rc, chats);
}

int tkl__chat_inbox_notified(tkl__chat_look *l, size_t which, tkl_bytes note,
                             tkl_inbox_chats **chats)
{
    const tkl__chat_place *p = l->all->items[which];
    tkl_messages *messages;
    int rc = tkl__post_notified(&p->caught_up, note, &messages);
    if (rc != TKL_OK)
        return rc;
    found *f = calloc(1, sizeof *f);
    if (!f) {
        tkl_messages_free(messages);
        return tkl__nomem();
    }
    return finish(l, f, add_found(f, p, messages), chats);
}

/* ---- Operations ---------------------------------------------------------- */

static int look_or_wait(tkl_inbox *inbox, size_t max, int64_t wait_ms, bool empty_too,
                        tkl_inbox_chats **chats)
{
    tkl__args args;
    tkl__post any = {.members = true};
    tkl__chat_places all = take_known(inbox);
    tkl__chat_look l = {.inbox = inbox,
                        .all = &all,
                        .args = &args,
                        .until = wait_ms > 0 ? tkl__deadline_ms(wait_ms) : TKL__FOREVER,
                        .waiting = wait_ms != 0};
    tkl__args_init(&args);
    tkl__post_fetch_args(&any, member_of(inbox), max, &args);
    int rc = args.failed    ? tkl__nomem()
             : wait_ms == 0 ? tkl__chat_inbox_look(&l, TKL__ALL_PLACES, empty_too, chats)
                            : tkl__chat_inbox_await(&l, chats);
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

/* Posts and arguments of the chats that have messages. */
typedef struct acks {
    tkl__post *posts;
    tkl__args *args;
    tkl__invocation *calls;
    size_t count;
} acks;

static int add_ack(const tkl_inbox *inbox, acks *a, const tkl_inbox_chat *chat)
{
    tkl__args *args = &a->args[a->count];
    tkl__post *post = &a->posts[a->count];
    int rc = tkl__chat_post(inbox->client, chat->id, inbox->timeout_ms, post);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(args);
    tkl__args_bytes(args, member_of(inbox));
    tkl__args_str(args, "0");
    tkl__args_int(args, chat->messages->items[chat->messages->count - 1].id);
    a->calls[a->count++] = (tkl__invocation){.script = &tkl__lua_post_ack,
                                             .keys = post->keys.items,
                                             .nkeys = post->keys.count,
                                             .args = args->items,
                                             .nargs = args->count,
                                             .retry_safe = true};
    return args->failed ? tkl__nomem() : TKL_OK;
}

/* The first failure among them, with its text. */
static int failure_in(const tkl_reply *replies)
{
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        int code = tkl_reply_code(tkl_reply_at(replies, i));
        if (code != TKL_OK)
            return tkl__fail(code, "%s", tkl_reply_str(tkl_reply_at(replies, i)));
    }
    return TKL_OK;
}

static int first_no(const tkl_reply *replies)
{
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        int code = (int)tkl_reply_int(tkl_reply_at(tkl_reply_at(replies, i), 0));
        if (code != TKL_OK)
            return tkl__fail(code, "not a member any more of a chat that was fetched");
    }
    return TKL_OK;
}

static int run_acks(tkl_inbox *inbox, const acks *a)
{
    tkl_reply *replies = NULL;
    int rc = tkl__run_many(inbox->client, a->calls, a->count,
                           tkl__deadline(inbox->client, inbox->timeout_ms), &replies);
    if (rc == TKL_OK)
        rc = failure_in(replies);
    if (rc == TKL_OK)
        rc = first_no(replies);
    tkl_reply_free(replies);
    return rc;
}

int tkl_inbox_ack_all(tkl_inbox *inbox, const tkl_inbox_chats *chats)
{
    acks a = {.posts = calloc(chats->count + 1, sizeof *a.posts),
              .args = calloc(chats->count + 1, sizeof *a.args),
              .calls = calloc(chats->count + 1, sizeof *a.calls)};
    int rc = a.posts && a.args && a.calls ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < chats->count; i++)
        if (chats->items[i].messages && chats->items[i].messages->count > 0)
            rc = add_ack(inbox, &a, &chats->items[i]);
    if (rc == TKL_OK && a.count > 0)
        rc = run_acks(inbox, &a);
    for (size_t i = 0; i < a.count; i++) {
        tkl__post_close(&a.posts[i]);
        tkl__args_free(&a.args[i]);
    }
    free(a.posts);
    free(a.args);
    free(a.calls);
    return rc;
}
