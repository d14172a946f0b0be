/* SPDX-License-Identifier: MIT
 *
 * Following a log.
 *
 * A tail remembers, for each severity, the id of the last message that it has seen, and how many
 * messages the server had added to the stream up to that one. log/after reads the messages behind
 * it. The server counts the messages that it adds, so the tail computes from the counts how many
 * messages were removed before it read them.
 *
 * When there is no message, the tail waits in XREAD, which the server answers when one is added. A
 * wait is one XREAD of ten seconds after the other: so the tail notices a server that hangs. The
 * reply of XREAD is only a signal: log/after reads the messages and the counts in one step.
 *
 * If the newest message is older than the last message that the tail has seen, the stream is a new
 * one (it expired, or was flushed, and the clock was set back), and the tail begins at its
 * beginning.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/block.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/resp.h"
#include "core/rounds.h"
#include "log/log.h"
#include "log/scripts.h"

#define STEP_US  INT64_C(10000000)
#define PAUSE_US 100000 /* after a failure */

typedef struct position {
    uint64_t ms, order; /* the id of the last entry seen; 0-0: none */
} position;

struct tkl_log_tail {
    tkl_log log;               /* a copy with the time-out of the tail; its keys belong to the log
                                  */
    tkl_log_severity severity; /* or TKL_LOG_ANY */
    size_t recent;             /* number of recent messages to begin with */
    bool placed;               /* the positions are set */
    bool drained;              /* the last read returned all there was: wait before the next one */
    position seen[TKL__LOG_SEVERITIES];
    int64_t numbers[TKL__LOG_SEVERITIES]; /* number of messages added up to the last one seen, for
                                             each severity */
    int64_t missed;                       /* number of missed messages that are not reported yet */
};

int tkl_log_tail_open(tkl_log *log, tkl_log_severity severity, size_t recent,
                      const tkl_log_tail_options *options, tkl_log_tail **out)
{
    *out = NULL;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__log_check_any(severity);
    if (rc != TKL_OK)
        return rc;
    tkl_log_tail *tail = calloc(1, sizeof *tail);
    if (!tail)
        return tkl__nomem();
    tail->log = *log;
    if (options && options->timeout_ms > 0)
        tail->log.timeout_ms = options->timeout_ms;
    tail->severity = severity;
    tail->recent = recent;
    *out = tail;
    return TKL_OK;
}

void tkl_log_tail_close(tkl_log_tail *tail)
{
    free(tail);
}

static bool follows(const tkl_log_tail *tail, int severity)
{
    return tail->severity == TKL_LOG_ANY || (int)tail->severity == severity;
}

/* ---- Positions ----------------------------------------------------------- */

/* Reads an id such as "1526919030474-55". */
static position position_of(const tkl_reply *id)
{
    const char *text = tkl_reply_str(id);
    char *end;
    position p = {.ms = strtoull(text, &end, 10)};
    p.order = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;
    return p;
}

static void write_position(position p, tkl__log_id text)
{
    snprintf(text, TKL__LOG_ID_SIZE, "%" PRIu64 "-%" PRIu64, p.ms, p.order);
}

static bool is_before(position a, position b)
{
    return a.ms != b.ms ? a.ms < b.ms : a.order < b.order;
}

/* ---- Asking -------------------------------------------------------------- */

/* The elements of a reply of log/after. */
enum { ADDED, KEPT, FIRST, NEWEST, MORE, ENTRIES, ANSWERS };

/* Runs log/after for each followed severity, behind these positions. */
static int ask_after(const tkl_log_tail *tail, const position *behind, tkl_reply **replies)
{
    tkl_client *client = tail->log.client;
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        tkl__log_id id;
        if (!follows(tail, i))
            continue;
        write_position(behind[i], id);
        tkl_bytes key = tkl__log_key(&tail->log, i, TKL__LOG_RECENT), after = tkl_str(id);
        tkl__batch_add(&batch, &(tkl__invocation){.script = &tkl__lua_log_after,
                                                  .keys = &key,
                                                  .nkeys = 1,
                                                  .args = &after,
                                                  .nargs = 1,
                                                  .retry_safe = true});
    }
    return tkl__batch_end(&batch, tkl__deadline(client, tail->log.timeout_ms), replies);
}

/* The reply for a severity; NULL: it has no messages. */
static const tkl_reply *answer_for(const tkl_log_tail *tail, const tkl_reply *replies, int severity)
{
    size_t index = tail->severity == TKL_LOG_ANY ? (size_t)severity : 0;
    const tkl_reply *answer = tkl_reply_at(replies, index);
    return tkl_reply_count(answer) == ANSWERS ? answer : NULL;
}

/* ---- Where to begin ------------------------------------------------------ */

/* Sets the positions behind all existing messages. */
static int place_tail(tkl_log_tail *tail)
{
    static const position end = {UINT64_MAX, 0};
    position behind[TKL__LOG_SEVERITIES];
    tkl_reply *replies = NULL;
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        behind[i] = end;
    int rc = ask_after(tail, behind, &replies);
    for (int i = 0; rc == TKL_OK && i < TKL__LOG_SEVERITIES; i++) {
        const tkl_reply *answer = follows(tail, i) ? answer_for(tail, replies, i) : NULL;
        tail->seen[i] = answer ? position_of(tkl_reply_at(answer, NEWEST)) : (position){0};
        tail->numbers[i] = answer ? tkl__reply_number(tkl_reply_at(answer, ADDED)) : 0;
    }
    tkl_reply_free(replies);
    return rc;
}

/* The first read: the recent messages, if the caller wants some. TKL_EMPTY: nothing to show yet. */
static int begin_tail(tkl_log_tail *tail, tkl_log_entries **entries)
{
    tkl__log_id upto[TKL__LOG_SEVERITIES];
    int rc = place_tail(tail);
    if (rc == TKL_OK && tail->recent > 0) {
        for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
            write_position(tail->seen[i], upto[i]);
        rc = tkl__log_newest(&tail->log, tail->severity, upto, "-", tail->recent, entries);
    }
    if (rc != TKL_OK)
        return rc;
    tail->placed = tail->drained = true;
    if (*entries && (*entries)->count > 0)
        return TKL_OK;
    tkl_log_entries_free(*entries);
    *entries = NULL;
    return tkl__no(TKL_EMPTY);
}

/* ---- New messages -------------------------------------------------------- */

/* Returns the time up to which messages are delivered: that of the last message read of a severity
 * that has more. Later messages of the other severities wait, so that messages are delivered in the
 * order of time. */
static position horizon_of(const tkl_log_tail *tail, const tkl_reply *replies)
{
    position horizon = {UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        const tkl_reply *answer = follows(tail, i) ? answer_for(tail, replies, i) : NULL;
        const tkl_reply *list = tkl_reply_at(answer, ENTRIES);
        size_t count = tkl_reply_count(list);
        if (!answer || count == 0 || tkl_reply_int(tkl_reply_at(answer, MORE)) == 0)
            continue;
        position last = position_of(tkl_reply_at(tkl_reply_at(list, count - 1), 0));
        if (is_before(last, horizon))
            horizon = last;
    }
    return horizon;
}

/* Counts missed messages, and notes that `taken` messages up to `last` have been seen. */
static void go_ahead(tkl_log_tail *tail, int severity, const tkl_reply *answer, int64_t taken,
                     position last)
{
    int64_t added = tkl__reply_number(tkl_reply_at(answer, ADDED));
    int64_t gone = added - tkl__reply_number(tkl_reply_at(answer, KEPT));
    position *seen = &tail->seen[severity];
    int64_t *number = &tail->numbers[severity];
    if (added < *number) /* a new stream */
        *number = 0;
    if (is_before(*seen, position_of(tkl_reply_at(answer, FIRST))) && gone > *number) {
        tkl__add(&tail->missed, gone - *number);
        *number = gone;
    }
    *number += taken;
    if (taken > 0)
        *seen = last;
}

/* Takes over the messages of a severity, up to the horizon. */
static void take_messages(tkl_log_tail *tail, int severity, const tkl_reply *answer,
                          position horizon, tkl__log_found *found)
{
    const tkl_reply *list = tkl_reply_at(answer, ENTRIES);
    position last = {0};
    size_t taken = 0;
    for (; taken < tkl_reply_count(list); taken++) {
        position next = position_of(tkl_reply_at(tkl_reply_at(list, taken), 0));
        if (is_before(horizon, next))
            break;
        last = next;
    }
    tkl__log_found_add(found, severity, list, taken);
    go_ahead(tail, severity, answer, (int64_t)taken, last);
}

/* Begins at the beginning of streams that are new: the tail has seen ids later than their newest.
 * Returns whether there are such streams. */
static bool restart_in_new_streams(tkl_log_tail *tail, const tkl_reply *replies)
{
    bool restarted = false;
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        const tkl_reply *answer = follows(tail, i) ? answer_for(tail, replies, i) : NULL;
        if (!answer || !is_before(position_of(tkl_reply_at(answer, NEWEST)), tail->seen[i]))
            continue;
        tail->seen[i] = (position){0};
        tail->numbers[i] = 0;
        restarted = true;
    }
    return restarted;
}

/* Makes entries of the replies of log/after. Takes over the replies. TKL_EMPTY: none. */
static int accept_replies(tkl_log_tail *tail, tkl_reply *replies, tkl_log_entries **entries)
{
    position horizon = horizon_of(tail, replies);
    size_t cap = 0;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        cap += tkl_reply_count(tkl_reply_at(tkl_reply_at(replies, i), ENTRIES));
    tkl__log_found *found = tkl__log_found_new(replies, cap);
    if (!found)
        return tkl__nomem();
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        const tkl_reply *answer = follows(tail, i) ? answer_for(tail, replies, i) : NULL;
        if (answer)
            take_messages(tail, i, answer, horizon, found);
        else
            tail->numbers[i] = 0; /* the new stream counts from 0 */
    }
    tail->drained = horizon.ms == UINT64_MAX;
    if (found->base.count == 0) {
        tkl_log_entries_free(&found->base);
        return tkl__no(TKL_EMPTY);
    }
    *entries = tkl__log_found_done(found, cap);
    if (!*entries)
        return TKL_ENOMEM;
    found->base.missed = tail->missed;
    tail->missed = 0;
    return TKL_OK;
}

/* Reads the messages that are there. TKL_EMPTY: none. */
static int look_for_messages(tkl_log_tail *tail, tkl_log_entries **entries)
{
    tkl_reply *replies = NULL;
    if (!tail->placed)
        return begin_tail(tail, entries);
    int rc = ask_after(tail, tail->seen, &replies);
    if (rc == TKL_OK && restart_in_new_streams(tail, replies)) {
        tkl_reply_free(replies);
        replies = NULL;
        rc = ask_after(tail, tail->seen, &replies);
    }
    if (rc == TKL_OK)
        return accept_replies(tail, replies, entries);
    tkl_reply_free(replies);
    return rc;
}

/* ---- Waiting ------------------------------------------------------------- */

static void write_xread(tkl__buf *wire, int64_t left_us, const void *arg)
{
    const tkl_log_tail *tail = arg;
    tkl__log_id id;
    size_t count = tail->severity == TKL_LOG_ANY ? TKL__LOG_SEVERITIES : 1;
    tkl__resp_head(wire, 6 + 2 * count);
    tkl__resp_argz(wire, "XREAD");
    tkl__resp_argz(wire, "COUNT");
    tkl__resp_argz(wire, "1");
    tkl__resp_argz(wire, "BLOCK");
    tkl__resp_int(wire, left_us < 1000 ? 1 : left_us / 1000); /* 0 would wait for ever */
    tkl__resp_argz(wire, "STREAMS");
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        tkl_bytes key = tkl__log_key(&tail->log, i, TKL__LOG_RECENT);
        if (follows(tail, i))
            tkl__resp_arg(wire, key.data, key.len);
    }
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        if (follows(tail, i)) {
            write_position(tail->seen[i], id);
            tkl__resp_argz(wire, id);
        }
}

/* One XREAD, until `end`. TKL_OK: a message arrived, or the time is over. */
static int wait_once(tkl_log_tail *tail, int64_t end)
{
    tkl_client *client = tail->log.client;
    tkl_bytes key = tkl__log_key(&tail->log, 0, TKL__LOG_RECENT);
    tkl__blocking command = {.slot = client->route->cluster ? tkl__slot_of(key) : TKL__NO_SLOT,
                             .write = write_xread,
                             .arg = tail};
    tkl_reply *reply = NULL;
    int rc = tkl__block(client, &command, end, &reply);
    tkl_reply_free(reply);
    return rc == TKL_EMPTY ? TKL_OK : rc;
}

/* Waits for a message; after a failure, pauses for a moment. */
static int wait_after(tkl_log_tail *tail, int rc, int64_t end)
{
    int64_t pause = rc == TKL_EMPTY ? STEP_US : PAUSE_US, until = tkl__now() + pause;
    until = until < end ? until : end;
    return rc == TKL_EMPTY ? wait_once(tail, until) : tkl__sleep(tail->log.client, until);
}

/* Reads once; an interrupt ends the request. */
static int look_in_wait(tkl_log_tail *tail, tkl_log_entries **entries)
{
    tkl__begin_request(tail->log.client);
    return tkl__end_request(tail->log.client, look_for_messages(tail, entries));
}

static bool may_go_on(int rc)
{
    return rc == TKL_EMPTY || tkl_is_transient(rc) || tkl_is_unknown(rc);
}

int tkl_log_tail_next(tkl_log_tail *tail, int64_t wait_ms, tkl_log_entries **entries)
{
    int64_t end = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    tkl__rounds rounds = {.idle = 0};
    *entries = NULL;
    int rc = TKL_EMPTY;
    if (wait_ms == 0)
        rc = look_for_messages(tail, entries);
    else if (!tail->drained)
        rc = look_in_wait(tail, entries);
    while (may_go_on(rc) && tkl__now() < end) {
        int64_t began = tkl__now();
        rc = wait_after(tail, rc, end);
        bool waited = tkl__now() - began >= PAUSE_US;
        if (rc == TKL_OK) /* if the server replies at once but has nothing, pause before the next
                             request */
            rc = tkl__pause_round(&rounds, tail->log.client, end, waited);
        if (rc == TKL_OK)
            rc = look_in_wait(tail, entries);
    }
    return rc == TKL_EMPTY ? tkl__no(TKL_EMPTY) : rc;
}
