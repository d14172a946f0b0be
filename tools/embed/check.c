/* SPDX-License-Identifier: MIT */
#include "embed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The header ------------------------------------------------------------------------------ */

static void check_title(const script *s, const char *text)
{
    char *title = format_text("%s/%s: ", s->component, s->operation);
    if (strncmp(text, title, strlen(title)) != 0 || !text[strlen(title)])
        fail(s->path, 1, "the first line must be \"-- %swhat it does\"", title);
    free(title);
}

/* Adds "KEYS[2] name ..." or "ARGV[3...] name ..." to its list. */
static void declare(const script *s, params *list, int line, const char *text)
{
    int number = 0, used = 0;
    bool open = sscanf(text, "%*4s[%d...]%n", &number, &used) == 1 && used > 0;
    if (!open)
        sscanf(text, "%*4s[%d]%n", &number, &used);
    const char *rest = text + used;
    if (used == 0 || !blank(*rest) || !rest[strspn(rest, " \t\r")])
        fail(s->path, line, "a declaration reads \"%.4s[1] name\" or \"%.4s[1...] name\"", text,
             text);
    else if (list->open)
        fail(s->path, line, "nothing can follow \"%.4s[%d...]\"", text, list->count + 1);
    else if (number != list->count + 1 || number > MOST)
        fail(s->path, line, "%.4s[%d] should be %.4s[%d]", text, number, text, list->count + 1);
    else {
        list->line[number] = line;
        list->open = open;
        list->count += !open;
    }
}

/* Reads the flags of a function for the server: at most one of the two. */
static void read_flags(script *s, int line, const char *text)
{
    token flag = {.at = text, .len = strcspn(text, " \t\r")};
    bool again = s->no_writes || s->allow_oom,
         more = text[flag.len + strspn(text + flag.len, " \t\r")];
    s->no_writes = is(flag, "no-writes");
    s->allow_oom = is(flag, "allow-oom");
    if (again || more || (!s->no_writes && !s->allow_oom))
        fail(s->path, line, "flags are \"no-writes\" or \"allow-oom\"");
}

static void read_header_line(script *s, int line, const char *text)
{
    if (line == 1)
        check_title(s, text);
    else if (strncmp(text, "KEYS[", 5) == 0)
        declare(s, &s->keys, line, text);
    else if (strncmp(text, "ARGV[", 5) == 0)
        declare(s, &s->args, line, text);
    else if (strncmp(text, "returns ", 8) == 0)
        s->returns = true;
    else if (strncmp(text, "flags: ", 7) == 0)
        read_flags(s, line, text + 7);
}

/* Reads the comment lines at the top of the file. */
void read_header(script *s, const char *text)
{
    int line = 0;
    while (strncmp(text, "--", 2) == 0) {
        size_t len = strcspn(text, "\n");
        char *body = need(strndup(text + 2, len - 2));
        read_header_line(s, ++line, body + strspn(body, " \t"));
        free(body);
        text += len + (text[len] == '\n');
    }
    if (line == 0)
        check_title(s, "");
    if (!s->returns)
        fail(s->path, line ? line : 1, "the header has no \"-- returns ...\"");
}

/* ---- The body's use of KEYS and ARGV --------------------------------------------------------- */

/* The n of "[n]" after KEYS or ARGV, with `end` on the bracket; 0: something else follows. */
static int literal_index(token word, token *end)
{
    token bracket = next_token(word), number = next_token(bracket);
    *end = next_token(number);
    bool plain = is(bracket, "[") && isdigit((unsigned char)*number.at) && is(*end, "]");
    return plain ? atoi(number.at) : 0;
}

/* Notes KEYS[i] or #ARGV: it uses the open part, or the whole list when there is none. */
static void use_any(params *list)
{
    if (list->open)
        list->used[list->count + 1] = true;
    for (int i = 1; !list->open && i <= list->count; i++)
        list->used[i] = true;
}

/* Notes unpack(ARGV): it gives a name to each argument, so all count as used. */
static void use_all(params *list)
{
    for (int i = 1; i <= list->count + list->open; i++)
        list->used[i] = true;
}

/* The file and line that a line of the text was made from. */
static const origin *origin_of(const script *s, int line)
{
    const origin *at = s->origins;
    while (at + 1 < s->origins + s->norigins && at[1].line <= line)
        at++;
    return at;
}

/* Reports an error in a line of the text. */
static void fail_at(const script *s, int line, const char *what)
{
    const origin *from = origin_of(s, line);
    size_t above = strlen(s->path) - strlen(s->component) - strlen(strrchr(s->path, '/'));
    char *path = format_text("%.*s%s", (int)above, s->path, from->file);
    fail(path, line - from->line + from->file_line, "%s", what);
    free(path);
}

typedef struct neighbours {
    token before, first; /* the two tokens before a word: "unpack" and "(" */
} neighbours;

/* Whether this is unpack(ARGV) or unpack(ARGV, 1, n). */
static bool from_first(token word)
{
    token next = next_token(word);
    return is(next, ")") || (is(next, ",") && is(next_token(next), "1"));
}

static void use(const script *s, params *list, token word, neighbours near)
{
    token end;
    int number = literal_index(word, &end);
    char *what = NULL;
    if (number == 0 && is(near.before, "(") && is(near.first, "unpack") && from_first(word))
        use_all(list);
    else if (number == 0)
        use_any(list);
    else if (number <= list->count)
        list->used[number] = true;
    else if (list->open)
        list->used[list->count + 1] = true;
    else
        what = format_text("%.4s[%d] is not declared in the header", word.at, number);

    bool joined = number > 0 && (is(near.before, "..") || is(next_token(end), ".."));
    if (joined && list == &s->keys)
        what = format_text("KEYS[%d] is joined with something: pass whole keys in KEYS", number);
    if (what)
        fail_at(s, word.line, what);
    free(what);
}

static void check_all_used(const script *s, const params *list, const char *word)
{
    for (int i = 1; i <= list->count + list->open; i++)
        if (!list->used[i])
            fail(s->path, list->line[i], "%s[%d%s] is declared but not used", word, i,
                 i > list->count ? "..." : "");
}

void check_body(script *s)
{
    neighbours near = {0};
    for (token t = next_token((token){.at = s->text, .line = 1}); t.len > 0; t = next_token(t)) {
        if (is(t, "KEYS"))
            use(s, &s->keys, t, near);
        else if (is(t, "ARGV"))
            use(s, &s->args, t, near);
        near = (neighbours){.before = t, .first = near.before};
    }
    check_all_used(s, &s->keys, "KEYS");
    check_all_used(s, &s->args, "ARGV");
}

/* ---- The names of the body ------------------------------------------------------------------- */

typedef struct local {
    token name;
    bool top; /* at the top level: known to the end of the text */
    struct local *before;
} local;

static const local *find_local(const local *last, token name, bool top)
{
    for (; last; last = last->before)
        if (last->top >= top && last->name.len == name.len &&
            memcmp(last->name.at, name.at, name.len) == 0)
            return last;
    return NULL;
}

/* "_" does not count as a name: it stands for values that are not needed. */
static local *declare_local(const script *s, local *last, token name, bool top)
{
    const local *known = top && !is(name, "_") ? find_local(last, name, true) : NULL;
    if (known) {
        const origin *from = origin_of(s, known->name.line);
        char *what = format_text("%.*s is declared in %s:%d already", (int)name.len, name.at,
                                 from->file, known->name.line - from->line + from->file_line);
        fail_at(s, name.line, what);
        free(what);
    }
    local *new = need(malloc(sizeof *new));
    *new = (local){name, top, last};
    return new;
}

/* Declares the names after "local": "function f", or "a, b, c". */
static local *declare_locals(const script *s, local *last, token t, bool top)
{
    if (is(t, "function"))
        return declare_local(s, last, next_token(t), top);
    for (; is_name(t); t = next_token(t)) {
        last = declare_local(s, last, t, top);
        t = next_token(t);
        if (!is(t, ","))
            break;
    }
    return last;
}

/* Checks that keys and constants which a library takes from the script are declared before the
 * library. */
static void check_capitals(const script *s, const local *last, token t, token before)
{
    bool given = is(t, "KEYS") || is(t, "ARGV") || is(before, ".") || constant_value(t);
    if (given || !isupper((unsigned char)*t.at) || !in_capitals(t) || find_local(last, t, false))
        return;
    char *what = format_text("%.*s is not declared before", (int)t.len, t.at);
    fail_at(s, t.line, what);
    free(what);
}

void check_locals(const script *s)
{
    local *last = NULL;
    token before = {0};
    int blocks = 0, count = 0;
    for (token t = next_token((token){.at = s->text, .line = 1}); t.len > 0; t = next_token(t)) {
        if (is(t, "local"))
            last = declare_locals(s, last, next_token(t), blocks == 0);
        check_capitals(s, last, t, before);
        blocks += opens_block(t);
        before = t;
    }
    for (local *next; last; last = next) {
        next = last->before;
        count += last->top;
        free(last);
    }
    if (count > LOCALS)
        fail(s->path, 1, "%d local names at the top level, of which Lua allows few more than %d",
             count, LOCALS);
}
