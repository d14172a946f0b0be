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

/* Bytes of memory that the reply under construction takes, with what is not parsed yet; with all
 * that was collected, while it collects. */
size_t tkl__reader_size(const struct redisReader *reader);

/* Replies made by the client itself. NULL: no memory. */
tkl_reply *tkl__reply_new_array(size_t count); /* `count` nil elements */
tkl_reply *tkl__reply_new_int(int64_t value);
tkl_reply *tkl__reply_new_bytes(tkl_bytes bytes);
tkl_reply *tkl__reply_new_error(int code, const char *text);

/* tkl_reply_int(), cut to what scripts count exactly, 2^53 either way: a server may say any number,
 * and a few of these can be added and subtracted. */
int64_t tkl__reply_number(const tkl_reply *reply);

/* Keeps the first bytes of a string or an error's text. */
void tkl__reply_cut(tkl_reply *reply, size_t len);
/* Gives it another text, unless there is no memory. */
void tkl__reply_say(tkl_reply *reply, tkl_bytes text);

/* From now on the reader makes replies that belong to this array (a root) and are freed with it,
 * which saves an allocation for each. NULL: they are roots again. */
void tkl__reader_collect(struct redisReader *reader, tkl_reply *array);
/* Makes `element`, a root or collected for the array, an element of a root array. It is freed with
 * it. */
void tkl__reply_put(tkl_reply *array, size_t index, tkl_reply *element);
/* The elements of another array, each at its place. That array belongs to the first one then. */
void tkl__reply_place(tkl_reply *array, const size_t *places, tkl_reply *part);
/* One array of the elements of several arrays; takes them over on success. */
tkl_reply *tkl__reply_join(tkl_reply **parts, size_t count);

#endif
