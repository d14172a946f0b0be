/* SPDX-License-Identifier: MIT
 *
 * Dead letters and other jobs that operators choose by kind, reason, text and age: to find, count,
 * retry, delete and move them.
 */
#include "support/insides.h"
#include "support/work.h"

#define KEY "tackle:queue:{work}:"

/* A dead letter of a kind, for a reason. */
static job_id bury_one(const tkl_push *job, const char *reason)
{
    job_id id = push_one(queue, job);
    claimed taken = claim_one(consumer);
    assert_ok(finish_code(queue, &taken, TKL_OUTCOME_DEAD, reason));
    return id;
}

static job_id bury_kind(const char *payload, const char *kind, const char *reason)
{
    return bury_one(&(tkl_push){.payload = tkl_str(payload), .kind = tkl_str(kind)}, reason);
}

static int64_t dead_of(const tkl_job_filter *filter)
{
    int64_t count = -1;
    assert_ok(tkl_queue_count_dead(queue, filter, &count));
    return count;
}

/* The payloads that a search finds, one call after the other, must be these. */
static void assert_finds(tkl_job_state state, const tkl_job_filter *filter, size_t max,
                         const char *expected)
{
    char *text = test_format("%s", ""), *after = NULL;
    do {
        tkl_listing *list;
        assert_ok(tkl_queue_find(queue, state, filter, after, max, 0, &list));
        assert_true(list->count <= max);
        free(after);
        for (size_t i = 0; i < list->count; i++) {
            char *longer = test_format("%s%s" TKL_FMT, text, *text ? " " : "",
                                       TKL_ARG(list->items[i].payload));
            free(text);
            text = longer;
        }
        after = list->next ? test_format("%s", list->next) : NULL;
        tkl_listing_free(list);
    } while (after);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- Choosing ------------------------------------------------------------ */

static void dead_letters_are_chosen_by_kind_reason_text_and_age(void **state)
{
    fixture *f = *state;
    job_id old = bury_kind("a-1", "mail", "timeout: 30 s");
    bury_kind("b-1", "mail", "no such user");
    bury_kind("c-1", "resize", "timeout: 5 s");
    bury_kind("d-1", "", "");
    inside_set_death(f->client, old.text, 1700000000000);
    static const struct {
        tkl_job_filter filter;
        const char *found; /* newest first */
    } cases[] = {
        {{0}, "d-1 c-1 b-1 a-1"},
        {{.kind = {"mail", 4}}, "b-1 a-1"},
        {{.reason = {"timeout", 7}}, "c-1 a-1"},
        {{.kind = {"mail", 4}, .reason = {"timeout", 7}}, "a-1"},
        {{.kind = {"mai", 3}}, ""},
        {{.text = {"resi", 4}}, "c-1"},
        {{.text = {"user", 4}}, "b-1"},
        {{.text = {"d-", 2}}, "d-1"},
        {{.text = {"mailb", 5}}, ""}, /* no match across the border of two parts */
        {{.older_ms = 3600000}, "a-1"},
        {{.older_ms = 3600000, .kind = {"resize", 6}}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t words = 0;
        for (const char *c = cases[i].found; *c; c++)
            words += *c == '-';
        assert_int_equal(dead_of(&cases[i].filter), words);
        assert_finds(TKL_JOB_STATE_DEAD, &cases[i].filter, 1000, cases[i].found);
        assert_finds(TKL_JOB_STATE_DEAD, &cases[i].filter, 1, cases[i].found);
    }
    assert_int_equal(dead_of(&(tkl_job_filter){.id = old.text}), 1);
    assert_int_equal(dead_of(&(tkl_job_filter){.id = "0000000000000"}), 0);
    assert_int_equal(dead_of(&(tkl_job_filter){.id = "nonsense"}), 0);
    assert_int_equal(dead_of(&(tkl_job_filter){.id = old.text, .kind = tkl_str("resize")}), 0);
}

static void those_that_fit_are_retried_or_deleted(void **state)
{
    fixture *f = *state;
    enum { N = 450 }; /* several steps */
    int64_t count;
    for (int i = 0; i < N; i++)
        bury_kind("x", i % 3 == 0 ? "odd" : "even", "no");
    assert_int_equal(dead_of(&(tkl_job_filter){.kind = tkl_str("odd")}), N / 3);
    assert_ok(tkl_queue_retry(queue, &(tkl_job_filter){.kind = tkl_str("odd")}, &count));
    assert_int_equal(count, N / 3);
    assert_int_equal(stats_of(queue).ready, N / 3);
    assert_int_equal(stats_of(queue).dead, N - N / 3);
    tkl_job_filter even = {.kind = tkl_str("even"), .reason = tkl_str("no")};
    assert_ok(tkl_queue_drop_dead(queue, &even, &count));
    assert_int_equal(count, N - N / 3);
    assert_code(tkl_queue_drop_dead(queue, &even, &count), TKL_NOTFOUND);
    assert_code(tkl_queue_retry(queue, &even, &count), TKL_NOTFOUND);
    assert_int_equal(count, 0);
    assert_ok(tkl_queue_drain(queue, NULL));
    assert_int_equal(stats_of(queue).bytes, 0);
    assert_no_garbage(f->server);
}

static void a_wrong_filter_is_refused(void **state)
{
    (void)state;
    int64_t count;
    tkl_listing *list;
    static const tkl_job_filter wrong[] = {
        {.kind = {"a b", 3}},
        {.older_ms = -1},
        {.older_ms = INT64_MAX},
        {.reserved = {1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_code(tkl_queue_count_dead(queue, &wrong[i], &count), TKL_EINVAL);
        assert_code(tkl_queue_retry(queue, &wrong[i], &count), TKL_EINVAL);
        assert_code(tkl_queue_drop_dead(queue, &wrong[i], &count), TKL_EINVAL);
        assert_code(tkl_queue_find(queue, TKL_JOB_STATE_READY, &wrong[i], NULL, 1, 0, &list),
                    TKL_EINVAL);
    }
    static const char *const places[] = {"", "x", "0", "0.0", "1.0.", "-1.0.", "0.7.", "0.0.x y"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        assert_code(tkl_queue_find(queue, TKL_JOB_STATE_READY, NULL, places[i], 1, 0, &list),
                    TKL_EINVAL);
    assert_code(tkl_queue_find(queue, TKL_JOB_STATE_READY, NULL, NULL, 0, 0, &list), TKL_EINVAL);
    assert_code(tkl_queue_find(queue, TKL_JOB_STATE_READY, NULL, NULL, 1001, 0, &list), TKL_EINVAL);
    assert_code(tkl_queue_find(queue, (tkl_job_state)99, NULL, NULL, 1, 0, &list), TKL_EINVAL);
    assert_code(
        tkl_queue_find(queue, TKL_JOB_STATE_READY, &(tkl_job_filter){.id = "1"}, NULL, 1, 0, &list),
        TKL_EINVAL);
}

/* ---- Searching ----------------------------------------------------------- */

static void jobs_are_found_in_every_state(void **state)
{
    (void)state;
    static const size_t child[] = {0};
    limit(&(tkl_queue_limits){.group_concurrency = 1});
    bury("needle-dead");
    push_group("g\001'\xff", "needle-active");
    claim_one(consumer);
    push_group("g\001'\xff", "needle-held");
    assert_nothing_ready(consumer);
    tkl_push flow[] = {{.payload = tkl_str("needle-later"), .delay_ms = 3600000},
                       {.payload = tkl_str("needle-flow"), .after = child, .after_count = 1}};
    assert_ok(tkl_queue_push(queue, flow, 2, NULL, NULL));
    push_text(queue, "needle-ready");
    push_text(queue, "hay");
    tkl_job_filter needle = {.text = tkl_str("needle")};
    const char *all = "needle-ready needle-later needle-held needle-flow needle-active needle-dead";
    assert_finds(TKL_JOB_STATE_UNKNOWN, &needle, 1000, all);
    assert_finds(TKL_JOB_STATE_UNKNOWN, &needle, 1, all);
    assert_finds(TKL_JOB_STATE_HELD, &needle, 1, "needle-held needle-flow");
    assert_finds(TKL_JOB_STATE_READY, NULL, 7, "needle-ready hay");
    assert_finds(TKL_JOB_STATE_DELAYED, &(tkl_job_filter){.text = tkl_str("y")}, 7, "");
    assert_finds(TKL_JOB_STATE_READY, &(tkl_job_filter){.older_ms = 3600000}, 7, "");
}

/* All jobs have the same place in READY, so only their ids differ. */
static void a_search_goes_on_behind_jobs_that_are_gone(void **state)
{
    (void)state;
    tkl_listing *list;
    job_id ids[6];
    for (int i = 0; i < 6; i++)
        ids[i] = push_text(queue, (const char *[]){"a", "b", "c", "d", "e", "f"}[i]);
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_READY, NULL, NULL, 3, 0, &list));
    assert_int_equal(list->count, 3);
    assert_non_null(list->next);
    for (int i = 0; i < 3; i++)
        assert_ok(tkl_queue_cancel(queue, ids[i].text));
    char *after = test_format("%s", list->next);
    tkl_listing_free(list);
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_READY, NULL, after, 1000, 0, &list));
    assert_int_equal(list->count, 3);
    assert_string_equal(list->items[0].id, ids[3].text);
    assert_null(list->next);
    tkl_listing_free(list);
    free(after);
}

static void due_jobs_and_ended_leases_are_found_as_ready(void **state)
{
    fixture *f = *state;
    tkl_listing *list;
    job_id later = push_one(queue, &(tkl_push){.payload = tkl_str("later"), .delay_ms = 3600000});
    push_text(queue, "leased");
    claimed job = claim_one(consumer);
    make_job_due(f, later.text);
    end_lease(f, &job);
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_UNKNOWN, NULL, NULL, 10, 0, &list));
    assert_int_equal(list->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(list->items[i].state, TKL_JOB_STATE_READY);
        assert_int_equal(list->items[i].due_ms, 0);
    }
    tkl_listing_free(list);
}

/* ---- Moving -------------------------------------------------------------- */

static void moved_jobs_keep_their_options(void **state)
{
    fixture *f = *state;
    int64_t count = 7;
    tkl_listing *list;
    tkl_queue *other = open_queue(f->client, "other", 0);
    bury_one(&(tkl_push){.payload = {"a\0b", 3},
                         .kind = tkl_str("mail"),
                         .meta = tkl_str("m"),
                         .group = tkl_str("g"),
                         .unique = tkl_str("u"),
                         .priority = -5,
                         .retries = 3},
             "no");
    bury_kind("stays", "resize", "no");
    tkl_job_filter mails = {.kind = tkl_str("mail")};
    assert_ok(tkl_queue_move_dead(queue, &mails, other, &count));
    assert_int_equal(count, 1);
    assert_code(tkl_queue_move_dead(queue, &mails, other, &count), TKL_NOTFOUND);
    assert_int_equal(count, 0);
    assert_int_equal(stats_of(queue).dead, 1);
    assert_ok(tkl_queue_peek(other, TKL_JOB_STATE_READY, 0, 10, 0, &list));
    assert_int_equal(list->count, 1);
    const tkl_job_info *job = &list->items[0];
    assert_int_equal(job->payload.len, 3);
    assert_memory_equal(job->payload.data, "a\0b", 3);
    assert_memory_equal(job->kind.data, "mail", 4);
    assert_memory_equal(job->group.data, "g", 1);
    assert_memory_equal(job->unique.data, "u", 1);
    assert_int_equal(job->priority, -5);
    assert_int_equal(job->retries, 3);
    assert_int_equal(job->attempt, 0);
    tkl_listing_free(list);
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    assert_int_equal(stats_of(queue).bytes, 0);
    tkl_queue_close(other);
}

static void a_queue_that_takes_no_more_leaves_the_rest(void **state)
{
    fixture *f = *state;
    int64_t count;
    tkl_queue *other = open_queue(f->client, "other", 0);
    for (int i = 0; i < 3; i++)
        bury("x");
    assert_ok(tkl_queue_limits_set(other, &(tkl_queue_limits){.max_jobs = 2}));
    assert_code(tkl_queue_move_dead(queue, NULL, other, &count), TKL_FULL);
    assert_int_equal(count, 2);
    assert_int_equal(stats_of(queue).dead, 1);
    assert_int_equal(stats_of(other).ready, 2);
    assert_code(tkl_queue_move_dead(queue, NULL, queue, &count), TKL_EINVAL);
    assert_int_equal(stats_of(queue).dead, 1);
    tkl_queue_close(other);
}

static void a_unique_key_that_is_taken_keeps_a_job_where_it_is(void **state)
{
    fixture *f = *state;
    int64_t count;
    tkl_push job = {.payload = tkl_str("x"), .unique = tkl_str("key")};
    tkl_queue *other = open_queue(f->client, "other", 0);
    bury_one(&job, "no");
    bury("y");
    push_one(other, &job);
    assert_code(tkl_queue_move_dead(queue, NULL, other, &count), TKL_EXISTS);
    assert_int_equal(count, 1);
    assert_int_equal(stats_of(queue).dead, 1);
    assert_int_equal(stats_of(other).ready, 2);
    tkl_queue_close(other);
}

/* Brings the dead letters back, as if the program had died before it deleted them. */
static void a_move_that_was_cut_moves_none_twice_when_repeated(void **state)
{
    fixture *f = *state;
    enum { N = 300 };
    static const char *const keys[] = {"jobs", "dead", "history"};
    int64_t count;
    tkl_queue *other = open_queue(f->client, "other", 3);
    for (int i = 0; i < N; i++)
        bury_one(&(tkl_push){.payload = tkl_str("x"), .group = tkl_str(i % 2 ? "g" : "")}, "no");
    for (int i = 0; i < 3; i++)
        server_do(f->server, "COPY " KEY "%s {work}%s", keys[i], keys[i]);
    assert_ok(tkl_queue_move_dead(queue, NULL, other, &count));
    assert_int_equal(count, N);
    assert_int_equal(stats_of(queue).bytes, 0);
    for (int i = 0; i < 3; i++)
        server_do(f->server, "RENAME {work}%s " KEY "%s", keys[i], keys[i]);
    assert_int_equal(stats_of(queue).dead, N);
    assert_ok(
        tkl_queue_move_dead(queue, &(tkl_job_filter){.reason = tkl_str("no")}, other, &count));
    assert_int_equal(count, N);
    assert_int_equal(stats_of(queue).dead, 0);
    assert_int_equal(stats_of(other).ready, N);
    tkl_queue_close(other);
}

/* As with every removal, the jobs that wait for it go on. */
static void a_moved_job_holds_up_no_others(void **state)
{
    fixture *f = *state;
    static const size_t child[] = {0};
    tkl_queue *other = open_queue(f->client, "other", 0);
    tkl_push flow[] = {{.payload = tkl_str("child")},
                       {.payload = tkl_str("parent"), .after = child, .after_count = 1}};
    assert_ok(tkl_queue_push(queue, flow, 2, NULL, NULL));
    claimed job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
    assert_nothing_ready(consumer);
    assert_ok(tkl_queue_move_dead(queue, &(tkl_job_filter){.id = job.id}, other, NULL));
    assert_claims(consumer, queue, "parent");
    tkl_consumer *there = open_claimer(other, 0);
    assert_claims(there, other, "child");
    tkl_consumer_close(there);
    tkl_queue_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(dead_letters_are_chosen_by_kind_reason_text_and_age),
        WORK_TEST(those_that_fit_are_retried_or_deleted),
        WORK_TEST(a_wrong_filter_is_refused),
        WORK_TEST(jobs_are_found_in_every_state),
        WORK_TEST(a_search_goes_on_behind_jobs_that_are_gone),
        WORK_TEST(due_jobs_and_ended_leases_are_found_as_ready),
        WORK_TEST(moved_jobs_keep_their_options),
        WORK_TEST(a_queue_that_takes_no_more_leaves_the_rest),
        WORK_TEST(a_unique_key_that_is_taken_keeps_a_job_where_it_is),
        WORK_TEST(a_move_that_was_cut_moves_none_twice_when_repeated),
        WORK_TEST(a_moved_job_holds_up_no_others),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
