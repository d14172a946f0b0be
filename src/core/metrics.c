/* SPDX-License-Identifier: MIT
 *
 * The numbers of a client in the text format of Prometheus.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/report.h"

static void write_head(tkl__buf *out, const char *name, const char *type, const char *help)
{
    tkl__buf_addf(out, "# HELP tackle_client_%s %s\n# TYPE tackle_client_%s %s\n", name, help, name,
                  type);
}

static void write_number(tkl__buf *out, const char *name, const char *type, const char *help,
                         int64_t value)
{
    write_head(out, name, type, help);
    tkl__buf_addf(out, "tackle_client_%s %" PRId64 "\n", name, value);
}

/* Writes microseconds as seconds. Printing a double would depend on the locale. */
static void write_seconds(tkl__buf *out, int64_t us)
{
    tkl__buf_addf(out, "%" PRId64 ".%06" PRId64, us / 1000000, us % 1000000);
}

static void write_times(tkl__buf *out, const tkl_client_stats *stats)
{
    int64_t count = 0;
    write_head(out, "request_seconds", "histogram",
               "Time of requests, from getting a connection to the reply.");
    for (int i = 0; i < TKL_LATENCY_BUCKETS; i++) {
        count += stats->took[i];
        tkl__buf_addz(out, "tackle_client_request_seconds_bucket{le=\"");
        if (i < TKL_LATENCY_BUCKETS - 1)
            write_seconds(out, (int64_t)TKL__LATENCY_FIRST_US << i);
        else
            tkl__buf_addz(out, "+Inf");
        tkl__buf_addf(out, "\"} %" PRId64 "\n", count);
    }
    tkl__buf_addz(out, "tackle_client_request_seconds_sum ");
    write_seconds(out, stats->took_us);
    tkl__buf_addf(out, "\ntackle_client_request_seconds_count %" PRId64 "\n", count);
}

int tkl_metrics(tkl_client *client, tkl_bytes *text)
{
    tkl_client_stats s;
    tkl__buf out;
    *text = (tkl_bytes){NULL, 0};
    tkl_client_stats_get(client, &s);
    tkl__buf_init(&out);
    write_number(&out, "calls_total", "counter", "Requests that got a connection.", s.calls);
    write_number(&out, "errors_total", "counter", "Error replies of servers.", s.errors);
    write_number(&out, "retries_total", "counter", "Requests repeated.", s.retries);
    write_number(&out, "connects_total", "counter", "Connections made.", s.dials);
    write_number(&out, "connect_failures_total", "counter", "Connections that could not be made.",
                 s.failures);
    write_number(&out, "connections_lost_total", "counter", "Connections that broke in use.",
                 s.lost);
    write_number(&out, "sent_bytes_total", "counter", "Bytes sent.", s.bytes_sent);
    write_number(&out, "received_bytes_total", "counter", "Bytes received.", s.bytes_received);
    write_number(&out, "servers", "gauge", "Servers known.", s.nodes);
    write_number(&out, "connections", "gauge", "Open connections.", s.connections);
    write_number(&out, "connections_idle", "gauge", "Open connections that no request uses.",
                 s.idle);
    write_number(&out, "waiting_threads", "gauge", "Threads that wait for a connection.",
                 s.waiting);
    write_times(&out, &s);
    char *copy = out.failed ? NULL : tkl__copy_bytes((tkl_bytes){out.data, out.len});
    if (copy)
        *text = (tkl_bytes){copy, out.len};
    tkl__buf_free(&out);
    return copy ? TKL_OK : tkl__nomem();
}

void tkl_metrics_free(tkl_bytes text)
{
    free((char *)(uintptr_t)text.data);
}
