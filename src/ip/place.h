/* SPDX-License-Identifier: MIT
 *
 * The stored form of a place: its fields in a fixed order, each with a length of one byte.
 */
#ifndef TKL_IP_PLACE_H
#define TKL_IP_PLACE_H

#include <tackle/ip.h>

#include "core/buf.h"

enum { TKL__IP_FIELDS = 10, TKL__IP_FIELD_MAX = 255 };

/* Returns a field by its index, which is below TKL__IP_FIELDS. */
tkl_bytes *tkl__ip_field(tkl_ip_place *place, int index);

/* Checks a place. Returns NULL, or why it is wrong. */
const char *tkl__ip_place_check(const tkl_ip_place *place);

void tkl__ip_pack(const tkl_ip_place *place, tkl__buf *out);
/* Makes views into `packed`. False: not a place. */
bool tkl__ip_unpack(tkl_bytes packed, tkl_ip_place *place);

#endif
