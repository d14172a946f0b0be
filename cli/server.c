/* SPDX-License-Identifier: MIT
 *
 * The persistent private server of a directory.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "out.h"

static const cli_column fields[] = {
    {"state", "state"},
    {"url", "url"},
    {"pid", "pid"},
    {"socket", "socket"},
    {"program", "program"},
    {"version", "version"},
    {"durability", "durability"},
    {"saved_at", "last snapshot"},
    {"aof_bytes", "append-only file, bytes"},
    {"unsaved_changes", "changes since the snapshot"},
    {"at_risk", "a power cut loses"},
    {0},
};

/* Tells what a crash or a power cut would lose now; "stop" loses nothing, except with none. */
static const char *at_risk(const tkl_server_info *info)
{
    static const struct {
        const char *durability, *lost;
    } losses[] = {
        {"none", "everything, and so does stop"},
        {"lazy", "about the last half minute"},
        {"everysec", "the last second or two"},
        {"always", "nothing that was answered"},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (strcmp(info->durability, losses[i].durability) == 0)
            return losses[i].lost;
    return info->unsaved_changes > 0 ? "the changes since the last snapshot" : "nothing";
}

/* Fields that a stopped server does not have are null; people do not see them. */
static json_t *describe(const cli_session *cli, const char *url, const tkl_server_info *info)
{
    bool runs = info->pid != 0;
    json_t *where = cli_json_bytes(tkl_str(url));
    if (!runs && !cli->json)
        return json_pack("{s:s, s:o}", "state", "stopped", "url", where);
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:s?}", "state",
        runs ? "running" : "stopped", "url", where, "pid",
        runs ? json_integer((json_int_t)info->pid) : json_null(), "socket",
        cli_json_present(tkl_str(runs ? info->socket : "")), "program", runs ? info->program : NULL,
        "version", runs ? info->version : NULL, "durability", runs ? info->durability : NULL,
        "saved_at", cli_json_time(info->saved_at_ms), "aof_bytes",
        info->aof_bytes > 0 ? json_integer((json_int_t)info->aof_bytes) : json_null(),
        "unsaved_changes", runs ? json_integer((json_int_t)info->unsaved_changes) : json_null(),
        "at_risk", runs ? at_risk(info) : NULL);
}

/* The URL in use, which must name a directory: only then there is a private server. */
static int directory_url(cli_session *cli, const char **url)
{
    int failed = cli_url(cli, url);
    if (failed)
        return failed;
    const char *rest = strncmp(*url, "embedded:", 9) == 0 ? *url + 9 : "";
    if (*rest == '\0' || *rest == '?')
        return cli_usage(cli, "the URL names no private server of a directory; "
                              "use --url embedded:/some/directory");
    return CLI_OK;
}

/* The URL with the durability asked for; the caller frees. */
static char *with_durability(const char *url, const char *durability)
{
    char *full = NULL;
    int n = durability == NULL ? asprintf(&full, "%s", url)
                               : asprintf(&full, "%s%cdurability=%s", url,
                                          strchr(url, '?') != NULL ? '&' : '?', durability);
    return n >= 0 ? full : NULL;
}

static int server_start(cli_session *cli)
{
    const char *url;
    int failed = directory_url(cli, &url);
    if (failed)
        return failed;
    char *full = with_durability(url, cli_text(cli, "durability", NULL));
    if (full == NULL)
        return cli_fail(cli, CLI_FAILURE, "out of memory");
    tkl_server_info info;
    int code = tkl_server_start(full, &info);
    free(full);
    return code == TKL_OK ? cli_print_record(cli, describe(cli, url, &info), fields)
                          : cli_end(cli, code);
}

static int server_stop(cli_session *cli)
{
    const char *url;
    int failed = directory_url(cli, &url);
    if (failed)
        return failed;
    int code = tkl_server_stop(url);
    if (code == TKL_NOTFOUND)
        return cli_fail(cli, CLI_NO, "not running: %s", url);
    return code == TKL_OK ? cli_print_record(cli, describe(cli, url, &(tkl_server_info){0}), fields)
                          : cli_end(cli, code);
}

static int server_status(cli_session *cli)
{
    const char *url;
    int failed = directory_url(cli, &url);
    if (failed)
        return failed;
    tkl_server_info info;
    int code = tkl_server_status(url, &info);
    if (code < 0)
        return cli_end(cli, code);
    failed = cli_print_record(cli, describe(cli, url, &info), fields);
    return failed || info.pid != 0 ? failed : cli_answered_no(cli, TKL_NOTFOUND, "not running");
}

/* ---- Files of the server ------------------------------------------------- */

/* Shows the state after a file was written; `code` is the outcome of writing it. */
static int end_written(cli_session *cli, const char *url, int code)
{
    tkl_server_info info;
    if (code == TKL_NOTFOUND)
        return cli_fail(cli, CLI_NO, "not running: %s", url);
    if (code == TKL_OK)
        code = tkl_server_status(url, &info);
    return code == TKL_OK ? cli_print_record(cli, describe(cli, url, &info), fields)
                          : cli_end(cli, code);
}

static int server_save(cli_session *cli)
{
    const char *url;
    int failed = directory_url(cli, &url);
    return failed ? failed : end_written(cli, url, tkl_server_save(url));
}

static int server_rewrite(cli_session *cli)
{
    const char *url;
    int failed = directory_url(cli, &url);
    return failed ? failed : end_written(cli, url, tkl_server_rewrite(url));
}

static int server_backup(cli_session *cli)
{
    const char *url;
    int failed = directory_url(cli, &url);
    return failed ? failed : end_written(cli, url, tkl_server_backup(url, cli->argv[0]));
}

/* ---- Functions ----------------------------------------------------------- */

static const cli_column library_columns[] = {
    {"name", "library"},        {"purpose", "for"}, {"version", "version"}, {"current", "current"},
    {"functions", "functions"}, {"bytes", "bytes"}, {"servers", "servers"}, {0},
};

static json_t *describe_library(const tkl_function_library *library)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:I, s:I, s:I}", "name", library->name, "component",
                     library->component, "purpose", cli_json_present(tkl_str(library->purpose)),
                     "version", cli_json_present(tkl_str(library->version)), "current",
                     library->is_current, "functions", (json_int_t)library->functions, "bytes",
                     (json_int_t)library->bytes, "servers", (json_int_t)library->servers);
}

/* Loads or removes libraries as the options say, then lists them. */
static int server_functions(cli_session *cli)
{
    bool load = cli_flag(cli, "load"), remove_old = cli_flag(cli, "remove-old");
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    int code = load ? tkl_functions_load(client, NULL) : TKL_OK;
    if (code == TKL_OK && remove_old)
        code = tkl_functions_remove_old(client, NULL);
    tkl_function_libraries *list;
    if (code == TKL_OK)
        code = tkl_functions_list(client, &list);
    if (code != TKL_OK)
        return cli_end(cli, code);
    json_t *rows = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(rows, describe_library(&list->items[i]));
    tkl_function_libraries_free(list);
    return cli_print_rows(cli, rows, library_columns);
}

static const cli_option functions_options[] = {
    {"load", CLI_FLAG, NULL, "load all functions of this version first"},
    {"remove-old", CLI_FLAG, NULL, "remove those of other versions first"},
    {0},
};

static const cli_option start_options[] = {
    {"durability", CLI_CHOICE, "none|snapshot|lazy|everysec|always",
     "what survives (default everysec)"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "start",
        .summary = "start the private server of a directory, unless it is running",
        .options = start_options,
        .details = "The directory is the one of --url embedded:/dir or TACKLE_URL, else\n"
                   "$XDG_DATA_HOME/tackle or ~/.local/share/tackle. Any command starts it when\n"
                   "needed. This verb chooses the durability, and prints where the server is.",
        .example = "tackle server start --durability everysec",
        .local = "it manages a server of this machine",
        .run = server_start,
    },
    {
        .name = "stop",
        .summary = "stop the private server; saves its data (durability none: nothing)",
        .details = "Exit code 1 when it was not running.",
        .example = "tackle server start\ntackle server stop",
        .local = "it manages a server of this machine",
        .run = server_stop,
    },
    {
        .name = "status",
        .summary = "whether the private server runs, where, and what is on disk",
        .details = "Exit code 1 when it is not running.",
        .example = "tackle server start\ntackle server status",
        .local = "it manages a server of this machine",
        .run = server_status,
    },
    {
        .name = "save",
        .summary = "write the snapshot of the private server now",
        .details = "Returns when the file is complete. Exit code 1 when it is not running. With\n"
                   "durability none nothing is kept: make a backup.",
        .example = "tackle server start\ntackle server save",
        .local = "it manages a server of this machine",
        .run = server_save,
    },
    {
        .name = "rewrite",
        .summary = "shorten the append-only file of the private server",
        .details = "The server does so by itself when the file has doubled. Returns when the new\n"
                   "file is complete. Exit code 1 when it is not running.",
        .example = "tackle server start\ntackle server rewrite",
        .local = "it manages a server of this machine",
        .run = server_rewrite,
    },
    {
        .name = "backup",
        .args = "DIR",
        .summary = "copy all data of the private server into a new directory",
        .details =
            "DIR/dump.rdb is a snapshot of this moment. 'tackle --url embedded:DIR' starts a\n"
            "server on it; a copy of the file in another new directory serves as well. Exit\n"
            "code 1 when the server is not running, or DIR has a backup already.",
        .example = "tackle server start\ntackle server backup \"$(mktemp -d)\"",
        .local = "it manages a server of this machine",
        .run = server_backup,
    },
    {
        .name = "functions",
        .summary = "list the functions that tackle has on the server",
        .options = functions_options,
        .details = "A program loads the functions of a component when it first needs them, and\n"
                   "servers keep them with their data. Programs of several versions can use one\n"
                   "server; --remove-old removes what this version does not use. --load is for\n"
                   "programs that may call functions and not load them.",
        .example = "tackle server functions --load",
        .local = "it manages a server of this machine",
        .run = server_functions,
    },
    {0},
};

static const cli_step demo[] = {
    {"A private server that outlives the command, in a directory of yours.",
     "tackle server start --url embedded:\"$DIR\"", 0},
    {"Everybody who names the directory uses the same one.",
     "tackle call SET greeting hello --url embedded:\"$DIR\"", 0},
    {"It can be stopped ...", "tackle server stop --url embedded:\"$DIR\"", 0},
    {"... and comes back with what it knew.", "tackle call GET greeting --url embedded:\"$DIR\"",
     0},
    {"That was it.", "tackle server stop --url embedded:\"$DIR\"", 0},
    {0},
};

const cli_component cli_server = {
    .name = "server",
    .summary = "the private server: start, stop, status, backup; functions on any server",
    .verbs = verbs,
    .demo = demo,
};
