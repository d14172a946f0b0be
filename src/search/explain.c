/* SPDX-License-Identifier: MIT
 *
 * Explains a query, and what a document has of it. The query is run for its total and for the sizes
 * of its terms; one round trip more fetches the document as the index has it. The document is then
 * compared with the query here, by the functions that compare the documents of a result.
 * tkl_search_parse() explains a query alone, without an index and without a server.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/reply.h"
#include "search/pieces.h"
#include "search/query_steps.h"
#include "search/scripts.h"
#include "search/why.h"

/* ---- The document -------------------------------------------------------- */

/* Facts about the index and the document. */
typedef struct explainer {
    tkl__search_run *run;
    int64_t docs, words;         /* totals of the index */
    tkl__search_record record;   /* all zero without a document */
    tkl__search_entries entries; /* terms of the document that the query may have */
    tkl__search_rarity rarity;
    bool *counted;          /* scorers whose score belongs to an earlier part */
    tkl_search_term *terms; /* terms of all parts */
    size_t term_count;
    tkl_search_explanation *is;
} explainer;

/* Asks all shards for their totals, and for the document. *replies: those of the shards. */
static int ask_document(const tkl__search_run *run, tkl_bytes id, tkl_reply **replies)
{
    const tkl__search_schema *schema = run->schema;
    tkl__args args;
    tkl__batch batch;
    tkl__args_init(&args);
    tkl__args_str(&args, schema->token);
    tkl__args_bytes(&args, id);
    tkl__batch_init(&batch, run->search->client);
    for (size_t i = 0; i < schema->shard_count; i++)
        tkl__batch_eval(&batch, &tkl__lua_search_explain,
                        &(tkl__keys){(tkl_bytes *)schema->shards[i].keys, TKL__SEARCH_SCRIPT_KEYS},
                        &args, true);
    int rc = tkl__batch_end(&batch, tkl__search_deadline(run->search), replies);
    tkl__args_free(&args);
    return rc == TKL_OK ? tkl__search_box_keep(run->box, *replies) : rc;
}

/* Reads {docs, words, number, record, terms} of the shard that has the document. */
static int read_document(explainer *e, size_t shard, tkl_bytes id, const tkl_reply *reply)
{
    tkl__search_run *run = e->run;
    tkl_bytes number = tkl_reply_bytes(tkl_reply_at(reply, 2));
    tkl_bytes record = tkl_reply_bytes(tkl_reply_at(reply, 3));
    tkl_bytes terms = tkl_reply_bytes(tkl_reply_at(reply, 4));
    if (number.len == 0)
        return tkl__fail(TKL_NOTFOUND, "the index has no document '" TKL_FMT "'", TKL_ARG(id));
    if (!tkl__search_record_read(record, run->schema, &e->record))
        return tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
    size_t pieces = tkl__search_pieces_of(terms);
    int rc = pieces ? tkl__search_fetch_terms(run, shard, number, record, pieces, &terms) : TKL_OK;
    if (rc == TKL_OK && pieces && !terms.data)
        run->outcome = TKL__SEARCH_CHANGED;
    return rc == TKL_OK ? tkl__search_entries_read(&e->entries, terms, run->schema->is.positions)
                        : rc;
}

static int fetch_document(explainer *e, tkl_bytes id)
{
    tkl__search_run *run = e->run;
    tkl_reply *replies;
    size_t home = tkl__search_shard_of(run->schema, id);
    int rc = ask_document(run, id, &replies);
    for (size_t i = 0; rc == TKL_OK && i < run->schema->shard_count; i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (tkl_reply_type_of(reply) != TKL_REPLY_ARRAY)
            run->outcome = TKL__SEARCH_STALE;
        tkl__add(&e->docs, tkl__reply_number(tkl_reply_at(reply, 0)));
        tkl__add(&e->words, tkl__reply_number(tkl_reply_at(reply, 1)));
    }
    if (rc == TKL_OK && run->outcome == TKL__SEARCH_DONE && id.len)
        rc = read_document(e, home, id, tkl_reply_at(replies, home));
    return rc;
}

/* ---- Terms --------------------------------------------------------------- */

/* The share of a term in the relevance that its scorer adds to the document. */
static double score_of(const explainer *e, const tkl__search_scorer *scorer,
                       const tkl__search_entry *entry)
{
    size_t index = (size_t)(scorer - e->rarity.scorers);
    double all = 0;
    for (size_t i = 0; i < scorer->count; i++) {
        const tkl__search_entry *other =
            tkl__search_entry_of(&e->entries, e->run->plan->terms[scorer->terms[i]]);
        all += other ? tkl__search_counted(scorer, other->times) : 0;
    }
    return tkl__search_impact(&e->rarity, &e->record, index) *
           tkl__search_counted(scorer, entry->times) / all;
}

/* Whether the score of the scorer's terms is still to be given to a part. */
static bool is_fresh(const explainer *e, const tkl_search_part *part,
                     const tkl__search_scorer *scorer)
{
    return scorer && !part->excluded && !e->counted[scorer - e->rarity.scorers];
}

/* Adds a term to the last part. `skip`: bytes of the term before the word or the value. `scorer`:
 * the one that its score is a share of; NULL: none. */
static int add_term(explainer *e, tkl_search_part *part, tkl_bytes term, size_t skip,
                    const tkl__search_scorer *scorer)
{
    const tkl__search_run *run = e->run;
    if (!tkl__grow(&e->terms, e->term_count, sizeof *e->terms))
        return tkl__nomem();
    tkl_search_term *to = &e->terms[e->term_count++];
    const tkl__search_entry *entry = tkl__search_entry_of(&e->entries, term);
    size_t index = tkl__search_term_index(run->plan, term);
    bool planned = index < run->plan->term_count;
    *to = (tkl_search_term){.documents = planned ? run->sizes[index] : TKL_NONE};
    if (entry)
        to->times = term.data[0] == 'w' ? (int64_t)entry->times : 1;
    if (entry && scorer) {
        to->score = score_of(e, scorer, entry);
        part->score += to->score;
    }
    part->term_count++;
    return tkl__search_box_copy(run->box, (tkl_bytes){term.data + skip, term.len - skip},
                                &to->text);
}

/* Adds a term, or those that begin with it. */
static int add_terms(explainer *e, tkl_search_part *part, const tkl__buf *term, bool prefix,
                     size_t skip)
{
    const tkl__search_plan *plan = e->run->plan;
    tkl_bytes bytes = {term->data, term->len};
    const tkl_names *words = prefix ? tkl__search_prefix_words(plan, term) : NULL;
    const tkl__search_scorer *scorer = tkl__search_scorer_of(plan, bytes, prefix);
    int rc = term->failed ? tkl__nomem() : TKL_OK;
    if (!is_fresh(e, part, scorer))
        scorer = NULL;
    if (rc == TKL_OK && !prefix)
        rc = add_term(e, part, bytes, skip, scorer);
    for (size_t i = 0; rc == TKL_OK && words && i < words->count; i++)
        rc = add_term(e, part, words->items[i], skip, scorer);
    if (scorer)
        e->counted[scorer - e->rarity.scorers] = true;
    return rc;
}

/* ---- Parts --------------------------------------------------------------- */

static void write_range(tkl__buf *out, const tkl__search_query_item *item)
{
    char low[TKL__DOUBLE_SIZE], high[TKL__DOUBLE_SIZE];
    tkl__double_text(item->low, low);
    tkl__double_text(item->high, high);
    if (isinf(item->low) && isinf(item->high))
        tkl__buf_addz(out, "*");
    else if (item->low == item->high)
        tkl__buf_addz(out, low);
    else if (isinf(item->high))
        tkl__buf_addf(out, ">%s%s", item->low_open ? "" : "=", low);
    else if (isinf(item->low))
        tkl__buf_addf(out, "<%s%s", item->high_open ? "" : "=", high);
    else
        tkl__buf_addf(out, "%s..%s", low, high);
}

/* Writes an item in the signs of a query. */
static void write_item(tkl__buf *out, const tkl__search_schema *schema,
                       const tkl__search_query_item *item)
{
    const char *quote = item->kind == TKL__QUERY_PHRASE ? "\"" : "";
    if (item->kind == TKL__QUERY_VALUE || item->kind == TKL__QUERY_RANGE) {
        tkl__buf_add(out, schema->fields[item->field].name.data,
                     schema->fields[item->field].name.len);
        tkl__buf_addz(out, ":");
    }
    if (item->kind == TKL__QUERY_RANGE)
        write_range(out, item);
    tkl__buf_addz(out, quote);
    for (size_t i = 0; i < item->count; i++) {
        tkl__buf_addz(out, i ? " " : "");
        tkl__buf_add(out, item->terms[i].text.data, item->terms[i].text.len);
        tkl__buf_addz(out, item->terms[i].prefix ? "*" : "");
    }
    tkl__buf_addz(out, quote);
    if (item->kind == TKL__QUERY_VALUE) {
        tkl__buf_add(out, item->value.data, item->value.len);
        tkl__buf_addz(out, item->prefix ? "*" : "");
    }
}

/* Fills in the value that the document has in the field of an item. */
static int explain_value(const explainer *e, const tkl__search_query_item *item,
                         tkl_search_part *part)
{
    char number[TKL__DOUBLE_SIZE];
    const tkl__search_cell *cell = &e->record.cells[item->field];
    if ((item->kind != TKL__QUERY_VALUE && item->kind != TKL__QUERY_RANGE) || !cell->present)
        return TKL_OK;
    tkl_bytes text = e->run->schema->fields[item->field].numeric
                         ? tkl_str(tkl__double_text(cell->number, number))
                         : cell->text;
    return tkl__search_box_copy(e->run->box, text, &part->value);
}

static int explain_item(explainer *e, const tkl__search_query_item *item, tkl_search_part *part)
{
    const tkl__search_plan *plan = e->run->plan;
    tkl__buf text;
    tkl__buf_init(&text);
    write_item(&text, plan->schema, item);
    int rc = text.failed
                 ? tkl__nomem()
                 : tkl__search_box_copy(e->run->box, (tkl_bytes){text.data, text.len}, &part->text);
    part->matches = e->record.id.len && tkl__search_has_item(plan, item, &e->record, &e->entries);
    if (rc == TKL_OK)
        rc = explain_value(e, item, part);
    for (size_t i = 0; rc == TKL_OK && i < item->count; i++) {
        tkl__buf_clear(&text);
        tkl__search_term_word(&text, item->terms[i].text);
        rc = add_terms(e, part, &text, item->terms[i].prefix, 1);
    }
    if (rc == TKL_OK && item->kind == TKL__QUERY_VALUE) {
        bool prefix = tkl__search_value_term(plan, item, &text);
        size_t name = 1 + plan->schema->fields[item->field].name.len; /* "v" and the field */
        bool any = !prefix && item->prefix;
        rc = add_terms(e, part, &text, prefix, any ? name : name + 1); /* "*", or behind "=" */
    }
    tkl__buf_free(&text);
    return rc;
}

/* Makes the parts, and gives them their terms when all of these are known. */
static int explain_parts(explainer *e)
{
    const tkl__search_query *q = &e->run->plan->query;
    size_t count = q->excluded_count, at = 0;
    int rc = TKL_OK;
    for (size_t i = 0; i < q->wanted_count; i++)
        count += q->wanted[i].count;
    tkl_search_part *parts = tkl__search_box_alloc(e->run->box, count * sizeof *parts);
    if (!parts)
        return tkl__nomem();
    for (size_t i = 0; i < q->wanted_count; i++)
        for (size_t k = 0; rc == TKL_OK && k < q->wanted[i].count; k++) {
            parts[at].choice = (int64_t)i + 1;
            rc = explain_item(e, &q->wanted[i].items[k], &parts[at++]);
        }
    for (size_t i = 0; rc == TKL_OK && i < q->excluded_count; i++) {
        parts[at].excluded = true;
        rc = explain_item(e, &q->excluded[i], &parts[at++]);
    }
    tkl_search_term *terms = tkl__search_box_alloc(e->run->box, e->term_count * sizeof *terms);
    if (rc != TKL_OK || !terms)
        return rc != TKL_OK ? rc : tkl__nomem();
    if (e->term_count)
        memcpy(terms, e->terms, e->term_count * sizeof *terms);
    for (size_t i = 0; i < count; i++) {
        parts[i].terms = terms;
        terms += parts[i].term_count;
    }
    e->is->parts = parts;
    e->is->part_count = count;
    return TKL_OK;
}

/* ---- The whole ----------------------------------------------------------- */

/* Says why the document is not found: the first choice of which it has nothing, or the first part
 * that it must not have. */
static int say_why(explainer *e)
{
    const tkl_search_explanation *is = e->is;
    tkl__buf out;
    tkl__buf_init(&out);
    for (size_t i = 0, end; i < is->part_count && out.len == 0; i = end) {
        bool any = false;
        for (end = i; end < is->part_count && is->parts[end].choice == is->parts[i].choice; end++)
            any = any || is->parts[end].matches;
        if (is->parts[i].excluded) {
            end = i + 1;
            if (is->parts[i].matches)
                tkl__buf_addf(&out, "the document has " TKL_FMT ", which the query excludes",
                              TKL_ARG(is->parts[i].text));
        } else if (!any) {
            tkl__buf_addz(&out, end - i > 1 ? "the document has none of " : "the document lacks ");
            for (size_t k = i; k < end; k++)
                tkl__buf_addf(&out, "%s" TKL_FMT, k > i ? ", " : "", TKL_ARG(is->parts[k].text));
        }
    }
    int rc = out.failed ? tkl__nomem()
                        : tkl__search_box_copy(e->run->box, (tkl_bytes){out.data, out.len},
                                               &e->is->reason);
    tkl__buf_free(&out);
    return rc;
}

/* `is` comes first: a pointer to it is also a pointer to the whole. The box owns it. */
typedef struct explained {
    tkl_search_explanation is;
    tkl__search_result_box *box;
} explained;

/* Makes the explanation, which is empty. */
static int begin_explanation(explainer *e)
{
    explained *made = tkl__search_box_alloc(e->run->box, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->box = e->run->box;
    e->is = &made->is;
    return TKL_OK;
}

static int make_explanation(explainer *e)
{
    tkl__search_run *run = e->run;
    int rc = begin_explanation(e);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__search_rarity_make(&e->rarity, run->plan, run->sizes, e->docs, e->words);
    e->counted = calloc(run->plan->scorer_count + 1, sizeof *e->counted);
    if (rc == TKL_OK)
        tkl__search_count_times(&e->rarity, &e->entries);
    if (rc == TKL_OK)
        rc = e->counted ? explain_parts(e) : tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__search_say(run);
    if (rc != TKL_OK)
        return rc;
    bool given = e->record.id.len > 0, nothing = run->plan->query.nothing;
    e->is->matches = given && !nothing && tkl__search_matches(run->plan, &e->record, &e->entries);
    e->is->score = given ? tkl__search_relevance(&e->rarity, &e->record, &e->entries) : 0;
    e->is->length = e->record.length;
    e->is->average_length = e->rarity.length;
    e->is->documents = e->docs;
    e->is->total = run->total;
    e->is->exact = run->exact;
    e->is->understood = run->box->is.understood;
    e->is->dropped = run->box->is.dropped;
    e->is->reason = run->box->is.why;
    e->is->nearest = run->box->is.nearest;
    return given && !nothing && !e->is->matches ? say_why(e) : TKL_OK;
}

/* The arguments and the result of one call. */
typedef struct explaining {
    tkl_bytes query, id;
    int attempts;
    tkl_search_explanation *result;
} explaining;

/* Explains a plan. The explanation replaces one of a query that has found nothing. */
static int explain_plan(tkl_search *search, tkl__search_plan *plan, void *arg,
                        tkl__search_outcome *outcome, int64_t *total)
{
    static const tkl__search_order by_relevance = {.kind = TKL__SEARCH_BY_RELEVANCE};
    explaining *x = arg;
    tkl__search_run run = {.search = search,
                           .schema = plan->schema,
                           .plan = plan,
                           .order = &by_relevance,
                           .compare_max = TKL__SEARCH_COMPARE_MAX,
                           .exact = true,
                           .box = tkl__search_box_new(plan->schema)};
    explainer e = {.run = &run};
    int rc = run.box ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK && !plan->query.nothing)
        rc = tkl__search_query_steps(&run);
    if (rc == TKL_OK && run.outcome == TKL__SEARCH_DONE)
        rc = fetch_document(&e, x->id);
    if (rc == TKL_OK && run.outcome == TKL__SEARCH_DONE)
        rc = make_explanation(&e);
    *outcome = run.outcome;
    *total = run.total;
    if (rc == TKL_OK && run.outcome == TKL__SEARCH_DONE && (!plan->apart || run.total > 0)) {
        tkl_search_explanation_free(x->result);
        x->result = e.is;
    } else {
        tkl__search_box_free(run.box);
    }
    tkl__search_entries_free(&e.entries);
    tkl__search_rarity_free(&e.rarity);
    free(e.counted);
    free(e.terms);
    tkl__search_run_free(&run);
    return rc;
}

static int explain_once(tkl_search *search, tkl__search_schema *schema, void *arg,
                        tkl__search_outcome *outcome)
{
    explaining *x = arg;
    bool last = ++x->attempts == TKL__SEARCH_TRIES;
    return tkl__search_with_plan(search, schema, x->query, last, explain_plan, arg, outcome);
}

int tkl_search_explain(tkl_search *search, tkl_bytes query, tkl_bytes id,
                       tkl_search_explanation **explanation)
{
    explaining x = {.query = query, .id = id};
    *explanation = NULL;
    int rc = tkl__search_try(search, explain_once, &x);
    if (rc == TKL_OK)
        *explanation = x.result;
    else
        tkl_search_explanation_free(x.result);
    return rc;
}

/* ---- Without an index ---------------------------------------------------- */

/* Explains the query of a plan that has nothing but the query. */
static int explain_query(explainer *e)
{
    tkl__search_run *run = e->run;
    const tkl__search_query *query = &run->plan->query;
    int rc = begin_explanation(e);
    if (rc == TKL_OK)
        rc = explain_parts(e);
    if (rc == TKL_OK)
        rc = tkl__search_say_query(run);
    if (rc != TKL_OK)
        return rc;
    e->is->understood = run->box->is.understood;
    e->is->dropped = run->box->is.dropped;
    if (query->nothing)
        e->is->reason = tkl_str(tkl__search_nothing_text(query));
    return TKL_OK;
}

int tkl_search_parse(tkl_bytes query, const tkl_search_schema *schema,
                     tkl_search_explanation **explanation)
{
    tkl__search_plan plan = {.schema = NULL};
    tkl__search_run run = {.plan = &plan};
    explainer e = {.run = &run};
    *explanation = NULL;
    int rc = tkl__search_schema_make(schema, &plan.schema);
    if (rc != TKL_OK)
        return rc;
    run.schema = plan.schema;
    rc = tkl__search_query_parse(query, &plan.schema->rules, &plan.query);
    if (rc == TKL_OK) {
        run.box = tkl__search_box_new(plan.schema);
        rc = run.box ? explain_query(&e) : tkl__nomem();
        tkl__search_query_free(&plan.query);
    }
    tkl__search_schema_free(plan.schema); /* the box shares it */
    if (rc == TKL_OK)
        *explanation = e.is;
    else
        tkl__search_box_free(run.box);
    free(e.terms);
    return rc;
}

void tkl_search_explanation_free(tkl_search_explanation *explanation)
{
    if (explanation)
        tkl__search_box_free(((explained *)(void *)explanation)->box);
}
