/* SPDX-License-Identifier: MIT */
#include "support/room.h"

#include "support/call.h"

#define INSIDE_MS 50 /* how long a visit takes */

/* A guest: a lock or a permit, with a client of its own. */
typedef struct guest {
    tkl_client *client;
    tkl_lock *lock;
    tkl_semaphore *permit; /* one of the two is NULL */
} guest;

static guest arrive(const room *r)
{
    guest g = {.client = test_open(r->url, &(tkl_options){.timeout_ms = 2 * LONG_MS})};
    if (r->permits)
        g.permit = open_sem(g.client, "door", 1, NULL);
    else
        g.lock = open_lock(g.client, "door", NULL);
    return g;
}

static void depart(guest *g)
{
    tkl_lock_close(g->lock);
    tkl_semaphore_close(g->permit);
    tkl_close(g->client);
}

static int acquire(guest *g)
{
    return g->lock ? tkl_lock_acquire(g->lock, -1) : tkl_semaphore_acquire(g->permit, -1);
}

static int release_guest(guest *g)
{
    return g->lock ? tkl_lock_release(g->lock) : tkl_semaphore_release(g->permit);
}

static bool holds(guest *g)
{
    return (g->lock ? tkl_lock_state(g->lock) : tkl_semaphore_state(g->permit)) == TKL_HOLD_HELD;
}

static int64_t waiting(guest *g)
{
    return g->lock ? lock_waiters(g->lock) : sem_waiters(g->permit);
}

/* Notes that a guest is inside, and whether another holder is. On a machine that stood still for
 * seconds, a guest may have lost what it was given; then it is no holder. */
static void go_in(room *r, guest *g)
{
    uint64_t fence = g->lock ? tkl_lock_fence(g->lock) : tkl_semaphore_fence(g->permit);
    pthread_mutex_lock(&r->mutex);
    if (r->inside && holds(r->inside) && holds(g))
        r->overlaps++;
    if (fence <= r->fence)
        r->backward++;
    r->fence = fence;
    r->inside = g;
    pthread_mutex_unlock(&r->mutex);
}

static void go_out(room *r, guest *g)
{
    pthread_mutex_lock(&r->mutex);
    if (r->inside == g)
        r->inside = NULL;
    pthread_mutex_unlock(&r->mutex);
    bool lost = !holds(g);
    lost |= release_guest(g) == TKL_NOTOWNER;
    r->lost += lost;
}

static void visit_room(void *arg, int index)
{
    room *r = arg;
    guest g = arrive(r);
    (void)index;
    for (int i = 0; i < r->rounds && !r->closed; i++) {
        assert_ok(acquire(&g));
        go_in(r, &g);
        test_sleep_ms(INSIDE_MS);
        go_out(r, &g);
        r->served++;
    }
    depart(&g);
}

crew *room_open(room *r)
{
    pthread_mutex_init(&r->mutex, NULL);
    return crew_start(GUESTS, visit_room, r);
}

void room_survives(room *r, void (*disturb)(void *where), void *where, int64_t settle_ms)
{
    guest holder = arrive(r);
    assert_ok(acquire(&holder));
    go_in(r, &holder);
    r->rounds = 1;
    crew *guests = room_open(r);
    eventually(waiting(&holder) == GUESTS, LONG_MS);
    disturb(where);
    test_sleep_ms(settle_ms);
    go_out(r, &holder);
    crew_join(guests);
    assert_int_equal(r->served, GUESTS);
    assert_in_range(r->overlaps, 0, r->excused);
    assert_in_range(r->backward, 0, r->excused);
    assert_in_range(r->lost, 0, r->excused);
    depart(&holder);
}
