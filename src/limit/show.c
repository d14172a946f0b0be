/* SPDX-License-Identifier: MIT
 *
 * Limits for operators: those in use, their keys, and what a key has used. The rule comes from the
 * stored state, so a caller need not know it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/name.h"
#include "core/names.h"
#include "core/walk.h"
#include "limit/limit.h"
#include "limit/scripts.h"

/* ---- Names and keys ------------------------------------------------------ */

typedef struct search {
    tkl_client *client;
    const char *limit; /* the escaped name of a limit whose keys are wanted; NULL: all names */
    size_t limit_len;
    tkl__names found;
} search;

/* Keeps the name of a limit, or its key if only one limit is wanted. */
static int visit_state(tkl_bytes key, void *arg)
{
    search *s = arg;
    tkl_bytes word;
    const char *end = memchr(key.data, '}', key.len);
    size_t skip = end ? (size_t)(end - key.data) + 2 : key.len;
    if (skip >= key.len)
        return TKL_OK;
    tkl_bytes name = {key.data + skip, key.len - skip};
    if (s->limit && !tkl__same_bytes(name, (tkl_bytes){s->limit, s->limit_len}))
        return TKL_OK;
    bool is_ours = s->limit ? tkl__name_of_key(s->client, "limit", key, &word)
                            : tkl__name_unescape(name, &word);
    return is_ours ? tkl__names_add(&s->found, word) : TKL_OK;
}

static int list_found(search *s, tkl_names **names)
{
    tkl__buf pattern;
    tkl__buf_init(&pattern);
    tkl__glob_escape(&pattern, s->client->target.ns);
    tkl__buf_addz(&pattern, ":limit:{*}:*");
    int rc = pattern.failed ? tkl__nomem()
                            : tkl__walk(s->client, (tkl_bytes){pattern.data, pattern.len}, NULL,
                                        visit_state, s);
    tkl__buf_free(&pattern);
    if (rc == TKL_OK) {
        tkl__names_tidy(&s->found, NULL, NULL);
        rc = tkl__names_result(&s->found, names);
    }
    tkl__names_free(&s->found);
    return rc;
}

int tkl_limit_names(tkl_client *client, tkl_names **names)
{
    search s = {.client = client};
    *names = NULL;
    tkl__begin();
    int rc = client->target.no_register
                 ? TKL_EAUTH
                 : tkl__instances_any(client, TKL__LIMIT_USED, NULL, 0, NULL, names);
    return rc == TKL_EAUTH ? list_found(&s, names) : rc;
}

int tkl_limit_keys(tkl_client *client, tkl_bytes name, tkl_names **keys)
{
    search s = {.client = client};
    tkl__buf escaped;
    *keys = NULL;
    tkl__begin();
    int rc = tkl__limit_check_name(name, "name");
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&escaped);
    tkl__name_escape(&escaped, name);
    s.limit = escaped.data;
    s.limit_len = escaped.len;
    rc = escaped.failed ? tkl__nomem() : list_found(&s, keys);
    tkl__buf_free(&escaped);
    return rc;
}

/* ---- One key ------------------------------------------------------------- */

/* The numbers in a reply of limit/show, behind the kind. */
enum { COUNT = 1, PERIOD, CAPACITY, TAKEN, ROOM, NEXT, UNUSED, LAST, NUMBERS, TAKES = NUMBERS };
/* The parts of a take: when, how many, whether it was denied. */
enum { TAKE_PARTS = 3 };

/* The usage and its takes are one block. */
typedef struct shown {
    tkl_limit_usage usage; /* first: the user's pointer points to it */
    tkl_limit_take takes[];
} shown;

/* Reads the burst as a caller would write it. */
static int64_t burst_of(tkl_limit_algorithm algorithm, int64_t capacity)
{
    if (algorithm == TKL_LIMIT_BUCKET)
        return capacity;
    if (algorithm != TKL_LIMIT_GCRA)
        return 0;
    return capacity > 1 ? capacity - 1 : TKL_NONE;
}

static int fail_senseless(void)
{
    return tkl__fail(TKL_EPROTO, "the server described a limit with senseless numbers");
}

static int read_takes(const tkl_reply *reply, shown *s)
{
    size_t count = tkl_reply_count(reply) / TAKE_PARTS;
    for (size_t i = 0; i < count; i++) {
        tkl_limit_take *take = &s->takes[i];
        int64_t denied;
        if (!tkl__limit_number(reply, TAKE_PARTS * i, &take->at_ms) ||
            !tkl__limit_number(reply, TAKE_PARTS * i + 1, &take->quantity) ||
            !tkl__limit_number(reply, TAKE_PARTS * i + 2, &denied))
            return fail_senseless();
        take->denied = denied != 0;
    }
    s->usage.takes = s->takes;
    s->usage.take_count = count;
    return TKL_OK;
}

static int read_usage(const tkl_reply *reply, shown *s)
{
    int64_t numbers[NUMBERS];
    tkl_limit_usage *usage = &s->usage;
    tkl_limit_rule *rule = &usage->rule;
    if (tkl_reply_count(reply) == 0)
        return tkl__no(TKL_NOTFOUND);
    if (!tkl__limit_kind(tkl_reply_bytes(tkl_reply_at(reply, 0)), &rule->algorithm))
        return tkl__fail(TKL_EPROTO, "the server names no algorithm of limits");
    if (tkl_reply_count(reply) == 1)
        return TKL_OK;
    for (size_t i = COUNT; i < NUMBERS; i++)
        if (!tkl__limit_number(reply, i, &numbers[i]))
            return fail_senseless();
    rule->count = numbers[COUNT];
    rule->period_ms = numbers[PERIOD];
    rule->burst = burst_of(rule->algorithm, numbers[CAPACITY]);
    usage->limit = numbers[CAPACITY];
    usage->taken = numbers[TAKEN];
    usage->remaining = numbers[ROOM];
    usage->next_after_ms = tkl__limit_ms(numbers[NEXT]);
    usage->reset_after_ms = tkl__limit_ms(numbers[UNUSED]);
    usage->last_ms = numbers[LAST];
    return read_takes(tkl_reply_at(reply, TAKES), s);
}

/* Runs the script on the key of a subject. */
static int ask_usage(const tkl_limit *limit, tkl_bytes subject, tkl_limit_usage **usage)
{
    tkl__buf buf;
    tkl__args none;
    tkl_reply *reply = NULL;
    tkl__buf_init(&buf);
    tkl__args_init(&none);
    int rc = tkl__limit_key(limit, subject, &buf);
    tkl_bytes key = {buf.data, buf.len};
    if (rc == TKL_OK)
        rc = tkl__eval(limit->client, &tkl__lua_limit_show, &(tkl__keys){&key, 1}, &none,
                       tkl__limit_deadline(limit), true, &reply);
    size_t takes = tkl_reply_count(tkl_reply_at(reply, TAKES)) / TAKE_PARTS;
    shown *s = calloc(1, sizeof *s + takes * sizeof s->takes[0]);
    if (rc == TKL_OK)
        rc = s ? read_usage(reply, s) : tkl__nomem();
    if (rc == TKL_OK)
        *usage = &s->usage;
    else
        free(s);
    tkl_reply_free(reply);
    tkl__args_free(&none);
    tkl__buf_free(&buf);
    return rc;
}

int tkl_limit_show(tkl_client *client, tkl_bytes name, tkl_bytes key, tkl_limit_usage **out)
{
    static const tkl_limit_rule any = {.count = 1, .period_ms = 1};
    tkl_limit *limit;
    *out = NULL;
    int rc = tkl_limit_open(client, name, &any, NULL, &limit);
    if (rc != TKL_OK)
        return rc;
    rc = ask_usage(limit, key, out);
    tkl_limit_close(limit);
    return rc;
}

void tkl_limit_usage_free(tkl_limit_usage *usage)
{
    free(usage);
}
