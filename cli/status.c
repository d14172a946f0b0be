/* SPDX-License-Identifier: MIT
 *
 * `tackle status`: everything on one screen. Each part is read by itself: one that cannot be read
 * says why, and the others go on.
 */
#include <stdio.h>
#include <string.h>

#include "info.h"
#include "limit.h"
#include "lines.h"
#include "out.h"

/* How many channels and indexes are looked into: each is a round trip. */
#define LOOKED_AT 20

/* ---- Parts --------------------------------------------------------------- */

/* A part that could not be read: {"error": "TKL_EAUTH", "message": "..."}. */
static json_t *part_error(int code)
{
    return json_pack("{s:s, s:s}", "error", tkl_codename(code), "message", tkl_errmsg());
}

static bool is_error(const json_t *part)
{
    return json_is_object(part) && json_object_get(part, "error") != NULL &&
           json_object_get(part, "message") != NULL;
}

/* Takes over `rows`. */
static json_t *part_of(int code, json_t *rows)
{
    if (code == TKL_OK)
        return rows;
    json_t *error = part_error(code);
    json_decref(rows);
    return error;
}

static json_t *read_server(tkl_client *client)
{
    tkl_reply *info = NULL;
    int code = cli_info_read(client, &info);
    if (code != TKL_OK)
        return part_error(code);
    json_t *server = cli_info_json(tkl_reply_str(info));
    tkl_reply_free(info);
    return server;
}

static json_t *read_queues(tkl_client *client)
{
    tkl_queue_overview *all = NULL;
    json_t *rows = json_array();
    int code = tkl_queue_overview_get(client, &all);
    for (size_t i = 0; code == TKL_OK && i < all->count; i++) {
        const tkl_queue_summary *q = &all->items[i];
        const tkl_queue_stats *s = &q->stats;
        json_array_append_new(
            rows,
            json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o}", "name",
                      cli_json_bytes(q->name), "ready", (json_int_t)s->ready, "delayed",
                      (json_int_t)s->delayed, "held", (json_int_t)s->held, "active",
                      (json_int_t)s->active, "dead", (json_int_t)s->dead, "failed",
                      (json_int_t)s->failed, "waiters", (json_int_t)s->waiters, "paused",
                      (int)s->paused, "oldest_ms",
                      s->ready > 0 ? json_integer((json_int_t)s->oldest_ms) : json_null(), "error",
                      q->code == TKL_OK ? json_null() : json_string(tkl_codename(q->code))));
    }
    tkl_queue_overview_free(all);
    return part_of(code, rows);
}

/* Locks, semaphores and leaders: who holds them longest, and how many wait. */
static json_t *read_holds(tkl_client *client,
                          int (*read)(tkl_client *client, tkl_hold_overview **overview))
{
    tkl_hold_overview *all = NULL;
    json_t *rows = json_array();
    int code = read(client, &all);
    for (size_t i = 0; code == TKL_OK && i < all->count; i++) {
        const tkl_holders *h = all->items[i].holders;
        const tkl_holder *first = h != NULL && h->count > 0 ? &h->items[0] : NULL;
        json_array_append_new(
            rows,
            json_pack("{s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                      cli_json_bytes(all->items[i].name), "held", (json_int_t)(h ? h->held : 0),
                      "limit",
                      h != NULL && h->limit > 0 ? json_integer((json_int_t)h->limit) : json_null(),
                      "waiters", (json_int_t)(h ? h->waiters : 0), "host",
                      first ? cli_json_present(first->host) : json_null(), "pid",
                      first ? json_integer((json_int_t)first->pid) : json_null(), "label",
                      first ? cli_json_present(first->label) : json_null(), "since_ms",
                      first ? json_integer((json_int_t)first->since_ms) : json_null(), "left_ms",
                      first ? json_integer((json_int_t)first->left_ms) : json_null(), "error",
                      h != NULL ? json_null() : json_string(tkl_codename(all->items[i].code))));
    }
    tkl_hold_overview_free(all);
    return part_of(code, rows);
}

/* Ends the view: which servers did not answer. */
static json_t *read_missing(tkl_client *client)
{
    tkl_names *missing = NULL;
    int code = tkl_lenient_end(client, &missing);
    json_t *servers = code == TKL_OK ? cli_missing_json(missing) : part_error(code);
    tkl_names_free(missing);
    return servers;
}

static json_t *read_limits(tkl_client *client)
{
    json_t *rows = json_array();
    int code = cli_limit_refusals_read(client, 0, rows);
    return part_of(code, rows);
}

/* Adds members to the row of a name, with null for parts that cannot be read. */
typedef void look_at(tkl_client *client, tkl_bytes name, json_t *row);

/* A row for each name. Only the first LOOKED_AT are looked at: each costs a round trip. */
static json_t *read_named(tkl_client *client, int (*read)(tkl_client *client, tkl_names **names),
                          look_at *look, const char *const members[])
{
    tkl_names *names = NULL;
    json_t *rows = json_array();
    int code = read(client, &names);
    for (size_t i = 0; code == TKL_OK && i < names->count; i++) {
        json_t *row = json_pack("{s:o}", "name", cli_json_bytes(names->items[i]));
        for (size_t m = 0; members[m] != NULL; m++)
            json_object_set_new(row, members[m], json_null());
        if (i < LOOKED_AT)
            look(client, names->items[i], row);
        json_array_append_new(rows, row);
    }
    tkl_names_free(names);
    return part_of(code, rows);
}

static void look_at_service(tkl_client *client, tkl_bytes name, json_t *row)
{
    tkl_service *service = NULL;
    tkl_service_instances *all = NULL;
    if (tkl_service_open(client, name, NULL, &service) == TKL_OK &&
        tkl_service_list(service, &all) == TKL_OK)
        json_object_set_new(row, "instances", json_integer((json_int_t)all->count));
    tkl_service_instances_free(all);
    tkl_service_close(service);
}

static void look_at_files(tkl_client *client, tkl_bytes name, json_t *row)
{
    tkl_files *files = NULL;
    tkl_files_info *info = NULL;
    if (tkl_files_open(client, name, NULL, &files) == TKL_OK &&
        tkl_files_status(files, &info) == TKL_OK) {
        json_object_set_new(row, "files", json_integer((json_int_t)info->file_count));
        json_object_set_new(row, "bytes", json_integer((json_int_t)info->bytes));
    }
    tkl_files_info_free(info);
    tkl_files_close(files);
}

static void look_at_index(tkl_client *client, tkl_bytes name, json_t *row)
{
    tkl_search *search = NULL;
    tkl_search_info *info = NULL;
    if (tkl_search_open(client, name, NULL, &search) == TKL_OK &&
        tkl_search_show(search, &info) == TKL_OK)
        json_object_set_new(row, "documents", json_integer((json_int_t)info->documents));
    tkl_search_info_free(info);
    tkl_search_close(search);
}

/* ---- One screen ---------------------------------------------------------- */

static void print_part(const cli_session *cli, const char *title, json_t *part,
                       const cli_column *columns)
{
    if (is_error(part)) {
        printf("\n%s%s%s\n  not known: %s\n", cli_color(stdout, CLI_BOLD), title,
               cli_color(stdout, CLI_PLAIN), json_string_value(json_object_get(part, "message")));
        return;
    }
    if (json_array_size(part) == 0)
        return;
    printf("\n%s%s%s\n", cli_color(stdout, CLI_BOLD), title, cli_color(stdout, CLI_PLAIN));
    cli_print_rows(cli, json_incref(part), columns);
}

static void print_memory(const json_t *server)
{
    double used = (double)json_integer_value(json_object_get(server, "memory")) / 1048576;
    const json_t *most = json_object_get(server, "memory_max");
    printf("memory   %.1f MB of ", used);
    if (json_is_null(most))
        printf("any, ");
    else
        printf("%.1f MB, ", (double)json_integer_value(most) / 1048576);
    printf("%s\n", json_string_value(json_object_get(server, "policy")));
}

static void print_server(const json_t *server)
{
    char uptime[CLI_DURATION_SIZE];
    if (is_error(server)) {
        printf("server   not known: %s\n", json_string_value(json_object_get(server, "message")));
        return;
    }
    printf("server   %s %s, %s, up %s\n", json_string_value(json_object_get(server, "program")),
           json_string_value(json_object_get(server, "version")),
           json_string_value(json_object_get(server, "role")),
           cli_duration_text(json_integer_value(json_object_get(server, "uptime_ms")), uptime));
    print_memory(server);
    printf("saves    append-only file %s, last snapshot %s\n",
           json_is_true(json_object_get(server, "aof")) ? "on" : "off",
           json_string_value(json_object_get(server, "last_save")));
    printf("clients  %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
           " commands a second, %" JSON_INTEGER_FORMAT " replicas\n",
           json_integer_value(json_object_get(server, "clients")),
           json_integer_value(json_object_get(server, "commands_per_second")),
           json_integer_value(json_object_get(server, "replicas")));
}

static const cli_column queue_columns[] = {
    {"name", "NAME"},     {"ready", "READY"},      {"delayed", "DELAYED"}, {"held", "HELD"},
    {"active", "ACTIVE"}, {"dead", "DEAD"},        {"failed", "FAILED"},   {"waiters", "WAITERS"},
    {"paused", "PAUSED"}, {"oldest_ms", "OLDEST"}, {"error", "ERROR"},     {0}};
static const cli_column hold_columns[] = {{"name", "NAME"},
                                          {"held", "HELD"},
                                          {"limit", "LIMIT"},
                                          {"waiters", "WAITERS"},
                                          {"host", "HOST"},
                                          {"pid", "PID"},
                                          {"label", "LABEL"},
                                          {"since_ms", "SINCE"},
                                          {"left_ms", "LEASE LEFT"},
                                          {"error", "ERROR"},
                                          {0}};
static const cli_column service_columns[] = {{"name", "NAME"}, {"instances", "INSTANCES"}, {0}};
static const cli_column file_columns[] = {
    {"name", "CHANNEL"}, {"files", "FILES"}, {"bytes", "BYTES"}, {0}};
static const cli_column index_columns[] = {{"name", "NAME"}, {"documents", "DOCUMENTS"}, {0}};

static void print_status(const cli_session *cli, const json_t *status)
{
    static const struct {
        const char *key, *title;
        const cli_column *columns;
    } parts[] = {{"queues", "Queues", queue_columns},
                 {"locks", "Locks", hold_columns},
                 {"semaphores", "Semaphores", hold_columns},
                 {"leaders", "Leaders", hold_columns},
                 {"limits", "Limits that refused lately", cli_limit_refusals_columns},
                 {"services", "Services", service_columns},
                 {"files", "Files", file_columns},
                 {"indexes", "Indexes", index_columns}};
    print_server(json_object_get(status, "server"));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        print_part(cli, parts[i].title, json_object_get(status, parts[i].key), parts[i].columns);
}

/* CLI_OK when at least one part could be read; else the exit code of the first. */
static int exit_of_parts(const cli_session *cli, const json_t *status)
{
    const char *key;
    json_t *part;
    json_object_foreach((json_t *)(uintptr_t)status, key, part) if (!is_error(part)) return CLI_OK;
    const json_t *server = json_object_get(status, "server");
    bool denied = strcmp(json_string_value(json_object_get(server, "error")), "TKL_EAUTH") == 0;
    return cli_fail(cli, denied ? CLI_NOT_PERMITTED : CLI_UNREACHABLE, "%s",
                    json_string_value(json_object_get(server, "message")));
}

static int status_run(cli_session *cli)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    json_t *status = json_object();
    tkl_lenient_begin();
    json_object_set_new(status, "server", read_server(client));
    const char *ping[] = {"PING"};
    int code = tkl_call(client, 1, ping, NULL, &(tkl_call_options){.retry_safe = true}, NULL);
    if (code != TKL_OK && code != TKL_EAUTH) { /* do not wait again for each part */
        json_decref(status);
        failed = cli_end(cli, code);
        json_decref(read_missing(client));
        return failed;
    }
    json_object_set_new(status, "queues", read_queues(client));
    json_object_set_new(status, "locks", read_holds(client, tkl_lock_overview));
    json_object_set_new(status, "semaphores", read_holds(client, tkl_semaphore_overview));
    json_object_set_new(status, "leaders", read_holds(client, tkl_leader_overview));
    json_object_set_new(status, "limits", read_limits(client));
    json_object_set_new(status, "services",
                        read_named(client, tkl_service_names, look_at_service,
                                   (const char *const[]){"instances", NULL}));
    json_object_set_new(status, "files",
                        read_named(client, tkl_files_names, look_at_files,
                                   (const char *const[]){"files", "bytes", NULL}));
    json_object_set_new(status, "indexes",
                        read_named(client, tkl_search_names, look_at_index,
                                   (const char *const[]){"documents", NULL}));
    failed = exit_of_parts(cli, status);
    json_object_set_new(status, "missing", read_missing(client));
    if (!failed && cli->json)
        return cli_print_json(cli, status);
    if (!failed)
        print_status(cli, status);
    json_decref(status);
    return failed;
}

static const cli_verb verbs[] = {
    {
        .summary = "everything on one screen: server, queues, locks, limits, services and more",
        .options = cli_list_options,
        .details =
            "A part that cannot be read says why, and the others go on. With --json it is an\n"
            "object with \"error\" and \"message\".",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle status\n"
                   "tackle status --json\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = status_run,
    },
    {0},
};

const cli_component cli_status = {
    .name = "status",
    .summary = "everything on one screen",
    .verbs = verbs,
};
