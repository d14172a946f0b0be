/* SPDX-License-Identifier: MIT */
#include "queue/record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"

#define KEY_MAX     1024
#define META_MAX    65536
#define RETRIES_MAX 1000000
/* The latest time that a score can hold: in 2054. */
#define TIME_MAX_MS INT64_C(2650000000000)

/* ---- Checking ------------------------------------------------------------ */

static bool is_span(int64_t ms)
{
    return ms >= 0 && ms <= TKL__QUEUE_DELAY_MAX_MS;
}

static int check_lengths(const tkl_push *job)
{
    if (job->meta.len > META_MAX)
        return tkl__fail(TKL_EINVAL, "the meta data of a job has at most %d bytes", META_MAX);
    if (job->unique.len > KEY_MAX || job->group.len > KEY_MAX)
        return tkl__fail(TKL_EINVAL, "a unique key or a group has at most %d bytes", KEY_MAX);
    return TKL_OK;
}

static int check_times(const tkl_push *job)
{
    if (!is_span(job->delay_ms) || job->at_ms < 0 || job->at_ms > TIME_MAX_MS)
        return tkl__fail(TKL_EINVAL, "a job's time is too far away, or negative");
    if (job->delay_ms > 0 && job->at_ms > 0)
        return tkl__fail(TKL_EINVAL, "a job has either a delay or a time");
    if (!is_span(job->backoff_ms) || !is_span(job->backoff_max_ms) ||
        !is_span(job->time_limit_ms) || !is_span(job->result_ms) || !is_span(job->unique_ms))
        return tkl__fail(TKL_EINVAL, "times of a job are from 0 to ten years");
    return TKL_OK;
}

/* Refuses a time without its mode, and a mode without a key: they would have no effect. */
static int check_unique(const tkl_push *job)
{
    bool timed = job->unique_mode == TKL_UNIQUE_FOR_A_TIME;
    int rc = tkl__check_number("unique_mode", job->unique_mode, 0, TKL_UNIQUE_FOR_A_TIME);
    if (rc != TKL_OK)
        return rc;
    if (job->unique.len == 0 && (job->unique_mode != 0 || job->unique_ms != 0))
        return tkl__fail(TKL_EINVAL, "unique_mode or unique_ms without unique");
    if (timed && job->unique_ms == 0)
        return tkl__fail(TKL_EINVAL, "TKL_UNIQUE_FOR_A_TIME needs unique_ms");
    if (!timed && job->unique_ms != 0)
        return tkl__fail(TKL_EINVAL, "unique_ms is of TKL_UNIQUE_FOR_A_TIME only");
    return TKL_OK;
}

int tkl__queue_check_job(const tkl_push *job)
{
    if (job->priority < TKL_PRIORITY_MIN || job->priority > TKL_PRIORITY_MAX)
        return tkl__fail(TKL_EINVAL, "a priority is from %d to %d", TKL_PRIORITY_MIN,
                         TKL_PRIORITY_MAX);
    if (job->retries < TKL_NONE || job->retries > RETRIES_MAX)
        return tkl__fail(TKL_EINVAL, "retries are TKL_NONE to %d", RETRIES_MAX);
    int rc = TKL__CHECK_RESERVED(job);
    if (rc == TKL_OK)
        rc = check_lengths(job);
    if (rc == TKL_OK && job->kind.len > 0)
        rc = tkl__check_kind(job->kind, TKL_KIND_MAX);
    if (rc == TKL_OK)
        rc = check_times(job);
    return rc == TKL_OK ? check_unique(job) : rc;
}

static bool is_free_when_started(const tkl_push *job)
{
    return job->unique.len > 0 && job->unique_mode == TKL_UNIQUE_UNTIL_STARTED;
}

/* ---- Writing ------------------------------------------------------------- */

/* Appends "name=value", unless it is the default; a space separates it from the word before. */
static void add_word(tkl__buf *out, size_t start, const char *name, int64_t value, int64_t standard)
{
    if (value == standard)
        return;
    if (out->len > start)
        tkl__buf_add(out, " ", 1);
    tkl__buf_addf(out, "%s=%" PRId64, name, value);
}

static bool is_plain(const tkl_push *job, bool flow)
{
    return job->priority == 0 && job->retries == 0 && job->backoff_ms == 0 &&
           job->backoff_max_ms == 0 && job->time_limit_ms == 0 && job->result_ms == 0 && !flow &&
           job->unique.len + job->group.len + job->meta.len + job->kind.len == 0;
}

static void add_line(tkl__buf *out, const tkl_push *job, bool flow)
{
    size_t start = out->len;
    bool timed = job->unique.len > 0 && job->unique_mode == TKL_UNIQUE_FOR_A_TIME;
    int64_t retries = tkl__or_default(job->retries, TKL__QUEUE_RETRIES);
    add_word(out, start, "priority", job->priority, 0);
    add_word(out, start, "retries", retries, TKL__QUEUE_RETRIES);
    add_word(out, start, "backoff", tkl__or_default(job->backoff_ms, TKL__QUEUE_BACKOFF_MS),
             TKL__QUEUE_BACKOFF_MS);
    add_word(out, start, "backoff_max",
             tkl__or_default(job->backoff_max_ms, TKL__QUEUE_BACKOFF_MAX_MS),
             TKL__QUEUE_BACKOFF_MAX_MS);
    add_word(out, start, "time_limit", job->time_limit_ms, 0);
    add_word(out, start, "result", job->result_ms, 0);
    add_word(out, start, "unique_ms", timed ? job->unique_ms : 0, 0);
    add_word(out, start, "until_started", is_free_when_started(job), 0);
    add_word(out, start, "flow", flow, 0);
    add_word(out, start, "unique", (int64_t)job->unique.len, 0);
    add_word(out, start, "group", (int64_t)job->group.len, 0);
    add_word(out, start, "meta", (int64_t)job->meta.len, 0);
    add_word(out, start, "kind", (int64_t)job->kind.len, 0);
}

void tkl__queue_record_encode(tkl__buf *out, const tkl_push *job, bool flow)
{
    if (!is_plain(job, flow))
        add_line(out, job, flow);
    tkl__buf_add(out, "\n", 1);
    tkl__buf_add(out, job->unique.data, job->unique.len);
    tkl__buf_add(out, job->group.data, job->group.len);
    tkl__buf_add(out, job->meta.data, job->meta.len);
    tkl__buf_add(out, job->kind.data, job->kind.len);
    tkl__buf_add(out, job->payload.data, job->payload.len);
}

/* ---- Reading ------------------------------------------------------------- */

/* The words of the first line, with their defaults and ranges. */
typedef enum word {
    PRIORITY,
    RETRIES,
    BACKOFF,
    BACKOFF_MAX,
    TIME_LIMIT,
    RESULT,
    UNIQUE_MS,
    UNTIL_STARTED,
    FLOW,
    UNIQUE,
    GROUP,
    META,
    KIND,
    WORDS,
} word;

static const struct {
    const char *name;
    int64_t standard, least, most;
} words[WORDS] = {
    [PRIORITY] = {"priority", 0, TKL_PRIORITY_MIN, TKL_PRIORITY_MAX},
    [RETRIES] = {"retries", TKL__QUEUE_RETRIES, 0, RETRIES_MAX},
    [BACKOFF] = {"backoff", TKL__QUEUE_BACKOFF_MS, 0, TKL__QUEUE_DELAY_MAX_MS},
    [BACKOFF_MAX] = {"backoff_max", TKL__QUEUE_BACKOFF_MAX_MS, 0, TKL__QUEUE_DELAY_MAX_MS},
    [TIME_LIMIT] = {"time_limit", 0, 0, TKL__QUEUE_DELAY_MAX_MS},
    [RESULT] = {"result", 0, 0, TKL__QUEUE_DELAY_MAX_MS},
    [UNIQUE_MS] = {"unique_ms", 0, 0, TKL__QUEUE_DELAY_MAX_MS},
    [UNTIL_STARTED] = {"until_started", 0, 0, 1},
    [FLOW] = {"flow", 0, 0, 1},
    [UNIQUE] = {"unique", 0, 0, KEY_MAX},
    [GROUP] = {"group", 0, 0, KEY_MAX},
    [META] = {"meta", 0, 0, META_MAX},
    [KIND] = {"kind", 0, 0, TKL_KIND_MAX},
};

/* Reads "-12", and moves *at behind it. */
static bool read_number(const char **at, const char *end, int64_t *value)
{
    const char *c = *at;
    bool negative = c < end && *c == '-';
    int64_t n = 0;
    c += negative;
    const char *digits = c;
    for (; c < end && *c >= '0' && *c <= '9'; c++)
        if ((n = n * 10 + (*c - '0')) > INT64_MAX / 20)
            return false;
    *at = c;
    *value = negative ? -n : n;
    return c > digits;
}

/* Reads "name=", and moves *at behind it. WORDS: an unknown name. */
static word read_name(const char **at, const char *end)
{
    for (int i = 0; i < WORDS; i++) {
        size_t len = strlen(words[i].name);
        bool fits = (size_t)(end - *at) > len && memcmp(*at, words[i].name, len) == 0;
        if (fits && (*at)[len] == '=') {
            *at += len + 1;
            return (word)i;
        }
    }
    return WORDS;
}

/* Reads the words of a line, separated by spaces. */
static bool read_line(const char *at, const char *end, int64_t values[WORDS])
{
    for (int i = 0; i < WORDS; i++)
        values[i] = words[i].standard;
    while (at < end) {
        word which = read_name(&at, end);
        if (which == WORDS || !read_number(&at, end, &values[which]))
            return false;
        if (values[which] < words[which].least || values[which] > words[which].most)
            return false;
        if (at < end && *at++ != ' ')
            return false;
    }
    return true;
}

/* Cuts `len` bytes off the front. */
static bool take_bytes(tkl_bytes *from, int64_t len, tkl_bytes *part)
{
    if ((uint64_t)len > from->len)
        return false;
    *part = (tkl_bytes){from->data, (size_t)len};
    from->data += len;
    from->len -= (size_t)len;
    return true;
}

bool tkl__queue_record_decode(tkl_bytes bytes, tkl__queue_record *record)
{
    int64_t values[WORDS];
    const char *newline = bytes.len > 0 ? memchr(bytes.data, '\n', bytes.len) : NULL;
    *record = (tkl__queue_record){0};
    if (!newline || !read_line(bytes.data, newline, values))
        return false;
    *record = (tkl__queue_record){.priority = (int)values[PRIORITY],
                                  .retries = (int)values[RETRIES],
                                  .backoff_ms = values[BACKOFF],
                                  .backoff_max_ms = values[BACKOFF_MAX],
                                  .time_limit_ms = values[TIME_LIMIT],
                                  .result_ms = values[RESULT],
                                  .unique_ms = values[UNIQUE_MS],
                                  .until_started = values[UNTIL_STARTED] != 0,
                                  .flow = values[FLOW] != 0};
    tkl_bytes rest = {newline + 1, (size_t)(bytes.data + bytes.len - newline - 1)};
    bool whole = take_bytes(&rest, values[UNIQUE], &record->unique) &&
                 take_bytes(&rest, values[GROUP], &record->group) &&
                 take_bytes(&rest, values[META], &record->meta) &&
                 take_bytes(&rest, values[KIND], &record->kind);
    record->payload = rest;
    return whole;
}

bool tkl__queue_record_is_rich(const tkl__queue_record *record)
{
    return record->flow || record->result_ms > 0 || record->unique.len > 0 || record->group.len > 0;
}

/* Reads three numbers with a space behind each; the first two are the failures and since when
 * it is ready. The rest is the error. */
tkl__queue_history tkl__queue_history_read(tkl_bytes text)
{
    const char *at = text.data, *end = text.data + text.len;
    tkl__queue_history none = {0}, history = {0};
    for (int i = 0; i < 3; i++) {
        int64_t value;
        if (at == end || !read_number(&at, end, &value) || at == end || *at++ != ' ')
            return none;
        if (i == 0)
            history.failures = value >= 0 && value < INT_MAX ? (int)value : 0;
        else if (i == 1)
            history.since_ms = value > 0 && value < INT64_C(1) << 53 ? value : 0;
    }
    history.error = (tkl_bytes){at, (size_t)(end - at)};
    return history;
}
