/* SPDX-License-Identifier: MIT
 *
 * Kinds of jobs, and workers that have a handler for each.
 *
 * ctest: label threads
 */
#include <tackle/schedule.h>

#include "support/fixture.h"
#include "support/scene.h"

static const char long_kind[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* Counts its jobs, and those of them that are not of the expected kind. */
typedef struct counter {
    const char *expected; /* NULL: any kind */
    atomic_int count, strange;
} counter;

static int count_job(tkl_task *task, void *arg)
{
    counter *c = arg;
    tkl_bytes kind = tkl_task_job(task)->kind;
    if (c->expected && (kind.len != strlen(c->expected) ||
                        (kind.len > 0 && memcmp(kind.data, c->expected, kind.len) != 0)))
        atomic_fetch_add(&c->strange, 1);
    atomic_fetch_add(&c->count, 1);
    return TKL_OK;
}

static tkl_kind_handler counting(const char *kind, counter *c)
{
    return (tkl_kind_handler){.kind = tkl_str(kind), .handler = count_job, .arg = c};
}

static void push_kind(tkl_queue *queue, const char *kind)
{
    push_one(queue, &(tkl_push){.payload = tkl_str("x"), .kind = tkl_str(kind), .retries = -1});
}

/* Works until the queue is empty. */
static tkl_worker_stats drain_with(tkl_queue *queue, const tkl_kind_handler *kinds, size_t count,
                                   tkl_handler *handler, void *arg)
{
    tkl_worker *worker;
    tkl_worker_options options = {.drain = true, .threads = 2, .kinds = kinds, .kind_count = count};
    assert_ok(tkl_worker_start(&queue, 1, handler, arg, &options, &worker));
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    tkl_worker_stats stats = worker_stats(worker);
    tkl_worker_close(worker);
    return stats;
}

static void each_kind_has_its_handler(void **state)
{
    fixture *f = *state;
    counter mail = {.expected = "sendEmail"}, resize = {.expected = "re-size.2_x"};
    counter longest = {.expected = long_kind}, none = {.expected = ""}, other = {0};
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    for (int i = 0; i < 5; i++) {
        push_kind(queue, "sendEmail");
        push_kind(queue, "re-size.2_x");
        push_kind(queue, long_kind);
        push_kind(queue, "");
        push_kind(queue, "send");
        push_kind(queue, "sendEmails");
    }
    const tkl_kind_handler kinds[] = {counting("sendEmail", &mail),
                                      counting("re-size.2_x", &resize),
                                      counting(long_kind, &longest), counting("", &none)};
    tkl_worker_stats stats = drain_with(queue, kinds, 4, count_job, &other);
    assert_int_equal(stats.done, 30);
    assert_int_equal(atomic_load(&mail.count), 5);
    assert_int_equal(atomic_load(&resize.count), 5);
    assert_int_equal(atomic_load(&longest.count), 5);
    assert_int_equal(atomic_load(&none.count), 5);
    assert_int_equal(atomic_load(&other.count), 10);
    assert_int_equal(atomic_load(&mail.strange) + atomic_load(&resize.strange) +
                         atomic_load(&longest.strange) + atomic_load(&none.strange),
                     0);
    tkl_queue_close(queue);
}

static void a_worker_without_a_table_takes_all_kinds(void **state)
{
    fixture *f = *state;
    counter all = {0};
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    push_kind(queue, "any");
    push_kind(queue, "");
    assert_int_equal(drain_with(queue, NULL, 0, count_job, &all).done, 2);
    tkl_queue_close(queue);
}

static void an_unknown_kind_fails_and_says_so(void **state)
{
    fixture *f = *state;
    counter mail = {0};
    tkl_listing *dead;
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    push_kind(queue, "unheard-of");
    push_kind(queue, "");
    push_kind(queue, "mail");
    const tkl_kind_handler kinds[] = {counting("mail", &mail)};
    tkl_worker_stats stats = drain_with(queue, kinds, 1, NULL, NULL);
    assert_int_equal(stats.done, 1);
    assert_int_equal(stats.dead, 2);
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_DEAD, 0, 10, 0, &dead));
    assert_int_equal(dead->count, 2);
    for (size_t i = 0; i < 2; i++) {
        bool named = dead->items[i].kind.len > 0;
        const char *why =
            named ? "no handler for the kind 'unheard-of'" : "no handler for jobs without a kind";
        assert_int_equal(dead->items[i].error.len, strlen(why));
        assert_memory_equal(dead->items[i].error.data, why, strlen(why));
    }
    tkl_listing_free(dead);
    assert_ok(tkl_queue_drop_dead(queue, NULL, NULL));
    tkl_queue_close(queue);
}

/* Another worker may know the kind: the job is retried. */
static void a_worker_that_knows_the_kind_gets_it_at_the_next_attempt(void **state)
{
    fixture *f = *state;
    counter mail = {0}, late = {0};
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    push_one(queue, &(tkl_push){.kind = tkl_str("late"), .backoff_ms = 1});
    const tkl_kind_handler old[] = {counting("mail", &mail)}, new[] = {counting("late", &late)};
    tkl_worker_options options = {.max_jobs = 1, .kinds = old, .kind_count = 1};
    tkl_worker *worker;
    assert_ok(tkl_worker_start(&queue, 1, NULL, NULL, &options, &worker));
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(worker_stats(worker).failed, 1);
    tkl_worker_close(worker);
    options.kinds = new;
    assert_ok(tkl_worker_start(&queue, 1, NULL, NULL, &options, &worker));
    assert_ok(tkl_worker_wait(worker, LONG_MS));
    assert_int_equal(worker_stats(worker).done, 1);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

/* The table is copied: the caller's memory may change. */
static void the_table_is_copied(void **state)
{
    fixture *f = *state;
    counter mail = {.expected = "mail"};
    char word[] = "mail";
    tkl_kind_handler kinds[] = {{.kind = {word, 4}, .handler = count_job, .arg = &mail}};
    tkl_worker *worker;
    tkl_worker_options options = {.kinds = kinds, .kind_count = 1};
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    assert_ok(tkl_worker_start(&queue, 1, NULL, NULL, &options, &worker));
    memset(word, 'x', 4);
    memset(kinds, 0, sizeof kinds);
    push_kind(queue, "mail");
    eventually(worker_stats(worker).done == 1, LONG_MS);
    tkl_worker_close(worker);
    tkl_queue_close(queue);
}

static void wrong_tables_are_refused(void **state)
{
    fixture *f = *state;
    counter c = {0};
    tkl_worker *worker;
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    const struct {
        tkl_kind_handler kinds[2];
        size_t count;
        const char *why;
    } table[] = {
        {{{.kind = tkl_str("a b"), .handler = count_job}}, 1, "letters, digits"},
        {{{.kind = tkl_str("a=b"), .handler = count_job}}, 1, "letters, digits"},
        {{{.kind = {"a\0b", 3}, .handler = count_job}}, 1, "letters, digits"},
        {{{.kind = {long_kind, sizeof long_kind}, .handler = count_job}}, 1, "1 to 64 bytes"},
        {{{.kind = tkl_str("a")}}, 1, "'a' has no handler"},
        {{counting("a", &c), counting("a", &c)}, 2, "two handlers"},
        {{counting("", &c), counting("", &c)}, 2, "two handlers"},
        {{{.kind = tkl_str("a"), .handler = count_job, .reserved = {1}}}, 1, "reserved"},
        {{counting("a", &c)}, TKL_KINDS_MAX + 1, "kind_count"},
        {{counting("a", &c)}, 0, "needs a handler"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tkl_worker_options options = {.kinds = table[i].kinds, .kind_count = table[i].count};
        assert_int_equal(tkl_worker_start(&queue, 1, NULL, NULL, &options, &worker), TKL_EINVAL);
        assert_null(worker);
        if (!strstr(tkl_errmsg(), table[i].why))
            fail_msg("case %zu: %s", i, tkl_errmsg());
    }
    tkl_queue_close(queue);
}

static void wrong_kinds_are_not_pushed(void **state)
{
    fixture *f = *state;
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    const tkl_bytes wrong[] = {tkl_str("a b"), tkl_str("a\n"), tkl_str("a/b"),
                               tkl_str("ü"),   {"a\0", 2},     {long_kind, sizeof long_kind}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tkl_queue_push(queue, &(tkl_push){.kind = wrong[i]}, 1, NULL, NULL),
                         TKL_EINVAL);
    tkl_queue_close(queue);
}

static void a_kind_is_seen_wherever_a_job_is(void **state)
{
    fixture *f = *state;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    tkl_listing *listing;
    tkl_schedules *schedules;
    tkl_queue *queue = open_queue(f->client, "kinds", 1);
    tkl_pushed pushed;
    tkl_push job = {.payload = tkl_str("p"),
                    .meta = tkl_str("m"),
                    .group = tkl_str("g"),
                    .unique = tkl_str("u"),
                    .kind = tkl_str("resize")};
    assert_ok(tkl_queue_push(queue, &job, 1, NULL, &pushed));
    assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_READY, 0, 1, 0, &listing));
    assert_memory_equal(listing->items[0].kind.data, "resize", 6);
    assert_memory_equal(listing->items[0].payload.data, "p", 1);
    tkl_listing_free(listing);
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    assert_ok(tkl_consumer_claim(consumer, 1, 0, &jobs));
    assert_int_equal(jobs->items[0].kind.len, 6);
    assert_memory_equal(jobs->items[0].kind.data, "resize", 6);
    assert_memory_equal(jobs->items[0].meta.data, "m", 1);
    assert_memory_equal(jobs->items[0].group.data, "g", 1);
    assert_int_equal(jobs->items[0].payload.len, 1);
    assert_ok(tkl_consumer_finish(consumer, &(tkl_report){.job = &jobs->items[0]}, 1));
    tkl_jobs_free(jobs);
    tkl_consumer_close(consumer);

    tkl_schedule nightly = {.cron = "0 2 * * *", .job = {.kind = tkl_str("tidy")}};
    assert_ok(tkl_schedule_set(queue, tkl_str("nightly"), &nightly));
    assert_ok(tkl_schedule_list(queue, &schedules));
    assert_int_equal(schedules->items[0].kind.len, 4);
    assert_memory_equal(schedules->items[0].kind.data, "tidy", 4);
    tkl_schedules_free(schedules);
    nightly.job.kind = tkl_str("not a word");
    assert_int_equal(tkl_schedule_set(queue, tkl_str("nightly"), &nightly), TKL_EINVAL);
    assert_ok(tkl_queue_drop(queue));
    tkl_queue_close(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_kind_has_its_handler),
        TEST(a_worker_without_a_table_takes_all_kinds),
        TEST(an_unknown_kind_fails_and_says_so),
        TEST(a_worker_that_knows_the_kind_gets_it_at_the_next_attempt),
        TEST(the_table_is_copied),
        TEST(wrong_tables_are_refused),
        TEST(wrong_kinds_are_not_pushed),
        TEST(a_kind_is_seen_wherever_a_job_is),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
