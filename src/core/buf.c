/* SPDX-License-Identifier: MIT */
#include "core/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tkl__buf_init(tkl__buf *buf)
{
    buf->data = buf->small;
    buf->len = 0;
    buf->cap = sizeof buf->small;
    buf->failed = false;
}

void tkl__buf_free(tkl__buf *buf)
{
    if (buf->data != buf->small)
        free(buf->data);
    tkl__buf_init(buf);
}

void tkl__buf_clear(tkl__buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

static bool grow_buf(tkl__buf *buf, size_t need)
{
    size_t cap = buf->cap * 2 > need ? buf->cap * 2 : need;
    char *data = realloc(buf->data == buf->small ? NULL : buf->data, cap);
    if (!data) {
        buf->failed = true;
        return false;
    }
    if (buf->data == buf->small)
        memcpy(data, buf->small, buf->len);
    buf->data = data;
    buf->cap = cap;
    return true;
}

char *tkl__buf_reserve(tkl__buf *buf, size_t more)
{
    if (buf->cap - buf->len < more && !grow_buf(buf, buf->len + more))
        return NULL;
    return buf->data + buf->len;
}

void tkl__buf_add(tkl__buf *buf, const void *data, size_t len)
{
    char *to = tkl__buf_reserve(buf, len);
    if (!to || len == 0)
        return;
    memcpy(to, data, len);
    buf->len += len;
}

void tkl__buf_addz(tkl__buf *buf, const char *text)
{
    tkl__buf_add(buf, text, strlen(text));
}

void tkl__buf_addf(tkl__buf *buf, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof text)
        buf->failed = true; /* callers format short texts only */
    else
        tkl__buf_add(buf, text, (size_t)n);
}

bool tkl__grow(void *items, size_t count, size_t size)
{
    enum { FIRST = 8 };
    void *old, *grown;
    bool full = count == 0 || (count >= FIRST && (count & (count - 1)) == 0);
    if (!full)
        return true;
    memcpy(&old, items, sizeof old); /* a pointer to any type */
    grown = realloc(old, (count == 0 ? FIRST : 2 * count) * size);
    if (grown)
        memcpy(items, &grown, sizeof grown);
    return grown != NULL;
}

char *tkl__copy_bytes(tkl_bytes bytes)
{
    char *copy = malloc(bytes.len + 1);
    if (!copy)
        return NULL;
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    copy[bytes.len] = '\0';
    return copy;
}
