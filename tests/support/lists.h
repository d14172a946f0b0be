/* SPDX-License-Identifier: MIT
 *
 * Plain blocking queues as tests use them.
 */
#ifndef TACKLE_TESTS_LISTS_H
#define TACKLE_TESTS_LISTS_H

#include <tackle/blist.h>

#include "support/fixture.h"

#define LONG_MS 60000 /* longer than any test takes */

tkl_blist *open_list(tkl_client *client, const char *name);
void push_item(tkl_blist *list, const char *item);
/* Fails unless the answer is this one item. Frees it. */
void assert_item(tkl_blist_items *item, const char *expected);
int pop_one(tkl_blist *list, int64_t wait_ms, tkl_blist_items **item);
void assert_pops(tkl_blist *list, int64_t wait_ms, const char *expected);
int64_t list_length(tkl_blist *list);

/* A pop in a thread of its own. */
typedef struct popper {
    tkl_blist *const *lists;
    size_t count, which;
    int64_t wait_ms, took_ms;
    int code;
    tkl_blist_items *item;
    crew *thread;
} popper;

/* Starts a pop, and returns when the server has it in its line. */
void popper_start(server *s, popper *p);
/* Joins the thread, which must have got this item. */
void popper_got(popper *p, const char *expected);

#endif
