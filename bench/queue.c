/* SPDX-License-Identifier: MIT
 *
 * Queues: jobs of 50 bytes that do nothing, against the simplest way that could work: lists. RPUSH
 * stores jobs and knows nothing of them; LMOVE to a second list and LREM from there is the simplest
 * way to work that loses none. Lists have no priorities, no delays, no leases, no retries.
 *
 * The peers push in bulk and work with the settings that their documents recommend; see
 * peers/queues.js.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bare.h"
#include "ours.h"

#define NAME       tkl_str("bench")
#define PAYLOAD    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMN"
#define PUSH_BATCH 1000
#define WORK_BATCH 32
#define FEW        20000
#define MANY       200000
#define WAKES      300
#define DELAY_MS   20
#define HOUR_MS    3600000
#define SETTLE_US  200000 /* a worker becomes idle within this time */

/* ---- Lists --------------------------------------------------------------- */

/* Sends a command `count` times in one write. */
static void bare_many(redisContext *c, int argc, const char *const *argv, int count)
{
    redisReply *reply;
    for (int i = 0; i < count; i++)
        redisAppendCommandArgv(c, argc, (const char **)(uintptr_t)argv, NULL);
    for (int i = 0; i < count; i++) {
        if (redisGetReply(c, (void **)&reply) != REDIS_OK)
            bench_die("hiredis: %s failed", argv[0]);
        freeReplyObject(reply);
    }
}

static void list_push(bench_worker *w)
{
    bare_many(w->own, 3, (const char *[]){"RPUSH", "bench", PAYLOAD}, PUSH_BATCH);
}

static void list_fill(bench_worker *w)
{
    bare_open(w);
    for (int i = 0; i < FEW / PUSH_BATCH; i++)
        list_push(w);
}

static void list_work(bench_worker *w)
{
    bare_many(w->own, 5, (const char *[]){"LMOVE", "bench", "active", "LEFT", "RIGHT"}, WORK_BATCH);
    bare_many(w->own, 4, (const char *[]){"LREM", "active", "1", PAYLOAD}, WORK_BATCH);
}

/* ---- Ours ---------------------------------------------------------------- */

typedef struct site {
    tkl_client *client;
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_worker *worker;
    tkl_jobs *jobs; /* claimed and not reported */
    tkl_report reports[WORK_BATCH];
    int64_t started; /* ns: when the last job was begun */
    sem_t begun;
} site;

static site *site_new(bench_worker *w)
{
    site *s = calloc(1, sizeof *s);
    if (!s)
        bench_die("out of memory");
    s->client = ours_client(w->run, &(bench_contender){.name = NULL});
    check(tkl_queue_open(s->client, NAME, NULL, &s->queue));
    sem_init(&s->begun, 0, 0);
    w->own = s;
    return s;
}

static void site_open(bench_worker *w)
{
    site_new(w);
}

static void site_close(bench_worker *w)
{
    site *s = w->own;
    tkl_worker_close(s->worker);
    tkl_jobs_free(s->jobs);
    tkl_consumer_close(s->consumer);
    tkl_queue_close(s->queue);
    tkl_close(s->client);
    sem_destroy(&s->begun);
    free(s);
}

static void push_batch(tkl_queue *queue)
{
    static tkl_push jobs[PUSH_BATCH];
    for (int i = 0; i < PUSH_BATCH; i++)
        jobs[i].payload = tkl_str(PAYLOAD);
    check(tkl_queue_push(queue, jobs, PUSH_BATCH, NULL, NULL));
}

static void push_step(bench_worker *w)
{
    push_batch(((site *)w->own)->queue);
}

static void fill_queue(bench_worker *w, int jobs)
{
    site *s = site_new(w);
    for (int i = 0; i < jobs / PUSH_BATCH; i++)
        push_batch(s->queue);
    check(tkl_consumer_open(&s->queue, 1, NULL, &s->consumer));
}

static void fill_few(bench_worker *w)
{
    fill_queue(w, FEW);
}

static void fill_many(bench_worker *w)
{
    fill_queue(w, MANY);
}

/* Acknowledges the claimed jobs and claims the next ones, in one round trip. */
static void turn_step(bench_worker *w)
{
    site *s = w->own;
    size_t count = s->jobs ? s->jobs->count : 0;
    tkl_jobs *next;
    for (size_t i = 0; i < count; i++)
        s->reports[i] = (tkl_report){.job = &s->jobs->items[i]};
    check(tkl_consumer_next(s->consumer, s->reports, count, WORK_BATCH, 0, &next));
    tkl_jobs_free(s->jobs);
    s->jobs = next;
}

static int do_nothing(tkl_task *task, void *arg)
{
    (void)task, (void)arg;
    return TKL_OK;
}

/* Runs a worker until the queue is empty. */
static void drain_step(bench_worker *w)
{
    site *s = w->own;
    tkl_worker_options options = {.threads = 2, .prefetch = 200, .drain = true};
    tkl_worker_stats stats;
    check(tkl_worker_start(&s->queue, 1, do_nothing, NULL, &options, &s->worker));
    check(tkl_worker_wait(s->worker, -1));
    tkl_worker_stats_get(s->worker, &stats);
    if (stats.done < FEW || stats.failed + stats.lost > 0)
        bench_die("only %llu jobs were done", (unsigned long long)stats.done);
}

/* ---- From push to start -------------------------------------------------- */

static int note_start(tkl_task *task, void *arg)
{
    site *s = arg;
    (void)task;
    s->started = bench_now_ns();
    sem_post(&s->begun);
    return TKL_OK;
}

static void wait_for_start(sem_t *begun)
{
    while (sem_wait(begun) != 0)
        if (errno != EINTR)
            bench_die("sem_wait failed");
}

static void push_one(tkl_queue *queue, int64_t delay_ms)
{
    tkl_push job = {.payload = tkl_str(PAYLOAD), .delay_ms = delay_ms};
    check(tkl_queue_push(queue, &job, 1, NULL, NULL));
}

static void idle_open(bench_worker *w)
{
    site *s = site_new(w);
    check(tkl_worker_start(&s->queue, 1, note_start, s, NULL, &s->worker));
    push_one(s->queue, 0);
    wait_for_start(&s->begun);
    usleep(SETTLE_US);
}

static void wake_step(bench_worker *w)
{
    site *s = w->own;
    usleep(2000);
    int64_t pushed = bench_now_ns();
    push_one(s->queue, 0);
    wait_for_start(&s->begun);
    histogram_add(&w->latency, s->started - pushed);
}

/* Measures how late a delayed job is, by the clock of this machine, which is also the server's. */
static void delayed_step(bench_worker *w)
{
    site *s = w->own;
    int64_t pushed = bench_now_ns();
    push_one(s->queue, DELAY_MS);
    wait_for_start(&s->begun);
    int64_t late = s->started - pushed - INT64_C(1000000) * DELAY_MS;
    histogram_add(&w->latency, late > 0 ? late : 0);
}

/* The same measurement with a list. */
typedef struct popper {
    redisContext *push, *pop;
    pthread_t thread;
    int64_t started;
    sem_t begun;
} popper;

static void *pop_all(void *arg)
{
    popper *p = arg;
    for (;;) {
        redisReply *reply = bare_ask(p->pop, 3, (const char *[]){"BLPOP", "bench", "0"});
        p->started = bench_now_ns();
        bool last = strcmp(reply->element[1]->str, "end") == 0;
        freeReplyObject(reply);
        sem_post(&p->begun);
        if (last)
            return NULL;
    }
}

static void popper_open(bench_worker *w)
{
    popper *p = calloc(1, sizeof *p);
    if (!p)
        bench_die("out of memory");
    p->push = bare_connect(w->run->socket);
    p->pop = bare_connect(w->run->socket);
    sem_init(&p->begun, 0, 0);
    if (pthread_create(&p->thread, NULL, pop_all, p) != 0)
        bench_die("no more threads");
    w->own = p;
}

static void popper_close(bench_worker *w)
{
    popper *p = w->own;
    bare_call(p->push, 3, (const char *[]){"RPUSH", "bench", "end"});
    pthread_join(p->thread, NULL);
    redisFree(p->push);
    redisFree(p->pop);
    sem_destroy(&p->begun);
    free(p);
}

static char push_sha[41];

static void pop_after(bench_worker *w, int words, const char *const *push)
{
    popper *p = w->own;
    usleep(2000);
    int64_t pushed = bench_now_ns();
    bare_call(p->push, words, push);
    wait_for_start(&p->begun);
    histogram_add(&w->latency, p->started - pushed);
}

static void pop_step(bench_worker *w)
{
    pop_after(w, 3, (const char *[]){"RPUSH", "bench", PAYLOAD});
}

/* Pushes by the smallest script that can. */
static void pop_script_step(bench_worker *w)
{
    static const char script[] = "return redis.call('RPUSH', KEYS[1], ARGV[1])";
    static const char *const call[] = {"EVALSHA", push_sha, "1", "bench", PAYLOAD};
    popper *p = w->own;
    if (!*push_sha) {
        redisReply *sha = bare_ask(p->push, 3, (const char *[]){"SCRIPT", "LOAD", script});
        snprintf(push_sha, sizeof push_sha, "%s", sha->str);
        freeReplyObject(sha);
    }
    pop_after(w, 5, call);
}

/* ---- Figures ------------------------------------------------------------- */

static double info_number(redisContext *c, const char *section, const char *field)
{
    double value = 0;
    redisReply *info = bare_ask(c, 2, (const char *[]){"INFO", section});
    const char *at = strstr(info->str, field);
    if (!at || sscanf(at + strlen(field), ":%lf", &value) != 1)
        bench_die("the server does not tell %s", field);
    freeReplyObject(info);
    return value;
}

/* Commands a second from a worker that has nothing to do. */
static double idle_commands(const bench_run *run, bool later)
{
    const double seconds = 3;
    bench_worker w = {.run = run};
    idle_open(&w);
    site *s = w.own;
    if (later)
        push_one(s->queue, HOUR_MS);
    usleep(SETTLE_US);
    redisContext *c = bare_connect(run->socket);
    double before = info_number(c, "stats", "total_commands_processed");
    usleep((useconds_t)(seconds * 1e6));
    double own = 1; /* INFO */
    double commands = info_number(c, "stats", "total_commands_processed") - before - own;
    redisFree(c);
    site_close(&w);
    return commands / seconds;
}

static double idle_with_nothing(const bench_run *run)
{
    return idle_commands(run, false);
}

static double idle_with_delayed(const bench_run *run)
{
    return idle_commands(run, true);
}

static int backlog(const bench_run *run)
{
    return run->lengthy ? 1000000 : 100000;
}

static double bytes_a_job(const bench_run *run)
{
    bench_worker w = {.run = run};
    redisContext *c = bare_connect(run->socket);
    site *s = site_new(&w);
    double before = info_number(c, "memory", "used_memory");
    for (int i = 0; i < backlog(run) / PUSH_BATCH; i++)
        push_batch(s->queue);
    double bytes = (info_number(c, "memory", "used_memory") - before) / backlog(run);
    redisFree(c);
    site_close(&w);
    return bytes - (double)strlen(PAYLOAD);
}

/* The server's time for a job that is claimed and acknowledged in batches, while `waiting` jobs
 * wait. */
static double claim_us(const bench_run *run, int waiting)
{
    bench_worker w = {.run = run};
    fill_queue(&w, waiting);
    redisContext *c = bare_connect(run->socket);
    turn_step(&w);
    bare_call(c, 2, (const char *[]){"CONFIG", "RESETSTAT"});
    int turns = 0, jobs = 0;
    while (turns < 500 && jobs + WORK_BATCH <= waiting / 2) {
        turn_step(&w);
        jobs += WORK_BATCH;
        turns++;
    }
    double us = 0, calls = 0;
    redisReply *info = bare_ask(c, 2, (const char *[]){"INFO", "commandstats"});
    const char *line = strstr(info->str, "cmdstat_fcall:");
    if (!line || sscanf(line, "cmdstat_fcall:calls=%lf,usec=%lf", &calls, &us) != 2)
        bench_die("the server has not counted its scripts");
    freeReplyObject(info);
    redisFree(c);
    site_close(&w);
    return us / jobs;
}

static double claim_of_few(const bench_run *run)
{
    return claim_us(run, 2 * 1000);
}

static double claim_of_many(const bench_run *run)
{
    return claim_us(run, backlog(run));
}

/* ---- Cases --------------------------------------------------------------- */

#define SITE(opening, function) .open = opening, .step = function, .close = site_close
#define PEER(file, mode, jobs) \
    .role = BENCH_PEER,        \
    .command = "BENCH_JOBS=" #jobs " node " TACKLE_SOURCE_DIR "/bench/peers/" file " " mode
#define BEANSTALKD(mode, jobs)                                                       \
    .role = BENCH_PEER, .command = "BENCH_JOBS=" #jobs " python3 " TACKLE_SOURCE_DIR \
                                   "/bench/peers/beanstalkd.py " mode
#define WAKE_STEPS .timed = true, .steps = WAKES

static const bench_case cases[] = {
    {.name = "push, 20000 jobs in batches of 1000",
     .unit = "jobs/s",
     .contenders =
         {{.name = "hiredis, RPUSH", .batch = PUSH_BATCH, .steps = 20, BARE(list_push)},
          {.name = "tackle", .batch = PUSH_BATCH, .steps = 20, SITE(site_open, push_step)},
          {.name = "bee-queue", .outdone = 3, PEER("bee-queue.js", "push", 20000)},
          {.name = "BullMQ", .outdone = 12, PEER("bullmq.js", "push", 20000)},
          {.name = "beanstalkd", BEANSTALKD("push", 20000)}}},
    {.name = "push, 200000 jobs in batches of 1000",
     .unit = "jobs/s",
     .contenders =
         {{.name = "hiredis, RPUSH", .batch = PUSH_BATCH, .steps = 200, BARE(list_push)},
          {.name = "tackle", .batch = PUSH_BATCH, .steps = 200, SITE(site_open, push_step)},
          {.name = "bee-queue", .outdone = 3, PEER("bee-queue.js", "push", 200000)},
          {.name = "BullMQ", .outdone = 12, PEER("bullmq.js", "push", 200000)},
          {.name = "beanstalkd", BEANSTALKD("push", 200000)}}},
    {.name = "work, 20000 jobs",
     .unit = "jobs/s",
     .contenders =
         {{.name = "hiredis, LMOVE + LREM",
           .role = BENCH_LIMIT,
           .batch = WORK_BATCH,
           .steps = FEW / WORK_BATCH,
           .open = list_fill,
           .step = list_work,
           .close = bare_close},
          {.name = "tackle, turns of 32",
           .batch = WORK_BATCH,
           .steps = FEW / WORK_BATCH,
           SITE(fill_few, turn_step)},
          {.name = "tackle, worker", .batch = FEW, .steps = 1, SITE(fill_few, drain_step)},
          {.name = "bee-queue", .outdone = 4, PEER("bee-queue.js", "process", 20000)},
          {.name = "BullMQ", .outdone = 10, PEER("bullmq.js", "process", 20000)},
          {.name = "beanstalkd", BEANSTALKD("process", 20000)}}},
    {.name = "work, 200000 jobs",
     .unit = "jobs/s",
     .contenders =
         {{.name = "tackle, turns of 32",
           .batch = WORK_BATCH,
           .steps = MANY / WORK_BATCH,
           SITE(fill_many, turn_step)},
          {.name = "tackle, worker", .batch = MANY, .steps = 1, SITE(fill_many, drain_step)},
          {.name = "bee-queue", .outdone = 4, PEER("bee-queue.js", "process", 200000)},
          {.name = "BullMQ", .outdone = 10, PEER("bullmq.js", "process", 200000)},
          {.name = "beanstalkd", BEANSTALKD("process", 200000)}}},
    {.name = "the server's time for a job, turns of 32",
     .unit = "us",
     .at_most = 12,
     .has_at_most = true,
     .rise_at_most = 1.5,
     .contenders = {{.name = "tackle, 1000 waiting", .measure = claim_of_few},
                    {.name = "tackle, many waiting", .measure = claim_of_many}}},
    {.name = "from push to start, an idle worker",
     .unit = "jobs/s",
     .p50_by_limit = 3,
     .contenders = {{.name = "hiredis, BLPOP",
                     .role = BENCH_LIMIT,
                     WAKE_STEPS,
                     .open = popper_open,
                     .step = pop_step,
                     .close = popper_close},
                    {.name = "hiredis, by a script",
                     .role = BENCH_YARDSTICK,
                     WAKE_STEPS,
                     .open = popper_open,
                     .step = pop_script_step,
                     .close = popper_close},
                    {.name = "tackle", WAKE_STEPS, SITE(idle_open, wake_step)},
                    {.name = "bee-queue", PEER("bee-queue.js", "wake", 300)},
                    {.name = "BullMQ", PEER("bullmq.js", "wake", 300)}}},
    {.name = "how late delayed jobs start",
     .unit = "jobs/s",
     .contenders = {{.name = "tackle", .timed = true, .steps = 50, SITE(idle_open, delayed_step)}}},
    {.name = "an idle worker, nothing there",
     .unit = "commands/s",
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = idle_with_nothing}}},
    {.name = "an idle worker, a job delayed",
     .unit = "commands/s",
     .at_most = 1,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = idle_with_delayed}}},
    {.name = "memory of a waiting job besides its payload",
     .unit = "bytes",
     .at_most = 250,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = bytes_a_job}}},
    {.name = NULL},
};

const bench_component queue_bench = {"queue", cases};
