/* SPDX-License-Identifier: MIT
 *
 * Search: documents found by their words, in any language, in any order, counted exactly.
 *
 *     tkl_search *search;
 *     tkl_search_result *found;
 *     tkl_search_field fields[] = {{.name = tkl_str("votes"),
 *                                   .kind = TKL_SEARCH_FIELD_NUMERIC}};
 *     tkl_search_value votes = {.field = tkl_str("votes"), .number = 12};
 *     tkl_search_doc doc = {.id = tkl_str("doc:1"), .text = tkl_str("Connecting to the server"),
 *                           .values = &votes, .value_count = 1};
 *     TKL_TRY(tkl_search_open(client, tkl_str("pages"), NULL, &search));
 *     TKL_TRY(tkl_search_create(search, &(tkl_search_schema){.fields = fields, .field_count = 1,
 *                                                            .stem = "en"}));
 *     TKL_TRY(tkl_search_add(search, &doc, 1, NULL));
 *     TKL_TRY(tkl_search_query(search, tkl_str("connect +link -client votes:>10"),
 *                              &(tkl_search_query_options){.order = tkl_str("-votes")}, &found));
 *     tkl_search_result_free(found);
 *
 * A query is one round trip; a prefix (conn*), a range of many documents and the first use of a
 * handle need more. A handle may be used by several threads and survives fork(). There are no
 * callbacks. The keys, ns:search:{name}:..., stay until drop; kept results expire.
 */
#ifndef TACKLE_SEARCH_H
#define TACKLE_SEARCH_H

#include <tackle/client.h>
#include <tackle/text.h> /* tkl_text_score() */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_search tkl_search;

/* Most fields of an index, and most bytes of the name of a field. */
#define TKL_SEARCH_FIELDS_MAX     32
#define TKL_SEARCH_FIELD_NAME_MAX 64
/* Most bytes of an id, of the value of a text field, and of a text. */
#define TKL_SEARCH_ID_MAX    1024
#define TKL_SEARCH_VALUE_MAX 1024
#define TKL_SEARCH_TEXT_MAX  (16 << 20)
/* Most bytes of a query. */
#define TKL_SEARCH_QUERY_MAX (64 << 10)
/* Most hits of one page, and the last hit that a page can reach. */
#define TKL_SEARCH_PAGE_MAX  1000
#define TKL_SEARCH_REACH_MAX 100000
/* Most words, or values of a field, that a prefix stands for: the most frequent ones. */
#define TKL_SEARCH_PREFIX_MAX 500
/* Most values that a facet can show. */
#define TKL_SEARCH_FACET_MAX 500
/* Most shards of an index. */
#define TKL_SEARCH_SHARDS_MAX 256

typedef struct tkl_search_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    TKL_RESERVED(8);
} tkl_search_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_search_open(tkl_client *client, tkl_bytes name, const tkl_search_options *options,
                            tkl_search **search) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the index. NULL is fine. */
TKL_API void tkl_search_close(tkl_search *search);

/* ---- The index ----------------------------------------------------------- */

typedef enum tkl_search_kind {
    TKL_SEARCH_FIELD_NUMERIC = 1, /* a finite number: sorted, weighted, found by votes:>10 */
    TKL_SEARCH_FIELD_TEXT = 2,    /* a text: sorted, counted (facets), found whole by lang:en */
} tkl_search_kind;

TKL_API const char *tkl_search_kind_name(tkl_search_kind kind); /* "numeric" */

typedef struct tkl_search_field {
    tkl_bytes name; /* letters of any script, digits, '_', and '-' and '.' but not at its start */
    tkl_search_kind kind;
    TKL_RESERVED(2);
} tkl_search_field;

/* The schema of an index, which cannot be changed later. All zero: no fields, no stemming, the
 * usual stop words, bigrams beside Chinese words, texts kept, one shard. */
typedef struct tkl_search_schema {
    const tkl_search_field *fields;
    size_t field_count;
    const char *stem;     /* "en", "german": see docs/text.md; NULL or "": words stay as they are */
    tkl_bytes stop_words; /* separated by spaces; empty: the usual ones of English and Chinese */
    tkl_bytes user_words; /* Chinese words that the dictionary may not know; separated by spaces */
    bool no_stop_words;   /* every word counts */
    bool accents;         /* "munchen" finds "München" */
    bool scripts_apart;   /* traditional characters do not find simplified ones */
    bool no_bigrams;      /* Chinese by words only: smaller, and misses parts of words */
    bool positions;       /* "phrases in quotes"; larger */
    bool no_text;         /* texts are not kept: smaller, and hits have none */
    int shards;           /* number of shards, in different slots of a cluster; 0: 1 */
    TKL_RESERVED(8);
} tkl_search_schema;

/* Creates the index. TKL_OK also when it exists with the same schema. TKL_EINVAL: it exists with
 * another schema; tkl_errmsg() names the difference. `schema` may be NULL: all zero. */
TKL_API int tkl_search_create(tkl_search *search, const tkl_search_schema *schema)
    TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_search_info {
    tkl_search_schema schema;
    int64_t documents;
    int64_t terms;       /* words, bigrams and values of text fields */
    int64_t common;      /* terms that are stored as bitmaps */
    int64_t leftover;    /* old versions of documents that are not removed yet; queries never find
                         them */
    int64_t clean_at_ms; /* when a check last ended, Unix time: nothing was wrong any more; 0:
                            never */
} tkl_search_info;

/* TKL_NOTFOUND: no such index. Free with tkl_search_info_free(). */
TKL_API int tkl_search_show(tkl_search *search, tkl_search_info **info) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_search_info_free(tkl_search_info *info); /* NULL is fine */

/* Removes the index with all documents, in steps; from the first step on queries find nothing.
 * TKL_NOTFOUND: no such index. After an interruption, drop it again. */
TKL_API int tkl_search_drop(tkl_search *search) TKL_NONNULL(1) TKL_CHECK;

/* Counts of what a check has looked at and mended. */
typedef struct tkl_search_checked {
    int64_t documents; /* seen by the check */
    int64_t terms;     /* words, bigrams, values, lengths */
    int64_t postings;  /* documents that a term lacked, or had without reason */
    int64_t values;    /* values of fields: missing, wrong or left over */
    int64_t counts;    /* counts of documents, words and terms that were wrong */
    int64_t ids;       /* ids and numbers of documents that were wrong */
    int64_t lost;      /* documents that were removed, since parts of them were gone */
    TKL_RESERVED(4);
} tkl_search_checked;

/* Compares everything that the index has with the records and terms of its documents, and mends
 * what does not fit: after keys were lost, or an append-only file ended in the middle of a write.
 * It works in steps of some milliseconds; others may query and write. It takes long in a large
 * index. A later check of the same index ends this one (TKL_CONFLICT). Texts are not compared.
 * TKL_NOTFOUND: no such index. TKL_EDAMAGED, TKL_ETYPE: another program wrote to the keys; what was
 * mended stays. `checked` may be NULL. */
TKL_API int tkl_search_check(tkl_search *search, tkl_search_checked *checked)
    TKL_NONNULL(1) TKL_CHECK;

/* All indexes, sorted. See tkl_options.no_register. */
TKL_API int tkl_search_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Documents ----------------------------------------------------------- */

typedef struct tkl_search_value {
    tkl_bytes field;
    tkl_bytes text; /* value of a text field: up to TKL_SEARCH_VALUE_MAX bytes; else empty */
    double number;  /* value of a numeric field: finite; else 0 */
    TKL_RESERVED(2);
} tkl_search_value;

typedef struct tkl_search_doc {
    tkl_bytes id;                   /* 1 to TKL_SEARCH_ID_MAX bytes, any bytes */
    tkl_bytes text;                 /* any bytes; invalid UTF-8 separates words */
    const tkl_search_value *values; /* each field at most once; the others are missing */
    size_t value_count;
    TKL_RESERVED(4);
} tkl_search_doc;

/* Adds documents; a document replaces the one with the same id. A query finds either the old or the
 * new version of a document, never a mixture; a batch is not one step. Adding is idempotent, so the
 * library repeats it when a reply is lost. Two round trips when a document was replaced. *added
 * (may be NULL): how many ids were new. TKL_NOTFOUND: no such index. TKL_EINVAL: a document is
 * invalid, and nothing was sent; tkl_errmsg() names it. A text that has one word too often for an
 * index with positions (500000 times) is noticed later: documents before it may be stored. */
TKL_API int tkl_search_add(tkl_search *search, const tkl_search_doc *docs, size_t count,
                           int64_t *added) TKL_NONNULL(1) TKL_CHECK;

/* Removes documents. *removed (may be NULL): how many existed. */
TKL_API int tkl_search_remove(tkl_search *search, const tkl_bytes *ids, size_t count,
                              int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

/* ---- Queries ------------------------------------------------------------- */

/* word word      all of them            conn*           a word that begins so
 * +word          or this one, instead   "a b"           side by side (index with positions)
 *                of the one before it   field:value     the text field has this value
 * -word          not this one           field:val*      its value begins so
 * *              all documents          votes:>10       also >= < <= =, 1..10, 1.. and ..10
 *                                         field:*         the field has any value
 *
 * "a OR b", "a AND b", "NOT b" and "+a +b" (a word that must be there) are turned into these signs;
 * `understood` of the result says how. A Chinese text that no document has is cut into its words.
 * Stop words do not count. A query of unknown words, of stop words only or of excluded words only
 * finds nothing. */

typedef struct tkl_search_query_options {
    tkl_bytes order;         /* "votes": ascending; "-votes": descending; "updated=1,votes=2": by
                                the sum of numeric fields times these weights, greatest first;
                                empty: by relevance (BM25) */
    int64_t offset;          /* hits to skip */
    int64_t count;           /* hits of the page; 0: 10; TKL_NONE: no hits, only the total */
    int64_t keep_ms;         /* the server keeps the result this long, or until the index changes,
                                for further pages and equal queries; 0: not kept */
    int64_t compare_max;     /* most documents that are compared one by one, by weights or by the
                                relevance of many words; 0: all, and 5000 when a prefix stands for
                                too many words */
    const tkl_bytes *facets; /* text fields whose values are counted */
    size_t facet_count;
    int64_t facet_values; /* values of each facet, the most frequent first; 0: 10 */
    bool texts;           /* return the texts of the hits */
    int64_t timeout_ms;   /* time-out of one request; 0: the handle's */
    TKL_RESERVED(8);
} tkl_search_query_options;

typedef struct tkl_search_hit {
    tkl_bytes id;
    const tkl_search_value *values; /* in the order of the schema, without those that are missing */
    size_t value_count;
    tkl_bytes text; /* with `texts`; empty if the index keeps no texts, or the document was replaced
                       repeatedly while the query ran */
    double score;   /* relevance, or the weighted sum; else 0 */
    TKL_RESERVED(4);
} tkl_search_hit;

typedef struct tkl_search_count {
    tkl_bytes value; /* as one of these documents has it */
    int64_t count;   /* documents of the result that have it */
    TKL_RESERVED(2);
} tkl_search_count;

typedef struct tkl_search_facet {
    tkl_bytes field;
    const tkl_search_count *counts; /* greatest first, equal ones by value */
    size_t count;
    int64_t missing; /* documents of the result without the field; TKL_NONE: not known, since not
                        all values were counted */
    bool more;       /* the result has, or may have, values that are not shown */
    TKL_RESERVED(4);
} tkl_search_facet;

typedef struct tkl_search_result {
    const tkl_search_hit *hits;
    size_t count;
    int64_t total;    /* documents that match */
    bool exact;       /* total and order are from one moment; false: others wrote while a query of
                         several steps ran, or a prefix stands for too many words, and `total` is an
                         estimate */
    int64_t compared; /* number of documents that were compared to find the best hits: `total`, or
                         compare_max if that is less */
    bool kept;        /* taken from a kept result */
    const tkl_search_facet *facets;
    size_t facet_count;
    int64_t took_us;      /* from call to return */
    tkl_bytes understood; /* the query with these signs in place of OR, AND, NOT and a leading '+',
                             and with spaces where a text was cut; empty: it has none of them */
    tkl_bytes dropped;    /* words of the query that are stop words, separated by spaces */
    tkl_bytes why;     /* why nothing was found, for people: stop words only, excluded words only,
                             a word that no document has; empty: something was found */
    tkl_bytes nearest; /* with `why`: the word of the index that is most like the unknown word;
                             empty: none is */
} tkl_search_result;

/* Runs a query. Documents with equal values keep their order from page to page while the index does
 * not change. Documents without the field of the order come last. TKL_EINVAL: the query or the
 * order is wrong; tkl_errmsg() points at the character. TKL_NOTFOUND: no such index. `options` may
 * be NULL. */
TKL_API int tkl_search_query(tkl_search *search, tkl_bytes query,
                             const tkl_search_query_options *options, tkl_search_result **result)
    TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_search_result_free(tkl_search_result *result); /* NULL is fine */

/* Gets documents by id, with values and texts, in the order of the ids; missing documents are left
 * out. */
TKL_API int tkl_search_get(tkl_search *search, const tkl_bytes *ids, size_t count,
                           tkl_search_result **result) TKL_NONNULL(1, 4) TKL_CHECK;

/* ---- Explanations -------------------------------------------------------- */

/* A word or value of the index that the query asks for. */
typedef struct tkl_search_term {
    tkl_bytes text;    /* as the index has it: folded, stemmed */
    int64_t documents; /* documents of the index with it; TKL_NONE: not counted, since it is in an
                          excluded phrase */
    int64_t times;     /* how often the document has it; a value: 0 or 1 */
    double score;      /* its share of the document's relevance */
    TKL_RESERVED(2);
} tkl_search_term;

/* One thing that the query asks for: a word, a phrase, a value or a range. */
typedef struct tkl_search_part {
    tkl_bytes text;  /* in the signs of a query: connect, conn*, "lock free", lang:en, votes:>10 */
    bool excluded;   /* the document must not have it */
    bool matches;    /* the document has it */
    int64_t choice;  /* from 1; parts with one choice are synonyms, one is enough; 0: excluded */
    double score;    /* its share of the document's relevance */
    tkl_bytes value; /* the value that the document has in this field; empty: none, or no field */
    const tkl_search_term *terms; /* none for a range; for a prefix, the words that begin with it */
    size_t term_count;
    TKL_RESERVED(4);
} tkl_search_part;

typedef struct tkl_search_explanation {
    bool matches;                 /* the document is found */
    double score;                 /* its relevance, as in a result */
    int64_t length;               /* its number of words; longer documents score less */
    double average_length;        /* average of all documents of the index */
    int64_t documents;            /* documents of the index */
    int64_t total;                /* documents that match */
    bool exact;                   /* see tkl_search_result */
    const tkl_search_part *parts; /* wanted ones by their choices, then excluded ones */
    size_t part_count;
    tkl_bytes understood, dropped; /* see tkl_search_result */
    tkl_bytes reason;  /* why the document, or without an id any, is not found; empty: it is */
    tkl_bytes nearest; /* see tkl_search_result */
} tkl_search_explanation;

/* Explains why a query finds a document, or does not, and what its relevance is made of. `id` may be
 * empty: then it explains how the query is understood. TKL_NOTFOUND: no such index, or it has no
 * such document. TKL_EINVAL: the query is wrong. Free with tkl_search_explanation_free(). */
TKL_API int tkl_search_explain(tkl_search *search, tkl_bytes query, tkl_bytes id,
                               tkl_search_explanation **explanation) TKL_NONNULL(1, 4) TKL_CHECK;
/* Explains how an index with this schema would understand a query: parts, `understood`, `dropped`,
 * and `reason` when it can find nothing. What depends on documents is 0, TKL_NONE, empty or false,
 * and a prefix has no terms. `schema` may be NULL. TKL_EINVAL: the query or the schema is wrong. Free
 * with tkl_search_explanation_free(). No I/O. */
TKL_API int tkl_search_parse(tkl_bytes query, const tkl_search_schema *schema,
                             tkl_search_explanation **explanation) TKL_NONNULL(3) TKL_CHECK;
TKL_API void tkl_search_explanation_free(tkl_search_explanation *explanation); /* NULL is fine */

/* ---- Matches ------------------------------------------------------------- */

typedef struct tkl_search_mark_options {
    tkl_bytes before, after; /* put around each match; both empty: "<b>" and "</b>" */
    int64_t length;          /* characters of the part with the most matches; 0: the whole text */
    bool html;               /* &, <, > and quotes of the text are escaped */
    int64_t timeout_ms;      /* time-out of fetching the schema, at first use; 0: the handle's */
    TKL_RESERVED(8);
} tkl_search_mark_options;

typedef struct tkl_search_marks {
    tkl_bytes text; /* with the matches marked */
    size_t count;   /* matches in it */
} tkl_search_marks;

/* Marks the matches of a query of this index in a text, for example the text of a hit. `options`
 * may be NULL. Free with tkl_search_marks_free(). */
TKL_API int tkl_search_highlight(tkl_search *search, tkl_bytes query, tkl_bytes text,
                                 const tkl_search_mark_options *options, tkl_search_marks **marks)
    TKL_NONNULL(1, 5) TKL_CHECK;
TKL_API void tkl_search_marks_free(tkl_search_marks *marks); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
