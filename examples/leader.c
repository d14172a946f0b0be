/* SPDX-License-Identifier: MIT
 *
 * Three candidates, which lead one after the other.
 *
 * Each stands for the name, does its share of the work while it leads, and resigns. The record
 * keeps the term of each entry: it would refuse a leader whose term is over.
 *
 *     TACKLE_URL=redis://localhost examples/leader
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

enum { CANDIDATES = 3, SHARE = 5 };

static tkl_client *client;

static struct {
    pthread_mutex_t mutex;
    uint64_t term; /* the highest it has seen */
    int entries, refused;
} record = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void check(int code, const char *what)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, code < 0 ? tkl_errmsg() : tkl_strerror(code));
    exit(1);
}

/* INSERT INTO record ... WHERE term >= (SELECT max(term) FROM record) */
static void write_entry(uint64_t term)
{
    pthread_mutex_lock(&record.mutex);
    bool accepted = term >= record.term;
    record.term = accepted ? term : record.term;
    record.entries += accepted;
    record.refused += !accepted;
    pthread_mutex_unlock(&record.mutex);
}

static void *stand(void *name)
{
    tkl_leader *leader;
    tkl_leader_options options = {.label = name};
    check(tkl_leader_open(client, tkl_str("scheduler"), &options, &leader), "open");
    check(tkl_leader_campaign(leader, -1), "campaign");
    printf("%s leads\n", (char *)name);
    for (int i = 0; i < SHARE && tkl_leader_leads(leader); i++)
        write_entry(tkl_leader_term(leader));
    check(tkl_leader_resign(leader), "resign");
    tkl_leader_close(leader);
    return NULL;
}

int main(void)
{
    static char names[CANDIDATES][2] = {"A", "B", "C"};
    pthread_t threads[CANDIDATES];
    const char *url = getenv("TACKLE_URL");
    check(tkl_open(url ? url : "embedded:", NULL, &client), "open");
    for (int i = 0; i < CANDIDATES; i++)
        pthread_create(&threads[i], NULL, stand, names[i]);
    for (int i = 0; i < CANDIDATES; i++)
        pthread_join(threads[i], NULL);
    printf("%d entries, %d refused\n", record.entries, record.refused);
    tkl_close(client);
    return record.entries == CANDIDATES * SHARE ? 0 : 1;
}
