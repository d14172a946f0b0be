/* SPDX-License-Identifier: MIT
 *
 * Finds the operation of a function. It stands apart from loop.c: a program with libtackle.a gets the
 * whole library by the table, but only if it asks for operations by name.
 */
#include "loop/operations.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *name, const void *operation)
{
    return strcmp(name, ((const tkl__operation *)operation)->name);
}

tkl_loop_run *tkl_loop_operation(const char *name)
{
    const tkl__operation *found = bsearch(name, tkl__operations, tkl__operation_count,
                                          sizeof *tkl__operations, compare_names);
    return found ? found->run : NULL;
}
