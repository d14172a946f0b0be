/* SPDX-License-Identifier: MIT
 *
 * Counting refused checks, for operators.
 *
 * A handle counts its own checks that were refused, and which keys they were for. It reports them
 * at most once a second, behind a refused check, and when it is closed. It does not wait for the
 * server's answer once it knows that the server has the function. So an allowed check costs nothing
 * more, and a flood of refused checks costs one report a second. The report goes to a key of the
 * limit's name, which in a cluster may be on another master than the check's key, perhaps on one
 * that hangs. So the report gets a tenth of a second, and after a failure the handle reports
 * nothing for a minute. The counts of a failed report are lost; a report is never repeated, so
 * nothing counts twice.
 *
 * A report names the first KEYS keys that were refused in its second. A key that is refused often
 * is nearly always among them, so its number is hardly too low, and never too high.
 *
 * "ns:limit:refused:{name}" and two more keys have the counts of all programs: see refuse.lua. They
 * expire a day, or two hours, after the last report.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/name.h"
#include "core/options.h"
#include "core/script.h"
#include "limit/limit.h"
#include "limit/scripts.h"

#define KEYS       32
#define KEY_MAX    256 /* longer keys are counted, but not by themselves */
#define PAUSE_US   1000000
#define SILENCE_US 60000000
#define WAIT_US    100000

typedef struct refused_key {
    char *name; /* as it stands in the server's key */
    size_t len;
    int64_t count;
} refused_key;

struct tkl__limit_counts {
    pthread_mutex_t mutex;
    unsigned generation; /* fork generation: a child has its own counts */
    int64_t due;         /* when the next report may be sent */
    int64_t refused, allowed;
    refused_key keys[KEYS];
    size_t key_count;
};

int tkl__limit_counts_open(tkl_limit *limit)
{
    limit->counts = calloc(1, sizeof *limit->counts);
    if (!limit->counts)
        return tkl__nomem();
    pthread_mutex_init(&limit->counts->mutex, NULL);
    limit->counts->generation = tkl__fork_generation();
    return TKL_OK;
}

static void clear_counts(tkl__limit_counts *c)
{
    for (size_t i = 0; i < c->key_count; i++)
        free(c->keys[i].name);
    c->key_count = 0;
    c->refused = c->allowed = 0;
}

/* ---- Reporting ----------------------------------------------------------- */

/* The names of the three keys of a limit's counts. */
typedef struct count_keys {
    tkl__buf bufs[3];
    tkl_bytes items[3];
} count_keys;

static int make_keys(const tkl_limit *limit, count_keys *keys)
{
    static const char *const parts[] = {"", ":keys", ":before"};
    bool failed = false;
    for (size_t i = 0; i < 3; i++) {
        tkl__buf *buf = &keys->bufs[i];
        tkl__buf_init(buf);
        tkl__buf_addf(buf, "%s:" TKL__LIMIT_REFUSED ":{", limit->client->target.ns);
        tkl__buf_add(buf, limit->after.data + 2, limit->after.len - 2); /* behind "}:" */
        tkl__buf_addf(buf, "}%s", parts[i]);
        failed |= buf->failed;
        keys->items[i] = (tkl_bytes){buf->data, buf->len};
    }
    return failed ? tkl__nomem() : TKL_OK;
}

static void free_keys(count_keys *keys)
{
    for (size_t i = 0; i < 3; i++)
        tkl__buf_free(&keys->bufs[i]);
}

/* Sends the counts. With the mutex, which is released meanwhile: other threads go on. */
static int send_report(const tkl_limit *limit, tkl__limit_counts *c)
{
    count_keys keys;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_int(&args, c->refused);
    tkl__args_int(&args, c->allowed);
    for (size_t i = 0; i < c->key_count; i++) {
        tkl__args_bytes(&args, (tkl_bytes){c->keys[i].name, c->keys[i].len});
        tkl__args_int(&args, c->keys[i].count);
    }
    refused_key sent[KEYS];
    size_t count = c->key_count;
    memcpy(sent, c->keys, sizeof sent); /* the arguments point to their names */
    c->key_count = 0;
    clear_counts(c);
    pthread_mutex_unlock(&c->mutex);

    int rc = make_keys(limit, &keys);
    int64_t until = tkl__now() + WAIT_US, deadline = tkl__limit_deadline(limit);
    if (rc == TKL_OK && args.failed)
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__run_nowait(limit->client,
                             &(tkl__invocation){.script = &tkl__lua_limit_refuse,
                                                .keys = keys.items,
                                                .nkeys = 3,
                                                .args = args.items,
                                                .nargs = args.count},
                             until < deadline ? until : deadline);
    free_keys(&keys);
    tkl__args_free(&args);
    for (size_t i = 0; i < count; i++)
        free(sent[i].name);
    pthread_mutex_lock(&c->mutex);
    return rc;
}

/* Reports the counts when it is time. Keeps the error text of the caller's own call. */
static void report_counts(const tkl_limit *limit, tkl__limit_counts *c, bool at_last)
{
    tkl_error before;
    int64_t now = tkl__now();
    bool silenced = c->due > now + PAUSE_US;
    if ((c->refused == 0 && c->allowed == 0) || (at_last ? silenced : c->due > now))
        return;
    c->due = now + PAUSE_US;
    tkl_error_last(TKL_LIMITED, &before);
    if (send_report(limit, c) != TKL_OK)
        c->due = tkl__now() + SILENCE_US;
    tkl__first_tell(&before);
}

void tkl__limit_counts_close(tkl_limit *limit)
{
    tkl__limit_counts *c = limit->counts;
    if (!c)
        return;
    if (c->generation == tkl__fork_generation()) {
        pthread_mutex_lock(&c->mutex);
        report_counts(limit, c, true);
        pthread_mutex_unlock(&c->mutex);
        pthread_mutex_destroy(&c->mutex);
    }
    clear_counts(c);
    free(c);
}

/* ---- Counting ------------------------------------------------------------ */

static void count_key(tkl__limit_counts *c, tkl_bytes name)
{
    for (size_t i = 0; i < c->key_count; i++)
        if (c->keys[i].len == name.len && memcmp(c->keys[i].name, name.data, name.len) == 0) {
            c->keys[i].count++;
            return;
        }
    char *copy = c->key_count < KEYS && name.len <= KEY_MAX ? malloc(name.len) : NULL;
    if (!copy)
        return;
    memcpy(copy, name.data, name.len);
    c->keys[c->key_count++] = (refused_key){copy, name.len, 1};
}

/* In a forked child, forgets the counts: the parent reports them. */
static void notice_fork(tkl_client *client, tkl__limit_counts *c)
{
    tkl__client_lock(client);
    if (c->generation != tkl__fork_generation()) {
        pthread_mutex_init(&c->mutex, NULL);
        clear_counts(c);
        c->generation = tkl__fork_generation();
    }
    tkl__client_unlock(client);
}

int tkl__limit_count(const tkl_limit *limit, tkl_bytes key, int64_t quantity, bool reports, int rc)
{
    tkl__limit_counts *c = limit->counts;
    bool counts = rc == TKL_LIMITED || (rc == TKL_OK && limit->counted);
    if (!counts || quantity == 0)
        return rc;
    notice_fork(limit->client, c);
    pthread_mutex_lock(&c->mutex);
    c->refused += rc == TKL_LIMITED;
    c->allowed += rc == TKL_OK;
    if (rc == TKL_LIMITED)
        count_key(c, (tkl_bytes){key.data + limit->before.len,
                                 key.len - limit->before.len - limit->after.len});
    if (reports)
        report_counts(limit, c, false);
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

/* ---- Reading ------------------------------------------------------------- */

/* The numbers in a reply of limit/refusals. */
enum { THIS_HOUR, LAST_HOUR, REFUSED, ALLOWED, LAST_MS, NUMBERS, MOST = NUMBERS };

/* The public result and what it points into. */
typedef struct overview {
    tkl_limit_overview public; /* first: the user's pointer points to it */
    tkl_limit_refusals *items;
} overview;

/* The keys and their number are one block; their bytes are of their own. */
static int read_keys(const tkl_reply *most, tkl_limit_refusals *item)
{
    size_t count = tkl_reply_count(most) / 2;
    tkl_limit_refused_key *keys = calloc(count + 1, sizeof *keys);
    item->keys = keys;
    if (!keys)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        tkl_bytes name;
        if (!tkl__name_unescape(tkl_reply_bytes(tkl_reply_at(most, 2 * i)), &name))
            continue;
        keys[item->key_count++] = (tkl_limit_refused_key){
            .key = name, .refused = tkl_reply_int(tkl_reply_at(most, 2 * i + 1))};
    }
    return TKL_OK;
}

static int read_item(const tkl_reply *reply, tkl_limit_refusals *item)
{
    int64_t numbers[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++)
        if (!tkl__limit_number(reply, i, &numbers[i]))
            return tkl__fail(TKL_EPROTO, "the server counted refusals with senseless numbers");
    item->this_hour = numbers[THIS_HOUR];
    item->last_hour = numbers[LAST_HOUR];
    item->refused = numbers[REFUSED];
    item->allowed = numbers[ALLOWED];
    item->last_ms = numbers[LAST_MS];
    return read_keys(tkl_reply_at(reply, MOST), item);
}

static void add_call(tkl__batch *batch, tkl_client *client, tkl_bytes name)
{
    static const tkl_limit_rule any = {.count = 1, .period_ms = 1};
    tkl_limit *limit;
    count_keys keys;
    int rc = tkl_limit_open(client, name, &any, NULL, &limit);
    if (rc == TKL_OK)
        rc = make_keys(limit, &keys);
    if (rc != TKL_OK)
        tkl__batch_fail(batch, rc);
    else
        tkl__batch_add(batch, &(tkl__invocation){.script = &tkl__lua_limit_refusals,
                                                 .keys = keys.items,
                                                 .nkeys = 3,
                                                 .retry_safe = true});
    if (limit)
        free_keys(&keys);
    tkl_limit_close(limit);
}

/* Takes over the names that have counts, or cannot be read. */
static int fill_overview(overview *o, tkl_names *names, const tkl__batch *batch)
{
    for (size_t i = 0; i < names->count; i++) {
        tkl_limit_refusals *item = &o->items[o->public.count];
        *item = (tkl_limit_refusals){.code = tkl__batch_code(batch, i)};
        if (item->code == TKL_OK)
            item->code = read_item(tkl__batch_reply(batch, i), item);
        o->public.count++; /* the caller frees it */
        if (item->code == TKL_ENOMEM)
            return item->code;
        if (item->code == TKL_OK && item->refused + item->allowed == 0) {
            free((tkl_limit_refused_key *)(uintptr_t)item->keys);
            o->public.count--;
            continue;
        }
        item->name = names->items[i];
        ((tkl_bytes *)(uintptr_t)names->items)[i] = (tkl_bytes){NULL, 0};
    }
    return TKL_OK;
}

static int read_names(tkl_client *client, tkl_names *names, tkl_limit_overview **result)
{
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < names->count; i++)
        add_call(&batch, client, names->items[i]);
    int rc = tkl__batch_run(&batch, tkl__deadline(client, 0));
    overview *o = calloc(1, sizeof *o);
    if (o)
        o->public.items = o->items = calloc(names->count + 1, sizeof *o->items);
    if (!o || !o->items)
        rc = tkl__nomem();
    else if (rc == TKL_OK || batch.replies) /* each limit has its own code */
        rc = fill_overview(o, names, &batch);
    tkl__batch_free(&batch);
    if (rc == TKL_OK)
        *result = &o->public;
    else if (o)
        tkl_limit_overview_free(&o->public);
    return rc;
}

/* Reads the names from the register; without a register, from the keys of counts. */
int tkl_limit_overview_get(tkl_client *client, tkl_limit_overview **result)
{
    tkl_names *names = NULL;
    *result = NULL;
    int rc = client->target.no_register
                 ? TKL_EAUTH
                 : tkl__instances_any(client, TKL__LIMIT_USED, NULL, 0, NULL, &names);
    if (rc == TKL_EAUTH)
        rc = tkl__instances(client, TKL__LIMIT_REFUSED, "", "hash", &names);
    if (rc == TKL_OK)
        rc = read_names(client, names, result);
    tkl_names_free(names);
    return rc;
}

void tkl_limit_overview_free(tkl_limit_overview *result)
{
    overview *o = (overview *)(void *)result;
    if (!o)
        return;
    for (size_t i = 0; i < o->public.count; i++) {
        tkl_limit_refusals *item = &o->items[i];
        for (size_t k = 0; k < item->key_count; k++)
            free((char *)(uintptr_t)item->keys[k].key.data);
        free((tkl_limit_refused_key *)(uintptr_t)item->keys);
        free((char *)(uintptr_t)item->name.data);
    }
    free(o->items);
    free(o);
}
