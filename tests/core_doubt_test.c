/* SPDX-License-Identifier: MIT
 *
 * A request is executed, its reply is lost, and its repetition meets something else: as long as none
 * is answered, the outcome is unknown, whatever the repetition met.
 */
#include <stdatomic.h>
#include <tackle/config.h>
#include <tackle/lock.h>
#include <tackle/queue.h>

#include "core/clock.h"
#include "core/script.h"
#include "support/batch.h"
#include "support/call.h"
#include "support/fake.h"
#include "support/library.h"

/* A server that executes the first requests and hangs up without an answer to them. */
typedef struct deserter {
    const char *answer; /* to all later requests; NULL: it hangs up before they are sent */
    const char *first;  /* the answer to FCALL, if another */
    int answered;       /* requests that get "+done" before it hangs up */
    atomic_int lost;    /* requests that it executed without an answer */
    atomic_bool gone;   /* it has hung up */
} deserter;

static void desert(fake_conn *c, void *arg)
{
    deserter *d = arg;
    if (atomic_load(&d->gone) && !d->answer)
        return;
    for (const char *command; (command = fake_expect(c)) != NULL;) {
        if (atomic_load(&d->gone)) {
            bool is_call = strncmp(command, "FCALL", 5) == 0;
            fake_sendz(c, d->first && is_call ? d->first : d->answer);
        } else if (d->answered-- > 0) {
            fake_sendz(c, "+done\r\n");
        } else {
            atomic_fetch_add(&d->lost, 1);
            atomic_store(&d->gone, true);
            return;
        }
    }
}

static const char *const refusals[] = {
    "-LOADING Redis is loading the dataset in memory\r\n",
    "-BUSY Redis is busy running a script\r\n",
    "-CLUSTERDOWN The cluster is down\r\n",
    "-MASTERDOWN Link with MASTER is down\r\n",
    "-NOREPLICAS Not enough good replicas to write.\r\n",
    "-READONLY You can't write against a read only replica.\r\n",
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "-NOPERM this user has no permissions\r\n",
    "-NOAUTH Authentication required.\r\n",
    "-MISCONF Redis is configured to save RDB snapshots\r\n",
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
    "-MOVED 1 127.0.0.1:1\r\n",
    "-ERR no\r\n",
    NULL, /* no connection */
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

static const tkl_options brief = {.timeout_ms = 300};

static void assert_doubted(int code, const char *refusal)
{
    if (code == TKL_ETIMEOUT) /* the last repetition had no answer either */
        return;
    assert_code(code, TKL_EUNKNOWN);
    assert_contains(tkl_errmsg(), "an earlier attempt may have been executed");
    if (refusal == NULL)
        return;
    char *word = strndup(refusal + 1, strcspn(refusal, " ") - 1);
    assert_contains(tkl_errmsg(), word);
    free(word);
}

/* ---- One request --------------------------------------------------------- */

static void a_repetition_that_is_refused_leaves_the_outcome_unknown(void **state)
{
    (void)state;
    for (int i = 0; i < REFUSALS; i++) {
        deserter d = {.answer = refusals[i]};
        fake *f = fake_start(desert, &d);
        tkl_client *client = test_open(fake_url(f), &brief);
        const tkl_call_options safe = {.retry_safe = true};
        assert_doubted(call_code(client, &safe, "SET", "k", "v", NULL), refusals[i]);
        assert_int_equal(d.lost, 1);
        tkl_close(client);
        fake_end(f);
    }
}

static void a_repetition_that_is_answered_is_the_outcome(void **state)
{
    (void)state;
    static const char *const answered[] = {"+OK\r\n", "$-1\r\n", ":0\r\n"};
    for (size_t i = 0; i < sizeof answered / sizeof *answered; i++) {
        deserter d = {.answer = answered[i]};
        fake *f = fake_start(desert, &d);
        tkl_client *client = test_open(fake_url(f), NULL);
        const tkl_call_options safe = {.retry_safe = true};
        assert_ok(call_code(client, &safe, "SET", "k", "v", NULL));
        tkl_close(client);
        fake_end(f);
    }
}

/* The request was never executed, so the refusal is the outcome. */
static void a_request_that_is_refused_from_the_start_is_clear(void **state)
{
    (void)state;
    deserter d = {.answer = refusals[0], .gone = true};
    fake *f = fake_start(desert, &d);
    tkl_client *client = test_open(fake_url(f), &brief);
    assert_code(call_code(client, NULL, "SET", "k", "v", NULL), TKL_EUNREADY);
    assert_lacks(tkl_errmsg(), "earlier attempt");
    tkl_close(client);
    fake_end(f);
}

/* ---- Pipelines ----------------------------------------------------------- */

/* The first of three requests is answered, the second executed, and the third perhaps. */
static void in_a_pipeline_each_request_has_its_own_outcome(void **state)
{
    (void)state;
    for (int i = 0; i < REFUSALS; i++) {
        deserter d = {.answer = refusals[i], .answered = 1};
        fake *f = fake_start(desert, &d);
        tkl_client *client = test_open(fake_url(f), &brief);
        tkl_pipeline *pipeline;
        tkl_reply *replies = NULL;
        assert_ok(tkl_pipeline_open(client, NULL, &pipeline));
        for (int k = 0; k < 3; k++)
            assert_ok(tkl_pipeline_addz(pipeline, "SET", "k", "v", NULL));
        int rc = tkl_pipeline_run(pipeline, &(tkl_call_options){.retry_safe = true}, &replies);
        assert_true(rc == TKL_OK || tkl_is_unknown(rc));
        assert_code(tkl_reply_code(tkl_reply_at(replies, 0)), TKL_OK);
        for (size_t k = 1; k < 3; k++) {
            const tkl_reply *reply = tkl_reply_at(replies, k);
            assert_true(tkl_is_unknown(tkl_reply_code(reply)));
        }
        tkl_reply_free(replies);
        tkl_pipeline_close(pipeline);
        tkl_close(client);
        fake_end(f);
    }
}

/* ---- Scripts ------------------------------------------------------------- */

static const char source[] = LIBRARY_HEAD("tackle_test")
    LIBRARY_FUNCTION("test_add", "", "return redis.call('INCR', KEYS[1])");
static const tkl__origin origins[] = {{1, "test/add.lua", 1}, {0}};
static const tkl__library library = {"tackle_test", source, sizeof source - 1, origins};
static const tkl__script script = {
    .name = "test/add", .function = "test_add", .library = &library, .nkeys = 1};
static const tkl_bytes key = {"k", 1};
static const tkl__invocation add = {
    .script = &script, .keys = &key, .nkeys = 1, .retry_safe = true};

/* The server has lost the function meanwhile, and refuses to load its library. */
static void a_lost_function_leaves_the_outcome_unknown(void **state)
{
    (void)state;
    for (int i = 0; i + 1 < REFUSALS; i++) {
        deserter d = {.answer = refusals[i], .first = "-ERR Function not found\r\n"};
        fake *f = fake_start(desert, &d);
        tkl_client *client = test_open(fake_url(f), &brief);
        tkl_reply *reply;
        assert_doubted(tkl__run(client, &add, tkl__deadline_ms(300), &reply), refusals[i]);
        assert_null(reply);
        tkl_close(client);
        fake_end(f);
    }
}

static void lost_functions_of_one_trip_leave_their_outcomes_unknown(void **state)
{
    (void)state;
    for (int i = 0; i + 1 < REFUSALS; i++) {
        deserter d = {.answer = refusals[i], .first = "-ERR Function not found\r\n"};
        fake *f = fake_start(desert, &d);
        tkl_client *client = test_open(fake_url(f), &brief);
        const tkl__invocation calls[] = {add, add};
        tkl_reply *replies;
        int rc = batch_calls(client, calls, 2, tkl__deadline_ms(300), &replies);
        assert_true(tkl_is_unknown(rc));
        assert_true(tkl_is_unknown(tkl_reply_code(tkl_reply_at(replies, 0))));
        tkl_reply_free(replies);
        tkl_close(client);
        fake_end(f);
    }
}

static void an_errand_whose_answer_is_lost_leaves_the_outcome_unknown(void **state)
{
    (void)state;
    for (int i = 0; i < REFUSALS; i++) {
        deserter d = {.answer = refusals[i]};
        fake *f = fake_start(desert, &d);
        tkl_client *client = test_open(fake_url(f), &brief);
        assert_doubted(tkl__run_nowait(client, &add, tkl__deadline_ms(300)), refusals[i]);
        tkl_close(client);
        fake_end(f);
    }
}

/* ---- Components ---------------------------------------------------------- */

static void set_config(tkl_client *client, int *code)
{
    tkl_config *config;
    assert_ok(tkl_config_open(client, tkl_str("limits"), tkl_str("search"), NULL, &config));
    *code = tkl_config_set(config, tkl_str("50"), NULL, NULL);
    tkl_config_close(config);
}

static void acquire_lock(tkl_client *client, int *code)
{
    tkl_lock *lock;
    assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &lock));
    *code = tkl_lock_acquire(lock, 0);
    tkl_lock_close(lock);
}

static void wait_for_lock(tkl_client *client, int *code)
{
    tkl_lock *lock;
    assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &lock));
    *code = tkl_lock_acquire(lock, 100);
    tkl_lock_close(lock);
}

static void push_job(tkl_client *client, int *code)
{
    tkl_queue *queue;
    const tkl_push job = {.payload = {"x", 1}};
    assert_ok(tkl_queue_open(client, tkl_str("q"), NULL, &queue));
    *code = tkl_queue_push(queue, &job, 1, NULL, NULL);
    tkl_queue_close(queue);
}

static void claim_job(tkl_client *client, int *code)
{
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_jobs *jobs = NULL;
    assert_ok(tkl_queue_open(client, tkl_str("q"), NULL, &queue));
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    *code = tkl_consumer_claim(consumer, 1, 0, &jobs);
    tkl_jobs_free(jobs);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void (*const calls[])(tkl_client *, int *) = {set_config, acquire_lock, wait_for_lock,
                                                     push_job, claim_job};
enum { CALLS = sizeof calls / sizeof *calls };

/* One of the calls, and every way in which it may go on. */
static void call_and_doubt(void *wrong, int index)
{
    for (int i = 0; i < REFUSALS; i++) {
        deserter d = {.answer = refusals[i]};
        fake *f = fake_start(desert, &d);
        tkl_client *client = test_open(fake_url(f), &brief);
        int code;
        calls[index](client, &code);
        if (d.lost > 0 && !tkl_is_unknown(code)) {
            print_error("call %d, then %s: %s (%s)\n", index, refusals[i] ? refusals[i] : "nothing",
                        tkl_codename(code), tkl_errmsg());
            atomic_fetch_add((atomic_int *)wrong, 1);
        }
        tkl_close(client);
        fake_end(f);
    }
}

static void components_report_an_outcome_that_is_unknown_as_such(void **state)
{
    (void)state;
    atomic_int wrong = 0;
    crew_run(CALLS, call_and_doubt, &wrong);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repetition_that_is_refused_leaves_the_outcome_unknown),
        cmocka_unit_test(a_repetition_that_is_answered_is_the_outcome),
        cmocka_unit_test(a_request_that_is_refused_from_the_start_is_clear),
        cmocka_unit_test(in_a_pipeline_each_request_has_its_own_outcome),
        cmocka_unit_test(a_lost_function_leaves_the_outcome_unknown),
        cmocka_unit_test(lost_functions_of_one_trip_leave_their_outcomes_unknown),
        cmocka_unit_test(an_errand_whose_answer_is_lost_leaves_the_outcome_unknown),
        cmocka_unit_test(components_report_an_outcome_that_is_unknown_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
