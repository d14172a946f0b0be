/* SPDX-License-Identifier: MIT
 *
 * Libraries on the servers, for operators: list them, load them in advance, remove them. Programs
 * need none of this: core/library.c loads missing libraries. Every master is asked, also one that
 * serves no slots yet: it may get some, and programs may lack the permission to load.
 */
#include <tackle/functions.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/error.h"
#include "core/library.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/resp.h"
#include "functions/libraries.h"

/* ---- One command to every master ----------------------------------------- */

/* Handles the reply of one master; an error ends the loop. */
typedef int visit_reply(const tkl_reply *reply, void *arg);

/* Sends the command to all masters. `ignored`: the beginning of an error text that counts as
 * success; NULL: none. */
static int ask_masters(tkl_client *client, const char *const *words, int count, const char *ignored,
                       visit_reply *visit, void *arg)
{
    tkl__node **masters = NULL; /* NULL: the route finds the only one */
    size_t nmasters = 1;
    tkl__buf wire;
    int64_t deadline = tkl__deadline(client, 0);
    tkl__buf_init(&wire);
    tkl__resp_command(&wire, count, words, NULL);
    int rc = wire.failed ? tkl__nomem() : TKL_OK;
    if (rc == TKL_OK && client->route->masters)
        rc = client->route->masters(client, deadline, &masters, &nmasters);
    tkl__request request = {
        .wire = {wire.data, wire.len}, .slot = TKL__NO_SLOT, .retry_safe = true};
    for (size_t i = 0; rc == TKL_OK && i < nmasters; i++) {
        tkl_reply *reply;
        rc = masters ? tkl__exec_on(masters[i], &request, deadline, &reply)
                     : tkl__exec(client, &request, deadline, &reply);
        bool is_error = rc == TKL_OK && tkl_reply_type_of(reply) == TKL_REPLY_ERROR;
        if (is_error && ignored && strncmp(tkl_reply_str(reply), ignored, strlen(ignored)) == 0) {
            tkl_reply_free(reply);
            continue;
        }
        if (rc == TKL_OK)
            rc = tkl__check(&reply);
        if (rc == TKL_OK && visit)
            rc = visit(reply, arg);
        tkl_reply_free(reply);
    }
    for (size_t i = 0; masters && i < nmasters; i++)
        tkl__node_unref(masters[i]);
    free(masters);
    tkl__buf_free(&wire);
    return rc;
}

static int count_reply(const tkl_reply *reply, void *arg)
{
    (void)reply;
    ++*(int64_t *)arg;
    return TKL_OK;
}

/* ---- The list ------------------------------------------------------------ */

/* Returns the purpose of a component whose name does not explain it. */
static const char *purpose_of(const char *component)
{
    static const struct {
        const char *component, *purpose;
    } purposes[] = {
        {"ads", "ad targeting"},
        {"bits", "bitmaps"},
        {"blist", "lists"},
        {"bloom", "Bloom filters"},
        {"board", "leaderboards"},
        {"book", "address books"},
        {"cache", "cached values"},
        {"channel", "channels"},
        {"chat", "lists of chats"},
        {"config", "configuration"},
        {"counter", "counters"},
        {"files", "file distribution"},
        {"geo", "places"},
        {"hold", "locks, semaphores, leaders"},
        {"ip", "address look-up"},
        {"limit", "rate limits"},
        {"log", "logs"},
        {"online", "online users"},
        {"pipeline", "transactions"},
        {"post", "mailboxes, chats"},
        {"queue", "task queues"},
        {"recent", "recent contacts"},
        {"redlock", "redlocks"},
        {"script", "scripts of your own"},
        {"search", "search"},
        {"service", "services"},
        {"session", "sessions"},
        {"stats", "statistics"},
        {"suggest", "suggestions"},
        {"unique", "HyperLogLogs"},
    };
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++)
        if (strcmp(purposes[i].component, component) == 0)
            return purposes[i].purpose;
    return "";
}

static bool is_current(const char *name)
{
    for (const tkl__library *const *at = tkl__libraries; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return true;
    return false;
}

/* Extracts "queue" from "tackle_queue_0123456789". Names of scripts have a longer hash, with
 * another '_' in it. */
static char *component_of(const char *name)
{
    const char *start = strchr(name, '_'), *end = start ? strchr(start + 1, '_') : NULL;
    return end ? strndup(start + 1, (size_t)(end - start - 1)) : strdup("");
}

/* Extracts the version from the second line of a library, which ends with "-- tackle 0.1.0". */
static char *version_of(const char *code)
{
    static const char mark[] = "-- tackle ";
    const char *newline = strchr(code, '\n'), *at = newline ? strstr(newline + 1, mark) : NULL;
    const char *end = newline ? strchr(newline + 1, '\n') : NULL;
    if (!at || (end && at > end))
        return strdup("");
    at += sizeof mark - 1;
    return strndup(at, strcspn(at, " \n"));
}

static void free_item(tkl_function_library *item)
{
    free((char *)item->name);
    free((char *)item->component);
    free((char *)item->version);
}

void tkl_function_libraries_free(tkl_function_libraries *list)
{
    for (size_t i = 0; list && i < list->count; i++)
        free_item(&list->items[i]);
    if (list)
        free(list->items);
    free(list);
}

static tkl_function_library *find_item(tkl_function_libraries *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

static int add_library(tkl_function_libraries *list, const tkl_reply *fields)
{
    const char *name = tkl_reply_str(tkl__reply_field(fields, "library_name"));
    const tkl_reply *code = tkl__reply_field(fields, "library_code");
    tkl_function_library *known = find_item(list, name);
    if (!tkl__is_library_name(name))
        return TKL_OK;
    if (known) {
        known->servers++;
        return TKL_OK;
    }
    if (!tkl__grow(&list->items, list->count, sizeof *list->items))
        return tkl__nomem();
    tkl_function_library *item = &list->items[list->count];
    *item = (tkl_function_library){
        .name = strdup(name),
        .component = component_of(name),
        .version = version_of(tkl_reply_str(code)),
        .bytes = (int64_t)tkl_reply_bytes(code).len,
        .functions = (int64_t)tkl_reply_count(tkl__reply_field(fields, "functions")),
        .servers = 1,
        .is_current = is_current(name),
    };
    list->count++; /* even without memory: the item is freed with the list */
    if (!item->name || !item->component || !item->version)
        return tkl__nomem();
    item->purpose = purpose_of(item->component);
    return TKL_OK;
}

static int add_libraries(const tkl_reply *reply, void *arg)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(reply); i++)
        rc = add_library(arg, tkl_reply_at(reply, i));
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const tkl_function_library *x = a, *y = b;
    return strcmp(x->name, y->name);
}

int tkl_functions_list(tkl_client *client, tkl_function_libraries **list)
{
    static const char *const words[] = {"FUNCTION", "LIST", "LIBRARYNAME", "tackle_*", "WITHCODE"};
    *list = calloc(1, sizeof **list);
    if (!*list)
        return tkl__nomem();
    int rc = ask_masters(client, words, 5, NULL, add_libraries, *list);
    if (rc != TKL_OK) {
        tkl_function_libraries_free(*list);
        *list = NULL;
    } else if ((*list)->count > 0) {
        qsort((*list)->items, (*list)->count, sizeof *(*list)->items, by_name);
    }
    return rc;
}

/* ---- Changes ------------------------------------------------------------- */

int tkl_functions_load(tkl_client *client, int64_t *loaded)
{
    int64_t count = 0;
    int rc = TKL_OK;
    for (const tkl__library *const *at = tkl__libraries; rc == TKL_OK && *at; at++) {
        const char *const words[] = {"FUNCTION", "LOAD", (*at)->source};
        rc = ask_masters(client, words, 3, "ERR Library '", count_reply, &count);
    }
    if (loaded)
        *loaded = count;
    return rc;
}

int tkl_functions_remove_old(tkl_client *client, int64_t *removed)
{
    tkl_function_libraries *list;
    int64_t count = 0;
    int rc = tkl_functions_list(client, &list);
    for (size_t i = 0; rc == TKL_OK && i < list->count; i++) {
        const char *const words[] = {"FUNCTION", "DELETE", list->items[i].name};
        if (!list->items[i].is_current)
            rc = ask_masters(client, words, 3, "ERR Library not found", count_reply, &count);
    }
    tkl_function_libraries_free(list);
    if (removed)
        *removed = count;
    return rc;
}
