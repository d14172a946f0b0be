/* SPDX-License-Identifier: MIT
 *
 * PUBLISH reaches the listeners of that moment. Bob is away, and what he has missed is lost.
 */
#include "naive.h"

/* Returns the messages that Bob never gets. */
static int miss_naively(void)
{
    int listeners = (int)tkl_reply_int(COMMAND("PUBLISH", "naive-news", "hello"));
    return 1 - listeners;
}

/* A channel has a history. Bob reads it when he is back. */
static int miss_by_channel(void)
{
    tkl_channel *news;
    tkl_channel_follower *bob;
    tkl_channel_messages *messages;
    tkl_channel_follow_options all = {.recent = TKL_NONE};
    tkl_bytes hello = tkl_str("hello");
    check(tkl_channel_open(client, tkl_str("naive-news"), NULL, &news));
    check(tkl_channel_publish(news, &hello, 1, NULL));
    check(tkl_channel_follow(news, &all, &bob)); /* he comes later */
    check(tkl_channel_next(bob, 10, 10000, &messages));
    int missed = 1 - (int)messages->count;
    tkl_channel_messages_free(messages);
    tkl_channel_follower_close(bob);
    check(tkl_channel_drop(news));
    tkl_channel_close(news);
    return missed;
}

int main(void)
{
    open_client();
    int naive = miss_naively(), ours = miss_by_channel();
    return compare("messages that are missed", naive, ours);
}
