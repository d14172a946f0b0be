/* SPDX-License-Identifier: MIT
 *
 * The local copy of a cache.
 *
 * It is used only while the servers are heard (core/tracking.h), and dropped as a whole when they
 * are not. A message may overtake the reply that a value comes with: a caller that reads a value
 * notes the number of changes before asking, and stores the value only if that number is still the
 * same. The numbers are counted for groups of keys, by hash: a change of another key of the group
 * costs a value that could have been stored, nothing more.
 *
 * No caller sees an older value after a newer one. Two callers may read a key at once, one before
 * and one after a change whose message is still on its way. So a caller that finds another value
 * than its own removes it, and a value that is not stored counts as a change.
 *
 * An entry is found in two tables: by the key of the caller, so that a hit makes no key of the
 * server; and by the name of the key on the server, for the messages.
 *
 * When the copy is full, the oldest entries go; those that were used since they were looked at last
 * stay for another turn.
 *
 * fork(): changes of the tables exclude it, so a child finds them whole, and drops everything.
 */
#include "cache/local.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/nofork.h"
#include "core/tracking.h"

#define GROUPS          1024
#define BUCKET_BYTES    512 /* bytes of the copy per bucket of a table */
#define BUCKETS_MIN     64
#define BUCKETS_MAX     1048576
#define ALLOCATED_BYTES 48 /* overhead of malloc() for the blocks of an entry, about */

typedef struct entry {
    struct entry *by_key, *by_name; /* next in the bucket */
    struct entry *newer, *older;
    uint64_t key_hash, name_hash;
    tkl__shared *shared;
    int64_t fresh_until; /* on tkl__now() */
    size_t bytes;        /* memory that the copy takes */
    bool used;
    tkl_bytes key, name;
    char text[];
} entry;

struct tkl__local {
    tkl__tracking tracking;
    char *prefix;
    int64_t most; /* bytes */
    size_t buckets;
    pthread_mutex_t mutex; /* guards what follows */
    entry **keys, **names;
    entry *newest, *oldest;
    tkl_cache_local_stats stats;
    uint64_t changes[GROUPS];
};

/* ---- Bytes --------------------------------------------------------------- */

tkl__shared *tkl__shared_new(tkl_bytes data, bool none)
{
    tkl__shared *shared = malloc(sizeof *shared + data.len + 1);
    if (!shared)
        return NULL;
    shared->users = 1;
    shared->none = none;
    shared->len = data.len;
    if (data.len > 0)
        memcpy(shared->data, data.data, data.len);
    shared->data[data.len] = '\0';
    return shared;
}

void tkl__shared_release(tkl__shared *shared)
{
    if (shared && atomic_fetch_sub(&shared->users, 1) == 1)
        free(shared);
}

static uint64_t hash_of(tkl_bytes bytes)
{
    return XXH3_64bits(bytes.data, bytes.len);
}

/* ---- Entries: with the mutex --------------------------------------------- */

static entry **place_by_key(tkl__local *local, uint64_t hash, tkl_bytes key)
{
    entry **at = &local->keys[hash & (local->buckets - 1)];
    while (*at && !((*at)->key_hash == hash && tkl__same_bytes((*at)->key, key)))
        at = &(*at)->by_key;
    return at;
}

static entry **place_by_name(tkl__local *local, uint64_t hash, tkl_bytes name)
{
    entry **at = &local->names[hash & (local->buckets - 1)];
    while (*at && !((*at)->name_hash == hash && tkl__same_bytes((*at)->name, name)))
        at = &(*at)->by_name;
    return at;
}

static void link_newest(tkl__local *local, entry *e)
{
    e->newer = NULL;
    e->older = local->newest;
    *(local->newest ? &local->newest->newer : &local->oldest) = e;
    local->newest = e;
}

static void unlink_entry(tkl__local *local, entry *e)
{
    *(e->newer ? &e->newer->older : &local->newest) = e->older;
    *(e->older ? &e->older->newer : &local->oldest) = e->newer;
}

static void remove_entry(tkl__local *local, entry *e)
{
    *place_by_key(local, e->key_hash, e->key) = e->by_key;
    *place_by_name(local, e->name_hash, e->name) = e->by_name;
    unlink_entry(local, e);
    local->stats.entries--;
    local->stats.bytes -= (int64_t)e->bytes;
    tkl__shared_release(e->shared);
    free(e);
}

static void make_room(tkl__local *local, int64_t bytes)
{
    while (local->oldest && local->stats.bytes + bytes > local->most) {
        entry *e = local->oldest;
        if (!e->used) {
            remove_entry(local, e);
            continue;
        }
        e->used = false;
        unlink_entry(local, e);
        link_newest(local, e);
    }
}

static entry *new_entry(tkl_bytes key, tkl_bytes name)
{
    entry *e = calloc(1, sizeof *e + key.len + name.len);
    if (!e)
        return NULL;
    memcpy(e->text, key.data, key.len);
    memcpy(e->text + key.len, name.data, name.len);
    e->key = (tkl_bytes){e->text, key.len};
    e->name = (tkl_bytes){e->text + key.len, name.len};
    e->key_hash = hash_of(key);
    e->name_hash = hash_of(name);
    return e;
}

static void insert_entry(tkl__local *local, entry *e)
{
    entry *old = *place_by_key(local, e->key_hash, e->key);
    if (old)
        remove_entry(local, old);
    make_room(local, (int64_t)e->bytes);
    entry **key = &local->keys[e->key_hash & (local->buckets - 1)];
    entry **name = &local->names[e->name_hash & (local->buckets - 1)];
    e->by_key = *key;
    e->by_name = *name;
    *key = *name = e;
    link_newest(local, e);
    local->stats.entries++;
    local->stats.bytes += (int64_t)e->bytes;
}

static void remove_all(tkl__local *local)
{
    while (local->oldest)
        remove_entry(local, local->oldest);
    for (size_t i = 0; i < GROUPS; i++)
        local->changes[i]++;
}

/* ---- Changes ------------------------------------------------------------- */

static void begin_change(tkl__local *local)
{
    tkl__nofork_enter();
    pthread_mutex_lock(&local->mutex);
}

static void end_change(tkl__local *local)
{
    pthread_mutex_unlock(&local->mutex);
    tkl__nofork_leave();
}

void tkl__local_drop(tkl__local *local, tkl_bytes name)
{
    uint64_t hash = hash_of(name);
    begin_change(local);
    local->changes[hash % GROUPS]++;
    entry *e = *place_by_name(local, hash, name);
    if (e)
        remove_entry(local, e);
    end_change(local);
}

void tkl__local_drop_all(tkl__local *local)
{
    begin_change(local);
    remove_all(local);
    end_change(local);
}

tkl__moment tkl__local_note(tkl__local *local, tkl_bytes name)
{
    tkl__tracking_start(&local->tracking);
    tkl__moment moment = {.tracking = tkl__tracking_state(&local->tracking), .at = tkl__now()};
    pthread_mutex_lock(&local->mutex);
    moment.changes = local->changes[hash_of(name) % GROUPS];
    pthread_mutex_unlock(&local->mutex);
    return moment;
}

static bool same_value(const tkl__shared *a, const tkl__shared *b)
{
    return a->none == b->none && a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* With the mutex: stores the entry, or counts a change. Returns whether it was stored. */
static bool settle_entry(tkl__local *local, const tkl__moment *moment, entry *e)
{
    uint64_t *changes = &local->changes[e->name_hash % GROUPS];
    entry *there = *place_by_name(local, e->name_hash, e->name);
    if (there && same_value(there->shared, e->shared))
        return false;
    if (!there && moment->changes == *changes &&
        moment->tracking == tkl__tracking_state(&local->tracking)) {
        insert_entry(local, e);
        return true;
    }
    if (there)
        remove_entry(local, there);
    ++*changes;
    return false;
}

void tkl__local_store(tkl__local *local, const tkl__moment *moment, tkl_bytes key, tkl_bytes name,
                      tkl__shared *shared, int64_t fresh_ms)
{
    size_t bytes =
        sizeof(entry) + key.len + name.len + sizeof *shared + shared->len + ALLOCATED_BYTES;
    bool storable = moment->tracking != 0 && fresh_ms > 0 && (int64_t)bytes <= local->most / 2;
    entry *e = storable ? new_entry(key, name) : NULL;
    if (!e) {
        tkl__local_drop(local, name);
        return;
    }
    e->bytes = bytes;
    e->fresh_until = moment->at + fresh_ms * 1000;
    e->shared = shared;
    begin_change(local);
    bool stored = settle_entry(local, moment, e);
    if (stored)
        atomic_fetch_add(&shared->users, 1);
    end_change(local);
    if (!stored)
        free(e);
}

/* ---- Finding ------------------------------------------------------------- */

bool tkl__local_find(tkl__local *local, tkl_bytes key, int64_t early_ms, tkl__found *found)
{
    if (tkl__tracking_state(&local->tracking) == 0)
        return false;
    uint64_t hash = hash_of(key);
    int64_t now = tkl__now();
    pthread_mutex_lock(&local->mutex);
    entry *e = *place_by_key(local, hash, key);
    if (e && e->fresh_until - now > (e->shared->none ? 0 : early_ms * 1000)) {
        e->used = true;
        local->stats.hits++;
        *found = (tkl__found){e->shared, e->fresh_until - now};
        atomic_fetch_add_explicit(&e->shared->users, 1, memory_order_relaxed);
    } else {
        e = NULL;
    }
    pthread_mutex_unlock(&local->mutex);
    return e != NULL;
}

void tkl__local_stats(tkl__local *local, tkl_cache_local_stats *stats)
{
    uint64_t state = tkl__tracking_state(&local->tracking);
    pthread_mutex_lock(&local->mutex);
    *stats = local->stats;
    pthread_mutex_unlock(&local->mutex);
    stats->live = state != 0;
}

/* ---- Beginning and ending ------------------------------------------------ */

static void hear_change(void *arg, tkl_bytes name)
{
    tkl__local_drop(arg, name);
}

static void hear_loss(void *arg)
{
    tkl__local_drop_all(arg);
}

/* Another thread of the parent may have held the mutex. */
static void enter_child(void *arg)
{
    tkl__local *local = arg;
    pthread_mutex_init(&local->mutex, NULL);
    remove_all(local);
    local->stats = (tkl_cache_local_stats){.hits = 0};
}

int tkl__local_open(tkl_client *client, tkl_bytes prefix, int64_t bytes, tkl__local **out)
{
    size_t buckets = BUCKETS_MIN;
    tkl__local *local = calloc(1, sizeof *local);
    *out = NULL;
    while (buckets < BUCKETS_MAX && (int64_t)buckets * BUCKET_BYTES < bytes)
        buckets *= 2;
    if (local) {
        local->keys = calloc(buckets, sizeof(entry *));
        local->names = calloc(buckets, sizeof(entry *));
        local->prefix = malloc(prefix.len);
    }
    if (!local || !local->keys || !local->names || !local->prefix) {
        if (local) {
            free(local->keys);
            free(local->names);
            free(local->prefix);
        }
        free(local);
        return tkl__nomem();
    }
    memcpy(local->prefix, prefix.data, prefix.len);
    local->most = bytes;
    local->buckets = buckets;
    pthread_mutex_init(&local->mutex, NULL);
    local->tracking = (tkl__tracking){.client = client,
                                      .prefix = {local->prefix, prefix.len},
                                      .changed = hear_change,
                                      .lost = hear_loss,
                                      .forked = enter_child,
                                      .arg = local};
    tkl__tracking_init(&local->tracking);
    *out = local;
    return TKL_OK;
}

void tkl__local_close(tkl__local *local)
{
    if (!local)
        return;
    tkl__tracking_close(&local->tracking);
    remove_all(local);
    pthread_mutex_destroy(&local->mutex);
    free(local->keys);
    free(local->names);
    free(local->prefix);
    free(local);
}
