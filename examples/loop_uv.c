/* SPDX-License-Identifier: MIT
 *
 * Waiting in a loop of libuv. The adapter is all that differs from
 * examples/loop_epoll.c, which does more.
 *
 *     TACKLE_URL=redis://localhost examples/loop_uv
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>
#include <uv.h>

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

static void on_readable(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    check(tkl_loop_dispatch(handle->data), "dispatch");
    if (over)
        uv_close((uv_handle_t *)handle, NULL);
}

static void run_until_over(tkl_loop *loop)
{
    uv_poll_t handle = {.data = loop};
    uv_poll_init(uv_default_loop(), &handle, tkl_loop_fd(loop));
    uv_poll_start(&handle, UV_READABLE, on_readable);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_loop_close(uv_default_loop());
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
