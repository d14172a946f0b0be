/* SPDX-License-Identifier: MIT
 *
 * Services.
 *
 * Keys, which all expire a minute after the last lease:
 *
 *     ns:service:{name}          sorted set: id -> end of its lease, by the server's clock; also
 *                                the name of the sharded channel
 *     ns:service:{name}:owners   hash: id -> token of the registration
 *     ns:service:{name}:infos    hash: id -> address, weight, metadata (entry.c)
 *
 * One script registers and renews: it writes the lease, and if anything is new publishes the id. So
 * an instance whose lease has ended meanwhile, or whose entry was flushed, is listed again by its
 * next renewal. The token tells registrations of one id apart: the last registration has the id,
 * and the others learn that at their next renewal. Each registration or renewal removes up to a
 * hundred entries whose lease has ended; lists leave such entries out.
 *
 * Nobody publishes the end of a lease. So a follower loads the list again when the first lease that
 * it knows of ends, unless it was renewed.
 *
 * When the server's clock is set forward, all leases end at once, and the instances are listed
 * again within a third of a lease. When it is set back, leases would last longer: the next
 * registration or renewal shortens them to the longest lease there is.
 *
 * Files: entry.c stored form and snapshots; register.c registrations; service.c the rest.
 */
#include "service/service.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/names.h"
#include "core/options.h"
#include "core/register.h"
#include "core/script.h"
#include "service/scripts.h"

#define GAP_US    20000 /* pause between two loads: many may register */
#define MARGIN_US 5000  /* wait after the end of a lease: clocks differ */

/* ---- Handles ------------------------------------------------------------- */

static int load_snapshot(void *arg, int64_t deadline, int64_t *again);

static int fill_service(tkl_service *service, tkl_bytes name, const tkl_service_options *options)
{
    static const char *const parts[TKL__SERVICE_KEYS] = {"", "owners", "infos"};
    int rc =
        tkl__keys_make(service->client, "service", name, parts, TKL__SERVICE_KEYS, &service->keys);
    if (rc != TKL_OK)
        return rc;
    service->timeout_ms = options->timeout_ms;
    service->follower = (tkl__follower){.client = service->client,
                                        .channel = service->keys.items[TKL__LEASES],
                                        .load = load_snapshot,
                                        .arg = service,
                                        .timeout_ms = options->timeout_ms,
                                        .gap_us = GAP_US};
    tkl__follow_init(&service->follower);
    return TKL_OK;
}

int tkl_service_open(tkl_client *client, tkl_bytes name, const tkl_service_options *options,
                     tkl_service **service)
{
    static const tkl_service_options defaults;
    *service = NULL;
    if (!options)
        options = &defaults;
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX});
    if (rc != TKL_OK)
        return rc;
    tkl_service *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->client = client;
    rc = fill_service(made, name, options);
    if (rc == TKL_OK)
        *service = made;
    else
        free(made);
    return rc;
}

void tkl_service_close(tkl_service *service)
{
    if (!service)
        return;
    tkl__follow_close(&service->follower);
    tkl__service_snapshot_free(service->snapshot);
    tkl__keys_free(&service->keys);
    free(service);
}

/* ---- Lists --------------------------------------------------------------- */

/* Reads one step of the list. *cursor becomes that of the next step, in the reply. */
static int fetch_step(tkl_service *service, int64_t deadline, tkl_bytes *cursor, tkl_reply **reply)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, *cursor);
    int rc = tkl__eval(service->client, &tkl__lua_service_list, &service->keys, &args, deadline,
                       true, reply);
    tkl__args_free(&args);
    if (rc == TKL_OK)
        *cursor = tkl_reply_bytes(tkl_reply_at(*reply, TKL__SERVICE_CURSOR));
    return rc;
}

static int fetch_snapshot(tkl_service *service, int64_t deadline, tkl__service_snapshot **snapshot)
{
    static const tkl_bytes start = {"0", 1};
    tkl_reply *steps[TKL__SERVICE_STEPS] = {0};
    tkl_bytes cursor = start;
    size_t count = 0;
    *snapshot = NULL;
    int64_t asked_at = tkl__lease_now();
    int rc;
    do {
        rc = count < TKL__SERVICE_STEPS
                 ? fetch_step(service, deadline, &cursor, &steps[count++])
                 : tkl__fail(TKL_EDAMAGED, "the service has too many instances");
    } while (rc == TKL_OK && !(cursor.len == 1 && cursor.data[0] == '0'));
    if (rc == TKL_OK)
        rc = tkl__service_snapshot_make(steps, count, asked_at, snapshot);
    for (size_t i = 0; i < count; i++)
        tkl_reply_free(steps[i]);
    return rc;
}

int tkl_service_list(tkl_service *service, tkl_service_instances **instances)
{
    tkl__service_snapshot *snapshot;
    *instances = NULL;
    int rc =
        fetch_snapshot(service, tkl__deadline(service->client, service->timeout_ms), &snapshot);
    if (rc == TKL_OK)
        rc = tkl__service_snapshot_view(snapshot, -1, 0, instances);
    tkl__service_snapshot_free(snapshot);
    return rc;
}

/* The end of the first lease that ends. */
static int64_t first_end(const tkl__service_snapshot *snapshot)
{
    int64_t left = INT64_MAX;
    for (size_t i = 0; i < tkl__service_snapshot_count(snapshot); i++)
        if (tkl__service_snapshot_at(snapshot, i)->left_ms < left)
            left = tkl__service_snapshot_at(snapshot, i)->left_ms;
    return left == INT64_MAX ? TKL__FOREVER : tkl__deadline_ms(left) + MARGIN_US;
}

/* Called by the follower: replaces the copy. */
static int load_snapshot(void *arg, int64_t deadline, int64_t *again)
{
    tkl_service *service = arg;
    tkl__service_snapshot *fresh, *old;
    int rc = fetch_snapshot(service, deadline, &fresh);
    if (rc != TKL_OK)
        return rc;
    *again = first_end(fresh);
    pthread_mutex_lock(&service->follower.mutex);
    old = service->snapshot;
    bool same = old && tkl__service_snapshot_same(old, fresh);
    tkl__service_snapshot_set_change(fresh, tkl__service_snapshot_change(old) + !same);
    service->snapshot = fresh;
    pthread_mutex_unlock(&service->follower.mutex);
    tkl__service_snapshot_free(old);
    return TKL_OK;
}

int tkl_service_watch(tkl_service *service, uint64_t change, int64_t wait_ms,
                      tkl_service_instances **instances)
{
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    *instances = NULL;
    tkl__begin_request(service->client);
    int rc = tkl__end_request(service->client, tkl__follow_lock(&service->follower));
    if (rc != TKL_OK)
        return rc;
    while (rc == TKL_OK && tkl__service_snapshot_change(service->snapshot) == change)
        rc = tkl__follow_wait(&service->follower, deadline);
    if (rc == TKL_OK)
        rc = tkl__service_snapshot_view(service->snapshot, -1, tkl__follow_age(&service->follower),
                                        instances);
    tkl__follow_unlock(&service->follower);
    return rc;
}

/* ---- Picking ------------------------------------------------------------- */

/* A random number from 0 to below `limit`. The bias of the remainder is below 2^-40. */
static uint64_t random_below(uint64_t limit)
{
    uint64_t number;
    tkl__random(&number, sizeof number);
    return number % limit;
}

static int64_t weight_at(const tkl__service_snapshot *snapshot, size_t index)
{
    int64_t weight = tkl__service_snapshot_at(snapshot, index)->weight;
    return weight > 0 ? weight : 0;
}

/* Picks an index by weight; -1: no instance has a weight. */
static int64_t pick_by_weight(const tkl__service_snapshot *snapshot)
{
    int64_t total = 0;
    for (size_t i = 0; i < tkl__service_snapshot_count(snapshot); i++)
        total += weight_at(snapshot, i);
    if (total == 0)
        return -1;
    int64_t at = (int64_t)random_below((uint64_t)total);
    size_t i = 0;
    while ((at -= weight_at(snapshot, i)) >= 0)
        i++;
    return (int64_t)i;
}

static int64_t pick_index(tkl_service *service, tkl_pick how)
{
    size_t count = tkl__service_snapshot_count(service->snapshot);
    if (count == 0)
        return -1;
    if (how == TKL_PICK_WEIGHT)
        return pick_by_weight(service->snapshot);
    if (how == TKL_PICK_ROUND_ROBIN)
        return (int64_t)(atomic_fetch_add(&service->picks, 1) % count);
    return (int64_t)random_below(count);
}

int tkl_service_pick(tkl_service *service, tkl_pick how, tkl_service_instances **instances)
{
    *instances = NULL;
    int rc = tkl__check_number("how", how, TKL_PICK_RANDOM, TKL_PICK_WEIGHT);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__follow_lock(&service->follower);
    if (rc != TKL_OK)
        return rc;
    int64_t index = pick_index(service, how);
    if (index < 0)
        rc = tkl__fail(TKL_EMPTY, "the service has no instance");
    else
        rc = tkl__service_snapshot_view(service->snapshot, index,
                                        tkl__follow_age(&service->follower), instances);
    tkl__follow_unlock(&service->follower);
    return rc;
}

/* ---- Names --------------------------------------------------------------- */

typedef struct search {
    tkl_client *client;
    tkl__names names;
} search;

static int visit_key(tkl_bytes key, void *arg)
{
    search *s = arg;
    tkl_bytes name;
    return tkl__name_of_key(s->client, "service", key, &name) ? tkl__names_add(&s->names, name)
                                                              : TKL_OK;
}

static bool has_instances(tkl_bytes name, void *arg)
{
    search *s = arg;
    tkl_service *service;
    tkl_service_instances *instances = NULL;
    if (tkl_service_open(s->client, name, NULL, &service) != TKL_OK)
        return false;
    bool some = tkl_service_list(service, &instances) == TKL_OK && instances->count > 0;
    tkl_service_instances_free(instances);
    tkl_service_close(service);
    return some;
}

int tkl_service_names(tkl_client *client, tkl_names **names)
{
    search s = {.client = client};
    const char *part = "";
    *names = NULL;
    int rc = tkl__register_visit(client, "service", &part, 1, "zset", visit_key, &s);
    if (rc == TKL_OK) {
        tkl__names_tidy(&s.names, has_instances, &s);
        rc = tkl__names_result(&s.names, names);
    }
    tkl__names_free(&s.names);
    return rc;
}

const char *tkl_pick_name(tkl_pick pick)
{
    static const char *const names[] = {"random", "round robin", "weight"};
    return TKL__ENUM_NAME((int)pick, names);
}
