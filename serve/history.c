/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "out.h"

#define SLICE_MS (INT64_C(30) * 60 * 1000)

enum { SLICES = 7 * 48 + 1, METRICS = 6, NAME_SIZE = 16 };

static const char *const metrics[METRICS] = {"pushed",  "done",    "failed",
                                             "claimed", "wait_us", "run_us"};

/* The totals of a queue when it was read last. */
typedef struct totals {
    tkl_bytes name; /* a view into the reading */
    int partitions;
    int64_t values[METRICS];
} totals;

typedef struct reading {
    tkl_queue_overview *queues; /* NULL: there is no reading */
    totals *items;              /* by name */
    size_t count;
} reading;

struct serve_history {
    tkl_client *client;  /* the caller's client, for the queues */
    tkl_client *private; /* the same server in our namespace */
    tkl_leader *leader;
    int64_t interval_ms; /* 0: others write the history */
    int64_t next_ms;     /* when to read again */
    bool is_reading;
    reading last;            /* belongs to the operation while is_reading is set */
    _Atomic int64_t read_ms; /* Unix time of the last reading; 0: there is none */
};

static int compare_names(tkl_bytes a, tkl_bytes b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_totals(const void *a, const void *b)
{
    const totals *one = a, *two = b;
    return compare_names(one->name, two->name);
}

/* ---- Reading ------------------------------------------------------------- */

static void free_reading(reading *r)
{
    tkl_queue_overview_free(r->queues);
    free(r->items);
    *r = (reading){0};
}

/* Adds how long jobs of these queues waited and ran. */
static int read_times(serve_history *history, reading *r)
{
    tkl_queue **queues = calloc(r->count, sizeof *queues);
    tkl_queue_kind_list *kinds = NULL;
    int code = queues != NULL ? TKL_OK : TKL_ENOMEM;
    for (size_t i = 0; i < r->count && code == TKL_OK; i++) {
        tkl_queue_options options = {.partitions = r->items[i].partitions};
        code = tkl_queue_open(history->client, r->items[i].name, &options, &queues[i]);
    }
    if (code == TKL_OK)
        code = tkl_queue_times(queues, r->count, &kinds);
    size_t at = 0; /* kinds come in the order of the queues */
    for (size_t i = 0; kinds != NULL && i < kinds->count; i++) {
        const tkl_queue_kind *kind = &kinds->items[i];
        while (at < r->count && compare_names(r->items[at].name, kind->queue) != 0)
            at++;
        if (at == r->count)
            break;
        r->items[at].values[3] += kind->wait.count;
        r->items[at].values[4] += kind->wait.sum_us;
        r->items[at].values[5] += kind->run.sum_us;
    }
    tkl_queue_kind_list_free(kinds);
    for (size_t i = 0; queues != NULL && i < r->count; i++)
        tkl_queue_close(queues[i]);
    free(queues);
    return code;
}

static int read_totals(serve_history *history, reading *r)
{
    *r = (reading){0};
    TKL_TRY(tkl_queue_overview_get(history->client, &r->queues));
    r->count = r->queues->count;
    r->items = calloc(r->count > 0 ? r->count : 1, sizeof *r->items);
    if (r->items == NULL)
        return TKL_ENOMEM;
    for (size_t i = 0; i < r->count; i++) {
        const tkl_queue_summary *queue = &r->queues->items[i];
        const tkl_queue_stats *stats = &queue->stats;
        r->items[i] =
            (totals){queue->name, queue->partitions, {stats->pushed, stats->done, stats->failed}};
    }
    qsort(r->items, r->count, sizeof *r->items, compare_totals);
    return r->count > 0 ? read_times(history, r) : TKL_OK;
}

/* ---- Writing ------------------------------------------------------------- */

static int open_counter(serve_history *history, tkl_bytes queue, int metric, tkl_counter **counter)
{
    static const int64_t every_ms = SLICE_MS;
    tkl_counter_options options = {.every_ms = &every_ms, .every_count = 1, .samples = SLICES};
    char *name = malloc(NAME_SIZE + queue.len);
    if (name == NULL)
        return TKL_ENOMEM;
    int prefix = snprintf(name, NAME_SIZE, "%s:", metrics[metric]);
    memcpy(name + prefix, queue.data, queue.len);
    int code = tkl_counter_open(history->private, (tkl_bytes){name, (size_t)prefix + queue.len},
                                &options, counter);
    free(name);
    return code;
}

/* Makes an item for each number that is more than 0. Returns how many; the caller closes their
 * counters. A queue whose name is too long for a counter has no history. */
static size_t make_items(serve_history *history, tkl_bytes queue, int64_t at_ms,
                         const int64_t values[METRICS], tkl_counter_item items[METRICS])
{
    size_t count = 0;
    for (int m = 0; m < METRICS; m++) {
        tkl_counter *counter = NULL;
        if (values[m] > 0 && open_counter(history, queue, m, &counter) == TKL_OK)
            items[count++] =
                (tkl_counter_item){.counter = counter, .amount = values[m], .at_ms = at_ms};
    }
    return count;
}

static int add_items(tkl_counter_item *items, size_t count)
{
    int code = count > 0 ? tkl_counter_add_each(items, count, NULL) : TKL_OK;
    for (size_t i = 0; i < count; i++)
        tkl_counter_close(items[i].counter);
    return code;
}

int serve_history_add(serve_history *history, tkl_bytes queue, int64_t at_ms,
                      const serve_history_work *work)
{
    const int64_t values[METRICS] = {work->pushed,  work->done,    work->failed,
                                     work->claimed, work->wait_us, work->run_us};
    tkl_counter_item items[METRICS];
    return add_items(items, make_items(history, queue, at_ms, values, items));
}

/* Adds the increase since the last reading. A total that is smaller belongs to a new queue. */
static int add_differences(serve_history *history, const reading *now)
{
    tkl_counter_item *items = calloc(now->count * METRICS + 1, sizeof *items);
    size_t count = 0;
    if (items == NULL)
        return TKL_ENOMEM;
    for (size_t i = 0; i < now->count; i++) {
        const totals *was = bsearch(&now->items[i], history->last.items, history->last.count,
                                    sizeof *history->last.items, compare_totals);
        int64_t values[METRICS];
        bool is_new = was != NULL && now->items[i].values[0] < was->values[0];
        for (int m = 0; m < METRICS && was != NULL; m++)
            values[m] = now->items[i].values[m] - (is_new ? 0 : was->values[m]);
        if (was != NULL)
            count += make_items(history, now->items[i].name, 0, values, items + count);
    }
    int code = add_items(items, count);
    free(items);
    return code;
}

/* ---- The recorder -------------------------------------------------------- */

/* Reads and adds, as an operation of the loop. A new leader begins with a reading to compare with.
 * So does a leader after a failure, as it does not know which numbers were added. */
static int record_work(void *arg)
{
    serve_history *history = arg;
    reading now = {0};
    if (!tkl_leader_leads(history->leader)) {
        free_reading(&history->last);
        history->read_ms = 0;
        TKL_TRY(tkl_leader_campaign(history->leader, 0));
    }
    int code = read_totals(history, &now);
    if (code == TKL_OK && history->last.queues != NULL)
        code = add_differences(history, &now);
    free_reading(&history->last);
    if (code == TKL_OK)
        history->last = now;
    else
        free_reading(&now);
    history->read_ms = code == TKL_OK ? cli_unix_ms() : 0;
    return code;
}

static void end_recording(void *arg, int code, const char *text)
{
    serve_history *history = arg;
    (void)code; /* the next reading tries again */
    (void)text;
    history->is_reading = false;
}

int serve_history_timeout_ms(const serve_history *history)
{
    if (history->interval_ms == 0 || history->is_reading)
        return -1;
    int64_t left = history->next_ms - cli_now_ms();
    return left > 0 ? (int)left : 0;
}

void serve_history_tick(serve_history *history, tkl_loop *loop)
{
    if (serve_history_timeout_ms(history) != 0)
        return;
    history->next_ms = cli_now_ms() + history->interval_ms;
    history->is_reading =
        tkl_loop_submit(loop, record_work, end_recording, history, NULL) == TKL_OK;
}

/* ---- Answers ------------------------------------------------------------- */

static int64_t value_at(const tkl_counter_series *series, int64_t time)
{
    if (series == NULL || series->count == 0 || time < series->items[0].start_ms)
        return 0;
    size_t at = (size_t)((time - series->items[0].start_ms) / series->every_ms);
    return at < series->count ? series->items[at].count : 0;
}

static json_t *mean_ms(int64_t sum_us, int64_t count)
{
    return count > 0 ? json_real((double)sum_us / 1000 / (double)count) : json_null();
}

static json_t *time_or_null(int64_t ms)
{
    char text[CLI_TIME_SIZE];
    cli_time_text(ms, text);
    return ms > 0 ? json_string(text) : json_null();
}

static char *series_text(tkl_counter_series *const series[METRICS], int64_t read_ms)
{
    json_t *lists[5] = {json_array(), json_array(), json_array(), json_array(), json_array()};
    int64_t last = 0;
    for (int m = 0; m < METRICS; m++)
        if (series[m] != NULL && series[m]->count > 0 &&
            series[m]->items[series[m]->count - 1].start_ms > last)
            last = series[m]->items[series[m]->count - 1].start_ms;
    int64_t first = last - (SLICES - 1) * SLICE_MS;
    for (int64_t time = first; last > 0 && time <= last; time += SLICE_MS) {
        int64_t v[METRICS];
        for (int m = 0; m < METRICS; m++)
            v[m] = value_at(series[m], time);
        for (int i = 0; i < 3; i++)
            json_array_append_new(lists[i], json_integer(v[i]));
        json_array_append_new(lists[3], mean_ms(v[4], v[3]));
        json_array_append_new(lists[4], mean_ms(v[5], v[1] + v[2]));
    }
    json_t *all = json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "read_at",
                            time_or_null(read_ms), "from", time_or_null(last > 0 ? first : 0),
                            "every_ms", (json_int_t)SLICE_MS, "pushed", lists[0], "done", lists[1],
                            "failed", lists[2], "wait_ms", lists[3], "run_ms", lists[4]);
    char *text = all != NULL ? cli_json_text(all) : NULL;
    json_decref(all);
    return text;
}

/* Reads all metrics in one round trip; *code is the first failure. */
static char *read_history(serve_history *history, tkl_bytes queue, int *code)
{
    tkl_pipeline *pipeline = NULL;
    tkl_counter *counters[METRICS] = {0};
    tkl_counter_series *series[METRICS] = {0};
    tkl_result results[METRICS] = {0};
    char *text = NULL;
    *code = tkl_pipeline_open(history->private, NULL, &pipeline);
    for (int m = 0; m < METRICS && *code == TKL_OK; m++)
        if ((*code = open_counter(history, queue, m, &counters[m])) == TKL_OK)
            *code =
                tkl_counter_read_in(pipeline, counters[m], SLICE_MS, 0, 0, &series[m], &results[m]);
    if (*code == TKL_OK)
        *code = tkl_pipeline_run(pipeline, NULL, NULL);
    for (int m = 0; m < METRICS && *code == TKL_OK; m++)
        if (results[m].code != TKL_OK && results[m].code != TKL_NOTFOUND)
            *code = results[m].code;
    if (*code == TKL_OK)
        text = series_text(series, history->read_ms);
    for (int m = 0; m < METRICS; m++) {
        tkl_counter_series_free(series[m]);
        tkl_counter_close(counters[m]);
    }
    tkl_pipeline_close(pipeline);
    return text;
}

void serve_history_answer(serve_history *history, const json_t *fields, serve_answer *answer)
{
    int code = TKL_OK;
    const json_t *name = json_object_get(fields, "name");
    if (!json_is_string(name) || json_object_size(fields) != 1) {
        serve_answer_error(answer, 400, TKL_EINVAL, "one field is needed: name, that of a queue");
        return;
    }
    tkl_bytes queue = {json_string_value(name), json_string_length(name)};
    answer->status = 200;
    answer->body = read_history(history, queue, &code);
    if (code != TKL_OK)
        serve_answer_error(answer, serve_status(code), code, tkl_errmsg());
}

/* ---- Opening and closing ------------------------------------------------- */

int serve_history_open(const cli_session *cli, tkl_client *client, tkl_client *private,
                       int64_t interval_ms, serve_history **out)
{
    serve_history *history = *out = calloc(1, sizeof *history);
    if (history == NULL)
        return cli_end(cli, TKL_ENOMEM);
    *history = (serve_history){.client = client,
                               .private = private,
                               .interval_ms = interval_ms,
                               .next_ms = cli_now_ms() + interval_ms};
    tkl_leader_options options = {.lease_ms = 3 * 60 * 1000, .label = "dashboard"};
    int failed =
        cli_end(cli, tkl_leader_open(private, tkl_str("history"), &options, &history->leader));
    if (failed) {
        serve_history_close(history);
        *out = NULL;
    }
    return failed;
}

void serve_history_close(serve_history *history)
{
    if (history == NULL)
        return;
    tkl_leader_close(history->leader);
    free_reading(&history->last);
    free(history);
}
