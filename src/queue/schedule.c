/* SPDX-License-Identifier: MIT
 *
 * Schedules: set, removed, paused, resumed, fired by hand, listed; and their next time. Consumers
 * fire them when they are due: see fire.c.
 *
 * A schedule is stored in :schedules of one partition, and as "schedule:id" in :delayed, by its
 * next time. The job's group or unique key chooses the partition if it has one, so that the job is
 * pushed where other jobs with that key are; else the schedule's id does. A change of the job may
 * move the schedule, so it is removed from all other partitions before it is set. Operations on a
 * schedule ask all partitions, since any of them may have it.
 *
 * The client works out the next time, because the server has no calendar; but it asks for the
 * server's clock first and counts from that.
 *
 * A paused schedule has the next time 0 and is not in :delayed. A consumer that is about to fire it
 * notices: 0 is no time that has come, and fire.lua finds that the schedule has changed.
 */
#include "queue/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/token.h"
#include "cron/cron.h"
#include "queue/all.h"
#include "queue/record.h"
#include "queue/scripts.h"

#define EVERY_MIN_MS 1000
#define EVERY_MAX_MS INT64_C(315360000000) /* ten years */
#define TIME_MAX_MS  (INT64_C(1) << 53)    /* the largest integer that scripts count exactly */
/* A time that passed longer ago than this counts as missed. Until then, consumers may just be
 * busy. */
#define MISSED_MS 60000
/* The answer of schedule_remove.lua for a schedule that was paused. */
#define REMOVED_PAUSED 2

/* ---- The stored form ---------------------------------------------------- */

/* Writes everything behind the times `next` and `last`. */
static void encode_definition(tkl__buf *out, const tkl_schedule *schedule)
{
    const char *cron = schedule->cron ? schedule->cron : "";
    const char *zone = schedule->zone ? schedule->zone : "UTC";
    tkl__buf_addf(out, "%d %" PRId64 " %zu %zu\n%s%s", schedule->missed == TKL_MISSED_SKIP,
                  schedule->every_ms, strlen(cron), strlen(zone), cron, zone);
    tkl__queue_record_encode(out, &schedule->job, false);
}

/* Whether the times are in range: another program may have written any number. */
static bool has_sound_times(const tkl__queue_planned *planned)
{
    return planned->next_ms >= 0 && planned->next_ms <= TIME_MAX_MS && planned->last_ms >= 0 &&
           planned->last_ms <= TIME_MAX_MS && planned->every_ms >= 0 &&
           planned->every_ms <= EVERY_MAX_MS;
}

bool tkl__queue_planned_decode(tkl_bytes value, tkl__queue_planned *planned)
{
    char head[128];
    int missed;
    size_t cron, zone;
    *planned = (tkl__queue_planned){0};
    const char *end = value.len > 0 ? memchr(value.data, '\n', value.len) : NULL;
    size_t len = end ? (size_t)(end - value.data) + 1 : 0;
    if (len == 0 || len >= sizeof head)
        return false;
    memcpy(head, value.data, len);
    head[len] = '\0';
    if (sscanf(head, "%" SCNd64 " %" SCNd64 " %d %" SCNd64 " %zu %zu", &planned->next_ms,
               &planned->last_ms, &missed, &planned->every_ms, &cron, &zone) != 6)
        return false;
    if (!has_sound_times(planned) || cron > TKL__QUEUE_CRON_MAX || zone > TKL__QUEUE_ZONE_MAX ||
        len + cron + zone > value.len)
        return false;
    planned->missed = missed ? TKL_MISSED_SKIP : TKL_MISSED_FIRE_ONCE;
    planned->cron = (tkl_bytes){value.data + len, cron};
    planned->zone = (tkl_bytes){value.data + len + cron, zone};
    planned->beginning = (tkl_bytes){value.data, len + cron + zone};
    planned->record =
        (tkl_bytes){value.data + planned->beginning.len, value.len - planned->beginning.len};
    return true;
}

/* ---- Times --------------------------------------------------------------- */

/* Finds the first time after `after_ms`. */
static int time_after(const char *cron, const char *zone, int64_t every_ms, int64_t after_ms,
                      int64_t *next_ms)
{
    if (every_ms <= 0)
        return tkl_cron_next(cron, zone, after_ms, next_ms);
    *next_ms = (after_ms / every_ms + 1) * every_ms;
    return TKL_OK;
}

/* Whether the last time that has passed is recent; earlier times are missed in any case. */
static bool is_recent(const tkl__queue_planned *planned, const char *cron, const char *zone,
                      int64_t now_ms)
{
    int64_t since = now_ms - MISSED_MS - 1, last_ms;
    if (since < planned->next_ms)
        since = planned->next_ms - 1;
    int rc = time_after(cron, zone, planned->every_ms, since, &last_ms);
    return rc == TKL_OK && last_ms <= now_ms;
}

int tkl__queue_planned_next(const tkl__queue_planned *planned, int64_t now_ms, int64_t *next_ms,
                            bool *fires)
{
    char cron[TKL__QUEUE_CRON_MAX + 1], zone[TKL__QUEUE_ZONE_MAX + 1];
    snprintf(cron, sizeof cron, "%.*s", (int)planned->cron.len, planned->cron.data);
    snprintf(zone, sizeof zone, "%.*s", (int)planned->zone.len, planned->zone.data);
    int rc = time_after(cron, zone, planned->every_ms, now_ms, next_ms);
    *fires = planned->missed == TKL_MISSED_FIRE_ONCE || is_recent(planned, cron, zone, now_ms);
    return rc;
}

/* ---- Setting ------------------------------------------------------------- */

int tkl__queue_check_schedule_id(tkl_bytes id)
{
    if (id.len == 0 || id.len > TKL_SCHEDULE_ID_MAX)
        return tkl__fail(TKL_EINVAL, "a schedule's id has 1 to %d bytes", TKL_SCHEDULE_ID_MAX);
    return TKL_OK;
}

static int check_times(const tkl_schedule *s)
{
    if (!s->cron == (s->every_ms == 0))
        return tkl__fail(TKL_EINVAL, "a schedule has either a cron expression or an interval");
    if (!s->cron && (s->every_ms < EVERY_MIN_MS || s->every_ms > EVERY_MAX_MS))
        return tkl__fail(TKL_EINVAL, "the interval of a schedule is from a second to ten years");
    if (s->cron && strlen(s->cron) > TKL__QUEUE_CRON_MAX)
        return tkl__fail(TKL_EINVAL, "a cron expression has at most %d bytes", TKL__QUEUE_CRON_MAX);
    if (!s->cron && s->zone)
        return tkl__fail(TKL_EINVAL, "a time zone is for a cron expression");
    if (s->zone && strlen(s->zone) > TKL__QUEUE_ZONE_MAX)
        return tkl__fail(TKL_EINVAL, "the name of a time zone has at most %d bytes",
                         TKL__QUEUE_ZONE_MAX);
    return TKL_OK;
}

static int check_schedule(tkl_bytes id, const tkl_schedule *s)
{
    int rc = tkl__queue_check_schedule_id(id);
    if (rc == TKL_OK)
        rc = check_times(s);
    if (rc == TKL_OK)
        rc = tkl__check_number("missed", s->missed, TKL_MISSED_FIRE_ONCE, TKL_MISSED_SKIP);
    if (rc == TKL_OK)
        rc = TKL__CHECK_RESERVED(s);
    if (rc == TKL_OK && (s->job.delay_ms || s->job.at_ms || s->job.after_count))
        rc = tkl__fail(TKL_EINVAL, "a job of a schedule has no time of its own and no flow");
    return rc == TKL_OK ? tkl__queue_check_job(&s->job) : rc;
}

static tkl__queue_partition *home_of(const tkl_queue *queue, tkl_bytes id, const tkl_push *job)
{
    tkl_bytes key = job->group.len > 0 ? job->group : job->unique.len > 0 ? job->unique : id;
    return tkl__queue_partition_of(queue, key);
}

/* Finds the first time after now, by the server's clock. */
static int first_time(const tkl__queue_partition *home, const tkl_schedule *s, int64_t *next_ms)
{
    tkl_reply *reply;
    int rc = tkl__queue_run_on(home, &tkl__lua_queue_due, NULL, 0, true, &reply);
    int64_t now_ms = tkl__reply_number(tkl_reply_at(reply, 0));
    tkl_reply_free(reply);
    return rc == TKL_OK ? time_after(s->cron, s->zone, s->every_ms, now_ms, next_ms) : rc;
}

/* Removes the schedule from all other partitions. *paused: whether it was paused there. */
static int remove_elsewhere(const tkl_queue *queue, const tkl__queue_partition *home, tkl_bytes id,
                            bool *paused)
{
    tkl_reply *replies;
    tkl_bytes args[] = {id, home->keys[TKL__QUEUE_SCHEDULES]};
    *paused = false;
    if (queue->npartitions == 1)
        return TKL_OK;
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_schedule_remove, args, 2, &replies);
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        *paused = *paused || tkl_reply_int(tkl_reply_at(replies, i)) == REMOVED_PAUSED;
    tkl_reply_free(replies);
    return rc;
}

static int set_in(const tkl__queue_partition *home, tkl_bytes id, const tkl_schedule *s,
                  int64_t next_ms, bool paused)
{
    char next[24];
    tkl__buf definition;
    tkl_reply *reply = NULL;
    tkl__buf_init(&definition);
    encode_definition(&definition, s);
    snprintf(next, sizeof next, "%" PRId64, next_ms);
    tkl_bytes args[] = {
        id, tkl_str(next), {definition.data, definition.len}, tkl_str(paused ? "1" : "")};
    int rc = definition.failed
                 ? tkl__nomem()
                 : tkl__queue_run_on(home, &tkl__lua_queue_schedule_set, args, 4, true, &reply);
    tkl__buf_free(&definition);
    tkl_reply_free(reply);
    return rc;
}

int tkl_schedule_set(tkl_queue *queue, tkl_bytes id, const tkl_schedule *schedule)
{
    int64_t next_ms;
    bool paused = false;
    int rc = check_schedule(id, schedule);
    if (rc == TKL_OK) /* checks the expression first, without the server */
        rc = time_after(schedule->cron, schedule->zone, schedule->every_ms, 0, &next_ms);
    if (rc != TKL_OK)
        return rc;
    const tkl__queue_partition *home = home_of(queue, id, &schedule->job);
    rc = first_time(home, schedule, &next_ms);
    if (rc == TKL_OK)
        rc = remove_elsewhere(queue, home, id, &paused);
    return rc == TKL_OK ? set_in(home, id, schedule, next_ms, paused) : rc;
}

int tkl_schedule_remove(tkl_queue *queue, tkl_bytes id)
{
    tkl_reply *replies;
    tkl_bytes args[] = {id, tkl_str("")};
    int64_t removed = 0;
    int rc = tkl__queue_check_schedule_id(id);
    if (rc == TKL_OK)
        rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_schedule_remove, args, 2, &replies);
    if (rc != TKL_OK)
        return rc;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        tkl__add(&removed, tkl_reply_int(tkl_reply_at(replies, i)));
    tkl_reply_free(replies);
    return tkl__no_or_ok(removed > 0 ? TKL_OK : TKL_NOTFOUND);
}

/* ---- Pausing and resuming ------------------------------------------------ */

int tkl_schedule_pause(tkl_queue *queue, tkl_bytes id)
{
    tkl_reply *replies = NULL;
    int64_t paused = 0;
    int rc = tkl__queue_check_schedule_id(id);
    if (rc == TKL_OK)
        rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_schedule_pause, &id, 1, &replies);
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        tkl__add(&paused, tkl_reply_int(tkl_reply_at(replies, i)));
    tkl_reply_free(replies);
    return rc == TKL_OK ? tkl__no_or_ok(paused > 0 ? TKL_OK : TKL_NOTFOUND) : rc;
}

/* Resumes the schedule in this partition. `answer`: the partition's answer to queue/due.
 * TKL_NOTFOUND: the schedule is not here. TKL_EMPTY: it has changed meanwhile. */
static int resume_in(const tkl__queue_partition *partition, tkl_bytes id, const tkl_reply *answer)
{
    char next[24];
    int64_t next_ms;
    bool fires;
    tkl__queue_planned planned;
    tkl_reply *reply;
    if (!tkl__queue_planned_decode(tkl_reply_bytes(tkl_reply_at(answer, 1)), &planned))
        return TKL_NOTFOUND;
    if (planned.next_ms != TKL__QUEUE_PAUSED)
        return TKL_OK;
    int64_t now_ms = tkl__reply_number(tkl_reply_at(answer, 0));
    int rc = tkl__queue_planned_next(&planned, now_ms, &next_ms, &fires);
    if (rc != TKL_OK)
        return rc;
    snprintf(next, sizeof next, "%" PRId64, next_ms);
    tkl_bytes args[] = {id, planned.beginning, tkl_str(next)};
    rc = tkl__queue_run_on(partition, &tkl__lua_queue_schedule_resume, args, 3, true, &reply);
    if (rc == TKL_OK)
        rc = (int)tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

static int resume_once(tkl_queue *queue, tkl_bytes id)
{
    tkl_reply *replies;
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_due, &id, 1, &replies);
    if (rc != TKL_OK)
        return rc;
    rc = TKL_NOTFOUND;
    for (int i = 0; rc == TKL_NOTFOUND && i < queue->npartitions; i++)
        rc = resume_in(&queue->partitions[i], id, tkl_reply_at(replies, (size_t)i));
    tkl_reply_free(replies);
    return rc;
}

int tkl_schedule_resume(tkl_queue *queue, tkl_bytes id)
{
    int64_t deadline = tkl__queue_deadline(queue);
    int rc = tkl__queue_check_schedule_id(id);
    if (rc == TKL_OK)
        do
            rc = resume_once(queue, id);
        while (rc == TKL_EMPTY && tkl__left(deadline) > 0);
    if (rc == TKL_EMPTY)
        return tkl__fail(TKL_ETIMEOUT, "the schedule keeps changing");
    return rc > 0 ? tkl__no(rc) : rc;
}

/* ---- Firing now ---------------------------------------------------------- */

/* Reads the answer of the partition that has the schedule. */
static int read_fired(const tkl_queue *queue, const tkl_reply *replies, char job[TKL_JOB_ID_SIZE])
{
    for (int i = 0; i < queue->npartitions; i++) {
        const tkl_reply *answer = tkl_reply_at(replies, (size_t)i);
        int code = (int)tkl_reply_int(tkl_reply_at(answer, 0));
        tkl_bytes digits = tkl_reply_bytes(tkl_reply_at(answer, 1));
        if (code == TKL_NOTFOUND)
            continue;
        if ((code == TKL_OK || code == TKL_EXISTS) && !tkl__queue_is_id(digits))
            return tkl__fail(TKL_EPROTO, "not an answer of queue/schedule_fire");
        if (job && code != TKL_FULL)
            tkl__queue_show_id(&queue->partitions[i], digits.data, job);
        return tkl__no_or_ok(code);
    }
    return tkl__no(TKL_NOTFOUND);
}

int tkl_schedule_fire(tkl_queue *queue, tkl_bytes id, char job[TKL_JOB_ID_SIZE])
{
    char lane[TKL_TOKEN_SIZE];
    tkl_reply *replies = NULL;
    if (job)
        *job = '\0';
    int rc = tkl__queue_check_schedule_id(id);
    tkl__token_new(lane);
    tkl_bytes args[] = {id, tkl_str(lane)};
    if (rc == TKL_OK)
        rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_schedule_fire, args, 2, &replies);
    if (rc == TKL_OK)
        rc = read_fired(queue, replies, job);
    tkl_reply_free(replies);
    return rc;
}

/* ---- Listing ------------------------------------------------------------- */

typedef struct listing {
    tkl_schedules public;
    tkl_schedule_info *items;
    tkl_reply *replies; /* owns the ids and payloads */
    char *text;         /* expressions and zones, each with its NUL */
} listing;

void tkl_schedules_free(tkl_schedules *schedules)
{
    listing *l = (listing *)schedules;
    if (!l)
        return;
    tkl_reply_free(l->replies);
    free(l->items);
    free(l->text);
    free(l);
}

static const char *keep_text(char **at, tkl_bytes bytes)
{
    char *start = *at;
    memcpy(start, bytes.data, bytes.len);
    start[bytes.len] = '\0';
    *at += bytes.len + 1;
    return start;
}

/* Adds a schedule to the list. Skips a value that tackle did not write. */
static void add_item(listing *l, char **text, tkl_bytes id, tkl_bytes value)
{
    tkl__queue_planned planned;
    tkl__queue_record record;
    if (!tkl__queue_planned_decode(value, &planned) ||
        !tkl__queue_record_decode(planned.record, &record))
        return;
    l->items[l->public.count++] =
        (tkl_schedule_info){.id = id,
                            .payload = record.payload,
                            .cron = keep_text(text, planned.cron),
                            .zone = keep_text(text, planned.zone),
                            .every_ms = planned.every_ms,
                            .missed = planned.missed,
                            .priority = record.priority,
                            .kind = record.kind,
                            .next_ms = planned.next_ms,
                            .paused = planned.next_ms == TKL__QUEUE_PAUSED,
                            .last_ms = planned.last_ms};
}

static int by_id(const void *a, const void *b)
{
    tkl_bytes x = ((const tkl_schedule_info *)a)->id, y = ((const tkl_schedule_info *)b)->id;
    return tkl__compare_bytes(x, y);
}

static int fill_planned(listing *l)
{
    size_t most = 0;
    for (size_t i = 0; i < tkl_reply_count(l->replies); i++)
        most += tkl_reply_count(tkl_reply_at(l->replies, i)) / 2;
    l->items = calloc(most + 1, sizeof *l->items);
    l->text = malloc(most * (TKL__QUEUE_CRON_MAX + TKL__QUEUE_ZONE_MAX + 2) + 1);
    if (!l->items || !l->text)
        return tkl__nomem();
    char *text = l->text;
    for (size_t i = 0; i < tkl_reply_count(l->replies); i++) {
        const tkl_reply *pairs = tkl_reply_at(l->replies, i);
        for (size_t j = 0; j + 1 < tkl_reply_count(pairs); j += 2)
            add_item(l, &text, tkl_reply_bytes(tkl_reply_at(pairs, j)),
                     tkl_reply_bytes(tkl_reply_at(pairs, j + 1)));
    }
    qsort(l->items, l->public.count, sizeof *l->items, by_id);
    l->public.items = l->items;
    return TKL_OK;
}

int tkl_schedule_list(tkl_queue *queue, tkl_schedules **schedules)
{
    listing *l = calloc(1, sizeof *l);
    *schedules = NULL;
    int rc = l ? tkl__queue_run_on_all(queue, &tkl__lua_queue_schedule_list, NULL, 0, &l->replies)
               : tkl__nomem();
    if (rc == TKL_OK)
        rc = fill_planned(l);
    if (rc == TKL_OK)
        *schedules = &l->public;
    else
        tkl_schedules_free((tkl_schedules *)l);
    return rc;
}

const char *tkl_missed_name(tkl_missed missed)
{
    static const char *const names[] = {"once", "skip"};
    return TKL__ENUM_NAME((int)missed, names);
}
