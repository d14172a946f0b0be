/* SPDX-License-Identifier: MIT
 *
 * Where users may start typing a text: at its beginning, at a later word, in pinyin.
 */
#include <stdlib.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/lex.h"
#include "suggest/suggest.h"

#define WORDS_MAX       8
#define CODE_POINTS_MAX 32 /* code points of the longest prefix: a character may have many */
/* Bytes of all prefixes of a text that keep their best. Starts beyond that have reach 0: only
 * prefixes that are not crowded find them. */
#define COST_MAX 200

int tkl__suggest_check_text(tkl_bytes text, size_t index)
{
    if (text.len == 0 || text.len > TKL_SUGGEST_TEXT_MAX)
        return tkl__fail(TKL_EINVAL, "text %zu has %zu bytes: 1 to %d are possible", index,
                         text.len, TKL_SUGGEST_TEXT_MAX);
    return TKL_OK;
}

int tkl__suggest_fold(tkl_bytes text, const tkl__suggest_settings *settings, tkl__buf *out)
{
    unsigned how = TKL__TEXT_FOLD_HANGUL | (settings->accents ? TKL__TEXT_FOLD_ACCENTS : 0U);
    return tkl__text_fold(text, how, out);
}

int tkl__suggest_key(tkl_bytes text, const tkl__suggest_settings *settings, tkl__buf *out)
{
    tkl__buf folded;
    tkl__buf_init(&folded);
    int rc = tkl__suggest_fold(text, settings, &folded);
    if (rc == TKL_OK)
        tkl__lex_escape(out, (tkl_bytes){folded.data, folded.len});
    tkl__buf_free(&folded);
    return rc == TKL_OK && out->failed ? tkl__nomem() : rc;
}

/* The bytes of the first code points. An escaped byte (01 80) counts as one, as intended. */
static size_t code_points(tkl_bytes text, size_t max)
{
    size_t i = 0;
    for (size_t count = 0; i < text.len; i++)
        if (((unsigned char)text.data[i] & 0xc0) != 0x80 && count++ == max)
            break;
    return i;
}

int tkl__suggest_reach(tkl_bytes key, const tkl__suggest_settings *settings, size_t *reach)
{
    size_t len, count;
    int rc = tkl__text_cut(key, (size_t)settings->longest, &len, &count);
    size_t most = code_points(key, CODE_POINTS_MAX);
    *reach = len < most ? len : most;
    return rc;
}

/* ---- Starts -------------------------------------------------------------- */

/* Called for each start. */
typedef int visit_start(void *arg, tkl_bytes start);

static int each_word(tkl_bytes key, visit_start *visit, void *arg)
{
    int rc = TKL_OK, words = 1;
    for (size_t i = 1; rc == TKL_OK && i < key.len && words < WORDS_MAX; i++)
        if (key.data[i - 1] == ' ' && key.data[i] != ' ') {
            rc = visit(arg, (tkl_bytes){key.data + i, key.len - i});
            words++;
        }
    return rc;
}

static int visit_form(tkl_bytes form, visit_start *visit, void *arg)
{
    tkl__buf plain;
    tkl__buf_init(&plain);
    for (size_t i = 0; i < form.len; i++)
        if (form.data[i] != TKL__TEXT_SYLLABLE)
            tkl__lex_escape(&plain, (tkl_bytes){form.data + i, 1});
    int rc = plain.failed ? tkl__nomem() : visit(arg, (tkl_bytes){plain.data, plain.len});
    tkl__buf_free(&plain);
    return rc;
}

/* Selects forms of a text: the usual pinyin and the usual initials come first. */
typedef enum which { USUAL = 0, OTHERS = 1 } which;
enum { USUAL_FORMS = 2 };

static int each_form(tkl_bytes key, which forms_of, visit_start *visit, void *arg)
{
    tkl__text_form_list forms;
    char *folded = malloc(key.len + 1);
    if (!folded)
        return tkl__nomem();
    size_t len = tkl__lex_unescape(key, folded);
    int rc = tkl__text_forms((tkl_bytes){folded, len}, &forms);
    for (size_t i = 0; rc == TKL_OK && i < forms.count; i++)
        if ((i < USUAL_FORMS) == (forms_of == USUAL))
            rc = visit_form(forms.items[i], visit, arg);
    tkl__text_form_list_free(&forms);
    free(folded);
    return rc;
}

/* The forms of the text from a later word on. */
typedef struct words_forms {
    which forms_of;
    visit_start *visit;
    void *arg;
} words_forms;

static int visit_word(void *arg, tkl_bytes word)
{
    words_forms *w = arg;
    return each_form(word, w->forms_of, w->visit, w->arg);
}

static int each_form_of_all(tkl_bytes key, bool words, which forms_of, visit_start *visit,
                            void *arg)
{
    words_forms w = {.forms_of = forms_of, .visit = visit, .arg = arg};
    int rc = each_form(key, forms_of, visit, arg);
    return rc == TKL_OK && words ? each_word(key, visit_word, &w) : rc;
}

/* Counts the visited starts, and skips starts beyond the limits. */
typedef struct counted {
    visit_start *visit;
    void *arg;
    int count;
} counted;

static int visit_counted(void *arg, tkl_bytes start)
{
    counted *c = arg;
    return ++c->count <= TKL__SUGGEST_STARTS_MAX ? c->visit(c->arg, start) : TKL_OK;
}

/* Visits all starts. Starts that users type most come first, because there may not be room for
 * all. */
static int each_start(tkl_bytes key, const tkl__suggest_settings *settings, visit_start *visit,
                      void *arg)
{
    counted c = {.visit = visit, .arg = arg};
    int rc = visit_counted(&c, key);
    if (rc == TKL_OK && settings->words)
        rc = each_word(key, visit_counted, &c);
    if (rc == TKL_OK && settings->pinyin)
        rc = each_form_of_all(key, settings->words, USUAL, visit_counted, &c);
    if (rc == TKL_OK && settings->pinyin)
        rc = each_form_of_all(key, settings->words, OTHERS, visit_counted, &c);
    return rc;
}

/* ---- As lines ------------------------------------------------------------ */

typedef struct lines {
    const tkl__suggest_settings *settings;
    tkl__buf *out;
    size_t begin;
    size_t cost;
} lines;

static int add_line(void *arg, tkl_bytes start)
{
    lines *l = arg;
    size_t reach;
    int rc = tkl__suggest_reach(start, l->settings, &reach);
    if (reach > COST_MAX - l->cost)
        reach = 0;
    if (l->out->len > l->begin)
        tkl__buf_add(l->out, "", 1);
    tkl__buf_addf(l->out, "%zu ", reach);
    tkl__buf_add(l->out, start.data, start.len);
    l->cost += reach;
    return rc;
}

int tkl__suggest_starts(tkl_bytes key, const tkl__suggest_settings *settings, tkl__buf *out,
                        size_t *cost)
{
    lines l = {.settings = settings, .out = out, .begin = out->len};
    int rc = each_start(key, settings, add_line, &l);
    *cost = l.cost;
    return rc == TKL_OK && out->failed ? tkl__nomem() : rc;
}

/* ---- Comparing ----------------------------------------------------------- */

typedef struct comparison {
    tkl_bytes prefix;
    bool fits;
} comparison;

static int compare_start(void *arg, tkl_bytes start)
{
    comparison *c = arg;
    c->fits = c->fits || tkl__begins_with(start, c->prefix);
    return TKL_OK;
}

int tkl__suggest_fits(tkl_bytes key, tkl_bytes prefix, const tkl__suggest_settings *settings,
                      bool *fits)
{
    comparison c = {.prefix = prefix};
    int rc = each_start(key, settings, compare_start, &c);
    *fits = c.fits;
    return rc;
}

typedef struct mixture {
    const tkl__text_mix_list *mixes;
    bool fits;
} mixture;

static int compare_mixed(void *arg, tkl_bytes start)
{
    mixture *m = arg;
    return m->fits ? TKL_OK : tkl__text_fits(start, m->mixes, &m->fits);
}

int tkl__suggest_fits_mix(tkl_bytes key, const tkl__text_mix_list *mixes,
                          const tkl__suggest_settings *settings, bool *fits)
{
    mixture m = {.mixes = mixes};
    char *folded = malloc(key.len + 1);
    if (!folded)
        return tkl__nomem();
    tkl_bytes text = {folded, tkl__lex_unescape(key, folded)};
    int rc = compare_mixed(&m, text);
    if (rc == TKL_OK && settings->words)
        rc = each_word(text, compare_mixed, &m);
    *fits = m.fits;
    free(folded);
    return rc;
}
