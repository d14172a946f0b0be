/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of this component share.
 */
#ifndef TKL_IP_IP_H
#define TKL_IP_IP_H

#include <tackle/ip.h>

#include "core/batch.h"
#include "core/buf.h"
#include "core/keys.h"
#include "ip/address.h"

enum { TKL__IP_GENERATION_SIZE = 33 }; /* 32 hex digits and a NUL; "": not known */

struct tkl__ip_cache;

struct tkl_ip {
    tkl_client *client;
    tkl_bytes name; /* owned */
    int64_t timeout_ms;
    struct tkl__ip_cache *cache; /* NULL: none */
    /* The current generation as far as this handle knows. The client's lock guards it, which is
     * safe across fork(). */
    char generation[TKL__IP_GENERATION_SIZE];
};

void tkl__ip_generation(tkl_ip *ip, char generation[TKL__IP_GENERATION_SIZE]);
/* Notes the current generation that a script returned. TKL_EDAMAGED: not a valid generation. */
int tkl__ip_learn(tkl_ip *ip, tkl_bytes generation);

/* Makes the keys of the table and of some of its generations: table, ranges of each generation. */
int tkl__ip_keys(const tkl_ip *ip, const char *const *generations, size_t count, tkl__keys *keys);

#endif
