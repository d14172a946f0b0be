/* SPDX-License-Identifier: MIT
 *
 * embed: turns the .lua files of a component into a library of functions for the server, as C.
 *
 *     embed 0.1.0 src/lock generated/lock include/tackle/common.h src/lock/inside.h
 *
 * reads the .lua files of src/lock and writes scripts.h and scripts.c: one tkl__library,
 * tkl__lua_lock, with the text that servers load, and one tkl__script for each operation:
 * tkl__lua_lock_acquire for acquire.lua. bundle.c says what the text looks like. The version of
 * tackle is a part of it, and a hash of it is in all names.
 *
 * Scripts. A file acquire.lua is the body of one function, and begins with a header block:
 *
 *     -- lock/acquire: take the lock, or join the queue when it is held.
 *     -- KEYS[1] lock     hash: token, fence, until
 *     -- ARGV[1] token
 *     -- ARGV[2...] tags  any number of them
 *     -- flags: allow-oom
 *     -- returns {code, fence, ttl}
 *
 * Other comment lines may stand in between. The header is the contract between the script and the
 * C code that calls it. So embed checks it against the body, and a disagreement ends the build: the
 * title must be the path; KEYS and ARGV are numbered from 1 without gaps; the body uses everything
 * that is declared, and nothing else. Keys must arrive whole: "KEYS[1] .. x" is refused.
 *
 * Flags. A script that writes nothing says "no-writes", and is called by FCALL_RO. A script that
 * frees memory, or must always work, says "allow-oom", and runs on a full server. flags.c compares
 * no-writes with the commands that the script reaches.
 *
 * Included files. "-- include: jobs" at the start of a line gives access to the names of
 * jobs.inc.lua, a file of the same folder; "-- include: shared/clock" to those of clock.inc.lua in
 * the folder shared beside it; other folders work, too. An included file may include others. A
 * library contains it once, however many scripts include it. It has one subject, and its functions
 * belong to a table of that name:
 *
 *     local jobs = {}
 *     local LONGEST = TKL__MS_MAX * 1000
 *     function jobs.read(id) ... end
 *
 * Lua allows 200 names at the top level of a library and 60 outer names in a function; a table
 * counts as one. Scripts and included files use only names that they, or the files they include,
 * declare, and only functions that a table has. Each name is declared once; names in capitals are
 * declared before they are used.
 *
 * Loading. A server runs the text outside functions once, when it loads the library, and has
 * neither tonumber() nor redis.call() at that time. So that text holds constants, the table and its
 * functions, and no calls.
 *
 * Calls. Nothing survives a call: constants and tables stay as they are, so neither scripts nor
 * included files write them. Only its keys and its time belong to a call. A line
 *
 *     local META = KEYS[1]
 *
 * of an included file makes META a variable that is set at the start of each call; in a script the
 * same line is a local name like any other. `now` is the time that included files read. A script
 * that includes such a file sets it; other scripts do not.
 *
 * Constants of C. A name that begins with TKL_ stands for its number. embed reads it from the
 * headers that follow the folders: see constants.c.
 *
 * The server gets no comments and no indentation. A list of origins says which line of which file
 * each line of the library comes from, so that errors can name it.
 */
#include "embed.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One script ------------------------------------------------------------------------------ */

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
    check_now(folder, s.path, text);
    check_flags(folder, &s, text);
    check_body(&s);
    check_locals(&s);
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

/* When several origins begin at the same line, the last one counts. */
static void write_origins(FILE *out, const script *s)
{
    fputs("\nstatic const tkl__origin origins[] = {\n", out);
    for (int i = 0; i < s->norigins; i++)
        if (i + 1 == s->norigins || s->origins[i].line < s->origins[i + 1].line)
            fprintf(out, "    {%d, \"%s\", %d},\n", s->origins[i].line, s->origins[i].file,
                    s->origins[i].file_line);
    fputs("    {0},\n};\n", out);
}

static void write_library(FILE *out, const script *library)
{
    char *name = library_name(library);
    write_origins(out, library);
    fprintf(out, "\nconst tkl__library tkl__lua_%s = {\n    .name = \"%s\",\n    .source =\n",
            library->component, name);
    write_literal(out, library);
    fprintf(out, ",\n    .len = %zu,\n    .origins = origins,\n};\n", library->len);
    free(name);
}

static const char *truth(bool b)
{
    return b ? "true" : "false";
}

static void write_function(FILE *out, const script *library, const script *s)
{
    char *function = function_name(library, s->operation);
    fprintf(out,
            "\nconst tkl__script tkl__lua_%s_%s = {\n    .name = \"%s/%s\",\n"
            "    .function = \"%s\",\n    .library = &tkl__lua_%s,\n"
            "    .nkeys = %d,\n    .nargs = %d,\n    .open_keys = %s,\n    .open_args = %s,\n"
            "    .no_writes = %s,\n    .allow_oom = %s,\n};\n",
            s->component, s->operation, s->component, s->operation, function, s->component,
            s->keys.count, s->args.count, truth(s->keys.open), truth(s->args.open),
            truth(s->no_writes), truth(s->allow_oom));
    free(function);
}

static FILE *create_file(const char *folder, const char *file)
{
    char *path = format_text("%s/%s", folder, file);
    FILE *out = fopen(path, "w");
    if (!out)
        die(path);
    fputs("/* Made by tools/embed from the .lua files: edit those. */\n", out);
    free(path);
    return out;
}

static void finish_file(FILE *out)
{
    if (ferror(out) || fclose(out) != 0)
        die("writing");
}

static void write_files(const char *folder, const script *library, const script *scripts, int count)
{
    const char *component = library->component;
    FILE *header = create_file(folder, "scripts.h");
    FILE *source = create_file(folder, "scripts.c");
    fputs("#pragma once\n#include \"core/script.h\"\n\n", header);
    fprintf(header, "extern const tkl__library tkl__lua_%s;\n", component);
    fprintf(source, "#include \"%s/scripts.h\"\n", component);
    write_library(source, library);
    for (int i = 0; i < count; i++) {
        fprintf(header, "extern const tkl__script tkl__lua_%s_%s;\n", component,
                scripts[i].operation);
        write_function(source, library, &scripts[i]);
    }
    finish_file(header);
    finish_file(source);
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
    if (argc < 4) {
        fputs("usage: embed VERSION <folder of .lua files> <folder for scripts.c and scripts.h> "
              "[C header...]\n",
              stderr);
        return 64;
    }
    const char *folder = argv[2];
    const char *slash = strrchr(folder, '/');
    const char *component = slash ? slash + 1 : folder;

    for (int i = 4; i < argc; i++)
        read_constants(argv[i]);

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

    script library =
        failures == 0 ? bundle(folder, component, argv[1], scripts, count) : (script){0};
    if (failures == 0)
        write_files(argv[3], &library, scripts, count);
    free_script(&library);
    for (int i = 0; i < count; i++)
        free_script(&scripts[i]);
    free(scripts);
    free_constants();
    return failures == 0 ? 0 : 1;
}
