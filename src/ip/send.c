/* SPDX-License-Identifier: MIT
 *
 * Sending a generation: places and chunks in pipelines, then the switch.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/script.h"
#include "ip/import.h"
#include "ip/scripts.h"

enum {
    CHUNK_RANGES = 64,
    CHUNK_MAX = TKL__IP_SIZE + 1 + CHUNK_RANGES * (2 * TKL__IP_SIZE + 4),
    AT_ONCE = 32,             /* chunks or places of one command */
    TRIP_BYTES = 1024 * 1024, /* of one pipeline, about */
    NUMBER_SIZE = 4,
    TABLE = 0, /* keys */
    RANGES,
    PLACES,
};
#define STAGING_MS "120000"

typedef struct sending {
    tkl_ip_import *import;
    tkl_client *client;
    char generation[TKL__IP_GENERATION_SIZE];
    tkl__keys keys; /* table, ranges and places of the new generation */
    tkl_pipeline *pipeline;
    size_t bytes;  /* in the pipeline */
    size_t chunks; /* made so far */
} sending;

/* ---- Chunks and places --------------------------------------------------- */

static size_t shared_bytes(const tkl__ip_row *first, const tkl__ip_row *last)
{
    size_t shared = 0;
    while (shared < TKL__IP_SIZE && first->span.first[shared] == last->span.last[shared])
        shared++;
    return shared;
}

static void put_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < NUMBER_SIZE; i++)
        at[i] = (unsigned char)(number >> (24 - 8 * i));
}

/* See ip.c. Returns its length. */
static size_t make_chunk(const tkl__ip_row *rows, size_t count, unsigned char chunk[CHUNK_MAX])
{
    size_t shared = shared_bytes(&rows[0], &rows[count - 1]), rest = TKL__IP_SIZE - shared;
    unsigned char *at = chunk;
    memcpy(at, rows[0].span.first, TKL__IP_SIZE);
    at += TKL__IP_SIZE;
    *at++ = (unsigned char)shared;
    for (size_t i = 0; i < count; i++) {
        memcpy(at, rows[i].span.first + shared, rest);
        memcpy(at + rest, rows[i].span.last + shared, rest);
        put_number(at + 2 * rest, rows[i].spot);
        at += 2 * rest + NUMBER_SIZE;
    }
    return (size_t)(at - chunk);
}

/* The rows of chunk `index`; their number. */
static size_t chunk_rows(const tkl_ip_import *import, size_t index, const tkl__ip_row **rows)
{
    size_t from = index * CHUNK_RANGES, left = import->count - from;
    *rows = &import->rows[from];
    return left < CHUNK_RANGES ? left : CHUNK_RANGES;
}

static size_t chunk_count(const tkl_ip_import *import)
{
    return (import->count + CHUNK_RANGES - 1) / CHUNK_RANGES;
}

/* What the places file says, and where the range says more, that. */
static void pack_spot(const tkl_ip_import *import, uint32_t number, tkl__buf *out)
{
    tkl_ip_place spot, place;
    tkl__ip_unpack(tkl__intern_at(&import->spots, number), &spot);
    uint32_t known = tkl__intern_find(&import->ids, spot.id);
    if (known != TKL__INTERN_NONE) {
        tkl__ip_unpack(tkl__intern_at(&import->places, known), &place);
        for (int f = 0; f < TKL__IP_FIELDS; f++)
            if (tkl__ip_field(&spot, f)->len == 0)
                *tkl__ip_field(&spot, f) = *tkl__ip_field(&place, f);
    }
    tkl__ip_pack(&spot, out);
}

/* ---- Trips --------------------------------------------------------------- */

static int first_error(const tkl_reply *replies)
{
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (tkl_reply_code(reply) != TKL_OK)
            return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    }
    return TKL_OK;
}

static int add_expiry(sending *s, int key)
{
    const char *argv[] = {"PEXPIRE", s->keys.items[key].data, STAGING_MS};
    const size_t lens[] = {7, s->keys.items[key].len, strlen(STAGING_MS)};
    return tkl_pipeline_add(s->pipeline, 3, argv, lens);
}

/* Sends what is in the pipeline. */
static int flush(sending *s)
{
    tkl_call_options safe = {.timeout_ms = s->import->ip->timeout_ms, .retry_safe = true};
    tkl_reply *replies = NULL;
    if (s->bytes == 0)
        return TKL_OK;
    int rc = add_expiry(s, RANGES);
    if (rc == TKL_OK)
        rc = add_expiry(s, PLACES);
    if (rc == TKL_OK)
        rc = tkl_pipeline_run(s->pipeline, &safe, &replies);
    if (rc == TKL_OK)
        rc = first_error(replies);
    tkl_reply_free(replies);
    s->bytes = 0;
    tkl__ip_tell_progress(s->import);
    return rc;
}

/* Adds a command "verb key item...". */
static int add_command(sending *s, const char *verb, int key, const tkl_bytes *items, size_t count)
{
    const char *argv[2 + 2 * AT_ONCE] = {verb, s->keys.items[key].data};
    size_t lens[2 + 2 * AT_ONCE] = {strlen(verb), s->keys.items[key].len};
    for (size_t i = 0; i < count; i++) {
        argv[2 + i] = items[i].data;
        lens[2 + i] = items[i].len;
        s->bytes += items[i].len;
    }
    int rc = tkl_pipeline_add(s->pipeline, (int)(2 + count), argv, lens);
    return rc == TKL_OK && s->bytes >= TRIP_BYTES ? flush(s) : rc;
}

static int send_chunks(sending *s)
{
    unsigned char chunks[AT_ONCE][CHUNK_MAX];
    tkl_bytes items[2 * AT_ONCE];
    size_t total = chunk_count(s->import);
    int rc = TKL_OK;
    for (size_t next = 0; rc == TKL_OK && next < total;) {
        size_t count = 0;
        for (; count < AT_ONCE && next < total; count++, next++) {
            const tkl__ip_row *rows;
            size_t some = chunk_rows(s->import, next, &rows);
            items[2 * count] = tkl_str("0");
            items[2 * count + 1] =
                (tkl_bytes){(char *)chunks[count], make_chunk(rows, some, chunks[count])};
            s->import->progress.sent += some;
        }
        rc = add_command(s, "ZADD", RANGES, items, 2 * count);
    }
    return rc;
}

/* A command with the places from `from` on. */
static int send_some_places(sending *s, uint32_t from, uint32_t count)
{
    unsigned char numbers[AT_ONCE][NUMBER_SIZE];
    size_t starts[AT_ONCE + 1] = {0};
    tkl_bytes items[2 * AT_ONCE];
    tkl__buf text;
    tkl__buf_init(&text);
    for (uint32_t i = 0; i < count; i++) {
        pack_spot(s->import, from + i, &text);
        starts[i + 1] = text.len;
    }
    for (uint32_t i = 0; i < count; i++) {
        put_number(numbers[i], from + i);
        items[2 * i] = (tkl_bytes){(char *)numbers[i], NUMBER_SIZE};
        items[2 * i + 1] = (tkl_bytes){text.data + starts[i], starts[i + 1] - starts[i]};
    }
    int rc = text.failed ? tkl__nomem() : add_command(s, "HSET", PLACES, items, 2 * count);
    tkl__buf_free(&text);
    return rc;
}

static int send_places(sending *s)
{
    uint32_t total = s->import->spots.count;
    int rc = TKL_OK;
    for (uint32_t from = 0; rc == TKL_OK && from < total; from += AT_ONCE)
        rc = send_some_places(s, from, total - from < AT_ONCE ? total - from : AT_ONCE);
    return rc;
}

/* ---- A generation -------------------------------------------------------- */

/* The first chunk and the first place, with an expiry from the beginning. */
static int send_first(sending *s)
{
    unsigned char chunk[CHUNK_MAX], number[NUMBER_SIZE];
    const tkl__ip_row *rows;
    size_t count = chunk_rows(s->import, 0, &rows);
    tkl__keys keys = {&s->keys.items[RANGES], 2};
    tkl__buf fields;
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__buf_init(&fields);
    pack_spot(s->import, 0, &fields);
    put_number(number, 0);
    tkl__args_init(&args);
    tkl__args_str(&args, STAGING_MS);
    tkl__args_bytes(&args, (tkl_bytes){(char *)chunk, make_chunk(rows, count, chunk)});
    tkl__args_bytes(&args, (tkl_bytes){(char *)number, NUMBER_SIZE});
    tkl__args_bytes(&args, (tkl_bytes){fields.data, fields.len});
    int rc = fields.failed
                 ? tkl__nomem()
                 : tkl__eval(s->client, &tkl__lua_ip_begin, &keys, &args,
                             tkl__deadline(s->client, s->import->ip->timeout_ms), true, &reply);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    tkl__buf_free(&fields);
    return rc;
}

/* *again: the table has another generation than this handle knew. */
static int switch_once(sending *s, int64_t deadline, bool *again)
{
    char former[TKL__IP_GENERATION_SIZE];
    const char *generations[] = {s->generation, former};
    tkl__keys keys;
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__ip_generation(s->import->ip, former);
    int rc = tkl__ip_keys(s->import->ip, generations, 2, &keys);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, s->generation);
    tkl__args_str(&args, former);
    tkl__args_int(&args, (int64_t)chunk_count(s->import));
    tkl__args_int(&args, (int64_t)s->import->spots.count);
    tkl__args_int(&args, (int64_t)s->import->count);
    rc = tkl__eval(s->client, &tkl__lua_ip_switch, &keys, &args, deadline, true, &reply);
    *again = rc == TKL_OK && tkl_reply_kind(reply) == TKL_REPLY_STRING;
    if (*again)
        rc = tkl__ip_learn(s->import->ip, tkl_reply_bytes(reply));
    else if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__fail(TKL_ELOST, "part of the new table was lost on the server meanwhile");
    tkl_reply_free(reply);
    tkl__args_free(&args);
    tkl__keys_free(&keys);
    return rc;
}

static int switch_over(sending *s)
{
    int64_t deadline = tkl__deadline(s->client, s->import->ip->timeout_ms);
    bool again = true;
    int rc = TKL_OK;
    while (rc == TKL_OK && again)
        rc = switch_once(s, deadline, &again);
    if (rc == TKL_OK)
        rc = tkl__ip_learn(s->import->ip, tkl_str(s->generation));
    return rc;
}

/* After a failure. When the outcome of the switch is unknown, what was sent may be the table by
 * now: then it stays, and expires unless it is. */
static void remove_sent(sending *s, int rc)
{
    const char *argv[] = {"UNLINK", s->keys.items[RANGES].data, s->keys.items[PLACES].data};
    const size_t lens[] = {6, s->keys.items[RANGES].len, s->keys.items[PLACES].len};
    char text[512];
    if (tkl_is_unknown(rc))
        return;
    strncpy(text, tkl_errmsg(), sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tkl_call(s->client, 3, argv, lens, NULL, NULL);
    tkl__fail(rc, "%s", text); /* the failure is what the caller wants to know about */
}

static void make_generation(char generation[TKL__IP_GENERATION_SIZE])
{
    unsigned char random[(TKL__IP_GENERATION_SIZE - 1) / 2];
    tkl__random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++) {
        generation[2 * i] = "0123456789abcdef"[random[i] >> 4];
        generation[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
    }
    generation[TKL__IP_GENERATION_SIZE - 1] = '\0';
}

static int send_all(sending *s)
{
    int rc = send_first(s);
    if (rc == TKL_OK)
        rc = send_places(s);
    if (rc == TKL_OK)
        rc = send_chunks(s);
    if (rc == TKL_OK)
        rc = flush(s);
    return rc == TKL_OK ? switch_over(s) : rc;
}

int tkl__ip_send(tkl_ip_import *import)
{
    sending s = {.import = import, .client = import->ip->client};
    const char *generations[] = {s.generation};
    make_generation(s.generation);
    int rc = tkl__ip_keys(import->ip, generations, 1, &s.keys);
    if (rc != TKL_OK)
        return rc;
    rc = tkl_pipeline_open(s.client, &s.pipeline);
    if (rc == TKL_OK) {
        rc = send_all(&s);
        if (rc != TKL_OK)
            remove_sent(&s, rc);
    }
    tkl_pipeline_close(s.pipeline);
    tkl__keys_free(&s.keys);
    return rc;
}
