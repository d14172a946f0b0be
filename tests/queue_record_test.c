/* SPDX-License-Identifier: MIT
 *
 * The stored record of a job, and its id.
 */
#include "queue/partition.h"
#include "queue/record.h"
#include "support/test.h"

static void assert_bytes(tkl_bytes got, const char *expected, size_t len)
{
    assert_int_equal(got.len, len);
    assert_memory_equal(got.data ? got.data : "", expected, len);
}

static void encode(tkl__buf *out, const tkl_push *job)
{
    tkl__buf_init(out);
    tkl__queue_record_encode(out, job, false);
    assert_false(out->failed);
}

static void a_job_without_options_is_an_empty_line_and_its_payload(void **state)
{
    (void)state;
    tkl__buf out;
    encode(&out, &(tkl_push){.payload = tkl_str("hello")});
    assert_bytes((tkl_bytes){out.data, out.len}, "\nhello", 6);
    tkl__buf_free(&out);
}

static void only_what_differs_from_the_defaults_is_written(void **state)
{
    (void)state;
    tkl__buf out;
    encode(&out, &(tkl_push){.priority = -5,
                             .retries = 10,
                             .backoff_ms = 1000,
                             .time_limit_ms = 250,
                             .payload = tkl_str("p")});
    assert_bytes((tkl_bytes){out.data, out.len}, "priority=-5 time_limit=250\np", 28);
    tkl__buf_free(&out);
}

static void a_record_reads_back_as_it_was_written(void **state)
{
    (void)state;
    tkl__buf out;
    tkl__queue_record r;
    tkl_push job = {.payload = {"a\0\nb", 4},
                    .meta = {"\n\0", 2},
                    .priority = 1000,
                    .unique = tkl_str("key"),
                    .unique_mode = TKL_UNIQUE_FOR_A_TIME,
                    .unique_ms = 77,
                    .retries = -1,
                    .backoff_ms = 1,
                    .backoff_max_ms = INT64_C(315360000000),
                    .time_limit_ms = 9,
                    .group = {"g\0", 2},
                    .kind = tkl_str("k"),
                    .result_ms = 8};
    encode(&out, &job);
    assert_true(tkl__queue_record_decode((tkl_bytes){out.data, out.len}, &r));
    assert_int_equal(r.priority, 1000);
    assert_int_equal(r.retries, 0);
    assert_int_equal(r.backoff_ms, 1);
    assert_int_equal(r.backoff_max_ms, INT64_C(315360000000));
    assert_int_equal(r.time_limit_ms, 9);
    assert_int_equal(r.result_ms, 8);
    assert_int_equal(r.unique_ms, 77);
    assert_bytes(r.unique, "key", 3);
    assert_bytes(r.group, "g\0", 2);
    assert_bytes(r.meta, "\n\0", 2);
    assert_bytes(r.kind, "k", 1);
    assert_bytes(r.payload, "a\0\nb", 4);
    tkl__buf_free(&out);
}

static void the_defaults_are_filled_in(void **state)
{
    (void)state;
    tkl__queue_record r;
    assert_true(tkl__queue_record_decode(tkl_str("\n"), &r));
    assert_int_equal(r.retries, TKL__QUEUE_RETRIES);
    assert_int_equal(r.backoff_ms, TKL__QUEUE_BACKOFF_MS);
    assert_int_equal(r.backoff_max_ms, TKL__QUEUE_BACKOFF_MAX_MS);
    assert_int_equal(r.priority, 0);
    assert_int_equal(r.payload.len, 0);
}

static void what_is_no_record_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "a",
                                        "priority\n",
                                        "priority=\n",
                                        "priority=5",
                                        " priority=5\n",
                                        "priority=5  retries=1\n",
                                        "priority=5x\n",
                                        "unique=4\nabc",
                                        "meta=-1\nabc",
                                        "meta=65537\nabc",
                                        "priority=9999999999999999999\n",
                                        "priority=1001\n",
                                        "retries=-1\n",
                                        "colour=1\n",
                                        "\xff=1\n",
                                        "priority=--5\n"};
    tkl__queue_record r;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (tkl__queue_record_decode(tkl_str(wrong[i]), &r))
            fail_msg("taken for a record: %s", wrong[i]);
}

static bool is_rich(const tkl_push *job, bool flow)
{
    tkl__buf out;
    tkl__queue_record record;
    tkl__buf_init(&out);
    tkl__queue_record_encode(&out, job, flow);
    assert_true(tkl__queue_record_decode((tkl_bytes){out.data, out.len}, &record));
    bool rich = tkl__queue_record_is_rich(&record);
    tkl__buf_free(&out);
    return rich;
}

static void a_record_tells_whether_there_is_more_to_the_end_of_a_job(void **state)
{
    (void)state;
    assert_false(is_rich(&(tkl_push){.priority = 1, .time_limit_ms = 5}, false));
    assert_true(is_rich(&(tkl_push){.group = tkl_str("g")}, false));
    assert_true(is_rich(&(tkl_push){.unique = tkl_str("g")}, false));
    assert_true(is_rich(&(tkl_push){.result_ms = 1}, false));
    assert_true(is_rich(&(tkl_push){0}, true));
}

static void a_history_is_read_and_garbage_is_none(void **state)
{
    (void)state;
    tkl__queue_history past = tkl__queue_history_read(tkl_str("3 1700000000000 1 no  paper"));
    assert_int_equal(past.failures, 3);
    assert_bytes(past.error, "no  paper", 9);
    static const char *const wrong[] = {"", "3", "3 4 5", "x 1 1 a", "1  1 1 a", "-"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        past = tkl__queue_history_read(tkl_str(wrong[i]));
        assert_int_equal(past.failures, 0);
        assert_int_equal(past.error.len, 0);
    }
}

static void options_out_of_their_limits_are_refused(void **state)
{
    (void)state;
    static char large[65537];
    const tkl_push wrong[] = {
        {.priority = 1001},
        {.priority = -1001},
        {.retries = -2},
        {.retries = 1000001},
        {.delay_ms = -1},
        {.at_ms = -1},
        {.at_ms = 1, .delay_ms = 1},
        {.backoff_ms = -1},
        {.time_limit_ms = INT64_MAX},
        {.meta = {large, 65537}},
        {.unique = {large, 1025}},
        {.group = {large, 1025}},
        {.unique = {large, 1}, .unique_mode = TKL_UNIQUE_FOR_A_TIME},
        {.unique = {large, 1}, .unique_ms = 5},
        {.unique = {large, 1}, .unique_mode = (tkl_unique_mode)9},
        {.unique_mode = TKL_UNIQUE_UNTIL_STARTED},
        {.unique_ms = 5},
        {.reserved = {0, 1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_code(tkl__queue_check_job(&wrong[i]), TKL_EINVAL);
    const tkl_push right = {.priority = -1000,
                            .retries = -1,
                            .delay_ms = 1,
                            .meta = {large, 65536},
                            .unique = {large, 1024},
                            .group = {large, 1024}};
    assert_ok(tkl__queue_check_job(&right));
}

static void outcomes_and_states_have_names(void **state)
{
    (void)state;
    assert_string_equal(tkl_outcome_name(TKL_OUTCOME_DONE), "done");
    assert_string_equal(tkl_outcome_name(TKL_OUTCOME_RELEASED), "released");
    assert_string_equal(tkl_outcome_name((tkl_outcome)77), "unknown");
    assert_string_equal(tkl_job_state_name(TKL_JOB_STATE_READY), "ready");
    assert_string_equal(tkl_job_state_name(TKL_JOB_STATE_DEAD), "dead");
    assert_string_equal(tkl_job_state_name((tkl_job_state)-1), "unknown");
}

/* ---- Keys and ids -------------------------------------------------------- */

static tkl_queue *open_queue(tkl_client *client, const char *name, int partitions)
{
    tkl_queue *queue;
    assert_ok(tkl_queue_open(client, tkl_str(name), &(tkl_queue_options){.partitions = partitions},
                             &queue));
    return queue;
}

static tkl_client *nobody(void)
{
    tkl_client *client;
    assert_ok(tkl_open("redis://127.0.0.1:1", NULL, &client));
    return client;
}

static void no_name_reaches_the_keys_of_a_partition(void **state)
{
    (void)state;
    tkl_client *client = nobody();
    tkl_queue *one = open_queue(client, "q%233", 1), *many = open_queue(client, "q", 4);
    assert_bytes(many->partitions[3].keys[TKL__QUEUE_META], "tackle:queue:{q%233}:meta", 25);
    assert_bytes(one->partitions[0].keys[TKL__QUEUE_META], "tackle:queue:{q%25233}:meta", 27);
    tkl_queue_close(one);
    tkl_queue_close(many);
    tkl_close(client);
}

static void ids_tell_partition_and_time(void **state)
{
    (void)state;
    char id[TKL_JOB_ID_SIZE];
    const char *digits;
    tkl_client *client = nobody();
    tkl_queue *one = open_queue(client, "q", 1), *many = open_queue(client, "q", 256);
    tkl__queue_show_id(&many->partitions[255], "0006400000001", id);
    assert_string_equal(id, "255.0006400000001");
    assert_ptr_equal(tkl__queue_find_id(many, id, &digits), &many->partitions[255]);
    assert_string_equal(digits, "0006400000001");
    assert_int_equal(tkl__queue_id_time(digits), 0x6400000001 / 1024);
    assert_null(tkl__queue_find_id(one, id, &digits));
    static const char *const wrong[] = {"",  "256.0006400000001", "-1.0006400000001",
                                        "1", "0006400000001",     "1.000640000000g",
                                        ".", "1.00064000000011",  "99999999999.0006400000001"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(tkl__queue_find_id(many, wrong[i], &digits));
    tkl__queue_show_id(&one->partitions[0], "0006400000001", id);
    assert_ptr_equal(tkl__queue_find_id(one, id, &digits), &one->partitions[0]);
    tkl_queue_close(one);
    tkl_queue_close(many);
    tkl_close(client);
}

static void queues_that_cannot_be_are_not_opened(void **state)
{
    (void)state;
    tkl_queue *queue;
    tkl_client *client = nobody();
    assert_code(tkl_queue_open(client, tkl_str(""), NULL, &queue), TKL_EINVAL);
    assert_null(queue);
    assert_code(
        tkl_queue_open(client, tkl_str("q"), &(tkl_queue_options){.partitions = -1}, &queue),
        TKL_EINVAL);
    assert_code(
        tkl_queue_open(client, tkl_str("q"), &(tkl_queue_options){.partitions = 257}, &queue),
        TKL_EINVAL);
    const tkl_queue_options wrong[] = {{.timeout_ms = -1}, {.reserved = {1}}};
    for (size_t i = 0; i < 2; i++)
        assert_code(tkl_queue_open(client, tkl_str("q"), &wrong[i], &queue), TKL_EINVAL);
    tkl_queue_close(NULL);
    tkl_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_without_options_is_an_empty_line_and_its_payload),
        cmocka_unit_test(only_what_differs_from_the_defaults_is_written),
        cmocka_unit_test(a_record_reads_back_as_it_was_written),
        cmocka_unit_test(the_defaults_are_filled_in),
        cmocka_unit_test(what_is_no_record_is_refused),
        cmocka_unit_test(a_record_tells_whether_there_is_more_to_the_end_of_a_job),
        cmocka_unit_test(a_history_is_read_and_garbage_is_none),
        cmocka_unit_test(options_out_of_their_limits_are_refused),
        cmocka_unit_test(outcomes_and_states_have_names),
        cmocka_unit_test(no_name_reaches_the_keys_of_a_partition),
        cmocka_unit_test(ids_tell_partition_and_time),
        cmocka_unit_test(queues_that_cannot_be_are_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
