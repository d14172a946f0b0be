/* SPDX-License-Identifier: MIT
 *
 * The grammar, for people in docs/schedule.md:
 *
 *     expression = minute hour day month weekday | "@" nickname
 *     field      = item { "," item }
 *     item       = ( "*" | "?" | value [ "-" value ] ) [ "/" step ]
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "cron/calendar.h"
#include "cron/cron.h"

typedef struct field {
    const char *label;
    int min, max;      /* values as they are stored */
    int last;          /* largest value as written: 7 is a Sunday, too */
    const char *names; /* three letters each, from min on; or NULL */
    bool question;     /* "?" may stand for "*" */
} field;

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const field fields[FIELDS] = {
    {"minute", 0, 59, 59, NULL, false},
    {"hour", 0, 23, 23, NULL, false},
    {"day", 1, 31, 31, NULL, true},
    {"month", 1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec", false},
    {"weekday", 0, 6, 7, "sunmontuewedthufrisat", true},
};

static int size_of(const field *f)
{
    return f->max - f->min + 1;
}

/* ---- Items --------------------------------------------------------------- */

/* The part of an expression that is being read. */
typedef struct item {
    const field *field;
    const char *at, *end;
    const char *start; /* for error messages */
} item;

static int wrong(const item *it, const char *why)
{
    return tkl__fail(TKL_EINVAL, "cron expression, %s '%.*s': %s", it->field->label,
                     (int)(it->end - it->start), it->start, why);
}

static bool skip_char(item *it, char wanted)
{
    if (it->at == it->end || *it->at != wanted)
        return false;
    it->at++;
    return true;
}

/* Reads digits. A number that is too large becomes 1000 or more, which is out of range for any
 * field. */
static bool read_digits(item *it, int *value)
{
    const char *start = it->at;
    *value = 0;
    for (; it->at < it->end && isdigit((unsigned char)*it->at); it->at++)
        if (*value < 1000)
            *value = *value * 10 + (*it->at - '0');
    return it->at > start;
}

static bool read_name(item *it, int *value)
{
    const char *names = it->field->names;
    if (!names || it->end - it->at < 3)
        return false;
    for (int i = 0; names[i]; i += 3)
        if (tkl__same_letters(it->at, names + i, 3)) {
            *value = it->field->min + i / 3;
            it->at += 3;
            return true;
        }
    return false;
}

static int read_value(item *it, int *value)
{
    const field *f = it->field;
    if (read_name(it, value))
        return TKL_OK;
    if (!read_digits(it, value))
        return wrong(it, f->names ? "neither a number nor a name of three letters"
                                  : "not a number, '*', a range or a step");
    if (*value >= f->min && *value <= f->last)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "cron expression, %s '%.*s': not from %d to %d", f->label,
                     (int)(it->end - it->start), it->start, f->min, f->last);
}

static int read_step(item *it, int *every)
{
    *every = 1;
    if (!skip_char(it, '/'))
        return TKL_OK;
    if (!read_digits(it, every) || *every == 0)
        return wrong(it, "a step is a number from 1 on");
    return *every <= size_of(it->field) ? TKL_OK : wrong(it, "the step is larger than the field");
}

/* The bits of a range, which may wrap around: fri-mon, 22-4. `from` and `to` are as written: a
 * Sunday may be 7. */
static uint64_t range(const field *f, int from, int to, int every)
{
    uint64_t bits = 0;
    int length = to >= from ? to - from : to - from + size_of(f);
    for (int i = 0; i <= length; i += every)
        bits |= UINT64_C(1) << (f->min + (from - f->min + i) % size_of(f));
    return bits;
}

static int parse_item(item *it, uint64_t *bits)
{
    int from = it->field->min, to = it->field->max, every, rc = TKL_OK;
    bool one = false;
    if (!skip_char(it, '*') && !(it->field->question && skip_char(it, '?'))) {
        rc = read_value(it, &from);
        one = !skip_char(it, '-');
        if (rc == TKL_OK && !one)
            rc = read_value(it, &to);
    }
    bool stepped = it->at < it->end && *it->at == '/';
    if (rc == TKL_OK)
        rc = read_step(it, &every);
    if (rc != TKL_OK)
        return rc;
    if (it->at < it->end)
        return wrong(it, "cannot be read to its end");
    if (one && !stepped) /* "5/15" is from 5 to the end of the field */
        to = from;
    *bits |= range(it->field, from, to, every);
    return TKL_OK;
}

static int parse_field(const field *f, const char *text, size_t len, uint64_t *bits)
{
    const char *end = text + len;
    *bits = 0;
    for (const char *at = text; at <= end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        item it = {.field = f, .at = at, .start = at, .end = comma ? comma : end};
        int rc = parse_item(&it, bits);
        if (rc != TKL_OK)
            return rc;
        at = it.end + 1;
    }
    return TKL_OK;
}

/* ---- Expressions --------------------------------------------------------- */

#define BLANKS " \t"

static const char *nickname(const char *text)
{
    size_t len = strcspn(text, BLANKS);
    static const char *const names[][2] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (len == strlen(names[i][0]) && tkl__same_letters(text, names[i][0], len))
            return text[len + strspn(text + len, BLANKS)] ? NULL : names[i][1];
    return NULL;
}

/* Checks that some day of some month exists. Every weekday comes in every month, so only days can
 * be wrong. */
static int check_comes(const tkl__cron *cron)
{
    if (cron->either)
        return TKL_OK;
    for (int month = 1; month <= 12; month++)
        for (int day = 1; day <= tkl__cron_month_days(2000, month); day++)
            if (cron->months >> month & cron->days >> day & 1)
                return TKL_OK;
    return tkl__fail(TKL_EINVAL, "cron expression: that day never comes in that month");
}

/* Whether a field restricts. As in crontab since Vixie, a field that begins with "*" does not, even
 * "* / 2". */
static bool restricts(const char *text)
{
    return *text != '*' && *text != '?';
}

int tkl__cron_parse(const char *text, tkl__cron *cron)
{
    uint64_t bits[FIELDS];
    const char *starts[FIELDS];
    *cron = (tkl__cron){0};
    text += strspn(text, BLANKS);
    if (*text == '@' && !(text = nickname(text)))
        return tkl__fail(TKL_EINVAL, "cron expression: the names are @hourly, @daily, @weekly, "
                                     "@monthly and @yearly");
    for (int i = 0; i < FIELDS; i++) {
        size_t len = strcspn(text, BLANKS);
        if (len == 0)
            return tkl__fail(TKL_EINVAL,
                             "cron expression: %d of the five fields minute, hour, day, "
                             "month, weekday",
                             i);
        int rc = parse_field(&fields[i], starts[i] = text, len, &bits[i]);
        if (rc != TKL_OK)
            return rc;
        text += len + strspn(text + len, BLANKS);
    }
    if (*text)
        return tkl__fail(TKL_EINVAL, "cron expression: more than five fields, from '%s' on", text);
    *cron = (tkl__cron){.minutes = bits[MINUTE],
                        .hours = bits[HOUR],
                        .days = bits[DAY],
                        .months = bits[MONTH],
                        .weekdays = bits[WEEKDAY],
                        .either = restricts(starts[DAY]) && restricts(starts[WEEKDAY])};
    return check_comes(cron);
}
