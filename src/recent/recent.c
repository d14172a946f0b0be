/* SPDX-License-Identifier: MIT
 *
 * Recent contacts.
 *
 * One key for each list, ns:recent:{name}: a sorted set of the contacts as they were given. The
 * score is the time of the server's clock in microseconds, or one above the newest score if that is
 * later. The key is the user's own data; it is removed with its last contact or by drop, or expires
 * with its ttl.
 *
 * A list is short (100 contacts, 5000 at most), so completing reads all of it, in one ZRANGE, and
 * compares here: the server cannot fold text, and keeping folded copies there would tie a list to
 * one way of folding. A hundred names are two kilobytes.
 */
#include <tackle/recent.h>

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/names.h"
#include "core/number.h"
#include "core/options.h"
#include "core/plain.h"
#include "core/script.h"
#include "recent/scripts.h"
#include "text/text.h"

#define DEFAULT_KEEP 100
#define STEP         1000 /* contacts that one script adds */

/* Scores below this, in microseconds, are no times: development versions counted from 1. */
#define FIRST_TIME INT64_C(1000000000000000)

struct tkl_recent {
    tkl_client *client;
    tkl__keys keys; /* the one key */
    tkl_recent_options options;
};

/* ---- Opening ------------------------------------------------------------- */

static int check_options(const tkl_recent_options *options)
{
    return TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX},
                              {"ttl_ms", options->ttl_ms, 0, TKL__MS_MAX},
                              {"keep", options->keep, 0, TKL_RECENT_MAX});
}

int tkl_recent_open(tkl_client *client, tkl_bytes name, const tkl_recent_options *options,
                    tkl_recent **recent)
{
    static const tkl_recent_options defaults;
    static const char *const parts[] = {""};
    *recent = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_recent *r = calloc(1, sizeof *r);
    if (!r)
        return tkl__nomem();
    r->client = client;
    r->options = *options;
    if (options->keep == 0)
        r->options.keep = DEFAULT_KEEP;
    rc = tkl__keys_make(client, "recent", name, parts, 1, &r->keys);
    if (rc == TKL_OK)
        *recent = r;
    else
        free(r);
    return rc;
}

void tkl_recent_close(tkl_recent *recent)
{
    if (!recent)
        return;
    tkl__keys_free(&recent->keys);
    free(recent);
}

static int64_t deadline_of(const tkl_recent *recent)
{
    return tkl__deadline(recent->client, recent->options.timeout_ms);
}

/* ---- Writing ------------------------------------------------------------- */

static int check_contacts(const tkl_bytes *contacts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (contacts[i].len == 0 || contacts[i].len > TKL_RECENT_CONTACT_MAX)
            return tkl__fail(TKL_EINVAL, "contact %zu has %zu bytes: 1 to %d are possible", i,
                             contacts[i].len, TKL_RECENT_CONTACT_MAX);
    return TKL_OK;
}

static bool is_among(const tkl_bytes *contacts, size_t count, tkl_bytes contact)
{
    for (size_t i = 0; i < count; i++)
        if (tkl__same_bytes(contacts[i], contact))
            return true;
    return false;
}

/* Finds the last `most` different contacts, latest first: earlier ones would be removed at once.
 * Returns how many. */
static size_t last_different(const tkl_bytes *contacts, size_t count, size_t most, tkl_bytes *last)
{
    size_t found = 0;
    for (size_t i = count; i > 0 && found < most; i--)
        if (!is_among(last, found, contacts[i - 1]))
            last[found++] = contacts[i - 1];
    return found;
}

static int add_last(tkl_recent *recent, const tkl_bytes *last, size_t count)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    tkl__args_int(&args, recent->options.keep);
    tkl__args_int(&args, recent->options.ttl_ms);
    for (size_t i = count; i > 0; i--)
        tkl__args_bytes(&args, last[i - 1]);
    int rc = tkl__eval(recent->client, &tkl__lua_recent_add, &recent->keys, &args,
                       deadline_of(recent), true, &reply);
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

int tkl_recent_add(tkl_recent *recent, const tkl_bytes *contacts, size_t count)
{
    size_t most = recent->options.keep < STEP ? (size_t)recent->options.keep : STEP;
    tkl_bytes last[STEP];
    int rc = check_contacts(contacts, count);
    for (size_t from = 0; rc == TKL_OK && from < count; from += STEP) {
        size_t some = count - from < STEP ? count - from : STEP;
        rc = add_last(recent, last, last_different(contacts + from, some, most, last));
    }
    return rc;
}

/* Runs a command on the key that returns a number. It is not repeated: then it would return less.
 */
static int count_of(tkl_recent *recent, const char *command, const tkl_bytes *words, size_t count,
                    int64_t *number)
{
    tkl__args args;
    tkl_reply *reply;
    tkl__args_init(&args);
    tkl__args_str(&args, command);
    tkl__args_bytes(&args, recent->keys.items[0]);
    for (size_t i = 0; i < count; i++)
        tkl__args_bytes(&args, words[i]);
    int rc = tkl__plain(recent->client, &args, deadline_of(recent), number == NULL, &reply);
    if (number)
        *number = tkl_reply_int(reply);
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

int tkl_recent_remove(tkl_recent *recent, const tkl_bytes *contacts, size_t count, int64_t *removed)
{
    if (removed)
        *removed = 0;
    int rc = check_contacts(contacts, count);
    if (rc != TKL_OK || count == 0)
        return rc;
    return count_of(recent, "ZREM", contacts, count, removed);
}

int tkl_recent_drop(tkl_recent *recent)
{
    int64_t dropped;
    int rc = count_of(recent, "UNLINK", NULL, 0, &dropped);
    return rc == TKL_OK && dropped == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

/* ---- Completing ---------------------------------------------------------- */

/* The search, and its results. */
typedef struct match {
    unsigned fold;
    bool pinyin;
    tkl__buf prefix;          /* folded */
    tkl__text_mix_list mixes; /* mixes of the prefix, with pinyin */
    tkl__buf folded;          /* the current contact, folded */
    tkl__names found;
} match;

/* Removes the marks of syllables from a form, in place. */
static tkl_bytes unmarked(tkl_bytes form)
{
    char *data = (char *)form.data;
    size_t len = 0;
    for (size_t i = 0; i < form.len; i++)
        if (data[i] != TKL__TEXT_SYLLABLE)
            data[len++] = data[i];
    return (tkl_bytes){data, len};
}

static int fits_in_pinyin(match *m, bool *fits)
{
    tkl__text_form_list forms;
    tkl_bytes folded = {m->folded.data, m->folded.len};
    int rc = tkl__text_fits(folded, &m->mixes, fits);
    if (rc != TKL_OK || *fits)
        return rc;
    rc = tkl__text_forms(folded, &forms);
    for (size_t i = 0; rc == TKL_OK && i < forms.count && !*fits; i++)
        *fits =
            tkl__begins_with(unmarked(forms.items[i]), (tkl_bytes){m->prefix.data, m->prefix.len});
    tkl__text_form_list_free(&forms);
    return rc;
}

static int text_fits(match *m, tkl_bytes contact, bool *result)
{
    *result = m->prefix.len == 0;
    if (*result)
        return TKL_OK;
    tkl__buf_clear(&m->folded);
    int rc = tkl__text_fold(contact, m->fold, &m->folded);
    if (rc != TKL_OK)
        return rc;
    *result = tkl__begins_with((tkl_bytes){m->folded.data, m->folded.len},
                               (tkl_bytes){m->prefix.data, m->prefix.len});
    return m->pinyin && !*result ? fits_in_pinyin(m, result) : TKL_OK;
}

static int look_through(match *m, const tkl_reply *contacts, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(contacts) && m->found.count < count;
         i++) {
        bool fit;
        tkl_bytes contact = tkl_reply_bytes(tkl_reply_at(contacts, i));
        rc = text_fits(m, contact, &fit);
        if (rc == TKL_OK && fit)
            rc = tkl__names_add_copy(&m->found, contact);
    }
    return rc;
}

/* Reads the list, most recent first. `whole`: all of it, else only the requested contacts. */
static int read_list(tkl_recent *recent, bool whole, size_t count, bool times, tkl_reply **contacts)
{
    tkl__args args;
    int64_t most = whole || count > TKL_RECENT_MAX ? TKL_RECENT_MAX : (int64_t)count;
    tkl__args_init(&args);
    tkl__args_str(&args, "ZRANGE");
    tkl__args_bytes(&args, recent->keys.items[0]);
    tkl__args_int(&args, 0);
    tkl__args_int(&args, most - 1);
    tkl__args_str(&args, "REV");
    if (times)
        tkl__args_str(&args, "WITHSCORES");
    int rc = tkl__plain(recent->client, &args, deadline_of(recent), true, contacts);
    tkl__args_free(&args);
    return rc;
}

/* Prepares a search for the text. match_end() is for all outcomes. */
static int match_begin(match *m, const tkl_recent *recent, tkl_bytes text)
{
    *m = (match){.fold = TKL__TEXT_FOLD_HANGUL |
                         (recent->options.accents ? TKL__TEXT_FOLD_ACCENTS : 0U),
                 .pinyin = recent->options.pinyin};
    tkl__buf_init(&m->prefix);
    tkl__buf_init(&m->folded);
    int rc = tkl__text_fold(text, m->fold, &m->prefix);
    if (rc == TKL_OK && m->pinyin)
        rc = tkl__text_mixes((tkl_bytes){m->prefix.data, m->prefix.len}, &m->mixes);
    return rc;
}

static void match_end(match *m)
{
    tkl__names_free(&m->found);
    tkl__buf_free(&m->prefix);
    tkl__buf_free(&m->folded);
}

int tkl_recent_complete(tkl_recent *recent, tkl_bytes prefix, size_t max, tkl_names **contacts)
{
    tkl_reply *reply = NULL;
    match m;
    *contacts = NULL;
    int rc = match_begin(&m, recent, prefix);
    if (rc == TKL_OK && max > 0)
        rc = read_list(recent, m.prefix.len > 0, max, false, &reply);
    if (rc == TKL_OK)
        rc = look_through(&m, reply, max);
    if (rc == TKL_OK)
        rc = tkl__names_result(&m.found, contacts);
    match_end(&m);
    tkl_reply_free(reply);
    return rc;
}

/* ---- Finding ------------------------------------------------------------- */

const char *tkl_recent_match_name(tkl_recent_match how)
{
    static const char *const names[] = {"unknown", "exact", "prefix", "suffix", "contains"};
    return TKL__ENUM_NAME((int)how, names);
}

/* The result; its reply owns the contacts. */
typedef struct listing {
    tkl_recent_contacts contacts; /* must be first: callers have a pointer to it */
    tkl_reply *reply;
    tkl_recent_contact items[];
} listing;

/* Finds how the contact matches the text; 0: not at all. */
static int compare_contact(match *m, tkl_bytes contact, tkl_recent_match *how)
{
    bool begins_so;
    *how = (tkl_recent_match)0;
    int rc = text_fits(m, contact, &begins_so);
    if (rc != TKL_OK)
        return rc;
    const char *folded = m->folded.data, *text = m->prefix.data;
    size_t len = m->prefix.len, length = m->folded.len;
    if (begins_so)
        *how = len > 0 && length == len && memcmp(folded, text, len) == 0 ? TKL_RECENT_EXACT
                                                                          : TKL_RECENT_PREFIX;
    else if (length > len && memcmp(folded + length - len, text, len) == 0)
        *how = TKL_RECENT_SUFFIX;
    else if (length > len && memmem(folded, length, text, len))
        *how = TKL_RECENT_CONTAINS;
    return TKL_OK;
}

static int64_t time_of(const tkl_reply *score)
{
    double micros = 0;
    return tkl__double_parse(tkl_reply_bytes(score), &micros) && micros >= (double)FIRST_TIME &&
                   micros < 9e15
               ? (int64_t)micros / 1000
               : 0;
}

/* Fills the list with the groups, one after the other. `rows`: contact, score, ... */
static int list_matches(match *m, const tkl_reply *rows, size_t max, listing *l)
{
    size_t count = tkl_reply_count(rows) / 2;
    tkl_recent_match *how = calloc(count + 1, sizeof *how);
    int rc = how ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = compare_contact(m, tkl_reply_bytes(tkl_reply_at(rows, 2 * i)), &how[i]);
    for (int group = TKL_RECENT_EXACT; rc == TKL_OK && group <= TKL_RECENT_CONTAINS; group++)
        for (size_t i = 0; i < count && l->contacts.count < max; i++)
            if ((int)how[i] == group)
                l->items[l->contacts.count++] =
                    (tkl_recent_contact){.contact = tkl_reply_bytes(tkl_reply_at(rows, 2 * i)),
                                         .added_ms = time_of(tkl_reply_at(rows, 2 * i + 1)),
                                         .match = how[i]};
    free(how);
    return rc;
}

int tkl_recent_find(tkl_recent *recent, tkl_bytes text, size_t max, tkl_recent_contacts **contacts)
{
    tkl_reply *reply = NULL;
    listing *l = NULL;
    match m;
    *contacts = NULL;
    int rc = match_begin(&m, recent, text);
    if (rc == TKL_OK && max > 0)
        rc = read_list(recent, m.prefix.len > 0, max, true, &reply);
    size_t most = max < TKL_RECENT_MAX ? max : TKL_RECENT_MAX;
    if (rc == TKL_OK)
        l = calloc(1, sizeof *l + most * sizeof *l->items);
    if (rc == TKL_OK && !l)
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = list_matches(&m, reply, most, l);
    match_end(&m);
    if (rc != TKL_OK) {
        tkl_reply_free(reply);
        free(l);
        return rc;
    }
    l->contacts.items = l->items;
    l->reply = reply;
    *contacts = &l->contacts;
    return TKL_OK;
}

void tkl_recent_contacts_free(tkl_recent_contacts *contacts)
{
    listing *l = (listing *)(void *)contacts;
    if (l)
        tkl_reply_free(l->reply);
    free(l);
}

int tkl_recent_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "recent", "", "zset", names);
}
