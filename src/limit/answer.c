/* SPDX-License-Identifier: MIT
 *
 * Answers: what the numbers of the scripts mean. All of it is in whole numbers, rounded so that who
 * comes back after the time told is not too early.
 */
#include "limit/limit.h"

static int64_t divide_up(int64_t number, int64_t by)
{
    return number > 0 ? (number + by - 1) / by : 0;
}

/* ---- Funnel and bucket --------------------------------------------------- */

static void answer_debt(const tkl__rule *rule, const tkl__finding *v, int64_t *remaining,
                        tkl__times *times)
{
    int64_t owed = v->numbers[0];
    *remaining = owed < rule->most ? (rule->most - owed) / rule->unit : 0;
    times->turn = divide_up(owed - rule->most, rule->rate);
    times->retry = divide_up(owed + v->quantity * rule->unit - rule->most, rule->rate);
    times->reset = divide_up(owed, rule->rate);
}

/* ---- Exact window and concurrency ---------------------------------------- */

static void answer_window(const tkl__rule *rule, const tkl__finding *v, int64_t *remaining,
                          tkl__times *times)
{
    int64_t alive = v->numbers[0];
    *remaining = alive < rule->capacity ? rule->capacity - alive : 0;
    times->turn = times->retry = v->numbers[1];
    times->reset = v->numbers[2];
}

/* ---- Approximate window --------------------------------------------------
 *
 * With `passed` of the period gone, what counts is previous * (period - passed) / period + current.
 * It falls evenly to the end of the period; there the current count takes the place of the previous
 * one, and it goes on falling. */

/* Counts of an earlier, wider rule times a long period. */
__extension__ typedef __int128 wide;

/* When previous * (period - t) / period + current has fallen to `level`. */
static int64_t falls_to(int64_t level, int64_t current, int64_t previous, int64_t period)
{
    wide above = current + previous - level;
    return above > 0 ? (int64_t)((above * period + previous - 1) / previous) : 0;
}

static int64_t approx_retry(const tkl__rule *rule, const tkl__finding *v)
{
    int64_t passed = v->numbers[0], current = v->numbers[1], previous = v->numbers[2];
    int64_t level = rule->capacity - v->quantity;
    if (current <= level)
        return falls_to(level, current, previous, rule->unit) - passed;
    return rule->unit - passed + falls_to(level, 0, current, rule->unit);
}

static void answer_approx(const tkl__rule *rule, const tkl__finding *v, int64_t *remaining,
                          tkl__times *times)
{
    int64_t passed = v->numbers[0], current = v->numbers[1], previous = v->numbers[2];
    wide sum = (wide)previous * (rule->unit - passed) + (wide)current * rule->unit;
    *remaining = sum < rule->most ? (int64_t)((rule->most - sum) / rule->unit) : 0;
    times->turn = 0;
    times->retry = approx_retry(rule, v);
    times->reset = current > 0 ? 2 * rule->unit - passed : previous > 0 ? rule->unit - passed : 0;
}

/* ---- All of them --------------------------------------------------------- */

void tkl__limit_answer(const tkl__rule *rule, const tkl__finding *finding, tkl_limit_answer *answer,
                       tkl__times *times)
{
    int64_t remaining;
    if (tkl__rule_has_debt(rule))
        answer_debt(rule, finding, &remaining, times);
    else if (tkl__rule_has_tickets(rule))
        answer_window(rule, finding, &remaining, times);
    else
        answer_approx(rule, finding, &remaining, times);
    bool allowed = finding->fits && !finding->never;
    if (allowed || finding->never)
        times->retry = -1;
    answer->allowed = allowed;
    answer->limit = rule->capacity;
    answer->remaining = remaining;
    answer->retry_after_ms = times->retry < 0 ? -1 : divide_up(times->retry, 1000);
    answer->reset_after_ms = divide_up(times->reset, 1000);
}

void tkl_limit_cell(const tkl_limit_answer *answer, int64_t cell[5])
{
    int64_t retry = answer->retry_after_ms;
    cell[0] = answer->allowed ? 0 : 1;
    cell[1] = answer->limit;
    cell[2] = answer->remaining;
    cell[3] = retry < 0 ? -1 : divide_up(retry, 1000);
    cell[4] = divide_up(answer->reset_after_ms, 1000);
}
