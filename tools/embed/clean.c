/* SPDX-License-Identifier: MIT */
#include "embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const char *slash = strrchr(path, '/'), *shared = strstr(path, "/../");
    if (s->norigins == ORIGINS) {
        fail(path, 1, "too many libraries");
        return;
    }
    char *file = shared ? format_text("%s", shared + strlen("/../"))
                        : format_text("%s/%s", s->component, slash ? slash + 1 : path);
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

/* A comment: nothing of it stays but the ends of its lines, or the library it asks for. */
static void drop_comment(cleaner *c, const char *text, size_t len)
{
    const char *name = c->fresh ? included(text) : NULL;
    if (name && c->gap)
        fail(c->path, c->line, "a library is included at the start of a line");
    if (name) {
        include(c, name);
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

void clean_script(script *s, const char *folder, const char *text)
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
