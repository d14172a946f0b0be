/* SPDX-License-Identifier: MIT
 *
 * All chats of one member. The handle remembers the list of chats from its last fetch, so that the
 * next one asks for the list and for all these chats at once. Chats that are new to it are asked in
 * a second trip. A fetch takes this knowledge with it and brings it back, so that threads do not
 * wait for each other; one that finds nothing to take begins with the list.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "chat/chat.h"
#include "chat/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/wait.h"
#include "post/scripts.h"

/* As FORGET_AFTER in forget.lua: before this, it is not worth asking. */
#define FORGET_AFTER_MS 3600000
/* Waiting for however long, a waiter looks at least this often. */
#define LOOK_US INT64_C(60000000)
#define ALL     SIZE_MAX

/* One chat on the list. */
typedef struct place {
    char *id; /* owned */
    size_t id_len;
    tkl__post post;
    tkl__waiter waiter;
    int64_t listed_ms; /* when it was put into the list */
    bool listed;       /* it is on the list that came last */
    bool stranger;     /* the member is not one of this chat */
} place;

typedef struct places {
    place **items; /* each stays where it is: its waiter is known elsewhere */
    size_t count;
    int64_t now_ms; /* the server's, when the list came */
} places;

struct tkl_inbox {
    tkl_client *client;
    tkl__keys list; /* its key is also a channel */
    char *member;
    size_t member_len;
    int64_t timeout_ms;
    places known; /* the chats on the list that came last; guarded by the client's lock */
};

/* ---- Places -------------------------------------------------------------- */

static tkl_bytes id_of(const place *p)
{
    return (tkl_bytes){p->id, p->id_len};
}

static char *copy_of(tkl_bytes bytes)
{
    char *copy = malloc(bytes.len + 1);
    if (!copy)
        return NULL;
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    copy[bytes.len] = '\0';
    return copy;
}

static void free_place(place *p)
{
    tkl__unlisten(&p->waiter);
    tkl__post_close(&p->post);
    free(p->id);
    free(p);
}

static void free_places(places *all)
{
    for (size_t i = 0; i < all->count; i++)
        free_place(all->items[i]);
    free(all->items);
}

static int add_place(const tkl_inbox *inbox, places *all, tkl_bytes id)
{
    place **items = realloc(all->items, (all->count + 1) * sizeof *items);
    place *p = calloc(1, sizeof *p);
    if (items)
        all->items = items;
    if (!items || !p) {
        free(p);
        return tkl__nomem();
    }
    int rc = tkl__chat_post(inbox->client, id, inbox->timeout_ms, &p->post);
    p->id = rc == TKL_OK ? copy_of(id) : NULL;
    p->id_len = id.len;
    if (p->id) {
        items[all->count++] = p;
        return TKL_OK;
    }
    tkl__post_close(&p->post);
    free(p);
    return rc == TKL_OK ? tkl__nomem() : rc;
}

static int by_id(const void *a, const void *b)
{
    const place *x = *(place *const *)a, *y = *(place *const *)b;
    int order = memcmp(x->id, y->id, x->id_len < y->id_len ? x->id_len : y->id_len);
    return order ? order : (x->id_len > y->id_len) - (x->id_len < y->id_len);
}

/* Among the first `count`, which are sorted. */
static place *find_place(const places *all, size_t count, tkl_bytes id)
{
    place key = {.id = (char *)(uintptr_t)id.data, .id_len = id.len}, *wanted = &key;
    place **found =
        count > 0 ? bsearch(&wanted, all->items, count, sizeof *all->items, by_id) : NULL;
    return found ? *found : NULL;
}

/* Forgets the places that are not on the list any more. */
static void drop_unlisted(places *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i]->listed)
            all->items[kept++] = all->items[i];
        else
            free_place(all->items[i]);
    all->count = kept;
}

/* {now, chat, time, chat, time ...}: new places come behind the others. */
static int update_places(const tkl_inbox *inbox, const tkl_reply *list, places *all)
{
    size_t sorted = all->count;
    int rc = TKL_OK;
    all->now_ms = tkl_reply_int(tkl_reply_at(list, 0));
    if (sorted > 0)
        qsort(all->items, sorted, sizeof *all->items, by_id);
    for (size_t i = 0; i < sorted; i++)
        all->items[i]->listed = false;
    for (size_t i = 1; rc == TKL_OK && i + 1 < tkl_reply_count(list); i += 2) {
        tkl_bytes id = tkl_reply_bytes(tkl_reply_at(list, i));
        place *p = find_place(all, sorted, id);
        if (!p)
            rc = add_place(inbox, all, id);
        if (rc == TKL_OK) {
            p = p ? p : all->items[all->count - 1];
            p->listed = true;
            p->listed_ms = tkl_reply_int(tkl_reply_at(list, i + 1));
        }
    }
    return rc;
}

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
    rc = tkl__chat_list(client, member, &i->list);
    i->member = rc == TKL_OK ? copy_of(member) : NULL;
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
    free_places(&inbox->known);
    tkl__keys_free(&inbox->list);
    free(inbox->member);
    free(inbox);
}

static places take_known(tkl_inbox *inbox)
{
    tkl__client_lock(inbox->client);
    places known = inbox->known;
    inbox->known = (places){0};
    tkl__client_unlock(inbox->client);
    return known;
}

static void bring_back(tkl_inbox *inbox, places *all)
{
    for (size_t i = 0; i < all->count; i++)
        tkl__unlisten(&all->items[i]->waiter);
    tkl__client_lock(inbox->client);
    places old = inbox->known;
    inbox->known = *all;
    tkl__client_unlock(inbox->client);
    free_places(&old);
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
    size_t good;           /* of these without an error */
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

static int add_found(found *f, const place *p, int code, tkl_messages *messages)
{
    tkl_inbox_chat *items = realloc(f->items, (f->count + 1) * sizeof *items);
    char *id = copy_of(id_of(p));
    if (items)
        f->items = items;
    if (!items || !id) {
        free(id);
        tkl_messages_free(messages);
        return tkl__nomem();
    }
    items[f->count++] = (tkl_inbox_chat){.id = {id, p->id_len}, .code = code, .messages = messages};
    f->good += code == TKL_OK;
    return TKL_OK;
}

/* One reply of post/fetch. */
static int take_reply(found *f, place *p, tkl_reply *reply)
{
    tkl_messages *messages;
    int code = tkl_reply_code(reply);
    if (code == TKL_OK)
        code = (int)tkl_reply_int(tkl_reply_at(reply, 0));
    p->stranger = code == TKL_NOTOWNER || code == TKL_NOTFOUND;
    if (p->stranger)
        return TKL_OK;
    if (code != TKL_OK)
        return add_found(f, p, code, NULL);
    if (tkl_reply_count(tkl_reply_at(reply, 4)) == 0 && !f->empty_too)
        return TKL_OK;
    int rc = tkl__post_messages_make(reply, false, &messages);
    return rc == TKL_OK ? add_found(f, p, TKL_OK, messages) : rc;
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

/* ---- Looking ------------------------------------------------------------- */

static tkl__invocation fetch_call(const tkl__post *post, const tkl__args *args)
{
    return (tkl__invocation){.script = &tkl__lua_post_fetch,
                             .keys = post->keys.items,
                             .nkeys = TKL__FETCH_KEYS,
                             .args = args->items,
                             .nargs = args->count,
                             .retry_safe = true};
}

static tkl__invocation list_call(const tkl_inbox *inbox)
{
    return (tkl__invocation){
        .script = &tkl__lua_chat_list, .keys = inbox->list.items, .nkeys = 1, .retry_safe = true};
}

/* What a look is about. */
typedef struct look {
    tkl_inbox *inbox;
    places *all;
    const tkl__args *args; /* of post/fetch */
    int64_t until;         /* it ends not long after */
} look;

static int64_t look_deadline(const look *l)
{
    tkl__post time = {.client = l->inbox->client, .timeout_ms = l->inbox->timeout_ms};
    return tkl__post_attempt(&time, l->until);
}

/* Asks the places from `first` on; before them, for the list, if `with_list`. *replies is NULL only
 * when the result is an error. */
static int ask(const look *l, size_t first, size_t count, bool with_list, tkl_reply **replies)
{
    size_t n = 0;
    tkl__invocation *calls = calloc(count + 1, sizeof *calls);
    if (!calls)
        return tkl__nomem();
    if (with_list)
        calls[n++] = list_call(l->inbox);
    for (size_t i = 0; i < count; i++)
        calls[n++] = fetch_call(&l->all->items[first + i]->post, l->args);
    int rc = tkl__run_many(l->inbox->client, calls, n, look_deadline(l), replies);
    free(calls);
    return *replies ? TKL_OK : rc;
}

static int take_replies(const look *l, size_t first, size_t count, tkl_reply *replies, size_t skip,
                        found *f)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = take_reply(f, l->all->items[first + i],
                        (tkl_reply *)(uintptr_t)tkl_reply_at(replies, skip + i));
    return rc;
}

/* The chats that the list has and this handle did not know. */
static int look_at_new(const look *l, size_t known, found *f)
{
    size_t count = l->all->count - known;
    if (count == 0)
        return TKL_OK;
    int rc = ask(l, known, count, false, &f->replies[1]);
    return rc == TKL_OK ? take_replies(l, known, count, f->replies[1], 0, f) : rc;
}

static void forget_strangers(const look *l)
{
    for (size_t i = 0; i < l->all->count; i++) {
        const place *p = l->all->items[i];
        if (p->stranger && l->all->now_ms - p->listed_ms >= FORGET_AFTER_MS)
            tkl__chat_forget(l->inbox->client, &l->inbox->list, id_of(p), look_deadline(l));
    }
}

static int look_at_all(const look *l, found *f)
{
    size_t known = l->all->count;
    int rc = ask(l, 0, known, true, &f->replies[0]);
    if (rc == TKL_OK)
        rc = take_replies(l, 0, known, f->replies[0], 1, f);
    if (rc != TKL_OK || tkl_reply_code(tkl_reply_at(f->replies[0], 0)) != TKL_OK)
        return rc; /* without the list: what is known has to do */
    rc = update_places(l->inbox, tkl_reply_at(f->replies[0], 0), l->all);
    if (rc == TKL_OK)
        rc = look_at_new(l, known, f);
    forget_strangers(l);
    drop_unlisted(l->all);
    return rc;
}

static int look_at_one(const look *l, size_t index, found *f)
{
    int rc = ask(l, index, 1, false, &f->replies[0]);
    return rc == TKL_OK ? take_replies(l, index, 1, f->replies[0], 0, f) : rc;
}

/* Looks at one place, or at ALL. TKL_OK when there is something, TKL_EMPTY when there is not. */
static int look_at(const look *l, size_t which, bool empty_too, tkl_inbox_chats **chats)
{
    found *f = calloc(1, sizeof *f);
    if (!f)
        return tkl__nomem();
    f->empty_too = empty_too;
    int rc = which == ALL ? look_at_all(l, f) : look_at_one(l, which, f);
    if (rc == TKL_OK && f->good == 0) {
        rc = failure_in(f->replies[0]);
        if (rc == TKL_OK)
            rc = failure_in(f->replies[1]);
        if (rc == TKL_OK && !empty_too)
            rc = tkl__no(TKL_EMPTY);
    }
    f->public.items = f->items;
    f->public.count = f->count;
    if (rc == TKL_OK)
        *chats = &f->public;
    else
        tkl_inbox_chats_free(&f->public);
    return rc;
}

/* ---- Waiting ------------------------------------------------------------- */

static int listen_to(const look *l, tkl_bytes channel, tkl__waiter *waiter, bool *anew)
{
    if (waiter->hub)
        return TKL_OK;
    *anew = true;
    return tkl__listen(l->inbox->client, channel, tkl_str(""), look_deadline(l), waiter);
}

/* Listens to the list and to all chats. *anew: what was sent before may be unheard. */
static int listen_to_all(const look *l, tkl__waiter *list, bool *anew)
{
    *anew = false;
    int rc = listen_to(l, l->inbox->list.items[0], list, anew);
    for (size_t i = 0; rc == TKL_OK && i < l->all->count; i++) {
        place *p = l->all->items[i];
        rc = listen_to(l, p->post.keys.items[0], &p->waiter, anew);
    }
    return rc;
}

/* Sleeps until something is worth a look: TKL_OK, and where. A connection that broke makes its
 * waiters listen again first: TKL_EMPTY. */
static int sleep_until_told(const look *l, tkl__waiter *list, int bell, size_t *where)
{
    size_t count = l->all->count + 1, which;
    int64_t next = tkl__now() + LOOK_US;
    tkl_bytes message;
    tkl__waiter **waiters = calloc(count, sizeof *waiters);
    if (!waiters)
        return tkl__nomem();
    waiters[0] = list;
    for (size_t i = 1; i < count; i++)
        waiters[i] = &l->all->items[i - 1]->waiter;
    tkl__event event =
        tkl__await_any(waiters, count, bell, next < l->until ? next : l->until, &which, &message);
    if (event == TKL__CUT && which < count)
        tkl__unlisten(waiters[which]);
    free(waiters);
    if (event == TKL__INTERRUPTED)
        return tkl__interrupted();
    *where = event == TKL__MESSAGE && which > 0 && which < count ? which - 1 : ALL;
    return event == TKL__CUT ? TKL_EMPTY : TKL_OK;
}

/* One step: listens, looks when something may be unheard, else sleeps and then looks. */
static int wait_step(const look *l, tkl__waiter *list, int bell, tkl_inbox_chats **chats)
{
    bool anew;
    size_t where = ALL;
    int rc = listen_to_all(l, list, &anew);
    if (rc == TKL_OK && !anew)
        rc = sleep_until_told(l, list, bell, &where);
    return rc == TKL_OK ? look_at(l, where, false, chats) : rc;
}

/* An error at the start is returned at once, one during the wait is sat out. */
static int wait_and_look(const look *l, tkl_inbox_chats **chats)
{
    tkl__waiter list = {.hub = NULL};
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell < 0)
        return tkl__fail_errno(TKL_EIO, "eventfd");
    int rc = wait_step(l, &list, bell, chats);
    bool waiting = rc == TKL_EMPTY;
    while (waiting && tkl__left(l->until) > 0) {
        if (rc != TKL_EMPTY)
            tkl__post_pause(l->until);
        rc = wait_step(l, &list, bell, chats);
        waiting = rc == TKL_EMPTY || tkl__may_pass(rc);
    }
    tkl__unlisten(&list);
    close(bell);
    return rc;
}

/* ---- Operations ---------------------------------------------------------- */

static int look_or_wait(tkl_inbox *inbox, size_t max, int64_t wait_ms, bool empty_too,
                        tkl_inbox_chats **chats)
{
    tkl__args args;
    tkl__post any = {.members = true};
    places all = take_known(inbox);
    look l = {inbox, &all, &args, wait_ms > 0 ? tkl__deadline_ms(wait_ms) : TKL__FOREVER};
    tkl__args_init(&args);
    tkl__post_fetch_args(&any, member_of(inbox), max, &args);
    int rc = args.failed    ? tkl__nomem()
             : wait_ms == 0 ? look_at(&l, ALL, empty_too, chats)
                            : wait_and_look(&l, chats);
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
                                             .nkeys = 4,
                                             .args = args->items,
                                             .nargs = args->count,
                                             .retry_safe = true};
    return args->failed ? tkl__nomem() : TKL_OK;
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
