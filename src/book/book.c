/* SPDX-License-Identifier: MIT
 *
 * Address books: handles, settings, and operations on a whole book.
 *
 * Keys of a book, all in one slot (ns:book:{name}:...), the user's own data: drop removes them, or
 * they expire with the ttl of the handle that wrote last.
 *
 *   :meta    hash. settings: "plain", or which of "accents pinyin contains" the book has; set by
 *            the first add, and never changed. entries: how many there are.
 *   :names   sorted set of equal scores, so in the order of bytes: an entry is the member
 *            "key NUL [text] [NUL id]". The key is the folded text; the text follows where it is
 *            another. Completing a prefix is one range of it. With pinyin there are also members
 *            "form NUL 01 01 shared entry" for each way to write the text: the same range finds
 *            them.
 *   :parts   with contains: "part NUL entry" for each part of the key, from some character to the
 *            end, and of each form from some syllable to the end. An entry that contains a text has
 *            a part that begins with it; an entry that ends with it has an equal part.
 *   :ids     hash, where entries have ids: id, entry.
 *   :forms   hash, with pinyin: entry, its forms. They are stored because another version of
 *            Unicode may know other readings: the forms that were added must be removed. The first
 *            row says how each character may be written, for queries that mix characters, pinyin
 *            and initials.
 *
 * Without ids, pinyin and contains a book is its sorted set and nothing else.
 *
 * Several forms of an entry may begin with the prefix, but each entry is returned once. A form says
 * how many of its bytes it shares with the key or a smaller form. If the prefix is not longer than
 * that, the search has met the entry there already, on this page or an earlier one.
 *
 * The server cannot fold text, so a request depends on the settings, and carries the settings for
 * which it was made. When the book has other settings, the server does nothing and returns them,
 * and the client makes the request again. The handle remembers the settings, so this costs a second
 * round trip only once.
 */
#include "book/book.h"

#include <stdio.h>
#include <stdlib.h>

#include "book/scripts.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/plain.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Opening ------------------------------------------------------------- */

static int check_options(const tkl_book_options *options)
{
    return TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX},
                              {"ttl_ms", options->ttl_ms, 0, TKL__MS_MAX},
                              {"accents", options->accents, TKL_SETTING_OFF, TKL_SETTING_ON},
                              {"pinyin", options->pinyin, TKL_SETTING_OFF, TKL_SETTING_ON},
                              {"contains", options->contains, TKL_SETTING_OFF, TKL_SETTING_ON});
}

/* Returns the settings that the options request: a new book gets them. */
static unsigned wanted(const tkl_book_options *options)
{
    return (options->accents == TKL_SETTING_ON ? TKL__BOOK_ACCENTS : 0U) |
           (options->pinyin == TKL_SETTING_ON ? TKL__BOOK_PINYIN : 0U) |
           (options->contains == TKL_SETTING_ON ? TKL__BOOK_CONTAINS : 0U);
}

int tkl_book_open(tkl_client *client, tkl_bytes name, const tkl_book_options *options,
                  tkl_book **book)
{
    static const tkl_book_options defaults;
    static const char *const parts[] = {"meta", "names", "forms", "parts", "ids"};
    *book = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_book *b = calloc(1, sizeof *b);
    if (!b)
        return tkl__nomem();
    b->client = client;
    b->options = *options;
    atomic_init(&b->settings, wanted(options));
    rc = tkl__keys_make(client, "book", name, parts, COUNT(parts), &b->keys);
    if (rc == TKL_OK)
        *book = b;
    else
        free(b);
    return rc;
}

void tkl_book_close(tkl_book *book)
{
    if (!book)
        return;
    tkl__keys_free(&book->keys);
    free(book);
}

int64_t tkl__book_deadline(const tkl_book *book)
{
    return tkl__deadline(book->client, book->options.timeout_ms);
}

/* ---- Settings ------------------------------------------------------------ */

static const char *const texts[] = {
    "plain",    "accents",          "pinyin",          "accents pinyin",
    "contains", "accents contains", "pinyin contains", "accents pinyin contains",
};

const char *tkl__book_settings_text(unsigned settings)
{
    return texts[settings % COUNT(texts)];
}

static bool read_settings(tkl_bytes text, unsigned *settings)
{
    for (unsigned i = 0; i < COUNT(texts); i++)
        if (tkl__same_bytes(text, tkl_str(texts[i]))) {
            *settings = i;
            return true;
        }
    return false;
}

/* Checks that a setting is the one that the caller asked for. */
static int agree(const char *what, tkl_setting asked, bool has)
{
    if (asked == TKL_SETTING_AS_IS || (asked == TKL_SETTING_ON) == has)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the book was made with%s %s", has ? "" : "out", what);
}

int tkl__book_learn(tkl_book *book, tkl_bytes text)
{
    unsigned settings;
    const tkl_book_options *o = &book->options;
    if (!read_settings(text, &settings))
        return tkl__fail(TKL_EDAMAGED, "the book has settings that this version does not know");
    int rc = agree("accents", o->accents, settings & TKL__BOOK_ACCENTS);
    if (rc == TKL_OK)
        rc = agree("pinyin", o->pinyin, settings & TKL__BOOK_PINYIN);
    if (rc == TKL_OK)
        rc = agree("contains", o->contains, settings & TKL__BOOK_CONTAINS);
    if (rc == TKL_OK)
        atomic_store(&book->settings, settings);
    return rc;
}

static int ask_once(tkl_book *book, const tkl__script *script, tkl__book_make *make, void *arg,
                    bool retry_safe, tkl_reply **reply)
{
    unsigned settings = atomic_load(&book->settings);
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, tkl__book_settings_text(settings));
    int rc = make(arg, settings, &args);
    if (rc == TKL_OK)
        rc = tkl__eval(book->client, script, &book->keys, &args, tkl__book_deadline(book),
                       retry_safe, reply);
    tkl__args_free(&args);
    return rc;
}

int tkl__book_ask(tkl_book *book, const tkl__script *script, tkl__book_make *make, void *arg,
                  bool retry_safe, tkl_reply **reply)
{
    int rc = TKL_OK;
    *reply = NULL;
    for (int i = 0; rc == TKL_OK && i < TKL__BOOK_TRIES; i++) {
        rc = ask_once(book, script, make, arg, retry_safe, reply);
        if (rc != TKL_OK || tkl_reply_type_of(*reply) != TKL_REPLY_STRING)
            return rc;
        rc = tkl__book_learn(book, tkl_reply_bytes(*reply));
        tkl_reply_free(*reply);
        *reply = NULL;
    }
    return rc == TKL_OK ? tkl__no(TKL_CONFLICT) : rc;
}

/* ---- The whole ----------------------------------------------------------- */

static int ask_info(tkl_book *book, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, book->client);
    TKL__BATCH_WORDS(&batch, tkl_str("HMGET"), book->keys.items[TKL__BOOK_META],
                     tkl_str("settings"), tkl_str("entries"));
    TKL__BATCH_WORDS(&batch, tkl_str("ZCARD"), book->keys.items[TKL__BOOK_NAMES]);
    return tkl__batch_end(&batch, tkl__book_deadline(book), replies);
}

/* A book that has lost its settings or names by eviction is damaged. */
static int check_info(const tkl_reply *replies)
{
    const tkl_reply *meta = tkl_reply_at(replies, 0);
    bool made = !tkl_reply_is_nil(tkl_reply_at(meta, 0));
    bool counted = tkl_reply_int(tkl_reply_at(meta, 1)) > 0;
    bool any = tkl_reply_int(tkl_reply_at(replies, 1)) > 0;
    if (!made && !any)
        return tkl__no(TKL_NOTFOUND);
    return made && counted == any
               ? TKL_OK
               : tkl__fail(TKL_EDAMAGED, "part of this book is gone from the server");
}

/* Reads the book, and reads it again when a part is missing: the book may have been created or
 * dropped between the two commands. */
static int ask_whole(tkl_book *book, tkl_reply **replies)
{
    int rc = TKL_EDAMAGED;
    for (int i = 0; rc == TKL_EDAMAGED && i < TKL__BOOK_TRIES; i++) {
        tkl_reply_free(*replies);
        *replies = NULL;
        rc = ask_info(book, replies);
        if (rc == TKL_OK)
            rc = check_info(*replies);
    }
    return rc;
}

int tkl_book_show(tkl_book *book, tkl_book_info **info)
{
    tkl_reply *replies = NULL;
    *info = NULL;
    int rc = ask_whole(book, &replies);
    const tkl_reply *meta = tkl_reply_at(replies, 0);
    if (rc == TKL_OK)
        rc = tkl__book_learn(book, tkl_reply_bytes(tkl_reply_at(meta, 0)));
    if (rc == TKL_OK && !(*info = malloc(sizeof **info)))
        rc = tkl__nomem();
    if (rc == TKL_OK) {
        unsigned settings = atomic_load(&book->settings);
        **info = (tkl_book_info){.entries = tkl_reply_int(tkl_reply_at(meta, 1)),
                                 .accents = settings & TKL__BOOK_ACCENTS,
                                 .pinyin = settings & TKL__BOOK_PINYIN,
                                 .contains = settings & TKL__BOOK_CONTAINS};
    }
    tkl_reply_free(replies);
    return rc;
}

void tkl_book_info_free(tkl_book_info *info)
{
    free(info);
}

int tkl_book_drop(tkl_book *book)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__args_str(&args, "UNLINK");
    for (size_t i = 0; i < book->keys.count; i++)
        tkl__args_bytes(&args, book->keys.items[i]);
    int rc = tkl__plain(book->client, &args, tkl__book_deadline(book), false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    if (rc == TKL_OK) /* the next book of this name gets the settings of this handle */
        atomic_store(&book->settings, wanted(&book->options));
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

int tkl_book_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "book", "meta", "hash", names);
}
