/* SPDX-License-Identifier: MIT
 *
 * A model of a queue without a server: jobs, their states and their order. The test does the same
 * to the queue and to the model, and compares.
 *
 * Time does not pass by itself: delayed jobs become due, and leases end, when the test says so.
 */
#ifndef TACKLE_TESTS_QUEUE_MODEL_H
#define TACKLE_TESTS_QUEUE_MODEL_H

#include <tackle/queue.h>

enum {
    MODEL_BATCH = 6, /* jobs of a push */
    MODEL_KEYS = 6,  /* unique keys */
    MODEL_GROUPS = 4,
    MODEL_MOST = 90000, /* jobs in all */
};

typedef enum model_state {
    MODEL_READY,
    MODEL_DELAYED,
    MODEL_FLOW,
    MODEL_PARKED,
    MODEL_ACTIVE,
    MODEL_DEAD,
    MODEL_GONE
} model_state;

typedef struct model_job {
    char id[TKL_JOB_ID_SIZE];
    char token[TKL_TOKEN_SIZE]; /* token of its last claim */
    model_state state;
    int priority, retries, failures;
    int64_t bytes, result_ms;
    int region;     /* how a ready job became ready: 0 came back, 1 was delayed, 2 pushed */
    int64_t due;    /* moment of a due job; their order */
    bool later;     /* a flow's parent has a delay, too */
    int key;        /* unique; -1: none */
    int group;      /* -1: none */
    bool counts;    /* has a place in its group */
    bool expired;   /* its lease has ended, and no claim has noticed */
    int64_t expiry; /* order of the ends of leases */
    int64_t death;  /* order of the dead; INT64_MAX: just now */
    tkl_unique_mode mode;
    int pending; /* children */
    int parents[MODEL_BATCH * 4];
    int nparents;
} model_job;

extern struct model {
    model_job *jobs;
    int count;
    int live[MODEL_MOST], nlive; /* those that are not gone, by push */
    int holder[MODEL_KEYS];      /* job that has the unique key; -1: none */
    bool timed[MODEL_KEYS];      /* it is held for a time */
    int inside[MODEL_GROUPS];
    int64_t pushed, done, failed, bytes, trimmed;
    bool paused;
    tkl_queue_limits limits;
    int64_t clock; /* source of times that the test sets */
    int64_t born;  /* an hour ago, by the server's clock: no dead letter is too old */
} model;

int model_count(model_state s);
void model_make_ready(model_job *j, int region);
/* Removes a job that was done, cancelled or removed. */
void model_forget(model_job *j);
/* Removes the oldest dead letters beyond the limit, at most `most`: two at each burial, all when
 * the limit is set. */
void model_trim(int most);
/* Whether the next claim makes a delayed job ready. Views show it as ready already. */
bool model_is_due(const model_job *j);
/* Whether the next claim makes a job ready whose lease has ended before its last attempt. */
bool model_is_back(const model_job *j);
/* Pushes the job with this index of a push; `told`: jobs by index, -1 for no room. Returns how it
 * ended. */
int model_push(const tkl_push *push, model_job *j, int index, int *told, bool flow);
/* Does the first steps of every claim: due jobs and ended leases. */
void model_look(void);
/* Takes the first `max` ready jobs. Parks jobs of groups that must wait. */
int model_take(int max, int *taken);
void model_finish(model_job *j, tkl_outcome outcome, bool delayed);
void model_retry(model_job *j);

#endif
