/* SPDX-License-Identifier: MIT
 *
 * Damage that another program may do to the keys of tackle.
 */
#ifndef TACKLE_TESTS_CORRUPT_H
#define TACKLE_TESTS_CORRUPT_H

#include "support/server.h"

/* Damages the data of a server, reproducibly by `seed`: about half of its keys get garbage, another
 * type, wrong scores or missing fields, or are deleted. */
void corrupt_keys(server *s, uint64_t seed);

#endif
