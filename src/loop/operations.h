/* SPDX-License-Identifier: MIT
 *
 * Functions of the library as operations of a loop, see tkl_loop_operation(). The table is made from
 * the public headers by tools/operations.
 */
#ifndef TKL_LOOP_OPERATIONS_H
#define TKL_LOOP_OPERATIONS_H

#include <stddef.h>

#include <tackle/loop.h>

typedef struct tkl__operation {
    const char *name;
    tkl_loop_run *run;
} tkl__operation;

extern const tkl__operation tkl__operations[]; /* sorted by name */
extern const size_t tkl__operation_count;

#endif
