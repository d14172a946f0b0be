/* SPDX-License-Identifier: MIT
 *
 * The semaphore: a hold (src/hold) that is always shared, with a limit.
 */
#include <tackle/semaphore.h>

#include <stdlib.h>

#include "core/error.h"
#include "core/options.h"
#include "hold/hold.h"

#define LIMIT_MAX 1000000

struct tkl_semaphore {
    tkl__hold *hold;
    void (*on_lost)(tkl_semaphore *sem, void *arg);
    void *arg;
};

static void tell_lost(void *owner)
{
    tkl_semaphore *sem = owner;
    sem->on_lost(sem, sem->arg);
}

int tkl_semaphore_open(tkl_client *client, tkl_bytes name, int64_t limit,
                       const tkl_semaphore_options *options, tkl_semaphore **out)
{
    static const tkl_semaphore_options none;
    const tkl_semaphore_options *o = options ? options : &none;
    *out = NULL;
    int rc = TKL__CHECK_OPTIONS(options, {"limit", limit, 1, LIMIT_MAX});
    if (rc != TKL_OK)
        return rc;
    tkl_semaphore *sem = calloc(1, sizeof *sem);
    if (!sem)
        return tkl__nomem();
    sem->on_lost = o->on_lost;
    sem->arg = o->arg;
    tkl__hold_rules rules = {
        .component = "sem",
        .limit = limit,
        .timeout_ms = o->timeout_ms,
        .lease_ms = o->lease_ms,
        .label = o->label,
        .replicas = o->replicas,
        .shared = true,
        .auto_renew = o->auto_renew,
        .watch = o->watch,
        .on_lost = o->on_lost ? tell_lost : NULL,
        .owner = sem,
    };
    rc = tkl__hold_open(client, name, &rules, &sem->hold);
    if (rc != TKL_OK) {
        free(sem);
        return rc;
    }
    *out = sem;
    return TKL_OK;
}

void tkl_semaphore_close(tkl_semaphore *sem)
{
    if (sem)
        tkl__hold_close(sem->hold);
    free(sem);
}

int tkl_semaphore_acquire(tkl_semaphore *sem, int64_t wait_ms)
{
    return tkl__hold_acquire(sem->hold, wait_ms);
}

int tkl_semaphore_renew(tkl_semaphore *sem, int64_t lease_ms)
{
    return tkl__hold_renew(sem->hold, lease_ms);
}

int tkl_semaphore_release(tkl_semaphore *sem)
{
    return tkl__hold_release(sem->hold, true);
}

int tkl_semaphore_release_nowait(tkl_semaphore *sem)
{
    return tkl__hold_release(sem->hold, false);
}

tkl_hold_state tkl_semaphore_state(tkl_semaphore *sem)
{
    return tkl__hold_state(sem->hold);
}

int tkl_semaphore_wait_lost(tkl_semaphore *sem, int64_t wait_ms)
{
    return tkl__hold_wait_lost(sem->hold, wait_ms);
}

uint64_t tkl_semaphore_fence(tkl_semaphore *sem)
{
    return tkl__hold_fence(sem->hold);
}

void tkl_semaphore_token(tkl_semaphore *sem, char token[TKL_TOKEN_SIZE])
{
    tkl__hold_token(sem->hold, token);
}

int64_t tkl_semaphore_left_ms(tkl_semaphore *sem)
{
    return tkl__hold_left_ms(sem->hold);
}

int tkl_semaphore_detach(tkl_semaphore *sem)
{
    return tkl__hold_detach(sem->hold);
}

int tkl_semaphore_adopt(tkl_semaphore *sem, const char *token, int64_t lease_ms)
{
    return tkl__hold_adopt(sem->hold, token, lease_ms);
}

int tkl_semaphore_show(tkl_semaphore *sem, tkl_holders **holders)
{
    return tkl__hold_show(sem->hold, holders);
}

int tkl_semaphore_break(tkl_semaphore *sem)
{
    return tkl__hold_break(sem->hold);
}

int tkl_semaphore_names(tkl_client *client, tkl_names **names)
{
    return tkl__hold_names(client, "sem", names);
}

int tkl_semaphore_overview(tkl_client *client, tkl_hold_overview **overview)
{
    return tkl__hold_overview(client, "sem", overview);
}
