/* SPDX-License-Identifier: MIT
 *
 * The private parts of workers and tasks, for the files of this folder.
 */
#ifndef TKL_WORKER_INSIDE_H
#define TKL_WORKER_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <tackle/worker.h>

#include "core/cond.h"

typedef struct tkl__worker_lot tkl__worker_lot; /* the tasks of a claim, which share memory */

struct tkl_task {
    tkl_worker *worker;
    tkl__worker_lot *lot;
    const tkl_job *job;

    /* Fields of the worker, under its mutex. */
    tkl_task *next, *prev; /* in the chain of fetched or of running tasks */
    tkl_task *next_report; /* in the chain of reports: a task that was given up may still run */
    int users;             /* counts references: a handler, a report */
    bool given_up;         /* reported as failed while its handler still runs */
    bool repeated;         /* an earlier attempt to report it failed */
    tkl_report report;

    int64_t claimed;  /* tkl__lease_now() */
    int64_t began;    /* tkl__now() */
    int64_t deadline; /* end of its time limit; TKL__FOREVER: none */

    /* Fields of the thread that runs it. */
    bool decided; /* the handler called tkl_task_fail() or the like */
    tkl_outcome outcome;
    int64_t delay_ms;
    char *why; /* the reason of a failure */
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
    tkl_handler *handler; /* for jobs whose kind is not among the kinds; NULL: they fail */
    void *arg;
    tkl_kind_handler *kinds; /* sorted by kind; their bytes are in `kind_bytes` */
    char *kind_bytes;
    tkl_worker_options options;
    size_t capacity;  /* jobs that may run or be fetched at once */
    size_t low_water; /* fetch more when at most this many are left */
    pid_t pid;        /* threads do not survive a fork() */
    pthread_t *threads;
    size_t thread_count;
    tkl_report *sheet[2]; /* for the batches of the fetching and of the reporting thread */
    size_t sheet_size;    /* number of reports for which a sheet has room */
    atomic_bool cancelled;

    pthread_mutex_t mutex; /* guards the fields below; never held during I/O or a handler */
    tkl__cond work;        /* for the threads */
    tkl__cond news;        /* for callers that wait for the end */
    size_t resting;        /* number of threads that wait for work */
    bool woken;            /* one of them was woken and does not run yet */
    int64_t watch_until;   /* when one of them wakes up by itself; TKL__FOREVER: none does */

    tkl__worker_chain fetched, running;
    tkl__worker_chain reports; /* not sent yet; linked by next_report */
    int64_t report_since;      /* since when the first of them waits */
    size_t repeated;           /* number of reports that were sent before, without success */
    bool fetching;             /* a thread claims ... */
    bool waiting;              /* ... and waits for jobs while it does */
    bool reporting;            /* a thread reports */
    int limited;               /* running tasks with a time limit */
    int failures;              /* failed round trips in a row */
    int64_t again_at;          /* no round trip before this */
    int64_t last_end;          /* when the last handler returned, or the stop began */
    int64_t begun;             /* number of handlers called */
    bool dry;                  /* the last claim that did not wait found no jobs */
    bool called_back;          /* the thread that waits for jobs was asked to return */
    bool stopping, ended;
    tkl_worker_stats stats;
};

/* ---- task.c ---- */

/* Fills in the report once the handler has returned `rc`. */
void tkl__worker_task_conclude(tkl_task *task, int rc);
/* Whether the report moves the job to the dead letters: by its outcome, or as its last failure. */
bool tkl__worker_task_is_dead(const tkl_task *task);

/* ---- kind.c ---- */

/* Checks and copies the handlers of kinds. */
int tkl__worker_kinds_keep(tkl_worker *w, const tkl_kind_handler *kinds, size_t count);
void tkl__worker_kinds_free(tkl_worker *w);
/* Runs the handler for the job's kind; returns what the handler returns. */
int tkl__worker_handle(tkl_worker *w, tkl_task *task);

/* ---- batch.c: call all with the mutex held; they release it during I/O ---- */

/* Claims as many jobs as there is room for, and sends the pending reports along. Waits for jobs
 * only when it has no reports. */
void tkl__worker_fetch(tkl_worker *w, int64_t now);
/* Sends only the reports. */
void tkl__worker_report(tkl_worker *w, int64_t now);

/* Adds the report of a task to the list. */
void tkl__worker_report_add(tkl_worker *w, tkl_task *task, int64_t now);
/* Releases the jobs that were fetched and not begun. */
void tkl__worker_release_fetched(tkl_worker *w, int64_t now);
/* Drops the pending reports, when no server has taken them for the time of a lease. */
void tkl__worker_drop_reports(tkl_worker *w);

/* How many more jobs may be claimed. */
size_t tkl__worker_room(const tkl_worker *w);
/* Drops a reference; the last one frees the task. */
void tkl__worker_task_drop(tkl_task *task);
/* Callbacks of the consumer: damaged jobs, lost claims, and retried failures while it waits. */
void tkl__worker_on_damaged(tkl_queue *queue, const char *id, void *worker);
void tkl__worker_on_lost(const char *id, const char *token, void *worker);
void tkl__worker_on_error(int code, const char *message, void *worker);

/* ---- loop.c ---- */

/* The main function of a thread. */
void *tkl__worker_run_thread(void *worker);
/* Wakes a thread if there is a duty that no thread has. Call it with the mutex held. */
void tkl__worker_wake(tkl_worker *w, int64_t now);

void tkl__worker_chain_add(tkl__worker_chain *chain, tkl_task *task);
void tkl__worker_chain_remove(tkl__worker_chain *chain, tkl_task *task);

#endif
