/* SPDX-License-Identifier: MIT
 *
 * The internals of embed, for its own files: embed.c has the essay.
 */
#ifndef TACKLE_TOOLS_EMBED_H
#define TACKLE_TOOLS_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    MOST = 64,       /* KEYS or ARGV a header can declare */
    INCLUDES = 32,   /* files that a component can include */
    ORIGINS = 400,   /* changes from one file to another in a text */
    LOCALS = 195,    /* names at the top level of a library: Lua allows 200 */
    KEY_NAMES = 48,  /* in a component: one function sets them all, and Lua allows it 60 */
    HASH_DIGITS = 10 /* digits of the library's SHA1 in its name and those of its functions */
};

/* From this line of the text on, its lines come from a file. */
typedef struct origin {
    int line;
    char *file; /* "lock/line.inc.lua" */
    int file_line;
} origin;

/* The KEYS, or the ARGV, that a header declares. */
typedef struct params {
    int count;           /* number of declarations with an index of their own */
    bool open;           /* "[n...]" follows: any number of further keys or arguments */
    int line[MOST + 2];  /* line of each declaration; the open one is at count + 1 */
    bool used[MOST + 2]; /* the body uses it; same index as line[] */
} params;

typedef struct script {
    char *path;
    char *component;
    char *operation;
    char hash[HASH_DIGITS + 1]; /* hash of a library */
    char *text;                 /* the file and what it includes, without comments */
    size_t len;
    params keys;
    params args;
    bool returns;
    bool no_writes; /* flags */
    bool allow_oom;
    origin origins[ORIGINS];
    int norigins;
} script;

/* ---- text.c: messages, files, Lua as far as it matters here ---- */

extern int failures; /* number of errors so far */

void fail(const char *path, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void die(const char *path);
/* Returns the memory; ends the program when it is NULL. */
void *need(void *memory);
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reads the whole file; NULL when it does not exist. */
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

/* Returns the next token; its length is 0 at the end. */
token next_token(token last);
bool is(token t, const char *text);
bool word_char(char c);
bool is_name(token t); /* a name, or a keyword of Lua */
bool in_capitals(token t);
/* 1: the word begins a block, -1: it ends one. */
int opens_block(token t);

/* ---- constants.c: numbers from C ---- */

void read_constants(const char *header);
/* The value of a constant, as Lua reads it; NULL: C does not know the name. */
const char *constant_value(token name);
void free_constants(void);

/* ---- clean.c: files without comments and indentation ---- */

/* A text that is built from one or more files, line by line. */
typedef struct product {
    FILE *out;
    int line;             /* number of the next line */
    char *done[INCLUDES]; /* included files that the text has */
    int ndone;
    script *owner; /* gets the origins of the lines */
} product;

typedef enum parts {
    ALL,      /* the file, with the included files in their places */
    INCLUDED, /* the included files that are not there yet, and nothing of the file itself */
    OWN       /* the file alone */
} parts;

void clean_file(product *to, parts what, const char *folder, const char *path, const char *text);
void clean_script(script *s, const char *folder, const char *text);
/* The name in "-- include: name"; NULL: another kind of comment. */
const char *included(const char *comment);
/* The path of the included file of that name, for scripts of this folder; to be freed. */
char *library_path(const char *folder, const char *name);

/* ---- check.c: the header, and whether the body keeps to it ---- */

void read_header(script *s, const char *text);
void check_body(script *s);
/* Checks the names at the top level, including those of included files: each is declared once,
 * names in capitals before they are used, and there are not too many. */
void check_locals(const script *s);

/* ---- library.c: included files, and the names that they and scripts may use ---- */

/* Checks the names of a script or of an included file. */
void check_names(const char *folder, const char *path, const char *text);
void check_library(const char *folder, const char *path, const char *text);
/* The text without comments, on the same lines; to be freed. */
char *without_comments(const char *text);
void check_now(const char *folder, const char *path, const char *text);
/* Parses a line that is "local NAME = KEYS[n]" and nothing else: returns n, and the name; 0:
 * another line. */
int key_line(const char *line, token *name);

/* ---- flags.c ---- */

void check_flags(const char *folder, const script *s, const char *text);

/* ---- bundle.c: all scripts of a component as one library of the server ---- */

/* Makes the library as a text with its origins. */
script bundle(const char *folder, const char *component, const char *version, const script *scripts,
              int count);
/* "tackle_lock_0123456789" and "tackle_lock_acquire_0123456789"; to be freed. */
char *library_name(const script *library);
char *function_name(const script *library, const char *operation);

#endif
