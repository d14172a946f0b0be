/* SPDX-License-Identifier: MIT
 *
 * Prints the messages of a channel, and goes on where it ended the last time: the id of the last
 * message is kept in a file.
 *
 *     channel prices /var/tmp/prices.seen          # tackle channel publish prices 'apples 42'
 *     TACKLE_URL=redis://cache.example channel prices /var/tmp/prices.seen
 *
 * Without arguments it shows itself, on a private server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tackle/tackle.h>

static void read_position(const char *path, tkl_channel_id *id)
{
    char text[TKL_CHANNEL_ID_SIZE] = "";
    FILE *file = fopen(path, "r");
    *id = (tkl_channel_id){0};
    if (file && fscanf(file, "%47s", text) == 1 && tkl_channel_id_parse(text, id) != TKL_OK)
        fprintf(stderr, "channel: %s: %s\n", path, tkl_errmsg());
    if (file)
        fclose(file);
}

static void write_position(const char *path, tkl_channel_id id)
{
    char text[TKL_CHANNEL_ID_SIZE];
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "%s\n", tkl_channel_id_text(id, text));
    fclose(file);
}

/* Prints messages until none came for `wait_ms`; negative: for ever. */
static int print_messages(tkl_channel *channel, const char *path, int64_t wait_ms)
{
    tkl_channel_follow_options options = {0};
    tkl_channel_follower *follower;
    tkl_channel_messages *messages;
    read_position(path, &options.after);
    if (options.after.number == 0)
        options.recent = TKL_NONE;
    int rc = tkl_channel_follow(channel, &options, &follower);
    while (rc == TKL_OK && (rc = tkl_channel_next(follower, 0, wait_ms, &messages)) == TKL_OK) {
        if (messages->lost > 0)
            printf("(%" PRId64 " messages are lost)\n", messages->lost);
        for (size_t i = 0; i < messages->count; i++) {
            printf(TKL_FMT "\n", TKL_ARG(messages->items[i].data));
            write_position(path, messages->items[i].id);
        }
        tkl_channel_messages_free(messages);
    }
    tkl_channel_follower_close(follower);
    return rc;
}

int main(int argc, char **argv)
{
    char own[] = "/tmp/channel.XXXXXX";
    bool shows = argc < 3;
    const char *path = shows ? (mkstemp(own) >= 0 ? own : NULL) : argv[2];
    tkl_client *client = NULL;
    tkl_channel *channel = NULL;
    if (!path)
        return EXIT_FAILURE;
    int rc = tkl_open(shows ? "embedded:" : getenv("TACKLE_URL"), NULL, &client);
    if (rc == TKL_OK)
        rc = tkl_channel_open(client, tkl_str(shows ? "prices" : argv[1]), NULL, &channel);
    for (int day = 1; rc == TKL_OK && shows && day <= 2; day++) {
        tkl_bytes prices[] = {tkl_str("apples 42"), tkl_str("pears 17")};
        rc = tkl_channel_publish(channel, prices, 2, NULL);
        printf("-- day %d\n", day);
        if (rc == TKL_OK && (rc = print_messages(channel, path, 0)) == TKL_EMPTY)
            rc = TKL_OK;
    }
    if (rc == TKL_OK && !shows)
        rc = print_messages(channel, path, -1);
    if (rc != TKL_OK)
        fprintf(stderr, "channel: %s\n", tkl_errmsg());
    tkl_channel_close(channel);
    tkl_close(client);
    if (shows)
        remove(own);
    return rc == TKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
