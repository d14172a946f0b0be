/* SPDX-License-Identifier: MIT
 *
 * Bitmaps: a string of the server under ns:bits:{name}, the user's own data. It is removed by
 * tkl_bits_drop(), or expires with `ttl_ms`. The server does the work, by GETBIT, SETBIT, BITCOUNT,
 * BITPOS, BITOP and BITFIELD. Only bitmaps in different slots of a cluster, which one BITOP cannot
 * name, are combined here: see apart.c.
 */
#include "bits/bits.h"

#include <inttypes.h>
#include <stdio.h>

#include "bits/scripts.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "core/script.h"

#define COMPONENT "bits"
#define BITS_MAX  (INT64_C(1) << 32)
#define BYTES_MAX (BITS_MAX / 8)

int tkl_bits_open(tkl_client *client, tkl_bytes name, const tkl_bits_options *options,
                  tkl_bits **bits)
{
    static const tkl_bits_options defaults;
    const tkl_bits_options *o = options ? options : &defaults;
    void *handle = NULL;
    int rc = TKL__CHECK_RESERVED(o);
    if (rc == TKL_OK)
        rc = tkl__onekey_open_with(client, COMPONENT, name, o->timeout_ms, o->ttl_ms, sizeof **bits,
                                   &handle);
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

int tkl_bits_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, COMPONENT, "", "string", names);
}

/* ---- Bits ---------------------------------------------------------------- */

/* Ends a command that only reads and returns an integer from 0 to `most`. */
static int read_int(tkl__query *query, int64_t most, int64_t *value)
{
    tkl_reply *reply;
    *value = 0;
    int rc = tkl__query_end(query, true, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_int(reply, 0, most, value);
    tkl_reply_free(reply);
    return rc;
}

/* Ends a command that writes and returns an integer from 0 to `most`. */
static int write_int(tkl__query *query, bool retry_safe, int64_t most, int64_t *value)
{
    tkl_reply *owner;
    const tkl_reply *reply;
    *value = 0;
    int rc = tkl__query_write(query, retry_safe, &owner, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_int(reply, 0, most, value);
    tkl_reply_free(owner);
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
    tkl__query_begin(&query, &bits->key, "GETBIT");
    tkl__query_int(&query, at);
    rc = read_int(&query, 1, &bit);
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
    tkl__query_begin(&query, &bits->key, "SETBIT");
    tkl__query_int(&query, at);
    tkl__query_int(&query, value);
    rc = write_int(&query, !old, 1, &before);
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
    tkl__query_begin(&query, &bits->key, "BITCOUNT");
    put_range(&query, range);
    return read_int(&query, BITS_MAX, count);
}

/* Finds a bit in a range by a script: the server does not report the first 0 of a range in which it
 * has no bytes. */
static int find_in_range(tkl_bits *bits, bool value, const tkl_bits_range *range, tkl_reply **reply)
{
    tkl_client *client = bits->key.client;
    tkl_bytes key = {bits->key.base.data, bits->key.base.len};
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_int(&args, value);
    tkl__args_int(&args, range->first);
    tkl__args_int(&args, range->last);
    int rc = tkl__eval(client, &tkl__lua_bits_find, &(tkl__keys){&key, 1}, &args,
                       tkl__deadline(client, bits->key.timeout_ms), true, reply);
    tkl__args_free(&args);
    return rc;
}

static int find_anywhere(tkl_bits *bits, bool value, tkl_reply **reply)
{
    tkl__query query;
    tkl__query_begin(&query, &bits->key, "BITPOS");
    tkl__query_int(&query, value);
    return tkl__query_end(&query, true, reply);
}

int tkl_bits_find(tkl_bits *bits, bool value, const tkl_bits_range *range, int64_t *at)
{
    tkl_reply *reply;
    *at = 0;
    if (range && (range->first >= BITS_MAX || range->last >= BITS_MAX))
        return check_place(BITS_MAX, 1);
    int rc = range ? find_in_range(bits, value, range, &reply) : find_anywhere(bits, value, &reply);
    if (rc == TKL_OK)
        rc = tkl__expect_int(reply, -1, BITS_MAX, at);
    tkl_reply_free(reply);
    if (rc != TKL_OK || *at >= 0)
        return rc;
    *at = 0;
    return tkl__no(TKL_NOTFOUND);
}

/* ---- Combining ----------------------------------------------------------- */

static bool are_together(const tkl_bits *bits, tkl_bits *const *sources, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!tkl__onekey_together(&bits->key, &sources[i]->key))
            return false;
    return true;
}

static int combine_together(tkl_bits *bits, tkl_bits_op op, tkl_bits *const *sources, size_t count,
                            int64_t *bytes)
{
    static const char *const names[] = {"AND", "OR", "XOR", "NOT"};
    tkl__query query;
    tkl__query_begin_at(&query, &bits->key, "BITOP");
    tkl__query_word(&query, names[op]);
    tkl__query_key(&query, &bits->key);
    for (size_t i = 0; i < count; i++)
        tkl__query_key(&query, &sources[i]->key);
    return write_int(&query, false, BYTES_MAX, bytes);
}

int tkl_bits_combine(tkl_bits *bits, tkl_bits_op op, tkl_bits *const *sources, size_t count,
                     int64_t *bytes)
{
    int64_t unread;
    if (!bytes)
        bytes = &unread;
    *bytes = 0;
    int rc = tkl__check_number("op", op, TKL_BITS_AND, TKL_BITS_NOT);
    if (rc != TKL_OK)
        return rc;
    if (count == 0 || (op == TKL_BITS_NOT && count != 1))
        return tkl__fail(TKL_EINVAL, "NOT has one source, the others one or more");
    if (are_together(bits, sources, count))
        return combine_together(bits, op, sources, count, bytes);
    return tkl__bits_combine_apart(bits, op, sources, count, bytes);
}

/* ---- Packed numbers ------------------------------------------------------ */

static int check_field(const tkl_bits_field *field)
{
    int widest = field->is_signed ? 64 : 63;
    int rc = TKL__CHECK_OPTIONS(field, {"verb", field->verb, TKL_BITS_GET, TKL_BITS_ADD},
                                {"overflow", field->overflow, TKL_BITS_WRAP, TKL_BITS_FAIL});
    if (rc != TKL_OK)
        return rc;
    if (field->width < 1 || field->width > widest)
        return tkl__fail(TKL_EINVAL, "a number has 1 to 64 bits, an unsigned one 1 to 63");
    if (field->at > BITS_MAX)
        return check_place(field->at, field->width);
    return check_place(field->by_index ? field->at * field->width : field->at, field->width);
}

/* Returns the value to write. The server mistakes a number far below the range for a number above
 * it (its arithmetic overflows, or has no sign), so the number is limited to the range here. */
static int64_t value_of(const tkl_bits_field *field)
{
    if (field->verb != TKL_BITS_SET || field->overflow != TKL_BITS_SATURATE)
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

/* Reads the values; nil: the number did not fit. */
static int read_values(const tkl_reply *reply, size_t count, tkl_bits_value *values)
{
    int rc = tkl__expect_array(reply, count);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        const tkl_reply *one = tkl_reply_at(reply, i);
        values[i].done = !tkl_reply_is_nil(one);
        if (values[i].done)
            rc = tkl__expect_int(one, INT64_MIN, INT64_MAX, &values[i].value);
    }
    return rc;
}

int tkl_bits_fields(tkl_bits *bits, const tkl_bits_field *fields, size_t count,
                    tkl_bits_value *values)
{
    tkl__query query;
    tkl_reply *owner;
    const tkl_reply *reply = NULL;
    bool reading = true;
    int rc = TKL_OK;
    for (size_t i = 0; i < count; i++) {
        values[i] = (tkl_bits_value){.value = 0};
        reading = reading && fields[i].verb == TKL_BITS_GET;
        rc = rc == TKL_OK ? check_field(&fields[i]) : rc;
    }
    if (rc != TKL_OK || count == 0)
        return rc;
    tkl__query_begin(&query, &bits->key, reading ? "BITFIELD_RO" : "BITFIELD");
    for (size_t i = 0; i < count; i++)
        put_field(&query, &fields[i]);
    rc = reading ? tkl__query_end(&query, true, &owner)
                 : tkl__query_write(&query, false, &owner, &reply);
    rc = rc == TKL_OK ? read_values(reading ? owner : reply, count, values) : rc;
    tkl_reply_free(owner);
    return rc;
}

const char *tkl_bits_op_name(tkl_bits_op op)
{
    static const char *const names[] = {"and", "or", "xor", "not"};
    return TKL__ENUM_NAME((int)op, names);
}

const char *tkl_bits_verb_name(tkl_bits_verb verb)
{
    static const char *const names[] = {"get", "set", "add"};
    return TKL__ENUM_NAME((int)verb, names);
}

const char *tkl_bits_overflow_name(tkl_bits_overflow overflow)
{
    static const char *const names[] = {"wrap", "saturate", "fail"};
    return TKL__ENUM_NAME((int)overflow, names);
}
