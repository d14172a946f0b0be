/* SPDX-License-Identifier: MIT
 *
 * Following a log.
 *
 * A tail remembers the id of the last entry that it has seen of each severity, and asks for what
 * comes after it by XREAD, which the server answers when there is something. So nothing is lost
 * between two requests, also across a lost connection.
 *
 * A wait is one XREAD of ten seconds after the other: a server that hangs is noticed. When such a
 * wait ended with nothing, the tail looks at the newest entries. Should they be older than what it
 * has seen, the stream is a new one (it expired, or was flushed, and the clock was set back), and
 * the tail begins at its beginning.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/block.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/resp.h"
#include "log/log.h"

#define STEP_US  INT64_C(10000000)
#define PAUSE_US 100000 /* after a failure */
#define MAX      "1000" /* entries of a severity in one reply */

typedef struct position {
    uint64_t ms, order; /* the id of the last entry seen; 0-0: none */
} position;

struct tkl_log_tail {
    const tkl_log *log;
    tkl_log_severity severity; /* or TKL_LOG_ANY */
    size_t recent;             /* to begin with */
    bool placed;               /* the positions are set */
    position seen[TKL__LOG_SEVERITIES];
};

int tkl_log_tail_open(tkl_log *log, tkl_log_severity severity, size_t recent, tkl_log_tail **out)
{
    *out = NULL;
    int rc = tkl__log_check_any(severity);
    if (rc != TKL_OK)
        return rc;
    tkl_log_tail *tail = calloc(1, sizeof *tail);
    if (!tail)
        return tkl__nomem();
    tail->log = log;
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

static position position_of(const tkl_reply *entry)
{
    const char *text = tkl_reply_str(tkl_reply_at(entry, 0));
    char *end;
    position p = {.ms = strtoull(text, &end, 10)};
    p.order = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;
    return p;
}

static bool is_before(position a, position b)
{
    return a.ms != b.ms ? a.ms < b.ms : a.order < b.order;
}

/* Calls visit() with the newest entry of each severity that is followed; NULL: it has none. */
static int visit_newest(tkl_log_tail *tail, void (*visit)(position *seen, const tkl_reply *newest))
{
    tkl_reply *replies;
    size_t at = 0;
    int rc = tkl__log_fetch(tail->log, tail->severity, 1, &replies);
    for (int i = 0; rc == TKL_OK && i < TKL__LOG_SEVERITIES; i++)
        if (follows(tail, i))
            visit(&tail->seen[i], tkl_reply_at(tkl_reply_at(replies, at++), 0));
    tkl_reply_free(replies);
    return rc;
}

static void begin_behind(position *seen, const tkl_reply *newest)
{
    *seen = newest ? position_of(newest) : (position){0};
}

static void begin_anew_if_older(position *seen, const tkl_reply *newest)
{
    if (!newest || is_before(position_of(newest), *seen))
        *seen = (position){0};
}

/* ---- Waiting ------------------------------------------------------------- */

static void write_xread(tkl__buf *wire, int64_t left_us, const void *arg)
{
    const tkl_log_tail *tail = arg;
    char text[48];
    size_t count = tail->severity == TKL_LOG_ANY ? TKL__LOG_SEVERITIES : 1;
    tkl__resp_head(wire, 6 + 2 * count);
    tkl__resp_argz(wire, "XREAD");
    tkl__resp_argz(wire, "COUNT");
    tkl__resp_argz(wire, MAX);
    tkl__resp_argz(wire, "BLOCK");
    tkl__resp_int(wire, left_us < 1000 ? 1 : left_us / 1000); /* 0 would be for ever */
    tkl__resp_argz(wire, "STREAMS");
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        tkl_bytes key = tkl__log_key(tail->log, i, TKL__LOG_RECENT);
        if (follows(tail, i))
            tkl__resp_arg(wire, key.data, key.len);
    }
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        if (follows(tail, i)) {
            snprintf(text, sizeof text, "%" PRIu64 "-%" PRIu64, tail->seen[i].ms,
                     tail->seen[i].order);
            tkl__resp_argz(wire, text);
        }
}

static int severity_of(const tkl_log_tail *tail, tkl_bytes key)
{
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++) {
        tkl_bytes own = tkl__log_key(tail->log, i, TKL__LOG_RECENT);
        if (own.len == key.len && memcmp(own.data, key.data, key.len) == 0)
            return i;
    }
    return TKL_LOG_DEBUG;
}

/* What XREAD answered: [[key, entries], ...]. Takes over the reply. */
static int accept(tkl_log_tail *tail, tkl_reply *reply, tkl_log_entries **entries)
{
    size_t cap = 0;
    for (size_t i = 0; i < tkl_reply_count(reply); i++)
        cap += tkl_reply_count(tkl_reply_at(tkl_reply_at(reply, i), 1));
    tkl__log_found *found = tkl__log_found_new(reply, cap);
    if (!found)
        return tkl__nomem();
    for (size_t i = 0; i < tkl_reply_count(reply); i++) {
        const tkl_reply *stream = tkl_reply_at(reply, i), *list = tkl_reply_at(stream, 1);
        int severity = severity_of(tail, tkl_reply_bytes(tkl_reply_at(stream, 0)));
        tkl__log_found_add(found, severity, list);
        if (tkl_reply_count(list) > 0)
            tail->seen[severity] = position_of(tkl_reply_at(list, tkl_reply_count(list) - 1));
    }
    *entries = tkl__log_found_done(found, cap);
    return *entries ? TKL_OK : TKL_ENOMEM;
}

/* One XREAD, until `end`. TKL_EMPTY: nothing came. */
static int wait_once(tkl_log_tail *tail, int64_t end, tkl_log_entries **entries)
{
    tkl_client *client = tail->log->client;
    tkl_bytes key = tkl__log_key(tail->log, 0, TKL__LOG_RECENT);
    tkl__blocking command = {.slot = client->route->cluster ? tkl__slot_of(key) : TKL__NO_SLOT,
                             .write = write_xread,
                             .arg = tail};
    tkl_reply *reply = NULL;
    int rc = tkl__block(client, &command, end, &reply);
    if (rc == TKL_OK && tkl_reply_count(reply) > 0)
        return accept(tail, reply, entries);
    tkl_reply_free(reply);
    return rc == TKL_OK ? tkl__no(TKL_EMPTY) : rc;
}

/* The first call: the recent entries, if some are wanted. TKL_EMPTY: nothing to show yet. */
static int begin(tkl_log_tail *tail, tkl_log_entries **entries)
{
    int rc = TKL_OK;
    if (tail->recent == 0) {
        rc = visit_newest(tail, begin_behind);
        tail->placed = rc == TKL_OK;
        return rc == TKL_OK ? tkl__no(TKL_EMPTY) : rc;
    }
    rc = tkl_log_recent((tkl_log *)tail->log, tail->severity, tail->recent, entries);
    if (rc != TKL_OK)
        return rc;
    const tkl__log_found *found = (const tkl__log_found *)(const void *)*entries;
    for (size_t i = 0, at = 0; i < TKL__LOG_SEVERITIES; i++)
        if (follows(tail, (int)i)) /* the newest comes first */
            begin_behind(&tail->seen[i], tkl_reply_at(tkl_reply_at(found->reply, at++), 0));
    tail->placed = true;
    if ((*entries)->count > 0)
        return TKL_OK;
    tkl_log_entries_free(*entries);
    *entries = NULL;
    return tkl__no(TKL_EMPTY);
}

/* After a wait that brought nothing: TKL_EMPTY to wait again, or why not. */
static int go_on(tkl_log_tail *tail, int rc)
{
    if (rc == TKL_EMPTY)
        rc = visit_newest(tail, begin_anew_if_older);
    if (rc != TKL_OK && !tkl_is_transient(rc) && !tkl_is_unknown(rc))
        return rc;
    if (rc != TKL_OK)
        rc = tkl__sleep(tail->log->client, tkl__now() + PAUSE_US);
    return rc == TKL_OK ? TKL_EMPTY : rc;
}

int tkl_log_tail_next(tkl_log_tail *tail, int64_t wait_ms, tkl_log_entries **entries)
{
    int64_t end = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    int rc = TKL_EMPTY;
    *entries = NULL;
    if (!tail->placed)
        rc = begin(tail, entries);
    while (rc == TKL_EMPTY) {
        int64_t step = tkl__now() + STEP_US;
        rc = wait_once(tail, step < end ? step : end, entries);
        if (rc == TKL_OK || tkl__now() >= end)
            break;
        rc = go_on(tail, rc);
    }
    return rc;
}
