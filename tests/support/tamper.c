/* SPDX-License-Identifier: MIT */
#include "support/tamper.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static const char *const PARTS[TAMPER_KEYS] = {"state", "sharers", "line"};

#define STATE   "tackle:%s:state"
#define SHARERS "tackle:%s:sharers"
#define LINE    "tackle:%s:line"

/* ---- Keys of other programs ---------------------------------------------- */

void tamper_take_key(server *s, const char *of, int key)
{
    server_do(s, "SET tackle:%s:%s mine", of, PARTS[key]);
}

void tamper_assert_taken(server *s, const char *of, int key)
{
    char *value = server_ask(s, "GET tackle:%s:%s", of, PARTS[key]);
    assert_string_equal(value, "mine");
    free(value);
}

void tamper_take_line(server *s, const char *of)
{
    server_do(s, "SET " LINE " mine", of);
}

/* ---- Loss and damage ----------------------------------------------------- */

void tamper_remove_line(server *s, const char *of)
{
    assert_int_equal(server_ask_int(s, "DEL " LINE, of), 1);
}

int64_t tamper_line_left_ms(server *s, const char *of)
{
    return server_ask_int(s, "PTTL " LINE, of);
}

void tamper_set_line_left(server *s, const char *of, int64_t ms)
{
    assert_int_equal(server_ask_int(s, "PEXPIRE " LINE " %lld", of, (long long)ms), 1);
}

void tamper_set_fence(server *s, const char *of, uint64_t fence)
{
    server_do(s, "HSET " STATE " fence %llu", of, (unsigned long long)fence);
}

void tamper_put_off_end(server *s, const char *of, int64_t ms)
{
    static const char script[] =
        "local token, till, rest = string.match(redis.call('HGET', KEYS[1], 'writer'), "
        "'^(%S+) (%d+) (.+)$') "
        "till = string.format('%d', till + ARGV[1] * 1000) "
        "redis.call('HSET', KEYS[1], 'writer', table.concat({token, till, rest}, ' '))";
    server_do(s, "EVAL %s 1 " STATE " %lld", script, of, (long long)ms);
}

static const char *const GARBAGE[] = {
    "HSET " STATE " fence inf",
    "HSET " STATE " fence 99999999999999999999",
    "HSET " STATE " fence -1",
    "HSET " STATE " fence 5 writer nobody",
    "HSET " STATE " fence 5 limit many",
    "HSET " STATE " fence 5 looker me",
    "HSET " STATE " fence 5 sharing 1 waiting 1",
    "ZADD " SHARERS " inf x",
    "ZADD " SHARERS " -inf x",
    "ZADD " SHARERS " 1e300 x",
    "RPUSH " LINE " x y z",
};

int tamper_kinds_of_garbage(void)
{
    return sizeof(GARBAGE) / sizeof(GARBAGE[0]);
}

void tamper_store_garbage(server *s, const char *of, int kind)
{
    server_do(s, GARBAGE[kind], of);
}

/* ---- Waiters that are not there ------------------------------------------ */

/* Appends a copy of the first place, "token mode lease client who channel", with another token and
 * maybe another client, both of 32 digits. */
static void add_waiter(server *s, const char *of, char token, bool other_client)
{
    static const char script[] =
        "local token, mode, lease, client, rest = string.match(redis.call('LINDEX', KEYS[1], 0), "
        "'^(%S+) (%S+) (%S+) (%S+) (.+)$') "
        "if ARGV[2] == 'client' then client = ARGV[1] end "
        "return redis.call('RPUSH', KEYS[1], "
        "table.concat({ARGV[1], mode, lease, client, rest}, ' '))";
    char digits[33] = "";
    memset(digits, token, 32);
    assert_true(server_ask_int(s, "EVAL %s 1 " LINE " %s %s", script, of, digits,
                               other_client ? "client" : "") > 0);
}

void tamper_add_thread(server *s, const char *of, char token)
{
    add_waiter(s, of, token, false);
}

void tamper_add_process(server *s, const char *of, char token)
{
    add_waiter(s, of, token, true);
}

void tamper_move_last(server *s, const char *of, const char *host)
{
    static const char script[] =
        "local place, moved = string.gsub(redis.call('LINDEX', KEYS[1], -1), "
        "'^(%S+ %S+ %S+ %S+) [^/]*/', '%1 ' .. ARGV[1] .. '/') "
        "redis.call('LSET', KEYS[1], -1, place) return moved";
    assert_int_equal(server_ask_int(s, "EVAL %s 1 " LINE " %s", script, of, host), 1);
}

void tamper_add_dead(server *s, const char *of, int count)
{
    server_do(s, "EVAL %s 2 " STATE " " LINE " %d",
              "for i = 1, ARGV[1] do redis.call('RPUSH', KEYS[2], "
              "string.format('%032d', i) .. ' x 1000000 ab host/1/ gone') end "
              "redis.call('PEXPIRE', KEYS[2], 60000) redis.call('HSET', KEYS[1], 'waiting', 1)",
              of, of, count);
}

void tamper_call_all(server *s, const char *of)
{
    server_do(s, "SPUBLISH tackle:%s:all look", of);
}

void tamper_add_listener(server *s, const char *of, const char *channel)
{
    server_do(
        s, "EVAL %s 2 " STATE " " LINE " %s",
        "redis.call('RPUSH', KEYS[2], string.rep('f', 32) .. ' x 1000000 ab host/1/ ' .. ARGV[1]) "
        "redis.call('PEXPIRE', KEYS[2], 60000) redis.call('HSET', KEYS[1], 'waiting', 1)",
        of, of, channel);
}

void tamper_send_old_grant(server *s, const char *of)
{
    static const char script[] =
        "local token, channel = string.match(redis.call('LINDEX', KEYS[1], 0), "
        "'^(%S+) %S+ %S+ %S+ %S+ (.+)$') "
        "local fence, stamp, lease = '7', '8', '20000000' "
        "return redis.call('SPUBLISH', channel, "
        "table.concat({token, 'grant', fence, stamp, lease}, ' '))";
    assert_int_equal(server_ask_int(s, "EVAL %s 1 " LINE, script, of), 1);
}
