/* SPDX-License-Identifier: MIT
 *
 * A queue that is a list. A popped job is gone: a worker that is killed takes its job along.
 */
#include <signal.h>
#include <sys/wait.h>

#include "naive.h"

enum { JOBS = 3 };

/* Runs a worker that gets a job and is killed in the middle of it. */
static void work_and_die(void (*get_job)(void))
{
    pid_t child = fork();
    if (child == 0) {
        get_job();
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
}

static void pop_job(void)
{
    COMMAND("LPOP", "naive-jobs");
}

static int lose_naively(void)
{
    int done = 0;
    COMMAND("RPUSH", "naive-jobs", "a", "b", "c");
    work_and_die(pop_job);
    while (!tkl_reply_is_nil(COMMAND("LPOP", "naive-jobs")))
        done++;
    return JOBS - done;
}

static tkl_consumer *open_consumer(tkl_queue **queue)
{
    tkl_consumer *consumer;
    tkl_consumer_options brief = {.lease_ms = 200};
    check(tkl_queue_open(client, tkl_str("naive-jobs"), NULL, queue));
    check(tkl_consumer_open(queue, 1, &brief, &consumer));
    return consumer;
}

static void claim_job(void)
{
    tkl_queue *queue;
    tkl_jobs *jobs;
    check(tkl_consumer_claim(open_consumer(&queue), 1, 0, &jobs));
}

/* A claim is a lease. The job of a dead worker comes back when it ends. */
static int lose_by_queue(void)
{
    tkl_queue *queue;
    tkl_jobs *jobs;
    tkl_consumer *consumer = open_consumer(&queue);
    int done = 0;
    for (const char *name = "abc"; *name != '\0'; name++)
        check(tkl_queue_push_one(queue, (tkl_bytes){name, 1}, NULL));
    work_and_die(claim_job);
    while (done < JOBS && tkl_consumer_claim(consumer, 1, 10000, &jobs) == TKL_OK) {
        tkl_report report = {.job = jobs->items};
        check(tkl_consumer_finish(consumer, &report, 1));
        tkl_jobs_free(jobs);
        done++;
    }
    tkl_consumer_close(consumer);
    check(tkl_queue_drop(queue));
    tkl_queue_close(queue);
    return JOBS - done;
}

int main(void)
{
    open_client();
    int naive = lose_naively(), ours = lose_by_queue();
    return compare("jobs lost with their worker", naive, ours);
}
