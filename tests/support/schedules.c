/* SPDX-License-Identifier: MIT */
#include "support/schedules.h"

void set_schedule(tkl_queue *queue, const char *id, const tkl_schedule *schedule)
{
    assert_ok(tkl_schedule_set(queue, tkl_str(id), schedule));
}

tkl_schedule_info look_at(tkl_queue *queue, const char *id)
{
    tkl_schedules *all;
    tkl_schedule_info found = {0};
    assert_ok(tkl_schedule_list(queue, &all));
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].id.len == strlen(id) &&
            memcmp(all->items[i].id.data, id, strlen(id)) == 0)
            found = all->items[i];
    tkl_schedules_free(all);
    return found;
}

size_t count_schedules(tkl_queue *queue)
{
    tkl_schedules *all;
    assert_ok(tkl_schedule_list(queue, &all));
    size_t count = all->count;
    tkl_schedules_free(all);
    return count;
}

int64_t server_time(server *s)
{
    return server_ask_int(
        s, "EVAL %s 0",
        "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)");
}

void make_due(server *s, const char *id, int64_t ago_ms)
{
    static const char script[] =
        "local t = redis.call('TIME') "
        "local due = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[2]) "
        "local value = redis.call('HGET', KEYS[2], ARGV[1]) "
        "redis.call('HSET', KEYS[2], ARGV[1], due .. string.match(value, '^%d+( .*)$')) "
        "redis.call('ZADD', KEYS[1], due, 'schedule:' .. ARGV[1]) return 1";
    assert_int_equal(server_ask_int(s, "EVAL %s 2 " KEY "delayed " KEY "schedules %s %lld", script,
                                    id, (long long)ago_ms),
                     1);
}

int take_all(tkl_consumer *consumer, int64_t wait_ms)
{
    int taken = 0;
    tkl_jobs *jobs;
    while (tkl_consumer_claim(consumer, 100, wait_ms, &jobs) == TKL_OK) {
        taken += (int)jobs->count;
        finish_all(consumer, jobs);
        tkl_jobs_free(jobs);
    }
    return taken;
}

void expect_word(tkl_consumer *consumer, const char *word)
{
    tkl_jobs *jobs = claim_jobs(consumer, 10, LONG_MS);
    assert_jobs(jobs, word);
    finish_all(consumer, jobs);
    tkl_jobs_free(jobs);
}
