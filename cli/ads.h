/* SPDX-License-Identifier: MIT
 *
 * Ad targeting from the shell: what its files share.
 */
#ifndef TKL_CLI_ADS_H
#define TKL_CLI_ADS_H

#include "out.h"

/* Opens the set that the first argument names. `options` may be NULL. */
int cli_ads_open(cli_session *cli, const tkl_ads_options *options, tkl_ads **ads);
/* An amount as a number of units. */
json_t *cli_ads_money(int64_t micros);

/* Verbs (ads_page.c). */
int cli_ads_target(cli_session *cli);
int cli_ads_explain(cli_session *cli);

/* Verbs (ads_report.c). */
int cli_ads_show(cli_session *cli);
int cli_ads_report(cli_session *cli);
int cli_ads_stats(cli_session *cli);

#endif
