/* SPDX-License-Identifier: MIT */
#include "core/refresh.h"

#include <stdio.h>

#include "core/clock.h"
#include "core/error.h"

#define MIN_INTERVAL 100000  /* us between two fetches of data that may be outdated */
#define SLICE_MAX    1000000 /* us for one server while there are others to ask */
#define LAST_MAX     3000000 /* us for the last server: then all get another chance */

/* ---- Failures ------------------------------------------------------------ */

void tkl__failure_note(tkl_error *failure, int code)
{
    if (tkl__may_pass(code) && failure->code != TKL_OK && !tkl__may_pass(failure->code))
        return;
    tkl_error_last(tkl__may_pass(code) ? TKL_ENOTSENT : code, failure);
}

/* ---- One fetch at a time ------------------------------------------------- */

void tkl__refresh_init(tkl__refresh *refresh, bool (*have)(tkl_client *, int),
                       int (*fetch)(tkl_client *, int64_t))
{
    *refresh = (tkl__refresh){.have = have, .fetch = fetch};
    tkl__cond_init(&refresh->ended);
}

/* In a forked child neither the thread that fetched nor the threads that waited for it exist. */
static void notice_fork(tkl_client *client, tkl__refresh *refresh)
{
    if (refresh->generation == client->generation)
        return;
    refresh->generation = client->generation;
    refresh->running = false;
    tkl__cond_init(&refresh->ended);
}

void tkl__refresh_free(tkl_client *client, tkl__refresh *refresh)
{
    notice_fork(client, refresh);
    tkl__cond_destroy(&refresh->ended);
}

/* Whether this caller must fetch. A fetch by another thread that began after the caller came is
 * good enough. */
static bool is_due(const tkl__refresh *refresh, bool have, int64_t since)
{
    if (!have)
        return refresh->began < since;
    return refresh->stale && tkl__now() - refresh->began >= MIN_INTERVAL;
}

static void fetch_map(tkl_client *client, tkl__refresh *refresh, int64_t deadline)
{
    const bool first = refresh->began == 0;
    refresh->running = true;
    refresh->stale = false;
    refresh->began = tkl__now();
    tkl__client_unlock(client);

    tkl_error failure = {0};
    tkl__failure_note(&failure, refresh->fetch(client, deadline));

    tkl__client_lock(client);
    notice_fork(client, refresh);
    refresh->running = false;
    refresh->stale |= failure.code != TKL_OK;
    /* A fetch cut short by its caller's deadline says less than the one before it. */
    if (failure.code == TKL_OK || first || tkl__left(deadline) > 0)
        refresh->failure = failure;
    tkl__cond_broadcast(&refresh->ended);
}

int tkl__refresh_ensure(tkl_client *client, tkl__refresh *refresh, int slot, int64_t deadline)
{
    const int64_t since = tkl__now();

    notice_fork(client, refresh);
    for (;;) {
        bool have = refresh->have(client, slot);
        if (have && refresh->running)
            return TKL_OK;
        if (refresh->running) {
            if (!tkl__cond_wait(&refresh->ended, &client->mutex, deadline))
                return tkl__fail(TKL_ENOTSENT, "which server to ask was not found out in time");
        } else if (is_due(refresh, have, since)) {
            fetch_map(client, refresh, deadline);
        } else if (have) {
            return TKL_OK;
        } else {
            return refresh->failure.code != TKL_OK
                       ? tkl__first_tell(&refresh->failure)
                       : tkl__fail(TKL_ENOTSENT, "no server serves slot %d now", slot);
        }
    }
}

/* ---- Asking several servers ---------------------------------------------- */

int64_t tkl__refresh_slice(int64_t deadline, size_t others)
{
    int64_t left = tkl__left(deadline);
    int64_t most = others > 0 ? SLICE_MAX : LAST_MAX;
    int64_t share = others > 0 ? left / 2 : left;
    return share < most ? tkl__now() + share : tkl__now() + most;
}
