/* SPDX-License-Identifier: MIT
 *
 * Books: adding, removing, renaming.
 *
 * A batch is divided among runs of the script that take the server a few milliseconds at most; all
 * runs are sent in one round trip.
 */
#include <stdlib.h>

#include "book/book.h"
#include "book/scripts.h"
#include "core/error.h"

/* Limits of one run: entries, and members that they add. */
#define RUN_ENTRIES 200
#define RUN_COST    500
/* An entry with an id replaces the old entry of that id, which only the server knows. In books with
 * forms or parts that may be as much work again, or more. */
#define UNKNOWN_COST (RUN_COST / 4)

/* A batch, prepared for the server. */
typedef struct batch {
    tkl_book *book;
    const tkl_book_entry *entries;
    size_t count;
    bool removal;
    unsigned settings;
    tkl__buf store;
    tkl__book_record *records;
} batch;

static int check_all(const tkl_book_entry *entries, size_t count, bool removal)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = tkl__book_check(&entries[i], i);
        if (rc == TKL_OK && !removal && entries[i].text.len == 0)
            rc = tkl__fail(TKL_EINVAL, "entry %zu has no text", i);
    }
    return rc;
}

/* ---- Runs ---------------------------------------------------------------- */

static int make_records(batch *b)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < b->count; i++)
        rc = tkl__book_make_record(&b->entries[i], b->settings, &b->store, &b->records[i]);
    return rc;
}

static void begin_run(batch *b, tkl__args *run)
{
    tkl__args_init(run);
    tkl__args_str(run, tkl__book_settings_text(b->settings));
    tkl__args_int(run, b->book->options.ttl_ms);
}

static void add_to_run(batch *b, size_t i, tkl__args *run)
{
    const tkl__book_record *r = &b->records[i];
    tkl_bytes entry = {b->store.data + r->entry, r->entry_len};
    tkl_bytes forms = {b->store.data + r->forms, r->forms_len}, none = {"", 0};
    tkl_bytes id = b->entries[i].id;
    if (b->removal) {
        tkl__args_bytes(run, id.len ? id : none);
        tkl__args_bytes(run, id.len ? none : entry);
        return;
    }
    tkl__args_bytes(run, entry);
    tkl__args_bytes(run, id.len ? id : none);
    tkl__args_bytes(run, forms);
}

static size_t cost_of(const batch *b, size_t i)
{
    bool unknown = b->entries[i].id.len > 0 && b->settings != 0;
    return b->records[i].cost + (unknown ? UNKNOWN_COST : 0);
}

/* Returns the end of the run that begins with this entry. */
static size_t end_of_run(const batch *b, size_t first)
{
    size_t end = first, cost = 0;
    do
        cost += cost_of(b, end++);
    while (end < b->count && end - first < RUN_ENTRIES && cost + cost_of(b, end) <= RUN_COST);
    return end;
}

/* Sends the runs and adds up their replies. *again: the book has other settings. */
static int send_runs(batch *b, bool retry_safe, int64_t *number, bool *again)
{
    const tkl__script *script = b->removal ? &tkl__lua_book_remove : &tkl__lua_book_add;
    const tkl_reply *other = NULL;
    tkl__batch runs;
    tkl__batch_init(&runs, b->book->client);
    for (size_t i = 0; i < b->count;) {
        tkl__args run;
        begin_run(b, &run);
        for (size_t end = end_of_run(b, i); i < end; i++)
            add_to_run(b, i, &run);
        tkl__batch_eval(&runs, script, &b->book->keys, &run, retry_safe);
        tkl__args_free(&run);
    }
    int rc = tkl__batch_run(&runs, tkl__book_deadline(b->book));
    if (rc == TKL_OK)
        tkl__batch_sum(&runs, number, &other);
    *again = other != NULL;
    if (other)
        rc = tkl__book_learn(b->book, tkl_reply_bytes(other));
    tkl__batch_free(&runs);
    return rc;
}

static int run_once(batch *b, int64_t *number, bool counted, bool *again)
{
    b->settings = atomic_load(&b->book->settings);
    tkl__buf_init(&b->store);
    b->records = calloc(b->count, sizeof *b->records);
    int rc = b->records ? make_records(b) : tkl__nomem();
    if (rc == TKL_OK)
        rc = send_runs(b, !counted, number, again);
    tkl__buf_free(&b->store);
    free(b->records);
    return rc;
}

static int run_batch(tkl_book *book, const tkl_book_entry *entries, size_t count, bool removal,
                     int64_t *number)
{
    batch b = {.book = book, .entries = entries, .count = count, .removal = removal};
    int64_t sum = 0;
    bool again = true;
    if (number)
        *number = 0;
    int rc = check_all(entries, count, removal);
    if (rc != TKL_OK || count == 0)
        return rc;
    for (int i = 0; rc == TKL_OK && again && i < TKL__BOOK_TRIES; i++) {
        again = false;
        rc = run_once(&b, &sum, number != NULL, &again);
    }
    if (number)
        *number = sum;
    return rc == TKL_OK && again ? tkl__no(TKL_CONFLICT) : rc;
}

int tkl_book_add(tkl_book *book, const tkl_book_entry *entries, size_t count, int64_t *added)
{
    return run_batch(book, entries, count, false, added);
}

int tkl_book_remove(tkl_book *book, const tkl_book_entry *entries, size_t count, int64_t *removed)
{
    return run_batch(book, entries, count, true, removed);
}

/* ---- Renaming ------------------------------------------------------------ */

typedef struct renaming {
    tkl_book *book;
    tkl_book_entry from, to;
    tkl__buf store;
} renaming;

static int make_renaming(void *arg, unsigned settings, tkl__args *args)
{
    renaming *r = arg;
    tkl__book_record from = {0}, to = {0};
    tkl__buf_clear(&r->store);
    int rc = tkl__book_make_record(&r->from, settings, &r->store, &from);
    if (rc == TKL_OK)
        rc = tkl__book_make_record(&r->to, settings, &r->store, &to);
    tkl__args_int(args, r->book->options.ttl_ms);
    tkl__args_bytes(args, r->from.id.len ? r->from.id : tkl_str(""));
    tkl__args_bytes(args, (tkl_bytes){r->store.data + from.entry, from.entry_len});
    tkl__args_bytes(args, (tkl_bytes){r->store.data + to.entry, to.entry_len});
    tkl__args_bytes(args, (tkl_bytes){r->store.data + to.forms, to.forms_len});
    return rc;
}

int tkl_book_rename(tkl_book *book, const tkl_book_entry *entry, tkl_bytes text)
{
    renaming r = {.book = book, .from = *entry, .to = {.id = entry->id, .text = text}};
    tkl_reply *reply;
    int rc = tkl__book_check(&r.from, 0);
    if (rc == TKL_OK)
        rc = check_all(&r.to, 1, false);
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&r.store);
    rc = tkl__book_ask(book, &tkl__lua_book_rename, make_renaming, &r, false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) != TKL_OK)
        rc = tkl__no((int)tkl_reply_int(reply));
    tkl__buf_free(&r.store);
    tkl_reply_free(reply);
    return rc;
}
