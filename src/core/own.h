/* SPDX-License-Identifier: MIT
 *
 * State that each flow of control has for itself: a thread, or a fiber (fiber.h). Code that wants a
 * thread-local variable puts it here instead, because several fibers share a thread.
 */
#ifndef TKL_CORE_OWN_H
#define TKL_CORE_OWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

typedef struct tkl__own {
    char text[TKL_ERROR_TEXT_SIZE];       /* reason of the last failure: see error.h */
    const _Atomic int64_t *end, *end_too; /* see tkl__heed() and tkl__heed_too(); NULL: none */
    bool cut_short;                       /* see tkl__was_cut_short() */
    int64_t finish_until;                 /* see tkl__let_finish() */
    int64_t turn_until;                   /* see tkl__let_take_turn() */
    const _Atomic int64_t *cancelled_at;  /* see tkl__fiber_cancel(); NULL in a thread */
    struct {
        int depth;           /* calls of tkl_lenient_begin() without their end */
        int64_t since;       /* when the first of them was */
        int64_t patience_us; /* for masters that do not answer */
    } lenient;
} tkl__own;

/* The state of the calling thread, or of the fiber that it runs. */
tkl__own *tkl__own_now(void);

/* From now on the calling thread uses this state; NULL: its own again. For fiber.c. */
void tkl__own_switch(tkl__own *own);

#endif
