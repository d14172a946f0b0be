/* SPDX-License-Identifier: MIT
 *
 * One turn of one contender, on a server emptied before.
 */
#ifndef TACKLE_BENCH_RUN_H
#define TACKLE_BENCH_RUN_H

#include <hiredis/hiredis.h>

#include "bench.h"

/* Runs a turn. `admin` is a connection of the benchmark itself. The caller frees the sample's
 * counts. */
bench_sample run_contender(bench_run *run, redisContext *admin, const bench_case *bcase,
                           const bench_contender *contender);

#endif
