/* SPDX-License-Identifier: MIT */
#include "token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char cli_token_help[] =
    "Instead of TOKEN: - reads it from standard input, @FILE from a file; when it is the\n"
    "last argument and left out, $TACKLE_TOKEN counts.";

bool cli_takes_token(const cli_verb *verb)
{
    return verb->args != NULL && strstr(verb->args, "TOKEN") != NULL;
}

/* Keeps the first line, without the blanks around it. */
static int read_token(const cli_session *cli, FILE *from, const char *where, char **token)
{
    char *row = NULL;
    size_t size = 0;
    errno = 0;
    ssize_t n = getline(&row, &size, from);
    if (n < 0 && errno != 0) {
        free(row);
        return cli_fail(cli, CLI_FAILURE, "cannot read %s: %s", where, strerror(errno));
    }
    const char *text = n > 0 ? row + strspn(row, " \t\r\n") : "";
    size_t len = strcspn(text, " \t\r\n");
    *token = len > 0 ? strndup(text, len) : NULL;
    free(row);
    if (len == 0)
        return cli_usage(cli, "no token in %s", where);
    return *token != NULL ? CLI_OK : cli_end(cli, TKL_ENOMEM);
}

int cli_token_of(const cli_session *cli, char *word, char **token)
{
    *token = NULL;
    if (cli->sink == NULL && strcmp(word, "-") == 0)
        return read_token(cli, stdin, "standard input", token);
    if (cli->sink != NULL || *word != '@') {
        *token = strdup(word);
        memset(word, 'x', strlen(word));
        return *token != NULL ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    }
    FILE *file = fopen(word + 1, "re");
    if (file == NULL)
        return cli_fail(cli, CLI_FAILURE, "cannot read %s: %s", word + 1, strerror(errno));
    int failed = read_token(cli, file, word + 1, token);
    fclose(file);
    return failed;
}
