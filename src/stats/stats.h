/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of this folder.
 */
#ifndef TKL_STATS_STATS_H
#define TKL_STATS_STATS_H

#include <tackle/log.h>
#include <tackle/stats.h>

#include "core/batch.h"
#include "core/keys.h"
#include "stats/sketch.h"

/* The keys of a type, followed by the keys of a context. Every script gets them in this order. */
enum {
    TKL__STATS_TOTAL,
    TKL__STATS_RANK,
    TKL__STATS_RANK_LAST,
    TKL__STATS_PARTS, /* number of keys of the type */
    TKL__STATS_THIS = TKL__STATS_PARTS,
    TKL__STATS_LAST,
    TKL__STATS_KEYS,
};

struct tkl_stats {
    tkl_client *client;
    tkl__keys keys; /* keys of the type */
    tkl__base base;
    int64_t timeout_ms, ranked;
    tkl_log *slow_log; /* NULL: none */
};

/* Parts of the keys of a context, between the base of its type and its name. */
#define TKL__STATS_THIS_PART ":this:"
#define TKL__STATS_LAST_PART ":last:"

/* The keys of a script about one context. */
typedef struct tkl__stats_context {
    tkl_bytes keys[TKL__STATS_KEYS];
    char *block; /* owns the keys of this hour and the last */
} tkl__stats_context;

int tkl__stats_context_make(const tkl_stats *stats, tkl_bytes context, tkl__stats_context *made);
void tkl__stats_context_free(tkl__stats_context *made);

/* Count and sum of a context and of its type, in this hour. */
typedef struct tkl__stats_means {
    double count, sum, all_count, all_sum;
} tkl__stats_means;

/* Records one value; *means: the numbers after that. */
int tkl__stats_record_one(tkl_stats *stats, const tkl_stats_value *value, tkl__stats_means *means);

#endif
