/* SPDX-License-Identifier: MIT
 *
 * For operators: how long jobs waited and ran, as histograms by queue and kind; times.inc.lua
 * explains how they are stored.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/reply.h"
#include "queue/all.h"
#include "queue/scripts.h"

/* ---- Buckets ------------------------------------------------------------- */

_Static_assert(TKL_QUEUE_BUCKETS == TKL__QUEUE_BOUNDS + 1, "the last bucket has no bound");

int64_t tkl_queue_bound_ms(int bucket)
{
    int64_t bound = 1;
    if (bucket < 0 || bucket >= TKL__QUEUE_BOUNDS)
        return TKL_NONE;
    for (int i = 1; i < bucket; i += 2)
        bound *= 10;
    return bucket % 2 ? 3 * bound : bound;
}

/* ---- Reading ------------------------------------------------------------- */

/* The public result and what it points into. */
typedef struct kind_list {
    tkl_queue_kind_list public; /* first: the user's pointer points to it */
    tkl_queue_kind *kinds;
    char *names; /* names of the queues */
    tkl_reply *replies;
} kind_list;

void tkl_queue_kind_list_free(tkl_queue_kind_list *public)
{
    kind_list *list = (kind_list *)(void *)public;
    if (!list)
        return;
    free(list->kinds);
    free(list->names);
    tkl_reply_free(list->replies);
    free(list);
}

/* Cuts "wait:KIND:3" into its three parts, and "failed:KIND" into two. */
static bool read_field(tkl_bytes field, tkl_bytes *what, tkl_bytes *kind, tkl_bytes *part)
{
    const char *end = field.data + field.len;
    const char *first = field.len > 0 ? memchr(field.data, ':', field.len) : NULL;
    if (!first)
        return false;
    *what = (tkl_bytes){field.data, (size_t)(first - field.data)};
    const char *last = memrchr(first + 1, ':', (size_t)(end - first - 1));
    *kind = (tkl_bytes){first + 1, (size_t)((last ? last : end) - first - 1)};
    *part = last ? (tkl_bytes){last + 1, (size_t)(end - last - 1)} : (tkl_bytes){NULL, 0};
    return true;
}

static bool is_text(tkl_bytes bytes, const char *text)
{
    return tkl__same_bytes(bytes, tkl_str(text));
}

/* Finds a kind of the queue whose kinds begin at `first`, or adds it. */
static tkl_queue_kind *kind_of(kind_list *list, size_t first, tkl_bytes queue, tkl_bytes kind)
{
    for (size_t i = first; i < list->public.count; i++)
        if (tkl__same_bytes(list->kinds[i].kind, kind))
            return &list->kinds[i];
    tkl_queue_kind *added = &list->kinds[list->public.count++];
    *added = (tkl_queue_kind){.queue = queue, .kind = kind};
    return added;
}

static void add_times(tkl_queue_histogram *h, tkl_bytes part, int64_t number)
{
    char *end;
    char text[8];
    if (is_text(part, "us")) {
        tkl__add(&h->sum_us, number);
        return;
    }
    if (part.len == 0 || part.len >= sizeof text)
        return;
    memcpy(text, part.data, part.len);
    text[part.len] = '\0';
    long bucket = strtol(text, &end, 10);
    if (*end || bucket < 0 || bucket >= TKL_QUEUE_BUCKETS)
        return;
    tkl__add(&h->counts[bucket], number);
    tkl__add(&h->count, number);
}

/* Adds a field of TIMES. Until settle_kinds(), `done` has the number of lost attempts. */
static void add_field(kind_list *list, size_t first, tkl_bytes queue, tkl_bytes field,
                      int64_t number)
{
    tkl_bytes what, kind, part;
    if (number < 0 || !read_field(field, &what, &kind, &part))
        return;
    tkl_queue_kind *one = kind_of(list, first, queue, kind);
    if (is_text(what, "wait"))
        add_times(&one->wait, part, number);
    else if (is_text(what, "run"))
        add_times(&one->run, part, number);
    else if (is_text(what, "failed"))
        tkl__add(&one->failed, number);
    else if (is_text(what, "lost"))
        tkl__add(&one->done, number);
}

static int by_kind(const void *a, const void *b)
{
    const tkl_queue_kind *x = a, *y = b;
    return tkl__compare_bytes(x->kind, y->kind);
}

/* Computes `done`: attempts that were reported and did not fail. Attempts of lost workers failed,
 * but were not reported. */
static void settle_kinds(kind_list *list, size_t first)
{
    for (size_t i = first; i < list->public.count; i++) {
        tkl_queue_kind *one = &list->kinds[i];
        int64_t done = one->run.count + one->done - one->failed;
        one->done = done > 0 ? done : 0;
    }
    if (list->public.count > first)
        qsort(list->kinds + first, list->public.count - first, sizeof *list->kinds, by_kind);
}

static void read_answers(kind_list *list, tkl_queue *const *queues, size_t count)
{
    size_t at = 0;
    char *name = list->names;
    for (size_t q = 0; q < count; q++) {
        size_t first = list->public.count;
        tkl_bytes queue = {name, queues[q]->name.len};
        name = (char *)memcpy(name, queues[q]->name.data, queue.len) + queue.len;
        for (int p = 0; p < queues[q]->npartitions; p++) {
            const tkl_reply *fields = tkl_reply_at(list->replies, at++);
            for (size_t i = 0; i + 1 < tkl_reply_count(fields); i += 2) {
                tkl_bytes field = tkl_reply_bytes(tkl_reply_at(fields, i));
                add_field(list, first, queue, field, tkl_reply_int(tkl_reply_at(fields, i + 1)));
            }
        }
        settle_kinds(list, first);
    }
}

/* Takes ownership of the replies. A field brings at most one kind. */
static int make_list(tkl_queue *const *queues, size_t count, tkl_reply *replies,
                     tkl_queue_kind_list **kinds)
{
    size_t names = 0, fields = 0;
    for (size_t i = 0; i < count; i++)
        names += queues[i]->name.len;
    for (size_t i = 0; i < tkl_reply_count(replies); i++)
        fields += tkl_reply_count(tkl_reply_at(replies, i)) / 2;
    kind_list *list = calloc(1, sizeof *list);
    if (!list) {
        tkl_reply_free(replies);
        return tkl__nomem();
    }
    list->replies = replies;
    list->names = malloc(names + 1);
    list->kinds = calloc(fields + 1, sizeof *list->kinds);
    if (!list->names || !list->kinds) {
        tkl_queue_kind_list_free(&list->public);
        return tkl__nomem();
    }
    read_answers(list, queues, count);
    list->public.items = list->kinds;
    *kinds = &list->public;
    return TKL_OK;
}

int tkl_queue_times(tkl_queue *const *queues, size_t count, tkl_queue_kind_list **kinds)
{
    tkl_reply *replies = NULL;
    *kinds = NULL;
    int rc = tkl__queue_run_on_queues(queues, count, &tkl__lua_queue_times, &replies);
    return rc == TKL_OK ? make_list(queues, count, replies, kinds) : rc;
}
