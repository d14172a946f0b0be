/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

void serve_metrics_init(serve_metrics *metrics)
{
    *metrics = (serve_metrics){.began_ms = cli_now_ms()};
}

void serve_metrics_count(serve_metrics *metrics, int status, int64_t took_ms)
{
    metrics->answers[status / 100 % 6]++;
    metrics->took_ms += took_ms;
}

static void write_one(FILE *to, const char *name, const char *type, const char *help, double value)
{
    fprintf(to, "# HELP tackle_serve_%s %s\n# TYPE tackle_serve_%s %s\ntackle_serve_%s %.15g\n",
            name, help, name, type, name, value);
}

char *serve_metrics_text(const serve_metrics *m, tkl_loop *loop)
{
    char *text = NULL;
    size_t size = 0;
    tkl_loop_stats stats = {0};
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    if (tkl_loop_stats_get(loop, &stats) != TKL_OK)
        stats = (tkl_loop_stats){0};
    fputs("# HELP tackle_serve_requests_total Answers, by the class of their status.\n"
          "# TYPE tackle_serve_requests_total counter\n",
          to);
    for (int class = 2; class <= 5; class ++)
        fprintf(to, "tackle_serve_requests_total{status=\"%dxx\"} %lld\n", class,
                (long long)m->answers[class]);
    write_one(to, "request_seconds_total", "counter", "Time of all answers together.",
              (double)m->took_ms / 1000);
    write_one(to, "clients_gone_total", "counter", "Clients that left before their answer.",
              (double)m->gone);
    write_one(to, "connections", "gauge", "Open connections.", (double)m->connections);
    write_one(to, "streams", "gauge", "Open streams.", (double)m->streams);
    write_one(to, "calls_queued", "gauge", "Calls that have not begun.", (double)stats.queued);
    write_one(to, "calls_running", "gauge", "Calls that run, or wait for a reply.",
              (double)stats.running);
    write_one(to, "calls_waiting", "gauge", "Calls that wait for a lock, a job, a message.",
              (double)stats.waiting);
    write_one(to, "uptime_seconds", "gauge", "Time since the start.",
              (double)(cli_now_ms() - m->began_ms) / 1000);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}
