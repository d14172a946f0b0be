/* SPDX-License-Identifier: MIT
 *
 * The arguments of a script, one after the other.
 *
 *     tkl__args args;
 *     tkl__args_init(&args);
 *     tkl__args_bytes(&args, sender);
 *     tkl__args_int(&args, options.most);
 *     rc = tkl__eval(client, &tkl__lua_mail_send, &keys, &args, deadline, true, &reply);
 *     tkl__args_free(&args);
 *
 * A failed allocation is remembered and reported by tkl__eval().
 */
#ifndef TKL_CORE_ARGS_H
#define TKL_CORE_ARGS_H

#include <tackle/common.h>

#define TKL__ARGS_SMALL 16

typedef struct tkl__args {
    tkl_bytes *items;
    size_t count, cap;
    struct tkl__args_block *blocks; /* texts that the arguments own */
    bool failed;
    tkl_bytes small[TKL__ARGS_SMALL];
} tkl__args;

void tkl__args_init(tkl__args *args);
void tkl__args_free(tkl__args *args);

/* The arguments borrow these bytes: the caller keeps them until tkl__args_free(). */
void tkl__args_bytes(tkl__args *args, tkl_bytes bytes);
void tkl__args_str(tkl__args *args, const char *text);
/* Numbers as text, exact, whatever the locale. */
void tkl__args_int(tkl__args *args, int64_t value);
void tkl__args_double(tkl__args *args, double value);
/* Returns room for `size` bytes, which the caller fills; NULL when there is no memory. */
char *tkl__args_room(tkl__args *args, size_t size);

#endif
