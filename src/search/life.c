/* SPDX-License-Identifier: MIT
 *
 * Reads the state of an index, and drops an index.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "core/plain.h"
#include "core/rounds.h"
#include "search/call.h"
#include "search/scripts.h"
#include "text/library.h"

/* ---- Looking ------------------------------------------------------------- */

typedef struct info_box {
    tkl_search_info is;
    tkl__search_schema *schema;
} info_box;

/* Adds the numbers of one shard. */
static int add_shard(tkl_search *search, const tkl__search_schema *schema, size_t index,
                     tkl_search_info *info, tkl__search_outcome *outcome)
{
    const tkl_bytes *keys = schema->shards[index].keys;
    tkl_reply *replies;
    tkl__batch batch;
    tkl__batch_init(&batch, search->client);
    TKL__BATCH_WORDS(&batch, tkl_str("HMGET"), keys[TKL__SEARCH_META], tkl_str("token"),
                     tkl_str("docs"), tkl_str("clean_at"));
    TKL__BATCH_WORDS(&batch, tkl_str("ZCARD"), keys[TKL__SEARCH_TERMS]);
    TKL__BATCH_WORDS(&batch, tkl_str("HLEN"), keys[TKL__SEARCH_COMMON]);
    TKL__BATCH_WORDS(&batch, tkl_str("ZCARD"), keys[TKL__SEARCH_DEAD]);
    int rc = tkl__batch_end(&batch, tkl__search_deadline(search), &replies);
    if (rc == TKL_OK) {
        const tkl_reply *meta = tkl_reply_at(replies, 0);
        if (strcmp(tkl_reply_str(tkl_reply_at(meta, 0)), schema->token) != 0)
            *outcome = TKL__SEARCH_STALE;
        tkl__add(&info->documents, tkl_reply_int(tkl_reply_at(meta, 1)));
        int64_t clean = tkl_reply_int(tkl_reply_at(meta, 2)); /* 0: never */
        if (index == 0 || clean < info->clean_at_ms)
            info->clean_at_ms = clean;
        tkl__add(&info->terms, tkl_reply_int(tkl_reply_at(replies, 1)));
        tkl__add(&info->common, tkl_reply_int(tkl_reply_at(replies, 2)));
        tkl__add(&info->leftover, tkl_reply_int(tkl_reply_at(replies, 3)));
    }
    tkl_reply_free(replies);
    return rc;
}

static int show_once(tkl_search *search, tkl__search_schema *schema, void *arg,
                     tkl__search_outcome *outcome)
{
    tkl_search_info **info = arg;
    info_box *box = calloc(1, sizeof *box);
    int rc = box ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && *outcome == TKL__SEARCH_DONE && i < schema->shard_count; i++)
        rc = add_shard(search, schema, i, &box->is, outcome);
    if (rc == TKL_OK && *outcome == TKL__SEARCH_DONE) {
        atomic_fetch_add(&schema->refs, 1);
        box->schema = schema;
        box->is.schema = schema->is;
        *info = &box->is;
    } else {
        free(box);
    }
    return rc;
}

int tkl_search_show(tkl_search *search, tkl_search_info **info)
{
    *info = NULL;
    return tkl__search_try(search, show_once, info);
}

void tkl_search_info_free(tkl_search_info *info)
{
    info_box *box = (info_box *)(void *)info;
    if (box)
        tkl__search_schema_free(box->schema);
    free(box);
}

/* ---- Dropping ------------------------------------------------------------ */

/* Removes these terms, and the terms of these words that documents have several times. Gets the
 * next terms. */
static int drop_terms(tkl_search *search, const tkl__search_shard *shard, const tkl_reply *terms,
                      tkl_reply **next)
{
    tkl__search_call call;
    tkl__search_call_begin(&call, shard);
    for (size_t i = 0; i < tkl_reply_count(terms); i++) {
        tkl_bytes name = tkl_reply_bytes(tkl_reply_at(terms, i));
        tkl__search_call_term(&call, shard, name);
        for (size_t k = 0; name.len && name.data[0] == 'w' && k < TKL__SEARCH_SEVERAL; k++)
            tkl__search_call_several(&call, shard, name, k);
    }
    tkl__args_int(&call.args, (int64_t)tkl__search_term_at(shard));
    int rc = tkl__search_call_run(&call, search, &tkl__lua_search_drop, next);
    tkl__search_call_free(&call);
    return rc;
}

/* Removes everything but :meta, which marks the index as being dropped. */
static int drop_rest(tkl_search *search, const tkl__search_schema *schema,
                     const tkl__search_shard *shard)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    tkl__args_str(&args, "UNLINK");
    for (size_t i = TKL__SEARCH_META + 1; i < TKL__SEARCH_KEYS; i++)
        tkl__args_bytes(&args, shard->keys[i]);
    for (size_t i = 0; i < schema->is.field_count; i++)
        tkl__args_bytes(&args, shard->fields[i]);
    for (size_t i = 0; i < shard->step_count; i++)
        tkl__args_bytes(&args, shard->steps[i]);
    for (size_t i = 0; i < TKL__SEARCH_BANDS; i++)
        tkl__args_bytes(&args, shard->bands[i]);
    int rc = tkl__plain(search->client, &args, tkl__search_deadline(search), true, &reply);
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

static int drop_meta(tkl_search *search, const tkl__search_shard *shard)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    tkl__args_str(&args, "UNLINK");
    tkl__args_bytes(&args, shard->keys[TKL__SEARCH_META]);
    int rc = tkl__plain(search->client, &args, tkl__search_deadline(search), true, &reply);
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

static int drop_shard(tkl_search *search, const tkl__search_schema *schema, size_t index)
{
    const tkl__search_shard *shard = &schema->shards[index];
    tkl_reply *reply = NULL;
    tkl__rounds rounds = {.idle = 0};
    int rc = drop_terms(search, shard, NULL, &reply);
    while (rc == TKL_OK && tkl_reply_count(tkl_reply_at(reply, 1)) > 0) {
        tkl_reply *next = NULL;
        rc = drop_terms(search, shard, tkl_reply_at(reply, 1), &next);
        tkl_bytes before = tkl_reply_bytes(tkl_reply_at(tkl_reply_at(reply, 1), 0));
        tkl_bytes after = tkl_reply_bytes(tkl_reply_at(tkl_reply_at(next, 1), 0));
        if (rc == TKL_OK)
            rc = tkl__next_round(&rounds, search->client, 0,
                                 tkl__text_word_compare(&before, &after) != 0);
        tkl_reply_free(reply);
        reply = next;
    }
    tkl_reply_free(reply);
    return rc == TKL_OK ? drop_rest(search, schema, shard) : rc;
}

/* Marks the index as dropped: from now on every handle gets TKL_NOTFOUND. */
static int close_index(tkl_search *search, const tkl__search_schema *schema)
{
    tkl_reply *reply = NULL;
    int rc = drop_terms(search, &schema->shards[0], NULL, &reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_search_drop(tkl_search *search)
{
    tkl__search_schema *schema = NULL;
    int rc = tkl__search_schema_read(search, true, &schema);
    if (rc != TKL_OK)
        return rc;
    tkl__search_schema_forget(search, NULL);
    rc = close_index(search, schema);
    for (size_t i = schema->shard_count; rc == TKL_OK && i-- > 0;)
        rc = drop_shard(search, schema, i);
    for (size_t i = schema->shard_count; rc == TKL_OK && i-- > 0;)
        rc = drop_meta(search, &schema->shards[i]);
    tkl__search_schema_free(schema);
    return rc;
}
