/* SPDX-License-Identifier: MIT
 *
 * Suggestions: hints. The server sends candidates with their scores; this file sorts them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/lex.h"
#include "core/options.h"
#include "core/reply.h"
#include "suggest/scripts.h"
#include "suggest/suggest.h"

enum { TIME, SINCE, PLAIN, MIXED, MORE, HEAD }; /* elements of the reply; see hint.lua */

typedef struct question {
    tkl_suggest *suggest;
    tkl_bytes prefix;
    size_t count;
    tkl__suggest_settings settings;
    tkl__buf folded;          /* the prefix */
    tkl__buf key;             /* folded and escaped */
    size_t listed;            /* length of its longest prefix that keeps its best */
    tkl__text_mix_list mixes; /* with pinyin: ways to read the prefix as a mixture; point into
                               * `folded` */
} question;

/* ---- Asking -------------------------------------------------------------- */

/* Prepares the prefix according to the settings. */
static int read_prefix(question *q)
{
    tkl__buf_clear(&q->folded);
    tkl__buf_clear(&q->key);
    q->mixes.count = 0;
    int rc = tkl__suggest_fold(q->prefix, &q->settings, &q->folded);
    tkl_bytes folded = {q->folded.data, q->folded.len};
    if (rc != TKL_OK)
        return rc;
    tkl__lex_escape(&q->key, folded);
    if (q->key.failed)
        return tkl__nomem();
    if (q->settings.pinyin)
        rc = tkl__text_mixes(folded, &q->mixes);
    return rc == TKL_OK
               ? tkl__suggest_reach((tkl_bytes){q->key.data, q->key.len}, &q->settings, &q->listed)
               : rc;
}

/* Adds the initials of the mixes, cut to prefixes that keep their best. */
static int add_mixes(const question *q, tkl__args *args)
{
    tkl__buf initials;
    int rc = TKL_OK;
    tkl__buf_init(&initials);
    for (size_t i = 0; rc == TKL_OK && i < q->mixes.count; i++) {
        size_t reach = 0;
        tkl__buf_clear(&initials);
        tkl__lex_escape(&initials, (tkl_bytes){q->mixes.items[i].initials, q->mixes.items[i].len});
        rc = tkl__suggest_reach((tkl_bytes){initials.data, initials.len}, &q->settings, &reach);
        char *room = tkl__args_room(args, reach);
        if (room && reach)
            memcpy(room, initials.data, reach);
    }
    if (rc == TKL_OK && initials.failed)
        rc = tkl__nomem();
    tkl__buf_free(&initials);
    return rc;
}

static int send_question(const question *q, tkl__args *args, tkl_reply **reply)
{
    char text[TKL__SETTINGS_SIZE];
    tkl_suggest *suggest = q->suggest;
    tkl_bytes key = {q->key.data, q->key.len};
    tkl__suggest_text(&q->settings, text);
    tkl__args_str(args, text);
    tkl__args_bytes(args, key);
    tkl__args_bytes(args, (tkl_bytes){key.data, q->listed});
    tkl__args_int(args, (int64_t)q->count);
    tkl__args_int(args, q->settings.best);
    tkl__args_str(args, q->settings.half_life ? "1" : "0");
    tkl__args_str(args, suggest->options.typos ? "1" : "0");
    int rc = add_mixes(q, args);
    return rc == TKL_OK ? tkl__eval(suggest->client, &tkl__lua_suggest_hint, &suggest->keys, args,
                                    tkl__suggest_deadline(suggest), true, reply)
                        : rc;
}

static int ask_once(question *q, tkl_reply **reply)
{
    tkl__args args;
    tkl__suggest_known(q->suggest, &q->settings);
    int rc = read_prefix(q);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    rc = send_question(q, &args, reply);
    tkl__args_free(&args);
    return rc;
}

static int ask_question(question *q, tkl_reply **reply)
{
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < TKL__SUGGEST_TRIES; i++) {
        rc = ask_once(q, reply);
        if (rc != TKL_OK || tkl_reply_type_of(*reply) != TKL_REPLY_STRING)
            return rc;
        rc = tkl__suggest_learn(q->suggest, tkl_reply_bytes(*reply));
        tkl_reply_free(*reply);
        *reply = NULL;
    }
    return rc == TKL_OK ? tkl__no(TKL_CONFLICT) : rc;
}

/* ---- Candidates ---------------------------------------------------------- */

typedef struct candidate {
    tkl_bytes key;
    double score;
    const tkl_reply *shown; /* nil: the key is shown */
    bool mixed;             /* it only fits as a mixture */
    bool corrected;         /* it fits a corrected prefix */
} candidate;

/* Sorts candidates, mixtures behind all others; the heaviest first; equal weights by key, the
 * greater first, as the server reads :best. */
static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->mixed != y->mixed)
        return x->mixed ? 1 : -1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return tkl__compare_bytes(y->key, x->key);
}

static bool read_score(tkl_bytes bytes, double *score)
{
    uint64_t bits = 0;
    if (bytes.len != sizeof bits)
        return false;
    for (size_t i = 0; i < bytes.len; i++)
        bits = bits << 8 | (unsigned char)bytes.data[i];
    memcpy(score, &bits, sizeof bits);
    return true;
}

/* Whether a candidate begins with the prefix. For a prefix that is too long to keep its best, the
 * server also sends others. */
static int belongs(const question *q, const candidate *c, bool *yes)
{
    *yes = true;
    if (q->listed == q->key.len)
        return TKL_OK;
    return tkl__suggest_fits(c->key, (tkl_bytes){q->key.data, q->key.len}, &q->settings, yes);
}

/* Whether a candidate fits a mixture: the server has only compared the initials. */
static int belongs_mixed(const question *q, candidate *c, bool *yes)
{
    bool plain = false;
    int rc = tkl__suggest_fits_mix(c->key, &q->mixes, &q->settings, yes);
    if (rc == TKL_OK && *yes)
        rc = tkl__suggest_fits(c->key, (tkl_bytes){q->key.data, q->key.len}, &q->settings, &plain);
    c->mixed = !plain;
    return rc;
}

static int read_candidate(const tkl_reply *reply, size_t i, candidate *c)
{
    size_t at = HEAD + 3 * i;
    *c = (candidate){.key = tkl_reply_bytes(tkl_reply_at(reply, at)),
                     .shown = tkl_reply_at(reply, at + 2)};
    if (!read_score(tkl_reply_bytes(tkl_reply_at(reply, at + 1)), &c->score))
        return tkl__fail(TKL_EDAMAGED, "a suggestion was not written by tackle");
    return TKL_OK;
}

/* Reads the candidates. Corrections, which come last, count only when nothing else fits. */
static int read_candidates(const question *q, const tkl_reply *reply, candidate *list,
                           size_t *count)
{
    int64_t plain = tkl__reply_number(tkl_reply_at(reply, PLAIN));
    int64_t right = plain + tkl__reply_number(tkl_reply_at(reply, MIXED));
    int rc = TKL_OK;
    bool any = false;
    for (size_t i = 0; rc == TKL_OK && HEAD + 3 * i + 2 < tkl_reply_count(reply); i++) {
        candidate c;
        bool yes = true;
        rc = read_candidate(reply, i, &c);
        c.corrected = (int64_t)i >= right;
        if (c.corrected && any)
            break;
        if (rc == TKL_OK && !c.corrected)
            rc = (int64_t)i < plain ? belongs(q, &c, &yes) : belongs_mixed(q, &c, &yes);
        if (rc == TKL_OK && yes)
            list[(*count)++] = c;
        any = any || (yes && !c.corrected);
    }
    return rc;
}

/* Removes duplicates, which are adjacent. */
static size_t unique(candidate *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_score(&list[kept - 1], &list[i]) != 0)
            list[kept++] = list[i];
    return kept;
}

/* ---- Answers ------------------------------------------------------------- */

static double weight_of(const question *q, const tkl_reply *reply, double score)
{
    if (q->settings.half_life == 0)
        return score;
    int64_t passed = tkl__reply_number(tkl_reply_at(reply, TIME)) -
                     tkl__reply_number(tkl_reply_at(reply, SINCE));
    double age = (double)(passed > 0 ? passed : 0) / (double)q->settings.half_life;
    return exp2(score - TKL__SUGGEST_SCORE_OF_ONE - age);
}

/* Makes the result: answers and texts in one block. */
static int give(const question *q, const tkl_reply *reply, const candidate *list, size_t count,
                tkl_suggestions **result)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += list[i].key.len + tkl_reply_bytes(list[i].shown).len;
    tkl_suggestions *s = malloc(sizeof *s + count * sizeof(tkl_suggestion) + bytes);
    if (!s)
        return tkl__nomem();
    tkl_suggestion *items = (tkl_suggestion *)(s + 1);
    char *at = (char *)(items + count);
    for (size_t i = 0; i < count; i++) {
        tkl_bytes shown = tkl_reply_bytes(list[i].shown);
        size_t len = shown.len;
        if (tkl_reply_is_nil(list[i].shown))
            len = tkl__lex_unescape(list[i].key, at);
        else
            memcpy(at, shown.data, len);
        items[i] = (tkl_suggestion){.text = {at, len},
                                    .weight = weight_of(q, reply, list[i].score),
                                    .corrected = list[i].corrected};
        at += len;
    }
    *s = (tkl_suggestions){items, count, reply && tkl_reply_int(tkl_reply_at(reply, MORE)) == 1};
    *result = s;
    return TKL_OK;
}

/* Makes an empty result, without asking the server. */
static int give_none(const question *q, tkl_suggestions **result)
{
    return give(q, NULL, NULL, 0, result);
}

static int choose(const question *q, const tkl_reply *reply, tkl_suggestions **result)
{
    size_t count = 0;
    candidate *list = calloc(tkl_reply_count(reply) / 3 + 1, sizeof *list);
    if (!list)
        return tkl__nomem();
    int rc = read_candidates(q, reply, list, &count);
    if (rc == TKL_OK) {
        qsort(list, count, sizeof *list, by_score);
        count = unique(list, count);
        rc = give(q, reply, list, count < q->count ? count : q->count, result);
    }
    free(list);
    return rc;
}

void tkl_suggestions_free(tkl_suggestions *suggestions)
{
    free(suggestions);
}

int tkl_suggest_hint(tkl_suggest *suggest, tkl_bytes prefix, size_t max,
                     tkl_suggestions **suggestions)
{
    question q = {.suggest = suggest,
                  .prefix = prefix,
                  .count = max < TKL_SUGGEST_HINTS_MAX ? max : TKL_SUGGEST_HINTS_MAX};
    tkl_reply *reply = NULL;
    *suggestions = NULL;
    if (max == 0)
        return give_none(&q, suggestions);
    tkl__buf_init(&q.folded);
    tkl__buf_init(&q.key);
    int rc = ask_question(&q, &reply);
    if (rc == TKL_OK)
        rc = choose(&q, reply, suggestions);
    tkl__buf_free(&q.folded);
    tkl__buf_free(&q.key);
    tkl_reply_free(reply);
    return rc;
}
