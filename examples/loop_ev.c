/* SPDX-License-Identifier: MIT
 *
 * Waiting in a loop of libev. The adapter is all that differs from
 * examples/loop_epoll.c, which does more.
 *
 *     TACKLE_URL=redis://localhost examples/loop_ev
 */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static bool over;

static void check(int code, const char *what)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, tkl_errmsg());
    exit(1);
}

static int acquire_lock(void *arg)
{
    return tkl_lock_acquire(arg, 60000);
}

static void lock_acquired(void *arg, int code, const char *text)
{
    (void)arg;
    printf("the lock: %s\n", code == TKL_OK ? "ours" : text);
    over = true;
    check(code, "acquire");
}

/* ---- The adapter ----------------------------------------------------------- */

static void on_readable(struct ev_loop *ev, ev_io *watcher, int events)
{
    (void)events;
    check(tkl_loop_dispatch(watcher->data), "dispatch");
    if (over)
        ev_break(ev, EVBREAK_ALL);
}

static void run_until_over(tkl_loop *loop)
{
    struct ev_loop *ev = ev_default_loop(0);
    ev_io watcher = {.data = loop};
    ev_io_init(&watcher, on_readable, tkl_loop_fd(loop), EV_READ);
    ev_io_start(ev, &watcher);
    ev_run(ev, 0);
    ev_io_stop(ev, &watcher);
}

int main(void)
{
    tkl_client *client;
    tkl_loop *loop;
    tkl_lock *lock;
    const char *url = getenv("TACKLE_URL");
    check(tkl_open(url ? url : "embedded:", NULL, &client), "open");
    check(tkl_lock_open(client, tkl_str("door"), NULL, &lock), "lock");
    check(tkl_loop_open(client, NULL, &loop), "loop");
    check(tkl_loop_submit(loop, acquire_lock, lock_acquired, lock, NULL), "submit");
    run_until_over(loop);
    tkl_loop_close(loop);
    tkl_lock_close(lock);
    tkl_close(client);
    return 0;
}
