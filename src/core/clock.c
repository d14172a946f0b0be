/* SPDX-License-Identifier: MIT */
#include "core/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/fiber.h"
#include "core/own.h"

/* How often a waiting thread reads the end that tkl__heed() gave it. */
#define HEED_US 50000

int64_t tkl__unix_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

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
    tkl__own_now()->end = end;
}

void tkl__heed_too(const _Atomic int64_t *end)
{
    tkl__own *own = tkl__own_now();
    own->end_too = end;
    own->cut_short = false;
}

bool tkl__was_cut_short(void)
{
    return tkl__own_now()->cut_short;
}

bool tkl__heeds_too(void)
{
    return tkl__own_now()->end_too != NULL;
}

bool tkl__heeds(void)
{
    const tkl__own *own = tkl__own_now();
    return own->end || own->end_too;
}

void tkl__let_finish(int64_t until)
{
    tkl__own_now()->finish_until = until;
}

int64_t tkl__finish_by(int64_t deadline)
{
    int64_t finish = tkl__own_now()->finish_until;
    return deadline > finish ? deadline : finish;
}

void tkl__let_take_turn(int64_t until)
{
    tkl__own_now()->turn_until = until;
}

int64_t tkl__turn_by(int64_t deadline, int64_t at)
{
    int64_t until = tkl__own_now()->turn_until, prompt = at + TKL__PROMPT_US;
    int64_t later = until < prompt ? until : prompt;
    return deadline > later ? deadline : later;
}

int64_t tkl__wake_time(int64_t at)
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

/* The same for the second end. A fiber that is cancelled counts as interrupted. */
static int64_t cut_short(tkl__own *own, int64_t deadline)
{
    if (!own->end_too)
        return deadline;
    int64_t end = ended_by(own->cancelled_at, ended_by(own->end_too, deadline));
    own->cut_short |= end < deadline;
    return end;
}

int64_t tkl__left(int64_t deadline)
{
    tkl__own *own = tkl__own_now();
    deadline = cut_short(own, ended_by(own->end, deadline));
    if (deadline == TKL__FOREVER)
        return TKL__FOREVER;
    int64_t left = deadline - tkl__now();
    return left > 0 ? left : 0;
}

int tkl__poll_ms(int64_t deadline)
{
    deadline = tkl__wake_time(deadline);
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

static void sleep_on_thread(int64_t at)
{
    struct timespec ts = tkl__timespec(at);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        ;
}

void tkl__sleep_until(int64_t at)
{
    do {
        int64_t next = tkl__wake_time(at);
        if (tkl__fiber_self())
            tkl__fiber_park(next);
        else
            sleep_on_thread(next);
    } while (tkl__left(at) > 0);
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
