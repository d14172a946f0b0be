/* SPDX-License-Identifier: MIT
 *
 * Operators ask which queues, locks or indexes there are. A walk over millions of keys takes
 * seconds, so each component has a register: a sorted set "ns:component:names" of names as they
 * stand in keys, escaped, with the time when a client last used each name, in Unix ms.
 *
 * Writing. A client announces a name when it first changes something of it, and again after a
 * minute of use. ZADD goes in front of the request on the same connection, and nobody waits for its
 * answer: there is no further round trip. A refusal (no permission, a full server, a read-only one)
 * keeps the client silent for a minute and has no other consequence. The client keeps what it has
 * announced as marks in a small table: a hash of the key and the minute. A name whose mark was
 * overwritten is announced again; a bucket bounds how often, for programs with a name for each of
 * their users.
 *
 * Limits. A limit has a key for each of its users, "ns:limit:{user}:name". Its register has the
 * names, not the users, in "ns:limit:used:names". Which keys a name has is not known, so it stays
 * for a day after its last use.
 *
 * Cluster. An announcement can only travel to the server of its request. So there are 64 registers
 * of a component, "ns:component:names:{tag}", whose slots are spread evenly; the client takes one
 * that this server serves. A reader reads all of them.
 *
 * Reading. Where a component says which keys its names have, a reader checks the keys of all names
 * in one batch. It removes a name without keys that was not used for ten minutes. The times are
 * those of the announcing clients: if a clock is wrong, a name without keys leaves too early or too
 * late, and a name with keys is not affected.
 *
 * Bounds. A register holds the 10,000 names used last; each of the 64 of a cluster 1,000. One in 64
 * announcements trims it. An evicted or flushed register comes back within a minute of use.
 */
#include "core/register.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/lenient.h"
#include "core/options.h"
#include "core/resp.h"

#define NAMES_MAX        10000
#define NAMES_MAX_BUCKET 1000
#define BUCKETS          64
#define TRIM_ONE_IN      64
#define MINUTE_US        60000000LL
#define GONE_MS          600000LL
#define STAYS_MS         86400000LL /* names whose keys are not checked */

/* ---- Keys ---------------------------------------------------------------- */

/* The tag of a bucket is the smallest number whose slot is in its part of all slots. */
static int bucket_tags[BUCKETS];
static pthread_once_t bucket_once = PTHREAD_ONCE_INIT;

static int slot_of_tag(int tag)
{
    char text[16];
    int len = snprintf(text, sizeof text, "{%d}", tag);
    return tkl__slot_of((tkl_bytes){text, (size_t)len});
}

static void choose_tags(void)
{
    for (int i = 0; i < BUCKETS; i++)
        bucket_tags[i] = -1;
    for (int tag = 0, found = 0; found < BUCKETS; tag++) {
        int bucket = slot_of_tag(tag) / (TKL__SLOTS / BUCKETS);
        if (bucket_tags[bucket] < 0) {
            bucket_tags[bucket] = tag;
            found++;
        }
    }
}

/* The key of a register; bucket -1: the only one where there is no cluster. `component` includes
 * the namespace: "ns:component". */
static void write_register_key(tkl__buf *out, tkl_bytes component, int bucket)
{
    tkl__buf_add(out, component.data, component.len);
    tkl__buf_addz(out, ":names");
    if (bucket >= 0)
        tkl__buf_addf(out, ":{%d}", bucket_tags[bucket]);
}

static bool is_limit(const tkl_client *client, tkl_bytes component)
{
    size_t ns = strlen(client->target.ns);
    return component.len == ns + sizeof ":limit" - 1 &&
           memcmp(component.data + ns, ":limit", sizeof ":limit" - 1) == 0;
}

/* Splits "ns:component:{name}..." into "ns:component" and "name". For the key of a limit, the name
 * is that of the limit. */
static bool split_key(const tkl_client *client, tkl_bytes key, tkl_bytes *component,
                      tkl_bytes *name)
{
    size_t ns = strlen(client->target.ns);
    if (key.len <= ns || memcmp(key.data, client->target.ns, ns) != 0)
        return false;
    const char *open = memchr(key.data + ns, '{', key.len - ns);
    const char *close = open ? memchr(open, '}', key.len - (size_t)(open - key.data)) : NULL;
    if (!close || open < key.data + ns + 3 || open[-1] != ':')
        return false;
    *component = (tkl_bytes){key.data, (size_t)(open - key.data) - 1};
    *name = (tkl_bytes){open + 1, (size_t)(close - open) - 1};
    if (is_limit(client, *component)) {
        const char *end = key.data + key.len;
        *name = (tkl_bytes){close + 2, close + 2 < end ? (size_t)(end - close) - 2 : 0};
    }
    return name->len > 0;
}

/* ---- Announced names ----------------------------------------------------- */

/* A mark is the upper 48 bits of a hash and the minute in which the name was announced. A name has
 * WAYS possible places. */
#define SETS        2048
#define WAYS        4
#define MINUTE_MASK 0xffffULL

static uint64_t hash_of(tkl_bytes text)
{
    uint64_t hash = 0xcbf29ce484222325ULL; /* FNV-1a */
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001b3ULL;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL; /* every bit depends on every byte */
    return hash ^ hash >> 33;
}

int tkl__register_open(tkl__register *r)
{
    r->announced = calloc((size_t)SETS * WAYS, sizeof *r->announced);
    return r->announced ? TKL_OK : tkl__nomem();
}

void tkl__register_close(tkl__register *r)
{
    free((void *)r->announced);
}

/* Whether the name is due; if so, marks it as announced. */
static bool mark_name(tkl_client *client, uint64_t hash)
{
    _Atomic(uint64_t) *set = client->names.announced + hash % SETS * WAYS;
    uint64_t minute = (uint64_t)(tkl__now() / MINUTE_US + 1) & MINUTE_MASK;
    uint64_t mark = (hash & ~MINUTE_MASK) | minute;
    int place = (int)(hash >> 11) % WAYS;
    for (int i = 0; i < WAYS; i++) {
        uint64_t old = atomic_load_explicit(&set[i], memory_order_relaxed);
        if (old == mark)
            return false;
        if (((old ^ hash) & ~MINUTE_MASK) == 0 || old == 0) {
            place = i;
            break;
        }
    }
    atomic_store_explicit(&set[place], mark, memory_order_relaxed);
    return true;
}

/* Takes one of NAMES_MAX announcements; 100 a second come back. */
static bool take_token(tkl_client *client)
{
    tkl__register *r = &client->names;
    int64_t now = tkl__now();
    tkl__client_lock(client);
    if (r->tokens_at == 0) {
        r->tokens = NAMES_MAX;
        r->tokens_at = now;
    }
    int64_t more = (now - r->tokens_at) / 10000;
    if (more > 0) {
        r->tokens = r->tokens + more < NAMES_MAX ? r->tokens + more : NAMES_MAX;
        r->tokens_at = now;
    }
    bool taken = r->tokens > 0;
    r->tokens -= taken;
    tkl__client_unlock(client);
    return taken;
}

/* ---- Announcing ---------------------------------------------------------- */

/* The bucket for this name at this node; -1: there is no cluster, -2: the node serves none. */
static int find_bucket(tkl_client *client, const tkl__node *node, uint64_t hash)
{
    if (!client->route->cluster)
        return -1;
    pthread_once(&bucket_once, choose_tags);
    uint64_t step = hash >> 40 | 1; /* odd: visits all; not 1, which would crowd the first served */
    for (unsigned i = 0; i < BUCKETS; i++) {
        int bucket = (int)((hash / SETS + i * step) % BUCKETS);
        if (client->route->serves(client, slot_of_tag(bucket_tags[bucket]), node))
            return bucket;
    }
    return -2;
}

/* The first announcement of a connection was refused. */
static void fall_silent(tkl_client *client, tkl__errand *errand)
{
    atomic_store(&client->names.silent_until, tkl__now() + MINUTE_US);
    free(errand);
}

static unsigned write_commands(tkl__buf *wire, tkl_bytes key, tkl_bytes name, uint64_t hash,
                               int max)
{
    tkl__resp_head(wire, 4);
    tkl__resp_argz(wire, "ZADD");
    tkl__resp_arg(wire, key.data, key.len);
    tkl__resp_int(wire, tkl__unix_ms());
    tkl__resp_arg(wire, name.data, name.len);
    if (((hash >> 20) + (uint64_t)tkl__now()) % TRIM_ONE_IN != 0)
        return 1;
    tkl__resp_head(wire, 4);
    tkl__resp_argz(wire, "ZREMRANGEBYRANK");
    tkl__resp_arg(wire, key.data, key.len);
    tkl__resp_argz(wire, "0");
    tkl__resp_int(wire, -max - 1);
    return 2;
}

static unsigned announce_key(tkl_client *client, const tkl__node *node, tkl_bytes key,
                             tkl__buf *wire)
{
    tkl_bytes component, name;
    if (!split_key(client, key, &component, &name))
        return 0;
    uint64_t hash = hash_of(component) * 31 + hash_of(name);
    if (!mark_name(client, hash) || atomic_load(&client->names.silent_until) > tkl__now() ||
        !take_token(client))
        return 0;
    int bucket = find_bucket(client, node, hash);
    if (bucket < -1)
        return 0;
    tkl__buf home, prefix;
    tkl__buf_init(&home);
    tkl__buf_init(&prefix);
    tkl__buf_add(&prefix, component.data, component.len);
    if (is_limit(client, component))
        tkl__buf_addz(&prefix, ":used");
    write_register_key(&home, (tkl_bytes){prefix.data, prefix.len}, bucket);
    home.failed |= prefix.failed;
    unsigned count = home.failed ? 0
                                 : write_commands(wire, (tkl_bytes){home.data, home.len}, name,
                                                  hash, bucket < 0 ? NAMES_MAX : NAMES_MAX_BUCKET);
    tkl__buf_free(&home);
    tkl__buf_free(&prefix);
    return count;
}

/* Reads one word of a request in RESP form, "$5\r\nhello\r\n", and goes behind it. */
static tkl_bytes next_word(const char **at)
{
    char *end;
    long len = strtol(*at + 1, &end, 10);
    tkl_bytes word = {end + 2, (size_t)len};
    *at = word.data + word.len + 2;
    return word;
}

unsigned tkl__register_write(tkl_client *client, const tkl__node *node, const tkl__request *request,
                             tkl__buf *wire)
{
    if (request->names_word == 0 || client->target.no_register)
        return 0;
    const char *at = strchr(request->wire.data, '\n') + 1;
    tkl_bytes before = {0}, word = next_word(&at), component, name;
    for (int i = 0; i < request->names_word; i++) {
        before = word;
        word = next_word(&at);
    }
    unsigned count = announce_key(client, node, word, wire);
    /* Limits that are checked as one: each key has the name of another one. */
    if (request->script && split_key(client, word, &component, &name) &&
        is_limit(client, component))
        for (long keys = strtol(before.data, NULL, 10); keys > 1; keys--)
            count += announce_key(client, node, next_word(&at), wire);
    return count;
}

int tkl__register_send(tkl__conn *conn, const tkl__buf *wire, unsigned count, int64_t deadline)
{
    if (count == 0 || wire->failed)
        return TKL_OK;
    int rc = tkl__conn_send(conn, (tkl_bytes){wire->data, wire->len}, deadline, NULL);
    if (rc != TKL_OK)
        return rc;
    if (conn->owed == 0 && !conn->errand && (conn->errand = malloc(sizeof *conn->errand)))
        conn->errand->redo = fall_silent;
    conn->owed += count;
    return TKL_OK;
}

/* ---- Reading ------------------------------------------------------------- */

typedef struct reading {
    tkl_client *client;
    tkl_bytes component; /* "ns:component" */
    const char *const *parts;
    size_t nparts;
    const char *type;
    tkl__visit *visit;
    void *arg;
    tkl__batch registers;
    tkl__batch types; /* asks the type of each key of each name, in order */
} reading;

static void write_key(const reading *r, tkl_bytes name, const char *part, tkl__buf *key)
{
    tkl__buf_clear(key);
    tkl__buf_add(key, r->component.data, r->component.len);
    tkl__buf_addz(key, ":{");
    tkl__buf_add(key, name.data, name.len);
    tkl__buf_addf(key, "}%s%s", *part ? ":" : "", part);
}

/* TKL_OK when one of these calls of a batch was answered, else the failure of the first. */
static int any_answer(const tkl__batch *batch, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (tkl__batch_code(batch, i) == TKL_OK)
            return TKL_OK;
    return tkl__batch_code(batch, from);
}

/* Asks for all registers: the one without a bucket also in a cluster, which may have been a single
 * server before. */
static int read_registers(reading *r, int64_t deadline)
{
    tkl__buf key;
    pthread_once(&bucket_once, choose_tags);
    tkl__buf_init(&key);
    for (int bucket = -1; bucket < (r->client->route->cluster ? BUCKETS : 0); bucket++) {
        tkl__buf_clear(&key);
        write_register_key(&key, r->component, bucket);
        if (key.failed)
            tkl__batch_fail(&r->registers, tkl__nomem());
        else
            TKL__BATCH_WORDS(&r->registers, tkl_str("ZRANGE"), {key.data, key.len}, tkl_str("0"),
                             tkl_str("-1"), tkl_str("WITHSCORES"));
    }
    tkl__buf_free(&key);
    int rc = tkl__batch_run_lenient(&r->registers, deadline);
    return rc == TKL_OK ? any_answer(&r->registers, 0, r->registers.count) : rc;
}

/* Calls `each` for every name of every register. */
typedef int each_name(reading *r, const tkl_reply *name, const tkl_reply *seen, size_t bucket,
                      size_t index);

static int for_all_names(reading *r, each_name *each)
{
    size_t index = 0;
    int rc = TKL_OK;
    for (size_t i = 0; i < r->registers.count; i++) {
        const tkl_reply *names = tkl__batch_reply(&r->registers, i);
        for (size_t k = 0; rc == TKL_OK && k + 1 < tkl_reply_count(names); k += 2)
            rc = each(r, tkl_reply_at(names, k), tkl_reply_at(names, k + 1), i, index++);
    }
    return rc;
}

static int ask_types(reading *r, const tkl_reply *name, const tkl_reply *seen, size_t bucket,
                     size_t index)
{
    tkl__buf key;
    (void)seen, (void)bucket, (void)index;
    tkl__buf_init(&key);
    for (size_t i = 0; i < r->nparts; i++) {
        write_key(r, tkl_reply_bytes(name), r->parts[i], &key);
        if (!key.failed)
            TKL__BATCH_WORDS(&r->types, tkl_str("TYPE"), {key.data, key.len});
    }
    bool failed = key.failed;
    tkl__buf_free(&key);
    return failed ? tkl__nomem() : TKL_OK;
}

/* The first part of this name whose key has the type; NULL: none. When the server of a name does
 * not answer, a view believes the register. Without parts, each name counts as having its keys for
 * a while. */
static const char *part_found(const reading *r, const tkl_reply *seen, size_t index)
{
    if (r->nparts == 0)
        return tkl_reply_double(seen) >= (double)(tkl__unix_ms() - STAYS_MS) ? "" : NULL;
    for (size_t i = 0; i < r->nparts; i++) {
        const tkl_reply *type = tkl__batch_reply(&r->types, index * r->nparts + i);
        if (tkl_reply_code(type) != TKL_OK || strcmp(tkl_reply_str(type), r->type) == 0)
            return r->parts[i];
    }
    return NULL;
}

static int visit_name(reading *r, const tkl_reply *name, const tkl_reply *seen, size_t bucket,
                      size_t index)
{
    const char *part = part_found(r, seen, index);
    (void)bucket;
    if (!part)
        return TKL_OK;
    tkl__buf key;
    tkl__buf_init(&key);
    write_key(r, tkl_reply_bytes(name), part, &key);
    int rc = key.failed ? tkl__nomem() : r->visit((tkl_bytes){key.data, key.len}, r->arg);
    tkl__buf_free(&key);
    return rc;
}

static bool is_forgotten(const reading *r, const tkl_reply *seen, size_t index)
{
    return tkl_reply_double(seen) < (double)(tkl__unix_ms() - GONE_MS) &&
           !part_found(r, seen, index);
}

/* Removes the names that are gone and old, in one batch. If this user may not remove them, the next
 * reader does. */
static void forget_gone(reading *r, int64_t deadline)
{
    tkl__batch removals;
    tkl__buf key;
    size_t index = 0;
    tkl__batch_init(&removals, r->client);
    tkl__buf_init(&key);
    for (size_t i = 0; i < r->registers.count; i++) {
        const tkl_reply *names = tkl__batch_reply(&r->registers, i);
        tkl__buf_clear(&key);
        write_register_key(&key, r->component, (int)i - 1);
        for (size_t k = 0; !key.failed && k + 1 < tkl_reply_count(names); k += 2, index++)
            if (is_forgotten(r, tkl_reply_at(names, k + 1), index))
                TKL__BATCH_WORDS(&removals, tkl_str("ZREM"), {key.data, key.len},
                                 tkl_reply_bytes(tkl_reply_at(names, k)));
    }
    if (removals.count > 0)
        (void)!tkl__batch_run(&removals, deadline);
    tkl__buf_free(&key);
    tkl__batch_free(&removals);
}

static int read_names(reading *r)
{
    int64_t deadline = tkl__deadline(r->client, 0);
    int rc = read_registers(r, deadline);
    if (rc == TKL_OK)
        rc = for_all_names(r, ask_types);
    if (rc == TKL_OK)
        rc = tkl__batch_run_lenient(&r->types, deadline);
    if (rc == TKL_OK)
        rc = for_all_names(r, visit_name);
    if (rc == TKL_OK)
        forget_gone(r, deadline);
    return rc;
}

/* ---- Reading in passing --------------------------------------------------- */

static int register_count(const tkl_client *client)
{
    return client->route->cluster ? BUCKETS + 1 : 1;
}

void tkl__register_ask(tkl__batch *batch, const char *component, int64_t max)
{
    const tkl_client *client = batch->client;
    int count = register_count(client);
    char last[24];
    tkl__buf key, prefix;
    pthread_once(&bucket_once, choose_tags);
    tkl__buf_init(&key);
    tkl__buf_init(&prefix);
    tkl__buf_addf(&prefix, "%s:%s", client->target.ns, component);
    snprintf(last, sizeof last, "%" PRId64, (max + count - 1) / count - 1);
    for (int i = 0; i < count; i++) {
        tkl__buf_clear(&key);
        write_register_key(&key, (tkl_bytes){prefix.data, prefix.len}, i - 1);
        if (key.failed || prefix.failed)
            tkl__batch_fail(batch, tkl__nomem());
        else
            TKL__BATCH_WORDS(batch, tkl_str("ZRANGE"), {key.data, key.len}, tkl_str("0"),
                             tkl_str(last), tkl_str("REV"));
    }
    tkl__buf_free(&key);
    tkl__buf_free(&prefix);
}

int tkl__register_heard(const tkl__batch *batch, size_t *at, const char *component,
                        tkl__visit *visit, void *arg)
{
    tkl__buf key;
    size_t end = *at + (size_t)register_count(batch->client);
    int rc = any_answer(batch, *at, end);
    tkl__buf_init(&key);
    for (size_t i = *at; rc == TKL_OK && i < end; i++) {
        const tkl_reply *names = tkl__batch_reply(batch, i);
        rc = tkl__batch_code(batch, i);
        if (tkl__lenient_lacks(batch->client, rc)) {
            rc = TKL_OK;
            continue;
        }
        for (size_t k = 0; rc == TKL_OK && k < tkl_reply_count(names); k++) {
            tkl_bytes name = tkl_reply_bytes(tkl_reply_at(names, k));
            tkl__buf_clear(&key);
            tkl__buf_addf(&key, "%s:%s:{", batch->client->target.ns, component);
            tkl__buf_add(&key, name.data, name.len);
            tkl__buf_addz(&key, "}");
            rc = key.failed ? tkl__nomem() : visit((tkl_bytes){key.data, key.len}, arg);
        }
    }
    tkl__buf_free(&key);
    *at = end;
    return rc;
}

/* ---- Walking ------------------------------------------------------------- */

static int walk_keys(tkl_client *client, const char *component, const char *part, const char *type,
                     tkl__visit *visit, void *arg)
{
    tkl__buf pattern;
    tkl__buf_init(&pattern);
    tkl__glob_escape(&pattern, client->target.ns);
    tkl__buf_addf(&pattern, ":%s:{*}%s%s", component, *part ? ":" : "", part);
    int rc = pattern.failed
                 ? tkl__nomem()
                 : tkl__walk(client, (tkl_bytes){pattern.data, pattern.len}, type, visit, arg);
    tkl__buf_free(&pattern);
    return rc;
}

int tkl__register_visit(tkl_client *client, const char *component, const char *const *parts,
                        size_t count, const char *type, tkl__visit *visit, void *arg)
{
    const char *any = count == 1 ? *parts : "*"; /* other keys have other types */
    if (client->target.no_register)
        return walk_keys(client, component, any, type, visit, arg);
    tkl__buf prefix;
    tkl__buf_init(&prefix);
    tkl__buf_addf(&prefix, "%s:%s", client->target.ns, component);
    reading r = {.client = client,
                 .component = {prefix.data, prefix.len},
                 .parts = parts,
                 .nparts = count,
                 .type = type,
                 .visit = visit,
                 .arg = arg};
    tkl__batch_init(&r.registers, client);
    tkl__batch_init(&r.types, client);
    int rc = prefix.failed ? tkl__nomem() : read_names(&r);
    tkl__batch_free(&r.registers);
    tkl__batch_free(&r.types);
    tkl__buf_free(&prefix);
    return rc == TKL_EAUTH && count > 0 ? walk_keys(client, component, any, type, visit, arg) : rc;
}
