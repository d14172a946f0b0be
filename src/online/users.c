/* SPDX-License-Identifier: MIT
 *
 * Online users: walking over the users of a day.
 *
 * Sets and heartbeats are scanned (tackle/scan.h), 500 users a step. A bitmap is read in pieces of
 * 64 KB, chunk by chunk; one round trip finds the chunks that exist. For an assigned bitmap all
 * pieces are read first, then the hash of all numbers is scanned for users whose bits are set. A
 * step takes the server about half a millisecond.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tackle/scan.h>

#include "core/error.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "online/online.h"

#define PIECE 65536 /* bytes of a bitmap that are read at once */

struct tkl_online_users {
    tkl_online *online;
    int64_t timeout_ms, days_ago;
    bool begun;
    int over; /* TKL_OK, or the code with which the walk ended */
    tkl_online_kind kind;
    tkl_scan *scan;            /* scan of users; NULL for a plain bitmap */
    int64_t after_ms, till_ms; /* heartbeat: marks count if later than the first and not later than
                                  the second */
    /* For bitmaps: */
    tkl__keys keys;                      /* chunks of the day */
    int64_t lengths[TKL__ONLINE_CHUNKS]; /* bytes of each, when the walk began */
    char *bits[TKL__ONLINE_CHUNKS];      /* assigned bitmap: all bits of each chunk */
    int64_t chunk, start;                /* plain bitmap: position of `piece`; -1: none yet */
    tkl_reply *piece;
    size_t bit;      /* index of the next bit in the piece */
    char digits[24]; /* text of the last number */
};

/* ---- Opening ------------------------------------------------------------- */

int tkl_online_users_open(tkl_online *online, const tkl_online_users_options *options,
                          tkl_online_users **out)
{
    static const tkl_online_users_options defaults;
    const tkl_online_users_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"days_ago", o->days_ago, 0, TKL_ONLINE_KEEP_MAX});
    if (rc != TKL_OK)
        return rc;
    tkl_online_users *users = calloc(1, sizeof *users);
    if (!users)
        return tkl__nomem();
    users->online = online;
    users->timeout_ms = o->timeout_ms ? o->timeout_ms : online->timeout_ms;
    users->days_ago = o->days_ago;
    *out = users;
    return TKL_OK;
}

void tkl_online_users_close(tkl_online_users *users)
{
    if (!users)
        return;
    tkl_scan_close(users->scan);
    tkl_reply_free(users->piece);
    tkl__keys_free(&users->keys);
    for (int i = 0; i < TKL__ONLINE_CHUNKS; i++)
        free(users->bits[i]);
    free(users);
}

/* ---- Pieces of bitmaps --------------------------------------------------- */

/* Asks for the lengths of all chunks, in one round trip. */
static int measure_chunks(tkl_online_users *u)
{
    tkl__batch batch;
    tkl__batch_init(&batch, u->online->client);
    for (size_t i = 0; i < u->keys.count; i++)
        TKL__BATCH_WORDS(&batch, tkl_str("STRLEN"), u->keys.items[i]);
    int rc = tkl__batch_run(&batch, tkl__deadline(u->online->client, u->timeout_ms));
    for (size_t i = 0; rc == TKL_OK && i < u->keys.count; i++) {
        u->lengths[i] = tkl_reply_int(tkl__batch_reply(&batch, i));
        if (u->lengths[i] < 0 || u->lengths[i] > TKL__ONLINE_CHUNK / 8)
            rc = tkl__fail(TKL_EDAMAGED, "a bitmap is longer than tackle makes them");
    }
    tkl__batch_free(&batch);
    return rc;
}

static int read_piece(tkl_online_users *u, int64_t chunk, int64_t start, tkl_reply **reply)
{
    char first[24], last[24];
    tkl_bytes key = u->keys.items[chunk];
    snprintf(first, sizeof first, "%" PRId64, start);
    snprintf(last, sizeof last, "%" PRId64, start + PIECE - 1);
    const char *words[] = {"GETRANGE", key.data, first, last};
    const size_t lens[] = {8, key.len, strlen(first), strlen(last)};
    tkl_call_options how = {.timeout_ms = u->timeout_ms, .retry_safe = true};
    int rc = tkl_call(u->online->client, 4, words, lens, &how, reply);
    if (rc == TKL_OK &&
        (tkl_reply_type_of(*reply) != TKL_REPLY_STRING || tkl_reply_bytes(*reply).len > PIECE))
        rc = tkl__fail(TKL_EPROTO, "the server answered GETRANGE with something else");
    return rc;
}

static bool is_set(const char *bits, size_t bit)
{
    return ((unsigned char)bits[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

/* Reads the chunks of an assigned bitmap, each as a whole. */
static int load_bits(tkl_online_users *u)
{
    int rc = TKL_OK;
    for (int i = 0; rc == TKL_OK && i < TKL__ONLINE_CHUNKS; i++) {
        if (u->lengths[i] > 0 && !(u->bits[i] = calloc(1, (size_t)u->lengths[i])))
            rc = tkl__nomem();
        for (int64_t start = 0; rc == TKL_OK && start < u->lengths[i]; start += PIECE) {
            tkl_reply *reply = NULL;
            rc = read_piece(u, i, start, &reply);
            size_t room = (size_t)(u->lengths[i] - start), len = tkl_reply_bytes(reply).len;
            if (rc == TKL_OK && len > 0) /* it may have grown, or be gone by now */
                memcpy(u->bits[i] + start, tkl_reply_bytes(reply).data, len < room ? len : room);
            tkl_reply_free(reply);
        }
    }
    return rc;
}

/* ---- The first step ------------------------------------------------------ */

static int open_scan(tkl_online_users *u, tkl_bytes key)
{
    tkl_scan_options options = {.timeout_ms = u->timeout_ms, .key = key};
    return tkl_scan_open(u->online->client, &options, &u->scan);
}

static int begin_bits(tkl_online_users *u)
{
    static const char *const ids[] = {"ids"};
    tkl__keys keys;
    int rc = measure_chunks(u);
    u->chunk = 0;
    u->start = -1;
    if (rc != TKL_OK || u->kind == TKL_ONLINE_BITMAP)
        return rc;
    rc = load_bits(u);
    if (rc == TKL_OK)
        rc = tkl__keys_make(u->online->client, TKL__ONLINE_COMPONENT, u->online->name, ids, 1,
                            &keys);
    if (rc != TKL_OK)
        return rc;
    rc = open_scan(u, keys.items[0]);
    tkl__keys_free(&keys);
    return rc;
}

/* Finds the server's day, and opens the scan or the bitmap. */
static int begin_users(tkl_online_users *u)
{
    static const char *const no_parts[] = {""};
    tkl__online_today today;
    int rc = tkl__online_learn_time(u->online);
    if (rc == TKL_OK)
        rc = tkl__online_find_today(u->online, &today);
    if (rc == TKL_OK)
        rc = tkl__online_check_who(&today);
    if (rc == TKL_OK)
        rc = tkl__online_check_days(&today, u->days_ago + 1);
    if (rc != TKL_OK)
        return rc;
    u->begun = true;
    u->kind = today.shape.kind;
    u->after_ms = today.now_ms - today.shape.window_ms;
    u->till_ms = today.now_ms + today.shape.window_ms;
    tkl__online_days which = {u->days_ago, 1, 0, tkl__online_chunks(u->kind)};
    rc = tkl__online_keys(u->online, &today, no_parts, 0, &which, &u->keys);
    if (rc != TKL_OK)
        return rc;
    bool has_bits = u->kind == TKL_ONLINE_BITMAP || u->kind == TKL_ONLINE_ASSIGNED;
    return has_bits ? begin_bits(u) : open_scan(u, u->keys.items[0]);
}

/* ---- Users --------------------------------------------------------------- */

/* Reads the next piece that may have bits. TKL_EMPTY: there are no more. */
static int next_piece(tkl_online_users *u)
{
    u->start = u->start < 0 ? 0 : u->start + PIECE;
    while (u->chunk < TKL__ONLINE_CHUNKS && u->start >= u->lengths[u->chunk]) {
        u->chunk++;
        u->start = 0;
    }
    tkl_reply_free(u->piece);
    u->piece = NULL;
    u->bit = 0;
    return u->chunk < TKL__ONLINE_CHUNKS ? read_piece(u, u->chunk, u->start, &u->piece) : TKL_EMPTY;
}

static int next_number(tkl_online_users *u, tkl_bytes *user)
{
    for (;;) {
        tkl_bytes bits = tkl_reply_bytes(u->piece);
        for (; u->bit < 8 * bits.len; u->bit++) {
            if (!is_set(bits.data, u->bit))
                continue;
            int64_t number = u->chunk * TKL__ONLINE_CHUNK + u->start * 8 + (int64_t)u->bit++;
            snprintf(u->digits, sizeof u->digits, "%" PRId64, number);
            *user = tkl_str(u->digits);
            return TKL_OK;
        }
        int rc = next_piece(u);
        if (rc != TKL_OK)
            return rc;
    }
}

/* Whether the scanned user was there, according to the mark or number. */
static bool was_there(const tkl_online_users *u, double value)
{
    if (u->kind == TKL_ONLINE_HEARTBEAT)
        return value > (double)u->after_ms && value <= (double)u->till_ms;
    if (!(value >= 0 && value <= (double)TKL_ONLINE_ID_MAX))
        return false;
    int64_t chunk = (int64_t)value / TKL__ONLINE_CHUNK, bit = (int64_t)value % TKL__ONLINE_CHUNK;
    return bit < 8 * u->lengths[chunk] && is_set(u->bits[chunk], (size_t)bit);
}

static int next_scanned(tkl_online_users *u, tkl_bytes *user)
{
    tkl_scan_element element;
    int rc;
    while ((rc = tkl_scan_next(u->scan, &element)) == TKL_OK) {
        double value = 0;
        bool is_pair = element.value.data != NULL;
        if (is_pair == (u->kind == TKL_ONLINE_SET) ||
            (is_pair && !tkl__double_parse(element.value, &value)))
            return tkl__fail(TKL_EDAMAGED, "a key was not written by tackle");
        if (u->kind != TKL_ONLINE_SET && !was_there(u, value))
            continue;
        *user = element.name;
        return TKL_OK;
    }
    return rc;
}

int tkl_online_users_next(tkl_online_users *users, tkl_bytes *user)
{
    *user = (tkl_bytes){NULL, 0};
    int rc = users->over;
    if (rc < 0)
        return tkl__fail(rc, "the walk ended with an error: %s", tkl_strerror(rc));
    if (rc == TKL_OK && !users->begun)
        rc = begin_users(users);
    if (rc == TKL_OK)
        rc = users->scan ? next_scanned(users, user) : next_number(users, user);
    users->over = rc;
    return rc == TKL_EMPTY ? tkl__no(rc) : rc;
}
