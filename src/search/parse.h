/* SPDX-License-Identifier: MIT
 *
 * Queries: a text becomes a small tree. Private to search.
 *
 *   word word      all of them            conn*           a word that begins so
 *   +word          or this one, instead   "a b"           side by side (index with positions)
 *                  of the one before it   field:value     the text field has this value
 *   -word          not this one           field:val*      its value begins so
 *   *              all documents          votes:>10       also >= < <= =, 1..10, 1.. and ..10
 *                                         field:*         the field has any value
 *
 * People also write "a OR b", "a AND b", "NOT b", and "+a +b" for words that must be there: these
 * are turned into the signs above, and `understood` says so.
 *
 * A Chinese text has no spaces. It is looked for as it is; when no document has it, it is cut into
 * words, which may be apart.
 *
 * A document matches when each wanted group has an item that matches and no excluded item does.
 * A text that gives several terms (foo-bar, Chinese) is one item: a phrase if the index keeps
 * positions, else all of its terms. Words that are stop words do not count. When nothing wanted is
 * left, the query matches nothing; so does a query of excluded words only.
 */
#ifndef TKL_SEARCH_PARSE_H
#define TKL_SEARCH_PARSE_H

#include "core/buf.h"
#include "text/text.h"

/* The longest query, in bytes, and the most terms, values and ranges in it together. */
#define TKL__QUERY_MAX       (64 << 10)
#define TKL__QUERY_TERMS_MAX 500
/* The most ranges among them: each one needs a lookup of its own. */
#define TKL__QUERY_RANGES_MAX 64
/* The most synonyms and excluded texts that are several words: each one needs an intersection. */
#define TKL__QUERY_TEXTS_MAX 64

typedef struct tkl__search_query_field {
    tkl_bytes name;
    bool numeric; /* false: text */
} tkl__search_query_field;

/* The settings of an index that queries depend on. */
typedef struct tkl__search_query_rules {
    const tkl__search_query_field *fields;
    size_t field_count;
    const tkl__text_word_options *words; /* as for the documents; NULL: folded words */
    bool positions;                      /* the index stores positions of words */
    bool cut; /* cuts a Chinese text into the words of the dictionary, which may be apart */
} tkl__search_query_rules;

typedef struct tkl__search_query_term {
    tkl_bytes text; /* as in the index: folded, stemmed */
    bool prefix;    /* all terms that begin with this one; only in TKL__QUERY_WORDS */
    uint32_t at;    /* in a phrase: distance from its first term; else 0 */
} tkl__search_query_term;

typedef enum tkl__search_query_kind {
    TKL__QUERY_WORDS = 0,  /* all of these terms, wherever they stand */
    TKL__QUERY_PHRASE = 1, /* two or more terms at these distances */
    TKL__QUERY_VALUE = 2,  /* the value of a text field */
    TKL__QUERY_RANGE = 3,  /* the value of a numeric field */
} tkl__search_query_kind;

typedef struct tkl__search_query_item {
    tkl__search_query_kind kind;
    tkl__search_query_term *terms; /* WORDS: by bytes, each once; PHRASE: by position */
    size_t count;                  /* number of terms */
    size_t field;                  /* VALUE, RANGE: index of the field */
    tkl_bytes value;               /* VALUE: folded like words */
    bool prefix;                   /* VALUE: the value begins with this */
    double low, high;              /* RANGE: bounds, may be infinite */
    bool low_open;                 /* RANGE: excludes `low` itself */
    bool high_open;
    tkl_bytes key; /* the same for equal items */
} tkl__search_query_item;

/* A group matches when one of its items does. A group of one item has at most one term, unless the
 * item is a phrase. */
typedef struct tkl__search_query_group {
    tkl__search_query_item *items; /* at least one, no duplicates */
    size_t count;
    tkl_bytes key;
} tkl__search_query_group;

/* Why a query matches no document, whatever the index has. */
typedef enum tkl__search_query_nothing {
    TKL__QUERY_SOMETHING = 0, /* it may match */
    TKL__QUERY_EMPTY = 1,     /* no words */
    TKL__QUERY_STOPPED = 2,   /* stop words only */
    TKL__QUERY_EXCLUDING = 3, /* excluded words only */
    TKL__QUERY_NO_RANGE = 4,  /* its ranges have no number in common */
} tkl__search_query_nothing;

typedef struct tkl__search_query {
    tkl__search_query_group *wanted; /* no duplicates */
    size_t wanted_count;
    tkl__search_query_item *excluded; /* no duplicates */
    size_t excluded_count;
    bool all;     /* all documents except the excluded ones; `wanted` is empty */
    bool nothing; /* matches no document: `wanted` and `excluded` are empty, and `all` is false
                         */
    tkl__search_query_nothing why; /* with `nothing` */
    tkl_bytes normal; /* normal form: the same bytes for equal queries, however they are written */
    bool can_be_cut;  /* it has a Chinese text of several words, and no synonyms */
    tkl_bytes understood; /* the query with signs in place of OR, AND, NOT and leading '+', and with
                             spaces where it was cut; empty: it has none of these */
    tkl_bytes dropped;    /* its stop words, separated by spaces */
    struct tkl__search_query_block *blocks; /* own all bytes and terms */
} tkl__search_query;

/* TKL_EINVAL: the query is wrong; tkl_errmsg() names the byte and shows the text there. After a
 * failure there is nothing to free. */
int tkl__search_query_parse(tkl_bytes text, const tkl__search_query_rules *rules,
                            tkl__search_query *query);
void tkl__search_query_free(tkl__search_query *query); /* all zero is fine */

/* ---- The parser: parse.c, parse_item.c, parse_normal.c ------------------- */

/* A piece of the query, between spaces. */
typedef struct tkl__search_query_piece {
    size_t start;   /* offset in the query, at the sign */
    size_t inside;  /* offset of its text */
    char sign;      /* '+', '-' or 0 */
    int field;      /* index of the field; -1: none */
    tkl_bytes text; /* without sign, field, quotes and star */
    bool quoted;
    bool star; /* a '*' followed it */
} tkl__search_query_piece;

/* Memory that is freed with the query; NULL: out of memory. */
void *tkl__search_query_alloc(tkl__search_query *query, size_t size);
tkl_bytes tkl__search_query_copy(tkl__search_query *query,
                                 tkl_bytes bytes); /* data is NULL when out of memory */

/* Sets the error for a byte of the query, and shows the text there. */
int tkl__search_query_fail(tkl_bytes query, size_t at, const char *format, ...) TKL_PRINTF(3, 4);

/* Makes an item of a piece. *has is false when the piece has no words, or only stop words. Appends
 * these to `dropped`. */
int tkl__search_query_item_make(tkl__search_query *query, tkl_bytes text,
                                const tkl__search_query_rules *rules,
                                const tkl__search_query_piece *piece, tkl__search_query_item *item,
                                tkl__buf *dropped, bool *has);

/* Sorts, removes duplicates, and writes the normal form. */
int tkl__search_query_normalize(tkl__search_query *query, const tkl__search_query_rules *rules);

#endif
