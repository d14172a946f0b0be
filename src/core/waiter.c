/* SPDX-License-Identifier: MIT
 *
 * Waiters, on the subscriptions of hub.c.
 */
#include <stdlib.h>
#include <sys/eventfd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/hub.h"
#include "core/resp.h"

/* How often waiters check whether the looker is still there. */
#define LOOKING_US 1000000

/* ---- Listening ----------------------------------------------------------- */

static void attach_waiter(tkl__waiter *w, tkl__hub *hub, tkl__topic *t, tkl_bytes id)
{
    *w = (tkl__waiter){.hub = hub, .topic = t, .id = id, .bell = -1, .next = t->waiters};
    tkl__cond_init(&w->woken);
    if (t->waiters)
        t->waiters->prev = w;
    t->waiters = w;
}

static void detach_waiter(tkl__waiter *w)
{
    if (w->topic->looker == w) { /* it leaves without a next look: another waiter must look */
        w->topic->looker = NULL;
        w->topic->look_at = tkl__now();
    }
    *(w->prev ? &w->prev->next : &w->topic->waiters) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    tkl__cond_destroy(&w->woken);
}

static int slot_of(const tkl_client *client, tkl_bytes channel)
{
    return client->route->cluster ? tkl__slot_of(channel) : TKL__NO_SLOT;
}

int tkl__server_of(tkl_client *client, tkl_bytes channel, int64_t deadline, tkl__node **node)
{
    return client->route->pick(client, slot_of(client, channel), deadline, node);
}

bool tkl__serves(tkl_client *client, const tkl__node *node, tkl_bytes channel)
{
    return client->route->serves(client, slot_of(client, channel), node);
}

/* Subscribes at the node of the channel, and attaches the waiter. */
static int subscribe_waiter(tkl_client *client, tkl_bytes channel, tkl_bytes id, int64_t deadline,
                            tkl__waiter *w)
{
    tkl__node *node;
    int rc = tkl__server_of(client, channel, deadline, &node);
    if (rc != TKL_OK)
        return rc;
    tkl__hub *hub = tkl__hub_get(client, node);
    if (!hub)
        return tkl__nomem();
    pthread_mutex_lock(&hub->mutex);
    tkl__topic *t = tkl__hub_join(hub, channel);
    rc = t ? tkl__hub_subscribe(hub, t, deadline) : tkl__nomem();
    if (rc == TKL_OK) {
        attach_waiter(w, hub, t, id);
        w->cut = !tkl__hub_serves(hub, t); /* the route changed meanwhile */
    } else if (t)
        tkl__hub_leave(hub, t);
    pthread_mutex_unlock(&hub->mutex);
    if (rc == TKL_OK)
        return TKL_OK; /* the waiter has the hub */
    if (!tkl__is_interrupted(client))
        client->route->suspect(client, hub->node); /* the slot moved, or the node is down */
    tkl__hub_put(hub);
    return rc;
}

int tkl__listen(tkl_client *client, tkl_bytes channel, tkl_bytes id, int64_t deadline,
                tkl__waiter *w)
{
    *w = (tkl__waiter){.hub = NULL};
    if (tkl__is_interrupted(client))
        return tkl__interrupted();
    tkl__heed_interrupt(client);
    int rc = subscribe_waiter(client, channel, id, deadline, w);
    return tkl__unheed_interrupt(client) && rc != TKL_OK ? tkl__interrupted() : rc;
}

void tkl__listen_ahead(tkl__waiter *w, const tkl_bytes *channels, size_t count, int64_t deadline)
{
    pthread_mutex_lock(&w->hub->mutex);
    tkl__hub_ask_ahead(w->hub, channels, count, deadline);
    pthread_mutex_unlock(&w->hub->mutex);
}

int tkl__overhear(tkl__waiter *front, tkl_bytes channel, int64_t deadline, tkl__waiter *ear)
{
    tkl_client *client = front->hub->client;
    tkl__unlisten(ear);
    int rc = tkl__listen(client, channel, tkl_str(""), deadline, ear);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&ear->hub->mutex);
    bool together = ear->hub == front->hub;
    if (together)
        ear->front = front;
    pthread_mutex_unlock(&ear->hub->mutex);
    if (together)
        return TKL_OK;
    tkl__unlisten(ear); /* the slot moved in between */
    return tkl__fail(TKL_EUNREADY, "the slot of a channel is moving");
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
    detach_waiter(w);
    tkl__hub_leave(hub, w->topic);
    pthread_mutex_unlock(&hub->mutex);
    tkl__hub_put(hub);
    free_notes(w->first);
    free(w->read);
    w->hub = NULL;
}

/* ---- Looking ------------------------------------------------------------- */

void tkl__look_at(tkl__waiter *w, int64_t at)
{
    tkl__topic *t = w->topic;
    if (!w->hub)
        return;
    pthread_mutex_lock(&w->hub->mutex);
    if (t->looker == w)
        t->looker = NULL;
    if (at < t->look_at)
        t->look_at = at;
    pthread_mutex_unlock(&w->hub->mutex);
}

void tkl__look_between(tkl__waiter *w, int64_t earliest, int64_t latest)
{
    tkl__topic *t = w->topic;
    if (!w->hub)
        return;
    pthread_mutex_lock(&w->hub->mutex);
    if (t->look_at < earliest || t->look_at > latest)
        t->look_at = latest;
    pthread_mutex_unlock(&w->hub->mutex);
}

static bool take_look(tkl__waiter *w)
{
    tkl__topic *t = w->topic;
    if (tkl__now() < t->look_at)
        return false;
    t->look_at = TKL__FOREVER; /* this waiter's task now */
    t->looker = w;
    return true;
}

/* No waiter sleeps beyond the next look: the waiter that asked for it may be gone by then. While
 * the looker is busy, the time of the next look is not known yet, so waiters wake every
 * LOOKING_US. */
static int64_t sleep_end(const tkl__topic *t, int64_t deadline)
{
    int64_t until = t->looker ? tkl__now() + LOOKING_US : t->look_at;
    if (t->look_at < until)
        until = t->look_at;
    return until < deadline ? until : deadline;
}

/* ---- Waiting at one place ------------------------------------------------ */

/* Finds the waiter's next event, if there is one now. */
static bool has_event(tkl__waiter *w, int64_t deadline, tkl__event *event)
{
    if (tkl__is_interrupted(w->hub->client))
        *event = TKL__INTERRUPTED;
    else if (w->first)
        *event = TKL__MESSAGE;
    else if (w->cut)
        *event = TKL__CUT;
    else if (take_look(w))
        *event = TKL__LOOK;
    else if (tkl__left(deadline) == 0)
        *event = TKL__TIME_UP;
    else
        return false;
    return true;
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
    tkl__event event;
    pthread_mutex_lock(&hub->mutex);
    while (!has_event(w, deadline, &event)) {
        int64_t until = sleep_end(w->topic, deadline);
        if (!hub->reading) {
            tkl__hub_read(hub, until);
            continue;
        }
        tkl__sleeper_add(hub, w);
        tkl__cond_wait(&w->woken, &hub->mutex, until);
        tkl__sleeper_remove(hub, w);
    }
    take_message(w, event, message);
    tkl__hub_pass_on(hub);
    pthread_mutex_unlock(&hub->mutex);
    return event;
}

/* ---- Waiting at several places ------------------------------------------- */

typedef struct places {
    tkl__waiter *const *waiters;
    size_t count;
    struct pollfd *files; /* one per waiter, the bell, and the client's files */
    tkl_client *client;
    int64_t deadline;
} places;

/* Reads for all waiters of the hub, unless another thread does. In that case this waiter is listed
 * as one that could take over. */
static void settle_waiter(tkl__waiter *w, int bell, struct pollfd *file, int64_t *until)
{
    w->bell = bell;
    w->reads = !w->hub->reading;
    w->hub->reading = true;
    if (!w->reads) {
        tkl__sleeper_add(w->hub, w);
        return;
    }
    file->fd = w->hub->conn->stream.fd;
    if (w->hub->beat_at < *until)
        *until = w->hub->beat_at;
}

/* Settles all waiters, or those before the first waiter that has an event. Returns how many; *until
 * is when the thread must wake up at the latest. */
static size_t settle_all(places *p, int64_t *until, tkl__event *event, tkl_bytes *message)
{
    struct pollfd *bell = &p->files[p->count];
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
            *until = sleep_end(w->topic, *until);
            settle_waiter(w, bell->fd, &p->files[i], until);
        }
        pthread_mutex_unlock(&w->hub->mutex);
    }
    return i;
}

/* Takes the waiter's bell away and removes it from the sleepers. */
static void end_sleep(tkl__waiter *w)
{
    pthread_mutex_lock(&w->hub->mutex);
    w->bell = -1;
    if (w->asleep)
        tkl__sleeper_remove(w->hub, w);
    pthread_mutex_unlock(&w->hub->mutex);
}

/* If this waiter reads for its hub, handles the replies that arrived, for all waiters. */
static void read_for_hub(tkl__waiter *w)
{
    pthread_mutex_lock(&w->hub->mutex);
    if (w->reads) {
        w->hub->reading = w->reads = false;
        tkl__hub_attend(w->hub);
    }
    pthread_mutex_unlock(&w->hub->mutex);
}

static void let_others_read(tkl__waiter *w)
{
    pthread_mutex_lock(&w->hub->mutex);
    tkl__hub_pass_on(w->hub);
    pthread_mutex_unlock(&w->hub->mutex);
}

static void for_each(tkl__waiter *const *waiters, size_t count, void (*what)(tkl__waiter *))
{
    for (size_t i = 0; i < count; i++)
        if (waiters[i]->hub)
            what(waiters[i]);
}

/* Waits once. Returns the index of the waiter that has an event; p->count: none has, but something
 * happened or the time is up. */
static size_t wait_once(places *p, tkl__event *event, tkl_bytes *message)
{
    int64_t until;
    struct pollfd *of_client = &p->files[p->count + 1];
    tkl__hub_side_files(p->client, of_client);
    size_t settled = settle_all(p, &until, event, message);
    if (settled == p->count) {
        int ready = tkl__poll(p->files, p->count + 1 + TKL__HUB_FILES, until);
        tkl__hub_side_read(p->client, of_client, ready);
    }
    for_each(p->waiters, settled, end_sleep);
    for_each(p->waiters, settled, read_for_hub);
    return settled;
}

tkl__event tkl__await_any(tkl_client *client, tkl__waiter *const *waiters, size_t count, int bell,
                          int64_t deadline, size_t *which, tkl_bytes *message)
{
    places p = {waiters, count, calloc(count + 1 + TKL__HUB_FILES, sizeof *p.files), client,
                deadline};
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
        if (*which == count && tkl__is_interrupted(client)) /* even if no waiter listens */
            event = TKL__INTERRUPTED;
    } while (*which == count && rung == 0 && event == TKL__TIME_UP && tkl__left(deadline) > 0);
    for_each(waiters, count, let_others_read);
    free(p.files);
    return event;
}
