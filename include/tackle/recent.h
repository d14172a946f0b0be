/* SPDX-License-Identifier: MIT
 *
 * Recent contacts of a user, most recent first, completed while typing.
 *
 *     tkl_recent *recent;
 *     tkl_names *found;
 *     TKL_TRY(tkl_recent_open(client, tkl_str("ann"), NULL, &recent));
 *     TKL_TRY(tkl_recent_add(recent, (tkl_bytes[]){tkl_str("Bob"), tkl_str("Jürgen")}, 2));
 *     TKL_TRY(tkl_recent_complete(recent, tkl_str("jü"), 10, &found)); // Jürgen
 *     tkl_names_free(found);
 *
 * Each call is one round trip; adding takes one for each thousand contacts. A handle may be used by
 * several threads and survives fork(). There are no callbacks. The key of a list, ns:recent:{name},
 * is removed with its last contact, by drop, or after ttl_ms.
 */
#ifndef TACKLE_RECENT_H
#define TACKLE_RECENT_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_recent tkl_recent;

/* A contact: 1 to this many bytes, any bytes. */
#define TKL_RECENT_CONTACT_MAX 512
/* Contacts of one list, at most. */
#define TKL_RECENT_MAX 5000

typedef struct tkl_recent_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t ttl_ms;     /* the list expires this long after the last add; 0: it stays */
    int64_t keep;       /* contacts that are kept, up to TKL_RECENT_MAX; 0: 100 */
    bool accents;       /* "jurgen" finds "Jürgen" */
    bool pinyin;        /* "zhang", "zs" and "zsan" find "张三" */
    TKL_RESERVED(8);
} tkl_recent_options;

/* No I/O. `name`: whose contacts, 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_recent_open(tkl_client *client, tkl_bytes name, const tkl_recent_options *options,
                            tkl_recent **recent) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the list. NULL is fine. */
TKL_API void tkl_recent_close(tkl_recent *recent);

/* Moves contacts to the front of the list, one after the other: the last one becomes the first of
 * the list. New contacts are added; contacts beyond `keep` are removed. A thousand are one step:
 * all or none. */
TKL_API int tkl_recent_add(tkl_recent *recent, const tkl_bytes *contacts, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Removes contacts. *removed (may be NULL): how many existed. */
TKL_API int tkl_recent_remove(tkl_recent *recent, const tkl_bytes *contacts, size_t count,
                              int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

/* Finds up to `max` contacts that begin with the prefix, whatever its case, most recent first. An
 * empty prefix: all contacts. No contacts: TKL_OK and a count of 0. */
TKL_API int tkl_recent_complete(tkl_recent *recent, tkl_bytes prefix, size_t max,
                                tkl_names **contacts) TKL_NONNULL(1, 4) TKL_CHECK;

typedef enum tkl_recent_match {
    TKL_RECENT_EXACT = 1,
    TKL_RECENT_PREFIX = 2,
    TKL_RECENT_SUFFIX = 3,
    TKL_RECENT_CONTAINS = 4,
} tkl_recent_match;

/* "exact", "prefix", "suffix", "contains"; never NULL. */
TKL_API const char *tkl_recent_match_name(tkl_recent_match match);

typedef struct tkl_recent_contact {
    tkl_bytes contact;
    int64_t added_ms; /* when it was last added, Unix time of the server's clock; 0: not known */
    tkl_recent_match match;
    TKL_RESERVED(2);
} tkl_recent_contact;

typedef struct tkl_recent_contacts {
    const tkl_recent_contact *items;
    size_t count;
    TKL_RESERVED(2);
} tkl_recent_contacts;

/* Finds up to `max` contacts that match the text, whatever its case: first contacts that are equal
 * to it, then contacts that begin with it (with `pinyin`, also in pinyin), end with it and contain
 * it; in each group the most recent first. An empty text: all contacts, as TKL_RECENT_PREFIX. No
 * contacts: TKL_OK and a count of 0. */
TKL_API int tkl_recent_find(tkl_recent *recent, tkl_bytes text, size_t max,
                            tkl_recent_contacts **contacts) TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_recent_contacts_free(tkl_recent_contacts *contacts); /* NULL is fine */

/* Forgets the list. TKL_NOTFOUND: there is none. */
TKL_API int tkl_recent_drop(tkl_recent *recent) TKL_NONNULL(1) TKL_CHECK;

/* The names of all lists, sorted. See tkl_options.no_register. */
TKL_API int tkl_recent_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
