/* SPDX-License-Identifier: MIT
 *
 * Service discovery: instances register their address, and disappear from the list when they crash.
 *
 *     tkl_service *service;
 *     tkl_registration *registration;
 *     tkl_service_instance me = {.address = tkl_str("10.0.0.5:8080")};
 *     TKL_TRY(tkl_service_open(client, tkl_str("shop"), NULL, &service));
 *     TKL_TRY(tkl_service_register(service, &me, NULL, &registration)); // renewed until closed
 *
 *     tkl_service_instances *picked;                             // in another program
 *     if (tkl_service_pick(service, TKL_PICK_RANDOM, &picked) == TKL_OK)
 *         call(picked->items[0].address);
 *     tkl_service_instances_free(picked);
 *
 * An instance is listed while its lease lasts. The library renews leases in the background, many in
 * one round trip. Watchers and pickers learn changes at once, and a crash when the lease ends.
 *
 * Threads: all handles may be used by several threads. The first watch or pick of a handle starts a
 * thread of the library that follows the changes. fork(): a child may go on using a tkl_service; a
 * registration belongs to the process that made it. Callbacks: none. Keys: all expire a minute
 * after the last lease.
 */
#ifndef TACKLE_SERVICE_H
#define TACKLE_SERVICE_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_service tkl_service;
typedef struct tkl_registration tkl_registration;

#define TKL_SERVICE_INSTANCES_MAX 2000 /* most instances of one service */
#define TKL_SERVICE_TEXT_MAX      1024 /* most bytes of an address with all metadata */

typedef struct tkl_service_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    TKL_RESERVED(8);
} tkl_service_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_service_open(tkl_client *client, tkl_bytes name, const tkl_service_options *options,
                             tkl_service **service) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle. Close its registrations before. NULL is fine. */
TKL_API void tkl_service_close(tkl_service *service);

/* ---- Instances ----------------------------------------------------------- */

/* Frozen. */
typedef struct tkl_service_meta {
    tkl_bytes name;
    tkl_bytes value;
} tkl_service_meta;

typedef struct tkl_service_instance {
    tkl_bytes address;            /* its address; any bytes, at least one */
    tkl_bytes id;                 /* its id in the service; empty: the address */
    int64_t weight;               /* for TKL_PICK_WEIGHT: 1 to 1000000; 0: 1; TKL_NONE: weight 0 */
    const tkl_service_meta *meta; /* anything else other programs should know */
    size_t meta_count;
    int64_t left_ms; /* in lists: time until the lease ends unless it is renewed. In lists from
                        memory it counts down, without renewals */
    TKL_RESERVED(4);
} tkl_service_instance;

/* One object: free it with tkl_service_instances_free(). */
typedef struct tkl_service_instances {
    const tkl_service_instance *items; /* sorted by id */
    size_t count;
    uint64_t change; /* for tkl_service_watch() */
    int64_t age_ms;  /* 0: the list is current; otherwise how long ago it was */
} tkl_service_instances;

TKL_API void tkl_service_instances_free(tkl_service_instances *instances); /* NULL is fine */

/* ---- Registering --------------------------------------------------------- */

typedef struct tkl_registration_options {
    int64_t lease_ms;   /* how long an instance stays listed after a crash, 100 to 300000; 0:
                           10000 */
    int64_t timeout_ms; /* time-out of registering, and of deregistering; 0: the service's */
    TKL_RESERVED(8);
} tkl_registration_options;

/* Registers an instance until tkl_registration_close(). It replaces an instance with the same id: a
 * program that restarts quickly takes its old place. TKL_FULL: the service has
 * TKL_SERVICE_INSTANCES_MAX instances. `options` may be NULL. */
TKL_API int tkl_service_register(tkl_service *service, const tkl_service_instance *instance,
                                 const tkl_registration_options *options,
                                 tkl_registration **registration) TKL_NONNULL(1, 2, 4) TKL_CHECK;

/* Removes the instance from the list and frees the handle. TKL_NOTOWNER: another registration
 * replaced it, and that one stays. NULL is fine. In a forked child it frees memory only. */
TKL_API int tkl_registration_close(tkl_registration *registration);

typedef enum tkl_registration_state {
    TKL_REGISTRATION_LISTED = 0,   /* as far as the local clock can tell */
    TKL_REGISTRATION_AWAY = 1,     /* its lease ended because the server was down; the library keeps
                                      trying */
    TKL_REGISTRATION_REPLACED = 2, /* another registration has its id; it is not renewed any more */
} tkl_registration_state;

/* No I/O. */
TKL_API tkl_registration_state tkl_registration_look(tkl_registration *registration) TKL_NONNULL(1);
TKL_API const char *tkl_registration_state_name(tkl_registration_state state); /* "listed" */

/* ---- Finding ------------------------------------------------------------- */

/* Lists all live instances, in a round trip for about 250. Instances that come or go meanwhile may
 * be listed or not. No instances: TKL_OK and a count of 0. */
TKL_API int tkl_service_list(tkl_service *service, tkl_service_instances **instances)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* Waits until the instances differ from those of the list with number `change` (0: returns the
 * current list at once). A renewal is not a change. TKL_EMPTY: nothing changed in time. `wait_ms`:
 * 0 does not wait, negative waits for ever. */
TKL_API int tkl_service_watch(tkl_service *service, uint64_t change, int64_t wait_ms,
                              tkl_service_instances **instances) TKL_NONNULL(1, 4) TKL_CHECK;

typedef enum tkl_pick {
    TKL_PICK_RANDOM = 0,      /* each instance is equally likely */
    TKL_PICK_ROUND_ROBIN = 1, /* one after the other, by this handle */
    TKL_PICK_WEIGHT = 2,      /* at random, by weight */
} tkl_pick;

TKL_API const char *tkl_pick_name(tkl_pick pick); /* "random" */

/* Picks one of the instances, from memory; only the first call does I/O. *instances has one item.
 * While the server is down, it picks from the instances last known. TKL_EMPTY: there are none. */
TKL_API int tkl_service_pick(tkl_service *service, tkl_pick how, tkl_service_instances **instances)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* The names of all services that have instances. */
TKL_API int tkl_service_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
