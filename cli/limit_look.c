/* SPDX-License-Identifier: MIT
 *
 * Rate limits from the shell: which are in use, and what a key has used.
 */
#include <stdio.h>
#include <stdlib.h>

#include "limit.h"
#include "lines.h"
#include "out.h"

/* The keys of the limit that the first argument names. */
static int list_keys(cli_session *cli)
{
    static const cli_column columns[] = {{"key", "KEY"}, {0}};
    tkl_client *client = NULL;
    tkl_names *keys = NULL;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_limit_keys(client, tkl_str(cli->argv[0]), &keys));
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < keys->count; i++)
        json_array_append_new(rows,
                              json_pack("{s:o, s:o}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                                        "key", cli_json_bytes(keys->items[i])));
    tkl_names_free(keys);
    return cli_print_rows(cli, rows, columns);
}

int cli_limit_list(cli_session *cli)
{
    return cli->argc > 0 ? list_keys(cli) : cli_list(cli, tkl_limit_names);
}

static json_t *refusals_json(const tkl_limit_refusals *r)
{
    json_t *keys = json_array();
    for (size_t i = 0; i < r->key_count; i++)
        json_array_append_new(keys, json_pack("{s:o, s:I}", "key", cli_json_bytes(r->keys[i].key),
                                              "refused", (json_int_t)r->keys[i].refused));
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "name", cli_json_bytes(r->name),
                     "this_hour", (json_int_t)r->this_hour, "last_hour", (json_int_t)r->last_hour,
                     "refused", (json_int_t)r->refused, "allowed_checks", (json_int_t)r->allowed,
                     "last_at", cli_json_time(r->last_ms), "keys", keys, "error",
                     r->code == TKL_OK ? json_null() : json_string(tkl_codename(r->code)));
}

const cli_column cli_limit_refusals_columns[] = {{"name", "NAME"},
                                                 {"this_hour", "THIS HOUR"},
                                                 {"last_hour", "LAST HOUR"},
                                                 {"refused", "REFUSED"},
                                                 {"last_at", "LAST"},
                                                 {"error", "ERROR"},
                                                 {0}};

/* For qsort(): limits that refused more in these two hours come first; then the order of names. */
static int order_by_refused(const void *a, const void *b)
{
    const tkl_limit_refusals *one = *(const tkl_limit_refusals *const *)a,
                             *other = *(const tkl_limit_refusals *const *)b;
    int64_t more = other->this_hour + other->last_hour - one->this_hour - one->last_hour;
    return more != 0 ? (more > 0) - (more < 0) : (one > other) - (one < other);
}

/* The `max` limits that refused most, as rows. */
static int add_most_refusing(const tkl_limit_overview *all, size_t max, json_t *rows)
{
    const tkl_limit_refusals **order = calloc(all->count + 1, sizeof(tkl_limit_refusals *));
    if (order == NULL)
        return TKL_ENOMEM;
    for (size_t i = 0; i < all->count; i++)
        order[i] = &all->items[i];
    qsort(order, all->count, sizeof(tkl_limit_refusals *), order_by_refused);
    for (size_t i = 0; i < all->count && i < max; i++)
        json_array_append_new(rows, refusals_json(order[i]));
    free(order);
    return TKL_OK;
}

int cli_limit_refusals_read(tkl_client *client, size_t max, json_t *rows)
{
    tkl_limit_overview *all = NULL;
    int code = tkl_limit_overview_get(client, &all);
    if (code == TKL_OK && max > 0)
        code = add_most_refusing(all, max, rows);
    for (size_t i = 0; code == TKL_OK && max == 0 && i < all->count; i++)
        json_array_append_new(rows, refusals_json(&all->items[i]));
    tkl_limit_overview_free(all);
    return code;
}

/* For people: a row for each key, those of a limit side by side. */
static int print_refused_keys(const cli_session *cli, const json_t *limits)
{
    static const cli_column columns[] = {
        {"name", "NAME"}, {"key", "KEY"}, {"refused", "REFUSED"}, {0}};
    json_t *rows = json_array();
    size_t i, k;
    json_t *limit, *key;
    json_array_foreach((json_t *)(uintptr_t)limits, i, limit)
        json_array_foreach(json_object_get(limit, "keys"), k, key)
    {
        json_object_set(key, "name", json_object_get(limit, "name"));
        json_array_append(rows, key);
    }
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return CLI_OK;
    }
    putchar('\n');
    return cli_print_rows(cli, rows, columns);
}

int cli_limit_refused(cli_session *cli)
{
    size_t max = (size_t)cli_number(cli, "max", 0); /* 0: all */
    if (cli_number(cli, "max", 1) < 1)
        return cli_usage(cli, "--max is 1 or more");
    tkl_client *client = NULL;
    json_t *rows = json_array();
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, cli_limit_refusals_read(client, max, rows));
    json_t *again = json_incref(rows);
    if (!failed)
        failed = cli_print_rows(cli, rows, cli_limit_refusals_columns);
    else
        json_decref(rows);
    if (!failed && !cli->json)
        failed = print_refused_keys(cli, again);
    json_decref(again);
    return failed;
}

/* null where the algorithm has no burst; 0 where it allows none. */
static json_t *burst_json(const tkl_limit_rule *rule)
{
    if (rule->burst == 0)
        return json_null();
    return json_integer(rule->burst == TKL_NONE ? 0 : rule->burst);
}

/* A number of a usage, or null where the rule is not known. */
static json_t *known_number(const tkl_limit_usage *usage, int64_t number)
{
    return usage->rule.count > 0 ? json_integer(number) : json_null();
}

/* The newest checks; null for algorithms that do not store them. */
static json_t *takes_json(const tkl_limit_usage *u)
{
    if (u->rule.algorithm != TKL_LIMIT_WINDOW && u->rule.algorithm != TKL_LIMIT_CONCURRENCY)
        return json_null();
    json_t *takes = json_array();
    for (size_t i = 0; i < u->take_count; i++)
        json_array_append_new(
            takes, json_pack("{s:o, s:I, s:b}", "at", cli_json_time(u->takes[i].at_ms), "quantity",
                             (json_int_t)u->takes[i].quantity, "denied", u->takes[i].denied));
    return takes;
}

static json_t *usage_json(const cli_session *cli, const tkl_limit_usage *u)
{
    return json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        cli_json_bytes(tkl_str(cli->argv[0])), "key", cli_json_bytes(tkl_str(cli->argv[1])),
        "algorithm", tkl_limit_algorithm_name(u->rule.algorithm), "count",
        known_number(u, u->rule.count), "period_ms", known_number(u, u->rule.period_ms), "burst",
        burst_json(&u->rule), "limit", known_number(u, u->limit), "taken",
        known_number(u, u->taken), "remaining", known_number(u, u->remaining), "next_after_ms",
        known_number(u, u->next_after_ms), "reset_after_ms", known_number(u, u->reset_after_ms),
        "last_at", cli_json_time(u->last_ms), "takes", takes_json(u));
}

/* For people: the numbers, and a table of what was taken when. */
static int print_usage(const cli_session *cli, json_t *object, const cli_column *columns)
{
    static const cli_column take_columns[] = {
        {"at", "TAKEN AT"}, {"quantity", "QUANTITY"}, {"denied", "DENIED"}, {0}};
    json_t *takes = json_incref(json_object_get(object, "takes"));
    int failed = cli_print_record(cli, object, columns);
    if (!failed && !cli->json && json_array_size(takes) > 0) {
        putchar('\n');
        return cli_print_rows(cli, takes, take_columns);
    }
    json_decref(takes);
    return failed;
}

int cli_limit_end_of_key(const cli_session *cli, int code)
{
    if (code != TKL_NOTFOUND)
        return cli_end(cli, code);
    return cli_no(cli, code, "'%s' has taken nothing of the limit '%s'", cli->argv[1],
                  cli->argv[0]);
}

int cli_limit_show(cli_session *cli)
{
    static const cli_column columns[] = {
        {"name", "name"},
        {"key", "key"},
        {"algorithm", "algorithm"},
        {"count", "count"},
        {"period_ms", "period"},
        {"burst", "burst"},
        {"limit", "at most at once"},
        {"taken", "taken"},
        {"remaining", "remain"},
        {"next_after_ms", "next fits in"},
        {"reset_after_ms", "unused in"},
        {"last_at", "last counted"},
        {0},
    };
    tkl_client *client = NULL;
    tkl_limit_usage *usage = NULL;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_limit_end_of_key(
            cli, tkl_limit_show(client, tkl_str(cli->argv[0]), tkl_str(cli->argv[1]), &usage));
    if (!failed)
        failed = print_usage(cli, usage_json(cli, usage), columns);
    tkl_limit_usage_free(usage);
    return failed;
}
