/* SPDX-License-Identifier: MIT
 *
 * Requests of tackle serve. The text before the first zero byte is the path, and also the value of
 * every header; the two bytes behind it choose a route, and the rest is its body. A path is a route
 * only when the tables have it; a body that is refused is refused once, with a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "args.h"
#include "fields.h"
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { ROUTES_MAX = 1000 };

static serve_route routes[ROUTES_MAX];
static size_t count;
static serve_access *access_of_all;
static int failures; /* failures while the body is read */

static void require(bool held)
{
    if (!held)
        abort();
}

/* ---- The head ------------------------------------------------------------ */

static void check_path(const char *text)
{
    serve_route route;
    char why[SERVE_WHY_SIZE];
    if (!serve_route_find(text, &route, why))
        return;
    char *path = serve_route_path(&route);
    require(strcmp(path, text) == 0);
    free(path);
}

static void check_headers(const char *text)
{
    serve_rights rights;
    const char *who, *behind = strstr(text, "://");
    serve_framing framing = serve_framing_of(text);
    require(framing == SERVE_NO_STREAM || strstr(text, "/") != NULL);
    /* Names that an attacker can register have a letter in their last part. */
    if (serve_host_is_ours(access_of_all, text))
        require(strcasestr(text, "evil.example") == NULL || strpbrk(text, ":]") != NULL);
    if (!serve_is_other_site(NULL, text, "localhost:80"))
        require(behind != NULL && strcasecmp(behind + 3, "localhost:80") == 0);
    require(serve_access_check(access_of_all, text, &rights, &who)); /* no tokens are needed */
}

/* ---- The body ------------------------------------------------------------ */

static void count_failure(void *arg, int code, const char *message, const char *field,
                          const json_t *value)
{
    (void)arg;
    (void)field;
    (void)value;
    require(code != TKL_OK && message != NULL && *message != '\0');
    failures++;
}

static void check_body(const serve_route *route, const char *body, size_t size)
{
    static const cli_sink sink = {.failure = count_failure};
    cli_session cli = {
        .component = route->component, .verb = route->verb, .json = true, .sink = &sink};
    serve_fields fields;
    json_t *object = json_loadb(body, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    failures = 0;
    if (json_is_object(object)) {
        int exit = serve_fields_fill(&cli, object, &fields);
        if (exit == CLI_OK)
            exit = cli_args_check(&cli);
        require(failures == (exit != CLI_OK));
        for (int i = 0; exit == CLI_OK && i < cli.argc; i++)
            require(cli.argv[i][cli_argument(&cli, i).len] == '\0');
        serve_fields_free(&cli, &fields);
    }
    json_decref(object);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const cli_component *serve = cli_components[serve_component_number("serve")];
    cli_session none = {.component = serve, .verb = serve->verbs}; /* no options */
    serve_route route = {0};
    (void)argc;
    (void)argv;
    while (count < ROUTES_MAX && serve_route_next(&route))
        routes[count++] = route;
    require(count > 0 && serve_access_open(&none, &access_of_all) == CLI_OK);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - data) : size;
    char *text = strndup((const char *)data, len);
    require(text != NULL);
    check_path(text);
    check_headers(text);
    free(text);
    if (end == NULL || size - len < 3)
        return 0;
    size_t chosen = ((size_t)end[1] << 8 | end[2]) % count;
    check_body(&routes[chosen], (const char *)end + 3, size - len - 3);
    return 0;
}
