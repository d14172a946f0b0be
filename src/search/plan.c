/* SPDX-License-Identifier: MIT */
#include "search/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/lex.h"
#include "core/names.h"
#include "core/options.h"

/* ---- Terms with a prefix ------------------------------------------------- */

static int copy_buffer(const tkl__buf *buf, tkl_bytes *copy)
{
    char *data = buf->failed ? NULL : tkl__copy_bytes((tkl_bytes){buf->data, buf->len});
    *copy = (tkl_bytes){data, buf->len};
    return data ? TKL_OK : tkl__nomem();
}

int tkl__search_bounds(tkl_bytes prefix, tkl_bytes *low, tkl_bytes *high)
{
    tkl__buf buf;
    tkl__buf_init(&buf);
    tkl__buf_add(&buf, "[", 1);
    tkl__buf_add(&buf, prefix.data, prefix.len);
    int rc = copy_buffer(&buf, low);
    tkl__buf_clear(&buf);
    tkl__lex_above(&buf, prefix);
    if (rc == TKL_OK)
        rc = copy_buffer(&buf, high);
    tkl__buf_free(&buf);
    return rc;
}

/* Runs "ZRANGE terms low high BYLEX LIMIT 0 most+1" on each shard, in one round trip. */
static int ask_terms(tkl_search *search, const tkl__search_schema *schema, tkl_bytes low,
                     tkl_bytes high, int64_t most, tkl_reply **replies)
{
    char limit[24];
    tkl__batch batch;
    snprintf(limit, sizeof limit, "%" PRId64, most + 1);
    tkl__batch_init(&batch, search->client);
    for (size_t i = 0; i < schema->shard_count; i++)
        TKL__BATCH_WORDS(&batch, tkl_str("ZRANGE"), schema->shards[i].keys[TKL__SEARCH_TERMS], low,
                         high, tkl_str("BYLEX"), tkl_str("LIMIT"), tkl_str("0"), tkl_str(limit));
    return tkl__batch_end(&batch, tkl__search_deadline(search), replies);
}

int tkl__search_take_names(const tkl_reply *reply, tkl__names *all)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(reply); i++)
        rc = tkl__names_add_copy(all, tkl_reply_bytes(tkl_reply_at(reply, i)));
    return rc;
}

/* Finds the terms that begin with the prefix. prefix->words stays NULL when there are more than
 * `most`. */
static int read_prefix_terms(tkl_search *search, const tkl__search_schema *schema, int64_t most,
                             tkl__search_prefix *prefix)
{
    tkl__names all = {0};
    tkl_reply *replies = NULL;
    int rc = ask_terms(search, schema, prefix->low, prefix->high, most, &replies);
    for (size_t i = 0; rc == TKL_OK && i < schema->shard_count; i++) {
        prefix->counts[i] = (int64_t)tkl_reply_count(tkl_reply_at(replies, i));
        rc = tkl__search_take_names(tkl_reply_at(replies, i), &all);
    }
    tkl_reply_free(replies);
    if (rc == TKL_OK) {
        tkl__names_tidy(&all, NULL, NULL);
        prefix->cut = (int64_t)all.count > most;
    }
    if (rc == TKL_OK && !prefix->cut)
        rc = tkl__names_result(&all, &prefix->words);
    tkl__names_free(&all);
    return rc;
}

/* ---- Prefixes of a query ------------------------------------------------- */

/* Adds a prefix: a term without its end. */
static int add_prefix(tkl__search_plan *plan, const tkl__buf *term)
{
    if (term->len >= TKL__SEARCH_PREFIX_BYTES)
        return tkl__fail(TKL_EINVAL, "a prefix has less than %d bytes", TKL__SEARCH_PREFIX_BYTES);
    tkl__search_prefix *prefix = calloc(1, sizeof *prefix);
    if (!prefix)
        return tkl__nomem();
    prefix->next = plan->prefixes;
    plan->prefixes = prefix;
    plan->prefix_count++;
    prefix->counts = calloc(plan->schema->shard_count, sizeof *prefix->counts);
    int rc = prefix->counts ? copy_buffer(term, &prefix->term) : tkl__nomem();
    return rc == TKL_OK ? tkl__search_bounds(prefix->term, &prefix->low, &prefix->high) : rc;
}

static void term_of_word(tkl__buf *out, tkl_bytes word)
{
    tkl__buf_clear(out);
    tkl__search_term_word(out, word);
}

/* Whether the item asks for any value of a field: "field:*". */
static bool is_any_value(const tkl__search_query_item *item)
{
    return item->kind == TKL__QUERY_VALUE && item->prefix && item->value.len == 0;
}

bool tkl__search_value_term(const tkl__search_plan *plan, const tkl__search_query_item *item,
                            tkl__buf *out)
{
    tkl__buf_clear(out);
    if (is_any_value(item))
        tkl__search_term_any_value(out, plan->schema, item->field);
    else
        tkl__search_term_value(out, plan->schema, item->field, item->value);
    return item->prefix && !is_any_value(item);
}

static int prefixes_of_item(tkl__search_plan *plan, const tkl__search_query_item *item)
{
    tkl__buf term;
    int rc = TKL_OK;
    tkl__buf_init(&term);
    for (size_t i = 0; rc == TKL_OK && i < item->count; i++) {
        if (!item->terms[i].prefix)
            continue;
        term_of_word(&term, item->terms[i].text);
        rc = add_prefix(plan, &term);
    }
    if (rc == TKL_OK && item->kind == TKL__QUERY_VALUE && tkl__search_value_term(plan, item, &term))
        rc = add_prefix(plan, &term);
    tkl__buf_free(&term);
    return rc;
}

static int find_prefixes(tkl__search_plan *plan)
{
    int rc = TKL_OK;
    const tkl__search_query *q = &plan->query;
    for (size_t i = 0; rc == TKL_OK && i < q->wanted_count; i++)
        for (size_t k = 0; rc == TKL_OK && k < q->wanted[i].count; k++)
            rc = prefixes_of_item(plan, &q->wanted[i].items[k]);
    for (size_t i = 0; rc == TKL_OK && i < q->excluded_count; i++)
        rc = prefixes_of_item(plan, &q->excluded[i]);
    return rc;
}

/* How many terms each prefix may stand for, so that the plan has at most TKL__SEARCH_PLAN_TERMS. */
static size_t terms_of_each_prefix(const tkl__search_plan *plan)
{
    const tkl__search_query *q = &plan->query;
    size_t others = 0;
    if (plan->prefix_count == 0)
        return 0;
    for (size_t i = 0; i < q->wanted_count; i++)
        for (size_t k = 0; k < q->wanted[i].count; k++)
            others += q->wanted[i].items[k].count + 1;
    for (size_t i = 0; i < q->excluded_count; i++)
        others += q->excluded[i].count + 1;
    others = others < TKL__SEARCH_PLAN_TERMS ? others : TKL__SEARCH_PLAN_TERMS;
    size_t most = (TKL__SEARCH_PLAN_TERMS - others) / plan->prefix_count;
    return most > TKL_SEARCH_PREFIX_MAX ? TKL_SEARCH_PREFIX_MAX : most > 0 ? most : 1;
}

/* Asks for the terms of all prefixes; of a prefix with too many the most frequent ones. */
static int ask_prefixes(tkl_search *search, tkl__search_plan *plan)
{
    size_t most = terms_of_each_prefix(plan);
    int rc = TKL_OK;
    for (tkl__search_prefix *p = plan->prefixes; rc == TKL_OK && p; p = p->next) {
        rc = read_prefix_terms(search, plan->schema, (int64_t)most, p);
        if (rc == TKL_OK && p->cut)
            rc = tkl__search_frequent_terms(search, plan->schema, p->low, p->high, most, &p->words);
        plan->cut = plan->cut || p->cut;
    }
    return rc;
}

/* ---- Steps --------------------------------------------------------------- */

size_t tkl__search_term_index(const tkl__search_plan *plan, tkl_bytes term)
{
    size_t i = 0;
    while (i < plan->term_count && !tkl__same_bytes(plan->terms[i], term))
        i++;
    return i;
}

/* Returns the index of a term in the plan; adds the term if it is new. */
static size_t index_term(tkl__search_plan *plan, tkl_bytes term)
{
    size_t i = tkl__search_term_index(plan, term);
    if (i == plan->term_count) {
        bool room = tkl__grow(&plan->terms, i, sizeof *plan->terms);
        char *copy = room ? tkl__copy_bytes(term) : NULL;
        if (!copy) {
            plan->failed = true;
            return SIZE_MAX;
        }
        plan->terms[i] = (tkl_bytes){copy, term.len};
        plan->term_count++;
    }
    return i;
}

static void push_operator(tkl__search_plan *plan, char kind, size_t count)
{
    tkl__buf_addf(&plan->steps, "%c %zu ", kind, count);
    plan->operators++;
}

static void add_to_union(tkl__search_plan *plan, size_t term)
{
    tkl__search_union *u = &plan->unions[plan->union_count - 1];
    if (!tkl__grow(&u->terms, u->count, sizeof *u->terms)) {
        plan->failed = true;
        return;
    }
    u->terms[u->count++] = term;
}

/* Pushes an operand in a union: the documents with a term. Returns the index of the term. */
static size_t push_term(tkl__search_plan *plan, tkl_bytes term)
{
    size_t i = index_term(plan, term);
    if (i != SIZE_MAX) {
        tkl__buf_addf(&plan->steps, "t %zu ", i + 1);
        add_to_union(plan, i);
    }
    return i;
}

/* ---- Unions -------------------------------------------------------------- */

static void begin_union(tkl__search_plan *plan)
{
    if (tkl__grow(&plan->unions, plan->union_count, sizeof *plan->unions))
        plan->unions[plan->union_count++] = (tkl__search_union){.count = 0};
    else
        plan->failed = true;
}

/* Writes a name for terms of the plan: the same for the same terms. */
static void name_terms(const tkl__search_plan *plan, const size_t *terms, size_t count,
                       char name[33])
{
    tkl__buf all;
    tkl__buf_init(&all);
    for (size_t i = 0; i < count; i++) {
        tkl_bytes term = plan->terms[terms[i]];
        tkl__buf_addf(&all, "%zu:", term.len);
        tkl__buf_add(&all, term.data, term.len);
    }
    XXH128_hash_t hash = XXH3_128bits(all.data, all.len);
    snprintf(name, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    tkl__buf_free(&all);
}

/* Joins everything pushed since begin_union() into one operand. Returns the number of operands: 0
 * when nothing was pushed. */
static size_t end_union(tkl__search_plan *plan)
{
    if (plan->failed)
        return 0;
    tkl__search_union *u = &plan->unions[plan->union_count - 1];
    if (u->count > 1) {
        name_terms(plan, u->terms, u->count, u->name);
        push_operator(plan, 'u', u->count);
        return 1;
    }
    size_t count = u->count;
    free(u->terms);
    plan->union_count--;
    return count;
}

/* ---- Prefixes of the plan ------------------------------------------------ */

static const tkl__search_prefix *find_prefix(const tkl__search_plan *plan, const tkl__buf *term)
{
    const tkl__search_prefix *p = plan->prefixes;
    while (p && !tkl__same_bytes(p->term, (tkl_bytes){term->data, term->len}))
        p = p->next;
    return p;
}

const tkl_names *tkl__search_prefix_words(const tkl__search_plan *plan, const tkl__buf *term)
{
    const tkl__search_prefix *p = find_prefix(plan, term);
    return p ? p->words : NULL;
}

/* ---- Scorers ------------------------------------------------------------- */

const tkl__search_scorer *tkl__search_scorer_of(const tkl__search_plan *plan, tkl_bytes term,
                                                bool prefix)
{
    for (size_t i = 0; i < plan->scorer_count; i++) {
        const tkl__search_scorer *s = &plan->scorers[i];
        if ((s->prefix.data != NULL) == prefix &&
            tkl__same_bytes(prefix ? s->prefix : plan->terms[s->terms[0]], term))
            return s;
    }
    return NULL;
}

const tkl__search_scorer *tkl__search_scorer_of_union(const tkl__search_plan *plan,
                                                      const tkl__search_union *u)
{
    for (size_t i = 0; i < plan->scorer_count; i++)
        if (strcmp(plan->scorers[i].name, u->name) == 0)
            return &plan->scorers[i];
    return NULL;
}

/* Adds a scorer of these terms, unless there is one. `prefix` belongs to the plan; its data is NULL
 * for a term of its own. */
static void add_scorer(tkl__search_plan *plan, tkl_bytes prefix, const size_t *terms, size_t count,
                       bool required)
{
    const tkl__search_scorer *has =
        count ? tkl__search_scorer_of(plan, prefix.data ? prefix : plan->terms[terms[0]],
                                      prefix.data != NULL)
              : NULL;
    if (has)
        plan->scorers[has - plan->scorers].required |= required;
    if (has || count == 0 || plan->failed)
        return;
    bool room = tkl__grow(&plan->scorers, plan->scorer_count, sizeof *plan->scorers);
    size_t *copy = room ? malloc(count * sizeof *copy) : NULL;
    if (!copy) {
        plan->failed = true;
        return;
    }
    memcpy(copy, terms, count * sizeof *copy);
    tkl__search_scorer *s = &plan->scorers[plan->scorer_count++];
    *s =
        (tkl__search_scorer){.prefix = prefix, .terms = copy, .count = count, .required = required};
    if (prefix.data)
        name_terms(plan, copy, count, s->name);
}

/* Whether the words of an item count for the relevance. */
typedef enum scoring {
    UNSCORED = 0,
    SCORED = 1,
    REQUIRED = 2, /* they count, and every document that matches has them */
} scoring;

/* Pushes, inside a union, the terms of a prefix. */
static void push_prefix(tkl__search_plan *plan, const tkl__buf *term, scoring how)
{
    const tkl__search_prefix *p = find_prefix(plan, term);
    const tkl_names *words = p ? p->words : NULL;
    size_t first = plan->failed ? 0 : plan->unions[plan->union_count - 1].count;
    for (size_t i = 0; words && i < words->count; i++)
        push_term(plan, words->items[i]);
    if (words && how != UNSCORED && !plan->failed)
        add_scorer(plan, p->term, plan->unions[plan->union_count - 1].terms + first, words->count,
                   how == REQUIRED);
}

/* Pushes, inside a union, the terms of a word. */
static void push_word(tkl__search_plan *plan, const tkl__search_query_term *word, scoring how)
{
    tkl__buf term;
    tkl__buf_init(&term);
    term_of_word(&term, word->text);
    if (word->prefix) {
        push_prefix(plan, &term, how);
    } else {
        size_t index = push_term(plan, (tkl_bytes){term.data, term.len});
        if (how != UNSCORED && !plan->failed)
            add_scorer(plan, (tkl_bytes){NULL, 0}, &index, 1, how == REQUIRED);
    }
    plan->failed = plan->failed || term.failed;
    tkl__buf_free(&term);
}

/* Pushes, inside a union, the terms of the value of a field. */
static void push_value(tkl__search_plan *plan, const tkl__search_query_item *item)
{
    tkl__buf term;
    tkl__buf_init(&term);
    if (tkl__search_value_term(plan, item, &term))
        push_prefix(plan, &term, UNSCORED);
    else
        push_term(plan, (tkl_bytes){term.data, term.len});
    plan->failed = plan->failed || term.failed;
    tkl__buf_free(&term);
}

static void push_range(tkl__search_plan *plan, const tkl__search_query_item *item)
{
    if (!tkl__grow(&plan->ranges, plan->range_count, sizeof *plan->ranges)) {
        plan->failed = true;
        return;
    }
    plan->ranges[plan->range_count++] = (tkl__search_range){.field = item->field,
                                                            .low = item->low,
                                                            .high = item->high,
                                                            .low_open = item->low_open,
                                                            .high_open = item->high_open};
    tkl__buf_addf(&plan->steps, "r %zu ", plan->range_count);
}

/* Pushes an operand for each word; a document must have all of them. */
static void push_all(tkl__search_plan *plan, const tkl__search_query_item *item, scoring how)
{
    for (size_t i = 0; i < item->count; i++) {
        begin_union(plan);
        push_word(plan, &item->terms[i], how);
        if (end_union(plan) == 0)
            tkl__buf_addz(&plan->steps, "n 1 ");
    }
    push_operator(plan, '&', item->count);
    plan->verify = plan->verify || item->kind == TKL__QUERY_PHRASE;
}

/* Whether one of the item's terms is enough. */
static bool is_any(const tkl__search_query_item *item)
{
    return item->kind == TKL__QUERY_VALUE || (item->kind == TKL__QUERY_WORDS && item->count == 1);
}

/* Pushes the items; alternative terms together become one operand. Returns the number of operands.
 * Excluded phrases are left out, so the server finds more documents than match;
 * tkl__search_matches() removes the others. */
static size_t push_items(tkl__search_plan *plan, const tkl__search_query_item *items, size_t count,
                         bool wanted)
{
    scoring how = !wanted ? UNSCORED : count > 1 ? SCORED : REQUIRED;
    begin_union(plan);
    for (size_t i = 0; !plan->failed && i < count; i++) {
        if (is_any(&items[i]) && items[i].kind == TKL__QUERY_VALUE)
            push_value(plan, &items[i]);
        else if (is_any(&items[i]))
            push_word(plan, &items[i].terms[0], how);
    }
    size_t operands = end_union(plan);
    for (size_t i = 0; !plan->failed && i < count; i++) {
        if (is_any(&items[i]))
            continue;
        if (items[i].kind == TKL__QUERY_PHRASE && !wanted) {
            plan->verify = true;
            continue;
        }
        if (items[i].kind == TKL__QUERY_RANGE)
            push_range(plan, &items[i]);
        else
            push_all(plan, &items[i], how);
        operands++;
    }
    return operands;
}

static void write_steps(tkl__search_plan *plan)
{
    const tkl__search_query *q = &plan->query;
    if (q->all)
        tkl__buf_addz(&plan->steps, "a 1 ");
    for (size_t i = 0; i < q->wanted_count; i++) {
        size_t operands = push_items(plan, q->wanted[i].items, q->wanted[i].count, true);
        if (operands == 0)
            tkl__buf_addz(&plan->steps, "n 1 ");
        if (operands > 1)
            push_operator(plan, '|', operands);
    }
    push_operator(plan, '-', push_items(plan, q->excluded, q->excluded_count, false));
}

/* ---- The whole ----------------------------------------------------------- */

/* The caller frees the plan even after a failure. */
static int make_plan(tkl_search *search, tkl__search_schema *schema, tkl_bytes query, bool apart,
                     tkl__search_plan *plan)
{
    tkl__search_query_rules rules = schema->rules;
    rules.cut = apart;
    *plan = (tkl__search_plan){.schema = schema, .apart = apart};
    tkl__buf_init(&plan->steps);
    int rc = tkl__search_query_parse(query, &rules, &plan->query);
    if (rc == TKL_OK)
        rc = find_prefixes(plan);
    if (rc == TKL_OK)
        rc = ask_prefixes(search, plan);
    if (rc == TKL_OK)
        write_steps(plan);
    if (rc == TKL_OK && (plan->failed || plan->steps.failed))
        rc = tkl__nomem();
    if (rc == TKL_OK && plan->term_count > TKL__SEARCH_PLAN_TERMS)
        rc = tkl__fail(TKL_EINVAL, "the prefixes of the query stand for more than %d words in all",
                       TKL__SEARCH_PLAN_TERMS);
    return rc;
}

static void free_plan(tkl__search_plan *plan)
{
    while (plan->prefixes) {
        tkl__search_prefix *p = plan->prefixes;
        plan->prefixes = p->next;
        free((char *)p->term.data);
        free((char *)p->low.data);
        free((char *)p->high.data);
        free(p->counts);
        tkl_names_free(p->words);
        free(p);
    }
    for (size_t i = 0; i < plan->term_count; i++)
        free((char *)plan->terms[i].data);
    free(plan->terms);
    for (size_t i = 0; i < plan->scorer_count; i++)
        free(plan->scorers[i].terms);
    free(plan->scorers);
    free(plan->ranges);
    for (size_t i = 0; i < plan->union_count; i++)
        free(plan->unions[i].terms);
    free(plan->unions);
    tkl__buf_free(&plan->steps);
    tkl__search_query_free(&plan->query);
}

int tkl__search_with_plan(tkl_search *search, tkl__search_schema *schema, tkl_bytes query,
                          bool fixed, tkl__search_plan_use *use, void *arg,
                          tkl__search_outcome *outcome)
{
    int rc = TKL_OK;
    for (bool apart = false, more = true; rc == TKL_OK && more; apart = true) {
        tkl__search_plan plan;
        int64_t total = 0;
        rc = make_plan(search, schema, query, apart, &plan);
        plan.fixed = fixed && plan.prefix_count > 0;
        if (rc == TKL_OK)
            rc = use(search, &plan, arg, outcome, &total);
        more = *outcome == TKL__SEARCH_DONE && total == 0 && plan.query.can_be_cut && !apart;
        free_plan(&plan);
    }
    return rc;
}
