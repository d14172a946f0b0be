/* SPDX-License-Identifier: MIT
 *
 * Eight downloads, at most three at a time; on however many machines this program runs.
 *
 *     TACKLE_URL=redis://localhost examples/semaphore
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>
#include <time.h>

enum { DOWNLOADS = 8, LIMIT = 3 };

static tkl_client *client;
static atomic_int active, most;

static void check(int code, const char *what)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, code < 0 ? tkl_errmsg() : tkl_strerror(code));
    exit(1);
}

/* Stands for work that would overload a server if all programs did it at once. */
static void download(int number)
{
    int now = ++active, before = most;
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
        ;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    printf("download %d is done\n", number);
    active--;
}

/* Works with a permit. The library renews it in the background, so the lease can be short: the
 * permit of a crashed program is back in five seconds. */
static void *work(void *number)
{
    tkl_semaphore *sem;
    tkl_semaphore_options options = {.lease_ms = 5000, .auto_renew = true, .label = "download"};
    check(tkl_semaphore_open(client, tkl_str("downloads"), LIMIT, &options, &sem), "open");
    check(tkl_semaphore_acquire(sem, -1), "acquire");
    download(*(int *)number);
    check(tkl_semaphore_release(sem), "release");
    tkl_semaphore_close(sem);
    return NULL;
}

int main(void)
{
    pthread_t threads[DOWNLOADS];
    int numbers[DOWNLOADS];
    const char *url = getenv("TACKLE_URL");
    check(tkl_open(url ? url : "embedded:", NULL, &client), "open");
    for (int i = 0; i < DOWNLOADS; i++) {
        numbers[i] = i + 1;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < DOWNLOADS; i++)
        pthread_join(threads[i], NULL);
    printf("never more than %d at once\n", (int)most);
    tkl_close(client);
    return most <= LIMIT ? 0 : 1;
}
