/* SPDX-License-Identifier: MIT
 *
 * Rules: what makes sense, and what the scripts can count exactly.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/error.h"
#include "limit/limit.h"

#define MAX_COUNT     INT64_C(1000000000)
#define MAX_ENTRIES   100000
#define MAX_PERIOD_MS INT64_C(315360000000) /* ten years */
/* Numbers of scripts are doubles, exact up to here. */
#define EXACT (INT64_C(1) << 53)

static const char letters[] = {
    [TKL_GCRA] = 'g',          [TKL_BUCKET] = 'b',      [TKL_WINDOW] = 'w',
    [TKL_WINDOW_APPROX] = 'a', [TKL_CONCURRENCY] = 'c',
};

bool tkl__rule_has_debt(const tkl__rule *rule)
{
    return rule->algorithm == TKL_GCRA || rule->algorithm == TKL_BUCKET;
}

bool tkl__rule_has_tickets(const tkl__rule *rule)
{
    return rule->algorithm == TKL_WINDOW || rule->algorithm == TKL_CONCURRENCY;
}

static int check_ranges(const tkl_limit_rule *given, const tkl__rule *rule)
{
    int64_t most = tkl__rule_has_tickets(rule) ? MAX_ENTRIES : MAX_COUNT;
    if (given->count < 1 || given->count > most)
        return tkl__fail(TKL_EINVAL, "the count of a limit is from 1 to %" PRId64 ", not %" PRId64,
                         most, given->count);
    if (given->period_ms < 1 || given->period_ms > MAX_PERIOD_MS)
        return tkl__fail(TKL_EINVAL, "the period of a limit is from 1 millisecond to 10 years");
    if (given->burst < 0 || given->burst > MAX_COUNT)
        return tkl__fail(TKL_EINVAL, "the burst of a limit is from 0 to %" PRId64 ", not %" PRId64,
                         MAX_COUNT, given->burst);
    if (given->burst > 0 && !tkl__rule_has_debt(rule))
        return tkl__fail(TKL_EINVAL, "only funnels and buckets have a burst");
    return TKL_OK;
}

static int check_order(const tkl__rule *rule)
{
    if (!rule->in_order || tkl__rule_has_debt(rule) || rule->algorithm == TKL_WINDOW)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, rule->algorithm == TKL_CONCURRENCY
                                     ? "for a fair line at a limit of concurrency use a semaphore"
                                     : "an approximate window cannot be booked ahead");
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The smallest whole numbers with the same ratio: 3000 in 30 days are 1 in 864 seconds. */
static void set_debt(const tkl_limit_rule *given, tkl__rule *rule)
{
    int64_t period = given->period_ms * 1000;
    int64_t divisor = common_divisor(given->count, period);
    rule->unit = period / divisor;
    rule->rate = given->count / divisor;
    if (given->algorithm == TKL_GCRA)
        rule->capacity = given->burst + 1;
    else
        rule->capacity = given->burst > 0 ? given->burst : given->count;
}

static void set_window(const tkl_limit_rule *given, tkl__rule *rule)
{
    rule->unit = given->period_ms * 1000;
    rule->rate = rule->capacity = given->count;
}

/* Half of what is exact leaves room for sums of two. */
static int set_most(tkl__rule *rule)
{
    if (rule->unit >= EXACT / 2 / rule->capacity)
        return tkl__fail(TKL_EINVAL,
                         "%" PRId64 " at once in so long a period is more than can be "
                         "counted exactly",
                         rule->capacity);
    rule->most = rule->capacity * rule->unit;
    return TKL_OK;
}

static void set_texts(tkl__rule *rule)
{
    char letter = letters[rule->algorithm];
    if (tkl__rule_has_tickets(rule))
        snprintf(rule->head, sizeof rule->head, "%c", letter);
    else
        snprintf(rule->head, sizeof rule->head, "%c%" PRId64 " ", letter, rule->unit);
    snprintf(rule->unit_text, sizeof rule->unit_text, "%" PRId64, rule->unit);
    snprintf(rule->rate_text, sizeof rule->rate_text, "%" PRId64, rule->rate);
    snprintf(rule->most_text, sizeof rule->most_text, "%" PRId64, rule->most);
}

int tkl__rule_make(const tkl_limit_rule *given, tkl__rule *rule)
{
    *rule = (tkl__rule){.algorithm = given->algorithm, .in_order = given->in_order};
    if ((unsigned)given->algorithm >= sizeof letters)
        return tkl__fail(TKL_EINVAL, "there is no algorithm %d of limits", (int)given->algorithm);
    int rc = check_ranges(given, rule);
    if (rc == TKL_OK)
        rc = check_order(rule);
    if (rc != TKL_OK)
        return rc;
    if (tkl__rule_has_debt(rule))
        set_debt(given, rule);
    else
        set_window(given, rule);
    rc = set_most(rule);
    if (rc == TKL_OK)
        set_texts(rule);
    return rc;
}
