/* SPDX-License-Identifier: MIT */
#include "search/why.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* Words of the index that are compared with an unknown word, for each of its beginnings. */
#define NEAR_MOST "200"
/* Longer words are not compared. */
#define WORD_MAX 64
/* Most changes of a word that is like another one; a word with fewer bytes may have one only. */
#define CHANGES_MOST 2
#define SHORT_WORD   5

/* ---- Similar words ------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of bytes to change, to add, to leave out or to swap with the next one, so that one
 * word becomes the other. */
static size_t changes_between(tkl_bytes a, tkl_bytes b)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t k = 0; k <= b.len; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            bool same = a.data[i - 1] == b.data[k - 1];
            row[k] = least(least(above[k] + 1, row[k - 1] + 1), above[k - 1] + !same);
            if (i > 1 && k > 1 && a.data[i - 1] == b.data[k - 2] && a.data[i - 2] == b.data[k - 1])
                row[k] = least(row[k], higher[k - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

/* Asks each shard for words that begin like the term: with all of it but its end, with its first
 * half, with its first letter. */
static int ask_near(const tkl__search_run *run, tkl_bytes term, tkl_reply **replies)
{
    const size_t lengths[] = {term.len - 1, 1 + (term.len - 1) / 2, 2};
    tkl__batch batch;
    int rc = TKL_OK;
    tkl__batch_init(&batch, run->search->client);
    for (size_t i = 0; rc == TKL_OK && i < sizeof lengths / sizeof *lengths; i++) {
        tkl_bytes low = {0}, high = {0};
        rc = tkl__search_bounds((tkl_bytes){term.data, lengths[i]}, &low, &high);
        for (size_t k = 0; rc == TKL_OK && k < run->schema->shard_count; k++)
            TKL__BATCH_WORDS(&batch, tkl_str("ZRANGE"),
                             run->schema->shards[k].keys[TKL__SEARCH_TERMS], low, high,
                             tkl_str("BYLEX"), tkl_str("LIMIT"), tkl_str("0"), tkl_str(NEAR_MOST));
        tkl__batch_fail(&batch, rc);
        free((char *)low.data);
        free((char *)high.data);
    }
    return tkl__batch_end(&batch, tkl__search_deadline(run->search), replies);
}

/* Finds the word of the index that is most like the term, 'w' and a word that is not known. */
static int find_nearest(tkl__search_run *run, tkl_bytes term)
{
    tkl_reply *replies = NULL;
    tkl_bytes nearest = {0};
    size_t fewest = term.len - 1 < SHORT_WORD ? 2 : CHANGES_MOST + 1;
    if (term.len < 3 || term.len > WORD_MAX)
        return TKL_OK;
    int rc = ask_near(run, term, &replies);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(replies); i++) {
        const tkl_reply *names = tkl_reply_at(replies, i);
        for (size_t k = 0; k < tkl_reply_count(names); k++) {
            tkl_bytes name = tkl_reply_bytes(tkl_reply_at(names, k));
            if (name.len < 2 || name.len > WORD_MAX || name.data[0] != 'w')
                continue;
            size_t changes = changes_between(term, name);
            if (changes < fewest) {
                fewest = changes;
                nearest = (tkl_bytes){name.data + 1, name.len - 1};
            }
        }
    }
    if (rc == TKL_OK && nearest.len)
        rc = tkl__search_box_copy(run->box, nearest, &run->box->is.nearest);
    tkl_reply_free(replies);
    return rc;
}

/* ---- Why nothing was found ----------------------------------------------- */

/* Says that no document has a word that is wanted; *said is false when all words are known. */
static int say_unknown(tkl__search_run *run, tkl__buf *out, bool *said)
{
    int rc = TKL_OK;
    for (size_t i = 0; run->sizes && !*said && i < run->plan->scorer_count; i++) {
        const tkl__search_scorer *word = &run->plan->scorers[i];
        if (!word->required || word->prefix.data || run->sizes[word->terms[0]])
            continue;
        tkl_bytes term = run->plan->terms[word->terms[0]];
        *said = true;
        rc = find_nearest(run, term);
        tkl__buf_addz(out, "no document has the word \"");
        tkl__buf_add(out, term.data + 1, term.len - 1);
        tkl__buf_addz(out, "\"");
        if (rc == TKL_OK && run->box->is.nearest.len)
            tkl__buf_addf(out, "; the nearest is \"" TKL_FMT "\"", TKL_ARG(run->box->is.nearest));
    }
    return rc;
}

static bool has_words(const tkl__search_plan *plan, tkl_bytes prefix)
{
    tkl__buf term;
    tkl__buf_init(&term);
    tkl__search_term_word(&term, prefix);
    const tkl_names *words = term.failed ? NULL : tkl__search_prefix_words(plan, &term);
    tkl__buf_free(&term);
    return words && words->count;
}

/* Says that no document has a word with a prefix that is wanted, like say_unknown(). For "don't*"
 * the text adds that the index never has the word itself. */
static void say_no_prefix(const tkl__search_run *run, tkl__buf *out, bool *said)
{
    const tkl__search_query *query = &run->plan->query;
    for (size_t i = 0; i < query->wanted_count && !*said; i++) {
        const tkl__search_query_item *item = query->wanted[i].items;
        for (size_t k = 0; query->wanted[i].count == 1 && k < item->count && !*said; k++) {
            tkl_bytes text = item->terms[k].text;
            if (!item->terms[k].prefix || has_words(run->plan, text))
                continue;
            *said = true;
            tkl__buf_addf(out, "no document has a word that begins with \"" TKL_FMT "\"",
                          TKL_ARG(text));
            if (tkl__text_word_set_has(&run->schema->stop, text))
                tkl__buf_addz(out, "; that word itself is a stop word");
        }
    }
}

const char *tkl__search_nothing_text(const tkl__search_query *query)
{
    static const char *const reasons[] = {
        [TKL__QUERY_EMPTY] = "the query has no words",
        [TKL__QUERY_STOPPED] = "the query has stop words only",
        [TKL__QUERY_EXCLUDING] = "the query has excluded words only; for all documents without "
                                 "them, begin it with *",
        [TKL__QUERY_NO_RANGE] = "the ranges of the query have no number in common",
    };
    return reasons[query->why];
}

static int say_why(tkl__search_run *run)
{
    const tkl__search_query *query = &run->plan->query;
    tkl__buf out;
    bool said = false;
    int rc = TKL_OK;
    tkl__buf_init(&out);
    if (query->nothing)
        tkl__buf_addz(&out, tkl__search_nothing_text(query));
    else
        rc = say_unknown(run, &out, &said);
    if (!query->nothing && !said && rc == TKL_OK)
        say_no_prefix(run, &out, &said);
    if (!query->nothing && !said)
        tkl__buf_addz(&out, "no document has all that the query asks for");
    if (rc == TKL_OK)
        rc = out.failed ? tkl__nomem()
                        : tkl__search_box_copy(run->box, (tkl_bytes){out.data, out.len},
                                               &run->box->is.why);
    tkl__buf_free(&out);
    return rc;
}

int tkl__search_say_query(tkl__search_run *run)
{
    const tkl__search_query *query = &run->plan->query;
    int rc = query->understood.len
                 ? tkl__search_box_copy(run->box, query->understood, &run->box->is.understood)
                 : TKL_OK;
    if (rc == TKL_OK && query->dropped.len)
        rc = tkl__search_box_copy(run->box, query->dropped, &run->box->is.dropped);
    return rc;
}

int tkl__search_say(tkl__search_run *run)
{
    int rc = tkl__search_say_query(run);
    return rc == TKL_OK && run->total == 0 ? say_why(run) : rc;
}
