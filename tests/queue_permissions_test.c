/* SPDX-License-Identifier: MIT
 *
 * Everything that queues and schedules do, by a user who may do what docs/queue.md lists.
 *
 * ctest: label threads
 */
#include <tackle/schedule.h>

#include "support/fixture.h"
#include "support/one_queue.h"
#include "support/waits.h"

/* Opens a client of a user who has the permissions that docs/queue.md lists, and no more. */
static tkl_client *open_as_documented(fixture *f)
{
    char text[65536];
    FILE *file = fopen(TACKLE_SOURCE_DIR "/docs/queue.md", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *command = strstr(text, "ACL SETUSER clerk");
    assert_non_null(command);
    *strstr(command, "```") = '\0';
    for (char *at = command; (at = strchr(at, '\n'));)
        *at = ' ';
    server_do(f->server, command);
    return test_open(f->server->url, &(tkl_options){.username = "clerk", .password = "secret"});
}

/* ---- All that can be done ------------------------------------------------ */

static void push_all_kinds(tkl_queue *queue)
{
    static const size_t first[] = {0};
    const tkl_push jobs[] = {
        {.payload = tkl_str("a"), .result_ms = 60000},
        {.payload = tkl_str("b"), .after = first, .after_count = 1},
        {.payload = tkl_str("c"), .unique = tkl_str("u")},
        {.payload = tkl_str("c"), .unique = tkl_str("u")},
        {.payload = tkl_str("d"), .unique = tkl_str("v"), .unique_mode = TKL_UNIQUE_UNTIL_STARTED},
        {.payload = tkl_str("e"),
         .unique = tkl_str("w"),
         .unique_mode = TKL_UNIQUE_FOR_A_TIME,
         .unique_ms = 50},
        {.payload = tkl_str("f"), .group = tkl_str("g")},
        {.payload = tkl_str("g"), .group = tkl_str("g")},
        {.payload = tkl_str("h"), .delay_ms = 1},
        {.payload = tkl_str("i"), .delay_ms = 1000000},
        {.payload = tkl_str("j")},
        {.payload = tkl_str("k")},
    };
    assert_ok(tkl_queue_push(queue, jobs, sizeof jobs / sizeof *jobs, NULL, NULL));
}

/* Reports each outcome, some of them together in one round trip. */
static void work(tkl_queue *queue, tkl_consumer *consumer)
{
    static const tkl_outcome outcomes[] = {TKL_OUTCOME_DONE, TKL_OUTCOME_DONE, TKL_OUTCOME_FAILED,
                                           TKL_OUTCOME_DEAD, TKL_OUTCOME_RELEASED};
    tkl_jobs *jobs = claim_jobs(consumer, 20, LONG_MS);
    tkl_report reports[20] = {0};
    assert_ok(
        tkl_queue_renew(queue, jobs->items[0].id, jobs->items[0].token, 60000, tkl_str("half")));
    for (size_t i = 0; i < jobs->count; i++)
        reports[i] = (tkl_report){.job = &jobs->items[i], .outcome = outcomes[i % 5]};
    assert_ok(tkl_consumer_finish(consumer, reports, jobs->count));
    tkl_jobs_free(jobs);
}

static void look(tkl_queue *queue)
{
    static const tkl_job_state states[] = {TKL_JOB_STATE_READY, TKL_JOB_STATE_DELAYED,
                                           TKL_JOB_STATE_HELD,  TKL_JOB_STATE_ACTIVE,
                                           TKL_JOB_STATE_DEAD,  TKL_JOB_STATE_DONE};
    tkl_queue_stats stats;
    tkl_queue_level_list *levels;
    assert_ok(tkl_queue_stats_get(queue, &stats));
    assert_ok(tkl_queue_levels(queue, &levels));
    tkl_queue_level_list_free(levels);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        tkl_listing *all, *one;
        assert_ok(tkl_queue_peek(queue, states[i], 0, 10, 0, &all));
        for (size_t k = 0; k < all->count; k++) {
            assert_ok(tkl_queue_show(queue, all->items[k].id, 0, &one));
            tkl_listing_free(one);
        }
        tkl_listing_free(all);
    }
}

static void manage(tkl_client *client, tkl_queue *queue)
{
    int partitions;
    char id[TKL_JOB_ID_SIZE];
    tkl_names *names;
    tkl_queue_limits limits;
    assert_ok(tkl_queue_pause(queue));
    assert_ok(tkl_queue_resume(queue));
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.group_concurrency = 2,
                                                              .group_rate = 1000,
                                                              .group_rate_period_ms = 1000,
                                                              .rate = 1000,
                                                              .rate_period_ms = 1000,
                                                              .keep_ms = 60000,
                                                              .keep_max = 1}));
    assert_ok(tkl_queue_limits_get(queue, &limits));
    assert_ok(tkl_queue_retry(queue, NULL, NULL));
    assert_ok(tkl_queue_push_one(queue, tkl_str("x"), id));
    assert_ok(tkl_queue_edit(queue, id, tkl_str("y")));
    assert_ok(tkl_queue_cancel(queue, id));
    int64_t count;
    tkl_listing *found;
    assert_ok(tkl_queue_count_dead(queue, NULL, &count));
    assert_ok(tkl_queue_find(queue, TKL_JOB_STATE_UNKNOWN, NULL, NULL, 10, 0, &found));
    tkl_listing_free(found);
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    assert_ok(tkl_queue_count_done(queue, NULL, &count));
    assert_ok(tkl_queue_drop_done(queue, NULL, NULL));
    assert_ok(tkl_queue_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_queue_partitions(client, tkl_str("q"), &partitions));
}

/* A job that waits for its result, and a schedule. It fires at the full second, which may come
 * before the claim: then nobody gets into the line. */
static void wait_for_things(tkl_queue *queue, tkl_consumer *consumer, server *s)
{
    tkl_schedules *schedules;
    tkl_job_result *result;
    char id[TKL_JOB_ID_SIZE];
    const tkl_push job = {.payload = tkl_str("y"), .result_ms = 60000, .delay_ms = 100};
    const tkl_schedule every = {.every_ms = 1000, .job = {.payload = tkl_str("s")}};
    pending p = {.consumer = consumer, .wait_ms = LONG_MS, .max = 1};
    start_waiting(&p, s);
    push_job(queue, &job, id);
    expect(&p, "y");
    assert_ok(tkl_queue_result(queue, id, LONG_MS, &result));
    tkl_job_result_free(result);
    assert_ok(tkl_schedule_set(queue, tkl_str("every"), &every));
    assert_ok(tkl_schedule_pause(queue, tkl_str("every")));
    assert_ok(tkl_schedule_resume(queue, tkl_str("every")));
    assert_ok(tkl_schedule_list(queue, &schedules));
    tkl_schedules_free(schedules);
    tkl_jobs *fired = claim_jobs(consumer, 1, LONG_MS);
    assert_jobs(fired, "s");
    finish_all(consumer, fired);
    tkl_jobs_free(fired);
    assert_ok(tkl_schedule_remove(queue, tkl_str("every")));
}

/* The server writes down what it refused, also where a script could go on without it. */
static void the_documented_permissions_are_enough_for_everything(void **state)
{
    fixture *f = *state;
    tkl_client *client = open_as_documented(f);
    tkl_queue *queue = open_queue(client, "q", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    server_do(f->server, "ACL LOG RESET");
    assert_ok(tkl_queue_limits_set(queue, &(tkl_queue_limits){.group_concurrency = 1}));
    push_all_kinds(queue);
    work(queue, consumer);
    look(queue);
    manage(client, queue);
    work(queue, consumer);
    look(queue);
    assert_ok(tkl_queue_drain(queue, NULL));
    wait_for_things(queue, consumer, f->server);
    tkl_consumer_close(consumer);
    assert_ok(tkl_queue_drop(queue));
    char *refused = server_ask(f->server, "ACL LOG");
    assert_string_equal(refused, "");
    free(refused);
    tkl_queue_close(queue);
    tkl_close(client);
    server_do(f->server, "ACL DELUSER clerk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_documented_permissions_are_enough_for_everything),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
