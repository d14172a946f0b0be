/* SPDX-License-Identifier: MIT
 *
 * Bitmaps: a string of the server under ns:bits:{name}, the user's own data. It never expires.
 * All work is the server's: GETBIT, SETBIT, BITCOUNT, BITPOS, BITOP and BITFIELD; but for bitmaps
 * in different slots of a cluster, which BITOP cannot have together: see apart.c.
 */
#include "bits/bits.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/error.h"

#define BITS_MAX (INT64_C(1) << 32)

int tkl_bits_open(tkl_client *client, tkl_bytes name, tkl_bits **bits)
{
    void *handle;
    int rc = tkl__onekey_open(client, "bits", name, sizeof **bits, &handle);
    *bits = handle;
    return rc;
}

void tkl_bits_close(tkl_bits *bits)
{
    tkl__onekey_close(bits);
}

int tkl_bits_drop(tkl_bits *bits)
{
    return tkl__onekey_drop(&bits->key);
}

/* ---- Bits ---------------------------------------------------------------- */

static void begin(tkl__query *query, tkl_bits *bits, const char *command)
{
    tkl__query_begin(query, &bits->key, command);
    tkl__query_key(query, &bits->key);
}

/* Ends a command that answers an integer. */
static int end_with_int(tkl__query *query, bool retry_safe, int64_t *value)
{
    tkl_reply *reply;
    int rc = tkl__query_end(query, retry_safe, &reply);
    *value = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return rc;
}

static int check_place(int64_t at, int64_t width)
{
    if (at >= 0 && at <= BITS_MAX - width)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "a bitmap has bits from 0 to %" PRId64, BITS_MAX - 1);
}

int tkl_bits_get(tkl_bits *bits, int64_t at, bool *value)
{
    tkl__query query;
    int64_t bit;
    *value = false;
    int rc = check_place(at, 1);
    if (rc != TKL_OK)
        return rc;
    begin(&query, bits, "GETBIT");
    tkl__query_int(&query, at);
    rc = end_with_int(&query, true, &bit);
    *value = bit != 0;
    return rc;
}

int tkl_bits_set(tkl_bits *bits, int64_t at, bool value, bool *old)
{
    tkl__query query;
    int64_t before;
    if (old)
        *old = false;
    int rc = check_place(at, 1);
    if (rc != TKL_OK)
        return rc;
    begin(&query, bits, "SETBIT");
    tkl__query_int(&query, at);
    tkl__query_int(&query, value);
    rc = end_with_int(&query, !old, &before);
    if (old)
        *old = before != 0;
    return rc;
}

static void put_range(tkl__query *query, const tkl_bits_range *range)
{
    if (!range)
        return;
    tkl__query_int(query, range->first);
    tkl__query_int(query, range->last);
    tkl__query_word(query, "BIT");
}

int tkl_bits_count(tkl_bits *bits, const tkl_bits_range *range, int64_t *count)
{
    tkl__query query;
    begin(&query, bits, "BITCOUNT");
    put_range(&query, range);
    return end_with_int(&query, true, count);
}

int tkl_bits_find(tkl_bits *bits, bool value, const tkl_bits_range *range, int64_t *at)
{
    tkl__query query;
    begin(&query, bits, "BITPOS");
    tkl__query_int(&query, value);
    put_range(&query, range);
    int rc = end_with_int(&query, true, at);
    return rc == TKL_OK && *at < 0 ? TKL_NOTFOUND : rc;
}

/* ---- Combining ----------------------------------------------------------- */

static bool are_together(const tkl_bits *bits, tkl_bits *const *sources, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tkl__onekey_together(&bits->key, &sources[i]->key))
            return false;
    return true;
}

static int combine_together(tkl_bits *bits, tkl_bits_op op, tkl_bits *const *sources, size_t n,
                            int64_t *bytes)
{
    static const char *const names[] = {"AND", "OR", "XOR", "NOT"};
    tkl__query query;
    tkl__query_begin(&query, &bits->key, "BITOP");
    tkl__query_word(&query, names[op]);
    tkl__query_key(&query, &bits->key);
    for (size_t i = 0; i < n; i++)
        tkl__query_key(&query, &sources[i]->key);
    return end_with_int(&query, false, bytes);
}

int tkl_bits_combine(tkl_bits *bits, tkl_bits_op op, tkl_bits *const *sources, size_t n,
                     int64_t *bytes)
{
    int64_t unread;
    if (!bytes)
        bytes = &unread;
    *bytes = 0;
    if (n == 0 || (op == TKL_BITS_NOT && n != 1))
        return tkl__fail(TKL_EINVAL, "NOT has one source, the others one or more");
    if (are_together(bits, sources, n))
        return combine_together(bits, op, sources, n, bytes);
    return tkl__bits_combine_apart(bits, op, sources, n, bytes);
}

/* ---- Packed numbers ------------------------------------------------------ */

static int check_field(const tkl_bits_field *field)
{
    int widest = field->is_signed ? 64 : 63;
    if (field->width < 1 || field->width > widest)
        return tkl__fail(TKL_EINVAL, "a number has 1 to 64 bits, an unsigned one 1 to 63");
    if (field->at > BITS_MAX)
        return check_place(field->at, field->width);
    return check_place(field->by_index ? field->at * field->width : field->at, field->width);
}

/* What to put. The server takes a number far below the range for one above it (its arithmetic
 * overflows, or it has no sign): so the number is brought to the end of the range here. */
static int64_t value_of(const tkl_bits_field *field)
{
    if (field->verb != TKL_BITS_PUT || field->overflow != TKL_BITS_SATURATE)
        return field->value;
    int64_t most = INT64_MAX >> ((field->is_signed ? 64 : 63) - field->width);
    int64_t least = field->is_signed ? -most - 1 : 0;
    return field->value > most ? most : field->value < least ? least : field->value;
}

static void put_field(tkl__query *query, const tkl_bits_field *field)
{
    static const char *const verbs[] = {"GET", "SET", "INCRBY"};
    static const char *const overflows[] = {"WRAP", "SAT", "FAIL"};
    char text[32];
    if (field->verb != TKL_BITS_GET) {
        tkl__query_word(query, "OVERFLOW");
        tkl__query_word(query, overflows[field->overflow]);
    }
    tkl__query_word(query, verbs[field->verb]);
    snprintf(text, sizeof text, "%c%d", field->is_signed ? 'i' : 'u', field->width);
    tkl__query_word(query, text);
    snprintf(text, sizeof text, "%s%" PRId64, field->by_index ? "#" : "", field->at);
    tkl__query_word(query, text);
    if (field->verb != TKL_BITS_GET)
        tkl__query_int(query, value_of(field));
}

int tkl_bits_fields(tkl_bits *bits, const tkl_bits_field *fields, size_t n, tkl_bits_value *values)
{
    tkl__query query;
    tkl_reply *reply;
    bool reading = true;
    int rc = TKL_OK;
    for (size_t i = 0; i < n; i++) {
        values[i] = (tkl_bits_value){.value = 0};
        reading = reading && fields[i].verb == TKL_BITS_GET;
        rc = rc == TKL_OK ? check_field(&fields[i]) : rc;
    }
    if (rc != TKL_OK || n == 0)
        return rc;
    begin(&query, bits, reading ? "BITFIELD_RO" : "BITFIELD");
    for (size_t i = 0; i < n; i++)
        put_field(&query, &fields[i]);
    rc = tkl__query_end(&query, reading, &reply);
    for (size_t i = 0; rc == TKL_OK && i < n; i++) {
        const tkl_reply *one = tkl_reply_at(reply, i);
        values[i] = (tkl_bits_value){tkl_reply_int(one), !tkl_reply_is_nil(one)};
    }
    tkl_reply_free(reply);
    return rc;
}
