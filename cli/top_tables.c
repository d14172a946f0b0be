/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "info.h"
#include "lines.h"
#include "top.h"

/* ---- Columns ------------------------------------------------------------- */

static const top_column queue_columns[] = {{"name", "QUEUE", TOP_TEXT},
                                           {"ready", "READY", TOP_COUNT},
                                           {"active", "ACTIVE", TOP_COUNT},
                                           {"delayed", "DELAYED", TOP_COUNT},
                                           {"held", "HELD", TOP_COUNT},
                                           {"dead", "DEAD", TOP_COUNT},
                                           {"pushed_per_second", "IN/S", TOP_RATE},
                                           {"done_per_second", "OUT/S", TOP_RATE},
                                           {"failed_per_second", "FAIL/S", TOP_RATE},
                                           {"oldest_ms", "OLDEST", TOP_DURATION},
                                           {"waiters", "IDLE", TOP_COUNT},
                                           {"state", "STATE", TOP_TEXT},
                                           {0}};
enum {
    READY = 1,
    ACTIVE,
    DELAYED,
    HELD,
    DEAD,
    PUSHED_RATE,
    DONE_RATE,
    FAILED_RATE,
    OLDEST,
    IDLE,
    STATE
};

static const top_column hold_columns[] = {
    {"name", "NAME", TOP_TEXT},           {"held", "HELD", TOP_COUNT},
    {"limit", "LIMIT", TOP_COUNT},        {"waiters", "WAITERS", TOP_COUNT},
    {"since_ms", "SINCE", TOP_DURATION},  {"left_ms", "LEASE LEFT", TOP_DURATION},
    {"holder", "FIRST HOLDER", TOP_TEXT}, {0}};
enum { HOLDERS = 1, LIMIT, WAITERS, SINCE, LEFT, HOLDER };

static const top_column counter_columns[] = {{"name", "COUNTER", TOP_TEXT},
                                             {"second", "SECOND", TOP_COUNT},
                                             {"minute", "MINUTE", TOP_COUNT},
                                             {"seconds", "LAST MINUTE", TOP_SPARK},
                                             {0}};
enum { SECOND = 1, MINUTE, SECONDS };

static const top_column worker_columns[] = {{"name", "WORKER", TOP_TEXT},
                                            {"running", "JOBS", TOP_COUNT},
                                            {"threads", "THREADS", TOP_COUNT},
                                            {"done", "DONE", TOP_COUNT},
                                            {"failed", "FAILED", TOP_COUNT},
                                            {"since_ms", "FOR", TOP_DURATION},
                                            {"queue", "QUEUE", TOP_TEXT},
                                            {"job", "JOB", TOP_TEXT},
                                            {"program", "PROGRAM", TOP_TEXT},
                                            {"label", "LABEL", TOP_TEXT},
                                            {0}};
enum {
    RUNNING = 1,
    THREADS,
    WORKER_DONE,
    WORKER_FAILED,
    RUN_FOR,
    RUN_QUEUE,
    RUN_JOB,
    PROGRAM,
    LABEL
};

static const top_column limit_columns[] = {{"name", "LIMIT", TOP_TEXT},
                                           {"this_hour", "THIS HOUR", TOP_COUNT},
                                           {"last_hour", "LAST HOUR", TOP_COUNT},
                                           {"refused", "REFUSED", TOP_COUNT},
                                           {"ago_ms", "LAST", TOP_DURATION},
                                           {"key", "REFUSED MOST", TOP_TEXT},
                                           {0}};
enum { THIS_HOUR = 1, LAST_HOUR, REFUSED, AGO, MOST_REFUSED };

/* ---- Rows ---------------------------------------------------------------- */

static top_row *add_row(top_table *table, tkl_bytes name, const void *item)
{
    top_row *row = &table->rows[table->count++];
    *row = (top_row){.name = cli_escape(name, false), .raw = name, .item = item};
    for (size_t i = 0; i < TOP_COLUMNS; i++)
        row->keys[i] = NAN;
    return row;
}

static void set_text(top_row *row, size_t column, char *text)
{
    free(row->texts[column]);
    row->texts[column] = text;
}

static void set_number(top_row *row, size_t column, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    row->keys[column] = (double)number;
    set_text(row, column, strdup(text));
}

static void set_duration(top_row *row, size_t column, int64_t ms)
{
    char text[CLI_DURATION_SIZE];
    row->keys[column] = (double)ms;
    set_text(row, column, strdup(cli_duration_text(ms, text)));
}

/* The count between two moments, a second. A queue that was dropped counts from 0 again. */
static void set_rate(top_row *row, size_t column, int64_t before, int64_t now, double seconds)
{
    char text[32];
    if (seconds <= 0 || now < before)
        return;
    row->keys[column] = (double)(now - before) / seconds;
    snprintf(text, sizeof text, row->keys[column] < 100 ? "%.1f" : "%.0f", row->keys[column]);
    set_text(row, column, strdup(text));
}

/* A row whose numbers could not be read. */
static void set_error(top_row *row, size_t column, int code)
{
    row->warns = true;
    set_text(row, column, strdup(tkl_codename(code)));
}

static bool start_table(top_table *table, const char *title, const top_column *columns,
                        size_t count, const tkl_result *result)
{
    *table = (top_table){.title = title, .columns = columns};
    while (columns[table->ncolumns].key != NULL)
        table->ncolumns++;
    table->code = result->code;
    snprintf(table->problem, sizeof table->problem, "%s", result->text);
    table->rows = calloc(count + 1, sizeof *table->rows);
    return table->rows != NULL;
}

/* ---- Queues -------------------------------------------------------------- */

static const tkl_queue_stats *stats_before(const tkl_overview *last, tkl_bytes name)
{
    const tkl_queue_overview *all = last != NULL ? last->queues : NULL;
    for (size_t i = 0; all != NULL && i < all->count; i++)
        if (all->items[i].code == TKL_OK && cli_same_bytes(all->items[i].name, name))
            return &all->items[i].stats;
    return NULL;
}

/* Whether there is a queue behind the name: the register also knows names that are gone. */
static bool is_there(const tkl_queue_stats *s)
{
    return s->pushed + s->ready + s->delayed + s->held + s->active + s->dead + s->schedules +
                   s->waiters >
               0 ||
           s->paused;
}

static void add_queue(top_table *table, const tkl_queue_summary *queue,
                      const tkl_queue_stats *before, double seconds)
{
    const tkl_queue_stats *s = &queue->stats;
    if (queue->code == TKL_ENOTSENT || (queue->code == TKL_OK && !is_there(s)))
        return;
    top_row *row = add_row(table, queue->name, queue);
    if (queue->code != TKL_OK) {
        set_error(row, STATE, queue->code);
        return;
    }
    set_number(row, READY, s->ready);
    set_number(row, ACTIVE, s->active);
    set_number(row, DELAYED, s->delayed);
    set_number(row, HELD, s->held);
    set_number(row, DEAD, s->dead);
    set_number(row, IDLE, s->waiters);
    if (s->ready > 0)
        set_duration(row, OLDEST, s->oldest_ms);
    if (before != NULL) {
        set_rate(row, PUSHED_RATE, before->pushed, s->pushed, seconds);
        set_rate(row, DONE_RATE, before->done, s->done, seconds);
        set_rate(row, FAILED_RATE, before->failed, s->failed, seconds);
    }
    row->paused = s->paused;
    row->warns = s->dead > 0;
    set_text(row, STATE, strdup(s->paused ? "paused" : ""));
}

static void make_queues(const top_moment *now, const top_moment *last, top_table *table)
{
    const tkl_queue_overview *all = now->overview->queues;
    double seconds = (double)(now->at_us - last->at_us) / 1e6;
    size_t count = all != NULL ? all->count : 0;
    if (!start_table(table, "Queues", queue_columns, count, &now->overview->queues_result))
        return;
    for (size_t i = 0; i < count; i++)
        add_queue(table, &all->items[i], stats_before(last->overview, all->items[i].name), seconds);
}

/* ---- Locks, semaphores, leaders ------------------------------------------ */

/* "label (host:pid)", escaped. */
static char *holder_text(const tkl_holder *holder)
{
    char *label = cli_escape(holder->label, false), *host = cli_escape(holder->host, false);
    char *text = NULL;
    if (label == NULL || host == NULL ||
        asprintf(&text, *label != '\0' ? "%s (%s:%lld)" : "%s%s:%lld", label, host,
                 (long long)holder->pid) < 0)
        text = NULL;
    free(label);
    free(host);
    return text;
}

static void make_holds(const tkl_hold_overview *all, const tkl_result *result, const char *title,
                       top_table *table)
{
    size_t count = all != NULL ? all->count : 0;
    if (!start_table(table, title, hold_columns, count, result))
        return;
    for (size_t i = 0; i < count; i++) {
        const tkl_hold_summary *item = &all->items[i];
        const tkl_holders *h = item->holders;
        if (item->code == TKL_ENOTSENT || (h != NULL && h->held <= 0 && h->waiters <= 0))
            continue;
        top_row *row = add_row(table, item->name, item);
        if (h == NULL) {
            set_error(row, HOLDER, item->code);
            continue;
        }
        set_number(row, HOLDERS, h->held);
        set_number(row, WAITERS, h->waiters);
        if (h->limit > 0)
            set_number(row, LIMIT, h->limit);
        if (h->count > 0) {
            set_duration(row, SINCE, h->items[0].since_ms);
            set_duration(row, LEFT, h->items[0].left_ms);
            set_text(row, HOLDER, holder_text(&h->items[0]));
        }
    }
}

/* ---- Counters ------------------------------------------------------------ */

/* Draws the last 60 whole seconds. */
static char *spark_text(const tkl_counter_slice *slices, size_t count, bool utf8)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    char *text = NULL;
    size_t size = 0;
    int64_t most = 1;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        most = slices[i].count > most ? slices[i].count : most;
    for (size_t i = 0; i < count; i++) {
        int64_t value = slices[i].count > 0 ? slices[i].count : 0;
        int height = value > 0 ? 1 + (int)((double)value * 7 / (double)most) : 0;
        fputs((utf8 ? blocks : letters)[height], to);
    }
    return fclose(to) == 0 ? text : NULL;
}

static void make_counters(const top_moment *now, bool utf8, top_table *table)
{
    const tkl_overview *o = now->overview;
    if (!start_table(table, "Counters", counter_columns, o->counter_count, &o->counters_result))
        return;
    for (size_t i = 0; i < o->counter_count; i++) {
        const tkl_counter_series *series = o->counters[i].series;
        if (series == NULL || series->count < 2)
            continue; /* it is gone, or keeps no seconds */
        size_t whole = series->count - 1, first = whole > 60 ? whole - 60 : 0;
        int64_t sum = 0;
        for (size_t k = first; k < whole; k++)
            sum += series->items[k].count;
        top_row *row = add_row(table, o->counters[i].name, &o->counters[i]);
        set_number(row, SECOND, series->items[whole - 1].count);
        set_number(row, MINUTE, sum);
        set_text(row, SECONDS, spark_text(series->items + first, whole - first, utf8));
        row->keys[SECONDS] = (double)sum;
    }
}

/* ---- Workers ------------------------------------------------------------- */

static void add_worker(top_table *table, const tkl_queue_worker *worker, int64_t now_ms)
{
    char name[300];
    char *host = cli_escape(worker->host, false);
    snprintf(name, sizeof name, "%s:%lld", host != NULL ? host : "", (long long)worker->pid);
    free(host);
    top_row *row = add_row(table, tkl_str(name), worker);
    row->raw = tkl_str(row->name != NULL ? row->name : "");
    set_number(row, RUNNING, (int64_t)worker->run_count);
    set_number(row, WORKER_DONE, worker->done);
    set_number(row, WORKER_FAILED, worker->failed);
    if (worker->threads > 0)
        set_number(row, THREADS, worker->threads);
    set_text(row, PROGRAM, cli_escape(worker->program, false));
    set_text(row, LABEL, cli_escape(worker->label, false));
    if (worker->run_count > 0) {
        const tkl_queue_run *run = &worker->runs[0];
        set_text(row, RUN_QUEUE, cli_escape(run->queue, false));
        set_text(row, RUN_JOB, strdup(run->id));
        if (run->since_ms > 0)
            set_duration(row, RUN_FOR, now_ms - run->since_ms);
    }
}

static void make_workers(const top_extras *extras, top_table *table)
{
    size_t count = extras->workers != NULL ? extras->workers->count : 0;
    if (!start_table(table, "Workers", worker_columns, count, &extras->workers_result))
        return;
    for (size_t i = 0; i < count; i++)
        add_worker(table, &extras->workers->items[i], extras->workers->now_ms);
}

/* ---- Limits that refused lately ------------------------------------------ */

static void add_limit(top_table *table, const tkl_limit_refusals *limit, int64_t now_ms)
{
    top_row *row = add_row(table, limit->name, limit);
    if (limit->code != TKL_OK) {
        set_error(row, MOST_REFUSED, limit->code);
        return;
    }
    set_number(row, THIS_HOUR, limit->this_hour);
    set_number(row, LAST_HOUR, limit->last_hour);
    set_number(row, REFUSED, limit->refused);
    if (limit->last_ms > 0)
        set_duration(row, AGO, now_ms > limit->last_ms ? now_ms - limit->last_ms : 0);
    if (limit->key_count > 0)
        set_text(row, MOST_REFUSED, cli_escape(limit->keys[0].key, false));
}

static void make_limits(const top_extras *extras, top_table *table)
{
    size_t count = extras->limits != NULL ? extras->limits->count : 0;
    if (!start_table(table, "Limits", limit_columns, count, &extras->limits_result))
        return;
    for (size_t i = 0; i < count; i++)
        add_limit(table, &extras->limits->items[i], cli_unix_ms());
}

/* ---- All of them --------------------------------------------------------- */

void top_tables_make(const top_moment *now, const top_moment *last, const top_extras *extras,
                     bool utf8, top_table tables[TOP_TABS])
{
    const tkl_overview *o = now->overview;
    make_queues(now, last, &tables[TOP_QUEUES]);
    make_holds(o->locks, &o->locks_result, "Locks", &tables[TOP_LOCKS]);
    make_holds(o->semaphores, &o->semaphores_result, "Semaphores", &tables[TOP_SEMAPHORES]);
    make_holds(o->leaders, &o->leaders_result, "Leaders", &tables[TOP_LEADERS]);
    make_counters(now, utf8, &tables[TOP_COUNTERS]);
    make_workers(extras, &tables[TOP_WORKERS]);
    make_limits(extras, &tables[TOP_LIMITS]);
}

static void free_row(top_row *row)
{
    free(row->name);
    for (size_t i = 0; i < TOP_COLUMNS; i++)
        free(row->texts[i]);
}

void top_tables_free(top_table tables[TOP_TABS])
{
    for (int i = 0; i < TOP_TABS; i++) {
        for (size_t k = 0; k < tables[i].count; k++)
            free_row(&tables[i].rows[k]);
        free(tables[i].rows);
        tables[i] = (top_table){0};
    }
}

/* ---- Sorting and filtering ----------------------------------------------- */

typedef struct order {
    size_t column;
    bool is_text, reverse;
} order;

static const char *shown_text(const top_row *row, size_t column)
{
    const char *text = column == 0 ? row->name : row->texts[column];
    return text != NULL ? text : "";
}

static int compare_rows(const void *a, const void *b, void *arg)
{
    const top_row *x = a, *y = b;
    const order *by = arg;
    int first = 0;
    if (by->is_text) {
        first = strcmp(shown_text(x, by->column), shown_text(y, by->column));
    } else {
        double p = isnan(x->keys[by->column]) ? -1 : x->keys[by->column];
        double q = isnan(y->keys[by->column]) ? -1 : y->keys[by->column];
        first = (p < q) - (p > q);
    }
    if (by->reverse)
        first = -first;
    return first != 0 ? first : strcmp(shown_text(x, 0), shown_text(y, 0));
}

void top_table_sort(top_table *table, size_t column, bool reverse)
{
    if (table->count == 0 || column >= table->ncolumns)
        return;
    order by = {column, table->columns[column].kind == TOP_TEXT, reverse};
    qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, &by);
}

void top_table_filter(top_table *table, const char *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (*text == '\0' || strcasestr(shown_text(&table->rows[i], 0), text) != NULL)
            table->rows[kept++] = table->rows[i];
        else
            free_row(&table->rows[i]);
    table->count = kept;
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *series_json(const tkl_counter_summary *counter)
{
    json_t *list = json_array();
    for (size_t i = 0; counter->series != NULL && i + 1 < counter->series->count; i++)
        json_array_append_new(list, json_integer((json_int_t)counter->series->items[i].count));
    return list;
}

static json_t *cell_json(const top_table *table, const top_row *row, size_t column)
{
    const char *text = row->texts[column];
    switch (table->columns[column].kind) {
    case TOP_COUNT:
    case TOP_DURATION:
        return isnan(row->keys[column]) ? json_null() : json_integer((json_int_t)row->keys[column]);
    case TOP_RATE:
        return isnan(row->keys[column]) ? json_null() : json_real(row->keys[column]);
    case TOP_SPARK:
        return series_json(row->item);
    case TOP_TEXT:
        break;
    }
    return text != NULL && *text != '\0' ? json_string(text) : json_null();
}

/* A part that could not be read, as in the JSON of status. */
static json_t *problem_json(int code, const char *text)
{
    return json_pack("{s:s, s:s}", "error", tkl_codename(code), "message", text);
}

static json_t *table_json(const top_table *table)
{
    if (table->code != TKL_OK)
        return problem_json(table->code, table->problem);
    json_t *rows = json_array();
    for (size_t i = 0; i < table->count; i++) {
        json_t *object = json_pack("{s:o}", "name", cli_json_bytes(table->rows[i].raw));
        for (size_t k = 1; k < table->ncolumns; k++)
            json_object_set_new(object, table->columns[k].key,
                                cell_json(table, &table->rows[i], k));
        if (table->columns == queue_columns) { /* verbs for the queue need its partitions */
            const tkl_queue_summary *queue = table->rows[i].item;
            json_object_set_new(object, "partitions", json_integer(queue->partitions));
        }
        json_array_append_new(rows, object);
    }
    return rows;
}

json_t *top_tables_json(const top_moment *now, top_table tables[TOP_TABS])
{
    const tkl_overview *o = now->overview;
    json_t *all = json_object();
    json_object_set_new(all, "time", cli_json_time((int64_t)time(NULL) * 1000));
    json_object_set_new(all, "server",
                        o->server_result.code == TKL_OK
                            ? cli_info_json(o->server)
                            : problem_json(o->server_result.code, o->server_result.text));
    static const char *const keys[TOP_TABS] = {"queues",   "locks",   "semaphores", "leaders",
                                               "counters", "workers", "limits"};
    for (int i = 0; i < TOP_TABS; i++)
        json_object_set_new(all, keys[i], table_json(&tables[i]));
    json_object_set_new(all, "missing",
                        cli_missing_json(&(tkl_names){o->missing, o->missing_count}));
    return all;
}
