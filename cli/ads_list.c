/* SPDX-License-Identifier: MIT
 *
 * Ad targeting from the shell: lists behind options.
 */
#include "ads_list.h"

#include <stdlib.h>
#include <string.h>

void cli_texts_free(cli_texts *l)
{
    free(l->items);
    free(l->store);
}

/* Cuts off the spaces around a text. */
static tkl_bytes trim(const char *text)
{
    text += strspn(text, " ");
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == ' ')
        len--;
    return (tkl_bytes){text, len};
}

bool cli_texts_split(const char *text, cli_texts *l)
{
    *l =
        (cli_texts){.store = strdup(text), .items = calloc(strlen(text) / 2 + 1, sizeof *l->items)};
    char *rest = NULL;
    if (!l->store || !l->items)
        return false;
    for (char *one = strtok_r(l->store, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        l->items[l->count++] = trim(one);
    return true;
}

size_t cli_times_given(const cli_session *cli, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < cli->ngiven; i++)
        count += strcmp(cli->given[i].option->name, name) == 0;
    return count;
}

int cli_texts_read(const cli_session *cli, const char *name, cli_texts *l)
{
    size_t size = 1;
    for (size_t i = 0; i < cli->ngiven; i++)
        if (strcmp(cli->given[i].option->name, name) == 0)
            size += strlen(cli->given[i].text) + 1;
    char *all = calloc(1, size);
    for (size_t i = 0; all && i < cli->ngiven; i++) {
        if (strcmp(cli->given[i].option->name, name) == 0) {
            strcat(all, cli->given[i].text);
            strcat(all, ",");
        }
    }
    bool fine = all && cli_texts_split(all, l);
    free(all);
    return fine ? CLI_OK : cli_end(cli, TKL_ENOMEM);
}

int cli_split_kind(const cli_session *cli, const char *name, const char *text, tkl_bytes *kind,
                   const char **value)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text || !sign[1])
        return cli_usage(cli, "--%s '%s': kind=value", name, text);
    *kind = (tkl_bytes){text, (size_t)(sign - text)};
    *value = sign + 1;
    return CLI_OK;
}

int cli_ads_text(cli_session *cli, int index, tkl_bytes *text)
{
    return cli->argc > index ? cli_payload(cli, index, text) : CLI_OK;
}
