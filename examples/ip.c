/* SPDX-License-Identifier: MIT
 *
 * Where do visitors come from? Imports a small table and looks up some addresses in one round trip.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

static void import_table(tkl_ip *ip)
{
    const tkl_ip_place places[] = {
        {.id = TKL_LIT("1"), .city = TKL_LIT("Paris"), .country = TKL_LIT("France")},
        {.id = TKL_LIT("2"), .city = TKL_LIT("Berlin"), .country = TKL_LIT("Germany")},
    };
    const tkl_ip_range ranges[] = {
        {.network = TKL_LIT("192.0.2.0/24"), .place = TKL_LIT("1")},
        {.network = TKL_LIT("198.51.100.0-198.51.100.99"), .place = TKL_LIT("2")},
        {.network = TKL_LIT("2001:db8::/32"), .place = TKL_LIT("2")},
    };
    tkl_ip_import *import;
    stop_on(tkl_ip_import_open(ip, NULL, &import));
    stop_on(tkl_ip_import_add_places(import, places, 2));
    stop_on(tkl_ip_import_add_ranges(import, ranges, 3));
    stop_on(tkl_ip_import_commit(import, NULL)); /* from here on look-ups use it */
    tkl_ip_import_close(import);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    const tkl_bytes visitors[] = {TKL_LIT("192.0.2.77"), TKL_LIT("2001:db8::9"),
                                  TKL_LIT("203.0.113.5")};
    tkl_client *client;
    tkl_ip *ip;
    tkl_ip_answers *answers;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_ip_open(client, tkl_str("example"), NULL, &ip));
    import_table(ip);

    stop_on(tkl_ip_lookup(ip, visitors, 3, &answers));
    for (size_t i = 0; i < answers->count; i++) {
        const tkl_ip_answer *a = &answers->items[i];
        printf(TKL_FMT ": " TKL_FMT "\n", TKL_ARG(a->address),
               TKL_ARG(a->known ? a->place.city : tkl_str("unknown")));
    }

    tkl_ip_answers_free(answers);
    stop_on(tkl_ip_drop(ip));
    tkl_ip_close(ip);
    tkl_close(client);
}
