/* SPDX-License-Identifier: MIT
 *
 * Books: completing and finding. The server returns ranges of its sorted sets; this file interprets
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book/book.h"
#include "book/scripts.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/lex.h"
#include "core/options.h"

#define MIX_SIZE 24 /* size of "NUL mix " in `next` */

const char *tkl_book_match_name(tkl_book_match match)
{
    static const char *const names[] = {"unknown", "exact", "prefix", "suffix", "contains"};
    return names[match >= TKL_BOOK_EXACT && match <= TKL_BOOK_CONTAINS ? match : 0];
}

/* ---- Answers ------------------------------------------------------------- */

/* Answers under construction. Their bytes are copied into one store, which is large enough for all
 * members. */
typedef struct harvest {
    tkl_book_answers *answers;
    tkl_book_answer *items;
    tkl_bytes *entries; /* entries of the answers, in the reply */
    size_t most;
    char *store;
    size_t used;
} harvest;

static int harvest_begin(harvest *h, size_t most, size_t bytes)
{
    *h = (harvest){.answers = calloc(1, sizeof *h->answers),
                   .items = calloc(most + 1, sizeof *h->items),
                   .entries = calloc(most + 1, sizeof *h->entries),
                   .most = most,
                   .store = malloc(bytes + 1)};
    if (h->answers) {
        h->answers->items = h->items;
        h->answers->next = (tkl_bytes){h->store, 0};
    }
    return h->answers && h->items && h->entries && h->store ? TKL_OK : tkl__nomem();
}

static int harvest_end(harvest *h, int rc, tkl_book_answers **answers)
{
    free(h->entries);
    if (rc == TKL_OK) {
        *answers = h->answers;
        return rc;
    }
    free(h->items);
    free(h->store);
    free(h->answers);
    return rc;
}

/* The store begins where `next` points, even when `next` is empty. */
void tkl_book_answers_free(tkl_book_answers *answers)
{
    if (!answers)
        return;
    free((tkl_book_answer *)answers->items);
    free((char *)answers->next.data);
    free(answers);
}

static bool is_known(const harvest *h, tkl_bytes entry)
{
    for (size_t i = 0; i < h->answers->count; i++)
        if (tkl__same_bytes(h->entries[i], entry))
            return true;
    return false;
}

static void take_entry(harvest *h, tkl_bytes entry, tkl_book_match match)
{
    size_t i = h->answers->count++;
    h->entries[i] = entry;
    h->items[i].match = match;
    h->used += tkl__book_entry_read(entry, h->store + h->used, &h->items[i]);
}

static int in_part(void)
{
    return tkl__fail(TKL_EDAMAGED, "part of this book is gone from the server");
}

static int damaged(void)
{
    return tkl__fail(TKL_EDAMAGED, "a member of the book was not written by tackle");
}

static size_t limit_of(size_t count)
{
    return count < TKL_BOOK_ANSWERS_MAX ? count : TKL_BOOK_ANSWERS_MAX;
}

/* ---- Completing ---------------------------------------------------------- */

/* A completion of a query that may be a mixture: first the members that begin with it, then the
 * members that fit its mixes, one mix after the other. `after` is the last member, or, among the
 * mixes, NUL, the number of the mix, a space, and the last candidate. */
typedef struct completion {
    tkl_bytes prefix, after;
    size_t count;
    size_t fetch; /* number of members requested */
    tkl__book_query query;
    tkl__buf low, high; /* bounds */
    int64_t mix;        /* mix to begin with, from 1 */
    tkl_bytes candidate;
    bool misfit; /* `after` does not belong to the prefix, provided the settings are right */
    bool mixed;  /* the script was run */
} completion;

static int not_after(void)
{
    return tkl__fail(TKL_EINVAL, "`after` is not from a page of this prefix");
}

/* Reads where to continue among the mixes; false: `after` is not such a position. */
static bool read_mixed_after(completion *c)
{
    size_t i = 1;
    c->mix = 0;
    for (; i < c->after.len && i < 4 && c->after.data[i] >= '0' && c->after.data[i] <= '9'; i++)
        c->mix = c->mix * 10 + (c->after.data[i] - '0');
    if (i >= c->after.len || c->after.data[i] != ' ')
        return false;
    c->candidate = (tkl_bytes){c->after.data + i + 1, c->after.len - i - 1};
    return c->mix >= 1 && (size_t)c->mix <= c->query.mixes.count;
}

/* Makes the bounds of the range for the prefix, or for the rest of it behind `after`. Among the
 * mixes there are no bounds. */
static int make_bounds(completion *c, unsigned settings)
{
    tkl__buf_clear(&c->low);
    tkl__buf_clear(&c->high);
    int rc = tkl__book_query_make(c->prefix, settings, &c->query);
    if (rc != TKL_OK)
        return rc;
    tkl_bytes key = {c->query.key.data, c->query.key.len}, from = c->after.len ? c->after : key;
    bool among_mixes = c->after.len && c->after.data[0] == 0;
    c->mix = 1;
    c->candidate = (tkl_bytes){"", 0};
    c->misfit = among_mixes ? !read_mixed_after(c) : !tkl__begins_with(from, key);
    if (among_mixes && !c->misfit)
        return TKL_OK;
    tkl__buf_addz(&c->low, c->after.len ? "(" : "[");
    tkl__buf_add(&c->low, from.data, from.len);
    tkl__lex_above(&c->high, key);
    c->fetch = settings & TKL__BOOK_PINYIN ? 3 * c->count + 16 : c->count;
    return c->low.failed || c->high.failed ? tkl__nomem() : TKL_OK;
}

/* Sends two plain commands in one round trip: for the settings and for the range. A script would
 * take the server five times as long. */
static int ask_range(tkl_book *book, const completion *c, tkl_reply **replies)
{
    char limit[24];
    tkl__batch batch;
    snprintf(limit, sizeof limit, "%zu", c->fetch + 1);
    tkl__batch_init(&batch, book->client);
    TKL__BATCH_WORDS(&batch, tkl_str("HGET"), book->keys.items[TKL__BOOK_META],
                     tkl_str("settings"));
    TKL__BATCH_WORDS(&batch, tkl_str("ZRANGE"), book->keys.items[TKL__BOOK_NAMES],
                     {c->low.data, c->low.len}, {c->high.data, c->high.len}, tkl_str("BYLEX"),
                     tkl_str("LIMIT"), tkl_str("0"), tkl_str(limit));
    return tkl__batch_end(&batch, tkl__book_deadline(book), replies);
}

/* Makes the arguments for a query that may be a mixture. It needs a script, because the mixes are
 * only searched while there are too few answers. */
static int make_completion(void *arg, unsigned settings, tkl__args *args)
{
    completion *c = arg;
    int rc = make_bounds(c, settings);
    if (rc != TKL_OK || c->misfit)
        return rc == TKL_OK ? not_after() : rc;
    tkl__args_bytes(args, (tkl_bytes){c->query.key.data, c->query.key.len});
    tkl__args_bytes(args, (tkl_bytes){c->low.data, c->low.len});
    tkl__args_bytes(args, (tkl_bytes){c->high.data, c->high.len});
    tkl__args_int(args, (int64_t)c->fetch + 1);
    tkl__args_int(args, (int64_t)c->count);
    tkl__args_int(args, c->mix);
    tkl__args_bytes(args, c->candidate);
    return tkl__book_query_mixes(&c->query, args);
}

/* Checks the reply to a completion: *good when the request used the settings of the book. Names
 * without settings may belong to a book that was created between the two commands. */
static int judge_completion(tkl_book *book, const tkl_reply *replies, unsigned settings, bool *good)
{
    const tkl_reply *stored = tkl_reply_at(replies, 0);
    if (tkl_reply_is_nil(stored)) {
        *good = tkl_reply_count(tkl_reply_at(replies, 1)) == 0;
        return TKL_OK;
    }
    *good = strcmp(tkl_reply_str(stored), tkl__book_settings_text(settings)) == 0;
    return *good ? TKL_OK : tkl__book_learn(book, tkl_reply_bytes(stored));
}

/* Makes the request, and makes it again when the book has other settings. Only with the right
 * settings is it known whether `after` is wrong. */
static int ask_completion(tkl_book *book, completion *c, tkl_reply **replies)
{
    bool lost = false;
    for (int i = 0; i < TKL__BOOK_TRIES; i++) {
        bool good = false;
        unsigned settings = atomic_load(&book->settings);
        int rc = make_bounds(c, settings);
        c->mixed = c->query.mixes.count > 0 && !c->misfit;
        if (rc == TKL_OK && c->mixed)
            return tkl__book_ask(book, &tkl__lua_book_complete, make_completion, c, true, replies);
        if (rc == TKL_OK)
            rc = ask_range(book, c, replies);
        if (rc == TKL_OK)
            rc = judge_completion(book, *replies, settings, &good);
        if (rc == TKL_OK && good && c->misfit)
            rc = not_after();
        if (rc != TKL_OK || good)
            return rc;
        lost = tkl_reply_is_nil(tkl_reply_at(*replies, 0));
        tkl_reply_free(*replies);
        *replies = NULL;
    }
    return lost ? in_part() : tkl__no(TKL_CONFLICT);
}

/* Reads the members that begin with the prefix. The request was for one more than `fetch`: if that
 * one is there, there is another page. */
static int read_completion(const completion *c, const tkl_reply *members, harvest *h)
{
    size_t n = tkl_reply_count(members), i = 0, len = c->query.key.len;
    for (; i < n && i < c->fetch && h->answers->count < c->count; i++) {
        tkl__book_member m;
        if (!tkl__book_member_read(tkl_reply_bytes(tkl_reply_at(members, i)), &m))
            return damaged();
        if (!m.form || m.shared < len)
            take_entry(h, m.entry, m.key.len == len ? TKL_BOOK_EXACT : TKL_BOOK_PREFIX);
    }
    h->answers->more = i < n;
    if (i > 0 && i < n) {
        tkl_bytes last = tkl_reply_bytes(tkl_reply_at(members, i - 1));
        memcpy(h->store, last.data, last.len);
        h->answers->next = (tkl_bytes){h->store, last.len};
    }
    return TKL_OK;
}

/* Writes "NUL mix candidate". */
static size_t next_mixed(const tkl_reply *reply, char *store)
{
    int64_t mix = tkl_reply_int(tkl_reply_at(reply, 2));
    tkl_bytes candidate = tkl_reply_bytes(tkl_reply_at(reply, 3));
    size_t len = 1 + (size_t)sprintf(store + 1, "%d ", (int)mix);
    store[0] = 0;
    if (candidate.len)
        memcpy(store + len, candidate.data, candidate.len);
    return len + candidate.len;
}

/* Reads the members that fit the mixes. They follow when all others were read. */
static int read_mixed(const completion *c, const tkl_reply *reply, harvest *h)
{
    const tkl_reply *members = tkl_reply_at(reply, 1);
    int64_t mix = tkl_reply_int(tkl_reply_at(reply, 2));
    if (h->answers->more)
        return TKL_OK;
    for (size_t i = 0; i < tkl_reply_count(members) && h->answers->count < c->count; i++) {
        tkl__book_member m;
        if (!tkl__book_member_read(tkl_reply_bytes(tkl_reply_at(members, i)), &m))
            return damaged();
        take_entry(h, m.entry, TKL_BOOK_PREFIX);
    }
    if (mix > 0 && (size_t)mix <= c->query.mixes.count) {
        h->answers->more = true;
        h->answers->next = (tkl_bytes){h->store, next_mixed(reply, h->store)};
    }
    return TKL_OK;
}

static size_t bytes_of(const tkl_reply *members, size_t *longest)
{
    size_t bytes = 0;
    for (size_t i = 0; i < tkl_reply_count(members); i++) {
        size_t len = tkl_reply_bytes(tkl_reply_at(members, i)).len;
        bytes += len;
        *longest = len > *longest ? len : *longest;
    }
    return bytes;
}

/* Makes the result. The store has `next` at its beginning, followed by the texts of the answers. */
static int give_completion(const completion *c, const tkl_reply *reply, tkl_book_answers **answers)
{
    harvest h;
    const tkl_reply *plain = tkl_reply_at(reply, c->mixed ? 0 : 1);
    size_t longest = c->mixed ? MIX_SIZE + tkl_reply_bytes(tkl_reply_at(reply, 3)).len : 0;
    size_t bytes = bytes_of(plain, &longest);
    if (c->mixed)
        bytes += bytes_of(tkl_reply_at(reply, 1), &longest);
    int rc = harvest_begin(&h, c->count, bytes + longest);
    h.used = longest;
    if (rc == TKL_OK)
        rc = read_completion(c, plain, &h);
    if (rc == TKL_OK && c->mixed)
        rc = read_mixed(c, reply, &h);
    return harvest_end(&h, rc, answers);
}

int tkl_book_complete(tkl_book *book, tkl_bytes prefix, size_t max, tkl_bytes after,
                      tkl_book_answers **answers)
{
    completion c = {.prefix = prefix, .after = after, .count = limit_of(max)};
    tkl_reply *replies = NULL;
    *answers = NULL;
    tkl__book_query_init(&c.query);
    tkl__buf_init(&c.low);
    tkl__buf_init(&c.high);
    int rc = ask_completion(book, &c, &replies);
    if (rc == TKL_OK)
        rc = give_completion(&c, replies, answers);
    tkl__book_query_free(&c.query);
    tkl__buf_free(&c.low);
    tkl__buf_free(&c.high);
    tkl_reply_free(replies);
    return rc;
}

/* ---- Finding ------------------------------------------------------------- */

enum {
    GROUPS = 4
}; /* groups of matches; in the reply a number behind each says whether it was cut off
                        */

typedef struct search {
    tkl_bytes text;
    size_t count;
    size_t fetch; /* number of members requested, of all groups together */
    tkl__book_query query;
    tkl__buf equal, longer, above; /* bounds */
    bool parts;                    /* the book has `contains` */
} search;

/* Makes the arguments of a search. NUL follows equal keys; in longer keys the next byte is 01 or
 * above. */
static int make_search(void *arg, unsigned settings, tkl__args *args)
{
    search *s = arg;
    s->parts = settings & TKL__BOOK_CONTAINS;
    tkl__buf_clear(&s->equal);
    tkl__buf_clear(&s->longer);
    tkl__buf_clear(&s->above);
    int rc = tkl__book_query_make(s->text, settings, &s->query);
    if (rc != TKL_OK)
        return rc;
    tkl_bytes key = {s->query.key.data, s->query.key.len};
    tkl__buf_add(&s->equal, key.data, key.len);
    tkl__buf_add(&s->equal, "\0", 1);
    tkl__buf_add(&s->longer, key.data, key.len);
    tkl__buf_add(&s->longer, "\1", 1);
    tkl__lex_above(&s->above, key);
    tkl__args_bytes(args, (tkl_bytes){s->equal.data, s->equal.len});
    tkl__args_bytes(args, (tkl_bytes){s->longer.data, s->longer.len});
    tkl__args_bytes(args, (tkl_bytes){s->above.data, s->above.len});
    tkl__args_int(args, (int64_t)s->fetch);
    if (s->equal.failed || s->longer.failed || s->above.failed)
        return tkl__nomem();
    return tkl__book_query_mixes(&s->query, args);
}

/* Reads a group. An entry may be in several groups, and several times in one: only its first
 * occurrence counts. */
static int read_group(const tkl_reply *group, tkl_book_match match, harvest *h)
{
    bool part = match >= TKL_BOOK_SUFFIX;
    for (size_t i = 0; i < tkl_reply_count(group); i++) {
        tkl__book_member m;
        tkl_bytes bytes = tkl_reply_bytes(tkl_reply_at(group, i));
        if (!(part ? tkl__book_part_read(bytes, &m) : tkl__book_member_read(bytes, &m)))
            return damaged();
        if (is_known(h, m.entry))
            continue;
        if (h->answers->count == h->most) {
            h->answers->more = true;
            return TKL_OK;
        }
        take_entry(h, m.entry, match);
    }
    return TKL_OK;
}

static int give_search(const search *s, const tkl_reply *groups, tkl_book_answers **answers)
{
    harvest h;
    size_t members = 0, bytes = 0;
    for (size_t g = 0; g < GROUPS; g++) {
        const tkl_reply *group = tkl_reply_at(groups, g);
        members += tkl_reply_count(group);
        for (size_t i = 0; i < tkl_reply_count(group); i++)
            bytes += tkl_reply_bytes(tkl_reply_at(group, i)).len;
    }
    int rc = harvest_begin(&h, s->count, bytes);
    for (size_t g = 0; rc == TKL_OK && g < GROUPS; g++)
        rc = read_group(tkl_reply_at(groups, g), (tkl_book_match)(g + 1), &h);
    if (rc == TKL_OK && (members == s->fetch || tkl_reply_int(tkl_reply_at(groups, GROUPS)) == 1))
        h.answers->more = true;
    if (rc == TKL_OK)
        h.answers->parts = s->parts;
    return harvest_end(&h, rc, answers);
}

int tkl_book_find(tkl_book *book, tkl_bytes text, size_t max, tkl_book_answers **answers)
{
    search s = {.text = text, .count = limit_of(max)};
    tkl_reply *reply;
    *answers = NULL;
    s.fetch = 2 * s.count + 16; /* some entries come twice */
    tkl__book_query_init(&s.query);
    tkl__buf_init(&s.equal);
    tkl__buf_init(&s.longer);
    tkl__buf_init(&s.above);
    int rc = tkl__book_ask(book, &tkl__lua_book_find, make_search, &s, true, &reply);
    if (rc == TKL_OK)
        rc = give_search(&s, reply, answers);
    tkl__book_query_free(&s.query);
    tkl__buf_free(&s.equal);
    tkl__buf_free(&s.longer);
    tkl__buf_free(&s.above);
    tkl_reply_free(reply);
    return rc;
}
