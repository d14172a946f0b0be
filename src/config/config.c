/* SPDX-License-Identifier: MIT
 *
 * Configuration.
 *
 * Keys:
 *
 *     ns:config:{kind:component}            stream: an entry for each version; also the name of the
 *                                           sharded channel
 *     ns:config:{kind:component}:requests   sorted set: the last 1000 requests, by version
 *
 * The entry of version N has the id "N-0" and the fields value, time and author. The last entry is
 * the current value, the others are the history, trimmed by every change. Kinds have no ':', so no
 * two pairs of kind and component have one name.
 *
 * A request that is repeated because its outcome was unknown finds itself among the requests, and
 * is not made twice. The requests also know the last version. They stay for a day when the
 * configuration is dropped, so that the next value gets another version.
 *
 * Changes are published on the sharded channel of the key's name, by the script that makes them. A
 * handle that was read from once follows the channel (core/follow.h) and has the value in memory:
 * an object with a count of its readers, replaced under the follower's lock. Data that the server
 * has lost (FLUSHALL, eviction) is published by nobody: XLEN is asked at every heartbeat.
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
#include "core/options.h"
#include "core/script.h"
#include "core/token.h"

#define HISTORY        10
#define HISTORY_MAX    1000
#define PAGE           8                  /* versions read in one trip by the history */
#define VERSION_TTL_MS (24 * 3600 * 1000) /* how long the version of what was dropped is kept */

/* ---- Values -------------------------------------------------------------- */

/* What a tkl_config_value that was read is part of. */
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
           a->json.len == b->json.len && memcmp(a->json.data, b->json.data, a->json.len) == 0;
}

void tkl_config_value_free(tkl_config_value *value)
{
    shared *made = (shared *)value;
    if (made && atomic_fetch_sub_explicit(&made->readers, 1, memory_order_acq_rel) == 1)
        free(made);
}

/* An entry of the stream: its id and its fields. */
static int read_entry(const tkl_reply *entry, tkl_config_value *value)
{
    const tkl_reply *fields = tkl_reply_at(entry, 1);
    *value = (tkl_config_value){0};
    value->version = strtoll(tkl_reply_str(tkl_reply_at(entry, 0)), NULL, 10);
    for (size_t i = 0; i + 1 < tkl_reply_count(fields); i += 2) {
        const char *name = tkl_reply_str(tkl_reply_at(fields, i));
        const tkl_reply *content = tkl_reply_at(fields, i + 1);
        if (strcmp(name, "value") == 0)
            value->json = tkl_reply_bytes(content);
        else if (strcmp(name, "author") == 0)
            value->author = tkl_reply_bytes(content);
        else if (strcmp(name, "time") == 0)
            value->changed_ms = tkl_reply_int(content);
    }
    if (value->json.len == 0)
        return tkl__fail(TKL_EDAMAGED, "the stream was not written by tackle");
    return TKL_OK;
}

/* ---- Handles ------------------------------------------------------------- */

static int load(void *arg, int64_t deadline, int64_t *again);
static int check_copy(void *arg, int64_t timeout_ms);

static int check_options(const tkl_config_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("history", options->history, 0, HISTORY_MAX);
    if (rc == TKL_OK && options->author && strlen(options->author) >= TKL__CONFIG_AUTHOR_SIZE)
        rc = tkl__fail(TKL_EINVAL, "author: more than %d bytes", TKL__CONFIG_AUTHOR_SIZE - 1);
    return rc;
}

static int check_kind(tkl_bytes kind)
{
    if (kind.len == 0 || kind.len > TKL_CONFIG_KIND_MAX)
        return tkl__fail(TKL_EINVAL, "a kind has 1 to %d bytes", TKL_CONFIG_KIND_MAX);
    for (size_t i = 0; i < kind.len; i++) {
        char c = kind.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        if (!letter && !other)
            return tkl__fail(TKL_EINVAL, "a kind has letters, digits, '_', '-' and '.' only");
    }
    return TKL_OK;
}

/* The key of "kind:component". */
static int make_key(tkl_config *config, tkl_bytes kind, tkl_bytes component)
{
    tkl__buf name;
    int rc = check_kind(kind);
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

static int fill(tkl_config *config, tkl_bytes kind, tkl_bytes component,
                const tkl_config_options *options)
{
    int rc = make_key(config, kind, component);
    if (rc != TKL_OK)
        return rc;
    config->timeout_ms = options->timeout_ms;
    config->history = options->history ? options->history : HISTORY;
    if (options->author)
        strcpy(config->author, options->author);
    config->follower = (tkl__follower){.client = config->client,
                                       .channel = config->keys.items[0],
                                       .load = load,
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
    rc = fill(made, kind, component, options);
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

/* The newest `count` entries from the one of id `from` on, "+" for the last: "(7-0" for those
 * before version 7. */
static int fetch(tkl_config *config, const char *from, const char *count, tkl_reply **reply)
{
    tkl_call_options safe = {.timeout_ms = config->timeout_ms, .retry_safe = true};
    tkl_bytes key = config->keys.items[0];
    const char *argv[] = {"XREVRANGE", key.data, from, "-", "COUNT", count};
    const size_t lens[] = {9, key.len, strlen(from), 1, 5, strlen(count)};
    return tkl_call(config->client, 6, argv, lens, &safe, reply);
}

int tkl_config_get(tkl_config *config, tkl_config_value **value)
{
    tkl_reply *reply = NULL;
    tkl_config_value found;
    *value = NULL;
    int rc = fetch(config, "+", "1", &reply);
    if (rc == TKL_OK && tkl_reply_count(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK)
        rc = read_entry(tkl_reply_at(reply, 0), &found);
    if (rc == TKL_OK)
        rc = make_value(&found, value);
    tkl_reply_free(reply);
    return rc;
}

/* For the follower: replaces the copy. The calls' own deadlines are those of the handle. */
static int load(void *arg, int64_t deadline, int64_t *again)
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
    const char *argv[] = {"XLEN", key.data};
    const size_t lens[] = {4, key.len};
    tkl_reply *reply = NULL;
    int rc = tkl_call(config->client, 2, argv, lens, &safe, &reply);
    if (rc == TKL_OK && (tkl_reply_int(reply) > 0) != known)
        rc = tkl__no(TKL_CONFLICT);
    tkl_reply_free(reply);
    return rc;
}

/* For the follower, whose thread alone replaces the copy. */
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

static int64_t version_now(const tkl_config *config)
{
    return config->value ? config->value->version : 0;
}

int tkl_config_watch(tkl_config *config, int64_t version, int64_t wait_ms, tkl_config_value **value)
{
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    *value = NULL;
    int rc = tkl__follow_lock(&config->follower);
    if (rc != TKL_OK)
        return rc;
    tkl_config_value *seen = tkl__config_share(config->value);
    while (rc == TKL_OK && version_now(config) == version && tkl__config_same(config->value, seen))
        rc = tkl__follow_wait(&config->follower, deadline);
    tkl_config_value_free(seen);
    if (rc == TKL_OK)
        *value = tkl__config_share(config->value);
    tkl__follow_unlock(&config->follower);
    return rc == TKL_OK && !*value ? tkl__no(TKL_NOTFOUND) : rc;
}

/* ---- Changing ------------------------------------------------------------ */

/* Why a text is refused. Some of it is JSON for others. */
static int refuse(const json_error_t *error)
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
    if (json.len > 0 && memchr(json.data, '\0', json.len)) /* jansson overlooks one at the end */
        return tkl__fail(TKL_EINVAL, "not JSON: a NUL byte");
    json_t *value = json_loadb(json.len > 0 ? json.data : "", json.len,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL |
                                   JSON_REJECT_DUPLICATES,
                               &error);
    if (!value)
        return refuse(&error);
    json_decref(value);
    return TKL_OK;
}

static int check_set_options(const tkl_config_set_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK)
        rc = tkl__check_number("if_version", options->if_version, TKL_NONE, INT64_C(1) << 53);
    if (rc == TKL_OK)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    return rc;
}

static int run_set(tkl_config *config, tkl_bytes json, const tkl_config_set_options *options,
                   int64_t *version)
{
    /* In the script -1 is any version and 0 is none. */
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

/* What callers get; `values` must be the first. */
typedef struct pages {
    tkl_config_values values;
    tkl_config_value *items;
    tkl_reply **replies; /* that the items point into */
    size_t count;        /* of replies */
} pages;

static void free_pages(pages *p)
{
    for (size_t i = 0; i < p->count; i++)
        tkl_reply_free(p->replies[i]);
    free(p->replies);
    free(p->items);
    free(p);
}

/* Adds the entries of a reply. */
static int add_page(pages *p, tkl_reply *reply)
{
    size_t count = p->values.count, more = tkl_reply_count(reply);
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
    for (size_t i = 0; rc == TKL_OK && i < more; i++)
        rc = read_entry(tkl_reply_at(reply, i), &p->items[count + i]);
    p->values = (tkl_config_values){p->items, count + more};
    return rc;
}

/* A page at a time: many large values in one reply would block the server. */
static int read_pages(tkl_config *config, size_t max, pages *p)
{
    char from[32] = "+", page[24];
    size_t before, wanted;
    int rc;
    do {
        tkl_reply *reply = NULL;
        before = p->values.count;
        wanted = max - before < PAGE ? max - before : PAGE;
        snprintf(page, sizeof page, "%zu", wanted);
        rc = fetch(config, from, page, &reply);
        if (rc == TKL_OK)
            rc = add_page(p, reply);
        if (rc == TKL_OK && p->values.count > before)
            snprintf(from, sizeof from, "(%lld-0",
                     (long long)p->items[p->values.count - 1].version);
    } while (rc == TKL_OK && p->values.count - before == wanted && p->values.count < max);
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
    return tkl__instances(client, "config", "", "stream", names);
}
