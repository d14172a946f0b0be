/* SPDX-License-Identifier: MIT
 *
 * Measures the kinds of online users side by side: the same users are marked in each of them, under
 * names of their own that are dropped afterwards.
 */
#include "online_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "out.h"
#include "progress.h"

enum {
    USERS = 100000,
    DAYS = 7,
    DAYS_MAX = 31,
    AT_ONCE = 10000, /* users of one call */
    USER_SIZE = 32,
    FRESH_SHARE = 10, /* one user in this many is new on each day */
};

/* The kinds that are compared, with users that are numbers or names. */
static const struct contender {
    const char *label;
    tkl_online_kind kind;
    bool names;
} contenders[] = {
    {"set", TKL_ONLINE_SET, false},       {"set of names", TKL_ONLINE_SET, true},
    {"bitmap", TKL_ONLINE_BITMAP, false}, {"assigned, of names", TKL_ONLINE_ASSIGNED, true},
    {"hll", TKL_ONLINE_HLL, false},
};
#define CONTENDERS (sizeof contenders / sizeof *contenders)

/* The measurements of one kind. */
typedef struct measured {
    int64_t day_bytes;        /* size of today */
    int64_t bytes;            /* size of all days and assigned numbers */
    int64_t counted, present; /* users of all days: as counted, and as they are */
    double marked_s;          /* time to mark all of them */
    double counted_s;         /* time to count them */
} measured;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Marks `users` users of a day; the first of them has the number `first`. */
static int mark_day(tkl_online *online, const struct contender *who, const char *day, int64_t first,
                    int64_t users)
{
    char(*texts)[USER_SIZE] = calloc(AT_ONCE, sizeof *texts);
    tkl_bytes *items = calloc(AT_ONCE, sizeof *items);
    int code = texts != NULL && items != NULL ? TKL_OK : TKL_ENOMEM;
    for (int64_t done = 0; code == TKL_OK && done < users; done += AT_ONCE) {
        size_t count = users - done < AT_ONCE ? (size_t)(users - done) : AT_ONCE;
        for (size_t i = 0; i < count; i++) {
            snprintf(texts[i], USER_SIZE, who->names ? "user-%" PRId64 "@example.org" : "%" PRId64,
                     first + done + (int64_t)i);
            items[i] = tkl_str(texts[i]);
        }
        code = tkl_online_mark_day(online, day, items, count, NULL);
    }
    free(texts);
    free(items);
    return code;
}

/* Writes the day "2026-11-16", UTC, that is `ago` days before `now`. */
static void day_text(time_t now, int64_t ago, char text[16])
{
    struct tm date;
    time_t then = now - (time_t)ago * 86400;
    gmtime_r(&then, &date);
    strftime(text, 16, "%Y-%m-%d", &date);
}

static int measure_memory(tkl_online *online, measured *m)
{
    tkl_online_report *report = NULL;
    int code = tkl_online_show(online, &report);
    if (code != TKL_OK)
        return code;
    m->day_bytes = report->count > 0 ? report->items[0].bytes : 0;
    m->bytes = report->assigned_bytes;
    for (size_t i = 0; i < report->count; i++)
        m->bytes += report->items[i].bytes;
    tkl_online_report_free(report);
    return TKL_OK;
}

static int measure_contender(cli_session *cli, tkl_client *client, const struct contender *who,
                             int64_t users, int64_t days, time_t now, measured *m)
{
    char name[96];
    tkl_online *online = NULL;
    tkl_online_options options = {
        .kind = who->kind, .keep_days = DAYS_MAX + 2, .max_id = TKL_ONLINE_ID_MAX};
    snprintf(name, sizeof name, "tackle-compare-%lld-%ld-%s", (long long)now, (long)getpid(),
             who->label);
    int64_t fresh = users / FRESH_SHARE;
    int code = tkl_online_open(client, tkl_str(name), &options, &online);
    double start = now_s();
    for (int64_t ago = days - 1; code == TKL_OK && ago >= 0; ago--) {
        char day[16];
        day_text(now, ago, day);
        code = mark_day(online, who, day, (days - 1 - ago) * fresh, users);
    }
    m->marked_s = now_s() - start;
    start = now_s();
    if (code == TKL_OK) /* a day more: midnight may pass during the measurement */
        code = tkl_online_count(online, days + 1, TKL_ONLINE_ANY_DAY, &m->counted);
    m->counted_s = now_s() - start;
    m->present = users + (days - 1) * fresh;
    if (code == TKL_OK)
        code = measure_memory(online, m);
    int failed = cli_end(cli, code);
    int dropped = online != NULL ? tkl_online_drop(online) : TKL_OK;
    if (!failed && dropped != TKL_NOTFOUND)
        failed = cli_end(cli, dropped);
    tkl_online_close(online);
    return failed;
}

static json_t *measured_json(const struct contender *who, const measured *m)
{
    double error = (double)(m->counted - m->present) / (double)m->present;
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:I, s:I}", "kind", who->label, "day_bytes",
                     (json_int_t)m->day_bytes, "bytes", (json_int_t)m->bytes, "users",
                     (json_int_t)m->present, "counted", (json_int_t)m->counted, "deviation",
                     error == 0 ? 0.0 : error, "mark_ms", (json_int_t)llround(m->marked_s * 1000),
                     "count_ms", (json_int_t)llround(m->counted_s * 1000));
}

int cli_online_compare(cli_session *cli)
{
    static const cli_column columns[] = {{"kind", "kind"},
                                         {"day_bytes", "bytes a day"},
                                         {"bytes", "bytes of all days"},
                                         {"counted", "counted"},
                                         {"deviation", "deviation"},
                                         {"mark_ms", "to mark"},
                                         {"count_ms", "to count"},
                                         {0}};
    int64_t users = cli_number(cli, "users", USERS), days = cli_number(cli, "days", DAYS);
    if (users < 1 || users > 10000000 || days < 1 || days > DAYS_MAX)
        return cli_usage(cli, "--users is from 1 to 10000000, --days from 1 to %d", DAYS_MAX);
    tkl_client *client = NULL;
    json_t *rows = json_array();
    cli_progress progress;
    int failed = cli_connect(cli, &client);
    cli_progress_start(&progress, "kinds measured:", CONTENDERS);
    for (size_t i = 0; !failed && i < CONTENDERS; i++) {
        measured m = {0};
        cli_progress_update(&progress, i);
        failed = measure_contender(cli, client, &contenders[i], users, days, time(NULL), &m);
        if (!failed)
            json_array_append_new(rows, measured_json(&contenders[i], &m));
    }
    cli_progress_end(&progress);
    if (failed) {
        json_decref(rows);
        return failed;
    }
    if (!cli->json)
        printf("%" PRId64 " users on each of %" PRId64
               " days, a tenth of them new each day: %" PRId64 " users\n",
               users, days, users + (days - 1) * (users / FRESH_SHARE));
    return cli_print_rows(cli, rows, columns);
}

const cli_option cli_online_compare_options[] = {
    {"users", CLI_INTEGER, "N", "users of each day (default 100000)"},
    {"days", CLI_INTEGER, "N", "days, at most 31 (default 7)"},
    {0},
};
