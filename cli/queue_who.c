/* SPDX-License-Identifier: MIT
 *
 * Who works on queues, and how long jobs wait and run: workers, times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"

/* ---- Which queues -------------------------------------------------------- */

/* Opens all queues, with the partitions that they have. A queue whose numbers cannot be read is
 * opened, too: the caller then gets its error. */
static int open_every_queue(cli_session *cli, tkl_queue ***queues, size_t *count)
{
    tkl_client *client = NULL;
    tkl_queue_overview *all = NULL;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_queue_overview_get(client, &all));
    *queues = !failed ? calloc(all->count + 1, sizeof **queues) : NULL;
    if (!failed && *queues == NULL)
        failed = cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < all->count; i++) {
        tkl_queue_options options = {.partitions = all->items[i].partitions};
        failed = cli_end(
            cli, tkl_queue_open(client, all->items[i].name, &options, &(*queues)[(*count)++]));
    }
    tkl_queue_overview_free(all);
    return failed;
}

/* The queue that is named, or else every queue. Close them even after a failure. */
static int open_named_or_every(cli_session *cli, tkl_queue ***queues, size_t *count)
{
    *queues = NULL;
    *count = 0;
    if (cli->argc == 0)
        return open_every_queue(cli, queues, count);
    *count = 1;
    int failed = cli_queue_open_all(cli, 1, queues);
    return failed ? failed : cli_queue_known(cli, (*queues)[0]);
}

/* ---- workers ------------------------------------------------------------- */

static const cli_column worker_columns[] = {
    {"host", "HOST"},
    {"pid", "PID"},
    {"program", "PROGRAM"},
    {"label", "LABEL"},
    {"threads", "THREADS"},
    {"running", "JOBS"},
    {"queue", "QUEUE"},
    {"job", "JOB"},
    {"since_ms", "FOR"},
    {"done", "DONE"},
    {"failed", "FAILED"},
    {"seen_ms", "SEEN"},
    {0},
};

static json_t *number_or_null(int64_t number)
{
    return number > 0 ? json_integer((json_int_t)number) : json_null();
}

static json_t *runs_json(const tkl_queue_worker *worker)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < worker->run_count; i++) {
        const tkl_queue_run *run = &worker->runs[i];
        json_array_append_new(
            runs, json_pack("{s:o, s:s, s:o, s:o, s:o}", "queue", cli_json_bytes(run->queue), "id",
                            run->id, "kind", cli_json_present(run->kind), "since",
                            cli_json_time(run->since_ms), "until", cli_json_time(run->until_ms)));
    }
    return runs;
}

static json_t *worker_json(const tkl_queue_worker *worker)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:o, s:o, s:o}", "id",
                     worker->id, "host", cli_json_present(worker->host), "pid",
                     number_or_null(worker->pid), "program", cli_json_present(worker->program),
                     "label", cli_json_present(worker->label), "threads",
                     number_or_null(worker->threads), "waiting", worker->waiting, "done",
                     (json_int_t)worker->done, "failed", (json_int_t)worker->failed, "seen_at",
                     cli_json_time(worker->seen_ms), "lease_ms", number_or_null(worker->lease_ms),
                     "jobs", runs_json(worker));
}

/* How long ago; null: not known. */
static json_t *age_json(int64_t now_ms, int64_t then_ms)
{
    int64_t age = now_ms > then_ms ? now_ms - then_ms : 0;
    return then_ms > 0 ? json_integer((json_int_t)age) : json_null();
}

/* For people: one row for each worker, with the job that it has had for longest. */
static json_t *worker_row(const tkl_queue_worker *worker, int64_t now_ms)
{
    const tkl_queue_run *run = worker->run_count > 0 ? &worker->runs[0] : NULL;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:s?, s:o, s:I, s:I, s:o}", "host",
                     cli_json_present(worker->host), "pid", number_or_null(worker->pid), "program",
                     cli_json_present(worker->program), "label", cli_json_present(worker->label),
                     "threads", number_or_null(worker->threads), "running",
                     (json_int_t)worker->run_count, "queue",
                     run != NULL ? cli_json_bytes(run->queue) : json_null(), "job",
                     run != NULL       ? run->id
                     : worker->waiting ? "(waits)"
                                       : NULL,
                     "since_ms", age_json(now_ms, run != NULL ? run->since_ms : 0), "done",
                     (json_int_t)worker->done, "failed", (json_int_t)worker->failed, "seen_ms",
                     age_json(now_ms, worker->seen_ms));
}

int cli_queue_workers(cli_session *cli)
{
    tkl_queue **queues = NULL;
    size_t count = 0;
    tkl_queue_worker_list *workers = NULL;
    int failed = open_named_or_every(cli, &queues, &count);
    if (!failed)
        failed = cli_end(cli, tkl_queue_workers(queues, count, &workers));
    cli_queue_close_all(queues, count);
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < workers->count; i++)
        json_array_append_new(rows, cli->json ? worker_json(&workers->items[i])
                                              : worker_row(&workers->items[i], workers->now_ms));
    tkl_queue_worker_list_free(workers);
    return cli_print_rows(cli, rows, worker_columns);
}

/* ---- times --------------------------------------------------------------- */

static const cli_column times_columns[] = {
    {"queue", "QUEUE"},
    {"kind", "KIND"},
    {"done", "DONE"},
    {"failed", "FAILED"},
    {"wait", "WAIT"},
    {"wait_most_ms", "95% WAIT UP TO"},
    {"run", "RUN"},
    {"run_most_ms", "95% RUN UP TO"},
    {0},
};

/* The mean, for people: short times have a digit behind the point. */
static json_t *mean_text(const tkl_queue_histogram *h)
{
    char text[CLI_DURATION_SIZE];
    if (h->count == 0)
        return json_null();
    double mean_ms = (double)h->sum_us / 1000 / (double)h->count;
    if (mean_ms >= 10)
        return json_string(cli_duration_text((int64_t)mean_ms, text));
    snprintf(text, sizeof text, "%.1f ms", mean_ms);
    return json_string(text);
}

/* The bound below which 95 % of the times are; null: none are counted, or there is no bound. */
static json_t *most_json(const tkl_queue_histogram *h)
{
    int64_t seen = 0;
    for (int i = 0; i < TKL_QUEUE_BUCKETS - 1; i++) {
        seen += h->counts[i];
        if (h->count > 0 && (double)seen >= 0.95 * (double)h->count)
            return json_integer((json_int_t)tkl_queue_bound_ms(i));
    }
    return json_null();
}

static json_t *histogram_json(const tkl_queue_histogram *h)
{
    json_t *buckets = json_array();
    for (int i = 0; i < TKL_QUEUE_BUCKETS; i++) {
        int64_t bound = tkl_queue_bound_ms(i);
        json_array_append_new(buckets,
                              json_pack("{s:o, s:I}", "up_to_ms",
                                        bound == TKL_NONE ? json_null() : json_integer(bound),
                                        "count", (json_int_t)h->counts[i]));
    }
    return json_pack("{s:I, s:f, s:o}", "count", (json_int_t)h->count, "sum_ms",
                     (double)h->sum_us / 1000, "buckets", buckets);
}

static json_t *kind_json(const tkl_queue_kind *kind)
{
    return json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "queue", cli_json_bytes(kind->queue), "kind",
                     cli_json_present(kind->kind), "done", (json_int_t)kind->done, "failed",
                     (json_int_t)kind->failed, "wait", histogram_json(&kind->wait), "run",
                     histogram_json(&kind->run));
}

static json_t *kind_row(const tkl_queue_kind *kind)
{
    return json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "queue",
                     cli_json_bytes(kind->queue), "kind", cli_json_present(kind->kind), "done",
                     (json_int_t)kind->done, "failed", (json_int_t)kind->failed, "wait",
                     mean_text(&kind->wait), "wait_most_ms", most_json(&kind->wait), "run",
                     mean_text(&kind->run), "run_most_ms", most_json(&kind->run));
}

int cli_queue_times(cli_session *cli)
{
    tkl_queue **queues = NULL;
    size_t count = 0;
    tkl_queue_kind_list *kinds = NULL;
    int failed = open_named_or_every(cli, &queues, &count);
    if (!failed)
        failed = cli_end(cli, tkl_queue_times(queues, count, &kinds));
    cli_queue_close_all(queues, count);
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < kinds->count; i++)
        json_array_append_new(rows,
                              cli->json ? kind_json(&kinds->items[i]) : kind_row(&kinds->items[i]));
    tkl_queue_kind_list_free(kinds);
    return cli_print_rows(cli, rows, times_columns);
}
