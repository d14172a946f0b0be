/* SPDX-License-Identifier: MIT
 *
 * A thread asks the servers, so that keys work while a server does not answer. It makes one round
 * trip per interval for each master. While the user looks into a queue, it reads in turn the
 * overview, the first ready jobs and the active ones; while workers or limits are shown, the
 * overview and them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "lines.h"
#include "top.h"

/* Jobs that are shown of a queue. */
#define JOBS          10
#define PAYLOAD_BYTES 512 /* more of a payload than a line of any terminal shows */

void top_reader_wake(top_reader *reader)
{
    pthread_cond_signal(&reader->wake);
}

static tkl_bytes copy_name(tkl_bytes name)
{
    char *copy = malloc(name.len + 1);
    if (copy == NULL || name.data == NULL) {
        free(copy);
        return (tkl_bytes){NULL, 0};
    }
    memcpy(copy, name.data, name.len);
    return (tkl_bytes){copy, name.len};
}

static void free_name(tkl_bytes name)
{
    free((char *)(uintptr_t)name.data);
}

void top_reader_act(top_reader *reader, top_act act, top_tab tab, tkl_bytes name, int partitions)
{
    free_name(reader->act_name);
    reader->act_name = copy_name(name);
    reader->act = reader->act_name.data != NULL ? act : TOP_NO_ACT;
    reader->act_tab = tab;
    reader->act_partitions = partitions;
    top_reader_wake(reader);
}

void top_reader_look(top_reader *reader, tkl_bytes name, int partitions)
{
    free_name(reader->looked);
    reader->looked = copy_name(name);
    reader->partitions = partitions;
    tkl_listing_free(reader->ready);
    tkl_listing_free(reader->active);
    reader->ready = reader->active = NULL;
    top_reader_wake(reader);
}

/* ---- Reading ------------------------------------------------------------- */

static void read_overview(top_reader *r)
{
    tkl_overview *fresh = NULL;
    /* Only this thread changes `now`, so it may be read without the mutex. */
    int code = tkl_overview_read(r->client, NULL, r->now.overview, &fresh);
    pthread_mutex_lock(&r->mutex);
    if (code == TKL_OK) {
        tkl_overview_free(r->last.overview);
        r->last = r->now;
        r->now = (top_moment){fresh, cli_now_us()};
        cli_missing_text(&(tkl_names){fresh->missing, fresh->missing_count}, r->problem);
    } else {
        snprintf(r->problem, sizeof r->problem, "%s", tkl_errmsg());
    }
    pthread_mutex_unlock(&r->mutex);
}

static void read_jobs(top_reader *r, tkl_bytes name, int partitions, tkl_job_state state)
{
    tkl_queue *queue = NULL;
    tkl_listing *fresh = NULL;
    tkl_queue_options options = {.partitions = partitions};
    int code = tkl_queue_open(r->client, name, &options, &queue);
    if (code == TKL_OK)
        code = tkl_queue_peek(queue, state, 0, JOBS, PAYLOAD_BYTES, &fresh);
    tkl_queue_close(queue);
    pthread_mutex_lock(&r->mutex);
    bool is_wanted = r->looked.data != NULL && cli_same_bytes(r->looked, name);
    tkl_listing **place = state == TKL_JOB_STATE_READY ? &r->ready : &r->active;
    if (code == TKL_OK && is_wanted) {
        tkl_listing_free(*place);
        *place = fresh;
        fresh = NULL;
    }
    snprintf(r->problem, sizeof r->problem, "%s", code == TKL_OK ? "" : tkl_errmsg());
    pthread_mutex_unlock(&r->mutex);
    tkl_listing_free(fresh);
}

/* How reading a part ended. */
static tkl_result result_of(int code)
{
    tkl_result result = {.code = code};
    snprintf(result.text, sizeof result.text, "%s", code == TKL_OK ? "" : tkl_errmsg());
    return result;
}

void top_workers_read(tkl_client *client, const tkl_overview *overview, top_extras *extras)
{
    size_t count = 0, most = overview->queues != NULL ? overview->queues->count : 0;
    tkl_queue **queues = calloc(most + 1, sizeof(tkl_queue *));
    tkl_queue_worker_list_free(extras->workers);
    extras->workers = NULL;
    for (size_t i = 0; queues != NULL && i < most; i++) {
        const tkl_queue_summary *queue = &overview->queues->items[i];
        tkl_queue_options options = {.partitions = queue->partitions};
        if (queue->code == TKL_OK &&
            tkl_queue_open(client, queue->name, &options, &queues[count]) == TKL_OK)
            count++;
    }
    extras->workers_result =
        result_of(queues != NULL ? tkl_queue_workers(queues, count, &extras->workers) : TKL_ENOMEM);
    for (size_t i = 0; i < count; i++)
        tkl_queue_close(queues[i]);
    free(queues);
}

void top_limits_read(tkl_client *client, top_extras *extras)
{
    tkl_limit_overview_free(extras->limits);
    extras->limits_result = result_of(tkl_limit_overview_get(client, &extras->limits));
}

void top_extras_free(top_extras *extras)
{
    tkl_queue_worker_list_free(extras->workers);
    tkl_limit_overview_free(extras->limits);
    *extras = (top_extras){0};
}

/* Reads the workers or the limits, whichever are shown, and frees what was read before. */
static void read_extras(top_reader *r, top_tab tab)
{
    top_extras fresh = {0};
    if (tab == TOP_LIMITS)
        top_limits_read(r->client, &fresh);
    else
        top_workers_read(r->client, r->now.overview, &fresh);
    pthread_mutex_lock(&r->mutex);
    top_extras_free(&r->extras);
    r->extras = fresh;
    pthread_mutex_unlock(&r->mutex);
}

/* ---- Acting -------------------------------------------------------------- */

static int act_on_queue(top_reader *r, top_act act, tkl_bytes name, int partitions, int64_t *count)
{
    tkl_queue *queue = NULL;
    int code =
        tkl_queue_open(r->client, name, &(tkl_queue_options){.partitions = partitions}, &queue);
    if (code == TKL_OK && act == TOP_PAUSE)
        code = tkl_queue_pause(queue);
    else if (code == TKL_OK && act == TOP_RESUME)
        code = tkl_queue_resume(queue);
    else if (code == TKL_OK)
        code = tkl_queue_retry(queue, NULL, count);
    tkl_queue_close(queue);
    return code;
}

static int break_lock(top_reader *r, tkl_bytes name)
{
    tkl_lock *lock = NULL;
    int code = tkl_lock_open(r->client, name, NULL, &lock);
    if (code == TKL_OK)
        code = tkl_lock_break(lock);
    tkl_lock_close(lock);
    return code;
}

static int break_semaphore(top_reader *r, tkl_bytes name)
{
    tkl_semaphore *semaphore = NULL;
    int code = tkl_semaphore_open(r->client, name, 1, NULL, &semaphore);
    if (code == TKL_OK)
        code = tkl_semaphore_break(semaphore);
    tkl_semaphore_close(semaphore);
    return code;
}

static int run_act(top_reader *r, top_act act, top_tab tab, tkl_bytes name, int partitions,
                   int64_t *count)
{
    if (act != TOP_BREAK)
        return act_on_queue(r, act, name, partitions, count);
    return tab == TOP_LOCKS ? break_lock(r, name) : break_semaphore(r, name);
}

static void do_act(top_reader *r, top_act act, top_tab tab, tkl_bytes name, int partitions)
{
    static const char *const done[] = {"", "paused", "resumed", "put back into the queue",
                                       "broken"};
    int64_t count = 0;
    int code = run_act(r, act, tab, name, partitions, &count);
    char *shown = cli_escape(name, false);
    pthread_mutex_lock(&r->mutex);
    if (code != TKL_OK)
        snprintf(r->outcome, sizeof r->outcome, "%s: %s", shown != NULL ? shown : "", tkl_errmsg());
    else if (act == TOP_RETRY_DEAD)
        snprintf(r->outcome, sizeof r->outcome, "%s: %lld dead letters %s",
                 shown != NULL ? shown : "", (long long)count, done[act]);
    else
        snprintf(r->outcome, sizeof r->outcome, "%s: %s", shown != NULL ? shown : "", done[act]);
    pthread_mutex_unlock(&r->mutex);
    free(shown);
}

/* ---- The thread ---------------------------------------------------------- */

static void sleep_until(top_reader *r, int64_t at_ms)
{
    struct timespec until = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000};
    pthread_cond_timedwait(&r->wake, &r->mutex, &until);
}

static void *read_for_ever(void *arg)
{
    top_reader *r = arg;
    int64_t next = cli_now_ms();
    unsigned turn = 0; /* 0: the overview; else what is shown beside it */
    for (;;) {
        pthread_mutex_lock(&r->mutex);
        while (r->act == TOP_NO_ACT && (r->frozen || cli_now_ms() < next))
            sleep_until(r, r->frozen ? cli_now_ms() + r->interval_ms : next);
        top_act act = r->act;
        tkl_bytes name = copy_name(act != TOP_NO_ACT ? r->act_name : r->looked);
        int partitions = act != TOP_NO_ACT ? r->act_partitions : r->partitions;
        top_tab tab = r->act_tab;
        top_tab shown = r->shown;
        bool extras = (shown == TOP_WORKERS || shown == TOP_LIMITS) && r->now.overview != NULL;
        r->act = TOP_NO_ACT;
        pthread_mutex_unlock(&r->mutex);
        turn = act != TOP_NO_ACT ? 0 : name.data != NULL ? (turn + 1) % 3 : extras ? !turn : 0;
        if (act != TOP_NO_ACT)
            do_act(r, act, tab, name, partitions);
        else if (turn > 0 && name.data == NULL)
            read_extras(r, shown);
        else if (turn > 0)
            read_jobs(r, name, partitions, turn == 1 ? TKL_JOB_STATE_READY : TKL_JOB_STATE_ACTIVE);
        else
            read_overview(r);
        free_name(name);
        next = act != TOP_NO_ACT ? cli_now_ms() : cli_now_ms() + r->interval_ms;
        eventfd_write(r->bell, 1);
    }
    return NULL;
}

int top_reader_start(top_reader *r, const cli_session *cli, tkl_client *client, int64_t interval_ms)
{
    pthread_condattr_t monotonic;
    *r = (top_reader){.client = client,
                      .interval_ms = interval_ms,
                      .mutex = PTHREAD_MUTEX_INITIALIZER,
                      .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &monotonic);
    if (r->bell < 0 || pthread_create(&r->thread, NULL, read_for_ever, r) != 0)
        return cli_fail(cli, CLI_FAILURE, "cannot start a thread");
    return CLI_OK;
}
