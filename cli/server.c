/* SPDX-License-Identifier: MIT
 *
 * The persistent private server of a directory.
 */
#include <inttypes.h>
#include <stdio.h>
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

/* Says what a crash or a power cut would lose now. A stop loses data only with the durability
 * "none". */
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
static json_t *describe_server(const cli_session *cli, const char *url, const tkl_server_info *info)
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
    return code == TKL_OK ? cli_print_record(cli, describe_server(cli, url, &info), fields)
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
    return code == TKL_OK
               ? cli_print_record(cli, describe_server(cli, url, &(tkl_server_info){0}), fields)
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
    failed = cli_print_record(cli, describe_server(cli, url, &info), fields);
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
    return code == TKL_OK ? cli_print_record(cli, describe_server(cli, url, &info), fields)
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

/* ---- Clients, memory ----------------------------------------------------- */

static const cli_column client_columns[] = {
    {"id", "ID"},     {"name", "NAME"},    {"address", "ADDRESS"},
    {"user", "USER"}, {"kind", "KIND"},    {"age", "AGE"},
    {"idle", "IDLE"}, {"command", "LAST"}, {0},
};

static json_t *describe_client(const cli_session *cli, const tkl_client_info *info)
{
    char age[CLI_DURATION_SIZE], idle[CLI_DURATION_SIZE];
    json_t *row = json_pack("{s:I, s:o, s:o, s:o, s:s, s:o}", "id", (json_int_t)info->id, "name",
                            cli_json_present(tkl_str(info->name)), "address",
                            cli_json_present(tkl_str(info->address)), "user",
                            cli_json_present(tkl_str(info->user)), "kind", info->kind, "command",
                            cli_json_present(tkl_str(info->command)));
    if (!cli->json) {
        json_object_set_new(row, "age", json_string(cli_duration_text(info->age_ms, age)));
        json_object_set_new(row, "idle", json_string(cli_duration_text(info->idle_ms, idle)));
        return row;
    }
    json_object_set_new(row, "age_ms", json_integer((json_int_t)info->age_ms));
    json_object_set_new(row, "idle_ms", json_integer((json_int_t)info->idle_ms));
    json_object_set_new(row, "memory",
                        info->memory > 0 ? json_integer((json_int_t)info->memory) : json_null());
    return row;
}

static int server_clients(cli_session *cli)
{
    tkl_client *client = NULL;
    tkl_clients *list;
    int64_t max = cli_number(cli, "max", 100);
    if (max < 1 || max > TKL_CLIENTS_MAX)
        return cli_usage(cli, "--max is 1 to %d", TKL_CLIENTS_MAX);
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    int code = tkl_overview_clients(client, (size_t)max, &list);
    if (code != TKL_OK)
        return cli_end(cli, code);
    json_t *rows = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(rows, describe_client(cli, &list->items[i]));
    int64_t connected = list->connected, listed = (int64_t)list->count;
    json_t *counts = json_pack("{s:I, s:I, s:I}", "connected", (json_int_t)connected, "blocked",
                               (json_int_t)list->blocked, "most", (json_int_t)list->most);
    tkl_clients_free(list);
    if (cli->json) {
        json_object_set_new(counts, "connections", rows);
        return cli_print_json(cli, counts);
    }
    json_decref(counts);
    failed = cli_print_rows(cli, rows, client_columns);
    if (!failed && listed < connected)
        fprintf(stderr, "The last %" PRId64 " of %" PRId64 " connections\n", listed, connected);
    return failed;
}

static const cli_column memory_columns[] = {
    {"component", "COMPONENT"},
    {"key_count", "KEYS"},
    {"size", "SIZE"},
    {0},
};

static json_t *describe_memory(const cli_session *cli, const tkl_memory_item *item)
{
    char size[32];
    snprintf(size, sizeof size, "%.1f MB", (double)item->bytes / 1048576);
    json_t *row = json_pack("{s:o, s:I}", "component",
                            *item->component == '\0' && !cli->json
                                ? json_string("(other keys)")
                                : cli_json_present(tkl_str(item->component)),
                            "key_count", (json_int_t)item->keys);
    if (cli->json)
        json_object_set_new(row, "bytes", json_integer((json_int_t)item->bytes));
    else
        json_object_set_new(row, "size", json_string(size));
    return row;
}

static int server_memory(cli_session *cli)
{
    tkl_client *client = NULL;
    tkl_memory *memory;
    int64_t sample = cli_number(cli, "sample", 5000);
    if (sample < 1 || sample > TKL_MEMORY_SAMPLE_MAX)
        return cli_usage(cli, "--sample is 1 to %d", TKL_MEMORY_SAMPLE_MAX);
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    int code = tkl_overview_memory(client, sample, &memory);
    if (code != TKL_OK)
        return cli_end(cli, code);
    json_t *rows = json_array();
    for (size_t i = 0; i < memory->count; i++)
        json_array_append_new(rows, describe_memory(cli, &memory->items[i]));
    int64_t keys = memory->keys, measured = memory->measured;
    bool is_exact = memory->is_exact;
    tkl_memory_free(memory);
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:I, s:I, s:b, s:o}", "key_count", (json_int_t)keys,
                                             "measured", (json_int_t)measured, "exact", is_exact,
                                             "components", rows));
    failed = cli_print_rows(cli, rows, memory_columns);
    if (!failed && !is_exact)
        fprintf(stderr, "An estimate from %" PRId64 " of %" PRId64 " keys\n", measured, keys);
    return failed;
}

static const cli_option clients_options[] = {
    {"max", CLI_INTEGER, "N",
     "print at most N, up to 1000, those that connected last (default 100)"},
    {0},
};

static const cli_option memory_options[] = {
    {"sample", CLI_INTEGER, "N", "look at N keys besides the large ones (default 5000)"},
    {0},
};

static const cli_option functions_options[] = {
    {"load", CLI_LOCAL_FLAG, NULL, "load all functions of this version first"},
    {"remove-old", CLI_LOCAL_FLAG, NULL, "remove those of other versions first"},
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
        .effect = CLI_READS,
        .run = server_functions,
    },
    {
        .name = "clients",
        .summary = "who is connected to the server",
        .options = clients_options,
        .details = "LAST is the last command, without its arguments. With more than 1000\n"
                   "connections only the newest are looked at, so that the server is not held up.\n"
                   "In a cluster it is one of the masters.",
        .example = "tackle server clients --max 10",
        .effect = CLI_READS,
        .run = server_clients,
    },
    {
        .name = "memory",
        .summary = "estimate how much memory each component takes",
        .options = memory_options,
        .details =
            "From a sample of all keys, and the large keys of the names that were used last:\n"
            "the 100 of each component. With fewer keys than the sample all are counted.\n"
            "The server serves others in between.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle server memory\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = server_memory,
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
    .summary =
        "the private server: start, stop, status, backup; on any server clients, memory, functions",
    .verbs = verbs,
    .demo = demo,
};
