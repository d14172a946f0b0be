/* SPDX-License-Identifier: MIT
 *
 * For operators: cancel, promote, requeue, edit, pause, drain, settings.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "holders.h"
#include "queue.h"
#include "value.h"

int cli_queue_print_count(const cli_session *cli, const char *what, int64_t count)
{
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                        what, (json_int_t)count));
    printf("%" PRId64 " %s\n", count, what);
    return CLI_OK;
}

/* ---- One job, or several by id ------------------------------------------- */

/* Reports why nothing was done with a job. */
static int refuse_job(const cli_session *cli, const char *id, int code, const char *missing)
{
    if (code == TKL_NOTFOUND)
        return cli_fail(cli, CLI_NO, "%s: %s", id, missing);
    if (code == TKL_BUSY)
        return cli_no(cli, code, "%s: its lease runs; --force takes it away from its worker", id);
    return cli_end(cli, code);
}

int cli_queue_for_ids(cli_session *cli, tkl_queue *queue, int first, cli_queue_job_fn *work,
                      void *arg, const char *missing, const char *what)
{
    int64_t count = 0;
    int failed = CLI_OK;
    for (int i = first; i < cli->argc && (failed == CLI_OK || failed == CLI_NO); i++) {
        int code = work(queue, cli->argv[i], arg);
        if (code == TKL_OK)
            count++;
        else
            failed = refuse_job(cli, cli->argv[i], code, missing);
    }
    if (failed && (failed != CLI_NO || count == 0))
        return failed;
    int unprinted = cli_queue_print_count(cli, what, count);
    return failed ? failed : unprinted;
}

/* A verb that changes a job by its id. */
typedef struct job_verb {
    cli_queue_job_fn *act;
    cli_queue_job_fn *judge; /* for --dry-run: the code that `act` would return */
    const char *missing;     /* text for TKL_NOTFOUND: "not delayed (any more)" */
    const char *done;        /* "promoted" */
} job_verb;

/* Does the verb, or counts with --dry-run, for the ids among the arguments. */
static int for_ids(cli_session *cli, const job_verb *verb, void *arg)
{
    tkl_queue *queue = NULL;
    bool dry = cli_flag(cli, "dry-run");
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli_queue_for_ids(cli, queue, 1, dry ? verb->judge : verb->act, arg, verb->missing,
                                   dry ? "matching" : verb->done);
    tkl_queue_close(queue);
    return failed;
}

/* Finds the state of a job, and whether a worker has it, or its lease has ended. */
static int look_at(tkl_queue *queue, const char *id, tkl_job_state *state, bool *claimed)
{
    tkl_listing *listing = NULL;
    int code = tkl_queue_show(queue, id, 1, &listing);
    *state = code == TKL_OK ? listing->items[0].state : TKL_JOB_STATE_UNKNOWN;
    *claimed = code == TKL_OK && (*state == TKL_JOB_STATE_ACTIVE || *listing->items[0].worker);
    tkl_listing_free(listing);
    return code == TKL_OK && *state == TKL_JOB_STATE_DONE ? TKL_NOTFOUND : code;
}

static int cancel_one(tkl_queue *queue, const char *id, void *unused)
{
    (void)unused;
    return tkl_queue_cancel(queue, id);
}

static int judge_cancel(tkl_queue *queue, const char *id, void *unused)
{
    tkl_job_state state;
    bool claimed;
    (void)unused;
    return look_at(queue, id, &state, &claimed);
}

static int promote_one(tkl_queue *queue, const char *id, void *unused)
{
    (void)unused;
    return tkl_queue_promote(queue, id);
}

static int judge_promote(tkl_queue *queue, const char *id, void *unused)
{
    tkl_job_state state;
    bool claimed;
    (void)unused;
    int code = look_at(queue, id, &state, &claimed);
    return code == TKL_OK && state != TKL_JOB_STATE_DELAYED ? TKL_NOTFOUND : code;
}

static int requeue_one(tkl_queue *queue, const char *id, void *force)
{
    return tkl_queue_requeue(queue, id, *(bool *)force);
}

static int judge_requeue(tkl_queue *queue, const char *id, void *force)
{
    tkl_job_state state;
    bool claimed;
    int code = look_at(queue, id, &state, &claimed);
    if (code != TKL_OK || !claimed)
        return code == TKL_OK ? TKL_NOTFOUND : code;
    return state == TKL_JOB_STATE_ACTIVE && !*(bool *)force ? TKL_BUSY : TKL_OK;
}

int cli_queue_cancel(cli_session *cli)
{
    return for_ids(
        cli, &(job_verb){cancel_one, judge_cancel, "no such job (any more)", "cancelled"}, NULL);
}

int cli_queue_promote(cli_session *cli)
{
    return for_ids(
        cli, &(job_verb){promote_one, judge_promote, "not delayed (any more)", "promoted"}, NULL);
}

int cli_queue_requeue(cli_session *cli)
{
    bool force = cli_flag(cli, "force");
    return for_ids(
        cli, &(job_verb){requeue_one, judge_requeue, "not claimed (any more)", "requeued"}, &force);
}

/* ---- Editing ------------------------------------------------------------- */

static int edit_job(tkl_queue *queue, const char *id, tkl_bytes payload, bool dry)
{
    tkl_job_state state;
    bool claimed;
    if (!dry)
        return tkl_queue_edit(queue, id, payload);
    int code = look_at(queue, id, &state, &claimed);
    return code == TKL_OK && claimed ? TKL_BUSY : code;
}

/* An empty standard input most likely means that the command before the pipe has failed. */
static int read_new_payload(cli_session *cli, tkl_bytes *payload)
{
    bool reads_input = cli->argc < 3 || strcmp(cli->argv[2], "-") == 0;
    int failed = cli_payload(cli, 2, payload);
    if (!failed && reads_input && payload->len == 0 && !cli_flag(cli, "empty"))
        failed = cli_usage(cli, "standard input is empty: nothing was changed; --empty makes the "
                                "payload empty");
    return failed;
}

int cli_queue_edit(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_bytes payload;
    const char *id = cli->argv[1];
    bool dry = cli_flag(cli, "dry-run");
    int failed = read_new_payload(cli, &payload);
    if (!failed)
        failed = cli_queue_open(cli, 0, &queue);
    int code = failed ? TKL_OK : edit_job(queue, id, payload, dry);
    tkl_queue_close(queue);
    if (code == TKL_BUSY)
        return cli_no(cli, code, "%s: a worker has it", id);
    if (code != TKL_OK)
        return refuse_job(cli, id, code, "no such job (any more)");
    return failed ? failed : cli_queue_print_count(cli, dry ? "matching" : "edited", 1);
}

/* ---- The whole queue ----------------------------------------------------- */

static int change(cli_session *cli, int (*work)(tkl_queue *queue), const char *what)
{
    tkl_queue *queue = NULL;
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli_end_of(cli, work(queue), "queue");
    tkl_queue_close(queue);
    return failed ? failed : cli_print_done(cli, what);
}

static int check_known(cli_session *cli)
{
    tkl_queue *queue = NULL;
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli_queue_known(cli, queue);
    tkl_queue_close(queue);
    return failed;
}

int cli_queue_pause(cli_session *cli)
{
    if (cli_flag(cli, "schedule"))
        return cli_queue_pause_schedule(cli);
    int failed = check_known(cli);
    return failed ? failed : change(cli, tkl_queue_pause, "paused");
}

int cli_queue_resume(cli_session *cli)
{
    if (cli_flag(cli, "schedule"))
        return cli_queue_resume_schedule(cli);
    int failed = check_known(cli);
    return failed ? failed : change(cli, tkl_queue_resume, "resumed");
}

int cli_queue_drop(cli_session *cli)
{
    int failed = cli_confirm(
        cli, "This removes the queue '%s' with all its jobs, totals, settings and schedules.",
        cli->argv[0]);
    return failed ? failed : change(cli, tkl_queue_drop, "dropped");
}

int cli_queue_drain(cli_session *cli)
{
    tkl_queue *queue = NULL;
    int64_t count = 0;
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli_queue_known(cli, queue);
    if (!failed)
        failed = cli_confirm(cli, "This removes all jobs of '%s' that no worker has claimed.",
                             cli->argv[0]);
    if (!failed)
        failed = cli_end(cli, tkl_queue_drain(queue, &count));
    tkl_queue_close(queue);
    return failed ? failed : cli_queue_print_count(cli, "removed", count);
}

/* ---- Settings ------------------------------------------------------------ */

static const cli_column limit_fields[] = {
    {"max_jobs", "jobs at most"},
    {"max_bytes", "bytes at most"},
    {"concurrency", "claimed at once"},
    {"rate", "claims"},
    {"group_concurrency", "of a group at once"},
    {"group_rate", "claims of a group"},
    {"dead_max", "dead letters kept"},
    {"dead_for", "and for"},
    {"keep", "done jobs kept for"},
    {"keep_max", "of them, at most"},
    {"keep_bytes", "bytes, at most"},
    {0},
};

static json_t *number_text(int64_t number, const char *otherwise)
{
    return number > 0 ? json_integer((json_int_t)number) : json_string(otherwise);
}

static json_t *rate_text(int64_t count, int64_t period_ms)
{
    char text[64], period[CLI_DURATION_SIZE];
    if (count <= 0)
        return json_string("no limit");
    snprintf(text, sizeof text, "%" PRId64 " in %s", count, cli_duration_text(period_ms, period));
    return json_string(text);
}

static json_t *shown(int64_t limit)
{
    return limit == TKL_NONE || limit == 0 ? json_null() : json_integer((json_int_t)limit);
}

static json_t *limits_text(const tkl_queue_limits *l)
{
    char text[CLI_DURATION_SIZE], keep[CLI_DURATION_SIZE];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:s, s:s, s:I, s:I}", "max_jobs",
                     number_text(l->max_jobs, "no limit"), "max_bytes",
                     number_text(l->max_bytes, "no limit"), "concurrency",
                     number_text(l->concurrency, "no limit"), "rate",
                     rate_text(l->rate, l->rate_period_ms), "group_concurrency",
                     number_text(l->group_concurrency, "no limit"), "group_rate",
                     rate_text(l->group_rate, l->group_rate_period_ms), "dead_max",
                     (json_int_t)l->dead_max, "dead_for", cli_duration_text(l->dead_ms, text),
                     "keep", l->keep_ms > 0 ? cli_duration_text(l->keep_ms, keep) : "not kept",
                     "keep_max", (json_int_t)l->keep_max, "keep_bytes", (json_int_t)l->keep_bytes);
}

static json_t *limits_json(tkl_bytes name, const tkl_queue_limits *l)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        cli_json_bytes(name), "max_jobs", shown(l->max_jobs), "max_bytes", shown(l->max_bytes),
        "concurrency", shown(l->concurrency), "rate", shown(l->rate), "rate_period_ms",
        shown(l->rate_period_ms), "group_concurrency", shown(l->group_concurrency), "group_rate",
        shown(l->group_rate), "group_rate_period_ms", shown(l->group_rate_period_ms), "dead_max",
        shown(l->dead_max), "dead_ms", shown(l->dead_ms), "keep_ms", shown(l->keep_ms), "keep_max",
        shown(l->keep_max), "keep_bytes", shown(l->keep_bytes));
}

/* "none" removes the limit, as 0 does. */
static int read_rate(const cli_session *cli, const char *option, int64_t *count, int64_t *period_ms)
{
    const char *text = cli_text(cli, option, NULL), *wrong = NULL;
    if (text == NULL)
        return CLI_OK;
    if (strcmp(text, "none") == 0 || strcmp(text, "0") == 0)
        *count = *period_ms = TKL_NONE;
    else
        wrong = cli_parse_rate(text, count, period_ms);
    return wrong == NULL ? CLI_OK : cli_usage(cli, "invalid --%s '%s': %s", option, text, wrong);
}

static int read_limits(const cli_session *cli, tkl_queue_limits *l)
{
    const struct {
        const char *option;
        int64_t *setting;
    } numbers[] = {
        {"max-jobs", &l->max_jobs},
        {"max-bytes", &l->max_bytes},
        {"concurrency", &l->concurrency},
        {"group-concurrency", &l->group_concurrency},
        {"dead-max", &l->dead_max},
        {"dead-for", &l->dead_ms},
        {"keep", &l->keep_ms},
        {"keep-max", &l->keep_max},
        {"keep-bytes", &l->keep_bytes},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (cli_number(cli, numbers[i].option, 0) < 0)
            return cli_usage(cli, "invalid --%s: must not be negative", numbers[i].option);
        int64_t value = cli_number(cli, numbers[i].option, -1);
        *numbers[i].setting = value == 0 ? TKL_NONE : value < 0 ? 0 : value;
    }
    int failed = read_rate(cli, "rate", &l->rate, &l->rate_period_ms);
    return failed ? failed : read_rate(cli, "group-rate", &l->group_rate, &l->group_rate_period_ms);
}

/* Shows the settings, after changing those that were given. */
int cli_queue_limit(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_queue_limits limits = {0};
    const tkl_queue_limits unchanged = {0};
    int failed = read_limits(cli, &limits);
    bool change = memcmp(&unchanged, &limits, sizeof limits) != 0;
    if (!failed)
        failed = cli_queue_open(cli, 0, &queue);
    if (!failed && change)
        failed = cli_end(cli, tkl_queue_limits_set(queue, &limits));
    if (!failed && !change)
        failed = cli_queue_known(cli, queue);
    if (!failed)
        failed = cli_end(cli, tkl_queue_limits_get(queue, &limits));
    tkl_queue_close(queue);
    if (failed)
        return failed;
    return cli_print_record(
        cli, cli->json ? limits_json(tkl_str(cli->argv[0]), &limits) : limits_text(&limits),
        limit_fields);
}
