/* SPDX-License-Identifier: MIT
 *
 * Jobs by hand, for scripts that cannot be one command: claim, then ack, fail, release or renew
 * with the id and the token.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patience.h"
#include "queue.h"

/* ---- claim --------------------------------------------------------------- */

static const cli_column fields[] = {
    {"id", "id"},
    {"token", "token"},
    {"queue", "queue"},
    {"kind", "kind"},
    {"priority", "priority"},
    {"attempt", "attempt"},
    {"group", "group"},
    {"meta", "meta"},
    {"error", "failed before"},
    {"payload", "payload"},
    {0},
};

json_t *cli_queue_claim_json(const char *queue, const tkl_job *job, int64_t lease_ms)
{
    json_t *limit = job->time_limit_ms > 0 ? json_integer(job->time_limit_ms) : json_null();
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:I, s:o, s:o, s:o}", "id",
                     job->id, "token", job->token, "queue", cli_json_bytes(tkl_str(queue)), "kind",
                     cli_json_present(job->kind), "payload", cli_json_bytes(job->payload),
                     "priority", job->priority, "attempt", job->attempt, "retries", job->retries,
                     "time_limit_ms", limit, "pushed_at", cli_json_time(job->pushed_ms), "lease_ms",
                     (json_int_t)lease_ms, "meta", cli_json_present(job->meta), "group",
                     cli_json_present(job->group), "error", cli_json_present(job->error));
}

typedef struct claiming {
    tkl_queue **queues;
    size_t count;
    tkl_consumer *consumer;
    int64_t lease_ms;
} claiming;

/* If this fails, the job returns to the queue when its lease ends. */
static void release_job(const tkl_job *job)
{
    int code =
        tkl_queue_finish(job->queue, job->id, job->token, TKL_OUTCOME_RELEASED, tkl_str(""), 0);
    (void)code;
}

/* Prints a claimed job. If printing fails, nobody could finish the job, so it is released. */
static int print_claim(const cli_session *cli, const claiming *p, const tkl_job *job)
{
    const char *queue = cli_queue_name(cli, p->queues, job->queue);
    json_t *object = cli_queue_claim_json(queue, job, p->lease_ms);
    if (!cli->json)
        cli_queue_drop_nulls(object);
    int failed = cli_print_record(cli, object, fields);
    if (!failed)
        failed = cli_flush(cli);
    if (failed)
        release_job(job);
    return failed;
}

static void cancel_claim(void *consumer)
{
    tkl_consumer_cancel(consumer);
}

static int claim_jobs(cli_session *cli, const claiming *p, tkl_jobs **jobs)
{
    int failed = cli_patience_begin(cli, cancel_claim, p->consumer);
    if (failed)
        return failed;
    int code = tkl_consumer_claim(p->consumer, 1, cli_number(cli, "wait", 0), jobs);
    cli_patience_end(cli);
    if (cli_patience_signal() != 0) {
        for (size_t i = 0; *jobs != NULL && i < (*jobs)->count; i++)
            release_job(&(*jobs)->items[i]);
        return cli_end_of_signal(cli, cli_patience_signal());
    }
    return code == TKL_EMPTY ? cli_no(cli, code, "no job") : cli_end(cli, code);
}

static int claim_from(cli_session *cli, claiming *p)
{
    tkl_jobs *jobs = NULL;
    tkl_consumer_options options = {.lease_ms = p->lease_ms, .no_renewal = true};
    int failed = cli_end(cli, tkl_consumer_open(p->queues, p->count, &options, &p->consumer));
    if (!failed)
        failed = claim_jobs(cli, p, &jobs);
    if (!failed)
        failed = print_claim(cli, p, &jobs->items[0]);
    tkl_jobs_free(jobs);
    tkl_consumer_close(p->consumer);
    return failed;
}

int cli_queue_claim(cli_session *cli)
{
    claiming p = {.count = (size_t)cli->argc,
                  .lease_ms = cli_number(cli, "lease", CLI_QUEUE_LEASE_MS)};
    int failed = cli_queue_open_all(cli, p.count, &p.queues);
    if (!failed)
        failed = claim_from(cli, &p);
    cli_queue_close_all(p.queues, p.count);
    return failed;
}

/* ---- ack, fail, release, renew ------------------------------------------ */

/* The end of a verb about a claim. */
static int end_or_stale(const cli_session *cli, int code)
{
    return code == TKL_NOTOWNER
               ? cli_no(cli, code,
                        "this claim is not valid (any more): its lease ended, the job "
                        "was finished or cancelled")
               : cli_end(cli, code);
}

static int print_outcome(const cli_session *cli, tkl_outcome outcome)
{
    if (!cli->json)
        return CLI_OK;
    return cli_print_json(
        cli, json_pack("{s:s, s:s}", "id", cli->argv[1], "outcome", tkl_outcome_name(outcome)));
}

/* --delay 0 of a failed job means at once; in the library 0 means the backoff, so 1 ms is used. */
static int64_t delay_of(const cli_session *cli, tkl_outcome outcome)
{
    if (outcome == TKL_OUTCOME_FAILED && cli_flag(cli, "delay"))
        return cli_number(cli, "delay", 0) > 0 ? cli_number(cli, "delay", 0) : 1;
    return outcome == TKL_OUTCOME_RELEASED ? cli_number(cli, "delay", 0) : 0;
}

static int finish_job(cli_session *cli, tkl_outcome outcome, tkl_bytes text)
{
    tkl_queue *queue = NULL;
    int64_t delay_ms = delay_of(cli, outcome);
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = end_or_stale(
            cli, tkl_queue_finish(queue, cli->argv[1], cli->argv[2], outcome, text, delay_ms));
    tkl_queue_close(queue);
    return failed ? failed : print_outcome(cli, outcome);
}

/* The result "-" is standard input: it may be of any size and any bytes. */
int cli_queue_ack(cli_session *cli)
{
    tkl_bytes result = tkl_str(cli_text(cli, "result", ""));
    bool is_input = cli->sink == NULL && strcmp(result.data, "-") == 0;
    int failed = is_input ? cli_payload(cli, cli->argc, &result) : CLI_OK;
    return failed ? failed : finish_job(cli, TKL_OUTCOME_DONE, result);
}

int cli_queue_fail(cli_session *cli)
{
    bool dead = cli_flag(cli, "dead");
    if (dead && cli_flag(cli, "delay"))
        return cli_usage(cli, "either --dead or --delay");
    return finish_job(cli, dead ? TKL_OUTCOME_DEAD : TKL_OUTCOME_FAILED,
                      tkl_str(cli_text(cli, "reason", "")));
}

int cli_queue_release(cli_session *cli)
{
    return finish_job(cli, TKL_OUTCOME_RELEASED, tkl_str(""));
}

int cli_queue_renew(cli_session *cli)
{
    tkl_queue *queue = NULL;
    int64_t lease_ms = cli_number(cli, "lease", CLI_QUEUE_LEASE_MS);
    tkl_bytes progress = tkl_str(cli_text(cli, "progress", ""));
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = end_or_stale(
            cli, tkl_queue_renew(queue, cli->argv[1], cli->argv[2], lease_ms, progress));
    tkl_queue_close(queue);
    if (failed || !cli->json)
        return failed;
    return cli_print_json(
        cli, json_pack("{s:s, s:I}", "id", cli->argv[1], "lease_ms", (json_int_t)lease_ms));
}
