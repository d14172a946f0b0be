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

/* Instances as they were at some moment; shared by all that read them. */
typedef struct tkl__service_snapshot tkl__service_snapshot;

struct tkl_service {
    tkl_client *client;
    tkl__keys keys;
    int64_t timeout_ms;
    tkl__follower follower;
    tkl__service_snapshot *snapshot; /* the copy of the follower */
    atomic_uint turn;                /* of round robin */
};

/* ---- entry.c: instances as they are stored ------------------------------- */

/* NULL, or what is wrong with it. */
const char *tkl__service_instance_check(const tkl_service_instance *instance);
void tkl__service_instance_pack(const tkl_service_instance *instance, tkl__buf *out);

/* From the reply of service/list. */
int tkl__service_snapshot_make(const tkl_reply *reply, tkl__service_snapshot **snapshot);
void tkl__service_snapshot_free(tkl__service_snapshot *snapshot); /* of one reader; NULL is fine */
size_t tkl__service_snapshot_count(const tkl__service_snapshot *snapshot);
const tkl_service_instance *tkl__service_snapshot_at(const tkl__service_snapshot *snapshot,
                                                     size_t index);
/* Whether they are the same instances, whatever is left of their leases. */
bool tkl__service_snapshot_same(const tkl__service_snapshot *a, const tkl__service_snapshot *b);
uint64_t tkl__service_snapshot_change(const tkl__service_snapshot *snapshot);
void tkl__service_snapshot_set_change(tkl__service_snapshot *snapshot, uint64_t change);

/* What callers get: all instances, or the one at an index (-1: all). Takes a reference. */
int tkl__service_snapshot_view(tkl__service_snapshot *snapshot, int64_t index, int64_t age_ms,
                               tkl_service_instances **view);

#endif
