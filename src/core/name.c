/* SPDX-License-Identifier: MIT */
#include "core/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static const char *escape_of(char c)
{
    return c == '%' ? "%25" : c == '{' ? "%7B" : c == '}' ? "%7D" : NULL;
}

void tkl__name_escape(tkl__buf *out, tkl_bytes name)
{
    size_t done = 0;
    for (size_t i = 0; i < name.len; i++) {
        const char *code = escape_of(name.data[i]);
        if (!code)
            continue;
        tkl__buf_add(out, name.data + done, i - done);
        tkl__buf_addz(out, code);
        done = i + 1;
    }
    tkl__buf_add(out, name.data + done, name.len - done);
}

/* Moves a buffer's content to its own block of memory. */
static int keep_content(tkl__buf *buf, char **data, size_t *len)
{
    *data = buf->failed ? NULL : tkl__copy_bytes((tkl_bytes){buf->data, buf->len});
    *len = buf->len;
    tkl__buf_free(buf);
    return *data ? TKL_OK : tkl__nomem();
}

/* The noun for error texts. Keys use a short form for some components. */
static const char *word_for(const char *component)
{
    static const struct {
        const char *component, *word;
    } words[] = {{"ads", "set of ads"},
                 {"bits", "bitmap"},
                 {"blist", "list"},
                 {"bloom", "Bloom filter"},
                 {"geo", "set of places"},
                 {"ip", "table of addresses"},
                 {"unique", "unique count"},
                 {"mail", "mailbox"},
                 {"chats", "member of chats"},
                 {"sem", "semaphore"},
                 {"stats", "type of statistics"},
                 {"online", "list of online users"},
                 {"session", "store of sessions"},
                 {"recent", "list of recent contacts"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(component, words[i].component) == 0)
            return words[i].word;
    return component;
}

int tkl__base_make(const tkl_client *client, const char *component, tkl_bytes name, tkl__base *base)
{
    *base = (tkl__base){0};
    tkl__begin();
    if (name.len == 0)
        return tkl__fail(TKL_EINVAL, "a %s needs a name", word_for(component));
    if (name.len > TKL_NAME_MAX)
        return tkl__fail(TKL_EINVAL, "the name has %zu bytes, more than %d", name.len,
                         TKL_NAME_MAX);
    tkl__buf buf;
    tkl__buf_init(&buf);
    tkl__buf_addz(&buf, client->target.ns);
    tkl__buf_addz(&buf, ":");
    tkl__buf_addz(&buf, component);
    tkl__buf_addz(&buf, ":{");
    tkl__name_escape(&buf, name);
    tkl__buf_addz(&buf, "}");
    return keep_content(&buf, &base->data, &base->len);
}

void tkl__base_free(tkl__base *base)
{
    free(base->data);
    *base = (tkl__base){0};
}

int tkl__name_keep(const tkl_client *client, const char *component, tkl_bytes name, tkl_bytes *copy)
{
    tkl__base base;
    int rc = tkl__base_make(client, component, name, &base);
    if (rc != TKL_OK)
        return rc;
    tkl__base_free(&base);
    *copy = (tkl_bytes){tkl__copy_bytes(name), name.len};
    return copy->data ? TKL_OK : tkl__nomem();
}

int tkl__key_make(const tkl__base *base, const char *part, tkl_bytes *key)
{
    tkl__buf buf;
    char *data;
    tkl__buf_init(&buf);
    tkl__buf_add(&buf, base->data, base->len);
    tkl__buf_addz(&buf, ":");
    tkl__buf_addz(&buf, part);
    int rc = keep_content(&buf, &data, &key->len);
    key->data = data;
    return rc;
}

static bool unescape(tkl_bytes in, tkl__buf *out)
{
    for (size_t i = 0; i < in.len; i++) {
        char c = in.data[i];
        if (c == '%') {
            if (in.len - i < 3)
                return false;
            const char *code = in.data + i + 1;
            c = memcmp(code, "25", 2) == 0   ? '%'
                : memcmp(code, "7B", 2) == 0 ? '{'
                : memcmp(code, "7D", 2) == 0 ? '}'
                                             : '\0';
            if (c == '\0')
                return false;
            i += 2;
        }
        tkl__buf_add(out, &c, 1);
    }
    return true;
}

bool tkl__name_unescape(tkl_bytes escaped, tkl_bytes *name)
{
    tkl__buf buf;
    char *data = NULL;
    *name = (tkl_bytes){NULL, 0};
    tkl__buf_init(&buf);
    bool good = unescape(escaped, &buf);
    if (good)
        good = keep_content(&buf, &data, &name->len) == TKL_OK;
    else
        tkl__buf_free(&buf);
    name->data = data;
    return good;
}

bool tkl__name_of_key(const tkl_client *client, const char *component, tkl_bytes key,
                      tkl_bytes *name)
{
    char prefix[320];
    int n = snprintf(prefix, sizeof prefix, "%s:%s:{", client->target.ns, component);
    size_t skip = (size_t)n;
    *name = (tkl_bytes){NULL, 0};
    if (key.len <= skip || memcmp(key.data, prefix, skip) != 0)
        return false;
    const char *end = memchr(key.data + skip, '}', key.len - skip);
    if (!end)
        return false;
    size_t len = (size_t)(end - key.data) - skip;
    return tkl__name_unescape((tkl_bytes){key.data + skip, len}, name);
}
