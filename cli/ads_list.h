/* SPDX-License-Identifier: MIT
 *
 * Ad targeting from the shell: lists behind options.
 */
#ifndef TKL_CLI_ADS_LIST_H
#define TKL_CLI_ADS_LIST_H

#include "cli.h"

/* Texts that were separated by commas; they point into `store`. All zero is empty. */
typedef struct cli_texts {
    tkl_bytes *items;
    size_t count;
    char *store;
} cli_texts;

void cli_texts_free(cli_texts *l);
/* Splits at commas and cuts off the spaces around each text. False: out of memory. */
bool cli_texts_split(const char *text, cli_texts *l);
/* Adds all values of an option that may be repeated; each value may have commas. */
int cli_texts_read(const cli_session *cli, const char *name, cli_texts *l);

size_t cli_times_given(const cli_session *cli, const char *name);

/* Reads "kind=..."; *kind is the text before the sign. */
int cli_split_kind(const cli_session *cli, const char *name, const char *text, tkl_bytes *kind,
                   const char **value);

/* Reads the text after the other arguments: "-" reads standard input; empty if there is none. */
int cli_ads_text(cli_session *cli, int index, tkl_bytes *text);

#endif
