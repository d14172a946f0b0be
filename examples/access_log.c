/* SPDX-License-Identifier: MIT
 *
 * The access log of a web server turned into counters and quantiles: how many requests a minute,
 * how large and how slow the answers of each page are, which errors are the most frequent.
 *
 *     access_log [URL] < access.log
 *
 * Each line is "METHOD PATH STATUS BYTES SECONDS". Without a log, a small one is made up.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tackle/tackle.h>
#include <unistd.h>

enum { AT_ONCE = 500, PATH_SIZE = 128 };

typedef struct monitor {
    tkl_counter *requests, *errors;
    tkl_stats *times, *sizes;
    tkl_log *log;
} monitor;

/* Some lines of the log, summed up and sent together. */
typedef struct batch {
    char paths[AT_ONCE][PATH_SIZE];
    tkl_stats_value times[AT_ONCE], sizes[AT_ONCE];
    tkl_log_message failures[AT_ONCE];
    size_t count, failed;
} batch;

static int open_monitor(tkl_client *client, monitor *m)
{
    int rc = tkl_counter_open(client, tkl_str("requests"), NULL, &m->requests);
    if (rc == TKL_OK)
        rc = tkl_counter_open(client, tkl_str("errors"), NULL, &m->errors);
    if (rc == TKL_OK)
        rc = tkl_stats_open(client, tkl_str("time"), NULL, &m->times);
    if (rc == TKL_OK)
        rc = tkl_stats_open(client, tkl_str("size"), NULL, &m->sizes);
    if (rc == TKL_OK)
        rc = tkl_log_open(client, tkl_str("web"), NULL, &m->log);
    return rc;
}

static void close_monitor(monitor *m)
{
    tkl_counter_close(m->requests);
    tkl_counter_close(m->errors);
    tkl_stats_close(m->times);
    tkl_stats_close(m->sizes);
    tkl_log_close(m->log);
}

/* "GET /cart 200 1433 0.012": false when it is something else. */
static bool read_line(batch *b, const char *line)
{
    char *path = b->paths[b->count];
    int status;
    double bytes, seconds;
    if (sscanf(line, "%*15s %127s %d %lf %lf", path, &status, &bytes, &seconds) != 4)
        return false;
    b->times[b->count] = (tkl_stats_value){.context = tkl_str(path), .value = seconds};
    b->sizes[b->count] = (tkl_stats_value){.context = tkl_str(path), .value = bytes};
    if (status >= 500)
        b->failures[b->failed++] =
            (tkl_log_message){.severity = TKL_LOG_ERROR, .text = tkl_str(path)};
    b->count++;
    return true;
}

/* Four round trips, however many lines. */
static int send_batch(const monitor *m, batch *b)
{
    const tkl_counter_item counts[] = {{.counter = m->requests, .amount = (int64_t)b->count},
                                       {.counter = m->errors, .amount = (int64_t)b->failed}};
    int rc = tkl_counter_add_each(counts, 2, NULL);
    if (rc == TKL_OK)
        rc = tkl_stats_record(m->times, b->times, b->count);
    if (rc == TKL_OK)
        rc = tkl_stats_record(m->sizes, b->sizes, b->count);
    if (rc == TKL_OK)
        rc = tkl_log_write(m->log, b->failures, b->failed);
    b->count = b->failed = 0;
    return rc;
}

static int read_log(const monitor *m, FILE *log)
{
    static batch b;
    char line[512];
    int rc = TKL_OK;
    while (rc == TKL_OK && fgets(line, sizeof line, log))
        if (read_line(&b, line) && b.count == AT_ONCE)
            rc = send_batch(m, &b);
    return rc == TKL_OK && b.count > 0 ? send_batch(m, &b) : rc;
}

/* The slowest pages, with their quantiles. */
static int report_pages(const monitor *m)
{
    tkl_stats_ranking *slowest;
    int rc = tkl_stats_slowest(m->times, TKL_HOUR_THIS, 5, &slowest);
    printf("%-10s %8s %8s %8s %8s\n", "page", "requests", "mean ms", "p50 ms", "p99 ms");
    for (size_t i = 0; rc == TKL_OK && i < slowest->count; i++) {
        const tkl_bytes *page = &slowest->items[i].context;
        tkl_stats_summary *s;
        rc = tkl_stats_show(m->times, page, 1, TKL_HOUR_BOTH, &s);
        if (rc == TKL_OK)
            printf("%-10.*s %8" PRId64 " %8.1f %8.1f %8.1f\n", TKL_ARG(*page), s->count,
                   s->mean * 1e3, s->p50 * 1e3, s->p99 * 1e3);
        tkl_stats_summary_free(s);
    }
    tkl_stats_ranking_free(slowest);
    return rc;
}

static int report_errors(const monitor *m)
{
    tkl_log_counts *counts;
    tkl_counter_series *series;
    int rc = tkl_log_common(m->log, TKL_LOG_ERROR, TKL_HOUR_THIS, 3, &counts);
    for (size_t i = 0; rc == TKL_OK && i < counts->count; i++)
        printf("%" PRId64 " errors of " TKL_FMT "\n", counts->items[i].times,
               TKL_ARG(counts->items[i].message));
    tkl_log_counts_free(counts);
    if (rc == TKL_OK)
        rc = tkl_counter_read(m->requests, 60000, 0, 0, &series);
    if (rc != TKL_OK)
        return rc;
    printf("%" PRId64 " requests in this minute\n", series->items[series->count - 1].count);
    tkl_counter_series_free(series);
    return TKL_OK;
}

/* A log of 2000 lines: /search is slow now and then, /pay fails now and then. */
static FILE *make_log(void)
{
    static const char *const paths[] = {"/", "/cart", "/search", "/pay"};
    FILE *log = tmpfile();
    for (int i = 0; log && i < 2000; i++) {
        int page = i % 7 % 4, slow = page == 2 && i % 9 == 0;
        fprintf(log, "GET %s %d %d %.4f\n", paths[page], page == 3 && i % 10 == 0 ? 502 : 200,
                1000 + i % 500, slow ? 0.9 : 0.01 + page * 0.005 + i % 10 * 0.001);
    }
    if (log)
        rewind(log);
    return log;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("TACKLE_URL");
    bool given = argc > 1 && !isatty(STDIN_FILENO); /* a URL and a log */
    tkl_client *client;
    monitor m = {0};
    FILE *log = given ? stdin : make_log();
    if (!log || tkl_open(url ? url : "embedded:", NULL, &client) != TKL_OK) {
        fprintf(stderr, "access_log: %s\n", log ? tkl_errmsg() : "cannot make a log");
        return 1;
    }
    int rc = open_monitor(client, &m);
    if (rc == TKL_OK)
        rc = read_log(&m, log);
    if (rc == TKL_OK)
        rc = report_pages(&m);
    if (rc == TKL_OK)
        rc = report_errors(&m);
    if (rc != TKL_OK)
        fprintf(stderr, "access_log: %s\n", tkl_errmsg());
    close_monitor(&m);
    tkl_close(client);
    if (!given)
        fclose(log);
    return rc == TKL_OK ? 0 : 1;
}
