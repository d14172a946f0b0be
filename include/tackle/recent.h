/* SPDX-License-Identifier: MIT
 *
 * Recent contacts of a user, most recent first, completed while typing.
 *
 *     tkl_recent *recent;
 *     tkl_names *found;
 *     tkl_recent_open(client, tkl_str("ann"), NULL, &recent);
 *     tkl_recent_add(recent, (tkl_bytes[]){tkl_str("Bob"), tkl_str("Jürgen")}, 2);
 *     tkl_recent_complete(recent, tkl_str("jü"), 10, &found);   // Jürgen
 *     tkl_names_free(found);
 *
 * Each call is one trip. A handle may be used by several threads and survives fork(). There are no
 * callbacks. The key of a list, ns:recent:{name}, is removed with its last contact, by drop, or
 * after ttl_ms.
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
#define TKL_RECENT_MAX 1000

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
 * the list. New contacts are added; contacts beyond `keep` are removed. All or none. */
TKL_API int tkl_recent_add(tkl_recent *recent, const tkl_bytes *contacts, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Removes contacts. *removed (may be NULL): how many existed. */
TKL_API int tkl_recent_remove(tkl_recent *recent, const tkl_bytes *contacts, size_t count,
                              int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

/* The contacts that begin with the prefix, whatever its case, most recent first; up to `max` of
 * them. An empty prefix: all contacts. None is no error. */
TKL_API int tkl_recent_complete(tkl_recent *recent, tkl_bytes prefix, size_t max,
                                tkl_names **contacts) TKL_NONNULL(1, 4) TKL_CHECK;

/* Forgets the list. TKL_NOTFOUND: there is none. */
TKL_API int tkl_recent_drop(tkl_recent *recent) TKL_NONNULL(1) TKL_CHECK;

/* The names of all lists, sorted. Walks over all keys of the servers. */
TKL_API int tkl_recent_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
