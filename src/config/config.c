/* SPDX-License-Identifier: MIT
 *
 * Configuration.
 *
 * Keys:
 *
 *     ns:config:{kind:component}            list: the versions, the newest first; also the name of
 *                                           the sharded channel
 *     ns:config:{kind:component}:requests   sorted set: the last 1000 requests, by version
 *
 * A version is four elements: its number, the value, the time and the author. The first is the
 * current one, the others are the history, trimmed by every change. (A stream would have them by
 * name; trimming it to a few entries costs more than all the rest of a change.) Kinds have no ':',
 * so no two pairs of kind and component have one name.
 *
 * A request that is repeated because its outcome was unknown finds itself among the requests, and
 * is not made twice. The requests also know the last version, and stay for a day when the
 * configuration is dropped: so the next value gets another version.
 *
 * Changes are published on the sharded channel of the key's name, by the script that makes them. A
 * handle that was read from once follows the channel (core/follow.h) and has the value in memory:
 * an object with a count of its readers, replaced under the follower's lock. When the server loses
 * the data (FLUSHALL, eviction), no message says so: every heartbeat asks LLEN.
 *
 * A value is checked by jansson and stored as it was written.
 */
#include "config/config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/interrupt.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/script.h"
#include "core/token.h"

#define HISTORY        10
#define HISTORY_MAX    1000
#define PAGE           8                  /* versions that the history reads at once */
#define FIELDS         ((size_t)4)        /* elements of a version: number, value, time, author */
#define VERSION_TTL_MS (24 * 3600 * 1000) /* how long a dropped value's version is kept */

/* ---- Values -------------------------------------------------------------- */

/* The block that a tkl_config_value is part of. */
typedef struct shared {
    tkl_config_value value;
    atomic_int readers;
    char text[];
} shared;

static int make_value(const tkl_config_value *from, tkl_config_value **value)
{
    shared *made = malloc(sizeof *made + from->json.len + from->author.len + 1);
    if (!made)
        return tkl__nomem();
    made->value = *from;
    atomic_init(&made->readers, 1);
    memcpy(made->text, from->json.data, from->json.len);
    if (from->author.len > 0)
        memcpy(made->text + from->json.len, from->author.data, from->author.len);
    made->value.json.data = made->text;
    made->value.author.data = made->text + from->json.len;
    *value = &made->value;
    return TKL_OK;
}

tkl_config_value *tkl__config_share(tkl_config_value *value)
{
    if (value)
        atomic_fetch_add_explicit(&((shared *)value)->readers, 1, memory_order_relaxed);
    return value;
}

bool tkl__config_same(const tkl_config_value *a, const tkl_config_value *b)
{
    if (!a || !b)
        return a == b;
    return a->version == b->version && a->changed_ms == b->changed_ms &&
           tkl__same_bytes(a->json, b->json);
}

void tkl_config_value_free(tkl_config_value *value)
{
    shared *made = (shared *)value;
    if (made && atomic_fetch_sub_explicit(&made->readers, 1, memory_order_acq_rel) == 1)
        free(made);
}

/* Reads the version whose elements begin at `at`. */
static int read_version(const tkl_reply *elements, size_t at, tkl_config_value *value)
{
    *value = (tkl_config_value){.version = tkl__reply_number(tkl_reply_at(elements, at)),
                                .json = tkl_reply_bytes(tkl_reply_at(elements, at + 1)),
                                .changed_ms = tkl__reply_number(tkl_reply_at(elements, at + 2)),
                                .author = tkl_reply_bytes(tkl_reply_at(elements, at + 3))};
    bool whole = at + FIELDS <= tkl_reply_count(elements);
    if (!whole || value->version < 1 || value->json.len == 0)
        return tkl__fail(TKL_EDAMAGED, "the list was not written by tackle");
    return TKL_OK;
}

/* ---- Handles ------------------------------------------------------------- */

static int load_newest(void *arg, int64_t deadline, int64_t *again);
static int check_copy(void *arg, int64_t timeout_ms);

static int check_options(const tkl_config_options *options)
{
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX},
                                {"history", options->history, 0, HISTORY_MAX});
    if (rc == TKL_OK && options->author && strlen(options->author) >= TKL__CONFIG_AUTHOR_SIZE)
        rc = tkl__fail(TKL_EINVAL, "author: more than %d bytes", TKL__CONFIG_AUTHOR_SIZE - 1);
    return rc;
}

/* The key of "kind:component". */
static int make_key(tkl_config *config, tkl_bytes kind, tkl_bytes component)
{
    tkl__buf name;
    int rc = tkl__check_kind(kind, TKL_CONFIG_KIND_MAX);
    if (rc == TKL_OK && component.len == 0)
        rc = tkl__fail(TKL_EINVAL, "the component has no name");
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&name);
    tkl__buf_add(&name, kind.data, kind.len);
    tkl__buf_addz(&name, ":");
    tkl__buf_add(&name, component.data, component.len);
    rc = name.failed ? tkl__nomem()
                     : tkl__keys_make(config->client, "config", (tkl_bytes){name.data, name.len},
                                      (const char *const[]){"", "requests"}, 2, &config->keys);
    tkl__buf_free(&name);
    return rc;
}

static int fill_config(tkl_config *config, tkl_bytes kind, tkl_bytes component,
                       const tkl_config_options *options)
{
    int rc = make_key(config, kind, component);
    if (rc != TKL_OK)
        return rc;
    config->timeout_ms = options->timeout_ms;
    config->history = options->history ? options->history : HISTORY;
    config->is_server = tkl__same_bytes(kind, tkl_str(TKL_CONFIG_SERVER));
    if (options->author)
        strcpy(config->author, options->author);
    config->follower = (tkl__follower){.client = config->client,
                                       .channel = config->keys.items[0],
                                       .load = load_newest,
                                       .check = check_copy,
                                       .arg = config,
                                       .timeout_ms = options->timeout_ms};
    tkl__follow_init(&config->follower);
    return TKL_OK;
}

int tkl_config_open(tkl_client *client, tkl_bytes kind, tkl_bytes component,
                    const tkl_config_options *options, tkl_config **config)
{
    static const tkl_config_options defaults;
    *config = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_config *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->client = client;
    rc = fill_config(made, kind, component, options);
    if (rc == TKL_OK)
        *config = made;
    else
        free(made);
    return rc;
}

void tkl_config_close(tkl_config *config)
{
    if (!config)
        return;
    tkl__follow_close(&config->follower);
    tkl_config_value_free(config->value);
    tkl__keys_free(&config->keys);
    free(config);
}

/* ---- Reading ------------------------------------------------------------- */

/* Fetches `count` versions behind the newest `skip`; *reply has their elements. */
static int fetch_versions(tkl_config *config, size_t skip, size_t count, tkl_reply **reply)
{
    tkl_call_options safe = {.timeout_ms = config->timeout_ms, .retry_safe = true};
    tkl_bytes key = config->keys.items[0];
    char first[24], last[24];
    snprintf(first, sizeof first, "%zu", FIELDS * skip);
    snprintf(last, sizeof last, "%zu", FIELDS * (skip + count) - 1);
    const char *argv[] = {"LRANGE", key.data, first, last};
    const size_t lens[] = {6, key.len, strlen(first), strlen(last)};
    return tkl_call(config->client, 4, argv, lens, &safe, reply);
}

int tkl_config_get(tkl_config *config, tkl_config_value **value)
{
    tkl_reply *reply = NULL;
    tkl_config_value found;
    *value = NULL;
    int rc = fetch_versions(config, 0, 1, &reply);
    if (rc == TKL_OK && tkl_reply_count(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK)
        rc = read_version(reply, 0, &found);
    if (rc == TKL_OK)
        rc = make_value(&found, value);
    tkl_reply_free(reply);
    return rc;
}

/* Called by the follower: replaces the copy. Calls use the time-out of the handle. */
static int load_newest(void *arg, int64_t deadline, int64_t *again)
{
    tkl_config *config = arg;
    tkl_config_value *value, *old;
    (void)deadline;
    (void)again;
    int rc = tkl_config_get(config, &value);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&config->follower.mutex);
    old = config->value;
    config->value = value;
    pthread_mutex_unlock(&config->follower.mutex);
    tkl_config_value_free(old);
    return rc;
}

int tkl__config_check(tkl_config *config, bool known, int64_t timeout_ms)
{
    tkl_call_options safe = {.timeout_ms = timeout_ms, .retry_safe = true};
    tkl_bytes key = config->keys.items[0];
    const char *argv[] = {"LLEN", key.data};
    const size_t lens[] = {4, key.len};
    tkl_reply *reply = NULL;
    int rc = tkl_call(config->client, 2, argv, lens, &safe, &reply);
    if (rc == TKL_OK && (tkl_reply_int(reply) > 0) != known)
        rc = tkl__no(TKL_CONFLICT);
    tkl_reply_free(reply);
    return rc;
}

/* Called by the follower; only its thread replaces the copy. */
static int check_copy(void *arg, int64_t timeout_ms)
{
    tkl_config *config = arg;
    return tkl__config_check(config, config->value != NULL, timeout_ms);
}

int tkl_config_read(tkl_config *config, tkl_config_value **value, int64_t *age_ms)
{
    *value = NULL;
    if (age_ms)
        *age_ms = 0;
    int rc = tkl__follow_lock(&config->follower);
    if (rc != TKL_OK)
        return rc;
    *value = tkl__config_share(config->value);
    if (age_ms)
        *age_ms = tkl__follow_age(&config->follower);
    tkl__follow_unlock(&config->follower);
    return *value ? TKL_OK : tkl__no(TKL_NOTFOUND);
}

int tkl_config_watch(tkl_config *config, const tkl_config_value *seen, int64_t wait_ms,
                     tkl_config_value **value)
{
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    *value = NULL;
    tkl__begin_request(config->client);
    int rc = tkl__end_request(config->client, tkl__follow_lock(&config->follower));
    if (rc != TKL_OK)
        return rc;
    while (rc == TKL_OK && tkl__config_same(config->value, seen))
        rc = tkl__follow_wait(&config->follower, deadline);
    if (rc == TKL_OK)
        *value = tkl__config_share(config->value);
    tkl__follow_unlock(&config->follower);
    return rc == TKL_OK && !*value ? tkl__no(TKL_NOTFOUND) : rc;
}

/* ---- Changing ------------------------------------------------------------ */

/* The error for a text that is not JSON. Other parsers accept some of these texts. */
static int refuse_text(const json_error_t *error)
{
    const char *why = NULL;
    switch (json_error_code(error)) {
    case json_error_stack_overflow:
        why = "arrays and objects are nested more than 2048 deep";
        break;
    case json_error_numeric_overflow:
        why = "a number is out of the range of a double (1.8e308)";
        break;
    case json_error_null_byte_in_key:
        why = "a key of an object has a NUL character";
        break;
    case json_error_duplicate_key:
        why = "an object has the same key twice";
        break;
    default:
        return tkl__fail(TKL_EINVAL, "not JSON: line %d, column %d: %s", error->line, error->column,
                         error->text);
    }
    return tkl__fail(TKL_EINVAL, "line %d, column %d: %s", error->line, error->column, why);
}

static int check_json(tkl_bytes json)
{
    json_error_t error;
    if (json.len > TKL_CONFIG_VALUE_MAX)
        return tkl__fail(TKL_EINVAL, "the value has %zu bytes, %d are allowed", json.len,
                         TKL_CONFIG_VALUE_MAX);
    if (json.len > 0 && memchr(json.data, '\0', json.len)) /* jansson ignores a NUL at the end */
        return tkl__fail(TKL_EINVAL, "not JSON: a NUL byte");
    json_t *value = json_loadb(json.len > 0 ? json.data : "", json.len,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL |
                                   JSON_REJECT_DUPLICATES,
                               &error);
    if (!value)
        return refuse_text(&error);
    json_decref(value);
    return TKL_OK;
}

static int check_set_options(const tkl_config_set_options *options)
{
    return TKL__CHECK_OPTIONS(options,
                              {"if_version", options->if_version, TKL_NONE, INT64_C(1) << 53},
                              {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX});
}

static int run_set(tkl_config *config, tkl_bytes json, const tkl_config_set_options *options,
                   int64_t *version)
{
    /* The script takes -1 as any version, and 0 as no value. */
    int64_t wanted = options->if_version;
    int64_t expected = wanted == 0 ? -1 : wanted == TKL_NONE ? 0 : wanted;
    int64_t timeout_ms = options->timeout_ms ? options->timeout_ms : config->timeout_ms;
    char request[TKL_TOKEN_SIZE];
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__token_new(request);
    tkl__args_init(&args);
    tkl__args_bytes(&args, json);
    tkl__args_int(&args, expected);
    tkl__args_int(&args, config->history);
    tkl__args_str(&args, config->author);
    tkl__args_str(&args, request);
    int rc = tkl__eval(config->client, &tkl__lua_config_set, &config->keys, &args,
                       tkl__deadline(config->client, timeout_ms), true, &reply);
    *version = tkl_reply_int(tkl_reply_at(reply, 1));
    if (rc == TKL_OK && tkl_reply_int(tkl_reply_at(reply, 0)) == 0)
        rc = tkl__fail(TKL_CONFLICT, "the version is %lld", (long long)*version);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return rc;
}

int tkl_config_set(tkl_config *config, tkl_bytes json, const tkl_config_set_options *options,
                   int64_t *version)
{
    static const tkl_config_set_options defaults;
    int64_t now = 0;
    if (!options)
        options = &defaults;
    if (version)
        *version = 0;
    int rc = check_set_options(options);
    if (rc == TKL_OK)
        rc = check_json(json);
    if (rc == TKL_OK && config->is_server)
        rc = tkl__config_server_check(json);
    if (rc != TKL_OK)
        return rc;
    rc = run_set(config, json, options, &now);
    if (version)
        *version = now;
    return rc;
}

int tkl_config_drop(tkl_config *config)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    tkl__args_int(&args, VERSION_TTL_MS);
    int rc = tkl__eval(config->client, &tkl__lua_config_drop, &config->keys, &args,
                       tkl__deadline(config->client, config->timeout_ms), false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return rc;
}

/* ---- History and names --------------------------------------------------- */

/* The result for the caller; `values` must be first. */
typedef struct pages {
    tkl_config_values values;
    tkl_config_value *items;
    tkl_reply **replies; /* own the texts of the items */
    size_t count;        /* number of replies */
} pages;

static void free_pages(pages *p)
{
    for (size_t i = 0; i < p->count; i++)
        tkl_reply_free(p->replies[i]);
    free(p->replies);
    free(p->items);
    free(p);
}

/* Adds the versions of a reply. A change since the last page shifts all versions by one, so those
 * that were already read are skipped. */
static int add_page(pages *p, tkl_reply *reply)
{
    size_t count = p->values.count, more = tkl_reply_count(reply) / FIELDS;
    tkl_config_value *items = realloc(p->items, (count + more + 1) * sizeof *items);
    if (items)
        p->items = items;
    tkl_reply **replies = realloc(p->replies, (p->count + 1) * sizeof(tkl_reply *));
    if (replies)
        p->replies = replies;
    if (!items || !replies) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    p->replies[p->count++] = reply;
    int rc = TKL_OK;
    for (size_t at = 0; rc == TKL_OK && at < tkl_reply_count(reply); at += FIELDS) {
        rc = read_version(reply, at, &p->items[count]);
        if (rc == TKL_OK && (count == 0 || p->items[count].version < p->items[count - 1].version))
            count++;
    }
    p->values = (tkl_config_values){p->items, count};
    return rc;
}

/* Reads page by page: many large values in one reply would block the server. */
static int read_pages(tkl_config *config, size_t max, pages *p)
{
    size_t skip = 0, came, wanted;
    int rc;
    do {
        tkl_reply *reply = NULL;
        wanted = max - p->values.count < PAGE ? max - p->values.count : PAGE;
        rc = fetch_versions(config, skip, wanted, &reply);
        came = tkl_reply_count(reply) / FIELDS;
        skip += came;
        if (rc == TKL_OK)
            rc = add_page(p, reply);
    } while (rc == TKL_OK && came == wanted && p->values.count < max);
    return rc;
}

int tkl_config_history(tkl_config *config, size_t max, tkl_config_values **values)
{
    *values = NULL;
    pages *p = calloc(1, sizeof *p);
    if (!p)
        return tkl__nomem();
    int rc = read_pages(config, max == 0 || max > HISTORY_MAX ? HISTORY_MAX : max, p);
    if (rc == TKL_OK)
        *values = &p->values;
    else
        free_pages(p);
    return rc;
}

void tkl_config_values_free(tkl_config_values *values)
{
    if (values)
        free_pages((pages *)values);
}

int tkl_config_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "config", "", "list", names);
}
