/* SPDX-License-Identifier: MIT
 *
 * Sending a generation: chunks in pipelines, then the switch.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/rounds.h"
#include "ip/chunk.h"
#include "ip/import.h"
#include "ip/scripts.h"

enum {
    AT_ONCE = 32,             /* chunks per command */
    TRIP_BYTES = 1024 * 1024, /* bytes of one pipeline, about */
    RANGES = 1,               /* index of the key */
};
#define STAGING_MS "120000"

typedef struct sending {
    tkl_ip_import *import;
    tkl_client *client;
    char generation[TKL__IP_GENERATION_SIZE];
    tkl__keys keys; /* table, and ranges of the new generation */
    tkl__batch batch;
    size_t bytes; /* bytes of chunks in the batch */
} sending;

/* ---- Chunks -------------------------------------------------------------- */

static size_t chunk_count(const tkl_ip_import *import)
{
    return (import->count + TKL__CHUNK_RANGES - 1) / TKL__CHUNK_RANGES;
}

/* Packs the fields of the places file; the fields of the range take precedence. */
static void pack_spot(void *arg, uint32_t number, tkl__buf *out)
{
    const tkl_ip_import *import = arg;
    tkl_ip_place spot, place;
    tkl__ip_unpack(tkl__ip_intern_at(&import->spots, number), &spot);
    uint32_t known = tkl__ip_intern_find(&import->ids, spot.id);
    if (known != TKL__INTERN_NONE) {
        tkl__ip_unpack(tkl__ip_intern_at(&import->places, known), &place);
        for (int f = 0; f < TKL__IP_FIELDS; f++)
            if (tkl__ip_field(&spot, f)->len == 0)
                *tkl__ip_field(&spot, f) = *tkl__ip_field(&place, f);
    }
    tkl__ip_pack(&spot, out);
}

/* Appends the chunk with this index. Returns its number of ranges. */
static size_t write_chunk(tkl_ip_import *import, size_t index, tkl__buf *out)
{
    tkl__ip_chunk_range ranges[TKL__CHUNK_RANGES];
    size_t from = index * TKL__CHUNK_RANGES, count = import->count - from;
    if (count > TKL__CHUNK_RANGES)
        count = TKL__CHUNK_RANGES;
    for (size_t i = 0; i < count; i++)
        ranges[i] =
            (tkl__ip_chunk_range){&import->rows[from + i].span, import->rows[from + i].spot};
    tkl__ip_chunk_write(ranges, count, pack_spot, import, out);
    return count;
}

/* ---- Round trips --------------------------------------------------------- */

/* Sends the batch. */
static int flush_batch(sending *s)
{
    if (s->bytes == 0)
        return TKL_OK;
    TKL__BATCH_WORDS(&s->batch, tkl_str("PEXPIRE"), s->keys.items[RANGES], tkl_str(STAGING_MS));
    int rc = tkl__batch_run(&s->batch, tkl__deadline(s->client, s->import->options.timeout_ms));
    tkl__batch_clear(&s->batch);
    s->bytes = 0;
    tkl__ip_tell_progress(s->import);
    return rc;
}

/* Adds "ZADD key 0 chunk 0 chunk ..."; `ends`: the end of each chunk in the text. */
static int add_command(sending *s, const tkl__buf *text, const size_t *ends, size_t count)
{
    tkl_bytes words[2 + 2 * AT_ONCE] = {tkl_str("ZADD"), s->keys.items[RANGES]};
    for (size_t i = 0; i < count; i++) {
        size_t start = i == 0 ? 0 : ends[i - 1];
        words[2 + 2 * i] = tkl_str("0");
        words[3 + 2 * i] = (tkl_bytes){text->data + start, ends[i] - start};
    }
    s->bytes += text->len;
    tkl__batch_words(&s->batch, words, 2 + 2 * count, true);
    return s->bytes >= TRIP_BYTES ? flush_batch(s) : TKL_OK;
}

static int send_chunks(sending *s)
{
    size_t total = chunk_count(s->import), ends[AT_ONCE];
    tkl__buf text;
    int rc = TKL_OK;
    tkl__buf_init(&text);
    for (size_t next = 0; rc == TKL_OK && next < total;) {
        size_t count = 0;
        tkl__buf_clear(&text);
        for (; count < AT_ONCE && next < total; count++, next++) {
            s->import->progress.sent += write_chunk(s->import, next, &text);
            ends[count] = text.len;
        }
        rc = text.failed ? tkl__nomem() : add_command(s, &text, ends, count);
    }
    tkl__buf_free(&text);
    return rc;
}

/* ---- A generation -------------------------------------------------------- */

/* Sends the first chunk, with an expiry from the beginning. */
static int send_first(sending *s)
{
    tkl__buf chunk;
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__buf_init(&chunk);
    write_chunk(s->import, 0, &chunk);
    tkl__args_init(&args);
    tkl__args_str(&args, STAGING_MS);
    tkl__args_bytes(&args, (tkl_bytes){chunk.data, chunk.len});
    int rc = chunk.failed
                 ? tkl__nomem()
                 : tkl__eval(s->client, &tkl__lua_ip_begin, &s->keys, &args,
                             tkl__deadline(s->client, s->import->options.timeout_ms), true, &reply);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    tkl__buf_free(&chunk);
    return rc;
}

/* Switches the table. *again: the table has another generation than this handle knew. */
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
    tkl__args_int(&args, (int64_t)s->import->count);
    tkl__args_int(&args, (int64_t)s->import->stats.places);
    rc = tkl__eval(s->client, &tkl__lua_ip_switch, &keys, &args, deadline, true, &reply);
    *again = rc == TKL_OK && tkl_reply_type_of(reply) == TKL_REPLY_STRING;
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
    int64_t deadline = tkl__deadline(s->client, s->import->options.timeout_ms);
    bool again = true;
    tkl__rounds rounds = {.idle = 0};
    int rc = switch_once(s, deadline, &again);
    while (rc == TKL_OK && again) {
        rc = tkl__next_round(&rounds, s->client, s->import->options.timeout_ms, false);
        if (rc == TKL_OK)
            rc = switch_once(s, deadline, &again);
    }
    if (rc == TKL_OK)
        rc = tkl__ip_learn(s->import->ip, tkl_str(s->generation));
    return rc;
}

/* Removes the sent generation after a failure. If the outcome of the switch is unknown, it may be
 * the current one by now: then it stays, and expires unless it is. */
static void remove_sent(sending *s, int rc)
{
    const char *argv[] = {"UNLINK", s->keys.items[RANGES].data};
    const size_t lens[] = {6, s->keys.items[RANGES].len};
    char text[512];
    if (tkl_is_unknown(rc))
        return;
    strncpy(text, tkl_errmsg(), sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tkl_call(s->client, 2, argv, lens,
             &(tkl_call_options){.timeout_ms = s->import->options.timeout_ms}, NULL);
    tkl__fail(rc, "%s", text); /* keep the original failure for the caller */
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
        rc = send_chunks(s);
    if (rc == TKL_OK)
        rc = flush_batch(s);
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
    tkl__batch_init(&s.batch, s.client);
    rc = send_all(&s);
    if (rc != TKL_OK)
        remove_sent(&s, rc);
    tkl__batch_free(&s.batch);
    tkl__keys_free(&s.keys);
    return rc;
}
