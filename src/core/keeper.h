/* SPDX-License-Identifier: MIT
 *
 * The keeper: one background thread per client that renews all leases, many in one round trip, and
 * notices lost ones. It starts with the first item and sleeps until an item is due.
 */
#ifndef TKL_CORE_KEEPER_H
#define TKL_CORE_KEEPER_H

#include "core/batch.h"

/* An item of the keeper; part of the object whose lease it renews. */
typedef struct tkl__kept {
    /* The keeper's thread calls this when the item is due. Either fills in a script to run, whose
     * keys and arguments must stay valid until the next call of a function of the item, and returns
     * true; or does the work itself and returns false. */
    bool (*prepare)(struct tkl__kept *kept, tkl__invocation *call);
    /* Called with the result of the script. An error reply of the server comes as its code. */
    void (*done)(struct tkl__kept *kept, int rc, const tkl_reply *reply);
    /* Returns when the item is due next; called after each round. TKL__FOREVER: never again. */
    int64_t (*due)(struct tkl__kept *kept);
    /* How many microseconds a round may take while this item is on the list, even if it is not part
     * of the round: a server that does not answer must not delay the news for other items. NULL: as
     * long as any call. */
    int64_t (*patience)(struct tkl__kept *kept);

    /* Private to the keeper. */
    int64_t at;
    bool listed;
    bool busy; /* part of the current round */
    struct tkl__kept *next, *prev;
} tkl__kept;

/* Adds the item to the list, or changes its time: due at `at`, even while a round with it is
 * running. */
int tkl__keep(tkl_client *client, tkl__kept *kept, int64_t at);
/* Makes all items due now: another server has become the master and may not know the leases. */
void tkl__keep_now(tkl_client *client);
/* Removes the item from the list. A running round may still call its functions. */
void tkl__unkeep(tkl_client *client, tkl__kept *kept);
/* Removes the item and waits until no round can call its functions. Not from a callback. */
void tkl__unkeep_wait(tkl_client *client, tkl__kept *kept);

/* For the client: when it closes, and in a forked child (where the thread does not exist). */
void tkl__keeper_stop(tkl_client *client);
void tkl__keeper_forget(tkl_client *client);

#endif
