/* SPDX-License-Identifier: MIT
 *
 * Memory by component, as an estimate. A walk over all keys would take a server minutes, so keys are
 * chosen in two ways. Most keys are small, and a sample of them stands for all: SCAN visits keys in
 * the order of their hashes, so its first few thousand are as good as random ones. A few keys hold
 * nearly all of a large queue or index, and no sample finds them among millions: those of names in
 * the register are asked for by their names. A key that both ways find counts once.
 *
 * The server answers MEMORY USAGE from five elements of a key, whatever its size, and commands of
 * other clients run between any two of ours.
 */
#include <tackle/overview.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/names.h"
#include "core/options.h"
#include "core/register.h"
#include "core/resp.h"

#define SAMPLE_DEFAULT 5000
#define NAMES_MAX      100 /* names of a component, those used last, whose large keys are asked for */
#define STEP           500 /* keys in one batch, or one step of SCAN */

/* The parts of names that may be large, in the order of components; "" is the bare key. */
static const struct {
    const char *component, *part;
} large[] = {
    {"ads", "ads"},
    {"ads", "index"},
    {"ads", "values"},
    {"ads", "words"},
    {"bits", ""},
    {"blist", ""},
    {"board", "members"},
    {"board", "ranks"},
    {"book", "forms"},
    {"book", "ids"},
    {"book", "names"},
    {"book", "parts"},
    {"channel", "history"},
    {"chat", "messages"},
    {"config", ""},
    {"counter", ""},
    {"geo", ""},
    {"ip", ""},
    {"lock", "line"},
    {"mail", "messages"},
    {"online", "heartbeat"},
    {"online", "ids"},
    {"queue", "dead"},
    {"queue", "delayed"},
    {"queue", "heads"},
    {"queue", "history"},
    {"queue", "jobs"},
    {"queue", "ready"},
    {"queue", "unique"},
    {"recent", ""},
    {"search", "docs"},
    {"search", "forward"},
    {"search", "ids"},
    {"search", "terms"},
    {"search", "texts"},
    {"sem", "line"},
    {"session", "ends"},
    {"session", "ranking"},
    {"session", "sessions"},
    {"session", "users"},
    {"stats", "rank"},
    {"suggest", "best"},
    {"suggest", "shown"},
    {"suggest", "texts"},
    {"suggest", "weights"},
    {"unique", ""},
};
enum { LARGE = sizeof large / sizeof *large };

/* All components that have keys. Keys of none of them count under the number behind the last. */
static const char *const components[] = {
    "ads",    "bits",   "blist",  "bloom",   "board",   "book",  "cache",   "channel",
    "chat",   "chats",  "config", "counter", "files",   "geo",   "ip",      "leader",
    "limit",  "lock",   "log",    "mail",    "online",  "queue", "recent",  "redlock",
    "script", "search", "sem",    "service", "session", "stats", "suggest", "unique",
};
enum { COMPONENTS = sizeof components / sizeof *components };

typedef struct survey {
    tkl_client *client;
    size_t sample;       /* number of keys that SCAN should find */
    const char *part;    /* the part that is added to the bare keys of a register */
    tkl__names named;    /* keys of names in the register */
    tkl__names found;    /* keys that SCAN found, without `named` */
    bool is_complete;    /* SCAN found all keys */
    int64_t keys;        /* keys of all masters */
    int64_t named_there; /* number of `named` keys that exist */
    double counts[COMPONENTS + 1], bytes[COMPONENTS + 1];
} survey;

/* ---- Keys ---------------------------------------------------------------- */

static int add_key(tkl__names *keys, tkl_bytes key, const char *part)
{
    char *data = NULL;
    int len = asprintf(&data, TKL_FMT "%s%s", TKL_ARG(key), *part ? ":" : "", part);
    return len >= 0 ? tkl__names_add(keys, (tkl_bytes){data, (size_t)len}) : tkl__nomem();
}

/* The component of a key: the word before ":{" or before ":names", behind the namespace. */
static int component_of(const survey *s, tkl_bytes key)
{
    static const char suffix[] = ":names";
    const char *ns = s->client->target.ns, *end = memmem(key.data, key.len, ":{", 2);
    size_t ns_len = strlen(ns), tail = sizeof suffix - 1;
    if (key.len <= ns_len || memcmp(key.data, ns, ns_len) != 0 || key.data[ns_len] != ':')
        return COMPONENTS;
    if (end && end - key.data > (ptrdiff_t)tail && memcmp(end - tail, suffix, tail) == 0)
        end -= tail; /* a register of a cluster */
    else if (!end && key.len > tail && memcmp(key.data + key.len - tail, suffix, tail) == 0)
        end = key.data + key.len - tail;
    if (!end || end <= key.data + ns_len)
        return COMPONENTS;
    const char *start = memrchr(key.data, ':', (size_t)(end - key.data));
    tkl_bytes word = {start + 1, (size_t)(end - start) - 1};
    int i = 0;
    while (i < COMPONENTS && !tkl__same_bytes(word, tkl_str(components[i])))
        i++;
    return i;
}

static int visit_base(tkl_bytes base, void *arg)
{
    survey *s = arg;
    return add_key(&s->named, base, s->part);
}

static bool is_first_of_component(size_t i)
{
    return i == 0 || strcmp(large[i].component, large[i - 1].component) != 0;
}

/* Lists the keys of names in the registers. A register that may not be read has no names. */
static int list_named(survey *s)
{
    tkl__batch batch;
    size_t at = 0;
    tkl__batch_init(&batch, s->client);
    for (size_t i = 0; i < LARGE; i++)
        if (is_first_of_component(i))
            tkl__register_ask(&batch, large[i].component, NAMES_MAX);
    int rc = tkl__batch_run(&batch, tkl__deadline(s->client, 0));
    if (rc != TKL_OK && batch.replies)
        rc = TKL_OK; /* each register has its result */
    for (size_t i = 0, next = 0; rc == TKL_OK && i < LARGE; i++) {
        if (is_first_of_component(i))
            at = next;
        next = at;
        s->part = large[i].part;
        int heard = tkl__register_heard(&batch, &next, large[i].component, visit_base, s);
        if (heard == TKL_ENOMEM)
            rc = heard;
    }
    tkl__batch_free(&batch);
    tkl__names_tidy(&s->named, NULL, NULL);
    return rc;
}

static bool is_not_named(tkl_bytes key, void *arg)
{
    const survey *s = arg;
    size_t low = 0, high = s->named.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = tkl__compare_bytes(s->named.items[middle], key);
        if (order == 0)
            return false;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return true;
}

/* Finds the first keys of a walk. */
static int sample_keys(survey *s)
{
    tkl__way way = {.command = "SCAN", .pattern = tkl_str("*"), .step = STEP};
    tkl__walker *walker;
    int rc = tkl__walker_open(s->client, &way, &walker);
    while (rc == TKL_OK && s->found.count < s->sample) {
        tkl_reply *reply;
        const tkl_reply *keys;
        rc = tkl__walker_next(walker, &reply, &keys);
        if (rc != TKL_OK)
            break;
        for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(keys); i++)
            rc = add_key(&s->found, tkl_reply_bytes(tkl_reply_at(keys, i)), "");
        tkl_reply_free(reply);
    }
    s->is_complete = rc == TKL_EMPTY;
    tkl__walker_close(walker);
    tkl__names_tidy(&s->found, is_not_named, s);
    return rc == TKL_EMPTY ? TKL_OK : rc;
}

/* ---- Memory -------------------------------------------------------------- */

/* The key is the third word of the command. */
static void ask_usage(tkl__batch *batch, tkl_bytes key)
{
    tkl__buf words;
    tkl__buf_init(&words);
    tkl__resp_arg(&words, "MEMORY", 6);
    tkl__resp_arg(&words, "USAGE", 5);
    tkl__resp_arg(&words, key.data, key.len);
    tkl__batch_body(batch, 3, &words, key, true);
    tkl__buf_free(&words);
}

/* Asks how much memory these keys take. Each stands for `factor` keys. *there: how many exist. */
static int measure_keys(survey *s, const tkl__names *keys, double factor, int64_t *there)
{
    int rc = TKL_OK;
    *there = 0;
    for (size_t first = 0; rc == TKL_OK && first < keys->count; first += STEP) {
        tkl__batch batch;
        size_t count = keys->count - first < STEP ? keys->count - first : STEP;
        tkl__batch_init(&batch, s->client);
        for (size_t i = 0; i < count; i++)
            ask_usage(&batch, keys->items[first + i]);
        rc = tkl__batch_run(&batch, tkl__deadline(s->client, 0));
        for (size_t i = 0; rc == TKL_OK && i < count; i++) {
            const tkl_reply *bytes = tkl__batch_reply(&batch, i);
            int component = component_of(s, keys->items[first + i]);
            if (tkl_reply_is_nil(bytes))
                continue;
            ++*there;
            s->counts[component] += factor;
            s->bytes[component] += factor * (double)tkl_reply_int(bytes);
        }
        tkl__batch_free(&batch);
    }
    return rc;
}

static int count_keys(survey *s)
{
    static const char *const words[] = {"DBSIZE"};
    tkl_reply *reply;
    int rc = tkl_call(s->client, 1, words, NULL, NULL, &reply);
    if (rc != TKL_OK)
        return rc;
    s->keys = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return TKL_OK;
}

/* ---- The result ---------------------------------------------------------- */

void tkl_memory_free(tkl_memory *memory)
{
    if (memory)
        free(memory->items);
    free(memory);
}

static int by_bytes(const void *a, const void *b)
{
    const tkl_memory_item *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int make_memory(const survey *s, tkl_memory **result)
{
    tkl_memory *memory = calloc(1, sizeof *memory);
    if (memory)
        memory->items = calloc(COMPONENTS + 1, sizeof *memory->items);
    if (!memory || !memory->items) {
        tkl_memory_free(memory);
        return tkl__nomem();
    }
    for (int i = 0; i <= COMPONENTS; i++)
        if (s->counts[i] > 0)
            memory->items[memory->count++] =
                (tkl_memory_item){.component = i < COMPONENTS ? components[i] : "",
                                  .keys = (int64_t)(s->counts[i] + 0.5),
                                  .bytes = (int64_t)(s->bytes[i] + 0.5)};
    if (memory->count > 0)
        qsort(memory->items, memory->count, sizeof *memory->items, by_bytes);
    memory->keys = s->keys;
    memory->measured = s->named_there + (int64_t)s->found.count;
    memory->is_exact = s->is_complete;
    *result = memory;
    return TKL_OK;
}

int tkl_overview_memory(tkl_client *client, int64_t sample, tkl_memory **memory)
{
    int64_t unused;
    survey s = {.client = client, .sample = (size_t)(sample > 0 ? sample : SAMPLE_DEFAULT)};
    *memory = NULL;
    int rc = tkl__check_number("sample", sample, 0, TKL_MEMORY_SAMPLE_MAX);
    if (rc == TKL_OK)
        rc = list_named(&s);
    if (rc == TKL_OK)
        rc = measure_keys(&s, &s.named, 1, &s.named_there);
    if (rc == TKL_OK)
        rc = sample_keys(&s);
    if (rc == TKL_OK)
        rc = count_keys(&s);
    int64_t others = s.keys - s.named_there;
    double factor = s.is_complete || s.found.count == 0 || others < (int64_t)s.found.count
                        ? 1
                        : (double)others / (double)s.found.count;
    if (rc == TKL_OK)
        rc = measure_keys(&s, &s.found, factor, &unused);
    if (rc == TKL_OK)
        rc = make_memory(&s, memory);
    tkl__names_free(&s.named);
    tkl__names_free(&s.found);
    return rc;
}
