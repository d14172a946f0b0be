/* SPDX-License-Identifier: MIT
 *
 * The lock: a hold (src/hold) with the modes exclusive and shared.
 */
#include <tackle/lock.h>

#include <stdlib.h>

#include "core/error.h"
#include "core/options.h"
#include "hold/hold.h"

struct tkl_lock {
    tkl__hold *hold;
    void (*on_lost)(tkl_lock *lock, void *arg);
    void *arg;
};

static void tell_lost(void *owner)
{
    tkl_lock *lock = owner;
    lock->on_lost(lock, lock->arg);
}

int tkl_lock_open(tkl_client *client, tkl_bytes name, const tkl_lock_options *options,
                  tkl_lock **out)
{
    static const tkl_lock_options none;
    const tkl_lock_options *o = options ? options : &none;
    *out = NULL;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc != TKL_OK)
        return rc;
    tkl_lock *lock = calloc(1, sizeof *lock);
    if (!lock)
        return tkl__nomem();
    lock->on_lost = o->on_lost;
    lock->arg = o->arg;
    tkl__hold_rules rules = {
        .component = "lock",
        .timeout_ms = o->timeout_ms,
        .lease_ms = o->lease_ms,
        .label = o->label,
        .replicas = o->replicas,
        .shared = o->shared,
        .auto_renew = o->auto_renew,
        .watch = o->watch,
        .reentrant = o->reentrant,
        .on_lost = o->on_lost ? tell_lost : NULL,
        .owner = lock,
    };
    rc = tkl__hold_open(client, name, &rules, &lock->hold);
    if (rc != TKL_OK) {
        free(lock);
        return rc;
    }
    *out = lock;
    return TKL_OK;
}

void tkl_lock_close(tkl_lock *lock)
{
    if (lock)
        tkl__hold_close(lock->hold);
    free(lock);
}

int tkl_lock_acquire(tkl_lock *lock, int64_t wait_ms)
{
    return tkl__hold_acquire(lock->hold, wait_ms);
}

int tkl_lock_renew(tkl_lock *lock, int64_t lease_ms)
{
    return tkl__hold_renew(lock->hold, lease_ms);
}

int tkl_lock_release(tkl_lock *lock)
{
    return tkl__hold_release(lock->hold, true);
}

int tkl_lock_release_nowait(tkl_lock *lock)
{
    return tkl__hold_release(lock->hold, false);
}

int tkl_lock_downgrade(tkl_lock *lock)
{
    return tkl__hold_downgrade(lock->hold);
}

tkl_hold_state tkl_lock_state(tkl_lock *lock)
{
    return tkl__hold_state(lock->hold);
}

int tkl_lock_wait_lost(tkl_lock *lock, int64_t wait_ms)
{
    return tkl__hold_wait_lost(lock->hold, wait_ms);
}

uint64_t tkl_lock_fence(tkl_lock *lock)
{
    return tkl__hold_fence(lock->hold);
}

void tkl_lock_token(tkl_lock *lock, char token[TKL_TOKEN_SIZE])
{
    tkl__hold_token(lock->hold, token);
}

int64_t tkl_lock_left_ms(tkl_lock *lock)
{
    return tkl__hold_left_ms(lock->hold);
}

int tkl_lock_detach(tkl_lock *lock)
{
    return tkl__hold_detach(lock->hold);
}

int tkl_lock_adopt(tkl_lock *lock, const char *token, int64_t lease_ms)
{
    return tkl__hold_adopt(lock->hold, token, lease_ms);
}

int tkl_lock_show(tkl_lock *lock, tkl_holders **holders)
{
    return tkl__hold_show(lock->hold, holders);
}

int tkl_lock_break(tkl_lock *lock)
{
    return tkl__hold_break(lock->hold);
}

int tkl_lock_names(tkl_client *client, tkl_names **names)
{
    return tkl__hold_names(client, "lock", names);
}

int tkl_lock_overview(tkl_client *client, tkl_hold_overview **overview)
{
    return tkl__hold_overview(client, "lock", overview);
}
