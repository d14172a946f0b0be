/* SPDX-License-Identifier: MIT
 *
 * Looking at queues without changing them: stats, list, peek, find, show, result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue.h"

enum {
    COLUMNS_MAX = 10,
    LEVELS_MAX = TKL_PRIORITY_MAX - TKL_PRIORITY_MIN + 1,
    PAYLOAD_WIDTH = 60, /* bytes of a payload in a table; 3 n, as base64 has no padding then */
    CUT_OF_TABLE = 2 * PAYLOAD_WIDTH, /* bytes to ask for: enough to see that a payload goes on */
};

/* ---- Words --------------------------------------------------------------- */

void cli_queue_drop_nulls(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(object, key);
    }
}

/* The longest beginning that fits and does not end within a character. */
static tkl_bytes beginning(tkl_bytes bytes)
{
    size_t len = PAYLOAD_WIDTH;
    while (len > PAYLOAD_WIDTH - 3 && (bytes.data[len] & 0xC0) == 0x80)
        len--;
    return (tkl_bytes){bytes.data, len};
}

/* Bytes that are no text are shown as base64 without padding: it goes on. */
json_t *cli_queue_short(tkl_bytes bytes)
{
    if (bytes.len <= PAYLOAD_WIDTH)
        return cli_json_bytes(bytes);
    json_t *text = cli_json_bytes(beginning(bytes)), *cut;
    if (json_is_string(text)) {
        cut = json_pack("s%+", json_string_value(text), json_string_length(text), "...");
    } else {
        json_decref(text);
        text = cli_json_bytes((tkl_bytes){bytes.data, PAYLOAD_WIDTH});
        cut =
            json_pack("s++", "base64:", json_string_value(json_object_get(text, "base64")), "...");
    }
    json_decref(text);
    return cut;
}

/* ---- stats, list --------------------------------------------------------- */

static const cli_column stats_fields[] = {
    {"name", "name"},       {"ready", "ready"},
    {"delayed", "delayed"}, {"held", "held"},
    {"active", "active"},   {"dead", "dead"},
    {"paused", "paused"},   {"oldest", "oldest ready"},
    {"waiters", "waiters"}, {"schedules", "schedules"},
    {"pushed", "pushed"},   {"done", "done"},
    {"failed", "failed"},   {"bytes", "bytes"},
    {"kept_jobs", "kept"},  {0},
};

static const cli_column level_columns[] = {{"priority", "PRIORITY"}, {"ready", "READY"}, {0}};

static const cli_column list_columns[] = {
    {"name", "NAME"},
    {"ready", "READY"},
    {"delayed", "DELAYED"},
    {"held", "HELD"},
    {"active", "ACTIVE"},
    {"dead", "DEAD"},
    {"paused", "PAUSED"},
    {"pushed", "PUSHED"},
    {"done", "DONE"},
    {"failed", "FAILED"},
    {"waiters", "WAITERS"},
    {"oldest", "OLDEST"},
    {"partitions", "PARTITIONS"},
    {0},
};

static json_t *stats_json(tkl_bytes name, const tkl_queue_stats *s)
{
    json_t *oldest = s->ready > 0 ? json_integer((json_int_t)s->oldest_ms) : json_null();
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I}",
                     "name", cli_json_bytes(name), "ready", (json_int_t)s->ready, "delayed",
                     (json_int_t)s->delayed, "held", (json_int_t)s->held, "active",
                     (json_int_t)s->active, "dead", (json_int_t)s->dead, "paused", s->paused,
                     "pushed", (json_int_t)s->pushed, "done", (json_int_t)s->done, "failed",
                     (json_int_t)s->failed, "oldest_ms", oldest, "waiters", (json_int_t)s->waiters,
                     "schedules", (json_int_t)s->schedules, "bytes", (json_int_t)s->bytes,
                     "kept_jobs", (json_int_t)s->kept_jobs);
}

/* For people: the age in words. */
static void add_age(json_t *object, const tkl_queue_stats *stats)
{
    char text[CLI_DURATION_SIZE];
    if (object != NULL)
        json_object_set_new(object, "oldest",
                            stats->ready > 0
                                ? json_string(cli_duration_text(stats->oldest_ms, text))
                                : json_null());
}

static json_t *levels_json(const tkl_queue_level *levels, size_t count)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, json_pack("{s:i, s:I}", "priority", levels[i].priority, "ready",
                                              (json_int_t)levels[i].ready));
    return rows;
}

/* Shows priorities only if there are several: with one, the totals are the same. */
static int print_stats(const cli_session *cli, json_t *object, json_t *levels)
{
    bool several = json_array_size(levels) > 1;
    if (cli->json) {
        json_object_set_new(object, "priorities", levels);
        return cli_print_json(cli, object);
    }
    int failed = cli_print_record(cli, object, stats_fields);
    if (failed || !several) {
        json_decref(levels);
        return failed;
    }
    putchar('\n');
    return cli_print_rows(cli, levels, level_columns);
}

static int check_exists(const cli_session *cli, const tkl_queue_stats *stats)
{
    return stats->exists ? CLI_OK : cli_end_of(cli, TKL_NOTFOUND, "queue");
}

int cli_queue_known(const cli_session *cli, tkl_queue *queue)
{
    tkl_queue_stats stats;
    int failed = cli_end(cli, tkl_queue_stats_get(queue, &stats));
    return failed ? failed : check_exists(cli, &stats);
}

int cli_queue_stats(cli_session *cli)
{
    tkl_queue_level_list *levels = NULL;
    tkl_queue *queue = NULL;
    tkl_queue_stats stats;
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli_end(cli, tkl_queue_stats_get(queue, &stats));
    if (!failed)
        failed = check_exists(cli, &stats);
    if (!failed)
        failed = cli_end(cli, tkl_queue_levels(queue, &levels));
    tkl_queue_close(queue);
    if (failed)
        return failed;
    json_t *object = stats_json(tkl_str(cli->argv[0]), &stats);
    if (!cli->json)
        add_age(object, &stats);
    json_t *rows = levels_json(levels->items, levels->count);
    tkl_queue_level_list_free(levels);
    return print_stats(cli, object, rows);
}

static void add_queue(const cli_session *cli, const tkl_queue_summary *queue, json_t *rows)
{
    json_t *object = stats_json(queue->name, &queue->stats);
    json_object_set_new(object, "partitions", json_integer(queue->partitions));
    if (!cli->json)
        add_age(object, &queue->stats);
    json_array_append_new(rows, object);
}

int cli_queue_list(cli_session *cli)
{
    tkl_client *client = NULL;
    tkl_queue_overview *all = NULL;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_queue_overview_get(client, &all));
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; !failed && i < all->count; i++) {
        if (all->items[i].code == TKL_OK)
            add_queue(cli, &all->items[i], rows);
        else if (!tkl_is_transient(all->items[i].code)) /* else cli_run() names the server */
            failed = cli_fail_with(cli, all->items[i].code, "%.*s: %s", (int)all->items[i].name.len,
                                   all->items[i].name.data, tkl_strerror(all->items[i].code));
    }
    tkl_queue_overview_free(all);
    if (!failed)
        return cli_print_rows(cli, rows, list_columns);
    json_decref(rows);
    return failed;
}

/* ---- Jobs ---------------------------------------------------------------- */

static tkl_job_state state_of(const char *word)
{
    tkl_job_state state = TKL_JOB_STATE_READY;
    while (state < TKL_JOB_STATE_DEAD && strcmp(tkl_job_state_name(state), word) != 0)
        state++;
    return state;
}

/* The meaning of a job's time depends on its state, so it has a different name in each state. */
static void put_time(json_t *object, const tkl_job_info *job)
{
    static const struct {
        const char *key;
        tkl_job_state state;
    } times[] = {{"due_at", TKL_JOB_STATE_DELAYED},
                 {"until", TKL_JOB_STATE_ACTIVE}, /* the end of the lease */
                 {"since", TKL_JOB_STATE_DEAD}};
    bool done = job->state == TKL_JOB_STATE_DONE;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        json_object_set_new(object, times[i].key,
                            job->state == times[i].state ? cli_json_time(job->due_ms)
                                                         : json_null());
    if (job->state == TKL_JOB_STATE_ACTIVE)
        json_object_set_new(object, "since", cli_json_time(job->since_ms));
    if (done)
        json_object_set_new(object, "since", cli_json_time(job->due_ms));
    json_object_set_new(object, "started_at", done ? cli_json_time(job->since_ms) : json_null());
}

/* The worker of an active job: an object, or "host:pid label" for people. */
static json_t *claimant_json(const tkl_job_info *job)
{
    if (!*job->worker)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o}", "id", job->worker, "host", cli_json_present(job->host),
                     "pid", job->pid > 0 ? json_integer((json_int_t)job->pid) : json_null(),
                     "label", cli_json_present(job->label));
}

static json_t *claimant_text(const tkl_job_info *job)
{
    char *text = NULL;
    if (!*job->worker || job->host.len == 0)
        return json_null();
    if (asprintf(&text, TKL_FMT ":%" PRId64 "%s" TKL_FMT, TKL_ARG(job->host), job->pid,
                 job->label.len > 0 ? " " : "", TKL_ARG(job->label)) < 0)
        return NULL;
    json_t *value = cli_json_bytes(tkl_str(text));
    free(text);
    return value;
}

static json_t *job_json(const tkl_job_info *job)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "id", job->id,
        "state", tkl_job_state_name(job->state), "kind", cli_json_present(job->kind), "payload",
        cli_json_bytes(job->payload), "payload_size", (json_int_t)job->payload_size, "priority",
        job->priority, "attempt", job->attempt, "retries", job->retries, "pushed_at",
        cli_json_time(job->pushed_ms), "meta", cli_json_present(job->meta), "group",
        cli_json_present(job->group), "unique", cli_json_present(job->unique), "error",
        cli_json_present(job->error), "progress", cli_json_present(job->progress));
    json_object_set_new(object, "result", cli_json_present(job->result));
    json_object_set_new(object, "worker", claimant_json(job));
    put_time(object, job);
    return object;
}

static const cli_column job_columns[] = {
    {"id", "ID"},
    {"kind", "KIND"},
    {"priority", "PRIORITY"},
    {"attempt", "FAILED"},
    {"pushed_at", "PUSHED"},
    {"payload", "PAYLOAD"},
    {0},
};

static const cli_column timed_columns[] = {
    {"id", "ID"},
    {"kind", "KIND"},
    {"priority", "PRIORITY"},
    {"attempt", "FAILED"},
    {"due_at", "DUE"},
    {"payload", "PAYLOAD"},
    {0},
};

static const cli_column active_columns[] = {
    {"id", "ID"},
    {"kind", "KIND"},
    {"priority", "PRIORITY"},
    {"attempt", "FAILED"},
    {"since", "SINCE"},
    {"until", "LEASED TO"},
    {"worker", "WORKER"},
    {"progress", "PROGRESS"},
    {"payload", "PAYLOAD"},
    {0},
};

static const cli_column dead_columns[] = {
    {"id", "ID"},
    {"kind", "KIND"},
    {"attempt", "FAILED"},
    {"since", "SINCE"},
    {"error", "WHY"},
    {"payload", "PAYLOAD"},
    {0},
};

static const cli_column done_columns[] = {
    {"id", "ID"},
    {"kind", "KIND"},
    {"attempt", "FAILED"},
    {"started_at", "STARTED"},
    {"since", "DONE"},
    {"worker", "WORKER"},
    {"result", "RESULT"},
    {"payload", "PAYLOAD"},
    {0},
};

static const cli_column *columns_of(tkl_job_state state)
{
    switch (state) {
    case TKL_JOB_STATE_DELAYED:
        return timed_columns;
    case TKL_JOB_STATE_ACTIVE:
        return active_columns;
    case TKL_JOB_STATE_DEAD:
        return dead_columns;
    case TKL_JOB_STATE_DONE:
        return done_columns;
    default:
        return job_columns;
    }
}

/* The last line of a reason: in a traceback it says what went wrong. */
static tkl_bytes last_line(tkl_bytes reason)
{
    const char *newline = reason.len > 0 ? memrchr(reason.data, '\n', reason.len) : NULL;
    if (newline == NULL)
        return reason;
    size_t before = (size_t)(newline + 1 - reason.data);
    return (tkl_bytes){newline + 1, reason.len - before};
}

static json_t *job_row(const tkl_job_info *job)
{
    json_t *row = json_pack("{s:s, s:s, s:o, s:i, s:i, s:o, s:o, s:o, s:o}", "id", job->id, "state",
                            tkl_job_state_name(job->state), "kind", cli_json_present(job->kind),
                            "priority", job->priority, "attempt", job->attempt, "pushed_at",
                            cli_json_time(job->pushed_ms), "payload", cli_queue_short(job->payload),
                            "error", cli_queue_short(last_line(job->error)), "progress",
                            cli_queue_short(job->progress));
    json_object_set_new(row, "result",
                        job->result.len > 0 ? cli_queue_short(job->result) : json_null());
    json_object_set_new(row, "worker", claimant_text(job));
    put_time(row, job);
    return row;
}

/* Copies the columns without "kind". */
static void leave_out_kind(const cli_column *columns, cli_column kept[COLUMNS_MAX])
{
    for (; columns->key != NULL; columns++)
        if (strcmp(columns->key, "kind") != 0)
            *kept++ = *columns;
    *kept = (cli_column){0};
}

static int print_jobs(const cli_session *cli, tkl_job_state state, const tkl_listing *listing)
{
    json_t *rows = json_array();
    cli_column without_kind[COLUMNS_MAX];
    bool some_kind = false; /* most queues have no kinds, and then no column for them */
    for (size_t i = 0; rows != NULL && i < listing->count; i++) {
        const tkl_job_info *job = &listing->items[i];
        some_kind = some_kind || job->kind.len > 0;
        if (json_array_append_new(rows, cli->json ? job_json(job) : job_row(job)) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    }
    leave_out_kind(columns_of(state), without_kind);
    return cli_print_rows(cli, rows, some_kind ? columns_of(state) : without_kind);
}

/* --cut, or what people see without it. 0: whole payloads. */
static int read_cut(const cli_session *cli, int64_t shown, size_t *cut)
{
    int64_t bytes = cli_number(cli, "cut", cli->json ? 0 : shown);
    *cut = (size_t)bytes;
    return bytes > 0 || !cli_flag(cli, "cut") ? CLI_OK : cli_usage(cli, "--cut is 1 byte or more");
}

int cli_queue_print_jobs(cli_session *cli, tkl_queue *queue, tkl_job_state state)
{
    tkl_listing *listing = NULL;
    int64_t max = cli_number(cli, "max", 20), skip = cli_number(cli, "skip", 0);
    size_t cut;
    if (max < 1 || max > 1000 || skip < 0)
        return cli_usage(cli, "--max is 1 to 1000, --skip 0 or more");
    int failed = read_cut(cli, CUT_OF_TABLE, &cut);
    if (!failed)
        failed =
            cli_end(cli, tkl_queue_peek(queue, state, (size_t)skip, (size_t)max, cut, &listing));
    if (!failed && listing->count == 0)
        failed = cli_queue_known(cli, queue); /* reports a mistyped name */
    if (!failed)
        failed = print_jobs(cli, state, listing);
    tkl_listing_free(listing);
    return failed;
}

int cli_queue_peek(cli_session *cli)
{
    tkl_queue *queue = NULL;
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = cli_queue_print_jobs(cli, queue, state_of(cli_text(cli, "state", "ready")));
    tkl_queue_close(queue);
    return failed;
}

/* ---- find ---------------------------------------------------------------- */

/* Jobs of several states: the columns that all of them have. */
static const cli_column found_columns[] = {
    {"id", "ID"},
    {"state", "STATE"},
    {"kind", "KIND"},
    {"attempt", "FAILED"},
    {"error", "WHY"},
    {"payload", "PAYLOAD"},
    {0},
};

/* Adds jobs until there are `max` of them, or no more. *next: where to go on; free it. NULL: that
 * was all. */
static int find_jobs(const cli_session *cli, tkl_queue *queue, tkl_job_state state,
                     const tkl_job_filter *filter, const char *after, size_t max, json_t *rows,
                     char **next)
{
    size_t cut;
    int failed = read_cut(cli, CUT_OF_TABLE, &cut);
    *next = NULL;
    while (!failed) {
        tkl_listing *listing = NULL;
        failed = cli_end(cli, tkl_queue_find(queue, state, filter, after,
                                             max - json_array_size(rows), cut, &listing));
        for (size_t i = 0; !failed && i < listing->count; i++)
            json_array_append_new(rows, cli->json ? job_json(&listing->items[i])
                                                  : job_row(&listing->items[i]));
        free(*next);
        *next = !failed && listing->next != NULL ? strdup(listing->next) : NULL;
        after = *next;
        tkl_listing_free(listing);
        if (after == NULL || json_array_size(rows) == max || filter->within_ms > 0)
            break;
    }
    return failed;
}

/* Finds up to --max jobs, as rows. */
static int find_rows(const cli_session *cli, tkl_queue *queue, tkl_job_state state,
                     const tkl_job_filter *filter, const char *after, json_t **rows, char **next)
{
    int64_t max = cli_number(cli, "max", 20);
    if (max < 1 || max > 1000)
        return cli_usage(cli, "--max is 1 to 1000");
    *rows = json_array();
    int failed = find_jobs(cli, queue, state, filter, after, (size_t)max, *rows, next);
    if (!failed && json_array_size(*rows) == 0)
        failed = cli_queue_known(cli, queue); /* reports a mistyped name */
    if (failed)
        json_decref(*rows);
    return failed;
}

int cli_queue_print_fitting(cli_session *cli, tkl_queue *queue, tkl_job_state state,
                            const tkl_job_filter *filter)
{
    json_t *rows;
    char *next = NULL;
    int failed = find_rows(cli, queue, state, filter, NULL, &rows, &next);
    free(next);
    return failed ? failed : cli_print_rows(cli, rows, columns_of(state));
}

int cli_queue_find(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_job_filter filter;
    json_t *rows;
    char *next = NULL;
    const char *state = cli_text(cli, "state", NULL);
    cli_queue_filter(cli, cli->argv[1], &filter);
    filter.within_ms = cli_number(cli, "within", 0);
    int failed = cli_queue_open(cli, 0, &queue);
    if (!failed)
        failed = find_rows(cli, queue, state != NULL ? state_of(state) : TKL_JOB_STATE_UNKNOWN,
                           &filter, cli_text(cli, "after", NULL), &rows, &next);
    tkl_queue_close(queue);
    if (!failed && cli->json) {
        failed = cli_print_json(cli, json_pack("{s:o, s:s?}", "found", rows, "next", next));
    } else if (!failed) {
        failed = cli_print_rows(cli, rows, found_columns);
        if (next != NULL)
            fprintf(stderr, "There may be more: --after %s\n", next);
    }
    free(next);
    return failed;
}

/* ---- show ---------------------------------------------------------------- */

static const cli_column job_fields[] = {
    {"id", "id"},
    {"state", "state"},
    {"kind", "kind"},
    {"priority", "priority"},
    {"attempt", "failed attempts"},
    {"retries", "retries"},
    {"pushed_at", "pushed"},
    {"due_at", "due"},
    {"until", "leased to"},
    {"started_at", "started"},
    {"since", "since"},
    {"worker", "worker"},
    {"group", "group"},
    {"unique", "unique key"},
    {"meta", "meta"},
    {"progress", "progress"},
    {"error", "last error"},
    {"result", "result"},
    {"payload", "payload"},
    {0},
};

/* Fields that a job does not have are left out. */
static json_t *job_record(const tkl_job_info *job)
{
    json_t *object = job_json(job);
    cli_queue_drop_nulls(object);
    json_object_set_new(object, "pushed_at", cli_json_time(job->pushed_ms));
    if (job->state == TKL_JOB_STATE_ACTIVE || job->state == TKL_JOB_STATE_DONE)
        json_object_set_new(object, "worker", claimant_text(job));
    return object;
}

int cli_queue_show(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_listing *listing = NULL;
    size_t cut;
    int failed = read_cut(cli, 0, &cut);
    if (!failed)
        failed = cli_queue_open(cli, 0, &queue);
    if (failed)
        return failed;
    int code = tkl_queue_show(queue, cli->argv[1], cut, &listing);
    if (code == TKL_OK)
        failed = cli_print_record(
            cli, cli->json ? job_json(&listing->items[0]) : job_record(&listing->items[0]),
            job_fields);
    else
        failed = code == TKL_NOTFOUND ? cli_fail(cli, CLI_NO, "no such job (any more)")
                                      : cli_end(cli, code);
    tkl_listing_free(listing);
    tkl_queue_close(queue);
    return failed;
}

/* ---- result -------------------------------------------------------------- */

static int print_result(const cli_session *cli, tkl_bytes result)
{
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:s, s:o}", "id", cli->argv[1], "result", cli_json_bytes(result)));
    cli_print_lines(result, 0);
    return CLI_OK;
}

static int print_death(const cli_session *cli, tkl_bytes why)
{
    char *text = cli_escape(why, false);
    int exit = cli_no(cli, TKL_DEAD, "the job is dead: %s", text != NULL ? text : "");
    free(text);
    return exit;
}

int cli_queue_result(cli_session *cli)
{
    tkl_queue *queue = NULL;
    tkl_job_result *result = NULL;
    int failed = cli_queue_open(cli, 0, &queue);
    if (failed)
        return failed;
    int code = tkl_queue_result(queue, cli->argv[1], cli_number(cli, "wait", 0), &result);
    if (code == TKL_OK)
        failed = print_result(cli, result->text);
    else if (code == TKL_DEAD)
        failed = print_death(cli, result->text);
    else if (code == TKL_EMPTY)
        failed = cli_no(cli, TKL_EMPTY, "not finished yet");
    else if (code == TKL_NOTFOUND)
        failed = cli_fail(cli, CLI_NO, "no such job, or none whose result is kept");
    else
        failed = cli_end(cli, code);
    tkl_job_result_free(result);
    tkl_queue_close(queue);
    return failed;
}
