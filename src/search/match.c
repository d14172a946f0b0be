/* SPDX-License-Identifier: MIT */
#include "search/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "text/library.h"

/* ---- Terms of a document ------------------------------------------------- */

static bool grow_entries(tkl__search_entries *entries)
{
    size_t cap = entries->cap ? 2 * entries->cap : 64;
    tkl__search_entry *items = realloc(entries->items, cap * sizeof *items);
    if (!items)
        return false;
    entries->items = items;
    entries->cap = cap;
    return true;
}

int tkl__search_entries_read(tkl__search_entries *entries, tkl_bytes terms, bool positions)
{
    tkl__search_entry entry;
    bool damaged = false;
    entries->count = 0;
    while (tkl__search_entry_next(&terms, positions, &entry, &damaged)) {
        if (entries->count == entries->cap && !grow_entries(entries))
            return tkl__nomem();
        entries->items[entries->count++] = entry;
    }
    return damaged ? tkl__fail(TKL_EDAMAGED, "the terms of a document are damaged") : TKL_OK;
}

void tkl__search_entries_free(tkl__search_entries *entries)
{
    free(entries->items);
    *entries = (tkl__search_entries){0};
}

static const tkl__search_entry *find_entry(const tkl__search_entries *entries, tkl_bytes term,
                                           bool prefix)
{
    for (size_t i = 0; i < entries->count; i++) {
        tkl_bytes has = entries->items[i].term;
        if (prefix ? tkl__begins_with(has, term) : tkl__same_bytes(has, term))
            return &entries->items[i];
    }
    return NULL;
}

const tkl__search_entry *tkl__search_entry_of(const tkl__search_entries *entries, tkl_bytes term)
{
    return find_entry(entries, term, false);
}

static const tkl__search_entry *find_word(const tkl__search_entries *entries,
                                          const tkl__search_query_term *word)
{
    tkl__buf term;
    tkl__buf_init(&term);
    tkl__search_term_word(&term, word->text);
    const tkl__search_entry *found =
        find_entry(entries, (tkl_bytes){term.data, term.len}, word->prefix);
    tkl__buf_free(&term);
    return found;
}

/* ---- Items of a query ---------------------------------------------------- */

static bool has_words(const tkl__search_query_item *item, const tkl__search_entries *entries)
{
    for (size_t i = 0; i < item->count; i++)
        if (!find_word(entries, &item->terms[i]))
            return false;
    return true;
}

static bool stands_at(const tkl__search_entry *entry, uint64_t position)
{
    tkl_bytes rest = entry->positions;
    uint32_t at = 0;
    while (tkl__search_position_next(&rest, &at))
        if (at >= position)
            return at == position;
    return false;
}

static bool has_phrase_at(const tkl__search_query_item *item, const tkl__search_entry *const *found,
                          uint32_t position)
{
    for (size_t i = 1; i < item->count; i++)
        if (!stands_at(found[i], (uint64_t)position + item->terms[i].at))
            return false;
    return true;
}

static bool has_phrase(const tkl__search_query_item *item, const tkl__search_entries *entries)
{
    const tkl__search_entry **found = malloc(item->count * sizeof(tkl__search_entry *));
    bool has = found != NULL;
    for (size_t i = 0; has && i < item->count; i++) {
        found[i] = find_word(entries, &item->terms[i]);
        has = found[i] != NULL;
    }
    if (has) {
        tkl_bytes rest = found[0]->positions;
        uint32_t at = 0;
        has = false;
        while (!has && tkl__search_position_next(&rest, &at))
            has = has_phrase_at(item, found, at);
    }
    free(found);
    return has;
}

static bool has_value(const tkl__search_plan *plan, const tkl__search_query_item *item,
                      const tkl__search_entries *entries)
{
    tkl__buf term;
    tkl__buf_init(&term);
    bool prefix = tkl__search_value_term(plan, item, &term);
    bool has = find_entry(entries, (tkl_bytes){term.data, term.len}, prefix) != NULL;
    tkl__buf_free(&term);
    return has;
}

static bool in_range(const tkl__search_query_item *item, const tkl__search_record *record)
{
    const tkl__search_cell *cell = &record->cells[item->field];
    if (!cell->present)
        return false;
    bool above = item->low_open ? cell->number > item->low : cell->number >= item->low;
    bool below = item->high_open ? cell->number < item->high : cell->number <= item->high;
    return above && below;
}

bool tkl__search_has_item(const tkl__search_plan *plan, const tkl__search_query_item *item,
                          const tkl__search_record *record, const tkl__search_entries *entries)
{
    switch (item->kind) {
    case TKL__QUERY_WORDS:
        return has_words(item, entries);
    case TKL__QUERY_PHRASE:
        return has_phrase(item, entries);
    case TKL__QUERY_VALUE:
        return has_value(plan, item, entries);
    case TKL__QUERY_RANGE:
        return in_range(item, record);
    }
    return false;
}

bool tkl__search_matches(const tkl__search_plan *plan, const tkl__search_record *record,
                         const tkl__search_entries *entries)
{
    const tkl__search_query *q = &plan->query;
    for (size_t i = 0; i < q->wanted_count; i++) {
        bool any = false;
        for (size_t k = 0; !any && k < q->wanted[i].count; k++)
            any = tkl__search_has_item(plan, &q->wanted[i].items[k], record, entries);
        if (!any)
            return false;
    }
    for (size_t i = 0; i < q->excluded_count; i++)
        if (tkl__search_has_item(plan, &q->excluded[i], record, entries))
            return false;
    return true;
}

/* ---- Relevance ----------------------------------------------------------- */

#define K1 1.2
#define B  0.75

/* A term of a scorer. */
typedef struct tkl__search_weighted {
    tkl_bytes term;
    size_t scorer;
} tkl__search_weighted;

static int by_term(const void *a, const void *b)
{
    const tkl__search_weighted *x = a, *y = b;
    return tkl__text_word_compare(&x->term, &y->term);
}

/* The number of documents with the most frequent term of a scorer. */
static double documents_of(const tkl__search_scorer *scorer, const int64_t *sizes)
{
    int64_t most = 0;
    for (size_t i = 0; i < scorer->count; i++)
        if (sizes[scorer->terms[i]] > most)
            most = sizes[scorer->terms[i]];
    return (double)most;
}

int tkl__search_rarity_make(tkl__search_rarity *rarity, const tkl__search_plan *plan,
                            const int64_t *sizes, int64_t docs, int64_t words)
{
    size_t count = 0, scorers = plan->scorer_count;
    for (size_t i = 0; i < scorers; i++)
        count += plan->scorers[i].count;
    *rarity = (tkl__search_rarity){
        .weight = calloc(scorers + 1, sizeof *rarity->weight),
        .terms = calloc(count + 1, sizeof *rarity->terms),
        .scorers = plan->scorers,
        .scorer_count = scorers,
        .times = calloc(scorers + 1, sizeof *rarity->times),
        .length = docs > 0 && words > 0 ? (double)words / (double)docs : 1,
    };
    if (!rarity->weight || !rarity->terms || !rarity->times) {
        tkl__search_rarity_free(rarity);
        return tkl__nomem();
    }
    for (size_t i = 0; i < scorers; i++) {
        const tkl__search_scorer *scorer = &plan->scorers[i];
        double has = documents_of(scorer, sizes), without = fmax(0, (double)docs - has);
        if (has > 0)
            rarity->weight[i] = log(1 + (without + 0.5) / (has + 0.5));
        for (size_t k = 0; k < scorer->count; k++)
            rarity->terms[rarity->term_count++] =
                (tkl__search_weighted){.term = plan->terms[scorer->terms[k]], .scorer = i};
    }
    qsort(rarity->terms, rarity->term_count, sizeof *rarity->terms, by_term);
    return TKL_OK;
}

void tkl__search_rarity_free(tkl__search_rarity *rarity)
{
    free(rarity->weight);
    free(rarity->terms);
    free(rarity->times);
    *rarity = (tkl__search_rarity){.weight = NULL};
}

uint32_t tkl__search_counted(const tkl__search_scorer *scorer, uint32_t times)
{
    if (!scorer->prefix.data || times < 2)
        return times;
    return times < 4 ? 2 : times < 8 ? 4 : 8;
}

/* The first of the terms that is not before this one. */
static size_t first_from(const tkl__search_rarity *rarity, tkl_bytes term)
{
    size_t low = 0, high = rarity->term_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tkl__text_word_compare(&rarity->terms[middle].term, &term) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tkl__search_count_times(const tkl__search_rarity *rarity, const tkl__search_entries *entries)
{
    memset(rarity->times, 0, rarity->scorer_count * sizeof *rarity->times);
    for (size_t i = 0; i < entries->count; i++) {
        const tkl__search_entry *entry = &entries->items[i];
        for (size_t at = first_from(rarity, entry->term);
             at < rarity->term_count && tkl__same_bytes(rarity->terms[at].term, entry->term);
             at++) {
            size_t scorer = rarity->terms[at].scorer;
            uint32_t counted = tkl__search_counted(&rarity->scorers[scorer], entry->times);
            rarity->times[scorer] += counted;
        }
    }
    for (size_t i = 0; i < rarity->scorer_count; i++)
        if (rarity->scorers[i].prefix.data && rarity->times[i] > TKL__SEARCH_PREFIX_TIMES_MAX)
            rarity->times[i] = TKL__SEARCH_PREFIX_TIMES_MAX;
}

double tkl__search_impact(const tkl__search_rarity *rarity, const tkl__search_record *record,
                          size_t scorer)
{
    double times = rarity->times[scorer];
    double norm = K1 * (1 - B + B * record->length / rarity->length);
    return times > 0 ? rarity->weight[scorer] * times * (K1 + 1) / (times + norm) : 0;
}

double tkl__search_relevance(const tkl__search_rarity *rarity, const tkl__search_record *record,
                             const tkl__search_entries *entries)
{
    double sum = 0;
    tkl__search_count_times(rarity, entries);
    for (size_t i = 0; i < rarity->scorer_count; i++)
        sum += tkl__search_impact(rarity, record, i);
    return sum;
}
