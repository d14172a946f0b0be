/* SPDX-License-Identifier: MIT */
#include "items.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

enum {
    AT_ONCE = CLI_ITEMS_MAX,
    BYTES_AT_ONCE = 4 << 20, /* most bytes of lines that are worked on at once */
};

static int from_arguments(cli_session *cli, int skip, cli_items_fn *work, void *arg)
{
    tkl_bytes some[AT_ONCE];
    int exit = CLI_OK;
    for (int i = skip; exit == CLI_OK && i < cli->argc;) {
        size_t count = 0;
        while (i < cli->argc && count < AT_ONCE)
            some[count++] = cli_argument(cli, i++);
        exit = work(cli, some, count, arg);
    }
    return exit;
}

/* ---- Lines --------------------------------------------------------------- */

/* How standard input is read. */
typedef struct reading {
    bool text;               /* CRLF ends a line, too, and empty lines are no items */
    size_t rows;             /* number of lines read so far */
    size_t numbers[AT_ONCE]; /* line numbers of the current items */
} reading;

static reading input;

size_t cli_item_line(size_t index)
{
    return input.rows > 0 ? input.numbers[index] : 0;
}

/* The next line without its end, to be freed; false at the end. */
static bool next_line(tkl_bytes *row)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t len = getline(&text, &size, stdin);
    if (len < 0) {
        free(text);
        return false;
    }
    input.rows++;
    if (text[len - 1] == '\n')
        len--;
    if (input.text && len > 0 && text[len - 1] == '\r')
        len--;
    *row = (tkl_bytes){text, (size_t)len};
    return true;
}

static bool next_item(tkl_bytes *item)
{
    while (next_line(item)) {
        if (item->len > 0 || !input.text)
            return true;
        free((char *)item->data);
    }
    return false;
}

static int from_lines(cli_session *cli, cli_items_fn *work, void *arg)
{
    tkl_bytes some[AT_ONCE];
    int exit = CLI_OK;
    for (bool more = true; exit == CLI_OK && more;) {
        size_t count = 0, bytes = 0;
        while (count < AT_ONCE && bytes < BYTES_AT_ONCE && (more = next_item(&some[count]))) {
            input.numbers[count] = input.rows;
            bytes += some[count++].len;
        }
        if (count > 0)
            exit = work(cli, some, count, arg);
        for (size_t i = 0; i < count; i++)
            free((char *)some[i].data);
    }
    if (exit == CLI_OK && ferror(stdin))
        return cli_fail(cli, CLI_FAILURE, "cannot read standard input: %s", strerror(errno));
    return exit;
}

/* ---- Both ---------------------------------------------------------------- */

/* Whether the arguments have items. A "-" together with --lines is not an item. */
static bool are_given(const cli_session *cli, int skip)
{
    bool dash = cli->sink == NULL && cli->argc == skip + 1 && strcmp(cli->argv[skip], "-") == 0;
    return cli->argc > skip && !(dash && cli_flag(cli, "lines"));
}

int cli_items(cli_session *cli, int skip, cli_items_fn *work, void *arg)
{
    bool given = are_given(cli, skip);
    if (!given && cli->sink != NULL)
        return cli_missing(cli, skip);
    if (given == cli_flag(cli, "lines"))
        return cli_usage(cli,
                         given ? "either items or --lines" : "no items: name some, or --lines");
    return given ? from_arguments(cli, skip, work, arg) : from_lines(cli, work, arg);
}

int cli_text_items(cli_session *cli, int skip, cli_items_fn *work, void *arg)
{
    if (cli_flag(cli, "lines"))
        input.text = true;
    return cli_items(cli, skip, work, arg);
}

int cli_end_items(const cli_session *cli, int code, size_t count)
{
    char where[64];
    if (count == 0 || cli_item_line(0) == 0)
        return cli_end(cli, code);
    snprintf(where, sizeof where, "lines %zu to %zu", cli_item_line(0), cli_item_line(count - 1));
    return cli_end_at(cli, code, where);
}
