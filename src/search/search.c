/* SPDX-License-Identifier: MIT
 *
 * Search: opening, what concerns the whole index.
 *
 * Keys of a shard, all in one slot (ns:search:{name}:..., and {name%231} and so on for the other
 * shards). They are the user's own data and stay until drop, unless the list says something else.
 *
 *   :meta     hash. token: random, made with the index, so that a handle notices another index of
 *             the same name. The settings (schema.c). version: grows when results may change, and
 *             is never used again. batches: how many were added. next: the least number that was
 *             never used. docs, words: totals of the shard. clean_at:
 *             when a check last ended. While one runs: check, its id; counted, counted_words: see
 *             documents.add_words(). On the other shards this key is :shard.
 *   :ids      hash: id, number.
 *   :docs     hash: number, record (record.c): length, values, id.
 *   :forward  hash: number, terms: what must be taken out when the document goes; and how often and
 *             where each term stands. Long ones are in pieces, "number:1" and so on; the hash of a
 *             term says in which (pieces.c).
 *   :texts    hash: number, text; behind its first 64 KB in pieces.
 *   :live     bitmap: the numbers that can be found.
 *   :dead     sorted set: number, stamp. Numbers that are on their way in or out.
 *   :free     set: numbers to be used again.
 *   :terms    sorted set of equal scores, in the order of bytes: all terms, for prefixes and drop.
 *   :t:TERM   the numbers of the documents with a term: a set, or a bitmap if there are many. A
 *             term is 'w' and a word, or 'v', a field, '=' and a value, or 'v', a field and '*':
 *             any value. Two more kinds are not in :terms, since they follow from the record and
 *             the words: 'l' and a band of lengths; 'm', 2, 4 or 8, and a word that the document
 *             has at least so many times (bests.inc.lua).
 *   :common   hash: term that has a bitmap, its count.
 *   :f:FIELD  sorted set. Numeric field: number by value. Text field: "value NUL number" by
 *             tkl_text_score() of the value, so that equal scores are in the order of the values.
 *             Documents without a value have the score inf.
 *   :ladder   hash: step, threshold. :step:FIELD:top:N, :low:N, :rung:N  bitmaps: the documents
 *             that come first by a field, and the documents from a value on (ladders.inc.lua).
 *   :scratch:N     bitmaps of one script; it removes them.
 *   :range:...     bitmap of a range for one version of the shard; expires after 30 s.
 *   :union:...     the same of a list of terms.
 *   :times:...     bitmaps of the documents that have the words of a prefix at least so many times,
 *                  for one version of the shard; expire after 30 s.
 *   :result:...    bitmap: the result of a query, kept between two of its steps; expires after
 *                  10 s.
 *   :kept:...      list: a kept result; expires.
 *
 * Numbers. A document has a small integer in place of its id, so that sets of documents are arrays
 * and bitmaps of the server, and intersections its own commands. A new version of a document gets
 * a new number. First a writer enters it under all of its terms, while it is dead. Then it comes
 * alive and the old number dies, in one step. Last, the writer takes the old number out. So a query
 * finds the old or the new version, even when a writer is killed. A script must get its keys from
 * the client, and only the old version's record has its terms: that is why taking out needs a
 * second round trip. A stamp keeps writers from taking out a number that has been used again. While
 * there are dead numbers, a query intersects with :live.
 *
 * Queries. The client turns a query into steps (plan.c); search/query looks at the sizes of all
 * terms, which cost nothing to know, and carries the steps out from the smallest (plans.inc.lua,
 * sets.inc.lua). It counts exactly, and then takes the cheapest of three ways to the first page:
 * to intersect with the documents that come first by the field (ladders.inc.lua), to walk down the
 * order of the field and test each document (deep pages), or to send all hits to the client, which
 * sorts them (few hits). docs/search.md has the reasons and the figures.
 */
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "search/highlight.h"
#include "search/scripts.h"

static int check_options(const tkl_search_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    return rc == TKL_OK ? tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX) : rc;
}

int tkl_search_open(tkl_client *client, tkl_bytes name, const tkl_search_options *options,
                    tkl_search **search)
{
    static const tkl_search_options defaults;
    tkl__base base;
    *search = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc == TKL_OK)
        rc = tkl__base_make(client, "search", name, &base);
    if (rc != TKL_OK)
        return rc;
    tkl__base_free(&base); /* it was only needed to check the name */
    tkl_search *s = calloc(1, sizeof *s);
    char *copy = malloc(name.len);
    if (!s || !copy) {
        free(s);
        free(copy);
        return tkl__nomem();
    }
    memcpy(copy, name.data, name.len);
    s->client = client;
    s->name = (tkl_bytes){copy, name.len};
    s->options = *options;
    s->known = &s->schema;
    *search = s;
    return TKL_OK;
}

void tkl_search_close(tkl_search *search)
{
    if (!search)
        return;
    tkl__search_schema_free(search->schema);
    free((char *)search->name.data);
    free(search);
}

tkl_search tkl__search_with_timeout(const tkl_search *search, int64_t timeout_ms)
{
    tkl_search copy = {.client = search->client,
                       .name = search->name,
                       .options = search->options,
                       .known = search->known};
    if (timeout_ms > 0)
        copy.options.timeout_ms = timeout_ms;
    return copy;
}

int64_t tkl__search_deadline(const tkl_search *search)
{
    return tkl__deadline(search->client, search->options.timeout_ms);
}

int tkl__search_try(tkl_search *search, tkl__search_attempt *attempt, void *arg)
{
    tkl__search_outcome outcome = TKL__SEARCH_STALE;
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && outcome != TKL__SEARCH_DONE && i < TKL__SEARCH_TRIES; i++) {
        tkl__search_schema *schema;
        outcome = TKL__SEARCH_DONE;
        rc = tkl__search_schema_get(search, &schema);
        if (rc != TKL_OK)
            return rc;
        rc = attempt(search, schema, arg, &outcome);
        if (outcome == TKL__SEARCH_STALE)
            tkl__search_schema_forget(search, schema);
        tkl__search_schema_free(schema);
    }
    if (rc == TKL_OK && outcome == TKL__SEARCH_STALE)
        rc = tkl__fail(TKL_EDAMAGED, "a shard of the index is missing: create the index again");
    if (rc == TKL_OK && outcome == TKL__SEARCH_CHANGED)
        rc = tkl__fail(TKL_CONFLICT, "the words of the index change all the time");
    return rc;
}

int tkl_search_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "search", "meta", "hash", names);
}

/* ---- Highlighting -------------------------------------------------------- */

typedef struct marks_box {
    tkl_search_marks is;
    char bytes[];
} marks_box;

static int make_marks(const tkl__buf *text, size_t count, tkl_search_marks **marks)
{
    marks_box *box = text->failed ? NULL : malloc(sizeof *box + text->len);
    if (!box)
        return tkl__nomem();
    memcpy(box->bytes, text->data, text->len);
    box->is = (tkl_search_marks){.text = {box->bytes, text->len}, .count = count};
    *marks = &box->is;
    return TKL_OK;
}

static int check_marks(const tkl_search_mark_options *options)
{
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX});
    return rc == TKL_OK ? tkl__check_number("length", options->length, 0, TKL_SEARCH_TEXT_MAX) : rc;
}

static int mark(const tkl__search_schema *schema, tkl_bytes query, tkl_bytes text,
                const tkl_search_mark_options *options, tkl_search_marks **marks)
{
    bool usual = options->before.len == 0 && options->after.len == 0;
    tkl__search_highlight_options how = {.before = usual ? tkl_str("<b>") : options->before,
                                         .after = usual ? tkl_str("</b>") : options->after,
                                         .length = (size_t)options->length,
                                         .html = options->html};
    tkl__search_query_rules rules = schema->rules;
    tkl__buf out;
    size_t count = 0;
    bool again;
    int rc;
    tkl__buf_init(&out);
    do {
        tkl__search_query tree;
        tkl__buf_clear(&out);
        rc = tkl__search_highlight_query(query, &rules, &tree);
        if (rc != TKL_OK)
            break;
        rc = tkl__search_highlight(text, &tree, &rules, &how, &out, &count);
        again = count == 0 && tree.can_be_cut && !rules.cut; /* as a query that finds nothing */
        rules.cut = true;
        tkl__search_query_free(&tree);
    } while (rc == TKL_OK && again);
    if (rc == TKL_OK)
        rc = make_marks(&out, count, marks);
    tkl__buf_free(&out);
    return rc;
}

int tkl_search_highlight(tkl_search *search, tkl_bytes query, tkl_bytes text,
                         const tkl_search_mark_options *options, tkl_search_marks **marks)
{
    static const tkl_search_mark_options defaults;
    tkl__search_schema *schema;
    *marks = NULL;
    if (!options)
        options = &defaults;
    int rc = check_marks(options);
    tkl_search own = tkl__search_with_timeout(search, options->timeout_ms);
    if (rc == TKL_OK)
        rc = tkl__search_schema_get(&own, &schema);
    if (rc != TKL_OK)
        return rc;
    rc = mark(schema, query, text, options, marks);
    tkl__search_schema_free(schema);
    return rc;
}

void tkl_search_marks_free(tkl_search_marks *marks)
{
    free(marks);
}
