/* SPDX-License-Identifier: MIT */
#include "support/redlocks.h"

#include "support/call.h"

/* ---- The servers --------------------------------------------------------- */

int world_start(void **state)
{
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    for (int i = 0; i < SERVERS; i++)
        w->servers[i] = server_start(NULL);
    *state = w;
    return 0;
}

int world_end(void **state)
{
    world *w = *state;
    for (int i = 0; i < SERVERS; i++)
        server_end(w->servers[i]);
    free(w);
    return 0;
}

int world_fresh(void **state)
{
    world *w = *state;
    for (int i = 0; i < SERVERS; i++) {
        if (w->servers[i]->pid == 0)
            server_restart(w->servers[i]);
        server_thaw(w->servers[i]);
        server_do(w->servers[i], "FLUSHALL");
        server_do(w->servers[i], "FUNCTION FLUSH SYNC");
        w->clients[i] = test_open(w->servers[i]->url, NULL);
    }
    return 0;
}

int world_done(void **state)
{
    world *w = *state;
    for (int i = 0; i < SERVERS; i++)
        tkl_close(w->clients[i]);
    return 0;
}

tkl_redlock *redlock_with(world *w, size_t count, int64_t lease_ms, int64_t timeout_ms)
{
    tkl_redlock_options options = {
        .lease_ms = lease_ms, .timeout_ms = timeout_ms, .retry_delay_ms = 10};
    tkl_redlock *lock;
    assert_ok(tkl_redlock_open(w->clients, count, tkl_str("name"), &options, &lock));
    return lock;
}

tkl_redlock *redlock_on(world *w, size_t count)
{
    return redlock_with(w, count, LONG_MS, 20000);
}

int world_holds(world *w, int count, const char *value)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (w->servers[i]->pid == 0)
            continue;
        char *text = server_ask(w->servers[i], "GET " KEY);
        n += strcmp(text, value) == 0;
        free(text);
    }
    return n;
}

int world_holds_token(world *w, int count, tkl_redlock *lock)
{
    char token[TKL_TOKEN_SIZE];
    tkl_redlock_token(lock, token);
    return world_holds(w, count, token);
}

int world_holds_nothing(world *w, int count)
{
    return world_holds(w, count, "");
}

void world_freeze(world *w, int from, int to)
{
    for (int i = from; i < to; i++)
        server_freeze(w->servers[i]);
}

void world_thaw(world *w, int from, int to)
{
    for (int i = from; i < to; i++)
        server_thaw(w->servers[i]);
}

void world_kill(world *w, int from, int to)
{
    for (int i = from; i < to; i++)
        server_kill(w->servers[i]);
}
