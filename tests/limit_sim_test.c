/* SPDX-License-Identifier: MIT
 *
 * The scripts of the limits against simulations of the textbook's definitions, in whole numbers:
 * random rules, quantities and times, and always the same answers.
 *
 * The server's clock cannot be set, so the test runs the very text of the scripts with the time
 * as arguments in the place of TIME, and with an hour more for the keys to live, which would
 * otherwise expire by a clock that has nothing to do with it.
 */
#include <inttypes.h>

#include "core/clock.h"
#include "limit/limit.h"
#include "limit/scripts.h"
#include "support/batch.h"
#include "support/fixture.h"

__extension__ typedef __int128 wide;

enum {
    RULES = 50, /* rules of each algorithm */
    STEPS = 400,
    BATCH = 100,
    KEY_ARGS = 9,         /* arguments of limit/check for a key */
    NARGS = 3 + KEY_ARGS, /* for one key, and the time */
    ENTRIES = 45000,      /* more than a walk can ask for */
};

/* ---- Chance -------------------------------------------------------------- */

static uint64_t seed;

static int64_t chance(int64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)below);
}

static int64_t one_of(const int64_t *numbers, int count)
{
    return numbers[chance(count)];
}

/* ---- The scripts with another clock -------------------------------------- */

/* Replaces all occurrences, and takes over the text. */
static char *replace(char *text, const char *what, const char *by)
{
    char *result = test_format("%s", ""), *rest = text;
    assert_non_null(strstr(text, what));
    for (char *at; (at = strstr(rest, what)); rest = at + strlen(what)) {
        char *longer = test_format("%s%.*s%s", result, (int)(at - rest), rest, by);
        free(result);
        result = longer;
    }
    char *whole = test_format("%s%s", result, rest);
    free(result);
    free(text);
    return whole;
}

/* A function with a clock of ours: its last two arguments. */
typedef struct timed_function {
    tkl__script script;
    tkl__library library;
    char *source, *name;
} timed_function;

static timed_function *with_own_clock(const tkl__script *script)
{
    timed_function *t = calloc(1, sizeof *t);
    assert_non_null(t);
    char *text = test_format("%s", script->library->source);
    text = replace(text, "tackle_limit_", "timed_limit_");
    text = replace(text, "local register", "local TIMES local register");
    text = replace(text, "begin(KEYS)\n", "TIMES = {ARGV[#ARGV - 1], ARGV[#ARGV]} begin(KEYS)\n");
    text = replace(text, "redis.call('TIME')", "TIMES");
    text = replace(text, "'PX', ", "'PX', 3600000 + ");
    t->source = replace(text, "('PEXPIRE', key, ", "('PEXPIRE', key, 3600000 + ");
    t->name = replace(test_format("%s", script->function), "tackle_limit_", "timed_limit_");
    t->library = *script->library;
    t->library.source = t->source;
    t->library.len = strlen(t->source);
    t->script = *script;
    t->script.library = &t->library;
    t->script.function = t->name;
    t->script.open_args = true;
    return t;
}

static void timed_free(timed_function *t)
{
    free(t->source);
    free(t->name);
    free(t);
}

/* ---- Steps --------------------------------------------------------------- */

typedef struct step {
    int64_t now, quantity;
    char texts[5][24];
    bool paired; /* with another key that is only looked at: not the script's common case */
    tkl_bytes args[NARGS + KEY_ARGS];
    size_t nargs;
} step;

typedef struct model {
    tkl_limit_rule given;
    tkl__limit_rule rule;
    wide tat;              /* funnel, bucket: the theoretical arrival time, times the count */
    int64_t ends[ENTRIES]; /* window: when each ends, oldest first */
    int alive;
    int64_t index, current, previous; /* approximate */
} model;

static tkl_bytes text_of(char text[24], int64_t number)
{
    snprintf(text, 24, "%" PRId64, number);
    return tkl_str(text);
}

static void put_key(const model *m, step *s, int64_t quantity, char *text, const char *ticket)
{
    const tkl__limit_rule *r = &m->rule;
    const tkl_bytes args[KEY_ARGS] = {
        tkl_str(r->kind),      text_of(text, quantity), tkl_str(r->capacity_text),
        tkl_str(r->unit_text), tkl_str(r->rate_text),   tkl_str(ticket),
        tkl_str("0"),          tkl_str(r->stored_text), tkl_str(r->count_denied ? "1" : "0"),
    };
    memcpy(s->args + s->nargs, args, sizeof args);
    s->nargs += KEY_ARGS;
}

static void prepare(const model *m, step *s)
{
    s->nargs = 0;
    s->args[s->nargs++] = tkl_str("1");
    text_of(s->texts[1], chance(INT64_MAX)); /* the ticket */
    put_key(m, s, s->quantity > m->rule.capacity ? 0 : s->quantity, s->texts[0], s->texts[1]);
    if (s->paired)
        put_key(m, s, 0, s->texts[4], "");
    s->args[s->nargs++] = text_of(s->texts[2], s->now / 1000000);
    s->args[s->nargs++] = text_of(s->texts[3], s->now % 1000000);
}

/* ---- The textbook -------------------------------------------------------- */

typedef struct expectation {
    bool allowed;
    int64_t limit, remaining, retry_us, reset_us;
} expectation;

static int64_t up(wide number, wide by)
{
    return number > 0 ? (int64_t)((number + by - 1) / by) : 0;
}

/* The quantity that has to fit: a check of 0 takes nothing, and asks whether one would fit. */
static int64_t wanted(int64_t quantity)
{
    return quantity > 0 ? quantity : 1;
}

/* Whether a denied quantity counts. */
static bool is_charged(const model *m, const expectation *e, int64_t quantity)
{
    return m->given.count_denied && !e->allowed && quantity > 0 && quantity <= e->limit;
}

/* T = period / count; everything times count. A denied quantity counts up to a full bucket. */
static expectation expect_debt(model *m, int64_t time, int64_t quantity)
{
    wide count = m->given.count, period = (wide)m->given.period_ms * 1000, now = time * count;
    int64_t burst = m->given.burst == 0          ? m->given.count - 1
                    : m->given.burst == TKL_NONE ? 0
                                                 : m->given.burst;
    bool explicit = m->given.algorithm == TKL_LIMIT_BUCKET && m->given.burst > 0;
    int64_t capacity = explicit ? burst : burst + 1;
    wide tolerance = period * capacity;
    wide from = m->tat > now ? m->tat : now;
    wide next = from + period * wanted(quantity);
    expectation e = {.allowed = now >= next - tolerance, .limit = capacity, .retry_us = -1};
    if (is_charged(m, &e, quantity)) {
        wide full = now + tolerance;
        m->tat = from = from > full ? from : next < full ? next : full;
        next = from + period * quantity;
    }
    if (!e.allowed && quantity <= capacity)
        e.retry_us = up(next - tolerance - now, count);
    if (e.allowed)
        m->tat = from += period * quantity;
    e.remaining = (int64_t)((now - (from - tolerance)) / period);
    e.reset_us = up(from - now, count);
    return e;
}

/* All attempts of the last period are kept here, however many: the script keeps fewer of them. */
static expectation expect_window(model *m, int64_t now, int64_t quantity)
{
    int gone = 0, count = (int)m->given.count;
    while (gone < m->alive && m->ends[gone] <= now)
        gone++;
    m->alive -= gone;
    memmove(m->ends, m->ends + gone, (size_t)m->alive * sizeof *m->ends);
    expectation e = {
        .allowed = m->alive + wanted(quantity) <= count, .limit = count, .retry_us = -1};
    bool counts = e.allowed || is_charged(m, &e, quantity);
    for (int64_t i = 0; counts && i < quantity; i++)
        m->ends[m->alive++] = now + m->given.period_ms * 1000;
    if (!e.allowed && quantity <= count)
        e.retry_us = m->ends[m->alive + wanted(quantity) - count - 1] - now;
    e.remaining = m->alive < count ? count - m->alive : 0;
    e.reset_us = m->alive > 0 ? m->ends[m->alive - 1] - now : 0;
    return e;
}

/* The part of both counts that a window that ends then covers, times the period. */
static wide estimate(const model *m, int64_t time)
{
    int64_t period = m->given.period_ms * 1000, passed = time / period - m->index;
    wide rest = period - time % period;
    if (passed == 0)
        return m->previous * rest + (wide)m->current * period;
    return passed == 1 ? m->current * rest : 0;
}

static bool approx_fits(const model *m, int64_t time, int64_t quantity)
{
    wide period = m->given.period_ms * 1000;
    return estimate(m, time) + wanted(quantity) * period <= m->given.count * period;
}

/* The first moment at which it fits: what counts only falls. */
static int64_t first_fit(const model *m, int64_t now, int64_t quantity)
{
    int64_t low = now, high = now + 3 * m->given.period_ms * 1000;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (approx_fits(m, middle, quantity))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static expectation expect_approx(model *m, int64_t now, int64_t quantity)
{
    int64_t period = m->given.period_ms * 1000, passed = now / period - m->index;
    if (passed > 0) {
        m->previous = passed == 1 ? m->current : 0;
        m->current = 0;
        m->index = now / period;
    }
    expectation e = {.allowed = approx_fits(m, now, quantity), .limit = m->given.count};
    if (is_charged(m, &e, quantity) && m->current < e.limit)
        m->current = m->current + quantity < e.limit ? m->current + quantity : e.limit;
    e.retry_us = e.allowed || quantity > m->given.count ? -1 : first_fit(m, now, quantity) - now;
    if (e.allowed)
        m->current += quantity;
    wide room = m->given.count * (wide)period - estimate(m, now);
    e.remaining = room > 0 ? (int64_t)(room / period) : 0;
    while (estimate(m, now + e.reset_us) > 0)
        e.reset_us += period - (now + e.reset_us) % period;
    return e;
}

static expectation expect(model *m, int64_t now, int64_t quantity)
{
    if (tkl__limit_has_debt(&m->rule))
        return expect_debt(m, now, quantity);
    return m->given.algorithm == TKL_LIMIT_WINDOW_APPROX ? expect_approx(m, now, quantity)
                                                         : expect_window(m, now, quantity);
}

/* ---- Comparing ----------------------------------------------------------- */

static void read_step(const model *m, const step *s, const tkl_reply *reply, tkl_limit_answer *got,
                      tkl__limit_times *times)
{
    tkl_limit limit = {.rule = m->rule};
    bool never = s->quantity > m->rule.capacity;
    tkl__limit_question q = {.limit = &limit, .quantity = never ? 0 : s->quantity, .never = never};
    int rc = tkl__limit_read(&q, reply, 0, got, times);
    assert_true(rc == TKL_OK || rc == TKL_LIMITED);
}

static void compare(model *m, const step *s, const tkl_reply *reply)
{
    tkl_limit_answer got;
    tkl__limit_times times;
    assert_ok(tkl_reply_code(reply));
    read_step(m, s, reply, &got, &times);
    expectation e = expect(m, s->now, s->quantity);
    if (got.allowed != e.allowed || got.limit != e.limit || got.remaining != e.remaining ||
        times.retry != e.retry_us || times.reset != e.reset_us ||
        got.retry_after_ms != (e.retry_us < 0 ? -1 : up(e.retry_us, 1000)) ||
        got.reset_after_ms != up(e.reset_us, 1000))
        fail_msg("%d: %" PRId64 " in %" PRId64 " ms, burst %" PRId64 ": %" PRId64 " at %" PRId64
                 "\ngot      %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                 "\nexpected %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                 (int)m->given.algorithm, m->given.count, m->given.period_ms, m->given.burst,
                 s->quantity, s->now, got.allowed, got.limit, got.remaining, times.retry,
                 times.reset, e.allowed, e.limit, e.remaining, e.retry_us, e.reset_us);
}

/* ---- Random walks -------------------------------------------------------- */

/* From a million a second to one a month. */
static tkl_limit_rule random_rule(tkl_limit_algorithm algorithm)
{
    static const int64_t counts[] = {1, 2, 3, 7, 30, 1000, 999983, 1000000};
    static const int64_t periods[] = {1, 7, 1000, 59999, 60000, 3600000, 2592000000};
    static const int64_t bursts[] = {0, 1, 2, 15, 100, 999, TKL_NONE};
    tkl_limit_rule rule = {.algorithm = algorithm};
    rule.period_ms = one_of(periods, 7);
    rule.count = one_of(counts, 8);
    if (algorithm == TKL_LIMIT_GCRA || algorithm == TKL_LIMIT_BUCKET)
        rule.burst = one_of(bursts, algorithm == TKL_LIMIT_GCRA ? 7 : 6);
    else if (algorithm != TKL_LIMIT_WINDOW_APPROX)
        rule.count = 1 + chance(99);
    return rule;
}

static int64_t random_pause(const model *m)
{
    int64_t period = m->given.period_ms * 1000, each = period / m->given.count;
    const int64_t most[] = {1, 2, each + 1, each * 3 + 1, period, period * 3};
    return chance(most[chance(6)]);
}

static int64_t random_quantity(const model *m)
{
    int64_t most = m->rule.capacity + 1 < 1000 ? m->rule.capacity + 1 : 1000;
    return chance(3) ? chance(3) : chance(most + 1);
}

static void walk(fixture *f, model *m, const timed_function *check)
{
    static step steps[BATCH];
    tkl__invocation calls[BATCH];
    const tkl_bytes keys[] = {tkl_str("state"), tkl_str("unused")};
    tkl_reply *replies;
    static const int64_t years[] = {1970, 2001, 2023, 2100}; /* the server's clock may be wrong */
    int64_t now =
        (one_of(years, 4) - 1970) * INT64_C(31556952000000) + chance(INT64_C(1000000000000));
    m->index = now / (m->given.period_ms * 1000);
    for (int n = 0; n < STEPS / BATCH; n++) {
        for (int i = 0; i < BATCH; i++) {
            now += random_pause(m);
            steps[i] = (step){.now = now, .quantity = random_quantity(m), .paired = chance(2)};
            prepare(m, &steps[i]);
            calls[i] = (tkl__invocation){
                .script = &check->script,
                .keys = keys,
                .nkeys = steps[i].paired ? 2 : 1,
                .args = steps[i].args,
                .nargs = steps[i].nargs,
            };
        }
        assert_ok(batch_calls(f->client, calls, BATCH, tkl__deadline_ms(60000), &replies));
        for (int i = 0; i < BATCH; i++)
            compare(m, &steps[i], tkl_reply_at(replies, (size_t)i));
        tkl_reply_free(replies);
    }
    call_int(f->client, "DEL", "state", NULL);
}

static void answers_are_the_textbooks(fixture *f, tkl_limit_algorithm algorithm, bool count_denied)
{
    timed_function *check = with_own_clock(&tkl__lua_limit_check);
    seed = 0x9e3779b97f4a7c15u + (uint64_t)algorithm;
    for (int i = 0; i < RULES; i++) {
        static model m;
        m = (model){.given = random_rule(algorithm)};
        m.given.count_denied = count_denied;
        if (tkl__limit_rule_make(&m.given, &m.rule) == TKL_OK)
            walk(f, &m, check);
    }
    timed_free(check);
}

/* ---- A clock that is set back -------------------------------------------- */

/* One call by limit/check at that moment. */
static void ask_at(fixture *f, const model *m, const timed_function *script, int64_t now,
                   int64_t quantity, tkl_limit_answer *answer, tkl__limit_times *times)
{
    step s = {.now = now, .quantity = quantity};
    tkl_bytes key = tkl_str("state");
    tkl_reply *reply;
    prepare(m, &s);
    tkl__invocation call = {
        .script = &script->script, .keys = &key, .args = s.args, .nkeys = 1, .nargs = s.nargs};
    assert_ok(tkl__run(f->client, &call, tkl__deadline_ms(60000), &reply));
    read_step(m, &s, reply, answer, times);
    tkl_reply_free(reply);
}

static void server_clock_set_back_blocks_nobody_for_long(void **state)
{
    fixture *f = *state;
    const tkl_limit_algorithm which[] = {TKL_LIMIT_GCRA, TKL_LIMIT_BUCKET, TKL_LIMIT_WINDOW_APPROX};
    timed_function *check = with_own_clock(&tkl__lua_limit_check);
    for (int i = 0; i < 3; i++) {
        model m = {.given = {.algorithm = which[i], .count = 10, .period_ms = 1000}};
        tkl_limit_answer answer;
        tkl__limit_times times;
        int64_t now = INT64_C(1700000000000000);
        assert_ok(tkl__limit_rule_make(&m.given, &m.rule));
        ask_at(f, &m, check, now, m.rule.capacity, &answer, &times);
        assert_true(answer.allowed);
        now -= INT64_C(3600000000);
        ask_at(f, &m, check, now, 1, &answer, &times);
        assert_false(answer.allowed);
        assert_in_range(times.retry, 1, 2000000);
        ask_at(f, &m, check, now + times.retry, 1, &answer, &times);
        assert_true(answer.allowed);
        call_int(f->client, "DEL", "state", NULL);
    }
    timed_free(check);
}

/* ---- Slices -------------------------------------------------------------- */

typedef struct holder {
    int64_t size, left, epoch, ends;
} holder;

/* Settles a holder's slice, and takes a slice of at least this quantity; 0: none. */
static void lend(fixture *f, const model *m, const timed_function *script, int64_t now,
                 int64_t quantity, holder *h)
{
    char texts[7][24];
    tkl_bytes key = tkl_str("state");
    tkl_reply *reply;
    const tkl_bytes args[] = {
        tkl_str(m->rule.kind),
        tkl_str(m->rule.capacity_text),
        tkl_str(m->rule.unit_text),
        tkl_str(m->rule.rate_text),
        text_of(texts[0], h->size > 0 ? h->epoch : -1),
        text_of(texts[1], h->size),
        text_of(texts[2], h->size - h->left),
        text_of(texts[3], quantity > 0 ? quantity + chance(200) : 0),
        text_of(texts[4], quantity),
        tkl_str(m->rule.stored_text),
        text_of(texts[5], now / 1000000),
        text_of(texts[6], now % 1000000),
    };
    tkl__invocation call = {
        .script = &script->script, .keys = &key, .args = args, .nkeys = 1, .nargs = 12};
    assert_ok(tkl__run(f->client, &call, tkl__deadline_ms(60000), &reply));
    h->size = h->left = tkl_reply_int(tkl_reply_at(reply, 0));
    h->epoch = tkl_reply_int(tkl_reply_at(reply, 1));
    int64_t lasts = tkl_reply_int(tkl_reply_at(reply, 2));
    assert_true(h->size == 0 || h->size >= quantity);
    assert_in_range(lasts, 500000, 1000000);
    h->ends = now + lasts;
    tkl_reply_free(reply);
}

/* Checks that the textbook would have allowed everything that any client was allowed. */
static void lending_walk(fixture *f, model *m, const timed_function *check,
                         const timed_function *slice)
{
    enum { HOLDERS = 6 };
    holder holders[HOLDERS] = {{0}};
    tkl_limit_answer answer;
    tkl__limit_times times;
    int64_t now = INT64_C(1700000000000000), spent = 0;
    for (int i = 0; i < 1000; i++) {
        holder *h = &holders[chance(HOLDERS)];
        int64_t quantity = 1 + chance(chance(5) ? 3 : m->rule.capacity);
        now += chance(chance(20) ? 20000 : 900000);
        switch (chance(8)) {
        case 0:
            ask_at(f, m, check, now, quantity, &answer, &times);
            if (answer.allowed)
                assert_true(expect_debt(m, now, quantity).allowed);
            break;
        case 1:
            if (!chance(5))
                *h = (holder){0}; /* killed */
            break;
        case 2:
            lend(f, m, slice, now, chance(5) ? quantity : 0, h);
            break;
        default:
            if (quantity <= h->left && now < h->ends) {
                assert_true(expect_debt(m, now, quantity).allowed);
                h->left -= quantity;
                spent += quantity;
            } else
                lend(f, m, slice, now, quantity, h);
        }
    }
    assert_true(spent > 100);
    now += 2000000 + m->rule.capacity * m->rule.unit / m->rule.rate;
    ask_at(f, m, check, now, 0, &answer, &times);
    assert_int_equal(answer.remaining, m->rule.capacity);
    call_int(f->client, "DEL", "state", NULL);
}

static void slices_never_exceed_the_limit(void **state)
{
    fixture *f = *state;
    timed_function *check = with_own_clock(&tkl__lua_limit_check);
    timed_function *slice = with_own_clock(&tkl__lua_limit_slice);
    seed = 88172645463325252u;
    for (int i = 0; i < 10; i++) {
        model m = {.given = {.algorithm = i % 2 ? TKL_LIMIT_GCRA : TKL_LIMIT_BUCKET,
                             .count = 1 + chance(2000),
                             .period_ms = 1000 + chance(1000),
                             .burst = 5 + chance(1000)}};
        assert_ok(tkl__limit_rule_make(&m.given, &m.rule));
        lending_walk(f, &m, check, slice);
    }
    timed_free(check);
    timed_free(slice);
}

/* While slices are lent, a denial says when the quantity would fit if no client settled: not
 * earlier. */
static void retry_is_not_too_early_while_slices_are_lent(void **state)
{
    fixture *f = *state;
    timed_function *check = with_own_clock(&tkl__lua_limit_check);
    timed_function *slice = with_own_clock(&tkl__lua_limit_slice);
    seed = 5577006791947779410u;
    for (int i = 0; i < 200; i++) {
        model m = {.given = {.algorithm = i % 2 ? TKL_LIMIT_GCRA : TKL_LIMIT_BUCKET,
                             .count = 1 + chance(2000),
                             .period_ms = 100 + chance(3000),
                             .burst = 5 + chance(1000)}};
        tkl_limit_answer answer;
        tkl__limit_times times;
        holder h = {0};
        int64_t now = INT64_C(1700000000000000) + chance(1000000);
        assert_ok(tkl__limit_rule_make(&m.given, &m.rule));
        for (int n = 0; n < 3; n++) {
            h = (holder){0}; /* each is killed */
            lend(f, &m, slice, now, 1, &h);
            now += chance(300000);
        }
        ask_at(f, &m, check, now, m.rule.capacity, &answer, &times);
        if (!answer.allowed) {
            assert_true(times.retry > 0);
            if (times.retry > 1) {
                ask_at(f, &m, check, now + times.retry - 1, m.rule.capacity, &answer, &times);
                assert_false(answer.allowed);
                assert_int_equal(times.retry, 1);
                now = now + times.retry;
            }
        }
        call_int(f->client, "DEL", "state", NULL);
    }
    timed_free(check);
    timed_free(slice);
}

/* Lent quantities count as spent at once, and no client waits for an epoch of the future. */
static void slices_survive_a_clock_that_is_set_back(void **state)
{
    fixture *f = *state;
    timed_function *check = with_own_clock(&tkl__lua_limit_check);
    timed_function *slice = with_own_clock(&tkl__lua_limit_slice);
    model m = {.given = {.count = 100, .period_ms = 1000, .burst = 99}};
    tkl_limit_answer answer;
    tkl__limit_times times;
    holder h = {0};
    int64_t now = INT64_C(1700000000000000);
    seed = 1;
    assert_ok(tkl__limit_rule_make(&m.given, &m.rule));
    lend(f, &m, slice, now, 40, &h);
    int64_t lent = h.size;
    assert_true(lent >= 40);
    now -= INT64_C(3600000000);
    ask_at(f, &m, check, now, 0, &answer, &times);
    assert_int_equal(answer.remaining, 100 - lent);
    ask_at(f, &m, check, now + times.reset, 100, &answer, &times);
    assert_true(answer.allowed);
    assert_in_range(times.reset, 1, 1000000);
    timed_free(check);
    timed_free(slice);
}

/* ---- Denied checks that count --------------------------------------------- */

static void denied_checks_count_up_to_a_limit_that_is_used_up(void **state)
{
    const tkl_limit_algorithm which[] = {TKL_LIMIT_GCRA, TKL_LIMIT_BUCKET, TKL_LIMIT_WINDOW,
                                         TKL_LIMIT_WINDOW_APPROX};
    for (int i = 0; i < 4; i++)
        answers_are_the_textbooks(*state, which[i], true);
}

/* ---- All ----------------------------------------------------------------- */

static void funnel(void **state)
{
    answers_are_the_textbooks(*state, TKL_LIMIT_GCRA, false);
}

static void bucket(void **state)
{
    answers_are_the_textbooks(*state, TKL_LIMIT_BUCKET, false);
}

static void window(void **state)
{
    answers_are_the_textbooks(*state, TKL_LIMIT_WINDOW, false);
}

static void concurrency(void **state)
{
    answers_are_the_textbooks(*state, TKL_LIMIT_CONCURRENCY, false);
}

static void approximate_window(void **state)
{
    answers_are_the_textbooks(*state, TKL_LIMIT_WINDOW_APPROX, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(funnel),
        TEST(bucket),
        TEST(window),
        TEST(concurrency),
        TEST(approximate_window),
        TEST(denied_checks_count_up_to_a_limit_that_is_used_up),
        TEST(server_clock_set_back_blocks_nobody_for_long),
        TEST(slices_never_exceed_the_limit),
        TEST(retry_is_not_too_early_while_slices_are_lent),
        TEST(slices_survive_a_clock_that_is_set_back),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
