/* SPDX-License-Identifier: MIT
 *
 * Bitmaps of ranges. Where both a range and the rest of a query have many documents, the range is
 * turned into a bitmap once, in steps of a few milliseconds, and kept for a while for this version
 * of the shard.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "core/token.h"
#include "search/call.h"
#include "search/find.h"
#include "search/scripts.h"

#define STEP   6000
#define TTL_MS 30000

static void write_bound(char *text, double value, bool open)
{
    char number[TKL__DOUBLE_SIZE];
    sprintf(text, "%s%s", open ? "(" : "", tkl__double_text(value, number));
}

typedef struct making {
    tkl__search_finding *finding;
    const tkl__search_shard *shard;
    const tkl__search_range *range;
    tkl_bytes keys[5];
    int64_t from;
    char version[24]; /* of the last step */
} making;

static int make_step(making *m)
{
    tkl_search *search = m->finding->search;
    char low[TKL__DOUBLE_SIZE + 1], high[TKL__DOUBLE_SIZE + 1];
    tkl__keys keys = {m->keys, 5};
    tkl__args args;
    tkl_reply *reply = NULL;
    write_bound(low, m->range->low, m->range->low_open);
    write_bound(high, m->range->high, m->range->high_open || isinf(m->range->high));
    tkl__args_init(&args);
    tkl__args_str(&args, m->finding->schema->token);
    tkl__args_str(&args, low);
    tkl__args_str(&args, high);
    tkl__args_int(&args, m->from);
    tkl__args_int(&args, STEP);
    tkl__args_int(&args, TTL_MS);
    int rc = tkl__eval(search->client, &tkl__lua_search_range, &keys, &args,
                       tkl__search_deadline(search), true, &reply);
    tkl__args_free(&args);
    if (rc == TKL_OK && tkl_reply_kind(reply) == TKL_REPLY_STRING) {
        m->finding->stale = true;
        m->from = -1;
    } else if (rc == TKL_OK) {
        snprintf(m->version, sizeof m->version, "%s", tkl_reply_str(tkl_reply_at(reply, 0)));
        m->from = tkl_reply_int(tkl_reply_at(reply, 1));
    }
    tkl_reply_free(reply);
    return rc;
}

/* Ends early when the version is not the wanted one any more, unless any will do. */
static int make_range(making *m, const char *wanted, bool any)
{
    char token[TKL_TOKEN_SIZE];
    tkl__buf bits, made;
    tkl__token_new(token);
    tkl__buf_init(&bits);
    tkl__buf_init(&made);
    tkl__search_range_key(&bits, m->shard, m->range, token);
    tkl__search_range_key(&made, m->shard, m->range, wanted);
    m->keys[0] = m->shard->keys[TKL__SEARCH_META];
    m->keys[1] = m->shard->fields[m->range->field];
    m->keys[2] = (tkl_bytes){bits.data, bits.len};
    m->keys[3] = (tkl_bytes){made.data, made.len};
    m->keys[4] = m->shard->keys[TKL__SEARCH_LIVE];
    int rc = bits.failed || made.failed ? tkl__nomem() : TKL_OK;
    while (rc == TKL_OK && m->from >= 0) {
        rc = make_step(m);
        if (!any && !m->finding->stale && strcmp(m->version, wanted) != 0)
            break;
    }
    tkl__buf_free(&bits);
    tkl__buf_free(&made);
    return rc;
}

int tkl__search_make_ranges(tkl__search_finding *f, size_t shard, bool last)
{
    tkl__search_progress *progress = &f->shards[shard];
    int rc = TKL_OK;
    if (last)
        tkl__token_new(progress->made);
    else
        snprintf(progress->made, sizeof progress->made, "%s", progress->version);
    progress->made_before = last;
    for (size_t i = 0; rc == TKL_OK && !f->stale && i < f->plan->range_count; i++) {
        making m = {.finding = f, .shard = &f->schema->shards[shard], .range = &f->plan->ranges[i]};
        rc = make_range(&m, progress->made, last);
    }
    return rc;
}
