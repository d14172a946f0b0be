/* SPDX-License-Identifier: MIT
 *
 * Online users: the size of each day, and dropping a name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "online/online.h"

/* Bytes per user, by the server's data structures: an entry of a hash table, its share of the
 * table, a short string; in a sorted set also its node of the list. */
#define SET_USER_BYTES       40
#define HEARTBEAT_USER_BYTES 104
/* The registers of a HyperLogLog and its header. */
#define HLL_BYTES 12304

/* ---- Asking for every day ------------------------------------------------ */

static const char *count_command(tkl_online_kind kind)
{
    switch (kind) {
    case TKL_ONLINE_BITMAP:
    case TKL_ONLINE_ASSIGNED:
        return "BITCOUNT";
    case TKL_ONLINE_HLL:
        return "PFCOUNT";
    case TKL_ONLINE_HEARTBEAT:
        return "ZCARD";
    default:
        return "SCARD";
    }
}

static bool is_bitmap(tkl_online_kind kind)
{
    return kind == TKL_ONLINE_BITMAP || kind == TKL_ONLINE_ASSIGNED;
}

static int add_key(tkl_pipeline *pipeline, const char *command, const char *word, tkl_bytes key)
{
    const char *words[] = {command, word ? word : key.data, key.data};
    const size_t lens[] = {strlen(command), word ? strlen(word) : key.len, key.len};
    return tkl_pipeline_add(pipeline, word ? 3 : 2, words, lens);
}

/* Number of replies: two for the hash of numbers, and three for each key of a day (users, bytes,
 * and the length of a bitmap, else users again). The first key is the hash of numbers. */
enum { OF_IDS = 2, OF_A_KEY = 3 };

static int ask_days(tkl_online *online, const tkl__online_today *today, const tkl__keys *keys,
                    tkl_reply **replies)
{
    tkl_pipeline *pipeline;
    tkl_call_options how = {.timeout_ms = online->timeout_ms, .retry_safe = true};
    const char *count = count_command(today->shape.kind);
    const char *length = is_bitmap(today->shape.kind) ? "STRLEN" : count;
    int rc = tkl_pipeline_open(online->client, NULL, &pipeline);
    if (rc != TKL_OK)
        return rc;
    rc = add_key(pipeline, "HLEN", NULL, keys->items[0]);
    if (rc == TKL_OK)
        rc = add_key(pipeline, "MEMORY", "USAGE", keys->items[0]);
    for (size_t i = 1; rc == TKL_OK && i < keys->count; i++) {
        rc = add_key(pipeline, count, NULL, keys->items[i]);
        if (rc == TKL_OK)
            rc = add_key(pipeline, "MEMORY", "USAGE", keys->items[i]);
        if (rc == TKL_OK)
            rc = add_key(pipeline, length, NULL, keys->items[i]);
    }
    if (rc == TKL_OK)
        rc = tkl_pipeline_run(pipeline, &how, replies);
    tkl_pipeline_close(pipeline);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(*replies); i++)
        if (tkl_reply_code(tkl_reply_at(*replies, i)) != TKL_OK)
            rc = tkl__fail(tkl_reply_code(tkl_reply_at(*replies, i)), "%s",
                           tkl_reply_str(tkl_reply_at(*replies, i)));
    return rc;
}

/* ---- The report ---------------------------------------------------------- */

typedef struct full_report {
    tkl_online_report report;
    char zone[TKL__ZONE_NAME_SIZE];
    tkl_online_day days[];
} full_report;

static int64_t theory(tkl_online_kind kind, int64_t users, int64_t length)
{
    switch (kind) {
    case TKL_ONLINE_BITMAP:
    case TKL_ONLINE_ASSIGNED:
        return length;
    case TKL_ONLINE_HLL:
        return HLL_BYTES;
    case TKL_ONLINE_HEARTBEAT:
        return users * HEARTBEAT_USER_BYTES;
    default:
        return users * SET_USER_BYTES;
    }
}

/* Reads users or bytes of a key. No key has a trillion of them, so sums over all keys do not
 * overflow. */
static int64_t number_at(const tkl_reply *replies, size_t index)
{
    int64_t said = tkl_reply_int(tkl_reply_at(replies, index));
    return said > 0 && said < INT64_C(1) << 40 ? said : 0;
}

/* Fills in a day: the sum over its keys. */
static void fill_day(tkl_online_day *day, tkl_online_kind kind, const tkl_reply *replies,
                     size_t day_index)
{
    size_t chunks = (size_t)tkl__online_chunks(kind);
    *day = (tkl_online_day){0};
    for (size_t i = day_index * chunks; i < (day_index + 1) * chunks; i++) {
        int64_t users = number_at(replies, OF_IDS + OF_A_KEY * i);
        int64_t bytes = number_at(replies, OF_IDS + OF_A_KEY * i + 1);
        int64_t length = number_at(replies, OF_IDS + OF_A_KEY * i + 2);
        if (bytes == 0) /* no such key */
            continue;
        day->users += users;
        day->bytes += bytes;
        day->theory_bytes += theory(kind, users, length);
    }
}

static void fill_report(full_report *full, const tkl__online_today *today, const tkl_reply *replies,
                        size_t days)
{
    size_t count = 0;
    tkl_online_kind kind = today->shape.kind;
    for (size_t i = 0; i < days; i++) {
        tkl_online_day *day = &full->days[count];
        fill_day(day, kind, replies, i);
        if (day->bytes == 0)
            continue;
        count++;
        tkl__online_day_text(today->number - (int64_t)i, day->day);
        if (kind == TKL_ONLINE_HEARTBEAT)
            strcpy(day->day, "now");
    }
    memcpy(full->zone, today->shape.zone, sizeof full->zone);
    full->report = (tkl_online_report){.items = full->days,
                                       .count = count,
                                       .kind = kind,
                                       .zone = full->zone,
                                       .keep_days = today->shape.keep_days,
                                       .window_ms = today->shape.window_ms,
                                       .assigned = number_at(replies, 0),
                                       .assigned_bytes = number_at(replies, 1)};
}

/* The number of days that are kept; 1 for a heartbeat. */
static int64_t days_of(const tkl__online_today *today)
{
    return today->shape.kind == TKL_ONLINE_HEARTBEAT ? 1 : today->shape.keep_days;
}

int tkl_online_show(tkl_online *online, tkl_online_report **report)
{
    static const char *const ids[] = {"ids"};
    tkl__online_today today;
    tkl__keys keys;
    tkl_reply *replies = NULL;
    *report = NULL;
    int rc = tkl__online_learn_time(online);
    if (rc == TKL_OK)
        rc = tkl__online_find_today(online, &today);
    if (rc != TKL_OK)
        return rc;
    tkl__online_days which = {.days = days_of(&today),
                              .chunks = tkl__online_chunks(today.shape.kind)};
    rc = tkl__online_keys(online, &today, ids, 1, &which, &keys);
    if (rc != TKL_OK)
        return rc;
    rc = ask_days(online, &today, &keys, &replies);
    size_t days = (size_t)which.days;
    tkl__keys_free(&keys);
    full_report *full = rc == TKL_OK ? calloc(1, sizeof *full + days * sizeof *full->days) : NULL;
    if (rc == TKL_OK && !full)
        rc = tkl__nomem();
    if (rc == TKL_OK)
        fill_report(full, &today, replies, days);
    tkl_reply_free(replies);
    if (rc == TKL_OK && full->report.count == 0)
        rc = tkl__no(TKL_NOTFOUND);
    if (rc != TKL_OK) {
        free(full);
        return rc;
    }
    *report = &full->report;
    return TKL_OK;
}

void tkl_online_report_free(tkl_online_report *report)
{
    free(report);
}

/* ---- Dropping ------------------------------------------------------------ */

static int unlink_keys(tkl_online *online, const tkl__keys *keys, int64_t *removed)
{
    size_t count = keys->count + 1;
    const char **words = malloc(count * sizeof *words);
    size_t *lens = malloc(count * sizeof *lens);
    tkl_call_options how = {.timeout_ms = online->timeout_ms, .retry_safe = true};
    tkl_reply *reply = NULL;
    int rc = words && lens ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK) {
        words[0] = "UNLINK";
        lens[0] = 6;
        for (size_t i = 1; i < count; i++) {
            words[i] = keys->items[i - 1].data;
            lens[i] = keys->items[i - 1].len;
        }
        rc = tkl_call(online->client, (int)count, words, lens, &how, &reply);
    }
    *removed = tkl_reply_int(reply);
    tkl_reply_free(reply);
    free(words);
    free(lens);
    return rc;
}

int tkl_online_drop(tkl_online *online)
{
    static const char *const parts[] = {"settings", "ids", "scratch"};
    tkl__online_today today;
    tkl__keys keys;
    int64_t removed = 0;
    int rc = tkl__online_learn_time(online);
    if (rc == TKL_OK)
        rc = tkl__online_find_today(online, &today);
    if (rc != TKL_OK)
        return rc;
    /* One day more on each side: the server's clock may be there already. */
    tkl__online_days which = {.first_ago = -1,
                              .days = days_of(&today) + 2,
                              .chunks = tkl__online_chunks(today.shape.kind)};
    rc = tkl__online_keys(online, &today, parts, 3, &which, &keys);
    if (rc != TKL_OK)
        return rc;
    rc = unlink_keys(online, &keys, &removed);
    tkl__keys_free(&keys);
    if (rc == TKL_OK && removed == 0)
        rc = tkl__no(TKL_NOTFOUND);
    return rc;
}
