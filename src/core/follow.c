/* SPDX-License-Identifier: MIT
 *
 * This thread does not use the loop of core/waiting.h. That loop waits for one result, has a
 * deadline, and ends when the client is interrupted. A follower has no result and no deadline: it
 * goes on after an interruption, knows at each moment whether its copy is current
 * (tkl__follow_age), asks for a sign of life with each heartbeat, and polls once a second where it
 * may not subscribe.
 */
#include "core/follow.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/interrupt.h"
#include "core/options.h"
#include "core/thread.h"
#include "core/waiter.h"

/* The pause between two attempts while the server is down or refuses subscriptions. */
#define PAUSE_US 1000000
/* How long an attempt to listen may take. */
#define LISTEN_MS 2000

/* ---- The thread ---------------------------------------------------------- */

/* The requests of the thread end with the follower. Its sleeps do not heed `end`, for which they
 * would wake 20 times a second: the bell ends them. */
static void begin_sleep(void)
{
    tkl__heed(NULL);
}

static void end_sleep(const tkl__follower *f)
{
    tkl__heed(&f->end);
}

static bool is_over(tkl__follower *f)
{
    return f->end != 0;
}

/* With the lock: from now on messages may be missed. A server that hangs is noticed after two
 * heartbeats, so the copy counts as current until two heartbeats ago. */
static void end_live(tkl__follower *f)
{
    int64_t sure = tkl__now() - 2 * f->client->heartbeat_us;
    if (f->live && sure > f->current_at)
        f->current_at = sure;
    f->live = false;
}

/* Notes the outcome of an attempt to load that began at `asked_at`, and wakes all waiters. */
static void note_outcome(tkl__follower *f, int rc, bool live, int64_t asked_at)
{
    pthread_mutex_lock(&f->mutex);
    bool good = rc >= 0;
    if (good)
        f->current_at = asked_at;
    else
        end_live(f);
    f->live = live && good;
    f->tried = true;
    f->loaded |= good;
    f->code = rc;
    snprintf(f->error, sizeof f->error, "%s", good ? "" : tkl_errmsg());
    tkl__cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}

static int load_copy(tkl__follower *f, bool live, int64_t *again)
{
    int64_t asked_at = tkl__now();
    *again = TKL__FOREVER;
    int rc = f->load(f->arg, tkl__deadline(f->client, f->timeout_ms), again);
    if (!is_over(f))
        note_outcome(f, rc, live, asked_at);
    return rc;
}

/* The connection broke, or the client was interrupted: from now on messages may be missed. */
static void note_cut(tkl__follower *f)
{
    pthread_mutex_lock(&f->mutex);
    end_live(f);
    tkl__cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}

/* Asks the component whether the copy is still current. */
static int check_copy(tkl__follower *f)
{
    int64_t asked_at = tkl__now();
    int rc = f->check(f->arg, f->client->heartbeat_us / 1000);
    if (rc == TKL_OK) {
        pthread_mutex_lock(&f->mutex);
        f->current_at = asked_at;
        pthread_mutex_unlock(&f->mutex);
    }
    return rc;
}

static tkl__event next_event(tkl__follower *f, tkl__waiter *waiter, int64_t deadline)
{
    tkl__waiter *const waiters[] = {waiter};
    tkl_bytes message;
    size_t which;
    begin_sleep();
    tkl__event event = tkl__await_any(f->client, waiters, 1, f->bell, deadline, &which, &message);
    end_sleep(f);
    return event;
}

/* Waits until there is something to load: a message arrives, the time `again` comes, or the copy is
 * no longer current. *rc: an error of the check. */
static tkl__event await_change(tkl__follower *f, tkl__waiter *waiter, int64_t again, int *rc)
{
    tkl__event event;
    int64_t until;
    *rc = TKL_OK;
    do {
        until = f->check ? tkl__now() + f->client->heartbeat_us : TKL__FOREVER;
        event = next_event(f, waiter, again < until ? again : until);
        if (event == TKL__TIME_UP && until < again && !is_over(f))
            *rc = check_copy(f);
    } while (event == TKL__TIME_UP && until < again && !is_over(f) && *rc == TKL_OK);
    return event;
}

/* Loads at every message, and only once for several that have arrived already. Ends when the
 * connection breaks (true) or when loading fails (false). */
static bool follow_messages(tkl__follower *f, tkl__waiter *waiter)
{
    tkl__event event = TKL__TIME_UP;
    int64_t again;
    int rc = TKL_OK;
    while (!is_over(f) && event == TKL__TIME_UP && rc >= 0) {
        if (load_copy(f, true, &again) < 0)
            return false;
        int64_t loaded_at = tkl__now();
        event = await_change(f, waiter, again, &rc);
        while (event == TKL__MESSAGE && !is_over(f))
            event = next_event(f, waiter, loaded_at + f->gap_us);
    }
    note_cut(f);
    return true;
}

/* Sleeps until the time, or until the bell rings. When the client is interrupted, wakes the threads
 * in tkl__follow_wait(), which return TKL_EINTR. */
static void pause_until(tkl__follower *f, int64_t at)
{
    struct pollfd files[] = {{f->bell, POLLIN, 0}, {f->client->interrupt.fd, POLLIN, 0}};
    nfds_t count = tkl__is_interrupted(f->client) ? 1 : 2;
    begin_sleep();
    poll(files, count, tkl__poll_ms(at));
    end_sleep(f);
    if (count == 2 && files[1].revents)
        note_cut(f);
}

static void *follow_changes(void *arg)
{
    tkl__follower *f = arg;
    tkl__heed(&f->end);
    while (!is_over(f)) {
        tkl__waiter waiter;
        int64_t again, pause = tkl__now() + PAUSE_US;
        int64_t deadline = tkl__deadline_ms(LISTEN_MS);
        if (tkl__listen(f->client, f->channel, tkl_str(""), deadline, &waiter) == TKL_OK) {
            if (follow_messages(f, &waiter))
                pause = tkl__now() + tkl__backoff(5, PAUSE_US / 10);
            tkl__unlisten(&waiter);
        } else if (!is_over(f)) {
            load_copy(f, false, &again);
            pause = again < pause ? again : pause;
        }
        if (!is_over(f))
            pause_until(f, pause);
    }
    return NULL;
}

/* ---- Beginning and ending ------------------------------------------------ */

void tkl__follow_init(tkl__follower *f)
{
    pthread_mutex_init(&f->mutex, NULL);
    tkl__cond_init(&f->changed);
    f->running = f->tried = f->live = false;
    f->end = 0;
    f->bell = -1;
    f->process = tkl__fork_generation();
}

/* In a forked child: the thread and the bell belong to the parent, so both start again. The loaded
 * copy stays. Several threads of the child may call this at once. */
static void start_in_child(tkl__follower *f)
{
    tkl__client_lock(f->client);
    if (f->process != tkl__fork_generation()) {
        end_live(f);
        if (f->bell >= 0)
            close(f->bell);
        tkl__follow_init(f);
    }
    tkl__client_unlock(f->client);
}

void tkl__follow_close(tkl__follower *f)
{
    if (f->running && f->process == tkl__fork_generation()) {
        f->end = tkl__now();
        eventfd_write(f->bell, 1);
        pthread_join(f->thread, NULL);
        pthread_mutex_destroy(&f->mutex);
        tkl__cond_destroy(&f->changed);
    }
    if (f->bell >= 0)
        close(f->bell);
}

/* ---- The copy ------------------------------------------------------------ */

static int start_follower(tkl__follower *f)
{
    if (f->bell < 0)
        f->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (f->bell < 0)
        return tkl__fail_errno(TKL_EIO, "eventfd");
    int rc = tkl__thread_start(&f->thread, follow_changes, f, "following changes");
    f->running = rc == TKL_OK;
    return rc;
}

int tkl__follow_start(tkl__follower *f)
{
    pthread_mutex_lock(&f->mutex);
    int rc = f->running ? TKL_OK : start_follower(f);
    pthread_mutex_unlock(&f->mutex);
    return rc;
}

/* With the lock: waits until the first attempt to load has ended. */
static int await_first(tkl__follower *f)
{
    int64_t deadline = tkl__deadline(f->client, f->timeout_ms);
    while (!f->tried && !f->loaded)
        if (!tkl__cond_wait(&f->changed, &f->mutex, deadline))
            return tkl__fail(TKL_ENOTSENT, "nothing was loaded in time");
    return f->loaded ? TKL_OK : tkl__fail(f->code, "%s", f->error);
}

int tkl__follow_lock(tkl__follower *f)
{
    if (f->process != tkl__fork_generation())
        start_in_child(f);
    pthread_mutex_lock(&f->mutex);
    if (f->running && f->loaded) /* the common case */
        return TKL_OK;
    int rc = f->running ? TKL_OK : start_follower(f);
    if (rc == TKL_OK)
        rc = await_first(f);
    if (rc != TKL_OK)
        pthread_mutex_unlock(&f->mutex);
    return rc;
}

void tkl__follow_unlock(tkl__follower *f)
{
    pthread_mutex_unlock(&f->mutex);
}

int64_t tkl__follow_age(const tkl__follower *f)
{
    return f->live ? 0 : (tkl__now() - f->current_at) / 1000;
}

int tkl__follow_wait(tkl__follower *f, int64_t deadline)
{
    if (tkl__is_interrupted(f->client))
        return tkl__interrupted();
    tkl__rest_begin();
    bool in_time = tkl__cond_wait(&f->changed, &f->mutex, deadline);
    tkl__rest_end();
    return in_time ? TKL_OK : tkl__no(TKL_EMPTY);
}
