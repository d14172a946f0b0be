/* SPDX-License-Identifier: MIT */
#include "search/match.h"

#include <math.h>
#include <stdlib.h>

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

/* A term of the plan that counts for the relevance. */
typedef struct tkl__search_weighted {
    tkl_bytes term;
    double weight;
} tkl__search_weighted;

static int by_term(const void *a, const void *b)
{
    const tkl__search_weighted *x = a, *y = b;
    return tkl__text_word_compare(&x->term, &y->term);
}

int tkl__search_rarity_make(tkl__search_rarity *rarity, const tkl__search_plan *plan,
                            const int64_t *sizes, int64_t docs, int64_t words)
{
    *rarity = (tkl__search_rarity){
        .weight = calloc(plan->term_count + 1, sizeof *rarity->weight),
        .scored = calloc(plan->term_count + 1, sizeof *rarity->scored),
        .length = docs > 0 && words > 0 ? (double)words / (double)docs : 1,
    };
    if (!rarity->weight || !rarity->scored) {
        tkl__search_rarity_free(rarity);
        return tkl__nomem();
    }
    for (size_t i = 0; i < plan->term_count; i++) {
        double has = (double)sizes[i], without = fmax(0, (double)docs - has);
        if (!plan->scored[i] || has <= 0)
            continue;
        rarity->weight[i] = log(1 + (without + 0.5) / (has + 0.5));
        rarity->scored[rarity->scored_count++] =
            (tkl__search_weighted){.term = plan->terms[i], .weight = rarity->weight[i]};
    }
    qsort(rarity->scored, rarity->scored_count, sizeof *rarity->scored, by_term);
    return TKL_OK;
}

void tkl__search_rarity_free(tkl__search_rarity *rarity)
{
    free(rarity->weight);
    free(rarity->scored);
    *rarity = (tkl__search_rarity){.weight = NULL};
}

double tkl__search_impact(const tkl__search_rarity *rarity, const tkl__search_record *record,
                          const tkl__search_entry *entry)
{
    double norm = K1 * (1 - B + B * record->length / rarity->length);
    const tkl__search_weighted *found =
        bsearch(&(tkl__search_weighted){.term = entry->term}, rarity->scored, rarity->scored_count,
                sizeof *found, by_term);
    return found ? found->weight * entry->times * (K1 + 1) / (entry->times + norm) : 0;
}

double tkl__search_relevance(const tkl__search_rarity *rarity, const tkl__search_record *record,
                             const tkl__search_entries *entries)
{
    double sum = 0;
    for (size_t i = 0; i < entries->count; i++)
        sum += tkl__search_impact(rarity, record, &entries->items[i]);
    return sum;
}
