/* SPDX-License-Identifier: MIT
 *
 * A mailer: pushes a mail for each address, and sends them with four threads.
 *
 *     TACKLE_URL=redis://localhost examples/mailer alice@example.org bob@example.org
 *
 * Start it as often as you like, on any machines: each mail is sent by one program. Kill it, and
 * another one sends its unfinished mails ten seconds later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tackle/tackle.h>
#include <time.h>

enum { THREADS = 4 };

static void check(int code, const char *what)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, code < 0 ? tkl_errmsg() : tkl_strerror(code));
    exit(1);
}

/* Stands for a mail server, which turns some down at first. */
static int deliver_mail(const char *address, int attempt)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return strstr(address, "busy") && attempt == 1 ? TKL_EIO : TKL_OK;
}

/* Runs for each job, in any of the threads. */
static int send_mail(tkl_task *task, void *arg)
{
    (void)arg;
    const tkl_job *job = tkl_task_job(task);
    char address[256];
    snprintf(address, sizeof address, "%.*s", (int)job->payload.len, job->payload.data);
    if (!strchr(address, '@'))
        tkl_task_dead(task, "not an address"); /* trying again is of no use */
    else if (deliver_mail(address, job->attempt) != TKL_OK)
        tkl_task_fail(task, "the mail server is busy"); /* again after a second, then two ... */
    return TKL_OK;
}

static void print_outcome(const tkl_job *job, tkl_outcome outcome, int64_t run_us, void *arg)
{
    static const char *const words[] = {"sent", "failed", "given up", "handed back"};
    (void)arg;
    printf("%.*s: %s after %.1f ms (attempt %d)\n", (int)job->payload.len, job->payload.data,
           words[outcome], (double)run_us / 1000, job->attempt);
}

/* The unique key keeps a second mail to the same address out of the queue while one waits. */
static void push_mail(tkl_queue *mails, const char *address)
{
    tkl_pushed pushed;
    tkl_push mail = {.payload = tkl_str(address),
                     .unique = tkl_str(address),
                     .retries = 5,
                     .backoff_ms = 100,
                     .time_limit_ms = 10000};
    check(tkl_queue_push(mails, &mail, 1, NULL, &pushed), "push");
    printf("%s: %s as %s\n", address,
           pushed.code == TKL_EXISTS ? "was in the queue already" : "is in the queue", pushed.id);
}

static bool is_over(tkl_queue *mails)
{
    tkl_queue_stats stats;
    check(tkl_queue_stats_get(mails, &stats), "stats");
    return stats.ready + stats.delayed + stats.active == 0;
}

int main(int argc, char **argv)
{
    static const char *const samples[] = {"alice@example.org", "bob@example.org",
                                          "busy@example.org", "nobody"};
    tkl_client *client;
    tkl_queue *mails;
    tkl_worker *worker;
    tkl_worker_stats stats;
    const char *url = getenv("TACKLE_URL");
    check(tkl_open(url ? url : "embedded:", NULL, &client), "open");
    check(tkl_queue_open(client, tkl_str("mails"), NULL, &mails), "queue");
    for (int i = 1; i < argc; i++)
        push_mail(mails, argv[i]);
    for (int i = 0; argc == 1 && i < 4; i++)
        push_mail(mails, samples[i]);

    tkl_worker_options options = {.threads = THREADS, .on_end = print_outcome};
    check(tkl_worker_start(&mails, 1, send_mail, NULL, &options, &worker), "worker");
    while (!is_over(mails)) /* a service would wait for SIGTERM here */
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    tkl_worker_stop(worker, 30000);
    tkl_worker_stats_get(worker, &stats);
    printf("%d sent, %d given up\n", (int)stats.done, (int)stats.dead);
    tkl_worker_close(worker);
    tkl_queue_close(mails);
    tkl_close(client);
    return 0;
}
