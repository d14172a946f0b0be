/* SPDX-License-Identifier: MIT */
#include "support/insides.h"

#include "queue/record.h"
#include "support/call.h"
#include "support/test.h"

#define KEY "tackle:queue:{work}:"

static void set_time(tkl_client *client, const char *key, const char *member, int64_t time)
{
    char *text = test_format("%lld", (long long)time);
    assert_int_equal(call_int(client, "ZADD", key, "XX", "CH", text, member, NULL), 1);
    free(text);
}

void inside_set_due(tkl_client *client, const char *id, int64_t time)
{
    set_time(client, KEY "delayed", id, time);
}

void inside_set_lease_end(tkl_client *client, const char *id, const char *token, int64_t time)
{
    char *member = test_format("%s:%s", id, token);
    set_time(client, KEY "active", member, time);
    free(member);
}

void inside_set_death(tkl_client *client, const char *id, int64_t time)
{
    set_time(client, KEY "dead", id, time);
}

int64_t inside_group(tkl_client *client, tkl_bytes group)
{
    const char *argv[] = {"HGET", KEY "groups", group.data};
    const size_t lens[] = {4, strlen(argv[1]), group.len};
    tkl_reply *reply;
    assert_ok(tkl_call(client, 3, argv, lens, NULL, &reply));
    int64_t started = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return started;
}

int64_t inside_forget_timed_keys(tkl_client *client)
{
    int64_t keys = call_int(client, "HLEN", KEY "unique", NULL);
    assert_int_equal(call_int(client, "ZCARD", KEY "unique_ends", NULL), keys);
    call_int(client, "DEL", KEY "unique", KEY "unique_ends", NULL);
    return keys;
}

int64_t inside_record_size(const tkl_push *job, bool flow)
{
    tkl__buf record;
    tkl__buf_init(&record);
    tkl__queue_record_encode(&record, job, flow);
    int64_t size = (int64_t)record.len;
    tkl__buf_free(&record);
    return size;
}
