/* SPDX-License-Identifier: MIT
 *
 * The private header of search: what its files share. The essay is in search.c.
 */
#ifndef TKL_SEARCH_INSIDE_H
#define TKL_SEARCH_INSIDE_H

#include <stdatomic.h>
#include <tackle/search.h>

#include "core/batch.h"
#include "core/buf.h"
#include "core/name.h"
#include "search/parse.h"

/* ---- Keys ---------------------------------------------------------------- */

/* The keys that each shard has. Every script of a shard gets the keys before SCRATCH, in this
 * order. */
typedef enum tkl__search_key {
    TKL__SEARCH_META,
    TKL__SEARCH_IDS,
    TKL__SEARCH_DOCS,
    TKL__SEARCH_FORWARD,
    TKL__SEARCH_TEXTS,
    TKL__SEARCH_LIVE,
    TKL__SEARCH_DEAD,
    TKL__SEARCH_FREE,
    TKL__SEARCH_TERMS,
    TKL__SEARCH_COMMON,
    TKL__SEARCH_LADDER,
    TKL__SEARCH_SCRIPT_KEYS,
    TKL__SEARCH_SCRATCH = TKL__SEARCH_SCRIPT_KEYS, /* with a number appended: scratch results */
    TKL__SEARCH_KEYS,
} tkl__search_key;

/* Bands of lengths: a document of n words is in the band of floor(log2(n) * BANDS_PER_OCTAVE), the
 * last band has all that are longer. Relevance is bounded by them (bests.inc.lua). */
#define TKL__SEARCH_BANDS            64
#define TKL__SEARCH_BANDS_PER_OCTAVE 4

typedef struct tkl__search_shard {
    tkl__base base;
    tkl_bytes keys[TKL__SEARCH_KEYS];        /* owned */
    tkl_bytes fields[TKL_SEARCH_FIELDS_MAX]; /* sorted sets of the fields; owned */
    tkl_bytes *steps; /* bitmaps of the ladders, field by field: the steps of its top, the steps of
                         its low end, its rungs; owned */
    size_t step_count;
    tkl_bytes bands[TKL__SEARCH_BANDS]; /* postings of the bands of lengths; owned */
} tkl__search_shard;

/* Number of steps of each end of a field, of its rungs, and of all of these (ladders.inc.lua). */
#define TKL__SEARCH_STEPS       8
#define TKL__SEARCH_RUNGS       32
#define TKL__SEARCH_FIELD_STEPS (2 * TKL__SEARCH_STEPS + TKL__SEARCH_RUNGS)

/* ---- Schema (schema.c) --------------------------------------------------- */

#define TKL__SEARCH_TOKEN_SIZE 33

/* The stored schema, with everything derived from it. It never changes; handles and results share
 * it by reference. */
typedef struct tkl__search_schema {
    atomic_int refs;
    char token[TKL__SEARCH_TOKEN_SIZE]; /* identifies this index; a later index of the same name has
                                          another token */
    tkl_search_schema is;               /* points into `store`; reserved words are zero */
    tkl__search_query_field fields[TKL_SEARCH_FIELDS_MAX];
    tkl_search_field public_fields[TKL_SEARCH_FIELDS_MAX];
    tkl__text_word_set stop, user;
    tkl__text_word_options words;  /* how words of documents are found */
    tkl__search_query_rules rules; /* how queries are parsed */
    tkl__search_shard *shards;
    size_t shard_count;
    char *store;
} tkl__search_schema;

void tkl__search_schema_free(tkl__search_schema *schema); /* drops one reference; NULL is fine */

/* Makes a schema that belongs to no index: it can parse queries, and has neither token nor shards.
 * `is` may be NULL. Free it with tkl__search_schema_free(). No I/O. */
int tkl__search_schema_make(const tkl_search_schema *is, tkl__search_schema **schema);

/* The schema of the index; asks the server on first use. TKL_NOTFOUND: no such index. Free it with
 * tkl__search_schema_free(). */
int tkl__search_schema_get(tkl_search *search, tkl__search_schema **schema);
/* The same, but always asks the server. `dropped`: also when the index is being dropped. */
int tkl__search_schema_read(tkl_search *search, bool dropped, tkl__search_schema **schema);
/* Forgets the known schema if it is this one, or any with NULL: the server has said that the index
 * has another one by now. */
void tkl__search_schema_forget(tkl_search *search, const tkl__search_schema *schema);

/* The index of a field with this name; -1: no such field. */
int tkl__search_field_of(const tkl__search_schema *schema, tkl_bytes name);

/* The outcome of one attempt at a call. */
typedef enum tkl__search_outcome {
    TKL__SEARCH_DONE = 0,
    TKL__SEARCH_STALE = 1,   /* the index is a different one by now: its schema is read again */
    TKL__SEARCH_CHANGED = 2, /* the index has changed in a way that needs another attempt */
} tkl__search_outcome;

typedef int tkl__search_attempt(tkl_search *search, tkl__search_schema *schema, void *arg,
                                tkl__search_outcome *outcome);

/* Attempts a call with the schema of the index until it is done; a few times, while the index keeps
 * being dropped and created again, or keeps changing. */
#define TKL__SEARCH_TRIES 4
int tkl__search_try(tkl_search *search, tkl__search_attempt *attempt, void *arg);

/* ---- Shards (shard.c) ---------------------------------------------------- */

int tkl__search_shard_open(tkl_client *client, tkl_bytes name, size_t index,
                           const tkl__search_schema *schema, tkl__search_shard *shard);
void tkl__search_shard_close(tkl__search_shard *shard);
size_t tkl__search_shard_of(const tkl__search_schema *schema, tkl_bytes id);

/* ---- The handle ---------------------------------------------------------- */

struct tkl_search {
    tkl_client *client;
    tkl_bytes name; /* owned */
    tkl_search_options options;
    tkl__search_schema *schema; /* NULL: not known yet; guarded by the client's lock */
    tkl__search_schema **known; /* where the schema is remembered: `schema` of the original handle
                                   */
};

/* A copy of the handle for one call with its own time-out (0: the handle's time-out). The copy
 * shares the schema of the handle; there is nothing to free. */
tkl_search tkl__search_with_timeout(const tkl_search *search, int64_t timeout_ms);

int64_t tkl__search_deadline(const tkl_search *search);

/* ---- Terms (shard.c) ----------------------------------------------------- */

/* Appends a term as it is stored: 'w' and a word, or 'v', a field, '=' and a value. A long term
 * ends in a hash of the whole. */
#define TKL__SEARCH_TERM_MAX 240
#define TKL__SEARCH_PREFIX_BYTES \
    (TKL__SEARCH_TERM_MAX - 33) /* bytes of a long term that precede its hash */
void tkl__search_term_word(tkl__buf *out, tkl_bytes word);
void tkl__search_term_value(tkl__buf *out, const tkl__search_schema *schema, size_t field,
                            tkl_bytes folded);
/* Appends the term of all documents that have a value in a text field: 'v', the field and '*'. */
void tkl__search_term_any_value(tkl__buf *out, const tkl__search_schema *schema, size_t field);
/* Documents do not store the next two kinds of terms, which follow from their records and from how
 * often they have their words. A band of lengths: 'l' and the band. */
size_t tkl__search_band_of(uint32_t length);
void tkl__search_term_band(tkl__buf *out, size_t band);
/* A word that a document has several times: 'm', 2, 4 or 8, and the word. */
#define TKL__SEARCH_SEVERAL 3
void tkl__search_term_several(tkl__buf *out, tkl_bytes word_term, size_t index);
/* How many of these terms a document has for a word that it has `times` times. */
size_t tkl__search_several_of(uint32_t times);
/* Number of bitmaps that are made for a prefix of a query: each has the documents that have the
 * words of the prefix at least a number of times (counts.inc.lua). */
#define TKL__SEARCH_TIMES 10

/* Appends "base:t:" and the term. */
void tkl__search_term_key(tkl__buf *out, const tkl__search_shard *shard, tkl_bytes term);
/* The length of a term's key before the term. */
size_t tkl__search_term_at(const tkl__search_shard *shard);

#endif
