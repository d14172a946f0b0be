/* SPDX-License-Identifier: MIT
 *
 * Reading a query. It is cut at spaces into pieces; each piece is a sign, a field and a text, of
 * which only the text must be there. Pieces become items (parse_item.c), and the whole is brought
 * into its normal form (parse_normal.c).
 *
 * People type queries by hand. So a sign that does no harm is punctuation (a lone '-', a quote
 * inside of a word). A sign that would silently mean something else is an error: a field that the
 * index does not have, a quote that is not closed, a '*' inside of a word.
 */
#include "search/parse.h"

#include <tackle/search.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"

typedef struct tkl__search_query_block {
    struct tkl__search_query_block *next;
    max_align_t data[];
} block;

typedef struct parser {
    const tkl__search_query_rules *rules;
    tkl__search_query *query;
    tkl_bytes text;
    size_t at;                           /* offset of the next byte */
    size_t pieces, terms, ranges, texts; /* counts so far */
    bool open;                           /* the last group can still get synonyms */
    bool any;                            /* the last piece was '*': synonyms add nothing to it */
    char next;        /* the sign of the next piece by an operator before it; 0: none */
    char last;        /* the sign of the last piece; 0: none */
    bool must;        /* the first piece has a '+': each '+' means that the word must be there */
    bool worded;      /* the query has operators */
    bool negated;     /* NOT stands before a word */
    bool synonyms;    /* the query has alternatives: it is not cut */
    tkl__buf said;    /* the query as it is understood */
    tkl__buf dropped; /* stop words */
} parser;

/* ---- Memory -------------------------------------------------------------- */

void *tkl__search_query_alloc(tkl__search_query *query, size_t size)
{
    block *b = malloc(sizeof *b + size);
    if (!b)
        return NULL;
    b->next = query->blocks;
    query->blocks = b;
    return b->data;
}

tkl_bytes tkl__search_query_copy(tkl__search_query *query, tkl_bytes bytes)
{
    char *data = tkl__search_query_alloc(query, bytes.len + 1);
    if (data && bytes.len)
        memcpy(data, bytes.data, bytes.len);
    return (tkl_bytes){data, data ? bytes.len : 0};
}

void tkl__search_query_free(tkl__search_query *query)
{
    for (block *b = query->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *query = (tkl__search_query){.nothing = false};
}

/* Makes room for one more item. The array doubles whenever its count is a power of two. */
static void *grow_items(tkl__search_query *query, void *items, size_t count, size_t size)
{
    if (count & (count - 1)) /* not a power of two: not full */
        return items;
    void *grown = tkl__search_query_alloc(query, (count ? count * 2 : 1) * size);
    if (grown && count)
        memcpy(grown, items, count * size);
    return grown;
}

static bool add_item(tkl__search_query *query, tkl__search_query_item **items, size_t *count,
                     const tkl__search_query_item *item)
{
    tkl__search_query_item *grown = grow_items(query, *items, *count, sizeof *item);
    if (!grown)
        return false;
    *items = grown;
    grown[(*count)++] = *item;
    return true;
}

static bool add_group(tkl__search_query *query)
{
    tkl__search_query_group *grown =
        grow_items(query, query->wanted, query->wanted_count, sizeof *query->wanted);
    if (!grown)
        return false;
    query->wanted = grown;
    grown[query->wanted_count++] = (tkl__search_query_group){.count = 0};
    return true;
}

/* ---- Errors -------------------------------------------------------------- */

/* How many bytes of the query an error shows: whole characters. */
static size_t excerpt_length(tkl_bytes query, size_t at)
{
    size_t left = query.len - at, len = left < 24 ? left : 24;
    while (len && len < left && ((unsigned char)query.data[at + len] & 0xc0) == 0x80)
        len--;
    return len;
}

int tkl__search_query_fail(tkl_bytes query, size_t at, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    size_t len = excerpt_length(query, at);
    return tkl__fail(TKL_EINVAL, "query, byte %zu, at [%.*s%s]: %s", at, (int)len, query.data + at,
                     at + len < query.len ? "..." : "", why);
}

/* ---- Characters ---------------------------------------------------------- */

static tkl_bytes rest(const parser *p)
{
    return (tkl_bytes){p->text.data + p->at, p->text.len - p->at};
}

static bool text_begins(tkl_bytes text, const char *with)
{
    return tkl__begins_with(text, tkl_str(with));
}

/* The length of the space at the beginning of the text, in ASCII or Unicode (including the space of
 * Chinese keyboards); 0: the text does not begin with a space. */
static size_t space_length(tkl_bytes text)
{
    static const char *const wide[] = {"\xe3\x80\x80", "\xe2\x80\xa8", "\xe2\x80\xa9",
                                       "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe1\x9a\x80"};
    if (!text.len)
        return 0;
    if (*text.data == ' ' || (*text.data >= '\t' && *text.data <= '\r'))
        return 1;
    if (text_begins(text, "\xc2\xa0"))
        return 2;
    if (text_begins(text, "\xe2\x80") && text.len > 2 && (unsigned char)text.data[2] <= 0x8a)
        return 3; /* U+2000 to U+200A */
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (text_begins(text, wide[i]))
            return 3;
    return 0;
}

static void skip_spaces(parser *p)
{
    for (size_t len; (len = space_length(rest(p)));)
        p->at += len;
}

/* The text up to the next space. */
static tkl_bytes bare_text(const parser *p)
{
    tkl_bytes text = rest(p);
    size_t len = 0;
    while (len < text.len && !space_length((tkl_bytes){text.data + len, text.len - len}))
        len++;
    return (tkl_bytes){text.data, len};
}

/* ---- Quotes -------------------------------------------------------------- */

/* The closing quote for the quote at the beginning of the text; NULL: it does not begin with a
 * quote. */
static const char *closing_quote(tkl_bytes text)
{
    if (text_begins(text, "\""))
        return "\"";
    return text_begins(text, "“") || text_begins(text, "”") ? "”" : NULL;
}

/* Reads the text between quotes. Inside it, a backslash escapes a quote or a backslash. */
static int read_quoted(parser *p, const char *close, tkl__search_query_piece *piece)
{
    size_t start = p->at, len = 0;
    p->at += strlen(close);
    piece->inside = p->at;
    char *text = tkl__search_query_alloc(p->query, p->text.len - p->at + 1);
    if (!text)
        return tkl__nomem();
    for (; p->at < p->text.len; p->at++) {
        if (text_begins(rest(p), close)) {
            p->at += strlen(close);
            piece->text = (tkl_bytes){text, len};
            piece->quoted = true;
            return TKL_OK;
        }
        if (text_begins(rest(p), "\\\"") || text_begins(rest(p), "\\\\"))
            p->at++;
        text[len++] = p->text.data[p->at];
    }
    return tkl__search_query_fail(p->text, start, "the quote is not closed");
}

/* ---- Pieces -------------------------------------------------------------- */

static int find_field(const tkl__search_query_rules *rules, tkl_bytes name)
{
    for (size_t i = 0; i < rules->field_count; i++)
        if (tkl__same_bytes(rules->fields[i].name, name))
            return (int)i;
    return -1;
}

/* Whether "name:" before `next` is meant as a field. 12:30, https://, std::vector, C:\Windows and a
 * word that ends in a colon are not. */
static bool means_field(tkl_bytes name, tkl_bytes next)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (!(isalpha(c) || c == '_' || c >= 0x80 || (i && (isdigit(c) || c == '-' || c == '.'))))
            return false;
    }
    return name.len && next.len && !space_length(next) && !strchr("/:\\", *next.data);
}

static int read_field(parser *p, tkl__search_query_piece *piece)
{
    tkl_bytes bare = bare_text(p);
    const char *colon = bare.len ? memchr(bare.data, ':', bare.len) : NULL;
    piece->field = -1;
    if (!colon)
        return TKL_OK;
    tkl_bytes name = {bare.data, (size_t)(colon - bare.data)};
    tkl_bytes next = {colon + 1, p->text.len - (size_t)(colon + 1 - p->text.data)};
    piece->field = find_field(p->rules, name);
    if (piece->field < 0 && means_field(name, next))
        return tkl__search_query_fail(
            p->text, p->at, "there is no such field (for words, put a space behind the colon)");
    if (piece->field >= 0)
        p->at += name.len + 1;
    return TKL_OK;
}

static int read_bare(parser *p, tkl__search_query_piece *piece)
{
    tkl_bytes text = bare_text(p);
    piece->inside = p->at;
    p->at += text.len;
    if (text.len && text.data[text.len - 1] == '*') {
        piece->star = true;
        text.len--;
    }
    const char *star = text.len ? memchr(text.data, '*', text.len) : NULL;
    if (star)
        return tkl__search_query_fail(p->text, (size_t)(star - p->text.data),
                                      "a '*' may stand at the end of a word only");
    piece->text = text;
    return TKL_OK;
}

/* Reads the next piece; the caller has checked that there is one. */
static int read_piece(parser *p, tkl__search_query_piece *piece)
{
    *piece = (tkl__search_query_piece){.start = p->at};
    tkl_bytes text = rest(p), next = {text.data + 1, text.len - 1};
    if ((*text.data == '+' || *text.data == '-') && next.len && !space_length(next)) {
        piece->sign = *text.data;
        p->at++;
    }
    int rc = read_field(p, piece);
    if (rc != TKL_OK)
        return rc;
    const char *close = closing_quote(rest(p));
    rc = close ? read_quoted(p, close, piece) : read_bare(p, piece);
    if (rc == TKL_OK && close && text_begins(rest(p), "*"))
        rc = tkl__search_query_fail(p->text, p->at,
                                    "a '*' may stand behind a word only, not a quote");
    return rc;
}

/* ---- The tree ------------------------------------------------------------ */

static int count_item(parser *p, const tkl__search_query_piece *piece,
                      const tkl__search_query_item *item)
{
    p->terms += item->count ? item->count : 1;
    if (p->terms > TKL__QUERY_TERMS_MAX)
        return tkl__search_query_fail(p->text, piece->start, "more than %d words",
                                      TKL__QUERY_TERMS_MAX);
    p->ranges += item->kind == TKL__QUERY_RANGE;
    if (p->ranges > TKL__QUERY_RANGES_MAX)
        return tkl__search_query_fail(p->text, piece->start, "more than %d ranges",
                                      TKL__QUERY_RANGES_MAX);
    p->texts += piece->sign && item->count > 1;
    if (p->texts > TKL__QUERY_TEXTS_MAX)
        return tkl__search_query_fail(p->text, piece->start,
                                      "more than %d synonyms or excluded texts of several words",
                                      TKL__QUERY_TEXTS_MAX);
    return TKL_OK;
}

/* Puts the item, if there is one, into the group that its sign asks for. A word without a sign
 * starts a group, even when it is a stop word: a following '+' word is an alternative to that word,
 * not to the one before it. */
static int place_item(parser *p, const tkl__search_query_piece *piece,
                      const tkl__search_query_item *item, bool has)
{
    tkl__search_query *q = p->query;
    if (piece->sign == '-')
        return !has || add_item(q, &q->excluded, &q->excluded_count, item) ? TKL_OK : tkl__nomem();
    if (piece->sign == '+' && p->any)
        return TKL_OK;
    p->any = false;
    if ((piece->sign != '+' || !p->open) && !add_group(q))
        return tkl__nomem();
    p->open = true;
    tkl__search_query_group *group = &q->wanted[q->wanted_count - 1];
    return !has || add_item(q, &group->items, &group->count, item) ? TKL_OK : tkl__nomem();
}

static int take_piece(parser *p, const tkl__search_query_piece *piece)
{
    tkl__search_query_item item;
    bool has;
    if (piece->star && !piece->text.len && piece->field < 0) {
        if (piece->sign)
            return tkl__search_query_fail(p->text, piece->start,
                                          "'*' alone means all documents and takes no sign");
        p->query->all = true;
        p->any = true;
        return TKL_OK;
    }
    int rc =
        tkl__search_query_item_make(p->query, p->text, p->rules, piece, &item, &p->dropped, &has);
    if (rc == TKL_OK && has)
        rc = count_item(p, piece, &item);
    return rc == TKL_OK ? place_item(p, piece, &item, has) : rc;
}

/* ---- Operators ----------------------------------------------------------- */

/* The operators that other search engines have, and their effect on the next piece. */
typedef enum operator_kind {
    NO_OPERATOR,
    IS_AND, /* nothing: all words are wanted anyway */
    IS_OR,  /* a synonym */
    IS_NOT, /* excluded */
} operator_kind;

static operator_kind operator_of(const tkl__search_query_piece *piece)
{
    static const struct {
        const char *word;
        operator_kind is;
    } operators[] = {
        {"AND", IS_AND}, {"&&", IS_AND}, {"OR", IS_OR}, {"||", IS_OR}, {"NOT", IS_NOT}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!piece->sign && !piece->quoted && !piece->star && piece->field < 0 &&
            tkl__same_bytes(piece->text, tkl_str(operators[i].word)))
            return operators[i].is;
    return NO_OPERATOR;
}

/* Takes an operator. *taken is false for an ordinary word, which every operator is at the end of
 * the query, and OR and AND at its beginning. */
static int take_operator(parser *p, const tkl__search_query_piece *piece, bool *taken)
{
    operator_kind is = operator_of(piece);
    bool first = p->said.len == 0;
    skip_spaces(p);
    *taken = is != NO_OPERATOR && p->at < p->text.len && (!first || is == IS_NOT);
    if (!*taken)
        return TKL_OK;
    p->worded = true;
    p->negated = p->negated || is == IS_NOT;
    if ((is == IS_OR && (p->next || p->last == '-')) || (is == IS_NOT && p->next == '+'))
        return tkl__search_query_fail(p->text, piece->start,
                                      "OR may stand between two wanted words only");
    if (is != IS_AND)
        p->next = is == IS_OR ? '+' : '-';
    return TKL_OK;
}

/* Gives a piece the sign that the operator before it means, and adds the piece to `said`. `end`:
 * where it ends in the query. */
static int sign_piece(parser *p, tkl__search_query_piece *piece, size_t end)
{
    size_t start = piece->start + (piece->sign != 0);
    bool first = p->said.len == 0;
    if (p->next == '+' && piece->sign == '-')
        return tkl__search_query_fail(p->text, piece->start,
                                      "OR may stand between two wanted words only");
    if (first && piece->sign == '+')
        p->must = p->worded = true;
    if (p->next)
        piece->sign = p->next;
    else if (p->must && piece->sign == '+')
        piece->sign = 0;
    tkl__buf_add(&p->said, " ", !first);
    tkl__buf_add(&p->said, &piece->sign, piece->sign != 0);
    tkl__buf_add(&p->said, p->text.data + start, end - start);
    p->last = piece->sign;
    p->next = 0;
    p->synonyms = p->synonyms || piece->sign == '+';
    return TKL_OK;
}

/* ---- Texts without spaces ------------------------------------------------ */

static bool may_be_cut(const tkl__search_query_piece *piece)
{
    bool foreign = false;
    for (size_t i = 0; i < piece->text.len; i++)
        foreign = foreign || (unsigned char)piece->text.data[i] >= 0x80;
    return foreign && !piece->sign && !piece->quoted && !piece->star && piece->field < 0;
}

/* Finds the words of the dictionary in a piece. *side_by_side: two of them have nothing between
 * them, so that only the dictionary could cut them. */
static int find_cuts(const parser *p, const tkl__search_query_piece *piece,
                     tkl__text_word_list *words, bool *side_by_side)
{
    tkl__text_word_options options = {.fold = p->rules->words ? p->rules->words->fold : 0};
    int rc = tkl__text_words(piece->text, &options, words);
    *side_by_side = false;
    for (size_t i = 1; rc == TKL_OK && i < words->count; i++)
        *side_by_side = *side_by_side || words->items[i - 1].start + words->items[i - 1].len ==
                                             words->items[i].start;
    return rc;
}

/* Takes each word of the piece as a piece of its own. */
static int take_cut_piece(parser *p, const tkl__search_query_piece *piece,
                          const tkl__text_word_list *words)
{
    int rc = p->said.failed ? tkl__nomem() : TKL_OK;
    if (rc == TKL_OK)
        p->said.len -= piece->text.len;
    for (size_t i = 0; rc == TKL_OK && i < words->count; i++) {
        tkl__search_query_piece part = *piece;
        part.text = (tkl_bytes){piece->text.data + words->items[i].start, words->items[i].len};
        tkl__buf_add(&p->said, " ", i > 0);
        tkl__buf_add(&p->said, part.text.data, part.text.len);
        rc = take_piece(p, &part);
    }
    p->worded = true;
    return rc;
}

/* Takes a piece whole, or, if the rules say so, word by word. */
static int take_whole_or_cut(parser *p, const tkl__search_query_piece *piece)
{
    tkl__text_word_list words = {.count = 0};
    bool side_by_side = false;
    int rc = may_be_cut(piece) ? find_cuts(p, piece, &words, &side_by_side) : TKL_OK;
    p->query->can_be_cut = p->query->can_be_cut || side_by_side;
    if (rc == TKL_OK)
        rc =
            p->rules->cut && side_by_side ? take_cut_piece(p, piece, &words) : take_piece(p, piece);
    tkl__text_word_list_free(&words);
    return rc;
}

static int read_all(parser *p)
{
    int rc = TKL_OK;
    for (skip_spaces(p); rc == TKL_OK && p->at < p->text.len; skip_spaces(p)) {
        tkl__search_query_piece piece;
        if (++p->pieces > TKL__QUERY_TERMS_MAX)
            return tkl__search_query_fail(p->text, p->at, "more than %d words",
                                          TKL__QUERY_TERMS_MAX);
        rc = read_piece(p, &piece);
        size_t end = p->at;
        bool operator_taken = false;
        if (rc == TKL_OK)
            rc = take_operator(p, &piece, &operator_taken);
        if (operator_taken)
            continue;
        if (rc == TKL_OK)
            rc = sign_piece(p, &piece, end);
        if (rc == TKL_OK)
            rc = take_whole_or_cut(p, &piece);
    }
    p->query->can_be_cut = p->query->can_be_cut && !p->synonyms;
    return rc;
}

/* Sets `understood` and `dropped` of the query. */
static int note_words(parser *p)
{
    tkl__search_query *q = p->query;
    if (p->said.failed || p->dropped.failed)
        return tkl__nomem();
    if (p->negated && q->all) { /* only NOT: all documents without these words */
        tkl__buf all;
        tkl__buf_init(&all);
        tkl__buf_addz(&all, "* ");
        tkl__buf_add(&all, p->said.data, p->said.len);
        q->understood = tkl__search_query_copy(q, (tkl_bytes){all.data, all.len});
        tkl__buf_free(&all);
    } else if (p->worded) {
        q->understood = tkl__search_query_copy(q, (tkl_bytes){p->said.data, p->said.len});
    }
    if (p->dropped.len)
        q->dropped = tkl__search_query_copy(q, (tkl_bytes){p->dropped.data, p->dropped.len});
    return (p->worded && !q->understood.data) || (p->dropped.len && !q->dropped.data) ? tkl__nomem()
                                                                                      : TKL_OK;
}

int tkl__search_query_parse(tkl_bytes text, const tkl__search_query_rules *rules,
                            tkl__search_query *query)
{
    parser p = {.rules = rules, .query = query, .text = text};
    *query = (tkl__search_query){.nothing = false};
    if (text.len > TKL__QUERY_MAX)
        return tkl__fail(TKL_EINVAL, "query of %zu bytes: at most %d", text.len, TKL__QUERY_MAX);
    tkl__buf_init(&p.said);
    tkl__buf_init(&p.dropped);
    int rc = read_all(&p);
    if (p.negated && query->wanted_count == 0)
        query->all = true;
    bool excluding = query->excluded_count > 0, wanting = query->wanted_count > 0;
    if (rc == TKL_OK)
        rc = tkl__search_query_normalize(query, rules);
    if (rc == TKL_OK)
        rc = note_words(&p);
    if (rc == TKL_OK && query->nothing)
        query->why = p.ranges > 1 && wanting && !p.dropped.len ? TKL__QUERY_NO_RANGE
                     : p.dropped.len                           ? TKL__QUERY_STOPPED
                     : excluding                               ? TKL__QUERY_EXCLUDING
                                                               : TKL__QUERY_EMPTY;
    tkl__buf_free(&p.said);
    tkl__buf_free(&p.dropped);
    if (rc != TKL_OK)
        tkl__search_query_free(query);
    return rc;
}

const char *tkl_search_kind_name(tkl_search_kind kind)
{
    static const char *const names[] = {"numeric", "text"};
    return TKL__ENUM_NAME((int)kind - 1, names);
}
