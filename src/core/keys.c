/* SPDX-License-Identifier: MIT */
#include "core/keys.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static size_t key_len(const tkl__base *base, const char *part)
{
    return base->len + (*part ? 1 + strlen(part) : 0);
}

/* Writes "base:part" and a NUL; returns where the next key goes. */
static char *write_key(char *to, const tkl__base *base, const char *part, tkl_bytes *key)
{
    *key = (tkl_bytes){to, key_len(base, part)};
    memcpy(to, base->data, base->len);
    if (*part) {
        to[base->len] = ':';
        memcpy(to + base->len + 1, part, strlen(part));
    }
    to[key->len] = '\0';
    return to + key->len + 1;
}

int tkl__keys_make(const tkl_client *client, const char *component, tkl_bytes name,
                   const char *const *parts, size_t count, tkl__keys *keys)
{
    tkl__base base;
    *keys = (tkl__keys){0};
    int rc = tkl__base_make(client, component, name, &base);
    if (rc != TKL_OK)
        return rc;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += key_len(&base, parts[i]) + 1;
    keys->items = malloc(count * sizeof *keys->items + bytes);
    if (keys->items) {
        char *to = (char *)(keys->items + count);
        for (size_t i = 0; i < count; i++)
            to = write_key(to, &base, parts[i], &keys->items[i]);
        keys->count = count;
    }
    tkl__base_free(&base);
    return keys->items ? TKL_OK : tkl__nomem();
}

void tkl__keys_free(tkl__keys *keys)
{
    free(keys->items);
    *keys = (tkl__keys){0};
}
