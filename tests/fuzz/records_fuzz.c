/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a record that components keep on the server, where another program may have written
 * it. The first byte chooses the kind of record; all that is read must lie inside of the bytes.
 * Records without a reader of their own are part of replies: verbs_fuzz has them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "book/book.h"
#include "online/online.h"
#include "queue/record.h"
#include "queue/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

/* Reads every byte of a view, for the sanitizer, and checks that the view lies inside of the
 * record. */
static void walk(tkl_bytes whole, tkl_bytes part)
{
    if (part.len > 0 && (part.data < whole.data || part.len > whole.len ||
                         part.data + part.len > whole.data + whole.len))
        abort();
    for (size_t i = 0; i < part.len; i++)
        sink += (uint8_t)part.data[i];
}

/* Checks that a record that was read can be written, and then reads the same. */
static void write_again(const tkl__queue_record *record)
{
    tkl_push job = {.payload = record->payload,
                    .unique = record->unique,
                    .group = record->group,
                    .meta = record->meta,
                    .priority = record->priority,
                    .retries = record->retries == 0 ? TKL_NONE : record->retries};
    tkl__queue_record again;
    tkl__buf text;
    tkl__buf_init(&text);
    tkl__queue_record_encode(&text, &job, record->flow);
    if (!tkl__queue_record_decode((tkl_bytes){text.data, text.len}, &again) ||
        again.priority != record->priority || again.retries != record->retries ||
        again.payload.len != record->payload.len || again.group.len != record->group.len)
        abort();
    tkl__buf_free(&text);
}

static void read_job(tkl_bytes bytes)
{
    tkl__queue_record record;
    if (!tkl__queue_record_decode(bytes, &record))
        return;
    walk(bytes, record.unique);
    walk(bytes, record.group);
    walk(bytes, record.meta);
    walk(bytes, record.payload);
    write_again(&record);
}

static void read_history(tkl_bytes bytes)
{
    tkl__queue_history history = tkl__queue_history_read(bytes);
    walk(bytes, history.error);
    if (history.failures < 0)
        abort();
}

static void read_schedule(tkl_bytes bytes)
{
    tkl__queue_planned planned;
    int64_t next_ms;
    bool fires;
    if (!tkl__queue_planned_decode(bytes, &planned))
        return;
    walk(bytes, planned.cron);
    walk(bytes, planned.zone);
    walk(bytes, planned.beginning);
    walk(bytes, planned.record);
    if (tkl__queue_planned_next(&planned, INT64_C(1800000000000), &next_ms, &fires) == TKL_OK)
        sink += (uint64_t)next_ms + fires;
}

static void read_entry(tkl_bytes whole, const tkl__book_member *member)
{
    tkl_book_answer answer = {0};
    char *store = malloc(member->entry.len + 1);
    if (!store)
        return;
    walk(whole, member->key);
    walk(whole, member->entry);
    if (tkl__book_entry_read(member->entry, store, &answer) > member->entry.len)
        abort();
    for (size_t i = 0; i < answer.text.len; i++)
        sink += (uint8_t)answer.text.data[i];
    for (size_t i = 0; i < answer.id.len; i++)
        sink += (uint8_t)answer.id.data[i];
    free(store);
}

static void read_member(tkl_bytes bytes)
{
    tkl__book_member member;
    if (tkl__book_member_read(bytes, &member))
        read_entry(bytes, &member);
}

static void read_part(tkl_bytes bytes)
{
    tkl__book_member member;
    if (tkl__book_part_read(bytes, &member))
        read_entry(bytes, &member);
}

static void read_shape(tkl_bytes bytes)
{
    tkl__online_shape shape, again;
    char text[TKL__ONLINE_SHAPE_SIZE];
    if (!tkl__online_shape_read(bytes, &shape))
        return;
    tkl__online_shape_text(&shape, text);
    if (!tkl__online_shape_read(tkl_str(text), &again) || again.keep_days != shape.keep_days)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(tkl_bytes) = {read_job,    read_history, read_schedule,
                                                 read_member, read_part,    read_shape};
    if (size == 0)
        return 0;
    char *copy = malloc(size > 1 ? size - 1 : 1); /* a byte beyond it is noticed */
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    readers[data[0] % (sizeof readers / sizeof *readers)]((tkl_bytes){copy, size - 1});
    free(copy);
    return 0;
}
