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

#include "info.h"
#include "lines.h"
#include "out.h"

#define SERIES_DEFAULT 5000
/* Precision at which counters are shown: their last whole minute. */
#define MINUTE_MS 60000

/* ---- The text ------------------------------------------------------------ */

void metrics_write_head(FILE *to, const char *name, const char *type, const char *help)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_write_label(FILE *to, tkl_bytes name)
{
    char *text = cli_escape(name, false);
    for (const char *at = text != NULL ? text : ""; *at != '\0'; at++) {
        if (*at == '\\' || *at == '"')
            fputc('\\', to);
        fputc(*at, to);
    }
    free(text);
}

void metrics_write_seconds(FILE *to, int64_t ms)
{
    fprintf(to, "%" PRId64 ".%03" PRId64 "\n", ms / 1000, ms % 1000);
}

void metrics_write_number(FILE *to, const char *name, const char *type, const char *help,
                          int64_t value)
{
    metrics_write_head(to, name, type, help);
    fprintf(to, "%s %" PRId64 "\n", name, value);
}

/* ---- How many names ------------------------------------------------------ */

size_t metrics_count_shown(size_t count, const metrics_bound *b)
{
    if (b->wanted <= b->max)
        return count;
    return b->max > 0 ? (size_t)((double)count * (double)b->max / (double)b->wanted) : 0;
}

bool metrics_is_folded(tkl_bytes name, size_t shown, size_t most, size_t count)
{
    bool is_other = cli_same_bytes(name, tkl_str(METRICS_OTHER));
    return most < count && (shown >= most || is_other);
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
    metrics_write_head(to, name, "gauge", help);
    for (size_t i = 0; i < all->count; i++) {
        const tkl_hold_summary *item = &all->items[i];
        if (item->holders == NULL)
            continue;
        if (metrics_is_folded(item->name, count, most, all->count)) {
            other += number(item->holders);
            folded = true;
            continue;
        }
        count++;
        fprintf(to, "%s{%s=\"", name, kind->label);
        metrics_write_label(to, item->name);
        fprintf(to, "\"} %" PRId64 "\n", number(item->holders));
    }
    if (folded)
        fprintf(to, "%s{%s=\"" METRICS_OTHER "\"} %" PRId64 "\n", name, kind->label, other);
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
    tkl_counter_series *series; /* the last minutes; NULL: it keeps no minutes */
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
    metrics_write_head(to, "tackle_counted_last_minute", "gauge",
                       "Counted in the last whole minute.");
    for (size_t i = 0; i < all->count; i++) {
        const counted *c = &all->items[i];
        if (c->series == NULL)
            continue;
        if (metrics_is_folded(c->name, count, most, all->count)) {
            other += last_minute(c->series);
            folded = true;
            continue;
        }
        count++;
        fputs("tackle_counted_last_minute{counter=\"", to);
        metrics_write_label(to, c->name);
        fprintf(to, "\"} %" PRId64 "\n", last_minute(c->series));
    }
    if (folded)
        fprintf(to, "tackle_counted_last_minute{counter=\"" METRICS_OTHER "\"} %" PRId64 "\n",
                other);
}

/* ---- Limits -------------------------------------------------------------- */

enum { LIMIT_SERIES = 2 };

static void write_checks(FILE *to, tkl_bytes name, int64_t refused, int64_t allowed)
{
    static const char *const outcomes[] = {"refused", "allowed"};
    for (int i = 0; i < LIMIT_SERIES; i++) {
        fputs("tackle_limit_checks_total{limit=\"", to);
        metrics_write_label(to, name);
        fprintf(to, "\",outcome=\"%s\"} %" PRId64 "\n", outcomes[i], i == 0 ? refused : allowed);
    }
}

static void write_limits(FILE *to, const tkl_limit_overview *all, size_t most)
{
    int64_t refused = 0, allowed = 0;
    size_t count = 0;
    bool folded = false;
    metrics_write_head(to, "tackle_limit_checks_total", "counter",
                       "Refused checks of limits, and allowed ones where they are counted.");
    for (size_t i = 0; i < all->count; i++) {
        const tkl_limit_refusals *item = &all->items[i];
        if (item->code != TKL_OK)
            continue;
        if (metrics_is_folded(item->name, count, most, all->count)) {
            refused += item->refused;
            allowed += item->allowed;
            folded = true;
            continue;
        }
        count++;
        write_checks(to, item->name, item->refused, item->allowed);
    }
    if (folded)
        write_checks(to, tkl_str(METRICS_OTHER), refused, allowed);
}

/* ---- The server ---------------------------------------------------------- */

static const struct {
    const char *name, *type, *help, *field; /* `field`: its name in INFO */
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
        metrics_write_number(to, server_metrics[i].name, server_metrics[i].type,
                             server_metrics[i].help,
                             cli_info_number(info, server_metrics[i].field));
}

/* ---- All of it ----------------------------------------------------------- */

/* Everything that was read; a part that was not read is NULL or empty. */
typedef struct readings {
    tkl_reply *info;
    metrics_queues queues;
    tkl_hold_overview *holds[HOLD_KINDS];
    counters counters;
    tkl_limit_overview *limits;
} readings;

typedef struct part {
    const char *name;
    int code;
    char text[256]; /* why it could not be read */
} part;

enum {
    SERVER_PART,
    QUEUE_PART,
    WORKER_PART,
    TIME_PART,
    FIRST_HOLD_PART,
    COUNTER_PART = FIRST_HOLD_PART + HOLD_KINDS,
    LIMIT_PART,
    PARTS
};

static void note_part(part *p, const char *name, int code)
{
    *p = (part){.name = name, .code = code};
    if (code != TKL_OK)
        snprintf(p->text, sizeof p->text, "%s", tkl_errmsg());
}

/* Whether the server did not answer: reading another part would wait just as long. */
static bool is_away(int code)
{
    return code == TKL_ENOTSENT || code == TKL_ETIMEOUT || code == TKL_EUNKNOWN;
}

static void read_parts(tkl_client *client, readings *r, part parts[PARTS])
{
    static const char *const names[PARTS] = {"server",     "queues",  "workers",  "times", "locks",
                                             "semaphores", "leaders", "counters", "limits"};
    for (int i = 0; i < PARTS; i++) {
        int code;
        if (i == SERVER_PART)
            code = cli_info_read(client, &r->info);
        else if (is_away(parts[SERVER_PART].code))
            code = parts[SERVER_PART].code;
        else if (i == QUEUE_PART)
            code = metrics_queues_read(client, &r->queues);
        else if (i == WORKER_PART)
            code = metrics_workers_read(&r->queues);
        else if (i == TIME_PART)
            code = metrics_times_read(&r->queues);
        else if (i == COUNTER_PART)
            code = read_counters(client, &r->counters);
        else if (i == LIMIT_PART)
            code = tkl_limit_overview_get(client, &r->limits);
        else
            code = hold_kinds[i - FIRST_HOLD_PART].read(client, &r->holds[i - FIRST_HOLD_PART]);
        note_part(&parts[i], names[i], code);
    }
}

static void add_wanted(metrics_bound *b, size_t count, int64_t series_each)
{
    b->wanted += (int64_t)count * series_each;
    b->max -= count > 0 ? series_each : 0; /* "other" has as many series as a name */
}

/* Finds the bound: none when all names fit, else one that leaves room for the series of "other". */
static metrics_bound find_bound(const readings *r, int64_t max)
{
    metrics_bound b = {.max = max};
    add_wanted(&b, r->counters.count, 1);
    add_wanted(&b, r->limits != NULL ? r->limits->count : 0, LIMIT_SERIES);
    add_wanted(&b, r->queues.all != NULL ? r->queues.all->count : 0, METRICS_QUEUE_SERIES);
    add_wanted(&b, r->queues.times != NULL ? r->queues.times->count : 0, METRICS_TIME_SERIES);
    for (int i = 0; i < HOLD_KINDS; i++)
        add_wanted(&b, r->holds[i] != NULL ? r->holds[i]->count : 0, HOLD_SERIES);
    if (b.wanted <= max)
        b.max = max;
    return b;
}

static void write_readings(FILE *to, const readings *r, int64_t max)
{
    metrics_bound b = find_bound(r, max);
    if (r->info != NULL)
        write_server(to, tkl_reply_str(r->info));
    metrics_queues_write(to, &r->queues, &b);
    for (int i = 0; i < HOLD_KINDS; i++)
        if (r->holds[i] != NULL)
            write_kind(to, &hold_kinds[i], r->holds[i],
                       metrics_count_shown(r->holds[i]->count, &b));
    if (r->counters.items != NULL)
        write_counters(to, &r->counters, metrics_count_shown(r->counters.count, &b));
    if (r->limits != NULL)
        write_limits(to, r->limits, metrics_count_shown(r->limits->count, &b));
}

static int write_readable(FILE *to, const part parts[PARTS], FILE *problems)
{
    int readable = 0;
    metrics_write_head(to, "tackle_readable", "gauge",
                       "1: this part of the metrics could be read.");
    for (int i = 0; i < PARTS; i++) {
        fprintf(to, "tackle_readable{part=\"%s\"} %d\n", parts[i].name, parts[i].code == TKL_OK);
        readable += parts[i].code == TKL_OK;
        if (parts[i].code != TKL_OK && problems != NULL)
            fprintf(problems, "tackle: metrics: %s: %s\n", parts[i].name, parts[i].text);
    }
    return readable;
}

static void write_missing(FILE *to, const tkl_names *missing, FILE *problems)
{
    char text[CLI_MISSING_SIZE];
    metrics_write_number(to, "tackle_masters_missing", "gauge",
                         "Masters of the cluster that did not answer.", (int64_t)missing->count);
    if (missing->count > 0 && problems != NULL)
        fprintf(problems, "tackle: metrics: %s\n", cli_missing_text(missing, text));
}

int cli_metrics_write(tkl_client *client, int64_t max, FILE *to, FILE *problems)
{
    readings r = {0};
    part parts[PARTS] = {{0}};
    tkl_bytes own = {NULL, 0};
    tkl_names *missing = NULL;
    tkl_lenient_begin();
    read_parts(client, &r, parts);
    int ended = tkl_lenient_end(client, &missing);
    metrics_write_head(to, "tackle_build_info", "gauge", "The version of tackle.");
    fprintf(to, "tackle_build_info{version=\"%s\"} 1\n", tkl_version());
    int readable = write_readable(to, parts, problems);
    if (ended == TKL_OK)
        write_missing(to, missing, readable > 0 ? problems : NULL);
    write_readings(to, &r, max);
    if (tkl_metrics(client, &own) == TKL_OK)
        fwrite(own.data, 1, own.len, to);
    tkl_metrics_free(own);
    tkl_names_free(missing);
    tkl_reply_free(r.info);
    metrics_queues_free(&r.queues);
    for (int i = 0; i < HOLD_KINDS; i++)
        tkl_hold_overview_free(r.holds[i]);
    free_counters(&r.counters);
    tkl_limit_overview_free(r.limits);
    return readable;
}

/* ---- The verb ------------------------------------------------------------ */

static int metrics_run(cli_session *cli)
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
        .local = "it prints text for Prometheus",
        .run = metrics_run,
    },
    {0},
};

const cli_component cli_metrics = {
    .name = "metrics",
    .summary = "numbers for Prometheus",
    .verbs = verbs,
};
