/* SPDX-License-Identifier: MIT */
#include "embed.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Messages -------------------------------------------------------------------------------- */

int failures;

void fail(const char *path, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: error: ", path, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    failures++;
}

_Noreturn void die(const char *path)
{
    fprintf(stderr, "embed: %s: %s\n", path, strerror(errno));
    exit(1);
}

void *need(void *memory)
{
    if (!memory)
        die("memory");
    return memory;
}

char *format_text(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        die("memory");
    va_end(args);
    return text;
}

/* Reads the whole file; NULL when it does not exist. */
char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        if (errno == ENOENT)
            return NULL;
        die(path);
    }
    char *text = NULL;
    size_t cap = 0;
    if (getdelim(&text, &cap, '\0', file) < 0 && ferror(file))
        die(path);
    fclose(file);
    return text ? text : need(strdup(""));
}

/* ---- Lua, as far as it matters here ---------------------------------------------------------- */

/* The length of the long bracket, "[[...]]" or "[==[...]==]", that starts here; 0: none does. */
static size_t long_bracket(const char *at)
{
    if (*at != '[')
        return 0;
    size_t level = strspn(at + 1, "=");
    if (at[1 + level] != '[')
        return 0;
    for (const char *end = at + level + 2; (end = strchr(end, ']')); end++)
        if (strspn(end + 1, "=") == level && end[1 + level] == ']')
            return (size_t)(end - at) + level + 2;
    return strlen(at);
}

/* The length of the string literal that starts here; 0: none does. */
size_t literal(const char *at)
{
    if (*at != '"' && *at != '\'')
        return long_bracket(at);
    size_t len = 1;
    while (at[len] && at[len] != *at && at[len] != '\n')
        len += at[len] == '\\' && at[len + 1] ? 2 : 1;
    return len + (at[len] == *at);
}

/* The length of the comment that starts here, without the end of its line; 0: none does. */
size_t comment(const char *at)
{
    if (at[0] != '-' || at[1] != '-')
        return 0;
    size_t block = long_bracket(at + 2);
    return block ? block + 2 : strcspn(at, "\n");
}

bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* ---- Words of Lua ------------------------------------------------------------ */

bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t token_len(const char *at)
{
    size_t len = literal(at);
    if (len > 0)
        return len;
    if (*at == '.')
        return strspn(at, ".");
    while (word_char(at[len]))
        len++;
    return len > 0 || !*at ? len : 1;
}

token next_token(token last)
{
    token next = {.at = last.at + last.len, .line = last.line};
    for (const char *c = last.at; c < next.at; c++)
        next.line += *c == '\n';
    for (; blank(*next.at) || *next.at == '\n'; next.at++)
        next.line += *next.at == '\n';
    next.len = token_len(next.at);
    return next;
}

bool is(token t, const char *text)
{
    return t.len == strlen(text) && memcmp(t.at, text, t.len) == 0;
}

bool is_name(token t)
{
    return t.len > 0 && word_char(*t.at) && !isdigit((unsigned char)*t.at);
}

bool in_capitals(token t)
{
    for (size_t i = 0; i < t.len; i++)
        if (islower((unsigned char)t.at[i]))
            return false;
    return true;
}

int opens_block(token t)
{
    bool opens = is(t, "function") || is(t, "if") || is(t, "do") || is(t, "repeat");
    return opens - (is(t, "end") || is(t, "until"));
}
