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

/* An empty server. */
bench_shelf *shelf_open(void);

/* One with the distribution's RediSearch module; NULL: it is not installed. */
bench_shelf *shelf_with_search(void);

/* Microseconds that one call of the command ("evalsha") has taken since shelf_reset(). */
double shelf_command_us(bench_shelf *shelf, const char *command);
void shelf_reset(bench_shelf *shelf);

/* Bytes of data. */
double shelf_memory(bench_shelf *shelf);

#endif
