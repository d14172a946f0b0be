/* SPDX-License-Identifier: MIT
 *
 * The results of the rounds: a table for people, JSON for programs.
 */
#ifndef TACKLE_BENCH_REPORT_H
#define TACKLE_BENCH_REPORT_H

#include <jansson.h>

#include "bench.h"

/* All samples of one case. */
typedef struct outcome {
    const bench_case *bcase;
    int rounds;
    bench_sample *samples[BENCH_CONTENDERS]; /* sample of each round; NULL: did not run */
} outcome;

void report_heading(const char *component);
void report_table(const outcome *o);
json_t *report_json(const outcome *o);
/* False when a target was missed. */
bool report_reached(const outcome *o);

#endif
