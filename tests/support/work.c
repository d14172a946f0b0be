/* SPDX-License-Identifier: MIT */
#include "support/work.h"

tkl_queue *queue;
tkl_consumer *consumer;

const tkl_bytes odd_keys[ODD_KEYS] = {
    {"plain", 5}, {"\0", 1}, {"\0\0", 2}, {"\xff", 1}, {"{a}", 3}, {"}{", 2}, {"a\nb", 3}, {" ", 1},
};

int work_fresh(void **state)
{
    fixture_fresh(state);
    fixture *f = *state;
    queue = open_queue(f->client, "work", 0);
    consumer = open_claimer(queue, 0);
    return 0;
}

int work_done(void **state)
{
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    return fixture_done(state);
}

void limit(const tkl_queue_limits *limits)
{
    assert_ok(set_exactly(queue, limits));
}

job_id push_group(const char *group, const char *payload)
{
    return push_one(queue, &(tkl_push){.payload = tkl_str(payload), .group = tkl_str(group)});
}

void assert_result(const char *id, int64_t wait_ms, int code, const char *text)
{
    tkl_job_result *result;
    assert_code(tkl_queue_result(queue, id, wait_ms, &result), code);
    if (text)
        assert_string_equal(result->text.data, text);
    else
        assert_null(result);
    tkl_job_result_free(result);
}

void make_job_due(fixture *f, const char *member)
{
    assert_int_equal(call_int(f->client, "ZADD", "tackle:queue:{work}:delayed", "XX", "CH",
                              "1600000000000", member, NULL),
                     1);
}

void end_lease(fixture *f, const claimed *job)
{
    char *member = test_format("%s:%s", job->id, job->token);
    assert_int_equal(
        call_int(f->client, "ZADD", "tackle:queue:{work}:active", "XX", "CH", "1000", member, NULL),
        1);
    free(member);
}
