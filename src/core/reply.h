/* SPDX-License-Identifier: MIT
 *
 * Replies: a tree in one arena, built by hiredis' reader straight from the wire.
 */
#ifndef TKL_CORE_REPLY_H
#define TKL_CORE_REPLY_H

#include <tackle/client.h>

struct redisReader;

/* A reader that makes tkl_reply objects. NULL: no memory. */
struct redisReader *tkl__reader_new(void);

/* Bytes of memory of the reply under construction, including unparsed input; while the reader
 * collects, including everything that was collected. */
size_t tkl__reader_size(const struct redisReader *reader);

/* Replies that the client itself makes. NULL: no memory. */
tkl_reply *tkl__reply_new_array(size_t count); /* `count` nil elements */
tkl_reply *tkl__reply_new_int(int64_t value);
tkl_reply *tkl__reply_new_bytes(tkl_bytes bytes);
tkl_reply *tkl__reply_new_error(int code, const char *text);

/* A tree of its own. */
tkl_reply *tkl__reply_copy(const tkl_reply *reply);

/* The value of a field in a flat list of names and values; NULL when it is missing. */
const tkl_reply *tkl__reply_field(const tkl_reply *fields, const char *name);

/* tkl_reply_int(), limited to the range that scripts count exactly, 2^53 either way. A server may
 * send any number; a few of these can be added and subtracted without overflow. */
int64_t tkl__reply_number(const tkl_reply *reply);

/* Shortens a string or an error text to its first `len` bytes. */
void tkl__reply_cut(tkl_reply *reply, size_t len);
/* Replaces the text. Without memory the old text stays. */
void tkl__reply_say(tkl_reply *reply, tkl_bytes text);

/* Marks an error reply of an attempt that follows one that may have been executed. The outcome
 * of the call is unknown, and the text says so, unless the caller makes another attempt
 * (`goes_on`). */
void tkl__reply_doubt(tkl_reply *reply, bool goes_on);
bool tkl__reply_is_doubted(const tkl_reply *reply);

/* From now on replies of the reader belong to this array (a root) and are freed with it, which
 * saves an allocation for each. NULL: they are roots again. */
void tkl__reader_collect(struct redisReader *reader, tkl_reply *array);
/* Makes `element`, a root or collected for the array, an element of a root array. It is freed with
 * the array. */
void tkl__reply_put(tkl_reply *array, size_t index, tkl_reply *element);
/* Joins the elements of several arrays into one array; takes the arrays over on success. */
tkl_reply *tkl__reply_join(tkl_reply **parts, size_t count);

#endif
