/* SPDX-License-Identifier: MIT */
#include "holders.h"

/* ---- Claims -------------------------------------------------------------- */

const cli_column cli_claim_fields[] = {
    {"name", "name"},
    {"token", "token"},
    {"fence", "fence"},
    {"ttl_ms", "ttl ms"},
    {"held", "held"},
    {"limit", "limit"},
    {0},
};

json_t *cli_claim(tkl_bytes name, const char *token, uint64_t fence, int64_t ttl_ms)
{
    return json_pack("{s:o, s:s, s:I, s:I}", "name", cli_json_bytes(name), "token", token, "fence",
                     (json_int_t)fence, "ttl_ms", (json_int_t)ttl_ms);
}

int cli_print_done(const cli_session *cli, const char *what)
{
    if (!cli->json)
        return CLI_OK;
    return cli_print_json(
        cli, json_pack("{s:o, s:b}", "name", cli_json_bytes(tkl_str(cli->argv[0])), what, true));
}

/* ---- Holders ------------------------------------------------------------- */

static const cli_column holder_columns[] = {
    {"host", "HOST"},
    {"pid", "PID"},
    {"label", "LABEL"},
    {"fence", "FENCE"},
    {"ttl_ms", "TTL MS"},
    {"since_ms", "SINCE MS"},
    {0},
};

static const cli_column held_columns[] = {
    {"name", "NAME"},       {"shared", "SHARED"}, {"count", "HOLDERS"},
    {"waiters", "WAITING"}, {"host", "HOST"},     {"pid", "PID"},
    {"label", "LABEL"},     {"ttl_ms", "TTL MS"}, {0},
};

static json_t *json_holder(const tkl_holder *holder)
{
    return json_pack("{s:o, s:I, s:o, s:I, s:I, s:I}", "host", cli_json_bytes(holder->host), "pid",
                     (json_int_t)holder->pid, "label", cli_json_bytes(holder->label), "fence",
                     (json_int_t)holder->fence, "ttl_ms", (json_int_t)holder->ttl_ms, "since_ms",
                     (json_int_t)holder->since_ms);
}

json_t *cli_json_holders(const tkl_holders *holders)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < holders->count; i++)
        if (json_array_append_new(array, json_holder(&holders->items[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

int cli_print_holders(const cli_session *cli, json_t *object, const cli_column *fields)
{
    json_t *holders = json_incref(json_object_get(object, "holders"));
    int failed = cli_print_record(cli, object, fields);
    if (failed || cli->json || json_array_size(holders) == 0) {
        json_decref(holders);
        return failed;
    }
    putchar('\n');
    return cli_print_rows(cli, holders, holder_columns);
}

/* A line of the list: the object itself and its first holder in one. */
static json_t *flatten(json_t *object)
{
    json_t *row = json_copy(object);
    json_t *holders = json_object_get(object, "holders");
    if (json_object_update(row, json_array_get(holders, 0)) == 0 &&
        json_object_set_new(row, "count", json_integer((json_int_t)json_array_size(holders))) == 0)
        return row;
    json_decref(row);
    return NULL;
}

int cli_print_held(const cli_session *cli, json_t *objects)
{
    if (cli->json)
        return cli_print_json(cli, objects);
    json_t *rows = json_array();
    for (size_t i = 0; rows != NULL && i < json_array_size(objects); i++)
        if (json_array_append_new(rows, flatten(json_array_get(objects, i))) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    json_decref(objects);
    return cli_print_rows(cli, rows, held_columns);
}
