/* SPDX-License-Identifier: MIT
 *
 * Bitmaps, and numbers of 1 to 64 bits packed side by side: the server's strings, bit by bit.
 *
 *     tkl_bits *days;
 *     int64_t count;
 *     TKL_TRY(tkl_bits_open(client, tkl_str("user:7:days"), NULL, &days));
 *     TKL_TRY(tkl_bits_set(days, 319, true, NULL));
 *     TKL_TRY(tkl_bits_count(days, NULL, &count));
 *
 * A bitmap has 2^32 bits (512 MB) at most; bits never set are 0. Bit 0 is the most significant bit
 * of the first byte.
 *
 * Threads: a handle may be used by several threads. Fork: a child may use the handle. Callbacks:
 * none. Keys: one for each name; tkl_bits_drop() removes it, or it expires after `ttl_ms`.
 * Combining bitmaps of different slots needs one more key, for a minute at most.
 */
#ifndef TACKLE_BITS_H
#define TACKLE_BITS_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_bits tkl_bits;

/* All zero means the defaults. */
typedef struct tkl_bits_options {
    int64_t timeout_ms; /* time-out of one round trip; 0: the client's */
    int64_t ttl_ms;     /* the bitmap expires this long after the last write; 0: it stays */
    TKL_RESERVED(8);
} tkl_bits_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_bits_open(tkl_client *client, tkl_bytes name, const tkl_bits_options *options,
                          tkl_bits **bits) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the bitmap. NULL is fine. */
TKL_API void tkl_bits_close(tkl_bits *bits);
/* Removes the bitmap. TKL_NOTFOUND: there was none. */
TKL_API int tkl_bits_drop(tkl_bits *bits) TKL_NONNULL(1) TKL_CHECK;

/* All names that have a bitmap. See tkl_options.no_register. */
TKL_API int tkl_bits_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Bits ---------------------------------------------------------------- */

TKL_API int tkl_bits_get(tkl_bits *bits, int64_t at, bool *value) TKL_NONNULL(1, 3) TKL_CHECK;
/* *old (may be NULL): the bit's old value. */
TKL_API int tkl_bits_set(tkl_bits *bits, int64_t at, bool value, bool *old)
    TKL_NONNULL(1) TKL_CHECK;

/* From the first to the last bit, both included. Negative numbers count from the end of the last
 * byte in use: -1 is its last bit. */
typedef struct tkl_bits_range {
    int64_t first, last;
} tkl_bits_range; /* frozen */

/* Counts the bits that are 1. `range` NULL: all bits. */
TKL_API int tkl_bits_count(tkl_bits *bits, const tkl_bits_range *range, int64_t *count)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* Finds the first bit of that value in the range. `range` NULL: all bits. Bits after the last byte
 * in use are 0, so a search for 0 finds them. TKL_NOTFOUND: there is no such bit. */
TKL_API int tkl_bits_find(tkl_bits *bits, bool value, const tkl_bits_range *range, int64_t *at)
    TKL_NONNULL(1, 4) TKL_CHECK;

typedef enum tkl_bits_op {
    TKL_BITS_AND = 0,
    TKL_BITS_OR = 1,
    TKL_BITS_XOR = 2,
    TKL_BITS_NOT = 3,
} tkl_bits_op;

TKL_API const char *tkl_bits_op_name(tkl_bits_op op); /* "and" */

/* Stores the result of the operation on the sources (one for NOT) in `bits`, which may be a source
 * itself. Shorter sources count as if zeros followed. *bytes (may be NULL): the size of the result.
 *
 * On one server this is one command, and so one step. In a cluster different names live in
 * different slots: there the library reads the sources (up to 1000) in pieces, builds the result
 * under another key and replaces `bits` in one step. A change of a source meanwhile may be in the
 * result or not; a change of `bits` meanwhile is lost. On failure `bits` is unchanged (after
 * TKL_ETIMEOUT or TKL_EUNKNOWN it may have been replaced), and the other key expires within a
 * minute. */
TKL_API int tkl_bits_combine(tkl_bits *bits, tkl_bits_op op, tkl_bits *const *sources, size_t count,
                             int64_t *bytes) TKL_NONNULL(1) TKL_CHECK;

/* ---- Packed numbers ------------------------------------------------------ */

typedef enum tkl_bits_verb {
    TKL_BITS_GET = 0,
    TKL_BITS_SET = 1,
    TKL_BITS_ADD = 2,
} tkl_bits_verb;

TKL_API const char *tkl_bits_verb_name(tkl_bits_verb verb); /* "get" */

/* The treatment of a number that does not fit. */
typedef enum tkl_bits_overflow {
    TKL_BITS_WRAP = 0,     /* wraps around to the other end of the range */
    TKL_BITS_SATURATE = 1, /* stays at the end of the range */
    TKL_BITS_FAIL = 2,     /* is not written */
} tkl_bits_overflow;

TKL_API const char *tkl_bits_overflow_name(tkl_bits_overflow overflow); /* "wrap" */

typedef struct tkl_bits_field {
    tkl_bits_verb verb;
    tkl_bits_overflow overflow; /* for SET and ADD */
    int width;                  /* bits: 1 to 64, unsigned 1 to 63 */
    bool is_signed;
    bool by_index; /* `at` counts numbers of this width, not bits */
    int64_t at;
    int64_t value; /* to set, or to add */
    TKL_RESERVED(2);
} tkl_bits_field;

typedef struct tkl_bits_value {
    int64_t value; /* GET: the number; SET: the old number; ADD: the new number */
    bool done;     /* false: it did not fit (TKL_BITS_FAIL) and nothing was written */
    TKL_RESERVED(2);
} tkl_bits_value;

/* Runs several operations, in order, as one step and in one round trip. `values` has room for
 * `count` results. */
TKL_API int tkl_bits_fields(tkl_bits *bits, const tkl_bits_field *fields, size_t count,
                            tkl_bits_value *values) TKL_NONNULL(1) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
