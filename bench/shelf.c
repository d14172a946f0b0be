/* SPDX-License-Identifier: MIT */
#include "shelf.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"
#include "ours.h"

#define MODULE "/usr/lib/redis/modules/redisearch.so"

static bench_shelf *shelf_new(void)
{
    bench_shelf *shelf = calloc(1, sizeof *shelf);
    if (!shelf)
        bench_die("out of memory");
    return shelf;
}

bench_shelf *shelf_open(void)
{
    bench_shelf *shelf = shelf_new();
    tkl_reply *reply;
    check(tkl_open("embedded:", NULL, &shelf->client));
    check(tkl_callz(shelf->client, &reply, "CONFIG", "GET", "unixsocket", NULL));
    snprintf(shelf->socket, sizeof shelf->socket, "%s", tkl_reply_str(tkl_reply_at(reply, 1)));
    snprintf(shelf->url, sizeof shelf->url, "unix://%s", shelf->socket);
    tkl_reply_free(reply);
    return shelf;
}

static char directory[] = "/tmp/tackle-bench.XXXXXX";

static void remove_directory(void)
{
    char path[160];
    snprintf(path, sizeof path, "%s/s", directory);
    unlink(path);
    rmdir(directory);
}

static void start_server(const bench_shelf *shelf)
{
    fflush(stdout);
    if (fork() != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!freopen("/dev/null", "w", stdout))
        _exit(70);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", shelf->socket, "--save",
           "", "--dir", directory, "--loadmodule", MODULE, NULL);
    _exit(70);
}

bench_shelf *shelf_with_search(void)
{
    if (access(MODULE, R_OK) != 0)
        return NULL;
    bench_shelf *shelf = shelf_new();
    if (!mkdtemp(directory))
        bench_die("cannot make a directory in /tmp");
    atexit(remove_directory);
    snprintf(shelf->socket, sizeof shelf->socket, "%s/s", directory);
    snprintf(shelf->url, sizeof shelf->url, "unix://%s", shelf->socket);
    start_server(shelf);
    check(tkl_open(shelf->url, NULL, &shelf->client));
    for (int i = 0; tkl_callz(shelf->client, NULL, "PING", NULL) != TKL_OK; i++) {
        if (i == 500)
            bench_die("the server with RediSearch does not start");
        usleep(10000);
    }
    return shelf;
}

/* The number behind a name in INFO. */
static double info(bench_shelf *shelf, const char *section, const char *name, const char *field)
{
    tkl_reply *reply;
    check(tkl_callz(shelf->client, &reply, "INFO", section, NULL));
    const char *line = strstr(tkl_reply_str(reply), name);
    const char *value = line ? strstr(line, field) : NULL;
    double number = value ? atof(value + strlen(field)) : 0;
    tkl_reply_free(reply);
    return number;
}

static double command_us(bench_shelf *shelf, const char *command)
{
    char name[64];
    snprintf(name, sizeof name, "cmdstat_%s:", command);
    return info(shelf, "commandstats", name, "usec_per_call=");
}

double shelf_us(bench_shelf *shelf, const char *first, const char *second, shelf_step *step,
                void *arg)
{
    enum { RUNS = 20, CALLS = 50 };
    double least = 0;
    for (uint64_t run = 0; run <= RUNS; run++) {
        check(tkl_callz(shelf->client, NULL, "CONFIG", "RESETSTAT", NULL));
        for (uint64_t i = 0; i < CALLS; i++)
            step(arg, run * CALLS + i);
        double us = command_us(shelf, first) + (second ? command_us(shelf, second) : 0);
        if (run == 1 || (run > 1 && us < least)) /* the first run warms up */
            least = us;
    }
    return least;
}

double shelf_memory(bench_shelf *shelf)
{
    return info(shelf, "memory", "used_memory:", "used_memory:");
}

/* Processor time of the server and all of its threads so far. */
static double cpu_us(bench_shelf *shelf)
{
    return 1e6 * (info(shelf, "cpu", "used_cpu_user:", "used_cpu_user:") +
                  info(shelf, "cpu", "used_cpu_sys:", "used_cpu_sys:"));
}

double shelf_cpu_us(bench_shelf *shelf, shelf_step *step, void *arg)
{
    enum { RUNS = 10, CALLS = 200 };
    double least = 0;
    for (uint64_t run = 0; run <= RUNS; run++) {
        double before = cpu_us(shelf);
        for (uint64_t i = 0; i < CALLS; i++)
            step(arg, run * CALLS + i);
        double us = (cpu_us(shelf) - before) / CALLS;
        if (run == 1 || (run > 1 && us < least)) /* the first run warms up */
            least = us;
    }
    return least;
}
