/* SPDX-License-Identifier: MIT
 *
 * One piece of a query becomes an item: words, a phrase, a value or a range.
 */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "search/parse.h"

/* The arguments that the functions below share. */
typedef struct maker {
    tkl__search_query *query;
    tkl_bytes whole; /* the query, for errors */
    const tkl__search_query_rules *rules;
    const tkl__search_query_piece *piece;
    tkl__search_query_item *item;
    tkl__buf *dropped;
} maker;

/* ---- Words --------------------------------------------------------------- */

static tkl__text_word_options query_words(const tkl__search_query_rules *rules)
{
    tkl__text_word_options options =
        rules->words ? *rules->words : (tkl__text_word_options){.fold = 0};
    options.query = true;
    return options;
}

/* Allocates one term more than there are words. */
static int take_terms(maker *m, const tkl__text_word_list *words)
{
    tkl__search_query_item *item = m->item;
    item->terms = tkl__search_query_alloc(m->query, (words->count + 1) * sizeof *item->terms);
    if (!item->terms)
        return tkl__nomem();
    for (size_t i = 0; i < words->count; i++) {
        tkl_bytes text = tkl__search_query_copy(m->query, words->items[i].text);
        if (!text.data)
            return tkl__nomem();
        item->terms[item->count++] = (tkl__search_query_term){
            .text = text, .at = words->items[i].position - words->items[0].position};
    }
    return TKL_OK;
}

static int make_terms(maker *m, tkl_bytes text)
{
    tkl__text_word_options options = query_words(m->rules);
    tkl__text_word_list words;
    int rc = tkl__text_words(text, &options, &words);
    if (rc != TKL_OK)
        return rc;
    rc = take_terms(m, &words);
    tkl__text_word_list_free(&words);
    return rc;
}

/* Appends the stop words of a text. Stop words inside a Chinese text are not dropped: its pairs of
 * characters are looked for. */
static int note_stop_words(maker *m, tkl_bytes text)
{
    const tkl__text_word_set *stop = m->rules->words ? m->rules->words->stop : NULL;
    tkl__text_word_options options = query_words(m->rules);
    tkl__text_word_list words;
    if (!stop || stop->count == 0)
        return TKL_OK;
    options.stop = NULL;
    options.stem = NULL;
    int rc = tkl__text_words(text, &options, &words);
    for (size_t i = 0; rc == TKL_OK && i < words.count; i++) {
        tkl_bytes word = words.items[i].text;
        bool plain = word.len && (unsigned char)word.data[0] < 0xe0;
        if (tkl__text_word_set_has(stop, word) && (plain || m->item->count == 0)) {
            tkl__buf_add(m->dropped, " ", m->dropped->len > 0);
            tkl__buf_add(m->dropped, word.data, word.len);
        }
    }
    if (rc == TKL_OK)
        tkl__text_word_list_free(&words);
    return rc;
}

static void forget_distances(tkl__search_query_item *item)
{
    for (size_t i = 0; i < item->count; i++)
        item->terms[i].at = 0;
}

static int make_words(maker *m)
{
    tkl__search_query_item *item = m->item;
    int rc = make_terms(m, m->piece->text);
    if (rc == TKL_OK)
        rc = note_stop_words(m, m->piece->text);
    if (rc != TKL_OK)
        return rc;
    if (item->count > 1 && m->rules->positions)
        item->kind = TKL__QUERY_PHRASE;
    else if (item->count > 1 && m->piece->quoted)
        return tkl__search_query_fail(m->whole, m->piece->start,
                                      "a phrase in quotes needs an index that keeps positions");
    else
        forget_distances(item);
    return TKL_OK;
}

/* ---- Prefixes ------------------------------------------------------------ */

/* Adds the last word of a list: as a prefix unless it is Chinese, because a Chinese text is found
 * anywhere in a text anyway. */
static int add_prefix(maker *m, const tkl__text_word *last)
{
    tkl_bytes text = tkl__search_query_copy(m->query, last->text);
    if (!text.data)
        return tkl__nomem();
    m->item->terms[m->item->count++] = (tkl__search_query_term){.text = text, .prefix = true};
    forget_distances(m->item);
    return TKL_OK;
}

static int take_prefix(maker *m, const tkl__text_word_list *words)
{
    tkl_bytes text = m->piece->text;
    const tkl__text_word *last = words->count ? &words->items[words->count - 1] : NULL;
    if (!last)
        return tkl__search_query_fail(m->whole, m->piece->start, "there is no word before '*'");
    if (last->kind != TKL__TEXT_WORD || last->start + last->len != text.len)
        return make_words(m); /* behind punctuation, "std::*", the '*' is punctuation, too */
    int rc = make_terms(m, (tkl_bytes){text.data, last->start});
    return rc == TKL_OK ? add_prefix(m, last) : rc;
}

/* Handles "foo-conn*". The last word becomes a prefix: it is not stemmed and not compared with stop
 * words, because it is not a whole word. The words before it are ordinary words. */
static int make_prefix(maker *m)
{
    tkl__text_word_options options = query_words(m->rules);
    tkl__text_word_list words;
    options.stem = NULL;
    options.stop = NULL;
    int rc = tkl__text_words(m->piece->text, &options, &words);
    if (rc != TKL_OK)
        return rc;
    rc = take_prefix(m, &words);
    tkl__text_word_list_free(&words);
    return rc;
}

/* ---- Fields -------------------------------------------------------------- */

static int make_value(maker *m)
{
    tkl__buf folded;
    unsigned fold = m->rules->words ? m->rules->words->fold : 0;
    tkl__buf_init(&folded);
    int rc = tkl__text_fold(m->piece->text, fold, &folded);
    if (rc == TKL_OK) {
        m->item->value = tkl__search_query_copy(m->query, (tkl_bytes){folded.data, folded.len});
        rc = m->item->value.data ? TKL_OK : tkl__nomem();
    }
    tkl__buf_free(&folded);
    m->item->kind = TKL__QUERY_VALUE;
    m->item->prefix = m->piece->star;
    return rc;
}

static int parse_number(maker *m, tkl_bytes text, double *number)
{
    if (!tkl__double_parse(text, number) || isnan(*number))
        return tkl__search_query_fail(m->whole, m->piece->inside,
                                      "not a number or a range such as 10, >10, >=1, <5, 1..10");
    *number += 0.0; /* -0 is 0 */
    return TKL_OK;
}

/* Skips `with` at the beginning of the text; false: the text does not begin with it. */
static bool skip_sign(tkl_bytes *text, const char *with)
{
    size_t len = strlen(with);
    if (!tkl__begins_with(*text, tkl_str(with)))
        return false;
    text->data += len;
    text->len -= len;
    return true;
}

static int make_half_range(maker *m, tkl_bytes text)
{
    tkl__search_query_item *item = m->item;
    if (skip_sign(&text, ">="))
        return parse_number(m, text, &item->low);
    if (skip_sign(&text, "<="))
        return parse_number(m, text, &item->high);
    if ((item->low_open = skip_sign(&text, ">")))
        return parse_number(m, text, &item->low);
    if ((item->high_open = skip_sign(&text, "<")))
        return parse_number(m, text, &item->high);
    skip_sign(&text, "=");
    int rc = parse_number(m, text, &item->low);
    item->high = item->low;
    return rc;
}

static int make_span(maker *m, tkl_bytes low, tkl_bytes high)
{
    tkl__search_query_item *item = m->item;
    int rc = low.len ? parse_number(m, low, &item->low) : TKL_OK;
    if (rc == TKL_OK && high.len)
        rc = parse_number(m, high, &item->high);
    if (rc == TKL_OK && !low.len && !high.len)
        rc = parse_number(m, low, &item->low);
    if (rc == TKL_OK && item->low > item->high)
        rc = tkl__search_query_fail(m->whole, m->piece->inside, "the range ends before it begins");
    return rc;
}

static int make_range(maker *m)
{
    tkl_bytes text = m->piece->text;
    const char *dots = memmem(text.data, text.len, "..", 2);
    *m->item =
        (tkl__search_query_item){.kind = TKL__QUERY_RANGE, .low = -INFINITY, .high = INFINITY};
    if (m->piece->star && text.len == 0)
        return TKL_OK;
    if (m->piece->star)
        return tkl__search_query_fail(m->whole, m->piece->inside,
                                      "a number takes no '*'; alone it means any number");
    if (!dots)
        return make_half_range(m, text);
    size_t before = (size_t)(dots - text.data);
    return make_span(m, (tkl_bytes){text.data, before},
                     (tkl_bytes){dots + 2, text.len - before - 2});
}

static int make_field(maker *m)
{
    if (!m->piece->text.len && !m->piece->quoted && !m->piece->star)
        return tkl__search_query_fail(m->whole, m->piece->start,
                                      "a value is missing behind the colon");
    int rc = m->rules->fields[m->piece->field].numeric ? make_range(m) : make_value(m);
    m->item->field = (size_t)m->piece->field;
    return rc;
}

/* ---- All ----------------------------------------------------------------- */

int tkl__search_query_item_make(tkl__search_query *query, tkl_bytes text,
                                const tkl__search_query_rules *rules,
                                const tkl__search_query_piece *piece, tkl__search_query_item *item,
                                tkl__buf *dropped, bool *has)
{
    maker m = {query, text, rules, piece, item, dropped};
    *item = (tkl__search_query_item){.kind = TKL__QUERY_WORDS};
    *has = true;
    if (piece->field >= 0)
        return make_field(&m);
    int rc = piece->star ? make_prefix(&m) : make_words(&m);
    *has = item->count > 0;
    return rc;
}
