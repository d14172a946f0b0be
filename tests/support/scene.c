/* SPDX-License-Identifier: MIT */
#include "support/scene.h"

#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "support/peer.h"
#include "support/process.h"

tkl_worker_stats worker_stats(tkl_worker *worker)
{
    tkl_worker_stats stats;
    tkl_worker_stats_get(worker, &stats);
    return stats;
}

/* ---- Pushing ------------------------------------------------------------- */

void push_numbers(tkl_queue *queue, int count)
{
    tkl_push *jobs = calloc((size_t)count, sizeof(*jobs));
    char(*texts)[12] = calloc((size_t)count, sizeof(*texts));
    assert_true(jobs != NULL && texts != NULL);
    for (int i = 0; i < count; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%d", i);
        jobs[i].payload = tkl_str(texts[i]);
    }
    assert_ok(tkl_queue_push(queue, jobs, (size_t)count, NULL, NULL));
    free(jobs);
    free(texts);
}

/* ---- Working ------------------------------------------------------------- */

void scene_init(scene *s)
{
    memset(s, 0, sizeof(*s));
    atomic_store(&s->gate, true);
    pthread_mutex_init(&s->mutex, NULL);
}

static void note_job(scene *s, const tkl_job *job)
{
    pthread_mutex_lock(&s->mutex);
    size_t len = strlen(s->seen);
    snprintf(s->seen + len, sizeof(s->seen) - len, "%.*s ", (int)job->payload.len,
             job->payload.data);
    snprintf(s->error, sizeof(s->error), "%.*s", (int)job->error.len, job->error.data);
    s->attempt = job->attempt;
    pthread_mutex_unlock(&s->mutex);
}

static void note_most(scene *s, int inside)
{
    int most = atomic_load(&s->most);
    while (inside > most && !atomic_compare_exchange_weak(&s->most, &most, inside))
        ;
}

static void stay(tkl_task *task, scene *s)
{
    bool told = false;
    int64_t until = test_now_ms() + atomic_load(&s->sleep_ms);
    while (!atomic_load(&s->gate) || test_now_ms() < until) {
        if (!told && tkl_task_cancelled(task)) {
            told = true;
            atomic_fetch_add(&s->cancelled, 1);
        }
        if (told && !atomic_load(&s->stubborn))
            return;
        test_sleep_ms(1);
    }
}

int act(tkl_task *task, void *arg)
{
    scene *s = arg;
    note_job(s, tkl_task_job(task));
    note_most(s, atomic_fetch_add(&s->inside, 1) + 1);
    atomic_fetch_add(&s->begun, 1);
    stay(task, s);
    atomic_fetch_sub(&s->inside, 1);
    atomic_fetch_add(&s->ended, 1);
    return atomic_load(&s->code);
}

tkl_worker *start_worker(tkl_queue *queue, const tkl_worker_options *options, scene *s)
{
    tkl_worker *worker;
    assert_ok(tkl_worker_start(&queue, 1, act, s, options, &worker));
    return worker;
}

/* ---- Processes ----------------------------------------------------------- */

extern char **environ;

pid_t start_self(int64_t clock_ms, const char *const *args)
{
    char self[512];
    char *argv[16] = {self};
    pid_t pid;
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(len > 0);
    self[len] = '\0';
    for (int i = 0; args[i] != NULL; i++)
        argv[i + 1] = (char *)args[i];
    if (clock_ms != 0)
        peer_fake_clock(clock_ms);
    int error = posix_spawn(&pid, self, NULL, NULL, argv, environ);
    unsetenv("LD_PRELOAD");
    if (error)
        fail_msg("%s: %s", self, strerror(error));
    return pid;
}

void kill_self(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    process_wait(pid);
    peer_remove_faked(pid);
}
