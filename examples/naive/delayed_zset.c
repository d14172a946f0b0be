/* SPDX-License-Identifier: MIT
 *
 * Delayed jobs in a sorted set that is polled. Two pollers see the same due job, and both run it:
 * neither looks whether its ZREM has removed anything.
 */
#include "naive.h"

static bool sees_job(void)
{
    return tkl_reply_count(COMMAND("ZRANGEBYSCORE", "naive-later", "0", "1000")) > 0;
}

static int run_naively(void)
{
    int runs = 0;
    COMMAND("ZADD", "naive-later", "1000", "mail to ann");
    bool first = sees_job(), second = sees_job();
    if (first) {
        COMMAND("ZREM", "naive-later", "mail to ann");
        runs++;
    }
    if (second) {
        COMMAND("ZREM", "naive-later", "mail to ann"); /* removes nothing, and nobody looks */
        runs++;
    }
    return runs;
}

/* A claim makes due jobs ready and takes one, in one step. A waiter knows when the next is due. */
static int run_by_queue(void)
{
    int runs = 0;
    tkl_queue *queue;
    tkl_consumer *workers[2];
    tkl_jobs *jobs;
    tkl_push job = {.payload = TKL_LIT("mail to ann"), .delay_ms = 100};
    check(tkl_queue_open(client, tkl_str("naive-later"), NULL, &queue));
    check(tkl_queue_push(queue, &job, 1, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        check(tkl_consumer_open(&queue, 1, NULL, &workers[i]));
        if (tkl_consumer_claim(workers[i], 1, i == 0 ? 10000 : 0, &jobs) == TKL_OK)
            runs++;
        tkl_jobs_free(jobs);
    }
    for (int i = 0; i < 2; i++)
        tkl_consumer_close(workers[i]);
    check(tkl_queue_drop(queue));
    tkl_queue_close(queue);
    return runs;
}

int main(void)
{
    open_client();
    int naive = run_naively(), ours = run_by_queue();
    return compare("runs too many", naive - 1, ours - 1);
}
