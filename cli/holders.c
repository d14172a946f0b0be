/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "holders.h"

/* ---- Claims -------------------------------------------------------------- */

static const cli_column claim_fields[] = {
    {"name", "name"}, {"token", "token"}, {"fence", "fence"}, {"lease_ms", "lease"}, {0},
};

int cli_print_claim(const cli_session *cli, const char *token, uint64_t fence, int64_t lease_ms)
{
    json_t *claim =
        json_pack("{s:o, s:s, s:I, s:I}", "name", cli_json_bytes(tkl_str(cli->argv[0])), "token",
                  token, "fence", (json_int_t)fence, "lease_ms", (json_int_t)lease_ms);
    return cli_print_record(cli, claim, claim_fields);
}

int cli_print_done(const cli_session *cli, const char *what)
{
    if (!cli->json)
        return CLI_OK;
    return cli_print_json(
        cli, json_pack("{s:o, s:b}", "name", cli_json_bytes(tkl_str(cli->argv[0])), what, true));
}

/* ---- Holders and waiters ------------------------------------------------- */

static const cli_column hold_fields[] = {
    {"name", "name"},     {"held", "held"},       {"limit", "limit"},
    {"shared", "shared"}, {"waiters", "waiters"}, {0},
};

static const cli_column holder_columns[] = {
    {"host", "HOLDER"},
    {"pid", "PID"},
    {"label", "LABEL"},
    {"fence", "FENCE"},
    {"since_ms", "SINCE"},
    {"left_ms", "LEASE LEFT"},
    {0},
};

static const cli_column lock_waiter_columns[] = {
    {"host", "WAITER"}, {"pid", "PID"}, {"label", "LABEL"}, {"shared", "SHARED"}, {0},
};

static const cli_column permit_waiter_columns[] = {
    {"host", "WAITER"},
    {"pid", "PID"},
    {"label", "LABEL"},
    {0},
};

#define HOLDER_COLUMNS                                                            \
    {"waiters", "WAITERS"}, {"host", "HOST"}, {"pid", "PID"}, {"label", "LABEL"}, \
        {"since_ms", "SINCE"},                                                    \
    {                                                                             \
        "left_ms", "LEASE LEFT"                                                   \
    }

static const cli_column held_lock_columns[] = {
    {"name", "NAME"}, {"held", "HELD"}, {"shared", "SHARED"}, HOLDER_COLUMNS, {0},
};

static const cli_column held_permit_columns[] = {
    {"name", "NAME"}, {"held", "HELD"}, {"limit", "LIMIT"}, HOLDER_COLUMNS, {0},
};

/* A semaphore has a limit, a lock may be shared. */
static bool has_limit(const cli_session *cli)
{
    return strcmp(cli->component->name, "sem") == 0;
}

static json_t *json_holder(const tkl_holder *holder)
{
    return json_pack("{s:o, s:I, s:o, s:I, s:I, s:I}", "host", cli_json_bytes(holder->host), "pid",
                     (json_int_t)holder->pid, "label", cli_json_present(holder->label), "fence",
                     (json_int_t)holder->fence, "left_ms", (json_int_t)holder->left_ms, "since_ms",
                     (json_int_t)holder->since_ms);
}

static json_t *json_holders(const tkl_holders *holders)
{
    json_t *array = json_array();
    for (size_t i = 0; i < holders->count; i++)
        json_array_append_new(array, json_holder(&holders->items[i]));
    return array;
}

static json_t *json_line(const cli_session *cli, const tkl_holders *holders)
{
    json_t *array = json_array();
    for (size_t i = 0; i < holders->line_count; i++) {
        const tkl_holder_waiting *waiter = &holders->line[i];
        json_t *object =
            json_pack("{s:o, s:I, s:o}", "host", cli_json_bytes(waiter->host), "pid",
                      (json_int_t)waiter->pid, "label", cli_json_present(waiter->label));
        if (!has_limit(cli))
            json_object_set_new(object, "shared", json_boolean(waiter->shared));
        json_array_append_new(array, object);
    }
    return array;
}

json_t *cli_json_hold(const cli_session *cli, tkl_bytes name, const tkl_holders *holders)
{
    bool limited = has_limit(cli), shared = holders->held > 0 && holders->shared;
    /* The server forgets the limit when the last permit is returned. */
    return json_pack("{s:o, s:I, s:o, s:o, s:I, s:o}", "name", cli_json_bytes(name), "held",
                     (json_int_t)holders->held, limited ? "limit" : "shared",
                     limited ? cli_json_known(holders->limit) : json_boolean(shared), "holders",
                     json_holders(holders), "waiters", (json_int_t)holders->waiters, "line",
                     json_line(cli, holders));
}

/* Prints a table below the fields, unless it is empty. Frees the rows. */
int cli_print_holders(const cli_session *cli, json_t *object)
{
    json_t *holders = json_incref(json_object_get(object, "holders"));
    json_t *line = json_incref(json_object_get(object, "line"));
    int failed = cli_print_record(cli, object, hold_fields);
    if (failed || cli->json) {
        json_decref(holders);
        json_decref(line);
        return failed;
    }
    failed = cli_print_more_rows(cli, holders, holder_columns);
    if (!failed)
        return cli_print_more_rows(cli, line,
                                   has_limit(cli) ? permit_waiter_columns : lock_waiter_columns);
    json_decref(line);
    return failed;
}

/* A line of the list: the object itself and its first holder in one. */
static json_t *flatten_hold(json_t *object)
{
    json_t *row = json_copy(object);
    json_t *first = json_array_get(json_object_get(object, "holders"), 0);
    if (first != NULL)
        json_object_update(row, first);
    return row;
}

int cli_print_held(const cli_session *cli, json_t *objects)
{
    if (cli->json)
        return cli_print_json(cli, objects);
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(objects); i++)
        json_array_append_new(rows, flatten_hold(json_array_get(objects, i)));
    json_decref(objects);
    return cli_print_rows(cli, rows, has_limit(cli) ? held_permit_columns : held_lock_columns);
}
