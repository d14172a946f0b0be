/* SPDX-License-Identifier: MIT
 *
 * Highlighting. The text is cut into words exactly as when it was indexed, and words with terms of
 * the query are marked. Each word has its span in the text, so stems, folded letters and Chinese
 * need no special handling here.
 *
 * Matches are spans of bytes. They are collected, sorted, and joined where they touch (the pairs of
 * a Chinese text overlap); then the text is written with marks around them.
 */
#include "search/highlight.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/letters.h"
#include "text/library.h"

typedef struct span {
    size_t start, end; /* bytes */
} span;

typedef struct finder {
    const tkl__text_word_list *words;
    size_t *by_text; /* indexes of the words, in the order of their terms */
    span *spans;
    size_t count;
    bool failed;
} finder;

static void add_span(finder *f, const tkl__text_word *first, const tkl__text_word *last)
{
    if (tkl__grow(&f->spans, f->count, sizeof *f->spans))
        f->spans[f->count++] = (span){first->start, last->start + last->len};
    else
        f->failed = true;
}

/* ---- Words by their terms ------------------------------------------------ */

static int by_term(const void *a, const void *b, void *words)
{
    const tkl__text_word *items = words, *x = &items[*(const size_t *)a],
                         *y = &items[*(const size_t *)b];
    int order = tkl__text_word_compare(&x->text, &y->text);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

static bool sort_words(finder *f)
{
    f->by_text = malloc((f->words->count + 1) * sizeof *f->by_text);
    if (!f->by_text)
        return false;
    for (size_t i = 0; i < f->words->count; i++)
        f->by_text[i] = i;
    qsort_r(f->by_text, f->words->count, sizeof *f->by_text, by_term, f->words->items);
    return true;
}

static const tkl__text_word *nth(const finder *f, size_t i)
{
    return &f->words->items[f->by_text[i]];
}

/* The first word, in the order of terms, that is not before this term and position. */
static size_t lower_bound(const finder *f, tkl_bytes term, uint32_t position)
{
    size_t low = 0, high = f->words->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tkl__text_word *word = nth(f, middle);
        int order = tkl__text_word_compare(&word->text, &term);
        if (order < 0 || (order == 0 && word->position < position))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool fits(const tkl__text_word *word, const tkl__search_query_term *term)
{
    return term->prefix ? tkl__begins_with(word->text, term->text)
                        : tkl__same_bytes(word->text, term->text);
}

/* ---- Matches ------------------------------------------------------------- */

static void mark_term(finder *f, const tkl__search_query_term *term)
{
    for (size_t i = lower_bound(f, term->text, 0); i < f->words->count; i++) {
        if (!fits(nth(f, i), term))
            break;
        add_span(f, nth(f, i), nth(f, i));
    }
}

static void mark_terms(finder *f, const tkl__search_query_item *item)
{
    for (size_t i = 0; i < item->count; i++)
        mark_term(f, &item->terms[i]);
}

/* The word with this term at this position; NULL: no such word. */
static const tkl__text_word *word_at(const finder *f, tkl_bytes term, uint32_t position)
{
    size_t i = lower_bound(f, term, position);
    if (i == f->words->count || nth(f, i)->position != position)
        return NULL;
    return tkl__text_word_compare(&nth(f, i)->text, &term) == 0 ? nth(f, i) : NULL;
}

static void mark_phrase_at(finder *f, const tkl__search_query_item *item,
                           const tkl__text_word *first)
{
    const tkl__text_word *last = first;
    for (size_t i = 1; i < item->count; i++) {
        last = word_at(f, item->terms[i].text, first->position + item->terms[i].at);
        if (!last)
            return;
    }
    add_span(f, first, last);
}

static void mark_phrase(finder *f, const tkl__search_query_item *item)
{
    size_t before = f->count;
    for (size_t i = lower_bound(f, item->terms->text, 0); i < f->words->count; i++) {
        if (!fits(nth(f, i), item->terms))
            break;
        mark_phrase_at(f, item, nth(f, i));
    }
    if (f->count == before)
        mark_terms(f, item);
}

static void mark_item(finder *f, const tkl__search_query_item *item)
{
    if (item->kind == TKL__QUERY_PHRASE)
        mark_phrase(f, item);
    else if (item->kind == TKL__QUERY_WORDS)
        mark_terms(f, item);
}

static int by_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void join_spans(finder *f)
{
    size_t kept = 0;
    if (f->count)
        qsort(f->spans, f->count, sizeof *f->spans, by_start);
    for (size_t i = 0; i < f->count; i++) {
        span *last = kept ? &f->spans[kept - 1] : NULL;
        if (!last || f->spans[i].start > last->end)
            f->spans[kept++] = f->spans[i];
        else if (f->spans[i].end > last->end)
            last->end = f->spans[i].end;
    }
    f->count = kept;
}

static int find_spans(finder *f, const tkl__search_query *query)
{
    if (!sort_words(f))
        return tkl__nomem();
    for (size_t i = 0; i < query->wanted_count; i++)
        for (size_t j = 0; j < query->wanted[i].count; j++)
            mark_item(f, &query->wanted[i].items[j]);
    join_spans(f);
    return f->failed ? tkl__nomem() : TKL_OK;
}

/* ---- Cutting out --------------------------------------------------------- */

static bool is_inside(tkl_bytes text, size_t at)
{
    return at < text.len && ((unsigned char)text.data[at] & 0xc0) == 0x80;
}

/* The byte that is this many characters behind `at`, or the end of the text. */
static size_t forward(tkl_bytes text, size_t at, size_t characters)
{
    for (; characters && at < text.len; characters--)
        for (at++; is_inside(text, at);)
            at++;
    return at;
}

/* The byte that is this many characters before `at`, or the beginning of the text. */
static size_t backward(tkl_bytes text, size_t at, size_t characters)
{
    for (; characters && at; characters--)
        for (at--; at && is_inside(text, at);)
            at--;
    return at;
}

static size_t length_of(tkl_bytes text, size_t start, size_t end)
{
    size_t characters = 0;
    for (size_t i = start; i < end; i++)
        characters += !is_inside(text, i);
    return characters;
}

/* A window slides over the matches. Returns the span from the first to the last match in the window
 * with the most matches. *left: characters of `length` that the span leaves unused. */
static span most_matches(const finder *f, tkl_bytes text, size_t length, size_t *left)
{
    const span *spans = f->spans;
    size_t first = 0, most = 0, used = 0, end = spans[0].start;
    span best = spans[0];
    for (size_t last = 0; last < f->count; last++) {
        used += length_of(text, end, spans[last].end);
        end = spans[last].end;
        for (; used > length && first < last; first++)
            used -= length_of(text, spans[first].start, spans[first + 1].start);
        if (last - first + 1 > most) {
            most = last - first + 1;
            best = (span){spans[first].start, end};
            *left = used < length ? length - used : 0;
        }
    }
    return best;
}

/* Shrinks the part to whole words, but keeps all matches. */
static span whole_words(const finder *f, tkl_bytes text, span part, span matches)
{
    size_t start = part.start ? matches.start : 0;
    size_t end = part.end < text.len ? matches.end : text.len;
    for (size_t i = 0; i < f->words->count; i++) {
        size_t first = f->words->items[i].start, behind = first + f->words->items[i].len;
        if (first >= part.start && first < start)
            start = first;
        if (behind <= part.end && behind > end)
            end = behind;
    }
    return (span){start, end};
}

/* Chooses the part of the text to return: the one with the most matches, with them in its
 * middle. */
static span choose_part(const finder *f, tkl_bytes text, size_t length)
{
    span matches = {0, 0}, part;
    size_t left = length;
    if (!length || forward(text, 0, length) == text.len)
        return (span){0, text.len};
    if (f->count)
        matches = most_matches(f, text, length, &left);
    part.start = backward(text, matches.start, left / 2);
    left -= length_of(text, part.start, matches.start);
    part.end = forward(text, matches.end, left);
    left -= length_of(text, matches.end, part.end);
    part.start = backward(text, part.start, left);
    return whole_words(f, text, part, matches);
}

/* ---- Writing ------------------------------------------------------------- */

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void write_text(tkl__buf *out, tkl_bytes text, size_t start, size_t end, bool html)
{
    size_t from = start;
    for (size_t i = start; html && i < end; i++) {
        const char *name = entity(text.data[i]);
        if (!name)
            continue;
        tkl__buf_add(out, text.data + from, i - from);
        tkl__buf_addz(out, name);
        from = i + 1;
    }
    if (end > from)
        tkl__buf_add(out, text.data + from, end - from);
}

/* Writes the part. Returns the number of matches in it. */
static size_t write_marked(const finder *f, tkl_bytes text,
                           const tkl__search_highlight_options *options, tkl__buf *out)
{
    span part = choose_part(f, text, options->length);
    size_t at = part.start, count = 0;
    tkl__buf_addz(out, part.start ? "…" : "");
    for (size_t i = 0; i < f->count; i++) {
        const span *match = &f->spans[i];
        if (match->start < part.start || match->end > part.end)
            continue;
        write_text(out, text, at, match->start, options->html);
        tkl__buf_add(out, options->before.data, options->before.len);
        write_text(out, text, match->start, match->end, options->html);
        tkl__buf_add(out, options->after.data, options->after.len);
        at = match->end;
        count++;
    }
    write_text(out, text, at, part.end, options->html);
    tkl__buf_addz(out, part.end < text.len ? "…" : "");
    return count;
}

/* ---- All ----------------------------------------------------------------- */

int tkl__search_highlight_query(tkl_bytes text, const tkl__search_query_rules *rules,
                                tkl__search_query *query)
{
    tkl__search_query_rules with_places = *rules;
    with_places.positions = true;
    return tkl__search_query_parse(text, &with_places, query);
}

int tkl__search_highlight(tkl_bytes text, const tkl__search_query *query,
                          const tkl__search_query_rules *rules,
                          const tkl__search_highlight_options *options, tkl__buf *out,
                          size_t *count)
{
    tkl__text_word_list words;
    int rc = tkl__text_words(text, rules->words, &words);
    if (rc != TKL_OK)
        return rc;
    finder f = {.words = &words};
    rc = find_spans(&f, query);
    *count = rc == TKL_OK ? write_marked(&f, text, options, out) : 0;
    free(f.by_text);
    free(f.spans);
    tkl__text_word_list_free(&words);
    return rc == TKL_OK && out->failed ? tkl__nomem() : rc;
}
