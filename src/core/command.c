/* SPDX-License-Identifier: MIT
 *
 * The table of commands.
 *
 * It is sorted and holds every command of Redis 7.0 to 8 and Valkey 7.2 to 9: where its keys are,
 * and which server it may go to. Positions are those of the servers' own COMMAND reply (a test
 * compares them). Commands whose keys have no fixed position have a function below. "name|sub"
 * entries follow their container directly and say what differs for that subcommand.
 *
 * Wrong arguments are not reported here. Such a command goes to any server, whose error text is
 * better than ours.
 */
#include "core/command.h"

#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/resp.h"

/* ---- The table ----------------------------------------------------------- */

/* Where a command goes. */
typedef enum place {
    BY_KEYS,     /* the server of its keys; any server if it has no keys */
    ALL_SUM,     /* as tkl__fanout */
    ALL_JOIN,    /* TKL__ALL_CONCAT */
    ALL_FIRST,   /* as tkl__fanout */
    ONE_SERVER,  /* concerns one particular server: refused by a cluster client */
    MESSAGES,    /* from here on: needs its own connection; the name says why */
    TRANSACTION, /* several calls on one connection */
    SETTING,     /* changes the connection, not the data */
    REPLICATION, /* spoken between servers */
} place;

/* Keys besides those of first, last and step. */
typedef enum extra {
    NO_EXTRA,
    COUNTED_1,     /* a count at position 1, then that many keys */
    COUNTED_2,     /* ... at position 2 */
    COUNTED_PAIRS, /* a count at position 1, then that many pairs of key and value */
    AFTER_STREAMS, /* the first half of the words after STREAMS */
    SORT_STORE,    /* the word after STORE */
    RADIUS_STORE,  /* the word after STORE or STOREDIST */
    MIGRATE_KEYS,  /* position 3 or, when that is empty, all words after KEYS */
} extra;

typedef struct entry {
    const char *name; /* lower case */
    int8_t first;     /* position of the first key; 0: none */
    int8_t last;      /* position of the last key; negative: counted from the end */
    int8_t step;
    uint8_t extra; /* enum extra */
    uint8_t place; /* enum place */
} entry;

/* clang-format off */
#define KEY(name)                     {name, 1, 1, 1, NO_EXTRA, BY_KEYS}
#define KEYS(name, first, last, step) {name, first, last, step, NO_EXTRA, BY_KEYS}
#define MORE(name, first, extra)      {name, first, first, 1, extra, BY_KEYS}
#define KEYLESS(name)                 {name, 0, 0, 1, NO_EXTRA, BY_KEYS}
#define GOES(name, place)             {name, 0, 0, 1, NO_EXTRA, place}

/* In the order of strcmp(). */
static const entry table[] = {
    KEYLESS("acl"), GOES("acl|deluser", ALL_FIRST), GOES("acl|load", ALL_FIRST),
    GOES("acl|save", ALL_FIRST), GOES("acl|setuser", ALL_FIRST), KEY("append"),
    GOES("asking", SETTING), GOES("auth", SETTING), GOES("bgrewriteaof", ALL_FIRST),
    GOES("bgsave", ALL_FIRST), KEY("bitcount"), KEY("bitfield"), KEY("bitfield_ro"),
    KEYS("bitop", 2, -1, 1), KEY("bitpos"), KEYS("blmove", 1, 2, 1), MORE("blmpop", 0, COUNTED_2),
    KEYS("blpop", 1, -2, 1), KEYS("brpop", 1, -2, 1), KEYS("brpoplpush", 1, 2, 1),
    MORE("bzmpop", 0, COUNTED_2), KEYS("bzpopmax", 1, -2, 1), KEYS("bzpopmin", 1, -2, 1),
    KEYLESS("client"), GOES("client|caching", SETTING), GOES("client|capa", SETTING),
    GOES("client|kill", ONE_SERVER), GOES("client|no-evict", SETTING),
    GOES("client|no-touch", SETTING), GOES("client|pause", ONE_SERVER),
    GOES("client|reply", SETTING), GOES("client|setinfo", SETTING), GOES("client|setname", SETTING),
    GOES("client|tracking", SETTING), GOES("client|unblock", ONE_SERVER),
    GOES("client|unpause", ONE_SERVER), GOES("cluster", ONE_SERVER), KEYLESS("cluster|help"),
    KEYLESS("cluster|info"), KEYLESS("cluster|keyslot"), KEYLESS("cluster|nodes"),
    KEYLESS("cluster|shards"), KEYLESS("cluster|slots"), KEYLESS("command"), KEYLESS("config"),
    GOES("config|resetstat", ALL_FIRST), GOES("config|rewrite", ALL_FIRST),
    GOES("config|set", ALL_FIRST), KEYS("copy", 1, 2, 1), GOES("dbsize", ALL_SUM),
    GOES("debug", ONE_SERVER), KEY("decr"), KEY("decrby"), KEYS("del", 1, -1, 1), KEY("delex"),
    KEY("delifeq"), KEY("digest"), GOES("discard", TRANSACTION), KEY("dump"), KEYLESS("echo"),
    MORE("eval", 0, COUNTED_2), MORE("eval_ro", 0, COUNTED_2), MORE("evalsha", 0, COUNTED_2),
    MORE("evalsha_ro", 0, COUNTED_2), GOES("exec", TRANSACTION), KEYS("exists", 1, -1, 1),
    KEY("expire"), KEY("expireat"), KEY("expiretime"), GOES("failover", ONE_SERVER),
    MORE("fcall", 0, COUNTED_2), MORE("fcall_ro", 0, COUNTED_2), GOES("flushall", ALL_FIRST),
    GOES("flushdb", ALL_FIRST), KEYLESS("function"), GOES("function|delete", ALL_FIRST),
    GOES("function|flush", ALL_FIRST), GOES("function|kill", ONE_SERVER),
    GOES("function|load", ALL_FIRST), GOES("function|restore", ALL_FIRST), KEY("geoadd"),
    KEY("geodist"), KEY("geohash"), KEY("geopos"), MORE("georadius", 1, RADIUS_STORE),
    KEY("georadius_ro"), MORE("georadiusbymember", 1, RADIUS_STORE), KEY("georadiusbymember_ro"),
    KEY("geosearch"), KEYS("geosearchstore", 1, 2, 1), KEY("get"), KEY("getbit"), KEY("getdel"),
    KEY("getex"), KEY("getrange"), KEY("getset"), KEY("hdel"), GOES("hello", SETTING),
    KEY("hexists"), KEY("hexpire"), KEY("hexpireat"), KEY("hexpiretime"), KEY("hget"),
    KEY("hgetall"), KEY("hgetdel"), KEY("hgetex"), KEY("hincrby"), KEY("hincrbyfloat"),
    KEY("hkeys"), KEY("hlen"), KEY("hmget"), KEY("hmset"), KEY("hpersist"), KEY("hpexpire"),
    KEY("hpexpireat"), KEY("hpexpiretime"), KEY("hpttl"), KEY("hrandfield"), KEY("hscan"),
    KEY("hset"), KEY("hsetex"), KEY("hsetnx"), KEY("hstrlen"), KEY("httl"), KEY("hvals"),
    KEY("incr"), KEY("incrby"), KEY("incrbyfloat"), KEYLESS("info"), GOES("keys", ALL_JOIN),
    KEYLESS("lastsave"), KEYLESS("latency"), GOES("latency|reset", ALL_SUM), KEYS("lcs", 1, 2, 1),
    KEY("lindex"), KEY("linsert"), KEY("llen"), KEYS("lmove", 1, 2, 1), MORE("lmpop", 0, COUNTED_1),
    KEYLESS("lolwut"), KEY("lpop"), KEY("lpos"), KEY("lpush"), KEY("lpushx"), KEY("lrange"),
    KEY("lrem"), KEY("lset"), KEY("ltrim"), KEYS("memory", 2, 2, 1),
    GOES("memory|purge", ALL_FIRST), KEYS("mget", 1, -1, 1), MORE("migrate", 0, MIGRATE_KEYS),
    KEYLESS("module"), GOES("module|load", ONE_SERVER), GOES("module|loadex", ONE_SERVER),
    GOES("module|unload", ONE_SERVER), GOES("monitor", MESSAGES), KEY("move"),
    KEYS("mset", 1, -1, 2), MORE("msetex", 0, COUNTED_PAIRS), KEYS("msetnx", 1, -1, 2),
    GOES("multi", TRANSACTION), KEYS("object", 2, 2, 1), KEY("persist"), KEY("pexpire"),
    KEY("pexpireat"), KEY("pexpiretime"), KEY("pfadd"), KEYS("pfcount", 1, -1, 1),
    KEYS("pfdebug", 2, 2, 1), KEYS("pfmerge", 1, -1, 1), KEYLESS("pfselftest"), KEYLESS("ping"),
    KEY("psetex"), GOES("psubscribe", MESSAGES), GOES("psync", REPLICATION), KEY("pttl"),
    KEYLESS("publish"), KEYLESS("pubsub"), GOES("punsubscribe", MESSAGES), GOES("quit", SETTING),
    GOES("randomkey", ONE_SERVER), GOES("readonly", SETTING), GOES("readwrite", SETTING),
    KEYS("rename", 1, 2, 1), KEYS("renamenx", 1, 2, 1), GOES("replconf", REPLICATION),
    GOES("replicaof", ONE_SERVER), GOES("reset", SETTING), KEY("restore"), KEY("restore-asking"),
    KEYLESS("role"), KEY("rpop"), KEYS("rpoplpush", 1, 2, 1), KEY("rpush"), KEY("rpushx"),
    KEY("sadd"), GOES("save", ALL_FIRST), GOES("scan", ONE_SERVER), KEY("scard"), KEYLESS("script"),
    GOES("script|debug", SETTING), GOES("script|flush", ALL_FIRST), GOES("script|kill", ONE_SERVER),
    GOES("script|load", ALL_FIRST), KEYS("sdiff", 1, -1, 1), KEYS("sdiffstore", 1, -1, 1),
    GOES("select", SETTING), KEY("set"), KEY("setbit"), KEY("setex"), KEY("setnx"), KEY("setrange"),
    GOES("shutdown", ONE_SERVER), KEYS("sinter", 1, -1, 1), MORE("sintercard", 0, COUNTED_1),
    KEYS("sinterstore", 1, -1, 1), KEY("sismember"), GOES("slaveof", ONE_SERVER),
    KEYLESS("slowlog"), GOES("slowlog|reset", ALL_FIRST), KEY("smembers"), KEY("smismember"),
    KEYS("smove", 1, 2, 1), MORE("sort", 1, SORT_STORE), KEY("sort_ro"), KEY("spop"),
    KEY("spublish"), KEY("srandmember"), KEY("srem"), KEY("sscan"), GOES("ssubscribe", MESSAGES),
    KEY("strlen"), GOES("subscribe", MESSAGES), KEY("substr"), KEYS("sunion", 1, -1, 1),
    KEYS("sunionstore", 1, -1, 1), GOES("sunsubscribe", MESSAGES), KEYLESS("swapdb"),
    GOES("sync", REPLICATION), KEYLESS("time"), KEYS("touch", 1, -1, 1), KEY("ttl"), KEY("type"),
    KEYS("unlink", 1, -1, 1), GOES("unsubscribe", MESSAGES), GOES("unwatch", TRANSACTION),
    GOES("wait", ONE_SERVER), GOES("waitaof", ONE_SERVER), GOES("watch", TRANSACTION), KEY("xack"),
    KEY("xackdel"), KEY("xadd"), KEY("xautoclaim"), KEY("xclaim"), KEY("xdel"), KEY("xdelex"),
    KEYS("xgroup", 2, 2, 1), KEYS("xinfo", 2, 2, 1), KEY("xlen"), KEY("xpending"), KEY("xrange"),
    MORE("xread", 0, AFTER_STREAMS), MORE("xreadgroup", 0, AFTER_STREAMS), KEY("xrevrange"),
    KEY("xsetid"), KEY("xtrim"), KEY("zadd"), KEY("zcard"), KEY("zcount"),
    MORE("zdiff", 0, COUNTED_1), MORE("zdiffstore", 1, COUNTED_2), KEY("zincrby"),
    MORE("zinter", 0, COUNTED_1), MORE("zintercard", 0, COUNTED_1),
    MORE("zinterstore", 1, COUNTED_2), KEY("zlexcount"), MORE("zmpop", 0, COUNTED_1),
    KEY("zmscore"), KEY("zpopmax"), KEY("zpopmin"), KEY("zrandmember"), KEY("zrange"),
    KEY("zrangebylex"), KEY("zrangebyscore"), KEYS("zrangestore", 1, 2, 1), KEY("zrank"),
    KEY("zrem"), KEY("zremrangebylex"), KEY("zremrangebyrank"), KEY("zremrangebyscore"),
    KEY("zrevrange"), KEY("zrevrangebylex"), KEY("zrevrangebyscore"), KEY("zrevrank"), KEY("zscan"),
    KEY("zscore"), MORE("zunion", 0, COUNTED_1), MORE("zunionstore", 1, COUNTED_2),
};
/* clang-format on */

#define NAME_MAX_LEN 24 /* longer than the longest name above */

static int compare_name(const void *name, const void *candidate)
{
    return strcmp(name, ((const entry *)candidate)->name);
}

/* The arguments of a command. */
typedef struct words {
    int count;
    const char *const *data;
    const size_t *lens; /* NULL: NUL-terminated */
} words;

static tkl_bytes word(const words *args, int index)
{
    const char *data = args->data[index];
    return (tkl_bytes){data, args->lens ? args->lens[index] : strlen(data)};
}

static bool word_is(const words *args, int index, const char *text)
{
    tkl_bytes given = word(args, index);
    return given.len == strlen(text) && tkl__same_letters(given.data, text, given.len);
}

static bool lower_name(tkl_bytes name, char lower[NAME_MAX_LEN])
{
    if (name.len == 0 || name.len >= NAME_MAX_LEN || memchr(name.data, '|', name.len))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    lower[name.len] = '\0';
    return true;
}

/* Finds the entry of a subcommand, or that of its container when it has none. */
static const entry *find_sub(const entry *container, const words *args)
{
    size_t len = strlen(container->name);
    const entry *end = table + sizeof(table) / sizeof(table[0]);

    for (const entry *sub = container + 1; sub < end; sub++) {
        if (strncmp(sub->name, container->name, len) != 0 || sub->name[len] != '|')
            break;
        if (word_is(args, 1, sub->name + len + 1))
            return sub;
    }
    return container;
}

/* NULL: unknown. */
static const entry *find_command(const words *args)
{
    char name[NAME_MAX_LEN];
    if (!lower_name(word(args, 0), name))
        return NULL;

    const entry *found =
        bsearch(name, table, sizeof(table) / sizeof(table[0]), sizeof(table[0]), compare_name);
    return found && args->count > 1 ? find_sub(found, args) : found;
}

/* ---- Where the keys are -------------------------------------------------- */

typedef struct visitor {
    tkl__key_visitor *visit;
    void *context;
} visitor;

static void visit_range(const words *args, int first, int last, int step, const visitor *to)
{
    if (last < 0)
        last += args->count;
    for (int i = first; i <= last && i < args->count; i += step)
        to->visit(to->context, i);
}

/* The number at a position; 0 when it is not a number, or larger than the number of words left. */
static int count_at(const words *args, int index)
{
    if (index >= args->count)
        return 0;

    tkl_bytes digits = word(args, index);
    int count = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || count > args->count)
            return 0;
        count = count * 10 + (digits.data[i] - '0');
    }
    return count < args->count ? count : 0;
}

static void visit_counted(const words *args, int count_index, int step, const visitor *to)
{
    int count = count_at(args, count_index);
    int first = count_index + 1;
    visit_range(args, first, first + (count - 1) * step, step, to);
}

/* XREAD and XREADGROUP. Steps over the options, because a group may be named "streams". */
static void visit_streams(const words *args, const visitor *to)
{
    int i = 1;
    while (i < args->count && !word_is(args, i, "streams")) {
        if (word_is(args, i, "group"))
            i += 3;
        else if (word_is(args, i, "noack"))
            i += 1;
        else
            i += 2; /* COUNT, BLOCK and other options with one argument */
    }

    int rest = args->count - i - 1;
    if (rest > 0)
        visit_range(args, i + 1, i + rest / 2, 1, to);
}

/* The last STORE wins, as on the server. */
static void visit_sort_store(const words *args, const visitor *to)
{
    int found = 0;
    for (int i = 2; i < args->count; i++) {
        if (word_is(args, i, "limit"))
            i += 2;
        else if (word_is(args, i, "by") || word_is(args, i, "get"))
            i += 1;
        else if (word_is(args, i, "store"))
            found = ++i;
    }
    if (found > 0 && found < args->count)
        to->visit(to->context, found);
}

static void visit_radius_store(const words *args, const visitor *to)
{
    int found = 0;
    for (int i = 5; i < args->count - 1; i++)
        if (word_is(args, i, "store") || word_is(args, i, "storedist"))
            found = ++i;
    if (found > 0)
        to->visit(to->context, found);
}

static void visit_migrate(const words *args, const visitor *to)
{
    if (args->count > 3 && word(args, 3).len > 0) {
        to->visit(to->context, 3);
        return;
    }
    for (int i = 6; i < args->count; i++)
        if (word_is(args, i, "keys")) {
            visit_range(args, i + 1, -1, 1, to);
            return;
        }
}

static void visit_extra(extra kind, const words *args, const visitor *to)
{
    switch (kind) {
    case NO_EXTRA:
        break;
    case COUNTED_1:
        visit_counted(args, 1, 1, to);
        break;
    case COUNTED_2:
        visit_counted(args, 2, 1, to);
        break;
    case COUNTED_PAIRS:
        visit_counted(args, 1, 2, to);
        break;
    case AFTER_STREAMS:
        visit_streams(args, to);
        break;
    case SORT_STORE:
        visit_sort_store(args, to);
        break;
    case RADIUS_STORE:
        visit_radius_store(args, to);
        break;
    case MIGRATE_KEYS:
        visit_migrate(args, to);
        break;
    }
}

static void visit_keys(const entry *command, const words *args, const visitor *to)
{
    if (command->first > 0)
        visit_range(args, command->first, command->last, command->step, to);
    visit_extra((extra)command->extra, args, to);
}

bool tkl__command_keys(int argc, const char *const *argv, const size_t *lens,
                       tkl__key_visitor *visit, void *context)
{
    words args = {argc, argv, lens};
    const entry *command = argc > 0 ? find_command(&args) : NULL;
    if (command)
        visit_keys(command, &args, &(visitor){visit, context});
    return command != NULL;
}

/* ---- Refusals ------------------------------------------------------------ */

/* Makes "CLIENT REPLY" from "client|reply", for error texts. */
static void shout(const entry *command, char out[NAME_MAX_LEN])
{
    size_t i = 0;
    for (; command->name[i] && i + 1 < NAME_MAX_LEN; i++) {
        char c = command->name[i];
        out[i] = (char)(c == '|' ? ' ' : c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    out[i] = '\0';
}

static const char *why_refused(place where)
{
    switch (where) {
    case MESSAGES:
        return "it turns a connection into a stream of messages, and calls share theirs";
    case TRANSACTION:
        return "calls share connections, so another's commands could get in between; use a script";
    case SETTING:
        return "calls share connections, so it would hit a random one; settings belong in the URL "
               "or the options of tkl_open()";
    case REPLICATION:
        return "it is spoken between servers";
    default:
        return NULL;
    }
}

int tkl__command_check(int argc, const char *const *argv, const size_t *lens)
{
    if (argc < 1)
        return tkl__fail(TKL_EINVAL, "an empty command");

    const entry *command = find_command(&(words){argc, argv, lens});
    const char *why = command ? why_refused((place)command->place) : NULL;
    if (!why)
        return TKL_OK;

    char name[NAME_MAX_LEN];
    shout(command, name);
    return tkl__fail(TKL_EINVAL, "%s cannot be called: %s", name, why);
}

/* ---- Routing in a cluster ------------------------------------------------ */

/* The slot of all keys seen so far. */
typedef struct slot_search {
    const words *args;
    int slot;  /* TKL__NO_SLOT before the first key */
    int first; /* index of the first key */
    int other; /* index of a key in another slot; 0: none */
} slot_search;

static void compare_slot(void *context, int index)
{
    slot_search *search = context;
    int slot = tkl__slot_of(word(search->args, index));

    if (search->slot == TKL__NO_SLOT) {
        search->slot = slot;
        search->first = index;
    } else if (slot != search->slot && search->other == 0) {
        search->other = index;
    }
}

/* Keys may be long or binary. The first part is enough to find them in a program. */
static int shown_length(tkl_bytes key)
{
    return key.len < 64 ? (int)key.len : 64;
}

static int cross_slot(tkl_bytes name, tkl_bytes first, tkl_bytes other)
{
    return tkl__fail(TKL_ECROSSSLOT,
                     "%.*s: the keys '%.*s' (slot %d) and '%.*s' (slot %d) live in different "
                     "slots; a common {tag} in their names would keep them together",
                     shown_length(name), name.data, shown_length(first), first.data,
                     tkl__slot_of(first), shown_length(other), other.data, tkl__slot_of(other));
}

static int slot_by_table(const entry *command, const words *args, int *slot)
{
    slot_search search = {args, TKL__NO_SLOT, 0, 0};
    visit_keys(command, args, &(visitor){compare_slot, &search});

    if (search.other > 0)
        return cross_slot(word(args, 0), word(args, search.first), word(args, search.other));
    *slot = search.slot;
    return TKL_OK;
}

static int slot_of_key_list(tkl_bytes name, const tkl_reply *keys, int *slot)
{
    tkl_bytes first = tkl_reply_bytes(tkl_reply_at(keys, 0));
    *slot = tkl__slot_of(first);

    for (size_t i = 1; i < tkl_reply_count(keys); i++) {
        tkl_bytes other = tkl_reply_bytes(tkl_reply_at(keys, i));
        if (tkl__slot_of(other) != *slot)
            return cross_slot(name, first, other);
    }
    return TKL_OK;
}

/* Finds the slot of a command that is not in the table: one of a module, or a newer one. Asks a
 * server. If it answers with an error, it knows no keys: then any server may get the command. That
 * server answers MOVED, which names the slot, or says what is wrong with the command. */
static int slot_by_server(tkl_client *client, const words *args, int64_t deadline, int *slot)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, (size_t)args->count + 2);
    tkl__resp_argz(&wire, "COMMAND");
    tkl__resp_argz(&wire, "GETKEYS");
    for (int i = 0; i < args->count; i++)
        tkl__resp_arg(&wire, word(args, i).data, word(args, i).len);

    tkl__request request = {
        .wire = {wire.data, wire.len}, .slot = TKL__NO_SLOT, .retry_safe = true};
    tkl_reply *keys = NULL;
    int code = wire.failed ? tkl__nomem() : tkl__exec(client, &request, deadline, &keys);
    if (code == TKL_OK && tkl_reply_count(keys) > 0)
        code = slot_of_key_list(word(args, 0), keys, slot);

    tkl_reply_free(keys);
    tkl__buf_free(&wire);
    return code;
}

static tkl__fanout fanout_of(place where)
{
    switch (where) {
    case ALL_SUM:
        return TKL__ALL_SUM;
    case ALL_JOIN:
        return TKL__ALL_CONCAT;
    case ALL_FIRST:
        return TKL__ALL_FIRST;
    default:
        return TKL__ONE_NODE;
    }
}

static int one_server_only(const entry *command)
{
    char name[NAME_MAX_LEN];
    shout(command, name);
    return tkl__fail(TKL_EINVAL,
                     "%s concerns one server, and a cluster has many: open a client with the "
                     "address of that server (redis://host:port)",
                     name);
}

int tkl__command_route(tkl_client *client, int argc, const char *const *argv, const size_t *lens,
                       int64_t deadline, int *slot, tkl__fanout *fanout)
{
    words args = {argc, argv, lens};
    const entry *command = find_command(&args);

    *slot = TKL__NO_SLOT;
    *fanout = TKL__ONE_NODE;
    if (!command)
        return slot_by_server(client, &args, deadline, slot);
    if (command->place == ONE_SERVER)
        return one_server_only(command);

    *fanout = fanout_of((place)command->place);
    return slot_by_table(command, &args, slot);
}
