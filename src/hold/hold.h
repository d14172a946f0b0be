/* SPDX-License-Identifier: MIT
 *
 * Holding a name for a lease: the common part of locks, semaphores and leaders. One tkl__hold is
 * one owner.
 */
#ifndef TKL_HOLD_HOLD_H
#define TKL_HOLD_HOLD_H

#include <tackle/hold.h>

#include "core/batch.h"

typedef struct tkl__hold tkl__hold;

typedef struct tkl__hold_rules {
    const char *component; /* second part of the keys: "lock", "sem" */
    int64_t limit;         /* most holders; 0: no limit on sharers */
    int64_t timeout_ms;    /* time-out of one call; 0: the client's time-out */
    int64_t lease_ms;      /* 0: the default */
    const char *label;     /* NULL: none */
    int replicas;
    bool shared, auto_renew, reentrant;
    bool watch;                   /* see "Listening" in keep.c; with auto_renew */
    bool announced;               /* changes of the holder are published: see change.c */
    void (*on_lost)(void *owner); /* NULL: no callback */
    void *owner;
} tkl__hold_rules;

int tkl__hold_open(tkl_client *client, tkl_bytes name, const tkl__hold_rules *rules,
                   tkl__hold **hold);
void tkl__hold_close(tkl__hold *hold);

/* See the functions of the same names in lock.h. */
int tkl__hold_acquire(tkl__hold *hold, int64_t wait_ms);
int tkl__hold_renew(tkl__hold *hold, int64_t lease_ms);
int tkl__hold_downgrade(tkl__hold *hold);
int tkl__hold_release(tkl__hold *hold, bool wait_for_reply);
int tkl__hold_detach(tkl__hold *hold);
int tkl__hold_adopt(tkl__hold *hold, const char *token, int64_t lease_ms);
tkl_hold_state tkl__hold_state(tkl__hold *hold);
int tkl__hold_wait_lost(tkl__hold *hold, int64_t wait_ms);
uint64_t tkl__hold_fence(tkl__hold *hold);
void tkl__hold_token(tkl__hold *hold, char token[TKL_TOKEN_SIZE]);
int64_t tkl__hold_left_ms(tkl__hold *hold);

/* Runs a script on the keys of the name. */
int tkl__hold_run(tkl__hold *hold, const tkl__script *script, const tkl_bytes *args, size_t nargs,
                  tkl_reply **reply);

/* For operators: show.c. */
int tkl__hold_show(tkl__hold *hold, tkl_holders **holders);
int tkl__hold_break(tkl__hold *hold);
/* Waits until the exclusive holder is not the one with that fence; see tkl_leader_watch(). */
int tkl__hold_await_change(tkl__hold *hold, uint64_t fence, int64_t wait_ms, tkl_holders **holders);
/* Holders as part of a larger batch; see tkl__queue_overview_ask(). */
void tkl__hold_overview_ask(tkl__batch *batch, const char *component,
                            const tkl_hold_overview *known);
int tkl__hold_overview_heard(const tkl__batch *batch, size_t *names_at, size_t *at,
                             const char *component, const tkl_hold_overview *known,
                             tkl_hold_overview **overview);

/* All names that are held or waited for; see tkl_lock_overview(). */
int tkl__hold_overview(tkl_client *client, const char *component, tkl_hold_overview **overview);
/* The names that are held; see tkl_lock_names(). */
int tkl__hold_names(tkl_client *client, const char *component, tkl_names **names);

#endif
