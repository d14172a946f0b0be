/* SPDX-License-Identifier: MIT
 *
 * `tackle queue schedule`, `schedules`, `unschedule`, `fire`; pausing and resuming schedules: jobs
 * that are pushed again and again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"

/* ---- schedule ----------------------------------------------------------------- */

static int read_schedule(const cli_session *cli, tkl_schedule *schedule)
{
    *schedule = (tkl_schedule){
        .cron = cli_text(cli, "cron", NULL),
        .every_ms = cli_number(cli, "every", 0),
        .zone = cli_text(cli, "zone", NULL),
    };
    if (strcmp(cli_text(cli, "missed", "once"), "skip") == 0)
        schedule->missed = TKL_MISSED_SKIP;
    if (cli_flag(cli, "cron") == cli_flag(cli, "every"))
        return cli_usage(cli, "when? --cron 'MINUTE HOUR DAY MONTH WEEKDAY', or --every DURATION");
    if (cli_flag(cli, "zone") && !cli_flag(cli, "cron"))
        return cli_usage(cli, "--zone is for --cron");
    return cli_queue_job(cli, &schedule->job);
}

static int print_done(const cli_session *cli, const char *id, const char *what)
{
    if (!cli->json)
        return CLI_OK;
    return cli_print_json(cli,
                          json_pack("{s:o, s:b}", "id", cli_json_bytes(tkl_str(id)), what, true));
}

static int add_schedule(cli_session *cli, tkl_queue *queue)
{
    tkl_schedule schedule;
    int failed = read_schedule(cli, &schedule);
    if (!failed)
        failed = cli_payload(cli, 2, &schedule.job.payload);
    if (!failed)
        failed = cli_end(cli, tkl_schedule_set(queue, tkl_str(cli->argv[1]), &schedule));
    return failed ? failed : print_done(cli, cli->argv[1], "scheduled");
}

/* ---- unschedule -------------------------------------------------------------- */

static int end_schedule(const cli_session *cli, int code)
{
    return code == TKL_NOTFOUND ? cli_fail(cli, CLI_NO, "no such schedule") : cli_end(cli, code);
}

static int remove_one(cli_session *cli, tkl_queue *queue)
{
    int failed = end_schedule(cli, tkl_schedule_remove(queue, tkl_str(cli->argv[1])));
    return failed ? failed : print_done(cli, cli->argv[1], "unscheduled");
}

/* ---- pause, resume, fire ------------------------------------------------- */

static int pause_schedule(cli_session *cli, tkl_queue *queue)
{
    const char *id = cli_text(cli, "schedule", "");
    int failed = end_schedule(cli, tkl_schedule_pause(queue, tkl_str(id)));
    return failed ? failed : print_done(cli, id, "paused");
}

static int resume_schedule(cli_session *cli, tkl_queue *queue)
{
    const char *id = cli_text(cli, "schedule", "");
    int failed = end_schedule(cli, tkl_schedule_resume(queue, tkl_str(id)));
    return failed ? failed : print_done(cli, id, "resumed");
}

static int fire_one(cli_session *cli, tkl_queue *queue)
{
    char job[TKL_JOB_ID_SIZE];
    int code = tkl_schedule_fire(queue, tkl_str(cli->argv[1]), job);
    if (code != TKL_OK && code != TKL_EXISTS)
        return end_schedule(cli, code);
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:o, s:s, s:i}", "id",
                                             cli_json_bytes(tkl_str(cli->argv[1])), "job", job,
                                             "existed", code == TKL_EXISTS));
    puts(job);
    if (code == TKL_EXISTS)
        cli_fail(cli, CLI_OK, "a job with this unique key is there already");
    return CLI_OK;
}

/* ---- schedules ---------------------------------------------------------------- */

static const cli_column columns[] = {
    {"id", "ID"},        {"when", "WHEN"}, {"when_missed", "MISSED"}, {"next_at", "NEXT"},
    {"last_at", "LAST"}, {"kind", "KIND"}, {"payload", "PAYLOAD"},    {0},
};

static json_t *row_json(const tkl_schedule_info *s)
{
    return json_pack("{s:o, s:o, s:s?, s:s?, s:o, s:s, s:i, s:b, s:o, s:o, s:o}", "id",
                     cli_json_bytes(s->id), "kind", cli_json_present(s->kind), "cron",
                     s->every_ms == 0 ? s->cron : NULL, "zone", s->every_ms == 0 ? s->zone : NULL,
                     "every_ms",
                     s->every_ms != 0 ? json_integer((json_int_t)s->every_ms) : json_null(),
                     "when_missed", s->missed == TKL_MISSED_SKIP ? "skip" : "once", "priority",
                     s->priority, "paused", s->paused, "next_at", cli_json_time(s->next_ms),
                     "last_at", cli_json_time(s->last_ms), "payload", cli_json_bytes(s->payload));
}

static json_t *when_text(const tkl_schedule_info *s)
{
    char *text = NULL, period[CLI_DURATION_SIZE];
    int n = s->every_ms != 0 ? asprintf(&text, "every %s", cli_duration_text(s->every_ms, period))
                             : asprintf(&text, "%s %s", s->cron, s->zone);
    json_t *value = n >= 0 ? json_string(text) : NULL;
    if (n >= 0)
        free(text);
    return value;
}

static json_t *row_text(const tkl_schedule_info *s)
{
    return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "id", cli_json_bytes(s->id), "kind",
                     cli_json_present(s->kind), "when", when_text(s), "when_missed",
                     s->missed == TKL_MISSED_SKIP ? "skip" : "once", "next_at",
                     s->paused ? json_string("paused") : cli_json_time(s->next_ms), "last_at",
                     cli_json_time(s->last_ms), "payload", cli_queue_short(s->payload));
}

static int list_schedules(cli_session *cli, tkl_queue *queue)
{
    tkl_schedules *schedules = NULL;
    int failed = cli_end(cli, tkl_schedule_list(queue, &schedules));
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < schedules->count; i++)
        json_array_append_new(rows, cli->json ? row_json(&schedules->items[i])
                                              : row_text(&schedules->items[i]));
    tkl_schedules_free(schedules);
    return cli_print_rows(cli, rows, columns);
}

/* ---- The verbs ----------------------------------------------------------- */

static int with_queue(cli_session *cli, int (*run)(cli_session *cli, tkl_queue *queue))
{
    tkl_queue *queue = NULL;
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = run(cli, queue);
    tkl_queue_close(queue);
    return failed;
}

int cli_queue_schedule(cli_session *cli)
{
    return with_queue(cli, add_schedule);
}

int cli_queue_schedules(cli_session *cli)
{
    return with_queue(cli, list_schedules);
}

int cli_queue_unschedule(cli_session *cli)
{
    return with_queue(cli, remove_one);
}

int cli_queue_fire(cli_session *cli)
{
    return with_queue(cli, fire_one);
}

int cli_queue_pause_schedule(cli_session *cli)
{
    return with_queue(cli, pause_schedule);
}

int cli_queue_resume_schedule(cli_session *cli)
{
    return with_queue(cli, resume_schedule);
}
