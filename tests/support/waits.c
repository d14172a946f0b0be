/* SPDX-License-Identifier: MIT */
#include "support/waits.h"

void claim_in_thread(void *arg, int index)
{
    pending *p = arg;
    (void)index;
    int64_t start = test_now_ms();
    p->result = tkl_consumer_claim(p->consumer, p->max ? p->max : 10, p->wait_ms, &p->jobs);
    p->took_ms = test_now_ms() - start;
}

int64_t waiters(server *s)
{
    return server_ask_int(s, "ZCARD " KEY "waiters");
}

void start_waiting(pending *p, server *s)
{
    int64_t before = waiters(s);
    p->thread = crew_start(1, claim_in_thread, p);
    eventually(waiters(s) == before + 1, LONG_MS);
}

void join(pending *p)
{
    crew_join(p->thread);
    p->thread = NULL;
}

void expect(pending *p, const char *words)
{
    join(p);
    assert_code(p->result, *words ? TKL_OK : TKL_EMPTY);
    assert_jobs(p->jobs, words);
    if (p->jobs)
        finish_all(p->consumer, p->jobs);
    tkl_jobs_free(p->jobs);
    p->jobs = NULL;
}
