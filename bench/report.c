/* SPDX-License-Identifier: MIT
 *
 * All numbers are medians: on a machine with other load, the mean of a few rounds would show that
 * load. A ratio compares two turns of the same round, and the median is taken of the ratios, so
 * that a slow minute does not count against one contender.
 */
#include "report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Statistics ---------------------------------------------------------- */

typedef struct spread {
    double least, median, most;
} spread;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static spread spread_of(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return (spread){values[0], median, values[n - 1]};
}

/* The spread of one field of the samples. */
static spread spread_at(const outcome *o, int contender, size_t field)
{
    double values[o->rounds];
    for (int r = 0; r < o->rounds; r++)
        memcpy(&values[r], (const char *)&o->samples[contender][r] + field, sizeof *values);
    return spread_of(values, o->rounds);
}

#define SPREAD(o, contender, field) spread_at(o, contender, offsetof(bench_sample, field))

static bool ran(const outcome *o, int contender)
{
    return o->bcase->contenders[contender].name && o->samples[contender];
}

static bool is_rate(const outcome *o, int contender)
{
    return !o->bcase->contenders[contender].measure;
}

/* The best of a role in a round; 0: the case has none. */
static double best_of(const outcome *o, bench_role role, int round)
{
    double best = 0;
    for (int c = 0; c < BENCH_CONTENDERS && o->bcase->contenders[c].name; c++) {
        double value = ran(o, c) ? o->samples[c][round].value : 0;
        if (o->bcase->contenders[c].role == role && value > best)
            best = value;
    }
    return best;
}

static bool ratio_to(const outcome *o, bench_role role, int contender, spread *ratio)
{
    double values[o->rounds];
    if (!is_rate(o, contender) || best_of(o, role, 0) <= 0)
        return false;
    for (int r = 0; r < o->rounds; r++)
        values[r] = o->samples[contender][r].value / best_of(o, role, r);
    *ratio = spread_of(values, o->rounds);
    return true;
}

static bool ratio_of(const outcome *o, int contender, spread *ratio)
{
    return ratio_to(o, BENCH_LIMIT, contender, ratio);
}

/* The ratio of p50 to that of the limit. */
static double p50_ratio(const outcome *o, int contender)
{
    double values[o->rounds];
    int limit = 0;
    while (o->bcase->contenders[limit].role != BENCH_LIMIT)
        limit++;
    for (int r = 0; r < o->rounds; r++)
        values[r] = o->samples[contender][r].p50_us / o->samples[limit][r].p50_us;
    return spread_of(values, o->rounds).median;
}

/* The median of the ratios to another contender in the same rounds. */
static double times(const outcome *o, int contender, int other)
{
    double values[o->rounds];
    for (int r = 0; r < o->rounds; r++)
        values[r] = o->samples[contender][r].value / o->samples[other][r].value;
    return spread_of(values, o->rounds).median;
}

static int first_of_ours(const outcome *o)
{
    int first = 0;
    while (o->bcase->contenders[first].role != BENCH_OURS)
        first++;
    return first;
}

static double command_growth(const outcome *o, int contender)
{
    return SPREAD(o, contender, commands).median / SPREAD(o, first_of_ours(o), commands).median;
}

/* ---- Targets ------------------------------------------------------------- */

typedef enum verdict { NO_TARGET, REACHED, MISSED } verdict;

static double least_ratio(const outcome *o, int contender)
{
    double own = o->bcase->contenders[contender].at_least;
    return own > 0 ? own : o->bcase->at_least;
}

/* Whether a contender meets the target in its row. */
static verdict judge_contender(const outcome *o, int contender)
{
    spread ratio;
    double at_least = least_ratio(o, contender);
    if (o->bcase->contenders[contender].role != BENCH_OURS)
        return NO_TARGET;
    bool enough = o->bcase->enough > 0 && SPREAD(o, contender, value).median >= o->bcase->enough;
    if (at_least > 0 && ratio_of(o, contender, &ratio))
        return ratio.median >= at_least || enough ? REACHED : MISSED;
    if (o->bcase->has_at_most)
        return SPREAD(o, contender, value).median <= o->bcase->at_most ? REACHED : MISSED;
    return NO_TARGET;
}

/* One of the further targets of a case. */
typedef struct claim {
    char what[64];
    double value, bound;
    bool at_least; /* else at most */
} claim;

#define CLAIMS (8 + BENCH_CONTENDERS)

static bool holds(claim c)
{
    return c.at_least ? c.value >= c.bound : c.value <= c.bound;
}

static int claims_of(const outcome *o, int contender, claim claims[CLAIMS])
{
    const bench_case *b = o->bcase;
    spread peers;
    int n = 0;
    bench_role role = b->contenders[contender].role;
    if (!ran(o, contender) || (role != BENCH_OURS && role != BENCH_YARDSTICK))
        return 0;
    if (b->over_peers > 0 && ratio_to(o, BENCH_PEER, contender, &peers))
        claims[n++] = (claim){"of the best peer", peers.median, b->over_peers, true};
    if (b->p50_by_limit > 0)
        claims[n++] =
            (claim){"p50 by that of the limit", p50_ratio(o, contender), b->p50_by_limit, false};
    if (b->server_us > 0)
        claims[n++] = (claim){"us of the server's time", SPREAD(o, contender, command_us).median,
                              b->server_us, false};
    for (int c = 0; c < BENCH_CONTENDERS && b->contenders[c].name; c++)
        if (b->contenders[c].outdone > 0 && ran(o, c)) {
            claims[n] = (claim){"", times(o, contender, c), b->contenders[c].outdone, true};
            snprintf(claims[n++].what, sizeof claims->what, "times %s", b->contenders[c].name);
        }
    if (b->fair_at_least > 0)
        claims[n++] = (claim){"least served by most served", SPREAD(o, contender, fairness).median,
                              b->fair_at_least, true};
    if (b->growth_at_most > 0)
        claims[n++] = (claim){"commands by those of the first", command_growth(o, contender),
                              b->growth_at_most, false};
    if (b->rise_at_most > 0 && contender != first_of_ours(o))
        claims[n++] =
            (claim){"by the first", times(o, contender, first_of_ours(o)), b->rise_at_most, false};
    return n;
}

static bool all_hold(const outcome *o, int contender)
{
    claim claims[CLAIMS];
    if (o->bcase->contenders[contender].role != BENCH_OURS)
        return true;
    for (int i = claims_of(o, contender, claims) - 1; i >= 0; i--)
        if (!holds(claims[i]))
            return false;
    return true;
}

bool report_reached(const outcome *o)
{
    for (int c = 0; c < BENCH_CONTENDERS && o->bcase->contenders[c].name; c++)
        if (ran(o, c) && (judge_contender(o, c) == MISSED || !all_hold(o, c)))
            return false;
    return true;
}

/* ---- The table ----------------------------------------------------------- */

void report_heading(const char *component)
{
    printf("\n%-82s %26s %6s %13s %15s\n", "", "------ latency, us ------", "", "- cpu us/op -",
           "-- commands --");
    printf("%-26s %10s %21s %6s %15s %8s %8s %8s %6s %6s %6s %7s %7s %5s\n", component, "median",
           "least..most", "ratio", "target   ", "p50", "p99", "max", "fair", "client", "server",
           "us/op", "n/op", "conns");
}

static void print_value(spread s)
{
    char range[40];
    int digits = s.most < 1000 ? 2 : 0;
    snprintf(range, sizeof range, "%.*f..%.*f", digits, s.least, digits, s.most);
    printf(" %10.*f %21s", digits, s.median, range);
}

static void print_target(const outcome *o, int contender)
{
    char text[40] = "";
    verdict v = judge_contender(o, contender);
    if (v != NO_TARGET && least_ratio(o, contender) > 0)
        snprintf(text, sizeof text, ">= %.2f", least_ratio(o, contender));
    else if (v != NO_TARGET)
        snprintf(text, sizeof text, "<= %g", o->bcase->at_most);
    printf(" %8s %-6s", text, v == REACHED ? "yes" : v == MISSED ? "NO" : "");
}

static void print_field(const outcome *o, int contender, size_t field, int width, int digits)
{
    double median = spread_at(o, contender, field).median;
    if (median > 0)
        printf(" %*.*f", width, digits, median);
    else
        printf(" %*s", width, "-");
}

static void print_details(const outcome *o, int contender)
{
    print_field(o, contender, offsetof(bench_sample, p50_us), 8, 1);
    print_field(o, contender, offsetof(bench_sample, p99_us), 8, 1);
    print_field(o, contender, offsetof(bench_sample, max_us), 8, 0);
    print_field(o, contender, offsetof(bench_sample, fairness), 6, 2);
    print_field(o, contender, offsetof(bench_sample, client_cpu_us), 6, 2);
    print_field(o, contender, offsetof(bench_sample, server_cpu_us), 6, 2);
    print_field(o, contender, offsetof(bench_sample, command_us), 7, 2);
    print_field(o, contender, offsetof(bench_sample, commands), 7, 2);
    print_field(o, contender, offsetof(bench_sample, connections), 5, 0);
}

static void print_row(const outcome *o, int contender)
{
    spread ratio;
    printf("  %-24s", o->bcase->contenders[contender].name);
    print_value(SPREAD(o, contender, value));
    if (ratio_of(o, contender, &ratio))
        printf(" %6.3f", ratio.median);
    else
        printf(" %6s", "");
    print_target(o, contender);
    if (is_rate(o, contender))
        print_details(o, contender);
    putchar('\n');
}

static void print_claims(const outcome *o, int contender)
{
    claim claims[CLAIMS];
    int n = claims_of(o, contender, claims);
    for (int i = 0; i < n; i++)
        printf("  %-24s %10.2f %s (%s %.2f: %s)\n", o->bcase->contenders[contender].name,
               claims[i].value, claims[i].what, claims[i].at_least ? "at least" : "at most",
               claims[i].bound, holds(claims[i]) ? "yes" : "NO");
}

void report_table(const outcome *o)
{
    printf("%s, %s\n", o->bcase->name, o->bcase->unit);
    for (int c = 0; c < BENCH_CONTENDERS && o->bcase->contenders[c].name; c++)
        if (ran(o, c))
            print_row(o, c);
    for (int c = 0; c < BENCH_CONTENDERS && o->bcase->contenders[c].name; c++)
        print_claims(o, c);
    fflush(stdout);
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *spread_json(spread s)
{
    return json_pack("{s:f, s:f, s:f}", "least", s.least, "median", s.median, "most", s.most);
}

static json_t *sample_json(const bench_sample *sample)
{
    json_t *counts = json_array();
    for (int i = 0; i < sample->workers; i++)
        json_array_append_new(counts, json_integer((json_int_t)sample->counts[i]));
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "value",
                     sample->value, "p50_us", sample->p50_us, "p99_us", sample->p99_us, "max_us",
                     sample->max_us, "fairness", sample->fairness, "client_cpu_us",
                     sample->client_cpu_us, "server_cpu_us", sample->server_cpu_us, "command_us",
                     sample->command_us, "commands", sample->commands, "connections",
                     sample->connections, "counts", counts);
}

static json_t *contender_json(const outcome *o, int contender)
{
    static const char *const roles[] = {"ours", "limit", "peer", "yardstick"};
    const bench_contender *c = &o->bcase->contenders[contender];
    json_t *rounds = json_array();
    for (int r = 0; r < o->rounds; r++)
        json_array_append_new(rounds, sample_json(&o->samples[contender][r]));
    json_t *json = json_pack("{s:s, s:s, s:o, s:o}", "name", c->name, "role", roles[c->role],
                             "value", spread_json(SPREAD(o, contender, value)), "rounds", rounds);
    spread ratio;
    if (ratio_of(o, contender, &ratio))
        json_object_set_new(json, "ratio", spread_json(ratio));
    verdict v = judge_contender(o, contender);
    if (v != NO_TARGET)
        json_object_set_new(json, "reached", json_boolean(v == REACHED));
    claim claims[CLAIMS];
    for (int i = claims_of(o, contender, claims) - 1; i >= 0; i--)
        json_object_set_new(
            json, claims[i].what,
            json_pack("{s:f, s:b}", "value", claims[i].value, "reached", holds(claims[i])));
    return json;
}

json_t *report_json(const outcome *o)
{
    json_t *contenders = json_array();
    for (int c = 0; c < BENCH_CONTENDERS && o->bcase->contenders[c].name; c++)
        if (ran(o, c))
            json_array_append_new(contenders, contender_json(o, c));
    json_t *json = json_pack("{s:s, s:s, s:o}", "case", o->bcase->name, "unit", o->bcase->unit,
                             "contenders", contenders);
    if (o->bcase->at_least > 0)
        json_object_set_new(json, "at_least", json_real(o->bcase->at_least));
    if (o->bcase->has_at_most)
        json_object_set_new(json, "at_most", json_real(o->bcase->at_most));
    return json;
}
