/* SPDX-License-Identifier: MIT */
#include "embed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lists of names -------------------------------------------------------------------------- */

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

/* Adds the names "a, b, c" from this token on; returns the first token after them. */
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

/* Adds all names that a text declares: locals, functions, parameters, loop variables. */
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
            while (is(next, ".")) /* "jobs.read" */
                next = next_token(next_token(next));
            if (is(next, "("))
                add_list(n, next_token(next));
        }
    }
}

int key_line(const char *line, token *name)
{
    int number = 0, used = 0;
    if (strncmp(line, "local ", 6) != 0)
        return 0;
    *name = next_token((token){.at = line + 6});
    token equals = next_token(*name), keys = next_token(equals);
    if (!is(equals, "=") || !is(keys, "KEYS") || sscanf(keys.at, "KEYS[%d]%n", &number, &used) < 1)
        return 0;
    const char *rest = keys.at + used + strspn(keys.at + used, " \t\r");
    return used > 0 && (!*rest || *rest == '\n' || comment(rest)) ? number : 0;
}

/* Adds the names that a file offers to files that include it: its own names at the start of lines,
 * and those that its included files offer. `keys`, if not NULL, gets the names of keys. */
static void add_offered(names *n, names *keys, const char *folder, const char *text, int depth)
{
    for (const char *line = text; line && *line && depth < INCLUDES; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *name = included(line);
        token key;
        if (name) {
            char *path = library_path(folder, name);
            char *inner = read_text(path);
            if (inner)
                add_offered(n, keys, folder, inner, depth + 1);
            free(inner);
            free(path);
        } else if (strncmp(line, "local ", 6) == 0) {
            add_list(n, next_token((token){.at = line + 6}));
            if (keys && key_line(line, &key) > 0)
                names_add(keys, key);
        } else if (strncmp(line, "function ", 9) == 0) { /* "jobs.read" */
            names_add(n, (token){.at = line + 9, .len = strcspn(line + 9, "(")});
        }
    }
}

/* Whether the token is a keyword of Lua, or a name that the server gives to scripts. */
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

/* ---- The text outside functions -------------------------------------------------------------- */

static bool is_constant(token t)
{
    return isupper((unsigned char)*t.at) && in_capitals(t);
}

/* Skips "local A, B =" or "local jobs = {}"; returns its last token. The length is 0 when something
 * else is declared. */
static token skip_declared(token local, token subject)
{
    token t = next_token(local), equals = next_token(t), open = next_token(equals);
    token end = next_token(open), other = {.at = t.at, .line = t.line};
    if (t.len == subject.len && memcmp(t.at, subject.at, t.len) == 0)
        return is(equals, "=") && is(open, "{") && is(end, "}") ? end : other;
    for (; is_constant(t); t = next_token(equals)) {
        equals = next_token(t);
        if (!is(equals, ","))
            return is(equals, "=") ? equals : t;
    }
    return other;
}

/* Whether `t`, after `before`, makes a call. */
static bool calls(token before, token t)
{
    bool callee = is(before, ")") || is(before, "]") || (is_name(before) && !is_known_word(before));
    return callee && (is(t, "(") || is(t, "{") || literal(t.at) > 0);
}

static bool assigns(token before, token t)
{
    bool compares = is(next_token(t), "=") || (before.len > 0 && strchr("=<>~", *before.at));
    return is(t, "=") && !compares;
}

/* Whether the word may stand outside functions. There are no others: while a server loads a
 * library, it has no functions and no time. */
static bool is_word_of_constants(token t)
{
    static const char *const words[] = {"and", "or", "not", "true", "false", "nil"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(t, words[i]))
            return true;
    return false;
}

/* Checks the text outside functions, which a server runs once, when it loads the library:
 * constants, and the functions of one table. The functions of jobs.inc.lua are those of a table
 * jobs. */
static void check_top_level(const char *path, const char *bare, const names *keys)
{
    const char *file = strrchr(path, '/') + 1;
    token subject = {.at = file, .len = strcspn(file, ".")}, before = {0};
    int blocks = 0, braces = 0, failed = 0; /* failed: line of the last error */
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        bool fine = true;
        if (blocks == 0 && is(t, "local")) {
            token last = skip_declared(t, subject);
            fine = last.len > 0;
            t = fine ? last : t;
            braces += is(t, "}"); /* its "{" was skipped */
        } else if (blocks == 0 && is(t, "function")) {
            token table = next_token(t);
            fine = braces == 0 && table.len == subject.len &&
                   memcmp(table.at, subject.at, table.len) == 0 && is(next_token(table), ".");
        } else if (blocks == 0 && names_have(keys, t) && !is(before, ".")) {
            fail(path, t.line, "%.*s belongs to a call: nothing outside functions reads it",
                 (int)t.len, t.at);
        } else if (blocks == 0) {
            fine = !calls(before, t) && (braces > 0 || !assigns(before, t)) &&
                   (!is_known_word(t) || is_word_of_constants(t) || is(before, "."));
        }
        if (!fine && t.line != failed) {
            fail(path, t.line,
                 "an included file has constants and functions \"function %.*s.name\" only",
                 (int)subject.len, subject.at);
            failed = t.line;
        }
        blocks += opens_block(t);
        braces += is(t, "{") - is(t, "}");
        before = t;
    }
}

/* ---- Names in functions ---------------------------------------------------------------------- */

/* The current position in the text of a library. */
typedef struct place {
    const char *path;
    int braces;   /* open braces, of tables */
    int blocks;   /* open blocks, of functions and inside them */
    bool in_head; /* among the parameters of a function */
    token before; /* the previous token */
    token early;  /* the token before that */
} place;

static void go_on(place *at, token t)
{
    at->early = at->before;
    at->before = t;
}

static bool is_assigned(token t)
{
    token next = next_token(t);
    return is(next, "=") && !is(next_token(next), "=");
}

/* The last token of "t.a[1].b"; t itself when no part follows. */
static token last_part(token t)
{
    for (token next = next_token(t); is(next, ".") || is(next, "["); next = next_token(t)) {
        int depth = is(next, "[");
        t = next_token(next);
        for (depth += is(t, "[") - is(t, "]"); depth > 0 && t.len > 0;
             depth += is(t, "[") - is(t, "]"))
            t = next_token(t);
    }
    return t;
}

/* Whether the token is a field of a table: "state.now", or "now = 1" in braces. */
static bool is_field(const place *at, token t)
{
    bool key = at->braces > 0 && (is(at->before, "{") || is(at->before, ","));
    return is(at->before, ".") || is(at->before, ":") || (key && is_assigned(t));
}

/* Whether a name, or a part of its table, is written: "t = 1", "t.a, b = 1, 2", and
 * "table.insert(t, 1)". */
static bool is_written(const place *at, token t)
{
    bool changes = is(at->early, "insert") || is(at->early, "remove") || is(at->early, "sort");
    if (changes && is(at->before, "("))
        return true;
    token end = last_part(t), next = next_token(end);
    while (at->braces == 0 && is(next, ",") && is_name(next_token(next))) {
        end = last_part(next_token(next));
        next = next_token(end);
    }
    return is_assigned(end);
}

/* Checks that "jobs.read" exists in the included file. */
static void check_member(const char *path, token t, const names *offered)
{
    token dot = next_token(t), name = next_token(dot);
    if (!names_have(offered, t) || !is(dot, ".") || in_capitals(t))
        return;
    char *full = format_text("%.*s.%.*s", (int)t.len, t.at, (int)name.len, name.at);
    if (!names_have(offered, (token){.at = full, .len = strlen(full)}))
        fail(path, t.line, "%s is declared nowhere", full);
    free(full);
}

static void check_name(const place *at, token t, const names *own, const names *offered)
{
    if (is_field(at, t))
        return;
    check_member(at->path, t, offered);
    bool written = is_written(at, t);
    if (at->blocks > 0 && names_have(offered, t) && written)
        fail(at->path, t.line, "%.*s is written: it stays as it is", (int)t.len, t.at);
    else if (names_have(own, t))
        return;
    else if (!is_known_word(t) && !constant_value(t) && !names_have(offered, t))
        fail(at->path, t.line, "%.*s is not a name of this file or of one that it includes",
             (int)t.len, t.at);
    else if (written)
        fail(at->path, t.line, "%.*s is written, and is not this file's", (int)t.len, t.at);
}

char *without_comments(const char *text)
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

/* Checks that a script uses only its own names, those of the files it includes, and those that the
 * server gives. It must not write names of the included files: they stay for the next call. */
void check_names(const char *folder, const char *path, const char *text)
{
    names known = {0}, offered = {0};
    place at = {.path = path};
    char *bare = without_comments(text);
    add_declared(&known, bare);
    add_offered(&offered, NULL, folder, text, 0);
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        bool given = is(t, "KEYS") || is(t, "ARGV") || is_known_word(t) || constant_value(t);
        at.braces += is(t, "{") - is(t, "}");
        if (is_name(t) && !given && !is_field(&at, t) && !names_have(&known, t) &&
            !names_have(&offered, t))
            fail(path, t.line, "%.*s is declared nowhere", (int)t.len, t.at);
        if (is_name(t) && !is_field(&at, t) && !names_have(&known, t)) {
            check_member(path, t, &offered);
            if (names_have(&offered, t) && is_written(&at, t))
                fail(path, t.line, "%.*s is written: it stays as it is", (int)t.len, t.at);
        }
        go_on(&at, t);
    }
    names_free(&offered);
    names_free(&known);
    free(bare);
}

/* Blanks the lines that name keys: they are checked through the names that they offer. */
static void blank_keys(char *text)
{
    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        token name;
        if (key_line(line, &name) > 0)
            memset(line, ' ', strcspn(line, "\n"));
    }
}

/* Checks that included files stand before their includer, because names are declared before they
 * are used. */
static void check_includes(const char *path, const char *text, const char *bare)
{
    int number = 1, first = next_token((token){.at = bare, .line = 1}).line;
    for (const char *line = text; *line; number++) {
        if (included(line) && number > first)
            fail(path, number, "a file is included before anything else");
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

void check_library(const char *folder, const char *path, const char *text)
{
    names own = {0}, offered = {0}, keys = {0};
    place at = {.path = path};
    char *bare = without_comments(text);
    add_offered(&offered, &keys, folder, text, 0);
    check_includes(path, text, bare);
    blank_keys(bare);
    check_top_level(path, bare, &keys);
    add_declared(&own, bare);
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        at.braces += is(t, "{") - is(t, "}");
        at.blocks += opens_block(t);
        if (is_name(t))
            check_name(&at, t, &own, &offered);
        go_on(&at, t);
    }
    names_free(&own);
    names_free(&offered);
    names_free(&keys);
    free(bare);
}

/* ---- The time of a call ---------------------------------------------------------------------- */

/* Whether a function of this text reads a `now` that is neither its own local nor a field. */
static bool text_reads_now(const char *text)
{
    char *bare = without_comments(text);
    place at = {0};
    bool own = false, used = false, reads = false;
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        at.braces += is(t, "{") - is(t, "}");
        at.blocks += opens_block(t);
        if (is(t, "now") && !is_field(&at, t)) {
            token next = next_token(t);
            bool parameter = is(at.before, "(") || is(at.before, ",");
            own |= is(at.before, "local") || (parameter && at.in_head) || (is(next, "=") && own);
            used = true;
        }
        if (is(t, "function"))
            at.in_head = true;
        else if (is(t, ")"))
            at.in_head = false;
        if (at.blocks == 0) {
            reads |= used && !own;
            own = used = false;
        }
        go_on(&at, t);
    }
    free(bare);
    return reads;
}

static bool reads_now(const char *folder, const char *text, int depth)
{
    bool reads = false;
    for (const char *line = text; line && *line && !reads && depth < INCLUDES;
         line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *name = included(line);
        char *path = name ? library_path(folder, name) : NULL;
        char *inner = path ? read_text(path) : NULL;
        if (inner)
            reads = text_reads_now(inner) || reads_now(folder, inner, depth + 1);
        free(inner);
        free(path);
    }
    return reads;
}

/* A script must set `now` if a file that it includes reads it; otherwise it may have its own. */
void check_now(const char *folder, const char *path, const char *text)
{
    char *bare = without_comments(text);
    token before = {0};
    int set_at = 0, own_at = 0;
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        if (is(t, "now") && is(before, "local") && !own_at)
            own_at = t.line;
        else if (is(t, "now") && is(next_token(t), "=") && !is(next_token(next_token(t)), "=") &&
                 !is(before, ".") && !is(before, "{") && !is(before, ",") && !own_at && !set_at)
            set_at = t.line;
        before = t;
    }
    bool needed = reads_now(folder, text, 0);
    if (needed && !set_at)
        fail(path, own_at ? own_at : 1, "an included file reads `now`: begin with \"now = ...\"");
    else if (!needed && set_at)
        fail(path, set_at, "no included file reads `now`: make it local");
    free(bare);
}
