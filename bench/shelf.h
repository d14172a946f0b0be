/* SPDX-License-Identifier: MIT
 *
 * Servers of a component's own, beside the one of the run: data that takes long to load is loaded
 * once and stays for all rounds. They end with the program.
 */
#ifndef TACKLE_BENCH_SHELF_H
#define TACKLE_BENCH_SHELF_H

#include <stdbool.h>
#include <stdint.h>
#include <tackle/client.h>

typedef struct bench_shelf {
    tkl_client *client;
    char url[160];
    char socket[128];
} bench_shelf;

/* Starts an empty server. */
bench_shelf *shelf_open(void);

/* Starts a server with the distribution's RediSearch module; NULL: it is not installed. */
bench_shelf *shelf_with_search(void);

/* The server's microseconds in these commands ("evalsha"; the second may be NULL) for one call of
 * `step`: the least of many short runs, so that other load on the machine hardly matters. */
typedef void shelf_step(void *arg, uint64_t number);
double shelf_us(bench_shelf *shelf, const char *first, const char *second, shelf_step *step,
                void *arg);

/* The processor time of the server and all of its threads for one call, in any commands. */
double shelf_cpu_us(bench_shelf *shelf, shelf_step *step, void *arg);

/* Bytes of data. */
double shelf_memory(bench_shelf *shelf);

#endif
