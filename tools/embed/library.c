/* SPDX-License-Identifier: MIT */
#include "embed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Libraries: what they may do ------------------------------------------------------------- */

typedef struct names {
    char **items;
    size_t count;
} names;

static void names_add(names *n, token t)
{
    n->items = need(realloc(n->items, (n->count + 1) * sizeof *n->items));
    n->items[n->count++] = need(strndup(t.at, t.len));
}

static bool names_have(const names *n, token t)
{
    for (size_t i = 0; i < n->count; i++)
        if (is(t, n->items[i]))
            return true;
    return false;
}

static void names_free(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->items[i]);
    free(n->items);
}

/* "a, b, c" from this token on: adds them; returns the first token behind them. */
static token add_list(names *n, token t)
{
    for (; is_name(t); t = next_token(t)) {
        names_add(n, t);
        t = next_token(t);
        if (!is(t, ","))
            break;
    }
    return t;
}

/* All names that a text declares: locals, functions, parameters, loop variables. */
static void add_declared(names *n, const char *text)
{
    for (token t = next_token((token){.at = text, .line = 1}); t.len > 0; t = next_token(t)) {
        token next = next_token(t);
        if ((is(t, "local") && !is(next, "function")) || is(t, "for")) {
            add_list(n, next);
        } else if (is(t, "function")) {
            if (is_name(next)) {
                names_add(n, next);
                next = next_token(next);
            }
            if (is(next, "("))
                add_list(n, next_token(next));
        }
    }
}

/* What a library offers to those who include it: its own names at the start of lines, and what the
 * libraries that it includes offer. */
static void add_offered(names *n, const char *folder, const char *text, int depth)
{
    for (const char *line = text; line && *line && depth < LIBRARIES; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *name = included(line);
        if (name) {
            char *path = library_path(folder, name);
            char *inner = read_text(path);
            if (inner)
                add_offered(n, folder, inner, depth + 1);
            free(inner);
            free(path);
        } else if (strncmp(line, "local ", 6) == 0) {
            token t = next_token((token){.at = line + 6});
            add_list(n, is(t, "function") ? next_token(t) : t);
        }
    }
}

/* Lua's words and what the server gives to scripts. */
static bool is_known_word(token t)
{
    static const char *const words[] = {
        "and",    "break",    "do",       "else",  "elseif", "end",    "false",
        "for",    "function", "if",       "in",    "local",  "nil",    "not",
        "or",     "repeat",   "return",   "then",  "true",   "until",  "while",
        "redis",  "string",   "table",    "math",  "bit",    "cjson",  "cmsgpack",
        "struct", "tonumber", "tostring", "type",  "pairs",  "ipairs", "next",
        "unpack", "select",   "error",    "pcall", "assert", "now",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(t, words[i]))
            return true;
    return false;
}

/* Whether a line calls the server: then it is more than a constant. */
static bool calls_server(const char *line)
{
    const char *call = strstr(line, "redis.");
    return call && call < line + strcspn(line, "\n");
}

/* Every line that is not indented. */
static void check_top_level(const char *path, const char *text)
{
    int number = 1;
    for (const char *line = text; *line; number++) {
        const char *constant = strncmp(line, "local ", 6) == 0 ? line + 6 : "";
        bool fine = strchr(" \t\r\n})", *line) || strncmp(line, "--", 2) == 0 ||
                    strncmp(line, "end", 3) == 0 ||
                    (isupper((unsigned char)*constant) && !calls_server(line)) ||
                    strncmp(constant, "function ", 9) == 0;
        if (!fine)
            fail(path, number, "a library has constants and functions only");
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* Where we are in the text of a library. */
typedef struct place {
    const char *path;
    int braces; /* open ones: of tables */
    int blocks; /* ditto: of functions, and in them */
    token before;
} place;

static bool is_assigned(token t)
{
    token next = next_token(t);
    return is(next, "=") && !is(next_token(next), "=");
}

/* The last token of "t.a[1].b"; t itself when nothing of it is named. */
static token last_part(token t)
{
    for (token next = next_token(t); is(next, ".") || is(next, "["); next = next_token(t)) {
        bool bracket = is(next, "[");
        t = next_token(next);
        while (bracket && t.len > 0 && !is(t, "]"))
            t = next_token(t);
    }
    return t;
}

/* A field of a table: "state.now", or "now = 1" in braces. */
static bool is_field(const place *at, token t)
{
    bool key = at->braces > 0 && (is(at->before, "{") || is(at->before, ","));
    return is(at->before, ".") || is(at->before, ":") || (key && is_assigned(t));
}

static void check_name(const place *at, token t, const names *own, const names *offered)
{
    if (is_field(at, t))
        return;
    bool constant = isupper((unsigned char)*t.at) && in_capitals(t);
    if (at->blocks > 0 && constant && names_have(own, t) && is_assigned(last_part(t)))
        fail(at->path, t.line, "%.*s is written: a constant stays as it is", (int)t.len, t.at);
    if (names_have(own, t))
        return;
    bool readable = is_known_word(t) || in_capitals(t) || names_have(offered, t);
    if (!readable)
        fail(at->path, t.line, "%.*s is not a name of this library", (int)t.len, t.at);
    else if (is_assigned(last_part(t)))
        fail(at->path, t.line, "%.*s is written, and is not this library's", (int)t.len, t.at);
}

/* The text without comments, on the same lines. */
static char *without_comments(const char *text)
{
    char *bare = need(strdup(text));
    for (size_t i = 0, len; bare[i]; i += len) {
        len = literal(bare + i);
        if (len == 0 && (len = comment(bare + i)) > 0)
            for (size_t j = i; j < i + len; j++)
                bare[j] = bare[j] == '\n' ? '\n' : ' ';
        len = len ? len : 1;
    }
    return bare;
}

/* A script may use its own names, those of the libraries it includes, and what the server gives. */
void check_names(const char *folder, const char *path, const char *text)
{
    names known = {0};
    place at = {.path = path};
    char *bare = without_comments(text);
    add_declared(&known, bare);
    add_offered(&known, folder, text, 0);
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        bool given = is(t, "KEYS") || is(t, "ARGV") || is_known_word(t);
        at.braces += is(t, "{") - is(t, "}");
        if (is_name(t) && !given && !is_field(&at, t) && !names_have(&known, t))
            fail(path, t.line, "%.*s is declared nowhere", (int)t.len, t.at);
        at.before = t;
    }
    names_free(&known);
    free(bare);
}

void check_library(const char *folder, const char *path, const char *text)
{
    names own = {0}, offered = {0};
    place at = {.path = path};
    char *bare = without_comments(text);
    check_top_level(path, text);
    add_declared(&own, bare);
    add_offered(&offered, folder, text, 0);
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        at.braces += is(t, "{") - is(t, "}");
        at.blocks += opens_block(t);
        if (is_name(t))
            check_name(&at, t, &own, &offered);
        at.before = t;
    }
    names_free(&own);
    names_free(&offered);
    free(bare);
}
