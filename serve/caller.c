/* SPDX-License-Identifier: MIT */
#include "caller.h"

#include <string.h>

#include "out.h"

char *serve_caller_text(const char *who, const serve_rights *rights)
{
    json_t *calls = json_array();
    serve_route route = {0};
    while (serve_route_next(&route)) {
        char *path = serve_may(rights, &route) ? serve_route_path(&route) : NULL;
        if (path != NULL)
            json_array_append_new(calls, json_string(path + strlen("/v1/")));
        free(path);
    }
    json_t *about =
        json_pack("{s:s, s:s, s:o}", "name", who, "version", tkl_version(), "calls", calls);
    char *text = about != NULL ? cli_json_text(about) : NULL;
    json_decref(about);
    return text;
}
