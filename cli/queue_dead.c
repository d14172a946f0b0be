/* SPDX-License-Identifier: MIT
 *
 * `tackle queue dead`, `retry`, `move`: dead letters, by id, by conditions, or all of them; `tackle
 * queue done`: done jobs that are kept, in the same way.
 */
#include <stdio.h>

#include "queue.h"

bool cli_queue_filter(const cli_session *cli, const char *text, tkl_job_filter *filter)
{
    *filter = (tkl_job_filter){
        .kind = tkl_str(cli_text(cli, "kind", "")),
        .reason = tkl_str(cli_text(cli, "reason", "")),
        .text = tkl_str(text),
        .older_ms = cli_number(cli, "older", 0),
    };
    return cli_flag(cli, "kind") || cli_flag(cli, "reason") || cli_flag(cli, "older") ||
           *text != '\0';
}

static bool read_conditions(const cli_session *cli, tkl_job_filter *filter)
{
    return cli_queue_filter(cli, cli_text(cli, "text", ""), filter);
}

typedef int action(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to, int64_t *count);

/* Jobs that are over, as operators choose them. */
typedef struct pile {
    tkl_job_state state;
    action *count, *drop;
    const char *one, *many; /* "dead letter", "dead letters" */
} pile;

/* An action on them. */
typedef struct deed {
    const pile *of;
    action *act;
    tkl_queue *to;    /* for a move */
    const char *done; /* "retried" */
    int first;        /* index of the first id among the arguments */
} deed;

static int count_dead(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to, int64_t *count)
{
    (void)to;
    return tkl_queue_count_dead(queue, filter, count);
}

static int retry_dead(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to, int64_t *count)
{
    (void)to;
    return tkl_queue_retry(queue, filter, count);
}

static int delete_dead(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to,
                       int64_t *count)
{
    (void)to;
    return tkl_queue_drop_dead(queue, filter, count);
}

static int count_done(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to, int64_t *count)
{
    (void)to;
    return tkl_queue_count_done(queue, filter, count);
}

static int delete_done(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to,
                       int64_t *count)
{
    (void)to;
    return tkl_queue_drop_done(queue, filter, count);
}

static const pile dead_letters = {TKL_JOB_STATE_DEAD, count_dead, delete_dead, "dead letter",
                                  "dead letters"};
static const pile done_jobs = {TKL_JOB_STATE_DONE, count_done, delete_done, "done job",
                               "done jobs"};

static int move_dead(tkl_queue *queue, const tkl_job_filter *filter, tkl_queue *to, int64_t *count)
{
    return tkl_queue_move_dead(queue, filter, to, count);
}

/* Acts on one job by its id; a --dry-run counts 0 or 1. */
static int act_on_id(tkl_queue *queue, const char *id, void *arg)
{
    const deed *d = arg;
    int64_t count = 0;
    int code = d->act(queue, &(tkl_job_filter){.id = id}, d->to, &count);
    return code == TKL_OK && count == 0 ? TKL_NOTFOUND : code;
}

/* Acts on all jobs that fit the conditions, or on all jobs. */
static int act_on_many(cli_session *cli, tkl_queue *queue, const deed *d)
{
    int64_t count = 0;
    tkl_job_filter filter;
    bool some = read_conditions(cli, &filter);
    int code = d->act(queue, some ? &filter : NULL, d->to, &count);
    if (code == TKL_NOTFOUND)
        return some ? cli_fail(cli, CLI_NO, "no %s fits", d->of->one)
                    : cli_fail(cli, CLI_NO, "there are no %s", d->of->many);
    int unprinted =
        code == TKL_OK || count > 0 ? cli_queue_print_count(cli, d->done, count) : CLI_OK;
    if (code == TKL_EXISTS)
        return cli_no(cli, code, "some stay: %s has jobs with their unique keys", cli->argv[1]);
    return code == TKL_OK ? unprinted : cli_end(cli, code);
}

/* Checks that it is clear which jobs are meant: ids, conditions, or all. */
static int check_choice(const cli_session *cli, int first, bool all)
{
    tkl_job_filter filter;
    bool ids = cli->argc > first, some = read_conditions(cli, &filter);
    if (ids + all + some == 1)
        return CLI_OK;
    return cli_usage(cli, ids || all || some
                              ? "either ids, or conditions like --kind, or all"
                              : "which ones? ids, conditions like --kind, or all of them");
}

static int act(cli_session *cli, const deed *given)
{
    deed d = *given;
    tkl_queue *queue = NULL;
    char missing[64];
    snprintf(missing, sizeof missing, "not in the %s", d.of->many);
    if (cli_flag(cli, "dry-run")) {
        d.act = d.of->count;
        d.done = "matching";
    }
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli->argc > d.first
                     ? cli_queue_for_ids(cli, queue, d.first, act_on_id, &d, missing, d.done)
                     : act_on_many(cli, queue, &d);
    tkl_queue_close(queue);
    return failed;
}

/* ---- The verbs ----------------------------------------------------------- */

int cli_queue_retry(cli_session *cli)
{
    int failed = check_choice(cli, 1, cli_flag(cli, "all"));
    return failed ? failed : act(cli, &(deed){&dead_letters, retry_dead, NULL, "retried", 1});
}

int cli_queue_move(cli_session *cli)
{
    deed d = {&dead_letters, move_dead, NULL, "moved", 2};
    int failed = check_choice(cli, 2, cli_flag(cli, "all"));
    if (!failed)
        failed = cli_queue_open(cli, 1, &d.to);
    if (!failed)
        failed = act(cli, &d);
    tkl_queue_close(d.to);
    return failed;
}

/* Asks for confirmation first, unless each job is named. */
static int delete_some(cli_session *cli, const pile *of)
{
    int failed = CLI_OK;
    if (cli->argc == 1 && !cli_flag(cli, "dry-run"))
        failed =
            cli_flag(cli, "delete-all")
                ? cli_confirm(cli, "This deletes all %s of '%s'.", of->many, cli->argv[0])
                : cli_confirm(cli, "This deletes the %s of '%s' that fit.", of->many, cli->argv[0]);
    return failed ? failed : act(cli, &(deed){of, of->drop, NULL, "removed", 1});
}

static int list_some(cli_session *cli, const pile *of)
{
    tkl_queue *queue = NULL;
    tkl_job_filter filter;
    bool some = read_conditions(cli, &filter);
    if (cli->argc > 1 || cli_flag(cli, "dry-run"))
        return cli_usage(cli, "ids and --dry-run are for --delete");
    if (some && cli_flag(cli, "skip"))
        return cli_usage(cli, "--skip is for a list without conditions");
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = some ? cli_queue_print_fitting(cli, queue, of->state, &filter)
                      : cli_queue_print_jobs(cli, queue, of->state);
    tkl_queue_close(queue);
    return failed;
}

static int list_or_delete(cli_session *cli, const pile *of)
{
    bool all = cli_flag(cli, "delete-all");
    if (!cli_flag(cli, "delete") && !all)
        return list_some(cli, of);
    int failed = cli_flag(cli, "delete") && all ? cli_usage(cli, "either --delete or --delete-all")
                                                : check_choice(cli, 1, all);
    return failed ? failed : delete_some(cli, of);
}

int cli_queue_dead(cli_session *cli)
{
    return list_or_delete(cli, &dead_letters);
}

int cli_queue_done(cli_session *cli)
{
    return list_or_delete(cli, &done_jobs);
}
