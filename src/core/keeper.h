/* SPDX-License-Identifier: MIT
 *
 * The keeper: one background thread per client that renews whatever is held for a lease, many
 * in one trip, and notices what is lost. It starts with the first thing to keep and sleeps until
 * something is due.
 */
#ifndef TKL_CORE_KEEPER_H
#define TKL_CORE_KEEPER_H

#include "core/script.h"

/* Something to keep; part of the object that is kept. */
typedef struct tkl__kept {
    /* Called when it is due, by the keeper's thread. Fills in a script to run, whose keys and
     * arguments must stay until `done`, and returns true; or does what there is to do and returns
     * false. */
    bool (*prepare)(struct tkl__kept *kept, tkl__invocation *call);
    /* Called with what became of the script: an error of the server comes as its code. */
    void (*done)(struct tkl__kept *kept, int rc, const tkl_reply *reply);
    /* When it is due next, asked after each turn; TKL__FOREVER: never again. */
    int64_t (*due)(struct tkl__kept *kept);
    /* How many microseconds a turn may take while this one is on the list, whoever's it is: a
     * server that does not answer must not hold up what others have to know. NULL: as long as
     * any call. */
    int64_t (*patience)(struct tkl__kept *kept);

    /* The keeper's own. */
    int64_t at;
    bool listed;
    bool busy; /* in the turn under way */
    struct tkl__kept *next, *prev;
} tkl__kept;

/* Puts it on the list, or moves it in time: due at `at`, also when a turn with it is under way. */
int tkl__keep(tkl_client *client, tkl__kept *kept, int64_t at);
/* Takes it off the list. A turn under way may still call it back. */
void tkl__unkeep(tkl_client *client, tkl__kept *kept);
/* Takes it off and waits until no turn can call it back. Not from a callback. */
void tkl__unkeep_wait(tkl_client *client, tkl__kept *kept);

/* For the client: at its end, and in a forked child (where the thread does not exist). */
void tkl__keeper_stop(tkl_client *client);
void tkl__keeper_forget(tkl_client *client);

#endif
