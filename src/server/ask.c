/* SPDX-License-Identifier: MIT
 *
 * Asking a private server about itself.
 */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/library.h"
#include "server/server.h"

/* The longest time that a command may block in recv() without checking its deadline. */
#define TIMEOUT_MS 3600000

/* Does not use the client's own target: its password, user and database are for the client's
 * calls. */
int tkl__server_dial(const char *socket, int64_t deadline, tkl__conn **conn)
{
    char path[TKL__SOCKET_MAX], name[] = "tackle";
    snprintf(path, sizeof path, "%s", socket);
    const tkl__target target = {.scheme = TKL__EMBEDDED, .timeout_ms = TIMEOUT_MS, .name = name};
    const tkl__addr addr = {.host = path};
    return tkl__conn_dial(&target, &addr, NULL, deadline, conn);
}

int tkl__server_said(int rc, tkl_reply **reply)
{
    if (rc == TKL_OK && tkl_reply_code(*reply) != TKL_OK)
        rc = tkl__fail(tkl_reply_code(*reply), "%s", tkl_reply_str(*reply));
    if (rc != TKL_OK) {
        tkl_reply_free(*reply);
        *reply = NULL;
    }
    return rc;
}

int tkl__server_ping(const char *socket, int64_t deadline, tkl__conn **conn)
{
    tkl_reply *reply = NULL;
    int rc = tkl__server_dial(socket, deadline, conn);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__server_said(tkl__conn_command(*conn, deadline, &reply, "PING", NULL), &reply);
    tkl_reply_free(reply);
    if (rc != TKL_OK) {
        tkl__conn_close(*conn);
        *conn = NULL;
    }
    return rc;
}

void tkl__server_forget_functions(tkl__conn *conn, int64_t deadline)
{
    tkl_reply *list = NULL;
    int rc = tkl__conn_command(conn, deadline, &list, "FUNCTION", "LIST", "LIBRARYNAME", "tackle_*",
                               NULL);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(list); i++) {
        /* The value after "library_name". */
        const char *name = tkl_reply_str(tkl_reply_at(tkl_reply_at(list, i), 1));
        tkl_reply *reply = NULL;
        if (tkl__is_library_name(name))
            rc = tkl__conn_command(conn, deadline, &reply, "FUNCTION", "DELETE", name, NULL);
        tkl_reply_free(reply);
    }
    tkl_reply_free(list);
}

void tkl__server_field(const tkl_reply *info, const char *field, char *value, size_t size)
{
    const size_t len = strlen(field);
    *value = '\0';
    for (const char *at = tkl_reply_str(info); *at; at += strspn(at, "\r\n")) {
        if (strncmp(at, field, len) == 0 && at[len] == ':') {
            at += len + 1;
            snprintf(value, size, "%.*s", (int)strcspn(at, "\r\n"), at);
            return;
        }
        at += strcspn(at, "\r\n");
    }
}
