/* SPDX-License-Identifier: MIT
 *
 * Lists the queues: a queue exists when it has a meta hash, or schedules that never fired yet.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/name.h"
#include "core/names.h"
#include "core/register.h"
#include "queue/all.h"
#include "queue/scripts.h"

typedef struct search {
    tkl_client *client;
    tkl__names names;
} search;

/* Turns a key into that of a queue with one partition: without the "%23i" of partition.c. */
static bool without_partition(tkl_bytes key, tkl__buf *out)
{
    const char *end = memchr(key.data, '}', key.len);
    const char *mark = end ? memmem(key.data, (size_t)(end - key.data), "%23", 3) : NULL;
    if (!mark)
        mark = end;
    tkl__buf_add(out, key.data, mark ? (size_t)(mark - key.data) : 0);
    tkl__buf_addz(out, "}");
    return mark && !out->failed;
}

static int visit_key(tkl_bytes key, void *arg)
{
    search *s = arg;
    tkl_bytes name;
    tkl__buf whole;
    int rc = TKL_OK;
    tkl__buf_init(&whole);
    if (without_partition(key, &whole) &&
        tkl__name_of_key(s->client, "queue", (tkl_bytes){whole.data, whole.len}, &name))
        rc = tkl__names_add(&s->names, name);
    tkl__buf_free(&whole);
    return rc;
}

int tkl_queue_names(tkl_client *client, tkl_names **names)
{
    search s = {.client = client};
    *names = NULL;
    static const char *const parts[] = {"meta", "schedules"};
    int rc = tkl__register_visit(client, "queue", parts, 2, "hash", visit_key, &s);
    if (rc == TKL_OK) {
        tkl__names_tidy(&s.names, NULL, NULL);
        rc = tkl__names_result(&s.names, names);
    }
    tkl__names_free(&s.names);
    return rc;
}

/* ---- Partitions ---------------------------------------------------------- */

/* Checks which partitions are there, in a queue that is opened with this many. *last is the
 * number of the last one, from 1; 0: none. */
static int find_last(tkl_client *client, tkl_bytes name, int partitions, int *last)
{
    tkl_queue *queue;
    tkl_reply *replies = NULL;
    *last = 0;
    int rc = tkl_queue_open(client, name, &(tkl_queue_options){.partitions = partitions}, &queue);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_exists, NULL, 0, &replies);
    for (int i = 0; i < partitions; i++)
        if (tkl_reply_int(tkl_reply_at(replies, (size_t)i)) > 0)
            *last = i + 1;
    tkl_reply_free(replies);
    tkl_queue_close(queue);
    return rc;
}

int tkl_queue_partitions(tkl_client *client, tkl_bytes name, int *partitions)
{
    int rc = find_last(client, name, 1, partitions);
    if (rc != TKL_OK || *partitions > 0)
        return rc;
    rc = find_last(client, name, TKL__QUEUE_PARTITIONS_MAX, partitions);
    if (rc == TKL_OK && *partitions == 0)
        return tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK && *partitions == 1)
        *partitions = 2; /* a queue of one partition has other keys */
    return rc;
}
