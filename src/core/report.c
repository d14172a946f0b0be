/* SPDX-License-Identifier: MIT */
#include "core/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/name.h"

const char *tkl_event_type_name(tkl_event_type type)
{
    switch (type) {
    case TKL_EVENT_CONNECTED:
        return "connected";
    case TKL_EVENT_LOST:
        return "lost";
    case TKL_EVENT_RETRIED:
        return "retried";
    case TKL_EVENT_RENEWAL_FAILED:
        return "renewal failed";
    }
    return "unknown event";
}

void tkl__print_server(const tkl__addr *addr, char *text, size_t size)
{
    if (!addr)
        *text = '\0';
    else if (addr->port == 0)
        snprintf(text, size, "%s", addr->host);
    else
        snprintf(text, size, strchr(addr->host, ':') ? "[%s]:%d" : "%s:%d", addr->host, addr->port);
}

void tkl__tell_event(const tkl_client *client, tkl_event_type type, int code, const tkl__addr *addr,
                     const char *text)
{
    char server[300];
    if (!client->target.on_event)
        return;
    tkl__print_server(addr, server, sizeof server);
    tkl_client_event event = {.type = type,
                              .code = code,
                              .server = server,
                              .text = code == TKL_OK ? ""
                                      : text         ? text
                                                     : tkl_errmsg()};
    client->target.on_event(&event, client->target.event_arg);
}

void tkl__tell_retry(tkl_client *client, tkl__node *node, int code, const tkl_reply *reply)
{
    tkl__client_lock(client);
    client->counts.retries++;
    tkl__client_unlock(client);
    if (reply)
        code = tkl_reply_code(reply);
    tkl__tell_event(client, TKL_EVENT_RETRIED, code, node ? tkl__node_addr(node) : NULL,
                    reply ? tkl_reply_str(reply) : NULL);
}

void tkl_client_stats_get(tkl_client *client, tkl_client_stats *info)
{
    tkl__client_lock(client);
    *info = client->counts;
    for (tkl__node *node = client->nodes; node; node = tkl__node_next(node))
        tkl__node_count_locked(node, info);
    tkl__client_unlock(client);
}

/* A component is a word of lower-case letters, as in the documentation. */
static int check_component(const char *component)
{
    size_t len = strlen(component);
    if (len > 0 && len <= 32 && strspn(component, "abcdefghijklmnopqrstuvwxyz") == len)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "a component is a word of lower-case letters, such as lock");
}

int tkl_key(tkl_client *client, const char *component, tkl_bytes name, const char *part,
            tkl_bytes *key)
{
    tkl__base base;
    *key = (tkl_bytes){NULL, 0};
    int rc = check_component(component);
    if (rc == TKL_OK)
        rc = tkl__base_make(client, component, name, &base);
    if (rc != TKL_OK)
        return rc;
    if (*part == '\0') {
        *key = (tkl_bytes){base.data, base.len};
        return TKL_OK;
    }
    rc = tkl__key_make(&base, part, key);
    tkl__base_free(&base);
    return rc;
}

void tkl_key_free(tkl_bytes key)
{
    free((char *)(uintptr_t)key.data);
}
