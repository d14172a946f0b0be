/* SPDX-License-Identifier: MIT
 *
 * Watching: events of a queue as they happen.
 *
 * Scripts read META anyway, and one of its fields says until when the queue is watched. Until then
 * they publish their changes, on a channel with the name of META. So a queue without watchers pays
 * for one more field in an HMGET. A watcher sets the field WATCH_MS ahead, and again every
 * RENEW_US. When it is gone, the publishing ends WATCH_MS later.
 *
 * A message is "time word id id ...", a line feed, and a note.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/waiting.h"
#include "queue/all.h"
#include "queue/scripts.h"

#define WATCH_MS "30000"
#define RENEW_US INT64_C(10000000)

struct tkl_queue_watcher {
    tkl_queue *queue;
    tkl__wait wait;
    tkl__ear *ears;   /* one for each partition */
    tkl__ear **list;  /* pointers to them */
    int64_t renew_at; /* monotonic; 0: not begun */
    bool begun;       /* it has listened before */
    bool lost;        /* a connection was lost since the last events */
};

/* The result for the caller, with the message behind the items. */
typedef struct events {
    tkl_queue_events public; /* first: the user's pointer points to it */
    tkl_queue_event items[];
} events;

static const char *const names[] = {
    [TKL_JOB_EVENT_UNKNOWN] = "unknown",   [TKL_JOB_EVENT_PUSHED] = "pushed",
    [TKL_JOB_EVENT_CLAIMED] = "claimed",   [TKL_JOB_EVENT_DONE] = "done",
    [TKL_JOB_EVENT_FAILED] = "failed",     [TKL_JOB_EVENT_DEAD] = "dead",
    [TKL_JOB_EVENT_RELEASED] = "released", [TKL_JOB_EVENT_RETRIED] = "retried",
    [TKL_JOB_EVENT_PROMOTED] = "promoted", [TKL_JOB_EVENT_CANCELLED] = "cancelled",
    [TKL_JOB_EVENT_PAUSED] = "paused",     [TKL_JOB_EVENT_RESUMED] = "resumed",
    [TKL_JOB_EVENT_MOVED] = "moved",       [TKL_JOB_EVENT_EDITED] = "edited",
};
enum { NAMES = sizeof names / sizeof *names };

const char *tkl_job_event_name(tkl_job_event event)
{
    return (int)event > 0 && (int)event < NAMES ? names[event] : names[0];
}

int tkl_queue_watch(tkl_queue *queue, tkl_queue_watcher **watcher)
{
    size_t count = (size_t)queue->npartitions;
    *watcher = NULL;
    tkl_queue_watcher *w = calloc(1, sizeof *w);
    if (!w)
        return tkl__nomem();
    w->queue = queue;
    w->ears = calloc(count, sizeof *w->ears);
    w->list = calloc(count, sizeof *w->list);
    if (!w->ears || !w->list) {
        tkl_queue_watcher_close(w);
        return tkl__nomem();
    }
    for (size_t i = 0; i < count; i++) {
        w->ears[i].channel = queue->partitions[i].keys[TKL__QUEUE_META];
        w->list[i] = &w->ears[i];
    }
    w->wait = (tkl__wait){
        .client = queue->client, .timeout_ms = queue->timeout_ms, .ears = w->list, .count = count};
    *watcher = w;
    return TKL_OK;
}

void tkl_queue_watcher_close(tkl_queue_watcher *w)
{
    if (!w)
        return;
    if (w->wait.client)
        tkl__wait_end(&w->wait);
    free(w->ears);
    free(w->list);
    free(w);
}

void tkl_queue_events_free(tkl_queue_events *public)
{
    free(public);
}

/* ---- Renewing ------------------------------------------------------------ */

/* Makes the servers publish for a while. TKL_NOTFOUND: no partition exists. */
static int renew_watch(tkl_queue_watcher *w, int64_t deadline)
{
    const tkl_queue *queue = w->queue;
    tkl_bytes args[] = {tkl_str(WATCH_MS)};
    tkl__batch batch;
    bool is_there = false;
    tkl__batch_init(&batch, queue->client);
    for (int i = 0; i < queue->npartitions; i++) {
        tkl__invocation call =
            tkl__queue_call(&queue->partitions[i], &tkl__lua_queue_watch, args, 1);
        call.retry_safe = true;
        tkl__batch_add(&batch, &call);
    }
    int rc = tkl__batch_run(&batch, deadline);
    for (int i = 0; rc == TKL_OK && i < queue->npartitions; i++)
        is_there |= tkl_reply_int(tkl__batch_reply(&batch, (size_t)i)) == TKL_OK;
    tkl__batch_free(&batch);
    if (rc != TKL_OK)
        return rc;
    bool is_first = w->renew_at == 0;
    w->renew_at = tkl__now() + RENEW_US;
    return is_there || !is_first ? TKL_OK : tkl__no(TKL_NOTFOUND);
}

/* ---- Messages ------------------------------------------------------------ */

static tkl_job_event event_called(const char *word, size_t len)
{
    for (int i = 1; i < NAMES; i++)
        if (tkl__same_bytes(tkl_str(names[i]), (tkl_bytes){word, len}))
            return (tkl_job_event)i;
    return TKL_JOB_EVENT_UNKNOWN;
}

/* Makes an event of each id in "id id ..."; one event without an id when there are none. */
static void read_ids(const tkl__queue_partition *partition, const char *ids, tkl_queue_event event,
                     events *e)
{
    do {
        char digits[TKL__QUEUE_ID_LEN + 1] = "";
        size_t len = strcspn(ids, " ");
        if (len == TKL__QUEUE_ID_LEN) {
            memcpy(digits, ids, len);
            tkl__queue_show_id(partition, digits, event.id);
        }
        e->items[e->public.count++] = event;
        ids += len + (ids[len] == ' ');
    } while (*ids);
}

static int make_events(tkl_queue_watcher *w, const tkl__queue_partition *partition,
                       tkl_bytes message, tkl_queue_events **result)
{
    size_t most = message.len / (TKL__QUEUE_ID_LEN + 1) + 1;
    events *e = calloc(1, sizeof *e + most * sizeof e->items[0] + message.len + 1);
    if (!e)
        return tkl__nomem();
    char *text = (char *)(e->items + most), *at;
    memcpy(text, message.data, message.len);
    char *line_end = memchr(text, '\n', message.len);
    tkl_queue_event event = {.at_ms = strtoll(text, &at, 10)};
    if (!line_end || *at != ' ' || at > line_end) {
        free(e);
        return TKL__NOT_YET; /* not a message of tackle */
    }
    *line_end = '\0';
    event.note = (tkl_bytes){line_end + 1, message.len - (size_t)(line_end + 1 - text)};
    size_t word = strcspn(++at, " ");
    event.event = event_called(at, word);
    read_ids(partition, at + word + (at[word] == ' '), event, e);
    e->public.items = e->items;
    e->public.lost = w->lost;
    w->lost = false;
    *result = &e->public;
    return TKL_OK;
}

/* ---- Waiting ------------------------------------------------------------- */

typedef struct search {
    tkl_queue_watcher *watcher;
    tkl_queue_events **result;
} search;

static int look_for_events(void *arg, tkl__wait *wait, const tkl__news *news)
{
    search *s = arg;
    tkl_queue_watcher *w = s->watcher;
    int rc = TKL_OK;
    if (news->kind == TKL__NEWS_BEGUN) {
        w->lost |= w->begun;
        w->begun = true;
    }
    if (news->kind == TKL__NEWS_BEGUN || tkl__now() >= w->renew_at)
        rc = renew_watch(w, tkl__wait_deadline(wait));
    wait->again = w->renew_at;
    if (rc != TKL_OK || news->kind != TKL__NEWS_MESSAGE)
        return rc == TKL_OK ? TKL__NOT_YET : rc;
    return make_events(w, &w->queue->partitions[news->ear - w->ears], news->message, s->result);
}

int tkl_queue_watch_next(tkl_queue_watcher *w, int64_t wait_ms, tkl_queue_events **result)
{
    search s = {w, result};
    *result = NULL;
    w->wait.looks_first = !w->begun; /* a server that was never reached ends the wait */
    w->wait.deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    int rc = tkl__wait_until(&w->wait, look_for_events, &s);
    return rc == TKL__NOT_YET ? tkl__no(TKL_EMPTY) : rc;
}
