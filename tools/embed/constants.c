/* SPDX-License-Identifier: MIT
 *
 * Numbers that C and Lua both use are written once, in C: in a script, too, a name that begins with
 * TKL_ stands for its number. They come from "#define TKL_NAME 60000" and, for result codes, from
 * "X(TKL_NAME, -5, ...".
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"

typedef struct constant {
    char *name, *value;
} constant;

static constant *constants;
static size_t count;

/* Turns "(INT64_C(256) * 1024)" into the same number for Lua. NULL: not a number. */
static char *lua_number(const char *text, size_t len)
{
    char *number = need(calloc(len + 3, 1)), *to = number;
    *to++ = '(';
    for (size_t i = 0; i < len; i++) {
        if (strncmp(text + i, "INT64_C", 7) == 0)
            i += 6;
        else if (strchr("0123456789()*+- ", text[i]))
            *to++ = text[i];
        else if (!strchr("lLuU\\\t\r", text[i]))
            return free(number), NULL;
    }
    *to = ')';
    return strpbrk(number, "0123456789") ? number : (free(number), NULL);
}

static void add_constant(const char *name, size_t name_len, const char *value, size_t len)
{
    const char *comment = memmem(value, len, "/*", 2);
    char *number = lua_number(value, comment ? (size_t)(comment - value) : len);
    if (!number)
        return;
    constants = need(realloc(constants, (count + 1) * sizeof *constants));
    constants[count++] = (constant){need(strndup(name, name_len)), number};
}

void read_constants(const char *path)
{
    char *text = read_text(path);
    if (!text)
        die(path);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + strspn(line, " \t");
        bool define = strncmp(at, "#define TKL_", 12) == 0, code = strncmp(at, "X(TKL_", 6) == 0;
        const char *name = at + (define ? 8 : 2), *end = name;
        while ((define || code) && word_char(*end))
            end++;
        if (define && *end == ' ')
            add_constant(name, (size_t)(end - name), end, strcspn(end, "\n"));
        else if (code && *end == ',')
            add_constant(name, (size_t)(end - name), end + 1, strcspn(end + 1, ","));
    }
    free(text);
}

const char *constant_value(token name)
{
    for (size_t i = 0; i < count; i++)
        if (is(name, constants[i].name))
            return constants[i].value;
    return NULL;
}

void free_constants(void)
{
    for (size_t i = 0; i < count; i++) {
        free(constants[i].name);
        free(constants[i].value);
    }
    free(constants);
}
