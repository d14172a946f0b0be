/* SPDX-License-Identifier: MIT
 *
 * `tackle metrics`: what there is on the servers, in the text format of Prometheus.
 *
 * Names become labels, and each label costs a time series for as long as Prometheus keeps it, so
 * the number of series is bounded: names beyond their share, by the alphabet, are added up as
 * "other". A name that is really "other" is then one of them.
 */
#include "metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "out.h"

#define OTHER          "other"
#define SERIES_DEFAULT 5000
/* Precision at which counters are shown: their last whole minute. */
#define MINUTE_MS 60000

/* ---- The text ------------------------------------------------------------ */

static void write_head(FILE *to, const char *name, const char *type, const char *help)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Writes a name as the value of a label. Names are escaped as on a terminal, which keeps different
 * names different even if they are no UTF-8; then as the format wants it. */
static void write_label(FILE *to, tkl_bytes name)
{
    char *text = cli_escape(name, false);
    for (const char *at = text != NULL ? text : ""; *at != '\0'; at++) {
        if (*at == '\\' || *at == '"')
            fputc('\\', to);
        fputc(*at, to);
    }
    free(text);
}

static void write_seconds(FILE *to, int64_t ms)
{
    fprintf(to, "%" PRId64 ".%03" PRId64 "\n", ms / 1000, ms % 1000);
}

/* A metric without labels. */
static void write_number(FILE *to, const char *name, const char *type, const char *help,
                         int64_t value)
{
    write_head(to, name, type, help);
    fprintf(to, "%s %" PRId64 "\n", name, value);
}

/* ---- How many names ------------------------------------------------------ */

/* The bound on series with names, and what there would be without it. */
typedef struct bound {
    int64_t max;    /* without the series of "other" */
    int64_t wanted; /* series of all names */
} bound;

/* How many of `count` names get series of their own. */
static size_t count_shown(size_t count, const bound *b)
{
    if (b->wanted <= b->max)
        return count;
    return b->max > 0 ? (size_t)((double)count * (double)b->max / (double)b->wanted) : 0;
}

/* Whether a name is added up in "other", when `shown` names have series already, `most` may have some,
 * and there are `count`. */
static bool is_folded(tkl_bytes name, size_t shown, size_t most, size_t count)
{
    bool is_other = name.len == strlen(OTHER) && memcmp(name.data, OTHER, name.len) == 0;
    return most < count && (shown >= most || is_other);
}

/* ---- Queues -------------------------------------------------------------- */

typedef struct queue_metric {
    const char *name, *state; /* a label; NULL: none */
    const char *type, *help;
    int64_t (*number)(const tkl_queue_stats *stats);
} queue_metric;

#define QUEUE_NUMBER(field)                                    \
    static int64_t queue_##field(const tkl_queue_stats *stats) \
    {                                                          \
        return stats->field;                                   \
    }
QUEUE_NUMBER(ready)
QUEUE_NUMBER(delayed)
QUEUE_NUMBER(held)
QUEUE_NUMBER(active)
QUEUE_NUMBER(dead)
QUEUE_NUMBER(pushed)
QUEUE_NUMBER(done)
QUEUE_NUMBER(failed)
QUEUE_NUMBER(paused)
QUEUE_NUMBER(waiters)
QUEUE_NUMBER(bytes)

static const queue_metric queue_metrics[] = {
    {"tackle_queue_jobs", "ready", "gauge", "Jobs by state.", queue_ready},
    {"tackle_queue_jobs", "delayed", "gauge", "", queue_delayed},
    {"tackle_queue_jobs", "held", "gauge", "", queue_held},
    {"tackle_queue_jobs", "active", "gauge", "", queue_active},
    {"tackle_queue_jobs", "dead", "gauge", "", queue_dead},
    {"tackle_queue_pushed_total", NULL, "counter", "Jobs pushed.", queue_pushed},
    {"tackle_queue_done_total", NULL, "counter", "Jobs done.", queue_done},
    {"tackle_queue_failed_total", NULL, "counter", "Attempts that failed.", queue_failed},
    {"tackle_queue_paused", NULL, "gauge", "1: the queue hands out no jobs.", queue_paused},
    {"tackle_queue_waiters", NULL, "gauge", "Consumers that wait for a job.", queue_waiters},
    {"tackle_queue_bytes", NULL, "gauge", "Bytes of all jobs.", queue_bytes},
};
enum {
    QUEUE_METRICS = sizeof queue_metrics / sizeof *queue_metrics,
    QUEUE_SERIES = QUEUE_METRICS + 1, /* and the age of the oldest job */
};

static void add_stats(tkl_queue_stats *sum, const tkl_queue_stats *one)
{
    sum->ready += one->ready;
    sum->delayed += one->delayed;
    sum->held += one->held;
    sum->active += one->active;
    sum->dead += one->dead;
    sum->pushed += one->pushed;
    sum->done += one->done;
    sum->failed += one->failed;
    sum->paused |= one->paused;
    sum->waiters += one->waiters;
    sum->bytes += one->bytes;
    sum->oldest_ms = one->oldest_ms > sum->oldest_ms ? one->oldest_ms : sum->oldest_ms;
}

/* The queues that get series: the first ones, and the others as one. Those that cannot be read are
 * left out. Returns how many. */
static size_t choose_queues(const tkl_queue_overview *all, size_t most, tkl_queue_summary *shown)
{
    tkl_queue_summary other = {.name = tkl_str(OTHER)};
    size_t count = 0;
    bool folded = false;
    for (size_t i = 0; i < all->count; i++) {
        const tkl_queue_summary *queue = &all->items[i];
        if (queue->code != TKL_OK)
            continue;
        if (is_folded(queue->name, count, most, all->count)) {
            add_stats(&other.stats, &queue->stats);
            folded = true;
        } else {
            shown[count++] = *queue;
        }
    }
    if (folded)
        shown[count++] = other;
    return count;
}

static void write_queues(FILE *to, const tkl_queue_overview *all, size_t most)
{
    tkl_queue_summary *shown = calloc(all->count + 1, sizeof *shown);
    size_t count = shown != NULL ? choose_queues(all, most, shown) : 0;
    const char *last = "";
    for (size_t i = 0; i < QUEUE_METRICS; i++) {
        const queue_metric *m = &queue_metrics[i];
        if (strcmp(last, m->name) != 0)
            write_head(to, m->name, m->type, m->help);
        last = m->name;
        for (size_t k = 0; k < count; k++) {
            fprintf(to, "%s{queue=\"", m->name);
            write_label(to, shown[k].name);
            if (m->state != NULL)
                fprintf(to, "\",state=\"%s", m->state);
            fprintf(to, "\"} %" PRId64 "\n", m->number(&shown[k].stats));
        }
    }
    write_head(to, "tackle_queue_oldest_ready_seconds", "gauge",
               "How long the oldest ready job has been ready; 0: there is none.");
    for (size_t k = 0; k < count; k++) {
        fputs("tackle_queue_oldest_ready_seconds{queue=\"", to);
        write_label(to, shown[k].name);
        fputs("\"} ", to);
        write_seconds(to, shown[k].stats.oldest_ms);
    }
    free(shown);
}

/* ---- Locks, semaphores, leaders ------------------------------------------ */

typedef struct hold_kind {
    const char *label; /* "lock": also part of the names of metrics */
    int (*read)(tkl_client *client, tkl_hold_overview **overview);
    bool has_limit;
} hold_kind;

static const hold_kind hold_kinds[] = {{"lock", tkl_lock_overview, false},
                                       {"semaphore", tkl_semaphore_overview, true},
                                       {"leader", tkl_leader_overview, false}};
enum { HOLD_KINDS = sizeof hold_kinds / sizeof *hold_kinds, HOLD_SERIES = 3 };

static int64_t holders_held(const tkl_holders *h)
{
    return h->held;
}

static int64_t holders_waiters(const tkl_holders *h)
{
    return h->waiters;
}

static int64_t holders_limit(const tkl_holders *h)
{
    return h->limit;
}

static void write_holds(FILE *to, const hold_kind *kind, const char *what, const char *help,
                        const tkl_hold_overview *all, size_t most,
                        int64_t (*number)(const tkl_holders *holders))
{
    char name[64];
    int64_t other = 0;
    size_t count = 0;
    bool folded = false;
    snprintf(name, sizeof name, "tackle_%s_%s", kind->label, what);
    write_head(to, name, "gauge", help);
    for (size_t i = 0; i < all->count; i++) {
        const tkl_hold_summary *item = &all->items[i];
        if (item->holders == NULL)
            continue;
        if (is_folded(item->name, count, most, all->count)) {
            other += number(item->holders);
            folded = true;
            continue;
        }
        count++;
        fprintf(to, "%s{%s=\"", name, kind->label);
        write_label(to, item->name);
        fprintf(to, "\"} %" PRId64 "\n", number(item->holders));
    }
    if (folded)
        fprintf(to, "%s{%s=\"" OTHER "\"} %" PRId64 "\n", name, kind->label, other);
}

static void write_kind(FILE *to, const hold_kind *kind, const tkl_hold_overview *all, size_t most)
{
    write_holds(to, kind, "held", "Holders now.", all, most, holders_held);
    write_holds(to, kind, "waiters", "Waiters now.", all, most, holders_waiters);
    if (kind->has_limit)
        write_holds(to, kind, "limit", "Permits in all.", all, most, holders_limit);
}

/* ---- Counters ------------------------------------------------------------ */

typedef struct counted {
    tkl_bytes name;
    tkl_counter *handle;
    tkl_counter_series *series; /* of the last minutes; NULL: it keeps no minutes */
    tkl_result result;
} counted;

typedef struct counters {
    tkl_names *names;
    counted *items;
    size_t count;
} counters;

static void free_counters(counters *all)
{
    for (size_t i = 0; i < all->count; i++) {
        tkl_counter_series_free(all->items[i].series);
        tkl_counter_close(all->items[i].handle);
    }
    free(all->items);
    tkl_names_free(all->names);
}

/* Reads the last minutes of all counters, in one round trip. */
static int read_counters(tkl_client *client, counters *all)
{
    tkl_pipeline *trip = NULL;
    int code = tkl_counter_names(client, &all->names);
    if (code == TKL_OK)
        code = tkl_pipeline_open(client, NULL, &trip);
    if (code == TKL_OK) {
        all->items = calloc(all->names->count + 1, sizeof *all->items);
        code = all->items != NULL ? TKL_OK : TKL_ENOMEM;
    }
    for (size_t i = 0; code == TKL_OK && i < all->names->count; i++) {
        counted *c = &all->items[all->count++];
        c->name = all->names->items[i];
        code = tkl_counter_open(client, c->name, NULL, &c->handle);
        if (code == TKL_OK)
            code = tkl_counter_read_in(trip, c->handle, MINUTE_MS, 0, 0, &c->series, &c->result);
    }
    if (code == TKL_OK)
        code = tkl_pipeline_run(trip, NULL, NULL);
    tkl_pipeline_close(trip);
    return code;
}

/* The count of the last whole minute, before the current one. */
static int64_t last_minute(const tkl_counter_series *series)
{
    return series->count >= 2 ? series->items[series->count - 2].count : 0;
}

static void write_counters(FILE *to, const counters *all, size_t most)
{
    int64_t other = 0;
    size_t count = 0;
    bool folded = false;
    write_head(to, "tackle_counted_last_minute", "gauge", "Counted in the last whole minute.");
    for (size_t i = 0; i < all->count; i++) {
        const counted *c = &all->items[i];
        if (c->series == NULL)
            continue;
        if (is_folded(c->name, count, most, all->count)) {
            other += last_minute(c->series);
            folded = true;
            continue;
        }
        count++;
        fputs("tackle_counted_last_minute{counter=\"", to);
        write_label(to, c->name);
        fprintf(to, "\"} %" PRId64 "\n", last_minute(c->series));
    }
    if (folded)
        fprintf(to, "tackle_counted_last_minute{counter=\"" OTHER "\"} %" PRId64 "\n", other);
}

/* ---- The server ---------------------------------------------------------- */

static const struct {
    const char *name, *type, *help, *field; /* of INFO */
} server_metrics[] = {
    {"tackle_server_uptime_seconds", "gauge", "Since the server was started.", "uptime_in_seconds"},
    {"tackle_server_memory_bytes", "gauge", "Memory in use.", "used_memory"},
    {"tackle_server_memory_max_bytes", "gauge", "Memory allowed; 0: no limit.", "maxmemory"},
    {"tackle_server_clients", "gauge", "Connections of clients.", "connected_clients"},
    {"tackle_server_replicas", "gauge", "Connected replicas.", "connected_slaves"},
    {"tackle_server_commands_total", "counter", "Commands run.", "total_commands_processed"},
    {"tackle_server_evicted_keys_total", "counter", "Keys removed because memory was full.",
     "evicted_keys"},
    {"tackle_server_expired_keys_total", "counter", "Keys that expired.", "expired_keys"},
    {"tackle_server_rejected_connections_total", "counter", "Connections refused.",
     "rejected_connections"},
};

static void write_server(FILE *to, const char *info)
{
    for (size_t i = 0; i < sizeof server_metrics / sizeof *server_metrics; i++)
        write_number(to, server_metrics[i].name, server_metrics[i].type, server_metrics[i].help,
                     cli_info_number(info, server_metrics[i].field));
}

/* ---- All of it ----------------------------------------------------------- */

/* What was read; a part that was not read is NULL or empty. */
typedef struct readings {
    tkl_reply *info;
    tkl_queue_overview *queues;
    tkl_hold_overview *holds[HOLD_KINDS];
    counters counters;
} readings;

typedef struct part {
    const char *name;
    int code;
    char text[256]; /* why it could not be read */
} part;

enum {
    SERVER_PART,
    QUEUE_PART,
    FIRST_HOLD_PART,
    COUNTER_PART = FIRST_HOLD_PART + HOLD_KINDS,
    PARTS
};

static void note_part(part *p, const char *name, int code)
{
    *p = (part){.name = name, .code = code};
    if (code != TKL_OK)
        snprintf(p->text, sizeof p->text, "%s", tkl_errmsg());
}

/* Whether there is no use in asking for the other parts: each would wait as long. */
static bool is_away(int code)
{
    return code == TKL_ENOTSENT || code == TKL_ETIMEOUT || code == TKL_EUNKNOWN;
}

static void read_parts(tkl_client *client, readings *r, part parts[PARTS])
{
    static const char *const names[PARTS] = {"server",     "queues",  "locks",
                                             "semaphores", "leaders", "counters"};
    for (int i = 0; i < PARTS; i++) {
        int code;
        if (i == SERVER_PART)
            code = tkl_callz(client, &r->info, "INFO", NULL);
        else if (is_away(parts[SERVER_PART].code))
            code = parts[SERVER_PART].code;
        else if (i == QUEUE_PART)
            code = tkl_queue_overview_get(client, &r->queues);
        else if (i == COUNTER_PART)
            code = read_counters(client, &r->counters);
        else
            code = hold_kinds[i - FIRST_HOLD_PART].read(client, &r->holds[i - FIRST_HOLD_PART]);
        note_part(&parts[i], names[i], code);
    }
}

static void add_wanted(bound *b, size_t count, int64_t series_each)
{
    b->wanted += (int64_t)count * series_each;
    b->max -= count > 0 ? series_each : 0; /* "other" has as many */
}

/* Everything is shown when it fits, else each kind of name has its share beside its "other". */
static bound find_bound(const readings *r, int64_t max)
{
    bound b = {.max = max};
    add_wanted(&b, r->counters.count, 1);
    add_wanted(&b, r->queues != NULL ? r->queues->count : 0, QUEUE_SERIES);
    for (int i = 0; i < HOLD_KINDS; i++)
        add_wanted(&b, r->holds[i] != NULL ? r->holds[i]->count : 0, HOLD_SERIES);
    if (b.wanted <= max)
        b.max = max;
    return b;
}

static void write_readings(FILE *to, const readings *r, int64_t max)
{
    bound b = find_bound(r, max);
    if (r->info != NULL)
        write_server(to, tkl_reply_str(r->info));
    if (r->queues != NULL)
        write_queues(to, r->queues, count_shown(r->queues->count, &b));
    for (int i = 0; i < HOLD_KINDS; i++)
        if (r->holds[i] != NULL)
            write_kind(to, &hold_kinds[i], r->holds[i], count_shown(r->holds[i]->count, &b));
    if (r->counters.items != NULL)
        write_counters(to, &r->counters, count_shown(r->counters.count, &b));
}

static int write_readable(FILE *to, const part parts[PARTS], FILE *problems)
{
    int readable = 0;
    write_head(to, "tackle_readable", "gauge", "1: this part of the metrics could be read.");
    for (int i = 0; i < PARTS; i++) {
        fprintf(to, "tackle_readable{part=\"%s\"} %d\n", parts[i].name, parts[i].code == TKL_OK);
        readable += parts[i].code == TKL_OK;
        if (parts[i].code != TKL_OK && problems != NULL)
            fprintf(problems, "tackle: metrics: %s: %s\n", parts[i].name, parts[i].text);
    }
    return readable;
}

int cli_metrics_write(tkl_client *client, int64_t max, FILE *to, FILE *problems)
{
    readings r = {0};
    part parts[PARTS] = {{0}};
    tkl_bytes own = {NULL, 0};
    read_parts(client, &r, parts);
    write_head(to, "tackle_build_info", "gauge", "The version of tackle.");
    fprintf(to, "tackle_build_info{version=\"%s\"} 1\n", tkl_version());
    int readable = write_readable(to, parts, problems);
    write_readings(to, &r, max);
    if (tkl_metrics(client, &own) == TKL_OK)
        fwrite(own.data, 1, own.len, to);
    tkl_metrics_free(own);
    tkl_reply_free(r.info);
    tkl_queue_overview_free(r.queues);
    for (int i = 0; i < HOLD_KINDS; i++)
        tkl_hold_overview_free(r.holds[i]);
    free_counters(&r.counters);
    return readable;
}

/* ---- The verb ------------------------------------------------------------ */

static int run(cli_session *cli)
{
    tkl_client *client = NULL;
    int64_t max = cli_number(cli, "series", SERIES_DEFAULT);
    const char *address = cli_text(cli, "listen", NULL);
    int failed = cli_positive(cli, "series");
    if (!failed && cli->json)
        failed = cli_usage(cli, "metrics are text for Prometheus; 'tackle status' has JSON");
    if (!failed)
        failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    if (address != NULL)
        return cli_metrics_serve(cli, client, address, max);
    return cli_metrics_write(client, max, stdout, stderr) > 0 ? CLI_OK : CLI_UNREACHABLE;
}

static const cli_option options[] = {
    {"listen", CLI_TEXT, "HOST:PORT", "serve it as http://HOST:PORT/metrics, for ever"},
    {"series", CLI_INTEGER, "N",
     "most series with names; further names are 'other' (default 5000)"},
    {0}};

static const cli_verb verbs[] = {
    {
        .summary = "numbers of queues, locks, counters and the server, for Prometheus",
        .options = options,
        .details =
            "What cannot be read is missing, tackle_readable{part} is 0, and stderr says why.\n"
            "With --listen there is no encryption and no password: listen on 127.0.0.1, or\n"
            "where only Prometheus comes. Port 0 takes a free port, which stderr names.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle metrics | grep tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .run = run,
    },
    {0},
};

const cli_component cli_metrics = {
    .name = "metrics",
    .summary = "numbers for Prometheus",
    .verbs = verbs,
};
