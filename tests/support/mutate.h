/* SPDX-License-Identifier: MIT
 *
 * Replies of a hostile server: a RESP stream that is spoiled, reproducibly by a seed.
 */
#ifndef TACKLE_TESTS_MUTATE_H
#define TACKLE_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* A number below `limit`; the dice change. */
uint64_t dice_below(uint64_t *dice, uint64_t limit);

/* Spoils a piece of a RESP stream, which may become longer by up to MUTATE_MORE; returns its new
 * length, at least 1. */
#define MUTATE_MORE 256
size_t mutate_bytes(uint64_t *dice, char *data, size_t len);

#endif
