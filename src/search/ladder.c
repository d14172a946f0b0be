/* SPDX-License-Identifier: MIT
 *
 * Ladders of fields: see ladders.inc.lua. Writers make them.
 */
#include <stdlib.h>
#include <string.h>

#include "search/call.h"
#include "search/scripts.h"
#include "search/write.h"

/* Number of documents of one run. */
#define PART 2500
/* Most runs for one step: an eighth of the documents of a shard is at most 12 million. */
#define RUNS_MAX 5000

typedef struct making {
    tkl__search_writer *writer;
    const tkl__search_shard *shard;
    size_t field;
    const char *side;
    int64_t step;
    tkl_bytes threshold; /* rung only */
    tkl_reply *reply;    /* reply to the last part; owned; NULL at first */
    bool complete;
} making;

/* The place at which the last part ended; empty at first. */
static tkl_bytes place_of(const making *m)
{
    return tkl_reply_bytes(tkl_reply_at(m->reply, 0));
}

/* The index of a step among the steps of its field; FIELD_STEPS: there is no such step. */
static size_t index_of_step(const making *m)
{
    bool rung = strcmp(m->side, "rung") == 0;
    int64_t count = rung ? TKL__SEARCH_RUNGS : TKL__SEARCH_STEPS;
    if (m->step < 1 || m->step > count)
        return TKL__SEARCH_FIELD_STEPS;
    size_t first = rung                          ? (size_t)2 * TKL__SEARCH_STEPS
                   : strcmp(m->side, "low") == 0 ? TKL__SEARCH_STEPS
                                                 : 0;
    return first + (size_t)m->step - 1;
}

static int make_part(making *m)
{
    const tkl__search_schema *schema = m->writer->schema;
    const tkl_bytes *steps = &m->shard->steps[m->field * TKL__SEARCH_FIELD_STEPS];
    tkl__search_call call;
    tkl_reply *reply = NULL;
    tkl__search_call_begin(&call, m->shard);
    tkl__search_call_key(&call, m->shard->fields[m->field]);
    tkl__search_call_key(&call, steps[index_of_step(m)]);
    for (size_t i = 2 * TKL__SEARCH_STEPS; i < TKL__SEARCH_FIELD_STEPS; i++)
        tkl__search_call_key(&call, steps[i]);
    tkl__args_str(&call.args, schema->token);
    tkl__args_int(&call.args, (int64_t)m->field);
    tkl__args_str(&call.args, m->side);
    tkl__args_int(&call.args, m->step);
    tkl__args_bytes(&call.args, m->threshold);
    tkl__args_bytes(&call.args, place_of(m));
    tkl__args_bytes(&call.args, tkl_reply_bytes(tkl_reply_at(m->reply, 1)));
    tkl__args_int(&call.args, PART);
    tkl__args_str(&call.args, schema->fields[m->field].numeric ? "0" : "1");
    int rc = tkl__search_call_run(&call, m->writer->search, &tkl__lua_search_ladder, &reply);
    tkl__search_call_free(&call);
    tkl_reply_free(m->reply);
    m->reply = reply;
    m->complete = place_of(m).len == 0;
    return rc;
}

void tkl__search_make_ladders(tkl__search_writer *writer, const tkl__search_shard *shard,
                              const tkl_reply *worn)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(worn); i++) {
        const tkl_reply *one = tkl_reply_at(worn, i);
        making m = {.writer = writer,
                    .shard = shard,
                    .field = (size_t)tkl_reply_int(tkl_reply_at(one, 0)),
                    .side = tkl_reply_str(tkl_reply_at(one, 1)),
                    .step = tkl_reply_int(tkl_reply_at(one, 2)),
                    .threshold = tkl_reply_bytes(tkl_reply_at(one, 3))};
        if (m.field >= writer->schema->is.field_count ||
            index_of_step(&m) == TKL__SEARCH_FIELD_STEPS)
            return; /* not a reply of search/add */
        for (int k = 0; rc == TKL_OK && !m.complete && k < RUNS_MAX; k++)
            rc = make_part(&m);
        tkl_reply_free(m.reply);
    }
}
