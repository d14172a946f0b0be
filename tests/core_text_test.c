/* SPDX-License-Identifier: MIT
 *
 * tkl_errmsg() is about the code that was returned: of a batch, about its first failure; and a "no"
 * has a text as well.
 */
#include <stdatomic.h>
#include <tackle/blist.h>
#include <tackle/bloom.h>
#include <tackle/config.h>
#include <tackle/counter.h>
#include <tackle/limit.h>
#include <tackle/lock.h>
#include <tackle/mail.h>
#include <tackle/queue.h>
#include <tackle/semaphore.h>
#include <tackle/session.h>

#include "support/fake.h"
#include "support/fixture.h"

/* ---- The first failure of a batch ---------------------------------------- */

/* Refuses the requests one by one, each for another reason. */
static void refuse_each(fake_conn *c, void *arg)
{
    static const char *const reasons[] = {"-WRONGTYPE first\r\n", "-OOM second\r\n",
                                          "-ERR third\r\n"};
    atomic_int *count = arg;
    while (fake_expect(c) != NULL) {
        int i = atomic_fetch_add(count, 1);
        fake_sendz(c, reasons[i < 2 ? i : 2]);
    }
}

static void push_two(tkl_client *client)
{
    tkl_queue *queue;
    const tkl_queue_options options = {.partitions = 2};
    const tkl_push jobs[] = {{.payload = {"a", 1}}, {.payload = {"b", 1}}};
    assert_ok(tkl_queue_open(client, tkl_str("q"), &options, &queue));
    assert_code(tkl_queue_push(queue, jobs, 2, NULL, NULL), TKL_ETYPE);
    tkl_queue_close(queue);
}

static void finish_two(tkl_client *client)
{
    tkl_queue *queue;
    tkl_consumer *consumer;
    assert_ok(tkl_queue_open(client, tkl_str("q"), NULL, &queue));
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    const tkl_job jobs[] = {
        {.id = "0000000000001", .token = "0123456789abcdef0123456789abcdef", .queue = queue},
        {.id = "0000000000002", .token = "0123456789abcdef0123456789abcdef", .queue = queue}};
    tkl_report reports[] = {{.job = &jobs[0], .outcome = TKL_OUTCOME_FAILED},
                            {.job = &jobs[1], .outcome = TKL_OUTCOME_FAILED}};
    assert_code(tkl_consumer_finish(consumer, reports, 2), TKL_ETYPE);
    assert_code(reports[1].code, TKL_EOOM);
    char first[200];
    snprintf(first, sizeof first, "%s", tkl_errmsg());
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    assert_contains(first, "first");
}

static void touch_two(tkl_client *client)
{
    tkl_session *sessions;
    char token[TKL_TOKEN_SIZE];
    memset(token, '0', sizeof token);
    token[sizeof token - 1] = '\0';
    const tkl_session_view views[] = {{.token = token}, {.token = token}};
    int codes[2];
    assert_ok(tkl_session_open(client, tkl_str("s"), NULL, &sessions));
    assert_code(tkl_session_touch(sessions, views, 2, codes), TKL_ETYPE);
    assert_code(codes[1], TKL_EOOM);
    assert_contains(tkl_errmsg(), "first");
    tkl_session_close(sessions);
}

static void count_two(tkl_client *client)
{
    tkl_counter *counter;
    assert_ok(tkl_counter_open(client, tkl_str("c"), NULL, &counter));
    const tkl_counter_item items[] = {{.counter = counter, .amount = 1},
                                      {.counter = counter, .amount = 1}};
    int codes[2];
    assert_code(tkl_counter_add_each(items, 2, codes), TKL_ETYPE);
    assert_contains(tkl_errmsg(), "first");
    tkl_counter_close(counter);
}

static void a_batch_tells_its_first_failure(void **state)
{
    (void)state;
    static void (*const batches[])(tkl_client *) = {push_two, touch_two, count_two, finish_two};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        atomic_int count = 0;
        fake *f = fake_start(refuse_each, &count);
        tkl_client *client = test_open(fake_url(f), NULL);
        batches[i](client);
        if (batches[i] != finish_two)
            assert_contains(tkl_errmsg(), "first");
        tkl_close(client);
        fake_end(f);
    }
}

/* ---- A "no" -------------------------------------------------------------- */

#define assert_no(call, expected)                  \
    do {                                           \
        assert_code(call, expected);               \
        assert_string_not_equal(tkl_errmsg(), ""); \
    } while (0)

static void an_empty_queue_has_a_text(void **state)
{
    fixture *f = *state;
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    tkl_job_result *result;
    tkl_listing *list;
    assert_ok(tkl_queue_open(f->client, tkl_str("q"), NULL, &queue));
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    assert_no(tkl_consumer_claim(consumer, 1, 0, &jobs), TKL_EMPTY);
    assert_no(tkl_consumer_claim(consumer, 1, 50, &jobs), TKL_EMPTY);
    assert_no(tkl_queue_result(queue, "0000000000001", 0, &result), TKL_NOTFOUND);
    assert_no(tkl_queue_result(queue, "0000000000001", 50, &result), TKL_NOTFOUND);
    assert_no(tkl_queue_show(queue, "0000000000001", 0, &list), TKL_NOTFOUND);
    assert_no(tkl_queue_cancel(queue, "0000000000001"), TKL_NOTFOUND);
    assert_no(tkl_queue_retry(queue, NULL, NULL), TKL_NOTFOUND);
    char id[TKL_JOB_ID_SIZE];
    const tkl_push job = {.payload = {"x", 1}, .result_ms = 60000};
    tkl_pushed pushed;
    assert_ok(tkl_queue_push(queue, &job, 1, NULL, &pushed));
    snprintf(id, sizeof id, "%s", pushed.id);
    assert_no(tkl_queue_result(queue, id, 0, &result), TKL_EMPTY);
    assert_no(tkl_queue_result(queue, id, 50, &result), TKL_EMPTY);
    assert_no(tkl_queue_finish(queue, id, "0123456789abcdef0123456789abcdef", TKL_OUTCOME_DONE,
                               tkl_str(""), 0),
              TKL_NOTOWNER);
    assert_no(tkl_queue_renew(queue, id, "0123456789abcdef0123456789abcdef", 1000, tkl_str("")),
              TKL_NOTOWNER);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void a_lock_that_is_taken_has_a_text(void **state)
{
    fixture *f = *state;
    tkl_lock *holder, *other;
    assert_ok(tkl_lock_open(f->client, tkl_str("door"), NULL, &holder));
    assert_ok(tkl_lock_open(f->client, tkl_str("door"), NULL, &other));
    assert_ok(tkl_lock_acquire(holder, 0));
    assert_no(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_no(tkl_lock_acquire(other, 50), TKL_BUSY);
    assert_no(tkl_lock_release(other), TKL_EINVAL);
    assert_ok(tkl_lock_release(holder));
    tkl_lock_close(other);
    tkl_lock_close(holder);
    tkl_semaphore *pool, *late;
    assert_ok(tkl_semaphore_open(f->client, tkl_str("pool"), 1, NULL, &pool));
    assert_ok(tkl_semaphore_open(f->client, tkl_str("pool"), 1, NULL, &late));
    assert_ok(tkl_semaphore_acquire(pool, 0));
    assert_no(tkl_semaphore_acquire(late, 0), TKL_BUSY);
    assert_no(tkl_semaphore_acquire(late, 50), TKL_BUSY);
    tkl_semaphore_close(late);
    tkl_semaphore_close(pool);
}

static void what_is_not_there_has_a_text(void **state)
{
    fixture *f = *state;
    tkl_mail *mail;
    tkl_messages *messages;
    assert_ok(tkl_mail_open(f->client, tkl_str("ann"), NULL, &mail));
    assert_no(tkl_mail_fetch(mail, 1, 0, &messages), TKL_EMPTY);
    assert_no(tkl_mail_fetch(mail, 1, 50, &messages), TKL_EMPTY);
    tkl_mail_close(mail);
    tkl_config *config;
    tkl_config_value *value;
    assert_ok(tkl_config_open(f->client, tkl_str("a"), tkl_str("b"), NULL, &config));
    assert_no(tkl_config_get(config, &value), TKL_NOTFOUND);
    assert_no(tkl_config_drop(config), TKL_NOTFOUND);
    tkl_config_close(config);
    tkl_counter *counter;
    assert_ok(tkl_counter_open(f->client, tkl_str("c"), NULL, &counter));
    assert_no(tkl_counter_drop(counter), TKL_NOTFOUND);
    tkl_counter_close(counter);
    tkl_blist *list;
    tkl_blist_items *items;
    assert_ok(tkl_blist_open(f->client, tkl_str("l"), NULL, &list));
    assert_no(tkl_blist_pop(&list, 1, 1, 0, &items), TKL_EMPTY);
    assert_no(tkl_blist_pop(&list, 1, 1, 50, &items), TKL_EMPTY);
    tkl_blist_close(list);
    tkl_limit *limit;
    tkl_limit_answer answer;
    const tkl_limit_rule rule = {.count = 1, .period_ms = 3600000};
    assert_ok(tkl_limit_open(f->client, tkl_str("api"), &rule, NULL, &limit));
    while (tkl_limit_check(limit, tkl_str("ann"), 1, &answer) == TKL_OK)
        continue;
    assert_no(tkl_limit_check(limit, tkl_str("ann"), 1, &answer), TKL_LIMITED);
    assert_no(tkl_limit_wait(limit, tkl_str("ann"), 1, 10, &answer), TKL_LIMITED);
    tkl_limit_close(limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_tells_its_first_failure),
        TEST(an_empty_queue_has_a_text),
        TEST(a_lock_that_is_taken_has_a_text),
        TEST(what_is_not_there_has_a_text),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
