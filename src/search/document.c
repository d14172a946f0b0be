/* SPDX-License-Identifier: MIT */
#include "search/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/lex.h"
#include "core/options.h"
#include "search/bundle.h"
#include "search/pieces.h"
#include "text/library.h"

/* ---- Checking ------------------------------------------------------------ */

static int check_value(const tkl__search_schema *schema, const tkl_search_value *value,
                       uint32_t *seen, size_t index)
{
    int rc = TKL__CHECK_RESERVED(value);
    if (rc != TKL_OK)
        return rc;
    int field = tkl__search_field_of(schema, value->field);
    if (field < 0)
        return tkl__fail(TKL_EINVAL, "document %zu: the index has no field '" TKL_FMT "'", index,
                         TKL_ARG(value->field));
    if (*seen >> field & 1)
        return tkl__fail(TKL_EINVAL, "document %zu: field '" TKL_FMT "' is there twice", index,
                         TKL_ARG(value->field));
    *seen |= UINT32_C(1) << field;
    if (schema->fields[field].numeric ? value->text.len > 0 : value->number != 0)
        return tkl__fail(
            TKL_EINVAL, "document %zu: field \"" TKL_FMT "\" is %s", index, TKL_ARG(value->field),
            schema->fields[field].numeric ? "numeric, and got a text" : "a text, and got a number");
    if (schema->fields[field].numeric && !isfinite(value->number))
        return tkl__fail(TKL_EINVAL, "document %zu: field '" TKL_FMT "' is not a finite number",
                         index, TKL_ARG(value->field));
    if (!schema->fields[field].numeric && value->text.len > TKL_SEARCH_VALUE_MAX)
        return tkl__fail(TKL_EINVAL,
                         "document %zu: field '" TKL_FMT "' has %zu bytes, more than %d", index,
                         TKL_ARG(value->field), value->text.len, TKL_SEARCH_VALUE_MAX);
    return TKL_OK;
}

int tkl__search_check_doc(const tkl__search_schema *schema, const tkl_search_doc *doc, size_t index)
{
    uint32_t seen = 0;
    int rc = TKL__CHECK_RESERVED(doc);
    if (rc != TKL_OK)
        return rc;
    if (doc->id.len == 0 || doc->id.len > TKL_SEARCH_ID_MAX)
        return tkl__fail(TKL_EINVAL, "document %zu: an id has 1 to %d bytes, not %zu", index,
                         TKL_SEARCH_ID_MAX, doc->id.len);
    if (doc->text.len > TKL_SEARCH_TEXT_MAX)
        return tkl__fail(TKL_EINVAL, "document %zu: a text has at most %d bytes, not %zu", index,
                         TKL_SEARCH_TEXT_MAX, doc->text.len);
    for (size_t i = 0; rc == TKL_OK && i < doc->value_count; i++)
        rc = check_value(schema, &doc->values[i], &seen, index);
    return rc;
}

/* ---- Values -------------------------------------------------------------- */

/* A value folded (for its term), and the folded value escaped (for sorting): two parts of the
 * buffer. */
typedef struct folded {
    size_t at, len;
    size_t sort, sort_len;
} folded;

static int fold_value(const tkl__search_schema *schema, tkl_bytes text, tkl__buf *out, folded *f)
{
    f->at = out->len;
    int rc = tkl__text_fold(text, schema->words.fold, out);
    f->len = out->len - f->at;
    if (rc != TKL_OK)
        return rc;
    char *copy = tkl__copy_bytes((tkl_bytes){out->data + f->at, f->len}); /* the buffer moves */
    if (!copy)
        return tkl__nomem();
    f->sort = out->len;
    tkl__lex_escape(out, (tkl_bytes){copy, f->len});
    f->sort_len = out->len - f->sort;
    free(copy);
    return out->failed ? tkl__nomem() : TKL_OK;
}

typedef struct values {
    tkl__search_record record;
    folded folds[TKL_SEARCH_FIELDS_MAX];
    tkl__buf bytes;
} values;

static int read_values(const tkl__search_schema *schema, const tkl_search_doc *doc, values *v)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < doc->value_count; i++) {
        const tkl_search_value *value = &doc->values[i];
        int field = tkl__search_field_of(schema, value->field);
        v->record.cells[field] =
            (tkl__search_cell){.present = true, .number = value->number, .text = value->text};
        if (!schema->fields[field].numeric)
            rc = fold_value(schema, value->text, &v->bytes, &v->folds[field]);
    }
    for (size_t i = 0; rc == TKL_OK && i < schema->is.field_count; i++)
        v->record.cells[i].sort =
            (tkl_bytes){v->bytes.data + v->folds[i].sort, v->folds[i].sort_len};
    return rc;
}

/* Writes the term of a value, and the term of any value of the field, with 0 occurrences. */
static void write_terms_of_value(const tkl__search_schema *schema, const values *v, size_t field,
                                 tkl__buf *out, tkl__search_ready *ready)
{
    tkl_bytes fold = {v->bytes.data + v->folds[field].at, v->folds[field].len};
    tkl__buf term;
    tkl__buf_init(&term);
    tkl__search_term_value(&term, schema, field, fold);
    tkl__search_entry_write(out, (tkl_bytes){term.data, term.len}, 0, NULL);
    tkl__buf_clear(&term);
    tkl__search_term_any_value(&term, schema, field);
    tkl__search_entry_write(out, (tkl_bytes){term.data, term.len}, 0, NULL);
    ready->count += 2;
    out->failed = out->failed || term.failed;
    tkl__buf_free(&term);
}

static void write_value_terms(const tkl__search_schema *schema, const values *v, tkl__buf *out,
                              tkl__search_ready *ready)
{
    for (size_t i = 0; i < schema->is.field_count; i++)
        if (!schema->fields[i].numeric && v->record.cells[i].present)
            write_terms_of_value(schema, v, i, out, ready);
}

static void write_members(const tkl__search_schema *schema, const values *v, tkl__buf *out,
                          tkl__search_ready *ready)
{
    for (size_t i = 0; i < schema->is.field_count; i++) {
        ready->fields[i].score = tkl__search_score(schema, i, &v->record.cells[i]);
        ready->fields[i].member = out->len;
        tkl__search_member(out, schema, i, &v->record.cells[i]);
        ready->fields[i].member_len = out->len - ready->fields[i].member;
    }
}

/* ---- Words --------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const tkl__text_word *x = a, *y = b;
    int order = tkl__text_word_compare(&x->text, &y->text);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

/* Writes the term of words[from..to), which are all the same word. */
static void write_word(const tkl__search_schema *schema, const tkl__text_word *words, size_t count,
                       uint32_t *positions, tkl__buf *out)
{
    tkl__buf term;
    uint32_t times = 0;
    for (size_t i = 0; i < count; i++)
        if (times == 0 || positions[times - 1] != words[i].position)
            positions[times++] = words[i].position;
    tkl__buf_init(&term);
    tkl__search_term_word(&term, words[0].text);
    tkl__search_entry_write(out, (tkl_bytes){term.data, term.len}, times,
                            schema->is.positions ? positions : NULL);
    out->failed = out->failed || term.failed;
    tkl__buf_free(&term);
}

static int write_words(const tkl__search_schema *schema, tkl__text_word_list *list, tkl__buf *out,
                       size_t *count)
{
    uint32_t *positions = malloc((list->count + 1) * sizeof *positions);
    if (!positions)
        return tkl__nomem();
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_text);
    for (size_t i = 0, end; i < list->count; i = end) {
        end = i + 1;
        while (end < list->count &&
               tkl__text_word_compare(&list->items[i].text, &list->items[end].text) == 0)
            end++;
        if (schema->is.positions && end - i > TKL__SEARCH_TIMES_MAX) {
            free(positions);
            return tkl__fail(TKL_EINVAL, "a text has '" TKL_FMT "' more than %d times",
                             TKL_ARG(list->items[i].text), TKL__SEARCH_TIMES_MAX);
        }
        write_word(schema, list->items + i, end - i, positions, out);
        ++*count;
    }
    free(positions);
    return out->failed ? tkl__nomem() : TKL_OK;
}

/* Finds the words of the whole text; *length: the number of words. */
static int find_words(const tkl__search_schema *schema, tkl_bytes text, tkl__buf *out,
                      size_t *count, uint32_t *length)
{
    tkl__text_word_list words;
    int rc = tkl__text_words(text, &schema->words, &words);
    if (rc != TKL_OK)
        return rc;
    *length = (uint32_t)words.count;
    rc = write_words(schema, &words, out, count);
    tkl__text_word_list_free(&words);
    return rc;
}

int tkl__search_prepare(const tkl__search_schema *schema, const tkl_search_doc *doc,
                        tkl__buf *store, tkl__search_ready *ready)
{
    values v = {.record = {.id = doc->id}};
    *ready = (tkl__search_ready){
        .doc = doc, .shard = tkl__search_shard_of(schema, doc->id), .terms = store->len};
    tkl__buf_init(&v.bytes);
    int rc = read_values(schema, doc, &v);
    if (rc == TKL_OK)
        rc = find_words(schema, doc->text, store, &ready->count, &v.record.length);
    if (rc == TKL_OK) {
        write_value_terms(schema, &v, store, ready);
        ready->terms_len = store->len - ready->terms;
        tkl__search_count_terms((tkl_bytes){store->data + ready->terms, ready->terms_len},
                                schema->is.positions, &ready->postings);
        ready->length = v.record.length;
        ready->record = store->len;
        tkl__search_record_write(store, schema, &v.record);
        ready->record_len = store->len - ready->record;
        write_members(schema, &v, store, ready);
        rc = store->failed ? tkl__nomem() : TKL_OK;
    }
    tkl__buf_free(&v.bytes);
    return rc;
}
