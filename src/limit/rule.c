/* SPDX-License-Identifier: MIT
 *
 * Rules: checks that they make sense, and that the scripts can count them exactly.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "limit/limit.h"

#define MAX_COUNT     INT64_C(1000000000)
#define MAX_ENTRIES   100000
#define MAX_PERIOD_MS INT64_C(315360000000) /* ten years */

/* The names in the scripts. */
static const char *const kinds[] = {
    [TKL_LIMIT_GCRA] = "gcra",
    [TKL_LIMIT_BUCKET] = "bucket",
    [TKL_LIMIT_WINDOW] = "window",
    [TKL_LIMIT_WINDOW_APPROX] = "approx",
    [TKL_LIMIT_CONCURRENCY] = "concurrency",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool tkl__limit_kind(tkl_bytes name, tkl_limit_algorithm *algorithm)
{
    for (int i = 0; i < KINDS; i++)
        if (tkl__same_bytes(name, tkl_str(kinds[i]))) {
            *algorithm = (tkl_limit_algorithm)i;
            return true;
        }
    return false;
}

bool tkl__limit_has_debt(const tkl__limit_rule *rule)
{
    return rule->algorithm == TKL_LIMIT_GCRA || rule->algorithm == TKL_LIMIT_BUCKET;
}

bool tkl__limit_has_tickets(const tkl__limit_rule *rule)
{
    return rule->algorithm == TKL_LIMIT_WINDOW || rule->algorithm == TKL_LIMIT_CONCURRENCY;
}

static int check_rule(const tkl_limit_rule *given, const tkl__limit_rule *rule)
{
    bool has_slots = rule->algorithm == TKL_LIMIT_CONCURRENCY;
    int64_t most = tkl__limit_has_tickets(rule) ? MAX_ENTRIES : MAX_COUNT;
    int rc = TKL__CHECK_OPTIONS(given, {"count", given->count, 1, most},
                                {"period_ms", given->period_ms, 1, MAX_PERIOD_MS});
    if (rc != TKL_OK)
        return rc;
    if (given->burst != 0 && !tkl__limit_has_debt(rule))
        return tkl__fail(TKL_EINVAL, "only funnels and buckets have a burst");
    if (given->burst == TKL_NONE && rule->algorithm == TKL_LIMIT_BUCKET)
        return tkl__fail(TKL_EINVAL, "the burst of a bucket is its size, 1 or more");
    if (given->burst != TKL_NONE)
        rc = tkl__check_number("burst", given->burst, 0, MAX_COUNT);
    if (rc != TKL_OK)
        return rc;
    if (rule->in_order && has_slots)
        return tkl__fail(TKL_EINVAL, "for a fair line at a limit of concurrency use a semaphore");
    if (rule->in_order && rule->algorithm == TKL_LIMIT_WINDOW_APPROX)
        return tkl__fail(TKL_EINVAL, "an approximate window cannot be booked ahead");
    if (rule->count_denied && has_slots) /* a denied slot has no holder that releases it */
        return tkl__fail(TKL_EINVAL,
                         "a limit of concurrency counts what is held, not what is denied");
    return TKL_OK;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The most that fits at once. Without a burst: the whole count, as users expect of "30 in 60 s". */
static int64_t capacity_of(const tkl_limit_rule *given)
{
    if (given->burst == 0)
        return given->count;
    if (given->burst == TKL_NONE)
        return 1;
    return given->algorithm == TKL_LIMIT_GCRA ? given->burst + 1 : given->burst;
}

/* Checks that the script can count exactly. Half of the exact range leaves room for the sum of
 * two. */
static int check_exact(const tkl__limit_rule *rule)
{
    if (rule->unit < TKL__LIMIT_EXACT / 2 / rule->capacity)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL,
                     "%" PRId64 " at once in so long a period is more than can be counted "
                     "exactly: take a smaller %s",
                     rule->capacity, tkl__limit_has_debt(rule) ? "burst" : "count");
}

int tkl__limit_rule_make(const tkl_limit_rule *given, tkl__limit_rule *rule)
{
    *rule = (tkl__limit_rule){.algorithm = given->algorithm,
                              .in_order = given->in_order,
                              .count_denied = given->count_denied};
    int rc = tkl__check_number("algorithm", given->algorithm, 0, KINDS - 1);
    if (rc != TKL_OK)
        return rc;
    rule->kind = kinds[given->algorithm];
    rc = check_rule(given, rule);
    if (rc != TKL_OK)
        return rc;
    rule->unit = given->period_ms * 1000;
    rule->capacity = given->count;
    if (tkl__limit_has_debt(rule)) {
        /* The smallest whole numbers with the same ratio: 3000 in 30 days are 1 in 864 seconds. */
        int64_t divisor = common_divisor(given->count, rule->unit);
        rule->unit /= divisor;
        rule->rate = given->count / divisor;
        rule->capacity = capacity_of(given);
    }
    snprintf(rule->stored_text, sizeof rule->stored_text, "%" PRId64 " %" PRId64 " %" PRId64,
             given->count, given->period_ms, rule->capacity);
    snprintf(rule->capacity_text, sizeof rule->capacity_text, "%" PRId64, rule->capacity);
    snprintf(rule->unit_text, sizeof rule->unit_text, "%" PRId64, rule->unit);
    snprintf(rule->rate_text, sizeof rule->rate_text, "%" PRId64, rule->rate);
    return check_exact(rule);
}
