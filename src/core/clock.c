/* SPDX-License-Identifier: MIT */
#include "core/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>

/* How often a waiting thread reads the end that tkl__heed() gave it. */
#define HEED_US 50000

static _Thread_local const _Atomic int64_t *heeded, *heeded_too;
static _Thread_local int64_t finish_until;

int64_t tkl__now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t tkl__lease_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t tkl__lease_end(int64_t at)
{
    return at == TKL__FOREVER ? at : tkl__now() + (at - tkl__lease_now());
}

int64_t tkl__deadline_ms(int64_t ms)
{
    int64_t now = tkl__now();
    if (ms <= 0)
        return now;
    return ms > (TKL__FOREVER - now) / 1000 ? TKL__FOREVER : now + ms * 1000;
}

void tkl__heed(const _Atomic int64_t *end)
{
    heeded = end;
}

void tkl__heed_too(const _Atomic int64_t *end)
{
    heeded_too = end;
}

bool tkl__heeds_too(void)
{
    return heeded_too != NULL;
}

bool tkl__heeds(void)
{
    return heeded || heeded_too;
}

void tkl__let_finish(int64_t until)
{
    finish_until = until;
}

int64_t tkl__finish_by(int64_t deadline)
{
    return deadline > finish_until ? deadline : finish_until;
}

/* The next moment to check whether an end was set. */
static int64_t next_heed(int64_t at)
{
    int64_t soon = tkl__heeds() ? tkl__now() + HEED_US : at;
    return soon < at ? soon : at;
}

/* The earlier of the deadline and *end, if that is set. */
static int64_t ended_by(const _Atomic int64_t *end, int64_t deadline)
{
    int64_t at = end ? atomic_load(end) : 0;
    return at != 0 && at < deadline ? at : deadline;
}

int64_t tkl__left(int64_t deadline)
{
    deadline = ended_by(heeded_too, ended_by(heeded, deadline));
    if (deadline == TKL__FOREVER)
        return TKL__FOREVER;
    int64_t left = deadline - tkl__now();
    return left > 0 ? left : 0;
}

int tkl__poll_ms(int64_t deadline)
{
    deadline = next_heed(deadline);
    if (deadline == TKL__FOREVER)
        return -1;
    int64_t ms = (tkl__left(deadline) + 999) / 1000;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

struct timespec tkl__timespec(int64_t at)
{
    return (struct timespec){.tv_sec = (time_t)(at / 1000000),
                             .tv_nsec = (long)(at % 1000000) * 1000};
}

void tkl__sleep_until(int64_t at)
{
    int64_t next;
    do {
        next = next_heed(at);
        struct timespec ts = tkl__timespec(next);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
            ;
    } while (next < at && tkl__left(at) > 0);
}

void tkl__cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool tkl__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    int64_t until = next_heed(deadline);
    if (until == TKL__FOREVER)
        return pthread_cond_wait(cond, mutex) == 0;
    struct timespec ts = tkl__timespec(until);
    return pthread_cond_timedwait(cond, mutex, &ts) == 0 ||
           (until < deadline && tkl__left(deadline) > 0);
}

int64_t tkl__backoff(int attempt, int64_t max_us)
{
    int64_t full = attempt < 20 ? (int64_t)2000 << attempt : max_us;
    if (full > max_us)
        full = max_us;
    uint32_t dice;
    tkl__random(&dice, sizeof dice);
    return full / 2 + full / 2 * (int64_t)(dice >> 16) / 65536;
}

void tkl__random(void *data, size_t len)
{
    char *at = data;
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0 && errno != EINTR)
            abort(); /* no kernel we support does this for such sizes */
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
}
