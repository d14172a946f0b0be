/* SPDX-License-Identifier: MIT
 *
 * The library of a component. A server runs its text once, when it is loaded; a call runs one
 * function of it. So the included files come first, each once, and every script becomes the body of
 * a function:
 *
 *     #!lua name=tackle_lock_0123456789
 *     local register = redis.register_function -- tackle 0.1.0
 *     local now, STATE, LINE
 *     local function begin(KEYS) now, STATE, LINE = nil, KEYS[1], KEYS[2] end
 *     ... the included files ...
 *     register{function_name='tackle_lock_acquire_0123456789', flags={}, callback=function(KEYS, ARGV) begin(KEYS)
 *     ... acquire.lua ...
 *     end}
 *
 * Keys that included files name belong to a call. begin() sets all of them at the start of the
 * call, and those that the call does not have to nil, so that nothing of an earlier call is left.
 * `now` is nil until the script sets it. The second line can be replaced to give the text another
 * register(): core/library.c does that on full servers.
 */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"

/* A key that an included file names. */
typedef struct key_name {
    token name;
    int number;
} key_name;

typedef struct key_names {
    key_name items[KEY_NAMES];
    int count;
} key_names;

/* Removes the lines that name keys from a text. The line ends stay. */
static void take_keys(const char *path, char *text, key_names *keys)
{
    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        token name;
        int number = key_line(line, &name);
        if (number > 0 && keys->count == KEY_NAMES)
            fail(path, 1, "a component names at most %d keys", KEY_NAMES);
        else if (number > 0) {
            name.at = need(strndup(name.at, name.len));
            keys->items[keys->count++] = (key_name){name, number};
            memset(line, ' ', strcspn(line, "\n"));
        }
    }
}

/* Joins the included files of all scripts into one text, and notes the origins of its lines in
 * `library`. */
static char *join_included(const char *folder, const script *scripts, int count, int first_line,
                           script *library)
{
    char *text = NULL;
    size_t len = 0;
    product to = {.line = first_line, .owner = library};
    to.out = need(open_memstream(&text, &len));
    for (int i = 0; i < count; i++) {
        char *source = need(read_text(scripts[i].path));
        clean_file(&to, INCLUDED, folder, scripts[i].path, source);
        free(source);
    }
    fclose(to.out);
    for (int i = 0; i < to.ndone; i++)
        free(to.done[i]);
    return text;
}

static void write_key_names(FILE *out, const key_names *keys)
{
    fputs("local now", out);
    for (int i = 0; i < keys->count; i++)
        fprintf(out, ", %.*s", (int)keys->items[i].name.len, keys->items[i].name.at);
    fputs("\nlocal function begin(KEYS) now", out);
    for (int i = 0; i < keys->count; i++)
        fprintf(out, ", %.*s", (int)keys->items[i].name.len, keys->items[i].name.at);
    fputs(" = nil", out);
    for (int i = 0; i < keys->count; i++)
        fprintf(out, ", KEYS[%d]", keys->items[i].number);
    fputs(" end\n", out);
}

/* Writes zeros for the hash, which is not known yet. */
static void write_function(product *to, const char *folder, const script *s)
{
    fprintf(to->out,
            "register{function_name='tackle_%s_%s_%0*d', flags={%s}, "
            "callback=function(KEYS, ARGV) begin(KEYS)\n",
            s->component, s->operation, HASH_DIGITS, 0,
            s->no_writes   ? "'no-writes'"
            : s->allow_oom ? "'allow-oom'"
                           : "");
    to->line++;
    char *source = need(read_text(s->path));
    clean_file(to, OWN, folder, s->path, source);
    fputs("end}\n", to->out);
    to->line++;
    free(source);
}

/* Puts the hash of the text into all names. */
static void name_by_hash(script *library)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (!EVP_Digest(library->text, library->len, digest, NULL, EVP_sha1(), NULL))
        die("SHA1");
    for (int i = 0; i < HASH_DIGITS / 2; i++)
        snprintf(library->hash + 2 * i, 3, "%02x", digest[i]);
    char *zeros = format_text("_%0*d", HASH_DIGITS, 0);
    for (char *at = library->text; (at = strstr(at, zeros));)
        memcpy(at + 1, library->hash, HASH_DIGITS);
    free(zeros);
}

script bundle(const char *folder, const char *component, const char *version, const script *scripts,
              int count)
{
    enum { HEAD_LINES = 4 };
    script library = {.path = format_text("%s/", folder), .component = need(strdup(component))};
    product to = {.line = HEAD_LINES + 1, .owner = &library};
    key_names keys = {0};
    library.operation = need(strdup("library"));
    library.origins[library.norigins++] = (origin){1, format_text("%s/", component), 1};
    char *included = join_included(folder, scripts, count, HEAD_LINES + 1, &library);
    take_keys(library.path, included, &keys);

    to.out = need(open_memstream(&library.text, &library.len));
    fprintf(to.out, "#!lua name=tackle_%s_%0*d\n", component, HASH_DIGITS, 0);
    fprintf(to.out, "local register = redis.register_function -- tackle %s\n", version);
    write_key_names(to.out, &keys);
    fputs(included, to.out);
    for (const char *c = included; *c; c++)
        to.line += *c == '\n';
    for (int i = 0; i < count; i++)
        write_function(&to, folder, &scripts[i]);
    fclose(to.out);
    check_locals(&library);
    name_by_hash(&library);
    for (int i = 0; i < keys.count; i++)
        free((char *)keys.items[i].name.at);
    free(included);
    return library;
}

char *library_name(const script *library)
{
    return format_text("tackle_%s_%s", library->component, library->hash);
}

char *function_name(const script *library, const char *operation)
{
    return format_text("tackle_%s_%s_%s", library->component, operation, library->hash);
}
