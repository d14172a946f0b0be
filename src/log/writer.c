/* SPDX-License-Identifier: MIT
 *
 * The writer that collects messages.
 *
 * Messages wait in a list. One thread at a time sends from its head, at most `batch` in one script:
 * the caller whose message makes a batch full, the keeper when the interval is over, or flush and
 * close. So the order is kept. Messages that are being sent stay in the list until their result is
 * known: messages that the server did not get are sent again, messages that may have arrived are
 * removed as unsure.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cond.h"
#include "core/error.h"
#include "core/keeper.h"
#include "core/options.h"
#include "log/log.h"

#define INTERVAL_MS 200
#define BATCH       TKL__LOG_AT_ONCE
#define MOST        10000
#define MOST_MAX    10000000

typedef struct pending {
    struct pending *next;
    tkl_log_severity severity;
    size_t len;
    char text[];
} pending;

struct tkl_log_writer {
    const tkl_log *log;
    int64_t interval_us, batch, most, timeout_ms;
    unsigned generation; /* fork generation: a child must not send its parent's messages */

    pthread_mutex_t mutex; /* guards what follows; never held during a round trip */
    tkl__cond finished;    /* signalled when `sending` becomes false */
    pending *first, **end;
    int64_t count;
    size_t bytes; /* bytes of the messages */
    bool sending;
    bool listed; /* the keeper has the writer on its list, or will soon */
    tkl_log_writer_stats stats;

    tkl__kept kept;
    tkl__log_batch keeper_batch; /* the batch that the keeper sends */
    int64_t keeper_count;
};

/* ---- Sending ------------------------------------------------------------- */

/* Caller holds the lock. Makes a batch of the first messages. */
static int64_t gather_batch(tkl_log_writer *w, tkl__log_batch *batch)
{
    int64_t count = 0;
    tkl__log_batch_init(batch, w->log, NULL);
    for (pending *p = w->first; p && count < w->batch && tkl__log_batch_has_room(batch, p->len);
         p = p->next, count++)
        tkl__log_batch_add(batch, w->log, p->severity, (tkl_bytes){p->text, p->len});
    return count;
}

/* Caller holds the lock. Whether there are enough messages for a full batch. */
static bool is_full(const tkl_log_writer *w)
{
    return w->count >= w->batch || w->bytes >= TKL__LOG_BYTES_AT_ONCE;
}

/* Caller holds the lock. Removes the first messages from the list. */
static void remove_first(tkl_log_writer *w, int64_t count)
{
    for (; count > 0; count--) {
        pending *p = w->first;
        w->first = p->next;
        if (!w->first)
            w->end = &w->first;
        w->count--;
        w->bytes -= p->len;
        free(p);
    }
}

/* Caller holds the lock. Handles the result of sending the first messages. Messages that the server
 * rejects for good are removed, too: it would reject them again. */
static void settle_batch(tkl_log_writer *w, int64_t count, int rc)
{
    w->stats.code = rc;
    if (rc == TKL_OK) {
        w->stats.written += count;
        remove_first(w, count);
    } else if (tkl_is_unknown(rc)) {
        w->stats.unsure += count;
        remove_first(w, count);
    } else if (rc == TKL_ETYPE || rc == TKL_EDAMAGED || rc == TKL_EREFUSED) {
        w->stats.lost += count;
        remove_first(w, count);
    }
    w->sending = false;
    tkl__cond_broadcast(&w->finished);
}

/* Caller holds the lock, which is released during the round trip; no other thread is sending. */
static int send_batch(tkl_log_writer *w)
{
    tkl__log_batch batch;
    tkl_reply *reply = NULL;
    tkl_client *client = w->log->client;
    w->sending = true;
    int64_t count = gather_batch(w, &batch);
    pthread_mutex_unlock(&w->mutex);
    tkl__invocation call = tkl__log_batch_call(&batch);
    int rc = batch.args.failed
                 ? tkl__nomem()
                 : tkl__run(client, &call, tkl__deadline(client, w->timeout_ms), &reply);
    tkl_reply_free(reply);
    pthread_mutex_lock(&w->mutex);
    tkl__log_batch_free(&batch);
    settle_batch(w, count, rc);
    return rc;
}

/* Caller holds the lock. Sends until no messages are left, or an error occurs. */
static int send_all(tkl_log_writer *w)
{
    int rc = TKL_OK;
    while (rc == TKL_OK && w->count > 0) {
        while (w->sending)
            (void)tkl__cond_wait(&w->finished, &w->mutex, TKL__FOREVER);
        if (w->count > 0)
            rc = send_batch(w);
    }
    return rc;
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl_log_writer *writer_of(tkl__kept *kept)
{
    return (tkl_log_writer *)(void *)((char *)kept - offsetof(tkl_log_writer, kept));
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl_log_writer *w = writer_of(kept);
    pthread_mutex_lock(&w->mutex);
    bool sends = !w->sending && w->count > 0;
    if (sends) {
        w->keeper_count = gather_batch(w, &w->keeper_batch);
        if (w->keeper_batch.args.failed) {
            tkl__log_batch_free(&w->keeper_batch);
            sends = false;
        } else {
            w->sending = true;
            *call = tkl__log_batch_call(&w->keeper_batch);
        }
    }
    pthread_mutex_unlock(&w->mutex);
    return sends;
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    tkl_log_writer *w = writer_of(kept);
    (void)reply;
    pthread_mutex_lock(&w->mutex);
    tkl__log_batch_free(&w->keeper_batch);
    settle_batch(w, w->keeper_count, rc);
    pthread_mutex_unlock(&w->mutex);
}

static int64_t keeper_due(tkl__kept *kept)
{
    tkl_log_writer *w = writer_of(kept);
    pthread_mutex_lock(&w->mutex);
    w->listed = w->count > 0;
    bool behind = is_full(w) && w->stats.code == TKL_OK;
    int64_t due = !w->listed ? TKL__FOREVER : tkl__now() + (behind ? 0 : w->interval_us);
    pthread_mutex_unlock(&w->mutex);
    return due;
}

/* ---- Handles ------------------------------------------------------------- */

static int check_options(const tkl_log_writer_options *o)
{
    return TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                              {"interval_ms", o->interval_ms, 0, TKL__MS_MAX},
                              {"batch", o->batch, 0, TKL__LOG_AT_ONCE},
                              {"most", o->most, 0, MOST_MAX});
}

int tkl_log_writer_open(tkl_log *log, const tkl_log_writer_options *options, tkl_log_writer **out)
{
    static const tkl_log_writer_options defaults;
    const tkl_log_writer_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_log_writer *w = calloc(1, sizeof *w);
    if (!w)
        return tkl__nomem();
    w->log = log;
    w->interval_us = (o->interval_ms ? o->interval_ms : INTERVAL_MS) * 1000;
    w->batch = o->batch ? o->batch : BATCH;
    w->most = o->most ? o->most : MOST;
    w->timeout_ms = o->timeout_ms ? o->timeout_ms : log->timeout_ms;
    w->generation = tkl__fork_generation();
    w->end = &w->first;
    w->kept = (tkl__kept){.prepare = keeper_prepare, .done = keeper_done, .due = keeper_due};
    pthread_mutex_init(&w->mutex, NULL);
    tkl__cond_init(&w->finished);
    *out = w;
    return TKL_OK;
}

static int check_process(const tkl_log_writer *w)
{
    return w->generation == tkl__fork_generation()
               ? TKL_OK
               : tkl__fail(TKL_EINVAL, "this writer is the parent's: a child opens its own");
}

static pending *copy_message(tkl_log_severity severity, tkl_bytes text)
{
    pending *p = malloc(sizeof *p + text.len);
    if (!p)
        return NULL;
    *p = (pending){.severity = severity, .len = text.len};
    if (text.len > 0)
        memcpy(p->text, text.data, text.len);
    return p;
}

/* Caller holds the lock. Appends the message; *keep: the writer must be added to the keeper's
 * list. */
static int append_message(tkl_log_writer *w, pending *p, bool *keep)
{
    *keep = false;
    if (w->count >= w->most) {
        w->stats.refused++;
        free(p);
        return tkl__fail(TKL_FULL, "%lld messages are pending", (long long)w->count);
    }
    *w->end = p;
    w->end = &p->next;
    w->count++;
    w->bytes += p->len;
    *keep = !w->listed;
    w->listed = true;
    return TKL_OK;
}

int tkl_log_writer_write(tkl_log_writer *w, tkl_log_severity severity, tkl_bytes message)
{
    bool keep;
    int rc = check_process(w);
    if (rc == TKL_OK)
        rc = tkl__log_check(severity, message);
    if (rc != TKL_OK)
        return rc;
    pending *p = copy_message(severity, message);
    if (!p)
        return tkl__nomem();
    pthread_mutex_lock(&w->mutex);
    rc = append_message(w, p, &keep);
    /* While the server is down, only the keeper tries, once per interval. */
    if (rc == TKL_OK && is_full(w) && !w->sending && w->stats.code == TKL_OK)
        send_batch(w);
    pthread_mutex_unlock(&w->mutex);
    if (keep && tkl__keep(w->log->client, &w->kept, tkl__now() + w->interval_us) != TKL_OK) {
        pthread_mutex_lock(&w->mutex);
        w->listed = false; /* the next message tries again */
        pthread_mutex_unlock(&w->mutex);
    }
    return rc;
}

int tkl_log_writer_flush(tkl_log_writer *w)
{
    int rc = check_process(w);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&w->mutex);
    rc = send_all(w);
    pthread_mutex_unlock(&w->mutex);
    return rc;
}

void tkl_log_writer_stats_get(tkl_log_writer *w, tkl_log_writer_stats *stats)
{
    if (check_process(w) != TKL_OK) {
        *stats = (tkl_log_writer_stats){0};
        return;
    }
    pthread_mutex_lock(&w->mutex);
    *stats = w->stats;
    stats->pending = w->count;
    pthread_mutex_unlock(&w->mutex);
}

int tkl_log_writer_close(tkl_log_writer *w, tkl_log_writer_stats *stats)
{
    int rc = TKL_OK;
    if (stats)
        *stats = (tkl_log_writer_stats){0};
    if (!w)
        return rc;
    if (w->generation == tkl__fork_generation()) {
        tkl__unkeep_wait(w->log->client, &w->kept);
        rc = tkl_log_writer_flush(w);
        if (stats)
            tkl_log_writer_stats_get(w, stats);
        tkl__cond_destroy(&w->finished);
        pthread_mutex_destroy(&w->mutex);
    }
    while (w->first) { /* in a forked child the count may be wrong: another thread may have been
                          changing it */
        pending *p = w->first;
        w->first = p->next;
        free(p);
    }
    free(w);
    return rc;
}
