/* SPDX-License-Identifier: MIT
 *
 * Schedules: set, listed, removed; fired when their time has come, or later.
 *
 * ctest: label threads
 */
#include "queue/schedule.h"
#include "support/cluster.h"
#include "support/schedules.h"

/* ---- Setting ------------------------------------------------------------- */

static void a_schedule_says_when_it_comes_next(void **state)
{
    one_queue d = one_queue_open(state);
    int64_t before = server_time(d.f->server), next;
    set_schedule(d.queue, "nightly",
                 &(tkl_schedule){.cron = "30 2 * * *",
                                 .zone = "Europe/Berlin",
                                 .job = {.payload = tkl_str("report"), .priority = -7}});
    int64_t after = server_time(d.f->server);
    tkl_schedules *all;
    assert_ok(tkl_schedule_list(d.queue, &all));
    assert_int_equal(all->count, 1);
    const tkl_schedule_info *got = &all->items[0];
    assert_ok(tkl_cron_next("30 2 * * *", "Europe/Berlin", before, &next));
    if (got->next_ms != next) /* it may have come in between */
        assert_ok(tkl_cron_next("30 2 * * *", "Europe/Berlin", after, &next));
    assert_int_equal(got->next_ms, next);
    assert_int_equal(got->last_ms, 0);
    assert_int_equal(got->id.len, 7);
    assert_string_equal(got->cron, "30 2 * * *");
    assert_string_equal(got->zone, "Europe/Berlin");
    assert_int_equal(got->every_ms, 0);
    assert_int_equal(got->priority, -7);
    assert_int_equal(got->missed, TKL_MISSED_FIRE_ONCE);
    assert_int_equal(got->payload.len, 6);
    assert_memory_equal(got->payload.data, "report", 6);
    tkl_schedules_free(all);
    tkl_schedules_free(NULL);
    one_queue_close(&d);
}

static void setting_it_again_changes_nothing(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_schedule s = {.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}};
    set_schedule(d.queue, "s", &s);
    make_due(d.f->server, "s", -1234567); /* another next time than would be found now */
    tkl_schedule_info before = look_at(d.queue, "s");
    set_schedule(d.queue, "s", &s);
    assert_int_equal(look_at(d.queue, "s").next_ms, before.next_ms);
    assert_int_equal(server_ask_int(d.f->server, "ZSCORE " KEY "delayed schedule:s"),
                     before.next_ms);

    /* But each part of it counts. */
    const tkl_schedule others[] = {
        {.every_ms = HOUR_MS / 2, .job = s.job},
        {.every_ms = HOUR_MS, .missed = TKL_MISSED_SKIP, .job = s.job},
        {.cron = "0 0 * * *", .job = s.job},
        {.cron = "0 0 * * *", .zone = "Asia/Tokyo", .job = s.job},
        {.every_ms = HOUR_MS, .job = {.payload = tkl_str("y")}},
        {.every_ms = HOUR_MS, .job = {.payload = tkl_str("x"), .priority = 1}},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        set_schedule(d.queue, "s", &s);
        make_due(d.f->server, "s", -1234567);
        int64_t next = look_at(d.queue, "s").next_ms;
        set_schedule(d.queue, "s", &others[i]);
        assert_int_not_equal(look_at(d.queue, "s").next_ms, next);
        assert_int_equal(server_ask_int(d.f->server, "ZSCORE " KEY "delayed schedule:s"),
                         look_at(d.queue, "s").next_ms);
    }
    assert_int_equal(count_schedules(d.queue), 1);
    one_queue_close(&d);
}

static void wrong_schedules_are_refused_with_the_reason(void **state)
{
    one_queue d = one_queue_open(state);
    char *long_text = test_format("%0300d", 0);
    static const size_t one = 0;
    const struct {
        tkl_schedule schedule;
        const char *why;
    } cases[] = {
        {{0}, "either"},
        {{.cron = "* * * * *", .every_ms = 5000}, "either"},
        {{.every_ms = 999}, "from a second"},
        {{.every_ms = -1}, "from a second"},
        {{.every_ms = INT64_MAX}, "from a second"},
        {{.cron = "* * * *"}, "4 of the five fields"},
        {{.cron = "0 0 30 feb *"}, "never comes"},
        {{.cron = long_text}, "256 bytes"},
        {{.cron = "* * * * *", .zone = "Europe/Berln"}, "Europe/Berln"},
        {{.cron = "* * * * *", .zone = "../../etc/passwd"}, "no time zone"},
        {{.cron = "* * * * *", .zone = long_text}, "64 bytes"},
        {{.every_ms = 5000, .zone = "UTC"}, "for a cron expression"},
        {{.every_ms = 5000, .missed = 2}, "missed"},
        {{.every_ms = 5000, .reserved = {0, 1}}, "reserved"},
        {{.every_ms = 5000, .job = {.delay_ms = 1}}, "no time of its own"},
        {{.every_ms = 5000, .job = {.at_ms = 1}}, "no time of its own"},
        {{.every_ms = 5000, .job = {.after = &one, .after_count = 1}}, "no flow"},
        {{.every_ms = 5000, .job = {.priority = 1001}}, "priority"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_code(tkl_schedule_set(d.queue, tkl_str("s"), &cases[i].schedule), TKL_EINVAL);
        assert_contains(tkl_errmsg(), cases[i].why);
    }
    tkl_schedule good = {.every_ms = 5000};
    assert_code(tkl_schedule_set(d.queue, tkl_str(""), &good), TKL_EINVAL);
    assert_code(tkl_schedule_set(d.queue, tkl_str(long_text), &good), TKL_EINVAL);
    assert_code(tkl_schedule_remove(d.queue, tkl_str("")), TKL_EINVAL);
    assert_int_equal(server_ask_int(d.f->server, "DBSIZE"), 0);
    free(long_text);
    one_queue_close(&d);
}

static void a_removed_schedule_is_gone(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s", &(tkl_schedule){.every_ms = HOUR_MS});
    set_schedule(d.queue, "t", &(tkl_schedule){.every_ms = HOUR_MS});
    make_due(d.f->server, "s", 0);
    assert_ok(tkl_schedule_remove(d.queue, tkl_str("s")));
    assert_code(tkl_schedule_remove(d.queue, tkl_str("s")), TKL_NOTFOUND);
    assert_int_equal(count_schedules(d.queue), 1);
    assert_int_equal(server_ask_int(d.f->server, "ZCARD " KEY "delayed"), 1);
    assert_int_equal(take_all(d.consumer, 0), 0);
    assert_ok(tkl_schedule_remove(d.queue, tkl_str("t")));
    assert_int_equal(server_ask_int(d.f->server, "EXISTS " KEY "delayed " KEY "schedules"), 0);
    one_queue_close(&d);
}

static void schedules_are_listed_by_id(void **state)
{
    one_queue d = one_queue_open(state);
    static const char *const ids[] = {"b", "a", "ab", "", "\x7f", "B"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (*ids[i])
            set_schedule(d.queue, ids[i], &(tkl_schedule){.every_ms = HOUR_MS});
    tkl_schedules *all;
    char got[64] = "";
    assert_ok(tkl_schedule_list(d.queue, &all));
    for (size_t i = 0; i < all->count; i++) {
        strncat(got, all->items[i].id.data, all->items[i].id.len);
        strcat(got, " ");
    }
    assert_string_equal(got, "B a ab b \x7f ");
    tkl_schedules_free(all);
    one_queue_close(&d);
}

static void another_type_in_the_way_is_told_and_nothing_written(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_schedule s = {.every_ms = HOUR_MS};
    tkl_schedules *all;
    server_do(d.f->server, "SET " KEY "schedules text");
    assert_code(tkl_schedule_set(d.queue, tkl_str("s"), &s), TKL_ETYPE);
    assert_code(tkl_schedule_list(d.queue, &all), TKL_ETYPE);
    assert_null(all);
    assert_code(tkl_schedule_remove(d.queue, tkl_str("s")), TKL_ETYPE);
    server_do(d.f->server, "DEL " KEY "schedules");
    server_do(d.f->server, "SET " KEY "delayed text");
    assert_code(tkl_schedule_set(d.queue, tkl_str("s"), &s), TKL_ETYPE);
    assert_int_equal(server_ask_int(d.f->server, "EXISTS " KEY "schedules"), 0);
    one_queue_close(&d);
}

/* ---- Firing -------------------------------------------------------------- */

static void every_second_means_every_second(void **state)
{
    one_queue d = one_queue_open(state);
    int64_t best = INT64_MAX, last = 0;
    set_schedule(d.queue, "tick",
                 &(tkl_schedule){.every_ms = 1000, .job = {.payload = tkl_str("tick")}});
    for (int i = 0; i < 4; i++) {
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
        int64_t at = jobs->items[0].pushed_ms;
        assert_jobs(jobs, "tick");
        assert_true(at / 1000 > last); /* another second each time */
        last = at / 1000;
        best = at % 1000 < best ? at % 1000 : best;
        finish_all(d.consumer, jobs);
        tkl_jobs_free(jobs);
    }
    /* A busy machine is late now and then, but not always. */
    if (best > 300)
        fail_msg("at best %d ms late", (int)best);
    tkl_schedule_info info = look_at(d.queue, "tick");
    assert_int_equal(info.next_ms % 1000, 0);
    assert_true(info.last_ms / 1000 >= last && info.last_ms < info.next_ms);
    one_queue_close(&d);
}

static void the_job_is_what_was_set(void **state)
{
    one_queue d = one_queue_open(state);
    size_t len = 1 << 20;
    char *payload = malloc(len), id[TKL_SCHEDULE_ID_MAX];
    for (size_t i = 0; i < len; i++)
        payload[i] = (char)(i * 11 + i / 256);
    for (size_t i = 0; i < sizeof id; i++)
        id[i] = (char)i; /* any bytes: NUL, line ends, "@" */
    tkl_schedule s = {.every_ms = 1000,
                      .job = {.payload = {payload, len},
                              .meta = {"\0\n", 2},
                              .priority = 5,
                              .retries = 2,
                              .time_limit_ms = 777}};
    assert_ok(tkl_schedule_set(d.queue, (tkl_bytes){id, sizeof id}, &s));
    for (int i = 0; i < 2; i++) {
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
        const tkl_job *job = &jobs->items[0];
        assert_int_equal(job->payload.len, len);
        assert_memory_equal(job->payload.data, payload, len);
        assert_int_equal(job->meta.len, 2);
        assert_memory_equal(job->meta.data, "\0\n", 2);
        assert_int_equal(job->priority, 5);
        assert_int_equal(job->retries, 2);
        assert_int_equal(job->time_limit_ms, 777);
        finish_all(d.consumer, jobs);
        tkl_jobs_free(jobs);
    }
    assert_ok(tkl_schedule_remove(d.queue, (tkl_bytes){id, sizeof id}));
    assert_int_equal(count_schedules(d.queue), 0);
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta bytes"), 0);
    free(payload);
    one_queue_close(&d);
}

static void missed_times_fire_once(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = 7 * 60000, .job = {.payload = tkl_str("x")}});
    make_due(d.f->server, "s", 24 * HOUR_MS);
    expect_word(d.consumer, "x");
    assert_int_equal(take_all(d.consumer, 0), 0);
    tkl_schedule_info info = look_at(d.queue, "s");
    assert_true(info.next_ms > info.last_ms && info.next_ms <= info.last_ms + 7 * 60000);
    assert_int_equal(info.next_ms % (7 * 60000), 0);
    one_queue_close(&d);
}

static void note_zone(int code, const char *message, void *told)
{
    assert_code(code, TKL_EINVAL);
    assert_non_null(strstr(message, "schedule s"));
    assert_non_null(strstr(message, "XYZ"));
    ++*(int *)told;
}

static void a_claim_that_does_not_wait_gets_what_is_due(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_jobs *jobs;
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    make_due(d.f->server, "s", 0);
    assert_ok(tkl_consumer_claim(d.consumer, 5, 0, &jobs));
    assert_jobs(jobs, "x");
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

/* A program on another machine has set a schedule with a zone that this machine lacks. */
static void a_zone_that_is_not_known_here_is_told(void **state)
{
    one_queue d = one_queue_open(state);
    int told = 0;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    assert_ok(tkl_consumer_open(
        &d.queue, 1, &(tkl_consumer_options){.on_error = note_zone, .arg = &told}, &consumer));
    set_schedule(
        d.queue, "s",
        &(tkl_schedule){.cron = "0 3 * * *", .zone = "UTC", .job = {.payload = tkl_str("x")}});
    server_do(d.f->server, "EVAL %s 1 " KEY "schedules",
              "local v = redis.call('HGET', KEYS[1], 's') "
              "return redis.call('HSET', KEYS[1], 's', (string.gsub(v, 'UTC', 'XYZ')))");
    make_due(d.f->server, "s", 0);
    assert_code(tkl_consumer_claim(consumer, 1, 0, &jobs), TKL_EMPTY);
    assert_int_equal(told, 1);
    tkl_consumer_close(consumer);
    one_queue_close(&d);
}

static void missed_times_are_skipped_where_that_was_asked_for(void **state)
{
    one_queue d = one_queue_open(state);
    int64_t ten_years = INT64_C(315360000000);
    set_schedule(d.queue, "rare",
                 &(tkl_schedule){.every_ms = ten_years, .missed = TKL_MISSED_SKIP});
    set_schedule(d.queue, "often",
                 &(tkl_schedule){.cron = "* * * * *",
                                 .missed = TKL_MISSED_SKIP,
                                 .job = {.payload = tkl_str("often")}});
    tkl_schedule_info before = look_at(d.queue, "rare");
    make_due(d.f->server, "rare", HOUR_MS);
    make_due(d.f->server, "often", HOUR_MS);
    /* The last minute of the last hour is not missed yet. */
    expect_word(d.consumer, "often");
    eventually(look_at(d.queue, "rare").next_ms == before.next_ms, LONG_MS);
    assert_int_equal(look_at(d.queue, "rare").last_ms, 0);
    assert_int_equal(take_all(d.consumer, 0), 0);
    one_queue_close(&d);
}

/* A claim puts a due schedule off by a second, and its consumer dies then. */
static void what_a_dead_consumer_was_told_is_fired_by_another(void **state)
{
    one_queue d = one_queue_open(state);
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    make_due(d.f->server, "s", 5000);
    int64_t start = server_time(d.f->server);
    server_do(d.f->server, "ZADD " KEY "delayed XX %lld schedule:s", (long long)start + 1000);
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
    assert_jobs(jobs, "x");
    assert_true(jobs->items[0].pushed_ms >= start + 1000);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    one_queue_close(&d);
}

/* A claim that waits in a thread of its own. */
typedef struct claimer {
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    crew *thread;
} claimer;

static void claim_it(void *arg, int index)
{
    claimer *c = arg;
    (void)index;
    c->jobs = claim_jobs(c->consumer, 1, LONG_MS);
}

static void start_claiming(one_queue *d, claimer *c)
{
    *c = (claimer){.consumer = d->consumer};
    c->thread = crew_start(1, claim_it, c);
    eventually(server_ask_int(d->f->server, "ZCARD " KEY "waiters") == 1, LONG_MS);
}

static void end_claiming(claimer *c, const char *word)
{
    crew_join(c->thread);
    assert_jobs(c->jobs, word);
    finish_all(c->consumer, c->jobs);
    tkl_jobs_free(c->jobs);
}

static void a_schedule_set_while_they_wait_is_heard_of(void **state)
{
    one_queue d = one_queue_open(state);
    claimer c;
    start_claiming(&d, &c);
    set_schedule(d.queue, "s", &(tkl_schedule){.every_ms = 1000, .job = {.payload = tkl_str("x")}});
    end_claiming(&c, "x");
    one_queue_close(&d);
}

static void who_waits_sends_nothing_before_the_time(void **state)
{
    one_queue d = one_queue_open(state);
    claimer c;
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    start_claiming(&d, &c);
    test_sleep_ms(100); /* until it sleeps */
    int64_t before = server_commands(d.f->server);
    test_sleep_ms(300);
    assert_int_equal(server_commands(d.f->server), before);
    push_words(d.queue, "y");
    end_claiming(&c, "y");
    one_queue_close(&d);
}

static void a_full_queue_keeps_the_schedule_due(void **state)
{
    one_queue d = one_queue_open(state);
    push_words(d.queue, "first");
    assert_ok(tkl_queue_limits_set(d.queue, &(tkl_queue_limits){.max_jobs = 1}));
    set_schedule(d.queue, "s",
                 &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}});
    make_due(d.f->server, "s", 0);
    int64_t due = look_at(d.queue, "s").next_ms;
    tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
    assert_jobs(jobs, "first");
    assert_int_equal(look_at(d.queue, "s").next_ms, due);
    finish_all(d.consumer, jobs);
    tkl_jobs_free(jobs);
    expect_word(d.consumer, "x");
    assert_true(look_at(d.queue, "s").next_ms > due);
    one_queue_close(&d);
}

static void a_server_without_memory_keeps_the_schedule_due(void **state)
{
    one_queue d = one_queue_open(state);
    tkl_schedule s = {.every_ms = HOUR_MS, .job = {.payload = tkl_str("x")}};
    push_words(d.queue, "first");
    set_schedule(d.queue, "s", &s);
    make_due(d.f->server, "s", 0);
    int64_t due = look_at(d.queue, "s").next_ms;
    server_do(d.f->server, "CONFIG SET maxmemory 1");
    expect_word(d.consumer, "first"); /* work goes on */
    assert_int_equal(look_at(d.queue, "s").next_ms, due);
    s.every_ms /= 2;
    assert_code(tkl_schedule_set(d.queue, tkl_str("s"), &s), TKL_EOOM);
    server_do(d.f->server, "CONFIG SET maxmemory 0");
    expect_word(d.consumer, "x");
    one_queue_close(&d);
}

#define CROWD 250

static void many_that_are_due_at_once_all_fire(void **state)
{
    one_queue d = one_queue_open(state);
    for (int i = 0; i < CROWD; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        set_schedule(d.queue, id,
                     &(tkl_schedule){.every_ms = HOUR_MS, .job = {.payload = tkl_str(id)}});
        make_due(d.f->server, id, 0);
    }
    int taken = 0;
    eventually((taken += take_all(d.consumer, 0)) == CROWD, LONG_MS);
    assert_int_equal(server_ask_int(d.f->server, "HGET " KEY "meta pushed"), CROWD);
    one_queue_close(&d);
}

static void a_unique_job_that_is_there_is_not_pushed_again(void **state)
{
    static const tkl_unique_mode modes[] = {TKL_UNIQUE_UNTIL_FINISHED, TKL_UNIQUE_UNTIL_STARTED,
                                            TKL_UNIQUE_FOR_A_TIME};
    one_queue d = one_queue_open(state);
    for (size_t i = 0; i < 3; i++) {
        char key[] = {'k', (char)('0' + i), '\0'};
        tkl_push job = {.payload = tkl_str("x"),
                        .unique = tkl_str(key),
                        .unique_mode = modes[i],
                        .unique_ms = modes[i] == TKL_UNIQUE_FOR_A_TIME ? HOUR_MS : 0};
        set_schedule(d.queue, "s", &(tkl_schedule){.every_ms = HOUR_MS, .job = job});
        make_due(d.f->server, "s", 0);
        tkl_jobs *jobs = claim_jobs(d.consumer, 1, LONG_MS);
        assert_jobs(jobs, "x");
        int64_t pushed = server_ask_int(d.f->server, "HGET " KEY "meta pushed");
        make_due(d.f->server, "s", 0);
        int64_t due = look_at(d.queue, "s").next_ms;
        /* That time comes and passes, with or without a job: the key is free once it is started. */
        eventually((take_all(d.consumer, 0), look_at(d.queue, "s").next_ms > due), LONG_MS);
        pushed = server_ask_int(d.f->server, "HGET " KEY "meta pushed") - pushed;
        assert_int_equal(pushed, modes[i] == TKL_UNIQUE_UNTIL_STARTED);
        assert_true(look_at(d.queue, "s").last_ms >= due);
        finish_all(d.consumer, jobs);
        tkl_jobs_free(jobs);
        take_all(d.consumer, 0);
    }
    /* A push finds the key held by the job of the schedule. */
    tkl_pushed twin_pushed;
    tkl_push twin = {.payload = tkl_str("y"), .unique = tkl_str("k2")};
    assert_ok(tkl_queue_push(d.queue, &twin, 1, NULL, &twin_pushed));
    assert_code(twin_pushed.code, TKL_EXISTS);
    one_queue_close(&d);
}

static void what_is_left_of_a_schedule_is_cleared_away(void **state)
{
    one_queue d = one_queue_open(state);
    server_do(d.f->server, "ZADD " KEY "delayed 1 schedule:ghost");
    assert_int_equal(take_all(d.consumer, 0), 0);
    assert_int_equal(server_ask_int(d.f->server, "EXISTS " KEY "delayed"), 0);
    /* A record that cannot be read does no harm. */
    server_do(d.f->server, "HSET " KEY "schedules odd nonsense");
    server_do(d.f->server, "ZADD " KEY "delayed 1 schedule:odd");
    push_words(d.queue, "job");
    expect_word(d.consumer, "job");
    assert_int_equal(count_schedules(d.queue), 0);
    one_queue_close(&d);
}

/* ---- When they come next ------------------------------------------------- */

#define MINUTE 60000

static void the_next_time_is_behind_the_clock(void **state)
{
    (void)state;
    static const struct {
        const char *value; /* "next last missed every cron zone\n" and so on */
        int64_t now_ms, next_ms;
        bool fires;
    } cases[] = {
        /* In time, late, much too late. */
        {"600000 0 0 60000 0 3\nUTC", 10 * MINUTE, 11 * MINUTE, true},
        {"600000 0 0 60000 0 3\nUTC", 10 * MINUTE + 59999, 11 * MINUTE, true},
        {"600000 0 0 60000 0 3\nUTC", 100 * MINUTE, 101 * MINUTE, true},
        /* Skipped when it is more than a minute past; the last of several decides. */
        {"600000 0 1 600000 0 3\nUTC", 10 * MINUTE, 20 * MINUTE, true},
        {"600000 0 1 600000 0 3\nUTC", 11 * MINUTE, 20 * MINUTE, true},
        {"600000 0 1 600000 0 3\nUTC", 11 * MINUTE + 1, 20 * MINUTE, false},
        {"600000 0 1 600000 0 3\nUTC", 30 * MINUTE, 40 * MINUTE, true},
        {"600000 0 1 600000 0 3\nUTC", 32 * MINUTE, 40 * MINUTE, false},
        {"600000 0 1 0 12 3\n*/10 * * * *UTC", 11 * MINUTE, 20 * MINUTE, true},
        {"600000 0 1 0 12 3\n*/10 * * * *UTC", 12 * MINUTE, 20 * MINUTE, false},
        {"3600000 0 0 0 9 13\n0 * * * *Europe/Berlin", 60 * MINUTE, 120 * MINUTE, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tkl__queue_planned planned;
        int64_t next_ms;
        bool fires;
        assert_true(tkl__queue_planned_decode(tkl_str(cases[i].value), &planned));
        assert_ok(tkl__queue_planned_next(&planned, cases[i].now_ms, &next_ms, &fires));
        if (next_ms != cases[i].next_ms || fires != cases[i].fires)
            fail_msg("case %zu: %lld, %d", i, (long long)next_ms, fires);
    }
}

static void what_is_no_schedule_is_recognised(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "\n",
        "1 2 3\n",
        "1 0 0 60000 0 3",
        "1 0 0 60000 0 3\nUT",
        "x 0 0 60000 0 3\nUTC",
        "1 0 0 0 -1 3\nUTC",
        "1 0 0 0 999999999999 3\nUTC",
        "1 0 0 0 300 0\n",
        "99999999999999999999 0 0 60000 0 3\nUTC",
        "-1 0 0 60000 0 3\nUTC",
        "1 -5 0 60000 0 3\nUTC",
        "1 0 0 9000000000000000000 0 3\nUTC",
    };
    tkl__queue_planned planned;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (tkl__queue_planned_decode(tkl_str(cases[i]), &planned))
            fail_msg("accepted: %s", cases[i]);
    char *long_line = test_format("%0300d\n", 0);
    assert_false(tkl__queue_planned_decode(tkl_str(long_line), &planned));
    free(long_line);
}

/* ---- Partitions ---------------------------------------------------------- */

#define WIDE 20

static void set_many(tkl_queue *queue)
{
    for (int i = 0; i < WIDE; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%02d", i);
        set_schedule(queue, id, &(tkl_schedule){.every_ms = 1000, .job = {.payload = tkl_str(id)}});
    }
    assert_int_equal(count_schedules(queue), WIDE);
}

/* Until each has fired. */
static void await_each(tkl_consumer *consumer)
{
    bool seen[WIDE] = {false};
    for (int left = WIDE; left > 0;) {
        tkl_jobs *jobs = claim_jobs(consumer, 100, LONG_MS);
        for (size_t i = 0; i < jobs->count; i++) {
            int number = atoi(jobs->items[i].payload.data + 1);
            left -= !seen[number];
            seen[number] = true;
        }
        finish_all(consumer, jobs);
        tkl_jobs_free(jobs);
    }
}

static void partitions_share_the_schedules(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "wide", 4);
    tkl_consumer *consumer = open_consumer(queue, 0);
    set_many(queue);
    char *homes = server_ask(f->server, "KEYS tackle:queue:{wide*:schedules");
    assert_non_null(strchr(homes, '\n')); /* in more than one */
    free(homes);
    await_each(consumer);
    for (int i = 0; i < WIDE; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%02d", i);
        assert_ok(tkl_schedule_remove(queue, tkl_str(id)));
    }
    assert_int_equal(count_schedules(queue), 0);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void in_a_cluster_they_fire_through_a_failover(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, &(tkl_options){.timeout_ms = 30000});
    tkl_queue *queue = open_queue(client, "wide", 6);
    tkl_consumer *consumer = open_consumer(queue, 0);
    set_many(queue);
    await_each(consumer);
    cluster_fail_over(c, 0);
    cluster_fail_over(c, 16383);
    await_each(consumer);
    assert_int_equal(count_schedules(queue), WIDE);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
    cluster_end(c);
}

static void a_schedule_moves_with_its_group(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "wide", 8);
    for (int i = 0; i < 10; i++) {
        char group[16];
        snprintf(group, sizeof group, "g%d", i);
        set_schedule(queue, "s",
                     &(tkl_schedule){.every_ms = HOUR_MS, .job = {.group = tkl_str(group)}});
        assert_int_equal(count_schedules(queue), 1);
    }
    assert_ok(tkl_schedule_remove(queue, tkl_str("s")));
    char *left = server_ask(f->server, "KEYS tackle:queue:{wide*:[sd]");
    assert_string_equal(left, "");
    free(left);
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_schedule_says_when_it_comes_next),
        TEST(setting_it_again_changes_nothing),
        TEST(wrong_schedules_are_refused_with_the_reason),
        TEST(a_removed_schedule_is_gone),
        TEST(schedules_are_listed_by_id),
        TEST(another_type_in_the_way_is_told_and_nothing_written),
        TEST(every_second_means_every_second),
        TEST(the_job_is_what_was_set),
        TEST(missed_times_fire_once),
        TEST(a_claim_that_does_not_wait_gets_what_is_due),
        TEST(a_zone_that_is_not_known_here_is_told),
        TEST(missed_times_are_skipped_where_that_was_asked_for),
        TEST(what_a_dead_consumer_was_told_is_fired_by_another),
        TEST(a_schedule_set_while_they_wait_is_heard_of),
        TEST(who_waits_sends_nothing_before_the_time),
        TEST(a_full_queue_keeps_the_schedule_due),
        TEST(a_server_without_memory_keeps_the_schedule_due),
        TEST(many_that_are_due_at_once_all_fire),
        TEST(a_unique_job_that_is_there_is_not_pushed_again),
        TEST(what_is_left_of_a_schedule_is_cleared_away),
        cmocka_unit_test(the_next_time_is_behind_the_clock),
        cmocka_unit_test(what_is_no_schedule_is_recognised),
        TEST(partitions_share_the_schedules),
        TEST(a_schedule_moves_with_its_group),
        cmocka_unit_test(in_a_cluster_they_fire_through_a_failover),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
