/* SPDX-License-Identifier: MIT
 *
 * Who is connected. A server writes the entry of one client in about three microseconds, so CLIENT
 * LIST with ten thousand of them would hold it for 30 ms. With many clients this file asks for the
 * newest ids instead, a thousand in one step: ids grow by one with each connection, and the
 * server's count of connections shows roughly where they end.
 */
#include <tackle/overview.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/error.h"
#include "core/options.h"
#include "core/resp.h"

#define MAX_DEFAULT 100
#define STEP        1000 /* ids in one step */
#define STEPS       5
#define BEYOND      100 /* ids of the server's own clients, which it does not count */

/* The public result and what it points into. */
typedef struct client_list {
    tkl_clients public; /* first: the user's pointer points to it */
    tkl_client_info *items;
    char *texts[STEPS]; /* replies of CLIENT LIST, with a NUL behind each value */
    size_t ntexts;
} client_list;

void tkl_clients_free(tkl_clients *public)
{
    client_list *list = (client_list *)(void *)public;
    if (!list)
        return;
    for (size_t i = 0; i < list->ntexts; i++)
        free(list->texts[i]);
    free(list->items);
    free(list);
}

/* ---- Reading ------------------------------------------------------------- */

static int64_t number_of(const char *text)
{
    int64_t number = strtoll(text, NULL, 10);
    return number > 0 ? number : 0;
}

/* The value of a field of INFO; 0 when it is missing. */
static int64_t info_number(const char *info, const char *name)
{
    size_t len = strlen(name);
    for (const char *row = info; *row; row += strspn(row, "\r\n")) {
        if (strncmp(row, name, len) == 0 && row[len] == ':')
            return number_of(row + len + 1);
        row += strcspn(row, "\r\n");
    }
    return 0;
}

static const char *kind_of(const char *flags)
{
    static const struct {
        char flag;
        const char *kind;
    } kinds[] = {
        {'O', "monitor"}, {'S', "replica"}, {'M', "master"}, {'P', "subscriber"}, {'b', "blocked"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strchr(flags, kinds[i].flag))
            return kinds[i].kind;
    return "normal";
}

/* Reads a field "name=value" of a line. */
static void read_field(tkl_client_info *info, const char *name, const char *value)
{
    if (strcmp(name, "id") == 0)
        info->id = number_of(value);
    else if (strcmp(name, "addr") == 0)
        info->address = value;
    else if (strcmp(name, "name") == 0)
        info->name = value;
    else if (strcmp(name, "user") == 0)
        info->user = value;
    else if (strcmp(name, "cmd") == 0)
        info->command = strcmp(value, "NULL") == 0 ? "" : value;
    else if (strcmp(name, "flags") == 0)
        info->kind = kind_of(value);
    else if (strcmp(name, "age") == 0)
        info->age_ms = number_of(value) * 1000;
    else if (strcmp(name, "idle") == 0)
        info->idle_ms = number_of(value) * 1000;
    else if (strcmp(name, "tot-mem") == 0)
        info->memory = number_of(value);
}

static void read_line(tkl_client_info *info, char *row)
{
    char *rest = NULL;
    *info =
        (tkl_client_info){.name = "", .address = "", .user = "", .command = "", .kind = "normal"};
    for (char *field = strtok_r(row, " ", &rest); field; field = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(field, '=');
        if (!equals)
            continue;
        *equals = '\0';
        read_field(info, field, equals + 1);
    }
}

/* Adds the clients in a reply of CLIENT LIST before the newer ones that are there already. */
static int add_lines(client_list *list, const tkl_reply *reply)
{
    tkl_bytes bytes = tkl_reply_bytes(reply);
    char *text = strndup(bytes.len > 0 ? bytes.data : "", bytes.len), *rest = NULL;
    size_t count = 0, lines = 0;
    if (!text)
        return tkl__nomem();
    list->texts[list->ntexts++] = text;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    tkl_client_info *items = calloc(lines + list->public.count + 1, sizeof *items);
    if (!items)
        return tkl__nomem();
    for (char *row = strtok_r(text, "\n", &rest); row && count <= lines;
         row = strtok_r(NULL, "\n", &rest))
        read_line(&items[count++], row);
    if (list->public.count > 0)
        memcpy(items + count, list->items, list->public.count * sizeof *items);
    free(list->items);
    list->items = items;
    list->public.count += count;
    return TKL_OK;
}

/* ---- Asking -------------------------------------------------------------- */

/* Runs one command for the server. */
static int run_words(tkl_client *client, tkl__buf *wire, tkl_reply **reply)
{
    tkl__request request = {
        .wire = {wire->data, wire->len}, .slot = TKL__NO_SLOT, .retry_safe = true};
    int rc = wire->failed ? tkl__nomem() : TKL_OK;
    if (rc == TKL_OK)
        rc = tkl__exec(client, &request, tkl__deadline(client, 0), reply);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

static int read_counts(tkl_client *client, client_list *list, int64_t *newest)
{
    static const char *const words[] = {"INFO", "default"};
    tkl_reply *reply;
    int rc = tkl_call(client, 2, words, NULL, NULL, &reply);
    if (rc != TKL_OK)
        return rc;
    const char *info = tkl_reply_str(reply);
    list->public.connected = info_number(info, "connected_clients");
    list->public.blocked = info_number(info, "blocked_clients");
    list->public.most = info_number(info, "maxclients");
    *newest = info_number(info, "total_connections_received") + BEYOND;
    tkl_reply_free(reply);
    return TKL_OK;
}

/* CLIENT LIST, of all clients or of those with ids up to `newest`; 0: all. */
static int add_clients(tkl_client *client, client_list *list, int64_t newest)
{
    tkl__buf wire;
    tkl_reply *reply;
    int64_t ids = newest < STEP ? newest : STEP;
    char id[24];
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, newest > 0 ? 3 + (size_t)ids : 2);
    tkl__resp_arg(&wire, "CLIENT", 6);
    tkl__resp_arg(&wire, "LIST", 4);
    if (newest > 0)
        tkl__resp_arg(&wire, "ID", 2);
    for (int64_t i = newest - ids + 1; newest > 0 && i <= newest; i++)
        tkl__resp_arg(&wire, id, (size_t)snprintf(id, sizeof id, "%" PRId64, i));
    int rc = run_words(client, &wire, &reply);
    tkl__buf_free(&wire);
    if (rc != TKL_OK)
        return rc;
    rc = add_lines(list, reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_overview_clients(tkl_client *client, size_t max, tkl_clients **clients)
{
    int64_t newest = 0;
    *clients = NULL;
    int rc =
        tkl__check_number("max", max <= TKL_CLIENTS_MAX ? (int64_t)max : -1, 0, TKL_CLIENTS_MAX);
    if (rc != TKL_OK)
        return rc;
    client_list *list = calloc(1, sizeof *list);
    if (!list)
        return tkl__nomem();
    max = max > 0 ? max : MAX_DEFAULT;
    rc = read_counts(client, list, &newest);
    if (rc == TKL_OK && list->public.connected <= TKL_CLIENTS_MAX)
        rc = add_clients(client, list, 0);
    else
        for (int i = 0; rc == TKL_OK && i < STEPS && newest > 0 && list->public.count < max;
             i++, newest -= STEP)
            rc = add_clients(client, list, newest);
    if (rc != TKL_OK) {
        tkl_clients_free(&list->public);
        return rc;
    }
    size_t first = list->public.count > max ? list->public.count - max : 0;
    list->public.items = list->items + first;
    list->public.count -= first;
    *clients = &list->public;
    return TKL_OK;
}
