/* SPDX-License-Identifier: MIT
 *
 * The messages that readers get: from the reply of a fetch, or from a notification.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/reply.h"
#include "post/post.h"

/* ---- Messages of a fetch ------------------------------------------------- */

typedef struct fetched {
    tkl_messages public;
    tkl_reply *reply; /* NULL: the caller owns it */
    tkl_message items[];
} fetched;

/* The number of headers: pairs behind sender and body in the fields of an entry. */
static size_t headers_of(const tkl_reply *entry)
{
    size_t words = tkl_reply_count(tkl_reply_at(entry, 1));
    return words > 4 ? (words - 4) / 2 : 0;
}

/* Allocates the messages, and behind them room for all their headers. */
static fetched *allocate_messages(const tkl_reply *entries)
{
    size_t count = tkl_reply_count(entries), headers = 0;
    for (size_t i = 0; i < count; i++)
        headers += headers_of(tkl_reply_at(entries, i));
    return calloc(1, sizeof(fetched) + count * sizeof(tkl_message) + headers * sizeof(tkl_header));
}

static void read_entry(const tkl_reply *entry, tkl_message *message, tkl_header *headers)
{
    const tkl_reply *fields = tkl_reply_at(entry, 1);
    message->id = strtoll(tkl_reply_str(tkl_reply_at(entry, 0)), NULL, 10);
    message->sender = tkl_reply_bytes(tkl_reply_at(fields, 1));
    message->body = tkl_reply_bytes(tkl_reply_at(fields, 3));
    message->header_count = headers_of(entry);
    message->headers = message->header_count > 0 ? headers : NULL;
    for (size_t i = 0; i < message->header_count; i++) {
        headers[i].name = tkl_reply_bytes(tkl_reply_at(fields, 4 + 2 * i));
        headers[i].value = tkl_reply_bytes(tkl_reply_at(fields, 5 + 2 * i));
    }
}

int tkl__post_messages_make(tkl_reply *reply, bool owned, tkl_messages **messages)
{
    const tkl_reply *marks = tkl_reply_at(reply, TKL__FETCHED_MARKS);
    const tkl_reply *entries = tkl_reply_at(reply, TKL__FETCHED_ENTRIES);
    size_t count = tkl_reply_count(entries);
    fetched *f = allocate_messages(entries);
    if (!f)
        return tkl__nomem();
    tkl_header *headers = (tkl_header *)(f->items + count);
    for (size_t i = 0; i < count; i++) {
        read_entry(tkl_reply_at(entries, i), &f->items[i], headers);
        f->items[i].time_ms = tkl_reply_int(tkl_reply_at(marks, 2 * i));
        headers += f->items[i].header_count;
    }
    f->reply = owned ? reply : NULL;
    f->public.items = f->items;
    f->public.count = count;
    f->public.missed = tkl_reply_int(tkl_reply_at(reply, TKL__FETCHED_MISSED));
    f->public.unread = tkl_reply_int(tkl_reply_at(reply, TKL__FETCHED_UNREAD));
    *messages = &f->public;
    return TKL_OK;
}

void tkl_messages_free(tkl_messages *messages)
{
    fetched *f = (fetched *)messages;
    if (f)
        tkl_reply_free(f->reply);
    free(f);
}

/* ---- The message of a notification --------------------------------------- */

tkl__post_caught_up tkl__post_read_caught_up(const tkl_reply *reply)
{
    return (tkl__post_caught_up){
        .is_so = tkl_reply_int(tkl_reply_at(reply, TKL__FETCHED_UNREAD)) == 0,
        .last = tkl__reply_number(tkl_reply_at(reply, TKL__FETCHED_LAST)),
        .missed = tkl_reply_int(tkl_reply_at(reply, TKL__FETCHED_MISSED)),
    };
}

enum { WORDS_MAX = 2 + 2 * TKL_HEADERS_MAX };

/* A notification; see letters.publish(). */
typedef struct note {
    int64_t id, time_ms;
    size_t words; /* sender, body, headers */
    size_t lengths[WORDS_MAX];
    const char *bytes; /* the bytes of all words, side by side */
} note;

/* Reads a number and the separator behind it, and moves *at behind both. */
static bool read_number(const char **at, const char *end, int64_t *number, char *sign)
{
    const char *begin = *at;
    *number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
        if (*number < INT64_MAX / 100)
            *number = *number * 10 + (**at - '0');
    if (*at == begin || *at == end)
        return false;
    *sign = *(*at)++;
    return *sign == ' ' || *sign == '\n';
}

/* False when the text is not a message: a change without one, or a text of another program. */
static bool read_note(tkl_bytes text, note *n)
{
    const char *at = text.data, *end = at + text.len;
    char sign;
    int64_t length;
    size_t sum = 0;
    *n = (note){0};
    if (!read_number(&at, end, &n->id, &sign) || sign != ' ' ||
        !read_number(&at, end, &n->time_ms, &sign))
        return false;
    while (sign == ' ') {
        if (n->words == WORDS_MAX || !read_number(&at, end, &length, &sign) || length > end - at)
            return false;
        n->lengths[n->words++] = (size_t)length;
        sum += (size_t)length;
    }
    n->bytes = at;
    return n->words >= 2 && n->words % 2 == 0 && sum == (size_t)(end - at);
}

/* Copies a word and adds a NUL behind it, as there is in replies. */
static tkl_bytes take_word(const note *n, size_t index, const char **from, char **to)
{
    tkl_bytes word = {*to, n->lengths[index]};
    memcpy(*to, *from, word.len);
    (*to)[word.len] = '\0';
    *from += word.len;
    *to += word.len + 1;
    return word;
}

static fetched *make_notified(const note *n, size_t len)
{
    size_t count = n->words / 2 - 1;
    fetched *f =
        calloc(1, sizeof *f + sizeof *f->items + count * sizeof(tkl_header) + len + n->words);
    if (!f)
        return NULL;
    tkl_header *headers = (tkl_header *)(f->items + 1);
    char *to = (char *)(headers + count);
    const char *from = n->bytes;
    tkl_message *message = &f->items[0];
    *message = (tkl_message){.id = n->id, .time_ms = n->time_ms, .header_count = count};
    message->sender = take_word(n, 0, &from, &to);
    message->body = take_word(n, 1, &from, &to);
    message->headers = count > 0 ? headers : NULL;
    for (size_t i = 0; i < count; i++) {
        headers[i].name = take_word(n, 2 + 2 * i, &from, &to);
        headers[i].value = take_word(n, 3 + 2 * i, &from, &to);
    }
    return f;
}

/* Whether the member sent the message: the sender is its first word. */
static bool is_sent_by(const note *n, const tkl_bytes *member)
{
    return member && tkl__same_bytes(*member, (tkl_bytes){n->bytes, n->lengths[0]});
}

int tkl__post_notified(const tkl__post_caught_up *reader, const tkl_bytes *member, tkl_bytes text,
                       tkl_messages **messages)
{
    note n;
    if (!reader->is_so || !read_note(text, &n) || n.id != reader->last + 1 ||
        is_sent_by(&n, member))
        return TKL_EMPTY;
    fetched *f = make_notified(&n, text.len);
    if (!f)
        return tkl__nomem();
    f->public =
        (tkl_messages){.items = f->items, .count = 1, .missed = reader->missed, .unread = 1};
    *messages = &f->public;
    return TKL_OK;
}
