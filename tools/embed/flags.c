/* SPDX-License-Identifier: MIT
 *
 * Checks the flags of scripts against the commands that they reach through functions of included
 * files: a script that writes nothing must say "no-writes", and a script with this flag must write
 * nothing. The server checks commands whose names are computed.
 */
#include <stdlib.h>
#include <string.h>

#include "embed.h"

static const char *const reads[] = {
    "BITCOUNT", "BITPOS",      "DBSIZE",        "EXISTS",   "GEOPOS",      "GET",
    "GETBIT",   "GETRANGE",    "HEXISTS",       "HGET",     "HGETALL",     "HKEYS",
    "HLEN",     "HMGET",       "HSCAN",         "HSTRLEN",  "HVALS",       "LINDEX",
    "LLEN",     "LPOS",        "LRANGE",        "MGET",     "PEXPIRETIME", "PTTL",
    "PUBSUB",   "SCARD",       "SISMEMBER",     "SMEMBERS", "SMISMEMBER",  "SSCAN",
    "STRLEN",   "TIME",        "TTL",           "TYPE",     "XLEN",        "XRANGE",
    "XINFO",    "XREVRANGE",   "ZCARD",         "ZCOUNT",   "ZLEXCOUNT",   "ZMSCORE",
    "ZRANGE",   "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZRANK",    "ZREVRANGE",   "ZREVRANK",
    "ZSCAN",    "ZSCORE",      "GEOSEARCH",     "GEODIST",  "SINTERCARD",  "BITFIELD_RO",
};

/* A function of an included file. */
typedef struct function {
    char *name; /* "jobs.read" */
    char *body;
    bool reached;
} function;

typedef struct reach {
    function *functions;
    size_t count;
    char *written;  /* a command that writes; NULL: the script reaches none */
    bool is_hidden; /* some command's name is computed */
} reach;

static bool is_read(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        if (strlen(reads[i]) == len && memcmp(reads[i], word, len) == 0)
            return true;
    return false;
}

static void add_function(reach *r, const char *line, size_t len)
{
    r->functions = need(realloc(r->functions, (r->count + 1) * sizeof *r->functions));
    r->functions[r->count++] = (function){
        .name = need(strndup(line + 9, strcspn(line + 9, "("))),
        .body = need(strndup(line, len)),
    };
}

/* Adds the functions of a file and of all files that it includes; each begins and ends at the start
 * of a line. The text between them, constants, may name functions too: `outside` gets it. */
static void add_functions(reach *r, const char *folder, const char *text, int depth, FILE *outside)
{
    for (const char *line = text; *line && depth < INCLUDES;) {
        const char *name = included(line), *end = strchr(line, '\n');
        char *path = name ? library_path(folder, name) : NULL;
        char *inner = path ? read_text(path) : NULL;
        if (inner)
            add_functions(r, folder, inner, depth + 1, outside);
        free(inner);
        free(path);
        bool is_function = depth > 0 && strncmp(line, "function ", 9) == 0;
        if (is_function)
            end = strstr(line, "\nend");
        size_t len = end ? (size_t)(end - line) : strlen(line);
        if (is_function)
            add_function(r, line, len);
        else if (depth > 0)
            fprintf(outside, "%.*s\n", (int)len, line);
        line += len + (end != NULL);
    }
}

static void note_command(reach *r, token name)
{
    bool literal = *name.at == '\'' || *name.at == '"';
    if (!literal)
        r->is_hidden = true;
    else if (!is_read(name.at + 1, name.len - 2) && !r->written)
        r->written = need(strndup(name.at + 1, name.len - 2));
}

static void follow(reach *r, const char *text);

static void follow_function(reach *r, token table, token name)
{
    for (size_t i = 0; i < r->count; i++) {
        function *f = &r->functions[i];
        if (f->reached || strncmp(f->name, table.at, table.len) != 0 || f->name[table.len] != '.' ||
            !is(name, f->name + table.len + 1))
            continue;
        f->reached = true;
        follow(r, f->body);
    }
}

static void follow(reach *r, const char *text)
{
    char *bare = without_comments(text);
    for (token t = next_token((token){.at = bare, .line = 1}); t.len > 0; t = next_token(t)) {
        token dot = next_token(t), name = next_token(dot), open = next_token(name);
        if (!is_name(t) || !is(dot, "."))
            continue;
        if (is(t, "redis") && (is(name, "call") || is(name, "pcall")) && is(open, "("))
            note_command(r, next_token(open));
        else if (is(t, "redis") && (is(name, "call") || is(name, "pcall")))
            r->is_hidden = true; /* "local call = redis.call" */
        else
            follow_function(r, t, name);
    }
    free(bare);
}

void check_flags(const char *folder, const script *s, const char *text)
{
    reach r = {0};
    char *outside = NULL;
    size_t len = 0;
    FILE *out = need(open_memstream(&outside, &len));
    add_functions(&r, folder, text, 0, out);
    fclose(out);
    follow(&r, outside);
    follow(&r, text);
    free(outside);
    if (s->no_writes && r.written)
        fail(s->path, 1, "the flags say no-writes, but %s writes", r.written);
    else if (!s->no_writes && !r.written && !r.is_hidden)
        fail(s->path, 1, "nothing is written: say \"-- flags: no-writes\"");
    for (size_t i = 0; i < r.count; i++) {
        free(r.functions[i].name);
        free(r.functions[i].body);
    }
    free(r.functions);
    free(r.written);
}
