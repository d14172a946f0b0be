/* SPDX-License-Identifier: MIT
 *
 * The private header of book: what its files share.
 */
#ifndef TKL_BOOK_INSIDE_H
#define TKL_BOOK_INSIDE_H

#include <stdatomic.h>
#include <tackle/book.h>

#include "core/batch.h"
#include "core/buf.h"
#include "text/text.h"

/* Settings of a book, combined with |. */
typedef enum tkl__book_flag {
    TKL__BOOK_ACCENTS = 1,
    TKL__BOOK_PINYIN = 2,
    TKL__BOOK_CONTAINS = 4,
} tkl__book_flag;

struct tkl_book {
    tkl_client *client;
    tkl__keys keys; /* in the order of the enum below */
    tkl_book_options options;
    atomic_uint settings; /* settings of the book as far as the handle knows them: flags */
};

enum { TKL__BOOK_META, TKL__BOOK_NAMES, TKL__BOOK_FORMS, TKL__BOOK_PARTS, TKL__BOOK_IDS };

/* ---- Settings (book.c) --------------------------------------------------- */

/* Returns the settings as they are stored: "plain", "accents pinyin". Never NULL. */
const char *tkl__book_settings_text(unsigned settings);

/* Reads the settings of the book in a reply. TKL_EINVAL: the caller requested others. */
int tkl__book_learn(tkl_book *book, tkl_bytes text);

/* Most attempts of a call while the book is dropped and created again and again. */
#define TKL__BOOK_TRIES 4

/* A request whose arguments depend on the settings: make(arg, settings, args) writes them. When the
 * book has other settings, the request is made again. */
typedef int tkl__book_make(void *arg, unsigned settings, tkl__args *args);
int tkl__book_ask(tkl_book *book, const tkl__script *script, tkl__book_make *make, void *arg,
                  bool retry_safe, tkl_reply **reply);

int64_t tkl__book_deadline(const tkl_book *book);

/* ---- Queries (query.c) --------------------------------------------------- */

/* Returns the flags with which texts of a book are folded. */
unsigned tkl__book_fold(unsigned settings);

/* A query in the form that the server looks up. It must not move: its mixes point into it. */
typedef struct tkl__book_query {
    tkl__buf folded;
    tkl__buf key;             /* folded, escaped */
    tkl__text_mix_list mixes; /* with pinyin: the ways to read it as a mixture */
} tkl__book_query;

void tkl__book_query_init(tkl__book_query *query);
void tkl__book_query_free(tkl__book_query *query);
int tkl__book_query_make(tkl_bytes text, unsigned settings, tkl__book_query *query);

/* Adds three arguments for each mix, as mixing.inc.lua expects them. */
int tkl__book_query_mixes(const tkl__book_query *query, tkl__args *args);

/* ---- Entries (entry.c) --------------------------------------------------- */

/* The longest folded text, in bytes. */
#define TKL__BOOK_KEY_MAX 8192

/* The stored form of an entry: offsets in a buffer that is still growing. */
typedef struct tkl__book_record {
    size_t entry, entry_len; /* "key NUL [text] [NUL id]" */
    size_t forms, forms_len;
    size_t cost; /* approximate number of members that it adds */
} tkl__book_record;

/* TKL_EINVAL: not a valid entry. `index` names it in the error text. */
int tkl__book_check(const tkl_book_entry *entry, size_t index);
int tkl__book_make_record(const tkl_book_entry *entry, unsigned settings, tkl__buf *out,
                          tkl__book_record *record);

/* A member of a sorted set. */
typedef struct tkl__book_member {
    tkl_bytes key;   /* the key, form or part that was found */
    tkl_bytes entry; /* "key NUL [text] [NUL id]" */
    size_t shared;   /* prefix bytes that a form has in common: see index.inc.lua */
    bool form;
} tkl__book_member;

/* Reads a member of :names. False: it was not written by tackle. */
bool tkl__book_member_read(tkl_bytes bytes, tkl__book_member *member);
/* Reads a member of :parts. */
bool tkl__book_part_read(tkl_bytes bytes, tkl__book_member *member);
/* Reads the text and the id of an entry. Writes at most entry.len bytes to `store` and returns how
 * many. */
size_t tkl__book_entry_read(tkl_bytes entry, char *store, tkl_book_answer *answer);

#endif
