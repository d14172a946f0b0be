/* SPDX-License-Identifier: MIT
 *
 * Scanning: the core's walk (core/walk.h), with repetitions left out.
 *
 * Forgetting the oldest elements is enough nearly always. The server's cursor counts through the
 * buckets of a hash table with its bits reversed. When the table grows or shrinks on the way, the
 * buckets that are joined or divided are neighbours in this order. So elements that are returned
 * again after a table has shrunk by the factor s were returned within the last s buckets. Only when
 * a table shrinks by a factor of a million does the memory not reach back far enough.
 *
 * No keys of its own.
 */
#include <tackle/scan.h>

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "core/walk.h"
#include "scan/memory.h"

#define REMEMBER     1000000
#define COUNT_MAX    1000000
#define REMEMBER_MAX (INT64_C(1) << 40)

struct tkl_scan {
    tkl_client *client;
    tkl__way way; /* points to the copies below */
    char *key, *match, *type;
    bool goes_on; /* begins at `from` */
    tkl__walk_position from;
    tkl__walker *walker; /* NULL: not begun */
    bool pairs;          /* elements come with values */
    int over;            /* TKL_OK, or the code with which the walk ended */
    tkl__scan_memory memory;
    tkl_reply *reply; /* reply of the last step */
    const tkl_reply *elements;
    size_t at; /* index in the elements */
};

/* ---- Opening ------------------------------------------------------------- */

static int check_options(const tkl_scan_options *o)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"count", o->count, 0, COUNT_MAX},
                                {"remember", o->remember, 0, REMEMBER_MAX});
    if (rc != TKL_OK)
        return rc;
    if (o->key.len > 0 && o->type)
        return tkl__fail(TKL_EINVAL, "members have no type");
    if (o->cursor && !tkl__walk_position_read(o->cursor, &(tkl__walk_position){.slot = 0}))
        return tkl__fail(TKL_EINVAL, "cursor: '%.80s' is not one of a scan", o->cursor);
    return TKL_OK;
}

int tkl_scan_open(tkl_client *client, const tkl_scan_options *options, tkl_scan **out)
{
    static const tkl_scan_options none;
    const tkl_scan_options *o = options ? options : &none;
    tkl_bytes match = o->match.len > 0 ? o->match : tkl_str("*");
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return tkl__nomem();
    scan->client = client;
    scan->memory.most = (size_t)(o->remember > 0 ? o->remember : REMEMBER);
    scan->key = tkl__copy_bytes(o->key);
    scan->match = tkl__copy_bytes(match);
    scan->type = tkl__copy_bytes(tkl_str(o->type));
    if (!scan->key || !scan->match || !scan->type) {
        tkl_scan_close(scan);
        return tkl__nomem();
    }
    scan->goes_on = o->cursor && tkl__walk_position_read(o->cursor, &scan->from);
    scan->way = (tkl__way){.command = "SCAN",
                           .key = {o->key.len > 0 ? scan->key : NULL, o->key.len},
                           .pattern = {scan->match, match.len},
                           .type = o->type ? scan->type : NULL,
                           .step = o->count,
                           .timeout_ms = o->timeout_ms};
    *out = scan;
    return TKL_OK;
}

void tkl_scan_close(tkl_scan *scan)
{
    if (!scan)
        return;
    tkl__walker_close(scan->walker);
    tkl__scan_memory_free(&scan->memory);
    tkl_reply_free(scan->reply);
    free(scan->key);
    free(scan->match);
    free(scan->type);
    free(scan);
}

/* ---- Walking ------------------------------------------------------------- */

/* Chooses the scan command by the type of the key. */
static int choose_command(tkl_scan *scan)
{
    const char *argv[] = {"TYPE", scan->way.key.data};
    const size_t lens[] = {4, scan->way.key.len};
    tkl_call_options safe = {.timeout_ms = scan->way.timeout_ms, .retry_safe = true};
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

static int begin_scan(tkl_scan *scan)
{
    int rc = scan->way.key.data ? choose_command(scan) : TKL_OK;
    if (rc == TKL_OK)
        rc = tkl__walker_open(scan->client, &scan->way, &scan->walker);
    return rc == TKL_OK && scan->goes_on ? tkl__walker_seek(scan->walker, &scan->from) : rc;
}

/* Checks that all elements are strings, and that pairs are complete. */
static int check_elements(const tkl_scan *scan)
{
    size_t count = tkl_reply_count(scan->elements);
    bool sound =
        tkl_reply_type_of(scan->elements) == TKL_REPLY_ARRAY && (!scan->pairs || count % 2 == 0);
    for (size_t i = 0; sound && i < count; i++)
        sound = tkl_reply_type_of(tkl_reply_at(scan->elements, i)) == TKL_REPLY_STRING;
    return sound ? TKL_OK : tkl__fail(TKL_EPROTO, "the server answered a scan with something else");
}

static int step_scan(tkl_scan *scan)
{
    int rc = scan->walker ? TKL_OK : begin_scan(scan);
    tkl_reply_free(scan->reply);
    scan->reply = NULL;
    scan->elements = NULL;
    scan->at = 0;
    if (rc == TKL_OK)
        rc = tkl__walker_next(scan->walker, &scan->reply, &scan->elements);
    return rc == TKL_OK ? check_elements(scan) : rc;
}

static void take_element(tkl_scan *scan, tkl_scan_element *element)
{
    element->name = tkl_reply_bytes(tkl_reply_at(scan->elements, scan->at++));
    if (scan->pairs)
        element->value = tkl_reply_bytes(tkl_reply_at(scan->elements, scan->at++));
}

int tkl_scan_next(tkl_scan *scan, tkl_scan_element *element)
{
    int rc = scan->over;
    while (rc == TKL_OK) {
        *element = (tkl_scan_element){.name = {NULL, 0}};
        if (scan->at >= tkl_reply_count(scan->elements)) {
            rc = step_scan(scan);
            continue;
        }
        take_element(scan, element);
        rc = tkl__scan_memory_add(&scan->memory, element->name);
        if (rc == TKL_OK)
            return TKL_OK;
        rc = rc == TKL_EXISTS ? TKL_OK : rc;
    }
    *element = (tkl_scan_element){.name = {NULL, 0}};
    if (scan->over < 0)
        return tkl__fail(rc, "the walk ended with an error: %s", tkl_strerror(rc));
    scan->over = rc;
    return rc == TKL_EMPTY ? tkl__no(rc) : rc;
}

size_t tkl_scan_rest(const tkl_scan *scan)
{
    size_t left = tkl_reply_count(scan->elements) - scan->at;
    return scan->pairs ? left / 2 : left;
}

int tkl_scan_cursor(tkl_scan *scan, char cursor[TKL_SCAN_CURSOR_SIZE])
{
    *cursor = '\0';
    if (scan->over < 0)
        return tkl__fail(scan->over, "the walk ended with an error: %s", tkl_strerror(scan->over));
    if (scan->over == TKL_EMPTY)
        return tkl__no(TKL_EMPTY);
    int rc = scan->walker ? TKL_OK : begin_scan(scan);
    if (rc == TKL_OK)
        rc = tkl__walker_tell(scan->walker, tkl_scan_rest(scan) > 0, cursor);
    else
        scan->over = rc; /* TKL_EMPTY: there is no such key */
    return rc;
}
