/* SPDX-License-Identifier: MIT
 *
 * Options that callers give: checks that all components share.
 */
#ifndef TKL_CORE_OPTIONS_H
#define TKL_CORE_OPTIONS_H

#include "core/client.h"

/* TKL_EINVAL unless all words are zero: a newer program asks for a feature that this version
 * lacks. */
int tkl__check_reserved(const uint64_t *words, size_t count);

/* For a pointer to a struct that ends with TKL_RESERVED(n). NULL is fine. */
#define TKL__CHECK_RESERVED(options)                                                             \
    ((options) ? tkl__check_reserved((options)->reserved,                                        \
                                     sizeof((options)->reserved) / sizeof(*(options)->reserved)) \
               : TKL_OK)

/* TKL_EINVAL, with `what` in the text, unless least <= value <= most. */
int tkl__check_number(const char *what, int64_t value, int64_t least, int64_t most);

/* A number among options, and its range. */
typedef struct tkl__range {
    const char *name;
    int64_t value, least, most;
} tkl__range;

/* Checks a struct of options: its reserved fields, then each number:
 * TKL__CHECK_OPTIONS(o, {"keep", o->keep, 0, KEEP_MAX}, {"ttl_ms", o->ttl_ms, 0, TKL__MS_MAX}) */
#define TKL__CHECK_OPTIONS(options, ...)                                               \
    tkl__check_ranges(TKL__CHECK_RESERVED(options), (const tkl__range[]){__VA_ARGS__}, \
                      sizeof((const tkl__range[]){__VA_ARGS__}) / sizeof(tkl__range))
/* Returns `rc` unless it is TKL_OK, or else the result of tkl__check_number() for the first number
 * that is out of its range. */
int tkl__check_ranges(int rc, const tkl__range *ranges, size_t count);

/* The value of an option: 0 is the default, TKL_NONE is 0. */
int64_t tkl__or_default(int64_t value, int64_t standard);

/* TKL_EINVAL unless the kind is a word of 1 to `most` letters, digits, '_', '-' and '.'. */
int tkl__check_kind(tkl_bytes kind, int most);

/* The name of an enumerator at this place in the list of names; "unknown" beyond the list. */
const char *tkl__enum_name(int place, const char *const *names, size_t count);
#define TKL__ENUM_NAME(place, names) \
    tkl__enum_name((place), (names), sizeof(names) / sizeof(*(names)))

/* The longest duration that options may name: ten years, in milliseconds. */
#define TKL__MS_MAX (INT64_C(10) * 366 * 24 * 3600 * 1000)

/* Events with a time of their own, `at_ms`. It may be ahead of the server's clock by this much,
 * since clocks of machines differ a little: such an event happens now. */
#define TKL__AT_AHEAD_MS 60000
#define TKL__AT_MAX      ((INT64_C(1) << 53) - 1)
/* Replies of scripts that keep this hour and the last (shared/hours) to a time before or after. */
#define TKL__AT_OLD    2
#define TKL__AT_FUTURE 3
/* TKL_EINVAL for one of these replies; TKL_OK for any other. */
int tkl__at_result(int64_t reply);

/* The deadline of a call that begins now. `timeout_ms`: 0 is the client's. */
int64_t tkl__deadline(const tkl_client *client, int64_t timeout_ms);

#endif
