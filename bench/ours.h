/* SPDX-License-Identifier: MIT */
#ifndef TACKLE_BENCH_OURS_H
#define TACKLE_BENCH_OURS_H

#include <tackle/tackle.h>

#include "bench.h"

/* Ends the program unless the code is TKL_OK. */
void check(int rc);

/* Zeroed memory; ends the program when there is none. */
void *ours_alloc(size_t size);

/* A client that has made its first call. */
tkl_client *ours_client(const bench_run *run, const bench_contender *self);

#endif
