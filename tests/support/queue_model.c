/* SPDX-License-Identifier: MIT */
#include "support/queue_model.h"

#include <stdlib.h>
#include <string.h>

#include "support/insides.h"

struct model model;

static bool before(const model_job *a, const model_job *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->region != b->region)
        return a->region < b->region;
    if (a->region == 1 && a->due != b->due)
        return a->due < b->due;
    return strcmp(a->id, b->id) < 0;
}

int model_count(model_state s)
{
    int n = 0;
    for (int i = 0; i < model.nlive; i++)
        n += model.jobs[model.live[i]].state == s;
    return n;
}

static void become(model_job *j, model_state s)
{
    j->state = s;
    if (s != MODEL_GONE)
        return;
    int at = 0;
    while (model.live[at] != (int)(j - model.jobs))
        at++;
    memmove(&model.live[at], &model.live[at + 1],
            (size_t)(--model.nlive - at) * sizeof *model.live);
    model.bytes -= j->bytes;
}

void model_make_ready(model_job *j, int region)
{
    become(j, MODEL_READY);
    j->region = region;
}

/* Makes the next parked job of a group ready: by priority, then by push. */
static void unpark(int group)
{
    model_job *first = NULL;
    for (int i = 0; i < model.nlive; i++) {
        model_job *j = &model.jobs[model.live[i]];
        if (j->state == MODEL_PARKED && j->group == group && (!first || before(j, first)))
            first = j;
    }
    if (first)
        model_make_ready(first, 2);
}

static void free_key(model_job *j)
{
    if (j->key >= 0 && model.holder[j->key] == j - model.jobs && !model.timed[j->key])
        model.holder[j->key] = -1;
}

static void free_place(model_job *j)
{
    if (j->group < 0)
        return;
    if (j->counts)
        model.inside[j->group]--;
    j->counts = false;
    unpark(j->group);
}

/* Lets the parents of a job stop waiting for it, since it has ended. */
static void tell_parents(const model_job *j)
{
    for (int i = 0; i < j->nparents; i++) {
        model_job *parent = &model.jobs[j->parents[i]];
        if (parent->state == MODEL_FLOW && --parent->pending == 0) {
            if (parent->later)
                become(parent, MODEL_DELAYED);
            else
                model_make_ready(parent, 2);
        }
    }
}

void model_forget(model_job *j)
{
    become(j, MODEL_GONE);
    free_key(j);
    free_place(j);
    tell_parents(j);
}

/* Finds the oldest dead letter. */
static model_job *oldest_dead(void)
{
    model_job *oldest = NULL;
    for (int i = 0; i < model.nlive; i++) {
        model_job *j = &model.jobs[model.live[i]];
        if (j->state == MODEL_DEAD && (!oldest || j->death < oldest->death))
            oldest = j;
    }
    return oldest;
}

void model_trim(int most)
{
    int over = model_count(MODEL_DEAD) - (int)model.limits.dead_max;
    for (int i = 0; model.limits.dead_max > 0 && i < over && i < most; i++) {
        model_job *oldest = oldest_dead();
        become(oldest, MODEL_GONE);
        tell_parents(oldest);
        model.trimmed++;
    }
}

static void die(model_job *j)
{
    become(j, MODEL_DEAD);
    j->death = INT64_MAX; /* see settle_deaths() */
    model_trim(2);
    free_key(j);
    free_place(j);
}

static void note_failure(model_job *j)
{
    model.failed++;
    j->failures++;
}

bool model_is_due(const model_job *j)
{
    return j->state == MODEL_DELAYED && j->due > 0;
}

bool model_is_back(const model_job *j)
{
    return j->state == MODEL_ACTIVE && j->expired && j->failures < j->retries;
}

int model_push(const tkl_push *push, model_job *j, int index, int *told, bool flow)
{
    told[index] = -1;
    if (j->key >= 0 && model.holder[j->key] >= 0) {
        told[index] = model.holder[j->key];
        return TKL_EXISTS;
    }
    for (size_t i = 0; i < push->after_count; i++)
        if (told[push->after[i]] < 0)
            return TKL_FULL;
    if (model.limits.max_jobs > 0 && model.nlive - model_count(MODEL_DEAD) >= model.limits.max_jobs)
        return TKL_FULL;
    int me = told[index] = model.count++;
    model.live[model.nlive++] = me;
    j->region = 2;
    j->bytes = inside_record_size(push, flow);
    j->later = push->delay_ms > 0;
    for (size_t i = 0; i < push->after_count; i++) {
        model_job *child = &model.jobs[told[push->after[i]]];
        if (child->state != MODEL_GONE) {
            child->parents[child->nparents++] = me;
            j->pending++;
        }
    }
    j->state = j->pending > 0 ? MODEL_FLOW : j->later ? MODEL_DELAYED : MODEL_READY;
    if (j->key >= 0) {
        model.holder[j->key] = me;
        model.timed[j->key] = j->mode == TKL_UNIQUE_FOR_A_TIME;
    }
    model.pushed++;
    model.bytes += j->bytes;
    model.jobs[me] = *j;
    return TKL_OK;
}

/* Jobs whose lease has ended, in the order of their ends. */
static model_job *first_expired(void)
{
    model_job *first = NULL;
    for (int i = 0; i < model.nlive; i++) {
        model_job *j = &model.jobs[model.live[i]];
        if (j->state == MODEL_ACTIVE && j->expired && (!first || j->expiry < first->expiry))
            first = j;
    }
    return first;
}

static void model_reclaim(void)
{
    for (model_job *j; (j = first_expired());) {
        j->expired = false;
        note_failure(j);
        if (j->failures > j->retries)
            die(j);
        else
            model_make_ready(j, 0);
    }
}

static void model_promote(void)
{
    for (int i = 0; i < model.nlive; i++) {
        model_job *j = &model.jobs[model.live[i]];
        if (model_is_due(j))
            model_make_ready(j, 1);
    }
}

void model_look(void)
{
    model_promote();
    model_reclaim();
}

/* Whether a job may start; if so, it takes a place in its group. */
static bool may_start(model_job *j)
{
    if (j->group >= 0 && !j->counts) {
        if (model.limits.group_concurrency > 0 &&
            model.inside[j->group] >= model.limits.group_concurrency)
            return false;
        model.inside[j->group]++;
        j->counts = true;
    }
    if (j->mode == TKL_UNIQUE_UNTIL_STARTED)
        free_key(j);
    return true;
}

static int by_turn(const void *a, const void *b)
{
    const model_job *x = &model.jobs[*(const int *)a], *y = &model.jobs[*(const int *)b];
    return before(x, y) ? -1 : before(y, x) ? 1 : 0;
}

int model_take(int max, int *taken)
{
    static int ready[MODEL_MOST];
    int n = 0, parked;
    do {
        int count = 0;
        parked = 0;
        for (int i = 0; i < model.nlive; i++)
            if (model.jobs[model.live[i]].state == MODEL_READY)
                ready[count++] = model.live[i];
        qsort(ready, (size_t)count, sizeof *ready, by_turn);
        for (int i = 0; i < count && i < max; i++) {
            model_job *j = &model.jobs[ready[i]];
            if (may_start(j)) {
                become(j, MODEL_ACTIVE);
                taken[n++] = ready[i];
            } else {
                become(j, MODEL_PARKED);
                j->region = 2;
                parked++;
            }
        }
    } while (n == 0 && parked > 0);
    return n;
}

void model_finish(model_job *j, tkl_outcome outcome, bool delayed)
{
    j->due = 0;
    if (outcome == TKL_OUTCOME_DONE) {
        model.done++;
        model_forget(j);
        return;
    }
    if (outcome == TKL_OUTCOME_RELEASED) {
        if (delayed)
            become(j, MODEL_DELAYED);
        else
            model_make_ready(j, 0);
        return;
    }
    note_failure(j);
    if (outcome == TKL_OUTCOME_DEAD || j->failures > j->retries)
        die(j);
    else
        become(j, MODEL_DELAYED);
}

void model_retry(model_job *j)
{
    j->failures = 0;
    j->due = 0;
    model_make_ready(j, 2);
    if (j->key >= 0 && model.holder[j->key] < 0 && j->mode != TKL_UNIQUE_FOR_A_TIME)
        model.holder[j->key] = (int)(j - model.jobs);
}
