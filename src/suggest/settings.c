/* SPDX-License-Identifier: MIT
 *
 * Settings of suggestions: reads, stores and compares them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "suggest/suggest.h"

#define LONGEST_MAX 32
#define BEST_MIN    10 /* a prefix becomes crowded beyond this number */
#define BEST_MAX    1000
#define TEXTS_MAX   INT64_C(1000000000)

static const tkl__suggest_settings defaults = {.best = 50, .longest = 16, .texts = 1000000};

static const char *const names[TKL__SUGGEST_SETTINGS] = {"half-life", "best",   "longest", "texts",
                                                         "accents",   "pinyin", "words"};

/* ---- Checking ------------------------------------------------------------ */

/* Checks a number. 0 and `none` are valid, too. */
static int check_setting(const char *what, int64_t value, int64_t least, int64_t most, int64_t none)
{
    return value == 0 || value == none ? TKL_OK : tkl__check_number(what, value, least, most);
}

static int check_switches(const tkl_suggest_options *o)
{
    int rc = tkl__check_number("accents", o->accents, TKL_SETTING_OFF, TKL_SETTING_ON);
    if (rc == TKL_OK)
        rc = tkl__check_number("pinyin", o->pinyin, TKL_SETTING_OFF, TKL_SETTING_ON);
    if (rc == TKL_OK)
        rc = tkl__check_number("words", o->words, TKL_SETTING_OFF, TKL_SETTING_ON);
    return rc;
}

int tkl__suggest_check(const tkl_suggest_options *o)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"ttl_ms", o->ttl_ms, 0, TKL__MS_MAX});
    if (rc == TKL_OK)
        rc = check_setting("half_life_ms", o->half_life_ms, 1000, TKL__MS_MAX, TKL_NONE);
    if (rc == TKL_OK)
        rc = check_setting("best", o->best, BEST_MIN, BEST_MAX, 0);
    if (rc == TKL_OK)
        rc = check_setting("longest", o->longest, 1, LONGEST_MAX, 0);
    if (rc == TKL_OK)
        rc = check_setting("texts", o->texts, 1, TEXTS_MAX, TKL_NONE);
    return rc == TKL_OK ? check_switches(o) : rc;
}

/* ---- Known settings ------------------------------------------------------ */

static void remember_settings(tkl_suggest *suggest, const tkl__suggest_settings *s)
{
    const int64_t values[] = {s->half_life, s->best,   s->longest, s->texts,
                              s->accents,   s->pinyin, s->words};
    for (int i = 0; i < TKL__SUGGEST_SETTINGS; i++)
        atomic_store(&suggest->known[i], values[i]);
}

void tkl__suggest_known(tkl_suggest *suggest, tkl__suggest_settings *s)
{
    int64_t *values[] = {&s->half_life, &s->best,   &s->longest, &s->texts,
                         &s->accents,   &s->pinyin, &s->words};
    for (int i = 0; i < TKL__SUGGEST_SETTINGS; i++)
        *values[i] = atomic_load(&suggest->known[i]);
}

/* Returns the stored value of a number in options; TKL_NONE is stored as 0. */
static int64_t number_of(int64_t asked, int64_t otherwise)
{
    if (asked == 0)
        return otherwise;
    return asked == TKL_NONE ? 0 : asked;
}

void tkl__suggest_wanted(tkl_suggest *suggest)
{
    const tkl_suggest_options *o = &suggest->options;
    tkl__suggest_settings s = {
        .half_life = number_of(o->half_life_ms, defaults.half_life),
        .best = number_of(o->best, defaults.best),
        .longest = number_of(o->longest, defaults.longest),
        .texts = number_of(o->texts, defaults.texts),
        .accents = o->accents == TKL_SETTING_ON,
        .pinyin = o->pinyin == TKL_SETTING_ON,
        .words = o->words == TKL_SETTING_ON,
    };
    remember_settings(suggest, &s);
}

/* ---- As text ------------------------------------------------------------- */

void tkl__suggest_text(const tkl__suggest_settings *s, char text[TKL__SETTINGS_SIZE])
{
    const int64_t values[] = {s->half_life, s->best,   s->longest, s->texts,
                              s->accents,   s->pinyin, s->words};
    int len = 0;
    for (int i = 0; i < TKL__SUGGEST_SETTINGS; i++)
        len += snprintf(text + len, (size_t)(TKL__SETTINGS_SIZE - len), "%s%s=%" PRId64,
                        i ? " " : "", names[i], values[i]);
}

static bool read_text(tkl_bytes bytes, tkl__suggest_settings *s)
{
    char text[TKL__SETTINGS_SIZE], again[TKL__SETTINGS_SIZE];
    if (bytes.len >= sizeof text)
        return false;
    memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = 0;
    int n =
        sscanf(text,
               "half-life=%" SCNd64 " best=%" SCNd64 " longest=%" SCNd64 " texts=%" SCNd64
               " accents=%" SCNd64 " pinyin=%" SCNd64 " words=%" SCNd64,
               &s->half_life, &s->best, &s->longest, &s->texts, &s->accents, &s->pinyin, &s->words);
    if (n != TKL__SUGGEST_SETTINGS || s->half_life < 0 || s->longest < 1 ||
        s->longest > LONGEST_MAX || s->best < BEST_MIN || s->best > BEST_MAX)
        return false;
    tkl__suggest_text(s, again);
    return strcmp(text, again) == 0;
}

/* ---- Comparing ----------------------------------------------------------- */

static int agree(const char *what, int64_t asked, int64_t has)
{
    if (asked == 0 || number_of(asked, 0) == has)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL,
                     "the suggestions were made with %s=%" PRId64 ", not %" PRId64 " (0: none)",
                     what, has, number_of(asked, 0));
}

int tkl__suggest_learn(tkl_suggest *suggest, tkl_bytes text)
{
    const tkl_suggest_options *o = &suggest->options;
    tkl__suggest_settings s;
    if (!read_text(text, &s))
        return tkl__fail(TKL_EDAMAGED,
                         "the suggestions have settings that this version does not know");
    const int64_t asked[] = {o->half_life_ms, o->best,   o->longest, o->texts,
                             o->accents,      o->pinyin, o->words};
    const int64_t has[] = {s.half_life, s.best, s.longest, s.texts, s.accents, s.pinyin, s.words};
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < TKL__SUGGEST_SETTINGS; i++)
        rc = agree(names[i], asked[i], has[i]);
    if (rc == TKL_OK)
        remember_settings(suggest, &s);
    return rc;
}
