/* SPDX-License-Identifier: MIT
 *
 * Delayed jobs by a poller that moves due jobs: ZREM, then RPUSH. It is killed in between, and the
 * job is in neither place.
 */
#include <signal.h>
#include <sys/wait.h>

#include "naive.h"

/* Runs a program that is killed after its first step. */
static void step_and_die(void (*step)(void))
{
    pid_t child = fork();
    if (child == 0) {
        step();
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
}

static void take_out_due(void)
{
    COMMAND("ZREM", "naive-later", "mail to ann"); /* RPUSH naive-ready would be next */
}

/* Returns the jobs that are nowhere. */
static int move_naively(void)
{
    COMMAND("ZADD", "naive-later", "1000", "mail to ann");
    step_and_die(take_out_due);
    int delayed = (int)tkl_reply_int(COMMAND("ZCARD", "naive-later"));
    int ready = (int)tkl_reply_int(COMMAND("LLEN", "naive-ready"));
    return 1 - delayed - ready;
}

static tkl_consumer *open_worker(tkl_queue **queue)
{
    tkl_consumer *worker;
    tkl_consumer_options brief = {.lease_ms = 200};
    check(tkl_queue_open(client, tkl_str("naive-later"), NULL, queue));
    check(tkl_consumer_open(queue, 1, &brief, &worker));
    return worker;
}

static void claim_due(void)
{
    tkl_queue *queue;
    tkl_jobs *jobs;
    check(tkl_consumer_claim(open_worker(&queue), 1, 10000, &jobs));
}

/* A claim takes the due job and gives it a lease, in one step. It comes back when that ends. */
static int move_by_queue(void)
{
    tkl_queue *queue;
    tkl_jobs *jobs;
    tkl_consumer *worker = open_worker(&queue);
    tkl_push job = {.payload = TKL_LIT("mail to ann"), .delay_ms = 50};
    check(tkl_queue_push(queue, &job, 1, NULL, NULL));
    step_and_die(claim_due);
    int lost = tkl_consumer_claim(worker, 1, 10000, &jobs) != TKL_OK;
    tkl_jobs_free(jobs);
    tkl_consumer_close(worker);
    check(tkl_queue_drop(queue));
    tkl_queue_close(queue);
    return lost;
}

int main(void)
{
    open_client();
    int naive = move_naively(), ours = move_by_queue();
    return compare("jobs lost on their way", naive, ours);
}
