/* SPDX-License-Identifier: MIT
 *
 * Ads at all limits at once, the longest names and the most of everything: no script is long.
 */
#include <stdlib.h>
#include <tackle/ads.h>

#include "support/call.h"
#include "support/timed.h"

enum { ADS = 30, ROUNDS = 240, WORD_BYTES = 64, MOST_SAMPLES = 1000 };

/* ---- Names and words ----------------------------------------------------- */

enum { PLACES = 0, OTHER_PLACES = 100, VALUES = 200, KINDS = 300, NAMES = 400, STORED = 500 };

static char stored[STORED][TKL_ADS_NAME_MAX + 1];

/* The longest names, which differ at the end only. */
static tkl_bytes longest_name(size_t number)
{
    char *text = stored[number];
    memset(text, 'x', TKL_ADS_NAME_MAX);
    sprintf(text + TKL_ADS_NAME_MAX - 5, "%05zu", number);
    return (tkl_bytes){text, TKL_ADS_NAME_MAX};
}

static char *longest_words(int first, int count)
{
    char *text = malloc((size_t)count * (WORD_BYTES + 1) + 1), *at = text;
    assert_non_null(text);
    for (int i = 0; i < count; i++) {
        memset(at, 'w', WORD_BYTES);
        at += WORD_BYTES - 5;
        at += sprintf(at, "%05d ", first + i);
    }
    return text;
}

/* ---- Ads and pages ------------------------------------------------------- */

/* WIDE: as many locations as there may be. GATED: as many combinations of values as are kept apart,
 * at as many locations as these leave room for. */
typedef enum shape { WIDE, GATED } shape;

static tkl_bytes places[TKL_ADS_LOCATIONS_MAX], values[TKL_ADS_VALUES_MAX];
static tkl_ads_need needs[TKL_ADS_KINDS_MAX];

static tkl_ad giant(shape form, size_t number, size_t from, const char *text)
{
    static const size_t gated[TKL_ADS_KINDS_MAX] = {1, 4, 4, 11, 11, 11, 11, 11};
    size_t count = form == GATED ? 4 : TKL_ADS_LOCATIONS_MAX;
    for (size_t i = 0; i < count; i++)
        places[i] = longest_name(from + i);
    for (size_t i = 0; i < TKL_ADS_VALUES_MAX; i++)
        values[i] = longest_name(VALUES + i);
    for (size_t i = 0; i < TKL_ADS_KINDS_MAX; i++) {
        size_t kind = form == GATED ? i + number % 8 : i;
        needs[i] = (tkl_ads_need){.kind = longest_name(KINDS + kind), .values = values};
        needs[i].count = form == GATED ? gated[i] : TKL_ADS_VALUES_MAX / TKL_ADS_KINDS_MAX;
    }
    return (tkl_ad){.name = longest_name(NAMES + number),
                    .type = number % 2 ? TKL_ADS_CPC : TKL_ADS_CPA,
                    .price_micros = 1000000,
                    .budget_micros = 48000000, /* two events an hour */
                    .locations = places,
                    .location_count = count,
                    .needs = needs,
                    .need_count = TKL_ADS_KINDS_MAX,
                    .text = tkl_str(text)};
}

/* `fits`: all ads want this viewer. */
static tkl_ads_page page_of(const char *text, size_t count, bool fits)
{
    static tkl_ads_trait traits[TKL_ADS_PAGE_TRAITS_MAX];
    for (size_t i = 0; i < TKL_ADS_PAGE_TRAITS_MAX; i++)
        traits[i] = (tkl_ads_trait){.kind = longest_name(KINDS + i),
                                    .value = fits || i != 7 ? values[0] : tkl_str("other")};
    return (tkl_ads_page){.locations = places,
                          .location_count = count,
                          .traits = traits,
                          .trait_count = TKL_ADS_PAGE_TRAITS_MAX,
                          .text = tkl_str(text)};
}

/* ---- Times --------------------------------------------------------------- */

typedef enum operation {
    YARDSTICK, /* a script that takes about a millisecond */
    ADD,
    TARGET,
    CLICK,
    RETURN, /* a target for which budgets open */
    WALK,   /* a target that passes over all ads */
    REPORT,
    SHOW,
    REPLACE,
    REMOVE,
    OPERATIONS
} operation;

typedef struct stage {
    timed_server *timed;
    tkl_client *client;
    tkl_ads *ads;
    double since;
    int64_t calls;
    double ms[OPERATIONS][MOST_SAMPLES];
    size_t count[OPERATIONS];
} stage;

/* Milliseconds that the server has worked, whatever else the machine did. */
static double cpu_ms(const stage *s)
{
    char *path = test_format("/proc/%d/schedstat", (int)s->timed->server->pid);
    FILE *file = fopen(path, "r");
    unsigned long long ns = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &ns), 1);
    fclose(file);
    free(path);
    return (double)ns / 1e6;
}

static void start(stage *s)
{
    s->calls = server_functions(s->timed->server);
    s->since = cpu_ms(s);
}

/* Notes the time of a script that ran since start(). */
static void note(stage *s, operation what)
{
    double ms = cpu_ms(s) - s->since;
    int64_t calls = server_functions(s->timed->server) - s->calls;
    assert_in_range(s->count[what], 0, MOST_SAMPLES - 1);
    s->ms[what][s->count[what]++] = ms / (double)(calls ? calls : 1);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(stage *s, operation what)
{
    assert_true(s->count[what] > 0);
    qsort(s->ms[what], s->count[what], sizeof(double), by_size);
    return s->ms[what][s->count[what] / 2];
}

static void measure_yardstick(stage *s)
{
    static const char script[] = "for i = 1, 500 do redis.call('HSET', KEYS[1], i % 100, i) end";
    for (int i = 0; i < 20; i++) {
        start(s);
        assert_ok(tkl_callz(s->client, NULL, "EVAL", script, "1", "yardstick", NULL));
        note(s, YARDSTICK);
    }
}

/* ---- Steps --------------------------------------------------------------- */

static void add_all(stage *s, shape form, size_t from, const char *text, operation what)
{
    for (size_t i = 0; i < ADS; i++) {
        tkl_ad ad = giant(form, i, from, text);
        start(s);
        assert_ok(tkl_ads_add(s->ads, &ad, 1));
        note(s, what);
    }
}

/* Views without words and clicks with all of them: all words get better than their ads. */
static void learn(stage *s, const char *text)
{
    for (int i = 0; i < ROUNDS; i++) {
        bool hour = i % 40 == 39;
        size_t count = i % 2 ? 1 : 4;
        tkl_ads_page page = page_of(i % 3 ? text : "", count, true);
        tkl_ads_choice *c;
        if (hour)
            timed_shift(s->timed, HOUR_MS);
        start(s);
        int rc = tkl_ads_target(s->ads, &page, &c);
        note(s, hour ? RETURN : TARGET);
        if (rc == TKL_OK && i % 3) {
            start(s);
            assert_ok(c->type == TKL_ADS_CPC ? tkl_ads_click(s->ads, c->target)
                                             : tkl_ads_action(s->ads, c->target));
            note(s, CLICK);
        }
        tkl_ads_choice_free(c);
    }
}

static void pass_over(stage *s, const char *text)
{
    timed_shift(s->timed, 24 * HOUR_MS);
    for (int i = 0; i < 10; i++) {
        tkl_ads_page page = page_of(text, 4, false);
        tkl_ads_choice *c;
        start(s);
        assert_code(tkl_ads_target(s->ads, &page, &c), TKL_EMPTY);
        note(s, WALK);
    }
}

static void report(stage *s)
{
    for (int i = 0; i < 5; i++) {
        tkl_ads_lines *lines;
        tkl_ads_info *info;
        start(s);
        assert_ok(tkl_ads_report(s->ads, &lines));
        note(s, REPORT);
        assert_int_equal(lines->count, ADS);
        tkl_ads_lines_free(lines);
        start(s);
        assert_ok(tkl_ads_show(s->ads, longest_name(NAMES), &info));
        note(s, SHOW);
        assert_int_equal(info->word_count, TKL_ADS_WORDS_MAX);
        tkl_ads_info_free(info);
    }
}

static void remove_all(stage *s)
{
    for (size_t i = 0; i < ADS; i++) {
        tkl_bytes name = longest_name(NAMES + i);
        int64_t removed;
        start(s);
        assert_ok(tkl_ads_remove(s->ads, &name, 1, &removed));
        note(s, REMOVE);
        assert_int_equal(removed, 1);
    }
}

/* Lower medians, as a busy machine adds to many samples: each is at most eight times the yardstick.
 * The most, replacing an ad, is five times on a quiet machine. */
static void compare(stage *s)
{
    static const char *const names[] = {"yardstick", "add",    "target", "click",   "return",
                                        "walk",      "report", "show",   "replace", "remove"};
    double yardstick = median(s, YARDSTICK);
    for (operation what = YARDSTICK; what < OPERATIONS; what++) {
        double ms = median(s, what);
        print_message("%-12s %6.2f ms, at most %6.2f\n", names[what], ms,
                      s->ms[what][s->count[what] - 1]);
        if (ms > 8 * yardstick)
            fail_msg("%s takes %.2f ms, the yardstick %.2f", names[what], ms, yardstick);
    }
}

static void run(shape form)
{
    stage *s = calloc(1, sizeof *s);
    char *words = longest_words(0, TKL_ADS_WORDS_MAX);
    char *others = longest_words(50000, TKL_ADS_WORDS_MAX);
    char *text = longest_words(0, TKL_ADS_PAGE_WORDS_MAX);
    s->timed = timed_start(NULL);
    timed_set(s->timed, INT64_C(1767225600000) + 60000); /* 2026-01-01 00:01 */
    s->client = test_open(s->timed->server->url, NULL);
    assert_ok(tkl_ads_open(s->client, tkl_str("site"), NULL, &s->ads));
    measure_yardstick(s);
    add_all(s, form, PLACES, words, ADD);
    learn(s, text);
    pass_over(s, text);
    report(s);
    add_all(s, form, OTHER_PLACES, others, REPLACE);
    remove_all(s);
    compare(s);
    tkl_ads_close(s->ads);
    tkl_close(s->client);
    timed_end(s->timed);
    free(words);
    free(others);
    free(text);
    free(s);
}

static void ads_with_the_most_locations(void **state)
{
    (void)state;
    run(WIDE);
}

static void ads_with_the_most_combinations_of_values(void **state)
{
    (void)state;
    run(GATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ads_with_the_most_locations),
        cmocka_unit_test(ads_with_the_most_combinations_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
