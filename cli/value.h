/* SPDX-License-Identifier: MIT
 *
 * Values as people write them. Each function returns NULL when the text was understood, else
 * what is wrong with it, fit to follow "invalid --ttl '5x': ".
 */
#ifndef TKL_CLI_VALUE_H
#define TKL_CLI_VALUE_H

#include <stdint.h>

/* 250ms 10s 5m 2h 1d 2w, 1.5h, 1h30m; a bare number is seconds. A duration above 0 is at least 1
 * ms. */
const char *cli_parse_duration(const char *text, int64_t *ms);

/* 512 512b 64kb 256mb 1.5gb: powers of 1024, any case. */
const char *cli_parse_size(const char *text, int64_t *bytes);

/* 2030-01-31T12:00:00Z, +02:00 instead of Z, here's time without; also 2030-01-31, "2030-01-31
 * 12:00"; 12:00, the next time that it is so late here; @1893456000, the Unix time. In milliseconds
 * of it. */
const char *cli_parse_time(const char *text, int64_t *ms);

/* -12 0 42 +7 */
const char *cli_parse_integer(const char *text, int64_t *number);

/* 30/60s 5/s 1/30d: so many in that time. */
const char *cli_parse_rate(const char *text, int64_t *count, int64_t *period_ms);

/* One of the words in "a|b|c". */
const char *cli_parse_choice(const char *text, const char *choices);

#endif
