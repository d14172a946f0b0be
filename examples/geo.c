/* SPDX-License-Identifier: MIT
 *
 * The nearest taxis to a passenger, nearest first.
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

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    tkl_geo *taxis;
    tkl_geo_places *near;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_geo_open(client, tkl_str("taxis"), NULL, &taxis));

    const tkl_geo_place places[] = {
        {.name = tkl_str("taxi 12"), .longitude = 13.377, .latitude = 52.516},
        {.name = tkl_str("taxi 7"), .longitude = 13.413, .latitude = 52.521},
        {.name = tkl_str("taxi 31"), .longitude = 13.063, .latitude = 52.401},
    };
    stop_on(tkl_geo_add(taxis, places, 3, NULL));

    tkl_geo_query around = {
        .longitude = 13.4, .latitude = 52.52, .radius = 5, .unit = TKL_GEO_KM, .max = 10};
    stop_on(tkl_geo_near(taxis, &around, &near));
    for (size_t i = 0; i < near->count; i++)
        printf("%.*s is %.1f km away\n", (int)near->items[i].name.len, near->items[i].name.data,
               near->items[i].distance);

    tkl_geo_places_free(near);
    tkl_geo_close(taxis);
    tkl_close(client);
}
