/* SPDX-License-Identifier: MIT
 *
 * The inside of a limit: its rule in the units of the scripts, questions and answers.
 */
#ifndef TKL_LIMIT_LIMIT_H
#define TKL_LIMIT_LIMIT_H

#include <tackle/limit.h>

#include "core/buf.h"
#include "core/script.h"

/* Numbers of scripts are doubles, exact up to here. */
#define TKL__LIMIT_EXACT (INT64_C(1) << 53)

/* ---- Rules --------------------------------------------------------------- */

/* A rule as the scripts take it. See the essay of limit.c. */
typedef struct tkl__limit_rule {
    tkl_limit_algorithm algorithm;
    bool in_order;
    const char *kind; /* of the scripts: "gcra" */
    int64_t capacity; /* the most that can fit at once */
    int64_t unit;     /* debt of one; of other than funnel and bucket: the period in microseconds */
    int64_t rate;     /* by which the debt shrinks in a microsecond; of others: 0 */
    char capacity_text[24], unit_text[24], rate_text[24];
} tkl__limit_rule;

/* TKL_EINVAL when it makes no sense, or its numbers would not be exact. */
int tkl__limit_rule_make(const tkl_limit_rule *given, tkl__limit_rule *rule);

/* Kept by what is owed. */
bool tkl__limit_has_debt(const tkl__limit_rule *rule);
/* Kept by entries with tickets. */
bool tkl__limit_has_tickets(const tkl__limit_rule *rule);

/* ---- Limits -------------------------------------------------------------- */

struct tkl_limit {
    tkl_client *client;
    tkl__limit_rule rule;
    int64_t timeout_ms;      /* 0: the client's */
    tkl_bytes before, after; /* what stands in the server's key around the subject; owned */
};

/* The server's key of a subject, appended. TKL_EINVAL for an empty or too long one. */
int tkl__limit_key(const tkl_limit *limit, tkl_bytes subject, tkl__buf *out);

/* TKL_EINVAL: more than can be taken, or given back, at once. */
int tkl__limit_check_quantity(const tkl__limit_rule *rule, int64_t quantity);

/* Of the calls for a limit. */
int64_t tkl__limit_deadline(const tkl_limit *limit);

/* Records the text for TKL_ETYPE, and returns `rc`. */
int tkl__limit_explain(int rc);

/* ---- Answers ------------------------------------------------------------- */

/* An answer in microseconds. */
typedef struct tkl__limit_times {
    int64_t turn;  /* when what was taken may be used: later than at once if booked ahead */
    int64_t retry; /* -1: allowed, or never */
    int64_t reset;
} tkl__limit_times;

/* One check on its way. */
typedef struct tkl__limit_question {
    const tkl_limit *limit;
    size_t start, len; /* of the server's key in the buffer that it was put into */
    char ticket[TKL_TOKEN_SIZE];
    int64_t quantity; /* 0 when it never fits: the script only looks */
    int64_t ahead_us; /* may be booked */
    bool never;
} tkl__limit_question;

#define TKL__LIMIT_NUMBERS 5 /* of an answer of limit/check, for each key */

/* The numbers of the reply from the index on. TKL_OK, TKL_LIMITED, or TKL_EPROTO when no server
 * that ran the script can have answered so. */
int tkl__limit_read(const tkl__limit_question *question, const tkl_reply *reply, size_t index,
                    tkl_limit_answer *answer, tkl__limit_times *times);

/* A number of a reply. False unless it is between 0 and what is exact. */
bool tkl__limit_number(const tkl_reply *reply, size_t index, int64_t *number);

/* Milliseconds, rounded up; -1 stays. */
int64_t tkl__limit_ms(int64_t us);

/* One check, with what may be booked ahead. */
int tkl__limit_check(const tkl_limit *limit, tkl_bytes subject, int64_t quantity, int64_t ahead_us,
                     tkl_limit_answer *answer, tkl__limit_times *times);

#endif
