/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "out.h"

/* ---- As JSON ------------------------------------------------------------- */

static json_t *json_of(const tkl_reply *reply);

static json_t *json_of_array(const tkl_reply *reply)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < tkl_reply_count(reply); i++)
        if (json_array_append_new(array, json_of(tkl_reply_at(reply, i))) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *json_of(const tkl_reply *reply)
{
    switch (tkl_reply_type_of(reply)) {
    case TKL_REPLY_STRING:
        return cli_json_bytes(tkl_reply_bytes(reply));
    case TKL_REPLY_INTEGER:
        return json_integer(tkl_reply_int(reply));
    case TKL_REPLY_ARRAY:
        return json_of_array(reply);
    case TKL_REPLY_ERROR:
        return json_pack("{s:o}", "error", cli_json_bytes(tkl_reply_bytes(reply)));
    case TKL_REPLY_NIL:
        break;
    }
    return json_null();
}

/* ---- For people ---------------------------------------------------------- */

static void print_readable(const tkl_reply *reply, int indent);

static int digits(size_t n)
{
    return snprintf(NULL, 0, "%zu", n);
}

/* "1) ..." with the numbers aligned; inner arrays begin on the line of their number. */
static void print_array(const tkl_reply *reply, int indent)
{
    size_t count = tkl_reply_count(reply);
    int width = digits(count);
    if (count == 0)
        puts("(empty array)");
    for (size_t i = 0; i < count; i++) {
        printf("%*s%*zu) ", i > 0 ? indent : 0, "", width, i + 1);
        print_readable(tkl_reply_at(reply, i), indent + width + 2);
    }
}

static void print_quoted(tkl_bytes bytes)
{
    char *text = cli_escape(bytes, true);
    printf("\"%s\"\n", text != NULL ? text : "");
    free(text);
}

static void print_error(tkl_bytes bytes)
{
    char *text = cli_escape(bytes, false);
    printf("(error) %s\n", text != NULL ? text : "");
    free(text);
}

static void print_readable(const tkl_reply *reply, int indent)
{
    switch (tkl_reply_type_of(reply)) {
    case TKL_REPLY_STRING:
        print_quoted(tkl_reply_bytes(reply));
        break;
    case TKL_REPLY_INTEGER:
        printf("(integer) %" PRId64 "\n", tkl_reply_int(reply));
        break;
    case TKL_REPLY_ARRAY:
        print_array(reply, indent);
        break;
    case TKL_REPLY_ERROR:
        print_error(tkl_reply_bytes(reply));
        break;
    case TKL_REPLY_NIL:
        puts("(nil)");
        break;
    }
}

/* ---- For scripts --------------------------------------------------------- */

static void print_raw(const tkl_reply *reply)
{
    tkl_bytes bytes = tkl_reply_bytes(reply);
    if (tkl_reply_type_of(reply) == TKL_REPLY_ARRAY) {
        for (size_t i = 0; i < tkl_reply_count(reply); i++)
            print_raw(tkl_reply_at(reply, i));
        return;
    }
    if (tkl_reply_type_of(reply) == TKL_REPLY_INTEGER)
        printf("%" PRId64, tkl_reply_int(reply));
    else if (bytes.len > 0)
        fwrite(bytes.data, 1, bytes.len, stdout);
    putchar('\n');
}

/* ---- The right one ------------------------------------------------------- */

int cli_print_reply(const cli_session *cli, const tkl_reply *reply)
{
    if (cli->json)
        return cli_print_json(cli, json_of(reply));
    if (cli_flag(cli, "raw") || (!cli_flag(cli, "readable") && !isatty(STDOUT_FILENO)))
        print_raw(reply);
    else
        print_readable(reply, 0);
    return CLI_OK;
}
