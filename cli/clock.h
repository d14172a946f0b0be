/* SPDX-License-Identifier: MIT
 *
 * The monotonic clock, and the time of day.
 */
#ifndef TKL_CLI_CLOCK_H
#define TKL_CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t cli_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t cli_now_ms(void)
{
    return cli_now_us() / 1000;
}

/* Milliseconds since 1970. */
static inline int64_t cli_unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
