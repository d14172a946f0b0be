/* SPDX-License-Identifier: MIT
 *
 * embed: turns the server-side scripts of a component into C.
 *
 *     embed src/lock generated/lock
 *
 * reads the .lua files of src/lock and writes scripts.h and scripts.c with one tkl__script for
 * each: tkl__lua_lock_acquire for acquire.lua. A script begins with a header block:
 *
 *     -- lock/acquire: take the lock, or join the queue when it is held.
 *     -- KEYS[1] lock     hash: token, fence, until
 *     -- ARGV[1] token
 *     -- ARGV[2...] tags  any number of them
 *     -- returns {code, fence, ttl}
 *
 * Other comment lines may stand in between. The header is the contract between the script and the
 * C code that runs it, so it is checked against the body, and a disagreement ends the build: the
 * title must be the path; KEYS and ARGV are numbered from 1 without gaps; whatever the body uses
 * is declared and whatever is declared is used. Keys must arrive whole: "KEYS[1] .. x" is refused.
 *
 * "-- include: name" on a line of its own pastes the library name.inc.lua of the same folder,
 * unless it was pasted before. A library may include others. It has constants ("local NAME = ...")
 * and functions ("local function ...") and nothing that runs by being included; it reads its own
 * names, those of the libraries it includes, names in capitals (keys and constants of the script)
 * and `now`, and writes nothing but its own locals. All of this is checked.
 *
 * What the server gets has no comments and no indentation. A list of origins tells which line of
 * which file each of its lines is, so that errors can be reported with that.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 64,      /* KEYS or ARGV a header can declare */
    LIBRARIES = 32, /* a script can include */
    ORIGINS = 2 * LIBRARIES + 2,
};

/* From this line of the text on, its lines are those of a file. */
typedef struct origin {
    int line;
    char *file; /* "lock/line.inc.lua" */
    int file_line;
} origin;

/* What a header declares about KEYS, or about ARGV. */
typedef struct params {
    int count;           /* those with a number of their own */
    bool open;           /* "[n...]" follows them: any number more */
    int line[MOST + 2];  /* of each declaration; the open one's is at count + 1 */
    bool used[MOST + 2]; /* by the body; ditto */
} params;

typedef struct script {
    char *path;
    char *component;
    char *operation;
    char *text; /* as the server gets it */
    size_t len;
    char sha1[41];
    params keys;
    params args;
    bool returns;
    origin origins[ORIGINS];
    int norigins;
} script;

/* ---- Messages -------------------------------------------------------------------------------- */

static int failures;

__attribute__((format(printf, 3, 4))) static void fail(const char *path, int line,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: error: ", path, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    failures++;
}

static _Noreturn void die(const char *path)
{
    fprintf(stderr, "embed: %s: %s\n", path, strerror(errno));
    exit(1);
}

static void *need(void *memory)
{
    if (!memory)
        die("memory");
    return memory;
}

__attribute__((format(printf, 1, 2))) static char *format_text(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        die("memory");
    va_end(args);
    return text;
}

/* The whole file; NULL when it does not exist. */
static char *read_text(const char *path)
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
static size_t literal(const char *at)
{
    if (*at != '"' && *at != '\'')
        return long_bracket(at);
    size_t len = 1;
    while (at[len] && at[len] != *at && at[len] != '\n')
        len += at[len] == '\\' && at[len + 1] ? 2 : 1;
    return len + (at[len] == *at);
}

/* The length of the comment that starts here, without the end of its line; 0: none does. */
static size_t comment(const char *at)
{
    if (at[0] != '-' || at[1] != '-')
        return 0;
    size_t block = long_bracket(at + 2);
    return block ? block + 2 : strcspn(at, "\n");
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* ---- Cleaning: what the server gets ---------------------------------------------------------- */

/* What is made of a script and the libraries it includes. */
typedef struct product {
    FILE *out;
    int line;              /* that is written next */
    char *done[LIBRARIES]; /* libraries that are in it */
    int ndone;
    script *owner;
} product;

typedef struct cleaner {
    product *to;
    const char *path;
    const char *folder;
    int line;
    bool fresh; /* at the start of a line */
    bool gap;   /* a space is due before whatever comes next */
} cleaner;

static void clean(cleaner *c, const char *text);
static void check_library(const char *folder, const char *path, const char *text);

static void put(cleaner *c, const char *text, size_t len)
{
    if (c->gap && !c->fresh)
        fputc(' ', c->to->out);
    fwrite(text, 1, len, c->to->out);
    c->gap = c->fresh = false;
}

static void end_line(cleaner *c)
{
    c->line++;
    c->gap = false;
    fputc('\n', c->to->out);
    c->to->line++;
    c->fresh = true;
}

/* The lines that follow are those of this file, from this line on. */
static void note_origin(product *to, const char *path, int file_line)
{
    script *s = to->owner;
    const char *slash = strrchr(path, '/');
    if (s->norigins == ORIGINS) {
        fail(path, 1, "too many libraries");
        return;
    }
    char *file = format_text("%s/%s", s->component, slash ? slash + 1 : path);
    s->origins[s->norigins++] = (origin){to->line, file, file_line};
}

/* Whether it is new to the product, which has it from now on. */
static bool enter_library(cleaner *c, const char *path)
{
    product *to = c->to;
    for (int i = 0; i < to->ndone; i++)
        if (strcmp(to->done[i], path) == 0)
            return false;
    if (to->ndone == LIBRARIES)
        return false; /* note_origin() complains */
    to->done[to->ndone++] = need(strdup(path));
    return true;
}

static void paste_library(cleaner *c, const char *path, const char *text)
{
    if (!enter_library(c, path))
        return;
    check_library(c->folder, path, text);
    cleaner inner = {.to = c->to, .path = path, .folder = c->folder, .line = 1};
    note_origin(c->to, path, 1);
    clean(&inner, text);
    note_origin(c->to, c->path, c->line);
}

static void include(cleaner *c, const char *name, size_t len)
{
    char *path = format_text("%s/%.*s.inc.lua", c->folder, (int)len, name);
    char *text = read_text(path);
    if (!text)
        fail(c->path, c->line, "there is no %s to include", path);
    else
        paste_library(c, path, text);
    free(text);
    free(path);
}

/* The name that "-- include: name" asks for; NULL for any other comment. */
static const char *included(const char *comment)
{
    static const char word[] = "-- include: ";
    return strncmp(comment, word, strlen(word)) == 0 ? comment + strlen(word) : NULL;
}

/* A comment: nothing of it stays but the ends of its lines, or the library it asks for. */
static void drop_comment(cleaner *c, const char *text, size_t len)
{
    const char *name = c->fresh ? included(text) : NULL;
    if (name && c->gap)
        fail(c->path, c->line, "a library is included at the start of a line");
    if (name) {
        include(c, name, strcspn(name, " \t\r\n"));
        return;
    }
    c->gap = true;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\n')
            end_line(c);
}

static void clean(cleaner *c, const char *text)
{
    c->fresh = true;
    for (size_t len; *text; text += len) {
        len = 1;
        if (*text == '\n') {
            end_line(c);
        } else if (blank(*text)) {
            c->gap = true;
        } else if ((len = comment(text)) > 0) {
            drop_comment(c, text, len);
        } else {
            if ((len = literal(text)) == 0)
                len = 1;
            put(c, text, len);
            for (size_t i = 0; i < len; i++) {
                c->line += text[i] == '\n';
                c->to->line += text[i] == '\n';
            }
        }
    }
}

static void clean_script(script *s, const char *folder, const char *text)
{
    product to = {.line = 1, .owner = s};
    cleaner c = {.to = &to, .path = s->path, .folder = folder, .line = 1};
    to.out = need(open_memstream(&s->text, &s->len));
    note_origin(&to, s->path, 1);
    clean(&c, text);
    fclose(to.out);
    for (int i = 0; i < to.ndone; i++)
        free(to.done[i]);
}

/* ---- The header ------------------------------------------------------------------------------ */

static void check_title(const script *s, const char *text)
{
    char *title = format_text("%s/%s: ", s->component, s->operation);
    if (strncmp(text, title, strlen(title)) != 0 || !text[strlen(title)])
        fail(s->path, 1, "the first line must be \"-- %swhat it does\"", title);
    free(title);
}

/* "KEYS[2] name ..." or "ARGV[3...] name ...": the next one of its list. */
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
}

/* The comment lines at the top of the file. */
static void read_header(script *s, const char *text)
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

typedef struct token {
    const char *at;
    size_t len; /* 0: the end */
    int line;
} token;

static bool word_char(char c)
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

static token next_token(token last)
{
    token next = {.at = last.at + last.len, .line = last.line};
    for (const char *c = last.at; c < next.at; c++)
        next.line += *c == '\n';
    for (; blank(*next.at) || *next.at == '\n'; next.at++)
        next.line += *next.at == '\n';
    next.len = token_len(next.at);
    return next;
}

static bool is(token t, const char *text)
{
    return t.len == strlen(text) && memcmp(t.at, text, t.len) == 0;
}

/* The n of "[n]" behind KEYS or ARGV, with `end` on the bracket; 0: something else is there. */
static int literal_index(token word, token *end)
{
    token bracket = next_token(word), number = next_token(bracket);
    *end = next_token(number);
    bool plain = is(bracket, "[") && isdigit((unsigned char)*number.at) && is(*end, "]");
    return plain ? atoi(number.at) : 0;
}

/* KEYS[i], #ARGV: stands for the open part, or for all when there is none. */
static void use_any(params *list)
{
    if (list->open)
        list->used[list->count + 1] = true;
    for (int i = 1; !list->open && i <= list->count; i++)
        list->used[i] = true;
}

/* unpack(ARGV): all of them. */
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

/* A complaint about a line of the text. */
static void fail_at(const script *s, int line, const char *what)
{
    const origin *from = origin_of(s, line);
    const char *slash = strrchr(s->path, '/'), *name = strrchr(from->file, '/');
    char *path = format_text("%.*s%s", (int)(slash - s->path), s->path, name);
    fail(path, line - from->line + from->file_line, "%s", what);
    free(path);
}

typedef struct neighbours {
    token before, first; /* the two tokens before a word: "unpack" and "(" */
} neighbours;

static void use(const script *s, params *list, token word, neighbours near)
{
    token end;
    int number = literal_index(word, &end);
    char *what = NULL;
    if (number == 0 && is(near.before, "(") && is(near.first, "unpack") &&
        is(next_token(word), ")"))
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

static void check_body(script *s)
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

/* ---- Libraries: what they may do ---------------------------------------------------------------
 */

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

static bool is_name(token t)
{
    return t.len > 0 && word_char(*t.at) && !isdigit((unsigned char)*t.at);
}

static bool in_capitals(token t)
{
    for (size_t i = 0; i < t.len; i++)
        if (islower((unsigned char)t.at[i]))
            return false;
    return true;
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
            char *path =
                format_text("%s/%.*s.inc.lua", folder, (int)strcspn(name, " \t\r\n"), name);
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

/* Every line that is not indented. */
static void check_top_level(const char *path, const char *text)
{
    int number = 1;
    for (const char *line = text; *line; number++) {
        const char *constant = strncmp(line, "local ", 6) == 0 ? line + 6 : "";
        bool fine = strchr(" \t\r\n})", *line) || strncmp(line, "--", 2) == 0 ||
                    strncmp(line, "end", 3) == 0 || isupper((unsigned char)*constant) ||
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
    token before;
} place;

static void check_name(const place *at, token t, const names *own, const names *offered)
{
    token next = next_token(t);
    bool field = is(at->before, ".") || is(at->before, ":");
    bool assigned = is(next, "=") && !is(next_token(next), "=");
    bool key = assigned && at->braces > 0 && (is(at->before, "{") || is(at->before, ","));
    if (field || key || names_have(own, t))
        return;
    bool readable = is_known_word(t) || in_capitals(t) || names_have(offered, t);
    if (!readable)
        fail(at->path, t.line, "%.*s is not a name of this library", (int)t.len, t.at);
    else if (assigned)
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

static void check_library(const char *folder, const char *path, const char *text)
{
    names own = {0}, offered = {0};
    place at = {.path = path};
    char *bare = without_comments(text);
    check_top_level(path, text);
    add_declared(&own, bare);
    add_offered(&offered, folder, text, 0);
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        at.braces += is(t, "{") - is(t, "}");
        if (is_name(t))
            check_name(&at, t, &own, &offered);
        at.before = t;
    }
    names_free(&own);
    names_free(&offered);
    free(bare);
}

/* ---- One script ------------------------------------------------------------------------------ */

static void hash_script(script *s)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (!EVP_Digest(s->text, s->len, digest, NULL, EVP_sha1(), NULL))
        die("SHA1");
    for (size_t i = 0; i < 20; i++)
        snprintf(s->sha1 + 2 * i, 3, "%02x", digest[i]);
}

static script load_script(const char *folder, const char *component, const char *file)
{
    script s = {.path = format_text("%s/%s", folder, file), .component = need(strdup(component))};
    s.operation = need(strndup(file, strlen(file) - strlen(".lua")));
    for (const char *c = s.operation; *c; c++)
        if (!word_char(*c)) {
            fail(s.path, 1, "the file's name must be letters, digits and _");
            break;
        }
    char *text = read_text(s.path);
    if (!text)
        die(s.path);
    read_header(&s, text);
    clean_script(&s, folder, text);
    check_body(&s);
    hash_script(&s);
    free(text);
    return s;
}

static void free_script(script *s)
{
    free(s->path);
    free(s->component);
    free(s->operation);
    free(s->text);
    for (int i = 0; i < s->norigins; i++)
        free(s->origins[i].file);
}

/* ---- The C files ----------------------------------------------------------------------------- */

static void write_literal(FILE *out, const script *s)
{
    fputs("        \"", out);
    for (size_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->text[i];
        if (c == '\n')
            fputs(i + 1 < s->len ? "\\n\"\n        \"" : "\\n", out);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else
            fprintf(out, isprint(c) ? "%c" : "\\%03o", c);
    }
    fputc('"', out);
}

/* Origins that begin at the same line: the last counts. */
static void write_origins(FILE *out, const script *s)
{
    fprintf(out, "\nstatic const tkl__origin origins_of_%s[] = {\n", s->operation);
    for (int i = 0; i < s->norigins; i++)
        if (i + 1 == s->norigins || s->origins[i].line < s->origins[i + 1].line)
            fprintf(out, "    {%d, \"%s\", %d},\n", s->origins[i].line, s->origins[i].file,
                    s->origins[i].file_line);
    fputs("    {0},\n};\n", out);
}

static void write_definition(FILE *out, const script *s)
{
    write_origins(out, s);
    fprintf(out,
            "\nconst tkl__script tkl__lua_%s_%s = {\n"
            "    .name = \"%s/%s\",\n    .sha1 = \"%s\",\n    .source =\n",
            s->component, s->operation, s->component, s->operation, s->sha1);
    write_literal(out, s);
    fprintf(out,
            ",\n    .len = %zu,\n    .nkeys = %d,\n    .nargs = %d,\n"
            "    .open_keys = %s,\n    .open_args = %s,\n    .origins = origins_of_%s,\n};\n",
            s->len, s->keys.count, s->args.count, s->keys.open ? "true" : "false",
            s->args.open ? "true" : "false", s->operation);
}

static FILE *create(const char *folder, const char *file)
{
    char *path = format_text("%s/%s", folder, file);
    FILE *out = fopen(path, "w");
    if (!out)
        die(path);
    fputs("/* Made by tools/embed from the .lua files: edit those. */\n", out);
    free(path);
    return out;
}

static void finish(FILE *out)
{
    if (ferror(out) || fclose(out) != 0)
        die("writing");
}

static void write_files(const char *folder, const char *component, const script *scripts, int count)
{
    FILE *header = create(folder, "scripts.h");
    FILE *source = create(folder, "scripts.c");
    fputs("#pragma once\n#include \"core/script.h\"\n\n", header);
    fprintf(source, "#include \"%s/scripts.h\"\n", component);
    for (int i = 0; i < count; i++) {
        fprintf(header, "extern const tkl__script tkl__lua_%s_%s;\n", component,
                scripts[i].operation);
        write_definition(source, &scripts[i]);
    }
    finish(header);
    finish(source);
}

/* ---- A folder of them ------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len > tail && strcmp(text + len - tail, end) == 0;
}

static int is_script(const struct dirent *entry)
{
    return ends_with(entry->d_name, ".lua") && !ends_with(entry->d_name, ".inc.lua");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: embed <folder of .lua files> <folder for scripts.c and scripts.h>\n", stderr);
        return 64;
    }
    const char *folder = argv[1];
    const char *slash = strrchr(folder, '/');
    const char *component = slash ? slash + 1 : folder;

    struct dirent **entries;
    int count = scandir(folder, &entries, is_script, alphasort);
    if (count < 0)
        die(folder);
    script *scripts = need(calloc((size_t)count + 1, sizeof *scripts));
    for (int i = 0; i < count; i++) {
        scripts[i] = load_script(folder, component, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);

    if (failures == 0)
        write_files(argv[2], component, scripts, count);
    for (int i = 0; i < count; i++)
        free_script(&scripts[i]);
    free(scripts);
    return failures == 0 ? 0 : 1;
}
