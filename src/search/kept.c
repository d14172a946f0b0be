/* SPDX-License-Identifier: MIT
 *
 * Kept results are lists, named by a hash of the query in its normal form and of the order. The
 * first item describes the result, the others are its hits. Each item has a stamp: a hash of the
 * versions of all shards for which the result was found. A reader asks for the list and, in the
 * same round trip, for the versions: items with another stamp belong to an older version of the
 * index. A client that finds the result again replaces the list, so there is one list per query.
 */
#include "search/kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"
#include "core/token.h"
#include "search/scripts.h"

#define HEAD_BYTES 24 /* stamp, score and number; the record follows */
#define PAGES      10

int64_t tkl__search_keep_reach(int64_t offset, int64_t count)
{
    int64_t more = PAGES * count, page = offset + count;
    int64_t reach = page + more;
    return reach < TKL_SEARCH_REACH_MAX ? reach : page;
}

static void write_key(const tkl__search_run *run, tkl__buf *key)
{
    tkl__buf all;
    tkl__buf_init(&all);
    tkl__search_order_normal(run->order, &all);
    tkl__buf_addf(&all, "|%" PRId64 "|", run->compare_max);
    tkl__buf_add(&all, run->plan->query.normal.data, run->plan->query.normal.len);
    XXH128_hash_t hash = XXH3_128bits(all.data, all.len);
    tkl__buf_add(key, run->schema->shards[0].base.data, run->schema->shards[0].base.len);
    tkl__buf_addf(key, ":kept:%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
    key->failed = key->failed || all.failed;
    tkl__buf_free(&all);
}

/* Hashes `versions`: the token of the index, and the version of each shard. */
static uint64_t stamp_of(const tkl__buf *versions)
{
    return XXH3_64bits(versions->data, versions->len);
}

/* ---- Reading ------------------------------------------------------------- */

static void add_range(tkl__batch *batch, const tkl__buf *key, int64_t from, int64_t to)
{
    char first[24], last[24];
    snprintf(first, sizeof first, "%" PRId64, from);
    snprintf(last, sizeof last, "%" PRId64, to);
    TKL__BATCH_WORDS(batch, tkl_str("LRANGE"), {key->data, key->len}, tkl_str(first),
                     tkl_str(last));
}

/* Asks for the page, the first item of the list, and the versions of the shards. A list that cannot
 * be read counts as missing. */
static int ask_kept(tkl__search_run *run, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__buf key;
    tkl__buf_init(&key);
    write_key(run, &key);
    tkl__batch_init(&batch, run->search->client);
    tkl__batch_fail(&batch, key.failed ? tkl__nomem() : TKL_OK);
    add_range(&batch, &key, 0, 0);
    add_range(&batch, &key, 1 + run->offset, run->offset + (run->count ? run->count : 1));
    for (size_t i = 0; i < run->schema->shard_count; i++)
        TKL__BATCH_WORDS(&batch, tkl_str("HMGET"), run->schema->shards[i].keys[TKL__SEARCH_META],
                         tkl_str("token"), tkl_str("version"));
    int rc = tkl__batch_run(&batch, tkl__search_deadline(run->search));
    *replies = tkl__batch_take(&batch);
    tkl__batch_free(&batch);
    tkl__buf_free(&key);
    return *replies ? TKL_OK : rc;
}

/* Reads the stamp of the index as it is now. Sets `outcome`. */
static int read_stamp(tkl__search_run *run, const tkl_reply *replies, uint64_t *stamp)
{
    tkl__buf versions;
    tkl__buf_init(&versions);
    tkl__buf_addz(&versions, run->schema->token);
    for (size_t i = 0; i < run->schema->shard_count; i++) {
        const tkl_reply *meta = tkl_reply_at(replies, 2 + i);
        if (tkl_reply_code(meta) != TKL_OK) {
            tkl__buf_free(&versions);
            return tkl__fail(tkl_reply_code(meta), "%s", tkl_reply_str(meta));
        }
        if (strcmp(tkl_reply_str(tkl_reply_at(meta, 0)), run->schema->token) != 0)
            run->outcome = TKL__SEARCH_STALE;
        tkl__buf_addf(&versions, "|%" PRId64, tkl_reply_int(tkl_reply_at(meta, 1)));
    }
    *stamp = stamp_of(&versions);
    int rc = versions.failed ? tkl__nomem() : TKL_OK;
    tkl__buf_free(&versions);
    return rc;
}

/* Reads an item; false: it has another stamp, so it belongs to an older result. */
static bool read_item(const tkl_reply *reply, uint64_t stamp, tkl__search_found *item)
{
    tkl_bytes bytes = tkl_reply_bytes(reply);
    if (bytes.len < HEAD_BYTES || memcmp(bytes.data, &stamp, sizeof stamp) != 0)
        return false;
    memcpy(&item->score, bytes.data + 8, sizeof item->score);
    memcpy(&item->number, bytes.data + 16, sizeof item->number);
    item->bytes = (tkl_bytes){bytes.data + HEAD_BYTES, bytes.len - HEAD_BYTES};
    return true;
}

/* Reads the hits of the page. The result counts as found if all of them are there. */
static int read_page(tkl__search_run *run, const tkl_reply *replies, uint64_t stamp, bool *found)
{
    uint64_t kept_stamp;
    int64_t total, compared, kept;
    int exact;
    const tkl_reply *about = tkl_reply_at(replies, 0), *page = tkl_reply_at(replies, 1);
    if (sscanf(tkl_reply_str(tkl_reply_at(about, 0)),
               "%" SCNx64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %d", &kept_stamp, &total, &compared,
               &kept, &exact) != 5)
        return TKL_OK;
    if (kept_stamp != stamp || (run->offset + run->count > kept && kept < compared))
        return TKL_OK;
    size_t count = run->count ? tkl_reply_count(page) : 0;
    run->items = calloc(count + 1, sizeof *run->items);
    if (!run->items)
        return tkl__nomem();
    *found = true;
    for (size_t i = 0; *found && i < count; i++)
        *found = read_item(tkl_reply_at(page, i), stamp, &run->items[i]);
    if (!*found) {
        free(run->items);
        run->items = NULL;
        return TKL_OK;
    }
    run->page_count = run->item_count = count;
    run->total = total;
    run->compared = compared;
    run->exact = exact != 0;
    return TKL_OK;
}

int tkl__search_kept_read(tkl__search_run *run, bool *found)
{
    tkl_reply *replies = NULL;
    uint64_t stamp = 0;
    *found = false;
    int rc = ask_kept(run, &replies);
    if (rc == TKL_OK)
        rc = tkl__search_box_keep(run->box, replies);
    if (rc == TKL_OK)
        rc = read_stamp(run, replies, &stamp);
    if (rc == TKL_OK && run->outcome == TKL__SEARCH_DONE)
        rc = read_page(run, replies, stamp, found);
    return rc;
}

/* ---- Writing ------------------------------------------------------------- */

static uint64_t stamp_found(const tkl__search_run *run)
{
    tkl__buf versions;
    tkl__buf_init(&versions);
    tkl__buf_addz(&versions, run->schema->token);
    for (size_t i = 0; i < run->schema->shard_count; i++)
        tkl__buf_addf(&versions, "|%lld", strtoll(run->shards[i].version, NULL, 10));
    uint64_t stamp = versions.failed ? 0 : stamp_of(&versions);
    tkl__buf_free(&versions);
    return stamp;
}

/* Most items and bytes of one step, which takes the server about a millisecond. */
#define STEP_ITEMS 500
#define STEP_BYTES (128 << 10)

/* Adds items from *at on, as many as a step takes. */
static void add_items(const tkl__search_run *run, uint64_t stamp, size_t *at, tkl__buf *bytes,
                      tkl__args *args)
{
    size_t size = 0, end = *at;
    while (end < run->page_count && end < *at + STEP_ITEMS && size < STEP_BYTES)
        size += HEAD_BYTES + run->items[run->page + end++].bytes.len;
    tkl__buf_clear(bytes);
    if (!tkl__buf_reserve(bytes, size + 1)) /* reserved first, so that the bytes do not move */
        return;
    for (; *at < end; ++*at) {
        const tkl__search_found *item = &run->items[run->page + *at];
        size_t start = bytes->len;
        tkl__buf_add(bytes, &stamp, sizeof stamp);
        tkl__buf_add(bytes, &item->score, sizeof item->score);
        tkl__buf_add(bytes, &item->number, sizeof item->number);
        tkl__buf_add(bytes, item->bytes.data, item->bytes.len);
        tkl__args_bytes(args, (tkl_bytes){bytes->data + start, bytes->len - start});
    }
}

/* Sends the result in steps. A list that is not completed expires. */
static void send_items(tkl__search_run *run, tkl_bytes key, tkl_bytes making, int64_t keep_ms)
{
    char about[128];
    uint64_t stamp = stamp_found(run);
    tkl__keys keys = {(tkl_bytes[]){key, making}, 2};
    tkl__buf bytes;
    size_t at = 0;
    bool more = true;
    snprintf(about, sizeof about, "%" PRIx64 " %" PRId64 " %" PRId64 " %zu %d", stamp, run->total,
             run->compared, run->page_count, run->exact);
    tkl__buf_init(&bytes);
    while (more) {
        tkl_reply *reply = NULL;
        tkl__args args;
        tkl__args_init(&args);
        tkl__args_int(&args, keep_ms);
        tkl__args_str(&args, about);
        tkl__args_int(&args, (int64_t)run->page_count);
        add_items(run, stamp, &at, &bytes, &args);
        more = !bytes.failed &&
               tkl__eval(run->search->client, &tkl__lua_search_keep, &keys, &args,
                         tkl__search_deadline(run->search), false, &reply) == TKL_OK &&
               tkl_reply_int(reply) == 0 && at < run->page_count;
        tkl_reply_free(reply);
        tkl__args_free(&args);
    }
    tkl__buf_free(&bytes);
}

void tkl__search_kept_write(tkl__search_run *run, int64_t keep_ms)
{
    char token[TKL_TOKEN_SIZE];
    tkl__buf key, making;
    if (!run->exact)
        return;
    tkl__token_new(token);
    tkl__buf_init(&key);
    tkl__buf_init(&making);
    write_key(run, &key);
    write_key(run, &making);
    tkl__buf_addf(&making, ":%s", token);
    if (!key.failed && !making.failed)
        send_items(run, (tkl_bytes){key.data, key.len}, (tkl_bytes){making.data, making.len},
                   keep_ms);
    tkl__buf_free(&key);
    tkl__buf_free(&making);
}
