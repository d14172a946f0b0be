/* SPDX-License-Identifier: MIT */
#include "environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_one_of(const char *entry, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names[i]);
        if (strncmp(entry, names[i], len) == 0 && entry[len] == '=')
            return true;
    }
    return false;
}

/* Adds "NAME=value" at `*at` and moves on; false when out of memory. */
static bool add_variable(char ***at, const char *name, tkl_bytes value)
{
    if (value.len == 0 || memchr(value.data, '\0', value.len) != NULL)
        return true;
    if (asprintf(*at, "%s=%.*s", name, (int)value.len, value.data) < 0) {
        **at = NULL;
        return false;
    }
    ++*at;
    return true;
}

/* New variables come first, so that cli_environment_free() finds them. */
char **cli_environment_new(const char *const *names, const tkl_bytes *values, size_t count)
{
    size_t inherited = 0;
    while (environ[inherited] != NULL)
        inherited++;
    char **environment = calloc(inherited + count + 1, sizeof *environment), **at = environment;
    bool added = environment != NULL;
    for (size_t i = 0; added && i < count; i++)
        added = add_variable(&at, names[i], values[i]);
    for (size_t i = 0; added && i < inherited; i++)
        if (!is_one_of(environ[i], names, count))
            *at++ = environ[i];
    if (added)
        return environment;
    cli_environment_free(environment, names, count);
    return NULL;
}

char **cli_environment_without(char *const *environment, const char *name)
{
    char *const *from = environment != NULL ? environment : environ;
    size_t count = 0;
    while (from[count] != NULL)
        count++;
    char **kept = calloc(count + 1, sizeof *kept), **at = kept;
    for (size_t i = 0; kept != NULL && i < count; i++)
        if (!is_one_of(from[i], &name, 1))
            *at++ = from[i];
    return kept;
}

void cli_environment_free(char **environment, const char *const *names, size_t count)
{
    for (char **at = environment; at != NULL && *at != NULL && is_one_of(*at, names, count); at++)
        free(*at);
    free(environment);
}
