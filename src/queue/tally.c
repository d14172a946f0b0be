/* SPDX-License-Identifier: MIT
 *
 * Consumers count, since a count for every job would cost the server a fifth of its time. A
 * consumer sends its counts when it introduces itself (introduce.c), and when it is closed. A
 * program that is killed loses the counts of its last second.
 */
#include "queue/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/letters.h"
#include "core/number.h"

/* Number of kinds with counts of their own; all others are counted as "*", as on the server. */
#define KINDS_MAX 64
#define OTHERS    tkl_str("*")
/* Number of kinds that are sent at once. Each has up to 33 numbers, and a number takes the server a
 * microsecond. */
#define TAKEN_MAX 16

typedef struct histogram {
    int64_t counts[TKL_QUEUE_BUCKETS];
    int64_t us;
} histogram;

typedef struct tkl__queue_tally_kind {
    char name[TKL_KIND_MAX];
    size_t len;
    histogram wait, run;
    int64_t failed;
} tally_kind;

static tally_kind *find_kind(const tkl__queue_tally *tally, tkl_bytes kind)
{
    for (size_t i = 0; i < tally->count; i++) {
        tally_kind *known = &tally->kinds[i];
        if (tkl__same_bytes((tkl_bytes){known->name, known->len}, kind))
            return known;
    }
    return NULL;
}

/* Finds a kind, or adds it. NULL: no memory. */
static tally_kind *kind_of(tkl__queue_tally *tally, tkl_bytes kind)
{
    tally_kind *known = find_kind(tally, kind);
    if (!known && tally->count >= KINDS_MAX)
        known = find_kind(tally, kind = OTHERS);
    if (known)
        return known;
    if (!tkl__grow(&tally->kinds, tally->count, sizeof *tally->kinds))
        return NULL;
    tally_kind *added = &tally->kinds[tally->count++];
    *added = (tally_kind){.len = kind.len < TKL_KIND_MAX ? kind.len : TKL_KIND_MAX};
    if (added->len > 0)
        memcpy(added->name, kind.data, added->len);
    return added;
}

static void add_time(histogram *h, int64_t us)
{
    int bucket = 0;
    while (bucket < TKL__QUEUE_BOUNDS && us > 1000 * tkl_queue_bound_ms(bucket))
        bucket++;
    h->counts[bucket]++;
    tkl__add(&h->us, us > 0 ? us : 0);
}

void tkl__queue_tally_wait(tkl__queue_tally *tally, tkl_bytes kind, int64_t wait_us)
{
    tally_kind *one = kind_of(tally, kind);
    if (one)
        add_time(&one->wait, wait_us);
}

void tkl__queue_tally_run(tkl__queue_tally *tally, tkl_bytes kind, int64_t run_us, bool failed)
{
    tally_kind *one = kind_of(tally, kind);
    if (!one)
        return;
    add_time(&one->run, run_us);
    one->failed += failed;
}

static void write_count(tkl__buf *out, const char *what, const tally_kind *kind, const char *part,
                        int64_t number)
{
    if (number == 0)
        return;
    tkl__buf_addf(out, "%s:", what);
    tkl__buf_add(out, kind->name, kind->len);
    tkl__buf_addf(out, "%s=%" PRId64 " ", part, number);
}

static void write_histogram(tkl__buf *out, const char *what, const tally_kind *kind,
                            const histogram *h)
{
    char part[8];
    for (int i = 0; i < TKL_QUEUE_BUCKETS; i++) {
        snprintf(part, sizeof part, ":%d", i);
        write_count(out, what, kind, part, h->counts[i]);
    }
    write_count(out, what, kind, ":us", h->us);
}

bool tkl__queue_tally_is_empty(const tkl__queue_tally *tally)
{
    return tally->count == 0;
}

void tkl__queue_tally_take(tkl__queue_tally *tally, tkl__buf *out)
{
    size_t taken = tally->count < TAKEN_MAX ? tally->count : TAKEN_MAX;
    for (size_t i = 0; i < taken; i++) {
        const tally_kind *kind = &tally->kinds[i];
        write_histogram(out, "wait", kind, &kind->wait);
        write_histogram(out, "run", kind, &kind->run);
        write_count(out, "failed", kind, "", kind->failed);
    }
    tally->count -= taken;
    if (tally->count > 0)
        memmove(tally->kinds, tally->kinds + taken, tally->count * sizeof *tally->kinds);
}

void tkl__queue_tally_free(tkl__queue_tally *tally)
{
    free(tally->kinds);
    *tally = (tkl__queue_tally){NULL, 0};
}
