/* SPDX-License-Identifier: MIT
 *
 * How long another client waits while a shell line keeps the server busy. That client sends a PING
 * each millisecond, one after the other. When one is held up, others would have asked meanwhile: a
 * PING of 30 ms also counts as one of 29, one of 28 and so on.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "lab.h"
#include "stage.h"

enum {
    EVERY_US = 1000,
    WAITS_MAX = 60000, /* waits that are kept: those of a minute */
    CALM_US = 200000,  /* pings before and after the line */
};

typedef struct pinger {
    tkl_client *client;
    atomic_bool ended; /* the line has ended */
    int64_t *waits_us;
    size_t count;
    int code; /* result of the last ping */
} pinger;

static void sleep_until(int64_t at_us)
{
    struct timespec at = {.tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Keeps a wait, and those of the others who would have asked meanwhile. */
static void keep_wait(pinger *p, int64_t wait_us)
{
    for (; wait_us > 0 && p->count < WAITS_MAX; wait_us -= EVERY_US)
        p->waits_us[p->count++] = wait_us;
}

static void *ping_until_the_end(void *arg)
{
    pinger *p = arg;
    while (!p->ended && p->count < WAITS_MAX && p->code == TKL_OK) {
        int64_t asked_us = cli_now_us();
        p->code = tkl_callz(p->client, NULL, "PING", NULL);
        keep_wait(p, cli_now_us() - asked_us);
        sleep_until(asked_us + EVERY_US);
    }
    return NULL;
}

static int compare_waits(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

/* Runs the line while the client pings. */
static int run_beside(cli_session *cli, pinger *p, const char *command, int output)
{
    pthread_t thread;
    int exit = 0;
    if (pthread_create(&thread, NULL, ping_until_the_end, p) != 0)
        return cli_fail(cli, CLI_FAILURE, "cannot start a thread");
    sleep_until(cli_now_us() + CALM_US);
    int failed = cli_stage_run(cli, command, output, &exit);
    sleep_until(cli_now_us() + CALM_US);
    p->ended = true;
    pthread_join(thread, NULL);
    if (!failed && p->code != TKL_OK)
        failed = cli_end(cli, p->code);
    if (!failed && exit != 0)
        failed = cli_fail(cli, CLI_FAILURE, "'%s' ended with exit code %d", command, exit);
    return failed;
}

static double wait_ms(const pinger *p, size_t percent)
{
    return (double)p->waits_us[(p->count - 1) * percent / 100] / 1000;
}

/* Prints how long the client has waited; *worst_ms is the longest. */
static int run_line(cli_session *cli, const char *command, int output, int64_t *worst_ms)
{
    pinger p = {.waits_us = calloc(WAITS_MAX, sizeof *p.waits_us)};
    if (p.waits_us == NULL)
        return cli_fail(cli, CLI_FAILURE, "out of memory");
    int code = tkl_open(getenv("TACKLE_URL"), NULL, &p.client);
    if (code == TKL_OK)
        code = tkl_callz(p.client, NULL, "PING", NULL); /* connects */
    int failed = code == TKL_OK ? run_beside(cli, &p, command, output) : cli_end(cli, code);
    if (!failed) {
        qsort(p.waits_us, p.count, sizeof *p.waits_us, compare_waits);
        dprintf(output,
                "another client: %zu waits, half up to %.2f ms, 99 %% up to %.2f ms, "
                "the longest %.2f ms\n",
                p.count, wait_ms(&p, 50), wait_ms(&p, 99), wait_ms(&p, 100));
        *worst_ms = (p.waits_us[p.count - 1] + 999) / 1000;
    }
    tkl_close(p.client);
    free(p.waits_us);
    return failed;
}

int cli_lab_wait_for_keys(cli_session *cli, int output, int64_t *worst_ms)
{
    return run_line(cli, CLI_LAB_KEYS, output, worst_ms);
}

int cli_lab_wait_for_scan(cli_session *cli, int output, int64_t *worst_ms)
{
    return run_line(cli, CLI_LAB_SCAN, output, worst_ms);
}
