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

tkl_listing *peek(tkl_job_state state, size_t skip, size_t max)
{
    tkl_listing *listing;
    assert_ok(tkl_queue_peek(queue, state, skip, max, 0, &listing));
    return listing;
}

void assert_peek(tkl_job_state state, size_t skip, size_t max, const char *expected)
{
    tkl_listing *listing = peek(state, skip, max);
    char *found = test_format("%s", "");
    for (size_t i = 0; i < listing->count; i++) {
        tkl_bytes payload = listing->items[i].payload;
        char *more =
            test_format("%s%s%.*s", found, i > 0 ? " " : "", (int)payload.len, payload.data);
        free(found);
        found = more;
    }
    assert_string_equal(found, expected);
    free(found);
    tkl_listing_free(listing);
}

void bury(const char *payload)
{
    push_text(queue, payload);
    claimed job = claim_one(consumer);
    finish_job(queue, &job, TKL_OUTCOME_DEAD);
}
