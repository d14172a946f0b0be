/* SPDX-License-Identifier: MIT
 *
 * Workers as tests use them.
 */
#ifndef TACKLE_TESTS_SCENE_H
#define TACKLE_TESTS_SCENE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <tackle/worker.h>

#include "support/jobs.h"

/* How long tests wait for something that must happen, also on a busy machine. */
#define LONG_MS 30000

tkl_worker_stats worker_stats(tkl_worker *worker);

/* Pushes `count` jobs with the payloads "0", "1" ... */
void push_numbers(tkl_queue *queue, int count);

/* A worker with the handler below. */
typedef struct scene {
    atomic_int begun, ended; /* how many handlers have begun and ended */
    atomic_int inside, most; /* how many handlers run now, and ran at most */
    atomic_int cancelled;    /* handlers that were told to stop */
    atomic_bool gate;        /* handlers wait until it is open, or until they are cancelled */
    atomic_bool stubborn;    /* handlers ignore that they are cancelled */
    atomic_int code;         /* the code that handlers return */
    atomic_int sleep_ms;     /* how long they take */

    pthread_mutex_t mutex;
    char seen[65536]; /* the payloads in the order in which they began, each with a space */
    char error[256];  /* the error of the last job */
    int attempt;      /* attempt of the last job */
} scene;

void scene_init(scene *s);
int act(tkl_task *task, void *scene);
tkl_worker *start_worker(tkl_queue *queue, const tkl_worker_options *options, scene *s);

/* Starts this program once more, with a wall clock that is off by `clock_ms`; the arguments end
 * with NULL. The process dies with the test. */
pid_t start_self(int64_t clock_ms, const char *const *args);
/* Kills such a process (kill -9). */
void kill_self(pid_t pid);

#endif
