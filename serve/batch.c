/* SPDX-License-Identifier: MIT */
#include "batch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct item {
    serve_batch *batch;
    const json_t *call;
    uint64_t operation; /* id in the loop; 0: it did not begin */
    serve_answer answer;
} item;

struct serve_batch {
    json_t *calls;
    bool in_order;
    tkl_loop *loop;
    tkl_client *client;
    serve_caller caller;
    void (*done)(void *arg);
    void *arg;
    _Atomic bool is_cancelled;
    bool is_beginning; /* calls that end at once, inside of begin_items(), do not begin others */
    size_t count;      /* all calls */
    size_t begun;      /* calls that have begun; in order, all begin as one operation */
    size_t under_way;  /* operations that have not ended */
    item items[];
};

serve_batch *serve_batch_new(const json_t *body, serve_answer *answer)
{
    json_t *calls = json_is_object(body) ? json_object_get(body, "calls") : (json_t *)body;
    const json_t *in_order = json_is_object(body) ? json_object_get(body, "in_order") : NULL;
    size_t count = json_array_size(calls), known = in_order != NULL ? 2 : 1;
    if (!json_is_array(calls) || count > SERVE_BATCH_MAX ||
        (in_order != NULL && !json_is_boolean(in_order)) ||
        (json_is_object(body) && json_object_size(body) != known)) {
        serve_answer_error(answer, 400, TKL_EINVAL,
                           "a batch is an array of at most 1000 calls, or {\"calls\": that array, "
                           "\"in_order\": true}");
        return NULL;
    }
    serve_batch *batch = calloc(1, sizeof *batch + count * sizeof *batch->items);
    if (batch == NULL) {
        serve_answer_error(answer, 500, TKL_ENOMEM, tkl_strerror(TKL_ENOMEM));
        return NULL;
    }
    batch->calls = json_incref(calls);
    batch->in_order = json_is_true(in_order);
    batch->count = count;
    for (size_t i = 0; i < count; i++)
        batch->items[i] = (item){.batch = batch, .call = json_array_get(calls, i)};
    return batch;
}

void serve_batch_free(serve_batch *batch)
{
    if (batch == NULL)
        return;
    for (size_t i = 0; i < batch->count; i++)
        serve_answer_free(&batch->items[i].answer);
    json_decref(batch->calls);
    free(batch);
}

/* ---- Running ------------------------------------------------------------- */

/* Runs, as an operation of the loop, the call, and in a batch in order all calls behind it. */
static int run_item(void *arg)
{
    item *first = arg;
    serve_batch *batch = first->batch;
    const serve_caller *caller = &batch->caller;
    item *end = batch->in_order ? batch->items + batch->count : first + 1;
    for (item *i = first; i < end && (i == first || !caller->is_gone(caller->arg)); i++)
        if (i > first && batch->is_cancelled)
            serve_answer_error(&i->answer, 503, TKL_EINTR, tkl_strerror(TKL_EINTR));
        else
            serve_call_item(batch->client, i->call, caller, &i->answer);
    return TKL_OK;
}

static void begin_items(serve_batch *batch);

/* Called when the operation has ended. `code` is not TKL_OK when it could not begin. */
static void end_item(void *arg, int code, const char *text)
{
    item *first = arg;
    serve_batch *batch = first->batch;
    size_t count = batch->in_order ? batch->count : 1;
    for (size_t i = 0; i < count && code != TKL_OK; i++)
        serve_answer_error(&first[i].answer, serve_status(code), code,
                           *text != '\0' ? text : tkl_strerror(code));
    batch->under_way--;
    begin_items(batch);
}

/* Begins as many calls as may be under way. */
static void begin_items(serve_batch *batch)
{
    if (batch->is_beginning)
        return;
    batch->is_beginning = true;
    while (batch->begun < batch->count && batch->under_way < SERVE_BATCH_AT_ONCE) {
        item *i = &batch->items[batch->begun];
        batch->begun = batch->in_order ? batch->count : batch->begun + 1;
        batch->under_way++;
        int code = batch->is_cancelled
                       ? TKL_EINTR
                       : tkl_loop_submit(batch->loop, run_item, end_item, i, &i->operation);
        if (code != TKL_OK)
            end_item(i, code, "");
    }
    batch->is_beginning = false;
    if (batch->under_way == 0)
        batch->done(batch->arg);
}

void serve_batch_run(serve_batch *batch, tkl_loop *loop, tkl_client *client,
                     const serve_caller *caller, void (*done)(void *arg), void *arg)
{
    batch->loop = loop;
    batch->client = client;
    batch->caller = *caller;
    batch->done = done;
    batch->arg = arg;
    begin_items(batch);
}

void serve_batch_cancel(serve_batch *batch)
{
    batch->is_cancelled = true;
    for (size_t i = 0; i < batch->begun; i++) {
        int code = tkl_loop_cancel(batch->loop, batch->items[i].operation);
        (void)code; /* TKL_NOTFOUND: the operation has ended */
    }
}

void serve_batch_answer(const serve_batch *batch, serve_answer *answer)
{
    size_t size = 0;
    FILE *to = open_memstream(&answer->body, &size);
    if (to == NULL)
        return;
    fputs("[", to);
    for (size_t i = 0; i < batch->count; i++) {
        const serve_answer *one = &batch->items[i].answer;
        fprintf(to, "%s{\"status\": %d, \"body\": %s}", i > 0 ? ", " : "", one->status,
                one->body != NULL ? one->body : "null");
    }
    fputs("]", to);
    if (fclose(to) != 0) {
        free(answer->body);
        answer->body = NULL;
    }
    answer->status = 200;
}
