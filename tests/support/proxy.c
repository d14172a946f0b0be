/* SPDX-License-Identifier: MIT
 *
 * One thread moves all bytes, under one mutex that it gives up only to poll(). A connection is two
 * lanes; a lane is a buffer on its way from one socket to the other. A function that changes a rule
 * wakes the thread. Only the thread closes sockets, so that it never meets a descriptor that was
 * used again; other threads cut a connection by shutdown(), which the peers notice at once.
 */
#include "support/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/mutate.h"
#include "support/net.h"
#include "support/test.h"

#define CHUNK     65536
#define LANE_FULL (4 * CHUNK) /* read no more before some of it has gone */

typedef struct lane {
    int from, to;
    char *data;
    size_t len;
    int64_t due; /* when the first byte may go; set when it came */
    bool ended;  /* no more bytes come */
    bool shut;   /* the end was passed on */
} lane;

typedef struct pair {
    lane lanes[2]; /* by way */
    bool dead;
    struct pair *next;
} pair;

typedef struct rule {
    int64_t delay_ms;
    int64_t drip_ms;
    int64_t cut_after; /* bytes that may still pass; -1: no cut */
    bool hold;
    unsigned mutate; /* about one piece in this many is spoiled; 0: none */
    uint64_t dice;
    int64_t passed;
} rule;

struct proxy {
    place front, back;
    char *url;
    int wake; /* an eventfd */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    rule rules[2];         /* by way */
    pair *pairs;
    int listener; /* -1: refusing */
    int accepted;
    bool refuse;
    bool end;
};

/* ---- Moving bytes -------------------------------------------------------- */

static void lane_append(lane *l, const void *data, size_t len, int64_t due)
{
    if (len == 0)
        return;
    l->data = realloc(l->data, l->len + len);
    assert_non_null(l->data);
    memcpy(l->data + l->len, data, len);
    if (l->len == 0)
        l->due = due;
    l->len += len;
}

static void lane_read(pair *on, lane *l, rule *r)
{
    char chunk[CHUNK + MUTATE_MORE];
    ssize_t got = read(l->from, chunk, CHUNK);
    if (got > 0 && r->mutate > 0 && dice_below(&r->dice, r->mutate) == 0)
        got = (ssize_t)mutate_bytes(&r->dice, chunk, (size_t)got);
    if (got > 0)
        lane_append(l, chunk, (size_t)got, test_now_ms() + r->delay_ms);
    else if (got == 0)
        l->ended = true;
    else if (errno != EAGAIN)
        on->dead = true;
}

/* How many bytes the rules let pass now. */
static size_t lane_allowance(const lane *l, const rule *r, int64_t now)
{
    if (l->len == 0 || r->hold || now < l->due)
        return 0;
    size_t allowed = r->drip_ms > 0 ? 1 : l->len;
    if (r->cut_after >= 0 && (int64_t)allowed > r->cut_after)
        allowed = (size_t)r->cut_after;
    return allowed;
}

static void lane_consume(lane *l, rule *r, size_t sent, int64_t now)
{
    memmove(l->data, l->data + sent, l->len - sent);
    l->len -= sent;
    l->due = now + r->drip_ms;
    r->passed += (int64_t)sent;
    if (r->cut_after >= 0)
        r->cut_after -= (int64_t)sent;
}

static void lane_write(pair *on, lane *l, rule *r)
{
    int64_t now = test_now_ms();
    size_t allowed = lane_allowance(l, r, now);
    if (allowed > 0) {
        ssize_t sent = send(l->to, l->data, allowed, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            on->dead = true;
        if (sent > 0)
            lane_consume(l, r, (size_t)sent, now);
    }
    if (r->cut_after == 0 && l->len > 0 && !r->hold && now >= l->due) {
        on->dead = true;
        r->cut_after = -1;
    }
    if (l->ended && l->len == 0 && !l->shut) {
        shutdown(l->to, SHUT_WR);
        l->shut = true;
    }
}

static void pair_write(proxy *p, pair *on)
{
    for (int to = 0; to < 2 && !on->dead; to++)
        lane_write(on, &on->lanes[to], &p->rules[to]);
    if (on->lanes[0].shut && on->lanes[1].shut)
        on->dead = true;
}

/* ---- Connections --------------------------------------------------------- */

static void pair_open(proxy *p)
{
    int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return;
    int server = place_connect(&p->back);
    if (server < 0) {
        close(client);
        return;
    }
    fcntl(server, F_SETFL, O_NONBLOCK);
    pair *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    made->lanes[TO_SERVER] = (lane){.from = client, .to = server};
    made->lanes[TO_CLIENT] = (lane){.from = server, .to = client};
    made->next = p->pairs;
    p->pairs = made;
    p->accepted++;
}

static void pair_close(pair *on)
{
    close(on->lanes[0].from);
    close(on->lanes[0].to);
    free(on->lanes[0].data);
    free(on->lanes[1].data);
    free(on);
}

static void close_dead(proxy *p)
{
    for (pair **at = &p->pairs; *at != NULL;) {
        pair *on = *at;
        if (!on->dead) {
            at = &on->next;
            continue;
        }
        *at = on->next;
        pair_close(on);
    }
}

static void obey_refusal(proxy *p)
{
    if (p->refuse && p->listener >= 0) {
        close(p->listener);
        p->listener = -1;
    } else if (!p->refuse && p->listener < 0) {
        p->listener = place_listen(&p->front);
    }
}

/* ---- The thread ---------------------------------------------------------- */

typedef struct watch {
    struct pollfd *fds; /* wake, listener, then two for each pair */
    size_t count;
    int timeout_ms;
} watch;

static void watch_lane(watch *w, const lane *l, const rule *r, int64_t now)
{
    struct pollfd *fd = &w->fds[w->count++];
    *fd = (struct pollfd){.fd = l->ended || l->len >= LANE_FULL ? -1 : l->from, .events = POLLIN};
    if (l->len == 0 || r->hold)
        return;
    /* Bytes that are due and did not go wait for a full socket: look again soon. */
    int64_t left = l->due > now ? l->due - now : 1;
    if (w->timeout_ms < 0 || left < w->timeout_ms)
        w->timeout_ms = (int)left;
}

static watch watch_all(proxy *p)
{
    size_t lanes = 0;
    for (pair *on = p->pairs; on != NULL; on = on->next)
        lanes += 2;
    watch w = {.fds = calloc(lanes + 2, sizeof(struct pollfd)), .count = 2, .timeout_ms = -1};
    assert_non_null(w.fds);
    w.fds[0] = (struct pollfd){.fd = p->wake, .events = POLLIN};
    w.fds[1] = (struct pollfd){.fd = p->listener, .events = POLLIN};
    int64_t now = test_now_ms();
    for (pair *on = p->pairs; on != NULL; on = on->next)
        for (int to = 0; to < 2; to++)
            watch_lane(&w, &on->lanes[to], &p->rules[to], now);
    return w;
}

/* Pairs are added at the front and removed by this thread only, after it has looked at them all:
 * so the order is that of watch_all(). */
static void move_all(proxy *p, const watch *w)
{
    size_t at = 2;
    for (pair *on = p->pairs; on != NULL; on = on->next) {
        for (int to = 0; to < 2; to++)
            if (w->fds[at++].revents != 0 && !on->dead)
                lane_read(on, &on->lanes[to], &p->rules[to]);
        pair_write(p, on);
    }
}

static void *proxy_main(void *arg)
{
    proxy *p = arg;
    pthread_mutex_lock(&p->mutex);
    while (!p->end) {
        watch w = watch_all(p);
        pthread_mutex_unlock(&p->mutex);
        poll(w.fds, (nfds_t)w.count, w.timeout_ms);
        pthread_mutex_lock(&p->mutex);
        eventfd_t ignored;
        if (w.fds[0].revents != 0)
            eventfd_read(p->wake, &ignored);
        move_all(p, &w);
        if (w.fds[1].revents != 0 && !p->refuse)
            pair_open(p);
        close_dead(p);
        obey_refusal(p);
        free(w.fds);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- Start and end ------------------------------------------------------- */

static proxy *start_proxy(place back, int tcp)
{
    proxy *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->front = place_new(tcp);
    p->back = back;
    p->url = place_url(&p->front);
    p->listener = place_listen(&p->front);
    p->wake = eventfd(0, EFD_CLOEXEC);
    p->rules[TO_SERVER].cut_after = p->rules[TO_CLIENT].cut_after = -1;
    pthread_mutex_init(&p->mutex, NULL);
    assert_int_equal(pthread_create(&p->thread, NULL, proxy_main, p), 0);
    return p;
}

proxy *proxy_start(const char *socket)
{
    return start_proxy(place_unix(socket), 0);
}

proxy *proxy_start_tcp(int port)
{
    return start_proxy(place_tcp(port), 1);
}

const char *proxy_url(const proxy *p)
{
    return p->url;
}

int proxy_port(const proxy *p)
{
    return p->front.port;
}

/* ---- Commands of the test ------------------------------------------------ */

static rule *lock_rule(proxy *p, way to)
{
    pthread_mutex_lock(&p->mutex);
    return &p->rules[to];
}

static void unlock_and_wake(proxy *p)
{
    pthread_mutex_unlock(&p->mutex);
    eventfd_write(p->wake, 1);
}

void proxy_end(proxy *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    p->end = true;
    unlock_and_wake(p);
    pthread_join(p->thread, NULL);
    for (pair *on = p->pairs; on != NULL; on = on->next)
        on->dead = true;
    close_dead(p);
    if (p->listener >= 0)
        close(p->listener);
    close(p->wake);
    pthread_mutex_destroy(&p->mutex);
    free(p->url);
    free(p);
}

void proxy_cut(proxy *p)
{
    pthread_mutex_lock(&p->mutex);
    for (pair *on = p->pairs; on != NULL; on = on->next) {
        shutdown(on->lanes[0].from, SHUT_RDWR);
        shutdown(on->lanes[0].to, SHUT_RDWR);
        on->dead = true;
    }
    unlock_and_wake(p);
}

void proxy_cut_after(proxy *p, way to, int64_t bytes)
{
    lock_rule(p, to)->cut_after = bytes;
    unlock_and_wake(p);
}

void proxy_delay(proxy *p, way to, int64_t ms)
{
    lock_rule(p, to)->delay_ms = ms;
    unlock_and_wake(p);
}

void proxy_drip(proxy *p, way to, int64_t pause_ms)
{
    lock_rule(p, to)->drip_ms = pause_ms;
    unlock_and_wake(p);
}

void proxy_hold(proxy *p, way to, bool on)
{
    lock_rule(p, to)->hold = on;
    unlock_and_wake(p);
}

void proxy_half_close(proxy *p, way to)
{
    pthread_mutex_lock(&p->mutex);
    for (pair *on = p->pairs; on != NULL; on = on->next) {
        on->lanes[to].ended = true;
        pair_write(p, on);
    }
    unlock_and_wake(p);
}

void proxy_inject(proxy *p, way to, const void *data, size_t len)
{
    pthread_mutex_lock(&p->mutex);
    for (pair *on = p->pairs; on != NULL; on = on->next)
        lane_append(&on->lanes[to], data, len, test_now_ms());
    unlock_and_wake(p);
}

/* Returns when the thread has closed or opened the listener. */
void proxy_mutate(proxy *p, way to, unsigned one_in, uint64_t seed)
{
    rule *r = lock_rule(p, to);
    r->mutate = one_in;
    r->dice = seed;
    unlock_and_wake(p);
}

void proxy_refuse(proxy *p, bool on)
{
    pthread_mutex_lock(&p->mutex);
    p->refuse = on;
    unlock_and_wake(p);
    for (bool done = false; !done; test_sleep_ms(1)) {
        pthread_mutex_lock(&p->mutex);
        done = (p->listener < 0) == on;
        pthread_mutex_unlock(&p->mutex);
    }
}

int64_t proxy_passed(proxy *p, way to)
{
    int64_t passed = lock_rule(p, to)->passed;
    pthread_mutex_unlock(&p->mutex);
    return passed;
}

int proxy_connections(proxy *p)
{
    int count = 0;
    pthread_mutex_lock(&p->mutex);
    for (pair *on = p->pairs; on != NULL; on = on->next)
        count += !on->dead;
    pthread_mutex_unlock(&p->mutex);
    return count;
}

int proxy_accepted(proxy *p)
{
    pthread_mutex_lock(&p->mutex);
    int accepted = p->accepted;
    pthread_mutex_unlock(&p->mutex);
    return accepted;
}
