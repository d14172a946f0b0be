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
 * unless it was pasted before; "-- include: shared/name" pastes that of the folder shared beside
 * it. A library may include others. It has constants ("local NAME = ...") and functions ("local
 * function ...") and nothing that runs by being included; it reads its own names, those of the
 * libraries it includes, names in capitals (keys and constants of the script) and `now`, and writes
 * nothing but its own locals: constants stay as they are. A script uses no name that it, or a
 * library that it includes, does not declare. At its top level, libraries included, each name is
 * declared once, those in capitals before they are used, and there are not more names than Lua
 * allows. All of this is checked.
 *
 * What the server gets has no comments and no indentation. A list of origins tells which line of
 * which file each of its lines is, so that errors can be reported with that.
 */
#include "embed.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    check_names(folder, s.path, text);
    clean_script(&s, folder, text);
    check_body(&s);
    check_locals(&s);
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
