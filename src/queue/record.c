/* SPDX-License-Identifier: MIT */
#include "queue/record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define KEY_MAX     1024
#define META_MAX    65536
#define RETRIES_MAX 1000000
/* Ten years, and the end of the times that scores have room for: 2054. */
#define SPAN_MAX_MS INT64_C(315360000000)
#define TIME_MAX_MS INT64_C(2650000000000)
/* The longest line that is written. */
#define LINE_MAX_LEN 256

/* ---- Checking ------------------------------------------------------------ */

static bool is_span(int64_t ms)
{
    return ms >= 0 && ms <= SPAN_MAX_MS;
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
    if (!is_span(job->backoff_ms) || !is_span(job->backoff_max_ms) || !is_span(job->timeout_ms) ||
        !is_span(job->result_ms) || !is_span(job->unique_ms))
        return tkl__fail(TKL_EINVAL, "times of a job are from 0 to ten years");
    if (job->unique.len > 0 && job->unique_mode == TKL_FOR_A_TIME && job->unique_ms == 0)
        return tkl__fail(TKL_EINVAL, "unique for a time, and the time is missing");
    return TKL_OK;
}

int tkl__push_check(const tkl_push *job)
{
    if (job->priority < TKL_PRIORITY_MIN || job->priority > TKL_PRIORITY_MAX)
        return tkl__fail(TKL_EINVAL, "a priority is from %d to %d", TKL_PRIORITY_MIN,
                         TKL_PRIORITY_MAX);
    if (job->retries < -1 || job->retries > RETRIES_MAX)
        return tkl__fail(TKL_EINVAL, "retries are -1 (none) to %d", RETRIES_MAX);
    int rc = check_lengths(job);
    return rc == TKL_OK ? check_times(job) : rc;
}

static bool is_free_when_started(const tkl_push *job)
{
    return job->unique.len > 0 && job->unique_mode == TKL_UNTIL_STARTED;
}

char tkl__push_kind(const tkl_push *job, bool awaited)
{
    if (job->group.len > 0 || is_free_when_started(job))
        return TKL__RICH_STARTED;
    bool rich = job->unique.len > 0 || job->result_ms > 0 || job->after_count > 0 || awaited;
    return rich ? TKL__RICH : TKL__PLAIN;
}

/* ---- Writing ------------------------------------------------------------- */

/* Appends " k123" unless the value is the default; returns the end. */
static char *field(char *at, char name, int64_t value, int64_t standard)
{
    char digits[24];
    size_t n = 0;
    if (value == standard)
        return at;
    uint64_t left = value < 0 ? (uint64_t)-value : (uint64_t)value;
    do
        digits[n++] = (char)('0' + left % 10);
    while (left /= 10);
    *at++ = ' ';
    *at++ = name;
    if (value < 0)
        *at++ = '-';
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

/* 0 stands for the default. */
static int64_t or_default(int64_t value, int64_t standard)
{
    return value == 0 ? standard : value;
}

void tkl__record_encode(tkl__buf *out, const tkl_push *job, char kind)
{
    char *start = tkl__buf_reserve(out, LINE_MAX_LEN), *at = start;
    if (!start)
        return;
    bool timed = job->unique.len > 0 && job->unique_mode == TKL_FOR_A_TIME;
    *at++ = kind;
    at = field(at, 'p', job->priority, 0);
    at =
        field(at, 'n', job->retries < 0 ? 0 : or_default(job->retries, TKL__RETRIES), TKL__RETRIES);
    at = field(at, 'b', or_default(job->backoff_ms, TKL__BACKOFF_MS), TKL__BACKOFF_MS);
    at = field(at, 'B', or_default(job->backoff_max_ms, TKL__BACKOFF_MAX_MS), TKL__BACKOFF_MAX_MS);
    at = field(at, 't', job->timeout_ms, 0);
    at = field(at, 'o', job->result_ms, 0);
    at = field(at, 'f', timed ? job->unique_ms : 0, 0);
    at = field(at, 's', is_free_when_started(job), 0);
    at = field(at, 'u', (int64_t)job->unique.len, 0);
    at = field(at, 'g', (int64_t)job->group.len, 0);
    at = field(at, 'm', (int64_t)job->meta.len, 0);
    *at++ = '\n';
    out->len += (size_t)(at - start);
    tkl__buf_add(out, job->unique.data, job->unique.len);
    tkl__buf_add(out, job->group.data, job->group.len);
    tkl__buf_add(out, job->meta.data, job->meta.len);
    tkl__buf_add(out, job->payload.data, job->payload.len);
}

/* ---- Reading ------------------------------------------------------------- */

/* A number, and *at moved behind it. */
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

typedef struct header {
    int64_t values[128]; /* by the letter */
} header;

/* The fields between the kind and the end of the line. */
static bool read_fields(const char *at, const char *end, header *h)
{
    *h = (header){.values = {0}};
    h->values['n'] = TKL__RETRIES;
    h->values['b'] = TKL__BACKOFF_MS;
    h->values['B'] = TKL__BACKOFF_MAX_MS;
    while (at < end) {
        if (end - at < 3 || at[0] != ' ' || (unsigned char)at[1] > 127)
            return false;
        int64_t *value = &h->values[(unsigned char)at[1]];
        at += 2;
        if (!read_number(&at, end, value))
            return false;
    }
    return true;
}

/* Takes `len` bytes off the front. */
static bool take(tkl_bytes *from, int64_t len, tkl_bytes *part)
{
    if (len < 0 || (uint64_t)len > from->len)
        return false;
    *part = (tkl_bytes){from->data, (size_t)len};
    from->data += len;
    from->len -= (size_t)len;
    return true;
}

bool tkl__record_decode(tkl_bytes bytes, tkl__record *record)
{
    header h;
    const char *newline = bytes.len > 0 ? memchr(bytes.data, '\n', bytes.len) : NULL;
    *record = (tkl__record){0};
    if (!newline || newline == bytes.data || !read_fields(bytes.data + 1, newline, &h))
        return false;
    if (llabs(h.values['p']) > TKL_PRIORITY_MAX || h.values['n'] < 0 || h.values['n'] > RETRIES_MAX)
        return false;
    *record = (tkl__record){.kind = bytes.data[0],
                            .priority = (int)h.values['p'],
                            .retries = (int)h.values['n'],
                            .backoff_ms = h.values['b'],
                            .backoff_max_ms = h.values['B'],
                            .timeout_ms = h.values['t'],
                            .result_ms = h.values['o'],
                            .unique_ms = h.values['f']};
    tkl_bytes rest = {newline + 1, (size_t)(bytes.data + bytes.len - newline - 1)};
    bool whole = take(&rest, h.values['u'], &record->unique) &&
                 take(&rest, h.values['g'], &record->group) &&
                 take(&rest, h.values['m'], &record->meta);
    record->payload = rest;
    return whole;
}
