/* SPDX-License-Identifier: MIT
 *
 * The haul: the jobs that a claim got. The caller gets a pointer to the tkl_jobs in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "queue/consumer.h"
#include "queue/record.h"

/* Memory that the jobs point into: a reply or a text. */
typedef struct owned {
    tkl_reply *reply;
    char *text;
} owned;

struct tkl__queue_haul {
    tkl_jobs jobs; /* first: the user's pointer points to it */
    tkl_job *items;
    size_t cap;
    int64_t oldest; /* local time before the first claim of them */
    bool handed;    /* one of the jobs was handed over */
    owned *owned;
    size_t nowned;
    tkl__queue_damaged *damaged;
    size_t ndamaged;
};

tkl__queue_haul *tkl__queue_haul_new(void)
{
    tkl__queue_haul *haul = calloc(1, sizeof *haul);
    if (!haul)
        tkl__nomem();
    return haul;
}

size_t tkl__queue_haul_count(const tkl__queue_haul *haul)
{
    return haul->jobs.count;
}

tkl_jobs *tkl__queue_haul_jobs(tkl__queue_haul *haul)
{
    return &haul->jobs;
}

void tkl_jobs_free(tkl_jobs *jobs)
{
    tkl__queue_haul *haul = (tkl__queue_haul *)(void *)jobs;
    if (!haul)
        return;
    for (size_t i = 0; i < haul->nowned; i++) {
        tkl_reply_free(haul->owned[i].reply);
        free(haul->owned[i].text);
    }
    free(haul->owned);
    free(haul->items);
    free(haul->damaged);
    free(haul);
}

static bool reserve_jobs(tkl__queue_haul *haul, size_t more)
{
    size_t need = haul->jobs.count + more;
    if (need <= haul->cap)
        return true;
    tkl_job *items = realloc(haul->items, need * sizeof *items);
    if (!items)
        return false;
    haul->jobs.items = haul->items = items;
    haul->cap = need;
    return true;
}

static bool own_memory(tkl__queue_haul *haul, owned what)
{
    if (!tkl__grow(&haul->owned, haul->nowned, sizeof *haul->owned))
        return false;
    haul->owned[haul->nowned++] = what;
    return true;
}

/* Notes a claim whose record cannot be read. Without memory for that, its lease simply ends. */
static void add_damaged(tkl__queue_haul *haul, const tkl__queue_source *source, const char *id)
{
    if (!tkl__grow(&haul->damaged, haul->ndamaged, sizeof *haul->damaged))
        return;
    tkl__queue_damaged *one = &haul->damaged[haul->ndamaged++];
    one->partition = source->partition;
    snprintf(one->id, sizeof one->id, "%.*s", TKL__QUEUE_ID_LEN, id);
    memcpy(one->token, source->token, sizeof one->token);
}

size_t tkl__queue_haul_damaged(tkl__queue_haul *haul, const tkl__queue_damaged **damaged)
{
    size_t count = haul->ndamaged;
    *damaged = haul->damaged;
    haul->ndamaged = 0;
    return count;
}

static int add_job(tkl__queue_haul *haul, tkl__queue_source *source, const char *id,
                   tkl_bytes record, tkl_bytes history, const tkl__queue_lease *lease)
{
    tkl__queue_record r;
    tkl__queue_history past = tkl__queue_history_read(history);
    int64_t pushed_ms = tkl__queue_id_time(id);
    if (!tkl__queue_record_decode(record, &r)) {
        add_damaged(haul, source, id);
        return TKL_OK;
    }
    int rc = tkl__queue_claim_note(source, id, &r, record.len,
                                   past.since_ms > 0 ? past.since_ms : pushed_ms, lease);
    if (rc != TKL_OK)
        return rc;
    if (haul->jobs.count == 0 || lease->started < haul->oldest)
        haul->oldest = lease->started;
    tkl_job *job = &haul->items[haul->jobs.count++];
    *job = (tkl_job){.queue = source->partition->queue,
                     .payload = r.payload,
                     .meta = r.meta,
                     .group = r.group,
                     .kind = r.kind,
                     .priority = r.priority,
                     .retries = r.retries,
                     .time_limit_ms = r.time_limit_ms,
                     .pushed_ms = pushed_ms};
    tkl__queue_show_id(source->partition, id, job->id);
    memcpy(job->token, source->token, sizeof job->token);
    job->attempt = past.failures + 1;
    job->error = past.error;
    return TKL_OK;
}

int tkl__queue_haul_own(tkl__queue_haul *haul, tkl_reply *reply)
{
    if (own_memory(haul, (owned){.reply = reply}))
        return TKL_OK;
    tkl_reply_free(reply);
    return tkl__nomem();
}

void tkl__queue_haul_drop_empty(tkl__queue_haul *haul, tkl_reply *reply, size_t before)
{
    if (haul->jobs.count > before)
        return;
    haul->nowned--;
    tkl_reply_free(reply);
}

int tkl__queue_haul_add(tkl__queue_haul *haul, tkl__queue_source *source, const tkl_reply *reply,
                        size_t at, int64_t started, int64_t server_now)
{
    const tkl_reply *ids = tkl_reply_at(reply, at), *records = tkl_reply_at(reply, at + 1),
                    *histories = tkl_reply_at(reply, at + 2);
    size_t count = tkl_reply_count(ids);
    const tkl__queue_lease lease = {started, source->consumer->lease_us, server_now};
    int rc = reserve_jobs(haul, count) ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        tkl_bytes id = tkl_reply_bytes(tkl_reply_at(ids, i));
        if (tkl__queue_is_id(id))
            rc = add_job(haul, source, id.data, tkl_reply_bytes(tkl_reply_at(records, i)),
                         tkl_reply_bytes(tkl_reply_at(histories, i)), &lease);
    }
    return rc;
}

int tkl__queue_haul_add_one(tkl__queue_haul *haul, tkl__queue_source *source, const char *id,
                            tkl_bytes record, tkl_bytes history, const tkl__queue_lease *lease)
{
    char *text = malloc(record.len + history.len + 1);
    bool room = text && reserve_jobs(haul, 1) && own_memory(haul, (owned){.text = text});
    if (!room) {
        free(text);
        return tkl__nomem();
    }
    memcpy(text, record.data, record.len);
    memcpy(text + record.len, history.data, history.len);
    text[record.len + history.len] = '\0';
    haul->handed = true;
    return add_job(haul, source, id, (tkl_bytes){text, record.len},
                   (tkl_bytes){text + record.len, history.len}, lease);
}

bool tkl__queue_haul_was_handed(const tkl__queue_haul *haul)
{
    return haul->handed;
}

int64_t tkl__queue_haul_oldest(const tkl__queue_haul *haul)
{
    return haul->oldest;
}

void tkl__queue_haul_drop(tkl__queue_haul *haul, const tkl__queue_partition *partition,
                          const char *member)
{
    char other[TKL__QUEUE_MEMBER_LEN + 1];
    size_t kept = 0;
    for (size_t i = 0; i < haul->jobs.count; i++) {
        bool same =
            tkl__queue_claim_of(&haul->items[i], other) == partition && strcmp(other, member) == 0;
        if (!same)
            haul->items[kept++] = haul->items[i];
    }
    haul->jobs.count = kept;
}

void tkl__queue_haul_cut(tkl__queue_haul *haul, size_t most)
{
    if (haul->jobs.count > most)
        haul->jobs.count = most;
}
