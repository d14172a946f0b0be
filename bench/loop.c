/* SPDX-License-Identifier: MIT
 *
 * Operations of an event loop, beside the same calls made by threads.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

/* Calls that a step makes, and that are open at once in the loop. */
#define IN_FLIGHT 200
/* Pipelines that are open at once, and commands of each. */
#define PIPELINES 4
#define COMMANDS  100
#define WAITS     10000

static const char *const set_words[] = {"SET", "bench:key", "0123456789abcdef"};

typedef struct scene {
    tkl_client *client;
    tkl_loop *loop;
    tkl_pipeline *pipelines[PIPELINES];
    int open; /* operations whose callbacks have not been called */
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_loop_open(s->client, NULL, &s->loop));
    for (int i = 0; i < PIPELINES; i++)
        check(tkl_pipeline_open(s->client, NULL, &s->pipelines[i]));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_loop_close(s->loop);
    for (int i = 0; i < PIPELINES; i++)
        tkl_pipeline_close(s->pipelines[i]);
    tkl_close(s->client);
    free(s);
}

/* ---- Calls --------------------------------------------------------------- */

static int set_key(void *arg)
{
    const scene *s = arg;
    return tkl_call(s->client, 3, set_words, NULL, NULL, NULL);
}

static void note_done(void *arg, int code, const char *text)
{
    scene *s = arg;
    (void)text;
    check(code);
    s->open--;
}

static void dispatch_all(scene *s)
{
    struct pollfd file = {tkl_loop_fd(s->loop), POLLIN, 0};
    while (s->open > 0) {
        poll(&file, 1, tkl_loop_timeout_ms(s->loop));
        check(tkl_loop_dispatch(s->loop));
    }
}

static void call_blocking(bench_worker *w)
{
    check(set_key(w->run->shared));
}

static void call_submitted(bench_worker *w)
{
    scene *s = w->run->shared;
    for (s->open = 0; s->open < IN_FLIGHT; s->open++)
        check(tkl_loop_submit(s->loop, set_key, note_done, s, NULL));
    dispatch_all(s);
}

/* ---- Pipelines ----------------------------------------------------------- */

static int run_pipeline(void *arg)
{
    tkl_pipeline *p = arg;
    for (int i = 0; i < COMMANDS; i++)
        check(tkl_pipeline_add(p, 3, set_words, NULL));
    return tkl_pipeline_run(p, NULL, NULL);
}

static void pipeline_blocking(bench_worker *w)
{
    const scene *s = w->run->shared;
    check(run_pipeline(s->pipelines[w->index]));
}

/* One of the pipelines of a step. */
typedef struct turn {
    scene *scene;
    int index;
} turn;

static int run_turn(void *arg)
{
    const turn *t = arg;
    return run_pipeline(t->scene->pipelines[t->index]);
}

static void note_turn(void *arg, int code, const char *text)
{
    const turn *t = arg;
    note_done(t->scene, code, text);
}

static void pipeline_submitted(bench_worker *w)
{
    scene *s = w->run->shared;
    turn turns[PIPELINES];
    for (s->open = 0; s->open < PIPELINES; s->open++) {
        turns[s->open] = (turn){s, s->open};
        check(tkl_loop_submit(s->loop, run_turn, note_turn, &turns[s->open], NULL));
    }
    dispatch_all(s);
}

/* ---- Waits --------------------------------------------------------------- */

static int64_t resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        bench_die("/proc/self/statm");
    fclose(file);
    return pages * (int64_t)(sysconf(_SC_PAGESIZE) / 1024);
}

static int fetch_mail(void *arg)
{
    tkl_messages *messages;
    int rc = tkl_mail_fetch(arg, 1, -1, &messages);
    tkl_messages_free(messages);
    return rc;
}

static void await_all(tkl_loop *loop)
{
    tkl_loop_stats stats;
    do {
        poll(NULL, 0, 10);
        check(tkl_loop_stats_get(loop, &stats));
    } while (stats.waiting < WAITS);
}

/* Memory of one operation that waits for mail, with its mailbox and its subscription. */
static double wait_kilobytes(const bench_run *run)
{
    static tkl_mail *mails[WAITS];
    tkl_client *client;
    tkl_loop *loop;
    check(tkl_open(run->url, NULL, &client));
    check(tkl_loop_open(client, &(tkl_loop_options){.timeout_ms = TKL_NONE}, &loop));
    int64_t before = resident_kb();
    for (int i = 0; i < WAITS; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i);
        check(tkl_mail_open(client, tkl_str(name), NULL, &mails[i]));
        check(tkl_loop_submit(loop, fetch_mail, NULL, mails[i], NULL));
    }
    await_all(loop);
    double each = (double)(resident_kb() - before) / WAITS;
    tkl_loop_close(loop);
    for (int i = 0; i < WAITS; i++)
        tkl_mail_close(mails[i]);
    tkl_close(client);
    return each;
}

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "SET, 200 at once",
     .unit = "ops/s",
     .contenders = {{.name = "16 threads", .role = BENCH_LIMIT, .workers = 16, OURS(call_blocking)},
                    {.name = "submitted", .batch = IN_FLIGHT, OURS(call_submitted)}}},
    {.name = "SET, pipelines of 100, 4 at once",
     .unit = "ops/s",
     .at_least = 0.9,
     .contenders = {{.name = "4 threads",
                     .role = BENCH_LIMIT,
                     .workers = PIPELINES,
                     .batch = COMMANDS,
                     OURS(pipeline_blocking)},
                    {.name = "submitted",
                     .batch = PIPELINES * COMMANDS,
                     OURS(pipeline_submitted)}}},
    {.name = "memory of one wait",
     .unit = "KB",
     .contenders = {{.name = "submitted", .measure = wait_kilobytes}}},
    {.name = NULL},
};

const bench_component loop_bench = {"loop", cases};
