/* SPDX-License-Identifier: MIT
 *
 * A game: a hundred thousand players today, as a bitmap and as a HyperLogLog, and the players of
 * now.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tackle/tackle.h>

enum { PLAYERS = 100000, AT_ONCE = 10000 };

static void check(int code)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_codename(code), tkl_errmsg());
    exit(1);
}

static void mark_players(tkl_online *online)
{
    static char texts[AT_ONCE][8];
    tkl_bytes users[AT_ONCE];
    for (int from = 0; from < PLAYERS; from += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            snprintf(texts[i], sizeof texts[i], "%d", from + i);
            users[i] = tkl_str(texts[i]);
        }
        check(tkl_online_mark(online, users, AT_ONCE, NULL));
    }
}

static void count_by(tkl_client *client, tkl_online_kind kind)
{
    tkl_online_options options = {.kind = kind};
    tkl_online *online;
    tkl_online_report *report;
    check(tkl_online_open(client, tkl_str(tkl_online_kind_name(kind)), &options, &online));
    mark_players(online);
    check(tkl_online_show(online, &report));
    printf("%s: %lld players today in %lld bytes\n", tkl_online_kind_name(kind),
           (long long)report->items[0].users, (long long)report->items[0].bytes);
    tkl_online_report_free(report);
    check(tkl_online_drop(online));
    tkl_online_close(online);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    check(tkl_open(url ? url : "embedded:", NULL, &client));
    count_by(client, TKL_ONLINE_BITMAP);
    count_by(client, TKL_ONLINE_HLL);

    tkl_online_options options = {.kind = TKL_ONLINE_HEARTBEAT, .window_ms = 30000};
    tkl_online *here;
    tkl_bytes ann = TKL_LIT("ann");
    bool present;
    check(tkl_online_open(client, tkl_str("here"), &options, &here));
    check(tkl_online_mark(here, &ann, 1, NULL));
    check(tkl_online_check(here, ann, 0, &present));
    printf("ann is %s\n", present ? "here" : "away");
    check(tkl_online_drop(here));
    tkl_online_close(here);
    tkl_close(client);
}
