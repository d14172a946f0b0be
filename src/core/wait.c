/* SPDX-License-Identifier: MIT
 *
 * Locking: a hub has a mutex of its own, held for the bookkeeping and for sending, never while
 * waiting. `reading` says that somebody is in poll() for the connection; only that one, or
 * whoever finds nobody reading, may read or close it. A sender that finds the connection broken
 * while another polls shuts the socket down, which ends the poll; so does the alarm, for one who
 * shall wait no more.
 *
 * Subscriptions are answered in the order in which they were asked for; an error does not
 * name its channel, so it belongs to the first in `asked`.
 */
#include "core/wait.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/resp.h"

#define BUCKETS 256
/* Subscriptions kept although nobody waits: a program that waits again and again for the same
 * few names subscribes once. */
#define IDLE_TOPICS 64
/* The longest pause between two tries to connect. */
#define DIAL_PAUSE_MAX_US 250000
/* How often those who wait see whether one of them is still looking. */
#define LOOKING_US 1000000

struct tkl__note {
    tkl__note *next;
    size_t len;
    char text[];
};

typedef enum topic_state {
    OFF,     /* not subscribed */
    ASKED,   /* SSUBSCRIBE sent */
    ON,      /* confirmed */
    REFUSED, /* answered by an error */
} topic_state;

struct tkl__topic {
    char *channel;
    size_t len;
    topic_state state;
    int code;             /* why refused */
    char *refusal;        /* in words */
    int users;            /* those listening or about to */
    tkl__waiter *waiters; /* those listening */
    int64_t look_at;      /* TKL__FOREVER: nobody asked */
    tkl__waiter *looker;  /* was told to look, and has not said when to look next */
    tkl__topic *chain;    /* in its bucket */
    tkl__topic *next_asked;
    tkl__topic *next_idle;
};

struct tkl__hub {
    tkl__hub *next; /* of the client */
    tkl_client *client;
    tkl__node *node;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* dialled, confirmed, refused, cut */
    tkl__conn *conn;        /* NULL: not connected */
    bool dialling;
    int failures;     /* dials failed in a row */
    int64_t retry_at; /* no dial before this */
    bool reading;
    int alarm;             /* an eventfd that ends the poll; -1: there is none to be had */
    tkl__waiter *sleepers; /* those who could take over reading */
    tkl__topic *buckets[BUCKETS];
    tkl__topic *asked, *asked_last;
    tkl__topic *idle, *idle_last; /* oldest first */
    int idle_count;
};

/* ---- Topics -------------------------------------------------------------- */

static tkl__topic **bucket(tkl__hub *hub, tkl_bytes channel)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < channel.len; i++)
        hash = (hash ^ (unsigned char)channel.data[i]) * 16777619u;
    return &hub->buckets[hash % BUCKETS];
}

static tkl__topic *find_topic(tkl__hub *hub, tkl_bytes channel)
{
    for (tkl__topic *t = *bucket(hub, channel); t; t = t->chain)
        if (t->len == channel.len && memcmp(t->channel, channel.data, t->len) == 0)
            return t;
    return NULL;
}

static tkl__topic *make_topic(tkl__hub *hub, tkl_bytes channel)
{
    tkl__topic *t = calloc(1, sizeof *t);
    char *copy = malloc(channel.len + 1);
    if (!t || !copy) {
        free(t);
        free(copy);
        return NULL;
    }
    memcpy(copy, channel.data, channel.len);
    t->channel = copy;
    t->len = channel.len;
    t->look_at = TKL__FOREVER;
    tkl__topic **at = bucket(hub, channel);
    t->chain = *at;
    *at = t;
    return t;
}

static void free_topic(tkl__topic *t)
{
    free(t->channel);
    free(t->refusal);
    free(t);
}

static void drop_topic(tkl__hub *hub, tkl__topic *t)
{
    tkl__topic **at = bucket(hub, (tkl_bytes){t->channel, t->len});
    while (*at != t)
        at = &(*at)->chain;
    *at = t->chain;
    free_topic(t);
}

static void asked_push(tkl__hub *hub, tkl__topic *t)
{
    t->next_asked = NULL;
    *(hub->asked ? &hub->asked_last->next_asked : &hub->asked) = t;
    hub->asked_last = t;
}

static tkl__topic *asked_pop(tkl__hub *hub)
{
    tkl__topic *t = hub->asked;
    if (t)
        hub->asked = t->next_asked;
    return t;
}

static void idle_push(tkl__hub *hub, tkl__topic *t)
{
    t->next_idle = NULL;
    *(hub->idle ? &hub->idle_last->next_idle : &hub->idle) = t;
    hub->idle_last = t;
    hub->idle_count++;
}

static void idle_remove(tkl__hub *hub, tkl__topic *t)
{
    tkl__topic *before = NULL;
    for (tkl__topic *i = hub->idle; i != t; i = i->next_idle)
        before = i;
    *(before ? &before->next_idle : &hub->idle) = t->next_idle;
    if (hub->idle_last == t)
        hub->idle_last = before;
    hub->idle_count--;
}

/* ---- Waking -------------------------------------------------------------- */

static void wake(tkl__waiter *w)
{
    if (w->bell >= 0)
        eventfd_write(w->bell, 1);
    else
        pthread_cond_signal(&w->woken);
}

static void sleeper_add(tkl__hub *hub, tkl__waiter *w)
{
    w->asleep = true;
    w->prev_sleeper = NULL;
    w->next_sleeper = hub->sleepers;
    if (hub->sleepers)
        hub->sleepers->prev_sleeper = w;
    hub->sleepers = w;
}

static void sleeper_remove(tkl__hub *hub, tkl__waiter *w)
{
    w->asleep = false;
    *(w->prev_sleeper ? &w->prev_sleeper->next_sleeper : &hub->sleepers) = w->next_sleeper;
    if (w->next_sleeper)
        w->next_sleeper->prev_sleeper = w->prev_sleeper;
}

/* Nobody reads any more: another one who waits should. */
static void pass_reading_on(tkl__hub *hub)
{
    if (hub->sleepers)
        wake(hub->sleepers);
    else
        pthread_cond_broadcast(&hub->changed); /* somebody may wait for a confirmation */
}

static void cut_topic(tkl__topic *t)
{
    t->state = OFF;
    t->look_at = TKL__FOREVER;
    for (tkl__waiter *w = t->waiters; w; w = w->next) {
        w->cut = true;
        wake(w);
    }
}

/* The connection is gone: nothing is subscribed any more. */
static void cut(tkl__hub *hub)
{
    tkl__conn_close(hub->conn);
    hub->conn = NULL;
    hub->asked = NULL;
    for (int i = 0; i < BUCKETS; i++)
        for (tkl__topic *t = hub->buckets[i]; t; t = t->chain)
            cut_topic(t);
    pthread_cond_broadcast(&hub->changed);
}

/* ---- What the server says ------------------------------------------------ */

static void deliver(tkl__waiter *w, tkl_bytes text)
{
    tkl__note *note = malloc(sizeof *note + text.len);
    if (!note) {
        w->cut = true; /* as good as lost: it will look */
        wake(w);
        return;
    }
    *note = (tkl__note){.len = text.len};
    if (text.len > 0)
        memcpy(note->text, text.data, text.len);
    *(w->first ? &w->last->next : &w->first) = note;
    w->last = note;
    wake(w);
}

static bool concerns(const tkl__waiter *w, tkl_bytes text)
{
    return text.len >= w->id.len && memcmp(text.data, w->id.data, w->id.len) == 0;
}

static void on_message(tkl__topic *t, tkl_bytes text)
{
    for (tkl__waiter *w = t->waiters; w; w = w->next)
        if (concerns(w, text))
            deliver(w, (tkl_bytes){text.data + w->id.len, text.len - w->id.len});
}

static void on_confirmed(tkl__hub *hub, tkl__topic *t)
{
    if (t == hub->asked)
        asked_pop(hub);
    if (t->state == ASKED)
        t->state = ON;
    pthread_cond_broadcast(&hub->changed);
}

static void on_error(tkl__hub *hub, const tkl_reply *reply)
{
    tkl__topic *t = asked_pop(hub);
    if (!t)
        return;
    t->state = REFUSED;
    t->code = tkl_reply_code(reply);
    free(t->refusal);
    t->refusal = strdup(tkl_reply_str(reply));
    pthread_cond_broadcast(&hub->changed);
}

static void on_reply(tkl__hub *hub, const tkl_reply *reply)
{
    if (tkl_reply_kind(reply) == TKL_REPLY_ERROR) {
        on_error(hub, reply);
        return;
    }
    const char *kind = tkl_reply_str(tkl_reply_at(reply, 0));
    tkl__topic *t = find_topic(hub, tkl_reply_bytes(tkl_reply_at(reply, 1)));
    if (!t)
        return; /* dropped meanwhile */
    if (strcmp(kind, "smessage") == 0)
        on_message(t, tkl_reply_bytes(tkl_reply_at(reply, 2)));
    else if (strcmp(kind, "ssubscribe") == 0)
        on_confirmed(hub, t);
    else if (strcmp(kind, "sunsubscribe") == 0 && t->state == ON)
        cut_topic(t); /* the slot moved to another node */
}

/* Reads what there is, or some of it. */
static void drain(tkl__hub *hub)
{
    bool more = true;
    while (hub->conn && more) {
        tkl_reply *reply;
        if (tkl__conn_try_receive(hub->conn, &reply) != TKL_OK) {
            cut(hub);
            return;
        }
        if (!reply)
            return;
        on_reply(hub, reply);
        tkl_reply_free(reply);
        more = tkl__conn_more(hub->conn);
    }
}

/* Reads for all until something came or the deadline passed. Unlocks meanwhile. */
static void read_for_all(tkl__hub *hub, int64_t deadline)
{
    struct pollfd files[] = {{hub->conn->stream.fd, POLLIN, 0}, {hub->alarm, POLLIN, 0}};
    eventfd_t rung;
    hub->reading = true;
    pthread_mutex_unlock(&hub->mutex);
    poll(files, 2, tkl__poll_ms(deadline));
    pthread_mutex_lock(&hub->mutex);
    hub->reading = false;
    if (files[1].revents)
        eventfd_read(hub->alarm, &rung);
    drain(hub);
}

/* ---- Subscribing --------------------------------------------------------- */

/* Unlocks while dialling. */
static int dial(tkl__hub *hub, int64_t deadline)
{
    tkl__conn *conn;
    hub->dialling = true;
    pthread_mutex_unlock(&hub->mutex);
    int rc = tkl__conn_dial(&hub->client->target, tkl__node_addr(hub->node), hub->client->tls,
                            deadline, &conn);
    pthread_mutex_lock(&hub->mutex);
    hub->dialling = false;
    hub->failures = rc == TKL_OK ? 0 : hub->failures + 1;
    if (rc == TKL_OK)
        hub->conn = conn;
    else
        hub->retry_at = tkl__now() + tkl__backoff(hub->failures, DIAL_PAUSE_MAX_US);
    pthread_cond_broadcast(&hub->changed);
    return rc;
}

/* One at a time dials, after a pause that all share. */
static int connect_hub(tkl__hub *hub, int64_t deadline)
{
    while (!hub->conn) {
        bool pause = hub->failures > 0 && tkl__now() < hub->retry_at;
        if (!hub->dialling && !pause)
            return dial(hub, deadline);
        int64_t until = pause && hub->retry_at < deadline ? hub->retry_at : deadline;
        tkl__cond_wait(&hub->changed, &hub->mutex, until);
        if (tkl__left(deadline) == 0)
            return tkl__fail(TKL_ENOTSENT, "no subscription in time");
    }
    return TKL_OK;
}

static int send_word(tkl__hub *hub, const char *word, const tkl__topic *t, int64_t deadline)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, 2);
    tkl__resp_argz(&wire, word);
    tkl__resp_arg(&wire, t->channel, t->len);
    int rc = wire.failed
                 ? tkl__nomem()
                 : tkl__conn_send(hub->conn, (tkl_bytes){wire.data, wire.len}, deadline, NULL);
    tkl__buf_free(&wire);
    if (rc != TKL_OK && hub->reading)
        shutdown(hub->conn->stream.fd, SHUT_RDWR);
    else if (rc != TKL_OK)
        cut(hub);
    return rc;
}

static int ask_for(tkl__hub *hub, tkl__topic *t, int64_t deadline)
{
    int rc = connect_hub(hub, deadline);
    if (rc != TKL_OK || t->state == ASKED || t->state == ON)
        return rc; /* another thread may have asked meanwhile */
    t->state = ASKED;
    asked_push(hub, t);
    return send_word(hub, "SSUBSCRIBE", t, deadline);
}

static int refused(tkl__topic *t)
{
    t->state = OFF;
    return tkl__fail(t->code, "SSUBSCRIBE: %s", t->refusal ? t->refusal : "");
}

/* Waits until the subscription is confirmed. */
static int subscribe(tkl__hub *hub, tkl__topic *t, int64_t deadline)
{
    int rc = TKL_OK;
    if (hub->conn && !hub->reading)
        drain(hub); /* a connection that died while nobody read */
    while (rc == TKL_OK && t->state != ON) {
        if (tkl__left(deadline) == 0)
            rc = tkl__fail(TKL_ENOTSENT, "no subscription in time");
        else if (t->state == REFUSED)
            rc = refused(t);
        else if (t->state == OFF)
            rc = ask_for(hub, t, deadline);
        else if (hub->reading)
            tkl__cond_wait(&hub->changed, &hub->mutex, deadline);
        else
            read_for_all(hub, deadline);
    }
    if (!hub->reading)
        pass_reading_on(hub);
    return rc;
}

static void unsubscribe_oldest(tkl__hub *hub)
{
    tkl__topic *t = hub->idle;
    if (t->state == ASKED)
        return; /* its answer is to come */
    idle_remove(hub, t);
    if (t->state == ON && hub->conn)
        send_word(hub, "SUNSUBSCRIBE", t, tkl__deadline_ms(100));
    drop_topic(hub, t);
}

/* ---- Hubs ---------------------------------------------------------------- */

static tkl__hub *make_hub(tkl_client *client, tkl__node *node)
{
    tkl__hub *hub = calloc(1, sizeof *hub);
    if (!hub)
        return NULL;
    hub->client = client;
    hub->node = node;
    hub->alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&hub->mutex, NULL);
    tkl__cond_init(&hub->changed);
    return hub;
}

/* The hub of a node; takes over the reference. */
static tkl__hub *hub_of(tkl_client *client, tkl__node *node)
{
    tkl__client_lock(client);
    tkl__hub *hub = client->hubs;
    while (hub && hub->node != node)
        hub = hub->next;
    bool made = !hub && (hub = make_hub(client, node));
    if (made) {
        hub->next = client->hubs;
        client->hubs = hub;
    }
    tkl__client_unlock(client);
    if (!made)
        tkl__node_unref(node);
    return hub;
}

static void free_topics(tkl__hub *hub)
{
    for (int i = 0; i < BUCKETS; i++)
        for (tkl__topic *t = hub->buckets[i], *next; t; t = next) {
            next = t->chain;
            free_topic(t);
        }
}

void tkl__hubs_close(tkl_client *client)
{
    for (tkl__hub *hub = client->hubs, *next; hub; hub = next) {
        next = hub->next;
        free_topics(hub);
        tkl__conn_close(hub->conn);
        tkl__node_unref(hub->node);
        if (hub->alarm >= 0)
            close(hub->alarm);
        pthread_mutex_destroy(&hub->mutex);
        pthread_cond_destroy(&hub->changed);
        free(hub);
    }
    client->hubs = NULL;
}

/* The mutexes may be held by threads that do not exist here, and the alarm is the parent's as
 * well: they are made anew. */
void tkl__hubs_forget(tkl_client *client)
{
    for (tkl__hub *hub = client->hubs; hub; hub = hub->next) {
        free_topics(hub);
        if (hub->conn)
            tkl__conn_abandon(hub->conn);
        if (hub->alarm >= 0)
            close(hub->alarm);
        *hub = (tkl__hub){.next = hub->next,
                          .client = client,
                          .node = hub->node,
                          .alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        pthread_mutex_init(&hub->mutex, NULL);
        tkl__cond_init(&hub->changed);
    }
}

/* ---- Listening ----------------------------------------------------------- */

static void attach(tkl__waiter *w, tkl__hub *hub, tkl__topic *t, tkl_bytes id)
{
    *w = (tkl__waiter){.hub = hub, .topic = t, .id = id, .bell = -1, .next = t->waiters};
    tkl__cond_init(&w->woken);
    if (t->waiters)
        t->waiters->prev = w;
    t->waiters = w;
}

static void detach(tkl__waiter *w)
{
    if (w->topic->looker == w) { /* without a word: another one has to look */
        w->topic->looker = NULL;
        w->topic->look_at = tkl__now();
    }
    *(w->prev ? &w->prev->next : &w->topic->waiters) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    pthread_cond_destroy(&w->woken);
}

static tkl__topic *use_topic(tkl__hub *hub, tkl_bytes channel)
{
    tkl__topic *t = find_topic(hub, channel);
    if (!t)
        return make_topic(hub, channel);
    if (t->users == 0)
        idle_remove(hub, t);
    return t;
}

static void leave_topic(tkl__hub *hub, tkl__topic *t)
{
    if (--t->users > 0)
        return;
    t->look_at = TKL__FOREVER;
    idle_push(hub, t);
    if (hub->idle_count > IDLE_TOPICS)
        unsubscribe_oldest(hub);
}

static int listen_on(tkl__hub *hub, tkl_bytes channel, tkl_bytes id, int64_t deadline,
                     tkl__waiter *w)
{
    pthread_mutex_lock(&hub->mutex);
    tkl__topic *t = use_topic(hub, channel);
    int rc = t ? TKL_OK : tkl__nomem();
    if (t) {
        t->users++;
        rc = subscribe(hub, t, deadline);
        if (rc == TKL_OK)
            attach(w, hub, t, id);
        else
            leave_topic(hub, t);
    }
    pthread_mutex_unlock(&hub->mutex);
    return rc;
}

int tkl__listen(tkl_client *client, tkl_bytes channel, tkl_bytes id, int64_t deadline,
                tkl__waiter *w)
{
    tkl__node *node;
    *w = (tkl__waiter){.hub = NULL};
    int slot = client->route->cluster ? tkl__slot_of(channel) : TKL__NO_SLOT;
    int rc = client->route->pick(client, slot, deadline, &node);
    if (rc != TKL_OK)
        return rc;
    tkl__hub *hub = hub_of(client, node);
    if (!hub)
        return tkl__nomem();
    rc = listen_on(hub, channel, id, deadline, w);
    if (rc != TKL_OK)
        client->route->suspect(client, hub->node); /* MOVED, or gone */
    return rc;
}

static void free_notes(tkl__note *note)
{
    for (tkl__note *next; note; note = next) {
        next = note->next;
        free(note);
    }
}

void tkl__unlisten(tkl__waiter *w)
{
    tkl__hub *hub = w->hub;
    if (!hub)
        return;
    pthread_mutex_lock(&hub->mutex);
    detach(w);
    leave_topic(hub, w->topic);
    pthread_mutex_unlock(&hub->mutex);
    free_notes(w->first);
    free(w->read);
    w->hub = NULL;
}

bool tkl__hears(tkl_client *client, tkl_bytes channel)
{
    bool on = false;
    tkl__client_lock(client);
    tkl__hub *hub = client->hubs;
    tkl__client_unlock(client);
    for (; hub && !on; hub = hub->next) {
        pthread_mutex_lock(&hub->mutex);
        tkl__topic *t = find_topic(hub, channel);
        on = t && t->state == ON;
        pthread_mutex_unlock(&hub->mutex);
    }
    return on;
}

/* ---- Waiting ------------------------------------------------------------- */

static bool take_look(tkl__waiter *w)
{
    tkl__topic *t = w->topic;
    if (tkl__now() < t->look_at)
        return false;
    t->look_at = TKL__FOREVER; /* this waiter's task now */
    t->looker = w;
    return true;
}

/* Nobody sleeps beyond the next look: whoever asked for it may be gone by then. While somebody
 * looks, that time is not known yet. */
static int64_t sleep_end(const tkl__topic *t, int64_t deadline)
{
    int64_t until = t->looker ? tkl__now() + LOOKING_US : t->look_at;
    if (t->look_at < until)
        until = t->look_at;
    return until < deadline ? until : deadline;
}

static void sleep_until(tkl__hub *hub, tkl__waiter *w, int64_t deadline)
{
    sleeper_add(hub, w);
    tkl__cond_wait(&w->woken, &hub->mutex, deadline);
    sleeper_remove(hub, w);
}

/* What there is for it now, if anything. */
static bool has_event(tkl__waiter *w, int64_t deadline, tkl__event *event)
{
    if (w->first)
        *event = TKL__MESSAGE;
    else if (w->cut)
        *event = TKL__CUT;
    else if (take_look(w))
        *event = TKL__LOOK;
    else if (w->called_off || tkl__left(deadline) == 0)
        *event = TKL__TIME_UP;
    else
        return false;
    return true;
}

static tkl__event next_event(tkl__hub *hub, tkl__waiter *w, int64_t deadline)
{
    tkl__event event;
    while (!has_event(w, deadline, &event)) {
        int64_t until = sleep_end(w->topic, deadline);
        if (hub->reading)
            sleep_until(hub, w, until);
        else
            read_for_all(hub, until);
    }
    return event;
}

static void take_message(tkl__waiter *w, tkl__event event, tkl_bytes *message)
{
    free(w->read);
    w->read = NULL;
    if (event != TKL__MESSAGE)
        return;
    w->read = w->first;
    w->first = w->read->next;
    *message = (tkl_bytes){w->read->text, w->read->len};
}

tkl__event tkl__await(tkl__waiter *w, int64_t deadline, tkl_bytes *message)
{
    tkl__hub *hub = w->hub;
    pthread_mutex_lock(&hub->mutex);
    tkl__event event = next_event(hub, w, deadline);
    take_message(w, event, message);
    if (!hub->reading)
        pass_reading_on(hub);
    pthread_mutex_unlock(&hub->mutex);
    return event;
}

/* ---- Waiting at several places ------------------------------------------- */

typedef struct places {
    tkl__waiter *const *waiters;
    size_t count;
    struct pollfd *files; /* one for each, and the bell */
    int64_t deadline;
} places;

/* Reads for all, unless somebody does: then it is one of those who could. */
static void settle(tkl__waiter *w, int bell, struct pollfd *file)
{
    w->bell = bell;
    w->reads = !w->hub->reading;
    w->hub->reading = true;
    if (w->reads)
        file->fd = w->hub->conn->stream.fd;
    else
        sleeper_add(w->hub, w);
}

/* All settle down, or those before the first that has something. Says how many; *until is when one
 * must get up at the latest. */
static size_t settle_all(places *p, int64_t *until, tkl__event *event, tkl_bytes *message)
{
    bool over = false;
    size_t i = 0;
    for (*until = p->deadline; i < p->count && !over; i += !over) {
        tkl__waiter *w = p->waiters[i];
        p->files[i] = (struct pollfd){-1, POLLIN, 0};
        if (!w->hub)
            continue;
        pthread_mutex_lock(&w->hub->mutex);
        over = has_event(w, p->deadline, event);
        if (over) {
            take_message(w, *event, message);
        } else {
            settle(w, p->files[p->count].fd, &p->files[i]);
            *until = sleep_end(w->topic, *until);
        }
        pthread_mutex_unlock(&w->hub->mutex);
    }
    return i;
}

/* Nobody has to ring any more. */
static void get_up(tkl__waiter *w)
{
    pthread_mutex_lock(&w->hub->mutex);
    w->bell = -1;
    if (w->asleep)
        sleeper_remove(w->hub, w);
    pthread_mutex_unlock(&w->hub->mutex);
}

/* Deals with what came, for all. */
static void read_up(tkl__waiter *w)
{
    pthread_mutex_lock(&w->hub->mutex);
    if (w->reads) {
        w->hub->reading = w->reads = false;
        drain(w->hub);
    }
    pthread_mutex_unlock(&w->hub->mutex);
}

static void for_each(tkl__waiter *const *waiters, size_t count, void (*what)(tkl__waiter *))
{
    for (size_t i = 0; i < count; i++)
        if (waiters[i]->hub)
            what(waiters[i]);
}

/* Says which one has something. All of them: none, but something happened, or the time is up. */
static size_t wait_once(places *p, tkl__event *event, tkl_bytes *message)
{
    int64_t until;
    size_t settled = settle_all(p, &until, event, message);
    if (settled == p->count)
        poll(p->files, p->count + 1, tkl__poll_ms(until));
    for_each(p->waiters, settled, get_up);
    for_each(p->waiters, settled, read_up);
    return settled;
}

static void let_others_read(tkl__waiter *w)
{
    pthread_mutex_lock(&w->hub->mutex);
    if (!w->hub->reading)
        pass_reading_on(w->hub);
    pthread_mutex_unlock(&w->hub->mutex);
}

tkl__event tkl__await_any(tkl__waiter *const *waiters, size_t count, int bell, int64_t deadline,
                          size_t *which, tkl_bytes *message)
{
    places p = {waiters, count, calloc(count + 1, sizeof *p.files), deadline};
    tkl__event event = TKL__TIME_UP;
    eventfd_t rung = 0;
    *which = count;
    if (!p.files) {
        tkl__sleep_until(tkl__now() + tkl__backoff(0, 2000));
        return event;
    }
    p.files[count] = (struct pollfd){bell, POLLIN, 0};
    do {
        *which = wait_once(&p, &event, message);
        if (p.files[count].revents)
            eventfd_read(bell, &rung);
    } while (*which == count && rung == 0 && tkl__left(deadline) > 0);
    for_each(waiters, count, let_others_read);
    free(p.files);
    return event;
}

bool tkl__strayed(tkl__waiter *w)
{
    tkl__hub *hub = w->hub;
    tkl_client *client = hub->client;
    tkl__node *node;
    int slot = client->route->cluster ? tkl__slot_of((tkl_bytes){w->topic->channel, w->topic->len})
                                      : TKL__NO_SLOT;
    if (client->route->pick(client, slot, tkl__now(), &node) != TKL_OK)
        return false;
    bool strayed = node != hub->node;
    tkl__node_unref(node);
    return strayed;
}

void tkl__call_off(tkl__waiter *w)
{
    pthread_mutex_lock(&w->hub->mutex);
    w->called_off = true;
    wake(w);
    if (w->hub->reading)
        eventfd_write(w->hub->alarm, 1);
    pthread_mutex_unlock(&w->hub->mutex);
}

void tkl__look_at(tkl__waiter *w, int64_t at)
{
    tkl__topic *t = w->topic;
    pthread_mutex_lock(&w->hub->mutex);
    if (t->looker == w)
        t->looker = NULL;
    if (at < t->look_at)
        t->look_at = at;
    pthread_mutex_unlock(&w->hub->mutex);
}
