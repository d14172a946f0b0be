/* SPDX-License-Identifier: MIT */
#include "support/hourly.h"

#include "support/process.h"

stage stage_open(const hourly *kind)
{
    stage s = {.kind = kind, .time = timed_start(NULL)};
    timed_set(s.time, NOON_MS + 60000);
    s.client = test_open(s.time->server->url, NULL);
    s.it = kind->open(s.client);
    return s;
}

void stage_close(stage *s)
{
    s->kind->close(s->it);
    tkl_close(s->client);
    timed_end(s->time);
}

void stage_add(stage *s, int count, int64_t this, int64_t last)
{
    for (int i = 0; i < count; i++)
        s->kind->add(s->it);
    s->kind->expect(s->it, this, last);
}

void this_hour_becomes_last_hour(const hourly *kind)
{
    stage s = stage_open(kind);
    stage_add(&s, 2, 2, 0);
    timed_shift(s.time, HOUR_MS);
    stage_add(&s, 0, 0, 2); /* nothing was written; reading works all the same */
    stage_add(&s, 1, 1, 2);
    timed_shift(s.time, HOUR_MS);
    stage_add(&s, 0, 0, 1);
    stage_add(&s, 1, 1, 1);
    stage_close(&s);
}

void hours_of_silence_leave_last_hour_empty(const hourly *kind)
{
    for (int hours = 2; hours < 6; hours++) {
        stage s = stage_open(kind);
        stage_add(&s, 1, 1, 0);
        timed_shift(s.time, hours * HOUR_MS);
        stage_add(&s, 0, 0, 0);
        stage_add(&s, 1, 1, 0);
        stage_close(&s);
    }
}

void a_clock_set_back_neither_loses_nor_repeats(const hourly *kind)
{
    static const struct {
        int64_t back_ms;
        int64_t this, last; /* counts after one more event */
    } steps[] = {
        {1000, 3, 1},               /* within the hour */
        {120000, 3, 1},             /* across the full hour: this hour goes on */
        {HOUR_MS, 3, 1},            /* an hour */
        {2 * HOUR_MS, 1, 2},        /* more: it becomes last hour */
        {365 * 24 * HOUR_MS, 1, 2}, /* a year */
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        stage s = stage_open(kind);
        stage_add(&s, 1, 1, 0);
        timed_shift(s.time, HOUR_MS);
        stage_add(&s, 2, 2, 1);
        timed_shift(s.time, -steps[i].back_ms);
        stage_add(&s, 1, steps[i].this, steps[i].last);
        stage_close(&s);
    }
}

void a_clock_that_comes_back_goes_on(const hourly *kind)
{
    stage s = stage_open(kind);
    stage_add(&s, 1, 1, 0);
    timed_shift(s.time, -120000); /* 11:59 */
    stage_add(&s, 1, 2, 0);
    timed_shift(s.time, 120000);
    stage_add(&s, 1, 3, 0);
    timed_shift(s.time, HOUR_MS);
    stage_add(&s, 1, 1, 3);
    stage_close(&s);
}

/* Moves the clock back and forth between 12:45 and 13:15, by less than an hour. */
static void jump_around(timed_server *time)
{
    for (int i = 0; i < 200; i++) {
        timed_set(time, NOON_MS + HOUR_MS - 900000 + i * 7919 % 1800 * 1000);
        test_sleep_ms(1);
    }
    timed_set(time, NOON_MS + HOUR_MS + 900000);
}

void hour_changes_under_load(stage *s, int (*write)(void *url), bool jumping)
{
    pid_t writers[HOURLY_WRITERS];
    timed_set(s->time, NOON_MS + HOUR_MS - 100);
    for (int i = 0; i < HOURLY_WRITERS; i++)
        writers[i] = process_fork(write, s->time->server->url);
    if (jumping)
        jump_around(s->time);
    for (int i = 0; i < HOURLY_WRITERS; i++)
        assert_int_equal(process_wait(writers[i]), 0);
}

/* An event of an earlier time is stored as if it had been added at that time, whatever came
 * before. */
void an_earlier_time_counts_in_its_hour(const hourly *kind)
{
    const int64_t minute = 60000, last = NOON_MS - 30 * minute; /* it is 12:01 */
    for (int before = 0; before < 3; before++) {
        stage s = stage_open(kind);
        if (before == 1) { /* this hour has begun */
            stage_add(&s, 1, 1, 0);
        } else if (before == 2) { /* the data is of the last hour */
            timed_shift(s.time, -HOUR_MS);
            stage_add(&s, 1, 1, 0);
            timed_shift(s.time, HOUR_MS);
        }
        assert_ok(kind->add_at(s.it, last));
        assert_ok(kind->add_at(s.it, last + minute));
        kind->expect(s.it, before == 1, before == 2 ? 3 : 2);
        assert_ok(kind->add_at(s.it, NOON_MS));
        stage_add(&s, 1, 2 + (before == 1), before == 2 ? 3 : 2);
        assert_ok(kind->add_at(s.it, last));
        stage_add(&s, 0, 2 + (before == 1), before == 2 ? 4 : 3);
        assert_code(kind->add_at(s.it, last - HOUR_MS), TKL_EINVAL);
        assert_non_null(strstr(tkl_errmsg(), "too long ago"));
        assert_code(kind->add_at(s.it, NOON_MS + 10 * minute), TKL_EINVAL);
        assert_non_null(strstr(tkl_errmsg(), "in the future"));
        assert_code(kind->add_at(s.it, -1), TKL_EINVAL);
        stage_add(&s, 0, 2 + (before == 1), before == 2 ? 4 : 3);
        timed_shift(s.time, HOUR_MS);
        stage_add(&s, 1, 1, 2 + (before == 1));
        timed_shift(s.time, 2 * HOUR_MS);
        stage_add(&s, 0, 0, 0);
        stage_close(&s);
    }
}
