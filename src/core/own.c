/* SPDX-License-Identifier: MIT */
#include "core/own.h"

#include <stddef.h>

static _Thread_local tkl__own of_thread;
static _Thread_local tkl__own *of_fiber; /* NULL: the thread runs no fiber */

tkl__own *tkl__own_now(void)
{
    return of_fiber ? of_fiber : &of_thread;
}

void tkl__own_switch(tkl__own *own)
{
    of_fiber = own;
}
