/* SPDX-License-Identifier: MIT */
#include "support/permissions.h"

#include "support/call.h"

enum { WORDS_MAX = 128 };

static char *read_page(const char *page)
{
    char *path = test_format(TACKLE_SOURCE_DIR "/docs/%s", page);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    free(path);
    return text;
}

/* The words of the command, up to the end of its block. */
static int split(char *text, const char **words)
{
    int count = 0;
    char *end = strstr(text, "```"), *rest;
    assert_non_null(end);
    *end = '\0';
    for (char *word = strtok_r(text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        assert_true(count < WORDS_MAX);
        words[count++] = word;
    }
    return count;
}

tkl_client *documented_user(server *s, const char *page)
{
    const char *words[WORDS_MAX];
    char *text = read_page(page), *command = strstr(text, "ACL SETUSER");
    assert_non_null(command);
    int count = split(command, words);
    tkl_client *admin = test_open(s->url, NULL);
    assert_ok(tkl_call(admin, count, words, NULL, NULL, NULL));
    tkl_close(admin);
    tkl_options options = {.username = words[2], .password = "secret"};
    tkl_client *client = test_open(s->url, &options);
    free(text);
    return client;
}
