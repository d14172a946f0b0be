/* SPDX-License-Identifier: MIT */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "top.h"

#define INTERVAL_MS 1000

enum { BLOCK_SIZE = 16 << 10 };

/* The text of an event. All streams share it; the last one frees it. */
typedef struct event {
    int uses;
    char *text;
    size_t size;
} event;

typedef struct stream {
    serve_events *events;
    struct MHD_Connection *connection;
    int64_t *since_ms;
    event *sending; /* NULL: nothing */
    size_t sent;    /* bytes of `sending` that the client has */
    uint64_t seen;  /* number of the last event that this stream has begun to send */
    bool is_suspended;
    struct stream *next, *prev;
} stream;

struct serve_events {
    tkl_client *client;
    tkl_loop *loop;
    stream *streams;
    event *latest; /* NULL: none yet */
    uint64_t number;
    int64_t next_ms; /* when to read again */
    bool is_reading;
    bool is_ending;

    /* Belongs to the operation while is_reading is set. */
    top_moment now, last;
    char *text; /* the event that the operation has made */
};

/* ---- Events -------------------------------------------------------------- */

static void drop_event(event *e)
{
    if (e == NULL || --e->uses > 0)
        return;
    free(e->text);
    free(e);
}

/* Takes the next event for a stream. False: there is none. */
static bool take_event(stream *s)
{
    if (s->events->latest == NULL || s->seen == s->events->number)
        return false;
    s->sending = s->events->latest;
    s->sending->uses++;
    s->sent = 0;
    s->seen = s->events->number;
    return true;
}

static void wake_streams(serve_events *events)
{
    for (stream *s = events->streams; s != NULL; s = s->next) {
        if (*s->since_ms == 0)
            *s->since_ms = cli_now_ms();
        if (s->is_suspended)
            MHD_resume_connection(s->connection);
        s->is_suspended = false;
    }
}

/* Makes a text, which it takes over, the latest event. NULL: there was no memory for one; the next
 * sample is a second away. */
static void publish_text(serve_events *events, char *text)
{
    event *e = text != NULL ? malloc(sizeof *e) : NULL;
    if (e == NULL) {
        free(text);
        return;
    }
    *e = (event){.uses = 1, .text = text, .size = strlen(text)};
    drop_event(events->latest);
    events->latest = e;
    events->number++;
    wake_streams(events);
}

/* ---- Streams ------------------------------------------------------------- */

/* libmicrohttpd calls this when the client can take more. */
static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t max)
{
    stream *s = arg;
    (void)position;
    if (s->events->is_ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->sending == NULL && !take_event(s)) {
        *s->since_ms = 0;
        s->is_suspended = true;
        MHD_suspend_connection(s->connection);
        return 0;
    }
    size_t left = s->sending->size - s->sent, size = left < max ? left : max;
    memcpy(to, s->sending->text + s->sent, size);
    s->sent += size;
    if (s->sent == s->sending->size) {
        drop_event(s->sending);
        s->sending = NULL;
    }
    return (ssize_t)size;
}

static void free_stream(void *arg)
{
    stream *s = arg;
    *(s->prev != NULL ? &s->prev->next : &s->events->streams) = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    drop_event(s->sending);
    free(s);
}

struct MHD_Response *serve_events_response(serve_events *events, struct MHD_Connection *connection,
                                           int64_t *since_ms)
{
    stream *s = calloc(1, sizeof *s);
    struct MHD_Response *response =
        s != NULL ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_stream, s,
                                                      free_stream)
                  : NULL;
    if (response == NULL) {
        free(s);
        return NULL;
    }
    *s = (stream){.events = events,
                  .connection = connection,
                  .since_ms = since_ms,
                  .seen = events->streams != NULL ? 0 : events->number, /* no sample of long ago */
                  .next = events->streams};
    if (s->next != NULL)
        s->next->prev = s;
    events->streams = s;
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* nginx passes it on at once */
    return response;
}

/* ---- The sampler --------------------------------------------------------- */

/* Writes an event; takes over the data. NULL: out of memory. */
static char *event_text(const char *name, json_t *data)
{
    char *json = data != NULL ? cli_json_text(data) : NULL, *text = NULL;
    if (json == NULL || asprintf(&text, "event: %s\ndata: %s\n\n", name, json) < 0)
        text = NULL;
    free(json);
    json_decref(data);
    return text;
}

static char *sample_text(const serve_events *events)
{
    top_table tables[TOP_TABS] = {0};
    top_extras none = {0};
    top_tables_make(&events->now, &events->last, &none, true, tables);
    json_t *data = top_tables_json(&events->now, tables);
    json_object_del(data, "workers"); /* workers would cost more round trips */
    json_object_del(data, "limits");
    top_tables_free(tables);
    return event_text("sample", data);
}

/* Reads a sample, as an operation of the loop. */
static int read_sample(void *arg)
{
    serve_events *events = arg;
    tkl_overview *fresh = NULL;
    int code = tkl_overview_read(events->client, NULL, events->now.overview, &fresh);
    if (code != TKL_OK) {
        events->text = event_text("problem", json_pack("{s:s, s:s}", "error", tkl_codename(code),
                                                       "message", tkl_errmsg()));
        return TKL_OK;
    }
    tkl_overview_free(events->last.overview);
    events->last = events->now;
    events->now = (top_moment){fresh, cli_now_us()};
    events->text = sample_text(events);
    return TKL_OK;
}

/* Called when the operation has ended. `code` is not TKL_OK when it could not begin. */
static void end_sample(void *arg, int code, const char *text)
{
    serve_events *events = arg;
    events->is_reading = false;
    if (code != TKL_OK)
        events->text = event_text(
            "problem", json_pack("{s:s, s:s}", "error", tkl_codename(code), "message", text));
    publish_text(events, events->text);
    events->text = NULL;
}

serve_events *serve_events_open(tkl_client *client, tkl_loop *loop)
{
    serve_events *events = calloc(1, sizeof *events);
    if (events != NULL)
        *events = (serve_events){.client = client, .loop = loop};
    return events;
}

void serve_events_close(serve_events *events)
{
    if (events == NULL)
        return;
    drop_event(events->latest);
    tkl_overview_free(events->now.overview);
    tkl_overview_free(events->last.overview);
    free(events);
}

int serve_events_timeout_ms(const serve_events *events)
{
    int64_t left = events->next_ms - cli_now_ms();
    if (events->streams == NULL || events->is_reading || events->is_ending)
        return -1;
    return left > 0 ? (int)left : 0;
}

void serve_events_tick(serve_events *events)
{
    if (serve_events_timeout_ms(events) != 0)
        return;
    events->next_ms = cli_now_ms() + INTERVAL_MS;
    int code = tkl_loop_submit(events->loop, read_sample, end_sample, events, NULL);
    events->is_reading = code == TKL_OK;
}

void serve_events_end(serve_events *events)
{
    events->is_ending = true;
    wake_streams(events);
}
