/* SPDX-License-Identifier: MIT
 *
 * The queues that there are: those with a meta hash.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/name.h"
#include "core/names.h"
#include "core/reply.h"
#include "core/walk.h"
#include "queue/shard.h"

/* A name is noted with what was seen of it behind: NUL, "1" or "p" for one of several partitions,
 * and the number of that in three digits. So the last of those that differ only there has the most.
 */
#define NOTE_LEN   5
#define NUMBER_LEN 3

typedef struct search {
    tkl_client *client;
    tkl__names names;
} search;

/* The key as that of a queue of one partition: without the "%23i" of shard.c. *number is i, or -1.
 */
static bool without_partition(tkl_bytes key, tkl__buf *out, int *number)
{
    const char *end = memchr(key.data, '}', key.len);
    const char *mark = end ? memmem(key.data, (size_t)(end - key.data), "%23", 3) : NULL;
    *number = mark ? atoi(mark + 3) : -1;
    if (!mark)
        mark = end;
    tkl__buf_add(out, key.data, mark ? (size_t)(mark - key.data) : 0);
    tkl__buf_addz(out, "}");
    return mark && !out->failed;
}

static int note(search *s, tkl_bytes name, int number)
{
    char text[NOTE_LEN + 1];
    snprintf(text, sizeof text, "%c%c%03u", '\0', number < 0 ? '1' : 'p',
             number < 0 ? 0 : (unsigned)number % 1000);
    char *longer = realloc((char *)name.data, name.len + sizeof text);
    if (!longer) {
        free((char *)name.data);
        return tkl__nomem();
    }
    memcpy(longer + name.len, text, sizeof text);
    return tkl__names_add(&s->names, (tkl_bytes){longer, name.len + NOTE_LEN});
}

static int visit(tkl_bytes key, void *arg)
{
    search *s = arg;
    tkl_bytes name;
    tkl__buf whole;
    int rc = TKL_OK, number;
    tkl__buf_init(&whole);
    if (without_partition(key, &whole, &number) &&
        tkl__name_of_key(s->client, "queue", (tkl_bytes){whole.data, whole.len}, &name))
        rc = note(s, name, number);
    tkl__buf_free(&whole);
    return rc;
}

static int walk(search *s)
{
    tkl__buf pattern;
    tkl__buf_init(&pattern);
    tkl__glob_escape(&pattern, s->client->target.ns);
    tkl__buf_addz(&pattern, ":queue:{*}:meta");
    int rc = pattern.failed
                 ? tkl__nomem()
                 : tkl__walk(s->client, (tkl_bytes){pattern.data, pattern.len}, "hash", visit, s);
    tkl__buf_free(&pattern);
    return rc;
}

/* Whether the next is another partition of the same. */
static bool goes_on(const tkl__names *n, size_t i)
{
    size_t len = n->items[i].len - NUMBER_LEN;
    return i + 1 < n->count && n->items[i + 1].len == n->items[i].len &&
           memcmp(n->items[i].data, n->items[i + 1].data, len) == 0;
}

static tkl_reply *describe(tkl_bytes item)
{
    const char *seen = item.data + item.len - NOTE_LEN;
    int several = seen[1] == 'p' ? atoi(seen + 2) + 1 : 1;
    tkl_reply *pair = tkl__reply_new_array(2);
    tkl_reply *name = tkl__reply_new_bytes((tkl_bytes){item.data, item.len - NOTE_LEN});
    tkl_reply *count = tkl__reply_new_int(seen[1] == 'p' && several < 2 ? 2 : several);
    if (pair && name && count) {
        tkl__reply_put(pair, 0, name);
        tkl__reply_put(pair, 1, count);
        return pair;
    }
    tkl_reply_free(pair);
    tkl_reply_free(name);
    tkl_reply_free(count);
    return NULL;
}

static int describe_all(const tkl__names *n, tkl_reply **queues)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < n->count; i++)
        count += !goes_on(n, i);
    *queues = tkl__reply_new_array(count);
    for (size_t i = 0; *queues && i < n->count; i++) {
        tkl_reply *one = goes_on(n, i) ? NULL : describe(n->items[i]);
        if (one) {
            tkl__reply_put(*queues, at++, one);
        } else if (!goes_on(n, i)) {
            tkl_reply_free(*queues);
            *queues = NULL;
        }
    }
    return *queues ? TKL_OK : tkl__nomem();
}

int tkl_queue_list(tkl_client *client, tkl_reply **queues)
{
    search s = {.client = client};
    *queues = NULL;
    int rc = walk(&s);
    if (rc == TKL_OK) {
        tkl__names_tidy(&s.names, NULL, NULL);
        rc = describe_all(&s.names, queues);
    }
    tkl__names_free(&s.names);
    return rc;
}
