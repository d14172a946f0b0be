/* SPDX-License-Identifier: MIT */
#include "support/jobs.h"

tkl_consumer *open_claimer(tkl_queue *queue, int64_t lease_ms)
{
    tkl_consumer *consumer;
    tkl_consumer_options options = {.lease_ms = lease_ms ? lease_ms : 3600000, .no_renewal = true};
    assert_ok(tkl_consumer_open(&queue, 1, &options, &consumer));
    return consumer;
}

/* ---- Pushing ------------------------------------------------------------- */

int push_code(tkl_queue *queue, const tkl_push *job, job_id *id)
{
    tkl_pushed pushed;
    int rc = tkl_queue_push(queue, job, 1, NULL, &pushed);
    if (id != NULL)
        memcpy(id->text, pushed.id, sizeof id->text);
    assert_true(rc == pushed.code || (rc == TKL_OK && pushed.code == TKL_EXISTS));
    return pushed.code;
}

job_id push_one(tkl_queue *queue, const tkl_push *job)
{
    job_id id;
    assert_ok(push_code(queue, job, &id));
    return id;
}

job_id push_text(tkl_queue *queue, const char *payload)
{
    return push_one(queue, &(tkl_push){.payload = tkl_str(payload)});
}

/* ---- Claiming ------------------------------------------------------------ */

static void copy_text(char *to, size_t size, tkl_bytes from)
{
    size_t len = from.len < size - 1 ? from.len : size - 1;
    if (len > 0)
        memcpy(to, from.data, len);
    to[len] = '\0';
}

size_t claim_some(tkl_consumer *consumer, size_t max, claimed *list)
{
    tkl_jobs *jobs;
    int rc = tkl_consumer_claim(consumer, max, 0, &jobs);
    if (rc == TKL_EMPTY)
        return 0;
    assert_ok(rc);
    size_t count = jobs->count;
    assert_in_range(count, 1, max);
    for (size_t i = 0; i < count; i++) {
        const tkl_job *job = &jobs->items[i];
        claimed *c = &list[i];
        memcpy(c->id, job->id, sizeof c->id);
        memcpy(c->token, job->token, sizeof c->token);
        copy_text(c->payload, sizeof c->payload, job->payload);
        copy_text(c->error, sizeof c->error, job->error);
        c->attempt = job->attempt;
    }
    tkl_jobs_free(jobs);
    return count;
}

claimed claim_one(tkl_consumer *consumer)
{
    claimed job;
    if (claim_some(consumer, 1, &job) == 0)
        fail_msg("nothing to claim");
    return job;
}

void assert_nothing_ready(tkl_consumer *consumer)
{
    claimed job;
    if (claim_some(consumer, 1, &job) > 0)
        fail_msg("claimed %s (%s)", job.id, job.payload);
}

void assert_claims(tkl_consumer *consumer, tkl_queue *queue, const char *payloads)
{
    char *words = strdup(payloads);
    for (char *rest, *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        claimed job = claim_one(consumer);
        assert_string_equal(job.payload, word);
        finish_job(queue, &job, TKL_OUTCOME_DONE);
    }
    free(words);
}

int finish_code(tkl_queue *queue, const claimed *job, tkl_outcome outcome, const char *text)
{
    return tkl_queue_finish(queue, job->id, job->token, outcome, tkl_str(text), 0);
}

void finish_job(tkl_queue *queue, const claimed *job, tkl_outcome outcome)
{
    assert_ok(finish_code(queue, job, outcome, "because"));
}

void fail_for(tkl_queue *queue, const claimed *job, int64_t delay_ms)
{
    assert_ok(tkl_queue_finish(queue, job->id, job->token, TKL_OUTCOME_FAILED, tkl_str("because"),
                               delay_ms));
}

/* ---- Looking ------------------------------------------------------------- */

tkl_queue_stats stats_of(tkl_queue *queue)
{
    tkl_queue_stats stats;
    assert_ok(tkl_queue_stats_get(queue, &stats));
    return stats;
}

tkl_job_state state_of(tkl_queue *queue, const char *id)
{
    tkl_listing *listing;
    int rc = tkl_queue_show(queue, id, 0, &listing);
    if (rc == TKL_NOTFOUND)
        return TKL_JOB_STATE_UNKNOWN;
    assert_ok(rc);
    assert_int_equal(listing->count, 1);
    assert_string_equal(listing->items[0].id, id);
    tkl_job_state state = listing->items[0].state;
    tkl_listing_free(listing);
    return state;
}

void assert_no_garbage(server *s)
{
    char *left =
        server_ask(s, "EVAL %s 0",
                   "local all = {} for _, key in ipairs(redis.call('KEYS', '*')) do "
                   "local part = string.match(key, '[^:]*$') "
                   "if redis.call('PTTL', key) == -1 and part ~= 'meta' and part ~= 'times' then "
                   "all[#all + 1] = key end end return all");
    if (*left != '\0')
        fail_msg("keys left behind: %s", left);
    free(left);
}
