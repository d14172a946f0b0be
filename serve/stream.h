/* SPDX-License-Identifier: MIT
 *
 * Streams: answers whose results are sent one by one, as server-sent events or lines of JSON.
 *
 *     event stream                          lines
 *
 *     id: 17                                {"id": 17, "message": "..."}
 *     data: {"id": 17, "message": "..."}
 *
 *     event: error                          {"error": "TKL_EINTR", "message": "..."}
 *     data: {"error": "TKL_EINTR", ...}
 *
 *     :                                     (an empty line, so that a dead client is noticed)
 *
 * A stream is a buffer between an operation of the loop, which adds results, and the thread of
 * HTTP, which sends them. When the client is slower than the results, the operation sleeps, so that
 * memory is bounded by SERVE_STREAM_MAX and one result.
 *
 * A stream begins with its first result, or when nothing has failed for a moment.
 */
#ifndef TKL_SERVE_STREAM_H
#define TKL_SERVE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SERVE_STREAM_MAX = 256 << 10 }; /* bytes that are not sent yet, when the operation sleeps */

typedef enum serve_framing {
    SERVE_NO_STREAM,
    SERVE_EVENTS, /* text/event-stream */
    SERVE_LINES,  /* application/x-ndjson */
} serve_framing;

/* The framing that a header Accept, which may be NULL, asks for. */
serve_framing serve_framing_of(const char *accept);
const char *serve_framing_type(serve_framing framing);

typedef struct serve_stream serve_stream;

/* `stir` is called in the thread of the operation whenever there is something to send. NULL: out of
 * memory. */
serve_stream *serve_stream_new(serve_framing framing, void (*stir)(void *arg), void *arg);
void serve_stream_free(serve_stream *stream);
serve_framing serve_stream_framing(const serve_stream *stream);

/* ---- Any thread ---------------------------------------------------------- */

/* Until a stream has begun, a failure can still be an answer with a status. */
typedef enum serve_stream_state {
    SERVE_STREAM_OPEN,
    SERVE_STREAM_BEGUN,    /* failures are events */
    SERVE_STREAM_DECLINED, /* the answer is not a stream */
} serve_stream_state;

/* Moves an open stream to `state`, begun or declined. Returns the state of the stream. */
serve_stream_state serve_stream_settle(serve_stream *stream, serve_stream_state state);
bool serve_stream_has_begun(serve_stream *stream);

/* ---- The operation ------------------------------------------------------- */

/* Adds an event; sleeps while the client is too slow. `event` and `id` may be NULL; lines do not
 * show them. TKL_EINTR: the client is gone. */
int serve_stream_add(serve_stream *stream, const char *event, const char *id, const char *json);

/* ---- The thread of HTTP -------------------------------------------------- */

/* Moves up to `max` bytes that were added. Returns how many. *has_room: the operation may sleep,
 * and there is room again. */
size_t serve_stream_take(serve_stream *stream, char *to, size_t max, bool *has_room);

/* Adds a sign of life if there is nothing else to send. */
void serve_stream_beat(serve_stream *stream);

#endif
