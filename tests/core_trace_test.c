/* SPDX-License-Identifier: MIT
 *
 * Reports of the commands that a client sends, and its numbers as text for Prometheus.
 */
#include <tackle/queue.h>

#include "core/buf.h"
#include "core/resp.h"
#include "core/trace.h"
#include "support/fixture.h"
#include "support/proxy.h"

/* The commands that were traced, one a line: "PING" or "2/3 GET a". Long words are cut: the text of
 * a library is one. */
typedef struct diary {
    char text[65536];
    int64_t took_us; /* time of the last command */
    int code;
} diary;

static void note(const tkl_trace *trace, void *arg)
{
    diary *d = arg;
    size_t at = strlen(d->text), room = sizeof d->text;
    if (trace->batch > 1)
        at += (size_t)snprintf(d->text + at, room - at, "%zu/%zu ", trace->place, trace->batch);
    for (size_t i = 0; i < trace->count && at < room; i++)
        at += (size_t)snprintf(d->text + at, room - at, "%.*s%s",
                               trace->words[i].len < 60 ? (int)trace->words[i].len : 60,
                               trace->words[i].data, i + 1 < trace->count ? " " : "\n");
    d->took_us = trace->took_us;
    d->code = trace->code;
}

static tkl_client *open_tracing(const char *url, diary *d)
{
    *d = (diary){0};
    return test_open(url, &(tkl_options){.name = "tackle", .on_trace = note, .trace_arg = d});
}

static void each_command_is_traced(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_client *client = open_tracing(f->server->url, &d);
    call_expect(client, "PONG", "PING", NULL);
    assert_string_equal(d.text, "CLIENT SETNAME tackle\nPING\n");
    assert_true(d.took_us >= 0);
    assert_int_equal(d.code, TKL_OK);
    assert_code(tkl_callz(client, NULL, "GET", NULL), TKL_EREFUSED);
    assert_int_equal(d.code, TKL_EREFUSED);
    tkl_close(client);
}

static void commands_of_a_batch_say_so(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_pipeline *p;
    tkl_client *client = open_tracing(f->server->url, &d);
    assert_ok(tkl_pipeline_open(client, NULL, &p));
    assert_ok(tkl_pipeline_addz(p, "SET", "a", "1", NULL));
    assert_ok(tkl_pipeline_addz(p, "GET", "a", NULL));
    assert_ok(tkl_pipeline_run(p, NULL, NULL));
    assert_string_equal(d.text, "CLIENT SETNAME tackle\n1/2 SET a 1\n2/2 GET a\n");
    tkl_pipeline_close(p);
    tkl_close(client);
}

static void a_lost_reply_is_traced(void **state)
{
    fixture *f = *state;
    diary d;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = open_tracing(proxy_url(p), &d);
    call_expect(client, "PONG", "PING", NULL);
    proxy_cut_after(p, TO_CLIENT, 2);
    assert_code(call_code(client, NULL, "INCR", "n", NULL), TKL_EUNKNOWN);
    assert_contains(d.text, "INCR n\n");
    assert_int_equal(d.took_us, -1);
    assert_int_equal(d.code, TKL_EUNKNOWN);
    tkl_close(client);
    proxy_end(p);
}

static void what_waiters_send_is_traced(void **state)
{
    fixture *f = *state;
    diary d;
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    tkl_client *client = open_tracing(f->server->url, &d);
    assert_ok(tkl_queue_open(client, tkl_str("mails"), NULL, &queue));
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    assert_code(tkl_consumer_claim(consumer, 1, 2000, &jobs), TKL_EMPTY);
    assert_contains(d.text, "SSUBSCRIBE ");
    assert_contains(d.text, "FCALL queue/claim ");
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
}

/* ---- Hidden arguments ---------------------------------------------------- */

static const char *traced_as(const char *line, diary *d)
{
    char words[256], *argv[16], *next = NULL;
    int argc = 0;
    const tkl__target target = {.on_trace = note, .trace_arg = d};
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok_r(words, " ", &next); word; word = strtok_r(NULL, " ", &next))
        argv[argc++] = word;
    *d = (diary){0};
    tkl__trace *trace = tkl__trace_open(&target, &(tkl__addr){.host = "host", .port = 1});
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_command(&wire, argc, (const char *const *)argv, NULL);
    tkl__trace_send(trace, (tkl_bytes){wire.data, wire.len});
    tkl__buf_free(&wire);
    tkl__trace_close(trace, TKL_ETIMEOUT);
    return d->text;
}

static void secrets_are_masked(void **state)
{
    (void)state;
    static const struct {
        const char *sent, *shown;
    } rows[] = {
        {"AUTH pw", "AUTH ***\n"},
        {"auth user pw", "auth *** ***\n"},
        {"HELLO 3 AUTH user pw SETNAME x", "HELLO 3 AUTH *** *** *** ***\n"},
        {"MIGRATE h 1 k 0 5 AUTH2 user pw", "MIGRATE h 1 k 0 5 AUTH2 *** ***\n"},
        {"CONFIG SET maxmemory 1mb requirepass pw", "CONFIG SET maxmemory 1mb requirepass ***\n"},
        {"config set MasterAuth pw", "config set MasterAuth ***\n"},
        {"CONFIG GET requirepass", "CONFIG GET requirepass\n"},
        {"SENTINEL SET main auth-pass pw", "SENTINEL SET main auth-pass ***\n"},
        {"SENTINEL CONFIG SET sentinel-pass pw", "SENTINEL CONFIG SET sentinel-pass ***\n"},
        {"ACL SETUSER ann on >pw #abc <old !def ~* +@all",
         "ACL SETUSER ann on *** *** *** *** ~* +@all\n"},
        {"FCALL tackle_queue_push_0123456789 1 k", "FCALL queue/push 1 k\n"},
        {"FCALL tackle_queue_schedule_set_0123456789 0", "FCALL queue/schedule_set 0\n"},
        {"FCALL tackle_queue_0123456789 0", "FCALL queue 0\n"},
        {"FCALL mine 0", "FCALL mine 0\n"},
        {"FCALL", "FCALL\n"},
        {"SET requirepass pw", "SET requirepass pw\n"},
    };
    diary d;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(traced_as(rows[i].sent, &d), rows[i].shown);
    assert_int_equal(d.code, TKL_ETIMEOUT);
}

/* ---- Numbers as text ----------------------------------------------------- */

static void numbers_are_text_for_prometheus(void **state)
{
    fixture *f = *state;
    tkl_bytes text;
    tkl_client_stats stats;
    int64_t timed = 0;
    call_expect(f->client, "PONG", "PING", NULL);
    assert_code(tkl_callz(f->client, NULL, "GET", NULL), TKL_EREFUSED);
    tkl_client_stats_get(f->client, &stats);
    assert_int_equal(stats.errors, 1);
    assert_true(stats.took_us > 0);
    for (int i = 0; i < TKL_LATENCY_BUCKETS; i++)
        timed += stats.took[i];
    assert_int_equal(timed, 2);
    assert_ok(tkl_metrics(f->client, &text));
    assert_int_equal(text.len, strlen(text.data));
    assert_contains(text.data, "# TYPE tackle_client_calls_total counter\n"
                               "tackle_client_calls_total 2\n");
    assert_contains(text.data, "tackle_client_errors_total 1\n");
    assert_contains(text.data, "tackle_client_request_seconds_bucket{le=\"0.000100\"} ");
    assert_contains(text.data, "tackle_client_request_seconds_bucket{le=\"3.276800\"} ");
    assert_contains(text.data, "tackle_client_request_seconds_bucket{le=\"+Inf\"} 2\n");
    assert_contains(text.data, "tackle_client_request_seconds_count 2\n");
    tkl_metrics_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_command_is_traced), TEST(commands_of_a_batch_say_so),
        TEST(a_lost_reply_is_traced), TEST(what_waiters_send_is_traced),
        TEST(secrets_are_masked),     TEST(numbers_are_text_for_prometheus),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
