/* SPDX-License-Identifier: MIT
 *
 * Event loops: any operation of the library without blocking the caller.
 *
 *     #include <poll.h>
 *
 *     static int acquire(void *arg)                   // runs in a thread of the library
 *     {
 *         return tkl_lock_acquire(arg, 30000);
 *     }
 *
 *     static void acquired(void *arg, int code, const char *text)     // runs in the dispatch
 *     {
 *         if (code == TKL_OK)
 *             begin_work(arg);
 *         else
 *             printf("no lock: %s\n", text);
 *     }
 *
 *     static int live(tkl_client *client, tkl_lock *lock)
 *     {
 *         tkl_loop *loop;
 *         TKL_TRY(tkl_loop_open(client, NULL, &loop));
 *         TKL_TRY(tkl_loop_submit(loop, acquire, acquired, lock, NULL));
 *         struct pollfd file = {tkl_loop_fd(loop), POLLIN, 0};
 *         while (poll(&file, 1, tkl_loop_timeout_ms(loop)) >= 0)
 *             TKL_TRY(tkl_loop_dispatch(loop));
 *         tkl_loop_close(loop);
 *         return TKL_OK;
 *     }
 *
 * A submitted function makes the same blocking calls as a thread would. It runs on a stack of its
 * own, in one of a few threads: whenever it waits, for a reply or for a lock, a job or a message, its
 * thread goes on with others. Ten thousand operations that wait need no more threads than one.
 *
 * A submitted function must not block in other ways, such as in sleep() or a slow computation: all
 * operations of its thread would stand still; tkl_loop_sleep() is for that. It has a small stack
 * (stack_bytes). From this header it may call submit, cancel, sleep, wake and stats only.
 *
 * Threads: any thread may submit and cancel. One thread at a time may dispatch. Handles that
 * operations use must stay open until their callbacks. Fork: a child must not use its parent's loop
 * (TKL_EINVAL), and may close it, which frees memory only. A child that a submitted function forks
 * must end with _exit() or exec, not return from the function. Callbacks: `done` runs in
 * tkl_loop_dispatch() and tkl_loop_close(), and may call everything but these two.
 * Keys: it has none of its own.
 */
#ifndef TACKLE_LOOP_H
#define TACKLE_LOOP_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_loop tkl_loop;

/* All zero means the defaults. */
typedef struct tkl_loop_options {
    int64_t timeout_ms;  /* an operation that has not begun after this time, because others are busy
                            with servers that do not answer, ends with TKL_ENOTSENT; 0: the
                            client's; TKL_NONE: no limit */
    int threads;         /* 1 to 64; 0: 2 */
    int64_t stack_bytes; /* stack of an operation, 64 KB to 64 MB; memory is used for what an
                            operation touches; 0: 256 KB */
    TKL_RESERVED(8);
} tkl_loop_options;

/* Starts the threads; no I/O with servers. The client must stay open until the loop is closed. */
TKL_API int tkl_loop_open(tkl_client *client, const tkl_loop_options *options, tkl_loop **loop)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* Cancels all operations that are open, waits until they have ended, and runs their callbacks. Their
 * waits end at once; a call to a server that does not answer ends at its time-out. NULL is fine. */
TKL_API void tkl_loop_close(tkl_loop *loop);

/* ---- In the program's event loop ----------------------------------------- */

/* A descriptor to poll for reading: when it is readable, call tkl_loop_dispatch(). It stays the same,
 * and belongs to the loop. */
TKL_API int tkl_loop_fd(const tkl_loop *loop) TKL_NONNULL(1) TKL_CHECK;

/* How long to poll at most, in milliseconds: 0 when operations have ended already, -1 for ever. */
TKL_API int tkl_loop_timeout_ms(tkl_loop *loop) TKL_NONNULL(1) TKL_CHECK;

/* Runs the callbacks of all operations that have ended by now, in the order in which they ended.
 * Never blocks. TKL_EINVAL: a callback or a forked child calls it. */
TKL_API int tkl_loop_dispatch(tkl_loop *loop) TKL_NONNULL(1) TKL_CHECK;

/* ---- Operations ---------------------------------------------------------- */

/* `run` is the operation; `done` gets its result. */
typedef int tkl_loop_run(void *arg);
typedef void tkl_loop_done(void *arg, int code, const char *text);

/* Submits an operation. `run` makes any calls of the library; its result and the text that
 * tkl_errmsg() has in it then are given to `done`, exactly once; the text is "" for TKL_OK, and valid
 * until `done` returns. In `done`, tkl_errmsg() says the same. `done` may be NULL. *id names the
 * operation for tkl_loop_cancel(); `id` may be NULL. On failure neither is called. */
TKL_API int tkl_loop_submit(tkl_loop *loop, tkl_loop_run *run, tkl_loop_done *done, void *arg,
                            uint64_t *id) TKL_NONNULL(1, 2) TKL_CHECK;

/* Cancels an operation: what has not begun does not begin, and every wait of it ends, as by
 * tkl_interrupt(), with TKL_EINTR. Calls that are not part of a wait go on. Its callback is called
 * all the same and says what happened: after TKL_EINTR the operation has nothing: a lock or job
 * that it got at the last moment has been given back. An operation that was done before it was
 * cancelled has its result. TKL_NOTFOUND: it has ended; its callback has run, or will in the next
 * dispatch. */
TKL_API int tkl_loop_cancel(tkl_loop *loop, uint64_t id) TKL_NONNULL(1);

/* For other languages: the function of the library with this name, as one to submit. Its `arg` is
 * an array of pointers to the arguments of the function, in their order; arrays, objects and
 * outputs are arguments of pointer type, as in C. The array and the arguments must stay until
 * `done`. Every public function that returns int or nothing (TKL_OK then) has one, except those of
 * this header and those with "...". NULL: there is none.
 *
 *     int64_t wait_ms = 5000;
 *     void *arguments[] = {&lock, &wait_ms};        // tkl_lock_acquire(lock, wait_ms)
 *     rc = tkl_loop_submit(loop, tkl_loop_operation("tkl_lock_acquire"), done, arguments, &id);
 */
TKL_API tkl_loop_run *tkl_loop_operation(const char *name) TKL_NONNULL(1) TKL_CHECK;

/* Inside an operation: sleeps for up to `ms`, while its thread goes on with others. May return
 * before, and does after tkl_loop_wake(): look again at what you wait for. TKL_EINTR: the operation
 * is cancelled. TKL_EINVAL: no operation calls. */
TKL_API int tkl_loop_sleep(int64_t ms) TKL_CHECK;

/* Ends the sleep of an operation that has begun, or else its next one. Any thread may call this.
 * TKL_NOTFOUND: the operation has ended. */
TKL_API int tkl_loop_wake(tkl_loop *loop, uint64_t id) TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_loop_stats {
    int64_t queued;  /* operations that have not begun */
    int64_t running; /* operations that run, or wait for a reply */
    int64_t waiting; /* operations that wait for news: a lock, a job, their time */
    int64_t ended;   /* operations whose callbacks have not been called yet */
    int64_t total;   /* submitted since the loop was opened */
    TKL_RESERVED(4);
} tkl_loop_stats;

TKL_API int tkl_loop_stats_get(tkl_loop *loop, tkl_loop_stats *stats) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
