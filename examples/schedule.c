/* SPDX-License-Identifier: MIT
 *
 * A clock for all programs: a schedule pushes a job every second, whichever program comes first.
 * Every program may set it when it starts: setting it again changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

static void run_job(const tkl_job *job)
{
    printf("%.*s of second %lld\n", (int)job->payload.len, job->payload.data,
           (long long)job->pushed_ms / 1000);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_schedule tick = {.every_ms = 1000, .job = {.payload = tkl_str("tick")}};
    tkl_schedule nightly = {.cron = "30 2 * * mon-fri",
                            .zone = "Europe/Berlin",
                            .missed = TKL_MISSED_SKIP,
                            .job = {.payload = tkl_str("report"), .retries = 3}};
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_queue_open(client, tkl_str("chores"), NULL, &queue));
    stop_on(tkl_schedule_set(queue, tkl_str("tick"), &tick));
    stop_on(tkl_schedule_set(queue, tkl_str("nightly"), &nightly));

    stop_on(tkl_consumer_open(&queue, 1, NULL, &consumer));
    for (int i = 0; i < 2; i++) {
        tkl_jobs *jobs;
        stop_on(tkl_consumer_claim(consumer, 1, -1, &jobs));
        run_job(&jobs->items[0]);
        stop_on(tkl_consumer_finish(consumer, &(tkl_report){.job = &jobs->items[0]}, 1));
        tkl_jobs_free(jobs);
    }
    stop_on(tkl_schedule_remove(queue, tkl_str("tick")));

    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    tkl_close(client);
}
