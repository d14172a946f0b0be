/* SPDX-License-Identifier: MIT
 *
 * For operators: who holds a name, and taking it away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "hold/hold.h"
#include "hold/scripts.h"

#define SHOW_MAX  "1000"
#define BREAK_MAX 1000
/* Elements of the answer before those of the holders. */
#define HEAD 6

/* The reply owns the bytes that the items point into. */
typedef struct listing {
    tkl_holders holders; /* first: what the user has is a pointer to it */
    tkl_reply *reply;
    char *words; /* the unescaped hosts and labels */
    tkl_holder items[];
} listing;

static int nibble(char c)
{
    return c <= '9' ? c - '0' : c - 'A' + 10;
}

/* Undoes the escapes of a word into *to, and moves it on. */
static tkl_bytes unescape(const char *from, size_t len, char **to)
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

/* "fence since host/pid/label" */
static void read_holder(tkl_holder *item, const char *info, int64_t now, int64_t till, char **words)
{
    char *at;
    item->fence = strtoull(info, &at, 10);
    item->since_ms = (now - strtoll(at, &at, 10)) / 1000;
    item->ttl_ms = (till - now) / 1000;
    const char *host = *at == ' ' ? at + 1 : at;
    size_t host_len = strcspn(host, "/");
    item->host = unescape(host, host_len, words);
    const char *pid = host + host_len + (host[host_len] == '/');
    item->pid = strtoll(pid, &at, 10);
    const char *label = *at == '/' ? at + 1 : at;
    item->label = unescape(label, strlen(label), words);
}

static size_t words_size(const tkl_reply *reply)
{
    size_t size = 1;
    for (size_t i = HEAD; i + 1 < tkl_reply_count(reply); i += 2)
        size += tkl_reply_bytes(tkl_reply_at(reply, i)).len;
    return size;
}

static listing *read_listing(tkl_reply *reply)
{
    int64_t told = tkl_reply_int(tkl_reply_at(reply, 5));
    size_t room = (tkl_reply_count(reply) - HEAD) / 2;
    size_t count = told < 0 || (uint64_t)told > room ? room : (size_t)told;
    listing *l = calloc(1, sizeof *l + count * sizeof l->items[0]);
    char *words = malloc(words_size(reply));
    if (!l || !words) {
        free(l);
        free(words);
        return NULL;
    }
    l->reply = reply;
    l->words = words;
    l->holders = (tkl_holders){
        .items = l->items,
        .count = count,
        .limit = tkl_reply_int(tkl_reply_at(reply, 0)),
        .shared = tkl_reply_int(tkl_reply_at(reply, 1)) != 0,
        .held = tkl_reply_int(tkl_reply_at(reply, 2)),
        .waiters = tkl_reply_int(tkl_reply_at(reply, 3)),
    };
    int64_t now = tkl_reply_int(tkl_reply_at(reply, 4));
    for (size_t i = 0; i < count; i++)
        read_holder(&l->items[i], tkl_reply_str(tkl_reply_at(reply, HEAD + 2 * i)), now,
                    (int64_t)tkl_reply_double(tkl_reply_at(reply, HEAD + 1 + 2 * i)), &words);
    return l;
}

int tkl__hold_show(tkl__hold *h, tkl_holders **holders)
{
    *holders = NULL;
    tkl_bytes args[] = {tkl_str(SHOW_MAX)};
    tkl_reply *reply;
    int rc = tkl__hold_run(h, &tkl__lua_hold_show, args, 1, &reply);
    if (rc != TKL_OK)
        return rc;
    listing *l = tkl_reply_count(reply) >= HEAD ? read_listing(reply) : NULL;
    if (!l) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    *holders = &l->holders;
    return TKL_OK;
}

void tkl_holders_free(tkl_holders *holders)
{
    listing *l = (listing *)(void *)holders;
    if (!l)
        return;
    tkl_reply_free(l->reply);
    free(l->words);
    free(l);
}

int tkl__hold_break(tkl__hold *h)
{
    char most[24];
    int64_t broken = 0, some = BREAK_MAX;
    snprintf(most, sizeof most, "%d", BREAK_MAX);
    while (some == BREAK_MAX) {
        tkl_bytes args[] = {tkl_str(most)};
        tkl_reply *reply;
        int rc = tkl__hold_run(h, &tkl__lua_hold_break, args, 1, &reply);
        if (rc != TKL_OK)
            return rc;
        some = tkl_reply_int(reply);
        broken += some;
        tkl_reply_free(reply);
    }
    return broken > 0 ? TKL_OK : TKL_NOTFOUND;
}
