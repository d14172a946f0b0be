/* SPDX-License-Identifier: MIT */
#include "support/corrupt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/mutate.h"

typedef struct value {
    const char *data;
    size_t len;
} value;

#define TEXT(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }

static char long_text[200000];

static value garbage(uint64_t *dice)
{
    static const value values[] = {
        TEXT(""),
        TEXT("0"),
        TEXT("-1"),
        TEXT("1"),
        TEXT("inf"),
        TEXT("-inf"),
        TEXT("nan"),
        TEXT("1e300"),
        TEXT("-1e300"),
        TEXT("0.5"),
        TEXT("9223372036854775807"),
        TEXT("-9223372036854775808"),
        TEXT("9007199254740993"),
        TEXT("99999999999999999999999999"),
        TEXT(" "),
        TEXT("x"),
        TEXT("1 2 3"),
        TEXT("1:2:3"),
        TEXT("\0\xff\xfe\x01"),
        TEXT("{\"a\":[1,2"),
        TEXT("\x82\xa1\x61\xcb"),
        TEXT("%s%n%x"),
        TEXT("\x1b[31m"),
    };
    size_t count = sizeof values / sizeof *values, which = dice_below(dice, count + 1);
    if (which < count)
        return values[which];
    memset(long_text, '7', sizeof long_text);
    return (value){long_text, sizeof long_text};
}

static const char *bad_score(uint64_t *dice)
{
    static const char *const scores[] = {
        "inf", "-inf", "1e300", "-1e300", "0.5", "-1", "9007199254740993", "0"};
    return scores[dice_below(dice, sizeof scores / sizeof *scores)];
}

/* One of the lines of a text, ended in place; "" when there is none. */
static char *pick_line(uint64_t *dice, char *text, int step)
{
    int count = 0;
    for (const char *c = text; *c; c++)
        count += *c == '\n';
    int which = count > 0 ? (int)dice_below(dice, (uint64_t)count) / step * step : 0;
    char *line = text;
    while (which-- > 0)
        line = strchr(line, '\n') + 1;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static void corrupt_hash(server *s, const char *key, uint64_t *dice)
{
    char *fields = server_ask(s, "HKEYS %s", key);
    const char *field = pick_line(dice, fields, 1);
    value v = garbage(dice);
    switch (dice_below(dice, 4)) {
    case 0:
        free(server_ask(s, "HDEL %s %s", key, field));
        break;
    case 1:
        free(server_ask(s, "HSET %s %b %b", key, v.data, v.len, v.data, v.len));
        break;
    default:
        free(server_ask(s, "HSET %s %s %b", key, field, v.data, v.len));
    }
    free(fields);
}

static void corrupt_zset(server *s, const char *key, uint64_t *dice)
{
    char *members = server_ask(s, "ZRANGE %s 0 -1", key);
    const char *member = pick_line(dice, members, 1);
    value v = garbage(dice);
    if (dice_below(dice, 3) == 0)
        free(server_ask(s, "ZADD %s %s %b", key, bad_score(dice), v.data, v.len));
    else
        free(server_ask(s, "ZADD %s %s %s", key, bad_score(dice), member));
    free(members);
}

static void corrupt_list(server *s, const char *key, uint64_t *dice)
{
    value v = garbage(dice);
    if (dice_below(dice, 2) == 0)
        free(server_ask(s, "LSET %s 0 %b", key, v.data, v.len));
    else
        free(server_ask(s, "LPUSH %s %b", key, v.data, v.len));
}

static void corrupt_string(server *s, const char *key, uint64_t *dice)
{
    value v = garbage(dice);
    switch (dice_below(dice, 3)) {
    case 0:
        free(server_ask(s, "APPEND %s %b", key, v.data, v.len));
        break;
    case 1:
        free(server_ask(s, "SETRANGE %s %d %b", key, (int)dice_below(dice, 20), v.data, v.len));
        break;
    default:
        free(server_ask(s, "SET %s %b", key, v.data, v.len));
    }
}

static void change_type(server *s, const char *key, uint64_t *dice)
{
    static const char *const makers[] = {"SET %s %b", "LPUSH %s %b", "SADD %s %b", "HSET %s f %b",
                                         "ZADD %s 1 %b"};
    value v = garbage(dice);
    free(server_ask(s, "DEL %s", key));
    free(server_ask(s, makers[dice_below(dice, 5)], key, v.data, v.len));
}

static void corrupt_key(server *s, const char *key, uint64_t *dice)
{
    char *type = server_ask(s, "TYPE %s", key);
    uint64_t how = dice_below(dice, 16);
    if (how == 0)
        change_type(s, key, dice);
    else if (how == 1)
        free(server_ask(s, "DEL %s", key));
    else if (how < 8)
        ; /* stays sound, beside damaged keys */
    else if (strcmp(type, "hash") == 0)
        corrupt_hash(s, key, dice);
    else if (strcmp(type, "zset") == 0)
        corrupt_zset(s, key, dice);
    else if (strcmp(type, "list") == 0)
        corrupt_list(s, key, dice);
    else if (strcmp(type, "string") == 0)
        corrupt_string(s, key, dice);
    else
        change_type(s, key, dice);
    free(type);
}

void corrupt_keys(server *s, uint64_t seed)
{
    uint64_t dice = seed;
    char *keys = server_ask(s, "KEYS *"), *rest = keys;
    for (char *key; (key = strsep(&rest, "\n")) != NULL;)
        if (*key != '\0')
            corrupt_key(s, key, &dice);
    free(keys);
}
