/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "out.h"

typedef struct cell {
    char *text;
    size_t width;
    bool right;
} cell;

struct cli_table {
    size_t columns;
    size_t count; /* cells so far */
    size_t room;
    cell *cells;
    bool heading;
    bool failed; /* memory ran out */
};

cli_table *cli_table_new(size_t columns)
{
    cli_table *table = calloc(1, sizeof *table);
    if (table != NULL)
        table->columns = columns;
    return table;
}

static bool make_room(cli_table *table)
{
    if (table->count < table->room)
        return true;
    size_t room = table->room > 0 ? table->room * 2 : 64;
    cell *cells = realloc(table->cells, room * sizeof *cells);
    if (cells == NULL)
        return false;
    table->cells = cells;
    table->room = room;
    return true;
}

void cli_table_add(cli_table *table, char *text, bool right)
{
    if (table == NULL || text == NULL || !make_room(table)) {
        if (table != NULL)
            table->failed = true;
        free(text);
        return;
    }
    table->cells[table->count++] = (cell){text, cli_width(text), right};
}

void cli_table_heading(cli_table *table)
{
    if (table != NULL)
        table->heading = true;
}

static size_t column_width(const cli_table *table, size_t column)
{
    size_t width = 0;
    for (size_t at = column; at < table->count; at += table->columns)
        if (table->cells[at].width > width)
            width = table->cells[at].width;
    return width;
}

/* Spaces wait in `*pending` until a text follows, so that lines have no spaces at their end. */
static void print_cell(const cell *this, size_t width, size_t *pending, FILE *stream)
{
    size_t fill = width - this->width;
    if (this->right)
        *pending += fill;
    if (*this->text != '\0') {
        fprintf(stream, "%*s%s", (int)*pending, "", this->text);
        *pending = 0;
    }
    *pending += (this->right ? 0 : fill) + 2;
}

static void print_row(const cli_table *table, size_t first, const size_t *widths, FILE *stream)
{
    bool bold = table->heading && first == 0;
    size_t pending = 0;
    fputs(bold ? cli_color(stream, CLI_BOLD) : "", stream);
    for (size_t i = 0; i < table->columns; i++)
        print_cell(&table->cells[first + i], widths[i], &pending, stream);
    fputs(bold ? cli_color(stream, CLI_PLAIN) : "", stream);
    putc('\n', stream);
}

static bool print_rows(const cli_table *table, FILE *stream)
{
    size_t *widths = calloc(table->columns, sizeof *widths);
    if (widths == NULL || table->failed) {
        free(widths);
        return false;
    }
    for (size_t i = 0; i < table->columns; i++)
        widths[i] = column_width(table, i);
    for (size_t at = 0; at + table->columns <= table->count; at += table->columns)
        print_row(table, at, widths, stream);
    free(widths);
    return true;
}

bool cli_table_print(cli_table *table, FILE *stream)
{
    if (table == NULL)
        return false;
    bool printed = print_rows(table, stream);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
    return printed;
}
