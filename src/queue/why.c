/* SPDX-License-Identifier: MIT
 *
 * For operators: why a job does not run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/reply.h"
#include "queue/all.h"
#include "queue/scripts.h"
#include "queue/words.h"
#include "queue/workers.h"

#define HEAD  2 /* parts of an answer before the causes: id and state */
#define PARTS 5 /* fields of a cause in the reply */

/* The public result and what it points into. */
typedef struct reason_list {
    tkl_queue_reasons public; /* first: the user's pointer points to it */
    tkl_reply *replies;
    char *text; /* the text of a reason that name_worker() made; NULL: none */
    tkl_queue_reason items[];
} reason_list;

static const char *const cause_names[] = {
    [TKL_QUEUE_CAUSE_PAUSED] = "paused",
    [TKL_QUEUE_CAUSE_CONCURRENCY] = "concurrency",
    [TKL_QUEUE_CAUSE_RATE] = "rate",
    [TKL_QUEUE_CAUSE_NO_WORKER] = "no worker",
    [TKL_QUEUE_CAUSE_BUSY] = "busy",
    [TKL_QUEUE_CAUSE_BEHIND] = "behind",
    [TKL_QUEUE_CAUSE_DELAYED] = "delayed",
    [TKL_QUEUE_CAUSE_RETRY] = "retry",
    [TKL_QUEUE_CAUSE_GROUP_CONCURRENCY] = "group concurrency",
    [TKL_QUEUE_CAUSE_GROUP_RATE] = "group rate",
    [TKL_QUEUE_CAUSE_FLOW] = "flow",
    [TKL_QUEUE_CAUSE_FLOW_DEAD] = "flow dead",
    [TKL_QUEUE_CAUSE_RUNS] = "runs",
    [TKL_QUEUE_CAUSE_DEAD] = "dead",
};

const char *tkl_queue_cause_name(tkl_queue_cause cause)
{
    bool known = cause >= TKL_QUEUE_CAUSE_PAUSED && cause <= TKL_QUEUE_CAUSE_DEAD;
    return known ? cause_names[cause] : "unknown";
}

static tkl_queue_cause cause_of(const char *name)
{
    int cause = TKL_QUEUE_CAUSE_PAUSED;
    while (cause <= TKL_QUEUE_CAUSE_DEAD && strcmp(cause_names[cause], name) != 0)
        cause++;
    return cause <= TKL_QUEUE_CAUSE_DEAD ? (tkl_queue_cause)cause : (tkl_queue_cause)0;
}

/* ---- Reading ------------------------------------------------------------- */

void tkl_queue_reasons_free(tkl_queue_reasons *public)
{
    reason_list *list = (reason_list *)(void *)public;
    if (!list)
        return;
    tkl_reply_free(list->replies);
    free(list->text);
    free(list);
}

static int64_t number_at(const tkl_reply *answer, size_t index)
{
    int64_t number = tkl__reply_number(tkl_reply_at(answer, index));
    return number > 0 ? number : 0;
}

/* Turns "worker text" into "host:pid". */
static void name_worker(reason_list *list, tkl_queue_reason *reason)
{
    tkl_queue_worker worker = {.pid = 0};
    tkl_bytes text = reason->text;
    tkl__queue_next_word(&text);
    tkl__queue_worker_read(text, &worker);
    reason->text = (tkl_bytes){NULL, 0};
    if (worker.host.len > 0 && !list->text &&
        asprintf(&list->text, TKL_FMT ":%lld", TKL_ARG(worker.host), (long long)worker.pid) >= 0)
        reason->text = tkl_str(list->text);
}

static void read_reason(reason_list *list, const tkl__queue_partition *partition,
                        const tkl_reply *answer, size_t at)
{
    tkl_queue_reason *reason = &list->items[list->public.count];
    *reason = (tkl_queue_reason){.cause = cause_of(tkl_reply_str(tkl_reply_at(answer, at))),
                                 .used = number_at(answer, at + 1),
                                 .limit = number_at(answer, at + 2),
                                 .time_ms = number_at(answer, at + 3),
                                 .text = tkl_reply_bytes(tkl_reply_at(answer, at + 4))};
    bool flow = reason->cause == TKL_QUEUE_CAUSE_FLOW || reason->cause == TKL_QUEUE_CAUSE_FLOW_DEAD;
    if (flow && tkl__queue_is_id(reason->text))
        tkl__queue_show_id(partition, reason->text.data, reason->id);
    if (flow || reason->cause == TKL_QUEUE_CAUSE_BUSY)
        reason->text = (tkl_bytes){NULL, 0};
    if (reason->cause == TKL_QUEUE_CAUSE_RUNS)
        name_worker(list, reason);
    list->public.count += reason->cause != 0;
}

/* Takes ownership of the replies, one of which is the answer. */
static int make_reasons(const tkl__queue_partition *partition, const tkl_reply *answer,
                        tkl_reply *replies, tkl_queue_reasons **reasons)
{
    size_t parts = tkl_reply_count(answer);
    tkl_bytes id = tkl_reply_bytes(tkl_reply_at(answer, 0));
    int rc = TKL_OK;
    if (parts < HEAD || !tkl__queue_is_id(id))
        rc = parts == 0 ? tkl__no(TKL_NOTFOUND)
                        : tkl__fail(TKL_EPROTO, "not an answer of queue/why");
    reason_list *list =
        rc == TKL_OK ? calloc(1, sizeof *list + (parts / PARTS + 1) * sizeof *list->items) : NULL;
    if (rc == TKL_OK && !list)
        rc = tkl__nomem();
    if (rc != TKL_OK) {
        tkl_reply_free(replies);
        return rc;
    }
    list->replies = replies;
    list->public.items = list->items;
    list->public.state = tkl__queue_state_of(tkl_reply_str(tkl_reply_at(answer, 1)));
    tkl__queue_show_id(partition, id.data, list->public.id);
    for (size_t at = HEAD; at + PARTS <= parts; at += PARTS)
        read_reason(list, partition, answer, at);
    *reasons = &list->public;
    return TKL_OK;
}

/* ---- Asking -------------------------------------------------------------- */

/* Whether the job of one answer should come before that of another: ready jobs first, then held,
 * then delayed ones; the oldest first. */
static bool comes_before(const tkl_reply *a, const tkl_reply *b)
{
    static const int ranks[] = {
        [TKL_JOB_STATE_UNKNOWN] = 4, [TKL_JOB_STATE_READY] = 1,  [TKL_JOB_STATE_HELD] = 2,
        [TKL_JOB_STATE_DELAYED] = 3, [TKL_JOB_STATE_ACTIVE] = 4, [TKL_JOB_STATE_DONE] = 4,
        [TKL_JOB_STATE_DEAD] = 4};
    if (tkl_reply_count(a) < HEAD || tkl_reply_count(b) < HEAD)
        return tkl_reply_count(b) < HEAD && tkl_reply_count(a) >= HEAD;
    int x = ranks[tkl__queue_state_of(tkl_reply_str(tkl_reply_at(a, 1)))];
    int y = ranks[tkl__queue_state_of(tkl_reply_str(tkl_reply_at(b, 1)))];
    if (x != y)
        return x < y;
    return strcmp(tkl_reply_str(tkl_reply_at(a, 0)), tkl_reply_str(tkl_reply_at(b, 0))) < 0;
}

static int why_next(tkl_queue *queue, tkl_queue_reasons **reasons)
{
    tkl_reply *replies;
    tkl_bytes args[] = {tkl_str(""), tkl_str("0")};
    size_t first = 0;
    int rc = tkl__queue_run_on_all(queue, &tkl__lua_queue_why, args, 2, &replies);
    if (rc != TKL_OK)
        return rc;
    for (size_t i = 1; i < tkl_reply_count(replies); i++)
        if (comes_before(tkl_reply_at(replies, i), tkl_reply_at(replies, first)))
            first = i;
    return make_reasons(&queue->partitions[first], tkl_reply_at(replies, first), replies, reasons);
}

int tkl_queue_why(tkl_queue *queue, const char *id, tkl_queue_reasons **reasons)
{
    const char *digits;
    tkl_reply *reply = NULL;
    *reasons = NULL;
    if (!id)
        return why_next(queue, reasons);
    const tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    if (!partition)
        return tkl__no(TKL_NOTFOUND);
    tkl_bytes args[] = {tkl_str(digits), tkl_str("")};
    tkl__invocation call = tkl__queue_call(partition, &tkl__lua_queue_why, args, 2);
    call.retry_safe = true;
    int rc = tkl__queue_run_search(queue, &call, &args[1], &reply);
    return rc == TKL_OK ? make_reasons(partition, reply, reply, reasons) : rc;
}
