/* SPDX-License-Identifier: MIT
 *
 * The libraries of functions that tackle has on a server: one for each component, loaded when a
 * program first needs it. Their names carry a hash of their text, so programs of several versions
 * can use one server; libraries of older versions stay until they are removed.
 *
 *     tkl_function_libraries *list;
 *     if (tkl_functions_list(client, &list) == TKL_OK)
 *         for (size_t i = 0; i < list->count; i++)
 *             printf("%s %s\n", list->items[i].name, list->items[i].is_current ? "" : "(old)");
 *     tkl_function_libraries_free(list);
 *
 * In a cluster these calls apply to every master. Replicas have the libraries of their master.
 *
 * Threads: everything may be called by any thread. Fork: a child may call everything. Callbacks:
 * none. Keys: libraries are no keys; FLUSHALL leaves them alone.
 */
#ifndef TACKLE_FUNCTIONS_H
#define TACKLE_FUNCTIONS_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_function_library {
    const char *name;      /* "tackle_queue_0123456789" */
    const char *component; /* "queue" */
    const char *purpose;   /* "task queues"; "" for a component that this version does not have */
    const char *version;   /* version of tackle that loaded it first; "" when it is not known */
    int64_t bytes;         /* size of its text */
    int64_t functions;
    int64_t servers; /* masters that have it */
    bool is_current; /* this program uses it */
    TKL_RESERVED(4);
} tkl_function_library;

/* Sorted by name. */
typedef struct tkl_function_libraries {
    tkl_function_library *items;
    size_t count;
} tkl_function_libraries;

/* The libraries of tackle that the servers have. An empty list is TKL_OK. */
TKL_API int tkl_functions_list(tkl_client *client, tkl_function_libraries **list)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* NULL is fine. */
TKL_API void tkl_function_libraries_free(tkl_function_libraries *list);

/* Loads all libraries of this version, for programs that have the permission to call functions but
 * not to load them. *loaded (may be NULL): how many were new, on all masters together. */
TKL_API int tkl_functions_load(tkl_client *client, int64_t *loaded) TKL_NONNULL(1) TKL_CHECK;

/* Removes the libraries of tackle that this version does not use. Programs of other versions load
 * theirs again when they need them. *removed may be NULL. */
TKL_API int tkl_functions_remove_old(tkl_client *client, int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
