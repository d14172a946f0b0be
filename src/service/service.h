/* SPDX-License-Identifier: MIT
 *
 * What the files of this component share.
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
    atomic_uint turn;                /* counter for round robin */
};

/* ---- entry.c: instances as they are stored ------------------------------- */

/* NULL, or the reason why the instance is invalid. */
const char *tkl__service_instance_check(const tkl_service_instance *instance);
void tkl__service_instance_pack(const tkl_service_instance *instance, tkl__buf *out);

/* Makes a snapshot of the reply of service/list. `asked_at`: time of the request, by
 * tkl__lease_now(). */
int tkl__service_snapshot_make(const tkl_reply *reply, int64_t asked_at,
                               tkl__service_snapshot **snapshot);
void tkl__service_snapshot_free(tkl__service_snapshot *snapshot); /* drops one reference; NULL is
                                                                     fine */
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
/* Number of infos in one piece of the reply of service/list. */
#define TKL__SERVICE_PIECE 1000

#endif
