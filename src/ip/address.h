/* SPDX-License-Identifier: MIT
 *
 * Addresses as 16 bytes in network order, IPv4 ones in the form ::ffff:a.b.c.d, and ranges of them.
 */
#ifndef TKL_IP_ADDRESS_H
#define TKL_IP_ADDRESS_H

#include <tackle/common.h>

enum {
    TKL__IP_SIZE = 16,
    TKL__IP_NETWORK_SIZE = 96, /* bytes of the text of a range, with its NUL */
};

typedef struct tkl__ip_span {
    unsigned char first[TKL__IP_SIZE];
    unsigned char last[TKL__IP_SIZE];
} tkl__ip_span;

/* The parsers return NULL on success, else what is wrong with the text. */

/* Parses "1.2.3.4" or "2001:db8::1". */
const char *tkl__ip_parse(tkl_bytes text, unsigned char address[TKL__IP_SIZE]);
/* Parses "1.2.3.0/24", "1.2.3.0-1.2.3.77", or one address. */
const char *tkl__ip_parse_range(tkl_bytes text, tkl__ip_span *span);
/* Parses two columns, as numbers or addresses. */
const char *tkl__ip_parse_ends(tkl_bytes first, tkl_bytes last, tkl__ip_span *span);

/* Writes "1.2.3.0/24", or "first-last" if the range is not one network. */
void tkl__ip_format(const tkl__ip_span *span, char text[TKL__IP_NETWORK_SIZE]);

#endif
