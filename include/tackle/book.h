/* SPDX-License-Identifier: MIT
 *
 * An address book of thousands to millions of names: completed while typing, and found by any part.
 *
 *     tkl_book *book;
 *     tkl_book_answers *found;
 *     tkl_book_options options = {.pinyin = TKL_SETTING_ON};
 *     TKL_TRY(tkl_book_open(client, tkl_str("staff"), &options, &book));
 *     TKL_TRY(tkl_book_add(book, &(tkl_book_entry){.text = tkl_str("张三丰")}, 1, NULL));
 *     TKL_TRY(tkl_book_complete(book, tkl_str("zhang"), 10, (tkl_bytes){0}, &found)); // 张三丰
 *     tkl_book_answers_free(found);
 *
 * Each call is one round trip, even with several thousand entries. A handle may be used by several
 * threads and survives fork(). There are no callbacks. The keys, ns:book:{name}:..., are removed by
 * drop or by ttl_ms.
 */
#ifndef TACKLE_BOOK_H
#define TACKLE_BOOK_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_book tkl_book;

/* Most bytes of a text, and of an id. */
#define TKL_BOOK_TEXT_MAX 1024
#define TKL_BOOK_ID_MAX   1024
/* Most characters (code points) of a folded text in a book with `contains`. */
#define TKL_BOOK_CONTAINS_MAX 128
/* Most answers of one call. */
#define TKL_BOOK_ANSWERS_MAX 1000

/* Settings are fixed by the first add until drop. */
typedef struct tkl_book_options {
    int64_t timeout_ms;   /* time-out of one call; 0: the client's */
    int64_t ttl_ms;       /* the book expires this long after the last write; 0: it stays */
    tkl_setting accents;  /* "muller" finds "Müller" */
    tkl_setting pinyin;   /* "zhang", "zsf" and "zhangsf" find "张三丰" */
    tkl_setting contains; /* tkl_book_find() also finds suffixes and parts; costs about 150
                                  bytes for each character of each text */
    TKL_RESERVED(8);
} tkl_book_options;

/* An id identifies an entry: adding the same id again renames the entry. The text identifies an
 * entry without an id. Texts that differ, even only in case, are different entries. */
typedef struct tkl_book_entry {
    tkl_bytes id;   /* up to TKL_BOOK_ID_MAX bytes; empty: none */
    tkl_bytes text; /* 1 to TKL_BOOK_TEXT_MAX bytes, any bytes */
    TKL_RESERVED(2);
} tkl_book_entry;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. Each later call returns
 * TKL_EINVAL if the book has other settings. */
TKL_API int tkl_book_open(tkl_client *client, tkl_bytes name, const tkl_book_options *options,
                          tkl_book **book) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the book. NULL is fine. */
TKL_API void tkl_book_close(tkl_book *book);

/* Adds entries. *added (may be NULL): how many are new. An entry is never added in part. Up to a
 * few hundred entries are one step on the server; larger batches are several steps, in the same
 * round trip. TKL_EINVAL: one of the entries is invalid; nothing was sent. */
TKL_API int tkl_book_add(tkl_book *book, const tkl_book_entry *entries, size_t count,
                         int64_t *added) TKL_NONNULL(1) TKL_CHECK;

/* Removes entries by id, or by text if they have none. *removed (may be NULL): how many existed. */
TKL_API int tkl_book_remove(tkl_book *book, const tkl_book_entry *entries, size_t count,
                            int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

/* Gives an entry another text, in one step. TKL_NOTFOUND: there is no such entry. TKL_EXISTS: the
 * entry has no id, and another entry has that text. */
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
    tkl_bytes next; /* after tkl_book_complete(): where the next page begins; empty: there are no
                       more */
    bool parts;     /* after tkl_book_find(): ends and other parts were searched, too; false: the
                       book has no `contains` */
} tkl_book_answers;

TKL_API void tkl_book_answers_free(tkl_book_answers *answers); /* NULL is fine */

/* Finds up to `max` (at most TKL_BOOK_ANSWERS_MAX) entries whose text or pinyin begins with the
 * prefix, in the order of the folded text or pinyin that matched. Entries that match only a mixture
 * of characters, pinyin and initials ("zhangsf") come after all others, in the order of their
 * initials. `after`: empty, or `next` of the previous page; entries that stay in the book come
 * exactly once over all pages. With pinyin a page may have fewer than `max` entries, or none,
 * although there is a next page. */
TKL_API int tkl_book_complete(tkl_book *book, tkl_bytes prefix, size_t max, tkl_bytes after,
                              tkl_book_answers **answers) TKL_NONNULL(1, 5) TKL_CHECK;

/* Finds up to `max` entries that match the text, each once: first entries that are equal to it,
 * then those that begin with it, end with it and contain it. The first three groups are in the
 * order of their texts, the last in the order of the text after the match. The last two groups need
 * `contains`. `more`: there are or may be further matches. */
TKL_API int tkl_book_find(tkl_book *book, tkl_bytes text, size_t max, tkl_book_answers **answers)
    TKL_NONNULL(1, 4) TKL_CHECK;

typedef struct tkl_book_info {
    int64_t entries;
    bool accents, pinyin, contains;
    TKL_RESERVED(4);
} tkl_book_info;

/* TKL_NOTFOUND: there is no such book. */
TKL_API int tkl_book_show(tkl_book *book, tkl_book_info **info) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_book_info_free(tkl_book_info *info); /* NULL is fine */

/* Removes the book with its settings. TKL_NOTFOUND: there is none. */
TKL_API int tkl_book_drop(tkl_book *book) TKL_NONNULL(1) TKL_CHECK;

/* All books, sorted. See tkl_options.no_register. */
TKL_API int tkl_book_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
