/* SPDX-License-Identifier: MIT
 *
 * Scanning: the core's walk (core/walk.h), with repetitions left out.
 *
 * Why forgetting the oldest is enough nearly always. The server's cursor counts through the buckets
 * of a hash table with its bits reversed. When the table grows or shrinks on the way, the buckets
 * that come together or fall apart are neighbours in this order. So what is returned again
 * after a table has shrunk by the factor s was returned within the last s buckets; it takes a
 * table that shrinks by the factor of a million for the memory not to reach back far enough.
 *
 * No keys of its own.
 */
#include <tackle/scan.h>

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/walk.h"
#include "scan/memory.h"

#define REMEMBER  1000000
#define COUNT_MAX 1000000

struct tkl_scan {
    tkl_client *client;
    tkl__way way; /* points to the copies below */
    char *key, *match, *type;
    tkl__walker *walker; /* NULL: not begun */
    bool pairs;          /* elements come with values */
    int over;            /* TKL_OK, or how the walk ended */
    tkl__memory memory;
    tkl_reply *reply; /* the last step's */
    const tkl_reply *elements;
    size_t at; /* in the elements */
};

/* ---- Opening ------------------------------------------------------------- */

static int check(const tkl_scan_options *o)
{
    if (o->count < 0 || o->count > COUNT_MAX)
        return tkl__fail(TKL_EINVAL, "the count of a scan is from 1 to %d", COUNT_MAX);
    if (o->remember < 0)
        return tkl__fail(TKL_EINVAL, "a scan cannot remember a negative number of elements");
    if (o->key.len > 0 && o->type)
        return tkl__fail(TKL_EINVAL, "members have no type");
    return TKL_OK;
}

/* A copy with a NUL behind it; NULL: no memory. */
static char *copy(tkl_bytes bytes)
{
    char *text = malloc(bytes.len + 1);
    if (!text)
        return NULL;
    if (bytes.len > 0)
        memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = '\0';
    return text;
}

int tkl_scan_open(tkl_client *client, const tkl_scan_options *options, tkl_scan **out)
{
    static const tkl_scan_options none;
    const tkl_scan_options *o = options ? options : &none;
    tkl_bytes match = o->match.len > 0 ? o->match : tkl_str("*");
    *out = NULL;
    int rc = check(o);
    if (rc != TKL_OK)
        return rc;
    tkl_scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return tkl__nomem();
    scan->client = client;
    scan->memory.most = (size_t)(o->remember > 0 ? o->remember : REMEMBER);
    scan->key = copy(o->key);
    scan->match = copy(match);
    scan->type = copy(tkl_str(o->type));
    if (!scan->key || !scan->match || !scan->type) {
        tkl_scan_close(scan);
        return tkl__nomem();
    }
    scan->way = (tkl__way){.command = "SCAN",
                           .key = {o->key.len > 0 ? scan->key : NULL, o->key.len},
                           .pattern = {scan->match, match.len},
                           .type = o->type ? scan->type : NULL,
                           .step = o->count};
    *out = scan;
    return TKL_OK;
}

void tkl_scan_close(tkl_scan *scan)
{
    if (!scan)
        return;
    tkl__walker_close(scan->walker);
    tkl__memory_free(&scan->memory);
    tkl_reply_free(scan->reply);
    free(scan->key);
    free(scan->match);
    free(scan->type);
    free(scan);
}

/* ---- Walking ------------------------------------------------------------- */

/* How members are walked over depends on what the key is. */
static int choose_command(tkl_scan *scan)
{
    const char *argv[] = {"TYPE", scan->way.key.data};
    const size_t lens[] = {4, scan->way.key.len};
    tkl_call_options safe = {.retry_safe = true};
    tkl_reply *reply;
    int rc = tkl_call(scan->client, 2, argv, lens, &safe, &reply);
    if (rc != TKL_OK)
        return rc;
    const char *type = tkl_reply_str(reply);
    scan->pairs = strcmp(type, "set") != 0;
    if (strcmp(type, "set") == 0)
        scan->way.command = "SSCAN";
    else if (strcmp(type, "hash") == 0)
        scan->way.command = "HSCAN";
    else if (strcmp(type, "zset") == 0)
        scan->way.command = "ZSCAN";
    else if (strcmp(type, "none") == 0)
        rc = TKL_EMPTY;
    else
        rc = tkl__fail(TKL_ETYPE, "a %s has no members to walk over: set, hash or zset", type);
    tkl_reply_free(reply);
    return rc;
}

static int begin(tkl_scan *scan)
{
    int rc = scan->way.key.data ? choose_command(scan) : TKL_OK;
    return rc == TKL_OK ? tkl__walker_open(scan->client, &scan->way, &scan->walker) : rc;
}

static int step(tkl_scan *scan)
{
    int rc = scan->walker ? TKL_OK : begin(scan);
    tkl_reply_free(scan->reply);
    scan->reply = NULL;
    scan->elements = NULL;
    scan->at = 0;
    return rc == TKL_OK ? tkl__walker_next(scan->walker, &scan->reply, &scan->elements) : rc;
}

static void take(tkl_scan *scan, tkl_element *element)
{
    element->name = tkl_reply_bytes(tkl_reply_at(scan->elements, scan->at++));
    if (scan->pairs)
        element->value = tkl_reply_bytes(tkl_reply_at(scan->elements, scan->at++));
}

int tkl_scan_next(tkl_scan *scan, tkl_element *element)
{
    int rc = scan->over;
    while (rc == TKL_OK) {
        *element = (tkl_element){{NULL, 0}, {NULL, 0}};
        if (scan->at >= tkl_reply_count(scan->elements)) {
            rc = step(scan);
            continue;
        }
        take(scan, element);
        rc = tkl__memory_add(&scan->memory, element->name);
        if (rc == TKL_OK)
            return TKL_OK;
        rc = rc == TKL_EXISTS ? TKL_OK : rc;
    }
    *element = (tkl_element){{NULL, 0}, {NULL, 0}};
    scan->over = rc;
    return rc;
}
