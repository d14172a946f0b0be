/* SPDX-License-Identifier: MIT
 *
 * For operators: lists holders and waiters of a name, and breaks a hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "hold/inside.h"
#include "hold/scripts.h"

#define SHOW_MAX "500"
/* How many holders one script breaks; how many scripts break the largest semaphore. */
#define BREAK_MAX    200
#define BREAK_ROUNDS 5001
/* The elements of the answer. The holders, then the waiters, begin at HEAD. */
enum { LIMIT, SHARED, HELD, WAITERS, NOW, LISTED, HEAD };

/* `words` owns the bytes that the items point into. */
typedef struct listing {
    tkl_holders holders; /* first: the user's pointer points to it */
    char *words;         /* the unescaped hosts and labels */
    tkl_holder_waiting *line;
    tkl_holder items[];
} listing;

/* ---- "host/pid/label" ---------------------------------------------------- */

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 0;
}

/* Appends an unescaped word at *to, and moves *to behind it. */
static tkl_bytes unescape_field(const char *from, size_t len, char **to)
{
    char *start = *to;
    for (size_t i = 0; i < len; i++) {
        char c = from[i];
        if (c == '%' && i + 2 < len) {
            c = (char)(nibble(from[i + 1]) * 16 + nibble(from[i + 2]));
            i += 2;
        }
        *(*to)++ = c;
    }
    return (tkl_bytes){start, (size_t)(*to - start)};
}

static void read_who(const char *who, char **words, tkl_bytes *host, int64_t *pid, tkl_bytes *label)
{
    char *end;
    size_t len = strcspn(who, "/");
    *host = unescape_field(who, len, words);
    *pid = strtoll(who + len + (who[len] == '/'), &end, 10);
    const char *text = *end == '/' ? end + 1 : end;
    *label = unescape_field(text, strlen(text), words);
}

/* ---- The answer ---------------------------------------------------------- */

/* Limits a time from the server's clock to the range 0 to 2^53. */
static int64_t bounded_moment(double us)
{
    static const double most = 9007199254740992; /* 2^53 */
    return us >= 0 ? (int64_t)(us < most ? us : most) : 0;
}

/* Reads "fence since who", and the end of the lease. */
static void read_holder(const tkl_reply *text, const tkl_reply *till, int64_t now, char **words,
                        tkl_holder *item)
{
    char *at;
    item->fence = strtoull(tkl_reply_str(text), &at, 10);
    item->since_ms = (now - bounded_moment((double)strtoll(at, &at, 10))) / 1000;
    item->left_ms = (bounded_moment(tkl_reply_double(till)) - now) / 1000;
    read_who(*at == ' ' ? at + 1 : at, words, &item->host, &item->pid, &item->label);
}

/* Reads "mode who". */
static void read_waiter(const char *text, char **words, tkl_holder_waiting *item)
{
    item->shared = text[0] == 's';
    read_who(strlen(text) > 2 ? text + 2 : "", words, &item->host, &item->pid, &item->label);
}

static size_t words_size(const tkl_reply *reply)
{
    size_t size = 1;
    for (size_t i = HEAD; i < tkl_reply_count(reply); i++)
        size += tkl_reply_bytes(tkl_reply_at(reply, i)).len;
    return size;
}

static size_t holders_listed(const tkl_reply *reply)
{
    int64_t listed = tkl_reply_int(tkl_reply_at(reply, LISTED));
    size_t room = (tkl_reply_count(reply) - HEAD) / 2;
    return listed < 0 || (uint64_t)listed > room ? room : (size_t)listed;
}

static listing *make_listing(const tkl_reply *reply, size_t count, size_t waiting)
{
    listing *l = calloc(1, sizeof *l + count * sizeof l->items[0]);
    if (!l)
        return NULL;
    l->words = malloc(words_size(reply));
    l->line = calloc(waiting + 1, sizeof *l->line);
    l->holders = (tkl_holders){
        .items = l->items,
        .count = count,
        .line = l->line,
        .line_count = waiting,
        .limit = tkl_reply_int(tkl_reply_at(reply, LIMIT)),
        .shared = tkl_reply_int(tkl_reply_at(reply, SHARED)) != 0,
        .held = tkl_reply_int(tkl_reply_at(reply, HELD)),
        .waiters = tkl_reply_int(tkl_reply_at(reply, WAITERS)),
    };
    if (l->words && l->line)
        return l;
    tkl_holders_free(&l->holders);
    return NULL;
}

static listing *read_listing(const tkl_reply *reply)
{
    size_t count = holders_listed(reply), first = HEAD + 2 * count;
    size_t waiting = tkl_reply_count(reply) - first;
    listing *l = make_listing(reply, count, waiting);
    if (!l)
        return NULL;
    char *words = l->words;
    int64_t now = bounded_moment((double)tkl_reply_int(tkl_reply_at(reply, NOW)));
    for (size_t i = 0; i < count; i++)
        read_holder(tkl_reply_at(reply, HEAD + 2 * i), tkl_reply_at(reply, HEAD + 1 + 2 * i), now,
                    &words, &l->items[i]);
    for (size_t i = 0; i < waiting; i++)
        read_waiter(tkl_reply_str(tkl_reply_at(reply, first + i)), &words, &l->line[i]);
    return l;
}

int tkl__hold_read(const tkl_reply *reply, tkl_holders **holders)
{
    *holders = NULL;
    if (tkl_reply_count(reply) < HEAD)
        return tkl__fail(TKL_EPROTO, "the server's answer to hold/show is too short");
    listing *l = read_listing(reply);
    if (!l)
        return tkl__nomem();
    *holders = &l->holders;
    return TKL_OK;
}

int tkl__hold_show_by(tkl__hold *h, int64_t deadline, tkl_holders **holders)
{
    *holders = NULL;
    tkl_bytes args[] = {tkl_str(SHOW_MAX)};
    tkl__invocation call = tkl__hold_invoke(h, &tkl__lua_hold_show, args, 1);
    tkl_reply *reply = NULL;
    int rc = tkl__hold_check_ours(h);
    if (rc == TKL_OK)
        rc = tkl__run(h->client, &call, deadline, &reply);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__hold_read(reply, holders);
    tkl_reply_free(reply);
    return rc;
}

int tkl__hold_show(tkl__hold *h, tkl_holders **holders)
{
    return tkl__hold_show_by(h, tkl__hold_deadline(h), holders);
}

void tkl_holders_free(tkl_holders *holders)
{
    listing *l = (listing *)(void *)holders;
    if (!l)
        return;
    free(l->words);
    free(l->line);
    free(l);
}

/* ---- Breaking ------------------------------------------------------------ */

int tkl__hold_break(tkl__hold *h)
{
    char most[24];
    bool broken = false;
    snprintf(most, sizeof most, "%d", BREAK_MAX);
    for (int round = 0; round < BREAK_ROUNDS; round++) {
        tkl_bytes args[] = {tkl_str(most), h->everyone};
        tkl_reply *reply;
        int rc = tkl__hold_run(h, &tkl__lua_hold_break, args, 2, &reply);
        if (rc != TKL_OK)
            return rc;
        int64_t some = tkl_reply_int(reply);
        tkl_reply_free(reply);
        if (some > BREAK_MAX + 1) /* one more: the exclusive holder */
            return tkl__fail(TKL_EPROTO, "not an answer of hold/break");
        broken |= some > 0;
        if (some < BREAK_MAX)
            break;
    }
    return broken ? TKL_OK : tkl__no(TKL_NOTFOUND);
}
