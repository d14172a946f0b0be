/* SPDX-License-Identifier: MIT
 *
 * `tackle queue push`: one job, several, or one for each line of standard input.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "items.h"
#include "progress.h"
#include "queue.h"

enum {
    REQUEST_SIZE = 65,
    FLOW_MAX = 999,
    REQUEST_MAX = 52, /* most bytes of the user's request id; the rest is for the number of the
                         batch */
};

/* ---- Options ------------------------------------------------------------- */

static int read_unique(const cli_session *cli, tkl_push *job)
{
    job->unique = tkl_str(cli_text(cli, "unique", ""));
    bool unique = cli_flag(cli, "unique") || cli_flag(cli, "unique-payload");
    if (cli_flag(cli, "unique") && job->unique.len == 0)
        return cli_usage(cli, "invalid --unique: must not be empty");
    if (cli_flag(cli, "unique") && cli_flag(cli, "unique-payload"))
        return cli_usage(cli, "either --unique or --unique-payload");
    if (!unique && (cli_flag(cli, "unique-for") || cli_flag(cli, "until")))
        return cli_usage(cli, "--unique-for and --until need --unique KEY");
    if (cli_flag(cli, "unique-for") && cli_flag(cli, "until"))
        return cli_usage(cli, "either --unique-for or --until");
    job->unique_ms = cli_number(cli, "unique-for", 0);
    if (strcmp(cli_text(cli, "until", "finished"), "started") == 0)
        job->unique_mode = TKL_UNIQUE_UNTIL_STARTED;
    if (cli_flag(cli, "unique-for"))
        job->unique_mode = TKL_UNIQUE_FOR_A_TIME;
    return CLI_OK;
}

/* For the user 0 means none; for the library it means the default. */
static int read_retries(const cli_session *cli, tkl_push *job)
{
    int64_t retries = cli_number(cli, "retries", 0);
    if (retries < 0 || retries > INT32_MAX)
        return cli_usage(cli, "invalid --retries: 0 to %d", INT32_MAX);
    job->retries = cli_flag(cli, "retries") && retries == 0 ? -1 : (int)retries;
    job->backoff_ms = cli_number(cli, "backoff", 0);
    job->backoff_max_ms = cli_number(cli, "backoff-max", 0);
    return CLI_OK;
}

int cli_queue_job(const cli_session *cli, tkl_push *job)
{
    int64_t priority = cli_number(cli, "priority", 0);
    *job = (tkl_push){
        .meta = tkl_str(cli_text(cli, "meta", "")),
        .priority = (int)priority,
        .group = tkl_str(cli_text(cli, "group", "")),
        .kind = tkl_str(cli_text(cli, "kind", "")),
        .time_limit_ms = cli_number(cli, "time-limit", 0),
        .result_ms = cli_number(cli, "result-for", 0),
    };
    if (priority < TKL_PRIORITY_MIN || priority > TKL_PRIORITY_MAX)
        return cli_usage(cli, "invalid --priority: %d to %d, lower is served first",
                         TKL_PRIORITY_MIN, TKL_PRIORITY_MAX);
    int failed = read_unique(cli, job);
    return failed ? failed : read_retries(cli, job);
}

/* ---- Pushing ------------------------------------------------------------- */

typedef struct pushing {
    tkl_queue *queue;
    tkl_push model; /* options of every job, without its payload */
    unsigned batch; /* number of the batch, for its request id */
    uint64_t pushed;
    uint64_t existed; /* jobs that existed already, by their unique key */
    uint64_t refused; /* jobs refused because the queue is full */
    json_t *ids;      /* ids of the jobs; NULL: not needed */
    cli_progress progress;
} pushing;

/* A repeated command repeats the same batches, each under the user's id and its own number. */
static tkl_bytes request_of(const cli_session *cli, pushing *p, char text[REQUEST_SIZE])
{
    const char *request = cli_text(cli, "request", NULL);
    if (request == NULL)
        return tkl_str("");
    if (cli_flag(cli, "lines"))
        snprintf(text, REQUEST_SIZE, "%s:%u", request, p->batch++);
    else
        snprintf(text, REQUEST_SIZE, "%s", request);
    return tkl_str(text);
}

static void note_pushed(pushing *p, const tkl_pushed *pushed)
{
    p->pushed += pushed->code == TKL_OK || pushed->code == TKL_EXISTS;
    p->existed += pushed->code == TKL_EXISTS;
    p->refused += pushed->code == TKL_FULL;
    if (p->ids != NULL)
        json_array_append_new(p->ids, *pushed->id != '\0' ? json_string(pushed->id) : json_null());
}

/* Reports a full queue, with the ids of the jobs that it accepted. */
static int push_jobs(cli_session *cli, pushing *p, const tkl_push *jobs, size_t count)
{
    char text[REQUEST_SIZE];
    tkl_pushed *pushed = calloc(count, sizeof *pushed);
    if (pushed == NULL)
        return cli_end(cli, TKL_ENOMEM);
    tkl_push_options options = {.request = request_of(cli, p, text)};
    int code = tkl_queue_push(p->queue, jobs, count, &options, pushed);
    for (size_t i = 0; i < count; i++)
        note_pushed(p, &pushed[i]);
    free(pushed);
    cli_progress_update(&p->progress, p->pushed);
    if (code == TKL_OK)
        return CLI_OK;
    cli_progress_end(&p->progress);
    int exit = cli_end(cli, code);
    if (p->pushed > 0)
        cli_fail(cli, exit, "%" PRIu64 " were pushed before", p->pushed);
    return exit;
}

/* Makes jobs of these payloads. */
static void make_jobs(const cli_session *cli, const pushing *p, const tkl_bytes *items,
                      size_t count, tkl_push *jobs)
{
    for (size_t i = 0; i < count; i++) {
        jobs[i] = p->model;
        jobs[i].payload = items[i];
        if (cli_flag(cli, "unique-payload"))
            jobs[i].unique = items[i];
    }
}

static int push_some(cli_session *cli, const tkl_bytes *items, size_t count, pushing *p)
{
    tkl_push *jobs = calloc(count, sizeof *jobs);
    if (jobs == NULL)
        return cli_end(cli, TKL_ENOMEM);
    make_jobs(cli, p, items, count, jobs);
    int failed = push_jobs(cli, p, jobs, count);
    free(jobs);
    return failed;
}

/* Pushes jobs, and behind them the one that waits for all of them. */
static int push_flow(cli_session *cli, const tkl_bytes *items, size_t count, pushing *p)
{
    tkl_push jobs[FLOW_MAX + 1];
    size_t after[FLOW_MAX];
    make_jobs(cli, p, items, count, jobs);
    for (size_t i = 0; i < count; i++)
        after[i] = i;
    jobs[count] = p->model;
    jobs[count].payload = tkl_str(cli_text(cli, "then", ""));
    jobs[count].unique = tkl_str("");
    jobs[count].unique_mode = TKL_UNIQUE_UNTIL_FINISHED;
    jobs[count].unique_ms = 0;
    jobs[count].after = after;
    jobs[count].after_count = count;
    return push_jobs(cli, p, jobs, count + 1);
}

static int push_arguments(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    return cli_flag(cli, "then") ? push_flow(cli, items, count, arg)
                                 : push_some(cli, items, count, arg);
}

static bool is_single(const cli_session *cli)
{
    return cli->argc <= 2 && !cli_flag(cli, "lines") && !cli_flag(cli, "then");
}

/* Whether the payload is standard input. */
static bool reads_input(const cli_session *cli)
{
    return cli->argc < 2 || (cli->argc == 2 && strcmp(cli->argv[1], "-") == 0);
}

static int push_all(cli_session *cli, pushing *p)
{
    tkl_bytes payload;
    if (cli->argc > 2 || cli_flag(cli, "lines"))
        return cli_items(cli, 1, push_arguments, p);
    int failed = cli_payload(cli, 1, &payload);
    if (!failed && reads_input(cli) && payload.len == 0 && !cli_flag(cli, "empty"))
        failed = cli_usage(cli, "standard input is empty: nothing was pushed; --empty pushes a job "
                                "with an empty payload");
    return failed ? failed : push_arguments(cli, &payload, 1, p);
}

/* ---- Printing ------------------------------------------------------------ */

static json_t *result_of(const pushing *p)
{
    return json_pack("{s:O, s:I}", "ids", p->ids, "existed", (json_int_t)p->existed);
}

static void print_ids(const json_t *ids)
{
    for (size_t i = 0; i < json_array_size(ids); i++)
        if (json_is_string(json_array_get(ids, i)))
            puts(json_string_value(json_array_get(ids, i)));
}

static int print_pushed(const cli_session *cli, const pushing *p)
{
    if (cli->json)
        return cli_print_json(cli, result_of(p));
    if (!cli_flag(cli, "lines"))
        print_ids(p->ids);
    else
        printf("%" PRIu64 " pushed\n", p->pushed - p->existed);
    if (p->existed > 0 && is_single(cli))
        cli_fail(cli, CLI_OK, "a job with this unique key is there already");
    else if (p->existed > 0)
        cli_fail(cli, CLI_OK, "%" PRIu64 " with their unique keys were there already", p->existed);
    return CLI_OK;
}

/* ---- The verb ------------------------------------------------------------ */

static int check_usage(const cli_session *cli)
{
    if (cli_flag(cli, "delay") && cli_flag(cli, "at"))
        return cli_usage(cli, "either --delay or --at");
    if (cli_flag(cli, "then") && cli_flag(cli, "lines"))
        return cli_usage(cli, "--then is for payloads that are named, not for --lines");
    if (cli_flag(cli, "empty") && (!reads_input(cli) || cli_flag(cli, "lines")))
        return cli_usage(cli, "--empty is for a payload from standard input");
    if (cli_flag(cli, "then") && cli->argc - 1 > FLOW_MAX)
        return cli_usage(cli, "--then waits for %d jobs at most", FLOW_MAX);
    size_t request = strlen(cli_text(cli, "request", "-"));
    if (request == 0 || request > REQUEST_MAX)
        return cli_usage(cli, "invalid --request: 1 to %d bytes", REQUEST_MAX);
    return CLI_OK;
}

int cli_queue_push(cli_session *cli)
{
    pushing p = {0};
    int failed = check_usage(cli);
    if (!failed)
        failed = cli_queue_job(cli, &p.model);
    p.model.delay_ms = cli_number(cli, "delay", 0);
    p.model.at_ms = cli_number(cli, "at", 0);
    if (!failed)
        failed = cli_queue_open(cli, 0, &p.queue);
    if (failed)
        return failed;
    p.ids = cli->json || !cli_flag(cli, "lines") ? json_array() : NULL;
    if (cli_flag(cli, "lines"))
        cli_progress_start(&p.progress, "pushed", 0);
    failed = push_all(cli, &p);
    cli_progress_end(&p.progress);
    if (!failed || (p.refused > 0 && p.pushed > 0)) {
        int unprinted = print_pushed(cli, &p);
        failed = failed ? failed : unprinted;
    }
    json_decref(p.ids);
    tkl_queue_close(p.queue);
    return failed;
}
