/* SPDX-License-Identifier: MIT
 *
 * Lines of cells, aligned by their width on a terminal.
 */
#ifndef TKL_CLI_TABLE_H
#define TKL_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct cli_table cli_table;

/* NULL when out of memory; the functions below accept that. */
cli_table *cli_table_new(size_t columns);

/* Takes over `text`, which malloc() made; cells arrive row by row. NULL: out of memory. */
void cli_table_add(cli_table *table, char *text, bool right);

/* The first row is a heading. */
void cli_table_heading(cli_table *table);

/* Prints and frees the table. False: memory ran out, and nothing is printed. */
bool cli_table_print(cli_table *table, FILE *stream);

#endif
