/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of this component share.
 */
#ifndef TKL_SERVICE_SERVICE_H
#define TKL_SERVICE_SERVICE_H

#include <tackle/service.h>

#include <stdatomic.h>

#include "core/buf.h"
#include "core/follow.h"
#include "core/keys.h"

enum { TKL__LEASES, TKL__OWNERS, TKL__INFOS, TKL__SERVICE_KEYS }; /* keys */

/* Instances at one time; shared by all readers. */
typedef struct tkl__service_snapshot tkl__service_snapshot;

struct tkl_service {
    tkl_client *client;
    tkl__keys keys;
    int64_t timeout_ms;
    tkl__follower follower;
    tkl__service_snapshot *snapshot; /* the follower's copy */
    atomic_uint picks;               /* counter for round robin */
};

/* ---- entry.c: instances as they are stored ------------------------------- */

/* NULL, or the reason why the instance is invalid. */
const char *tkl__service_instance_check(const tkl_service_instance *instance);
void tkl__service_instance_pack(const tkl_service_instance *instance, tkl__buf *out);

/* The reply of service/list: a step. */
enum { TKL__SERVICE_TIME, TKL__SERVICE_CURSOR, TKL__SERVICE_ENDS, TKL__SERVICE_INFOS };

/* Makes a snapshot of the replies of all steps. `asked_at`: time of the first request, by
 * tkl__lease_now(). */
int tkl__service_snapshot_make(tkl_reply *const *steps, size_t count, int64_t asked_at,
                               tkl__service_snapshot **snapshot);
/* Drops one reference. NULL is fine. */
void tkl__service_snapshot_free(tkl__service_snapshot *snapshot);
size_t tkl__service_snapshot_count(const tkl__service_snapshot *snapshot);
const tkl_service_instance *tkl__service_snapshot_at(const tkl__service_snapshot *snapshot,
                                                     size_t index);
/* Whether both have the same instances; the remaining leases do not matter. */
bool tkl__service_snapshot_same(const tkl__service_snapshot *a, const tkl__service_snapshot *b);
uint64_t tkl__service_snapshot_change(const tkl__service_snapshot *snapshot);
void tkl__service_snapshot_set_change(tkl__service_snapshot *snapshot, uint64_t change);

/* Makes the result for callers: the instance at an index, or all (-1). Takes a reference. */
int tkl__service_snapshot_view(tkl__service_snapshot *snapshot, int64_t index, int64_t age_ms,
                               tkl_service_instances **view);

/* The longest lease. */
#define TKL__SERVICE_LEASE_MAX_MS 300000
/* How many instances a step of service/list looks at, about, and the most steps. Twice as many
 * steps as needed: the server may visit an instance twice while its table grows. */
#define TKL__SERVICE_STEP  250
#define TKL__SERVICE_STEPS 64

#endif
