/* SPDX-License-Identifier: MIT
 *
 * The inside of embed, for its files: embed.c has the essay.
 */
#ifndef TACKLE_TOOLS_EMBED_H
#define TACKLE_TOOLS_EMBED_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MOST = 64,      /* KEYS or ARGV a header can declare */
    LIBRARIES = 32, /* a script can include */
    ORIGINS = 2 * LIBRARIES + 2,
    LOCALS = 190, /* a script can have at its top level: Lua allows 200, loops need some of them */
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

/* ---- text.c: messages, files, Lua as far as it matters here ---- */

extern int failures; /* so far */

void fail(const char *path, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void die(const char *path);
/* The memory, or the end. */
void *need(void *memory);
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The whole file; NULL when it does not exist. */
char *read_text(const char *path);

/* The length of the literal, or of the comment, that starts here; 0: none does. */
size_t literal(const char *at);
size_t comment(const char *at);
bool blank(char c);

typedef struct token {
    const char *at;
    size_t len; /* 0: the end */
    int line;
} token;

/* The one behind another; its length is 0 at the end. */
token next_token(token last);
bool is(token t, const char *text);
bool word_char(char c);
bool is_name(token t); /* or a word of Lua */
bool in_capitals(token t);
/* 1: a block begins with this word, -1: one ends with it. */
int opens_block(token t);

/* ---- clean.c: what the server gets ---- */

void clean_script(script *s, const char *folder, const char *text);
/* The name in "-- include: name"; NULL: this comment is another. */
const char *included(const char *comment);
/* Where the library of that name is, for scripts of this folder; to be freed. */
char *library_path(const char *folder, const char *name);

/* ---- check.c: the header, and whether the body keeps to it ---- */

void read_header(script *s, const char *text);
void check_body(script *s);
/* Its names at the top level, libraries included: each is declared once, those in capitals before
 * they are used, and they are not too many. */
void check_locals(const script *s);

/* ---- library.c: what libraries may do, and which names a script may use ---- */

void check_names(const char *folder, const char *path, const char *text);
void check_library(const char *folder, const char *path, const char *text);

#endif
