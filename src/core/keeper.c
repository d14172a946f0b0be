/* SPDX-License-Identifier: MIT */
#include "core/keeper.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/cond.h"
#include "core/error.h"
#include "core/report.h"
#include "core/thread.h"

/* Leases that are due within this time are renewed in the same round trip. */
#define TOGETHER_US 20000
/* How many leases are renewed in one round trip. */
#define ROUND_MAX 256

typedef struct tkl__keeper {
    pthread_mutex_t mutex;
    tkl__cond wake;  /* an item is due earlier than the thread expects */
    tkl__cond ended; /* a round ended */
    pthread_t thread;
    bool running;
    bool stop;
    int64_t sleeps_until; /* items due later need not wake the thread */
    tkl__kept *list;
} tkl__keeper;

typedef struct keeper_round {
    tkl__kept *items[ROUND_MAX];
    tkl__kept *callers[ROUND_MAX]; /* the item of each call */
    size_t nitems, ncalls;
    tkl__batch calls;
    int64_t patience_us;
} keeper_round;

/* ---- The list ------------------------------------------------------------ */

static void list_add(tkl__keeper *k, tkl__kept *kept)
{
    kept->listed = true;
    kept->prev = NULL;
    kept->next = k->list;
    if (k->list)
        k->list->prev = kept;
    k->list = kept;
}

static void list_remove(tkl__keeper *k, tkl__kept *kept)
{
    if (!kept->listed)
        return;
    kept->listed = false;
    *(kept->prev ? &kept->prev->next : &k->list) = kept->next;
    if (kept->next)
        kept->next->prev = kept->prev;
}

static int64_t earliest_due(const tkl__keeper *k)
{
    int64_t at = TKL__FOREVER;
    for (const tkl__kept *i = k->list; i; i = i->next)
        if (i->at < at)
            at = i->at;
    return at;
}

/* ---- A round ------------------------------------------------------------- */

static void collect_due(tkl__keeper *k, keeper_round *r)
{
    int64_t until = tkl__now() + TOGETHER_US;
    r->nitems = r->ncalls = 0;
    r->patience_us = TKL__FOREVER;
    for (tkl__kept *i = k->list; i; i = i->next) {
        int64_t patience = i->patience ? i->patience(i) : TKL__FOREVER;
        if (patience < r->patience_us)
            r->patience_us = patience;
        if (i->at <= until && r->nitems < ROUND_MAX) {
            i->busy = true;
            i->at = TKL__FOREVER; /* unless tkl__keep() moves it during the round */
            r->items[r->nitems++] = i;
        }
    }
}

static int64_t round_deadline(const tkl_client *client, const keeper_round *r)
{
    int64_t deadline = tkl__call_deadline(client, NULL);
    int64_t left = tkl__left(deadline);
    return r->patience_us < left ? deadline - (left - r->patience_us) : deadline;
}

/* Asks the items for their calls, runs them in one batch, and hands each item its result. */
static void run_round(tkl_client *client, keeper_round *r)
{
    for (size_t i = 0; i < r->nitems; i++) {
        tkl__invocation call = {0};
        if (r->items[i]->prepare(r->items[i], &call)) {
            r->callers[r->ncalls++] = r->items[i];
            tkl__batch_add(&r->calls, &call);
        }
    }
    (void)tkl__batch_run(&r->calls, round_deadline(client, r));
    for (size_t i = 0; i < r->ncalls; i++) {
        int rc = tkl__batch_code(&r->calls, i);
        if (rc != TKL_OK)
            tkl__tell_event(client, TKL_EVENT_RENEWAL_FAILED, rc, NULL, tkl_errmsg());
        r->callers[i]->done(r->callers[i], rc, tkl__batch_reply(&r->calls, i));
    }
    tkl__batch_clear(&r->calls);
}

/* With the lock: sets when each item is due again. A time that tkl__keep() set during the round
 * stays if it is earlier. */
static void settle_round(tkl__keeper *k, keeper_round *r)
{
    for (size_t i = 0; i < r->nitems; i++) {
        tkl__kept *kept = r->items[i];
        kept->busy = false;
        if (!kept->listed)
            continue;
        int64_t due = kept->due(kept);
        if (due < kept->at)
            kept->at = due;
        if (kept->at == TKL__FOREVER)
            list_remove(k, kept);
    }
    tkl__cond_broadcast(&k->ended);
}

static void *keep_all(void *arg)
{
    tkl_client *client = arg;
    tkl__keeper *k = client->keeper;
    keeper_round *r = malloc(sizeof *r);
    if (r)
        tkl__batch_init(&r->calls, client);
    pthread_mutex_lock(&k->mutex);
    while (!k->stop && r) {
        k->sleeps_until = earliest_due(k);
        if (k->sleeps_until > tkl__now()) {
            tkl__cond_wait(&k->wake, &k->mutex, k->sleeps_until);
            continue;
        }
        collect_due(k, r);
        pthread_mutex_unlock(&k->mutex);
        run_round(client, r);
        pthread_mutex_lock(&k->mutex);
        settle_round(k, r);
    }
    pthread_mutex_unlock(&k->mutex);
    if (r)
        tkl__batch_free(&r->calls);
    free(r);
    return NULL;
}

/* ---- Starting and stopping ----------------------------------------------- */

/* The client's keeper; makes it if it is new. NULL: no memory. */
static tkl__keeper *keeper_of(tkl_client *client)
{
    tkl__client_lock(client);
    tkl__keeper *k = client->keeper;
    if (!k && (k = calloc(1, sizeof *k))) {
        pthread_mutex_init(&k->mutex, NULL);
        tkl__cond_init(&k->wake);
        tkl__cond_init(&k->ended);
        client->keeper = k;
    }
    tkl__client_unlock(client);
    return k;
}

/* The keeper if the client has one; NULL: none. A forked child drops the parent's keeper here. */
static tkl__keeper *known_keeper(tkl_client *client)
{
    tkl__client_lock(client);
    tkl__keeper *k = client->keeper;
    tkl__client_unlock(client);
    return k;
}

static int start_keeper(tkl_client *client, tkl__keeper *k)
{
    k->sleeps_until = TKL__FOREVER;
    int rc = tkl__thread_start(&k->thread, keep_all, client, "renewing leases");
    k->running = rc == TKL_OK;
    return rc;
}

void tkl__keeper_stop(tkl_client *client)
{
    tkl__keeper *k = known_keeper(client);
    if (!k)
        return;
    pthread_mutex_lock(&k->mutex);
    k->stop = true;
    tkl__cond_signal(&k->wake);
    pthread_mutex_unlock(&k->mutex);
    if (k->running)
        pthread_join(k->thread, NULL);
    tkl__cond_destroy(&k->wake);
    tkl__cond_destroy(&k->ended);
    pthread_mutex_destroy(&k->mutex);
    free(k);
    client->keeper = NULL;
}

void tkl__keeper_forget(tkl_client *client)
{
    if (!client->keeper)
        return;
    for (tkl__kept *i = client->keeper->list; i; i = i->next)
        i->listed = i->busy = false; /* these were set in the parent; here the item is on no list */
    free(client->keeper);
    client->keeper = NULL;
}

/* ---- Keeping ------------------------------------------------------------- */

int tkl__keep(tkl_client *client, tkl__kept *kept, int64_t at)
{
    tkl__keeper *k = keeper_of(client);
    if (!k)
        return tkl__nomem();
    pthread_mutex_lock(&k->mutex);
    int rc = k->running ? TKL_OK : start_keeper(client, k);
    if (rc == TKL_OK) {
        kept->at = at;
        if (!kept->listed)
            list_add(k, kept);
        if (at < k->sleeps_until)
            tkl__cond_signal(&k->wake);
    }
    pthread_mutex_unlock(&k->mutex);
    return rc;
}

void tkl__keep_now(tkl_client *client)
{
    tkl__keeper *k = known_keeper(client);
    if (!k)
        return;
    pthread_mutex_lock(&k->mutex);
    for (tkl__kept *i = k->list; i; i = i->next)
        i->at = tkl__now();
    tkl__cond_signal(&k->wake);
    pthread_mutex_unlock(&k->mutex);
}

static void unkeep(tkl_client *client, tkl__kept *kept, bool wait)
{
    tkl__keeper *k = known_keeper(client);
    if (!k)
        return;
    pthread_mutex_lock(&k->mutex);
    list_remove(k, kept);
    while (wait && kept->busy)
        (void)tkl__cond_wait(&k->ended, &k->mutex, TKL__FOREVER);
    pthread_mutex_unlock(&k->mutex);
}

void tkl__unkeep(tkl_client *client, tkl__kept *kept)
{
    unkeep(client, kept, false);
}

void tkl__unkeep_wait(tkl_client *client, tkl__kept *kept)
{
    unkeep(client, kept, true);
}
