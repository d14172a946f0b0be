/* SPDX-License-Identifier: MIT
 *
 * A search box: it suggests earlier searches while a user types. Old searches fade.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", tkl_errmsg());
    exit(1);
}

int main(void)
{
    static const char *const searches[] = {"Weather Berlin", "wedding dress", "weather berlin",
                                           "北京天气",       "web cam",       "weather berlin"};
    static const char *const typed[] = {"w", "wea", "berlin", "bjt", "waether"};
    const char *url = getenv("TACKLE_URL");
    tkl_suggest_options options = {.half_life_ms = INT64_C(7) * 24 * 3600 * 1000,
                                   .pinyin = TKL_SETTING_ON,
                                   .words = TKL_SETTING_ON,
                                   .typos = true};
    tkl_client *client;
    tkl_suggest *suggest;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_suggest_open(client, tkl_str("searches"), &options, &suggest));
    for (int i = 0; i < 6; i++) {
        tkl_suggest_text text = {.text = tkl_str(searches[i])};
        stop_on(tkl_suggest_feed(suggest, &text, 1));
    }
    for (int i = 0; i < 5; i++) {
        tkl_suggestions *found;
        stop_on(tkl_suggest_hint(suggest, tkl_str(typed[i]), 3, &found));
        printf("%s:", typed[i]);
        for (size_t j = 0; j < found->count; j++)
            printf(" " TKL_FMT " (%.1f%s)", TKL_ARG(found->items[j].text), found->items[j].weight,
                   found->items[j].corrected ? ", corrected" : "");
        printf("\n");
        tkl_suggestions_free(found);
    }
    tkl_suggest_close(suggest);
    tkl_close(client);
}
