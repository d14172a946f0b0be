/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <tackle/loop.h>

struct serve_stream {
    serve_framing framing;
    void (*stir)(void *arg);
    void *arg;

    pthread_mutex_t mutex; /* guards what follows */
    serve_stream_state state;
    bool is_full;     /* the operation sleeps until there is room */
    char *data;       /* NULL: there was nothing to send yet */
    size_t from, to;  /* the part that is not sent yet */
    size_t allocated; /* bytes of `data` */
};

/* ---- Framing ------------------------------------------------------------- */

static const char *const types[] = {
    [SERVE_EVENTS] = "text/event-stream",
    [SERVE_LINES] = "application/x-ndjson",
};

serve_framing serve_framing_of(const char *accept)
{
    for (serve_framing f = SERVE_EVENTS; accept != NULL && f <= SERVE_LINES; f++)
        if (strcasestr(accept, types[f]) != NULL)
            return f;
    return SERVE_NO_STREAM;
}

const char *serve_framing_type(serve_framing framing)
{
    return types[framing];
}

/* A result as it is sent; to be freed. NULL: out of memory. The JSON is one line. */
static char *frame_result(serve_framing framing, const char *event, const char *id,
                          const char *json)
{
    char *text = NULL;
    int len = framing == SERVE_LINES
                  ? asprintf(&text, "%s\n", json)
                  : asprintf(&text, "%s%s%s%s%s%sdata: %s\n\n", event != NULL ? "event: " : "",
                             event != NULL ? event : "", event != NULL ? "\n" : "",
                             id != NULL ? "id: " : "", id != NULL ? id : "", id != NULL ? "\n" : "",
                             json);
    return len >= 0 ? text : NULL;
}

/* ---- Opening and closing ------------------------------------------------- */

serve_stream *serve_stream_new(serve_framing framing, void (*stir)(void *arg), void *arg)
{
    serve_stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (serve_stream){.framing = framing, .stir = stir, .arg = arg};
    pthread_mutex_init(&s->mutex, NULL);
    return s;
}

void serve_stream_free(serve_stream *stream)
{
    if (stream == NULL)
        return;
    pthread_mutex_destroy(&stream->mutex);
    free(stream->data);
    free(stream);
}

serve_framing serve_stream_framing(const serve_stream *stream)
{
    return stream->framing;
}

/* ---- Beginning ----------------------------------------------------------- */

/* Changes the state of an open stream. The caller has the mutex. */
static serve_stream_state settle_state(serve_stream *s, serve_stream_state state)
{
    if (s->state == SERVE_STREAM_OPEN)
        s->state = state;
    return s->state;
}

serve_stream_state serve_stream_settle(serve_stream *s, serve_stream_state state)
{
    pthread_mutex_lock(&s->mutex);
    state = settle_state(s, state);
    pthread_mutex_unlock(&s->mutex);
    return state;
}

bool serve_stream_has_begun(serve_stream *s)
{
    return serve_stream_settle(s, SERVE_STREAM_OPEN) == SERVE_STREAM_BEGUN;
}

/* ---- Adding -------------------------------------------------------------- */

/* Appends the text. False: out of memory. The caller has the mutex. */
static bool append_text(serve_stream *s, const char *text)
{
    size_t len = strlen(text), used = s->to - s->from;
    if (s->from > 0)
        memmove(s->data, s->data + s->from, used);
    s->from = 0;
    s->to = used;
    if (used + len > s->allocated) {
        char *data = realloc(s->data, used + len);
        if (data == NULL)
            return false;
        s->data = data;
        s->allocated = used + len;
    }
    memcpy(s->data + used, text, len);
    s->to += len;
    return true;
}

/* Sleeps until the client has taken most of the data. TKL_EINTR: the client is gone. */
static int await_room(serve_stream *s)
{
    enum { LONG_MS = 60000 };
    int code = TKL_OK;
    for (bool is_full = true; code == TKL_OK && is_full;) {
        pthread_mutex_lock(&s->mutex);
        is_full = s->is_full = s->to - s->from > SERVE_STREAM_MAX;
        pthread_mutex_unlock(&s->mutex);
        if (is_full)
            code = tkl_loop_sleep(LONG_MS);
    }
    return code;
}

int serve_stream_add(serve_stream *s, const char *event, const char *id, const char *json)
{
    int code = await_room(s);
    char *text = code == TKL_OK ? frame_result(s->framing, event, id, json) : NULL;
    if (code != TKL_OK)
        return code;
    pthread_mutex_lock(&s->mutex);
    settle_state(s, SERVE_STREAM_BEGUN);
    bool added = text != NULL && append_text(s, text);
    pthread_mutex_unlock(&s->mutex);
    free(text);
    s->stir(s->arg);
    return added ? TKL_OK : TKL_ENOMEM;
}

/* ---- Sending ------------------------------------------------------------- */

size_t serve_stream_take(serve_stream *s, char *to, size_t max, bool *has_room)
{
    pthread_mutex_lock(&s->mutex);
    size_t left = s->to - s->from, taken = left < max ? left : max;
    if (taken > 0)
        memcpy(to, s->data + s->from, taken);
    s->from += taken;
    *has_room = s->is_full && left - taken <= SERVE_STREAM_MAX / 2;
    s->is_full = s->is_full && !*has_room;
    pthread_mutex_unlock(&s->mutex);
    return taken;
}

void serve_stream_beat(serve_stream *s)
{
    pthread_mutex_lock(&s->mutex);
    if (s->from == s->to && !append_text(s, s->framing == SERVE_EVENTS ? ":\n\n" : "\n"))
        s->from = s->to; /* out of memory: the next sign of life comes */
    pthread_mutex_unlock(&s->mutex);
}
