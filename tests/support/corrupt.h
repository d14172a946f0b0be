/* SPDX-License-Identifier: MIT
 *
 * What another program may have written into our keys.
 */
#ifndef TACKLE_TESTS_CORRUPT_H
#define TACKLE_TESTS_CORRUPT_H

#include "support/server.h"

/* Damages what is in the server, reproducibly by `seed`: about half of its keys get garbage,
 * another type, wrong scores, missing fields, or go. */
void corrupt_keys(server *s, uint64_t seed);

#endif
