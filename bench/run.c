/* SPDX-License-Identifier: MIT
 *
 * Workers live in shared memory, so that threads and processes are counted alike. All of them and
 * the conductor meet at a gate four times: all are open; go; all are done; leave. Between the first
 * two the server's counters are reset, between the last two they are read, so that connecting and
 * closing are in no figure.
 */
#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

typedef struct stage {
    const bench_contender *contender;
    int count;
    pthread_barrier_t gate;
    int64_t stop_at;
    bench_worker workers[];
} stage;

typedef struct cast {
    stage *stage;
    int index;
    pthread_t thread;
    pid_t pid;
} cast;

/* ---- The server's side --------------------------------------------------- */

static redisReply *ask_server(redisContext *admin, const char *command)
{
    redisReply *reply = redisCommand(admin, command);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        bench_die("%s: %s", command, reply ? reply->str : admin->errstr);
    return reply;
}

static void tell_server(redisContext *admin, const char *command)
{
    freeReplyObject(ask_server(admin, command));
}

/* The work of the server since its counters were reset. */
typedef struct counters {
    double commands, command_us;
    double cpu_us;  /* since its start */
    double clients; /* connected now */
} counters;

/* Lines such as "cmdstat_get:calls=21,usec=175,...", the bench's own left out. */
static void add_command(counters *sum, const char *line)
{
    double calls, us;
    bool own = strncmp(line, "cmdstat_info:", 13) == 0 || strncmp(line, "cmdstat_config|", 15) == 0;
    if (!own && sscanf(line, "cmdstat_%*[^:]:calls=%lf,usec=%lf", &calls, &us) == 2) {
        sum->commands += calls;
        sum->command_us += us;
    }
}

static counters read_counters(redisContext *admin)
{
    counters sum = {0};
    redisReply *info = ask_server(admin, "INFO all");
    for (char *line = strtok(info->str, "\r\n"); line; line = strtok(NULL, "\r\n")) {
        double seconds;
        add_command(&sum, line);
        if (sscanf(line, "used_cpu_sys:%lf", &seconds) == 1 ||
            sscanf(line, "used_cpu_user:%lf", &seconds) == 1)
            sum.cpu_us += seconds * 1e6;
        sscanf(line, "connected_clients:%lf", &sum.clients);
    }
    freeReplyObject(info);
    return sum;
}

static counters reset_counters(redisContext *admin)
{
    tell_server(admin, "CONFIG RESETSTAT");
    return read_counters(admin);
}

/* ---- Workers ------------------------------------------------------------- */

static void pass_gate(stage *s)
{
    pthread_barrier_wait(&s->gate);
}

static int64_t thread_cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void repeat_steps(bench_worker *w, const bench_contender *c, int64_t stop_at)
{
    w->cpu_ns = -thread_cpu_ns();
    int64_t before = bench_now_ns(), after;
    do {
        c->step(w);
        after = bench_now_ns();
        if (!c->timed)
            histogram_add(&w->latency, after - before);
        w->steps++;
        before = after;
    } while (c->steps ? w->steps < (uint64_t)c->steps : after < stop_at);
    w->cpu_ns += thread_cpu_ns();
}

static void *run_worker(void *argument)
{
    cast *self = argument;
    stage *s = self->stage;
    bench_worker *w = &s->workers[self->index];
    if (s->contender->open)
        s->contender->open(w);
    pass_gate(s);
    pass_gate(s);
    repeat_steps(w, s->contender, s->stop_at);
    pass_gate(s);
    pass_gate(s);
    if (s->contender->close)
        s->contender->close(w);
    return NULL;
}

static void work_in_process(cast *self)
{
    fflush(NULL);
    self->pid = fork();
    if (self->pid < 0)
        bench_die("fork failed");
    if (self->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_worker(self);
        _exit(0);
    }
}

static void start_cast(cast *one)
{
    if (one->stage->contender->processes)
        work_in_process(one);
    else if (pthread_create(&one->thread, NULL, run_worker, one) != 0)
        bench_die("no more threads");
}

static void finish_cast(cast *one)
{
    if (one->stage->contender->processes)
        waitpid(one->pid, NULL, 0);
    else
        pthread_join(one->thread, NULL);
}

static stage *stage_new(const bench_run *run, const bench_contender *contender, size_t *size)
{
    int count = contender->workers ? contender->workers : 1;
    *size = sizeof(stage) + (size_t)count * sizeof(bench_worker);
    stage *s = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        bench_die("out of memory");
    s->contender = contender;
    s->count = count;
    for (int i = 0; i < count; i++) {
        s->workers[i].run = run;
        s->workers[i].index = i;
    }
    pthread_barrierattr_t attr;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->gate, &attr, (unsigned)count + 1);
    pthread_barrierattr_destroy(&attr);
    return s;
}

/* ---- Samples ------------------------------------------------------------- */

static double least_by_most(const uint64_t *counts, int n)
{
    uint64_t least = counts[0], most = counts[0];
    for (int i = 1; i < n; i++) {
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    return most ? (double)least / (double)most : 0;
}

static uint64_t *counts_new(int n)
{
    uint64_t *counts = calloc((size_t)n, sizeof *counts);
    if (!counts)
        bench_die("out of memory");
    return counts;
}

static bench_sample sum_up(const stage *s, double seconds)
{
    bench_sample sample = {.workers = s->count, .counts = counts_new(s->count)};
    histogram all = {0};
    double ops = 0;
    for (int i = 0; i < s->count; i++) {
        int batch = s->contender->batch ? s->contender->batch : 1;
        sample.counts[i] = s->workers[i].steps * (uint64_t)batch;
        ops += (double)sample.counts[i];
        sample.client_cpu_us += (double)s->workers[i].cpu_ns / 1000;
        histogram_merge(&all, &s->workers[i].latency);
    }
    sample.value = ops / seconds;
    sample.client_cpu_us /= ops;
    sample.p50_us = histogram_quantile(&all, 0.5) / 1000;
    sample.p99_us = histogram_quantile(&all, 0.99) / 1000;
    sample.max_us = histogram_quantile(&all, 1) / 1000;
    sample.fairness = least_by_most(sample.counts, s->count);
    return sample;
}

static void for_one_operation(bench_sample *sample, counters before, counters after)
{
    double ops = 0;
    for (int i = 0; i < sample->workers; i++)
        ops += (double)sample->counts[i];
    sample->commands = after.commands / ops;
    sample->command_us = after.command_us / ops;
    sample->server_cpu_us = (after.cpu_us - before.cpu_us) / ops;
}

/* ---- The three kinds of contenders --------------------------------------- */

static bench_sample conduct(stage *s, const bench_run *run, redisContext *admin)
{
    pass_gate(s);
    counters before = reset_counters(admin);
    int64_t began = bench_now_ns();
    s->stop_at = began + (int64_t)(run->seconds * 1e9);
    pass_gate(s);
    pass_gate(s);
    double seconds = (double)(bench_now_ns() - began) / 1e9;
    counters after = read_counters(admin);
    pass_gate(s);
    bench_sample sample = sum_up(s, seconds);
    for_one_operation(&sample, before, after);
    sample.connections = after.clients;
    return sample;
}

static bench_sample run_workers(bench_run *run, redisContext *admin,
                                const bench_contender *contender)
{
    size_t size;
    stage *s = stage_new(run, contender, &size);
    double others = read_counters(admin).clients;
    cast *all = calloc((size_t)s->count, sizeof *all);
    if (!all)
        bench_die("out of memory");
    if (contender->setup)
        contender->setup(run, contender);
    for (int i = 0; i < s->count; i++) {
        all[i] = (cast){.stage = s, .index = i};
        start_cast(&all[i]);
    }
    bench_sample sample = conduct(s, run, admin);
    sample.connections -= others;
    for (int i = 0; i < s->count; i++)
        finish_cast(&all[i]);
    if (contender->teardown)
        contender->teardown(run);
    free(all);
    pthread_barrier_destroy(&s->gate);
    munmap(s, size);
    return sample;
}

/* Adds a worker's line to the sample. Latencies are those of the worst worker. */
static void add_line(bench_sample *sample, const char *line, int room)
{
    json_t *object = json_loads(line, 0, NULL);
    double ops = json_number_value(json_object_get(object, "ops"));
    double seconds = json_number_value(json_object_get(object, "seconds"));
    double p50 = json_number_value(json_object_get(object, "p50_us"));
    double p99 = json_number_value(json_object_get(object, "p99_us"));
    double max = json_number_value(json_object_get(object, "max_us"));
    json_decref(object);
    if (seconds <= 0 || sample->workers == room)
        bench_die("not one line of JSON for each worker: %s", line);
    sample->counts[sample->workers++] = (uint64_t)ops;
    sample->value += ops / seconds;
    sample->p50_us = p50 > sample->p50_us ? p50 : sample->p50_us;
    sample->p99_us = p99 > sample->p99_us ? p99 : sample->p99_us;
    sample->max_us = max > sample->max_us ? max : sample->max_us;
}

static bench_sample run_command(const bench_run *run, redisContext *admin,
                                const bench_contender *contender)
{
    char text[32], line[4096];
    int workers = contender->workers ? contender->workers : 1;
    setenv("BENCH_SOCKET", run->socket, 1);
    snprintf(text, sizeof text, "%g", run->seconds);
    setenv("BENCH_SECONDS", text, 1);
    snprintf(text, sizeof text, "%d", workers);
    setenv("BENCH_WORKERS", text, 1);

    counters before = reset_counters(admin);
    FILE *out = popen(contender->command, "r");
    if (!out)
        bench_die("cannot start %s", contender->command);
    bench_sample sample = {.counts = counts_new(workers)};
    while (fgets(line, sizeof line, out))
        add_line(&sample, line, workers);
    if (pclose(out) != 0 || sample.workers != workers)
        bench_die("failed: %s", contender->command);
    sample.fairness = least_by_most(sample.counts, workers);
    for_one_operation(&sample, before, read_counters(admin));
    return sample;
}

bench_sample run_contender(bench_run *run, redisContext *admin, const bench_case *bcase,
                           const bench_contender *contender)
{
    tell_server(admin, "FLUSHALL");
    if (bcase->prepare)
        bcase->prepare(run);
    if (contender->measure)
        return (bench_sample){.value = contender->measure(run)};
    if (contender->command)
        return run_command(run, admin, contender);
    return run_workers(run, admin, contender);
}
