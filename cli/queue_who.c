/* SPDX-License-Identifier: MIT
 *
 * The verbs workers, times, why and flow: the workers of queues, how long jobs wait and run, why
 * one does not run, and the flow around a job.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"

/* ---- Which queues -------------------------------------------------------- */

/* Opens all queues, with the partitions that they have. A queue whose numbers cannot be read is
 * opened, too: the caller then gets its error. Those of servers that do not answer are left out. */
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
        if (tkl_is_transient(all->items[i].code))
            continue;
        tkl_queue_options options = {.partitions = all->items[i].partitions};
        failed = cli_end(
            cli, tkl_queue_open(client, all->items[i].name, &options, &(*queues)[(*count)++]));
    }
    tkl_queue_overview_free(all);
    return failed;
}

/* Opens the queue that is named, or else every queue. Close them even after a failure. */
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
                     cli_json_known(worker->pid), "program", cli_json_present(worker->program),
                     "label", cli_json_present(worker->label), "threads",
                     cli_json_known(worker->threads), "waiting", worker->waiting, "done",
                     (json_int_t)worker->done, "failed", (json_int_t)worker->failed, "seen_at",
                     cli_json_time(worker->seen_ms), "lease_ms", cli_json_known(worker->lease_ms),
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
                     cli_json_present(worker->host), "pid", cli_json_known(worker->pid), "program",
                     cli_json_present(worker->program), "label", cli_json_present(worker->label),
                     "threads", cli_json_known(worker->threads), "running",
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

/* ---- flow ---------------------------------------------------------------- */

#define FLOW_JOBS 50

static const cli_column flow_columns[] = {
    {"id", "ID"},       {"state", "STATE"},
    {"kind", "KIND"},   {"waits_for", "WAITS FOR"},
    {"after", "AFTER"}, {0},
};

/* The jobs that a job waits for: an array, or a text for people. */
static json_t *after_json(const cli_session *cli, const tkl_flow *flow, const tkl_flow_job *job)
{
    json_t *ids = json_array();
    for (size_t i = 0; i < job->after_count; i++)
        json_array_append_new(ids, json_string(flow->items[job->after[i]].id));
    if (cli->json)
        return ids;
    json_t *text = json_string("");
    for (size_t i = 0; i < job->after_count; i++) {
        json_t *longer = json_pack("s++", json_string_value(text), i > 0 ? " " : "",
                                   json_string_value(json_array_get(ids, i)));
        json_decref(text);
        text = longer;
    }
    json_decref(ids);
    return text;
}

static int print_flow(const cli_session *cli, const tkl_flow *flow)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < flow->count; i++) {
        const tkl_flow_job *job = &flow->items[i];
        json_array_append_new(rows, json_pack("{s:s, s:s, s:o, s:I, s:o}", "id", job->id, "state",
                                              tkl_job_state_name(job->state), "kind",
                                              cli_json_present(job->kind), "waits_for",
                                              (json_int_t)job->waits_for, "after",
                                              after_json(cli, flow, job)));
    }
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:o, s:I}", "jobs", rows, "not_listed", (json_int_t)flow->more));
    int failed = cli_print_rows(cli, rows, flow_columns);
    if (!failed && flow->more > 0)
        fprintf(stderr, "More jobs of this flow: %" PRId64 "\n", flow->more);
    return failed;
}

int cli_queue_flow(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_flow *flow = NULL;
    int64_t max = cli_number(cli, "max", FLOW_JOBS);
    if (max < 1 || max > TKL_FLOW_MAX)
        return cli_usage(cli, "--max is 1 to %d", TKL_FLOW_MAX);
    int failed = cli_queue_open(cli, 0, &queue);
    if (failed)
        return failed;
    int code = tkl_queue_flow(queue, cli->argv[1], (size_t)max, &flow);
    if (code == TKL_OK)
        failed = print_flow(cli, flow);
    else
        failed = code == TKL_NOTFOUND ? cli_fail(cli, CLI_NO, "no such job (any more)")
                                      : cli_end(cli, code);
    tkl_flow_free(flow);
    tkl_queue_close(queue);
    return failed;
}

/* ---- why ----------------------------------------------------------------- */

/* Prints "1 job" or "2 jobs". */
static void print_jobs(int64_t count)
{
    printf("%" PRId64 " %s", count, count == 1 ? "job" : "jobs");
}

/* Prints "NUMBER in PERIOD". */
static void print_rate(const tkl_queue_reason *reason)
{
    char period[CLI_DURATION_SIZE];
    printf("%" PRId64 " in %s", reason->limit, cli_duration_text(reason->used, period));
}

static void print_text(const char *before, tkl_bytes text)
{
    if (text.len == 0)
        return;
    fputs(before, stdout);
    cli_print_bytes(text);
}

/* Prints a cause as a sentence. */
static void print_reason(const tkl_queue_reason *reason)
{
    char time[CLI_TIME_SIZE];
    cli_time_text(reason->time_ms, time);
    switch (reason->cause) {
    case TKL_QUEUE_CAUSE_PAUSED:
        fputs("the queue is paused: tackle queue resume", stdout);
        break;
    case TKL_QUEUE_CAUSE_CONCURRENCY:
        print_jobs(reason->used);
        printf(" claimed, and the concurrency is %" PRId64, reason->limit);
        break;
    case TKL_QUEUE_CAUSE_RATE:
        fputs("the rate is used up: ", stdout);
        print_rate(reason);
        printf("; it allows the next one at %s", time);
        break;
    case TKL_QUEUE_CAUSE_NO_WORKER:
        fputs("no worker was heard of", stdout);
        break;
    case TKL_QUEUE_CAUSE_BUSY:
        fputs("no worker waits; they have ", stdout);
        print_jobs(reason->used);
        if (reason->limit > 0)
            printf(" and room for %" PRId64 " at once", reason->limit);
        break;
    case TKL_QUEUE_CAUSE_BEHIND:
        fputs("it is behind ", stdout);
        print_jobs(reason->used);
        fputs(" that are ready", stdout);
        break;
    case TKL_QUEUE_CAUSE_DELAYED:
        printf("it is delayed until %s", time);
        break;
    case TKL_QUEUE_CAUSE_RETRY:
        printf("failures: %" PRId64 "; it is retried at %s", reason->used, time);
        print_text(": ", reason->text);
        break;
    case TKL_QUEUE_CAUSE_GROUP_CONCURRENCY:
        print_text("its group ", reason->text);
        fputs(" has ", stdout);
        print_jobs(reason->used);
        printf(" that started, and may have %" PRId64, reason->limit);
        break;
    case TKL_QUEUE_CAUSE_GROUP_RATE:
        print_text("the rate of its group ", reason->text);
        fputs(" is used up: ", stdout);
        print_rate(reason);
        if (*time)
            printf("; it allows the next one at %s", time);
        break;
    case TKL_QUEUE_CAUSE_FLOW:
    case TKL_QUEUE_CAUSE_FLOW_DEAD:
        fputs("it waits for ", stdout);
        print_jobs(reason->used);
        if (*reason->id)
            printf(": %s", reason->id);
        if (reason->cause == TKL_QUEUE_CAUSE_FLOW_DEAD)
            fputs(", which is a dead letter: retry it, or delete it", stdout);
        break;
    case TKL_QUEUE_CAUSE_RUNS:
        fputs("it runs", stdout);
        print_text(" at ", reason->text);
        if (*time)
            printf(" since %s", time);
        break;
    case TKL_QUEUE_CAUSE_DEAD:
        printf("it is a dead letter since %s", time);
        print_text(": ", reason->text);
        break;
    }
    putchar('\n');
}

static json_t *reason_json(const tkl_queue_reason *reason)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s?}", "cause",
                     tkl_queue_cause_name(reason->cause), "used", cli_json_known(reason->used),
                     "limit", cli_json_known(reason->limit), "time", cli_json_time(reason->time_ms),
                     "text", cli_json_present(reason->text), "id", *reason->id ? reason->id : NULL);
}

static int print_reasons(const cli_session *cli, const tkl_queue_reasons *reasons)
{
    if (cli->json) {
        json_t *causes = json_array();
        for (size_t i = 0; i < reasons->count; i++)
            json_array_append_new(causes, reason_json(&reasons->items[i]));
        return cli_print_json(cli, json_pack("{s:s, s:s, s:o}", "id", reasons->id, "state",
                                             tkl_job_state_name(reasons->state), "causes", causes));
    }
    for (size_t i = 0; i < reasons->count; i++) {
        printf("%s: ", reasons->id);
        print_reason(&reasons->items[i]);
    }
    if (reasons->count == 0)
        printf("%s: nothing holds it back: a worker gets it in a moment\n", reasons->id);
    return CLI_OK;
}

int cli_queue_why(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_queue_reasons *reasons = NULL;
    const char *id = cli->argc > 1 ? cli->argv[1] : NULL;
    int failed = cli_queue_open(cli, 0, &queue);
    if (failed)
        return failed;
    int code = tkl_queue_why(queue, id, &reasons);
    if (code == TKL_OK)
        failed = print_reasons(cli, reasons);
    else if (code != TKL_NOTFOUND)
        failed = cli_end(cli, code);
    else if (id != NULL)
        failed = cli_fail(cli, CLI_NO, "no such job (any more)");
    else if (!(failed = cli_queue_known(cli, queue)))
        failed = cli_no(cli, TKL_NOTFOUND, "no job waits");
    tkl_queue_reasons_free(reasons);
    tkl_queue_close(queue);
    return failed;
}
