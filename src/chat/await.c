/* SPDX-License-Identifier: MIT
 *
 * Waiting for a message in any chat of a member. The inbox listens to the channel of its list (a
 * new entry) and to those of all its chats (new messages), looks, and sleeps until a message
 * arrives on one of them.
 *
 * In a cluster these are on several servers, and one of them may hang. The wait leaves that server
 * alone for a while (it "rests", with all channels on it) and goes on with the others: it spends at
 * most a fifth of the time on such servers. A chat that cannot be read does not end the wait. The
 * result of the wait names it, or its error is returned when the time is over.
 */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "chat/inbox.h"
#include "core/clock.h"
#include "core/error.h"

/* A waiter looks at least this often, however long it waits. */
#define LOOK_US INT64_C(60000000)
/* In a cluster: how long a server may take to confirm a subscription, and how long the first look
 * may take. Each look that misses answers doubles the time of the next one, up to that of a call,
 * since replies may be large. */
#define PATIENCE_US 1000000
/* How many subscriptions are sent together, and the bytes of their channels. The client does not
 * read meanwhile, so all the answers must fit into the buffers on their way. */
#define AHEAD       256
#define AHEAD_BYTES 65536
/* A rest lasts this many times as long as the failed attempt, within these bounds. */
#define REST_TIMES  4
#define REST_MIN_US 200000
#define REST_MAX_US 5000000

/* ---- Servers that do not answer ------------------------------------------ */

bool tkl__chat_rests(const tkl__chat_look *l, const tkl__chat_ear *ear)
{
    return l->waiting && tkl__now() < ear->rests_until;
}

void tkl__chat_rest(tkl__chat_ear *ear, int64_t began)
{
    int64_t now = tkl__now(), rest = REST_TIMES * (now - began);
    rest = rest < REST_MIN_US ? REST_MIN_US : rest > REST_MAX_US ? REST_MAX_US : rest;
    tkl__unlisten(&ear->waiter);
    ear->rests_until = now + rest;
}

static bool hears(const tkl__chat_ear *ear)
{
    return ear->waiter.hub != NULL;
}

static tkl_bytes channel_of(const tkl__chat_place *p)
{
    return p->post.keys.items[0];
}

static tkl_bytes channel_of_list(const tkl__chat_look *l)
{
    return l->inbox->list.items[0];
}

/* The server did not confirm in time: lets all channels on it rest that are not listened to yet. */
static void rest_with_server(const tkl__chat_look *l, tkl__node *node, int code, int64_t began)
{
    tkl_client *client = l->inbox->client;
    if (!hears(&l->all->list) && tkl__serves(client, node, channel_of_list(l)))
        tkl__chat_rest(&l->all->list, began);
    for (size_t i = 0; i < l->all->count; i++) {
        tkl__chat_place *p = l->all->items[i];
        if (hears(&p->ear) || !tkl__serves(client, node, channel_of(p)))
            continue;
        tkl__chat_rest(&p->ear, began);
        p->code = code;
    }
}

/* Ends all rests, when no server is listened to and so none would have to wait for another. */
static void end_all_rests(const tkl__chat_look *l)
{
    l->all->list.rests_until = 0;
    for (size_t i = 0; i < l->all->count; i++)
        l->all->items[i]->ear.rests_until = 0;
}

/* ---- Listening ----------------------------------------------------------- */

static int64_t confirm_deadline(const tkl__chat_look *l)
{
    int64_t end = tkl__chat_inbox_deadline(l), soon = tkl__now() + PATIENCE_US;
    return l->inbox->client->route->cluster && soon < end ? soon : end;
}

/* Subscribes to the other channels on this waiter's server that are not listened to yet. */
static void ask_ahead(const tkl__chat_look *l, tkl__node *node, tkl__waiter *waiter,
                      int64_t deadline)
{
    tkl_bytes channels[AHEAD];
    size_t count = 0, bytes = 0;
    for (size_t i = 0; i < l->all->count && count < AHEAD && bytes < AHEAD_BYTES; i++) {
        tkl__chat_place *p = l->all->items[i];
        if (hears(&p->ear) || p->ear.asked_ahead || tkl__chat_rests(l, &p->ear) ||
            !tkl__serves(l->inbox->client, node, channel_of(p)))
            continue;
        p->ear.asked_ahead = true;
        channels[count++] = channel_of(p);
        bytes += channel_of(p).len;
    }
    if (count > 0)
        tkl__listen_ahead(waiter, channels, count, deadline);
}

/* Listens to a channel. Sets *anew when it has just begun to listen: earlier messages may be
 * missed. An unreachable server is not a failure, but becomes the code of the place. */
static int listen_to(const tkl__chat_look *l, tkl_bytes channel, tkl__chat_ear *ear, int *code,
                     bool *anew)
{
    tkl_client *client = l->inbox->client;
    tkl__node *node = NULL;
    if (hears(ear) || tkl__chat_rests(l, ear))
        return TKL_OK;
    int64_t began = tkl__now(), deadline = confirm_deadline(l);
    int rc = tkl__server_of(client, channel, deadline, &node);
    if (rc == TKL_OK)
        rc = tkl__listen(client, channel, tkl_str(""), deadline, &ear->waiter);
    *anew |= rc == TKL_OK;
    if (rc == TKL_OK && !ear->asked_ahead)
        ask_ahead(l, node, &ear->waiter, deadline);
    if (tkl__may_pass(rc) && tkl__left(l->until) == 0) {
        rc = TKL_OK; /* the wait is over; do not blame the server */
    } else if (tkl__may_pass(rc)) {
        tkl__chat_rest(ear, began);
        *code = rc;
        if (node)
            rest_with_server(l, node, rc, began);
        rc = TKL_OK;
    }
    tkl__node_unref(node);
    return rc;
}

static int listen_to_all(tkl__chat_look *l, bool *anew)
{
    for (size_t i = 0; i < l->all->count; i++)
        l->all->items[i]->ear.asked_ahead = false;
    int rc = listen_to(l, channel_of_list(l), &l->all->list, &l->list_code, anew);
    for (size_t i = 0; rc == TKL_OK && i < l->all->count && tkl__left(l->until) > 0; i++) {
        tkl__chat_place *p = l->all->items[i];
        rc = listen_to(l, channel_of(p), &p->ear, &p->code, anew);
    }
    return rc;
}

/* ---- Sleeping ------------------------------------------------------------ */

/* All that can be listened to: the list, then the places. */
typedef struct ears {
    tkl__waiter **waiters;
    size_t count;
    bool any_hears;
    int64_t next;      /* when to wake up at the latest */
    bool rest_is_over; /* at `next` a rest ends, and it is time to listen again */
} ears;

static void add_ear(ears *all, tkl__chat_ear *ear)
{
    all->waiters[all->count++] = &ear->waiter;
    all->any_hears |= hears(ear);
    if (!hears(ear) && ear->rests_until < all->next) {
        all->next = ear->rests_until;
        all->rest_is_over = true;
    }
}

static int collect_ears(const tkl__chat_look *l, ears *all)
{
    int64_t look_at = tkl__now() + LOOK_US;
    *all = (ears){.waiters = calloc(l->all->count + 1, sizeof(tkl__waiter *)),
                  .next = look_at < l->until ? look_at : l->until};
    if (!all->waiters)
        return tkl__nomem();
    add_ear(all, &l->all->list);
    for (size_t i = 0; i < l->all->count; i++)
        add_ear(all, &l->all->items[i]->ear);
    return TKL_OK;
}

static int sleep_deaf(const tkl__chat_look *l)
{
    int rc = tkl__post_pause(l->inbox->client, l->until);
    end_all_rests(l);
    return rc == TKL_OK ? TKL_EMPTY : rc;
}

/* TKL_OK: look at *where, or *chats has the message that came. TKL_EMPTY: listen again. */
static int sleep_hearing(tkl__chat_look *l, const ears *all, int bell, size_t *where,
                         tkl_inbox_chats **chats)
{
    size_t which;
    tkl_bytes note;
    tkl__event event = tkl__await_any(all->waiters, all->count, bell, all->next, &which, &note);
    *where = TKL__ALL_PLACES;
    switch (event) {
    case TKL__INTERRUPTED:
        return tkl__interrupted();
    case TKL__CUT:
        if (which < all->count)
            tkl__unlisten(all->waiters[which]);
        return TKL_EMPTY;
    case TKL__MESSAGE:
        if (which == 0 || which == all->count)
            return TKL_OK;
        *where = which - 1;
        int rc = tkl__chat_inbox_notified(l, *where, note, chats);
        return rc == TKL_EMPTY ? TKL_OK : rc;
    default:
        return event == TKL__TIME_UP && all->rest_is_over ? TKL_EMPTY : TKL_OK;
    }
}

static int sleep_until_told(tkl__chat_look *l, int bell, size_t *where, tkl_inbox_chats **chats)
{
    ears all;
    int rc = collect_ears(l, &all);
    if (rc == TKL_OK)
        rc = all.any_hears ? sleep_hearing(l, &all, bell, where, chats) : sleep_deaf(l);
    free(all.waiters);
    return rc;
}

/* ---- Waiting ------------------------------------------------------------- */

static int look(tkl__chat_look *l, size_t where, tkl_inbox_chats **chats)
{
    tkl_client *client = l->inbox->client;
    l->silence = false;
    tkl__heed_interrupt(client);
    int rc = tkl__chat_inbox_look(l, where, false, chats);
    tkl__heed_interrupt(NULL);
    if (l->silence && l->patience_us < TKL__FOREVER / 2)
        l->patience_us *= 2;
    return rc != TKL_OK && tkl__is_interrupted(client) ? tkl__interrupted() : rc;
}

/* Whether the wait goes on. Chats that cannot be read do not end it; the list does, unless its
 * error is transient. At the start at least one server must answer. */
static bool goes_on(const tkl__chat_look *l, int rc, bool first)
{
    if (rc == TKL_EMPTY)
        return true;
    if (rc == TKL_OK || rc == TKL_ENOMEM || rc == TKL_EINTR)
        return false;
    if (l->list_code != TKL_OK && !tkl__may_pass(l->list_code))
        return false;
    return l->answered || !first;
}

/* Listens; then looks if messages may be missed, else sleeps and then looks. Returns whether the
 * wait goes on. */
static bool wait_step(tkl__chat_look *l, int bell, bool first, int *rc, tkl_inbox_chats **chats)
{
    bool anew = first;
    size_t where = TKL__ALL_PLACES;
    *rc = listen_to_all(l, &anew);
    if (*rc == TKL_OK && !anew)
        *rc = sleep_until_told(l, bell, &where, chats);
    if (*rc != TKL_OK || *chats)
        return *rc == TKL_EMPTY;
    *rc = look(l, where, chats);
    return goes_on(l, *rc, first);
}

static bool all_rest(const tkl__chat_look *l)
{
    bool rest = tkl__chat_rests(l, &l->all->list);
    for (size_t i = 0; rest && i < l->all->count; i++)
        rest = tkl__chat_rests(l, &l->all->items[i]->ear);
    return rest;
}

static int wait_with(tkl__chat_look *l, int bell, tkl_inbox_chats **chats)
{
    int rc;
    l->patience_us = l->inbox->client->route->cluster ? PATIENCE_US : TKL__FOREVER;
    if (all_rest(l))
        end_all_rests(l);
    bool waiting = wait_step(l, bell, true, &rc, chats);
    while (waiting && tkl__left(l->until) > 0)
        waiting = wait_step(l, bell, false, &rc, chats);
    return rc == TKL_EMPTY ? tkl__chat_inbox_nothing(l) : rc;
}

int tkl__chat_inbox_await(tkl__chat_look *l, tkl_inbox_chats **chats)
{
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell < 0)
        return tkl__fail_errno(TKL_EIO, "eventfd");
    int rc = wait_with(l, bell, chats);
    tkl__unlisten(&l->all->list.waiter);
    close(bell);
    return rc;
}
