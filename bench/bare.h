/* SPDX-License-Identifier: MIT
 *
 * Bare hiredis, the limit of most cases: a connection for each worker, no deadline, commands from
 * an array of words (no format string to parse).
 */
#ifndef TACKLE_BENCH_BARE_H
#define TACKLE_BENCH_BARE_H

#include <hiredis/hiredis.h>

#include "bench.h"

/* Open and close a worker; worker->own is a redisContext. */
void bare_open(bench_worker *worker);
void bare_close(bench_worker *worker);

redisContext *bare_connect(const char *socket);
/* Sends a command, and ends the program on an error. The caller frees the reply. */
redisReply *bare_ask(redisContext *c, int argc, const char *const *argv);
void bare_call(redisContext *c, int argc, const char *const *argv);

/* Sends `count` of the same command in one write. */
void bare_pipeline(redisContext *c, int count, int argc, const char *const *argv);

/* Loads a script, and writes its SHA1. */
#define BARE_SHA1_SIZE 48
/* Loads a library of functions, replacing an older copy. */
void bare_load_library(redisContext *c, const char *source);
void bare_load(const bench_run *run, const char *source, char sha1[BARE_SHA1_SIZE]);

/* The functions of a contender. */
#define BARE(function) .role = BENCH_LIMIT, .open = bare_open, .step = function, .close = bare_close

#endif
