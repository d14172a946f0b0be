/* SPDX-License-Identifier: MIT
 *
 * Metrics of queues: their numbers, who works on them, how long jobs wait and run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"

/* ---- Reading ------------------------------------------------------------- */

int metrics_queues_read(tkl_client *client, metrics_queues *queues)
{
    int code = tkl_queue_overview_get(client, &queues->all);
    if (code != TKL_OK)
        return code;
    queues->handles = calloc(queues->all->count + 1, sizeof *queues->handles);
    if (queues->handles == NULL)
        return TKL_ENOMEM;
    for (size_t i = 0; code == TKL_OK && i < queues->all->count; i++) {
        const tkl_queue_summary *queue = &queues->all->items[i];
        tkl_queue_options options = {.partitions = queue->partitions};
        if (queue->code == TKL_OK)
            code = tkl_queue_open(client, queue->name, &options, &queues->handles[queues->count]);
        queues->count += queues->handles[queues->count] != NULL;
    }
    return code;
}

int metrics_workers_read(metrics_queues *queues)
{
    return tkl_queue_workers(queues->handles, queues->count, &queues->workers);
}

int metrics_times_read(metrics_queues *queues)
{
    return tkl_queue_times(queues->handles, queues->count, &queues->times);
}

void metrics_queues_free(metrics_queues *queues)
{
    tkl_queue_worker_list_free(queues->workers);
    tkl_queue_kind_list_free(queues->times);
    for (size_t i = 0; i < queues->count; i++)
        tkl_queue_close(queues->handles[i]);
    free(queues->handles);
    tkl_queue_overview_free(queues->all);
}

/* ---- Numbers ------------------------------------------------------------- */

typedef struct queue_metric {
    const char *name, *state; /* a label; NULL: none */
    const char *type, *help;
    int64_t (*number)(const tkl_queue_stats *stats);
} queue_metric;

#define QUEUE_NUMBER(field)                                    \
    static int64_t queue_##field(const tkl_queue_stats *stats) \
    {                                                          \
        return stats->field;                                   \
    }
QUEUE_NUMBER(ready)
QUEUE_NUMBER(delayed)
QUEUE_NUMBER(held)
QUEUE_NUMBER(active)
QUEUE_NUMBER(dead)
QUEUE_NUMBER(pushed)
QUEUE_NUMBER(done)
QUEUE_NUMBER(failed)
QUEUE_NUMBER(paused)
QUEUE_NUMBER(waiters)
QUEUE_NUMBER(bytes)

static const queue_metric queue_metrics[] = {
    {"tackle_queue_jobs", "ready", "gauge", "Jobs by state.", queue_ready},
    {"tackle_queue_jobs", "delayed", "gauge", "", queue_delayed},
    {"tackle_queue_jobs", "held", "gauge", "", queue_held},
    {"tackle_queue_jobs", "active", "gauge", "", queue_active},
    {"tackle_queue_jobs", "dead", "gauge", "", queue_dead},
    {"tackle_queue_pushed_total", NULL, "counter", "Jobs pushed.", queue_pushed},
    {"tackle_queue_done_total", NULL, "counter", "Jobs done.", queue_done},
    {"tackle_queue_failed_total", NULL, "counter", "Attempts that failed.", queue_failed},
    {"tackle_queue_paused", NULL, "gauge", "1: the queue hands out no jobs.", queue_paused},
    {"tackle_queue_waiters", NULL, "gauge", "Consumers that wait for a job.", queue_waiters},
    {"tackle_queue_bytes", NULL, "gauge", "Bytes of all jobs.", queue_bytes},
};
enum { QUEUE_METRICS = sizeof queue_metrics / sizeof *queue_metrics };

static void add_stats(tkl_queue_stats *sum, const tkl_queue_stats *one)
{
    sum->ready += one->ready;
    sum->delayed += one->delayed;
    sum->held += one->held;
    sum->active += one->active;
    sum->dead += one->dead;
    sum->pushed += one->pushed;
    sum->done += one->done;
    sum->failed += one->failed;
    sum->paused |= one->paused;
    sum->waiters += one->waiters;
    sum->bytes += one->bytes;
    sum->oldest_ms = one->oldest_ms > sum->oldest_ms ? one->oldest_ms : sum->oldest_ms;
}

/* The queues that get series: the first ones, and the others as one. Those that cannot be read are
 * left out. Returns how many. */
static size_t choose_queues(const tkl_queue_overview *all, size_t most, tkl_queue_summary *shown)
{
    tkl_queue_summary other = {.name = tkl_str(METRICS_OTHER)};
    size_t count = 0;
    bool folded = false;
    for (size_t i = 0; i < all->count; i++) {
        const tkl_queue_summary *queue = &all->items[i];
        if (queue->code != TKL_OK)
            continue;
        if (metrics_is_folded(queue->name, count, most, all->count)) {
            add_stats(&other.stats, &queue->stats);
            folded = true;
        } else {
            shown[count++] = *queue;
        }
    }
    if (folded)
        shown[count++] = other;
    return count;
}

static void write_numbers(FILE *to, const tkl_queue_overview *all, size_t most)
{
    tkl_queue_summary *shown = calloc(all->count + 1, sizeof *shown);
    size_t count = shown != NULL ? choose_queues(all, most, shown) : 0;
    const char *last = "";
    for (size_t i = 0; i < QUEUE_METRICS; i++) {
        const queue_metric *m = &queue_metrics[i];
        if (strcmp(last, m->name) != 0)
            metrics_write_head(to, m->name, m->type, m->help);
        last = m->name;
        for (size_t k = 0; k < count; k++) {
            fprintf(to, "%s{queue=\"", m->name);
            metrics_write_label(to, shown[k].name);
            if (m->state != NULL)
                fprintf(to, "\",state=\"%s", m->state);
            fprintf(to, "\"} %" PRId64 "\n", m->number(&shown[k].stats));
        }
    }
    metrics_write_head(to, "tackle_queue_oldest_ready_seconds", "gauge",
                       "How long the oldest ready job has been ready; 0: there is none.");
    for (size_t k = 0; k < count; k++) {
        fputs("tackle_queue_oldest_ready_seconds{queue=\"", to);
        metrics_write_label(to, shown[k].name);
        fputs("\"} ", to);
        metrics_write_seconds(to, shown[k].stats.oldest_ms);
    }
    free(shown);
}

/* ---- Workers ------------------------------------------------------------- */

static bool has_job_of(const tkl_queue_worker *worker, tkl_bytes queue)
{
    for (size_t i = 0; i < worker->run_count; i++)
        if (cli_same_bytes(worker->runs[i].queue, queue))
            return true;
    return false;
}

static int64_t count_workers(const tkl_queue_worker_list *workers, tkl_bytes queue)
{
    int64_t count = 0;
    for (size_t i = 0; i < workers->count; i++)
        count += has_job_of(&workers->items[i], queue);
    return count;
}

static void write_workers(FILE *to, const metrics_queues *queues, size_t most)
{
    int64_t other = 0;
    size_t count = 0;
    bool folded = false;
    metrics_write_number(to, "tackle_workers", "gauge", "Workers of all queues.",
                         (int64_t)queues->workers->count);
    metrics_write_head(to, "tackle_queue_workers", "gauge",
                       "Workers that have a job of this queue.");
    for (size_t i = 0; i < queues->all->count; i++) {
        const tkl_queue_summary *queue = &queues->all->items[i];
        if (queue->code != TKL_OK)
            continue;
        int64_t busy = count_workers(queues->workers, queue->name);
        if (metrics_is_folded(queue->name, count, most, queues->all->count)) {
            other += busy;
            folded = true;
            continue;
        }
        count++;
        fputs("tackle_queue_workers{queue=\"", to);
        metrics_write_label(to, queue->name);
        fprintf(to, "\"} %" PRId64 "\n", busy);
    }
    if (folded)
        fprintf(to, "tackle_queue_workers{queue=\"" METRICS_OTHER "\"} %" PRId64 "\n", other);
}

/* ---- Times --------------------------------------------------------------- */

static void add_histogram(tkl_queue_histogram *sum, const tkl_queue_histogram *one)
{
    for (int i = 0; i < TKL_QUEUE_BUCKETS; i++)
        sum->counts[i] += one->counts[i];
    sum->count += one->count;
    sum->sum_us += one->sum_us;
}

/* The kinds that get series: the first ones, and the others as one. Returns how many. */
static size_t choose_kinds(const tkl_queue_kind_list *all, size_t most, tkl_queue_kind *shown)
{
    tkl_queue_kind other = {.queue = tkl_str(METRICS_OTHER), .kind = tkl_str(METRICS_OTHER)};
    size_t count = 0;
    bool folded = false;
    for (size_t i = 0; i < all->count; i++) {
        if (metrics_is_folded(all->items[i].queue, count, most, all->count)) {
            add_histogram(&other.wait, &all->items[i].wait);
            add_histogram(&other.run, &all->items[i].run);
            folded = true;
        } else {
            shown[count++] = all->items[i];
        }
    }
    if (folded)
        shown[count++] = other;
    return count;
}

static void write_labels(FILE *to, const char *name, const char *part, const tkl_queue_kind *kind)
{
    fprintf(to, "%s_%s{queue=\"", name, part);
    metrics_write_label(to, kind->queue);
    fputs("\",kind=\"", to);
    metrics_write_label(to, kind->kind);
    fputc('"', to);
}

static void write_histogram(FILE *to, const char *name, const tkl_queue_kind *kind,
                            const tkl_queue_histogram *times)
{
    int64_t count = 0;
    for (int i = 0; i < TKL_QUEUE_BUCKETS; i++) {
        int64_t bound = tkl_queue_bound_ms(i);
        count += times->counts[i];
        write_labels(to, name, "bucket", kind);
        if (bound >= 0)
            fprintf(to, ",le=\"%" PRId64 ".%03" PRId64 "\"} ", bound / 1000, bound % 1000);
        else
            fputs(",le=\"+Inf\"} ", to);
        fprintf(to, "%" PRId64 "\n", count);
    }
    write_labels(to, name, "sum", kind);
    fprintf(to, "} %" PRId64 ".%06" PRId64 "\n", times->sum_us / 1000000, times->sum_us % 1000000);
    write_labels(to, name, "count", kind);
    fprintf(to, "} %" PRId64 "\n", count);
}

static void write_times(FILE *to, const tkl_queue_kind_list *all, size_t most)
{
    tkl_queue_kind *shown = calloc(all->count + 1, sizeof *shown);
    size_t count = shown != NULL ? choose_kinds(all, most, shown) : 0;
    metrics_write_head(to, "tackle_job_wait_seconds", "histogram",
                       "From when a job was ready until it was claimed.");
    for (size_t i = 0; i < count; i++)
        write_histogram(to, "tackle_job_wait_seconds", &shown[i], &shown[i].wait);
    metrics_write_head(to, "tackle_job_run_seconds", "histogram",
                       "From the beginning of an attempt to its report.");
    for (size_t i = 0; i < count; i++)
        write_histogram(to, "tackle_job_run_seconds", &shown[i], &shown[i].run);
    free(shown);
}

void metrics_queues_write(FILE *to, const metrics_queues *queues, const metrics_bound *b)
{
    if (queues->all == NULL)
        return;
    size_t most = metrics_count_shown(queues->all->count, b);
    write_numbers(to, queues->all, most);
    if (queues->workers != NULL)
        write_workers(to, queues, most);
    if (queues->times != NULL)
        write_times(to, queues->times, metrics_count_shown(queues->times->count, b));
}
