/* SPDX-License-Identifier: MIT
 *
 * Suggestions: feeding and removing.
 *
 * A batch is divided among runs of the script that take the server a few milliseconds at most; all
 * runs are sent in one round trip.
 */
#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/letters.h"
#include "suggest/scripts.h"
#include "suggest/suggest.h"

/* Most prefixes of the texts of one run, unless it has a single text. */
#define RUN_COST 250
/* Additional cost of a removed text: the server looks for other texts to fill its places. */
#define GAPS_COST 200

/* A text, prepared for the server: offsets in a buffer that is still growing. */
typedef struct record {
    size_t key, key_len;
    size_t starts, starts_len;
    size_t cost;
    bool shown; /* the text differs from the key */
} record;

/* Texts to feed, or to remove. */
typedef struct batch {
    tkl_suggest *suggest;
    const tkl_suggest_text *texts; /* NULL: a removal */
    const tkl_bytes *gone;
    size_t count;
    tkl__suggest_settings settings;
    char settings_text[TKL__SETTINGS_SIZE];
    tkl__buf store;
    record *records;
} batch;

static tkl_bytes text_of(const batch *b, size_t i)
{
    return b->texts ? b->texts[i].text : b->gone[i];
}

/* ---- Checking ------------------------------------------------------------ */

static int check_weight(const tkl_suggest_text *text, size_t index)
{
    double w = text->weight;
    if (text->reserved[0] || text->reserved[1])
        return tkl__fail(TKL_EINVAL, "text %zu: its reserved words are not zero", index);
    if (w != 0 && !(w >= TKL_SUGGEST_WEIGHT_MIN && w <= TKL_SUGGEST_WEIGHT_MAX))
        return tkl__fail(TKL_EINVAL, "text %zu: a weight is from 1e-9 to 1e15", index);
    return TKL_OK;
}

static int check_all(const batch *b)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < b->count; i++) {
        rc = tkl__suggest_check_text(text_of(b, i), i);
        if (rc == TKL_OK && b->texts)
            rc = check_weight(&b->texts[i], i);
    }
    return rc;
}

/* ---- Runs ---------------------------------------------------------------- */

static int make_record(batch *b, size_t i)
{
    record *r = &b->records[i];
    tkl_bytes text = text_of(b, i);
    r->key = b->store.len;
    int rc = tkl__suggest_key(text, &b->settings, &b->store);
    r->key_len = b->store.len - r->key;
    r->shown = !tkl__same_bytes((tkl_bytes){b->store.data + r->key, r->key_len}, text);
    r->starts = b->store.len;
    if (rc != TKL_OK)
        return rc;
    /* A copy, because the buffer grows while the starts are written. */
    char *key = tkl__copy_bytes((tkl_bytes){b->store.data + r->key, r->key_len});
    if (!key)
        return tkl__nomem();
    rc = tkl__suggest_starts((tkl_bytes){key, r->key_len}, &b->settings, &b->store, &r->cost);
    r->starts_len = b->store.len - r->starts;
    r->cost++; /* a text without prefixes is work, too */
    if (!b->texts)
        r->cost = 2 * r->cost + GAPS_COST;
    free(key);
    return rc;
}

static void begin_run(batch *b, tkl__args *run)
{
    tkl__args_init(run);
    tkl__args_str(run, b->settings_text);
    tkl__args_int(run, b->suggest->options.ttl_ms);
    if (b->texts)
        tkl__args_int(run, b->settings.half_life);
    tkl__args_int(run, b->settings.best);
    if (b->texts)
        tkl__args_int(run, b->settings.texts);
}

static void add_to_run(batch *b, size_t i, tkl__args *run)
{
    const record *r = &b->records[i];
    tkl__args_bytes(run, (tkl_bytes){b->store.data + r->key, r->key_len});
    if (!b->texts)
        return;
    tkl__args_double(run, b->texts[i].weight == 0 ? 1 : b->texts[i].weight);
    tkl__args_bytes(run, r->shown ? b->texts[i].text : tkl_str(""));
    tkl__args_bytes(run, (tkl_bytes){b->store.data + r->starts, r->starts_len});
}

/* Sends the runs and adds up their replies. *again: the suggestions have other settings. */
static int send_runs(batch *b, bool retry_safe, int64_t *number, bool *again)
{
    const tkl__script *script = b->texts ? &tkl__lua_suggest_feed : &tkl__lua_suggest_remove;
    const tkl_reply *other = NULL;
    tkl__batch runs;
    tkl__batch_init(&runs, b->suggest->client);
    for (size_t i = 0; i < b->count;) {
        size_t cost = 0;
        tkl__args run;
        begin_run(b, &run);
        do {
            cost += b->records[i].cost;
            add_to_run(b, i++, &run);
        } while (i < b->count && cost + b->records[i].cost <= RUN_COST);
        tkl__batch_eval(&runs, script, &b->suggest->keys, &run, retry_safe);
        tkl__args_free(&run);
    }
    int rc = tkl__batch_run(&runs, tkl__suggest_deadline(b->suggest));
    if (rc == TKL_OK)
        tkl__batch_sum(&runs, number, &other);
    *again = other != NULL;
    if (other)
        rc = tkl__suggest_learn(b->suggest, tkl_reply_bytes(other));
    tkl__batch_free(&runs);
    return rc;
}

static int run_once(batch *b, bool retry_safe, int64_t *number, bool *again)
{
    tkl__suggest_known(b->suggest, &b->settings);
    tkl__suggest_text(&b->settings, b->settings_text);
    tkl__buf_init(&b->store);
    b->records = calloc(b->count, sizeof *b->records);
    int rc = b->records ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < b->count; i++)
        rc = make_record(b, i);
    if (rc == TKL_OK)
        rc = send_runs(b, retry_safe, number, again);
    tkl__buf_free(&b->store);
    free(b->records);
    return rc;
}

static int run_batch(batch *b, bool retry_safe, int64_t *number)
{
    bool again = true;
    int rc = check_all(b);
    if (rc != TKL_OK || b->count == 0)
        return rc;
    for (int i = 0; rc == TKL_OK && again && i < TKL__SUGGEST_TRIES; i++) {
        again = false;
        rc = run_once(b, retry_safe, number, &again);
    }
    return rc == TKL_OK && again ? tkl__no(TKL_CONFLICT) : rc;
}

int tkl_suggest_feed(tkl_suggest *suggest, const tkl_suggest_text *texts, size_t count)
{
    static const tkl_suggest_text none[1];
    batch b = {.suggest = suggest, .texts = count ? texts : none, .count = count};
    int64_t added = 0;
    return run_batch(&b, false, &added);
}

int tkl_suggest_remove(tkl_suggest *suggest, const tkl_bytes *texts, size_t count, int64_t *removed)
{
    batch b = {.suggest = suggest, .gone = texts, .count = count};
    int64_t number = 0;
    int rc = run_batch(&b, removed == NULL, &number);
    if (removed)
        *removed = number;
    return rc;
}
