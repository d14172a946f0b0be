/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions: handles, and operations on the whole.
 *
 * Keys, all in one slot (ns:suggest:{name}:...), the user's own data: drop removes them, or they
 * expire with the ttl of the handle that wrote last.
 *
 *   :meta     hash. settings: set by the first feed, and never changed. since: the server's time
 *             then, in milliseconds.
 *   :weights  sorted set: the key of a text (folded, escaped: core/lex.h) and its score.
 *   :texts    sorted set of equal scores, in the order of bytes: "key NUL", and where a text can
 *             also be begun elsewhere (at a later word, in pinyin) "start NUL key", or
 *             "start NUL 01 01 key" where no crowded prefix keeps it.
 *   :best     sorted set of equal scores: "prefix NUL score key", the score as eight bytes that
 *             sort as the numbers do. A range of it, read backwards, has the best of a prefix.
 *   :shown    hash: key, the text as it was fed last, where that is not the key.
 *   :starts   hash: key, the starts beside the key itself, so that they can be removed.
 *
 * Best texts of a prefix. Most prefixes are shared by a handful of texts: a short range of :texts
 * has them all, and their weights are looked up. Only a prefix with more than ten texts keeps its
 * best (50 by default) in :best, and such prefixes are few: three or four for each text. So a text
 * costs a few hundred bytes, not one list for each of its prefixes, and a hint is a range of ten
 * members either way. A text that drops out of the best of a prefix keeps its weight, and returns
 * as soon as its weight is high enough.
 *
 * Weights that fade. With a half-life the score is the logarithm of the weight as of `since`:
 * log2(weight) + age in half-lives at the time it was fed. Adding two weights is adding two powers
 * of two. All weights fade alike, so scores need not change with time, and their order stays. As
 * logarithms, scores never overflow. A text whose weight is below 2^-30 is forgotten when others
 * are fed.
 *
 * Readers can rely on this: a text is added to and removed from all prefixes in one step.
 */
#include "suggest/suggest.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "core/plain.h"

enum { META, WEIGHTS };

int tkl_suggest_open(tkl_client *client, tkl_bytes name, const tkl_suggest_options *options,
                     tkl_suggest **suggest)
{
    static const tkl_suggest_options defaults;
    static const char *const parts[] = {"meta", "weights", "texts", "best", "shown", "starts"};
    *suggest = NULL;
    if (!options)
        options = &defaults;
    int rc = tkl__suggest_check(options);
    if (rc != TKL_OK)
        return rc;
    tkl_suggest *s = calloc(1, sizeof *s);
    if (!s)
        return tkl__nomem();
    s->client = client;
    s->options = *options;
    tkl__suggest_wanted(s);
    rc = tkl__keys_make(client, "suggest", name, parts, sizeof parts / sizeof *parts, &s->keys);
    if (rc == TKL_OK)
        *suggest = s;
    else
        free(s);
    return rc;
}

void tkl_suggest_close(tkl_suggest *suggest)
{
    if (!suggest)
        return;
    tkl__keys_free(&suggest->keys);
    free(suggest);
}

int64_t tkl__suggest_deadline(const tkl_suggest *suggest)
{
    return tkl__deadline(suggest->client, suggest->options.timeout_ms);
}

/* ---- The whole ----------------------------------------------------------- */

static int ask_info(tkl_suggest *suggest, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, suggest->client);
    TKL__BATCH_WORDS(&batch, tkl_str("HGET"), suggest->keys.items[META], tkl_str("settings"));
    TKL__BATCH_WORDS(&batch, tkl_str("ZCARD"), suggest->keys.items[WEIGHTS]);
    return tkl__batch_end(&batch, tkl__suggest_deadline(suggest), replies);
}

static int64_t or_none(int64_t stored)
{
    return stored ? stored : TKL_NONE;
}

int tkl_suggest_show(tkl_suggest *suggest, tkl_suggest_info **info)
{
    tkl_reply *replies;
    *info = NULL;
    int rc = ask_info(suggest, &replies);
    if (rc == TKL_OK && tkl_reply_is_nil(tkl_reply_at(replies, 0)))
        rc = tkl_reply_int(tkl_reply_at(replies, 1)) == 0
                 ? tkl__no(TKL_NOTFOUND)
                 : tkl__fail(TKL_EDAMAGED, "part of these suggestions is gone from the server");
    if (rc == TKL_OK)
        rc = tkl__suggest_learn(suggest, tkl_reply_bytes(tkl_reply_at(replies, 0)));
    if (rc == TKL_OK && !(*info = malloc(sizeof **info)))
        rc = tkl__nomem();
    if (rc == TKL_OK) {
        tkl__suggest_settings s;
        tkl__suggest_known(suggest, &s);
        **info = (tkl_suggest_info){.texts = tkl_reply_int(tkl_reply_at(replies, 1)),
                                    .half_life_ms = or_none(s.half_life),
                                    .best = s.best,
                                    .longest = s.longest,
                                    .texts_max = or_none(s.texts),
                                    .accents = s.accents,
                                    .pinyin = s.pinyin,
                                    .words = s.words};
    }
    tkl_reply_free(replies);
    return rc;
}

void tkl_suggest_info_free(tkl_suggest_info *info)
{
    free(info);
}

int tkl_suggest_drop(tkl_suggest *suggest)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__args_str(&args, "UNLINK");
    for (size_t i = 0; i < suggest->keys.count; i++)
        tkl__args_bytes(&args, suggest->keys.items[i]);
    int rc = tkl__plain(suggest->client, &args, tkl__suggest_deadline(suggest), false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK) /* the next suggestions of this name get the settings of this handle */
        tkl__suggest_wanted(suggest);
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

int tkl_suggest_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "suggest", "meta", "hash", names);
}
