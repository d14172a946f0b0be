/* SPDX-License-Identifier: MIT */
#include "core/args.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"

#define BLOCK_BYTES 2000

/* A text never moves: when a block is full, the arguments get another one. */
struct tkl__args_block {
    struct tkl__args_block *next;
    size_t used, size;
    char text[];
};

void tkl__args_init(tkl__args *args)
{
    args->items = args->small;
    args->count = 0;
    args->cap = TKL__ARGS_SMALL;
    args->blocks = NULL;
    args->failed = false;
}

void tkl__args_free(tkl__args *args)
{
    if (args->items != args->small)
        free(args->items);
    while (args->blocks) {
        struct tkl__args_block *next = args->blocks->next;
        free(args->blocks);
        args->blocks = next;
    }
}

static bool grow_args(tkl__args *args)
{
    bool small = args->items == args->small;
    tkl_bytes *items = realloc(small ? NULL : args->items, 2 * args->cap * sizeof *items);
    if (!items)
        return false;
    if (small)
        memcpy(items, args->small, sizeof args->small);
    args->items = items;
    args->cap *= 2;
    return true;
}

void tkl__args_bytes(tkl__args *args, tkl_bytes bytes)
{
    if (args->count == args->cap && !grow_args(args))
        args->failed = true;
    else
        args->items[args->count++] = bytes;
}

void tkl__args_str(tkl__args *args, const char *text)
{
    tkl__args_bytes(args, tkl_str(text));
}

/* Returns room for a text, or NULL when there is no memory. */
static char *room_for_text(tkl__args *args, size_t size)
{
    struct tkl__args_block *block = args->blocks;
    if (!block || block->size - block->used < size) {
        size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = malloc(sizeof *block + block_size);
        if (!block) {
            args->failed = true;
            return NULL;
        }
        block->next = args->blocks;
        block->used = 0;
        block->size = block_size;
        args->blocks = block;
    }
    char *text = block->text + block->used;
    block->used += size;
    return text;
}

char *tkl__args_room(tkl__args *args, size_t size)
{
    char *text = room_for_text(args, size);
    if (text)
        tkl__args_bytes(args, (tkl_bytes){text, size});
    return text;
}

void tkl__args_int(tkl__args *args, int64_t value)
{
    char *text = room_for_text(args, 24);
    if (!text)
        return;
    int len = snprintf(text, 24, "%" PRId64, value);
    tkl__args_bytes(args, (tkl_bytes){text, (size_t)len});
}

void tkl__args_double(tkl__args *args, double value)
{
    char *text = room_for_text(args, TKL__DOUBLE_SIZE);
    if (text)
        tkl__args_str(args, tkl__double_text(value, text));
}
