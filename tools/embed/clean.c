/* SPDX-License-Identifier: MIT */
#include "embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that is being written into a product. */
typedef struct cleaner {
    const struct cleaner *outer; /* the file that includes this one; NULL: none does */
    product *to;
    parts what;
    const char *path;
    const char *folder;
    int line;
    bool fresh; /* at the start of a line */
    bool gap;   /* write a space before the next token */
} cleaner;

static void clean(cleaner *c, const char *text);

/* Writes a piece of a line: a C constant as its number, anything else unchanged. */
static void put_piece(cleaner *c, const char *text, size_t len)
{
    const char *number = constant_value((token){.at = text, .len = len});
    if (c->what == INCLUDED)
        return;
    if (number) {
        text = number;
        len = strlen(number);
    }
    if (c->gap && !c->fresh)
        fputc(' ', c->to->out);
    fwrite(text, 1, len, c->to->out);
    c->gap = c->fresh = false;
}

static void end_line(cleaner *c)
{
    c->line++;
    c->gap = false;
    c->fresh = true;
    if (c->what == INCLUDED)
        return;
    fputc('\n', c->to->out);
    c->to->line++;
}

/* Notes that the lines which follow are those of this file, from this line on. */
static void note_origin(product *to, const char *path, int file_line)
{
    script *s = to->owner;
    const char *slash = strrchr(path, '/'), *shared = strstr(path, "/../");
    if (s->norigins == ORIGINS) {
        fail(path, 1, "too many libraries");
        return;
    }
    char *file = shared ? format_text("%s", shared + strlen("/../"))
                        : format_text("%s/%s", s->component, slash ? slash + 1 : path);
    s->origins[s->norigins++] = (origin){to->line, file, file_line};
}

/* Whether the file is new to the product; from now on the product has it. */
static bool enter_library(cleaner *c, const char *path)
{
    product *to = c->to;
    for (int i = 0; i < to->ndone; i++)
        if (strcmp(to->done[i], path) == 0)
            return false;
    if (to->ndone == INCLUDES) {
        fail(c->path, c->line, "a component includes at most %d files", INCLUDES);
        return false;
    }
    to->done[to->ndone++] = need(strdup(path));
    return true;
}

static void paste_library(cleaner *c, const char *path, const char *text)
{
    if (!enter_library(c, path))
        return;
    check_library(c->folder, path, text);
    cleaner inner = {.outer = c, .to = c->to, .path = path, .folder = c->folder, .line = 1};
    note_origin(c->to, path, 1);
    clean(&inner, text);
    if (c->what == ALL)
        note_origin(c->to, c->path, c->line);
}

char *library_path(const char *folder, const char *name)
{
    int len = (int)strcspn(name, " \t\r\n");
    bool elsewhere = memchr(name, '/', (size_t)len) != NULL;
    return format_text("%s%s/%.*s.inc.lua", folder, elsewhere ? "/.." : "", len, name);
}

static void include(cleaner *c, const char *name)
{
    char *path = library_path(c->folder, name);
    char *text = read_text(path);
    for (const cleaner *outer = c; outer; outer = outer->outer)
        if (strcmp(outer->path, path) == 0)
            fail(c->path, c->line, "%s includes this file", strrchr(path, '/') + 1);
    if (!text)
        fail(c->path, c->line, "there is no %s to include", path);
    else
        paste_library(c, path, text);
    free(text);
    free(path);
}

/* The name that "-- include: name" asks for; NULL for any other comment. */
const char *included(const char *comment)
{
    static const char word[] = "-- include: ";
    return strncmp(comment, word, strlen(word)) == 0 ? comment + strlen(word) : NULL;
}

/* Handles a comment: keeps only its line ends, or inserts the library that it includes. */
static void drop_comment(cleaner *c, const char *text, size_t len)
{
    const char *name = c->fresh ? included(text) : NULL;
    if (name && c->gap)
        fail(c->path, c->line, "a library is included at the start of a line");
    if (name) {
        if (c->what != OWN)
            include(c, name);
        return;
    }
    c->gap = true;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\n')
            end_line(c);
}

/* The length of the word that starts here; 1: it is another character. */
static size_t word_len(const char *text)
{
    size_t len = 0;
    while (word_char(text[len]))
        len++;
    return len ? len : 1;
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
                len = word_len(text);
            put_piece(c, text, len);
            for (size_t i = 0; i < len; i++) {
                c->line += text[i] == '\n';
                c->to->line += text[i] == '\n' && c->what != INCLUDED;
            }
        }
    }
    if (!c->fresh) /* the file does not end with a line end */
        end_line(c);
}

void clean_file(product *to, parts what, const char *folder, const char *path, const char *text)
{
    cleaner c = {.to = to, .what = what, .path = path, .folder = folder, .line = 1};
    if (what != INCLUDED)
        note_origin(to, path, 1);
    clean(&c, text);
}

void clean_script(script *s, const char *folder, const char *text)
{
    product to = {.line = 1, .owner = s};
    to.out = need(open_memstream(&s->text, &s->len));
    clean_file(&to, ALL, folder, s->path, text);
    fclose(to.out);
    for (int i = 0; i < to.ndone; i++)
        free(to.done[i]);
}
