/* SPDX-License-Identifier: MIT
 *
 * Servers answer subscriptions in the order of the requests. An error does not name its channel, so
 * it belongs to the first topic in `asked`.
 */
#include "core/hub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/letters.h"
#include "core/report.h"
#include "core/resp.h"

/* Subscriptions that are kept without a waiter: a program that waits repeatedly for the same few
 * names subscribes once. */
#define IDLE_TOPICS 64
/* The longest pause between two attempts to connect. */
#define DIAL_PAUSE_MAX_US 250000
/* Time-out for sending a request that may fail without harm. */
#define SEND_MS 100

/* ---- Topics -------------------------------------------------------------- */

static tkl__topic **bucket_of(tkl__hub *hub, tkl_bytes channel)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < channel.len; i++)
        hash = (hash ^ (unsigned char)channel.data[i]) * 16777619u;
    return &hub->buckets[hash % TKL__BUCKETS];
}

static tkl__topic *find_topic(tkl__hub *hub, tkl_bytes channel)
{
    for (tkl__topic *t = *bucket_of(hub, channel); t; t = t->chain)
        if (tkl__same_bytes((tkl_bytes){t->channel, t->len}, channel))
            return t;
    return NULL;
}

static tkl__topic *make_topic(tkl__hub *hub, tkl_bytes channel)
{
    tkl__topic *t = calloc(1, sizeof *t);
    char *copy = t ? tkl__copy_bytes(channel) : NULL;
    if (!copy) {
        free(t);
        return NULL;
    }
    t->channel = copy;
    t->len = channel.len;
    t->look_at = TKL__FOREVER;
    tkl__topic **at = bucket_of(hub, channel);
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

static void free_topics(tkl__hub *hub)
{
    for (int i = 0; i < TKL__BUCKETS; i++)
        for (tkl__topic *t = hub->buckets[i], *next; t; t = next) {
            next = t->chain;
            free_topic(t);
        }
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

static void wake_waiter(tkl__waiter *w)
{
    if (w->bell >= 0)
        eventfd_write(w->bell, 1);
    else
        tkl__cond_signal(&w->woken);
}

void tkl__sleeper_add(tkl__hub *hub, tkl__waiter *w)
{
    w->asleep = true;
    w->prev_sleeper = NULL;
    w->next_sleeper = hub->sleepers;
    if (hub->sleepers)
        hub->sleepers->prev_sleeper = w;
    hub->sleepers = w;
}

void tkl__sleeper_remove(tkl__hub *hub, tkl__waiter *w)
{
    w->asleep = false;
    *(w->prev_sleeper ? &w->prev_sleeper->next_sleeper : &hub->sleepers) = w->next_sleeper;
    if (w->next_sleeper)
        w->next_sleeper->prev_sleeper = w->prev_sleeper;
}

void tkl__hub_pass_on(tkl__hub *hub)
{
    if (hub->reading)
        return;
    if (hub->sleepers)
        wake_waiter(hub->sleepers);
    else /* a thread may wait for its subscription to be confirmed */
        tkl__cond_broadcast(&hub->changed);
}

static void cut_topic(tkl__topic *t)
{
    t->state = TKL__OFF;
    t->look_at = TKL__FOREVER;
    for (tkl__waiter *w = t->waiters; w; w = w->next) {
        tkl__waiter *who = w->front ? w->front : w;
        who->cut = true;
        wake_waiter(who);
    }
}

/* The connection is lost: all subscriptions are gone. */
static void cut_hub(tkl__hub *hub)
{
    tkl__conn_close(hub->conn);
    hub->conn = NULL;
    hub->asked = NULL;
    hub->pinged = false;
    hub->ping.state = TKL__OFF;
    for (int i = 0; i < TKL__BUCKETS; i++)
        for (tkl__topic *t = hub->buckets[i]; t; t = t->chain)
            cut_topic(t);
    tkl__cond_broadcast(&hub->changed);
}

/* ---- Replies of the server ----------------------------------------------- */

static void deliver_message(tkl__waiter *w, tkl_bytes text)
{
    tkl__note *note = malloc(sizeof *note + text.len);
    if (!note) {
        w->cut = true; /* no memory: counts as a lost message, so the waiter looks at the state */
        wake_waiter(w);
        return;
    }
    *note = (tkl__note){.len = text.len};
    if (text.len > 0)
        memcpy(note->text, text.data, text.len);
    *(w->first ? &w->last->next : &w->first) = note;
    w->last = note;
    wake_waiter(w);
}

static void on_message(tkl__topic *t, tkl_bytes text)
{
    for (tkl__waiter *w = t->waiters; w; w = w->next)
        if (tkl__begins_with(text, w->id))
            deliver_message(w->front ? w->front : w,
                            (tkl_bytes){text.data + w->id.len, text.len - w->id.len});
}

static void on_pong(tkl__hub *hub)
{
    if (hub->asked == &hub->ping)
        asked_pop(hub);
    hub->ping.state = TKL__OFF;
}

static void on_error(tkl__hub *hub, const tkl_reply *reply)
{
    tkl__topic *t = asked_pop(hub);
    if (!t)
        return;
    t->state = t == &hub->ping ? TKL__OFF : TKL__REFUSED;
    if (t == &hub->ping)
        return; /* the user may not call PING, but the server has answered */
    t->code = tkl_reply_code(reply);
    free(t->refusal);
    t->refusal = strdup(tkl_reply_str(reply));
    tkl__cond_broadcast(&hub->changed);
}

static void on_array(tkl__hub *hub, const tkl_reply *reply)
{
    const char *kind = tkl_reply_str(tkl_reply_at(reply, 0));
    if (strcmp(kind, "pong") == 0) {
        on_pong(hub);
        return;
    }
    tkl__topic *t = find_topic(hub, tkl_reply_bytes(tkl_reply_at(reply, 1)));
    if (!t)
        return; /* the topic was dropped in the meantime */
    if (strcmp(kind, "smessage") == 0) {
        on_message(t, tkl_reply_bytes(tkl_reply_at(reply, 2)));
    } else if (strcmp(kind, "ssubscribe") == 0) {
        if (t == hub->asked)
            asked_pop(hub);
        if (t->state == TKL__ASKED)
            t->state = TKL__ON;
        tkl__cond_broadcast(&hub->changed);
    } else if (strcmp(kind, "sunsubscribe") == 0 && t->state == TKL__ON) {
        hub->client->route->suspect(hub->client, hub->node); /* the slot moved to another node */
        cut_topic(t);
    }
}

static void on_reply(tkl__hub *hub, const tkl_reply *reply)
{
    switch (tkl_reply_type_of(reply)) {
    case TKL_REPLY_ERROR:
        on_error(hub, reply);
        break;
    case TKL_REPLY_ARRAY:
        on_array(hub, reply);
        break;
    default: /* +PONG: there are no subscriptions */
        on_pong(hub);
    }
}

/* The connection broke, or the server hangs. */
static void give_up_hub(tkl__hub *hub)
{
    tkl__tell_event(hub->client, TKL_EVENT_LOST, hub->conn->code, tkl__node_addr(hub->node), NULL);
    hub->client->route->suspect(hub->client, hub->node);
    cut_hub(hub);
}

/* Handles the replies that have arrived, or some of them. */
static void drain_hub(tkl__hub *hub)
{
    bool more = true;
    while (hub->conn && more) {
        tkl_reply *reply;
        if (tkl__conn_try_receive(hub->conn, &reply) != TKL_OK) {
            give_up_hub(hub);
            return;
        }
        if (!reply)
            return;
        on_reply(hub, reply);
        tkl_reply_free(reply);
        more = tkl__conn_more(hub->conn);
    }
}

/* ---- Sending ------------------------------------------------------------- */

/* "SSUBSCRIBE channel"; PING has no channel. */
static void add_word(tkl__buf *wire, const char *word, const tkl__topic *t)
{
    tkl__resp_head(wire, t->channel ? 2 : 1);
    tkl__resp_argz(wire, word);
    if (t->channel)
        tkl__resp_arg(wire, t->channel, t->len);
}

/* Sends the buffer and frees it. When sending fails, the connection ends. */
static int send_wire(tkl__hub *hub, tkl__buf *wire, int64_t deadline)
{
    tkl__fiber_stay(); /* with the mutex */
    int rc = wire->failed
                 ? tkl__nomem()
                 : tkl__conn_send(hub->conn, (tkl_bytes){wire->data, wire->len}, deadline, NULL);
    tkl__fiber_stay_no_more();
    tkl__buf_free(wire);
    if (rc != TKL_OK && hub->reading)
        shutdown(hub->conn->stream.fd, SHUT_RDWR);
    else if (rc != TKL_OK)
        cut_hub(hub);
    return rc;
}

static int send_word(tkl__hub *hub, const char *word, const tkl__topic *t, int64_t deadline)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    add_word(&wire, word, t);
    return send_wire(hub, &wire, deadline);
}

/* ---- The heartbeat ------------------------------------------------------- */

static void count_silence_from_now(tkl__hub *hub)
{
    hub->pinged = false;
    hub->counted = hub->conn->received;
    hub->beat_at = tkl__now() + hub->client->heartbeat_us;
}

bool tkl__hub_serves(const tkl__hub *hub, const tkl__topic *t)
{
    const tkl__route *route = hub->client->route;
    int slot = route->cluster ? tkl__slot_of((tkl_bytes){t->channel, t->len}) : TKL__NO_SLOT;
    return route->serves(hub->client, slot, hub->node);
}

/* Cuts channels that other nodes serve by now. Returns whether there were any. */
static bool cut_strays(tkl__hub *hub)
{
    bool any = false;
    for (int i = 0; i < TKL__BUCKETS; i++)
        for (tkl__topic *t = hub->buckets[i]; t; t = t->chain)
            if (t->state == TKL__ON && !tkl__hub_serves(hub, t)) {
                cut_topic(t);
                any = true;
            }
    return any;
}

/* False: the connection is lost. */
static bool send_ping(tkl__hub *hub)
{
    hub->pinged = true;
    hub->beat_at = tkl__now() + hub->client->heartbeat_us;
    if (hub->ping.state == TKL__ASKED)
        return true; /* the answer to the last one is still to come */
    hub->ping.state = TKL__ASKED;
    asked_push(hub, &hub->ping);
    return send_word(hub, "PING", &hub->ping, tkl__deadline_ms(SEND_MS)) == TKL_OK;
}

static void beat_hub(tkl__hub *hub)
{
    if (hub->counted != hub->conn->received) {
        count_silence_from_now(hub);
    } else if (tkl__now() < hub->beat_at) {
        return;
    } else if (hub->pinged) {
        tkl__fail(TKL_ETIMEOUT, "no answer to PING");
        hub->conn->code = TKL_ETIMEOUT;
        give_up_hub(hub);
    } else if (send_ping(hub)) {
        cut_strays(hub);
    }
}

/* Wakes the reader, which may be a waiter whose channel was cut and that sleeps in poll(). A node
 * that still serves slots answers a PING. A node without slots may hang, and its connection is not
 * needed: it is shut down. */
static void wake_reader(tkl__hub *hub)
{
    tkl_client *client = hub->client;
    if (!client->route->serves(client, TKL__NO_SLOT, hub->node))
        shutdown(hub->conn->stream.fd, SHUT_RDWR);
    else if (hub->ping.state != TKL__ASKED)
        send_ping(hub);
}

void tkl__hubs_reroute(tkl_client *client)
{
    client->reroutes++;
    pthread_mutex_lock(&client->hubs_mutex);
    for (tkl__hub *hub = client->hubs; hub; hub = hub->next) {
        pthread_mutex_lock(&hub->mutex);
        if (hub->conn && cut_strays(hub) && hub->reading)
            wake_reader(hub);
        pthread_mutex_unlock(&hub->mutex);
    }
    pthread_mutex_unlock(&client->hubs_mutex);
}

/* ---- Reading ------------------------------------------------------------- */

void tkl__hub_attend(tkl__hub *hub)
{
    drain_hub(hub);
    if (hub->conn)
        beat_hub(hub);
    if (!tkl__is_interrupted(hub->client))
        return;
    for (tkl__waiter *w = hub->sleepers; w; w = w->next_sleeper)
        wake_waiter(w);
    tkl__cond_broadcast(&hub->changed);
}

void tkl__hub_side_files(tkl_client *client, struct pollfd files[TKL__HUB_FILES])
{
    const tkl__route *route = client->route;
    files[0] = (struct pollfd){client->interrupt.fd, POLLIN, 0};
    files[1] = (struct pollfd){route->lookout ? route->lookout(client) : -1, POLLIN, 0};
}

/* Resets the eventfd if the interruption is over by now. */
void tkl__hub_side_read(tkl_client *client, const struct pollfd files[TKL__HUB_FILES], int ready)
{
    if (files[0].revents)
        tkl__interrupt_seen(client);
    if (client->route->heed && (files[1].revents || ready == 0))
        client->route->heed(client);
}

void tkl__hub_read(tkl__hub *hub, int64_t until)
{
    tkl_client *client = hub->client;
    struct pollfd files[1 + TKL__HUB_FILES] = {{hub->conn->stream.fd, POLLIN, 0}};
    if (hub->beat_at < until)
        until = hub->beat_at;
    tkl__hub_side_files(client, &files[1]);
    hub->reading = true;
    pthread_mutex_unlock(&hub->mutex);
    int ready = tkl__poll(files, 1 + TKL__HUB_FILES, until);
    tkl__hub_side_read(client, &files[1], ready);
    pthread_mutex_lock(&hub->mutex);
    hub->reading = false;
    tkl__hub_attend(hub);
}

/* ---- Subscribing --------------------------------------------------------- */

/* Unlocks while dialling. */
static int dial_hub(tkl__hub *hub, int64_t deadline)
{
    tkl__conn *conn;
    hub->dialling = true;
    pthread_mutex_unlock(&hub->mutex);
    int rc = tkl__conn_dial(&hub->client->target, tkl__node_addr(hub->node), hub->client->tls,
                            deadline, &conn);
    tkl__tell_event(hub->client, rc == TKL_OK ? TKL_EVENT_CONNECTED : TKL_EVENT_LOST, rc,
                    tkl__node_addr(hub->node), NULL);
    pthread_mutex_lock(&hub->mutex);
    hub->dialling = false;
    hub->failures = rc == TKL_OK ? 0 : hub->failures + 1;
    if (rc == TKL_OK) {
        hub->conn = conn;
        count_silence_from_now(hub);
    } else {
        hub->retry_at = tkl__now() + tkl__backoff(hub->failures, DIAL_PAUSE_MAX_US);
    }
    tkl__cond_broadcast(&hub->changed);
    return rc;
}

/* One thread at a time dials, after a backoff that all threads share. */
static int connect_hub(tkl__hub *hub, int64_t deadline)
{
    while (!hub->conn) {
        bool pause = hub->failures > 0 && tkl__now() < hub->retry_at;
        if (!hub->dialling && !pause)
            return dial_hub(hub, deadline);
        int64_t until = pause && hub->retry_at < deadline ? hub->retry_at : deadline;
        tkl__cond_wait(&hub->changed, &hub->mutex, until);
        if (tkl__left(deadline) == 0)
            return tkl__fail(TKL_ENOTSENT, "no subscription in time");
    }
    return TKL_OK;
}

static int ask_for_topic(tkl__hub *hub, tkl__topic *t, int64_t deadline)
{
    int rc = connect_hub(hub, deadline);
    if (rc != TKL_OK || t->state == TKL__ASKED || t->state == TKL__ON)
        return rc; /* another thread may have subscribed in the meantime */
    t->state = TKL__ASKED;
    asked_push(hub, t);
    return send_word(hub, "SSUBSCRIBE", t, deadline);
}

/* Returns the topic if it must be subscribed, else NULL. A new topic is made without a user. */
static tkl__topic *topic_to_ask_for(tkl__hub *hub, tkl_bytes channel)
{
    tkl__topic *t = find_topic(hub, channel);
    if (t)
        return t->state == TKL__OFF ? t : NULL;
    t = make_topic(hub, channel);
    if (t)
        idle_push(hub, t);
    return t;
}

void tkl__hub_ask_ahead(tkl__hub *hub, const tkl_bytes *channels, size_t count, int64_t deadline)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    for (size_t i = 0; hub->conn && i < count; i++) {
        tkl__topic *t = topic_to_ask_for(hub, channels[i]);
        if (!t)
            continue;
        t->state = TKL__ASKED;
        asked_push(hub, t);
        add_word(&wire, "SSUBSCRIBE", t);
    }
    if (wire.len > 0)
        (void)send_wire(hub, &wire, deadline);
    else
        tkl__buf_free(&wire);
}

int tkl__hub_subscribe(tkl__hub *hub, tkl__topic *t, int64_t deadline)
{
    int rc = TKL_OK;
    if (hub->conn && !hub->reading)
        drain_hub(hub); /* the connection may have died while no thread was reading */
    while (rc == TKL_OK && t->state != TKL__ON) {
        if (tkl__left(deadline) == 0)
            rc = tkl__fail(TKL_ENOTSENT, "no subscription in time");
        else if (t->state == TKL__REFUSED) {
            rc = tkl__fail(t->code, "SSUBSCRIBE: %s", t->refusal ? t->refusal : "");
            t->state = TKL__OFF; /* the next caller asks again */
        } else if (t->state == TKL__OFF)
            rc = ask_for_topic(hub, t, deadline);
        else if (hub->reading)
            tkl__cond_wait(&hub->changed, &hub->mutex, deadline);
        else
            tkl__hub_read(hub, deadline);
    }
    tkl__hub_pass_on(hub);
    return rc;
}

static void unsubscribe_oldest(tkl__hub *hub)
{
    tkl__topic *t = hub->idle;
    idle_remove(hub, t);
    if (t->state == TKL__ON && hub->conn)
        send_word(hub, "SUNSUBSCRIBE", t, tkl__deadline_ms(SEND_MS));
    tkl__topic **at = bucket_of(hub, (tkl_bytes){t->channel, t->len});
    while (*at != t)
        at = &(*at)->chain;
    *at = t->chain;
    free_topic(t);
}

tkl__topic *tkl__hub_join(tkl__hub *hub, tkl_bytes channel)
{
    tkl__topic *t = find_topic(hub, channel);
    if (t && t->users == 0) {
        idle_remove(hub, t);
        if (t->state == TKL__REFUSED)
            t->state = TKL__OFF; /* subscribed ahead: the refusal may be an old one */
    }
    if (!t)
        t = make_topic(hub, channel);
    if (t)
        t->users++;
    return t;
}

void tkl__hub_leave(tkl__hub *hub, tkl__topic *t)
{
    if (--t->users > 0)
        return;
    t->look_at = TKL__FOREVER;
    idle_push(hub, t);
    /* The topic of an answer that is still to come stays. */
    while (hub->idle_count > IDLE_TOPICS && hub->idle->state != TKL__ASKED)
        unsubscribe_oldest(hub);
}

/* ---- Hubs of a client ---------------------------------------------------- */

static void init_hub(tkl__hub *hub, tkl_client *client, tkl__node *node)
{
    *hub = (tkl__hub){.client = client, .node = node};
    pthread_mutex_init(&hub->mutex, NULL);
    tkl__cond_init(&hub->changed);
}

static void free_hubs(tkl__hub *hub)
{
    for (tkl__hub *next; hub; hub = next) {
        next = hub->next;
        free_topics(hub);
        tkl__conn_close(hub->conn);
        tkl__node_unref(hub->node);
        pthread_mutex_destroy(&hub->mutex);
        tkl__cond_destroy(&hub->changed);
        free(hub);
    }
}

/* Takes out of the list the hubs without users whose nodes serve nothing any more. */
static tkl__hub *take_unused(tkl_client *client)
{
    tkl__hub *unused = NULL;
    for (tkl__hub **at = &client->hubs, *hub; (hub = *at);) {
        if (hub->users > 0 || client->route->serves(client, TKL__NO_SLOT, hub->node)) {
            at = &hub->next;
            continue;
        }
        *at = hub->next;
        hub->next = unused;
        unused = hub;
    }
    return unused;
}

/* In a forked child a thread of the parent may hold hubs_mutex. Locking the client notices the fork
 * and initializes it again. */
static void notice_fork(tkl_client *client)
{
    tkl__client_lock(client);
    tkl__client_unlock(client);
}

tkl__hub *tkl__hub_get(tkl_client *client, tkl__node *node)
{
    notice_fork(client);
    pthread_mutex_lock(&client->hubs_mutex);
    tkl__hub *hub = client->hubs;
    while (hub && hub->node != node)
        hub = hub->next;
    if (!hub && (hub = malloc(sizeof *hub))) {
        init_hub(hub, client, tkl__node_ref(node));
        hub->next = client->hubs;
        client->hubs = hub;
    }
    if (hub)
        hub->users++;
    tkl__hub *unused = take_unused(client);
    pthread_mutex_unlock(&client->hubs_mutex);
    free_hubs(unused);
    tkl__node_unref(node);
    return hub;
}

void tkl__hub_put(tkl__hub *hub)
{
    tkl_client *client = hub->client;
    pthread_mutex_lock(&client->hubs_mutex);
    hub->users--;
    pthread_mutex_unlock(&client->hubs_mutex);
}

bool tkl__hears(tkl_client *client, tkl_bytes channel)
{
    bool on = false;
    notice_fork(client);
    pthread_mutex_lock(&client->hubs_mutex);
    for (tkl__hub *hub = client->hubs; hub && !on; hub = hub->next) {
        pthread_mutex_lock(&hub->mutex);
        tkl__topic *t = find_topic(hub, channel);
        on = t && t->state == TKL__ON;
        pthread_mutex_unlock(&hub->mutex);
    }
    pthread_mutex_unlock(&client->hubs_mutex);
    return on;
}

void tkl__hubs_close(tkl_client *client)
{
    free_hubs(client->hubs);
    client->hubs = NULL;
}

/* Threads that do not exist here may hold the mutexes, so they are initialized again. */
void tkl__hubs_forget(tkl_client *client)
{
    pthread_mutex_init(&client->hubs_mutex, NULL);
    for (tkl__hub *hub = client->hubs; hub; hub = hub->next) {
        tkl__hub *next = hub->next;
        free_topics(hub);
        if (hub->conn)
            tkl__conn_abandon_lent(hub->conn);
        init_hub(hub, client, hub->node);
        hub->next = next;
    }
}
