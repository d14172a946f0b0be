/* SPDX-License-Identifier: MIT
 *
 * The inside of a limit: its rule in the units of the scripts, questions and answers.
 */
#ifndef TKL_LIMIT_LIMIT_H
#define TKL_LIMIT_LIMIT_H

#include <tackle/limit.h>

#include "core/buf.h"
#include "core/script.h"

/* A rule as the scripts take it. See the essay of limit.c. */
typedef struct tkl__rule {
    tkl_limit_algorithm algorithm;
    bool in_order;
    int64_t capacity; /* the most that can fit at once */
    int64_t unit;     /* debt of one; of other than funnel and bucket: the period in microseconds */
    int64_t rate;     /* by which the debt shrinks in a microsecond; of others: the count */
    int64_t most;     /* debt at which nothing fits any more */
    char head[32], unit_text[24], rate_text[24], most_text[24];
} tkl__rule;

struct tkl_limit {
    tkl_client *client;
    tkl__rule rule;
    tkl_bytes before, after; /* what stands in the server's key around the subject; owned */
};

/* TKL_EINVAL when it makes no sense, or its numbers would not be exact. */
int tkl__rule_make(const tkl_limit_rule *given, tkl__rule *rule);

/* Kept by what is owed. */
bool tkl__rule_has_debt(const tkl__rule *rule);
/* Kept by entries with tickets. */
bool tkl__rule_has_tickets(const tkl__rule *rule);

/* What the server said about a quantity: see the scripts for the numbers. */
typedef struct tkl__finding {
    bool fits;
    bool never; /* more than can ever fit: it was only looked at */
    int64_t quantity;
    int64_t numbers[3];
} tkl__finding;

/* An answer in microseconds. */
typedef struct tkl__times {
    int64_t turn;  /* when what was taken may be used: later than at once if booked ahead */
    int64_t retry; /* -1: allowed, or never */
    int64_t reset;
} tkl__times;

/* Works the answer out; the ticket is not touched. */
void tkl__limit_answer(const tkl__rule *rule, const tkl__finding *finding, tkl_limit_answer *answer,
                       tkl__times *times);

/* The server's key of a subject, appended. TKL_EINVAL for an empty or too long one. */
int tkl__limit_key(const tkl_limit *limit, tkl_bytes subject, tkl__buf *out);

/* Records the text for TKL_ETYPE, and returns `rc`. */
int tkl__limit_explain(int rc);

#endif
