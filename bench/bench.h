/* SPDX-License-Identifier: MIT
 *
 * Benchmarks: each component has a file with a table of cases, each case several contenders
 * that do the same work. All contenders of a run use one private server; the rounds of a case are
 * interleaved (A B C, B C A, ...), so that other load on the machine hits all contenders alike.
 *
 * A rate is measured by workers, threads or processes, that repeat a step until the time of
 * the round is over. A figure (milliseconds, kilobytes) is measured by one function. A peer
 * in another language is a command that measures itself.
 */
#ifndef TACKLE_BENCH_H
#define TACKLE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

/* One contender's turn in one round. */
typedef struct bench_run {
    const char *socket; /* path of the private server's Unix socket */
    const char *url;    /* the same as unix://... */
    double seconds;     /* how long the workers repeat their steps */
    bool quick, lengthy;
    void *shared; /* made by setup, for all workers */
} bench_run;

typedef struct bench_worker {
    const bench_run *run;
    int index; /* from 0 */
    void *own; /* made by open */
    uint64_t steps;
    int64_t cpu_ns;    /* processor time of its thread in its steps */
    histogram latency; /* latency of steps */
} bench_worker;

typedef enum bench_role {
    BENCH_OURS,
    BENCH_LIMIT,     /* the simplest way to work; the best of several is the limit of a round */
    BENCH_PEER,      /* runs with --peers only */
    BENCH_YARDSTICK, /* how near bare hiredis comes to a target; it has none itself */
} bench_role;

typedef struct bench_contender {
    const char *name;
    bench_role role;

    /* A rate. All functions but step may be NULL; all call bench_die() when something fails. */
    int workers;     /* 0: one */
    bool processes;  /* workers are processes, not threads */
    int batch;       /* operations in one step; 0: one */
    int steps;       /* steps of each worker, however long they take; 0: until the time is over */
    int pool;        /* connections of the shared client; 0: its default */
    bool timed;      /* steps add to worker->latency themselves: not all of a step counts */
    double at_least; /* target in place of the case's; 0: the case's */
    double outdone;  /* target for a peer: tackle does this many times its work; 0: none */
    void (*setup)(bench_run *run, const struct bench_contender *self);
    void (*open)(bench_worker *worker);
    void (*step)(bench_worker *worker);
    void (*close)(bench_worker *worker);
    void (*teardown)(bench_run *run);

    /* Or a figure. */
    double (*measure)(const bench_run *run);

    /* Or a shell command. It finds BENCH_SOCKET, BENCH_SECONDS and BENCH_WORKERS in its
     * environment and prints one JSON object in a line for each worker: ops, seconds (of the
     * work alone), and if it can p50_us, p99_us and max_us. */
    const char *command;
} bench_contender;

#define BENCH_CONTENDERS 8

typedef struct bench_case {
    const char *name;
    const char *unit;     /* "ops/s", or that of the figure */
    double at_least;      /* target: ratio to the limit; 0: none */
    double enough;        /* a value in the unit that is enough at any ratio; 0: none */
    double at_most;       /* target of a figure */
    bool has_at_most;     /* 0 is a target, too */
    double over_peers;    /* target: ratio to the best peer; 0: none */
    double p50_by_limit;  /* target: p50 by that of the limit, at most; 0: none */
    double server_us;     /* target: microseconds in commands for one operation, at most; 0: none */
    double fair_at_least; /* target: fairness; 0: none */
    double growth_at_most; /* target: ratio to the commands of tackle's first contender; 0: none */
    double rise_at_most;   /* target: ratio to the figure of tackle's first contender; 0: none */
    void (*prepare)(const bench_run *run);        /* data on the empty server; may be NULL */
    bench_contender contenders[BENCH_CONTENDERS]; /* ended by one without a name */
} bench_case;

typedef struct bench_component {
    const char *name;
    const bench_case *cases; /* ended by one without a name */
} bench_component;

/* The outcome of a turn. */
typedef struct bench_sample {
    double value;                  /* in the unit of the case */
    double p50_us, p99_us, max_us; /* latency of a step; 0: not measured */
    double fairness;               /* operations of the slowest worker by those of the quickest */
    double client_cpu_us; /* processor time for one operation: of the workers; 0: not measured */
    double server_cpu_us; /* the same of the server */
    double command_us;    /* the server's time in executing commands */
    double commands;      /* commands the server executed for one operation */
    double connections;   /* connections of all workers together */
    int workers;
    uint64_t *counts; /* operations of each worker */
} bench_sample;

/* Every component, in the order of the runs. */
#define BENCH_COMPONENTS(X) \
    X(core_bench)           \
    X(bloom_bench)          \
    X(lock_bench)           \
    X(leader_bench)         \
    X(pipeline_bench)       \
    X(loop_bench)           \
    X(limit_bench)          \
    X(queue_bench)          \
    X(mail_bench)           \
    X(channel_bench)        \
    X(files_bench)          \
    X(counter_bench)        \
    X(log_bench)            \
    X(stats_bench)          \
    X(online_bench)         \
    X(session_bench)        \
    X(ip_bench)             \
    X(config_bench)         \
    X(board_bench)          \
    X(cache_bench)          \
    X(book_bench)           \
    X(service_bench)        \
    X(suggest_bench)        \
    X(ads_bench)            \
    X(revenue_bench)        \
    X(costs_bench)          \
    X(search_bench)

#define BENCH_DECLARE(component) extern const bench_component component;
BENCH_COMPONENTS(BENCH_DECLARE)

_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t bench_now_ns(void);

#endif
