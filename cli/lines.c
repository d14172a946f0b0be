/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include <inttypes.h>
#include <stdio.h>

#include "out.h"

int cli_print_names(const cli_session *cli, const tkl_names *names)
{
    if (cli->json) {
        json_t *array = json_array();
        for (size_t i = 0; i < names->count; i++)
            json_array_append_new(array, cli_json_bytes(names->items[i]));
        return cli_print_json(cli, array);
    }
    for (size_t i = 0; i < names->count; i++) {
        cli_print_bytes(names->items[i]);
        putchar('\n');
    }
    return CLI_OK;
}

const cli_option cli_list_options[] = {
    {"scan", CLI_LOCAL_FLAG, NULL, "look through all keys, also for what older programs left"},
    {0},
};

const char *cli_missing_text(const tkl_names *missing, char text[CLI_MISSING_SIZE])
{
    size_t len = 0, count = missing != NULL ? missing->count : 0;
    *text = '\0';
    for (size_t i = 0; i < count && len < CLI_MISSING_SIZE / 2; i++)
        len += (size_t)snprintf(text + len, CLI_MISSING_SIZE - len, "%s%.64s",
                                i == 0 ? "no answer from " : ", ", missing->items[i].data);
    if (count > 0)
        snprintf(text + len, CLI_MISSING_SIZE - len, ": what %s is missing",
                 count == 1 ? "it has" : "they have");
    return text;
}

json_t *cli_missing_json(const tkl_names *missing)
{
    json_t *servers = json_array();
    for (size_t i = 0; missing != NULL && i < missing->count; i++)
        json_array_append_new(servers, cli_json_bytes(missing->items[i]));
    return servers;
}

int cli_run(cli_session *cli)
{
    bool is_view = cli->verb->views || cli->verb->options == cli_list_options;
    tkl_names *missing = NULL;
    char text[CLI_MISSING_SIZE];
    if (is_view)
        tkl_lenient_begin();
    int exit = cli->verb->run(cli);
    bool is_ended =
        is_view && cli->client != NULL && tkl_lenient_end(cli->client, &missing) == TKL_OK;
    if (is_ended && exit == CLI_OK && missing->count > 0)
        cli_fail(cli, CLI_OK, "%s", cli_missing_text(missing, text));
    tkl_names_free(missing);
    return exit;
}

int cli_list(cli_session *cli, int (*names_of)(tkl_client *client, tkl_names **names))
{
    static const cli_column columns[] = {{"name", "NAME"}, {0}};
    tkl_client *client = NULL;
    tkl_names *names = NULL;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, names_of(client, &names));
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < names->count; i++)
        json_array_append_new(rows, json_pack("{s:o}", "name", cli_json_bytes(names->items[i])));
    tkl_names_free(names);
    return cli_print_rows(cli, rows, columns);
}

int cli_print_count(const cli_session *cli, const char *what, int64_t count)
{
    if (cli->json)
        return cli_print_json(cli,
                              json_pack("{s:o, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                        what, (json_int_t)count));
    printf("%" PRId64 "\n", count);
    return CLI_OK;
}

int cli_print_removed(const cli_session *cli, int64_t count)
{
    return cli_print_count(cli, "removed", count);
}
