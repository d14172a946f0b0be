/* SPDX-License-Identifier: MIT
 *
 * Bitmaps and packed numbers from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "lines.h"
#include "out.h"
#include "value.h"

/* Opens the bitmap that the argument names. */
static int open_bits(cli_session *cli, int index, int64_t ttl_ms, tkl_bits **bits)
{
    tkl_client *client = NULL;
    tkl_bits_options options = {.ttl_ms = ttl_ms};
    int failed = cli_connect(cli, &client);
    tkl_bytes name = tkl_str(cli->argv[index]);
    return failed ? failed : cli_end(cli, tkl_bits_open(client, name, &options, bits));
}

/* Reads a number of the command line; `what` names it in the error. */
static int read_number(const cli_session *cli, const char *what, const char *text, int64_t *number)
{
    const char *wrong = cli_parse_integer(text, number);
    return wrong ? cli_usage(cli, "invalid %s '%s': %s", what, text, wrong) : CLI_OK;
}

static int read_bit(const cli_session *cli, const char *text, bool *bit)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return cli_usage(cli, "invalid value '%s': 0 or 1", text);
    *bit = text[0] == '1';
    return CLI_OK;
}

/* Reads --from and --to; NULL: neither was given. */
static const tkl_bits_range *read_range(const cli_session *cli, tkl_bits_range *range)
{
    *range = (tkl_bits_range){cli_number(cli, "from", 0), cli_number(cli, "to", -1)};
    return cli_flag(cli, "from") || cli_flag(cli, "to") ? range : NULL;
}

/* ---- Bits ---------------------------------------------------------------- */

static int bits_get(cli_session *cli)
{
    tkl_bits *bits = NULL;
    int64_t at;
    bool bit = false;
    int failed = read_number(cli, "bit", cli->argv[1], &at);
    if (!failed)
        failed = open_bits(cli, 0, 0, &bits);
    if (!failed)
        failed = cli_end(cli, tkl_bits_get(bits, at, &bit));
    tkl_bits_close(bits);
    return failed ? failed : cli_print_number(cli, "value", bit);
}

static int bits_set(cli_session *cli)
{
    tkl_bits *bits = NULL;
    int64_t at;
    bool bit = true, old = false;
    int failed = read_number(cli, "bit", cli->argv[1], &at);
    if (!failed && cli->argc > 2)
        failed = read_bit(cli, cli->argv[2], &bit);
    if (!failed)
        failed = open_bits(cli, 0, cli_number(cli, "ttl", 0), &bits);
    if (!failed)
        failed = cli_end(cli, tkl_bits_set(bits, at, bit, &old));
    tkl_bits_close(bits);
    return failed ? failed : cli_print_number(cli, "before", old);
}

static int bits_count(cli_session *cli)
{
    tkl_bits *bits = NULL;
    tkl_bits_range range;
    int64_t number = 0;
    int failed = open_bits(cli, 0, 0, &bits);
    if (!failed)
        failed = cli_end(cli, tkl_bits_count(bits, read_range(cli, &range), &number));
    tkl_bits_close(bits);
    return failed ? failed : cli_print_number(cli, "count", number);
}

static int bits_find(cli_session *cli)
{
    tkl_bits *bits = NULL;
    tkl_bits_range range;
    int64_t at = 0;
    bool bit = true;
    int failed = read_bit(cli, cli->argv[1], &bit);
    if (!failed)
        failed = open_bits(cli, 0, 0, &bits);
    if (!failed)
        failed = cli_end(cli, tkl_bits_find(bits, bit, read_range(cli, &range), &at));
    tkl_bits_close(bits);
    return failed ? failed : cli_print_number(cli, "bit", at);
}

/* ---- combine ------------------------------------------------------------------ */

static int read_op(const cli_session *cli, tkl_bits_op *op)
{
    static const char *const names[] = {"and", "or", "xor", "not"};
    for (int i = 0; i < 4; i++)
        if (strcmp(cli->argv[1], names[i]) == 0) {
            *op = (tkl_bits_op)i;
            return CLI_OK;
        }
    return cli_usage(cli, "invalid operation '%s': and, or, xor or not", cli->argv[1]);
}

static int bits_combine(cli_session *cli)
{
    tkl_bits_op operation = TKL_BITS_AND;
    size_t count = 0;
    int64_t bytes = 0;
    int failed = read_op(cli, &operation);
    if (failed)
        return failed;
    tkl_bits **all = calloc((size_t)cli->argc, sizeof *all);
    if (!all)
        return cli_end(cli, TKL_ENOMEM);
    failed = open_bits(cli, 0, cli_number(cli, "ttl", 0), &all[count++]);
    for (int i = 2; !failed && i < cli->argc; i++)
        failed = open_bits(cli, i, 0, &all[count++]);
    if (!failed)
        failed = cli_end(cli, tkl_bits_combine(all[0], operation, all + 1, count - 1, &bytes));
    for (size_t i = 0; i < count; i++)
        tkl_bits_close(all[i]);
    free(all);
    return failed ? failed : cli_print_number(cli, "bytes", bytes);
}

/* ---- fields --------------------------------------------------------------- */

static int read_verb(const cli_session *cli, const char *text, tkl_bits_verb *verb)
{
    static const char *const names[] = {"get", "set", "add"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *verb = (tkl_bits_verb)i;
            return CLI_OK;
        }
    return cli_usage(cli, "invalid '%s': get, set or add", text);
}

/* Reads a type such as u8 or i16. */
static int read_type(const cli_session *cli, const char *text, tkl_bits_field *field)
{
    int64_t width = 0;
    field->is_signed = text[0] == 'i';
    if ((text[0] != 'u' && text[0] != 'i') || cli_parse_integer(text + 1, &width) || width < 1 ||
        width > 64)
        return cli_usage(cli, "invalid type '%s': u1 to u63, i1 to i64", text);
    field->width = (int)width;
    return CLI_OK;
}

/* Reads a position such as 12 or #3. */
static int read_place(const cli_session *cli, const char *text, tkl_bits_field *field)
{
    field->by_index = text[0] == '#';
    return read_number(cli, "place", text + field->by_index, &field->at);
}

static tkl_bits_overflow read_overflow(const cli_session *cli)
{
    const char *text = cli_text(cli, "overflow", "wrap");
    return text[0] == 'w' ? TKL_BITS_WRAP : text[0] == 's' ? TKL_BITS_SATURATE : TKL_BITS_FAIL;
}

/* Reads "get TYPE AT", "set TYPE AT VALUE" or "add TYPE AT VALUE" and moves *index past it. */
static int read_field(const cli_session *cli, int *index, tkl_bits_field *field)
{
    int i = *index;
    *field = (tkl_bits_field){.overflow = read_overflow(cli)};
    int failed = read_verb(cli, cli->argv[i], &field->verb);
    int words = field->verb == TKL_BITS_GET ? 3 : 4;
    if (!failed && i + words > cli->argc)
        return cli_usage(cli, "after %s: TYPE AT%s", cli->argv[i], words == 4 ? " VALUE" : "");
    if (!failed)
        failed = read_type(cli, cli->argv[i + 1], field);
    if (!failed)
        failed = read_place(cli, cli->argv[i + 2], field);
    if (!failed && words == 4)
        failed = read_number(cli, "value", cli->argv[i + 3], &field->value);
    *index += words;
    return failed;
}

/* Prints the values; null for a number that did not fit. */
static int print_values(const cli_session *cli, const tkl_bits_value *values, size_t count)
{
    json_t *array = json_array();
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        all = all && values[i].done;
        json_t *value = values[i].done ? json_integer((json_int_t)values[i].value) : json_null();
        json_array_append_new(array, json_pack("{s:o}", "value", value));
        if (!cli->json && values[i].done)
            printf("%" PRId64 "\n", values[i].value);
        else if (!cli->json)
            puts("-");
    }
    int failed = CLI_OK;
    if (cli->json)
        failed = cli_print_json(cli, array);
    else
        json_decref(array);
    return failed || all ? failed : cli_no(cli, TKL_FULL, "a number did not fit");
}

static int run_fields(cli_session *cli, const tkl_bits_field *fields, size_t count)
{
    tkl_bits *bits = NULL;
    tkl_bits_value *values = calloc(count, sizeof *values);
    int failed =
        values ? open_bits(cli, 0, cli_number(cli, "ttl", 0), &bits) : cli_end(cli, TKL_ENOMEM);
    if (!failed)
        failed = cli_end(cli, tkl_bits_fields(bits, fields, count, values));
    if (!failed)
        failed = print_values(cli, values, count);
    tkl_bits_close(bits);
    free(values);
    return failed;
}

static int change_fields(cli_session *cli)
{
    tkl_bits_field *fields = calloc((size_t)cli->argc, sizeof *fields);
    size_t count = 0;
    int failed = fields ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (int i = 1; !failed && i < cli->argc;)
        failed = read_field(cli, &i, &fields[count++]);
    if (!failed)
        failed = run_fields(cli, fields, count);
    free(fields);
    return failed;
}

static int bits_list(cli_session *cli)
{
    return cli_list(cli, tkl_bits_names);
}

static int bits_drop(cli_session *cli)
{
    tkl_bits *bits = NULL;
    int failed = cli_confirm(cli, "This deletes the bitmap '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_bits(cli, 0, 0, &bits);
    if (!failed)
        failed = cli_end_of(cli, tkl_bits_drop(bits), "bitmap");
    tkl_bits_close(bits);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

#define TTL                                                                                \
    {                                                                                      \
        "ttl", CLI_PERIOD, "DURATION", "the bitmap expires this long after the last write" \
    }

static const cli_option range_options[] = {
    {"from", CLI_INTEGER, "BIT", "first bit of the range; -1 is the last bit (default 0)"},
    {"to", CLI_INTEGER, "BIT", "last bit of the range; -1 is the last bit (default -1)"},
    {0},
};

static const cli_option write_options[] = {TTL, {0}};

static const cli_option field_options[] = {
    {"overflow", CLI_CHOICE, "wrap|saturate|fail",
     "what to do with a number that does not fit (default wrap)"},
    TTL,
    {0},
};

static const cli_option drop_options[] = {CLI_YES, {0}};

static const cli_verb verbs[] = {
    {
        .name = "get",
        .args = "NAME BIT",
        .summary = "a bit: 0 or 1",
        .example = "tackle bits get days 319",
        .effect = CLI_READS,
        .run = bits_get,
    },
    {
        .name = "set",
        .args = "NAME BIT [VALUE]",
        .summary = "set a bit, to 1 or VALUE; prints what it was",
        .options = write_options,
        .example = "tackle bits set days 319",
        .effect = CLI_WRITES,
        .run = bits_set,
    },
    {
        .name = "count",
        .args = "NAME",
        .summary = "how many bits are 1",
        .options = range_options,
        .example = "tackle bits set days 319\n"
                   "tackle bits count days --from 300 --to 330",
        .effect = CLI_READS,
        .run = bits_count,
    },
    {
        .name = "find",
        .args = "NAME VALUE",
        .summary = "where the first 1, or 0, is",
        .options = range_options,
        .details = "Bits behind the last byte in use are 0. Exit code 1 when there is none.",
        .example = "tackle bits set days 319\n"
                   "tackle bits find days 1",
        .effect = CLI_READS,
        .run = bits_find,
    },
    {
        .name = "combine",
        .args = "NAME OPERATION SOURCE...",
        .summary = "make it the and, or, xor or not of others; prints its bytes",
        .options = write_options,
        .example = "tackle bits set monday 7\n"
                   "tackle bits set tuesday 7\n"
                   "tackle bits combine both and monday tuesday\n"
                   "tackle bits count both",
        .effect = CLI_WRITES,
        .run = bits_combine,
    },
    {
        .name = "fields",
        .args = "NAME STEP...",
        .summary = "packed numbers: get, set, add; several as one step",
        .options = field_options,
        .details =
            "Steps: get TYPE AT, set TYPE AT VALUE, add TYPE AT VALUE. TYPE is u1 to u63 or\n"
            "i1 to i64; AT is a bit, or with # counts numbers of that type. Prints what get\n"
            "finds, what set replaces and what add makes of it. Exit code 1 when one did not\n"
            "fit, with --overflow fail.",
        .example = "tackle bits fields scores set u12 '#5' 4000 add u12 '#5' 90\n"
                   "tackle bits fields scores add u12 '#5' 90 --overflow saturate",
        .effect = CLI_WRITES,
        .run = change_fields,
    },
    {
        .name = "list",
        .summary = "the names of all bitmaps",
        .options = cli_list_options,
        .example = "tackle bits set days 319\n"
                   "tackle bits list",
        .effect = CLI_READS,
        .run = bits_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "delete the bitmap",
        .options = drop_options,
        .example = "tackle bits set tackle-example 1 >/dev/null\n"
                   "tackle bits drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = bits_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"A bit for each user: who was here on both days?",
     "for u in 3 7 9; do tackle bits set monday $u; done >/dev/null\n"
     "  for u in 7 9 12; do tackle bits set tuesday $u; done >/dev/null\n"
     "  tackle bits combine both and monday tuesday; tackle bits count both",
     0},
    {"Numbers of 12 bits side by side, several in one step.",
     "tackle bits fields scores set u12 '#5' 4000 add u12 '#5' 200 --overflow saturate", 0},
    {0},
};

const cli_component cli_bits = {
    .name = "bits",
    .summary = "bitmaps, and numbers of 1 to 64 bits packed side by side",
    .verbs = verbs,
    .demo = demo,
};
