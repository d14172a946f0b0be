/* SPDX-License-Identifier: MIT
 *
 * Results: kept for a time, waited for, and reported for every end of a job.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/work.h"

/* Longer than the time after which a waiter looks by itself, or ctest gives up. */
#define FOREVER_MS 600000

static job_id push_for_result(int64_t result_ms)
{
    return push_one(queue, &(tkl_push){.payload = tkl_str("x"), .result_ms = result_ms});
}

static void a_result_is_kept_for_its_time(void **state)
{
    fixture *f = *state;
    job_id id = push_for_result(60000);
    assert_result(id.text, 0, TKL_EMPTY, NULL);
    claimed job = claim_one(consumer);
    assert_ok(
        tkl_queue_finish(queue, job.id, job.token, TKL_OUTCOME_DONE, (tkl_bytes){"4\0 2", 4}, 0));
    tkl_job_result *result;
    assert_ok(tkl_queue_result(queue, id.text, 0, &result));
    assert_int_equal(result->text.len, 4);
    assert_memory_equal(result->text.data, "4\0 2", 4);
    tkl_job_result_free(result);
    assert_int_equal(state_of(queue, id.text), TKL_JOB_STATE_DONE);
    char *key = test_format("tackle:queue:{work}:result:%s", id.text);
    assert_in_range(call_int(f->client, "PTTL", key, NULL), 1, 60000);
    assert_int_equal(call_int(f->client, "DEL", key, NULL), 1);
    free(key);
    assert_result(id.text, 0, TKL_NOTFOUND, NULL);
}

static void only_wanted_results_are_kept(void **state)
{
    fixture *f = *state;
    job_id id = push_text(queue, "x");
    assert_result(id.text, 0, TKL_NOTFOUND, NULL);
    assert_claims(consumer, queue, "x");
    assert_result(id.text, 1000, TKL_NOTFOUND, NULL);
    assert_no_garbage(f->server);
}

static void the_end_in_the_dead_letters_is_told(void **state)
{
    (void)state;
    job_id id = push_for_result(60000);
    claimed job = claim_one(consumer);
    fail_for(queue, &job, 1);
    assert_result(id.text, 0, TKL_EMPTY, NULL);
    eventually(claim_some(consumer, 1, &job) == 1, 10000);
    assert_code(finish_code(queue, &job, TKL_OUTCOME_DEAD, "no paper"), TKL_OK);
    assert_result(id.text, 0, TKL_DEAD, "no paper");
}

typedef struct asker {
    tkl_queue *queue; /* NULL: the one of all tests */
    atomic_bool told;
    char id[TKL_JOB_ID_SIZE];
    int code;
    char text[64];
    size_t len;
} asker;

static void wait_for_result(void *arg, int index)
{
    asker *a = (asker *)arg + index;
    tkl_job_result *result;
    a->code = tkl_queue_result(a->queue ? a->queue : queue, a->id, FOREVER_MS, &result);
    atomic_store(&a->told, true);
    a->len = result ? result->text.len : 0;
    snprintf(a->text, sizeof a->text, "%s", result ? result->text.data : "");
    tkl_job_result_free(result);
}

static int listeners(fixture *f, const char *id)
{
    char *channel = test_format("tackle:queue:{work}:result:%s", id);
    int64_t count =
        server_ask_int(f->server, "EVAL %s 0 %s",
                       "return redis.call('PUBSUB', 'SHARDNUMSUB', ARGV[1])[2]", channel);
    free(channel);
    return (int)count;
}

/* Channels with listeners, now or not long ago. */
static int64_t result_channels(fixture *f)
{
    return server_ask_int(f->server, "EVAL %s 0",
                          "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*:result:*')");
}

/* Waiters hear of each way in which a job can end. */
static void those_who_wait_for_a_result_are_told(void **state)
{
    fixture *f = *state;
    enum { DONE, LARGE, DEAD, CANCELLED, DESTROYED, CASES };
    static const int codes[CASES] = {TKL_OK, TKL_OK, TKL_DEAD, TKL_NOTFOUND, TKL_NOTFOUND};
    static char large[200000];
    memset(large, 'x', sizeof large);
    for (int i = 0; i < CASES; i++) {
        job_id id = push_for_result(60000);
        asker a[2] = {0};
        for (int k = 0; k < 2; k++)
            memcpy(a[k].id, id.text, sizeof a[k].id);
        crew *threads = crew_start(2, wait_for_result, a);
        eventually(listeners(f, id.text) == 1, 20000); /* this client listens */
        claimed job = claim_one(consumer);
        if (i == DONE)
            assert_ok(finish_code(queue, &job, TKL_OUTCOME_DONE, "42"));
        else if (i == LARGE)
            assert_ok(tkl_queue_finish(queue, job.id, job.token, TKL_OUTCOME_DONE,
                                       (tkl_bytes){large, sizeof large}, 0));
        else if (i == DEAD)
            assert_ok(finish_code(queue, &job, TKL_OUTCOME_DEAD, "no paper"));
        else if (i == CANCELLED)
            assert_ok(tkl_queue_cancel(queue, job.id));
        else
            assert_ok(tkl_queue_drop(queue));
        crew_join(threads);
        for (int k = 0; k < 2; k++) {
            assert_code(a[k].code, codes[i]);
            assert_int_equal(a[k].len, i == DONE    ? 2
                                       : i == LARGE ? sizeof large
                                       : i == DEAD  ? 8
                                                    : 0);
        }
    }
}

/* Waiters of another queue hear nothing, whatever the name of the queue. */
static void those_who_wait_for_a_result_are_told_of_its_removal(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"plain", "[a-z]*?\\", "parts"};
    job_id other = push_for_result(60000);
    for (int i = 0; i < 6; i++) {
        tkl_queue *gone = open_queue(f->client, names[i % 3], i % 3 == 2 ? 3 : 1);
        tkl_push job = {.payload = tkl_str("x"), .result_ms = 60000, .delay_ms = i < 3 ? 60000 : 0};
        asker a[2] = {{.queue = gone}, {.queue = queue}};
        int64_t heard = result_channels(f);
        push_job(gone, &job, a[0].id);
        memcpy(a[1].id, other.text, sizeof a[1].id);
        crew *threads = crew_start(2, wait_for_result, a);
        eventually(result_channels(f) == heard + 2, 20000);
        assert_ok(i < 3 ? tkl_queue_drain(gone, NULL) : tkl_queue_drop(gone));
        eventually(atomic_load(&a[0].told), 20000);
        assert_false(atomic_load(&a[1].told));
        claimed last = claim_one(consumer);
        assert_ok(finish_code(queue, &last, TKL_OUTCOME_DONE, "42"));
        crew_join(threads);
        assert_code(a[0].code, TKL_NOTFOUND);
        assert_code(a[1].code, TKL_OK);
        other = push_for_result(60000);
        tkl_queue_close(gone);
    }
}

static void waiting_for_a_result_sends_nothing(void **state)
{
    fixture *f = *state;
    job_id id = push_for_result(60000);
    asker a = {0};
    memcpy(a.id, id.text, sizeof a.id);
    crew *threads = crew_start(1, wait_for_result, &a);
    eventually(listeners(f, id.text) == 1, 20000);
    int64_t calls, last = -1;
    do { /* until what it asks at the beginning has been asked */
        last = server_commands(f->server);
        test_sleep_ms(300);
        calls = server_commands(f->server);
    } while (calls != last);
    assert_claims(consumer, queue, "x");
    crew_join(threads);
    assert_ok(a.code);
}

static void those_who_wait_for_a_result_survive_a_cut(void **state)
{
    fixture *f = *state;
    job_id id = push_for_result(60000);
    asker a = {0};
    memcpy(a.id, id.text, sizeof a.id);
    crew *threads = crew_start(1, wait_for_result, &a);
    for (int i = 0; i < 3; i++) {
        eventually(listeners(f, id.text) == 1, 20000);
        server_do(f->server, "CLIENT KILL TYPE pubsub");
    }
    claimed job = claim_one(consumer); /* perhaps before it listens again */
    assert_ok(finish_code(queue, &job, TKL_OUTCOME_DONE, "42"));
    crew_join(threads);
    assert_ok(a.code);
    assert_string_equal(a.text, "42");
}

static void a_result_that_does_not_come_in_time_is_told(void **state)
{
    (void)state;
    job_id id = push_for_result(60000);
    assert_result(id.text, 30, TKL_EMPTY, NULL);
}

static void the_end_of_a_lost_worker_is_told(void **state)
{
    fixture *f = *state;
    job_id id = push_one(queue, &(tkl_push){.payload = tkl_str("x"),
                                            .result_ms = 60000,
                                            .retries = -1,
                                            .unique = tkl_str("u"),
                                            .group = tkl_str("g")});
    asker a = {0};
    memcpy(a.id, id.text, sizeof a.id);
    crew *threads = crew_start(1, wait_for_result, &a);
    eventually(listeners(f, id.text) == 1, 20000);
    claimed job = claim_one(consumer);
    end_lease(f, &job);
    assert_nothing_ready(consumer);
    crew_join(threads);
    assert_code(a.code, TKL_DEAD);
    assert_int_equal(state_of(queue, id.text), TKL_JOB_STATE_DEAD);
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    assert_no_garbage(f->server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(a_result_is_kept_for_its_time),
        WORK_TEST(only_wanted_results_are_kept),
        WORK_TEST(the_end_in_the_dead_letters_is_told),
        WORK_TEST(those_who_wait_for_a_result_are_told),
        WORK_TEST(those_who_wait_for_a_result_are_told_of_its_removal),
        WORK_TEST(waiting_for_a_result_sends_nothing),
        WORK_TEST(those_who_wait_for_a_result_survive_a_cut),
        WORK_TEST(a_result_that_does_not_come_in_time_is_told),
        WORK_TEST(the_end_of_a_lost_worker_is_told),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
