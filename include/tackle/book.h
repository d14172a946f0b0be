/* SPDX-License-Identifier: MIT
 *
 * An address book of thousands to millions of names: completed while typing, and found by any part.
 *
 *     tkl_book *book;
 *     tkl_book_answers *found;
 *     tkl_book_open(client, tkl_str("staff"), &(tkl_book_options){.pinyin = TKL_BOOK_ON}, &book);
 *     tkl_book_add(book, &(tkl_book_entry){.text = tkl_str("张三丰")}, 1, NULL);
 *     tkl_book_complete(book, tkl_str("zhang"), 10, (tkl_bytes){0}, &found);      // 张三丰
 *     tkl_book_answers_free(found);
 *
 * Each call is one trip; a batch of several thousand entries is one trip, too. A handle may be used
 * by several threads and survives fork(). There are no callbacks. The keys, ns:book:{name}:..., are
 * removed by drop or by ttl_ms.
 */
#ifndef TACKLE_BOOK_H
#define TACKLE_BOOK_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_book tkl_book;

/* Bytes of a text, and of an id. */
#define TKL_BOOK_TEXT_MAX 1024
#define TKL_BOOK_ID_MAX   1024
/* Characters (code points) of a folded text in a book with `contains`. */
#define TKL_BOOK_CONTAINS_MAX 128
/* Answers of one call. */
#define TKL_BOOK_ANSWERS_MAX 1000

/* A setting of the book. It is made when the first entry is added and stays until drop. */
typedef enum tkl_book_setting {
    TKL_BOOK_OFF = -1,  /* the book must be without */
    TKL_BOOK_AS_IS = 0, /* as the book is, or was when this handle last met it; a new book is made
                           without */
    TKL_BOOK_ON = 1,    /* the book must have it; a new book is made so */
} tkl_book_setting;

TKL_API const char *tkl_book_setting_name(tkl_book_setting setting); /* "off" */

typedef struct tkl_book_options {
    int64_t timeout_ms;        /* of one call; 0: the client's */
    int64_t ttl_ms;            /* the book expires this long after the last write; 0: it stays */
    tkl_book_setting accents;  /* "muller" finds "Müller" */
    tkl_book_setting pinyin;   /* "zhang", "zsf" and "zhangsf" find "张三丰" */
    tkl_book_setting contains; /* find() knows suffixes and parts; costs about 150 bytes for each
                                  character of each text */
    TKL_RESERVED(8);
} tkl_book_options;

/* An entry with an id is known by it: adding the id again renames it. One without is known by its
 * text. Texts that differ, if only in case, are different entries. */
typedef struct tkl_book_entry {
    tkl_bytes id;   /* up to TKL_BOOK_ID_MAX bytes; empty: none */
    tkl_bytes text; /* 1 to TKL_BOOK_TEXT_MAX bytes, any bytes */
    TKL_RESERVED(2);
} tkl_book_entry;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. Whether the book agrees
 * with the settings is checked by each call that follows: TKL_EINVAL. */
TKL_API int tkl_book_open(tkl_client *client, tkl_bytes name, const tkl_book_options *options,
                          tkl_book **book) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the book. NULL is fine. */
TKL_API void tkl_book_close(tkl_book *book);

/* *added (may be NULL): how many are new. Each entry is added whole. Up to a few hundred entries
 * are one step of the server; larger batches are several, in the same trip. TKL_EINVAL, before
 * anything is sent, when one of them cannot be added. */
TKL_API int tkl_book_add(tkl_book *book, const tkl_book_entry *entries, size_t count,
                         int64_t *added) TKL_NONNULL(1) TKL_CHECK;

/* Removes entries by their ids, those without an id by their texts. *removed (may be NULL): how
 * many were there. */
TKL_API int tkl_book_remove(tkl_book *book, const tkl_book_entry *entries, size_t count,
                            int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

/* Gives an entry another text, in one step. TKL_NOTFOUND: there is no such entry. TKL_EXISTS: there
 * is an entry with that text, and the entry has no id. */
TKL_API int tkl_book_rename(tkl_book *book, const tkl_book_entry *entry, tkl_bytes text)
    TKL_NONNULL(1, 2) TKL_CHECK;

typedef enum tkl_book_match {
    TKL_BOOK_EXACT = 1,
    TKL_BOOK_PREFIX = 2,
    TKL_BOOK_SUFFIX = 3,
    TKL_BOOK_CONTAINS = 4,
} tkl_book_match;

/* "exact", "prefix", "suffix", "contains"; never NULL. */
TKL_API const char *tkl_book_match_name(tkl_book_match match);

typedef struct tkl_book_answer {
    tkl_bytes id; /* empty: none */
    tkl_bytes text;
    tkl_book_match match;
    TKL_RESERVED(4);
} tkl_book_answer;

typedef struct tkl_book_answers {
    const tkl_book_answer *items;
    size_t count;
    bool more;      /* there may be more than these */
    tkl_bytes next; /* of tkl_book_complete(): where the next page begins; empty: that was all */
} tkl_book_answers;

TKL_API void tkl_book_answers_free(tkl_book_answers *answers); /* NULL is fine */

/* Up to `max` entries (and TKL_BOOK_ANSWERS_MAX) whose text, or pinyin, begins with the prefix,
 * in the order of their folded texts, or of the pinyin that was found. Those that are found only by
 * a mixture of characters, pinyin and initials ("zhangsf") come behind all others, in the order of
 * their initials. `after`: empty, or `next` of the page before; entries that stay in the book come
 * exactly once over all pages. With pinyin a page may have fewer than `max`, or none, although
 * there is a next one. */
TKL_API int tkl_book_complete(tkl_book *book, tkl_bytes prefix, size_t max, tkl_bytes after,
                              tkl_book_answers **answers) TKL_NONNULL(1, 5) TKL_CHECK;

/* Up to `max` entries that match the text: those that are equal to it, then those that begin with
 * it, end with it, contain it, each entry once. The first three groups are in the order of their
 * texts, the last in the order of what follows the match. The last two need `contains`. `more`:
 * there are further matches, or may be. */
TKL_API int tkl_book_find(tkl_book *book, tkl_bytes text, size_t max, tkl_book_answers **answers)
    TKL_NONNULL(1, 4) TKL_CHECK;

typedef struct tkl_book_info {
    int64_t entries;
    bool accents, pinyin, contains;
    TKL_RESERVED(4);
} tkl_book_info;

/* TKL_NOTFOUND: there is no such book. */
TKL_API int tkl_book_show(tkl_book *book, tkl_book_info *info) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes the book with its settings. TKL_NOTFOUND: there is none. */
TKL_API int tkl_book_drop(tkl_book *book) TKL_NONNULL(1) TKL_CHECK;

/* All books, sorted. Walks over all keys of the servers. */
TKL_API int tkl_book_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
