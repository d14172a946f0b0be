/* SPDX-License-Identifier: MIT
 *
 * Operations of a program's event loop.
 *
 * Each operation is a fiber (core/fiber.h) that calls the submitted function. So operations need no
 * code of their own in any component: the blocking calls park where a thread would sleep, and to
 * them a cancelled operation looks like an interrupted client.
 *
 *     submitted -> queued -> begun -> ended -> dispatched
 *                    |                  ^
 *                    +-- cancelled, ----+
 *                        too late
 *
 * Ended operations are in a list, and the loop's eventfd is readable while the list is not empty.
 * Dispatching takes the list and calls back. An operation has an id until then, so that another
 * thread can cancel it at any time without knowing whether it still exists: an id is a place in a
 * table and the number of operations that have used the place.
 *
 * Locking: `mutex` guards the table and the list. It is held for bookkeeping only, never during a
 * callback, and comes before the mutex of the fibers.
 */
#include <tackle/loop.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/fiber.h"
#include "core/options.h"

#define DEFAULT_THREADS 2
#define THREADS_MAX     64
#define DEFAULT_STACK   (INT64_C(256) << 10)
#define STACK_MIN       (INT64_C(64) << 10)
#define STACK_MAX       (INT64_C(64) << 20)
#define NO_PLACE        UINT32_MAX

typedef struct operation {
    tkl__fiber fiber; /* first: the fiber's functions get the operation */
    tkl_loop *loop;
    tkl_loop_run *run;
    tkl_loop_done *done; /* NULL: none */
    void *arg;
    uint32_t place;         /* in the table */
    _Atomic bool begun;     /* it has a fiber that can be woken */
    bool ended;             /* in the list of the loop */
    int code;               /* the result, once it has ended */
    char *text;             /* its reason; NULL: see text_of() */
    struct operation *next; /* in the list */
} operation;

typedef struct place {
    operation *operation; /* NULL: free */
    uint32_t uses;        /* number of operations that have used it, this one included */
    uint32_t next_free;
} place;

struct tkl_loop {
    tkl_client *client;
    unsigned process; /* fork generation that opened it */
    int64_t timeout_ms;
    tkl__fibers *fibers;
    int file; /* eventfd: readable while there are ended operations */

    pthread_mutex_t mutex; /* guards what follows */
    place *places;
    uint32_t place_count, first_free; /* NO_PLACE: none is free */
    operation *ended, *ended_last;
    int64_t ended_count, total;
    bool dispatching, closing;
};

static int check_process(const tkl_loop *loop)
{
    return loop->process == tkl__fork_generation()
               ? TKL_OK
               : tkl__fail(TKL_EINVAL, "a forked child cannot use its parent's loop");
}

/* ---- The table of operations: with the mutex ----------------------------- */

static bool table_grow(tkl_loop *loop)
{
    uint32_t count = loop->place_count > 0 ? 2 * loop->place_count : 64;
    place *places = count < NO_PLACE / 2 ? realloc(loop->places, count * sizeof *places) : NULL;
    if (!places)
        return false;
    for (uint32_t i = loop->place_count; i < count; i++)
        places[i] = (place){.next_free = i + 1 < count ? i + 1 : NO_PLACE};
    loop->first_free = loop->place_count;
    loop->places = places;
    loop->place_count = count;
    return true;
}

static bool table_add(tkl_loop *loop, operation *op)
{
    if (loop->first_free == NO_PLACE && !table_grow(loop))
        return false;
    op->place = loop->first_free;
    place *p = &loop->places[op->place];
    loop->first_free = p->next_free;
    p->operation = op;
    p->uses++;
    return true;
}

static void table_remove(tkl_loop *loop, const operation *op)
{
    place *p = &loop->places[op->place];
    p->operation = NULL;
    p->next_free = loop->first_free;
    loop->first_free = op->place;
}

static uint64_t id_of(const tkl_loop *loop, const operation *op)
{
    return (uint64_t)loop->places[op->place].uses << 32 | op->place;
}

/* Finds an operation by its id. NULL: it does not exist any more. */
static operation *find_operation(const tkl_loop *loop, uint64_t id)
{
    uint32_t at = (uint32_t)id;
    if (at >= loop->place_count || loop->places[at].uses != id >> 32)
        return NULL;
    return loop->places[at].operation;
}

/* ---- Results ------------------------------------------------------------- */

/* The text of the result. It is that of the code if there was no memory for a copy. */
static const char *text_of(const operation *op)
{
    if (op->code == TKL_OK)
        return "";
    return op->text ? op->text : tkl_strerror(op->code);
}

static void set_result(operation *op, int code, const char *text)
{
    op->code = code;
    op->text = code == TKL_OK ? NULL : strdup(text);
}

/* With the mutex: adds an operation to the list of ended ones. It has its result, and nothing uses
 * its fiber any more. */
static void list_ended(operation *op)
{
    tkl_loop *loop = op->loop;
    op->ended = true;
    if (!loop->ended)
        eventfd_write(loop->file, 1);
    *(loop->ended ? &loop->ended_last->next : &loop->ended) = op;
    loop->ended_last = op;
    loop->ended_count++;
}

static void free_operation(operation *op)
{
    free(op->text);
    free(op);
}

/* Takes the list of the operations that have ended. */
static operation *take_ended(tkl_loop *loop)
{
    eventfd_t rung;
    operation *first = loop->ended;
    if (first)
        eventfd_read(loop->file, &rung);
    loop->ended = NULL;
    loop->ended_count = 0;
    return first;
}

/* Calls `done`, in which tkl_errmsg() returns the operation's text. */
static void call_back(operation *op)
{
    if (op->code == TKL_OK)
        tkl__begin();
    else
        tkl__fail(op->code, "%s", text_of(op));
    if (op->done)
        op->done(op->arg, op->code, text_of(op));
}

static void dispatch_list(tkl_loop *loop, operation *op)
{
    for (operation *next; op; op = next) {
        next = op->next;
        pthread_mutex_lock(&loop->mutex);
        table_remove(loop, op);
        pthread_mutex_unlock(&loop->mutex);
        call_back(op);
        free_operation(op);
    }
}

int tkl_loop_dispatch(tkl_loop *loop)
{
    int rc = check_process(loop);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&loop->mutex);
    bool dispatching = loop->dispatching;
    loop->dispatching = true;
    operation *list = dispatching ? NULL : take_ended(loop);
    pthread_mutex_unlock(&loop->mutex);
    if (dispatching)
        return tkl__fail(TKL_EINVAL, "the loop is being dispatched already");
    dispatch_list(loop, list);
    pthread_mutex_lock(&loop->mutex);
    loop->dispatching = false;
    pthread_mutex_unlock(&loop->mutex);
    return TKL_OK;
}

int tkl_loop_fd(const tkl_loop *loop)
{
    return loop->file;
}

int tkl_loop_timeout_ms(tkl_loop *loop)
{
    if (loop->process != tkl__fork_generation())
        return -1;
    pthread_mutex_lock(&loop->mutex);
    int timeout = loop->ended ? 0 : -1;
    pthread_mutex_unlock(&loop->mutex);
    return timeout;
}

/* ---- Running ------------------------------------------------------------- */

/* Runs on the fiber. */
static void run_operation(tkl__fiber *fiber)
{
    operation *op = (operation *)fiber;
    atomic_store(&op->begun, true);
    tkl__begin();
    int code = op->run(op->arg);
    set_result(op, code, tkl_errmsg());
}

static void on_ended(tkl__fiber *fiber)
{
    operation *op = (operation *)fiber;
    tkl_loop *loop = op->loop; /* once the mutex is unlocked, another thread may free `op` */
    pthread_mutex_lock(&loop->mutex);
    list_ended(op);
    pthread_mutex_unlock(&loop->mutex);
}

static void on_refused(tkl__fiber *fiber, int code)
{
    operation *op = (operation *)fiber;
    set_result(op, code,
               code == TKL_ENOMEM ? tkl_strerror(code)
                                  : "the operation did not begin in time: all threads are busy");
    on_ended(fiber);
}

/* Adds the operation to the table. */
static int admit_operation(tkl_loop *loop, operation *op, uint64_t *id)
{
    int rc = TKL_OK;
    pthread_mutex_lock(&loop->mutex);
    if (loop->closing)
        rc = tkl__fail(TKL_EINTR, "the loop is being closed");
    else if (!table_add(loop, op))
        rc = tkl__nomem();
    if (rc == TKL_OK) {
        loop->total++;
        if (id)
            *id = id_of(loop, op);
        int64_t ms = loop->timeout_ms;
        tkl__fibers_add(loop->fibers, &op->fiber,
                        ms == TKL_NONE ? TKL__FOREVER : tkl__deadline(loop->client, ms));
    }
    pthread_mutex_unlock(&loop->mutex);
    return rc;
}

int tkl_loop_submit(tkl_loop *loop, tkl_loop_run *run, tkl_loop_done *done, void *arg, uint64_t *id)
{
    if (id)
        *id = 0;
    int rc = check_process(loop);
    if (rc != TKL_OK)
        return rc;
    operation *op = calloc(1, sizeof *op);
    if (!op)
        return tkl__nomem();
    *op = (operation){
        .fiber = {.body = run_operation, .ended = on_ended, .refused = on_refused},
        .loop = loop,
        .run = run,
        .done = done,
        .arg = arg,
    };
    rc = admit_operation(loop, op, id);
    if (rc != TKL_OK)
        free(op);
    return rc;
}

/* ---- Cancelling ---------------------------------------------------------- */

/* With the mutex, so the operation cannot be freed meanwhile. */
static void cancel_operation(tkl_loop *loop, operation *op)
{
    if (tkl__fibers_withdraw(loop->fibers, &op->fiber)) {
        set_result(op, TKL_EINTR, tkl_strerror(TKL_EINTR));
        list_ended(op);
    } else {
        tkl__fiber_cancel(&op->fiber);
    }
}

int tkl_loop_cancel(tkl_loop *loop, uint64_t id)
{
    int rc = check_process(loop);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&loop->mutex);
    operation *op = find_operation(loop, id);
    bool open = op && !op->ended;
    if (open)
        cancel_operation(loop, op);
    pthread_mutex_unlock(&loop->mutex);
    return open ? TKL_OK : tkl__no(TKL_NOTFOUND);
}

/* ---- Sleeping ------------------------------------------------------------ */

int tkl_loop_sleep(int64_t ms)
{
    int rc = tkl__check_number("ms", ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK && !tkl__fiber_self())
        rc = tkl__fail(TKL_EINVAL, "only an operation of a loop can sleep like this");
    if (rc != TKL_OK)
        return rc;
    if (tkl__fiber_cancelled_at() == 0) {
        tkl__rest_begin();
        tkl__fiber_park(tkl__now() + ms * 1000);
        tkl__rest_end();
    }
    return tkl__fiber_cancelled_at() == 0 ? TKL_OK : tkl__interrupted();
}

int tkl_loop_wake(tkl_loop *loop, uint64_t id)
{
    int rc = check_process(loop);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&loop->mutex);
    operation *op = find_operation(loop, id);
    bool open = op && !op->ended;
    if (open && atomic_load(&op->begun))
        tkl__fiber_wake(&op->fiber);
    pthread_mutex_unlock(&loop->mutex);
    return open ? TKL_OK : tkl__no(TKL_NOTFOUND);
}

/* ---- Closing ------------------------------------------------------------- */

/* From now on nothing is admitted. */
static void cancel_all(tkl_loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    loop->closing = true;
    for (uint32_t i = 0; i < loop->place_count; i++) {
        operation *op = loop->places[i].operation;
        if (op && !op->ended)
            cancel_operation(loop, op);
    }
    pthread_mutex_unlock(&loop->mutex);
}

/* ---- Opening and closing ------------------------------------------------- */

static int check_options(const tkl_loop_options *o)
{
    int rc = TKL__CHECK_RESERVED(o);
    if (rc == TKL_OK && o->timeout_ms != TKL_NONE)
        rc = tkl__check_number("timeout_ms", o->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("threads", o->threads, 0, THREADS_MAX);
    if (rc == TKL_OK && o->stack_bytes != 0)
        rc = tkl__check_number("stack_bytes", o->stack_bytes, STACK_MIN, STACK_MAX);
    return rc;
}

static void free_loop(tkl_loop *loop)
{
    if (loop->file >= 0)
        close(loop->file);
    free(loop->places);
    free(loop);
}

int tkl_loop_open(tkl_client *client, const tkl_loop_options *options, tkl_loop **loop)
{
    static const tkl_loop_options defaults;
    const tkl_loop_options *o = options ? options : &defaults;
    *loop = NULL;
    tkl__begin();
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_loop *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    *made = (tkl_loop){.client = client,
                       .process = tkl__fork_generation(),
                       .timeout_ms = o->timeout_ms,
                       .file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                       .first_free = NO_PLACE};
    pthread_mutex_init(&made->mutex, NULL);
    tkl__fibers_options fibers = {.threads = o->threads > 0 ? o->threads : DEFAULT_THREADS,
                                  .stack_bytes =
                                      (size_t)(o->stack_bytes > 0 ? o->stack_bytes : DEFAULT_STACK),
                                  .busy_max = client->target.pool_size};
    rc = made->file < 0 ? tkl__fail_errno(TKL_EIO, "eventfd")
                        : tkl__fibers_open(&fibers, &made->fibers);
    if (rc != TKL_OK) {
        free_loop(made);
        return rc;
    }
    *loop = made;
    return TKL_OK;
}

/* In a forked child the operations belong to the parent: no callback is called. */
static void forget_loop(tkl_loop *loop)
{
    for (uint32_t i = 0; i < loop->place_count; i++)
        if (loop->places[i].operation)
            free_operation(loop->places[i].operation);
    tkl__fibers_forget(loop->fibers);
    free_loop(loop);
}

void tkl_loop_close(tkl_loop *loop)
{
    if (!loop)
        return;
    if (loop->process != tkl__fork_generation()) {
        forget_loop(loop);
        return;
    }
    cancel_all(loop);
    tkl__fibers_close(loop->fibers); /* returns when all operations have ended */
    dispatch_list(loop, take_ended(loop));
    pthread_mutex_destroy(&loop->mutex);
    free_loop(loop);
}

int tkl_loop_stats_get(tkl_loop *loop, tkl_loop_stats *stats)
{
    *stats = (tkl_loop_stats){0};
    int rc = check_process(loop);
    if (rc != TKL_OK)
        return rc;
    tkl__fibers_counts counts;
    pthread_mutex_lock(&loop->mutex);
    tkl__fibers_count(loop->fibers, &counts);
    stats->ended = loop->ended_count;
    stats->total = loop->total;
    pthread_mutex_unlock(&loop->mutex);
    stats->queued = (int64_t)counts.queued;
    stats->waiting = (int64_t)counts.resting;
    stats->running = (int64_t)(counts.begun - counts.resting);
    return TKL_OK;
}
