/* SPDX-License-Identifier: MIT
 *
 * Attackers: what a hostile server may say, and what another program may have written into our
 * keys. Everything is reproducible by a seed.
 */
#ifndef TACKLE_TESTS_MUTATE_H
#define TACKLE_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include "support/server.h"

/* A number below `limit`; the dice change. */
uint64_t dice_below(uint64_t *dice, uint64_t limit);

/* Spoils a piece of a RESP stream, which may become longer by up to MUTATE_MORE; returns its new
 * length, at least 1. */
#define MUTATE_MORE 256
size_t mutate_bytes(uint64_t *dice, char *data, size_t len);

/* Damages what is in the server: about half of its keys get garbage, another type, wrong scores,
 * missing fields, or go. */
void corrupt_keys(server *s, uint64_t seed);

#endif
