/* SPDX-License-Identifier: MIT
 *
 * What a worker and its tasks know of each other.
 */
#ifndef TKL_WORKER_INSIDE_H
#define TKL_WORKER_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <tackle/worker.h>

typedef struct tkl__worker_lot tkl__worker_lot; /* the tasks of one claim, which share its memory */

struct tkl_task {
    tkl_worker *worker;
    tkl__worker_lot *lot;
    const tkl_job *job;

    /* Of the worker, under its mutex. */
    tkl_task *next, *prev; /* of those fetched, or those that run */
    tkl_task *next_report; /* of those to report: one that was given up may still run */
    int users;             /* a handler, a report */
    bool given_up;         /* reported as failed while it still runs */
    bool repeated;         /* its report failed before */
    tkl_report report;

    int64_t claimed;  /* tkl__lease_now() */
    int64_t began;    /* tkl__now() */
    int64_t deadline; /* of its time limit; TKL__FOREVER: none */

    /* Of the thread that runs it. */
    bool decided; /* by tkl_task_fail() and the like */
    tkl_outcome outcome;
    int64_t delay_ms;
    char *why; /* of a failure */
    char *result;
    size_t result_len;

    atomic_bool cancelled;
};

/* A chain of tasks, first in, first out. */
typedef struct tkl__worker_chain {
    tkl_task *first, *last;
    size_t count;
} tkl__worker_chain;

struct tkl_worker {
    tkl_consumer *consumer;
    tkl_handler *handler;
    void *arg;
    tkl_worker_options options;
    size_t capacity;  /* jobs that may run or be fetched at once */
    size_t low_water; /* fetch more when no more than so many are left */
    pid_t pid;        /* threads do not survive a fork() */
    pthread_t *threads;
    size_t thread_count;
    tkl_report *sheet[2]; /* for the trips of the one who fetches, and of the one who reports */
    size_t sheet_size;    /* reports that have place on each */
    atomic_bool cancelled;

    pthread_mutex_t mutex; /* guards what follows; never held during I/O or a handler */
    pthread_cond_t work;   /* for the threads */
    pthread_cond_t news;   /* for those who wait for the end */
    size_t resting;        /* threads that wait for work */
    bool called;           /* one of them was woken, and is not up yet */
    int64_t watch_until;   /* when one of them gets up by itself; TKL__FOREVER: none does */

    tkl__worker_chain fetched, running;
    tkl__worker_chain reports; /* to be sent, by next_report */
    int64_t report_since;      /* since when the first of them waits */
    size_t repeated;           /* how many of them failed before */
    bool fetching;             /* a thread claims ... */
    bool waiting;              /* ... and waits for jobs while it does */
    bool reporting;            /* a thread reports */
    int limited;               /* running tasks with a time limit */
    int failures;              /* trips that failed, one after the other */
    int64_t again_at;          /* no trip before this */
    int64_t last_end;          /* when the last handler returned, or the stop began */
    int64_t begun;             /* handlers called */
    bool dry;                  /* the last claim that did not wait found nothing */
    bool called_back;          /* the thread that waits for jobs was told to return */
    bool stopping, ended;
    tkl_worker_stats stats;
};

/* ---- task.c: once the handler has returned `rc`, fills in the report. */
void tkl__worker_task_conclude(tkl_task *task, int rc);
/* Whether its report sends the job to the dead letters: by its outcome, or as its last failure. */
bool tkl__worker_task_is_dead(const tkl_task *task);

/* ---- trip.c: all with the mutex held, which they let go of while they are on their way. ---- */

/* Claims as many as there is room for, together with the reports there are. Waits for jobs when
 * there are none. */
void tkl__worker_fetch(tkl_worker *w, int64_t now);
/* Sends the reports alone. */
void tkl__worker_report(tkl_worker *w, int64_t now);

/* Puts a report on the list. */
void tkl__worker_report_add(tkl_worker *w, tkl_task *task, int64_t now);
/* Hands back what was not begun. */
void tkl__worker_report_fetched(tkl_worker *w, int64_t now);
/* Drops the reports there are: no server took them for the time of a lease. */
void tkl__worker_report_none(tkl_worker *w);

/* How many more jobs may be claimed. */
size_t tkl__worker_room(const tkl_worker *w);
/* One user less: the last frees it. */
void tkl__worker_task_leave(tkl_task *task);
/* What the consumer says of lost claims, and of a server that is away while it waits. */
void tkl__worker_lost(const char *id, const char *token, void *worker);
void tkl__worker_sat_out(int code, const char *message, void *worker);

/* ---- loop.c ---- */

/* The life of a thread. */
void *tkl__worker_live(void *worker);
/* Wakes a thread if there is something to do that nobody does. With the mutex held. */
void tkl__worker_tell(tkl_worker *w, int64_t now);

void tkl__worker_chain_add(tkl__worker_chain *chain, tkl_task *task);
void tkl__worker_chain_remove(tkl__worker_chain *chain, tkl_task *task);

#endif
