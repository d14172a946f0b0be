/* SPDX-License-Identifier: MIT
 *
 * A reply is a tree of nodes. The root owns an arena that holds all nodes and strings of the tree.
 * So a small reply costs one allocation, and freeing it is one walk over a few blocks, however many
 * elements it has. hiredis' reader calls the create functions in the order of the wire: parents
 * before children.
 */
#include "core/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/number.h"
#include "core/options.h"
#include "core/resp.h"

typedef struct block {
    struct block *next;
    size_t used;
    size_t cap;
    _Alignas(max_align_t) char data[];
} block;

struct tkl_reply {
    tkl_reply_type kind;
    int code;     /* code of an error reply */
    bool doubted; /* error reply: an earlier attempt may have been executed */
    int64_t integer;
    const char *data; /* string or error text, NUL-terminated */
    size_t len;       /* length of data */
    tkl_reply **elements;
    size_t count;
    tkl_reply *root;

    /* Only in a root: */
    block *arena;       /* the blocks of the tree */
    size_t size;        /* bytes of all blocks */
    tkl_reply *adopted; /* roots of trees that this one has taken over ... */
    tkl_reply *sibling; /* ... linked by this */
};

/* Arrays announced larger than this are allocated as their elements arrive: a malicious server must
 * send the data that it makes us allocate. */
#define ELEMENTS_AT_ONCE 1024

/* The deepest nesting of arrays. hiredis 1 has no limit of its own, and programs walk a tree
 * recursively. (hiredis 0.14 stops at 8.) */
#define NESTING 32

/* ---- The arena ----------------------------------------------------------- */

static block *block_new(size_t cap, block *next)
{
    block *b = malloc(sizeof *b + cap);
    if (b)
        *b = (block){.next = next, .used = 0, .cap = cap};
    return b;
}

static size_t aligned(size_t size)
{
    return (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

static void *take_node(tkl_reply *root, size_t size)
{
    size = aligned(size);
    block *b = root->arena;
    if (b->cap - b->used < size) {
        size_t doubled = b->cap < 32768 ? b->cap * 2 : 65536;
        b = block_new(size > doubled ? size : doubled, root->arena);
        if (!b)
            return NULL;
        root->arena = b;
        root->size += b->cap;
    }
    void *at = b->data + b->used;
    b->used += size;
    return at;
}

static tkl_reply *root_new(size_t payload)
{
    block *arena = block_new(aligned(sizeof(tkl_reply)) + aligned(payload), NULL);
    if (!arena)
        return NULL;
    tkl_reply *root = (tkl_reply *)(void *)arena->data;
    arena->used = aligned(sizeof *root);
    *root = (tkl_reply){.kind = TKL_REPLY_NIL, .data = "", .arena = arena, .root = root};
    root->size = arena->cap;
    return root;
}

static bool set_text(tkl_reply *reply, const char *text, size_t len)
{
    char *copy = take_node(reply->root, len + 1);
    if (!copy)
        return false;
    if (len > 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    reply->data = copy;
    reply->len = len;
    return true;
}

/* Makes room for `count` elements. */
static bool set_elements(tkl_reply *reply, size_t count)
{
    reply->elements = take_node(reply->root, count * sizeof *reply->elements);
    if (!reply->elements)
        return false;
    memset(reply->elements, 0, count * sizeof *reply->elements);
    return true;
}

/* ---- Callbacks of hiredis' reader ---------------------------------------- */

/* Puts `node` into its parent. Arrays announced larger than ELEMENTS_AT_ONCE grow as their elements
 * arrive. */
static bool attach_child(tkl_reply *parent, size_t index, size_t announced, tkl_reply *node)
{
    if (index >= ELEMENTS_AT_ONCE && (index & (index - 1)) == 0) {
        tkl_reply **old = parent->elements;
        size_t room = index * 2 < announced ? index * 2 : announced;
        if (!set_elements(parent, room))
            return false;
        memcpy(parent->elements, old, index * sizeof *old);
    }
    parent->elements[index] = node;
    parent->count = index + 1;
    return true;
}

/* Allocates a node: in the arena of its parent, in that of the root that the reader collects for,
 * or in its own. */
static tkl_reply *node_new(const redisReadTask *task, size_t payload)
{
    tkl_reply *parent = task->parent ? task->parent->obj : NULL;
    tkl_reply *root = parent ? parent->root : task->privdata;
    if (!root)
        return root_new(payload);
    tkl_reply *node = take_node(root, sizeof *node);
    if (!node)
        return NULL;
    *node = (tkl_reply){.kind = TKL_REPLY_NIL, .data = "", .root = root};
    if (!parent)
        return node;
    size_t announced = (size_t)task->parent->elements;
    return attach_child(parent, (size_t)task->idx, announced, node) ? node : NULL;
}

static void *undo_node(const redisReadTask *task, tkl_reply *node)
{
    if (node && !task->parent)
        tkl_reply_free(node);
    return NULL; /* the reader fails with "out of memory" and frees the root */
}

static void *create_string(const redisReadTask *task, char *text, size_t len)
{
    tkl_reply *node = node_new(task, len + 1);
    if (!node || !set_text(node, text, len))
        return undo_node(task, node);
    node->kind = task->type == REDIS_REPLY_ERROR ? TKL_REPLY_ERROR : TKL_REPLY_STRING;
    if (node->kind == TKL_REPLY_ERROR) {
        node->code = tkl__error_code((tkl_bytes){text, len});
        tkl__clean_text((char *)(uintptr_t)node->data, len); /* in the arena */
    }
    return node;
}

static bool too_deep(const redisReadTask *task)
{
    int depth = 0;
    for (; task->parent; task = task->parent)
        depth++;
    return depth >= NESTING;
}

#if HIREDIS_MAJOR >= 1
static void *create_array(const redisReadTask *task, size_t announced)
#else
static void *create_array(const redisReadTask *task, int announced)
#endif
{
    if (too_deep(task))
        return NULL;
    size_t room = (size_t)announced < ELEMENTS_AT_ONCE ? (size_t)announced : ELEMENTS_AT_ONCE;
    tkl_reply *node = node_new(task, room * (sizeof(tkl_reply *) + aligned(sizeof *node)));
    if (!node || !set_elements(node, room))
        return undo_node(task, node);
    node->kind = TKL_REPLY_ARRAY;
    return node;
}

static void *create_integer(const redisReadTask *task, long long value)
{
    tkl_reply *node = node_new(task, 0);
    if (!node)
        return NULL;
    node->kind = TKL_REPLY_INTEGER;
    node->integer = value;
    return node;
}

static void *create_nil(const redisReadTask *task)
{
    return node_new(task, 0);
}

static void free_reply(void *reply)
{
    tkl_reply_free(reply);
}

#if HIREDIS_MAJOR >= 1
/* The connections use RESP2. Only a server that ignores this sends these types. */
static void *create_double(const redisReadTask *task, double value, char *text, size_t len)
{
    (void)value;
    return create_string(task, text, len);
}

static void *create_bool(const redisReadTask *task, int value)
{
    return create_integer(task, value);
}
#endif

static redisReplyObjectFunctions functions = {
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createNil = create_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = create_double,
    .createBool = create_bool,
#endif
    .freeObject = free_reply,
};

struct redisReader *tkl__reader_new(void)
{
    return redisReaderCreateWithFunctions(&functions);
}

size_t tkl__reader_size(const struct redisReader *reader)
{
    const tkl_reply *root = reader->privdata ? reader->privdata : reader->reply;
    return (root ? root->size : 0) + reader->len - reader->pos;
}

void tkl__reader_collect(struct redisReader *reader, tkl_reply *array)
{
    reader->privdata = array;
}

/* ---- Replies that the client makes --------------------------------------- */

tkl_reply *tkl__reply_new_array(size_t count)
{
    tkl_reply *array = root_new(count * sizeof(tkl_reply *));
    if (!array)
        return NULL;
    array->kind = TKL_REPLY_ARRAY;
    if (!set_elements(array, count)) {
        tkl_reply_free(array);
        return NULL;
    }
    array->count = count;
    return array;
}

tkl_reply *tkl__reply_new_int(int64_t value)
{
    tkl_reply *reply = root_new(0);
    if (reply) {
        reply->kind = TKL_REPLY_INTEGER;
        reply->integer = value;
    }
    return reply;
}

tkl_reply *tkl__reply_new_bytes(tkl_bytes bytes)
{
    tkl_reply *reply = root_new(bytes.len + 1);
    if (reply) {
        set_text(reply, bytes.data, bytes.len);
        reply->kind = TKL_REPLY_STRING;
    }
    return reply;
}

tkl_reply *tkl__reply_new_error(int code, const char *text)
{
    tkl_reply *reply = root_new(strlen(text) + 1);
    if (!reply)
        return NULL;
    set_text(reply, text, strlen(text));
    reply->kind = TKL_REPLY_ERROR;
    reply->code = code;
    return reply;
}

void tkl__reply_cut(tkl_reply *reply, size_t len)
{
    if (len >= reply->len)
        return;
    ((char *)reply->data)[len] = '\0'; /* in the arena, where it was written */
    reply->len = len;
}

void tkl__reply_say(tkl_reply *reply, tkl_bytes text)
{
    set_text(reply, text.data, text.len);
}

void tkl__reply_doubt(tkl_reply *reply, bool goes_on)
{
    tkl__buf text;
    reply->doubted = true;
    if (goes_on || tkl_is_unknown(reply->code))
        return;
    reply->code = TKL_EUNKNOWN;
    tkl__buf_init(&text);
    tkl__buf_addf(&text, "%s: %s", TKL__IN_DOUBT, reply->data);
    if (!text.failed)
        tkl__reply_say(reply, (tkl_bytes){text.data, text.len});
    tkl__buf_free(&text);
}

bool tkl__reply_is_doubted(const tkl_reply *reply)
{
    return reply && reply->doubted;
}

static void adopt_reply(tkl_reply *root, tkl_reply *other)
{
    other->sibling = root->adopted;
    root->adopted = other;
}

void tkl__reply_put(tkl_reply *array, size_t index, tkl_reply *element)
{
    if (element->root != array)
        adopt_reply(array, element);
    array->elements[index] = element;
}

tkl_reply *tkl__reply_copy(const tkl_reply *reply)
{
    if (reply->kind == TKL_REPLY_INTEGER)
        return tkl__reply_new_int(reply->integer);
    if (reply->kind == TKL_REPLY_STRING)
        return tkl__reply_new_bytes((tkl_bytes){reply->data, reply->len});
    if (reply->kind == TKL_REPLY_ERROR)
        return tkl__reply_new_error(reply->code, reply->data);
    tkl_reply *array = tkl__reply_new_array(reply->count);
    for (size_t i = 0; array && i < reply->count; i++) {
        if (tkl_reply_is_nil(tkl_reply_at(reply, i)))
            continue;
        tkl_reply *element = tkl__reply_copy(reply->elements[i]);
        if (!element) {
            tkl_reply_free(array);
            return NULL;
        }
        tkl__reply_put(array, i, element);
    }
    if (array)
        array->kind = reply->kind;
    return array;
}

tkl_reply *tkl__reply_join(tkl_reply **parts, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += tkl_reply_count(parts[i]);
    tkl_reply *all = tkl__reply_new_array(total);
    tkl_reply **to = all ? all->elements : NULL;
    for (size_t i = 0; all && i < count; i++) {
        memcpy(to, parts[i]->elements, parts[i]->count * sizeof *to);
        to += parts[i]->count;
        adopt_reply(all, parts[i]);
        parts[i] = NULL;
    }
    return all;
}

void tkl_reply_free(tkl_reply *reply)
{
    if (!reply || reply->root != reply)
        return;
    for (tkl_reply *other = reply->adopted, *next; other; other = next) {
        next = other->sibling;
        tkl_reply_free(other);
    }
    for (block *b = reply->arena, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

/* ---- Accessors ----------------------------------------------------------- */

tkl_reply_type tkl_reply_type_of(const tkl_reply *reply)
{
    return reply ? reply->kind : TKL_REPLY_NIL;
}

bool tkl_reply_is_nil(const tkl_reply *reply)
{
    return tkl_reply_type_of(reply) == TKL_REPLY_NIL;
}

int64_t tkl_reply_int(const tkl_reply *reply)
{
    if (!reply)
        return 0;
    if (reply->kind != TKL_REPLY_STRING)
        return reply->integer;
    char *end;
    errno = 0;
    int64_t value = strtoll(reply->data, &end, 10);
    return end != reply->data && *end == '\0' && errno == 0 ? value : 0;
}

int64_t tkl__reply_number(const tkl_reply *reply)
{
    static const int64_t most = INT64_C(1) << 53;
    int64_t number = tkl_reply_int(reply);
    return number < -most ? -most : number > most ? most : number;
}

double tkl_reply_double(const tkl_reply *reply)
{
    if (!reply)
        return 0;
    if (reply->kind != TKL_REPLY_STRING)
        return (double)reply->integer;
    double value;
    tkl__double_parse((tkl_bytes){reply->data, reply->len}, &value);
    return value;
}

tkl_bytes tkl_reply_bytes(const tkl_reply *reply)
{
    return reply ? (tkl_bytes){reply->data, reply->len} : (tkl_bytes){"", 0};
}

const char *tkl_reply_str(const tkl_reply *reply)
{
    return reply ? reply->data : "";
}

size_t tkl_reply_count(const tkl_reply *reply)
{
    return reply ? reply->count : 0;
}

const tkl_reply *tkl_reply_at(const tkl_reply *reply, size_t index)
{
    return reply && index < reply->count ? reply->elements[index] : NULL;
}

const tkl_reply *tkl__reply_field(const tkl_reply *fields, const char *name)
{
    for (size_t i = 0; i + 1 < tkl_reply_count(fields); i += 2)
        if (strcmp(tkl_reply_str(tkl_reply_at(fields, i)), name) == 0)
            return tkl_reply_at(fields, i + 1);
    return NULL;
}

int tkl_reply_code(const tkl_reply *reply)
{
    return reply ? reply->code : TKL_OK;
}

const char *tkl_reply_type_name(tkl_reply_type type)
{
    static const char *const names[] = {"nil", "string", "integer", "array", "error"};
    return TKL__ENUM_NAME((int)type, names);
}
