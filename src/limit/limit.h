/* SPDX-License-Identifier: MIT
 *
 * The private parts of a limit: its rule in the units of the scripts, questions and answers.
 */
#ifndef TKL_LIMIT_LIMIT_H
#define TKL_LIMIT_LIMIT_H

#include <tackle/limit.h>

#include "core/batch.h"
#include "core/buf.h"

/* Scripts count in doubles, which are exact up to here. */
#define TKL__LIMIT_EXACT (INT64_C(1) << 53)

/* ---- Rules --------------------------------------------------------------- */

/* A rule in the form of script arguments. See the essay of limit.c. */
typedef struct tkl__limit_rule {
    tkl_limit_algorithm algorithm;
    bool in_order, count_denied;
    const char *kind; /* name in the scripts: "gcra" */
    int64_t capacity; /* the most that can fit at once */
    int64_t unit;     /* gcra, bucket: debt of one; others: the period in microseconds */
    int64_t rate;     /* gcra, bucket: debt worked off per microsecond; others: 0 */
    char capacity_text[24], unit_text[24], rate_text[24];
    char stored_text[64]; /* "count period capacity", stored with the state for limit/show */
} tkl__limit_rule;

/* TKL_EINVAL when the rule makes no sense, or its numbers would not be exact. */
int tkl__limit_rule_make(const tkl_limit_rule *given, tkl__limit_rule *rule);

/* The algorithm of a name in the scripts. False: there is none. */
bool tkl__limit_kind(tkl_bytes name, tkl_limit_algorithm *algorithm);

/* Whether the state is a debt (gcra, bucket). */
bool tkl__limit_has_debt(const tkl__limit_rule *rule);
/* Whether the state is entries with tickets (window, concurrency). */
bool tkl__limit_has_tickets(const tkl__limit_rule *rule);

/* ---- Limits -------------------------------------------------------------- */

/* Names of components in the register and in keys; see register.c and count.c. */
#define TKL__LIMIT_USED    "limit:used"
#define TKL__LIMIT_REFUSED "limit:refused"

typedef struct tkl__limit_counts tkl__limit_counts;

struct tkl_limit {
    tkl_client *client;
    tkl__limit_counts *counts;
    bool counted; /* allowed checks are counted, too */
    tkl__limit_rule rule;
    int64_t timeout_ms;      /* 0: the client's time-out */
    tkl_bytes before, after; /* the parts of the server's key around the subject; owned */
};

/* TKL_EINVAL unless `name` has 1 to TKL_NAME_MAX bytes. `what`: "name" or "key". */
int tkl__limit_check_name(tkl_bytes name, const char *what);

/* Appends the server's key of a subject. TKL_EINVAL: the subject is empty or too long. */
int tkl__limit_key(const tkl_limit *limit, tkl_bytes subject, tkl__buf *out);

/* TKL_EINVAL: one call cannot take or give back that much. */
int tkl__limit_check_quantity(const tkl__limit_rule *rule, int64_t quantity);

/* The deadline of a call that begins now. */
int64_t tkl__limit_deadline(const tkl_limit *limit);

/* Sets the error text for TKL_ETYPE, and returns `rc`. */
int tkl__limit_explain(int rc);

/* ---- Counts, for operators: see count.c ---------------------------------- */

int tkl__limit_counts_open(tkl_limit *limit);
/* Reports what is left, and frees the counts. */
void tkl__limit_counts_close(tkl_limit *limit);
/* Counts a check of the server's key `key` that ended with `rc`, and returns `rc`. `reports`: a
 * report may be sent now. */
int tkl__limit_count(const tkl_limit *limit, tkl_bytes key, int64_t quantity, bool reports, int rc);

/* ---- Answers ------------------------------------------------------------- */

/* An answer in microseconds. */
typedef struct tkl__limit_times {
    int64_t turn;  /* when the quantity may be used: 0 at once, later if booked ahead */
    int64_t retry; /* when it would fit; -1: allowed, or never */
    int64_t reset;
} tkl__limit_times;

/* A check under way. */
typedef struct tkl__limit_question {
    const tkl_limit *limit;
    size_t start, len; /* place of the server's key in the buffer of keys */
    char ticket[TKL_TOKEN_SIZE];
    int64_t quantity; /* 0 also when it never fits: then the script only looks */
    int64_t ahead_us; /* how far ahead the check may book */
    bool never;
    bool charges; /* it counts even if it is denied */
} tkl__limit_question;

#define TKL__LIMIT_NUMBERS 5 /* numbers per key in an answer of limit/check */

/* Reads the numbers of the reply from `index` on. TKL_OK, TKL_LIMITED, or TKL_EPROTO for numbers
 * that the script never returns. */
int tkl__limit_read(const tkl__limit_question *question, const tkl_reply *reply, size_t index,
                    tkl_limit_answer *answer, tkl__limit_times *times);

/* Reads a number of a reply. False: it is not from 0 to TKL__LIMIT_EXACT. */
bool tkl__limit_number(const tkl_reply *reply, size_t index, int64_t *number);

/* Milliseconds, rounded up; -1 stays. */
int64_t tkl__limit_ms(int64_t us);

/* One check of a wait, which may book up to `ahead_us` ahead. Its denials never count. */
int tkl__limit_try(const tkl_limit *limit, tkl_bytes subject, int64_t quantity, int64_t ahead_us,
                   tkl_limit_answer *answer, tkl__limit_times *times);

#endif
